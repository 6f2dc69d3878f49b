//! Sizes of loops and arrays: numbers, and expressions over the arguments of a program.
//!
//! Most programs have numbers only, and pay nothing for the others: a [`Size`] is as small as a
//! number, and arithmetic on numbers is ordinary arithmetic. A size that depends on arguments is a
//! [`Form`]. Each form is kept once and never freed, so that a size can be copied and compared like
//! a number; programs have few different ones.
//!
//! A decision that depends on a size has to be right for all sizes at once. [`Size::at_most`] and
//! [`Size::below`] return true if the relation holds whatever the arguments are, from the least
//! upwards; if they return false, nothing is known. Heuristics, such as how far to unroll, use a
//! [typical](Size::typical) number instead.

use std::fmt;
use std::iter::{Product, Sum};
use std::ops::{Add, AddAssign, Mul, Neg, Sub};
use std::sync::{OnceLock, RwLock};

use rustc_hash::FxHashMap;

use crate::form::Form;

/// An argument of a program that is a size.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Argument {
    /// Its place among the arguments.
    place: u32,
    /// The least that it can be.
    least: u64,
}

/// A number, or an expression over arguments with whole coefficients.
///
/// ```
/// use broadloom_core::Size;
/// let (n, m) = (Size::argument(0, 1), Size::argument(1, 1));
/// let rows = n * m * 2;
/// assert_eq!(rows, m * n + n * m);
/// assert_eq!((rows.as_number(), (Size::from(2) * 3).as_number()), (None, Some(6)));
/// // For all sizes, or not known.
/// assert!(n.at_most(rows) && (n - 1).below(n) && m.at_most(n * m));
/// assert!(!n.at_most(m) && !m.at_most(n));
/// assert_eq!(rows.at(&[5, 7]), Some(70));
/// assert_eq!((rows - 1).to_string(), "(2 * size_0 * size_1 - 1)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Size(i64);

/// The largest number; larger results are clamped to it.
const MOST: i64 = 1 << 62;
/// Values below this stand for a form: its place among all forms.
const FORMS: i64 = i64::MIN + (1 << 40);
/// The argument of a size that cannot be expressed. Nothing is known of it.
const UNKNOWN: Argument = Argument { place: u32::MAX, least: 0 };
/// Typical numbers of arguments: large and different, so that no two are equal, or divide each
/// other, by chance.
const TYPICAL: [u64; 8] = [10_007, 10_009, 10_037, 10_039, 10_061, 10_067, 10_069, 10_079];

/// All forms that are sizes.
#[derive(Default)]
struct Known {
    forms: Vec<&'static Form<Argument>>,
    places: FxHashMap<&'static Form<Argument>, i64>,
}

fn known() -> &'static RwLock<Known> {
    static KNOWN: OnceLock<RwLock<Known>> = OnceLock::new();
    KNOWN.get_or_init(RwLock::default)
}

impl Size {
    /// Zero.
    pub const ZERO: Size = Size(0);
    /// One.
    pub const ONE: Size = Size(1);

    /// An argument by itself: its place among the arguments, and the least that it can be.
    pub fn argument(place: u32, least: u64) -> Size {
        Size::of(Form::symbol(Argument { place, least }))
    }

    /// An expression, given the sizes of its symbols. If it has fractions, or a symbol without a
    /// size, the result is a size of which nothing is known.
    pub fn from_form<S: Copy + Ord>(form: &Form<S>, size: impl Fn(S) -> Option<Size>) -> Size {
        let term = |(product, factor): (&[S], i128)| {
            let product: Option<Size> = product.iter().map(|symbol| size(*symbol)).product();
            product?.form().scaled(factor, form.denominator())
        };
        let sum = form.terms().try_fold(Form::constant(0), |sum, part| sum.plus(&term(part)?));
        sum.map_or_else(Size::unknown, Size::of)
    }

    fn of(form: Form<Argument>) -> Size {
        match form.as_constant() {
            Some((number, 1)) => Size::clamped(number),
            _ if form.is_fraction() => Size::unknown(),
            _ => Size::kept(form),
        }
    }

    /// A size that cannot be expressed: comparisons do not even find it equal to itself.
    pub fn unknown() -> Size {
        Size::kept(Form::symbol(UNKNOWN))
    }

    fn clamped(number: i128) -> Size {
        Size(number.clamp(-i128::from(MOST), i128::from(MOST)) as i64)
    }

