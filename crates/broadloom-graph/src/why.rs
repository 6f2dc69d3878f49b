//! The reasons why an axis has its size, and a row its number of axes: the shortest chain from a
//! text that somebody wrote.
//!
//! `w` in `w @ x + b`, with `b: 64`, has 64 outputs, because
//!
//! ```text
//! the output axis of `b`, declared `64`
//! `w @ x + b`: the output of `b` goes into its output; the output of `w @ x` goes into its output
//! `w @ x`: the output of `w` becomes its output
//! closing: `w` takes the size of what it is used with
//! ```

use std::fmt;

use broadloom_core::order::Dim;
use broadloom_core::{
    Cause, Closed, ConstraintId, Derived, DimShape, DimTerm, Policy, RowTerm, RowVar, Written,
};
use broadloom_spec::Kind;
use rustc_hash::FxHashSet;

use crate::error::{ClosingRule, Error, ErrorKind, MessageLine};
use crate::message::walk::TensorRow;
use crate::message::{self, axes, chain, ends, walk};
use crate::shape::{Axis, PartialAxis, PartialRow};
use crate::size::range_text;
use crate::spec_axis::Spot;
use crate::step::{Aspect, Captured, Leaf, Origin, RowRef, Step, StepId, Tensor, place};
use crate::{Graph, captured, names, partial_shape, symbols};

/// The reason why an axis of a closed program has its size, or a row its number of axes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Why {
    /// The size.
    pub size: WhySize,
    /// True if the program entails it; otherwise closing chose it, and the parts name the rule.
    pub forced: bool,
    /// The steps from the origin of the size to the tensor in question. Lines about closing have
    /// the kind of their [rule](MessageLine::rule).
    pub parts: Vec<MessageLine>,
}

/// A size that is explained. Shown, it is the axis as shapes are written, or the number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhySize {
    /// An axis.
    Axis(Box<Axis>),
    /// The number of axes of a row.
    Rank(u32),
}

impl fmt::Display for WhySize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WhySize::Axis(axis) => axis.fmt(f),
            WhySize::Rank(rank) => rank.fmt(f),
        }
    }
}

/// The facts about an axis that were read of a closed program.
struct Asked {
    dim: Dim,
    /// The number of axes of the row.
    rank: usize,
    /// The place in the solver; none if the tensor's own row writes the size.
    what: Option<DimShape>,
    chain: Vec<Derived>,
    /// The reason for the number of axes, if the chain contains no choice.
    ranks: Vec<Derived>,
}

/// Explains why an axis of the closed program has its size: the shortest chain of steps to the
/// tensor, beginning with the text that forces the size. Axes are counted from 0. Changes
/// nothing.
pub(crate) fn why(graph: &mut Graph, tensor: Tensor, kind: Kind, axis: usize) -> Result<Why, Error> {
    graph.known(tensor)?;
    let row = graph.rows(tensor)[place(kind)];
    let partial = partial_shape::partial_row(graph, row);
    let ((asked, rank), _) = graph.closed(|closed, view| ask(closed, row, view.axes, axis))?;
    let Some(asked) = asked else {
        let (name, has) = (names::message_name(graph, tensor), axes(rank as u32));
        let message = format!("`{name}` has no {} axis {axis}: its {} has {has}", kind.name(), kind.name());
        return Err(Error::new(ErrorKind::Use, message).with_help("axes are counted from 0"));
    };
    let forced = is_known(&partial, axis, asked.rank);
    let size = axis_size(graph, asked.dim);
    let goal = (tensor, kind);
    if matches!(asked.dim, Dim::Symbolic(_))
        && let Some(parts) = why_named(graph, goal, axis, &asked)
    {
        return Ok(Why { size, forced, parts });
    }
    let Some(what) = asked.what else {
        return Ok(Why { size, forced: true, parts: own_size(graph, goal, axis, &asked) });
    };
    let mut chain = asked.chain;
    if asked.dim == Dim::Unit && chain.iter().all(|link| link.what.is_none()) {
        // A bound that no value takes is no reason.
        chain.clear();
    }
    if forced {
        chain.retain(|link| !is_choice(link));
    } else if !chain.is_empty() {
        chain.extend(asked.ranks.into_iter().filter(is_choice).take(1));
    }
    let mut parts = chain_lines(graph, &chain, goal);
    if parts.is_empty() && !forced {
        parts.push(nothing_said(graph, what));
    } else if asked.dim == Dim::Unit
        && !chain.iter().any(|link| matches!(link.cause, Cause::Policy(Policy::RelaxedLeaf, _)))
        && !parts.iter().any(|part| part.dim == Some(Dim::Unit))
    {
        // Two different sizes are below it, so it has neither.
        let text = "sizes that differ leave only one element, which broadcasts";
        parts.push(message::about_tensor(graph, tensor, text.into()));
    }
    if !forced && parts.iter().all(|part| part.rule.is_none()) {
        // The sizes are certain; the number of axes is not.
        let (rule, text) = policy_words(Policy::LeastRank, "");
        parts.push(message::about_tensor(graph, tensor, text).by_rule(rule));
    }
    Ok(Why { size, forced, parts })
}

