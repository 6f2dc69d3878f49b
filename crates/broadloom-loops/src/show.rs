//! Programs as text, with the names the user wrote.

use std::fmt::{self, Write};

use broadloom_core::Size;

use crate::buffer::{Buffer, Cell, Index, LoopSum, LoopVar, Storage};
use crate::function::{Binary, Unary};
use crate::program::{Group, Loop, Program, Repeat, Statement};
use crate::scalar::Scalar;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (buffer, used) in self.buffers.iter().zip(self.used_buffers()) {
            if used {
                writeln!(f, "{}", describe(buffer))?;
            }
        }
        f.write_str(&self.groups_text(&self.groups()))
    }
}

/// Lines further to the right; empty ones stay empty.
fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".into() } else { format!("    {line}\n") }).collect()
}

impl Program {
    /// One of its nests as text, without its comment. `extent` may replace extents of loops by words.
    pub fn nest_text_with(&self, nest: usize, extent: &dyn Fn(Size) -> Option<String>) -> String {
        self.nests.get(nest).map_or_else(String::new, |nest| self.block_text(&nest.body, extent))
    }

    fn block_text(&self, body: &[Statement], extent: &dyn Fn(Size) -> Option<String>) -> String {
        let mut names = LoopNames { program: self, taken: Vec::new(), extent };
        let mut text = String::new();
        names.block(body, 0, &mut text);
        text
    }

    /// Nests with their comments, those of repeats further to the right.
    fn groups_text(&self, groups: &[Group<'_>]) -> String {
        let mut text = String::new();
        for group in groups {
            match group {
                Group::Once(nests) => {
                    for nest in &self.nests[nests.clone()] {
                        let _ = writeln!(text, "\n# {}", nest.comment);
                        text.push_str(&self.block_text(&nest.body, &|_| None));
                    }
                }
                Group::Repeated(repeat, inside) => {
                    let _ = write!(text, "\n{}{}", self.turns(repeat), indented(&self.groups_text(inside)));
                }
            }
        }
        text
    }

    /// The line above the nests of a repeat.
    fn turns(&self, repeat: &Repeat) -> String {
        let name = self.symbols.get(repeat.symbol as usize).map_or("turn", String::as_str);
        let order = if repeat.backwards { "from the last to the first" } else { "in turn" };
        match &repeat.segment {
            Some(segment) => format!("# for each {name} in the segment of {}, {order}:\n", segment.length),
            None => format!("# for each {name} of {}, {order}:\n", repeat.turns),
        }
    }

    /// For each buffer, true if any nest reads or writes it.
    fn used_buffers(&self) -> Vec<bool> {
        let mut used = vec![false; self.buffers.len()];
        for statement in self.nests.iter().flat_map(|nest| &nest.body) {
            statement.each(&mut |inner| {
                inner.written().into_iter().for_each(|id| used[id.index()] = true);
                inner.each_read(&mut |cell| used[cell.buffer.index()] = true);
            });
        }
        used
    }
}

/// `kept x: f32[8, 3 + 1 + 1]`.
fn describe(buffer: &Buffer) -> String {
    let storage = match buffer.storage {
        Storage::Kept => "kept",
        Storage::Local => "local",
    };
    let size = |(axis, size): (usize, &Size)| match buffer.margin(axis) {
        (0, 0) => size.to_string(),
        (left, right) => format!("{left}+{size}+{right}"),
    };
    let sizes: Vec<String> = buffer.sizes.iter().enumerate().map(size).collect();
    let fill = if buffer.has_margins() { format!(", margins {}", buffer.fill) } else { String::new() };
    format!("{storage} {}: {}[{}]{fill}", buffer.name, buffer.dtype.name(), sizes.join(", "))
}

/// Names for the loops in scope: those of the program, numbered where two are the same.
struct LoopNames<'a> {
    program: &'a Program,
    taken: Vec<(LoopVar, String)>,
    /// Words for the extents of loops.
    extent: &'a dyn Fn(Size) -> Option<String>,
}

