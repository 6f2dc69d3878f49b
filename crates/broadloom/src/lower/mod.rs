//! From a routine to a program of loops: assignments with their projections become nests.
//!
//! Each step computes what its law says (its operation, or the assignment that made it). Gradients run through the
//! steps backwards and re-address the same projections by slot; nothing is inferred here.

mod assign;
mod backward;
mod law;
mod precision;

use std::rc::Rc;

use broadloom_core::projection::Component;
use broadloom_loops::{
    Buffer, BufferId, Cell, Dtype, Index, Nest, Program, Scalar, Statement, Storage,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Error, ErrorKind};
use crate::project::{Fill, MEMORY, Margins, Projected};
use crate::routine::{Action, Routine};
use crate::shape::Shapes;
use crate::step::{Leaf, Step, Tensor};
use crate::{Graph, Index as Position};

pub(crate) use precision::{accumulated, precisions};

/// What a buffer holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Node {
    /// The value of a tensor.
    Value(Tensor),
    /// The gradient of a tensor.
    Gradient(Tensor),
    /// A tensor that a step keeps for itself: the step, its place among the slots, and whether it belongs to the
    /// gradient.
    Own(u32, u32, bool),
}

/// What a number supplied to a run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Symbol {
    /// The position at which the slice made by a step reads, and the number of positions.
    Position(u32, u64),
    /// The key of random numbers.
    Key,
}

/// A routine as a program.
pub(crate) struct Lowered {
    pub program: Program,
    /// What each buffer holds.
    pub nodes: Vec<Node>,
    pub symbols: Vec<Symbol>,
    /// Kept nodes that the program reads before it writes them.
    pub needs: Vec<Node>,
    /// Kept nodes that it writes.
    pub gives: Vec<Node>,
}

/// What all routines of a graph share: final shapes, projections, margins and types.
pub(crate) struct Layout {
    pub shapes: Rc<Shapes>,
    nests: Vec<Option<Result<Rc<Projected>, Error>>>,
    pub margins: Vec<Margins>,
    pub dtypes: Vec<Dtype>,
    /// The values of captured sizes that are used as numbers.
    sizes: Vec<f64>,
}

impl Layout {
    pub fn new(graph: &mut Graph) -> Result<Layout, Error> {
        let shapes = graph.final_shapes()?;
        let captured = graph.facts.sizes.clone();
        let sizes: Vec<f64> =
            captured.into_iter().map(|size| graph.final_size(size).map(|size| size as f64)).collect::<Result<_, _>>()?;
        let nest = |step: u32| match graph.steps[step as usize] {
            Step::Op { .. } => Some(graph.projection_at(&shapes, step).map(Rc::new)),
            _ => None,
        };
        let nests: Vec<_> = (0..graph.steps.len() as u32).map(nest).collect();
        let mut margins = vec![Margins::default(); graph.len()];
        for nest in nests.iter().flatten().flatten() {
            for (at, tensor) in nest.tensors.iter().enumerate() {
                margins[tensor.index()].widen(&nest.margins(at), nest.accumulate);
            }
        }
        Ok(Layout { shapes, nests, margins, dtypes: precisions(graph), sizes })
    }

    fn nest(&self, step: u32) -> Result<Rc<Projected>, Error> {
        match self.nests.get(step as usize) {
            Some(Some(Ok(nest))) => Ok(Rc::clone(nest)),
            Some(Some(Err(error))) => Err(error.clone()),
            _ => Err(Error::new(ErrorKind::Use, "a leaf has no loop nest")),
        }
    }

    /// The sizes of a tensor in memory order.
    pub fn sizes_of(&self, tensor: Tensor) -> Vec<u64> {
        MEMORY.iter().flat_map(|kind| self.shapes.sizes(tensor, *kind)).collect()
    }

    /// The buffer of a node, apart from how long it lasts.
    pub fn buffer(&self, graph: &Graph, node: Node) -> Buffer {
        let (tensor, name, dtype, fill) = match node {
            Node::Value(tensor) => {
                let fill = match self.margins[tensor.index()].fill {
                    Fill::Value(value) => value,
                    Fill::Nothing | Fill::ByReader => 0.0,
                };
                (tensor, graph.short_name(tensor), self.dtypes[tensor.index()], fill)
            }
            Node::Gradient(tensor) => {
                let name = format!("{}.grad", graph.short_name(tensor));
                (tensor, name, accumulated(self.dtypes[tensor.index()]), 0.0)
            }
            Node::Own(step, slot, backward) => {
                let tensor = graph.own_like(step, slot, backward);
                let name = format!("{}.{}", graph.short_name(tensor), graph.own_name(step, slot, backward));
                return Buffer {
                    name,
                    dtype: accumulated(self.dtypes[tensor.index()]),
                    sizes: self.sizes_of(tensor),
                    margins: Vec::new(),
                    fill: 0.0,
                    storage: Storage::Local,
                };
            }
        };
        let margins = &self.margins[tensor.index()].axes;
        let margins = if margins.iter().any(|margin| *margin != (0, 0)) { margins.clone() } else { Vec::new() };
        Buffer { name, dtype, sizes: self.sizes_of(tensor), margins, fill, storage: Storage::Local }
    }
}

