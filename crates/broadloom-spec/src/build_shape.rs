//! Shape declarations that a program builds: the text and the tree at once, axis by axis.
//!
//! Nothing is printed to be parsed again. The text is for messages, which quote it, and the places of the tree are places in it. Where an
//! expression stands for a size, the text has the expression and the tree has a name.

use crate::decl::{DeclAxis, ShapeDecl, Size};
use crate::lexer::continues_word;
use crate::names::SpecNames;
use crate::parser::{MAX_LENGTH, parse_shape};
use crate::span::Span;
use crate::tree::{Hole, Opening, Row, RowVariable, Shape};
use crate::written::WrittenShape;
use std::fmt::{Display, Write};
use std::num::NonZeroU64;

/// Builds a [`WrittenShape`]: axes in the order in which they are written, with the signs between rows.
///
/// ```
/// use broadloom_spec::{ShapeBuilder, parse_shape};
/// let shape = ShapeBuilder::new().name("n").bar().rest().arrow().size(3).basis("rgb").any().finish();
/// assert_eq!(shape.text(), "n | ... -> 3:rgb, _");
/// assert_eq!(shape.decl().map(|decl| (**decl).clone()), parse_shape("n | ... -> 3:rgb, _").as_ref().map(Clone::clone));
///
/// let computed = ShapeBuilder::new().expression("size1", "(2 * n)").bar().finish();
/// assert_eq!(computed.text(), "(2 * n) |");
/// assert_eq!(computed.decl().map(|decl| decl.to_string()), Ok("size1 |".to_string()));
/// ```
///
/// A size that cannot be declared is a mistake of the shape, which is found like one of a text:
///
/// ```
/// # use broadloom_spec::ShapeBuilder;
/// let zero = ShapeBuilder::new().size(0).finish();
/// assert_eq!(zero.decl().unwrap_err().to_string(), "sizes start at 1");
/// ```
#[derive(Clone, Debug, Default)]
pub struct ShapeBuilder {
    text: String,
    /// The same with names in place of expressions, once there is one.
    plain: Option<String>,
    names: SpecNames,
    batch: Option<Row<DeclAxis>>,
    input: Option<Row<DeclAxis>>,
    /// The row that is being built.
    opening: Option<Opening<DeclAxis>>,
    trail: Vec<DeclAxis>,
    /// The places of its first and its last item.
    row: Option<Span>,
    /// True if this is no shape; the parser says why.
    is_wrong: bool,
}

/// The name of the basis that needs no name.
const DEFAULT_BASIS: &str = "default";

impl ShapeBuilder {
    /// Creates a builder of a shape without axes.
    pub fn new() -> ShapeBuilder {
        ShapeBuilder::default()
    }

    /// Adds an axis with a size.
    pub fn size(&mut self, size: u64) -> &mut ShapeBuilder {
        self.axis(None, Some(size), size)
    }

    /// Adds an axis with a name for its size.
    pub fn name(&mut self, name: &str) -> &mut ShapeBuilder {
        self.axis(Some(name), None, name)
    }

    /// Adds an axis with a size, or with a name for one to be inferred.
    pub fn size_or_name(&mut self, size: Option<u64>, name: &str) -> &mut ShapeBuilder {
        match size {
            Some(size) => self.size(size),
            None => self.name(name),
        }
    }

    /// Adds an axis with a size, or any number of axes.
    pub fn size_or_rest(&mut self, size: Option<u64>) -> &mut ShapeBuilder {
        match size {
            Some(size) => self.size(size),
            None => self.rest(),
        }
    }

    /// Adds an axis with a name for its size, which is known: `n=28`.
    pub fn named_size(&mut self, name: &str, size: u64) -> &mut ShapeBuilder {
        self.axis(Some(name), Some(size), format_args!("{name}={size}"))
    }

    /// Adds an axis whose size is written as an expression, which a name stands for.
    pub fn expression(&mut self, name: &str, written: &str) -> &mut ShapeBuilder {
        let plain = self.plain.get_or_insert_with(|| self.text.clone());
        plain.push_str(if self.row.is_some() { ", " } else { "" });
        plain.push_str(name);
        let kept = self.plain.take();
        self.axis(Some(name), None, written);
        self.plain = kept;
        self
    }

