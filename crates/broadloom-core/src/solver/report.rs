//! The answer before closing (Formal Core, Thm. 5.6): a substitution and residual bounds.
//!
//! Everything here is read off the store without changing it. Bindings are entailed; markers are not
//! shown, because equality does not determine them. Adjacency cycles are equalities (§10, DI-antisym):
//! they are collapsed here, where they are visible, by one pass over the strongly connected
//! components.

use rustc_hash::FxHashMap;

use super::Solver;
use super::components::{Components, components};
use super::ranks::UNBOUNDED;
use super::reason::{NIL, Side};
use super::rows::{Axis, Kind, RowCon, Slot, Term};
use crate::order::Dim;
use crate::term::{DimTerm, DimVar, RowVar};

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
    /// What stands between.
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
    /// Whether the bindings are a principal model (Cor. 5.8): no caps and no deferred equations
    /// remain, only adjacencies.
    pub principal: bool,
    /// Whether everything is told; false where ranks are too large to write out.
    pub complete: bool,
}

/// Axes written out in one report; a system of enormous ranks is not told in full.
const MOST_AXES: usize = 1 << 20;

/// A term that a row is nested in, and the flanks of the row's own term to strip off.
struct Nested {
    outer: Term,
    lead: u32,
    trail: u32,
    con: u32,
}

/// Names for unresolved classes.
struct Names {
    shapes: FxHashMap<u32, DimShape>,
    /// Class to the representative of its adjacency cycle.
    cycles: FxHashMap<u32, u32>,
}

impl Solver {
    /// What is known of a dimension variable so far. Changes nothing.
    pub fn observe_dim(&self, var: DimVar) -> Option<Dim> {
        self.ground(self.dims.resolve(var.into()))
    }

    /// What is known of a row variable so far. Changes nothing, and costs no more than the row.
    pub fn observe_row(&self, var: RowVar) -> RowShape {
        let term = Term { start: 0, lead: 0, trail: 0, hole: var.0 };
        let mut shape =
            self.shape(term, &Names { shapes: FxHashMap::default(), cycles: FxHashMap::default() });
        // An axis without a size is named by its place: which variable stands for it is no fact.
        let last = shape.trail.len() as u32;
        let lead = shape.lead.iter_mut().zip(0..).map(|(axis, at)| (axis, DimShape::Front(var, at)));
        let trail = shape.trail.iter_mut().zip(1..).map(|(axis, at)| (axis, DimShape::Back(var, last - at)));
        for (axis, place) in lead.chain(trail) {
            if !matches!(axis, DimShape::Ground(_)) {
                *axis = place;
            }
        }
        shape
    }

    /// Bindings, residual bounds, and whether they are principal. Changes nothing.
    ///
    /// ```
    /// # use broadloom_core::{Constraint, Role, Solver};
    /// let mut solver = Solver::new();
    /// let (a, three) = (solver.dim_var(Role::Leaf), solver.size(3));
    /// solver.add(Constraint::DimLe { res: three, opnd: a.into() });
    /// // Example 3.5: `3 ⊑ a` binds nothing, and has no principal model.
    /// let report = solver.report();
    /// assert!(report.bindings.is_empty() && !report.principal);
    /// assert_eq!(report.residual.len(), 1);
    /// ```
    pub fn report(&self) -> Report {
        let names = self.names();
        let mut report = Report { principal: true, complete: true, ..Report::default() };
        self.bind_dims(&names, &mut report);
        self.bind_rows(&names, &mut report);
        self.dim_bounds(&names, &mut report);
        if report.complete {
            self.row_bounds(&names, &mut report);
            self.overlap_bounds(&names, &mut report);
        }
        report
    }

    fn bind_dims(&self, names: &Names, report: &mut Report) {
        for (node, _) in &self.dim_vars {
            let shape = self.dim_shape(DimTerm(*node), names);
            if shape != DimShape::Var(DimVar(*node)) {
                report.bindings.push(Binding::Dim(DimVar(*node), shape));
            }
        }
    }

