//! From the tree back to text.
//!
//! Every node prints in one canonical way: `<=`, `~` and `<>` in ASCII, one blank
//! after a comma, no marker at the left edge, no `:default`, sizes without
//! leading zeros, comments gone. Printing a system and parsing the result gives
//! the same tree apart from spans, so equal systems print equally.
//!
//! Nodes hold numbers for names, so they print together with their system: `system.show(&row)`
//! implements [`Display`].

use super::ast::{Constraint, Dim, DimKind, HoleKind, Row, Statement, StatementKind, System};
use super::names::{BasisId, NameId, NameKind};
use std::fmt::{self, Display, Formatter, Write};

/// A node of the tree with the system that knows its names.
#[derive(Clone, Copy, Debug)]
pub struct Show<'a, Node> {
    system: &'a System,
    node: &'a Node,
}

impl System {
    /// Makes a node of this system printable.
    pub fn show<'a, Node>(&'a self, node: &'a Node) -> Show<'a, Node> {
        Show { system: self, node }
    }
}

/// All statements, one a line.
impl Display for System {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.statements.iter().try_for_each(|statement| writeln!(f, "{}", self.show(statement)))
    }
}

impl Display for Show<'_, Statement> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.node.kind {
            StatementKind::Constraint(constraint) => self.system.show(constraint).fmt(f),
            StatementKind::Tag { tag, list } => {
                f.write_str(tag.keyword())?;
                let names = self.system.tagged(list).iter().map(|tagged| &tagged.name);
                names.enumerate().try_for_each(|(index, name)| {
                    f.write_str(if index == 0 { " " } else { ", " })?;
                    self.system.show(name).fmt(f)
                })
            }
        }
    }
}

impl Display for Show<'_, Constraint> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let system = self.system;
        match self.node {
            Constraint::DimEq { left, right } => {
                write!(f, "{} = {}", system.show(left), system.show(right))
            }
            Constraint::DimLe { result, operand } => {
                write!(f, "{} <= {}", system.show(result), system.show(operand))
            }
            Constraint::RowEq { left, right } => {
                write!(f, "{} ~ {}", system.show(left), system.show(right))
            }
            Constraint::RowLe { result, operand } => {
                write!(f, "{} <= {}", system.show(result), system.show(operand))
            }
        }
    }
}

impl Display for Show<'_, Row> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (leading, trailing) = (self.system.leading(self.node), self.system.trailing(self.node));
        let mut separator = "[";
        for dim in leading {
            write!(f, "{separator}{}", self.system.show(dim))?;
            separator = ", ";
        }
        match &self.node.hole.kind {
            HoleKind::Marker if leading.is_empty() => {}
            hole => {
                write!(f, "{separator}{}", self.system.show(hole))?;
                separator = ", ";
            }
        }
        for dim in trailing {
            write!(f, "{separator}{}", self.system.show(dim))?;
            separator = ", ";
        }
        f.write_str(if separator == "[" { "[]" } else { "]" })
    }
}

impl Display for Show<'_, HoleKind> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.node {
            HoleKind::Marker => f.write_str("<>"),
            HoleKind::Var(name) => self.system.show(name).fmt(f),
        }
    }
}

impl Display for Show<'_, Dim> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.node.kind {
            DimKind::Unit => f.write_char('_'),
            DimKind::Atom { size, basis: BasisId::DEFAULT } => size.fmt(f),
            DimKind::Atom { size, basis } => write!(f, "{size}:{}", self.system.show(basis)),
            DimKind::Var(name) => self.system.show(name).fmt(f),
        }
    }
}

/// A variable as it is written: a row variable with its dots.
impl Display for Show<'_, NameId> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = self.system.names.text(*self.node);
        match self.system.names.get(*self.node).kind {
            NameKind::Dim => f.write_str(text),
            NameKind::Row => write!(f, "..{text}.."),
        }
    }
}

impl Display for Show<'_, BasisId> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.system.bases.text(*self.node))
    }
}

#[cfg(test)]
mod tests {
    use crate::parse;

    #[test]
    fn printing_is_canonical() {
        let cases = [
            ("leaf   a,..r..,\r\nparam w", "leaf a, ..r..\nparam w\n"),
            ("a=03:default # size", "a = 3\n"),
            ("_<=3:rgb", "_ <= 3:rgb\n"),
            ("[<>,3]≈[◇]", "[3] ~ []\n"),
            ("[3,◇,]⊑[a,..r..,_]", "[3, <>] <= [a, ..r.., _]\n"),
            ("leaf = 3\nleaf leaf\nparam<=leaf", "leaf = 3\nleaf leaf\nparam <= leaf\n"),
        ];
        for (text, printed) in cases {
            let parsed = parse(text);
            assert!(parsed.is_ok(), "{text}: {:?}", parsed.diagnostics);
            assert_eq!(parsed.system.to_string(), printed);
        }
    }
}
