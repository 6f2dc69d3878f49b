//! `broadloom graph`: a picture of the tensors and operations of a program.

use std::path::PathBuf;

use broadloom::files::write_text;
use serde::Serialize;

use super::loops::named;
use crate::console::Console;
use crate::drawing::{Choice, Picture, TooLarge};
use crate::json;
use crate::output::{Output, Status};
use crate::program::{ProgramArgs, shown_path, status, unusable};

/// The arguments of `graph`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// Where to write the picture; standard output if nothing is said
    #[arg(short, long, value_name = "FILE.svg")]
    output: Option<PathBuf>,
    /// Also draw what functions of the library do inside
    #[arg(long)]
    all: bool,
    /// Draw only what a tensor is computed from
    #[arg(long, value_name = "NAME")]
    of: Option<String>,
    /// How many operations to go back from there
    #[arg(long, value_name = "N", requires = "of")]
    depth: Option<usize>,
}

pub(crate) const HELP: &str = "\
The picture is SVG. Data has corners, parameters are round, operations are boxes with what was written, and each edge has the
shape of its tensor. An application of a library function is one box, with its parameters; a function of the program is
a frame around what it makes. What only trains the model is left out.

Exit status: 0 fine, 1 the program has errors, 2 it cannot be read, or is too large for one picture.

Example:
  $ printf 'data x : 32 | 784\\nlet y = x |> linear(64) |> relu |> linear(10)\\n' > mlp.loom
  $ broadloom graph mlp.loom -o mlp.svg";

/// Draws a program.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    let text = match args.program.read("graph", console) {
        Ok(text) => text,
        Err(output) => return output,
    };
    let mut program = broadloom_ide::Analysis::new(&text).program;
    let mut output = Output::new(status(&program.diagnostics));
    let shapes = if program.is_ok() { program.graph.final_shapes().ok() } else { None };
    let mut picture = Picture::default();
    if let Some(shapes) = shapes {
        let of = match args.of.as_deref().map(|name| named(&program, name)) {
            Some(Err(message)) => return unusable("graph", &message, args.program.json),
            Some(Ok(tensor)) => Some(tensor),
            None => None,
        };
        let choice = Choice { all: args.all, of, depth: args.depth };
        picture = match Picture::new(&program, &shapes, &choice) {
            Ok(picture) => picture,
            Err(TooLarge { boxes, most }) => {
                let advice = "draw what some tensor is computed from: --of NAME --depth 20";
                let message =
                    format!("a picture of {boxes} boxes is too large, {most} can be drawn; {advice}");
                return unusable("graph", &message, args.program.json);
            }
        };
    }
    output.stderr = args.program.render(&program.sources, &program.diagnostics, console.stderr());
    if args.program.json {
        output.stderr.clear();
        output.stdout =
            json::object("graph", &program.sources, &program.diagnostics, Data::new(&text.name, &picture));
        return output;
    }
    if output.status != Status::Fine {
        return output;
    }
    let svg = picture.svg(&text.name);
    match &args.output {
        None => output.stdout = svg,
        Some(file) => {
            if let Err(error) = write_text(file, &svg) {
                return unusable("graph", &format!("cannot write {}: {error}", shown_path(file)), false);
            }
        }
    }
    output
}

#[derive(Serialize)]
struct Data<'a> {
    file: &'a str,
    boxes: Vec<BoxData<'a>>,
    frames: Vec<FrameData<'a>>,
    edges: Vec<EdgeData<'a>>,
}

#[derive(Serialize)]
struct BoxData<'a> {
    kind: String,
    name: Option<&'a str>,
    lines: &'a [String],
    title: &'a str,
    frame: Option<usize>,
}

#[derive(Serialize)]
struct FrameData<'a> {
    title: &'a str,
    frame: Option<usize>,
}

#[derive(Serialize)]
struct EdgeData<'a> {
    from: usize,
    to: usize,
    shape: &'a str,
}

impl<'a> Data<'a> {
    fn new(file: &'a str, picture: &'a Picture) -> Data<'a> {
        let boxes = picture.boxes.iter().map(|drawn| BoxData {
            kind: format!("{:?}", drawn.kind).to_lowercase(),
            name: drawn.name.as_deref(),
            lines: &drawn.lines,
            title: &drawn.title,
            frame: drawn.frame,
        });
        let frames = picture.frames.iter().map(|frame| FrameData { title: &frame.title, frame: frame.outer });
        let edges = picture.edges.iter().map(|((from, output), to)| EdgeData {
            from: *from,
            to: *to,
            shape: picture.boxes[*from].outputs.get(*output).map_or("", String::as_str),
        });
        Data { file, boxes: boxes.collect(), frames: frames.collect(), edges: edges.collect() }
    }
}
