//! Nests as loops of `scf`: checks, and stores at indices that are looked up, which no index map describes.

use super::body::{Body, GatheredTensor, Loops, Points, Store};
use super::function::{Writer, in_quotes};
use super::types::tensor;
use crate::buffer::{Cell, Index, LoopVar};
use crate::{BufferId, Dtype};

/// The loops, or one that runs once if there are none: values named inside a loop are local to it.
fn at_least_one(loops: &Loops) -> &Loops {
    const ONCE: [(LoopVar, u64); 1] = [(LoopVar(u32::MAX), 1)];
    if loops.is_empty() { &ONCE } else { loops }
}

impl Writer<'_> {
    /// Asserts that indices that are looked up are inside their axis, and other checked integers
    /// below their bounds.
    pub fn check(&mut self, loops: &Loops, cell: &Cell, below: u64, of: BufferId) -> Result<(), String> {
        let loops = at_least_one(loops);
        let source = self.source(loops, cell)?;
        let bound = self.integer_constant(below);
        let points = self.begin(loops, None);
        let dtype = self.program.buffer(cell.buffer).dtype;
        let mut body =
            Body::new(self.program, Dtype::F64, &self.symbols, Points::Values(points), self.helpers);
        body.sources = vec![(cell.clone(), source)];
        let held = body.held(cell)?;
        let integer = body.integer(&held, dtype);
        let inside = body.push(format!("arith.cmpi ult, {integer}, {bound} : i64"));
        let held_by = &self.program.buffer(cell.buffer).name;
        let message = match of == cell.buffer {
            true => format!("{held_by} has a number that is not below {below}"),
            false => {
                let of = &self.program.buffer(of).name;
                format!("{held_by} has an index of {of} that is not below {below}")
            }
        };
        let message = in_quotes(&message);
        let lines = body.lines;
        self.inner(loops.len(), &lines);
        self.inner(loops.len(), &[format!("cf.assert {inside}, \"{message}\"")]);
        for depth in (0..loops.len()).rev() {
            self.inner(depth, &["}".to_string()]);
        }
        Ok(())
    }

    /// A store whose indices are looked up.
    pub fn serial_store(&mut self, store: &Store<'_>) -> Result<(), String> {
        let (loops, target) = (at_least_one(store.loops), store.cell);
        let buffer = self.program.buffer(target.buffer);
        let of = tensor(&buffer.shape(), buffer.dtype);
        let sources = self.sources(store)?;
        let before = self.value(target.buffer);
        let made: Vec<String> = loops.iter().map(|_| self.names.fresh(&buffer.name)).collect();
        let carried: Vec<String> =
            loops.iter().map(|_| self.names.fresh(&format!("{}_so_far", buffer.name))).collect();
        let points = self.begin(loops, Some((&made, &carried, &before, &of)));
        let last = carried.last().unwrap_or(&before);

        let mut body =
            Body::new(self.program, store.real, &self.symbols, Points::Values(points), self.helpers);
        body.sources = sources;
        let place = body.place(target, &vec![0; target.index.len()])?.join(", ");
        let held = match store.accumulate {
            Some(_) => body.push(format!("tensor.extract {last}[{place}] : {of}")),
            None => String::new(),
        };
        let stored = body.stored(store, &held)?;
        let mut yielded = body.push(format!("tensor.insert {stored} into {last}[{place}] : {of}"));
        let lines = body.lines;
        self.inner(loops.len(), &lines);
        for depth in (0..loops.len()).rev() {
            self.inner(depth + 1, &[format!("scf.yield {yielded} : {of}")]);
            self.inner(depth, &["}".to_string()]);
            yielded.clone_from(&made[depth]);
        }
        self.values[target.buffer.index()] = Some(yielded);
        Ok(())
    }

    /// The tensors that a store reads, those in its indices included.
    fn sources(&mut self, store: &Store<'_>) -> Result<Vec<(Cell, GatheredTensor)>, String> {
        let mut cells: Vec<Cell> = Vec::new();
        store.value.each_load(&mut |cell| cells.push(cell.clone()));
        store.cell.each_index(&mut |index| {
            if let Index::Value(cell) = index {
                cells.push((**cell).clone());
            }
        });
        let target = store.cell.buffer;
        if cells.iter().any(|cell| cell.buffer == target) {
            return Err(format!("it reads `{}` while it writes it", self.program.buffer(target).name));
        }
        let mut sources = Vec::new();
        for cell in cells {
            let source = self.source(store.loops, &cell)?;
            sources.push((cell, source));
        }
        Ok(sources)
    }

    /// The heads of loops, which may carry a tensor along: the name of each result, the name inside
    /// each loop, the initial value, and the type. Returns the variables.
    fn begin(
        &mut self,
        loops: &Loops,
        carried: Option<(&[String], &[String], &str, &str)>,
    ) -> Vec<(LoopVar, String)> {
        let (zero, one) = (self.index_constant(0), self.index_constant(1));
        let ends: Vec<String> = loops.iter().map(|(_, extent)| self.index_constant(*extent)).collect();
        let mut points = Vec::new();
        for (depth, ((var, _), end)) in loops.iter().zip(&ends).enumerate() {
            let wanted = self.program.vars.get(var.index()).map_or("i", String::as_str);
            let point = self.names.fresh(wanted);
            let head = format!("scf.for {point} = {zero} to {end} step {one}");
            let line = match carried {
                Some((made, inside, first, of)) => {
                    let from = if depth == 0 { first } else { &inside[depth - 1] };
                    format!("{} = {head} iter_args({} = {from}) -> ({of}) {{", made[depth], inside[depth])
                }
                None => format!("{head} {{"),
            };
            self.inner(depth, &[line]);
            points.push((*var, point));
        }
        points
    }

    /// Lines inside of some loops.
    fn inner(&mut self, depth: usize, lines: &[String]) {
        lines.iter().for_each(|line| self.line(&format!("{}{line}", "  ".repeat(depth))));
    }
}
