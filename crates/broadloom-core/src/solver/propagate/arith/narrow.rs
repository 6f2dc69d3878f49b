//! Narrowing the bounds on a size, because of an arithmetic constraint.

use crate::ids::ArithId;
use crate::solver::stores::reason::{Outcome, Reason};
use crate::solver::stores::state::State;
use crate::term::DimTerm;

/// Narrows the bounds of a class. An equation that has pushed bounds too often without fixing one passes on fixed sizes only.
pub(crate) fn narrow(
    state: &mut State,
    con: ArithId,
    class: DimTerm,
    bounds: (u64, u64),
    fixes: bool,
) -> Outcome {
    let Some(root) = class.var() else { return Ok(()) };
    if !fixes && !state.ariths.may_push(&mut state.trail, con) {
        return Ok(());
    }
    let reason = state.dims.reason(Reason::Arith { con });
    state.dims.narrow(&mut state.trail, root, bounds, reason)
}
