//! Scans: recurrences over an axis.
//!
//! A scan goes through the positions of the leading batch axis of some tensors, one after another. Its body computes one turn,
//! from the elements at that position and from what the turn before carried over. It is a part of the graph like any other: every
//! operation of it is inferred once, whatever the number of turns.
//!
//! | part of a scan | relation |
//! |---|---|
//! | carried `h`, its first value `a` and its next value `n` | `h ⊑ a` and `h ≈ n`, in each kind |
//! | element `e` of a tensor `x` that is gone through | `x_b ≈ [t]·e_b`; the other rows are those of `x` |
//! | values `Y` of all turns of `y` | `Y_b` is `[t]·y_b`; the other rows are those of `y` |
//! | last value of `n` | the rows of `n` |
//!
//! `t` is one size for all tensors of a scan. So what is carried is at least as large as its first value, and as large as what a
//! turn makes of it: the least such shape.

use std::num::NonZeroU64;
use std::sync::{Arc, LazyLock};

use broadloom_core::{DimTerm, Role};
use broadloom_diagnostics::Help;
use broadloom_spec::Kind;
use rustc_hash::FxHashSet;

use crate::error::{Error, ErrorKind};
use crate::facts::{Carried, OpenTurns, Scan};
use crate::operation::Operation;
use crate::operation::id::OperationId;
use crate::spec_options::SliceIndex;
use crate::step::{Aspect, Leaf, Op, RowRef, Step, StepId, Tensor, place};
use crate::{Graph, names};

impl Scan {
    /// The tensors that others can read: values of all turns, and last values.
    pub fn results<'g>(&'g self, graph: &'g Graph) -> impl Iterator<Item = Tensor> + 'g {
        self.collected.iter().chain(&self.last).flat_map(|step| names::step_results(graph, *step))
    }
}

/// A scan whose body is being made.
pub struct OpenScan {
    /// The tensors that are carried, as a turn reads them.
    pub carried: Vec<Tensor>,
    /// The elements of one turn, for each tensor that is gone through.
    pub elements: Vec<Tensor>,
    firsts: Vec<StepId>,
    over: Tensor,
    turns: DimTerm,
    /// The first step that belongs to the scan.
    start: StepId,
    checkpoint_every: Option<u64>,
}

impl OpenScan {
    /// Sets the number of turns after which gradients note again what is carried. What the turns between two notes were given is computed
    /// again from the first of them. With 1 every turn is noted, which takes the most memory. By default it is the
    /// square root of the number of turns, which takes the least memory; scans of few turns are then noted in every turn. Gradients are the
    /// same whatever it is.
    pub fn checkpoint_every(&mut self, turns: NonZeroU64) {
        self.checkpoint_every = Some(turns.get());
    }
}

/// The results of a scan.
pub struct Scanned {
    /// The values of all turns along a new leading batch axis, for each tensor that was asked for.
    pub collected: Vec<Tensor>,
    /// The value of the last turn, for each tensor that is carried.
    pub last: Vec<Tensor>,
}

impl Graph {
    /// Begins a scan over the leading batch axis of some tensors, with the first values of what is carried; each has a name for
    /// messages. What is then made with its [elements](OpenScan::elements) and [carried](OpenScan::carried) tensors is its body,
    /// until [`end_scan`](Graph::end_scan).
    pub fn begin_scan(&mut self, firsts: &[(&str, Tensor)], over: &[Tensor]) -> Result<OpenScan, Error> {
        let &[leading, ..] = over else {
            return Err(self.misuse("a scan needs a tensor to go through"));
        };
        let start = self.next_step();
        let turns = self.solver.dim_var(Role::Interior).into();
        let elements = over.iter().map(|tensor| element(self, *tensor, turns)).collect::<Result<_, _>>()?;
        let mut scan = OpenScan {
            carried: Vec::new(),
            elements,
            firsts: Vec::new(),
            over: leading,
            turns,
            start,
            checkpoint_every: None,
        };
        for (name, first) in firsts {
            let carried = self.undeclared(Some(name), Leaf::Carried, [Some(Role::Interior); 3]);
            self.broadcasting_into(Op::Pointwise(OperationId::Carry), &[*first], Some(carried))?;
            scan.firsts.push(passes(self));
            scan.carried.push(carried);
        }
        self.facts.scans.open.push(OpenTurns { turns, start });
        Ok(scan)
    }

