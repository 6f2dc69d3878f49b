//! Hints inside of pipes: the shapes that stages give, `x |> dense(64) |> relu |> dense(10)`.

use std::collections::BTreeMap;

use broadloom::Tensor;
use broadloom_diagnostics::Span;
use broadloom_lang::{Piped, Program};

/// Shapes behind the stages of the pipes at places that are asked for, all that each has had. A stage is shown if it ends a line
/// of a pipe that is broken into lines, or if the shape is another one behind it. The last stage is not shown where a `let` gives its
/// value a name: the shape stands there.
pub(crate) fn stages(
    program: &Program,
    shape: impl Fn(&Tensor) -> String,
    is_asked: impl Fn(Span) -> bool,
) -> Vec<(Span, Vec<String>)> {
    let text = program.sources.get(program.main).text();
    let mut all: BTreeMap<Span, Vec<&Piped>> = BTreeMap::new();
    for each in &program.piped {
        if each.span.source == program.main && is_asked(each.span) {
            all.entry(each.span).or_default().push(each);
        }
    }
    let mut shown = Vec::new();
    for (span, made) in all {
        let is_last = !rest_of(text, span.end).starts_with("|>");
        if is_last && is_named(text, span.start) {
            continue;
        }
        let after: Vec<String> = made.iter().map(|each| shape(&each.after)).collect();
        let before = made.iter().map(|each| each.before.as_ref().map(&shape));
        let is_changed = || before.zip(&after).any(|(before, after)| before.as_ref() != Some(after));
        let is_broken = ends_line(text, span.end) && (!is_last || span.slice(text).contains('\n'));
        if is_broken || is_changed() {
            shown.push((span, after));
        }
    }
    shown
}

/// The text behind an offset, without blanks, comments and closing brackets.
fn rest_of(text: &str, offset: u32) -> &str {
    let mut rest = text.get(offset as usize..).unwrap_or_default();
    loop {
        rest = rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == ')');
        if !rest.starts_with('#') {
            return rest;
        }
        rest = rest.split_once('\n').map_or("", |(_, below)| below);
    }
}

/// Returns true if nothing but a comment follows on the line.
fn ends_line(text: &str, offset: u32) -> bool {
    let rest = text.get(offset as usize..).unwrap_or_default();
    let line = rest.split(['\n', '\r']).next().unwrap_or_default().trim_start();
    line.is_empty() || line.starts_with('#')
}

/// Returns true if what begins at an offset is the value of a `let`.
fn is_named(text: &str, offset: u32) -> bool {
    let before = text.get(..offset as usize).unwrap_or_default();
    let line = before.rsplit(['\n', '\r']).find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    line.starts_with("let ") && line.ends_with('=')
}
