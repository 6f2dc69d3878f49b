//! Projections of a graph's operations: the same rules, read as an equivalence.
//!
//! Sizes are global and settled; identities are local. Every axis of every occurrence of a tensor in the
//! operation gets an axis of its own, the operation's rules ([`sources`], [`contraction`], its spec) are read
//! once more, and what they relate shares a loop. The six rules of Def. 7.2 (Formal Core) are here:
//!
//! | rule | where |
//! |---|---|
//! | P1, equal dimensions share a loop | [`Equations::equal`] |
//! | P2, P3, a dimension below another: severed at size one, else shared | [`Equations::refine`] |
//! | P4, equal rows: axis by axis | [`Reading::spec_row`], [`Reading::slice`] |
//! | P5, a row below another: aligned at both outer edges, the surplus is visited | [`refine_rows`] |
//! | P6, every axis that exists is visited | [`Reading::occurrence`] |
//!
//! [`refusal`] has the operations without a nest, and the messages for them.

mod alike;
mod refusal;

use std::sync::Arc;

use broadloom_core::Size;
use broadloom_core::projection::{
    AxisId, Component, ConcatPart, Equations, Pin, Projection, Verdict, is_injective, is_surjective,
};
use broadloom_spec::{self as spec, AxisKind, ComponentKind, Kind};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use self::alike::{Alike, NestKey};
use crate::error::Error;
use crate::notation::KnownSpec;
use crate::shape::Shapes;
use crate::spec_options::{Accumulate, SliceIndex};
use crate::spec_window::{row_index, window_form};
use crate::step::{Beginning, Choice, Op, Step, StepId, Tensor, contraction, place, sources};
use crate::{Graph, final_shapes, names, spec_composed};

/// Memory order: batch, output, input.
pub const MEMORY: [Kind; 3] = [Kind::Batch, Kind::Output, Kind::Input];

/// The loop nest of one operation: its product space, and where each point reads and writes.
///
/// ```
/// let mut g = broadloom::Graph::new();
/// let (a, b) = (g.data("a", "3 -> 2")?, g.data("b", "4 -> 3")?);
/// let c = g.compose(a, b)?;
/// let nest = g.projection(c)?;
/// // Two output rows, four inputs, and the contraction of three.
/// assert_eq!(nest.projection.extents(), [2, 4, 3]);
/// assert_eq!(nest.projection.missing(0), [2]);
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Projected {
    /// Results, then operands; a tensor that occurs twice is listed twice.
    pub tensors: Vec<Tensor>,
    /// The number of results among them.
    pub results: usize,
    /// The sizes of each, in memory order (batch, output, input). Shared with the nests that are alike.
    pub sizes: Arc<Vec<Vec<Size>>>,
    /// Loops and index maps; maps are in the order of `tensors`, their axes in memory order. Shared with the
    /// nests that are alike.
    pub projection: Arc<Projection>,
    /// The operation that combines values that meet in one cell of a result.
    pub accumulate: Accumulate,
    /// For each loop the label of the spec that it drives, if there is one.
    pub(crate) labels: SmallVec<[Option<u32>; 6]>,
    /// The step it belongs to.
    pub(crate) step: StepId,
}

/// The space that a tensor's buffer has around its axes, for windows that reach beyond them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Margins {
    /// Before and after each axis, in memory order; empty if nothing reads the tensor.
    pub axes: Vec<(u64, u64)>,
    /// The contents of the margins.
    pub fill: Fill,
}

/// The contents of the margins of a tensor.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Fill {
    /// The tensor has no margins.
    #[default]
    Nothing,
    /// One value, the neutral element of every reader.
    Value(f64),
    /// Readers disagree: each sets the margins before it reads.
    ByReader,
}

impl Margins {
    /// The margins of so many tensors, over the nests that read them.
    pub fn over<'a>(tensors: usize, nests: impl Iterator<Item = &'a Projected>) -> Vec<Margins> {
        let mut all = vec![Margins::default(); tensors];
        for nest in nests {
            for (at, tensor) in nest.tensors.iter().enumerate() {
                all[tensor.index()].widen(&nest.margins(at), nest.accumulate);
            }
        }
        all
    }

    /// Widens the margins for another reader.
    fn widen(&mut self, reach: &[(u64, u64)], accumulate: Accumulate) {
        self.axes.resize(reach.len(), (0, 0));
        for (margin, (left, right)) in self.axes.iter_mut().zip(reach) {
            *margin = (margin.0.max(*left), margin.1.max(*right));
        }
        if reach.iter().any(|reach| *reach != (0, 0)) {
            let wanted = Fill::Value(accumulate.neutral());
            self.fill =
                if self.fill == Fill::Nothing || self.fill == wanted { wanted } else { Fill::ByReader };
        }
    }
}