    /// The element of a tensor at the position of a turn, if the body of a scan is being made; otherwise the tensor itself. So a body draws
    /// random numbers anew in every turn: those of all turns are drawn at once, along a leading batch axis, and gone through.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (x, zero) = (g.data("x", "100 | 3")?, g.number(0.0));
    /// let scan = g.begin_scan(&[("walk", zero)], &[x])?;
    /// let drawn = g.normal("noise");
    /// let noise = g.in_turn(drawn)?;
    /// let step = g.mul(scan.elements[0], noise)?;
    /// let walk = g.add(scan.carried[0], step)?;
    /// g.end_scan(scan, &[walk], &[walk])?;
    /// assert_eq!(g.final_shape(drawn)?.to_string(), "100 | 3");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn in_turn(&mut self, tensor: Tensor) -> Result<Tensor, Error> {
        match self.facts.scans.open[..] {
            [] => Ok(tensor),
            [open] => element(self, tensor, open.turns),
            _ => Err(self
                .misuse("random numbers cannot be drawn in a scan inside of a scan")
                .with_help("draw them before both scans, for all positions, and go through them too")),
        }
    }

    /// The number of scans whose bodies are being made, each inside of the one before.
    pub fn depth_of_turns(&self) -> usize {
        self.facts.scans.open.len()
    }

    /// Returns true while the body of a scan is being made.
    pub fn is_in_turn(&self) -> bool {
        !self.facts.scans.open.is_empty()
    }

    /// Returns true if a tensor is computed anew in every turn of a scan, so that it has no value outside.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (x, zero) = (g.data("x", "100 | 3")?, g.number(0.0));
    /// let scan = g.begin_scan(&[("sum", zero)], &[x])?;
    /// let sum = g.add(scan.carried[0], scan.elements[0])?;
    /// let sums = g.end_scan(scan, &[sum], &[sum])?;
    /// assert!(g.is_of_turn(sum) && !g.is_of_turn(sums.last[0]) && !g.is_of_turn(x));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn is_of_turn(&self, tensor: Tensor) -> bool {
        let Some(made) = self.tensors.get(tensor.index()) else { return false };
        let outermost = self.facts.scans.within(made.step, None);
        outermost.is_some_and(|scan| scan.body.binary_search(&made.step).is_ok())
    }

    /// Leaves a scan whose body has a mistake.
    pub fn give_up_scan(&mut self, _: OpenScan) {
        self.facts.scans.open.pop();
    }

    /// Ends a scan: with the next value of each tensor that is carried, and with the tensors whose values of all turns are
    /// wanted.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (x, zero) = (g.data("x", "100, 8 | 3")?, g.number(0.0));
    /// let scan = g.begin_scan(&[("sum", zero)], &[x])?;
    /// let sum = g.add(scan.carried[0], scan.elements[0])?;
    /// let sums = g.end_scan(scan, &[sum], &[sum])?;
    /// assert_eq!(g.final_shape(sums.collected[0])?.to_string(), "100, 8 | 3");
    /// assert_eq!(g.final_shape(sums.last[0])?.to_string(), "8 | 3");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn end_scan(
        &mut self,
        scan: OpenScan,
        next: &[Tensor],
        results: &[Tensor],
    ) -> Result<Scanned, Error> {
        self.facts.scans.open.pop();
        if next.len() != scan.carried.len() {
            let (given, wanted) = (next.len(), scan.carried.len());
            return Err(
                self.misuse(format!("a turn gives {given} next values, and carries {wanted} tensors"))
            );
        }
        refuse_noise(self, scan.start)?;
        let changing = turn_steps(self, &scan, &[]).1;
        // What no turn changes is passed on in each turn, so that it has a value in each, and a gradient from each.
        let mut passed = Vec::new();
        let mut carried: Vec<Carried> = Vec::new();
        for ((tensor, first), next) in scan.carried.iter().zip(&scan.firsts).zip(next) {
            let is_own = self.leaf(*next).is_none() && changing.contains(next);
            let next = match is_own && carried.iter().all(|known| known.next != *next) {
                true => *next,
                false => pass(self, *next, &mut passed)?,
            };
            equate_next(self, *tensor, next)?;
            carried.push(Carried { tensor: *tensor, first: *first, next });
        }
        let mut of_turns = Vec::new();
        for result in results {
            let is_own = changing.contains(result);
            of_turns.push(if is_own { *result } else { pass(self, *result, &mut passed)? });
        }
        let body = turn_steps(self, &scan, &passed).0;
        let (mut collected, mut last) = (Vec::new(), Vec::new());
        for tensor in of_turns {
            collected.push(collect(self, tensor, scan.turns)?);
        }
        for Carried { next, .. } in &carried {
            last.push(once_more(self, *next)?);
        }
        let made = |tensors: &[Tensor], graph: &Graph| -> Vec<StepId> {
            tensors.iter().map(|tensor| graph.tensors[tensor.index()].step).collect()
        };
        let counter = if self.is_in_turn() { scan.elements.first() } else { None };
        let finished = Scan {
            outer: outer(self, &body, &carried),
            over: scan.over,
            counter: counter.copied().unwrap_or(scan.over),
            collected: made(&collected, self),
            last: made(&last, self),
            carried,
            body,
            checkpoint_every: scan.checkpoint_every,
        };
        let leaves: Vec<StepId> = made(&scan.carried, self);
        self.facts.scans.add(finished, &leaves);
        Ok(Scanned { collected, last })
    }
}

