//! Numbers of axes: which constraints leave a row no fewer, and which no more.
//!
//! In a closed system a row constraint whose two rows are equally long passes a number of axes on: of an operand
//! to its result, which has no fewer; of a result to its operand, which has no more; of equal rows both ways. What
//! a result has is also offered to its operands, and a leaf takes what it is offered.

use super::ways::{Derived, Fact, Inference, Ways, Written};
use crate::ids::NIL;
use crate::solver::explain::chain::Cause;
use crate::solver::stores::ranks::RankCause;
use crate::solver::stores::reason::Policy;
use crate::solver::stores::rows::{Kind, RowCon, Term};
use crate::solver::stores::state::State;
use crate::term::RowVar;

/// A way on: from a row, or from a closed one, to another.
struct RankLink {
    from: u32,
    to: Fact,
    step: Inference,
}

/// The row has no fewer axes than it has.
fn least(row: RowVar) -> Fact {
    3 * row.0
}

/// It has no more.
fn most(row: RowVar) -> Fact {
    3 * row.0 + 1
}

/// It is used with so many.
fn offered(row: RowVar) -> Fact {
    3 * row.0 + 2
}

/// The shortest chain to the number of axes of a row.
pub(super) fn shortest(state: &State, row: RowVar) -> Vec<Derived> {
    let mut ways = Ways::new(3 * state.rows.len());
    let edges = edges(state);
    for edge in edges.iter().filter(|edge| edge.from == NIL) {
        ways.start(edge.to, edge.step);
    }
    let mut starts = vec![0u32; state.rows.len() * 3 + 1];
    let inner = || edges.iter().filter(|edge| edge.from != NIL);
    inner().for_each(|edge| starts[edge.from as usize + 1] += 1);
    (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
    let mut sorted: Vec<&RankLink> = inner().collect();
    sorted.sort_by_key(|edge| edge.from);
    begin(state, &mut ways);
    let goals = [least(row), most(row)];
    while let Some(fact) = ways.next() {
        if goals.iter().all(|goal| ways.settled[*goal as usize]) {
            break;
        }
        if fact % 3 == 2 && is_chosen_leaf(state, RowVar(fact / 3)) {
            ways.by(least(RowVar(fact / 3)), Inference::Policy(Policy::LeafRank), fact);
        }
        for edge in &sorted[starts[fact as usize] as usize..starts[fact as usize + 1] as usize] {
            ways.by(edge.to, edge.step, fact);
        }
    }
    let what = |fact: Fact| (Some(RowVar(fact / 3)), None);
    let mut chain = ways.chain(&goals[..1], what);
    // That there are no more is worth a word if it was not a choice, or is the only one.
    let chosen = |chain: &[Derived]| chain.iter().any(|link| matches!(link.cause, Cause::Policy(..)));
    let above = ways.chain(&goals[1..], what);
    if !(chosen(&chain) && chosen(&above)) {
        chain.extend(above.into_iter().filter(|link| !chain.contains(link)).collect::<Vec<_>>());
    }
    chain
}

/// Starts from the bounds that need no row constraint.
fn begin(state: &State, ways: &mut Ways) {
    for row in state.rows.ids() {
        if state.ranks.lo(row) == 0 {
            ways.start(least(row), Inference::Silent);
        }
        for (cause, fact) in [(state.ranks.lo_cause(row), least(row)), (state.ranks.hi_cause(row), most(row))]
        {
            match cause {
                RankCause::Arith(con) => ways.start(fact, Inference::Constraint(state.ariths.id(con), None)),
                RankCause::Support(support) => {
                    ways.start(fact, Inference::Constraint(state.supports.get(support).id, None));
                }
                RankCause::Policy(step) => {
                    let policy = state.policies.get(step).map(|choice| choice.policy);
                    if let Some(policy) = policy.filter(|policy| *policy != Policy::LeafRank) {
                        ways.start(fact, Inference::Policy(policy));
                    }
                }
                _ => {}
            }
        }
        ways.start(most(row), Inference::Policy(Policy::LeastRank));
    }
}

fn is_chosen_leaf(state: &State, row: RowVar) -> bool {
    state.rank_policy(row).is_some_and(|(policy, _)| policy == Policy::LeafRank)
}

fn edges(state: &State) -> Vec<RankLink> {
    let mut edges = Vec::new();
    let rank =
        |term: Term| term.flanks() + if term.hole == RowVar::NIL { 0 } else { state.ranks.lo(term.hole) };
    for RowCon { res, opnd, kind, id, .. } in state.rows.cons() {
        let of = rank(res);
        if of != rank(opnd) || res.hole == opnd.hole {
            continue;
        }
        let mut edge = |from: Term, to: Term, facts: [fn(RowVar) -> Fact; 2]| {
            if to.hole == RowVar::NIL {
                return;
            }
            let second = from == opnd;
            let written = Some(Written { second, at: of, of }).filter(|_| from.hole == RowVar::NIL);
            let (start, goal) = (facts[0], facts[1]);
            let from = if from.hole == RowVar::NIL { NIL } else { start(from.hole) };
            edges.push(RankLink { from, to: goal(to.hole), step: Inference::Constraint(id, written) });
        };
        edge(opnd, res, [least, least]);
        edge(res, opnd, [most, most]);
        edge(res, opnd, [least, offered]);
        edge(res, opnd, [offered, offered]);
        if kind == Kind::Eq {
            edge(res, opnd, [least, least]);
            edge(opnd, res, [most, most]);
            edge(opnd, res, [offered, offered]);
        }
    }
    edges
}
