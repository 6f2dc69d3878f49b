//! The answer before closing (Formal Core, Thm. 5.6): a substitution and residual bounds.
//!
//! Everything here is read off the store without changing it. Bindings are entailed; markers are not
//! shown, because equality does not determine them. Adjacency cycles are equalities (§10, DI-antisym):
//! they are collapsed here, where they are visible, by one pass over the strongly connected
//! components.

use crate::order::Dim;
use crate::solver::canonical::canonical_dim;
use crate::solver::components::{ComponentId, Components, components};
use crate::solver::forms::observe_form;
use crate::solver::propagate::support::supports_settled;
use crate::solver::stores::ranks::UNBOUNDED;
use crate::solver::stores::reason::Side;
use crate::solver::stores::rows::{Axis, Kind, RowCon, Slot, Spot, Term};
use crate::solver::stores::state::State;
use crate::term::{DimTerm, DimVar, RowVar};
use rustc_hash::{FxHashMap, FxHashSet};

/// A dimension in an answer: ground, or named by the first variable or axis that stands for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DimShape {
    /// A known dimension.
    Ground(Dim),
    /// A dimension variable.
    Var(DimVar),
    /// An axis of a row variable, counted from the front.
    Front(RowVar, u32),
    /// An axis of a row variable, counted from the back.
    Back(RowVar, u32),
}

/// The middle of a row in an answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Middle {
    /// No further axes.
    Closed,
    /// No further axes; the row broadcasts here.
    Marker,
    /// The axes of a row variable.
    Var(RowVar),
    /// The axes of a row variable that are not written out in the flanks.
    Rest(RowVar),
}

/// A row in an answer, up to its marker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowShape {
    /// Known axes at the front.
    pub lead: Vec<DimShape>,
    /// The middle: what stands between the known ends.
    pub middle: Middle,
    /// Known axes at the back.
    pub trail: Vec<DimShape>,
    /// The rank, if it is entailed.
    pub rank: Option<u32>,
    /// The least possible rank.
    pub least: u32,
    /// The greatest possible rank, if there is one.
    pub greatest: Option<u32>,
}

impl RowShape {
    /// The axis at a place from the front, as far as it is known.
    fn front(&self, at: usize) -> Option<DimShape> {
        let rest = if self.middle == Middle::Closed { at.checked_sub(self.lead.len()) } else { None };
        self.lead.get(at).or_else(|| self.trail.get(rest?)).copied()
    }

    /// The axis at a place from the back, as far as it is known.
    fn back(&self, at: usize) -> Option<DimShape> {
        let rest = if self.middle == Middle::Closed { at.checked_sub(self.trail.len()) } else { None };
        self.trail.iter().rev().nth(at).or_else(|| self.lead.iter().rev().nth(rest?)).copied()
    }
}

/// An entailed binding of a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Binding {
    /// A dimension variable equals a ground dimension or another variable.
    Dim(DimVar, DimShape),
    /// A row variable's axes, as far as they are entailed.
    Row(RowVar, RowShape),
}

/// A bound that no solution violates and that is not yet a binding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Bound {
    /// An atom below a dimension.
    Cap(Dim, DimShape),
    /// One dimension below another.
    Below(DimShape, DimShape),
    /// One row below another.
    RowLe(RowShape, RowShape),
    /// Two rows with the same axes, whose alignment depends on an open rank.
    RowEq(RowShape, RowShape),
}

/// The partial answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Entailed bindings of the caller's variables, dimensions first, in the order they were made.
    pub bindings: Vec<Binding>,
    /// Residual bounds.
    pub residual: Vec<Bound>,
    /// True if the bindings alone describe all solutions: nothing is residual, and the report is
    /// complete.
    ///
    /// The Formal Core allows adjacencies here (Cor. 5.8). That cannot be: `a ⊑ b` alone binds nothing, and
    /// not every pair satisfies it.
    pub principal: bool,
    /// True if the report has everything; false if the solver has stopped, if arithmetic or rows
    /// made of others wait, and if ranks are too large to write out.
    pub complete: bool,
}

/// The greatest number of axes written out in one report; a system of enormous ranks is reported in
/// part.
const MOST_AXES: usize = 1 << 20;

/// A term that a row is nested in, and the flanks of the row's own term to strip off.
struct Nested {
    outer: Term,
    lead: u32,
    trail: u32,
    con: u32,
}

