//! The questions that users ask of a graph: names, shapes, nests, reasons. Each is answered by the function of the same name in the module that knows.

use std::sync::Arc;

use broadloom_spec::Kind;

use crate::broadcasts::Broadcast;
use crate::certificate::Certificate;
use crate::declaration::StatedNames;
use crate::error::Error;
use crate::fit::{Fit, Input};
use crate::nest::ShownNest;
use crate::node::Node;
use crate::project::{Margins, Projected};
use crate::shape::{PartialShape, Shape, Shapes};
use crate::shape_source::How;
use crate::step::{Captured, Tensor};
use crate::why::Why;
use crate::{
    Graph, broadcasts, certificate, final_shapes, fit, names, nest, node, partial_shape, project, scheme,
    shape_source, undetermined, why,
};

impl Graph {
    /// The name that a tensor was given, if it was.
    pub fn name_of(&self, tensor: Tensor) -> Option<&str> {
        names::name_of(self, tensor)
    }

    /// The name of a tensor in a message: its own, the application that made it, or how it is computed.
    pub fn message_name(&self, tensor: Tensor) -> String {
        names::message_name(self, tensor)
    }

    /// The text that stands for a tensor in a sentence: its name, or the expression that makes it.
    pub fn label_of(&self, tensor: Tensor) -> String {
        names::label_of(self, tensor)
    }

