//! A program as a function: its arguments, its nests in order, its results.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::body::{Store, Symbol};
use super::helper::Helper;
use super::names::{MlirNames, identifier};
use super::types::{element, number, tensor};
use super::{Function, Refusal, Supplied};
use crate::buffer::{Buffer, BufferId};
use crate::program::{Group, Nest, Program, Statement};
use crate::{Dtype, reference};

/// Writes a function.
pub(super) fn write(function: &Function<'_>, helpers: &mut BTreeSet<Helper>) -> Result<String, Refusal> {
    let mut writer = Writer::new(function, helpers);
    let signature = writer.signature(function);
    writer.check_positions(function);
    writer.groups(function, &function.program.groups())?;
    writer.finish(function);
    let comment: String = function.comment.iter().map(|line| format!("// {line}\n")).collect();
    let body: String = writer.lines.iter().map(|line| format!("{line}\n")).collect();
    Ok(format!("{comment}{signature}{body}}}\n"))
}

/// The refusal of a nest, by its place.
fn refusal(program: &Program, at: usize, reason: String) -> Refusal {
    let nest = program.nests.get(at).map_or_else(String::new, |nest| nest.comment.clone());
    Refusal { at: Some(at), nest, reason }
}

/// A function that is being written.
pub(super) struct Writer<'a> {
    pub program: &'a Program,
    pub names: MlirNames,
    pub symbols: Vec<Symbol>,
    /// The value that holds the contents of each buffer now, if it has any.
    pub values: Vec<Option<String>>,
    /// The value that the margins of each buffer hold now, or None once they have been written to.
    pub margins: Vec<Option<f64>>,
    /// The padded tensors that have been made already.
    pub pads: FxHashMap<String, String>,
    pub constants: FxHashMap<String, String>,
    pub helpers: &'a mut BTreeSet<Helper>,
    /// The buffers that the function returns.
    pub results: Vec<BufferId>,
    /// The buffers that turns carry around the nest that is being written, the outermost first.
    pub carried_around: Vec<Rc<[BufferId]>>,
    lines: Vec<String>,
}

impl<'a> Writer<'a> {
    fn new(function: &Function<'a>, helpers: &'a mut BTreeSet<Helper>) -> Writer<'a> {
        let program = function.program;
        Writer {
            program,
            names: MlirNames::default(),
            symbols: Vec::new(),
            values: vec![None; program.buffers.len()],
            margins: program.buffers.iter().map(|buffer| Some(buffer.fill)).collect(),
            pads: FxHashMap::default(),
            constants: FxHashMap::default(),
            helpers,
            results: function.results.iter().map(|(id, _)| *id).collect(),
            carried_around: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// The head of the function: one argument or result on each line, with its note.
    fn signature(&mut self, function: &Function<'_>) -> String {
        let mut arguments = Vec::new();
        for (id, note) in &function.arguments {
            let buffer = self.program.buffer(*id);
            let name = self.names.fresh(&buffer.name);
            arguments.push((format!("{name}: {}", tensor(&buffer.shape(), buffer.dtype)), note.as_str()));
            self.values[id.index()] = Some(name);
        }
        for (name, supplied) in self.program.symbols.iter().zip(&function.symbols) {
            let symbol = match supplied {
                Supplied::Known(value) => Symbol::Known(*value),
                Supplied::Key => Symbol::Argument(self.names.fresh(name), None),
                Supplied::Position(_) => {
                    Symbol::Argument(self.names.fresh(name), Some(self.names.fresh(&format!("{name}_at"))))
                }
            };
            if let Symbol::Argument(argument, _) = &symbol {
                arguments.push((format!("{argument}: i64"), name.as_str()));
            }
            self.symbols.push(symbol);
        }
        let result = |(id, note): &'_ (BufferId, String)| {
            let buffer = self.program.buffer(*id);
            (tensor(&buffer.shape(), buffer.dtype), note.clone())
        };
        let results: Vec<(String, String)> = function.results.iter().map(result).collect();
        let results: Vec<(String, &str)> =
            results.iter().map(|(of, note)| (of.clone(), note.as_str())).collect();
        let name = identifier(function.name);
        format!("func.func @{name}({}) -> ({}) {{\n", listed(&arguments), listed(&results))
    }

