//! Reading programs does not leak memory. The test runs in a process of its own, so that no other
//! test affects its memory.

use std::process::Command;

use broadloom_lang::{Options, compile};

/// The memory of this process in KiB, on systems that report it.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Reading a program again and again, as an editor does, does not fill the memory, although
/// functions, layers and the scopes that define them refer to each other.
#[test]
fn nothing_is_left_behind() {
    if std::env::var_os("BROADLOOM_ALONE").is_some() {
        return read_again_and_again();
    }
    let tests = std::env::current_exe().expect("the tests know their own binary");
    let mut alone = Command::new(tests);
    alone.args(["--exact", "memory::nothing_is_left_behind", "--nocapture"]).env("BROADLOOM_ALONE", "1");
    assert!(alone.status().expect("the tests can be started again").success());
}

fn read_again_and_again() {
    let text = "def outer(n)(x) =\n  def inner(y) = {w : ... -> n} @ y\n  inner(x)\ndata x : 3\nlet f = outer(4)\nlet y = f(x)\n";
    let read = |count: usize| {
        (0..count).for_each(|_| assert!(compile("text.loom", text, &Options::default()).is_ok()));
    };
    read(200);
    let Some(before) = memory() else { return };
    read(1000);
    let grown = memory().unwrap_or(before).saturating_sub(before);
    // Without clearing the scopes, it is 100 KiB for each program.
    assert!(grown < 10_000, "1000 programs leave {grown} KiB behind");
}
