//! A unit as a function of C.
//!
//! ```c
//! // y = exp(x)
//! static void nest_1(const float *restrict x, float *restrict y, int64_t begin, int64_t end)
//! {
//!     #pragma GCC ivdep
//!     for (int64_t i = begin; i < end; i++) {
//!         y[i] = f32_exp(x[i]);
//!     }
//! }
//! ```
//!
//! A function is written twice: with the user's names, for readers, and with names in order of
//! appearance, to find units that differ only in their buffers and can share one function.

mod expression;
mod found;
mod lanes;

use std::fmt::Write;

use broadloom_loops::function::{Binary, Unary};
use broadloom_loops::{BufferId, Dtype, Local, LoopVar, Program, Size};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::flat::{Access, FlatStatement, Looped, Sorted, Value};
use crate::names::CNames;
use crate::order::{Split, is_independent};
use crate::rows::Row;
use crate::types::{self, Locals, Real, stored};
use expression::{Level, converted, whole_binary};
use found::{constant_divisors, has_no_vector_form, is_sum, long_sums, reductions, writes_again};
use lanes::LANES;

/// A function and the arguments of a call.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    /// The parameters, as declared.
    pub parameters: Vec<String>,
    /// The names of the parameters, in the same order.
    pub names: Vec<String>,
    /// The body.
    pub body: String,
    /// The arguments of a call, in the same order.
    pub arguments: Vec<Argument>,
}

/// An argument of a function.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Argument {
    /// The memory of a buffer.
    Buffer(BufferId),
    /// The numbers supplied to the run.
    Symbols,
    /// A key for random numbers: a symbol and the stream that is mixed into it.
    Key(u32, u64),
    /// The number of the first check in the function.
    Check,
    /// The place where a failed check is reported.
    Report,
}

/// The name of each local buffer's memory and of each loop.
#[derive(Clone, Copy)]
pub(crate) enum Naming<'a> {
    /// As the user wrote them.
    User(&'a [String]),
    /// In order of appearance.
    Canonical,
}

/// The steps of a unit as the body of a function.
pub(crate) fn function(
    program: &Program,
    steps: &[FlatStatement],
    split: Option<&Split>,
    rows: &[Row],
    naming: Naming,
) -> Function {
    let mut printer = Printer {
        program,
        naming,
        names: CNames::default(),
        locals: types::locals(program, steps),
        vars: FxHashMap::default(),
        local_names: FxHashMap::default(),
        held: FxHashSet::default(),
        rows: Vec::new(),
        inverses: Vec::new(),
        split,
        function: Function {
            parameters: Vec::new(),
            names: Vec::new(),
            body: String::new(),
            arguments: Vec::new(),
        },
        checks: 0,
        declared: 0,
        inverted: 0,
    };
    printer.parameters(steps, rows);
    for step in steps {
        printer.step(step, 1);
    }
    if printer.checks > 0 {
        printer.line(1, "return 0;");
    }
    printer.function
}

/// The number of terms of a sum that are added before their sum is: a multiple of the lanes of all machines.
const BLOCK: i64 = 1024;
/// The number of divisions by the same number from which on its inverse is worth computing.
const LEAST_DIVISIONS: i64 = 16;

/// Writes one function.
pub(super) struct Printer<'a> {
    pub(super) program: &'a Program,
    naming: Naming<'a>,
    names: CNames,
    pub(super) locals: Locals,
    pub(super) vars: FxHashMap<LoopVar, String>,
    local_names: FxHashMap<Local, String>,
    /// Sums that are kept in 64 bits while a loop adds to them.
    held: FxHashSet<Local>,
    /// The rows on the stack.
    rows: Vec<(BufferId, String)>,
    /// Divisors that do not change in the current loop, and the names of their inverses.
    inverses: Vec<(Value, String)>,
    split: Option<&'a Split>,
    pub(super) function: Function,
    checks: usize,
    declared: usize,
    inverted: usize,
}

