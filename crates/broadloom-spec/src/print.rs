//! Printing trees in one canonical form, which reads back as the same tree.
//!
//! In single-character mode axes stand side by side, with a blank between two indices: `b|i->o; 0 1k => k`.
//! In multi-character mode axes are separated by `, `, `|` and `->` have blanks around them, and sums are
//! written in the order `stride*over`, marker, offset, kernel: `... | 2*oh=+1+3*kh, ..c..`. If nothing in
//! the text would show that names are words, a comma after the first row does: `abc, => abc`.

use crate::decl::{DeclAxis, ShapeDecl, Size};
use crate::mode::Mode;
use crate::names::SpecNames;
use crate::tree::*;
use std::fmt::{self, Display, Formatter, Write};

/// A node together with the names it refers to; made by [`Spec::show`] and [`ShapeDecl::show`].
///
/// It prints as the node would inside the whole, so a row on its own carries no comma to show its mode.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a, T> {
    node: &'a T,
    context: Context<'a>,
}

impl<T: SpecNode> Display for Shown<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.node.print(self.context, f)
    }
}

impl Spec {
    /// Any node of this spec, ready to print: a [`Shape`], [`Row`], [`Hole`], [`Axis`], [`Affine`],
    /// [`Kernel`], [`Term`], [`Coefficient`], [`Component`] or [`Part`].
    ///
    /// ```
    /// let spec = broadloom_spec::parse_spec("...|2*o<+k; k=>...|o").unwrap();
    /// let axis = &spec.operands[0].output.trail[0];
    /// assert_eq!(spec.show(axis).to_string(), "2*o<+k");
    /// assert_eq!(spec.show(&spec.results[0]).to_string(), "... | o");
    /// ```
    pub fn show<'a, T: SpecNode>(&'a self, node: &'a T) -> Shown<'a, T> {
        Shown { node, context: self.context() }
    }

    fn context(&self) -> Context<'_> {
        Context { names: &self.names, mode: self.mode }
    }
}

impl ShapeDecl {
    /// Any node of this declaration, ready to print: a [`Shape`], [`Row`], [`Hole`], [`DeclAxis`] or [`Size`].
    ///
    /// ```
    /// let decl = broadloom_spec::parse_shape("28 28 c=3:rgb").unwrap();
    /// assert_eq!(decl.show(&decl.shape.output.trail[2]).to_string(), "c=3:rgb");
    /// ```
    pub fn show<'a, T: SpecNode>(&'a self, node: &'a T) -> Shown<'a, T> {
        Shown { node, context: Context { names: &self.names, mode: Mode::Multi } }
    }
}

/// The facts about the whole that a node needs to print.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    names: &'a SpecNames,
    mode: Mode,
}

/// A part of a tree that can be printed. Other crates cannot implement it.
pub trait SpecNode {
    #[doc(hidden)]
    fn print(&self, context: Context<'_>, f: &mut Formatter<'_>) -> fmt::Result;

    /// Returns true if it prints as digits, which must not touch other digits.
    #[doc(hidden)]
    fn is_number(&self) -> bool {
        false
    }
}

impl Display for Spec {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut comma = self.mode == Mode::Multi && !self.shapes().any(shows_words);
        let mut side = |shapes: &[Shape<Axis>]| {
            let mut text = String::new();
            for (index, shape) in shapes.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "; " });
                let here = comma && shape.rows().any(|(_, row)| !row.is_empty());
                comma &= !here;
                text.push_str(&fmt::from_fn(|f| print_shape(shape, here, self.context(), f)).to_string());
            }
            text
        };
        let (operands, results) = (side(&self.operands), side(&self.results));
        f.write_str(format!("{} => {}", operands.trim_end(), results.trim_end()).trim())
    }
}

/// Returns true if the shape prints with a sign that only multi-character specs have.
fn shows_words(shape: &Shape<Axis>) -> bool {
    shape.rows().any(|(_, row)| {
        let n_items = row.axes().count() + usize::from(row.opening.is_some());
        n_items > 1 || row.axes().any(|axis| matches!(axis.kind, AxisKind::Affine(_) | AxisKind::Concat(_)))
    })
}

impl Display for ShapeDecl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.show(&self.shape).fmt(f)
    }
}

impl<A: SpecNode> SpecNode for Shape<A> {
    fn print(&self, context: Context<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        print_shape(self, false, context, f)
    }
}

/// The rows with their signs; the comma, if asked for, goes after the first row that is not empty.
fn print_shape<A: SpecNode>(
    shape: &Shape<A>,
    mut comma: bool,
    context: Context<'_>,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    let mut first = true;
    let mut blank = |f: &mut Formatter<'_>| match std::mem::take(&mut first) || context.mode == Mode::Single {
        true => Ok(()),
        false => f.write_char(' '),
    };
    for (kind, row) in shape.rows() {
        if !row.is_empty() {
            blank(f)?;
            row.print(context, f)?;
            if std::mem::take(&mut comma) {
                f.write_char(',')?;
            }
        }
        let sign = match kind {
            Kind::Batch => "|",
            Kind::Input => "->",
            Kind::Output => continue,
        };
        blank(f)?;
        f.write_str(sign)?;
    }
    Ok(())
}

