//! Typed numbers of the things that stores keep, and lists that are indexed by them. The number of a row constraint
//! is not the number of an arithmetic constraint, a row variable is not a dimension variable, and the compiler knows it.
//!
//! A number is one word. `NIL` is the number of nothing: an optional number takes no more room than a number.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// `u32::MAX`: no word.
pub(crate) const NIL: u32 = u32::MAX;

/// A number of one kind of thing.
pub(crate) trait Id: Copy + Eq {
    /// The number of the thing at a place of its store.
    fn at(place: usize) -> Self;

    /// The place in its store.
    fn place(self) -> usize;
}

/// A number as the trail logs it.
pub(crate) trait Word: Copy + PartialEq {
    fn word(self) -> u32;
}

impl Word for u32 {
    #[inline]
    fn word(self) -> u32 {
        self
    }
}

/// Makes types of one word ones that the trail logs.
macro_rules! words {
    ($($name:ty),*) => {$(
        impl $crate::ids::Word for $name {
            #[inline]
            fn word(self) -> u32 {
                self.0
            }
        }
    )*};
}
pub(crate) use words;

/// Makes types of one word numbers that lists are indexed by.
macro_rules! numbers {
    ($($name:ty),*) => {$(
        impl $crate::ids::Id for $name {
            #[inline]
            fn at(place: usize) -> $name {
                Self(place as u32)
            }

            #[inline]
            fn place(self) -> usize {
                self.0 as usize
            }
        }

        $crate::ids::words!($name);
    )*};
}
pub(crate) use numbers;

/// Declares types of numbers. They print as a letter and the number.
macro_rules! ids {
    ($($(#[$doc:meta])* $vis:vis $name:ident $letter:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name(pub(crate) u32);

        #[allow(dead_code, reason = "not every kind of number needs all of these")]
        impl $name {
            /// The number of nothing.
            pub(crate) const NIL: $name = $name($crate::ids::NIL);

            /// The number of the thing at a place of its store.
            #[inline]
            pub(crate) fn new(place: usize) -> $name {
                $name(place as u32)
            }

            /// The place in the order in which they were made, from zero.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The number, unless it is that of nothing.
            #[inline]
            pub(crate) fn some(self) -> Option<$name> {
                (self != $name::NIL).then_some(self)
            }
        }

        $crate::ids::numbers!($name);

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
    )*};
}
pub(crate) use ids;

ids! {
    /// A row constraint.
    pub(crate) RowConId "row";
    /// An arithmetic constraint.
    pub(crate) ArithId "arith";
    /// A row that is made of its operands.
    pub(crate) SupportId "support";
    /// A clause about one axis of such a row.
    pub(crate) ClauseId "clause";
    /// A policy step.
    pub(crate) StepId "step";
    /// An inequality between two dimension variables.
    pub(crate) AdjacencyId "adjacency";
    /// An inequality between the ranks of two row variables.
    pub(crate) RankEdgeId "rank";
    /// An atom: a size in a basis.
    pub(crate) AtomId "atom";
    /// The arithmetic facts about the size of a class of dimension variables.
    pub(crate) SizeId "size";
}

/// A list with one entry for each thing of a kind, indexed by its number.
pub(crate) struct IdVec<I, T> {
    entries: Vec<T>,
    kind: PhantomData<fn(I)>,
}

impl<I: Id, T> IdVec<I, T> {
    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number that the next entry gets.
    #[inline]
    pub fn next(&self) -> I {
        I::at(self.entries.len())
    }

    /// Adds an entry. Returns its number.
    #[inline]
    pub fn push(&mut self, entry: T) -> I {
        let id = self.next();
        self.entries.push(entry);
        id
    }

    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.entries.get(id.place())
    }

    /// The numbers of all entries, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.entries.len()).map(I::at)
    }

    /// All entries, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.entries.iter()
    }

    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.entries.iter_mut()
    }

    /// All entries with their numbers, in order.
    pub fn each(&self) -> impl Iterator<Item = (I, &T)> {
        self.entries.iter().enumerate().map(|(place, entry)| (I::at(place), entry))
    }

    pub fn clear(&mut self) {
        self.entries.clear();
    }

    pub fn truncate(&mut self, len: usize) {
        self.entries.truncate(len);
    }

    /// Bytes held, for the benchmarks.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<T>()
    }
}

impl<I: Id, T: Clone> IdVec<I, T> {
    /// A list of as many equal entries.
    pub fn filled(entry: T, len: usize) -> IdVec<I, T> {
        vec![entry; len].into()
    }

    /// Makes the list so long, with equal entries.
    pub fn resize(&mut self, len: usize, entry: T) {
        self.entries.resize(len, entry);
    }
}

impl<I, T> From<Vec<T>> for IdVec<I, T> {
    fn from(entries: Vec<T>) -> IdVec<I, T> {
        IdVec { entries, kind: PhantomData }
    }
}

impl<I, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(entries: It) -> IdVec<I, T> {
        Vec::from_iter(entries).into()
    }
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> IdVec<I, T> {
        Vec::new().into()
    }
}

impl<I, T: Clone> Clone for IdVec<I, T> {
    fn clone(&self) -> IdVec<I, T> {
        self.entries.clone().into()
    }
}

impl<I: Id + fmt::Debug, T: fmt::Debug> fmt::Debug for IdVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.each()).finish()
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.entries[id.place()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.entries[id.place()]
    }
}
