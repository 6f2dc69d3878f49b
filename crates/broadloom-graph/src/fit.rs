//! Checks that arrays fit the data of a program, before anything runs.
//!
//! [`Graph::fit`] looks at sizes and types alone, and reports everything that is wrong at once: a
//! user with ten files to correct wants to see all ten. Each axis with a [named size](Graph::dim)
//! gives the name a number. Names with two numbers, numbers out of range and sizes at which the
//! program has no meaning are found by comparing these numbers over all axes.
//!
//! ```
//! use broadloom::{Dtype, Graph, Input};
//! let mut g = Graph::new();
//! g.dim("batch", 1..=64, 32)?;
//! let (x, target) = (g.data("x", "batch | 784")?, g.data("target", "batch | 10")?);
//! let input = |tensor, sizes| Input { tensor, sizes, dtype: Dtype::F32 };
//!
//! let fit = g.fit(&[input(x, &[16, 784]), input(target, &[16, 10])])?;
//! assert!(fit.is_ok());
//! assert_eq!((fit.sizes[0].name.as_str(), fit.sizes[0].number), ("batch", Some(16)));
//!
//! let fit = g.fit(&[input(x, &[16, 784]), input(target, &[65, 9])])?;
//! let problems: Vec<String> = fit.misfits.iter().map(|misfit| misfit.to_string()).collect();
//! assert_eq!(problems, [
//!     "the array for `target` has sizes [65, 9], its shape is `batch | 10`: axis 1 (`target.output.0`) is 9 and should be 10",
//!     "axis 0 of `x` makes `batch` 16, axis 0 of `target` makes it 65",
//!     "axis 0 of `target` makes `batch` 65, its range is 1..64",
//! ]);
//! # Ok::<(), broadloom::Error>(())
//! ```

mod misfit;

use std::sync::Arc;

use broadloom_array::{Array, Dtype};
use broadloom_core::Symbol;

use crate::error::{Error, ErrorKind};
use crate::inferred::Inferred;
use crate::precision::precisions;
use crate::project::MEMORY;
use crate::shape::{Axis, Shapes};
use crate::size::SymbolicSize;
use crate::step::{Leaf, Tensor};
use crate::symbols::read;
use crate::symbols::read::contains;
use crate::{Graph, names};

pub use misfit::{Misfit, Said};

/// The sizes and the type of an array, all that is needed to check if it fits.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The data, parameter or state whose values it would be.
    pub tensor: Tensor,
    /// Its sizes, in memory order.
    pub sizes: &'a [u64],
    /// The type of its numbers.
    pub dtype: Dtype,
}

impl<'a> Input<'a> {
    /// An array as the values of a tensor.
    pub fn new(tensor: Tensor, array: &'a Array) -> Input<'a> {
        Input { tensor, sizes: array.sizes(), dtype: array.dtype() }
    }
}

/// The result of a check: the numbers that arrays give to named sizes, and everything that is
/// wrong.
#[derive(Clone, Debug)]
pub struct Fit {
    /// All named sizes, in the order of their declaration.
    pub sizes: Vec<FoundSize>,
    /// Everything that is wrong: array by array, then what concerns several.
    pub misfits: Vec<Misfit>,
}

impl Fit {
    /// Returns true if nothing is wrong.
    pub fn is_ok(&self) -> bool {
        self.misfits.is_empty()
    }
}

/// A named size and the number it gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundSize {
    /// Its name.
    pub name: String,
    /// Its number: what arrays say, or else what the program says or has as a sample.
    pub number: Option<u64>,
    /// The range, as far as the program narrows it.
    pub range: (u64, Option<u64>),
    /// The first data whose array says the number; nothing if no array does.
    pub by: Option<Tensor>,
    /// True if the size of some tensor, or some number, depends on it.
    pub used: bool,
}

/// Checks that arrays fit the tensors whose values they would be, and finds the numbers that
/// they give to named sizes. Changes nothing; `Session::set_all` accepts what fits.
pub(crate) fn fit(graph: &mut Graph, inputs: &[Input<'_>]) -> Result<Fit, Error> {
    fit_at(graph, &[], inputs)
}

/// The same, with numbers for some named sizes in place of their samples.
pub(crate) fn fit_at(graph: &mut Graph, sizes: &[(&str, u64)], inputs: &[Input<'_>]) -> Result<Fit, Error> {
    inputs.iter().try_for_each(|input| settable(graph, input.tensor))?;
    let inferred = Inferred::new(graph)?;
    let (shapes, used) = (Arc::clone(&inferred.shapes), inferred.symbols());
    let checks = graph.runtime_checks()?;
    let (misfits, claims) = (Vec::new(), Vec::new());
    let known = (0..graph.symbols.len()).map(|at| read::symbol_number(graph, at)).collect();
    let mut fitting = Fitting { graph, assumed: sizes, shapes, misfits, claims, known };
    fitting.alone(inputs);
    fitting.decide(inputs);
    fitting.compare();
    fitting.check(checks);
    let sizes = fitting.sizes(&used);
    Ok(Fit { sizes, misfits: fitting.misfits })
}

/// Refuses tensors whose values cannot come from outside.
pub(crate) fn settable(graph: &Graph, tensor: Tensor) -> Result<(), Error> {
    graph.known(tensor)?;
    if matches!(graph.leaf(tensor), Some(Leaf::Data | Leaf::Param | Leaf::State)) {
        return Ok(());
    }
    let message = format!("`{}` is computed, so its values cannot be set", names::label_of(graph, tensor));
    Err(Error::new(ErrorKind::Value, message))
}

/// The state of a check.
struct Fitting<'g> {
    graph: &'g Graph,
    /// Numbers of named sizes that come before samples.
    assumed: &'g [(&'g str, u64)],
    shapes: Arc<Shapes>,
    misfits: Vec<Misfit>,
    /// The numbers that axes give to named sizes, in the order of the arrays.
    claims: Vec<(Symbol, Said)>,
    /// The number of each named size, as soon as there is one.
    known: Vec<Option<u64>>,
}

