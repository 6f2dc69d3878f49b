//! Hints for an editor: shapes that are not written in the program, shown beside names.

use broadloom::Tensor;
use broadloom_diagnostics::Span;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::analysis::Analysis;
use crate::names::{BindingKind, Bindings};

/// The most shapes of one name that are shown: a function makes its parameters again for each
/// configuration.
const SHAPES: usize = 3;

/// A text beside a name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Hint {
    /// The line of the name, from 1.
    pub line: u32,
    /// The column after the name, from 1 in characters: where the hint is shown.
    pub column: u32,
    /// The text that is shown: `: 784 -> 64`.
    pub text: String,
    /// The shape as it can be written after the name, if there is one shape and all of it is known.
    #[serde(skip)]
    pub shape: Option<String>,
    /// The name.
    #[serde(skip)]
    pub span: Span,
}

/// The shapes of values, data, states and parameters that are named without a shape, in the order
/// of the text. If the program has errors or is unfinished, they show what is known: `?` is a size,
/// `...` any number of axes.
///
/// ```
/// use broadloom_ide::{Analysis, Text, hints};
///
/// let text = Text::new("layer.loom", "data x : 32 | 784\nlet y = {w} @ x + {b : 64}\n");
/// let hints = hints(&mut Analysis::new(&text));
/// let shown: Vec<_> = hints.iter().map(|hint| (hint.line, hint.column, hint.text.as_str())).collect();
/// assert_eq!(shown, [(2, 6, ": 32 | 64"), (2, 11, ": 784 -> 64")]);
/// ```
pub fn hints(analysis: &mut Analysis) -> Vec<Hint> {
    hints_within(analysis, 0, u32::MAX)
}

/// The [`hints`] that are shown between two offsets: those of a screen.
pub fn hints_within(analysis: &mut Analysis, start: u32, end: u32) -> Vec<Hint> {
    hints_at(analysis, |span| start <= span.end && span.end <= end)
}

/// The [`hints`] of names at places that are asked for.
pub(crate) fn hints_at(analysis: &mut Analysis, is_asked: impl Fn(Span) -> bool) -> Vec<Hint> {
    let shapes = if analysis.is_ok() { analysis.program.graph.final_shapes().ok() } else { None };
    let program = &analysis.program;
    let source = program.sources.get(program.main);
    let mut made: FxHashMap<Span, Vec<Tensor>> = FxHashMap::default();
    for each in program.made.iter().filter(|each| each.span.source == program.main && is_asked(each.span)) {
        made.entry(each.span).or_default().push(each.tensor);
    }
    let mut hints = Vec::new();
    if made.is_empty() {
        return hints;
    }
    let shape = |tensor: &Tensor| match &shapes {
        Some(shapes) => shapes.get(*tensor).to_string(),
        None => program.graph.shape(*tensor).to_string(),
    };
    for binding in Bindings::of(program.main, source.text(), &program.file, &program.names).all {
        let has_shape = matches!(
            binding.kind,
            BindingKind::Value | BindingKind::Data | BindingKind::State | BindingKind::Parameter
        );
        let rest = source.text().get(binding.span.end as usize..).unwrap_or_default();
        let is_written = rest.trim_start_matches([' ', '\t']).starts_with(':');
        let Some(tensors) = made.get(&binding.span).filter(|_| has_shape && !is_written) else { continue };
        let (line, column) = source.position(binding.span.end);
        let different = different(tensors.iter().map(shape));
        let is_known = |shape: &&String| !shape.contains(['?', '_']) && !shape.contains("...");
        let known = different.first().filter(|_| different.len() == 1).filter(is_known).cloned();
        let text = format!(": {}", listed(&different));
        hints.push(Hint { line, column, text, shape: known, span: binding.span });
    }
    hints.sort_by_key(|hint| hint.span);
    hints
}

/// The different shapes that a name has, each once.
fn different(shapes: impl Iterator<Item = String>) -> Vec<String> {
    let mut different: Vec<String> = Vec::new();
    for shape in shapes {
        if !different.contains(&shape) {
            different.push(shape);
        }
    }
    different
}

/// Several shapes in words.
fn listed(different: &[String]) -> String {
    let more = different.len().saturating_sub(SHAPES);
    let rest = if more > 0 { format!(" or {more} others") } else { String::new() };
    format!("{}{rest}", different[..different.len() - more].join(" or "))
}
