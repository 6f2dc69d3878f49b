//! Explanations of sizes: the lines of the program that decide the size of an axis.

mod dim;
mod under;

use broadloom::{Axis, Captured, Kind, Shape, StepId, Why, WhySize};
use broadloom_diagnostics::{Span, StoryLine, axes_or_none, tell};
use broadloom_lang::{Dim, NamedTensor, Program, nearest};
use serde::Serialize;

use crate::analysis::Analysis;
use crate::place::Place;
use crate::refusal::Refusal;
pub use under::explainable;

/// A question and its answers.
#[derive(Clone, Debug, Serialize)]
pub struct Explained {
    /// The name of the text.
    pub file: String,
    /// The name that was asked about.
    pub name: String,
    /// One for each axis and row in question; none if the program has errors and lacks it.
    pub explanations: Vec<Explanation>,
    /// The number of further axes that were asked for, after the first hundred: each explanation mentions the
    /// whole shape.
    #[serde(skip_serializing_if = "is_none")]
    pub left_out: usize,
}

/// So many axes are explained at once.
pub const MOST: usize = 100;

fn is_none(left_out: &usize) -> bool {
    *left_out == 0
}

/// The explanation of the size of an axis, a row or a named size.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The axis, the row, or the dim.
    pub of: String,
    /// Its kind: `axis`, `row` or `dim`.
    pub kind: &'static str,
    /// The size of an axis as shapes are written, or the number of axes of a row.
    pub size: String,
    /// True if the program allows no other size.
    pub forced: bool,
    /// The steps that lead to it.
    pub steps: Vec<ChainStep>,
    /// The tensor it is a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensor: Option<String>,
    /// The shape of that tensor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// The place where the tensor, or the dim, is named.
    #[serde(flatten)]
    pub place: Place,
    /// A description of the size.
    #[serde(skip)]
    pub is: String,
    /// The conclusion from the steps, shown at [`Explanation::span`].
    #[serde(skip)]
    pub end: String,
    /// The same as `place`, as a span.
    #[serde(skip)]
    pub span: Span,
}

impl Explanation {
    /// The steps and the conclusion, along the lines of the program.
    pub fn render(&self, analysis: &Analysis, columns: usize, color: bool) -> String {
        let steps =
            self.steps.iter().map(|step| StoryLine { text: &step.text, span: step.span, answer: false });
        let mut story: Vec<StoryLine<'_>> = steps.collect();
        story.push(StoryLine { text: &self.end, span: Some(self.span), answer: true });
        tell(analysis.sources(), analysis.program.main, &story, columns, color)
    }
}

/// One step towards a size.
#[derive(Clone, Debug, Serialize)]
pub struct ChainStep {
    /// The fact or the operation.
    pub text: String,
    /// The place where that is written, if there is one.
    #[serde(flatten)]
    pub place: Option<Place>,
    /// The same, as a span.
    #[serde(skip)]
    pub span: Option<Span>,
}

impl ChainStep {
    fn new(program: &Program, text: String, span: Option<Span>) -> ChainStep {
        ChainStep { text, place: span.map(|span| Place::new(&program.sources, span)), span }
    }
}

/// Explains a name with dots: a tensor (`w`), one of its rows (`w.input`), one of its axes
/// (`w.input.0`, `w.0`, or by its name in a spec, `scores.h`), or a `dim`. The error is a message
/// about the name.
///
/// ```
/// use broadloom_ide::{Analysis, Text, explain};
///
/// let text = Text::new("layer.loom", "data x : 32 | 784\nlet y = {w} @ x + {b : 64}\n");
/// let explained = explain(&mut Analysis::new(&text), "w.input.0")?;
/// let answer = &explained.explanations[0];
/// assert_eq!((answer.size.as_str(), answer.forced), ("784", true));
/// assert_eq!(answer.steps[0].place.as_ref().map(|place| place.line), Some(1));
/// # Ok::<(), String>(())
/// ```
pub fn explain(analysis: &mut Analysis, name: &str) -> Result<Explained, Refusal> {
    let program = &mut analysis.program;
    let (explanations, left_out) = match Asked::find(program, name) {
        Ok(Asked::Dim(dim)) => (vec![dim::explain(program, &dim)], 0),
        Ok(Asked::Focus(asked)) => asked.answers(program)?,
        // Without its mistaken parts the program may lack what is asked for.
        Err(_) if !program.is_ok() => (Vec::new(), 0),
        Err(message) => return Err(message),
    };
    Ok(Explained { file: analysis.name.clone(), name: name.to_string(), explanations, left_out })
}

/// The place where a step of the graph was written.
fn origin(program: &Program, step: Option<StepId>) -> Option<Span> {
    program.origin(step?).map(|origin| origin.span)
}

/// The subject of a question.
enum Asked {
    Focus(PartOf),
    Dim(Dim),
}

/// A tensor, or a part of it.
struct PartOf {
    made: NamedTensor,
    shape: Shape,
    part: Focus,
    /// The part as it was written.
    rest: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Focus {
    Whole,
    Row(Kind),
    Axis(Kind, usize),
    Label(Captured),
}

impl Asked {
    /// Finds the meaning of a name with dots: the longest name of a tensor that it begins with, and
    /// then a part of it.
    fn find(program: &mut Program, wanted: &str) -> Result<Asked, Refusal> {
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
                None => return Err(unknown(program, wanted).into()),
            };
        };
        let shape = program.graph.final_shape(made.tensor)?;
        let rest = wanted[name.len()..].trim_start_matches('.');
        let part = part(&made.name, &shape, rest).or_else(|message| {
            let label = program.graph.captured(made.tensor, rest).map(Focus::Label);
            label.map_err(|_| match program.find_like(wanted) {
                Some(near) => format!("{message}; did you mean `{near}`?"),
                None => message,
            })
        })?;
        Ok(Asked::Focus(PartOf { made, shape, part, rest: rest.to_string() }))
    }
}

