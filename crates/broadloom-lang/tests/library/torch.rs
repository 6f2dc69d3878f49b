//! Layers, losses, rules and schedules against PyTorch: results and gradients. `with_torch.py` beside the golden values
//! made the numbers.

use super::golden::{array, check, close, compiled, found, run};

/// A case of the folder, a program whose result is `y`, and its leaves with their golden names.
#[track_caller]
fn held(case: &str, text: &str, leaves: &[(&str, &str)]) {
    check(&format!("torch/{case}"), text, leaves);
}

const SIGNAL: &str = "data x : ... | _, _ = load(\"CASE\", \"x\")\n";
const IMAGE: &str = "data x : ... | _, _, _ = load(\"CASE\", \"x\")\n";
const VOLUME: &str = "data x : ... | _, _, _, _ = load(\"CASE\", \"x\")\n";
const SEQUENCE: &str = "data x : ... | _ = load(\"CASE\", \"x\")\n";

#[test]
fn norms() {
    let leaves = [("x", "x"), ("layer.gain", "gamma"), ("layer.shift", "beta")];
    held("group_norm", &format!("{IMAGE}let layer = group_norm(3)\nlet y = layer(x)"), &leaves);
    held("instance_norm", &format!("{IMAGE}let layer = instance_norm()\nlet y = layer(x)"), &leaves);
}

#[test]
fn convolutions() {
    for (case, x, layer) in [
        ("conv1d", SIGNAL, "conv1d(4, stride = 2, padding = \"valid\")"),
        ("conv1d_plain", SIGNAL, "conv1d(4, 5, dilation = 2, biased = false)"),
        ("conv3d", VOLUME, "conv3d(3)"),
        ("grouped_conv2d", IMAGE, "grouped_conv2d(2, 6)"),
        ("transposed_conv2d", IMAGE, "transposed_conv2d(5)"),
        (
            "transposed_conv2d_cut",
            IMAGE,
            "transposed_conv2d(5, 4, padding = \"valid\", cut = 1, biased = false)",
        ),
        ("patch_embedding", IMAGE, "patch_embedding(5, 2)"),
    ] {
        let mut leaves = vec![("x", "x"), ("layer.kernel", "kernel")];
        if !layer.contains("biased = false") {
            leaves.push(("layer.bias", "bias"));
        }
        let rows = if case == "patch_embedding" { "# sequence" } else { "" };
        held(case, &format!("{x}let layer = {layer}\nlet y = layer(x)\n{rows}"), &leaves);
    }
}

#[test]
fn sizes_of_images() {
    for (case, layer) in [
        ("adaptive_avg_pool", "adaptive_avg_pool(3, 2)"),
        ("adaptive_max_pool", "adaptive_max_pool(3, 2)"),
        ("upsample", "upsample()"),
    ] {
        held(case, &format!("{IMAGE}let y = x |> {layer}"), &[("x", "x")]);
    }
}

#[test]
fn rotary_halves() {
    let x = "data x : ... | _, _ = load(\"CASE\", \"x\")\n";
    held("rotary_halves", &format!("{x}let y = rotary_halves()(x)\n# heads"), &[("x", "x")]);
}

const ATTENTION: [(&str, &str); 5] =
    [("x", "x"), ("layer.query", "wq"), ("layer.key", "wk"), ("layer.value", "wv"), ("layer.out", "wo")];

#[test]
fn attention() {
    for (case, more, config, how) in [
        ("attention_groups", "", "4, 6, causal = true, groups = 2, rotation = rotary_halves()", ""),
        ("attention_window", "", "2, 3", ", mask = window_mask(2)"),
        (
            "attention_lengths",
            "data lengths : _ | = load(\"CASE\", \"lengths\")",
            "2, 3",
            ", mask = length_mask(lengths)",
        ),
        (
            "attention_segments",
            "data numbers : _, _ | = load(\"CASE\", \"numbers\")",
            "2, 3",
            ", mask = segment_mask(numbers) and causal_mask()",
        ),
    ] {
        let text =
            format!("{SEQUENCE}{more}\nlet layer = attention({config})\nlet y = layer(x{how})\n# sequence");
        held(case, &text, &ATTENTION);
    }
    let text = format!(
        "{SEQUENCE}data bias : _ | _ -> _ = load(\"CASE\", \"bias\")\n\
         let layer = attention(2, 3, scaled = false)\nlet y = layer(x, bias = bias)\n# sequence"
    );
    let mut leaves = ATTENTION.to_vec();
    leaves.push(("bias", "bias"));
    held("attention_bias", &text, &leaves);
}

/// Experts are one array there, and layers here.
#[test]
fn mixture() {
    let text = format!(
        "{SEQUENCE}data w : _ | _, _ = load(\"CASE\", \"w\")\ndata b : _ | _ = load(\"CASE\", \"b\")\n\
         def expert(i)(x) = einsum(\"o, i; ... | i => ... | o\", w[i], x) + b[i]\n\
         let layer = mixture([expert(i) for i in 0..3])\nlet y = layer(x)\n# sequence"
    );
    held("mixture", &text, &[("x", "x"), ("layer.gate", "gate"), ("w", "w"), ("b", "b")]);
}

