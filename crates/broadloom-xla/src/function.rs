//! A program as a function: its arguments, its nests in order, its results.

mod parts;
pub(crate) mod shard;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::rc::Rc;

use broadloom_loops::mlir::{Function, Supplied, in_quotes};
use broadloom_loops::{BufferId, Cell, Dtype, Group, Program, Statement};
use broadloom_mesh::Division;
use rustc_hash::FxHashMap;

use crate::held::held;
use crate::nest::{Nest, Over, finds_extremes, looks_for_equals};
use crate::operation::Monoid;
use crate::precision::Precision;
use crate::tensor::{Element, Tensor};
use crate::write::Text;
use crate::{Check, Input, Module, Refusal};
use parts::Parts;
use shard::Sharded;

/// A number that is supplied to a run.
#[derive(Clone, Debug)]
pub(crate) enum Symbol {
    Known(f64),
    /// A position, an integer of 32 bits.
    Position(Tensor),
    /// Two words.
    Key(Tensor),
}

/// The contents of a buffer.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Not written yet.
    Nothing,
    /// One number everywhere.
    Splat(f64),
    Tensor(Tensor),
    /// Parts that were written one after another.
    Parts(Box<Parts>),
}

/// A function that is being written.
pub(crate) struct Writer<'a> {
    pub program: &'a Program,
    pub text: Text,
    symbols: Vec<Symbol>,
    pub contents: Vec<Content>,
    /// The value that the margins of each buffer hold now, or None once they have been written to.
    pub margins: Vec<Option<f64>>,
    checks: Vec<(Check, Tensor)>,
    /// The buffers that the function returns.
    results: Vec<BufferId>,
    /// True if some nest looks for equal numbers.
    has_equals: bool,
    /// The types of buffers that are held in another type than their own.
    held: FxHashMap<BufferId, Dtype>,
    /// The division over devices, if there are several.
    pub sharded: Option<&'a Sharded<'a>>,
    /// Inside of turns, what was brought together before them, by the division that is left.
    pub gathered: FxHashMap<(BufferId, Division), Tensor>,
    /// The buffers that turns carry around the nest that is being written, the outermost first.
    pub carried_around: Vec<Rc<[BufferId]>>,
    /// The place of the nest that is being written.
    pub at: usize,
}

/// Writes a program as a module.
pub(crate) fn write(
    function: &Function<'_>,
    precision: Precision,
    sharded: Option<&Sharded<'_>>,
) -> Result<Module, Refusal> {
    let program = function.program;
    let mut writer = Writer {
        program,
        text: Text::new(precision),
        symbols: Vec::new(),
        contents: vec![Content::Nothing; program.buffers.len()],
        margins: program.buffers.iter().map(|buffer| Some(buffer.fill)).collect(),
        checks: Vec::new(),
        results: function.results.iter().map(|(id, _)| *id).collect(),
        has_equals: has_equals(program),
        // Parts of a sum that devices add up are not rounded before.
        held: if sharded.is_some() { FxHashMap::default() } else { held(program) },
        sharded,
        gathered: FxHashMap::default(),
        carried_around: Vec::new(),
        at: 0,
    };
    let (inputs, arguments) = writer.arguments(function);
    writer.groups(function, &program.groups())?;
    let refused = |reason: String| Refusal { at: None, nest: function.name.into(), reason };
    let results = writer.results(function).map_err(refused)?;
    let checks = writer.checks.iter().map(|(check, _)| check.clone()).collect();
    let (lines, helpers) = writer.text.finish();
    let mesh = sharded.map(Sharded::declaration).unwrap_or_default();
    let text = assembled(function, (&arguments, &results), &mesh, &lines, &helpers);
    Ok(Module { text, inputs, outputs: function.results.iter().map(|(id, _)| *id).collect(), checks })
}

/// The refusal of a nest, by its place.
fn refusal(program: &Program, at: usize, reason: String) -> Refusal {
    let nest = program.nests.get(at).map_or_else(String::new, |nest| nest.comment.clone());
    Refusal { at: Some(at), nest, reason }
}

/// An argument or a result, and a note on it for readers.
type Port = (String, String);

/// The text of a module.
fn assembled(
    function: &Function<'_>,
    (arguments, results): (&[Port], &[Port]),
    mesh: &str,
    lines: &str,
    helpers: &BTreeMap<String, String>,
) -> String {
    let listed = |list: &[Port]| {
        let mut text = String::new();
        for (at, (item, note)) in list.iter().enumerate() {
            let comma = if at + 1 == list.len() { "" } else { "," };
            // Writing to a string cannot fail.
            let _ = write!(text, "\n      {item}{comma} // {}", note.replace(char::is_control, " "));
        }
        if text.is_empty() { text } else { text + "\n  " }
    };
    let mut text = String::new();
    for line in &function.comment {
        let _ = writeln!(text, "// {line}");
    }
    let _ = writeln!(
        text,
        "module @{} {{\n{mesh}  func.func public @main({}) -> ({}) {{\n{lines}  }}",
        broadloom_loops::mlir::identifier(function.name),
        listed(arguments),
        listed(results)
    );
    for helper in helpers.values() {
        let _ = write!(text, "\n{helper}");
    }
    text.push_str("}\n");
    text
}

