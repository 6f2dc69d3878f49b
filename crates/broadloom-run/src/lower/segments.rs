//! Segments: the turns of a scan in groups, so that its gradients remember what is carried at the start of each group only.
//!
//! A scan of n turns in segments of s has ⌈n/s⌉ of them. Gradients need what each turn was given: going back, a segment computes that again
//! from its checkpoint. So ⌈n/s⌉ + s notes are there at a time, which are fewest if s is the root of n.
//!
//! | number of turns | segments, unless the scan says how long they are |
//! |---|---|
//! | a number below [`LEAST_TURNS`] | none: every turn is noted |
//! | another number, or a named size | of ⌈√n⌉ turns |
//!
//! A named size has its value when the program runs. What is chosen here holds for all its values, because one program does.

use std::sync::Arc;

use broadloom_graph::lowering::Scan;
use broadloom_graph::{Graph, StepId, Tensor};
use broadloom_loops::{Derived, Size};
use rustc_hash::FxHashMap;

use super::Layout;
use super::scan_steps::scans;

/// The notes of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Noted {
    /// One for each turn.
    EachTurn,
    /// One for each segment: its value at the start of it.
    Checkpoint,
    /// One for each turn of the segment at hand.
    InSegment,
}

impl Noted {
    /// The last part of the name of such notes.
    pub fn name(self) -> &'static str {
        match self {
            Noted::EachTurn | Noted::InSegment => "notes",
            Noted::Checkpoint => "checkpoints",
        }
    }
}

/// The least number of turns of a scan that is divided although it does not say so. Fewer notes save little, and a division makes the
/// program longer.
const LEAST_TURNS: u64 = 64;

/// The division of the turns of a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segmented {
    /// The number of turns of a segment; the last may have fewer.
    pub length: Size,
    /// The number of segments.
    pub count: Size,
}

/// The divisions of all scans of a graph.
pub(crate) struct Segments {
    /// By the first tensor that a scan carries.
    of: FxHashMap<Tensor, Segmented>,
    /// Their sizes that are computed from arguments.
    pub derived: Vec<Derived>,
}

impl Segments {
    /// The divisions in a layout whose programs have so many arguments.
    pub fn new(graph: &Graph, layout: &Layout, arguments: u32) -> Segments {
        let mut segments = Segments { of: FxHashMap::default(), derived: Vec::new() };
        let steps: Vec<StepId> = graph.step_ids().collect();
        for scan in scans(graph, &steps) {
            let Some(first) = scan.carried.first() else { continue };
            if let Some(length) = segments.length(layout, scan, arguments) {
                let count = segments.derive(Derived::Segments { of: layout.turns(scan), length }, arguments);
                segments.of.insert(first.tensor, Segmented { length, count });
            }
        }
        segments
    }

    /// The division of a scan, if it has one.
    pub fn of(&self, scan: &Scan) -> Option<Segmented> {
        self.of.get(&scan.carried.first()?.tensor).copied()
    }

    /// The length of the segments of a scan.
    fn length(&mut self, layout: &Layout, scan: &Arc<Scan>, arguments: u32) -> Option<Size> {
        let turns = layout.turns(scan);
        let known = turns.as_number().filter(|_| !layout.has_named_turns(scan));
        let known = known.and_then(|turns| u64::try_from(turns).ok());
        match (scan.checkpoint_every, known) {
            (Some(1), _) => None,
            // One segment is all of them.
            (Some(length), Some(turns)) if turns <= length => None,
            (Some(length), _) => Some(length.into()),
            (None, Some(turns)) if turns < LEAST_TURNS => None,
            (None, _) => Some(self.derive(Derived::Root(turns), arguments)),
        }
    }

    /// A size that is computed from others: its number, or its place behind the arguments.
    fn derive(&mut self, derived: Derived, arguments: u32) -> Size {
        if let Some(number) = derived.at(&[]) {
            return number.into();
        }
        let known = self.derived.iter().position(|known| *known == derived);
        let place = known.unwrap_or_else(|| {
            self.derived.push(derived);
            self.derived.len() - 1
        });
        Size::argument(arguments + place as u32, 1)
    }
}
