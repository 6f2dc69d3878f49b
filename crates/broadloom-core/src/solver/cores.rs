//! Minimal unsatisfiable cores, and the subsystems they are found with.
//!
//! A set of constraints is judged by solving it afresh as a system of its own; what is small is
//! cheap, and nothing of the failed system's state is trusted. Shrinking deletes in halving chunks,
//! so that large irrelevant parts go first.

use rustc_hash::FxHashMap;

use super::arith::{Arith, Item};
use super::reason::{Conflict, Limit, NIL};
use super::report::DimShape;
use super::rows::{Kind, RowCon, Term};
use super::search::Search;
use super::{Link, Solver, Stored};
use crate::form::{Form, Symbol};
use crate::order::Dim;
use crate::term::{Constraint, ConstraintId, DimTerm, DimVar, Hole, Numerator, Piece, RowTerm, RowVar};

/// Units of work after which a core or a chain is returned as it is.
const PATIENCE: u64 = 4_000_000;

/// Subsystems of more constraints than this are put together at once.
const MANY: usize = 1024;

/// Constraints that have no solution together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Core {
    /// The members, in the order of addition.
    pub constraints: Vec<ConstraintId>,
    /// Whether removing any one member makes the rest satisfiable. False only where that could not
    /// be settled in reasonable time.
    pub minimal: bool,
    /// What clashed, for the message.
    pub clash: Clash,
}

impl Core {
    /// Constraints whose rank facts form a cycle with a gain, not shrunk.
    pub(crate) fn rank_cycle(mut ids: Vec<u32>) -> Core {
        ids.sort_unstable();
        let constraints = ids.into_iter().map(ConstraintId).collect();
        Core { constraints, minimal: false, clash: Clash::RankCycle }
    }
}

/// The two ends of a contradiction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Clash {
    /// A dimension would have to be two different things.
    Dims {
        /// The dimension, if it has a name.
        what: Option<DimShape>,
        /// The two things.
        ends: [Dim; 2],
        /// The constraint each of them comes from.
        sources: [Option<ConstraintId>; 2],
    },
    /// A row would need at least `lo` and at most `hi` axes.
    Rank {
        /// The row variable.
        row: RowVar,
        /// Its least rank.
        lo: u32,
        /// Its greatest rank.
        hi: u32,
    },
    /// Row variables would each have to be longer than the other.
    RankCycle,
    /// One row writes more axes than the other has.
    Overflow {
        /// Axes written by the one that may not be longer.
        written: u32,
        /// Axes the other has.
        available: u32,
        /// Whether the rows are equated; else the first is an operand and the second its result.
        equal: bool,
    },
    /// The sizes that a dimension may have exclude each other, or it would have to be the unit.
    Size {
        /// The dimension, if it has a name.
        what: Option<DimShape>,
        /// The least and the greatest size it may have.
        bounds: (u64, u64),
    },
    /// What is known of the dimensions of an arithmetic constraint contradicts it.
    Arithmetic {
        /// The constraint.
        constraint: ConstraintId,
        /// The sizes of its dimensions as far as they are known, in the order they were written; for
        /// rows, of their axes.
        sizes: Vec<Option<u64>>,
    },
    /// Two different symbols would have to be one size.
    Symbols {
        /// The symbols.
        ends: [Symbol; 2],
    },
    /// A symbol would have to be a size outside its range.
    Range {
        /// The symbol.
        symbol: Symbol,
        /// The size, unless it is two ranges that have no size in common.
        size: Option<u64>,
        /// The least and the greatest size it may have.
        bounds: (u64, u64),
    },
    /// Symbolic sizes contradict an arithmetic constraint: it holds for no sizes within the ranges, or only if
    /// two different symbols are equal.
    Expressions {
        /// The constraint.
        constraint: ConstraintId,
        /// The sizes of its dimensions as far as they are known, in the order they were written; for
        /// rows, of their axes.
        sizes: Vec<Option<Form>>,
    },
    /// Every rank, every marker and every size leads to a contradiction.
    Exhausted,
}

