//! Routines: kept tensors, gradients across routines, and assignments.

use broadloom::{Builder, Error, Graph, Initial, Routine, Session, Tensor};

use crate::numbers::{array, treatments};

/// Runs one assignment to a target of `[2, 3, 4]` some times, in every way to run it.
fn assigned(text: &str, times: usize, wanted: [f64; 3]) -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let mut g = Graph::new();
        let (t, x) = (g.state_shaped("t", "3")?, g.data("x", "3")?);
        g.set_initial(t, Initial::Values(array(&[3], &[2.0, 3.0, 4.0])))?;
        let mut routine = Routine::new("assign");
        assert!(routine.assign(&mut g, text, &[("t", t), ("x", x)])?.is_empty(), "nothing new is made");
        let mut session = Session::with(g, settings)?;
        session.set(x, &array(&[3], &[1.0, 0.0, 5.0]))?;
        (0..times).try_for_each(|_| session.run(&routine))?;
        assert_eq!(session.get(t)?.to_f64s(), wanted, "{treatment}: {text}, {times} times");
    }
    Ok(())
}

#[test]
fn every_accumulator() -> Result<(), Error> {
    assigned("t = x", 1, [1.0, 0.0, 5.0])?;
    assigned("t =: x", 2, [1.0, 0.0, 5.0])?;
    assigned("t = -x", 1, [-1.0, 0.0, -5.0])?;
    assigned("t =:+ x", 2, [1.0, 0.0, 5.0])?;
    assigned("t =+ x", 2, [4.0, 3.0, 14.0])?;
    assigned("t =- x", 2, [0.0, 3.0, -6.0])?;
    assigned("t =* x", 2, [2.0, 0.0, 100.0])?;
    assigned("t =:* x", 2, [1.0, 0.0, 5.0])?;
    assigned("t =/ (x + 1)", 1, [1.0, 3.0, f64::from(4.0f32 / 6.0)])?;
    assigned("t =** x", 1, [2.0, 1.0, 1024.0])?;
    assigned("t =max x", 1, [2.0, 3.0, 5.0])?;
    assigned("t =:max x", 1, [1.0, 0.0, 5.0])?;
    assigned("t =min x", 1, [1.0, 0.0, 4.0])?;
    assigned("t =:min x", 1, [1.0, 0.0, 5.0])?;
    assigned("t =and x", 1, [1.0, 0.0, 1.0])?;
    assigned("t =or x", 1, [1.0, 1.0, 1.0])
}

/// A cleared target begins at the neutral element, even if only one value is accumulated.
#[test]
fn cleared_and_accumulated() -> Result<(), Error> {
    assigned("t =:- x", 2, [-1.0, 0.0, -5.0])?;
    assigned("t =:/ (x + 1)", 1, [0.5, 1.0, f64::from(1.0f32 / 6.0)])?;
    assigned("t =:** x", 1, [1.0, 1.0, 1.0])?;
    assigned("t =:and x", 1, [1.0, 0.0, 1.0])?;
    assigned("t =:or x", 1, [1.0, 0.0, 1.0])?;
    by_logic("i j => j", "{t} =:- x", None, &[-5.0, -7.0, -9.0])
}

#[test]
fn formulas() -> Result<(), Error> {
    assigned("t = t", 2, [2.0, 3.0, 4.0])?;
    assigned("t = 2 * t + x", 2, [11.0, 12.0, 31.0])?;
    assigned("t = x - t - 1; t =* 2 * x", 1, [-4.0, 0.0, 0.0])?;
    assigned("t = -x ** 2", 1, [-1.0, 0.0, -25.0])?;
    assigned("t = 2 ** x ** 2", 1, [2.0, 1.0, 33_554_432.0])?;
    assigned("t = 8 / 4 / 2 + 0 * x", 1, [1.0, 1.0, 1.0])?;
    assigned("t = where(x > 0.5 and x < 2, t, -t)", 1, [2.0, -3.0, -4.0])?;
    assigned("t = not(x) or t >= 4", 1, [0.0, 1.0, 1.0])?;
    assigned("t = max(x, min(t, 3)) + mod(-x, 3)", 1, [4.0, 3.0, 6.0])?;
    assigned("t = 1.5e1 + .5 * x", 1, [15.5, 15.0, 17.5])
}

