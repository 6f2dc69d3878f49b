//! The `broadloom` command.

use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use broadloom_cli::solve::{self, Options, Status};
use broadloom_diagnostics::decode;
use clap::{Parser, Subcommand};

/// Broadloom infers the shapes of tensor programs and explains them.
#[derive(Parser)]
#[command(version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Solve a system of dimension and row constraints
    #[command(after_help = SOLVE_HELP)]
    Solve {
        /// The `.rows` file, or `-` for standard input
        file: PathBuf,
        /// Print one JSON object instead of a table
        #[arg(long)]
        json: bool,
        /// Print the chain of lines and policies that fixed a variable; may be repeated
        #[arg(long, value_name = "VAR")]
        explain: Vec<String>,
        /// Failed branches after which the search gives up
        #[arg(long, value_name = "N", default_value_t = broadloom_core::Budget::default().branches)]
        branches: u64,
    },
}

const SOLVE_HELP: &str = "\
The format, one statement a line:
  leaf a, ..r..            tags: leaf closes to its bound, param must be determined;
  param w                  untagged variables are interior and close to the unit
  a = 3                    two dimensions are the same
  3 <= a                   the result refines the operand: equal, or the operand is `_`
  [..r.., 4] ~ [3, 5, 4]   two rows have the same axes
  [..r..] <= [3, <>, 4]    the result row refines the operand, which broadcasts at `<>`

  Dimensions are `3`, `3:rgb` (with a basis), `_` (the unit, which broadcasts) or a name.
  Rows hold at most one `..name..` (any number of axes) or `<>` (the marker).

Exit status: 0 solved, 1 unsatisfiable or underdetermined, 2 malformed input, 3 gave up.

Example:
  printf '[..r..] ~ [3, 5]\\n[3, <>, 9, 5] <= [..r..]\\n' | broadloom solve - --explain r";

fn main() -> ExitCode {
    let Cli { command } = Cli::parse();
    match command {
        Command::Solve { file, json, explain, branches } => {
            let name = if file.as_os_str() == "-" { "<stdin>".into() } else { file.display().to_string() };
            let text = match read(&file).map_err(|error| format!("error: cannot read {name}: {error}\n")) {
                Ok(bytes) => decode(bytes).map_err(|error| error.render(&name)),
                Err(message) => Err(message),
            };
            let text = match text {
                Ok(text) => text,
                Err(message) => {
                    let _ = std::io::stderr().write_all(message.as_bytes());
                    return ExitCode::from(Status::Malformed.code());
                }
            };
            let color = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            let output = solve::run(&name, &text, &Options { json, explain, branches, color });
            // A closed pipe is the reader's choice, not an error.
            let _ = std::io::stderr().write_all(output.stderr.as_bytes());
            let _ = std::io::stdout().lock().write_all(output.stdout.as_bytes());
            ExitCode::from(output.status.code())
        }
    }
}

fn read(file: &PathBuf) -> std::io::Result<Vec<u8>> {
    if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes)?;
        Ok(bytes)
    } else {
        std::fs::read(file)
    }
}