/// Whether a set of constraints has a solution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Satisfiable,
    Unsatisfiable,
    Unknown(Limit),
}

/// Some of a solver's constraints as a system of their own.
pub(crate) struct Subsystem {
    pub solver: Solver,
    /// The original variables, in their order, with their copies.
    dims: Vec<(u32, DimVar)>,
    rows: Vec<(u32, RowVar)>,
    ids: Vec<u32>,
}

impl Subsystem {
    /// The copy of a dimension variable, if a constraint mentions it.
    pub fn dim(&self, var: DimVar) -> Option<DimVar> {
        let at = self.dims.binary_search_by_key(&var.0, |(node, _)| *node).ok()?;
        Some(self.dims[at].1)
    }

    /// The copy of a row variable, if a constraint mentions it.
    pub fn row(&self, var: RowVar) -> Option<RowVar> {
        let at = self.rows.binary_search_by_key(&var.0, |(row, _)| *row).ok()?;
        Some(self.rows[at].1)
    }

    fn original_dim(&self, copy: DimVar) -> Option<DimVar> {
        self.dims.iter().find(|(_, var)| *var == copy).map(|(node, _)| DimVar(*node))
    }

    fn original_row(&self, copy: RowVar) -> Option<RowVar> {
        self.rows.iter().find(|(_, var)| *var == copy).map(|(row, _)| RowVar(*row))
    }

    /// A dimension in the names of the original system.
    fn original_shape(&self, shape: DimShape) -> Option<DimShape> {
        match shape {
            DimShape::Ground(_) => None,
            DimShape::Var(var) => self.original_dim(var).map(DimShape::Var),
            DimShape::Front(row, at) => self.original_row(row).map(|row| DimShape::Front(row, at)),
            DimShape::Back(row, at) => self.original_row(row).map(|row| DimShape::Back(row, at)),
        }
    }

    /// The original of a constraint.
    pub fn original_id(&self, copy: u32) -> u32 {
        self.ids[copy as usize]
    }

    fn original_constraint(&self, copy: ConstraintId) -> ConstraintId {
        ConstraintId(self.original_id(copy.0))
    }

