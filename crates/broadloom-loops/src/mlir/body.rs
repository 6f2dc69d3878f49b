//! The computation at one point of a nest, as operations of `arith` and `math`.
//!
//! A nest computes in one type throughout, as in the other backends: 64-bit floats if one of its
//! buffers has those or if it writes integers, 32-bit floats otherwise. Numbers are converted when
//! they are read and when they are written. What is computed from integers alone stays an integer.

use std::collections::BTreeSet;

use broadloom_core::Size;
use rustc_hash::FxHashMap;

use super::helper::Helper;
use super::types::{element, number, tensor};
use crate::Dtype;
use crate::buffer::{Cell, Index, LoopSum, LoopVar};
use crate::function::{Binary, Composed, Mlir, Unary, Yields};
use crate::program::Program;
use crate::scalar::Scalar;

/// A number that is supplied to a run, as the function has it.
#[derive(Clone, Debug)]
pub(super) enum Symbol {
    /// It is always the same.
    Known(f64),
    /// An argument, as an integer of 64 bits and, if it is a position, as an index.
    Argument(String, Option<String>),
}

/// The loops around a store: variables and extents, outermost first.
pub(super) type Loops = [(LoopVar, u64)];

/// The form in which a body has the variables of its loops.
#[derive(Clone, Debug)]
pub(super) enum Points {
    /// As dimensions of `linalg.generic`, in this order.
    Dims(Vec<LoopVar>),
    /// As values.
    Values(Vec<(LoopVar, String)>),
}

/// A store with the loops around it.
pub(super) struct Store<'s> {
    /// Variables and extents, outermost first.
    pub loops: &'s Loops,
    pub cell: &'s Cell,
    pub accumulate: Option<Binary>,
    pub value: &'s Scalar,
    /// The type that is computed in.
    pub real: Dtype,
}

/// A tensor that a body takes elements out of by itself.
#[derive(Clone, Debug)]
pub(super) struct GatheredTensor {
    pub value: String,
    pub sizes: Vec<u64>,
    /// The number of cells that have been put before each axis.
    pub low: Vec<u64>,
}

/// The operations of a body, in order; equal ones are written once.
pub(crate) struct Body<'a> {
    pub(super) program: &'a Program,
    real: Dtype,
    symbols: &'a [Symbol],
    points: Points,
    /// The cells whose contents the body is given.
    pub(super) elements: Vec<(Cell, String)>,
    /// Tensors for the other cells.
    pub(super) sources: Vec<(Cell, GatheredTensor)>,
    pub(super) helpers: &'a mut BTreeSet<Helper>,
    known: FxHashMap<String, String>,
    pub(super) lines: Vec<String>,
}

