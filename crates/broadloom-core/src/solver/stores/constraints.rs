//! The constraints, in the order of addition.

use crate::term::{ConstraintId, DimTerm};

/// Where an added constraint is kept.
#[derive(Clone, Copy)]
pub(crate) enum Stored {
    DimEq(DimTerm, DimTerm),
    DimLe(DimTerm, DimTerm),
    Row(u32),
    AtLeast(DimTerm, u64),
    AtMost(DimTerm, u64),
    Arith(u32),
    Support(u32),
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

    pub fn push(&mut self, stored: Stored) {
        let word = match stored {
            Stored::Row(con) => con,
            other => {
                self.others.push(other);
                Self::OTHER | (self.others.len() as u32 - 1)
            }
        };
        self.words.push(word);
    }

    pub fn get(&self, id: u32) -> Stored {
        let word = self.words[id as usize];
        if word & Self::OTHER == 0 { Stored::Row(word) } else { self.others[(word & !Self::OTHER) as usize] }
    }

    /// The place of a constraint among the arithmetic ones, if it is one.
    pub fn arith(&self, id: ConstraintId) -> Option<u32> {
        if let Stored::Arith(con) = self.get(id.0) { Some(con) } else { None }
    }

    pub fn clear(&mut self) {
        self.words.clear();
        self.others.clear();
    }

    pub fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u32>() + self.others.capacity() * size_of::<Stored>()
    }
}
