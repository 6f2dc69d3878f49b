//! Named sizes of a session: their current numbers, and the ways in which these change.
//!
//! A program with [named sizes](broadloom_graph::Graph::dim) is compiled once. Before each run
//! every size has a number: its sample, the one given to [`Session::set_sizes`], or the one implied
//! by data that was set since. Blocks of memory are resized accordingly.

use std::sync::Arc;

use broadloom_core::Symbol;
use broadloom_graph::lowering::{Face, Inferred, Leaf, MEMORY, contains, list, out_of_range};
use broadloom_graph::{Error, ErrorKind, Graph, RuntimeCheck, SymbolicSize, Tensor};

use super::Session;
use super::prepare::lasting;
use crate::lower::Layout;

/// The named sizes of a graph, by symbol, with the numbers they have.
#[derive(Clone)]
pub(crate) struct Sizes {
    names: Vec<Box<str>>,
    ranges: Vec<(u64, Option<u64>)>,
    /// The representative symbol of each: another one if they are the same size.
    same: Arc<[usize]>,
    checks: Arc<[RuntimeCheck]>,
    /// The symbols that sizes of tensors, or numbers, depend on.
    open: Arc<[Symbol]>,
    /// The number of each symbol.
    pub now: Vec<u64>,
    /// The source of each number.
    by: Vec<By>,
}

/// The source of the number of a named size.
#[derive(Clone, Copy, PartialEq)]
enum By {
    /// Undecided: the number is a placeholder.
    Nobody,
    /// The program, or its sample.
    Program,
    /// [`Session::set_sizes`].
    Caller,
    /// Data that was set.
    Data(Tensor),
}

impl Sizes {
    pub fn new(graph: &mut Graph, inferred: &Inferred) -> Result<Sizes, Error> {
        let checks = graph.runtime_checks()?.into();
        let decided = |sample: bool| if sample { By::Program } else { By::Nobody };
        let now = graph.some_sizes()?;
        let known = |at: usize| graph.symbol_number(at);
        let by = graph.symbols().iter().enumerate();
        // A sample at which the program is not valid decides nothing.
        let by = by.map(|(at, data)| decided(known(at).is_some() || data.sample == Some(now[at]))).collect();
        let names = graph.symbols().iter().map(|data| data.name.clone()).collect();
        let same = graph.same_sizes()?;
        let ranges = same.iter().map(|at| graph.symbol_range(*at)).collect();
        let open = inferred.symbols().into();
        Ok(Sizes { names, ranges, same, checks, open, now, by })
    }

    /// The sizes for a graph that has changed: given numbers are kept, as far as they are still
    /// possible.
    pub fn carried_to(&self, changed: Sizes, graph: &Graph) -> Sizes {
        let mut carried = changed.clone();
        for (at, name) in self.names.iter().enumerate() {
            let kept = match self.by[at] {
                By::Caller => true,
                By::Data(tensor) => graph.known(tensor).is_ok(),
                By::Nobody | By::Program => false,
            };
            if let Some(to) = changed.names.iter().position(|known| known == name)
                && kept
                && graph.symbol_number(to).is_none()
            {
                carried.give(to, self.now[at], self.by[at]);
            }
        }
        if carried.check(graph).is_ok() { carried } else { changed }
    }

    /// Sets the number of a size, under all its names.
    fn give(&mut self, at: usize, number: u64, by: By) {
        for other in (0..self.same.len()).filter(|other| self.same[*other] == self.same[at]) {
            (self.now[other], self.by[other]) = (number, by);
        }
    }

    /// The representative symbol of a size.
    pub fn known_as(&self, at: usize) -> usize {
        self.same[at]
    }

    /// The numbers of some sizes.
    pub fn of(&self, symbols: &[Symbol]) -> Vec<u64> {
        self.values(symbols, &self.now)
    }

    /// The numbers of some sizes, from the numbers of all.
    pub fn values(&self, symbols: &[Symbol], all: &[u64]) -> Vec<u64> {
        symbols.iter().map(|symbol| all[symbol.0 as usize]).collect()
    }

    /// A number that a size is always a multiple of, as far as divisions of it alone show.
    pub fn multiple(&self, symbol: Symbol) -> u64 {
        let forms = self.checks.iter().map(RuntimeCheck::form);
        let alone = forms.filter(|form| form.symbols() == [symbol]);
        let whole = alone.filter(|form| form.value(|_| Some(0)).is_some_and(|(value, _)| value == 0));
        whole.filter_map(|form| u64::try_from(form.denominator()).ok()).fold(1, least_common_multiple)
    }

    /// The least number that a size can have, by its range and by the checks that concern it alone.
    pub fn least(&self, symbol: Symbol) -> u64 {
        let relied_on = self.checks.iter().filter_map(RuntimeCheck::least);
        let relied_on = relied_on.filter(|(own, _)| *own == symbol).map(|(_, least)| least);
        relied_on.fold(self.ranges[symbol.0 as usize].0, u64::max)
    }

    /// Returns true if some sizes are multiples of the numbers that code for all sizes assumes.
    pub fn are_usual(&self, symbols: &[Symbol]) -> bool {
        symbols.iter().zip(self.of(symbols)).all(|(symbol, size)| size.is_multiple_of(self.multiple(*symbol)))
    }

    /// Name, number and range of the sizes that tensors or numbers depend on.
    pub fn each_open(&self) -> impl Iterator<Item = (&str, u64, (u64, Option<u64>))> {
        self.open.iter().map(|symbol| {
            let at = symbol.0 as usize;
            (&*self.names[at], self.now[at], self.ranges[at])
        })
    }

