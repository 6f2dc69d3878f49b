//! Pointwise functions between layers.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI};

use crate::Expr;

/// The function between two layers.
///
/// | | `f(x)` |
/// |---|---|
/// | `Relu` | `max(x, 0)` |
/// | `Gelu` | `x · Φ(x)`, approximated by tanh: see [`gelu`] |
/// | `Silu` | `x · σ(x)` |
/// | `Tanh` | `tanh x` |
/// | `Sigmoid` | `σ(x) = 1 / (1 + e^−x)` |
///
/// ```
/// use broadloom::Builder;
/// use broadloom::blocks::Activation;
/// let b = Builder::new();
/// let y = Activation::Silu.apply(b.data("x", "8 | 3"));
/// # b.finish()?;
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[allow(missing_docs, reason = "the table says it")]
pub enum Activation {
    #[default]
    Relu,
    Gelu,
    Silu,
    Tanh,
    Sigmoid,
}

impl Activation {
    /// The function of an expression.
    #[track_caller]
    pub fn apply(self, x: Expr<'_>) -> Expr<'_> {
        match self {
            Activation::Relu => x.relu(),
            Activation::Gelu => gelu(x),
            Activation::Silu => silu(x),
            Activation::Tanh => x.tanh(),
            Activation::Sigmoid => x.sigmoid(),
        }
    }
}

/// The Gaussian error linear unit in its form with tanh (Hendrycks and Gimpel, *Gaussian Error Linear Units*):
///
/// ```text
/// gelu(x) = x/2 · (1 + tanh(√(2/π) · (x + 0.044715·x³)))
/// ```
///
/// ```
/// use broadloom::{Array, Backend, Builder, Routine, Session, Settings};
/// let b = Builder::new();
/// let y = broadloom::blocks::gelu(b.array("x", "3", Array::from_slice(&[3], &[-8.0, 0.0, 8.0])?)).tensor();
/// let mut session = Session::with(b.finish()?, Settings { backend: Backend::Reference, ..Settings::default() })?;
/// session.run(Routine::new("gelu").forward(y))?;
/// assert_eq!(session.get(y)?.to_f64s(), [0.0, 0.0, 8.0]);
/// # Ok::<(), broadloom::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn gelu(x: Expr<'_>) -> Expr<'_> {
    let inner = (x + x.square() * x * 0.044715) * FRAC_2_PI.sqrt();
    x * 0.5 * (inner.tanh() + 1.0)
}

/// The Gaussian error linear unit itself: `x · Φ(x) = x/2 · (1 + erf(x/√2))`.
///
/// ```
/// let b = broadloom::Builder::new();
/// let y = broadloom::blocks::gelu_exact(b.data("x", "8 | 3"));
/// # b.finish()?;
/// # Ok::<(), broadloom::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn gelu_exact(x: Expr<'_>) -> Expr<'_> {
    x * 0.5 * ((x * FRAC_1_SQRT_2).erf() + 1.0)
}

/// The sigmoid linear unit, also called swish: `x · σ(x)`.
///
/// ```
/// let b = broadloom::Builder::new();
/// let y = broadloom::blocks::silu(b.data("x", "8 | 3"));
/// # b.finish()?;
/// # Ok::<(), broadloom::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn silu(x: Expr<'_>) -> Expr<'_> {
    x * x.sigmoid()
}
