//! Layers: parameters shared between applications, random numbers, lasting states, and mistakes.

use broadloom::blocks::{self, Activation, Mask, Mode, NormPlace, Positions, TransformerConfig, Window};
use broadloom::{Adam, Array, Backend, Builder, Dtype, Error, Graph, Routine, Session, Settings, Tensor};

fn doubles() -> Builder {
    let mut graph = Graph::new();
    graph.set_default_precision(Dtype::F64);
    Builder::of(graph)
}

fn session(b: Builder, seed: u64) -> Result<Session, Error> {
    Session::with(b.finish()?, Settings { backend: Backend::Reference, seed, ..Settings::default() })
}

fn run(session: &mut Session, tensors: &[Tensor]) -> Result<Vec<Vec<f64>>, Error> {
    let mut routine = Routine::new("run");
    tensors.iter().for_each(|tensor| {
        routine.forward(*tensor);
    });
    session.run(&routine)?;
    tensors.iter().map(|tensor| Ok(session.get(*tensor)?.to_f64s())).collect()
}

#[test]
fn applications_share_parameters() -> Result<(), Error> {
    let b = doubles();
    let (x, other) = (b.data("x", "8, 4 | 6"), b.data("other", "3, 5 | 6"));
    let image = b.data("image", "2 | 6, 6, 3");
    let linear = blocks::linear(&b, "linear", 6);
    let mlp = blocks::mlp(&b, "mlp", &[7], 6, Activation::Tanh);
    let attention = blocks::multi_head_attention(&b, "attention", 2);
    let (layer, rms) = (blocks::layer_norm(&b, "layer"), blocks::rms_norm(&b, "rms"));
    let batch = blocks::batch_norm(&b, "batch");
    let conv = blocks::separable_conv2d(&b, "conv", 3, Window::square(3).padded());
    let block = blocks::encoder_block(&b, "block", &TransformerConfig::new(1, 2, 8));
    let params = |b: &Builder| {
        let mut count = 0;
        let _ = b.with(|graph| {
            count = graph.params().len();
            Ok(graph.number(0.0))
        });
        count
    };
    let made = params(&b);
    assert_eq!(made, 2 + 4 + 4 + 2 + 1 + 2 + 3 + (4 + 4 + 4));
    let both = [x, other].map(|x| {
        let x = mlp.apply(linear.apply(x));
        let x = batch.apply(rms.apply(layer.apply(attention.apply(x, Mask::Causal))), Mode::Training);
        block.apply(x, Mask::Nothing, Mode::Training).tensor()
    });
    let images = [image, image * 2.0].map(|image| conv.apply(image).tensor());
    assert_eq!(params(&b), made);
    let mut g = b.finish()?;
    assert_eq!(g.final_shape(both[0])?.to_string(), "8, 4 | 6");
    assert_eq!(g.final_shape(both[1])?.to_string(), "3, 5 | 6");
    assert_eq!(g.final_shape(images[1])?.to_string(), "2 | 6, 6, 3");
    assert_eq!(g.label_of(g.params()[2]), "mlp.0.weight");
    Ok(())
}

/// One layer applied twice to one input gives the same result twice, and the gradient of its
/// parameter is the sum.
#[test]
fn gradients_of_shared_parameters_add_up() -> Result<(), Error> {
    let b = doubles();
    let x = b.array("x", "2", Array::from_slice(&[2], &[1.0, 2.0])?);
    let layer = blocks::linear(&b, "layer", 1);
    let (once, twice) = (layer.apply(x), layer.apply(x * 10.0));
    let loss = (once + twice).sum("... =>").tensor();
    let weight = layer.weight.tensor();
    let mut graph = b.finish()?;
    let gradient = graph.gradient(weight)?;
    let mut routine = Routine::new("backward");
    routine.backward(&mut graph, loss)?.keep(gradient);
    let mut session = Session::with(graph, Settings { backend: Backend::Reference, ..Settings::default() })?;
    session.run(&routine)?;
    assert_eq!(session.get(gradient)?.to_f64s(), [11.0, 22.0]);
    Ok(())
}