impl<'a> Body<'a> {
    pub(super) fn new(
        program: &'a Program,
        real: Dtype,
        symbols: &'a [Symbol],
        points: Points,
        helpers: &'a mut BTreeSet<Helper>,
    ) -> Body<'a> {
        let (elements, sources, known, lines) = Default::default();
        Body { program, real, symbols, points, elements, sources, helpers, known, lines }
    }

    /// The value that a store leaves in its cell, as the buffer holds it: the new value, or the old
    /// one combined with it.
    pub(super) fn stored(&mut self, store: &Store<'_>, held: &str) -> Result<String, String> {
        let dtype = self.program.buffer(store.cell.buffer).dtype;
        if self.is_whole(store, dtype) {
            return self.whole_stored(store, held, dtype);
        }
        let mut value = self.scalar(store.value)?;
        if let Some(function) = store.accumulate {
            let held = self.widened(held, dtype);
            value = self.function(function.mlir(), &[&held, &value]);
        }
        Ok(self.narrowed(value, dtype))
    }

    /// Writes an operation unless an equal one is written already, and returns the name of its
    /// result.
    pub(super) fn push(&mut self, operation: String) -> String {
        if let Some(known) = self.known.get(&operation) {
            return known.clone();
        }
        let name = format!("%{}", self.known.len());
        self.lines.push(format!("{name} = {operation}"));
        self.known.insert(operation, name.clone());
        name
    }

    /// An operation on numbers.
    fn op(&mut self, name: &str, operands: &[&str]) -> String {
        self.push(format!("{name} {} : {}", operands.join(", "), element(self.real)))
    }

    fn constant(&mut self, value: f64) -> String {
        let real = self.real;
        self.push(format!("arith.constant {} : {}", number(real, value), element(real)))
    }

    fn scalar(&mut self, scalar: &Scalar) -> Result<String, String> {
        Ok(match scalar {
            Scalar::Number(value) => self.constant(*value),
            Scalar::Load(cell) => {
                let held = self.held(cell)?;
                self.widened(&held, self.program.buffer(cell.buffer).dtype)
            }
            Scalar::Local(_) => return Err("it has variables, which only optimised nests have".into()),
            Scalar::Position(sum) => {
                let at = self.integer_position(sum)?;
                self.push(format!("arith.sitofp {at} : i64 to {}", element(self.real)))
            }
            Scalar::Symbol(symbol) => match self.symbol(*symbol)? {
                Symbol::Known(value) => self.constant(value),
                Symbol::Argument(integer, _) => {
                    self.push(format!("arith.sitofp {integer} : i64 to {}", element(self.real)))
                }
            },
            Scalar::Uniform { key, stream, at } => self.uniform(*key, *stream, at)?,
            Scalar::Unary(function, _) if function.yields() == Yields::Truth => self.as_number(scalar)?,
            Scalar::Unary(function, _) if matches!(function.mlir(), Mlir::Nothing) => {
                let name = function.name();
                return Err(format!("MLIR has no operation for `{name}`, and StableHLO has"));
            }
            Scalar::Unary(function, a) => {
                let a = self.scalar(a)?;
                self.function(function.mlir(), &[&a])
            }
            Scalar::Binary(function, a, b) if function.yields() != Yields::Truth => {
                let (a, b) = (self.scalar(a)?, self.scalar(b)?);
                self.function(function.mlir(), &[&a, &b])
            }
            Scalar::Binary(..) => self.as_number(scalar)?,
            Scalar::Select(condition, a, b) => {
                let (condition, a, b) = (self.truth(condition)?, self.scalar(a)?, self.scalar(b)?);
                self.op("arith.select", &[&condition, &a, &b])
            }
        })
    }

    /// A condition as 0 or 1.
    fn as_number(&mut self, condition: &Scalar) -> Result<String, String> {
        let truth = self.truth(condition)?;
        Ok(self.counted(&truth))
    }

    /// The condition that a value is not 0.
    pub(super) fn truth(&mut self, scalar: &Scalar) -> Result<String, String> {
        Ok(match scalar {
            Scalar::Unary(Unary::Not, a) => {
                let (a, yes) = (self.truth(a)?, self.push("arith.constant true".into()));
                self.push(format!("arith.xori {a}, {yes} : i1"))
            }
            Scalar::Binary(function, a, b) if let Mlir::Connect(name) = function.mlir() => {
                let (a, b) = (self.truth(a)?, self.truth(b)?);
                self.connect(name, &a, &b)
            }
            Scalar::Binary(function, a, b) if function.is_comparison() && self.are_whole(a, b) => {
                self.whole_comparison(*function, a, b)?
            }
            Scalar::Binary(function, a, b) if let Mlir::Compare(predicate) = function.mlir() => {
                let (a, b) = (self.scalar(a)?, self.scalar(b)?);
                self.compare(predicate, &a, &b)
            }
            _ => {
                let value = self.scalar(scalar)?;
                self.is_true(&value)
            }
        })
    }

    fn is_true(&mut self, value: &str) -> String {
        let zero = self.constant(0.0);
        self.op("arith.cmpf une,", &[value, &zero])
    }

    fn connect(&mut self, name: &str, a: &str, b: &str) -> String {
        self.push(format!("arith.{name} {a}, {b} : i1"))
    }

    fn compare(&mut self, predicate: &str, a: &str, b: &str) -> String {
        self.op(&format!("arith.cmpf {predicate},"), &[a, b])
    }

    /// A computed condition as 0 or 1.
    fn counted(&mut self, truth: &str) -> String {
        self.push(format!("arith.uitofp {truth} : i1 to {}", element(self.real)))
    }

    /// A function of computed numbers.
    fn function(&mut self, mlir: Mlir, operands: &[&str]) -> String {
        match mlir {
            Mlir::Op(name) => self.op(name, operands),
            // Refused where it occurs in an expression.
            Mlir::Nothing => String::new(),
            Mlir::Several(composed) => composition(composed)(self, operands),
            Mlir::Cast(dtype) => self.cast(operands[0], dtype),
            Mlir::Bits(function) => self.in_bits(operands, function),
            Mlir::Compare(predicate) => {
                let truth = self.op(&format!("arith.cmpf {predicate},"), operands);
                self.counted(&truth)
            }
            Mlir::Connect(name) => {
                let truths: Vec<String> = operands.iter().map(|operand| self.is_true(operand)).collect();
                let truth = self.push(format!("arith.{name} {} : i1", truths.join(", ")));
                self.counted(&truth)
            }
        }
    }

    fn uniform(&mut self, key: u32, stream: u64, at: &LoopSum) -> Result<String, String> {
        let key = match self.symbol(key)? {
            Symbol::Known(value) => self.push(format!("arith.constant {} : i64", value as i64)),
            Symbol::Argument(integer, _) => integer,
        };
        let stream = self.push(format!("arith.constant {} : i64", stream as i64));
        let key = self.push(format!("arith.xori {key}, {stream} : i64"));
        let at = self.integer_position(at)?;
        self.helpers.insert(Helper::Uniform);
        let name = Helper::Uniform.name();
        let drawn = self.push(format!("func.call {name}({key}, {at}) : (i64, i64) -> f32"));
        Ok(self.widened(&drawn, Dtype::F32))
    }

    /// A number of a type, converted to the type that is computed in.
    fn widened(&mut self, value: &str, dtype: Dtype) -> String {
        let (from, to) = (element(dtype), element(self.real));
        match dtype {
            _ if dtype == self.real => value.to_string(),
            Dtype::Bool | Dtype::U8 => self.push(format!("arith.uitofp {value} : {from} to {to}")),
            Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => {
                self.push(format!("arith.sitofp {value} : {from} to {to}"))
            }
            _ => self.push(format!("arith.extf {value} : {from} to {to}")),
        }
    }

    /// A computed number, converted to the type of a buffer.
    fn narrowed(&mut self, value: String, dtype: Dtype) -> String {
        let (from, to) = (element(self.real), element(dtype));
        match dtype {
            _ if dtype == self.real => value,
            Dtype::Bool => self.is_true(&value),
            Dtype::U8 | Dtype::I8 | Dtype::I16 => {
                let value = self.integer_by(Helper::ToI64, &value, self.real, "i64");
                self.whole_narrowed(value, dtype)
            }
            Dtype::I32 => self.integer_by(Helper::ToI32, &value, self.real, to),
            Dtype::I64 => self.integer_by(Helper::ToI64, &value, self.real, to),
            _ => self.push(format!("arith.truncf {value} : {from} to {to}")),
        }
    }

    fn integer_by(&mut self, helper: Helper, value: &str, from: Dtype, to: &str) -> String {
        let value = match from {
            Dtype::F64 => value.to_string(),
            _ => self.push(format!("arith.extf {value} : {} to f64", element(from))),
        };
        self.helpers.insert(helper);
        self.push(format!("func.call {}({value}) : (f64) -> {to}", helper.name()))
    }

    /// A function of the bits of the integers towards 0.
    pub(crate) fn in_bits(&mut self, operands: &[&str], function: Binary) -> String {
        let real = self.real;
        let [a, b] = [0, 1].map(|at| self.integer_by(Helper::ToI64, operands[at], real, "i64"));
        let made = self.bitwise(function, &a, &b);
        self.push(format!("arith.sitofp {made} : i64 to {}", element(real)))
    }

    /// A computed number as a type holds it, in the type that is computed in.
    pub(crate) fn cast(&mut self, value: &str, dtype: Dtype) -> String {
        if dtype.is_float() && dtype >= self.real {
            return value.to_string();
        }
        let narrow = self.narrowed(value.to_string(), dtype);
        self.widened(&narrow, dtype)
    }

    /// The contents of a cell, as its buffer holds them.
    pub(super) fn held(&mut self, cell: &Cell) -> Result<String, String> {
        if let Some((_, given)) = self.elements.iter().find(|(known, _)| known == cell) {
            return Ok(given.clone());
        }
        let found = self.sources.iter().find(|(known, _)| known == cell).map(|(_, source)| source.clone());
        let name = &self.program.buffer(cell.buffer).name;
        let source = found.ok_or_else(|| format!("`{name}` is read in a way that is not foreseen"))?;
        let place = self.place(cell, &source.low)?;
        let of = tensor(&source.sizes, self.program.buffer(cell.buffer).dtype);
        Ok(self.push(format!("tensor.extract {}[{}] : {of}", source.value, place.join(", "))))
    }

    /// The indices of a cell in a tensor that is padded before its axes.
    pub(super) fn place(&mut self, cell: &Cell, low: &[u64]) -> Result<Vec<String>, String> {
        let mut place = Vec::new();
        for (index, low) in cell.index.iter().zip(low) {
            place.push(match index {
                Index::At(sum) => {
                    let moved = LoopSum { offset: sum.offset + *low, ..sum.clone() };
                    self.position(&moved)?
                }
                Index::Symbol(symbol) => match self.symbol(*symbol)? {
                    Symbol::Known(value) => self.push(format!("arith.constant {} : index", value as i64)),
                    Symbol::Argument(_, Some(index)) => index,
                    Symbol::Argument(integer, None) => {
                        self.push(format!("arith.index_cast {integer} : i64 to index"))
                    }
                },
                Index::Value(cell) => {
                    let (held, dtype) = (self.held(cell)?, self.program.buffer(cell.buffer).dtype);
                    let integer = self.integer(&held, dtype);
                    self.push(format!("arith.index_cast {integer} : i64 to index"))
                }
            });
        }
        Ok(place)
    }

    /// A number that a buffer holds, as an integer of 64 bits.
    pub(super) fn integer(&mut self, held: &str, dtype: Dtype) -> String {
        match dtype {
            Dtype::I64 => held.to_string(),
            Dtype::Bool | Dtype::U8 => self.push(format!("arith.extui {held} : {} to i64", element(dtype))),
            Dtype::I8 | Dtype::I16 | Dtype::I32 => {
                self.push(format!("arith.extsi {held} : {} to i64", element(dtype)))
            }
            _ => self.integer_by(Helper::ToI64, held, dtype, "i64"),
        }
    }

    /// A sum of loop variables, as an integer of 64 bits.
    pub(super) fn integer_position(&mut self, sum: &LoopSum) -> Result<String, String> {
        let at = self.position(sum)?;
        Ok(self.push(format!("arith.index_cast {at} : index to i64")))
    }

    /// A sum of loop variables.
    fn position(&mut self, sum: &LoopSum) -> Result<String, String> {
        let mut total: Option<String> = None;
        for (coefficient, var) in &sum.terms {
            let mut term = self.point(*var)?;
            if *coefficient != 1 {
                let factor = self.push(format!("arith.constant {coefficient} : index"));
                term = self.push(format!("arith.muli {term}, {factor} : index"));
            }
            total = Some(match total {
                Some(total) => self.push(format!("arith.addi {total}, {term} : index")),
                None => term,
            });
        }
        if let (Some(total), Size::ZERO) = (&total, sum.offset) {
            return Ok(total.clone());
        }
        let offset = self.push(format!("arith.constant {} : index", sum.offset));
        Ok(match total {
            Some(total) => self.push(format!("arith.addi {total}, {offset} : index")),
            None => offset,
        })
    }

    /// A loop variable.
    fn point(&mut self, var: LoopVar) -> Result<String, String> {
        let unknown = || "it uses a loop that is not around it".to_string();
        match &self.points {
            Points::Dims(dims) => {
                let at = dims.iter().position(|known| *known == var).ok_or_else(unknown)?;
                Ok(self.push(format!("linalg.index {at} : index")))
            }
            Points::Values(values) => {
                let found = values.iter().find(|(known, _)| *known == var);
                found.map(|(_, value)| value.clone()).ok_or_else(unknown)
            }
        }
    }

    pub(super) fn symbol(&self, symbol: u32) -> Result<Symbol, String> {
        let found = self.symbols.get(symbol as usize).cloned();
        found.ok_or_else(|| "it uses a number that nothing supplies".into())
    }
}

