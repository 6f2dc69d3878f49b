//! The contents of parameters before training.
//!
//! A number depends only on the name of its parameter, the seed and its position in row-major
//! order: a parameter that is added, removed or made larger elsewhere changes no other parameter.

use broadloom_array::random::{key_of, normal_f64, uniform_f64};
use broadloom_array::{Array, Dtype};

use crate::error::{Error, ErrorKind, Remedy};

/// The contents of a parameter before training.
///
/// `fan_in` and `fan_out` are the products of the sizes of the parameter's input axes and of its
/// output axes: the number of values that go into each result, and of results that each value goes
/// into. Kaiming's variants keep the variance of values that go forwards through a layer (He et
/// al., *Delving Deep into Rectifiers*, with a gain of √2 for `relu`). Xavier's keep a middle
/// between forwards and backwards (Glorot and Bengio, *Understanding the Difficulty of Training
/// Deep Feedforward Neural Networks*).
///
/// | | numbers |
/// |---|---|
/// | `Constant` | all the same |
/// | `Uniform` | from `low` up to `high` |
/// | `Normal` | with this mean and this standard deviation |
/// | `Kaiming` | uniform within ± `gain · √(3 / fan_in)` |
/// | `KaimingNormal` | normal, with deviation `gain · √(1 / fan_in)` |
/// | `Xavier` | uniform within ± `gain · √(6 / (fan_in + fan_out))` |
/// | `XavierNormal` | normal, with deviation `gain · √(2 / (fan_in + fan_out))` |
/// | `Values` | these, of the parameter's sizes |
///
/// The number at position `i` is computed in 64-bit floats, from [`uniform_f64`] or [`normal_f64`] of
/// [`key_of`]`(seed, name)` and `i`, and then rounded to the type of the parameter. Rounding may reach `high`.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the table says it")]
pub enum Initial {
    Constant(f64),
    Uniform { low: f64, high: f64 },
    Normal { mean: f64, deviation: f64 },
    Kaiming { gain: f64 },
    KaimingNormal { gain: f64 },
    Xavier { gain: f64 },
    XavierNormal { gain: f64 },
    Values(Array),
}

/// A distribution with its numbers.
enum Draw {
    Uniform { low: f64, high: f64 },
    Normal { mean: f64, deviation: f64 },
}

impl Initial {
    /// The first contents of a parameter.
    ///
    /// It is an error if a bound is not a number, a distribution is the wrong way round, given values have other
    /// sizes, or integers are asked for where there would be fractions.
    ///
    /// ```
    /// use broadloom::{Dtype, Initial};
    ///
    /// let kaiming = Initial::Kaiming { gain: 1.0 };
    /// let w = kaiming.values("w", 42, &[64, 48], 48, 64, Dtype::F32)?;
    /// assert_eq!(w.sizes(), [64, 48]);
    /// assert!(w.to_f64s().iter().all(|x| x.abs() <= 0.25), "√(3 / 48)");
    /// assert_eq!(w, kaiming.values("w", 42, &[64, 48], 48, 64, Dtype::F32)?);
    /// assert_ne!(w, kaiming.values("v", 42, &[64, 48], 48, 64, Dtype::F32)?);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn values(
        &self,
        name: &str,
        seed: u64,
        sizes: &[u64],
        fan_in: u64,
        fan_out: u64,
        dtype: Dtype,
    ) -> Result<Array, Error> {
        let result = match self {
            Initial::Constant(value) => constant(*value, sizes, dtype),
            Initial::Values(array) => given(array, sizes, dtype),
            _ => self.draw(fan_in, fan_out).and_then(|draw| drawn(&draw, key_of(seed, name), sizes, dtype)),
        };
        result.map_err(|error| error.about(&format!("the initial values of `{name}`")))
    }

    /// Makes the checks of [`values`](Initial::values) without making the values.
    pub fn check(&self, name: &str, sizes: &[u64], dtype: Dtype) -> Result<(), Error> {
        // Constants and random numbers are right or wrong whatever the sizes are.
        let sizes = if matches!(self, Initial::Values(_)) { sizes } else { &[] };
        self.values(name, 0, sizes, 1, 1, dtype).map(|_| ())
    }

    /// The distribution, if it is one.
    fn draw(&self, fan_in: u64, fan_out: u64) -> Result<Draw, Error> {
        let (forwards, both) = (fan_in as f64, fan_in as f64 + fan_out as f64);
        let within = |bound: f64| Draw::Uniform { low: -bound, high: bound };
        let around = |deviation: f64| Draw::Normal { mean: 0.0, deviation };
        let gain = |gain: f64| match gain >= 0.0 && gain.is_finite() {
            true => Ok(gain),
            false => Err(wrong(format!("the gain should be a number that is not negative, not {gain}"))),
        };
        // Without inputs there is no variance to keep, and nothing to draw either.
        let per = |variance: f64, fan: f64| (variance / fan.max(1.0)).sqrt();
        Ok(match *self {
            Initial::Uniform { low, high } => Draw::Uniform { low, high },
            Initial::Normal { mean, deviation } => Draw::Normal { mean, deviation },
            Initial::Kaiming { gain: by } => within(gain(by)? * per(3.0, forwards)),
            Initial::KaimingNormal { gain: by } => around(gain(by)? * per(1.0, forwards)),
            Initial::Xavier { gain: by } => within(gain(by)? * per(6.0, both)),
            Initial::XavierNormal { gain: by } => around(gain(by)? * per(2.0, both)),
            Initial::Constant(_) | Initial::Values(_) => Draw::Normal { mean: 0.0, deviation: 0.0 },
        })
    }
}

