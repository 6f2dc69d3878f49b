//! Minimal unsatisfiable cores, and the subsystems they are found with.
//!
//! A set of constraints is judged by solving it afresh as a system of its own; what is small is
//! cheap, and nothing of the failed system's state is trusted. Shrinking deletes in halving chunks,
//! so that large irrelevant parts go first.

pub(crate) mod chains;
pub(crate) mod clash;

use crate::ids::IdVec;
use crate::solver::cores::clash::{Clash, clash};
use crate::solver::search::{Search, Verdict, settle_choices};
use crate::solver::stores::state::State;
use crate::solver::subsystem::subsystem;
use crate::term::ConstraintId;

/// Units of work after which a core or a chain is returned as it is.
const MOST_WORK: u64 = 4_000_000;

/// Constraints that have no solution together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Core {
    /// The members, in the order of addition.
    pub constraints: Vec<ConstraintId>,
    /// True if removing any one member makes the rest satisfiable. False only where that could not
    /// be settled in reasonable time.
    pub minimal: bool,
    /// The two ends of the contradiction, for the message.
    pub clash: Clash,
}

impl Core {
    /// Constraints whose rank facts form a cycle with a gain, not shrunk.
    pub(crate) fn rank_cycle(mut ids: Vec<ConstraintId>) -> Core {
        ids.sort_unstable();
        let constraints = ids;
        Core { constraints, minimal: false, clash: Clash::RankCycle }
    }
}

/// Shrinks a set of constraints that has no solution to a minimal one.
pub(crate) fn core_from(state: &mut State, mut ids: Vec<ConstraintId>) -> Core {
    ids.sort_unstable();
    ids.dedup();
    let (mut work, mut unknown) = (0, false);
    let mut judge = |ids: &[ConstraintId]| {
        let mut sub = subsystem(state, ids).state;
        let verdict =
            settle_choices(&mut sub, &mut Search::new(state.budget.branches), &mut IdVec::default());
        work += sub.stats().steps + ids.len() as u64;
        unknown |= matches!(verdict, Verdict::Unknown(_));
        (verdict, work < MOST_WORK)
    };
    // The walk should have named a core; if it missed a dependence, the whole system is one.
    if judge(&ids).0 == Verdict::Satisfiable {
        ids = state.constraints.ids().collect();
    }
    let (ids, complete) = shrink(ids, |ids| {
        let (verdict, affordable) = judge(ids);
        affordable.then_some(verdict == Verdict::Unsatisfiable)
    });
    let mut sub = subsystem(state, &ids);
    let clash = clash(&mut sub);
    state.symbols.take_forms(sub.state.symbols);
    Core { constraints: ids, minimal: complete && !unknown, clash }
}

/// Deletes members as long as `holds` is true for the rest, which must be monotone. Stops when
/// `holds` has used up its work, and returns false with the rest.
fn shrink(
    mut ids: Vec<ConstraintId>,
    mut holds: impl FnMut(&[ConstraintId]) -> Option<bool>,
) -> (Vec<ConstraintId>, bool) {
    let mut chunk = ids.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        while at < ids.len() {
            let end = (at + chunk).min(ids.len());
            let rest: Vec<ConstraintId> = ids[..at].iter().chain(&ids[end..]).copied().collect();
            match holds(&rest) {
                Some(true) => ids = rest,
                Some(false) => at = end,
                None => return (ids, false),
            }
        }
        if chunk == 1 {
            // A member that was needed stays needed when others go: one pass of single ones is enough.
            return (ids, true);
        }
        chunk = chunk.div_ceil(2).min(ids.len()).max(1);
    }
}
