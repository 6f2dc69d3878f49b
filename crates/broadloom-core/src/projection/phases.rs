//! Phases: of every factor of the product space one loop runs at a time.
//!
//! A concatenation of n parts is a factor of n loops, and so has n phases; what is asked here of all phases takes time in proportion to the maps
//! and to the answer, not to their product.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::maps::Component;
use super::solve::{AxisIndex, Projection, Segment};

/// One loop from each factor, and who is there while they run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Phase {
    /// The loops that run, in the order of their factors.
    pub loops: Vec<u32>,
    /// The maps whose tensors take part, ascending.
    pub maps: Vec<usize>,
}

/// The demands of a map on one factor.
#[derive(Default)]
struct Wanted {
    /// A loop that has to run, of those that sums mention; two different ones never run together.
    needed: Option<u32>,
    torn: bool,
    /// The number of concatenated axes with parts here, and for each loop the number of those on which it
    /// drives one.
    axes: u32,
    driven: FxHashMap<u32, u32>,
}

impl Wanted {
    /// The loops that suit everything that is asked.
    fn loops(self) -> Vec<u32> {
        let suits = |index: &u32| self.axes == 0 || self.driven.get(index) == Some(&self.axes);
        let mut loops: Vec<u32> = match self.needed {
            _ if self.torn => Vec::new(),
            Some(needed) => [needed].into_iter().filter(suits).collect(),
            None => self.driven.keys().copied().filter(suits).collect(),
        };
        loops.sort_unstable();
        loops
    }
}

impl Projection {
    /// The loops of each factor of the product space.
    pub fn factors(&self) -> Vec<Vec<u32>> {
        (0..self.factor_count()).map(|factor| self.factor(factor).collect()).collect()
    }

    /// Returns true if some loops run one after another.
    pub fn is_coupled(&self) -> bool {
        (self.factor_count() as usize) < self.loops.len()
    }

    fn factor_count(&self) -> u32 {
        self.loops.last().map_or(0, |last| last.factor + 1)
    }

    /// The loops of a factor, which stand together.
    fn factor(&self, factor: u32) -> Range<u32> {
        if !self.is_coupled() {
            return factor..factor + 1;
        }
        let start = self.loops.partition_point(|each| each.factor < factor);
        let end = self.loops.partition_point(|each| each.factor <= factor);
        start as u32..end as u32
    }

    /// The phases of the product space: one loop from each factor. Without concatenations there is one, with
    /// every loop in it.
    pub fn phases(&self) -> Vec<Vec<u32>> {
        self.phases_with(|factor| self.factor(factor).collect())
    }

    /// The phases in which a tensor takes part.
    pub fn phases_of(&self, map: usize) -> Vec<Vec<u32>> {
        if self.lacks_parts(map) {
            return Vec::new();
        }
        if !self.is_coupled() {
            return vec![(0..self.loops.len() as u32).collect()];
        }
        let choices: FxHashMap<u32, Vec<u32>> = self.choices(map).into_iter().collect();
        self.phases_with(|factor| {
            choices.get(&factor).cloned().unwrap_or_else(|| self.factor(factor).collect())
        })
    }

    /// All ways to take one of some loops of each factor, the last factor varying fastest.
    fn phases_with(&self, loops: impl Fn(u32) -> Vec<u32>) -> Vec<Vec<u32>> {
        let mut phases = vec![Vec::with_capacity(self.factor_count() as usize)];
        for factor in 0..self.factor_count() {
            match loops(factor).as_slice() {
                [only] => phases.iter_mut().for_each(|phase| phase.push(*only)),
                several => {
                    let with = |phase: Vec<u32>| {
                        let extended = move |index: &u32| phase.iter().copied().chain([*index]).collect();
                        several.iter().map(extended).collect::<Vec<Vec<u32>>>()
                    };
                    phases = phases.into_iter().flat_map(with).collect();
                }
            }
        }
        phases
    }

    /// All phases, with who takes part in each.
    pub fn phases_with_maps(&self) -> Vec<Phase> {
        // Those who are there always, and the others by a loop that they need, with what they need besides.
        let mut always = Vec::new();
        let mut by_loop: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        let mut besides: Vec<Vec<(u32, Vec<u32>)>> = vec![Vec::new(); self.maps.len()];
        for map in (0..self.maps.len()).filter(|map| !self.lacks_parts(*map)) {
            let mut choices = self.choices(map).into_iter();
            match choices.find(|(factor, _)| self.factor(*factor).len() > 1) {
                None => always.push(map),
                Some((_, loops)) => {
                    loops.into_iter().for_each(|index| by_loop.entry(index).or_default().push(map));
                    besides[map] = choices.collect();
                }
            }
        }
        let with_maps = |loops: Vec<u32>| {
            let there = |map: &usize| {
                besides[*map]
                    .iter()
                    .all(|(factor, suit)| suit.binary_search(&loops[*factor as usize]).is_ok())
            };
            let some = loops.iter().filter_map(|index| by_loop.get(index)).flatten().copied().filter(there);
            let mut maps: Vec<usize> = always.iter().copied().chain(some).collect();
            maps.sort_unstable();
            Phase { loops, maps }
        };
        self.phases().into_iter().map(with_maps).collect()
    }

