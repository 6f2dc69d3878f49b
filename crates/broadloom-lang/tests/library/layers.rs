//! Layers, from dense ones to a language model.

use broadloom::Dtype;

use super::golden::{array, check, close, compiled, found, number, run, size, sizes_of, transposed};

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
