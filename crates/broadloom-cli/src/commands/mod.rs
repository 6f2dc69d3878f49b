//! The commands, one module each. A module has its arguments (`Args`) and a function `run` that
//! takes these and the [console](Console), and returns an [`Output`].
//!
//! | command | module | answers |
//! |---|---|---|
//! | `check` | [`check`] | what shape is everything, and is anything wrong? |
//! | `shapes` | [`shapes`] | what is known after this line? |
//! | `explain` | [`explain`] | why has this axis this size? |
//! | `run` | [`run`] | what does it compute? |
//! | `fmt` | [`fmt`] | how is it written well? |
//! | `loops` | [`loops`] | how is it computed? |
//! | `graph` | [`graph`] | what does it look like? |
//! | `memory` | [`memory`] | how much memory does it need? |
//! | `verify` | [`verify`] | do these arrays fit it? |
//! | `lint` | [`lint`] | what is worth a look? |
//! | `emit` | [`emit`] | how do other programs read it? |
//! | `highlight` | [`highlight`] | how does it look in a document? |
//! | `cache` | [`cache`] | what is kept of compiled programs? |
//! | `tour` | [`tour`] | what is all this? |
//! | `solve` | [`solve`] | what solves these constraints? |
//! | `lsp` | [`lsp`] | how does an editor ask all this? |
//! | `completions` | [`completions`] | how does my shell complete all this? |
//!
//! *To add one*: a module, a line above, a variant of [`Command`] and its arm in [`Command::run`]; the definition of its
//! JSON in `docs/schema.json`, and a golden output in `tests/golden`.

pub mod cache;
pub mod check;
pub mod completions;
pub mod emit;
pub mod explain;
pub mod fmt;
pub mod graph;
pub mod highlight;
pub mod lint;
pub mod loops;
pub mod lsp;
pub mod memory;
pub mod run;
pub mod shapes;
pub mod solve;
pub mod tour;
pub mod verify;

use clap::Subcommand;

use crate::console::Console;
use crate::output::Output;

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Show what Broadloom does, on a small example
    #[command(after_help = tour::HELP)]
    Tour(tour::Args),
    /// Infer and show all shapes, or report errors
    #[command(after_help = check::HELP)]
    Check(check::Args),
    /// Show the shapes that are known after a line
    #[command(after_help = shapes::HELP)]
    Shapes(shapes::Args),
    /// Explain why an axis has its size
    #[command(after_help = explain::HELP)]
    Explain(explain::Args),
    /// Run a program
    #[command(after_help = run::HELP)]
    Run(run::Args),
    /// Format programs
    #[command(after_help = fmt::HELP)]
    Fmt(fmt::Args),
    /// Show the loop nests of a program
    #[command(after_help = loops::HELP)]
    Loops(loops::Args),
    /// Draw the graph of a program
    #[command(after_help = graph::HELP)]
    Graph(graph::Args),
    /// Report how much memory a program needs
    #[command(after_help = memory::HELP)]
    Memory(memory::Args),
    /// Check arrays against a program before it runs
    #[command(after_help = verify::HELP)]
    Verify(verify::Args),
    /// Report suspicious code
    #[command(after_help = lint::HELP)]
    Lint(lint::Args),
    /// Export a program as MLIR, StableHLO, C, Lean or JSON
    #[command(after_help = emit::HELP)]
    Emit(emit::Args),
    /// Print a program as HTML with colours, for documents
    #[command(after_help = highlight::HELP)]
    Highlight(highlight::Args),
    /// Solve a system of dimension and row constraints
    #[command(after_help = solve::HELP)]
    Solve(solve::Args),
    /// Show or clear the cache of compiled programs
    #[command(after_help = cache::HELP)]
    Cache(cache::Args),
    /// Start the language server for an editor
    #[command(after_help = lsp::HELP)]
    Lsp(lsp::Args),
    /// Print completions for a shell
    #[command(after_help = completions::HELP)]
    Completions(completions::Args),
}

impl Command {
    /// Carries out the command.
    pub fn run(self, console: &mut Console<'_>) -> Output {
        match self {
            Command::Tour(args) => tour::run(&args, console),
            Command::Check(args) => check::run(&args, console),
            Command::Shapes(args) => shapes::run(&args, console),
            Command::Explain(args) => explain::run(&args, console),
            Command::Run(args) => run::run(&args, console),
            Command::Fmt(args) => fmt::run(&args, console),
            Command::Loops(args) => loops::run(&args, console),
            Command::Graph(args) => graph::run(&args, console),
            Command::Memory(args) => memory::run(&args, console),
            Command::Verify(args) => verify::run(&args, console),
            Command::Lint(args) => lint::run(&args, console),
            Command::Emit(args) => emit::run(&args, console),
            Command::Highlight(args) => highlight::run(&args, console),
            Command::Solve(args) => solve::run(&args, console),
            Command::Cache(args) => cache::run(&args),
            Command::Lsp(args) => lsp::run(&args),
            Command::Completions(args) => completions::run(&args),
        }
    }
}
