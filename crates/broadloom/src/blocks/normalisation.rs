//! Normalisations. Variances are biased: divided by the number of elements.

use std::cell::RefCell;

use super::Mode;
use crate::{Builder, Expr, Initial, Routine};

/// Keeps quotients finite.
const EPSILON: f64 = 1e-5;

/// Layer normalisation, made by [`layer_norm`].
#[derive(Clone, Copy, Debug)]
pub struct LayerNorm<'b> {
    /// `..d..`, initially 1.
    pub gain: Expr<'b>,
    /// `..d..`, initially 0.
    pub shift: Expr<'b>,
    /// A number that is added to the variance.
    pub epsilon: f64,
}

/// Layer normalisation (Ba et al.): each element of the batch gets mean 0 and variance 1 over all its output axes, and
/// then a gain and a shift.
///
/// ```text
/// y = gain · (x − μ) / √(σ² + ε) + shift,  μ = mean of x, σ² = mean of (x − μ)², ε = 10⁻⁵
/// ```
///
/// ```
/// use broadloom::{Builder, blocks::layer_norm};
/// let b = Builder::new();
/// let norm = layer_norm(&b, "norm");
/// let y = norm.apply(b.data("x", "2, 8 | 100")).tensor();
/// let gain = norm.gain.tensor();
/// let mut g = b.finish()?;
/// assert_eq!(g.final_shape(y)?.to_string(), "2, 8 | 100");
/// assert_eq!(g.final_shape(gain)?.to_string(), "100");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn layer_norm<'b>(b: &'b Builder, name: &str) -> LayerNorm<'b> {
    let _scope = b.open(name);
    let gain = b.param_shaped("gain", "...").initial(Initial::Constant(1.0));
    LayerNorm { gain, shift: b.param_shaped("shift", "..."), epsilon: EPSILON }
}

impl<'b> LayerNorm<'b> {
    /// Normalises `... | ..d..` over `..d..`.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, x: Expr<'b>) -> Expr<'b> {
        let centred = x - mean_of_outputs(x);
        let deviation = (mean_of_outputs(centred.square()) + self.epsilon).sqrt();
        self.gain * (centred / deviation) + self.shift
    }
}

/// Normalisation by the root of the mean square, made by [`rms_norm`].
#[derive(Clone, Copy, Debug)]
pub struct RmsNorm<'b> {
    /// `..d..`, initially 1.
    pub gain: Expr<'b>,
    /// A number that is added to the mean square.
    pub epsilon: f64,
}

/// Normalisation by the root of the mean square (Zhang and Sennrich, *Root Mean Square Layer Normalization*).
///
/// ```text
/// y = gain · x / √(mean of x² + ε),  ε = 10⁻⁵
/// ```
///
/// ```
/// use broadloom::{Builder, blocks::rms_norm};
/// let b = Builder::new();
/// let norm = rms_norm(&b, "norm");
/// let y = norm.apply(b.data("x", "2, 8 | 100")).tensor();
/// assert_eq!(b.finish()?.final_shape(y)?.to_string(), "2, 8 | 100");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn rms_norm<'b>(b: &'b Builder, name: &str) -> RmsNorm<'b> {
    let _scope = b.open(name);
    RmsNorm { gain: b.param_shaped("gain", "...").initial(Initial::Constant(1.0)), epsilon: EPSILON }
}

impl<'b> RmsNorm<'b> {
    /// Normalises `... | ..d..` over `..d..`.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, x: Expr<'b>) -> Expr<'b> {
        self.gain * (x / (mean_of_outputs(x.square()) + self.epsilon).sqrt())
    }
}

#[track_caller]
fn mean_of_outputs(x: Expr<'_>) -> Expr<'_> {
    x.mean("... | ..d.. => ... | 0", &["d"])
}

/// Batch normalisation, made by [`batch_norm`].
#[derive(Clone, Debug)]
pub struct BatchNorm<'b> {
    /// `c`, initially 1.
    pub gain: Expr<'b>,
    /// `c`, initially 0.
    pub shift: Expr<'b>,
    /// `c`: the running mean, a state that is initially 0.
    pub mean: Expr<'b>,
    /// `c`: the running variance, a state that is initially 1.
    pub variance: Expr<'b>,
    /// A number that is added to the variance.
    pub epsilon: f64,
    /// The speed at which the running statistics follow.
    pub momentum: f64,
    /// The mean and the variance of each batch it was applied to in training.
    seen: RefCell<Vec<(Expr<'b>, Expr<'b>)>>,
}

