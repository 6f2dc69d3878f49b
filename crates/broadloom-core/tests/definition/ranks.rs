//! The number of axes that free groups take: all rank vectors are tried, and the greatest that
//! keeps both rules is taken.

use super::bounds::MANY;
use super::groups::{Group, Groups};
use super::sources::{FixedBelow, Source, Sources};

/// The greatest number of rounds in which it is decided which sources are heard.
const ROUNDS: usize = 6;

/// The number of further axes that are tried before ranks are said to grow without end.
const CIRCLES: i32 = 3;

/// The ranks that were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The rank of each group; meaningless for those that are not free.
    pub ranks: Vec<i32>,
    /// True if the ranks that keep the rules had a greatest among them, in each round.
    pub greatest: bool,
    /// The number of rounds until nothing changed; none if that did not happen.
    pub rounds: Option<usize>,
}

/// The sources that are heard: for each group and each of its sources, if others are heard by
/// length and by reach.
type Heard = Vec<Vec<(bool, bool)>>;

/// The ranks of free groups.
pub fn ranks(groups: &Groups, sources: &Sources) -> Found {
    let free: Vec<usize> = (0..groups.all.len()).filter(|group| groups.all[*group].free).collect();
    let mut ranks: Vec<i32> = groups.all.iter().map(|group| group.hi).collect();
    let (mut greatest, mut previous) = (true, None);
    for round in 0..ROUNDS {
        let heard = heard(groups, sources, &ranks);
        let found = best(groups, sources, &heard, &free);
        greatest &= found.1;
        ranks = found.0;
        if previous.as_ref() == Some(&ranks) {
            return Found { ranks, greatest, rounds: Some(round) };
        }
        previous = Some(ranks.clone());
    }
    Found { ranks, greatest, rounds: None }
}

fn others<'a>(all: &'a [Source], of: &'a Source) -> impl Iterator<Item = &'a Source> {
    all.iter().filter(move |other| other.free != of.free)
}

fn heard(groups: &Groups, sources: &Sources, ranks: &[i32]) -> Heard {
    let of_row = |(all, group): (&Vec<Source>, &Group)| {
        let of_source = |source: &Source| {
            if source.free.is_none() {
                return (false, false);
            }
            let length = others(all, source).map(|other| other.length_at(ranks)).max();
            let by_reach = length.is_some_and(|most| most + group.front > source.reach);
            (length.is_some_and(|most| most > source.length), by_reach)
        };
        all.iter().map(of_source).collect()
    };
    sources.of.iter().zip(&groups.all).map(of_row).collect()
}

/// The greatest ranks that keep both rules, and true if there are such; else the union of all that
/// do.
fn best(groups: &Groups, sources: &Sources, heard: &Heard, free: &[usize]) -> (Vec<i32>, bool) {
    // No way from a row to a free group is longer than all flanks together. Axes further than that
    // beyond the longest known source face nothing. If that was too few, more are tried.
    let all = || sources.of.iter().flatten();
    let known = all().map(|source| source.length.max(source.reach)).max().unwrap_or(0);
    let below = sources.below.iter().map(|row| row.length).max().unwrap_or(0);
    let least = free.iter().map(|group| groups.all[*group].lo).max().unwrap_or(0);
    let mut cap = known.max(below).max(least).max(0) + 1;
    let most = cap + CIRCLES;
    loop {
        let (found, greatest) = best_up_to(cap, groups, sources, heard, free);
        let cut = |group: &&usize| found[**group] == cap && groups.all[**group].hi > cap;
        if !free.iter().any(|group| cut(&group)) {
            return (found, greatest);
        }
        // Ranks that grow by going round in circles are ignored.
        if cap == most {
            let least = |group: usize| {
                if free.contains(&group) && cut(&&group) { groups.all[group].lo } else { found[group] }
            };
            return ((0..found.len()).map(least).collect(), greatest);
        }
        cap += 1;
    }
}

