//! Case distinctions that are made before any rank is tried: sizes and residues.
//!
//! The plain search tries ranks with the sizes open, and then much has to be tried before a conflict shows. With a value for
//! every dimension variable and a residue for every row that is shifted against itself, what rows are made of
//! ([`contents`](super::super::contents)) refutes most systems before the first rank; in the others,
//! conflicts show at open ranks already, and so for all greater ranks at once. No size outside the system is
//! needed: the unit can take the place of any such size in a solution.

use rustc_hash::FxHashMap;

use super::super::Solver;
use super::super::reason::{Reason, Step};
use super::{Level, What};
use crate::term::DimTerm;

/// More combinations of values than this are not told apart.
const MOST_VALUATIONS: u64 = 4096;

/// What is told apart; empty in a plain search.
#[derive(Default)]
pub(super) struct Cases {
    dims: Vec<u32>,
    /// The values that dimensions are given.
    pub values: Vec<DimTerm>,
    /// Rows whose residues are told apart, with their moduli.
    moduli: Vec<(u32, u32)>,
}

impl Solver {
    /// Whether sizes and residues are all there is to tell apart: not so if arithmetic relates sizes.
    pub(super) fn has_cases(&self) -> bool {
        self.ariths.is_empty() && self.symbols.is_empty()
    }

    /// The case distinctions that the waiting constraints ask for.
    pub(super) fn cases(&self) -> Cases {
        let waiting = self.rows.cons().filter(|con| !con.done);
        let terms = waiting.flat_map(|con| [con.res, con.opnd]);
        let axes = terms.flat_map(|term| self.rows.literals(term));
        let open = axes.map(|axis| self.dims.resolve(*axis)).filter(|axis| !axis.is_ground());
        let mut dims: Vec<u32> = open.filter_map(|axis| axis.node()).collect();
        dims.sort_unstable();
        dims.dedup();
        let mut values: Vec<DimTerm> = (0..self.atoms.len()).map(DimTerm::interned).collect();
        values.sort_by_cached_key(|value| self.canonical_dim(*value));
        values.push(DimTerm::UNIT);
        let valuations = (values.len() as u64).checked_pow(dims.len() as u32);
        if valuations.is_none_or(|valuations| valuations > MOST_VALUATIONS) {
            dims.clear();
        }
        Cases { dims, values, moduli: self.moduli() }
    }

    /// The next thing to tell apart, after the decisions made so far.
    pub(super) fn next_case(&self, cases: &Cases, levels: &[Level]) -> Option<Level> {
        let (mut what, mut start) =
            levels.last().map_or((What::Value, 0), |last| (last.what, last.place + 1));
        if what == What::Value {
            let open = |dim: u32| self.dims.value(self.dims.find(dim)).is_none();
            if let Some(place) = (start..cases.dims.len()).find(|at| open(cases.dims[*at])) {
                let last = cases.values.len() as u32 - 1;
                return Some(Level::new(cases.dims[place], What::Value, place, 0, (0, last)));
            }
            (what, start) = (What::Residue, 0);
        }
        if what != What::Residue {
            return None;
        }
        let open = |at: &usize| !self.rows.is_fixed(cases.moduli[*at].0);
        let place = (start..cases.moduli.len()).find(open)?;
        let (row, modulus) = cases.moduli[place];
        let preferred = self.ranks.lo(row) % modulus;
        Some(Level::new(row, What::Residue, place, preferred, (0, modulus - 1)))
    }

    /// Gives a dimension variable a value, by a policy step.
    pub(super) fn assume_value(&mut self, dim: u32, value: DimTerm, step: u32) -> Step {
        let reason = self.dims.reason(Reason::Policy(step));
        self.dims.equate(&mut self.trail, DimTerm(dim), value, reason)
    }

    /// Checks what rows can be made of, after a decision about sizes or residues.
    pub(super) fn cases_fit(&self, levels: &[Level]) -> Step {
        if levels.last().is_none_or(|last| !last.what.is_case()) {
            return Ok(());
        }
        let residues = levels.iter().filter(|level| level.what == What::Residue);
        let residues: FxHashMap<u32, (u32, u32)> =
            residues.map(|level| (level.row, (level.value, level.last + 1))).collect();
        self.contents_fit(&residues)
    }
}
