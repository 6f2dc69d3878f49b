//! Scans: the nests of one turn, repeated over the positions of an axis.
//!
//! The buffers of a turn are used again in the next one. What is carried is copied: at the end of a turn its next value becomes
//! the value of the next turn. If gradients will be asked for, it is also noted what turns were given, and what they have summed up. Going back, a turn
//! computes the rest of its values again from these notes. Short scans note every turn:
//!
//! ```text
//! h = first                          dh = gradient of the last value
//! for each turn:                     for each turn, from the last to the first:
//!   notes[turn] = h                    h = notes[turn]
//!   the body                           the body, with its sums from the notes
//!   notes of sums[turn] = sums         gradients of the body, from dh and those of all turns
//!   h = next                           dh = gradient of h
//!                                    gradient of first += dh
//! ```
//!
//! Longer ones are divided into [segments](super::segments), and note the first turn of each. Going back, the turns of a segment run once more
//! before their gradients, and make these notes.
//!
//! ```text
//! h = first                          dh = gradient of the last value
//! for each segment:                  for each segment, from the last to the first:
//!   checkpoints[segment] = h           h = checkpoints[segment]
//!   for each turn of it:               for each turn of it:
//!     the body                           notes[place] = h
//!     h = next                           the body
//!                                        notes of sums[place] = sums
//!                                        h = next
//!                                      for each turn of it, from the last to the first:
//!                                        h = notes[place]
//!                                        the body, with its sums from the notes
//!                                        gradients of the body, from dh and those of all turns
//!                                        dh = gradient of h
//!                                    gradient of first += dh
//! ```

use std::sync::Arc;

use broadloom_graph::lowering::{Carried, Face, Scan};
use broadloom_graph::{Error, StepId, Tensor};
use broadloom_loops::{Cell, Index, LoopSum, LoopVar, Nest, Repeat, Scalar, Segment, Size, Statement};
use rustc_hash::FxHashSet;

use super::law::differentiable;
use super::segments::{Noted, Segmented};
use super::{Content, Lowering, Symbol};
use crate::routine::Action;

/// The division of the turns of a scan into segments, with the symbols that count.
struct Division {
    sizes: Segmented,
    /// The symbol of the segment.
    segment: u32,
    /// The symbol of the turn within its segment.
    place: u32,
}