/// An axis whose size is an expression.
struct OpenAxis<'a> {
    input: &'a Input<'a>,
    axis: usize,
    size: SymbolicSize,
}

impl Fitting<'_> {
    /// The axes of a tensor in memory order.
    fn axes(&self, tensor: Tensor) -> Vec<Axis> {
        MEMORY.into_iter().flat_map(|kind| self.shapes.axes(tensor, kind)).collect()
    }

    /// Checks each array by itself: the number of its axes, sizes that are numbers, its type.
    fn alone(&mut self, inputs: &[Input<'_>]) {
        let dtypes = precisions(self.graph);
        for input in inputs {
            let (axes, wanted) = (self.axes(input.tensor), dtypes[input.tensor.index()]);
            let number = |axis: &Axis| !matches!(axis, Axis::Symbolic(..));
            let wrong: Vec<(usize, u64)> = (axes.iter().zip(input.sizes).enumerate())
                .filter(|(_, (axis, size))| number(axis) && axis.size() != **size)
                .map(|(at, (axis, _))| (at, axis.size()))
                .collect();
            if axes.len() != input.sizes.len() || !wrong.is_empty() {
                let (label, shape) =
                    (names::label_of(self.graph, input.tensor), self.shapes.get(input.tensor));
                let (tensor, sizes) = (input.tensor, input.sizes.to_vec());
                self.misfits.push(Misfit::Sizes { tensor, label, shape, sizes, wrong });
            }
            if !wanted.is_float() && input.dtype.is_float() {
                let (tensor, label) = (input.tensor, names::label_of(self.graph, input.tensor));
                self.misfits.push(Misfit::Dtype { tensor, label, wanted, given: input.dtype });
            }
        }
    }

    /// Gives numbers to named sizes: first from axes of data with one unknown, until nothing more
    /// follows; then from the samples of the program, and again from such axes.
    fn decide(&mut self, inputs: &[Input<'_>]) {
        let mut waiting = self.open(inputs);
        // Axes with only one name come first, so that their numbers count whatever other axes say
        // of the name.
        waiting.sort_by_key(|open| open.size.names().count() > 1);
        for with_samples in [false, true] {
            if with_samples {
                self.assume_samples();
            }
            loop {
                let before = waiting.len();
                waiting.retain(|open| !self.settle(open));
                if waiting.len() == before {
                    break;
                }
            }
        }
    }

    /// The axes that depend on named sizes, of arrays that are laid out as they should be.
    fn open<'a>(&self, inputs: &'a [Input<'a>]) -> Vec<OpenAxis<'a>> {
        let mut open = Vec::new();
        for input in inputs.iter().filter(|input| self.is_laid_out(input)) {
            for (axis, size) in self.axes(input.tensor).into_iter().enumerate() {
                if let Axis::Symbolic(size, _) = size {
                    open.push(OpenAxis { input, axis, size });
                }
            }
        }
        open
    }

    /// Returns true if an array has the right number of axes and does not have them in another
    /// order. If it does, its axes give no numbers to names.
    fn is_laid_out(&self, input: &Input<'_>) -> bool {
        let own = |misfit: &Misfit| match misfit {
            Misfit::Sizes { tensor, shape, sizes, wrong, .. } => {
                *tensor == input.tensor && (wrong.is_empty() || misfit::other_order(shape, sizes).is_some())
            }
            _ => false,
        };
        self.axes(input.tensor).len() == input.sizes.len() && !self.misfits.iter().any(own)
    }

    /// Takes the number that an axis gives to a name, or reports a misfit. Returns false if the
    /// axis has to wait, because more than one of its names is unknown or it may not decide them.
    fn settle(&mut self, open: &OpenAxis<'_>) -> bool {
        let (given, symbols) = (open.input.sizes[open.axis], open.size.form().symbols());
        let known = |symbol: Symbol| self.known.get(symbol.0 as usize).copied().flatten();
        let decides = self.graph.leaf(open.input.tensor) == Some(Leaf::Data);
        let missing = symbols.iter().filter(|symbol| known(**symbol).is_none()).count();
        // An axis with one name decides that name, whatever other axes say.
        let solved = match (decides, symbols.len(), missing) {
            (true, 1, _) => open.size.solved(given, |_| None),
            (true, _, 1) => open.size.solved(given, known),
            (_, _, 0) if open.size.form().size(known) == Some(given) => return true,
            (_, _, 0) => None,
            _ => return false,
        };
        let (tensor, axis, label) =
            (open.input.tensor, open.axis, names::label_of(self.graph, open.input.tensor));
        match solved {
            Some((symbol, number)) => {
                self.known[symbol.0 as usize].get_or_insert(number);
                self.claims.push((symbol, Said { tensor, label, axis, number }));
            }
            None => {
                let numbers = symbols.iter().filter_map(|symbol| Some((self.name(*symbol), known(*symbol)?)));
                let numbers = if symbols.len() == 1 && decides { Vec::new() } else { numbers.collect() };
                let (shape, sizes) = (self.shapes.get(tensor), open.input.sizes.to_vec());
                let wanted = open.size.clone();
                self.misfits.push(Misfit::Expression { tensor, label, shape, sizes, axis, wanted, numbers });
            }
        }
        true
    }

    fn assume_samples(&mut self) {
        for at in 0..self.known.len() {
            let range = read::symbol_range(self.graph, at);
            let data = &self.graph.symbols[at];
            let assumed = self.assumed.iter().find(|(name, _)| **name == *data.name).map(|(_, size)| *size);
            let sample = data.sample.filter(|sample| contains(range, *sample));
            self.known[at] = self.known[at].or(assumed).or(sample);
        }
    }

    /// Reports names that get two numbers, and numbers out of range.
    fn compare(&mut self) {
        let (mut disagreements, mut out_of_range) = (Vec::new(), Vec::new());
        for at in 0..self.known.len() {
            let symbol = Symbol(at as u32);
            let mut claims: Vec<&Said> = Vec::new();
            for (_, each) in self.claims.iter().filter(|(own, _)| *own == symbol) {
                if claims.iter().all(|known| known.number != each.number) {
                    claims.push(each);
                }
            }
            let (range, declared) = (read::symbol_range(self.graph, at), self.graph.symbols[at].range);
            for each in claims.iter().filter(|each| !contains(range, each.number)) {
                let (name, said) = (self.name(symbol), (*each).clone());
                out_of_range.push(Misfit::Range { name, said, range, declared });
            }
            if claims.len() > 1 {
                let said = claims.into_iter().cloned().collect();
                disagreements.push(Misfit::Disagreement { name: self.name(symbol), said });
            }
        }
        self.misfits.append(&mut disagreements);
        self.misfits.append(&mut out_of_range);
    }

    /// Checks the conditions that the program relies on, at the numbers that were found.
    fn check(&mut self, checks: Vec<crate::RuntimeCheck>) {
        let names: Vec<&str> = self.graph.symbols.iter().map(|data| &*data.name).collect();
        let known = names.iter().zip(&self.known).filter_map(|(name, number)| Some((*name, (*number)?)));
        let known: Vec<(&str, u64)> = known.collect();
        let is_reported = |name: &str| {
            let own = |misfit: &Misfit| matches!(misfit, Misfit::Range { name: own, .. } if own == name);
            self.misfits.iter().any(own)
        };
        let mut failed = Vec::new();
        for check in checks.into_iter().filter(|check| check.holds(&known) == Some(false)) {
            // A size out of its range breaks bounds that follow from the range: it has been
            // reported.
            if check.is_bound() && check.names().any(is_reported) {
                continue;
            }
            let numbers: Vec<(String, u64)> = (known.iter())
                .filter(|(name, _)| check.names().any(|own| own == *name))
                .map(|(name, number)| (name.to_string(), *number))
                .collect();
            let by = |name: &String| self.claims.iter().find(|(symbol, _)| self.name(*symbol) == *name);
            let tensors = numbers.iter().filter_map(|(name, _)| Some(by(name)?.1.tensor)).collect();
            failed.push(Misfit::Check { check, numbers, tensors });
        }
        self.misfits.append(&mut failed);
    }

    fn sizes(&self, used: &[Symbol]) -> Vec<FoundSize> {
        let size = |at: usize| {
            let own = Symbol(read::symbol_stands_for(self.graph, at) as u32);
            let by = self.claims.iter().find(|(symbol, _)| *symbol == own).map(|(_, said)| said.tensor);
            FoundSize {
                name: self.graph.symbols[at].name.to_string(),
                number: self.known[at].filter(|_| by.is_none()).or(self.known[own.0 as usize]),
                range: read::symbol_range(self.graph, at),
                by,
                used: used.contains(&own),
            }
        };
        (0..self.known.len()).map(size).collect()
    }

    fn name(&self, symbol: Symbol) -> String {
        read::symbol_data(self.graph, symbol).map_or(String::new(), |data| data.name.to_string())
    }
}
