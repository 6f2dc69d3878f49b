//! Work behind the last turn: what no turn reads.
//!
//! A nest may run behind the turns, for all of them, in two cases, of which the first is the aim of the second:
//!
//! - It adds something to a buffer with which a turn does nothing else, as to the gradient of a weight. It may find there what other turns
//!   have added before or after its own: sums are added up in another order.
//! - It writes a buffer that is made anew in every turn and of no use outside, and all nests that mention this buffer run behind the turns.
//!
//! It reads what no turn changes, what other nests behind the turns have made, and what is held of all turns; for that, whatever it reads in
//! the turn has to be complete before it. Nests at the position of a turn among those of all segments run turn by turn, in a repeat of their
//! own, and only in the first case.
//!
//! Worth it are products of which both factors change from turn to turn, because their sum over all turns is one product; products with a
//! factor that is the same in all turns, because one product with many rows takes their place; and sums that need nothing more to be held.

use rustc_hash::FxHashSet;

use super::before::Before;
use super::facts::{Form, Turns};
use crate::buffer::{BufferId, Cell};
use crate::function::{Binary, Unary};
use crate::scalar::Scalar;

/// The nests of a turn that run behind it.
#[derive(Default)]
pub struct Behind {
    /// For each nest, true if it does.
    pub nests: Vec<bool>,
    /// The buffers that they write, made anew for each turn.
    pub written: FxHashSet<BufferId>,
    /// The buffers of a turn whose contents are held for them, in order.
    pub held: Vec<BufferId>,
    /// The buffers of turns, not among those, that are 0 at places of a segment without a turn, each with a nest that relies on it.
    pub zeros: Vec<(BufferId, usize)>,
}

/// Chooses the nests that run behind the turns, given those before it. Given, too, is a test of a buffer of turns, which may be 0 where there is no turn,
/// if new buffers may be; otherwise there is none.
pub fn plan(turns: &Turns<'_>, before: &Before, may_be_zeroed: Option<&dyn Fn(BufferId) -> bool>) -> Behind {
    let mut plan = Plan { turns, before, may_be_zeroed, able: Vec::new(), made: Behind::default() };
    plan.made.nests = vec![false; turns.forms.len()];
    plan.find_able();
    plan.sums_of_products();
    plan.products_with_many_rows();
    plan.sums_of_what_is_held();
    plan.made
}

/// The cell that a nest behind the turns reads in place of another: what it is a copy of.
pub fn source(turns: &Turns<'_>, at: usize, cell: &Cell) -> Cell {
    let mut last = cell.clone();
    while let Some(from) = turns.copied_from(at, &last).filter(|from| !turns.is_at_position(from)) {
        last = from;
    }
    last
}

struct Plan<'p, 'a> {
    turns: &'p Turns<'a>,
    before: &'p Before,
    may_be_zeroed: Option<&'p dyn Fn(BufferId) -> bool>,
    /// For each nest, true if it may run behind the turns.
    able: Vec<bool>,
    made: Behind,
}

impl Plan<'_, '_> {
    fn find_able(&mut self) {
        let nests = 0..self.turns.forms.len();
        let plain = |at: usize| self.turns.is_plain(at) && !self.before.nests[at];
        self.able = nests.clone().map(plain).collect();
        loop {
            let stays: Vec<usize> = nests.clone().filter(|at| self.able[*at] && self.stays(*at)).collect();
            if stays.is_empty() {
                return;
            }
            stays.into_iter().for_each(|at| self.able[at] = false);
        }
    }

    /// Returns true if a nest has to stay in the turn.
    fn stays(&self, at: usize) -> bool {
        let turns = self.turns;
        let Some(target) = turns.target(at) else { return true };
        let is_sum = turns.is_sum(target);
        let is_made = turns.is_private(target) && turns.uses(target).all(|other| self.able[other]);
        let is_known = |cell: &&Cell| {
            let from = source(turns, at, cell).buffer;
            from != target && (self.is_fixed(from) || self.may_be_held(from, at))
        };
        let at_position = self.is_at_position(at);
        !(is_sum || (is_made && !at_position)) || !turns.loads(at).iter().all(is_known)
    }

    /// Returns true if a buffer has the contents of each turn behind the turns, or the same in all of them.
    fn is_fixed(&self, buffer: BufferId) -> bool {
        self.turns.writers(buffer).is_empty() || self.before.written.contains(&buffer)
    }

    /// Returns true if the contents of a buffer of a turn, as a nest reads them, may be held for all turns: it is complete by then.
    fn may_be_held(&self, buffer: BufferId, at: usize) -> bool {
        self.turns.may_be_held(buffer) && self.turns.writers(buffer).last().is_some_and(|last| *last < at)
    }

    /// Returns true if a nest mentions the position of a turn among those of all segments.
    fn is_at_position(&self, at: usize) -> bool {
        let Form::Store(store) = &self.turns.forms[at] else { return false };
        let loads = self.turns.loads(at);
        loads.into_iter().chain([store.cell]).any(|cell| self.turns.is_at_position(cell))
    }

    /// The cells that a nest reads.
    fn sources(&self, at: usize) -> Vec<Cell> {
        self.turns.loads(at).into_iter().map(|cell| source(self.turns, at, cell)).collect()
    }

