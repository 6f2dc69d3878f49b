//! Fusion: nests with the same outermost loop become one nest, and so do the loops inside.
//!
//! Two loops of one extent are merged if every dependence between them stays inside one iteration:
//! for each buffer that one of them writes and the other touches, the index on some axis determines
//! the iteration, in the same way in all places (see [`separates`]). The bodies are then put one
//! behind the other, and the loops in them are merged by the same rule; so rows that are reduced
//! and then scaled become one loop over rows with loops over columns inside, and pointwise chains a
//! single loop.
//!
//! A nest moves to a partner past others that it has no dependence with: forwards to the nests it
//! reads from, in a first sweep, backwards to those that read from it, in a second. Contractions,
//! fills and checks are left alone. A nest that looks up an index does not cross a check, and one that writes a kept buffer
//! does not come before one: a run that the check stops must not have written it.

use super::access::{Touch, places, separates};
use super::cost::is_contraction;
use super::parallel::is_independent;
use super::rewrite::{loop_vars, rename};
use crate::buffer::{Local, LoopVar, Storage};
use crate::program::{Loop, Nest, Program, Statement};
use crate::scalar::Scalar;

/// Bounds on the size of nests.
#[derive(Clone, PartialEq, Debug)]
pub struct Limits {
    /// The most statements in a nest, loops not counted.
    pub statements: usize,
    /// The most buffers that a nest touches.
    pub buffers: usize,
    /// The most points inside one iteration of a merged loop if the loops inside are not merged
    /// too: beyond this the data no longer stays in the cache.
    pub row: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { statements: 24, buffers: 16, row: 1 << 16 }
    }
}

