//! The syntax tree of a `.rows` file: what is written, its place, and nothing more.
//!
//! The tree is flat. Statements lie in one vector; the terms of all rows lie one
//! after another in a second, and a row is a range of it: first the leading
//! flank, then the trailing one. The hole between the flanks is a row variable
//! or the marker. A row written without a hole has its marker at the left edge,
//! so it has no leading flank and its tree is that of `[<>, …]`.
//!
//! `[3, ..r.., 4] <= [5]` is a [`Constraint::RowLe`] whose result has the
//! leading flank `3`, the hole `r` and the trailing flank `4`, and whose operand
//! has an empty leading flank, the marker and the trailing flank `5`.

use super::names::{Bases, BasisId, NameId, Tag, Variables};
use broadloom_diagnostics::Span;
use std::ops::Range;

/// A parsed file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct System {
    /// The statements in the order of the file, without those that have mistakes.
    pub statements: Vec<Statement>,
    /// The variables that occur in the statements.
    pub names: Variables,
    /// The bases that occur in the statements.
    pub bases: Bases,
    /// The flank terms of all rows.
    pub(super) terms: Vec<Dim>,
    /// The variables listed by all tag statements.
    pub(super) tagged: Vec<Tagged>,
}

impl System {
    /// The constraints in the order of the file, each with its line number.
    pub fn constraints(&self) -> impl Iterator<Item = (u32, &Constraint)> {
        self.statements.iter().filter_map(|statement| match &statement.kind {
            StatementKind::Constraint(constraint) => Some((statement.line, constraint)),
            StatementKind::Tag { .. } => None,
        })
    }

    /// The terms of a row before its hole.
    pub fn leading(&self, row: &Row) -> &[Dim] {
        &self.terms[row.terms.start as usize..row.split as usize]
    }

    /// The terms of a row after its hole; all of them if no hole is written.
    pub fn trailing(&self, row: &Row) -> &[Dim] {
        &self.terms[row.split as usize..row.terms.end as usize]
    }

    /// The variables a tag statement lists.
    pub fn tagged(&self, list: &TagList) -> &[Tagged] {
        &self.tagged[list.0.start as usize..list.0.end as usize]
    }

    /// Sets all spans and line numbers to zero, so that two trees can be compared for their
    /// contents alone.
    pub fn erase_spans(&mut self) {
        self.names.erase_spans();
        for dim in &mut self.terms {
            dim.span = Span::default();
        }
        for tagged in &mut self.tagged {
            tagged.span = Span::default();
        }
        for statement in &mut self.statements {
            statement.span = Span::default();
            statement.line = 0;
            match &mut statement.kind {
                StatementKind::Tag { .. } => {}
                StatementKind::Constraint(constraint) => constraint.erase_spans(),
            }
        }
    }
}

/// One line of the file that is not blank or a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its contents.
    pub kind: StatementKind,
    /// From its first to its last token.
    pub span: Span,
    /// Its line, counted from 1.
    pub line: u32,
}

/// The two sorts of statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// `leaf a, ..r..` or `param w`. The tags are also in [`System::names`].
    Tag {
        /// The tag given.
        tag: Tag,
        /// The variables that get it; read with [`System::tagged`].
        list: TagList,
    },
    /// A constraint.
    Constraint(Constraint),
}

/// The variables of one tag statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagList(pub(super) Range<u32>);

/// A variable listed in a tag statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tagged {
    /// The variable.
    pub name: NameId,
    /// Its place in the text, dots included.
    pub span: Span,
}

/// A relation between two dimensions or two rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// `left = right`.
    DimEq {
        /// Left side.
        left: Dim,
        /// Right side.
        right: Dim,
    },
    /// `result <= operand`: the operand may broadcast into the result.
    DimLe {
        /// Left side.
        result: Dim,
        /// Right side.
        operand: Dim,
    },
    /// `left ~ right`: the same flat sequence, markers ignored.
    RowEq {
        /// Left side.
        left: Row,
        /// Right side.
        right: Row,
    },
    /// `result <= operand`: the operand may broadcast into the result.
    RowLe {
        /// Left side.
        result: Row,
        /// Right side.
        operand: Row,
    },
}

impl Constraint {
    fn erase_spans(&mut self) {
        match self {
            Constraint::DimEq { left: a, right: b } | Constraint::DimLe { result: a, operand: b } => {
                a.span = Span::default();
                b.span = Span::default();
            }
            Constraint::RowEq { left: a, right: b } | Constraint::RowLe { result: a, operand: b } => {
                for row in [a, b] {
                    row.span = Span::default();
                    row.hole.span = Span::default();
                }
            }
        }
    }
}

/// A dimension term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim {
    /// Its form.
    pub kind: DimKind,
    /// Its place in the text.
    pub span: Span,
}

/// The forms of a dimension term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DimKind {
    /// `_`: one wide and claiming nothing.
    Unit,
    /// `n` or `n:tag`: an axis of a known size.
    Atom {
        /// The size, at least 1.
        size: u64,
        /// The basis.
        basis: BasisId,
    },
    /// A variable.
    Var(NameId),
}

/// A row term: a leading flank, a hole, a trailing flank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// From `[` to `]`.
    pub span: Span,
    /// The row variable or the marker between the flanks.
    pub hole: Hole,
    /// Both flanks, as a range of the system's terms.
    pub(super) terms: Range<u32>,
    /// The start of the trailing flank in the system's terms.
    pub(super) split: u32,
}

/// The place in a row where axes may be inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// Marker or row variable.
    pub kind: HoleKind,
    /// Its place in the text; the empty span after `[` if it is not written.
    pub span: Span,
}

/// The forms of a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoleKind {
    /// `<>`, or nothing at the left edge: the row is closed.
    Marker,
    /// `..name..`: the row is open.
    Var(NameId),
}
