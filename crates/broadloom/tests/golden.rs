//! Layers, losses and optimisers compared with values from NumPy, in 64-bit floats.
//!
//! `golden/README.md` describes the contents of the files. Every case is run by the reference
//! evaluator and by machine code, optimised and not.

use std::cell::RefCell;
use std::collections::BTreeMap;

use broadloom::blocks::{
    self, Activation, Attention, AttentionSizes, LayerNorm, Mask, Mlp, Mode, NormPlace, TransformerConfig,
    Window,
};
use broadloom::files::read_npz;
use broadloom::{
    Adam, Array, Backend, Builder, Dtype, Error, Expr, Graph, Padding, Routine, Session, Settings, Sgd,
    Tensor,
};

const TOLERANCE: f64 = 1e-9;

/// The arrays of a case.
struct Case {
    name: &'static str,
    arrays: BTreeMap<String, Array>,
}

impl Case {
    fn read(name: &'static str) -> Case {
        let path = format!("{}/tests/golden/{name}.npz", env!("CARGO_MANIFEST_DIR"));
        let arrays = read_npz(path).expect("a golden file");
        Case { name, arrays: arrays.into_iter().collect() }
    }

    fn array(&self, name: &str) -> &Array {
        self.arrays.get(name).unwrap_or_else(|| panic!("{}: there is no `{name}`", self.name))
    }

    fn number(&self, name: &str) -> f64 {
        self.array(name).item().expect("one number")
    }

    fn sizes(&self, name: &str) -> &[u64] {
        self.array(name).sizes()
    }

    fn window(&self) -> Window {
        let [_, height, width, ..] = self.sizes("kernel") else { panic!("{}: a kernel", self.name) };
        Window {
            taps: [*height, *width],
            stride: self.number("stride") as u64,
            dilation: self.number("dilation") as u64,
            padding: if self.number("padded") == 1.0 { Padding::Padded } else { Padding::Valid },
        }
    }
}

/// A program under construction for a case: the tensors that are set before it runs, and those that
/// are compared after.
struct Build<'b> {
    b: &'b Builder,
    case: &'b Case,
    set: RefCell<Vec<(Tensor, String)>>,
    compare: RefCell<Vec<(Tensor, String)>>,
    /// The number whose gradients are compared, and the prefix of their names; by default
    /// `sum(y * weights)`.
    loss: RefCell<Option<(Tensor, &'static str)>>,
}

impl<'b> Build<'b> {
    /// An input of the case, as data.
    fn data(&self, name: &str, shape: &str) -> Expr<'b> {
        let data = self.b.with(|graph| graph.data_with_axes(name, shape, self.case.sizes(name)));
        self.is(data, name);
        data
    }

    /// Gives a parameter or state the values of an input.
    fn is(&self, tensor: Expr<'b>, name: &str) {
        self.set.borrow_mut().push((tensor.tensor(), name.into()));
    }

    /// Compares the gradients of a mean.
    fn descends(&self, mean: Expr<'b>) {
        self.gives(mean, "mean");
        *self.loss.borrow_mut() = Some((mean.tensor(), "grad_mean_"));
    }

    /// An output of the case.
    fn gives(&self, tensor: Expr<'b>, name: &str) {
        self.compare.borrow_mut().push((tensor.tensor(), name.into()));
    }
}

fn settings() -> impl Iterator<Item = Settings> {
    let both = [Backend::Reference, Backend::Native].into_iter();
    both.flat_map(|backend| {
        [false, true].map(|optimise| Settings { backend, optimise, threads: Some(1), ..Settings::default() })
    })
}

