//! Preparing routines to run, and leaves to be read.

use std::borrow::Cow;
use std::sync::Arc;

use broadloom_core::Symbol;
use broadloom_graph::lowering::{Face, Inferred, Leaf};
use broadloom_graph::{Error, ErrorKind, Graph, Initial, Kind, Tensor};
use broadloom_loops::optimise::{self, optimise};
use broadloom_loops::{Array, Dtype, Program, Size, Storage};
use broadloom_xla::Precision;

use super::engine::{CompiledCode, DecidedBySizes, Work};
use super::store::Store;
use super::{Backend, Prepared, Session};
use crate::lower::{Arguments, Content, Layout, LowerOptions, Lowered, lower};
use crate::routine::Routine;
use crate::sizes::Sizes;

impl Session {
    /// Updates the session after changes of the graph.
    pub(super) fn refresh(&mut self) -> Result<(), Error> {
        if self.stale {
            let inferred = Inferred::new(&mut self.graph)?;
            let sizes = Sizes::new(&mut self.graph, &inferred)?;
            let sizes = self.sizes.carried_to(sizes, &self.graph);
            let layout = Arc::new(Layout::at(&self.graph, &inferred, &sizes.now)?);
            check_names(&self.graph)?;
            self.store.forget_watched();
            self.store.move_to(&self.graph, &layout)?;
            self.prepared.clear();
            self.engine.forget();
            self.plans.clear();
            self.layouts = vec![(sizes.now.clone(), Arc::clone(&layout))];
            (self.inferred, self.sizes, self.layout) = (inferred, sizes, layout);
            self.stale = false;
        }
        Ok(())
    }

    /// The index of a routine among the prepared ones.
    pub(super) fn prepare(&mut self, routine: &Routine) -> Result<usize, Error> {
        let precision = self.settings.precision;
        if precision != Precision::default() && self.settings.backend != Backend::Xla {
            let message = format!("only XLA computes products of the precision `{}`", precision.name());
            let help =
                "set `Backend::Xla`, or leave the precision of products as it is: other backends have one";
            return Err(Error::new(ErrorKind::Use, message).with_help(help));
        }
        if let Some(known) = self.prepared.find(routine, &self.sizes.now) {
            return Ok(known);
        }
        let lowered = self.checked(routine)?;
        let mut places = Vec::new();
        for (node, buffer) in lowered.nodes.iter().zip(&lowered.program.buffers) {
            if buffer.storage == Storage::Kept {
                let watched = lowered.watched.contains(node);
                let place = if watched { Store::watch } else { Store::place };
                places.push(place(&mut self.store, &self.graph, &self.layout, *node)?);
            }
        }
        let code = self.code(routine, &lowered)?;
        let (routine, sizes) = (routine.clone(), self.sizes.now.clone());
        let early = self.written_early(&lowered);
        Ok(self.prepared.push(Prepared { routine, sizes, lowered, places, early, code }))
    }

    /// A routine as a program, as derived and as optimised. Nothing is allocated.
    pub(super) fn planned(&self, routine: &Routine) -> Result<(Lowered, Program), Error> {
        let lowered = self.checked(routine)?;
        let program = self.optimised(&lowered.program);
        Ok((lowered, program))
    }

    /// A routine as a derived program, if its tensors fit into memory.
    fn checked(&self, routine: &Routine) -> Result<Lowered, Error> {
        for tensor in &routine.kept {
            self.graph.known(*tensor)?;
        }
        let lowered = self.lowered(&self.layout, routine)?;
        check_memory(&self.graph, &lowered)?;
        Ok(lowered)
    }

    /// A routine as a derived program.
    pub(super) fn lowered(&self, layout: &Layout, routine: &Routine) -> Result<Lowered, Error> {
        self.lowered_for(layout, routine, self.settings.backend == Backend::Xla)
    }

    /// The same; for MLIR and StableHLO the turns of scans are not divided into segments.
    pub(super) fn lowered_for(
        &self,
        layout: &Layout,
        routine: &Routine,
        flat: bool,
    ) -> Result<Lowered, Error> {
        let options =
            LowerOptions { keep_all: self.settings.guard, flat, distribute: self.settings.optimise };
        lower(&self.graph, layout, routine, options)
            .map_err(|error| error.inside(&format!("routine `{}`", routine.name())))
    }

    pub(super) fn optimised(&self, program: &Program) -> Program {
        self.optimised_at(program, Vec::new())
    }

    /// The optimised program, where costs are compared at some sizes of its arguments.
    fn optimised_at(&self, program: &Program, samples: Vec<u64>) -> Program {
        let all = self.settings.optimise;
        let options = if all { optimise::PassOptions::all() } else { optimise::PassOptions::none() };
        optimise(program, &optimise::PassOptions { samples, ..options })
    }

    /// The code of a routine.
    fn code(&mut self, routine: &Routine, lowered: &Lowered) -> Result<Box<dyn CompiledCode>, Error> {
        let mut notices = std::mem::take(&mut self.notices);
        let code = self.engine.compile(&Work::new(self, routine, lowered), &mut notices);
        self.notices = notices;
        code
    }

