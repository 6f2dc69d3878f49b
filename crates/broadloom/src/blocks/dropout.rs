//! Dropout.

use std::cell::Cell;

use super::{Mode, mistake};
use crate::{Builder, Expr};

/// Dropout, made by [`dropout`].
#[derive(Clone, Debug)]
pub struct Dropout<'b> {
    builder: &'b Builder,
    name: String,
    rate: f64,
    /// The number of times it has been applied: each time it draws other numbers.
    applied: Cell<u32>,
}

/// Dropout (Srivastava et al., *Dropout: A Simple Way to Prevent Neural Networks from
/// Overfitting*): in training each element is 0 with the probability `rate`, and the others are
/// scaled up so that the mean stays the same.
///
/// ```text
/// y = 0 where u < rate, else x / (1 − rate),  u uniform in [0, 1)
/// ```
///
/// Every run draws new numbers. They depend on the seed, the number of the run, the name of the
/// layer and the number of times it was applied before, so a run can be repeated.
///
/// ```
/// use broadloom::Builder;
/// use broadloom::blocks::{Mode, dropout};
/// let b = Builder::new();
/// let drop = dropout(&b, "drop", 0.1);
/// let x = b.data("x", "8 | 3");
/// let (trained, used) = (drop.apply(x, Mode::Training), drop.apply(x, Mode::Inference));
/// assert_eq!(used.tensor(), x.tensor());
/// let trained = trained.tensor();
/// assert_eq!(b.finish()?.final_shape(trained)?.to_string(), "8 | 3");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn dropout<'b>(b: &'b Builder, name: &str, rate: f64) -> Dropout<'b> {
    let possible = (0.0..1.0).contains(&rate);
    if !possible {
        let message = format!("the rate of dropout is at least 0 and below 1, not {rate}");
        let _ = mistake(b, name, &message);
    }
    let rate = if possible { rate } else { 0.0 };
    Dropout { builder: b, name: b.scoped(name), rate, applied: Cell::new(0) }
}

impl<'b> Dropout<'b> {
    /// In training, sets some elements to 0; otherwise returns its input.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, x: Expr<'b>, mode: Mode) -> Expr<'b> {
        if mode == Mode::Inference || self.rate == 0.0 {
            return x;
        }
        let number = self.applied.replace(self.applied.get() + 1);
        let b = self.builder;
        let drawn = b.with(|graph| Ok(graph.uniform(&format!("{}.{number}", self.name))));
        b.select(drawn.less(self.rate), b.number(0.0), x * (1.0 / (1.0 - self.rate)))
    }
}
