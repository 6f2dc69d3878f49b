//! `broadloom verify`: whether arrays fit a program, before anything runs. Everything that is wrong is told at once.

use broadloom::{Dtype, Fit, FoundSize, Input, Misfit, Shape, Tensor};
use broadloom_diagnostics::{Diagnostic, Severity, Span};
use broadloom_ide::Line;
use broadloom_ide::words::counted;
use broadloom_lang::{Made, Program, codes, nearest};
use serde::Serialize;

use crate::console::{Console, Look};
use crate::data::{self, Given, Source};
use crate::json;
use crate::output::{Output, Status};
use crate::program::{ProgramArgs, status, unusable};
use crate::table::{Column, Table};

/// The arguments of `verify`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// A `.npz`, `.safetensors`, `.npy` or `.csv` file with arrays, or one array as `NAME=FILE`; may be repeated
    #[arg(long, value_name = "FILE", value_parser = data::source)]
    inputs: Vec<Source>,
}

pub(crate) const HELP: &str = "\
For every `data` of the program: is there an array of its name, or are there values in the program; does the array have the
right axes, sizes and type; which numbers do named sizes get, do all arrays agree about them, are they in their ranges, and
does the program have a meaning for them. The array of a `.npy` file and the table of a `.csv` file have the name of the file.

Exit status: 0 everything fits, 1 something does not or the program has errors, 2 a file cannot be read.

Example:
  $ cat mlp.loom
  dim batch in 1..64 = 32
  data x : batch | 784
  data target : batch | 10
  $ broadloom verify mlp.loom --inputs digits.npz --inputs target=labels.npy";

/// Verifies arrays.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    let text = match args.program.read("verify", console) {
        Ok(text) => text,
        Err(output) => return output,
    };
    let given = match data::read_all(&args.inputs) {
        Ok(given) => given,
        Err(message) => return unusable("verify", &message, args.program.json),
    };
    let mut program = broadloom_ide::Analysis::new(&text).program;
    let mut diagnostics = program.diagnostics.clone();
    let mut verified = None;
    if program.is_ok() {
        match Verified::new(&mut program, &given) {
            Ok(found) => diagnostics.extend(verified.insert(found).told(&program)),
            Err(message) => return unusable("verify", &message, args.program.json),
        }
    }
    // In the order of the text; what has no place in it comes last.
    diagnostics.sort_by_key(|diagnostic| {
        let place = diagnostic.primary().map(|label| (label.span.source, label.span.start));
        (place.is_none(), place)
    });
    let mut output = Output::new(status(&diagnostics));
    if args.program.json {
        let data = Data::new(&program, &text.name, verified.as_ref(), output.status == Status::Fine);
        output.stdout = json::object("verify", &program.sources, &diagnostics, data);
        return output;
    }
    output.stderr = args.program.render(&program.sources, &diagnostics, console.stderr());
    if let Some(verified) = verified.filter(|_| output.status == Status::Fine) {
        output.stdout = verified.people(&program, console.stdout());
    }
    output
}

/// How arrays fit a program.
struct Verified<'a> {
    rows: Vec<Row<'a>>,
    fit: Fit,
    given: &'a [Given],
}

/// A `data` of the program.
struct Row<'a> {
    made: Made,
    shape: Shape,
    dtype: Dtype,
    array: Option<&'a Given>,
    /// Whether the program itself says, or computes, its values.
    own: bool,
}