/// The names of the classes that have no value.
struct ClassNames {
    shapes: FxHashMap<DimVar, DimShape>,
    /// Class to the representative of its adjacency cycle.
    cycles: FxHashMap<DimVar, DimVar>,
}

/// The value of a dimension variable, if it is known by now. Changes nothing.
pub(crate) fn observe_dim(state: &State, var: DimVar) -> Option<Dim> {
    state.ground(state.dims.resolve(var.into()))
}

/// The axes of a row variable, as far as they are known by now. Changes nothing, and costs no more than the row.
pub(crate) fn observe_row(state: &State, var: RowVar) -> RowShape {
    let term = Term::var(var);
    let mut shape =
        shape(state, term, &ClassNames { shapes: FxHashMap::default(), cycles: FxHashMap::default() });
    // An axis without a size is named by its place: which variable stands for it is no fact.
    let last = shape.trail.len() as u32;
    let lead = shape.lead.iter_mut().zip(0..).map(|(axis, at)| (axis, DimShape::Front(var, at)));
    let trail = shape.trail.iter_mut().zip(1..).map(|(axis, at)| (axis, DimShape::Back(var, last - at)));
    for (axis, place) in lead.chain(trail) {
        let named = |var: DimVar| observe_form(state, var.into()).is_some();
        match axis {
            DimShape::Ground(_) => {}
            // Except by the expression for its size.
            DimShape::Var(var) if named(*var) => {}
            _ => *axis = place,
        }
    }
    shape
}

/// Bindings, residual bounds, and whether they are principal. Changes nothing.
pub(crate) fn report(state: &State) -> Report {
    if state.is_stuck() {
        return Report::default();
    }
    let names = names(state);
    // Arithmetic, and rows made of others, imply more than bounds can express.
    let settled = state.ariths.pending().next().is_none() && supports_settled(state);
    let mut report = Report { complete: settled, ..Report::default() };
    bind_dims(state, &names, &mut report);
    bind_rows(state, &names, &mut report);
    dim_bounds(state, &names, &mut report);
    if report.complete || !settled {
        row_bounds(state, &names, &mut report);
        overlap_bounds(state, &names, &mut report);
    }
    report.principal = report.complete && report.residual.is_empty();
    report
}

fn bind_dims(state: &State, names: &ClassNames, report: &mut Report) {
    for (node, _) in &state.dim_vars {
        let shape = dim_shape(state, (*node).into(), names);
        if shape != DimShape::Var(*node) {
            report.bindings.push(Binding::Dim(*node, shape));
        }
    }
}

/// Equality cases (b) and (c): a fixed row, a row whose ends are known, a row equal to another, or
/// a row that another row is nested in. Equations that have no such form stay residual.
fn bind_rows(state: &State, names: &ClassNames, report: &mut Report) {
    let aliases = row_aliases(state);
    let first = |row: RowVar| aliases.get(&row).copied().unwrap_or(row);
    let nested = nested_rows(state, &first);
    // An equation that is stated twice is reported once.
    let equation = |con: &RowCon| {
        let mut sides = [con.res, con.opnd].map(|term| {
            let literals = state.rows.literals(term).iter().map(|axis| canonical_dim(state, *axis));
            (
                if term.hole == RowVar::NIL { RowVar::NIL } else { first(term.hole) },
                term.lead,
                literals.collect::<Vec<_>>(),
            )
        });
        sides.sort();
        sides
    };
    let cons: Vec<RowCon> = state.rows.cons().collect();
    let as_bindings: FxHashSet<_> =
        nested.values().map(|nested| equation(&cons[nested.con as usize])).collect();
    let mut axes = 0;
    for row in state.rows.ids() {
        let mut shape = shape(state, Term { start: 0, lead: 0, trail: 0, hole: row }, names);
        if shape.middle != Middle::Closed && first(row) != row {
            if !same_ends(state, row, first(row), nested.get(&first(row)), names) {
                keep_ends(row, &shape, report);
            }
            shape.middle = Middle::Var(first(row));
            (shape.lead, shape.trail) = (Vec::new(), Vec::new());
        } else if shape.middle != Middle::Closed
            && let Some(Nested { outer, lead, trail, .. }) = nested.get(&row)
        {
            let (front, back) = state.rows.literals(*outer).split_at(outer.lead as usize);
            let name = |axis: &DimTerm| dim_shape(state, *axis, names);
            let (at_front, at_back) = known(state, row, names);
            if at_front > front.len() - *lead as usize || at_back > back.len() - *trail as usize {
                keep_ends(row, &shape, report);
            }
            shape.lead = front[*lead as usize..].iter().map(name).collect();
            shape.trail = back[..back.len() - *trail as usize].iter().map(name).collect();
            shape.middle = Middle::Var(first(outer.hole));
        }
        axes += shape.lead.len() + shape.trail.len();
        if axes > MOST_AXES {
            report.complete = false;
            break;
        }
        if shape.middle != Middle::Var(row) {
            report.bindings.push(Binding::Row(row, shape));
        }
    }
    for con in cons {
        let RowCon { res, opnd, kind, done, .. } = con;
        if kind != Kind::Eq || done || axes > MOST_AXES {
            continue;
        }
        if !as_bindings.contains(&equation(&con)) && !face_alike(state, res, opnd) {
            report.residual.push(Bound::RowEq(written(state, res, names), written(state, opnd, names)));
        }
    }
}

