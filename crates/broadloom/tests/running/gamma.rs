//! `lgamma` and `digamma` beside values with many digits, by every way to run a program, in both types of floats.

use broadloom::{Array, Dtype, Error, Graph, Pointwise, Routine, Session};

use crate::numbers::treatments;

/// The table: x, the two functions, and the derivative of the second.
fn table() -> Vec<[f64; 4]> {
    let line = |line: &str| {
        let numbers: Vec<f64> = line.split(' ').map(|word| word.parse().expect("a number")).collect();
        numbers.try_into().expect("four numbers")
    };
    include_str!("../../../broadloom-loops/tests/gamma.txt").lines().map(line).collect()
}

/// Returns true if a number is near another: by 2 units of the last place, or by as much as the argument is
/// rounded.
fn near(found: f64, wanted: f64, condition: f64, dtype: Dtype) -> bool {
    if found == wanted {
        return true;
    }
    let unit = match dtype {
        Dtype::F32 => f64::from((wanted.abs() as f32).next_up()) - f64::from(wanted.abs() as f32),
        _ => wanted.abs().next_up() - wanted.abs(),
    };
    (found - wanted).abs() <= unit * condition.max(2.0)
}

#[test]
fn within_two_units_of_the_last_place() -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        for dtype in [Dtype::F64, Dtype::F32] {
            // Arguments that are rounded, or whose value is too large, are not those of the table.
            let fits = |row: &[f64; 4]| {
                dtype == Dtype::F64
                    || (f64::from(row[0] as f32) == row[0]
                        && row[1..].iter().all(|value| (*value as f32).is_finite()))
            };
            let rows: Vec<[f64; 4]> = table().into_iter().filter(fits).collect();
            let x: Vec<f64> = rows.iter().map(|row| row[0]).collect();
            let mut g = Graph::new();
            let x = g.array("x", "...", Array::from_slice(&[x.len() as u64], &x)?.convert(dtype))?;
            let results = [g.lgamma(x)?, g.digamma(x)?];
            let mut routine = Routine::new("both");
            for result in results {
                routine.forward(result);
            }
            let mut session = Session::with(g, settings.clone())?;
            session.run(&routine)?;
            for (name, result, at) in [("lgamma", results[0], 1), ("digamma", results[1], 2)] {
                for (row, found) in rows.iter().zip(session.get(result)?.to_f64s()) {
                    let (x, wanted, slope) = (row[0], row[at], row[at + 1]);
                    let fine = near(found, wanted, (x * slope / wanted).abs(), dtype);
                    assert!(fine, "{treatment}, {dtype}: {name}({x}) is {found}, not {wanted}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn at_the_ends() {
    for (name, x, wanted) in [
        ("lgamma", 0.0, f64::INFINITY),
        ("lgamma", -2.0, f64::INFINITY),
        ("lgamma", f64::INFINITY, f64::INFINITY),
        ("digamma", 0.0, f64::NEG_INFINITY),
        ("digamma", f64::INFINITY, f64::INFINITY),
    ] {
        assert_eq!(Pointwise::named(name).and_then(|row| row.value(&[x])), Some(wanted), "{name}({x})");
    }
    assert!(Pointwise::Digamma.value(&[-1.0]).is_some_and(f64::is_nan));
}
