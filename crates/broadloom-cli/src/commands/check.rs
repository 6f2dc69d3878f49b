//! `broadloom check`: all shapes in a table, or the mistakes.

use std::path::PathBuf;
use std::time::Instant;

use broadloom_diagnostics::{Column, Table};
use broadloom_ide::words::{counted, grouped};
use broadloom_ide::{
    Analysis, Checked, FunctionSignature, Listing, MeshTable, Text, check, meshed, signatures,
};
use broadloom_lang::Asked;
use serde::Serialize;

use crate::console::{Console, Look};
use crate::dims;
use crate::json;
use crate::mesh::{self, MeshArgs};
use crate::output::{Output, Status};
use crate::program::{ProgramArgs, status, unusable};

/// The arguments of `check`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// Also show tensors that are made inside functions
    #[arg(long)]
    all: bool,
    /// Show the signatures of the program's functions instead of the table of shapes
    #[arg(long)]
    signatures: bool,
    /// Check `load(into = …)` against the header of this `.safetensors` file
    #[arg(long, value_name = "FILE")]
    load: Option<PathBuf>,
    /// Report the time and the amount of work that it took
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    mesh: MeshArgs,
}

impl Args {
    /// The hint where tensors are that are not listed.
    fn others(&self) -> Option<&'static str> {
        (!self.all).then_some("--all lists them")
    }
}

pub(crate) const HELP: &str = "\
A shape is written `batch | input -> output`: `32 | 784` is a batch of 32 vectors, `784 -> 64` a
linear map. An axis that claims no size and broadcasts is `_`.

How a shape is known:
  declared       the program states it
  inferred       it follows from the program
  anything else  the rule by which it was chosen

`--signatures` shows the shapes of functions over variables: `..b..` is any number of axes, any other
name is one size, and `where` lists the conditions on the sizes. A function that waits for its configuration is
shown with those that the program applies it with.

`--mesh` shows how the program is divided over devices, instead of the table of shapes: `8/data` is an axis of size 8, divided
over the mesh axis `data`. Axes that an operation indexes by the same loop are divided alike, so naming one of them is enough. A
bare label must name a single axis; `*` stands for any text. A tensor with two such axes is divided at the one that is named by
its place. The `bytes` of a transfer are those that each device has afterwards.

A program can name its devices itself, by `mesh(data = 4, shard = [\"batch=data\"])`: its division is shown below the table of shapes.
`--mesh` replaces the axes of that mesh, `--shard` adds a rule or replaces one for the same axes, `--fsdp` replaces its axis, and
`--mesh none` leaves it out.

Warnings point out code that may not compute what was meant; `broadloom lint` shows more of them, and
`broadloom lint --help` lists them all. A comment `# allow W0505` on the line, or above it, accepts one.

Exit status: 0 success or only warnings, 1 the program has errors, 2 it cannot be read, 3 a limit of the solver was reached.

Example:
  $ cat mlp.loom
  dim hidden = 64
  data x : 32 | 784
  let y = {w2 : ... -> 10} @ relu({w1} @ x + {b : hidden})
  $ broadloom check mlp.loom --set hidden=128
  $ broadloom check mlp.loom --mesh data=4,model=2 --shard 'x[batch, 0]=data' --shard w1.output.0=model";

/// Checks a program.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    let text = match args.program.read("check", console) {
        Ok(text) => Text { load: args.load.clone(), ..text },
        Err(output) => return output,
    };
    if args.signatures {
        return signed(args, &text, console);
    }
    if args.mesh.is_given() {
        return divided(args, &text, console);
    }
    let start = Instant::now();
    let mut analysis = Analysis::new(&text);
    // `--mesh none` leaves out what the program itself says about devices.
    let is_divided = matches!(args.mesh.on(&analysis.program), Ok(Some(on)) if !on.mesh.axes.is_empty());
    let mut checked = check(&mut analysis, if args.all { Listing::All } else { Listing::Own });
    let mut own = None;
    if is_divided && status(&checked.diagnostics) == Status::Fine {
        // Read again: shapes are shown with sizes as numbers, and what is divided is the program that runs, where they are open.
        let found = meshed(&mut Analysis::open(&text), None);
        let new = found.diagnostics.into_iter().filter(|found| !checked.diagnostics.contains(found));
        checked.diagnostics.extend(new.collect::<Vec<_>>());
        own = found.mesh;
    }
    let seconds = start.elapsed().as_secs_f64();
    let status = status(&checked.diagnostics);
    let mut output = Output::new(status);
    if args.program.json {
        let data = Data { checked: &checked, mesh: own.as_ref(), seconds: args.verbose.then_some(seconds) };
        output.stdout = json::object("check", analysis.sources(), &checked.diagnostics, data);
        return output;
    }
    output.stderr = args.program.render(analysis.sources(), &checked.diagnostics, console.stderr());
    if status == Status::Fine {
        output.stdout = text_of(&checked, console.stdout());
        if let Some(table) = &own {
            output.stdout.push_str(&format!("\n{}", mesh::text_of(table, args.others(), console.stdout())));
        }
    }
    if args.verbose {
        let stats = analysis.program.graph.stats();
        let (tensors, constraints) =
            (counted(stats.tensors as u64, "tensor"), counted(stats.constraints as u64, "constraint"));
        output.stderr.push_str(&format!(
            "{tensors}, {constraints}, {} of the solver, {:.1} ms\n",
            counted(stats.steps, "step"),
            seconds * 1e3
        ));
    }
    output
}

