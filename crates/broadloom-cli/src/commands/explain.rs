//! `broadloom explain`: why an axis has its size, from the line that says it to the tensor that was asked for.

mod dim;

use broadloom::{Captured, Kind, Shape, Why};
use broadloom_diagnostics::{Place, Span};
use broadloom_lang::{Dim, Made, Program, nearest};
use serde::Serialize;

use crate::console::{Console, Look, Paint};
use crate::excerpt::{Said, tell};
use crate::json;
use crate::output::Output;
use crate::program::{ProgramArgs, status, unusable};

/// The arguments of `explain`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// A tensor, one of its rows, or one of its axes: `w`, `w.input`, `w.input.0`, `w.n`; or a `dim`
    name: String,
}

pub(crate) const HELP: &str = "\
An axis is written as its row and its place in it, counted from 0: `w.input.0`, `y.output.1`; or as
its place among all axes of the shape: `x.0`; or by its name in the spec or the shape that made the
tensor: `scores.h`. A row alone asks how many axes it has, too; a tensor alone asks for all its axes.
The name of a `dim` asks which sizes it can have, and what relies on it.

What is underlined with `-` leads to what is underlined with `^`. A size is forced if the program
leaves no other; if not, it was chosen when the program was closed, by the rule that is shown.

Exit status: 0 fine, 1 the program has errors, 2 it cannot be read or has no such axis.

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
    let mut program = args.program.compile(&text, None);
    let answers = match Asked::find(&mut program, &args.name) {
        Ok(Asked::Dim(dim)) => Ok(vec![dim::explain(&mut program, &dim)]),
        Ok(Asked::Part(asked)) => asked.answers(&mut program),
        // Without its mistaken parts the program may lack what is asked for.
        Err(_) if !program.is_ok() => Ok(Vec::new()),
        Err(message) => Err(message),
    };
    let answers = match answers {
        Ok(answers) => answers,
        Err(message) => return unusable("explain", &message, args.program.json),
    };
    let mut output = Output::new(status(&program.diagnostics));
    if args.program.json {
        let explanations = answers.iter().map(|answer| Explanation::new(&program, answer)).collect();
        let data = Data { file: &text.name, name: &args.name, explanations };
        output.stdout = json::object("explain", &program.sources, &program.diagnostics, data);
        return output;
    }
    output.stderr = args.program.render(&program.sources, &program.diagnostics, console.stderr());
    let look = console.stdout();
    let told: Vec<String> = answers.iter().map(|answer| answer.people(&program, look)).collect();
    output.stdout = told.join("\n");
    output
}

/// What was asked for.
enum Asked {
    Part(PartOf),
    Dim(Dim),
}

/// A tensor, or a part of it.
struct PartOf {
    made: Made,
    shape: Shape,
    part: Part,
    /// The part as it was written.
    rest: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Whole,
    Row(Kind),
    Axis(Kind, usize),
    Label(Captured),
}

impl Asked {
    /// Finds what a name with dots means: the longest name of a tensor that it begins with, and then a part of it.
    fn find(program: &mut Program, wanted: &str) -> Result<Asked, String> {
        let mut name = wanted;
        let made = loop {
            if let Some(made) = program.made.iter().rev().find(|made| made.name == name) {
                break made.clone();
            }
            if let Some(dim) = program.dims.iter().rev().find(|dim| dim.name == wanted) {
                return Ok(Asked::Dim(dim.clone()));
            }
            name = match name.rfind('.') {
                Some(dot) => &name[..dot],
                None => return Err(unknown(program, wanted)),
            };
        };
        let shape = program.graph.final_shape(made.tensor).map_err(|error| error.to_string())?;
        let rest = wanted[name.len()..].trim_start_matches('.');
        let part = part(&made.name, &shape, rest).or_else(|message| {
            let label = program.graph.captured(made.tensor, rest).map(Part::Label);
            label.map_err(|_| match program.find_like(wanted) {
                Some(near) => format!("{message}; is `{near}` meant?"),
                None => message,
            })
        })?;
        Ok(Asked::Part(PartOf { made, shape, part, rest: rest.to_string() }))
    }
}

