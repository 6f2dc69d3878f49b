//! Captured dimensions and rows: sizes of one spec or one declaration, to be set, compared and
//! read.

use broadloom_core::{Affine, Closed, Constraint, DimTerm, Form, Numerator, Piece, Symbol};
use broadloom_spec::SpecNames;

use crate::Graph;
use crate::declaration::{Declaration, Named, StatedNames};
use crate::error::{Error, ErrorKind, Remedy};
use crate::graph::Before;
use crate::notation::KnownSpec;
use crate::shape::{Axis, PartialAxis};
use crate::size::{Extent, SymbolicSize};
use crate::step::{Aspect, Captured, Op, RowRef, Step, Tensor, place};
use crate::view::View;

/// The numbers of captured sizes from here on are those of stated signatures.
const STATED: usize = 1 << 31;

/// A captured size, resolved.
pub(crate) enum Size {
    Dim(DimTerm),
    Row(RowRef),
}

/// The spec that a tensor was made with, or the shape of its declaration.
pub(crate) struct Source<'a> {
    text: &'a str,
    names: &'a SpecNames,
    /// Marks the rows that have a plain `...`; not used for specs.
    plain: [bool; 3],
    is_spec: bool,
    /// The first of its labels among the graph's, and of its rows.
    labels: u32,
    rows: u32,
}

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
        let Some(source) = self.source(tensor) else {
            let message =
                format!("`{}` was not made by a spec, so it has no `{name}`", self.label_of(tensor));
            return Err(Error::new(ErrorKind::Use, message)
                .with_remedy(Remedy::Capture, "sizes are captured from an einsum"));
        };
        let Source { names, .. } = source;
        let captured = |index: u32, is_row| Captured { tensor: Some(tensor), index, is_row };
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
            format!("`{}`, the shape of `{}`", source.text, self.label_of(tensor))
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
        let Some(Source { names, .. }) = self.source(tensor) else { return Vec::new() };
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
        let index = self.symbol_at(name).ok_or_else(|| self.no_such_size(name))? as u32;
        Ok(Captured { tensor: None, index, is_row: false })
    }

    /// Captures a size with a name in a [stated](Graph::state_shape) signature.
    pub fn captured_stated(&self, names: &StatedNames, name: &str) -> Option<Captured> {
        let (_, at) = names.axes.iter().find(|(own, _)| **own == *name)?;
        Some(Captured { tensor: None, index: STATED as u32 + at, is_row: false })
    }

    /// The name of a named size that is captured.
    pub fn captured_dim_name(&self, captured: Captured) -> Option<&str> {
        let is_dim = captured.tensor.is_none() && !captured.is_row;
        self.symbols.get(captured.index as usize).filter(|_| is_dim).map(|data| &*data.name)
    }

    /// Sets the size of a captured dimension, or the number of elements of a captured row.
    pub fn set(&mut self, captured: Captured, size: u64) -> Result<(), Error> {
        let before = self.begin(captured.tensor.as_slice())?;
        if size == 0 && !self.may_be_empty(captured) {
            let name = self.captured_text(captured);
            return Err(self
                .misuse(format!("{name} cannot be 0: every axis has elements"))
                .with_help("only a part of a concatenation that the result leaves out may be empty"));
        }
        match self.resolve(captured)? {
            Size::Dim(dim) => {
                let size = self.solver.size(size);
                self.say(Constraint::DimEq(dim, size), 0, Aspect::Whole);
            }
            Size::Row(row) => self.say_count(row, Numerator::literal(size)),
        }
        self.finish(before, Step::Set(captured, size))
    }

    /// Requires that two captured sizes are the same; two rows then have the same axes.
    pub fn equal(&mut self, a: Captured, b: Captured) -> Result<(), Error> {
        let before = self.begin_of([a, b])?;
        match (self.resolve(a)?, self.resolve(b)?) {
            (Size::Dim(a), Size::Dim(b)) => self.say(Constraint::DimEq(a, b), 0, Aspect::Whole),
            (Size::Row(a), Size::Row(b)) => self.equate_rows(a, b, 0, Aspect::Whole),
            (Size::Dim(dim), Size::Row(row)) | (Size::Row(row), Size::Dim(dim)) => {
                self.say_count(row, Numerator { coeff: 1, over: Some(dim), denom: 1 })
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
        let before = self.begin_of([large, small])?;
        match (self.resolve(large)?, self.resolve(small)?) {
            (Size::Dim(axis), Size::Dim(over)) => {
                let form = Affine::strided(factor);
                self.say(Constraint::Affine { axis, form, over, kernel: None }, 0, Aspect::Whole);
            }
            (Size::Row(row), Size::Dim(dim)) => {
                self.say_count(row, Numerator { coeff: factor, over: Some(dim), denom: 1 })
            }
            (Size::Dim(dim), Size::Row(row)) => {
                self.say_count(row, Numerator { coeff: 1, over: Some(dim), denom: factor })
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
        match self.resolve(captured).ok()? {
            Size::Dim(dim) => self.term_size(dim),
            Size::Row(row) => self.partial_row(row).elements(),
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
        let form = match self.resolve(captured).ok()? {
            Size::Dim(dim) => self.solver.observe_form(dim)?,
            Size::Row(row) => self.row_form(row)?,
        };
        let open = |symbol: Symbol| {
            self.symbol_data(symbol).is_some_and(|data| self.solver.observe_dim(data.var).is_none())
        };
        form.symbols().into_iter().any(open).then(|| self.expression_of(&form))
    }

    /// The number of elements of a row as an expression, if all its axes are known.
    fn row_form(&self, row: RowRef) -> Option<Form> {
        let row = self.partial_row(row);
        let mut axes = row.lead.iter().chain(&row.trail);
        let one = Form::constant(1);
        let product = axes.try_fold(one, |product, axis| match axis {
            PartialAxis::Known(Axis::Symbolic(size, _)) => product.times(size.form()),
            PartialAxis::Known(axis) => product.scaled(axis.size().into(), 1),
            PartialAxis::Sized(size) => product.scaled((*size).into(), 1),
            PartialAxis::Unknown => None,
        });
        product.filter(|form| !row.open && form.as_constant().is_none())
    }

    /// The size of a dimension, if the program so far decides it.
    pub(crate) fn term_size(&self, dim: DimTerm) -> Option<u64> {
        match (dim.var(), self.solver.ground(dim)) {
            (Some(var), _) => {
                let (lo, hi) = self.solver.observe_size(var);
                (hi == Some(lo)).then_some(lo)
            }
            (None, ground) => crate::shape::elements(ground?),
        }
    }

    /// The captured size, once the program is closed.
    pub fn final_size(&mut self, captured: Captured) -> Result<u64, Error> {
        let mut size = 1u64;
        for extent in self.final_extents(captured)? {
            match extent {
                Extent::Literal(each) => size = size.saturating_mul(each),
                Extent::Symbolic(symbolic) => {
                    let name = self.captured_text(captured);
                    let message = format!("{name} is not a number: it depends on `{symbolic}`");
                    let help = "give the named sizes numbers with `set_sizes`";
                    return Err(Error::new(ErrorKind::Range, message).with_remedy(Remedy::Size, help));
                }
            }
        }
        Ok(size)
    }

    /// The sizes of the axes that were captured, once the program is closed.
    pub(crate) fn final_extents(&mut self, captured: Captured) -> Result<Vec<Extent>, Error> {
        let what = self.resolve(captured)?;
        let read = |closed: &Closed<'_>, view: &View<'_>| {
            let row = match &what {
                Size::Dim(dim) => broadloom_core::RowTerm::closed(std::slice::from_ref(dim)),
                Size::Row(row) => row.term(view.axes),
            };
            let mut extents = Vec::new();
            closed.each_axis(row, |dim| extents.push(view.axis(closed, dim).extent()));
            extents
        };
        match captured.tensor {
            Some(tensor) => self.close_for(tensor, read),
            None => Ok(self.closed(read)?.0),
        }
    }

    /// The final sizes of the axes of each of several captured sizes, by closing once. The program [has final
    /// shapes](Graph::final_shapes).
    pub(crate) fn all_final_extents(&mut self, captured: &[Captured]) -> Result<Vec<Vec<Extent>>, Error> {
        if captured.is_empty() {
            return Ok(Vec::new());
        }
        let sizes: Vec<Size> = captured.iter().map(|size| self.resolve(*size)).collect::<Result<_, _>>()?;
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
        Ok(self.closed(read)?.0)
    }

    /// Begins a step about captured sizes.
    pub(crate) fn begin_of(&mut self, sizes: impl IntoIterator<Item = Captured>) -> Result<Before, Error> {
        let tensors: Vec<Tensor> = sizes.into_iter().filter_map(|size| size.tensor).collect();
        self.begin(&tensors)
    }

    pub(crate) fn say_count(&mut self, row: RowRef, numerator: Numerator) {
        let (lead, trail) = row.flanks(&self.axes);
        let dims = |axes: &[DimTerm]| axes.iter().map(|axis| Piece::Dim(*axis)).collect::<Vec<_>>();
        let pieces: Vec<Piece> =
            dims(lead).into_iter().chain(row.hole.map(Piece::Row)).chain(dims(trail)).collect();
        let rest = row.hole;
        self.say(Constraint::Count { pieces: &pieces, numerator, divided_by: &[], rest }, 0, Aspect::Whole);
    }

    pub(crate) fn resolve(&self, captured: Captured) -> Result<Size, Error> {
        let other = || Error::new(ErrorKind::Use, "a size captured in another graph is used here");
        let index = captured.index as usize;
        let Some(tensor) = captured.tensor else {
            if let Some(at) = index.checked_sub(STATED) {
                return Ok(Size::Dim(self.stated.get(at).ok_or_else(other)?.1));
            }
            let named = self.symbols.get(index).ok_or_else(other)?;
            return Ok(Size::Dim(named.var.into()));
        };
        let Source { names, labels, rows, .. } = self.source(tensor).ok_or_else(other)?;
        let (known, start) =
            if captured.is_row { (3 + names.rows.len(), rows) } else { (names.axes.len(), labels) };
        if index >= known {
            return Err(other());
        }
        let at = start as usize + index;
        Ok(if captured.is_row { Size::Row(self.spec_rows[at]) } else { Size::Dim(self.labels[at]) })
    }

    fn may_be_empty(&self, captured: Captured) -> bool {
        let spec =
            captured.tensor.and_then(|tensor| self.einsum_of(tensor)).map(|(spec, ..)| self.spec(spec));
        !captured.is_row
            && spec.is_some_and(|spec| spec.discardable.get(captured.index as usize) == Some(&true))
    }

    /// The spec that made a tensor, or the names of the shape it was declared with.
    pub(crate) fn source(&self, tensor: Tensor) -> Option<Source<'_>> {
        if let Some((spec, labels, rows)) = self.einsum_of(tensor) {
            let KnownSpec { text, spec, .. } = self.spec_ref(spec);
            return Some(Source { text, names: &spec.names, plain: [true; 3], is_spec: true, labels, rows });
        }
        let Declaration { shape, named, .. } = self.declarations.get(&tensor.0)?;
        let Named { decl, plain, labels, rows } = named.as_deref()?;
        let names = &decl.names;
        Some(Source { text: shape, names, plain: *plain, is_spec: false, labels: *labels, rows: *rows })
    }

    /// The dimension or the row that was captured, if it is of this graph.
    pub(crate) fn captured_place(&self, captured: Captured) -> Option<Result<DimTerm, RowRef>> {
        Some(match self.resolve(captured).ok()? {
            Size::Dim(dim) => Ok(dim),
            Size::Row(row) => Err(row),
        })
    }

    /// The spec that made a tensor: its index, its first label and its first row.
    pub(crate) fn einsum_of(&self, tensor: Tensor) -> Option<(u32, u32, u32)> {
        let data = self.tensors.get(tensor.index())?;
        match self.steps.get(data.step as usize)? {
            Step::Op { op: Op::Einsum { spec, labels, rows, .. }, .. } => Some((*spec, *labels, *rows)),
            _ => None,
        }
    }

    /// A captured size as it is written: `h` of `scores`.
    pub(crate) fn captured_name(&self, captured: Captured) -> String {
        let index = captured.index as usize;
        let Some(tensor) = captured.tensor else {
            if let Some((name, _)) = index.checked_sub(STATED).and_then(|at| self.stated.get(at)) {
                return name.to_string();
            }
            return self.symbols.get(index).map_or("?".into(), |data| data.name.to_string());
        };
        let Some(Source { names, .. }) = self.source(tensor) else { return "?".into() };
        match (captured.is_row, index) {
            (false, _) => names.axes.iter().nth(index).map_or("?".into(), |(_, name)| name.text.to_string()),
            (true, 0..3) => format!(
                "... of the {} row",
                broadloom_spec::Kind::ALL[place(broadloom_spec::Kind::ALL[index])].name()
            ),
            (true, _) => {
                names.rows.iter().nth(index - 3).map_or("?".into(), |(_, name)| format!("..{}..", name.text))
            }
        }
    }
}
