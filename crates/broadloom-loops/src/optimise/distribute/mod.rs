//! Work of all turns at once: what the turns of a repeat need not do one after another is done before the first of them, or behind the last.
//!
//! A turn of a recurrence multiplies small matrices. Products with an element that it goes through wait for nothing that a turn carries over,
//! and nothing of a turn waits for the gradient of a weight. Such nests leave the repeat, and get a loop over the turns instead:
//!
//! ```text
//! for each turn of t:                     for n in 0..t: q.turns[n] = w x[n]
//!     q = w x[turn]                       for each turn of t:
//!     h = tanh(q + u h)                       h = tanh(q.turns[turn] + u h)
//!
//! for each turn of t:                     for each turn of t:
//!     dq = ...                                dq = ...
//!     dw += dq ⊗ x[turn]                      dq.turns[turn] = dq
//!                                         for n in 0..t: dw += dq.turns[n] ⊗ x[n]
//! ```
//!
//! In a repeat that runs a segment of the turns, that is done for each segment, so that the memory of turns is that of a segment:
//!
//! | nests | file | sound if |
//! |---|---|---|
//! | before the first turn | `before` | they read what no turn changes, and what such nests make of it |
//! | behind the last turn | `behind` | nothing in a turn reads what they make; sums are added up in another order |
//!
//! The last segment may be shorter than the others. What is done for all of its places then meets places without a turn: their results
//! are never read before the first turn, and behind the last one they are sums of products with factors that are 0 there, because
//! [zeros](Work::zeros) are written before the first segment, which goes back from the last one.
//!
//! It is not among the passes of the [optimiser](super): it runs on a program as it was derived, so that a program that is divided over
//! devices adds up a gradient once, too. Nothing of it depends on a size, because code for all sizes has to do the same as that for one.

mod before;
mod behind;
mod facts;
mod rewrite;

use rustc_hash::{FxHashMap, FxHashSet};

use super::well_formed::is_well_formed;
use crate::buffer::{Buffer, BufferId, Storage};
use crate::program::{Group, Nest, Program, Repeat, Statement};
use facts::Turns;

/// A program in which work of all turns is done at once.
#[derive(Clone, PartialEq, Debug)]
pub struct Distributed {
    /// The program.
    pub program: Program,
    /// For each nest, the place of the nest that it was made of.
    pub origins: Vec<usize>,
    /// For each new buffer, which come last, the one whose contents of all turns it holds.
    pub of_turns: Vec<OfTurns>,
}

/// A buffer that holds the contents of another one in all turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OfTurns {
    /// The other buffer.
    pub of: BufferId,
    /// True if it holds those of the turns of one segment.
    pub in_segment: bool,
}

/// Distributes the nests of each repeat that has no repeat inside. Contents of all turns are held only of buffers that `may` have them.
pub fn distribute(program: &Program, may: &dyn Fn(BufferId) -> bool) -> Distributed {
    let mut work = Work {
        program,
        may,
        buffers: program.buffers.clone(),
        vars: program.vars.clone(),
        of_turns: Vec::new(),
        zeros: Vec::new(),
        in_bulk: FxHashSet::default(),
        around: Vec::new(),
    };
    let parts = match is_well_formed(program) {
        true => work.groups(&program.groups()),
        false => return unchanged(program),
    };
    let result = Program {
        buffers: work.buffers,
        vars: work.vars,
        nests: Vec::new(),
        repeats: Vec::new(),
        ..program.clone()
    };
    let mut result = Distributed { program: result, origins: Vec::new(), of_turns: work.of_turns };
    result.add(parts);
    debug_assert!(is_well_formed(&result.program), "distribution broke the program");
    result
}

/// A program as it is.
fn unchanged(program: &Program) -> Distributed {
    let origins = (0..program.nests.len()).collect();
    Distributed { program: program.clone(), origins, of_turns: Vec::new() }
}

impl Distributed {
    /// Adds parts of the program, in order. A repeat of which nothing is left is left out.
    fn add(&mut self, parts: Vec<Part>) {
        for part in parts {
            match part {
                Part::Nest(origin, nest) => {
                    self.program.nests.push(nest);
                    self.origins.push(origin);
                }
                Part::Repeat(repeat, inside) => {
                    let (place, start) = (self.program.repeats.len(), self.program.nests.len());
                    self.program.repeats.push(repeat);
                    self.add(inside);
                    let nests = start..self.program.nests.len();
                    match nests.is_empty() {
                        true => self.program.repeats.truncate(place),
                        false => self.program.repeats[place].nests = nests,
                    }
                }
            }
        }
    }
}

/// The only repeat inside of another one, if it runs the segments of turns that the other goes through, and nothing asks for the segment: it may as
/// well run all turns. So segments cost nothing where nothing is done for all turns of one.
fn in_one_go(segments: &Repeat, inside: &mut Vec<Part>) -> Option<Part> {
    let asks = |part: &Part, symbol: u32| match part {
        Part::Nest(_, nest) => facts::mentions(nest, symbol),
        Part::Repeat(..) => true,
    };
    match &inside[..] {
        [Part::Repeat(Repeat { segment: Some(segment), backwards, .. }, parts)]
            if segment.number == segments.symbol
                && *backwards == segments.backwards
                && !parts.iter().any(|part| asks(part, segment.number) || asks(part, segment.place)) => {}
        _ => return None,
    }
    match inside.pop() {
        Some(Part::Repeat(repeat, parts)) => Some(Part::Repeat(Repeat { segment: None, ..repeat }, parts)),
        _ => None,
    }
}

