//! Closing (Formal Core, Def. 6.1): from bounds to shapes, by policy.
//!
//! Leaves close downward, to the join of their caps; interiors close upward, to no further axes and
//! to the unit. Every step is taken on the trail, so that asking for final shapes changes nothing.
//!
//! 1. *Leaf ranks.* A leaf row takes the axes of what it is used with ([`leaf_ranks`](leaf_ranks)); where
//!    markers are not declared, as many as the join of its caps has ([`extents`](extents)).
//! 2. *Counted ranks.* Rows whose elements are counted or whose axes are listed divide them up.
//! 3. *Least ranks.* Every other row takes its least rank. The least ranks are a model of all rank
//!    facts together, so this step cannot break one.
//! 4. *Markers.* An operand that broadcasts into a longer result is marked at its preferred place, unless
//!    its marker is declared.
//! 5. *Leaf dimensions.* With ranks and markers fixed, only dimensions are left, and their caps have
//!    travelled to the fixpoint. Leaves commit to their caps in rounds; leaves that would pin one
//!    dimension to two atoms relax to the unit together. What is left is the unit.
//!
//! 6. *Sizes* that arithmetic leaves open ([`guess`](guess)): known sizes get a basis, the rest the
//!    least size that fits.
//!
//! If steps 1-4 contradict a constraint, or no sizes fit, [`search`](super::search) decides ranks and markers,
//! on a copy of the system in canonical order. Step 5 cannot fail.
//!
//! In the numbering of *Shape inference and projection inference*: stage 1 is propagation, as constraints
//! are added; stage 3 is step 1; stages 4 and 5 are steps 2, 5 and 6; stage 6 is step 3; stage 7 is the
//! end of steps 5 and 6. Ranks are settled before sizes, because a count can wait for sizes but an
//! alignment cannot do without ranks; and every choice can be undone, so none is premature.

pub(crate) mod counted;
pub(crate) mod extents;
pub(crate) mod guess;
pub(crate) mod holes;
pub(crate) mod in_place;
pub(crate) mod joint;
pub(crate) mod leaf_dims;
pub(crate) mod leaf_ranks;
pub(crate) mod markers;
pub(crate) mod short;
pub(crate) mod symbols;

use crate::ids::IdVec;
use crate::solver::closing::counted::close_counted_ranks;
use crate::solver::closing::extents::join_leaf_ranks;
use crate::solver::closing::guess::close_sizes;
use crate::solver::closing::in_place::close_ranks_in_place;
use crate::solver::closing::markers::{close_markers, preferred_markers};
use crate::solver::closing::short::all_long_enough;
use crate::solver::closing::symbols::close_symbols;
use crate::solver::propagate::fixpoint::propagate;
use crate::solver::stores::ranks::Pred;
use crate::solver::stores::reason::{Outcome, Policy};
use crate::solver::stores::state::State;
use crate::term::RowVar;

/// Named sizes, ranks, markers and sizes, with every choice at its first value.
pub(crate) fn close_policy(state: &mut State, markers: &mut IdVec<RowVar, u32>) -> Outcome {
    close_symbols(state)?;
    close_ranks(state, markers)?;
    close_sizes(state)
}

/// Steps 1-4, with every choice at its first value.
fn close_ranks(state: &mut State, markers: &mut IdVec<RowVar, u32>) -> Outcome {
    if state.rows.all_declared() {
        return close_ranks_in_place(state);
    }
    *markers = preferred_markers(state, state.rows.declared_markers());
    join_leaf_ranks(state, markers)?;
    close_counted_ranks(state)?;
    all_long_enough(state)?;
    let step = state.choose(Policy::LeastRank, RowVar::NIL);
    for row in state.rows.ids() {
        if !state.rows.is_fixed(row) {
            let least = i64::from(state.ranks.lo(row));
            state.ranks.at_most(&mut state.trail, row, least, Pred::policy(step))?;
        }
    }
    propagate(state)?;
    *markers = preferred_markers(state, std::mem::take(markers));
    close_markers(state, markers)
}