impl Lowering<'_> {
    /// Lowers all turns of a scan.
    pub(super) fn scan(&mut self, scan: &Scan) -> Result<(), Error> {
        for carried in &scan.carried {
            self.forward(carried.first)?;
        }
        // Each turn writes a part of these; all turns together write all of it.
        for result in scan.collected.iter().flat_map(|step| self.graph.step_results(*step)) {
            self.written.insert(self.node(result));
        }
        let has_gradients = self.routine.actions.iter().any(|action| matches!(action, Action::Backward(_)));
        // Without gradients, segments bound the memory of what is computed for all turns at once.
        let divides = has_gradients || self.distributes();
        let division = self.division(scan).filter(|_| divides);
        let start = self.program.nests.len();
        if let Some(division) = division.as_ref().filter(|_| has_gradients) {
            self.note_carried(scan, Noted::Checkpoint, division.segment);
        }
        let turns = self.program.nests.len();
        let noted = (has_gradients && division.is_none()).then(|| self.turn(scan));
        if let Some(turn) = noted {
            self.note_carried(scan, Noted::EachTurn, turn);
        }
        for step in &scan.body {
            self.step_of_turn(scan, *step)?;
            if let Some(turn) = noted {
                self.note_sums(scan, *step, Noted::EachTurn, turn)?;
            }
        }
        for step in &scan.collected {
            self.step_of_turn(scan, *step)?;
        }
        self.carry_over(scan);
        self.repeat(scan, turns, false, division.as_ref());
        if let Some(division) = &division {
            self.repeat_segments(start, false, division);
        }
        scan.last.iter().try_for_each(|step| self.forward(*step))
    }

    /// Lowers a step of a turn. Those of a scan inside of it are lowered with its first result: whatever its turns read has been computed then.
    fn step_of_turn(&mut self, scan: &Scan, step: StepId) -> Result<(), Error> {
        let Some(inner) = self.graph.scan_within(step, Some(scan)).map(Arc::clone) else {
            return self.forward(step);
        };
        match inner.collected.iter().chain(&inner.last).next() == Some(&step) {
            true => self.scan(&inner),
            false => Ok(()),
        }
    }

    /// Notes what is carried, at the place of a symbol.
    fn note_carried(&mut self, scan: &Scan, noted: Noted, at: u32) {
        for Carried { tensor, .. } in &scan.carried {
            self.copy_at((Content::Value(*tensor), None), (Content::Notes(*tensor, noted), Some(at)));
        }
    }

    /// Sets what is carried to what was noted of it.
    fn recall_carried(&mut self, scan: &Scan, noted: Noted, at: u32) {
        for Carried { tensor, .. } in &scan.carried {
            self.copy_at((Content::Notes(*tensor, noted), Some(at)), (Content::Value(*tensor), None));
        }
    }

    /// Ends a turn: the next value of what is carried becomes its value.
    fn carry_over(&mut self, scan: &Scan) {
        for Carried { tensor, next, .. } in &scan.carried {
            self.copy_at((self.node(*next), None), (Content::Value(*tensor), None));
        }
    }

    /// Lowers the gradients of a scan, if those of its results have begun and it is not among those that are done. Returns true if it did.
    pub(super) fn scan_backward_once(
        &mut self,
        scan: &Arc<Scan>,
        done: &mut Vec<Arc<Scan>>,
        wanted: &[bool],
        begun: &mut FxHashSet<Tensor>,
    ) -> Result<bool, Error> {
        let begins = scan.results(self.graph).any(|result| begun.contains(&result));
        if !begins || done.iter().any(|known| Arc::ptr_eq(known, scan)) {
            return Ok(false);
        }
        self.scan_backward(scan, wanted, begun)?;
        done.push(Arc::clone(scan));
        Ok(true)
    }

    /// Lowers the gradients of a scan, from those of its results.
    fn scan_backward(
        &mut self,
        scan: &Scan,
        wanted: &[bool],
        begun: &mut FxHashSet<Tensor>,
    ) -> Result<(), Error> {
        let carried: Vec<Carried> =
            scan.carried.iter().filter(|carried| wanted[carried.tensor.index()]).copied().collect();
        scan.last.iter().try_for_each(|step| self.backward_step(*step, wanted, begun))?;
        for Carried { tensor, next, .. } in &carried {
            match begun.remove(next) {
                true => self.copy_at((Content::Gradient(*next), None), (Content::Gradient(*tensor), None)),
                false => self.fill(Content::Gradient(*tensor), 0.0, "nothing reads the last value"),
            }
        }
        self.begin_outer(scan, wanted, begun);
        self.forget_buffers(scan);
        let start = self.program.nests.len();
        let division = self.division(scan);
        if let Some(division) = &division {
            self.segment_again(scan, division)?;
            // Each of the two repeats makes what it reads, so that it may be made for all turns at once in one and not in the other.
            self.forget_buffers(scan);
        }
        let turns = self.program.nests.len();
        let (noted, at) = match &division {
            Some(division) => (Noted::InSegment, division.place),
            None => (Noted::EachTurn, self.turn(scan)),
        };
        self.turn_from_notes(scan, noted, at)?;
        let mut inside = begun.clone();
        for Carried { tensor, next, .. } in &carried {
            self.copy_at((Content::Gradient(*tensor), None), (Content::Gradient(*next), None));
            inside.extend([*tensor, *next]);
        }
        for Carried { tensor, .. } in &carried {
            self.fill(Content::Gradient(*tensor), 0.0, "the gradient of what the turn before carried over");
        }
        let mut done = Vec::new();
        for step in scan.collected.iter().chain(scan.body.iter().rev()) {
            if let Some(inner) = self.graph.scan_within(*step, Some(scan)).map(Arc::clone) {
                self.scan_backward_once(&inner, &mut done, wanted, &mut inside)?;
                continue;
            }
            if self.graph.step_results(*step).any(|result| wanted[result.index()]) {
                self.backward_step(*step, wanted, &mut inside)?;
            }
        }
        self.repeat(scan, turns, true, division.as_ref());
        if let Some(division) = &division {
            self.repeat_segments(start, true, division);
        }
        for Carried { tensor, first, .. } in &carried {
            begun.insert(*tensor);
            self.backward_step(*first, wanted, begun)?;
        }
        Ok(())
    }

    /// Gives what turns compute other buffers from here on. They compute everything again before they read it, so that the memory of what they
    /// computed going forward is free between.
    fn forget_buffers(&mut self, scan: &Scan) {
        if self.options.keep_all {
            return;
        }
        let results = scan.body.iter().flat_map(|step| self.graph.step_results(*step));
        for tensor in results.chain(scan.carried.iter().map(|carried| carried.tensor)) {
            self.buffers.remove(&Content::Value(tensor));
        }
    }

    /// Runs the turns of a segment once more, from its checkpoint, and notes what its gradients need.
    fn segment_again(&mut self, scan: &Scan, division: &Division) -> Result<(), Error> {
        self.recall_carried(scan, Noted::Checkpoint, division.segment);
        let start = self.program.nests.len();
        self.note_carried(scan, Noted::InSegment, division.place);
        for step in &scan.body {
            self.step_of_turn(scan, *step)?;
            self.note_sums(scan, *step, Noted::InSegment, division.place)?;
        }
        self.carry_over(scan);
        self.repeat(scan, start, false, Some(division));
        Ok(())
    }

    /// Notes the results of a step of a turn at the place of a symbol, if they are noted.
    fn note_sums(&mut self, scan: &Scan, step: StepId, noted: Noted, at: u32) -> Result<(), Error> {
        if self.is_noted(scan, step)? {
            for result in self.graph.step_results(step) {
                self.copy_at((Content::Value(result), None), (Content::Notes(result, noted), Some(at)));
            }
        }
        Ok(())
    }

    /// Computes the values of a turn from notes at the place of a symbol.
    fn turn_from_notes(&mut self, scan: &Scan, noted: Noted, at: u32) -> Result<(), Error> {
        self.recall_carried(scan, noted, at);
        for step in &scan.body {
            if !self.is_noted(scan, *step)? {
                self.step_of_turn(scan, *step)?;
                continue;
            }
            for result in self.graph.step_results(*step) {
                self.copy_at((Content::Notes(result, noted), Some(at)), (Content::Value(result), None));
            }
        }
        Ok(())
    }

    /// Returns true if the results of a step of a turn are noted with what is carried, because they are sums of many things, which
    /// take longer than to read them. Those of a scan inside of it are computed again with the rest of its turns.
    fn is_noted(&self, scan: &Scan, step: StepId) -> Result<bool, Error> {
        let is_inside = self.graph.scan_within(step, Some(scan)).is_some();
        if is_inside || self.graph.law(step).is_some() || self.graph.special(step).is_some() {
            return Ok(false);
        }
        let bare = |result: Tensor| self.layout.margins(result).axes.iter().all(|margin| *margin == (0, 0));
        Ok(!self.layout.nest(step)?.reductions().is_empty() && self.graph.step_results(step).all(bare))
    }

    /// The division of the turns of a scan, if it has one and a repeat may be inside of another.
    fn division(&mut self, scan: &Scan) -> Option<Division> {
        let sizes = self.layout.segments_of(self.graph, scan).filter(|_| !self.options.flat)?;
        let (key, over) = (scan.carried.first()?.tensor, self.graph.short_name(scan.over));
        let segment = self.symbol(Symbol::Segment(key), &format!("segment of {over}"));
        let place = self.symbol(Symbol::Place(key), &format!("place in the segment of {over}"));
        Some(Division { sizes, segment, place })
    }

    /// Begins the gradients of everything outside that the turns of a scan add to.
    fn begin_outer(&mut self, scan: &Scan, wanted: &[bool], begun: &mut FxHashSet<Tensor>) {
        for step in &scan.body {
            let operands = self.graph.step_operands(*step);
            for place in differentiable(self.graph, *step) {
                let tensor = operands[place as usize - 1];
                if wanted[tensor.index()] && scan.outer.contains(&tensor) && begun.insert(tensor) {
                    let name = self.graph.label_of(tensor);
                    self.fill(Content::Gradient(tensor), 0.0, &format!("the gradient of {name} begins at 0"));
                }
            }
        }
    }

    /// The symbol that counts the turns of a scan.
    fn turn(&mut self, scan: &Scan) -> u32 {
        let over = self.graph.short_name(scan.over);
        self.symbol(Symbol::Turn(scan.counter), &format!("position of {over}"))
    }

    /// Repeats the nests from a place on, for all turns or for those of a segment.
    fn repeat(&mut self, scan: &Scan, start: usize, backwards: bool, division: Option<&Division>) {
        let segment = division.map(|division| Segment {
            number: division.segment,
            length: division.sizes.length,
            place: division.place,
        });
        let (symbol, turns) = (self.turn(scan), self.layout.turns(scan));
        self.add_repeat(Repeat { nests: start..self.program.nests.len(), symbol, turns, backwards, segment });
    }

    /// Repeats the nests from a place on, for all segments.
    fn repeat_segments(&mut self, start: usize, backwards: bool, division: &Division) {
        let (nests, turns) = (start..self.program.nests.len(), division.sizes.count);
        self.add_repeat(Repeat { nests, symbol: division.segment, turns, backwards, segment: None });
    }

    /// Adds a repeat of the last nests, before the repeats inside of it.
    fn add_repeat(&mut self, repeat: Repeat) {
        let repeats = &mut self.program.repeats;
        let place = repeats.partition_point(|known| known.nests.start < repeat.nests.start);
        repeats.insert(place, repeat);
    }

    /// Copies one node to another; either may be a part of its buffer, at the position of a turn.
    fn copy_at(&mut self, (from, at): (Content, Option<u32>), (to, place): (Content, Option<u32>)) {
        let (read, written) = (self.buffer(from), self.buffer(to));
        let sizes: Vec<Size> =
            self.program.buffer(written).sizes.iter().skip(usize::from(place.is_some())).copied().collect();
        let loops: Vec<(LoopVar, Size)> =
            sizes.iter().map(|size| (self.program.add_var("i"), *size)).collect();
        let index = |turn: Option<u32>| -> Vec<Index> {
            let axes = loops.iter().map(|(var, _)| Index::At(LoopSum::iterate(*var)));
            turn.map(Index::Symbol).into_iter().chain(axes).collect()
        };
        let value = Scalar::Load(Cell { buffer: read, index: index(at) });
        let cell = Cell { buffer: written, index: index(place) };
        let comment = format!("{} = {}", self.program.buffer(written).name, self.program.buffer(read).name);
        let store = Statement::Store { cell, accumulate: None, value };
        self.program.nests.push(Nest { comment, body: vec![store.within(loops.into_iter())] });
        self.written.insert(to);
    }
}
