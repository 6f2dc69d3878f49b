//! Sizes: the places that each constraint relates, and the ways between them.
//!
//! A place is a dimension variable or an axis of a row variable. In a closed system a row
//! constraint is a list of pairs of places (or of a place and a written size), and there are two
//! facts about a place: that it has its value, and that an atom lies below it (a cap). From the
//! rules of Def. 4.2:
//!
//! | from | by | follows |
//! |---|---|---|
//! | `a = v` | `a ~ b` | `b = v`; the same for caps |
//! | `opnd = v`, an atom | `res ⊑ opnd` | `res = v` |
//! | `res = 1∅` | `res ⊑ opnd` | `opnd = 1∅` |
//! | `res = v`, or `v` caps it | `res ⊑ opnd` | `v` caps `opnd` |
//! | `v` caps a leaf | policy | the leaf is `v` |
//! | `v` caps what claims a size | – | it is `v` |
//! | two atoms cap a place | – | it is the unit |
//! | all sizes of an equation but one | the equation | that one |

use super::ways::{Derived, Fact, Inference, Way, Ways, Written};
use crate::ids::{ArithId, IdVec, SupportId};
use crate::solver::propagate::support::facing_place;
use crate::solver::report::DimShape;
use crate::solver::stores::ariths::Arith;
use crate::solver::stores::constraints::Stored;
use crate::solver::stores::reason::{Policy, Side};
use crate::solver::stores::rows::{Kind, RowCon, Term};
use crate::solver::stores::state::State;
use crate::term::{ConstraintId, DimTerm, DimVar, Piece, Role, RowVar};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A place by its number, or, with the highest bit, a ground term.
type End = u32;

/// Two axes that face each other in a constraint.
#[derive(Clone, Copy)]
struct Pair {
    /// The result and the operand, or the two sides of an equality.
    ends: [End; 2],
    /// Their positions, counted from the front, and the lengths of their rows.
    at: [u32; 2],
    of: [u32; 2],
    id: ConstraintId,
    equal: bool,
}

/// An equation, which gives one size if all others are known.
struct Equation {
    id: ConstraintId,
    places: Vec<u32>,
    /// The number of those that are not known yet.
    open: usize,
}

struct Places<'a> {
    state: &'a State,
    /// The first place of each row, after those of the dimension variables.
    rows: IdVec<RowVar, u32>,
    pairs: Vec<Pair>,
    /// The place in `of_place` at which the pairs of each place begin.
    starts: Vec<u32>,
    of_place: Vec<u32>,
    equations: Vec<Equation>,
    in_equations: FxHashMap<u32, Vec<u32>>,
    /// The caps that were found for each place: two of them make it the unit.
    caps: Vec<[DimTerm; 2]>,
}

/// The shortest chain to the value of a dimension, if there is one.
pub(super) fn shortest(state: &State, marker: impl Fn(RowVar) -> u32, dim: DimShape) -> Option<Vec<Derived>> {
    let mut places = Places::new(state, marker);
    let goal = value_fact(places.place_of(dim)?);
    let mut ways = Ways::new(3 * places.count());
    places.begin(&mut ways);
    while let Some(fact) = ways.next() {
        if fact == goal {
            let what = |fact: Fact| match places.shape_of(fact / 3) {
                shape @ DimShape::Front(row, _) => (Some(row), Some(shape)),
                shape => (None, Some(shape)),
            };
            return Some(ways.chain(&[goal], what));
        }
        places.follow(&mut ways, fact);
    }
    None
}

fn value_fact(place: u32) -> Fact {
    3 * place
}

fn is_ground(end: End) -> bool {
    DimTerm(end).is_ground()
}

