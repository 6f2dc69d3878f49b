//! Named sizes of a session: their current numbers, and the ways in which these change.
//!
//! A program with [named sizes](broadloom_graph::Graph::dim) is compiled once. Before each run
//! every size has a number: its sample, the one given to [`Session::set_sizes`], or the one implied
//! by data that was set since. Blocks of memory are resized accordingly.

use std::sync::Arc;

use broadloom_core::Symbol;
use broadloom_graph::lowering::{Face, Leaf, MEMORY, list};
use broadloom_graph::{Error, ErrorKind, SymbolicSize, Tensor};

use super::Session;
use super::prepare::lasting;
use crate::lower::Layout;
use crate::sizes::{By, Sizes};

/// The number of sizes whose layouts a session remembers.
const REMEMBERED: usize = 8;

impl Session {
    /// Sets the numbers of named sizes, from now on. Sizes out of range, and sizes at which the
    /// program is not valid, are refused, and nothing changes. Data whose shape changes has to be
    /// set again.
    ///
    /// Nothing is compiled again for other sizes. Data that is [set](Session::set) decides sizes too: values of 16 rows for
    /// `x : batch | 784` make `batch` 16.
    ///
    /// ```
    /// use broadloom::{Array, Graph, Routine, Session};
    /// let mut g = Graph::new();
    /// g.dim("batch", 1..=64, 32)?;
    /// let x = g.data("x", "batch | 2")?;
    /// let sum = g.einsum("b | i => i", &[x])?;
    /// let mut routine = Routine::new("sum");
    /// routine.forward(sum);
    ///
    /// let mut session = Session::new(g)?;
    /// for batch in [3, 64] {
    ///     session.set(x, &Array::full(broadloom::Dtype::F32, &[batch, 2], 1.0)?)?;
    ///     session.run(&routine)?;
    ///     assert_eq!(session.get(sum)?.to_f64s(), [batch as f64; 2]);
    /// }
    /// let error = session.set_sizes(&[("batch", 65)]).unwrap_err();
    /// assert_eq!(error.message(), "`batch` cannot be 65: its range is 1..64");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn set_sizes(&mut self, sizes: &[(&str, u64)]) -> Result<(), Error> {
        self.refresh()?;
        let wanted = self.wanted(sizes)?;
        self.resize(wanted)
    }

    /// The current sizes, except for those that are given.
    pub(super) fn wanted(&self, sizes: &[(&str, u64)]) -> Result<Sizes, Error> {
        let mut wanted = self.sizes.clone();
        for (name, size) in sizes {
            let own = self.graph.symbol_at(name)?;
            if let Some(number) = self.graph.symbol_now(own).number.filter(|number| number != size) {
                let message = format!("`{name}` cannot be {size}: it is {number} in this program");
                let help = "it is a number because it meets one; give that tensor the named size as well";
                return Err(Error::new(ErrorKind::Range, message).with_help(help));
            }
            let same = |(other, number): &&(&str, u64)| {
                let other = self.graph.symbol_at(other).ok().map(|other| self.sizes.same[other]);
                other == Some(self.sizes.same[own]) && number != size
            };
            if let Some((other, number)) = sizes.iter().find(same) {
                let message =
                    format!("`{name}` and `{other}` are one size here, and cannot be {size} and {number}");
                return Err(Error::new(ErrorKind::Range, message));
            }
            wanted.give(own, *size, By::Caller);
        }
        Ok(wanted)
    }

    /// The named sizes and the numbers they have now.
    pub fn sizes(&mut self) -> Result<impl Iterator<Item = (&str, u64)>, Error> {
        self.refresh()?;
        Ok(self.sizes.iter())
    }

    /// The sizes of a tensor in memory order: batch, output, input axes, at the current numbers of
    /// named sizes.
    pub fn sizes_of(&mut self, tensor: Tensor) -> Result<Vec<u64>, Error> {
        self.refresh()?;
        self.graph.known(tensor)?;
        Ok(self.layout.sizes_of(tensor))
    }

    /// Like [`sizes_of`](Session::sizes_of), row by row.
    pub fn rows_of(&mut self, tensor: Tensor) -> Result<[Vec<u64>; 3], Error> {
        self.refresh()?;
        self.graph.known(tensor)?;
        Ok(MEMORY.map(|kind| self.layout.shapes.sizes(tensor, kind).collect()))
    }

    /// Sets named sizes to those that the values for data imply, all of them together.
    pub(super) fn follow(&mut self, inputs: &[(Tensor, &[u64])]) -> Result<(), Error> {
        if inputs.iter().all(|(tensor, given)| self.layout.sizes_of(*tensor) == *given) {
            // The usual case: the sizes stay the same, only their source changes.
            for (tensor, _) in
                inputs.iter().filter(|(tensor, _)| self.graph.leaf(*tensor) == Some(Leaf::Data))
            {
                for symbol in self.inferred.shapes.symbols_of(*tensor) {
                    self.sizes.by[symbol.0 as usize] = By::Data(*tensor);
                }
            }
            return Ok(());
        }
        let mut waiting = Vec::new();
        for (tensor, given) in inputs {
            let axes: Vec<Option<SymbolicSize>> = MEMORY
                .into_iter()
                .flat_map(|kind| self.inferred.shapes.expressions(*tensor, kind))
                .map(|size| size.cloned())
                .collect();
            let follows = axes.len() == given.len() && self.graph.leaf(*tensor) == Some(Leaf::Data);
            let axes = axes.into_iter().zip(*given).filter(|_| follows);
            waiting.extend(axes.filter_map(|(axis, size)| Some((*tensor, axis?, *size))));
        }
        let mut wanted = self.sizes.clone();
        let mut decided: Vec<Symbol> = Vec::new();
        // First the sizes that arrays decide alone, then those that follow from them and from
        // earlier settings. Samples are not used.
        for with_said in [false, true] {
            while let Some(at) = waiting.iter().position(|(tensor, axis, size)| {
                let known = |symbol: Symbol| {
                    let said = matches!(wanted.by[symbol.0 as usize], By::Caller | By::Data(_));
                    let known = decided.contains(&symbol) || (with_said && said);
                    known.then(|| wanted.now[symbol.0 as usize])
                };
                let solved = axis.solved(*size, known).filter(|(symbol, _)| !decided.contains(symbol));
                if let Some((symbol, number)) = solved {
                    wanted.give(symbol.0 as usize, number, By::Data(*tensor));
                    decided.push(symbol);
                }
                solved.is_some()
            }) {
                waiting.remove(at);
            }
        }
        for (tensor, given) in inputs {
            let has_names = !self.inferred.shapes.symbols_of(*tensor).is_empty();
            if has_names && self.shape_at(*tensor, &wanted.now).as_deref() != Some(*given) {
                // An error about an invalid size is more helpful than one about an array that does
                // not fit.
                wanted.check(&self.graph)?;
                let misfit = self.misfit(*tensor, given);
                return Err(misfit.about_values_of(*tensor, &self.graph.label_of(*tensor)));
            }
        }
        self.resize(wanted)
    }

    /// The sizes of a tensor in memory order at given numbers of named sizes.
    fn shape_at(&self, tensor: Tensor, sizes: &[u64]) -> Option<Vec<u64>> {
        MEMORY.into_iter().flat_map(|kind| self.inferred.shapes.sizes_at(tensor, kind, sizes)).collect()
    }

    fn misfit(&self, tensor: Tensor, given: &[u64]) -> Error {
        let (name, shape) = (self.graph.label_of(tensor), self.inferred.shapes.get(tensor));
        let message = format!(
            "the values for `{name}` have sizes {}, which do not fit its shape `{shape}`",
            list(given)
        );
        Error::new(ErrorKind::Value, message).with_help(
            "sizes are in memory order: batch axes, output axes, input axes; a name is one size everywhere",
        )
    }

    fn resize(&mut self, wanted: Sizes) -> Result<(), Error> {
        if wanted.now != self.sizes.now {
            wanted.check(&self.graph)?;
            let layout = self.layout_at(&wanted.now)?;
            self.refuse_to_forget(&layout)?;
            self.store.move_to(&self.graph, &layout)?;
            self.layout = layout;
        }
        self.sizes = wanted;
        Ok(())
    }

    /// The layout at some sizes; the last few are remembered.
    fn layout_at(&mut self, sizes: &[u64]) -> Result<Arc<Layout>, Error> {
        if let Some((_, known)) = self.layouts.iter().find(|(known, _)| known == sizes) {
            return Ok(Arc::clone(known));
        }
        let layout = Arc::new(Layout::at(&self.graph, &self.inferred, sizes)?);
        if self.layouts.len() == REMEMBERED {
            let (forgotten, _) = self.layouts.remove(0);
            self.prepared.forget(&forgotten);
        }
        self.layouts.push((sizes.to_vec(), Arc::clone(&layout)));
        Ok(layout)
    }

    /// Refuses sizes that would discard learned values.
    fn refuse_to_forget(&self, layout: &Layout) -> Result<(), Error> {
        let changes = |tensor: &Tensor| {
            let node = crate::lower::Content::Value(*tensor);
            self.store.has_values(node) && layout.sizes_of(*tensor) != self.layout.sizes_of(*tensor)
        };
        let Some(tensor) = lasting(&self.graph).into_iter().find(changes) else { return Ok(()) };
        let (name, shape) = (self.graph.label_of(tensor), self.inferred.shapes.get(tensor));
        let message = format!("`{name}` has values and cannot change its size: its shape is `{shape}`");
        let help = "give what lasts a shape without named sizes, or run each size by itself";
        Err(Error::new(ErrorKind::Range, message).with_help(help))
    }
}
