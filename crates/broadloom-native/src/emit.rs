//! The text of a program in C: one function per nest, and an entry that calls them in order.
//!
//! ```c
//! int64_t broadloom_run(void **kept, char *arena, const int64_t *symbols,
//!                       const broadloom_parallel *parallel, int64_t *report)
//! {
//!     float *const x = kept[0];
//!     float *const y = kept[1];
//!
//!     // y = exp(x)
//!     nest_1(x, y);
//!     return 0;
//! }
//! ```
//!
//! Nests that differ only in their buffers share one function, because deep models repeat their blocks.

use std::fmt::Write;

use broadloom_loops::{Buffer, BufferId, Program, Repeat, Segment, Size, Storage};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::arena::{self, Arena, Need};
use crate::contract::Contraction;
use crate::flat::{Access, FlatProgram, FlatStatement, Value};
use crate::names::{CNames, comment, inline_comment};
use crate::options::advice;
use crate::order::{LEAST_WORK, Split, work};
use crate::plan::{Plan, Planned};
use crate::plans::Plans;
use crate::print::{self, Argument, Function, Naming};
use crate::rows::Row;
use crate::runtime::Kernels;
use crate::types::{Real, stored};
use crate::{Error, runtime};

/// The least work for which a unit is shared among threads in every turn of a repeat.
const LEAST_WORK_OF_TURN: f64 = 10.0 * LEAST_WORK;

/// A program as text, with the data needed to run it.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// The text: complete, except for kernels that are linked.
    pub source: String,
    /// The types whose kernel of contractions has to be linked.
    pub kernels: Vec<Real>,
    /// The declarations that callers need.
    pub header: String,
    /// The checks, in the order of their numbers: the buffer that holds the index, the bound, and
    /// the buffer that is indexed.
    pub checks: Vec<(BufferId, Size, BufferId)>,
    /// The buffers, including those that the backend adds.
    pub buffers: Vec<Buffer>,
    /// The range of nests that needs each local buffer.
    pub needs: Vec<Need>,
}

/// The text of a program. The names of its functions begin with `prefix`; if `header` is given, the text includes it.
pub(crate) fn file(
    program: &Program,
    prefix: &str,
    header: Option<&str>,
    kernels: Kernels,
) -> Result<File, Error> {
    let Plan { program, flat, vars, nests, rows, needs, blocks } = Plan::new(program)?;
    let program = &program;
    let on_stack: FxHashSet<BufferId> = rows.iter().map(|(buffer, _)| *buffer).collect();
    let arena = arena::pack(&needs, |buffer| arena::bytes_of(program.buffer(buffer)));
    let mut writer = Writer {
        program,
        prefix,
        vars,
        functions: FxHashMap::default(),
        buffers: FxHashMap::default(),
        checks: Vec::new(),
        text: String::new(),
        run: String::new(),
        outside: Vec::new(),
        used: Vec::new(),
        plans: Plans::new(!program.arguments.is_empty()),
        needs: &needs,
        blocks: &blocks,
    };
    writer.name_buffers(&flat, &on_stack);
    writer.bounds(&flat);
    for (number, (nest, planned)) in flat.nests.iter().zip(nests).enumerate() {
        writer.open_repeats(number);
        let _ = write!(writer.run, "\n{}", comment(&nest.comment, "    "));
        for buffer in arena.first_used.get(number).into_iter().flatten() {
            let shape = program.buffer(*buffer);
            if shape.has_margins() {
                let call = print::margins(program, *buffer, shape.fill, &writer.buffers[buffer]);
                let _ = writeln!(writer.run, "    {call}");
            }
        }
        for planned in planned {
            match planned {
                Planned::Loops { steps, split, rows } => {
                    writer.unit(number, &nest.comment, &steps, split.as_ref(), &rows);
                }
                Planned::Contraction(found) => writer.contraction(number, &flat, &found, &arena),
            }
        }
        writer.close_repeats(number);
    }
    let declarations = declarations(program, prefix, &arena);
    let mut source = String::new();
    match header {
        Some(name) => {
            let _ = writeln!(source, "#include \"{name}\"");
        }
        None => source.push_str(&declarations),
    }
    let entry = writer.entry(&arena);
    source.push_str(&runtime::text(&[&writer.text, &entry], writer.plans.reals(), kernels));
    source.push_str(&writer.sizes());
    source.push_str(&writer.plans.text());
    source.push_str(&writer.text);
    source.push_str(&entry);
    source.push_str(&writer.resize());
    let kernels = match kernels {
        Kernels::Inside => Vec::new(),
        Kernels::Outside => writer.plans.reals().to_vec(),
    };
    let checks = writer.checks;
    let header = guarded(prefix, &declarations);
    Ok(File { source, kernels, header, checks, buffers: program.buffers.clone(), needs })
}

