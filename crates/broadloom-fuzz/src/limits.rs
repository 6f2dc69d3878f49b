//! Limits of one input: time, memory and stack.
//!
//! They hold for a child process as a whole; whoever reaches one ends the process, and its parent knows why from how it ended.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The longest an input may take, in time of the processor: others on the machine do not count.
pub const TIME: Duration = Duration::from_secs(10);

/// The longest an input may take by the clock, for those that wait and compute nothing.
const PATIENCE: Duration = Duration::from_secs(120);

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
    /// How many inputs have begun, times two, and one more between two inputs.
    count: AtomicU64,
}

impl Watch {
    /// A watch that ends the process when an input takes too long.
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

    /// The time that processors have spent on this process, and the time by the clock.
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

    /// Does something that must not take too long.
    pub fn over<T>(&self, work: impl FnOnce() -> T) -> T {
        self.count.fetch_add(1, Ordering::Relaxed);
        let done = work();
        self.count.fetch_add(1, Ordering::Relaxed);
        done
    }
}
