//! Dimensions, rows and bounds in the syntax of `.rows`.
//!
//! An axis without a name of its own is written after its row: `r'1` is the first axis of `..r..`,
//! `r''1` its last; `..r'..` stands for the axes of `..r..` that are not written out.

use broadloom_core::order::{Dim, Row};
use broadloom_core::{Binding, Bound, DimShape, Middle, RowShape};

use super::problem::Problem;
use crate::BasisId;

/// Writes a ground dimension.
pub fn dim(problem: &Problem, dim: Dim) -> String {
    match dim {
        Dim::Unit => "_".into(),
        Dim::Atom(atom) if atom.basis.0 == 0 => atom.size.to_string(),
        // The text format has no named sizes.
        Dim::Symbolic(_) => "?".into(),
        Dim::Atom(atom) => format!("{}:{}", atom.size, problem.system.bases.text(BasisId(atom.basis.0))),
    }
}

/// Writes a ground row; a marker at the left edge is left out.
pub fn row(problem: &Problem, row: &Row) -> String {
    let mut items: Vec<String> = row.flat().map(|axis| dim(problem, axis)).collect();
    if row.marker() > 0 {
        items.insert(row.marker(), "<>".into());
    }
    format!("[{}]", items.join(", "))
}

/// Writes a dimension of a partial answer.
pub fn dim_shape(problem: &Problem, shape: DimShape) -> String {
    match shape {
        DimShape::Ground(ground) => dim(problem, ground),
        DimShape::Var(var) => problem.dim_name(var).unwrap_or("?").into(),
        DimShape::Front(row, at) => format!("{}'{}", problem.row_name(row), at + 1),
        DimShape::Back(row, at) => format!("{}''{}", problem.row_name(row), at + 1),
    }
}

/// Writes a row of a partial answer.
pub fn row_shape(problem: &Problem, shape: &RowShape) -> String {
    let mut items: Vec<String> = shape.lead.iter().map(|axis| dim_shape(problem, *axis)).collect();
    match shape.middle {
        Middle::Closed => {}
        Middle::Marker => items.push("<>".into()),
        Middle::Var(row) => items.push(format!("..{}..", problem.row_name(row))),
        Middle::Rest(row) => items.push(format!("..{}'..", problem.row_name(row))),
    }
    items.extend(shape.trail.iter().map(|axis| dim_shape(problem, *axis)));
    format!("[{}]", items.join(", "))
}

/// The variable of a binding, without dots, and its value.
pub fn binding(problem: &Problem, binding: &Binding) -> (String, String) {
    match binding {
        Binding::Dim(var, shape) => {
            (problem.dim_name(*var).unwrap_or("?").into(), dim_shape(problem, *shape))
        }
        Binding::Row(var, shape) => (problem.row_name(*var).into(), row_shape(problem, shape)),
    }
}

/// A residual bound as a constraint.
pub fn bound(problem: &Problem, bound: &Bound) -> String {
    match bound {
        Bound::Cap(atom, above) => format!("{} <= {}", dim(problem, *atom), dim_shape(problem, *above)),
        Bound::Below(below, above) => {
            format!("{} <= {}", dim_shape(problem, *below), dim_shape(problem, *above))
        }
        Bound::RowLe(res, opnd) => format!("{} <= {}", row_shape(problem, res), row_shape(problem, opnd)),
        Bound::RowEq(a, b) => format!("{} ~ {}", row_shape(problem, a), row_shape(problem, b)),
    }
}

/// Residual bounds, dimensions before rows, each sort in alphabetical order.
pub fn bounds(problem: &Problem, residual: &[Bound]) -> Vec<String> {
    let mut texts: Vec<String> = residual.iter().map(|entry| bound(problem, entry)).collect();
    texts.sort_by(|a, b| (a.starts_with('['), a).cmp(&(b.starts_with('['), b)));
    texts.dedup();
    texts
}
