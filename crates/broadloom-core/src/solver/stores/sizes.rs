//! The sizes of classes: bounds, whether a class claims a size, and who waits for news of it.
//!
//! A size is less than a value: an axis of size 3 may still have any basis, and one of size 1 may be the
//! unit. So bounds are kept beside the values of [`Dims`](super::dims::Dims), and only for the classes
//! that take part in arithmetic. A class *claims* a size if it is not the unit; what lies below such a
//! class is equal to it.

use crate::form::Symbol;
use crate::ids::{ArithId, ClauseId, IdVec, NIL, SizeId, ids};
use crate::order::Basis;
use crate::solver::stores::reason::ReasonId;
use crate::solver::stores::trail::{Cell, Entry, Trail, set};
use crate::term::DimVar;

/// No upper bound.
pub(crate) const ANY: u64 = u64::MAX;

/// Bounds on the size of a class, and who waits for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SizeRecord {
    pub lo: u64,
    pub hi: u64,
    /// Not the unit: zero or one.
    claims: u32,
    /// The basis it has unless it is the unit or empty, or [`NO_BASIS`].
    basis: Basis,
    /// The symbol it is, or `NIL`: see [`DYNAMIC`].
    tag: u32,
    head: WatchId,
    tail: WatchId,
    history: HistoryId,
}

/// No basis that a size could have.
const NO_BASIS: Basis = Basis(NIL);

/// A tag with this bit is of a dynamic size: it gives way to any other.
const DYNAMIC: u32 = 1 << 30;

/// Something that waits for news of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Watcher {
    Arith(ArithId),
    Clause(ClauseId),
}

/// A [`Watcher`] in one word.
#[derive(Clone, Copy)]
struct PackedWatcher(u32);

impl PackedWatcher {
    const CLAUSE: u32 = 1 << 31;

    fn pack(watcher: Watcher) -> PackedWatcher {
        match watcher {
            Watcher::Arith(con) => PackedWatcher(con.0),
            Watcher::Clause(clause) => PackedWatcher(Self::CLAUSE | clause.0),
        }
    }

    fn unpack(self) -> Watcher {
        if self.0 & Self::CLAUSE == 0 {
            Watcher::Arith(ArithId(self.0))
        } else {
            Watcher::Clause(ClauseId(self.0 & !Self::CLAUSE))
        }
    }
}

ids! {
    /// An entry in the list of those that wait for a class.
    WatchId "watch";
    /// A reason why a bound moved.
    HistoryId "history";
}

/// An entry in the list of those that wait for a class.
#[derive(Clone, Copy)]
struct Watch {
    watcher: PackedWatcher,
    next: WatchId,
}

/// The reason why a bound moved: a step, or all steps of two classes that became one.
#[derive(Clone, Copy)]
enum History {
    Step { node: DimVar, reason: ReasonId, before: HistoryId },
    Both(HistoryId, HistoryId),
}

#[derive(Clone, Default)]
pub(crate) struct Sizes {
    extras: IdVec<SizeId, SizeRecord>,
    watches: IdVec<WatchId, Watch>,
    history: IdVec<HistoryId, History>,
}

/// Lengths to cut back to on undo.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SizesMark {
    extras: usize,
    watches: usize,
    history: usize,
}

impl Sizes {
    pub fn clear(&mut self) {
        self.extras.clear();
        self.watches.clear();
        self.history.clear();
    }

    /// A new record: any size from `lo` on.
    pub fn fresh(&mut self, lo: u64) -> SizeId {
        self.extras.push(SizeRecord {
            lo,
            hi: ANY,
            claims: 0,
            basis: NO_BASIS,
            tag: NIL,
            head: WatchId::NIL,
            tail: WatchId::NIL,
            history: HistoryId::NIL,
        })
    }

    /// A new record of a symbol, which claims a size in a basis.
    pub fn fresh_symbol(&mut self, symbol: Symbol, dynamic: bool, basis: Basis) -> SizeId {
        let extra = self.fresh(1);
        let record = &mut self.extras[extra];
        (record.claims, record.basis) = (1, basis);
        record.tag = if dynamic { symbol.0 | DYNAMIC } else { symbol.0 };
        extra
    }