/// Reports as a bound of its own what is known of a row's ends and its binding does not say.
fn keep_ends(row: RowVar, ends: &RowShape, report: &mut Report) {
    let (lead, trail) = (Vec::new(), Vec::new());
    let bare = RowShape { lead, middle: Middle::Var(row), trail, ..ends.clone() };
    report.residual.push(Bound::RowEq(bare, ends.clone()));
}

/// True if the known ends of an open row are also reported for the row it equals: by the term that
/// one is nested in, or by its own ends.
fn same_ends(state: &State, row: RowVar, other: RowVar, nested: Option<&Nested>, names: &ClassNames) -> bool {
    let slot = |row: RowVar, side: Side, at: u32| state.rows.slot(Slot::Edge { row, side, at }).term;
    let reported = |side: Side, at: u32| {
        let literal = nested.and_then(|nested| {
            let own = if side == Side::Left { nested.lead } else { nested.trail };
            let inside = own + at < nested.outer.near(side);
            inside.then(|| state.rows.spot(&state.ranks, nested.outer, side, own + at))
        });
        if let Some(Spot::Known(term)) = literal { term } else { slot(other, side, at) }
    };
    let (front, back) = known(state, row, names);
    [(Side::Left, front), (Side::Right, back)].into_iter().all(|(side, len)| {
        (0..len as u32).all(|at| {
            let (mine, theirs) = (slot(row, side, at), reported(side, at));
            !tells(state, mine, names)
                || (!theirs.is_none() && state.dims.resolve(mine) == state.dims.resolve(theirs))
        })
    })
}

/// The numbers of known axes of a row of open rank, from the front and from the back.
fn known(state: &State, row: RowVar, names: &ClassNames) -> (usize, usize) {
    let reach =
        |list: &[Axis]| list.iter().rposition(|axis| tells(state, axis.term, names)).map_or(0, |at| at + 1);
    state.rows.partial(row).map_or((0, 0), |ends| (reach(&ends.front), reach(&ends.back)))
}

/// True if an axis says anything besides that it exists: a variable that was made for two facing
/// axes and met nothing else only repeats that the rows are equal.
fn tells(state: &State, axis: DimTerm, names: &ClassNames) -> bool {
    if axis.is_none() {
        return false;
    }
    let Some(root) = state.dims.resolve(axis).var() else { return true };
    let named = names.cycles.get(&root).copied().unwrap_or(root);
    let open = |node: DimVar| state.dims.value(state.dims.find(node)).is_none();
    matches!(names.shapes.get(&named), Some(DimShape::Var(_)))
        || state.dims.cap(root).is_some()
        || state.dims.up(root).any(|edge| open(state.dims.edge(edge).hi))
        || state.dims.down(root).any(|edge| open(state.dims.edge(edge).lo))
}

/// True if two terms face each other flank for flank, with open rows between.
fn face_alike(state: &State, a: Term, b: Term) -> bool {
    a.lead == b.lead && a.trail == b.trail && is_open_row(state, a) && is_open_row(state, b)
}

fn is_open_row(state: &State, term: Term) -> bool {
    term.hole != RowVar::NIL && !state.rows.is_fixed(term.hole)
}

