//! Parallel loops: iterations that do not depend on each other.
//!
//! A loop is independent if, for every buffer written in its body, the index on some axis
//! determines the iteration (see [`separates`](super::access::separates)), in reads and in writes;
//! and if no local from outside is written. Then no iteration touches what another writes. Only
//! outermost loops are marked, and none with checks: a run stops at the first check that fails.

use super::access::{Touch, places, separates};
use crate::buffer::Local;
use crate::program::{Loop, Program, Statement};

/// Marks the outermost loops that are independent. Returns how many.
pub fn parallel(program: &mut Program) -> usize {
    let mut marked = 0;
    for statement in program.nests.iter_mut().flat_map(|nest| &mut nest.body) {
        if let Statement::Loop(each) = statement
            && !each.parallel
            && is_independent(each)
        {
            each.parallel = true;
            marked += 1;
        }
    }
    marked
}

/// Returns true if the iterations of a loop may run in any order, or at the same time.
pub fn is_independent(each: &Loop) -> bool {
    let (mut declared, mut updated): (Vec<Local>, Vec<Local>) = Default::default();
    let mut alone = false;
    for statement in &each.body {
        statement.each(&mut |inner| match inner {
            Statement::Declare { local, .. } => declared.push(*local),
            Statement::Update { local, .. } => updated.push(*local),
            Statement::Fill { .. } | Statement::FillMargins { .. } | Statement::Check { .. } => alone = true,
            _ => {}
        });
    }
    let own = updated.iter().all(|local| declared.contains(local));
    let apart = || Touch::of(&each.body).writes.iter().all(|buffer| separates(&places(each, &[*buffer])));
    !alone && own && apart()
}
