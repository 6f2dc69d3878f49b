//! A perceptron learns to tell two moons apart.

use std::f64::consts::PI;

use broadloom::blocks::{Activation, cross_entropy, mean, mlp};
use broadloom::random::{key_of, normal_f64, uniform_f64};
use broadloom::{Adam, Array, Builder, Error, Routine, Session, Settings};

const POINTS: u64 = 512;

/// Points on two half circles that reach into each other, with noise, and which circle each is on.
fn moons(name: &str) -> Result<(Array, Array), Error> {
    let key = key_of(7, name);
    let (mut points, mut sides) = (Vec::new(), Vec::new());
    for at in 0..POINTS {
        let (angle, side) = (PI * uniform_f64(key, at), at % 2);
        let noise = |axis| 0.1 * normal_f64(key, POINTS + 2 * at + axis);
        let (x, y) =
            if side == 0 { (angle.cos(), angle.sin()) } else { (1.0 - angle.cos(), 0.5 - angle.sin()) };
        points.extend([(x + noise(0)) as f32, (y + noise(1)) as f32]);
        sides.push(side as i64);
    }
    Ok((Array::from_slice(&[POINTS, 2], &points)?, Array::from_slice(&[POINTS], &sides)?))
}

/// Trains a perceptron and returns its accuracy on points it has not seen.
pub fn train(settings: Settings) -> Result<f64, Error> {
    let b = Builder::new();
    let x = b.data("x", &format!("{POINTS} | 2"));
    let side = b.data("side", &format!("{POINTS} |"));
    let scores = mlp(&b, "mlp", &[32, 32], 2, Activation::Tanh).apply(x).named("scores");
    let loss = mean(cross_entropy(scores, side)).named("loss");
    let (x, side, scores, loss) = (x.tensor(), side.tensor(), scores.tensor(), loss.tensor());

    let mut graph = b.finish()?;
    let mut step = Routine::new("step");
    step.backward(&mut graph, loss)?;
    let (rate, params) = (graph.number(0.02), graph.params());
    Adam::default().update(&mut graph, &mut step, &params, rate)?;
    let mut predict = Routine::new("predict");
    predict.forward(scores);

    let mut session = Session::with(graph, settings)?;
    let (points, sides) = moons("training")?;
    session.set(x, &points)?;
    session.set(side, &sides)?;
    for number in 0..300 {
        session.run(&step)?;
        if number % 50 == 0 {
            println!("step {number:3}  loss {:.4}", session.item(loss)?);
        }
    }

    let (points, sides) = moons("test")?;
    session.set(x, &points)?;
    session.run(&predict)?;
    let scores = session.get(scores)?.to_f64s();
    let right = scores.chunks(2).zip(sides.to_f64s()).filter(|(scores, side)| {
        let chosen = if scores[1] > scores[0] { 1.0 } else { 0.0 };
        chosen == *side
    });
    Ok(right.count() as f64 / POINTS as f64)
}
