//! Random expressions of special numbers: machine code and the reference evaluator agree.
//!
//! Operations that IEEE 754 defines are compared bit for bit; functions such as `exp`, which are
//! outermost in an expression, within a few units of the last place. `BROADLOOM_EXPRESSIONS=n`
//! tries that many.

use broadloom::{
    Accumulate, Array, Dtype, Error, Graph, Operation, Pointwise, Routine, Session, SpecOptions, Tensor,
};
use broadloom_testing::{Dice, setting};

use crate::numbers::treatments;

/// Zeros, ones, limits of the ranges of floats and integers, subnormal and infinite numbers, and
/// NaN.
const SPECIAL: [f64; 24] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.5,
    -2.5,
    3.0,
    7.0,
    1e-3,
    88.0,
    1e-45,
    -1e-45,
    1e-38,
    3e38,
    -3e38,
    1e10,
    16777216.0,
    16777217.0,
    2147483648.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// The types that are tried, in turn, and true if all ways to run agree. Optimised code keeps
/// floats that are computed beside integers in wider numbers until they are stored: there the
/// optimised ways agree.
const TYPES: [(Dtype, Operations, bool); 13] = [
    (Dtype::F32, Operations::All, true),
    (Dtype::F64, Operations::All, true),
    (Dtype::F16, Operations::All, true),
    (Dtype::I64, Operations::Whole, true),
    (Dtype::F32, Operations::All, true),
    (Dtype::Bf16, Operations::All, true),
    (Dtype::I32, Operations::Whole, true),
    (Dtype::I64, Operations::All, false),
    (Dtype::U8, Operations::Whole, true),
    (Dtype::Bool, Operations::Whole, true),
    (Dtype::I8, Operations::Whole, true),
    (Dtype::I16, Operations::Whole, true),
    (Dtype::U8, Operations::All, false),
];

/// The operations that expressions are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operations {
    All,
    /// Operations of integers whose results are integers.
    Whole,
}

/// Operations of the table with exactly one right result.
fn exact() -> Vec<&'static Operation> {
    Operation::all().iter().filter(|operation| operation.is_correct()).collect()
}

/// Functions whose last digits may differ.
fn rounded() -> Vec<&'static str> {
    let of_one =
        Operation::all().iter().filter(|operation| !operation.is_correct() && operation.arity() == 1);
    of_one.map(|operation| operation.name()).collect()
}

/// A random expression.
fn expression(
    g: &mut Graph,
    dice: &mut Dice,
    operations: Operations,
    leaves: &[Tensor],
    depth: usize,
) -> Result<Tensor, Error> {
    if depth == 0 || dice.percent(17) {
        return Ok(*dice.one(leaves));
    }
    let operation = *dice.one(&exact());
    let is_out = match operations {
        Operations::Whole => operation.has_fractions(),
        // Floats have no bits, and casts change the type: see `casts_agree`.
        Operations::All => operation.is_bitwise() || operation.cast_to().is_some(),
    };
    if is_out {
        return expression(g, dice, operations, leaves, depth);
    }
    let operands = (0..operation.arity()).map(|_| expression(g, dice, operations, leaves, depth - 1));
    let operands = operands.collect::<Result<Vec<_>, _>>()?;
    g.pointwise(operation.name(), &operands)
}

/// The values of expressions, in one way to run them.
struct Found {
    treatment: &'static str,
    texts: Vec<String>,
    values: Vec<Vec<f64>>,
}

/// The values of some random expressions, in each way to run them.
fn values(seed: u64, count: usize, dtype: Dtype, operations: Operations) -> Result<Vec<Found>, Error> {
    let mut all = Vec::new();
    for (treatment, settings) in treatments() {
        let (mut g, mut dice) = (Graph::new(), Dice::new(seed));
        let mut leaves = Vec::new();
        for turn in 0..3 {
            let mut numbers = SPECIAL.to_vec();
            numbers.rotate_left(turn * 7);
            let array = Array::from_slice(&[numbers.len() as u64], &numbers).expect("as many as there are");
            leaves.push(g.array(["x", "y", "z"][turn], "...", array.convert(dtype))?);
        }
        let (mut results, mut texts) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let made = expression(&mut g, &mut dice, operations, &leaves, 4)?;
            let function =
                if operations == Operations::All && dice.percent(25) { dice.pick(&rounded()) } else { "neg" };
            let made = g.pointwise(function, &[made])?;
            texts.push(g.label_of(made));
            results.push(made);
        }
        let mut routine = Routine::new("all");
        results.iter().for_each(|result| {
            routine.forward(*result);
        });
        let mut session = Session::with(g, settings)?;
        session.run(&routine)?;
        let found = results.iter().map(|result| Ok(session.get(*result)?.to_f64s()));
        all.push(Found { treatment, texts, values: found.collect::<Result<_, Error>>()? });
    }
    Ok(all)
}

