//! Named sizes of a graph (*Tensor Dimension Inference*, "Dimension Representation"): `dim batch in 1..64`.
//!
//! A named size stands for the same number wherever its name is in a declared shape. Inference works with the
//! name: `batch | 784` goes through a layer as `batch | 10`, a stride makes `batch/2` of it, a concatenation
//! `batch + 1`. It meets a number and becomes that number; it never meets another name.
//!
//! ```
//! use broadloom::Graph;
//! let mut g = Graph::new();
//! g.dim("batch", 1..=64, 32)?;
//! let (x, w) = (g.data("x", "batch | 784")?, g.param_shaped("w", "... -> 10")?);
//! let y = g.compose(w, x)?;
//! assert_eq!(g.final_shape(y)?.to_string(), "batch | 10");
//! assert_eq!(g.final_shape(y)?.elements_range(), (10, Some(640)));
//!
//! let small = g.with_sizes(&[("batch", 8)])?.final_shape(y)?;
//! assert_eq!(small.to_string(), "8 | 10");
//! assert!(g.with_sizes(&[("batch", 65)]).is_err());
//! # Ok::<(), broadloom::Error>(())
//! ```

pub(crate) mod read;
pub(crate) mod table;

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use broadloom_core::{Check, Constraint, DimTerm, Form, Need, Symbol};

use crate::error::{Error, ErrorKind, Remedy};
use crate::size::range_text;
use crate::step::{Aspect, Step, StepId};
use crate::{Graph, final_shapes};

use table::SymbolData;

/// A condition that a program relies on, and that holds only for some sizes of its symbols.
///
/// ```
/// let mut g = broadloom::Graph::new();
/// g.dim("seq", .., None)?;
/// let x = g.data("x", "seq")?;
/// let even = g.einsum("2*i => i", &[x])?;
/// assert_eq!(g.final_shape(even)?.to_string(), "seq/2");
/// let [check] = &g.runtime_checks()?[..] else { panic!("one check") };
/// assert_eq!(check.to_string(), "`seq` is a multiple of 2");
/// assert_eq!((check.holds(&[("seq", 6)]), check.holds(&[("seq", 7)])), (Some(true), Some(false)));
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuntimeCheck {
    form: Form,
    need: Need,
    names: Arc<[Box<str>]>,
    /// The step that asks for it.
    step: StepId,
}

impl RuntimeCheck {
    /// The step that asks for it.
    pub fn step(&self) -> StepId {
        self.step
    }

    /// The named sizes that it is about.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let name = |symbol: Symbol| self.names.get(symbol.0 as usize).map(|name| &**name);
        self.form.symbols().into_iter().filter_map(name)
    }

    /// Evaluates the condition at given sizes; `None` if one is missing.
    pub fn holds(&self, sizes: &[(&str, u64)]) -> Option<bool> {
        let of = |symbol: Symbol| {
            let name = self.names.get(symbol.0 as usize)?;
            sizes.iter().find(|(own, _)| **own == **name).map(|(_, size)| *size)
        };
        self.form.value(of).map(|value| self.need.holds(value))
    }

    /// The expression that it restricts.
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// Returns true if two expressions have to be equal that are not the same.
    pub fn is_equality(&self) -> bool {
        self.need == Need::Zero
    }

    /// The condition on the expression.
    pub(crate) fn need(&self) -> Need {
        self.need
    }

    /// The one named size that it bounds from below, and the least number that it can have.
    pub fn least(&self) -> Option<(Symbol, u64)> {
        let Need::AtLeast(least) = self.need else { return None };
        let mut terms = self.form.terms();
        let (&[symbol], factor @ 1..) = terms.next()? else { return None };
        let offset = match terms.next() {
            None => 0,
            Some(([], offset)) => offset,
            Some(_) => return None,
        };
        let rest = i128::from(least).checked_mul(self.form.denominator())?.checked_sub(offset)?;
        Some((symbol, u64::try_from(rest.div_euclid(factor) + i128::from(rest.rem_euclid(factor) > 0)).ok()?))
    }

    /// The number that one named size has to be a multiple of.
    pub(crate) fn divisor(&self) -> Option<(Symbol, u64)> {
        let symbol = self.form.numerator().as_symbol()?;
        let divisor = u64::try_from(self.form.denominator()).ok()?;
        (self.need == Need::Whole).then_some((symbol, divisor))
    }

    /// The numbers in it: factors, summands, divisors and bounds.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        let bound = match self.need {
            Need::AtLeast(bound) | Need::AtMost(bound) => Some(bound),
            Need::Whole | Need::Zero => None,
        };
        let factors = self.form.terms().map(|(_, factor)| factor.unsigned_abs());
        let factors = factors.chain([self.form.denominator().unsigned_abs()]);
        factors.filter_map(|factor| u64::try_from(factor).ok()).chain(bound).collect::<Vec<_>>().into_iter()
    }

    /// Returns true if it only keeps a size within bounds.
    pub fn is_bound(&self) -> bool {
        matches!(self.need, Need::AtLeast(_) | Need::AtMost(_))
    }
}

