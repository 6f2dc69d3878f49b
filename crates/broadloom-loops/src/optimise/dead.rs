//! Dead code: results that are never read are not computed.
//!
//! Going backwards through the program, a buffer is *live* where its contents may still be read: at
//! the end, if it is kept. The inside and the margins are tracked separately. A nest all of whose
//! stores go to dead places is dropped, unless it checks an index. In a nest that stays, stores
//! into buffers that are never read are dropped. The margins of a local buffer are live at the end if
//! any nest reads them, because they hold from run to run.

use super::access::{Perfect, Scope, each_in_scope, is_inside, is_onto};
use crate::buffer::{BufferId, Storage};
use crate::program::{Nest, Program, Statement};
use crate::scalar::Scalar;

/// Removes dead nests, stores and locals. Returns how many.
pub fn dead(program: &mut Program) -> usize {
    let mut changes = 0;
    let margins_read = margins_read(program);
    let mut live: Vec<Live> = (0..program.buffers.len())
        .map(|buffer| {
            let kept = program.buffers[buffer].storage == Storage::Kept;
            Live { inside: kept, margins: kept || margins_read[buffer] }
        })
        .collect();
    let mut nests = std::mem::take(&mut program.nests);
    for nest in nests.iter_mut().rev() {
        changes += dead_stores(program, nest, &live);
        changes += dead_locals(&mut nest.body);
        if let Some((buffer, part)) = overwritten(program, nest) {
            live[buffer.index()].inside &= !part.inside;
            live[buffer.index()].margins &= !part.margins;
        }
        each_in_scope(&nest.body, &mut Scope::new(), &mut |statement, scope| {
            statement.each_read(&mut |cell| {
                let inside = is_inside(program, cell, scope);
                live[cell.buffer.index()].inside = true;
                live[cell.buffer.index()].margins |= !inside;
            });
        });
    }
    nests.retain(|nest| !nest.body.is_empty());
    program.nests = nests;
    changes
}

/// Flags for the two parts of a buffer.
#[derive(Clone, Copy, Debug)]
struct Live {
    inside: bool,
    margins: bool,
}

/// The buffers whose margins some nest reads, other than to accumulate there.
fn margins_read(program: &Program) -> Vec<bool> {
    let mut read = vec![false; program.buffers.len()];
    for nest in &program.nests {
        each_in_scope(&nest.body, &mut Scope::new(), &mut |statement, scope| {
            let mut look = |cell: &crate::Cell| read[cell.buffer.index()] |= !is_inside(program, cell, scope);
            match statement {
                Statement::Store { cell, value, .. } => {
                    value.each_load(&mut look);
                    cell.each_index(&mut |index| {
                        if let crate::Index::Value(inner) = index {
                            look(inner);
                        }
                    });
                }
                other => other.each_read(&mut look),
            }
        });
    }
    read
}

/// Drops stores into buffers that are dead behind the nest and that the rest of the nest does not
/// read.
fn dead_stores(program: &Program, nest: &mut Nest, live: &[Live]) -> usize {
    let mut changes = 0;
    loop {
        // The buffers that the nest reads, other than to accumulate into them.
        let mut read: Vec<BufferId> = Vec::new();
        for statement in &nest.body {
            statement.each(&mut |inner| match inner {
                Statement::Store { cell, value, .. } => {
                    value.each_load(&mut |load| {
                        if load.buffer != cell.buffer || nest_writes_more(&nest.body, cell.buffer) {
                            read.push(load.buffer);
                        }
                    });
                    cell.each_index(&mut |index| {
                        if let crate::Index::Value(inner) = index {
                            read.push(inner.buffer);
                        }
                    });
                }
                // It reads what it writes.
                Statement::Matrix { .. } => {}
                other => other.each_read(&mut |cell| read.push(cell.buffer)),
            });
        }
        let mut dropped = 0;
        remove(&mut nest.body, &mut Scope::new(), &mut |statement, scope| {
            let dead = match statement {
                Statement::Store { cell, .. } => {
                    let live = live[cell.buffer.index()];
                    let margins = live.margins && !is_inside(program, cell, scope);
                    !live.inside && !margins && !read.contains(&cell.buffer)
                }
                Statement::Sort { places: cell, .. } | Statement::Matrix { work: cell, .. } => {
                    !live[cell.buffer.index()].inside && !read.contains(&cell.buffer)
                }
                Statement::Fill { buffer, .. } => {
                    let live = live[buffer.index()];
                    let margins = live.margins && program.buffer(*buffer).has_margins();
                    !live.inside && !margins && !read.contains(buffer)
                }
                Statement::FillMargins { buffer, .. } => {
                    !live[buffer.index()].margins && !read.contains(buffer)
                }
                _ => false,
            };
            dropped += usize::from(dead);
            dead
        });
        changes += dropped;
        if dropped == 0 {
            return changes;
        }
    }
}