/// Runs a case under all settings, and compares `y` and other outputs, and the gradient of
/// `sum(y * weights)` by every input that has one.
fn check(name: &'static str, make: impl for<'b> Fn(&Build<'b>) -> Expr<'b>) {
    let case = Case::read(name);
    for settings in settings() {
        run(&case, &settings, &make).unwrap_or_else(|error| panic!("{name}, {settings:?}: {error}"));
    }
}

fn run(
    case: &Case,
    settings: &Settings,
    make: &impl for<'b> Fn(&Build<'b>) -> Expr<'b>,
) -> Result<(), Error> {
    let b = Builder::of(in_doubles());
    let (set, compare, loss) = <(RefCell<_>, RefCell<_>, RefCell<_>)>::default();
    let build = Build { b: &b, case, set, compare, loss };
    let y = make(&build);
    build.gives(y, "y");
    let mut loss = build.loss.take();
    if loss.is_none() && case.arrays.contains_key("weights") {
        // The axes of the weights are those of `y`, in memory order.
        let weights = b.with(|graph| graph.data_with_axes("weights", "... | ...", case.sizes("weights")));
        build.is(weights, "weights");
        loss = Some(((y * weights).sum("... | ... =>").tensor(), "grad_"));
    }
    let (set, mut compare) = (build.set.into_inner(), build.compare.into_inner());
    let mut graph = b.finish()?;

    let mut routine = Routine::new(case.name);
    if let Some((loss, prefix)) = loss {
        for (tensor, name) in &set {
            let name = format!("{prefix}{name}");
            if case.arrays.contains_key(&name) {
                compare.push((graph.gradient(*tensor)?, name));
            }
        }
        routine.backward(&mut graph, loss)?;
    }
    for (tensor, name) in &compare {
        if name.starts_with("grad_") {
            routine.keep(*tensor)
        } else {
            routine.forward(*tensor)
        };
    }
    let mut session = Session::with(graph, settings.clone())?;
    for (tensor, name) in &set {
        let array = case.array(name);
        let array = if name == "tokens" { array.convert(Dtype::I64) } else { array.clone() };
        session.set(*tensor, &array)?;
    }
    session.run(&routine)?;
    for (tensor, name) in &compare {
        same(&format!("{}: {name}, {settings:?}", case.name), &session.get(*tensor)?, case.array(name));
    }
    Ok(())
}

fn in_doubles() -> Graph {
    let mut graph = Graph::new();
    graph.set_default_precision(Dtype::F64);
    graph
}

fn same(what: &str, made: &Array, wanted: &Array) {
    assert_eq!(made.sizes(), wanted.sizes(), "{what}");
    close(what, &made.to_f64s(), &wanted.to_f64s());
}

/// Compares numbers relative to the largest, as sums of numbers of that size are.
fn close(what: &str, made: &[f64], wanted: &[f64]) {
    assert_eq!(made.len(), wanted.len(), "{what}");
    let largest = wanted.iter().fold(0.0f64, |largest, number| largest.max(number.abs()));
    for (at, (made, wanted)) in made.iter().zip(wanted).enumerate() {
        let error = (made - wanted).abs();
        assert!(error <= TOLERANCE * largest, "{what}, element {at}: {made} instead of {wanted}");
    }
}

#[test]
fn linear() {
    check("linear", |g| {
        let layer = blocks::linear(g.b, "layer", g.case.sizes("bias")[0]);
        g.is(layer.weight, "w");
        g.is(layer.bias.expect("a bias"), "bias");
        layer.apply(g.data("x", "b | i"))
    });
    // Without a stated size: the weights of the case decide it.
    check("linear", |g| {
        let layer = blocks::linear(g.b, "layer", None);
        g.is(layer.weight, "w");
        g.is(layer.bias.expect("a bias"), "bias");
        layer.apply(g.data("x", "b | i"))
    });
}

#[test]
fn mlp() {
    check("mlp", |g| {
        let hidden = [g.case.sizes("b1")[0], g.case.sizes("b2")[0]];
        let model = blocks::mlp(g.b, "model", &hidden, None, Activation::Relu);
        for (number, layer) in model.layers.iter().enumerate() {
            g.is(layer.weight, &format!("w{}", number + 1));
            g.is(layer.bias.expect("a bias"), &format!("b{}", number + 1));
        }
        model.apply(g.data("x", "b | i"))
    });
}