    /// Equality cases (b) and (c): a fixed row, a row whose ends are known, a row equal to another, or
    /// a row that another row is nested in. Equations that are not told this way stay residual.
    fn bind_rows(&self, names: &Names, report: &mut Report) {
        let aliases = self.row_aliases();
        let first = |row: u32| aliases.get(&row).copied().unwrap_or(row);
        let nested = self.nested_rows(&first);
        let mut axes = 0;
        for row in 0..self.rows.len() as u32 {
            let mut shape = self.shape(Term { start: 0, lead: 0, trail: 0, hole: row }, names);
            if shape.middle != Middle::Closed && first(row) != row {
                shape = RowShape {
                    lead: Vec::new(),
                    middle: Middle::Var(RowVar(first(row))),
                    trail: Vec::new(),
                    ..shape
                };
            } else if shape.middle != Middle::Closed
                && let Some(Nested { outer, lead, trail, .. }) = nested.get(&row)
            {
                let (front, back) = self.rows.literals(*outer).split_at(outer.lead as usize);
                let name = |axis: &DimTerm| self.dim_shape(*axis, names);
                if self.knows_more(row, front.len() - *lead as usize, back.len() - *trail as usize) {
                    report.principal = false;
                    let bare = RowShape {
                        lead: Vec::new(),
                        middle: Middle::Var(RowVar(row)),
                        trail: Vec::new(),
                        ..shape.clone()
                    };
                    report.residual.push(Bound::RowEq(bare, shape.clone()));
                }
                shape.lead = front[*lead as usize..].iter().map(name).collect();
                shape.trail = back[..back.len() - *trail as usize].iter().map(name).collect();
                shape.middle = Middle::Var(RowVar(first(outer.hole)));
            }
            axes += shape.lead.len() + shape.trail.len();
            if axes > MOST_AXES {
                report.complete = false;
                break;
            }
            if shape.middle != Middle::Var(RowVar(row)) {
                report.bindings.push(Binding::Row(RowVar(row), shape));
            }
        }
        for (at, con) in self.rows.cons().enumerate() {
            let RowCon { res, opnd, kind, done, .. } = con;
            let told = nested.values().any(|nested| nested.con == at as u32);
            let alias = res.lead == opnd.lead && res.trail == opnd.trail && self.open(res) && self.open(opnd);
            if kind == Kind::Eq && !done && !told && !alias && axes <= MOST_AXES {
                report.principal = false;
                report.residual.push(Bound::RowEq(self.written(res, names), self.written(opnd, names)));
            }
        }
    }

    /// Whether more is known of the ends of an open row than so many axes at the front and the back.
    fn knows_more(&self, row: u32, front: usize, back: usize) -> bool {
        self.rows.partial(row).is_some_and(|ends| known(&ends.front) > front || known(&ends.back) > back)
    }

    fn open(&self, term: Term) -> bool {
        term.hole != NIL && !self.rows.is_fixed(term.hole)
    }

    /// Open rows that equal an earlier one, flank for flank.
    fn row_aliases(&self) -> FxHashMap<u32, u32> {
        let mut parent: FxHashMap<u32, u32> = FxHashMap::default();
        let find = |parent: &FxHashMap<u32, u32>, mut row: u32| {
            while let Some(up) = parent.get(&row) {
                row = *up;
            }
            row
        };
        for con in self.rows.cons().filter(|con| con.kind == Kind::Eq) {
            let RowCon { res, opnd, .. } = con;
            if res.lead == opnd.lead && res.trail == opnd.trail && self.open(res) && self.open(opnd) {
                let (a, b) = (find(&parent, res.hole), find(&parent, opnd.hole));
                if a != b {
                    parent.insert(a.max(b), a.min(b));
                }
            }
        }
        parent.keys().map(|row| (*row, find(&parent, *row))).collect()
    }

    /// For each open row at most one term it is nested in: the one that says most, then the smallest.
    /// Ranks grow outward, so there are no cycles.
    fn nested_rows(&self, first: &dyn Fn(u32) -> u32) -> FxHashMap<u32, Nested> {
        let mut nested: FxHashMap<u32, Nested> = FxHashMap::default();
        for (at, con) in self.rows.cons().enumerate().filter(|(_, con)| con.kind == Kind::Eq) {
            for (inner, outer) in [(con.res, con.opnd), (con.opnd, con.res)] {
                let fits = inner.lead <= outer.lead && inner.trail <= outer.trail && inner.hole != outer.hole;
                if !(fits && inner.flanks() < outer.flanks() && self.open(inner) && self.open(outer)) {
                    continue;
                }
                let more = Nested { outer, lead: inner.lead, trail: inner.trail, con: at as u32 };
                let key = |nested: &Nested| {
                    let told = nested.outer.flanks() - nested.lead - nested.trail;
                    let literals: Vec<u32> =
                        self.rows.literals(nested.outer).iter().map(|axis| axis.0).collect();
                    (
                        std::cmp::Reverse(told),
                        nested.outer.lead - nested.lead,
                        first(nested.outer.hole),
                        literals,
                    )
                };
                let better = nested.get(&first(inner.hole)).is_none_or(|known| key(&more) < key(known));
                if better {
                    nested.insert(first(inner.hole), more);
                }
            }
        }
        nested
    }