/// A part of the new program: a nest with the place of the one that it was made of, or a repeat.
enum Part {
    Nest(usize, Nest),
    Repeat(Repeat, Vec<Part>),
}

/// A program that is being distributed.
struct Work<'a> {
    program: &'a Program,
    may: &'a dyn Fn(BufferId) -> bool,
    buffers: Vec<Buffer>,
    vars: Vec<String>,
    of_turns: Vec<OfTurns>,
    /// Buffers of turns that are 0 at places of the last segment without a turn: the symbol of the segments, the buffer, and the nest that reads it.
    zeros: Vec<(u32, BufferId, usize)>,
    /// The buffers of turns that were written for all places of a segment at once, those without a turn included.
    in_bulk: FxHashSet<BufferId>,
    /// The repeats around the groups at hand, outermost first.
    around: Vec<&'a Repeat>,
}

impl<'a> Work<'a> {
    fn groups(&mut self, groups: &[Group<'a>]) -> Vec<Part> {
        let mut parts = Vec::new();
        for group in groups {
            match group {
                Group::Once(nests) => {
                    let same = |at: usize| Part::Nest(at, self.program.nests[at].clone());
                    parts.extend(nests.clone().map(same));
                }
                Group::Repeated(repeat, inside) => match &inside[..] {
                    [Group::Once(_)] => parts.extend(self.turns(repeat)),
                    _ => parts.extend(self.repeat(repeat, inside)),
                },
            }
        }
        parts
    }

    /// A repeat around others, behind the zeros that those inside of it ask for.
    fn repeat(&mut self, repeat: &'a Repeat, inside: &[Group<'a>]) -> Vec<Part> {
        self.around.push(repeat);
        let mut inside = self.groups(inside);
        self.around.pop();
        if let Some(whole) = in_one_go(repeat, &mut inside) {
            return vec![whole];
        }
        let (own, others) =
            std::mem::take(&mut self.zeros).into_iter().partition(|(of, ..)| *of == repeat.symbol);
        self.zeros = others;
        let own: Vec<(u32, BufferId, usize)> = own;
        let zero = |(_, buffer, origin): (u32, BufferId, usize)| {
            let comment =
                format!("{} is 0 where the last segment has no turn", self.buffers[buffer.index()].name);
            Part::Nest(origin, Nest { comment, body: vec![Statement::Fill { buffer, value: 0.0 }] })
        };
        let mut parts: Vec<Part> = own.into_iter().map(zero).collect();
        parts.push(Part::Repeat(repeat.clone(), inside));
        parts
    }

    /// A repeat without another one inside, with what is done before and behind its turns.
    fn turns(&mut self, repeat: &'a Repeat) -> Vec<Part> {
        let turns = Turns::of(self.program, repeat, self.may);
        let before = before::plan(&turns);
        let segments = self.segments_of(repeat).filter(|segments| segments.backwards);
        let behind = match segments {
            Some(segments) => {
                behind::plan(&turns, &before, Some(&|buffer| self.may_be_zeroed(segments, buffer)))
            }
            None => behind::plan(&turns, &before, None),
        };
        rewrite::rewritten(self, &turns, &before, &behind)
    }

    /// The repeat over the segments whose turns a repeat runs.
    fn segments_of(&self, repeat: &Repeat) -> Option<&'a Repeat> {
        let segment = repeat.segment.as_ref()?;
        self.around.iter().rev().find(|around| around.symbol == segment.number).copied()
    }

    /// Returns true if a buffer that holds something of each turn of a segment may be set to 0 before the first one: its contents are not
    /// needed there, and no place without a turn is written to.
    fn may_be_zeroed(&self, segments: &Repeat, buffer: BufferId) -> bool {
        let nests = segments.nests.clone();
        let outside = [0..nests.start, nests.end..self.program.nests.len()];
        self.buffers[buffer.index()].storage == Storage::Local
            && !self.in_bulk.contains(&buffer)
            && outside.iter().all(|nests| !self.program.mentioned(nests.clone()).contains(&buffer))
            && !self.program.read_first(nests).contains(&buffer)
    }

    /// A new buffer for the contents of another one in all turns.
    fn hold_turns(&mut self, turns: &Turns<'_>, of: BufferId) -> BufferId {
        let mut buffer = self.buffers[of.index()].clone();
        buffer.name.push_str(".turns");
        buffer.sizes.insert(0, turns.count);
        buffer.storage = Storage::Local;
        self.buffers.push(buffer);
        self.of_turns.push(OfTurns { of, in_segment: turns.repeat.segment.is_some() });
        BufferId(self.buffers.len() as u32 - 1)
    }
}

/// Buffers whose contents of all turns are held, each with the buffer that holds them.
type Held = FxHashMap<BufferId, BufferId>;