impl Printer<'_> {
    /// Finds the parameters of the function, and declares the rows on its stack.
    fn parameters(&mut self, steps: &[FlatStatement], rows: &[Row]) {
        let mut buffers: Vec<(BufferId, bool)> = Vec::new();
        let mut see = |buffer: BufferId, writes: bool| match buffers.iter_mut().find(|(id, _)| *id == buffer)
        {
            Some((_, written)) => *written |= writes,
            None => buffers.push((buffer, writes)),
        };
        let (mut symbols, mut keys, mut checks) = (false, Vec::new(), false);
        for step in steps {
            step.each(&mut |step| {
                step.each_access(&mut |writes, access| {
                    symbols |= !access.symbols.is_empty();
                    see(access.buffer, writes);
                });
                match step {
                    FlatStatement::Margins { buffer, .. } => see(*buffer, true),
                    FlatStatement::Check { .. } => checks = true,
                    _ => {}
                }
                let Some(value) = step.value() else { return };
                value.each(&mut |value| match value {
                    Value::Symbol(_) => symbols = true,
                    Value::Uniform { key, stream, .. } if !keys.contains(&(*key, *stream)) => {
                        keys.push((*key, *stream));
                    }
                    _ => {}
                });
            });
        }
        for (buffer, written) in buffers {
            let known = self.program.buffer(buffer);
            let name = match self.naming {
                Naming::User(_) => self.names.fresh(&known.name),
                Naming::Canonical => format!("b{}", self.function.names.len()),
            };
            if let Some((_, cells)) = rows.iter().find(|(row, _)| *row == buffer) {
                let name = match self.naming {
                    Naming::User(_) => name,
                    Naming::Canonical => format!("row{}", self.rows.len()),
                };
                let row = format!("{} {name}[{cells}] __attribute__((aligned(64)));", stored(known.dtype));
                self.line(1, &row);
                self.rows.push((buffer, name));
                continue;
            }
            let constant = if written { "" } else { "const " };
            let parameter = format!("{constant}{} *restrict {name}", stored(known.dtype));
            self.parameter(parameter, name, Argument::Buffer(buffer));
        }
        if symbols {
            self.parameter("const int64_t *symbols".into(), "symbols".into(), Argument::Symbols);
        }
        for (number, (key, stream)) in keys.into_iter().enumerate() {
            let name = format!("key_{number}");
            self.parameter(format!("uint64_t {name}"), name, Argument::Key(key, stream));
        }
        if checks {
            self.parameter("int64_t check".into(), "check".into(), Argument::Check);
            self.parameter("int64_t *report".into(), "report".into(), Argument::Report);
        }
    }

    fn parameter(&mut self, text: String, name: String, argument: Argument) {
        self.function.parameters.push(text);
        self.function.names.push(name);
        self.function.arguments.push(argument);
    }

    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.function.body, "{}{text}", "    ".repeat(depth));
    }

    fn block(&mut self, body: &[FlatStatement], depth: usize) {
        for step in body {
            self.step(step, depth);
        }
    }

    fn step(&mut self, step: &FlatStatement, depth: usize) {
        let real = types::real(self.program, &self.locals, step);
        match step {
            FlatStatement::Loop(each) => self.looped(each, depth),
            FlatStatement::Store { to, accumulate, value } => self.store(to, *accumulate, value, real, depth),
            FlatStatement::Declare { local, value } => {
                let real = self.locals.get(local).copied().unwrap_or(real);
                let name = format!("t{}", self.declared);
                self.declared += 1;
                let value = self.value(value, real).0;
                self.local_names.insert(*local, name.clone());
                self.line(depth, &format!("{} {name} = {value};", real.name()));
            }
            FlatStatement::Update { local, accumulate, value } => {
                let real = self.locals.get(local).copied().unwrap_or(real);
                let name = self.local(*local);
                let text = self.accumulated(&name, Level::Atom, *accumulate, value, real);
                self.line(depth, &text);
            }
            FlatStatement::Check { cell, below, .. } => self.check(cell, *below, depth),
            FlatStatement::Sort(sorted) => {
                let Sorted { keys, key_stride, places, place_stride, count, descending } = sorted;
                let name = format!("sort_{}", self.program.buffer(keys.buffer).dtype);
                let (keys, places) = (self.place(keys), self.place(places));
                let rows = format!("&{keys}, {key_stride}, &{places}, {place_stride}, {count}");
                self.line(depth, &format!("{name}({rows}, {});", u8::from(*descending)));
            }
            FlatStatement::Matrix { function, work, sizes } => {
                let sizes: String = sizes.iter().map(|size| format!(", {size}")).collect();
                let work = self.place(work);
                self.line(depth, &format!("matrix_{}(&{work}{sizes});", function.name()));
            }
            FlatStatement::Margins { buffer, value } => {
                let name = self.buffer(*buffer);
                let text = margins(self.program, *buffer, *value, &name);
                self.line(depth, &text);
            }
        }
    }

    fn store(&mut self, to: &Access, accumulate: Option<Binary>, value: &Value, real: Real, depth: usize) {
        let dtype = self.program.buffer(to.buffer).dtype;
        let place = self.place(to);
        let text = if (dtype, real) == (Dtype::F32, Real::F32) || dtype == Dtype::F64 {
            self.accumulated(&place, Level::Atom, accumulate, value, real)
        } else if let Some(value) = self.whole_stored(to, accumulate, value, real) {
            match dtype {
                Dtype::Bool => format!("{place} = {value} != 0;"),
                Dtype::U8 | Dtype::I8 | Dtype::I16 | Dtype::I32 => {
                    format!("{place} = i64_to_{dtype}({value});")
                }
                _ => format!("{place} = {value};"),
            }
        } else {
            let held = self.load(to, real);
            let value = match accumulate {
                Some(function) => {
                    let (value, level) = self.value(value, real);
                    self.binary(function, held, (value, level), real)
                }
                None => self.value(value, real),
            };
            format!("{place} = {};", converted(dtype, real, &value.0))
        };
        self.line(depth, &text);
    }

    /// The value to store in a cell for integers, if it is computed from integers alone.
    fn whole_stored(
        &self,
        to: &Access,
        accumulate: Option<Binary>,
        value: &Value,
        real: Real,
    ) -> Option<String> {
        if self.program.buffer(to.buffer).dtype.is_float() {
            return None;
        }
        let (value, _) = self.whole(value, real)?;
        match accumulate {
            Some(function) => whole_binary(function, &self.integer(to), &value),
            None => Some(value),
        }
    }

    /// `place += value;` and the like.
    fn accumulated(
        &mut self,
        place: &str,
        level: Level,
        accumulate: Option<Binary>,
        value: &Value,
        real: Real,
    ) -> String {
        let (text, value_level) = self.value(value, real);
        match (accumulate, value) {
            (None, _) => format!("{place} = {text};"),
            (Some(Binary::Add), Value::Unary(Unary::Neg, inner)) => {
                let (text, _) = self.value(inner, real);
                format!("{place} -= {text};")
            }
            (Some(function @ (Binary::Add | Binary::Mul | Binary::Div)), _) => {
                format!("{place} {}= {text};", function.name())
            }
            (Some(function), _) => {
                let value = self.binary(function, (place.to_string(), level), (text, value_level), real);
                format!("{place} = {};", value.0)
            }
        }
    }

    fn check(&mut self, cell: &Access, below: Size, depth: usize) {
        let place = self.address(cell);
        let held = self.integer(cell);
        let number = self.checks;
        self.checks += 1;
        let below = match below.is_open() {
            true => format!("(uint64_t){below}"),
            false => format!("{below}u"),
        };
        self.line(depth, &format!("if ((uint64_t)({held}) >= {below}) {{"));
        self.line(depth + 1, &format!("report[0] = check + {number};"));
        self.line(depth + 1, &format!("report[1] = {place};"));
        self.line(depth + 1, &format!("report[2] = {held};"));
        self.line(depth + 1, "return 1;");
        self.line(depth, "}");
    }

    fn looped(&mut self, each: &Looped, depth: usize) {
        let held = self.hold_sums(each, depth);
        if !held.is_empty() {
            self.looped(each, depth + 1);
            return self.let_go(&held, depth);
        }
        let name = self.loop_name(each.var);
        let (begin, end) = match (self.split, each.block) {
            (Some(split), _) if split.var == each.var => ("begin".to_string(), "end".to_string()),
            (_, Some((block, length))) => {
                let block = self.vars.get(&block).cloned().unwrap_or_default();
                let end = format!("end_of_block({block}, {length}, {})", each.extent);
                (format!("{length} * {block}"), end)
            }
            _ => ("0".to_string(), each.extent.to_string()),
        };
        let innermost = !each.body.iter().any(|step| matches!(step, FlatStatement::Loop(_)));
        if each.interleaved {
            self.interleaved(each, &name, (&begin, &end), depth);
            return self.names.release(&name);
        }
        let length = each.block.map_or(each.extent.typical(), |(_, length)| length as i64);
        let long = innermost && length >= LANES;
        let lanes = if long { reductions(each, has_no_vector_form) } else { Vec::new() };
        let sums = if innermost { reductions(each, is_sum) } else { Vec::new() };
        if !lanes.is_empty() {
            self.in_lanes(each, &[lanes, sums].concat(), &name, (&begin, &end), depth);
            return self.names.release(&name);
        }
        if innermost && length >= LEAST_DIVISIONS {
            self.invert(each, depth);
        }
        if innermost && is_independent(each) {
            let is_held = |(local, _): &(Local, Binary)| self.held.contains(local);
            if !sums.is_empty() && length >= 2 * BLOCK {
                self.in_blocks(each, &sums, &name, (&begin, &end), depth);
                self.names.release(&name);
                return self.inverses.clear();
            }
            if sums.iter().any(is_held) {
                self.line(depth, "{");
                self.partly(each, &sums, &name, (&begin, &end), depth + 1);
                self.line(depth, "}");
                self.names.release(&name);
                return self.inverses.clear();
            }
            let pragma = self.simd(&sums);
            self.line(depth, &pragma);
        }
        self.line(depth, &format!("for (int64_t {name} = {begin}; {name} < {end}; {name}++) {{"));
        if !innermost && (self.split.is_some_and(|split| split.var == each.var) || writes_again(each)) {
            self.line(depth + 1, "ONE_BY_ONE;");
        }
        self.block(&each.body, depth + 1);
        self.line(depth, "}");
        self.names.release(&name);
        if innermost {
            self.inverses.clear();
        }
    }

    /// The pragma that tells the compiler that iterations may run in lockstep, and which sums they
    /// share.
    fn simd(&self, sums: &[(Local, Binary)]) -> String {
        if sums.is_empty() {
            return "#pragma GCC ivdep".into();
        }
        let of = |wanted: Binary| {
            let names = sums.iter().filter(|(_, function)| *function == wanted);
            let names: Vec<String> = names.map(|(local, _)| self.local(*local)).collect();
            if names.is_empty() {
                return String::new();
            }
            format!(" reduction({}:{})", wanted.name(), names.join(", "))
        };
        format!("#pragma omp simd{}{}", of(Binary::Add), of(Binary::Mul))
    }

    /// A long loop with sums: each block is summed separately, so that rounding does not grow with
    /// the length.
    fn in_blocks(
        &mut self,
        each: &Looped,
        sums: &[(Local, Binary)],
        name: &str,
        (begin, end): (&str, &str),
        depth: usize,
    ) {
        self.line(depth, &format!("for (int64_t block = {begin}; block < {end}; block += {BLOCK}) {{"));
        let stop = format!("const int64_t stop = {end} - block < {BLOCK} ? {end} : block + {BLOCK};");
        self.line(depth + 1, &stop);
        self.partly(each, sums, name, ("block", "stop"), depth + 1);
        self.line(depth, "}");
    }

    /// A loop with partial sums, which are added to the total.
    fn partly(
        &mut self,
        each: &Looped,
        sums: &[(Local, Binary)],
        name: &str,
        (begin, end): (&str, &str),
        depth: usize,
    ) {
        let mut whole = Vec::new();
        for (local, function) in sums {
            let (real, outer) = (self.locals.get(local).copied().unwrap_or(Real::F32), self.local(*local));
            let (part, neutral) = (format!("{outer}_part"), real.number(function.neutral().unwrap_or(0.0)));
            self.line(depth, &format!("{} {part} = {neutral};", real.name()));
            self.local_names.insert(*local, part.clone());
            whole.push((*local, *function, outer, part));
        }
        let pragma = self.simd(sums);
        self.line(depth, &pragma);
        self.line(depth, &format!("for (int64_t {name} = {begin}; {name} < {end}; {name}++) {{"));
        self.block(&each.body, depth + 1);
        self.line(depth, "}");
        for (local, function, outer, part) in whole {
            self.line(depth, &format!("{outer} {}= {part};", function.name()));
            self.local_names.insert(local, outer);
        }
    }

    /// Declares 64-bit variables for the long sums of a loop in 32 bits. The sums use them until
    /// `let_go`.
    fn hold_sums(&mut self, each: &Looped, depth: usize) -> Vec<(Local, String)> {
        let mut held = Vec::new();
        for local in long_sums(each) {
            let narrow = self.locals.get(&local).copied().unwrap_or(Real::F32) == Real::F32;
            // Inside lanes, each lane has its own sum, with a part of the terms.
            let name = self.local(local);
            if narrow && !self.held.contains(&local) && !name.is_empty() && !name.contains('[') {
                held.push((local, name));
            }
        }
        if !held.is_empty() {
            self.line(depth, "{");
        }
        for (local, name) in &held {
            self.line(depth + 1, &format!("double {name}_whole = 0.0;"));
            self.local_names.insert(*local, format!("{name}_whole"));
            self.held.insert(*local);
        }
        held
    }

    fn let_go(&mut self, held: &[(Local, String)], depth: usize) {
        for (local, name) in held {
            self.line(depth + 1, &format!("{name} += (float){name}_whole;"));
            self.local_names.insert(*local, name.clone());
            self.held.remove(local);
        }
        self.line(depth, "}");
    }

    /// Declares the inverses of divisors that stay the same in a loop.
    fn invert(&mut self, each: &Looped, depth: usize) {
        for divisor in constant_divisors(each) {
            let narrow = each.body.iter().all(|step| {
                let local = match step {
                    FlatStatement::Declare { local, .. } | FlatStatement::Update { local, .. } => {
                        self.locals.get(local)
                    }
                    _ => None,
                };
                let real = local.copied().unwrap_or_else(|| types::real(self.program, &self.locals, step));
                real == Real::F32
            });
            if narrow && !self.inverses.iter().any(|(known, _)| *known == divisor) {
                let name = format!("inverse_{}", self.inverted);
                self.inverted += 1;
                let text = self.value(&divisor, Real::F32).0;
                self.line(depth, &format!("const float {name} = f32_inverse({text});"));
                self.inverses.push((divisor, name));
            }
        }
    }

    /// A name for the variable of a loop, from now on.
    fn loop_name(&mut self, var: LoopVar) -> String {
        let name = match self.naming {
            Naming::User(vars) => {
                let wanted = vars.get(var.index()).map_or("i", String::as_str);
                self.names.fresh(wanted)
            }
            Naming::Canonical => format!("i{}", self.vars.len()),
        };
        self.vars.insert(var, name.clone());
        name
    }

    /// The name of the inverse of a divisor, if it has one.
    pub(super) fn inverse(&self, divisor: &Value) -> Option<&str> {
        self.inverses.iter().find(|(known, _)| known == divisor).map(|(_, name)| name.as_str())
    }

    pub(super) fn buffer(&self, buffer: BufferId) -> String {
        if let Some((_, name)) = self.rows.iter().find(|(row, _)| *row == buffer) {
            return name.clone();
        }
        let place =
            self.function.arguments.iter().position(|known| *known == Argument::Buffer(buffer)).unwrap_or(0);
        self.function.names.get(place).cloned().unwrap_or_default()
    }

    pub(super) fn local(&self, local: Local) -> String {
        self.local_names.get(&local).cloned().unwrap_or_default()
    }
}