/// The innermost scan that a step belongs to.
pub(crate) fn scan_of(graph: &Graph, step: StepId) -> Option<&Arc<Scan>> {
    graph.facts.scans.all.get(*graph.facts.scans.of_step.get(&step)? as usize)
}

/// The element of a tensor at the position of a turn.
fn element(graph: &mut Graph, a: Tensor, turns: DimTerm) -> Result<Tensor, Error> {
    let before = graph.begin(&[a])?;
    let [batch, input, output] = graph.rows(a);
    let rest = graph.fresh_row(Role::Interior, graph.marker(batch).saturating_sub(1));
    let start = graph.axes.len() as u32;
    graph.axes.push(turns);
    let whole = RowRef { start, lead: 1, trail: 0, hole: Some(rest) };
    graph.equate_rows(whole, batch, 0, Aspect::Row(Kind::Batch));
    graph.finish_op(before, Op::Slice(SliceIndex::Turn), &[a], [RowRef::var(rest), input, output])
}

/// The values of a tensor in all turns.
fn collect(graph: &mut Graph, a: Tensor, turns: DimTerm) -> Result<Tensor, Error> {
    let before = graph.begin(&[a])?;
    let [batch, input, output] = graph.rows(a);
    let (lead, trail) = batch.flanks(&graph.axes);
    let axes: Vec<DimTerm> = [turns].iter().chain(lead).chain(trail).copied().collect();
    let start = graph.axes.len() as u32;
    graph.axes.extend(axes);
    let whole = RowRef { start, lead: batch.lead + 1, ..batch };
    graph.finish_op(before, Op::Collect, &[a], [whole, input, output])
}

/// The same tensor once more, as a tensor of its own.
fn once_more(graph: &mut Graph, a: Tensor) -> Result<Tensor, Error> {
    let passed = graph.pointwise(OperationId::Carry, &[a])?;
    passes(graph);
    Ok(passed)
}

/// The same tensor once more, by a step that is among those of a turn whatever it reads.
fn pass(graph: &mut Graph, a: Tensor, passed: &mut Vec<StepId>) -> Result<Tensor, Error> {
    let tensor = once_more(graph, a)?;
    passed.push(graph.last_step());
    Ok(tensor)
}

/// Makes the last step one that passes its operand on. Returns the step.
fn passes(graph: &mut Graph) -> StepId {
    let step = graph.last_step();
    graph.laws.insert(step, Arc::clone(&PASSED));
    step
}

