//! The names of a system: variables and basis tags, each stored once and then represented by a
//! small number.
//!
//! All spellings lie one after another in a single string; an open-addressing table of ids finds
//! them. Ids count up in the order of first use, so nothing depends on the hash. The table can
//! remove its newest entries: the parser takes back the names of a line that turned out to be
//! wrong.
//!
//! In `leaf ..r..` and `a = 3:rgb`, `r` is name 0 (a row, a leaf), `a` is name 1
//! (a dimension, interior) and `rgb` is basis 1 (0 is the default basis).

use broadloom_diagnostics::Span;
use std::hash::{BuildHasher, RandomState};

/// A variable of the system: an index into [`Variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameId(pub u32);

/// A basis: an index into [`Bases`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BasisId(pub u32);

impl BasisId {
    /// The basis of an atom written without a tag, or with `:default`.
    pub const DEFAULT: BasisId = BasisId(0);
}

/// The kind of variable that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameKind {
    /// A dimension variable, written `a`.
    Dim,
    /// A row variable, written `..r..`.
    Row,
}

/// The owner of a variable, if a tag states it; untagged variables are interior.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    /// `leaf`: a tensor the user supplies.
    Leaf,
    /// `param`: a tensor that is learned.
    Param,
}

impl Tag {
    /// The keyword of the tag.
    pub fn keyword(self) -> &'static str {
        match self {
            Tag::Leaf => "leaf",
            Tag::Param => "param",
        }
    }
}

/// The entry of a name, without its spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// Dimension or row.
    pub kind: NameKind,
    /// Its tag; `None` means interior.
    pub tag: Option<Tag>,
    /// The place where the name is used first.
    pub first_use: Span,
    /// The place where it is tagged first; empty if it has no tag.
    pub tag_span: Span,
}

/// The variables of a system in order of first use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    spellings: Interner,
    entries: Vec<Name>,
}

impl Variables {
    /// The number of variables.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there are no variables.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry of a variable.
    pub fn get(&self, name: NameId) -> &Name {
        &self.entries[name.0 as usize]
    }

    /// The spelling of a variable, without dots.
    pub fn text(&self, name: NameId) -> &str {
        self.spellings.text(name.0)
    }

    /// The variable spelled `text`, without dots.
    pub fn find(&self, text: &str) -> Option<NameId> {
        self.spellings.find(text).map(NameId)
    }

    /// All variables in order of first use.
    pub fn iter(&self) -> impl Iterator<Item = (NameId, &Name)> {
        self.entries.iter().enumerate().map(|(id, name)| (NameId(id as u32), name))
    }

    /// The variable spelled `text`, entered with `kind` and `first_use` if it is new.
    /// The caller compares the kind of a variable that was there before.
    pub(super) fn intern(&mut self, text: &str, kind: NameKind, first_use: Span) -> NameId {
        let id = self.spellings.intern(text);
        if id as usize == self.entries.len() {
            self.entries.push(Name { kind, tag: None, first_use, tag_span: Span::default() });
        }
        NameId(id)
    }

    /// Gives a variable its first tag.
    pub(super) fn set_tag(&mut self, name: NameId, tag: Tag, span: Span) {
        let entry = &mut self.entries[name.0 as usize];
        if entry.tag.is_none() {
            entry.tag = Some(tag);
            entry.tag_span = span;
        }
    }

    /// Removes all variables but the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        self.spellings.truncate(len);
        self.entries.truncate(len);
    }

    /// Sets every span to zero.
    pub(super) fn erase_spans(&mut self) {
        for entry in &mut self.entries {
            entry.first_use = Span::default();
            entry.tag_span = Span::default();
        }
    }
}

/// The bases of a system in order of first use, after the default basis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bases {
    spellings: Interner,
}

impl Bases {
    /// The number of bases, at least one.
    #[expect(clippy::len_without_is_empty, reason = "the default basis is always there")]
    pub fn len(&self) -> usize {
        self.spellings.len()
    }

    /// The spelling of a basis; `default` for the default basis.
    pub fn text(&self, basis: BasisId) -> &str {
        self.spellings.text(basis.0)
    }

    /// The basis spelled `text`.
    pub fn find(&self, text: &str) -> Option<BasisId> {
        self.spellings.find(text).map(BasisId)
    }

    /// The basis spelled `text`, entered if it is new.
    pub(super) fn intern(&mut self, text: &str) -> BasisId {
        BasisId(self.spellings.intern(text))
    }

    /// Removes all bases but the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        self.spellings.truncate(len.max(1));
    }
}

impl Default for Bases {
    fn default() -> Bases {
        let mut spellings = Interner::default();
        spellings.intern("default");
        Bases { spellings }
    }
}

/// Spellings and the table that finds them.
#[derive(Clone, Debug)]
struct Interner {
    text: String,
    /// End of each spelling in `text`.
    ends: Vec<u32>,
    /// Open addressing with linear probing. At least half of the slots are
    /// empty; the length is zero or a power of two.
    slots: Vec<Slot>,
    /// Chosen at random, so that no file can be written to collide.
    seed: u64,
}

/// A slot of the table: 32 bits of the hash and the id plus one, zero if empty.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    hash: u32,
    id_plus_one: u32,
}

