//! `broadloom graph`: a picture of the tensors and operations of a program.

use std::path::PathBuf;

use broadloom::files::write_text;
use broadloom_ide::{Analysis, GraphOf, NoPicture, graph};

use crate::console::Console;
use crate::json;
use crate::output::{Output, Status};
use crate::program::{ProgramArgs, overwrites, shown_path, status, unusable};

/// The arguments of `graph`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// Output file (default: standard output)
    #[arg(short, long, value_name = "FILE.svg")]
    output: Option<PathBuf>,
    /// Also draw the operations inside library functions
    #[arg(long)]
    all: bool,
    /// Draw only what this tensor is computed from
    #[arg(long, value_name = "NAME")]
    of: Option<String>,
    /// Number of operations to follow back from that tensor
    #[arg(long, value_name = "N", requires = "of")]
    depth: Option<usize>,
}

pub(crate) const HELP: &str = "\
The picture is SVG. Data has square corners, parameters are round, operations are boxes with their source text, and each edge has
the shape of its tensor. An application of a library function is one box, with its parameters; a function of the program is a
frame around its operations. Operations that only train the model are left out.

Exit status: 0 success, 1 the program has errors, 2 it cannot be read, or is too large for one picture.

Example:
  $ printf 'data x : 32 | 784\\nlet y = x |> linear(64) |> relu |> linear(10)\\n' > mlp.loom
  $ broadloom graph mlp.loom -o mlp.svg";

/// Draws a program.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    let text = match args.program.read("graph", console) {
        Ok(text) => text,
        Err(output) => return output,
    };
    let mut analysis = Analysis::new(&text);
    let of = GraphOf { all: args.all, of: args.of.clone(), depth: args.depth };
    let picture = match graph(&mut analysis, &of) {
        Ok(picture) => picture,
        Err(none) => return unusable("graph", refused(none), args.program.json),
    };
    let mut output = Output::new(status(analysis.diagnostics()));
    if args.program.json {
        output.stdout = json::object("graph", analysis.sources(), analysis.diagnostics(), &picture);
        return output;
    }
    output.stderr = args.program.render(analysis.sources(), analysis.diagnostics(), console.stderr());
    if output.status != Status::Fine {
        return output;
    }
    let program = [args.program.file.as_path()];
    if let Some(message) = args.output.as_deref().and_then(|output| overwrites(output, program)) {
        return unusable("graph", message, false);
    }
    let svg = picture.svg(&text.name);
    match &args.output {
        None => output.stdout = svg,
        Some(file) => {
            if let Err(error) = write_text(file, &svg) {
                return unusable("graph", format!("cannot write {}: {error}", shown_path(file)), false);
            }
        }
    }
    output
}

/// The reason why there is no picture, with advice.
fn refused(none: NoPicture) -> String {
    match none {
        NoPicture::Unknown(message) => message,
        NoPicture::TooLarge { boxes, most } => {
            let advice = "draw what some tensor is computed from: --of NAME --depth 20";
            format!("a picture of {boxes} boxes is too large, {most} can be drawn; {advice}")
        }
    }
}
