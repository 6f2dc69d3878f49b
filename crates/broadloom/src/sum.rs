//! Sizes said as expressions over other sizes: `2*batch`, `seq/8`, `batch*seq + 1`.
//!
//! An expression is a sum of products of captured sizes, divided by a number. The solver is told by what it knows already:
//! a product is a count of elements, a multiple a stride, a sum a concatenation. Each in between has a
//! variable of its own.

use broadloom_core::{Affine, Constraint, DimTerm, Numerator, Piece, Role};

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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SizeSum {
    /// A number and the sizes that it is multiplied with, sorted; each product once, and no number is 0.
    terms: Vec<(i64, Vec<Captured>)>,
    /// What the sum is divided by.
    divisor: u64,
}

impl From<Captured> for SizeSum {
    fn from(size: Captured) -> SizeSum {
        SizeSum { terms: vec![(1, vec![size])], divisor: 1 }
    }
}

impl SizeSum {
    /// A number.
    pub fn number(number: i64) -> SizeSum {
        let terms = if number == 0 { Vec::new() } else { vec![(number, Vec::new())] };
        SizeSum { terms, divisor: 1 }
    }

    /// The sum of two; nothing if a number becomes too large.
    pub fn plus(&self, other: &SizeSum) -> Option<SizeSum> {
        let (own, others) = (i64::try_from(other.divisor).ok()?, i64::try_from(self.divisor).ok()?);
        let mut sum = SizeSum { terms: Vec::new(), divisor: self.divisor.checked_mul(other.divisor)? };
        let terms = self.terms.iter().map(|term| (term, own));
        for ((number, sizes), factor) in terms.chain(other.terms.iter().map(|term| (term, others))) {
            sum.add(number.checked_mul(factor)?, sizes.clone())?;
        }
        Some(sum.reduced())
    }

    /// The difference of two.
    pub fn minus(&self, other: &SizeSum) -> Option<SizeSum> {
        self.plus(&other.times(&SizeSum::number(-1))?)
    }

    /// The product of two.
    pub fn times(&self, other: &SizeSum) -> Option<SizeSum> {
        let mut product = SizeSum { terms: Vec::new(), divisor: self.divisor.checked_mul(other.divisor)? };
        for (number, sizes) in &self.terms {
            for (factor, more) in &other.terms {
                let mut all = [&sizes[..], more].concat();
                all.sort();
                product.add(number.checked_mul(*factor)?, all)?;
            }
        }
        Some(product.reduced())
    }

    /// The quotient by a number. As a size it has to be whole; what that asks of the sizes is checked at run time.
    pub fn divided_by(&self, number: u64) -> Option<SizeSum> {
        let divisor = self.divisor.checked_mul(number).filter(|divisor| *divisor > 0)?;
        Some(SizeSum { divisor, ..self.clone() }.reduced())
    }

    fn add(&mut self, number: i64, sizes: Vec<Captured>) -> Option<()> {
        match self.terms.iter_mut().find(|(_, known)| *known == sizes) {
            Some((sum, _)) => *sum = sum.checked_add(number)?,
            None => self.terms.push((number, sizes)),
        }
        Some(())
    }

    /// Without zeros, and without what all numbers have in common.
    fn reduced(mut self) -> SizeSum {
        self.terms.retain(|(number, _)| *number != 0);
        let common =
            self.terms.iter().fold(self.divisor, |common, (number, _)| gcd(common, number.unsigned_abs()));
        if common > 1 {
            self.divisor /= common;
            // A divisor of all of them is not larger than the least.
            self.terms.iter_mut().for_each(|(number, _)| *number /= common as i64);
        }
        self
    }

    fn sizes(&self) -> impl Iterator<Item = Captured> + '_ {
        self.terms.iter().flat_map(|(_, sizes)| sizes.iter().copied())
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Sizes that are added, and a number.
#[derive(Default)]
struct Side {
    parts: Vec<DimTerm>,
    literal: u64,
}

impl Graph {
    /// Says that a captured size is an expression over others, as [`SizeSum`] shows.
    pub fn set_to(&mut self, captured: Captured, size: &SizeSum) -> Result<(), Error> {
        if size.terms.iter().all(|(number, _)| *number < 0) {
            let (name, text) = (self.captured_text(captured), self.sum_text(size));
            let message = format!("{name} cannot be `{text}`: every axis has elements");
            return Err(self.misuse(message));
        }
        if let ([(number, sizes)], 1) = (&size.terms[..], size.divisor)
            && let Ok(number) = u64::try_from(*number)
        {
            match sizes[..] {
                [] => return self.set(captured, number),
                [other] => return self.scale(captured, number, other),
                _ => {}
            }
        }
        let before = self.begin_of(size.sizes().chain([captured]))?;
        let own = self.size_term(captured)?;
        // What is subtracted is added on the other side.
        let (mut left, mut right) = (Side::default(), Side::default());
        left.parts.push(self.multiple(size.divisor, own));
        for (number, sizes) in &size.terms {
            let side = if *number < 0 { &mut left } else { &mut right };
            match sizes.is_empty() {
                true => side.literal = number.unsigned_abs(),
                false => {
                    let product = self.product(sizes)?;
                    side.parts.push(self.multiple(number.unsigned_abs(), product));
                }
            }
        }
        self.say_equal(left, right);
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
        let mut text = String::new();
        for (number, sizes) in &sum.terms {
            let sign = match (text.is_empty(), *number < 0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            let factor = Some(number.unsigned_abs()).filter(|factor| *factor != 1 || sizes.is_empty());
            let factor = factor.map(|factor| factor.to_string());
            let names = sizes.iter().map(|size| self.captured_name(*size));
            let product: Vec<String> = factor.into_iter().chain(names).collect();
            text.push_str(sign);
            text.push_str(&product.join("*"));
        }
        match (sum.divisor, sum.terms.len()) {
            (1, _) => text,
            (divisor, 1) => format!("{text}/{divisor}"),
            (divisor, _) => format!("({text})/{divisor}"),
        }
    }
}
