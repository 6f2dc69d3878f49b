//! Nests that run several times: an `scf.for` that carries the buffers which a turn finds as the one before left them, and those
//! that are wanted afterwards.

use super::body::Symbol;
use super::function::Writer;
use super::types::tensor;
use crate::buffer::BufferId;
use crate::program::Repeat;

impl Writer<'_> {
    /// Writes a repeat; `nests` writes the nests of one turn.
    pub fn turns(
        &mut self,
        repeat: &Repeat,
        wanted: &[BufferId],
        nests: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let carried = self.program.carried(repeat, |id| wanted.contains(&id));
        let firsts: Vec<String> = carried.iter().map(|id| self.value(*id)).collect();
        let types: Vec<String> = carried
            .iter()
            .map(|id| tensor(&self.program.buffer(*id).shape(), self.program.buffer(*id).dtype))
            .collect();
        let (zero, one) = (self.index_constant(0), self.index_constant(1));
        let turns = repeat.turns.get();
        let (end, last) = (self.index_constant(turns), self.index_constant(turns.saturating_sub(1)));
        // What is named inside of the loop is not known behind it.
        let outside = (self.constants.clone(), self.pads.clone(), self.margins.clone());
        let inside: Vec<String> =
            carried.iter().map(|id| self.names.fresh(&self.program.buffer(*id).name)).collect();
        let (results, count) = (self.names.fresh("turns"), self.names.fresh("turn"));
        let pairs: Vec<String> =
            inside.iter().zip(&firsts).map(|(inside, first)| format!("{inside} = {first}")).collect();
        let many = if carried.len() == 1 { String::new() } else { format!(":{}", carried.len()) };
        let (pairs, types) = (pairs.join(", "), types.join(", "));
        self.line(&format!(
            "{results}{many} = scf.for {count} = {zero} to {end} step {one} iter_args({pairs}) -> ({types}) {{"
        ));
        let at = match repeat.backwards {
            false => count,
            true => self.define("position", &format!("arith.subi {last}, {count} : index")),
        };
        let number = self.define("position", &format!("arith.index_cast {at} : index to i64"));
        self.symbols[repeat.symbol as usize] = Symbol::Argument(number, Some(at));
        for (id, inside) in carried.iter().zip(inside) {
            self.values[id.index()] = Some(inside);
        }
        nests(self)?;
        let next: Vec<String> = carried.iter().map(|id| self.value(*id)).collect();
        self.line(&format!("scf.yield {} : {types}", next.join(", ")));
        self.line("}");
        let (constants, pads, margins) = outside;
        if margins != self.margins {
            return Err("it belongs to a scan, whose turns change margins of windows".into());
        }
        (self.constants, self.pads) = (constants, pads);
        for id in self.program.written(repeat.nests.clone()) {
            self.values[id.index()] = None;
        }
        for (at, id) in carried.iter().enumerate() {
            let name = if carried.len() == 1 { results.clone() } else { format!("{results}#{at}") };
            self.values[id.index()] = Some(name);
        }
        Ok(())
    }
}