impl Projected {
    /// Decides whether each cell of a result is written at most once, so that a plain write is
    /// enough.
    pub fn is_injective(&self, result: usize) -> Verdict {
        if self.repeats(result) {
            return Verdict::No;
        }
        self.each_phase(result, is_injective)
    }

    /// Decides whether every cell of a result is written.
    pub fn is_surjective(&self, result: usize) -> Verdict {
        let phases = self.projection.phases_of(result);
        if let [phase] = phases.as_slice() {
            let Some(map) = self.map_in(result, phase) else { return Verdict::Unsettled };
            return is_surjective(&map, &self.extents_in(phase), &self.sizes[result]);
        }
        // The phases write different cells, so their points add up if none is written twice or outside.
        let outside = self.margins(result).iter().any(|margin| *margin != (0, 0));
        if outside || self.is_injective(result) != Verdict::Yes {
            return Verdict::Unsettled;
        }
        let points = |phase: &Vec<u32>| self.extents_in(phase).into_iter().product::<Size>();
        let cells: Size = self.sizes[result].iter().copied().product();
        if phases.iter().map(points).sum::<Size>() == cells { Verdict::Yes } else { Verdict::No }
    }

    /// Returns true if a result that starts afresh must be set to the neutral element first:
    /// always, unless every cell is certainly written exactly once.
    pub fn needs_initialisation(&self, result: usize) -> bool {
        !(self.is_injective(result).holds() && self.is_surjective(result).holds())
    }

    /// Returns true if a result that starts afresh can be written without being read, because no
    /// cell is written twice.
    pub fn writes_plainly(&self, result: usize) -> bool {
        self.is_injective(result).holds()
    }

    /// The loops that are reductions: those that no result's map mentions.
    pub fn reductions(&self) -> Vec<u32> {
        let mut used = vec![false; self.projection.loops.len()];
        for result in 0..self.results {
            self.projection.each_mentioned(result, |index| used[index as usize] = true);
        }
        (0..).zip(used).filter(|(_, used)| !used).map(|(index, _)| index).collect()
    }

    /// Returns true if several phases write the same cells of a result.
    fn repeats(&self, result: usize) -> bool {
        if !self.projection.is_coupled() {
            return false;
        }
        let factors = self.projection.factors();
        let mut coupled = factors.iter().enumerate().filter(|(_, loops)| loops.len() > 1);
        coupled.any(|(factor, _)| !self.projection.depends_on(result, factor as u32))
    }

    /// The extents of the loops that run in a phase: one for each factor.
    fn extents_in(&self, phase: &[u32]) -> Vec<Size> {
        phase.iter().map(|index| self.projection.loops[*index as usize].extent).collect()
    }

    /// The map of a tensor in a phase in which it takes part, with factors in the place of the loops that run.
    fn map_in(&self, tensor: usize, phase: &[u32]) -> Option<Vec<Component>> {
        let mut map = self.projection.in_phase(tensor, phase)?;
        for (_, index) in map.iter_mut().flat_map(|sum| &mut sum.terms) {
            *index = self.projection.loops[*index as usize].factor;
        }
        Some(map)
    }

    /// Decides whether a property holds of a tensor's map in every phase.
    fn each_phase(&self, tensor: usize, judge: impl Fn(&[Component], &[Size]) -> Verdict) -> Verdict {
        for phase in self.projection.phases_of(tensor) {
            let Some(map) = self.map_in(tensor, &phase) else { return Verdict::Unsettled };
            match judge(&map, &self.extents_in(&phase)) {
                Verdict::Yes => {}
                other => return other,
            }
        }
        Verdict::Yes
    }
}

/// The loop nest of the operation that makes a tensor.
pub(crate) fn projection(graph: &mut Graph, result: Tensor) -> Result<Projected, Error> {
    graph.begin(&[result])?;
    let shapes = final_shapes::final_shapes(graph)?;
    let step = graph.tensors[result.index()].step;
    let mut reading = Reading::new(graph, &shapes);
    reading.read(step)
}

