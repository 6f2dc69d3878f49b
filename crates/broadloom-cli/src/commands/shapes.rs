//! `broadloom shapes`: the shapes as known after a line, even if the lines after it have mistakes
//! or are missing.

use broadloom_diagnostics::{Column, Table};
use broadloom_ide::{Analysis, Listing, SoFar, shapes};

use crate::console::{Console, Look};
use crate::dims;
use crate::json;
use crate::output::{Output, Status};
use crate::program::{ProgramArgs, at_least_one, status};

/// The arguments of `shapes`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// Last line to read (default: the last line of the program)
    #[arg(long, value_name = "LINE", value_parser = at_least_one::<u32>)]
    at: Option<u32>,
    /// Also show tensors that are made inside functions
    #[arg(long)]
    all: bool,
}

pub(crate) const HELP: &str = "\
Shapes become known as the program is read: `?` is an axis whose size is not known yet, `...` stands
for axes whose number is not known yet. Errors after the line are ignored. `check` shows the final
shapes.

Exit status: 0 success, 1 there are errors up to the line, 2 the program cannot be read.

Example:
  $ printf 'data x : 32 | 784\\nlet y = {w} @ x\\nlet z = y + {b : 64}\\n' > layer.loom
  $ broadloom shapes layer.loom --at 2     # `w` is `..., 784 -> ...`
  $ broadloom shapes layer.loom --at 3     # `z` gets its size from `b`";

/// Shows the shapes as known after a line.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    let text = match args.program.read("shapes", console) {
        Ok(text) => text,
        Err(output) => return output,
    };
    let analysis = Analysis::up_to(&text, args.at);
    let so_far = shapes(&analysis, if args.all { Listing::All } else { Listing::Own });
    let mut output = Output::new(status(&so_far.diagnostics));
    if args.program.json {
        output.stdout = json::object("shapes", analysis.sources(), &so_far.diagnostics, &so_far);
        return output;
    }
    output.stderr = args.program.render(analysis.sources(), &so_far.diagnostics, console.stderr());
    output.stdout = text_of(&analysis, &so_far, console.stdout());
    if so_far.tensors.is_empty() && output.status == Status::Fine {
        output.stdout.push_str("nothing has a name yet\n");
    }
    output
}

fn text_of(analysis: &Analysis, so_far: &SoFar, look: Look) -> String {
    let mut table = Table::new([Column::name("tensor"), Column::new("shape so far"), Column::number("line")]);
    for tensor in &so_far.tensors {
        let line = match tensor.span.source == analysis.program.main {
            true => tensor.place.line.to_string(),
            false => format!("{}:{}", tensor.place.file, tensor.place.line),
        };
        table.row([tensor.name.clone(), tensor.shape.clone(), line]);
    }
    if table.is_empty() { String::new() } else { dims::table(&so_far.dims, look) + &look.table(&table) }
}
