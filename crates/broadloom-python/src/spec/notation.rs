//! The text of a spec on arrays, as an [`Equation`]: the axes of each array in the order of memory.
//!
//! The notation is that of `broadloom-spec`. Arrays have more composed axes than programs and graphs: in windows and
//! concatenations, with `_` as a part, and rows that are split. So composed axes are read here:
//! [`Groups`] hides the parentheses and keeps every place, `broadloom-spec` reads the rest, and what stood between parentheses is
//! put together again. `(h w)` is one axis of the array that is made of the parts `h` and `w`; a number among the parts is a
//! size, and `()` is an axis of one element. A composed axis that is a part of `a^(h w)` or `(h w)<+k` is one label there, which [`Composed`] takes apart.
//!
//! `b (h 2) => b h` has the operand `[Axis(b), Group([h, a part of size 2])]`.

use super::groups::Groups;
use super::mistake::Mistake;
use broadloom_core::Size;
use broadloom_spec::{
    AxisKind, Coefficient, Component, ComponentKind, Kind, Mode, Padding, Row, RowVariable, Shape, Span,
    Spec, parse_spec,
};

/// A spec as the arrays see it.
#[derive(Clone, Debug)]
pub struct Equation {
    /// The text it was read from.
    pub text: String,
    /// True if each letter is a label, because nothing in the text says that labels are words.
    pub letters: bool,
    /// All labels; those without a name stand at one place only.
    pub labels: Vec<Label>,
    /// The variables for any number of axes.
    pub rows: Vec<RowName>,
    /// Strides and dilations that are given by name.
    pub coefficients: Vec<String>,
    /// The labels that stand for a composed axis inside of a window or a concatenation.
    pub composed: Vec<Composed>,
    /// The arrays before `=>`.
    pub operands: Vec<Tensor>,
    /// The arrays after `=>`.
    pub results: Vec<Tensor>,
}

/// A composed axis inside of a window or a concatenation: `(h w)` in `a^(h w)`.
#[derive(Clone, Debug)]
pub struct Composed {
    /// The label in its place.
    pub label: usize,
    /// Its parts.
    pub parts: Vec<ComposedPart>,
}

/// A label of an axis.
#[derive(Clone, Debug)]
pub struct Label {
    /// Its name; empty for a wildcard and for a size inside parentheses.
    pub name: String,
    /// Its first occurrence.
    pub span: Span,
    /// The size that is written in its place.
    pub size: Option<Size>,
}

impl Label {
    /// As it is written.
    pub fn shown<'a>(&'a self, text: &'a str) -> &'a str {
        if self.name.is_empty() { self.span.slice(text) } else { &self.name }
    }
}

/// A variable for any number of axes.
#[derive(Clone, Debug)]
pub struct RowName {
    /// `r` for `..r..`; `batch`, `input` or `output` for a plain `...`.
    pub name: String,
    /// As it is written.
    pub shown: String,
}

/// One array of the equation.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Its axes in the order of memory: batch, output, input.
    pub items: Vec<ArrayAxes>,
    /// Its place in the text.
    pub span: Span,
    /// True if it has input axes, which stand before the output axes in the text and behind them in memory.
    pub turned: bool,
}

/// One or more axes of an array.
#[derive(Clone, Debug)]
pub struct ArrayAxes {
    /// The form of it.
    pub form: Form,
    /// Its place in the text.
    pub span: Span,
}

/// The form of an axis; labels, rows and coefficients are indices into the lists of the [`Equation`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// `i`.
    Label(usize),
    /// `2`, the index 2 of the axis.
    Fixed(u64),
    /// `2*o+1`, `o<+k`.
    Affine { stride: Factor, over: usize, offset: u64, window: Option<(Factor, usize, Padding)> },
    /// `a^b`.
    Concat(Vec<usize>),
    /// `(h w)`: one axis, and its parts. A part may be a row until the number of its axes is known.
    Group(Vec<ComposedPart>),
    /// `...` or `..r..`.
    Row(usize),
}

impl Form {
    /// The labels of it, but for those of a composed axis.
    pub fn labels(&self) -> Vec<usize> {
        match self {
            Form::Label(label) => vec![*label],
            Form::Affine { over, window, .. } => {
                [*over].into_iter().chain(window.map(|(_, kernel, _)| kernel)).collect()
            }
            Form::Concat(labels) => labels.clone(),
            Form::Fixed(_) | Form::Group(_) | Form::Row(_) => Vec::new(),
        }
    }
}

/// A part of a composed axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComposedPart {
    /// A label, also that of a size.
    Label(usize),
    /// Any number of axes.
    Row(usize),
}

/// A stride or a dilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// A number.
    Literal(u64),
    /// The value of a coefficient.
    Named(usize),
}

