//! Functions of floats, as operations on each element.

use broadloom_loops::{Binary, Dtype, Unary};

use crate::function::Writer;
use crate::nest::{Nest, Over, Value, union};
use crate::tensor::{Element, Tensor};

impl Writer<'_> {
    /// A function of one number.
    pub fn unary(&mut self, nest: &Nest<'_>, function: Unary, a: &Value) -> Value {
        let loops = a.loops().to_vec();
        let x = self.real_over(nest, a, &loops);
        Value::Over(Over { tensor: self.of_float(nest, function, &x), loops })
    }

    /// A function of floats. Every function is named, so that a new one cannot be forgotten.
    fn of_float(&mut self, nest: &Nest<'_>, function: Unary, x: &Tensor) -> Tensor {
        let op = match function {
            Unary::Neg => "negate",
            Unary::Abs => "abs",
            Unary::Sign => "sign",
            Unary::Exp => "exponential",
            Unary::Log => "log",
            Unary::Log1p => "log_plus_one",
            Unary::Expm1 => "exponential_minus_one",
            Unary::Tan => "tan",
            Unary::Sqrt => "sqrt",
            Unary::Sin => "sine",
            Unary::Cos => "cosine",
            Unary::Tanh => "tanh",
            Unary::Sigmoid => "logistic",
            Unary::Floor => "floor",
            Unary::Ceil => "ceil",
            Unary::Round => "round_nearest_even",
            Unary::Recip => {
                let one = self.text.splat(1.0, &x.sizes, x.of);
                return self.text.each("divide", &[&one, x]);
            }
            Unary::Trunc => return self.towards_zero(x),
            Unary::Not => {
                let zero = self.text.splat(0.0, &x.sizes, x.of);
                let truth = self.text.compare("EQ", x, &zero);
                return self.text.convert(&truth, x.of);
            }
            Unary::Asin | Unary::Acos | Unary::Atan => return self.angle(function, x),
            Unary::Sinh | Unary::Cosh => return self.hyperbolic(function, x),
            Unary::Asinh | Unary::Acosh | Unary::Atanh => return self.inverse_hyperbolic(function, x),
            Unary::Erf if nest.real == Dtype::F64 => return self.erf_long(x),
            Unary::Erf => return self.erf(x),
            Unary::Lgamma => return self.text.of_library("lgamma", x),
            Unary::Digamma => return self.text.of_library("digamma", x),
            Unary::Trigamma => {
                let one = self.text.splat(1.0, &x.sizes, x.of);
                return self.text.polygamma(&one, x);
            }
            Unary::AsBool => return self.cast(x, Dtype::Bool),
            Unary::AsU8 => return self.cast(x, Dtype::U8),
            Unary::AsI8 => return self.cast(x, Dtype::I8),
            Unary::AsI16 => return self.cast(x, Dtype::I16),
            Unary::AsI32 => return self.cast(x, Dtype::I32),
            Unary::AsI64 => return self.cast(x, Dtype::I64),
            Unary::AsBf16 => return self.cast(x, Dtype::Bf16),
            Unary::AsF16 => return self.cast(x, Dtype::F16),
            Unary::AsF32 => return self.cast(x, Dtype::F32),
            Unary::AsF64 => return self.cast(x, Dtype::F64),
        };
        self.text.each(op, &[x])
    }

    /// Numbers without their fractions.
    fn towards_zero(&mut self, x: &Tensor) -> Tensor {
        let zero = self.text.splat(0.0, &x.sizes, x.of);
        let below = self.text.compare("LT", x, &zero);
        let (up, down) = (self.text.each("ceil", &[x]), self.text.each("floor", &[x]));
        self.text.select(&below, &up, &down)
    }

    /// Numbers as a type holds them, in the type that they are computed in. A conversion there and back would be left out by XLA.
    fn cast(&mut self, x: &Tensor, dtype: Dtype) -> Tensor {
        match dtype {
            Dtype::Bf16 => self.text.reduce_precision(x, 8, 7),
            Dtype::F16 => self.text.reduce_precision(x, 5, 10),
            Dtype::F32 if x.of == Element::F64 => self.text.reduce_precision(x, 8, 23),
            Dtype::F32 | Dtype::F64 => x.clone(),
            _ => {
                let made = self.narrowed(x, dtype);
                self.text.convert(&made, x.of)
            }
        }
    }

    /// A function of two numbers.
    pub fn binary(
        &mut self,
        nest: &Nest<'_>,
        function: Binary,
        a: &Value,
        b: &Value,
    ) -> Result<Value, String> {
        let loops = union([a.loops(), b.loops()]);
        let (x, y) = (self.real_over(nest, a, &loops), self.real_over(nest, b, &loops));
        Ok(Value::Over(Over { tensor: self.of_floats(function, &x, &y)?, loops }))
    }

    /// A function of floats of the same sizes.
    pub fn of_floats(&mut self, function: Binary, x: &Tensor, y: &Tensor) -> Result<Tensor, String> {
        Ok(match function {
            Binary::Add => self.text.each("add", &[x, y]),
            Binary::Sub => self.text.each("subtract", &[x, y]),
            Binary::Mul => self.text.each("multiply", &[x, y]),
            Binary::Div => self.text.each("divide", &[x, y]),
            Binary::Pow => self.text.each("power", &[x, y]),
            Binary::Atan2 => self.text.each("atan2", &[x, y]),
            Binary::Max => self.text.each("maximum", &[x, y]),
            Binary::Min => self.text.each("minimum", &[x, y]),
            Binary::Mod => {
                let rest = self.text.each("remainder", &[x, y]);
                self.with_sign_of_divisor(&rest, y)
            }
            Binary::FloorDiv => self.floor_div(x, y),
            _ if function.is_bitwise() => {
                let [a, b] = [x, y].map(|side| self.narrowed(side, Dtype::I64));
                let made = self.of_integers(function, &a, &b)?;
                self.text.convert(&made, x.of)
            }
            Binary::And | Binary::Or => {
                let zero = self.text.splat(0.0, &x.sizes, x.of);
                let (p, q) = (self.text.compare("NE", x, &zero), self.text.compare("NE", y, &zero));
                let both = self.text.each(if function == Binary::And { "and" } else { "or" }, &[&p, &q]);
                self.text.convert(&both, x.of)
            }
            _ => {
                return Err(format!("it accumulates by `{}`", function.name()));
            }
        })
    }

    /// The quotient rounded down, in 64 bits, from the remainder, so that a quotient that is nearly whole is not rounded up first.
    fn floor_div(&mut self, x: &Tensor, y: &Tensor) -> Tensor {
        let of = x.of;
        let (x, y) = (self.text.convert(x, Element::F64), self.text.convert(y, Element::F64));
        let zero = self.text.splat(0.0, &x.sizes, x.of);
        let rest = self.text.each("remainder", &[&x, &y]);
        let is_some = self.text.compare("NE", &rest, &zero);
        let (a, b) = (self.text.compare("LT", &rest, &zero), self.text.compare("LT", &y, &zero));
        let differ = self.text.each("xor", &[&a, &b]);
        let above = self.text.each("and", &[&is_some, &differ]);
        let above = self.text.convert(&above, x.of);
        let whole = self.text.each("subtract", &[&x, &rest]);
        let towards_zero = self.text.each("divide", &[&whole, &y]);
        let down = self.text.each("subtract", &[&towards_zero, &above]);
        let quotient = self.text.each("round_nearest_even", &[&down]);
        let by_zero = self.text.compare("EQ", &y, &zero);
        let infinite = self.text.each("divide", &[&x, &y]);
        let made = self.text.select(&by_zero, &infinite, &quotient);
        self.text.convert(&made, of)
    }

    /// The angle whose sine, cosine or tangent is a number, as that of a point.
    fn angle(&mut self, function: Unary, x: &Tensor) -> Tensor {
        let one = self.text.splat(1.0, &x.sizes, x.of);
        if function == Unary::Atan {
            return self.text.each("atan2", &[x, &one]);
        }
        let (below, above) = (self.text.each("subtract", &[&one, x]), self.text.each("add", &[&one, x]));
        let square = self.text.each("multiply", &[&below, &above]);
        let other = self.text.each("sqrt", &[&square]);
        match function {
            Unary::Asin => self.text.each("atan2", &[x, &other]),
            _ => self.text.each("atan2", &[&other, x]),
        }
    }

    /// The hyperbolic sine and cosine. `e^x - 1` keeps the digits of small numbers, and half of the exponential is that of a smaller number, so
    /// that it is finite wherever the result is.
    fn hyperbolic(&mut self, function: Unary, x: &Tensor) -> Tensor {
        let half = self.text.splat(0.5, &x.sizes, x.of);
        let minus = self.text.each("negate", &[x]);
        let two = self.text.splat(std::f64::consts::LN_2, &x.sizes, x.of);
        let shifted = |of: &mut Self, x: &Tensor| {
            let less = of.text.each("subtract", &[x, &two]);
            of.text.each("exponential", &[&less])
        };
        let (up, down) = (shifted(self, x), shifted(self, &minus));
        if function == Unary::Cosh {
            return self.text.each("add", &[&up, &down]);
        }
        let large = self.text.each("subtract", &[&up, &down]);
        // (m + m / (m + 1)) / 2 with m = e^x - 1.
        let one = self.text.splat(1.0, &x.sizes, x.of);
        let m = self.text.each("exponential_minus_one", &[x]);
        let next = self.text.each("add", &[&m, &one]);
        let part = self.text.each("divide", &[&m, &next]);
        let sum = self.text.each("add", &[&m, &part]);
        let small = self.text.each("multiply", &[&half, &sum]);
        let size = self.text.each("abs", &[x]);
        let is_small = self.text.compare("LT", &size, &one);
        self.text.select(&is_small, &small, &large)
    }

    /// The inverse hyperbolic functions, by logarithms of `1 + x`.
    fn inverse_hyperbolic(&mut self, function: Unary, x: &Tensor) -> Tensor {
        let one = self.text.splat(1.0, &x.sizes, x.of);
        if function == Unary::Atanh {
            let half = self.text.splat(0.5, &x.sizes, x.of);
            let minus = self.text.each("negate", &[x]);
            let (up, down) =
                (self.text.each("log_plus_one", &[x]), self.text.each("log_plus_one", &[&minus]));
            let difference = self.text.each("subtract", &[&up, &down]);
            return self.text.each("multiply", &[&half, &difference]);
        }
        // log(2 x), where the square of x would be too large.
        let size = self.text.each("abs", &[x]);
        let limit = self.text.splat(1e9, &x.sizes, x.of);
        let is_large = self.text.compare("GT", &size, &limit);
        let two = self.text.splat(std::f64::consts::LN_2, &x.sizes, x.of);
        let log = self.text.each("log", &[&size]);
        let large = self.text.each("add", &[&log, &two]);
        let bounded = self.text.each("minimum", &[&size, &limit]);
        let square = self.text.each("multiply", &[&bounded, &bounded]);
        if function == Unary::Acosh {
            // log(1 + (x - 1) + √((x - 1)(x + 1))): not a number below 1.
            let (below, above) = (self.text.each("subtract", &[x, &one]), self.text.each("add", &[x, &one]));
            let product = self.text.each("multiply", &[&below, &above]);
            let root = self.text.each("sqrt", &[&product]);
            let sum = self.text.each("add", &[&below, &root]);
            let near = self.text.each("log_plus_one", &[&sum]);
            return self.text.select(&is_large, &large, &near);
        }
        // log(1 + a + a² / (1 + √(a² + 1))), with the sign of x.
        let next = self.text.each("add", &[&square, &one]);
        let root = self.text.each("sqrt", &[&next]);
        let below = self.text.each("add", &[&root, &one]);
        let part = self.text.each("divide", &[&square, &below]);
        let sum = self.text.each("add", &[&bounded, &part]);
        let near = self.text.each("log_plus_one", &[&sum]);
        let value = self.text.select(&is_large, &large, &near);
        let sign = self.text.each("sign", &[x]);
        self.text.each("multiply", &[&sign, &value])
    }

    /// A polynomial, its highest coefficient first.
    fn polynomial(&mut self, x: &Tensor, coefficients: &[f64]) -> Tensor {
        let mut sum = self.text.splat(coefficients[0], &x.sizes, x.of);
        for coefficient in &coefficients[1..] {
            let next = self.text.splat(*coefficient, &x.sizes, x.of);
            sum = self.text.each("multiply", &[&sum, x]);
            sum = self.text.each("add", &[&sum, &next]);
        }
        sum
    }

    /// The error function of 32-bit floats: StableHLO has none. A quotient of polynomials in the square of a number between
    /// the two points beyond which the value is 1.
    fn erf(&mut self, x: &Tensor) -> Tensor {
        let (least, most) = (
            self.text.splat(-3.832_506_856_900_711, &x.sizes, x.of),
            self.text.splat(3.832_506_856_900_711, &x.sizes, x.of),
        );
        let x = self.text.each("maximum", &[x, &least]);
        let x = self.text.each("minimum", &[&x, &most]);
        let square = self.text.each("multiply", &[&x, &x]);
        let (above, below) = (self.polynomial(&square, &ERF_ABOVE), self.polynomial(&square, &ERF_BELOW));
        let above = self.text.each("multiply", &[&x, &above]);
        self.text.each("divide", &[&above, &below])
    }

    /// The error function of 64-bit floats: quotients of polynomials near 0, below 8, and beyond (Cephes).
    fn erf_long(&mut self, x: &Tensor) -> Tensor {
        let constant = |of: &mut Self, value: f64| of.text.splat(value, &x.sizes, Element::F64);
        let (one, eight) = (constant(self, 1.0), constant(self, 8.0));
        let square = self.text.each("multiply", &[x, x]);
        let (t, u) = (self.polynomial(&square, &NEAR_ABOVE), self.polynomial(&square, &NEAR_BELOW));
        let near = self.text.each("multiply", &[x, &t]);
        let near = self.text.each("divide", &[&near, &u]);
        let size = self.text.each("abs", &[x]);
        let minus = self.text.each("negate", &[&square]);
        let tail = self.text.each("exponential", &[&minus]);
        let mut quotient = |above: &[f64], below: &[f64]| {
            let (above, below) = (self.polynomial(&size, above), self.polynomial(&size, below));
            self.text.each("divide", &[&above, &below])
        };
        let (middle, far) = (quotient(&MIDDLE_ABOVE, &MIDDLE_BELOW), quotient(&FAR_ABOVE, &FAR_BELOW));
        let is_middle = self.text.compare("LT", &size, &eight);
        let tail_factor = self.text.select(&is_middle, &middle, &far);
        let rest = self.text.each("multiply", &[&tail, &tail_factor]);
        let beyond = self.text.each("subtract", &[&one, &rest]);
        let sign = self.text.each("sign", &[x]);
        let beyond = self.text.each("multiply", &[&sign, &beyond]);
        let is_near = self.text.compare("LE", &size, &one);
        // Beyond 6 the rest is 0, even where the polynomials are too large to divide.
        let six = constant(self, 6.0);
        let is_one = self.text.compare("GT", &size, &six);
        let beyond = self.text.select(&is_one, &sign, &beyond);
        self.text.select(&is_near, &near, &beyond)
    }
}

