//! Softmax, over whatever axes a shape names.

use broadloom_spec::{Kind, Mode, RowVariable, parse_spec};

use crate::Expr;

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
    let spec = without_named(axes);
    let exponentials = shifted(x, &spec).exp();
    exponentials / exponentials.sum(&spec)
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
    let spec = without_named(axes);
    let shifted = shifted(x, &spec);
    shifted - shifted.exp().sum(&spec).log()
}

/// Softmax does not change when one number is subtracted from all, so no gradient goes that way.
#[track_caller]
fn shifted<'b>(x: Expr<'b>, spec: &str) -> Expr<'b> {
    x - x.max(spec).stop_gradient()
}

/// The spec that accumulates over the named axes of a shape: `... | v` gives `... | v => ... | 0`.
fn without_named(axes: &str) -> String {
    // Mistakes in the shape are reported where the spec is used.
    let Ok(spec) = parse_spec(&format!("{axes} => ")) else { return format!("{axes} =>") };
    let Some(shape) = spec.operands.first() else { return format!("{axes} =>") };
    let between = if Mode::of(axes) == Mode::Single { " " } else { ", " };
    let row = |kind: Kind| {
        let Some(row) = shape.row(kind) else { return String::new() };
        let lead = row.lead().iter().map(|_| "0");
        let hole = row.hole().map(|hole| if hole.variable == RowVariable::Ellipsis { "..." } else { "0" });
        lead.chain(hole).chain(row.trail.iter().map(|_| "0")).collect::<Vec<_>>().join(between)
    };
    let (batch, input, output) = (row(Kind::Batch), row(Kind::Input), row(Kind::Output));
    format!("{axes} => {batch} | {input} -> {output}")
}

#[cfg(test)]
mod tests {
    use super::without_named;

    #[test]
    fn named_axes_are_accumulated_over() {
        let cases = [
            ("... | v", "... | v => ... |  -> 0"),
            ("... | ..v..", "... | ..v.. => ... |  -> 0"),
            ("... | ..., v", "... | ..., v => ... |  -> ..., 0"),
            ("... | t -> ...", "... | t -> ... => ... | 0 -> ..."),
            ("ij", "ij =>  |  -> 0 0"),
        ];
        for (axes, spec) in cases {
            assert_eq!(without_named(axes), spec);
        }
    }
}
