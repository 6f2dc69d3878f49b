//! Lowering of a routine to a program of loops: assignments with their projections become nests.
//!
//! Each step is computed by its law (its operation, or the assignment that made it). Gradients run
//! through the steps backwards and use the same projections, addressed by slot; nothing is inferred
//! here.

mod assign;
mod backward;
mod distribute;
mod law;
mod layout;
mod matrices;
mod mlir;
mod own_tensors;
mod scan;
mod scan_steps;
mod segments;
mod shown;

use std::cell::RefCell;
use std::sync::Arc;

use broadloom_array::random::key_of;
use broadloom_graph::lowering::{Face, Leaf, Op};
use broadloom_graph::{Error, Graph, SliceIndex as Position, StepId, Tensor};
use broadloom_loops::{
    Binary, Buffer, BufferId, Cell, Dtype, Index, LoopSum, LoopVar, Nest, Program, Scalar, Size, Statement,
    Storage, Unary,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::routine::{Action, Routine};

pub use backward::{computed_from, reached_data, reached_gradients, trainable};
pub(crate) use distribute::Held;
pub(crate) use layout::{Arguments, Layout};
pub use mlir::nest_linalg;
pub(crate) use mlir::{module, stablehlo};
pub(crate) use own_tensors::{own_like, own_name};
pub(crate) use segments::Noted;
pub(crate) use shown::written_node;
pub use shown::{show_assignments, show_backward};

/// The contents of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Content {
    /// The value of a tensor.
    Value(Tensor),
    /// The gradient of a tensor.
    Gradient(Tensor),
    /// A tensor that a step keeps for itself: the step, its place among the slots, and true if it
    /// belongs to the gradient.
    Own(StepId, u32, bool),
    /// The row of matrices on which a step computes a function of them; true if it is that of its gradients.
    Work(StepId, bool),
    /// The old value of a tensor that a step reads while it assigns to it.
    Before(Tensor, StepId),
    /// The sums of a tensor whose own numbers are too narrow to add up in.
    Wide(Tensor),
    /// The values of a tensor of a scan that are noted for gradients.
    Notes(Tensor, Noted),
    /// The contents of a tensor of a scan in each turn, from which something is computed of all turns at once.
    OfTurns(Tensor, Held, Noted),
    /// For each element of a tensor, 1 if it is infinite or NaN, else 0.
    NotFinite(Tensor),
}

impl Content {
    /// The tensor whose value or gradient it is; None for what a step keeps for itself, which no run leaves for the next.
    pub fn tensor(self) -> Option<Tensor> {
        match self {
            Content::Value(tensor) | Content::Gradient(tensor) => Some(tensor),
            Content::Own(..)
            | Content::Work(..)
            | Content::Before(..)
            | Content::Wide(_)
            | Content::Notes(..)
            | Content::OfTurns(..)
            | Content::NotFinite(_) => None,
        }
    }

    /// The tensor whose shape it has.
    pub fn like(self, graph: &Graph) -> Tensor {
        match self {
            Content::Value(tensor)
            | Content::Gradient(tensor)
            | Content::Before(tensor, _)
            | Content::Wide(tensor)
            | Content::Notes(tensor, _)
            | Content::OfTurns(tensor, ..)
            | Content::NotFinite(tensor) => tensor,
            Content::Work(step, _) => graph.first_result(step),
            Content::Own(step, slot, backward) => own_like(graph, step, slot, backward),
        }
    }

    /// The step that it belongs to.
    pub fn step(self, graph: &Graph) -> StepId {
        match self {
            Content::Own(step, ..) | Content::Work(step, _) => step,
            Content::Value(tensor)
            | Content::Gradient(tensor)
            | Content::Before(tensor, _)
            | Content::Wide(tensor)
            | Content::Notes(tensor, _)
            | Content::OfTurns(tensor, ..)
            | Content::NotFinite(tensor) => graph.made_by(tensor),
        }
    }
}

