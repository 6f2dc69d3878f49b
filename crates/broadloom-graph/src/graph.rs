//! The graph: tensors, operations, and the solver with their constraints.

use std::borrow::Cow;
use std::sync::Arc;

use broadloom_core::{
    Answer, Check, Closed, Constraint, Core, DimTerm, Limit, Point, Role, RowTerm, RowVar, Short, Solver,
    Unfilled,
};
use broadloom_spec::{Kind, ShapeDecl, Spec};
use rustc_hash::FxHashMap;

use crate::declaration::Declaration;
use crate::error::{Error, ErrorKind};
use crate::facts::Facts;
use crate::notation::{KnownSpec, Notation, Specs};
use crate::open::Open;
use crate::operation::Laws;
use crate::shape::Shapes;
use crate::size::SizeNames;
use crate::step::{Aspect, Choice, NONE, Op, Origin, RowRef, Rows, Sources, Step, Tensor, TensorData};
use crate::symbols::table::SymbolTable;
use crate::view::View;

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

/// The reason why a program has no shapes.
enum Refused {
    Core(Core),
    Short(Short),
    Limit(Limit),
}

/// Lengths to return to when a step is refused.
pub(crate) struct Before {
    point: Point,
    axes: usize,
    tensors: usize,
    operands: usize,
    origins: usize,
    labels: usize,
    spec_rows: usize,
    bases: usize,
    symbols: usize,
    stated: usize,
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

    /// The number of steps so far: leaves, operations, and statements about sizes. Each has a
    /// number, and the next one gets this number; an [`Error`] refers to steps by their numbers.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (w, x) = (g.param("w"), g.data("x", "3")?);
    /// let y = g.compose(w, x)?;
    /// assert_eq!(g.steps(), 3);
    /// assert_eq!(g.step_of(y), Some(2));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// The number of the step that made a tensor.
    pub fn step_of(&self, tensor: Tensor) -> Option<usize> {
        self.tensors.get(tensor.index()).map(|data| data.step as usize)
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

    /// Requires that the input axes of a tensor are its output axes: a square map.
    pub fn input_equals_output(&mut self, tensor: Tensor) -> Result<(), Error> {
        let before = self.begin(&[tensor])?;
        let rows = self.rows(tensor);
        let terms = (rows[Kind::Input as usize], rows[Kind::Output as usize]);
        self.equate_rows(terms.0, terms.1, 0, Aspect::Whole);
        self.finish(before, Step::Square(tensor))
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

    /// Begins a step, if its operands are tensors of this graph.
    pub(crate) fn begin(&mut self, operands: &[Tensor]) -> Result<Before, Error> {
        let known = operands.iter().try_for_each(|tensor| self.known(*tensor));
        self.refusing(known)?;
        if operands.len() > usize::from(u16::MAX) {
            let message = format!("{} operands are more than one operation takes", operands.len());
            return Err(self.misuse(message).with_help("combine them in several operations"));
        }
        Ok(Before {
            point: self.solver.point(),
            axes: self.axes.len(),
            tensors: self.tensors.len(),
            operands: self.operands.len(),
            origins: self.origins.len(),
            labels: self.labels.len(),
            spec_rows: self.spec_rows.len(),
            bases: self.bases.len(),
            symbols: self.symbols.len(),
            stated: self.stated.len(),
        })
    }

    /// A mistake in what would be the next step.
    pub(crate) fn misuse(&self, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Use, message).about_step(self.steps.len() as u32)
    }

    /// Adds the number of the next step to a mistake, if there is one.
    pub(crate) fn refusing<T>(&self, made: Result<T, Error>) -> Result<T, Error> {
        made.map_err(|error| error.about_step(self.steps.len() as u32))
    }

    /// Ends a step. Keeps it, or, if it contradicts the program, takes it back and explains why.
    pub(crate) fn finish(&mut self, before: Before, step: Step) -> Result<(), Error> {
        self.steps.push(step);
        self.settled = None;
        if !self.solver.is_stuck() {
            if let Step::Op { operands, arity, .. } = step {
                for at in operands..operands + u32::from(arity) {
                    let tensor = self.operands[at as usize];
                    self.tensors[tensor.index()].used = true;
                }
            }
            return Ok(());
        }
        let error = self.contradiction();
        self.take_back(before);
        self.steps.pop();
        Err(error.refused_at(self.steps.len() as u32))
    }

    /// Returns to the state before a step.
    pub(crate) fn take_back(&mut self, before: Before) {
        self.solver.retract(before.point);
        self.axes.truncate(before.axes);
        self.tensors.truncate(before.tensors);
        self.operands.truncate(before.operands);
        self.origins.truncate(before.origins);
        self.labels.truncate(before.labels);
        self.spec_rows.truncate(before.spec_rows);
        self.bases.truncate(before.bases);
        self.symbols.truncate(before.symbols);
        self.stated.truncate(before.stated);
    }

    /// Explains why the last step contradicts the others.
    fn contradiction(&mut self) -> Error {
        match self.closed(|_, _| ()) {
            Err(error) => error,
            // A contradiction stays, so this is not reached in practice.
            Ok(_) => Error::new(ErrorKind::Mismatch, "the program contradicts itself"),
        }
    }

    /// Closes the program, reads something, and opens it again. Also returns the holes and guesses
    /// of the closing.
    pub(crate) fn closed<T>(
        &mut self,
        read: impl FnOnce(&Closed<'_>, &View<'_>) -> T,
    ) -> Result<(T, Open), Error> {
        let view = View {
            axes: &self.axes,
            tensors: &self.tensors,
            labels: &self.labels,
            bases: &self.bases,
            symbols: &self.symbols,
            steps: &self.steps,
            operands: &self.operands,
            specs: &self.specs,
        };
        let opened = |closed: &Closed<'_>, mut holes: Vec<Unfilled>| {
            holes.extend_from_slice(closed.gave_way());
            Open { holes, guesses: view.guesses(closed) }
        };
        let refused = match self.solver.close_values() {
            Answer::Solved(closed) => return Ok((read(&closed, &view), opened(&closed, Vec::new()))),
            Answer::Underdetermined(closed, holes) => {
                return Ok((read(&closed, &view), opened(&closed, holes)));
            }
            Answer::Unsatisfiable(core) => Refused::Core(core),
            Answer::Unsupported(short) => Refused::Short(short),
            Answer::GaveUp(limit) => Refused::Limit(limit),
        };
        Err(match refused {
            Refused::Core(core) => self.explain(&core),
            Refused::Short(short) => self.explain_short(&short),
            Refused::Limit(limit) => self.explain_limit(limit),
        })
    }

