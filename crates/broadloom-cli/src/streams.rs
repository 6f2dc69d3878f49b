//! The command as a process: its streams, and events from outside: closed pipes, full disks, Ctrl-C.

use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{Console, Live, Status, Stop, Stream, run};
use signal_hook::consts::{SIGINT, SIGTERM};

/// The least time between two checks for a reader of standard output.
const PAUSE: Duration = Duration::from_millis(20);

/// Carries out a command with the streams of this process, and returns its exit status. The first argument is the name of the
/// program.
pub fn process<A: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = A>) -> u8 {
    let mut stdin = io::stdin();
    let mut live = Streams::new();
    let mut console = Console::new(&mut stdin, &mut live);
    console.stdout = stream(io::stdout());
    console.stderr = stream(io::stderr());
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    console.no_color = set("NO_COLOR") || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let output = run(arguments, &mut console);
    live.stderr(&output.stderr);
    live.stdout(&output.stdout);
    live.end(output.status).code()
}

/// The signals that ask a run to end: a key, another process, or the terminal as it is closed. Under `nohup`
/// the last is ignored, and stays so; if that cannot be found out, it is left as it is.
fn interrupts() -> Vec<i32> {
    let mut signals = vec![SIGINT, SIGTERM];
    #[cfg(unix)]
    if ignored_signals().is_some_and(|ignored| ignored & 1 << (signal_hook::consts::SIGHUP - 1) == 0) {
        signals.push(signal_hook::consts::SIGHUP);
    }
    signals
}

/// A bit for each signal that this process ignores, where the system tells.
#[cfg(unix)]
fn ignored_signals() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let bits = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(bits.trim(), 16).ok()
}

#[cfg(unix)]
fn stream(of: impl IsTerminal + std::os::fd::AsFd) -> Stream {
    let columns = terminal_size::terminal_size_of(&of).map(|(width, _)| usize::from(width.0));
    Stream { terminal: of.is_terminal(), columns }
}

#[cfg(not(unix))]
fn stream(of: impl IsTerminal) -> Stream {
    let columns = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    Stream { terminal: of.is_terminal(), columns }
}

/// The streams of the process.
struct Streams {
    /// The first error of writing to standard output.
    unwritten: Option<io::Error>,
    /// True if some text for standard error was lost.
    unsaid: bool,
    /// True if the process should stop; set only once [interrupts are held](Live::hold_interrupts).
    interrupted: Arc<AtomicBool>,
    /// True if standard output may be a pipe.
    may_close: bool,
    looked: Option<Instant>,
}

impl Streams {
    fn new() -> Streams {
        Streams {
            unwritten: None,
            unsaid: false,
            interrupted: Arc::default(),
            may_close: !io::stdout().is_terminal(),
            looked: None,
        }
    }

    /// The final status of the process. Output that could not be written makes it worse.
    fn end(mut self, status: Status) -> Status {
        match self.unwritten.take() {
            // A closed pipe is the reader's choice: there is nothing to report.
            Some(error) if error.kind() == ErrorKind::BrokenPipe => return Status::Unread,
            Some(error) => {
                self.stderr(&format!("error: cannot write to standard output: {error}\n"));
                return Status::Unusable;
            }
            None => {}
        }
        if self.unsaid { status.max(Status::Unusable) } else { status }
    }
}

impl Live for Streams {
    fn stdout(&mut self, text: &str) {
        // After a failure there is a gap already, and later output would hide it.
        if text.is_empty() || self.unwritten.is_some() {
            return;
        }
        let mut stdout = io::stdout().lock();
        self.unwritten = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).err();
    }

    fn stderr(&mut self, text: &str) {
        self.unsaid |= io::stderr().write_all(text.as_bytes()).is_err();
    }

    fn hold_interrupts(&mut self) {
        for signal in interrupts() {
            // The order matters: the second signal finds the flag that the first one has set. Where
            // signals cannot be held, they end the process as usual.
            let code = i32::from(Status::Interrupted.code());
            let ends =
                signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(&self.interrupted));
            if ends.is_ok() {
                let _ = signal_hook::flag::register(signal, Arc::clone(&self.interrupted));
            }
        }
    }

    fn stops(&mut self) -> Option<Stop> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Some(Stop::Interrupted);
        }
        // Without a reader, or with a full disk, further results would be lost.
        if self.unwritten.is_some() {
            return Some(Stop::Unread);
        }
        if !self.may_close || self.looked.is_some_and(|looked| looked.elapsed() < PAUSE) {
            return None;
        }
        self.looked = Some(Instant::now());
        is_unread().then_some(Stop::Unread)
    }
}

/// Returns true if standard output is a pipe without a reader. Does not write to it.
#[cfg(unix)]
fn is_unread() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = io::stdout();
    let mut asked = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&at_once)).is_ok_and(|_| asked[0].revents().contains(PollFlags::ERR))
}

#[cfg(not(unix))]
fn is_unread() -> bool {
    false
}