    /// Adds an axis whose size is inferred: `_`.
    pub fn any(&mut self) -> &mut ShapeBuilder {
        self.axis(None, None, "_")
    }

    /// Says what the axis that was added last counts: `3:rgb`.
    pub fn basis(&mut self, basis: &str) -> &mut ShapeBuilder {
        let start = self.text.len() + 1;
        self.push(":");
        self.push(basis);
        let place = Span::new(start, self.text.len());
        match self.trail.last_mut() {
            Some(DeclAxis { size: Some(size), span, .. }) if size.basis.is_none() && is_name(basis) => {
                span.end = place.end;
                if basis != DEFAULT_BASIS {
                    size.basis = Some(self.names.bases.intern(basis, place));
                }
            }
            _ => self.is_wrong = true,
        }
        self.row = self.row.map(|row| Span { end: place.end, ..row });
        self
    }

    /// Adds any number of axes: `...`.
    pub fn rest(&mut self) -> &mut ShapeBuilder {
        let span = self.item("...");
        self.hole(Hole { variable: RowVariable::Ellipsis, span })
    }

    /// Adds any number of axes, the same wherever the name is: `..name..`.
    pub fn row(&mut self, name: &str) -> &mut ShapeBuilder {
        let span = self.item(format_args!("..{name}.."));
        self.is_wrong |= !is_name(name) || self.names.axes.find(name).is_some();
        let own = Span { start: span.start + 2, end: span.end - 2 };
        let variable = RowVariable::Named(self.names.rows.intern(name, own));
        self.hole(Hole { variable, span })
    }

    /// Ends the batch axes: `|`.
    pub fn bar(&mut self) -> &mut ShapeBuilder {
        self.is_wrong |= self.batch.is_some() || self.input.is_some();
        let row = self.sign("|");
        self.batch = Some(row);
        self
    }

    /// Ends the input axes: `->`.
    pub fn arrow(&mut self) -> &mut ShapeBuilder {
        self.is_wrong |= self.input.is_some();
        let row = self.sign("->");
        self.input = Some(row);
        self
    }

    /// The shape, after which the builder begins a new one.
    pub fn finish(&mut self) -> WrittenShape {
        let output = self.taken_row();
        let ShapeBuilder { text, plain, names, batch, input, is_wrong, .. } = std::mem::take(self);
        if is_wrong || text.len() > MAX_LENGTH {
            let text = plain.unwrap_or(text);
            let decl = parse_shape(&text);
            return WrittenShape::new(text, decl, false);
        }
        let span = Span::new(0, text.len());
        let shape = Shape { batch, input, output, span };
        WrittenShape::new(text, Ok(ShapeDecl { names, shape }), plain.is_some())
    }

    fn axis(&mut self, name: Option<&str>, size: Option<u64>, written: impl Display) -> &mut ShapeBuilder {
        let span = self.item(written);
        let size = size.map(NonZeroU64::new);
        self.is_wrong |= size == Some(None);
        let size = size.flatten().map(|size| Size { size, basis: None });
        let name = name.map(|name| {
            self.is_wrong |= !is_name(name) || self.names.rows.find(name).is_some();
            let own = Span { start: span.start, end: (span.start + name.len() as u32).min(span.end) };
            self.names.axes.intern(name, own)
        });
        self.trail.push(DeclAxis { name, size, span });
        self
    }

    fn hole(&mut self, hole: Hole) -> &mut ShapeBuilder {
        self.is_wrong |= self.opening.is_some();
        self.opening = Some(Opening { lead: std::mem::take(&mut self.trail), hole });
        self
    }

    /// Writes an item of a row, behind a comma if it is not the first. Returns its place.
    fn item(&mut self, written: impl Display) -> Span {
        match self.row {
            Some(_) => self.push(", "),
            None if !self.text.is_empty() => self.push(" "),
            None => {}
        }
        let start = self.text.len();
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{written}");
        if let Some(plain) = &mut self.plain {
            plain.push_str(&self.text[start..]);
        }
        let span = Span::new(start, self.text.len());
        self.row = Some(Span { start: self.row.map_or(span.start, |row| row.start), end: span.end });
        span
    }

