//! The definitions, read aloud, on plain flanks. Shares no code with the library's order.

use broadloom_core::order::Dim;

use crate::order_laws::domain::UNIT;

/// A row as Def. 2.1 gives it: the leading and the trailing flank.
pub type Flanks = (Vec<Dim>, Vec<Dim>);

/// Def. 1.2, by cases.
pub fn dim_refines(result: Dim, operand: Dim) -> bool {
    match (result, operand) {
        (_, Dim::Unit) => true,
        (Dim::Unit, _) => false,
        (Dim::Atom(one), Dim::Atom(two)) => one.size == two.size && one.basis == two.basis,
        (Dim::Symbolic(one), Dim::Symbolic(two)) => one.form == two.form && one.basis == two.basis,
        _ => false,
    }
}

pub fn pointwise(result: &[Dim], operand: &[Dim]) -> bool {
    result.len() == operand.len() && (0..result.len()).all(|i| dim_refines(result[i], operand[i]))
}

pub fn flat((lead, trail): &Flanks) -> Vec<Dim> {
    [lead.as_slice(), trail].concat()
}

/// Def. 2.2.
pub fn expand((lead, trail): &Flanks, n: usize) -> Option<Vec<Dim>> {
    let rank = lead.len() + trail.len();
    (n >= rank).then(|| [lead.as_slice(), &vec![UNIT; n - rank], trail].concat())
}

/// Def. 2.12(c).
pub fn rigid_refines(result: &[Dim], operand: &Flanks) -> bool {
    expand(operand, result.len()).is_some_and(|padded| pointwise(result, &padded))
}

/// Clause (i) of Def. 2.3.
pub fn flanks_fit(result: &Flanks, operand: &Flanks) -> bool {
    operand.0.len() <= result.0.len() && operand.1.len() <= result.1.len()
}

/// Def. 2.3.
pub fn refines(result: &Flanks, operand: &Flanks) -> bool {
    flanks_fit(result, operand) && rigid_refines(&flat(result), operand)
}
