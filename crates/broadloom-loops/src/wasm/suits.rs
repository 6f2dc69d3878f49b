//! The loops of which four turns can be computed at once: they compute in 32-bit floats, and neighbouring turns read and write neighbouring cells.
//!
//! ```text
//! for b:                    x[b] and y[b] are read four at a time, k is the same for all
//!   y[b] = x[b] * k         each turn has a cell of its own
//!   t += x[b]               a total: four parts, which are added up behind the loop
//! ```
//!
//! Statements of one turn stay in their order, so it suffices that no turn reads what another one writes: if a buffer is written, every access to it has the variable of the
//! loop, and nothing else, as the index of its last axis.

use rustc_hash::FxHashSet;

use crate::buffer::{Cell, Index, Local, LoopSum, LoopVar};
use crate::program::{Loop, Statement};
use crate::wasm::nest::NestWriter;
use crate::wasm::scalar::is_exact;
use crate::{Binary, BufferId, Dtype, Scalar, Unary};

/// The sums that the turns of a loop add to.
#[derive(Default)]
pub(crate) struct Totals {
    /// Locals from around the loop, with the function that accumulates them.
    pub locals: Vec<(Local, Binary)>,
    /// Cells.
    pub cells: Vec<(Cell, Binary)>,
}

/// The facts about a loop that are collected from its statements.
struct Look<'a> {
    writer: &'a NestWriter<'a>,
    var: LoopVar,
    totals: Totals,
    declared: FxHashSet<Local>,
    /// The locals that are read.
    used: FxHashSet<Local>,
    read: Vec<Cell>,
    /// The cells that each turn sets for itself.
    written: Vec<Cell>,
}

impl NestWriter<'_> {
    /// The totals of a loop of which four turns can be computed at once; nothing if they cannot.
    pub fn totals_of_fours(&self, each: &Loop) -> Option<Totals> {
        let mut look = Look {
            writer: self,
            var: each.var,
            totals: Totals::default(),
            declared: FxHashSet::default(),
            used: FxHashSet::default(),
            read: Vec::new(),
            written: Vec::new(),
        };
        each.body.iter().try_for_each(|statement| look.statement(statement, true))?;
        look.turns_are_apart().then_some(look.totals)
    }
}

impl NestWriter<'_> {
    /// The values in the statements of a loop itself that functions of the host compute, and that are the same in all turns: `0.9 ** step`.
    pub fn same_in_all_turns<'s>(&self, each: &'s Loop) -> Vec<&'s Scalar> {
        let (mut written, mut set) = (FxHashSet::default(), FxHashSet::default());
        for statement in &each.body {
            statement.each(&mut |inner| {
                written.extend(inner.written());
                if let Statement::Declare { local, .. } | Statement::Update { local, .. } = inner {
                    set.insert(*local);
                }
            });
        }
        let is_same = |scalar: &Scalar| {
            let mut same = true;
            scalar.each(&mut |inner| {
                same &= match inner {
                    Scalar::Load(cell) => {
                        let mut buffers = vec![cell.buffer];
                        cell.each_index(&mut |index| {
                            if let Index::Value(inner) = index {
                                buffers.push(inner.buffer);
                            }
                        });
                        !cell.mentions(each.var) && !buffers.iter().any(|buffer| written.contains(buffer))
                    }
                    Scalar::Local(local) => !set.contains(local),
                    Scalar::Position(sum) => !mentions(&Index::At(sum.clone()), each.var),
                    Scalar::Uniform { .. } => false,
                    _ => true,
                }
            });
            same
        };
        let mut found = Vec::new();
        for value in each.body.iter().filter_map(Statement::value) {
            collect_calls(value, &is_same, &mut found);
        }
        found
    }
}

/// Collects the greatest parts of a value that are the same in all turns and that functions of the host compute.
fn collect_calls<'s>(value: &'s Scalar, is_same: &impl Fn(&Scalar) -> bool, found: &mut Vec<&'s Scalar>) {
    let mut calls = false;
    value.each(&mut |inner| calls |= is_call(inner));
    if !calls {
        return;
    }
    if is_same(value) {
        if !found.contains(&value) {
            found.push(value);
        }
        return;
    }
    value.children().for_each(|child| collect_calls(child, is_same, found));
}

/// Returns true if a function of the host computes a value from its operands.
fn is_call(value: &Scalar) -> bool {
    match value {
        Scalar::Unary(function, _) => !is_exact(*function) && *function != Unary::Not,
        Scalar::Binary(function, ..) => {
            let has_code = matches!(
                function,
                Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Max | Binary::Min
            );
            !has_code && !function.is_comparison() && !matches!(function, Binary::And | Binary::Or)
        }
        _ => false,
    }
}