impl Writer<'_> {
    /// Writes some groups of nests, one after another.
    fn groups(&mut self, function: &Function<'_>, groups: &[Group<'_>]) -> Result<(), Refusal> {
        for group in groups {
            match group {
                Group::Once(nests) => self.nests(function, nests.clone())?,
                Group::Repeated(repeat, inside) => {
                    let refused = |reason: String| refusal(function.program, repeat.nests.start, reason);
                    let open = self.open_turns(repeat).map_err(refused)?;
                    self.groups(function, inside)?;
                    self.close_turns(repeat, open).map_err(refused)?;
                }
            }
        }
        Ok(())
    }

    /// Writes some nests, one after another.
    fn nests(&mut self, function: &Function<'_>, nests: Range<usize>) -> Result<(), Refusal> {
        let program = self.program;
        let mut last = ("", "");
        for at in nests {
            self.at = at;
            let nest = &program.nests[at];
            let heading = (function.places.get(at).map_or("", String::as_str), nest.comment.as_str());
            if heading != last {
                self.heading(heading);
            }
            let refused = |reason: String| refusal(program, at, reason);
            nest.body.iter().try_for_each(|statement| self.statement(statement)).map_err(refused)?;
            last = heading;
        }
        Ok(())
    }

    /// The arguments, with their texts and notes.
    fn arguments(&mut self, function: &Function<'_>) -> (Vec<Input>, Vec<Port>) {
        let (mut inputs, mut texts) = (Vec::new(), Vec::new());
        for (id, note) in &function.arguments {
            let buffer = self.program.buffer(*id);
            let (sizes, of) = (buffer.shape(), Element::Of(buffer.dtype));
            let tensor = self.text.argument(&buffer.name, &sizes, of);
            let divided = self.sharding(Some(*id), sizes.len());
            texts.push((self.argument(&tensor, &buffer.name, &divided), note.clone()));
            inputs.push(Input::Buffer(*id));
            self.contents[id.index()] = Content::Tensor(tensor);
        }
        for (at, (name, supplied)) in self.program.symbols.iter().zip(&function.symbols).enumerate() {
            let (sizes, of, input): (&[u64], _, _) = match supplied {
                Supplied::Known(value) => {
                    self.symbols.push(Symbol::Known(*value));
                    continue;
                }
                Supplied::Position(_) => (&[], Element::I32, Input::Position(at as u32)),
                Supplied::Key => (&[2], Element::U32, Input::Key(at as u32)),
            };
            let tensor = self.text.argument(name, sizes, of);
            let divided = self.sharding(None, sizes.len());
            let tensors = function.arguments.iter().map(|(id, _)| &*self.program.buffer(*id).name);
            let name = beside(name, tensors);
            texts.push((self.argument(&tensor, &name, &divided), note_of(input).into()));
            self.symbols.push(if of == Element::U32 {
                Symbol::Key(tensor)
            } else {
                Symbol::Position(tensor)
            });
            inputs.push(input);
        }
        (inputs, texts)
    }

    /// Writes the end of the function. The results, with their types and notes.
    fn results(&mut self, function: &Function<'_>) -> Result<Vec<Port>, String> {
        let (mut values, mut texts) = (Vec::new(), Vec::new());
        for (id, note) in &function.results {
            let name = in_quotes(&self.program.buffer(*id).name);
            let value = self.content(*id)?;
            let divided = self.sharding(Some(*id), value.rank());
            texts.push((format!("{} {{jax.result_info = \"{name}\"{divided}}}", value.text()), note.clone()));
            values.push(value);
        }
        if !self.checks.is_empty() {
            let all: Vec<Tensor> = self.checks.iter().map(|(_, tensor)| tensor.clone()).collect();
            let all = self.text.concatenate(&all, 0);
            let note = "for each check, where it first fails, or -1, and the number there";
            let divided = self.sharding(None, all.rank());
            let tensors = function.results.iter().map(|(id, _)| &*self.program.buffer(*id).name);
            let (name, about) = (in_quotes(&beside("checks", tensors)), self.about_checks());
            let attributes = format!("jax.result_info = \"{name}\", broadloom.checks = [{about}]{divided}");
            texts.push((format!("{} {{{attributes}}}", all.text()), note.into()));
            values.push(all);
        }
        self.text.end(&values);
        Ok(texts)
    }

    /// For each check the indices that it looks at, with their sizes, what they are indices of, and the number of its rows.
    fn about_checks(&self) -> String {
        let about = |(Check { buffer, below, of }, _): &(Check, Tensor)| {
            let (indices, of) = (self.program.buffer(*buffer), self.program.buffer(*of));
            let (name, of) = (in_quotes(&indices.name), in_quotes(&of.name));
            let sizes: Vec<String> = indices.shape().iter().map(u64::to_string).collect();
            let sizes = sizes.join(", ");
            format!("{{indices = \"{name}\", sizes = [{sizes}], of = \"{of}\", below = {below}}}")
        };
        self.checks.iter().map(about).collect::<Vec<_>>().join(", ")
    }

    /// An argument with its type and its attributes.
    fn argument(&self, tensor: &Tensor, name: &str, divided: &str) -> String {
        let (value, of) = (self.text.name_of(tensor), tensor.text());
        format!("{value}: {of} {{jax.arg_info = \"{}\"{divided}}}", in_quotes(name))
    }

    /// The attribute that says how an argument or a result is divided, if there are several devices.
    fn sharding(&self, id: Option<BufferId>, rank: usize) -> String {
        self.sharded.map(|sharded| sharded.attribute(id, rank)).unwrap_or_default()
    }

    /// A comment for readers above the nest that comes next: its place, and its purpose.
    fn heading(&mut self, (place, purpose): (&str, &str)) {
        if !self.text.is_empty() {
            self.text.line("");
        }
        // Control characters begin with one of these bytes.
        let may_be_control = |byte: u8| byte < b' ' || byte == 0x7F || byte == 0xC2;
        if place.bytes().chain(purpose.bytes()).any(may_be_control) {
            let lines = format!("{place}{purpose}");
            lines.lines().for_each(|line| self.text.comment(&line.replace(char::is_control, " "), ""));
        } else if (place, purpose) != ("", "") {
            self.text.comment(place, purpose);
        }
    }

    /// One statement with the loops around it.
    fn statement(&mut self, statement: &Statement) -> Result<(), String> {
        let (mut loops, mut inner) = (Vec::new(), statement);
        while let Statement::Loop(each) = inner {
            let [only] = &each.body[..] else {
                return Err("a loop has several statements in it, as only optimised nests have".into());
            };
            let extent = each.extent.as_number().ok_or("its sizes are not numbers")?;
            loops.push((each.var, extent as u64));
            inner = only;
        }
        let runs = loops.iter().all(|(_, extent)| *extent > 0);
        loops.retain(|(_, extent)| *extent != 1);
        match inner {
            Statement::Fill { buffer, value } => {
                self.contents[buffer.index()] = Content::Splat(*value);
                if self.program.buffer(*buffer).has_margins() {
                    self.margins[buffer.index()] = Some(*value);
                }
                Ok(())
            }
            Statement::FillMargins { buffer, value } => {
                self.margins[buffer.index()] = Some(*value);
                Ok(())
            }
            Statement::Store { cell, .. } if !runs => {
                // There is no point to compute anything at.
                if matches!(self.contents[cell.buffer.index()], Content::Nothing) {
                    self.contents[cell.buffer.index()] = Content::Splat(0.0);
                }
                Ok(())
            }
            Statement::Check { .. } if !runs => Ok(()),
            // The loops go through all rows.
            Statement::Sort { keys, places, axis, descending, .. } => {
                let tensor = self.content(keys.buffer)?;
                let tensor = self.brought_together(keys, tensor);
                let order = self.text.argsort(&tensor, *axis as usize, *descending);
                self.set(places.buffer, order);
                Ok(())
            }
            Statement::Matrix { function, work, sizes } => {
                let sizes: Option<Vec<u64>> =
                    sizes.iter().map(|size| size.as_number().map(|size| size as u64)).collect();
                self.matrices(*function, work.buffer, &sizes.ok_or("its sizes are not numbers")?)
            }
            Statement::Store { cell, accumulate, value } => {
                let real = real(self.program, inner);
                let exact =
                    self.has_equals && (looks_for_equals(value) || finds_extremes(&loops, cell, *accumulate));
                self.store(&Nest { loops, cell, accumulate: *accumulate, value, real, exact })
            }
            Statement::Check { cell, below, of } => {
                let below = below.as_number().ok_or("its sizes are not numbers")? as u64;
                let value = &broadloom_loops::Scalar::Number(0.0);
                let nest = Nest { loops, cell, accumulate: None, value, real: Dtype::F32, exact: false };
                self.check(&nest, below, *of)
            }
            _ => Err("it has variables, which only optimised nests have".into()),
        }
    }

    /// Looks for the first number that is negative or not below a bound. XLA cannot stop, so that the result says it.
    fn check(&mut self, nest: &Nest<'_>, below: u64, of: BufferId) -> Result<(), String> {
        let Cell { buffer, .. } = nest.cell;
        let over: Over = self.load(nest, nest.cell)?;
        let cells: u64 = over.tensor.sizes.iter().product();
        if cells > i32::MAX as u64 {
            return Err("it checks more numbers than 31 bits count".into());
        }
        let numbers = self.as_index(&over.tensor, self.program.buffer(*buffer).dtype);
        let numbers = self.text.reshape(&numbers, &[cells]);
        let text = &mut self.text;
        let (zero, bound) =
            (text.integers(0, &[cells], numbers.of), text.splat(below as f64, &[cells], numbers.of));
        let (low, high) = (text.compare("LT", &numbers, &zero), text.compare("GE", &numbers, &bound));
        let wrong = text.each("or", &[&low, &high]);
        let place = text.iota(0, &[cells], Element::I32);
        let none = text.integers(i64::from(i32::MAX), &[cells], Element::I32);
        let places = text.select(&wrong, &place, &none);
        let first = text.reduce(&places, Monoid::Min, &[0]);
        let firsts = text.broadcast(&first, &[cells], &[]);
        let is_first = text.compare("EQ", &place, &firsts);
        // The number itself, as far as it has 32 bits.
        let limit = |text: &mut Text, value: i32| text.integers(value.into(), &[cells], numbers.of);
        let (least, most) = (limit(text, i32::MIN), limit(text, i32::MAX));
        let shown = text.each("maximum", &[&numbers, &least]);
        let shown = text.each("minimum", &[&shown, &most]);
        let shown = text.convert(&shown, Element::I32);
        let nothing = text.integers(i64::from(i32::MIN), &[cells], Element::I32);
        let shown = text.select(&is_first, &shown, &nothing);
        let shown = text.reduce(&shown, Monoid::Max, &[0]);
        let (any, minus) =
            (text.integers(cells as i64, &[], Element::I32), text.integers(-1, &[], Element::I32));
        let found = text.compare("LT", &first, &any);
        let first = text.select(&found, &first, &minus);
        let both = [text.reshape(&first, &[1, 1]), text.reshape(&shown, &[1, 1])];
        let tensor = text.concatenate(&both, 1);
        self.checks.push((Check { buffer: *buffer, below, of }, tensor));
        Ok(())
    }

    /// The type in which a buffer is held.
    pub fn dtype(&self, id: BufferId) -> Dtype {
        self.held.get(&id).copied().unwrap_or(self.program.buffer(id).dtype)
    }

    /// Says what a symbol stands for from here on.
    pub fn set_symbol(&mut self, symbol: u32, value: Symbol) {
        if let Some(known) = self.symbols.get_mut(symbol as usize) {
            *known = value;
        }
    }

    /// The number of checks that have been written.
    pub fn checks_so_far(&self) -> usize {
        self.checks.len()
    }

    /// Returns true if a buffer is among the results, or the next turn around the nests that are written has to find it.
    pub fn is_wanted(&self, id: BufferId) -> bool {
        self.results.contains(&id) || self.carried_around.iter().any(|carried| carried.contains(&id))
    }

    pub fn symbol(&self, symbol: u32) -> Result<Symbol, String> {
        let found = self.symbols.get(symbol as usize).cloned();
        found.ok_or_else(|| "it uses a number that nothing supplies".into())
    }
}

