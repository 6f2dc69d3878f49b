//! Certificates: a program's constraints and their solution as plain data, to be checked by others.
//!
//! Nothing here is the solver's: variables are numbers, terms are trees. The words are those of
//! `verification/lean/Certificate.lean`, which defines each constraint and proves a checker right.
//!
//! ```
//! use broadloom::Graph;
//! let mut g = Graph::new();
//! let (w, x) = (g.param("w"), g.data("x", "32 | 784")?);
//! let y = g.compose(w, x)?;
//! let ten = g.data("ten", "10")?;
//! g.add(y, ten)?;
//! let certificate = g.certificate()?;
//! let input = certificate.shapes.iter().find(|shape| shape.name == "input of w");
//! assert_eq!(input.map(|shape| shape.axes.as_slice()), Some(&[broadloom::certificate::Dim::sized(784)][..]));
//! assert!(certificate.to_lean("Layer").contains("⟨\"input of w\", ⟨[], some "));
//! # Ok::<(), broadloom::Error>(())
//! ```

mod family;
mod lean;
mod prove;

use std::hash::Hash;

use broadloom_core::{self as core, Hole, Padding, RowVar, Solver, Symbol, order};
use broadloom_spec::Kind;
use rustc_hash::FxHashMap;

use crate::step::{Step, StepId};
use crate::{Error, Graph, final_shapes, names, node, symbols};
use family::Forms;

pub use family::{Condition, Family, Name};
pub use lean::{comment, module_name};

/// The constraints of a program and a solution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Certificate {
    /// The steps of the program with their constraints.
    pub steps: Vec<CertificateStep>,
    /// The dimension variables that may be empty, in order.
    pub discardable: Vec<usize>,
    /// The values of the dimension variables `0, 1, …`.
    pub dims: Vec<Dim>,
    /// The values of the row variables `0, 1, …`.
    pub rows: Vec<Row>,
    /// The rows of all tensors that have names.
    pub shapes: Vec<Shape>,
    /// The names of the bases `1, 2, …`.
    pub bases: Vec<String>,
    /// The named sizes, if it is a certificate for all of them.
    pub family: Option<Family>,
}

/// A step of a program, and the constraints that follow from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CertificateStep {
    /// The step, as a message would name it.
    pub text: String,
    /// The named size that it sets, if it sets one, and its number.
    pub set: Option<(String, u64)>,
    /// The constraints that have to hold.
    pub constraints: Vec<Constraint>,
}

/// The unit, or a size with a basis; basis 0 is the default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dim {
    /// The axis of size one that makes no claim.
    Unit,
    /// A size.
    Atom {
        /// The number of elements.
        size: u64,
        /// The basis: the thing that is counted.
        basis: u32,
    },
    /// A size that depends on named sizes.
    Form {
        /// The place of its expression in the [`Family`].
        form: usize,
        /// The basis.
        basis: u32,
    },
}

impl Dim {
    /// A size with the default basis.
    pub fn sized(size: u64) -> Dim {
        Dim::Atom { size, basis: 0 }
    }
}

/// A dimension variable, or a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DimTerm {
    /// The variable of this number.
    Var(usize),
    /// A dimension.
    Dim(Dim),
}

/// A row: the axes before and after its marker.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Row {
    /// The axes before the marker.
    pub lead: Vec<Dim>,
    /// The axes after it.
    pub trail: Vec<Dim>,
}

/// A row term: flanks around the marker or a row variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowTerm {
    /// The axes before the hole.
    pub lead: Vec<DimTerm>,
    /// The number of a row variable; `None` for the marker.
    pub hole: Option<usize>,
    /// The axes after the hole.
    pub trail: Vec<DimTerm>,
}

/// One axis, or all axes of a row variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// One axis.
    Dim(DimTerm),
    /// The axes of a row variable.
    Row(usize),
}

/// The window of a convolution or of pooling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// The size of the kernel.
    pub kernel: DimTerm,
    /// The distance of neighbouring kernel positions.
    pub dilation: u64,
    /// The padding: what the window does at the ends of the axis.
    pub ends: Padding,
}

