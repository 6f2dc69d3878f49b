//! Sizes given as expressions over other sizes: `2*batch`, `seq/8`, `batch*seq + 1`.
//!
//! An expression is a sum of products of captured sizes, divided by a number. It becomes
//! constraints that the solver has anyway: a product is a count of elements, a multiple a stride, a
//! sum a concatenation. Each intermediate value has a variable of its own.

use broadloom_core::{Affine, Constraint, DimTerm, Form, Numerator, Piece, Role};

use crate::Graph;
use crate::capture::Size;
use crate::error::Error;
use crate::step::{Aspect, Captured, Step};

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
struct Side {
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
            let (name, text) = (self.captured_text(captured), self.sum_text(size));
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
        let before = self.begin_of(size.symbols().into_iter().chain([captured]))?;
        let own = self.size_term(captured)?;
        self.say_sum(own, size)?;
        let mut text = self.sum_text(size);
        // The label of a declaration is only a name for the size that stands there.
        if captured.tensor.is_none_or(|tensor| !self.declarations.contains_key(&tensor.0)) {
            text = format!("{} = {text}", self.captured_name(captured));
        }
        let step = self.steps.len() as u32;
        self.facts.texts.insert(step, text.into());
        let made = self.finish(before, Step::Sum(captured));
        if made.is_err() {
            self.facts.texts.remove(&step);
        }
        made
    }

    /// Requires that a size is an expression over others, as part of a step.
    pub(crate) fn say_size(&mut self, own: DimTerm, size: &SizeSum) -> Result<(), Error> {
        match impossible(size) {
            Some(why) => {
                Err(self.misuse(format!("an axis cannot have the size `{}`: {why}", self.sum_text(size))))
            }
            None => self.say_sum(own, size),
        }
    }

    /// Adds the constraint that a multiple of a size is a sum. Negative terms are added on the
    /// other side.
    fn say_sum(&mut self, own: DimTerm, size: &SizeSum) -> Result<(), Error> {
        let (mut left, mut right) = (Side::default(), Side::default());
        left.parts.push(self.multiple(size.denominator() as u64, own));
        for (sizes, factor) in size.terms() {
            let side = if factor < 0 { &mut left } else { &mut right };
            let factor = factor.unsigned_abs() as u64;
            match sizes.is_empty() {
                true => side.literal = factor,
                false => {
                    let product = self.product(sizes)?;
                    side.parts.push(self.multiple(factor, product));
                }
            }
        }
        self.say_equal(left, right);
        Ok(())
    }

    /// Adds the constraint that two sums are equal: one is the whole of the other if it is a single
    /// size.
    fn say_equal(&mut self, left: Side, right: Side) {
        let (whole, sums) = match (&left.parts[..], &right.parts[..]) {
            ([whole], _) if left.literal == 0 => (*whole, vec![right]),
            (_, [whole]) if right.literal == 0 => (*whole, vec![left]),
            _ => (self.solver.dim_var(Role::Interior).into(), vec![left, right]),
        };
        for Side { parts, literal } in sums {
            self.say(Constraint::Concat { axis: whole, components: &parts, literal }, 0, Aspect::Whole);
        }
    }

    /// A captured size as a dimension; of a row, the number of its elements.
    fn size_term(&mut self, captured: Captured) -> Result<DimTerm, Error> {
        Ok(match self.resolve(captured)? {
            Size::Dim(dim) => dim,
            Size::Row(row) => {
                let count: DimTerm = self.solver.dim_var(Role::Interior).into();
                self.say_count(row, Numerator { coeff: 1, over: Some(count), denom: 1 });
                count
            }
        })
    }

    fn multiple(&mut self, factor: u64, over: DimTerm) -> DimTerm {
        if factor == 1 {
            return over;
        }
        let axis: DimTerm = self.solver.dim_var(Role::Interior).into();
        let form = Affine::strided(factor);
        self.say(Constraint::Affine { axis, form, over, kernel: None }, 0, Aspect::Whole);
        axis
    }

    fn product(&mut self, sizes: &[Captured]) -> Result<DimTerm, Error> {
        let terms: Vec<DimTerm> = sizes.iter().map(|size| self.size_term(*size)).collect::<Result<_, _>>()?;
        if let [term] = terms[..] {
            return Ok(term);
        }
        let whole: DimTerm = self.solver.dim_var(Role::Interior).into();
        let pieces: Vec<Piece> = terms.into_iter().map(Piece::Dim).collect();
        let numerator = Numerator { coeff: 1, over: Some(whole), denom: 1 };
        let count = Constraint::Count { pieces: &pieces, numerator, divided_by: &[], rest: None };
        self.say(count, 0, Aspect::Whole);
        Ok(whole)
    }

    /// An expression as it is written: `2*batch + 1`, `(seq - 1)/8`.
    pub(crate) fn sum_text(&self, sum: &SizeSum) -> String {
        sum.show(|captured| self.captured_name(captured))
    }
}
