//! Integer arithmetic in 64 bits, for values computed from integers alone: a result that is too large becomes
//! the nearest number there is.

use super::body::{Body, Store, Symbol};
use super::helper::Helper;
use super::types::element;
use crate::Dtype;
use crate::function::{Binary, Unary, whole_number};
use crate::scalar::Scalar;

impl Body<'_> {
    /// Returns true if a store into a buffer of some type is computed in integers.
    pub(super) fn is_whole(&self, store: &Store<'_>, dtype: Dtype) -> bool {
        !dtype.is_float()
            && store.value.is_whole(&self.program.buffers).is_some()
            && store.accumulate.is_none_or(|function| function.of_whole(1, 1).is_some())
    }

    /// Returns true if two scalars are compared as integers: both are, and one of them is stored.
    pub(super) fn are_whole(&self, a: &Scalar, b: &Scalar) -> bool {
        let whole = (a.is_whole(&self.program.buffers), b.is_whole(&self.program.buffers));
        matches!(whole, (Some(a), Some(b)) if a | b)
    }

    /// The integer that a store leaves in its cell, as the buffer holds it.
    pub(super) fn whole_stored(
        &mut self,
        store: &Store<'_>,
        held: &str,
        dtype: Dtype,
    ) -> Result<String, String> {
        let mut value = self.whole(store.value)?;
        if let Some(function) = store.accumulate {
            let held = self.integer(held, dtype);
            value = self.whole_binary(function, &held, &value)?;
        }
        Ok(self.whole_narrowed(value, dtype))
    }

    /// An integer as a buffer holds it.
    pub(super) fn whole_narrowed(&mut self, value: String, dtype: Dtype) -> String {
        let (least, most) = match dtype.range() {
            Some(range) if !matches!(dtype, Dtype::Bool | Dtype::I64) => range,
            Some(_) if dtype == Dtype::Bool => {
                let zero = self.whole_constant(0);
                return self.whole_compare(Binary::NotEqual, &value, &zero);
            }
            _ => return value,
        };
        let (least, most) = (self.whole_constant(least), self.whole_constant(most));
        let value = self.whole_op("arith.maxsi", &value, &least);
        let value = self.whole_op("arith.minsi", &value, &most);
        self.push(format!("arith.trunci {value} : i64 to {}", element(dtype)))
    }

    /// The condition that two integers compare in some way.
    pub(super) fn whole_comparison(
        &mut self,
        function: Binary,
        a: &Scalar,
        b: &Scalar,
    ) -> Result<String, String> {
        let (a, b) = (self.whole(a)?, self.whole(b)?);
        Ok(self.whole_compare(function, &a, &b))
    }

    /// The value of a scalar that is computed from integers alone.
    fn whole(&mut self, scalar: &Scalar) -> Result<String, String> {
        Ok(match scalar {
            Scalar::Number(value) => {
                self.whole_constant(whole_number(*value).ok_or("a fraction is among its integers")?)
            }
            Scalar::Load(cell) => {
                let held = self.held(cell)?;
                self.integer(&held, self.program.buffer(cell.buffer).dtype)
            }
            Scalar::Position(sum) => self.integer_position(sum)?,
            Scalar::Symbol(symbol) => match self.symbol(*symbol)? {
                Symbol::Known(value) => self.whole(&Scalar::Number(value))?,
                Symbol::Argument(integer, _) => integer,
            },
            Scalar::Unary(function, a) => {
                let a = self.whole(a)?;
                self.whole_unary(*function, a)?
            }
            Scalar::Binary(function, a, b) => {
                let (a, b) = (self.whole(a)?, self.whole(b)?);
                self.whole_binary(*function, &a, &b)?
            }
            Scalar::Select(condition, a, b) => {
                let (condition, a, b) = (self.truth(condition)?, self.whole(a)?, self.whole(b)?);
                self.push(format!("arith.select {condition}, {a}, {b} : i64"))
            }
            Scalar::Local(_) | Scalar::Uniform { .. } => {
                return Err("it has numbers that are no integers".into());
            }
        })
    }

    fn whole_unary(&mut self, function: Unary, a: String) -> Result<String, String> {
        let zero = self.whole_constant(0);
        Ok(match function {
            Unary::Neg => self.whole_call(Helper::Subtract, &zero, &a),
            Unary::Abs => {
                let negated = self.whole_call(Helper::Subtract, &zero, &a);
                self.whole_op("arith.maxsi", &a, &negated)
            }
            Unary::Sign => {
                let (one, minus) = (self.whole_constant(1), self.whole_constant(-1));
                let below = self.whole_op("arith.minsi", &a, &one);
                self.whole_op("arith.maxsi", &below, &minus)
            }
            Unary::Floor | Unary::Ceil | Unary::Round | Unary::Trunc => a,
            Unary::Not => {
                let is_zero = self.whole_compare(Binary::Equal, &a, &zero);
                self.whole_truth(&is_zero)
            }
            _ => match function.cast_to().filter(|dtype| !dtype.is_float()) {
                Some(dtype) => {
                    let narrow = self.whole_narrowed(a, dtype);
                    self.integer(&narrow, dtype)
                }
                None => return Err(format!("`{}` of integers is no integer", function.name())),
            },
        })
    }

    fn whole_binary(&mut self, function: Binary, a: &str, b: &str) -> Result<String, String> {
        Ok(match function {
            Binary::Add => self.whole_call(Helper::Add, a, b),
            Binary::Sub => self.whole_call(Helper::Subtract, a, b),
            Binary::Mul => self.whole_call(Helper::Multiply, a, b),
            Binary::Mod => self.whole_call(Helper::Modulo, a, b),
            Binary::FloorDiv => self.whole_call(Helper::Divide, a, b),
            _ if function.is_bitwise() => self.bitwise(function, a, b),
            Binary::Pow => {
                self.helpers.insert(Helper::Multiply);
                self.whole_call(Helper::Power, a, b)
            }
            Binary::Max => self.whole_op("arith.maxsi", a, b),
            Binary::Min => self.whole_op("arith.minsi", a, b),
            Binary::Less | Binary::LessEq | Binary::Equal | Binary::NotEqual => {
                let holds = self.whole_compare(function, a, b);
                self.whole_truth(&holds)
            }
            Binary::And | Binary::Or => {
                let zero = self.whole_constant(0);
                let (a, b) = (
                    self.whole_compare(Binary::NotEqual, a, &zero),
                    self.whole_compare(Binary::NotEqual, b, &zero),
                );
                let name = if function == Binary::And { "andi" } else { "ori" };
                let both = self.push(format!("arith.{name} {a}, {b} : i1"));
                self.whole_truth(&both)
            }
            _ => return Err(format!("`{}` of integers is no integer", function.name())),
        })
    }

    /// A function of the bits of integers.
    pub(super) fn bitwise(&mut self, function: Binary, a: &str, b: &str) -> String {
        match function {
            Binary::BitAnd => self.whole_op("arith.andi", a, b),
            Binary::BitOr => self.whole_op("arith.ori", a, b),
            Binary::BitXor => self.whole_op("arith.xori", a, b),
            Binary::ShiftLeft => self.whole_call(Helper::ShiftLeft, a, b),
            _ => {
                let zero = self.whole_constant(0);
                let places = self.whole_call(Helper::Subtract, &zero, b);
                self.whole_call(Helper::ShiftLeft, a, &places)
            }
        }
    }

    fn whole_compare(&mut self, function: Binary, a: &str, b: &str) -> String {
        let predicate = match function {
            Binary::Less => "slt",
            Binary::LessEq => "sle",
            Binary::Equal => "eq",
            _ => "ne",
        };
        self.push(format!("arith.cmpi {predicate}, {a}, {b} : i64"))
    }

    fn whole_truth(&mut self, truth: &str) -> String {
        self.push(format!("arith.extui {truth} : i1 to i64"))
    }

    fn whole_constant(&mut self, value: i64) -> String {
        self.push(format!("arith.constant {value} : i64"))
    }

    fn whole_op(&mut self, name: &str, a: &str, b: &str) -> String {
        self.push(format!("{name} {a}, {b} : i64"))
    }

    fn whole_call(&mut self, helper: Helper, a: &str, b: &str) -> String {
        self.helpers.insert(helper);
        self.push(format!("func.call {}({a}, {b}) : (i64, i64) -> i64", helper.name()))
    }
}
