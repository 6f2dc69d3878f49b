//! Results that are made of their operands ([`Constraint::MadeOf`](crate::Constraint::MadeOf)): nothing in
//! them comes from nowhere.
//!
//! An inequality lets a result have more axes than its operand, and claim sizes where the operand claims
//! none. That is right for a system of constraints; the result of a sum, however, is what its operands
//! broadcast to. A *support* says so, of a row and of its operands:
//!
//! - *Ranks.* The row has as many axes as the longest operand at most. Where one operand alone can be long
//!   enough, it is.
//! - *Sizes.* When all ranks are known, each axis of the row faces certain axes of operands. If it claims
//!   a size, one of those claims it ([`Clause`]). Where all of them are units, so is the axis; where all
//!   but one are, the axis is that one.
//!
//! For example `z` made of `a` and `[3, _]`, read as `[3, 4]`: only `a` can have the 4, so `a` has two axes,
//! and its last one is 4.

use smallvec::SmallVec;

use super::Solver;
use super::closing::Short;
use super::ranks::{Pred, UNBOUNDED};
use super::reason::{Conflict, NIL, Reason, Side, Step};
use super::rows::{Slot, Term};
use super::trail::{Cell, Trail};
use crate::term::{ConstraintId, DimTerm, RowTerm, RowVar};

/// Set in a watch of a class for the clauses of supports, which share the lists of arithmetic.
const CLAUSE: u32 = 1 << 31;

/// Whether a watch of a class is one of a clause, and not of an arithmetic constraint.
pub(crate) fn is_clause(watch: u32) -> bool {
    watch & CLAUSE != 0
}

/// A row, and the operands it is made of.
#[derive(Clone, Copy)]
pub(crate) struct Support {
    pub res: u32,
    /// The constraint's id.
    pub id: u32,
    start: u32,
    len: u32,
    queued: bool,
    /// Whether its axes have clauses.
    spread: bool,
}

/// An axis of a supported row, and the axes of operands that face it.
#[derive(Clone, Copy)]
pub(crate) struct Clause {
    pub support: u32,
    /// The place of the axis, counted from the front.
    pub at: u32,
    pub result: DimTerm,
    start: u32,
    len: u32,
    queued: bool,
}

/// What a clause says at present.
pub(crate) enum Verdict {
    /// An operand claims what the axis claims, or the axis claims nothing.
    Supported,
    /// Several operands could.
    Open,
    /// None can: the axis is the unit.
    Unit,
    /// Only this one can.
    Sole(DimTerm),
}

/// The store of supports.
#[derive(Clone, Default)]
pub(crate) struct Supports {
    supports: Vec<Support>,
    terms: Vec<Term>,
    clauses: Vec<Clause>,
    facing: Vec<DimTerm>,
    /// The supports that wait for the bounds of a row: a list for each row, by its first entry.
    heads: Vec<u32>,
    entries: Vec<(u32, u32)>,
    queue: Vec<u32>,
    clause_queue: Vec<u32>,
}

/// Lengths to cut back to on undo.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SupportsMark {
    clauses: usize,
    facing: usize,
}

impl Supports {
    pub fn clear(&mut self) {
        *self = Supports::default();
    }

    pub fn len(&self) -> u32 {
        self.supports.len() as u32
    }

    pub fn get(&self, support: u32) -> Support {
        self.supports[support as usize]
    }

    /// The operands of a support.
    pub fn terms(&self, support: u32) -> &[Term] {
        let Support { start, len, .. } = self.supports[support as usize];
        &self.terms[start as usize..(start + len) as usize]
    }

    pub fn clause(&self, clause: u32) -> Clause {
        self.clauses[clause as usize]
    }

    pub fn clauses(&self) -> u32 {
        self.clauses.len() as u32
    }

    /// The axes of operands that face the axis of a clause.
    pub fn facing(&self, clause: u32) -> &[DimTerm] {
        let Clause { start, len, .. } = self.clauses[clause as usize];
        &self.facing[start as usize..(start + len) as usize]
    }

    fn wait_for(&mut self, row: u32, support: u32) {
        if self.heads.len() <= row as usize {
            self.heads.resize(row as usize + 1, NIL);
        }
        let next = std::mem::replace(&mut self.heads[row as usize], self.entries.len() as u32);
        self.entries.push((support, next));
    }

    /// The bounds of a row moved: its supports are looked at again.
    pub fn wake(&mut self, row: u32) {
        let mut next = self.heads.get(row as usize).copied().unwrap_or(NIL);
        while let Some((support, after)) = self.entries.get(next as usize).copied() {
            self.enqueue(support);
            next = after;
        }
    }

