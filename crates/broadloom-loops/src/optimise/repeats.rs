//! Programs with repeats: the nests of each repeat are a program of their own, and so are those between two.
//!
//! The other passes reason about nests that run once, one after another. For each group of nests they still may, if what comes
//! from outside and what is wanted outside is kept in it: the buffers that the group reads before it writes them, from another
//! group or from the turn before, and those that a later group, or an earlier one in the next turn of a repeat around both, may
//! read before it has written all of them. A value that is kept is
//! neither made virtual nor dropped, so a group leaves behind what it would have left without optimisation.

use std::ops::Range;

use broadloom_core::Size;
use rustc_hash::FxHashSet;

use super::{PassOptions, Report, locals, optimise_with_report};
use crate::buffer::{BufferId, Index, LoopVar, Storage};
use crate::program::{Group, Program, Repeat, Statement};

/// The program in which each group of nests is optimised by itself.
pub fn optimised(program: &Program, options: &PassOptions) -> (Program, Report) {
    let result = Program { nests: Vec::new(), repeats: Vec::new(), ..program.clone() };
    let mut work = Work { program, options, around: Vec::new(), result, report: Report::default() };
    work.groups(&program.groups());
    locals::compact(&mut work.result);
    (work.result, work.report)
}

/// A program that is being optimised.
struct Work<'a> {
    program: &'a Program,
    options: &'a PassOptions,
    /// The nests of the repeats around the group at hand, outermost first.
    around: Vec<Range<usize>>,
    result: Program,
    report: Report,
}

impl Work<'_> {
    fn groups(&mut self, groups: &[Group<'_>]) {
        for group in groups {
            match group {
                Group::Once(nests) => self.once(nests),
                Group::Repeated(repeat, inside) => self.repeat(repeat, inside),
            }
        }
    }

    /// A repeat comes before those inside of it. One of which nothing is left is left out.
    fn repeat(&mut self, repeat: &Repeat, inside: &[Group<'_>]) {
        let (place, start) = (self.result.repeats.len(), self.result.nests.len());
        self.result.repeats.push(repeat.clone());
        self.around.push(repeat.nests.clone());
        self.groups(inside);
        self.around.pop();
        let nests = start..self.result.nests.len();
        match nests.is_empty() {
            true => self.result.repeats.truncate(place),
            false => self.result.repeats[place].nests = nests,
        }
    }

    fn once(&mut self, nests: &Range<usize>) {
        let mut buffers = self.result.buffers.clone();
        for id in lasting(self.program, nests, &self.around) {
            buffers[id.index()].storage = Storage::Kept;
        }
        let group = Program {
            buffers,
            vars: self.result.vars.clone(),
            nests: self.program.nests[nests.clone()].to_vec(),
            repeats: Vec::new(),
            ..self.program.clone()
        };
        let (group, changes) = optimise_with_report(&group, self.options);
        self.report.add(changes);
        let known = self.result.buffers.len();
        self.result.buffers.extend(group.buffers.into_iter().skip(known));
        self.result.vars = group.vars;
        self.result.nests.extend(group.nests);
    }
}

/// The buffers whose contents matter before or after some nests. What runs after them is what follows, or, in each repeat around
/// them, the rest of its turn and then the beginning of the next one.
fn lasting(program: &Program, nests: &Range<usize>, around: &[Range<usize>]) -> FxHashSet<BufferId> {
    let first = program.read_first(nests.clone());
    let mut lasting = first.clone();
    lasting.extend(needed(program, &first, nests.end..program.nests.len()));
    for repeat in around {
        lasting.extend(needed(program, &first, (nests.end..repeat.end).chain(repeat.start..nests.start)));
    }
    lasting
}

/// The buffers that some nests mention before they have overwritten them; those that are `known` to matter are not asked about.
fn needed(
    program: &Program,
    known: &FxHashSet<BufferId>,
    nests: impl Iterator<Item = usize>,
) -> FxHashSet<BufferId> {
    let (mut needed, mut overwritten) = (known.clone(), FxHashSet::default());
    for nest in nests {
        let read = program.read_first(nest..nest + 1);
        let whole = all_written(program, &program.nests[nest].body).filter(|id| !read.contains(id));
        overwritten.extend(whole.filter(|id| !needed.contains(id)));
        needed.extend(program.mentioned(nest..nest + 1).difference(&overwritten));
    }
    needed
}

/// The buffer of which a nest writes every cell, if it does nothing else.
fn all_written(program: &Program, body: &[Statement]) -> Option<BufferId> {
    let [statement] = body else { return None };
    let mut statement = statement;
    let mut loops = Vec::new();
    while let Statement::Loop(each) = statement {
        let [inner] = &each.body[..] else { return None };
        loops.push((each.var, each.extent));
        statement = inner;
    }
    match statement {
        Statement::Fill { buffer, .. } => Some(*buffer),
        Statement::Store { cell, accumulate: None, .. } => {
            let axes = cell.index.iter().zip(&program.buffer(cell.buffer).sizes);
            let mut vars: Vec<LoopVar> = Vec::new();
            for (index, size) in axes {
                let Index::At(sum) = index else { return None };
                let [(Size::ONE, var)] = sum.terms[..] else { return None };
                let whole = sum.offset == Size::ZERO && loops.contains(&(var, *size)) && !vars.contains(&var);
                vars.push(whole.then_some(var)?);
            }
            Some(cell.buffer)
        }
        _ => None,
    }
}
