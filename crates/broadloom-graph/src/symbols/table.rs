//! The table of a graph's named sizes: by number, in the order of declaration, and by name.
//!
//! A program may declare thousands of sizes, and every declared shape looks names up, so a name is found
//! without going through the list.

use std::ops::{Deref, DerefMut};

use broadloom_core::DimVar;
use rustc_hash::FxHashMap;

/// A named size of a graph.
#[derive(Clone, Debug)]
pub struct SymbolData {
    /// Its name.
    pub name: Box<str>,
    /// The variable of the solver.
    pub var: DimVar,
    /// The least and the greatest size it was declared with.
    pub range: (u64, Option<u64>),
    /// The size at which a program runs if no other is given.
    pub sample: Option<u64>,
    /// True if it is unknown until run time, and gives way to any other size.
    pub dynamic: bool,
}

/// Named sizes in the order in which the solver made them. No two have the same name.
#[derive(Clone, Debug, Default)]
pub(crate) struct SymbolTable {
    list: Vec<SymbolData>,
    numbers: FxHashMap<Box<str>, usize>,
}

impl SymbolTable {
    /// The number of the size with this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// Adds a size whose name is new, and returns its number.
    pub fn push(&mut self, data: SymbolData) -> usize {
        let at = self.list.len();
        let former = self.numbers.insert(data.name.clone(), at);
        debug_assert_eq!(former, None, "`{}` is declared once", data.name);
        self.list.push(data);
        at
    }

    /// Removes the sizes from a number on.
    pub fn truncate(&mut self, len: usize) {
        for data in self.list.drain(len.min(self.list.len())..) {
            self.numbers.remove(&data.name);
        }
    }

    /// Removes all sizes.
    pub fn clear(&mut self) {
        self.list.clear();
        self.numbers.clear();
    }
}

impl Deref for SymbolTable {
    type Target = [SymbolData];

    fn deref(&self) -> &[SymbolData] {
        &self.list
    }
}

/// Everything but the name of a size may be changed in place.
impl DerefMut for SymbolTable {
    fn deref_mut(&mut self) -> &mut [SymbolData] {
        &mut self.list
    }
}
