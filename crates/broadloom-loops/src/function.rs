//! The functions of numbers: one row for each, with everything that is known about it.
//!
//! Every fact about a function is read from here: constant folding and the reference evaluator take
//! its value, the native backend its C, the export its MLIR, the inference of types its kind of
//! values, the optimiser its cost. A new function is a new row; if its C is a call, the called
//! function is defined in `native/runtime/math.c` for both types.
//!
//! ```
//! use broadloom_loops::{Binary, Unary};
//! assert_eq!(Unary::named("exp"), Some(Unary::Exp));
//! assert_eq!(Binary::Max.of(2.0, 3.0), 3.0);
//! ```

#[cfg(test)]
mod tests;
mod values;

use crate::rounding::round;
use crate::{Dtype, gamma};
pub use values::whole_number;
use values::{
    acosh, and, floor_div, in_bits, max, min, modulo, not, or, shift_left, shift_right, sigmoid, sign, truth,
    whole_power, whole_quotient,
};

/// The kind of values that a function has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Yields {
    /// 0 or 1.
    Truth,
    /// One of its operands.
    Operand,
    /// A number that needs no more digits than the operand if that is a float, and is whole if it
    /// is whole.
    Exact,
    /// Whole if all operands are whole; results of floats are rounded.
    Rounded,
    /// Numbers with fractions, even of whole numbers.
    Fractions,
}

/// The numbers for which a function certainly has a value that is finite, as long as it does not overflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// All finite numbers.
    All,
    /// Numbers that are not 0.
    NotZero,
    /// Numbers greater than 0.
    Positive,
    /// 0 and numbers greater than 0.
    NotNegative,
    /// Numbers greater than -1.
    AboveMinusOne,
    /// Numbers from -1 to 1.
    UpToOne,
    /// Numbers between -1 and 1.
    BelowOne,
    /// 1 and numbers greater than 1.
    FromOne,
    /// Numbers that are not 0, -1, -2, …, where the gamma function has poles.
    NoPole,
}

impl Domain {
    /// Returns true if the number is in the domain.
    pub fn contains(self, x: f64) -> bool {
        let inside = match self {
            Domain::All => true,
            Domain::NotZero => x != 0.0,
            Domain::Positive => x > 0.0,
            Domain::NotNegative => x >= 0.0,
            Domain::AboveMinusOne => x > -1.0,
            Domain::UpToOne => x.abs() <= 1.0,
            Domain::BelowOne => x.abs() < 1.0,
            Domain::FromOne => x >= 1.0,
            Domain::NoPole => x > 0.0 || x.fract() != 0.0,
        };
        inside && x.is_finite()
    }
}

/// The form of a function of one number in C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum C1 {
    /// `f32_name(x)` and `f64_name(x)`, functions of the runtime.
    Call(&'static str),
    /// `-x`.
    Minus,
    /// `1 / x`.
    Inverse,
    /// `!condition`.
    Not,
}

