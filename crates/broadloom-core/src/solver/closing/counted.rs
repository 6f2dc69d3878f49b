//! Ranks of rows whose elements are counted or whose axes are listed: step 2 of closing.

use crate::solver::propagate::arith::count::counted_rank;
use crate::solver::propagate::fixpoint::propagate;
use crate::solver::stores::ranks::Pred;
use crate::solver::stores::reason::{Outcome, Policy};
use crate::solver::stores::state::State;
use crate::term::RowVar;

/// Step 2. Rows whose elements are counted, or whose axes are listed: all but the one that takes the
/// rest get no further axes, then that one gets what is missing.
/// Returns whether there were any.
pub(crate) fn close_counted_ranks(state: &mut State) -> Outcome<bool> {
    let mut rows: Vec<(bool, RowVar)> = Vec::new();
    for con in state.ariths.pending() {
        let arith = state.ariths.get(con);
        rows.extend(arith.rows().map(|row| (arith.rest() == Some(row), row)));
    }
    rows.sort_unstable();
    let mut decided = false;
    for (_, row) in rows {
        if !state.rows.is_fixed(row) {
            decided = true;
            let rank = counted_rank(state, row).unwrap_or_else(|| state.ranks.lo(row));
            let step = state.choose(Policy::CountedRank, row);
            state.ranks.at_least(&mut state.trail, row, rank, Pred::policy(step))?;
            state.ranks.at_most(&mut state.trail, row, i64::from(rank), Pred::policy(step))?;
            propagate(state)?;
        }
    }
    Ok(decided)
}
