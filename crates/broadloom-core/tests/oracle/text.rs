//! Systems as text, for failure reports and hand-made cases.
//!
//! One constraint a line, after the lines that name the leaf and parameter variables:
//!
//! ```text
//! leaf a, ..r..
//! param b
//! a = 3
//! 2:b <= b
//! [..r.., 4] ~ [3, _, 4]
//! [..r..] <= [3, <>, a]
//! ```
//!
//! A dimension is `n`, `n:tag` for a basis other than the default one, `_` for the unit, or a
//! variable `a`, `b`, …, `z`, `a1`, …. Row variables are `..r..`, `..s..`, …, `..z..`, `..r1..`, ….
//! A closed row whose marker is at the left edge is written without `<>`. A ground row is
//! written with it always, since there the marker is a part of the value.

use std::fmt::{Display, Formatter, Result as FmtResult};

use super::{Assignment, Atom, Constraint, Dim, DimTerm, Hole, Row, RowTerm, System, Tag};

impl System {
    /// Reads a system; there are as many variables as the last one that is named makes necessary.
    pub fn parse(text: &str) -> Result<System, String> {
        let mut system = System::new(0, 0, Vec::new());
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(names) = line.strip_prefix("leaf ") {
                system.tag(names, Tag::Leaf)?;
            } else if let Some(names) = line.strip_prefix("param ") {
                system.tag(names, Tag::Param)?;
            } else {
                let constraint = system.constraint(line);
                let constraint = constraint.ok_or_else(|| format!("not a constraint: {line}"))?;
                system.constraints.push(constraint);
            }
        }
        Ok(system)
    }

    fn tag(&mut self, names: &str, tag: Tag) -> Result<(), String> {
        for name in names.split(',').map(str::trim) {
            if let Some(row_var) = self.row_var(name) {
                self.row_tags[row_var] = tag;
            } else if let Some(DimTerm::Var(dim_var)) = self.dim(name) {
                self.dim_tags[dim_var] = tag;
            } else {
                return Err(format!("not a variable: {name}"));
            }
        }
        Ok(())
    }

    fn constraint(&mut self, line: &str) -> Option<Constraint> {
        let operator = ["<=", "=", "~"].into_iter().find(|op| line.contains(op))?;
        let (left, right) = line.split_once(operator)?;
        let (left, right) = (left.trim(), right.trim());
        let rows = left.starts_with('[');
        match operator {
            "<=" if rows => Some(Constraint::RowLe(self.row(left)?, self.row(right)?)),
            "~" if rows => Some(Constraint::RowEq(self.row(left)?, self.row(right)?)),
            "<=" => Some(Constraint::DimLe(self.dim(left)?, self.dim(right)?)),
            "=" => Some(Constraint::DimEq(self.dim(left)?, self.dim(right)?)),
            _ => None,
        }
    }

    fn row(&mut self, text: &str) -> Option<RowTerm> {
        let inside = text.strip_prefix('[')?.strip_suffix(']')?;
        let mut lead = Vec::new();
        let mut hole = None;
        let mut trail = Vec::new();
        for item in inside.split(',').map(str::trim) {
            let found = if item == "<>" { Some(Hole::Marker) } else { self.row_var(item).map(Hole::Var) };
            if found.is_some() {
                if hole.is_some() {
                    return None;
                }
                hole = found;
            } else if !inside.is_empty() {
                let flank = if hole.is_none() { &mut lead } else { &mut trail };
                flank.push(self.dim(item)?);
            }
        }
        if hole.is_none() {
            std::mem::swap(&mut lead, &mut trail);
        }
        Some(RowTerm { lead, hole: hole.unwrap_or(Hole::Marker), trail })
    }

    fn row_var(&mut self, text: &str) -> Option<usize> {
        let name = text.strip_prefix("..")?.strip_suffix("..")?;
        let row_var = index_of(name, b'r', 9)?;
        self.row_vars = self.row_vars.max(row_var + 1);
        self.row_tags.resize(self.row_vars, Tag::Interior);
        Some(row_var)
    }

    fn dim(&mut self, text: &str) -> Option<DimTerm> {
        if text == "_" {
            return Some(DimTerm::Unit);
        }
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            let (size, basis) = text.split_once(':').unwrap_or((text, "a"));
            let basis = index_of(basis, b'a', 26)?.try_into().ok()?;
            let size = size.parse().ok()?;
            return Some(DimTerm::Atom(Atom { size, basis }));
        }
        let dim_var = index_of(text, b'a', 26)?;
        self.dim_vars = self.dim_vars.max(dim_var + 1);
        self.dim_tags.resize(self.dim_vars, Tag::Interior);
        Some(DimTerm::Var(dim_var))
    }
}

