//! Duplicates: two nests that compute the same values into two buffers are merged.
//!
//! Nests are compared as written, up to the names of variables and locals. For each buffer that
//! they read, the number of writes to it so far is compared too: two nests are the same only if all
//! of that agrees. The second buffer must be local. Both buffers must have no margins, and each
//! must be written completely by its nest alone before anything reads it. Then readers of the
//! second buffer read the first instead.

use rustc_hash::FxHashMap;

use super::access::{Scope, Touch, Uses, simple_axes};
use super::rewrite::replace_in_body;
use crate::buffer::{BufferId, Cell, Index, Local, LoopSum, LoopVar, Storage};
use crate::function::Binary;
use crate::program::{Program, Statement};
use crate::scalar::Scalar;

/// Merges nests that compute the same. Returns how many were dropped.
pub fn duplicates(program: &mut Program) -> usize {
    let uses = Uses::of(program);
    let mut writes = vec![0u64; program.buffers.len()];
    let mut same: FxHashMap<BufferId, BufferId> = FxHashMap::default();
    let mut known: FxHashMap<Vec<u64>, BufferId> = FxHashMap::default();
    let mut dropped = Vec::new();
    for (at, nest) in program.nests.iter().enumerate() {
        if let Some(target) = target(program, &uses, at) {
            let mut key = Key {
                program,
                target,
                writes: &writes,
                same: &same,
                tokens: Vec::new(),
                vars: Vec::new(),
                locals: Vec::new(),
            };
            key.block(&nest.body);
            let tokens = key.tokens;
            match known.get(&tokens) {
                Some(first) if program.buffer(target).storage == Storage::Local => {
                    same.insert(target, *first);
                    dropped.push(at);
                }
                _ => {
                    known.insert(tokens, target);
                }
            }
        }
        for buffer in Touch::of(&nest.body).writes {
            writes[buffer.index()] += 1;
        }
    }
    if dropped.is_empty() {
        return 0;
    }
    for at in dropped.iter().rev() {
        program.nests.remove(*at);
    }
    for nest in &mut program.nests {
        let _ = replace_in_body(&mut nest.body, &mut |cell| {
            let first = same.get(&cell.buffer)?;
            Some(Scalar::Load(Cell { buffer: *first, index: cell.index.clone() }))
        });
    }
    dropped.len()
}

/// The buffer that a nest writes, if it is the only one to write it, and writes all of it.
fn target(program: &Program, uses: &Uses, at: usize) -> Option<BufferId> {
    let nest = &program.nests[at];
    let (mut loops, mut body) = (Scope::new(), &nest.body);
    while let [Statement::Loop(each)] = body.as_slice() {
        loops.push((each.var, each.extent));
        body = &each.body;
    }
    let Some(Statement::Store { cell, accumulate: None, .. }) = body.last() else { return None };
    let id = cell.buffer;
    let buffer = program.buffer(id);
    let alone = uses.writers[id.index()] == [at] && Touch::of(&nest.body).writes == [id];
    let later = uses.readers[id.index()].iter().all(|reader| *reader > at);
    let mut scalar = true;
    nest.body.iter().for_each(|statement| statement.each(&mut |inner| scalar &= inner.is_scalar()));
    let mut stores = 0;
    nest.body.iter().for_each(|statement| {
        statement.each(&mut |inner| stores += usize::from(matches!(inner, Statement::Store { .. })));
    });
    let sorted = |at: &usize| {
        let mut found = false;
        let body = &program.nests[*at].body;
        body.iter().for_each(|statement| {
            statement.each(&mut |inner| {
                found |= matches!(inner, Statement::Sort { .. } | Statement::Matrix { .. })
            });
        });
        found
    };
    if uses.readers[id.index()].iter().any(sorted) {
        return None;
    }
    let whole = simple_axes(cell, &buffer.sizes, &loops).is_some();
    (alone && later && whole && scalar && stores == 1 && !buffer.has_margins()).then_some(id)
}

