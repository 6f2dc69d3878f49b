//! `broadloom lsp`: the language server.

use broadloom_lsp::Ended;

use crate::output::{Output, Status};

/// The arguments of `lsp`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Use standard input and output (always on; accepted because editors pass it)
    #[arg(long)]
    stdio: bool,
}

pub(crate) const HELP: &str = "\
An editor starts it, and talks to it in the Language Server Protocol: shapes beside names, errors at both
ends of a conflict with fixes, hover, definitions, references, renaming, completion, formatting.
docs/editors.md explains how to set up VS Code, Neovim and others.

Exit status: 0 the editor shut it down, 1 the editor left without doing so, 2 the streams broke.";

/// Serves an editor until it leaves.
pub fn run(_: &Args) -> Output {
    match broadloom_lsp::stdio() {
        Ok(Ended::Properly) => Output::new(Status::Fine),
        Ok(Ended::Abruptly) => Output::new(Status::Wrong),
        Err(error) => Output {
            stderr: format!("error: the language server: {error}\n"),
            ..Output::new(Status::Unusable)
        },
    }
}
