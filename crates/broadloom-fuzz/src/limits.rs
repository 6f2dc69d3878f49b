//! Limits of one input: time, memory and stack.
//!
//! They hold for a child process as a whole. An input that reaches one ends the process, and the
//! parent learns the reason from its exit status.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The processor time that an input may take: other processes on the machine do not count.
pub const TIME: Duration = Duration::from_secs(10);

/// The wall-clock time that an input may take, for inputs that wait without computing.
const PATIENCE: Duration = Duration::from_secs(120);

/// The memory that a process may reserve.
pub const MEMORY: u64 = 2 << 30;

/// The stack on which inputs are checked: the default of a thread.
pub const STACK: usize = 2 << 20;

/// The exit status of a process in which an input takes too long.
pub const HANGS: i32 = 99;

/// The exit status of a process in which an input panics.
pub const PANICS: i32 = 98;

/// Limits the memory of this process, on systems that support it.
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

/// A watchdog for the time that inputs take.
#[derive(Debug)]
pub struct Watch {
    start: Instant,
    /// Twice the number of inputs that have begun, plus one between two inputs.
    count: AtomicU64,
}

impl Watch {
    /// Starts a watchdog that ends the process when an input takes too long.
    pub fn begin() -> &'static Watch {
        let watch: &'static Watch =
            Box::leak(Box::new(Watch { start: Instant::now(), count: AtomicU64::new(1) }));
        std::thread::spawn(move || {
            let (mut last, mut since) = (1, watch.now());
            loop {
                std::thread::sleep(Duration::from_millis(100));
                let (count, now) = (watch.count.load(Ordering::Relaxed), watch.now());
                if count != last || count % 2 == 1 {
                    (last, since) = (count, now);
                } else if now.0 > since.0 + TIME || now.1 > since.1 + PATIENCE {
                    std::process::exit(HANGS);
                }
            }
        });
        watch
    }

    /// The processor time of this process, and the wall-clock time.
    fn now(&self) -> (Duration, Duration) {
        let clock = self.start.elapsed();
        #[cfg(unix)]
        let processor = {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
        };
        #[cfg(not(unix))]
        let processor = clock;
        (processor, clock)
    }

    /// Does work that must not take too long.
    pub fn over<T>(&self, work: impl FnOnce() -> T) -> T {
        self.count.fetch_add(1, Ordering::Relaxed);
        let done = work();
        self.count.fetch_add(1, Ordering::Relaxed);
        done
    }
}
