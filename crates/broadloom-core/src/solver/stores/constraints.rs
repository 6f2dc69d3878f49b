//! The constraints, in the order of addition.

use crate::ids::{ArithId, RowConId, SupportId};
use crate::term::{ConstraintId, DimTerm};

/// An added constraint, by the store that keeps it.
#[derive(Clone, Copy)]
pub(crate) enum Stored {
    DimEq(DimTerm, DimTerm),
    DimLe(DimTerm, DimTerm),
    Row(RowConId),
    AtLeast(DimTerm, u64),
    AtMost(DimTerm, u64),
    Arith(ArithId),
    Support(SupportId),
}

/// The added constraints, in order: a word each for the many that are about rows, which are kept
/// elsewhere, and a place in a list of their own for the others.
#[derive(Clone, Default)]
pub(crate) struct Constraints {
    words: Vec<u32>,
    others: Vec<Stored>,
}

impl Constraints {
    const OTHER: u32 = 1 << 31;

    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// The id that the next constraint gets.
    pub fn next(&self) -> ConstraintId {
        ConstraintId(self.words.len() as u32)
    }

    /// The ids of all constraints, in the order of addition.
    pub fn ids(&self) -> impl Iterator<Item = ConstraintId> + use<> {
        (0..self.words.len() as u32).map(ConstraintId)
    }

    pub fn push(&mut self, stored: Stored) {
        let word = match stored {
            Stored::Row(con) => con.0,
            other => {
                self.others.push(other);
                Self::OTHER | (self.others.len() as u32 - 1)
            }
        };
        self.words.push(word);
    }

    pub fn get(&self, id: ConstraintId) -> Stored {
        let word = self.words[id.index()];
        if word & Self::OTHER == 0 {
            Stored::Row(RowConId(word))
        } else {
            self.others[(word & !Self::OTHER) as usize]
        }
    }

    /// The place of a constraint among the arithmetic ones, if it is one.
    pub fn arith(&self, id: ConstraintId) -> Option<ArithId> {
        if let Stored::Arith(con) = self.get(id) { Some(con) } else { None }
    }

    pub fn clear(&mut self) {
        self.words.clear();
        self.others.clear();
    }

    pub fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u32>() + self.others.capacity() * size_of::<Stored>()
    }
}
