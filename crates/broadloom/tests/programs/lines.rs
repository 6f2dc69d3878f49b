//! Programs as lists of lines: to be printed, built as graphs, and run.

use std::fmt;

use broadloom::{
    Accumulate, Array, Combine, Dtype, Error, Graph, Routine, Session, Settings, Sgd, SliceIndex,
    SpecOptions, Tensor,
};
use broadloom_testing::Dice;

use crate::numbers::memory;
use crate::random_specs::Place;

/// The operation of a line.
#[derive(Clone, Debug)]
pub enum Op {
    Param(String),
    Data(String),
    Pointwise(&'static str),
    /// A pointwise operation with a number on the right.
    Number(&'static str, f64),
    Compose,
    ComposeAccumulate,
    Transpose,
    /// An operation by a spec, and the sizes of labels that it sets.
    Einsum {
        spec: String,
        accumulate: Accumulate,
        combine: Combine,
        sizes: Vec<(String, u64)>,
    },
    /// An operation by a spec with several results.
    Split {
        spec: String,
        sizes: Vec<(String, u64)>,
    },
    Slice(u64),
    /// A slice at a position that is supplied to the run.
    SliceRun(u64),
    /// Rows of a table.
    Gather(Vec<i64>),
}

#[derive(Clone, Debug)]
pub struct Line {
    pub op: Op,
    pub operands: Vec<Place>,
}

#[derive(Clone, Debug, Default)]
pub struct Lines(pub Vec<Line>);

/// A graph made of lines.
pub struct Made {
    pub graph: Graph,
    /// The results of each line.
    pub results: Vec<Vec<Tensor>>,
    positions: Vec<(Tensor, u64)>,
}

impl Lines {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The program without a line, if nothing reads it.
    pub fn without(&self, at: usize) -> Option<Lines> {
        let read = |line: &Line| line.operands.iter().any(|(from, _)| *from == at);
        if self.len() == 1 || self.0.iter().any(read) {
            return None;
        }
        let mut lines = self.clone();
        lines.0.remove(at);
        for line in &mut lines.0[at..] {
            line.operands.iter_mut().filter(|(from, _)| *from > at).for_each(|(from, _)| *from -= 1);
        }
        Some(lines)
    }

    pub fn build(&self, dtype: Dtype) -> Result<Made, Error> {
        let mut made = Made { graph: Graph::new(), results: Vec::new(), positions: Vec::new() };
        made.graph.set_default_precision(dtype);
        self.0.iter().try_for_each(|line| made.add(line))?;
        Ok(made)
    }

    /// Two steps of descent: returns the loss and all parameters. The numbers of leaves fit into 32
    /// bits, unless they are nudged a little.
    pub fn run(&self, dtype: Dtype, settings: Settings, nudge: f64) -> Result<Vec<Vec<f64>>, Error> {
        let Made { mut graph, results, positions } = self.build(dtype)?;
        let loss = self.loss(&mut graph, &results)?;
        let params = graph.params();
        let mut train = Routine::new("train");
        train.backward(&mut graph, loss)?;
        let rate = graph.number(0.05);
        Sgd::default().update(&mut graph, &mut train, &params, rate)?;
        let shapes = graph.final_shapes()?;
        let mut session = Session::with(graph, settings)?;
        for (at, (line, made)) in self.0.iter().zip(&results).enumerate() {
            if let Op::Param(text) | Op::Data(text) = &line.op {
                // The numbers of a leaf do not depend on the number of other lines.
                let mut random = Dice::new(text.len() as u64 * 31 + at.min(5) as u64);
                let sizes = memory(&shapes.get(made[0]));
                let count: u64 = sizes.iter().product();
                let mut number = || f64::from(1.5 * random.signed() as f32) * (1.0 + nudge * random.signed());
                let numbers: Vec<f64> = (0..count).map(|_| number()).collect();
                session.set(made[0], &Array::from_slice(&sizes, &numbers)?.convert(dtype))?;
            }
        }
        positions.iter().try_for_each(|(slice, position)| session.set_position(*slice, *position))?;
        session.run(&train)?;
        session.run(&train)?;
        let kept = [loss].into_iter().chain(params);
        kept.map(|tensor| Ok(session.get(tensor)?.to_f64s())).collect()
    }

    /// The mean of the squares of all results that no line reads, and of all parameters.
    fn loss(&self, graph: &mut Graph, results: &[Vec<Tensor>]) -> Result<Tensor, Error> {
        let read = |place: Place| {
            let param = matches!(self.0[place.0].op, Op::Param(_));
            !param && self.0.iter().any(|line| line.operands.contains(&place))
        };
        let mut loss = graph.number(0.0);
        for (line, made) in results.iter().enumerate() {
            for (_, tensor) in made.iter().enumerate().filter(|(part, _)| !read((line, *part))) {
                let square = graph.square(*tensor)?;
                let sum = graph.einsum("... | ... -> ... =>", &[square])?;
                let count = graph.final_shape(*tensor)?.elements();
                let count = graph.number(count as f64);
                let mean = graph.div(sum, count)?;
                loss = graph.add(loss, mean)?;
            }
        }
        Ok(loss)
    }
}

impl Made {
    pub fn add(&mut self, line: &Line) -> Result<(), Error> {
        let operands: Vec<Tensor> =
            line.operands.iter().map(|(from, part)| self.results[*from][*part]).collect();
        let (graph, number) = (&mut self.graph, self.results.len());
        let made = match &line.op {
            Op::Param(shape) => vec![graph.param_shaped(&format!("t{number}"), shape)?],
            Op::Data(shape) => vec![graph.data(&format!("t{number}"), shape)?],
            Op::Pointwise(name) => vec![graph.pointwise(name, &operands)?],
            Op::Number(name, value) => {
                let value = graph.number(*value);
                vec![graph.pointwise(name, &[operands[0], value])?]
            }
            Op::Compose => vec![graph.compose(operands[0], operands[1])?],
            Op::ComposeAccumulate => vec![graph.compose_accumulate(operands[0], operands[1], operands[2])?],
            Op::Transpose => vec![graph.transpose(operands[0])?],
            Op::Einsum { spec, accumulate, combine, sizes } => {
                let options =
                    SpecOptions { accumulate: *accumulate, combine: *combine, ..SpecOptions::default() };
                let result = graph.einsum_with(spec, &operands, &options)?;
                set(graph, result, sizes)?;
                vec![result]
            }
            Op::Split { spec, sizes } => {
                let parts = graph.split(spec, &operands)?;
                set(graph, parts[0], sizes)?;
                parts
            }
            Op::Slice(at) => vec![graph.slice(operands[0], SliceIndex::At(*at))?],
            Op::SliceRun(at) => {
                let slice = graph.slice(operands[0], SliceIndex::Run { range: None })?;
                self.positions.push((slice, *at));
                vec![slice]
            }
            Op::Gather(ids) => {
                let ids = Array::from_slice(&[ids.len() as u64], ids)?;
                let ids = graph.array(&format!("ids{number}"), "... |", ids)?;
                vec![graph.gather(operands[0], ids)?]
            }
        };
        self.results.push(made);
        Ok(())
    }
}

fn set(graph: &mut Graph, result: Tensor, sizes: &[(String, u64)]) -> Result<(), Error> {
    for (label, size) in sizes {
        let label = graph.captured(result, label)?;
        graph.set(label, *size)?;
    }
    Ok(())
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Line { op, operands }) in self.0.iter().enumerate() {
            let name = |(from, part): &Place| match &self.0[*from].op {
                Op::Split { .. } => format!("t{from}.{part}"),
                _ => format!("t{from}"),
            };
            let read = operands.iter().map(name).collect::<Vec<_>>().join(", ");
            write!(f, "  t{number} = ")?;
            match op {
                Op::Param(shape) => write!(f, "param \"{shape}\"")?,
                Op::Data(shape) => write!(f, "data \"{shape}\"")?,
                Op::Pointwise(name) => write!(f, "{name}({read})")?,
                Op::Number(name, value) => write!(f, "{name}({read}, {value})")?,
                Op::Compose => write!(f, "compose({read})")?,
                Op::ComposeAccumulate => write!(f, "compose_accumulate({read})")?,
                Op::Transpose => write!(f, "transpose({read})")?,
                Op::Einsum { spec, accumulate, combine, sizes } => {
                    write!(f, "einsum(\"{spec}\", {read})")?;
                    if (*accumulate, *combine) != (Accumulate::Sum, Combine::Product) {
                        write!(f, " by {accumulate:?} of {combine:?}")?;
                    }
                    sizes.iter().try_for_each(|(label, size)| write!(f, ", {label} = {size}"))?;
                }
                Op::Split { spec, sizes } => {
                    write!(f, "split(\"{spec}\", {read})")?;
                    sizes.iter().try_for_each(|(label, size)| write!(f, ", {label} = {size}"))?;
                }
                Op::Slice(at) => write!(f, "slice({read}, {at})")?,
                Op::SliceRun(at) => write!(f, "slice({read}, supplied {at})")?,
                Op::Gather(ids) => write!(f, "gather({read}, {ids:?})")?,
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
