//! Closing, as docs/solver.md defines it: leaf ranks, filler ranks, least ranks, sizes.

use super::bounds::{Bounds, Failed, bounds};
use super::groups::{Place, Round, groups};
use super::ranks::ranks;
use super::sizes::{Clash, sizes};
use super::sources::sources;
use super::system::{Shapes, System};

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
            // A group that takes nothing beyond its least rank stays open: a filler may still make
            // it longer.
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