impl RuntimeCheck {
    /// The condition in words, with names for the sizes.
    pub(crate) fn text(&self, name: impl Fn(Symbol) -> String) -> String {
        need_text(&self.form, self.need, name)
    }
}

/// A condition on an expression in words, with names for the sizes.
pub(crate) fn need_text(form: &Form, need: Need, name: impl Fn(Symbol) -> String) -> String {
    let text = form.show(&name);
    match need {
        Need::Whole => {
            let whole = form.numerator().show(&name);
            format!("`{whole}` is a multiple of {}", form.denominator())
        }
        Need::Zero => {
            let (left, right) = form.sides();
            format!("`{}` = `{}`", left.show(&name), right.show(&name))
        }
        Need::AtLeast(least) => format!("`{text}` is at least {least}"),
        Need::AtMost(most) => format!("`{text}` is at most {most}"),
    }
}

impl std::fmt::Display for RuntimeCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = |symbol: Symbol| self.names.get(symbol.0 as usize).map_or("?", |name| name).to_string();
        f.write_str(&self.text(name))
    }
}

impl Graph {
    /// Declares a named size, with a range (inclusive or not, as it is written) and a sample, the
    /// size at which programs run if no other is given. If a name is declared again, the ranges
    /// intersect.
    ///
    /// A name of a size may stand in declared shapes from then on. (Elsewhere a name in a declared shape is a
    /// size to be inferred, the same within that declaration.)
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// g.dim("batch", 1..=64, 32)?; // from 1 to 64, usually 32
    /// g.dim("seq", .., None)?; // any size
    /// let (x, y) = (g.data("x", "batch | seq")?, g.data("y", "seq | batch")?);
    /// let error = g.add(x, y).unwrap_err();
    /// assert!(error.message().contains("`batch` and `seq` are different sizes"));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn dim(
        &mut self,
        name: &str,
        range: impl RangeBounds<u64>,
        sample: impl Into<Option<u64>>,
    ) -> Result<(), Error> {
        let (lo, hi) = bounds(&range).unwrap_or((1, Some(0)));
        if hi.is_some_and(|hi| hi < lo) {
            let message = format!("the range of `{name}` has no size in it");
            return Err(Error::new(ErrorKind::Range, message).with_help("a size is at least 1"));
        }
        let sample = sample.into();
        if let Some(sample) = sample.filter(|sample| *sample < lo || hi.is_some_and(|hi| *sample > hi)) {
            let message =
                format!("the sample {sample} of `{name}` is not in its range {}", range_text((lo, hi)));
            return Err(
                Error::new(ErrorKind::Range, message).with_help("a sample is one of the sizes in the range")
            );
        }
        declare_size(self, name, (lo, hi), sample, false)
    }

    /// Declares a size that is unknown until run time. It takes any size, and any other name, that it meets.
    pub fn dynamic(&mut self, name: &str, sample: impl Into<Option<u64>>) -> Result<(), Error> {
        declare_size(self, name, (1, None), sample.into(), true)
    }

    /// Gives named sizes a number. A size outside its range is refused, with the range; so is a
    /// size that the program has no room for, with the reason.
    pub fn set_sizes(&mut self, sizes: &[(&str, u64)]) -> Result<(), Error> {
        // The shapes with names, for those who look at the program afterwards.
        let symbolic = if self.is_symbolic() { final_shapes::final_shapes(self).ok() } else { None };
        for (name, size) in sizes {
            let at = read::symbol_at(self, name).ok_or_else(|| read::no_such_size(self, name))?;
            let SymbolData { var, range, .. } = self.symbols[at];
            if !read::contains(range, *size) {
                return Err(read::out_of_range(name, *size, range));
            }
            let before = self.begin(&[])?;
            let term = self.solver.size(*size);
            self.constrain(Constraint::DimEq(var.into(), term), 0, Aspect::Whole);
            self.finish(before, Step::Size(at as u32, *size))?;
        }
        if symbolic.is_some() {
            self.symbolic = symbolic;
        }
        Ok(())
    }

    /// The program with numbers for named sizes; this one stays as it is.
    pub fn with_sizes(&self, sizes: &[(&str, u64)]) -> Result<Graph, Error> {
        let mut graph = self.clone();
        graph.set_sizes(sizes)?;
        Ok(graph)
    }

    /// Returns true if some named size has no number yet.
    pub fn is_symbolic(&self) -> bool {
        (0..self.symbols.len()).any(|at| read::symbol_number(self, at).is_none())
    }

    /// The names of all named sizes, in the order of their declaration.
    pub fn dims(&self) -> impl Iterator<Item = &str> {
        self.symbols.iter().map(|data| &*data.name)
    }

    /// Returns true if a size has this name.
    pub fn has_dim(&self, name: &str) -> bool {
        read::symbol_at(self, name).is_some()
    }

    /// The range of a named size, as far as the program narrows it.
    pub fn dim_range(&self, name: &str) -> Option<(u64, Option<u64>)> {
        let at = read::symbol_at(self, name)?;
        self.solver.symbol_of(self.symbols[at].var).map(|_| read::symbol_range(self, at))
    }

    /// The conditions that the program relies on, and that hold only for some sizes of its symbols.
    pub fn runtime_checks(&mut self) -> Result<Vec<RuntimeCheck>, Error> {
        let names = read::symbol_names(self);
        let checks = match &self.settled {
            Some(settled) => Arc::clone(&settled.checks),
            None => self.closed(|closed, _| closed.checks())?.0.into(),
        };
        let check = |Check { constraint, form, need }: &Check| {
            let step = self.origins.get(constraint.index()).map_or(StepId(0), |origin| origin.step);
            RuntimeCheck { form: form.clone(), need: *need, names: Arc::clone(&names), step }
        };
        Ok(checks.iter().map(check).collect())
    }
}

