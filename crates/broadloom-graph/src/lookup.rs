//! Lookups: operations in which the integers of one tensor are positions on an axis of another.
//!
//! | operation | relation | computes |
//! |---|---|---|
//! | columns of a table | `v -> ..d..; ..b.. \| => ..b.. \| ..d..` | `r[b, d] = table[d, ids[b]]` |
//! | elements | `v, ..r.. \| …; ..b.. \| => ..b.., ..r.. \| …` | `r[b, …] = x[ids[b], …]` |
//! | taken along an axis | `… \| ..o.., v; k \| => … \| ..o.., k` | `r[…, k] = x[…, ids[k]]` |
//! | taken in each row | `… \| ..o.., v; … \| ..o.., n => … \| ..o.., n` | `r[…, n] = x[…, ids[…, n]]` |
//! | scattered | `..b.. \| …; ..b.. \| => n \| …` | `r[ids[b], …] += x[b, …]` |
//!
//! The labels `v` (of scattering: `n`) stand for the axis that is looked up; there is no loop over it. Integers are checked when a program runs.

use broadloom_array::Dtype;
use broadloom_diagnostics::{Code, Wording};
use broadloom_spec::{Axis, Builder, Kind, Row, Shape, Spec};

use crate::along::Along;
use crate::error::{Error, ErrorKind, Remedy};
use crate::facts::{Lookup, Special};
use crate::operation::id::OperationId;
use crate::precision::is_truth;
use crate::spec_options::{Accumulate, SpecOptions};
use crate::step::{Leaf, Tensor};
use crate::{Graph, message, names, partial_shape, rust_code};

impl Graph {
    /// Looks up rows of a table by integers: `ids` has only batch axes, and its integers are
    /// positions on the input axis of the table. They are checked when the program runs.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (table, ids) = (g.param_shaped("table", "1000 -> 64")?, g.data("ids", "32, 128 |")?);
    /// let embedded = g.gather(table, ids)?;
    /// assert_eq!(g.final_shape(embedded)?.to_string(), "32, 128 | 64");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn gather(&mut self, table: Tensor, ids: Tensor) -> Result<Tensor, Error> {
        are_integers(self, ids)?;
        let options = SpecOptions { operation: Some(OperationId::Gather), ..SpecOptions::default() };
        let result = self.einsum_with("v -> ..d..; ..b.. | => ..b.. | ..d..", &[table, ids], &options)?;
        Ok(looked_up(self, result, Lookup::Taken(Along::last(Kind::Input))))
    }

    /// The elements of a tensor along its first batch axis, at integers: `ids` has only batch axes, which come in the place of that
    /// axis. They are checked when the program runs.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (x, ids) = (g.data("x", "100, 7 | 3")?, g.data("ids", "32 |")?);
    /// let chosen = g.elements(x, ids)?;
    /// assert_eq!(g.final_shape(chosen)?.to_string(), "32, 7 | 3");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn elements(&mut self, x: Tensor, ids: Tensor) -> Result<Tensor, Error> {
        self.begin(&[x, ids])?;
        are_integers(self, ids)?;
        let spec = elements_spec(self, x, ids);
        let options = SpecOptions { operation: Some(OperationId::Elements), ..SpecOptions::default() };
        let spec = spec.ok_or_else(|| self.misuse("there is nothing to look up"))?;
        let result = self.einsum_with(&spec, &[x, ids], &options)?;
        Ok(looked_up(self, result, Lookup::Taken(Along::first(Kind::Batch))))
    }

    /// The elements of a tensor along an axis, at integers: `ids` has only batch axes, which come in the place of that axis.
    ///
    /// ```
    /// use broadloom::{Along, Kind};
    /// let mut g = broadloom::Graph::new();
    /// let (x, ids) = (g.data("x", "32 | 7, 3")?, g.data("ids", "5 |")?);
    /// let chosen = g.take(x, ids, Along::first(Kind::Output))?;
    /// assert_eq!(g.final_shape(chosen)?.to_string(), "32 | 5, 3");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn take(&mut self, x: Tensor, ids: Tensor, along: Along) -> Result<Tensor, Error> {
        if along == Along::first(Kind::Batch) {
            return self.elements(x, ids);
        }
        let [batch, ..] = partial_shape::shape(self, ids).rows;
        let rank = if batch.open { 1 } else { batch.lead.len() + batch.trail.len() };
        let mut build = Builder::new();
        let position = build.label("v");
        let own: Vec<Axis> = (0..rank).map(|at| build.label(&format!("k{at}"))).collect();
        let (whole, result) = (along.shape(&mut build, &[position]), along.shape(&mut build, &own));
        let chosen = Shape::new(Some(Row::closed(own)), None, Row::closed([]));
        taken(self, OperationId::Take, build.finish(vec![whole, chosen], vec![result]), (x, ids), along)
    }

    /// The elements of a tensor along an axis, at integers of their own in each row: `ids` has all other axes of the tensor, too.
    ///
    /// ```
    /// use broadloom::{Along, Kind};
    /// let mut g = broadloom::Graph::new();
    /// let (x, ids) = (g.data("x", "32 | 7")?, g.data("ids", "32 | 5")?);
    /// let chosen = g.take_along(x, ids, Along::last(Kind::Output))?;
    /// assert_eq!(g.final_shape(chosen)?.to_string(), "32 | 5");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn take_along(&mut self, x: Tensor, ids: Tensor, along: Along) -> Result<Tensor, Error> {
        let mut build = Builder::new();
        let [position, place] = ["v", "n"].map(|name| build.label(name));
        let whole = along.shape(&mut build, &[position]);
        let chosen = along.shape(&mut build, &[place]);
        let spec = build.finish(vec![whole, chosen.clone()], vec![chosen]);
        taken(self, OperationId::TakeAlong, spec, (x, ids), along)
    }

    /// Puts the elements of a tensor at integers along a new first batch axis, `n`, whose size is to be [set](Graph::set). Elements
    /// with equal integers are accumulated; where there are none, the result is the neutral element, 0 for sums. `ids` has the batch
    /// axes of `x`, and no others.
    ///
    /// ```
    /// use broadloom::Accumulate;
    /// let mut g = broadloom::Graph::new();
    /// let (x, ids) = (g.data("x", "100 | 3")?, g.data("ids", "100 |")?);
    /// let sums = g.scatter(x, ids, Accumulate::Sum)?;
    /// let n = g.captured(sums, "n")?;
    /// g.set(n, 10)?;
    /// assert_eq!(g.final_shape(sums)?.to_string(), "10 | 3");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn scatter(&mut self, x: Tensor, ids: Tensor, accumulate: Accumulate) -> Result<Tensor, Error> {
        self.begin(&[x, ids])?;
        are_integers(self, ids)?;
        let options =
            SpecOptions { operation: Some(OperationId::Scatter), accumulate, ..SpecOptions::default() };
        let spec = "..b.. | ..i.. -> ..o..; ..b.. | => n | ..i.. -> ..o..";
        let result = self.einsum_with(spec, &[x, ids], &options)?;
        Ok(looked_up(self, result, Lookup::Scattered))
    }
}

