//! Everything about a program at once, for other programs to read.

use broadloom::{Node, StepId, Tensor};
use broadloom_lang::Program;
use serde::Serialize;

use crate::analysis::Analysis;
use crate::loops::{NestData, OptimisedRoutine, nest, optimised};
use crate::place::Line;
use crate::refusal::Refusal;
use crate::shape::{Rows, how, kind};

/// A program with all its tensors, named or not.
#[derive(Clone, Debug, Default, Serialize)]
pub struct WholeProgram {
    /// The name of the text.
    pub file: String,
    /// All tensors, in order.
    pub tensors: Vec<WholeTensor>,
    /// All operations, in order.
    pub operations: Vec<WholeOperation>,
    /// The routines as they run.
    pub routines: Vec<OptimisedRoutine>,
}

/// A tensor of a program.
#[derive(Clone, Debug, Serialize)]
pub struct WholeTensor {
    /// Its place among the tensors.
    pub id: usize,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its kind, in a word.
    pub kind: &'static str,
    /// Its shape as it is written.
    pub shape: String,
    /// The shape as data, axis by axis.
    pub rows: Rows,
    /// The number of its elements.
    pub elements: u64,
    /// `declared`, `forced` or `chosen`.
    pub how: &'static str,
    /// The rule by which it was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The line on which it is made.
    #[serde(flatten)]
    pub place: Option<Line>,
}

/// An operation of a program.
#[derive(Clone, Debug, Serialize)]
pub struct WholeOperation {
    /// Its name.
    pub operation: String,
    /// The operation, as a program would write it.
    pub text: String,
    /// The ids of its operands.
    pub operands: Vec<usize>,
    /// The ids of its results.
    pub results: Vec<usize>,
    /// Its loop nest.
    pub nest: Option<NestData>,
    /// The place where it is written.
    #[serde(flatten)]
    pub place: Option<Line>,
}

/// Everything about a program. It is empty if the program has errors.
///
/// ```
/// use broadloom_ide::{Analysis, Text, whole};
///
/// let all = whole(&mut Analysis::new(&Text::new("a.loom", "data x : 3\nlet y = exp(x)\n")))?;
/// assert_eq!((all.operations[0].text.as_str(), &all.operations[0].results), ("exp(x)", &vec![1]));
/// # Ok::<(), String>(())
/// ```
pub fn whole(analysis: &mut Analysis) -> Result<WholeProgram, Refusal> {
    let mut all = WholeProgram { file: analysis.name.clone(), ..WholeProgram::default() };
    if !analysis.is_ok() {
        return Ok(all);
    }
    all.tensors = tensors(&mut analysis.program)?;
    all.operations = operations(&mut analysis.program);
    all.routines = optimised(analysis)?.routines;
    Ok(all)
}

fn place(program: &Program, step: StepId) -> Option<Line> {
    program.origins.get(step).map(|origin| Line::new(&program.sources, origin.span))
}

fn tensors(program: &mut Program) -> Result<Vec<WholeTensor>, Refusal> {
    let shapes = program.graph.final_shapes()?;
    let known = program.graph.how_all()?;
    let graph = &program.graph;
    let tensor = |tensor: Tensor| {
        let shape = shapes.get(tensor);
        let (how, rule) = how(&known[tensor.index()]);
        WholeTensor {
            id: tensor.index(),
            name: graph.name_of(tensor).map(str::to_string),
            kind: kind(graph, tensor),
            shape: shape.to_string(),
            rows: Rows::from(&shape),
            elements: shape.elements(),
            how,
            rule,
            place: graph.step_of(tensor).and_then(|step| place(program, step)),
        }
    };
    Ok(graph.tensors().map(tensor).collect())
}

fn operations(program: &mut Program) -> Vec<WholeOperation> {
    let mut operations: Vec<WholeOperation> = Vec::new();
    let (mut last, all) = (None, program.graph.tensors().collect::<Vec<Tensor>>());
    for tensor in all {
        let Some(Node::Operation { id, operands, step }) = program.graph.node(tensor) else {
            continue;
        };
        if let Some(known) = operations.last_mut().filter(|_| last == Some(step)) {
            // One more result of the same operation.
            known.results.push(tensor.index());
            continue;
        }
        last = Some(step);
        let operation = WholeOperation {
            operation: id.to_string(),
            text: program.graph.operation_text(tensor).unwrap_or_default(),
            operands: operands.iter().map(|operand| operand.index()).collect(),
            results: vec![tensor.index()],
            nest: None,
            place: place(program, step),
        };
        let nest = nest(program, tensor);
        operations.push(WholeOperation { nest, ..operation });
    }
    operations
}
