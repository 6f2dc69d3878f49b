//! The numbers of locals: unique in the whole program while passes run, small in each nest afterwards.

use super::rewrite::{each_mut, value_mut};
use crate::buffer::Local;
use crate::program::{Program, Statement};
use crate::scalar::Scalar;

/// Gives every local a number of its own, so that nests can be merged.
pub fn separate(program: &mut Program) {
    number(program, false);
}

/// Numbers the locals of each nest from 0.
pub fn compact(program: &mut Program) {
    number(program, true);
}

fn number(program: &mut Program, again: bool) {
    let (mut next, mut most) = (0, 0);
    for nest in &mut program.nests {
        if again {
            next = 0;
        }
        // Declarations come before uses, outermost first.
        let mut names: Vec<(Local, Local)> = Vec::new();
        each_mut(&mut nest.body, &mut |statement| {
            if let Some(value) = value_mut(statement) {
                rename(value, &names);
            }
            match statement {
                Statement::Declare { local, .. } => {
                    names.push((*local, Local(next)));
                    *local = Local(next);
                    next += 1;
                }
                Statement::Update { local, .. } => *local = lookup(*local, &names),
                _ => {}
            }
        });
        most = most.max(next);
    }
    program.locals = most;
}

fn lookup(local: Local, names: &[(Local, Local)]) -> Local {
    names.iter().find(|(old, _)| *old == local).map_or(local, |(_, new)| *new)
}

fn rename(scalar: &mut Scalar, names: &[(Local, Local)]) {
    if let Scalar::Local(local) = scalar {
        *local = lookup(*local, names);
    }
    scalar.children_mut().for_each(|child| rename(child, names));
}
