//! Shapes: three rows of axes, as far as they are known, and final.
//!
//! Shapes are written `batch | input -> output`, as they are declared: rows without axes are left out, an
//! axis that claims no size (the unit, which broadcasts) is `_`, an unknown size is `?`, and `...` stands for
//! axes that are not known yet. A size that depends on named ones is an expression: `batch`, `2*batch`.

use std::fmt;

use broadloom_core::order::{Basis, Dim, FormId, Symbolic};
use broadloom_core::{Closed, Form, RowTerm, Size, Symbol};
use broadloom_spec::Kind;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::size::{Extent, SymbolicSize};
use crate::step::{Beginning, Tensor};
use crate::view::View;

/// One axis of a final shape.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Axis {
    /// One element, and no claim: it broadcasts.
    Unit,
    /// A size, with the basis if it has one of its own.
    Sized(u64, Option<Box<str>>),
    /// A size that depends on [named sizes](crate::Graph::dim), with the basis if it has one of its own.
    Symbolic(SymbolicSize, Option<Box<str>>),
}

impl Axis {
    /// The number of elements; of a symbolic size its value at the samples, or some size within the
    /// range. [`extent`](Axis::extent) distinguishes these cases.
    pub fn size(&self) -> u64 {
        match self {
            Axis::Unit => 1,
            Axis::Sized(size, _) => *size,
            Axis::Symbolic(size, _) => size.some(),
        }
    }

    /// The number of elements, or the expression for it.
    pub fn extent(&self) -> Extent {
        match self {
            Axis::Unit => Extent::Literal(1),
            Axis::Sized(size, _) => Extent::Literal(*size),
            Axis::Symbolic(size, _) => Extent::Symbolic(size.clone()),
        }
    }

    /// The least and the greatest number of elements.
    pub fn range(&self) -> (u64, Option<u64>) {
        match self {
            Axis::Unit => (1, Some(1)),
            Axis::Sized(size, _) => (*size, Some(*size)),
            Axis::Symbolic(size, _) => (size.min(), size.max()),
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Axis::Unit => f.write_str("_"),
            Axis::Sized(size, None) => write!(f, "{size}"),
            Axis::Sized(size, Some(basis)) => write!(f, "{size}:{basis}"),
            Axis::Symbolic(size, None) => write!(f, "{size}"),
            Axis::Symbolic(size, Some(basis)) => write!(f, "{size}:{basis}"),
        }
    }
}

/// The final shape of a tensor.
///
/// ```
/// let mut g = broadloom::Graph::new();
/// let x = g.data("x", "32 | 28, 28, 3:rgb")?;
/// let shape = g.final_shape(x)?;
/// assert_eq!(shape.batch()[0].size(), 32);
/// assert_eq!(shape.elements(), 32 * 28 * 28 * 3);
/// assert_eq!(shape.to_string(), "32 | 28, 28, 3:rgb");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    pub(crate) rows: [Vec<Axis>; 3],
}

impl Shape {
    /// The axes of one kind.
    pub fn row(&self, kind: Kind) -> &[Axis] {
        &self.rows[kind as usize]
    }

    /// The batch axes.
    pub fn batch(&self) -> &[Axis] {
        self.row(Kind::Batch)
    }

    /// The input axes.
    pub fn input(&self) -> &[Axis] {
        self.row(Kind::Input)
    }

    /// The output axes.
    pub fn output(&self) -> &[Axis] {
        self.row(Kind::Output)
    }

    /// The number of elements; with symbolic sizes, at the samples.
    pub fn elements(&self) -> u64 {
        self.rows.iter().flatten().map(Axis::size).fold(1, u64::saturating_mul)
    }

    /// The least and the greatest number of elements (*Tensor Dimension Inference*, "Memory Estimation"); no
    /// greatest if a named size has none.
    pub fn elements_range(&self) -> (u64, Option<u64>) {
        let axes = self.rows.iter().flatten().map(Axis::range);
        axes.fold((1, Some(1)), |(least, most): (u64, Option<u64>), (lo, hi)| {
            (least.saturating_mul(lo), most.zip(hi).map(|(most, hi)| most.saturating_mul(hi)))
        })
    }

    /// Returns true if some size depends on named sizes.
    pub fn is_symbolic(&self) -> bool {
        self.rows.iter().flatten().any(|axis| matches!(axis, Axis::Symbolic(..)))
    }