/// Open rows that equal an earlier one: equated flank for flank, or on a cycle of such inequalities.
/// The ranks on a cycle agree, so nothing broadcasts, and mutual `⊑¹` is `≈` (Remark 2.15).
fn row_aliases(state: &State) -> FxHashMap<RowVar, RowVar> {
    let Components { of: component, .. } = components(state.rows.len(), |row, out| {
        for con in state.rows.watchers(row) {
            let RowCon { res, opnd, kind, .. } = state.rows.con(con);
            if face_alike(state, res, opnd) && (kind == Kind::Eq || res.hole == row) {
                out.push(if res.hole == row { opnd.hole } else { res.hole });
            }
        }
    });
    let mut first: FxHashMap<ComponentId, RowVar> = FxHashMap::default();
    let mut aliases = FxHashMap::default();
    for row in state.rows.ids().filter(|row| !state.rows.is_fixed(*row)) {
        let smallest = *first.entry(component[row]).or_insert(row);
        if smallest != row {
            aliases.insert(row, smallest);
        }
    }
    aliases
}

/// For each open row at most one term it is nested in: the one that says most, then the smallest.
/// Ranks grow outward, so there are no cycles.
fn nested_rows(state: &State, first: &dyn Fn(RowVar) -> RowVar) -> FxHashMap<RowVar, Nested> {
    let mut nested: FxHashMap<RowVar, Nested> = FxHashMap::default();
    for (at, con) in state.rows.cons().enumerate().filter(|(_, con)| con.kind == Kind::Eq) {
        for (inner, outer) in [(con.res, con.opnd), (con.opnd, con.res)] {
            let fits = inner.lead <= outer.lead && inner.trail <= outer.trail && inner.hole != outer.hole;
            if !(fits
                && inner.flanks() < outer.flanks()
                && is_open_row(state, inner)
                && is_open_row(state, outer))
            {
                continue;
            }
            let more = Nested { outer, lead: inner.lead, trail: inner.trail, con: at as u32 };
            let key = |nested: &Nested| {
                let left = nested.outer.flanks() - nested.lead - nested.trail;
                let literals = state.rows.literals(nested.outer).iter();
                let literals: Vec<[u64; 3]> = literals.map(|axis| canonical_dim(state, *axis)).collect();
                (std::cmp::Reverse(left), nested.outer.lead - nested.lead, first(nested.outer.hole), literals)
            };
            let better = nested.get(&first(inner.hole)).is_none_or(|known| key(&more) < key(known));
            if better {
                nested.insert(first(inner.hole), more);
            }
        }
    }
    nested
}

fn dim_bounds(state: &State, names: &ClassNames, report: &mut Report) {
    for root in state.dims.ids().filter(|node| state.dims.find(*node) == *node) {
        if state.dims.value(root).is_some() {
            continue;
        }
        let here = dim_shape(state, root.into(), names);
        if let Some(cap) = state.dims.cap(root).and_then(|cap| state.ground(cap))
            && names.cycles.get(&root).is_none_or(|first| *first == root)
        {
            report.residual.push(Bound::Cap(cap, here));
        }
        for edge in state.dims.up(root) {
            let above = state.dims.find(state.dims.edge(edge).hi);
            let there = dim_shape(state, above.into(), names);
            if state.dims.value(above).is_none() && here != there {
                report.residual.push(Bound::Below(here, there));
            }
        }
    }
}

/// Inequalities that wait: adjacencies between open rows of which nothing is known, and caps.
fn row_bounds(state: &State, names: &ClassNames, report: &mut Report) {
    let aliases = row_aliases(state);
    let first = |row: RowVar| aliases.get(&row).copied().unwrap_or(row);
    for con in state.rows.cons().filter(|con| !con.done && con.kind == Kind::Le) {
        let RowCon { res, opnd, .. } = con;
        let alike = face_alike(state, res, opnd) && first(res.hole) == first(opnd.hole);
        if alike || implied(state, res, opnd, names) {
            continue;
        }
        let (res, opnd) = (written(state, res, names), written(state, opnd, names));
        report.residual.push(Bound::RowLe(res, opnd));
    }
}

