//! What is computed at one point of a nest, as operations of `arith` and `math`.
//!
//! Numbers are computed with in one type for the whole nest, as everywhere: 64-bit floats if one of its buffers has those or
//! if it writes integers, 32-bit floats otherwise. They are converted where they are read and where they are written.

use std::collections::BTreeSet;

use broadloom_core::Size;
use broadloom_core::projection::Component;
use rustc_hash::FxHashMap;

use super::helper::Helper;
use super::types::{element, number, tensor};
use super::view::Loops;
use crate::Dtype;
use crate::program::{Cell, Index, Program};
use crate::scalar::{Binary, Scalar, Unary};

/// A number that is supplied to a run, as the function has it.
#[derive(Clone, Debug)]
pub(super) enum Symbol {
    /// It is always the same.
    Known(f64),
    /// An argument, as an integer of 64 bits and, if it is a position, as an index.
    Argument(String, Option<String>),
}

/// How a body has the variables of its loops.
#[derive(Clone, Debug)]
pub(super) enum Points {
    /// As dimensions of `linalg.generic`, in this order.
    Dims(Vec<u32>),
    /// As values.
    Values(Vec<(u32, String)>),
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
pub(super) struct Source {
    pub value: String,
    pub sizes: Vec<u64>,
    /// What has been put before each axis.
    pub low: Vec<u64>,
}

/// The operations of a body, in order; equal ones are written once.
pub(super) struct Body<'a> {
    program: &'a Program,
    real: Dtype,
    symbols: &'a [Symbol],
    points: Points,
    /// The cells whose contents the body is given.
    pub elements: Vec<(Cell, String)>,
    /// Tensors for the other cells.
    pub sources: Vec<(Cell, Source)>,
    helpers: &'a mut BTreeSet<Helper>,
    known: FxHashMap<String, String>,
    pub lines: Vec<String>,
}

