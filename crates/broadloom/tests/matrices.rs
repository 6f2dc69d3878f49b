//! Functions of matrices: what they compute is what defines them, on batches of all sizes and in all treatments, with matrices that have no
//! answer among them; gradients are those of differences; named sizes give what numbers give.

use broadloom::{Array, Dtype, Error, Graph, Routine, Session, Settings, Tensor};
use broadloom_testing::Dice;

use crate::numbers::treatments;

/// The product of two matrices, row by row.
fn product(a: &[f64], b: &[f64], [m, n, k]: [usize; 3]) -> Vec<f64> {
    let cell = |at: usize| (0..n).map(|c| a[at / k * n + c] * b[c * k + at % k]).sum();
    (0..m * k).map(cell).collect()
}

fn transposed(a: &[f64], [m, n]: [usize; 2]) -> Vec<f64> {
    (0..m * n).map(|at| a[at % m * n + at / m]).collect()
}

#[track_caller]
fn close(what: &str, found: &[f64], wanted: &[f64], tolerance: f64) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    let scale = wanted.iter().fold(1.0f64, |most, number| most.max(number.abs()));
    for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert!((found - wanted).abs() <= tolerance * scale, "{what}, {at}: {found} in place of {wanted}");
    }
}

/// The results of a function of one tensor.
fn computed(
    settings: Settings,
    (shape, dtype): (&str, Dtype),
    values: &Array,
    make: impl Fn(&mut Graph, Tensor) -> Result<Vec<Tensor>, Error>,
) -> Vec<Vec<f64>> {
    let mut g = Graph::new();
    let a = g.data("a", shape).expect("a shape");
    g.set_precision(a, dtype).expect("a type");
    let results = make(&mut g, a).expect("matrices");
    let mut routine = Routine::new("compute");
    for result in &results {
        routine.forward(*result).keep(*result);
    }
    let mut session = Session::with(g, settings).expect("a session");
    session.set(a, &values.convert(dtype)).expect("numbers that fit");
    session.run(&routine).expect("a run");
    results.iter().map(|result| session.get(*result).expect("a result").to_f64s()).collect()
}

#[test]
fn results_are_what_they_are_defined_by() {
    let mut random = Dice::new(11);
    let tall = [(1, 1), (1, 4), (2, 3), (3, 3), (5, 7), (12, 12), (20, 31)];
    let wide = [(4, 1), (3, 2), (7, 5), (31, 20)];
    for (case, (n, m)) in tall.into_iter().chain(wide).enumerate() {
        let (batch, k) = (1 + case % 3, n.min(m));
        let numbers: Vec<f64> =
            (0..batch * m * n).map(|_| random.below(2001) as f64 / 1000.0 - 1.0).collect();
        let dtype = if case % 2 == 0 { Dtype::F64 } else { Dtype::F32 };
        let tolerance = if dtype == Dtype::F64 { 1e-11 } else { 1e-5 };
        let values =
            Array::from_slice(&[batch as u64, m as u64, n as u64], &numbers).expect("as many numbers");
        let shape = format!("{batch} | {n} -> {m}");
        for (way, settings) in treatments() {
            let made = computed(settings, (&shape, dtype), &values, |g, a| {
                let ([q, r], [u, s, v]) = (g.qr(a)?, g.svd(a)?);
                Ok(vec![q, r, u, s, v])
            });
            for at in 0..batch {
                let what = |name: &str| format!("{name} of {n} -> {m}, {way}");
                let part = |of: &[f64]| -> Vec<f64> {
                    let length = of.len() / batch;
                    of[at * length..(at + 1) * length].to_vec()
                };
                let [a, q, r, u, s, v] =
                    [&values.to_f64s(), &made[0], &made[1], &made[2], &made[3], &made[4]].map(|of| part(of));
                close(&what("qr"), &product(&q, &r, [m, k, n]), &a, tolerance);
                let eye: Vec<f64> = (0..k * k).map(|at| f64::from(u8::from(at % (k + 1) == 0))).collect();
                for (name, of, rows) in [("q", &q, m), ("u", &u, m), ("v", &v, n)] {
                    let square = product(&transposed(of, [rows, k]), of, [k, rows, k]);
                    close(&what(name), &square, &eye, tolerance);
                }
                assert!((0..k * n).all(|at| at % n >= at / n || r[at] == 0.0), "{}", what("r"));
                assert!(s.is_sorted_by(|a, b| a >= b) && s.iter().all(|s| *s >= 0.0), "{}", what("s"));
                for column in 0..k {
                    let greatest =
                        (0..n).map(|row| v[row * k + column]).max_by(|a, b| a.abs().total_cmp(&b.abs()));
                    assert!(greatest > Some(0.0), "{}", what("the sign of v"));
                }
                let scaled: Vec<f64> = (0..k * n).map(|at| s[at / n] * v[at % n * k + at / n]).collect();
                close(&what("svd"), &product(&u, &scaled, [m, k, n]), &a, tolerance);
            }
        }
    }
}