    /// What the system's contradiction is, in the names of the original.
    fn clash(&mut self) -> Clash {
        // With named sizes, the first thing that closing cannot do is worth telling.
        let closing = if self.solver.conflict.is_none() && !self.solver.symbols.is_empty() {
            self.solver.mark();
            self.solver.close_policy(&mut Vec::new()).err()
        } else {
            None
        };
        let solver = &self.solver;
        let value = |node: u32| solver.dims.value(solver.dims.find(node)).unwrap_or(DimTerm::UNIT);
        let Some(conflict) = solver.conflict.or(closing) else { return Clash::Exhausted };
        let (node, ends) = match conflict {
            Conflict::Value { node, have, want, .. } => (node, [DimTerm(have), DimTerm(want)]),
            Conflict::Cap { node, cap, want, .. } => (node, [DimTerm(cap), DimTerm(want)]),
            Conflict::Merge { a, b, .. } => (a, [value(a), value(b)]),
            Conflict::Ground { a, b, .. } => (NIL, [DimTerm(a), DimTerm(b)]),
            Conflict::Rank { row, lo, hi } => {
                return self.original_row(RowVar(row)).map_or(Clash::Exhausted, |row| Clash::Rank {
                    row,
                    lo,
                    hi,
                });
            }
            Conflict::RankCycle { .. } => return Clash::RankCycle,
            Conflict::Overflow { con } => {
                let RowCon { res, opnd, kind, .. } = solver.rows.con(con);
                let (longer, shorter) = if opnd.flanks() > res.flanks() { (opnd, res) } else { (res, opnd) };
                let (written, available) = (longer.flanks(), shorter.flanks());
                return Clash::Overflow { written, available, equal: kind == Kind::Eq };
            }
            Conflict::Symbols { a, b, .. } => {
                let symbol = |node: u32| solver.dims.tag(solver.dims.find(node)).map(Symbol);
                return match (symbol(a), symbol(b)) {
                    (Some(a), Some(b)) => Clash::Symbols { ends: [a.min(b), a.max(b)] },
                    _ => Clash::Exhausted,
                };
            }
            Conflict::Claim { node, .. } | Conflict::Size { node } => {
                if let Some(clash) = solver.range_clash(node) {
                    return clash;
                }
                if let Some((id, con)) = solver.open_equation(node) {
                    let constraint = self.original_constraint(id);
                    return Clash::Expressions { constraint, sizes: solver.known_forms(con) };
                }
                let what = solver.name_of(node).and_then(|shape| self.original_shape(shape));
                return Clash::Size { what, bounds: solver.size_bounds(DimTerm(node)) };
            }
            Conflict::TooSmall { size, least, .. } => {
                return Clash::Size { what: None, bounds: (least, size) };
            }
            Conflict::TooLarge { size, most, .. } => {
                return Clash::Size { what: None, bounds: (size, most) };
            }
            Conflict::Arith { con } if closing.is_some() || solver.names_open_symbol(con) => {
                let constraint = self.original_constraint(ConstraintId(solver.ariths.id(con)));
                return Clash::Expressions { constraint, sizes: solver.known_forms(con) };
            }
            Conflict::Arith { con } => {
                let constraint = self.original_constraint(ConstraintId(solver.ariths.id(con)));
                return Clash::Arithmetic { constraint, sizes: solver.known_sizes(con) };
            }
            Conflict::Contents | Conflict::Short { .. } | Conflict::TooMuch(_) => return Clash::Exhausted,
        };
        let what = if node == NIL { solver.aligned_axis(conflict) } else { solver.name_of(node) };
        let what = what.and_then(|shape| self.original_shape(shape));
        let sources = solver.sources(conflict, ends).map(|id| id.map(|id| self.original_constraint(id)));
        let ends = ends.map(|end| solver.ground(end).unwrap_or(Dim::Unit));
        Clash::Dims { what, ends, sources }
    }
}

impl Solver {
    /// Some constraints as a system of their own. Variables keep their roles and their order.
    pub(crate) fn subsystem(&self, ids: &[u32]) -> Subsystem {
        let mut sub = Subsystem {
            solver: Solver::with_budget(self.budget),
            dims: Vec::new(),
            rows: Vec::new(),
            ids: ids.to_vec(),
        };
        sub.solver.atoms.clone_from(&self.atoms);
        sub.solver.atom_ids.clone_from(&self.atom_ids);
        sub.solver.dims.zero = self.dims.zero;
        sub.solver.symbols = self.symbols.unmentioned();
        let (mut dims, mut rows) = self.variables(ids);
        dims.sort_unstable();
        dims.dedup();
        rows.sort_unstable();
        rows.dedup();
        for node in dims {
            let role = self.dim_role(DimVar(node));
            let discardable = self.discardable.contains(&node);
            let symbol = self.symbols.made_at(node);
            let copy = if let Some(symbol) = symbol {
                sub.solver.make_symbol(symbol, self.symbols.is_dynamic(symbol))
            } else if discardable {
                sub.solver.discardable_var(role)
            } else {
                sub.solver.dim_var(role)
            };
            sub.dims.push((node, copy));
        }
        for row in rows {
            let copy = sub.solver.row_var(self.rows.role(row));
            if let Some(lead) = self.rows.declared(row) {
                sub.solver.declare_marker(copy, lead);
            }
            sub.rows.push((row, copy));
        }
        let dim_map: FxHashMap<u32, DimVar> = sub.dims.iter().copied().collect();
        let row_map: FxHashMap<u32, RowVar> = sub.rows.iter().copied().collect();
        let dim =
            |term: DimTerm| term.node().and_then(|node| dim_map.get(&node)).map_or(term, |var| (*var).into());
        let row = |row: RowVar| row_map.get(&row.0).copied().unwrap_or(row);
        if ids.len() > MANY {
            sub.solver.hold();
        }
        for id in ids {
            self.add_copy(&mut sub.solver, *id, &dim, &row);
        }
        sub.solver.release();
        sub
    }

