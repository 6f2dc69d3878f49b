//! Layers of the library, compared with the same blocks in Rust.

use broadloom::blocks::{self, Mask, Mode, Positions, TransformerConfig, Window};
use broadloom::{Array, Backend, Builder, Dtype, Graph, Routine, Session, Settings, Tensor};

use super::golden::{close, compiled, found, run};

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

/// A logit of minus infinity excludes its class, in Rust as in the language.
#[test]
fn classes_that_are_excluded_cost_nothing() {
    let b = doubles();
    let never = f64::NEG_INFINITY;
    let scores = Array::from_slice(&[2, 3], &[1.0, 2.0, never, never, 3.0, never]).unwrap();
    let logits = b.array("logits", "2 | 3", scores);
    let targets = b.array("targets", "2 |", Array::from_slice(&[2], &[0i64, 1]).unwrap());
    let loss = blocks::cross_entropy(logits, targets);
    let same = blocks::cross_entropy_one_hot(logits, blocks::one_hot(targets));
    let losses = [loss.tensor(), same.tensor()];
    let reference = Settings { backend: Backend::Reference, ..Settings::default() };
    let mut session = Session::with(b.finish().unwrap(), reference).unwrap();
    for loss in losses {
        session.run(Routine::new("loss").forward(loss)).unwrap();
        close("loss", &session.get(loss).unwrap().to_f64s(), &[1f64.exp().ln_1p(), 0.0]);
    }
}