/// Reads a spec; `over` allows a shape without `=>`, whose names are then reduced, with an axis of one element in each place.
pub fn read(text: &str, over: bool) -> Result<Equation, Mistake> {
    let groups = Groups::find(text)?;
    let mut flat = groups.hide(text);
    let is_shape = over && !text.contains("=>");
    if is_shape {
        flat.push_str(" =>");
    }
    let spec = parse_spec(&flat).map_err(|error| Mistake::notation(text, error))?;
    let mut reader = Reader::new(text, &spec, &groups);
    let mut operands = Vec::new();
    for shape in &spec.operands {
        operands.push(reader.tensor(shape, false)?);
    }
    let results = match is_shape {
        true => vec![kept(&operands[0])],
        false => {
            let results: Result<Vec<Tensor>, Mistake> =
                spec.results.iter().map(|shape| reader.tensor(shape, true)).collect();
            results?
        }
    };
    let coefficients = spec.names.coefficients.iter().map(|(_, name)| name.text.to_string()).collect();
    Ok(Equation {
        text: text.to_owned(),
        letters: spec.mode == Mode::Single,
        labels: reader.labels,
        rows: reader.rows,
        composed: reader.composed,
        coefficients,
        operands,
        results,
    })
}

/// The result of a reduction over the names of `operand`: `...` stays, all else becomes one element.
fn kept(operand: &Tensor) -> Tensor {
    let mut items = operand.items.clone();
    for item in &mut items {
        if !matches!(item.form, Form::Row(row) if row < Kind::ALL.len()) {
            item.form = Form::Fixed(0);
        }
    }
    Tensor { items, ..operand.clone() }
}