impl<'a> Verified<'a> {
    fn new(program: &mut Program, given: &'a [Given]) -> Result<Verified<'a>, String> {
        let shapes = program.graph.final_shapes().map_err(|error| error.to_string())?;
        let dtypes = program.graph.dtypes();
        let data = data::declared(program);
        let rows: Vec<Row<'a>> = data
            .map(|made| Row {
                shape: shapes.get(made.tensor),
                dtype: dtypes[made.tensor.index()],
                array: data::of(given, &made.name),
                own: has_values(program, made.tensor),
                made: made.clone(),
            })
            .collect();
        let inputs: Vec<Input<'_>> =
            (rows.iter()).filter_map(|row| Some(Input::new(row.made.tensor, &row.array?.array))).collect();
        let fit = program.graph.fit(&inputs).map_err(|error| error.to_string())?;
        Ok(Verified { rows, fit, given })
    }

    /// Everything there is to say.
    fn told(&self, program: &Program) -> Vec<Diagnostic> {
        let missing: Vec<Diagnostic> = (self.rows.iter())
            .filter(|row| row.array.is_none() && !row.own)
            .map(|row| self.missing(row, program))
            .collect();
        let misfits = self.fit.misfits.iter().map(|misfit| self.misfit(misfit, program));
        // What an array would say that is missing or does not fit is not missed as well.
        let excused = !missing.is_empty() || !self.fit.is_ok();
        let open = self.fit.sizes.iter().filter(|size| size.used && size.number.is_none() && !excused);
        let open: Vec<Diagnostic> = open.map(|size| undecided(program, size)).collect();
        missing.into_iter().chain(misfits).chain(open).chain(data::strangers(program, self.given)).collect()
    }

    /// Data that nobody gives values.
    fn missing(&self, row: &Row<'_>, program: &Program) -> Diagnostic {
        let name = &row.made.name;
        let axes = [row.shape.batch(), row.shape.output(), row.shape.input()].concat();
        let axes: Vec<String> = axes.iter().map(|axis| axis.extent().to_string()).collect();
        let message = format!("there is no array for `{name}`, and the program gives it no values");
        let label = format!("its shape is `{}`", row.shape);
        let help = match nearest(name, data::unused(program, self.given).map(|given| given.name.as_str())) {
            Some(near) => format!("there is an array `{near}`: call it `{name}`, if it is meant"),
            None => {
                format!("give an array `{name}` with sizes [{}]: `--inputs {name}=FILE`", axes.join(", "))
            }
        };
        Diagnostic::error(codes::VALUE, message, row.made.span, label).with_help(help)
    }

    /// What does not fit, at the lines of the data it is about.
    fn misfit(&self, misfit: &Misfit, program: &Program) -> Diagnostic {
        let code = if matches!(misfit, Misfit::Range { .. }) { codes::RANGE } else { codes::VALUE };
        let mut diagnostic = Diagnostic::new(Severity::Error, code, misfit.to_string());
        let mut tensors = misfit.tensors();
        tensors.dedup();
        for (at, tensor) in tensors.into_iter().enumerate() {
            let Some(row) = self.rows.iter().find(|row| row.made.tensor == tensor) else { continue };
            let array = row.array.map_or(String::new(), |given| {
                let (sizes, dtype) = (list(given.array.sizes()), given.array.dtype());
                format!("sizes {sizes}, type {dtype} in {}", given.file)
            });
            diagnostic = match at {
                0 => diagnostic.with_primary(row.made.span, array),
                _ => diagnostic.with_label(row.made.span, array),
            };
        }
        if matches!(misfit, Misfit::Sizes { .. }) {
            for (name, size) in &program.sizes {
                diagnostic = diagnostic
                    .with_note(format!("`{name}` is set to {size}; left open, it follows the arrays"));
            }
        }
        diagnostic.with_help(misfit.help())
    }

    fn people(&self, program: &Program, look: Look) -> String {
        if self.rows.is_empty() {
            return "the program has no data\n".into();
        }
        let mut table = Table::new([
            Column::name("tensor"),
            Column::new("shape"),
            Column::new("array"),
            Column::new("type"),
            Column::faint("from"),
        ]);
        for row in &self.rows {
            let sizes = row.array.map_or(String::new(), |given| list(given.array.sizes()));
            let from = row.array.map_or("the program", |given| given.file.as_str());
            table.row([row.made.name.clone(), row.shape.to_string(), sizes, row.types(), from.into()]);
        }
        let mut out = table.show(look);
        if !self.fit.sizes.is_empty() {
            out.push_str(&format!("\n{}", self.sizes(program).show(look)));
        }
        let arrays = self.rows.iter().filter(|row| row.array.is_some()).count() as u64;
        if arrays > 0 {
            let verb = if arrays == 1 { "fits" } else { "fit" };
            out.push_str(&format!("\n{} {verb}\n", counted(arrays, "array")));
        }
        out
    }

    /// The named sizes.
    fn sizes(&self, program: &Program) -> Table<4> {
        let mut table = Table::new([
            Column::name("dim"),
            Column::number("size"),
            Column::new("range"),
            Column::faint("from"),
        ]);
        for size in &self.fit.sizes {
            let number = size.number.map_or(String::new(), |number| number.to_string());
            let most = size.range.1.map_or(String::new(), |most| most.to_string());
            let from = match size.by {
                Some(by) => program.graph.label_of(by),
                None if program.sizes.iter().any(|(name, _)| *name == size.name) => "--set".into(),
                None => "the program".into(),
            };
            table.row([size.name.clone(), number, format!("{}..{most}", size.range.0), from]);
        }
        table
    }
}

impl Row<'_> {
    /// How its numbers are stored, in the file and in the program.
    fn types(&self) -> String {
        match self.array.map(|given| given.array.dtype()).filter(|dtype| *dtype != self.dtype) {
            Some(given) => format!("{given} as {}", self.dtype),
            None => self.dtype.to_string(),
        }
    }
}

