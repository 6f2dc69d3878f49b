//! Specs made by programs: the same tree that the parser makes, without a text.
//!
//! Rows and shapes are put together from axes and holes, whose names a [`Builder`] keeps. Built
//! nodes have no place in a text, so all spans are empty; [`Spec::show`] prints any part of a spec.
//!
//! ```
//! use broadloom_spec::{Axis, Builder, Row, Shape};
//! let mut build = Builder::new();
//! let (a, b, both) = (build.label("a"), build.label("b"), build.concat(&["a", "b"]));
//! let rest = build.row("rest");
//! let shape = |first: Axis| Shape::new(None, None, Row::open([first], rest, []));
//! let spec = build.finish(vec![shape(a), shape(b)], vec![shape(both)]).unwrap();
//! assert_eq!(spec.to_string(), "a, ..rest..; b, ..rest.. => a^b, ..rest..");
//! ```

use std::num::NonZeroU64;

use crate::mode::Mode;
use crate::names::SpecNames;
use crate::span::Span;
use crate::tree::{
    Affine, Axis, AxisKind, Coefficient, Component, ComponentKind, Hole, Kernel, Opening, Padding, Part,
    PartKind, Row, RowVariable, Shape, Spec, Term,
};

/// The names of a spec that is being built.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    names: SpecNames,
}

/// One part of a concatenation that is being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConcatPart<'a> {
    /// As long as the axis with this label.
    Label(&'a str),
    /// This long.
    Size(NonZeroU64),
    /// Of any length.
    Wildcard,
}

impl Builder {
    /// Creates a builder without names.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// The axis with a label, the same wherever the label is.
    pub fn label(&mut self, text: &str) -> Axis {
        Axis::new(AxisKind::Label(self.names.axes.intern(text, Span::default())))
    }

    /// Any number of axes, the same wherever the name is.
    pub fn row(&mut self, text: &str) -> RowVariable {
        RowVariable::Named(self.names.rows.intern(text, Span::default()))
    }

    /// Labelled axes one after another; a single one is that axis.
    pub fn concat(&mut self, labels: &[&str]) -> Axis {
        let parts: Vec<ConcatPart<'_>> = labels.iter().map(|label| ConcatPart::Label(label)).collect();
        self.parts(&parts)
    }

    /// Axes one after another, some of which may have a size or any length. A single part is an axis by itself.
    pub fn parts(&mut self, parts: &[ConcatPart<'_>]) -> Axis {
        if let [ConcatPart::Label(label)] = parts {
            return self.label(label);
        }
        let part = |part: &ConcatPart<'_>| {
            let kind = match part {
                ConcatPart::Label(label) => {
                    ComponentKind::Label(self.names.axes.intern(label, Span::default()))
                }
                ConcatPart::Size(size) => ComponentKind::Size(*size),
                ConcatPart::Wildcard => ComponentKind::Wildcard,
            };
            Component { kind, span: Span::default() }
        };
        Axis::new(AxisKind::Concat(parts.iter().map(part).collect()))
    }

    /// One axis that goes through labelled ones, the last of them fastest; a single one is that axis.
    pub fn composed(&mut self, labels: &[&str]) -> Axis {
        if let [label] = labels {
            return self.label(label);
        }
        let part = |label: &&str| {
            let kind = PartKind::Label(self.names.axes.intern(label, Span::default()));
            Part { kind, span: Span::default() }
        };
        Axis::new(AxisKind::Composed(labels.iter().map(part).collect()))
    }

    /// Windows over an axis: `stride*over + dilation*kernel`, by numbers.
    pub fn window(&mut self, over: (NonZeroU64, &str), kernel: (NonZeroU64, &str), padding: Padding) -> Axis {
        let mut term = |(coefficient, label): (NonZeroU64, &str)| Term {
            coefficient: Coefficient::Literal(coefficient),
            label: self.names.axes.intern(label, Span::default()),
            span: Span::default(),
        };
        let (over, kernel) = (term(over), Kernel { term: term(kernel), padding });
        Axis::new(AxisKind::Affine(Affine { over, offset: 0, kernel: Some(kernel) }))
    }

    /// The spec that relates operands to results. None if one side has no shape, or if a name is
    /// both a label and a row.
    ///
    /// ```
    /// use broadloom_spec::{Builder, Row, Shape, parse_spec};
    /// let mut build = Builder::new();
    /// let [i, j] = ["row", "column"].map(|name| build.label(name));
    /// let of = |axes: &[&broadloom_spec::Axis]| {
    ///     Shape::new(None, None, Row::closed(axes.iter().map(|axis| (*axis).clone())))
    /// };
    /// let spec = build.finish(vec![of(&[&i, &j])], vec![of(&[&j, &i])]).unwrap();
    /// assert_eq!(spec.to_string(), "row, column => column, row");
    /// assert_eq!(parse_spec(&spec.to_string()).unwrap().without_spans(), spec);
    /// ```
    pub fn finish(self, operands: Vec<Shape<Axis>>, results: Vec<Shape<Axis>>) -> Option<Spec> {
        let names = self.names;
        let is_row = |text: &str| names.rows.find(text).is_some();
        let is_both = names.axes.iter().any(|(_, name)| is_row(&name.text));
        if operands.is_empty() || results.is_empty() || is_both {
            return None;
        }
        Some(Spec { mode: Mode::Multi, names, operands, results, keeps: false })
    }
}

