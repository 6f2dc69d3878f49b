//! The new nests: what runs before the turns, the turns, and what runs behind them.

use super::before::{self, Before};
use super::behind::{self, Behind};
use super::facts::{Form, Turns};
use super::{Held, Part, Work};
use crate::Size;
use crate::buffer::{BufferId, Cell, Index, LoopSum, LoopVar};
use crate::optimise::access::{Scope, simple_axes};
use crate::optimise::rewrite::{each_cell_mut, each_mut};
use crate::program::{Nest, Repeat, Statement};
use crate::scalar::Scalar;

/// The parts that take the place of a repeat.
pub fn rewritten<'a>(work: &mut Work<'a>, turns: &Turns<'a>, before: &Before, behind: &Behind) -> Vec<Part> {
    let mut held = Held::default();
    let notes = notes(work, turns, before, &mut held);
    let mut new: Vec<BufferId> = before.written.iter().copied().filter(|id| !held.contains_key(id)).collect();
    new.sort_unstable();
    for buffer in new {
        let of_turns = work.hold_turns(turns, buffer);
        held.insert(buffer, of_turns);
    }
    let stays = |at: usize| !before.nests[at] && !behind.nests[at] && !notes.contains(&at);
    let mut made = Made { turns, held, before: Vec::new(), inside: Vec::new(), behind: Vec::new() };
    for at in (0..before.nests.len()).filter(|at| before.nests[*at]) {
        made.run_before(work, before, at);
    }
    // What stays reads what ran before; what is held for the nests behind, it reads where it was.
    let in_turn = made.held.clone();
    let mut behind_turns: Vec<BufferId> = behind.held.iter().chain(&behind.written).copied().collect();
    behind_turns.sort_unstable();
    for buffer in behind_turns {
        let of_turns = work.hold_turns(turns, buffer);
        made.held.insert(buffer, of_turns);
    }
    for at in 0..before.nests.len() {
        if stays(at) {
            made.inside.push(Part::Nest(turns.origin(at), turned(turns, turns.nest(at), &in_turn)));
        }
        for buffer in behind.held.iter().filter(|id| turns.writers(**id).last() == Some(&at)) {
            let copy = held_in_turn(work, turns, (*buffer, made.held[buffer]));
            made.inside.push(Part::Nest(turns.origin(at), copy));
        }
    }
    for at in (0..before.nests.len()).filter(|at| behind.nests[*at]) {
        made.run_behind(work, at);
    }
    work.ask_for_zeros(turns, behind, &made.held);
    made.parts()
}

/// The parts that are made.
struct Made<'t, 'a> {
    turns: &'t Turns<'a>,
    /// The buffers whose contents of all turns are held.
    held: Held,
    /// Before, inside and behind the turns. Before and behind them, nests that run turn by turn come apart.
    before: Vec<(bool, Part)>,
    inside: Vec<Part>,
    behind: Vec<(bool, Part)>,
}

impl Made<'_, '_> {
    fn run_before(&mut self, work: &mut Work<'_>, before: &Before, at: usize) {
        let turns = self.turns;
        let in_turns = turns.target(at).is_some_and(|id| before.in_turns.contains(&id));
        let nest = with_sources(turns.nest(at), &|cell| before::source(turns, at, cell));
        let nest = match in_turns {
            true => turned(turns, &filled_by_cells(work, turns, at, nest), &self.held),
            false => self.in_bulk(work, nest),
        };
        self.before.push((in_turns, Part::Nest(turns.origin(at), nest)));
    }

    fn run_behind(&mut self, work: &mut Work<'_>, at: usize) {
        let turns = self.turns;
        let nest = with_sources(turns.nest(at), &|cell| behind::source(turns, at, cell));
        let mut in_turns = false;
        for statement in &nest.body {
            statement.each(&mut |inner| {
                inner.each_read(&mut |cell| in_turns |= turns.is_at_position(cell));
            });
        }
        let nest = match in_turns {
            true => turned(turns, &nest, &self.held),
            false => self.in_bulk(work, nest),
        };
        self.behind.push((in_turns, Part::Nest(turns.origin(at), nest)));
    }