#[test]
fn dropout_keeps_the_mean() -> Result<(), Error> {
    let model = |seed: u64| -> Result<(Session, [Tensor; 3]), Error> {
        let b = doubles();
        let x = b.data("x", "100 | 100");
        let drop = blocks::dropout(&b, "drop", 0.3);
        let y = drop.apply(x, Mode::Training);
        let tensors = [y, drop.apply(x, Mode::Training), drop.apply(x, Mode::Inference)].map(|y| y.tensor());
        let mut session = session(b, seed)?;
        session.set(x_of(&session), &Array::full(Dtype::F64, &[100, 100], 2.0)?)?;
        Ok((session, tensors))
    };
    let (mut one, tensors) = model(1)?;
    let first = run(&mut one, &tensors)?;
    for y in &first[..2] {
        assert!(y.iter().all(|y| *y == 0.0 || (y - 2.0 / 0.7).abs() < 1e-12));
        let dropped = y.iter().filter(|y| **y == 0.0).count();
        assert!((2850..3150).contains(&dropped), "{dropped} of 10000 is not about three in ten");
        let mean = y.iter().sum::<f64>() / 1e4;
        assert!((mean - 2.0).abs() < 0.05, "{mean}");
    }
    assert!(first[2].iter().all(|y| *y == 2.0));
    assert_ne!(first[0], first[1], "each application draws its own numbers");
    let second = run(&mut one, &tensors)?;
    assert_ne!(first[0], second[0], "each run draws new numbers");

    let (mut same, tensors) = model(1)?;
    assert_eq!(run(&mut same, &tensors)?, first, "a run can be repeated");
    let (mut other, tensors) = model(2)?;
    assert_ne!(run(&mut other, &tensors)?[0], first[0]);
    Ok(())
}

/// The tensor called `x`.
fn x_of(session: &Session) -> Tensor {
    let graph = session.graph();
    graph.tensors().find(|tensor| graph.label_of(*tensor) == "x").expect("there is an x")
}

#[test]
fn batch_norm_follows_its_batches() -> Result<(), Error> {
    let b = doubles();
    let norm = blocks::batch_norm(&b, "norm");
    let x = b.data("x", "2 | 2, 1, 2");
    let (trained, used) = (norm.apply(x, Mode::Training).tensor(), norm.apply(x, Mode::Inference).tensor());
    let mut train = Routine::new("train");
    norm.update(&mut train);
    train.forward(trained);
    let (x, mean, variance) = (x.tensor(), norm.mean.tensor(), norm.variance.tensor());
    let mut session = session(b, 0)?;
    assert!(session.graph().params().len() == 2, "running statistics are not trained");

    let (mut means, mut variances) = ([0.0, 0.0], [1.0, 1.0]);
    for run in 0..3 {
        let batch: Vec<f64> = (0..8).map(|at| f64::from((at * 5 + run) % 7) * 1.5).collect();
        session.set(x, &Array::new(&[2, 2, 1, 2], batch.clone())?)?;
        session.run(&train)?;
        for channel in 0..2 {
            let values: Vec<f64> = batch.iter().skip(channel).step_by(2).copied().collect();
            let middle = values.iter().sum::<f64>() / 4.0;
            let unbiased = values.iter().map(|x| (x - middle).powi(2)).sum::<f64>() / 3.0;
            means[channel] = 0.9 * means[channel] + 0.1 * middle;
            variances[channel] = 0.9 * variances[channel] + 0.1 * unbiased;
        }
        let near = |made: &[f64], wanted: &[f64]| made.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(&session.get(mean)?.to_f64s(), &means), "run {run}");
        assert!(near(&session.get(variance)?.to_f64s(), &variances), "run {run}");
        if run == 2 {
            let y = self::run(&mut session, &[used])?.remove(0);
            let wanted: Vec<f64> =
                (0..8).map(|at| (batch[at] - means[at % 2]) / (variances[at % 2] + 1e-5).sqrt()).collect();
            assert!(near(&y, &wanted), "{y:?} is not {wanted:?}");
        }
    }
    Ok(())
}

