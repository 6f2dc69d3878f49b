//! `broadloom lsp`: the language server.

use broadloom_lsp::Ended;

use crate::output::{Output, Status};

/// The arguments of `lsp`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Talk through standard input and output, which is the only way; editors like to say it
    #[arg(long)]
    stdio: bool,
}

pub(crate) const HELP: &str = "\
An editor starts it, and talks to it in the Language Server Protocol: shapes beside names, mistakes at both
ends with fixes, hover, definitions, references, renaming, completion, formatting. docs/editors.md says how
to set up VS Code, Neovim and others.

Exit status: 0 the editor said goodbye, 1 it left without, 2 the streams broke.";

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