    /// The factors that a map mentions, ascending, each with the loops that suit all its axes; if there is none, the tensor takes part in no
    /// phase.
    pub fn choices(&self, map: usize) -> Vec<(u32, Vec<u32>)> {
        let mut wanted: BTreeMap<u32, Wanted> = BTreeMap::new();
        for index in &self.maps[map] {
            match index {
                AxisIndex::Symbol(_) => {}
                AxisIndex::Sum(sum) => {
                    for (_, index) in &sum.terms {
                        let of = wanted.entry(self.loops[*index as usize].factor).or_default();
                        of.torn |= of.needed.is_some_and(|other| other != *index);
                        of.needed = Some(*index);
                    }
                }
                AxisIndex::Concat(segments) => {
                    let Some(first) = segments.first() else { continue };
                    // Parts of one axis are coupled, and so of one factor.
                    let of = wanted.entry(self.loops[first.index as usize].factor).or_default();
                    of.axes += 1;
                    segments.iter().for_each(|segment| *of.driven.entry(segment.index).or_default() += 1);
                }
            }
        }
        wanted.into_iter().map(|(factor, wanted)| (factor, wanted.loops())).collect()
    }

    /// Returns true if an axis of a tensor consists of parts, none of which has a loop.
    fn lacks_parts(&self, map: usize) -> bool {
        self.maps[map].iter().any(|index| matches!(index, AxisIndex::Concat(segments) if segments.is_empty()))
    }

    /// True if a tensor takes part in a phase: every axis has what drives it. A concatenated axis needs one of
    /// its loops to run, any other axis all of them.
    pub fn takes_part(&self, map: usize, phase: &[u32]) -> bool {
        self.maps[map].iter().all(|index| match index {
            AxisIndex::Sum(sum) => sum.terms.iter().all(|(_, index)| self.runs(phase, *index)),
            AxisIndex::Symbol(_) => true,
            AxisIndex::Concat(segments) => self.running(segments, phase).is_some(),
        })
    }

    /// Returns true if a loop runs in a phase.
    pub fn runs(&self, phase: &[u32], index: u32) -> bool {
        phase.get(self.loops[index as usize].factor as usize) == Some(&index)
    }

    /// The part of a concatenated axis that runs in a phase.
    fn running<'a>(&self, segments: &'a [Segment], phase: &[u32]) -> Option<&'a Segment> {
        let first = segments.first()?;
        let running = *phase.get(self.loops[first.index as usize].factor as usize)?;
        // Parts usually stand in the order of their loops.
        let likely = running.checked_sub(first.index).and_then(|at| segments.get(at as usize));
        let is_running = |segment: &&Segment| segment.index == running;
        likely.filter(is_running).or_else(|| segments.iter().find(is_running))
    }

    /// The index map of a tensor in a phase, in which each concatenated axis is the part that runs; none if
    /// an index is supplied at run time.
    pub fn in_phase(&self, map: usize, phase: &[u32]) -> Option<Vec<Component>> {
        let sum = |index: &AxisIndex| match index {
            AxisIndex::Sum(sum) => Some(sum.clone()),
            AxisIndex::Symbol(_) => None,
            AxisIndex::Concat(segments) => {
                let at = |segment: &Segment| Component::new(segment.offset, [(1, segment.index)]);
                Some(self.running(segments, phase).map_or(Component::fixed(0), at))
            }
        };
        self.maps[map].iter().map(sum).collect()
    }

    /// The loops that a map mentions in a phase, by axis: of each concatenated axis the part that runs.
    pub fn in_phase_loops(&self, map: usize, phase: &[u32]) -> Vec<u32> {
        let mut loops = Vec::new();
        for index in &self.maps[map] {
            match index {
                AxisIndex::Sum(sum) => loops.extend(sum.terms.iter().map(|(_, index)| *index)),
                AxisIndex::Symbol(_) => {}
                AxisIndex::Concat(segments) => {
                    loops.extend(self.running(segments, phase).map(|segment| segment.index));
                }
            }
        }
        loops
    }
}