    /// The shape at given values of named sizes; `None` if one is missing, or if a size is no whole
    /// number there.
    pub fn at(&self, sizes: &[(&str, u64)]) -> Option<Shape> {
        let axis = |axis: &Axis| match axis {
            Axis::Symbolic(size, basis) => Some(Axis::Sized(size.at(sizes)?, basis.clone())),
            other => Some(other.clone()),
        };
        let row = |row: &Vec<Axis>| row.iter().map(axis).collect::<Option<Vec<Axis>>>();
        let [batch, input, output] = &self.rows;
        Some(Shape { rows: [row(batch)?, row(input)?, row(output)?] })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [batch, input, output] = self.rows.each_ref().map(|row| list(row));
        f.pad(&rows_text(&batch, &input, &output))
    }
}

/// The final shapes of all tensors of a graph.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    /// The axes of all rows: places in `dims`.
    axes: Vec<u32>,
    /// The dimensions that occur.
    dims: Vec<Dim>,
    /// The dimensions that depend on named sizes, by their place in `dims`.
    symbolic: FxHashMap<u32, SymbolicSize>,
    /// Sizes of loops and buffers as expressions, for programs whose sizes are arguments.
    open: FxHashMap<u32, Size>,
    /// The ends of the rows of each tensor in `axes`.
    ends: Vec<[u32; 3]>,
    /// The dimensions of the labels of all specs used.
    labels: Vec<u32>,
    pub(crate) bases: Vec<Box<str>>,
}

impl Shapes {
    /// The shapes of all tensors of a closed program.
    pub(crate) fn read(closed: &Closed<'_>, view: &View<'_>) -> Shapes {
        let mut shapes =
            Shapes { ends: Vec::with_capacity(view.tensors.len()), dims: closed.dims(), ..Shapes::default() };
        for (place, dim) in shapes.dims.iter().enumerate() {
            if let Dim::Symbolic(dim) = dim {
                shapes.symbolic.insert(place as u32, view.symbolic(closed, dim.form));
            }
        }
        let axes = &mut shapes.axes;
        for data in view.tensors {
            shapes.ends.push(data.rows.map(|row| {
                closed.each_term(row.term(view.axes), |term| {
                    axes.push(term.ground_index().unwrap_or(0) as u32)
                });
                axes.len() as u32
            }));
        }
        let labels = &mut shapes.labels;
        for label in view.labels {
            closed.each_term(RowTerm::closed(std::slice::from_ref(label)), |term| {
                labels.push(term.ground_index().unwrap_or(0) as u32)
            });
        }
        shapes
    }

    /// The shape of a tensor of the graph.
    ///
    /// # Panics
    /// If the tensor was made after the shapes were asked for.
    pub fn get(&self, tensor: Tensor) -> Shape {
        Shape { rows: Kind::ALL.map(|kind| self.axes(tensor, kind)) }
    }

    /// The number of elements of a tensor, as [`Shape::elements`] counts them.
    ///
    /// # Panics
    /// If the tensor was made after the shapes were asked for.
    pub fn elements(&self, tensor: Tensor) -> u64 {
        let sizes = Kind::ALL.into_iter().flat_map(|kind| self.sizes(tensor, kind));
        sizes.fold(1, u64::saturating_mul)
    }

    /// A number of elements that no tensor exceeds: as many axes as any has, each as long as the longest. `None` if it is too large for a number.
    pub fn most_elements(&self) -> Option<u64> {
        let longest = (0..self.dims.len() as u32).map(|place| self.number(place)).max().unwrap_or(1);
        let ends = self.ends.iter().map(|ends| ends[2]);
        let rank = ends.clone().zip(std::iter::once(0).chain(ends)).map(|(end, start)| end - start).max();
        longest.max(1).checked_pow(rank.unwrap_or(0))
    }

    /// The axes of one row of a tensor.
    pub fn axes(&self, tensor: Tensor, kind: Kind) -> Vec<Axis> {
        self.row(tensor, kind).map(|place| self.axis(place)).collect()
    }

    /// The axis of a dimension.
    fn axis(&self, place: u32) -> Axis {
        match self.dims[place as usize] {
            Dim::Symbolic(dim) => {
                Axis::Symbolic(self.symbolic[&place].clone(), basis_name(dim.basis, &self.bases))
            }
            dim => axis(dim, &self.bases),
        }
    }