impl PartOf {
    /// The answers, and how many more axes there are.
    fn answers(&self, program: &mut Program) -> Result<(Vec<Explanation>, usize), Refusal> {
        let mut answers = Vec::new();
        let name = &self.made.name;
        let axes = |kind: Kind| (0..self.shape.row(kind).len()).map(move |at| (kind, at));
        let axes: Vec<(Kind, usize)> = match self.part {
            Focus::Whole => Kind::ALL.into_iter().flat_map(axes).collect(),
            Focus::Row(kind) => axes(kind).collect(),
            Focus::Axis(kind, at) => vec![(kind, at)],
            Focus::Label(captured) => {
                let why = program.graph.why_size(captured)?;
                return Ok((vec![self.answer(program, format!("{name}.{}", self.rest), why)], 0));
            }
        };
        if let Focus::Row(kind) = self.part {
            let why = program.graph.why_axes(self.made.tensor, kind)?;
            answers.push(self.answer(program, format!("{name}.{}", kind.name()), why));
        }
        let left_out = axes.len().saturating_sub(MOST);
        for (kind, at) in axes.into_iter().take(MOST) {
            let why = program.graph.why(self.made.tensor, kind, at)?;
            answers.push(self.answer(program, format!("{name}.{}.{at}", kind.name()), why));
        }
        if answers.is_empty() {
            return Err(format!("`{name}` is a number: it has no axes").into());
        }
        Ok((answers, left_out))
    }

    fn answer(&self, program: &Program, of: String, why: Why) -> Explanation {
        let (name, shape) = (self.made.name.clone(), self.shape.to_string());
        let (kind, size) = match &why.size {
            WhySize::Rank(rank) => ("row", format!("has {}", axes_or_none(*rank as usize))),
            WhySize::Axis(axis) if **axis == Axis::Unit => {
                ("axis", "is `_`, one element that broadcasts".into())
            }
            WhySize::Axis(axis) => ("axis", format!("is {axis}")),
        };
        let how = if why.forced { "forced" } else { "chosen" };
        let parts = why.parts.into_iter();
        Explanation {
            of,
            kind,
            size: why.size.to_string(),
            forced: why.forced,
            steps: parts.map(|part| ChainStep::new(program, part.text, origin(program, part.step))).collect(),
            place: Place::new(&program.sources, self.made.span),
            is: format!("{size}, {how}"),
            end: format!("so `{name}` is `{shape}`"),
            span: self.made.span,
            tensor: Some(name),
            shape: Some(shape),
        }
    }
}

/// The message for a name that does not exist.
fn unknown(program: &Program, wanted: &str) -> String {
    let first = wanted.split('.').next().unwrap_or(wanted);
    let near = program.find_like(wanted).or_else(|| program.find_like(first));
    let help = match near {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    };
    format!("nothing is called `{wanted}`{help}")
}

trait Nearest {
    /// The name of a tensor or a dim that is similar to another name.
    fn find_like(&self, wanted: &str) -> Option<String>;
}

impl Nearest for Program {
    fn find_like(&self, wanted: &str) -> Option<String> {
        let dims = self.dims.iter().map(|dim| dim.name.as_str());
        nearest(wanted, self.made.iter().map(|made| made.name.as_str()).chain(dims))
    }
}

/// The part of a tensor that the text after its name refers to.
fn part(name: &str, shape: &Shape, rest: &str) -> Result<Focus, String> {
    if rest.is_empty() {
        return Ok(Focus::Whole);
    }
    let (first, second) = rest.split_once('.').map_or((rest, None), |(first, second)| (first, Some(second)));
    let number = |text: &str| -> Result<usize, String> {
        let help = "an axis is a row and a place in it, counted from 0, such as `input.0`";
        text.parse().map_err(|_| format!("`{name}.{rest}` is no axis: {help}"))
    };
    if let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == first) {
        let Some(second) = second else { return Ok(Focus::Row(kind)) };
        let (at, has) = (number(second)?, shape.row(kind).len());
        return match at < has {
            true => Ok(Focus::Axis(kind, at)),
            false => Err(format!("`{name}` is `{shape}`: its {first} has {}", axes_or_none(has))),
        };
    }
    let at = number(rest)?;
    let mut all = Kind::ALL.into_iter().flat_map(|kind| (0..shape.row(kind).len()).map(move |at| (kind, at)));
    match all.nth(at) {
        Some((kind, at)) => Ok(Focus::Axis(kind, at)),
        None => {
            let has = Kind::ALL.into_iter().map(|kind| shape.row(kind).len()).sum();
            Err(format!("`{name}` is `{shape}`: it has {}", axes_or_none(has)))
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
        assert!(part("") == Some(Focus::Whole));
        assert!(part("input") == Some(Focus::Row(Kind::Input)));
        assert!(part("input.1") == Some(Focus::Axis(Kind::Input, 1)));
        assert!(part("0") == Some(Focus::Axis(Kind::Batch, 0)));
        assert!(part("3") == Some(Focus::Axis(Kind::Output, 0)));
        for wrong in ["4", "input.2", "middle", "input.x", "-1", "0.0"] {
            assert!(part(wrong).is_none(), "{wrong}");
        }
        Ok(())
    }
}
