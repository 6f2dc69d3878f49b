//! The two ends of a contradiction, in the names of the system it was found in.

use crate::form::{Form, Symbol};
use crate::ids::{ArithId, IdVec};
use crate::order::Dim;
use crate::solver::closing::close_policy;
use crate::solver::explain::blame::{aligned_axis, sources};
use crate::solver::forms::{bounded_by, is_open_form, known_forms, names_open_symbol};
use crate::solver::known::{known_sizes, size_bounds};
use crate::solver::report::{DimShape, name_of};
use crate::solver::stores::reason::Conflict;
use crate::solver::stores::rows::{Kind, RowCon};
use crate::solver::stores::state::State;
use crate::solver::subsystem::Subsystem;
use crate::term::{ConstraintId, DimTerm, DimVar, RowVar};

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
        /// True if the rows are equated; else the first is an operand and the second its result.
        equal: bool,
    },
    /// The sizes that a dimension may have exclude each other, or it would have to be the unit.
    Size {
        /// The dimension, if it has a name.
        what: Option<DimShape>,
        /// The least and the greatest size it may have.
        bounds: (u64, u64),
    },
    /// The known sizes of its dimensions contradict an arithmetic constraint.
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

/// The contradiction of a subsystem, in the names of the original.
pub(crate) fn clash(sub: &mut Subsystem) -> Clash {
    // With named sizes, the first thing that closing cannot do is worth telling.
    let closing = if sub.state.conflict.is_none() && !sub.state.symbols.is_empty() {
        sub.state.mark();
        close_policy(&mut sub.state, &mut IdVec::default()).err()
    } else {
        None
    };
    let state = &sub.state;
    let value = |node: DimVar| state.dims.value(state.dims.find(node)).unwrap_or(DimTerm::UNIT);
    let Some(conflict) = state.conflict.or(closing) else { return Clash::Exhausted };
    let (node, ends) = match conflict {
        Conflict::Value { node, have, want, .. } => (node, [have, want]),
        Conflict::Cap { node, cap, want, .. } => (node, [cap, want]),
        Conflict::Merge { a, b, .. } => (a, [value(a), value(b)]),
        Conflict::Ground { a, b, .. } => (DimVar::NIL, [a, b]),
        Conflict::Rank { row, lo, hi } => {
            return sub.original_row(row).map_or(Clash::Exhausted, |row| Clash::Rank { row, lo, hi });
        }
        Conflict::RankCycle { .. } => return Clash::RankCycle,
        Conflict::Overflow { con } => {
            let RowCon { res, opnd, kind, .. } = state.rows.con(con);
            let (longer, shorter) = if opnd.flanks() > res.flanks() { (opnd, res) } else { (res, opnd) };
            let (written, available) = (longer.flanks(), shorter.flanks());
            return Clash::Overflow { written, available, equal: kind == Kind::Eq };
        }
        Conflict::Symbols { a, b, .. } => {
            let symbol = |node: DimVar| state.dims.tag(state.dims.find(node));
            return match (symbol(a), symbol(b)) {
                (Some(a), Some(b)) => Clash::Symbols { ends: [a.min(b), a.max(b)] },
                _ => Clash::Exhausted,
            };
        }
        Conflict::Claim { node, .. } | Conflict::Size { node } => {
            if let Some(clash) = range_clash(state, node) {
                return clash;
            }
            if let Some((id, con)) = open_equation(state, node) {
                let constraint = sub.original_id(id);
                return Clash::Expressions { constraint, sizes: known_forms(state, con) };
            }
            let what = name_of(state, node).and_then(|shape| sub.original_shape(shape));
            return Clash::Size { what, bounds: size_bounds(state, node.into()) };
        }
        Conflict::TooSmall { size, least, .. } => {
            return Clash::Size { what: None, bounds: (least, size) };
        }
        Conflict::TooLarge { size, most, .. } => {
            return Clash::Size { what: None, bounds: (size, most) };
        }
        Conflict::Arith { con } if closing.is_some() || names_open_symbol(state, con) => {
            let constraint = sub.original_id(state.ariths.id(con));
            return Clash::Expressions { constraint, sizes: known_forms(state, con) };
        }
        Conflict::Arith { con } => {
            let constraint = sub.original_id(state.ariths.id(con));
            return Clash::Arithmetic { constraint, sizes: known_sizes(state, con) };
        }
        Conflict::Contents | Conflict::Short { .. } | Conflict::TooMuch(_) => return Clash::Exhausted,
    };
    let what = if node == DimVar::NIL { aligned_axis(state, conflict) } else { name_of(state, node) };
    let what = what.and_then(|shape| sub.original_shape(shape));
    let sources = sources(state, conflict, ends).map(|id| id.map(|id| sub.original_id(id)));
    let ends = ends.map(|end| state.ground(end).unwrap_or(Dim::Unit));
    Clash::Dims { what, ends, sources }
}

/// The clash of a symbol whose bounds exclude each other, or its value.
fn range_clash(state: &State, node: DimVar) -> Option<Clash> {
    let root = state.dims.find(node);
    let symbol = state.dims.tag(root)?;
    let bounds = state.dims.sizes.get(state.dims.extra_of(root)?);
    let value = state.dims.value(root).filter(|value| *value != DimTerm::UNIT);
    let size = value.and_then(|value| value.atom()).map(|atom| state.atoms[atom].size);
    let size = size.filter(|_| bounds.lo <= bounds.hi);
    let inside = size.is_some_and(|size| (bounds.lo..=bounds.hi).contains(&size));
    (!inside && (size.is_some() || bounds.lo > bounds.hi)).then_some(Clash::Range {
        symbol,
        size,
        bounds: (bounds.lo, bounds.hi),
    })
}

/// The equation that bounds a class which is an expression over symbols without a size.
fn open_equation(state: &State, node: DimVar) -> Option<(ConstraintId, ArithId)> {
    let root = state.dims.find(node);
    let id = bounded_by(state, root).filter(|_| is_open_form(state, root.into()))?;
    Some((id, state.constraints.arith(id)?))
}
