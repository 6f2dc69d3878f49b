//! The `broadloom` command, without the terminal: arguments in, text and a status out.
//!
//! [`run`] is the whole command. [`process`] adds the process around it: real streams, and an exit status.
//!
//! ```
//! use broadloom_cli::{Console, Silent, Status, run};
//!
//! let mut stdin: &[u8] = b"data x : 32 | 784\nlet y = relu({w} @ x + {b : 64})\n";
//! let mut silent = Silent;
//! let mut console = Console::new(&mut stdin, &mut silent);
//! let output = run(["broadloom", "check", "-"], &mut console);
//! assert_eq!(output.status, Status::Fine);
//! assert!(output.stdout.contains("784 -> 64"));
//! ```

pub mod commands;
mod console;
mod data;
mod dims;
mod json;
mod log;
pub mod mesh;
mod output;
mod plot;
mod precision;
mod processes;
mod program;
mod progress;
mod streams;

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser, ValueEnum};

use commands::Command;
pub use console::{Console, Live, Look, Silent, Stop, Stream};
pub use output::{Output, Status};
pub use streams::process;

/// Broadloom infers the shapes of tensor programs, explains them, and runs the programs.
#[derive(Parser, Debug)]
#[command(name = "broadloom", version, max_term_width = 100, after_help = HELP, disable_help_subcommand = true)]
pub struct Cli {
    /// Use colours: auto, always or never; `auto` respects `NO_COLOR`
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    color: Color,
    #[command(subcommand)]
    command: Command,
}

/// The choice of whether to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

const HELP: &str = "\
Files:
  A program is a `.loom` file; `-` reads it from standard input.

Exit status:
  0    success
  1    the program has errors, or `fmt --check` found files to format
  2    a file or stream cannot be read or written, or the arguments are wrong
  3    a limit of the solver was reached
  130  interrupted; `run --save` has saved its values
  141  standard output was closed, as by `| head -1`

Example:
  printf 'data x : 32 | 784\\nlet y = relu({w} @ x + {b : 64})\\n' | broadloom check -";

/// Carries out a command. The first argument is the name of the program.
pub fn run<A: Into<OsString> + Clone>(
    arguments: impl IntoIterator<Item = A>,
    console: &mut Console<'_>,
) -> Output {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    match Cli::try_parse_from(&arguments) {
        Ok(cli) => {
            console.set_color(match cli.color {
                Color::Auto => None,
                Color::Always => Some(true),
                Color::Never => Some(false),
            });
            cli.command.run(console)
        }
        Err(refused) => {
            console.set_color(None);
            refusal(&advised(refused, &arguments), console)
        }
    }
}

/// Prints a refusal of clap. Help and versions are
/// answers, everything else is a mistake in the arguments.
fn refusal(refused: &clap::Error, console: &Console<'_>) -> Output {
    let show = |look: Look| match look.color {
        true => refused.render().ansi().to_string(),
        false => refused.render().to_string(),
    };
    match refused.use_stderr() {
        true => Output { stderr: show(console.stderr()), ..Output::new(Status::Unusable) },
        false => Output { stdout: show(console.stdout()), ..Output::new(Status::Fine) },
    }
}

/// A refusal with advice of our own, where that of clap leads nowhere.
fn advised(mut refused: clap::Error, arguments: &[OsString]) -> clap::Error {
    let context = |kind| match refused.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (command, option) = (context(ContextKind::InvalidSubcommand), context(ContextKind::InvalidArg));
    let is_idle = option.is_some_and(|option| is_inside_a_command(option, arguments));
    let advice = match (command, option) {
        (Some(file), _) if file.ends_with(".loom") => {
            Some(format!("write `broadloom run {file}`, or `broadloom check {file}`"))
        }
        (Some("train" | "exec" | "execute" | "start" | "eval"), _) => {
            Some("`broadloom run FILE` runs a program, including training (`minimise`)".to_string())
        }
        (None, Some("--batch" | "--batch-size" | "--bs")) => {
            Some("set sizes with `--set batch=16`; the program declares `dim batch = 32`".to_string())
        }
        (None, Some("--lr" | "--learning-rate" | "--rate")) => {
            Some("the rate is written in the program: `minimise loss by adam(0.001)`".to_string())
        }
        (None, Some("--epochs" | "--epoch" | "--steps" | "--iterations")) => Some(
            "the program says it: `dim steps = 100` and `repeat steps:`, which `--set steps=200` changes"
                .to_string(),
        ),
        _ => None,
    };
    match advice {
        Some(advice) => {
            refused.remove(ContextKind::SuggestedSubcommand);
            refused.remove(ContextKind::SuggestedArg);
            refused.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
        }
        // An option that does not exist is hardly ever meant as a value, which is all that clap suggests there.
        None if is_idle => {
            refused.remove(ContextKind::Suggested);
        }
        None => {}
    }
    refused
}

/// Returns true if an option stands behind the name of a command.
fn is_inside_a_command(option: &str, arguments: &[OsString]) -> bool {
    let cli = Cli::command();
    let before = arguments.iter().skip(1).take_while(|given| !given.to_string_lossy().starts_with(option));
    before.into_iter().any(|given| cli.find_subcommand(given).is_some())
}