/// The meaning of a number that is supplied to a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Symbol {
    /// The position at which the slice made by a step reads, and the number of positions.
    Position(StepId, u64),
    /// The turn of the scan over a tensor, which the program counts itself.
    Turn(Tensor),
    /// The segment of turns of the scan that carries a tensor before others; the program counts it too.
    Segment(Tensor),
    /// The turn within its segment.
    Place(Tensor),
    /// The key of random numbers.
    Key,
    /// A captured size that depends on named sizes, by its place.
    Size(u32),
}

/// A routine as a program.
pub(crate) struct Lowered {
    pub program: Program,
    /// The node that each buffer holds.
    pub nodes: Vec<Content>,
    pub symbols: Vec<Symbol>,
    /// Kept nodes that the program reads before it writes them.
    pub needs: Vec<Content>,
    /// Kept nodes that it writes.
    pub gives: Vec<Content>,
    /// Nodes that are kept only for inspection after the run.
    pub watched: FxHashSet<Content>,
    /// The step that each nest belongs to.
    pub steps: Vec<StepId>,
}

/// Choices of lowering.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct LowerOptions {
    /// True if every intermediate tensor is kept, for guards that look at each.
    pub keep_all: bool,
    /// True if the turns of a scan are not divided into segments: then its gradients note every turn.
    pub flat: bool,
    /// True if what turns need not compute one after another is computed for all of them at once.
    pub distribute: bool,
}

/// Lowers a routine.
pub(crate) fn lower(
    graph: &Graph,
    layout: &Layout,
    routine: &Routine,
    options: LowerOptions,
) -> Result<Lowered, Error> {
    lower_each(graph, layout, routine, options).map_err(|(_, error)| error)
}

/// Lowers a routine; an error comes with the place of its action in the routine.
pub(crate) fn lower_each(
    graph: &Graph,
    layout: &Layout,
    routine: &Routine,
    options: LowerOptions,
) -> Result<Lowered, (usize, Error)> {
    let mut lowering = Lowering::new(graph, layout, routine, options);
    for (at, action) in routine.actions.iter().enumerate() {
        let lowered = match *action {
            Action::Forward(tensor) => lowering.value(tensor),
            Action::Backward(loss) => lowering.backward(loss),
            Action::Assign(step) => lowering.assign_step(step),
            Action::Finite(tensor) => lowering.check_finite(tensor),
        };
        lowered.map_err(|error| (at, error))?;
    }
    Ok(lowering.finish())
}

struct Lowering<'a> {
    graph: &'a Graph,
    layout: &'a Layout,
    routine: &'a Routine,
    options: LowerOptions,
    program: Program,
    nodes: Vec<Content>,
    buffers: FxHashMap<Content, BufferId>,
    symbols: Vec<Symbol>,
    /// Tensors whose values have been computed.
    computed: FxHashSet<Tensor>,
    /// Nodes that have been written.
    written: FxHashSet<Content>,
    /// Nodes whose margins have been written to by windows that reach beyond the ends.
    spilled: FxHashSet<Content>,
    /// Tensors that were assigned to since their dependents were last invalidated.
    changed: FxHashSet<Tensor>,
    /// Nodes that are kept only for inspection after the run.
    watched: FxHashSet<Content>,
    needs: Vec<Content>,
    /// The step that each nest belongs to.
    steps: Vec<StepId>,
    /// The texts of steps in comments, by the step and the place of its result.
    subjects: RefCell<FxHashMap<(StepId, usize), Arc<str>>>,
}

impl<'a> Lowering<'a> {
    /// A lowering that has computed nothing yet.
    fn new(
        graph: &'a Graph,
        layout: &'a Layout,
        routine: &'a Routine,
        options: LowerOptions,
    ) -> Lowering<'a> {
        Lowering {
            graph,
            layout,
            routine,
            options,
            program: Program::default(),
            nodes: Vec::new(),
            buffers: FxHashMap::default(),
            symbols: Vec::new(),
            computed: FxHashSet::default(),
            written: FxHashSet::default(),
            spilled: FxHashSet::default(),
            changed: FxHashSet::default(),
            watched: FxHashSet::default(),
            needs: Vec::new(),
            steps: Vec::new(),
            subjects: RefCell::default(),
        }
    }
}