/// Checks a program, and shows the signatures of its functions.
fn signed(args: &Args, text: &Text, console: &mut Console<'_>) -> Output {
    let analysis = Analysis::new(text);
    let diagnostics = analysis.diagnostics();
    let found = signatures(text, &Asked::Own);
    let mut output = Output::new(status(diagnostics));
    if args.program.json {
        output.stdout = json::object("check", analysis.sources(), diagnostics, &found.answer);
        return output;
    }
    output.stderr = args.program.render(analysis.sources(), diagnostics, console.stderr());
    let all: Vec<String> = found.answer.signatures.iter().map(FunctionSignature::with_uses).collect();
    output.stdout = match all.is_empty() {
        true => "the program defines no functions\n".into(),
        false => all.join("\n"),
    };
    output
}

/// Checks a program, and shows how it is divided over the devices that the arguments ask for.
fn divided(args: &Args, text: &Text, console: &mut Console<'_>) -> Output {
    let mut analysis = Analysis::open(text);
    let on = match args.mesh.on(&analysis.program) {
        Ok(on) => on,
        Err(message) => return unusable("check", message, args.program.json),
    };
    let found = meshed(&mut analysis, on.as_ref());
    let mut output = Output::new(status(&found.diagnostics));
    if args.program.json {
        output.stdout = json::object("check", analysis.sources(), &found.diagnostics, &found);
        return output;
    }
    output.stderr = args.program.render(analysis.sources(), &found.diagnostics, console.stderr());
    if let Some(table) = &found.mesh {
        output.stdout = mesh::text_of(table, args.others(), console.stdout());
    }
    output
}

/// The shapes of a program, as a table for people.
pub fn text_of(checked: &Checked, look: Look) -> String {
    let Parts { dims, table, end } = parts_of(checked, look);
    dims + &table + &end
}

/// The parts of the text about the shapes of a program. Lines end with a newline, and there are blank lines between parts.
pub struct Parts {
    /// The named sizes, if there are any.
    pub dims: String,
    /// The tensors.
    pub table: String,
    /// The parameters, and the conditions that the program relies on.
    pub end: String,
}

/// The shapes of a program, part by part.
pub fn parts_of(checked: &Checked, look: Look) -> Parts {
    let dims = dims::table(&checked.dims, look);
    let mut table = Table::new([
        Column::name("tensor"),
        Column::new("shape"),
        Column::number("elements"),
        Column::faint("how it is known"),
    ]);
    for tensor in &checked.tensors {
        let Some(elements) = tensor.elements else { continue };
        let how = tensor.how_words().to_string();
        table.row([tensor.name.clone(), tensor.shape.clone(), grouped(elements), how]);
    }
    if table.is_empty() {
        return Parts { dims, table: "there are no tensors with names yet\n".into(), end: String::new() };
    }
    let mut end = String::new();
    let params = checked.parameters;
    if let Some(elements) = params.elements.filter(|_| params.tensors > 0) {
        let (tensors, elements) = (counted(params.tensors, "parameter"), counted(elements, "element"));
        end.push_str(&format!("\n{tensors} with {elements}\n"));
    }
    if !checked.relies_on.is_empty() {
        end.push('\n');
        checked.relies_on.iter().for_each(|check| end.push_str(&format!("relies on: {check}\n")));
    }
    Parts { dims, table: look.table(&table), end }
}

#[derive(Serialize)]
struct Data<'a> {
    #[serde(flatten)]
    checked: &'a Checked,
    #[serde(skip_serializing_if = "Option::is_none")]
    mesh: Option<&'a MeshTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
}
