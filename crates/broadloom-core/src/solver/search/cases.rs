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
use crate::term::DimTerm;
use rustc_hash::FxHashMap;

/// More combinations of values than this are not distinguished.
const MOST_VALUATIONS: u64 = 4096;

/// The cases to distinguish; none in a plain search.
#[derive(Default)]
pub(super) struct Cases {
    dims: Vec<u32>,
    /// The values that dimensions are given.
    pub values: Vec<DimTerm>,
    /// Rows whose residues are distinguished, with their moduli.
    moduli: Vec<(u32, u32)>,
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
    let mut dims: Vec<u32> = open.filter_map(|axis| axis.node()).collect();
    dims.sort_unstable();
    dims.dedup();
    let mut values: Vec<DimTerm> = (0..state.atoms.len()).map(DimTerm::interned).collect();
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
    let (mut what, mut start) = levels.last().map_or((Subject::Value, 0), |last| (last.what, last.place + 1));
    if what == Subject::Value {
        let open = |dim: u32| state.dims.value(state.dims.find(dim)).is_none();
        if let Some(place) = (start..cases.dims.len()).find(|at| open(cases.dims[*at])) {
            let last = cases.values.len() as u32 - 1;
            return Some(Level::new(cases.dims[place], Subject::Value, place, 0, (0, last)));
        }
        (what, start) = (Subject::Residue, 0);
    }
    if what != Subject::Residue {
        return None;
    }
    let open = |at: &usize| !state.rows.is_fixed(cases.moduli[*at].0);
    let place = (start..cases.moduli.len()).find(open)?;
    let (row, modulus) = cases.moduli[place];
    let preferred = state.ranks.lo(row) % modulus;
    Some(Level::new(row, Subject::Residue, place, preferred, (0, modulus - 1)))
}

/// Gives a dimension variable a value, by a policy step.
pub(crate) fn assume_value(state: &mut State, dim: u32, value: DimTerm, step: StepId) -> Outcome {
    let reason = state.dims.reason(Reason::Policy(step));
    state.dims.equate(&mut state.trail, DimTerm(dim), value, reason)
}

/// Checks what rows can be made of, after a decision about sizes or residues.
pub(crate) fn cases_fit(state: &State, levels: &[Level]) -> Outcome {
    if levels.last().is_none_or(|last| !last.what.is_case()) {
        return Ok(());
    }
    let residues = levels.iter().filter(|level| level.what == Subject::Residue);
    let residues: FxHashMap<u32, (u32, u32)> =
        residues.map(|level| (level.row, (level.value, level.last + 1))).collect();
    contents_fit(state, &residues)
}
