//! The order of assignments, of values that depend on them, and of gradients.

use broadloom::{
    Array, Backend, Builder, Dtype, Error, Graph, Operation, Routine, Session, Settings, SpecOptions, Tensor,
};

/// Every way to run a program.
fn ways() -> [Settings; 3] {
    [(Backend::Reference, false), (Backend::Reference, true), (Backend::Native, true)]
        .map(|(backend, optimise)| Settings { backend, optimise, ..Settings::default() })
}

/// A graph with some data in 64-bit floats.
fn graph(data: &[(&str, &str, &[u64], &[f64])]) -> Result<(Graph, Vec<Tensor>), Error> {
    let mut g = Graph::new();
    g.set_default_precision(Dtype::F64);
    let mut tensors = Vec::new();
    for (name, shape, sizes, values) in data {
        tensors.push(g.array(name, shape, Array::from_slice(sizes, values)?)?);
    }
    Ok((g, tensors))
}

/// Runs a program in every way, and compares a tensor with its expected values.
fn check(make: impl Fn() -> Result<(Graph, Routine, Tensor), Error>, expected: &[f64]) {
    for settings in ways() {
        let (graph, routine, wanted) = make().expect("it is in order");
        let mut session = Session::with(graph, settings.clone()).expect("a session");
        session.run(&routine).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
        let found = session.get(wanted).expect("values").to_f64s();
        let close = found.len() == expected.len()
            && found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-12 * (1.0 + b.abs()));
        assert!(close, "{settings:?}: {found:?} instead of {expected:?}");
    }
}

#[test]
fn a_target_is_read_as_it_was_before() {
    let matrix = [1.0, 2.0, 3.0, 4.0];
    let product = |logic: &'static str, text: &'static str| {
        move || {
            let (mut g, made) = graph(&[("a", "2 -> 2", &[2, 2], &matrix), ("x", "2", &[2], &[5.0, 7.0])])?;
            let mut routine = Routine::new("step");
            routine.assign_by(&mut g, logic, text, &[("a", made[0]), ("x", made[1])])?;
            routine.keep(made[1]);
            Ok((g, routine, made[1]))
        }
    };
    check(product("@", "x =:+ a * x"), &[19.0, 43.0]);
    check(product("@", "x =+ a * x"), &[24.0, 50.0]);
    check(product("i -> j; i => j", "x =:+ a * x"), &[19.0, 43.0]);
    let transposed = |text: &'static str| {
        move || {
            let (mut g, made) = graph(&[("p", "2, 2", &[2, 2], &matrix)])?;
            let mut routine = Routine::new("turn");
            routine.assign_by(&mut g, "i j => j i", text, &[("p", made[0])])?;
            Ok((g, routine, made[0]))
        }
    };
    check(transposed("p = p"), &[1.0, 3.0, 2.0, 4.0]);
    check(transposed("p =+ p"), &[2.0, 5.0, 5.0, 8.0]);
}

#[test]
fn gradients_begin_afresh_in_every_pass() {
    let make = || {
        let (mut g, _) = graph(&[])?;
        let w = g.param_shaped("w", "")?;
        g.set_initial(w, broadloom::Initial::Constant(3.0))?;
        let h = g.mul(w, w)?;
        let second = g.add(h, w)?;
        let gradient = g.gradient(w)?;
        let mut routine = Routine::new("both");
        routine.backward(&mut g, h)?;
        routine.backward(&mut g, second)?;
        routine.keep(gradient);
        Ok((g, routine, gradient))
    };
    check(make, &[7.0]);
}

#[test]
fn values_follow_assignments() {
    let make = || {
        let (mut g, made) = graph(&[("x", "2", &[2], &[1.0, 2.0])])?;
        let square = g.square(made[0])?;
        let mut routine = Routine::new("twice");
        routine.forward(square);
        routine.assign(&mut g, "x = 10 * x", &[("x", made[0])])?;
        routine.forward(square);
        Ok((g, routine, square))
    };
    check(make, &[100.0, 400.0]);
}

#[test]
fn two_steps_of_training_in_one_routine() {
    let make = || {
        let (mut g, _) = graph(&[])?;
        let w = g.param_shaped("w", "")?;
        g.set_initial(w, broadloom::Initial::Constant(1.0))?;
        let loss = g.square(w)?;
        let gradient = g.gradient(w)?;
        let mut routine = Routine::new("train");
        for _ in 0..2 {
            routine.backward(&mut g, loss)?;
            routine.assign(&mut g, "w =- 0.25 * gradient", &[("w", w), ("gradient", gradient)])?;
        }
        Ok((g, routine, w))
    };
    check(make, &[0.25]);
}

#[test]
fn windows_over_a_constant_see_its_ends() {
    let make = || {
        let (mut g, made) = graph(&[("x", "4", &[4], &[0.0; 4]), ("kernel", "3", &[3], &[1.0, 1.0, 1.0])])?;
        let ones = g.constant(1.0);
        let counts = g.einsum("o=+k; k => o", &[ones, made[1]])?;
        let counts = g.add(counts, made[0])?;
        let mut routine = Routine::new("count");
        routine.forward(counts);
        Ok((g, routine, counts))
    };
    check(make, &[2.0, 3.0, 3.0, 2.0]);
}

