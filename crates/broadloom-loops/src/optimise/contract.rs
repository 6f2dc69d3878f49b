//! Arrays become scalars: a value that is written and read in one iteration is held in a local.
//!
//! - A local buffer without margins that one nest alone uses becomes a local if all its places in
//!   the nest are the same cell, and the first is a plain store that precedes all others, in the
//!   same body or around them: then each iteration reads only values that it has written itself.
//! - A load behind a store to the same cell, with no other write to the buffer in between, takes the value that
//!   was stored. And a store that is accumulated into at once is carried out with the accumulation.
//!
//! Locals that are only another name of a local are dropped as well.
//!
//! In the first two cases the value is used without having been rounded; [`rounding`](super::rounding) says when that is
//! allowed.

use super::access::{Touch, Uses, each_cell};
use super::rewrite::{each_mut, replace_in_body, replace_loads, value_mut};
use super::rounding::Rounding;
use crate::buffer::{BufferId, Cell, Index, Local, Storage};
use crate::function::Binary;
use crate::program::{Program, Statement};
use crate::scalar::Scalar;

/// Holds cells in locals. Returns the number of buffers, loads and stores that were removed.
pub fn contract(program: &mut Program) -> usize {
    let rounding = Rounding::of(program);
    let uses = Uses::of(program);
    let mut changes = 0;
    for at in 0..program.buffers.len() {
        let id = BufferId(at as u32);
        let buffer = program.buffer(id);
        if buffer.storage != Storage::Local || buffer.has_margins() {
            continue;
        }
        let Some(nest) = uses.only_nest(id) else { continue };
        let mut body = program.nests[nest].body.clone();
        let local = Local(program.locals);
        if is_one_cell(program, &rounding, &body, id) && hold(&mut body, id, local).is_some() {
            program.nests[nest].body = body;
            program.locals += 1;
            changes += 1;
        }
    }
    let mut nests = std::mem::take(&mut program.nests);
    for nest in &mut nests {
        forward(program, &rounding, &mut nest.body, &mut changes);
        copies(&mut nest.body);
    }
    program.nests = nests;
    changes
}

/// Returns true if all places of a buffer are the same cell, with indices that do not depend on
/// buffers, and all stored values may be used unrounded.
fn is_one_cell(program: &Program, rounding: &Rounding, body: &[Statement], id: BufferId) -> bool {
    let mut first: Option<&Cell> = None;
    let mut same = true;
    for statement in body {
        let mut all = Vec::new();
        collect(statement, &mut all);
        for inner in all {
            each_cell(inner, &mut |cell| {
                if cell.buffer == id {
                    same &= **first.get_or_insert(cell) == *cell && is_steady(cell);
                }
            });
            match inner {
                Statement::Store { cell, accumulate, value } if cell.buffer == id => {
                    same &= may_skip(program, rounding, id, *accumulate, value);
                }
                Statement::Fill { buffer, .. } | Statement::FillMargins { buffer, .. } => {
                    same &= *buffer != id
                }
                _ => {}
            }
        }
    }
    same && first.is_some()
}

fn collect<'a>(statement: &'a Statement, all: &mut Vec<&'a Statement>) {
    all.push(statement);
    if let Statement::Loop(each) = statement {
        each.body.iter().for_each(|inner| collect(inner, all));
    }
}

/// Returns true if the indices of a cell do not depend on the contents of buffers.
fn is_steady(cell: &Cell) -> bool {
    cell.index.iter().all(|index| !matches!(index, Index::Value(_)))
}

/// Returns true if a stored value may be used unrounded, also when it is accumulated.
fn may_skip(
    program: &Program,
    rounding: &Rounding,
    id: BufferId,
    accumulate: Option<Binary>,
    value: &Scalar,
) -> bool {
    match accumulate {
        None | Some(Binary::Max | Binary::Min) => rounding.may_be_held(program, id, value),
        // A sum of exact numbers need not be exact.
        Some(function) => {
            let sum = Scalar::binary(function, value.clone(), value.clone());
            rounding.may_be_held(program, id, &sum)
        }
    }
}

/// Replaces a buffer by a local in a body that has all its places. None if the first of them is not
/// a plain store that precedes the others.
fn hold(body: &mut [Statement], id: BufferId, local: Local) -> Option<()> {
    let touches = |statement: &Statement| Touch::of(std::slice::from_ref(statement)).touches(id);
    let at = body.iter().position(touches)?;
    let (head, rest) = body.split_at_mut(at + 1);
    match &mut head[at] {
        Statement::Store { cell, accumulate: None, value } if cell.buffer == id => {
            let mut reads_itself = false;
            value.each_load(&mut |cell| reads_itself |= cell.buffer == id);
            if reads_itself {
                return None;
            }
            head[at] = Statement::Declare { local, value: value.clone() };
        }
        Statement::Loop(each) if !rest.iter().any(touches) => return hold(&mut each.body, id, local),
        _ => return None,
    }
    stores(rest, id, local);
    replace_in_body(rest, &mut |cell| (cell.buffer == id).then_some(Scalar::Local(local)))
}

