//! Programs that are run and timed beside NumPy and JAX: the cases of `compare/peers.py`, by the same names.

use broadloom::random::{key_of, normal_f64};
use broadloom::{
    Accumulate, Array, Builder, Error, Expr, Initial, Padding, Routine, Session, Settings, Sgd, SpecOptions,
};
use broadloom::{Graph, Tensor};
use broadloom_lang::{Options, compile};

/// A program that is run and timed.
pub struct Case {
    /// Its name, as in `peers.py`.
    pub name: &'static str,
    /// The amount of work of one run.
    pub work: Work,
    /// Prepares it for running.
    pub make: fn(Settings) -> Result<(Session, Routine), Error>,
}

/// The amount of work of a run.
#[derive(Clone, Copy)]
pub enum Work {
    /// Operations of products and convolutions.
    Flops(f64),
    /// Bytes that have to be read or written at least.
    Bytes(f64),
}

/// All cases.
pub const CASES: &[Case] = &[
    Case { name: "matmul_256", work: product(256), make: |settings| matmul(settings, 256) },
    Case { name: "matmul_512", work: product(512), make: |settings| matmul(settings, 512) },
    Case { name: "matmul_1024", work: product(1024), make: |settings| matmul(settings, 1024) },
    Case { name: "matmul_2048", work: product(2048), make: |settings| matmul(settings, 2048) },
    Case { name: "conv2d_c64", work: convolution(56, 64), make: |settings| conv2d(settings, 56, 64) },
    Case { name: "conv2d_c128", work: convolution(28, 128), make: |settings| conv2d(settings, 28, 128) },
    Case { name: "softmax", work: rows(4096, 1024), make: softmax_rows },
    Case { name: "layer_norm", work: rows(4096, 1024), make: layer_norm_rows },
    Case { name: "pointwise", work: rows(1, 4_194_304), make: pointwise },
    Case { name: "mlp_step", work: Work::Flops(2.0 * 128.0 * (3.0 * 668_672.0 - 401_408.0)), make: mlp_step },
    Case { name: "transformer_step", work: Work::Flops(TRANSFORMER), make: transformer_step },
    Case {
        name: "attention",
        work: Work::Flops(2.0 * 2048.0 * (4.0 * 512.0 * 512.0 + 2.0 * 512.0 * 512.0)),
        make: |settings| written(settings, include_str!("cases/attention.loom")),
    },
    Case {
        name: "conv_step",
        work: Work::Flops(CONVOLUTIONS),
        make: |settings| written(settings, include_str!("cases/conv_step.loom")),
    },
    Case {
        name: "lstm_step",
        work: Work::Flops(2.0 * 3200.0 * 512.0 * (2.0 * 64.0 + 3.0 * 128.0)),
        make: |settings| written(settings, include_str!("cases/lstm_step.loom")),
    },
    Case {
        name: "gpt2_step",
        work: Work::Flops(GPT2),
        make: |settings| written(settings, include_str!("cases/gpt2_step.loom")),
    },
];

/// A program of the language: its first step of training, or else everything that it computes.
fn written(settings: Settings, text: &str) -> Result<(Session, Routine), Error> {
    let program = compile("case.loom", text, &Options::default());
    assert!(
        program.is_ok(),
        "{:?}",
        program.diagnostics.iter().map(|wrong| &wrong.message).collect::<Vec<_>>()
    );
    let routine = program.routines().swap_remove(0);
    let mut ready = program.ready(&settings).unwrap_or_else(|wrong| panic!("{}", wrong.message));
    ready.give(&[]).unwrap_or_else(|wrong| panic!("{}", wrong.message));
    Ok((ready.session, routine))
}

const fn product(n: u64) -> Work {
    Work::Flops(2.0 * (n * n * n) as f64)
}

const fn convolution(side: u64, channels: u64) -> Work {
    Work::Flops(2.0 * (8 * side * side * 9 * channels * channels) as f64)
}

const fn rows(rows: u64, columns: u64) -> Work {
    Work::Bytes((2 * 4 * rows * columns) as f64)
}

/// Six blocks, then the head; forward once and backward twice.
const TRANSFORMER: f64 = {
    let (d, tokens) = (256.0, 512.0);
    let block = tokens * (4.0 * d * d + 2.0 * d * 1024.0) + 2.0 * tokens * 64.0 * d;
    3.0 * 2.0 * (6.0 * block + tokens * d * 512.0)
};

