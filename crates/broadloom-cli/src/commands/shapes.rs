//! `broadloom shapes`: what is known of each shape after a line, though what follows may be wrong or missing.

use broadloom::PartialShape;
use broadloom_diagnostics::Diagnostic;
use broadloom_lang::{Made, Program};
use serde::Serialize;

use crate::console::{Console, Look};
use crate::dims::{self, DimData};
use crate::json::{self, JsonRows};
use crate::output::{Output, Status};
use crate::program::{Line, ProgramArgs, listed, status};
use crate::table::{Column, Table};

/// The arguments of `shapes`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// The last line that counts; the last of the program if nothing is said
    #[arg(long, value_name = "LINE", value_parser = clap::value_parser!(u32).range(1..))]
    at: Option<u32>,
    /// Also show what is made inside functions
    #[arg(long)]
    all: bool,
}

pub(crate) const HELP: &str = "\
Shapes grow with the program: `?` is an axis whose size is not known yet, `...` stands for axes of
which not even the number is. What is wrong after the line does not matter. `check` shows what
becomes of them in the end.

Exit status: 0 fine, 1 something is wrong up to the line, 2 the program cannot be read.

Example:
  $ printf 'data x : 32 | 784\\nlet y = {w} @ x\\nlet z = y + {b : 64}\\n' > layer.loom
  $ broadloom shapes layer.loom --at 2     # `w` is `..., 784 -> ...`
  $ broadloom shapes layer.loom --at 3     # `b` has told `z` its size";

/// Shows what is known after a line.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    let text = match args.program.read("shapes", console) {
        Ok(text) => text,
        Err(output) => return output,
    };
    let last = args.at.unwrap_or(u32::MAX);
    let program = args.program.compile(&text, Some(last));
    let diagnostics = before(&program, last);
    let params = program.graph.params();
    let rows: Vec<Row<'_>> = listed(&program, &params, args.all)
        .map(|made| Row { made, shape: program.graph.shape(made.tensor) })
        .collect();
    let mut output = Output::new(status(&diagnostics));
    if args.program.json {
        let tensors = rows.iter().map(|row| TensorData::new(&program, row)).collect();
        let data = Data { file: &text.name, at: args.at, dims: DimData::all(&program), tensors };
        output.stdout = json::object("shapes", &program.sources, &diagnostics, data);
        return output;
    }
    output.stderr = args.program.render(&program.sources, &diagnostics, console.stderr());
    output.stdout = people(&program, &rows, console.stdout());
    if rows.is_empty() && output.status == Status::Fine {
        output.stdout.push_str("nothing has a name yet\n");
    }
    output
}

/// A tensor and what is known of its shape.
struct Row<'p> {
    made: &'p Made,
    shape: PartialShape,
}

/// What is said of the lines up to the last one that counts.
fn before(program: &Program, last: u32) -> Vec<Diagnostic> {
    let counts = |diagnostic: &&Diagnostic| match diagnostic.primary() {
        Some(label) if label.span.source == program.main => program.sources.position(label.span).0 <= last,
        _ => true,
    };
    program.diagnostics.iter().filter(counts).cloned().collect()
}

fn people(program: &Program, rows: &[Row<'_>], look: Look) -> String {
    let mut table = Table::new([Column::name("tensor"), Column::new("shape so far"), Column::number("line")]);
    for Row { made, shape } in rows {
        let Line { file, line } = Line::new(&program.sources, made.span);
        let line = match made.span.source == program.main {
            true => line.to_string(),
            false => format!("{file}:{line}"),
        };
        table.row([made.name.clone(), shape.to_string(), line]);
    }
    if table.is_empty() { String::new() } else { dims::table(program, look) + &table.show(look) }
}

#[derive(Serialize)]
struct Data<'a> {
    file: &'a str,
    at: Option<u32>,
    dims: Vec<DimData<'a>>,
    tensors: Vec<TensorData<'a>>,
}

#[derive(Serialize)]
struct TensorData<'a> {
    name: &'a str,
    shape: String,
    rows: JsonRows,
    complete: bool,
    #[serde(flatten)]
    place: Line<'a>,
}

impl<'a> TensorData<'a> {
    fn new(program: &'a Program, row: &'a Row<'_>) -> TensorData<'a> {
        let open = |row: &broadloom::PartialRow| {
            row.open || row.lead.iter().chain(&row.trail).any(|axis| *axis == broadloom::PartialAxis::Unknown)
        };
        TensorData {
            name: &row.made.name,
            shape: row.shape.to_string(),
            rows: JsonRows::from(&row.shape),
            complete: !row.shape.rows.iter().any(open),
            place: Line::new(&program.sources, row.made.span),
        }
    }
}
