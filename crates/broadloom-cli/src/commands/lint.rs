//! `broadloom lint`: warnings and notes about programs without errors.

use broadloom_diagnostics::{Diagnostic, Paint, Severity, Sources};
use broadloom_ide::words::counted;
use broadloom_ide::{Analysis, lint};
use broadloom_lang::codes;
use serde::Serialize;

use crate::console::{Console, Look};
use crate::json;
use crate::output::{Output, Status};
use crate::program::{ProgramArgs, status};

/// The arguments of `lint`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// Fail on this code, even if it is only a note, or on any warning (`all`); may be repeated
    #[arg(long, value_name = "CODE", value_parser = denied)]
    deny: Vec<String>,
    /// Do not show notes
    #[arg(long)]
    quiet: bool,
}

pub(crate) const HELP: &str = "\
Codes:
  W0501  something broadcasts; a warning if operands broadcast into each other
  W0502  two parameters are only used together
  W0503  a shape that nothing forces
  W0504  something is not used; names that begin with `_` are exempt
  W0505  a label is in only one of several operands, and is summed alone
  W0506  a parameter that nothing minimised depends on; names that begin with `_` are exempt
  W0507  targets of another kind than the loss takes
  W0508  a number in the result of a spec, a position that looks like a size
  W0509  a name in the shape of data that is not the name of a size
  W0510  arguments in the order of another library: `layer_norm(64)` sets `epsilon`
  W0511  a composition that contracts nothing: `x @ {w}`, `x @ x.T`
  W0512  a name or a layer that is new in each iteration of `for`
  W0513  an argument that fits but is probably wrong: `softmax` before `cross_entropy`
  W0514  weights in a file that nothing uses
  W0515  an interface that is older than its module
  W0516  a loss that is computed from a gradient, through which no gradient goes back

`broadloom check` also shows the warnings W0501 and all from W0505 on. A comment `# allow W0505` on the
line, or above it, accepts one.

Warnings are shown in full. Notes, such as each place where a bias broadcasts, have one line each.

Exit status: 0 success, 1 the program has errors or a code that is denied, 2 it cannot be read.

Example:
  $ broadloom lint mlp.loom --deny all";

/// Parses a code, or `all`.
fn denied(text: &str) -> Result<String, String> {
    let known = || codes::ALL.iter().map(|(code, _)| *code).filter(|code| code.starts_with('W'));
    let wanted = text.to_uppercase();
    if text == "all" || known().any(|code| code == wanted) {
        return Ok(if text == "all" { text.into() } else { wanted });
    }
    Err(format!("there are {} and `all`", known().collect::<Vec<_>>().join(", ")))
}

/// Reports warnings and notes.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    let text = match args.program.read("lint", console) {
        Ok(text) => text,
        Err(output) => return output,
    };
    let mut analysis = Analysis::new(&text);
    let found = lint(&mut analysis);
    let mut output = Output::new(status(analysis.diagnostics()));
    if found.iter().any(|diagnostic| args.denies(diagnostic)) {
        output.status = output.status.max(Status::Wrong);
    }
    let all: Vec<Diagnostic> = analysis.diagnostics().iter().chain(&found).cloned().collect();
    if args.program.json {
        output.stdout = json::object("lint", analysis.sources(), &all, Data { file: &text.name });
        return output;
    }
    output.stderr = args.program.render(analysis.sources(), analysis.diagnostics(), console.stderr());
    if analysis.is_ok() {
        output.stdout = text_of(args, analysis.sources(), &found, console.stdout());
    }
    output
}

impl Args {
    fn denies(&self, diagnostic: &Diagnostic) -> bool {
        let denies = |code: &String| match code.as_str() {
            "all" => diagnostic.severity >= Severity::Warning,
            code => code == diagnostic.code,
        };
        self.deny.iter().any(denies)
    }
}

fn text_of(args: &Args, sources: &Sources, found: &[Diagnostic], look: Look) -> String {
    let in_full =
        |diagnostic: &&Diagnostic| diagnostic.severity >= Severity::Warning || args.denies(diagnostic);
    let shown: Vec<Diagnostic> = found.iter().filter(in_full).cloned().collect();
    let notes: Vec<&Diagnostic> = found.iter().filter(|diagnostic| !in_full(diagnostic)).collect();
    let mut out = args.program.render(sources, &shown, look);
    if !args.quiet {
        for note in &notes {
            out.push_str(&one_line(sources, note, look));
        }
    }
    if found.is_empty() {
        out.push_str("nothing to say\n");
    } else if shown.is_empty() && args.quiet {
        out.push_str(&format!("no warnings, {}\n", counted(notes.len() as u64, "note")));
    }
    out
}

#[derive(Serialize)]
struct Data<'a> {
    file: &'a str,
}

/// `mlp.loom:3:9: note[W0501]: …`
fn one_line(sources: &Sources, note: &Diagnostic, look: Look) -> String {
    let label = note.primary();
    let place = label.map_or(String::new(), |label| {
        let (line, column) = sources.position(label.span);
        format!("{}:{line}:{column}: ", sources.get(label.span.source).name())
    });
    let head = look.paint(Paint::Strong, &format!("note[{}]", note.code));
    let label = label.map(|label| label.text.as_str()).filter(|text| !text.is_empty());
    let details: Vec<&str> = label.into_iter().chain(note.notes.iter().map(String::as_str)).collect();
    let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join("; ")) };
    format!("{place}{head}: {}{}\n", note.message, look.paint(Paint::Faint, &details))
}
