//! `broadloom check`: all shapes in a table, or what is wrong.

use std::time::Instant;

use broadloom::{Graph, How, LeafKind, Node, Shapes, Tensor};
use broadloom_lang::{Made, Program, warnings};
use serde::Serialize;

use crate::console::{Console, Look};
use crate::dims::{DimData, table};
use crate::json::{self, JsonRows};
use crate::output::{Output, Status};
use crate::program::{Line, ProgramArgs, listed, status, total};
use crate::table::{Column, Table, counted, grouped};

/// The arguments of `check`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// Also show what is made inside functions
    #[arg(long)]
    all: bool,
    /// Say how long it took, and how much work it was
    #[arg(long)]
    verbose: bool,
}

pub(crate) const HELP: &str = "\
A shape is written `batch | input -> output`: `32 | 784` is a batch of 32 vectors, `784 -> 64` a
linear map. An axis that claims no size and broadcasts is `_`.

How a shape is known:
  declared       the program says it
  inferred       the program leaves no other
  anything else  the rule by which the rest was chosen

Warnings are about programs that may compute something else than is meant; `broadloom lint` tells
more, and what each of them is. A comment `# allow W0505` on the line, or above it, says that it is
meant.

Exit status: 0 fine or warnings only, 1 the program has errors, 2 it cannot be read, 3 a limit was reached.

Example:
  $ cat mlp.loom
  dim hidden = 64
  data x : 32 | 784
  let y = {w2 : ... -> 10} @ relu({w1} @ x + {b : hidden})
  $ broadloom check mlp.loom --set hidden=128";

/// Checks a program.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    let text = match args.program.read("check", console) {
        Ok(text) => text,
        Err(output) => return output,
    };
    let start = Instant::now();
    let mut program = args.program.compile(&text, None);
    let found = warnings(&mut program);
    program.diagnostics.extend(found);
    let checked = Checked::new(&mut program, args.all);
    let seconds = start.elapsed().as_secs_f64();
    let status = status(&program.diagnostics);
    let mut output = Output::new(status);
    if args.program.json {
        let seconds = args.verbose.then_some(seconds);
        let data = checked.data(&program, &text.name, seconds);
        output.stdout = json::object("check", &program.sources, &program.diagnostics, data);
        return output;
    }
    output.stderr = args.program.render(&program.sources, &program.diagnostics, console.stderr());
    if status == Status::Fine {
        output.stdout = checked.people(&program, console.stdout());
    }
    if args.verbose {
        let stats = program.graph.stats();
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

/// What there is to show.
struct Checked {
    rows: Vec<Row>,
    params: u64,
    param_elements: Option<u64>,
    /// What holds for some sizes only.
    relies_on: Vec<String>,
}

/// A tensor: which of [`Program::made`], and its shape if all shapes are known.
struct Row {
    made: Made,
    shape: Option<broadloom::Shape>,
    how: Option<How>,
}

impl Checked {
    fn new(program: &mut Program, all: bool) -> Checked {
        let is_ok = program.is_ok();
        let known = if is_ok { program.graph.final_shapes().ok() } else { None };
        let how = known.as_ref().and_then(|_| program.graph.how_all().ok());
        let params = program.graph.params();
        let row = |made: &Made| Row {
            made: made.clone(),
            shape: known.as_ref().map(|shapes| shapes.get(made.tensor)),
            how: how.as_ref().and_then(|how| how.get(made.tensor.index()).cloned()),
        };
        let rows = listed(program, &params, all).map(row).collect();
        let param_elements = known.as_ref().map(|shapes| elements(shapes, &params));
        let checks =
            if known.is_some() { program.graph.runtime_checks().unwrap_or_default() } else { Vec::new() };
        let relies_on = checks.iter().map(ToString::to_string).collect();
        Checked { rows, params: params.len() as u64, param_elements, relies_on }
    }

    fn people(&self, program: &Program, look: Look) -> String {
        let mut out = table(program, look);
        let mut table = Table::new([
            Column::name("tensor"),
            Column::new("shape"),
            Column::number("elements"),
            Column::faint("how it is known"),
        ]);
        for Row { made, shape, how } in &self.rows {
            let Some(shape) = shape else { continue };
            let how = how.as_ref().map(how_words).unwrap_or_default();
            table.row([made.name.clone(), shape.to_string(), grouped(shape.elements()), how.to_string()]);
        }
        if table.is_empty() {
            out.push_str("nothing has a name\n");
            return out;
        }
        out.push_str(&table.show(look));
        if let Some(elements) = self.param_elements.filter(|_| self.params > 0) {
            out.push_str(&format!(
                "\n{} with {}\n",
                counted(self.params, "parameter"),
                counted(elements, "element")
            ));
        }
        if !self.relies_on.is_empty() {
            out.push('\n');
            self.relies_on.iter().for_each(|check| out.push_str(&format!("relies on: {check}\n")));
        }
        out
    }

    fn data<'a>(&'a self, program: &'a Program, file: &'a str, seconds: Option<f64>) -> impl Serialize {
        let tensors = self.rows.iter().map(|row| TensorData::new(program, row)).collect();
        let dims = DimData::all(program);
        let parameters = Parameters { tensors: self.params, elements: self.param_elements };
        Data { file, dims, tensors, parameters, relies_on: &self.relies_on, seconds }
    }
}

