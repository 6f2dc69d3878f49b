//! Sizes said as expressions over other sizes: `2*batch`, `seq/8`, `batch*seq + 1`.
//!
//! An expression is a sum of products of captured sizes, divided by a number. The solver is told by what it knows already:
//! a product is a count of elements, a multiple a stride, a sum a concatenation. Each in between has a
//! variable of its own.

use broadloom_core::{Affine, Constraint, DimTerm, Form, Numerator, Piece, Role, Symbol};

use crate::Graph;
use crate::capture::{Captured, Size};
use crate::error::Error;
use crate::step::{Part, Step};

/// An expression over captured and named sizes: whole multiples of their products, added, divided by a number.
///
/// ```
/// use broadloom::{Graph, SizeSum};
/// let mut g = Graph::new();
/// g.dim("seq", 1..=512, 64)?;
/// let seq = SizeSum::from(g.captured_dim("seq")?);
/// let blocks = seq.divided_by(8).unwrap();
/// let x = g.data("x", "n | 16")?;
/// let n = g.captured(x, "n")?;
/// g.set_to(n, &blocks)?;
/// assert_eq!(g.final_shape(x)?.to_string(), "seq/8 | 16");
/// assert_eq!(g.runtime_checks()?[0].to_string(), "`seq` is a multiple of 8");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SizeSum {
    /// An expression over places in `sizes`.
    form: Form,
    sizes: Vec<Captured>,
}

impl From<Captured> for SizeSum {
    fn from(size: Captured) -> SizeSum {
        SizeSum { form: Form::symbol(Symbol(0)), sizes: vec![size] }
    }
}

impl SizeSum {
    /// A number.
    pub fn number(number: i64) -> SizeSum {
        SizeSum { form: Form::constant(number.into()), sizes: Vec::new() }
    }

    /// The sum of two; nothing if a number becomes too large.
    pub fn plus(&self, other: &SizeSum) -> Option<SizeSum> {
        self.with(other, Form::plus)
    }

    /// The difference of two.
    pub fn minus(&self, other: &SizeSum) -> Option<SizeSum> {
        self.with(other, Form::minus)
    }

    /// The product of two.
    pub fn times(&self, other: &SizeSum) -> Option<SizeSum> {
        self.with(other, Form::times)
    }

    /// The quotient by a number. As a size it has to be whole; what that asks of the sizes is checked at run time.
    pub fn divided_by(&self, number: u64) -> Option<SizeSum> {
        Some(SizeSum { form: self.form.scaled(1, number.into())?, sizes: self.sizes.clone() })
    }

    /// The two forms combined, over the sizes of both.
    fn with(&self, other: &SizeSum, combine: fn(&Form, &Form) -> Option<Form>) -> Option<SizeSum> {
        let mut sizes = self.sizes.clone();
        let mut places = Vec::with_capacity(other.sizes.len());
        for size in &other.sizes {
            let known = sizes.iter().position(|known| known == size);
            places.push(Symbol(known.unwrap_or(sizes.len()) as u32));
            if known.is_none() {
                sizes.push(*size);
            }
        }
        let other = other.form.renamed(|symbol| places[symbol.0 as usize])?;
        Some(SizeSum { form: combine(&self.form, &other)?, sizes })
    }

    /// What is added: a factor, and the sizes that it is multiplied with.
    fn terms(&self) -> impl Iterator<Item = (i128, Vec<Captured>)> {
        let sizes = |product: &[Symbol]| product.iter().map(|symbol| self.sizes[symbol.0 as usize]).collect();
        self.form.terms().map(move |(product, factor)| (factor, sizes(product)))
    }
}

/// Sizes that are added, and a number.
#[derive(Default)]
struct Side {
    parts: Vec<DimTerm>,
    literal: u64,
}

/// Why a sum cannot be a size, whatever its terms are.
fn impossible(terms: &[(i128, Vec<Captured>)]) -> Option<&'static str> {
    if terms.iter().any(|(factor, _)| u64::try_from(factor.unsigned_abs()).is_err()) {
        return Some("that is too much");
    }
    terms.iter().all(|(factor, _)| *factor < 0).then_some("every axis has elements")
}

impl Graph {
    /// Says that a captured size is an expression over others, as [`SizeSum`] shows.
    pub fn set_to(&mut self, captured: Captured, size: &SizeSum) -> Result<(), Error> {
        let terms: Vec<(i128, Vec<Captured>)> = size.terms().collect();
        if let Some(why) = impossible(&terms) {
            let (name, text) = (self.captured_text(captured), self.sum_text(size));
            return Err(self.misuse(format!("{name} cannot be `{text}`: {why}")));
        }
        if let ([(factor, sizes)], 1) = (&terms[..], size.form.denominator()) {
            match sizes[..] {
                [] => return self.set(captured, *factor as u64),
                [other] => return self.scale(captured, *factor as u64, other),
                _ => {}
            }
        }
        let before = self.begin_of(size.sizes.iter().copied().chain([captured]))?;
        let own = self.size_term(captured)?;
        self.say_sum(own, &terms, size.form.denominator() as u64)?;
        let mut text = self.sum_text(size);
        // The label of a declaration is only a name for what stands there.
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

    /// Says that a size is an expression over others, as part of a step.
    pub(crate) fn say_size(&mut self, own: DimTerm, size: &SizeSum) -> Result<(), Error> {
        let terms: Vec<(i128, Vec<Captured>)> = size.terms().collect();
        match impossible(&terms) {
            Some(why) => {
                Err(self.misuse(format!("an axis cannot have the size `{}`: {why}", self.sum_text(size))))
            }
            None => self.say_sum(own, &terms, size.form.denominator() as u64),
        }
    }

    /// Says that a multiple of a size is a sum. What is subtracted is added on the other side.
    fn say_sum(
        &mut self,
        own: DimTerm,
        terms: &[(i128, Vec<Captured>)],
        denominator: u64,
    ) -> Result<(), Error> {
        let (mut left, mut right) = (Side::default(), Side::default());
        left.parts.push(self.multiple(denominator, own));
        for (factor, sizes) in terms {
            let side = if *factor < 0 { &mut left } else { &mut right };
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

    /// Says that two sums are the same: one is the whole of the other if it is a single size.
    fn say_equal(&mut self, left: Side, right: Side) {
        let (whole, sums) = match (&left.parts[..], &right.parts[..]) {
            ([whole], _) if left.literal == 0 => (*whole, vec![right]),
            (_, [whole]) if right.literal == 0 => (*whole, vec![left]),
            _ => (self.solver.dim_var(Role::Interior).into(), vec![left, right]),
        };
        for Side { parts, literal } in sums {
            self.say(Constraint::Concat { axis: whole, components: &parts, literal }, 0, Part::Whole);
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
        self.say(Constraint::Affine { axis, form, over, kernel: None }, 0, Part::Whole);
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
        self.say(count, 0, Part::Whole);
        Ok(whole)
    }

    /// An expression as it is written: `2*batch + 1`, `(seq - 1)/8`.
    pub(crate) fn sum_text(&self, sum: &SizeSum) -> String {
        sum.form.show(|symbol| self.captured_name(sum.sizes[symbol.0 as usize]))
    }
}
