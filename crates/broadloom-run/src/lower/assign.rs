//! Turns one assignment with its projections into nests.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use broadloom_core::projection::{AxisIndex, Component, Verdict};
use broadloom_graph::lowering::{Face, Formula, Lookup, Slot, Sorting, Special, accumulated};
use broadloom_graph::{Error, ErrorKind, Fill, Graph, Projected, StepId, Tensor};
use broadloom_loops::{
    Binary, BufferId, Cell, Index, LoopSum, LoopVar, Nest, Scalar, Size, Statement, Unary,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::law::{DIVISORS, LawAssignment, check_margins, forward_pieces, quoted};
use super::own_tensors::own_name;
use super::{Content, Lowering, slice_symbol, start_in};

/// The context of an assignment: its step, the projections, and the index of its result.
#[derive(Clone)]
pub(super) struct AssignContext {
    pub step: StepId,
    pub nest: Arc<Projected>,
    pub result: usize,
    pub backward: bool,
    /// The starts of targets, by their position and their accumulation. They are the same in all
    /// phases, of which there may be many.
    starts: RefCell<FxHashMap<(usize, Option<Binary>), Start>>,
    names: OnceCell<Arc<[String]>>,
    comment: OnceCell<Arc<str>>,
}

/// The value that a target is filled with first, if it has to be, and true if values are written
/// without reading the old ones.
type Start = (Option<f64>, bool);

impl AssignContext {
    pub fn new(step: StepId, nest: Arc<Projected>, result: usize, backward: bool) -> AssignContext {
        AssignContext {
            step,
            nest,
            result,
            backward,
            starts: RefCell::default(),
            names: OnceCell::new(),
            comment: OnceCell::new(),
        }
    }

    /// The position in the nest of the tensor at a place of a slot.
    pub fn at(&self, place: usize) -> usize {
        if place == 0 { self.result } else { self.nest.results + place - 1 }
    }

    pub fn tensor(&self, slot: &Slot) -> Tensor {
        self.nest.tensors[self.at(slot.place())]
    }

    /// The phases in which the result takes part, and the operands that take part in each, numbered
    /// from 1.
    pub fn phases(&self) -> Vec<(Vec<u32>, Vec<u32>)> {
        let results = self.nest.results;
        let places = |maps: Vec<usize>| {
            let operands = maps.into_iter().filter(|at| *at >= results);
            operands.map(|at| (at - results + 1) as u32).collect()
        };
        let phases = self.nest.projection.phases_with_maps().into_iter();
        let phases = phases.filter(|phase| phase.maps.binary_search(&self.result).is_ok());
        phases.map(|phase| (phase.loops, places(phase.maps))).collect()
    }

    /// The names of the loops, made once.
    fn names(&self, graph: &Graph) -> Arc<[String]> {
        Arc::clone(self.names.get_or_init(|| graph.loop_names(&self.nest).into()))
    }
}

impl Lowering<'_> {
    /// Lowers everything that a step computes.
    pub(super) fn forward(&mut self, step: StepId) -> Result<(), Error> {
        if let Some(function) = self.graph.special(step).and_then(Special::matrix) {
            self.matrices(step, function)?;
            self.belong_to(step);
            return Ok(());
        }
        if let Some(sorting) = self.graph.special(step).and_then(Special::sorting) {
            self.sort(step, sorting);
            return Ok(());
        }
        let nest = self.layout.nest(step)?;
        self.check_indices(step);
        for result in 0..nest.results {
            let place = AssignContext::new(step, Arc::clone(&nest), result, false);
            let phases = place.phases();
            check_margins(self.graph, place.step, &place.nest)?;
            self.look_back(&place);
            // Parts of a concatenation that no operand fills are initialised like the others.
            let computes = |parts: &[u32]| nest.results == nest.tensors.len() || !parts.is_empty();
            if !phases.iter().all(|(_, parts)| computes(parts)) {
                let buffer = self.buffer(self.node(nest.tensors[result]));
                self.fill_cells(buffer, nest.accumulate.neutral(), self.comment(&place));
            }
            // Every phase has the same assignments, over the operands that take part in it.
            let computing = phases.iter().filter(|(_, parts)| computes(parts));
            for (number, (phase, parts)) in computing.enumerate() {
                for piece in forward_pieces(self.graph, step, parts)? {
                    self.assign(&place, phase, &piece, number == 0)?;
                }
            }
            self.narrow(&place);
        }
        self.belong_to(step);
        Ok(())
    }

    /// If an assignment reads its own target at other cells than it writes, it has to read the old
    /// values: they are copied first.
    fn look_back(&mut self, place: &AssignContext) {
        let nest = &place.nest;
        let target = nest.tensors[place.result];
        let reads: Vec<usize> =
            (nest.results..nest.tensors.len()).filter(|at| nest.tensors[*at] == target).collect();
        if reads.is_empty() {
            return;
        }
        let maps = &nest.projection.maps;
        let elsewhere = reads.iter().any(|at| maps[*at] != maps[place.result]);
        if elsewhere || !nest.writes_plainly(place.result) || nest.needs_initialisation(place.result) {
            self.copy(self.node(target), Content::Before(target, place.step), self.comment(place));
        }
    }

    /// Copies sums that were kept in wider numbers to their tensor.
    fn narrow(&mut self, place: &AssignContext) {
        let tensor = place.nest.tensors[place.result];
        if self.written.remove(&Content::Wide(tensor)) {
            self.copy(Content::Wide(tensor), self.node(tensor), self.comment(place));
        }
    }

    /// The node that an assignment accumulates in: a wider one beside its target, if that is too
    /// narrow for sums.
    fn accumulator(
        &mut self,
        node: Content,
        place: &AssignContext,
        piece: &LawAssignment,
        plain: bool,
    ) -> Content {
        let Content::Value(tensor) = node else { return node };
        let dtype = self.layout.dtypes[tensor.index()];
        if plain || piece.accumulate.is_none() || accumulated(dtype) == dtype {
            return node;
        }
        let wide = Content::Wide(tensor);
        if !piece.clear && !self.written.contains(&wide) {
            self.need(node);
            self.copy(node, wide, self.comment(place));
        }
        wide
    }

    /// Sets the cells of a buffer; its margins keep the value that readers expect there.
    fn fill_cells(&mut self, buffer: BufferId, value: f64, comment: String) {
        let filled = self.program.buffer(buffer);
        let value = start_in(filled.dtype, value);
        let mut body = vec![Statement::Fill { buffer, value }];
        if filled.has_margins() && filled.fill != value {
            body.push(Statement::FillMargins { buffer, value: filled.fill });
        }
        self.program.nests.push(Nest { comment, body });
    }

    /// Lowers one assignment in one phase; `first` if no phase of it came before.
    pub(super) fn assign(
        &mut self,
        place: &AssignContext,
        phase: &[u32],
        piece: &LawAssignment,
        first: bool,
    ) -> Result<(), Error> {
        let at = place.at(piece.target.place());
        check_plain(self.graph, place, at, piece)?;
        let (fill, plain) = self.start(place, at, piece);
        let node = self.target_node(place, piece);
        if !piece.clear {
            self.need(node);
        }
        let node = self.accumulator(node, place, piece, plain);
        let buffer = self.buffer(node);
        let comment = self.comment(place);
        if let (true, Some(value)) = (first, fill) {
            self.fill_cells(buffer, value, comment.clone());
        }
        self.fill_margins(place, piece);
        let loops = self.loops(place, phase, piece, at);
        let value = self.scalar(place, &piece.value, &piece.slots, &loops)?;
        let (accumulate, value) = match (piece.accumulate, plain) {
            (Some(function), true) => (None, first_value(function, value)),
            (accumulate, _) => (accumulate, value),
        };
        let cell = self.cell(place, at, buffer, &loops);
        let store = Statement::Store { cell, accumulate, value };
        let extent =
            |(index, var): &(u32, LoopVar)| (*var, place.nest.projection.loops[*index as usize].extent);
        let extents: Vec<(LoopVar, Size)> = loops.iter().map(extent).collect();
        self.program.nests.push(Nest { comment, body: vec![store.within(extents.into_iter())] });
        self.written.insert(node);
        if self.layout.has_margins(place.step, at) {
            self.spilled.insert(node);
        }
        Ok(())
    }

    /// The start of a target: a fill if it is cleared and not every cell is written exactly once,
    /// and plain writes if it is cleared and no cell is written twice.
    fn start(&self, place: &AssignContext, at: usize, piece: &LawAssignment) -> Start {
        if !piece.clear {
            return (None, false);
        }
        match self.graph.special(place.step).and_then(Special::lookup) {
            // No loop writes the axis that is looked up: its cells begin with the neutral element.
            Some(Lookup::Scattered) if at == place.result => {
                return (Some(piece.accumulate.and_then(Binary::neutral).unwrap_or(0.0)), false);
            }
            Some(Lookup::Taken(_)) => return (None, true),
            _ => {}
        }
        let key = (at, piece.accumulate);
        if let Some(known) = place.starts.borrow().get(&key) {
            return *known;
        }
        let neutral = piece.accumulate.and_then(Binary::neutral).unwrap_or(0.0);
        let fill = match piece.accumulate {
            Some(_) => place.nest.needs_initialisation(at),
            None => !place.nest.is_surjective(at).holds(),
        };
        let start = (fill.then_some(neutral), piece.accumulate.is_none() || place.nest.writes_plainly(at));
        place.starts.borrow_mut().insert(key, start);
        start
    }

    /// The loops of a phase with their variables, those of the target first: its axes in memory order.
    fn loops(
        &mut self,
        place: &AssignContext,
        phase: &[u32],
        piece: &LawAssignment,
        at: usize,
    ) -> Vec<(u32, LoopVar)> {
        let nest = &place.nest;
        let looked_up = self.looked_up(place);
        let mentioned = |index: &u32| {
            let slots = piece.slots.iter().chain([&piece.target]);
            slots.map(|slot| place.at(slot.place())).any(|at| nest.projection.mentions(at, *index))
        };
        let mut order: Vec<u32> = Vec::new();
        // The target takes part: of the parts of an axis one runs, and everything else that it mentions does.
        let running = nest.projection.in_phase_loops(at, phase);
        let mut seen = FxHashSet::default();
        for index in running.into_iter().chain(phase.iter().copied()) {
            let runs = nest.projection.runs(phase, index) && Some(index) != looked_up;
            if runs && seen.insert(index) && (!piece.own_loops || mentioned(&index)) {
                order.push(index);
            }
        }
        let names = place.names(self.graph);
        order.into_iter().map(|index| (index, self.program.add_var(names[index as usize].clone()))).collect()
    }

    /// The tensor that is looked up, by its position in the nest, and the place of the axis.
    fn looked_up_axis(&self, place: &AssignContext) -> Option<(usize, usize)> {
        let lookup = self.graph.special(place.step).and_then(Special::lookup)?;
        let at = if lookup == Lookup::Scattered { place.result } else { place.at(1) };
        Some((at, lookup.axis().in_memory(self.layout.ranks(place.nest.tensors[at]))?))
    }

    /// The loop over the axis that is looked up, which a lookup replaces.
    fn looked_up(&self, place: &AssignContext) -> Option<u32> {
        let (at, axis) = self.looked_up_axis(place)?;
        match place.nest.projection.maps[at].get(axis) {
            Some(AxisIndex::Sum(sum)) => sum.terms.first().map(|(_, index)| *index),
            _ => None,
        }
    }

    fn cell(&mut self, place: &AssignContext, at: usize, buffer: BufferId, loops: &[(u32, LoopVar)]) -> Cell {
        let var = |index: u32| loops.iter().find(|(known, _)| *known == index).map(|(_, var)| *var);
        let renamed = |sum: &Component| {
            let terms = sum.terms.iter().filter_map(|(c, index)| var(*index).map(|var| (*c, var)));
            LoopSum::new(sum.offset, terms)
        };
        let nest = Arc::clone(&place.nest);
        let mut index: Vec<Index> = Vec::new();
        for axis in &nest.projection.maps[at] {
            index.push(match axis {
                AxisIndex::Sum(sum) => Index::At(renamed(sum)),
                AxisIndex::Symbol(_) => self.run_time_index(place.step),
                AxisIndex::Concat(segments) => {
                    let running = segments.iter().find_map(|segment| {
                        var(segment.index).map(|var| LoopSum::new(segment.offset, [(1, var)]))
                    });
                    Index::At(running.unwrap_or_default())
                }
            });
        }
        if let Some((_, axis)) = self.looked_up_axis(place).filter(|(looked_up, _)| *looked_up == at) {
            let ids = place.at(2);
            let buffer = self.buffer(self.node(nest.tensors[ids]));
            let position = self.cell(place, ids, buffer, loops);
            if let Some(index) = index.get_mut(axis) {
                *index = Index::Value(Box::new(position));
            }
        }
        Cell { buffer, index }
    }

    fn run_time_index(&mut self, step: StepId) -> Index {
        match slice_symbol(self.graph, step, self.layout) {
            Some((symbol, name)) => Index::Symbol(self.symbol(symbol, &name)),
            None => Index::At(LoopSum::fixed(0)),
        }
    }

    /// The node that an assignment writes to.
    fn target_node(&self, place: &AssignContext, piece: &LawAssignment) -> Content {
        match piece.target {
            Slot::Value(_) => self.node(place.tensor(&piece.target)),
            _ => self.slot_node(place, &piece.target, &piece.slots),
        }
    }

    /// The node that an assignment reads for a slot.
    fn slot_node(&self, place: &AssignContext, slot: &Slot, slots: &[Slot]) -> Content {
        match slot {
            Slot::Value(_) => {
                let tensor = place.tensor(slot);
                let before = Content::Before(tensor, place.step);
                if self.written.contains(&before) { before } else { self.node(tensor) }
            }
            Slot::Gradient(_) => Content::Gradient(place.tensor(slot)),
            // A step without a law of its own keeps the number of ties for each result, and then the divisors.
            Slot::Own(name, _) if self.graph.law(place.step).is_none() => {
                let other = if **name == *DIVISORS { place.nest.results } else { 0 };
                Content::Own(place.step, (place.result + other) as u32, place.backward)
            }
            Slot::Own(..) => {
                let at = slots.iter().position(|known| known == slot).unwrap_or(0);
                Content::Own(place.step, at as u32, place.backward)
            }
        }
    }

    fn scalar(
        &mut self,
        place: &AssignContext,
        formula: &Formula,
        slots: &[Slot],
        loops: &[(u32, LoopVar)],
    ) -> Result<Scalar, Error> {
        let mut inner = |formula: &Formula| self.scalar(place, formula, slots, loops);
        Ok(match formula {
            Formula::Number(value) => Scalar::Number(*value),
            Formula::Unary(function, a) => Scalar::unary(*function, inner(a)?),
            Formula::Binary(function, a, b) => Scalar::binary(*function, inner(a)?, inner(b)?),
            Formula::Select(a, b, c) => {
                Scalar::Select(Box::new(inner(a)?), Box::new(inner(b)?), Box::new(inner(c)?))
            }
            Formula::Name(name) => {
                let slot = &slots[*name as usize];
                if matches!(slot, Slot::Value(_))
                    && let Some(number) = self.number(place.tensor(slot))
                {
                    // A constant has the value of the margins beyond the ends of its axes.
                    if !self.layout.has_margins(place.step, place.at(slot.place())) {
                        return Ok(number);
                    }
                    if !self.written.contains(&Content::Value(place.tensor(slot))) {
                        self.positions(place.tensor(slot), |_| number.clone());
                    }
                }
                let node = self.slot_node(place, slot, slots);
                if matches!(slot, Slot::Own(..)) && !self.written.contains(&node) {
                    let name = &own_name(self.graph, place.step, *name, place.backward);
                    let message = format!("`{name}` is read before it is assigned");
                    return Err(Error::new(ErrorKind::Use, message)
                        .inside(&quoted(self.graph, place.step))
                        .about_step(place.step));
                }
                let buffer = self.buffer(node);
                Scalar::Load(self.cell(place, place.at(slot.place()), buffer, loops))
            }
        })
    }

    /// Sets margins before they are read if readers expect different values, or if they have been
    /// written to.
    fn fill_margins(&mut self, place: &AssignContext, piece: &LawAssignment) {
        for slot in &piece.slots {
            let at = place.at(slot.place());
            let tensor = place.nest.tensors[at];
            if !self.layout.has_margins(place.step, at) {
                continue;
            }
            let node = self.slot_node(place, slot, &piece.slots);
            let is_value = matches!(slot, Slot::Value(_)) && !self.is_number(tensor);
            let disputed = is_value && self.layout.margins(tensor).fill == Fill::ByReader;
            if disputed || self.spilled.remove(&node) {
                let value = if is_value { place.nest.accumulate.neutral() } else { 0.0 };
                let buffer = self.buffer(node);
                let value = start_in(self.program.buffer(buffer).dtype, value);
                let body = vec![Statement::FillMargins { buffer, value }];
                self.program.nests.push(Nest { comment: self.comment(place), body });
            }
        }
    }

    /// Checks every index before rows are looked up.
    fn check_indices(&mut self, step: StepId) {
        let &[operand, ids] = self.graph.step_operands(step) else { return };
        let Some(lookup) = self.graph.special(step).and_then(Special::lookup) else { return };
        let table = if lookup == Lookup::Scattered { self.graph.first_result(step) } else { operand };
        let axis = lookup.axis().in_memory(self.layout.ranks(table)).unwrap_or(0);
        let below = self.layout.axes(table).get(axis).copied().unwrap_or(Size::ZERO);
        let (of, buffer) = (self.buffer(self.node(table)), self.buffer(self.node(ids)));
        let sizes = self.layout.axes(ids);
        let loops: Vec<(LoopVar, Size)> =
            sizes.into_iter().map(|size| (self.program.add_var("i"), size)).collect();
        let index = loops.iter().map(|(var, _)| Index::At(LoopSum::iterate(*var))).collect();
        let check = Statement::Check { cell: Cell { buffer, index }, below, of };
        let comment = format!("indices of {}", self.graph.short_name(table));
        self.program.nests.push(Nest { comment, body: vec![check.within(loops.into_iter())] });
    }

    /// Sorts the rows of a tensor along an axis.
    fn sort(&mut self, step: StepId, sorting: Sorting) {
        let (Some(&x), result) = (self.graph.step_operands(step).first(), self.graph.first_result(step))
        else {
            return;
        };
        let axis = sorting.along.in_memory(self.layout.ranks(x)).unwrap_or(0);
        if let Some(number) = self.number(x)
            && !self.written.contains(&Content::Value(x))
        {
            self.positions(x, |_| number.clone());
        }
        let (keys, places) = (self.buffer(self.node(x)), self.buffer(self.node(result)));
        let (mut loops, mut index, mut count) = (Vec::new(), Vec::new(), Size::ONE);
        for (at, size) in self.layout.axes(x).into_iter().enumerate() {
            if at == axis {
                count = size;
                index.push(Index::At(LoopSum::fixed(0)));
            } else {
                let var = self.program.add_var("i");
                loops.push((var, size));
                index.push(Index::At(LoopSum::iterate(var)));
            }
        }
        let [keys, places] = [keys, places].map(|buffer| Cell { buffer, index: index.clone() });
        let Sorting { descending, .. } = sorting;
        let sort = Statement::Sort { keys, places, axis: axis as u32, count, descending };
        let comment = self.graph.step_text(step);
        self.program.nests.push(Nest { comment, body: vec![sort.within(loops.into_iter())] });
        self.written.insert(self.node(result));
        self.belong_to(step);
    }

    /// Ends the run if an element of a tensor is infinite or NaN: then its difference with itself
    /// is not 0.
    pub(super) fn check_finite(&mut self, tensor: Tensor) -> Result<(), Error> {
        self.value(tensor)?;
        let (values, flags) = (self.buffer(self.node(tensor)), self.buffer(Content::NotFinite(tensor)));
        let comment = format!("whether {} is finite", self.graph.short_name(tensor));
        let mut each = |make: &dyn Fn(Vec<Index>) -> Statement| {
            let sizes = self.layout.axes(tensor).into_iter();
            let loops: Vec<(LoopVar, Size)> = sizes.map(|size| (self.program.add_var("i"), size)).collect();
            let index = loops.iter().map(|(var, _)| Index::At(LoopSum::iterate(*var))).collect();
            let body = vec![make(index).within(loops.into_iter())];
            self.program.nests.push(Nest { comment: comment.clone(), body });
        };
        each(&|index| {
            let value = || Scalar::Load(Cell { buffer: values, index: index.clone() });
            let difference = Scalar::binary(Binary::Sub, value(), value());
            let finite = Scalar::binary(Binary::Equal, difference, Scalar::Number(0.0));
            let flag = Scalar::unary(Unary::Not, finite);
            Statement::Store { cell: Cell { buffer: flags, index }, accumulate: None, value: flag }
        });
        each(&|index| Statement::Check { cell: Cell { buffer: flags, index }, below: Size::ONE, of: flags });
        Ok(())
    }

    fn comment(&self, place: &AssignContext) -> String {
        place.comment.get_or_init(|| self.comment_text(place).into()).to_string()
    }

    fn comment_text(&self, place: &AssignContext) -> String {
        let subject = self.subject(place);
        if place.backward { format!("gradients of {subject}") } else { subject.to_string() }
    }

    /// The text of a step, which its nests have in common. It is put together once, for both passes.
    fn subject(&self, place: &AssignContext) -> Arc<str> {
        let key = (place.step, place.result);
        if let Some(known) = self.subjects.borrow().get(&key) {
            return Arc::clone(known);
        }
        let mut subject = self.graph.step_text(place.step);
        if self.graph.assignment_text(place.step).is_some() {
            // Names in the text may stand for any tensor, so the target is shown too.
            let target = self.graph.short_name(place.nest.tensors[place.result]);
            subject = format!("{target}: {subject}");
        }
        let subject: Arc<str> = without_middle(subject).into();
        self.subjects.borrow_mut().insert(key, Arc::clone(&subject));
        subject
    }
}