    /// A nest with a loop over the turns: around the others if each turn has cells of its own, else behind the loops of the result.
    fn in_bulk(&self, work: &mut Work<'_>, nest: Nest) -> Nest {
        if let [Statement::Fill { buffer, value }] = nest.body[..] {
            let buffer = self.held.get(&buffer).copied().unwrap_or(buffer);
            return Nest { body: vec![Statement::Fill { buffer, value }], ..nest };
        }
        let turn = work.add_var("turn");
        let index = Index::At(LoopSum::iterate(turn));
        let nest = with_index(self.turns, &nest, &self.held, &index);
        let mut loops: Scope = Vec::new();
        let Some(Form::Store(store)) = Some(super::facts::form(&nest)) else { return nest };
        let (own, reduced): (Scope, Scope) =
            store.loops.iter().partition(|(var, _)| store.cell.mentions(*var));
        match store.cell.mentions(turn) {
            true => loops.extend([(turn, self.turns.count)].into_iter().chain(store.loops.clone())),
            false => loops.extend(own.into_iter().chain([(turn, self.turns.count)]).chain(reduced)),
        }
        let (cell, accumulate, value) = (store.cell.clone(), store.accumulate, store.value.clone());
        let body = vec![Statement::Store { cell, accumulate, value }.within(loops.into_iter())];
        Nest { comment: format!("{}, of all turns", nest.comment), body }
    }

    fn parts(self) -> Vec<Part> {
        let repeat = self.turns.repeat;
        let turn_by_turn = |parts: Vec<Part>| Part::Repeat(repeat_of(repeat), parts);
        let apart = |parts: Vec<(bool, Part)>| -> (Vec<Part>, Vec<Part>) {
            let (in_turns, in_bulk): (Vec<_>, Vec<_>) =
                parts.into_iter().partition(|(in_turns, _)| *in_turns);
            let parts = |list: Vec<(bool, Part)>| list.into_iter().map(|(_, part)| part).collect();
            (parts(in_turns), parts(in_bulk))
        };
        let ((first, before), (last, behind)) = (apart(self.before), apart(self.behind));
        let mut parts = vec![turn_by_turn(first)];
        parts.extend(before);
        parts.push(turn_by_turn(self.inside));
        parts.extend(behind);
        parts.push(turn_by_turn(last));
        parts
    }
}

/// A repeat of the same turns, whose nests are not known yet.
fn repeat_of(repeat: &Repeat) -> Repeat {
    Repeat { nests: 0..0, ..repeat.clone() }
}

/// Notes of buffers that are written before the turns: a nest of a turn copies them to a buffer that holds something of every turn. They are
/// written there at once. Returns the nests, which are not needed any more.
fn notes(work: &mut Work<'_>, turns: &Turns<'_>, before: &Before, held: &mut Held) -> Vec<usize> {
    let mut notes = Vec::new();
    for at in (0..before.nests.len()).filter(|at| !before.nests[*at]) {
        let Form::Store(store) = &turns.forms[at] else { continue };
        let Scalar::Load(from) = store.value else { continue };
        let (to, of) = (work.program.buffer(store.cell.buffer), work.program.buffer(from.buffer));
        let [Index::Symbol(place), inside @ ..] = &store.cell.index[..] else { continue };
        let inside = Cell { buffer: from.buffer, index: inside.to_vec() };
        let whole = simple_axes(from, &of.sizes, &store.loops).is_some()
            && inside == *from
            && *place == turns.at
            && to.sizes.split_first() == Some((&turns.count, &of.sizes[..]))
            && to.dtype == of.dtype;
        let only = turns.uses(store.cell.buffer).all(|other| other == at);
        let is_free = turns.may_be_held(store.cell.buffer)
            && work.zeros.iter().all(|(_, id, _)| *id != store.cell.buffer);
        let is_written = before.written.contains(&from.buffer) && !held.contains_key(&from.buffer);
        if whole && only && is_free && is_written && store.accumulate.is_none() {
            held.insert(from.buffer, store.cell.buffer);
            if !before.in_turns.contains(&from.buffer) {
                work.in_bulk.insert(store.cell.buffer);
            }
            notes.push(at);
        }
    }
    notes
}