/// True if an inequality follows from the axes that the bindings tell, wherever its operand broadcasts.
fn implied(state: &State, res: Term, opnd: Term, names: &ClassNames) -> bool {
    if is_open_row(state, opnd) {
        return false;
    }
    let result = shape(state, res, names);
    let operand = shape(state, opnd, names);
    let axes: Vec<DimShape> = operand.lead.into_iter().chain(operand.trail).collect();
    let inside = axes.len() as u32 - opnd.flanks();
    let decided = if opnd.hole == RowVar::NIL { Some(0) } else { state.rows.marker(opnd.hole) };
    let markers = decided.map_or(0..=inside, |marker| marker.min(inside)..=marker.min(inside));
    let faces = |at: usize, marker: u32| {
        if at < (opnd.lead + marker) as usize { result.front(at) } else { result.back(axes.len() - 1 - at) }
    };
    let fits = |marker: u32| {
        let mut axes = axes.iter().enumerate();
        axes.all(|(at, axis)| *axis == DimShape::Ground(Dim::Unit) || faces(at, marker) == Some(*axis))
    };
    result.least as usize >= axes.len() && { markers }.all(fits)
}

/// Rows whose known ends overlap at the least rank: the front is a bound of its own.
fn overlap_bounds(state: &State, names: &ClassNames, report: &mut Report) {
    for row in state.rows.ids().filter(|row| !state.rows.is_fixed(*row)) {
        let (front, back) = known(state, row, names);
        if front + back <= state.ranks.lo(row) as usize {
            continue;
        }
        let bare = Term { start: 0, lead: 0, trail: 0, hole: row };
        let lead = (0..front).map(|at| end(state, row, Side::Left, at, names)).collect();
        let size = front as u32;
        let declared = RowShape {
            lead,
            middle: Middle::Marker,
            trail: Vec::new(),
            rank: Some(size),
            least: size,
            greatest: Some(size),
        };
        report.residual.push(Bound::RowLe(written(state, bare, names), declared));
    }
}

/// A term as it was written. The facts about its row variable are in the variable's binding;
/// spelled out around the variable they would also fix where the row broadcasts.
fn written(state: &State, term: Term, names: &ClassNames) -> RowShape {
    let mut shape = shape(state, term, names);
    if term.hole != RowVar::NIL {
        let (front, back) = state.rows.literals(term).split_at(term.lead as usize);
        let name = |axis: &DimTerm| dim_shape(state, *axis, names);
        shape.lead = front.iter().map(name).collect();
        shape.trail = back.iter().map(name).collect();
        shape.middle = Middle::Var(term.hole);
    }
    shape
}

/// A term with everything known put in.
fn shape(state: &State, term: Term, names: &ClassNames) -> RowShape {
    let (front, back) = state.rows.literals(term).split_at(term.lead as usize);
    let name = |axis: &DimTerm| dim_shape(state, *axis, names);
    let mut lead: Vec<DimShape> = front.iter().map(name).collect();
    let mut trail: Vec<DimShape> = Vec::new();
    let flanks = term.flanks();
    let (mut middle, mut least, mut greatest) = (Middle::Closed, flanks, Some(flanks));
    if term.hole != RowVar::NIL {
        let (row, var) = (term.hole, term.hole);
        least = flanks + state.ranks.lo(row);
        greatest = match state.ranks.hi(row) {
            UNBOUNDED => None,
            hi => Some(flanks + hi),
        };
        if state.rows.is_fixed(row) {
            // In a contradiction the least rank may have risen above the number of axes that are there.
            let rank = greatest.map_or(least, |greatest| least.min(greatest)) - flanks;
            lead.extend((0..rank).map(|at| match state.rows.axis(row, at) {
                DimTerm::NONE => DimShape::Front(var, at),
                axis => dim_shape(state, axis, names),
            }));
        } else {
            let known = lead.len() + trail.len();
            known_ends(state, row, names, &mut lead, &mut trail);
            middle = if lead.len() + trail.len() > known { Middle::Rest(var) } else { Middle::Var(var) };
        }
    }
    trail.extend(back.iter().map(name));
    let rank = (greatest == Some(least)).then_some(least);
    RowShape { lead, middle, trail, rank, least, greatest }
}

/// The axes that a row of open rank is certain to have: those known at the back, as many of the
/// front as cannot overlap them, and the rest of the least rank between.
fn known_ends(
    state: &State,
    row: RowVar,
    names: &ClassNames,
    lead: &mut Vec<DimShape>,
    trail: &mut Vec<DimShape>,
) {
    let least = state.ranks.lo(row) as usize;
    let (front, back) = known(state, row, names);
    let back = back.max(least.saturating_sub(front)).min(least);
    lead.extend((0..least - back).map(|at| end(state, row, Side::Left, at, names)));
    trail.extend((0..back).rev().map(|at| end(state, row, Side::Right, at, names)));
}

