//! Concatenation of tensors along an axis, and stacking along a new one.

use std::num::NonZeroU64;

use broadloom_graph::{Along, Error, ErrorKind};
use broadloom_spec::{self as spec, Axis, Kind, Spec};

use crate::expr::{Builder, Expr};

impl Builder {
    /// Concatenates tensors along the first axis of one kind. All other axes are the same.
    ///
    /// Other axes, and blocks along several axes, need a spec: `i, a; i, b => i, a^b`.
    ///
    /// ```
    /// use broadloom::{Builder, Kind};
    /// let b = Builder::new();
    /// let (x, y) = (b.data("x", "8 | 3"), b.data("y", "4 | 3"));
    /// let both = b.concat(&[x, y], Kind::Batch).tensor();
    /// assert_eq!(b.finish()?.final_shape(both)?.to_string(), "12 | 3");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    #[track_caller]
    pub fn concat<'b>(&'b self, parts: &[Expr<'b>], along: Kind) -> Expr<'b> {
        match concatenation(parts.len(), Along::first(along)) {
            Some(spec) => self.einsum(&spec, parts),
            None => self.with(|_| Err(Error::new(ErrorKind::Use, "there is nothing to put together"))),
        }
    }

    /// Stacks tensors of one shape along a new first axis of one kind.
    ///
    /// ```
    /// use broadloom::{Builder, Kind};
    /// let b = Builder::new();
    /// let (x, y) = (b.data("x", "8 | 3"), b.data("y", "8 | 3"));
    /// let layers = b.stack(&[x, y], Kind::Output).tensor();
    /// assert_eq!(b.finish()?.final_shape(layers)?.to_string(), "8 | 2, 3");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    #[track_caller]
    pub fn stack<'b>(&'b self, layers: &[Expr<'b>], along: Kind) -> Expr<'b> {
        let Some(spec) = layer(Along::first(along)) else { return self.concat(&[], along) };
        let raised: Vec<Expr<'b>> =
            layers.iter().map(|layer| layer.einsum(&spec, &[]).set_size("layer", 1)).collect();
        self.concat(&raised, along)
    }
}

/// The spec of a concatenation along an axis, of which the parts are called `part0`, `part1`, …. None if there are no tensors.
pub fn concatenation(parts: usize, along: Along) -> Option<Spec> {
    let labels: Vec<String> = (0..parts).map(|at| format!("part{at}")).collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let mut build = spec::Builder::new();
    let own: Vec<Axis> = labels.iter().map(|label| build.label(label)).collect();
    let operands = own.into_iter().map(|axis| along.shape(&mut build, &[axis])).collect();
    let both = build.concat(&labels);
    let result = along.shape(&mut build, &[both]);
    build.finish(operands, vec![result])
}

/// The spec of a tensor with a new axis `layer` in the place of an axis.
pub fn layer(along: Along) -> Option<Spec> {
    let mut build = spec::Builder::new();
    let operand = along.shape(&mut build, &[]);
    let layer = build.label("layer");
    let result = along.shape(&mut build, &[layer]);
    build.finish(vec![operand], vec![result])
}

/// The spec of some positions of an axis: the part before them has a given size, the part behind them any. The positions are the axis
/// `part`.
pub fn part(before: u64, along: Along) -> Option<Spec> {
    let mut build = spec::Builder::new();
    let before = NonZeroU64::new(before).map(spec::ConcatPart::Size);
    let parts: Vec<spec::ConcatPart<'_>> = before
        .into_iter()
        .chain([spec::ConcatPart::Label("part"), spec::ConcatPart::Label("rest")])
        .collect();
    let (whole, part) = (build.parts(&parts), build.label("part"));
    let operand = along.shape(&mut build, &[whole]);
    let result = along.shape(&mut build, &[part]);
    build.finish(vec![operand], vec![result])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs() {
        let text = |spec: Option<Spec>| spec.map(|spec| spec.to_string()).unwrap_or_default();
        assert_eq!(
            text(concatenation(2, Along::first(Kind::Output))),
            "..b.. | ..i.. -> part0, ..o..; ..b.. | ..i.. -> part1, ..o.. => ..b.. | ..i.. -> part0^part1, ..o.."
        );
        let one = text(concatenation(1, Along::last(Kind::Batch)));
        assert_eq!(one, "..b.., part0 | ..i.. -> ..o.. => ..b.., part0 | ..i.. -> ..o..");
        assert_eq!(text(concatenation(0, Along::first(Kind::Batch))), "");
        assert_eq!(
            text(layer(Along::first(Kind::Input))),
            "..b.. | ..i.. -> ..o.. => ..b.. | layer, ..i.. -> ..o.."
        );
        let cut = text(part(2, Along::first(Kind::Batch)));
        assert_eq!(cut, "2^part^rest, ..b.. | ..i.. -> ..o.. => part, ..b.. | ..i.. -> ..o..");
        assert!(text(part(0, Along::first(Kind::Batch))).starts_with("part^rest, ..b.. | "));
    }
}
