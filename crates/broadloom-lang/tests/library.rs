//! Compares the standard library with the golden values of `broadloom`: results and gradients,
//! number by number. The values were computed with NumPy alone, from textbook definitions; their
//! README describes them.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::PathBuf;

use broadloom::blocks::{self, Mask, Mode, Positions, TransformerConfig, Window};
use broadloom::files::read_npz;
use broadloom::{Array, Backend, Builder, Dtype, Graph, Routine, Session, Settings, Tensor};
use broadloom_diagnostics::{Style, render, render_all};
use broadloom_lang::{Options, Program, RunOptions, compile};

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../broadloom/tests/golden")
}

fn array(case: &str, key: &str) -> Array {
    let arrays = read_npz(golden().join(format!("{case}.npz"))).unwrap();
    arrays
        .into_iter()
        .find(|(name, _)| name == key)
        .map_or_else(|| panic!("{case} has no {key}"), |(_, array)| array)
}

fn has(case: &str, key: &str) -> bool {
    read_npz(golden().join(format!("{case}.npz"))).unwrap().iter().any(|(name, _)| name == key)
}

fn number(case: &str, key: &str) -> f64 {
    array(case, key).to_f64s()[0]
}

fn compiled(text: &str) -> Program {
    let options = Options { folder: golden(), ..Options::default() };
    let mut program = compile("test.loom", text, &options);
    program.graph.set_default_precision(Dtype::F64);
    let messages = render_all(&program.sources, &program.diagnostics, 0, Style::default());
    assert!(program.is_ok(), "{messages}");
    program
}

fn found(program: &Program, name: &str) -> Tensor {
    program.find(name).unwrap_or_else(|| {
        let names: Vec<&str> = program.made.iter().map(|made| made.name.as_str()).collect();
        panic!("nothing is called {name}, but {}", names.join(", "))
    })
}

fn run(program: Program, inputs: Vec<(String, Array)>) -> (Session, Vec<String>) {
    run_by(Backend::Reference, program, inputs)
}

fn run_by(backend: Backend, program: Program, inputs: Vec<(String, Array)>) -> (Session, Vec<String>) {
    let sources = program.sources.clone();
    let settings = Settings { backend, ..Settings::default() };
    let mut printed = Vec::<String>::new();
    match program.run(&RunOptions { settings, inputs, ..RunOptions::default() }, &mut printed) {
        Ok(session) => (session, printed),
        Err(diagnostic) => panic!("{}", render(&sources, &diagnostic, Style::default())),
    }
}

#[track_caller]
fn close(what: &str, found: &[f64], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let error = (found - wanted).abs() / wanted.abs().max(1.0);
        assert!(error < 1e-9, "{what}, element {at}: {found} in place of {wanted}");
    }
}

/// Runs a program whose result is `y`, and compares results and gradients. `leaves` maps the
/// parameters and data of the program to the names of their golden values.
#[track_caller]
fn check(case: &str, text: &str, leaves: &[(&str, &str)]) {
    check_by(Backend::Reference, case, text, leaves);
}

#[track_caller]
fn check_by(backend: Backend, case: &str, text: &str, leaves: &[(&str, &str)]) {
    let rows = match array(case, "y").sizes().len() {
        0 => "|",
        _ if text.contains("# flat") => "... |",
        _ if text.contains("# matrix") => "... | _ -> _",
        2 => "... | _",
        rank => &format!("... | {}", vec!["_"; rank - 1].join(", ")),
    };
    let rows = if text.contains("# sequence") { "... | _" } else { rows };
    let weights = format!("data weights : {rows} = load(\"{case}.npz\", \"weights\")");
    // Gradients of data are computed only if the program reads them.
    let plain = leaves.iter().filter(|(name, key)| !name.contains('.') && has(case, &format!("grad_{key}")));
    let asked: String = plain.map(|(name, _)| format!("let {name}_gradient = {name}.grad\n")).collect();
    let total = format!("{weights}\nlet total = sum(y * weights)\n{asked}backward total\nprint y");
    let mut program = compiled(&format!("{}\n{total}", text.replace("CASE", &format!("{case}.npz"))));
    let mut gradients = Vec::new();
    for (name, key) in leaves {
        if has(case, &format!("grad_{key}")) {
            let tensor = found(&program, name);
            let gradient = program.graph.gradient(tensor).unwrap();
            program.plan.routines[0].keep(gradient);
            gradients.push((gradient, format!("grad_{key}")));
        }
    }
    let y = found(&program, "y");
    let inputs = leaves.iter().map(|(name, key)| (name.to_string(), array(case, key))).collect();
    let (mut session, _) = run_by(backend, program, inputs);
    close(&format!("{case}: y"), &session.get(y).unwrap().to_f64s(), &array(case, "y").to_f64s());
    for (gradient, key) in gradients {
        let values = session.get(gradient).unwrap().to_f64s();
        close(&format!("{case}: {key}"), &values, &array(case, &key).to_f64s());
    }
}

