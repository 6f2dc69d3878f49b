//! The graph: tensors, operations, and the solver with their constraints.

use std::borrow::Cow;
use std::sync::Arc;

use broadloom_core::{Check, Constraint, DimTerm, Role, RowTerm, RowVar, Solver};
use broadloom_spec::{Kind, ShapeDecl, Spec};
use rustc_hash::FxHashMap;

use crate::declaration::Declaration;
use crate::error::{Error, ErrorKind};
use crate::facts::Facts;
use crate::notation::{KnownSpec, Notation, Specs};
use crate::operation::Laws;
use crate::shape::Shapes;
use crate::size::SizeNames;
use crate::step::{
    Aspect, Beginning, Choice, Origin, RowRef, Rows, Sources, Step, StepId, Tensor, TensorData,
};
use crate::symbols::table::SymbolTable;

/// A tensor program under construction.
///
/// Every operation is checked as it is added. An operation that contradicts the program so far is
/// refused with an [`Error`], and the graph is as it was before.
///
/// ```
/// use broadloom::Graph;
/// let mut g = Graph::new();
/// let a = g.data("a", "3")?;
/// let b = g.data("b", "4")?;
/// assert!(g.add(a, b).is_err());
/// // The graph goes on.
/// let twice = g.add(a, a)?;
/// assert_eq!(g.final_shape(twice)?.to_string(), "3");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Graph {
    pub(crate) solver: Solver,
    /// The axes of all rows.
    pub(crate) axes: Vec<DimTerm>,
    pub(crate) tensors: Vec<TensorData>,
    pub(crate) steps: Vec<Step>,
    pub(crate) operands: Vec<Tensor>,
    /// The origin of each constraint, in the order of addition.
    pub(crate) origins: Vec<Origin>,
    pub(crate) names: Vec<Box<str>>,
    /// The declarations of leaves that have one.
    pub(crate) declarations: FxHashMap<u32, Declaration>,
    /// Declared shapes by their text, so that each is parsed once.
    pub(crate) read_shapes: FxHashMap<Box<str>, Arc<ShapeDecl>>,
    pub(crate) bases: Vec<Box<str>>,
    pub(crate) specs: Specs,
    /// The dimension of each label of each spec used, and the row of each row variable.
    pub(crate) labels: Vec<DimTerm>,
    pub(crate) spec_rows: Vec<RowRef>,
    /// The sizes with names in stated signatures.
    pub(crate) stated: Vec<(Box<str>, DimTerm)>,
    /// The options with which specs were used, each kept once.
    pub(crate) choices: Vec<Choice>,
    /// The result of closing; `None` if something was added since.
    pub(crate) settled: Option<Settled>,
    /// The names of sizes, and the shapes they belong to.
    pub(crate) size_names: Option<(Arc<Shapes>, Arc<SizeNames>)>,
    /// Named sizes, in the order in which the solver made them.
    pub(crate) symbols: SymbolTable,
    /// The shapes before named sizes were given numbers.
    pub(crate) symbolic: Option<Arc<Shapes>>,
    /// The laws of steps that differ from those of their operations.
    pub(crate) laws: Laws,
    /// Facts about leaves that are needed to run.
    pub(crate) facts: Facts,
    /// Scratch space for arithmetic constraints.
    pub(crate) scratch: Vec<DimTerm>,
}

/// The answers of one closing of the whole program.
#[derive(Clone)]
pub(crate) struct Settled {
    /// The final shapes of all tensors.
    pub shapes: Arc<Shapes>,
    /// The conditions that hold only for some named sizes.
    pub checks: Arc<[Check]>,
    /// The representative of each named size: dynamic ones take other names.
    pub same_sizes: Arc<[usize]>,
    /// The numbers of named sizes that the program decides. Some follow only from several sums together, which closing solves.
    pub numbers: Arc<[Option<u64>]>,
}