/// Turns stores into a buffer into updates of a local.
fn stores(body: &mut [Statement], id: BufferId, local: Local) {
    for statement in body {
        match statement {
            Statement::Loop(each) => stores(&mut each.body, id, local),
            Statement::Store { cell, accumulate, value } if cell.buffer == id => {
                *statement = Statement::Update { local, accumulate: *accumulate, value: value.clone() };
            }
            _ => {}
        }
    }
}

/// Passes stored values on to the loads and accumulations behind the store.
fn forward(program: &mut Program, rounding: &Rounding, body: &mut Vec<Statement>, changes: &mut usize) {
    let mut at = 0;
    while at < body.len() {
        if let Statement::Loop(each) = &mut body[at] {
            forward(program, rounding, &mut each.body, changes);
        }
        if let Statement::Store { cell, accumulate: None, value } = &body[at]
            && is_steady(cell)
            && rounding.may_be_held(program, cell.buffer, value)
        {
            let (cell, value) = (cell.clone(), value.clone());
            *changes += forward_from(program, body, at, cell, value);
        }
        at += 1;
    }
}

/// Passes on the value of one store. Returns how many statements changed.
fn forward_from(
    program: &mut Program,
    body: &mut Vec<Statement>,
    at: usize,
    cell: Cell,
    value: Scalar,
) -> usize {
    let writes = |statement: &Statement| {
        Touch::of(std::slice::from_ref(statement)).writes.binary_search(&cell.buffer).is_ok()
    };
    let end = body[at + 1..].iter().position(writes).map_or(body.len(), |behind| at + 1 + behind);
    // A number, or a local that is not updated later, needs no other name.
    let named = match &value {
        Scalar::Number(_) => Some(value.clone()),
        Scalar::Local(local) if !updates(&body[at + 1..], *local) => Some(value.clone()),
        _ => None,
    };
    let held = named.clone().unwrap_or(Scalar::Local(Local(program.locals)));
    let mut loads = 0;
    let mut rest = body[at + 1..].to_vec();
    let (between, behind) = rest.split_at_mut(end - at - 1);
    let mut with = |load: &Cell| {
        loads += usize::from(*load == cell);
        (*load == cell).then(|| held.clone())
    };
    if replace_in_body(between, &mut with).is_none() {
        return 0;
    }
    // The value of the store that ends the range is computed before it writes.
    let mut merged = false;
    if let Some(Statement::Store { cell: next, accumulate, value: next_value }) = behind.first_mut() {
        if replace_loads(next_value, &mut with).is_none() {
            return 0;
        }
        let mut still_read = false;
        let mut look = |load: &Cell| still_read |= load.buffer == cell.buffer;
        next_value.each_load(&mut look);
        between.iter().for_each(|statement| {
            statement
                .each(&mut |inner| inner.each_read(&mut |load| still_read |= load.buffer == cell.buffer));
        });
        if let Some(function) = *accumulate
            && *next == cell
            && !still_read
        {
            (*accumulate, merged) = (None, true);
            *next_value = Scalar::binary(function, held.clone(), next_value.clone());
        }
    }
    if loads == 0 && !merged {
        return 0;
    }
    let mut start = Vec::new();
    if named.is_none() {
        start.push(Statement::Declare { local: Local(program.locals), value });
        program.locals += 1;
    }
    if !merged {
        start.push(Statement::Store { cell, accumulate: None, value: held });
    }
    body.truncate(at);
    body.extend(start);
    body.extend(rest);
    loads + usize::from(merged)
}

/// Drops locals that are other locals under a second name.
fn copies(body: &mut Vec<Statement>) {
    let mut at = 0;
    while at < body.len() {
        if let Statement::Loop(each) = &mut body[at] {
            copies(&mut each.body);
        }
        if let Statement::Declare { local, value: Scalar::Local(other) } = body[at]
            && !updates(&body[at + 1..], local)
            && !updates(&body[at + 1..], other)
        {
            body.remove(at);
            each_mut(&mut body[at..], &mut |statement| {
                if let Some(value) = value_mut(statement) {
                    rename_local(value, local, other);
                }
            });
        } else {
            at += 1;
        }
    }
}

fn rename_local(scalar: &mut Scalar, from: Local, to: Local) {
    if let Scalar::Local(local) = scalar
        && *local == from
    {
        *local = to;
    }
    scalar.children_mut().for_each(|child| rename_local(child, from, to));
}

/// Returns true if a body updates a local.
fn updates(body: &[Statement], local: Local) -> bool {
    let mut found = false;
    for statement in body {
        statement.each(&mut |inner| {
            found |= matches!(inner, Statement::Update { local: known, .. } if *known == local);
        });
    }
    found
}
