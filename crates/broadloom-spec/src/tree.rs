//! The syntax tree of an operation's spec.
//!
//! ```text
//! Spec      operands => results
//! Shape     batch | input -> output
//! Row       lead, hole, trail
//! Axis      label, fixed index, wildcard, affine sum, concatenation, composed axis
//! ```
//!
//! The tree keeps what is written, with its place: every node has a byte span. It holds no state
//! that cannot be written, with one exception: an [`Affine`] that only repeats a label is never
//! produced, since `1*o` and `o+0` are read as `o`; so is `(o)`. Names are ids into the tables of the spec;
//! [`Spec::show`] prints any node with them.
//!
//! **Omitted rows.** A row that is not written is empty and closed, not open: `i->o` has no batch
//! axes and admits none. To admit any batch axes, write `...|i->o`. The tree keeps the difference
//! between a row that is omitted (`None`) and one that is written empty (`|i->o`), for messages
//! only.

use crate::mode::Mode;
use crate::names::{AxisId, CoefficientId, RowId, SpecNames};
use crate::span::Span;
use std::collections::HashSet;
use std::num::NonZeroU64;

/// A spec: how the axes of the operands line up with those of the results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The notation of axes: letters or words.
    pub mode: Mode,
    /// The names that occur.
    pub names: SpecNames,
    /// The shapes before `=>`; at least one.
    pub operands: Vec<Shape<Axis>>,
    /// The shapes after `=>`; at least one, and more only for operations that split (`a^b => a; b`).
    pub results: Vec<Shape<Axis>>,
    /// True if it accumulates over the names of a shape, [`parse_over`](crate::parse_over): its result keeps an axis of one
    /// element for each. Otherwise, an index in a result is a position of an axis that may be longer.
    pub keeps: bool,
}

impl Spec {
    /// The result, if there is only one.
    pub fn result(&self) -> Option<&Shape<Axis>> {
        match &self.results[..] {
            [result] => Some(result),
            _ => None,
        }
    }

    /// All shapes: the operands, then the results.
    pub fn shapes(&self) -> impl Iterator<Item = &Shape<Axis>> {
        self.operands.iter().chain(&self.results)
    }

    /// Returns true if several values may meet in one cell of a result: a label, a row variable or a wildcard of an operand is in no
    /// result, or a result is indexed by a sum.
    ///
    /// ```
    /// use broadloom_spec::parse_spec;
    /// let reduces = |text: &str| parse_spec(text).unwrap().reduces();
    /// assert!(reduces("i (j 2) => i j"));
    /// assert!(reduces("ij; jk => ik") && reduces("... | i => i") && reduces("_ i => i") && reduces("o+k => o"));
    /// assert!(!reduces("ij => ji") && !reduces("... | i; i => ... | i") && !reduces("a^b => a; b"));
    /// ```
    pub fn reduces(&self) -> bool {
        let is_sum = |axis: &Axis| matches!(&axis.kind, AxisKind::Affine(Affine { kernel: Some(_), .. }));
        let is_unnamed = |axis: &Axis| {
            let is_size = |part: &Part| matches!(part.kind, PartKind::Size(_));
            axis.kind == AxisKind::Wildcard || axis.parts().iter().any(is_size)
        };
        let kept: HashSet<Ranging> = self.results.iter().flat_map(Shape::ranging).collect();
        self.operands.iter().flat_map(Shape::ranging).any(|each| !kept.contains(&each))
            || self.operands.iter().flat_map(Shape::axes).any(is_unnamed)
            || self.results.iter().flat_map(Shape::axes).any(is_sum)
    }

    /// Erases all positions, so that specs written differently can be compared.
    ///
    /// ```
    /// use broadloom_spec::parse_spec;
    /// let tidy = parse_spec("ij; jk => ik").unwrap().without_spans();
    /// assert_eq!(parse_spec("i j;j k=>i k").unwrap().without_spans(), tidy);
    /// ```
    pub fn without_spans(mut self) -> Spec {
        self.names.erase_spans();
        for shape in self.operands.iter_mut().chain(&mut self.results) {
            shape.erase_spans(Axis::erase_spans);
        }
        self
    }
}

/// A label or row that a spec ranges over.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Ranging {
    Label(AxisId),
    Row(RowId),
    /// The `...` of a kind.
    Rest(Kind),
}

impl Shape<Axis> {
    /// The row variables in it, each with the kind of its row: those of holes, and those in composed axes.
    ///
    /// ```
    /// let spec = broadloom_spec::parse_spec("b | ..r.. => | b (..r..)").unwrap();
    /// let count = |shape: &broadloom_spec::Shape<_>| shape.row_variables().count();
    /// assert_eq!((count(&spec.operands[0]), count(&spec.results[0])), (1, 1));
    /// ```
    pub fn row_variables(&self) -> impl Iterator<Item = (Kind, RowVariable)> {
        self.rows().flat_map(|(kind, row)| {
            let holes = row.hole().into_iter().map(|hole| hole.variable);
            let composed = row.axes().flat_map(Axis::parts).filter_map(|part| match part.kind {
                PartKind::Row(variable) => Some(variable),
                PartKind::Label(_) | PartKind::Size(_) => None,
            });
            holes.chain(composed).map(move |variable| (kind, variable))
        })
    }