/// Lowers a routine. With `keep_all` every tensor on the way is kept, for guards that look at each.
pub(crate) fn lower(
    graph: &Graph,
    layout: &Layout,
    routine: &Routine,
    keep_all: bool,
) -> Result<Lowered, Error> {
    let mut lowering = Lowering {
        graph,
        layout,
        routine,
        keep_all,
        program: Program::default(),
        nodes: Vec::new(),
        buffers: FxHashMap::default(),
        symbols: Vec::new(),
        computed: FxHashSet::default(),
        written: FxHashSet::default(),
        needs: Vec::new(),
    };
    for action in &routine.actions {
        match *action {
            Action::Forward(tensor) => lowering.value(tensor)?,
            Action::Backward(loss) => lowering.backward(loss)?,
            Action::Assign(step) => lowering.assign_step(step)?,
        }
    }
    Ok(lowering.finish())
}

struct Lowering<'a> {
    graph: &'a Graph,
    layout: &'a Layout,
    routine: &'a Routine,
    keep_all: bool,
    program: Program,
    nodes: Vec<Node>,
    buffers: FxHashMap<Node, BufferId>,
    symbols: Vec<Symbol>,
    /// Tensors whose value is there.
    computed: FxHashSet<Tensor>,
    /// Nodes that have been written.
    written: FxHashSet<Node>,
    needs: Vec<Node>,
}