fn taken(
    graph: &mut Graph,
    operation: OperationId,
    spec: Option<Spec>,
    (x, ids): (Tensor, Tensor),
    along: Along,
) -> Result<Tensor, Error> {
    graph.begin(&[x, ids])?;
    are_integers(graph, ids)?;
    let options = SpecOptions { operation: Some(operation), ..SpecOptions::default() };
    let spec = spec.ok_or_else(|| graph.misuse("there is nothing to look up"))?;
    let result = graph.einsum_with(&spec, &[x, ids], &options)?;
    Ok(looked_up(graph, result, Lookup::Taken(along)))
}

/// Notes that the last step looks something up.
fn looked_up(graph: &mut Graph, result: Tensor, lookup: Lookup) -> Tensor {
    graph.facts.special.insert(graph.last_step(), Special::Lookup(lookup));
    result
}

/// Refuses numbers, and tensors that are known to hold floats.
fn are_integers(graph: &Graph, ids: Tensor) -> Result<(), Error> {
    if matches!(graph.leaf(ids), Some(Leaf::Number(_) | Leaf::Constant(_) | Leaf::Size(_))) {
        return Err(graph
            .misuse("a number cannot look up rows of a table")
            .with_help("take one row by a spec: `3 -> ... => ...`"));
    }
    if graph.facts.precisions.get(&ids) == Some(&Dtype::Bool)
        || is_truth(graph, graph.tensors[ids.index()].step)
    {
        let message = format!("`{}` holds truths, which do not number rows", names::label_of(graph, ids));
        let error = Error::new(ErrorKind::Value, message).about_step(graph.next_step());
        let masked = Code::Select(vec![Code::tensor("mask"), Code::tensor("x"), Code::Number(0)]);
        let help = Wording::new(
            "how many are true is known only when the program runs, and sizes are known before: keep all, and write ",
        )
        .code(masked)
        .words(" for those that do not count; or number rows by ")
        .code(Code::Integers(Box::new(Code::tensor("…"))));
        return Err(error.with_end(message::declared_end(graph, ids)).with_help(rust_code::help(help)));
    }
    let is_float = match graph.facts.precisions.get(&ids) {
        Some(dtype) => dtype.is_float(),
        None => graph.values_of(ids).is_some_and(|values| !values.is_whole()),
    };
    if is_float {
        let message =
            format!("`{}` holds floats, which cannot look up rows of a table", names::label_of(graph, ids));
        let error = Error::new(ErrorKind::Value, message).about_step(graph.next_step());
        return Err(error
            .with_end(message::declared_end(graph, ids))
            .with_remedy(Remedy::Integers, "convert them first: `values.convert(Dtype::I64)`"));
    }
    Ok(())
}

/// The spec of elements. A row has one hole: it is that of the operand whose number of batch axes is not known.
fn elements_spec(graph: &Graph, x: Tensor, ids: Tensor) -> Option<Spec> {
    let axes = |tensor: Tensor| {
        let [batch, ..] = partial_shape::shape(graph, tensor).rows;
        (!batch.open).then(|| batch.lead.len() + batch.trail.len())
    };
    let mut build = Builder::new();
    let [row, of_ids] = ["r", "b"].map(|name| build.row(name));
    let (input, output) = (Row::open([], build.row("i"), []), Row::open([], build.row("o"), []));
    let position = build.label("v");
    let labels = |build: &mut Builder, name: &str, count: usize| -> Vec<Axis> {
        (0..count).map(|at| build.label(&format!("{name}{at}"))).collect()
    };
    let shape = |batch| Shape::new(Some(batch), Some(input.clone()), output.clone());
    let (whole, chosen, result) = match (axes(x), axes(ids)) {
        (None, Some(rank)) => {
            let own = labels(&mut build, "b", rank);
            let whole = Row::open([position], row, []);
            (whole, Row::closed(own.clone()), Row::open(own, row, []))
        }
        (rank, _) => {
            let rest = labels(&mut build, "r", rank.unwrap_or(1).saturating_sub(1));
            let whole = Row::closed([position].into_iter().chain(rest.clone()));
            (whole, Row::open([], of_ids, []), Row::open([], of_ids, rest))
        }
    };
    let chosen = Shape::new(Some(chosen), None, Row::closed([]));
    build.finish(vec![shape(whole), chosen], vec![shape(result)])
}
