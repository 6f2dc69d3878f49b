//! Addresses and values as expressions of C.

use broadloom_loops::function::{Binary, C1, C2, Unary, Yields};
use broadloom_loops::{Dtype, LoopSum, Size, whole_number};

use super::{Argument, Printer};
use crate::flat::{Access, Value};
use crate::types::Real;

impl Printer<'_> {
    fn sum(&self, sum: &LoopSum) -> String {
        sum.text(&|var| self.vars.get(&var).cloned().unwrap_or_default())
    }

    /// The place of a cell in its buffer.
    pub(super) fn address(&self, access: &Access) -> String {
        let mut parts = Vec::new();
        let product = |stride: Size, factor: String| match stride {
            Size::ONE => factor,
            _ => format!("{stride} * {factor}"),
        };
        for (stride, symbol) in &access.symbols {
            parts.push(product(*stride, format!("symbols[{symbol}]")));
        }
        for gather in &access.gathers {
            let index = self.integer(&gather.at);
            let index = format!("index_within({index}, {}, {})", gather.least, gather.greatest);
            parts.push(product(gather.stride, index));
        }
        let sum = self.sum(&access.at);
        if parts.is_empty() || sum != "0" {
            parts.push(sum);
        }
        let text = parts.join(" + ").replace("+ -", "- ");
        if access.guarded {
            let last = self.program.buffer(access.buffer).cells() - 1;
            return format!("index_within({text}, 0, {last})");
        }
        text
    }

    pub(super) fn place(&self, access: &Access) -> String {
        format!("{}[{}]", self.buffer(access.buffer), self.address(access))
    }

    /// The number in a cell, as an integer.
    pub(super) fn integer(&self, access: &Access) -> String {
        let place = self.place(access);
        match self.program.buffer(access.buffer).dtype {
            Dtype::I64 => place,
            Dtype::Bool => format!("(int64_t)({place} != 0)"),
            Dtype::U8 | Dtype::I8 | Dtype::I16 | Dtype::I32 => format!("(int64_t){place}"),
            Dtype::F32 | Dtype::F64 => format!("f64_to_i64({place})"),
            Dtype::Bf16 => format!("f64_to_i64(bf16_to_f32({place}))"),
            Dtype::F16 => format!("f64_to_i64(f16_to_f32({place}))"),
        }
    }

    /// The number in a cell, converted to the type that is computed in.
    pub(super) fn load(&self, access: &Access, real: Real) -> (String, Level) {
        let place = self.place(access);
        match (self.program.buffer(access.buffer).dtype, real) {
            (Dtype::F32, Real::F32) | (Dtype::F64, _) => (place, Level::Atom),
            (Dtype::Bf16, Real::F32) => (format!("bf16_to_f32({place})"), Level::Atom),
            (Dtype::F16, Real::F32) => (format!("f16_to_f32({place})"), Level::Atom),
            (Dtype::Bf16, Real::F64) => (format!("(double)bf16_to_f32({place})"), Level::Prefix),
            (Dtype::F16, Real::F64) => (format!("(double)f16_to_f32({place})"), Level::Prefix),
            (Dtype::Bool, _) => (format!("({})({place} != 0)", real.name()), Level::Prefix),
            (Dtype::F32 | Dtype::U8 | Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64, _) => {
                (format!("({}){place}", real.name()), Level::Prefix)
            }
        }
    }

    pub(super) fn value(&self, value: &Value, real: Real) -> (String, Level) {
        match value {
            Value::Number(number) => {
                let text = real.number(*number);
                let level = if text.starts_with('-') { Level::Prefix } else { Level::Atom };
                (text, level)
            }
            Value::Load(access) => self.load(access, real),
            Value::Local(local) => match self.locals.get(local) {
                Some(Real::F32) if real == Real::F64 => {
                    (format!("(double){}", self.local(*local)), Level::Prefix)
                }
                _ => (self.local(*local), Level::Atom),
            },
            Value::Position(sum) => (format!("({})({})", real.name(), self.sum(sum)), Level::Prefix),
            Value::Symbol(symbol) => (format!("({})symbols[{symbol}]", real.name()), Level::Prefix),
            Value::Uniform { key, stream, at } => {
                let known = Argument::Key(*key, *stream);
                let place = self.function.arguments.iter().position(|argument| *argument == known);
                let key = place.and_then(|place| self.function.names.get(place)).cloned().unwrap_or_default();
                (format!("f32_uniform({key}, (uint64_t)({}))", self.sum(at)), Level::Atom)
            }
            Value::Unary(function, a) => self.unary(*function, a, value, real),
            Value::Binary(function, a, b) => match function {
                _ if function.yields() == Yields::Truth => self.truth(value, real),
                Binary::Pow if matches!(**b, Value::Number(2.0)) => {
                    (format!("{}_square({})", real.prefix(), self.value(a, real).0), Level::Atom)
                }
                Binary::Div if real == Real::F32 && self.inverse(b).is_some() => {
                    let inverse = self.inverse(b).unwrap_or_default();
                    let (a, b) = (self.value(a, real).0, self.value(b, real).0);
                    (format!("f32_over({a}, {b}, {inverse})"), Level::Atom)
                }
                _ => self.binary(*function, self.value(a, real), self.value(b, real), real),
            },
            // A call, so that both sides are loaded whatever the condition is: gcc 12 miscompiles
            // loops with conditional loads of neighbours.
            Value::Select(condition, a, b) => {
                let condition = self.condition(condition, real).0;
                let (a, b) = (self.value(a, real).0, self.value(b, real).0);
                (format!("{}_select({condition}, {a}, {b})", real.prefix()), Level::Atom)
            }
        }
    }

    /// A value that is computed from integers alone, by functions whose values are integers, as such an
    /// expression, and true if a stored integer is in it; None for any other value. The reference evaluator
    /// does the same.
    pub(super) fn whole(&self, value: &Value, real: Real) -> Option<(String, bool)> {
        let truth = |text: String| format!("(int64_t)({text})");
        Some(match value {
            Value::Number(number) => (format!("(int64_t)({})", whole_number(*number)?), false),
            Value::Load(access) if !self.program.buffer(access.buffer).dtype.is_float() => {
                (self.integer(access), true)
            }
            Value::Position(sum) => (format!("(int64_t)({})", self.sum(sum)), false),
            Value::Symbol(symbol) => (format!("(int64_t)symbols[{symbol}]"), false),
            Value::Unary(function, a) => {
                let (a, stored) = self.whole(a, real)?;
                let text = match function {
                    Unary::Neg => format!("i64_neg({a})"),
                    Unary::Abs => format!("i64_abs({a})"),
                    Unary::Sign => format!("i64_sign({a})"),
                    Unary::Floor | Unary::Ceil | Unary::Round | Unary::Trunc => a,
                    Unary::Not => truth(format!("{a} == 0")),
                    _ => match function.cast_to().filter(|dtype| !dtype.is_float())? {
                        Dtype::Bool => truth(format!("{a} != 0")),
                        Dtype::I64 => a,
                        dtype => format!("(int64_t)i64_to_{dtype}({a})"),
                    },
                };
                (text, stored)
            }
            Value::Binary(function, a, b) => {
                let ((a, in_a), (b, in_b)) = (self.whole(a, real)?, self.whole(b, real)?);
                (whole_binary(*function, &a, &b)?, in_a || in_b)
            }
            Value::Select(condition, a, b) => {
                let ((a, in_a), (b, in_b)) = (self.whole(a, real)?, self.whole(b, real)?);
                let condition = self.condition(condition, real).0;
                (format!("i64_select({condition}, {a}, {b})"), in_a || in_b)
            }
            Value::Load(_) | Value::Local(_) | Value::Uniform { .. } => return None,
        })
    }

    fn unary(&self, function: Unary, a: &Value, whole: &Value, real: Real) -> (String, Level) {
        let value = self.value(a, real);
        match function.c() {
            C1::Minus => (format!("-{}", value.inside(Level::Atom)), Level::Prefix),
            C1::Inverse => {
                (format!("{} / {}", real.number(1.0), value.inside(Level::Prefix)), Level::Product)
            }
            C1::Call(name) => (format!("{}_{name}({})", real.prefix(), value.0), Level::Atom),
            C1::Not => self.truth(whole, real),
        }
    }

    pub(super) fn binary(
        &self,
        function: Binary,
        a: (String, Level),
        b: (String, Level),
        real: Real,
    ) -> (String, Level) {
        match function.c() {
            C2::Sum(sign) => {
                (format!("{} {sign} {}", a.inside(Level::Sum), b.inside(Level::Product)), Level::Sum)
            }
            C2::Product(sign) => {
                (format!("{} {sign} {}", a.inside(Level::Product), b.inside(Level::Prefix)), Level::Product)
            }
            C2::Call(name) => (format!("{}_{name}({}, {})", real.prefix(), a.0, b.0), Level::Atom),
            C2::Compare(sign) => {
                let text = format!("{} {sign} {}", a.inside(Level::Sum), b.inside(Level::Sum));
                (chosen(&text, real), Level::Choice)
            }
            C2::Connect(sign) => {
                let text = format!("({} != 0) {sign} ({} != 0)", a.inside(Level::Sum), b.inside(Level::Sum));
                (chosen(&format!("({text})"), real), Level::Choice)
            }
        }
    }

    /// A condition as a number.
    fn truth(&self, value: &Value, real: Real) -> (String, Level) {
        (chosen(&self.condition(value, real).inside(Level::Compare), real), Level::Choice)
    }

    /// The condition of C that a value is not 0.
    fn condition(&self, value: &Value, real: Real) -> (String, Level) {
        match value {
            Value::Binary(function, a, b)
                if let C2::Compare(sign) = function.c()
                    && let (Some((a, in_a)), Some((b, in_b))) =
                        (self.whole(a, real), self.whole(b, real))
                    && (in_a || in_b) =>
            {
                (format!("{a} {sign} {b}"), Level::Compare)
            }
            Value::Binary(function, a, b) if let C2::Compare(sign) = function.c() => {
                let (a, b) = (self.value(a, real), self.value(b, real));
                (format!("{} {sign} {}", a.inside(Level::Sum), b.inside(Level::Sum)), Level::Compare)
            }
            Value::Binary(function, a, b) if let C2::Connect(sign) = function.c() => {
                let (a, b) = (self.condition(a, real), self.condition(b, real));
                (format!("({}) {sign} ({})", a.0, b.0), Level::Choice)
            }
            Value::Unary(function, a) if function.c() == C1::Not => {
                (format!("!({})", self.condition(a, real).0), Level::Prefix)
            }
            _ => (format!("{} != 0", self.value(value, real).inside(Level::Sum)), Level::Compare),
        }
    }
}