    fn dim_bounds(&self, names: &Names, report: &mut Report) {
        for root in (0..self.dims.len() as u32).filter(|node| self.dims.find(*node) == *node) {
            if self.dims.value(root).is_some() {
                continue;
            }
            let here = self.dim_shape(DimTerm(root), names);
            if let Some(cap) = self.dims.cap(root).and_then(|cap| self.ground(cap)) {
                report.principal = false;
                if names.cycles.get(&root).is_none_or(|first| *first == root) {
                    report.residual.push(Bound::Cap(cap, here));
                }
            }
            for edge in self.dims.up(root) {
                let above = self.dims.find(self.dims.edge(edge).hi);
                let there = self.dim_shape(DimTerm(above), names);
                if self.dims.value(above).is_none() && here != there {
                    report.residual.push(Bound::Below(here, there));
                }
            }
        }
    }

    /// Inequalities that wait: adjacencies between open rows of which nothing is known, and caps.
    fn row_bounds(&self, names: &Names, report: &mut Report) {
        for con in self.rows.cons().filter(|con| !con.done && con.kind == Kind::Le) {
            let RowCon { res, opnd, .. } = con;
            let unspoken = |term: Term| self.rows.partial(term.hole).is_none();
            let aligned =
                res.lead == opnd.lead && res.trail == opnd.trail && self.open(res) && self.open(opnd);
            if aligned && res.hole == opnd.hole {
                continue;
            }
            report.principal &= aligned && unspoken(res) && unspoken(opnd);
            let (res, opnd) = (self.written(res, names), self.written(opnd, names));
            report.residual.push(Bound::RowLe(res, opnd));
        }
    }

    /// Rows whose known ends overlap at the least rank: the front is a bound of its own.
    fn overlap_bounds(&self, names: &Names, report: &mut Report) {
        for row in (0..self.rows.len() as u32).filter(|row| !self.rows.is_fixed(*row)) {
            let Some(partial) = self.rows.partial(row) else { continue };
            let (front, back) = (known(&partial.front), known(&partial.back));
            if front + back <= self.ranks.lo(row) as usize {
                continue;
            }
            report.principal = false;
            let bare = Term { start: 0, lead: 0, trail: 0, hole: row };
            let lead = (0..front).map(|at| self.end(row, Side::Left, at, names)).collect();
            let size = front as u32;
            let declared = RowShape {
                lead,
                middle: Middle::Marker,
                trail: Vec::new(),
                rank: Some(size),
                least: size,
                greatest: Some(size),
            };
            report.residual.push(Bound::RowLe(self.written(bare, names), declared));
        }
    }

    /// A term as it was written. What is known of its row variable is told by the variable's binding;
    /// spelled out around the variable it would also say where the row broadcasts.
    fn written(&self, term: Term, names: &Names) -> RowShape {
        let mut shape = self.shape(term, names);
        if term.hole != NIL {
            let (front, back) = self.rows.literals(term).split_at(term.lead as usize);
            let name = |axis: &DimTerm| self.dim_shape(*axis, names);
            shape.lead = front.iter().map(name).collect();
            shape.trail = back.iter().map(name).collect();
            shape.middle = Middle::Var(RowVar(term.hole));
        }
        shape
    }

    /// A term with everything known put in.
    fn shape(&self, term: Term, names: &Names) -> RowShape {
        let (front, back) = self.rows.literals(term).split_at(term.lead as usize);
        let name = |axis: &DimTerm| self.dim_shape(*axis, names);
        let mut lead: Vec<DimShape> = front.iter().map(name).collect();
        let mut trail: Vec<DimShape> = Vec::new();
        let flanks = term.flanks();
        let (mut middle, mut least, mut greatest) = (Middle::Closed, flanks, Some(flanks));
        if term.hole != NIL {
            let (row, var) = (term.hole, RowVar(term.hole));
            least = flanks + self.ranks.lo(row);
            greatest = match self.ranks.hi(row) {
                UNBOUNDED => None,
                hi => Some(flanks + hi),
            };
            if self.rows.is_fixed(row) {
                lead.extend((0..self.ranks.lo(row)).map(|at| match self.rows.axis(row, at) {
                    DimTerm::NONE => DimShape::Front(var, at),
                    axis => self.dim_shape(axis, names),
                }));
            } else {
                let known = lead.len() + trail.len();
                self.known_ends(row, names, &mut lead, &mut trail);
                middle = if lead.len() + trail.len() > known { Middle::Rest(var) } else { Middle::Var(var) };
            }
        }
        trail.extend(back.iter().map(name));
        let rank = (greatest == Some(least)).then_some(least);
        RowShape { lead, middle, trail, rank, least, greatest }
    }

    /// The axes that a row of open rank is certain to have: those known at the back, as many of the
    /// front as cannot overlap them, and the rest of the least rank between.
    fn known_ends(&self, row: u32, names: &Names, lead: &mut Vec<DimShape>, trail: &mut Vec<DimShape>) {
        let least = self.ranks.lo(row) as usize;
        let (front, back) =
            self.rows.partial(row).map_or((0, 0), |partial| (known(&partial.front), known(&partial.back)));
        let back = back.max(least.saturating_sub(front)).min(least);
        lead.extend((0..least - back).map(|at| self.end(row, Side::Left, at, names)));
        trail.extend((0..back).rev().map(|at| self.end(row, Side::Right, at, names)));
    }