    /// Adds one of the constraints to another solver, with its own names for the variables.
    pub(crate) fn add_copy(
        &self,
        to: &mut Solver,
        id: u32,
        dim: &impl Fn(DimTerm) -> DimTerm,
        row: &impl Fn(RowVar) -> RowVar,
    ) {
        let axes =
            |term: Term| -> Vec<DimTerm> { self.rows.literals(term).iter().map(|axis| dim(*axis)).collect() };
        fn split<'a>(term: Term, axes: &'a [DimTerm], row: &impl Fn(RowVar) -> RowVar) -> RowTerm<'a> {
            let hole = if term.hole == NIL { Hole::Marker } else { Hole::Var(row(RowVar(term.hole))) };
            let (lead, trail) = axes.split_at(term.lead as usize);
            RowTerm { lead, hole, trail }
        }
        match self.constraints.get(id) {
            Stored::DimEq(a, b) => to.add(Constraint::DimEq(dim(a), dim(b))),
            Stored::DimLe(res, opnd) => to.add(Constraint::DimLe { res: dim(res), opnd: dim(opnd) }),
            Stored::AtLeast(term, least) => to.add(Constraint::AtLeast(dim(term), least)),
            Stored::AtMost(term, most) => to.add(Constraint::AtMost(dim(term), most)),
            Stored::Arith(con) => to.add_stored(renamed(self.ariths.get(con), dim, row)),
            Stored::Support(support) => {
                let terms = self.supports.terms(support);
                let written: Vec<Vec<DimTerm>> = terms.iter().map(|term| axes(*term)).collect();
                let opnds = terms.iter().zip(&written).map(|(term, axes)| split(*term, axes, row));
                let opnds: Vec<RowTerm<'_>> = opnds.collect();
                let res = row(RowVar(self.supports.get(support).res));
                to.add(Constraint::MadeOf { res, opnds: &opnds })
            }
            Stored::Row(con) => {
                let RowCon { res, opnd, kind, .. } = self.rows.con(con);
                let (below, above) = (axes(res), axes(opnd));
                let (res, opnd) = (split(res, &below, row), split(opnd, &above, row));
                to.add(match kind {
                    Kind::Eq => Constraint::RowEq(res, opnd),
                    Kind::Le => Constraint::RowLe { res, opnd },
                })
            }
        };
    }

    /// The row variables some constraints mention, with repetitions.
    pub(crate) fn rows_of(&self, ids: &[u32]) -> Vec<u32> {
        self.variables(ids).1
    }

    /// The variables some constraints mention, with repetitions.
    fn variables(&self, ids: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let (mut dims, mut rows) = (Vec::new(), Vec::new());
        for id in ids {
            match self.constraints.get(*id) {
                Stored::DimEq(a, b) | Stored::DimLe(a, b) => {
                    dims.extend([a, b].iter().filter_map(|term| term.node()))
                }
                Stored::Row(con) => {
                    let RowCon { res, opnd, .. } = self.rows.con(con);
                    for term in [res, opnd] {
                        dims.extend(self.rows.literals(term).iter().filter_map(|axis| axis.node()));
                        rows.extend((term.hole != NIL).then_some(term.hole));
                    }
                }
                Stored::AtLeast(term, _) | Stored::AtMost(term, _) => dims.extend(term.node()),
                Stored::Arith(con) => {
                    let arith = self.ariths.get(con);
                    dims.extend(arith.dims().iter().filter_map(|term| term.node()));
                    rows.extend(arith.rows());
                }
                Stored::Support(support) => {
                    rows.push(self.supports.get(support).res);
                    for term in self.supports.terms(support) {
                        dims.extend(self.rows.literals(*term).iter().filter_map(|axis| axis.node()));
                        rows.extend((term.hole != NIL).then_some(term.hole));
                    }
                }
            }
        }
        (dims, rows)
    }

    /// Every constraint, in an order that does not depend on the order of addition.
    pub(crate) fn canonical_order(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = (0..self.constraints.len() as u32).collect();
        ids.sort_by_cached_key(|id| self.canonical_key(*id));
        ids
    }

    /// A term as numbers that do not depend on the order of constraints.
    pub(crate) fn canonical_dim(&self, term: DimTerm) -> [u64; 3] {
        match (term.node(), self.ground(term)) {
            (Some(node), _) => {
                let made = self.dim_vars.binary_search_by_key(&node, |(node, _)| *node);
                [0, made.unwrap_or_else(|at| at) as u64, 0]
            }
            (None, Some(Dim::Atom(atom))) => [1, atom.size, u64::from(atom.basis.0)],
            (None, Some(Dim::Symbolic(dim))) => [3, u64::from(dim.form.0), u64::from(dim.basis.0)],
            (None, _) => [2, 0, 0],
        }
    }

    /// A constraint as a sequence of numbers that names variables by their order and atoms by value;
    /// the sides of an equality are put in order.
    fn canonical_key(&self, id: u32) -> (u8, Vec<[u64; 3]>, Vec<[u64; 3]>) {
        let dim = |term: &DimTerm| self.canonical_dim(*term);
        let row = |term: Term| {
            let mut key = vec![[u64::from(term.hole), u64::from(term.lead), u64::from(term.trail)]];
            key.extend(self.rows.literals(term).iter().map(dim));
            key
        };
        let sorted =
            |kind, a: Vec<[u64; 3]>, b: Vec<[u64; 3]>| if a <= b { (kind, a, b) } else { (kind, b, a) };
        match self.constraints.get(id) {
            Stored::DimEq(a, b) => sorted(0, vec![dim(&a)], vec![dim(&b)]),
            Stored::DimLe(a, b) => (1, vec![dim(&a)], vec![dim(&b)]),
            Stored::Row(con) => {
                let RowCon { res, opnd, kind, .. } = self.rows.con(con);
                match kind {
                    Kind::Eq => sorted(2, row(res), row(opnd)),
                    Kind::Le => (3, row(res), row(opnd)),
                }
            }
            Stored::AtLeast(term, least) => (4, vec![dim(&term)], vec![[least, 0, 0]]),
            Stored::AtMost(term, most) => (8, vec![dim(&term)], vec![[most, 0, 0]]),
            Stored::Support(support) => {
                let mut terms: Vec<_> = self.supports.terms(support).iter().map(|term| row(*term)).collect();
                terms.sort_unstable();
                let res = u64::from(self.supports.get(support).res);
                (9, vec![[res, 0, 0]], terms.concat())
            }
            Stored::Arith(con) => {
                let arith = self.ariths.get(con);
                let (kind, numbers) = match arith {
                    Arith::Linear { items, constant, .. } => {
                        let words = |wide: i128| [wide as u64, (wide >> 64) as u64, 0];
                        let coeffs = items.iter().map(|item| {
                            let [low, high, _] = words(item.coeff);
                            [low, high, u64::from(item.claims)]
                        });
                        let [low, high, _] = words(*constant);
                        let slack = arith.slack() as u64;
                        (5, coeffs.chain([[low, high, slack]]).collect())
                    }
                    Arith::Count { numerator, .. } => (6, vec![[numerator.coeff, numerator.denom, 0]]),
                    Arith::Exact { .. } => (7, Vec::new()),
                };
                let rows = arith.rows().map(|row| [3, u64::from(row), 0]);
                (kind, arith.dims().iter().map(dim).chain(rows).collect(), numbers)
            }
        }
    }

    /// Shrinks a set of constraints that has no solution to a minimal one.
    pub(crate) fn core_from(&mut self, mut ids: Vec<u32>) -> Core {
        ids.sort_unstable();
        ids.dedup();
        let (mut work, mut unknown) = (0, false);
        let mut judge = |ids: &[u32]| {
            let mut sub = self.subsystem(ids).solver;
            let verdict = sub.settle_choices(&mut Search::new(self.budget.branches), &mut Vec::new());
            work += sub.stats().steps + ids.len() as u64;
            unknown |= matches!(verdict, Verdict::Unknown(_));
            (verdict, work < PATIENCE)
        };
        // The walk should have named a core; if it missed a dependence, the whole system is one.
        if judge(&ids).0 == Verdict::Satisfiable {
            ids = (0..self.constraints.len() as u32).collect();
        }
        let (ids, complete) = shrink(ids, |ids| {
            let (verdict, patient) = judge(ids);
            patient.then_some(verdict == Verdict::Unsatisfiable)
        });
        let mut sub = self.subsystem(&ids);
        let clash = sub.clash();
        self.symbols.take_forms(sub.solver.symbols);
        Core {
            constraints: ids.into_iter().map(ConstraintId).collect(),
            minimal: complete && !unknown,
            clash,
        }
    }

    /// Shrinks the constraints of a chain to a minimal set that still entails something, in the
    /// chain's order.
    pub(crate) fn shrink_chain(
        &self,
        chain: &[Link],
        entails: impl Fn(&Subsystem) -> bool,
    ) -> Vec<ConstraintId> {
        let ids: Vec<u32> = chain.iter().filter_map(|link| link.constraint()).map(|id| id.0).collect();
        let mut work = 0;
        let mut enough = |ids: &[u32]| {
            let sub = self.subsystem(ids);
            work += sub.solver.stats().steps + ids.len() as u64;
            (work < PATIENCE).then(|| entails(&sub))
        };
        let ids = if enough(&ids) == Some(true) { ids } else { (0..self.constraints.len() as u32).collect() };
        shrink(ids, enough).0.into_iter().map(ConstraintId).collect()
    }
}