impl PartOf {
    fn answers(&self, program: &mut Program) -> Result<Vec<Answer>, String> {
        let mut answers = Vec::new();
        let name = &self.made.name;
        let axes = |kind: Kind| (0..self.shape.row(kind).len()).map(move |at| (kind, at));
        let axes: Vec<(Kind, usize)> = match self.part {
            Part::Whole => Kind::ALL.into_iter().flat_map(axes).collect(),
            Part::Row(kind) => axes(kind).collect(),
            Part::Axis(kind, at) => vec![(kind, at)],
            Part::Label(captured) => {
                let why = program.graph.why_size(captured).map_err(|error| error.to_string())?;
                return Ok(vec![self.answer(program, format!("{name}.{}", self.rest), true, why)]);
            }
        };
        if let Part::Row(kind) = self.part {
            let why = program.graph.why_axes(self.made.tensor, kind).map_err(|error| error.to_string())?;
            answers.push(self.answer(program, format!("{name}.{}", kind.name()), false, why));
        }
        for (kind, at) in axes {
            let why = program.graph.why(self.made.tensor, kind, at).map_err(|error| error.to_string())?;
            answers.push(self.answer(program, format!("{name}.{}.{at}", kind.name()), true, why));
        }
        if answers.is_empty() {
            return Err(format!("`{name}` is a number: it has no axes"));
        }
        Ok(answers)
    }

    fn answer(&self, program: &Program, what: String, axis: bool, why: Why) -> Answer {
        let (name, shape) = (self.made.name.clone(), self.shape.to_string());
        let size = match (axis, why.size.parse()) {
            (false, Ok(count)) => format!("has {}", axes(count)),
            (true, _) if why.size == "_" => "is `_`, one element that broadcasts".into(),
            _ => format!("is {}", why.size),
        };
        let how = if why.forced { "forced" } else { "chosen" };
        Answer {
            what,
            kind: if axis { "axis" } else { "row" },
            is: format!("{size}, {how}"),
            size: why.size,
            forced: why.forced,
            steps: why.parts.into_iter().map(|part| (part.text, place(program, part.step))).collect(),
            end: format!("so `{name}` is `{shape}`"),
            span: self.made.span,
            tensor: Some((name, shape)),
        }
    }
}

/// A name that nothing has.
fn unknown(program: &Program, wanted: &str) -> String {
    let first = wanted.split('.').next().unwrap_or(wanted);
    let near = program.find_like(wanted).or_else(|| program.find_like(first));
    let help = match near {
        Some(near) => format!("; is `{near}` meant?"),
        None => String::new(),
    };
    format!("nothing is called `{wanted}`{help}")
}

trait Nearest {
    /// The name of a tensor or a dim that is near to another name.
    fn find_like(&self, wanted: &str) -> Option<String>;
}

impl Nearest for Program {
    fn find_like(&self, wanted: &str) -> Option<String> {
        let dims = self.dims.iter().map(|dim| dim.name.as_str());
        nearest(wanted, self.made.iter().map(|made| made.name.as_str()).chain(dims))
    }
}

/// Which part of a tensor is meant by what follows its name.
fn part(name: &str, shape: &Shape, rest: &str) -> Result<Part, String> {
    if rest.is_empty() {
        return Ok(Part::Whole);
    }
    let (first, second) = rest.split_once('.').map_or((rest, None), |(first, second)| (first, Some(second)));
    let number = |text: &str| -> Result<usize, String> {
        let help = "an axis is a row and a place in it, counted from 0, such as `input.0`";
        text.parse().map_err(|_| format!("`{name}.{rest}` is no axis: {help}"))
    };
    if let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == first) {
        let Some(second) = second else { return Ok(Part::Row(kind)) };
        let (at, has) = (number(second)?, shape.row(kind).len());
        return match at < has {
            true => Ok(Part::Axis(kind, at)),
            false => Err(format!("`{name}` is `{shape}`: its {first} has {}", axes(has))),
        };
    }
    let at = number(rest)?;
    let mut all = Kind::ALL.into_iter().flat_map(|kind| (0..shape.row(kind).len()).map(move |at| (kind, at)));
    match all.nth(at) {
        Some((kind, at)) => Ok(Part::Axis(kind, at)),
        None => {
            let has = Kind::ALL.into_iter().map(|kind| shape.row(kind).len()).sum();
            Err(format!("`{name}` is `{shape}`: it has {}", axes(has)))
        }
    }
}

