//! Runs that cannot be prepared, or that stop.

use broadloom::{
    Array, Builder, Error, Graph, Operation, Routine, Session, Settings, SliceIndex, SpecOptions,
};
use expect_test::{Expect, expect};

use crate::numbers::{array, treatments};
use crate::refusals::{refused, session};

/// The messages of the errors, which are the same in every way to run.
fn in_every_way(run: impl Fn(Settings) -> Result<Vec<Error>, Error>) -> Result<String, Error> {
    let mut all = Vec::new();
    for (_, settings) in treatments() {
        let messages = run(settings)?.into_iter().map(|error| format!("{:?}: {error}\n", error.kind()));
        all.push(messages.collect::<String>());
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:#?}");
    Ok(all.swap_remove(0))
}

/// Checks the message for an index outside a table.
fn looked_up(ids: [i64; 6], expected: &Expect) -> Result<(), Error> {
    let messages = in_every_way(|settings| {
        let mut g = Graph::new();
        let (table, tokens) = (g.param_shaped("embedding", "5 -> 2")?, g.data("tokens", "2, 3 |")?);
        let rows = g.gather(table, tokens)?;
        let mut routine = Routine::new("rows");
        routine.forward(rows);
        let mut session = Session::with(g, settings)?;
        session.set(tokens, &Array::from_slice(&[2, 3], &ids)?)?;
        let error = session.run(&routine).expect_err("an index is wrong");
        // The session can be used again.
        session.set(tokens, &Array::from_slice(&[2, 3], &[4i64; 6])?)?;
        session.run(&routine)?;
        Ok(vec![error])
    })?;
    expected.assert_eq(&messages);
    Ok(())
}

#[test]
fn indices_beyond_a_table() -> Result<(), Error> {
    looked_up(
        [0, 1, 2, 3, 5, 0],
        &expect![[r#"
            Value: index 5 at [1, 1] of `tokens` is outside `embedding`, which has 5 rows
              `tokens` is declared `2, 3 |`
              `embedding` is declared `5 -> 2`
            help: indices are 0 to 4
        "#]],
    )?;
    looked_up(
        [0, 1, -1, 3, 5, 0],
        &expect![[r#"
            Value: index -1 at [0, 2] of `tokens` is outside `embedding`, which has 5 rows
              `tokens` is declared `2, 3 |`
              `embedding` is declared `5 -> 2`
            help: indices are 0 to 4
        "#]],
    )?;
    looked_up(
        [i64::MAX, 0, 0, 0, 0, 0],
        &expect![[r#"
            Value: index 9223372036854775807 at [0, 0] of `tokens` is outside `embedding`, which has 5 rows
              `tokens` is declared `2, 3 |`
              `embedding` is declared `5 -> 2`
            help: indices are 0 to 4
        "#]],
    )?;
    looked_up(
        [0, 0, 0, 0, 0, i64::MIN],
        &expect![[r#"
            Value: index -9223372036854775808 at [1, 2] of `tokens` is outside `embedding`, which has 5 rows
              `tokens` is declared `2, 3 |`
              `embedding` is declared `5 -> 2`
            help: indices are 0 to 4
        "#]],
    )
}

#[test]
fn positions() -> Result<(), Error> {
    let messages = in_every_way(|settings| {
        let mut g = Graph::new();
        let x = g.array("x", "4 | 2", array(&[4, 2], &[0.0; 8]))?;
        let slice = g.slice(x, SliceIndex::Run { range: None })?;
        g.name(slice, "batch");
        let mut routine = Routine::new("slice");
        routine.forward(slice);
        let mut session = Session::with(g, settings)?;
        let none = session.run(&routine).expect_err("there is no position");
        session.set_position(slice, 4)?;
        let beyond = session.run(&routine).expect_err("the position is too large");
        session.set_position(slice, 3)?;
        session.run(&routine)?;
        Ok(vec![none, beyond])
    })?;
    expect![[r#"
        Value: `batch` has no position
        help: set it with `Session::set_position`
        Value: position 4 of `batch` is beyond its 4 positions
        help: positions are 0 to 3
    "#]]
    .assert_eq(&messages);
    Ok(())
}

#[test]
fn positions_of_what_is_no_slice() -> Result<(), Error> {
    let mut g = Graph::new();
    let x = g.data("x", "4 | 2")?;
    let fixed = g.slice(x, SliceIndex::At(1))?;
    let mut session = session(g);
    assert!(session.set_position(x, 1).is_err());
    assert!(session.set_position(fixed, 2).is_err());
    Ok(())
}

#[test]
fn positions_that_are_fixed() -> Result<(), Error> {
    let mut g = Graph::new();
    let x = g.data("x", "4 | 2")?;
    refused(
        g.slice(x, SliceIndex::At(4)),
        &expect![[r#"
        Arithmetic: `slice(x, 4)`: position 4 is beyond the batch axis of `x`, of size 4 (0 to 3)
          4: the batch axis of `x`, declared `4 | 2`
        help: positions count from 0
    "#]],
    );
    refused(
        g.slice(x, SliceIndex::Run { range: Some(5) }),
        &expect![[r#"
        Mismatch: `slice(x, range 5)`: 5 and 4 do not agree
          5: the range of the index
          4: the batch axis of `x`, declared `4 | 2`
    "#]],
    );
    Ok(())
}

/// The conflict is one operation away from the declaration without axes.
#[test]
fn a_product_of_a_number() -> Result<(), Error> {
    let mut g = Graph::new();
    let (n, x, m) = (g.data("n", "|")?, g.data("x", "3")?, g.data("m", "5, 6")?);
    let sign = g.sign(n)?;
    let further = g.relu(sign)?;
    g.einsum("; i => i", &[further, x])?;
    assert!(g.compose(sign, m).is_err());
    Ok(())
}

#[test]
fn gradients() -> Result<(), Error> {
    let mut g = Graph::new();
    let (x, w) = (g.data("x", "8 | 3")?, g.param_shaped("w", "3")?);
    let product = g.mul(x, w)?;
    g.name(product, "product");
    let of_data = g.einsum("... | ... =>", &[x])?;
    let floor = g.floor(product)?;
    let stopped = g.einsum("... | ... =>", &[floor])?;
    g.name(stopped, "stopped");
    let routines = [product, of_data, stopped].map(|loss| {
        let mut routine = Routine::new("train");
        routine.backward(&mut g, loss).expect("it is of this graph");
        routine
    });
    let mut session = session(g);
    session.set(x, &array(&[8, 3], &[0.0; 24]))?;
    refused(
        session.run(&routines[0]),
        &expect![[r#"
            Use: routine `train`: gradients are of one number, but `product` has shape `8 | 3`
              `product` is `8 | 3`
            help: sum it up first, for example by the spec `... | ... => 0`
        "#]],
    );
    refused(
        session.run(&routines[1]),
        &expect![[r#"
        Use: routine `train`: `einsum("... | ... =>", x)` depends on no parameter, so it has no gradients
        help: ask for the gradient of other tensors with `gradient`
    "#]],
    );
    refused(
        session.run(&routines[2]),
        &expect![[r#"
        Use: routine `train`: `stopped` depends on no parameter, so it has no gradients
        help: ask for the gradient of other tensors with `gradient`
    "#]],
    );
    Ok(())
}

/// Runs one pointwise operation with an unknown name.
fn unknown(name: &'static str, operands: usize, expected: &Expect) -> Result<(), Error> {
    let mut g = Graph::new();
    let x = g.array("x", "2", array(&[2], &[1.0, 2.0]))?;
    let y = g.pointwise(name, &vec![x; operands])?;
    let mut routine = Routine::new("run");
    routine.forward(y);
    refused(session(g).run(&routine), expected);
    Ok(())
}

#[test]
fn operations_that_are_not_known() -> Result<(), Error> {
    unknown(
        "softplus",
        1,
        &expect![[r#"
        Use: routine `run`: `softplus(x)`: there is no operation `softplus` of 1 operands that could be run
        help: say what it computes: `Operation::new(name, operands).forward("v = …")`, and `apply` it
    "#]],
    )?;
    unknown(
        "exp",
        2,
        &expect![[r#"
        Use: routine `run`: `exp(x, x)`: there is no operation `exp` of 2 operands that could be run
        help: say what it computes: `Operation::new(name, operands).forward("v = …")`, and `apply` it
    "#]],
    )?;
    unknown(
        "+",
        3,
        &expect![[r#"
        Use: routine `run`: `+(x, x, x)`: there is no operation `+` of 3 operands that could be run
        help: say what it computes: `Operation::new(name, operands).forward("v = …")`, and `apply` it
    "#]],
    )
}

#[test]
fn operations_that_are_wrongly_used() -> Result<(), Error> {
    let mut g = Graph::new();
    let (x, y) = (g.data("x", "2")?, g.data("y", "2")?);
    let double = Operation::new("double", 1).forward("v = 2 * v1")?;
    refused(
        g.apply(&double, &[x, y]),
        &expect![[r#"
            Use: the operation `double` takes 1 operand, 2 given
        "#]],
    );
    refused(
        g.apply_by(&double, "i; i => i", &[x, y], &SpecOptions::default()),
        &expect![[r#"
            Use: the operation `double` takes 1 operand, 2 given
        "#]],
    );
    refused(
        g.pointwise("relu", &[]),
        &expect![[r#"
        Use: `relu` needs an operand
    "#]],
    );
    Ok(())
}

#[test]
fn operations_that_compute_nothing() -> Result<(), Error> {
    let mut g = Graph::new();
    let x = g.array("x", "2", array(&[2], &[1.0, 2.0]))?;
    let run = g.apply(&Operation::new("empty", 1), &[x]).and_then(|result| {
        let mut routine = Routine::new("run");
        routine.forward(result);
        session(g).run(&routine)
    });
    assert!(run.is_err());
    Ok(())
}

#[test]
fn a_tensor_of_an_operation_that_is_read_too_early() -> Result<(), Error> {
    let early = Operation::new("early", 1).forward("v = mine + v1; mine = v1")?;
    let mut g = Graph::new();
    let x = g.array("x", "2", array(&[2], &[1.0, 2.0]))?;
    let y = g.apply(&early, &[x])?;
    let mut routine = Routine::new("run");
    routine.forward(y);
    refused(
        session(g).run(&routine),
        &expect![[r#"
        Use: routine `run`: `early(x)`: `mine` is read before it is assigned
    "#]],
    );
    Ok(())
}

#[test]
fn operations_that_are_misdefined() {
    let new = || Operation::new("mine", 2);
    let check = |made: Result<Operation, Error>, expected: Expect| refused(made, &expected);
    check(
        new().forward("w = v1"),
        expect![[r#"
            Use: the operation `mine`: nothing is assigned to `v`, the result
            help: write a line `v = …`
        "#]],
    );
    check(
        new().forward("v1 = v2"),
        expect![[r#"
        Use: the operation `mine`: `v1` cannot be assigned here
        help: assign to `v`, or to a name of your own, without braces
    "#]],
    );
    check(
        new().forward("v = v3"),
        expect![[r#"
        Use: the operation `mine`: `v3` is beyond its 2 operands
        help: the second argument of `Operation::new` is their number
    "#]],
    );
    check(
        new().forward("v = g"),
        expect![[r#"
        Use: the operation `mine`: there are no gradients when values are computed
    "#]],
    );
    check(
        new().forward("{v} = v1"),
        expect![[r#"
            Use: the operation `mine`: a slot is no new tensor
            help: write it without braces
        "#]],
    );
    check(
        new().forward("like_rhs3 = v1; v = like_rhs3"),
        expect![[r#"
        Use: the operation `mine`: `like_rhs3` is beyond its 2 operands
        help: the second argument of `Operation::new` is their number
    "#]],
    );
    check(
        new().forward("v = v1 +"),
        expect![[r#"
        Notation: the operation `mine`: a number, a name or `(` is expected
          v = v1 +
                  ^
        help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
    "#]],
    );
    check(
        new().gradient("g1 = g"),
        expect![[r#"
            Use: the operation `mine`: a gradient would be overwritten
            help: write `g1 =+ …` or `g1 =- …`: other uses of the operand contribute as well
        "#]],
    );
    check(
        new().gradient("g1 =:+ g"),
        expect![[r#"
            Use: the operation `mine`: a gradient would be overwritten
            help: write `g1 =+ …` or `g1 =- …`: other uses of the operand contribute as well
        "#]],
    );
    check(
        new().gradient("v1 =+ g"),
        expect![[r#"
        Use: the operation `mine`: `v1` cannot be assigned here
        help: assign to `g1`, `g2`, …, or to a name of your own, without braces
    "#]],
    );
    check(
        new().gradient("g =+ g1"),
        expect![[r#"
        Use: the operation `mine`: `g` cannot be assigned here
        help: assign to `g1`, `g2`, …, or to a name of your own, without braces
    "#]],
    );
}

#[test]
fn conversions_that_change_the_number_of_elements() -> Result<(), Error> {
    let mut g = Graph::new();
    let (x, t) = (g.data("x", "6")?, g.data("t", "3, 8")?);
    let y = g.convert(x, 4, 1)?;
    g.add(y, t)?;
    let mut routine = Routine::new("run");
    routine.forward(y);
    refused(
        session(g).run(&routine),
        &expect![[r#"
        Use: routine `run`: `convert(x, 4, 1)`: a conversion that changes the number of elements has no loop nest
          6 elements: `x`, of shape `6`
          24 elements: the result, of shape `3, 8`
        help: convert `x` before the program runs, and declare the result as data
        help: to change the shape only, keep the number of elements: `g.reshape(x)`
    "#]],
    );
    Ok(())
}

/// The first tensor with a NaN is named.
#[test]
fn a_guard_against_what_is_not_a_number() -> Result<(), Error> {
    let messages = in_every_way(|settings| {
        let b = Builder::new();
        let x = b.data("x", "2");
        let scaled = x.log().named("logarithm") * 2.0;
        let root = b.param_shaped("w", "2").sqrt();
        let loss = (scaled + root * 0.0).sum("i =>").named("loss");
        let (x, loss) = (x.tensor(), loss.tensor());
        let mut g = b.finish()?;
        let mut train = Routine::new("train");
        train.backward(&mut g, loss)?;
        let mut session = Session::with(g, Settings { guard: true, ..settings })?;
        // A logarithm that does not exist; data with a NaN; and a parameter of 0, where the root is
        // steep: its gradient is 0 times infinity.
        [[1.0, -1.0], [1.0, f64::NAN], [1.0, 2.0]]
            .iter()
            .map(|values| {
                session.set(x, &array(&[2], values))?;
                Ok(session.run(&train).expect_err("something is not a number"))
            })
            .collect()
    })?;
    expect![[r#"
        Value: `logarithm` is not a number at element 1
        help: it is the first in the order of computation; look at what it is computed from
        Value: `x` is not a number at element 1
        help: it is the first in the order of computation; look at what it is computed from
        Value: the gradient of `w` is not a number at element 0
        help: it is the first in the order of computation; look at what it is computed from
    "#]]
    .assert_eq(&messages);
    Ok(())
}