/// The form of a function of two numbers in C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum C2 {
    /// `f32_name(a, b)` and `f64_name(a, b)`, functions of the runtime.
    Call(&'static str),
    /// A sign between two terms of a sum.
    Sum(&'static str),
    /// A sign between two factors.
    Product(&'static str),
    /// A sign between two numbers that makes a condition.
    Compare(&'static str),
    /// A sign between two conditions. Not `&&` and `||`: both sides can be computed, and branches are in the way of
    /// vectors.
    Connect(&'static str),
}

/// The form of a function in MLIR.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mlir {
    /// An operation on numbers.
    Op(&'static str),
    /// A predicate of `arith.cmpf`. If an operand is NaN, only `!=` holds.
    Compare(&'static str),
    /// An operation on conditions.
    Connect(&'static str),
    /// It has none.
    Nothing,
    /// Several operations, the last of which has the value.
    Several(Composed),
    /// A conversion to another type and back.
    Cast(Dtype),
    /// An operation on the bits of integers.
    Bits(Binary),
}

/// The functions that MLIR has no operation for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Composed {
    FloorDiv,
    Mod,
    Not,
    Recip,
    Sigmoid,
    Sign,
}

/// All that is known about a function of one number.
struct UnaryRow {
    function: Unary,
    name: &'static str,
    of: fn(f64) -> f64,
    c: C1,
    mlir: Mlir,
    yields: Yields,
    /// True if its value is the one float that IEEE 754 asks for; else the last digits may differ
    /// between backends.
    correct: bool,
    domain: Domain,
    /// The work, in simple operations, that is saved by computing it only once.
    work: u32,
    /// About how many simple operations it takes among others, as machine code.
    time: f64,
}

/// All that is known about a function of two numbers.
struct BinaryRow {
    function: Binary,
    name: &'static str,
    of: fn(f64, f64) -> f64,
    c: C2,
    mlir: Mlir,
    yields: Yields,
    correct: bool,
    domain: [Domain; 2],
    /// The number that an accumulation starts from, and whether the order of the accumulated values
    /// matters by rounding only.
    neutral: Option<f64>,
    commutes: bool,
    work: u32,
    time: f64,
}

/// Writes the enumeration and its rows from one list, so that they always agree.
macro_rules! unary {
    ($($(#[$doc:meta])* $function:ident, $name:literal, $of:expr, $c:expr, $mlir:expr, $yields:ident, $correct:literal, $domain:ident,
       $work:literal, $time:literal;)*) => {
        /// A function of one number.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[allow(missing_docs, reason = "the names say it")]
        pub enum Unary { $($(#[$doc])* $function),* }

        static UNARY: &[UnaryRow] = &[$(UnaryRow {
            function: Unary::$function, name: $name, of: $of, c: $c, mlir: $mlir,
            yields: Yields::$yields, correct: $correct, domain: Domain::$domain, work: $work, time: $time,
        }),*];

        impl Unary {
            /// Every function.
            pub const ALL: &[Unary] = &[$(Unary::$function),*];
        }
    };
}

/// The same for functions of two numbers.
macro_rules! binary {
    ($($(#[$doc:meta])* $function:ident, $name:literal, $of:expr, $c:expr, $mlir:expr, $yields:ident, $correct:literal, $domain:ident,
       $neutral:expr, $commutes:literal, $work:literal, $time:literal;)*) => {
        /// A function of two numbers. Comparisons and connectives give 0 or 1; anything but 0 is true.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[allow(missing_docs, reason = "the names say it")]
        pub enum Binary { $($(#[$doc])* $function),* }

        static BINARY: &[BinaryRow] = &[$(BinaryRow {
            function: Binary::$function, name: $name, of: $of, c: $c, mlir: $mlir,
            yields: Yields::$yields, correct: $correct, domain: $domain, neutral: $neutral, commutes: $commutes,
            work: $work, time: $time,
        }),*];

        impl Binary {
            /// Every function.
            pub const ALL: &[Binary] = &[$(Binary::$function),*];
        }
    };
}

use C2::{Compare, Connect, Product, Sum};
use Composed::{FloorDiv, Mod, Not, Recip, Sigmoid, Sign};
use Mlir::{Bits, Cast, Op, Several};

unary! {
//  variant  name       value                 C                    MLIR                   yields     correct domain         work time
    Neg,     "neg",     |x| -x,               C1::Minus,           Op("arith.negf"),      Exact,     true,   All,           1,   0.5;
    Abs,     "abs",     f64::abs,             C1::Call("abs"),     Op("math.absf"),       Exact,     true,   All,           1,   0.5;
    Sign,    "sign",    sign,                 C1::Call("sign"),    Several(Sign), Exact,     true,   All,           1,   8.0;
    Exp,     "exp",     f64::exp,             C1::Call("exp"),     Op("math.exp"),        Fractions, false,  All,           16,  8.0;
    Log,     "log",     f64::ln,              C1::Call("log"),     Op("math.log"),        Fractions, false,  Positive,      16,  8.0;
    Log1p,   "log1p",   f64::ln_1p,           C1::Call("log1p"),   Op("math.log1p"),      Fractions, false,  AboveMinusOne, 20,  8.0;
    Expm1,   "expm1",   f64::exp_m1,          C1::Call("expm1"),   Op("math.expm1"),      Fractions, false,  All,           20,  8.0;
    Sqrt,    "sqrt",    f64::sqrt,            C1::Call("sqrt"),    Op("math.sqrt"),       Fractions, true,   NotNegative,   4,   8.0;
    Recip,   "recip",   |x| 1.0 / x,          C1::Inverse,         Several(Recip), Fractions, true,   NotZero,       4,   8.0;
    Sin,     "sin",     f64::sin,             C1::Call("sin"),     Op("math.sin"),        Fractions, false,  All,           16,  8.0;
    Cos,     "cos",     f64::cos,             C1::Call("cos"),     Op("math.cos"),        Fractions, false,  All,           16,  8.0;
    Tan,     "tan",     f64::tan,             C1::Call("tan"),     Op("math.tan"),        Fractions, false,  All,           20,  20.0;
    Asin,    "asin",    f64::asin,            C1::Call("asin"),    Op("math.asin"),       Fractions, false,  UpToOne,       20,  20.0;
    Acos,    "acos",    f64::acos,            C1::Call("acos"),    Op("math.acos"),       Fractions, false,  UpToOne,       20,  20.0;
    Atan,    "atan",    f64::atan,            C1::Call("atan"),    Op("math.atan"),       Fractions, false,  All,           20,  20.0;
    Sinh,    "sinh",    f64::sinh,            C1::Call("sinh"),    Op("math.sinh"),       Fractions, false,  All,           20,  20.0;
    Cosh,    "cosh",    f64::cosh,            C1::Call("cosh"),    Op("math.cosh"),       Fractions, false,  All,           20,  20.0;
    Asinh,   "asinh",   libm::asinh,          C1::Call("asinh"),   Op("math.asinh"),      Fractions, false,  All,           20,  20.0;
    Acosh,   "acosh",   acosh,                C1::Call("acosh"),   Op("math.acosh"),      Fractions, false,  FromOne,       20,  20.0;
    Atanh,   "atanh",   libm::atanh,          C1::Call("atanh"),   Op("math.atanh"),      Fractions, false,  BelowOne,      20,  20.0;
    Tanh,    "tanh",    f64::tanh,            C1::Call("tanh"),    Op("math.tanh"),       Fractions, false,  All,           20,  8.0;
    Sigmoid, "sigmoid", sigmoid,              C1::Call("sigmoid"), Several(Sigmoid), Fractions, false,  All,           20,  8.0;
    Erf,     "erf",     libm::erf,            C1::Call("erf"),     Op("math.erf"),        Fractions, false,  All,           20,  8.0;
    Lgamma,  "lgamma",  libm::lgamma,         C1::Call("lgamma"),  Mlir::Nothing,         Fractions, false,  NoPole,        40,  40.0;
    Digamma, "digamma", gamma::digamma,       C1::Call("digamma"), Mlir::Nothing,         Fractions, false,  NoPole,        40,  40.0;
    /// The derivative of `digamma`.
    Trigamma, "trigamma", gamma::trigamma,    C1::Call("trigamma"), Mlir::Nothing,        Fractions, false,  NoPole,        40,  40.0;
    Floor,   "floor",   f64::floor,           C1::Call("floor"),   Op("math.floor"),      Exact,     true,   All,           1,   8.0;
    Ceil,    "ceil",    f64::ceil,            C1::Call("ceil"),    Op("math.ceil"),       Exact,     true,   All,           1,   8.0;
    Round,   "round",   f64::round_ties_even, C1::Call("round"),   Op("math.roundeven"),  Exact,     true,   All,           1,   8.0;
    Trunc,   "trunc",   f64::trunc,           C1::Call("trunc"),   Op("math.trunc"),      Exact,     true,   All,           1,   8.0;
    Not,     "not",     not,                  C1::Not,             Several(Not), Truth,     true,   All,           1,   0.5;
//  Casts: the number as a type holds it.
    AsBool,  "bool",    |x| round(Dtype::Bool, x),  C1::Call("as_bool"), Cast(Dtype::Bool), Rounded,   true,   All,           1,   2.0;
    AsU8,    "u8",      |x| round(Dtype::U8, x),    C1::Call("as_u8"),   Cast(Dtype::U8),   Rounded,   true,   All,           1,   2.0;
    AsI8,    "i8",      |x| round(Dtype::I8, x),    C1::Call("as_i8"),   Cast(Dtype::I8),   Rounded,   true,   All,           1,   2.0;
    AsI16,   "i16",     |x| round(Dtype::I16, x),   C1::Call("as_i16"),  Cast(Dtype::I16),  Rounded,   true,   All,           1,   2.0;
    AsI32,   "i32",     |x| round(Dtype::I32, x),   C1::Call("as_i32"),  Cast(Dtype::I32),  Rounded,   true,   All,           1,   2.0;
    AsI64,   "i64",     |x| round(Dtype::I64, x),   C1::Call("as_i64"),  Cast(Dtype::I64),  Rounded,   true,   All,           1,   2.0;
    AsBf16,  "bf16",    |x| round(Dtype::Bf16, x),  C1::Call("as_bf16"), Cast(Dtype::Bf16), Fractions, true,   All,           1,   2.0;
    AsF16,   "f16",     |x| round(Dtype::F16, x),   C1::Call("as_f16"),  Cast(Dtype::F16),  Fractions, true,   All,           1,   2.0;
    AsF32,   "f32",     |x| round(Dtype::F32, x),   C1::Call("as_f32"),  Cast(Dtype::F32),  Fractions, true,   All,           1,   2.0;
    AsF64,   "f64",     |x| round(Dtype::F64, x),   C1::Call("as_f64"),  Cast(Dtype::F64),  Fractions, true,   All,           1,   2.0;
}

/// Domains of functions of two numbers.
const ANY: [Domain; 2] = [Domain::All; 2];
const QUOTIENT: [Domain; 2] = [Domain::All, Domain::NotZero];
const POWER: [Domain; 2] = [Domain::Positive, Domain::All];

/// Neutral elements.
const ZERO: Option<f64> = Some(0.0);
const ONE: Option<f64> = Some(1.0);
const LEAST: Option<f64> = Some(f64::NEG_INFINITY);
const GREATEST: Option<f64> = Some(f64::INFINITY);

binary! {
//  variant   name   value                 C                MLIR                   yields     correct domain    neutral   commutes work time
    Add,      "+",   |a, b| a + b,         Sum("+"),        Op("arith.addf"),      Rounded,   true,   ANY,      ZERO,     true,    1,   1.0;
    Sub,      "-",   |a, b| a - b,         Sum("-"),        Op("arith.subf"),      Rounded,   true,   ANY,      ZERO,     false,   1,   1.0;
    Mul,      "*",   |a, b| a * b,         Product("*"),    Op("arith.mulf"),      Rounded,   true,   ANY,      ONE,      true,    1,   1.0;
    Div,      "/",   |a, b| a / b,         Product("/"),    Op("arith.divf"),      Fractions, true,   QUOTIENT, ONE,      false,   4,   1.0;
    Pow,      "**",  f64::powf,            C2::Call("pow"), Op("math.powf"),       Rounded,   false,  POWER,    ONE,      false,   24,  8.0;
    /// The angle of a point with the coordinates `b` and `a`.
    Atan2,    "atan2", f64::atan2,         C2::Call("atan2"), Op("math.atan2"),    Fractions, false,  ANY,      None,     false,   24,  20.0;
    Max,      "max", max,                  C2::Call("max"), Op("arith.maximumf"),  Operand,   true,   ANY,      LEAST,    true,    1,   1.0;
    Min,      "min", min,                  C2::Call("min"), Op("arith.minimumf"),  Operand,   true,   ANY,      GREATEST, true,    1,   1.0;
    /// The remainder with the sign of the divisor.
    Mod,      "mod", modulo,               C2::Call("mod"), Several(Mod), Rounded,   true,   QUOTIENT, None,     false,   6,   8.0;
    /// The quotient rounded down: the greatest whole number that is not above it.
    FloorDiv, "floor_div", floor_div,             C2::Call("floor_div"), Several(FloorDiv), Rounded,   true,   QUOTIENT, None,     false,   6,   8.0;
    /// The bits that both integers have.
    BitAnd,   "bit_and", |a, b| in_bits(a, b, |a, b| a & b), C2::Call("bit_and"), Bits(Binary::BitAnd), Rounded,   true,   ANY,      None,     false,   1,   4.0;
    /// The bits that at least one of the integers has.
    BitOr,    "bit_or", |a, b| in_bits(a, b, |a, b| a | b), C2::Call("bit_or"), Bits(Binary::BitOr), Rounded,   true,   ANY,      None,     false,   1,   4.0;
    /// The bits that one of the integers has, and not both.
    BitXor,   "bit_xor", |a, b| in_bits(a, b, |a, b| a ^ b), C2::Call("bit_xor"), Bits(Binary::BitXor), Rounded,   true,   ANY,      None,     false,   1,   4.0;
    /// `a` times 2 for each place, or shifted right if there are fewer than none.
    ShiftLeft, "shift_left", |a, b| in_bits(a, b, shift_left), C2::Call("shift_left"), Bits(Binary::ShiftLeft), Rounded,   true,   ANY,      None,     false,   2,   4.0;
    /// `a` divided by 2 for each place and rounded down, or shifted left if there are fewer than none.
    ShiftRight, "shift_right", |a, b| in_bits(a, b, shift_right), C2::Call("shift_right"), Bits(Binary::ShiftRight), Rounded,   true,   ANY,      None,     false,   2,   4.0;
    Less,     "<",   |a, b| truth(a < b),  Compare("<"),    Mlir::Compare("olt"),  Truth,     true,   ANY,      None,     false,   1,   1.0;
    LessEq,   "<=",  |a, b| truth(a <= b), Compare("<="),   Mlir::Compare("ole"),  Truth,     true,   ANY,      None,     false,   1,   1.0;
    Equal,    "==",  |a, b| truth(a == b), Compare("=="),   Mlir::Compare("oeq"),  Truth,     true,   ANY,      None,     false,   1,   1.0;
    NotEqual, "!=",  |a, b| truth(a != b), Compare("!="),   Mlir::Compare("une"),  Truth,     true,   ANY,      None,     false,   1,   1.0;
    And,      "and", and,                  Connect("&"),    Mlir::Connect("andi"), Truth,     true,   ANY,      ONE,      true,    1,   1.0;
    Or,       "or",  or,                   Connect("|"),    Mlir::Connect("ori"),  Truth,     true,   ANY,      ZERO,     true,    1,   1.0;
}

impl Unary {
    fn row(self) -> &'static UnaryRow {
        &UNARY[self as usize]
    }

    /// The function of a name.
    pub fn named(name: &str) -> Option<Unary> {
        UNARY.iter().find(|row| row.name == name).map(|row| row.function)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Its value.
    pub fn of(self, x: f64) -> f64 {
        (self.row().of)(x)
    }

    /// Its value for an integer, if that is an integer: the nearest there is, if it is too large.
    pub fn of_whole(self, x: i64) -> Option<i64> {
        Some(match self {
            Unary::Neg => x.saturating_neg(),
            Unary::Abs => x.saturating_abs(),
            Unary::Sign => x.signum(),
            Unary::Floor | Unary::Ceil | Unary::Round | Unary::Trunc => x,
            Unary::Not => i64::from(x == 0),
            _ => self.cast_to().filter(|dtype| !dtype.is_float())?.nearest(x),
        })
    }

    /// The type whose numbers it makes, if it is a cast.
    pub fn cast_to(self) -> Option<Dtype> {
        Some(match self {
            Unary::AsBool => Dtype::Bool,
            Unary::AsU8 => Dtype::U8,
            Unary::AsI8 => Dtype::I8,
            Unary::AsI16 => Dtype::I16,
            Unary::AsI32 => Dtype::I32,
            Unary::AsI64 => Dtype::I64,
            Unary::AsBf16 => Dtype::Bf16,
            Unary::AsF16 => Dtype::F16,
            Unary::AsF32 => Dtype::F32,
            Unary::AsF64 => Dtype::F64,
            _ => return None,
        })
    }

    /// The kind of its values.
    pub fn yields(self) -> Yields {
        self.row().yields
    }

    /// Returns true if its value is the one float that IEEE 754 asks for. If not, its last digits
    /// may differ between backends.
    pub fn is_correct(self) -> bool {
        self.row().correct
    }

    /// The numbers for which it is defined.
    pub fn domain(self) -> Domain {
        self.row().domain
    }

    /// Its form in C.
    pub fn c(self) -> C1 {
        self.row().c
    }

    pub(crate) fn mlir(self) -> Mlir {
        self.row().mlir
    }

    pub(crate) fn work(self) -> u32 {
        self.row().work
    }

    /// About how many simple operations it takes among others, as machine code.
    pub fn time(self) -> f64 {
        self.row().time
    }
}

impl Binary {
    fn row(self) -> &'static BinaryRow {
        &BINARY[self as usize]
    }

    /// The function of a sign or name.
    pub fn named(name: &str) -> Option<Binary> {
        BINARY.iter().find(|row| row.name == name).map(|row| row.function)
    }

    /// Its sign or name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Its value.
    pub fn of(self, a: f64, b: f64) -> f64 {
        (self.row().of)(a, b)
    }

    /// Its value for integers, if that is an integer for all of them: the nearest there is, if it is too large. The remainder of a division by
    /// 0, which is not a number, is 0; the quotient by 0, which is infinite, is the greatest or the least integer, and that of 0 is 0; a power by a
    /// negative number, which is a fraction or infinite, loses its fraction or is the greatest integer.
    pub fn of_whole(self, a: i64, b: i64) -> Option<i64> {
        Some(match self {
            Binary::Add => a.saturating_add(b),
            Binary::Sub => a.saturating_sub(b),
            Binary::Mul => a.saturating_mul(b),
            Binary::Max => a.max(b),
            Binary::Min => a.min(b),
            Binary::Mod => match a.checked_rem(b).unwrap_or(0) {
                rest if rest != 0 && (rest < 0) != (b < 0) => rest + b,
                rest => rest,
            },
            Binary::Less => i64::from(a < b),
            Binary::LessEq => i64::from(a <= b),
            Binary::Equal => i64::from(a == b),
            Binary::NotEqual => i64::from(a != b),
            Binary::And => i64::from(a != 0 && b != 0),
            Binary::Or => i64::from(a != 0 || b != 0),
            Binary::Pow => whole_power(a, b),
            Binary::FloorDiv => whole_quotient(a, b),
            Binary::BitAnd => a & b,
            Binary::BitOr => a | b,
            Binary::BitXor => a ^ b,
            Binary::ShiftLeft => shift_left(a, b),
            Binary::ShiftRight => shift_right(a, b),
            Binary::Div | Binary::Atan2 => return None,
        })
    }

    /// Returns true if it is about the bits of integers, which floats do not have.
    pub fn is_bitwise(self) -> bool {
        matches!(
            self,
            Binary::BitAnd | Binary::BitOr | Binary::BitXor | Binary::ShiftLeft | Binary::ShiftRight
        )
    }

    /// Returns true if it compares two numbers.
    pub fn is_comparison(self) -> bool {
        matches!(self, Binary::Less | Binary::LessEq | Binary::Equal | Binary::NotEqual)
    }

    /// The kind of its values.
    pub fn yields(self) -> Yields {
        self.row().yields
    }

    /// Returns true if its value is the one float that IEEE 754 asks for. If not, its last digits
    /// may differ between backends.
    pub fn is_correct(self) -> bool {
        self.row().correct
    }

    /// The numbers for which it is defined, by operand.
    pub fn domain(self) -> [Domain; 2] {
        self.row().domain
    }

    /// The number that an accumulation starts from: combined with any other it changes nothing.
    /// None for functions that have no such number.
    pub fn neutral(self) -> Option<f64> {
        self.row().neutral
    }

    /// Returns true if values may be accumulated in any order, up to rounding.
    pub fn is_commutative(self) -> bool {
        self.row().commutes
    }

    /// Its form in C.
    pub fn c(self) -> C2 {
        self.row().c
    }

    pub(crate) fn mlir(self) -> Mlir {
        self.row().mlir
    }

    pub(crate) fn work(self) -> u32 {
        self.row().work
    }

    /// About how many simple operations it takes among others, as machine code.
    pub fn time(self) -> f64 {
        self.row().time
    }
}