impl Lowering<'_> {
    /// Assigns the nests that were added since the last call to a step.
    fn belong_to(&mut self, step: StepId) {
        self.steps.resize(self.program.nests.len(), step);
    }

    fn finish(self) -> Lowered {
        let (graph, layout, distributes) = (self.graph, self.layout, self.distributes());
        let lowered = self.into_written();
        if distributes { lowered.distributed(graph, layout) } else { lowered }
    }

    /// Returns true if work of all turns is done at once. A guard looks at each tensor in each turn.
    fn distributes(&self) -> bool {
        self.options.distribute && !self.options.keep_all
    }

    /// The routine with the nests in the order in which they were derived.
    fn into_written(self) -> Lowered {
        let Lowering { mut program, nodes, symbols, needs, written, watched, steps, .. } = self;
        program.derived = self.layout.derived(self.graph).to_vec();
        let kept = |(node, buffer): &(&Content, &Buffer)| {
            buffer.storage == Storage::Kept && written.contains(node) && !watched.contains(node)
        };
        let gives = nodes.iter().zip(&program.buffers).filter(kept).map(|(node, _)| *node).collect();
        Lowered { program, nodes, symbols, needs, gives, watched, steps }
    }

    /// The buffer of a node.
    fn buffer(&mut self, node: Content) -> BufferId {
        if let Some(known) = self.buffers.get(&node) {
            return *known;
        }
        let mut buffer = self.layout.buffer(self.graph, node);
        if self.is_kept(node) {
            buffer.storage = Storage::Kept;
        } else if self.options.keep_all {
            buffer.storage = Storage::Kept;
            self.watched.insert(node);
        }
        let id = self.program.add_buffer(buffer);
        self.nodes.push(node);
        self.buffers.insert(node, id);
        id
    }

    /// Returns true if a node outlives the run.
    fn is_kept(&self, node: Content) -> bool {
        let Some(tensor) = node.tensor() else { return false };
        if node == Content::Gradient(tensor) {
            let asked = self.graph.gradients().get(&tensor).copied();
            return asked.is_some_and(|gradient| self.routine.kept.contains(&gradient));
        }
        let lasting = matches!(self.graph.leaf(tensor), Some(Leaf::Data | Leaf::Param | Leaf::State));
        lasting || self.routine.kept.contains(&tensor)
    }

    /// Reads a node that the routine has not written: its numbers come from before the run.
    fn need(&mut self, node: Content) {
        if !self.written.contains(&node) && !self.needs.contains(&node) {
            let buffer = self.buffer(node);
            self.program.buffers[buffer.index()].storage = Storage::Kept;
            self.watched.remove(&node);
            self.needs.push(node);
        }
    }

    /// The node that a tensor stands for.
    fn node(&self, tensor: Tensor) -> Content {
        match self.graph.leaf(tensor) {
            Some(Leaf::Gradient(of)) => Content::Gradient(of),
            _ => Content::Value(tensor),
        }
    }

    /// The number that a tensor stands for, if it is the same everywhere. A size that depends on
    /// named sizes is supplied to the run, so that one program works for all sizes.
    fn number(&mut self, tensor: Tensor) -> Option<Scalar> {
        match self.layout.symbolic_size(self.graph, tensor) {
            Some((at, text)) => Some(Scalar::Symbol(self.symbol(Symbol::Size(at), text))),
            None => self.layout.number(self.graph, tensor).map(Scalar::Number),
        }
    }

    fn is_number(&self, tensor: Tensor) -> bool {
        self.layout.is_number(self.graph, tensor)
    }

    /// Computes a tensor and everything it needs, unless it is already computed.
    fn value(&mut self, tensor: Tensor) -> Result<(), Error> {
        if self.graph.leaf(tensor).is_none() {
            self.forget_what_changed();
        }
        let mut missing = Vec::new();
        let mut stack = vec![tensor];
        while let Some(tensor) = stack.pop() {
            if scan_steps::is_inside(self.graph, tensor) {
                return Err(scan_steps::inside_only(self.graph, tensor));
            }
            if self.computed.insert(tensor) {
                missing.push(tensor);
                if !self.is_assigned(tensor) {
                    stack.extend_from_slice(self.graph.read_by(tensor));
                }
            }
        }
        missing.sort_unstable();
        let mut last = None;
        for tensor in missing {
            let step = self.graph.made_by(tensor);
            if let Some(leaf) = self.graph.leaf(tensor) {
                self.leaf(tensor, leaf);
                self.belong_to(step);
                continue;
            }
            if self.is_assigned(tensor) {
                self.need(Content::Value(tensor));
                continue;
            }
            if let Some(scan) = self.graph.scan_within(step, None) {
                if !last.is_some_and(|last| {
                    self.graph.scan_within(last, None).is_some_and(|known| Arc::ptr_eq(known, scan))
                }) {
                    let scan = Arc::clone(scan);
                    self.computed.extend(scan.results(self.graph));
                    self.scan(&scan)?;
                }
                last = Some(step);
                continue;
            }
            // A step with several results makes them all at once.
            if last.replace(step) != Some(step) {
                self.computed.extend(self.graph.step_results(step));
                self.forward(step)?;
            }
        }
        Ok(())
    }

    /// Returns true if a tensor was made by an assignment, which happens at its place only: the tensor is not computed when it is read.
    fn is_assigned(&self, tensor: Tensor) -> bool {
        self.graph.assignment_text(self.graph.made_by(tensor)).is_some()
    }

    /// Computes leaves that have a formula, and marks the others as needed.
    fn leaf(&mut self, tensor: Tensor, leaf: Leaf) {
        match leaf {
            Leaf::Data | Leaf::Param | Leaf::State | Leaf::Gradient(_) => {
                self.need(self.node(tensor));
            }
            Leaf::Range => self.positions(tensor, Scalar::Position),
            Leaf::Uniform => {
                let key = self.symbol(Symbol::Key, "key");
                let stream = key_of(0, &self.graph.short_name(tensor));
                self.positions(tensor, |at| Scalar::Uniform { key, stream, at });
            }
            Leaf::Normal => {
                let key = self.symbol(Symbol::Key, "key");
                let name = self.graph.short_name(tensor);
                // Another stream has the angles.
                let streams = [key_of(0, &name), key_of(1, &name)];
                self.positions(tensor, |at| normal(key, streams, at));
            }
            // A scan gives it its values.
            Leaf::Carried => {}
            Leaf::Number(_) | Leaf::Constant(_) | Leaf::Size(_) => {}
        }
    }

    /// Sets each element of a tensor to a function of its position in memory.
    fn positions(&mut self, tensor: Tensor, value: impl Fn(LoopSum) -> Scalar) {
        self.each_cell(Content::Value(tensor), self.graph.short_name(tensor), |_, at| value(at));
    }

    /// Sets each element of a node to a function of its index, and of its position in memory.
    fn each_cell(&mut self, node: Content, comment: String, value: impl Fn(&[Index], LoopSum) -> Scalar) {
        let buffer = self.buffer(node);
        let sizes = self.program.buffer(buffer).sizes.clone();
        let loops: Vec<(LoopVar, Size)> =
            sizes.iter().map(|size| (self.program.add_var("i"), *size)).collect();
        let mut stride = Size::ONE;
        let mut terms: Vec<(Size, LoopVar)> = Vec::new();
        for (var, size) in loops.iter().rev() {
            terms.push((stride, *var));
            stride = stride * *size;
        }
        let index: Vec<Index> = loops.iter().map(|(var, _)| Index::At(LoopSum::iterate(*var))).collect();
        let value = value(&index, LoopSum::new(0, terms));
        let store = Statement::Store { cell: Cell { buffer, index }, accumulate: None, value };
        self.program.nests.push(Nest { comment, body: vec![store.within(loops.into_iter())] });
        self.written.insert(node);
    }

    /// Copies one node to another of the same sizes.
    fn copy(&mut self, from: Content, to: Content, comment: String) {
        let buffer = self.buffer(from);
        self.each_cell(to, comment, |index, _| Scalar::Load(Cell { buffer, index: index.to_vec() }));
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

    fn assign_step(&mut self, step: StepId) -> Result<(), Error> {
        for tensor in self.graph.step_operands(step) {
            self.value(*tensor)?;
        }
        for result in self.graph.step_results(step) {
            // A computed tensor that is assigned to gets its own value first.
            if self.graph.leaf(result).is_none() && self.graph.made_by(result) != step {
                self.value(result)?;
            }
            self.changed.insert(result);
        }
        self.computed.extend(self.graph.step_results(step));
        self.forward(step)
    }

    /// Invalidates the tensors that were computed from a tensor before it was assigned to.
    fn forget_what_changed(&mut self) {
        if self.changed.is_empty() {
            return;
        }
        let mut changed = std::mem::take(&mut self.changed);
        for step in self.graph.step_ids() {
            let depends = self.graph.step_operands(step).iter().any(|operand| changed.contains(operand));
            if let Some(scan) = self.graph.scan_within(step, None).filter(|_| depends) {
                for result in scan.results(self.graph) {
                    self.computed.remove(&result);
                    changed.insert(result);
                }
                continue;
            }
            for result in self.graph.step_results(step) {
                let made_here = self.graph.made_by(result) == step;
                if depends && made_here && !self.is_assigned(result) && !changed.contains(&result) {
                    self.computed.remove(&result);
                    changed.insert(result);
                }
            }
        }
    }
}