fn declare_size(
    graph: &mut Graph,
    name: &str,
    range: (u64, Option<u64>),
    sample: Option<u64>,
    dynamic: bool,
) -> Result<(), Error> {
    if !is_name(name) {
        let message = format!("`{name}` is not a name for a size");
        return Err(
            Error::new(ErrorKind::Notation, message).with_help("a name is a word: `batch`, `seq_len`")
        );
    }
    let before = graph.begin(&[])?;
    let known = read::symbol_at(graph, name);
    let at = match known {
        Some(at) => at,
        None => {
            let var = if dynamic { graph.solver.dynamic() } else { graph.solver.symbol() };
            let range = (1, None);
            graph.symbols.push(SymbolData { name: name.into(), var, range, sample: None, dynamic })
        }
    };
    let var: DimTerm = graph.symbols[at].var.into();
    graph.constrain(Constraint::AtLeast(var, range.0), 0, Aspect::Whole);
    if let Some(most) = range.1 {
        graph.constrain(Constraint::AtMost(var, most), 0, Aspect::Whole);
    }
    graph.finish(before, Step::Dim(at as u32, range))?;
    let data = &mut graph.symbols[at];
    data.range.0 = data.range.0.max(range.0);
    data.range.1 = [data.range.1, range.1].into_iter().flatten().min();
    data.sample = sample.or(data.sample).filter(|sample| read::contains(data.range, *sample));
    Ok(())
}

/// Gives every named size that has no number its sample, because running needs numbers.
pub(crate) fn settle_sizes(graph: &mut Graph) -> Result<(), Error> {
    let all = graph.symbols.iter().enumerate();
    let open = all.filter(|(at, _)| read::symbol_number(graph, *at).is_none());
    let open: Vec<(Box<str>, Option<u64>)> = open.map(|(_, data)| (data.name.clone(), data.sample)).collect();
    if let Some((name, _)) = open.iter().find(|(_, sample)| sample.is_none()) {
        let message = format!("`{name}` needs a value before the program can run");
        let help = format!("declare it with a sample, or say `g.set_sizes(&[(\"{name}\", …)])` before");
        return Err(Error::new(ErrorKind::Range, message).with_remedy(Remedy::Size, help));
    }
    let sizes: Vec<(&str, u64)> =
        open.iter().filter_map(|(name, sample)| Some((&**name, (*sample)?))).collect();
    if sizes.is_empty() { Ok(()) } else { graph.set_sizes(&sizes) }
}

