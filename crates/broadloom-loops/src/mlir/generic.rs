//! One nest as `linalg.generic`.

use broadloom_core::projection::{Component, is_injective};

use super::body::{Body, GatheredTensor, Loops, Points, Store};
use super::function::Writer;
use super::names::dims;
use super::types::{element, tensor};
use super::view::{View, reach};
use crate::buffer::{Cell, Index, LoopSum, LoopVar};
use crate::function::Binary;
use crate::{BufferId, Dtype};

/// A tensor that the operation reads: its value, its type, and its index map.
struct Operand {
    value: String,
    of: String,
    element: &'static str,
    map: Vec<LoopSum>,
}

/// The cells that a store reads: those that become operands, and those that the body extracts
/// itself.
struct Reads {
    given: Vec<Cell>,
    sought: Vec<(Cell, GatheredTensor)>,
}

impl Writer<'_> {
    /// A store inside loops, each of which indexes the target by itself or in a sum.
    pub fn generic(&mut self, store: &Store<'_>, view: &View) -> Result<(), String> {
        let id = store.cell.buffer;
        let reads = self.reads(store)?;
        let mut operands = self.operands(store.loops, &reads.given)?;
        if view.reaches_beyond() && self.margins[id.index()].is_none() {
            // What is written there is never read.
            self.margins[id.index()] = Some(0.0);
        }
        let whole = self.value(id);
        let before = self.seen(view, &whole)?;
        let map: Vec<LoopSum> = view.map().cloned().collect();
        operands.extend(self.shape(store.loops, operands.iter().map(|operand| &operand.map).chain([&map])));
        let inputs: Vec<String> = (0..operands.len()).map(input).collect();
        let (stored, lines) = self.point(store, reads, &inputs)?;

        let made = self.names.fresh(&self.program.buffer(id).name);
        let stored_as = element(self.program.buffer(id).dtype);
        self.head(&made, store.loops, &operands, &map, &iterators(store.loops, &map, store.accumulate));
        let given =
            inputs.iter().zip(&operands).map(|(input, operand)| format!("{input}: {}", operand.element));
        let given: Vec<String> = given.chain([format!("%out: {stored_as}")]).collect();
        self.line(&outs(&operands, &before, &view.seen()));
        self.line(&format!("^bb0({}):", given.join(", ")));
        lines.iter().for_each(|line| self.line(&format!("  {line}")));
        self.line(&format!("  linalg.yield {stored} : {stored_as}"));
        self.line(&format!("}} -> {}", view.seen()));
        let after = self.put_back(view, &whole, &made)?;
        self.values[id.index()] = Some(after);
        Ok(())
    }

    /// The computation at one point, given the names of the elements: its result and its lines.
    fn point(
        &mut self,
        store: &Store<'_>,
        reads: Reads,
        inputs: &[String],
    ) -> Result<(String, Vec<String>), String> {
        let points = Points::Dims(store.loops.iter().map(|(var, _)| *var).collect());
        let mut body = Body::new(self.program, store.real, &self.symbols, points, self.helpers);
        body.elements = reads.given.into_iter().zip(inputs.iter().cloned()).collect();
        body.sources = reads.sought;
        let stored = body.stored(store, "%out")?;
        Ok((stored, body.lines))
    }

    /// The cells that a store reads, sorted into operands and others.
    fn reads(&mut self, store: &Store<'_>) -> Result<Reads, String> {
        let mut all: Vec<Cell> = Vec::new();
        store.value.each_load(&mut |cell| {
            if !all.contains(cell) {
                all.push(cell.clone());
            }
        });
        if all.iter().any(|cell| cell.buffer == store.cell.buffer && cell != store.cell) {
            let name = &self.program.buffer(store.cell.buffer).name;
            return Err(format!("it reads `{name}` elsewhere than where it writes it"));
        }
        let mut reads = Reads { given: Vec::new(), sought: Vec::new() };
        for cell in all {
            match self.view(&cell, store.loops) {
                Some(_) => reads.given.push(cell),
                None => {
                    let source = self.source(store.loops, &cell)?;
                    reads.sought.push((cell, source));
                }
            }
        }
        Ok(reads)
    }

    /// The tensor that a cell is taken out of, padded with the value of its margins.
    pub fn source(&mut self, loops: &Loops, cell: &Cell) -> Result<GatheredTensor, String> {
        let buffer = self.program.buffer(cell.buffer);
        let shape = buffer.shape();
        let beyond = |(index, size): (&Index, &u64)| match index {
            Index::At(at) => reach(at, loops, *size),
            Index::Symbol(_) | Index::Value(_) => (0, 0),
        };
        let pads: Vec<(u64, u64)> = cell.index.iter().zip(&shape).map(beyond).collect();
        let whole = self.read(cell.buffer)?;
        let value = self.pad(cell.buffer, &whole, &pads)?;
        let sizes = shape.iter().zip(&pads).map(|(size, pad)| pad.0 + size + pad.1).collect();
        Ok(GatheredTensor { value, sizes, low: pads.iter().map(|pad| pad.0).collect() })
    }

    fn operands(&mut self, loops: &Loops, cells: &[Cell]) -> Result<Vec<Operand>, String> {
        let mut operands = Vec::new();
        for cell in cells {
            let Some(view) = self.view(cell, loops) else { continue };
            let whole = self.read(cell.buffer)?;
            let value = self.seen(&view, &whole)?;
            let element = element(self.program.buffer(cell.buffer).dtype);
            operands.push(Operand { value, of: view.seen(), element, map: view.map().cloned().collect() });
        }
        Ok(operands)
    }

    /// The contents of a buffer that must have been written.
    fn read(&self, id: BufferId) -> Result<String, String> {
        let unwritten = || format!("`{}` is read before it is written", self.program.buffer(id).name);
        self.values[id.index()].clone().ok_or_else(unwritten)
    }

    /// `linalg` takes the extent of each loop from its operands. Loops that are nowhere an index by
    /// themselves get theirs from an extra operand without contents.
    fn shape<'m>(&mut self, loops: &Loops, maps: impl Iterator<Item = &'m Vec<LoopSum>>) -> Option<Operand> {
        let said: Vec<&LoopSum> = maps.flatten().collect();
        let unsaid = |(var, _): &&(LoopVar, u64)| !said.iter().any(|at| **at == LoopSum::iterate(*var));
        let unsaid: Vec<(LoopVar, u64)> = loops.iter().filter(unsaid).copied().collect();
        if unsaid.is_empty() {
            return None;
        }
        let sizes: Vec<u64> = unsaid.iter().map(|(_, extent)| *extent).collect();
        let of = tensor(&sizes, Dtype::F32);
        let value = self.define("window", &format!("tensor.empty() : {of}"));
        let map = unsaid.iter().map(|(var, _)| LoopSum::iterate(*var)).collect();
        Some(Operand { value, of, element: element(Dtype::F32), map })
    }

    /// The lines up to the operands: index maps and kinds of loops.
    fn head(&mut self, made: &str, loops: &Loops, operands: &[Operand], map: &[LoopSum], kinds: &[&str]) {
        let wanted = loops.iter().map(|(var, _)| self.program.vars.get(var.index()));
        let wanted: Vec<&str> = wanted.map(|name| name.map_or("d", String::as_str)).collect();
        let names = dims(&wanted);
        let name = |var: LoopVar| {
            let at = loops.iter().position(|(known, _)| *known == var);
            at.and_then(|at| names.get(at)).cloned().unwrap_or_default()
        };
        let text = |map: &[LoopSum]| {
            let results: Vec<String> = map.iter().map(|at| at.text(&name)).collect();
            format!("    affine_map<({}) -> ({})>", names.join(", "), results.join(", "))
        };
        let maps: Vec<String> =
            operands.iter().map(|operand| text(&operand.map)).chain([text(map)]).collect();
        self.line(&format!("{made} = linalg.generic {{"));
        self.line("  indexing_maps = [");
        maps.join(",\n").lines().for_each(|line| self.line(line));
        self.line("  ],");
        let kinds: Vec<String> = kinds.iter().map(|kind| format!("\"{kind}\"")).collect();
        self.line(&format!("  iterator_types = [{}]", kinds.join(", ")));
    }
}

