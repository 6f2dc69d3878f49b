//! The construction of a graph as a list of calls that rewritings can change.

use std::collections::BTreeMap;
use std::fmt::Write;

use broadloom::{Error, Graph, Tensor};

/// One call to a graph, which makes one tensor.
#[derive(Clone, Debug)]
pub struct Said {
    /// The id by which others refer to it.
    pub id: usize,
    /// The call of the first graph that it comes from.
    pub home: usize,
    /// The call itself.
    pub call: Call,
    /// The tensors that it reads.
    pub reads: Vec<usize>,
    /// A name for the tensor, if it is not a leaf.
    pub name: Option<String>,
}

/// A call to a graph.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// `data`
    Data(String),
    /// `param`, or `param_shaped`
    Param(Option<String>),
    /// `state`, or `state_shaped`
    State(Option<String>),
    /// `constant`
    Constant,
    /// `number`
    Number,
    /// A function of one tensor.
    Unary(&'static str),
    /// A function of two tensors.
    Binary(&'static str),
    /// `compose`
    Compose,
    /// `transpose`
    Transpose,
    /// `einsum`
    Einsum(Vec<String>, String),
}

impl Said {
    /// Makes the call, if all tensors that it reads are known.
    pub fn say(&self, graph: &mut Graph, known: &BTreeMap<usize, Tensor>) -> Option<Result<Tensor, Error>> {
        let operands: Option<Vec<Tensor>> = self.reads.iter().map(|read| known.get(read).copied()).collect();
        let operands = operands?;
        let leaf = format!("v{}", self.home);
        Some(match &self.call {
            Call::Data(shape) => graph.data(&leaf, shape),
            Call::Param(None) => Ok(graph.param(&leaf)),
            Call::Param(Some(shape)) => graph.param_shaped(&leaf, shape),
            Call::State(None) => Ok(graph.state(&leaf)),
            Call::State(Some(shape)) => graph.state_shaped(&leaf, shape),
            Call::Constant => Ok(graph.constant(0.5)),
            Call::Number => Ok(graph.number(2.0)),
            Call::Unary("relu") => graph.relu(operands[0]),
            Call::Unary("square") => graph.square(operands[0]),
            Call::Unary(_) => graph.exp(operands[0]),
            Call::Binary("add") => graph.add(operands[0], operands[1]),
            Call::Binary("mul") => graph.mul(operands[0], operands[1]),
            Call::Binary("max") => graph.max(operands[0], operands[1]),
            Call::Binary(_) => graph.sub(operands[0], operands[1]),
            Call::Compose => graph.compose(operands[0], operands[1]),
            Call::Transpose => graph.transpose(operands[0]),
            Call::Einsum(specs, result) => {
                graph.einsum(&format!("{} => {result}", specs.join("; ")), &operands)
            }
        })
    }

    /// Returns true if it reads nothing.
    pub fn is_leaf(&self) -> bool {
        self.reads.is_empty()
    }
}

/// The calls as text, one on each line.
pub fn show(said: &[Said]) -> String {
    let mut text = String::new();
    for said in said {
        let name = said.name.as_ref().map_or(String::new(), |name| format!(" named {name}"));
        let _ = writeln!(text, "v{} = {:?} {:?}{name}", said.id, said.call, said.reads);
    }
    text
}

/// The list without one call, and without those that depend on it.
pub fn without(said: &[Said], at: usize) -> Vec<Said> {
    let mut left: Vec<Said> = said.to_vec();
    left.remove(at);
    let mut kept: Vec<Said> = Vec::new();
    for said in left {
        if said.reads.iter().all(|read| kept.iter().any(|earlier| earlier.id == *read)) {
            kept.push(said);
        }
    }
    kept
}
