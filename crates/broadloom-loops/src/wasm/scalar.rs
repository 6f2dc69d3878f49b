//! Numbers: the value of a scalar goes on the stack, as a float of the type that its statement computes in.

use wasm_encoder::{BlockType, ValType};

use crate::buffer::Cell;
use crate::rounding::round;
use crate::wasm::Import;
use crate::wasm::address::compares_integers;
use crate::wasm::nest::{NestWriter, access};
use crate::{Binary, Dtype, Scalar, Unary};

/// The type of WebAssembly for 32-bit or 64-bit floats.
fn float(real: Dtype) -> ValType {
    if real == Dtype::F64 { ValType::F64 } else { ValType::F32 }
}

/// One instruction for either type.
macro_rules! either {
    ($code:expr, $real:expr, $narrow:ident, $wide:ident) => {
        match $real {
            Dtype::F64 => drop($code.emit().$wide()),
            _ => drop($code.emit().$narrow()),
        }
    };
}

/// Returns true for the functions of one number that WebAssembly has.
pub(crate) fn is_exact(function: Unary) -> bool {
    use Unary::{Abs, Ceil, Floor, Neg, Round, Sqrt, Trunc};
    matches!(function, Neg | Abs | Sqrt | Floor | Ceil | Round | Trunc)
}

