//! Runs a test program, statement by statement, on a graph.

use std::collections::BTreeMap;
use std::fmt;

use broadloom::{Error, Graph, Tensor};

use super::functions::{Given, apply};
use super::tree::{self, Argument, Captured, Expr, Kind, Leaf, Program, Statement};

/// A program that is running, or has run.
#[derive(Default)]
pub struct Run {
    pub graph: Graph,
    pub tensors: BTreeMap<String, Tensor>,
}

/// The reason why a program stops.
pub enum Stop {
    /// The program is not written in the test language.
    Language(String),
    /// The library refuses a statement.
    Refused(Error),
}

impl Stop {
    pub fn language(message: impl Into<String>) -> Stop {
        Stop::Language(message.into())
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Language(message) => f.write_str(message),
            Stop::Refused(error) => write!(f, "refused: {error}"),
        }
    }
}

impl Run {
    /// Runs all statements.
    pub fn of(program: &Program) -> Result<Run, Stop> {
        let mut run = Run::default();
        program.statements.iter().try_for_each(|statement| run.execute(statement))?;
        Ok(run)
    }

    /// The final shape of every named tensor.
    pub fn final_shapes(&mut self) -> Result<BTreeMap<String, String>, Error> {
        let shapes = self.graph.final_shapes()?;
        let shape = |(name, tensor): (&String, &Tensor)| (name.clone(), shapes.get(*tensor).to_string());
        Ok(self.tensors.iter().map(shape).collect())
    }

    pub fn execute(&mut self, statement: &Statement) -> Result<(), Stop> {
        self.kind(&statement.kind).map_err(|stop| match stop {
            Stop::Language(message) => Stop::Language(format!("line {}: {message}", statement.line)),
            refused @ Stop::Refused(_) => refused,
        })
    }

    fn kind(&mut self, kind: &Kind) -> Result<(), Stop> {
        match kind {
            Kind::Leaf(name, leaf) => {
                let tensor = self.leaf(name, leaf).map_err(Stop::Refused)?;
                self.tensors.insert(name.clone(), tensor);
                Ok(())
            }
            Kind::Let(names, value) => self.define(names, value),
            Kind::Set(captured, size) => {
                let size = count(size)?;
                let captured = self.captured(captured)?;
                self.graph.set(captured, size).map_err(Stop::Refused)
            }
            Kind::Equal(a, b) => {
                let (a, b) = (self.captured(a)?, self.captured(b)?);
                self.graph.equal(a, b).map_err(Stop::Refused)
            }
            Kind::Scale(large, factor, small) => {
                let factor = count(factor)?;
                let (large, small) = (self.captured(large)?, self.captured(small)?);
                self.graph.scale(large, factor, small).map_err(Stop::Refused)
            }
            Kind::Square(name) => {
                let tensor = self.tensor(name)?;
                self.graph.input_equals_output(tensor).map_err(Stop::Refused)
            }
            Kind::Dim { name, range: (lo, Some(hi)), sample } => {
                self.graph.dim(name, *lo..=*hi, *sample).map_err(Stop::Refused)
            }
            Kind::Dim { name, range: (lo, None), sample } => {
                self.graph.dim(name, *lo.., *sample).map_err(Stop::Refused)
            }
            Kind::Dynamic(name) => self.graph.dynamic(name, None).map_err(Stop::Refused),
            Kind::Size(name, size) => self.graph.set_sizes(&[(name, *size)]).map_err(Stop::Refused),
        }
    }

    fn leaf(&mut self, name: &str, leaf: &Leaf) -> Result<Tensor, Error> {
        let graph = &mut self.graph;
        match leaf {
            Leaf::Data { shape, given: tree::Given::Nothing } => graph.data(name, shape),
            Leaf::Data { shape, given: tree::Given::Axes(axes) } => graph.data_with_axes(name, shape, axes),
            Leaf::Data { shape, given: tree::Given::Count(count) } => {
                graph.data_with_count(name, shape, *count)
            }
            Leaf::Param { shape: None } => Ok(graph.param(name)),
            Leaf::Param { shape: Some(shape) } => graph.param_shaped(name, shape),
            Leaf::Constant(value) => {
                let tensor = graph.constant(*value);
                graph.name(tensor, name);
                Ok(tensor)
            }
        }
    }

    /// Gives names to the results of an expression. A name for a name is the same tensor.
    fn define(&mut self, names: &[String], value: &Expr) -> Result<(), Stop> {
        let results = match value {
            Expr::Name(name) => vec![self.tensor(name)?],
            Expr::Number(number) => vec![self.graph.number(*number)],
            Expr::Call(function, arguments) => self.call(function, arguments)?,
        };
        if results.len() != names.len() {
            let message = format!("{} names for {} results", names.len(), results.len());
            return Err(Stop::Language(message));
        }
        for (name, tensor) in names.iter().zip(results) {
            if !matches!(value, Expr::Name(_)) {
                self.graph.name(tensor, name);
            }
            self.tensors.insert(name.clone(), tensor);
        }
        Ok(())
    }

    fn call(&mut self, function: &str, arguments: &[Argument]) -> Result<Vec<Tensor>, Stop> {
        let given: Vec<Given> =
            arguments.iter().map(|argument| self.given(argument)).collect::<Result<_, _>>()?;
        apply(&mut self.graph, function, &given)
    }

    fn given(&mut self, argument: &Argument) -> Result<Given, Stop> {
        Ok(match argument {
            Argument::Value(Expr::Number(number)) => Given::Number(*number),
            Argument::Value(Expr::Name(name)) => Given::Tensor(self.tensor(name)?),
            Argument::Value(Expr::Call(function, arguments)) => match self.call(function, arguments)?[..] {
                [tensor] => Given::Tensor(tensor),
                _ => return Err(Stop::language(format!("`{function}` has several results"))),
            },
            Argument::Text(text) => Given::Text(text.clone()),
            Argument::Range(range) => Given::Range(count(range)?),
            Argument::Option(name, Expr::Name(value)) => Given::Option(name.clone(), value.clone()),
            Argument::Option(name, value) => Given::Option(name.clone(), count(value)?.to_string()),
        })
    }

    fn tensor(&self, name: &str) -> Result<Tensor, Stop> {
        let found = self.tensors.get(name).copied();
        found.ok_or_else(|| Stop::language(format!("`{name}` is not defined")))
    }

    pub fn captured(&self, captured: &Captured) -> Result<broadloom::Captured, Stop> {
        let tensor = self.tensor(&captured.tensor)?;
        self.graph.captured(tensor, &captured.label).map_err(Stop::Refused)
    }
}

fn count(value: &Expr) -> Result<u64, Stop> {
    match value {
        Expr::Number(number) if *number >= 0.0 && number.fract() == 0.0 => Ok(*number as u64),
        _ => Err(Stop::language("a size is a whole number")),
    }
}
