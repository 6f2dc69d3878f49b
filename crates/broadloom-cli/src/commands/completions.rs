//! `broadloom completions`: scripts with which a shell completes the arguments of the command.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::output::{Output, Status};

/// The arguments of `completions`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) const HELP: &str = "\
Examples:
  bash  broadloom completions bash > ~/.local/share/bash-completion/completions/broadloom
  zsh   broadloom completions zsh > ~/.zfunc/_broadloom     # with `fpath+=~/.zfunc` in ~/.zshrc
  fish  broadloom completions fish > ~/.config/fish/completions/broadloom.fish";

/// Writes completions.
pub fn run(args: &Args) -> Output {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "broadloom", &mut script);
    Output { stdout: String::from_utf8_lossy(&script).into_owned(), ..Output::new(Status::Fine) }
}
