//! Limits of one input: time, memory and stack.
//!
//! They hold for a child process as a whole; whoever reaches one ends the process, and its parent knows why from how it ended.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The longest an input may take.
pub const TIME: Duration = Duration::from_secs(10);

/// The memory that a process may reserve.
pub const MEMORY: u64 = 2 << 30;

/// The stack on which inputs are checked, the usual one of a thread.
pub const STACK: usize = 2 << 20;

/// The exit status of a process in which an input takes too long.
pub const HANGS: i32 = 99;

/// The exit status of a process in which an input panics.
pub const PANICS: i32 = 98;

/// Limits the memory of this process, where the system can do that.
pub fn limit_memory() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let limit = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
        if let Err(error) = setrlimit(Resource::As, limit) {
            eprintln!("memory is not limited: {error}");
        }
    }
}

/// A watch over the time that inputs take.
#[derive(Debug)]
pub struct Watch {
    start: Instant,
    /// The milliseconds from the start at which the present input began, and one more; zero between inputs.
    began: AtomicU64,
}

impl Watch {
    /// A watch that ends the process when an input takes too long.
    pub fn begin() -> &'static Watch {
        let watch: &'static Watch =
            Box::leak(Box::new(Watch { start: Instant::now(), began: AtomicU64::new(0) }));
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(100));
                watch.look();
            }
        });
        watch
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_millis() as u64 + 1
    }

    fn look(&self) {
        let began = self.began.load(Ordering::Relaxed);
        if began != 0 && self.now() > began + TIME.as_millis() as u64 {
            std::process::exit(HANGS);
        }
    }

    /// Does something that must not take too long.
    pub fn over<T>(&self, work: impl FnOnce() -> T) -> T {
        self.began.store(self.now(), Ordering::Relaxed);
        let done = work();
        self.began.store(0, Ordering::Relaxed);
        done
    }
}
