//! The answer to a system, in words: closed values, the ways they were fixed, and the mistake.

use broadloom_core::order::Dim;
use broadloom_core::{Answer, Clash, Closed, Core, DimShape, How, Limit, Report, Unfilled};
use broadloom_diagnostics::{Diagnostic, Span, axes};

use super::explain::{self, Explanation};
use super::problem::{Problem, Var};
use super::{SolveOptions, Status, notation};
use crate::{NameId, error};

/// Labels shown in one message; a longer core is cut.
const MOST_LABELS: usize = 8;

/// The parts of an answer that are printed.
pub struct Answered {
    /// The status at the end.
    pub status: Status,
    /// Name, value, and the way it was fixed; empty without a solution.
    pub solution: Vec<(NameId, String, How)>,
    /// Bindings and residual bounds before closing.
    pub report: Report,
    /// Branches that failed.
    pub branches: u64,
    /// Lines of the core, or of the constraints on an unfilled parameter.
    pub core: Vec<u32>,
    /// True if the core is known to be minimal.
    pub minimal: bool,
    /// The mistake, if there is one.
    pub diagnostic: Option<Diagnostic>,
    /// The asked-for chains.
    pub explanations: Vec<Explanation>,
}

impl Answered {
    /// Closes the system.
    pub fn new(problem: &mut Problem, options: &SolveOptions) -> Answered {
        let report = problem.solver.report();
        let mut answered = Answered {
            status: Status::GaveUp,
            solution: Vec::new(),
            report,
            branches: 0,
            core: Vec::new(),
            minimal: false,
            diagnostic: None,
            explanations: Vec::new(),
        };
        let mut solver = std::mem::take(&mut problem.solver);
        match solver.close() {
            Answer::Solved(closed) => {
                answered.status = Status::Solved;
                answered.read(problem, &closed);
                answered.explanations = explain::closed(problem, &closed, options);
            }
            Answer::Underdetermined(closed, holes) => {
                answered.status = Status::Underdetermined;
                answered.read(problem, &closed);
                answered.explanations = explain::closed(problem, &closed, options);
                answered.unfilled(problem, &holes);
            }
            Answer::Unsatisfiable(core) => {
                answered.status = Status::Unsatisfiable;
                answered.refuted(problem, &core);
                if let Some(diagnostic) = &mut answered.diagnostic
                    && !options.explain.is_empty()
                {
                    let note = "without a solution there is no value to explain; these lines are the reason";
                    diagnostic.notes.push(note.into());
                }
            }
            // A text cannot state that a row is made of others.
            Answer::Unsupported(_) => {}
            Answer::GaveUp(limit) => answered.gave_up(problem, limit, options),
        }
        answered.branches = solver.stats().branches;
        problem.solver = solver;
        if answered.status != Status::Unsatisfiable {
            explain::forced(problem, &mut answered.explanations);
        }
        answered
    }

    fn read(&mut self, problem: &Problem, closed: &Closed<'_>) {
        self.solution = problem
            .vars
            .iter()
            .map(|(name, var)| match var {
                Var::Dim(var) => (*name, notation::dim(problem, closed.dim(*var)), closed.how_dim(*var)),
                Var::Row(var) => (*name, notation::row(problem, &closed.row(*var)), closed.how_row(*var)),
            })
            .collect();
    }

    fn refuted(&mut self, problem: &Problem, core: &Core) {
        self.core = core.constraints.iter().map(|id| problem.line(*id)).collect();
        self.minimal = core.minimal;
        let label = |id| -> String {
            let Clash::Dims { ends, sources, .. } = core.clash else { return String::new() };
            if sources[0] == sources[1] {
                return String::new();
            }
            let says: Vec<String> = (0..2)
                .filter(|end| sources[*end] == Some(id))
                .map(|end| format!("{} because of this", notation::dim(problem, ends[end])))
                .collect();
            says.join("; ")
        };
        // The primary label is at the later end of the clash.
        let primary = match core.clash {
            Clash::Dims { sources: [_, Some(later)], .. } => later,
            _ => match core.constraints.last() {
                Some(last) => *last,
                None => return,
            },
        };
        let mut diagnostic =
            error(clash_message(problem, &core.clash), problem.span(primary), label(primary));
        for id in core.constraints.iter().filter(|id| **id != primary).take(MOST_LABELS) {
            diagnostic = diagnostic.with_label(problem.span(*id), label(*id));
        }
        if core.constraints.len() > MOST_LABELS + 1 {
            let more = core.constraints.len() - MOST_LABELS - 1;
            diagnostic = diagnostic
                .with_note(format!("{more} more lines take part; `broadloom solve --json` lists them all"));
        }
        if core.minimal && core.constraints.len() > 1 {
            diagnostic = diagnostic.with_note("without any one of these lines the others have a solution");
        }
        if let Some(help) = clash_help(&core.clash) {
            diagnostic = diagnostic.with_help(help);
        }
        self.diagnostic = Some(diagnostic);
    }

