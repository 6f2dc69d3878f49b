//! Sizes given as expressions over other sizes: `2*batch`, `seq/8`, `batch*seq + 1`.
//!
//! An expression is a sum of products of captured sizes, divided by a number. It becomes
//! constraints that the solver has anyway: a product is a count of elements, a multiple a stride, a
//! sum a concatenation. Each intermediate value has a variable of its own.

use broadloom_core::{Affine, Constraint, DimTerm, Form, Numerator, Piece, Role};

use crate::captured::Size;
use crate::error::Error;
use crate::step::{Aspect, Captured, Step};
use crate::{Graph, capture, captured, names};

/// An expression over captured and named sizes: whole multiples of their products, added, divided
/// by a number. As a size it has to be whole; the condition for that on its sizes is checked at run
/// time.
///
/// ```
/// use broadloom::{Graph, SizeSum};
/// let mut g = Graph::new();
/// g.dim("seq", 1..=512, 64)?;
/// let seq = SizeSum::from(g.captured_dim("seq")?);
/// let blocks = seq.scaled(1, 8).unwrap();
/// let x = g.data("x", "n | 16")?;
/// let n = g.captured(x, "n")?;
/// g.set_to(n, &blocks)?;
/// assert_eq!(g.final_shape(x)?.to_string(), "seq/8 | 16");
/// assert_eq!(g.runtime_checks()?[0].to_string(), "`seq` is a multiple of 8");
/// # Ok::<(), broadloom::Error>(())
/// ```
pub type SizeSum = Form<Captured>;

/// Sizes that are added, and a number.
#[derive(Default)]
struct AddedSizes {
    parts: Vec<DimTerm>,
    literal: u64,
}

/// The reason why a sum cannot be a size, whatever its terms are.
fn impossible(size: &SizeSum) -> Option<&'static str> {
    if size.terms().any(|(_, factor)| u64::try_from(factor.unsigned_abs()).is_err()) {
        return Some("that is too much");
    }
    size.terms().all(|(_, factor)| factor < 0).then_some("every axis has elements")
}

impl Graph {
    /// Requires that a captured size is an expression over others, as [`SizeSum`] shows.
    pub fn set_to(&mut self, captured: Captured, size: &SizeSum) -> Result<(), Error> {
        if let Some(why) = impossible(size) {
            let (name, text) = (names::captured_text(self, captured), sum_text(self, size));
            return Err(self.misuse(format!("{name} cannot be `{text}`: {why}")));
        }
        let mut terms = size.terms();
        if let (Some((sizes, factor)), None, false) = (terms.next(), terms.next(), size.is_fraction()) {
            match *sizes {
                [] => return self.set(captured, factor as u64),
                [other] => return self.scale(captured, factor as u64, other),
                _ => {}
            }
        }
        let before = capture::begin_of(self, size.symbols().into_iter().chain([captured]))?;
        let own = size_term(self, captured)?;
        constrain_sum(self, own, size)?;
        let mut text = sum_text(self, size);
        // The label of a declaration is only a name for the size that stands there.
        if captured.tensor().is_none_or(|tensor| !self.declarations.contains_key(&tensor.0)) {
            text = format!("{} = {text}", captured::captured_name(self, captured));
        }
        let step = self.next_step();
        self.facts.texts.insert(step, text.into());
        let made = self.finish(before, Step::Sum(captured));
        if made.is_err() {
            self.facts.texts.remove(&step);
        }
        made
    }
}

/// Requires that a size is an expression over others, as part of a step.
pub(crate) fn constrain_size(graph: &mut Graph, own: DimTerm, size: &SizeSum) -> Result<(), Error> {
    match impossible(size) {
        Some(why) => {
            Err(graph.misuse(format!("an axis cannot have the size `{}`: {why}", sum_text(graph, size))))
        }
        None => constrain_sum(graph, own, size),
    }
}

/// Adds the constraint that a multiple of a size is a sum. Negative terms are added on the
/// other side.
fn constrain_sum(graph: &mut Graph, own: DimTerm, size: &SizeSum) -> Result<(), Error> {
    let (mut left, mut right) = (AddedSizes::default(), AddedSizes::default());
    left.parts.push(multiple(graph, size.denominator() as u64, own));
    for (sizes, factor) in size.terms() {
        let side = if factor < 0 { &mut left } else { &mut right };
        let factor = factor.unsigned_abs() as u64;
        match sizes.is_empty() {
            true => side.literal = factor,
            false => {
                let product = product(graph, sizes)?;
                side.parts.push(multiple(graph, factor, product));
            }
        }
    }
    constrain_equal(graph, left, right);
    Ok(())
}

/// Adds the constraint that two sums are equal: one is the whole of the other if it is a single
/// size.
fn constrain_equal(graph: &mut Graph, left: AddedSizes, right: AddedSizes) {
    let (whole, sums) = match (&left.parts[..], &right.parts[..]) {
        ([whole], _) if left.literal == 0 => (*whole, vec![right]),
        (_, [whole]) if right.literal == 0 => (*whole, vec![left]),
        _ => (graph.solver.dim_var(Role::Interior).into(), vec![left, right]),
    };
    for AddedSizes { parts, literal } in sums {
        graph.constrain(Constraint::Concat { axis: whole, components: &parts, literal }, 0, Aspect::Whole);
    }
}

/// A captured size as a dimension; of a row, the number of its elements.
fn size_term(graph: &mut Graph, captured: Captured) -> Result<DimTerm, Error> {
    Ok(match captured::resolve(graph, captured)? {
        Size::Dim(dim) => dim,
        Size::Row(row) => {
            let count: DimTerm = graph.solver.dim_var(Role::Interior).into();
            capture::constrain_count(graph, row, Numerator { coeff: 1, over: Some(count), denom: 1 });
            count
        }
    })
}

fn multiple(graph: &mut Graph, factor: u64, over: DimTerm) -> DimTerm {
    if factor == 1 {
        return over;
    }
    let axis: DimTerm = graph.solver.dim_var(Role::Interior).into();
    let form = Affine::strided(factor);
    graph.constrain(Constraint::Affine { axis, form, over, kernel: None }, 0, Aspect::Whole);
    axis
}

fn product(graph: &mut Graph, sizes: &[Captured]) -> Result<DimTerm, Error> {
    let terms: Vec<DimTerm> = sizes.iter().map(|size| size_term(graph, *size)).collect::<Result<_, _>>()?;
    if let [term] = terms[..] {
        return Ok(term);
    }
    let whole: DimTerm = graph.solver.dim_var(Role::Interior).into();
    let pieces: Vec<Piece> = terms.into_iter().map(Piece::Dim).collect();
    let numerator = Numerator { coeff: 1, over: Some(whole), denom: 1 };
    let count = Constraint::Count { pieces: &pieces, numerator, divided_by: &[], rest: None };
    graph.constrain(count, 0, Aspect::Whole);
    Ok(whole)
}

/// An expression as it is written: `2*batch + 1`, `(seq - 1)/8`.
pub(crate) fn sum_text(graph: &Graph, sum: &SizeSum) -> String {
    sum.show(|captured| captured::captured_name(graph, captured))
}