/// True if some nest looks for equal numbers.
fn has_equals(program: &Program) -> bool {
    let mut found = false;
    for statement in program.nests.iter().flat_map(|nest| &nest.body) {
        statement.each(&mut |inner| found |= inner.value().is_some_and(looks_for_equals));
    }
    found
}

/// A name for something that is no tensor of the program, other than those of tensors beside it.
fn beside<'n>(name: &str, tensors: impl Iterator<Item = &'n str>) -> String {
    let (mut name, tensors) = (name.to_string(), tensors.collect::<Vec<_>>());
    while tensors.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

fn note_of(input: Input) -> &'static str {
    match input {
        Input::Key(_) => "the key of random numbers: its low word, its high word",
        _ => "a position",
    }
}

/// The type that a statement computes in: 64-bit floats if it reads or sets those, or sets an integer; 32-bit floats otherwise.
fn real(program: &Program, statement: &Statement) -> Dtype {
    let written = statement.written().map(|id| program.buffer(id).dtype);
    let mut wide = written.is_some_and(|dtype| dtype == Dtype::F64 || !dtype.is_float());
    statement.each_read(&mut |cell| wide |= program.buffer(cell.buffer).dtype == Dtype::F64);
    wide |= statement.value().is_some_and(broadloom_loops::Scalar::has_wide_cast);
    if wide { Dtype::F64 } else { Dtype::F32 }
}