/// A constraint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Constraint {
    /// The two dimensions are identical.
    DimEq(DimTerm, DimTerm),
    /// The first dimension, the result, refines the second, the operand.
    DimLe(DimTerm, DimTerm),
    /// The rows have the same axes; markers are not consulted.
    RowEq(RowTerm, RowTerm),
    /// The first row, the result, refines the second, the operand, in the one-shot order.
    RowLe(RowTerm, RowTerm),
    /// The row is made of the others: it is not longer than the longest of them, and each of its
    /// claims is a claim of one of them.
    MadeOf(RowTerm, Vec<RowTerm>),
    /// The axis is visited at every `stride`-th position from `offset` on.
    Affine {
        /// The axis that is read or written.
        axis: DimTerm,
        /// The dimension that is iterated.
        over: DimTerm,
        /// The step of the iteration.
        stride: u64,
        /// Added to every index.
        offset: u64,
        /// The window that moves along, if there is one.
        window: Option<Window>,
    },
    /// The axis is the concatenation of the components and of `literal` further elements.
    Concat {
        /// The whole.
        axis: DimTerm,
        /// The parts.
        components: Vec<DimTerm>,
        /// Sizes of components written as numbers.
        literal: u64,
    },
    /// The axis has at least this many elements.
    AtLeast(DimTerm, u64),
    /// The axis has at most this many elements.
    AtMost(DimTerm, u64),
    /// The pieces have together `coeff·over / (denom·divided_by)` elements; without `over` it counts as one.
    Count {
        /// The axes counted.
        pieces: Vec<Piece>,
        /// A literal factor.
        coeff: u64,
        /// A dimension to multiply by.
        over: Option<DimTerm>,
        /// A literal divisor.
        denom: u64,
        /// Dimensions that divide the number.
        divided_by: Vec<DimTerm>,
    },
    /// The pieces, one after another, are these axes.
    Exact(Vec<Piece>, Vec<DimTerm>),
}

/// A row of the program, by the name that its author knows, and the axes inferred for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The kind of the row and the name of the tensor, such as `input of w`.
    pub name: String,
    /// The row.
    pub row: RowTerm,
    /// Its axes.
    pub axes: Vec<Dim>,
}

impl Certificate {
    /// All constraints, in order.
    pub fn constraints(&self) -> impl Iterator<Item = &Constraint> {
        self.steps.iter().flat_map(|step| &step.constraints)
    }
}

/// The constraints of the program and the solution behind its [final
/// shapes](Graph::final_shapes), for an independent checker. Named sizes without a number are
/// taken at their samples. Changes nothing.
pub(crate) fn certificate(graph: &mut Graph) -> Result<Certificate, Error> {
    if graph.is_symbolic() {
        let mut settled = graph.clone();
        symbols::settle_sizes(&mut settled)?;
        return settled.certificate();
    }
    Ok(certified(graph)?.0)
}

/// The constraints of the program and the solution for all sizes of its names: those in their ranges that meet
/// the [conditions](Graph::runtime_checks) that the program relies on. Without open names it is the
/// [certificate](Graph::certificate). Changes nothing.
pub(crate) fn certificate_for_all_sizes(graph: &mut Graph) -> Result<Certificate, Error> {
    if !graph.is_symbolic() {
        return certificate(graph);
    }
    let (certificate, forms) = certified(graph)?;
    let family = forms.family(graph)?;
    let family = family.ok_or_else(|| {
        Error::new(crate::ErrorKind::GaveUp, "the expressions of the named sizes are too large".to_string())
    })?;
    Ok(Certificate { family: Some(family), ..certificate })
}

/// Gives the names in a certificate of a graph other names.
pub(crate) fn rename(
    certificate: &mut Certificate,
    graph: &Graph,
    names: &FxHashMap<Symbol, String>,
) -> Result<(), Error> {
    let Some(family) = &mut certificate.family else { return Ok(()) };
    let known: Vec<(&str, &String)> = names
        .iter()
        .filter_map(|(symbol, name)| Some((&*symbols::read::symbol_data(graph, *symbol)?.name, name)))
        .collect();
    for name in &mut family.names {
        if let Some((_, other)) = known.iter().find(|(own, _)| *own == name.name) {
            name.name = other.to_string();
        }
    }
    let words = Family { conditions: Vec::new(), forms: Vec::new(), ..family.clone() };
    for condition in &mut family.conditions {
        condition.text = symbols::need_text(&condition.form, condition.need, |symbol| {
            words.names.get(symbol.0 as usize).map_or_else(|| "?".to_string(), |name| name.name.clone())
        });
    }
    Ok(())
}