/// Four convolutions, the last two at a quarter of the positions, and a linear layer; nobody asks for the gradient of the images.
const CONVOLUTIONS: f64 = {
    let places = 9.0 * 32.0 * 32.0 * 32.0;
    let (first, rest) = (places * 3.0 * 32.0, places * (32.0 * 32.0 + (32.0 * 64.0 + 64.0 * 64.0) / 4.0));
    2.0 * (3.0 * (first + rest + 32.0 * 64.0 * 10.0) - first)
};

/// Twelve blocks, then the head.
const GPT2: f64 = {
    let (d, tokens) = (768.0, 128.0);
    let block = tokens * (4.0 * d * d + 2.0 * d * 3072.0) + 2.0 * tokens * tokens * d;
    3.0 * 2.0 * (12.0 * block + tokens * d * 50257.0)
};

/// Normal numbers.
fn normal(name: &str, sizes: &[u64], deviation: f64) -> Result<Array, Error> {
    let key = key_of(1, name);
    let count: u64 = sizes.iter().product();
    let values: Vec<f32> = (0..count).map(|at| (deviation * normal_f64(key, at)) as f32).collect();
    Ok(Array::from_slice(sizes, &values)?)
}

/// Integers below a bound.
fn whole(name: &str, sizes: &[u64], below: u64) -> Result<Array, Error> {
    let key = key_of(1, name);
    let count: u64 = sizes.iter().product();
    let uniform = broadloom::random::uniform_f64;
    let values: Vec<i64> = (0..count).map(|at| (uniform(key, at) * below as f64) as i64).collect();
    Ok(Array::from_slice(sizes, &values)?)
}

fn forward(graph: Graph, settings: Settings, result: Tensor) -> Result<(Session, Routine), Error> {
    let mut routine = Routine::new("forward");
    routine.forward(result);
    Ok((Session::with(graph, settings)?, routine))
}

fn matmul(settings: Settings, n: u64) -> Result<(Session, Routine), Error> {
    let b = Builder::new();
    let left = b.array("a", &format!("{n} -> {n}"), normal("a", &[n, n], 1.0)?);
    let right = b.array("b", &format!("{n} -> {n}"), normal("b", &[n, n], 1.0)?);
    let product = left.compose(right).named("product").tensor();
    forward(b.finish()?, settings, product)
}

fn conv2d(settings: Settings, side: u64, channels: u64) -> Result<(Session, Routine), Error> {
    let b = Builder::new();
    let x = b.array(
        "x",
        &format!("8 | {side}, {side}, {channels}"),
        normal("x", &[8, side, side, channels], 1.0)?,
    );
    let kernel = normal("kernel", &[channels, 3, 3, channels], 1.0)?;
    let kernel = b.array("kernel", &format!("3, 3, {channels} -> {channels}"), kernel);
    let options = SpecOptions { padding: Some(Padding::Padded), ..SpecOptions::default() };
    let spec = "... | oh+kh, ow+kw, ..ic..; kh, kw, ..ic.. -> ..oc.. => ... | oh, ow, ..oc..";
    let y = b.einsum_with(spec, &[x, kernel], &options).named("y").tensor();
    forward(b.finish()?, settings, y)
}

/// Softmax over the output axes.
fn softmax<'b>(x: Expr<'b>, spec: &str) -> Expr<'b> {
    let shifted = (x - x.reduce(Accumulate::Max, spec).stop_gradient()).exp();
    shifted / shifted.sum(spec)
}

fn softmax_rows(settings: Settings) -> Result<(Session, Routine), Error> {
    let b = Builder::new();
    let x = b.array("x", "4096 | 1024", normal("x", &[4096, 1024], 1.0)?);
    let y = softmax(x, "... | v => ... | 0").named("y").tensor();
    forward(b.finish()?, settings, y)
}

fn layer_norm<'b>(x: Expr<'b>, gain: Expr<'b>, bias: Expr<'b>) -> Expr<'b> {
    let centred = x - x.mean("... | d => ... | 0", &["d"]);
    let variance = centred.square().mean("... | d => ... | 0", &["d"]);
    centred / (variance + 1e-5).sqrt() * gain + bias
}

fn layer_norm_rows(settings: Settings) -> Result<(Session, Routine), Error> {
    let b = Builder::new();
    let x = b.array("x", "4096 | 1024", normal("x", &[4096, 1024], 1.0)?);
    let gain = b.array("gain", "1024", normal("gain", &[1024], 1.0)?);
    let bias = b.array("bias", "1024", normal("bias", &[1024], 1.0)?);
    let y = layer_norm(x, gain, bias).named("y").tensor();
    forward(b.finish()?, settings, y)
}

