//! The nests of a turn, and what each of them needs of the others.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::Size;
use crate::buffer::{BufferId, Cell, Index, LoopSum, LoopVar, Storage};
use crate::function::Binary;
use crate::optimise::access::{Perfect, Touch, each_cell, simple_axes};
use crate::optimise::is_contraction;
use crate::program::{Nest, Program, Repeat, Statement};
use crate::scalar::Scalar;

/// The form of a nest of a turn. Nests are numbered from the first of the turn.
pub enum Form<'a> {
    /// It sets all cells of a buffer.
    Fill(BufferId, f64),
    /// It consists of loops around one store.
    Store(Perfect<'a>),
    /// Anything else stays in the turn.
    Other,
}

/// The turns of a repeat without another one inside.
pub struct Turns<'a> {
    pub program: &'a Program,
    pub repeat: &'a Repeat,
    /// The number of turns that it runs, or of places for turns in its segment.
    pub count: Size,
    /// The symbol that counts these.
    pub at: u32,
    /// The symbol that counts the turns of all segments, if it runs those of one.
    pub of_all: Option<u32>,
    pub forms: Vec<Form<'a>>,
    readers: FxHashMap<BufferId, Vec<usize>>,
    writers: FxHashMap<BufferId, Vec<usize>>,
    outside: FxHashSet<BufferId>,
    may: &'a dyn Fn(BufferId) -> bool,
}

impl<'a> Turns<'a> {
    pub fn of(program: &'a Program, repeat: &'a Repeat, may: &'a dyn Fn(BufferId) -> bool) -> Turns<'a> {
        let nests = &program.nests[repeat.nests.clone()];
        let (mut readers, mut writers) = (FxHashMap::default(), FxHashMap::default());
        for (at, nest) in nests.iter().enumerate() {
            let touch = Touch::of(&nest.body);
            let add = |uses: &mut FxHashMap<BufferId, Vec<usize>>, ids: Vec<BufferId>| {
                ids.into_iter().for_each(|id| uses.entry(id).or_default().push(at));
            };
            add(&mut readers, touch.reads);
            add(&mut writers, touch.writes);
        }
        let mut outside = program.mentioned(0..repeat.nests.start);
        outside.extend(program.mentioned(repeat.nests.end..program.nests.len()));
        let (count, at, of_all) = match &repeat.segment {
            Some(segment) => (segment.length, segment.place, Some(repeat.symbol)),
            None => (repeat.turns, repeat.symbol, None),
        };
        let forms = nests.iter().map(form).collect();
        Turns { program, repeat, count, at, of_all, forms, readers, writers, outside, may }
    }

    /// A nest as it stands in the program.
    pub fn nest(&self, at: usize) -> &'a Nest {
        &self.program.nests[self.origin(at)]
    }

    /// The place of a nest in the program.
    pub fn origin(&self, at: usize) -> usize {
        self.repeat.nests.start + at
    }

    /// The nests that write a buffer.
    pub fn writers(&self, buffer: BufferId) -> &[usize] {
        self.writers.get(&buffer).map_or(&[], Vec::as_slice)
    }

    /// The nests that read a buffer; those that add to it are among them.
    pub fn readers(&self, buffer: BufferId) -> &[usize] {
        self.readers.get(&buffer).map_or(&[], Vec::as_slice)
    }

