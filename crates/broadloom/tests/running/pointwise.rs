//! Values of the pointwise operations, at ordinary and at special numbers.

use broadloom::{Array, Dtype, Error, Graph, Operation, Routine, Session, Settings};

use crate::numbers::{close, treatments};

/// Arguments of functions of one number.
const ARGUMENTS: [f64; 24] = [
    -1e30, -800.0, -120.0, -50.0, -20.0, -3.5, -2.5, -1.0, -0.75, -0.5, -0.25, -1e-3, 0.0, 1e-6, 0.25, 0.5,
    1.0, 1.5, 2.5, 4.0, 20.0, 90.0, 800.0, 1e30,
];

const SPECIAL: [f64; 3] = [f64::NEG_INFINITY, f64::INFINITY, f64::NAN];

type OfOne = (&'static str, fn(f64) -> f64);

/// Definitions with the functions of the Rust library.
const OF_ONE: [OfOne; 29] = [
    ("neg", |x| -x),
    ("exp", f64::exp),
    ("log", f64::ln),
    ("log1p", f64::ln_1p),
    ("expm1", f64::exp_m1),
    ("tan", f64::tan),
    ("asin", f64::asin),
    ("acos", f64::acos),
    ("atan", f64::atan),
    ("sinh", f64::sinh),
    ("cosh", f64::cosh),
    ("asinh", area_sine),
    (
        "acosh",
        |x| if x < 1.0 { f64::NAN } else { ((x - 1.0) + ((x - 1.0).sqrt() * (x + 1.0).sqrt())).ln_1p() },
    ),
    ("atanh", |x| 0.5 * (x.ln_1p() - (-x).ln_1p())),
    ("sqrt", f64::sqrt),
    ("recip", |x| 1.0 / x),
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("tanh", f64::tanh),
    ("sigmoid", |x| 1.0 / (1.0 + (-x).exp())),
    ("relu", |x| if x < 0.0 { 0.0 } else { x }),
    ("abs", f64::abs),
    ("sign", |x| if x == 0.0 || x.is_nan() { x } else { x.signum() }),
    ("square", |x| x * x),
    ("floor", f64::floor),
    ("ceil", f64::ceil),
    ("round", f64::round_ties_even),
    ("not", |x| f64::from(x == 0.0)),
    ("stop_gradient", |x| x),
];

/// By its definition: that of the Rust library loses the digits of small numbers on some machines.
fn area_sine(x: f64) -> f64 {
    let size = x.abs();
    let value = if size > 1e9 {
        size.ln() + std::f64::consts::LN_2
    } else {
        (size + size * size / (1.0 + (size * size + 1.0).sqrt())).ln_1p()
    };
    value.copysign(x)
}

type OfTwo = (&'static str, fn(f64, f64) -> f64);

const OF_TWO: [OfTwo; 18] = [
    ("+", |a, b| a + b),
    ("-", |a, b| a - b),
    ("*", |a, b| a * b),
    ("/", |a, b| a / b),
    ("**", f64::powf),
    ("atan2", f64::atan2),
    ("max", |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }),
    ("min", |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) }),
    // The remainder has the sign of the divisor.
    ("mod", |a, b| if a % b != 0.0 && (a < 0.0) != (b < 0.0) { a % b + b } else { a % b }),
    // The quotient rounded down, as NumPy has it: from the remainder.
    ("floor_div", |a, b| {
        let rest = a % b;
        let down = f64::from(rest != 0.0 && (rest < 0.0) != (b < 0.0));
        if b == 0.0 { a / b } else { ((a - rest) / b - down).round() }
    }),
    ("<", |a, b| f64::from(a < b)),
    ("<=", |a, b| f64::from(a <= b)),
    (">", |a, b| f64::from(a > b)),
    (">=", |a, b| f64::from(a >= b)),
    ("==", |a, b| f64::from(a == b)),
    ("!=", |a, b| f64::from(a != b)),
    ("and", |a, b| f64::from(a != 0.0 && b != 0.0)),
    ("or", |a, b| f64::from(a != 0.0 || b != 0.0)),
];

fn numbers(dtype: Dtype, values: &[f64]) -> Array {
    Array::from_slice(&[values.len() as u64], values).expect("as many as there are").convert(dtype)
}

/// Returns true if a number is right: NaN if NaN is expected, infinite if that is expected or if
/// the type does not go so far.
fn right(found: f64, wanted: f64, dtype: Dtype) -> bool {
    let (largest, smallest, tolerance) = match dtype {
        Dtype::F32 => (f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE), 1e-6),
        _ => (f64::MAX, f64::MIN_POSITIVE, 4e-15),
    };
    match wanted {
        wanted if wanted.is_nan() => found.is_nan(),
        wanted if wanted.abs() > largest => found.is_infinite() && found.signum() == wanted.signum(),
        wanted if wanted.abs() < smallest => found.abs() <= smallest,
        wanted => (found - wanted).abs() <= tolerance * wanted.abs(),
    }
}

/// Runs all operations of some operands in one program.
fn run(
    settings: Settings,
    dtype: Dtype,
    operands: &[Vec<f64>],
    names: impl Iterator<Item = &'static str>,
) -> Result<Vec<Vec<f64>>, Error> {
    let mut g = Graph::new();
    let arrays: Vec<Array> = operands.iter().map(|values| numbers(dtype, values)).collect();
    let operands: Vec<_> =
        arrays.into_iter().map(|array| g.array("x", "...", array)).collect::<Result<_, _>>()?;
    let results: Vec<_> = names.map(|name| g.pointwise(name, &operands)).collect::<Result<_, _>>()?;
    let mut routine = Routine::new("all");
    results.iter().for_each(|result| {
        routine.forward(*result);
    });
    let mut session = Session::with(g, settings)?;
    session.run(&routine)?;
    results.into_iter().map(|result| Ok(session.get(result)?.to_f64s())).collect()
}