/// The loop nest of each step at some shapes: `None` for a step that is no operation. A step may assign to a
/// tensor that another step made.
pub(crate) fn projections_at(graph: &Graph, shapes: &Shapes) -> Vec<Option<Result<Projected, Error>>> {
    let mut reading = Reading::new(graph, shapes);
    let steps = graph.step_ids().zip(&graph.steps);
    steps.map(|(at, step)| matches!(step, Step::Op { .. }).then(|| reading.read(at))).collect()
}

/// The steps that have a shape but no loop nest at some shapes, with the reasons. Those of a beginning are known to have one.
pub(crate) fn refused_at(graph: &Graph, shapes: &Shapes, known: Beginning) -> Vec<(StepId, Error)> {
    let mut reading = Reading::new(graph, shapes);
    let steps = graph
        .step_ids()
        .zip(&graph.steps)
        .skip(known.steps as usize)
        .filter(|(_, step)| matches!(step, Step::Op { .. }));
    steps.filter_map(|(at, _)| Some((at, reading.without_nest(at)?))).collect()
}

/// The distance by which reads of each tensor reach beyond the ends of its axes, over all
/// operations that read it: the margins that its buffer needs. Shapes never include them.
pub(crate) fn margins(graph: &mut Graph) -> Result<Vec<Margins>, Error> {
    let nests = projections(graph)?;
    Ok(Margins::over(graph.tensors.len(), nests.iter()))
}

/// The loop nests of all operations, in the order they were made. A conversion that changes the number of
/// elements has none.
pub(crate) fn projections(graph: &mut Graph) -> Result<Vec<Projected>, Error> {
    let shapes = final_shapes::final_shapes(graph)?;
    let mut reading = Reading::new(graph, &shapes);
    let operation = |step: &StepId| match graph.steps[step.index()] {
        Step::Op { op: Op::Convert { factor, divisor }, .. } => factor == divisor,
        Step::Op { .. } => true,
        _ => false,
    };
    graph.step_ids().filter(operation).map(|step| reading.read(step)).collect()
}

/// One occurrence of a tensor: its axes by kind.
type Occurrence = [SmallVec<[AxisId; 4]>; 3];

/// The second reading of operations. Its memory is reused for the next operation.
pub(crate) struct Reading<'a> {
    graph: &'a Graph,
    shapes: &'a Shapes,
    equations: Equations,
    labels: Vec<AxisId>,
    holes: Vec<Option<SmallVec<[AxisId; 4]>>>,
    memory: Vec<AxisId>,
    alike: Alike,
}

