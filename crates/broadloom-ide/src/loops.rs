//! Loop nests as they are derived from shapes, or as they run.

use broadloom::{Backend, Node, Session, Settings, ShownAccess, ShownLoop, ShownNest, Tensor};
use broadloom_diagnostics::Span;
use broadloom_lang::Program;
use serde::Serialize;

use crate::analysis::Analysis;
use crate::place::Line;
use crate::refusal::Refusal;

/// The choice of loop nests.
#[derive(Clone, Debug, Default)]
pub struct LoopsOf {
    /// A tensor: its operation, and those of the unnamed tensors that it is made of. By default all
    /// operations.
    pub name: Option<String>,
    /// True to include operations inside functions of the library.
    pub all: bool,
    /// True to leave out gradients.
    pub forward_only: bool,
    /// True to return nests as data, beside their text.
    pub as_data: bool,
}

/// The loop nests of a program.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Loops {
    /// The name of the text.
    pub file: String,
    /// Operations in order, and then assignments in the order they are carried out.
    pub operations: Vec<OperationLoops>,
    /// Routines as they run, if they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routines: Vec<OptimisedRoutine>,
    /// The number of operations inside functions of the library that are left out.
    #[serde(skip)]
    pub hidden: usize,
}

/// An operation, or an assignment, with its nests.
#[derive(Clone, Debug, Serialize)]
pub struct OperationLoops {
    /// The tensor that it makes.
    pub tensor: String,
    /// The operation, as a program would write it.
    pub text: String,
    /// The line on which it is written.
    #[serde(flatten)]
    pub place: Option<Line>,
    /// The nest as data, if that was asked for; nothing for assignments, and where shapes make no nest.
    pub nest: Option<NestData>,
    /// The loops of the operation.
    pub forward: String,
    /// The loops of the gradients of its operands.
    pub backward: Vec<String>,
    /// The rule, classes, product space and index maps, one on each line. Assignments have none.
    #[serde(skip)]
    pub facts: Vec<String>,
    /// The same as `place`, as a span.
    #[serde(skip)]
    pub span: Option<Span>,
}

/// A nest as data, with the keys of `docs/schema.json`.
#[derive(Clone, Debug, Serialize)]
pub struct NestData {
    /// The relations between axes of the operation.
    pub rules: Vec<String>,
    /// Its loops.
    pub loops: Vec<LoopData>,
    /// The tensors that are written.
    pub writes: Vec<AccessData>,
    /// The tensors that are read.
    pub reads: Vec<AccessData>,
    /// The answer to whether no cell of the result is written twice: `yes`, `no` or `unsettled`.
    pub injective: &'static str,
    /// The answer to whether every cell of the result is written.
    pub surjective: &'static str,
    /// True if the result must be set to the neutral element first.
    pub needs_initialisation: bool,
}

/// A loop of a nest.
#[derive(Clone, Debug, Serialize)]
pub struct LoopData {
    /// Its name.
    pub name: String,
    /// The number of times it runs.
    pub extent: u64,
    /// The name of that size, if it has one.
    pub size_name: Option<String>,
    /// The factor of the product space that it belongs to.
    pub factor: u32,
    /// True if the result's index does not mention it.
    pub reduction: bool,
    /// The axes that it runs along.
    pub drives: String,
}

/// A tensor that a nest reads or writes.
#[derive(Clone, Debug, Serialize)]
pub struct AccessData {
    /// Its name.
    pub tensor: String,
    /// Its sizes in memory order.
    pub sizes: Vec<u64>,
    /// The index on each axis.
    pub index: Vec<String>,
}

impl From<ShownNest> for NestData {
    fn from(nest: ShownNest) -> NestData {
        let each = |ShownLoop { name, extent, size_name, factor, reduction, drives, .. }| LoopData {
            name,
            extent,
            size_name,
            factor,
            reduction,
            drives,
        };
        let access = |ShownAccess { tensor, sizes, index, .. }| AccessData { tensor, sizes, index };
        NestData {
            rules: nest.rules,
            loops: nest.loops.into_iter().map(each).collect(),
            writes: nest.writes.into_iter().map(access).collect(),
            reads: nest.reads.into_iter().map(access).collect(),
            injective: nest.injective.name(),
            surjective: nest.surjective.name(),
            needs_initialisation: nest.needs_initialisation,
        }
    }
}