/// Explains why a row of the closed program has its number of axes, in the same way.
pub(crate) fn why_axes(graph: &mut Graph, tensor: Tensor, kind: Kind) -> Result<Why, Error> {
    graph.known(tensor)?;
    let row = graph.rows(tensor)[place(kind)];
    let forced = !partial_shape::partial_row(graph, row).open;
    let ((rank, chain), _) = graph.closed(|closed, view| {
        let mut rank = 0;
        closed.each_axis(row.term(view.axes), |_| rank += 1);
        (rank, row.hole.map(|hole| closed.shortest_rank(hole)))
    })?;
    let goal = (tensor, kind);
    let size = WhySize::Rank(rank);
    let Some(mut chain) = chain else {
        return Ok(Why { size, forced: true, parts: own_axes(graph, goal, rank) });
    };
    if forced {
        chain.retain(|link| !is_choice(link));
    }
    Ok(Why { size, forced, parts: chain_lines(graph, &chain, goal) })
}

/// Explains why a captured dimension of the closed program has its size, in the same way.
pub(crate) fn why_size(graph: &mut Graph, captured: Captured) -> Result<Why, Error> {
    captured::resolve(graph, captured)?;
    let Some(Ok(term)) = captured::captured_place(graph, captured) else {
        let message = format!("`{}` is a row, not an axis", captured::captured_name(graph, captured));
        return Err(Error::new(ErrorKind::Use, message).with_help("ask for an axis of it"));
    };
    let what = term.var().map(DimShape::Var);
    let ((dim, mut chain), _) = graph.closed(|closed, _| {
        let mut size = Dim::Unit;
        closed.each_axis(RowTerm::closed(std::slice::from_ref(&term)), |dim| size = dim);
        (size, what.map(|what| closed.shortest_dim(what)).unwrap_or_default())
    })?;
    let forced = captured::term_size(graph, term).is_some();
    if forced {
        chain.retain(|link| !matches!(link.cause, Cause::Policy(..)));
    }
    let mut parts =
        captured.tensor().map_or_else(Vec::new, |tensor| chain_lines(graph, &chain, (tensor, Kind::Output)));
    if let Some(what) = what.filter(|_| parts.is_empty() && !forced) {
        parts.push(nothing_said(graph, what));
    }
    Ok(Why { size: axis_size(graph, dim), forced, parts })
}

/// Explains a size that depends on named ones: as if they had numbers, beginning with their
/// declarations.
fn why_named(graph: &mut Graph, goal: TensorRow, axis: usize, asked: &Asked) -> Option<Vec<MessageLine>> {
    let sizes = symbols::some_sizes(graph).ok()?;
    let sizes: Vec<(&str, u64)> = graph.dims().zip(sizes).collect();
    let mut numbered = graph.with_sizes(&sizes).ok()?;
    let explained = numbered.why(goal.0, goal.1, axis).ok()?;
    let declared = |part: MessageLine| match part.step.map(|step| &numbered.steps[step.index()]) {
        Some(Step::Size(at, _)) => declared_size(graph, *at),
        _ => part,
    };
    let mut parts: Vec<MessageLine> = explained.parts.into_iter().map(declared).collect();
    if parts.len() == 1 {
        // The name is in the row of a declaration.
        parts.append(&mut own_size(graph, goal, axis, asked));
    }
    Some(parts)
}

