//! Nests that run several times: an `scf.for` that carries the buffers which a turn finds as the one before left them, and those
//! that are wanted afterwards. One may be inside of another.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::body::Symbol;
use super::function::Writer;
use super::types::tensor;
use crate::buffer::BufferId;
use crate::program::Repeat;

/// Turns that are being written.
pub(super) struct OpenTurns {
    /// The buffers that are carried from turn to turn, and out of the last one.
    carried: Rc<[BufferId]>,
    /// Their types.
    types: String,
    /// The name of what the last turn leaves.
    results: String,
    /// The constants and the padded tensors outside: what is named inside of the loop is not known behind it.
    outside: (FxHashMap<String, String>, FxHashMap<String, String>),
    /// The margins outside, which no turn changes.
    margins: Vec<Option<f64>>,
}

impl Writer<'_> {
    /// Begins the turns of a repeat: the nests that are written from here on are those of one turn.
    pub fn open_turns(&mut self, repeat: &Repeat) -> OpenTurns {
        let is_wanted = |id: BufferId| {
            self.results.contains(&id) || self.carried_around.iter().any(|carried| carried.contains(&id))
        };
        let carried: Rc<[BufferId]> = self.program.carried(repeat, is_wanted).into();
        let firsts: Vec<String> = carried.iter().map(|id| self.value(*id)).collect();
        let types: Vec<String> = carried
            .iter()
            .map(|id| tensor(&self.program.buffer(*id).shape(), self.program.buffer(*id).dtype))
            .collect();
        let (zero, one) = (self.index_constant(0), self.index_constant(1));
        let turns = repeat.turns.get();
        let (end, last) = (self.index_constant(turns), self.index_constant(turns.saturating_sub(1)));
        let outside = (self.constants.clone(), self.pads.clone());
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
        self.carried_around.push(Rc::clone(&carried));
        OpenTurns { carried, types, results, outside, margins: self.margins.clone() }
    }

    /// Ends the turns of a repeat, after the nests of one.
    pub fn close_turns(&mut self, repeat: &Repeat, open: OpenTurns) -> Result<(), String> {
        let OpenTurns { carried, types, results, outside, margins } = open;
        let next: Vec<String> = carried.iter().map(|id| self.value(*id)).collect();
        self.line(&format!("scf.yield {} : {types}", next.join(", ")));
        self.line("}");
        if margins != self.margins {
            return Err("it belongs to a scan, whose turns change margins of windows".into());
        }
        (self.constants, self.pads) = outside;
        self.carried_around.pop();
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