/// Merges nests. Returns how many were merged into another.
pub fn fuse(program: &mut Program, limits: &Limits) -> usize {
    let before = program.nests.len();
    loop {
        let count = program.nests.len();
        sweep(program, limits, Direction::Forwards);
        sweep(program, limits, Direction::Backwards);
        if program.nests.len() == count {
            return before - count;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// Each nest looks for a partner among those before it.
    Forwards,
    /// Each nest looks for a partner among those behind it.
    Backwards,
}

/// A nest and the facts about it that a merge depends on.
struct Group {
    nest: Nest,
    touch: Touch,
    /// None if it may not be merged at all; otherwise true if its iterations are independent.
    independent: Option<bool>,
}

impl Group {
    fn of(nest: Nest) -> Group {
        let mut plain = true;
        for statement in &nest.body {
            statement.each(&mut |inner| plain &= inner.is_scalar());
        }
        let independent = match nest.body.as_slice() {
            [Statement::Loop(each)] if plain && !is_contraction(&nest) => Some(is_independent(each)),
            _ => None,
        };
        Group { touch: Touch::of(&nest.body), independent, nest }
    }
}

/// For each buffer the last group, in the direction of the sweep, that touches or writes it.
struct Last {
    touch: Vec<Option<usize>>,
    write: Vec<Option<usize>>,
    check: Option<usize>,
    lookup: Option<usize>,
    /// Marks buffers that may not be written before a check that precedes the writer; empty if nests move to later places only.
    kept: Vec<bool>,
}

impl Last {
    /// The last group that a nest may not pass.
    fn obstacle(&self, touch: &Touch) -> Option<usize> {
        let reads = touch.reads.iter().map(|buffer| self.write[buffer.index()]);
        let writes = touch.writes.iter().map(|buffer| self.touch[buffer.index()]);
        let keeps = touch.writes.iter().any(|buffer| self.kept.get(buffer.index()) == Some(&true));
        let checks = [self.check.filter(|_| touch.looks_up || keeps), self.lookup.filter(|_| touch.checks)];
        reads.chain(writes).chain(checks).max().flatten()
    }

    fn record(&mut self, touch: &Touch, group: usize) {
        for buffer in touch.buffers() {
            let last = &mut self.touch[buffer.index()];
            *last = (*last).max(Some(group));
        }
        for buffer in &touch.writes {
            let last = &mut self.write[buffer.index()];
            *last = (*last).max(Some(group));
        }
        if touch.checks {
            self.check = self.check.max(Some(group));
        }
        if touch.looks_up {
            self.lookup = self.lookup.max(Some(group));
        }
    }
}

fn sweep(program: &mut Program, limits: &Limits, direction: Direction) {
    let mut nests = std::mem::take(&mut program.nests);
    if direction == Direction::Backwards {
        nests.reverse();
    }
    let none = vec![None; program.buffers.len()];
    let kept = match direction {
        Direction::Forwards => program.buffers.iter().map(|each| each.storage == Storage::Kept).collect(),
        Direction::Backwards => Vec::new(),
    };
    let mut last = Last { touch: none.clone(), write: none, check: None, lookup: None, kept };
    let mut groups: Vec<Group> = Vec::with_capacity(nests.len());
    for nest in nests {
        let group = Group::of(nest);
        let obstacle = last.obstacle(&group.touch);
        // Partners share a buffer, and none of them is beyond the obstacle.
        let mut partners: Vec<usize> =
            group.touch.buffers().iter().filter_map(|buffer| last.touch[buffer.index()]).collect();
        partners.extend(obstacle);
        partners.retain(|at| obstacle.is_none_or(|obstacle| *at >= obstacle));
        partners.sort_unstable();
        partners.dedup();
        let merged = partners.into_iter().find_map(|at| {
            let (first, second) = match direction {
                Direction::Forwards => (&groups[at], &group),
                Direction::Backwards => (&group, &groups[at]),
            };
            merge(&mut program.vars, limits, first, second).map(|nest| (at, nest))
        });
        match merged {
            Some((at, nest)) => {
                last.record(&group.touch, at);
                groups[at] = Group::of(nest);
            }
            None => {
                last.record(&group.touch, groups.len());
                groups.push(group);
            }
        }
    }
    program.nests = groups.into_iter().map(|group| group.nest).collect();
    if direction == Direction::Backwards {
        program.nests.reverse();
    }
}

/// Two nests as one, the first before the second in each iteration.
fn merge(vars: &mut Vec<String>, limits: &Limits, first: &Group, second: &Group) -> Option<Nest> {
    // A loop that is not independent would keep the other from running in parallel.
    if first.independent? != second.independent? {
        return None;
    }
    let ([Statement::Loop(a)], [Statement::Loop(b)]) = (&first.nest.body[..], &second.nest.body[..]) else {
        return None;
    };
    let statements = count(&first.nest.body) + count(&second.nest.body);
    let buffers = first.touch.union(&second.touch).buffers().len();
    if statements > limits.statements || buffers > limits.buffers || !shares(a, b) || !may_join(a, b) {
        return None;
    }
    let taken = loop_vars(&first.nest.body);
    let mut names = vec![(b.var, a.var)];
    for var in loop_vars(&b.body) {
        if taken.contains(&var) {
            vars.push(vars.get(var.index()).cloned().unwrap_or_default());
            names.push((var, LoopVar(vars.len() as u32 - 1)));
        }
    }
    let mut body = b.body.clone();
    rename(&mut body, &names);
    let body = join(a, body);
    let inner = body.iter().filter(|statement| matches!(statement, Statement::Loop(_))).count();
    if inner > 1 && points(&body) > limits.row as i64 {
        return None;
    }
    let merged = Loop { var: a.var, extent: a.extent, parallel: false, body };
    Some(Nest {
        comment: comment(&first.nest.comment, &second.nest.comment),
        body: vec![Statement::Loop(merged)],
    })
}

/// Returns true if the iterations of two loops can be paired: no dependence leaves its iteration.
fn may_join(a: &Loop, b: &Loop) -> bool {
    let conflicts = Touch::of(&a.body).conflicts(&Touch::of(&b.body));
    let apart = |buffer: &crate::BufferId| {
        let mut cells = places(a, &[*buffer]);
        cells.extend(places(b, &[*buffer]));
        separates(&cells)
    };
    a.extent == b.extent && conflicts.iter().all(apart)
}

/// Returns true if both loops traverse some buffer: otherwise nothing is gained.
fn shares(a: &Loop, b: &Loop) -> bool {
    let walks =
        |each: &Loop, buffer| places(each, &[buffer]).iter().any(|place| place.cell.mentions(each.var));
    let both = Touch::of(&b.body);
    Touch::of(&a.body)
        .buffers()
        .into_iter()
        .any(|buffer| both.touches(buffer) && walks(a, buffer) && walks(b, buffer))
}

/// Joins the body of a loop with another body that uses the same variable.
fn join(a: &Loop, body: Vec<Statement>) -> Vec<Statement> {
    block(a.body.iter().cloned().chain(body).collect())
}

/// A body whose loops are merged where possible. Other statements move up as far as they can, so that they
/// are not in the way.
fn block(body: Vec<Statement>) -> Vec<Statement> {
    let mut result: Vec<(Statement, Effects)> = Vec::with_capacity(body.len());
    for statement in body {
        let effects = Effects::of(&statement);
        let obstacle = result.iter().rposition(|(_, known)| known.conflicts(&effects));
        let Statement::Loop(each) = statement else {
            result.insert(obstacle.map_or(0, |at| at + 1), (statement, effects));
            continue;
        };
        let partner = (obstacle.unwrap_or(0)..result.len()).find(|at| match &result[*at] {
            (Statement::Loop(known), known_effects) => {
                !known_effects.locals_conflict(&effects) && shares(known, &each) && may_join(known, &each)
            }
            _ => false,
        });
        match partner.map(|at| (at, &result[at].0)) {
            Some((at, Statement::Loop(known))) => {
                let mut body = each.body;
                rename(&mut body, &[(each.var, known.var)]);
                let merged = Loop {
                    var: known.var,
                    extent: known.extent,
                    parallel: known.parallel && each.parallel,
                    body: join(known, body),
                };
                let statement = Statement::Loop(merged);
                result[at] = (statement.clone(), Effects::of(&statement));
            }
            _ => result.push((Statement::Loop(each), effects)),
        }
    }
    result.into_iter().map(|(statement, _)| statement).collect()
}

/// The buffers and locals that a statement touches.
struct Effects {
    touch: Touch,
    reads: Vec<Local>,
    writes: Vec<Local>,
}

impl Effects {
    fn of(statement: &Statement) -> Effects {
        fn locals(scalar: &Scalar, reads: &mut Vec<Local>) {
            if let Scalar::Local(local) = scalar {
                reads.push(*local);
            }
            scalar.children().for_each(|child| locals(child, reads));
        }
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        statement.each(&mut |inner| {
            if let Some(value) = inner.value() {
                locals(value, &mut reads);
            }
            if let Statement::Declare { local, .. } | Statement::Update { local, .. } = inner {
                writes.push(*local);
            }
        });
        Effects { touch: Touch::of(std::slice::from_ref(statement)), reads, writes }
    }

    fn conflicts(&self, other: &Effects) -> bool {
        self.locals_conflict(other) || !self.touch.conflicts(&other.touch).is_empty()
    }

    fn locals_conflict(&self, other: &Effects) -> bool {
        let meets = |a: &Effects, b: &Effects| {
            a.writes.iter().any(|local| b.reads.contains(local) || b.writes.contains(local))
        };
        meets(self, other) || meets(other, self)
    }
}

/// The number of statements in a body, loops not counted.
fn count(body: &[Statement]) -> usize {
    let mut leaves = 0;
    for statement in body {
        statement.each(&mut |inner| leaves += usize::from(!matches!(inner, Statement::Loop(_))));
    }
    leaves
}

/// The number of times that statements of a body are executed.
fn points(body: &[Statement]) -> i64 {
    let each = |statement: &Statement| match statement {
        Statement::Loop(each) => each.extent.typical().saturating_mul(points(&each.body)),
        _ => 1,
    };
    body.iter().map(each).fold(0, i64::saturating_add)
}

fn comment(first: &str, second: &str) -> String {
    match (first, second) {
        ("", other) | (other, "") => other.to_string(),
        (first, second) if first == second => first.to_string(),
        (first, second) => format!("{first}; {second}"),
    }
}
