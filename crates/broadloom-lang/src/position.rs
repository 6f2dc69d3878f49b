//! Whole numbers that depend on the current repetition of a loop: `step`, `step % 8`,
//! `3 * epoch + step`.

use std::sync::Arc;

use crate::syntax::ast::Binary;

/// A repetition that counts, by its index among all such repetitions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Counter(pub(crate) u32);

/// A number that is known when a repetition runs.
#[derive(Clone, PartialEq, Debug)]
pub enum Position {
    /// The number of the repetition, from the first bound up to, not including, the second.
    Counter(Counter, i64, i64),
    /// A number that stays the same.
    Number(f64),
    /// `+`, `-`, `*`, `/` or `%` of two others.
    Binary(Binary, Arc<Position>, Arc<Position>),
}

impl Position {
    /// Returns true if it depends on the number of a repetition.
    pub(crate) fn mentions(&self, counter: Counter) -> bool {
        match self {
            Position::Counter(own, ..) => *own == counter,
            Position::Number(_) => false,
            Position::Binary(_, a, b) => a.mentions(counter) || b.mentions(counter),
        }
    }

    /// Its value as an index: quotients are rounded down.
    pub fn at(&self, values: &[i64]) -> Option<i64> {
        Some(match self {
            Position::Counter(counter, ..) => *values.get(counter.0 as usize)?,
            Position::Number(number) => whole(*number)?,
            Position::Binary(sign, a, b) => {
                let (a, b) = (a.at(values)?, b.at(values)?);
                match sign {
                    Binary::Add => a.checked_add(b)?,
                    Binary::Sub => a.checked_sub(b)?,
                    Binary::Mul => a.checked_mul(b)?,
                    Binary::Div => a.checked_div_euclid(b)?,
                    Binary::FloorDiv if b > 0 => a.checked_div_euclid(b)?,
                    Binary::FloorDiv => a.checked_neg()?.checked_div_euclid(b.checked_neg()?)?,
                    Binary::Mod => a.checked_rem_euclid(b)?,
                    _ => return None,
                }
            }
        })
    }

    /// Its value as a number, with fractions.
    pub fn number(&self, values: &[i64]) -> Option<f64> {
        Some(match self {
            Position::Counter(counter, ..) => *values.get(counter.0 as usize)? as f64,
            Position::Number(number) => *number,
            Position::Binary(sign, a, b) => {
                crate::arithmetic::fold(*sign, a.number(values)?, b.number(values)?)
            }
        })
    }

    /// The least and the greatest value it may take.
    pub fn bounds(&self) -> Option<(i64, i64)> {
        Some(match self {
            Position::Counter(_, low, high) => (*low, high.checked_sub(1)?.max(*low)),
            Position::Number(number) => (whole(*number)?, whole(*number)?),
            Position::Binary(sign, a, b) => {
                let (a, b) = (a.bounds()?, b.bounds()?);
                match sign {
                    Binary::Add => (a.0.checked_add(b.0)?, a.1.checked_add(b.1)?),
                    Binary::Sub => (a.0.checked_sub(b.1)?, a.1.checked_sub(b.0)?),
                    Binary::Mul => corners(a, b, i64::checked_mul)?,
                    Binary::Div | Binary::FloorDiv if b.0 > 0 => corners(a, b, i64::checked_div_euclid)?,
                    Binary::Mod if b.0 > 0 && a.0 >= 0 && a.1 < b.0 => a,
                    Binary::Mod if b.0 > 0 => (0, b.1 - 1),
                    _ => return None,
                }
            }
        })
    }
}

/// The extremes of a function that is monotone in both arguments.
fn corners(a: (i64, i64), b: (i64, i64), of: impl Fn(i64, i64) -> Option<i64>) -> Option<(i64, i64)> {
    let all = [of(a.0, b.0)?, of(a.0, b.1)?, of(a.1, b.0)?, of(a.1, b.1)?];
    Some((all.into_iter().min()?, all.into_iter().max()?))
}

/// Converts a number without a fraction.
pub(crate) fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bounds contain the value of every repetition, and are reached if each counter occurs once.
    #[test]
    fn bounds_hold_all_values() {
        let step = Arc::new(Position::Counter(Counter(0), 2, 9));
        let number = |value: f64| Arc::new(Position::Number(value));
        let signs = [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div, Binary::FloorDiv, Binary::Mod];
        for sign in signs {
            for value in [-3.0, 1.0, 2.0, 5.0, 20.0] {
                for position in [
                    Position::Binary(sign, step.clone(), number(value)),
                    Position::Binary(sign, number(value), step.clone()),
                ] {
                    let Some((low, high)) = position.bounds() else { continue };
                    let values: Vec<i64> = (2..9).filter_map(|at| position.at(&[at])).collect();
                    assert!(
                        values.iter().all(|value| (low..=high).contains(value)),
                        "{position:?} {values:?}"
                    );
                }
            }
        }
    }
}
