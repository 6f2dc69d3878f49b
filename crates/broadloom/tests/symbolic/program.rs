//! Programs over named sizes, as lists of lines: to be printed, and built with the names or with
//! numbers in their place. Numbers replace names in the text of declarations before a graph sees
//! it, so that programs with numbers do not depend on the treatment of names in a graph.

use std::fmt;

use broadloom::{
    Accumulate, Array, Captured, Combine, Dtype, Error, Graph, Routine, Sgd, SliceIndex, SpecOptions, Tensor,
};

use crate::random_specs::Place;

/// The named sizes of a program.
#[derive(Clone, Debug)]
pub struct Name {
    pub name: &'static str,
    /// The least and the greatest size.
    pub range: (u64, Option<u64>),
    pub sample: Option<u64>,
    /// True if it is dynamic and can become any other size.
    pub dynamic: bool,
}

/// One axis of a declaration.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// A named size, by its index.
    Named(usize),
    Number(u64),
    /// A size to be inferred: `_`, `n`, `...`.
    Open(&'static str),
}

/// A declared shape: batch, input, output.
#[derive(Clone, Debug, Default)]
pub struct Declared(pub [Vec<Size>; 3]);

impl Declared {
    /// The text; with numbers for the names, if they are given.
    fn text(&self, names: &[Name], numbers: Option<&[u64]>) -> String {
        let axis = |axis: &Size| match (axis, numbers) {
            (Size::Named(at), Some(numbers)) => numbers[*at].to_string(),
            (Size::Named(at), None) => names[*at].name.to_string(),
            (Size::Number(size), _) => size.to_string(),
            (Size::Open(text), _) => text.to_string(),
        };
        let [batch, input, output] =
            self.0.each_ref().map(|row| row.iter().map(axis).collect::<Vec<_>>().join(", "));
        format!("{batch} | {input} -> {output}")
    }

    pub fn axes(&self) -> impl Iterator<Item = &Size> {
        self.0.iter().flatten()
    }
}

/// A statement about labels of a spec.
#[derive(Clone, Debug)]
pub enum Said {
    Set(String, u64),
    Equal(String, String),
    Scale(String, u64, String),
}

