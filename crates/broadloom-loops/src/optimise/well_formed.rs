//! The form that every pass relies on. A program that does not have it is left unchanged.
//!
//! - Every cell has one index per axis of its buffer, and every buffer, variable, local and symbol exists.
//! - A variable is used inside its loop only, and no two loops of a nest share one.
//! - Repeats are in order, apart from each other or one inside of the other, and count with symbols that exist.
//! - A local is declared before it is used, in the same body or one around it, and once.

use std::ops::Range;

use crate::buffer::{Cell, Index, Local, LoopSum, LoopVar};
use crate::program::{Program, Statement};
use crate::scalar::Scalar;

/// Returns true if a program has the form that the passes expect.
pub fn is_well_formed(program: &Program) -> bool {
    let mut start = 0;
    let mut around: Vec<usize> = Vec::new();
    let repeats = program.repeats.iter().all(|repeat| {
        let Range { start: first, end } = repeat.nests.clone();
        around.retain(|end| first < *end);
        let inside = end <= around.last().copied().unwrap_or(program.nests.len());
        let follows = start <= first && first < end && inside;
        start = first;
        around.push(end);
        let segment = repeat.segment.iter().flat_map(|segment| [segment.number, segment.place]);
        let mut symbols = segment.chain([repeat.symbol]);
        follows && symbols.all(|symbol| (symbol as usize) < program.symbols.len())
    });
    repeats
        && program.nests.iter().all(|nest| {
            let mut check = Check {
                program,
                vars: Vec::new(),
                used: Vec::new(),
                locals: Vec::new(),
                declared: Vec::new(),
            };
            check.block(&nest.body)
        })
}

struct Check<'a> {
    program: &'a Program,
    /// Variables and locals in scope, and all those that the nest has used so far.
    vars: Vec<LoopVar>,
    used: Vec<LoopVar>,
    locals: Vec<Local>,
    declared: Vec<Local>,
}

impl Check<'_> {
    fn block(&mut self, body: &[Statement]) -> bool {
        let scope = self.locals.len();
        let good = body.iter().all(|statement| self.statement(statement));
        self.locals.truncate(scope);
        good
    }

    fn statement(&mut self, statement: &Statement) -> bool {
        match statement {
            Statement::Loop(each) => {
                if self.used.contains(&each.var) || each.var.index() >= self.program.vars.len() {
                    return false;
                }
                self.used.push(each.var);
                self.vars.push(each.var);
                let good = self.block(&each.body);
                self.vars.pop();
                good
            }
            Statement::Store { cell, value, .. } => self.cell(cell) && self.scalar(value),
            Statement::Declare { local, value } => {
                let fresh = !self.declared.contains(local) && local.0 < self.program.locals;
                let good = fresh && self.scalar(value);
                self.locals.push(*local);
                self.declared.push(*local);
                good
            }
            Statement::Update { local, value, .. } => self.locals.contains(local) && self.scalar(value),
            Statement::Check { cell, of, .. } => self.cell(cell) && of.index() < self.program.buffers.len(),
            Statement::Sort { keys, places, axis, .. } => {
                let places_well = self.cell(keys) && self.cell(places);
                places_well && [keys, places].iter().all(|cell| (*axis as usize) < cell.index.len())
            }
            Statement::Matrix { work, .. } => self.cell(work) && !work.index.is_empty(),
            Statement::Fill { buffer, .. } | Statement::FillMargins { buffer, .. } => {
                buffer.index() < self.program.buffers.len()
            }
        }
    }

    fn sum(&self, sum: &LoopSum) -> bool {
        sum.terms.iter().all(|(_, var)| self.vars.contains(var))
    }

    fn symbol(&self, symbol: u32) -> bool {
        (symbol as usize) < self.program.symbols.len()
    }

    fn cell(&self, cell: &Cell) -> bool {
        let rank = self.program.buffers.get(cell.buffer.index()).map(|buffer| buffer.sizes.len());
        rank == Some(cell.index.len())
            && cell.index.iter().all(|index| match index {
                Index::At(sum) => self.sum(sum),
                Index::Symbol(symbol) => self.symbol(*symbol),
                Index::Value(inner) => self.cell(inner),
            })
    }

    fn scalar(&self, scalar: &Scalar) -> bool {
        let good = match scalar {
            Scalar::Load(cell) => self.cell(cell),
            Scalar::Local(local) => self.locals.contains(local),
            Scalar::Position(sum) => self.sum(sum),
            Scalar::Symbol(symbol) => self.symbol(*symbol),
            Scalar::Uniform { key, at, .. } => self.symbol(*key) && self.sum(at),
            _ => true,
        };
        good && scalar.children().all(|child| self.scalar(child))
    }
}
