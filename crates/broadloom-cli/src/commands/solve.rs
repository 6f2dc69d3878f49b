//! `broadloom solve`: solves a system of constraints without a program. The work is done in
//! [`broadloom_rows::solve`].

use std::path::PathBuf;

use broadloom_diagnostics::Sources;
use broadloom_rows::solve::{self, SolveOptions};
use serde::Serialize;

use crate::console::Console;
use crate::json;
use crate::output::{Output, Status};
use crate::program::{read, unusable_with};

/// The arguments of `solve`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// The `.rows` file, or `-` for standard input
    file: PathBuf,
    /// Print a JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Print the chain of lines and policies that fixed a variable; may be repeated
    #[arg(long, value_name = "VAR")]
    explain: Vec<String>,
    /// Number of failed branches after which the search gives up
    #[arg(long, value_name = "N", default_value_t = broadloom_core::Budget::default().branches)]
    branches: u64,
}

pub(crate) const HELP: &str = "\
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

/// Solves a system.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    let text = match read(&args.file, console) {
        Ok(text) => text,
        Err(why) => {
            let unread = Unread { status: solve::Status::Malformed.name() };
            return unusable_with("solve", why, args.json, unread);
        }
    };
    let options = SolveOptions {
        json: args.json,
        explain: args.explain.clone(),
        branches: args.branches,
        color: console.stderr().color,
    };
    let name = &text.name;
    if args.json {
        let solved = solve::solve(name, &text.text, &options);
        let sources = Sources::one(name, &text.text);
        let stdout = json::object("solve", &sources, &solved.diagnostics, solved.answer);
        return Output { stdout, stderr: String::new(), status: exit(solved.status) };
    }
    let solved = solve::run(name, &text.text, &options);
    Output { stdout: solved.stdout, stderr: solved.stderr, status: exit(solved.status) }
}

fn exit(status: solve::Status) -> Status {
    match status {
        solve::Status::Solved => Status::Fine,
        solve::Status::Unsatisfiable | solve::Status::Underdetermined => Status::Wrong,
        solve::Status::Malformed => Status::Unusable,
        solve::Status::GaveUp => Status::GaveUp,
    }
}

/// The answer for a file that cannot be read: the same as for one that does not parse.
#[derive(Serialize)]
struct Unread {
    status: &'static str,
}