/// Layers with a first state, and what they carry at the end behind what they say.
#[test]
fn recurrences() {
    let parts = ["read", "recall", "bias"];
    let own = |cell: &str, gates: &[&str]| -> Vec<(String, String)> {
        let names = gates.iter().flat_map(|gate| parts.map(|part| (gate, part)));
        names.map(|(gate, part)| (format!("{cell}.{gate}.{part}"), format!("{part}_{gate}"))).collect()
    };
    let data = |name: &str| format!("data {name} : _ | _ = load(\"CASE\", \"{name}\")\n");
    let along = "along = \"..., s | ...\"";
    let lstm = format!(
        "{SEQUENCE}{}{}let layer = lstm(4, last = true)\nlet all, last = layer(x, [said, memory])\n\
         let h, c = [einsum(\"b | d => b, 0 | d\", each) for each in last]\n\
         let y = concat(concat(all, h, {along}), c, {along})\n# sequence",
        data("said"),
        data("memory")
    );
    let mut leaves = own("layer.lstm_cell", &["into", "forget", "new", "out"]);
    leaves.extend(["x", "said", "memory"].map(|name| (name.into(), name.into())));
    held_all("lstm", &lstm, &leaves);
    let gru = format!(
        "{SEQUENCE}{}let layer = gru(4, last = true)\nlet all, last = layer(x, said)\n\
         let y = concat(all, einsum(\"b | d => b, 0 | d\", last), {along})\n# sequence",
        data("said")
    );
    let mut leaves = own("layer.gru_cell", &["reset", "keep"]);
    leaves.extend(parts.map(|part| {
        (format!("layer.gru_cell.{}", if part == "bias" { "read_bias" } else { part }), format!("{part}_new"))
    }));
    leaves.push(("layer.gru_cell.recall_bias".into(), "recall_bias".into()));
    leaves.extend(["x", "said"].map(|name| (name.into(), name.into())));
    held_all("gru", &gru, &leaves);
}

#[track_caller]
fn held_all(case: &str, text: &str, leaves: &[(String, String)]) {
    let leaves: Vec<(&str, &str)> = leaves.iter().map(|(name, key)| (&**name, &**key)).collect();
    held(case, text, &leaves);
}

#[test]
fn losses() {
    let text = "data logits : ... | _ = load(\"CASE\", \"logits\")\n\
                data targets : ... | = load(\"CASE\", \"targets\")\n\
                let y = cross_entropy_smoothed(0.2)(logits, targets)\n# flat";
    held("cross_entropy_smoothed", text, &[("logits", "logits")]);
    let text = "data a : _ | _ = load(\"CASE\", \"a\")\ndata b : _ | _ = load(\"CASE\", \"b\")\n\
                let y = contrastive(0.5)(a, b)";
    held("contrastive", text, &[("a", "a"), ("b", "b")]);
}

/// Four steps of two parameters, and averages that follow them.
#[test]
fn rules() {
    for (case, rule) in [
        ("rmsprop", "rmsprop(0.1, smoothing = 0.9)"),
        ("adagrad", "adagrad(0.1)"),
        ("lion", "lion(0.1, decay = 0.1)"),
        ("clip_norm", "clip_norm(2, [p, q], sgd(0.1, momentum = 0.9))"),
        ("clip_values", "clip_values(0.5, sgd(0.1, momentum = 0.9))"),
    ] {
        let text = "let p, q = [{p : _, _ as f64 = load(\"CASE\", \"p\")}, {q : _ as f64 = load(\"CASE\", \"q\")}]\n\
                    data of_p : _ | _, _ = load(\"CASE\", \"gradients_p\")\n\
                    data of_q : _ | _ = load(\"CASE\", \"gradients_q\")\n\
                    let follow = weight_average(0.75)\n\
                    repeat t in 0..4:\n  let loss = sum(p * of_p[t]) + sum(q * of_q[t])\n  minimise loss by RULE\n  follow([p, q])\n";
        let text = text.replace("CASE", &format!("torch/{case}.npz")).replace("RULE", rule);
        for (more, keys) in
            [("", ["y_p", "y_q"]), ("follow([p, q], exchange = true)\n", ["average_p", "average_q"])]
        {
            let program = compiled(&format!("{text}{more}"));
            let tensors = [found(&program, "p"), found(&program, "q")];
            let (mut session, _) = run(program, Vec::new());
            for (tensor, key) in tensors.into_iter().zip(keys) {
                let wanted = array(&format!("torch/{case}"), key).to_f64s();
                close(&format!("{case}: {key}"), &session.get(tensor).unwrap().to_f64s(), &wanted);
            }
        }
    }
}

#[test]
fn schedules() {
    for (name, schedule) in [
        ("linear_decay", "linear_decay(12, last = 0.1)"),
        ("staircase", "staircase(6, 0.5)"),
        ("one_cycle", "one_cycle(20)"),
        ("inverse_sqrt", "inverse_sqrt(5)"),
    ] {
        let program = compiled(&format!("data step : 20 | as f64\nlet y = {schedule}(step)\nprint y"));
        let y = found(&program, "y");
        let steps: Vec<f64> = (0..20).map(f64::from).collect();
        let steps = broadloom::Array::from_slice(&[20], &steps).unwrap();
        let (mut session, _) = run(program, vec![("step".into(), steps)]);
        close(name, &session.get(y).unwrap().to_f64s(), &array("torch/schedules", name).to_f64s());
    }
}