impl Display for System {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        for (word, tag) in [("leaf", Tag::Leaf), ("param", Tag::Param)] {
            let dims = self.dim_tags.iter().enumerate();
            let dims = dims.filter(|(_, of_var)| **of_var == tag);
            let rows = self.row_tags.iter().enumerate();
            let rows = rows.filter(|(_, of_var)| **of_var == tag);
            let names: Vec<String> = dims
                .map(|(dim_var, _)| dim_name(dim_var))
                .chain(rows.map(|(row_var, _)| row_name(row_var)))
                .collect();
            if !names.is_empty() {
                writeln!(f, "{word} {}", names.join(", "))?;
            }
        }
        for constraint in &self.constraints {
            writeln!(f, "{constraint}")?;
        }
        Ok(())
    }
}

impl Display for Constraint {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        match self {
            Constraint::DimEq(left, right) => write!(f, "{left} = {right}"),
            Constraint::DimLe(res, opnd) => write!(f, "{res} <= {opnd}"),
            Constraint::RowEq(left, right) => write!(f, "{left} ~ {right}"),
            Constraint::RowLe(res, opnd) => write!(f, "{res} <= {opnd}"),
        }
    }
}

impl Display for RowTerm {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        let mut items: Vec<String> = self.lead.iter().map(DimTerm::to_string).collect();
        match self.hole {
            Hole::Var(row_var) => items.push(row_name(row_var)),
            Hole::Marker if self.lead.is_empty() => {}
            Hole::Marker => items.push("<>".to_owned()),
        }
        items.extend(self.trail.iter().map(DimTerm::to_string));
        write!(f, "[{}]", items.join(", "))
    }
}

impl Display for DimTerm {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        match self {
            DimTerm::Var(dim_var) => write!(f, "{}", dim_name(*dim_var)),
            DimTerm::Atom(atom) => write!(f, "{}", Dim::Atom(*atom)),
            DimTerm::Unit => write!(f, "{}", Dim::Unit),
        }
    }
}

impl Display for Dim {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        match self {
            Dim::Unit => write!(f, "_"),
            Dim::Atom(Atom { size, basis: 0 }) => write!(f, "{size}"),
            Dim::Atom(Atom { size, basis }) => {
                write!(f, "{size}:{}", name(*basis as usize, b'a', 26))
            }
        }
    }
}

impl Display for Row {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        let mut items: Vec<String> = self.dims.iter().map(Dim::to_string).collect();
        items.insert(self.marker, "<>".to_owned());
        write!(f, "[{}]", items.join(", "))
    }
}

impl Display for Assignment {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        for (dim_var, dim) in self.dims.iter().enumerate() {
            writeln!(f, "{} = {dim}", dim_name(dim_var))?;
        }
        for (row_var, row) in self.rows.iter().enumerate() {
            writeln!(f, "{} = {row}", row_name(row_var))?;
        }
        Ok(())
    }
}

fn dim_name(dim_var: usize) -> String {
    name(dim_var, b'a', 26)
}

fn row_name(row_var: usize) -> String {
    format!("..{}..", name(row_var, b'r', 9))
}

/// A letter, and from the second round through the letters on a number.
fn name(index: usize, first: u8, n_letters: u8) -> String {
    let letter = char::from(first + (index % n_letters as usize) as u8);
    match index / n_letters as usize {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

/// The index that has this [`name`].
fn index_of(name: &str, first: u8, n_letters: u8) -> Option<usize> {
    let (letter, round) = name.split_at_checked(1)?;
    let letter = letter.as_bytes()[0].checked_sub(first)?;
    let round = match round {
        "" => 0,
        digits => digits.parse().ok()?,
    };
    (letter < n_letters).then_some(round * n_letters as usize + letter as usize)
}
