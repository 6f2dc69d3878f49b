//! Threads that wait for work.
//!
//! A [`Pool`] of `n` threads is the calling thread and `n - 1` workers. Work has parts; a thread
//! that is free takes the next one. Workers spin for a short while after work, because more often
//! follows immediately, and then sleep.
//!
//! The next part is stored in one number, `turn`: the number of the job in its upper half, the part
//! in its lower. A worker reads the job and then takes a part by comparing and exchanging `turn`.
//! If that succeeds, the job has not changed in between: a job is replaced only when all its parts
//! were taken and are done, and under a new number.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

/// A function that does one part of some work.
pub(crate) type Work = unsafe extern "C" fn(argument: *mut c_void, part: i64, parts: i64);

/// The handle through which compiled code shares its work: `broadloom_parallel`.
#[repr(C)]
pub(crate) struct Parallel {
    run: unsafe extern "C" fn(parallel: *const Parallel, parts: i64, work: Work, argument: *mut c_void),
    threads: i64,
    /// A field that compiled code does not know about.
    pool: *const Pool,
}

/// Threads that wait for work.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// True while a run uses the pool.
    busy: AtomicBool,
}

struct Shared {
    /// The number of the job, and the next part of it.
    turn: AtomicU64,
    work: AtomicPtr<c_void>,
    argument: AtomicPtr<c_void>,
    parts: AtomicI64,
    done: AtomicI64,
    stopped: AtomicBool,
    sleepers: AtomicUsize,
    sleep: Mutex<()>,
    wake: Condvar,
}

/// The number of times that a worker looks for work before it sleeps.
const SPINS: u32 = 1 << 14;

impl Pool {
    /// A pool of this many threads, the calling one included, or fewer if the system does not allow
    /// as many.
    pub(crate) fn new(threads: usize) -> Pool {
        let shared = Arc::new(Shared {
            turn: AtomicU64::new(0),
            work: AtomicPtr::new(std::ptr::null_mut()),
            argument: AtomicPtr::new(std::ptr::null_mut()),
            parts: AtomicI64::new(0),
            done: AtomicI64::new(0),
            stopped: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            sleep: Mutex::new(()),
            wake: Condvar::new(),
        });
        let spawn = |_| {
            let shared = Arc::clone(&shared);
            let builder = std::thread::Builder::new().name("broadloom".into());
            builder.spawn(move || shared.serve()).ok()
        };
        let workers = (1..threads.clamp(1, 1024)).map_while(spawn).collect();
        Pool { shared, workers, busy: AtomicBool::new(false) }
    }

    /// The number of threads.
    pub(crate) fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// The handle that is passed to compiled code.
    pub(crate) fn parallel(&self) -> Parallel {
        Parallel { run: run_parts, threads: self.threads() as i64, pool: self }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        self.shared.wake();
        for worker in self.workers.drain(..) {
            // A worker runs compiled code only: it cannot panic.
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn wake(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            let _guard = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
            self.wake.notify_all();
        }
    }

    /// The main loop of a worker.
    fn serve(&self) {
        loop {
            let mut spins = 0;
            while !self.has_work() {
                if self.stopped.load(Ordering::SeqCst) {
                    return;
                }
                spins += 1;
                if spins < SPINS {
                    std::hint::spin_loop();
                } else {
                    self.sleep();
                }
            }
            calls::take_parts(self);
        }
    }

    /// Returns true if there are parts to take.
    fn has_work(&self) -> bool {
        let turn = self.turn.load(Ordering::SeqCst);
        ((turn & 0xFFFF_FFFF) as i64) < self.parts.load(Ordering::SeqCst)
    }

    fn sleep(&self) {
        let mut guard = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while !self.has_work() && !self.stopped.load(Ordering::SeqCst) {
            guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

use calls::run_parts;

#[allow(unsafe_code, reason = "compiled code is called")]
mod calls {
    use super::{AtomicPtr, Ordering, Parallel, Pool, Shared, Work, c_void};

    /// Runs all parts of some work and returns when they are done.
    ///
    /// # Safety
    /// `parallel` comes from a pool that is alive; `work` may be called with `argument` and each part, from any thread.
    pub(super) unsafe extern "C" fn run_parts(
        parallel: *const Parallel,
        parts: i64,
        work: Work,
        argument: *mut c_void,
    ) {
        // SAFETY: the caller keeps the pool alive.
        let pool: &Pool = unsafe { &*(*parallel).pool };
        let shared = &*pool.shared;
        if pool.busy.swap(true, Ordering::SeqCst) {
            // Another run uses the threads: this one computes its parts alone.
            for part in 0..parts {
                // SAFETY: the caller allows it.
                unsafe { work(argument, part, parts) };
            }
            return;
        }
        shared.parts.store(0, Ordering::SeqCst);
        shared.done.store(0, Ordering::SeqCst);
        shared.work.store(work as *mut c_void, Ordering::SeqCst);
        shared.argument.store(argument, Ordering::SeqCst);
        let job = (shared.turn.load(Ordering::SeqCst) >> 32).wrapping_add(1);
        shared.turn.store(job << 32, Ordering::SeqCst);
        shared.parts.store(parts, Ordering::SeqCst);
        shared.wake();
        take_parts(shared);
        let mut spins = 0u32;
        while shared.done.load(Ordering::SeqCst) < parts {
            spins += 1;
            if spins.is_multiple_of(1 << 12) { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
        pool.busy.store(false, Ordering::SeqCst);
    }

    /// Takes parts of the current job until there are none left.
    pub(super) fn take_parts(shared: &Shared) {
        loop {
            let turn = shared.turn.load(Ordering::SeqCst);
            let part = (turn & 0xFFFF_FFFF) as i64;
            let parts = shared.parts.load(Ordering::SeqCst);
            let work = load(&shared.work);
            let argument = load(&shared.argument);
            if part >= parts {
                return;
            }
            let taken = shared.turn.compare_exchange(turn, turn + 1, Ordering::SeqCst, Ordering::SeqCst);
            if taken.is_err() {
                continue;
            }
            // SAFETY: the part was taken from the job that was read, as the header explains; its
            // work is a function of this type, and the thread that gave the job waits until it is
            // done.
            unsafe {
                let work = std::mem::transmute::<*mut c_void, Work>(work);
                work(argument, part, parts);
            }
            shared.done.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn load(pointer: &AtomicPtr<c_void>) -> *mut c_void {
        pointer.load(Ordering::SeqCst)
    }

    // SAFETY: the pointer is to a pool, which may be used from any thread.
    unsafe impl Send for Parallel {}
    // SAFETY: as above.
    unsafe impl Sync for Parallel {}
}
