//! The pointwise operations of the library: one row for each, from which everything else is made.
//!
//! A row has the values and the gradients of an operation, over the [functions of
//! numbers](broadloom_loops::function), and what it is called: its identity, [`Pointwise`], which code compares; one name for
//! formulas, the language and messages; and its methods in Rust. The rest follows:
//!
//! | fact | where it comes from |
//! |---|---|
//! | number of operands | the operands of the method |
//! | shapes, loops | being pointwise |
//! | constant folding, reference evaluator, C, MLIR | the formula, and the rows of the functions in it |
//! | type of the result, domain | the kinds of values and the domains of the functions in the formula |
//! | in formulas: `relu(x)` | the formula, with arguments in place of operands |
//!
//! ```text
//! /// What the methods are for.
//! method(operands) as method of `Expr`, if it has one = identity name: values; gradients;
//! ```
//!
//! The methods of `Expr` are made by the crate that has it, from the same rows.
//!
//! A formula can use the operations above it. An operation without a gradient passes none back.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// An operation as it is written in the table.
pub(crate) struct OperationRow {
    pub id: Pointwise,
    pub name: &'static str,
    /// A call in the language.
    pub call: &'static str,
    /// The comment above the row.
    pub about: &'static str,
    /// The names of the operands in that call.
    pub operands: &'static [&'static str],
    pub forward: &'static str,
    pub gradient: &'static str,
}

macro_rules! operations {
    ($($(#[doc = $doc:literal])* $method:ident $operands:tt $(as $of_expr:ident)? = $id:ident $name:literal:
       $forward:literal; $gradient:literal;)*) => {
        /// A pointwise operation of the library: a row of its table.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Pointwise {
            $($(#[doc = $doc])* $id),*
        }

        /// All rows, in the order of the identities.
        pub(crate) const ROWS: &[OperationRow] = &[$(OperationRow {
            id: Pointwise::$id, name: $name, call: call!($name $operands), about: concat!($($doc),*),
            operands: operands!($operands), forward: $forward, gradient: $gradient,
        }),*];
    };
}

impl Pointwise {
    /// Its row of the table.
    pub(crate) fn row(self) -> &'static OperationRow {
        &ROWS[self as usize]
    }

    /// The operation with a name: `+`, `exp`.
    ///
    /// ```
    /// use broadloom::Pointwise;
    /// assert_eq!(Pointwise::named("**"), Some(Pointwise::Pow));
    /// assert_eq!(Pointwise::named("@"), None);
    /// ```
    pub fn named(name: &str) -> Option<Pointwise> {
        static PLACES: LazyLock<FxHashMap<&'static str, Pointwise>> =
            LazyLock::new(|| ROWS.iter().map(|row| (row.name, row.id)).collect());
        PLACES.get(name).copied()
    }

    /// All of them, in the order of the table.
    pub fn all() -> impl Iterator<Item = Pointwise> {
        ROWS.iter().map(|row| row.id)
    }

    /// Its name or sign.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The names of its operands.
    ///
    /// ```
    /// assert_eq!(broadloom::Pointwise::ShiftLeft.operand_names(), ["a", "n"]);
    /// ```
    pub fn operand_names(self) -> &'static [&'static str] {
        self.row().operands
    }

    /// A call of it in the language, and the sentence above its row.
    ///
    /// ```
    /// let documented = broadloom::Pointwise::Sqrt.documented();
    /// assert_eq!(documented, ("sqrt(x)", "The square root of each element."));
    /// ```
    pub fn documented(self) -> (&'static str, &'static str) {
        (self.row().call, self.row().about.trim())
    }
}

/// The names of the operands of a method.
macro_rules! operands {
    (($($operand:ident),+)) => { &[$(stringify!($operand)),+] };
}

/// A call with the operands of a method.
macro_rules! call {
    ($name:literal ($first:ident $(, $operand:ident)*)) => {
        concat!($name, "(", stringify!($first) $(, ", ", stringify!($operand))*, ")")
    };
}