    fn unfilled(&mut self, problem: &Problem, holes: &[Unfilled]) {
        let Some(hole) = holes.first() else { return };
        let (name, place, below) = match *hole {
            Unfilled::Dim(var) => {
                let name = problem.dim_name(var).unwrap_or("?");
                (
                    name,
                    format!("parameter `{name}` has no size"),
                    format!("`8 <= {name}`, or fix it: `{name} = 8`"),
                )
            }
            Unfilled::Axis(var, at) => {
                let name = problem.row_name(var);
                let place = format!("axis {} of parameter `..{name}..` has no size", at + 1);
                (name, place, format!("a row below `[..{name}..]` whose axis there has a size"))
            }
            Unfilled::Row(var) => {
                let name = problem.row_name(var);
                let place = format!("nothing says how many axes parameter `..{name}..` has");
                (name, place, format!("`[8] <= [..{name}..]`, or fix it: `[..{name}..] ~ [8]`"))
            }
        };
        let Some(id) = problem.system.names.find(name) else { return };
        let more = holes.len() - 1;
        let entry = problem.system.names.get(id);
        let mut diagnostic = error(place, entry.tag_span, "a parameter must be determined")
            .with_note("no constraint gives this position a size from below, and a parameter may not guess")
            .with_help(format!("bound it from below, as its use would: {below}"));
        if more > 0 {
            diagnostic = diagnostic.with_note(format!(
                "{more} more {} open",
                if more == 1 { "position of a parameter is" } else { "positions of parameters are" }
            ));
        }
        self.diagnostic = Some(diagnostic);
        self.core = explain::lines_about(problem, id);
    }

    fn gave_up(&mut self, problem: &Problem, limit: Limit, options: &SolveOptions) {
        let first = problem.system.statements.first();
        let span = first.map_or(Span::default(), |statement| statement.span);
        let (message, note, help) = match limit {
            Limit::Branches => (
                format!("gave up: the search used up its {} branches", options.branches),
                "ranks or markers are open that no line decides, and not every choice could be tried",
                "fix the rank of a row, for example `[..r..] ~ [a, b]`, or allow more: `broadloom solve --branches`",
            ),
            Limit::RankMoves => (
                "gave up: ranks raise each other for too many steps".into(),
                "lines make rows longer than each other, one after the other",
                "look for a long chain or a cycle of lines of the form `[..r..] <= [..s.., 1]`",
            ),
            Limit::Axes => (
                "gave up: the rows have too many axes".into(),
                "many rows of great rank together need more memory than is allowed",
                "look for the row with the most axes",
            ),
            Limit::RankBound => (
                "gave up: a solution could need very long rows".into(),
                "no line bounds a rank, and the flanks are so long that not every rank can be tried",
                "fix the rank of a row, for example `[..r..] ~ [a, b]`",
            ),
            Limit::Expressions => (
                "gave up: a size depends on named sizes in a way that no expression says".into(),
                "which size fits depends on the sizes of symbols",
                "write one of the sizes",
            ),
            Limit::SizeBound => (
                "gave up: a solution could need very large sizes".into(),
                "arithmetic leaves a size without an upper bound",
                "write one of the sizes",
            ),
        };
        self.diagnostic = Some(error(message, span, "").with_note(note).with_help(help));
    }
}

fn clash_message(problem: &Problem, clash: &Clash) -> String {
    match clash {
        Clash::Dims { what: Some(what), ends, .. } => {
            let what = match what {
                DimShape::Front(row, at) => format!("axis {} of `..{}..`", at + 1, problem.row_name(*row)),
                DimShape::Back(row, 0) => format!("the last axis of `..{}..`", problem.row_name(*row)),
                DimShape::Back(row, at) => {
                    format!("axis {} from the end of `..{}..`", at + 1, problem.row_name(*row))
                }
                other => format!("`{}`", notation::dim_shape(problem, *other)),
            };
            let [a, b] = ends.map(|end| notation::dim(problem, end));
            format!("{what} cannot be both `{a}` and `{b}`")
        }
        Clash::Dims { what: None, ends, .. } => {
            let [a, b] = ends.map(|end| notation::dim(problem, end));
            format!("`{a}` and `{b}` stand in the same place and differ")
        }
        Clash::Rank { row, lo, hi } => {
            let name = problem.row_name(*row);
            format!(
                "`..{name}..` would need at least {} and at most {}",
                axes(*lo as usize),
                axes(*hi as usize)
            )
        }
        Clash::RankCycle => "each of these rows would have to be longer than itself".into(),
        Clash::Overflow { written, available, equal: true } => {
            format!(
                "one row writes {}, the other has only {}",
                axes(*written as usize),
                axes(*available as usize)
            )
        }
        Clash::Overflow { written, available, equal: false } => {
            format!(
                "the operand writes {}, its result has only {}",
                axes(*written as usize),
                axes(*available as usize)
            )
        }
        Clash::Size { bounds: (least, most), .. } => {
            format!("a size would have to be at least {least} and at most {most}")
        }
        Clash::Arithmetic { .. } => "no sizes satisfy these lines together".into(),
        // The text format has no named sizes.
        Clash::Symbols { .. } | Clash::Range { .. } | Clash::Expressions { .. } => {
            "no sizes satisfy these lines together".into()
        }
        Clash::Exhausted => "no number of axes and no marker satisfies these lines together".into(),
    }
}

fn clash_help(clash: &Clash) -> Option<String> {
    let Clash::Dims { ends, .. } = clash else { return None };
    let one = |dim: &Dim| matches!(dim, Dim::Atom(atom) if atom.size == 1);
    if ends.contains(&Dim::Unit) && ends.iter().any(one) {
        return Some("`_` makes no claim and broadcasts; `1` claims to be one wide and does not: write the same on both sides".into());
    }
    if ends.contains(&Dim::Unit) {
        return Some("`_` is the unit: only the unit is above it and it equals no size".into());
    }
    let [Dim::Atom(a), Dim::Atom(b)] = ends else { return None };
    (a.size == b.size).then(|| "the sizes agree, the bases do not: a basis says what an axis counts".into())
}