/// Shortens a long text in the middle: it is repeated above every nest of its operation, and there may be as many
/// of these as the text has words.
fn without_middle(text: String) -> String {
    const LONG: usize = 600;
    // No text has more letters than bytes.
    if text.len() <= LONG {
        return text;
    }
    let letters = text.chars().count();
    if letters <= LONG {
        return text;
    }
    let start: String = text.chars().take(LONG / 2).collect();
    let end: String = text.chars().skip(letters - LONG / 2).collect();
    format!("{start} … {end}")
}

/// The first value of an accumulation, written without reading what is there: for a difference, a quotient or a power
/// it is not the value itself.
fn first_value(function: Binary, value: Scalar) -> Scalar {
    match (function, function.neutral()) {
        (Binary::Add | Binary::Mul | Binary::Max | Binary::Min, _) | (_, None) => value,
        (function, Some(neutral)) => Scalar::binary(function, Scalar::Number(neutral), value),
    }
}

/// Refuses an assignment that would write a cell several times and keep only the last value.
fn check_plain(graph: &Graph, place: &AssignContext, at: usize, piece: &LawAssignment) -> Result<(), Error> {
    let gathers = graph.special(place.step).and_then(Special::lookup).is_some();
    // Tensors that an operation keeps for itself may be written several times.
    let is_value = matches!(piece.target, Slot::Value(0));
    let is_plain = piece.accumulate.is_none() && is_value && !place.backward && !gathers;
    if !is_plain || place.nest.is_injective(at) != Verdict::No {
        return Ok(());
    }
    let names = graph.loop_names(&place.nest);
    let lost: Vec<String> =
        place.nest.reductions().iter().map(|index| format!("`{}`", names[*index as usize])).collect();
    let target = graph.label_of(place.nest.tensors[at]);
    let over = if lost.is_empty() { String::new() } else { format!(" for each {}", lost.join(" and ")) };
    let message = format!("every value{over} would overwrite the one before in `{target}`");
    Err(Error::new(ErrorKind::Use, message)
        .inside(&quoted(graph, place.step))
        .about_step(place.step)
        .with_help("say how they are put together: `=:+` adds them up, `=:max` keeps the greatest"))
}