/// A nest as a list of numbers.
struct Key<'a> {
    program: &'a Program,
    target: BufferId,
    writes: &'a [u64],
    same: &'a FxHashMap<BufferId, BufferId>,
    tokens: Vec<u64>,
    vars: Vec<LoopVar>,
    locals: Vec<Local>,
}

impl Key<'_> {
    fn block(&mut self, body: &[Statement]) {
        for statement in body {
            match statement {
                Statement::Loop(each) => {
                    self.tokens.extend([1, each.extent.code()]);
                    self.vars.push(each.var);
                    self.block(&each.body);
                }
                Statement::Store { cell, accumulate, value } => {
                    self.tokens.push(2);
                    self.function(*accumulate);
                    self.cell(cell);
                    self.scalar(value);
                }
                Statement::Declare { local, value } => {
                    self.tokens.push(3);
                    self.locals.push(*local);
                    self.scalar(value);
                }
                Statement::Update { local, accumulate, value } => {
                    self.tokens.push(4);
                    self.local(*local);
                    self.function(*accumulate);
                    self.scalar(value);
                }
                // Nests with these are not compared.
                Statement::Check { .. }
                | Statement::Sort { .. }
                | Statement::Matrix { .. }
                | Statement::Fill { .. }
                | Statement::FillMargins { .. } => {
                    self.tokens.push(5);
                }
            }
        }
        self.tokens.push(6);
    }

    fn function(&mut self, function: Option<Binary>) {
        self.tokens.push(function.map_or(0, |function| function as u64 + 1));
    }

    fn local(&mut self, local: Local) {
        let place = self.locals.iter().position(|known| *known == local);
        self.tokens.push(place.map_or(u64::MAX, |place| place as u64));
    }

    fn sum(&mut self, sum: &LoopSum) {
        // In the order of the loops: the numbers of variables do not matter.
        let place =
            |var: LoopVar| self.vars.iter().position(|known| *known == var).unwrap_or(usize::MAX) as u64;
        let mut terms: Vec<(u64, u64)> =
            sum.terms.iter().map(|(factor, var)| (place(*var), factor.code())).collect();
        terms.sort_unstable();
        self.tokens.extend([sum.offset.code(), terms.len() as u64]);
        self.tokens.extend(terms.iter().flat_map(|(var, factor)| [*var, *factor]));
    }

    fn cell(&mut self, cell: &Cell) {
        let buffer = self.program.buffer(cell.buffer);
        if cell.buffer == self.target {
            self.tokens.extend([0, buffer.dtype as u64, buffer.sizes.len() as u64]);
            self.tokens.extend(buffer.sizes.iter().map(|size| size.code()));
        } else {
            let id = self.same.get(&cell.buffer).copied().unwrap_or(cell.buffer);
            self.tokens.extend([1, u64::from(id.0), self.writes[id.index()]]);
        }
        for index in &cell.index {
            match index {
                Index::At(sum) => {
                    self.tokens.push(0);
                    self.sum(sum);
                }
                Index::Symbol(symbol) => self.tokens.extend([1, u64::from(*symbol)]),
                Index::Value(inner) => {
                    self.tokens.push(2);
                    self.cell(inner);
                }
            }
        }
    }

    fn scalar(&mut self, scalar: &Scalar) {
        match scalar {
            Scalar::Number(value) => self.tokens.extend([0, value.to_bits()]),
            Scalar::Load(cell) => {
                self.tokens.push(1);
                self.cell(cell);
            }
            Scalar::Local(local) => {
                self.tokens.push(2);
                self.local(*local);
            }
            Scalar::Position(sum) => {
                self.tokens.push(3);
                self.sum(sum);
            }
            Scalar::Symbol(symbol) => self.tokens.extend([4, u64::from(*symbol)]),
            Scalar::Uniform { key, stream, at } => {
                self.tokens.extend([5, u64::from(*key), *stream]);
                self.sum(at);
            }
            Scalar::Unary(function, _) => self.tokens.extend([6, *function as u64]),
            Scalar::Binary(function, ..) => {
                self.tokens.push(7);
                self.function(Some(*function));
            }
            Scalar::Select(..) => self.tokens.push(8),
        }
        scalar.children().for_each(|child| self.scalar(child));
    }
}