struct Writer<'a> {
    program: &'a Program,
    prefix: &'a str,
    /// The names of loops.
    vars: Vec<String>,
    /// The name of each function by its text with canonical names.
    functions: FxHashMap<String, String>,
    /// The name of each buffer in the entry.
    buffers: FxHashMap<BufferId, String>,
    checks: Vec<(BufferId, Size, BufferId)>,
    /// Functions.
    text: String,
    /// The body of the entry; inside a repeat, the body of its loop.
    run: String,
    /// For each repeat that is being written, outermost first, what comes before it in the entry or in the repeat around it.
    outside: Vec<String>,
    /// Buffers that the entry mentions, in order.
    used: Vec<BufferId>,
    plans: Plans,
    needs: &'a [Need],
    blocks: &'a [(Size, u64)],
}

impl Writer<'_> {
    /// Names all buffers that are used, except rows; kept ones first.
    fn name_buffers(&mut self, flat: &FlatProgram, rows: &FxHashSet<BufferId>) {
        let mut seen = vec![false; self.program.buffers.len()];
        for step in flat.nests.iter().flat_map(|nest| &nest.body) {
            step.each(&mut |step| {
                step.each_access(&mut |_, access| seen[access.buffer.index()] = true);
                if let FlatStatement::Margins { buffer, .. } = step {
                    seen[buffer.index()] = true;
                }
            });
        }
        let mut names = CNames::default();
        for storage in [Storage::Kept, Storage::Local] {
            for (number, buffer) in self.program.buffers.iter().enumerate() {
                let id = BufferId(number as u32);
                if seen[number] && buffer.storage == storage && !rows.contains(&id) {
                    self.buffers.insert(id, names.fresh(&buffer.name));
                    self.used.push(id);
                }
            }
        }
    }

    /// Writes checks of the symbols that are indices, at the start of the run.
    fn bounds(&mut self, flat: &FlatProgram) {
        for (symbol, least, greatest, buffer) in &flat.bounds {
            let name = &self.program.symbols[*symbol as usize];
            let _ = writeln!(
                self.run,
                "    if (symbols[{symbol}] < {least} || symbols[{symbol}] > {greatest}) {{ // {}\n        \
                 report[0] = {};\n        return 2;\n    }}",
                inline_comment(name),
                buffer.0,
            );
        }
    }

    /// Opens the loops over the turns of the repeats that a nest begins, outermost first.
    fn open_repeats(&mut self, nest: usize) {
        let program = self.program;
        for repeat in program.repeats.iter().filter(|repeat| repeat.nests.start == nest) {
            let header = turns(repeat);
            let name = inline_comment(&program.symbols[repeat.symbol as usize]);
            let _ = writeln!(self.run, "\n    for ({header}) {{ // {name}");
            self.outside.push(std::mem::take(&mut self.run));
        }
    }

    /// Closes the loops of the repeats that a nest ends, innermost first.
    fn close_repeats(&mut self, nest: usize) {
        let ended = self.program.repeats.iter().filter(|repeat| repeat.nests.end == nest + 1);
        for _ in ended {
            let outside = self.outside.pop().unwrap_or_default();
            let inside = std::mem::replace(&mut self.run, outside);
            for line in inside.lines() {
                let indent = if line.is_empty() { "" } else { "    " };
                let _ = writeln!(self.run, "{indent}{line}");
            }
            self.run.push_str("    }\n");
        }
    }

    /// Returns true if a nest belongs to a turn, and not to something that is done for many turns at once: no repeat around it has another one inside.
    fn is_of_turn(&self, nest: usize) -> bool {
        // A repeat comes before those inside of it.
        let repeats = &self.program.repeats;
        let innermost = repeats.iter().rposition(|repeat| repeat.nests.contains(&nest));
        innermost.is_some_and(|at| {
            let is_inside = |other: &Repeat| repeats[at].nests.contains(&other.nests.start);
            !repeats[at + 1..].iter().any(is_inside)
        })
    }

    fn unit(
        &mut self,
        nest: usize,
        title: &str,
        steps: &[FlatStatement],
        split: Option<&Split>,
        rows: &[Row],
    ) {
        // Turns are short: threads that wait for each other in every nest take longer than one alone.
        let worth_it = !self.is_of_turn(nest) || steps.iter().map(work).sum::<f64>() >= LEAST_WORK_OF_TURN;
        let split = split.filter(|_| worth_it);
        let first_check = self.checks.len();
        for step in steps {
            step.each(&mut |step| {
                if let FlatStatement::Check { cell, below, of } = step {
                    self.checks.push((cell.buffer, *below, *of));
                }
            });
        }
        let canonical = print::function(self.program, steps, split, rows, Naming::Canonical);
        let shared = split.map(|split| (split.extent, split.grain));
        let key = format!("{shared:?} {:?} {}", canonical.parameters, canonical.body);
        let function = print::function(self.program, steps, split, rows, Naming::User(&self.vars));
        let name = match self.functions.get(&key) {
            Some(name) => name.clone(),
            None => {
                let wanted = format!("nest_{}", nest + 1);
                let taken = self.functions.values().filter(|name| name.starts_with(&wanted)).count();
                let name = if taken == 0 { wanted } else { format!("{wanted}_{}", taken + 1) };
                self.function(&name, title, &function, split);
                self.functions.insert(key, name.clone());
                name
            }
        };
        self.call(&name, &function, split, first_check);
    }

    /// Writes the call of the kernel for a contraction.
    fn contraction(&mut self, nest: usize, flat: &FlatProgram, found: &Contraction, arena: &Arena) {
        let title = &flat.nests[nest].comment;
        let plan = self.plans.plan(self.program, &flat.vars, title, found);
        let place = |access: &Access| {
            let name = self.buffers.get(&access.buffer).cloned().unwrap_or_default();
            let symbols =
                access.symbols.iter().map(|(stride, symbol)| format!(" + {stride} * symbols[{symbol}]"));
            let offset = match access.at.offset {
                Size::ZERO => String::new(),
                offset => format!(" + {offset}"),
            };
            name + &offset + &symbols.collect::<String>()
        };
        let mut factors: Vec<String> = found
            .factors
            .iter()
            .map(|factor| match factor {
                Value::Load(access) => {
                    let cell = format!("*({})", place(access));
                    print::as_double(self.program.buffer(access.buffer).dtype, &cell)
                }
                Value::Symbol(symbol) => format!("(double)symbols[{symbol}]"),
                _ => "1.0".into(),
            })
            .collect();
        if factors.is_empty() {
            factors.push("1.0".into());
        }
        let parallel = match self.is_of_turn(nest) {
            false => "parallel".into(),
            true => format!("if_large(parallel, &{plan})"),
        };
        let _ = writeln!(
            self.run,
            "    run_{}({parallel}, &{plan}, {}, {}, {}, {}, arena + {});",
            found.real.prefix(),
            factors.join(" * "),
            place(&found.a),
            place(&found.b),
            place(&found.c),
            self.end(arena),
        );
    }

    /// Writes a function, and if it is shared among threads, another one that runs a part of it.
    fn function(&mut self, name: &str, title: &str, function: &Function, split: Option<&Split>) {
        let checks = function.arguments.contains(&Argument::Report);
        let result = if checks { "int64_t" } else { "void" };
        let mut parameters = function.parameters.clone();
        if split.is_some() {
            parameters.extend(["int64_t begin".into(), "int64_t end".into()]);
        }
        let storage = if split.is_some() { "SHARED" } else { "NEST" };
        let opening = wrapped(&format!("{storage} {result} {name}("), &parameters, ")");
        let _ = write!(self.text, "\n{}{opening}\n{{\n{}}}\n", comment(title, ""), function.body);
        let Some(Split { extent, grain, .. }) = split else { return };
        let fields: String = function
            .parameters
            .iter()
            .zip(&function.names)
            .map(|(parameter, name)| match name.as_str() {
                "report" => "    int64_t (*report)[4];\n".to_string(),
                _ => format!("    {};\n", parameter.replace("restrict ", "")),
            })
            .collect();
        let mut arguments: Vec<String> = function
            .names
            .iter()
            .map(|name| if name == "report" { "a->report[part]".into() } else { format!("a->{name}") })
            .collect();
        arguments.push(format!("begin_of_part({extent}, {grain}, part, parts)"));
        arguments.push(format!("begin_of_part({extent}, {grain}, part + 1, parts)"));
        let call = format!("{name}({})", arguments.join(", "));
        let call = if checks { format!("a->report[part][3] = {call}") } else { call };
        let _ = write!(
            self.text,
            "\nstruct {name}_arguments {{\n{fields}}};\n\n\
             static void {name}_part(void *argument, int64_t part, int64_t parts)\n{{\n    \
             const struct {name}_arguments *a = argument;\n    {call};\n}}\n",
        );
    }

    fn call(&mut self, name: &str, function: &Function, split: Option<&Split>, first_check: usize) {
        let checks = function.arguments.contains(&Argument::Report);
        let arguments: Vec<String> = function
            .arguments
            .iter()
            .map(|argument| match argument {
                Argument::Buffer(buffer) => self.buffers.get(buffer).cloned().unwrap_or_default(),
                Argument::Symbols => "symbols".into(),
                Argument::Key(symbol, stream) => format!("(uint64_t)symbols[{symbol}] ^ {stream:#x}u"),
                Argument::Check => first_check.to_string(),
                Argument::Report if split.is_some() => "reports".into(),
                Argument::Report => "report".into(),
            })
            .collect();
        let Some(Split { extent, grain, .. }) = split else {
            let call = wrapped(&format!("    {name}("), &arguments, ")");
            let _ = match checks {
                true => writeln!(self.run, "    if ({})\n        return 1;", call.trim_start()),
                false => writeln!(self.run, "{call};"),
            };
            return;
        };
        let arguments = format!("&(struct {name}_arguments){{ {} }}", arguments.join(", "));
        let parts = format!("parts_of_loop(parallel, {extent}, {grain})");
        let _ = match checks {
            false => writeln!(self.run, "    share_work(parallel, {parts}, {name}_part, {arguments});"),
            true => writeln!(
                self.run,
                "    {{\n        int64_t reports[MOST_REPORTS][4] = {{{{0}}}}, parts = {parts};\n        \
                 share_work(parallel, parts < MOST_REPORTS ? parts : MOST_REPORTS, {name}_part, {arguments});\n        \
                 if (first_report(reports, report))\n            return 1;\n    }}",
            ),
        };
    }

    fn entry(&self, arena: &Arena) -> String {
        let mut text = format!("\nVISIBLE {}\n{{\n", entry_declaration(self.prefix));
        let mut place = 0;
        let mut places = FxHashMap::default();
        for (number, buffer) in self.program.buffers.iter().enumerate() {
            if buffer.storage == Storage::Kept {
                places.insert(BufferId(number as u32), place);
                place += 1;
            }
        }
        for id in &self.used {
            let (buffer, name) = (self.program.buffer(*id), &self.buffers[id]);
            let stored = stored(buffer.dtype);
            let from = match buffer.storage {
                Storage::Kept => format!("kept[{}]", places[id]),
                Storage::Local => format!("({stored} *)(arena + {})", self.offset(arena, *id)),
            };
            let _ = writeln!(text, "    {stored} *const {name} = {from}; // {}", shape(buffer));
        }
        text.push_str("    (void)kept, (void)arena, (void)symbols, (void)parallel, (void)report;\n");
        if !self.program.repeats.is_empty() {
            let count = self.program.symbols.len();
            let _ = writeln!(
                text,
                "    int64_t turns[{count}]; // symbols, and the turns of repeats among them\n    \
                 for (int64_t i = 0; i < {count}; i++)\n        turns[i] = symbols[i];\n    symbols = turns;"
            );
        }
        text.push_str(&self.run);
        text.push_str("    return 0;\n}\n");
        let result = if self.plans.is_empty() { "" } else { " + threads * scratch_bytes" };
        let _ = write!(
            text,
            "\nVISIBLE int64_t {}_arena(int64_t threads)\n{{\n    (void)threads;\n    return {}{result};\n}}\n",
            self.prefix,
            self.end(arena)
        );
        text
    }

    /// The offset of a local buffer in the arena.
    fn offset(&self, arena: &Arena, id: BufferId) -> String {
        if self.program.arguments.is_empty() {
            return arena.offsets.get(&id).copied().unwrap_or(0).to_string();
        }
        let place = self.needs.iter().position(|need| need.buffer == id).unwrap_or(0);
        format!("offsets[{place}]")
    }

    /// The offset at which the arrays in the arena end.
    fn end(&self, arena: &Arena) -> String {
        match self.program.arguments.is_empty() {
            true => arena.bytes.to_string(),
            false => format!("offsets[{}]", self.needs.len()),
        }
    }

    /// Variables for the sizes that are arguments.
    fn sizes(&self) -> String {
        let count = self.program.arguments.len() + self.program.derived.len() + self.blocks.len();
        if self.program.arguments.is_empty() {
            return String::new();
        }
        let sizes: Vec<String> = (0..count).map(|size| format!("size_{size}")).collect();
        format!(
            "\n#include <stdlib.h>\n\n/* Sizes, and where local arrays begin. */\nstatic int64_t {};\n\
             static int64_t offsets[{}];\n",
            sizes.join(", "),
            self.needs.len() + 1
        )
    }

    /// The function that sets the sizes.
    fn resize(&self) -> String {
        if self.program.arguments.is_empty() {
            return String::new();
        }
        let count = self.program.arguments.len() + self.program.derived.len();
        let mut text = format!(
            "\n// Says what sizes are to be used from now on. Returns 0 if all went well.\n\
             VISIBLE int64_t {}_resize(const int64_t *sizes, const int64_t *places)\n{{\n",
            self.prefix
        );
        for size in 0..count {
            let _ = writeln!(text, "    size_{size} = sizes[{size}];");
        }
        for (place, (of, length)) in self.blocks.iter().enumerate() {
            let _ = writeln!(text, "    size_{} = ({of} + {}) / {length};", count + place, length - 1);
        }
        let _ = writeln!(text, "    memcpy(offsets, places, sizeof offsets);");
        let result = if self.plans.is_empty() { "0" } else { "prepare_contractions()" };
        let _ = writeln!(text, "    return {result};\n}}");
        text
    }
}