const ERF_ABOVE: [f64; 7] = [
    -2.726_142_258_013_06e-10,
    2.770_681_424_959_02e-8,
    -2.101_024_020_825_08e-6,
    -5.692_506_394_623_46e-5,
    -7.349_906_303_268_55e-4,
    -2.954_599_808_540_25e-3,
    -1.609_603_332_624_15e-2,
];
const ERF_BELOW: [f64; 5] = [
    -1.456_607_184_649_96e-5,
    -2.133_740_552_789_05e-4,
    -1.682_826_974_382_03e-3,
    -7.373_329_167_204_68e-3,
    -1.426_473_905_141_89e-2,
];
const NEAR_ABOVE: [f64; 5] = [
    9.604_973_739_870_516,
    9.002_601_972_038_427e1,
    2.232_005_345_946_843e3,
    7.003_325_141_128_051e3,
    5.559_230_130_103_95e4,
];
const NEAR_BELOW: [f64; 6] = [
    1.0,
    3.356_171_416_475_031e1,
    5.213_579_497_801_527e2,
    4.594_323_829_709_801e3,
    2.262_900_006_138_909e4,
    4.926_739_426_086_359e4,
];
const MIDDLE_ABOVE: [f64; 9] = [
    2.461_969_814_735_305e-10,
    5.641_895_648_310_688e-1,
    7.463_210_564_422_699,
    4.863_719_709_856_814e1,
    1.965_208_329_560_771e2,
    5.264_451_949_954_774e2,
    9.345_285_271_719_576e2,
    1.027_551_886_895_157_1e3,
    5.575_353_353_693_993e2,
];
const MIDDLE_BELOW: [f64; 9] = [
    1.0,
    1.322_819_511_547_45e1,
    8.670_721_408_859_897e1,
    3.549_377_788_878_199e2,
    9.757_085_017_432_055e2,
    1.823_909_166_879_097_4e3,
    2.246_337_608_187_11e3,
    1.656_663_091_941_613_5e3,
    5.575_353_408_177_277e2,
];
const FAR_ABOVE: [f64; 6] = [
    5.641_895_835_477_551e-1,
    1.275_366_707_599_781,
    5.019_050_422_511_805,
    6.160_210_979_930_536,
    7.409_742_699_504_489,
    2.978_866_653_721_002_4,
];
const FAR_BELOW: [f64; 7] = [
    1.0,
    2.260_528_632_201_173,
    9.396_035_249_380_014,
    1.204_895_398_080_966_6e1,
    1.708_144_507_475_659e1,
    9.608_968_090_632_859,
    3.369_076_451_000_815,
];
