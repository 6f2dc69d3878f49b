//! The sizes of classes: bounds, whether a class claims a size, and who waits for news of it.
//!
//! A size is less than a value: an axis of size 3 may still have any basis, and one of size 1 may be the
//! unit. So bounds are kept beside the values of [`Dims`](super::dims::Dims), and only for the classes
//! that take part in arithmetic. A class *claims* a size if it is not the unit; what lies below such a
//! class is equal to it.

use crate::ids::{ArithId, ClauseId, NIL};
use crate::solver::stores::reason::ReasonId;
use crate::solver::stores::trail::{Cell, Entry, Trail, set};

/// No upper bound.
pub(crate) const ANY: u64 = u64::MAX;

/// Bounds on the size of a class, and who waits for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SizeRecord {
    pub lo: u64,
    pub hi: u64,
    /// Not the unit: zero or one.
    claims: u32,
    /// The basis it has unless it is the unit or empty, or `NIL`.
    basis: u32,
    /// The symbol it is, or `NIL`: see [`DYNAMIC`].
    tag: u32,
    head: u32,
    tail: u32,
    history: u32,
}

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

/// An entry in the list of those that wait for a class.
#[derive(Clone, Copy)]
struct Watch {
    watcher: PackedWatcher,
    next: u32,
}

/// The reason why a bound moved: a step, or all steps of two classes that became one.
#[derive(Clone, Copy)]
enum History {
    Step { node: u32, reason: ReasonId, before: u32 },
    Both(u32, u32),
}

#[derive(Clone, Default)]
pub(crate) struct Sizes {
    extras: Vec<SizeRecord>,
    watches: Vec<Watch>,
    history: Vec<History>,
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
    pub fn fresh(&mut self, lo: u64) -> u32 {
        self.extras.push(SizeRecord {
            lo,
            hi: ANY,
            claims: 0,
            basis: NIL,
            tag: NIL,
            head: NIL,
            tail: NIL,
            history: NIL,
        });
        self.extras.len() as u32 - 1
    }

    /// A new record of a symbol, which claims a size in a basis.
    pub fn fresh_symbol(&mut self, symbol: u32, dynamic: bool, basis: u32) -> u32 {
        let extra = self.fresh(1);
        let record = &mut self.extras[extra as usize];
        (record.claims, record.basis) = (1, basis);
        record.tag = if dynamic { symbol | DYNAMIC } else { symbol };
        extra
    }

    /// The symbol that a class is, if it is one.
    pub fn tag(&self, extra: u32) -> Option<u32> {
        let tag = self.extras[extra as usize].tag;
        (tag != NIL).then_some(tag & !DYNAMIC)
    }

    /// True if two classes are different named symbols.
    pub fn name_two(&self, a: u32, b: u32) -> bool {
        let (a, b) = (self.extras[a as usize].tag, self.extras[b as usize].tag);
        a != b && (a | b) & DYNAMIC == 0
    }

    pub fn get(&self, extra: u32) -> SizeRecord {
        self.extras[extra as usize]
    }

    pub fn claims(&self, extra: u32) -> bool {
        self.extras[extra as usize].claims != 0
    }

    /// Narrows the bounds. Returns whether they moved.
    pub fn narrow(
        &mut self,
        trail: &mut Trail,
        extra: u32,
        (lo, hi): (u64, u64),
        node: u32,
        reason: ReasonId,
    ) -> bool {
        let have = self.extras[extra as usize];
        if lo <= have.lo && hi >= have.hi {
            return false;
        }
        self.record(trail, extra, node, reason);
        self.set_bounds(trail, extra, lo.max(have.lo), hi.min(have.hi));
        true
    }

    /// Notes that the class is not the unit. Returns whether that is news.
    pub fn claim(&mut self, trail: &mut Trail, extra: u32, node: u32, reason: ReasonId) -> bool {
        if self.claims(extra) {
            return false;
        }
        self.record(trail, extra, node, reason);
        set!(trail, Claims, extra, self.extras[extra as usize].claims, 1);
        true
    }

    /// The basis of a class, if it is known apart from its value.
    pub fn basis(&self, extra: u32) -> Option<u32> {
        let basis = self.extras[extra as usize].basis;
        (basis != NIL).then_some(basis)
    }

    /// Notes the basis of a class that had none. Returns whether that is news.
    pub fn set_basis(
        &mut self,
        trail: &mut Trail,
        extra: u32,
        basis: u32,
        node: u32,
        reason: ReasonId,
    ) -> bool {
        if self.extras[extra as usize].basis != NIL {
            return false;
        }
        self.record(trail, extra, node, reason);
        set!(trail, Basis, extra, self.extras[extra as usize].basis, basis);
        true
    }