/// The size of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stats {
    /// Tensors, leaves included.
    pub tensors: usize,
    /// Constraints between their rows and axes.
    pub constraints: usize,
    /// Units of work the solver did.
    pub steps: u64,
    /// Branches of the search that failed; zero on the usual program.
    pub branches: u64,
    /// Bytes held.
    pub bytes: u64,
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Graph").field("stats", &self.stats()).finish()
    }
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// Removes every tensor and keeps the memory and the parsed specs for the next program.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// g.data("x", "3")?;
    /// g.clear();
    /// assert!(g.is_empty());
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn clear(&mut self) {
        self.solver.clear();
        self.axes.clear();
        self.tensors.clear();
        self.steps.clear();
        self.operands.clear();
        self.origins.clear();
        self.names.clear();
        self.declarations.clear();
        self.bases.clear();
        self.labels.clear();
        self.spec_rows.clear();
        self.stated.clear();
        self.choices.clear();
        self.settled = None;
        self.symbols.clear();
        self.symbolic = None;
        self.laws.clear();
        self.facts = Facts::default();
    }

    /// The number of steps so far: leaves, operations, and statements about sizes. The next one has
    /// this place among them; an [`Error`] says which steps it is about.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (w, x) = (g.param("w"), g.data("x", "3")?);
    /// let y = g.compose(w, x)?;
    /// assert_eq!(g.steps(), 3);
    /// assert_eq!(g.step_of(y).map(|step| step.index()), Some(2));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// All steps, in the order they were made.
    pub fn step_ids(&self) -> impl DoubleEndedIterator<Item = StepId> + Clone + use<> {
        StepId(0).up_to(self.next_step())
    }

    /// All of the graph as it is now: it is the beginning of what becomes of it.
    pub fn so_far(&self) -> Beginning {
        Beginning {
            tensors: self.tensors.len() as u32,
            steps: self.steps.len() as u32,
            labels: self.labels.len() as u32,
        }
    }

    /// The step about to be finished.
    pub(crate) fn next_step(&self) -> StepId {
        StepId::new(self.steps.len())
    }

    /// The step that was finished last.
    pub(crate) fn last_step(&self) -> StepId {
        StepId::new(self.steps.len() - 1)
    }

    /// The step that made a tensor.
    pub fn step_of(&self, tensor: Tensor) -> Option<StepId> {
        self.tensors.get(tensor.index()).map(|data| data.step)
    }

    /// The number of tensors.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Returns true if there are no tensors.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// All tensors, in the order they were made.
    pub fn tensors(&self) -> impl DoubleEndedIterator<Item = Tensor> + use<> {
        (0..self.tensors.len() as u32).map(Tensor)
    }

    /// The size of the graph, and the work done for it.
    pub fn stats(&self) -> Stats {
        let solver = self.solver.stats();
        let own = self.axes.capacity() * size_of::<DimTerm>()
            + self.tensors.capacity() * size_of::<TensorData>()
            + self.steps.capacity() * size_of::<Step>()
            + self.operands.capacity() * size_of::<Tensor>()
            + self.origins.capacity() * size_of::<Origin>()
            + self.labels.capacity() * size_of::<DimTerm>()
            + self.spec_rows.capacity() * size_of::<RowRef>();
        Stats {
            tensors: self.tensors.len(),
            constraints: solver.constraints as usize,
            steps: solver.steps,
            branches: solver.branches,
            bytes: solver.bytes + own as u64,
        }
    }

    /// Gives a tensor a name, for messages and tables.
    pub fn name(&mut self, tensor: Tensor, name: &str) {
        if let Some(data) = self.tensors.get_mut(tensor.index()) {
            data.name = self.names.len() as u32;
            self.names.push(name.into());
        }
    }

    pub(crate) fn rows(&self, tensor: Tensor) -> Rows {
        self.tensors[tensor.index()].rows
    }

    /// Refuses tensors of another graph.
    pub(crate) fn known(&self, tensor: Tensor) -> Result<(), Error> {
        if tensor.index() < self.tensors.len() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Use, "a tensor of another graph is used here")
            .with_help("a tensor belongs to the graph that made it"))
    }

    /// A new row variable with its marker after the first `lead` axes.
    pub(crate) fn fresh_row(&mut self, role: Role, lead: u32) -> RowVar {
        let var = self.solver.row_var(role);
        self.solver.declare_marker(var, lead);
        var
    }

    /// The place of a row's marker: the number of axes before it.
    pub(crate) fn marker(&self, row: RowRef) -> u32 {
        let inner = row.hole.and_then(|var| self.solver.declared_marker(var)).unwrap_or(0);
        u32::from(row.lead) + inner
    }

    /// Requires that a row is made of rows of operands: each of its axes comes from one of them.
    pub(crate) fn made_of(&mut self, res: RowVar, kind: Kind, operands: &Sources) {
        let opnds: smallvec::SmallVec<[RowTerm<'_>; 3]> =
            operands.iter().map(|(_, row)| row.term(&self.axes)).collect();
        self.solver.add(Constraint::MadeOf { res, opnds: &opnds });
        self.origins.push(Origin { step: self.next_step(), slot: 0, part: Aspect::Made(kind) });
    }

    /// `res ⊑ opnd` for two rows.
    pub(crate) fn refine(&mut self, res: RowRef, opnd: RowRef, slot: usize, part: Aspect) {
        if opnd.is_empty() {
            return;
        }
        let (res, opnd) = (res.term(&self.axes), opnd.term(&self.axes));
        self.solver.add(Constraint::RowLe { res, opnd });
        self.origins.push(Origin { step: self.next_step(), slot: slot as u16, part });
    }

    /// `a ≈ b` for two rows.
    pub(crate) fn equate_rows(&mut self, a: RowRef, b: RowRef, slot: usize, part: Aspect) {
        let same = a.hole.is_some() && a.hole == b.hole && a.lead + a.trail + b.lead + b.trail == 0;
        if same || (a.is_empty() && b.is_empty()) {
            return;
        }
        let (a, b) = (a.term(&self.axes), b.term(&self.axes));
        self.solver.add(Constraint::RowEq(a, b));
        self.origins.push(Origin { step: self.next_step(), slot: slot as u16, part });
    }

    /// Adds any other constraint.
    pub(crate) fn constrain(&mut self, constraint: Constraint<'_>, slot: usize, part: Aspect) {
        self.solver.add(constraint);
        self.origins.push(Origin { step: self.next_step(), slot: slot as u16, part });
    }

    /// The number of a spec, which is parsed once.
    pub(crate) fn known_spec(&mut self, notation: Notation<'_>) -> Result<u32, Error> {
        let shape = match notation {
            Notation::Over(shape) => Some(shape),
            Notation::Read(read) if read.spec().keeps => Some(read.text()),
            _ => None,
        };
        if let Some(known) = shape.and_then(|shape| self.specs.over.get(shape)) {
            return Ok(*known);
        }
        let known = self.known_text(notation)?;
        if let Some(shape) = shape {
            self.specs.over.insert(shape.into(), known);
        }
        Ok(known)
    }

    fn known_text(&mut self, notation: Notation<'_>) -> Result<u32, Error> {
        let read = |text: &str, parse: fn(&str) -> Result<Spec, broadloom_spec::Error>| {
            parse(text).map_err(|error| Error::notation(text, &error))
        };
        // A text that is written for a tree has other places than the one that the tree was read from, if any.
        let printed = |tree: Spec| (Cow::Owned(tree.to_string()), Some(Cow::Owned(tree.without_spans())));
        let (text, tree) = match notation {
            Notation::Text(text) => (Cow::Borrowed(text), None),
            Notation::Tree(tree) => printed(tree.clone()),
            Notation::Read(read) if read.spec().keeps => printed(read.spec().clone()),
            Notation::Read(read) => (Cow::Borrowed(read.text()), Some(Cow::Borrowed(read.spec()))),
            Notation::Over(text) => printed(read(text, broadloom_spec::parse_over)?),
        };
        let keeps = usize::from(tree.as_ref().is_some_and(|tree| tree.keeps));
        if let Some(known) = self.specs.by_text[keeps].get(&*text) {
            return Ok(*known);
        }
        let spec = match tree {
            Some(tree) => tree.into_owned(),
            None => read(&text, broadloom_spec::parse_spec)?,
        };
        let discardable = crate::discard::discardable(&spec);
        let known = self.specs.all.len() as u32;
        self.specs.by_text[keeps].insert((*text).into(), known);
        let repeating = crate::spec_parts::repeating(&spec);
        self.specs.all.push(Arc::new(KnownSpec { text: (*text).into(), spec, discardable, repeating }));
        Ok(known)
    }

    pub(crate) fn spec(&self, known: u32) -> Arc<KnownSpec> {
        Arc::clone(&self.specs.all[known as usize])
    }

    pub(crate) fn spec_ref(&self, known: u32) -> &KnownSpec {
        self.specs.get(known)
    }
}