/// The declaration of a named size.
fn declared_size(graph: &Graph, at: u32) -> MessageLine {
    let step = graph
        .steps
        .iter()
        .position(|step| matches!(step, Step::Dim(known, _) if *known == at))
        .map(StepId::new);
    let data = &graph.symbols[at as usize];
    let text = match data.dynamic {
        true => format!("`{}`, a size that is known when the program runs", data.name),
        false => format!("`{}`, a named size in {}", data.name, range_text(data.range)),
    };
    MessageLine { step, ..MessageLine::from(text) }.with_short(&*data.name)
}

/// The size of an axis.
fn axis_size(graph: &Graph, dim: Dim) -> WhySize {
    WhySize::Axis(Box::new(partial_shape::axis_of(graph, dim)))
}

/// The origin of a size that the row of a tensor writes itself.
fn own_size(graph: &Graph, goal: TensorRow, axis: usize, asked: &Asked) -> Vec<MessageLine> {
    let (first, mut passed) = walk::walk_back(graph, goal);
    passed.reverse();
    let spot = spot(graph, first, axis, asked.rank);
    let (tensor, kind) = first;
    let text = ends::written_text(graph, tensor, kind, Some(spot));
    let mut parts =
        vec![message::about_tensor(graph, tensor, text).with_short(message::shown(graph, asked.dim))];
    parts.append(&mut passed);
    parts
}

/// The origin of a row that is written in full.
fn own_axes(graph: &Graph, goal: TensorRow, rank: u32) -> Vec<MessageLine> {
    let (first, mut passed) = walk::walk_back(graph, goal);
    passed.reverse();
    let mut parts = vec![rank_origin(graph, first, rank)];
    parts.append(&mut passed);
    parts
}

/// The line for the number of axes of a row, and the place where it is written.
fn rank_origin(graph: &Graph, (tensor, kind): TensorRow, rank: u32) -> MessageLine {
    let step = graph.tensors[tensor.index()].step;
    let results = names::step_operands(graph, step).len();
    let (name, kind_name) = (names::message_name(graph, tensor), kind.name());
    let text = if let Some(declared) = graph.declarations.get(&tensor.0) {
        format!("the {kind_name} of `{name}` has {}, declared `{}`", axes(rank), declared.shape)
    } else if let Some(Step::Op { result, .. }) = graph.steps.get(step.index()) {
        let slot = results + (tensor.0 - result) as usize;
        match chain::spec_row_text(graph, step, slot, kind) {
            Some(written) => format!("{}: its {kind_name} is `{written}`", names::called(graph, step)),
            None => format!("{}: has no {kind_name} axes", names::called(graph, step)),
        }
    } else if let Some(Leaf::Param) = graph.leaf(tensor) {
        format!("`{name}` is a parameter, which has no {kind_name} axes unless its shape says so")
    } else {
        format!("`{name}` is a number, which has no axes")
    };
    MessageLine::at(step, text).with_short(axes(rank))
}

/// A chain in words: one line for consecutive links of one step, and lines for the steps that
/// pass rows on unchanged.
fn chain_lines(graph: &Graph, chain: &[Derived], goal: TensorRow) -> Vec<MessageLine> {
    let mut parts: Vec<MessageLine> = Vec::new();
    // The rows that have the axis which the last link reached, and that link.
    let mut reached: Vec<TensorRow> = Vec::new();
    let mut before: Option<&Derived> = None;
    let mut explained: FxHashSet<ConstraintId> = FxHashSet::default();
    for link in chain {
        let Cause::Constraint(id) = link.cause else {
            let owner = chosen_for(graph, link).into_iter();
            let rows = owner.flat_map(|tensor| Kind::ALL.map(|kind| (tensor, kind)));
            let rows: Vec<TensorRow> = rows.filter(|row| has(graph, *row, link)).collect();
            parts.extend(bridge(graph, &reached, &rows));
            parts.push(chosen(graph, link));
            if !rows.is_empty() {
                reached = rows;
            }
            continue;
        };
        let rows = rows_related(graph, id);
        if let Some(written) = link.written {
            parts.extend(origin_of(graph, id, written, link.what.is_some()));
        } else if let Some(from) = before {
            let next: Vec<TensorRow> = rows.iter().copied().filter(|row| has(graph, *row, from)).collect();
            parts.extend(bridge(graph, &reached, &next));
        }
        if explained.insert(id) {
            add_link(graph, &mut parts, id);
        }
        reached = rows.into_iter().filter(|row| has(graph, *row, link)).collect();
        before = Some(link);
    }
    // The way to the tensor may be the way that led to the choice.
    let last = bridge(graph, &reached, &[goal]);
    let new = |part: &MessageLine| parts.iter().all(|known| known.text != part.text);
    let last: Vec<MessageLine> = last.into_iter().filter(new).collect();
    parts.extend(last);
    parts
}