    /// The number of elements of a dimension; at the samples, if it is symbolic.
    pub(crate) fn number(&self, place: u32) -> u64 {
        elements(self.dims[place as usize]).unwrap_or_else(|| self.symbolic[&place].some())
    }

    /// Returns true if some size depends on named sizes.
    pub fn is_symbolic(&self) -> bool {
        !self.symbolic.is_empty()
    }

    /// The shapes at some values of the symbols, by their numbers; `None` if a size is no whole
    /// number there.
    pub fn at(&self, sizes: &[u64]) -> Option<Shapes> {
        let of = |symbol: Symbol| sizes.get(symbol.0 as usize).copied();
        let mut shapes = Shapes { symbolic: FxHashMap::default(), ..self.clone() };
        for (place, size) in &self.symbolic {
            let dim = &mut shapes.dims[*place as usize];
            if let Dim::Symbolic(Symbolic { basis, .. }) = *dim {
                *dim = Dim::atom(size.form().size(of)?, basis);
            }
        }
        Some(shapes)
    }

    /// The shapes with named sizes left open: `size` gives the size that an expression has in the
    /// generated program.
    pub fn open(&self, size: impl Fn(&Form) -> Size) -> Shapes {
        let open = self.symbolic.iter().map(|(place, own)| (*place, size(own.form()))).collect();
        Shapes { open, ..self.clone() }
    }

    /// The symbols that the sizes of a tensor depend on.
    pub fn symbols_of(&self, tensor: Tensor) -> Vec<Symbol> {
        let sizes = Kind::ALL.into_iter().flat_map(|kind| self.expressions(tensor, kind)).flatten();
        sizes.flat_map(|size| size.form().symbols()).collect()
    }

    /// The sizes of one row of a tensor at some values of the symbols, where they are whole
    /// numbers.
    pub fn sizes_at(&self, tensor: Tensor, kind: Kind, sizes: &[u64]) -> impl Iterator<Item = Option<u64>> {
        let of = |symbol: Symbol| sizes.get(symbol.0 as usize).copied();
        let size = move |place: u32| match self.symbolic.get(&place) {
            Some(size) => size.form().size(of),
            None => elements(self.dims[place as usize]),
        };
        self.row(tensor, kind).map(size)
    }

    /// Returns true if every size grows, or stays the same, with each symbol.
    pub fn grow(&self) -> bool {
        let grows = |size: &SymbolicSize| size.form().sides().1.as_constant().is_some();
        self.axes.iter().filter_map(|place| self.symbolic.get(place)).all(grows)
    }

    /// The symbols that some size depends on, in their order.
    pub fn symbols(&self) -> Vec<Symbol> {
        if !self.is_symbolic() {
            return Vec::new();
        }
        let used: FxHashSet<u32> = self.axes.iter().chain(&self.labels).copied().collect();
        let sizes = used.iter().filter_map(|place| self.symbolic.get(place));
        let mut symbols: Vec<Symbol> = sizes.flat_map(|size| size.form().symbols()).collect();
        symbols.sort_unstable();
        symbols.dedup();
        symbols
    }

    /// The expressions for sizes, by their values at some values of the symbols.
    pub fn named_at(&self, sizes: &[u64]) -> FxHashMap<u64, String> {
        let of = |symbol: Symbol| sizes.get(symbol.0 as usize).copied();
        let named = |size: &SymbolicSize| Some((size.form().size(of)?, size.to_string()));
        self.symbolic.values().filter_map(named).collect()
    }

    /// The expression for the size of each axis of a tensor, of one kind, where it is symbolic.
    pub fn expressions(&self, tensor: Tensor, kind: Kind) -> impl Iterator<Item = Option<&SymbolicSize>> {
        self.row(tensor, kind).map(|place| self.symbolic.get(&place))
    }

