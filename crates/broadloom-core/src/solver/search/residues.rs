//! Shifted self-constraints, without knowing how long the row is.
//!
//! `x·⟨ρ⟩ ≈ ⟨ρ⟩·y` with `p` axes in `x` and in `y` says that `ρ` is a periodic word, and that `x` and `y`
//! are rotations of each other: axis `i` of `x` equals axes `i, i + p, i + 2p, …` of `ρ` and then axis
//! `(i − n) mod p` of `y`, where `n` is the rank of `ρ`. With `⊑` for `≈` each is below the next, so that axis
//! `i` of `x` is below axis `(i − n) mod p` of `y`. So what the flanks have to do with each other depends on the
//! rank's *residue* modulo `p` alone, and there are only `p` of those.
//!
//! For example `[3, 5, ..r..] ~ [..r.., 5, 3]` excludes even ranks at once: their residue asks for `3 = 5`.
//! [`Search`](super::Search) can therefore decide residues before it tries ranks, one by one, without an end.

use crate::ids::{RowConId, StepId};
use crate::number::lcm;
use crate::solver::stores::reason::{Outcome, Reason};
use crate::solver::stores::rows::{Kind, RowCon};
use crate::solver::stores::state::State;
use crate::term::RowVar;
use rustc_hash::FxHashMap;

/// Greater moduli have too many residues to try them all.
const MOST: u32 = 60;

/// A constraint of a row with itself whose sides have equally many axes, but not at the same places.
#[derive(Clone, Copy)]
pub(crate) struct Shifted {
    pub con: RowCon,
    /// The distance by which the row is shifted.
    pub period: u32,
}

impl Shifted {
    pub fn new(con: RowCon) -> Option<Shifted> {
        let RowCon { res, opnd, done, .. } = con;
        let own = !done && res.hole != RowVar::NIL && res.hole == opnd.hole && res.flanks() == opnd.flanks();
        let period = res.lead.abs_diff(opnd.lead);
        (own && period > 0).then_some(Shifted { con, period })
    }

    /// The literals at the lower end and at the upper end of each chain through the row, given the rank's residue:
    /// places in the literals of the result and of the operand.
    pub fn chains(self, residue: u32) -> impl Iterator<Item = (usize, usize)> {
        let RowCon { res, opnd, .. } = self.con;
        let period = self.period;
        (0..period).map(move |at| {
            // The side with the longer lead has `x` at its end; the other has `y` at the begin of its trail.
            let facing = (at + period - residue % period) % period;
            if res.lead > opnd.lead {
                ((opnd.lead + at) as usize, (opnd.lead + facing) as usize)
            } else {
                ((res.lead + facing) as usize, (res.lead + at) as usize)
            }
        })
    }
}

/// The open rows with shifted self-constraints, in their order, each with the modulus that decides how
/// the flanks of all of them face each other.
pub(crate) fn find_moduli(state: &State) -> Vec<(RowVar, u32)> {
    let mut moduli: FxHashMap<RowVar, u32> = FxHashMap::default();
    for Shifted { con, period } in state.rows.cons().filter_map(Shifted::new) {
        if !state.rows.is_fixed(con.res.hole) {
            let modulus = moduli.entry(con.res.hole).or_insert(1);
            let both = lcm((*modulus).into(), period.into());
            *modulus = if both <= u64::from(MOST) { both as u32 } else { *modulus };
        }
    }
    let mut moduli: Vec<(RowVar, u32)> = moduli.into_iter().filter(|(_, modulus)| *modulus > 1).collect();
    moduli.sort_unstable();
    moduli
}

/// Relates the flanks of a row's shifted self-constraints, assuming that its rank has this
/// residue, by policy step `step`.
pub(crate) fn assume_residue(
    state: &mut State,
    row: RowVar,
    (residue, modulus): (u32, u32),
    step: StepId,
) -> Outcome {
    let watching: Vec<RowConId> = state.rows.watchers(row).collect();
    for con in watching {
        let Some(shifted) = Shifted::new(state.rows.con(con)) else { continue };
        if modulus % shifted.period != 0 {
            continue;
        }
        for (below, above) in shifted.chains(residue) {
            let RowCon { res, opnd, kind, .. } = shifted.con;
            let (below, above) = (state.rows.literals(res)[below], state.rows.literals(opnd)[above]);
            let reason = state.dims.reason(Reason::Chain { con, step });
            match kind {
                Kind::Eq => state.dims.equate(&mut state.trail, below, above, reason)?,
                Kind::Le => state.dims.refine(&mut state.trail, below, above, reason)?,
            }
        }
    }
    Ok(())
}