/// The rest of the right side is at right angles to all columns, and the solution has nothing that the matrix does not see.
#[test]
fn least_squares_are_the_least_and_the_shortest() {
    let mut random = Dice::new(12);
    for (n, m) in [(1, 1), (1, 5), (3, 3), (4, 9), (5, 1), (9, 4), (30, 11)] {
        let values = numbers(&mut random, &[m as u64, n as u64]);
        let a = values.to_f64s();
        let right = numbers(&mut random, &[m as u64, 2]);
        for (way, settings) in treatments() {
            let made = computed(settings, (&format!("{n} -> {m}"), Dtype::F64), &values, |g, a| {
                let b = g.array("b", "2 -> ...", right.clone())?;
                Ok(vec![g.lstsq(a, b)?])
            });
            let x = &made[0];
            let what = format!("{n} -> {m}, {way}");
            let reached = product(&a, x, [m, n, 2]);
            let left: Vec<f64> =
                right.to_f64s().iter().zip(reached).map(|(b, reached)| b - reached).collect();
            let seen = product(&transposed(&a, [m, n]), &left, [n, m, 2]);
            close(&what, &seen, &vec![0.0; n * 2], 1e-10);
            if m < n {
                close(&what, &left, &vec![0.0; m * 2], 1e-10);
                // A part of `x` that the rows of the matrix do not reach could be left out: it is the sum of multiples of rows.
                let rows = transposed(&a, [m, n]);
                let values = Array::from_slice(&[n as u64, m as u64], &rows).expect("as many numbers");
                let solved = computed(
                    treatments()[0].1.clone(),
                    (&format!("{m} -> {n}"), Dtype::F64),
                    &values,
                    |g, a| {
                        let b =
                            g.array("b", "2 -> ...", Array::from_slice(&[n as u64, 2], x).expect("as many"))?;
                        Ok(vec![g.lstsq(a, b)?])
                    },
                );
                close(&what, &product(&rows, &solved[0], [n, m, 2]), x, 1e-9);
            }
        }
    }
}

/// A matrix that is not of full rank has no least squares: NaN, and not numbers that only look like some.
#[test]
fn least_squares_without_an_answer() {
    let values = Array::from_slice(&[2, 2, 3], &[1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0])
        .expect("as many numbers");
    for (way, settings) in treatments() {
        let made = computed(settings, ("2 | 3 -> 2", Dtype::F64), &values, |g, a| {
            let b = g.array("b", "...", Array::from_slice(&[2], &[1.0, 2.0]).expect("as many"))?;
            Ok(vec![g.lstsq(a, b)?])
        });
        assert!(made[0][..3].iter().all(|number| number.is_nan()), "{way}: {made:?}");
        close(way, &made[0][3..], &[1.0, 2.0, 0.0], 1e-12);
    }
}

#[test]
fn square_matrices_have_inverses_factors_and_eigenvectors() {
    let mut random = Dice::new(5);
    for n in [1usize, 2, 3, 6, 17, 40] {
        let plain: Vec<f64> = (0..n * n).map(|_| random.below(2001) as f64 / 1000.0 - 1.0).collect();
        let mut numbers = product(&plain, &transposed(&plain, [n, n]), [n, n, n]);
        (0..n).for_each(|at| numbers[at * n + at] += 1.0);
        let values = Array::from_slice(&[n as u64, n as u64], &numbers).expect("as many numbers");
        let shape = format!("{n} -> {n}");
        let eye: Vec<f64> = (0..n * n).map(|at| f64::from(u8::from(at % (n + 1) == 0))).collect();
        for (way, settings) in treatments() {
            let made = computed(settings, (&shape, Dtype::F64), &values, |g, a| {
                let [w, v] = g.eigh(a)?;
                Ok(vec![g.inverse(a)?, g.cholesky(a)?, g.det(a)?, g.logdet(a)?, g.solve(a, a)?, w, v])
            });
            let [inverse, l, det, logdet, x, w, v] = &made[..] else { panic!("seven results") };
            let what = |name: &str| format!("{name} of {n}, {way}");
            close(&what("inverse"), &product(inverse, &numbers, [n, n, n]), &eye, 1e-9);
            close(&what("solve"), x, &eye, 1e-9);
            close(&what("cholesky"), &product(l, &transposed(l, [n, n]), [n, n, n]), &numbers, 1e-11);
            close(&what("det"), &[det[0].ln()], logdet, 1e-11);
            close(&what("product of eigenvalues"), &[w.iter().map(|w| w.ln()).sum()], logdet, 1e-10);
            assert!(w.is_sorted(), "{}", what("eigenvalues"));
            let scaled: Vec<f64> = (0..n * n).map(|at| w[at / n] * v[at % n * n + at / n]).collect();
            close(&what("eigh"), &product(v, &scaled, [n, n, n]), &numbers, 1e-11);
        }
    }
}

