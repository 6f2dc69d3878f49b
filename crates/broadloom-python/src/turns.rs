//! Something that threads use in turns. What a thread calls while it has its turn may come back to the same thing: a second turn inside of the first
//! would wait for ever, so that it is refused.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

thread_local! {
    /// A byte of each thread, whose address no other living thread has.
    static OWN: u8 = const { 0 };
}

/// The number of the current thread, which is not zero.
fn own() -> usize {
    OWN.with(|own| std::ptr::from_ref(own).addr())
}

/// Something that one thread at a time uses.
pub struct Turns<T> {
    held: Mutex<T>,
    /// The number of the thread whose turn it is, or zero.
    by: AtomicUsize,
}

/// A turn, which ends when it is dropped.
pub struct Turn<'t, T> {
    held: MutexGuard<'t, T>,
    by: &'t AtomicUsize,
}

impl<T> Turns<T> {
    pub fn new(held: T) -> Turns<T> {
        Turns { held: Mutex::new(held), by: AtomicUsize::new(0) }
    }

    /// Waits for a turn; `None` if this thread has one already. A thread sees its own number if and only if it wrote it last.
    pub fn next(&self) -> Option<Turn<'_, T>> {
        let own = own();
        if self.by.load(Ordering::Relaxed) == own {
            return None;
        }
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        self.by.store(own, Ordering::Relaxed);
        Some(Turn { held, by: &self.by })
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        // The lock is given back after this.
        self.by.store(0, Ordering::Relaxed);
    }
}

impl<T> Deref for Turn<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.held
    }
}

impl<T> DerefMut for Turn<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.held
    }
}