struct Reader<'a> {
    text: &'a str,
    spec: &'a Spec,
    groups: &'a Groups,
    labels: Vec<Label>,
    rows: Vec<RowName>,
    composed: Vec<Composed>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, spec: &'a Spec, groups: &'a Groups) -> Reader<'a> {
        let label = |name: &broadloom_spec::Name| match groups.hidden(&name.text) {
            // Messages show what is written.
            Some(span) => Label { name: String::new(), span, size: None },
            None => Label { name: name.text.to_string(), span: name.first_use, size: None },
        };
        let labels = spec.names.axes.iter().map(|(_, name)| label(name)).collect();
        let plain = Kind::ALL.map(|kind| RowName { name: kind.name().to_owned(), shown: "...".to_owned() });
        let named = spec.names.rows.iter().map(|(_, name)| name.text.to_string());
        let named = named.map(|name| RowName { shown: format!("..{name}.."), name });
        let rows = plain.into_iter().chain(named).collect();
        Reader { text, spec, groups, labels, rows, composed: Vec::new() }
    }

    fn tensor(&mut self, shape: &Shape<broadloom_spec::Axis>, is_result: bool) -> Result<Tensor, Mistake> {
        let mut items = Vec::new();
        for kind in [Kind::Batch, Kind::Output, Kind::Input] {
            if let Some(row) = shape.row(kind) {
                self.row(row, kind, is_result, &mut items)?;
            }
        }
        let turned = shape.input.as_ref().is_some_and(|row| !row.is_empty());
        Ok(Tensor { items, span: shape.span, turned })
    }

    fn row(
        &mut self,
        row: &Row<broadloom_spec::Axis>,
        kind: Kind,
        is_result: bool,
        items: &mut Vec<ArrayAxes>,
    ) -> Result<(), Mistake> {
        for axis in row.lead() {
            let form = self.form(&axis.kind, axis.span, is_result)?;
            self.take_apart(&form, kind)?;
            self.add(form, axis.span, items)?;
        }
        if let Some(hole) = row.hole() {
            let index = match hole.variable {
                RowVariable::Ellipsis => kind as usize,
                RowVariable::Named(row) => Kind::ALL.len() + row.0 as usize,
            };
            self.add(Form::Row(index), hole.span, items)?;
        }
        for axis in &row.trail {
            let form = self.form(&axis.kind, axis.span, is_result)?;
            self.take_apart(&form, kind)?;
            self.add(form, axis.span, items)?;
        }
        Ok(())
    }

    /// Reads the composed axes inside of a window or a concatenation.
    fn take_apart(&mut self, form: &Form, kind: Kind) -> Result<(), Mistake> {
        for label in form.labels() {
            let hidden = self.spec.names.axes.iter().nth(label);
            let Some(span) = hidden.and_then(|(_, name)| self.groups.hidden(&name.text)) else { continue };
            let words = self.groups.words(self.text, span);
            let parts: Result<Vec<ComposedPart>, Mistake> =
                words.into_iter().map(|word| self.part(word, kind)).collect();
            self.composed.push(Composed { label, parts: parts? });
        }
        Ok(())
    }

    /// One word of a composed axis: a label, a size, `...` or `..r..`.
    fn part(&mut self, span: Span, kind: Kind) -> Result<ComposedPart, Mistake> {
        let word = span.slice(self.text);
        let is_name = |word: &str| {
            word.starts_with(char::is_alphabetic) && word.chars().all(|c| c.is_alphanumeric() || c == '_')
        };
        let row =
            word.strip_prefix("..").and_then(|word| word.strip_suffix("..")).filter(|word| is_name(word));
        match (word, row, word.parse::<u64>()) {
            ("...", _, _) => Ok(ComposedPart::Row(kind as usize)),
            (_, Some(row), _) => Ok(ComposedPart::Row(self.row_named(row))),
            (_, _, Ok(size)) => Ok(ComposedPart::Label(self.anonymous(span, Some(size)))),
            ("_", _, _) => Ok(ComposedPart::Label(self.anonymous(span, None))),
            _ if is_name(word) => Ok(ComposedPart::Label(self.label_named(word, span))),
            _ => Err(Mistake::spec(
                self.text,
                format!("`{word}` cannot stand inside a composed axis"),
                span,
                "",
            )
            .with_help("a composed axis lists labels and sizes, as in `(h w)` or `(h 2)`")),
        }
    }

    fn row_named(&mut self, name: &str) -> usize {
        let shown = format!("..{name}..");
        let known = self.rows.iter().position(|row| row.shown == shown);
        known.unwrap_or_else(|| {
            self.rows.push(RowName { name: name.to_owned(), shown });
            self.rows.len() - 1
        })
    }

    fn label_named(&mut self, name: &str, span: Span) -> usize {
        let known = self.labels.iter().position(|label| label.name == name);
        known.unwrap_or_else(|| {
            self.labels.push(Label { name: name.to_owned(), span, size: None });
            self.labels.len() - 1
        })
    }

    /// Adds an axis, or a part to the composed axis that it stands in.
    fn add(&mut self, form: Form, span: Span, items: &mut Vec<ArrayAxes>) -> Result<(), Mistake> {
        let Some(group) = self.groups.around(span) else {
            items.push(ArrayAxes { form, span });
            return Ok(());
        };
        if self.is_blank(group) {
            items.push(ArrayAxes { form: Form::Group(Vec::new()), span: group });
            return Ok(());
        }
        let part = match form {
            Form::Label(label) => ComposedPart::Label(label),
            Form::Row(row) => ComposedPart::Row(row),
            Form::Fixed(size) => ComposedPart::Label(self.anonymous(span, Some(size))),
            _ => {
                let message = "a composed axis cannot contain a sum or a concatenation";
                return Err(Mistake::spec(self.text, message, span, "")
                    .with_help("it lists labels and sizes, as in `(h w)` or `(h 2)`"));
            }
        };
        match items.last_mut() {
            Some(ArrayAxes { form: Form::Group(parts), span }) if *span == group => parts.push(part),
            _ => items.push(ArrayAxes { form: Form::Group(vec![part]), span: group }),
        }
        Ok(())
    }

    fn is_blank(&self, group: Span) -> bool {
        group.slice(self.text).bytes().all(|byte| matches!(byte, b'(' | b')') || byte.is_ascii_whitespace())
    }

    fn form(&mut self, kind: &AxisKind, span: Span, is_result: bool) -> Result<Form, Mistake> {
        Ok(match kind {
            AxisKind::Label(label) => Form::Label(label.0 as usize),
            AxisKind::Fixed(index) => Form::Fixed(*index),
            // Parentheses are hidden from the text that was read.
            AxisKind::Composed(_) | AxisKind::Wildcard if is_result => Form::Fixed(0),
            AxisKind::Composed(_) | AxisKind::Wildcard => Form::Label(self.anonymous(span, None)),
            AxisKind::Affine(affine) => Form::Affine {
                stride: factor(affine.over.coefficient),
                over: affine.over.label.0 as usize,
                offset: affine.offset,
                window: affine.kernel.map(|kernel| {
                    (factor(kernel.term.coefficient), kernel.term.label.0 as usize, kernel.padding)
                }),
            },
            AxisKind::Concat(components) => {
                Form::Concat(components.iter().map(|component| self.component(component)).collect())
            }
        })
    }

    fn component(&mut self, component: &Component) -> usize {
        match component.kind {
            ComponentKind::Label(label) => label.0 as usize,
            ComponentKind::Size(size) => self.anonymous(component.span, Some(size.get())),
            ComponentKind::Wildcard => self.anonymous(component.span, None),
        }
    }

    fn anonymous(&mut self, span: Span, size: Option<u64>) -> usize {
        debug_assert!(self.spec.names.axes.len() <= self.labels.len());
        self.labels.push(Label { name: String::new(), span, size: size.map(Size::from) });
        self.labels.len() - 1
    }
}

fn factor(coefficient: Coefficient) -> Factor {
    match coefficient {
        Coefficient::Literal(number) => Factor::Literal(number.get()),
        Coefficient::Named(name) => Factor::Named(name.0 as usize),
    }
}
