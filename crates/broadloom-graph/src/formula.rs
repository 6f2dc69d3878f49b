//! Assignments as text: `v =:+ v1 * v2`, `{delta} =: grad + decay * p`, `p =- rate * delta`.
//!
//! | written | meaning |
//! |---|---|
//! | `a = x`, `a =: x` | `a` becomes `x` |
//! | `a =+ x` | `x` is accumulated into what `a` holds |
//! | `a =:+ x` | `a` is cleared to the neutral element, then `x` is accumulated |
//!
//! Any of `+ - * / ** max min and or` accumulates. An accumulator stands directly after `=` or `=:`, so that
//! `a =- x` subtracts `x` and `a = -x` sets `a`. A target in braces is a new tensor. Names may have dots: `p.grad`.
//!
//! The text is for people. Programs that make assignments build them with [`Assignments`] and
//! [`Formula`]; the parser does the same.

mod parse;

use broadloom_loops::{Binary, Domain, Dtype, Unary, Yields};

use crate::error::Error;
use crate::operation::table::{Pointwise, ROWS};
use crate::step::Tensor;

pub(crate) use parse::parse;
use parse::{of_row, read_into};

/// A value to compute, over the names of some [`Assignments`]. The operators of Rust and
/// [`Formula::apply`] build it.
///
/// ```
/// use broadloom::{Assignments, Formula, Graph, Routine, Sign};
/// let mut g = Graph::new();
/// let (w, slope) = (g.param_shaped("w", "3")?, g.data("slope", "3")?);
/// let mut update = Assignments::new();
/// let (target, slope) = (update.tensor("w", w), update.tensor("slope", slope));
/// let step = Formula::number(0.1) * slope.into();
/// update.assign(target, Sign::read("=-").expect("a sign"), step, "w =- 0.1 * slope");
/// Routine::new("train").assign_all(&mut g, ".", update)?;
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub enum Formula {
    /// A number.
    Number(f64),
    /// A name, by its place among those of the assignments.
    Name(u32),
    /// A function of one value.
    Unary(Unary, Box<Formula>),
    /// A function of two values.
    Binary(Binary, Box<Formula>, Box<Formula>),
    /// The second value where the first is not 0, else the third.
    Select(Box<Formula>, Box<Formula>, Box<Formula>),
}

/// A name in assignments: an existing tensor, one that they make, or a slot of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormulaName(pub(crate) u32);

impl From<FormulaName> for Formula {
    fn from(name: FormulaName) -> Formula {
        Formula::Name(name.0)
    }
}

/// Implements the operators of Rust.
macro_rules! operators {
    ($($operator:ident $method:ident $function:ident;)*) => {$(
        impl std::ops::$operator for Formula {
            type Output = Formula;

            fn $method(self, other: Formula) -> Formula {
                Formula::binary(Binary::$function, self, other)
            }
        }
    )*};
}

operators! {
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
}

impl std::ops::Neg for Formula {
    type Output = Formula;

    fn neg(self) -> Formula {
        match self {
            Formula::Number(value) => Formula::Number(-value),
            other => Formula::unary(Unary::Neg, other),
        }
    }
}

impl Formula {
    /// A number.
    pub fn number(value: f64) -> Formula {
        Formula::Number(value)
    }

    /// A pointwise operation of the library. None for another number of operands than it has.
    ///
    /// ```
    /// use broadloom::{Formula, Pointwise};
    /// let one = || Formula::number(1.0);
    /// assert!(Formula::apply(Pointwise::Max, vec![one(), one()]).is_some());
    /// assert!(Formula::apply(Pointwise::Max, vec![one()]).is_none());
    /// ```
    pub fn apply(operation: Pointwise, operands: Vec<Formula>) -> Option<Formula> {
        of_row(ROWS, operation as usize, &operands)
    }

    /// The same with one name in place of another.
    pub fn with(self, name: FormulaName, other: FormulaName) -> Formula {
        let named = |each: u32| Some(Formula::Name(if each == name.0 { other.0 } else { each }));
        self.with_names(&named).unwrap_or(self)
    }