    fn kept(form: Form<Argument>) -> Size {
        // A poisoned lock is still valid: forms are only added, and whole.
        let read = known().read().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(place) = read.places.get(&form) {
            return Size(i64::MIN + place);
        }
        drop(read);
        let mut write = known().write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(place) = write.places.get(&form) {
            return Size(i64::MIN + place);
        }
        let (place, form): (i64, &'static Form<Argument>) =
            (write.forms.len() as i64, Box::leak(Box::new(form)));
        write.forms.push(form);
        write.places.insert(form, place);
        Size(i64::MIN + place)
    }

    /// The expression, if it is no number.
    fn as_form(self) -> Option<&'static Form<Argument>> {
        if self.0 >= FORMS {
            return None;
        }
        let read = known().read().unwrap_or_else(std::sync::PoisonError::into_inner);
        read.forms.get((self.0 - i64::MIN) as usize).copied()
    }

    /// The same as an expression.
    fn form(self) -> Form<Argument> {
        self.as_form().cloned().unwrap_or_else(|| Form::constant(self.0.into()))
    }

    /// The number, if it is one.
    pub fn as_number(self) -> Option<i64> {
        (self.0 >= FORMS).then_some(self.0)
    }

    /// A number that identifies the size.
    pub fn code(self) -> u64 {
        self.0 as u64
    }

    /// Returns false for numbers so large that they may have been clamped.
    pub fn is_moderate(self) -> bool {
        self.as_number().is_none_or(|number| number.abs() < MOST)
    }

    /// The quotient, if it is a whole number for all sizes.
    pub fn divided_by(self, other: Size) -> Option<Size> {
        let quotient = self.form().divided_by(&other.form())?;
        (!quotient.is_fraction() && self.is_known()).then(|| Size::of(quotient))
    }

    /// The quotient and the rest of a division by a number, if both are known for all sizes: the rest is one number.
    pub fn divided_with_rest(self, divisor: u64) -> Option<(Size, u64)> {
        let divisor_size = Size::from(divisor);
        let by = i128::from(divisor_size.as_number().filter(|by| *by > 0)?);
        let form = self.form();
        let constant = form.terms().find(|(product, _)| product.is_empty()).map_or(0, |(_, factor)| factor);
        let rest = u64::try_from(constant.rem_euclid(by)).ok()?;
        Some(((self - rest).divided_by(divisor_size)?, rest))
    }

    /// The products of arguments that it is a sum of, each with its factor; a number has the empty product. `None` if it cannot
    /// be expressed.
    pub fn terms(self) -> Option<Vec<(Vec<u32>, i64)>> {
        let form = self.form();
        let places = |product: &[Argument]| product.iter().map(|own| own.place).collect();
        let terms =
            form.terms().map(|(product, factor)| Some((places(product), i64::try_from(factor).ok()?)));
        terms.collect::<Option<_>>().filter(|_| self.is_known())
    }

    /// Returns true if it depends on arguments.
    pub fn is_open(self) -> bool {
        self.0 < FORMS
    }

    /// The number of a size in a program whose sizes are all numbers; 0 for an expression.
    pub fn get(self) -> u64 {
        self.as_number().and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
    }

    /// A number that it typically has, or has at large sizes. Only heuristics may depend on it.
    pub fn typical(self) -> i64 {
        let Some(form) = self.as_form() else { return self.0 };
        let large = |own: Argument| Some(TYPICAL[own.place as usize % TYPICAL.len()].max(own.least));
        form.value(large).map_or(MOST, |(value, _)| Size::clamped(value).0)
    }

    /// Its value, given those of the arguments; `None` if one is missing, or if it is negative or
    /// too large.
    pub fn at(self, arguments: &[u64]) -> Option<u64> {
        match self.as_form() {
            None => u64::try_from(self.0).ok(),
            Some(form) => {
                let size = form.size(|own| arguments.get(own.place as usize).copied())?;
                (size <= MOST as u64).then_some(size)
            }
        }
    }

    /// The same with numbers for the arguments; it may be negative.
    pub fn with(self, arguments: &[u64]) -> Option<Size> {
        let Some(form) = self.as_form() else { return Some(self) };
        let (value, _) = form.value(|own| arguments.get(own.place as usize).copied())?;
        (value.unsigned_abs() <= MOST.unsigned_abs().into()).then(|| Size::clamped(value))
    }

    /// Returns true if it is at most another, whatever the sizes are. If false, nothing is known.
    pub fn at_most(self, other: Size) -> bool {
        match (self.as_number(), other.as_number()) {
            (Some(a), Some(b)) => a <= b,
            _ => self.is_known() && other.is_known() && (other - self).is_never_negative(),
        }
    }

