//! The store of supports: rows that are made of their operands, and the clauses about their axes.

use crate::ids::NIL;
use crate::solver::stores::rows::Term;
use crate::solver::stores::trail::{Cell, Trail};
use crate::term::DimTerm;

/// Set in a watch of a class for the clauses of supports, which share the lists of arithmetic.
pub(crate) const CLAUSE: u32 = 1 << 31;

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
    pub spread: bool,
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

    /// Keeps a support of a row by some terms.
    pub fn push(&mut self, res: u32, id: u32, terms: &[Term]) -> u32 {
        let (start, len) = (self.terms.len() as u32, terms.len() as u32);
        self.terms.extend_from_slice(terms);
        self.supports.push(Support { res, id, start, len, queued: false, spread: false });
        self.len() - 1
    }

    /// Keeps a clause about an axis of a supported row.
    pub fn push_clause(&mut self, support: u32, at: u32, result: DimTerm, facing: &[DimTerm]) -> u32 {
        let (start, len) = (self.facing.len() as u32, facing.len() as u32);
        self.facing.extend_from_slice(facing);
        self.clauses.push(Clause { support, at, result, start, len, queued: false });
        self.clauses() - 1
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

    /// Makes a support wait for the bounds of a row.
    pub fn wait_for(&mut self, row: u32, support: u32) {
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

    pub fn enqueue(&mut self, support: u32) {
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
    pub fn set_spread(&mut self, trail: &mut Trail, support: u32) {
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