/// Adds the text of a constraint as a line, or to the last line if that is about the same step.
fn add_link(graph: &Graph, parts: &mut Vec<MessageLine>, id: ConstraintId) {
    let (step, said) = (message::origin(graph, id).step, chain::claim_text(graph, id));
    let is_op = matches!(graph.steps.get(step.index()), Some(Step::Op { .. }));
    if let Some(last) = parts.last_mut()
        && (last.step == Some(step) && is_op && !last.statements.is_empty())
    {
        last.add_statement(said);
        return;
    }
    let part = if is_op {
        MessageLine::stating(step, &names::called(graph, step), said)
    } else {
        let short = if let Some(Step::Set(_, size)) = graph.steps.get(step.index()) {
            size.to_string()
        } else {
            said.clone()
        };
        MessageLine::at(step, said).with_short(short)
    };
    if parts.last().is_none_or(|known| known.text != part.text) {
        parts.push(part);
    }
}

/// The origin of the size, or of the number of axes, that a chain begins with, and the steps
/// from there to the first link.
fn origin_of(graph: &Graph, id: ConstraintId, written: Written, is_axis: bool) -> Vec<MessageLine> {
    let Written { at, of, .. } = written;
    let writes = |row: &TensorRow| {
        let row = graph.rows(row.0)[place(row.1)];
        if is_axis { literal(graph, row, at, of).is_some() } else { row.hole.is_none() && row.len() == of }
    };
    let Some(row) = rows_related(graph, id).into_iter().find(writes) else { return Vec::new() };
    let (first, mut passed) = walk::walk_back(graph, row);
    passed.reverse();
    let mut parts = if is_axis {
        let (at, of) = (at as usize, of as usize);
        let text = ends::written_text(graph, first.0, first.1, Some(spot(graph, first, at, of)));
        let size = literal(graph, graph.rows(first.0)[place(first.1)], at as u32, of as u32);
        let dim = size.and_then(|term| graph.solver.ground(term));
        let shown = dim.map_or(text.clone(), |dim| message::shown(graph, dim));
        vec![message::about_tensor(graph, first.0, text).with_short(shown).with_dim(dim)]
    } else {
        vec![rank_origin(graph, first, of)]
    };
    parts.append(&mut passed);
    parts
}

/// The size that a row writes at a position, if it does.
fn literal(graph: &Graph, row: RowRef, at: u32, of: u32) -> Option<DimTerm> {
    let (lead, trail) = row.flanks(&graph.axes);
    let at_front = lead.get(at as usize);
    let term = at_front.or_else(|| trail.get(trail.len().checked_sub((of - at) as usize)?))?;
    graph.solver.ground(*term).map(|_| *term)
}

fn spot(graph: &Graph, row: TensorRow, at: usize, of: usize) -> Spot {
    let row = graph.rows(row.0)[place(row.1)];
    if row.hole.is_some() && at < usize::from(row.lead) { Spot::Front(at) } else { Spot::Back(of - 1 - at) }
}