    /// Its value where the names in it are numbers.
    pub(crate) fn of(&self, names: &impl Fn(u32) -> Option<f64>) -> Option<f64> {
        Some(match self {
            Formula::Number(value) => *value,
            Formula::Name(name) => names(*name)?,
            Formula::Unary(function, a) => function.of(a.of(names)?),
            Formula::Binary(function, a, b) => function.of(a.of(names)?, b.of(names)?),
            Formula::Select(condition, a, b) => {
                if condition.of(names)? != 0.0 {
                    a.of(names)?
                } else {
                    b.of(names)?
                }
            }
        })
    }

    /// A function of a formula.
    pub fn unary(function: Unary, a: Formula) -> Formula {
        Formula::Unary(function, Box::new(a))
    }

    /// A function of two formulas.
    pub fn binary(function: Binary, a: Formula, b: Formula) -> Formula {
        Formula::Binary(function, Box::new(a), Box::new(b))
    }

    /// Returns true if it has a function whose values have fractions even for whole numbers.
    pub(crate) fn has_fractions(&self) -> bool {
        match self {
            Formula::Number(_) | Formula::Name(_) => false,
            Formula::Unary(function, a) => function.yields() == Yields::Fractions || a.has_fractions(),
            Formula::Binary(function, a, b) => {
                function.yields() == Yields::Fractions || a.has_fractions() || b.has_fractions()
            }
            // A condition decides between values, and is none of them.
            Formula::Select(_, a, b) => a.has_fractions() || b.has_fractions(),
        }
    }

    /// Returns true if its values are conditions: 0 or 1.
    pub(crate) fn is_truth(&self) -> bool {
        match self {
            Formula::Unary(function, _) => function.yields() == Yields::Truth,
            Formula::Binary(function, ..) => function.yields() == Yields::Truth,
            Formula::Number(_) | Formula::Name(_) | Formula::Select(..) => false,
        }
    }

    /// The type that it casts an operand to, if it does just that.
    pub(crate) fn cast_to(&self) -> Option<Dtype> {
        match self {
            Formula::Unary(function, a) if matches!(**a, Formula::Name(_)) => function.cast_to(),
            _ => None,
        }
    }

    /// Returns true if a function in it is about the bits of integers.
    pub(crate) fn is_bitwise(&self) -> bool {
        match self {
            Formula::Number(_) | Formula::Name(_) => false,
            Formula::Unary(_, a) => a.is_bitwise(),
            Formula::Binary(function, a, b) => function.is_bitwise() || a.is_bitwise() || b.is_bitwise(),
            Formula::Select(condition, a, b) => [condition, a, b].into_iter().any(|part| part.is_bitwise()),
        }
    }

    /// Returns true if its values have the type of its operands: copies, greatest and least ones, choices and common bits.
    pub(crate) fn is_selection(&self) -> bool {
        match self {
            Formula::Name(_) => true,
            Formula::Binary(function, a, b) => {
                let keeps = matches!(function, Binary::BitAnd | Binary::BitOr | Binary::BitXor);
                (keeps || function.yields() == Yields::Operand) && a.is_selection() && b.is_selection()
            }
            Formula::Select(_, a, b) => a.is_selection() && b.is_selection(),
            Formula::Number(_) | Formula::Unary(..) => false,
        }
    }

    /// Returns true if it chooses by its first operand between the others.
    pub(crate) fn is_choice(&self) -> bool {
        let Formula::Select(condition, a, b) = self else { return false };
        let is_name = |formula: &Formula| matches!(formula, Formula::Name(_));
        [condition, a, b].into_iter().all(|part| is_name(part)) && a != condition && b != condition
    }