impl<'a> Body<'a> {
    pub fn new(
        program: &'a Program,
        real: Dtype,
        symbols: &'a [Symbol],
        points: Points,
        helpers: &'a mut BTreeSet<Helper>,
    ) -> Body<'a> {
        let (elements, sources, known, lines) = Default::default();
        Body { program, real, symbols, points, elements, sources, helpers, known, lines }
    }

    /// What a store leaves in its cell: its value, or what was there and its value, as the buffer holds it.
    pub fn stored(&mut self, store: &Store<'_>, held: &str) -> Result<String, String> {
        let dtype = self.program.buffer(store.cell.buffer).dtype;
        let mut value = self.scalar(store.value)?;
        if let Some(function) = store.accumulate {
            let held = self.widened(held, dtype);
            value = self.binary(function, held, value);
        }
        Ok(self.narrowed(value, dtype))
    }

    /// An operation: its result.
    pub fn push(&mut self, operation: String) -> String {
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
            Scalar::Unary(Unary::Not, _) => self.as_number(scalar)?,
            Scalar::Unary(function, a) => {
                let a = self.scalar(a)?;
                self.unary(*function, &a)
            }
            Scalar::Binary(function, a, b) if !is_truth(*function) => {
                let (a, b) = (self.scalar(a)?, self.scalar(b)?);
                self.binary(*function, a, b)
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
        Ok(self.push(format!("arith.uitofp {truth} : i1 to {}", element(self.real))))
    }

    /// Whether a value is not 0.
    fn truth(&mut self, scalar: &Scalar) -> Result<String, String> {
        Ok(match scalar {
            Scalar::Unary(Unary::Not, a) => {
                let (a, yes) = (self.truth(a)?, self.push("arith.constant true".into()));
                self.push(format!("arith.xori {a}, {yes} : i1"))
            }
            Scalar::Binary(function @ (Binary::And | Binary::Or), a, b) => {
                let (a, b) = (self.truth(a)?, self.truth(b)?);
                self.connective(*function, &a, &b)
            }
            Scalar::Binary(function, a, b) if is_truth(*function) => {
                let (a, b) = (self.scalar(a)?, self.scalar(b)?);
                self.compare(*function, &a, &b)
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

    fn connective(&mut self, function: Binary, a: &str, b: &str) -> String {
        let name = if function == Binary::And { "andi" } else { "ori" };
        self.push(format!("arith.{name} {a}, {b} : i1"))
    }

    /// A comparison: with what is not a number only `!=` holds.
    fn compare(&mut self, function: Binary, a: &str, b: &str) -> String {
        let predicate = match function {
            Binary::Less => "olt",
            Binary::LessEq => "ole",
            Binary::Equal => "oeq",
            _ => "une",
        };
        self.op(&format!("arith.cmpf {predicate},"), &[a, b])
    }

    fn unary(&mut self, function: Unary, a: &str) -> String {
        let name = match function {
            Unary::Neg => "arith.negf",
            Unary::Abs => "math.absf",
            Unary::Exp => "math.exp",
            Unary::Log => "math.log",
            Unary::Log1p => "math.log1p",
            Unary::Sqrt => "math.sqrt",
            Unary::Sin => "math.sin",
            Unary::Cos => "math.cos",
            Unary::Tanh => "math.tanh",
            Unary::Erf => "math.erf",
            Unary::Floor => "math.floor",
            Unary::Ceil => "math.ceil",
            Unary::Round => "math.roundeven",
            Unary::Trunc => "math.trunc",
            Unary::Recip => {
                let one = self.constant(1.0);
                return self.op("arith.divf", &[&one, a]);
            }
            Unary::Sigmoid => return self.sigmoid(a),
            Unary::Sign => return self.sign(a),
            Unary::Not => {
                let truth = self.is_true(a);
                let yes = self.push("arith.constant true".into());
                let not = self.push(format!("arith.xori {truth}, {yes} : i1"));
                return self.push(format!("arith.uitofp {not} : i1 to {}", element(self.real)));
            }
        };
        self.op(name, &[a])
    }

    /// `1 / (1 + exp(-a))`.
    fn sigmoid(&mut self, a: &str) -> String {
        let (one, minus) = (self.constant(1.0), self.op("arith.negf", &[a]));
        let power = self.op("math.exp", &[&minus]);
        let below = self.op("arith.addf", &[&one, &power]);
        self.op("arith.divf", &[&one, &below])
    }

    /// 1 with the sign of a number, and the number itself if it is 0 or none.
    fn sign(&mut self, a: &str) -> String {
        let (one, zero) = (self.constant(1.0), self.constant(0.0));
        let unit = self.op("math.copysign", &[&one, a]);
        let has_sign = self.op("arith.cmpf one,", &[a, &zero]);
        self.op("arith.select", &[&has_sign, &unit, a])
    }

    fn binary(&mut self, function: Binary, a: String, b: String) -> String {
        let name = match function {
            Binary::Add => "arith.addf",
            Binary::Sub => "arith.subf",
            Binary::Mul => "arith.mulf",
            Binary::Div => "arith.divf",
            Binary::Pow => "math.powf",
            Binary::Max => "arith.maximumf",
            Binary::Min => "arith.minimumf",
            Binary::Mod => return self.modulo(&a, &b),
            Binary::And | Binary::Or => {
                let (a, b) = (self.is_true(&a), self.is_true(&b));
                let truth = self.connective(function, &a, &b);
                return self.push(format!("arith.uitofp {truth} : i1 to {}", element(self.real)));
            }
            Binary::Less | Binary::LessEq | Binary::Equal | Binary::NotEqual => {
                let truth = self.compare(function, &a, &b);
                return self.push(format!("arith.uitofp {truth} : i1 to {}", element(self.real)));
            }
        };
        self.op(name, &[&a, &b])
    }

    /// The remainder with the sign of the divisor: that of `arith.remf` has the sign of the dividend.
    fn modulo(&mut self, a: &str, b: &str) -> String {
        let (zero, rest) = (self.constant(0.0), self.op("arith.remf", &[a, b]));
        let is_some = self.op("arith.cmpf une,", &[&rest, &zero]);
        let rest_below = self.op("arith.cmpf olt,", &[&rest, &zero]);
        let divisor_below = self.op("arith.cmpf olt,", &[b, &zero]);
        let differ = self.push(format!("arith.xori {rest_below}, {divisor_below} : i1"));
        let moves = self.push(format!("arith.andi {is_some}, {differ} : i1"));
        let moved = self.op("arith.addf", &[&rest, b]);
        self.op("arith.select", &[&moves, &moved, &rest])
    }

    fn uniform(&mut self, key: u32, stream: u64, at: &Component) -> Result<String, String> {
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

    /// A number of a type, to compute with.
    fn widened(&mut self, value: &str, dtype: Dtype) -> String {
        let (from, to) = (element(dtype), element(self.real));
        match dtype {
            _ if dtype == self.real => value.to_string(),
            Dtype::I32 | Dtype::I64 => self.push(format!("arith.sitofp {value} : {from} to {to}")),
            _ => self.push(format!("arith.extf {value} : {from} to {to}")),
        }
    }

    /// A computed number, as a buffer of a type holds it.
    fn narrowed(&mut self, value: String, dtype: Dtype) -> String {
        let (from, to) = (element(self.real), element(dtype));
        match dtype {
            _ if dtype == self.real => value,
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

    /// The contents of a cell, as its buffer holds them.
    pub fn held(&mut self, cell: &Cell) -> Result<String, String> {
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

    /// The indices of a cell in a tensor that has something put before its axes.
    pub fn place(&mut self, cell: &Cell, low: &[u64]) -> Result<Vec<String>, String> {
        let mut place = Vec::new();
        for (index, low) in cell.index.iter().zip(low) {
            place.push(match index {
                Index::At(sum) => {
                    let moved = Component { offset: sum.offset + *low, ..sum.clone() };
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

    /// What a buffer of a type holds, as an integer of 64 bits.
    pub fn integer(&mut self, held: &str, dtype: Dtype) -> String {
        match dtype {
            Dtype::I64 => held.to_string(),
            Dtype::I32 => self.push(format!("arith.extsi {held} : i32 to i64")),
            _ => self.integer_by(Helper::ToI64, held, dtype, "i64"),
        }
    }

    /// A sum of loop variables, as an integer of 64 bits.
    fn integer_position(&mut self, sum: &Component) -> Result<String, String> {
        let at = self.position(sum)?;
        Ok(self.push(format!("arith.index_cast {at} : index to i64")))
    }

    /// A sum of loop variables.
    fn position(&mut self, sum: &Component) -> Result<String, String> {
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
    fn point(&mut self, var: u32) -> Result<String, String> {
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

    fn symbol(&self, symbol: u32) -> Result<Symbol, String> {
        let found = self.symbols.get(symbol as usize).cloned();
        found.ok_or_else(|| "it uses a number that nobody supplies".into())
    }
}

/// Whether a function gives 0 or 1.
fn is_truth(function: Binary) -> bool {
    use Binary::{And, Equal, Less, LessEq, NotEqual, Or};
    matches!(function, Less | LessEq | Equal | NotEqual | And | Or)
}
