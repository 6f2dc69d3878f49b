//! Hints for an editor: shapes and sizes that are not written in the program, shown beside names, in pipes and in specs.

use std::sync::Arc;

use broadloom::{Shapes, Tensor};
use broadloom_diagnostics::Span;
use broadloom_lang::Program;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::analysis::Analysis;
use crate::labels::sizes_within;
use crate::names::{BindingKind, Bindings};
use crate::stages::stages;
use crate::words::{different, listed};

/// A text beside a name, a stage of a pipe or a spec.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Hint {
    /// The line on which it is shown, from 1.
    pub line: u32,
    /// The column behind what it is about, from 1 in characters: where it is shown.
    pub column: u32,
    /// The text that is shown: `: 784 -> 64`.
    pub text: String,
    /// The shape as it can be written after the name, if there is one shape and all of it is known.
    #[serde(skip)]
    pub shape: Option<String>,
    /// The name, the pipe up to the stage, or the text of the spec.
    #[serde(skip)]
    pub span: Span,
}

/// The shapes of values, data, states and parameters that are named without a shape, those between the stages of pipes, and the
/// sizes of the labels of specs, in the order of the text. If the program has errors or is unfinished, they show what is known:
/// `?` is a size, `...` any number of axes.
///
/// ```
/// use broadloom_ide::{Analysis, Text, hints};
///
/// let text = Text::new("layer.loom", "data x : 32 | 784\nlet y = {w} @ x + {b : 64}\nlet z = y |> linear(10) |> relu\n");
/// let hints = hints(&mut Analysis::new(&text));
/// let shown: Vec<_> = hints.iter().map(|hint| (hint.line, hint.column, hint.text.as_str())).collect();
/// let names = [(2, 6, ": 32 | 64"), (2, 11, ": 784 -> 64"), (3, 6, ": 32 | 10")];
/// assert_eq!(shown, [names[0], names[1], names[2], (3, 24, ": 32 | 10")]);
/// ```
pub fn hints(analysis: &mut Analysis) -> Vec<Hint> {
    hints_within(analysis, 0, u32::MAX)
}

/// The [`hints`] that are shown between two offsets: those of a screen.
pub fn hints_within(analysis: &mut Analysis, start: u32, end: u32) -> Vec<Hint> {
    let is_asked = |span: Span| start <= span.end && span.end <= end;
    let mut found = hints_of_names(analysis, is_asked);
    let shapes = Known::of(analysis);
    let stages = stages(&analysis.program, |tensor| shapes.shape(&analysis.program, tensor), is_asked);
    let stages = stages.into_iter().map(|(span, shapes)| (span, listed(&different(shapes.into_iter()))));
    let mut others: Vec<(Span, String)> = stages.collect();
    others.extend(sizes_within(analysis, start, end));
    let source = analysis.sources().get(analysis.program.main);
    found.extend(others.into_iter().map(|(span, text)| {
        let (line, column) = source.position(span.end);
        Hint { line, column, text: format!(": {text}"), shape: None, span }
    }));
    found.sort_by_key(|hint| (hint.span.end, hint.span.start));
    found
}

/// The shapes of a program: final ones, or what is known if it has errors.
struct Known(Option<Arc<Shapes>>);

impl Known {
    fn of(analysis: &mut Analysis) -> Known {
        Known(if analysis.is_ok() { analysis.program.graph.final_shapes().ok() } else { None })
    }

    fn shape(&self, program: &Program, tensor: &Tensor) -> String {
        match &self.0 {
            Some(shapes) => shapes.get(*tensor).to_string(),
            None => program.graph.shape(*tensor).to_string(),
        }
    }
}

/// The shapes beside names at places that are asked for.
pub(crate) fn hints_of_names(analysis: &mut Analysis, is_asked: impl Fn(Span) -> bool) -> Vec<Hint> {
    let shapes = Known::of(analysis);
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
    let shape = |tensor: &Tensor| shapes.shape(program, tensor);
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