fn same(a: f64, b: f64, dtype: Dtype, rounded: bool) -> bool {
    let tolerance = match (rounded, dtype) {
        (false, _) => 0.0,
        (true, Dtype::F64) => 4e-15,
        (true, Dtype::F16) => 1e-3,
        (true, Dtype::Bf16) => 8e-3,
        (true, _) => 1e-6,
    };
    let least = match dtype {
        Dtype::F64 => f64::MIN_POSITIVE,
        Dtype::F16 => 6.2e-5,
        _ => f64::from(f32::MIN_POSITIVE),
    };
    (a.is_nan() && b.is_nan())
        || a.to_bits() == b.to_bits()
        || (rounded && (a - b).abs() <= tolerance * a.abs().max(least))
}

#[test]
fn random_expressions_of_special_values() -> Result<(), Error> {
    let (wanted, each) = (setting("BROADLOOM_EXPRESSIONS", 10_000) as usize, 500);
    for round in 0..wanted.div_ceil(each) {
        let (dtype, operations, all_agree) = TYPES[round % TYPES.len()];
        let all = values(round as u64, each, dtype, operations)?;
        for pair in all[usize::from(!all_agree)..].windows(2) {
            compare(&pair[0], &pair[1], dtype);
        }
    }
    Ok(())
}

fn compare(first: &Found, other: &Found, dtype: Dtype) {
    for ((a, b), text) in first.values.iter().zip(&other.values).zip(&first.texts) {
        let rounded = rounded().iter().any(|name| text.starts_with(&format!("{name}(")));
        for (at, (a, b)) in a.iter().zip(b).enumerate() {
            let (one, two) = (first.treatment, other.treatment);
            assert!(same(*a, *b, dtype, rounded), "{dtype}, {text} at {at}: {one} {a}, {two} {b}");
        }
    }
}

/// Numbers of every type as every other, by themselves and computed: every way to run makes the same bits, and what is cast by itself is
/// what arrays make of it.
#[test]
fn casts_agree() -> Result<(), Error> {
    let mut numbers = SPECIAL.to_vec();
    numbers.extend([
        127.9,
        -128.5,
        200.0,
        255.9,
        300.0,
        -32769.0,
        40000.0,
        65520.0,
        1.001,
        6.999_999_9,
        1e300,
    ]);
    numbers.extend([9_007_199_254_740_993.0, 9.3e18, -9.3e18, 1e-320]);
    let count = numbers.len() as u64;
    for from in Dtype::ALL {
        let given = Array::from_slice(&[count], &numbers).expect("as many as there are").convert(from);
        let mut all: Vec<(&str, Vec<Array>)> = Vec::new();
        for (treatment, settings) in treatments() {
            let mut g = Graph::new();
            let (x, seven) = (g.array("x", "...", given.clone())?, g.number(0.7));
            let part = g.mul(x, seven)?;
            let mut made = Vec::new();
            for to in Dtype::ALL {
                let (plain, of_part) = (g.cast(x, to)?, g.cast(part, to)?);
                let sum = g.add(plain, of_part)?;
                let (whole, less) = (g.cast(sum, Dtype::I64)?, g.less(plain, of_part)?);
                made.extend([plain, of_part, sum, whole, less]);
            }
            let mut routine = Routine::new("all");
            for result in &made {
                routine.forward(*result);
            }
            let mut session = Session::with(g, settings)?;
            session.run(&routine)?;
            let arrays = made.iter().map(|result| session.get(*result)).collect::<Result<Vec<_>, _>>()?;
            for (to, array) in Dtype::ALL.into_iter().zip(arrays.iter().step_by(5)) {
                let wanted = given.convert(to);
                assert_eq!(array.dtype(), to);
                assert_eq!(bits(array), bits(&wanted), "{treatment}: {from} as {to}");
            }
            all.push((treatment, arrays));
        }
        for pair in all.windows(2) {
            for (at, (a, b)) in pair[0].1.iter().zip(&pair[1].1).enumerate() {
                let to = Dtype::ALL[at / 5];
                assert_eq!(
                    bits(a),
                    bits(b),
                    "{} and {}: {from} as {to}, result {}",
                    pair[0].0,
                    pair[1].0,
                    at % 5
                );
            }
        }
    }
    Ok(())
}

/// Numbers that are equal only if they are the same; all that are not a number are.
fn bits(array: &Array) -> Vec<u64> {
    array.to_f64s().iter().map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() }).collect()
}