    /// The labels and row variables in it.
    fn ranging(&self) -> Vec<Ranging> {
        let labels = self.axes().flat_map(Axis::labels).map(Ranging::Label);
        let rows = self.row_variables().map(|(kind, variable)| match variable {
            RowVariable::Ellipsis => Ranging::Rest(kind),
            RowVariable::Named(row) => Ranging::Row(row),
        });
        rows.chain(labels).collect()
    }
}

/// The three kinds of axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Before `|`.
    Batch,
    /// Before `->`.
    Input,
    /// The rest.
    Output,
}

impl Kind {
    /// All kinds in the order in which they are written.
    pub const ALL: [Kind; 3] = [Kind::Batch, Kind::Input, Kind::Output];

    /// `batch`, `input` or `output`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Batch => "batch",
            Kind::Input => "input",
            Kind::Output => "output",
        }
    }
}

/// One shape: `batch|input->output`, or less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape<A> {
    /// The row before `|`; `None` if there is no `|`, which means no axes.
    pub batch: Option<Row<A>>,
    /// The row before `->`; `None` if there is no `->`, which means no axes.
    pub input: Option<Row<A>>,
    /// The last row, which is always there and may be empty.
    pub output: Row<A>,
    /// From the first character to the last.
    pub span: Span,
}

impl<A> Shape<A> {
    /// The row of a kind, if it is written.
    pub fn row(&self, kind: Kind) -> Option<&Row<A>> {
        match kind {
            Kind::Batch => self.batch.as_ref(),
            Kind::Input => self.input.as_ref(),
            Kind::Output => Some(&self.output),
        }
    }

    /// The rows that are written, with their kinds, in writing order.
    pub fn rows(&self) -> impl Iterator<Item = (Kind, &Row<A>)> {
        Kind::ALL.into_iter().filter_map(|kind| Some((kind, self.row(kind)?)))
    }

    /// All axes of all rows in writing order.
    pub fn axes(&self) -> impl Iterator<Item = &A> {
        self.rows().flat_map(|(_, row)| row.axes())
    }

    pub(crate) fn erase_spans(&mut self, axis: fn(&mut A)) {
        self.span = Span::default();
        let rows = [self.batch.as_mut(), self.input.as_mut(), Some(&mut self.output)];
        for row in rows.into_iter().flatten() {
            row.span = Span::default();
            if let Some(opening) = &mut row.opening {
                opening.hole.span = Span::default();
                opening.lead.iter_mut().for_each(axis);
            }
            row.trail.iter_mut().for_each(axis);
        }
    }
}

/// The axes of one kind, with at most one hole for more of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row<A> {
    /// The hole and the axes before it; `None` in a closed row.
    pub opening: Option<Opening<A>>,
    /// The axes after the hole, or all axes of a closed row: they count from the right.
    pub trail: Vec<A>,
    /// From the first item to the last; empty if there are none.
    pub span: Span,
}

/// The left part of an open row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening<A> {
    /// The axes before the hole: they count from the left.
    pub lead: Vec<A>,
    /// The hole.
    pub hole: Hole,
}

impl<A> Row<A> {
    /// The axes before the hole; none in a closed row.
    pub fn lead(&self) -> &[A] {
        self.opening.as_ref().map_or(&[], |opening| &opening.lead)
    }

    /// The hole, if the row is open.
    pub fn hole(&self) -> Option<Hole> {
        self.opening.as_ref().map(|opening| opening.hole)
    }

    /// The axes that are written, on both sides of the hole.
    pub fn axes(&self) -> impl Iterator<Item = &A> {
        self.lead().iter().chain(&self.trail)
    }

    /// Returns true if there is neither an axis nor a hole.
    pub fn is_empty(&self) -> bool {
        self.opening.is_none() && self.trail.is_empty()
    }
}

/// A place for any number of axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// The variable that fills it.
    pub variable: RowVariable,
    /// Its place in the text.
    pub span: Span,
}

/// The variable that fills a hole. Within a spec the same variable stands for the same axes
/// everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowVariable {
    /// `...`: the variable of the row's kind. The `...` of batch rows is one variable, that of input rows
    /// another, that of output rows a third; none of them has a name.
    Ellipsis,
    /// `..name..`: one variable wherever it is written, in rows of any kind.
    Named(RowId),
}

/// An axis of a spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The form of the axis.
    pub kind: AxisKind,
    /// Its place in the text.
    pub span: Span,
}

/// The form of an axis of a spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AxisKind {
    /// `i`: the axis with this label, the same wherever the label is.
    Label(AxisId),
    /// `2`: only this index of the axis, counted from zero.
    Fixed(u64),
    /// `_`: an axis of its own, different from every other.
    Wildcard,
    /// `2*o+1`, `o<+k` and the like: an axis indexed by a sum.
    Affine(Affine),
    /// `a^b`: axes one after another; at least two components.
    Concat(Vec<Component>),
    /// `(h w 2)`: one axis that goes through all its parts, the last of them fastest; without parts, an axis of one element. A
    /// single label in parentheses is that label.
    Composed(Vec<Part>),
}

