//! One compiled program for every size: training steps of networks whose batch, and whose sequence,
//! is an argument of the code, compared with the same networks compiled for each size separately.

use broadloom::blocks::{Mode, TransformerConfig, decoder_only, softmax};
use broadloom::{Array, Backend, Builder, Error, Graph, Routine, Session, Settings, Sgd};
use broadloom_loops::{Block, Buffer};
use broadloom_native::Compiler;

/// A network over named sizes.
type Network = fn(&Builder) -> broadloom::Tensor;

fn perceptron(b: &Builder) -> broadloom::Tensor {
    b.dim("batch", 1..=64, 4);
    let (x, target) = (b.data("x", "batch | 20"), b.data("target", "batch | 5"));
    let hidden = (b.param("w1").compose(x) + b.param_shaped("b1", "16")).relu();
    let y = b.param("w2").compose(hidden) + b.param_shaped("b2", "5");
    (softmax(y, "... | v") - target).square().sum("..b.. | o => 0").tensor()
}

fn transformer(b: &Builder) -> broadloom::Tensor {
    b.dim("batch", 1..=64, 4);
    b.dim("seq", 1..=64, 4);
    let words = b.data("words", "batch, seq |");
    let model = decoder_only(b, "model", 11, 8, &TransformerConfig::new(1, 2, 12));
    model.apply(words, Mode::Training).square().sum("... | v => |").tensor()
}

/// A convolution over an image whose height is an argument.
fn convolution(b: &Builder) -> broadloom::Tensor {
    b.dim("height", 1..=64, 4);
    let image = b.data("image", "2 | height, 9, 3");
    let kernel = b.param_shaped("kernel", "3, 3, 3 -> 4");
    let y = b.einsum("... | oh=+kh, ow=+kw, ic; kh, kw, ic -> oc => ... | oh, ow, oc", &[image, kernel]);
    y.relu().square().sum("... | ... => |").tensor()
}

/// Two concatenated parts, transposed, and cut into pairs.
fn parts(b: &Builder) -> broadloom::Tensor {
    b.dim("rows", 1..=64, 4);
    b.dim("columns", 2..=64, 4);
    let (x, y) = (b.data("x", "rows | columns"), b.data("y", "rows | 3"));
    let both = b.einsum("... | a; ... | b => ... | a^b", &[x, y]) * b.param_shaped("scale", "");
    let turned = b.einsum("r | c => c | r", &[both]);
    let table = b.einsum("c | r; c | s => r | s", &[turned, turned]);
    table.square().sum("... | ... => |").tensor()
}

/// A step of the training of a network, in a session.
fn training(network: Network) -> Result<(Session, Routine), Error> {
    let b = Builder::new();
    let loss = network(&b);
    let mut graph: Graph = b.finish()?;
    let mut train = Routine::new("train");
    train.backward(&mut graph, loss)?;
    let (rate, params) = (graph.number(0.001), graph.params());
    Sgd { momentum: 0.9, ..Sgd::default() }.update(&mut graph, &mut train, &params, rate)?;
    let settings = Settings { backend: Backend::Reference, ..Settings::default() };
    Ok((Session::with(graph, settings)?, train))
}

/// Blocks with numbers that depend on their places.
fn blocks<'a>(buffers: impl Iterator<Item = &'a Buffer>) -> Vec<Block> {
    let filled = |(number, buffer): (usize, &Buffer)| {
        let count: u64 = buffer.shape().iter().product();
        let value = |at: u64| match buffer.dtype.is_float() {
            true => ((at * 7 + number as u64 * 13) % 17) as f64 * 0.01,
            false => (at % 11) as f64,
        };
        let values: Vec<f64> = (0..count).map(value).collect();
        let values = Array::from_slice(&buffer.shape(), &values).expect("so many numbers");
        let mut block = Block::new(buffer).expect("it is small");
        block.write(&values.convert(buffer.dtype)).expect("it has these sizes");
        block
    };
    buffers.enumerate().map(filled).collect()
}

/// Compares code for all sizes with code for each of them: of the program instantiated at these
/// sizes, and of the program derived for them.
fn check(network: Network, names: &[&str], all_sizes: &[&[u64]]) {
    let Ok(compiler) = Compiler::find() else { return };
    let (mut session, train) = training(network).expect("it is in order");
    let open = session.program_for_all_sizes(&train).expect("no size decides anything");
    let mut family = compiler.compile(&open).expect("no size decides anything");
    for sizes in all_sizes {
        let named: Vec<(&str, u64)> = names.iter().copied().zip(sizes.iter().copied()).collect();
        session.set_sizes(&named).expect("they are in range");
        let own = session.program(&train).expect("it is in order");
        let symbols = vec![3; own.symbols.len()];
        family.resize(sizes).expect("it is small");
        let mut results = blocks(family.kept());
        let places: Vec<usize> = (0..results.len()).collect();
        family.run(&mut results, &places, &symbols).expect("it runs");
        let at = open.at(sizes).expect("its sizes are numbers");
        for program in [at, own] {
            let mut special = compiler.compile(&program).expect("it compiles");
            let mut other = blocks(special.kept());
            special.run(&mut other, &places, &symbols).expect("it runs");
            for ((a, b), buffer) in results.iter().zip(&other).zip(special.kept()) {
                for (a, b) in a.read().to_f64s().into_iter().zip(b.read().to_f64s()) {
                    let close = (a - b).abs() <= 2e-5 * (1.0 + b.abs());
                    assert!(close, "{}: {a} and {b} at {sizes:?}", buffer.name);
                }
            }
        }
    }
}

#[test]
fn a_perceptron_for_every_batch() {
    check(perceptron, &["batch"], &[&[16], &[1], &[3], &[64], &[2]]);
}

#[test]
fn a_transformer_for_every_batch_and_length() {
    check(transformer, &["batch", "seq"], &[&[2, 5], &[1, 1], &[7, 3], &[4, 8]]);
}

#[test]
fn a_convolution_for_every_height() {
    check(convolution, &["height"], &[&[8], &[3], &[1], &[20]]);
}

#[test]
fn parts_for_all_numbers_of_rows_and_columns() {
    check(parts, &["rows", "columns"], &[&[4, 8], &[1, 2], &[64, 33], &[3, 64]]);
}

/// A program without its sizes does not run, and sizes cannot be set for a program that has none.
#[test]
fn sizes_are_said_before_a_run() {
    let Ok(compiler) = Compiler::find() else { return };
    let (mut session, train) = training(perceptron).expect("it is in order");
    let open = session.program_for_all_sizes(&train).expect("no size decides anything");
    let mut family = compiler.compile(&open).expect("no size decides anything");
    assert!(family.run(&mut [], &[], &[]).is_err());
    assert!(family.resize(&[1, 2]).is_err());
    assert!(family.resize(&[u64::MAX]).is_err());
    let own = session.program(&train).expect("it is in order");
    assert!(compiler.compile(&own).expect("it compiles").resize(&[4]).is_err());
}
