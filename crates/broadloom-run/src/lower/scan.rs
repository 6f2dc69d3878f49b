//! Scans: the nests of one turn, repeated over the positions of an axis.
//!
//! The buffers of a turn are used again in the next one. What is carried is copied: at the end of a turn its next value becomes
//! the value of the next turn. If gradients will be asked for, each turn also notes what it was given. Going back, a turn
//! computes its values again from that note, so that a scan of n turns remembers n times what it carries, and nothing else.
//!
//! ```text
//! h = first                          dh = gradient of the last value
//! for each turn:                     for each turn, from the last to the first:
//!   notes[turn] = h                    h = notes[turn]
//!   the body                           the body
//!   h = next                           gradients of the body, from dh and those of all turns
//!                                      dh = gradient of h
//!                                    gradient of first += dh
//! ```

use std::sync::Arc;

use broadloom_core::projection::Component;
use broadloom_graph::lowering::{Carried, Face, Scan};
use broadloom_graph::{Error, ErrorKind, Graph, Tensor};
use broadloom_loops::{Cell, Index, Nest, Repeat, Scalar, Size, Statement};
use rustc_hash::FxHashSet;

use super::law::differentiable;
use super::{Content, Lowering, Symbol};
use crate::routine::Action;

/// The scans among some steps, each once.
pub(super) fn scans<'g>(graph: &'g Graph, steps: &[u32]) -> Vec<&'g Arc<Scan>> {
    let mut scans: Vec<&Arc<Scan>> = Vec::new();
    for scan in steps.iter().filter_map(|step| graph.scan_of(*step)) {
        if !scans.iter().any(|known| Arc::ptr_eq(known, scan)) {
            scans.push(scan);
        }
    }
    scans
}

/// Returns true if a tensor is computed in every turn of a scan, and has no value outside of it.
pub(super) fn is_inside(graph: &Graph, tensor: Tensor) -> bool {
    let step = graph.made_by(tensor);
    graph.scan_of(step).is_some_and(|scan| scan.body.contains(&step))
}

/// The steps of a scan, in order.
pub(super) fn steps_of(scan: &Scan) -> Vec<u32> {
    let firsts = scan.carried.iter().map(|carried| carried.first);
    let mut steps: Vec<u32> = firsts.collect();
    steps.extend(scan.body.iter().chain(&scan.collected).chain(&scan.last));
    steps.sort_unstable();
    steps
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
        let start = self.program.nests.len();
        let turn = self.turn(scan);
        if self.routine.actions.iter().any(|action| matches!(action, Action::Backward(_))) {
            for carried in &scan.carried {
                let notes = Content::Notes(carried.tensor);
                self.copy_at((Content::Value(carried.tensor), None), (notes, Some(turn)));
            }
        }
        for step in scan.body.iter().chain(&scan.collected) {
            self.forward(*step)?;
        }
        for Carried { tensor, next, .. } in &scan.carried {
            self.copy_at((self.node(*next), None), (Content::Value(*tensor), None));
        }
        self.repeat(scan, start, false);
        scan.last.iter().try_for_each(|step| self.forward(*step))
    }

    /// Lowers the gradients of a scan, from those of its results.
    pub(super) fn scan_backward(
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
        let start = self.program.nests.len();
        let turn = self.turn(scan);
        for Carried { tensor, .. } in &scan.carried {
            self.copy_at((Content::Notes(*tensor), Some(turn)), (Content::Value(*tensor), None));
        }
        scan.body.iter().try_for_each(|step| self.forward(*step))?;
        let mut inside = begun.clone();
        for Carried { tensor, next, .. } in &carried {
            self.copy_at((Content::Gradient(*tensor), None), (Content::Gradient(*next), None));
            inside.extend([*tensor, *next]);
        }
        for Carried { tensor, .. } in &carried {
            self.fill(Content::Gradient(*tensor), 0.0, "the gradient of what the turn before carried over");
        }
        for step in scan.collected.iter().chain(scan.body.iter().rev()) {
            if self.graph.step_results(*step).any(|result| wanted[result.index()]) {
                self.backward_step(*step, wanted, &mut inside)?;
            }
        }
        self.repeat(scan, start, true);
        for Carried { tensor, first, .. } in &carried {
            begun.insert(*tensor);
            self.backward_step(*first, wanted, begun)?;
        }
        Ok(())
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
        self.symbol(Symbol::Turn(scan.over), &format!("position of {over}"))
    }

    /// Repeats the nests from a place on.
    fn repeat(&mut self, scan: &Scan, start: usize, backwards: bool) {
        let (symbol, turns) = (self.turn(scan), self.turns(scan));
        self.program.repeats.push(Repeat {
            nests: start..self.program.nests.len(),
            symbol,
            turns,
            backwards,
        });
    }

    /// The number of turns of a scan.
    fn turns(&self, scan: &Scan) -> Size {
        self.layout.axes(scan.over).first().copied().unwrap_or(Size::ONE)
    }

    /// Copies one node to another; either may be a part of its buffer, at the position of a turn.
    fn copy_at(&mut self, (from, at): (Content, Option<u32>), (to, place): (Content, Option<u32>)) {
        let (read, written) = (self.buffer(from), self.buffer(to));
        let sizes: Vec<Size> =
            self.program.buffer(written).sizes.iter().skip(usize::from(place.is_some())).copied().collect();
        let loops: Vec<(u32, Size)> = sizes.iter().map(|size| (self.program.add_var("i"), *size)).collect();
        let index = |turn: Option<u32>| -> Vec<Index> {
            let axes = loops.iter().map(|(var, _)| Index::At(Component::iterate(*var)));
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

/// The error for a tensor that is asked for outside of the scan that computes it.
pub(super) fn inside_only(graph: &Graph, tensor: Tensor) -> Error {
    let name = graph.label_of(tensor);
    Error::new(
        ErrorKind::Use,
        format!("`{name}` is computed anew in every turn of a scan, and has no value outside"),
    )
    .about_step(graph.made_by(tensor))
    .with_help("let the scan carry it: then its values of all turns, and its last one, are results")
}
