//! The smallest program: a perceptron with two layers. No weight has a written shape.
//!
//!     cargo run --release -p broadloom --example layer

use broadloom::{Error, Graph};

fn main() -> Result<(), Error> {
    let mut g = Graph::new();
    let x = g.data("x", "32 | 784")?;
    let target = g.data("target", "32 | 10")?;
    let (w1, b1) = (g.param("w1"), g.param_shaped("b1", "64")?);
    let (w2, b2) = (g.param("w2"), g.param("b2"));

    let hidden = g.compose(w1, x)?;
    let hidden = g.add(hidden, b1)?;
    let hidden = g.relu(hidden)?;
    let logits = g.compose(w2, hidden)?;
    let logits = g.add(logits, b2)?;
    let difference = g.sub(logits, target)?;
    let square = g.mul(difference, difference)?;
    let loss = g.einsum("... | ... =>", &[square])?; // sums everything
    for (tensor, name) in [(hidden, "hidden"), (logits, "logits"), (loss, "loss")] {
        g.name(tensor, name);
    }

    let shapes = g.final_shapes()?;
    println!("{:8}{:>16}{:>12}", "tensor", "shape", "elements");
    for tensor in g.tensors() {
        // Tensors without a name are part of a longer expression.
        if let Some(name) = g.name_of(tensor) {
            let shape = shapes.get(tensor);
            println!("{name:8}{shape:>16}{:>12}", shape.elements());
        }
    }
    Ok(())
}