/// Of a batch, one matrix is regular and one has no answer; the third is not a number. The first is not touched by the others.
#[test]
fn matrices_without_an_answer() {
    let numbers = [1.0, 0.0, 0.0, 2.0, 1.0, 2.0, 2.0, 4.0, f64::NAN, 1.0, 1.0, 1.0];
    let values = Array::from_slice(&[3, 2, 2], &numbers).expect("as many numbers");
    for (way, settings) in treatments() {
        let made = computed(settings, ("3 | 2 -> 2", Dtype::F64), &values, |g, a| {
            let ([values, vectors], [u, s, v]) = (g.eigh(a)?, g.svd(a)?);
            Ok(vec![g.inverse(a)?, g.solve(a, a)?, g.cholesky(a)?, values, vectors, u, s, v])
        });
        for (at, result) in made.iter().enumerate() {
            let length = result.len() / 3;
            let has_answer = at >= 3;
            assert!(result[..length].iter().all(|number| number.is_finite()), "{way}, {at}: {result:?}");
            assert!(
                result[length..2 * length].iter().all(|number| number.is_nan() != has_answer),
                "{way}, {at}: {result:?}"
            );
            assert!(result[2 * length..].iter().all(|number| number.is_nan()), "{way}, {at}: {result:?}");
        }
    }
}

/// The loss of a graph with every function, and its gradients.
fn with_gradients(
    settings: Settings,
    [batch, n, m]: [u64; 3],
    named: bool,
    numbers: [&Array; 4],
) -> Vec<Vec<f64>> {
    let mut g = Graph::new();
    let size = |g: &mut Graph, name: &str, size: u64| -> String {
        match named {
            true => g.dim(name, 1..=9, size).map(|_| name.to_string()).expect("a name"),
            false => size.to_string(),
        }
    };
    let [b, n, m] = [size(&mut g, "b", batch), size(&mut g, "n", n), size(&mut g, "m", m)];
    let k = if named { "k".to_string() } else { "18".to_string() };
    if named {
        g.dim("k", 10..=30, 18).expect("a name");
    }
    g.set_default_precision(Dtype::F64);
    let tensors = [
        g.data("a", &format!("{b} | {n} -> {n}")).expect("a shape"),
        g.data("t", &format!("{b} | {n} -> {m}")).expect("a shape"),
        g.data("r", &format!("2 -> {n}")).expect("a shape"),
        // More columns than rows, whatever the sizes are.
        g.data("w", &format!("{b} | {k} -> {n}")).expect("a shape"),
    ];
    let loss = loss(&mut g, tensors).expect("a loss");
    let gradients = tensors.map(|tensor| g.gradient(tensor).expect("a gradient"));
    let mut routine = Routine::new("gradients");
    routine.forward(loss);
    routine.backward(&mut g, loss).expect("gradients").keep(loss);
    gradients.iter().for_each(|gradient| {
        routine.keep(*gradient);
    });
    let mut session = Session::with(g, settings).expect("a session");
    for (tensor, values) in tensors.into_iter().zip(numbers) {
        session.set(tensor, values).expect("numbers that fit");
    }
    session.run(&routine).expect("a run");
    [loss].iter().chain(&gradients).map(|tensor| session.get(*tensor).expect("a result").to_f64s()).collect()
}