    /// The named sizes that tensors of a program depend on.
    pub(super) fn symbols_in(&self, lowered: &Lowered) -> Vec<Symbol> {
        let tensors = lowered.nodes.iter().map(|node| self.role(*node).0);
        let mut symbols: Vec<Symbol> =
            tensors.flat_map(|tensor| self.inferred.shapes.symbols_of(tensor)).collect();
        symbols.sort_unstable();
        symbols.dedup();
        symbols
    }

    /// The program of a routine, optimised, in which some named sizes are arguments.
    pub(super) fn open_program(
        &self,
        routine: &Routine,
        symbols: &[Symbol],
    ) -> Result<Program, DecidedBySizes> {
        let refused = |message: &str| DecidedBySizes(message.into());
        let large = self.sizes.large();
        if !self.sizes.is_possible(&large) {
            return Err(refused("it relies on relations between its sizes"));
        }
        let arguments =
            Arguments::new(symbols, |symbol| (self.sizes.least(symbol), self.sizes.progression(symbol)));
        let lowered = Layout::open(&self.graph, &self.inferred, &arguments)
            .and_then(|layout| self.lowered(&layout, routine))
            .map_err(|error| refused(error.message()))?;
        let now = self.sizes.values(symbols, &self.sizes.now);
        let mut program = Program { arguments: arguments.numbers, ..lowered.program };
        let samples = program.symbols_at(&now).unwrap_or_default();
        program = self.optimised_at(&program, samples);
        // If a size is unknown, the program cannot be instantiated at any sizes.
        match program.at(&self.sizes.values(symbols, &large)) {
            Some(_) => Ok(program),
            None => Err(refused("a size in it is no whole multiple of its named sizes")),
        }
    }

    /// Sets the initial values of a leaf, if it has any and does not have values yet.
    pub(super) fn initialise(&mut self, node: Content) -> Result<(), Error> {
        let Content::Value(tensor) = node else { return Ok(()) };
        if self.store.has_values(node) {
            return Ok(());
        }
        let values = match self.graph.leaf(tensor) {
            Some(Leaf::Param | Leaf::State) => self.first_values(tensor)?,
            Some(Leaf::Data) => match self.graph.array(tensor) {
                Some(values) => in_type(values, self.layout.dtypes[tensor.index()]),
                None => return Ok(()),
            },
            _ => return Ok(()),
        };
        self.store.write(&self.graph, &self.layout, node, &values)
    }

    /// The initial values of a parameter or a state: as specified, or 0 for a state and for a
    /// parameter without inputs, or else such that the variance is about the same behind the
    /// parameter as before it.
    fn first_values(&self, param: Tensor) -> Result<Array, Error> {
        let fan = |kind: Kind| self.layout.shapes.sizes(param, kind).product::<u64>();
        let has_inputs = self.layout.shapes.sizes(param, Kind::Input).next().is_some();
        let trained = self.graph.leaf(param) == Some(Leaf::Param);
        let usual =
            if has_inputs && trained { Initial::Kaiming { gain: 1.0 } } else { Initial::Constant(0.0) };
        let initial = self.graph.initial(param).unwrap_or(&usual);
        let (sizes, dtype) = (self.layout.sizes_of(param), self.layout.dtypes[param.index()]);
        let name = self.graph.short_name(param);
        initial.values(&name, self.settings.seed, &sizes, fan(Kind::Input), fan(Kind::Output), dtype)
    }
}

/// Values of data in the type that it has in the program, unless fractions would be lost.
pub(super) fn in_type(values: &Array, dtype: Dtype) -> Array {
    match values.dtype() == dtype || (!dtype.is_float() && !values.is_whole()) {
        true => values.clone(),
        false => values.convert(dtype),
    }
}

/// More bytes than any machine has.
const TOO_MUCH: u64 = 1 << 44;

/// Refuses tensors that no memory holds, by name.
pub(super) fn check_memory(graph: &Graph, lowered: &Lowered) -> Result<(), Error> {
    for (buffer, node) in lowered.program.buffers.iter().zip(&lowered.nodes) {
        if (buffer.cells() * buffer.dtype.bytes() as u64).get() > TOO_MUCH {
            let sizes: Vec<String> = buffer.sizes.iter().map(Size::to_string).collect();
            let sizes = sizes.join(" × ");
            let message = format!("`{}` would have {sizes} elements, too many for any memory", buffer.name);
            let help = "look for an axis that should have been contracted";
            return Err(Error::new(ErrorKind::Run, message).about_step(node.step(graph)).with_help(help));
        }
    }
    Ok(())
}

/// The tensors that are saved: parameters and states.
pub(crate) fn lasting(graph: &Graph) -> Vec<Tensor> {
    let lasts = |tensor: &Tensor| matches!(graph.leaf(*tensor), Some(Leaf::Param | Leaf::State));
    graph.tensors().filter(lasts).collect()
}

/// Parameters and states are known by their names, to initialisers and in files: no two may share one.
pub(crate) fn check_names(graph: &Graph) -> Result<(), Error> {
    let lasting = lasting(graph);
    let mut seen = rustc_hash::FxHashSet::with_capacity_and_hasher(lasting.len(), Default::default());
    for tensor in lasting {
        let name = match graph.name_of(tensor) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(graph.short_name(tensor)),
        };
        if !seen.insert(name.clone()) {
            let message = format!("two parameters or states are called `{name}`");
            return Err(Error::new(ErrorKind::Use, message).with_help(
                "their first values and their place in files depend on the name: give each its own",
            ));
        }
    }
    Ok(())
}