#[test]
fn functions_of_one_number() -> Result<(), Error> {
    let arguments = [&ARGUMENTS[..], &SPECIAL].concat();
    for (treatment, settings) in treatments() {
        for dtype in [Dtype::F64, Dtype::F32] {
            let stored = numbers(dtype, &arguments).to_f64s();
            let found = run(
                settings.clone(),
                dtype,
                std::slice::from_ref(&arguments),
                OF_ONE.iter().map(|each| each.0),
            )?;
            for ((name, function), found) in OF_ONE.iter().zip(found) {
                for (x, found) in stored.iter().zip(found) {
                    let wanted = function(*x);
                    assert!(
                        right(found, wanted, dtype),
                        "{treatment}, {dtype}: {name}({x}) is {found}, not {wanted}"
                    );
                }
            }
        }
    }
    Ok(())
}

#[test]
fn functions_of_two_numbers() -> Result<(), Error> {
    let simple = [-3.0, -2.5, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 7.0, f64::INFINITY, f64::NAN];
    let pairs: Vec<(f64, f64)> = simple.iter().flat_map(|a| simple.map(|b| (*a, b))).collect();
    let operands = [pairs.iter().map(|pair| pair.0).collect(), pairs.iter().map(|pair| pair.1).collect()];
    for (treatment, settings) in treatments() {
        for dtype in [Dtype::F64, Dtype::F32] {
            let found = run(settings.clone(), dtype, &operands, OF_TWO.iter().map(|each| each.0))?;
            for ((name, function), found) in OF_TWO.iter().zip(found) {
                for ((a, b), found) in pairs.iter().zip(found) {
                    let wanted = function(*a, *b);
                    assert!(
                        right(found, wanted, dtype),
                        "{treatment}, {dtype}: {a} {name} {b} is {found}, not {wanted}"
                    );
                }
            }
        }
    }
    Ok(())
}

/// Values of the error function from tables, to 15 digits.
#[test]
fn error_function() -> Result<(), Error> {
    let known = [
        (0.0, 0.0),
        (0.1, 0.112462916018285),
        (0.5, 0.520499877813047),
        (1.0, 0.842700792949715),
        (1.5, 0.966105146475311),
        (2.0, 0.995322265018953),
        (3.0, 0.999977909503001),
        (6.0, 1.0),
        (40.0, 1.0),
        (f64::INFINITY, 1.0),
    ];
    let arguments: Vec<f64> = known.iter().flat_map(|(x, _)| [*x, -x]).collect();
    let wanted: Vec<f64> = known.iter().flat_map(|(_, y)| [*y, -y]).collect();
    for (treatment, settings) in treatments() {
        for (dtype, tolerance) in [(Dtype::F64, 1e-14), (Dtype::F32, 1e-6)] {
            let found = run(settings.clone(), dtype, std::slice::from_ref(&arguments), ["erf"].into_iter())?;
            for ((x, found), wanted) in arguments.iter().zip(&found[0]).zip(&wanted) {
                assert!(
                    close(*found, *wanted, tolerance),
                    "{treatment}, {dtype}: erf({x}) is {found}, not {wanted}"
                );
            }
        }
    }
    Ok(())
}

/// Anything but 0 is true, also NaN.
#[test]
fn selection() -> Result<(), Error> {
    let operands = [
        vec![1.0, 0.0, -0.5, f64::NAN, f64::INFINITY],
        vec![1.0, 2.0, 3.0, 4.0, f64::NAN],
        vec![f64::NAN, 20.0, 30.0, 40.0, 50.0],
    ];
    for (treatment, settings) in treatments() {
        let found = run(settings, Dtype::F32, &operands, ["where"].into_iter())?;
        assert_eq!(found[0][..4], [1.0, 20.0, 3.0, 4.0], "{treatment}");
        assert!(found[0][4].is_nan(), "{treatment}");
    }
    Ok(())
}

/// Integers become floats depending on the formula, in a row of the table, an operation or an
/// assignment.
#[test]
fn integers_and_fractions() -> Result<(), Error> {
    let mut g = Graph::new();
    let i = g.array("i", "3", numbers(Dtype::I64, &[1.0, 2.0, 3.0]))?;
    let half = Operation::new("half", 1).forward("v = v1 / 2")?;
    let twice = Operation::new("twice", 1).forward("v = 2 * v1")?;
    let (half, twice) = (g.apply(&half, &[i])?, g.apply(&twice, &[i])?);
    let mut routine = Routine::new("all");
    let made = routine.assign(&mut g, "{third} = i / 4; {kept} = i - 1", &[("i", i)])?;
    let results = [half, twice, made[0], made[1]];
    for result in results {
        routine.keep(result);
    }
    routine.forward(half).forward(twice);
    let mut session = Session::new(g)?;
    session.run(&routine)?;
    let types: Vec<Dtype> = results.iter().map(|result| session.dtype(*result)).collect::<Result<_, _>>()?;
    assert_eq!(types, [Dtype::F32, Dtype::I64, Dtype::F32, Dtype::I64]);
    assert_eq!(session.get(half)?.to_f64s(), [0.5, 1.0, 1.5]);
    assert_eq!(session.get(made[0])?.to_f64s(), [0.25, 0.5, 0.75]);
    Ok(())
}