/// Assigns by a logic, in every way to run, and compares the result.
fn by_logic(logic: &str, text: &str, target: Option<(&str, &[f64])>, wanted: &[f64]) -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let mut g = Graph::new();
        // a = [[1, 2, 3], [4, 5, 6]], b = [[1, -1], [2, 0], [0, 3]], as maps.
        let (a, b) = (g.data("a", "3 -> 2")?, g.data("b", "2 -> 3")?);
        let (x, y) = (g.data("x", "2, 3")?, g.data("y", "3, 2")?);
        let mut names = vec![("a", a), ("b", b), ("x", x), ("y", y)];
        if let Some((shape, values)) = target {
            let t = g.state_shaped("t", shape)?;
            let sizes: Vec<u64> = shape.split(", ").map(|size| size.parse().expect("a size")).collect();
            g.set_initial(t, Initial::Values(array(&sizes, values)))?;
            names.push(("t", t));
        }
        let mut routine = Routine::new("assign");
        let made = routine.assign_by(&mut g, logic, text, &names)?;
        let result = made.first().copied().unwrap_or_else(|| names[4].1);
        routine.keep(result);
        let mut session = Session::with(g, settings)?;
        for (tensor, sizes) in [(a, [2, 3]), (x, [2, 3])] {
            session.set(tensor, &array(&sizes, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))?;
        }
        for (tensor, sizes) in [(b, [3, 2]), (y, [3, 2])] {
            session.set(tensor, &array(&sizes, &[1.0, -1.0, 2.0, 0.0, 0.0, 3.0]))?;
        }
        session.run(&routine)?;
        assert_eq!(session.get(result)?.to_f64s(), wanted, "{treatment}: `{logic}` of {text}");
    }
    Ok(())
}

#[test]
fn every_logic() -> Result<(), Error> {
    by_logic(".", "{t} = x * x - 1", None, &[0.0, 3.0, 8.0, 15.0, 24.0, 35.0])?;
    by_logic("@", "{t} =:+ a * b", None, &[5.0, 8.0, 14.0, 14.0])?;
    // The minimum of sums along a path, instead of the sum of products.
    by_logic("@", "{t} =:min a + b", None, &[2.0, 0.0, 5.0, 3.0])?;
    by_logic("T", "{t} = a", None, &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0])?;
    by_logic("i j => j i", "{t} = 2 * x", None, &[2.0, 8.0, 4.0, 10.0, 6.0, 12.0])?;
    by_logic("i j => j", "{t} =:+ x", None, &[5.0, 7.0, 9.0])?;
    by_logic("i j => j", "{t} =:max x", None, &[4.0, 5.0, 6.0])?;
    by_logic("i j => i", "{t} =:* x", None, &[6.0, 120.0])?;
    by_logic("i j; j k => i k", "{t} =:+ x * y", None, &[5.0, 8.0, 14.0, 14.0])?;
    by_logic("i j; j k => k i", "{t} =:+ x * y", None, &[5.0, 14.0, 8.0, 14.0])
}