/// Returns true if a body has more than one statement that writes a buffer.
fn nest_writes_more(body: &[Statement], buffer: BufferId) -> bool {
    let mut writes = 0;
    for statement in body {
        statement.each(&mut |inner| writes += usize::from(inner.written() == Some(buffer)));
    }
    writes > 1
}

/// Drops locals that are never read.
fn dead_locals(body: &mut Vec<Statement>) -> usize {
    let mut changes = 0;
    loop {
        let mut read: Vec<crate::Local> = Vec::new();
        for statement in body.iter() {
            statement.each(&mut |inner| {
                let own = match inner {
                    Statement::Update { local, .. } => Some(*local),
                    _ => None,
                };
                if let Some(value) = inner.value() {
                    each_local(value, &mut |local| {
                        if Some(local) != own {
                            read.push(local);
                        }
                    });
                }
            });
        }
        let mut dropped = 0;
        remove(body, &mut Scope::new(), &mut |statement, _| {
            let dead = match statement {
                Statement::Declare { local, .. } | Statement::Update { local, .. } => !read.contains(local),
                _ => false,
            };
            dropped += usize::from(dead);
            dead
        });
        changes += dropped;
        if dropped == 0 {
            return changes;
        }
    }
}

fn each_local(scalar: &Scalar, visit: &mut dyn FnMut(crate::Local)) {
    if let Scalar::Local(local) = scalar {
        visit(*local);
    }
    scalar.children().for_each(|child| each_local(child, visit));
}

/// Removes statements, and the loops that become empty.
fn remove(body: &mut Vec<Statement>, scope: &mut Scope, dead: &mut dyn FnMut(&Statement, &Scope) -> bool) {
    body.retain_mut(|statement| {
        if dead(statement, scope) {
            return false;
        }
        let Statement::Loop(each) = statement else { return true };
        scope.push((each.var, each.extent));
        remove(&mut each.body, scope, dead);
        scope.pop();
        !each.body.is_empty()
    });
}

/// The part of a buffer that a nest surely overwrites without having read it.
fn overwritten(program: &Program, nest: &Nest) -> Option<(BufferId, Live)> {
    match nest.body[..] {
        [Statement::Fill { buffer, .. }] => return Some((buffer, Live { inside: true, margins: true })),
        [Statement::FillMargins { buffer, .. }] => {
            return Some((buffer, Live { inside: false, margins: true }));
        }
        _ => {}
    }
    let (cell, loops) = match Perfect::of(nest) {
        Some(perfect) if perfect.accumulate.is_none() => (perfect.cell, perfect.loops),
        _ => canonical_store(nest)?,
    };
    // A read of the buffer itself makes it live again at once: the caller looks at reads last.
    is_onto(program, cell, &loops).then_some((cell.buffer, Live { inside: true, margins: false }))
}

/// The cell of a canonical reduction that is stored plainly, and the loops around it.
fn canonical_store(nest: &Nest) -> Option<(&crate::Cell, Scope)> {
    let (mut loops, mut body) = (Scope::new(), &nest.body);
    while let [Statement::Loop(each)] = body.as_slice() {
        loops.push((each.var, each.extent));
        body = &each.body;
    }
    match body.as_slice() {
        [Statement::Declare { .. }, Statement::Loop(_), Statement::Store { cell, accumulate: None, .. }] => {
            Some((cell, loops))
        }
        _ => None,
    }
}