fn pointwise(settings: Settings) -> Result<(Session, Routine), Error> {
    let b = Builder::new();
    let x = b.array("x", "4194304", normal("x", &[4_194_304], 1.0)?);
    let y = ((1.5 * x + 0.25).tanh() * x.sigmoid() + 0.5 * x * x).named("y").tensor();
    forward(b.finish()?, settings, y)
}

/// The mean of the cross-entropy of logits `... | v` and targets given as integers.
fn cross_entropy<'b>(b: &'b Builder, logits: Expr<'b>, targets: Expr<'b>, classes: u64) -> Expr<'b> {
    let shifted = logits - logits.reduce(Accumulate::Max, "... | v => ... | 0").stop_gradient();
    let normaliser = shifted.exp().sum("... | v => ... | 0").log();
    let chosen = b.range("classes", &classes.to_string()).equals(targets);
    let picked = (shifted * chosen).sum("... | v => ... | 0");
    (normaliser - picked).mean("..b.. | ... => 0", &["b"])
}

fn train(b: Builder, settings: Settings, loss: Tensor) -> Result<(Session, Routine), Error> {
    let mut graph = b.finish()?;
    let mut routine = Routine::new("train");
    routine.backward(&mut graph, loss)?;
    let (rate, params) = (graph.number(0.01), graph.params());
    Sgd::default().update(&mut graph, &mut routine, &params, rate)?;
    Ok((Session::with(graph, settings)?, routine))
}

fn mlp_step(settings: Settings) -> Result<(Session, Routine), Error> {
    let b = Builder::new();
    let x = b.array("x", "128 | 784", normal("x", &[128, 784], 1.0)?);
    let targets = b.array("targets", "128 |", whole("targets", &[128], 10)?);
    let dense = |name: &str, size: u64, x: Expr<'_>| {
        b.scope(name, || b.param("w").compose(b.expr(x.tensor())) + b.param_shaped("b", &size.to_string()))
    };
    let hidden = dense("first", 512, x).relu();
    let hidden = dense("second", 512, hidden).relu();
    let logits = dense("third", 10, hidden);
    let loss = cross_entropy(&b, logits, targets, 10).named("loss").tensor();
    train(b, settings, loss)
}

fn transformer_step(settings: Settings) -> Result<(Session, Routine), Error> {
    let b = Builder::new();
    let ids = b.array("ids", "8, 64 |", whole("ids", &[8, 64], 512)?);
    let targets = b.array("targets", "8, 64 |", whole("targets", &[8, 64], 512)?);
    let tokens =
        b.param_shaped("tokens", "512 -> 256").initial(Initial::Normal { mean: 0.0, deviation: 0.1 });
    let positions =
        b.param_shaped("positions", "64 | 256").initial(Initial::Normal { mean: 0.0, deviation: 0.1 });
    let mut x = tokens.gather(ids) + positions;
    for block in 0..6 {
        x = b.scope(&format!("block{block}"), || transformer_block(&b, x));
    }
    let logits = b.param_shaped("head", "... -> 512").compose(norm(&b, "norm", x));
    let loss = cross_entropy(&b, logits, targets, 512).named("loss").tensor();
    train(b, settings, loss)
}

fn norm<'b>(b: &'b Builder, name: &str, x: Expr<'b>) -> Expr<'b> {
    b.scope(name, || {
        let gain = b.param("gain").initial(Initial::Constant(1.0));
        layer_norm(x, gain, b.param_shaped("bias", "256"))
    })
}

fn transformer_block<'b>(b: &'b Builder, x: Expr<'b>) -> Expr<'b> {
    let inner = norm(b, "norm1", x);
    let [q, k, v] = ["wq", "wk", "wv"].map(|name| b.param_shaped(name, "256 -> 4, 64").compose(inner));
    let scores = q.einsum("... s | h d; ... t | h d => ... s | t -> h", &[k]) * 0.125;
    let (query, key) = (b.range("query", "64 |"), b.range("key", "64 -> 1:unit"));
    let masked = b.select(key.less_or_equal(query), scores, b.number(f64::NEG_INFINITY));
    let weights = softmax(masked, "... s | t -> h => ... s | 0 -> h");
    let mixed = weights.einsum("... s | t -> h; ... t | h e => ... s | h e", &[v]);
    let x = x + b.param_shaped("wo", "4, 64 -> 256").compose(mixed);
    let inner = norm(b, "norm2", x);
    let hidden = (b.param("w1").compose(inner) + b.param_shaped("b1", "1024")).relu();
    x + b.param("w2").compose(hidden) + b.param_shaped("b2", "256")
}