#[test]
fn windows_over_a_gradient_see_its_ends() {
    let make = || {
        let (mut g, made) =
            graph(&[("x", "4", &[4], &[1.0, 2.0, 3.0, 4.0]), ("k", "3", &[3], &[1.0, 1.0, 1.0])])?;
        let smooth = g.einsum("o=+k; k => o", &[made[0], made[1]])?;
        let loss = g.einsum("o => 0", &[smooth])?;
        let gradient = g.gradient(made[0])?;
        let mut routine = Routine::new("smooth the gradient");
        routine.backward(&mut g, loss)?;
        let sums =
            routine.assign_by(&mut g, "o=+k; k => o", "{s} =:+ g * k", &[("g", gradient), ("k", made[1])])?;
        routine.keep(sums[0]);
        Ok((g, routine, sums[0]))
    };
    // The gradient is 2, 3, 3, 2.
    check(make, &[5.0, 8.0, 8.0, 5.0]);
}

#[test]
fn the_greatest_in_a_padded_window_is_never_in_the_margin() {
    let make = || {
        let (mut g, made) = graph(&[("x", "4", &[4], &[-1.0, -2.0, -3.0, -4.0])])?;
        let mut routine = Routine::new("greatest");
        let found = routine.assign_by(&mut g, "o=+k => o", "{m} =:max x", &[("x", made[0])])?;
        let k = g.captured(found[0], "k")?;
        g.set(k, 3)?;
        routine.keep(found[0]);
        Ok((g, routine, found[0]))
    };
    check(make, &[-1.0, -1.0, -2.0, -3.0]);
}

#[test]
fn a_maximum_divides_its_gradient_among_ties_in_padded_windows() {
    let make = || {
        let greatest = Operation::new("greatest", 1)
            .forward("v =:max v1")?
            .gradient("ties =:+ v1 == v; g1 =+ where(v1 == v, g / ties, 0)")?;
        let (mut g, made) = graph(&[("x", "3", &[3], &[2.0, 2.0, 1.0])])?;
        let found = g.apply_by(&greatest, "o=+k => o", &[made[0]], &SpecOptions::default())?;
        let k = g.captured(found, "k")?;
        g.set(k, 3)?;
        let loss = g.einsum("o => 0", &[found])?;
        let gradient = g.gradient(made[0])?;
        let mut routine = Routine::new("ties");
        routine.backward(&mut g, loss)?;
        routine.keep(gradient);
        Ok((g, routine, gradient))
    };
    // Windows [2, 2], [2, 2, 1], [2, 1].
    check(make, &[1.0, 2.0, 0.0]);
}

#[test]
fn a_fresh_target_that_is_accumulated_into_is_a_state() {
    let (mut g, made) = graph(&[("x", "2", &[2], &[1.0, 2.0])]).expect("data");
    let mut routine = Routine::new("total");
    let total = routine.assign(&mut g, "{total} =+ x", &[("x", made[0])]).expect("it is in order");
    let mut session = Session::new(g).expect("a session");
    for _ in 0..3 {
        session.run(&routine).expect("it runs");
    }
    assert_eq!(session.get(total[0]).expect("values").to_f64s(), [3.0, 6.0]);
}

#[test]
fn assignments_are_made_all_or_not_at_all() {
    let (mut g, made) = graph(&[("x", "2", &[2], &[1.0, 2.0]), ("y", "3", &[3], &[0.0; 3])]).expect("data");
    let (mut routine, tensors) = (Routine::new("steps"), g.len());
    let names = [("x", made[0]), ("y", made[1])];
    assert!(routine.assign(&mut g, "{m} = m + x; y = m", &names).is_err());
    assert_eq!((g.len(), &routine), (tensors, &Routine::new("steps")));
    routine.assign(&mut g, "{m} = m + x", &names).expect("it is in order now");
}

#[test]
fn a_guard_changes_nothing() {
    for guard in [false, true] {
        let (mut g, _) = graph(&[]).expect("a graph");
        let w = g.param_shaped("w", "").expect("a parameter");
        g.set_initial(w, broadloom::Initial::Constant(3.0)).expect("a number");
        let (first, second) = (g.square(w).expect("a square"), g.neg(w).expect("a negative"));
        let gradient = g.gradient(w).expect("a gradient");
        let (mut a, mut b) = (Routine::new("a"), Routine::new("b"));
        a.backward(&mut g, first).expect("a loss").keep(gradient);
        b.backward(&mut g, second).expect("a loss");
        let mut session = Session::with(g, Settings { guard, ..Settings::default() }).expect("a session");
        session.run(&a).expect("it runs");
        session.run(&b).expect("it runs");
        assert_eq!(session.item(gradient).expect("a number"), 6.0, "guard: {guard}");
    }
}

#[test]
fn a_builder_inside_itself_is_a_mistake_not_a_panic() {
    let b = Builder::new();
    let x = b.data("x", "3");
    let y = b.with(|graph| {
        let inner = b.number(2.0) * x;
        graph.neg(inner.tensor())
    });
    let _ = format!("{y:?}");
    assert!(b.finish().is_err());
}

#[test]
fn what_no_memory_holds_is_refused_by_name() {
    let b = Builder::new();
    let (x, y) = (b.data("x", "10000000"), b.data("y", "10000000"));
    let huge = x.einsum("i; j => i j", &[y]).named("huge").tensor();
    let mut routine = Routine::new("too much");
    routine.forward(huge);
    let mut session = Session::new(b.finish().expect("it is in order")).expect("a session");
    let error = session.show(&routine).expect_err("it cannot run").to_string();
    assert!(error.contains("`huge`") && error.contains("10000000 × 10000000"), "{error}");
}