    /// Returns true if it is less than another, whatever the sizes are. If false, nothing is known.
    pub fn below(self, other: Size) -> bool {
        (self + 1).at_most(other)
    }

    fn is_never_negative(self) -> bool {
        self.as_form().map_or(self.0 >= 0, is_never_negative)
    }

    fn is_known(self) -> bool {
        self.as_form().is_none_or(|form| !form.symbols().contains(&UNKNOWN))
    }

    /// The lesser of two, if the order of the two is known.
    pub fn least(self, other: Size) -> Option<Size> {
        if self.at_most(other) { Some(self) } else { other.at_most(self).then_some(other) }
    }

    /// The greater of two, if the order of the two is known.
    pub fn greatest(self, other: Size) -> Option<Size> {
        if self.at_most(other) { Some(other) } else { other.at_most(self).then_some(self) }
    }

    /// The distance from 0, if the sign is known.
    pub fn distance(self) -> Option<Size> {
        Size::ZERO.greatest(self).map(|greatest| if greatest == self { self } else { -self })
    }
}

/// Returns true if a form is at least 0 whatever the arguments are, from the least upwards. If
/// false, nothing is known.
fn is_never_negative(form: &Form<Argument>) -> bool {
    if form.terms().all(|(_, factor)| factor >= 0) {
        return true;
    }
    // Each argument is its least value plus a rest that is not negative. The form is at least 0 if,
    // written over these rests, it has no negative coefficient.
    let shifted = |own: Argument| Form::symbol(own).plus(&Form::constant(own.least.into()));
    let whole = form.terms().try_fold(Form::constant(0), |sum, (product, factor)| {
        let start = Form::constant(factor);
        let term = product.iter().try_fold(start, |term, own| term.times(&shifted(*own)?))?;
        sum.plus(&term)
    });
    whole.is_some_and(|whole| whole.terms().all(|(_, factor)| factor >= 0))
}

impl From<u64> for Size {
    fn from(number: u64) -> Size {
        Size::clamped(number.into())
    }
}

impl From<i64> for Size {
    fn from(number: i64) -> Size {
        Size::clamped(number.into())
    }
}

impl From<i32> for Size {
    fn from(number: i32) -> Size {
        Size(number.into())
    }
}

impl<T: Into<Size>> Add<T> for Size {
    type Output = Size;

    fn add(self, other: T) -> Size {
        let other = other.into();
        match (self.as_number(), other.as_number()) {
            (Some(a), Some(b)) => Size::clamped(i128::from(a) + i128::from(b)),
            _ => self.form().plus(&other.form()).map_or_else(Size::unknown, Size::of),
        }
    }
}

impl<T: Into<Size>> Sub<T> for Size {
    type Output = Size;

    fn sub(self, other: T) -> Size {
        self + -other.into()
    }
}

impl<T: Into<Size>> Mul<T> for Size {
    type Output = Size;

    fn mul(self, other: T) -> Size {
        let other = other.into();
        match (self.as_number(), other.as_number()) {
            (Some(a), Some(b)) => Size::clamped(i128::from(a) * i128::from(b)),
            _ => self.form().times(&other.form()).map_or_else(Size::unknown, Size::of),
        }
    }
}

impl Neg for Size {
    type Output = Size;

    fn neg(self) -> Size {
        match self.as_form() {
            None => Size(-self.0),
            Some(form) => form.scaled(-1, 1).map_or_else(Size::unknown, Size::of),
        }
    }
}

impl<T: Into<Size>> AddAssign<T> for Size {
    fn add_assign(&mut self, other: T) {
        *self = *self + other;
    }
}

impl Sum for Size {
    fn sum<I: Iterator<Item = Size>>(sizes: I) -> Size {
        sizes.fold(Size::ZERO, Add::add)
    }
}

impl Product for Size {
    fn product<I: Iterator<Item = Size>>(sizes: I) -> Size {
        sizes.fold(Size::ONE, Mul::mul)
    }
}

impl PartialEq<i32> for Size {
    fn eq(&self, number: &i32) -> bool {
        self.0 == i64::from(*number)
    }
}

impl PartialEq<i64> for Size {
    fn eq(&self, number: &i64) -> bool {
        *self == Size::from(*number)
    }
}

impl PartialEq<u64> for Size {
    fn eq(&self, number: &u64) -> bool {
        *self == Size::from(*number)
    }
}