impl<A: SpecNode> SpecNode for Row<A> {
    fn print(&self, context: Context<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        let mut items: Vec<&dyn SpecNode> = Vec::new();
        items.extend(self.lead().iter().map(|axis| axis as &dyn SpecNode));
        items.extend(self.opening.iter().map(|opening| &opening.hole as &dyn SpecNode));
        items.extend(self.trail.iter().map(|axis| axis as &dyn SpecNode));
        for (index, item) in items.iter().enumerate() {
            let previous = index.checked_sub(1).map(|previous| items[previous]);
            match (previous, context.mode) {
                (None, _) => {}
                (Some(_), Mode::Multi) => f.write_str(", ")?,
                (Some(previous), Mode::Single) if previous.is_number() && item.is_number() => {
                    f.write_char(' ')?
                }
                (Some(_), Mode::Single) => {}
            }
            item.print(context, f)?;
        }
        Ok(())
    }
}

impl SpecNode for Hole {
    fn print(&self, context: Context<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        match self.variable {
            RowVariable::Ellipsis => f.write_str("..."),
            RowVariable::Named(row) => write!(f, "..{}..", context.names.rows.text(row)),
        }
    }
}

impl SpecNode for Axis {
    fn print(&self, context: Context<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            AxisKind::Label(label) => f.write_str(context.names.axes.text(*label)),
            AxisKind::Fixed(index) => index.fmt(f),
            AxisKind::Wildcard => f.write_char('_'),
            AxisKind::Affine(affine) => affine.print(context, f),
            AxisKind::Concat(components) => {
                components.iter().enumerate().try_for_each(|(index, component)| {
                    f.write_str(if index == 0 { "" } else { "^" })?;
                    component.print(context, f)
                })
            }
            AxisKind::Composed(parts) => {
                f.write_char('(')?;
                parts.iter().enumerate().try_for_each(|(index, part)| {
                    f.write_str(if index == 0 { "" } else { " " })?;
                    part.print(context, f)
                })?;
                f.write_char(')')
            }
        }
    }

    fn is_number(&self) -> bool {
        matches!(self.kind, AxisKind::Fixed(_))
    }
}

impl SpecNode for Part {
    fn print(&self, context: Context<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        match self.kind {
            PartKind::Label(label) => f.write_str(context.names.axes.text(label)),
            PartKind::Size(size) => size.fmt(f),
            PartKind::Row(variable) => Hole { variable, span: self.span }.print(context, f),
        }
    }
}

impl SpecNode for Affine {
    fn print(&self, context: Context<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        self.over.print(context, f)?;
        if let Some(kernel) = &self.kernel {
            f.write_str(kernel.padding.marker())?;
        }
        if self.offset > 0 {
            write!(f, "+{}", self.offset)?;
        }
        match &self.kernel {
            Some(kernel) => {
                f.write_char('+')?;
                kernel.term.print(context, f)
            }
            None => Ok(()),
        }
    }
}

impl Padding {
    /// `=`, `<`, `~` or nothing.
    pub fn marker(self) -> &'static str {
        match self {
            Padding::Padded => "=",
            Padding::Valid => "<",
            Padding::Dropped => "~",
            Padding::Unmarked => "",
        }
    }
}

/// Prints with the marker that stands before it: `=+3*k`.
impl SpecNode for Kernel {
    fn print(&self, context: Context<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}+", self.padding.marker())?;
        self.term.print(context, f)
    }
}

impl SpecNode for Term {
    fn print(&self, context: Context<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        if self.coefficient != Coefficient::ONE {
            self.coefficient.print(context, f)?;
            f.write_char('*')?;
        }
        f.write_str(context.names.axes.text(self.label))
    }
}

impl SpecNode for Coefficient {
    fn print(&self, context: Context<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Coefficient::Literal(number) => number.fmt(f),
            Coefficient::Named(name) => f.write_str(context.names.coefficients.text(name)),
        }
    }
}

impl SpecNode for Component {
    fn print(&self, context: Context<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        match self.kind {
            ComponentKind::Label(label) => f.write_str(context.names.axes.text(label)),
            ComponentKind::Size(size) => size.fmt(f),
            ComponentKind::Wildcard => f.write_char('_'),
        }
    }
}

impl SpecNode for DeclAxis {
    fn print(&self, context: Context<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        let name = self.name.map(|name| context.names.axes.text(name));
        match (name, &self.size) {
            (None, None) => f.write_char('_'),
            (Some(name), None) => f.write_str(name),
            (None, Some(size)) => size.print(context, f),
            (Some(name), Some(size)) => {
                write!(f, "{name}=")?;
                size.print(context, f)
            }
        }
    }
}

impl SpecNode for Size {
    fn print(&self, context: Context<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        self.size.fmt(f)?;
        match self.basis {
            Some(basis) => write!(f, ":{}", context.names.bases.text(basis)),
            None => Ok(()),
        }
    }
}