/// An axis indexed by `stride*over + offset + dilation*kernel`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affine {
    /// The label that is stepped over, with its stride.
    pub over: Term,
    /// The number that is added; zero if none is written.
    pub offset: u64,
    /// The window around each step, if any.
    pub kernel: Option<Kernel>,
}

/// The window of an affine axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The label that is stepped through inside the window, with its dilation.
    pub term: Term,
    /// The behaviour at the ends of the axis.
    pub padding: Padding,
}

/// The behaviour of a window at the ends of the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Padding {
    /// `o=+k`: the axis is padded, so that its size is `stride*over`.
    Padded,
    /// `o<+k`: every window lies inside the axis, and the last one ends at its end.
    Valid,
    /// `o~+k`: every window lies inside the axis; a remainder at its end is dropped.
    Dropped,
    /// `o+k`: the spec leaves the choice to its user.
    Unmarked,
}

/// A label with a coefficient: `3*k`, or `k` for `1*k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// The stride or dilation.
    pub coefficient: Coefficient,
    /// The label that is multiplied.
    pub label: AxisId,
    /// The term, without a padding marker.
    pub span: Span,
}

/// A stride or a dilation: never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coefficient {
    /// A number; 1 if nothing is written.
    Literal(NonZeroU64),
    /// A name whose value the user of the spec supplies.
    Named(CoefficientId),
}

impl Coefficient {
    /// The coefficient of a label that stands alone.
    pub const ONE: Coefficient = Coefficient::Literal(NonZeroU64::MIN);
}

/// One part of a concatenation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component {
    /// The form of the part.
    pub kind: ComponentKind,
    /// Its place in the text.
    pub span: Span,
}

/// The form of one part of a concatenation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComponentKind {
    /// `a`: as long as the axis with this label.
    Label(AxisId),
    /// `3`: this long. (Alone, `3` would be an index.)
    Size(NonZeroU64),
    /// `_`: a part of its own, of any length.
    Wildcard,
}

/// One part of a composed axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The form of the part.
    pub kind: PartKind,
    /// Its place in the text.
    pub span: Span,
}

/// The form of one part of a composed axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartKind {
    /// `h`: the axis with this label.
    Label(AxisId),
    /// `2`: an axis of its own with this size. (Outside of parentheses, `2` would be an index.)
    Size(NonZeroU64),
    /// `...` or `..r..`: all axes of a row.
    Row(RowVariable),
}

impl Axis {
    fn erase_spans(&mut self) {
        self.span = Span::default();
        match &mut self.kind {
            AxisKind::Affine(affine) => {
                affine.over.span = Span::default();
                if let Some(kernel) = &mut affine.kernel {
                    kernel.term.span = Span::default();
                }
            }
            AxisKind::Concat(components) => {
                components.iter_mut().for_each(|component| component.span = Span::default());
            }
            AxisKind::Composed(parts) => parts.iter_mut().for_each(|part| part.span = Span::default()),
            AxisKind::Label(_) | AxisKind::Fixed(_) | AxisKind::Wildcard => {}
        }
    }

    /// The labels in the axis, in writing order.
    ///
    /// ```
    /// let spec = broadloom_spec::parse_spec("2*o<+k, c; k => o, c").unwrap();
    /// let labels: Vec<&str> = spec.operands[0].axes().flat_map(|axis| axis.labels())
    ///     .map(|label| spec.names.axes.text(label)).collect();
    /// assert_eq!(labels, ["o", "k", "c"]);
    /// ```
    pub fn labels(&self) -> impl Iterator<Item = AxisId> {
        let (single, affine, concat) = match &self.kind {
            AxisKind::Label(label) => (Some(*label), None, None),
            AxisKind::Affine(affine) => (None, Some(affine), None),
            AxisKind::Concat(components) => (None, None, Some(components)),
            AxisKind::Fixed(_) | AxisKind::Wildcard | AxisKind::Composed(_) => (None, None, None),
        };
        let terms = affine.into_iter().flat_map(|affine| {
            [Some(affine.over.label), affine.kernel.map(|kernel| kernel.term.label)].into_iter().flatten()
        });
        let components = concat.into_iter().flatten().filter_map(|component| match component.kind {
            ComponentKind::Label(label) => Some(label),
            ComponentKind::Size(_) | ComponentKind::Wildcard => None,
        });
        let parts = self.parts().iter().filter_map(|part| match part.kind {
            PartKind::Label(label) => Some(label),
            PartKind::Size(_) | PartKind::Row(_) => None,
        });
        single.into_iter().chain(terms).chain(components).chain(parts)
    }

    /// The parts of a composed axis; none of any other.
    pub fn parts(&self) -> &[Part] {
        if let AxisKind::Composed(parts) = &self.kind { parts } else { &[] }
    }
}