    /// The leaf or the operation that made a tensor; `None` for a tensor of another graph.
    pub fn node(&self, tensor: Tensor) -> Option<Node<'_>> {
        node::node(self, tensor)
    }

    /// The operation that made a tensor, as a program would write it, with the names of its operands; an assignment as
    /// it was written. `None` for a leaf.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (w, x) = (g.param("w"), g.data("x", "32 | 784")?);
    /// let y = g.compose(w, x)?;
    /// assert_eq!((g.operation_text(y).as_deref(), g.operation_text(x)), (Some("w @ x"), None));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn operation_text(&self, tensor: Tensor) -> Option<String> {
        node::operation_text(self, tensor)
    }

    /// The spec of the operation that made a tensor; `None` if it was made by an assignment or
    /// without a spec.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let x = g.data("x", "2, 3")?;
    /// let y = g.einsum("i j => j i", &[x])?;
    /// assert_eq!((g.spec_of(y), g.spec_of(x)), (Some("i j => j i"), None));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn spec_of(&self, tensor: Tensor) -> Option<&str> {
        node::spec_of(self, tensor)
    }

    /// The shape that a tensor was declared with, as it was written; `None` if none was.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (w, x) = (g.param("w"), g.data("x", "batch=32 | ...")?);
    /// assert_eq!(g.declaration_of(x), Some("batch=32 | ..."));
    /// assert_eq!(g.declaration_of(w), None);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn declaration_of(&self, tensor: Tensor) -> Option<&str> {
        node::declaration_of(self, tensor)
    }

    /// The tensors that some tensors are computed from, themselves included, in the order they were made.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (x, y) = (g.data("x", "3")?, g.data("y", "3")?);
    /// let z = g.mul(x, x)?;
    /// let other = g.add(z, y)?;
    /// assert_eq!(g.computed_from(&[z]), [x, z]);
    /// assert_eq!(g.computed_from(&[other]), [x, y, z, other]);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn computed_from(&self, tensors: &[Tensor]) -> Vec<Tensor> {
        node::computed_from(self, tensors)
    }

    /// The number of times that operations and assignments read a tensor. To ask for many tensors,
    /// use [`use_counts`](Graph::use_counts).
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let x = g.data("x", "3")?;
    /// let y = g.mul(x, x)?;
    /// assert_eq!((g.uses(x), g.uses(y)), (2, 0));
    /// assert_eq!(g.use_counts(), [2, 0]);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn uses(&self, tensor: Tensor) -> usize {
        node::uses(self, tensor)
    }

    /// The number of times that each tensor is read, by [index](Tensor::index).
    pub fn use_counts(&self) -> Vec<usize> {
        node::use_counts(self)
    }

    /// The loop nest of the operation that makes a tensor, as text: product space, index maps, loops.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (a, b) = (g.data("a", "i=2, k=3")?, g.data("b", "k=3, j=4")?);
    /// let c = g.einsum("i k; k j => i j", &[a, b])?;
    /// g.name(c, "c");
    /// let text = g.show_nest(c)?;
    /// assert!(text.contains("for i in 0..2\n  for j in 0..4\n    for k in 0..3"));
    /// assert!(text.contains("c[i, j] += a[i, k] * b[k, j]"));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn show_nest(&mut self, result: Tensor) -> Result<String, Error> {
        nest::show_nest(self, result)
    }

    /// The same as data.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (x, y) = (g.data("x", "n=8")?, g.data("y", "8")?);
    /// let sum = g.add(y, x)?;
    /// let nest = g.nest(sum)?;
    /// assert_eq!((nest.loops[0].extent, nest.loops[0].size_name.as_deref()), (8, Some("n")));
    /// assert_eq!(nest.reads[1].cell, "x[i]");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn nest(&mut self, result: Tensor) -> Result<ShownNest, Error> {
        nest::nest(self, result)
    }

    /// The names of a nest's loops: the labels of the spec they drive, and letters where there are none.
    pub fn loop_names(&self, nest: &Projected) -> Vec<String> {
        nest::loop_names(self, nest)
    }

    /// For each loop of a nest the name of the size that it ranges over, if one was declared.
    ///
    /// A result's axis has the name of the operand's axis that drives the same loop. Where operands have
    /// different names for it, the first counts. A name that stands for different sizes in different
    /// declarations names none.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (w, x) = (g.param_shaped("w", "... -> hidden")?, g.data("x", "batch=32 | n=8")?);
    /// let bias = g.data("bias", "64")?;
    /// let y = g.compose(w, x)?;
    /// let y = g.add(y, bias)?;
    /// let nest = g.projection(y)?;
    /// assert_eq!(nest.projection.extents(), [32, 64]);
    /// let names = g.size_names(&nest)?;
    /// assert_eq!(names, [Some("batch".into()), Some("hidden".into())]);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn size_names(&mut self, nest: &Projected) -> Result<Vec<Option<String>>, Error> {
        nest::size_names::size_names(self, nest)
    }

    /// The loop nest of the operation that makes a tensor.
    pub fn projection(&mut self, result: Tensor) -> Result<Projected, Error> {
        project::projection(self, result)
    }

    /// The distance by which reads of each tensor reach beyond the ends of its axes, over all
    /// operations that read it: the margins that its buffer needs. Shapes never include them.
    ///
    /// A margin is the maximum over its readers (Prop. 8.1), so it does not depend on their order. Readers
    /// that accumulate differently need different values in it: then each sets the margin before it reads.
    ///
    /// ```
    /// use broadloom::{Accumulate, Fill, Graph, SpecOptions};
    /// let mut g = Graph::new();
    /// let (x, kernel) = (g.data("x", "8")?, g.data("kernel", "3")?);
    /// g.einsum("o=+k; k => o", &[x, kernel])?;
    /// assert_eq!(g.margins()?[x.index()].fill, Fill::Value(0.0));
    /// let options = SpecOptions { accumulate: Accumulate::Max, ..SpecOptions::default() };
    /// g.einsum_with("o=+2*k; k => o", &[x, kernel], &options)?;
    /// let margins = &g.margins()?[x.index()];
    /// assert_eq!((margins.axes[0], margins.fill), ((2, 2), Fill::ByReader));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn margins(&mut self) -> Result<Vec<Margins>, Error> {
        project::margins(self)
    }

    /// The loop nests of all operations, in the order they were made. A conversion that changes the number of
    /// elements has none.
    pub fn projections(&mut self) -> Result<Vec<Projected>, Error> {
        project::projections(self)
    }

    /// Checks that arrays fit the tensors whose values they would be, and finds the numbers that
    /// they give to named sizes. Changes nothing; `Session::set_all` accepts what fits.
    ///
    /// A tensor of another graph, or one that is computed, is an error, and so are shapes that cannot be inferred.
    pub fn fit(&mut self, inputs: &[Input<'_>]) -> Result<Fit, Error> {
        fit::fit(self, inputs)
    }

    /// The same, with numbers for some named sizes in place of their samples.
    pub fn fit_at(&mut self, sizes: &[(&str, u64)], inputs: &[Input<'_>]) -> Result<Fit, Error> {
        fit::fit_at(self, sizes, inputs)
    }

    /// Returns how the shape of a tensor is known. To ask for many tensors, use
    /// [`how_all`](Graph::how_all), which closes the program once.
    ///
    /// ```
    /// use broadloom::{Completion, Graph, How};
    /// let mut g = Graph::new();
    /// let (w, x, b) = (g.param("w"), g.data("x", "32 | 784")?, g.data("b", "64")?);
    /// let y = g.compose(w, x)?;
    /// let y = g.add(y, b)?;
    /// assert_eq!(g.how_known(x)?, How::Declared);
    /// assert_eq!(g.how_known(w)?, How::Chosen(Completion::Use));
    /// let flat = g.einsum("i | j => i j", &[x])?;
    /// assert_eq!(g.how_known(flat)?, How::Forced);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn how_known(&mut self, tensor: Tensor) -> Result<How, Error> {
        shape_source::how_known(self, tensor)
    }

    /// Returns how the shapes of all tensors are known, by [index](Tensor::index). Closes the
    /// program once.
    ///
    /// ```
    /// use broadloom::{Completion, Graph, How};
    /// let mut g = Graph::new();
    /// let (x, one) = (g.data("x", "3")?, g.constant(1.0));
    /// let y = g.add(x, one)?;
    /// let all = g.how_all()?;
    /// assert_eq!(all[x.index()], How::Declared);
    /// assert_eq!(all[one.index()], How::Chosen(Completion::Use));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn how_all(&mut self) -> Result<Vec<How>, Error> {
        shape_source::how_all(self)
    }

    /// Returns true if the declaration of a tensor says everything about its shape: it is [known](Graph::how_known) as
    /// [declared](How::Declared). Closes nothing.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (w, x) = (g.param("w"), g.data("x", "32 | 784")?);
    /// assert!(g.is_declared(x) && !g.is_declared(w));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn is_declared(&self, tensor: Tensor) -> bool {
        shape_source::is_declared(self, tensor)
    }

    /// The part of a tensor's shape that is known so far; all rows are open for a tensor of another
    /// graph. Changes nothing.
    pub fn shape(&self, tensor: Tensor) -> PartialShape {
        partial_shape::shape(self, tensor)
    }

    /// Returns true if a row of a tensor is known to have no axes.
    pub fn has_no_axes(&self, tensor: Tensor, kind: Kind) -> bool {
        partial_shape::has_no_axes(self, tensor, kind)
    }

    /// The final shape of one tensor. Changes nothing: the graph may be extended, and the shape of
    /// every tensor stays as open as it was.
    ///
    /// Sizes that nothing decides are an error if this tensor needs them.
    pub fn final_shape(&mut self, tensor: Tensor) -> Result<Shape, Error> {
        final_shapes::final_shape(self, tensor)
    }

    /// The final shapes of all tensors. Changes nothing.
    ///
    /// Sizes of parameters that nothing decides are an error, unless the parameter is not used.
    pub fn final_shapes(&mut self) -> Result<Arc<Shapes>, Error> {
        final_shapes::final_shapes(self)
    }

    /// Everything that keeps the program from having [final shapes](Graph::final_shapes): an error for each
    /// parameter that is used and lacks a size, in the order they were made, or the one contradiction.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (w1, w2) = (g.param("w1"), g.param("w2"));
    /// let x = g.data("x", "32 | 784")?;
    /// let hidden = g.compose(w1, x)?;
    /// let y = g.compose(w2, hidden)?;
    /// let missing = g.undetermined();
    /// assert_eq!(missing[0].message(), "parameter `w1` has output axes whose size nothing determines");
    /// let params: Vec<_> = missing.iter().map(|error| error.step()).collect();
    /// assert_eq!(params, [g.step_of(w1), g.step_of(w2)]);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn undetermined(&mut self) -> Vec<Error> {
        undetermined::undetermined(self)
    }

    /// Every place where an operand of a pointwise operation, a product, a transpose or an
    /// assignment broadcasts, in the order of the program. Numbers, and tensors computed from
    /// numbers alone, are left out.
    pub fn broadcasts(&mut self) -> Result<Vec<Broadcast>, Error> {
        broadcasts::broadcasts(self)
    }

    /// Those among the [broadcasts](Graph::broadcasts) of pointwise operations with two operands of which neither has the shape of the
    /// result. Where two operands broadcast into each other, both are among them.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (x, bias, y) = (g.data("x", "32 | 64")?, g.data("bias", "64")?, g.data("y", "32 |")?);
    /// let sum = g.add(x, bias)?;
    /// assert!(g.mutual_broadcasts()?.is_empty());
    /// let both = g.add(bias, y)?;
    /// assert!(g.mutual_broadcasts()?.iter().all(|each| each.result == both));
    /// assert_eq!(g.mutual_broadcasts()?.len(), 2);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn mutual_broadcasts(&mut self) -> Result<Vec<Broadcast>, Error> {
        broadcasts::mutual_broadcasts(self)
    }

    /// The constraints of the program and the solution behind its [final
    /// shapes](Graph::final_shapes), for an independent checker. Named sizes without a number are
    /// taken at their samples. Changes nothing.
    ///
    /// ```
    /// use broadloom::certificate::{Constraint, Dim};
    /// let mut g = broadloom::Graph::new();
    /// let x = g.data("x", "9")?;
    /// g.einsum("3^o => o", &[x])?;
    /// let certificate = g.certificate()?;
    /// // x has 9 elements, of which 3 are left out.
    /// let parts = |it: &Constraint| matches!(it, Constraint::Concat { literal: 3, .. });
    /// assert!(certificate.constraints().any(parts));
    /// assert!(certificate.dims.contains(&Dim::sized(6)));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn certificate(&mut self) -> Result<Certificate, Error> {
        certificate::certificate(self)
    }

    /// The constraints of the program and the solution for all sizes of its names: those in their ranges that meet
    /// the [conditions](Graph::runtime_checks) that the program relies on. Without open names it is the
    /// [certificate](Graph::certificate). Changes nothing.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// g.dim("seq", 8..=512, None)?;
    /// let x = g.data("x", "seq")?;
    /// g.einsum("8*i => i", &[x])?;
    /// let certificate = g.certificate_for_all_sizes()?;
    /// let family = certificate.family.as_ref().expect("a name");
    /// assert_eq!(family.conditions[0].text, "`seq` is a multiple of 8");
    /// assert_eq!(family.forms.iter().map(|form| family.show(form)).collect::<Vec<_>>(), ["seq", "seq/8"]);
    /// // Lean's checker will accept it.
    /// assert_eq!(certificate.unproved(), None);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn certificate_for_all_sizes(&mut self) -> Result<Certificate, Error> {
        certificate::certificate_for_all_sizes(self)
    }

    /// The [scheme](Graph::scheme) of a body as a certificate: for all values of its variables that meet its conditions, the
    /// shapes satisfy the constraints of the body. A row variable stands for one axis there. Changes nothing.
    ///
    /// ```
    /// use broadloom::{Graph, StatedNames};
    /// let mut g = Graph::new();
    /// let x = g.argument("x");
    /// let y = g.einsum("... | 2*i => ... | i", &[x])?;
    /// let certificate = g.certified_scheme(&[x], &[y], &StatedNames::default())?;
    /// let family = certificate.family.as_ref().expect("variables");
    /// let names: Vec<&str> = family.names.iter().map(|name| name.name.as_str()).collect();
    /// assert_eq!(names, ["..b..", "n"]);
    /// assert_eq!(family.conditions[0].text, "`n` is a multiple of 2");
    /// assert_eq!(certificate.unproved(), None);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn certified_scheme(
        &self,
        arguments: &[Tensor],
        others: &[Tensor],
        stated: &StatedNames,
    ) -> Result<Certificate, Error> {
        let made = scheme::most_general(self, (arguments, others), stated)?;
        let (mut graph, names) = made.program()?;
        let mut certificate = certificate::certificate_for_all_sizes(&mut graph)?;
        certificate::rename(&mut certificate, &graph, &names)?;
        Ok(certificate)
    }

    /// Explains why an axis of the closed program has its size: the shortest chain of steps to the
    /// tensor, beginning with the text that forces the size. Axes are counted from 0. Changes
    /// nothing.
    ///
    /// ```
    /// use broadloom::{Graph, Kind};
    /// let mut g = Graph::new();
    /// let (w, x, b) = (g.param("w"), g.data("x", "32 | 784")?, g.data("b", "64")?);
    /// let y = g.compose(w, x)?;
    /// let y = g.add(y, b)?;
    /// let why = g.why(w, Kind::Input, 0)?;
    /// assert!(why.forced);
    /// assert_eq!(why.size.to_string(), "784");
    /// assert_eq!(why.parts[0].text, "the output axis of `x`, declared `32 | 784`");
    /// assert_eq!(why.parts[1].text, "`w @ x`: contracts the input of `w` with the output of `x`");
    /// // The output is only bounded by `b`: a parameter takes its bound.
    /// let why = g.why(w, Kind::Output, 0)?;
    /// assert!(!why.forced);
    /// assert_eq!(why.parts[0].text, "the output axis of `b`, declared `64`");
    /// let last = why.parts.last().map(|part| part.text.as_str());
    /// assert_eq!(last, Some("closing: `w` takes the size of what it is used with"));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn why(&mut self, tensor: Tensor, kind: Kind, axis: usize) -> Result<Why, Error> {
        why::why(self, tensor, kind, axis)
    }

    /// Explains why a row of the closed program has its number of axes, in the same way.
    ///
    /// ```
    /// use broadloom::{Graph, Kind, WhySize};
    /// let mut g = Graph::new();
    /// let (x, y) = (g.data("x", "28, 28")?, g.data("y", "28")?);
    /// let z = g.add(y, x)?;
    /// let why = g.why_axes(z, Kind::Output)?;
    /// assert_eq!(why.size, WhySize::Rank(2));
    /// assert_eq!(why.parts[0].text, "the output of `x` has 2 axes, declared `28, 28`");
    /// let said = "the output of `x` goes into its output; its output has what its operands have, and nothing else";
    /// assert_eq!(why.parts[1].text, format!("`y + x`: {said}"));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn why_axes(&mut self, tensor: Tensor, kind: Kind) -> Result<Why, Error> {
        why::why_axes(self, tensor, kind)
    }

    /// Explains why a captured dimension of the closed program has its size, in the same way.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let x = g.data("x", "29")?;
    /// let kernel = g.data("kernel", "3")?;
    /// let y = g.einsum("2*o<+k; k => o", &[x, kernel])?;
    /// let k = g.captured(y, "k")?;
    /// let why = g.why_size(k)?;
    /// assert_eq!((why.size.to_string().as_str(), why.forced), ("3", true));
    /// assert_eq!(why.parts[0].text, "the output axis of `kernel`, declared `3`");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn why_size(&mut self, captured: Captured) -> Result<Why, Error> {
        why::why_size(self, captured)
    }
}