#[test]
fn activations() {
    for name in ["relu", "sigmoid", "tanh", "silu", "gelu"] {
        let text = format!("data x : ... | _ = load(\"CASE\", \"x\")\nlet y = {name}(x)");
        check(name, &text, &[("x", "x")]);
    }
    for name in ["softmax", "log_softmax"] {
        let text = format!("data x : ... | _ = load(\"CASE\", \"x\")\nlet y = {name}(\"... | v\")(x)");
        check(name, &text, &[("x", "x")]);
    }
}

#[test]
fn along_an_axis() {
    let cases = [
        ("flip", "flip(\"... | t, ...\")(x)"),
        ("flip_batch", "flip(\"t | ...\")(x)"),
        ("roll", "roll(\"... | t, ...\", 2)(x)"),
        ("roll_back", "roll(\"... | t, ...\", -12)(x)"),
        ("pad", "pad(\"... | t, ...\", 1, 2, value = 9)(x)"),
        ("pad_edge", "pad_edge(\"... | ..., t\", 2, 1)(x)"),
        ("pad_reflect", "pad_reflect(\"... | t, ...\", 3, 9)(x)"),
        ("tril", "tril(x, 1)"),
        ("triu", "triu(x)"),
        ("sort", "sort(\"... | t, ...\")(x)"),
        ("sort_descending", "sort(\"... | t, ...\", descending = true)(x)"),
        ("topk", "topk(\"... | t, ...\", 3)(x)[0]"),
        ("interleave", "interleave(\"... | t, ...\")(x, flip(\"... | t, ...\")(x))"),
    ];
    for (name, call) in cases {
        let text = format!("data x : ... | _, _ = load(\"CASE\", \"x\")\nlet y = {call}");
        for backend in [Backend::Reference, Backend::Native] {
            check_by(backend, name, &text, &[("x", "x")]);
        }
    }
}

#[test]
fn functions_of_matrices() {
    let cases = [
        ("inverse", "inverse(a) # matrix"),
        ("det", "det(a) # flat"),
        ("det_singular", "det(a) # flat"),
        ("logdet", "logdet(a) # flat"),
        ("cholesky", "cholesky(a) # matrix"),
        ("qr", "concat(qr(a)[0], qr(a)[1]) # matrix"),
        ("qr_square", "concat(qr(a)[0], qr(a)[1]) # matrix"),
        ("eigenvalues", "eigh(a)[0]"),
        ("eigenvectors", "eigh(a)[1] # matrix"),
        ("singular_values", "svd(a)[1]"),
    ];
    for backend in [Backend::Reference, Backend::Native] {
        for (name, call) in cases {
            let text = format!("data a : ... | _ -> _ = load(\"CASE\", \"a\")\nlet y = {call}");
            check_by(backend, name, &text, &[("a", "a")]);
        }
        let both = "data a : ROWS _ -> _ = load(\"CASE\", \"a\")\ndata b : ... | COLUMNS _ = load(\"CASE\", \"b\")\n";
        let (matrices, vectors) = (both.replace("COLUMNS", "_ ->"), both.replace("COLUMNS", ""));
        let text = format!("{}let y = solve(a, b) # matrix", matrices.replace("ROWS", "... |"));
        check_by(backend, "solve", &text, &[("a", "a"), ("b", "b")]);
        check_by(backend, "lstsq", &text.replace("solve", "lstsq"), &[("a", "a"), ("b", "b")]);
        let text = format!("{}let y = solve(a, b)", vectors.replace("ROWS", ""));
        check_by(backend, "solve_vectors", &text, &[("a", "a"), ("b", "b")]);
    }
}