fn axes(count: usize) -> String {
    match count {
        0 => "no axes".into(),
        1 => "1 axis".into(),
        _ => format!("{count} axes"),
    }
}

/// Why something is as it is.
struct Answer {
    /// The axis, the row, or the dim.
    what: String,
    /// Which of these it is.
    kind: &'static str,
    /// What it is, in words.
    is: String,
    size: String,
    forced: bool,
    /// What leads to it, and where that is written.
    steps: Vec<(String, Option<Span>)>,
    /// What it leads to, and where that is written.
    end: String,
    span: Span,
    /// The tensor it is a part of, and its shape.
    tensor: Option<(String, String)>,
}

impl Answer {
    fn people(&self, program: &Program, look: Look) -> String {
        let mut out = format!("{} {}\n", look.paint(Paint::Strong, &self.what), self.is);
        let steps = self.steps.iter().map(|(text, span)| Said { text, span: *span, answer: false });
        let mut story: Vec<Said<'_>> = steps.collect();
        story.push(Said { text: &self.end, span: Some(self.span), answer: true });
        out.push_str(&tell(&program.sources, program.main, &story, look));
        out
    }
}

/// Where a step was written.
fn place(program: &Program, step: Option<usize>) -> Option<Span> {
    program.origin(step?).map(|origin| origin.span)
}

#[derive(Serialize)]
struct Data<'a> {
    file: &'a str,
    name: &'a str,
    explanations: Vec<Explanation<'a>>,
}

#[derive(Serialize)]
struct Explanation<'a> {
    /// The axis, the row, or the dim.
    of: &'a str,
    /// What it is: `axis`, `row` or `dim`.
    kind: &'static str,
    /// The size of an axis as shapes are written, or the number of axes of a row.
    size: &'a str,
    forced: bool,
    steps: Vec<Step<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tensor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<&'a str>,
    #[serde(flatten)]
    place: Place<'a>,
}

#[derive(Serialize)]
struct Step<'a> {
    text: &'a str,
    #[serde(flatten)]
    place: Option<Place<'a>>,
}

impl<'a> Explanation<'a> {
    fn new(program: &'a Program, answer: &'a Answer) -> Explanation<'a> {
        let step = |(text, span): &'a (String, Option<Span>)| Step {
            text,
            place: span.map(|span| Place::new(&program.sources, span)),
        };
        Explanation {
            of: &answer.what,
            kind: answer.kind,
            size: &answer.size,
            forced: answer.forced,
            steps: answer.steps.iter().map(step).collect(),
            tensor: answer.tensor.as_ref().map(|(name, _)| name.as_str()),
            shape: answer.tensor.as_ref().map(|(_, shape)| shape.as_str()),
            place: Place::new(&program.sources, answer.span),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Result<Shape, broadloom::Error> {
        let mut graph = broadloom::Graph::new();
        let x = graph.data("x", text)?;
        graph.final_shape(x)
    }

    #[test]
    fn parts_of_a_tensor() -> Result<(), broadloom::Error> {
        let shape = shape("32 | 3, 4 -> 5")?;
        let part = |rest| part("x", &shape, rest).ok();
        assert!(part("") == Some(Part::Whole));
        assert!(part("input") == Some(Part::Row(Kind::Input)));
        assert!(part("input.1") == Some(Part::Axis(Kind::Input, 1)));
        assert!(part("0") == Some(Part::Axis(Kind::Batch, 0)));
        assert!(part("3") == Some(Part::Axis(Kind::Output, 0)));
        for wrong in ["4", "input.2", "middle", "input.x", "-1", "0.0"] {
            assert!(part(wrong).is_none(), "{wrong}");
        }
        Ok(())
    }
}