fn best_up_to(
    cap: i32,
    groups: &Groups,
    sources: &Sources,
    heard: &Heard,
    free: &[usize],
) -> (Vec<i32>, bool) {
    let lo = |group: usize| groups.all[group].lo;
    let hi = |group: usize| groups.all[group].hi.min(cap).max(lo(group));
    let mut ranks: Vec<i32> = groups.all.iter().map(|group| group.lo).collect();
    let mut union = ranks.clone();
    loop {
        // A vector that does not exceed the union adds nothing to it.
        let adds = free.iter().any(|group| ranks[*group] > union[*group]);
        if adds && keeps_rules(groups, sources, heard, free, &ranks) {
            for group in free {
                union[*group] = union[*group].max(ranks[*group]);
            }
        }
        // The next vector, counting with one digit for each free group.
        let mut place = 0;
        loop {
            let Some(group) = free.get(place) else {
                let greatest = keeps_rules(groups, sources, heard, free, &union);
                return (union, greatest);
            };
            if ranks[*group] < hi(*group) {
                ranks[*group] += 1;
                break;
            }
            ranks[*group] = lo(*group);
            place += 1;
        }
    }
}

fn keeps_rules(groups: &Groups, sources: &Sources, heard: &Heard, free: &[usize], ranks: &[i32]) -> bool {
    nobody_stands_out(groups, sources, heard, ranks) && nobody_floats(groups, sources, free, ranks)
}

/// The first rule: no group beyond its least rank is longer, or reaches further, than all other
/// sources. A group at its least rank is exempt, because that rank has another cause.
fn nobody_stands_out(groups: &Groups, sources: &Sources, heard: &Heard, ranks: &[i32]) -> bool {
    sources.of.iter().zip(heard).zip(&groups.all).all(|((all, heard), here)| {
        all.iter().zip(heard).all(|(source, (by_length, by_reach))| {
            let Some(group) = source.free.filter(|group| ranks[*group] > groups.all[*group].lo) else {
                return true;
            };
            debug_assert!(ranks[group] < MANY);
            let as_long =
                || others(all, source).any(|other| other.length_at(ranks) >= source.length_at(ranks));
            let far = |other: &Source| other.length_at(ranks) + here.front;
            let as_far = || others(all, source).any(|other| far(other) >= source.reach_at(ranks));
            (!by_length || as_long()) && (!by_reach || as_far())
        })
    })
}

/// The second rule: in some order of the groups, every axis beyond the least rank faces a known
/// row, an earlier group, or axes behind those of another group. The order is built from the front:
/// the rows that a group faces only grow with more groups before it, so if this gets stuck, so does
/// every order.
fn nobody_floats(groups: &Groups, sources: &Sources, free: &[usize], ranks: &[i32]) -> bool {
    let mut earlier: Vec<usize> = Vec::new();
    loop {
        let ready = |group: &&usize| {
            let faces = |axis| Facing { groups, sources, earlier: &earlier, ranks }.something(**group, axis);
            !earlier.contains(group) && (groups.all[**group].lo + 1..=ranks[**group]).all(faces)
        };
        let Some(next) = free.iter().find(ready) else { break };
        earlier.push(*next);
    }
    earlier.len() == free.len()
}

/// The rows and groups that can be faced.
struct Facing<'a> {
    groups: &'a Groups,
    sources: &'a Sources,
    earlier: &'a [usize],
    ranks: &'a [i32],
}

impl Facing<'_> {
    fn something(&self, group: usize, axis: i32) -> bool {
        let of_group = |source: &&Source| source.free == Some(group);
        let open = self.sources.of.iter().zip(&self.groups.all).any(|(all, here)| {
            let goes = |other: &Source| match other.free {
                Some(free) if !self.earlier.contains(&free) => other.reach,
                _ => other.length_at(self.ranks) + here.front,
            };
            all.iter()
                .filter(of_group)
                .any(|mine| others(all, mine).any(|other| axis + mine.back <= goes(other)))
        });
        let below =
            |row: &FixedBelow| row.sources.iter().filter(of_group).any(|mine| axis + mine.back <= row.length);
        open || self.sources.below.iter().any(below)
    }
}