/// A routine as it runs.
#[derive(Clone, Debug, Serialize)]
pub struct OptimisedRoutine {
    /// Its name.
    pub name: String,
    /// Its buffers and nests as derived.
    pub derived: String,
    /// Its buffers and nests after optimisation.
    pub text: String,
}

/// Derives loop nests. There are none if the program has errors; the error is a message about the
/// request.
///
/// ```
/// use broadloom_ide::{Analysis, LoopsOf, Text, loops};
///
/// let text = Text::new("map.loom", "data x : 32 | 784\nlet y = {w : ... -> 10} @ x\n");
/// let of = LoopsOf { name: Some("y".into()), ..LoopsOf::default() };
/// let found = loops(&mut Analysis::new(&text), &of)?;
/// assert!(found.operations[0].forward.ends_with("y[i, j] += w[j, k] * x[i, k]\n"));
/// # Ok::<(), String>(())
/// ```
pub fn loops(analysis: &mut Analysis, of: &LoopsOf) -> Result<Loops, Refusal> {
    let mut found = Loops { file: analysis.name.clone(), ..Loops::default() };
    if !analysis.is_ok() {
        return Ok(found);
    }
    let asked = of.name.as_ref().map(|name| analysis.named(name)).transpose()?;
    let (tensors, hidden) = match (&of.name, asked) {
        (Some(name), Some(asked)) => (made_for(&analysis.program, name, asked)?, 0),
        _ => written(&analysis.program, of.all),
    };
    found.operations = derived(&mut analysis.program, &tensors, of)?;
    let (assigned, left_out) = assignments(&mut analysis.program, asked, of.all)?;
    for each in assigned {
        // `{c} =:min a + b by "…"` makes its target: the assignment says what is computed.
        match found.operations.iter_mut().find(|made| (&made.tensor, made.span) == (&each.tensor, each.span))
        {
            Some(made) => (made.forward, made.nest) = (each.forward, None),
            None => found.operations.push(each),
        }
    }
    found.hidden = hidden + left_out;
    Ok(found)
}

/// The routines of a program, before and after optimisation. There are none if the program has
/// errors.
///
/// ```
/// use broadloom_ide::{Analysis, Text, optimised};
///
/// let text = Text::new("a.loom", "data x : 3 = [1, 2, 3]\nlet y = exp(2 * x)\nprint y\n");
/// let routines = optimised(&Analysis::new(&text))?.routines;
/// // Two nests become one.
/// assert!(routines[0].text.matches("for ").count() < routines[0].derived.matches("for ").count());
/// # Ok::<(), String>(())
/// ```
pub fn optimised(analysis: &Analysis) -> Result<Loops, Refusal> {
    let program = &analysis.program;
    let mut found = Loops { file: analysis.name.clone(), ..Loops::default() };
    if !program.is_ok() {
        return Ok(found);
    }
    // Nothing is run, so nothing has to be compiled.
    let settings = Settings { backend: Backend::Reference, ..Settings::default() };
    let mut session = Session::with(program.graph.clone(), settings)?;
    for routine in program.routines() {
        let (derived, text) = session.show(&routine)?;
        found.routines.push(OptimisedRoutine { name: routine.name().to_string(), derived, text });
    }
    Ok(found)
}

fn operands(program: &Program, tensor: Tensor) -> Option<&[Tensor]> {
    match program.graph.node(tensor) {
        Some(Node::Operation { operands, .. }) => Some(operands),
        _ => None,
    }
}

/// A tensor and the unnamed tensors that it is made of, one for each operation, in order.
fn made_for(program: &Program, name: &str, asked: Tensor) -> Result<Vec<Tensor>, String> {
    let graph = &program.graph;
    let mut waiting: Vec<Tensor> = operands(program, asked).map(|_| asked).into_iter().collect();
    let assigned = program.routines().iter().any(|routine| routine.assigns(graph, asked));
    if waiting.is_empty() && !assigned {
        return Err(format!("`{name}` is not computed, so it has no loops"));
    }
    let mut tensors: Vec<Tensor> = Vec::new();
    while let Some(tensor) = waiting.pop() {
        if tensors.contains(&tensor) {
            continue;
        }
        tensors.push(tensor);
        let inside = operands(program, tensor).unwrap_or_default().iter().copied();
        waiting.extend(
            inside.filter(|inside| graph.name_of(*inside).is_none() && operands(program, *inside).is_some()),
        );
    }
    tensors.sort();
    tensors.dedup_by_key(|tensor| graph.step_of(*tensor));
    Ok(tensors)
}