    /// Writes the sign behind a row, which ends there.
    fn sign(&mut self, sign: &str) -> Row<DeclAxis> {
        let row = self.taken_row();
        if !self.text.is_empty() {
            self.push(" ");
        }
        self.push(sign);
        row
    }

    fn taken_row(&mut self) -> Row<DeclAxis> {
        let span = self.row.take().unwrap_or(Span::empty(self.text.len() as u32));
        Row { opening: self.opening.take(), trail: std::mem::take(&mut self.trail), span }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        if let Some(plain) = &mut self.plain {
            plain.push_str(text);
        }
    }
}

/// Returns true if a text is one word of a declaration.
fn is_name(text: &str) -> bool {
    text.starts_with(char::is_alphabetic) && text.chars().all(continues_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(built: &WrittenShape) -> Result<ShapeDecl, crate::Error> {
        built.decl().map(|decl| (**decl).clone()).map_err(Clone::clone)
    }

    /// Checks that what was built is what the parser makes of its text.
    fn reads_back(built: &WrittenShape, text: &str) {
        assert_eq!(built.text(), text);
        assert_eq!(of(built), parse_shape(text), "{text}");
    }

    #[test]
    fn rows_of_all_kinds() {
        let build = ShapeBuilder::new;
        reads_back(&build().finish(), "");
        reads_back(&build().bar().finish(), "|");
        reads_back(&build().size(32).bar().size(784).finish(), "32 | 784");
        reads_back(&build().size(32).bar().finish(), "32 |");
        reads_back(&build().bar().size(3).finish(), "| 3");
        reads_back(&build().rest().arrow().name("n").name("n").finish(), "... -> n, n");
        reads_back(&build().any().bar().arrow().size(1).basis("unit").finish(), "_ | -> 1:unit");
        reads_back(&build().size(3).basis("default").finish(), "3:default");
        reads_back(&build().name("a").row("r").size(2).bar().row("r").finish(), "a, ..r.., 2 | ..r..");
        reads_back(&build().named_size("n", 28).basis("rgb").rest().finish(), "n=28:rgb, ...");
    }

    #[test]
    fn what_is_no_shape() {
        let build = ShapeBuilder::new;
        reads_back(&build().size(0).finish(), "0");
        reads_back(&build().name("n").basis("rgb").finish(), "n:rgb");
        reads_back(&build().any().basis("rgb").finish(), "_:rgb");
        reads_back(&build().size(3).basis("a").basis("b").finish(), "3:a:b");
        reads_back(&build().rest().rest().finish(), "..., ...");
        reads_back(&build().name("r").row("r").finish(), "r, ..r..");
        reads_back(&build().row("r").bar().name("r").finish(), "..r.. | r");
        reads_back(&build().bar().bar().finish(), "| |");
        reads_back(&build().arrow().bar().finish(), "-> |");
        reads_back(&build().arrow().arrow().finish(), "-> ->");
        reads_back(&build().name("_n").finish(), "_n");
        reads_back(&build().name("a b").basis("c").finish(), "a b:c");
        let computed = build().expression("size1", "(2 * n)").basis("rgb").finish();
        assert_eq!(computed.text(), "size1:rgb");
        assert_eq!(of(&computed), parse_shape("size1:rgb"));
    }

    #[test]
    fn expressions_have_names() {
        let mut build = ShapeBuilder::new();
        let shape = build.size(2).expression("size1", "(n + 1)").bar().expression("size2", "(m)").finish();
        assert_eq!(shape.text(), "2, (n + 1) | (m)");
        assert!(shape.is_computed());
        let decl = of(&shape).map(ShapeDecl::without_spans);
        assert_eq!(decl, parse_shape("2, size1 | size2").map(ShapeDecl::without_spans));
        assert_eq!(build.finish(), ShapeBuilder::new().finish());
    }
}
