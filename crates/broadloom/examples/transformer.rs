//! A decoder-only transformer, with the number of its blocks from the command line.
//!
//!     cargo run --release -p broadloom --example transformer -- 2
//!
//! No weight has a written shape. Each free choice is stated once, where it has a name: the width
//! of the model, the heads and their size, the hidden size. The rest follows.

use std::process::ExitCode;
use std::time::Instant;

use broadloom::{Error, Graph, Tensor};

const WIDTH: u64 = 64;
const HEADS: u64 = 4;
const HEAD_SIZE: u64 = 16;
const HIDDEN: u64 = 256;

fn main() -> ExitCode {
    let blocks = std::env::args().nth(1).map_or(Ok(2), |argument| argument.parse());
    let Ok(blocks) = blocks else {
        eprintln!("usage: transformer [BLOCKS]");
        return ExitCode::FAILURE;
    };
    match run(blocks) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(blocks: usize) -> Result<(), Error> {
    let start = Instant::now();
    let mut model = Model::default();
    let logits = model.decoder(blocks)?;
    let built = start.elapsed();
    let shapes = model.graph.final_shapes()?;
    let closed = start.elapsed();

    // Parameters of one name and one shape are shown once.
    let mut rows: Vec<(&str, String, u64, u64)> = Vec::new();
    for (name, tensor) in &model.params {
        let (shape, elements) = (shapes.get(*tensor).to_string(), shapes.get(*tensor).elements());
        match rows.iter_mut().find(|row| row.0 == *name && row.1 == shape) {
            Some(row) => row.3 += 1,
            None => rows.push((name, shape, elements, 1)),
        }
    }
    println!("{:12}{:<18}{:>9}{:>9}", "parameter", "inferred shape", "elements", "copies");
    for (name, shape, elements, copies) in &rows {
        println!("{name:12}{shape:<18}{elements:>9}{copies:>9}");
    }
    let total: u64 = rows.iter().map(|(_, _, elements, copies)| elements * copies).sum();
    let operations = model.graph.len() - model.leaves;
    let plural = if blocks == 1 { "" } else { "s" };
    println!("\n{blocks} block{plural}, {total} parameters; the logits are {}", shapes.get(logits));
    println!(
        "{operations} operations built in {:.1?}, closed in {:.1?}: {:.2} µs an operation",
        built,
        closed - built,
        closed.as_secs_f64() * 1e6 / operations as f64
    );
    Ok(())
}

/// A graph, and the data of the table.
#[derive(Default)]
struct Model {
    graph: Graph,
    params: Vec<(&'static str, Tensor)>,
    leaves: usize,
}

impl Model {
    fn decoder(&mut self, blocks: usize) -> Result<Tensor, Error> {
        // Tokens and vocabulary broadcast to a one-hot row for each token.
        let tokens = self.data("tokens", "8, 128 |")?;
        let vocabulary = self.data("vocabulary", "1000")?;
        let mask = self.data("mask", "128 | 128 ->")?;
        let one_hot = self.graph.equals(tokens, vocabulary)?;
        let embed = self.param("embed");
        let mut x = self.graph.einsum("v -> m; ... | v => ... | m", &[embed, one_hot])?;
        self.set(x, "m", WIDTH)?;
        for _ in 0..blocks {
            let normed = self.norm(x)?;
            let attended = self.attention(normed, mask)?;
            x = self.graph.add(x, attended)?;
            let normed = self.norm(x)?;
            let fed = self.feed_forward(normed)?;
            x = self.graph.add(x, fed)?;
        }
        let x = self.norm(x)?;
        // The transposed embedding: `embed` is used twice, and has one shape.
        let unembed = self.graph.transpose(embed)?;
        self.graph.compose(unembed, x)
    }

    fn norm(&mut self, x: Tensor) -> Result<Tensor, Error> {
        let (gain, shift, width) = (self.param("gain"), self.param("shift"), self.number(WIDTH as f64));
        let g = &mut self.graph;
        let sum = g.einsum("... | m => ... | 0", &[x])?;
        let mean = g.div(sum, width)?;
        let centred = g.sub(x, mean)?;
        let square = g.mul(centred, centred)?;
        let sum = g.einsum("... | m => ... | 0", &[square])?;
        let variance = g.div(sum, width)?;
        let deviation = g.sqrt(variance)?;
        let normal = g.div(centred, deviation)?;
        let scaled = g.mul(gain, normal)?;
        g.add(scaled, shift)
    }

    fn attention(&mut self, x: Tensor, mask: Tensor) -> Result<Tensor, Error> {
        let (query, key, value, out) =
            (self.param("query"), self.param("key"), self.param("value"), self.param("out"));
        let queries = self.graph.compose(query, x)?;
        let keys = self.graph.compose(key, x)?;
        let values = self.graph.compose(value, x)?;
        let scores = self.graph.einsum("... s | h d; ... t | h d => ... s | t -> h", &[queries, keys])?;
        self.set(scores, "h", HEADS)?;
        self.set(scores, "d", HEAD_SIZE)?;
        let masked = self.graph.add(scores, mask)?;
        let exponentials = self.graph.exp(masked)?;
        let sum = self.graph.einsum("... | t -> ... => ... | 0 -> ...", &[exponentials])?;
        let weights = self.graph.div(exponentials, sum)?;
        let mixed = self.graph.einsum("... s | t -> h; ... t | h e => ... s | h e", &[weights, values])?;
        self.set(mixed, "e", HEAD_SIZE)?;
        self.graph.compose(out, mixed)
    }

    fn feed_forward(&mut self, x: Tensor) -> Result<Tensor, Error> {
        let (up, up_bias, down) = (self.param("up"), self.param("up_bias"), self.param("down"));
        let hidden = self.graph.einsum("m -> f; ... | m => ... | f", &[up, x])?;
        self.set(hidden, "f", HIDDEN)?;
        let hidden = self.graph.add(hidden, up_bias)?;
        let hidden = self.graph.relu(hidden)?;
        self.graph.compose(down, hidden)
    }

    fn data(&mut self, name: &str, shape: &str) -> Result<Tensor, Error> {
        self.leaves += 1;
        self.graph.data(name, shape)
    }

    fn number(&mut self, value: f64) -> Tensor {
        self.leaves += 1;
        self.graph.number(value)
    }

    fn param(&mut self, name: &'static str) -> Tensor {
        self.leaves += 1;
        let tensor = self.graph.param(name);
        self.params.push((name, tensor));
        tensor
    }

    /// Sets the size of a label of the spec that made a tensor.
    fn set(&mut self, tensor: Tensor, label: &str, size: u64) -> Result<(), Error> {
        let captured = self.graph.captured(tensor, label)?;
        self.graph.set(captured, size)
    }
}