#[test]
fn convolutions() {
    for name in [
        "conv2d_1x1",
        "conv2d_padded_dilation2",
        "conv2d_padded_k2",
        "conv2d_padded_k3",
        "conv2d_padded_k5",
        "conv2d_padded_stride2_k3",
        "conv2d_padded_stride2_k5",
        "conv2d_valid",
        "conv2d_valid_dilation2",
        "conv2d_valid_rectangular",
        "conv2d_valid_stride2",
    ] {
        check(name, |g| {
            let layer = blocks::conv2d(g.b, "layer", g.case.sizes("kernel")[0], g.case.window());
            g.is(layer.kernel, "kernel");
            layer.apply(g.data("x", "... | h, w, c"))
        });
    }
}

#[test]
fn depthwise_convolutions() {
    for name in ["depthwise_padded", "depthwise_padded_stride2", "depthwise_valid"] {
        check(name, |g| {
            let layer = blocks::depthwise_conv2d(g.b, "layer", g.case.window());
            g.is(layer.kernel, "kernel");
            layer.apply(g.data("x", "... | h, w, c"))
        });
    }
}

#[test]
fn pools() {
    let window =
        |case: &Case| Window::square(case.number("size") as u64).stride(case.number("stride") as u64);
    for name in ["max_pool_2x2", "max_pool_3x3_stride2"] {
        check(name, |g| blocks::max_pool(g.data("x", "... | h, w, c"), window(g.case)));
    }
    check("avg_pool_2x2", |g| blocks::avg_pool(g.data("x", "... | h, w, c"), window(g.case)));
    check("global_avg_pool", |g| blocks::global_avg_pool(g.data("x", "... | h, w, c")));
}

#[test]
fn softmaxes() {
    check("softmax", |g| blocks::softmax(g.data("x", "b | c"), "... | v"));
    check("log_softmax", |g| blocks::log_softmax(g.data("x", "b | c"), "... | v"));
    check("softmax", |g| blocks::softmax(g.data("x", "b | c"), "... | ..v.."));
    check("log_softmax", |g| {
        blocks::log_softmax(g.data("x", "b | c ->"), "... | v ->").einsum("b | c -> => b | c", &[])
    });
}

#[test]
fn cross_entropies() {
    for mean in [false, true] {
        check("cross_entropy_integer", |g| {
            let losses = blocks::cross_entropy(g.data("logits", "b | c"), g.data("targets", "b |"));
            if mean {
                g.descends(blocks::mean(losses));
            }
            losses
        });
        check("cross_entropy_one_hot", |g| {
            let losses = blocks::cross_entropy_one_hot(g.data("logits", "b | c"), g.data("targets", "b | c"));
            if mean {
                g.descends(blocks::mean(losses));
            }
            losses
        });
    }
}

#[test]
fn normalisations() {
    check("layer_norm", |g| {
        let norm = blocks::layer_norm(g.b, "norm");
        g.is(norm.gain, "gamma");
        g.is(norm.shift, "beta");
        norm.apply(g.data("x", "... | d"))
    });
    check("rms_norm", |g| {
        let norm = blocks::rms_norm(g.b, "norm");
        g.is(norm.gain, "gamma");
        norm.apply(g.data("x", "... | d"))
    });
    check("batch_norm_training", |g| {
        let norm = blocks::batch_norm(g.b, "norm");
        g.is(norm.gain, "gamma");
        g.is(norm.shift, "beta");
        norm.apply(g.data("x", "... | h, w, c"), Mode::Training)
    });
    check("batch_norm_inference", |g| {
        let norm = blocks::batch_norm(g.b, "norm");
        for (tensor, name) in [
            (norm.gain, "gamma"),
            (norm.shift, "beta"),
            (norm.mean, "running_mean"),
            (norm.variance, "running_variance"),
        ] {
            g.is(tensor, name);
        }
        norm.apply(g.data("x", "... | h, w, c"), Mode::Inference)
    });
}