/// A table of learned positions that is longer than the sequence: the rest of it is not used, and not changed.
#[test]
fn learned_positions_beyond_the_end() -> Result<(), Error> {
    let b = doubles();
    let positions = blocks::learned_positions(&b, "positions", 4);
    let x = b.array("x", "... | 2", Array::full(Dtype::F64, &[3, 2, 2], 1.0)?);
    let y = positions.apply(x);
    let loss = y.sum("... | ... =>").tensor();
    let (y, table) = (y.tensor(), positions.table.tensor());
    let mut graph = b.finish()?;
    let gradient = graph.gradient(table)?;
    let mut routine = Routine::new("backward");
    routine.backward(&mut graph, loss)?.keep(gradient).keep(y);
    let mut session = Session::with(graph, Settings { backend: Backend::Reference, ..Settings::default() })?;
    session.set(table, &Array::new(&[4, 2], (0..8).map(f64::from).collect::<Vec<_>>())?)?;
    session.run(&routine)?;
    assert_eq!(session.get(y)?.to_f64s()[..8], [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(session.get(gradient)?.to_f64s(), [3.0, 3.0, 3.0, 3.0, 0.0, 0.0, 0.0, 0.0]);
    Ok(())
}

/// The prediction of a decoder at a position does not depend on later tokens, whatever the encoding
/// of positions.
#[test]
fn decoders_do_not_look_ahead() -> Result<(), Error> {
    let kinds = [
        Positions::Nothing,
        Positions::Sinusoidal,
        Positions::Learned(Some(9)),
        Positions::Learned(None),
        Positions::Rotary,
    ];
    for (positions, norm) in kinds.into_iter().zip([NormPlace::Before, NormPlace::After].into_iter().cycle())
    {
        let b = doubles();
        let config = TransformerConfig { positions, norm, dropout: 0.1, ..TransformerConfig::new(2, 2, 12) };
        let model = blocks::decoder_only(&b, "model", 7, 8, &config);
        let tokens = b.data("tokens", "2, 5 |");
        let (logits, tokens) = (model.apply(tokens, Mode::Inference).tensor(), tokens.tensor());
        let mut session = session(b, 3)?;
        let mut say = |last: i64| -> Result<Vec<f64>, Error> {
            let values = [1, 2, 3, 4, last, 6, 5, 6, 5, last];
            session.set(tokens, &Array::from_slice(&[2, 5], &values)?)?;
            Ok(run(&mut session, &[logits])?.remove(0))
        };
        let (one, other) = (say(0)?, say(6)?);
        for position in 0..10 {
            let part = position * 7..position * 7 + 7;
            assert_eq!(one[part.clone()] == other[part], position % 5 != 4, "{positions:?} at {position}");
        }
    }
    Ok(())
}

/// Sequences that differ only in their order have different results if there are positions.
#[test]
fn positions_matter() -> Result<(), Error> {
    for (positions, matter) in [
        (Positions::Nothing, false),
        (Positions::Sinusoidal, true),
        (Positions::Learned(None), true),
        (Positions::Rotary, true),
    ] {
        let b = doubles();
        let config = TransformerConfig { positions, ..TransformerConfig::new(1, 2, 12) };
        let model = blocks::transformer(&b, "model", [5, 5], 8, &config);
        let source = b.data("source", "4 |");
        let target = b.array("target", "... |", Array::from_slice(&[1], &[2i64])?);
        let (logits, source) = (model.apply(source, target, Mode::Inference).tensor(), source.tensor());
        let mut session = session(b, 3)?;
        let mut say = |tokens: [i64; 4]| -> Result<Vec<f64>, Error> {
            session.set(source, &Array::from_slice(&[4], &tokens)?)?;
            Ok(run(&mut session, &[logits])?.remove(0))
        };
        let (one, other) = (say([0, 1, 2, 3])?, say([3, 1, 0, 2])?);
        let differ = one.iter().zip(&other).any(|(a, b)| (a - b).abs() > 1e-9);
        assert_eq!(differ, matter, "{positions:?}");
    }
    Ok(())
}

/// A small model memorises a sequence, in 32-bit floats and with dropout.
#[test]
fn a_decoder_learns() -> Result<(), Error> {
    let b = Builder::new();
    let config = TransformerConfig { dropout: 0.05, ..TransformerConfig::new(1, 2, 32) };
    let model = blocks::decoder_only(&b, "model", 5, 16, &config);
    let tokens = b.data("tokens", "2, 8 |");
    let loss = blocks::next_token_loss(model.apply(tokens, Mode::Training), tokens).tensor();
    let tokens = tokens.tensor();
    let mut graph = b.finish()?;
    let mut train = Routine::new("train");
    train.backward(&mut graph, loss)?;
    let (params, rate) = (graph.params(), graph.number(0.01));
    Adam::default().update(&mut graph, &mut train, &params, rate)?;
    let mut session = Session::with(graph, Settings { threads: Some(1), ..Settings::default() })?;
    let text = [0i64, 1, 2, 3, 4, 0, 1, 2, 4, 3, 2, 1, 0, 4, 3, 2];
    session.set(tokens, &Array::from_slice(&[2, 8], &text)?)?;
    session.run(&train)?;
    let first = session.item(loss)?;
    for _ in 0..60 {
        session.run(&train)?;
    }
    let last = session.item(loss)?;
    assert!(first > 1.0 && last < 0.3 * first, "from {first} to {last}");
    Ok(())
}

/// A user-defined mask that equals the causal one.
#[test]
fn masks() -> Result<(), Error> {
    let b = doubles();
    let x = b.array(
        "x",
        "s | d",
        Array::new(&[3, 4], (0..12).map(|at| f64::from(at * 5 % 7)).collect::<Vec<_>>())?,
    );
    let mask = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0];
    let mask = b.array("mask", "s | t ->", Array::from_slice(&[3, 3], &mask)?);
    let attention = blocks::multi_head_attention(&b, "attention", 2);
    let masks = [Mask::Causal, Mask::Where(mask), Mask::Nothing];
    let tensors = masks.map(|mask| attention.attend(x, x, mask).probabilities.tensor());
    let made = run(&mut session(b, 0)?, &tensors)?;
    assert_eq!(made[0], made[1]);
    assert_ne!(made[0], made[2]);
    // In memory: position, head, position seen.
    assert_eq!(made[0][..6], [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    assert!(
        made.iter().flat_map(|made| made.chunks(3)).all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-12)
    );
    Ok(())
}

#[test]
fn gelu_by_the_error_function() -> Result<(), Error> {
    let b = doubles();
    let y = blocks::gelu_exact(b.array("x", "3", Array::from_slice(&[3], &[-1.0, 0.0, 1.0])?)).tensor();
    let y = run(&mut session(b, 0)?, &[y])?.remove(0);
    for (made, wanted) in y.iter().zip([-0.158_655_253_931_457_05, 0.0, 0.841_344_746_068_542_9]) {
        assert!((made - wanted).abs() < 1e-12, "{made} is not {wanted}");
    }
    Ok(())
}

/// Each mistake is reported in terms of the layer, with the line that made it.
#[test]
fn mistakes_are_reported() {
    const IMAGE: &str = "8 | 6, 6, 3";
    type Mistake = fn(&Builder);
    let cases: [(&str, Mistake); 9] = [
        ("the layer `drop`: the rate of dropout is at least 0 and below 1, not 1.5", |b| {
            blocks::dropout(b, "drop", 1.5);
        }),
        ("`stride` is 0", |b| {
            let _ = blocks::max_pool(b.data("x", IMAGE), Window::square(2).stride(0));
        }),
        ("of size 6, does not fit", |b| {
            let _ = blocks::conv2d(b, "c", 3, Window::square(3).stride(2)).apply(b.data("x", IMAGE));
        }),
        ("the shape of `c.kernel`: sizes start at 1", |b| {
            let _ = blocks::conv2d(b, "c", 3, Window::square(0)).apply(b.data("x", IMAGE));
        }),
        ("the shape of `a.query`: sizes start at 1", |b| {
            let _ = blocks::multi_head_attention(b, "a", 0).apply(b.data("x", "4 | 6"), Mask::Causal);
        }),
        ("which is not a multiple of 4", |b| {
            let _ = blocks::multi_head_attention(b, "a", 4).apply(b.data("x", "4 | 6"), Mask::Causal);
        }),
        ("the shape of `m.blocks.0.feed_forward.0.weight`", |b| {
            blocks::decoder_only(b, "m", 9, 8, &TransformerConfig::new(1, 2, 0));
        }),
        ("a spec has only one `=>`", |b| {
            let _ = blocks::softmax(b.data("x", "8 | 6"), "... | v =>");
        }),
        ("of size 5, does not fit `2*i`", |b| {
            let _ = blocks::rotary(1e4).apply(b.data("x", "4 | 5"));
        }),
    ];
    for (wanted, make) in cases {
        let b = Builder::new();
        make(&b);
        let error = b.finish().expect_err("a mistake");
        assert!(error.message().contains(wanted), "{error}");
        assert!(error.ends().iter().any(|end| end.text.contains("tests/blocks.rs")), "{error}");
    }
}