    fn enqueue(&mut self, support: u32) {
        let entry = &mut self.supports[support as usize];
        if !std::mem::replace(&mut entry.queued, true) {
            self.queue.push(support);
        }
    }

    /// A watch of a class woke: true if it was one of a clause.
    pub fn wake_watch(&mut self, watch: u32) -> bool {
        let clause = watch & !CLAUSE;
        if watch & CLAUSE != 0 && !std::mem::replace(&mut self.clauses[clause as usize].queued, true) {
            self.clause_queue.push(clause);
        }
        watch & CLAUSE != 0
    }

    pub fn pop(&mut self) -> Option<u32> {
        let support = self.queue.pop()?;
        self.supports[support as usize].queued = false;
        Some(support)
    }

    pub fn pop_clause(&mut self) -> Option<u32> {
        let clause = self.clause_queue.pop()?;
        self.clauses[clause as usize].queued = false;
        Some(clause)
    }

    /// Empties the work lists.
    pub fn settle_down(&mut self) {
        while self.pop().is_some() {}
        while self.pop_clause().is_some() {}
    }

    pub fn mark(&self) -> SupportsMark {
        SupportsMark { clauses: self.clauses.len(), facing: self.facing.len() }
    }

    pub fn cut(&mut self, mark: SupportsMark) {
        self.clauses.truncate(mark.clauses);
        self.facing.truncate(mark.facing);
    }

    fn set_spread(&mut self, trail: &mut Trail, support: u32) {
        trail.save(Cell::Spread, support, 0);
        self.supports[support as usize].spread = true;
    }

    /// Puts a logged word back.
    pub fn restore(&mut self, support: u32) {
        self.supports[support as usize].spread = false;
    }

    /// Bytes held, for the benchmarks.
    pub fn bytes(&self) -> usize {
        self.supports.capacity() * size_of::<Support>()
            + self.terms.capacity() * size_of::<Term>()
            + self.clauses.capacity() * size_of::<Clause>()
            + self.facing.capacity() * size_of::<DimTerm>()
            + self.heads.capacity() * size_of::<u32>()
            + self.entries.capacity() * size_of::<(u32, u32)>()
    }
}