impl NestWriter<'_> {
    /// Converts the float on the stack from one type to another, 32 or 64 bits.
    pub fn convert(&mut self, from: Dtype, to: Dtype) {
        match (from == Dtype::F64, to == Dtype::F64) {
            (true, false) => drop(self.emit().f32_demote_f64()),
            (false, true) => drop(self.emit().f64_promote_f32()),
            _ => {}
        }
    }

    pub fn scalar(&mut self, scalar: &Scalar, real: Dtype) -> Option<()> {
        match scalar {
            Scalar::Number(value) => match real {
                Dtype::F64 => drop(self.emit().f64_const((*value).into())),
                _ => drop(self.emit().f32_const((round(Dtype::F32, *value) as f32).into())),
            },
            Scalar::Load(cell) => self.load(cell, real)?,
            Scalar::Local(local) => {
                let variable = self.local(*local);
                self.emit().local_get(variable);
                self.convert(Dtype::F64, real);
            }
            Scalar::Position(sum) => {
                self.position(sum)?;
                self.emit().f64_convert_i64_s();
                self.convert(Dtype::F64, real);
            }
            Scalar::Symbol(symbol) => {
                self.symbol(*symbol);
                self.emit().f64_convert_i64_s();
                self.convert(Dtype::F64, real);
            }
            Scalar::Uniform { key, stream, at } => {
                self.symbol(*key);
                self.emit().i64_const(*stream as i64).i64_xor();
                self.position(at)?;
                self.emit().call(Import::Uniform as u32);
                self.convert(Dtype::F64, real);
            }
            Scalar::Unary(Unary::Not, _) => self.truth(scalar, real)?,
            Scalar::Unary(function, a) => self.unary(*function, a, real)?,
            Scalar::Binary(function, a, b) => {
                if function.is_comparison() || matches!(function, Binary::And | Binary::Or) {
                    return self.truth(scalar, real);
                }
                self.scalar(a, real)?;
                self.scalar(b, real)?;
                self.binary(*function, real)?;
            }
            Scalar::Select(condition, a, b) => {
                self.condition(condition, real)?;
                self.emit().if_(BlockType::Result(float(real)));
                self.scalar(a, real)?;
                self.emit().else_();
                self.scalar(b, real)?;
                self.emit().end();
            }
        }
        Some(())
    }

    /// The contents of a cell.
    fn load(&mut self, cell: &Cell, real: Dtype) -> Option<()> {
        self.address(cell)?;
        self.load_from(self.program.buffer(cell.buffer).dtype, real);
        Some(())
    }

    /// Replaces the address of a cell of a type by its contents, as a float of 32 or 64 bits.
    pub fn load_from(&mut self, dtype: Dtype, real: Dtype) {
        let at = access(dtype);
        match dtype {
            Dtype::F32 => {
                self.emit().f32_load(at);
                self.convert(Dtype::F32, real);
            }
            Dtype::F64 => {
                self.emit().f64_load(at);
                self.convert(Dtype::F64, real);
            }
            Dtype::F16 | Dtype::Bf16 => {
                let bits = self.variable(ValType::I32);
                let code = i32::from(dtype == Dtype::Bf16);
                self.emit().i32_load16_u(at).local_set(bits);
                self.emit().i32_const(code).local_get(bits).call(Import::Widen as u32);
                self.convert(Dtype::F64, real);
            }
            Dtype::I64 => {
                self.emit().i64_load(at);
                either!(self, real, f32_convert_i64_s, f64_convert_i64_s);
            }
            Dtype::Bool | Dtype::U8 | Dtype::I8 | Dtype::I16 | Dtype::I32 => {
                match dtype {
                    Dtype::I32 => self.emit().i32_load(at),
                    Dtype::I16 => self.emit().i32_load16_s(at),
                    Dtype::I8 => self.emit().i32_load8_s(at),
                    _ => self.emit().i32_load8_u(at),
                };
                either!(self, real, f32_convert_i32_s, f64_convert_i32_s);
            }
        }
    }

    /// 1 or 0.
    fn truth(&mut self, scalar: &Scalar, real: Dtype) -> Option<()> {
        self.condition(scalar, real)?;
        either!(self, real, f32_convert_i32_u, f64_convert_i32_u);
        Some(())
    }

    /// Puts 1 on the stack if a scalar is not 0, and else 0, as an integer.
    fn condition(&mut self, scalar: &Scalar, real: Dtype) -> Option<()> {
        match scalar {
            Scalar::Unary(Unary::Not, a) => {
                self.condition(a, real)?;
                self.emit().i32_eqz();
            }
            Scalar::Binary(Binary::And, a, b) => {
                self.condition(a, real)?;
                self.condition(b, real)?;
                self.emit().i32_and();
            }
            Scalar::Binary(Binary::Or, a, b) => {
                self.condition(a, real)?;
                self.condition(b, real)?;
                self.emit().i32_or();
            }
            Scalar::Binary(function, a, b) if function.is_comparison() => {
                if compares_integers(self.program, a, b) {
                    return None;
                }
                self.scalar(a, real)?;
                self.scalar(b, real)?;
                match function {
                    Binary::Less => either!(self, real, f32_lt, f64_lt),
                    Binary::LessEq => either!(self, real, f32_le, f64_le),
                    Binary::Equal => either!(self, real, f32_eq, f64_eq),
                    _ => either!(self, real, f32_ne, f64_ne),
                }
            }
            other => {
                self.scalar(other, real)?;
                match real {
                    Dtype::F64 => drop(self.emit().f64_const(0.0.into()).f64_ne()),
                    _ => drop(self.emit().f32_const(0.0.into()).f32_ne()),
                }
            }
        }
        Some(())
    }

    fn unary(&mut self, function: Unary, a: &Scalar, real: Dtype) -> Option<()> {
        if !is_exact(function) {
            // Computed in 64 bits, and rounded: as the evaluator does.
            let code = Unary::ALL.iter().position(|known| *known == function)? as i32;
            self.emit().i32_const(code);
            self.scalar(a, real)?;
            self.convert(real, Dtype::F64);
            self.emit().call(Import::Unary as u32);
            self.convert(Dtype::F64, real);
            return Some(());
        }
        self.scalar(a, real)?;
        match function {
            Unary::Neg => either!(self, real, f32_neg, f64_neg),
            Unary::Abs => either!(self, real, f32_abs, f64_abs),
            Unary::Sqrt => either!(self, real, f32_sqrt, f64_sqrt),
            Unary::Floor => either!(self, real, f32_floor, f64_floor),
            Unary::Ceil => either!(self, real, f32_ceil, f64_ceil),
            Unary::Round => either!(self, real, f32_nearest, f64_nearest),
            _ => either!(self, real, f32_trunc, f64_trunc),
        }
        Some(())
    }

    /// A function of the two floats on the stack. Sums, differences and products of 32-bit floats are the same whether they are rounded once or twice.
    pub fn binary(&mut self, function: Binary, real: Dtype) -> Option<()> {
        match function {
            Binary::Add => either!(self, real, f32_add, f64_add),
            Binary::Sub => either!(self, real, f32_sub, f64_sub),
            Binary::Mul => either!(self, real, f32_mul, f64_mul),
            Binary::Div if real == Dtype::F64 => drop(self.emit().f64_div()),
            Binary::Max => self.greater(real, true),
            Binary::Min => self.greater(real, false),
            _ => {
                let code = Binary::ALL.iter().position(|known| *known == function)? as i32;
                let (a, b) = (self.variable(ValType::F64), self.variable(ValType::F64));
                self.convert(real, Dtype::F64);
                self.emit().local_set(b);
                self.convert(real, Dtype::F64);
                self.emit().local_set(a);
                if function == Binary::Div {
                    self.emit().local_get(a).local_get(b).f64_div();
                } else {
                    self.emit().i32_const(code).local_get(a).local_get(b).call(Import::Binary as u32);
                }
                self.convert(Dtype::F64, real);
            }
        }
        Some(())
    }

    /// The first of two floats if it is greater, or less, or not a number; else the second.
    fn greater(&mut self, real: Dtype, greater: bool) {
        let (a, b) = (self.variable(float(real)), self.variable(float(real)));
        self.emit().local_set(b).local_set(a);
        self.emit().local_get(a).local_get(b).local_get(a).local_get(b);
        match greater {
            true => either!(self, real, f32_gt, f64_gt),
            false => either!(self, real, f32_lt, f64_lt),
        }
        self.emit().local_get(a).local_get(a);
        either!(self, real, f32_ne, f64_ne);
        self.emit().i32_or().select();
    }
}