#[test]
fn accumulated_into_what_is_there() -> Result<(), Error> {
    let target = Some(("3", &[10.0, 20.0, 30.0][..]));
    by_logic("i j => j", "t =+ x", target, &[15.0, 27.0, 39.0])?;
    by_logic("i j => j", "t =- x", target, &[5.0, 13.0, 21.0])?;
    by_logic("i j => j", "t =* x", target, &[40.0, 200.0, 540.0])?;
    by_logic("i j => j", "t =/ x", target, &[2.5, 2.0, f64::from(30.0f32 / 18.0)])?;
    by_logic("i j => j", "t =max 3 * x", target, &[12.0, 20.0, 30.0])?;
    by_logic("i j => j", "t =min x", target, &[1.0, 2.0, 3.0])?;
    by_logic(
        "i j; j k => i k",
        "t =+ x * y",
        Some(("2, 2", &[1.0, 2.0, 3.0, 4.0])),
        &[6.0, 10.0, 17.0, 18.0],
    )?;
    // Some cells are not written: they stay, or they are cleared.
    by_logic("i, 1 => 2*i", "t =+ x", Some(("4", &[1.0, 2.0, 3.0, 4.0])), &[3.0, 2.0, 8.0, 4.0])?;
    by_logic("i, 1 => 2*i", "t =:+ x", Some(("4", &[1.0, 2.0, 3.0, 4.0])), &[2.0, 0.0, 5.0, 0.0])
}

/// New tensors and states that an assignment makes, and their values from run to run.
#[test]
fn states() -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let mut g = Graph::new();
        let x = g.data("x", "2")?;
        let mut routine = Routine::new("running");
        let made =
            routine.assign(&mut g, "{mean} = 0.5 * mean + 0.5 * x; {difference} = x - mean", &[("x", x)])?;
        let &[mean, difference] = &made[..] else { panic!("two tensors are made") };
        routine.keep(difference);
        let mut session = Session::with(g, settings)?;
        session.set(x, &array(&[2], &[8.0, 16.0]))?;
        assert_eq!(session.get(mean)?.to_f64s(), [0.0, 0.0], "{treatment}: it begins at 0");
        for (means, differences) in
            [([4.0, 8.0], [4.0, 8.0]), ([6.0, 12.0], [2.0, 4.0]), ([7.0, 14.0], [1.0, 2.0])]
        {
            session.run(&routine)?;
            assert_eq!(session.get(mean)?.to_f64s(), means, "{treatment}");
            assert_eq!(session.get(difference)?.to_f64s(), differences, "{treatment}");
        }
        session.set(mean, &array(&[2], &[100.0, 0.0]))?;
        session.run(&routine)?;
        assert_eq!(session.get(mean)?.to_f64s(), [54.0, 8.0], "{treatment}");
    }
    Ok(())
}

/// A parameter, twice its value, the gradient of the sum of its squares.
fn squares() -> Result<(Graph, Tensor, Tensor, Tensor), Error> {
    let mut g = Graph::new();
    let w = g.param_shaped("w", "2")?;
    g.set_initial(w, Initial::Values(array(&[2], &[3.0, -1.0])))?;
    let square = g.square(w)?;
    let loss = g.einsum("i =>", &[square])?;
    Ok((g, w, square, loss))
}

#[test]
fn what_is_kept() -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let (mut g, w, square, loss) = squares()?;
        let (mut plain, mut keeping) = (Routine::new("plain"), Routine::new("keeping"));
        plain.forward(loss);
        keeping.forward(loss).keep(square);
        keeping.assign(&mut g, "w = 10 * w", &[("w", w)])?;
        let mut session = Session::with(g, settings)?;
        session.run(&plain)?;
        assert_eq!(session.item(loss)?, 10.0, "{treatment}");
        assert!(session.get(square).is_err(), "{treatment}: nobody asked for it");
        session.run(&keeping)?;
        // It was computed before the assignment, and stays when another routine runs.
        assert_eq!(session.get(square)?.to_f64s(), [9.0, 1.0], "{treatment}");
        session.run(&plain)?;
        assert_eq!(session.item(loss)?, 1000.0, "{treatment}");
        assert_eq!(session.get(square)?.to_f64s(), [9.0, 1.0], "{treatment}");
    }
    Ok(())
}

