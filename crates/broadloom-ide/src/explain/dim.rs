//! `explain` for a size with a name: its declaration, the lines that narrow its range, and the
//! parts of the program that rely on it.
//!
//! ```text
//! n is from 6 to 64, and 10 if nothing else is said
//! 3 | let z = x[5]
//!   |         ---- `z`: its index has to fit; takes the first batch axis of `x`
//!   = in the shape of `x`
//! 1 | dim n in 1..64 = 10
//!   | ^^^^^^^^^^^^^^^^^^^ declared 1..64; the program leaves 6..64
//! ```

use broadloom_diagnostics::Span;
use broadloom_lang::{Dim, Program};

use super::{ChainStep, Explanation, origin};
use crate::dims::{Range, left, range_text};
use crate::place::Place;
use crate::words::counted;

/// The most tensors that are listed; more are only counted.
const NAMED: usize = 6;

/// Explains a size with a name.
pub(super) fn explain(program: &mut Program, dim: &Dim) -> Explanation {
    let set = program.sizes.iter().any(|(name, _)| *name == dim.name);
    let mut steps = Vec::new();
    let (is, end) = match dim.range {
        None => (format!("is {}, a number", dim.size), "declared here".to_string()),
        Some(range) if dim.symbolic => {
            let left = left(program, dim);
            let possible = left.unwrap_or(range);
            steps.extend(left.into_iter().flat_map(|left| narrowed(program, dim, range, left)));
            let is = format!("is {}, and {} if nothing else is said", from_to(possible), dim.size);
            let narrower = left.map(|left| format!("; the program leaves {}", range_text(left)));
            (is, format!("declared {}{}", range_text(range), narrower.unwrap_or_default()))
        }
        Some(range) => {
            let how = match dim.needed {
                Some(span) => {
                    steps.push(("needs the number when the program is built".into(), Some(span)));
                    "which the program needs before it runs"
                }
                None if set => "which is set",
                None => {
                    let (low, high) = range;
                    let other = [low, low.saturating_add(1)].into_iter().find(|size| *size != dim.size);
                    let other = other.filter(|other| high.is_none_or(|high| *other <= high));
                    steps.extend(refused(program, dim, other.into_iter()));
                    "because of what it meets"
                }
            };
            (format!("is {}, {how}", dim.size), format!("declared {}", range_text(range)))
        }
    };
    if dim.range.is_some() {
        steps.extend(relying(program, dim).into_iter().map(|text| (text, None)));
    }
    Explanation {
        of: dim.name.clone(),
        kind: "dim",
        size: if dim.symbolic { dim.name.clone() } else { dim.size.to_string() },
        forced: !dim.symbolic,
        steps: steps.into_iter().map(|(text, span)| ChainStep::new(program, text, span)).collect(),
        tensor: None,
        shape: None,
        place: Place::new(&program.sources, dim.span),
        is,
        end,
        span: dim.span,
    }
}

/// `from 1 to 64`
fn from_to((low, high): Range) -> String {
    match high {
        Some(high) if high == low => format!("{low}"),
        Some(high) => format!("from {low} to {high}"),
        None => format!("at least {low}"),
    }
}

/// The lines that narrow the declared range: those that refuse the sizes next to the remaining
/// ones.
fn narrowed(program: &Program, dim: &Dim, range: Range, left: Range) -> Vec<(String, Option<Span>)> {
    let below = (left.0 > range.0).then(|| left.0 - 1);
    let above = left.1.filter(|high| range.1 != Some(*high)).map(|high| high + 1);
    refused(program, dim, below.into_iter().chain(above))
}

/// The reasons why sizes in range are refused, and the places where those are written.
fn refused(program: &Program, dim: &Dim, sizes: impl Iterator<Item = u64>) -> Vec<(String, Option<Span>)> {
    let mut reasons = Vec::new();
    for size in sizes {
        let Err(error) = program.graph.with_sizes(&[(dim.name.as_str(), size)]) else { continue };
        for part in error.ends().iter().chain(error.chain()) {
            let reason = (part.text.clone(), origin(program, part.step));
            if reason.1.is_some_and(|span| span != dim.span) && !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    }
    reasons
}

/// The conditions on the size that the program relies on, and the tensors that have it in their
/// shape.
fn relying(program: &mut Program, dim: &Dim) -> Vec<String> {
    let checks = program.graph.runtime_checks().unwrap_or_default();
    let about = checks.iter().filter(|check| check.names().any(|name| name == dim.name));
    let mut said: Vec<String> = about.map(|check| format!("relies on: {check}")).collect();
    let Ok(shapes) = program.graph.final_shapes() else { return said };
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let has = |shape: String| shape.split(|letter| !is_word(letter)).any(|word| word == dim.name);
    let made = program.made.iter().filter(|made| made.level == 0 && has(shapes.get(made.tensor).to_string()));
    let names: Vec<String> = made.map(|made| format!("`{}`", made.name)).collect();
    let more = names.len().saturating_sub(NAMED);
    let rest = if more > 0 { format!(" and {} more", counted(more as u64, "tensor")) } else { String::new() };
    if !names.is_empty() {
        let word = if names.len() == 1 { "shape" } else { "shapes" };
        said.push(format!("in the {word} of {}{rest}", names[..names.len() - more].join(", ")));
    }
    said
}