/// The certificate without its family, and the expressions that its dimensions refer to.
fn certified(graph: &mut Graph) -> Result<(Certificate, Forms), Error> {
    // If the program has no final shapes, this error explains why.
    final_shapes::final_shapes(graph)?;
    let mut terms = Terms::new(&graph.solver);
    let mut stated = Vec::with_capacity(graph.solver.len());
    graph.solver.each_constraint(|constraint| stated.push(terms.constraint(constraint)));
    let mut named = Vec::new();
    for tensor in graph.tensors() {
        let Some(name) = names::name_of(graph, tensor) else { continue };
        for (kind, row) in Kind::ALL.into_iter().zip(graph.rows(tensor)) {
            let row = terms.row_term(row.term(&graph.axes));
            named.push(Shape { name: format!("{} of {name}", word(kind)), row, axes: Vec::new() });
        }
    }
    let Terms { dims, rows, .. } = terms;
    let discardable = dims.all.iter().enumerate();
    let discardable = discardable.filter(|(_, var)| graph.solver.is_discardable(**var));
    let discardable = discardable.map(|(number, _)| number).collect();
    let steps = by_step(graph, stated);
    let bases = graph.bases.iter().map(|basis| basis.to_string()).collect();
    let mut forms = Forms::default();
    let ((dims, rows), _) = graph.closed(|closed, _| {
        let dims: Vec<Dim> = dims.all.iter().map(|var| forms.dim(closed, closed.dim(*var))).collect();
        let mut axes = |axes: &[order::Dim]| axes.iter().map(|axis| forms.dim(closed, *axis)).collect();
        let row = |row: order::Row| Row { lead: axes(row.lead()), trail: axes(row.trail()) };
        let rows: Vec<Row> = rows.all.iter().map(|var| closed.row(*var)).map(row).collect();
        (dims, rows)
    })?;
    let shapes = Vec::new();
    let mut certificate = Certificate { steps, discardable, dims, rows, shapes, bases, family: None };
    for shape in &mut named {
        shape.axes = certificate.axes(&shape.row);
    }
    certificate.shapes = named;
    Ok((certificate, forms))
}

/// The constraints, grouped by the steps they come from.
fn by_step(graph: &Graph, stated: Vec<Constraint>) -> Vec<CertificateStep> {
    let mut steps: Vec<CertificateStep> = Vec::new();
    let mut last = None;
    for (at, constraint) in stated.into_iter().enumerate() {
        let step = graph.origins.get(at).map(|origin| origin.step);
        match steps.last_mut() {
            Some(said) if step == last => said.constraints.push(constraint),
            _ => {
                let text = step.map_or_else(String::new, |step| text_of_step(graph, step));
                let set = step.and_then(|step| size_set_by(graph, step));
                steps.push(CertificateStep { text, set, constraints: vec![constraint] });
            }
        }
        last = step;
    }
    steps
}

/// The named size that a step sets, and its number.
fn size_set_by(graph: &Graph, step: StepId) -> Option<(String, u64)> {
    let Some(Step::Size(at, size)) = graph.steps.get(step.index()) else { return None };
    Some((graph.symbols.get(*at as usize)?.name.to_string(), *size))
}

/// The text of a step; of a leaf, with its declaration.
fn text_of_step(graph: &Graph, step: StepId) -> String {
    let tensor = names::step_results(graph, step).next();
    let declared = tensor.and_then(|tensor| Some((tensor, node::declaration_of(graph, tensor)?)));
    match declared {
        Some((tensor, declared)) => format!("`{}: {}`", names::label_of(graph, tensor), declared.trim()),
        None => names::subject(graph, step),
    }
}

impl Certificate {
    fn value(&self, term: &DimTerm) -> Dim {
        match term {
            DimTerm::Var(number) => self.dims.get(*number).copied().unwrap_or(Dim::Unit),
            DimTerm::Dim(dim) => *dim,
        }
    }

    fn axes(&self, term: &RowTerm) -> Vec<Dim> {
        let value = |term: &DimTerm| self.value(term);
        let middle = term.hole.and_then(|number| self.rows.get(number));
        let middle = middle.into_iter().flat_map(|row| row.lead.iter().chain(&row.trail)).copied();
        let (lead, trail) = (term.lead.iter().map(value), term.trail.iter().map(value));
        lead.chain(middle).chain(trail).collect()
    }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Batch => "batch",
        Kind::Input => "input",
        Kind::Output => "output",
    }
}