fn constant(value: f64, sizes: &[u64], dtype: Dtype) -> Result<Array, Error> {
    let array = Array::full(dtype, sizes, value).map_err(|error| wrong(error.message))?;
    // Floats are rounded; an integer has to be exact.
    let given = Array::scalar(value);
    if given.outside(dtype).is_some() || (!dtype.is_float() && given.convert(dtype).item() != Some(value)) {
        return Err(not_held(value, dtype));
    }
    Ok(array)
}

fn not_held(number: impl std::fmt::Display, dtype: Dtype) -> Error {
    wrong(format!("{number} is not a number of type {dtype}"))
        .with_help("write a number that it has, or give it a wider type")
}

fn given(array: &Array, sizes: &[u64], dtype: Dtype) -> Result<Array, Error> {
    if array.sizes() != sizes {
        let show = |sizes: &[u64]| match sizes {
            [] => "no axes".to_owned(),
            sizes => sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(" × "),
        };
        let (given, wanted) = (show(array.sizes()), show(sizes));
        return Err(wrong(format!("the parameter has {wanted}, but the values have {given}"))
            .with_help(values_advice(array.sizes(), sizes)));
    }
    if let Some(number) = array.outside(dtype) {
        return Err(not_held(number, dtype));
    }
    if !dtype.is_float() && !array.is_whole() {
        let found = array.dtype();
        return Err(wrong(format!("values of type {found} would lose their fractions as {dtype}"))
            .with_remedy(Remedy::Integers, format!("convert them: `array.convert(Dtype::{dtype:?})`")));
    }
    Ok(if array.dtype() == dtype { array.clone() } else { array.convert(dtype) })
}

/// Says how to write values of these sizes.
fn values_advice(given: &[u64], wanted: &[u64]) -> String {
    let other = "or give one number for all";
    match (given, wanted) {
        ([given], [wanted]) => format!("write {wanted} values, declare the parameter with {given}, {other}"),
        (_, [wanted]) => format!("write a list of {wanted} values, {other}"),
        (_, [rows, columns]) => {
            format!("in the order batch, output, input, write {rows} rows of {columns} values, {other}")
        }
        (_, [rest @ .., last]) => {
            let rest: Vec<String> = rest.iter().map(u64::to_string).collect();
            format!(
                "in the order batch, output, input, write {} rows of {last} values, {other}",
                rest.join(" × ")
            )
        }
        (_, []) => "give a single number".to_string(),
    }
}

/// The fewest numbers for which a core is asked: they take a millisecond or two, much longer than beginning.
const FEWEST_SHARED: usize = 1 << 16;

fn drawn(draw: &Draw, key: u64, sizes: &[u64], dtype: Dtype) -> Result<Array, Error> {
    match *draw {
        Draw::Uniform { low, high } if !(low <= high && (high - low).is_finite()) => {
            return Err(wrong(format!("uniform numbers lie between two numbers, not from {low} to {high}")));
        }
        Draw::Normal { mean, deviation }
            if !(deviation >= 0.0 && deviation.is_finite() && mean.is_finite()) =>
        {
            let message = format!(
                "normal numbers have a mean and a deviation that is not negative, not {mean} and {deviation}"
            );
            return Err(wrong(message));
        }
        _ if !dtype.is_float() => {
            return Err(wrong(format!("random numbers have fractions, but the type is {dtype}")));
        }
        _ => {}
    }
    // Allocates the result, so that sizes beyond memory are refused here.
    let count = Array::zeros(dtype, sizes).map_err(|error| wrong(error.message))?.len();
    let number = |position: u64| match *draw {
        Draw::Uniform { low, high } => low + (high - low) * uniform_f64(key, position),
        Draw::Normal { mean, deviation } => mean + deviation * normal_f64(key, position),
    };
    let array = match dtype {
        Dtype::F32 => Array::new(sizes, by_position(count, |position| number(position) as f32)),
        _ => Array::new(sizes, by_position(count, number)).map(|array| array.convert(dtype)),
    };
    array.map_err(|error| wrong(error.message))
}

