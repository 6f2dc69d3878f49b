//! Programs from text, as they are printed. Nests are divided by empty lines; `#` lines are
//! optional.

use broadloom_loops::{
    Binary, Buffer, BufferId, Cell, Dtype, Index, Local, Loop, LoopSum, LoopVar, Nest, Program, Progression,
    Scalar, Size, Statement, Storage, Unary,
};

/// The program that a text describes. `$name` adds a symbol; `uniform(i)` uses the first.
///
/// # Panics
/// If the text is wrong.
pub fn parse(text: &str) -> Program {
    let mut parser = Parser { program: Program::default(), scope: Vec::new() };
    let lines: Vec<&str> = text.lines().collect();
    let indent = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| depth_of(line)).min();
    let lines: Vec<&str> = lines.iter().map(|line| line.get(indent.unwrap_or(0)..).unwrap_or("")).collect();
    for block in lines.split(|line| line.trim().is_empty()) {
        let (comments, block): (Vec<&str>, Vec<&str>) = block.iter().partition(|line| line.starts_with('#'));
        let (buffers, nest): (Vec<&str>, Vec<&str>) =
            block.iter().partition(|line| line.starts_with("kept ") || line.starts_with("local "));
        buffers.iter().for_each(|line| parser.buffer(line));
        if !nest.is_empty() {
            let comment = comments.first().map_or("", |line| line[1..].trim()).to_string();
            let (body, rest) = parser.block(&nest, 0);
            assert!(rest.is_empty(), "wrong indentation: {rest:?}");
            parser.program.nests.push(Nest { comment, body });
        }
    }
    parser.program
}

fn depth_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

struct Parser {
    program: Program,
    scope: Vec<(String, LoopVar)>,
}

impl Parser {
    /// `local x: f32[2, 1+3+1], margins 0`
    fn buffer(&mut self, line: &str) {
        let (storage, rest) = line.split_once(' ').unwrap();
        let (name, rest) = rest.split_once(": ").unwrap();
        let (dtype, rest) = rest.split_once('[').unwrap();
        let (sizes, rest) = rest.split_once(']').unwrap();
        // Between a size and its margins there are no spaces.
        let sizes = sizes.replace(" + ", "~");
        let mut size = |part: &str| self.size(&part.replace('~', " + "));
        let parts: Vec<Vec<Size>> = sizes
            .split(", ")
            .filter(|size| !size.is_empty())
            .map(|part| part.split('+').map(&mut size).collect())
            .collect();
        let margins: Vec<(u64, u64)> = parts
            .iter()
            .map(|part| if part.len() == 3 { (part[0].get(), part[2].get()) } else { (0, 0) })
            .collect();
        self.program.add_buffer(Buffer {
            name: name.to_string(),
            dtype: dtype.parse::<Dtype>().unwrap(),
            sizes: parts.iter().map(|part| part[part.len() / 2]).collect(),
            margins: if margins.iter().all(|margin| *margin == (0, 0)) { Vec::new() } else { margins },
            fill: rest.strip_prefix(", margins ").map_or(0.0, |value| value.parse().unwrap()),
            storage: if storage == "kept" { Storage::Kept } else { Storage::Local },
        });
    }

    /// A number or an expression over arguments: `4`, `size_0`, `(2 * size_0 + 1)`.
    fn size(&mut self, text: &str) -> Size {
        let mut factor = |factor: &str| match factor.strip_prefix("size_") {
            Some(place) => {
                let place: u32 = place.parse().unwrap();
                let count = self.program.arguments.len().max(place as usize + 1);
                self.program.arguments.resize(count, Progression::default());
                Size::argument(place, 1)
            }
            None => factor.parse::<u64>().unwrap().into(),
        };
        let sum = text.trim().trim_matches(['(', ')']);
        sum.split(" + ").map(|product| product.split(" * ").map(&mut factor).product::<Size>()).sum()
    }

