//! Losses.

use super::log_softmax;
use crate::Expr;

/// The surprise at each target, given scores for all classes: `y = −log softmax(logits)[target]`.
///
/// Targets are whole numbers `... |`, logits are `... | v`, and the result is one loss for each target. A target
/// that is no class, such as −1, has the loss 0.
///
/// ```
/// use broadloom::Builder;
/// use broadloom::blocks::{cross_entropy, mean};
/// let b = Builder::new();
/// let losses = cross_entropy(b.data("logits", "32, 128 | 1000"), b.data("targets", "32, 128 |"));
/// let (losses, loss) = (losses.tensor(), mean(losses).tensor());
/// let mut g = b.finish()?;
/// assert_eq!(g.final_shape(losses)?.to_string(), "32, 128 |");
/// assert_eq!(g.final_shape(loss)?.to_string(), "()");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn cross_entropy<'b>(logits: Expr<'b>, targets: Expr<'b>) -> Expr<'b> {
    cross_entropy_one_hot(logits, one_hot(targets))
}

/// [`cross_entropy`] for targets that are distributions over classes:
/// `y = −Σ target · log softmax(logits)`.
///
/// ```
/// use broadloom::{Builder, blocks::cross_entropy_one_hot};
/// let b = Builder::new();
/// let loss = cross_entropy_one_hot(b.data("logits", "32 | 10"), b.data("targets", "32 | 10")).tensor();
/// assert_eq!(b.finish()?.final_shape(loss)?.to_string(), "32 |");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn cross_entropy_one_hot<'b>(logits: Expr<'b>, targets: Expr<'b>) -> Expr<'b> {
    let b = logits.builder();
    let (p, zero) = (log_softmax(logits, "... | v"), b.number(0.0));
    let terms = p.einsum("... | v; ... | v => ... | v", &[targets]);
    // A logit of minus infinity excludes a class, which costs nothing where it is not asked for: only 0 and infinities
    // are twice themselves.
    let excluded = targets.equals(zero) * p.equals(p * 2.0);
    -b.select(excluded, zero, terms).sum("... | v => ... |")
}

/// Whole numbers `... |` as rows `... | v` that are 1 at the place of the number and 0 elsewhere.
/// The number of places follows from their use.
///
/// ```
/// use broadloom::{Builder, blocks::one_hot};
/// let b = Builder::new();
/// let rows = one_hot(b.data("targets", "32 |"));
/// let (rows, _) = (rows.tensor(), rows * b.data("logits", "32 | 10"));
/// assert_eq!(b.finish()?.final_shape(rows)?.to_string(), "32 | 10");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn one_hot(numbers: Expr<'_>) -> Expr<'_> {
    numbers.builder().range("classes", "v").equals(numbers)
}

/// The mean of all elements.
///
/// ```
/// use broadloom::{Builder, blocks::mean};
/// let b = Builder::new();
/// let loss = mean(b.data("x", "8 | 3 -> 4").square()).tensor();
/// assert_eq!(b.finish()?.final_shape(loss)?.to_string(), "()");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn mean(x: Expr<'_>) -> Expr<'_> {
    x.mean("..b.. | ..i.. -> ..o.. =>", &["b", "i", "o"])
}

/// The mean loss of a model of sequences that scores, at each position, the token at the next one.
///
/// Logits are `... s | v` and tokens `... s |`. The prediction at position `p` is compared with the
/// token at `p + 1`; the prediction at the last position is not used.
///
/// ```
/// use broadloom::{Builder, blocks::next_token_loss};
/// let b = Builder::new();
/// let loss = next_token_loss(b.data("logits", "8, 128 | 1000"), b.data("tokens", "8, 128 |")).tensor();
/// assert_eq!(b.finish()?.final_shape(loss)?.to_string(), "()");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn next_token_loss<'b>(logits: Expr<'b>, tokens: Expr<'b>) -> Expr<'b> {
    let said = logits.einsum("..., s^1 | v => ..., s | v", &[]);
    let next = tokens.einsum("..., 1^s | => ..., s |", &[]);
    mean(cross_entropy(said, next))
}