fn elements(shapes: &Shapes, params: &[Tensor]) -> u64 {
    let shapes: Vec<_> = params.iter().map(|param| shapes.get(*param)).collect();
    total(shapes.iter())
}

/// How a shape is known, in words.
fn how_words(how: &How) -> &str {
    match how {
        How::Declared => "declared",
        How::Forced => "inferred",
        How::Chosen(rule) => rule,
    }
}

#[derive(Serialize)]
struct Data<'a> {
    file: &'a str,
    dims: Vec<DimData<'a>>,
    tensors: Vec<TensorData<'a>>,
    parameters: Parameters,
    relies_on: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
}

#[derive(Serialize)]
struct TensorData<'a> {
    name: &'a str,
    kind: &'static str,
    shape: String,
    rows: JsonRows,
    elements: Option<u64>,
    how: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    #[serde(flatten)]
    place: Line<'a>,
}

impl<'a> TensorData<'a> {
    fn new(program: &'a Program, row: &'a Row) -> TensorData<'a> {
        let Row { made, shape, how } = row;
        let (text, rows) = match shape {
            Some(shape) => (shape.to_string(), JsonRows::from(shape)),
            None => {
                let partial = program.graph.shape(made.tensor);
                (partial.to_string(), JsonRows::from(&partial))
            }
        };
        let (how, rule) = match how {
            Some(How::Declared) => (Some("declared"), None),
            Some(How::Forced) => (Some("forced"), None),
            Some(How::Chosen(rule)) => (Some("chosen"), Some(rule.as_str())),
            None => (None, None),
        };
        TensorData {
            name: &made.name,
            kind: kind(&program.graph, made.tensor),
            shape: text,
            rows,
            elements: shape.as_ref().map(broadloom::Shape::elements),
            how,
            rule,
            place: Line::new(&program.sources, made.span),
        }
    }
}

#[derive(Serialize)]
struct Parameters {
    tensors: u64,
    elements: Option<u64>,
}

/// What a tensor is, in a word.
pub(crate) fn kind(graph: &Graph, tensor: Tensor) -> &'static str {
    match graph.node(tensor) {
        Some(Node::Leaf { kind: LeafKind::Data }) => "data",
        Some(Node::Leaf { kind: LeafKind::Param }) => "parameter",
        Some(Node::Leaf { kind: LeafKind::State }) => "state",
        Some(Node::Leaf { kind: LeafKind::Gradient(_) }) => "gradient",
        Some(Node::Leaf { .. }) => "constant",
        Some(Node::Operation { .. }) | None => "value",
    }
}
