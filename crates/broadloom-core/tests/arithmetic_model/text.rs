//! Systems as text, for failure reports.
//!
//! Constraints without arithmetic look as in `tests/oracle`. The others:
//!
//! ```text
//! a = 2·b +1                      (stride 2, offset 1)
//! a = 2·b * valid 3·c +1          (with a window of dilation 3 and kernel c)
//! a = concat(b, c) + 4            (a literal of 4 elements)
//! a >= 5
//! #(..r.., b)·c = 6·d/2  rest ..r..
//! (..r.., b) is [3, a]  rest ..r..
//! ```

use std::fmt::{Display, Formatter, Result as FmtResult};

use super::{Constraint, Ends, Form, Piece, System, Window};
use crate::oracle::{DimTerm, RowTerm, Tag};

impl Display for System {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        // Variables that no constraint mentions are left out, and interior ones say nothing.
        let terms: Vec<DimTerm> = self.constraints.iter().flat_map(Constraint::dim_terms).collect();
        let rows: Vec<usize> = self.constraints.iter().flat_map(Constraint::row_vars).collect();
        for (dim_var, var) in self.dims.iter().enumerate() {
            let term = DimTerm::Var(dim_var);
            if terms.contains(&term) && (var.tag != Tag::Interior || var.discardable) {
                let discardable = if var.discardable { " discardable" } else { "" };
                writeln!(f, "{} {term}{discardable}", tag(var.tag))?;
            }
        }
        for (row_var, var) in self.rows.iter().enumerate() {
            if rows.contains(&row_var) && (var.tag != Tag::Interior || var.lead.is_some()) {
                write!(f, "{} {}", tag(var.tag), row(row_var))?;
                match var.lead {
                    None => writeln!(f)?,
                    Some(lead) => writeln!(f, " marker after {lead}")?,
                }
            }
        }
        for constraint in &self.constraints {
            writeln!(f, "{constraint}")?;
        }
        Ok(())
    }
}

fn tag(tag: Tag) -> &'static str {
    match tag {
        Tag::Leaf => "leaf",
        Tag::Param => "param",
        Tag::Interior => "interior",
    }
}

fn row(row_var: usize) -> String {
    RowTerm::var(row_var).to_string().trim_matches(['[', ']']).to_owned()
}

fn commas(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

impl Display for Piece {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        match self {
            Piece::Dim(term) => write!(f, "{term}"),
            Piece::Row(row_var) => write!(f, "{}", row(*row_var)),
        }
    }
}

impl Display for Constraint {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        let write_rest = |f: &mut Formatter<'_>, rest: &Option<usize>| match rest {
            None => Ok(()),
            Some(row_var) => write!(f, "  rest {}", row(*row_var)),
        };
        match self {
            Constraint::Order(constraint) => write!(f, "{constraint}"),
            Constraint::Affine { axis, form: Form { stride, offset, window }, over, kernel } => {
                write!(f, "{axis} = {stride}·{over}")?;
                if let (Some(Window { dilation, ends }), Some(kernel)) = (window, kernel) {
                    let padding = match ends {
                        Ends::Padded => "padded",
                        Ends::Valid => "valid",
                        Ends::Dropped => "dropped",
                    };
                    write!(f, " * {padding} {dilation}·{kernel}")?;
                }
                write!(f, " +{offset}")
            }
            Constraint::Concat { axis, components, literal } => {
                let components = commas(components.iter().map(DimTerm::to_string));
                write!(f, "{axis} = concat({components}) + {literal}")
            }
            Constraint::AtLeast(term, least) => write!(f, "{term} >= {least}"),
            Constraint::Count { pieces, coeff, over, denom, divided_by, rest } => {
                write!(f, "#({})", commas(pieces.iter().map(Piece::to_string)))?;
                divided_by.iter().try_for_each(|term| write!(f, "·{term}"))?;
                write!(f, " = {coeff}")?;
                over.iter().try_for_each(|term| write!(f, "·{term}"))?;
                write!(f, "/{denom}")?;
                write_rest(f, rest)
            }
            Constraint::Exact { pieces, axes, rest } => {
                let pieces = commas(pieces.iter().map(Piece::to_string));
                let axes = commas(axes.iter().map(DimTerm::to_string));
                write!(f, "({pieces}) is [{axes}]")?;
                write_rest(f, rest)
            }
        }
    }
}
