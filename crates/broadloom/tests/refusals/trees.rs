//! Specs and shapes that were read elsewhere are refused in the words for their texts.

use broadloom::spec::{ShapeBuilder, WrittenShape, WrittenSpec, parse_spec};
use broadloom::{DeclaredShape, Error, Graph, Logic, Notation, Routine, Tensor};

/// A graph with a table and a vector, and a declared shape.
fn graph() -> (Graph, [Tensor; 2]) {
    let mut g = Graph::new();
    let (x, v) = (g.data("x", "2, 3").expect("a table"), g.data("v", "4").expect("a vector"));
    (g, [x, v])
}

/// Everything that an error says.
fn said<T>(made: Result<T, Error>) -> Result<(), (String, Vec<String>)> {
    let ends = |error: &Error| error.ends().iter().map(ToString::to_string).collect();
    made.map(drop).map_err(|error| (error.to_string(), ends(&error)))
}

#[test]
fn shapes() {
    let texts = [
        "32 | 784",
        "",
        "()",
        "..r.. | n -> 3:rgb",
        "0",
        "3,,3",
        "n:rgb",
        "... ...",
        "2:unit",
        "r, ..r..",
        "1 | 2 | 3",
    ];
    for text in texts {
        let read = WrittenShape::read(text);
        let of = |shape: DeclaredShape<'_>| {
            let (mut g, [x, _]) = graph();
            let made = said(g.data("y", shape));
            let stated = said(g.declare_shape(x, shape));
            (made, stated, g.tensors().map(|tensor| g.shape(tensor).to_string()).collect::<Vec<_>>())
        };
        assert_eq!(of((&read).into()), of(text.into()), "{text}");
    }
}

#[test]
fn built_shapes_are_shown_as_they_are_written() {
    let (mut g, [x, _]) = graph();
    let shape = ShapeBuilder::new().size(2).expression("m", "(n + 1)").any().finish();
    let error = g.declare_shape(x, &shape).expect_err("another number of axes");
    assert!(error.to_string().contains("`x : 2, (n + 1), _`"), "{error}");
    let data = g.data("y", &shape).expect("data");
    assert!(g.captured(data, "m").is_ok());
}

#[test]
fn specs() {
    let texts = [
        "ij=>ji",
        "i  j;k => i",
        "i, j;  j => i",
        "i, j => i, k",
        "a^2 => a; 2",
        "..r..,i; i => ..r..",
        "... i => ... 0",
    ];
    for text in texts {
        let read = WrittenSpec::read(text).expect("a spec");
        let einsum = |spec: Notation<'_>, count: usize| {
            let (mut g, [x, v]) = graph();
            said(g.einsum(spec, &[x, v][..count]))
        };
        let assigned = |logic: Logic<'_>| {
            let (mut g, [x, v]) = graph();
            said(Routine::new("r").assign_by(&mut g, logic, "{y} =:+ x * v", &[("x", x), ("v", v)]))
        };
        for count in [1, 2] {
            assert_eq!(einsum((&read).into(), count), einsum(text.into(), count), "{text}");
            // A tree by itself is shown as it prints, wherever it was read.
            let tree = parse_spec(text).expect("a spec");
            assert_eq!(einsum((&tree).into(), count), einsum((&*tree.to_string()).into(), count), "{text}");
        }
        assert_eq!(assigned(Logic::Spec((&read).into())), assigned(text.into()), "{text}");
    }
    for text in ["... | i", "ij", "i, ..r.."] {
        let read = WrittenSpec::read_over(text).expect("a shape");
        let summed = |spec: Notation<'_>, count: usize| {
            let (mut g, [x, v]) = graph();
            said(g.einsum(spec, &[v, x][..count]))
        };
        for count in [1, 2] {
            assert_eq!(summed((&read).into(), count), summed(Notation::Over(text), count), "{text}");
        }
    }
}