/// Requires that what is carried has the shape of its next value.
fn equate_next(graph: &mut Graph, carried: Tensor, next: Tensor) -> Result<(), Error> {
    let before = graph.begin(&[next])?;
    let (own, rows) = (graph.rows(carried), graph.rows(next));
    for kind in Kind::ALL {
        graph.equate_rows(own[place(kind)], rows[place(kind)], 0, Aspect::Row(kind));
    }
    let made = graph.finish_into(before, Op::Pointwise(OperationId::Carry), &[next], own, Some(carried));
    made.map_err(|error| {
        error.with_help(Help::rule(
            "what is carried has one shape in all turns: that of what a turn gives back for it",
        ))
    })?;
    passes(graph);
    Ok(())
}

/// The steps of a scan so far that depend on the turn or on what is carried, in order, with those that pass something on, and
/// all those of scans inside of it; and what these steps make, with what is carried.
fn turn_steps(graph: &Graph, scan: &OpenScan, passed: &[StepId]) -> (Vec<StepId>, FxHashSet<Tensor>) {
    let mut changing: FxHashSet<Tensor> = scan.carried.iter().copied().collect();
    let mut steps = Vec::new();
    for step in scan.start.up_to(graph.next_step()) {
        let is_leaf = matches!(graph.steps[step.index()], Step::Leaf { .. });
        let is_of_inner = !is_leaf && graph.facts.scans.of_step.contains_key(&step);
        let is_carried = |result: Tensor| graph.leaf(result) == Some(Leaf::Carried);
        let into_carried = !is_of_inner && names::step_results(graph, step).any(is_carried);
        let is_element =
            matches!(graph.steps[step.index()], Step::Op { op: Op::Slice(SliceIndex::Turn), .. });
        let reads = names::step_operands(graph, step).iter().any(|operand| changing.contains(operand));
        if !into_carried && (is_of_inner || is_element || reads || passed.contains(&step)) {
            steps.push(step);
            changing.extend(names::step_results(graph, step));
        }
    }
    (steps, changing)
}

/// The tensors that the steps of a turn and the first values read, and that no turn makes.
fn outer(graph: &Graph, body: &[StepId], carried: &[Carried]) -> Vec<Tensor> {
    let mut own: FxHashSet<Tensor> = body.iter().flat_map(|step| names::step_results(graph, *step)).collect();
    own.extend(carried.iter().map(|carried| carried.tensor));
    let firsts = carried.iter().map(|carried| carried.first);
    let read = body.iter().copied().chain(firsts).flat_map(|step| names::step_operands(graph, step));
    // A scan inside of it begins with what it carries.
    let is_outer = |tensor: &Tensor| !own.contains(tensor) && graph.leaf(*tensor) != Some(Leaf::Carried);
    let mut outer: Vec<Tensor> = read.copied().filter(is_outer).collect();
    outer.sort_unstable();
    outer.dedup();
    outer
}

/// Refuses random numbers that a body draws without [going through them](Graph::in_turn): every turn would get the same ones.
fn refuse_noise(graph: &Graph, start: StepId) -> Result<(), Error> {
    let steps = start.up_to(graph.next_step());
    let is_noise = |step: StepId| {
        matches!(graph.steps[step.index()], Step::Leaf { leaf: Leaf::Uniform | Leaf::Normal, .. })
    };
    let drawn: FxHashSet<Tensor> = steps
        .clone()
        .filter(|step| is_noise(*step))
        .flat_map(|step| names::step_results(graph, step))
        .collect();
    let is_element =
        |step: &StepId| matches!(graph.steps[step.index()], Step::Op { op: Op::Slice(SliceIndex::Turn), .. });
    let mut read = steps.filter(|step| !is_element(step)).flat_map(|step| names::step_operands(graph, step));
    let Some(tensor) = read.find(|operand| drawn.contains(operand)) else { return Ok(()) };
    Err(Error::new(ErrorKind::Use, "random numbers that are drawn in a scan would be the same in every turn")
        .about_step(graph.tensors[tensor.index()].step)
        .with_help("draw them before the scan, for all positions, and go through them too"))
}

/// The operation that passes a tensor on, from one turn to the next or out of a scan.
static PASSED: LazyLock<Arc<Operation>> = LazyLock::new(|| {
    let operation = Operation::new("scan", 1).forward("v = v1").and_then(|law| law.gradient("g1 =+ g"));
    Arc::new(operation.unwrap_or_else(|_| Operation::new("scan", 1)))
});