fn loss(g: &mut Graph, [a, t, r, wide]: [Tensor; 4]) -> Result<Tensor, Error> {
    let ([q, upper], [w, v], [_, s, _]) = (g.qr(t)?, g.eigh(a)?, g.svd(t)?);
    let ([wide_q, wide_r], [_, wide_s, _]) = (g.qr(wide)?, g.svd(wide)?);
    let tall = g.transpose(wide)?;
    let right = g.mul(tall, tall)?;
    let flipped = g.transpose(a)?;
    let square = g.compose(a, flipped)?;
    let parts = [
        g.solve(a, r)?,
        g.inverse(a)?,
        g.det(a)?,
        g.logdet(a)?,
        g.cholesky(square)?,
        q,
        upper,
        w,
        v,
        s,
        wide_q,
        wide_r,
        wide_s,
        g.lstsq(wide, r)?,
        g.lstsq(tall, right)?,
    ];
    let mut total = g.number(0.0);
    for (at, part) in parts.into_iter().enumerate() {
        // Neither even nor odd, so that signs count.
        let cube = g.mul(part, part)?;
        let cube = g.mul(cube, part)?;
        let factor = g.number(1.0 + at as f64 / 7.0);
        let scaled = g.mul(cube, factor)?;
        let sum = g.einsum("..b.. | ..i.. -> ..o.. => |", &[scaled])?;
        total = g.add(total, sum)?;
    }
    Ok(total)
}

fn numbers(random: &mut Dice, sizes: &[u64]) -> Array {
    let count: u64 = sizes.iter().product();
    let numbers: Vec<f64> = (0..count).map(|_| random.below(2001) as f64 / 1000.0 - 1.0).collect();
    Array::from_slice(sizes, &numbers).expect("as many numbers")
}

#[test]
fn gradients_are_those_of_differences_and_named_sizes_change_nothing() {
    let mut random = Dice::new(3);
    let [batch, n, m] = [2, 3, 5];
    let given = [
        numbers(&mut random, &[batch, n, n]),
        numbers(&mut random, &[batch, m, n]),
        numbers(&mut random, &[n, 2]),
        numbers(&mut random, &[batch, n, 18]),
    ];
    let of = |given: &[Array; 4], settings: Settings, named: bool| {
        with_gradients(settings, [batch, n, m], named, [&given[0], &given[1], &given[2], &given[3]])
    };
    let (_, reference) = treatments().into_iter().next().expect("a treatment");
    let wanted = of(&given, reference.clone(), false);
    for (way, settings) in treatments() {
        for named in [false, true] {
            let found = of(&given, settings.clone(), named);
            for (at, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
                close(&format!("{at}, {way}, named: {named}"), found, wanted, 1e-9);
            }
        }
    }
    for which in 0..4 {
        let plain = given[which].to_f64s();
        // The last has many elements, of which some are enough.
        for at in (0..plain.len()).step_by(if which == 3 { 7 } else { 1 }) {
            let moved = |by: f64| {
                let mut changed = plain.clone();
                changed[at] += by;
                let mut given = given.clone();
                given[which] = Array::from_slice(given[which].sizes(), &changed).expect("as many numbers");
                of(&given, reference.clone(), false)[0][0]
            };
            let step = 1e-5;
            let difference = (moved(step) - moved(-step)) / (2.0 * step);
            let gradient = wanted[1 + which][at];
            let error = (gradient - difference).abs() / difference.abs().max(1.0);
            assert!(error < 1e-4, "tensor {which}, element {at}: {gradient} in place of {difference}");
        }
    }
}

#[test]
fn mlir_refuses_by_name() {
    let mut g = Graph::new();
    let a = g.data("a", "3 -> 3").expect("a shape");
    let det = g.det(a).expect("a matrix");
    let refused = broadloom::nest_linalg(&mut g, det).expect_err("MLIR has no such operation").to_string();
    assert!(refused.contains("`det`") && refused.contains("C and StableHLO"), "{refused}");
}

/// Modules for XLA have nothing that only some devices know: no calls of libraries, in values and in gradients.
#[test]
fn modules_need_no_library() {
    let mut g = Graph::new();
    let shapes = [("a", "2 | 3 -> 3"), ("t", "2 | 3 -> 4"), ("r", "2 -> 3"), ("w", "2 | 5 -> 3")];
    let tensors = shapes.map(|(name, shape)| g.data(name, shape).expect("a shape"));
    let loss = loss(&mut g, tensors).expect("a loss");
    let gradients = tensors.map(|tensor| g.gradient(tensor).expect("a gradient"));
    let mut routine = Routine::new("gradients");
    routine.forward(loss);
    routine.backward(&mut g, loss).expect("gradients").keep(loss);
    gradients.iter().for_each(|gradient| {
        routine.keep(*gradient);
    });
    let module = Session::new(g).expect("a session").stablehlo(&routine).expect("a module");
    assert!(module.contains("stablehlo.while") && !module.contains("custom_call"), "{module}");
}
