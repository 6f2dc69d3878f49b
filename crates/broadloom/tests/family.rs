//! One compiled program for every size: training steps of networks whose batch, and whose sequence, is an argument of
//! the code, against the same networks compiled for each size by themselves.

use broadloom::blocks::{Mode, TransformerConfig, decoder_only, softmax};
use broadloom::{Array, Backend, Builder, Error, Graph, Routine, Session, Settings, Sgd};
use broadloom_loops::{Block, Buffer, Program};
use broadloom_native::{self as native, Compiler};

/// A network for some sizes, and a step of its training.
type Network = fn(&Builder, &[u64]) -> broadloom::Tensor;

fn perceptron(b: &Builder, sizes: &[u64]) -> broadloom::Tensor {
    let (x, target) =
        (b.data("x", &format!("{} | 20", sizes[0])), b.data("target", &format!("{} | 5", sizes[0])));
    let hidden = (b.param("w1").compose(x) + b.param_shaped("b1", "16")).relu();
    let y = b.param("w2").compose(hidden) + b.param_shaped("b2", "5");
    (softmax(y, "... | v") - target).square().sum("..b.. | o => 0").tensor()
}

fn transformer(b: &Builder, sizes: &[u64]) -> broadloom::Tensor {
    let words = b.data("words", &format!("{}, {} |", sizes[0], sizes[1]));
    let model = decoder_only(b, "model", 11, 8, &TransformerConfig::new(1, 2, 12));
    model.apply(words, Mode::Training).square().sum("... | v => |").tensor()
}

/// A convolution over an image whose height is an argument.
fn convolution(b: &Builder, sizes: &[u64]) -> broadloom::Tensor {
    let image = b.data("image", &format!("2 | {}, 9, 3", sizes[0]));
    let kernel = b.param_shaped("kernel", "3, 3, 3 -> 4");
    let y = b.einsum("... | oh=+kh, ow=+kw, ic; kh, kw, ic -> oc => ... | oh, ow, oc", &[image, kernel]);
    y.relu().square().sum("... | ... => |").tensor()
}

fn program(network: Network, sizes: &[u64]) -> Result<Program, Error> {
    let b = Builder::new();
    let loss = network(&b, sizes);
    let mut graph: Graph = b.finish()?;
    let mut train = Routine::new("train");
    train.backward(&mut graph, loss)?;
    let (rate, params) = (graph.number(0.001), graph.params());
    Sgd { momentum: 0.9, ..Sgd::default() }.update(&mut graph, &mut train, &params, rate)?;
    let settings = Settings { backend: Backend::Reference, ..Settings::default() };
    Session::with(graph, settings)?.program(&train)
}

/// Blocks with numbers that depend on their places.
fn blocks<'a>(buffers: impl Iterator<Item = &'a Buffer>) -> Vec<Block> {
    let filled = |(number, buffer): (usize, &Buffer)| {
        let count: u64 = buffer.sizes.iter().product();
        let value = |at: u64| match buffer.dtype.is_float() {
            true => ((at * 7 + number as u64 * 13) % 17) as f64 * 0.01,
            false => (at % 11) as f64,
        };
        let values: Vec<f64> = (0..count).map(value).collect();
        let values = Array::from_slice(&buffer.sizes, &values).expect("so many numbers");
        let mut block = Block::new(buffer).expect("it is small");
        block.write(&values.convert(buffer.dtype)).expect("it has these sizes");
        block
    };
    buffers.enumerate().map(filled).collect()
}

fn check(network: Network, multiples: &[u64], all_sizes: &[&[u64]]) {
    let Ok(compiler) = Compiler::find() else { return };
    let make = |sizes: &[u64]| {
        program(network, sizes).map_err(|error| native::Error::Program { message: error.to_string() })
    };
    let mut family = compiler.compile_family(multiples, make).expect("no size decides anything");
    for sizes in all_sizes {
        let own = program(network, sizes).expect("it is in order");
        let mut special = compiler.compile(&own).expect("it compiles");
        family.resize(sizes).expect("it is small");
        let (mut one, mut other) = (blocks(family.kept()), blocks(special.kept()));
        let places: Vec<usize> = (0..one.len()).collect();
        let symbols = vec![0; own.symbols.len()];
        family.run(&mut one, &places, &symbols).expect("it runs");
        special.run(&mut other, &places, &symbols).expect("it runs");
        for ((a, b), buffer) in one.iter().zip(&other).zip(special.kept()) {
            for (a, b) in a.read().to_f64s().into_iter().zip(b.read().to_f64s()) {
                assert!((a - b).abs() <= 2e-5 * (1.0 + b.abs()), "{}: {a} and {b} at {sizes:?}", buffer.name);
            }
        }
    }
}

#[test]
fn a_perceptron_for_every_batch() {
    check(perceptron, &[1], &[&[16], &[1], &[3], &[64], &[2]]);
}

#[test]
fn a_transformer_for_every_batch_and_length() {
    check(transformer, &[1, 1], &[&[2, 5], &[1, 1], &[7, 3], &[4, 8]]);
}

#[test]
fn a_convolution_for_every_height() {
    check(convolution, &[1], &[&[8], &[3], &[1], &[20]]);
}

/// A program that was told no sizes does not run, and one that has none cannot be told any.
#[test]
fn sizes_are_said_before_a_run() {
    let Ok(compiler) = Compiler::find() else { return };
    let make = |sizes: &[u64]| {
        program(perceptron, sizes).map_err(|error| native::Error::Program { message: error.to_string() })
    };
    let mut family = compiler.compile_family(&[1], make).expect("no size decides anything");
    assert!(family.run(&mut [], &[], &[]).is_err());
    assert!(family.resize(&[1, 2]).is_err());
    assert!(family.resize(&[u64::MAX]).is_err());
    let own = program(perceptron, &[4]).expect("it is in order");
    assert!(compiler.compile(&own).expect("it compiles").resize(&[4]).is_err());
}