    /// The statements at a depth and the lines that are left.
    fn block<'a>(&mut self, mut lines: &'a [&'a str], depth: usize) -> (Vec<Statement>, &'a [&'a str]) {
        let mut body = Vec::new();
        while let [line, rest @ ..] = lines {
            if depth_of(line) < depth {
                break;
            }
            assert_eq!(depth_of(line), depth, "wrong indentation: {line}");
            let line = line.trim();
            lines = rest;
            let (parallel, text) = match line.strip_prefix("parallel ") {
                Some(text) => (true, text),
                None => (false, line),
            };
            if let Some(head) = text.strip_prefix("for ") {
                let (name, extent) = head.split_once(" in 0..").unwrap();
                let var = self.program.add_var(name);
                self.scope.push((name.to_string(), var));
                let (inner, rest) = self.block(lines, depth + 2);
                self.scope.pop();
                lines = rest;
                let extent = self.size(extent);
                body.push(Statement::Loop(Loop { var, extent, parallel, body: inner }));
            } else {
                body.push(self.statement(line));
            }
        }
        (body, lines)
    }

    fn statement(&mut self, line: &str) -> Statement {
        if let Some(rest) = line.strip_prefix("check ") {
            let (cell, rest) = rest.split_once(" < ").unwrap();
            let (below, of) = rest.split_once(", an index of ").unwrap();
            let Scalar::Load(cell) = self.scalar(cell) else { panic!("not a cell: {line}") };
            return Statement::Check { cell, below: self.size(below), of: self.id(of).unwrap() };
        }
        for (ending, margins) in [(" everywhere", false), (" in its margins", true)] {
            if let Some((name, value)) = line.strip_suffix(ending).and_then(|head| head.split_once(" = ")) {
                let (buffer, value) = (self.id(name).unwrap(), value.parse().unwrap());
                return match margins {
                    false => Statement::Fill { buffer, value },
                    true => Statement::FillMargins { buffer, value },
                };
            }
        }
        if let Some((name, value)) = line.strip_prefix("let ").and_then(|rest| rest.split_once(" = ")) {
            let local = local(name).unwrap();
            self.program.locals = self.program.locals.max(local.0 + 1);
            return Statement::Declare { local, value: self.scalar(value) };
        }
        let (target, value) = line.split_once("= ").unwrap_or_else(|| panic!("not a statement: {line}"));
        let end = target.rfind(']').map(|end| end + 1).or(target.find(' ')).unwrap_or(target.len());
        let (target, function) = (&target[..end], target[end..].trim());
        let accumulate = (!function.is_empty()).then(|| Binary::named(function).unwrap());
        let value = self.scalar(value);
        if let Some(local) = local(target.trim()) {
            return Statement::Update { local, accumulate, value };
        }
        let Scalar::Load(cell) = self.scalar(target) else { panic!("not a cell: {line}") };
        Statement::Store { cell, accumulate, value }
    }

    fn id(&self, name: &str) -> Option<BufferId> {
        let place = self.program.buffers.iter().position(|buffer| buffer.name == name)?;
        Some(BufferId(place as u32))
    }

    fn scalar(&mut self, text: &str) -> Scalar {
        let tokens = tokens(text);
        let mut rest = &tokens[..];
        let scalar = self.sum(&mut rest);
        assert!(rest.is_empty(), "left over in `{text}`: {rest:?}");
        scalar
    }

    /// Operators from left to right, all of the same precedence: use parentheses.
    fn sum(&mut self, rest: &mut &[String]) -> Scalar {
        let mut left = self.term(rest);
        while let Some(function) =
            rest.first().and_then(|token| Binary::named(token).filter(|_| !is_name(token)))
        {
            *rest = &rest[1..];
            let right = self.term(rest);
            left = Scalar::binary(function, left, right);
        }
        left
    }

    fn term(&mut self, rest: &mut &[String]) -> Scalar {
        let token = next(rest);
        if token == "-" {
            return match self.term(rest) {
                Scalar::Number(value) => Scalar::Number(-value),
                other => Scalar::unary(Unary::Neg, other),
            };
        }
        if token == "(" {
            let inner = self.sum(rest);
            assert_eq!(next(rest), ")");
            return inner;
        }
        if token == "$" {
            return Scalar::Symbol(self.symbol(next(rest)));
        }
        if let Ok(number) = token.parse() {
            return Scalar::Number(number);
        }
        match rest.first().map(String::as_str) {
            Some("(") => {
                let arguments = self.list(rest, ")");
                self.call(&token, arguments)
            }
            Some("[") => {
                let index = self.list(rest, "]").into_iter().map(index).collect();
                let buffer = self.id(&token).unwrap_or_else(|| panic!("no buffer `{token}`"));
                Scalar::Load(Cell { buffer, index })
            }
            _ => {
                let var = self.scope.iter().rev().find(|(name, _)| *name == token);
                match (var, local(&token)) {
                    (Some((_, var)), _) => Scalar::Position(LoopSum::iterate(*var)),
                    (None, Some(local)) => Scalar::Local(local),
                    (None, None) => {
                        let buffer = self.id(&token).unwrap_or_else(|| panic!("no buffer `{token}`"));
                        Scalar::Load(Cell { buffer, index: Vec::new() })
                    }
                }
            }
        }
    }

    fn list(&mut self, rest: &mut &[String], end: &str) -> Vec<Scalar> {
        next(rest);
        let mut items = Vec::new();
        loop {
            items.push(self.sum(rest));
            let token = next(rest);
            if token == end {
                return items;
            }
            assert_eq!(token, ",");
        }
    }

    fn call(&mut self, name: &str, arguments: Vec<Scalar>) -> Scalar {
        let boxed: Vec<Box<Scalar>> = arguments.into_iter().map(Box::new).collect();
        match <[Box<Scalar>; 1]>::try_from(boxed) {
            Ok([at]) if name == "uniform" => {
                let Index::At(at) = index(*at) else { panic!("not a sum") };
                Scalar::Uniform { key: 0, stream: 7, at }
            }
            Ok([a]) => {
                let function = Unary::named(name);
                Scalar::Unary(function.unwrap_or_else(|| panic!("no function `{name}`")), a)
            }
            Err(boxed) => match <[Box<Scalar>; 2]>::try_from(boxed) {
                Ok([a, b]) => {
                    let function = Binary::named(name);
                    Scalar::Binary(function.unwrap_or_else(|| panic!("no function `{name}`")), a, b)
                }
                Err(boxed) => {
                    let [a, b, c] = <[Box<Scalar>; 3]>::try_from(boxed).unwrap();
                    Scalar::Select(a, b, c)
                }
            },
        }
    }

    fn symbol(&mut self, name: String) -> u32 {
        let known = self.program.symbols.iter().position(|known| *known == name);
        known.unwrap_or_else(|| {
            self.program.symbols.push(name);
            self.program.symbols.len() - 1
        }) as u32
    }
}

/// A scalar as an index.
fn index(scalar: Scalar) -> Index {
    match scalar {
        Scalar::Load(cell) => Index::Value(Box::new(cell)),
        Scalar::Symbol(symbol) => Index::Symbol(symbol),
        other => Index::At(sum(&other)),
    }
}

fn sum(scalar: &Scalar) -> LoopSum {
    let scaled = |factor: i64, sum: &LoopSum| sum.scaled(factor.into());
    match scalar {
        Scalar::Number(value) => LoopSum::fixed(*value as i64),
        Scalar::Position(sum) => sum.clone(),
        Scalar::Unary(Unary::Neg, a) => scaled(-1, &sum(a)),
        Scalar::Binary(Binary::Mul, a, b) => match **a {
            Scalar::Number(factor) => scaled(factor as i64, &sum(b)),
            // `i + 2*j` is read from left to right.
            Scalar::Binary(function, ref c, ref d) => {
                let right = Scalar::Binary(Binary::Mul, d.clone(), b.clone());
                sum(&Scalar::Binary(function, c.clone(), Box::new(right)))
            }
            _ => panic!("not a sum: {scalar:?}"),
        },
        Scalar::Binary(function @ (Binary::Add | Binary::Sub), a, b) => {
            let sign = if *function == Binary::Add { 1 } else { -1 };
            let (a, b) = (sum(a), scaled(sign, &sum(b)));
            LoopSum::new(a.offset + b.offset, a.terms.iter().chain(&b.terms).copied())
        }
        other => panic!("not a sum: {other:?}"),
    }
}

fn local(name: &str) -> Option<Local> {
    name.strip_prefix('t')?.parse().ok().map(Local)
}

fn is_name(token: &str) -> bool {
    token.starts_with(char::is_alphabetic)
}

fn next(rest: &mut &[String]) -> String {
    let token = rest.first().expect("the text ends too early").clone();
    *rest = &rest[1..];
    token
}

fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        let start = at;
        let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '\'');
        at += 1;
        if chars[start] == ' ' {
            continue;
        }
        if word(chars[start]) {
            while at < chars.len() && word(chars[at]) {
                at += 1;
            }
        } else if let Some(next) = chars.get(at) {
            let two: String = [chars[start], *next].iter().collect();
            at += usize::from(["**", "<=", "==", "!="].contains(&two.as_str()));
        }
        tokens.push(chars[start..at].iter().collect());
    }
    tokens
}
