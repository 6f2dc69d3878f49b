//! The solver judged: by the definition, by the meaning of the constraints, and by the laws.

use broadloom_testing::Dice;

use super::bounds::MANY;
use super::closing::{Closing, Verdict, close};
use super::ground::violated;
use super::solve::{Outcome, observed, solve, undecided};
use super::system::{Shapes, System};
use super::transform::{repeated, shuffled, with_rank, with_reader, with_shape};

/// A disagreement, with its kind: a counterexample is made smaller only as long as it stays of its
/// kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The kind.
    pub kind: &'static str,
    /// A description of the disagreement.
    pub told: String,
}

/// Compares the solver with the definition.
pub fn by_definition(system: &System) -> Result<(Closing, Outcome), Wrong> {
    let wrong = |kind, told| Err(Wrong { kind, told });
    let (closing, outcome) = (close(system), solve(system));
    if let (Some(bounds), Some(seen)) = (&closing.before, observed(system)) {
        let mine: Vec<(i32, Option<i32>)> =
            bounds.lo.iter().zip(&bounds.hi).map(|(lo, hi)| (*lo, (*hi < MANY).then_some(*hi))).collect();
        if mine != seen {
            return wrong("bounds", format!("bounds are {seen:?}, by definition {mine:?}"));
        }
    }
    if let Outcome::Shapes(shapes) = &outcome
        && let Some(says) = violated(system, shapes)
    {
        return wrong("violation", format!("{shapes}violates {says}"));
    }
    match (&closing.verdict, &outcome) {
        (Verdict::Shapes(mine), Outcome::Shapes(theirs)) if mine == theirs => {}
        (Verdict::Shapes(mine), Outcome::Shapes(theirs)) => {
            let ranks = |shapes: &Shapes| shapes.rows.iter().map(Vec::len).collect::<Vec<_>>();
            let kind = if ranks(mine) == ranks(theirs) { "sizes" } else { "ranks" };
            return wrong(kind, format!("{theirs}\nby definition\n{mine}"));
        }
        (Verdict::Unsupported, Outcome::Unsupported)
        | (Verdict::Refused, Outcome::Unsupported | Outcome::Unsatisfiable)
        | (Verdict::Unsatisfiable, Outcome::Unsatisfiable)
        | (Verdict::Contradiction, _) => {}
        (Verdict::Shapes(mine), other) => {
            return wrong("refused", format!("{other:?}, by definition {mine}"));
        }
        (verdict, Outcome::Shapes(theirs)) => {
            return wrong("accepted", format!("{theirs}, by definition {verdict:?}"));
        }
        (verdict, other) => return wrong("verdict", format!("{other:?}, by definition {verdict:?}")),
    }
    Ok((closing, outcome))
}

/// Checks the laws: changes of a system that must not change the answer.
pub fn by_laws(system: &System, outcome: &Outcome, seed: u64) -> Result<(), Wrong> {
    let mut rng = Dice::new(!seed);
    same("shuffled", outcome, &shuffled(system, &mut rng))?;
    same("repeated", outcome, &repeated(system, &mut rng))?;
    let Outcome::Shapes(shapes) = outcome else { return Ok(()) };
    let others = [
        ("reader", with_reader(system, &mut rng)),
        ("rank stated", with_rank(system, shapes, &mut rng)),
        ("shape stated", with_shape(system, shapes, &undecided(system), &mut rng)),
    ];
    for (kind, other) in others {
        if let Some(other) = other {
            same(kind, outcome, &other)?;
        }
    }
    Ok(())
}

/// Checks that a changed system has the same answer, as far as the variables are the same.
fn same(kind: &'static str, outcome: &Outcome, changed: &System) -> Result<(), Wrong> {
    let mut other = solve(changed);
    if let (Outcome::Shapes(before), Outcome::Shapes(after)) = (outcome, &mut other) {
        after.rows.truncate(before.rows.len());
        after.dims.truncate(before.dims.len());
    }
    if *outcome == other {
        return Ok(());
    }
    let text = |outcome: &Outcome| match outcome {
        Outcome::Shapes(shapes) => shapes.to_string(),
        other => format!("{other:?}"),
    };
    Err(Wrong { kind, told: format!("{}\nbecomes\n{}\nin\n{changed}", text(outcome), text(&other)) })
}

/// All judgements of one system.
pub fn judge(system: &System, seed: u64, laws: bool) -> Result<Closing, Wrong> {
    let (closing, outcome) = by_definition(system)?;
    if laws && closing.verdict != Verdict::Contradiction {
        by_laws(system, &outcome, seed)?;
    }
    Ok(closing)
}