impl Interner {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn text(&self, id: u32) -> &str {
        let end = self.ends[id as usize] as usize;
        let start = if id == 0 { 0 } else { self.ends[id as usize - 1] as usize };
        &self.text[start..end]
    }

    fn find(&self, text: &str) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        self.slots[self.slot_of(text, self.hash(text))].id_plus_one.checked_sub(1)
    }

    fn intern(&mut self, text: &str) -> u32 {
        if self.slots.len() <= 2 * self.ends.len() {
            self.grow();
        }
        let hash = self.hash(text);
        let slot = self.slot_of(text, hash);
        if let Some(id) = self.slots[slot].id_plus_one.checked_sub(1) {
            return id;
        }
        self.text.push_str(text);
        self.ends.push(self.text.len() as u32);
        self.slots[slot] = Slot { hash, id_plus_one: self.ends.len() as u32 };
        self.ends.len() as u32 - 1
    }

    /// Removes all spellings but the first `len`.
    fn truncate(&mut self, len: usize) {
        while self.ends.len() > len {
            let newest = self.ends.len() as u32 - 1;
            let slot = self.slot_of(self.text(newest), self.hash(self.text(newest)));
            self.vacate(slot);
            self.ends.pop();
            let end = self.ends.last().map_or(0, |&end| end as usize);
            self.text.truncate(end);
        }
    }

    /// Empties a slot and moves those after it that would no longer be found
    /// (Knuth, The Art of Computer Programming, 6.4, algorithm R).
    fn vacate(&mut self, slot: usize) {
        let mask = self.slots.len() - 1;
        let (mut gap, mut next) = (slot, slot);
        loop {
            next = (next + 1) & mask;
            let Slot { hash, id_plus_one } = self.slots[next];
            if id_plus_one == 0 {
                self.slots[gap] = Slot::default();
                return;
            }
            let way_from_home = next.wrapping_sub(hash as usize) & mask;
            let way_from_gap = next.wrapping_sub(gap) & mask;
            if way_from_home >= way_from_gap {
                self.slots[gap] = self.slots[next];
                gap = next;
            }
        }
    }

    /// The slot that holds `text`, or the empty slot where it belongs.
    fn slot_of(&self, text: &str, hash: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let Slot { hash: found, id_plus_one } = self.slots[slot];
            if id_plus_one == 0 || (found == hash && self.text(id_plus_one - 1) == text) {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Doubles the table. Each slot moves to one of two places that advance with
    /// it, so memory is read and written nearly in order.
    fn grow(&mut self) {
        let len = (2 * self.slots.len()).max(16);
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); len]);
        for full in old.into_iter().filter(|slot| slot.id_plus_one != 0) {
            let mut slot = full.hash as usize & (len - 1);
            while self.slots[slot].id_plus_one != 0 {
                slot = (slot + 1) & (len - 1);
            }
            self.slots[slot] = full;
        }
    }

    /// Folds eight bytes at a time by a widening multiplication. The last byte is
    /// only added, so that `x_10` to `x_19` share a cache line or two: names tend
    /// to be numbered, and numbered names tend to be used together.
    fn hash(&self, text: &str) -> u32 {
        let Some((&last, prefix)) = text.as_bytes().split_last() else {
            return 0;
        };
        let fold = |hash: u64, word: u64| {
            let product = u128::from(hash ^ word) * 0x9e37_79b9_7f4a_7c15;
            product as u64 ^ (product >> 64) as u64
        };
        let (words, rest) = prefix.as_chunks::<8>();
        let hash = words.iter().fold(self.seed, |hash, &word| fold(hash, u64::from_le_bytes(word)));
        let word = rest.iter().fold(prefix.len() as u64, |word, &byte| word << 8 | u64::from(byte));
        let hash = fold(hash, word);
        ((hash ^ hash >> 32) as u32).wrapping_add(u32::from(last))
    }
}

impl Default for Interner {
    fn default() -> Interner {
        let seed = RandomState::new().hash_one(0);
        Interner { text: String::new(), ends: Vec::new(), slots: Vec::new(), seed }
    }
}

/// Equal spellings in the same order; the tables may differ.
impl PartialEq for Interner {
    fn eq(&self, other: &Interner) -> bool {
        self.text == other.text && self.ends == other.ends
    }
}

impl Eq for Interner {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncating_forgets_exactly_the_newest() {
        let mut interner = Interner::default();
        let spelling = |n: u32| format!("name_{}", n * 7919 % 4096);
        for round in 1..=8u32 {
            let kept = round * 256;
            for n in 0..kept + 512 {
                assert_eq!(interner.intern(&spelling(n)), n);
            }
            interner.truncate(kept as usize);
            assert_eq!(interner.len(), kept as usize);
            for n in 0..kept + 512 {
                assert_eq!(interner.find(&spelling(n)), (n < kept).then_some(n));
            }
        }
    }

    #[test]
    fn the_default_basis_is_always_there() {
        let mut bases = Bases::default();
        assert_eq!(bases.intern("default"), BasisId::DEFAULT);
        assert_eq!(bases.intern("rgb"), BasisId(1));
        bases.truncate(0);
        assert_eq!((bases.len(), bases.find("rgb")), (1, None));
    }
}