/// The tensors that the program itself computes, or all, one for each operation, in order; and the
/// number of those left out.
fn written(program: &Program, all: bool) -> (Vec<Tensor>, usize) {
    let graph = &program.graph;
    let (mut tensors, mut hidden): (Vec<Tensor>, usize) = (Vec::new(), 0);
    for tensor in graph.tensors().filter(|tensor| operands(program, *tensor).is_some()) {
        let origin = graph.step_of(tensor).and_then(|step| program.origins.get(step));
        if all || origin.is_some_and(|origin| origin.span == origin.inner) {
            tensors.push(tensor);
        } else {
            hidden += 1;
        }
    }
    // An operation with several results is shown once.
    tensors.dedup_by_key(|tensor| graph.step_of(*tensor));
    (tensors, hidden)
}

fn derived(program: &mut Program, tensors: &[Tensor], of: &LoopsOf) -> Result<Vec<OperationLoops>, Refusal> {
    let mut backward = match of.forward_only {
        false => broadloom::show_backward(&mut program.graph, tensors)?.into_iter(),
        true => Vec::new().into_iter(),
    };
    let mut nests = Vec::new();
    for tensor in tensors {
        let backward = backward.next().unwrap_or_default();
        let nest = if of.as_data { nest(program, *tensor) } else { None };
        nests.push(OperationLoops { nest, backward, ..forward(program, *tensor) });
    }
    Ok(nests)
}

/// The nest of the operation that makes a tensor, as data.
pub(crate) fn nest(program: &mut Program, tensor: Tensor) -> Option<NestData> {
    program.graph.nest(tensor).ok().map(NestData::from)
}

/// The operation that makes a tensor, without gradients and data.
pub(crate) fn forward(program: &mut Program, tensor: Tensor) -> OperationLoops {
    let origin = program.graph.step_of(tensor).and_then(|step| program.origins.get(step));
    let span = origin.map(|origin| origin.span);
    let (text, facts, forward) = match program.graph.nest(tensor) {
        Ok(nest) => (nest.operation.clone(), nest.facts(), nest.body),
        // Shapes do not always make a nest: `convert`, `a => a^a`.
        Err(error) => (program.graph.label_of(tensor), Vec::new(), format!("{}\n", error.message())),
    };
    OperationLoops {
        tensor: program.graph.label_of(tensor),
        text,
        place: span.map(|span| Line::new(&program.sources, span)),
        nest: None,
        forward,
        backward: Vec::new(),
        facts,
        span,
    }
}

/// The assignments of the program, to one tensor or to any, and the number of those left out.
fn assignments(
    program: &mut Program,
    asked: Option<Tensor>,
    all: bool,
) -> Result<(Vec<OperationLoops>, usize), Refusal> {
    let routines = program.routines();
    let targets: Vec<Tensor> = routines.iter().flat_map(|routine| routine.assigned(&program.graph)).collect();
    let shown = broadloom::show_assignments(&mut program.graph, &routines)?;
    let (mut nests, mut hidden) = (Vec::new(), 0);
    for ((step, text), target) in shown.into_iter().zip(targets) {
        let origin = program.origins.get(step);
        let chosen = match asked {
            Some(asked) => target == asked,
            None => all || origin.is_some_and(|origin| origin.span == origin.inner),
        };
        if !chosen {
            hidden += usize::from(asked.is_none());
            continue;
        }
        let tensor = program.graph.label_of(target);
        nests.push(OperationLoops {
            text: format!("{tensor} is assigned"),
            tensor,
            place: origin.map(|origin| Line::new(&program.sources, origin.span)),
            nest: None,
            forward: text,
            backward: Vec::new(),
            facts: Vec::new(),
            span: origin.map(|origin| origin.span),
        });
    }
    Ok((nests, hidden))
}