/// Whether a program gives data its values: in a list, from a file or a distribution, or by an assignment.
fn has_values(program: &Program, tensor: Tensor) -> bool {
    let drawn = program.plan.drawn.iter().any(|drawn| drawn.tensor == tensor);
    let assigned = || program.plan.routines.iter().any(|routine| routine.assigns(&program.graph, tensor));
    drawn || program.graph.has_values(tensor) || assigned()
}

/// A named size that no array and no sample decides.
fn undecided(program: &Program, size: &FoundSize) -> Diagnostic {
    let name = &size.name;
    let span = program.dims.iter().find(|dim| dim.name == *name).map(|dim| dim.span);
    let message = format!("no array says how large `{name}` is");
    Diagnostic::error(codes::VALUE, message, span.unwrap_or(Span::empty(program.main, 0)), "")
        .with_help(format!("declare it with a usual size, or say `--set {name}=SIZE`"))
}

/// `[16, 784]`
fn list(sizes: &[u64]) -> String {
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    format!("[{}]", sizes.join(", "))
}

#[derive(Serialize)]
struct Data<'a> {
    file: &'a str,
    fits: bool,
    tensors: Vec<TensorData<'a>>,
    dims: Vec<DimData<'a>>,
}

#[derive(Serialize)]
struct TensorData<'a> {
    name: &'a str,
    shape: String,
    #[serde(rename = "type")]
    dtype: &'static str,
    array: Option<ArrayData<'a>>,
    own: bool,
    #[serde(flatten)]
    place: Line,
}

#[derive(Serialize)]
struct ArrayData<'a> {
    sizes: &'a [u64],
    #[serde(rename = "type")]
    dtype: &'static str,
    from: &'a str,
}

#[derive(Serialize)]
struct DimData<'a> {
    name: &'a str,
    size: Option<u64>,
    range: (u64, Option<u64>),
    by: Option<String>,
}

impl<'a> Data<'a> {
    fn new(program: &'a Program, file: &'a str, verified: Option<&'a Verified<'a>>, fits: bool) -> Data<'a> {
        let tensor = |row: &'a Row<'a>| TensorData {
            name: &row.made.name,
            shape: row.shape.to_string(),
            dtype: row.dtype.name(),
            array: row.array.map(|given| ArrayData {
                sizes: given.array.sizes(),
                dtype: given.array.dtype().name(),
                from: &given.file,
            }),
            own: row.own,
            place: Line::new(&program.sources, row.made.span),
        };
        let dim = |size: &'a FoundSize| DimData {
            name: &size.name,
            size: size.number,
            range: size.range,
            by: size.by.map(|by| program.graph.label_of(by)),
        };
        let rows = verified.into_iter().flat_map(|verified| &verified.rows);
        let sizes = verified.into_iter().flat_map(|verified| &verified.fit.sizes);
        Data { file, fits, tensors: rows.map(tensor).collect(), dims: sizes.map(dim).collect() }
    }
}
