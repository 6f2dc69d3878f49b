//! The shapes of all tensors of a program, and its mistakes.

use broadloom::{How, Shape, Shapes, Tensor};
use broadloom_diagnostics::{Diagnostic, Span};
use broadloom_lang::{NamedTensor, warnings};
use serde::Serialize;

use crate::analysis::{Analysis, Listing};
use crate::dims::{NamedSize, dims};
use crate::place::Line;
use crate::shape::{Rows, how, kind};

/// All shapes of a program.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// The name of the text.
    pub file: String,
    /// The sizes that have names.
    pub dims: Vec<NamedSize>,
    /// The tensors that have names, in order.
    pub tensors: Vec<CheckedTensor>,
    /// The number of parameters.
    pub parameters: Parameters,
    /// Conditions on sizes that the program relies on.
    pub relies_on: Vec<String>,
    /// Errors, and warnings about code that may not mean what was intended.
    #[serde(skip)]
    pub diagnostics: Vec<Diagnostic>,
}

/// A tensor with its final shape, or what is known of the shape if the program has errors.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedTensor {
    /// Its name, with the path of the functions it was made in.
    pub name: String,
    /// Its kind, in a word.
    pub kind: &'static str,
    /// Its shape as it is written.
    pub shape: String,
    /// The shape as data, axis by axis.
    pub rows: Rows,
    /// The number of its elements, or None if the program has errors.
    pub elements: Option<u64>,
    /// `declared`, `forced` or `chosen`, or None if the program has errors.
    pub how: Option<&'static str>,
    /// The rule by which it was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The line on which it is named.
    #[serde(flatten)]
    pub place: Line,
    /// The same place, as a span.
    #[serde(skip)]
    pub span: Span,
}

/// The parameters of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Parameters {
    /// The number of parameter tensors.
    pub tensors: u64,
    /// The number of their elements together, or None if the program has errors.
    pub elements: Option<u64>,
}

/// Finds all shapes of a program, or its mistakes.
///
/// ```
/// use broadloom_ide::{Analysis, Listing, Text, check};
///
/// let text = Text::new("layer.loom", "data x : 32 | 784\nlet y = relu({w} @ x + {b : 64})\n");
/// let checked = check(&mut Analysis::new(&text), Listing::Own);
/// let shapes: Vec<_> = checked.tensors.iter().map(|each| (each.name.as_str(), each.shape.as_str())).collect();
/// assert_eq!(shapes, [("x", "32 | 784"), ("w", "784 -> 64"), ("b", "64"), ("y", "32 | 64")]);
/// assert_eq!(checked.parameters.elements, Some(784 * 64 + 64));
/// ```
pub fn check(analysis: &mut Analysis, listing: Listing) -> Checked {
    let diagnostics = diagnostics(analysis);
    let program = &mut analysis.program;
    let shapes = if program.is_ok() { program.graph.final_shapes().ok() } else { None };
    let how = shapes.as_ref().and_then(|_| program.graph.how_all().ok());
    let params = program.graph.params();
    let checks =
        if shapes.is_some() { program.graph.runtime_checks().unwrap_or_default() } else { Vec::new() };
    let tensor = |made: &NamedTensor| {
        let shape = shapes.as_ref().map(|shapes| shapes.get(made.tensor));
        let how = how.as_ref().and_then(|how| how.get(made.tensor.index()));
        checked(analysis, made, shape.as_ref(), how)
    };
    Checked {
        file: analysis.name.clone(),
        dims: dims(analysis),
        tensors: analysis.listed(listing).map(tensor).collect(),
        parameters: Parameters {
            tensors: params.len() as u64,
            elements: shapes.as_ref().map(|shapes| elements(shapes, &params)),
        },
        relies_on: checks.iter().map(ToString::to_string).collect(),
        diagnostics,
    }
}

/// The errors of a program, and warnings about code that may not mean what was intended: what [`check`] finds, without the
/// shapes.
///
/// ```
/// use broadloom_ide::{Analysis, Text, diagnostics};
///
/// let found = diagnostics(&mut Analysis::new(&Text::new("a.loom", "data x : 3\nlet y = 2 * z\n")));
/// assert_eq!(found[0].message, "`z` is not defined");
/// ```
pub fn diagnostics(analysis: &mut Analysis) -> Vec<Diagnostic> {
    let found = warnings(&mut analysis.program);
    analysis.program.diagnostics.iter().cloned().chain(found).collect()
}

fn checked(
    analysis: &Analysis,
    made: &NamedTensor,
    shape: Option<&Shape>,
    known: Option<&How>,
) -> CheckedTensor {
    let program = &analysis.program;
    let (text, rows) = match shape {
        Some(shape) => (shape.to_string(), Rows::from(shape)),
        None => {
            let partial = program.graph.shape(made.tensor);
            (partial.to_string(), Rows::from(&partial))
        }
    };
    let (how, rule) = known.map(how).unzip();
    CheckedTensor {
        name: made.name.clone(),
        kind: kind(&program.graph, made.tensor),
        shape: text,
        rows,
        elements: shape.map(Shape::elements),
        how,
        rule: rule.flatten(),
        place: Line::new(&program.sources, made.span),
        span: made.span,
    }
}

impl CheckedTensor {
    /// A description of how the shape is known; empty if the program has errors.
    pub fn how_words(&self) -> &str {
        match (self.how, &self.rule) {
            (_, Some(rule)) => rule,
            (Some("forced"), None) => "inferred",
            (how, None) => how.unwrap_or_default(),
        }
    }
}

/// The number of elements of several tensors together.
fn elements(shapes: &Shapes, tensors: &[Tensor]) -> u64 {
    tensors.iter().map(|tensor| shapes.get(*tensor).elements()).fold(0, u64::saturating_add)
}