/// The operation of a line.
#[derive(Clone, Debug)]
pub enum Op {
    Data(Declared),
    /// Data of which only the number of elements is known.
    Counted(Declared, u64),
    /// Whole numbers below a bound: rows of a table.
    Ids(Declared, u64),
    /// A parameter without a stated shape.
    Param,
    ParamShaped(Declared),
    Constant(f64),
    /// Positions 0, 1, 2, …
    Range(Declared),
    Pointwise(&'static str),
    /// A pointwise operation with a number on the right.
    Number(&'static str, f64),
    Compose,
    ComposeAccumulate,
    Transpose,
    Square,
    Einsum {
        spec: String,
        accumulate: Accumulate,
        combine: Combine,
        said: Vec<Said>,
    },
    Split {
        spec: String,
        said: Vec<Said>,
    },
    /// A sum, divided by the sizes of labels.
    Mean {
        spec: String,
        over: Vec<String>,
    },
    /// Softmax by the spec of its sums.
    Softmax(String),
    Slice(u64),
    /// A slice at a position that is supplied to the run.
    SliceRun(u64),
    Gather,
    Convert(u64, u64),
}

#[derive(Clone, Debug)]
pub struct Line {
    pub op: Op,
    pub operands: Vec<Place>,
}

#[derive(Clone, Debug, Default)]
pub struct Program {
    pub names: Vec<Name>,
    pub lines: Vec<Line>,
}

/// A graph made of lines.
pub struct Made {
    pub graph: Graph,
    names: Vec<Name>,
    numbers: Option<Vec<u64>>,
    /// The results of each line.
    pub results: Vec<Vec<Tensor>>,
    pub positions: Vec<(Tensor, u64)>,
}

impl Program {
    /// A graph without lines: with names, or with numbers in their place.
    pub fn begin(&self, numbers: Option<&[u64]>) -> Made {
        let mut graph = Graph::new();
        graph.set_default_precision(Dtype::F64);
        if numbers.is_none() {
            for Name { name, range, sample, dynamic } in &self.names {
                let declared = match (dynamic, range) {
                    (true, _) => graph.dynamic(name, *sample),
                    (false, (lo, Some(hi))) => graph.dim(name, *lo..=*hi, *sample),
                    (false, (lo, None)) => graph.dim(name, *lo.., *sample),
                };
                declared.expect("a new name, and a sample in its range");
            }
        }
        let numbers = numbers.map(<[u64]>::to_vec);
        Made { graph, names: self.names.clone(), numbers, results: Vec::new(), positions: Vec::new() }
    }

    pub fn build(&self, numbers: Option<&[u64]>) -> Result<Made, Error> {
        let mut made = self.begin(numbers);
        self.lines.iter().try_for_each(|line| made.add(line))?;
        Ok(made)
    }

    /// Pairs of names and numbers, as graphs take them.
    pub fn pairs(&self, numbers: &[u64]) -> Vec<(&'static str, u64)> {
        self.names.iter().map(|name| name.name).zip(numbers.iter().copied()).collect()
    }

    /// Returns true if numbers lie in the declared ranges.
    pub fn in_range(&self, numbers: &[u64]) -> bool {
        let within = |(name, number): (&Name, &u64)| {
            *number >= name.range.0 && name.range.1.is_none_or(|most| *number <= most)
        };
        self.names.iter().zip(numbers).all(within)
    }

    /// The program without a line, if nothing reads it.
    pub fn without(&self, at: usize) -> Option<Program> {
        let read = |line: &Line| line.operands.iter().any(|(from, _)| *from == at);
        if self.lines.len() == 1 || self.lines.iter().any(read) {
            return None;
        }
        let mut program = self.clone();
        program.lines.remove(at);
        for line in &mut program.lines[at..] {
            line.operands.iter_mut().filter(|(from, _)| *from > at).for_each(|(from, _)| *from -= 1);
        }
        Some(program)
    }

    /// Removes the lines that a mistake does not need.
    pub fn smaller(&self, is_wrong: impl Fn(&Program) -> bool) -> Program {
        let mut least = self.clone();
        let mut at = least.lines.len();
        while at > 0 {
            at -= 1;
            if let Some(without) = least.without(at)
                && is_wrong(&without)
            {
                least = without;
                at = at.min(least.lines.len());
            }
        }
        least
    }
}

impl Made {
    pub fn add(&mut self, line: &Line) -> Result<(), Error> {
        let made = self.make(line)?;
        self.results.push(made);
        Ok(())
    }

    fn make(&mut self, line: &Line) -> Result<Vec<Tensor>, Error> {
        let operands: Vec<Tensor> =
            line.operands.iter().map(|(from, part)| self.results[*from][*part]).collect();
        let name = format!("t{}", self.results.len());
        let text = |declared: &Declared| declared.text(&self.names, self.numbers.as_deref());
        let graph = &mut self.graph;
        let one = match &line.op {
            Op::Data(shape) => graph.data(&name, &text(shape))?,
            Op::Counted(shape, count) => graph.data_with_count(&name, &text(shape), *count)?,
            Op::Ids(shape, _) => {
                let ids = graph.data(&name, &text(shape))?;
                graph.set_precision(ids, Dtype::I64)?;
                ids
            }
            Op::Param => graph.param(&name),
            Op::ParamShaped(shape) => graph.param_shaped(&name, &text(shape))?,
            Op::Constant(value) => graph.constant(*value),
            Op::Range(shape) => graph.range(&name, &text(shape))?,
            Op::Pointwise(of) => graph.pointwise(of, &operands)?,
            Op::Number(of, value) => {
                let value = graph.number(*value);
                graph.pointwise(of, &[operands[0], value])?
            }
            Op::Compose => graph.compose(operands[0], operands[1])?,
            Op::ComposeAccumulate => graph.compose_accumulate(operands[0], operands[1], operands[2])?,
            Op::Transpose => graph.transpose(operands[0])?,
            Op::Square => {
                graph.input_equals_output(operands[0])?;
                operands[0]
            }
            Op::Einsum { spec, accumulate, combine, said } => {
                let options =
                    SpecOptions { accumulate: *accumulate, combine: *combine, ..SpecOptions::default() };
                let result = graph.einsum_with(spec, &operands, &options)?;
                say(graph, result, said)?;
                result
            }
            Op::Split { spec, said } => {
                let parts = graph.split(spec, &operands)?;
                say(graph, parts[0], said)?;
                return Ok(parts);
            }
            Op::Mean { spec, over } => {
                let sum = graph.einsum(spec, &operands)?;
                let mut mean = sum;
                for label in over {
                    let label = graph.captured(sum, label)?;
                    let size = graph.size_number(label)?;
                    mean = graph.div(mean, size)?;
                }
                mean
            }
            Op::Softmax(spec) => {
                let options = SpecOptions { accumulate: Accumulate::Max, ..SpecOptions::default() };
                let greatest = graph.einsum_with(spec, &operands, &options)?;
                let shifted = graph.sub(operands[0], greatest)?;
                let exponentials = graph.exp(shifted)?;
                let sum = graph.einsum(spec, &[exponentials])?;
                graph.div(exponentials, sum)?
            }
            Op::Slice(at) => graph.slice(operands[0], SliceIndex::At(*at))?,
            Op::SliceRun(at) => {
                let slice = graph.slice(operands[0], SliceIndex::Run { range: None })?;
                self.positions.push((slice, *at));
                slice
            }
            Op::Gather => graph.gather(operands[0], operands[1])?,
            Op::Convert(factor, divisor) => graph.convert(operands[0], *factor, *divisor)?,
        };
        Ok(vec![one])
    }

    /// The sum of the squares of all results that no line reads, and of the parameters that are
    /// read.
    pub fn loss(&mut self, program: &Program) -> Result<Tensor, Error> {
        let left_out = |place: Place| {
            let read = program.lines.iter().any(|line| line.operands.contains(&place));
            match program.lines[place.0].op {
                Op::Param | Op::ParamShaped(_) => !read,
                Op::Ids(..) | Op::Range(_) | Op::Constant(_) => true,
                _ => read,
            }
        };
        let graph = &mut self.graph;
        // Every program has a parameter, so that there is something to train.
        let (scale, one, small) = (graph.param_shaped("scale", "|")?, graph.number(1.0), graph.number(0.01));
        let (mut loss, scale) = (graph.number(0.0), graph.add(scale, one)?);
        for (line, made) in self.results.iter().enumerate() {
            for (_, tensor) in made.iter().enumerate().filter(|(part, _)| !left_out((line, *part))) {
                let square = graph.square(*tensor)?;
                let sum = graph.einsum("... | ... -> ... =>", &[square])?;
                let part = graph.mul(sum, small)?;
                loss = graph.add(loss, part)?;
            }
        }
        graph.mul(loss, scale)
    }

    /// A step of descent.
    pub fn step(&mut self, loss: Tensor) -> Result<Routine, Error> {
        let params = self.graph.params();
        let graph = &mut self.graph;
        let mut step = Routine::new("step");
        step.backward(graph, loss)?;
        step.keep(loss);
        let rate = graph.number(0.05);
        Sgd::default().update(graph, &mut step, &params, rate)?;
        Ok(step)
    }
}

fn say(graph: &mut Graph, result: Tensor, said: &[Said]) -> Result<(), Error> {
    let label = |graph: &Graph, label: &str| -> Result<Captured, Error> { graph.captured(result, label) };
    for said in said {
        match said {
            Said::Set(a, size) => graph.set(label(graph, a)?, *size)?,
            Said::Equal(a, b) => graph.equal(label(graph, a)?, label(graph, b)?)?,
            Said::Scale(a, factor, b) => graph.scale(label(graph, a)?, *factor, label(graph, b)?)?,
        }
    }
    Ok(())
}

/// Numbers for data, which depend only on its line and on their positions.
pub fn values(program: &Program, line: usize, sizes: &[u64], dtype: Dtype) -> Array {
    let Op::Ids(_, below) = program.lines[line].op else { return waves(line + 100, sizes, dtype) };
    let count: u64 = sizes.iter().product();
    let numbers: Vec<f64> = (0..count).map(|at| ((at * 7 + line as u64) % below) as f64).collect();
    Array::from_slice(sizes, &numbers).expect("so many numbers").convert(dtype)
}

/// Numbers from -0.8 to 0.8. No two are equal, so that the maximum is unambiguous.
pub fn waves(number: usize, sizes: &[u64], dtype: Dtype) -> Array {
    let count: u64 = sizes.iter().product();
    let wave = |at: u64| 1.6 * (at as f64 * 0.754_877_666 + number as f64 * 0.569_840_29).fract() - 0.8;
    let numbers: Vec<f64> = (0..count).map(wave).collect();
    Array::from_slice(sizes, &numbers).expect("so many numbers").convert(dtype)
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Name { name, range: (lo, hi), sample, dynamic } in &self.names {
            let most = hi.map_or(String::new(), |hi| format!("={hi}"));
            let kind = if *dynamic { "dynamic" } else { "dim" };
            writeln!(f, "  {kind} {name} in {lo}..{most}, sample {sample:?}")?;
        }
        for (number, Line { op, operands }) in self.lines.iter().enumerate() {
            let name = |(from, part): &Place| match &self.lines[*from].op {
                Op::Split { .. } => format!("t{from}.{part}"),
                _ => format!("t{from}"),
            };
            let read = operands.iter().map(name).collect::<Vec<_>>().join(", ");
            let text = |declared: &Declared| declared.text(&self.names, None);
            write!(f, "  t{number} = ")?;
            match op {
                Op::Data(shape) => writeln!(f, "data \"{}\"", text(shape))?,
                Op::Counted(shape, count) => writeln!(f, "data \"{}\" of {count}", text(shape))?,
                Op::Ids(shape, below) => writeln!(f, "ids \"{}\" below {below}", text(shape))?,
                Op::ParamShaped(shape) => writeln!(f, "param \"{}\"", text(shape))?,
                Op::Range(shape) => writeln!(f, "range \"{}\"", text(shape))?,
                Op::Einsum { spec, accumulate, combine, said } => {
                    let ways = (*accumulate, *combine);
                    let usual = ways == (Accumulate::Sum, Combine::Product);
                    let ways = if usual { String::new() } else { format!(" by {ways:?}") };
                    writeln!(f, "einsum(\"{spec}\", {read}){ways} {said:?}")?;
                }
                Op::Pointwise(of) => writeln!(f, "{of}({read})")?,
                Op::Number(of, value) => writeln!(f, "{of}({read}, {value})")?,
                other => writeln!(f, "{other:?} of {read}")?,
            }
        }
        Ok(())
    }
}
