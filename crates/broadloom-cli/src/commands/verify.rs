//! `broadloom verify`: checks that arrays fit a program,
//! before it runs. All mistakes are reported at once.

use broadloom_diagnostics::{Column, Table};
use broadloom_ide::words::counted;
use broadloom_ide::{Analysis, Verified, arrays, range_text, verify};

use crate::console::{Console, Look};
use crate::data::{self, ArraySource};
use crate::json;
use crate::output::{Output, Status};
use crate::program::{ProgramArgs, status, unusable};

/// The arguments of `verify`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// A `.npz`, `.safetensors`, `.npy` or `.csv` file with arrays, or one array as `NAME=FILE`; may be repeated
    #[arg(long, alias = "data", value_name = "FILE", value_parser = data::source)]
    inputs: Vec<ArraySource>,
}

pub(crate) const HELP: &str = "\
For each `data` of the program, there must be an array of its name, or values in the program, and the array must have the right
axes, sizes and type. Named sizes get their values from the arrays, which must agree about them; the values must be in their
ranges, and the program must be valid for them. The array of a `.npy` file and the table of a `.csv` file have the name of the file.

Exit status: 0 all arrays fit, 1 some do not or the program has errors, 2 a file cannot be read.

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
    let mut analysis = Analysis::new(&text);
    let mut given = match data::read_all(&args.inputs, &analysis.program) {
        Ok(given) => given,
        Err(message) => return unusable("verify", message, args.program.json),
    };
    arrays::type_tables(&analysis.program, &mut given);
    let verified = match verify(&mut analysis, &given) {
        Ok(verified) => verified,
        Err(message) => return unusable("verify", message, args.program.json),
    };
    let mut output = Output::new(status(&verified.diagnostics));
    if args.program.json {
        output.stdout = json::object("verify", analysis.sources(), &verified.diagnostics, &verified);
        return output;
    }
    output.stderr = args.program.render(analysis.sources(), &verified.diagnostics, console.stderr());
    if output.status == Status::Fine {
        output.stdout = text_of(&analysis, &verified, console.stdout());
    }
    output
}

/// Arrays that fit a program, as a table for people.
pub fn text_of(analysis: &Analysis, verified: &Verified, look: Look) -> String {
    if verified.tensors.is_empty() {
        return "the program has no data\n".into();
    }
    let mut table = Table::new([
        Column::name("tensor"),
        Column::new("shape"),
        Column::new("array"),
        Column::new("type"),
        Column::faint("from"),
    ]);
    for tensor in &verified.tensors {
        let array = tensor.array.as_ref();
        let sizes = array.map_or(String::new(), |array| format!("{:?}", array.sizes));
        let from = array.map_or("the program", |array| array.from.as_str());
        table.row([tensor.name.clone(), tensor.shape.clone(), sizes, tensor.types(), from.into()]);
    }
    let mut out = look.table(&table);
    if !verified.dims.is_empty() {
        out.push_str(&format!("\n{}", look.table(&sizes(analysis, verified))));
    }
    let arrays = verified.tensors.iter().filter(|tensor| tensor.array.is_some()).count() as u64;
    if arrays > 0 {
        let verb = if arrays == 1 { "fits" } else { "fit" };
        out.push_str(&format!("\n{} {verb}\n", counted(arrays, "array")));
    }
    out
}

/// The named sizes.
fn sizes(analysis: &Analysis, verified: &Verified) -> Table<4> {
    let mut table = Table::new([
        Column::name("dim"),
        Column::number("size"),
        Column::new("range"),
        Column::faint("from"),
    ]);
    for size in &verified.dims {
        let number = size.size.map_or(String::new(), |number| number.to_string());
        let from = match &size.by {
            Some(by) => by.clone(),
            None if analysis.program.sizes.iter().any(|(name, _)| *name == size.name) => "--set".into(),
            None => "the program".into(),
        };
        table.row([size.name.clone(), number, range_text(size.range), from]);
    }
    table
}
