//! Sorting along every axis, beside the sorting of the standard library of Rust: rows of all lengths and patterns, with equal numbers
//! and with what is not a number.

use broadloom::{Along, Array, Dtype, Graph, Kind, Routine, Session, Settings};
use broadloom_testing::Dice;

use crate::numbers::treatments;

/// A row of numbers by one of several patterns, some of which make quicksorts slow.
fn row(pattern: usize, count: usize, random: &mut Dice) -> Vec<f64> {
    let number = |at: usize, random: &mut Dice| match pattern % 8 {
        0 => random.below(1_000_000) as f64 - 500_000.0,
        1 => random.below(5) as f64,
        2 => at as f64,
        3 => -(at as f64),
        4 => (at % 7) as f64,
        5 => -(at as f64 - count as f64 / 2.0).abs(),
        6 if random.below(3) == 0 => f64::NAN,
        6 => [f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0][random.below(5)],
        _ => 1.0,
    };
    (0..count).map(|at| number(at, random)).collect()
}

/// The positions in order, with a sort that keeps the order of equals.
fn expected(row: &[f64], descending: bool) -> Vec<f64> {
    let mut order: Vec<usize> = (0..row.len()).collect();
    let key = |at: &usize| if descending { -row[*at] } else { row[*at] };
    order.sort_by(|a, b| match (row[*a].is_nan(), row[*b].is_nan()) {
        (false, false) => key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal),
        (a, b) => a.cmp(&b),
    });
    order.into_iter().map(|at| at as f64).collect()
}

/// The positions of `x : before | count, behind` in order along the middle axis.
fn found(x: &[f64], sizes: [u64; 3], dtype: Dtype, descending: bool, settings: Settings) -> Vec<f64> {
    let mut g = Graph::new();
    let [before, count, behind] = sizes;
    let data = g.data("x", &format!("{before} | {count}, {behind}")).expect("a shape");
    g.set_precision(data, dtype).expect("a type");
    let order = g.argsort(data, Along::first(Kind::Output), descending).expect("an axis");
    let mut routine = Routine::new("sort");
    routine.forward(order).keep(order);
    let mut session = Session::with(g, settings).expect("a session");
    let values = Array::from_slice(&sizes, x).expect("as many numbers");
    session.set(data, &values.convert(dtype)).expect("numbers that fit");
    session.run(&routine).expect("a run");
    session.get(order).expect("a result").to_f64s()
}

#[test]
fn rows_in_order() {
    let mut random = Dice::new(7);
    for (case, count) in [1, 2, 3, 15, 16, 17, 33, 100, 257, 3000].into_iter().enumerate() {
        for pattern in 0..8 {
            let (before, behind) = (1 + (case + pattern) % 3, 1 + pattern % 2);
            let rows: Vec<Vec<f64>> =
                (0..before * behind).map(|at| row(pattern + at % 2, count, &mut random)).collect();
            let mut x = Vec::new();
            for b in 0..before {
                x.extend(
                    (0..count)
                        .flat_map(|at| (0..behind).map(move |j| (b * behind + j, at)))
                        .map(|(r, at)| rows[r][at]),
                );
            }
            let dtype = if pattern % 2 == 0 { Dtype::F64 } else { Dtype::F32 };
            let sizes = [before, count, behind].map(|size| size as u64);
            for descending in [false, true] {
                let wanted: Vec<Vec<f64>> = rows.iter().map(|row| expected(row, descending)).collect();
                for (way, settings) in treatments() {
                    let found = found(&x, sizes, dtype, descending, settings);
                    for (at, place) in found.iter().enumerate() {
                        let (b, t, j) = (at / (count * behind), at / behind % count, at % behind);
                        let wanted = wanted[b * behind + j][t];
                        assert_eq!(*place, wanted, "{way}, pattern {pattern}, {count} numbers, place {at}");
                    }
                }
            }
        }
    }
}