    /// Asserts that the positions given to a run are below their bounds.
    fn check_positions(&mut self, function: &Function<'_>) {
        for (at, supplied) in function.symbols.iter().enumerate() {
            let (Supplied::Position(below), Some(Symbol::Argument(argument, Some(index)))) =
                (supplied, self.symbols.get(at).cloned())
            else {
                continue;
            };
            let name = self.program.symbols.get(at).cloned().unwrap_or_default();
            let bound = self.integer_constant(*below);
            let inside = self.define("inside", &format!("arith.cmpi ult, {argument}, {bound} : i64"));
            self.line(&format!("cf.assert {inside}, \"{} is not below {below}\"", in_quotes(&name)));
            self.line(&format!("{index} = arith.index_cast {argument} : i64 to index"));
        }
    }

    /// Writes a comment for readers above the nest that comes next.
    fn heading(&mut self, text: &str) {
        if !text.is_empty() {
            if !self.lines.is_empty() {
                self.line("");
            }
            text.lines().for_each(|line| self.line(&format!("// {}", line.replace(char::is_control, " "))));
        }
    }

    /// Writes some groups of nests, one after another.
    fn groups(&mut self, function: &Function<'_>, groups: &[Group<'_>]) -> Result<(), Refusal> {
        for group in groups {
            match group {
                Group::Once(nests) => self.nests(function, nests.clone())?,
                Group::Repeated(repeat, inside) => {
                    let open = self.open_turns(repeat);
                    self.groups(function, inside)?;
                    let closed = self.close_turns(repeat, open);
                    closed.map_err(|reason| refusal(function.program, repeat.nests.start, reason))?;
                }
            }
        }
        Ok(())
    }

    /// Writes some nests, one after another.
    fn nests(&mut self, function: &Function<'_>, nests: Range<usize>) -> Result<(), Refusal> {
        let program = self.program;
        let mut last = String::new();
        for at in nests {
            let nest = &program.nests[at];
            let heading = format!("{}{}", function.places.get(at).map_or("", String::as_str), nest.comment);
            self.heading(if heading == last { "" } else { &heading });
            self.nest(nest).map_err(|reason| refusal(program, at, reason))?;
            last = heading;
        }
        Ok(())
    }

    fn nest(&mut self, nest: &Nest) -> Result<(), String> {
        nest.body.iter().try_for_each(|statement| self.statement(statement, real(self.program, statement)))
    }

    /// One statement with the loops around it.
    fn statement(&mut self, statement: &Statement, real: Dtype) -> Result<(), String> {
        let (mut loops, mut inner) = (Vec::new(), statement);
        while let Statement::Loop(each) = inner {
            let [only] = &each.body[..] else {
                return Err("a loop has several statements in it, as only optimised nests have".into());
            };
            loops.push((each.var, each.extent.get()));
            inner = only;
        }
        let runs = loops.iter().all(|(_, extent)| *extent > 0);
        match inner {
            Statement::Fill { buffer, value } => {
                self.fill(*buffer, *value);
                Ok(())
            }
            Statement::FillMargins { buffer, value } => {
                self.margins[buffer.index()] = Some(*value);
                Ok(())
            }
            Statement::Store { cell, .. } if !runs => {
                // There is no point to compute anything at.
                self.value(cell.buffer);
                Ok(())
            }
            Statement::Store { cell, accumulate, value } => {
                let store = Store { loops: &loops, cell, accumulate: *accumulate, value, real };
                match self.view(cell, &loops) {
                    Some(view) => self.generic(&store, &view),
                    None => self.serial_store(&store),
                }
            }
            Statement::Check { .. } if !runs => Ok(()),
            Statement::Check { cell, below, of } => self.check(&loops, cell, below.get(), *of),
            Statement::Sort { .. } => Err("MLIR has no operation that sorts, and StableHLO has".into()),
            Statement::Matrix { function, .. } => {
                let name = function.name();
                Err(format!(
                    "MLIR has no operation that computes `{name}` of a matrix: C and StableHLO can say it"
                ))
            }
            _ => Err("it has variables, which only optimised nests have".into()),
        }
    }

    /// Sets all cells of a buffer, margins included.
    fn fill(&mut self, id: BufferId, value: f64) {
        let buffer = self.program.buffer(id);
        let (of, name) = (tensor(&buffer.shape(), buffer.dtype), format!("{}_init", buffer.name));
        let constant = self.constant(buffer.dtype, value);
        let empty = self.empty(id);
        let ins = format!("ins({constant} : {})", element(buffer.dtype));
        let filled = self.define(&name, &format!("linalg.fill {ins} outs({empty} : {of}) -> {of}"));
        self.values[id.index()] = Some(filled);
        if buffer.has_margins() {
            self.margins[id.index()] = Some(value);
        }
    }

    /// The contents of a buffer, which are undefined if it has not been written.
    pub fn value(&mut self, id: BufferId) -> String {
        if let Some(value) = &self.values[id.index()] {
            return value.clone();
        }
        let empty = self.empty(id);
        self.values[id.index()] = Some(empty.clone());
        empty
    }

    fn empty(&mut self, id: BufferId) -> String {
        let buffer @ Buffer { name, dtype, .. } = self.program.buffer(id);
        self.define(
            &format!("{name}_empty"),
            &format!("tensor.empty() : {}", tensor(&buffer.shape(), *dtype)),
        )
    }

    /// A number, as a value of the function.
    pub fn constant(&mut self, dtype: Dtype, value: f64) -> String {
        let name = match reference::round(dtype, value) {
            0.0 => "zero",
            1.0 => "one",
            f64::INFINITY => "infinity",
            f64::NEG_INFINITY => "minus_infinity",
            _ => "constant",
        };
        // Truths are written without a type.
        let typed = if dtype == Dtype::Bool { String::new() } else { format!(" : {}", element(dtype)) };
        self.constant_text(name, &format!("{}{typed}", number(dtype, value)))
    }

    pub fn integer_constant(&mut self, value: u64) -> String {
        self.constant_text(&format!("c{value}"), &format!("{value} : i64"))
    }

    pub fn index_constant(&mut self, value: u64) -> String {
        self.constant_text(&format!("c{value}"), &format!("{value} : index"))
    }

    /// A constant, written once.
    fn constant_text(&mut self, name: &str, text: &str) -> String {
        if let Some(known) = self.constants.get(text) {
            return known.clone();
        }
        let name = self.define(name, &format!("arith.constant {text}"));
        self.constants.insert(text.to_string(), name.clone());
        name
    }

    /// Defines a value with a fresh name like the wanted one.
    pub fn define(&mut self, wanted: &str, operation: &str) -> String {
        let name = self.names.fresh(wanted);
        self.line(&format!("{name} = {operation}"));
        name
    }

    /// A line of the function's body.
    pub fn line(&mut self, text: &str) {
        self.lines.push(if text.is_empty() { String::new() } else { format!("  {text}") });
    }

    fn finish(&mut self, function: &Function<'_>) {
        let results: Vec<String> = function.results.iter().map(|(id, _)| self.value(*id)).collect();
        let types = function.results.iter().map(|(id, _)| self.program.buffer(*id));
        let types: Vec<String> = types.map(|buffer| tensor(&buffer.shape(), buffer.dtype)).collect();
        self.line("");
        let typed = if results.is_empty() { String::new() } else { format!(" : {}", types.join(", ")) };
        self.line(format!("return {}{typed}", results.join(", ")).trim_end());
    }
}