/// The name of an operand's element in the body.
fn input(at: usize) -> String {
    if at == 0 { "%in".into() } else { format!("%in_{at}") }
}

/// `} ins(%x, %w : …, …) outs(%y_init : …) {`.
fn outs(operands: &[Operand], before: &str, of: &str) -> String {
    let values: Vec<&str> = operands.iter().map(|operand| operand.value.as_str()).collect();
    let types: Vec<&str> = operands.iter().map(|operand| operand.of.as_str()).collect();
    let ins = match operands {
        [] => String::new(),
        _ => format!("ins({} : {}) ", values.join(", "), types.join(", ")),
    };
    format!("}} {ins}outs({before} : {of}) {{")
}

/// Loops at whose points different cells are written are parallel. So are all of them if no cell is written twice.
fn iterators(loops: &Loops, map: &[LoopSum], accumulate: Option<Binary>) -> Vec<&'static str> {
    let mentions = |var: LoopVar| map.iter().any(|at| at.terms.iter().any(|(_, known)| *known == var));
    let numbered = |at: &LoopSum| {
        let place = |var: LoopVar| loops.iter().position(|(known, _)| *known == var);
        let terms = at.terms.iter().filter_map(|(c, var)| place(*var).map(|place| (*c, place as u32)));
        Component::new(at.offset, terms)
    };
    let all_mentioned = loops.iter().all(|(var, extent)| *extent == 1 || mentions(*var));
    let extents: Vec<u64> = loops.iter().map(|(_, extent)| *extent).collect();
    let distinct = accumulate.is_none()
        && all_mentioned
        && is_injective(&map.iter().map(numbered).collect::<Vec<_>>(), &extents).holds();
    let kind = |(var, _): &(LoopVar, u64)| {
        let alone = map.contains(&LoopSum::iterate(*var));
        if distinct || alone { "parallel" } else { "reduction" }
    };
    loops.iter().map(kind).collect()
}