/// Every operation of the table has the same value folded, evaluated and compiled. (Those on bits are tried on integers, above.)
#[test]
fn folding_agrees() -> Result<(), Error> {
    let all = || Operation::all().iter().filter(|operation| !operation.is_bitwise());
    let operands: Vec<Vec<f64>> = (0..3)
        .map(|turn| {
            let mut numbers = SPECIAL.to_vec();
            numbers.rotate_left(turn * 5);
            numbers
        })
        .collect();
    for (treatment, settings) in treatments() {
        let mut g = Graph::new();
        let mut leaves = Vec::new();
        for (at, numbers) in operands.iter().enumerate() {
            let array = Array::from_slice(&[numbers.len() as u64], numbers).expect("as many as there are");
            leaves.push(g.array(["x", "y", "z"][at], "...", array)?);
        }
        let mut routine = Routine::new("all");
        let mut results = Vec::new();
        for operation in all() {
            let made = g.pointwise(operation.name(), &leaves[..operation.arity()])?;
            routine.forward(made);
            results.push(made);
        }
        let mut session = Session::with(g, settings)?;
        session.run(&routine)?;
        for (operation, result) in all().zip(results) {
            let name = operation.name();
            for (at, computed) in session.get(result)?.to_f64s().into_iter().enumerate() {
                let numbers: Vec<f64> =
                    operands[..operation.arity()].iter().map(|numbers| numbers[at]).collect();
                let folded =
                    Pointwise::named(name).and_then(|row| row.value(&numbers)).expect("it is in the table");
                let agree = same(folded, computed, Dtype::F64, !operation.is_correct());
                assert!(agree, "{name} of {numbers:?}: folded {folded}, {treatment} {computed}");
                let finite = numbers.iter().all(|number| number.abs() < 50.0);
                assert!(
                    !finite || !operation.is_defined(&numbers) || folded.is_finite(),
                    "{name} of {numbers:?}"
                );
            }
        }
    }
    Ok(())
}

/// Constants are folded in the type that they would be computed in, which is `f32` where nothing else is said.
#[test]
fn constants_are_folded_in_their_type() -> Result<(), Error> {
    let numbers = [7.0, 0.1, 3.0, 16_777_217.0, -2.5, 1e-3];
    for (treatment, settings) in treatments() {
        let mut g = Graph::new();
        let mut routine = Routine::new("all");
        let mut results = Vec::new();
        // The number of a cast is of its type.
        let is_cast =
            |operation: &Operation| Dtype::ALL.iter().any(|dtype| dtype.to_string() == operation.name());
        for operation in Operation::all().iter().filter(|each| !each.is_bitwise() && !is_cast(each)) {
            for turn in 0..numbers.len() {
                let operands: Vec<f64> =
                    (0..operation.arity()).map(|at| numbers[(turn + at) % numbers.len()]).collect();
                let constants: Vec<Tensor> = operands.iter().map(|number| g.constant(*number)).collect();
                let mut arrays = Vec::new();
                for number in &operands {
                    arrays.push(g.array(
                        "x",
                        "",
                        Array::from_slice(&[], &[*number as f32]).expect("one number"),
                    )?);
                }
                let pair = [constants, arrays].map(|operands| g.pointwise(operation.name(), &operands));
                let [folded, computed] = pair;
                let (folded, computed) = (folded?, computed?);
                results.push((operation, operands, folded, computed));
                routine.forward(folded);
                routine.forward(computed);
            }
        }
        let mut session = Session::with(g, settings)?;
        session.run(&routine)?;
        for (operation, operands, folded, computed) in results {
            let (folded, computed) = (session.get(folded)?.to_f64s()[0], session.get(computed)?.to_f64s()[0]);
            let agree = same(folded, computed, Dtype::F32, !operation.is_correct());
            assert!(agree, "{} of {operands:?}: folded {folded}, {treatment} {computed}", operation.name());
        }
    }
    Ok(())
}

/// A function of two integers.
type OfTwo<'a> = &'a dyn Fn(i64, i64) -> i64;

/// Integers that floats do not tell apart, and the ends of their range.
const WHOLE: [i64; 12] = [
    0,
    1,
    -1,
    3,
    -7,
    (1 << 53) + 1,
    -(1 << 53) - 1,
    (1 << 53) + 3,
    (1 << 62) + 1,
    i64::MAX,
    i64::MAX - 1,
    i64::MIN,
];

