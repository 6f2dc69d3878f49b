//! Lowered routines as MLIR and StableHLO, with notes on each argument and result in terms of the graph.

use broadloom_graph::lowering::{Face, Inferred, Leaf};
use broadloom_graph::{Error, ErrorKind, Graph, StepId, Tensor};
use broadloom_loops::BufferId;
use broadloom_loops::mlir::{self, Function, Supplied};
use broadloom_xla::{Module, Precision, Sharded};
use rustc_hash::FxHashMap;

use super::{Content, Layout, LowerOptions, Lowered, Lowering, Symbol};
use crate::routine::Routine;
use crate::sizes::Sizes;

/// Writes lowered routines as one module, with a named function for each. Nests are preceded by the
/// places of their steps, if those have any.
pub(crate) fn module(
    graph: &Graph,
    layout: &Layout,
    routines: &[(&str, Lowered)],
    place: &dyn Fn(StepId) -> Option<String>,
) -> Result<String, Error> {
    let functions = routines.iter().map(|(name, lowered)| function(graph, layout, name, lowered, place));
    mlir::module(&functions.collect::<Result<Vec<_>, Error>>()?)
        .map_err(|refusal| Error::new(ErrorKind::Use, format!("this cannot be said in MLIR: {refusal}")))
}

/// Writes a lowered routine as a module of StableHLO, with products of some precision, for the devices of a mesh if it is divided.
pub(crate) fn stablehlo(
    graph: &Graph,
    layout: &Layout,
    (name, lowered): (&str, &Lowered),
    (precision, sharded): (Precision, Option<&Sharded<'_>>),
    place: &dyn Fn(StepId) -> Option<String>,
) -> Result<Module, Error> {
    let mut function = function(graph, layout, name, lowered, place)?;
    if precision != Precision::default() {
        function
            .comment
            .push(format!("Products of 32-bit floats have the precision `{}`.", precision.name()));
    }
    broadloom_xla::module_for(&function, precision, sharded).map_err(|refusal| {
        let message = format!("this cannot be said in StableHLO: {refusal}");
        let error = Error::new(ErrorKind::Use, message);
        match refusal.at.and_then(|at| lowered.steps.get(at)) {
            Some(step) => error.about_step(*step),
            None => error,
        }
    })
}

/// A lowered routine as the function that it becomes.
fn function<'p>(
    graph: &Graph,
    layout: &Layout,
    name: &'p str,
    lowered: &'p Lowered,
    place: &dyn Fn(StepId) -> Option<String>,
) -> Result<Function<'p>, Error> {
    let place = |step: &StepId| place(*step).map_or(String::new(), |place| format!("{place}: "));
    let Ports { arguments, results } = lowered.ports(graph, layout);
    Ok(Function {
        name,
        comment: Vec::new(),
        program: &lowered.program,
        arguments,
        results,
        places: lowered.steps.iter().map(place).collect(),
        symbols: lowered
            .symbols
            .iter()
            .map(|symbol| layout.supplied(*symbol))
            .collect::<Result<_, Error>>()?,
    })
}

/// The arguments and the results of a function, with notes for readers.
struct Ports {
    arguments: Vec<(BufferId, String)>,
    results: Vec<(BufferId, String)>,
}

impl Lowered {
    fn ports(&self, graph: &Graph, layout: &Layout) -> Ports {
        let ids: FxHashMap<Content, BufferId> = self.nodes.iter().copied().zip((0..).map(BufferId)).collect();
        let argument = |node: Content| Some((*ids.get(&node)?, layout.note(graph, node, true)));
        let result = |node: Content| Some((*ids.get(&node)?, layout.note(graph, node, false)));
        let watched: Vec<Content> = self.watched.iter().copied().collect();
        Ports {
            arguments: in_order(&self.needs).into_iter().filter_map(argument).collect(),
            results: in_order(&self.gives).into_iter().chain(in_order(&watched)).filter_map(result).collect(),
        }
    }
}