/// `1 / a`.
fn recip(body: &mut Body<'_>, operands: &[&str]) -> String {
    let one = body.constant(1.0);
    body.op("arith.divf", &[&one, operands[0]])
}

/// `1 / (1 + exp(-a))`.
fn sigmoid(body: &mut Body<'_>, operands: &[&str]) -> String {
    let (one, minus) = (body.constant(1.0), body.op("arith.negf", operands));
    let power = body.op("math.exp", &[&minus]);
    let below = body.op("arith.addf", &[&one, &power]);
    body.op("arith.divf", &[&one, &below])
}

/// 1 with the sign of a number, and the number itself if it is 0 or NaN.
fn sign(body: &mut Body<'_>, operands: &[&str]) -> String {
    let a = operands[0];
    let (one, zero) = (body.constant(1.0), body.constant(0.0));
    let unit = body.op("math.copysign", &[&one, a]);
    let has_sign = body.op("arith.cmpf one,", &[a, &zero]);
    body.op("arith.select", &[&has_sign, &unit, a])
}

/// 1 if a number is 0, else 0.
fn not(body: &mut Body<'_>, operands: &[&str]) -> String {
    let truth = body.is_true(operands[0]);
    let yes = body.push("arith.constant true".into());
    let not = body.push(format!("arith.xori {truth}, {yes} : i1"));
    body.counted(&not)
}

