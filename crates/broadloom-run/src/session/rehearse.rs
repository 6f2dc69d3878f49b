//! Rehearsals: the errors of a session, found without numbers.
//!
//! Many errors of a run depend on the program alone: a loss that is not one number, an operation
//! without a loop nest, initial values of other sizes, a gradient that nothing computes. A
//! [`Rehearsal`] goes through the routines of a program in the order in which they would run,
//! lowers each, and tracks which tensors would have values. Data without values is assumed to be
//! set from outside.

use std::collections::BTreeSet;
use std::sync::Arc;

use broadloom_array::{Array, Dtype};
use broadloom_graph::lowering::{Face, Leaf, Lookup, Special};
use broadloom_graph::{Beginning, Error, ErrorKind, Fact, Graph, Help, Initial, Shapes, StepId, Tensor};

use super::prepare::{check_memory, in_type};
use super::{Backend, Session, Settings};
use crate::lower::{Content, Layout, LowerOptions, lower_each};
use crate::routine::Routine;

/// A run of a program without numbers.
///
/// ```
/// use broadloom::{Graph, Rehearsal, Routine};
/// let mut g = Graph::new();
/// let (w, x) = (g.param_shaped("w", "3")?, g.data("x", "3")?);
/// let y = g.mul(w, x)?;
/// let mut train = Routine::new("train");
/// train.backward(&mut g, y)?;
/// let mut rehearsal = Rehearsal::new(g, &[])?;
/// let (action, error) = rehearsal.run(&train).unwrap_err();
/// assert_eq!(action, 1, "the first computes the loss, the second goes back");
/// assert!(error.message().ends_with("gradients are of one number, but `w * x` has shape `3`"));
/// # Ok::<(), broadloom::Error>(())
/// ```
pub struct Rehearsal {
    session: Session,
}

impl std::fmt::Debug for Rehearsal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.session.fmt(f)
    }
}

/// A beginning of a graph whose operations all have loop nests at some shapes: another graph that begins so, and has the same shapes there, has
/// them, too. (A nest follows from the operation, from what it was made with, and from the sizes of its tensors and labels.)
#[derive(Clone, Debug)]
pub struct KnownNests {
    shapes: Arc<Shapes>,
    beginning: Beginning,
}

impl KnownNests {
    /// The same for a part: an earlier state of the graph.
    pub fn of(self, beginning: Beginning) -> KnownNests {
        KnownNests { beginning, ..self }
    }
}

impl Rehearsal {
    /// A rehearsal at these numbers of named sizes; sizes that are not given have their initial
    /// numbers.
    pub fn new(mut graph: Graph, sizes: &[(&str, u64)]) -> Result<Rehearsal, Error> {
        Rehearsal::lend(&mut graph, sizes)
    }

    /// The same for a graph that is [given back](Rehearsal::give_back) after the rehearsal, so that none is copied. It
    /// stays where it is if there is an error.
    pub fn lend(graph: &mut Graph, sizes: &[(&str, u64)]) -> Result<Rehearsal, Error> {
        let settings = Settings { backend: Backend::Reference, ..Settings::default() };
        // Projections are made when something is run.
        let mut session = Session::over(graph, settings, Layout::bare_at)?;
        match session.set_sizes(sizes) {
            Ok(()) => Ok(Rehearsal { session }),
            Err(error) => {
                *graph = session.graph;
                Err(error)
            }
        }
    }

    /// The graph, as it was lent: a rehearsal adds nothing to it.
    pub fn give_back(self) -> Graph {
        self.session.graph
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.session.graph
    }

    /// The operations that have a shape but no loop nest: their steps and the reasons. Steps at the beginning of the graph that are known to have
    /// nests are not looked at, as long as everything there has the same shape.
    pub fn refused_steps(&self, known: Option<&KnownNests>) -> Vec<(StepId, Error)> {
        let Session { graph, layout, .. } = &self.session;
        let same = known.filter(|known| layout.shapes.begins_like(&known.shapes, known.beginning));
        graph.refused_at(&layout.shapes, same.map_or(Beginning::default(), |known| known.beginning))
    }

    /// All operations as known to have loop nests; to be asked if none of the [steps](Rehearsal::refused_steps) was refused.
    pub fn known_nests(&self) -> KnownNests {
        let Session { graph, layout, .. } = &self.session;
        KnownNests { shapes: Arc::clone(&layout.shapes), beginning: graph.so_far() }
    }

    /// The parameters, states and data whose own values do not fit them, with the reasons.
    pub fn refused_values(&self) -> Vec<(Tensor, Error)> {
        let refused = |tensor: Tensor| Some((tensor, self.first_values(tensor).err()?));
        self.session.graph.tensors().filter_map(refused).collect()
    }

    /// Refuses initial values that cannot be drawn for a tensor.
    pub fn drawn(&self, tensor: Tensor, name: &str, initial: &Initial) -> Result<(), Error> {
        initial.check(name, &self.session.layout.sizes_of(tensor), self.dtype(tensor))
    }

    /// The tensors whose numbers are positions on an axis of another, in the order they were made.
    pub fn positions(&self) -> BTreeSet<Tensor> {
        let graph = &self.session.graph;
        let ids = |step: StepId| {
            graph
                .special(step)
                .and_then(Special::lookup)
                .and_then(|_| graph.step_operands(step).get(1).copied())
        };
        graph.step_ids().filter_map(ids).collect()
    }

