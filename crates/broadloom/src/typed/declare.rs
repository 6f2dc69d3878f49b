//! Declares shapes from elsewhere in a graph.

use broadloom_graph::{Error, ErrorKind};

use super::{Broadcasting, Dim, TensorShape};
use crate::{Graph, Tensor};

impl TensorShape {
    /// Data of this shape in a graph, with output axes only: names become [named
    /// sizes](Graph::dim), dynamic dimensions are unknown until run time, broadcast ones are
    /// inferred, and ones broadcast if they do so where the shape comes from.
    ///
    /// ```
    /// use broadloom::Graph;
    /// use broadloom::typed::{Broadcasting, Dim, TensorShape};
    /// let mut g = Graph::new();
    /// let batch = Dim::Named("batch".into(), Some((1, 64)));
    /// let x = TensorShape::new([batch, Dim::Literal(4)]).declare(&mut g, "x", Broadcasting::NumPy)?;
    /// let mask = TensorShape::of(&[1, 4]).declare(&mut g, "mask", Broadcasting::NumPy)?;
    /// let masked = g.mul(x, mask)?;
    /// assert_eq!(g.final_shape(masked)?.to_string(), "batch, 4");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn declare(&self, g: &mut Graph, name: &str, broadcasting: Broadcasting) -> Result<Tensor, Error> {
        let mut axes = Vec::with_capacity(self.rank());
        for (at, dim) in self.dims().iter().enumerate() {
            axes.push(match dim {
                Dim::Literal(1) if broadcasting == Broadcasting::NumPy => "1:unit".into(),
                Dim::Literal(size) => size.to_string(),
                Dim::Named(size, range) => {
                    let (lo, hi) = range.unwrap_or((1, u64::MAX));
                    if hi == u64::MAX {
                        g.dim(size, lo.., None)?;
                    } else {
                        g.dim(size, lo..=hi, None)?;
                    }
                    size.clone()
                }
                Dim::Dynamic => {
                    let size = format!("{name}_{at}");
                    g.dynamic(&size, None)?;
                    size
                }
                Dim::Broadcast | Dim::Var(_) => "_".into(),
                Dim::Expression(size) => {
                    let message = format!("`{name}` cannot be declared with the size `{size}`");
                    return Err(Error::new(ErrorKind::Use, message)
                        .with_help("an expression is the result of a rule: declare what it was made of"));
                }
            });
        }
        g.data(name, if axes.is_empty() { "|".into() } else { axes.join(", ") }.as_str())
    }
}