/// The axis at a place from an edge of a row of open rank.
fn end(state: &State, row: RowVar, side: Side, at: usize, names: &ClassNames) -> DimShape {
    let at = at as u32;
    match (state.rows.slot(Slot::Edge { row, side, at }).term, side) {
        (DimTerm::NONE, Side::Left) => DimShape::Front(row, at),
        (DimTerm::NONE, Side::Right) => DimShape::Back(row, at),
        (axis, _) => dim_shape(state, axis, names),
    }
}

fn dim_shape(state: &State, term: DimTerm, names: &ClassNames) -> DimShape {
    let resolved = state.dims.resolve(term);
    match (state.ground(resolved), resolved.var()) {
        (Some(dim), _) => DimShape::Ground(dim),
        (None, Some(root)) => {
            let root = names.cycles.get(&root).copied().unwrap_or(root);
            names.shapes.get(&root).copied().unwrap_or(DimShape::Var(root))
        }
        (None, None) => DimShape::Ground(Dim::Unit),
    }
}

/// The first of the caller's variables, or else the first axis, that stands for a node's class.
pub(crate) fn name_of(state: &State, node: DimVar) -> Option<DimShape> {
    let class = state.dims.find(node);
    let same = |term: DimTerm| term.var().is_some_and(|node| state.dims.find(node) == class);
    let var = state.dim_vars.iter().find(|(var, _)| same((*var).into())).map(|(var, _)| DimShape::Var(*var));
    let axis = |row: RowVar| {
        let known = if state.rows.is_fixed(row) { state.ranks.lo(row) } else { 0 };
        let front = (0..known).find(|at| same(state.rows.axis(row, *at)));
        front.map(|at| DimShape::Front(row, at))
    };
    var.or_else(|| state.rows.ids().find_map(axis))
}

/// Names the classes that have no value: by the caller's first variable, else by the first axis.
fn names(state: &State) -> ClassNames {
    let mut names = ClassNames { shapes: FxHashMap::default(), cycles: dim_cycles(state) };
    let root_of = |names: &ClassNames, term: DimTerm| {
        let root = state.dims.resolve(term).var()?;
        Some(names.cycles.get(&root).copied().unwrap_or(root))
    };
    for (node, _) in &state.dim_vars {
        if let Some(root) = root_of(&names, (*node).into()) {
            names.shapes.entry(root).or_insert(DimShape::Var(*node));
        }
    }
    for row in state.rows.ids() {
        let mut name = |axis: DimTerm, shape: DimShape| {
            if !axis.is_none()
                && let Some(root) = root_of(&names, axis)
            {
                names.shapes.entry(root).or_insert(shape);
            }
        };
        if state.rows.is_fixed(row) {
            for at in 0..state.ranks.lo(row) {
                name(state.rows.axis(row, at), DimShape::Front(row, at));
            }
        } else if let Some(partial) = state.rows.partial(row) {
            for (at, axis) in partial.front.iter().enumerate() {
                name(axis.term, DimShape::Front(row, at as u32));
            }
            for (at, axis) in partial.back.iter().enumerate() {
                name(axis.term, DimShape::Back(row, at as u32));
            }
        }
    }
    names
}

/// The adjacency-cycle rule: classes on a cycle of `⊑` are equal. Maps every class of a cycle to
/// its smallest member.
fn dim_cycles(state: &State) -> FxHashMap<DimVar, DimVar> {
    let open = |root: DimVar| state.dims.find(root) == root && state.dims.value(root).is_none();
    let Components { of: component, .. } = components(state.dims.len(), |root, out| {
        if open(root) {
            let above = state.dims.up(root).map(|edge| state.dims.find(state.dims.edge(edge).hi));
            out.extend(above.filter(|above| *above != root && open(*above)));
        }
    });
    let mut first: FxHashMap<ComponentId, DimVar> = FxHashMap::default();
    let mut cycles = FxHashMap::default();
    let linked = state.dims.ids().filter(|root| open(*root) && state.dims.up(*root).next().is_some());
    for root in linked {
        let smallest = *first.entry(component[root]).or_insert(root);
        if smallest != root {
            cycles.insert(root, smallest);
        }
    }
    cycles
}
