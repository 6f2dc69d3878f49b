//! The source of each tensor's shape: declared, entailed, or completed by closing.

use std::fmt;

use broadloom_core::order::Dim;
use broadloom_core::{Closed, DimShape, DimTerm, Policy};
use broadloom_spec::Kind;

use crate::declaration::BufferFacts;
use crate::error::Error;
use crate::shape::{PartialAxis, PartialRow};
use crate::step::{Leaf, Rows, Tensor};
use crate::view::View;
use crate::{Graph, partial_shape};

/// The source of a tensor's shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// Its declaration says everything.
    Declared,
    /// The program entails it.
    Forced,
    /// Closing completed it, by a rule.
    Chosen(Completion),
}

/// The rule by which closing completed a shape; of several rules the most informative one. Shown, it is a phrase about the shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completion {
    /// The usual number of axes did not fit, and a search found another one.
    Search,
    /// As few axes as the number of elements needs.
    FewestAxes,
    /// The least size that fits, because nothing decides it.
    LeastSize,
    /// Of what a scan carries: the shape of what a turn makes of it.
    Turn,
    /// Of a state: the shape of what is assigned to it.
    Assignment,
    /// Of a gradient: the shape of what it is the gradient of.
    Gradient,
    /// Of another leaf: the sizes of what it is used with.
    Use,
    /// Of a result: the sizes and axes of its operands.
    Operands,
    /// Used with several sizes, of which it takes none, so that it broadcasts.
    SeveralSizes,
    /// An axis of one element, because nothing asks for more.
    OneElement,
    /// The number of axes, where all sizes are known.
    Rank,
    /// No axes, because nothing asks for any.
    NoAxes,
}

impl fmt::Display for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Completion::Search => "found by search: the usual number of axes did not fit",
            Completion::FewestAxes => "divides its elements up with as few axes as will do",
            Completion::LeastSize => "the least size that fits",
            Completion::Turn => "has the shape of what a turn makes of it",
            Completion::Assignment => "takes the shape of what is assigned to it",
            Completion::Gradient => "has the shape of what it is the gradient of",
            Completion::Use => "inferred from its use",
            Completion::Operands => "follows from its operands",
            Completion::SeveralSizes => "used with several sizes: takes none of them and broadcasts",
            Completion::OneElement => "one element: nothing asks for more",
            Completion::Rank => "inferred",
            Completion::NoAxes => "no axes: nothing asks for any",
        })
    }
}

/// A tensor whose shape is not complete.
struct OpenTensor {
    tensor: Tensor,
    leaf: Option<Leaf>,
    rows: Rows,
    known: [PartialRow; 3],
}

/// The choices of closing about the axes of one shape, the most informative first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AxisChoice {
    Searched,
    Counted,
    Guessed,
    Sized,
    Relaxed,
    Unit,
    NoMore,
}

/// Returns how the shape of a tensor is known. To ask for many tensors, use
/// [`how_all`](Graph::how_all), which closes the program once.
pub(crate) fn how_known(graph: &mut Graph, tensor: Tensor) -> Result<How, Error> {
    graph.known(tensor)?;
    let open = match known_already(graph, tensor) {
        Ok(how) => return Ok(how),
        Err(open) => open,
    };
    let (how, _) = graph.closed(|closed, view| completed(&open, closed, view))?;
    Ok(how)
}

/// Returns how the shapes of all tensors are known, by [index](Tensor::index). Closes the
/// program once.
pub(crate) fn how_all(graph: &mut Graph) -> Result<Vec<How>, Error> {
    let mut all = vec![How::Forced; graph.tensors.len()];
    let mut open = Vec::new();
    for tensor in graph.tensors() {
        match known_already(graph, tensor) {
            Ok(how) => all[tensor.index()] = how,
            Err(rest) => open.push(rest),
        }
    }
    if !open.is_empty() {
        graph.closed(|closed, view| {
            for each in &open {
                all[each.tensor.index()] = completed(each, closed, view);
            }
        })?;
    }
    Ok(all)
}

/// Returns true if the declaration of a tensor says everything about its shape. What closing has to complete is never declared.
pub(crate) fn is_declared(graph: &Graph, tensor: Tensor) -> bool {
    graph.known(tensor).is_ok() && known_already(graph, tensor).is_ok_and(|how| how == How::Declared)
}