/// The head of the loop over the turns of a repeat.
fn turns(repeat: &Repeat) -> String {
    let (turn, turns) = (format!("turns[{}]", repeat.symbol), repeat.turns);
    let Some(Segment { number, length, place }) = &repeat.segment else {
        return match repeat.backwards {
            false => format!("{turn} = 0; {turn} < {turns}; {turn}++"),
            true => format!("{turn} = {turns} - 1; {turn} >= 0; {turn}--"),
        };
    };
    let (place, start) = (format!("turns[{place}]"), format!("turns[{number}] * {length}"));
    match repeat.backwards {
        false => format!(
            "{place} = 0, {turn} = {start}; {place} < {length} && {turn} < {turns}; {place}++, {turn}++"
        ),
        true => format!(
            "{turn} = ({start} + {length} < {turns} ? {start} + {length} : {turns}) - 1, {place} = {turn} - {start}; \
             {place} >= 0; {place}--, {turn}--"
        ),
    }
}

/// `x: f32[8, 1+3+1]`.
fn shape(buffer: &Buffer) -> String {
    let size = |(axis, size): (usize, &Size)| match buffer.margin(axis) {
        (0, 0) => size.to_string(),
        (left, right) => format!("{left}+{size}+{right}"),
    };
    let sizes: Vec<String> = buffer.sizes.iter().enumerate().map(size).collect();
    format!("{}[{}]", buffer.dtype.name(), sizes.join(", "))
}