    /// The axis at a place from an edge of a row of open rank.
    fn end(&self, row: u32, side: Side, at: usize, names: &Names) -> DimShape {
        let at = at as u32;
        match (self.rows.slot(Slot::Edge { row, side, at }).term, side) {
            (DimTerm::NONE, Side::Left) => DimShape::Front(RowVar(row), at),
            (DimTerm::NONE, Side::Right) => DimShape::Back(RowVar(row), at),
            (axis, _) => self.dim_shape(axis, names),
        }
    }

    fn dim_shape(&self, term: DimTerm, names: &Names) -> DimShape {
        let resolved = self.dims.resolve(term);
        match (self.ground(resolved), resolved.node()) {
            (Some(dim), _) => DimShape::Ground(dim),
            (None, Some(root)) => {
                let root = names.cycles.get(&root).copied().unwrap_or(root);
                names.shapes.get(&root).copied().unwrap_or(DimShape::Var(DimVar(root)))
            }
            (None, None) => DimShape::Ground(Dim::Unit),
        }
    }

    /// The first of the caller's variables, or else the first axis, that stands for a node's class.
    pub(crate) fn name_of(&self, node: u32) -> Option<DimShape> {
        let class = self.dims.find(node);
        let same = |term: DimTerm| term.node().is_some_and(|node| self.dims.find(node) == class);
        let var = self
            .dim_vars
            .iter()
            .find(|(var, _)| same(DimTerm(*var)))
            .map(|(var, _)| DimShape::Var(DimVar(*var)));
        let axis = |row: u32| {
            let known = if self.rows.is_fixed(row) { self.ranks.lo(row) } else { 0 };
            let front = (0..known).find(|at| same(self.rows.axis(row, *at)));
            front.map(|at| DimShape::Front(RowVar(row), at))
        };
        var.or_else(|| (0..self.rows.len() as u32).find_map(axis))
    }

    /// Names unresolved classes: by the caller's first variable, else by the first axis.
    fn names(&self) -> Names {
        let mut names = Names { shapes: FxHashMap::default(), cycles: self.dim_cycles() };
        let root_of = |names: &Names, term: DimTerm| {
            let root = self.dims.resolve(term).node()?;
            Some(names.cycles.get(&root).copied().unwrap_or(root))
        };
        for (node, _) in &self.dim_vars {
            if let Some(root) = root_of(&names, DimTerm(*node)) {
                names.shapes.entry(root).or_insert(DimShape::Var(DimVar(*node)));
            }
        }
        for row in 0..self.rows.len() as u32 {
            let mut name = |axis: DimTerm, shape: DimShape| {
                if !axis.is_none()
                    && let Some(root) = root_of(&names, axis)
                {
                    names.shapes.entry(root).or_insert(shape);
                }
            };
            if self.rows.is_fixed(row) {
                for at in 0..self.ranks.lo(row) {
                    name(self.rows.axis(row, at), DimShape::Front(RowVar(row), at));
                }
            } else if let Some(partial) = self.rows.partial(row) {
                for (at, axis) in partial.front.iter().enumerate() {
                    name(axis.term, DimShape::Front(RowVar(row), at as u32));
                }
                for (at, axis) in partial.back.iter().enumerate() {
                    name(axis.term, DimShape::Back(RowVar(row), at as u32));
                }
            }
        }
        names
    }

    /// The adjacency-cycle rule: classes on a cycle of `⊑` are equal. Maps every class of a cycle to
    /// its smallest member.
    fn dim_cycles(&self) -> FxHashMap<u32, u32> {
        let open = |root: u32| self.dims.find(root) == root && self.dims.value(root).is_none();
        let Components { of: component, .. } = components(self.dims.len(), |root, out| {
            if open(root) {
                let above = self.dims.up(root).map(|edge| self.dims.find(self.dims.edge(edge).hi));
                out.extend(above.filter(|above| *above != root && open(*above)));
            }
        });
        let mut first: FxHashMap<u32, u32> = FxHashMap::default();
        let mut cycles = FxHashMap::default();
        let linked =
            (0..self.dims.len() as u32).filter(|root| open(*root) && self.dims.up(*root).next().is_some());
        for root in linked {
            let smallest = *first.entry(component[root as usize]).or_insert(root);
            if smallest != root {
                cycles.insert(root, smallest);
            }
        }
        cycles
    }
}

/// How far a list of axes says anything.
fn known(list: &[Axis]) -> usize {
    list.iter().rposition(|axis| !axis.term.is_none()).map_or(0, |at| at + 1)
}