/// Returns how a tensor's shape is known if it is complete before closing; otherwise returns
/// the parts that are known.
fn known_already(graph: &Graph, tensor: Tensor) -> Result<How, Box<OpenTensor>> {
    let (rows, leaf) = (graph.rows(tensor), graph.leaf(tensor));
    let is_number = matches!(leaf, Some(Leaf::Number(_) | Leaf::Size(_)));
    let declared = graph.declarations.get(&tensor.0);
    let listed = declared
        .is_some_and(|declared| matches!(declared.given, BufferFacts::Axes(_) | BufferFacts::Rows(..)));
    // A named size counts as written, like a number.
    let named = |axis: DimTerm| graph.symbols.iter().any(|data| axis == data.var.into());
    let written = |axis: &DimTerm| graph.solver.ground(*axis).is_some() || named(*axis);
    let ground = rows.iter().all(|row| {
        let (lead, trail) = row.flanks(&graph.axes);
        row.hole.is_none() && lead.iter().chain(trail).all(written)
    });
    if is_number || (ground && declared.is_some()) {
        return Ok(How::Declared);
    }
    if ground {
        return Ok(How::Forced);
    }
    let known = rows.map(|row| partial_shape::partial_row(graph, row));
    let complete = |row: &PartialRow| !row.open && row.lead.iter().all(|axis| *axis != PartialAxis::Unknown);
    let said = declared.is_some() && leaf.is_none();
    match (known.iter().all(complete), listed || said) {
        (true, true) => Ok(How::Declared),
        (true, false) => Ok(How::Forced),
        (false, _) => Err(Box::new(OpenTensor { tensor, leaf, rows, known })),
    }
}

/// Finds the rule by which closing completed a shape.
fn completed(open: &OpenTensor, closed: &Closed<'_>, view: &View<'_>) -> How {
    let mut found: Option<AxisChoice> = None;
    let mut any_axes = false;
    for (kind, known) in Kind::ALL.into_iter().zip(&open.known) {
        let row = open.rows[kind as usize];
        let mut dims = Vec::new();
        closed.each_axis(row.term(view.axes), |dim| dims.push(dim));
        any_axes |= !dims.is_empty();
        let mut note = |what: AxisChoice| found = Some(found.map_or(what, |found| found.min(what)));
        if known.open {
            note(match row.hole.and_then(|hole| closed.rank_policy_of(hole)) {
                Some(Policy::SearchRank) => AxisChoice::Searched,
                Some(Policy::CountedRank) => AxisChoice::Counted,
                _ => AxisChoice::NoMore,
            });
        }
        let (front, back) = (known.lead.len(), dims.len() - known.trail.len().min(dims.len()));
        let (lead, trail) = row.flanks(view.axes);
        for (at, dim) in dims.iter().enumerate() {
            let axis = if at < front {
                known.lead.get(at)
            } else {
                at.checked_sub(back).and_then(|at| known.trail.get(at))
            };
            if axis.is_some_and(|axis| *axis != PartialAxis::Unknown) {
                continue;
            }
            let written = lead.get(at).or_else(|| trail.get((at + trail.len()).checked_sub(dims.len())?));
            let what = match (written, row.hole) {
                (Some(term), _) => term.var().map(DimShape::Var),
                (None, hole) => hole.map(|hole| DimShape::Front(hole, (at - lead.len()) as u32)),
            };
            note(match (what.and_then(|what| closed.policy_of(what)), dim) {
                (Some(Policy::GuessedSize), _) => AxisChoice::Guessed,
                (Some(Policy::RelaxedLeaf), _) => AxisChoice::Relaxed,
                (_, Dim::Unit) => AxisChoice::Unit,
                _ => AxisChoice::Sized,
            });
        }
    }
    How::Chosen(match (found.unwrap_or(AxisChoice::NoMore), open.leaf) {
        (AxisChoice::Searched, _) => Completion::Search,
        (AxisChoice::Counted, None) => Completion::Operands,
        (AxisChoice::Counted, _) => Completion::FewestAxes,
        (AxisChoice::Guessed, _) => Completion::LeastSize,
        (AxisChoice::Sized, Some(Leaf::Carried)) => Completion::Turn,
        (AxisChoice::Sized, Some(Leaf::State)) => Completion::Assignment,
        (AxisChoice::Sized, Some(Leaf::Gradient(_))) => Completion::Gradient,
        (AxisChoice::Sized, Some(_)) => Completion::Use,
        (AxisChoice::Sized, None) => Completion::Operands,
        (AxisChoice::Relaxed, _) => Completion::SeveralSizes,
        (AxisChoice::Unit, _) => Completion::OneElement,
        (AxisChoice::NoMore, _) if any_axes => Completion::Rank,
        (AxisChoice::NoMore, _) => Completion::NoAxes,
    })
}