    /// The nests that mention a buffer.
    pub fn uses(&self, buffer: BufferId) -> impl Iterator<Item = usize> + '_ {
        self.readers(buffer).iter().chain(self.writers(buffer)).copied()
    }

    /// The buffer that a nest writes, if its form is known.
    pub fn target(&self, at: usize) -> Option<BufferId> {
        match &self.forms[at] {
            Form::Fill(buffer, _) => Some(*buffer),
            Form::Store(store) => Some(store.cell.buffer),
            Form::Other => None,
        }
    }

    /// The cells that a nest reads, apart from that to which it adds.
    pub fn loads(&self, at: usize) -> Vec<&'a Cell> {
        let mut loads = Vec::new();
        if let Form::Store(Perfect { value, .. }) = &self.forms[at] {
            each_load(value, &mut loads);
        }
        loads
    }

    /// Returns true if a buffer has other contents in each turn, made anew and of no use outside, and if those of all turns may be held.
    pub fn is_private(&self, buffer: BufferId) -> bool {
        let first = self.uses(buffer).min();
        let whole = first.is_some_and(|at| match &self.forms[at] {
            Form::Fill(..) => true,
            Form::Store(store) => {
                let sizes = &self.program.buffer(buffer).sizes;
                store.accumulate.is_none()
                    && self.loads(at).iter().all(|cell| cell.buffer != buffer)
                    && simple_axes(store.cell, sizes, &store.loops).is_some()
            }
            Form::Other => false,
        });
        let known = |at: usize| !matches!(self.forms[at], Form::Other);
        whole && self.uses(buffer).all(known) && !self.outside.contains(&buffer) && self.may_be_held(buffer)
    }

    /// Returns true if the contents of a buffer may be held for all turns.
    pub fn may_be_held(&self, buffer: BufferId) -> bool {
        let known = self.program.buffer(buffer);
        known.storage == Storage::Local && !known.has_margins() && (self.may)(buffer)
    }

    /// Returns true if all that happens to a buffer in a turn is that something is added to it or subtracted from it.
    pub fn is_sum(&self, buffer: BufferId) -> bool {
        self.uses(buffer).all(|at| match &self.forms[at] {
            Form::Store(Perfect { cell, accumulate: Some(Binary::Add | Binary::Sub), .. }) => {
                cell.buffer == buffer && self.loads(at).iter().all(|load| load.buffer != buffer)
            }
            _ => false,
        })
    }

    /// Returns true if a nest can get a loop over the turns: its cells do not depend on numbers that are looked up, and its value is the same
    /// function of cells in all turns.
    pub fn is_plain(&self, at: usize) -> bool {
        let store = match &self.forms[at] {
            Form::Fill(..) => return true,
            Form::Store(store) => store,
            Form::Other => return false,
        };
        let mut plain = true;
        store.value.each(&mut |scalar| {
            plain &= match scalar {
                Scalar::Symbol(symbol) => *symbol != self.at && Some(*symbol) != self.of_all,
                Scalar::Uniform { .. } | Scalar::Local(_) => false,
                _ => true,
            };
        });
        let looked_up = |cell: &Cell| cell.index.iter().any(|index| matches!(index, Index::Value(_)));
        plain && !looked_up(store.cell) && !self.loads(at).into_iter().any(looked_up)
    }

    /// Returns true if a cell is at the position of the turn among those of all segments, for which a loop over one segment has no index.
    pub fn is_at_position(&self, cell: &Cell) -> bool {
        self.of_all.is_some_and(|symbol| cell.index.contains(&Index::Symbol(symbol)))
    }

    /// Returns true if a cell is at the place of the turn.
    pub fn is_at_place(&self, cell: &Cell) -> bool {
        cell.index.contains(&Index::Symbol(self.at))
    }

    /// Returns true if a cell may hold another number in each turn.
    pub fn changes(&self, cell: &Cell) -> bool {
        !self.writers(cell.buffer).is_empty() || self.is_at_place(cell) || self.is_at_position(cell)
    }

    /// The factors of a nest that sums products for many cells, if it is one.
    pub fn factors(&self, at: usize) -> Option<Vec<&'a Cell>> {
        match &self.forms[at] {
            Form::Store(store) if store.accumulate.is_some() && is_contraction(self.nest(at)) => {
                Some(self.loads(at))
            }
            _ => None,
        }
    }

    /// The cell that a nest could read in place of another one, because the other is a copy of it that was made before in the turn. A
    /// copy is a whole buffer of the same type, written once, and what it was copied from has not changed since.
    pub fn copied_from(&self, at: usize, cell: &Cell) -> Option<Cell> {
        let writers = self.writers(cell.buffer);
        let copy = *writers.last().filter(|copy| **copy < at)?;
        let Form::Store(Perfect { loops, cell: written, accumulate, value: Scalar::Load(from) }) =
            &self.forms[copy]
        else {
            return None;
        };
        let starts_at_0 = |at: usize| matches!(self.forms[at], Form::Fill(_, value) if value == 0.0);
        let once = match (&writers[..writers.len() - 1], accumulate) {
            ([], None) => true,
            ([fill], Some(Binary::Add)) => starts_at_0(*fill),
            _ => false,
        };
        let changed = self.writers(from.buffer).iter().any(|writer| (copy..at).contains(writer));
        let (of, source) = (self.program.buffer(cell.buffer), self.program.buffer(from.buffer));
        if !once || changed || of.dtype != source.dtype {
            return None;
        }
        let axes = simple_axes(written, &of.sizes, loops)?;
        let of_axis =
            |var: LoopVar| cell.index.get(axes.iter().position(|axis| *axis == Some(var))?).cloned();
        let index = from.index.iter().map(|index| match index {
            Index::Symbol(_) => Some(index.clone()),
            Index::At(LoopSum { offset, terms }) => match terms.as_slice() {
                [] => Some(index.clone()),
                [(Size::ONE, var)] if *offset == 0 => of_axis(*var),
                _ => None,
            },
            Index::Value(_) => None,
        });
        let is_loop_of_axes = loops.iter().all(|(var, _)| axes.contains(&Some(*var)));
        Some(Cell { buffer: from.buffer, index: index.collect::<Option<_>>()? }).filter(|_| is_loop_of_axes)
    }
}

/// The form of a nest.
pub fn form(nest: &Nest) -> Form<'_> {
    match nest.body.as_slice() {
        [Statement::Fill { buffer, value }] => Form::Fill(*buffer, *value),
        _ => Perfect::of(nest).map_or(Form::Other, Form::Store),
    }
}

/// The cells that a value reads. Those in indices do not occur in what is moved.
fn each_load<'a>(value: &'a Scalar, loads: &mut Vec<&'a Cell>) {
    if let Scalar::Load(cell) = value {
        loads.push(cell);
    }
    value.children().for_each(|child| each_load(child, loads));
}

/// Returns true if a nest uses a symbol.
pub fn mentions(nest: &Nest, symbol: u32) -> bool {
    let mut found = false;
    for statement in &nest.body {
        statement.each(&mut |inner| {
            each_cell(inner, &mut |cell| found |= cell.index.contains(&Index::Symbol(symbol)));
            if let Some(value) = inner.value() {
                value.each(&mut |scalar| found |= *scalar == Scalar::Symbol(symbol));
            }
        });
    }
    found
}