/// A nest of a turn that copies what it made of a buffer to the buffer that holds it of all turns.
fn held_in_turn(work: &mut Work<'_>, turns: &Turns<'_>, (of, to): (BufferId, BufferId)) -> Nest {
    let sizes = work.program.buffer(of).sizes.clone();
    let loops: Vec<(LoopVar, Size)> = sizes.into_iter().map(|size| (work.add_var("i"), size)).collect();
    let index: Vec<Index> = loops.iter().map(|(var, _)| Index::At(LoopSum::iterate(*var))).collect();
    let value = Scalar::Load(Cell { buffer: of, index: index.clone() });
    let index = [Index::Symbol(turns.at)].into_iter().chain(index).collect();
    let store = Statement::Store { cell: Cell { buffer: to, index }, accumulate: None, value };
    let name = |id: BufferId| work.buffers[id.index()].name.clone();
    Nest { comment: format!("{} = {}", name(to), name(of)), body: vec![store.within(loops.into_iter())] }
}

/// A nest that fills a buffer becomes one that sets each of its cells: those of one turn.
fn filled_by_cells(work: &mut Work<'_>, turns: &Turns<'_>, at: usize, nest: Nest) -> Nest {
    let Form::Fill(buffer, value) = turns.forms[at] else { return nest };
    let sizes = work.program.buffer(buffer).sizes.clone();
    let loops: Vec<(LoopVar, Size)> = sizes.into_iter().map(|size| (work.add_var("i"), size)).collect();
    let index = loops.iter().map(|(var, _)| Index::At(LoopSum::iterate(*var))).collect();
    let cell = Cell { buffer, index };
    let store = Statement::Store { cell, accumulate: None, value: Scalar::Number(value) };
    Nest { body: vec![store.within(loops.into_iter())], ..nest }
}

/// A nest that reads other cells in place of those that are copies of them.
fn with_sources(nest: &Nest, source: &dyn Fn(&Cell) -> Cell) -> Nest {
    fn loads(value: &mut Scalar, source: &dyn Fn(&Cell) -> Cell) {
        if let Scalar::Load(cell) = value {
            *cell = source(cell);
        }
        value.children_mut().for_each(|child| loads(child, source));
    }
    let mut nest = nest.clone();
    each_mut(&mut nest.body, &mut |statement| {
        if let Statement::Store { value, .. } = statement {
            loads(value, source);
        }
    });
    nest
}

/// A nest that stays in a turn, or runs in one: what is held of all turns, it reads and writes at its place.
fn turned(turns: &Turns<'_>, nest: &Nest, held: &Held) -> Nest {
    with_index(turns, nest, held, &Index::Symbol(turns.at))
}

/// A nest in which buffers are those that hold their contents of all turns, at an index, which also takes the place of the symbol of the place.
fn with_index(turns: &Turns<'_>, nest: &Nest, held: &Held, at: &Index) -> Nest {
    let mut nest = nest.clone();
    each_mut(&mut nest.body, &mut |statement| {
        each_cell_mut(statement, &mut |cell| {
            for index in cell.index.iter_mut().filter(|index| **index == Index::Symbol(turns.at)) {
                *index = at.clone();
            }
            if let Some(of_turns) = held.get(&cell.buffer) {
                cell.buffer = *of_turns;
                cell.index.insert(0, at.clone());
            }
        });
    });
    nest
}

impl<'a> Work<'a> {
    fn add_var(&mut self, name: &str) -> LoopVar {
        self.vars.push(name.into());
        LoopVar(self.vars.len() as u32 - 1)
    }

    /// Asks for zeros at places without a turn in what the nests behind the turns add up.
    fn ask_for_zeros(&mut self, turns: &Turns<'_>, behind: &Behind, held: &Held) {
        let Some(segment) = &turns.repeat.segment else { return };
        let of_turns = |id: &BufferId| held.get(id).copied().unwrap_or(*id);
        let new = behind.held.iter().filter_map(|id| Some((*id, *turns.writers(*id).last()?)));
        for (buffer, at) in behind.zeros.iter().copied().chain(new) {
            let zero = (segment.number, of_turns(&buffer), turns.origin(at));
            if !self.zeros.iter().any(|(.., known, _)| *known == zero.1) {
                self.zeros.push(zero);
            }
        }
    }
}
