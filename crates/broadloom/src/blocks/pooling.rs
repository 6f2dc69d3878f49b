//! Pools over images `... | h, w, ..c..`.

use super::Window;
use crate::{Accumulate, Expr, OperationId, SpecOptions};

/// The maximum of each window, for each channel.
///
/// ```text
/// y[oh, ow, c] = max over kh, kw of x[stride·oh + dilation·kh − top, stride·ow + dilation·kw − left, c]
/// ```
///
/// Positions beyond a padded image do not count.
///
/// ```
/// use broadloom::Builder;
/// use broadloom::blocks::{Window, max_pool};
/// let b = Builder::new();
/// let y = max_pool(b.data("x", "8 | 28, 28, 6"), Window::square(2).stride(2)).tensor();
/// assert_eq!(b.finish()?.final_shape(y)?.to_string(), "8 | 14, 14, 6");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn max_pool(x: Expr<'_>, window: Window) -> Expr<'_> {
    let options = SpecOptions {
        operation: Some(OperationId::Own("max_pool")),
        accumulate: Accumulate::Max,
        ..SpecOptions::default()
    };
    pool(x, window, &options)
}

/// The mean of each window, for each channel: the sum of its taps divided by their number.
///
/// Beyond a padded image there are zeros; they are counted.
///
/// ```
/// use broadloom::Builder;
/// use broadloom::blocks::{Window, avg_pool};
/// let b = Builder::new();
/// let y = avg_pool(b.data("x", "8 | 28, 28, 6"), Window::square(2).stride(2)).tensor();
/// assert_eq!(b.finish()?.final_shape(y)?.to_string(), "8 | 14, 14, 6");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn avg_pool(x: Expr<'_>, window: Window) -> Expr<'_> {
    let options = SpecOptions { operation: Some(OperationId::Own("avg_pool")), ..SpecOptions::default() };
    let [height, width] = window.taps;
    pool(x, window, &options) / (height as f64 * width as f64)
}

#[track_caller]
fn pool<'b>(x: Expr<'b>, window: Window, options: &SpecOptions<'_>) -> Expr<'b> {
    let spec = "... | stride*oh+dilation*kh, stride*ow+dilation*kw, ..c.. => ... | oh, ow, ..c..";
    let [height, width] = window.taps;
    window.einsum(spec, &[x], options, x.builder()).set_size("kh", height).set_size("kw", width)
}

/// The mean over the whole image, for each channel: `... | h, w, ..c..` becomes `... | ..c..`.
///
/// ```
/// use broadloom::{Builder, blocks::global_avg_pool};
/// let b = Builder::new();
/// let y = global_avg_pool(b.data("x", "8 | 7, 7, 512")).tensor();
/// assert_eq!(b.finish()?.final_shape(y)?.to_string(), "8 | 512");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn global_avg_pool(x: Expr<'_>) -> Expr<'_> {
    x.mean("... | h, w, ..c.. => ... | ..c..", &["h", "w"])
}
