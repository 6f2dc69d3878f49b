//! `broadloom explain`: the reason for the size of an axis, from the line that gives it to the
//! tensor in question.

use broadloom_diagnostics::Paint;
use broadloom_ide::{Analysis, Explanation, FunctionSignature, Text, explain, of_language, signatures};
use broadloom_lang::Asked;

use crate::console::{Console, Look};
use crate::json;
use crate::output::{Output, Status};
use crate::program::{ProgramArgs, status, unusable};

/// Lines are cut to this width where the width of the terminal is not known.
const WIDTH: usize = 100;

/// The arguments of `explain`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// A tensor, row or axis (`w`, `w.input`, `w.input.0`, `w.n`), a `dim`, or a function
    name: String,
}

pub(crate) const HELP: &str = "\
An axis is written as its row and its place there, from 0 (`w.input.0`, `y.output.1`), as its place
among all axes of the shape (`x.0`), or by its name in the spec or shape that made the tensor
(`scores.h`). For a row, the number of its axes is explained as well; for a tensor, all its axes are.
For a `dim`, the possible sizes are shown, and what relies on them. For a function, also one of the
library, its signature is shown; it may be written with its configuration: `attention(8)`.

Code underlined with `-` leads to the code underlined with `^`. A size is forced if the program allows
no other; otherwise it was chosen when the program was closed, by the rule that is shown.

Exit status: 0 success, 1 the program has errors, 2 it cannot be read or has no such axis.

Example:
  $ printf 'data x : 32 | 784\\nlet y = {w} @ x + {b : 64}\\n' | broadloom explain - w.input.0
  w.input.0 is 784, forced
  1 | data x : 32 | 784
    |      - the output axis of `x`, declared `32 | 784`
  2 | let y = {w} @ x + {b : 64}
    |         ------- `w @ x`: contracts the input of `w` with the output of `x`
    |          ^ so `w` is `784 -> 64`";

/// Explains an axis, a row, or all of a tensor.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    let text = match args.program.read("explain", console) {
        Ok(text) => text,
        Err(output) => return output,
    };
    let mut analysis = Analysis::new(&text);
    let explained = match explain(&mut analysis, &args.name) {
        Ok(explained) if explained.explanations.is_empty() => match signed(args, &text, console) {
            Some(output) => return output,
            None => explained,
        },
        Ok(explained) => explained,
        Err(message) => match signed(args, &text, console) {
            Some(output) => return output,
            None => return unusable("explain", message, args.program.json),
        },
    };
    let mut output = Output::new(status(analysis.diagnostics()));
    if args.program.json {
        output.stdout = json::object("explain", analysis.sources(), analysis.diagnostics(), &explained);
        return output;
    }
    output.stderr = args.program.render(analysis.sources(), analysis.diagnostics(), console.stderr());
    let look = console.stdout();
    let texts: Vec<String> =
        explained.explanations.iter().map(|answer| text_of(&analysis, answer, look)).collect();
    output.stdout = texts.join("\n");
    if explained.left_out > 0 {
        let count = explained.left_out;
        let axes = if count == 1 { "1 more axis".to_string() } else { format!("{count} more axes") };
        output
            .stdout
            .push_str(&format!("\n{axes}: ask for one by its place, such as `{}.0`\n", explained.name));
    }
    output
}

/// Explains a function by its signature, if one is meant, or one of the language by what it gives.
fn signed(args: &Args, text: &Text, console: &mut Console<'_>) -> Option<Output> {
    if let Some((call, about)) = of_language(&args.name).filter(|_| !args.program.json) {
        return Some(Output { stdout: format!("{call}\n  {about}\n"), ..Output::new(Status::Fine) });
    }
    let found = signatures(text, &Asked::One(args.name.clone()));
    // What is written like a call can only be a function: what is wrong with it is worth saying.
    if found.answer.signatures.is_empty() && !args.name.contains('(') {
        return None;
    }
    let mut output = Output::new(status(&found.diagnostics));
    if args.program.json {
        output.stdout = json::object("explain", &found.sources, &found.diagnostics, &found.answer);
        return Some(output);
    }
    output.stderr = args.program.render(&found.sources, &found.diagnostics, console.stderr());
    output.stdout = found.answer.signatures.iter().map(FunctionSignature::with_uses).collect();
    Some(output)
}

/// An explanation along the lines of the program.
pub fn text_of(analysis: &Analysis, answer: &Explanation, look: Look) -> String {
    let mut out = format!("{} {}\n", look.paint(Paint::Strong, &answer.of), answer.is);
    out.push_str(&answer.render(analysis, look.columns.unwrap_or(WIDTH), look.color));
    out
}
