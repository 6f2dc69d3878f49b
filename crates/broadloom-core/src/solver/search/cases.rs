//! Case distinctions that are made before any rank is tried: sizes and residues.
//!
//! The plain search tries ranks with the sizes open, and then much has to be tried before a conflict shows. With a value for
//! every dimension variable and a residue for every row that is shifted against itself, what rows are made of
//! ([`contents`](super::contents)) refutes most systems before the first rank; in the others,
//! conflicts show at open ranks already, and so for all greater ranks at once. No size outside the system is
//! needed: the unit can take the place of any such size in a solution.

use super::level::{Level, Subject};
use crate::ids::StepId;
use crate::solver::canonical::canonical_dim;
use crate::solver::search::contents::contents_fit;
use crate::solver::search::residues::find_moduli;
use crate::solver::stores::reason::{Outcome, Reason};
use crate::solver::stores::state::State;
use crate::term::{DimTerm, DimVar, RowVar};
use rustc_hash::FxHashMap;

/// More combinations of values than this are not distinguished.
const MOST_VALUATIONS: u64 = 4096;

/// The cases to distinguish; none in a plain search.
#[derive(Default)]
pub(super) struct Cases {
    dims: Vec<DimVar>,
    /// The values that dimensions are given.
    pub values: Vec<DimTerm>,
    /// Rows whose residues are distinguished, with their moduli.
    moduli: Vec<(RowVar, u32)>,
}

/// True if sizes and residues are all there is to tell apart: not so if arithmetic relates sizes.
pub(crate) fn has_cases(state: &State) -> bool {
    state.ariths.is_empty() && state.symbols.is_empty()
}

/// The case distinctions that the waiting constraints ask for.
pub(crate) fn find_cases(state: &State) -> Cases {
    let waiting = state.rows.cons().filter(|con| !con.done);
    let terms = waiting.flat_map(|con| [con.res, con.opnd]);
    let axes = terms.flat_map(|term| state.rows.literals(term));
    let open = axes.map(|axis| state.dims.resolve(*axis)).filter(|axis| !axis.is_ground());
    let mut dims: Vec<DimVar> = open.filter_map(|axis| axis.var()).collect();
    dims.sort_unstable();
    dims.dedup();
    let mut values: Vec<DimTerm> = state.atoms.ids().map(DimTerm::interned).collect();
    values.sort_by_cached_key(|value| canonical_dim(state, *value));
    values.push(DimTerm::UNIT);
    let valuations = (values.len() as u64).checked_pow(dims.len() as u32);
    if valuations.is_none_or(|valuations| valuations > MOST_VALUATIONS) {
        dims.clear();
    }
    Cases { dims, values, moduli: find_moduli(state) }
}

/// The next thing to tell apart, after the decisions made so far.
pub(crate) fn next_case(state: &State, cases: &Cases, levels: &[Level]) -> Option<Level> {
    let (next_value, next_residue) = match levels.last() {
        None => (Some(0), 0),
        Some(Level { what: Subject::Value(_), place, .. }) => (Some(place + 1), 0),
        Some(Level { what: Subject::Residue(_), place, .. }) => (None, place + 1),
        Some(_) => return None,
    };
    if let Some(start) = next_value {
        let open = |dim: DimVar| state.dims.value(state.dims.find(dim)).is_none();
        if let Some(place) = (start..cases.dims.len()).find(|at| open(cases.dims[*at])) {
            let last = cases.values.len() as u32 - 1;
            return Some(Level::new(Subject::Value(cases.dims[place]), place, 0, (0, last)));
        }
    }
    let open = |at: &usize| !state.rows.is_fixed(cases.moduli[*at].0);
    let place = (next_residue..cases.moduli.len()).find(open)?;
    let (row, modulus) = cases.moduli[place];
    let preferred = state.ranks.lo(row) % modulus;
    Some(Level::new(Subject::Residue(row), place, preferred, (0, modulus - 1)))
}

/// Gives a dimension variable a value, by a policy step.
pub(crate) fn assume_value(state: &mut State, dim: DimVar, value: DimTerm, step: StepId) -> Outcome {
    let reason = state.dims.reason(Reason::Policy(step));
    state.dims.equate(&mut state.trail, dim.into(), value, reason)
}

/// Checks what rows can be made of, after a decision about sizes or residues.
pub(crate) fn cases_fit(state: &State, levels: &[Level]) -> Outcome {
    if levels.last().is_none_or(|last| !last.what.is_case()) {
        return Ok(());
    }
    let residue = |level: &Level| match level.what {
        Subject::Residue(row) => Some((row, (level.value, level.last + 1))),
        _ => None,
    };
    let residues: FxHashMap<RowVar, (u32, u32)> = levels.iter().filter_map(residue).collect();
    contents_fit(state, &residues)
}