/// The rows of tensors that a constraint relates.
fn rows_related(graph: &Graph, id: ConstraintId) -> Vec<TensorRow> {
    let Origin { step, part, .. } = message::origin(graph, id);
    let mut rows = message::rows_read(graph, id);
    let all = |tensor: Tensor| Kind::ALL.map(|kind| (tensor, kind));
    match (graph.steps.get(step.index()), part) {
        (Some(Step::Op { .. }), Aspect::Contract) => {}
        (Some(Step::Op { .. }), Aspect::Axis(_) | Aspect::Whole) => {
            rows.extend(names::step_operands(graph, step).iter().copied().flat_map(all));
            rows.extend(names::step_results(graph, step).flat_map(all));
        }
        (Some(Step::Op { .. } | Step::Leaf { .. }), _) => {
            rows.extend(names::step_results(graph, step).flat_map(all))
        }
        (Some(Step::Set(captured, _) | Step::Sum(captured)), _) => {
            rows.extend(captured.tensor().into_iter().flat_map(all))
        }
        (Some(Step::Equal(a, b) | Step::Scale(a, _, b)), _) => {
            rows.extend([a, b].into_iter().filter_map(|captured| captured.tensor()).flat_map(all));
        }
        _ => {}
    }
    rows
}

/// Returns true if a row of a tensor has the axis that a link is about; for numbers of axes,
/// the row variable.
fn has(graph: &Graph, (tensor, kind): TensorRow, link: &Derived) -> bool {
    let row = graph.rows(tensor)[place(kind)];
    match link.what {
        Some(DimShape::Front(var, _) | DimShape::Back(var, _)) => row.hole == Some(var),
        Some(DimShape::Var(var)) => {
            let (lead, trail) = row.flanks(&graph.axes);
            lead.iter().chain(trail).any(|axis| axis.var() == Some(var))
        }
        _ => link.row.is_some() && row.hole == link.row,
    }
}

/// The steps that pass a row on unchanged, from one of some rows to one of others; none if they
/// have one in common.
fn bridge(graph: &Graph, from: &[TensorRow], to: &[TensorRow]) -> Vec<MessageLine> {
    if from.is_empty() || to.iter().any(|row| from.contains(row)) {
        return Vec::new();
    }
    let forward = to.iter().find_map(|row| walk_to(graph, *row, from)).map(|mut passed| {
        passed.reverse();
        passed
    });
    forward.or_else(|| from.iter().find_map(|row| walk_to(graph, *row, to))).unwrap_or_default()
}

/// The steps by which a tensor got its row, back to one of some rows.
fn walk_to(graph: &Graph, mut row: TensorRow, goals: &[TensorRow]) -> Option<Vec<MessageLine>> {
    let mut passed = Vec::new();
    while !goals.contains(&row) {
        let (source, part) = walk::passed_from(graph, row)?;
        passed.push(part);
        row = source;
    }
    Some(passed)
}

/// A choice in words.
fn chosen(graph: &Graph, link: &Derived) -> MessageLine {
    let Cause::Policy(policy, _) = link.cause else { return MessageLine::from(String::new()) };
    let owner = chosen_for(graph, link);
    let name = owner.map_or("it".into(), |tensor| format!("`{}`", names::message_name(graph, tensor)));
    let (rule, text) = policy_words(policy, &name);
    let part = match owner {
        Some(tensor) => message::about_tensor(graph, tensor, text),
        None => MessageLine::from(text),
    };
    part.by_rule(rule)
}

/// The tensor that a choice is about.
fn chosen_for(graph: &Graph, link: &Derived) -> Option<Tensor> {
    let Cause::Policy(_, row) = link.cause else { return None };
    match link.what {
        Some(what) => owner(graph, what),
        None => row.and_then(|row| owner(graph, DimShape::Front(row, 0))),
    }
}

/// The line for an axis whose size nothing gives.
fn nothing_said(graph: &Graph, what: DimShape) -> MessageLine {
    let owner = owner(graph, what);
    let leaf = owner.filter(|tensor| graph.leaf(*tensor).is_some());
    let (rule, text) = match leaf {
        Some(tensor) => (
            ClosingRule::Leaf,
            format!(
                "closing: nothing that `{}` is used with has a size here",
                names::message_name(graph, tensor)
            ),
        ),
        None => (ClosingRule::Interior, "closing: nothing gives the axis a size".into()),
    };
    // A parameter should have one.
    let is_hole = leaf.is_some_and(|tensor| graph.leaf(tensor) == Some(Leaf::Param));
    let text = if is_hole { text } else { format!("{text}, so it has one element and broadcasts") };
    owner
        .map_or(MessageLine::from(text.clone()), |tensor| message::about_tensor(graph, tensor, text))
        .by_rule(rule)
}

