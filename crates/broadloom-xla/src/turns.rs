//! Nests that run several times: a `stablehlo.while` that carries the buffers which a turn finds as the one before left them,
//! and those that are wanted afterwards.

use broadloom_loops::Repeat;

use crate::function::{Content, Symbol, Writer};
use crate::tensor::{Element, Tensor};

impl Writer<'_> {
    /// Writes a repeat; `nests` writes the nests of one turn.
    pub fn turns(
        &mut self,
        repeat: &Repeat,
        nests: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let turns = repeat.turns.as_number().ok_or("its sizes are not numbers")?;
        let carried = self.program.carried(repeat, |id| self.is_wanted(id));
        let mut firsts = vec![self.text.integers(0, &[], Element::I32)];
        for id in &carried {
            let first = self.content_or_zero(*id)?;
            firsts.push(self.divided(*id, first));
        }
        for id in self.program.mentioned(repeat.nests.clone()) {
            if !matches!(self.contents[id.index()], Content::Nothing) {
                self.content(id)?;
            }
        }
        self.bring_together_before(&repeat.nests)?;
        let outside = (self.margins.clone(), self.checks_so_far());
        let opened = self.text.open_while(&firsts, turns);
        let turn = self.turn(&opened[0], turns, repeat.backwards);
        self.set_symbol(repeat.symbol, Symbol::Position(turn));
        for (id, tensor) in carried.iter().zip(&opened[1..]) {
            self.set(*id, tensor.clone());
        }
        nests(self)?;
        if (self.margins.clone(), self.checks_so_far()) != outside {
            return Err("it belongs to a scan, whose turns look up rows or pad windows".into());
        }
        let one = self.text.integers(1, &[], Element::I32);
        let mut next = vec![self.text.each("add", &[&opened[0], &one])];
        for id in &carried {
            let made = self.content(*id)?;
            next.push(self.divided(*id, made));
        }
        self.gathered.clear();
        let results = self.text.close_while(&next);
        // What else a turn has written is of no use outside.
        for id in self.program.written(repeat.nests.clone()) {
            self.contents[id.index()] = Content::Nothing;
        }
        for (id, tensor) in carried.into_iter().zip(results.into_iter().skip(1)) {
            self.set(id, tensor);
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