    /// A new tensor with these rows, made by the step about to be finished.
    pub(crate) fn tensor(&mut self, rows: Rows) -> Tensor {
        let step = self.steps.len() as u32;
        self.tensors.push(TensorData { rows, step, name: NONE, used: false });
        Tensor(self.tensors.len() as u32 - 1)
    }

    /// Ends an operation with one result.
    pub(crate) fn finish_op(
        &mut self,
        before: Before,
        op: Op,
        operands: &[Tensor],
        rows: Rows,
    ) -> Result<Tensor, Error> {
        self.finish_into(before, op, operands, rows, None)
    }

    /// Ends an operation whose result is a new tensor, or an existing one.
    pub(crate) fn finish_into(
        &mut self,
        before: Before,
        op: Op,
        operands: &[Tensor],
        rows: Rows,
        target: Option<Tensor>,
    ) -> Result<Tensor, Error> {
        let result = target.unwrap_or_else(|| self.tensor(rows));
        let step = self.op_step(op, operands, result, 1);
        self.finish(before, step)?;
        Ok(result)
    }

    pub(crate) fn op_step(&mut self, op: Op, operands: &[Tensor], first: Tensor, results: u16) -> Step {
        let start = self.operands.len() as u32;
        self.operands.extend_from_slice(operands);
        Step::Op { op, operands: start, arity: operands.len() as u16, results, result: first.0 }
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
        self.origins.push(Origin { step: self.steps.len() as u32, slot: 0, part: Aspect::Made(kind) });
    }

    /// `res ⊑ opnd` for two rows.
    pub(crate) fn refine(&mut self, res: RowRef, opnd: RowRef, slot: usize, part: Aspect) {
        if opnd.is_empty() {
            return;
        }
        let (res, opnd) = (res.term(&self.axes), opnd.term(&self.axes));
        self.solver.add(Constraint::RowLe { res, opnd });
        self.origins.push(Origin { step: self.steps.len() as u32, slot: slot as u16, part });
    }

    /// `a ≈ b` for two rows.
    pub(crate) fn equate_rows(&mut self, a: RowRef, b: RowRef, slot: usize, part: Aspect) {
        let same = a.hole.is_some() && a.hole == b.hole && a.lead + a.trail + b.lead + b.trail == 0;
        if same || (a.is_empty() && b.is_empty()) {
            return;
        }
        let (a, b) = (a.term(&self.axes), b.term(&self.axes));
        self.solver.add(Constraint::RowEq(a, b));
        self.origins.push(Origin { step: self.steps.len() as u32, slot: slot as u16, part });
    }

    /// Adds any other constraint.
    pub(crate) fn say(&mut self, constraint: Constraint<'_>, slot: usize, part: Aspect) {
        self.solver.add(constraint);
        self.origins.push(Origin { step: self.steps.len() as u32, slot: slot as u16, part });
    }

    /// The number of a spec, which is parsed once.
    pub(crate) fn known_spec(&mut self, notation: Notation<'_>) -> Result<u32, Error> {
        if let Notation::Over(shape) = notation
            && let Some(known) = self.specs.over.get(shape)
        {
            return Ok(*known);
        }
        let known = self.known_text(notation)?;
        if let Notation::Over(shape) = notation {
            self.specs.over.insert(shape.into(), known);
        }
        Ok(known)
    }

    fn known_text(&mut self, notation: Notation<'_>) -> Result<u32, Error> {
        let read = |text: &str, parse: fn(&str) -> Result<Spec, broadloom_spec::Error>| {
            parse(text).map_err(|error| Error::notation(text, &error))
        };
        let (text, tree) = match notation {
            Notation::Text(text) => (Cow::Borrowed(text), None),
            Notation::Tree(tree) => (Cow::Owned(tree.to_string()), Some(tree.clone())),
            Notation::Over(text) => {
                let tree = read(text, broadloom_spec::parse_over)?;
                (Cow::Owned(tree.to_string()), Some(tree))
            }
        };
        let keeps = usize::from(tree.as_ref().is_some_and(|tree| tree.keeps));
        if let Some(known) = self.specs.by_text[keeps].get(&*text) {
            return Ok(*known);
        }
        let spec = tree.map_or_else(|| read(&text, broadloom_spec::parse_spec), Ok)?;
        let discardable = crate::discard::discardable(&spec);
        let known = self.specs.all.len() as u32;
        self.specs.by_text[keeps].insert((*text).into(), known);
        self.specs.all.push(Arc::new(KnownSpec { text: (*text).into(), spec, discardable }));
        Ok(known)
    }

    pub(crate) fn spec(&self, known: u32) -> Arc<KnownSpec> {
        Arc::clone(&self.specs.all[known as usize])
    }

    pub(crate) fn spec_ref(&self, known: u32) -> &KnownSpec {
        self.specs.get(known)
    }
}