    /// The dimensions of one row of a tensor, by their places.
    fn row(&self, tensor: Tensor, kind: Kind) -> impl Iterator<Item = u32> + '_ {
        self.places(tensor, kind).iter().copied()
    }

    /// The dimensions of one row of a tensor, each by its place: equal places are equal dimensions.
    pub(crate) fn places(&self, tensor: Tensor, kind: Kind) -> &[u32] {
        let ends = &self.ends[tensor.index()];
        let start = match (kind, tensor.index()) {
            (Kind::Batch, 0) => 0,
            (Kind::Batch, index) => self.ends[index - 1][2],
            (kind, _) => ends[kind as usize - 1],
        };
        &self.axes[start as usize..ends[kind as usize] as usize]
    }

    /// Returns true if two tensors have the same axes.
    pub(crate) fn are_alike(&self, a: Tensor, b: Tensor) -> bool {
        Kind::ALL.into_iter().all(|kind| self.places(a, kind) == self.places(b, kind))
    }

    /// Returns true if a dimension, by its place, is the axis that makes no claim.
    pub(crate) fn is_unit(&self, place: u32) -> bool {
        self.dims[place as usize] == Dim::Unit
    }

    /// The sizes of one row of a tensor.
    pub fn sizes(&self, tensor: Tensor, kind: Kind) -> impl Iterator<Item = u64> + '_ {
        self.row(tensor, kind).map(|place| self.number(place))
    }

    /// The same for loops and buffers: expressions where sizes are open.
    pub fn extents(&self, tensor: Tensor, kind: Kind) -> impl Iterator<Item = Size> + '_ {
        self.row(tensor, kind).map(|place| self.extent(place))
    }

    /// The dimensions of some labels, each by its place.
    pub(crate) fn label_places(&self, first: usize, count: usize) -> &[u32] {
        &self.labels[first..first + count]
    }

    /// The size of a label, by its place among the labels of all specs used.
    pub fn label(&self, at: usize) -> Size {
        self.extent(self.labels[at])
    }

    fn extent(&self, place: u32) -> Size {
        self.open.get(&place).copied().unwrap_or_else(|| self.number(place).into())
    }

    /// Returns true if the tensors and labels of a beginning have the same sizes in both. Sizes that depend on named ones are not compared: then
    /// it returns false.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let w = g.param("w");
    /// let (begun, mut other) = (g.so_far(), g.clone());
    /// for (g, shape) in [(&mut g, "3 | 5"), (&mut other, "3 | 7")] {
    ///     let x = g.data("x", shape)?;
    ///     g.mul(w, x)?;
    /// }
    /// let (shapes, other) = (g.final_shapes()?, other.final_shapes()?);
    /// assert!(shapes.begins_like(&shapes, begun));
    /// assert!(!shapes.begins_like(&other, begun), "`w` has 5 elements, and 7");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn begins_like(&self, other: &Shapes, beginning: Beginning) -> bool {
        let is_plain = |shapes: &Shapes| shapes.symbolic.is_empty() && shapes.open.is_empty();
        let same_dims = self.dims.iter().zip(&other.dims).take_while(|(a, b)| a == b).count() as u32;
        let are_same = |own: &[u32], others: &[u32]| own == others && own.iter().all(|dim| *dim < same_dims);
        let (tensors, labels) = (beginning.tensors as usize, beginning.labels as usize);
        let (Some(ends), Some(other_ends)) = (self.ends.get(..tensors), other.ends.get(..tensors)) else {
            return false;
        };
        let (Some(labels), Some(other_labels)) = (self.labels.get(..labels), other.labels.get(..labels))
        else {
            return false;
        };
        let axes = ends.last().map_or(0, |ends| ends[2] as usize);
        is_plain(self)
            && is_plain(other)
            && ends == other_ends
            && are_same(&self.axes[..axes], &other.axes[..axes])
            && are_same(labels, other_labels)
    }

    /// The number of tensors.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

/// The part of an axis that is known so far.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PartialAxis {
    /// Everything.
    Known(Axis),
    /// Its size.
    Sized(u64),
    /// Nothing.
    Unknown,
}

impl PartialAxis {
    /// The size that it claims, if that is known to be a number: none for an axis that broadcasts, or that named sizes decide.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let x = g.data("x", "32 | 3:rgb, 1:unit")?;
    /// let sizes: Vec<_> = g.shape(x).rows.iter().flat_map(|row| &row.lead).map(|axis| axis.size()).collect();
    /// assert_eq!(sizes, [Some(32), Some(3), None]);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn size(&self) -> Option<u64> {
        match self {
            PartialAxis::Known(Axis::Sized(size, _)) | PartialAxis::Sized(size) => Some(*size),
            PartialAxis::Known(Axis::Unit | Axis::Symbolic(..)) | PartialAxis::Unknown => None,
        }
    }
}