/// The tensor that a place in the solver belongs to: the first that has it.
fn owner(graph: &Graph, what: DimShape) -> Option<Tensor> {
    let cause = Cause::Policy(Policy::LeafCap, None);
    let link = Derived { cause, what: Some(what), row: None, written: None };
    graph.tensors().find(|tensor| Kind::ALL.into_iter().any(|kind| has(graph, (*tensor, kind), &link)))
}

/// A choice about something, in words, and the kind of its rule.
fn policy_words(policy: Policy, name: &str) -> (ClosingRule, String) {
    let (rule, text) = match policy {
        Policy::LeafCap => {
            (ClosingRule::Leaf, format!("closing: {name} takes the size of what it is used with"))
        }
        Policy::LeafRank => {
            (ClosingRule::Leaf, format!("closing: {name} takes the axes of what it is used with"))
        }
        Policy::RelaxedLeaf => (
            ClosingRule::Leaf,
            format!("closing: {name} is used with several sizes, so it takes none of them and broadcasts"),
        ),
        Policy::LeastRank => (ClosingRule::Interior, "closing: nothing asks for more axes".into()),
        Policy::CountedRank => {
            (ClosingRule::Arithmetic, format!("closing: {name} takes no more axes than its elements need"))
        }
        Policy::DefaultBasis => (
            ClosingRule::Arithmetic,
            "closing: the size is computed, and counts nothing in particular".into(),
        ),
        Policy::JointSizes => {
            (ClosingRule::Arithmetic, "several equations together leave only this size".into())
        }
        Policy::Symbolic => {
            (ClosingRule::Interior, "a named size, which stays open until a run says it".into())
        }
        Policy::GuessedSize => (
            ClosingRule::Arithmetic,
            "closing: nothing decides the size, so it is the least that fits".into(),
        ),
        Policy::SearchRank => {
            (ClosingRule::Search, format!("closing: with fewer axes for {name} something would not fit"))
        }
        Policy::PreferredMarker | Policy::SearchMarker => {
            (ClosingRule::Search, format!("closing: {name} broadcasts where it fits"))
        }
    };
    (rule, text)
}

/// Returns true if a link is a choice.
fn is_choice(link: &Derived) -> bool {
    matches!(link.cause, Cause::Policy(..))
}

/// Reads an axis of a row from a closed program; `None` if there is no such axis. Also returns the
/// number of axes.
fn ask(closed: &Closed<'_>, row: RowRef, axes: &[DimTerm], axis: usize) -> (Option<Asked>, usize) {
    let mut dims = Vec::new();
    closed.each_axis(row.term(axes), |dim| dims.push(dim));
    let rank = dims.len();
    let Some(dim) = dims.get(axis).copied() else { return (None, rank) };
    let (lead, trail) = row.flanks(axes);
    let written = lead.get(axis).or_else(|| trail.get((axis + trail.len()).checked_sub(rank)?));
    let what = match (written, row.hole) {
        (Some(term), _) => term.var().map(DimShape::Var),
        (None, hole) => hole.map(|hole: RowVar| DimShape::Front(hole, (axis - lead.len()) as u32)),
    };
    let chain = what.map(|what| closed.shortest_dim(what)).unwrap_or_default();
    // The number of axes is explained only if the chain has no choice: then it is what was chosen.
    let ranks = match row.hole.filter(|_| !chain.iter().any(is_choice)) {
        Some(hole) => closed.shortest_rank(hole),
        None => Vec::new(),
    };
    (Some(Asked { dim, rank, what, chain, ranks }), rank)
}

/// Returns true if an axis of a row with `rank` axes was known before closing.
fn is_known(row: &PartialRow, axis: usize, rank: usize) -> bool {
    let known = if axis < row.lead.len() {
        row.lead.get(axis)
    } else {
        row.trail.len().checked_sub(rank - axis).and_then(|at| row.trail.get(at))
    };
    known.is_some_and(|axis| *axis != PartialAxis::Unknown)
}
