//! The routines of a session that can be run, found by their names.
//!
//! A long program may have thousands of routines, one for each place where something is computed.
//! Searching all of them for each one would take quadratic time.

use std::ops::{Index, IndexMut};

use rustc_hash::FxHashMap;

use super::Prepared;
use crate::routine::Routine;

/// The routines that can be run. `by_name` has the indices of those with a name.
#[derive(Default)]
pub(super) struct PreparedRoutines {
    list: Vec<Prepared>,
    by_name: FxHashMap<Box<str>, Vec<usize>>,
}

impl PreparedRoutines {
    /// The index of a routine that was prepared for some sizes.
    pub fn find(&self, routine: &Routine, sizes: &[u64]) -> Option<usize> {
        let fits = |at: &usize| self.list[*at].sizes == sizes && self.list[*at].routine == *routine;
        self.by_name.get(&routine.name)?.iter().copied().find(fits)
    }

    /// Adds a routine, and returns its index.
    pub fn push(&mut self, prepared: Prepared) -> usize {
        let at = self.list.len();
        self.by_name.entry(prepared.routine.name.clone()).or_default().push(at);
        self.list.push(prepared);
        at
    }

    /// Removes the routines that were prepared for some sizes; the indices of others change.
    pub fn forget(&mut self, sizes: &[u64]) {
        let mut list = std::mem::take(&mut self.list);
        self.by_name.clear();
        list.retain(|each| each.sizes != sizes);
        list.into_iter().for_each(|each| _ = self.push(each));
    }

    /// Removes all routines.
    pub fn clear(&mut self) {
        *self = PreparedRoutines::default();
    }
}

impl Index<usize> for PreparedRoutines {
    type Output = Prepared;

    fn index(&self, at: usize) -> &Prepared {
        &self.list[at]
    }
}

impl IndexMut<usize> for PreparedRoutines {
    fn index_mut(&mut self, at: usize) -> &mut Prepared {
        &mut self.list[at]
    }
}