/// A list between parentheses, broken into lines of 110 columns.
fn wrapped(opening: &str, items: &[String], closing: &str) -> String {
    let mut text = opening.to_string();
    let mut width = text.len();
    let indent = opening.len() - opening.trim_start().len() + 4;
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            text.push(',');
            if width + item.len() + 3 > 110 {
                let _ = write!(text, "\n{}", " ".repeat(indent));
                width = indent;
            } else {
                text.push(' ');
                width += 2;
            }
        }
        text.push_str(item);
        width += item.len();
    }
    text + closing
}

fn entry_declaration(prefix: &str) -> String {
    format!(
        "int64_t {prefix}_run(void **kept, char *arena, const int64_t *symbols,\n    \
         const broadloom_parallel *parallel, int64_t *report)"
    )
}

/// The declarations and comments that a caller needs.
fn declarations(program: &Program, prefix: &str, arena: &Arena) -> String {
    let mut text = String::from(
        "#include <stdint.h>\n\n\
         #ifndef BROADLOOM_PARALLEL\n#define BROADLOOM_PARALLEL\n\
         // Threads to share work among. `run` calls `work` with every part from 0 to parts - 1, in any order and on\n\
         // any thread, and returns when all are done.\n\
         typedef struct broadloom_parallel {\n    \
         void (*run)(const struct broadloom_parallel *parallel, int64_t parts,\n                \
         void (*work)(void *argument, int64_t part, int64_t parts), void *argument);\n    \
         int64_t threads;\n\
         } broadloom_parallel;\n#endif\n\n",
    );
    let mut line = |line: &str| {
        let _ = writeln!(text, "{}", format!("// {line}").trim_end());
    };
    line("Runs the program once.");
    line("");
    let kept: Vec<&Buffer> =
        program.buffers.iter().filter(|buffer| buffer.storage == Storage::Kept).collect();
    line(
        "kept: the memory of these arrays, aligned to 64 bytes, in row-major order. `1+3+1` is an axis of 3 with a",
    );
    line(
        "margin of 1 before and after it, which belongs to the memory and must hold the number that is said.",
    );
    for (place, buffer) in kept.iter().enumerate() {
        let bytes = buffer.cells() * buffer.dtype.bytes() as u64;
        let margins = if buffer.has_margins() { format!(", margins {}", buffer.fill) } else { String::new() };
        let name = inline_comment(&buffer.name);
        line(&format!("    kept[{place}]  {name}: {}{margins}, {bytes} bytes", shape(buffer)));
    }
    line(&format!(
        "arena: {prefix}_arena(threads) bytes, aligned to 64 bytes, for what is needed in between."
    ));
    if program.symbols.is_empty() {
        line("symbols: not used.");
    } else {
        line("symbols: numbers for");
        for (place, symbol) in program.symbols.iter().enumerate() {
            line(&format!("    symbols[{place}]  {}", inline_comment(symbol)));
        }
    }
    line("parallel: how to share work among threads; NULL for one thread.");
    line("report: three numbers, set if a check fails.");
    line("");
    line(
        "Returns 0 if all went well; 1 if an index read from an array is out of range: report[0] is the number of the",
    );
    line(
        "check, report[1] where the index stands in its array, report[2] the index; 2 if a symbol is out of range:",
    );
    line("report[0] is the number of the array it is an index of.");
    let _ = writeln!(text, "{};\n", entry_declaration(prefix));
    let bytes = match program.arguments.is_empty() {
        true => format!("{} for arrays", arena.bytes),
        false => "those for arrays".to_string(),
    };
    let _ = writeln!(text, "// How many bytes the arena has: {bytes}, and some for each thread.");
    let _ = writeln!(text, "int64_t {prefix}_arena(int64_t threads);");
    text
}

fn guarded(prefix: &str, declarations: &str) -> String {
    let name = format!("{}_H", prefix.to_ascii_uppercase());
    let advice = advice();
    format!(
        "// For speed, compile with\n// {advice}\n#ifndef {name}\n#define {name}\n\n{declarations}\n#endif\n"
    )
}