/// Passes the rows of the table to a macro. Each place that needs all operations has its own macro.
#[macro_export]
macro_rules! pointwise_operations {
    ($read:ident) => {
        $read! {
            /// `a + b`.
            add(a, b) = Add "+":
                "v = v1 + v2"; "g1 =+ g; g2 =+ g";
            /// `a - b`.
            sub(a, b) = Sub "-":
                "v = v1 - v2"; "g1 =+ g; g2 =- g";
            /// `a * b`, pointwise; [`compose`](crate::Graph::compose) is the matrix product.
            mul(a, b) = Mul "*":
                "v = v1 * v2"; "g1 =+ g * v2; g2 =+ v1 * g";
            /// `a / b`.
            div(a, b) = Div "/":
                "v = v1 / v2"; "g1 =+ g / v2; g2 =- g * v / v2";
            /// `a ** b`, a power.
            pow(a, b) as pow = Pow "**":
                // The logarithm is asked for only where the base is positive.
                "v = v1 ** v2";
                "g1 =+ where(v2 == 0, 0, g * v2 * v1 ** (v2 - 1)); g2 =+ where(v1 > 0, g * v * log(where(v1 > 0, v1, 1)), 0)";
            /// The larger of the two.
            max(a, b) as maximum = Max "max":
                // Equal operands share the gradient, as equal elements of a reduction do.
                "v = max(v1, v2)";
                "g1 =+ where(v1 > v2, g, where(v1 == v2, 0.5 * g, 0)); g2 =+ where(v2 > v1, g, where(v1 == v2, 0.5 * g, 0))";
            /// The smaller of the two.
            min(a, b) as minimum = Min "min":
                "v = min(v1, v2)";
                "g1 =+ where(v1 < v2, g, where(v1 == v2, 0.5 * g, 0)); g2 =+ where(v2 < v1, g, where(v1 == v2, 0.5 * g, 0))";
            /// The remainder of `a` by `b`, with the sign of `b`.
            modulo(a, b) as modulo = Modulo "mod":
                // The quotient is exact: `floor(1 / 0.1)` is 10, but 0.1 goes into 1 nine times.
                "v = mod(v1, v2)"; "g1 =+ g; g2 =- g * floor_div(v1, v2)";
            /// The greatest whole number that is not above `a / b`. Integers stay integers: the quotient by 0 is the greatest or the least integer.
            floor_div(a, b) as floor_div = FloorDiv "floor_div":
                "v = floor_div(v1, v2)"; "";
            /// The bits that both integers have.
            bit_and(a, b) as bit_and = BitAnd "bit_and":
                "v = bit_and(v1, v2)"; "";
            /// The bits that at least one of two integers has.
            bit_or(a, b) as bit_or = BitOr "bit_or":
                "v = bit_or(v1, v2)"; "";
            /// The bits that one of two integers has, and not both.
            bit_xor(a, b) as bit_xor = BitXor "bit_xor":
                "v = bit_xor(v1, v2)"; "";
            /// Integers times `2 ** n`; what is too large is the greatest number of the type.
            shift_left(a, n) as shift_left = ShiftLeft "shift_left":
                "v = shift_left(v1, v2)"; "";
            /// Integers divided by `2 ** n` and rounded down.
            shift_right(a, n) as shift_right = ShiftRight "shift_right":
                "v = shift_right(v1, v2)"; "";
            /// 1 where `a < b`, else 0.
            less(a, b) as less = Less "<":
                "v = v1 < v2"; "";
            /// 1 where `a <= b`, else 0.
            less_or_equal(a, b) as less_or_equal = LessOrEqual "<=":
                "v = v1 <= v2"; "";
            /// 1 where `a > b`, else 0.
            greater(a, b) as greater = Greater ">":
                "v = v1 > v2"; "";
            /// 1 where `a >= b`, else 0.
            greater_or_equal(a, b) as greater_or_equal = GreaterOrEqual ">=":
                "v = v1 >= v2"; "";
            /// 1 where `a` and `b` are equal, else 0.
            equals(a, b) as equals = Equals "==":
                "v = v1 == v2"; "";
            /// 1 where `a` and `b` differ, else 0.
            not_equals(a, b) as not_equals = NotEquals "!=":
                "v = v1 != v2"; "";
            /// 1 where both are true, that is, not 0; else 0.
            and(a, b) = And "and":
                "v = v1 and v2"; "";
            /// 1 where at least one of them is true, that is, not 0; else 0.
            or(a, b) = Or "or":
                "v = v1 or v2"; "";
            /// 1 where `a` is 0, else 0.
            not(a) = Not "not":
                "v = not(v1)"; "";
            /// `a` where the condition holds, else `b`.
            select(condition, a, b) = Select "where":
                "v = where(v1, v2, v3)"; "g2 =+ where(v1, g, 0); g3 =+ where(v1, 0, g)";
            /// `-a`.
            neg(a) = Neg "neg":
                "v = -v1"; "g1 =- g";
            /// The exponential of each element.
            exp(x) as exp = Exp "exp":
                "v = exp(v1)"; "g1 =+ g * v";
            /// The natural logarithm of each element.
            log(x) as log = Log "log":
                "v = log(v1)"; "g1 =+ g / v1";
            /// `log(1 + x)`, exact for small `x`.
            log1p(x) as log1p = Log1p "log1p":
                "v = log1p(v1)"; "g1 =+ g / (1 + v1)";
            /// `exp(x) - 1`, exact for small `x`.
            expm1(x) as expm1 = Expm1 "expm1":
                "v = expm1(v1)"; "g1 =+ g * (v + 1)";
            /// The square root of each element.
            sqrt(x) as sqrt = Sqrt "sqrt":
                "v = sqrt(v1)"; "g1 =+ 0.5 * g / v";
            /// `1 / x` of each element.
            recip(x) as recip = Recip "recip":
                "v = recip(v1)"; "g1 =- g * v * v";
            /// The sine of each element.
            sin(x) as sin = Sin "sin":
                "v = sin(v1)"; "g1 =+ g * cos(v1)";
            /// The cosine of each element.
            cos(x) as cos = Cos "cos":
                "v = cos(v1)"; "g1 =- g * sin(v1)";
            /// The tangent of each element.
            tan(x) as tan = Tan "tan":
                "v = tan(v1)"; "g1 =+ g * (1 + v * v)";
            /// The angle whose sine is each element, from -π/2 to π/2.
            asin(x) as asin = Asin "asin":
                "v = asin(v1)"; "g1 =+ g / sqrt((1 - v1) * (1 + v1))";
            /// The angle whose cosine is each element, from 0 to π.
            acos(x) as acos = Acos "acos":
                "v = acos(v1)"; "g1 =- g / sqrt((1 - v1) * (1 + v1))";
            /// The angle whose tangent is each element, between -π/2 and π/2.
            atan(x) as atan = Atan "atan":
                "v = atan(v1)"; "g1 =+ g / (1 + v1 * v1)";
            /// The angle of the point with the coordinates `x` and `y`, from -π to π.
            atan2(y, x) as atan2 = Atan2 "atan2":
                "v = atan2(v1, v2)";
                "g1 =+ g * v2 / (v1 * v1 + v2 * v2); g2 =- g * v1 / (v1 * v1 + v2 * v2)";
            /// The hyperbolic sine of each element.
            sinh(x) as sinh = Sinh "sinh":
                "v = sinh(v1)"; "g1 =+ g * cosh(v1)";
            /// The hyperbolic cosine of each element.
            cosh(x) as cosh = Cosh "cosh":
                "v = cosh(v1)"; "g1 =+ g * sinh(v1)";
            /// The inverse of `sinh`.
            asinh(x) as asinh = Asinh "asinh":
                "v = asinh(v1)"; "g1 =+ g / sqrt(v1 * v1 + 1)";
            /// The inverse of `cosh`, not negative; for elements from 1 upwards.
            acosh(x) as acosh = Acosh "acosh":
                "v = acosh(v1)"; "g1 =+ g / sqrt((v1 - 1) * (v1 + 1))";
            /// The inverse of `tanh`, for elements between -1 and 1.
            atanh(x) as atanh = Atanh "atanh":
                "v = atanh(v1)"; "g1 =+ g / ((1 - v1) * (1 + v1))";
            /// The hyperbolic tangent of each element.
            tanh(x) as tanh = Tanh "tanh":
                "v = tanh(v1)"; "g1 =+ g * (1 - v * v)";
            /// `1 / (1 + exp(-x))` of each element.
            sigmoid(x) as sigmoid = Sigmoid "sigmoid":
                "v = sigmoid(v1)"; "g1 =+ g * v * (1 - v)";
            /// Each element, or 0 if it is negative.
            relu(x) as relu = Relu "relu":
                "v = max(v1, 0)"; "g1 =+ where(v1 > 0, g, 0)";
            /// The absolute value of each element.
            abs(x) as abs = Abs "abs":
                "v = abs(v1)"; "g1 =+ g * sign(v1)";
            /// -1, 0 or 1 for each element.
            sign(x) as sign = Sign "sign":
                "v = sign(v1)"; "";
            /// `x * x` of each element.
            square(x) as square = Square "square":
                "v = v1 * v1"; "g1 =+ 2 * g * v1";
            /// The error function of each element.
            erf(x) as erf = Erf "erf":
                // Its derivative is 2/√π · e^(−x²).
                "v = erf(v1)"; "g1 =+ 1.1283791670955126 * g * exp(-(v1 * v1))";
            /// The logarithm of the absolute value of the gamma function of each element.
            lgamma(x) as lgamma = Lgamma "lgamma":
                "v = lgamma(v1)"; "g1 =+ g * digamma(v1)";
            /// The derivative of `lgamma` at each element.
            digamma(x) as digamma = Digamma "digamma":
                "v = digamma(v1)"; "g1 =+ g * trigamma(v1)";
            /// The next whole number below each element.
            floor(x) as floor = Floor "floor":
                "v = floor(v1)"; "";
            /// The next whole number above each element.
            ceil(x) as ceil = Ceil "ceil":
                "v = ceil(v1)"; "";
            /// The nearest whole number of each element.
            round(x) as round = Round "round":
                "v = round(v1)"; "";
            /// `x` itself; no gradient goes back through it.
            stop_gradient(x) as stop_gradient = StopGradient "stop_gradient":
                "v = v1"; "";
            /// True (1) where an element is not 0, as `bool`. No gradient goes back through it.
            to_bool(x) as to_bool = ToBool "bool":
                "v = bool(v1)"; "";
            /// Each element as `u8`: without its fraction, the nearest of 0 to 255, and 0 for what is not a number. No gradient goes back through it.
            to_u8(x) as to_u8 = ToU8 "u8":
                "v = u8(v1)"; "";
            /// Each element as `i8`: without its fraction, the nearest of -128 to 127, and 0 for what is not a number. No gradient goes back through it.
            to_i8(x) as to_i8 = ToI8 "i8":
                "v = i8(v1)"; "";
            /// Each element as `i16`: without its fraction, the nearest of -32768 to 32767, and 0 for what is not a number. No gradient goes back through it.
            to_i16(x) as to_i16 = ToI16 "i16":
                "v = i16(v1)"; "";
            /// Each element as `i32`: without its fraction, the nearest there is, and 0 for what is not a number. No gradient goes back through it.
            to_i32(x) as to_i32 = ToI32 "i32":
                "v = i32(v1)"; "";
            /// Each element as `i64`: without its fraction, the nearest there is, and 0 for what is not a number. No gradient goes back through it.
            to_i64(x) as to_i64 = ToI64 "i64":
                "v = i64(v1)"; "";
            /// Each element as `bf16`, rounded to the nearest.
            to_bf16(x) as to_bf16 = ToBf16 "bf16":
                "v = bf16(v1)"; "g1 =+ g";
            /// Each element as `f16`, rounded to the nearest.
            to_f16(x) as to_f16 = ToF16 "f16":
                "v = f16(v1)"; "g1 =+ g";
            /// Each element as `f32`, rounded to the nearest.
            to_f32(x) as to_f32 = ToF32 "f32":
                "v = f32(v1)"; "g1 =+ g";
            /// Each element as `f64`, rounded to the nearest.
            to_f64(x) as to_f64 = ToF64 "f64":
                "v = f64(v1)"; "g1 =+ g";
        }
    };
}

pointwise_operations!(operations);