    /// Returns true if the values of all its functions are those that IEEE 754 requires.
    pub(crate) fn is_correct(&self) -> bool {
        match self {
            Formula::Number(_) | Formula::Name(_) => true,
            Formula::Unary(function, a) => function.is_correct() && a.is_correct(),
            Formula::Binary(function, a, b) => function.is_correct() && a.is_correct() && b.is_correct(),
            Formula::Select(condition, a, b) => condition.is_correct() && a.is_correct() && b.is_correct(),
        }
    }

    /// Returns true if all functions in it are evaluated inside their domains, where the names in
    /// it are numbers.
    pub(crate) fn is_defined(&self, names: &impl Fn(u32) -> Option<f64>) -> bool {
        let within = |domain: Domain, a: &Formula| {
            a.is_defined(names) && a.of(names).is_some_and(|value| domain.contains(value))
        };
        match self {
            Formula::Number(_) => true,
            Formula::Name(name) => names(*name).is_some(),
            Formula::Unary(function, a) => within(function.domain(), a),
            Formula::Binary(function, a, b) => {
                let [first, second] = function.domain();
                within(first, a) && within(second, b)
            }
            Formula::Select(condition, a, b) => {
                let chosen = condition.of(names).map(|holds| if holds != 0.0 { a } else { b });
                condition.is_defined(names) && chosen.is_some_and(|chosen| chosen.is_defined(names))
            }
        }
    }

    /// The same with each name replaced by a formula. None if there is no formula for one of them.
    pub(crate) fn with_names(&self, names: &impl Fn(u32) -> Option<Formula>) -> Option<Formula> {
        Some(match self {
            Formula::Number(value) => Formula::Number(*value),
            Formula::Name(name) => names(*name)?,
            Formula::Unary(function, a) => Formula::unary(*function, a.with_names(names)?),
            Formula::Binary(function, a, b) => {
                Formula::binary(*function, a.with_names(names)?, b.with_names(names)?)
            }
            Formula::Select(condition, a, b) => {
                Formula::select(condition.with_names(names)?, a.with_names(names)?, b.with_names(names)?)
            }
        })
    }

    /// The names in it, in the order of their first appearance.
    pub(crate) fn names(&self, found: &mut Vec<u32>) {
        match self {
            Formula::Number(_) => {}
            Formula::Name(name) if found.contains(name) => {}
            Formula::Name(name) => found.push(*name),
            Formula::Unary(_, a) => a.names(found),
            Formula::Binary(_, a, b) => [a, b].into_iter().for_each(|each| each.names(found)),
            Formula::Select(a, b, c) => [a, b, c].into_iter().for_each(|each| each.names(found)),
        }
    }

    /// The value of a formula without names.
    pub(crate) fn value(&self) -> Option<f64> {
        Some(match self {
            Formula::Number(number) => *number,
            Formula::Name(_) => return None,
            Formula::Unary(function, a) => function.of(a.value()?),
            Formula::Binary(function, a, b) => function.of(a.value()?, b.value()?),
            Formula::Select(a, b, c) => if a.value()? == 0.0 { c } else { b }.value()?,
        })
    }

    /// The numbers in it that meet its names as they are: the values of its greatest parts without names. A cast has a type of its own, and so has
    /// what it meets.
    pub(crate) fn numbers(&self, found: &mut Vec<f64>) {
        if let Some(number) = self.value() {
            return found.push(number);
        }
        match self {
            Formula::Number(_) | Formula::Name(_) => {}
            Formula::Binary(_, a, b) if a.is_cast() || b.is_cast() => {}
            Formula::Unary(_, a) => a.numbers(found),
            Formula::Binary(_, a, b) => [a, b].into_iter().for_each(|each| each.numbers(found)),
            Formula::Select(condition, a, b) if a.is_cast() || b.is_cast() => condition.numbers(found),
            Formula::Select(a, b, c) => [a, b, c].into_iter().for_each(|each| each.numbers(found)),
        }
    }

    /// Returns true if the type of its value is that of a cast in it.
    fn is_cast(&self) -> bool {
        match self {
            Formula::Number(_) | Formula::Name(_) => false,
            Formula::Unary(function, a) => function.cast_to().is_some() || a.is_cast(),
            Formula::Binary(_, a, b) => a.is_cast() || b.is_cast(),
            Formula::Select(_, a, b) => a.is_cast() || b.is_cast(),
        }
    }