impl fmt::Display for PartialAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartialAxis::Known(axis) => axis.fmt(f),
            PartialAxis::Sized(size) => write!(f, "{size}"),
            PartialAxis::Unknown => f.write_str("?"),
        }
    }
}

/// The part of a row that is known so far: the first axes, the last axes, and if there may be more
/// between them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartialRow {
    /// The known axes at the front; all of them if the row is closed.
    pub lead: Vec<PartialAxis>,
    /// True if there may be further axes in between.
    pub open: bool,
    /// The known axes at the back.
    pub trail: Vec<PartialAxis>,
}

impl PartialRow {
    /// The number of elements, if it is known.
    pub(crate) fn elements(&self) -> Option<u64> {
        let size = |axis: &PartialAxis| match axis {
            PartialAxis::Known(Axis::Symbolic(..)) => None,
            PartialAxis::Known(axis) => Some(axis.size()),
            PartialAxis::Sized(size) => Some(*size),
            PartialAxis::Unknown => None,
        };
        if self.open {
            return None;
        }
        self.lead
            .iter()
            .chain(&self.trail)
            .map(size)
            .try_fold(1, |product: u64, size| product.checked_mul(size?))
    }

    fn text(&self) -> String {
        let middle = if self.open { "..." } else { "" };
        let parts = [list(&self.lead), middle.into(), list(&self.trail)];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }
}

/// The part of a shape that is known so far.
///
/// ```
/// let mut g = broadloom::Graph::new();
/// let (w, x) = (g.param("w"), g.data("x", "32 | 784")?);
/// let y = g.compose(w, x)?;
/// assert_eq!(g.shape(w).to_string(), "..., 784 -> ...");
/// assert_eq!(g.shape(y).to_string(), "32 | ...");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartialShape {
    /// Batch, input and output.
    pub rows: [PartialRow; 3],
}

impl fmt::Display for PartialShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [batch, input, output] = self.rows.each_ref().map(|row| row.text());
        f.pad(&rows_text(&batch, &input, &output))
    }
}

impl View<'_> {
    /// The expression of a symbolic dimension.
    fn symbolic(&self, closed: &Closed<'_>, form: FormId) -> SymbolicSize {
        SymbolicSize::new(&closed.form(form), self.symbols, |symbol| closed.symbol_bounds(symbol))
    }

    /// A final dimension as an axis.
    pub fn axis(&self, closed: &Closed<'_>, dim: Dim) -> Axis {
        match dim {
            Dim::Symbolic(symbolic) => {
                Axis::Symbolic(self.symbolic(closed, symbolic.form), basis_name(symbolic.basis, self.bases))
            }
            dim => axis(dim, self.bases),
        }
    }
}

/// The number of elements of a dimension, if it is a number.
pub(crate) fn elements(dim: Dim) -> Option<u64> {
    match dim {
        Dim::Unit => Some(1),
        Dim::Atom(atom) => Some(atom.size),
        Dim::Symbolic(_) => None,
    }
}

/// The axis of a dimension that is not symbolic.
pub(crate) fn axis(dim: Dim, bases: &[Box<str>]) -> Axis {
    match dim {
        Dim::Unit | Dim::Symbolic(_) => Axis::Unit,
        Dim::Atom(atom) => Axis::Sized(atom.size, basis_name(atom.basis, bases)),
    }
}

/// The name of a basis, unless it is the default one.
pub(crate) fn basis_name(basis: Basis, bases: &[Box<str>]) -> Option<Box<str>> {
    if basis == Basis::DEFAULT { None } else { bases.get(basis.0 as usize - 1).cloned() }
}

pub(crate) fn list<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// `batch | input -> output`, without what is empty; a scalar is `()`.
pub(crate) fn rows_text(batch: &str, input: &str, output: &str) -> String {
    if batch.is_empty() && input.is_empty() && output.is_empty() {
        return "()".into();
    }
    let mut text = String::new();
    if !batch.is_empty() {
        text.push_str(batch);
        text.push_str(if input.is_empty() && output.is_empty() { " |" } else { " | " });
    }
    if !input.is_empty() {
        text.push_str(input);
        text.push_str(if output.is_empty() { " ->" } else { " -> " });
    }
    text.push_str(output);
    text
}
