//! The stores of a program, with the loops around them and the cells that they read.

use broadloom_loops::{Binary, Cell, Index, LoopSum, LoopVar, Program, Size, Statement};

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
    /// By several loops that go through all its positions in order, as the digits of a number, of which this one is the highest:
    /// neighbouring positions have the same digit, so that devices with as many of them have as many of it.
    Highest(LoopVar),
    /// In any other way.
    Other,
}

impl Access<'_> {
    /// The way an axis of a cell is addressed, given its size. An axis of one element is never divided.
    pub fn way(&self, index: &Index, size: u64) -> AxisAddressing {
        let Index::At(sum) = index else { return AxisAddressing::Other };
        if sum.offset.as_number() != Some(0) || size < 2 {
            return AxisAddressing::Other;
        }
        match sum.terms[..] {
            [(one, var)] if one.as_number() == Some(1) && self.loops.contains(&(var, size)) => {
                AxisAddressing::Along(var)
            }
            [_, _, ..] => self.highest(sum, size).map_or(AxisAddressing::Other, AxisAddressing::Highest),
            _ => AxisAddressing::Other,
        }
    }

    /// The extent of a loop around it.
    pub fn extent(&self, var: LoopVar) -> u64 {
        self.loops.iter().find(|(known, _)| *known == var).map_or(1, |(_, extent)| *extent)
    }

    /// The loop that is the highest digit of a sum, if its loops are the digits of all numbers below a size: `6i + 2j + k`, `j` below 3, `k`
    /// below 2.
    fn highest(&self, sum: &LoopSum, size: u64) -> Option<LoopVar> {
        let term =
            |(weight, var): &(_, LoopVar)| Some((u64::try_from(Size::as_number(*weight)?).ok()?, *var));
        let mut terms: Vec<(u64, LoopVar)> = sum.terms.iter().map(term).collect::<Option<_>>()?;
        terms.sort_unstable();
        let mut next = 1;
        for (weight, var) in &terms {
            if *weight != next {
                return None;
            }
            next *= self.extent(*var);
        }
        terms.last().filter(|_| next == size).map(|(_, var)| *var)
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
