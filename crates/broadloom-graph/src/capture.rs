//! Captured dimensions and rows: sizes of one spec or one declaration, to be set, compared and
//! read.

use broadloom_core::{Affine, Closed, Constraint, DimTerm, Numerator, Piece, Role, Symbol};

use crate::captured::{CapturedFrom, Size};
use crate::declaration::StatedNames;
use crate::error::{Error, ErrorKind, Remedy};
use crate::size::{Extent, SymbolicSize};
use crate::step::{Aspect, Captured, RowRef, SizeOwner, Step, Tensor};
use crate::symbols::read;
use crate::transaction::Before;
use crate::view::View;
use crate::{Graph, captured, names, partial_shape, undetermined};

impl Graph {
    /// Captures a label or a row variable of the spec that made a tensor, or of the shape it was declared with:
    /// `"h"`, or `"d"` for `..d..`. The plain `...` is captured by its kind: `"batch"`, `"input"`, `"output"`.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let x = g.data("x", "8 | 3, 4")?;
    /// let sum = g.einsum("... | ..d.. => ... | 0", &[x])?;
    /// let d = g.captured(sum, "d")?;
    /// assert_eq!(g.final_size(d)?, 12);
    /// // The hidden size of a square map, said afterwards.
    /// let (w, n) = (g.param_shaped("w", "n -> n")?, 4);
    /// let hidden = g.captured(w, "n")?;
    /// g.set(hidden, n)?;
    /// assert_eq!(g.final_shape(w)?.to_string(), "4 -> 4");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn captured(&self, tensor: Tensor, name: &str) -> Result<Captured, Error> {
        let tensor = self.facts.means.get(&tensor).copied().unwrap_or(tensor);
        let Some(source) = captured::source(self, tensor) else {
            let message =
                format!("`{}` was not made by a spec, so it has no `{name}`", names::label_of(self, tensor));
            return Err(Error::new(ErrorKind::Use, message)
                .with_remedy(Remedy::Capture, "sizes are captured from an einsum"));
        };
        let CapturedFrom { names, .. } = source;
        let captured = |index: u32, is_row| Captured { owner: SizeOwner::Tensor(tensor), index, is_row };
        let kinds = ["batch", "input", "output"];
        if let Some(axis) = names.axes.find(name) {
            return Ok(captured(axis.0, false));
        }
        if let Some(row) = names.rows.find(name) {
            return Ok(captured(3 + row.0, true));
        }
        let kind = kinds.iter().position(|kind| *kind == name);
        if let Some(kind) = kind.filter(|kind| source.is_spec || source.plain[*kind]) {
            return Ok(captured(kind as u32, true));
        }
        let known = if source.is_spec {
            format!("the spec `{}`", source.text)
        } else {
            format!("`{}`, the shape of `{}`", source.text, names::label_of(self, tensor))
        };
        let error = Error::new(ErrorKind::Use, format!("there is no `{name}` in {known}"));
        let labels = names.axes.iter().map(|(_, name)| format!("`{}`", name.text));
        let list: Vec<String> =
            labels.chain(names.rows.iter().map(|(_, name)| format!("`{}`", name.text))).collect();
        Err(if list.is_empty() { error } else { error.with_help(format!("it has {}", list.join(", "))) })
    }

    /// The names that can be [captured](Graph::captured) of a tensor: those in the spec or the declared shape that made it.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (w, x) = (g.param("w"), g.data("x", "8 | 3")?);
    /// let y = g.einsum("i -> h; ... | i => ... | h", &[w, x])?;
    /// assert_eq!(g.captured_names(y), ["i", "h"]);
    /// assert!(g.captured_names(w).is_empty());
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn captured_names(&self, tensor: Tensor) -> Vec<&str> {
        let tensor = self.facts.means.get(&tensor).copied().unwrap_or(tensor);
        let Some(CapturedFrom { names, .. }) = captured::source(self, tensor) else { return Vec::new() };
        let axes = names.axes.iter().map(|(_, name)| &*name.text);
        axes.chain(names.rows.iter().map(|(_, name)| &*name.text)).collect()
    }

    /// Captures a named size itself, to be compared with others or used as a number.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// g.dim("batch", 1..=64, 32)?;
    /// let (x, batch) = (g.data("x", "batch | 10")?, g.captured_dim("batch")?);
    /// let total = g.einsum("b | i => i", &[x])?;
    /// let count = g.size_number(batch)?;
    /// let mean = g.div(total, count)?; // whatever the size of the batch
    /// assert!(g.is_symbolic() && g.size(batch).is_none());
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn captured_dim(&self, name: &str) -> Result<Captured, Error> {
        let index = read::symbol_at(self, name).ok_or_else(|| read::no_such_size(self, name))? as u32;
        Ok(Captured::of_graph(SizeOwner::Named, index))
    }

    /// Captures a size with a name in a [stated](Graph::state_shape) signature.
    pub fn captured_stated(&self, names: &StatedNames, name: &str) -> Option<Captured> {
        let (_, at) = names.axes.iter().find(|(own, _)| **own == *name)?;
        Some(Captured::of_graph(SizeOwner::Stated, *at))
    }

    /// Captures a size of a [stated](Graph::state_shape) signature, for expressions such as `2*n` in its shapes. If none of its
    /// shapes has that name yet, the size is a new one.
    ///
    /// ```
    /// use broadloom::{ComputedShape, Graph, SizeSum, StatedNames, spec};
    /// let mut g = Graph::new();
    /// let (x, mut names) = (g.data("x", "32 | 10")?, StatedNames::default());
    /// let n = g.stated_size(&mut names, "n");
    /// let twice = SizeSum::from(n).scaled(2, 1).unwrap();
    /// let shape = spec::ShapeBuilder::new().row("b").bar().expression("m", "(2*n)").finish();
    /// g.state_shape(x, ComputedShape { shape: (&shape).into(), sizes: &[("m", &twice)] }, &mut names)?;
    /// assert_eq!(g.size(n), Some(5));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn stated_size(&mut self, names: &mut StatedNames, name: &str) -> Captured {
        if let Some(known) = self.captured_stated(names, name) {
            return known;
        }
        let at = self.stated.len();
        self.stated.push((name.into(), self.solver.dim_var(Role::Interior).into()));
        self.settled = None;
        names.axes.push((name.into(), at as u32));
        names.computed.push(at as u32);
        Captured::of_graph(SizeOwner::Stated, at as u32)
    }

    /// The name of a named size that is captured.
    pub fn captured_dim_name(&self, captured: Captured) -> Option<&str> {
        let named = self.symbols.get(captured.index as usize)?;
        (captured.owner == SizeOwner::Named).then_some(&*named.name)
    }

    /// Sets the size of a captured dimension, or the number of elements of a captured row.
    pub fn set(&mut self, captured: Captured, size: u64) -> Result<(), Error> {
        let before = self.begin(captured.tensor().as_slice())?;
        if size == 0 && !captured::may_be_empty(self, captured) {
            let name = names::captured_text(self, captured);
            return Err(self
                .misuse(format!("{name} cannot be 0: every axis has elements"))
                .with_help("only a part of a concatenation that the result leaves out may be empty"));
        }
        match captured::resolve(self, captured)? {
            Size::Dim(dim) => {
                let size = self.solver.size(size);
                self.constrain(Constraint::DimEq(dim, size), 0, Aspect::Whole);
            }
            Size::Row(row) => constrain_count(self, row, Numerator::literal(size)),
        }
        self.finish(before, Step::Set(captured, size))
    }

    /// Requires that two captured sizes are the same; two rows then have the same axes.
    pub fn equal(&mut self, a: Captured, b: Captured) -> Result<(), Error> {
        let before = begin_of(self, [a, b])?;
        match (captured::resolve(self, a)?, captured::resolve(self, b)?) {
            (Size::Dim(a), Size::Dim(b)) => self.constrain(Constraint::DimEq(a, b), 0, Aspect::Whole),
            (Size::Row(a), Size::Row(b)) => self.equate_rows(a, b, 0, Aspect::Whole),
            (Size::Dim(dim), Size::Row(row)) | (Size::Row(row), Size::Dim(dim)) => {
                constrain_count(self, row, Numerator { coeff: 1, over: Some(dim), denom: 1 })
            }
        }
        self.finish(before, Step::Equal(a, b))
    }

    /// Requires that one captured dimension is a multiple of another: `large = factor·small`.
    pub fn scale(&mut self, large: Captured, factor: u64, small: Captured) -> Result<(), Error> {
        if factor == 0 {
            return Err(self.misuse("a size cannot be 0 times another"));
        }
        if factor == 1 {
            return self.equal(large, small);
        }
        let before = begin_of(self, [large, small])?;
        match (captured::resolve(self, large)?, captured::resolve(self, small)?) {
            (Size::Dim(axis), Size::Dim(over)) => {
                let form = Affine::strided(factor);
                self.constrain(Constraint::Affine { axis, form, over, kernel: None }, 0, Aspect::Whole);
            }
            (Size::Row(row), Size::Dim(dim)) => {
                constrain_count(self, row, Numerator { coeff: factor, over: Some(dim), denom: 1 })
            }
            (Size::Dim(dim), Size::Row(row)) => {
                constrain_count(self, row, Numerator { coeff: 1, over: Some(dim), denom: factor })
            }
            (Size::Row(_), Size::Row(_)) => {
                return Err(self
                    .misuse("two rows cannot be multiples of each other")
                    .with_help("capture one of them as a single axis"));
            }
        }
        self.finish(before, Step::Scale(large, factor, small))
    }

    /// The captured size, if the program so far decides it; of a row, the product.
    pub fn size(&self, captured: Captured) -> Option<u64> {
        if self.captured_dim_name(captured).is_some() {
            return read::symbol_number(self, captured.index as usize);
        }
        match captured::resolve(self, captured).ok()? {
            Size::Dim(dim) => captured::term_size(self, dim),
            Size::Row(row) => partial_shape::partial_row(self, row).elements(),
        }
    }

    /// The captured size as an expression over named sizes that have no number yet, if the program
    /// so far determines one.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// g.dim("seq", 1..=512, None)?;
    /// let x = g.data("x", "seq")?;
    /// let halves = g.einsum("2*i => i", &[x])?;
    /// let i = g.captured(halves, "i")?;
    /// assert_eq!(g.size_expression(i).map(|size| size.to_string()).as_deref(), Some("seq/2"));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn size_expression(&self, captured: Captured) -> Option<SymbolicSize> {
        let form = match captured::resolve(self, captured).ok()? {
            Size::Dim(dim) => self.solver.observe_form(dim)?,
            Size::Row(row) => captured::row_form(self, row)?,
        };
        let open = |symbol: Symbol| {
            read::symbol_data(self, symbol).is_some_and(|data| self.solver.observe_dim(data.var).is_none())
        };
        form.symbols().into_iter().any(open).then(|| read::expression_of(self, &form))
    }

    /// The captured size, once the program is closed.
    pub fn final_size(&mut self, captured: Captured) -> Result<u64, Error> {
        let mut size = 1u64;
        for extent in final_extents(self, captured)? {
            match extent {
                Extent::Literal(each) => size = size.saturating_mul(each),
                Extent::Symbolic(symbolic) => {
                    let name = names::captured_text(self, captured);
                    let message = format!("{name} is not a number: it depends on `{symbolic}`");
                    let help = "give the named sizes numbers with `set_sizes`";
                    return Err(Error::new(ErrorKind::Range, message).with_remedy(Remedy::Size, help));
                }
            }
        }
        Ok(size)
    }

    /// The sizes of several captured dimensions of the closed program, as shapes are written, by closing once. Changes nothing.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// g.dim("batch", 1..=64, 32)?;
    /// let x = g.data("x", "batch | 3")?;
    /// let both = g.einsum("b | i; b | i => b | i", &[x, x])?;
    /// let sizes = [g.captured(both, "b")?, g.captured(both, "i")?];
    /// assert_eq!(g.final_captured(&sizes)?, ["batch", "3"]);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn final_captured(&mut self, captured: &[Captured]) -> Result<Vec<String>, Error> {
        let shown = |extents: &Vec<Extent>| {
            extents.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ")
        };
        Ok(all_final_extents(self, captured)?.iter().map(shown).collect())
    }
}