impl<'a> Places<'a> {
    fn new(state: &'a State, marker: impl Fn(RowVar) -> u32) -> Places<'a> {
        let mut next = state.dims.len() as u32;
        let mut rows = IdVec::default();
        for row in state.rows.ids() {
            rows.push(next);
            next += state.ranks.lo(row);
        }
        rows.push(next);
        let mut places = Places {
            state,
            rows,
            pairs: Vec::new(),
            starts: Vec::new(),
            of_place: Vec::new(),
            equations: Vec::new(),
            in_equations: FxHashMap::default(),
            caps: vec![[DimTerm::NONE; 2]; next as usize],
        };
        for id in state.constraints.ids() {
            places.read(id, &marker);
        }
        places.index();
        places
    }

    fn count(&self) -> usize {
        self.caps.len()
    }

    /// The pairs or the equation of a constraint.
    fn read(&mut self, id: ConstraintId, marker: &impl Fn(RowVar) -> u32) {
        let state = self.state;
        match state.constraints.get(id) {
            Stored::DimEq(a, b) => self.pair([a.0, b.0], [0; 2], [1; 2], id, true),
            Stored::DimLe(a, b) => self.pair([a.0, b.0], [0; 2], [1; 2], id, false),
            Stored::AtLeast(..) | Stored::AtMost(..) => {}
            Stored::Row(con) => {
                let RowCon { res, opnd, kind, .. } = state.rows.con(con);
                let [below, above] = [res, opnd].map(|term| self.rank(term));
                let of = [below, above];
                let rank = |hole: RowVar| if hole == RowVar::NIL { 0 } else { state.ranks.lo(hole) };
                let inner = if opnd.hole == RowVar::NIL { 0 } else { marker(opnd.hole).min(rank(opnd.hole)) };
                let (split, surplus) = (opnd.lead + inner, below.saturating_sub(above));
                for at in 0..above {
                    let facing = if kind == Kind::Eq || at < split { at } else { at + surplus };
                    if facing < below {
                        let ends = [self.end(res, facing), self.end(opnd, at)];
                        self.pair(ends, [facing, at], of, id, kind == Kind::Eq);
                    }
                }
            }
            Stored::Arith(con) => self.read_arith(con, id),
            Stored::Support(support) => self.read_support(support, id),
        }
    }

    /// An axis that only one operand supports is that operand's.
    fn read_support(&mut self, support: SupportId, id: ConstraintId) {
        let state = self.state;
        let res = state.supports.get(support).res;
        let rank = state.ranks.lo(res);
        for at in 0..rank {
            let own = self.rows[res] + at;
            let mut claims = Vec::new();
            for term in state.supports.terms(support) {
                let length = self.rank(*term);
                let Some((side, place)) = facing_place(state, *term, rank, at) else { continue };
                let place = if side == Side::Left { place } else { length - 1 - place };
                let end = self.end(*term, place);
                let value = if is_ground(end) { DimTerm(end) } else { self.value(end) };
                if value != DimTerm::UNIT {
                    claims.push((end, place, length));
                }
            }
            if let [(end, place, length)] = claims[..] {
                self.pair([own, end], [at, place], [rank, length], id, true);
            }
        }
    }

    fn read_arith(&mut self, con: ArithId, id: ConstraintId) {
        match self.state.ariths.get(con) {
            Arith::Linear { items, .. } => {
                let matters = items.iter().filter(|item| item.coeff != 0).map(|item| item.dim.0);
                let ends: Vec<End> = matters.collect();
                self.equation(id, ends);
            }
            Arith::Count { pieces, numerator, divided_by, .. } => {
                let mut ends = self.flat(pieces);
                ends.extend(divided_by.iter().copied().chain(numerator.over).map(|dim| dim.0));
                self.equation(id, ends);
            }
            Arith::Exact { pieces, axes, .. } => {
                let ends = self.flat(pieces);
                let of = [ends.len() as u32, axes.len() as u32];
                for (at, (end, axis)) in (0..).zip(ends.into_iter().zip(axes)) {
                    self.pair([end, axis.0], [at; 2], of, id, true);
                }
            }
        }
    }

    /// The axes of some pieces, one after another.
    fn flat(&self, pieces: &[Piece]) -> Vec<End> {
        let mut ends = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Dim(dim) => ends.push(dim.0),
                Piece::Row(row) => ends.extend(self.places_of(*row)),
            }
        }
        ends
    }

    /// The places of the axes of a row.
    fn places_of(&self, row: RowVar) -> Range<u32> {
        self.rows[row]..self.rows[RowVar::new(row.index() + 1)]
    }

    fn rank(&self, term: Term) -> u32 {
        term.flanks() + if term.hole == RowVar::NIL { 0 } else { self.state.ranks.lo(term.hole) }
    }

    /// The end at a position of a term.
    fn end(&self, term: Term, at: u32) -> End {
        let literals = self.state.rows.literals(term);
        let rank = if term.hole == RowVar::NIL { 0 } else { self.state.ranks.lo(term.hole) };
        if at < term.lead {
            literals[at as usize].0
        } else if at < term.lead + rank {
            self.rows[term.hole] + at - term.lead
        } else {
            literals[(at - rank) as usize].0
        }
    }

    fn pair(&mut self, ends: [End; 2], at: [u32; 2], of: [u32; 2], id: ConstraintId, equal: bool) {
        if ends[0] != ends[1] && !ends.into_iter().all(is_ground) {
            self.pairs.push(Pair { ends, at, of, id, equal });
        }
    }

    fn equation(&mut self, id: ConstraintId, ends: Vec<End>) {
        let mut places: Vec<u32> = ends.into_iter().filter(|end| !is_ground(*end)).collect();
        places.sort_unstable();
        places.dedup();
        let number = self.equations.len() as u32;
        for place in &places {
            self.in_equations.entry(*place).or_default().push(number);
        }
        let open = places.len();
        self.equations.push(Equation { id, places, open });
    }

    /// Sorts the pairs by place.
    fn index(&mut self) {
        let mut starts = vec![0; self.count() + 1];
        let ends = || self.pairs.iter().flat_map(|pair| pair.ends).filter(|end| !is_ground(*end));
        ends().for_each(|place| starts[place as usize + 1] += 1);
        (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        let mut next = starts.clone();
        self.of_place = vec![0; starts[self.count()] as usize];
        for (number, pair) in (0..).zip(&self.pairs) {
            for place in pair.ends.into_iter().filter(|end| !is_ground(*end)) {
                self.of_place[next[place as usize] as usize] = number;
                next[place as usize] += 1;
            }
        }
        self.starts = starts;
    }

    fn place_of(&self, dim: DimShape) -> Option<u32> {
        let axis = |row: RowVar, at: u32| Some(self.rows[row] + at);
        let rank = |row: RowVar| self.state.ranks.lo(row);
        match dim {
            DimShape::Ground(_) => None,
            DimShape::Var(var) => Some(var.0),
            DimShape::Front(row, at) => axis(row, at).filter(|_| at < rank(row)),
            DimShape::Back(row, at) => axis(row, rank(row).checked_sub(at + 1)?),
        }
    }

    fn shape_of(&self, place: u32) -> DimShape {
        match self.row_of(place) {
            Some(row) => DimShape::Front(row, place - self.rows[row]),
            None => DimShape::Var(DimVar(place)),
        }
    }

    /// The row that a place is an axis of.
    fn row_of(&self, place: u32) -> Option<RowVar> {
        let row = self.rows.iter().as_slice().partition_point(|first| *first <= place).checked_sub(1)?;
        (place >= self.state.dims.len() as u32).then_some(RowVar::new(row))
    }

    fn term(&self, place: u32) -> DimTerm {
        match self.row_of(place) {
            Some(row) => self.state.row_axis(row, place - self.rows[row]),
            None => DimTerm(place),
        }
    }

    /// The value of a place.
    fn value(&self, place: u32) -> DimTerm {
        let value = self.state.dims.resolve(self.term(place));
        if value.is_ground() && !value.is_none() { value } else { DimTerm::UNIT }
    }

    /// Starts from what constraints write, equations give by themselves, and policies decided without a cap.
    fn begin(&mut self, ways: &mut Ways) {
        for at in 0..self.pairs.len() {
            let Pair { ends, at, of, id, equal } = self.pairs[at];
            let Some(second) = ends.into_iter().position(is_ground).map(|side| side == 1) else { continue };
            let (side, other) = (usize::from(second), ends[usize::from(!second)]);
            let (value, written) = (DimTerm(ends[side]), Written { second, at: at[side], of: of[side] });
            let step = Inference::Constraint(id, Some(written));
            let from_above = second && value != DimTerm::UNIT;
            let from_below = !second && value == DimTerm::UNIT;
            if equal || from_above || from_below {
                ways.start(value_fact(other), step);
            } else if !second {
                self.cap(ways, other, value, 0, step, Way::Start);
            }
        }
        for number in 0..self.equations.len() {
            self.solve(ways, number);
        }
        let decided = |policy: Policy| policy != Policy::LeafCap;
        if self.state.policies.iter().any(|choice| decided(choice.policy)) {
            for place in 0..self.count() as u32 {
                if let Some(policy) =
                    self.state.value_policy(self.term(place)).filter(|policy| decided(*policy))
                {
                    ways.start(value_fact(place), Inference::Policy(policy));
                }
            }
        }
    }

    /// Offers the facts that follow from a settled one.
    fn follow(&mut self, ways: &mut Ways, fact: Fact) {
        let place = fact / 3;
        let is_value = fact == value_fact(place);
        let value = self.value(place);
        let known = if is_value { value } else { self.caps[place as usize][(fact % 3) as usize - 1] };
        for at in self.starts[place as usize]..self.starts[place as usize + 1] {
            let Pair { ends, id, equal, .. } = self.pairs[self.of_place[at as usize] as usize];
            let below = ends[0] == place;
            let other = ends[usize::from(below)];
            if is_ground(other) {
                continue;
            }
            let step = Inference::Constraint(id, None);
            let passes = equal || below == (known == DimTerm::UNIT);
            if is_value && passes && self.value(other) == known {
                ways.by(value_fact(other), step, fact);
            } else if (equal || below) && known != DimTerm::UNIT {
                let before = ways.best[fact as usize];
                self.cap(ways, other, known, before, step, |step| Way::From(step, fact));
            }
        }
        if is_value {
            self.tell(ways, place);
        } else if known == value {
            self.take_cap(ways, place, fact);
        } else if let [first, second] = self.caps[place as usize].map(|cap| !cap.is_none())
            && (first && second)
            && value == DimTerm::UNIT
        {
            let caps = [fact_of_cap(place, 0), fact_of_cap(place, 1)];
            if caps.iter().all(|cap| ways.settled[*cap as usize]) {
                ways.by_all(value_fact(place), Inference::Silent, &caps);
            }
        }
    }

    /// An atom below a place; up to two are kept.
    fn cap(
        &mut self,
        ways: &mut Ways,
        place: u32,
        atom: DimTerm,
        before: u64,
        step: Inference,
        way: impl FnOnce(Inference) -> Way,
    ) {
        let caps = &mut self.caps[place as usize];
        let free = |cap: &DimTerm| *cap == atom || cap.is_none();
        if let Some(at) = caps.iter().position(free) {
            caps[at] = atom;
            ways.offer(fact_of_cap(place, at as u32), before, step, way);
        }
    }

    /// A place that takes its cap: because it has to have a size, or because it is a leaf.
    fn take_cap(&self, ways: &mut Ways, place: u32, cap: Fact) {
        let (state, term) = (self.state, self.term(place));
        let claims = term.var().is_some_and(|node| state.dims.claims(state.dims.find(node)));
        let role = match self.row_of(place) {
            Some(row) => state.rows.role(row),
            None => state.dim_role(DimVar(place)),
        };
        if claims {
            ways.by(value_fact(place), Inference::Silent, cap);
        } else if role != Role::Interior || state.value_policy(term) == Some(Policy::LeafCap) {
            ways.by(value_fact(place), Inference::Policy(Policy::LeafCap), cap);
        }
    }

    /// Records in the equations of a place that its size is known.
    fn tell(&mut self, ways: &mut Ways, place: u32) {
        let Some(numbers) = self.in_equations.remove(&place) else { return };
        for number in numbers {
            self.equations[number as usize].open -= 1;
            self.solve(ways, number as usize);
        }
    }

    /// The last size of an equation.
    fn solve(&self, ways: &mut Ways, number: usize) {
        let Equation { id, places, open } = &self.equations[number];
        if *open != 1 {
            return;
        }
        let known = |place: &&u32| ways.settled[value_fact(**place) as usize];
        let Some(last) = places.iter().find(|place| !known(place)) else { return };
        let others: Vec<Fact> = places.iter().filter(known).map(|place| value_fact(*place)).collect();
        ways.by_all(value_fact(*last), Inference::Constraint(*id, None), &others);
    }
}

fn fact_of_cap(place: u32, which: u32) -> Fact {
    3 * place + 1 + which
}