impl Lowering<'_> {
    fn finish(self) -> Lowered {
        let Lowering { program, nodes, symbols, needs, written, .. } = self;
        let kept = |node: &Node| {
            let at = nodes.iter().position(|known| known == node);
            at.is_some_and(|at| program.buffers[at].storage == Storage::Kept)
        };
        let gives = written.into_iter().filter(kept).collect();
        Lowered { program, nodes, symbols, needs, gives }
    }

    /// The buffer of a node.
    fn buffer(&mut self, node: Node) -> BufferId {
        if let Some(known) = self.buffers.get(&node) {
            return *known;
        }
        let mut buffer = self.layout.buffer(self.graph, node);
        if self.is_kept(node) {
            buffer.storage = Storage::Kept;
        }
        let id = self.program.add_buffer(buffer);
        self.nodes.push(node);
        self.buffers.insert(node, id);
        id
    }

    /// Whether a node outlives the run.
    fn is_kept(&self, node: Node) -> bool {
        match node {
            Node::Own(..) => self.keep_all,
            Node::Value(tensor) => {
                let lasting = matches!(self.graph.leaf(tensor), Some(Leaf::Data | Leaf::Param | Leaf::State));
                lasting || self.keep_all || self.routine.kept.contains(&tensor)
            }
            Node::Gradient(tensor) => {
                let asked = self.graph.facts.gradients.get(&tensor);
                let goes_back = self.routine.actions.iter().any(|action| matches!(action, Action::Backward(_)));
                self.keep_all || !goes_back || asked.is_some_and(|gradient| self.routine.kept.contains(gradient))
            }
        }
    }

    /// The node that a tensor stands for.
    fn node(&self, tensor: Tensor) -> Node {
        match self.graph.leaf(tensor) {
            Some(Leaf::Gradient(of)) => Node::Gradient(Tensor(of)),
            _ => Node::Value(tensor),
        }
    }

    /// The number that a tensor stands for, if it is the same everywhere and always.
    fn number(&self, tensor: Tensor) -> Option<f64> {
        match self.graph.leaf(tensor)? {
            Leaf::Number(value) | Leaf::Constant(value) => Some(value),
            Leaf::Size(at) => self.layout.sizes.get(at as usize).copied(),
            _ => None,
        }
    }

    /// Computes a tensor and everything it needs, unless it is there.
    fn value(&mut self, tensor: Tensor) -> Result<(), Error> {
        let mut missing = Vec::new();
        let mut stack = vec![tensor];
        while let Some(tensor) = stack.pop() {
            if self.computed.insert(tensor) {
                missing.push(tensor);
                if !self.graph.is_leaf(tensor) {
                    stack.extend_from_slice(self.graph.operands_of(tensor));
                }
            }
        }
        missing.sort_unstable();
        let mut last = None;
        for tensor in missing {
            if let Some(leaf) = self.graph.leaf(tensor) {
                self.leaf(tensor, leaf)?;
                continue;
            }
            let step = self.graph.tensors[tensor.index()].step;
            // A step with several results makes them all at once.
            if last.replace(step) != Some(step) {
                self.computed.extend(self.graph.results_of(step));
                self.forward(step)?;
            }
        }
        Ok(())
    }

    /// Makes the leaves that are computed, and asks for those that are not.
    fn leaf(&mut self, tensor: Tensor, leaf: Leaf) -> Result<(), Error> {
        match leaf {
            Leaf::Data | Leaf::Param | Leaf::State | Leaf::Gradient(_) => {
                let node = self.node(tensor);
                if !self.written.contains(&node) && !self.needs.contains(&node) {
                    self.buffer(node);
                    self.needs.push(node);
                }
            }
            Leaf::Range => self.positions(tensor, |_, at| Scalar::Position(at)),
            Leaf::Uniform => {
                let key = self.symbol(Symbol::Key, "key");
                let stream = crate::random::key_of(0, &self.graph.short_name(tensor));
                self.positions(tensor, |_, at| Scalar::Uniform { key, stream, at });
            }
            Leaf::Number(_) | Leaf::Constant(_) | Leaf::Size(_) => {}
        }
        Ok(())
    }

    /// Sets each element of a tensor to a function of its position in memory.
    fn positions(&mut self, tensor: Tensor, value: impl Fn(&mut Program, Component) -> Scalar) {
        let buffer = self.buffer(Node::Value(tensor));
        let sizes = self.program.buffer(buffer).sizes.clone();
        let loops: Vec<(u32, u64)> = sizes.iter().map(|size| (self.program.add_var("i"), *size)).collect();
        let mut stride = 1;
        let mut terms: Vec<(i64, u32)> = Vec::new();
        for (var, size) in loops.iter().rev() {
            terms.push((stride, *var));
            stride *= *size as i64;
        }
        let value = value(&mut self.program, Component::new(0, terms));
        let index = loops.iter().map(|(var, _)| Index::At(Component::iterate(*var))).collect();
        let store = Statement::Store { cell: Cell { buffer, index }, accumulate: None, value };
        let comment = self.graph.short_name(tensor);
        self.program.nests.push(Nest { comment, body: vec![store.within(loops.into_iter())] });
        self.written.insert(Node::Value(tensor));
    }

    /// The place of a number supplied to the run.
    fn symbol(&mut self, symbol: Symbol, name: &str) -> u32 {
        let known = self.symbols.iter().position(|known| *known == symbol);
        known.unwrap_or_else(|| {
            self.symbols.push(symbol);
            self.program.symbols.push(name.to_string());
            self.symbols.len() - 1
        }) as u32
    }

    fn assign_step(&mut self, step: u32) -> Result<(), Error> {
        for tensor in self.graph.step_operands(step) {
            self.value(*tensor)?;
        }
        self.computed.extend(self.graph.results_of(step));
        self.forward(step)
    }
}

impl Graph {
    /// Whether no operation makes a tensor.
    pub(crate) fn is_leaf(&self, tensor: Tensor) -> bool {
        self.leaf(tensor).is_some()
    }

    /// The tensors that a step makes or assigns to.
    pub(crate) fn results_of(&self, step: u32) -> impl Iterator<Item = Tensor> + use<> {
        let (first, count) = match self.steps.get(step as usize) {
            Some(Step::Op { result, results, .. }) => (*result, u32::from(*results)),
            _ => (0, 0),
        };
        (first..first + count).map(Tensor)
    }

    /// The name of a tensor, or one made from its place.
    pub(crate) fn short_name(&self, tensor: Tensor) -> String {
        self.name_of(tensor).map_or_else(|| format!("t{}", tensor.index()), str::to_string)
    }

    /// The number of positions of a run-time slice, and the name for its index.
    fn slice_symbol(&self, step: u32, layout: &Layout) -> Option<(Symbol, String)> {
        let Some(Step::Op { op: crate::step::Op::Slice(Position::Run { .. }), .. }) = self.steps.get(step as usize)
        else {
            return None;
        };
        let operand = *self.step_operands(step).first()?;
        let size = layout.sizes_of(operand).first().copied().unwrap_or(0);
        Some((Symbol::Position(step, size), format!("index of {}", self.short_name(operand))))
    }
}
