//! Listed axes: an equation between sequences.

use crate::ids::ArithId;
use crate::solver::propagate::align::require_elements;
use crate::solver::stores::ariths::Arith;
use crate::solver::stores::ranks::Pred;
use crate::solver::stores::reason::{Conflict, Outcome, Reason};
use crate::solver::stores::rows::Slot;
use crate::solver::stores::state::State;
use crate::term::{DimTerm, Piece, RowVar};
use smallvec::SmallVec;

/// The pieces are the axes: ranks add up, and what is certain from either end is equal.
pub(crate) fn run_exact(state: &mut State, con: ArithId) -> Outcome {
    let Arith::Exact { pieces, axes, .. } = state.ariths.get(con) else { return Ok(()) };
    let (pieces, axes) = (pieces.clone(), axes.clone());
    let total = axes.len() as i64;
    let least = |piece: &Piece| match piece {
        Piece::Dim(_) => 1,
        Piece::Row(row) => i64::from(state.ranks.lo(*row)),
    };
    let needed: i64 = pieces.iter().map(least).sum();
    let open: SmallVec<[RowVar; 3]> =
        state.ariths.get(con).rows().filter(|row| !state.rows.is_fixed(*row)).collect();
    if open.is_empty() && needed != total || needed > total {
        return Err(Conflict::Arith { con });
    }
    for row in &open {
        let most = total - needed + i64::from(state.ranks.lo(*row));
        state.ranks.at_most(&mut state.trail, *row, most, Pred::arith(con))?;
        if open.len() == 1 {
            state.ranks.at_least(&mut state.trail, *row, most as u32, Pred::arith(con))?;
        }
    }
    if !state.ranks.touched.is_empty() {
        // Come back when the axes are laid out.
        state.ariths.enqueue(con);
        return Ok(());
    }
    align_exact(state, con, &mut pieces.iter(), &mut axes.iter(), false)?;
    if open.is_empty() {
        state.ariths.finish(&mut state.trail, con);
        return Ok(());
    }
    align_exact(state, con, &mut pieces.iter().rev(), &mut axes.iter().rev(), true)
}

/// Equates pieces with axes from one end, up to the first row of open rank.
fn align_exact<'a>(
    state: &mut State,
    con: ArithId,
    pieces: &mut dyn Iterator<Item = &'a Piece>,
    axes: &mut dyn Iterator<Item = &'a DimTerm>,
    back: bool,
) -> Outcome {
    for piece in pieces {
        match *piece {
            Piece::Dim(dim) => {
                let Some(axis) = axes.next() else { return Ok(()) };
                let reason = state.dims.reason(Reason::Arith { con });
                state.dims.equate(&mut state.trail, dim, *axis, reason)?;
            }
            Piece::Row(row) if state.rows.is_fixed(row) => {
                let rank = state.ranks.lo(row);
                for at in 0..rank {
                    let at = if back { rank - 1 - at } else { at };
                    let Some(axis) = axes.next() else { return Ok(()) };
                    let reason = state.dims.reason(Reason::Arith { con });
                    match state.rows.axis(row, at) {
                        DimTerm::NONE => {
                            state.rows.fill(&mut state.trail, Slot::Axis { row, at }, *axis, reason);
                            require_elements(state, *axis, reason)?;
                        }
                        own => state.dims.equate(&mut state.trail, own, *axis, reason)?,
                    }
                }
            }
            Piece::Row(_) => return Ok(()),
        }
    }
    Ok(())
}