impl<'a> Reading<'a> {
    pub fn new(graph: &'a Graph, shapes: &'a Shapes) -> Reading<'a> {
        Reading {
            graph,
            shapes,
            equations: Equations::default(),
            labels: Vec::new(),
            holes: Vec::new(),
            memory: Vec::new(),
            alike: Alike::default(),
        }
    }

    /// The loop nest of a step. A step like one that was read before shares its loops and maps.
    pub fn read(&mut self, step: StepId) -> Result<Projected, Error> {
        let Some((op, tensors, results)) = self.tensors_of(step) else {
            return Err(refusal::not_computed(self.graph, step));
        };
        let key = NestKey::of(self.graph, self.shapes, op, &tensors[results..], &tensors);
        if let Some(known) = self.alike.get(&key) {
            return Ok(Projected { tensors: tensors.into_vec(), step, ..known.clone() });
        }
        let nest = self.read_afresh(op, tensors.into_vec(), results, step)?;
        self.alike.insert(key, &nest);
        Ok(nest)
    }

    /// The reason why a step has no loop nest. A step like one that has a nest is not read.
    fn without_nest(&mut self, step: StepId) -> Option<Error> {
        let (op, tensors, results) = self.tensors_of(step)?;
        let key = NestKey::of(self.graph, self.shapes, op, &tensors[results..], &tensors);
        if self.alike.get(&key).is_some() {
            return None;
        }
        match self.read_afresh(op, tensors.into_vec(), results, step) {
            Ok(nest) => {
                self.alike.insert(key, &nest);
                None
            }
            Err(error) => Some(error),
        }
    }

    /// An operation with its results and operands, and the number of its results; `None` for another step.
    fn tensors_of(&self, step: StepId) -> Option<(Op, SmallVec<[Tensor; 4]>, usize)> {
        let Step::Op { op, operands, arity, results, result } = self.graph.steps.get(step.index())? else {
            return None;
        };
        let made = (*result..*result + u32::from(*results)).map(Tensor);
        let read = &self.graph.operands[*operands as usize..(*operands + u32::from(*arity)) as usize];
        Some((*op, made.chain(read.iter().copied()).collect(), usize::from(*results)))
    }

    /// The loop nest of a step that no step before it is like.
    fn read_afresh(
        &mut self,
        op: Op,
        tensors: Vec<Tensor>,
        results: usize,
        step: StepId,
    ) -> Result<Projected, Error> {
        let graph = self.graph;
        self.equations.clear();
        self.labels.clear();
        let places: SmallVec<[Occurrence; 4]> =
            tensors.iter().map(|tensor| self.occurrence(*tensor)).collect();
        let (made, read) = places.split_at(results);
        match op {
            Op::Einsum { spec, labels, .. } => {
                self.spec(&graph.spec(spec), labels as usize, op, made, read);
            }
            Op::Slice(index) => self.slice(index, &made[0], &read[0]),
            // The same the other way round: one position of the result is written.
            Op::Collect => self.slice(SliceIndex::Turn, &read[0], &made[0]),
            Op::Convert { factor, divisor } if factor == divisor => self.reshape(&made[0], &read[0]),
            Op::Convert { .. } => {
                return Err(refusal::conversion(graph, self.shapes, step, tensors[1], tensors[0]));
            }
            broadcasting => self.broadcasting(broadcasting, &tensors[made.len()..], &made[0], read),
        }
        self.solved(tensors, &places, results, step)
    }

    /// P6: every axis of every occurrence has an id of its own, and is visited.
    fn occurrence(&mut self, tensor: Tensor) -> Occurrence {
        Kind::ALL.map(|kind| {
            let sizes = self.shapes.extents(tensor, kind);
            sizes
                .map(|size| {
                    let axis = self.equations.axis(size);
                    self.equations.iterate(axis);
                    axis
                })
                .collect()
        })
    }

    fn broadcasting(&mut self, op: Op, operands: &[Tensor], result: &Occurrence, read: &[Occurrence]) {
        let marker = |slot: usize, kind: Kind| {
            self.graph.marker(self.graph.rows(operands[slot])[place(kind)]) as usize
        };
        if let Some([(a, input), (b, output)]) = contraction(op) {
            let at = marker(b, output);
            refine_rows(&mut self.equations, &read[a][place(input)], &read[b][place(output)], at);
        }
        for kind in Kind::ALL {
            for (slot, from) in sources(op, operands.len(), kind) {
                let at = marker(slot, from);
                refine_rows(&mut self.equations, &result[place(kind)], &read[slot][place(from)], at);
            }
        }
    }

    /// The rest of the batch, the input and the output are the operand's; its first batch axis is pinned.
    fn slice(&mut self, index: SliceIndex, result: &Occurrence, read: &Occurrence) {
        let Some((first, rest)) = read[place(Kind::Batch)].split_first() else { return };
        self.equations.pin(
            *first,
            match index {
                SliceIndex::At(at) => Pin::At(at),
                SliceIndex::Run { .. } | SliceIndex::Turn => Pin::Symbol(0),
            },
        );
        self.equal_rows(&result[place(Kind::Batch)], rest);
        for kind in [Kind::Input, Kind::Output] {
            self.equal_rows(&result[place(kind)], &read[place(kind)]);
        }
    }

    /// A conversion that keeps the number of elements: both go through memory order, and one of them has a single
    /// axis.
    fn reshape(&mut self, result: &Occurrence, read: &Occurrence) {
        match (self.joined(result), self.joined(read)) {
            (Some(result), Some(read)) => self.equations.equal(read, result),
            (Some(all), None) | (None, Some(all)) => self.equations.pin(all, Pin::At(0)),
            (None, None) => {}
        }
    }

    /// All axes of an occurrence as one, in memory order; none if there are none. Neighbours are joined in pairs, so
    /// that the depth is the logarithm of the rank.
    fn joined(&mut self, axes: &Occurrence) -> Option<AxisId> {
        let mut joined: Vec<AxisId> =
            MEMORY.iter().flat_map(|kind| axes[place(*kind)].iter().copied()).collect();
        while joined.len() > 1 {
            joined = joined.chunks(2).map(|pair| self.join(pair)).collect();
        }
        joined.first().copied()
    }

    /// Two axes as one, the second running faster; an axis without a partner stays.
    fn join(&mut self, pair: &[AxisId]) -> AxisId {
        let &[slow, fast] = pair else { return pair[0] };
        self.equations.joined(slow, fast)
    }

    fn equal_rows(&mut self, a: &[AxisId], b: &[AxisId]) {
        for (a, b) in a.iter().zip(b) {
            self.equations.equal(*a, *b);
        }
    }

    fn spec(&mut self, known: &KnownSpec, first: usize, op: Op, made: &[Occurrence], read: &[Occurrence]) {
        for at in 0..known.spec.names.axes.len() {
            let label = self.equations.axis(self.shapes.label(first + at));
            self.labels.push(label);
        }
        self.holes.clear();
        self.holes.resize(3 + known.spec.names.rows.len(), None);
        for (shape, place) in known.spec.shapes().zip(read.iter().chain(made)) {
            for (kind, row) in shape.rows() {
                self.spec_row(known, op, kind, row, &place[kind as usize]);
            }
        }
        // Now that all rows are known that may stand in parentheses.
        for (shape, place) in known.spec.shapes().zip(read.iter().chain(made)) {
            for (kind, row) in shape.rows() {
                self.composed_axes(kind, row, &place[kind as usize]);
            }
        }
    }

    /// A row of a spec against the axes it stands for: the flanks from either end, the hole in between.
    fn spec_row(
        &mut self,
        known: &KnownSpec,
        op: Op,
        kind: Kind,
        row: &spec::Row<spec::Axis>,
        axes: &[AxisId],
    ) {
        let (lead, trail) = (row.lead(), &row.trail);
        let back = axes.len().saturating_sub(trail.len());
        for (axis, id) in placed(row, axes) {
            self.spec_axis(known, op, axis, id);
        }
        if let Some(hole) = row.hole() {
            let middle = &axes[lead.len().min(back)..back];
            let index = row_index(hole.variable, kind);
            match self.holes[index].take() {
                None => self.holes[index] = Some(middle.iter().copied().collect()),
                Some(same) => {
                    self.equal_rows(&same, middle);
                    self.holes[index] = Some(same);
                }
            }
        }
    }

    /// The composed axes of a row of a spec against the axes it stands for.
    fn composed_axes(&mut self, kind: Kind, row: &spec::Row<spec::Axis>, axes: &[AxisId]) {
        let Reading { equations, labels, holes, .. } = self;
        for (axis, id) in placed(row, axes) {
            let label = |name: spec::AxisId| labels[name.0 as usize];
            let row = |variable| holes[row_index(variable, kind)].as_deref().unwrap_or_default();
            spec_composed::join_parts(equations, id, axis.parts(), label, row);
        }
    }

    fn spec_axis(&mut self, known: &KnownSpec, op: Op, axis: &spec::Axis, id: AxisId) {
        let labels = &self.labels;
        let label = |name: spec::AxisId| labels[name.0 as usize];
        match &axis.kind {
            AxisKind::Label(name) => self.equations.equal(id, label(*name)),
            // Those that are composed are read when all rows are known.
            AxisKind::Wildcard | AxisKind::Composed(_) => {}
            AxisKind::Fixed(index) => self.equations.pin(id, Pin::At(*index)),
            AxisKind::Affine(affine) => {
                let Op::Einsum { choice, .. } = op else { return };
                let choice = names::choice_of(self.graph, choice);
                let value = |name: &str| choice.and_then(|choice| choice.value(name));
                let padding = choice.and_then(|choice| choice.padding);
                if let Ok(form) = window_form(known, affine, padding, value) {
                    let kernel = affine.kernel.map(|kernel| label(kernel.term.label));
                    self.equations.affine(id, form, label(affine.over.label), kernel);
                }
            }
            AxisKind::Concat(components) => {
                let named = |kind: ComponentKind| match kind {
                    ComponentKind::Label(name) => self.equations.size(label(name)),
                    ComponentKind::Size(size) => size.get().into(),
                    ComponentKind::Wildcard => Size::ZERO,
                };
                let taken: Size = components.iter().map(|component| named(component.kind)).sum();
                // The rest of the axis, which wildcards stand for, is visited by a loop of its own.
                let rest = self.equations.size(id) - taken;
                let mut rest = if rest.at_most(Size::ZERO) { Size::ZERO } else { rest };
                let mut parts: SmallVec<[ConcatPart; 4]> = SmallVec::new();
                for component in components {
                    parts.push(match component.kind {
                        ComponentKind::Label(name) => ConcatPart::Axis(self.labels[name.0 as usize]),
                        ComponentKind::Size(size) => ConcatPart::Gap(size.get()),
                        ComponentKind::Wildcard => {
                            ConcatPart::Axis(self.equations.axis(std::mem::replace(&mut rest, Size::ZERO)))
                        }
                    });
                }
                self.equations.concat(id, parts);
            }
        }
    }

    fn solved(
        &mut self,
        tensors: Vec<Tensor>,
        places: &[Occurrence],
        results: usize,
        step: StepId,
    ) -> Result<Projected, Error> {
        // All axes in memory order, in a buffer that is reused.
        let mut all = std::mem::take(&mut self.memory);
        all.clear();
        let mut ends: SmallVec<[usize; 8]> = SmallVec::new();
        for place in places {
            all.extend(MEMORY.iter().flat_map(|kind| place[*kind as usize].iter().copied()));
            ends.push(all.len());
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let axes: SmallVec<[&[AxisId]; 8]> =
            starts.zip(&ends).map(|(start, end)| &all[start..*end]).collect();
        let solved = self.equations.solve(&axes);
        let sizes: Vec<Vec<Size>> =
            axes.iter().map(|axes| axes.iter().map(|axis| self.equations.size(*axis)).collect()).collect();
        drop(axes);
        self.memory = all;
        let projection = match solved {
            Ok(projection) => projection,
            Err(failure) => {
                let error = self.unsolved(failure, &tensors, places, results, step);
                return Err(error.about_step(step));
            }
        };
        // The first label of every class.
        let mut first: FxHashMap<AxisId, u32> = FxHashMap::default();
        for (at, label) in (0..).zip(&self.labels) {
            first.entry(self.equations.class(*label)).or_insert(at);
        }
        let label = |axis: AxisId| first.get(&self.equations.class(axis)).copied();
        let labels = projection.loops.iter().map(|each| label(each.axis)).collect();
        let accumulate = match self.graph.steps.get(step.index()) {
            Some(Step::Op { op: Op::Einsum { accumulate, .. }, .. }) => *accumulate,
            _ => Accumulate::Sum,
        };
        let (sizes, projection) = (Arc::new(sizes), Arc::new(projection));
        let nest = Projected { tensors, results, sizes, projection, accumulate, labels, step };
        match nest.mistake() {
            Some(mistake) => Err(self.refused(mistake, &nest, step).about_step(step)),
            None => Ok(nest),
        }
    }
}

/// The axes that a row of a spec writes, each with the axis it stands for: those before a hole from the front, the others from the back.
fn placed<'r>(
    row: &'r spec::Row<spec::Axis>,
    axes: &[AxisId],
) -> impl Iterator<Item = (&'r spec::Axis, AxisId)> {
    let back = axes.len().saturating_sub(row.trail.len());
    row.lead().iter().zip(axes).chain(row.trail.iter().zip(&axes[back..])).map(|(axis, id)| (axis, *id))
}

impl Choice {
    fn value(&self, name: &str) -> Option<u64> {
        self.coefficients.iter().find(|(known, _)| **known == *name).map(|(_, value)| *value)
    }
}

/// P5: the operand's axes before its marker face the result's first axes, the others its last; what the
/// result has in between is visited anyway.
fn refine_rows(equations: &mut Equations, res: &[AxisId], opnd: &[AxisId], marker: usize) {
    let marker = marker.min(opnd.len());
    for (res, opnd) in res.iter().zip(&opnd[..marker]) {
        equations.refine(*res, *opnd);
    }
    for (res, opnd) in res.iter().rev().zip(opnd[marker..].iter().rev()) {
        equations.refine(*res, *opnd);
    }
}