impl Solver {
    /// Adds a support.
    pub(crate) fn add_support(&mut self, res: RowVar, opnds: &[RowTerm<'_>], id: u32) -> Step {
        let (support, start) = (self.supports.len(), self.supports.terms.len() as u32);
        for opnd in opnds {
            let term = self.stored_operand(res.0, *opnd).unwrap_or_else(|| self.rows.store(*opnd));
            self.supports.terms.push(term);
        }
        let len = opnds.len() as u32;
        let entry = Support { res: res.0, id, start, len, queued: false, spread: false };
        self.supports.supports.push(entry);
        for at in start..start + len {
            let hole = self.supports.terms[at as usize].hole;
            if hole != NIL && !self.rows.is_fixed(hole) {
                self.supports.wait_for(hole, support);
                self.ranks.watch_bounds(hole);
            }
        }
        self.supports.wait_for(res.0, support);
        self.ranks.watch_bounds(res.0);
        if self.conflict.is_some() {
            return Ok(());
        }
        self.supports.enqueue(support);
        self.propagate()
    }

    /// A term that the row refines already, as it is stored.
    fn stored_operand(&self, res: u32, opnd: RowTerm<'_>) -> Option<Term> {
        let same = |term: &Term| {
            let (lead, trail) = self.rows.literals(*term).split_at(term.lead as usize);
            self.rows.hole_of(opnd) == term.hole && lead == opnd.lead && trail == opnd.trail
        };
        let refined = self.rows.watchers(res).map(|con| self.rows.con(con));
        refined.filter(|con| con.res.hole == res).map(|con| con.opnd).find(same)
    }

    /// Looks at a support again: its ranks and, once they are all known, its axes.
    pub(crate) fn run_support(&mut self, support: u32) -> Step {
        self.steps += 1;
        let Support { res, spread, .. } = self.supports.get(support);
        let (most, sole) = self.reach(support);
        if let Some(most) = most {
            self.ranks.at_most(&mut self.trail, res, i64::from(most), Pred::support(support))?;
        }
        if let Some((row, least)) = sole {
            self.ranks.at_least(&mut self.trail, row, least, Pred::support(support))?;
        }
        let open = |row: u32| row != NIL && !self.rows.is_fixed(row);
        let waits = open(res) || self.supports.terms(support).iter().any(|term| open(term.hole));
        // What just moved is aligned first.
        if spread || waits || !self.ranks.touched.is_empty() {
            return Ok(());
        }
        self.supports.set_spread(&mut self.trail, support);
        (0..self.ranks.lo(res)).try_for_each(|at| self.support_axis(support, at))
    }

    /// The greatest rank that the operands allow, if there is one; and the row that has to be longer if it
    /// is the only one that can be, with its least rank.
    fn reach(&self, support: u32) -> (Option<u32>, Option<(u32, u32)>) {
        let least = self.ranks.lo(self.supports.get(support).res);
        let (mut most, mut bounded) = (0, true);
        // The rows that can be long enough, each with the most axes written around it.
        let mut able: SmallVec<[(u32, u32); 4]> = SmallVec::new();
        for term in self.supports.terms(support) {
            let hi = if term.hole == NIL { 0 } else { self.ranks.hi(term.hole) };
            bounded &= hi != UNBOUNDED;
            let reach = hi.saturating_add(term.flanks());
            most = most.max(reach);
            if reach >= least {
                match able.iter_mut().find(|(row, _)| *row == term.hole) {
                    Some((_, flanks)) => *flanks = (*flanks).max(term.flanks()),
                    None => able.push((term.hole, term.flanks())),
                }
            }
        }
        let sole = match able[..] {
            [(row, flanks)] if row != NIL && least > flanks => Some((row, least - flanks)),
            _ => None,
        };
        (bounded.then_some(most), sole)
    }

    /// Says of an axis of a supported row what the operands leave of it.
    fn support_axis(&mut self, support: u32, at: u32) -> Step {
        let res = self.supports.get(support).res;
        let rank = self.ranks.lo(res);
        let terms: SmallVec<[Term; 4]> = self.supports.terms(support).iter().copied().collect();
        let mut facing: SmallVec<[DimTerm; 4]> = SmallVec::new();
        for term in terms {
            if let Some((side, place)) = self.facing_place(term, rank, at) {
                let spot = self.rows.spot(&self.ranks, term, side, place);
                facing.push(self.term_at(spot));
            }
        }
        let claimed = |term: &DimTerm| {
            let value = self.dims.resolve(*term);
            value.is_ground() && value != DimTerm::UNIT
        };
        let result = self.rows.axis(res, at);
        if let Some(claimed) = facing.iter().find(|term| claimed(term))
            && !result.is_none()
            && self.dims.resolve(result) == self.dims.resolve(*claimed)
        {
            return Ok(());
        }
        let result = if result.is_none() { self.mint(Slot::Axis { row: res, at }) } else { result };
        self.add_clause(support, at, result, &facing)
    }

    /// Which axis of an operand faces an axis of its result, counted from which edge, if any does.
    pub(crate) fn facing_place(&self, term: Term, rank: u32, at: u32) -> Option<(Side, u32)> {
        let inner = if term.hole == NIL { 0 } else { self.ranks.lo(term.hole) };
        let own = term.flanks() + inner;
        let marker = if term.hole == NIL { 0 } else { self.rows.marker(term.hole).unwrap_or(0).min(inner) };
        let split = term.lead + marker;
        let behind = rank - 1 - at;
        if at < split || own >= rank {
            Some((Side::Left, at)).filter(|_| at < own)
        } else {
            Some((Side::Right, behind)).filter(|_| behind < own - split)
        }
    }

    fn add_clause(&mut self, support: u32, at: u32, result: DimTerm, facing: &[DimTerm]) -> Step {
        let (clause, start) = (self.supports.clauses(), self.supports.facing.len() as u32);
        self.supports.facing.extend_from_slice(facing);
        let len = facing.len() as u32;
        self.supports.clauses.push(Clause { support, at, result, start, len, queued: false });
        self.run_clause(clause)?;
        if matches!(self.judge_clause(clause), Verdict::Open) {
            let nodes = facing.iter().chain([&result]).filter_map(|term| term.node());
            for node in nodes.collect::<SmallVec<[u32; 4]>>() {
                let extra = self.dims.extra(&mut self.trail, node);
                self.dims.sizes.watch(&mut self.trail, extra, CLAUSE | clause);
            }
        }
        Ok(())
    }

    /// What the operands leave of the axis of a clause.
    pub(crate) fn judge_clause(&self, clause: u32) -> Verdict {
        let result = self.dims.resolve(self.supports.clause(clause).result);
        if result == DimTerm::UNIT {
            return Verdict::Supported;
        }
        let mut able: Option<DimTerm> = None;
        for term in self.supports.facing(clause) {
            let value = self.dims.resolve(*term);
            if value == result {
                return Verdict::Supported;
            }
            let other = |atom: DimTerm| result.is_ground() && atom != result;
            let unable = match value.node() {
                None => value == DimTerm::UNIT || other(value),
                Some(root) => self.dims.cap(root).is_some_and(other),
            };
            if unable || able == Some(value) {
                continue;
            }
            if able.is_some() {
                return Verdict::Open;
            }
            able = Some(value);
        }
        able.map_or(Verdict::Unit, Verdict::Sole)
    }

    /// Whether nothing is left to be said by rows that are made of others.
    pub(crate) fn supports_settled(&self) -> bool {
        (0..self.supports.len()).all(|support| self.supports.get(support).spread)
            && (0..self.supports.clauses())
                .all(|clause| matches!(self.judge_clause(clause), Verdict::Supported))
    }

    /// Takes the steps that a clause allows.
    pub(crate) fn run_clause(&mut self, clause: u32) -> Step {
        self.steps += 1;
        let term = self.supports.clause(clause).result;
        let result = self.dims.resolve(term);
        match self.judge_clause(clause) {
            Verdict::Supported | Verdict::Open => Ok(()),
            Verdict::Unit => {
                let reason = self.dims.reason(Reason::Unsupported { clause });
                self.dims.equate(&mut self.trail, term, DimTerm::UNIT, reason)
            }
            Verdict::Sole(other) => {
                // The axis claims a size, so the operand claims it; or the axis is below the operand, so
                // they are units together, or one size.
                let claims = result.node().is_none_or(|root| self.dims.claims(root));
                let below = self.edge_between(result, other);
                if !claims && below.is_none() {
                    return Ok(());
                }
                let edge = if claims { NIL } else { below.unwrap_or(NIL) };
                let reason = self.dims.reason(Reason::Sole { clause, edge });
                let same = |term: &&DimTerm| self.dims.resolve(**term) == other;
                let other = self.supports.facing(clause).iter().find(same).copied().unwrap_or(other);
                self.dims.equate(&mut self.trail, term, other, reason)
            }
        }
    }

    /// The adjacency by which one class lies below another.
    fn edge_between(&self, below: DimTerm, above: DimTerm) -> Option<u32> {
        let (below, above) = (below.node()?, above.node()?);
        self.dims.up(below).find(|edge| self.dims.find(self.dims.edge(*edge).hi) == above)
    }

    /// Whether every supported row has an operand as long as itself, at the least ranks.
    pub(crate) fn all_long_enough(&self) -> Step {
        let length = |term: &Term| {
            let inner = if term.hole == NIL { 0 } else { self.ranks.lo(term.hole) };
            term.flanks() + inner
        };
        let short = |support: &u32| {
            let longest = self.supports.terms(*support).iter().map(length).max();
            self.ranks.lo(self.supports.get(*support).res) > longest.unwrap_or(0)
        };
        (0..self.supports.len()).find(short).map_or(Ok(()), |support| Err(Conflict::Short { support }))
    }

    /// What there is to say of a supported row that is longer than its operands.
    pub(crate) fn short_row(&self, support: u32) -> Short {
        let Support { res, id, .. } = self.supports.get(support);
        let because = self.blame_least(res).constraints.into_iter().map(ConstraintId).collect();
        Short { row: RowVar(res), at: None, made_of: ConstraintId(id), because }
    }

    /// A size that a supported row claims and none of its operands, once everything is closed.
    pub(crate) fn short_axis(&self) -> Option<Short> {
        let value = |term: DimTerm| if term.is_none() { DimTerm::UNIT } else { self.dims.resolve(term) };
        for support in 0..self.supports.len() {
            let Support { res, id, .. } = self.supports.get(support);
            let rank = self.ranks.lo(res);
            for at in 0..rank {
                let own = value(self.row_axis(res, at));
                let claimed = |term: &Term| {
                    let axis = self.operand_axis(*term, rank, at);
                    axis.is_some_and(|axis| value(axis) == own)
                };
                let supported = own == DimTerm::UNIT
                    || own.node().is_some()
                    || self.supports.terms(support).iter().any(claimed);
                if !supported {
                    let because = self.row_axis(res, at).var().map_or(Vec::new(), |var| {
                        self.chain_dim(var).iter().filter_map(|link| link.constraint()).collect()
                    });
                    let (row, made_of) = (RowVar(res), ConstraintId(id));
                    return Some(Short { row, at: Some(at), made_of, because });
                }
            }
        }
        None
    }

    /// The axis of an operand that faces an axis of its result, at the least ranks.
    fn operand_axis(&self, term: Term, rank: u32, at: u32) -> Option<DimTerm> {
        let (side, place) = self.facing_place(term, rank, at)?;
        let inner = if term.hole == NIL { 0 } else { self.ranks.lo(term.hole) };
        let place = if side == Side::Left { place } else { term.flanks() + inner - 1 - place };
        let literals = self.rows.literals(term);
        Some(if place < term.lead {
            literals[place as usize]
        } else if place < term.lead + inner {
            self.row_axis(term.hole, place - term.lead)
        } else {
            literals[(place - inner) as usize]
        })
    }
}