impl LoopNames<'_> {
    fn block(&mut self, body: &[Statement], depth: usize, text: &mut String) {
        for statement in body {
            self.statement(statement, depth, text);
        }
    }

    fn statement(&mut self, statement: &Statement, depth: usize, text: &mut String) {
        let indent = "  ".repeat(depth);
        let line = match statement {
            Statement::Loop(each) => return self.looped(each, depth, text),
            Statement::Store { cell, accumulate, value } => {
                format!("{} {} {}", self.cell(cell), assign(*accumulate), self.scalar(value))
            }
            Statement::Declare { local, value } => format!("let t{} = {}", local.0, self.scalar(value)),
            Statement::Update { local, accumulate, value } => {
                format!("t{} {} {}", local.0, assign(*accumulate), self.scalar(value))
            }
            Statement::Check { cell, below, of } if *of == cell.buffer => {
                format!("check {} < {below}", self.cell(cell))
            }
            Statement::Check { cell, below, of } => {
                let of = &self.program.buffer(*of).name;
                format!("check {} < {below}, an index of {of}", self.cell(cell))
            }
            Statement::Sort { keys, places, axis, count, descending } => {
                let order = if *descending { "descending" } else { "ascending" };
                let (places, keys) = (self.cell(places), self.cell(keys));
                format!("{places} = {order} order of {count} cells from {keys} along axis {axis}")
            }
            Statement::Matrix { function, work, sizes } => {
                let sizes: Vec<String> = sizes
                    .iter()
                    .map(|size| (self.extent)(*size).unwrap_or_else(|| size.to_string()))
                    .collect();
                format!("{}({}, {})", function.name(), self.cell(work), sizes.join(", "))
            }
            Statement::Fill { buffer, value } => {
                format!("{} = {value} everywhere", self.program.buffer(*buffer).name)
            }
            Statement::FillMargins { buffer, value } => {
                format!("{} = {value} in its margins", self.program.buffer(*buffer).name)
            }
        };
        let _ = writeln!(text, "{indent}{line}");
    }

    fn looped(&mut self, each: &Loop, depth: usize, text: &mut String) {
        let name = self.fresh(each.var);
        let parallel = if each.parallel { "parallel " } else { "" };
        let extent = (self.extent)(each.extent).unwrap_or_else(|| each.extent.to_string());
        let _ = writeln!(text, "{}{parallel}for {name} in 0..{extent}", "  ".repeat(depth));
        self.taken.push((each.var, name));
        self.block(&each.body, depth + 1, text);
        self.taken.pop();
    }

    /// A name for a variable that no loop around it has.
    fn fresh(&self, var: LoopVar) -> String {
        let wanted = self.program.vars.get(var.index()).map_or("i", String::as_str);
        let free = |name: &String| !self.taken.iter().any(|(_, taken)| taken == name);
        let candidates = std::iter::once(wanted.to_string()).chain((2..).map(|n| format!("{wanted}{n}")));
        candidates.into_iter().find(free).unwrap_or_default()
    }

    fn sum(&self, sum: &LoopSum) -> String {
        let name = |var: LoopVar| {
            let known = self.taken.iter().rev().find(|(known, _)| *known == var);
            known.map_or_else(|| format!("?{}", var.0), |(_, name)| name.clone())
        };
        sum.text(&name)
    }

    fn cell(&self, cell: &Cell) -> String {
        let name = &self.program.buffer(cell.buffer).name;
        if cell.index.is_empty() {
            return name.clone();
        }
        let index: Vec<String> = cell.index.iter().map(|index| self.index(index)).collect();
        format!("{name}[{}]", index.join(", "))
    }

    fn index(&self, index: &Index) -> String {
        match index {
            Index::At(sum) => self.sum(sum),
            Index::Symbol(symbol) => self.symbol(*symbol),
            Index::Value(cell) => self.cell(cell),
        }
    }

    fn symbol(&self, symbol: u32) -> String {
        let name = self.program.symbols.get(symbol as usize);
        name.map_or_else(|| "$".to_string(), |name| format!("${name}"))
    }

    fn scalar(&self, scalar: &Scalar) -> String {
        match scalar {
            Scalar::Number(value) => value.to_string(),
            Scalar::Load(cell) => self.cell(cell),
            Scalar::Local(local) => format!("t{}", local.0),
            Scalar::Position(sum) => self.sum(sum),
            Scalar::Symbol(symbol) => self.symbol(*symbol),
            Scalar::Uniform { at, .. } => format!("uniform({})", self.sum(at)),
            Scalar::Unary(Unary::Neg, a) => format!("-{}", self.inner(a)),
            Scalar::Unary(function, a) => format!("{}({})", function.name(), self.scalar(a)),
            Scalar::Binary(function, a, b) => {
                let name = function.name();
                if name.starts_with(char::is_alphabetic) {
                    format!("{name}({}, {})", self.scalar(a), self.scalar(b))
                } else {
                    format!("{} {name} {}", self.inner(a), self.inner(b))
                }
            }
            Scalar::Select(a, b, c) => {
                format!("where({}, {}, {})", self.scalar(a), self.scalar(b), self.scalar(c))
            }
        }
    }

    /// The text of a scalar, in parentheses if it has several parts.
    fn inner(&self, scalar: &Scalar) -> String {
        let text = self.scalar(scalar);
        let several = match scalar {
            Scalar::Binary(function, ..) => !function.name().starts_with(char::is_alphabetic),
            Scalar::Position(sum) => sum.terms.len() + usize::from(sum.offset != 0) > 1,
            Scalar::Unary(Unary::Neg, _) => true,
            Scalar::Number(value) => *value < 0.0,
            _ => false,
        };
        if several { format!("({text})") } else { text }
    }
}

/// `=`, `+=`, `max=`.
fn assign(accumulate: Option<Binary>) -> String {
    format!("{}=", accumulate.map_or("", Binary::name))
}
