//! The stores of a program, with the loops around them and the cells that they read.

use broadloom_loops::{Binary, Cell, Index, LoopVar, Program, Statement};

/// A store or a check, with the loops around it.
pub(crate) struct Access<'p> {
    /// The place of its nest.
    pub nest: usize,
    /// The variables and extents of the loops.
    pub loops: Vec<(LoopVar, u64)>,
    /// The cell that is written, or checked.
    pub cell: &'p Cell,
    /// The cells that are read, those in indices included, but not the old value of the cell that is written.
    pub reads: Vec<Cell>,
    pub kind: Kind,
}

/// The effect of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// It sets cells, or accumulates into them.
    Store(Option<Binary>),
    /// It compares the numbers in cells with a bound.
    Check,
}

/// The way an axis is addressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AxisAddressing {
    /// By a loop that goes through all its positions in order.
    Along(LoopVar),
    /// In any other way.
    Other,
}

impl Access<'_> {
    /// The way an axis of a cell is addressed, given its size. An axis of one element is never divided.
    pub fn way(&self, index: &Index, size: u64) -> AxisAddressing {
        let Index::At(sum) = index else { return AxisAddressing::Other };
        let [(coefficient, var)] = sum.terms[..] else { return AxisAddressing::Other };
        let plain = coefficient.as_number() == Some(1) && sum.offset.as_number() == Some(0) && size > 1;
        if plain && self.loops.contains(&(var, size)) {
            AxisAddressing::Along(var)
        } else {
            AxisAddressing::Other
        }
    }
}

/// All stores and checks of a program, in order.
pub(crate) fn accesses(program: &Program) -> Vec<Access<'_>> {
    let mut found = Vec::new();
    for (nest, each) in program.nests.iter().enumerate() {
        for statement in &each.body {
            inside(statement, nest, &mut Vec::new(), &mut found);
        }
    }
    found
}

fn inside<'p>(
    statement: &'p Statement,
    nest: usize,
    loops: &mut Vec<(LoopVar, u64)>,
    found: &mut Vec<Access<'p>>,
) {
    let (cell, kind) = match statement {
        Statement::Loop(each) => {
            loops.push((each.var, each.extent.as_number().unwrap_or_default() as u64));
            each.body.iter().for_each(|inner| inside(inner, nest, loops, found));
            loops.pop();
            return;
        }
        Statement::Store { cell, accumulate, .. } => (cell, Kind::Store(*accumulate)),
        Statement::Check { cell, .. } => (cell, Kind::Check),
        Statement::Sort { places: cell, .. } | Statement::Matrix { work: cell, .. } => {
            (cell, Kind::Store(None))
        }
        _ => return,
    };
    let mut reads = Vec::new();
    statement.each_read(&mut |cell| reads.push(cell.clone()));
    if matches!(kind, Kind::Store(Some(_))) {
        // Last comes the cell that is accumulated into, which stays where it is.
        reads.pop();
    }
    found.push(Access { nest, loops: loops.clone(), cell, reads, kind });
}