/// A number in memory as a 64-bit float.
pub(crate) fn as_double(dtype: Dtype, place: &str) -> String {
    match dtype {
        Dtype::F64 => place.to_string(),
        Dtype::Bf16 => format!("(double)bf16_to_f32({place})"),
        Dtype::F16 => format!("(double)f16_to_f32({place})"),
        Dtype::Bool => format!("(double)({place} != 0)"),
        Dtype::U8 | Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 | Dtype::F32 => {
            format!("(double){place}")
        }
    }
}

/// A call that sets the margins of a buffer.
pub(crate) fn margins(program: &Program, buffer: BufferId, value: f64, name: &str) -> String {
    let buffer = program.buffer(buffer);
    let bits = match buffer.dtype {
        Dtype::Bool => u64::from(value != 0.0),
        Dtype::U8 => u64::from(value as u8),
        Dtype::I8 => u64::from((value as i8).cast_unsigned()),
        Dtype::I16 => u64::from((value as i16).cast_unsigned()),
        Dtype::I32 => u64::from(value as i32 as u32),
        Dtype::I64 => value as i64 as u64,
        Dtype::Bf16 => u64::from(half::bf16::from_f64(value).to_bits()),
        Dtype::F16 => u64::from(half::f16::from_f64(value).to_bits()),
        Dtype::F32 => u64::from((value as f32).to_bits()),
        Dtype::F64 => value.to_bits(),
    };
    let list = |numbers: &mut dyn Iterator<Item = Size>| {
        let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
        format!("(const int64_t[]){{{}}}", numbers.join(", "))
    };
    let axes = 0..buffer.sizes.len();
    format!(
        "fill_margins_{}({name}, {bits:#x} /* {value} */, {}, {}, {}, {});",
        buffer.dtype.bytes() * 8,
        axes.len(),
        list(&mut axes.clone().map(|axis| buffer.margin(axis).0.into())),
        list(&mut buffer.sizes.iter().copied()),
        list(&mut axes.clone().map(|axis| buffer.margin(axis).1.into())),
    )
}