    /// The steps in which values would look up rows outside of a table, with the reasons.
    pub fn lookups(&self, ids: Tensor, values: &Array) -> Vec<(StepId, Error)> {
        let Session { graph, layout, .. } = &self.session;
        let refused = |step: StepId| {
            let &[operand, by] = graph.step_operands(step) else { return None };
            let lookup = graph.special(step).and_then(Special::lookup)?;
            let table = if lookup == Lookup::Scattered { graph.first_result(step) } else { operand };
            if by != ids || values.sizes() != layout.sizes_of(ids) {
                return None;
            }
            let sizes = layout.sizes_of(table);
            let rows = *sizes.get(lookup.axis().in_memory(layout.ranks(table))?)?;
            let numbers = values.to_f64s();
            let (at, value) = numbers.iter().enumerate().find(|(_, id)| !(0.0..rows as f64).contains(*id))?;
            let mut rest = at as u64;
            let mut place: Vec<String> = Vec::new();
            for size in values.sizes().iter().rev() {
                place.push((rest % size).to_string());
                rest /= size;
            }
            place.reverse();
            let (by, of) = (graph.short_name(ids), graph.short_name(table));
            let message = format!(
                "index {value} at [{}] of `{by}` is outside `{of}`, which has {rows} rows",
                place.join(", ")
            );
            let help = Help::rule(format!("indices are 0 to {}", rows - 1));
            let ends = [ids, table].map(|tensor| graph.declared_end(tensor));
            let error = match value.fract() == 0.0 && *value >= 0.0 {
                true => Error::new(ErrorKind::Value, message)
                    .with_fact(Fact::Index { index: *value as u64, rows }),
                false => Error::new(ErrorKind::Value, message),
            };
            let error = ends.into_iter().fold(error, Error::with_end);
            Some((step, error.with_help(help)))
        };
        graph.step_ids().filter_map(refused).collect()
    }

    /// Goes through a routine. An error comes with the index of its action in the routine.
    pub fn run(&mut self, routine: &Routine) -> Result<(), (usize, Error)> {
        let session = &mut self.session;
        // Data from outside decides the named sizes that have no number yet.
        if session.sizes.undecided().is_some() {
            return Ok(());
        }
        if session.layout.is_bare(&session.graph) {
            let layout = Layout::at(&session.graph, &session.inferred, &session.sizes.now);
            session.layout = Arc::new(layout.map_err(|error| (0, error))?);
        }
        let lowered = lower_each(&session.graph, &session.layout, routine, LowerOptions::default())
            .map_err(|(at, error)| (at, error.inside(&format!("routine `{}`", routine.name()))))?;
        check_memory(&session.graph, &lowered).map_err(|error| (0, error))?;
        for node in &lowered.needs {
            if !session.store.has_values(*node) && !begins_with_values(&session.graph, *node) {
                return Err((self.first_reader(*node, routine), self.session.no_values(*node, routine)));
            }
        }
        lowered.gives.into_iter().for_each(|node| session.store.has_now(node));
        Ok(())
    }

    /// The index of the first action of a routine that reads a node from before it.
    fn first_reader(&self, node: Content, routine: &Routine) -> usize {
        let Session { graph, layout, .. } = &self.session;
        let reads = |actions: &usize| {
            let part = Routine { actions: routine.actions[..=*actions].to_vec(), ..routine.clone() };
            lower_each(graph, layout, &part, LowerOptions::default())
                .is_ok_and(|lowered| lowered.needs.contains(&node))
        };
        (0..routine.len()).find(reads).unwrap_or(0)
    }

    /// Reads the values of a tensor, as [`Session::get`] does.
    pub fn get(&mut self, tensor: Tensor) -> Result<(), Error> {
        let node = match self.session.graph.leaf(tensor) {
            Some(Leaf::Gradient(of)) => Content::Gradient(of),
            _ => Content::Value(tensor),
        };
        let is_there = self.session.store.has_values(node) || begins_with_values(&self.session.graph, node);
        if is_there { Ok(()) } else { self.session.get(tensor).map(|_| ()) }
    }

    fn dtype(&self, tensor: Tensor) -> Dtype {
        self.session.layout.dtypes[tensor.index()]
    }

    fn first_values(&self, tensor: Tensor) -> Result<(), Error> {
        let Session { graph, layout, store, .. } = &self.session;
        match graph.leaf(tensor) {
            Some(Leaf::Param | Leaf::State) => match graph.initial(tensor) {
                Some(initial) => {
                    initial.check(&graph.short_name(tensor), &layout.sizes_of(tensor), self.dtype(tensor))
                }
                None => Ok(()),
            },
            Some(Leaf::Data) => match graph.array(tensor) {
                Some(values) => {
                    let values = in_type(values, self.dtype(tensor));
                    store.fits(graph, layout, Content::Value(tensor), (values.sizes(), values.dtype()))
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// Returns true if a node has values without being computed: parameters, states, and data, which
/// may be set from outside.
fn begins_with_values(graph: &Graph, node: Content) -> bool {
    let Content::Value(tensor) = node else { return false };
    matches!(graph.leaf(tensor), Some(Leaf::Param | Leaf::State | Leaf::Data))
}
