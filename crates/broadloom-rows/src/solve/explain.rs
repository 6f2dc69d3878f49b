//! `--explain`: the chain of lines and policies that fixed a variable.
//!
//! The lines of the chain are replayed one at a time on a solver of their own; the new facts after
//! each line are shown beside it.

use std::collections::HashSet;

use broadloom_core::{Cause, Closed, ConstraintId, Link, Policy, RowVar};

use super::problem::{Problem, Var};
use super::{SolveOptions, notation};
use crate::{Constraint, DimKind, HoleKind, NameId, StatementKind};

/// The product of lines and variables beyond which a chain is shown without facts.
const MOST_WORK: usize = 4_000_000;

/// The greatest number of facts shown beside one line.
const MOST_FACTS: usize = 3;

/// The reason why a variable has its value.
pub struct Explanation {
    /// The variable.
    pub name: NameId,
    /// The variable again.
    var: Var,
    /// The chain as closing left it.
    links: Vec<Link>,
    /// The lines to print, sources first.
    pub steps: Vec<ChainStep>,
}

/// One link, in words.
pub struct ChainStep {
    /// The line, if the link is a constraint.
    pub line: Option<u32>,
    /// The constraint as it would be printed, or the policy in a sentence.
    pub what: String,
    /// The facts that are newly known.
    pub so: Vec<String>,
}

/// The chains of the asked-for variables, read while the answer is closed.
pub fn closed(problem: &Problem, closed: &Closed<'_>, options: &SolveOptions) -> Vec<Explanation> {
    let found = options.explain.iter().filter_map(|wanted| problem.find(wanted));
    found
        .map(|(name, var)| {
            let links = match var {
                Var::Dim(var) => closed.why_dim(var),
                Var::Row(var) => closed.why_row(var),
            };
            Explanation { name, var, links, steps: Vec::new() }
        })
        .collect()
}

/// Puts the chains into words. A forced variable gets its minimal chain.
pub fn forced(problem: &Problem, explanations: &mut [Explanation]) {
    for explanation in explanations {
        let minimal = match explanation.var {
            Var::Dim(var) => problem.solver.why_dim(var),
            Var::Row(var) => problem.solver.why_row(var),
        };
        let forced = minimal.is_some();
        if let Some(ids) = minimal {
            // The axes are forced; if the marker was chosen, the links that led to that choice
            // follow.
            let chosen = explanation.links.iter().any(|link| matches!(link.cause, Cause::Policy(..)));
            let rest = if chosen { std::mem::take(&mut explanation.links) } else { Vec::new() };
            explanation.links = ids.into_iter().map(|id| Link { cause: Cause::Constraint(id) }).collect();
            for link in rest {
                if !explanation.links.contains(&link) {
                    explanation.links.push(link);
                }
            }
        }
        // Lines first, in the order of derivation; then the choices made on top of them.
        explanation.links.sort_by_key(|link| link.constraint().is_none());
        explanation.steps = replay(problem, &explanation.links);
        let chosen = explanation.links.iter().any(|link| link.constraint().is_none());
        if !forced && !chosen {
            let leaf = problem.system.names.get(explanation.name).tag.is_some();
            let what = if leaf {
                "policy: nothing below it has a size, so the leaf closes to the unit"
            } else {
                "policy: nothing fixes its size, so the interior variable closes to the unit"
            };
            explanation.steps.push(ChainStep { line: None, what: what.into(), so: Vec::new() });
        }
    }
}

fn replay(problem: &Problem, links: &[Link]) -> Vec<ChainStep> {
    let mut replayed = Problem::empty(problem.system, 0);
    // Facts are read off the whole system after each line: too much where both are large.
    let brief = links.len().saturating_mul(problem.vars.len()) > MOST_WORK;
    let mut known: HashSet<String> = HashSet::new();
    let mut steps = Vec::new();
    for link in links {
        match link.cause {
            Cause::Constraint(id) => {
                replayed.add(problem.statement_index(id));
                let facts = if brief { Vec::new() } else { facts(&replayed) };
                let what = statement(problem, id);
                let new = facts.iter().filter(|fact| !known.contains(*fact) && **fact != what);
                let so = new.take(MOST_FACTS).cloned().collect();
                known = facts.into_iter().collect();
                steps.push(ChainStep { line: Some(problem.line(id)), what, so });
            }
            Cause::Policy(policy, row) => {
                let what = policy_text(problem, policy, row);
                if steps.last().is_none_or(|step: &ChainStep| step.what != what) {
                    steps.push(ChainStep { line: None, what, so: Vec::new() });
                }
            }
        }
    }
    steps
}

/// The facts that follow from a partial system, one text each.
fn facts(problem: &Problem) -> Vec<String> {
    let report = problem.solver.report();
    let bindings = report.bindings.iter().map(|binding| {
        let (name, value) = notation::binding(problem, binding);
        format!("{name} = {value}")
    });
    bindings.chain(report.residual.iter().map(|bound| notation::bound(problem, bound))).collect()
}

fn statement(problem: &Problem, id: ConstraintId) -> String {
    problem.system.show(problem.statement(id)).to_string()
}

fn policy_text(problem: &Problem, policy: Policy, row: Option<RowVar>) -> String {
    let name = row.map_or("the rows left open".into(), |row| format!("..{}..", problem.row_name(row)));
    match policy {
        Policy::LeafRank => {
            format!("policy: {name} takes the axes of the rows below it, as leaves and parameters do")
        }
        Policy::LeastRank => "policy: rows that are still open take no further axes".into(),
        Policy::SearchRank => format!("search: with fewer axes for {name} some line fails"),
        Policy::PreferredMarker => {
            format!("policy: {name} is marked where it was declared, or at the left edge")
        }
        Policy::SearchMarker => format!("search: with the marker of {name} elsewhere some line fails"),
        Policy::LeafCap => "policy: a leaf takes the size below it".into(),
        Policy::RelaxedLeaf => {
            "policy: leaves that cannot all take the sizes below them become the unit together".into()
        }
        Policy::CountedRank => format!("policy: {name} takes no more axes than its elements need"),
        Policy::DefaultBasis => "policy: a size that arithmetic gives has the default basis".into(),
        Policy::JointSizes => "several lines together leave only this size".into(),
        Policy::Symbolic => "policy: a named size stays symbolic".into(),
        Policy::GuessedSize => "policy: a size that nothing decides is the least that fits".into(),
    }
}

/// The lines that mention a variable.
pub fn lines_about(problem: &Problem, name: NameId) -> Vec<u32> {
    let system = problem.system;
    let dim = |kind: DimKind| kind == DimKind::Var(name);
    let row = |row: &crate::Row| {
        let axes = system.leading(row).iter().chain(system.trailing(row)).any(|axis| dim(axis.kind));
        axes || row.hole.kind == HoleKind::Var(name)
    };
    let mentions = |constraint: &Constraint| match constraint {
        Constraint::DimEq { left, right } => dim(left.kind) || dim(right.kind),
        Constraint::DimLe { result, operand } => dim(result.kind) || dim(operand.kind),
        Constraint::RowEq { left, right } => row(left) || row(right),
        Constraint::RowLe { result, operand } => row(result) || row(operand),
    };
    let constraints = system.statements.iter().filter_map(|statement| match &statement.kind {
        StatementKind::Constraint(constraint) => Some((statement.line, constraint)),
        StatementKind::Tag { .. } => None,
    });
    constraints.filter(|(_, constraint)| mentions(constraint)).map(|(line, _)| line).collect()
}