/// 64-bit integers are computed as integers in every way to run: pointwise, compared, summed, multiplied, the greatest and the least, moved.
#[test]
fn integers_are_exact() -> Result<(), Error> {
    let count = WHOLE.len();
    let pairs: Vec<(i64, i64)> = WHOLE.iter().flat_map(|a| WHOLE.map(|b| (*a, b))).collect();
    let array = |numbers: Vec<i64>| Array::from_slice(&[numbers.len() as u64], &numbers).expect("as many");
    let modulo = |a: i64, b: i64| {
        let rest = i128::from(a).checked_rem(b.into()).unwrap_or(0);
        if rest != 0 && (rest < 0) != (b < 0) { (rest + i128::from(b)) as i64 } else { rest as i64 }
    };
    let of_two: [(&str, OfTwo<'_>); 11] = [
        ("+", &|a, b| a.saturating_add(b)),
        ("-", &|a, b| a.saturating_sub(b)),
        ("*", &|a, b| a.saturating_mul(b)),
        ("max", &i64::max),
        ("min", &i64::min),
        ("mod", &modulo),
        ("<", &|a, b| i64::from(a < b)),
        ("<=", &|a, b| i64::from(a <= b)),
        ("==", &|a, b| i64::from(a == b)),
        ("!=", &|a, b| i64::from(a != b)),
        ("and", &|a, b| i64::from(a != 0 && b != 0)),
    ];
    let of_one: [(&str, &dyn Fn(i64) -> i64); 4] = [
        ("neg", &|a| a.saturating_neg()),
        ("abs", &|a| a.saturating_abs()),
        ("sign", &i64::signum),
        ("floor", &|a| a),
    ];
    for (treatment, settings) in treatments() {
        let mut g = Graph::new();
        let x = g.array("x", "...", array(pairs.iter().map(|(a, _)| *a).collect()))?;
        let y = g.array("y", "...", array(pairs.iter().map(|(_, b)| *b).collect()))?;
        let mut wanted: Vec<(Tensor, Vec<i64>, String)> = Vec::new();
        for (name, value) in of_two {
            let made = g.pointwise(name, &[x, y])?;
            wanted.push((made, pairs.iter().map(|(a, b)| value(*a, *b)).collect(), name.into()));
        }
        for (name, value) in of_one {
            let made = g.pointwise(name, &[x])?;
            wanted.push((made, pairs.iter().map(|(a, _)| value(*a)).collect(), name.into()));
        }
        // Of floats that a comparison of integers chooses from.
        let less = g.pointwise("<", &[x, y])?;
        let (one, two) = (g.constant(1.5), g.constant(2.5));
        let chosen = g.pointwise("where", &[less, one, two])?;
        // Reductions, without what is too large on the way.
        let small = g.array("small", "...", array(WHOLE[..8].to_vec()))?;
        let one_by_one = |accumulate| SpecOptions { accumulate, ..SpecOptions::default() };
        for (accumulate, value) in [
            (Accumulate::Sum, WHOLE[..8].iter().sum::<i64>()),
            (Accumulate::Max, (1 << 53) + 3),
            (Accumulate::Min, -(1 << 53) - 1),
        ] {
            let made = g.einsum_with("i => 0", &[small], &one_by_one(accumulate))?;
            wanted.push((made, vec![value], format!("{accumulate:?}")));
        }
        let factors = g.array("factors", "...", array(vec![(1 << 31) + 1, -3, (1 << 29) + 1]))?;
        let product = g.einsum_with("i => 0", &[factors], &one_by_one(Accumulate::Product))?;
        wanted.push((product, vec![-3 * ((1i64 << 31) + 1) * ((1 << 29) + 1)], "product".into()));
        let squares = g.einsum("i; i => 0", &[factors, factors])?;
        let square = |number: i64| number * number;
        wanted.push((squares, vec![square((1 << 31) + 1) + 9 + square((1 << 29) + 1)], "products".into()));
        let both = g.einsum("a; b => a^b", &[small, factors])?;
        let joined = WHOLE[..8].iter().copied().chain([(1 << 31) + 1, -3, (1 << 29) + 1]);
        wanted.push((both, joined.collect(), "one after another".into()));
        let mut routine = Routine::new("all");
        wanted.iter().for_each(|(made, ..)| {
            routine.forward(*made);
        });
        routine.forward(chosen);
        let mut session = Session::with(g, settings)?;
        session.run(&routine)?;
        for (made, values, name) in &wanted {
            let found = session.get(*made)?;
            assert_eq!(found.as_slice::<i64>(), Some(&values[..]), "{treatment}: {name}");
        }
        let found = session.get(chosen)?.to_f64s();
        let chosen: Vec<f64> = pairs.iter().map(|(a, b)| if a < b { 1.5 } else { 2.5 }).collect();
        assert_eq!(found, chosen, "{treatment}: where");
        // Nothing happens to what is only there.
        assert_eq!(session.get(x)?.as_slice::<i64>().map(<[i64]>::len), Some(count * count));
        assert_eq!(session.get(x)?, array(pairs.iter().map(|(a, _)| *a).collect()), "{treatment}");
    }
    Ok(())
}
