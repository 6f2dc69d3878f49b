//! Closing, as docs/solver.md defines it: leaf ranks, filler ranks, least ranks, sizes.

use super::bounds::{Bounds, Failed, bounds};
use super::groups::{Place, Round, groups};
use super::ranks::ranks;
use super::sizes::{Clash, sizes};
use super::sources::sources;
use super::system::{Says, Shapes, System};
use broadloom_core::Role;

/// The result of a system by the definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// These are the shapes.
    Shapes(Shapes),
    /// A result claims a size that closing gives to none of its operands.
    Unsupported,
    /// The same, but no leaf took part in deciding the size: if none took part in the ranks either,
    /// there is no solution.
    Refused,
    /// The ranks alone have no solution.
    Unsatisfiable,
    /// The first choice contradicts a constraint, so the solver searches or refuses; the definition
    /// does not cover its answer.
    Contradiction,
}

/// The verdict, and facts about the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closing {
    /// The verdict.
    pub verdict: Verdict,
    /// The bounds before closing.
    pub before: Option<Bounds>,
    /// True if the ranks of each round had a greatest.
    pub greatest: bool,
    /// The most rounds until nothing changed; none if that did not happen.
    pub rounds: Option<usize>,
}

/// Closes a system by the definition.
pub fn close(system: &System) -> Closing {
    let mut settled: Vec<Option<i32>> = vec![None; system.rows.len()];
    let mut closing =
        Closing { verdict: Verdict::Unsatisfiable, before: None, greatest: true, rounds: Some(0) };
    let Ok(mut known) = bounds(system, &settled) else { return closing };
    closing.before = Some(known.clone());
    for round in [Round::Leaves, Round::Fillers] {
        let groups = groups(system, &known, round);
        let sources = sources(system, &known, &groups);
        let found = ranks(&groups, &sources);
        closing.greatest &= found.greatest;
        closing.rounds = closing.rounds.zip(found.rounds).map(|(most, rounds)| most.max(rounds));
        for (row, place) in groups.place.iter().enumerate() {
            // A group that takes nothing beyond its least rank stays open: a filler may still make it longer, unless it
            // refines that filler.
            let takes = |place: &Place| {
                let group = &groups.all[place.group];
                group.free && found.ranks[place.group] > group.lo
            };
            if let Some(place) = place.filter(takes) {
                settled[row] = Some(found.ranks[place.group] - place.length);
            }
        }
        known = match bounds(system, &settled) {
            Ok(known) => known,
            Err(failed) => {
                closing.verdict = match failed {
                    Failed::Facts => Verdict::Contradiction,
                    Failed::Made => Verdict::Unsupported,
                };
                return closing;
            }
        };
        // A leaf that refines a filler and has axes keeps their number, if that can be.
        let mut above = settled.clone();
        for (row, known_as) in system.rows.iter().enumerate() {
            let is_leaf = matches!(known_as.role, Role::Leaf | Role::Param);
            if round == Round::Leaves && is_leaf && known.lo[row] > 0 && refines_filler(system, row) {
                above[row] = Some(known.lo[row]);
            }
        }
        if let Ok(kept) = bounds(system, &above) {
            (settled, known) = (above, kept);
        }
    }
    settled = known.lo.iter().map(|lo| Some(*lo)).collect();
    closing.verdict = match bounds(system, &settled) {
        Err(Failed::Made) => Verdict::Unsupported,
        Err(Failed::Facts) => Verdict::Contradiction,
        Ok(_) => match sizes(system, &known.lo) {
            Ok(shapes) => Verdict::Shapes(shapes),
            Err(Clash::Made) => Verdict::Unsupported,
            Err(Clash::MadeAtOnce) => Verdict::Refused,
            Err(Clash::Facts) => Verdict::Contradiction,
        },
    };
    closing
}

/// True if a row refines a filler.
fn refines_filler(system: &System, row: usize) -> bool {
    system.says.iter().any(|says| match says {
        Says::Le(res, opnd) => {
            let filler = opnd.row.is_some_and(|opnd| system.rows[opnd].role == Role::Filler);
            res.row == Some(row) && filler
        }
        _ => false,
    })
}