    /// The symbol that a class is, if it is one.
    pub fn tag(&self, extra: SizeId) -> Option<Symbol> {
        let tag = self.extras[extra].tag;
        (tag != NIL).then_some(Symbol(tag & !DYNAMIC))
    }

    /// True if two classes are different named symbols.
    pub fn name_two(&self, a: SizeId, b: SizeId) -> bool {
        let (a, b) = (self.extras[a].tag, self.extras[b].tag);
        a != b && (a | b) & DYNAMIC == 0
    }

    pub fn get(&self, extra: SizeId) -> SizeRecord {
        self.extras[extra]
    }

    pub fn claims(&self, extra: SizeId) -> bool {
        self.extras[extra].claims != 0
    }

    /// Narrows the bounds. Returns whether they moved.
    pub fn narrow(
        &mut self,
        trail: &mut Trail,
        extra: SizeId,
        (lo, hi): (u64, u64),
        node: DimVar,
        reason: ReasonId,
    ) -> bool {
        let have = self.extras[extra];
        if lo <= have.lo && hi >= have.hi {
            return false;
        }
        self.record(trail, extra, node, reason);
        self.set_bounds(trail, extra, lo.max(have.lo), hi.min(have.hi));
        true
    }

    /// Notes that the class is not the unit. Returns whether that is news.
    pub fn claim(&mut self, trail: &mut Trail, extra: SizeId, node: DimVar, reason: ReasonId) -> bool {
        if self.claims(extra) {
            return false;
        }
        self.record(trail, extra, node, reason);
        set!(trail, Claims, extra, self.extras[extra].claims, 1);
        true
    }

    /// The basis of a class, if it is known apart from its value.
    pub fn basis(&self, extra: SizeId) -> Option<Basis> {
        let basis = self.extras[extra].basis;
        (basis != NO_BASIS).then_some(basis)
    }

    /// Notes the basis of a class that had none. Returns whether that is news.
    pub fn set_basis(
        &mut self,
        trail: &mut Trail,
        extra: SizeId,
        basis: Basis,
        node: DimVar,
        reason: ReasonId,
    ) -> bool {
        if self.extras[extra].basis != NO_BASIS {
            return false;
        }
        self.record(trail, extra, node, reason);
        set!(trail, Basis, extra, self.extras[extra].basis, basis);
        true
    }

    /// Two classes became one: `gone` is left to itself.
    pub fn join(&mut self, trail: &mut Trail, keep: SizeId, gone: SizeId) {
        let (kept, lost) = (self.get(keep), self.get(gone));
        self.set_bounds(trail, keep, kept.lo.max(lost.lo), kept.hi.min(lost.hi));
        set!(trail, Claims, keep, self.extras[keep].claims, kept.claims | lost.claims);
        // A dynamic tag gives way; of two dynamic ones the first stays.
        let tag = if kept.tag == NIL || lost.tag == NIL || kept.tag & DYNAMIC != 0 && lost.tag & DYNAMIC == 0
        {
            if lost.tag == NIL { kept.tag } else { lost.tag }
        } else if kept.tag & lost.tag & DYNAMIC != 0 {
            kept.tag.min(lost.tag)
        } else {
            kept.tag
        };
        set!(trail, Tag, keep, self.extras[keep].tag, tag);
        if kept.basis == NO_BASIS {
            set!(trail, Basis, keep, self.extras[keep].basis, lost.basis);
        }
        if lost.history != HistoryId::NIL {
            let both = match kept.history {
                HistoryId::NIL => lost.history,
                history => self.history.push(History::Both(history, lost.history)),
            };
            set!(trail, History, keep, self.extras[keep].history, both);
        }
        if lost.head != WatchId::NIL {
            match kept.tail {
                WatchId::NIL => set!(trail, WatchHead, keep, self.extras[keep].head, lost.head),
                tail => set!(trail, WatchNext, tail, self.watches[tail].next, lost.head),
            }
            set!(trail, WatchTail, keep, self.extras[keep].tail, lost.tail);
        }
    }

