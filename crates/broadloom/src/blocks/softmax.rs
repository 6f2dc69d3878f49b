//! Softmax, over whatever axes a shape names.

use crate::{Expr, Notation};

/// Positive numbers that sum to 1 over the named axes.
///
/// ```text
/// y = e^(x − m) / Σ e^(x − m),  m = max x
/// ```
///
/// Axes are given as a shape of `x`. The named ones are normalised over, all of them together;
/// `...` stays as it is. The maximum is subtracted first, so that no exponential is too large.
///
/// | axes | over |
/// |---|---|
/// | `... \| v` | the one output axis |
/// | `... \| ..v..` | all output axes together |
/// | `... \| ..., v` | the last output axis |
/// | `... \| t -> ...` | the one input axis |
///
/// ```
/// use broadloom::{Array, Backend, Builder, Routine, Session, Settings, blocks::softmax};
/// let b = Builder::new();
/// let x = b.array("x", "... | 2", Array::from_slice(&[2, 2], &[0.0, 0.0, 1000.0, 0.0])?);
/// let y = softmax(x, "... | v").tensor();
/// let mut session = Session::with(b.finish()?, Settings { backend: Backend::Reference, ..Settings::default() })?;
/// session.run(Routine::new("softmax").forward(y))?;
/// assert_eq!(session.get(y)?.to_f64s(), [0.5, 0.5, 1.0, 0.0]);
/// # Ok::<(), broadloom::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn softmax<'b>(x: Expr<'b>, axes: &str) -> Expr<'b> {
    let exponentials = shifted(x, axes).exp();
    exponentials / exponentials.sum(Notation::Over(axes))
}

/// The logarithm of [`softmax`], accurate also where that is close to 0.
///
/// ```text
/// y = (x − m) − log Σ e^(x − m),  m = max x
/// ```
///
/// ```
/// use broadloom::{Array, Backend, Builder, Routine, Session, Settings, blocks::log_softmax};
/// let b = Builder::new();
/// let y = log_softmax(b.array("x", "v", Array::from_slice(&[2], &[1000.0, 0.0])?), "v").tensor();
/// let mut session = Session::with(b.finish()?, Settings { backend: Backend::Reference, ..Settings::default() })?;
/// session.run(Routine::new("log_softmax").forward(y))?;
/// assert_eq!(session.get(y)?.to_f64s(), [0.0, -1000.0]);
/// # Ok::<(), broadloom::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn log_softmax<'b>(x: Expr<'b>, axes: &str) -> Expr<'b> {
    let shifted = shifted(x, axes);
    shifted - shifted.exp().sum(Notation::Over(axes)).log()
}

/// Softmax does not change when one number is subtracted from all, so no gradient goes that way.
#[track_caller]
fn shifted<'b>(x: Expr<'b>, axes: &str) -> Expr<'b> {
    x - x.max(Notation::Over(axes)).stop_gradient()
}
