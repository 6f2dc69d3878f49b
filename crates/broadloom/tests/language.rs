//! The language of the test programs itself: the expansion of functions, and messages about
//! mistakes.

use crate::support;

use expect_test::{Expect, expect};
use support::run::{Run, Stop};

/// Compares the outcome of a program: its named shapes, or the reason why it stops.
fn check(text: &str, expected: Expect) {
    let outcome = support::read(text).and_then(|program| match Run::of(&program) {
        Ok(mut run) => run.final_shapes().map_err(|error| error.to_string()),
        Err(Stop::Language(message)) => Err(message),
        Err(Stop::Refused(error)) => Err(format!("refused: {}", error.message())),
    });
    let lines = |shapes: std::collections::BTreeMap<String, String>| {
        shapes.iter().map(|(name, shape)| format!("{name} : {shape}")).collect::<Vec<_>>().join("\n")
    };
    expected.assert_eq(&outcome.map_or_else(|message| message, lines));
}

#[test]
fn operators_bind_as_usual() {
    check(
        "a = data 2 | 3 -> 3\nb = data 2 | 3\ny = -b + a @ b * 2 ** 2 - (b - 1) / 2",
        expect![[r#"
            a : 2 | 3 -> 3
            b : 2 | 3
            y : 2 | 3"#]],
    );
}

#[test]
fn a_function_gives_names_of_the_call() {
    let program = "
def layer(x, n):
  w = param
  b = param n
  return relu(w @ x + b)
x = data 8 | 5
y = layer(x, 7)
z = y + layer(relu(y), 7)";
    check(
        program,
        expect![[r#"
            x : 8 | 5
            y : 8 | 7
            y.b : 7
            y.w : 5 -> 7
            z : 8 | 7
            z.layer.b : 7
            z.layer.w : 7 -> 7
            z.layer.x : 8 | 7"#]],
    );
}

#[test]
fn functions_call_functions() {
    let program = "
def double(x):
  return x + x
def four(x):
  y = double(x)
  return double(y)
x = data 3
z = four(x)";
    check(
        program,
        expect![[r#"
            x : 3
            z : 3
            z.y : 3"#]],
    );
}

#[test]
fn keywords_are_names_too() {
    check(
        "scale = data 3\nset = scale + 1",
        expect![[r#"
        scale : 3
        set : 3"#]],
    );
}

#[test]
fn refusals_of_the_library_are_not_mistakes_of_the_language() {
    check(
        "a = data 3\nb = data 4\ny = a + b",
        expect!["refused: `a + b`: the last output axis of the result cannot be both 3 and 4"],
    );
}

#[test]
fn mistakes_are_told_with_their_line() {
    check("x = data 3\ny = x + z", expect!["line 2: `z` is not defined"]);
    check("x = data 3\nx = data 4", expect!["line 2: `x` is defined twice"]);
    check("x = data 3\ny = x +", expect!["line 2: expected a value, found the end: y = x +"]);
    check("x = data 3\ny = (x + 1", expect!["line 2: expected `)`, found the end: y = (x + 1"]);
    check("x = data 3\ny = x x", expect!["line 2: `x` is too much: y = x x"]);
    check("x = data 3\ny = x ? 1", expect!["line 2: `?` means nothing here: y = x ? 1"]);
    check(
        "x = data 3\ny = einsum(\"i => i, x)",
        expect!["line 2: a text without a closing quote: y = einsum(\"i => i, x)"],
    );
    check("x = data 3\ny = frobnicate(x)", expect!["line 2: there is no function `frobnicate`"]);
    check("x = data 3\ny = max(x)", expect!["line 2: `max` is for 2 tensors"]);
    check("x = data 3\ny = einsum(x)", expect!["line 2: `einsum` begins with a spec in quotes"]);
    check("x = data 3\np, q = x + 1", expect!["line 2: 2 names for 1 results"]);
    check("x = data ... count many", expect!["line 1: `many` is not a size: x = data ... count many"]);
    check("c = constant one", expect!["line 1: `one` is not a number: c = constant one"]);
    check("set h = 3", expect!["line 1: expected a name, found `=`: set h = 3"]);
    check("hello", expect!["line 1: neither a definition `name = …` nor set, equal, scale, square: hello"]);
    check("  x = data 3", expect!["line 1: an indented line outside of a function: x = data 3"]);
    check("3x = data 3", expect!["line 1: `3x` is not a name: 3x = data 3"]);
}

#[test]
fn mistakes_in_functions() {
    check("def f(x):\n  y = x + 1", expect!["line 1: no `return` at the end: def f(x):"]);
    check("def f x:\n  return x", expect!["line 1: a function begins `def name(a, b):`: def f x:"]);
    check("def f(x):\n  return x +\n", expect!["line 2: expected a value, found the end: return x +"]);
    check("def f(x):\n  return x\na = data 3\ny = f(a, a)", expect!["line 4: `f` is for 1 arguments"]);
    check("def f(x):\n  return f(x)\na = data 3\ny = f(a)", expect!["line 4: `f` calls itself"]);
    check(
        "def f(x):\n  x = x + 1\n  return x\na = data 3\ny = f(a)",
        expect!["line 5: `f` gives its parameter `x` another meaning"],
    );
    check(
        "def f(x):\n  w = param\n  return w * x\na = data 3\ny = f(a) + f(a)",
        expect!["line 2: `y.f.w` is defined twice"],
    );
}