/// Numbers of which each depends on its position alone. Many are shared out among all cores: a model of a hundred million
/// parameters would wait for them longer than for its code.
fn by_position<T: Clone + Default + Send>(count: usize, number: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let fill = |first: usize, part: &mut [T]| {
        for (offset, value) in part.iter_mut().enumerate() {
            *value = number((first + offset) as u64);
        }
    };
    let mut values = vec![T::default(); count];
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = count.div_ceil(cores).max(FEWEST_SHARED);
    if share >= count {
        fill(0, &mut values);
        return values;
    }
    std::thread::scope(|scope| {
        for (at, part) in values.chunks_mut(share).enumerate() {
            let fill = &fill;
            scope.spawn(move || fill(at * share, part));
        }
    });
    values
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Use, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [u64; 2] = [400, 250];

    /// However many cores there are, a number depends on its position alone: also in the last share, which is a shorter one.
    #[test]
    fn many_numbers_are_those_of_their_positions() {
        let count = 3 * FEWEST_SHARED + 7;
        assert!(by_position(count, |position| position).into_iter().eq(0..count as u64));
        assert_eq!(by_position(0, |position| position), Vec::<u64>::new());
    }

    fn numbers(initial: &Initial, name: &str, seed: u64) -> Vec<f64> {
        initial.values(name, seed, &SIZES, 250, 400, Dtype::F64).unwrap().to_f64s()
    }

    fn mean(numbers: impl IntoIterator<Item = f64>) -> f64 {
        let (sum, count) = numbers.into_iter().fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
        sum / count
    }

    fn deviation(numbers: &[f64]) -> f64 {
        let middle = mean(numbers.iter().copied());
        mean(numbers.iter().map(|x| (x - middle).powi(2))).sqrt()
    }

    /// Mean, deviation and largest number, each within one in a hundred of what the formulas say.
    #[test]
    fn moments() {
        let cases = [
            (Initial::Uniform { low: -1.0, high: 3.0 }, 1.0, 4.0 / 12f64.sqrt(), Some(3.0)),
            (Initial::Normal { mean: -2.0, deviation: 0.5 }, -2.0, 0.5, None),
            (Initial::Kaiming { gain: 2.0 }, 0.0, 2.0 / 250f64.sqrt(), Some(2.0 * (3.0f64 / 250.0).sqrt())),
            (Initial::KaimingNormal { gain: 2.0 }, 0.0, 2.0 / 250f64.sqrt(), None),
            (Initial::Xavier { gain: 1.0 }, 0.0, (2.0f64 / 650.0).sqrt(), Some((6.0f64 / 650.0).sqrt())),
            (Initial::XavierNormal { gain: 1.0 }, 0.0, (2.0f64 / 650.0).sqrt(), None),
        ];
        for (initial, middle, spread, bound) in cases {
            let numbers = numbers(&initial, "w", 1);
            assert!((mean(numbers.iter().copied()) - middle).abs() < 0.01 * spread.max(1.0), "{initial:?}");
            assert!((deviation(&numbers) / spread - 1.0).abs() < 0.01, "{initial:?}");
            let largest = numbers.iter().copied().fold(f64::MIN, f64::max);
            if let Some(bound) = bound {
                assert!(largest <= bound && largest > 0.99 * bound, "{initial:?}: {largest}");
            }
        }
    }

    /// The number at a position is the same in a larger parameter, in another type, and after other
    /// calls.
    #[test]
    fn only_name_seed_and_position_count() {
        let initial = Initial::Uniform { low: 0.0, high: 1.0 };
        let whole = numbers(&initial, "w", 42);
        let part = initial.values("w", 42, &[3], 9, 9, Dtype::F64).unwrap();
        assert_eq!(part.to_f64s(), whole[..3]);
        let half = initial.values("w", 42, &SIZES, 1, 1, Dtype::F16).unwrap();
        let rounded = Array::from_slice(&SIZES, &whole).unwrap().convert(Dtype::F16);
        assert_eq!(half, rounded);
        for dtype in [Dtype::F32, Dtype::Bf16] {
            let array = initial.values("w", 42, &SIZES, 1, 1, dtype).unwrap();
            assert_eq!(array, Array::from_slice(&SIZES, &whole).unwrap().convert(dtype));
        }
        assert_eq!(whole, numbers(&initial, "w", 42));
        // From the definition, in another language.
        assert_eq!(whole[7], ((0xd054_4e0f_u64 << 21 | 0xcabd_4fda >> 11) as f64 / 9_007_199_254_740_992.0));
    }

    #[test]
    fn names_and_seeds_are_unrelated() {
        let normal = Initial::Normal { mean: 0.0, deviation: 1.0 };
        let all = [("w", 1), ("v", 1), ("w1", 1), ("w2", 1), ("", 1), ("w", 2), ("w", 3)];
        let all = all.map(|(name, seed)| numbers(&normal, name, seed));
        for (index, one) in all.iter().enumerate() {
            for other in &all[..index] {
                let product = mean(one.iter().zip(other).map(|(a, b)| a * b));
                assert!(product.abs() < 0.015, "{product}: five deviations of a hundred thousand products");
            }
        }
    }

    #[test]
    fn values_and_constants() {
        let array = Array::from_slice(&[2], &[1.5f32, 2.5]).unwrap();
        let values = Initial::Values(array.clone());
        assert_eq!(values.values("b", 0, &[2], 1, 2, Dtype::F32).unwrap(), array);
        assert_eq!(values.values("b", 0, &[2], 1, 2, Dtype::F64).unwrap(), array.convert(Dtype::F64));
        let zeros = Initial::Constant(0.0).values("b", 0, &[], 1, 1, Dtype::Bf16).unwrap();
        assert_eq!((zeros.item(), zeros.dtype()), (Some(0.0), Dtype::Bf16));
        let seven = Initial::Constant(7.0).values("n", 0, &[2], 1, 2, Dtype::I32).unwrap();
        assert_eq!(seven.as_slice(), Some(&[7i32, 7][..]));
        let none = Initial::Kaiming { gain: 1.0 }.values("w", 0, &[3, 0], 0, 3, Dtype::F32).unwrap();
        assert!(none.is_empty());
    }

    #[test]
    fn mistakes() {
        let error =
            |initial: Initial, dtype| initial.values("w", 0, &[2], 1, 2, dtype).unwrap_err().to_string();
        let array = Array::from_slice(&[3], &[1.5f32, 2.5, 3.5]).unwrap();
        assert_eq!(
            error(Initial::Values(array.clone()), Dtype::F32),
            "the initial values of `w`: the parameter has 2, but the values have 3\n\
             help: write 2 values, declare the parameter with 3, or give one number for all"
        );
        assert_eq!(
            error(Initial::Values(Array::from_slice(&[2], &[1.5f32, 2.0]).unwrap()), Dtype::I64),
            "the initial values of `w`: values of type f32 would lose their fractions as i64\n\
             help: convert them: `array.convert(Dtype::I64)`"
        );
        assert_eq!(
            error(Initial::Constant(0.5), Dtype::I32),
            "the initial values of `w`: 0.5 is not a number of type i32\n\
             help: write a number that it has, or give it a wider type"
        );
        assert_eq!(
            error(Initial::Uniform { low: 1.0, high: 0.0 }, Dtype::F32),
            "the initial values of `w`: uniform numbers lie between two numbers, not from 1 to 0"
        );
        assert_eq!(
            error(Initial::Normal { mean: 0.0, deviation: f64::NAN }, Dtype::F32),
            "the initial values of `w`: normal numbers have a mean and a deviation that is not negative, not 0 and NaN"
        );
        assert_eq!(
            error(Initial::Kaiming { gain: -1.0 }, Dtype::F32),
            "the initial values of `w`: the gain should be a number that is not negative, not -1"
        );
        assert_eq!(
            error(Initial::Xavier { gain: 1.0 }, Dtype::I32),
            "the initial values of `w`: random numbers have fractions, but the type is i32"
        );
        let huge = Initial::Constant(0.0).values("w", 0, &[u64::MAX], 1, 1, Dtype::F32).unwrap_err();
        assert!(huge.message().ends_with("of f32 has no room in memory"));
    }
}
