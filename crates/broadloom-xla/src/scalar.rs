//! Expressions at the points of a nest.
//!
//! Floats are computed in one type throughout, as in the other backends. What is computed from integers alone, by functions
//! whose values are integers, is computed in integers of 64 bits: what is too large is the nearest there is. Each part of an
//! expression has axes for the loops that it depends on, and no others.

use broadloom_loops::{Binary, Cell, Dtype, Scalar, Unary, Yields, whole_number};

use crate::function::{Symbol, Writer};
use crate::nest::{Nest, Over, Value, union};
use crate::tensor::{Element, Tensor};

/// Integers of 64 bits, none of which needs more than some number of bits.
struct BoundedIntegers {
    over: Over,
    bits: u32,
}

impl Writer<'_> {
    /// The value of a scalar in the type that the nest computes in.
    pub fn scalar(&mut self, nest: &Nest<'_>, scalar: &Scalar) -> Result<Value, String> {
        Ok(match scalar {
            Scalar::Number(value) => Value::Number(*value),
            Scalar::Load(cell) => {
                let over = self.load(nest, cell)?;
                Value::Over(self.as_real(nest, over))
            }
            Scalar::Local(_) => return Err("it has variables, which only optimised nests have".into()),
            Scalar::Position(_) => {
                let whole = self.whole(nest, scalar)?;
                Value::Over(self.as_real(nest, whole.over))
            }
            Scalar::Symbol(symbol) => match self.symbol(*symbol)? {
                Symbol::Known(value) => Value::Number(value),
                Symbol::Position(tensor) => {
                    let over = Over { tensor, loops: Vec::new() };
                    Value::Over(self.as_real(nest, over))
                }
                Symbol::Key(_) => return Err("it uses a key of random numbers as a number".into()),
            },
            Scalar::Uniform { key, stream, at } => {
                let drawn = self.uniform(nest, *key, *stream, at)?;
                Value::Over(self.as_real(nest, drawn))
            }
            Scalar::Unary(function, _) if function.yields() == Yields::Truth => self.counted(nest, scalar)?,
            Scalar::Binary(function, ..) if function.yields() == Yields::Truth => {
                self.counted(nest, scalar)?
            }
            Scalar::Unary(function, a) => {
                let a = self.scalar(nest, a)?;
                self.unary(nest, *function, &a)
            }
            Scalar::Binary(function, a, b) => {
                let (a, b) = (self.scalar(nest, a)?, self.scalar(nest, b)?);
                self.binary(nest, *function, &a, &b)?
            }
            Scalar::Select(condition, a, b) => {
                let condition = self.truth(nest, condition)?;
                let (a, b) = (self.scalar(nest, a)?, self.scalar(nest, b)?);
                let loops = union([&condition.loops[..], a.loops(), b.loops()]);
                let condition = self.spread(nest, &condition, &loops);
                let (a, b) = (self.real_over(nest, &a, &loops), self.real_over(nest, &b, &loops));
                Value::Over(Over { tensor: self.text.select(&condition, &a, &b), loops })
            }
        })
    }

    /// A condition as 0 or 1.
    fn counted(&mut self, nest: &Nest<'_>, scalar: &Scalar) -> Result<Value, String> {
        let truth = self.truth(nest, scalar)?;
        Ok(Value::Over(self.as_real(nest, truth)))
    }

    /// The condition that a scalar is not 0.
    pub fn truth(&mut self, nest: &Nest<'_>, scalar: &Scalar) -> Result<Over, String> {
        Ok(match scalar {
            Scalar::Unary(Unary::Not, a) => {
                let a = self.truth(nest, a)?;
                Over { tensor: self.text.each("not", &[&a.tensor]), loops: a.loops }
            }
            Scalar::Binary(function @ (Binary::And | Binary::Or), a, b) => {
                let (a, b) = (self.truth(nest, a)?, self.truth(nest, b)?);
                let loops = union([&a.loops[..], &b.loops]);
                let (a, b) = (self.spread(nest, &a, &loops), self.spread(nest, &b, &loops));
                let op = if *function == Binary::And { "and" } else { "or" };
                Over { tensor: self.text.each(op, &[&a, &b]), loops }
            }
            Scalar::Binary(function, a, b) if function.is_comparison() => {
                self.comparison(nest, *function, a, b)?
            }
            _ => {
                let value = self.scalar(nest, scalar)?;
                self.is_not_zero(nest, &value)
            }
        })
    }

    /// The condition that a number is not 0.
    pub fn is_not_zero(&mut self, nest: &Nest<'_>, value: &Value) -> Over {
        let loops = value.loops().to_vec();
        let tensor = self.real_over(nest, value, &loops);
        let zero = self.text.splat(0.0, &tensor.sizes, tensor.of);
        Over { tensor: self.text.compare("NE", &tensor, &zero), loops }
    }

    /// A comparison: of integers if both sides are, and one of them is stored.
    fn comparison(
        &mut self,
        nest: &Nest<'_>,
        function: Binary,
        a: &Scalar,
        b: &Scalar,
    ) -> Result<Over, String> {
        let direction = match function {
            Binary::Less => "LT",
            Binary::LessEq => "LE",
            Binary::Equal => "EQ",
            Binary::NotEqual => "NE",
            _ => return Err(format!("`{}` is not known to be a comparison", function.name())),
        };
        let whole = (a.is_whole(&self.program.buffers), b.is_whole(&self.program.buffers));
        if let (Some(first), Some(second)) = whole
            && first | second
        {
            let (a, b) = (self.whole(nest, a)?.over, self.whole(nest, b)?.over);
            let loops = union([&a.loops[..], &b.loops]);
            let (a, b) = (self.spread(nest, &a, &loops), self.spread(nest, &b, &loops));
            return Ok(Over { tensor: self.text.compare(direction, &a, &b), loops });
        }
        let (a, b) = (self.scalar(nest, a)?, self.scalar(nest, b)?);
        let loops = union([a.loops(), b.loops()]);
        let (a, b) = (self.real_over(nest, &a, &loops), self.real_over(nest, &b, &loops));
        Ok(Over { tensor: self.text.compare(direction, &a, &b), loops })
    }

    /// Values of any type in the type that the nest computes in.
    pub fn as_real(&mut self, nest: &Nest<'_>, over: Over) -> Over {
        Over { tensor: self.text.convert(&over.tensor, Element::Of(nest.real)), ..over }
    }

    /// A value along some loops.
    pub fn real_over(&mut self, nest: &Nest<'_>, value: &Value, loops: &[usize]) -> Tensor {
        match value {
            Value::Number(number) => self.text.splat(*number, &nest.extents(loops), Element::Of(nest.real)),
            Value::Over(over) => self.spread(nest, over, loops),
        }
    }

    /// A scalar that is computed from integers alone.
    pub fn integers(&mut self, nest: &Nest<'_>, scalar: &Scalar) -> Result<Over, String> {
        Ok(self.whole(nest, scalar)?.over)
    }

    fn whole(&mut self, nest: &Nest<'_>, scalar: &Scalar) -> Result<BoundedIntegers, String> {
        let alone = |tensor: Tensor| Over { tensor, loops: Vec::new() };
        Ok(match scalar {
            Scalar::Number(value) => {
                let number = whole_number(*value).ok_or("a fraction is among its integers")?;
                BoundedIntegers {
                    over: alone(self.text.integers(number, &[], Element::I64)),
                    bits: bits(number),
                }
            }
            Scalar::Load(cell) => {
                let over = self.load(nest, cell)?;
                BoundedIntegers { bits: self.bits_of(cell), over: self.as_long(over) }
            }
            Scalar::Position(sum) => {
                let sum = nest.affine(sum)?;
                let loops = union([&sum.terms.iter().map(|(_, each)| *each).collect::<Vec<_>>()[..]]);
                let (least, greatest) = sum.range(nest);
                let bits = bits(least).max(bits(greatest));
                let of = if bits <= 32 { Element::I32 } else { Element::I64 };
                let tensor = self.sum_of_loops(nest, &sum, &loops, of)?;
                BoundedIntegers { over: self.as_long(Over { tensor, loops }), bits }
            }
            Scalar::Symbol(symbol) => match self.symbol(*symbol)? {
                Symbol::Known(value) => return self.whole(nest, &Scalar::Number(value)),
                Symbol::Position(tensor) => BoundedIntegers { over: self.as_long(alone(tensor)), bits: 32 },
                Symbol::Key(_) => return Err("it uses a key of random numbers as a number".into()),
            },
            Scalar::Unary(function, a) => {
                let a = self.whole(nest, a)?;
                self.whole_unary(*function, a)?
            }
            Scalar::Binary(function, a, b) => {
                let (a, b) = (self.whole(nest, a)?, self.whole(nest, b)?);
                self.whole_binary(nest, *function, a, b)?
            }
            Scalar::Select(condition, a, b) => {
                let condition = self.truth(nest, condition)?;
                let (a, b) = (self.whole(nest, a)?, self.whole(nest, b)?);
                let loops = union([&condition.loops[..], &a.over.loops, &b.over.loops]);
                let condition = self.spread(nest, &condition, &loops);
                let bits = a.bits.max(b.bits);
                let (a, b) = (self.spread(nest, &a.over, &loops), self.spread(nest, &b.over, &loops));
                BoundedIntegers { over: Over { tensor: self.text.select(&condition, &a, &b), loops }, bits }
            }
            Scalar::Local(_) | Scalar::Uniform { .. } => {
                return Err("it has numbers that are no integers".into());
            }
        })
    }

    fn bits_of(&self, cell: &Cell) -> u32 {
        if self.program.buffer(cell.buffer).dtype == Dtype::I64 { 64 } else { 32 }
    }

    fn as_long(&mut self, over: Over) -> Over {
        Over { tensor: self.text.convert(&over.tensor, Element::I64), ..over }
    }

    /// A function of integers of 64 bits, of the same sizes.
    pub fn of_integers(&mut self, function: Binary, a: &Tensor, b: &Tensor) -> Result<Tensor, String> {
        // Nothing is spread: both have all axes already, under whatever loops.
        let whole = |tensor: &Tensor| BoundedIntegers {
            over: Over { tensor: tensor.clone(), loops: Vec::new() },
            bits: 64,
        };
        Ok(self.function_of_integers(function, &whole(a), &whole(b))?.over.tensor)
    }

    fn whole_unary(&mut self, function: Unary, a: BoundedIntegers) -> Result<BoundedIntegers, String> {
        let (tensor, loops) = (&a.over.tensor, a.over.loops.clone());
        let made = match function {
            Unary::Neg => {
                let zero = self.text.integers(0, &tensor.sizes, Element::I64);
                let zero = BoundedIntegers { over: Over { tensor: zero, loops }, bits: 1 };
                return Ok(self.sum(&zero, &a, true));
            }
            Unary::Abs => {
                let made = self.text.each("abs", &[tensor]);
                // The least integer has no counterpart: the nearest is the greatest one. (XLA takes it for granted that no `abs` is below 0.)
                let most = self.text.integers(i64::MAX, &tensor.sizes, Element::I64);
                let least = self.text.integers(i64::MIN, &tensor.sizes, Element::I64);
                let wrong = self.text.compare("EQ", tensor, &least);
                if a.bits < 64 { made } else { self.text.select(&wrong, &most, &made) }
            }
            Unary::Sign => self.text.each("sign", &[tensor]),
            Unary::Floor | Unary::Ceil | Unary::Round | Unary::Trunc => tensor.clone(),
            Unary::Not => {
                let zero = self.text.integers(0, &tensor.sizes, Element::I64);
                let made = self.text.compare("EQ", tensor, &zero);
                self.text.convert(&made, Element::I64)
            }
            _ => match function.cast_to().filter(|dtype| !dtype.is_float()) {
                Some(dtype) => {
                    let made = self.narrowed(tensor, dtype);
                    self.text.convert(&made, Element::I64)
                }
                None => return Err(format!("`{}` of integers is no integer", function.name())),
            },
        };
        Ok(BoundedIntegers { over: Over { tensor: made, loops }, bits: a.bits })
    }

    fn whole_binary(
        &mut self,
        nest: &Nest<'_>,
        function: Binary,
        a: BoundedIntegers,
        b: BoundedIntegers,
    ) -> Result<BoundedIntegers, String> {
        let loops = union([&a.over.loops[..], &b.over.loops]);
        let first = self.spread(nest, &a.over, &loops);
        let second = self.spread(nest, &b.over, &loops);
        let (a, b) = (
            BoundedIntegers { over: Over { tensor: first, loops: loops.clone() }, bits: a.bits },
            BoundedIntegers { over: Over { tensor: second, loops }, bits: b.bits },
        );
        self.function_of_integers(function, &a, &b)
    }

    /// A function of integers over the same loops.
    fn function_of_integers(
        &mut self,
        function: Binary,
        a: &BoundedIntegers,
        b: &BoundedIntegers,
    ) -> Result<BoundedIntegers, String> {
        let loops = a.over.loops.clone();
        let (x, y) = (&a.over.tensor, &b.over.tensor);
        let truth = |of: &mut Self, direction: &'static str| {
            let holds = of.text.compare(direction, x, y);
            of.text.convert(&holds, Element::I64)
        };
        let (tensor, bits) = match function {
            Binary::Add => return Ok(self.sum(a, b, false)),
            Binary::Sub => return Ok(self.sum(a, b, true)),
            Binary::Mul => (self.product(x, y, a.bits + b.bits > 64), (a.bits + b.bits).min(64)),
            Binary::Max => (self.text.each("maximum", &[x, y]), a.bits.max(b.bits)),
            Binary::Min => (self.text.each("minimum", &[x, y]), a.bits.max(b.bits)),
            Binary::Mod => (self.whole_modulo(x, y), b.bits),
            Binary::FloorDiv => (self.whole_quotient(x, y), 64),
            Binary::BitAnd => (self.text.each("and", &[x, y]), a.bits.max(b.bits)),
            Binary::BitOr => (self.text.each("or", &[x, y]), a.bits.max(b.bits)),
            Binary::BitXor => (self.text.each("xor", &[x, y]), a.bits.max(b.bits)),
            Binary::ShiftLeft => (self.shifted(x, y), 64),
            Binary::ShiftRight => {
                let zero = BoundedIntegers {
                    over: Over {
                        tensor: self.text.integers(0, &y.sizes, Element::I64),
                        loops: loops.clone(),
                    },
                    bits: 1,
                };
                let places = self.sum(&zero, b, true);
                (self.shifted(x, &places.over.tensor), 64)
            }
            Binary::Less => (truth(self, "LT"), 2),
            Binary::LessEq => (truth(self, "LE"), 2),
            Binary::Equal => (truth(self, "EQ"), 2),
            Binary::NotEqual => (truth(self, "NE"), 2),
            Binary::And | Binary::Or => {
                let zero = self.text.integers(0, &x.sizes, Element::I64);
                let (x, y) = (self.text.compare("NE", x, &zero), self.text.compare("NE", y, &zero));
                let both = self.text.each(if function == Binary::And { "and" } else { "or" }, &[&x, &y]);
                (self.text.convert(&both, Element::I64), 2)
            }
            Binary::Pow => (self.whole_power(x, y), 64),
            Binary::Div | Binary::Atan2 => {
                return Err(format!("`{}` of integers is no integer", function.name()));
            }
        };
        Ok(BoundedIntegers { over: Over { tensor, loops }, bits })
    }

    /// A sum or a difference; what is too large is the nearest there is.
    fn sum(&mut self, a: &BoundedIntegers, b: &BoundedIntegers, minus: bool) -> BoundedIntegers {
        let (x, y, loops) = (&a.over.tensor, &b.over.tensor, a.over.loops.clone());
        let made = self.text.each(if minus { "subtract" } else { "add" }, &[x, y]);
        let bits = a.bits.max(b.bits) + 1;
        if bits <= 64 {
            return BoundedIntegers { over: Over { tensor: made, loops }, bits };
        }
        // It is too large if its sign differs from that of the first, and the second has the sign that makes this possible.
        let zero = self.text.integers(0, &x.sizes, Element::I64);
        let changed = self.text.each("xor", &[x, &made]);
        let other = if minus { self.text.each("xor", &[x, y]) } else { self.text.each("xor", &[y, &made]) };
        let both = self.text.each("and", &[&changed, &other]);
        let wrong = self.text.compare("LT", &both, &zero);
        let tensor = self.nearest(x, &zero, &wrong, &made);
        BoundedIntegers { over: Over { tensor, loops }, bits: 64 }
    }

    /// The greatest or the least integer where a result is wrong, by the sign of another.
    fn nearest(&mut self, sign: &Tensor, zero: &Tensor, wrong: &Tensor, made: &Tensor) -> Tensor {
        let least = self.text.integers(i64::MIN, &made.sizes, Element::I64);
        let most = self.text.integers(i64::MAX, &made.sizes, Element::I64);
        let below = self.text.compare("LT", sign, zero);
        let nearest = self.text.select(&below, &least, &most);
        self.text.select(wrong, &nearest, made)
    }

    fn product(&mut self, x: &Tensor, y: &Tensor, may_be_large: bool) -> Tensor {
        let made = self.text.each("multiply", &[x, y]);
        if !may_be_large {
            return made;
        }
        let zero = self.text.integers(0, &x.sizes, Element::I64);
        let one = self.text.integers(1, &x.sizes, Element::I64);
        let minus = self.text.integers(-1, &x.sizes, Element::I64);
        let least = self.text.integers(i64::MIN, &x.sizes, Element::I64);
        // Division undoes a product that is not too large. Division by 0 and of the least integer by -1 are avoided.
        let nothing = self.text.compare("EQ", x, &zero);
        let divisor = self.text.select(&nothing, &one, x);
        let negation = self.text.compare("EQ", x, &minus);
        let divisor = self.text.select(&negation, &one, &divisor);
        let back = self.text.each("divide", &[&made, &divisor]);
        let differs = self.text.compare("NE", &back, y);
        let usual = self.text.each("or", &[&nothing, &negation]);
        let usual = self.text.each("not", &[&usual]);
        let differs = self.text.each("and", &[&differs, &usual]);
        let extreme = self.text.compare("EQ", y, &least);
        let extreme = self.text.each("and", &[&negation, &extreme]);
        let wrong = self.text.each("or", &[&differs, &extreme]);
        let sign = self.text.each("xor", &[x, y]);
        self.nearest(&sign, &zero, &wrong, &made)
    }

    /// The remainder with the sign of the divisor; 0 for the divisor 0.
    fn whole_modulo(&mut self, x: &Tensor, y: &Tensor) -> Tensor {
        let zero = self.text.integers(0, &x.sizes, Element::I64);
        let one = self.text.integers(1, &x.sizes, Element::I64);
        let minus = self.text.integers(-1, &x.sizes, Element::I64);
        let by_zero = self.text.compare("EQ", y, &zero);
        let by_minus = self.text.compare("EQ", y, &minus);
        // The remainder by 1 and by -1 is 0, and so is the one by 0 here.
        let trivial = self.text.each("or", &[&by_zero, &by_minus]);
        let divisor = self.text.select(&trivial, &one, y);
        let rest = self.text.each("remainder", &[x, &divisor]);
        self.with_sign_of_divisor(&rest, &divisor)
    }

    /// The quotient rounded down: the nearest integer there is if it is too large, or infinite, and 0 for 0 by 0.
    fn whole_quotient(&mut self, x: &Tensor, y: &Tensor) -> Tensor {
        let number = |of: &mut Self, number: i64| of.text.integers(number, &x.sizes, Element::I64);
        let (zero, one, minus) = (number(self, 0), number(self, 1), number(self, -1));
        let (least, greatest) = (number(self, i64::MIN), number(self, i64::MAX));
        let by_zero = self.text.compare("EQ", y, &zero);
        let by_minus = self.text.compare("EQ", y, &minus);
        let is_least = self.text.compare("EQ", x, &least);
        let is_large = self.text.each("and", &[&by_minus, &is_least]);
        let unusual = self.text.each("or", &[&by_zero, &is_large]);
        let divisor = self.text.select(&unusual, &one, y);
        let rest = self.text.each("remainder", &[x, &divisor]);
        let is_some = self.text.compare("NE", &rest, &zero);
        let (a, b) = (self.text.compare("LT", &rest, &zero), self.text.compare("LT", &divisor, &zero));
        let differ = self.text.each("xor", &[&a, &b]);
        let above = self.text.each("and", &[&is_some, &differ]);
        let above = self.text.convert(&above, Element::I64);
        let towards_zero = self.text.each("divide", &[x, &divisor]);
        let quotient = self.text.each("subtract", &[&towards_zero, &above]);
        let quotient = self.text.select(&is_large, &greatest, &quotient);
        let is_zero = self.text.compare("EQ", x, &zero);
        let infinite = self.nearest(x, &zero, &by_zero, &quotient);
        let nothing = self.text.each("and", &[&by_zero, &is_zero]);
        self.text.select(&nothing, &zero, &infinite)
    }

    /// An integer times 2 for each place: the nearest there is if it is too large. Fewer places than none shift right.
    fn shifted(&mut self, x: &Tensor, places: &Tensor) -> Tensor {
        let number = |of: &mut Self, number: i64| of.text.integers(number, &x.sizes, Element::I64);
        let (zero, last, lowest) = (number(self, 0), number(self, 63), number(self, -63));
        let left = self.text.each("maximum", &[places, &zero]);
        let left = self.text.each("minimum", &[&left, &last]);
        let moved = self.text.each("shift_left", &[x, &left]);
        let back = self.text.each("shift_right_arithmetic", &[&moved, &left]);
        let lost = self.text.compare("NE", &back, x);
        let far = self.text.compare("GT", places, &last);
        let is_some = self.text.compare("NE", x, &zero);
        let outside = self.text.each("or", &[&lost, &far]);
        let outside = self.text.each("and", &[&outside, &is_some]);
        let to_left = self.nearest(x, &zero, &outside, &moved);
        let right = self.text.each("minimum", &[places, &zero]);
        let right = self.text.each("maximum", &[&right, &lowest]);
        let right = self.text.each("negate", &[&right]);
        let to_right = self.text.each("shift_right_arithmetic", &[x, &right]);
        let goes_right = self.text.compare("LT", places, &zero);
        self.text.select(&goes_right, &to_right, &to_left)
    }

    /// A power, by squaring: the nearest integer there is, if it is too large. The power by a negative number has no fraction, and that of 0 is
    /// the greatest integer.
    fn whole_power(&mut self, x: &Tensor, y: &Tensor) -> Tensor {
        let number = |of: &mut Self, number: i64| of.text.integers(number, &x.sizes, Element::I64);
        let (zero, one, most) = (number(self, 0), number(self, 1), number(self, 64));
        let below = self.text.compare("LT", y, &zero);
        // Beyond 64, only the sign depends on the exponent. That of 1 and -1 always does.
        let odd = self.text.each("and", &[y, &one]);
        let far = self.text.each("add", &[&most, &odd]);
        let is_far = self.text.compare("GT", y, &most);
        let exponent = self.text.select(&is_far, &far, y);
        let exponent = self.text.select(&below, &odd, &exponent);
        let (mut square, mut power) = (x.clone(), one.clone());
        for bit in 0..7 {
            if bit > 0 {
                square = self.product(&square, &square, true);
            }
            let bit = number(self, 1 << bit);
            let bit = self.text.each("and", &[&exponent, &bit]);
            let is_in = self.text.compare("NE", &bit, &zero);
            let more = self.product(&power, &square, true);
            power = self.text.select(&is_in, &more, &power);
        }
        let size = self.text.each("abs", &[x]);
        let is_unit = self.text.compare("EQ", &size, &one);
        let is_zero = self.text.compare("EQ", x, &zero);
        let greatest = number(self, i64::MAX);
        let fraction = self.text.select(&is_zero, &greatest, &zero);
        let fraction = self.text.select(&is_unit, &power, &fraction);
        self.text.select(&below, &fraction, &power)
    }

    /// A remainder with the sign of the dividend, changed to one with the sign of the divisor.
    pub fn with_sign_of_divisor(&mut self, rest: &Tensor, divisor: &Tensor) -> Tensor {
        let zero = self.text.splat(0.0, &rest.sizes, rest.of);
        let is_some = self.text.compare("NE", rest, &zero);
        let (a, b) = (self.text.compare("LT", rest, &zero), self.text.compare("LT", divisor, &zero));
        let differ = self.text.each("xor", &[&a, &b]);
        let moves = self.text.each("and", &[&is_some, &differ]);
        let moved = self.text.each("add", &[rest, divisor]);
        self.text.select(&moves, &moved, rest)
    }
}

/// The bits of an integer, with its sign.
fn bits(number: i64) -> u32 {
    65 - if number < 0 { number.leading_ones() } else { number.leading_zeros() }
}