/// Maps each named size to its representative, once the program is closed: dynamic ones take other
/// names.
pub(crate) fn same_sizes(graph: &mut Graph) -> Result<Arc<[usize]>, Error> {
    match &graph.settled {
        Some(settled) => Ok(Arc::clone(&settled.same_sizes)),
        None => Ok(graph.closed(|closed, view| read::same_sizes_in(closed, view.symbols))?.0.into()),
    }
}

/// A number for each named size: its own, its sample, or one in its range. The program has a
/// meaning at these numbers, if a short search finds any such numbers. Samples are changed
/// last.
pub(crate) fn some_sizes(graph: &mut Graph) -> Result<Vec<u64>, Error> {
    let checks = graph.runtime_checks()?;
    let size = |at: usize| {
        let (lo, hi) = read::symbol_range(graph, at);
        let sample = graph.symbols[at].sample.filter(|sample| read::contains((lo, hi), *sample));
        // Two rather than one: a size of one looks like less than it is.
        read::symbol_number(graph, at).or(sample).unwrap_or(lo.max(2).min(hi.unwrap_or(u64::MAX)))
    };
    let usual: Vec<u64> = (0..graph.symbols.len()).map(size).collect();
    let fits = |sizes: &[u64]| {
        let names = graph.symbols.iter().map(|data| &*data.name);
        let pairs: Vec<(&str, u64)> = names.zip(sizes.iter().copied()).collect();
        checks.iter().all(|check| check.holds(&pairs) != Some(false))
    };
    if fits(&usual) {
        return Ok(usual);
    }
    let mentioned = |at: &usize| {
        checks.iter().flat_map(RuntimeCheck::names).any(|name| *name == *graph.symbols[*at].name)
    };
    let open: Vec<usize> =
        (0..usual.len()).filter(mentioned).filter(|at| read::symbol_number(graph, *at).is_none()).collect();
    let without_sample: Vec<usize> =
        open.iter().copied().filter(|at| graph.symbols[*at].sample.is_none()).collect();
    let found = [without_sample, open].iter().find_map(|changed| sizes_near(graph, &usual, changed, fits));
    Ok(found.unwrap_or(usual))
}

/// Looks for sizes that fit, changing some of them to numbers from the least of their ranges
/// on.
fn sizes_near(
    graph: &Graph,
    usual: &[u64],
    changed: &[usize],
    fits: impl Fn(&[u64]) -> bool,
) -> Option<Vec<u64>> {
    /// The number of combinations that are tried, all in all.
    const TRIED: f64 = 16_384.0;
    let each = TRIED.powf(1.0 / changed.len().max(1) as f64) as u64;
    let ranges: Vec<(u64, u64)> = changed
        .iter()
        .map(|at| {
            let (lo, hi) = read::symbol_range(graph, *at);
            (lo, lo.saturating_add(each).min(hi.unwrap_or(u64::MAX)))
        })
        .collect();
    let mut sizes = usual.to_vec();
    changed.iter().zip(&ranges).for_each(|(at, (lo, _))| sizes[*at] = *lo);
    while !fits(&sizes) {
        let next = changed.iter().zip(&ranges).find(|(at, (lo, hi))| {
            let size = &mut sizes[**at];
            *size = if *size < *hi { *size + 1 } else { *lo };
            *size != *lo
        });
        next?;
    }
    Some(sizes)
}

/// The least and the greatest size of a range; `None` if the range is written as an empty one.
fn bounds(range: &impl RangeBounds<u64>) -> Option<(u64, Option<u64>)> {
    let lo = match range.start_bound() {
        Bound::Included(lo) => *lo,
        Bound::Excluded(lo) => lo.checked_add(1)?,
        Bound::Unbounded => 1,
    };
    let hi = match range.end_bound() {
        Bound::Included(hi) => Some(*hi),
        Bound::Excluded(hi) => Some(hi.checked_sub(1)?),
        Bound::Unbounded => None,
    };
    Some((lo.max(1), hi))
}

/// Returns true if a text is one name in a declared shape.
fn is_name(text: &str) -> bool {
    let Ok(decl) = broadloom_spec::parse_shape(text) else { return false };
    let mut axes = decl.shape.axes();
    let one = axes.next().is_some_and(|axis| axis.name.is_some() && axis.size.is_none());
    one && axes.next().is_none() && decl.names.axes.find(text.trim()).is_some() && text.trim() == text
}