/// As an expression of C, in parentheses if it has an operator; arguments are `size_0`, `size_1`, ….
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(form) = self.as_form() else { return self.0.fmt(f) };
        if let Some(own) = form.as_symbol() {
            return write!(f, "size_{}", own.place);
        }
        f.write_str("(")?;
        for (at, (product, factor)) in form.terms().enumerate() {
            f.write_str(match (at, factor < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            })?;
            let factor = factor.unsigned_abs();
            let number = (factor != 1 || product.is_empty()).then(|| factor.to_string());
            let arguments = product.iter().map(|own| format!("size_{}", own.place));
            f.write_str(&number.into_iter().chain(arguments).collect::<Vec<_>>().join(" * "))?;
        }
        f.write_str(")")
    }
}

impl fmt::Debug for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes over two arguments, the first from 2 upwards: all sums of small multiples of 1, n, m and n·m.
    fn sizes() -> Vec<Size> {
        let (n, m) = (Size::argument(0, 2), Size::argument(1, 1));
        let digits = (0..81i64).map(|code| [code % 3, code / 3 % 3, code / 9 % 3, code / 27].map(|d| d - 1));
        digits.map(|[a, b, c, d]| Size::from(2 * a) + n * b + m * c + n * m * d).collect()
    }

    fn points() -> impl Iterator<Item = [u64; 2]> {
        (2..7).flat_map(|n| (1..6).map(move |m| [n, m]))
    }

    fn value(size: Size, point: [u64; 2]) -> i64 {
        size.with(&point).and_then(Size::as_number).expect("a small number")
    }

    #[test]
    fn arithmetic_and_comparisons_agree_with_numbers() {
        let sizes = sizes();
        let mut decided = 0;
        for (a, b) in sizes.iter().flat_map(|a| sizes.iter().step_by(5).map(move |b| (*a, *b))) {
            let (at_most, below) = (a.at_most(b), a.below(b));
            decided += usize::from(at_most);
            for point in points() {
                let (x, y) = (value(a, point), value(b, point));
                assert_eq!(value(a + b, point), x + y);
                assert_eq!(value(a - b, point), x - y);
                assert_eq!(value(a * b, point), x * y);
                assert!(!at_most || x <= y, "{a} at most {b} at {point:?}");
                assert!(!below || x < y, "{a} below {b} at {point:?}");
                for (chosen, number) in [(a.least(b), x.min(y)), (a.greatest(b), x.max(y))] {
                    assert!(chosen.is_none_or(|chosen| value(chosen, point) == number));
                }
                assert!(a.distance().is_none_or(|size| value(size, point) == x.abs()));
            }
            assert_eq!((a + b) - b, a, "equal expressions are equal sizes");
        }
        assert!(decided > 100, "most that can be decided is: {decided}");
    }

    #[test]
    fn quotients_and_rests_agree_with_numbers() {
        let mut found = 0;
        for (size, divisor) in sizes().into_iter().flat_map(|size| (1..4).map(move |divisor| (size, divisor)))
        {
            let Some((quotient, rest)) = size.divided_with_rest(divisor) else { continue };
            found += 1;
            for point in points() {
                let number = value(size, point);
                assert_eq!(value(quotient, point), number.div_euclid(divisor as i64), "{size} by {divisor}");
                assert_eq!(rest as i64, number.rem_euclid(divisor as i64), "{size} by {divisor}");
            }
        }
        assert!(found > 81, "every size is divided by 1: {found}");
    }

    #[test]
    fn terms_add_up() {
        for size in sizes() {
            let terms = size.terms().expect("it is known");
            let term = |(places, factor): &(Vec<u32>, i64)| -> Size {
                places.iter().map(|place| Size::argument(*place, 2 - u64::from(*place))).product::<Size>()
                    * *factor
            };
            assert_eq!(terms.iter().map(term).sum::<Size>(), size);
        }
        assert_eq!(Size::unknown().terms(), None);
    }

    #[test]
    fn what_cannot_be_expressed_is_compared_with_nothing() {
        let half = Form::symbol('n').scaled(1, 2).expect("it is small");
        let half = |parts: u64| Size::from_form(&half, |_| Some(Size::argument(0, 1) * parts));
        assert_eq!(half(6), Size::argument(0, 1) * 3);
        for other in [Size::ZERO, Size::unknown(), Size::argument(0, 1)] {
            let unknown = half(1);
            assert!(!unknown.at_most(other) && !other.at_most(unknown), "{other}");
        }
        assert_eq!(half(1).at(&[4]), None);
    }

    #[test]
    fn numbers_that_are_too_large_stay_large() {
        let large = Size::from(u64::MAX);
        assert_eq!((large * large, large + large), (large, large));
        assert_eq!(-large * large, -large);
        assert!(large.as_number().is_some_and(|number| number > 1 << 61));
    }
}
