//! Times programs with named sizes: code that was compiled once for all sizes, compared with code
//! for each size, and the cost of changing sizes.
//!
//! Times are the least of many runs, the two taken in turn. `compile` is a first compilation, with nothing in the cache.

use std::time::{Duration, Instant};

use broadloom::blocks::{Mode, TransformerConfig, decoder_only, softmax};
use broadloom::{Array, Builder, Error, Graph, Routine, Session, Settings, Sgd, Tensor};

/// A network over `batch` and `seq`: its data and its loss.
type Network = fn(&Builder) -> (Vec<Tensor>, Tensor);

const NETWORKS: [(&str, Network); 2] =
    [("perceptron 784-256-10", perceptron), ("decoder, 2 blocks of 64", decoder)];
const SIZES: [[u64; 2]; 4] = [[1, 1], [16, 16], [32, 24], [64, 32]];

fn perceptron(b: &Builder) -> (Vec<Tensor>, Tensor) {
    let (x, target) = (b.data("x", "batch | 784"), b.data("target", "batch | 10"));
    let hidden = (b.param("w1").compose(x) + b.param_shaped("b1", "256")).relu();
    let y = b.param("w2").compose(hidden) + b.param_shaped("b2", "10");
    let error = (softmax(y, "... | v") - target).square();
    (vec![x.tensor(), target.tensor()], error.mean("..b.. | o => 0", &["b"]).tensor())
}

fn decoder(b: &Builder) -> (Vec<Tensor>, Tensor) {
    let words = b.data("words", "batch, seq |");
    let model = decoder_only(b, "model", 256, 64, &TransformerConfig::new(2, 4, 256));
    let loss = model.apply(words, Mode::Training).square().mean("..b.. | v => 0", &["b"]);
    (vec![words.tensor()], loss.tensor())
}

/// A training step that runs at any size.
struct Training {
    session: Session,
    step: Routine,
    data: Vec<Tensor>,
}

impl Training {
    fn new(network: Network, specialise: bool) -> Result<Training, Error> {
        let b = Builder::new();
        b.dim("batch", 1..=64, 32);
        b.dim("seq", 1..=64, 8);
        let (data, loss) = network(&b);
        let mut graph: Graph = b.finish()?;
        let mut step = Routine::new("step");
        step.backward(&mut graph, loss)?;
        let (rate, params) = (graph.number(0.01), graph.params());
        Sgd::default().update(&mut graph, &mut step, &params, rate)?;
        let session = Session::with(graph, Settings { specialise, ..Settings::default() })?;
        Ok(Training { session, step, data })
    }

    /// Changes to some sizes, with data. Returns the time until the first run is done.
    fn go(&mut self, [batch, seq]: [u64; 2]) -> Result<Duration, Error> {
        let start = Instant::now();
        self.session.set_sizes(&[("batch", batch), ("seq", seq)])?;
        for data in &self.data {
            let (sizes, dtype) = (self.session.sizes_of(*data)?, self.session.dtype(*data)?);
            self.session.set(*data, &Array::full(dtype, &sizes, 1.0)?)?;
        }
        self.session.run(&self.step)?;
        Ok(start.elapsed())
    }

    fn time(&mut self) -> Result<Duration, Error> {
        let start = Instant::now();
        self.session.run(&self.step)?;
        Ok(start.elapsed())
    }
}

fn main() -> Result<(), Error> {
    for (name, network) in NETWORKS {
        let (mut all, mut each) = (Training::new(network, false)?, Training::new(network, true)?);
        println!("{name}");
        println!("  batch, seq   first, all  first, each   again, all     run, all    run, each    ratio");
        for sizes in SIZES {
            let first = [all.go(sizes)?, each.go(sizes)?];
            let (mut best, start) = ([Duration::MAX; 2], Instant::now());
            while start.elapsed() < Duration::from_secs(2) {
                best[0] = best[0].min(all.time()?);
                best[1] = best[1].min(each.time()?);
            }
            let other = if sizes == SIZES[0] { SIZES[1] } else { SIZES[0] };
            all.go(other)?;
            let again = all.go(sizes)?;
            let ms = |time: Duration| time.as_secs_f64() * 1e3;
            println!(
                "  {:>5}, {:>3}  {:>8.1} ms  {:>8.1} ms  {:>8.2} ms  {:>8.3} ms  {:>8.3} ms  {:>7.2}",
                sizes[0],
                sizes[1],
                ms(first[0]),
                ms(first[1]),
                ms(again),
                ms(best[0]),
                ms(best[1]),
                ms(best[0]) / ms(best[1])
            );
        }
    }
    Ok(())
}