    /// Two classes became one: `gone` is left to itself.
    pub fn join(&mut self, trail: &mut Trail, keep: u32, gone: u32) {
        let (kept, lost) = (self.get(keep), self.get(gone));
        self.set_bounds(trail, keep, kept.lo.max(lost.lo), kept.hi.min(lost.hi));
        let at = keep as usize;
        set!(trail, Claims, keep, self.extras[at].claims, kept.claims | lost.claims);
        // A dynamic tag gives way; of two dynamic ones the first stays.
        let tag = if kept.tag == NIL || lost.tag == NIL || kept.tag & DYNAMIC != 0 && lost.tag & DYNAMIC == 0
        {
            if lost.tag == NIL { kept.tag } else { lost.tag }
        } else if kept.tag & lost.tag & DYNAMIC != 0 {
            kept.tag.min(lost.tag)
        } else {
            kept.tag
        };
        set!(trail, Tag, keep, self.extras[at].tag, tag);
        if kept.basis == NIL {
            set!(trail, Basis, keep, self.extras[at].basis, lost.basis);
        }
        if lost.history != NIL {
            let both = match kept.history {
                NIL => lost.history,
                history => {
                    self.history.push(History::Both(history, lost.history));
                    self.history.len() as u32 - 1
                }
            };
            set!(trail, History, keep, self.extras[at].history, both);
        }
        if lost.head != NIL {
            match kept.tail {
                NIL => set!(trail, WatchHead, keep, self.extras[at].head, lost.head),
                tail => set!(trail, WatchNext, tail, self.watches[tail as usize].next, lost.head),
            }
            set!(trail, WatchTail, keep, self.extras[at].tail, lost.tail);
        }
    }

    /// Adds a watcher to those that wait for a class.
    pub fn watch(&mut self, trail: &mut Trail, extra: u32, watcher: Watcher) {
        let watch = self.watches.len() as u32;
        self.watches.push(Watch { watcher: PackedWatcher::pack(watcher), next: NIL });
        let at = extra as usize;
        match self.extras[at].tail {
            NIL => set!(trail, WatchHead, extra, self.extras[at].head, watch),
            tail => set!(trail, WatchNext, tail, self.watches[tail as usize].next, watch),
        }
        set!(trail, WatchTail, extra, self.extras[at].tail, watch);
    }

    /// The watchers that wait for a class.
    pub fn watchers(&self, extra: u32) -> impl Iterator<Item = Watcher> + '_ {
        let mut next = self.extras[extra as usize].head;
        std::iter::from_fn(move || {
            let watch = self.watches.get(next as usize)?;
            next = watch.next;
            Some(watch.watcher.unpack())
        })
    }

    /// Every step that moved the bounds of a class: where it was recorded, and why.
    pub fn steps(&self, extra: u32) -> Vec<(u32, ReasonId)> {
        let mut steps = Vec::new();
        let mut stack = vec![self.extras[extra as usize].history];
        while let Some(history) = stack.pop() {
            match self.history.get(history as usize) {
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

    fn record(&mut self, trail: &mut Trail, extra: u32, node: u32, reason: ReasonId) {
        let before = self.extras[extra as usize].history;
        self.history.push(History::Step { node, reason, before });
        set!(trail, History, extra, self.extras[extra as usize].history, self.history.len() as u32 - 1);
    }

    fn set_bounds(&mut self, trail: &mut Trail, extra: u32, lo: u64, hi: u64) {
        let have = &mut self.extras[extra as usize];
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
        let index = at as usize;
        match cell {
            Cell::SizeLo => self.extras[index].lo = wide,
            Cell::SizeHi => self.extras[index].hi = wide,
            Cell::Claims => self.extras[index].claims = old,
            Cell::Basis => self.extras[index].basis = old,
            Cell::Tag => self.extras[index].tag = old,
            Cell::History => self.extras[index].history = old,
            Cell::WatchHead => self.extras[index].head = old,
            Cell::WatchTail => self.extras[index].tail = old,
            Cell::WatchNext => self.watches[index].next = old,
            _ => {}
        }
    }

    /// Bytes held, for the benchmarks.
    pub fn bytes(&self) -> usize {
        self.extras.capacity() * size_of::<SizeRecord>()
            + self.watches.capacity() * size_of::<Watch>()
            + self.history.capacity() * size_of::<History>()
    }
}