#[test]
fn activations() {
    for (name, activation) in [
        ("relu", Activation::Relu),
        ("sigmoid", Activation::Sigmoid),
        ("tanh", Activation::Tanh),
        ("silu", Activation::Silu),
        ("gelu", Activation::Gelu),
    ] {
        check(name, |g| activation.apply(g.data("x", "a | b")));
    }
}

#[test]
fn attention() {
    for name in ["attention", "attention_causal", "attention_cross"] {
        check(name, |g| {
            let [heads, head_size, _] = *g.case.sizes("wq") else { panic!("{name}") };
            let sizes = AttentionSizes { heads, head_size: Some(head_size) };
            let attention = blocks::multi_head_attention(g.b, "attention", sizes);
            for (tensor, name) in [
                (attention.query, "wq"),
                (attention.key, "wk"),
                (attention.value, "wv"),
                (attention.out, "wo"),
            ] {
                g.is(tensor, name);
            }
            let x = g.data("x", "b, s | d");
            let memory = if g.case.arrays.contains_key("memory") { g.data("memory", "b, t | d") } else { x };
            let mask = if g.case.number("causal") == 1.0 { Mask::Causal } else { Mask::Nothing };
            let attended = attention.attend(x, memory, mask);
            let probabilities = attended.probabilities.einsum("b s | t -> h => b h s t", &[]);
            g.gives(probabilities, "probabilities");
            attended.output
        });
    }
}

#[test]
fn positions() {
    check("sinusoidal", |g| {
        let zeros = g.b.constant(0.0).einsum("s | d => s | d", &[]);
        let [length, width] = *g.case.sizes("y") else { panic!("two axes") };
        let zeros = zeros.set_size("s", length).set_size("d", width);
        blocks::sinusoidal_positions(g.b, g.case.number("base")) + zeros
    });
    check("rotary", |g| blocks::rotary(g.case.number("base")).apply(g.data("x", "b, s | h, d")));
}

#[test]
fn embedding() {
    check("embedding", |g| {
        // The file has a row for each token; in memory `v -> d` has a column.
        let table = g.data("table", "v, d").einsum("v, d => v -> d", &[]);
        blocks::Embedding { table }.apply(g.data("tokens", "b, s |"))
    });
}

/// Gives the parameters of a block the values of a case.
fn is_block<'b>(
    g: &Build<'b>,
    kind: &str,
    attention: &Attention<'b>,
    feed_forward: &Mlp<'b>,
    norms: &[LayerNorm<'b>],
) {
    let (out, [query, key, value]) = (attention.out, [attention.query, attention.key, attention.value]);
    for (tensor, name) in [(query, "q"), (key, "k"), (value, "v"), (out, "o")] {
        g.is(tensor, &format!("{kind}{name}"));
    }
    for (number, layer) in (1..).zip(&feed_forward.layers) {
        g.is(layer.weight, &format!("w{number}"));
        g.is(layer.bias.expect("a bias"), &format!("b{number}"));
    }
    for (number, norm) in (1..).zip(norms) {
        g.is(norm.gain, &format!("gamma{number}"));
        g.is(norm.shift, &format!("beta{number}"));
    }
}

/// The heads divide the width: only their number is given.
fn config(case: &Case) -> TransformerConfig {
    TransformerConfig::new(1, case.sizes("wq")[0], case.sizes("b1")[0])
}

#[test]
fn encoder_blocks() {
    for name in ["encoder_block", "encoder_block_causal"] {
        check(name, |g| {
            let block = blocks::encoder_block(g.b, "block", &config(g.case));
            is_block(g, "w", &block.attention, &block.feed_forward, &block.norms());
            let mask = if g.case.number("causal") == 1.0 { Mask::Causal } else { Mask::Nothing };
            block.apply(g.data("x", "b, s | d"), mask, Mode::Training)
        });
    }
}

