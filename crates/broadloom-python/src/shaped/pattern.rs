//! The shape of an annotation, `"..b.., s | d"`, as a list of axes in the order of memory.

use broadloom_spec::{DeclAxis, Kind, Row, RowVariable, Shape, Span, parse_shape};

use super::size_expr::{SizeExpr, mask};
use crate::spec::mistake::Mistake;

/// The names of a function: labels and rows are one size, or the same axes, in all its annotations.
#[derive(Debug, Default)]
pub struct ShapeNames {
    /// Names of sizes.
    pub labels: Vec<String>,
    /// Names of rows.
    pub rows: Vec<String>,
    /// `n in 1..64`: the name, the least and the greatest size.
    pub ranges: Vec<(usize, i64, i64)>,
}

/// A shape that arrays are compared with.
#[derive(Debug)]
pub struct Pattern {
    /// Axes and rows in the order of memory: batch, output, input.
    pub items: Vec<PatternItem>,
    /// The text of each item, for messages.
    pub shown: Vec<String>,
    /// The number of items that are one axis.
    pub fixed: usize,
    /// The number of items that are rows.
    pub rows: usize,
    /// True if the order of memory is not the one that is written.
    pub turned: bool,
}

/// One axis, or any number of them.
#[derive(Debug)]
pub enum PatternItem {
    /// `_`.
    Any,
    /// `28`.
    Size(i64),
    /// `n`.
    Label(usize),
    /// `n=28`.
    Both(usize, i64),
    /// `2*n`.
    Expr(Box<SizeExpr>),
    /// `...`.
    AnyRow,
    /// `..r..`.
    Row(usize),
}

fn intern(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|other| other == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

impl Pattern {
    /// Reads the text of an annotation; a mistake shows it.
    pub fn read(text: &str, names: &mut ShapeNames) -> Result<Pattern, Mistake> {
        let mut mentioned = Vec::new();
        let taken = mask(text, |name| intern(&mut mentioned, name)).map_err(|(start, end, message)| {
            Mistake::spec(text, message, Span { start: start as u32, end: end as u32 }, "")
        })?;
        let declared = parse_shape(&taken.masked).map_err(|error| Mistake::notation(text, error))?;
        let labels: Vec<usize> =
            declared.names.axes.iter().map(|(_, name)| intern(&mut names.labels, &name.text)).collect();
        let rows: Vec<usize> =
            declared.names.rows.iter().map(|(_, name)| intern(&mut names.rows, &name.text)).collect();
        let mut renamed = |local: usize| intern(&mut names.labels, &mentioned[local]);
        let ranges: Vec<_> = taken.ranges.iter().map(|(name, lo, hi)| (renamed(*name), *lo, *hi)).collect();
        let sizes =
            taken.sizes.iter().map(|(start, end, expr)| Some((*start, *end, expr.renamed(&mut renamed)?)));
        let sizes: Vec<_> = sizes.flatten().collect();
        names.ranges.extend(ranges);
        let reader = Reader { text, labels, rows, sizes };
        Ok(reader.shape(&declared.shape))
    }
}

struct Reader<'a> {
    text: &'a str,
    labels: Vec<usize>,
    rows: Vec<usize>,
    sizes: Vec<(usize, usize, SizeExpr)>,
}

impl Reader<'_> {
    fn shape(&self, shape: &Shape<DeclAxis>) -> Pattern {
        let turned = shape.input.as_ref().is_some_and(|row| !row.is_empty());
        let mut pattern = Pattern { items: Vec::new(), shown: Vec::new(), fixed: 0, rows: 0, turned };
        for kind in [Kind::Batch, Kind::Output, Kind::Input] {
            if let Some(row) = shape.row(kind) {
                self.row(row, &mut pattern);
            }
        }
        pattern
    }

    fn row(&self, row: &Row<DeclAxis>, pattern: &mut Pattern) {
        for axis in row.lead() {
            self.axis(axis, pattern);
        }
        if let Some(hole) = row.hole() {
            pattern.items.push(match hole.variable {
                RowVariable::Ellipsis => PatternItem::AnyRow,
                RowVariable::Named(row) => PatternItem::Row(self.rows[row.0 as usize]),
            });
            pattern.shown.push(hole.span.slice(self.text).to_owned());
            pattern.rows += 1;
        }
        for axis in &row.trail {
            self.axis(axis, pattern);
        }
    }

    fn axis(&self, axis: &DeclAxis, pattern: &mut Pattern) {
        let start = axis.span.start as usize;
        let size = axis.size.map(|size| size.size.get() as i64);
        let mut written = axis.span.slice(self.text);
        let item = match (self.sizes.iter().find(|(from, _, _)| *from == start), axis.name, size) {
            (Some((from, to, expr)), _, _) => {
                written = &self.text[*from..*to];
                PatternItem::Expr(Box::new(expr.clone()))
            }
            (None, Some(name), Some(size)) => PatternItem::Both(self.labels[name.0 as usize], size),
            (None, Some(name), None) => PatternItem::Label(self.labels[name.0 as usize]),
            (None, None, Some(size)) => PatternItem::Size(size),
            (None, None, None) => PatternItem::Any,
        };
        pattern.items.push(item);
        pattern.shown.push(written.to_owned());
        pattern.fixed += 1;
    }
}
