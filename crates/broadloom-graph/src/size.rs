//! Sizes of final shapes: numbers, and expressions over named sizes.

use std::fmt;
use std::sync::Arc;

use broadloom_core::{Form, Symbol};
use rustc_hash::FxHashMap;

use crate::step::Tensor;
use crate::symbols::table::SymbolData;

/// The name of the size of each axis of a tensor, in memory order.
pub(crate) type AxisNames = Vec<Option<Arc<str>>>;

/// The names of all tensors that have any.
pub(crate) type SizeNames = FxHashMap<Tensor, AxisNames>;

/// The number of elements of an axis, or of iterations of a loop.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Extent {
    /// A number.
    Literal(u64),
    /// An expression over named sizes.
    Symbolic(SymbolicSize),
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Literal(size) => size.fmt(f),
            Extent::Symbolic(size) => size.fmt(f),
        }
    }
}

/// A size that is an expression over named sizes: `batch`, `2*batch`, `seq/8`, `batch*seq + 1`.
///
/// ```
/// use broadloom::{Extent, Graph};
/// let mut g = Graph::new();
/// g.dim("batch", 1..=64, 32)?;
/// let (x, y) = (g.data("x", "batch")?, g.data("y", "batch")?);
/// let both = g.einsum("a; b => a^b", &[x, y])?;
/// let shape = g.final_shape(both)?;
/// let Extent::Symbolic(size) = shape.output()[0].extent() else { panic!("a symbolic size") };
/// assert_eq!(size.to_string(), "2*batch");
/// assert_eq!((size.min(), size.sample(), size.max()), (2, Some(64), Some(128)));
/// assert_eq!(size.at(&[("batch", 5)]), Some(10));
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SymbolicSize {
    form: Form,
    /// The symbols in the form and their names, in the order of symbols.
    names: Arc<[(Symbol, Box<str>)]>,
    range: (u64, Option<u64>),
    sample: Option<u64>,
    /// A size within the ranges, for what needs a number to work with.
    some: u64,
}

impl SymbolicSize {
    /// An expression over the symbols of a graph, with their ranges.
    pub fn new(
        form: &Form,
        symbols: &[SymbolData],
        range: impl Fn(Symbol) -> (u64, Option<u64>),
    ) -> SymbolicSize {
        let (least, most) = form.bounds(&range);
        let size = |size: i128| u64::try_from(size.max(0)).unwrap_or(u64::MAX);
        let least = least.map_or(1, size).max(1);
        let sample_of = |symbol: Symbol| symbols.get(symbol.0 as usize).and_then(|data| data.sample);
        let sample = form.size(sample_of);
        // Two rather than one: a size of one looks like less than it is.
        let usual = |symbol: Symbol| {
            let (lo, hi) = range(symbol);
            sample_of(symbol).or(Some(lo.max(2).min(hi.unwrap_or(u64::MAX))))
        };
        let some = sample.or_else(|| form.size(usual)).unwrap_or(least);
        let name = |symbol: Symbol| Some((symbol, symbols.get(symbol.0 as usize)?.name.clone()));
        let names = form.symbols().into_iter().filter_map(name).collect();
        SymbolicSize { form: form.clone(), names, range: (least, most.map(size)), sample, some }
    }

    /// The least it can be.
    pub fn min(&self) -> u64 {
        self.range.0
    }

    /// The greatest it can be, if there is a greatest.
    pub fn max(&self) -> Option<u64> {
        self.range.1
    }

    /// Its value at the samples of the named sizes, if they have samples.
    pub fn sample(&self) -> Option<u64> {
        self.sample
    }

    /// The sample, or else some size within the ranges.
    pub fn some(&self) -> u64 {
        self.some
    }

    /// Its value at given sizes; `None` if one is missing, or if the value is no whole number.
    pub fn at(&self, sizes: &[(&str, u64)]) -> Option<u64> {
        self.form.size(|symbol| {
            let name = self.name(symbol)?;
            sizes.iter().find(|(own, _)| *own == name).map(|(_, size)| *size)
        })
    }

    /// The names in it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|(_, name)| &**name)
    }

    /// The name of a symbol in it.
    pub fn name(&self, symbol: Symbol) -> Option<&str> {
        let at = self.names.binary_search_by_key(&symbol, |(own, _)| *own).ok()?;
        Some(&self.names[at].1)
    }

    /// The one named size whose number is not known, and the number at which the expression has
    /// this size. `None` unless there is exactly one such name and the expression is linear in it.
    pub fn solved(&self, size: u64, known: impl Fn(Symbol) -> Option<u64>) -> Option<(Symbol, u64)> {
        let mut open = self.form.symbols();
        open.retain(|symbol| known(*symbol).is_none());
        let [symbol] = open[..] else { return None };
        let at = |number: u64| self.form.value(|own| if own == symbol { Some(number) } else { known(own) });
        let ((one, below), (two, _)) = (at(1)?, at(2)?);
        let slope = two.checked_sub(one)?;
        let rise = i128::from(size).checked_mul(below)?.checked_sub(one)?;
        let number = u64::try_from(rise.checked_div(slope)?.checked_add(1)?).ok()?;
        let right = self.form.size(|own| if own == symbol { Some(number) } else { known(own) }) == Some(size);
        right.then_some((symbol, number))
    }

    /// The expression.
    pub fn form(&self) -> &Form {
        &self.form
    }
}

impl fmt::Display for SymbolicSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.form.show(|symbol| self.name(symbol).unwrap_or("?").to_string()))
    }
}

/// Sizes as they are shown: `[16, 784]`.
pub fn list(sizes: &[u64]) -> String {
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    format!("[{}]", sizes.join(", "))
}

/// A range as it is declared: `1..64`, `1..`.
pub fn range_text((lo, hi): (u64, Option<u64>)) -> String {
    match hi {
        Some(hi) => format!("{lo}..{hi}"),
        None => format!("{lo}.."),
    }
}