/// Values in the order in which the program makes them, then gradients.
fn in_order(nodes: &[Content]) -> Vec<Content> {
    let mut nodes = nodes.to_vec();
    nodes.sort_by_key(|node| match node {
        Content::Value(tensor) => (0, tensor.index()),
        Content::Gradient(tensor) => (1, tensor.index()),
        Content::Own(step, ..) | Content::Work(step, _) => (2, step.index()),
        Content::Before(tensor, _)
        | Content::Wide(tensor)
        | Content::Notes(tensor, _)
        | Content::OfTurns(tensor, ..)
        | Content::NotFinite(tensor) => (3, tensor.index()),
    });
    nodes
}

impl Layout {
    fn supplied(&self, symbol: Symbol) -> Result<Supplied, Error> {
        Ok(match symbol {
            Symbol::Position(_, below) => Supplied::Position(below),
            // The function counts turns itself.
            Symbol::Turn(_) | Symbol::Segment(_) | Symbol::Place(_) => Supplied::Known(0.0),
            Symbol::Key => Supplied::Key,
            Symbol::Size(at) => Supplied::Known(self.captured(at)?),
        })
    }

    /// A note on a node: `data, 4 | 2` if its name is shown already, `hidden, 4 | 8` if it is not.
    fn note(&self, graph: &Graph, node: Content, is_named: bool) -> String {
        let (kind, name, tensor) = match node {
            Content::Value(tensor) => {
                (graph.leaf(tensor).map_or("a tensor", kind), graph.label_of(tensor), tensor)
            }
            Content::Gradient(tensor) => ("a gradient", format!("{}.grad", graph.label_of(tensor)), tensor),
            _ => return self.buffer(graph, node).name,
        };
        format!("{}, {}", if is_named { kind } else { &name }, self.shapes.get(tensor))
    }
}

fn kind(leaf: Leaf) -> &'static str {
    match leaf {
        Leaf::Data => "data",
        Leaf::Param => "a parameter",
        Leaf::State => "a state",
        Leaf::Gradient(_) => "a gradient",
        _ => "a tensor",
    }
}

/// The operation that makes a tensor as a module of MLIR: a function of its operands, with one
/// `linalg.generic` for each nest, at the declared sizes. It is an error for a leaf, which has no
/// loop nest.
///
/// ```
/// let mut g = broadloom::Graph::new();
/// let (a, b) = (g.data("a", "3 -> 2")?, g.data("b", "4 -> 3")?);
/// let c = g.compose(a, b)?;
/// let text = broadloom::nest_linalg(&mut g, c)?;
/// assert!(text.contains("affine_map<(i, j, k) -> (i, k)>"));
/// assert!(text.contains(r#"iterator_types = ["parallel", "parallel", "reduction"]"#));
/// assert!(text.contains("%0 = arith.mulf %in, %in_1 : f32"));
/// # Ok::<(), broadloom::Error>(())
/// ```
pub fn nest_linalg(graph: &mut Graph, result: Tensor) -> Result<String, Error> {
    graph.known(result)?;
    if graph.leaf(result).is_some() {
        return Err(Error::new(ErrorKind::Use, "a leaf has no loop nest"));
    }
    let inferred = Inferred::new(graph)?;
    let sizes = Sizes::new(graph, &inferred)?;
    let layout = Layout::at(graph, &inferred, &sizes.now)?;
    let step = graph.made_by(result);
    let mut routine = Routine::new("forward");
    graph.step_results(step).for_each(|tensor| {
        routine.keep(tensor);
    });
    let mut lowering = Lowering::new(graph, &layout, &routine, LowerOptions::default());
    for operand in graph.step_operands(step) {
        match graph.leaf(*operand) {
            Some(leaf) => lowering.leaf(*operand, leaf),
            None => lowering.need(Content::Value(*operand)),
        }
    }
    lowering.forward(step)?;
    module(graph, &layout, &[(routine.name(), lowering.finish())], &|_| None)
}
