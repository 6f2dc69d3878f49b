//! The store of supports: rows that are made of their operands, and the clauses about their axes.

use crate::ids::{ClauseId, IdVec, SupportId, ids};
use crate::solver::stores::rows::Term;
use crate::solver::stores::trail::{Cell, Trail};
use crate::term::{ConstraintId, DimTerm, RowVar};

/// A row, and the operands it is made of.
#[derive(Clone, Copy)]
pub(crate) struct Support {
    pub res: RowVar,
    /// The constraint's id.
    pub id: ConstraintId,
    start: u32,
    len: u32,
    queued: bool,
    /// True if its axes have clauses.
    pub spread: bool,
}

/// An axis of a supported row, and the axes of operands that face it.
#[derive(Clone, Copy)]
pub(crate) struct Clause {
    pub support: SupportId,
    /// The place of the axis, counted from the front.
    pub at: u32,
    pub result: DimTerm,
    start: u32,
    len: u32,
    queued: bool,
}

ids! {
    /// An entry in the list of supports that wait for a row.
    EntryId "entry";
}

/// The store of supports.
#[derive(Clone, Default)]
pub(crate) struct Supports {
    supports: IdVec<SupportId, Support>,
    terms: Vec<Term>,
    clauses: IdVec<ClauseId, Clause>,
    facing: Vec<DimTerm>,
    /// The supports that wait for the bounds of a row: a list for each row, by its first entry.
    heads: IdVec<RowVar, EntryId>,
    entries: IdVec<EntryId, (SupportId, EntryId)>,
    queue: Vec<SupportId>,
    clause_queue: Vec<ClauseId>,
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

    /// Keeps a support of a row by some terms.
    pub fn push(&mut self, res: RowVar, id: ConstraintId, terms: &[Term]) -> SupportId {
        let (start, len) = (self.terms.len() as u32, terms.len() as u32);
        self.terms.extend_from_slice(terms);
        self.supports.push(Support { res, id, start, len, queued: false, spread: false })
    }

    /// Keeps a clause about an axis of a supported row.
    pub fn push_clause(
        &mut self,
        support: SupportId,
        at: u32,
        result: DimTerm,
        facing: &[DimTerm],
    ) -> ClauseId {
        let (start, len) = (self.facing.len() as u32, facing.len() as u32);
        self.facing.extend_from_slice(facing);
        self.clauses.push(Clause { support, at, result, start, len, queued: false })
    }

    /// The number that the next support gets.
    pub fn next(&self) -> SupportId {
        self.supports.next()
    }

    /// The numbers of all supports.
    pub fn ids(&self) -> impl Iterator<Item = SupportId> + use<> {
        self.supports.ids()
    }

    pub fn get(&self, support: SupportId) -> Support {
        self.supports[support]
    }

    /// The operands of a support.
    pub fn terms(&self, support: SupportId) -> &[Term] {
        let Support { start, len, .. } = self.supports[support];
        &self.terms[start as usize..(start + len) as usize]
    }

    pub fn clause(&self, clause: ClauseId) -> Clause {
        self.clauses[clause]
    }

    /// The numbers of all clauses.
    pub fn clause_ids(&self) -> impl Iterator<Item = ClauseId> + use<> {
        self.clauses.ids()
    }

    /// The axes of operands that face the axis of a clause.
    pub fn facing(&self, clause: ClauseId) -> &[DimTerm] {
        let Clause { start, len, .. } = self.clauses[clause];
        &self.facing[start as usize..(start + len) as usize]
    }

    /// Makes a support wait for the bounds of a row.
    pub fn wait_for(&mut self, row: RowVar, support: SupportId) {
        if self.heads.len() <= row.index() {
            self.heads.resize(row.index() + 1, EntryId::NIL);
        }
        let entry = self.entries.push((support, self.heads[row]));
        self.heads[row] = entry;
    }

    /// The bounds of a row moved: its supports are looked at again.
    pub fn wake(&mut self, row: RowVar) {
        let mut next = self.heads.get(row).copied().unwrap_or(EntryId::NIL);
        while let Some((support, after)) = self.entries.get(next).copied() {
            self.enqueue(support);
            next = after;
        }
    }

    pub fn enqueue(&mut self, support: SupportId) {
        let entry = &mut self.supports[support];
        if !std::mem::replace(&mut entry.queued, true) {
            self.queue.push(support);
        }
    }

    /// Queues a clause to be looked at again.
    pub fn enqueue_clause(&mut self, clause: ClauseId) {
        if !std::mem::replace(&mut self.clauses[clause].queued, true) {
            self.clause_queue.push(clause);
        }
    }

    pub fn pop(&mut self) -> Option<SupportId> {
        let support = self.queue.pop()?;
        self.supports[support].queued = false;
        Some(support)
    }

    pub fn pop_clause(&mut self) -> Option<ClauseId> {
        let clause = self.clause_queue.pop()?;
        self.clauses[clause].queued = false;
        Some(clause)
    }

    /// Empties the work lists.
    pub fn clear_queues(&mut self) {
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

    /// Notes that the axes of a supported row have clauses.
    pub fn set_spread(&mut self, trail: &mut Trail, support: SupportId) {
        trail.save(Cell::Spread, support, 0);
        self.supports[support].spread = true;
    }

    /// Puts a logged word back.
    pub fn restore(&mut self, support: SupportId) {
        self.supports[support].spread = false;
    }

    /// Bytes held, for the benchmarks.
    pub fn bytes(&self) -> usize {
        self.supports.bytes()
            + self.terms.capacity() * size_of::<Term>()
            + self.clauses.bytes()
            + self.facing.capacity() * size_of::<DimTerm>()
            + self.heads.bytes()
            + self.entries.bytes()
    }
}
