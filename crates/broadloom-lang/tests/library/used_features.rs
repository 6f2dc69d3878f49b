//! Features of the language that the library relies on.

use super::golden::{compiled, found, run};

/// Dropout keeps the mean, and draws again in every run.
#[test]
fn dropout() {
    let text = "
data x : 2000 = ones
let y = dropout(0.25)(x)
print mean(y), max(y)
repeat 2:
  print sum(y)
";
    let (_, printed) = run(compiled(text), Vec::new());
    let first: Vec<f64> = printed[0].split(' ').map(|word| word.parse().unwrap()).collect();
    assert!((first[0] - 1.0).abs() < 0.05 && (first[1] - 4.0 / 3.0).abs() < 1e-5, "{printed:?}");
    assert_ne!(printed[1], printed[2]);
}

/// Parameters are made once per layer, and not again under `inference`.
#[test]
fn layers_share_their_parameters() {
    let text = "
data x : 2, 5 | 8 = normal(1)
data short : 2, 3 | 8 = normal(1)
let model = [encoder_block(2, 16, rate = 0.1, rotation = rotary()) for i in 0..3]
let y = x |> model
let z = short |> model
def used(x) = x |> model
let w = inference(used)(x)
let p = learned_positions(7)(x)
print sum(y) + sum(z) + sum(w) + sum(p)
";
    let program = compiled(text);
    assert_eq!(program.graph.params().len(), 3 * 12 + 1);
    run(program, Vec::new());
}

/// Features of the language that the library relies on, and that other programs may use.
#[test]
fn what_the_library_relies_on() {
    let text = r#"
data x : 2 | 3 = [[1, 2, 3], [4, 5, 6]]
# A shape in place of a spec: over its names, with a unit in each place. Nothing: over everything.
print sum("... | v", x), max("b | ...", x), mean(x), product("b | v", x)
# Texts are filled in where they stand, and can be compared.
let axis = "i"
let spec = "b | {axis} => {axis}"
print sum(spec, x), axis == "i", axis != "j", axis == inferred, inferred == inferred
# A row of a shape by a list, a number, or inferred.
def wide(size = inferred)(x) = {w : ... -> ..size.. = ones} @ x
let lists = wide([2, 2])(x)
let one = wide(4)(x)
let free = wide()(x) + one
# What goes through a list goes through each of it; the rest is given to each.
def plus(x, y) = x + y
print [plus, plus](x, 10)
# A function without parameters may be configured anew in every application.
def scaled(factor)(x) = factor * x
def twice(x) = scaled(x)(x)
print twice(x), twice(2 * x)
# An index that reaches a part of an axis.
repeat step in 0..1:
  print x[step]
"#;
    let mut program = compiled(text);
    for (name, shape) in [("lists", "2 | 2, 2"), ("one", "2 | 4"), ("free", "2 | 4")] {
        let tensor = found(&program, name);
        assert_eq!(program.graph.final_shape(tensor).unwrap().to_string(), shape);
    }
    let (_, printed) = run(program, Vec::new());
    let wanted = [
        "[[ 6]\n [15]]\n[[4 5 6]] 3.5 720",
        "[5 7 9] 1 1 0 1",
        "[[21 22 23]\n [24 25 26]]",
        "[[ 1  4  9]\n [16 25 36]]\n[[  4  16  36]\n [ 64 100 144]]",
        "[1 2 3]",
    ];
    assert_eq!(printed, wanted);
}
