//! Nests that run several times: a `stablehlo.while` that carries the buffers which a turn finds as the one before left them,
//! and those that are wanted afterwards. One may be inside of another.

use std::rc::Rc;

use broadloom_loops::{BufferId, Repeat};
use broadloom_mesh::Division;
use rustc_hash::FxHashMap;

use crate::function::{Content, Symbol, Writer};
use crate::tensor::{Element, Tensor};

/// Turns that are being written.
pub(crate) struct OpenTurns {
    /// The buffers that are carried from turn to turn, and out of the last one.
    carried: Rc<[BufferId]>,
    /// The number of turns that have been, for the one that is written.
    count: Tensor,
    /// The margins and the number of checks outside, which no turn changes.
    outside: (Vec<Option<f64>>, usize),
    /// The tensors that were brought together outside.
    gathered: FxHashMap<(BufferId, Division), Tensor>,
}

impl Writer<'_> {
    /// Begins the turns of a repeat: the nests that are written from here on are those of one turn.
    pub fn open_turns(&mut self, repeat: &Repeat) -> Result<OpenTurns, String> {
        let turns = repeat.turns.as_number().ok_or("its sizes are not numbers")?;
        let carried: Rc<[BufferId]> = self.program.carried(repeat, |id| self.is_wanted(id)).into();
        let mut firsts = vec![self.text.integers(0, &[], Element::I32)];
        for id in carried.iter() {
            let first = self.content_or_zero(*id)?;
            firsts.push(self.divided(*id, first));
        }
        for id in self.program.mentioned(repeat.nests.clone()) {
            if !matches!(self.contents[id.index()], Content::Nothing) {
                self.content(id)?;
            }
        }
        let gathered = self.gathered.clone();
        self.bring_together_before(&repeat.nests)?;
        let outside = (self.margins.clone(), self.checks_so_far());
        let opened = self.text.open_while(&firsts, turns);
        let turn = self.turn(&opened[0], turns, repeat.backwards);
        self.set_symbol(repeat.symbol, Symbol::Position(turn));
        for (id, tensor) in carried.iter().zip(&opened[1..]) {
            self.set(*id, tensor.clone());
        }
        self.carried_around.push(Rc::clone(&carried));
        Ok(OpenTurns { carried, count: opened[0].clone(), outside, gathered })
    }

    /// Ends the turns of a repeat, after the nests of one.
    pub fn close_turns(&mut self, repeat: &Repeat, open: OpenTurns) -> Result<(), String> {
        if (&self.margins, self.checks_so_far()) != (&open.outside.0, open.outside.1) {
            return Err("it belongs to a scan, whose turns look up rows or pad windows".into());
        }
        let one = self.text.integers(1, &[], Element::I32);
        let mut next = vec![self.text.each("add", &[&open.count, &one])];
        for id in open.carried.iter() {
            let made = self.content(*id)?;
            next.push(self.divided(*id, made));
        }
        self.gathered = open.gathered;
        self.carried_around.pop();
        let results = self.text.close_while(&next);
        // What else a turn has written is of no use outside.
        for id in self.program.written(repeat.nests.clone()) {
            self.contents[id.index()] = Content::Nothing;
        }
        for (id, tensor) in open.carried.iter().zip(results.into_iter().skip(1)) {
            self.set(*id, tensor);
        }
        Ok(())
    }

    /// The position of a turn, given how many came before it.
    fn turn(&mut self, count: &Tensor, turns: i64, backwards: bool) -> Tensor {
        if !backwards {
            return count.clone();
        }
        let last = self.text.integers(turns - 1, &[], Element::I32);
        self.text.each("subtract", &[&last, count])
    }
}
