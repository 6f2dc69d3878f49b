//! Putting tensors together: one after another, or as layers of a new axis.

use broadloom_spec::Kind;

use crate::expr::{Builder, Expr};
use broadloom_graph::{Error, ErrorKind};

impl Builder {
    /// Tensors one after another, along the first axis of one kind. All other axes are the same.
    ///
    /// Along any other axis, and for blocks along several axes, a spec says it: `i, a; i, b => i, a^b`.
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
        if parts.is_empty() {
            return self.with(|_| Err(Error::new(ErrorKind::Use, "there is nothing to put together")));
        }
        let labels: Vec<String> = (0..parts.len()).map(|at| format!("part{at}")).collect();
        let operands: Vec<String> = labels.iter().map(|label| shape_with(along, label)).collect();
        let result = shape_with(along, &labels.join("^"));
        self.einsum(&format!("{} => {result}", operands.join("; ")), parts)
    }

    /// Tensors of one shape as layers of a new first axis of one kind.
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
        let spec = format!("{} => {}", shape_with(along, ""), shape_with(along, "layer"));
        let mut raised = Vec::new();
        for layer in layers {
            raised.push(layer.einsum(&spec, &[]).set_size("layer", 1));
        }
        self.concat(&raised, along)
    }
}

/// All rows of a tensor, in several-letter mode, with an axis before those of one kind.
fn shape_with(along: Kind, axis: &str) -> String {
    let row = |kind: Kind| {
        let name = format!("..{}..", kind.name());
        if kind == along && !axis.is_empty() { format!("{axis}, {name}") } else { name }
    };
    format!("{} | {} -> {}", row(Kind::Batch), row(Kind::Input), row(Kind::Output))
}
