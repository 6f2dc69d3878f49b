//! Is this assignment a solution?
//!
//! The definition, written for reading and not for speed. For example `a = 2·b + 1` (a stride of 2
//! and an offset of 2) under `a = 7`, `b = 3` holds; under `a = 7:b`, `b = 3` it does not, because
//! the bases differ; nor does it under `a = 3`, `b = _`, because a unit is not iterated.

use super::{Constraint, Ends, Form, Piece, System, Window};
use crate::oracle::{Assignment, Atom, Dim, holds as order_holds};

/// The reason why an assignment is not a solution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The kind of the violation.
    pub label: &'static str,
    /// The violated rule, as the predicate of a sentence about the assignment.
    pub what: String,
}

impl Violation {
    fn new<T>(label: &'static str, what: String) -> Result<T, Violation> {
        Err(Violation { label, what })
    }
}

/// Checks that the assignment is a solution; the error is the first violation.
pub fn satisfies(system: &System, assignment: &Assignment) -> Result<(), Violation> {
    lawful(system, assignment)?;
    match system.constraints.iter().find(|constraint| !holds(constraint, assignment)) {
        None => Ok(()),
        Some(constraint) => Violation::new("violated constraint", format!("violates {constraint}")),
    }
}

/// Checks that each variable has a value that variables of its kind may have.
fn lawful(system: &System, assignment: &Assignment) -> Result<(), Violation> {
    for (dim_var, (var, dim)) in system.dims.iter().zip(&assignment.dims).enumerate() {
        if !may_be(*dim, var.discardable) {
            let what = format!("gives dimension variable {dim_var} the size zero");
            return Violation::new("empty variable", what);
        }
    }
    for (row_var, (var, row)) in system.rows.iter().zip(&assignment.rows).enumerate() {
        if row.dims.iter().any(|dim| !may_be(*dim, false)) {
            let what = format!("gives row variable {row_var} an axis of size zero");
            return Violation::new("empty axis", what);
        }
        let rank = row.dims.len();
        if row.marker > rank || var.lead.is_some_and(|lead| row.marker != (lead as usize).min(rank)) {
            let what = format!("puts the marker of row variable {row_var} in a wrong place");
            return Violation::new("misplaced marker", what);
        }
    }
    Ok(())
}

/// Returns true if a variable may have this value: only a discardable one may be empty.
pub fn may_be(dim: Dim, discardable: bool) -> bool {
    match dim {
        Dim::Unit => true,
        Dim::Atom(atom) => atom.size > 0 || (discardable && atom.basis == 0),
    }
}

/// Returns true if the assignment satisfies one constraint.
pub fn holds(constraint: &Constraint, assignment: &Assignment) -> bool {
    let dim = |term| assignment.dim(term);
    match constraint {
        Constraint::Order(constraint) => order_holds(constraint, assignment),
        Constraint::Affine { axis, form, over, kernel } => {
            affine(dim(*axis), form, dim(*over), kernel.map(dim))
        }
        Constraint::Concat { axis, components, literal } => {
            let components: Vec<Dim> = components.iter().map(|term| dim(*term)).collect();
            concat(dim(*axis), &components, *literal)
        }
        Constraint::AtLeast(term, least) => at_least(dim(*term), *least),
        Constraint::Count { pieces, coeff, over, denom, divided_by, rest: _ } => {
            let mut factors = flat(pieces, assignment);
            factors.extend(divided_by.iter().map(|term| dim(*term)));
            count(*denom, &factors, *coeff, over.map(dim))
        }
        Constraint::Exact { pieces, axes, rest: _ } => {
            let axes: Vec<Dim> = axes.iter().map(|term| dim(*term)).collect();
            flat(pieces, assignment) == axes
        }
    }
}

/// The axes of the pieces, one after another.
fn flat(pieces: &[Piece], assignment: &Assignment) -> Vec<Dim> {
    let axes = pieces.iter().flat_map(|piece| match piece {
        Piece::Dim(term) => vec![assignment.dim(*term)],
        Piece::Row(row_var) => assignment.rows[*row_var].dims.clone(),
    });
    axes.collect()
}

/// The number of elements along a dimension.
pub fn size(dim: Dim) -> u64 {
    match dim {
        Dim::Unit => 1,
        Dim::Atom(atom) => u64::from(atom.size),
    }
}

/// An affine axis of ground dimensions.
pub fn affine(axis: Dim, form: &Form, over: Dim, kernel: Option<Dim>) -> bool {
    assert_eq!(form.window.is_some(), kernel.is_some(), "a kernel belongs to a window");
    let (Dim::Atom(axis_atom), Dim::Atom(over_atom)) = (axis, over) else {
        return false;
    };
    if kernel == Some(Dim::Unit) || axis_atom.basis != over_atom.basis {
        return false;
    }
    let (stride, offset) = (i128::from(form.stride), i128::from(form.offset));
    let (c1, c0) = match form.window {
        None => (0, (offset + 1 - stride).max(0)),
        Some(Window { ends: Ends::Padded, .. }) => (0, 0),
        Some(Window { dilation, .. }) => {
            let dilation = i128::from(dilation);
            (dilation, 1 + offset - stride - dilation)
        }
    };
    let kernel = kernel.map_or(0, size);
    let needed = stride * i128::from(size(over)) + c1 * i128::from(kernel) + c0;
    let rest = i128::from(size(axis)) - needed;
    match form.window {
        Some(Window { ends: Ends::Dropped, .. }) => (0..stride).contains(&rest),
        _ => rest == 0,
    }
}

/// A concatenation of ground dimensions.
pub fn concat(axis: Dim, components: &[Dim], literal: u64) -> bool {
    let sizes = components.iter().map(|dim| u128::from(size(*dim)));
    let mut bases = std::iter::once(&axis).chain(components).filter_map(|dim| match dim {
        Dim::Unit | Dim::Atom(Atom { size: 0, .. }) => None,
        Dim::Atom(atom) => Some(atom.basis),
    });
    let one_basis = match bases.next() {
        None => true,
        Some(first) => bases.all(|basis| basis == first),
    };
    one_basis && u128::from(size(axis)) == u128::from(literal) + sizes.sum::<u128>()
}

/// A least size of a ground dimension.
pub fn at_least(dim: Dim, least: u64) -> bool {
    size(dim) >= least
}

/// An element count of ground dimensions: `denom · factors = coeff · over`.
pub fn count(denom: u64, factors: &[Dim], coeff: u64, over: Option<Dim>) -> bool {
    let over = over.map_or(1, size);
    assert!(over <= u64::from(u32::MAX), "the right side fits its type");
    let right = u128::from(coeff) * u128::from(over);
    if factors.iter().any(|dim| size(*dim) == 0) {
        return right == 0;
    }
    // Without a zero among the factors, a product that overflows its type is larger than the right
    // side.
    let left = factors
        .iter()
        .try_fold(u128::from(denom), |product, dim| product.checked_mul(u128::from(size(*dim))));
    left == Some(right)
}