impl Spec {
    /// The spec that accumulates over the names of a shape.
    pub(crate) fn over(mode: Mode, names: SpecNames, operand: Shape<Axis>) -> Spec {
        let row = |row: &Row<Axis>| {
            let units = |axes: &[Axis]| axes.iter().map(|_| Axis::fixed(0)).collect::<Vec<Axis>>();
            let (lead, trail) = (units(row.lead()), units(&row.trail));
            match row.hole().map(|hole| hole.variable) {
                Some(RowVariable::Ellipsis) => Row::open(lead, RowVariable::Ellipsis, trail),
                Some(RowVariable::Named(_)) => {
                    Row::closed(lead.into_iter().chain([Axis::fixed(0)]).chain(trail))
                }
                None => Row::closed(trail),
            }
        };
        let (batch, input) = (operand.batch.as_ref().map(row), operand.input.as_ref().map(row));
        let result = Shape::new(batch, input, row(&operand.output));
        Spec { mode, names, operands: vec![operand], results: vec![result], keeps: true }
    }
}

impl Axis {
    /// An axis that has no place in a text.
    pub fn new(kind: AxisKind) -> Axis {
        Axis { kind, span: Span::default() }
    }

    /// Only this index of an axis, counted from zero.
    pub fn fixed(index: u64) -> Axis {
        Axis::new(AxisKind::Fixed(index))
    }
}

impl<A> Row<A> {
    /// These axes and no others.
    pub fn closed(axes: impl IntoIterator<Item = A>) -> Row<A> {
        Row { opening: None, trail: axes.into_iter().collect(), span: Span::default() }
    }

    /// Axes on both sides of a hole.
    pub fn open(
        lead: impl IntoIterator<Item = A>,
        variable: RowVariable,
        trail: impl IntoIterator<Item = A>,
    ) -> Row<A> {
        let hole = Hole { variable, span: Span::default() };
        let opening = Opening { lead: lead.into_iter().collect(), hole };
        Row { opening: Some(opening), trail: trail.into_iter().collect(), span: Span::default() }
    }
}

impl<A> Shape<A> {
    /// A shape of rows, of which those of batch and input may be left out.
    pub fn new(batch: Option<Row<A>>, input: Option<Row<A>>, output: Row<A>) -> Shape<A> {
        Shape { batch, input, output, span: Span::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parse_over, parse_spec};

    /// Checks that a built spec prints as `text`, and that `text` parses to the same tree.
    fn reads_back(spec: &Spec, text: &str) {
        assert_eq!(spec.to_string(), text);
        assert_eq!(parse_spec(text).expect("a spec").without_spans(), *spec);
    }

    fn number(number: u64) -> NonZeroU64 {
        NonZeroU64::new(number).expect("not 0")
    }

    #[test]
    fn concatenation() {
        let mut build = Builder::new();
        let (a, b, both) = (build.label("a"), build.label("b"), build.concat(&["a", "b"]));
        let rest = build.row("o");
        let shape = |first: Axis| Shape::new(None, None, Row::open([first], rest, []));
        let spec = build.finish(vec![shape(a), shape(b)], vec![shape(both)]).expect("well formed");
        reads_back(&spec, "a, ..o..; b, ..o.. => a^b, ..o..");
    }

    #[test]
    fn parts_and_kinds() {
        let mut build = Builder::new();
        let cut =
            build.parts(&[ConcatPart::Size(number(2)), ConcatPart::Label("part"), ConcatPart::Wildcard]);
        let part = build.parts(&[ConcatPart::Label("part")]);
        let ellipsis = || Row::open([], RowVariable::Ellipsis, []);
        let shape = |first: Axis| Shape::new(Some(Row::closed([first])), Some(ellipsis()), ellipsis());
        let spec = build.finish(vec![shape(cut)], vec![shape(part)]).expect("well formed");
        reads_back(&spec, "2^part^_ | ... -> ... => part | ... -> ...");
    }

    #[test]
    fn composed_axes() {
        let mut build = Builder::new();
        let (h, w, both) = (build.label("h"), build.label("w"), build.composed(&["h", "w"]));
        let shape = |axes: Vec<Axis>| Shape::new(None, None, Row::closed(axes));
        let spec = build.finish(vec![shape(vec![h, w])], vec![shape(vec![both])]).expect("well formed");
        reads_back(&spec, "h, w => (h w)");
    }

    #[test]
    fn windows() {
        let mut build = Builder::new();
        let window = build.window((number(2), "o"), (number(1), "k"), Padding::Valid);
        let (o, k) = (build.label("o"), build.label("k"));
        let shape = |axis: Axis| Shape::new(None, None, Row::closed([axis]));
        let spec = build.finish(vec![shape(window), shape(k)], vec![shape(o)]).expect("well formed");
        reads_back(&spec, "2*o<+k; k => o");
    }

    #[test]
    fn names_are_accumulated_over() {
        let cases = [
            ("... | v", "... | v => ... | 0"),
            ("... | ..v..", "... | ..v.. => ... | 0"),
            ("... | ..., v", "... | ..., v => ... | ..., 0"),
            ("... | t -> ...", "... | t -> ... => ... | 0 -> ..."),
            ("ij", "ij => 0 0"),
            ("a..b..c", "a..b..c => 0 0 0"),
        ];
        for (shape, spec) in cases {
            let over = parse_over(shape).expect("a shape");
            let written = parse_spec(spec).expect("a spec").without_spans();
            assert_eq!(crate::Spec { keeps: true, ..written }, over.without_spans(), "{spec}");
        }
        assert!(parse_over("i => j").is_err() && parse_over("i; j").is_err() && parse_over("i,,j").is_err());
    }

    #[test]
    fn what_is_no_spec() {
        let mut build = Builder::new();
        let (axis, row) = (build.label("a"), build.row("a"));
        let shape = || Shape::new(None, None, Row::open([axis.clone()], row, []));
        assert_eq!(build.clone().finish(vec![shape()], vec![shape()]), None);
        assert_eq!(Builder::new().finish(Vec::new(), vec![Shape::new(None, None, Row::closed([]))]), None);
    }
}