    /// Returns true if something depends on a size.
    pub fn is_open(&self, at: usize) -> bool {
        self.open.iter().any(|symbol| symbol.0 as usize == at)
    }

    /// The numbers that a size can have, by its range and its divisions: the first, the last and
    /// the distance.
    pub fn choices(&self, at: usize) -> (u64, Option<u64>, u64) {
        let step = self.multiple(Symbol(at as u32));
        let (lo, hi) = self.ranges[at];
        let first = lo.checked_next_multiple_of(step).unwrap_or(lo);
        (first, hi.map(|hi| (hi - hi % step).max(first)), step)
    }

    /// The least sizes, and the greatest if all have one.
    pub fn ends(&self) -> (Vec<u64>, Option<Vec<u64>>) {
        let (mut least, mut most) = (self.now.clone(), Some(self.now.clone()));
        for symbol in self.open.iter() {
            let at = symbol.0 as usize;
            let (first, last, _) = self.choices(at);
            least[at] = first;
            most = most.zip(last).map(|(mut most, last)| {
                most[at] = last;
                most
            });
        }
        (least, most)
    }

    /// Large numbers for the sizes, all different, so that each number identifies its size.
    pub fn large(&self) -> Vec<u64> {
        // Products of all of them have to fit into 64 bits.
        let least = match self.open.len() {
            0..=3 => 10_009,
            4..=5 => 1_011,
            _ => 103,
        };
        let mut sizes = self.now.clone();
        for (place, symbol) in (0u64..).zip(self.open.iter()) {
            sizes[symbol.0 as usize] = (least + 2 * place).saturating_mul(self.multiple(*symbol));
        }
        sizes
    }

    /// Returns true if the program is valid at these sizes, ranges aside.
    pub fn is_possible(&self, sizes: &[u64]) -> bool {
        let pairs = self.pairs(sizes);
        self.checks.iter().all(|check| check.is_bound() || check.holds(&pairs) != Some(false))
    }

    fn pairs<'a>(&'a self, sizes: &[u64]) -> Vec<(&'a str, u64)> {
        self.names.iter().map(|name| &**name).zip(sizes.iter().copied()).collect()
    }

    /// The names and numbers of all sizes.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.names.iter().map(|name| &**name).zip(self.now.iter().copied())
    }

    /// Refuses sizes out of their ranges, and sizes at which the program is not valid.
    pub fn check(&self, graph: &Graph) -> Result<(), Error> {
        for symbol in self.open.iter() {
            let at = symbol.0 as usize;
            if !contains(self.ranges[at], self.now[at]) {
                return Err(
                    self.explained(out_of_range(&self.names[at], self.now[at], self.ranges[at]), graph)
                );
            }
        }
        let Some(check) = self.broken_at(&self.now) else { return Ok(()) };
        let sizes: Vec<String> = check.names().map(|name| self.equation(name)).collect();
        let message = format!("there is no program for {}: it relies on this: {check}", sizes.join(", "));
        let error = Error::new(ErrorKind::Range, message).with_help("choose sizes for which this holds");
        Err(self.explained(error, graph))
    }

    fn equation(&self, name: &str) -> String {
        let number = self.iter().find(|(known, _)| *known == name).map_or(0, |(_, size)| size);
        format!("`{name}` = {number}")
    }

    /// Adds the data that decided the sizes to an error.
    fn explained(&self, error: Error, graph: &Graph) -> Error {
        self.open.iter().fold(error, |error, symbol| match self.by[symbol.0 as usize] {
            By::Data(tensor) => {
                let (name, size) = (&self.names[symbol.0 as usize], self.now[symbol.0 as usize]);
                error.with_end(format!("`{name}` is {size} in the values for `{}`", graph.label_of(tensor)))
            }
            _ => error,
        })
    }

    /// The first undecided size that something depends on.
    pub fn undecided(&self) -> Option<&str> {
        let nobody = |symbol: &&Symbol| self.by[symbol.0 as usize] == By::Nobody;
        self.open.iter().find(nobody).map(|symbol| &*self.names[symbol.0 as usize])
    }

    /// The first check of the program that does not hold at some sizes.
    pub fn broken_at(&self, sizes: &[u64]) -> Option<&RuntimeCheck> {
        let pairs = self.pairs(sizes);
        self.checks.iter().find(|check| check.holds(&pairs) == Some(false))
    }

    /// The data that decided a size on which another tensor depends, with the name and the number
    /// of the size.
    pub fn decided_by(&self, symbols: &[Symbol]) -> Option<(Tensor, &str, u64)> {
        symbols.iter().rev().find_map(|symbol| {
            let at = symbol.0 as usize;
            match self.by[at] {
                By::Data(tensor) => Some((tensor, &*self.names[at], self.now[at])),
                _ => None,
            }
        })
    }
}

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
            let own = self.graph.symbol_at(name).ok_or_else(|| self.graph.no_such_size(name))?;
            if let Some(number) = self.graph.symbol_number(own).filter(|number| number != size) {
                let message = format!("`{name}` cannot be {size}: it is {number} in this program");
                let help = "it is a number because it meets one; give that tensor the named size as well";
                return Err(Error::new(ErrorKind::Range, message).with_help(help));
            }
            let same = |(other, number): &&(&str, u64)| {
                let other = self.graph.symbol_at(other).map(|other| self.sizes.same[other]);
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

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).saturating_mul(b)
}
