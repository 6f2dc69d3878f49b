//! The `broadloom` process: real streams around [`broadloom_cli::run`], and an exit status.

mod streams;

use std::io::IsTerminal;
use std::process::ExitCode;

use broadloom_cli::{Console, Live, Stream, run};

use streams::Streams;

fn main() -> ExitCode {
    let mut stdin = std::io::stdin();
    let mut live = Streams::new();
    let mut console = Console::new(&mut stdin, &mut live);
    console.stdout = stream(std::io::stdout());
    console.stderr = stream(std::io::stderr());
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    console.no_color = set("NO_COLOR") || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let output = run(std::env::args_os(), &mut console);
    live.stderr(&output.stderr);
    live.stdout(&output.stdout);
    ExitCode::from(live.end(output.status).code())
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