/// Arguments or results, one on each line, their notes behind the commas.
fn listed(list: &[(String, &str)]) -> String {
    let line = |(at, (text, note)): (usize, &(String, &str))| {
        let comma = if at + 1 == list.len() { "" } else { "," };
        format!("\n  {text}{comma} // {}", note.replace(char::is_control, " "))
    };
    let lines: String = list.iter().enumerate().map(line).collect();
    if lines.is_empty() { lines } else { format!("{lines}\n") }
}

/// The type that a statement computes in: 64-bit floats if it reads, sets or casts to those, or sets an integer; 32-bit floats otherwise.
fn real(program: &Program, statement: &Statement) -> Dtype {
    let mut wide = false;
    statement.each(&mut |inner| {
        let written = inner.written().map(|id| program.buffer(id).dtype);
        wide |= written.is_some_and(|dtype| dtype == Dtype::F64 || !dtype.is_float());
        inner.each_read(&mut |cell| wide |= program.buffer(cell.buffer).dtype == Dtype::F64);
        wide |= inner.value().is_some_and(crate::Scalar::has_wide_cast);
    });
    if wide { Dtype::F64 } else { Dtype::F32 }
}

/// A text as it is written inside quotes.
pub fn in_quotes(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace(char::is_control, " ")
}