    /// Returns true if a nest adds something of all turns to cells that are the same in all of them, and may do so for all of them at once. In a
    /// segment, places without a turn have to add nothing.
    fn is_sum_of_turns(&self, at: usize) -> bool {
        let turns = self.turns;
        let Form::Store(store) = &turns.forms[at] else { return false };
        let same = !turns.is_at_place(store.cell) && !turns.is_at_position(store.cell);
        if !self.able[at] || !turns.is_sum(store.cell.buffer) || !same || self.is_at_position(at) {
            return false;
        }
        let is_zero = |cell: &Cell| match turns.writers(cell.buffer).is_empty() {
            true => turns.is_at_place(cell) && self.may_be_zeroed.is_some_and(|may| may(cell.buffer)),
            false => {
                let before = self.before.written.contains(&cell.buffer);
                !before || self.before.in_turns.contains(&cell.buffer)
            }
        };
        let gaps_add_nothing = || {
            self.may_be_zeroed.is_some() && is_product(store.value) && self.sources(at).iter().all(is_zero)
        };
        turns.of_all.is_none() || gaps_add_nothing()
    }

    /// Moves sums of products of which all factors change.
    fn sums_of_products(&mut self) {
        for at in 0..self.able.len() {
            let all_change = |cell: &Cell| self.turns.changes(cell);
            if self.is_sum_of_turns(at)
                && self.turns.factors(at).is_some()
                && self.sources(at).iter().all(all_change)
            {
                self.choose(at);
            }
        }
    }

    /// Moves products with a factor that is the same in all turns, with all that is made of them.
    fn products_with_many_rows(&mut self) {
        for at in 0..self.able.len() {
            let Some(target) = self.turns.target(at).filter(|_| self.able[at] && !self.made.nests[at]) else {
                continue;
            };
            let sources = self.sources(at);
            let changing = sources.iter().filter(|cell| self.turns.changes(cell)).count();
            let is_product = self.turns.factors(at).is_some() && changing > 0 && changing < sources.len();
            if !is_product || self.turns.is_sum(target) {
                continue;
            }
            if let Some((nests, written)) = self.all_that_follows(target) {
                self.made.written.extend(written);
                nests.into_iter().for_each(|at| self.choose(at));
            }
        }
    }

    /// The nests that mention a buffer, and those that mention what they write, with the buffers that only these mention. None if something that
    /// is held for others would be among them, or if places of a segment without a turn would matter.
    fn all_that_follows(&self, target: BufferId) -> Option<(Vec<usize>, FxHashSet<BufferId>)> {
        let (mut nests, mut written) = (Vec::new(), FxHashSet::default());
        let mut next = vec![target];
        while let Some(buffer) = next.pop() {
            if !written.insert(buffer) {
                continue;
            }
            for at in self.turns.uses(buffer) {
                nests.push(at);
                next.extend(self.turns.target(at).filter(|id| !self.turns.is_sum(*id)));
            }
        }
        nests.sort_unstable();
        nests.dedup();
        let reads_them = |at: usize| self.sources(at).iter().any(|cell| written.contains(&cell.buffer));
        let is_sum = |at: usize| self.turns.target(at).is_some_and(|id| self.turns.is_sum(id));
        let meets_gaps = |at: usize| {
            self.turns.of_all.is_some() && is_sum(at) && !self.is_at_position(at) && reads_them(at)
        };
        let refused = self.made.held.iter().any(|held| written.contains(held))
            || nests.iter().any(|at| !self.able[*at] || meets_gaps(*at));
        (!refused).then_some((nests, written))
    }

    /// Moves sums of what is held in any case.
    fn sums_of_what_is_held(&mut self) {
        for at in 0..self.able.len() {
            let sources = self.sources(at);
            let changing = || sources.iter().filter(|cell| !self.turns.writers(cell.buffer).is_empty());
            let is_held = |cell: &Cell| self.made.held.contains(&cell.buffer);
            if !self.made.nests[at]
                && self.is_sum_of_turns(at)
                && changing().next().is_some()
                && changing().all(is_held)
            {
                self.choose(at);
            }
        }
    }

    /// Moves a nest, and holds what it needs.
    fn choose(&mut self, at: usize) {
        if std::mem::replace(&mut self.made.nests[at], true) {
            return;
        }
        let adds_up = self.turns.of_all.is_some() && self.is_sum_of_turns(at);
        for Cell { buffer, .. } in self.sources(at) {
            if self.is_fixed(buffer) {
                let is_known = self.made.zeros.iter().any(|(known, _)| *known == buffer);
                if adds_up && !is_known {
                    self.made.zeros.push((buffer, at));
                }
            } else if !self.made.written.contains(&buffer) && !self.made.held.contains(&buffer) {
                self.made.held.push(buffer);
            }
        }
    }
}

/// Returns true if a value is a product of cells and numbers, so that it is 0 where all its cells are.
fn is_product(value: &Scalar) -> bool {
    match value {
        Scalar::Load(_) => true,
        Scalar::Number(number) => number.is_finite(),
        Scalar::Unary(Unary::Neg, a) => is_product(a),
        Scalar::Binary(Binary::Mul, a, b) => is_product(a) && is_product(b),
        _ => false,
    }
}