/// An arithmetic constraint with other variables.
fn renamed(arith: &Arith, dim: &impl Fn(DimTerm) -> DimTerm, row: &impl Fn(RowVar) -> RowVar) -> Arith {
    let piece = |piece: &Piece| match *piece {
        Piece::Dim(term) => Piece::Dim(dim(term)),
        Piece::Row(var) => Piece::Row(row(var)),
    };
    match arith {
        Arith::Linear { items, constant, form } => Arith::Linear {
            items: items.iter().map(|item| Item { dim: dim(item.dim), ..*item }).collect(),
            constant: *constant,
            form: *form,
        },
        Arith::Count { pieces, numerator, divided_by, rest } => Arith::Count {
            pieces: pieces.iter().map(piece).collect(),
            numerator: Numerator { over: numerator.over.map(dim), ..*numerator },
            divided_by: divided_by.iter().map(|term| dim(*term)).collect(),
            rest: rest.map(row),
        },
        Arith::Exact { pieces, axes, rest } => Arith::Exact {
            pieces: pieces.iter().map(piece).collect(),
            axes: axes.iter().map(|term| dim(*term)).collect(),
            rest: rest.map(row),
        },
    }
}

/// Deletes members as long as what is left still holds; whether it holds must be monotone. Stops,
/// and says so, when `holds` has no more patience.
fn shrink(mut ids: Vec<u32>, mut holds: impl FnMut(&[u32]) -> Option<bool>) -> (Vec<u32>, bool) {
    let mut chunk = ids.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        while at < ids.len() {
            let end = (at + chunk).min(ids.len());
            let rest: Vec<u32> = ids[..at].iter().chain(&ids[end..]).copied().collect();
            match holds(&rest) {
                Some(true) => ids = rest,
                Some(false) => at = end,
                None => return (ids, false),
            }
        }
        if chunk == 1 {
            // A member that was needed stays needed when others go: one pass of single ones is enough.
            return (ids, true);
        }
        chunk = chunk.div_ceil(2).min(ids.len()).max(1);
    }
}
