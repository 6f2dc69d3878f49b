//! Values that do not fit or are missing.

use broadloom::{Array, Builder, Dtype, Error, Graph, Initial, Routine, Session};
use expect_test::expect;

use crate::numbers::array;
use crate::refusals::{refused, session};

#[test]
fn sizes() -> Result<(), Error> {
    let mut g = Graph::new();
    let (x, w) = (g.data("x", "2 | 3")?, g.param("w"));
    g.compose(w, x)?;
    let bias = g.param_shaped("bias", "4")?;
    let y = g.compose(w, x)?;
    g.add(y, bias)?;
    let n = g.data("n", "|")?;
    let mut session = session(g);
    refused(
        session.set(x, &array(&[3, 2], &[0.0; 6])),
        &expect![[r#"
            Value: the array for `x` has sizes [3, 2], its shape is `2 | 3`: axis 0 (`x.batch.0`) is 3 and should be 2, axis 1 (`x.output.0`) is 2 and should be 3
              `x` is declared `2 | 3`
            help: with its axes in the order [1, 0] it would fit
        "#]],
    );
    refused(
        session.set(x, &array(&[6], &[0.0; 6])),
        &expect![[r#"
            Value: the array for `x` has sizes [6], its shape is `2 | 3`: 1 axis in place of 2
              `x` is declared `2 | 3`
            help: it would fit with the sizes [2, 3], if that is what its numbers mean
        "#]],
    );
    refused(
        session.set(w, &array(&[3, 4], &[0.0; 12])),
        &expect![[r#"
            Value: the array for `w` has sizes [3, 4], its shape is `3 -> 4`: axis 0 (`w.output.0`) is 3 and should be 4, axis 1 (`w.input.0`) is 4 and should be 3
              `w` is `..., 3 -> ...`
            help: with its axes in the order [1, 0] it would fit
        "#]],
    );
    refused(
        session.set(n, &array(&[1], &[0.0])),
        &expect![[r#"
            Value: the array for `n` has sizes [1], its shape is `()`: 1 axis in place of 0
              `n` is declared `|`
            help: it would fit with the sizes [], if that is what its numbers mean
        "#]],
    );
    refused(
        session.set(y, &array(&[2, 4], &[0.0; 8])),
        &expect![[r#"
        Value: `w @ x` is computed, so its values cannot be set
    "#]],
    );
    // The refusals have changed nothing.
    refused(
        session.get(x),
        &expect![[r#"
            Value: `x` has no values yet
              `x` is declared `2 | 3`
            help: set them with `Session::set`
        "#]],
    );
    assert!(session.get(bias)?.to_f64s().iter().all(|value| *value == 0.0));
    Ok(())
}

#[test]
fn types() -> Result<(), Error> {
    let mut g = Graph::new();
    let (table, ids) = (g.param_shaped("table", "5 -> 2")?, g.data("ids", "3 |")?);
    g.gather(table, ids)?;
    let mut session = session(g);
    refused(
        session.set(ids, &array(&[3], &[0.0, 1.0, 2.0])),
        &expect![[r#"
        Value: `ids` holds integers (i64), the values are f64
        help: convert them first: `values.convert(Dtype::I64)`
    "#]],
    );
    // Integers for floats, and other widths, are converted.
    session.set(table, &Array::zeros(Dtype::I32, &[2, 5])?)?;
    session.set(ids, &Array::zeros(Dtype::I32, &[3])?)?;
    Ok(())
}

#[test]
fn ids_that_are_floats_when_they_are_given() -> Result<(), Error> {
    let mut g = Graph::new();
    let table = g.param_shaped("table", "5 -> 2")?;
    let ids = g.array("ids", "... |", array(&[2], &[0.5, 1.0]))?;
    let made = g.gather(table, ids).and_then(|rows| {
        let mut routine = Routine::new("rows");
        routine.forward(rows);
        session(g).run(&routine)
    });
    assert!(made.is_err());
    Ok(())
}

#[test]
fn values_that_are_missing() -> Result<(), Error> {
    let mut g = Graph::new();
    let (x, y, w) = (g.data("x", "2")?, g.data("y", "2")?, g.param_shaped("w", "2")?);
    let (sum, product) = (g.add(x, y)?, g.mul(x, w)?);
    g.name(product, "product");
    let loss = g.einsum("i =>", &[product])?;
    let gradient = g.gradient(w)?;
    let (mut routine, mut update, mut train) =
        (Routine::new("sum"), Routine::new("update"), Routine::new("train"));
    routine.forward(sum);
    update.assign(&mut g, "w =- gradient", &[("w", w), ("gradient", gradient)])?;
    train.backward(&mut g, loss)?;
    let mut session = session(g);
    session.set(x, &array(&[2], &[1.0, 2.0]))?;
    refused(
        session.run(&routine),
        &expect![[r#"
            NoValues: `sum` reads `y`, which has no values yet
              `y` is declared `2`
            help: set them with `Session::set`
        "#]],
    );
    refused(
        session.get(y),
        &expect![[r#"
            Value: `y` has no values yet
              `y` is declared `2`
            help: set them with `Session::set`
        "#]],
    );
    refused(
        session.get(product),
        &expect![[r#"
        Value: the values of `product` are not there
        help: run a routine with `forward` or `keep` for it first
    "#]],
    );
    refused(
        session.get(sum),
        &expect![[r#"
        Value: the values of `x + y` are not there
        help: run a routine with `forward` or `keep` for it first
    "#]],
    );
    refused(
        session.get(gradient),
        &expect![[r#"
            Value: the values of `w.grad` are not there
            help: `keep` it in the routine that goes `backward`
        "#]],
    );
    refused(
        session.run(&update),
        &expect![[r#"
        NoGradient: `update` reads the gradient of `w`, which is not there
        help: call `backward` in the same routine, or `keep` the gradient in the routine that computes it
    "#]],
    );
    session.run(&train)?;
    refused(
        session.get(product),
        &expect![[r#"
        Value: the values of `product` are not there
        help: run a routine with `forward` or `keep` for it first
    "#]],
    );
    refused(
        session.get(gradient),
        &expect![[r#"
            Value: the values of `w.grad` are not there
            help: `keep` it in the routine that goes `backward`
        "#]],
    );
    refused(
        session.run(&update),
        &expect![[r#"
        NoGradient: `update` reads the gradient of `w`, which is not there
        help: call `backward` in the same routine, or `keep` the gradient in the routine that computes it
    "#]],
    );
    refused(
        session.item(w),
        &expect![[r#"
        Value: `w` has 2 elements, not one
    "#]],
    );
    Ok(())
}

#[test]
fn names_of_parameters() -> Result<(), Error> {
    let b = Builder::new();
    let x = b.data("x", "2 | 3");
    let _ = b.param_shaped("w", "... -> 4").compose(x) + b.param_shaped("w", "... -> 4").compose(x);
    refused(
        Session::new(b.finish()?),
        &expect![[r#"
            Use: two parameters or states are called `w`
            help: their first values and their place in files depend on the name: give each its own
        "#]],
    );

    let mut g = Graph::new();
    g.param_shaped("w", "2")?;
    let mut session = session(g);
    session.graph_mut().state_shaped("w", "2")?;
    refused(
        session.save("nowhere"),
        &expect![[r#"
            Use: two parameters or states are called `w`
            help: their first values and their place in files depend on the name: give each its own
        "#]],
    );
    Ok(())
}

#[test]
fn first_values() -> Result<(), Error> {
    let mut g = Graph::new();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| g.param_shaped(name, "2").expect("a shape"));
    g.set_initial(a, Initial::Values(array(&[3], &[1.0, 2.0, 3.0])))?;
    g.set_initial(b, Initial::Uniform { low: 1.0, high: -1.0 })?;
    g.set_precision(c, Dtype::I64)?;
    g.set_initial(c, Initial::Constant(0.5))?;
    g.set_initial(d, Initial::Normal { mean: 0.0, deviation: f64::NAN })?;
    let huge = g.param_shaped("huge", "1000000, 1000000, 1000000")?;
    let mut session = session(g);
    refused(
        session.get(a),
        &expect![[r#"
            Use: the initial values of `a`: the parameter has 2, but the values have 3
            help: write 2 values, declare the parameter with 3, or give one number for all
        "#]],
    );
    refused(
        session.get(b),
        &expect![[r#"
        Use: the initial values of `b`: uniform numbers lie between two numbers, not from 1 to -1
    "#]],
    );
    refused(
        session.get(c),
        &expect![[r#"
            Use: the initial values of `c`: 0.5 is not a number of type i64
            help: write a number that it has, or give it a wider type
        "#]],
    );
    refused(
        session.get(d),
        &expect![[r#"
        Use: the initial values of `d`: normal numbers have a mean and a deviation that is not negative, not 0 and NaN
    "#]],
    );
    refused(
        session.get(huge),
        &expect![[r#"
        Use: the initial values of `huge`: an array of 1000000 × 1000000 × 1000000 of f32 has no room in memory
    "#]],
    );
    Ok(())
}

#[test]
fn first_values_of_what_is_no_parameter() -> Result<(), Error> {
    let mut g = Graph::new();
    let x = g.data("x", "2")?;
    let y = g.exp(x)?;
    assert!(g.set_initial(x, Initial::Constant(1.0)).is_err());
    assert!(g.set_initial(y, Initial::Constant(1.0)).is_err());
    Ok(())
}

#[test]
fn tensors_of_another_graph() -> Result<(), Error> {
    let (mut g, mut h) = (Graph::new(), Graph::new());
    h.data("x", "2")?;
    let foreign = h.data("y", "2")?;
    let x = g.data("x", "2")?;
    refused(
        g.add(x, foreign),
        &expect![[r#"
        Use: a tensor of another graph is used here
        help: a tensor belongs to the graph that made it
    "#]],
    );
    let mut routine = Routine::new("foreign");
    routine.forward(foreign);
    let mut session = session(g);
    refused(
        session.run(&routine),
        &expect![[r#"
        Use: a tensor of another graph is used here
        help: a tensor belongs to the graph that made it
    "#]],
    );
    refused(
        session.get(foreign),
        &expect![[r#"
        Use: a tensor of another graph is used here
        help: a tensor belongs to the graph that made it
    "#]],
    );
    let (b, c) = (Builder::new(), Builder::new());
    let _ = b.data("x", "2") + c.data("y", "2");
    let error = b.finish().map(|_| ()).map_err(|error| error.message().to_string());
    expect![[r#"
        Err("an expression of another builder is used here")
    "#]]
    .assert_eq(&format!("{error:?}\n"));
    Ok(())
}
