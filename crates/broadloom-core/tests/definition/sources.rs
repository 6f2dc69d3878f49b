//! Sources: the rows whose ranks each group depends on, and the distance that each source reaches.

use super::bounds::Bounds;
use super::groups::{Groups, Place};
use super::system::{Says, System, Term};

/// A source among those of a row. A free one has the numbers it would have with no axes; its rank is to be
/// added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// The free group it is, or none if it is known.
    pub free: Option<usize>,
    /// Its length.
    pub length: i32,
    /// The distance from the back that it reaches; no further than it is long, wherever it is
    /// counted.
    pub reach: i32,
    /// The distance from the back at which its axis 0 from the back would stand.
    pub back: i32,
}

impl Source {
    /// The same, counted in the axes of a row or a group whose front is at this distance from the
    /// back.
    fn shifted(self, length: i32, reach: i32, front: i32) -> Source {
        let (length, back) = (self.length + length, self.back + reach);
        Source { length, reach: (self.reach + reach).min(length + front), back, ..self }
    }

    /// The length at these ranks.
    pub fn length_at(&self, ranks: &[i32]) -> i32 {
        self.length.saturating_add(self.free.map_or(0, |group| ranks[group]))
    }

    /// The reach at these ranks.
    pub fn reach_at(&self, ranks: &[i32]) -> i32 {
        self.reach.saturating_add(self.free.map_or(0, |group| ranks[group]))
    }
}

/// A result of fixed rank, or written with axes, below open rows: its least length, and the free
/// sources of the operand that it refines.
#[derive(Clone, Debug)]
pub struct FixedBelow {
    /// The number of its axes.
    pub length: i32,
    /// The sources of the operand, counted in the row's own axes.
    pub sources: Vec<Source>,
}

/// The sources of every group, and the rows of fixed rank below.
pub struct Sources {
    /// Per group.
    pub of: Vec<Vec<Source>>,
    /// Per inequality with such a result.
    pub below: Vec<FixedBelow>,
}

/// Collects all sources.
pub fn sources(system: &System, bounds: &Bounds, groups: &Groups) -> Sources {
    let reader = Reader { system, bounds, groups };
    let of = (0..groups.all.len()).map(|group| reader.of_group(group, &mut Vec::new())).collect();
    let mut below = Vec::new();
    for says in &system.says {
        let Says::Le(res, opnd) = says else { continue };
        if (reader.place(res).is_none() || res.flanks() > 0) && reader.place(opnd).is_some() {
            let sources = reader.of_operand(opnd, &mut Vec::new());
            below.push(FixedBelow { length: bounds.least(res), sources });
        }
    }
    Sources { of, below }
}

struct Reader<'a> {
    system: &'a System,
    bounds: &'a Bounds,
    groups: &'a Groups,
}

impl Reader<'_> {
    fn place(&self, term: &Term) -> Option<Place> {
        self.groups.place[term.row?]
    }

    /// The sources of a group, counted in its axes. `path` has the groups on the way here: a way that comes
    /// back to one of them goes round in circles.
    fn of_group(&self, group: usize, path: &mut Vec<usize>) -> Vec<Source> {
        let mut found = Vec::new();
        if path.contains(&group) {
            return found;
        }
        path.push(group);
        if self.groups.all[group].free {
            found.push(Source { free: Some(group), length: 0, reach: 0, back: 0 });
        }
        for says in &self.system.says {
            let Says::Le(res, opnd) = says else { continue };
            let Some(here) = self.place(res).filter(|place| place.group == group) else { continue };
            let (length, reach) = (here.length - res.flanks(), here.back - res.after());
            let front = self.groups.all[group].front;
            found.extend(
                self.of_operand(opnd, path).into_iter().map(|source| source.shifted(length, reach, front)),
            );
        }
        found.extend(self.read(group));
        path.pop();
        let mut distinct: Vec<Source> = Vec::new();
        for source in found {
            if !distinct.contains(&source) {
                distinct.push(source);
            }
        }
        distinct
    }

    /// The sources that come with an operand, counted in the operand's axes.
    fn of_operand(&self, opnd: &Term, path: &mut Vec<usize>) -> Vec<Source> {
        match self.place(opnd) {
            Some(place) => {
                let (length, reach) = (opnd.flanks() - place.length, opnd.after() - place.back);
                let inner = self.of_group(place.group, path);
                inner.into_iter().map(|source| source.shifted(length, reach, 0)).collect()
            }
            None => {
                let length = self.bounds.least(opnd);
                vec![Source { free: None, length, reach: length, back: 0 }]
            }
        }
    }

    /// A group that is not free and longer than its open operands make it has a reader with that
    /// rank.
    fn read(&self, group: usize) -> Vec<Source> {
        let this = &self.groups.all[group];
        if this.free {
            return Vec::new();
        }
        // A group without an open operand is longer than they make it.
        let mut made = i32::MIN;
        for says in &self.system.says {
            let Says::Le(res, opnd) = says else { continue };
            let Some(here) = self.place(res).filter(|place| place.group == group) else { continue };
            if self.place(opnd).is_some() {
                made = made.max(self.bounds.least(opnd) - res.flanks() + here.length);
            }
        }
        if this.lo <= made {
            return Vec::new();
        }
        vec![Source { free: None, length: this.lo, reach: this.lo, back: 0 }]
    }
}
