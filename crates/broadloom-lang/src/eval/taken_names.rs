//! The names of leaves and layers that are taken.

use std::rc::Rc;

use rustc_hash::FxHashMap;

/// Names that are taken, with the last number that was added to each.
#[derive(Clone, Default)]
pub(super) struct TakenNames(FxHashMap<Rc<str>, u32>);

impl TakenNames {
    /// Takes a name that is free: the one asked for, or the first free one of `name2`, `name3`, …. Returns it with the number
    /// of names that were tried in vain.
    pub fn take(&mut self, name: &str) -> (Rc<str>, u64) {
        let Some(last) = self.0.get(name).copied() else {
            let name: Rc<str> = name.into();
            self.0.insert(name.clone(), 1);
            return (name, 0);
        };
        // Counts on from the last number, so that repeated requests for a name do not get slower.
        let first = last + 1;
        let mut number = first;
        while self.0.contains_key(&*format!("{name}{number}")) {
            number += 1;
        }
        let free: Rc<str> = format!("{name}{number}").into();
        self.0.insert(name.into(), number);
        self.0.insert(free.clone(), 1);
        (free, u64::from(number - first))
    }
}