/// The quotient rounded down, in 64 bits.
fn floor_div(body: &mut Body<'_>, operands: &[&str]) -> String {
    let real = element(body.real);
    let wide = |body: &mut Body<'_>, value: &str| match body.real {
        Dtype::F64 => value.to_string(),
        _ => body.push(format!("arith.extf {value} : {real} to f64")),
    };
    let (a, b) = (wide(body, operands[0]), wide(body, operands[1]));
    body.helpers.insert(Helper::FloorDivide);
    let name = Helper::FloorDivide.name();
    let made = body.push(format!("func.call {name}({a}, {b}) : (f64, f64) -> f64"));
    match body.real {
        Dtype::F64 => made,
        _ => body.push(format!("arith.truncf {made} : f64 to {real}")),
    }
}

/// The remainder with the sign of the divisor: that of `arith.remf` has the sign of the dividend.
fn modulo(body: &mut Body<'_>, operands: &[&str]) -> String {
    let (a, b) = (operands[0], operands[1]);
    let (zero, rest) = (body.constant(0.0), body.op("arith.remf", &[a, b]));
    let is_some = body.op("arith.cmpf une,", &[&rest, &zero]);
    let rest_below = body.op("arith.cmpf olt,", &[&rest, &zero]);
    let divisor_below = body.op("arith.cmpf olt,", &[b, &zero]);
    let differ = body.push(format!("arith.xori {rest_below}, {divisor_below} : i1"));
    let moves = body.push(format!("arith.andi {is_some}, {differ} : i1"));
    let moved = body.op("arith.addf", &[&rest, b]);
    body.op("arith.select", &[&moves, &moved, &rest])
}

/// The operations that make up a function that MLIR has no operation for.
fn composition(function: Composed) -> fn(&mut Body<'_>, &[&str]) -> String {
    match function {
        Composed::FloorDiv => floor_div,
        Composed::Mod => modulo,
        Composed::Not => not,
        Composed::Recip => recip,
        Composed::Sigmoid => sigmoid,
        Composed::Sign => sign,
    }
}