fn dim(dim: order::Dim) -> Dim {
    match dim {
        order::Dim::Unit => Dim::Unit,
        // Constraints mention names by variables.
        order::Dim::Symbolic(_) => {
            debug_assert!(false, "a named size without a number in a certificate");
            Dim::Unit
        }
        order::Dim::Atom(atom) => Dim::Atom { size: atom.size, basis: atom.basis.0 },
    }
}

/// Numbers for variables, in the order in which they are mentioned first.
struct Numbers<V> {
    known: FxHashMap<V, usize>,
    all: Vec<V>,
}

impl<V: Copy + Eq + Hash> Numbers<V> {
    fn new() -> Self {
        Numbers { known: FxHashMap::default(), all: Vec::new() }
    }

    fn of(&mut self, var: V) -> usize {
        *self.known.entry(var).or_insert_with(|| {
            self.all.push(var);
            self.all.len() - 1
        })
    }
}

/// Converts the terms of a solver to plain ones.
struct Terms<'a> {
    solver: &'a Solver,
    dims: Numbers<core::DimVar>,
    rows: Numbers<RowVar>,
}

impl<'a> Terms<'a> {
    fn new(solver: &'a Solver) -> Self {
        Terms { solver, dims: Numbers::new(), rows: Numbers::new() }
    }

    fn dim_term(&mut self, term: core::DimTerm) -> DimTerm {
        match term.var() {
            Some(var) => DimTerm::Var(self.dims.of(var)),
            None => DimTerm::Dim(self.solver.ground(term).map_or(Dim::Unit, dim)),
        }
    }

    fn dim_terms(&mut self, terms: &[core::DimTerm]) -> Vec<DimTerm> {
        terms.iter().map(|term| self.dim_term(*term)).collect()
    }

    fn row_term(&mut self, term: core::RowTerm<'_>) -> RowTerm {
        let lead = self.dim_terms(term.lead);
        let hole = match term.hole {
            Hole::Marker => None,
            Hole::Var(var) => Some(self.rows.of(var)),
        };
        RowTerm { lead, hole, trail: self.dim_terms(term.trail) }
    }

    fn pieces(&mut self, pieces: &[core::Piece]) -> Vec<Piece> {
        let piece = |piece: &core::Piece| match piece {
            core::Piece::Dim(term) => Piece::Dim(self.dim_term(*term)),
            core::Piece::Row(var) => Piece::Row(self.rows.of(*var)),
        };
        pieces.iter().map(piece).collect()
    }

    fn constraint(&mut self, constraint: core::Constraint<'_>) -> Constraint {
        match constraint {
            core::Constraint::DimEq(a, b) => Constraint::DimEq(self.dim_term(a), self.dim_term(b)),
            core::Constraint::DimLe { res, opnd } => {
                Constraint::DimLe(self.dim_term(res), self.dim_term(opnd))
            }
            core::Constraint::RowEq(a, b) => Constraint::RowEq(self.row_term(a), self.row_term(b)),
            core::Constraint::RowLe { res, opnd } => {
                Constraint::RowLe(self.row_term(res), self.row_term(opnd))
            }
            core::Constraint::MadeOf { res, opnds } => {
                let opnds = opnds.iter().map(|opnd| self.row_term(*opnd)).collect();
                Constraint::MadeOf(self.row_term(core::RowTerm::var(res)), opnds)
            }
            core::Constraint::Affine { axis, form, over, kernel } => {
                let (axis, over) = (self.dim_term(axis), self.dim_term(over));
                let window = form.window.zip(kernel).map(|(window, kernel)| Window {
                    kernel: self.dim_term(kernel),
                    dilation: window.dilation,
                    ends: window.padding,
                });
                Constraint::Affine { axis, over, stride: form.stride, offset: form.offset, window }
            }
            core::Constraint::Concat { axis, components, literal } => Constraint::Concat {
                axis: self.dim_term(axis),
                components: self.dim_terms(components),
                literal,
            },
            core::Constraint::AtLeast(term, least) => Constraint::AtLeast(self.dim_term(term), least),
            core::Constraint::AtMost(term, most) => Constraint::AtMost(self.dim_term(term), most),
            core::Constraint::Count { pieces, numerator, divided_by, .. } => Constraint::Count {
                pieces: self.pieces(pieces),
                coeff: numerator.coeff,
                over: numerator.over.map(|term| self.dim_term(term)),
                denom: numerator.denom,
                divided_by: self.dim_terms(divided_by),
            },
            core::Constraint::Exact { pieces, axes, .. } => {
                Constraint::Exact(self.pieces(pieces), self.dim_terms(axes))
            }
        }
    }
}