#[test]
fn gradients_that_another_routine_uses() -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let (mut g, w, _, loss) = squares()?;
        let gradient = g.gradient(w)?;
        let (mut compute, mut update) = (Routine::new("compute"), Routine::new("update"));
        compute.backward(&mut g, loss)?;
        compute.keep(gradient);
        update.assign(&mut g, "w =- 0.25 * gradient", &[("w", w), ("gradient", gradient)])?;
        let mut session = Session::with(g, settings)?;
        session.run(&compute)?;
        assert_eq!(session.get(gradient)?.to_f64s(), [6.0, -2.0], "{treatment}");
        session.run(&update)?;
        session.run(&update)?;
        assert_eq!(
            session.get(w)?.to_f64s(),
            [0.0, 0.0],
            "{treatment}: the gradient is still that of the start"
        );
        session.run(&compute)?;
        assert_eq!(
            session.get(gradient)?.to_f64s(),
            [0.0, 0.0],
            "{treatment}: it does not add up from run to run"
        );
    }
    Ok(())
}

/// Gradients can be changed before they are used.
#[test]
fn gradients_that_are_changed() -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let (mut g, w, _, loss) = squares()?;
        let gradient = g.gradient(w)?;
        let mut routine = Routine::new("clipped");
        routine.backward(&mut g, loss)?;
        let names = [("w", w), ("gradient", gradient)];
        let made = routine.assign(&mut g, "{clipped} = max(-1, min(1, gradient)); w =- clipped", &names)?;
        routine.keep(made[0]);
        let mut session = Session::with(g, settings)?;
        session.run(&routine)?;
        assert_eq!(session.get(made[0])?.to_f64s(), [1.0, -1.0], "{treatment}");
        assert_eq!(session.get(w)?.to_f64s(), [2.0, 0.0], "{treatment}");
    }
    Ok(())
}

/// Reading before an assignment gives the old value, reading after it the new one.
#[test]
fn the_order_of_a_routine_counts() -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let b = Builder::new();
        let (x, w) = (b.data("x", "2"), b.param_shaped("w", "2").initial(Initial::Constant(1.0)));
        let (before, after) = ((w * x).tensor(), (w + x).tensor());
        let (x, w) = (x.tensor(), w.tensor());
        let mut g = b.finish()?;
        let mut routine = Routine::new("ordered");
        routine.forward(before);
        routine.assign(&mut g, "w =+ 10 * x", &[("w", w), ("x", x)])?;
        routine.forward(after);
        routine.assign(&mut g, "w = 0 * x", &[("w", w), ("x", x)])?;
        let mut session = Session::with(g, settings)?;
        session.set(x, &array(&[2], &[2.0, 3.0]))?;
        session.run(&routine)?;
        assert_eq!(session.get(before)?.to_f64s(), [2.0, 3.0], "{treatment}");
        assert_eq!(session.get(after)?.to_f64s(), [23.0, 34.0], "{treatment}");
        assert_eq!(session.get(w)?.to_f64s(), [0.0, 0.0], "{treatment}");
    }
    Ok(())
}

/// A step of descent updates all parameters with gradients of the same loss, not of a partly
/// updated one.
#[test]
fn parameters_are_updated_together() -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let b = Builder::new();
        let (v, w) = (
            b.param_shaped("v", "|").initial(Initial::Constant(2.0)),
            b.param_shaped("w", "|").initial(Initial::Constant(3.0)),
        );
        let loss = (v * w).tensor();
        let (v, w) = (v.tensor(), w.tensor());
        let mut g = b.finish()?;
        let mut train = Routine::new("train");
        train.backward(&mut g, loss)?;
        let rate = g.number(1.0);
        broadloom::Sgd::default().update(&mut g, &mut train, &[v, w], rate)?;
        let mut session = Session::with(g, settings)?;
        session.run(&train)?;
        assert_eq!(
            (session.item(loss)?, session.item(v)?, session.item(w)?),
            (6.0, -1.0, 1.0),
            "{treatment}"
        );
    }
    Ok(())
}
