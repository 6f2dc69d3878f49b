//! `broadloom loops`: the loop nests of a program, as they are derived from its shapes, or as they run.

use broadloom_diagnostics::{Paint, escaped};
use broadloom_ide::{Analysis, Loops, LoopsOf, OptimisedRoutine, loops, optimised};

use crate::console::{Console, Look};
use crate::json;
use crate::output::Output;
use crate::program::{ProgramArgs, status, unusable};

/// The arguments of `loops`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// Show only the operation of this tensor, and unnamed ones that it is made of
    name: Option<String>,
    /// Also show the operations inside library functions
    #[arg(long, conflicts_with = "name")]
    all: bool,
    /// Leave out the gradients
    #[arg(long)]
    forward: bool,
    /// Show the routines as they run, after optimisation
    #[arg(long, conflicts_with_all = ["name", "all", "forward"])]
    optimised: bool,
}

pub(crate) const HELP: &str = "\
Each operation is shown with its rules, the axes that share a loop, the product space of its loops, the index of each tensor,
and the loops. A loop that the result's index does not mention is a reduction. The backward loops use the same index maps, for
the gradient of each operand that leads to a parameter. Assignments come last, in the order of their execution.

Exit status: 0 success, 1 the program has errors, 2 it cannot be read or has no such tensor.

Example:
  $ printf 'data x : 32 | 784\\nlet y = {w : ... -> 10} @ x\\n' | broadloom loops - y
  <stdin>:2: let y = {w : ... -> 10} @ x

  y = w @ x
    rule input of w ⊑ output of x
    ...
    forward
      for i in 0..32
        for j in 0..10
          for k in 0..784
            y[i, j] += w[j, k] * x[i, k]
    backward
      for j in 0..10
        for k in 0..784
          for i in 0..32
            w.grad[j, k] += y.grad[i, j] * x[i, k]";

/// Shows loop nests.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    let text = match args.program.read("loops", console) {
        Ok(text) => text,
        Err(output) => return output,
    };
    let mut analysis = Analysis::new(&text);
    let (all, forward_only, as_data) = (args.all, args.forward, args.program.json);
    let of = LoopsOf { name: args.name.clone(), all, forward_only, as_data };
    let found = if args.optimised { optimised(&analysis) } else { loops(&mut analysis, &of) };
    let found = match found {
        Ok(found) => found,
        Err(message) => return unusable("loops", message, args.program.json),
    };
    let mut output = Output::new(status(analysis.diagnostics()));
    if args.program.json {
        output.stdout = json::object("loops", analysis.sources(), analysis.diagnostics(), &found);
        return output;
    }
    output.stderr = args.program.render(analysis.sources(), analysis.diagnostics(), console.stderr());
    let look = console.stdout();
    output.stdout = text_of(&analysis, &found, look);
    for OptimisedRoutine { name, text, .. } in &found.routines {
        let gap = if output.stdout.is_empty() { "" } else { "\n" };
        output
            .stdout
            .push_str(&format!("{gap}{}\n{text}", look.paint(Paint::Strong, &format!("routine {name}"))));
    }
    if found.hidden > 0 {
        let operations = if found.hidden == 1 { "operation" } else { "operations" };
        output.stderr.push_str(&format!(
            "{} more {operations} inside functions of the library: --all shows them\n",
            found.hidden
        ));
    }
    output
}

/// Loop nests, below the lines of the program that they come from.
pub fn text_of(analysis: &Analysis, found: &Loops, look: Look) -> String {
    let mut out = String::new();
    let mut last = None;
    for nest in &found.operations {
        let place = nest.span.map(|span| {
            let source = analysis.sources().get(span.source);
            (source.name(), source.line_of(span.start), source.line(source.line_of(span.start)).trim())
        });
        if !out.is_empty() {
            out.push('\n');
        }
        if let Some((name, line, text)) = place.filter(|place| last.replace(*place) != Some(*place)) {
            out.push_str(&look.paint(Paint::Faint, &escaped(&format!("{name}:{line}: {text}"))));
            out.push_str("\n\n");
        }
        out.push_str(&look.paint(Paint::Strong, &nest.text));
        out.push('\n');
        for fact in &nest.facts {
            out.push_str(&format!("  {fact}\n"));
        }
        let mut part = |head: &str, text: &str| {
            out.push_str(&format!("  {}\n", look.paint(Paint::Faint, head)));
            text.lines().for_each(|line| out.push_str(&format!("    {line}\n")));
        };
        part(if nest.facts.is_empty() { "assignment" } else { "forward" }, &nest.forward);
        if !nest.backward.is_empty() {
            part("backward", &nest.backward.concat());
        }
    }
    out
}
