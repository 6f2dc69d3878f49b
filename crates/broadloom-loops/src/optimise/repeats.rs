//! Programs with repeats: the nests of each repeat are a program of their own, and so are those between two.
//!
//! The other passes reason about nests that run once, one after another. For each group of nests they still may, if what comes
//! from outside and what is wanted outside is kept in it: the buffers that the group reads before it writes them, from another
//! group or from the turn before, and those that a later group may read before it has written all of them. A value that is kept is
//! neither made virtual nor dropped, so a group leaves behind what it would have left without optimisation.

use std::ops::Range;

use broadloom_core::Size;
use rustc_hash::FxHashSet;

use super::{PassOptions, Report, locals, optimise_with_report};
use crate::buffer::{BufferId, Index, Storage};
use crate::program::{Program, Repeat, Statement};

/// The program in which each group of nests is optimised by itself.
pub fn optimised(program: &Program, options: &PassOptions) -> (Program, Report) {
    let mut result = Program { nests: Vec::new(), repeats: Vec::new(), ..program.clone() };
    let mut report = Report::default();
    for (nests, repeat) in program.groups() {
        let lasting = lasting(program, &nests);
        let mut buffers = result.buffers.clone();
        lasting.iter().for_each(|id| buffers[id.index()].storage = Storage::Kept);
        let group = Program {
            buffers,
            vars: result.vars.clone(),
            nests: program.nests[nests].to_vec(),
            repeats: Vec::new(),
            ..program.clone()
        };
        let (group, changes) = optimise_with_report(&group, options);
        report.add(changes);
        let start = result.nests.len();
        result.buffers.extend(group.buffers.into_iter().skip(result.buffers.len()));
        result.vars = group.vars;
        result.nests.extend(group.nests);
        if let Some(repeat) = repeat {
            result.repeats.push(Repeat { nests: start..result.nests.len(), ..repeat.clone() });
        }
    }
    locals::compact(&mut result);
    (result, report)
}

/// The buffers whose contents matter before or after some nests.
fn lasting(program: &Program, nests: &Range<usize>) -> FxHashSet<BufferId> {
    let mut lasting = program.read_first(nests.clone());
    let mut overwritten = FxHashSet::default();
    for nest in nests.end..program.nests.len() {
        let read = program.read_first(nest..nest + 1);
        let whole = all_written(program, &program.nests[nest].body).filter(|id| !read.contains(id));
        overwritten.extend(whole.filter(|id| !lasting.contains(id)));
        lasting.extend(program.mentioned(nest..nest + 1).difference(&overwritten));
    }
    lasting
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
            let mut vars: Vec<u32> = Vec::new();
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
