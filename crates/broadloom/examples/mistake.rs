//! Three programs with mistakes, and their messages.
//!
//!     cargo run --release -p broadloom --example mistake

use broadloom::{Error, Graph, Shape};

fn main() {
    show("A residual connection around a layer of another width", residual());
    show("Nobody said how wide the hidden layer is", forgotten());
    show("A product written as in Python", python());
}

fn show(what: &str, outcome: Result<Shape, Error>) {
    println!("{what}\n");
    match outcome {
        Ok(shape) => println!("    shape {shape}\n"),
        Err(error) => {
            for line in error.to_string().lines() {
                println!("    {line}");
            }
            println!();
        }
    }
}

/// `x + relu(w @ x)`: the sum is refused when it is added, and the graph remains usable without it.
fn residual() -> Result<Shape, Error> {
    let mut g = Graph::new();
    let (x, w) = (g.data("x", "32 | 64")?, g.data("w", "64 -> 48")?);
    let inner = g.compose(w, x)?;
    let inner = g.relu(inner)?;
    let sum = g.add(x, inner)?;
    g.final_shape(sum)
}

/// `w2 @ relu(w1 @ x) - target`: every operation is possible, so only the final shape is refused.
fn forgotten() -> Result<Shape, Error> {
    let mut g = Graph::new();
    let (x, target) = (g.data("x", "32 | 784")?, g.data("target", "32 | 10")?);
    let (w1, w2) = (g.param("w1"), g.param("w2"));
    let hidden = g.compose(w1, x)?;
    let hidden = g.relu(hidden)?;
    let logits = g.compose(w2, hidden)?;
    let difference = g.sub(logits, target)?;
    g.final_shape(difference)
}

/// Operands are separated by `;`, and the result follows `=>`.
fn python() -> Result<Shape, Error> {
    let mut g = Graph::new();
    let (a, b) = (g.data("a", "3, 4")?, g.data("b", "4, 5")?);
    let product = g.einsum("ij,jk->ik", &[a, b])?;
    g.final_shape(product)
}
