//! Assignments that are malformed, or that do not fit.

use broadloom::{Error, Graph, Routine};
use expect_test::{Expect, expect};

use crate::refusals::refused;

/// Assigns by some logic; nothing is left behind if it is refused.
fn assigned(logic: &str, text: &str, expected: &Expect) -> Result<(), Error> {
    let mut g = Graph::new();
    let (w, x, m) = (g.param_shaped("w", "3")?, g.data("x", "3")?, g.data("m", "3 -> 2")?);
    let mut routine = Routine::new("assign");
    let before = (g.len(), routine.clone());
    refused(routine.assign_by(&mut g, logic, text, &[("w", w), ("x", x), ("m", m)]), expected);
    assert_eq!(before, (g.len(), routine), "{text}");
    Ok(())
}

#[test]
fn texts() -> Result<(), Error> {
    assigned(
        ".",
        "w",
        &expect![[r#"
        Notation: `=` is expected
          w
           ^
        help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
    "#]],
    )?;
    assigned(
        ".",
        "w =",
        &expect![[r#"
        Notation: a number, a name or `(` is expected
          w =
             ^
        help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
    "#]],
    )?;
    assigned(
        ".",
        "= x",
        &expect![[r#"
        Notation: the name of a target is expected
          = x
          ^
        help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
    "#]],
    )?;
    assigned(
        ".",
        "w += x",
        &expect![[r#"
            Notation: `+=` is written `=+`: the accumulator stands after `=`
              w += x
                ^
            help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
        "#]],
    )?;
    assigned(
        ".",
        "w == x",
        &expect![[r#"
        Notation: a number, a name or `(` is expected
          w == x
             ^
        help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
    "#]],
    )?;
    assigned(
        ".",
        "w = x x",
        &expect![[r#"
            Notation: an operator, `;` or the end is expected
              w = x x
                    ^
            help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
        "#]],
    )?;
    assigned(
        ".",
        "w = (x",
        &expect![[r#"
        Notation: `)` is expected
          w = (x
                ^
        help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
    "#]],
    )?;
    assigned(
        ".",
        "w = x)",
        &expect![[r#"
            Notation: an operator, `;` or the end is expected
              w = x)
                   ^
            help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
        "#]],
    )?;
    assigned(
        ".",
        "w = 2x",
        &expect![[r#"
            Notation: an operator, `;` or the end is expected
              w = 2x
                   ^
            help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
        "#]],
    )?;
    assigned(
        ".",
        "w = 1.2.3",
        &expect![[r#"
        Notation: this is not a number
          w = 1.2.3
              ^
        help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
    "#]],
    )?;
    assigned(
        ".",
        "w = softplus(x)",
        &expect![[r#"
        Notation: there is no function `softplus` of 1 argument
          w = softplus(x)
              ^
        help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
    "#]],
    )?;
    assigned(
        ".",
        "w = exp(x, x)",
        &expect![[r#"
        Notation: there is no function `exp` of 2 arguments
          w = exp(x, x)
              ^
        help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
    "#]],
    )?;
    assigned(
        ".",
        "w = x @ x",
        &expect![[r#"
            Notation: an operator, `;` or the end is expected
              w = x @ x
                    ^
            help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
        "#]],
    )?;
    assigned(
        ".",
        "w =^ x",
        &expect![[r#"
        Notation: a number, a name or `(` is expected
          w =^ x
             ^
        help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
    "#]],
    )?;
    assigned(
        ".",
        "{w = x",
        &expect![[r#"
        Notation: `}` is expected
          {w = x
             ^
        help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
    "#]],
    )?;
    assigned(
        ".",
        "w = x; ; y",
        &expect![[r#"
        Notation: `=` is expected
          w = x; ; y
                    ^
        help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
    "#]],
    )?;
    assigned(
        ".",
        "w = x ^ 2",
        &expect![[r#"
            Notation: an operator, `;` or the end is expected
              w = x ^ 2
                    ^
            help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
        "#]],
    )
}

#[test]
fn names() -> Result<(), Error> {
    assigned(
        ".",
        "y = x",
        &expect![[r#"
        Use: there is no tensor for the name `y`
        help: names are bound in the last argument: `&[("name", tensor)]`
        help: write `{y}` for a new tensor
    "#]],
    )?;
    assigned(
        ".",
        "w = y",
        &expect![[r#"
        Use: there is no tensor for the name `y`
        help: names are bound in the last argument: `&[("name", tensor)]`
    "#]],
    )?;
    assigned(
        ".",
        "w = x; w =+ {x}",
        &expect![[r#"
        Notation: a number, a name or `(` is expected
          w = x; w =+ {x}
                      ^
        help: an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first
    "#]],
    )
}

#[test]
fn logics() -> Result<(), Error> {
    assigned(
        "@",
        "w =:+ x",
        &expect![[r#"
            Use: the logic `@` takes 2 operands; on the right there are 1
        "#]],
    )?;
    assigned(
        "T",
        "w = x + m",
        &expect![[r#"
            Use: the logic `T` takes 1 operand; on the right there are 2
        "#]],
    )?;
    assigned(
        "i j => j",
        "w =:+ x + m",
        &expect![[r#"
        Use: the spec `i j => j` is for 1 operand, but 2 are given
          given: `x`, `m`
        help: operands are separated by `;` before `=>`: `a; b => c` is for two
    "#]],
    )?;
    assigned(
        "*",
        "w = x",
        &expect![[r#"
        Notation: the spec of `assign(…, x)`: a spec says what the result is, after `=>`
         --> 1:2
          |
        1 | *
          |  ^ expected `=>`, found the end
        help: write `* => …`; without a result this is only the shape of one tensor
    "#]],
    )
}

#[test]
fn shapes() -> Result<(), Error> {
    assigned(
        ".",
        "w = m",
        &expect![[r#"
            Mismatch: `w = m`: the input of `m` has 1 axis, but `w`, which it is assigned to, has no axes
              `m` is declared `3 -> 2`
              `w` is declared `3`
            help: declare `w` with these axes, or take a sum or a mean over them first: `g.mean("..b.. | ... => ...", &[x], &["b"])` leaves out the batch
        "#]],
    )?;
    assigned(
        "@",
        "w =:+ m * x",
        &expect![[r#"
            Mismatch: `w =:+ m * x`: 3 and 2 do not agree
              3: the output axis of `w`, declared `3`
              2: the output axis of `m`, declared `3 -> 2`
        "#]],
    )?;
    assigned(
        "i => i i",
        "w = x",
        &expect![[r#"
            Mismatch: `w = x`: `i i` in the spec has 2 axes for the output, but `w` has 1 axis
              `w` is declared `3`
            help: write one label for each axis, or `...` for any number of them
        "#]],
    )
}

/// A number in a formula is not an operand: it determines no shape.
#[test]
fn nothing_on_the_right() -> Result<(), Error> {
    let mut g = Graph::new();
    let w = g.param_shaped("w", "3")?;
    let mut routine = Routine::new("assign");
    routine.assign(&mut g, "w = 0", &[("w", w)])?;
    let mut session = crate::refusals::session(g);
    session.set(w, &crate::numbers::array(&[3], &[1.0, 2.0, 3.0]))?;
    session.run(&routine)?;
    assert_eq!(session.get(w)?.to_f64s(), [0.0; 3]);
    Ok(())
}