/// Batch normalisation (Ioffe and Szegedy): each channel, the last output axis, gets mean 0 and variance 1 over
/// everything else, and then a gain and a shift.
///
/// ```text
/// y = gain · (x − μ) / √(σ² + ε) + shift,  ε = 10⁻⁵
/// ```
///
/// In training `μ` and `σ²` are the mean and the variance of the batch, per channel. In inference they are the running
/// statistics: states that [`update`](BatchNorm::update) moves towards the statistics of each batch of `n`
/// elements per channel, with the unbiased variance.
///
/// ```text
/// mean     = (1 − momentum) · mean + momentum · μ
/// variance = (1 − momentum) · variance + momentum · σ² · n / (n − 1),  momentum = 0.1
/// ```
///
/// ```
/// use broadloom::blocks::{Mode, batch_norm};
/// use broadloom::{Array, Backend, Builder, Routine, Session, Settings};
/// let b = Builder::new();
/// let norm = batch_norm(&b, "norm");
/// let y = norm.apply(b.array("x", "... | 1", Array::from_slice(&[4, 1], &[1.0, 2.0, 3.0, 4.0])?), Mode::Training);
/// let mut train = Routine::new("train");
/// norm.update(&mut train);
/// let mean = norm.mean.tensor();
///
/// let settings = Settings { backend: Backend::Reference, ..Settings::default() };
/// let mut session = Session::with(b.finish()?, settings)?;
/// session.run(&train)?;
/// assert_eq!(session.item(mean)?, 0.25, "a tenth of the way from 0 to 2.5");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn batch_norm<'b>(b: &'b Builder, name: &str) -> BatchNorm<'b> {
    batch_norm_with_momentum(b, name, 0.1)
}

/// [`batch_norm`] with another momentum: 0 for statistics that never change, 1 for those of the
/// last batch.
///
/// ```
/// use broadloom::{Builder, blocks::batch_norm_with_momentum};
/// let b = Builder::new();
/// let norm = batch_norm_with_momentum(&b, "norm", 0.01);
/// ```
#[track_caller]
pub fn batch_norm_with_momentum<'b>(b: &'b Builder, name: &str, momentum: f64) -> BatchNorm<'b> {
    let _scope = b.open(name);
    BatchNorm {
        gain: b.param_shaped("gain", "c").initial(Initial::Constant(1.0)),
        shift: b.param_shaped("shift", "c"),
        mean: b.state("mean", "c"),
        variance: b.state("variance", "c").initial(Initial::Constant(1.0)),
        epsilon: EPSILON,
        momentum,
        seen: RefCell::default(),
    }
}

impl<'b> BatchNorm<'b> {
    /// Normalises `... | ..., c` for each `c`.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, x: Expr<'b>, mode: Mode) -> Expr<'b> {
        let (mean, variance) = match mode {
            Mode::Inference => (self.mean, self.variance),
            Mode::Training => self.statistics(x),
        };
        self.gain * ((x - mean) / (variance + self.epsilon).sqrt()) + self.shift
    }

    /// The mean and the variance of each channel of a batch, which are remembered for [`update`](BatchNorm::update).
    #[track_caller]
    fn statistics(&self, x: Expr<'b>) -> (Expr<'b>, Expr<'b>) {
        let spec = "..b.. | ..s.., c => c";
        let mean = x.mean(spec, &["b", "s"]);
        let sum = (x - mean).square().sum(spec);
        let count = sum.size("b") * sum.size("s");
        let unbiased = sum / (count - 1.0).maximum(1.0);
        self.seen.borrow_mut().push((mean, unbiased));
        (mean, sum / count)
    }

    /// Adds assignments to a routine that move the running statistics towards those of every batch
    /// that the layer has been applied to in training so far, in order. It has to be called once,
    /// before the builder is finished.
    #[track_caller]
    pub fn update(&self, routine: &mut Routine) {
        let b = self.mean.builder();
        let momentum = b.number(self.momentum);
        for (mean, variance) in self.seen.take() {
            for (running, batch) in [(self.mean, mean), (self.variance, variance)] {
                let _ = b.all(&[running, batch, momentum], |graph, tensors| {
                    let &[running, batch, momentum] = tensors else { return Ok(tensors[0]) };
                    let names = [("running", running), ("batch", batch), ("momentum", momentum)];
                    routine.assign(graph, "running = (1 - momentum) * running + momentum * batch", &names)?;
                    Ok(running)
                });
            }
        }
    }
}