/// A normal number by Box and Muller's transformation of two uniform numbers: `√(−2 ln(1 − u)) · cos(2π v)`.
fn normal(key: u32, [first, second]: [u64; 2], at: LoopSum) -> Scalar {
    let number = |value: f64| Scalar::Number(value);
    let of = |function, a, b| Scalar::binary(function, a, b);
    // 1 − u is never 0.
    let left = of(Binary::Sub, number(1.0), Scalar::Uniform { key, stream: first, at: at.clone() });
    let radius = of(Binary::Mul, number(-2.0), Scalar::unary(Unary::Log, left));
    let angle = of(Binary::Mul, number(std::f64::consts::TAU), Scalar::Uniform { key, stream: second, at });
    of(Binary::Mul, Scalar::unary(Unary::Sqrt, radius), Scalar::unary(Unary::Cos, angle))
}

/// The number that cells of a type hold before values are accumulated into them. The least number of `bool` is false, whereas the least
/// number of floats is true.
fn start_in(dtype: Dtype, neutral: f64) -> f64 {
    if dtype == Dtype::Bool && neutral == f64::NEG_INFINITY { 0.0 } else { neutral }
}

/// Returns true if a tensor is a slice whose position is given when the program runs.
pub(crate) fn is_run_time_slice(graph: &Graph, tensor: Tensor) -> bool {
    graph.known(tensor).is_ok()
        && matches!(graph.op(graph.made_by(tensor)), Some((Op::Slice(Position::Run { .. }), _)))
}

/// The symbol of a run-time slice, with its number of positions, or of a turn, and the name of its index.
fn slice_symbol(graph: &Graph, step: StepId, layout: &Layout) -> Option<(Symbol, String)> {
    if let Some((Op::Slice(Position::Turn) | Op::Collect, _)) = graph.op(step) {
        let scan = graph.scan_of(step)?;
        return Some((Symbol::Turn(scan.counter), format!("position of {}", graph.short_name(scan.over))));
    }
    let Some((Op::Slice(Position::Run { .. }), _)) = graph.op(step) else { return None };
    let operand = *graph.step_operands(step).first()?;
    let size = layout.sizes_of(operand).first().copied().unwrap_or(0);
    Some((Symbol::Position(step, size), format!("index of {}", graph.short_name(operand))))
}
