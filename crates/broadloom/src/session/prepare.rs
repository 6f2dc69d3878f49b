//! Making routines ready to run, and leaves ready to be read.

use broadloom_loops::optimise::{self, optimise};
use broadloom_loops::{Array, Program, Storage};

use super::store::Store;
use super::{Prepared, Session};
use crate::error::{Error, ErrorKind};
use crate::initial::Initial;
use crate::lower::{Layout, Node, lower};
use crate::routine::Routine;
use crate::step::{Leaf, Tensor};
use crate::{Graph, Kind};

impl Session {
    /// Takes in changes of the graph.
    pub(super) fn refresh(&mut self) -> Result<(), Error> {
        if self.stale {
            self.layout = Layout::new(&mut self.graph)?;
            self.graph.check_names()?;
            self.version += 1;
            self.stale = false;
            self.store.move_to(&self.graph, &self.layout)?;
        }
        Ok(())
    }

    /// The place of a routine among the prepared ones.
    pub(super) fn prepare(&mut self, routine: &Routine) -> Result<usize, Error> {
        let known = |each: &Prepared| each.routine == *routine && each.version == self.version;
        if let Some(known) = self.prepared.iter().position(known) {
            return Ok(known);
        }
        for tensor in &routine.kept {
            self.graph.known(*tensor)?;
        }
        let lowered = lower(&self.graph, &self.layout, routine, self.settings.guard)
            .map_err(|error| error.about(&format!("routine `{}`", routine.name())))?;
        check_memory(&lowered.program)?;
        let options =
            if self.settings.optimise { optimise::Options::all() } else { optimise::Options::none() };
        let program = optimise(&lowered.program, &options);
        let mut places = Vec::new();
        for (node, buffer) in lowered.nodes.iter().zip(&program.buffers) {
            if buffer.storage == Storage::Kept {
                let watched = lowered.watched.contains(node);
                let place = if watched { Store::watch } else { Store::place };
                places.push(place(&mut self.store, &self.graph, &self.layout, *node)?);
            }
        }
        let compiled = match &self.compiler {
            Some(compiler) => {
                Some(compiler.compile(&program).map_err(|error| Error::run(error.to_string()))?)
            }
            None => None,
        };
        self.prepared.retain(|each| each.version == self.version);
        let routine = routine.clone();
        self.prepared.push(Prepared { routine, version: self.version, lowered, program, places, compiled });
        Ok(self.prepared.len() - 1)
    }

    /// Gives a leaf its first values, if it has any and does not have values yet.
    pub(super) fn initialise(&mut self, node: Node) -> Result<(), Error> {
        let Node::Value(tensor) = node else { return Ok(()) };
        if self.store.has_values(node) {
            return Ok(());
        }
        let values = match self.graph.leaf(tensor) {
            Some(Leaf::Param | Leaf::State) => self.first_values(tensor)?,
            Some(Leaf::Data) => match self.graph.facts.arrays.get(&tensor) {
                Some(values) => (**values).clone(),
                None => return Ok(()),
            },
            _ => return Ok(()),
        };
        self.store.write(&self.graph, &self.layout, node, &values)
    }

    /// The first values of a parameter or a state: as it was said, or 0 for a state and for what has no inputs, or
    /// so that the variance of what goes through a parameter stays about the same.
    fn first_values(&self, param: Tensor) -> Result<Array, Error> {
        let fan = |kind: Kind| self.layout.shapes.sizes(param, kind).product::<u64>();
        let has_inputs = self.layout.shapes.sizes(param, Kind::Input).next().is_some();
        let trained = self.graph.leaf(param) == Some(Leaf::Param);
        let usual =
            if has_inputs && trained { Initial::Kaiming { gain: 1.0 } } else { Initial::Constant(0.0) };
        let initial = self.graph.facts.initials.get(&param).unwrap_or(&usual);
        let (sizes, dtype) = (self.layout.sizes_of(param), self.layout.dtypes[param.index()]);
        let name = self.graph.short_name(param);
        initial.values(&name, self.settings.seed, &sizes, fan(Kind::Input), fan(Kind::Output), dtype)
    }
}

/// What no machine has, in bytes.
const TOO_MUCH: u64 = 1 << 44;

/// Refuses tensors that no memory holds, by name.
fn check_memory(program: &Program) -> Result<(), Error> {
    for buffer in &program.buffers {
        let bytes = buffer.padded().try_fold(buffer.dtype.bytes() as u64, u64::checked_mul);
        if bytes.is_none_or(|bytes| bytes > TOO_MUCH) {
            let sizes: Vec<String> = buffer.sizes.iter().map(u64::to_string).collect();
            let sizes = sizes.join(" × ");
            let message = format!("`{}` would have {sizes} elements, too many for any memory", buffer.name);
            let help = "look for an axis that should have been contracted";
            return Err(Error::new(ErrorKind::Run, message).with_help(help));
        }
    }
    Ok(())
}

impl Graph {
    /// What is saved: parameters and states.
    pub(crate) fn lasting(&self) -> Vec<Tensor> {
        let lasts = |tensor: &Tensor| matches!(self.leaf(*tensor), Some(Leaf::Param | Leaf::State));
        self.tensors().filter(lasts).collect()
    }

    /// Parameters and states are known by their names, to initialisers and in files: no two may share one.
    pub(crate) fn check_names(&self) -> Result<(), Error> {
        let mut seen = rustc_hash::FxHashSet::default();
        for tensor in self.lasting() {
            let name = self.short_name(tensor);
            if !seen.insert(name.clone()) {
                let message = format!("two parameters or states are called `{name}`");
                return Err(Error::new(ErrorKind::Use, message).with_help(
                    "their first values and their place in files depend on the name: give each its own",
                ));
            }
        }
        Ok(())
    }
}
