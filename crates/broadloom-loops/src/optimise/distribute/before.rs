//! Work before the first turn: products that no turn has to wait for.
//!
//! A nest may run before the turns, for all of them, if it reads only what no turn writes and what such nests write, and if all that
//! it writes is made anew in every turn, is not read before it is complete, and is of no use outside. Of these nests, products with a
//! factor that is the same in all turns are worth a buffer that holds their results of all turns, with everything that they need.
//!
//! The position of a turn among those of all segments is no index of a loop over one segment. Nests that read at it run turn by turn, in a
//! repeat of their own before the others; they read only what no turn writes.

use rustc_hash::FxHashSet;

use super::facts::{Form, Turns};
use crate::buffer::{BufferId, Cell};

/// The nests of a turn that run before it.
pub struct Before {
    /// For each nest, true if it does.
    pub nests: Vec<bool>,
    /// The buffers that they write.
    pub written: FxHashSet<BufferId>,
    /// Those that are written turn by turn.
    pub in_turns: FxHashSet<BufferId>,
}

/// Chooses the nests that run before the turns.
pub fn plan(turns: &Turns<'_>) -> Before {
    let able = able(turns);
    let mut nests = vec![false; able.len()];
    let mut written = FxHashSet::default();
    let seeds = (0..able.len()).filter(|at| able[*at] && is_worth_it(turns, *at));
    let mut needed: Vec<BufferId> = seeds.filter_map(|at| turns.target(at)).collect();
    while let Some(buffer) = needed.pop() {
        if !written.insert(buffer) {
            continue;
        }
        for at in turns.writers(buffer) {
            nests[*at] = true;
            let cells = turns.loads(*at).into_iter().map(|cell| source(turns, *at, cell));
            needed.extend(cells.map(|cell| cell.buffer).filter(|id| !turns.writers(*id).is_empty()));
        }
    }
    let in_turns = written.iter().copied().filter(|buffer| is_in_turns(turns, *buffer)).collect();
    Before { nests, written, in_turns }
}

/// The cell that a nest before the turns reads in place of another: what it is a copy of, if no turn changes that.
pub fn source(turns: &Turns<'_>, at: usize, cell: &Cell) -> Cell {
    let mut last = cell.clone();
    while let Some(from) = turns.copied_from(at, &last) {
        last = from;
    }
    let is_fixed = turns.writers(last.buffer).is_empty() && !turns.is_at_position(&last);
    if is_fixed { last } else { cell.clone() }
}

/// For each nest, true if it may run before the turns.
fn able(turns: &Turns<'_>) -> Vec<bool> {
    let nests = 0..turns.forms.len();
    let complete = |buffer: BufferId| {
        let writers = turns.writers(buffer);
        let later = |reader: &usize| writers.contains(reader) || writers.last() < Some(reader);
        turns.readers(buffer).iter().all(later)
    };
    let private = |at: usize| turns.target(at).filter(|id| turns.is_private(*id) && complete(*id));
    let mut able: Vec<bool> = nests.clone().map(|at| turns.is_plain(at) && private(at).is_some()).collect();
    loop {
        let stays: Vec<usize> = nests.clone().filter(|at| able[*at] && stays(turns, &able, *at)).collect();
        if stays.is_empty() {
            return able;
        }
        stays.into_iter().for_each(|at| able[at] = false);
    }
}

/// Returns true if a nest has to stay in the turn, because others do.
fn stays(turns: &Turns<'_>, able: &[bool], at: usize) -> bool {
    let Some(target) = turns.target(at) else { return true };
    let all_able = |buffer: BufferId| turns.writers(buffer).iter().all(|writer| able[*writer]);
    let in_turns = is_in_turns(turns, target);
    let is_known = |cell: &&Cell| {
        let from = source(turns, at, cell).buffer;
        let made = from != target && !in_turns && all_able(from);
        turns.writers(from).is_empty() || made
    };
    !all_able(target) || !turns.loads(at).iter().all(is_known)
}

/// Returns true if a buffer has to be written turn by turn, because that is done from positions among all turns.
fn is_in_turns(turns: &Turns<'_>, buffer: BufferId) -> bool {
    let at_position = |at: &usize| turns.loads(*at).into_iter().any(|cell| turns.is_at_position(cell));
    turns.writers(buffer).iter().any(at_position)
}

/// Returns true if a nest multiplies something of each turn by something that is the same in all of them.
fn is_worth_it(turns: &Turns<'_>, at: usize) -> bool {
    let Form::Store(_) = &turns.forms[at] else { return false };
    let Some(factors) = turns.factors(at) else { return false };
    let changes = |cell: &&Cell| turns.changes(&source(turns, at, cell));
    let changing = factors.iter().filter(|cell| changes(cell)).count();
    changing > 0 && changing < factors.len() && turns.target(at).is_some_and(|id| !is_in_turns(turns, id))
}