impl Look<'_> {
    fn statement(&mut self, statement: &Statement, is_outer: bool) -> Option<()> {
        let reals = &self.writer.reals;
        match statement {
            Statement::Loop(each) => {
                each.extent.as_number()?;
                return each.body.iter().try_for_each(|inner| self.statement(inner, false));
            }
            Statement::Declare { local, value } => {
                self.declared.insert(*local);
                self.value(value)?;
                narrow(reals.of_local(*local))?;
            }
            Statement::Update { local, accumulate, value } => {
                self.value(value)?;
                narrow(reals.of_local(*local))?;
                if !self.declared.contains(local) {
                    self.totals
                        .locals
                        .push((*local, accumulate.filter(|function| starts(*function).is_some())?));
                }
            }
            Statement::Store { cell, accumulate, value } => {
                self.value(value)?;
                self.cell(cell)?;
                match self.writer.step_along(cell, self.var)? {
                    1 => self.written.push(cell.clone()),
                    0 if is_outer => {
                        let function = accumulate.filter(|function| starts(*function).is_some())?;
                        self.totals.cells.push((cell.clone(), function));
                    }
                    _ => return None,
                }
            }
            _ => return None,
        }
        narrow(reals.of_statement(statement))
    }

    /// Looks at a value. All its cells hold 32-bit floats.
    fn value(&mut self, value: &Scalar) -> Option<()> {
        let mut suits = Some(());
        value.each(&mut |scalar| match scalar {
            Scalar::Load(cell) => {
                suits = suits.and_then(|()| self.cell(cell));
                self.read.push(cell.clone());
            }
            Scalar::Local(local) => {
                self.used.insert(*local);
            }
            Scalar::Position(sum) => suits = suits.filter(|()| is_small(sum)),
            _ => {}
        });
        suits
    }

    fn cell(&mut self, cell: &Cell) -> Option<()> {
        let has_floats = self.writer.program.buffer(cell.buffer).dtype == Dtype::F32;
        let step = self.writer.step_along(cell, self.var)?;
        cell.each_index(&mut |index| {
            if let Index::Value(inner) = index {
                self.read.push(Cell::clone(inner));
            }
        });
        (has_floats && matches!(step, 0 | 1)).then_some(())
    }

    /// Returns true if no turn reads or writes what another one writes.
    fn turns_are_apart(&self) -> bool {
        let own = Index::At(LoopSum::iterate(self.var));
        let mut written: FxHashSet<BufferId> = FxHashSet::default();
        for cell in &self.written {
            written.insert(cell.buffer);
        }
        let accesses = self.read.iter().chain(&self.written).filter(|cell| written.contains(&cell.buffer));
        let have_own_cells = accesses.into_iter().all(|cell| {
            let (last, outer) = match cell.index.split_last() {
                Some((last, outer)) => (last, outer),
                None => return false,
            };
            *last == own && !outer.iter().any(|index| mentions(index, self.var))
        });
        let totals = &self.totals;
        let once = |cell: &Cell| {
            let is_other = |other: &&Cell| other.buffer == cell.buffer;
            let others = totals.cells.iter().map(|(cell, _)| cell).filter(is_other).count();
            others == 1 && !self.read.iter().chain(&self.written).any(|other| other.buffer == cell.buffer)
        };
        let is_only_total = |(local, function): &(Local, Binary)| {
            let same = totals.locals.iter().filter(|(other, _)| other == local);
            !self.used.contains(local) && same.into_iter().all(|(_, other)| other == function)
        };
        have_own_cells
            && totals.cells.iter().all(|(cell, _)| once(cell))
            && totals.locals.iter().all(is_only_total)
    }
}

/// The number that the parts of a total start from; nothing if its parts cannot be computed apart.
pub(crate) fn starts(function: Binary) -> Option<f32> {
    match function {
        Binary::Add => Some(0.0),
        Binary::Mul => Some(1.0),
        Binary::Max => Some(f32::NEG_INFINITY),
        Binary::Min => Some(f32::INFINITY),
        _ => None,
    }
}

fn narrow(real: Dtype) -> Option<()> {
    (real != Dtype::F64).then_some(())
}

fn mentions(index: &Index, var: LoopVar) -> bool {
    match index {
        Index::At(sum) => sum.terms.iter().any(|(_, known)| *known == var),
        Index::Symbol(_) => false,
        Index::Value(cell) => cell.mentions(var),
    }
}

/// Returns true if a position is certainly a number of 32 bits: memory has no more cells, and factors are small.
fn is_small(sum: &LoopSum) -> bool {
    const MOST: i64 = 1 << 24;
    let small = |size: Option<i64>| size.is_some_and(|size| size.abs() < MOST);
    small(sum.offset.as_number())
        && sum.terms.len() == 1
        && sum.terms.iter().all(|(factor, _)| factor.as_number() == Some(1))
        || sum.terms.is_empty() && small(sum.offset.as_number())
}