/// The binding strength of the outermost operation of an expression, from loose to tight.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Level {
    Choice,
    Compare,
    Sum,
    Product,
    Prefix,
    Atom,
}

trait Expression {
    /// The text, in parentheses if it binds less tightly than its context requires.
    fn inside(&self, level: Level) -> String;
}

impl Expression for (String, Level) {
    fn inside(&self, level: Level) -> String {
        if self.1 < level { format!("({})", self.0) } else { self.0.clone() }
    }
}

/// A function of two integers, given as expressions that bind tightly; none if its values are no integers.
pub(super) fn whole_binary(function: Binary, a: &str, b: &str) -> Option<String> {
    Some(match function {
        Binary::Add => format!("i64_add({a}, {b})"),
        Binary::Sub => format!("i64_sub({a}, {b})"),
        Binary::Mul => format!("i64_mul({a}, {b})"),
        Binary::Max => format!("i64_max({a}, {b})"),
        Binary::Min => format!("i64_min({a}, {b})"),
        Binary::Mod => format!("i64_mod({a}, {b})"),
        Binary::Pow => format!("i64_pow({a}, {b})"),
        Binary::FloorDiv => format!("i64_floor_div({a}, {b})"),
        Binary::BitAnd | Binary::BitOr | Binary::BitXor | Binary::ShiftLeft | Binary::ShiftRight => {
            format!("i64_{}({a}, {b})", function.name())
        }
        Binary::Less | Binary::LessEq | Binary::Equal | Binary::NotEqual => {
            format!("(int64_t)({a} {} {b})", function.name())
        }
        Binary::And => format!("(int64_t)(({a} != 0) & ({b} != 0))"),
        Binary::Or => format!("(int64_t)(({a} != 0) | ({b} != 0))"),
        Binary::Div | Binary::Atan2 => return None,
    })
}

fn chosen(condition: &str, real: Real) -> String {
    format!("{condition} ? {} : {}", real.number(1.0), real.number(0.0))
}

/// A computed number, converted to the type that it is stored in.
pub(super) fn converted(dtype: Dtype, real: Real, value: &str) -> String {
    match (dtype, real) {
        (Dtype::F32, Real::F64) => format!("(float)({value})"),
        (Dtype::F32, Real::F32) | (Dtype::F64, _) => value.to_string(),
        (Dtype::Bf16, Real::F32) => format!("f32_to_bf16({value})"),
        (Dtype::F16, Real::F32) => format!("f32_to_f16({value})"),
        (Dtype::Bf16, Real::F64) => format!("f32_to_bf16((float)({value}))"),
        (Dtype::F16, Real::F64) => format!("f32_to_f16((float)({value}))"),
        (Dtype::Bool, _) => format!("({value}) != 0"),
        (Dtype::U8, _) => format!("f64_to_u8({value})"),
        (Dtype::I8, _) => format!("f64_to_i8({value})"),
        (Dtype::I16, _) => format!("f64_to_i16({value})"),
        (Dtype::I32, _) => format!("f64_to_i32({value})"),
        (Dtype::I64, _) => format!("f64_to_i64({value})"),
    }
}