#[test]
fn products_with_zeros() {
    let text = "data x : ... | _ = load(\"CASE\", \"x\")\nlet y = product(\"b | n => b |\", x)\n# flat";
    for backend in [Backend::Reference, Backend::Native] {
        check_by(backend, "product", text, &[("x", "x")]);
    }
}

#[test]
fn places_among_sorted_numbers() {
    let text = "data edges : _ = load(\"searchsorted.npz\", \"edges\")
data x : _ = load(\"searchsorted.npz\", \"x\")
let left, right = [searchsorted(\"t\")(edges, x), searchsorted(\"t\", right = true)(edges, x)]
print left, right";
    for backend in [Backend::Reference, Backend::Native] {
        let program = compiled(text);
        let both = ["left", "right"].map(|name| found(&program, name));
        let (mut session, _) = run_by(backend, program, Vec::new());
        for (tensor, key) in both.into_iter().zip(["left", "right"]) {
            close(key, &session.get(tensor).unwrap().to_f64s(), &array("searchsorted", key).to_f64s());
        }
    }
}

#[test]
fn dense_layers() {
    let x = "data x : ... | _ = load(\"CASE\", \"x\")\n";
    let leaves = [("x", "x"), ("layer.weight", "w"), ("layer.bias", "bias")];
    check(
        "linear",
        &format!("{x}let layer = linear(4)\nlet y = layer(x)").replace('4', &size("linear", "bias")),
        &leaves,
    );
    let sizes = [size("mlp", "b1"), size("mlp", "b2"), size("mlp", "b3")];
    let text = format!("{x}let net = mlp([{}, {}], {})\nlet y = net(x)", sizes[0], sizes[1], sizes[2]);
    let leaves = [
        ("x", "x"),
        ("net.layers.0.weight", "w1"),
        ("net.layers.0.bias", "b1"),
        ("net.layers.1.weight", "w2"),
        ("net.layers.1.bias", "b2"),
        ("net.last.weight", "w3"),
        ("net.last.bias", "b3"),
    ];
    check("mlp", &text, &leaves);
    let text =
        "data tokens : ... | as i64\nlet words = embedding(VOCABULARY)\nlet y = words(tokens)\n# sequence"
            .replace("VOCABULARY", &array("embedding", "table").sizes()[0].to_string());
    // The table is stored row by row; as a map `v -> d` it is transposed in memory.
    let table = transposed(&array("embedding", "table"));
    let weights = "data weights : ... | _ = load(\"embedding.npz\", \"weights\")";
    let program = compiled(&format!(
        "{}\n{weights}\nlet total = sum(y * weights)\nprint y",
        text.replace("... | as", "_, _ | as").replace("_, _", &sizes_of("embedding", "tokens"))
    ));
    let y = found(&program, "y");
    let tokens = array("embedding", "tokens").convert(Dtype::I64);
    let (mut session, _) = run(program, vec![("tokens".into(), tokens), ("words.table".into(), table)]);
    close("embedding", &session.get(y).unwrap().to_f64s(), &array("embedding", "y").to_f64s());
}

fn size(case: &str, key: &str) -> String {
    array(case, key).sizes()[0].to_string()
}

fn sizes_of(case: &str, key: &str) -> String {
    array(case, key).sizes().iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

fn transposed(matrix: &Array) -> Array {
    let (rows, columns) = (matrix.sizes()[0] as usize, matrix.sizes()[1] as usize);
    let values = matrix.to_f64s();
    let turned: Vec<f64> = (0..rows * columns).map(|at| values[(at % rows) * columns + at / rows]).collect();
    Array::from_slice(&[columns as u64, rows as u64], &turned).unwrap()
}

#[test]
fn convolutions() {
    let cases = [
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
        "depthwise_padded",
        "depthwise_padded_stride2",
        "depthwise_valid",
    ];
    for case in cases {
        let kernel = array(case, "kernel");
        let (channels, height, width) = (kernel.sizes()[0], kernel.sizes()[1], kernel.sizes()[2]);
        let padding = if number(case, "padded") == 1.0 { "same" } else { "valid" };
        let (stride, dilation) = (number(case, "stride"), number(case, "dilation"));
        let layer = match case.starts_with("conv2d") {
            true => format!("conv2d({channels}, {height}, {width}"),
            false => format!("depthwise_conv2d({height}, {width}"),
        };
        let layer = format!("{layer}, {stride}, {dilation}, \"{padding}\")");
        let text =
            format!("data x : ... | _, _, _ = load(\"CASE\", \"x\")\nlet layer = {layer}\nlet y = layer(x)");
        check(case, &text, &[("x", "x"), ("layer.kernel", "kernel")]);
    }
}

#[test]
fn pools() {
    let x = "data x : ... | _, _, _ = load(\"CASE\", \"x\")\n";
    let cases = [
        ("max_pool_2x2", "max_pool()"),
        ("max_pool_3x3_stride2", "max_pool(3, stride = 2)"),
        ("avg_pool_2x2", "avg_pool()"),
        ("global_avg_pool", "global_avg_pool"),
    ];
    for (case, layer) in cases {
        check(case, &format!("{x}let y = x |> {layer}"), &[("x", "x")]);
    }
}

#[test]
fn normalisations() {
    let x = "data x : ... | _ = load(\"CASE\", \"x\")\n";
    let text = format!("{x}let layer = layer_norm()\nlet y = layer(x)\n# sequence");
    check("layer_norm", &text, &[("x", "x"), ("layer.gain", "gamma"), ("layer.shift", "beta")]);
    let text = format!("{x}let layer = rms_norm()\nlet y = layer(x)\n# sequence");
    check("rms_norm", &text, &[("x", "x"), ("layer.gain", "gamma")]);
    let x = "data x : ... | _, _, _ = load(\"CASE\", \"x\")\n";
    let text = format!("{x}let layer = batch_norm()\nlet y = inference(layer)(x)");
    let leaves = [
        ("x", "x"),
        ("layer.gain", "gamma"),
        ("layer.shift", "beta"),
        ("layer.mean", "running_mean"),
        ("layer.variance", "running_variance"),
    ];
    check("batch_norm_inference", &text, &leaves);
    // In training it assigns before the loss is computed: the first routine does both.
    let text = format!("{x}let layer = batch_norm()\nlet y = layer(x)");
    check("batch_norm_training", &text, &leaves[..3]);
}

/// The running statistics move a tenth of the way towards those of the batch.
#[test]
fn running_statistics() {
    let text = "
data x : 4 | 1 = [[1], [2], [3], [4]]
let layer = batch_norm()
repeat 2:
  let loss = sum(layer(x))
  backward loss
print layer.mean, layer.variance
print inference(layer)(x)[0]
";
    let (_, printed) = run(compiled(text), Vec::new());
    // 0.1 · 2.5 and 0.9 · 0.25 + 0.25; 0.9 + 0.1 · 5/3, and the same again.
    let (mean, variance) = (0.475, 0.9 * (0.9 + 0.1 * 5.0 / 3.0) + 0.1 * 5.0 / 3.0);
    let normed = (1.0 - mean) / f64::sqrt(variance + 1e-5);
    let shown = broadloom_lang::show::number;
    assert_eq!(printed, [format!("{} {}", shown(mean), shown(variance)), shown(normed)]);
}

#[test]
fn positions() {
    let sizes = array("sinusoidal", "y").sizes().to_vec();
    let text =
        format!("data x : {} | {} as f64 = zeros\nlet y = sinusoidal()(x)\nprint y", sizes[0], sizes[1]);
    let program = compiled(&text);
    let y = found(&program, "y");
    let (mut session, _) = run(program, Vec::new());
    close("sinusoidal", &session.get(y).unwrap().to_f64s(), &array("sinusoidal", "y").to_f64s());
    let text = "data x : ... | _, _ = load(\"CASE\", \"x\")\nlet y = rotary()(x)\n";
    let weights = "data weights : ... | _, _ = load(\"rotary.npz\", \"weights\")\nlet total = sum(y * weights)\nlet asked = x.grad\nbackward total\nprint y";
    let mut program = compiled(&format!("{}{weights}", text.replace("CASE", "rotary.npz")));
    let (x, y) = (found(&program, "x"), found(&program, "y"));
    let gradient = program.graph.gradient(x).unwrap();
    program.plan.routines[0].keep(gradient);
    let (mut session, _) = run(program, Vec::new());
    close("rotary", &session.get(y).unwrap().to_f64s(), &array("rotary", "y").to_f64s());
    close("rotary", &session.get(gradient).unwrap().to_f64s(), &array("rotary", "grad_x").to_f64s());
}

const X: &str = "data x : ... | _ = load(\"CASE\", \"x\")\n";

#[test]
fn attention() {
    let own = |layer: &str| -> Vec<(String, &str)> {
        [("query", "wq"), ("key", "wk"), ("value", "wv"), ("out", "wo")]
            .map(|(name, key)| (format!("{layer}.{name}"), key))
            .to_vec()
    };
    let mut leaves: Vec<(String, &str)> = own("layer");
    leaves.push(("x".into(), "x"));
    let named = |leaves: &[(String, &'static str)]| -> Vec<(String, &'static str)> { leaves.to_vec() };
    let check_all = |case: &str, text: &str, leaves: &[(String, &str)]| {
        let leaves: Vec<(&str, &str)> = leaves.iter().map(|(name, key)| (name.as_str(), *key)).collect();
        check(case, &format!("{text}\n# sequence"), &leaves);
    };
    let sizes = array("attention", "wq").sizes().to_vec();
    let config = format!("{}, {}", sizes[0], sizes[1]);
    check_all("attention", &format!("{X}let layer = attention({config})\nlet y = layer(x)"), &leaves);
    let causal = format!("{X}let layer = attention({config}, causal = true)\nlet y = layer(x)");
    check_all("attention_causal", &causal, &leaves);
    let masked = format!("{X}let layer = attention({config})\nlet y = layer(x, mask = causal_mask())");
    check_all("attention_causal", &masked, &leaves);
    let mut leaves = named(&leaves);
    leaves.push(("memory".into(), "memory"));
    let memory = "data memory : ... | _ = load(\"CASE\", \"memory\")\n";
    let cross = format!("{X}{memory}let layer = attention({config})\nlet y = layer(x, memory)");
    check_all("attention_cross", &cross, &leaves);
}

const BLOCK: [(&str, &str); 12] = [
    ("attend.query", "wq"),
    ("attend.key", "wk"),
    ("attend.value", "wv"),
    ("attend.out", "wo"),
    ("feed.layers.0.weight", "w1"),
    ("feed.layers.0.bias", "b1"),
    ("feed.last.weight", "w2"),
    ("feed.last.bias", "b2"),
    ("attend_norm.gain", "gamma1"),
    ("attend_norm.shift", "beta1"),
    ("feed_norm.gain", "gamma2"),
    ("feed_norm.shift", "beta2"),
];

/// The parameters of a block, by the path of the block.
fn block(path: &str) -> Vec<(String, &'static str)> {
    BLOCK.iter().map(|(name, key)| (format!("{path}.{name}"), *key)).collect()
}

fn check_named(case: &str, text: &str, leaves: &[(String, &str)]) {
    let leaves: Vec<(&str, &str)> = leaves.iter().map(|(name, key)| (name.as_str(), *key)).collect();
    check(case, text, &leaves);
}

#[test]
fn blocks() {
    let (heads, hidden) = (size("encoder_block", "wq"), size("encoder_block", "b1"));
    for (case, causal) in [("encoder_block", "false"), ("encoder_block_causal", "true")] {
        let text = format!(
            "{X}let layer = encoder_block({heads}, {hidden}, {causal})\nlet y = layer(x)\n# sequence"
        );
        let mut leaves = block("layer");
        leaves.push(("x".into(), "x"));
        check_named(case, &text, &leaves);
    }
    let (heads, hidden) = (size("decoder_block", "wq"), size("decoder_block", "b1"));
    let text = format!(
        "{X}data memory : ... | _ = load(\"CASE\", \"memory\")\n\
         let layer = decoder_block({heads}, {hidden}, relu, \"after\")\nlet y = layer(x, memory)\n# sequence"
    );
    let mut leaves = block("layer");
    let other = [("query", "cq"), ("key", "ck"), ("value", "cv"), ("out", "co")];
    leaves.extend(other.map(|(name, key)| (format!("layer.read.{name}"), key)));
    leaves.extend([("x".into(), "x"), ("memory".into(), "memory")]);
    // The norm of the feed-forward layers is the third.
    for (name, key) in &mut leaves {
        *key = match name.as_str() {
            "layer.feed_norm.gain" => "gamma3",
            "layer.feed_norm.shift" => "beta3",
            _ => key,
        };
    }
    leaves.extend([("layer.read_norm.gain".into(), "gamma2"), ("layer.read_norm.shift".into(), "beta2")]);
    check_named("decoder_block", &text, &leaves);
}

#[test]
fn language_model() {
    let case = "decoder_only";
    let (heads, hidden) = (size(case, "wq"), size(case, "b1"));
    let (width, vocabulary) = (array(case, "table").sizes()[0], array(case, "table").sizes()[1]);
    let text = format!(
        "data tokens : {} | as i64 = load(\"CASE\", \"tokens\")\n\
         let model = decoder_only({vocabulary}, {width}, 1, {heads}, {hidden})\n\
         let logits = model(tokens)\nlet y = next_token_loss(logits, tokens)\nprint logits",
        sizes_of(case, "tokens")
    );
    let mut leaves = block("model.blocks.0");
    leaves.push(("model.words.table".into(), "table"));
    leaves.extend([
        ("model.last_norm.layer_norm.gain".into(), "gamma"),
        ("model.last_norm.layer_norm.shift".into(), "beta"),
    ]);
    check_named(case, &text.replace("\nprint logits", ""), &leaves);
}

/// Optimisers after one, two and three steps.
#[test]
fn optimisers() {
    for case in ["sgd", "adam", "adam_decay", "adamw", "adafactor", "adafactor_vector", "muon", "muon_tall"] {
        let setting = |key: &str| number(case, key);
        // Rows of a matrix are outputs, and columns are inputs.
        let shape = match case {
            "adafactor" | "muon" | "muon_tall" => "_ -> _",
            "adafactor_vector" => "_",
            _ => "_, _",
        };
        let rule = match case {
            "adafactor" | "adafactor_vector" => format!(
                "adafactor({}, power = {}, epsilon = {:e}, least = {}, clip = {}, decay = {})",
                setting("lr"),
                setting("power"),
                setting("eps"),
                setting("least"),
                setting("clip"),
                setting("weight_decay")
            ),
            "muon" | "muon_tall" => format!(
                "muon({}, decay = {}, momentum = {}, nesterov = {})",
                setting("lr"),
                setting("weight_decay"),
                setting("momentum"),
                setting("nesterov")
            ),
            "sgd" => format!("sgd({}, {}, {})", setting("lr"), setting("momentum"), setting("weight_decay")),
            _ => {
                let name = if setting("decoupled") == 1.0 { "adamw" } else { "adam" };
                format!(
                    "{name}({}, beta1 = {}, beta2 = {}, epsilon = {:e}, decay = {})",
                    setting("lr"),
                    setting("beta1"),
                    setting("beta2"),
                    setting("eps"),
                    setting("weight_decay")
                )
            }
        };
        for steps in 1..4 {
            let text = format!(
                "let p = {{p : {shape} as f64 = load(\"{case}.npz\", \"parameter\")}}\n\
                 data gradients : _ | {shape} = load(\"{case}.npz\", \"gradients\")\n\
                 repeat t in 0..{steps}:\n  let loss = sum(p * gradients[t])\n  minimise loss by {rule}\n"
            );
            let program = compiled(&text);
            let p = found(&program, "p");
            let (mut session, _) = run(program, Vec::new());
            let wanted = array(case, "parameters").to_f64s();
            let length = wanted.len() / 3;
            let wanted = &wanted[(steps - 1) * length..steps * length];
            close(&format!("{case} after {steps}"), &session.get(p).unwrap().to_f64s(), wanted);
        }
    }
}

#[test]
fn losses() {
    let logits = "data logits : ... | _ = load(\"CASE\", \"logits\")\n";
    let targets = "data targets : ... | = load(\"CASE\", \"targets\")\n";
    let text = format!("{logits}{targets}let y = cross_entropy(logits, targets)\n# flat");
    check("cross_entropy_integer", &text, &[("logits", "logits")]);
    let targets = "data targets : ... | _ = load(\"CASE\", \"targets\")\n";
    let text = format!("{logits}{targets}let y = cross_entropy_one_hot(logits, targets)\n# flat");
    check("cross_entropy_one_hot", &text, &[("logits", "logits")]);
}

/// Functions without golden values, with results computed by hand.
#[test]
fn small_functions() {
    let text = "
data x : 4 = [-2, -0.5, 0, 3]
print softplus(x)
print leaky_relu(0.1)(x)
print elu(x)
print huber()(x, 0)
data t : 4 = [0, 1, 0, 1]
print binary_cross_entropy(x, t)
print mse(x, t), mae(x, t)
data logits : 3 | 4 = [[1, 5, 2, 5], [0, 0, 0, 1], [9, 1, 1, 1]]
data targets : 3 | = [1, 2, 0]
print argmax(logits)
print accuracy(logits, targets)
print one_hot(targets) * logits
print inference(dropout(0.9))(x)
print warmup(10)(1), warmup(10)(99), cosine(10)(0), cosine(10)(10)
";
    let (_, printed) = run(compiled(text), Vec::new());
    let wanted = [
        "[0.126928 0.474077 0.693147  3.04859]",
        "[ -0.2 -0.05     0     3]",
        "[-0.864665 -0.393469         0         3]",
        "[  1.5 0.125     0   2.5]",
        "[ 0.126928  0.974077  0.693147 0.0485874]",
        "2.5625 1.375",
        "[1 3 0]",
        "0.666667",
        "[[0 5 0 0]\n [0 0 0 0]\n [9 0 0 0]]",
        "[  -2 -0.5    0    3]",
        "0.2 1 1 0",
    ];
    assert_eq!(printed, wanted);
}

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

/// Compares a result and the parameters in `.loom` with the same in Rust: shape by shape, and
/// number by number with parameters set to the same values. `renames` maps parameters to their
/// names in Rust.
fn same(text: &str, renames: &[(&str, &str)], builder: Builder, y: Tensor) {
    let mut graph = builder.finish().unwrap();
    let mut program = compiled(&format!("{text}\nprint y"));
    let mut inputs = Vec::new();
    let mut settings = Vec::new();
    let params = graph.params();
    assert_eq!(program.graph.params().len(), params.len());
    for (number, param) in program.graph.params().into_iter().enumerate() {
        let own = program.graph.label_of(param);
        let name = renames.iter().fold(own.clone(), |name, (from, to)| name.replace(from, to));
        let other = params.iter().find(|param| graph.label_of(**param) == name);
        let other = *other.unwrap_or_else(|| panic!("there is no {name} in Rust, for {own}"));
        let shape = program.graph.final_shape(param).unwrap();
        assert_eq!(shape, graph.final_shape(other).unwrap(), "{own}");
        let values: Vec<f64> =
            (0..shape.elements()).map(|at| (at as f64 * 1.7 + number as f64).sin() / 2.0).collect();
        let sizes: Vec<u64> = [shape.batch(), shape.output(), shape.input()]
            .into_iter()
            .flatten()
            .map(broadloom::Axis::size)
            .collect();
        let values = Array::from_slice(&sizes, &values).unwrap();
        settings.push((other, values.clone()));
        inputs.push((own, values));
    }
    let own = found(&program, "y");
    assert_eq!(program.graph.final_shape(own).unwrap(), graph.final_shape(y).unwrap());
    let (mut session, _) = run(program, inputs);
    let reference = Settings { backend: Backend::Reference, ..Settings::default() };
    let mut other = Session::with(graph, reference).unwrap();
    for (param, values) in settings {
        other.set(param, &values).unwrap();
    }
    other.run(Routine::new("y").forward(y)).unwrap();
    close("y", &session.get(own).unwrap().to_f64s(), &other.get(y).unwrap().to_f64s());
}

fn doubles() -> Builder {
    let mut graph = Graph::new();
    graph.set_default_precision(Dtype::F64);
    Builder::of(graph)
}

#[test]
fn transformer_as_in_rust() {
    let (source, target) = ([0i64, 3, 6, 1, 2, 5, 5, 0, 1, 4], [8i64, 0, 1, 7, 2, 2, 3, 5]);
    let b = doubles();
    let model = blocks::transformer(&b, "model", [7, 9], 8, &TransformerConfig::new(2, 2, 12));
    let data = |name: &str, values: &[i64], sizes: &[u64]| {
        b.array(name, "... |", Array::from_slice(sizes, values).unwrap())
    };
    let y = model
        .apply(data("source", &source, &[2, 5]), data("target", &target, &[2, 4]), Mode::Inference)
        .tensor();
    let text = "
data source : 2, 5 | = [[0, 3, 6, 1, 2], [5, 5, 0, 1, 4]]
data target : 2, 4 | = [[8, 0, 1, 7], [2, 2, 3, 5]]
let model = transformer(7, 9, 8, 2, 2, 12)
let y = model(source, target)";
    let renames = [
        ("source_words", "source"),
        ("model.words", "model.target"),
        (".attend", ".attention"),
        (".read", ".cross_attention"),
        (".feed.layers.0", ".feed_forward.0"),
        (".feed.last", ".feed_forward.1"),
        (".feed_norm", ".feed_forward_norm"),
        ("last_norm.layer_norm", "encoder.norm"),
        ("last_norm2.layer_norm", "decoder.norm"),
    ];
    drop(model);
    same(text, &renames, b, y);
}

#[test]
fn other_layers_as_in_rust() {
    let numbers: Vec<f64> = (0..2 * 6 * 6 * 3).map(|at| (at as f64).cos()).collect();
    let folder = std::env::temp_dir().join(format!("broadloom-library-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("x.npy");
    let image = Array::from_slice(&[2, 6, 6, 3], &numbers).unwrap();
    broadloom::files::write_npy(&file, &image).unwrap();
    let x = format!("data x : 2 | 6, 6, 3 = load(\"{}\")\n", file.display());

    let b = doubles();
    let layer = blocks::separable_conv2d(&b, "layer", 5, Window::square(3).stride(2).padded());
    let y = layer.apply(b.array("x", "... | 6, 6, 3", image.clone())).tensor();
    let text = format!("{x}let layer = separable_conv2d(5, stride = 2)\nlet y = layer(x)");
    same(&text, &[("depthwise_conv2d", "depthwise"), ("conv2d", "pointwise")], b, y);

    let b = doubles();
    let sequence = Array::from_slice(&[12, 18], &numbers).unwrap();
    broadloom::files::write_npy(&file, &sequence).unwrap();
    let x = format!("data x : 12 | 18 = load(\"{}\")\n", file.display());
    let layer = blocks::learned_positions(&b, "layer", 20);
    let y = layer.apply(b.array("x", "... | 18", sequence.clone())).tensor();
    same(&format!("{x}let layer = learned_positions(20)\nlet y = layer(x)"), &[], b, y);

    let b = doubles();
    let config = TransformerConfig { positions: Positions::Rotary, ..TransformerConfig::new(1, 3, 7) };
    let layer = blocks::encoder_block(&b, "layer", &config);
    let y = layer.apply(b.array("x", "... | 18", sequence), Mask::Causal, Mode::Inference).tensor();
    let renames = [
        (".attend", ".attention"),
        (".feed.layers.0", ".feed_forward.0"),
        (".feed.last", ".feed_forward.1"),
        (".feed_norm", ".feed_forward_norm"),
    ];
    let text =
        format!("{x}let layer = encoder_block(3, 7, causal = true, rotation = rotary())\nlet y = layer(x)");
    drop(layer);
    same(&text, &renames, b, y);
    std::fs::remove_dir_all(&folder).unwrap();
}