/// The sizes of the axes that were captured, once the program is closed.
pub(crate) fn final_extents(graph: &mut Graph, captured: Captured) -> Result<Vec<Extent>, Error> {
    let what = captured::resolve(graph, captured)?;
    let read = |closed: &Closed<'_>, view: &View<'_>| {
        let row = match &what {
            Size::Dim(dim) => broadloom_core::RowTerm::closed(std::slice::from_ref(dim)),
            Size::Row(row) => row.term(view.axes),
        };
        let mut extents = Vec::new();
        closed.each_axis(row, |dim| extents.push(view.axis(closed, dim).extent()));
        extents
    };
    match captured.tensor() {
        Some(tensor) => undetermined::close_for(graph, tensor, read),
        None => Ok(graph.closed(read)?.0),
    }
}

/// The final sizes of the axes of each of several captured sizes, by closing once. The program [has final
/// shapes](Graph::final_shapes).
pub(crate) fn all_final_extents(graph: &mut Graph, captured: &[Captured]) -> Result<Vec<Vec<Extent>>, Error> {
    if captured.is_empty() {
        return Ok(Vec::new());
    }
    let sizes: Vec<Size> =
        captured.iter().map(|size| captured::resolve(graph, *size)).collect::<Result<_, _>>()?;
    let read = |closed: &Closed<'_>, view: &View<'_>| {
        let extents = |size: &Size| {
            let row = match size {
                Size::Dim(dim) => broadloom_core::RowTerm::closed(std::slice::from_ref(dim)),
                Size::Row(row) => row.term(view.axes),
            };
            let mut extents = Vec::new();
            closed.each_axis(row, |dim| extents.push(view.axis(closed, dim).extent()));
            extents
        };
        sizes.iter().map(extents).collect()
    };
    Ok(graph.closed(read)?.0)
}

/// Begins a step about captured sizes.
pub(crate) fn begin_of(
    graph: &mut Graph,
    sizes: impl IntoIterator<Item = Captured>,
) -> Result<Before, Error> {
    let tensors: Vec<Tensor> = sizes.into_iter().filter_map(Captured::tensor).collect();
    graph.begin(&tensors)
}

pub(crate) fn constrain_count(graph: &mut Graph, row: RowRef, numerator: Numerator) {
    let (lead, trail) = row.flanks(&graph.axes);
    let dims = |axes: &[DimTerm]| axes.iter().map(|axis| Piece::Dim(*axis)).collect::<Vec<_>>();
    let pieces: Vec<Piece> =
        dims(lead).into_iter().chain(row.hole.map(Piece::Row)).chain(dims(trail)).collect();
    let rest = row.hole;
    graph.constrain(
        Constraint::Count { pieces: &pieces, numerator, divided_by: &[], rest },
        0,
        Aspect::Whole,
    );
}