    /// Adds a watcher to those that wait for a class.
    pub fn watch(&mut self, trail: &mut Trail, extra: SizeId, watcher: Watcher) {
        let watch = self.watches.push(Watch { watcher: PackedWatcher::pack(watcher), next: WatchId::NIL });
        match self.extras[extra].tail {
            WatchId::NIL => set!(trail, WatchHead, extra, self.extras[extra].head, watch),
            tail => set!(trail, WatchNext, tail, self.watches[tail].next, watch),
        }
        set!(trail, WatchTail, extra, self.extras[extra].tail, watch);
    }

    /// The watchers that wait for a class.
    pub fn watchers(&self, extra: SizeId) -> impl Iterator<Item = Watcher> + '_ {
        let mut next = self.extras[extra].head;
        std::iter::from_fn(move || {
            let watch = self.watches.get(next)?;
            next = watch.next;
            Some(watch.watcher.unpack())
        })
    }

    /// Every step that moved the bounds of a class: where it was recorded, and why.
    pub fn steps(&self, extra: SizeId) -> Vec<(DimVar, ReasonId)> {
        let mut steps = Vec::new();
        let mut stack = vec![self.extras[extra].history];
        while let Some(history) = stack.pop() {
            match self.history.get(history) {
                Some(History::Step { node, reason, before }) => {
                    steps.push((*node, *reason));
                    stack.push(*before);
                }
                Some(History::Both(a, b)) => stack.extend([*a, *b]),
                None => {}
            }
        }
        steps
    }

    fn record(&mut self, trail: &mut Trail, extra: SizeId, node: DimVar, reason: ReasonId) {
        let before = self.extras[extra].history;
        let step = self.history.push(History::Step { node, reason, before });
        set!(trail, History, extra, self.extras[extra].history, step);
    }

    fn set_bounds(&mut self, trail: &mut Trail, extra: SizeId, lo: u64, hi: u64) {
        let have = &mut self.extras[extra];
        if have.lo != lo {
            trail.save_pair(Cell::SizeLo, extra, have.lo as u32, (have.lo >> 32) as u32);
            have.lo = lo;
        }
        if have.hi != hi {
            trail.save_pair(Cell::SizeHi, extra, have.hi as u32, (have.hi >> 32) as u32);
            have.hi = hi;
        }
    }

    pub fn mark(&self) -> SizesMark {
        SizesMark { extras: self.extras.len(), watches: self.watches.len(), history: self.history.len() }
    }

    pub fn cut(&mut self, mark: SizesMark) {
        self.extras.truncate(mark.extras);
        self.watches.truncate(mark.watches);
        self.history.truncate(mark.history);
    }

    /// Puts a logged word back.
    pub fn restore(&mut self, entry: Entry) {
        let Entry { cell, at, old, more } = entry;
        let wide = u64::from(old) | u64::from(more) << 32;
        let extra = SizeId(at);
        match cell {
            Cell::SizeLo => self.extras[extra].lo = wide,
            Cell::SizeHi => self.extras[extra].hi = wide,
            Cell::Claims => self.extras[extra].claims = old,
            Cell::Basis => self.extras[extra].basis = Basis(old),
            Cell::Tag => self.extras[extra].tag = old,
            Cell::History => self.extras[extra].history = HistoryId(old),
            Cell::WatchHead => self.extras[extra].head = WatchId(old),
            Cell::WatchTail => self.extras[extra].tail = WatchId(old),
            Cell::WatchNext => self.watches[WatchId(at)].next = WatchId(old),
            _ => {}
        }
    }

    /// Bytes held, for the benchmarks.
    pub fn bytes(&self) -> usize {
        self.extras.bytes() + self.watches.bytes() + self.history.bytes()
    }
}
