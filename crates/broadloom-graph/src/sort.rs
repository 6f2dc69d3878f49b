//! Sorting along an axis: the positions of the elements of each row in the order of the elements.
//!
//! | operation | relation | computes |
//! |---|---|---|
//! | order | `… \| ..o.., t => … \| ..o.., t` | `r[…, k]` is the position of the element that comes at place `k` |
//!
//! Equal elements stay in the order of their positions, and what is not a number comes last. The result holds integers, so that no
//! gradient goes back through it; the elements themselves are [taken](Graph::take_along) at these positions, and have gradients.

use broadloom_spec::Builder;

use crate::Graph;
use crate::along::Along;
use crate::error::Error;
use crate::facts::{Sorting, Special};
use crate::operation::id::OperationId;
use crate::spec_options::SpecOptions;
use crate::step::Tensor;

impl Graph {
    /// The positions of the elements of a tensor along an axis, in the order of the elements.
    ///
    /// ```
    /// use broadloom::{Along, Kind};
    /// let mut g = broadloom::Graph::new();
    /// let x = g.data("x", "32 | 7")?;
    /// let order = g.argsort(x, Along::last(Kind::Output), false)?;
    /// let sorted = g.take_along(x, order, Along::last(Kind::Output))?;
    /// assert_eq!(g.final_shape(sorted)?.to_string(), "32 | 7");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn argsort(&mut self, x: Tensor, along: Along, descending: bool) -> Result<Tensor, Error> {
        self.begin(&[x])?;
        let mut build = Builder::new();
        let axis = [build.label("t")];
        let shape = along.shape(&mut build, &axis);
        let spec = build.finish(vec![shape.clone()], vec![shape]);
        let spec = spec.ok_or_else(|| self.misuse("there is nothing to sort"))?;
        let options = SpecOptions { operation: Some(OperationId::Argsort), ..SpecOptions::default() };
        let result = self.einsum_with(&spec, &[x], &options)?;
        let sorting = Special::Sort(Sorting { along, descending });
        self.facts.special.insert(self.last_step(), sorting);
        Ok(result)
    }
}