#[test]
fn decoder_block() {
    check("decoder_block", |g| {
        let config =
            TransformerConfig { norm: NormPlace::After, activation: Activation::Relu, ..config(g.case) };
        let block = blocks::decoder_block(g.b, "block", &config);
        is_block(g, "w", &block.attention, &block.feed_forward, &block.norms());
        let cross = block.cross_attention;
        for (tensor, name) in [(cross.query, "cq"), (cross.key, "ck"), (cross.value, "cv"), (cross.out, "co")]
        {
            g.is(tensor, name);
        }
        block.apply(g.data("x", "b, s | d"), g.data("memory", "b, t | d"), Mode::Training)
    });
}

#[test]
fn decoder_only() {
    check("decoder_only", |g| {
        let [width, vocabulary] = *g.case.sizes("table") else { panic!("two axes") };
        let model = blocks::decoder_only(g.b, "model", vocabulary, width, &config(g.case));
        g.is(model.embedding().table, "table");
        let block = &model.blocks.blocks[0];
        is_block(g, "w", &block.attention, &block.feed_forward, &block.norms());
        let norm = model.blocks.norm.expect("normalisation before layers has a last one");
        g.is(norm.gain, "gamma");
        g.is(norm.shift, "beta");
        let tokens = g.data("tokens", "b, s |");
        let logits = model.apply(tokens, Mode::Training);
        g.gives(logits, "logits");
        blocks::next_token_loss(logits, tokens)
    });
}

/// Optimisers get gradients that are data: the loss is `sum(parameter * gradient)`.
#[test]
fn optimisers() {
    let adam = |case: &Case| Adam {
        beta1: case.number("beta1"),
        beta2: case.number("beta2"),
        epsilon: case.number("eps"),
        weight_decay: case.number("weight_decay"),
        decoupled: case.number("decoupled") == 1.0,
    };
    for name in ["sgd", "adam", "adam_decay", "adamw"] {
        let case = Case::read(name);
        for settings in settings() {
            let mut graph = in_doubles();
            let [steps, rows, columns] = *case.sizes("gradients") else { panic!("three axes") };
            let parameter = graph.param_shaped("parameter", &format!("{rows}, {columns}")).expect("a shape");
            let gradient = graph.data("gradient", &format!("{rows}, {columns}")).expect("a shape");
            let mut step = || -> Result<(), Error> {
                let loss = graph.einsum("i j; i j =>", &[parameter, gradient])?;
                let mut train = Routine::new("train");
                train.backward(&mut graph, loss)?;
                let rate = graph.number(case.number("lr"));
                match name {
                    "sgd" => {
                        let sgd = Sgd {
                            momentum: case.number("momentum"),
                            weight_decay: case.number("weight_decay"),
                        };
                        sgd.update(&mut graph, &mut train, &[parameter], rate)?;
                    }
                    _ => adam(&case).update(&mut graph, &mut train, &[parameter], rate)?,
                }
                let graph = std::mem::take(&mut graph);
                let states: Vec<Tensor> = graph.tensors().collect();
                let state =
                    |name: &str| states.iter().copied().find(|tensor| graph.label_of(*tensor) == name);
                let compared: Vec<(Tensor, &str)> = [
                    (Some(parameter), "parameters"),
                    (state("parameter.momentum"), "velocities"),
                    (state("parameter.first"), "m"),
                    (state("parameter.second"), "v"),
                ]
                .into_iter()
                .filter_map(|(tensor, name)| Some((tensor?, name)))
                .collect();
                assert_eq!(compared.len(), if name == "sgd" { 2 } else { 3 });
                let mut session = Session::with(graph, settings.clone())?;
                session.set(parameter, case.array("parameter"))?;
                let size = (rows * columns) as usize;
                for step in 0..steps as usize {
                    let part = |name: &str| case.array(name).to_f64s()[step * size..][..size].to_vec();
                    session.set(gradient, &Array::new(&[rows, columns], part("gradients"))?)?;
                    session.run(&train)?;
                    for (tensor, array) in &compared {
                        let what = format!("{name}: {array} after step {step}, {settings:?}");
                        close(&what, &session.get(*tensor)?.to_f64s(), &part(array));
                    }
                }
                Ok(())
            };
            step().unwrap_or_else(|error| panic!("{name}, {settings:?}: {error}"));
        }
    }
}