    /// One of two formulas, by a condition.
    pub fn select(condition: Formula, a: Formula, b: Formula) -> Formula {
        Formula::Select(Box::new(condition), Box::new(a), Box::new(b))
    }
}

/// The sign of an assignment: `=`, `=+`, `=:+`, …
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sign {
    /// True if the target is cleared first.
    pub(crate) clear: bool,
    /// The function that accumulates values; none if the last one stays.
    pub(crate) accumulate: Option<Binary>,
}

impl Sign {
    /// A sign as it is written, without blanks. None if it is no sign of an assignment.
    ///
    /// ```
    /// use broadloom::Sign;
    /// assert!(Sign::read("=:max").is_some() && Sign::read("+=").is_none());
    /// ```
    pub fn read(text: &str) -> Option<Sign> {
        let after = text.strip_prefix('=')?;
        let name = after.strip_prefix(':').unwrap_or(after);
        let accumulate = match name {
            "" => None,
            name => Some(Binary::named(name).filter(|function| function.neutral().is_some())?),
        };
        Some(Sign { clear: accumulate.is_none() || name != after, accumulate })
    }
}

/// One assignment.
#[derive(Clone, PartialEq, Debug)]
pub struct Assignment {
    /// Its target, by its place among the names of the text.
    pub target: u32,
    /// True if the target is a new tensor.
    pub fresh: bool,
    /// True if the target is cleared first.
    pub clear: bool,
    /// The function that accumulates values; none if the last one stays.
    pub accumulate: Option<Binary>,
    /// The value to compute.
    pub value: Formula,
    /// The text as it was written, or is to be shown.
    pub source: Box<str>,
}

/// Assignments and the names in them, built one by one.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Assignments {
    pub(crate) names: Vec<Box<str>>,
    /// The tensors that names stand for, `None` for those that do not exist yet.
    pub(crate) bound: Vec<Option<Tensor>>,
    pub(crate) assignments: Vec<Assignment>,
}

impl Assignments {
    /// Creates an empty list of assignments.
    pub fn new() -> Assignments {
        Assignments::default()
    }

    /// A name for an existing tensor. Each name is an operand of its own, even if the tensor is the
    /// same: `a * a` by `i j; j k => i k` has two. Messages call the tensor by the text.
    pub fn tensor(&mut self, text: &str, tensor: Tensor) -> FormulaName {
        self.names.push(text.into());
        self.bound.push(Some(tensor));
        FormulaName(self.names.len() as u32 - 1)
    }

    /// A name for a tensor that the assignments make. On the right of the assignment that makes it, it is a state that
    /// begins at 0 and lasts from run to run.
    pub fn fresh(&mut self, text: &str) -> FormulaName {
        self.names.push(text.into());
        self.bound.push(None);
        FormulaName(self.names.len() as u32 - 1)
    }

    /// Adds an assignment, which messages and loop nests show as a text.
    pub fn assign(&mut self, target: FormulaName, sign: Sign, value: Formula, shown: &str) {
        let target = target.0;
        let made = self.assignments.iter().any(|earlier| earlier.target == target);
        let fresh = self.bound[target as usize].is_none() && !made;
        let Sign { clear, accumulate } = sign;
        self.assignments.push(Assignment { target, fresh, clear, accumulate, value, source: shown.into() });
    }

    /// Reads further assignments, separated by `;`.
    pub(crate) fn read(&mut self, source: &str) -> Result<(), Error> {
        read_into(self, source, ROWS)
    }

    /// Sets the tensors that names stand for.
    pub(crate) fn bind(&mut self, names: &[(&str, Tensor)]) {
        for (name, bound) in self.names.iter().zip(&mut self.bound) {
            *bound = names.iter().find(|(known, _)| *known == &**name).map(|(_, tensor)| *tensor);
        }
    }
}
