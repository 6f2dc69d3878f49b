//! The labels of specs: their sizes, and where these come from.

use broadloom::{Captured, Node, StepId, Tensor};
use broadloom_diagnostics::Span;
use broadloom_lang::syntax::ast::ExprKind;

use crate::analysis::Analysis;
use crate::spec_words::{Word, has_letters, word_at, words};
use crate::words::{different, listed};

/// The most tensors of one spec that are looked at: a function makes them again in each application.
const TENSORS: usize = 100;

/// The most steps from the origin of a size that a hover lists.
const STEPS: usize = 4;

/// A text that is the first argument of a call, and what was made by it.
struct Used {
    span: Span,
    tensors: Vec<Tensor>,
}

/// The sizes of the labels of each spec between two offsets, behind its text: `i=3, j=4`. A size that is not known is `?`; a spec none of
/// whose sizes are known has none.
pub(crate) fn sizes_within(analysis: &mut Analysis, start: u32, end: u32) -> Vec<(Span, String)> {
    let used = used_within(analysis, start, end);
    let mut asked = Vec::new();
    for (at, each) in used.iter().enumerate() {
        let spec = each.span.slice(text_of(analysis));
        for label in words(spec, has_letters(spec)) {
            let sizes = captured(analysis, &each.tensors, &label);
            let is_row = spec.contains(&format!("..{label}.."));
            if !is_row && !sizes.is_empty() {
                asked.push((at, label, sizes));
            }
        }
    }
    let all: Vec<Captured> = asked.iter().flat_map(|(.., sizes)| sizes.iter().copied()).collect();
    let mut known = sizes_of(analysis, &all, false).into_iter();
    let mut shown: Vec<(Span, Vec<(String, bool)>)> =
        used.iter().map(|each| (each.span, Vec::new())).collect();
    for (at, label, sizes) in asked {
        let found = different(known.by_ref().take(sizes.len()).flatten());
        let text = if found.is_empty() { "?".to_string() } else { listed(&found) };
        shown[at].1.push((format!("{label}={text}"), !found.is_empty()));
    }
    shown.retain(|(_, labels)| labels.iter().any(|(_, is_known)| *is_known));
    let line = |labels: Vec<(String, bool)>| {
        labels.into_iter().map(|(text, _)| text).collect::<Vec<String>>().join(", ")
    };
    shown.into_iter().map(|(span, labels)| (span, line(labels))).collect()
}

/// A label or a row variable under the cursor.
pub(crate) struct Label {
    /// The name as it is written, `i` or `..r..`.
    pub name: String,
    pub span: Span,
    pub is_row: bool,
    /// Its sizes, as far as they are known.
    pub size: String,
    /// The tensors that have it, and where its size comes from.
    pub facts: Vec<String>,
}

/// The label at an offset.
pub(crate) fn label_at(analysis: &mut Analysis, offset: u32) -> Option<Label> {
    let used = used_within(analysis, offset, offset).into_iter().next()?;
    let Word { text: name, span, is_row } = word_at(text_of(analysis), used.span, offset)?;
    let sizes = captured(analysis, &used.tensors, &name);
    let first = *sizes.first()?;
    let shown = different(sizes_of(analysis, &sizes, is_row).into_iter().flatten());
    let size = if shown.is_empty() { "?".to_string() } else { listed(&shown) };
    let mut facts = Vec::new();
    if !is_row {
        facts.extend(stands_in(analysis, &used, &name));
        facts.extend((shown.len() == 1).then(|| origin(analysis, first)).flatten());
    }
    Some(Label { name: if is_row { format!("..{name}..") } else { name }, span, is_row, size, facts })
}

/// The name of the label at an offset behind that of the tensor that its spec makes, `y.h`; nothing if that tensor has no name, or if it is a row variable.
pub(crate) fn named_label(analysis: &Analysis, offset: u32) -> Option<String> {
    let used = used_within(analysis, offset, offset).into_iter().next()?;
    let word = word_at(text_of(analysis), used.span, offset).filter(|word| !word.is_row)?;
    let made = analysis.program.made.iter().rev().find(|made| used.tensors.contains(&made.tensor))?;
    analysis.program.graph.captured(made.tensor, &word.text).ok()?;
    Some(format!("{}.{}", made.name, word.text))
}

/// The first place in its spec where the label at an offset is written.
pub(crate) fn label_definition(analysis: &Analysis, offset: u32) -> Option<Span> {
    let used = used_within(analysis, offset, offset).into_iter().next()?;
    let word = word_at(text_of(analysis), used.span, offset)?;
    first_in(text_of(analysis), used.span, &word.text)
}

/// The first place where a label is written in the spec that made a tensor, which is bound at a place.
pub(crate) fn label_in_spec_of(
    analysis: &Analysis,
    bound: Span,
    tensor: Tensor,
    label: &str,
) -> Option<Span> {
    let statements = &analysis.program.file.statements;
    let around = statements.iter().find(|statement| statement.span.contains(bound))?.span;
    let used = used_within(analysis, around.start, around.end);
    let made = used.iter().find(|used| used.tensors.contains(&tensor))?;
    first_in(text_of(analysis), made.span, label)
}

/// The first place where a label is written in a spec.
fn first_in(text: &str, spec: Span, label: &str) -> Option<Span> {
    let offsets = spec.start + 1..spec.end;
    let mut words = offsets.filter_map(|offset| word_at(text, spec, offset));
    words.find(|word| word.text == label).map(|word| word.span)
}

fn text_of(analysis: &Analysis) -> &str {
    analysis.sources().get(analysis.program.main).text()
}

/// The texts between two offsets that may be specs, in order, with the tensors that were made by them.
fn used_within(analysis: &Analysis, start: u32, end: u32) -> Vec<Used> {
    let (program, file) = (&analysis.program, &analysis.program.file);
    let statements = &file.statements;
    let first = statements.partition_point(|statement| statement.span.end < start);
    let mut found = Vec::new();
    for statement in statements[first..].iter().take_while(|statement| statement.span.start <= end) {
        for (_, expr) in file.exprs_within(statement.span) {
            let ExprKind::Call { args, .. } = &expr.kind else { continue };
            let Some(first) = args.first().filter(|first| first.name.is_none()) else { continue };
            let (kind, span) = (&file.expr(first.value).kind, file.expr(first.value).span);
            if matches!(kind, ExprKind::Text(_)) && start < span.end && span.start < end.max(start + 1) {
                found.push(Used { span, tensors: Vec::new() });
            }
        }
    }
    found.sort_by_key(|each| each.span);
    found.dedup_by_key(|each| each.span);
    if found.is_empty() {
        return found;
    }
    // They are made by the smallest piece of the program around the text that makes something.
    let mut smallest = vec![u32::MAX; found.len()];
    for tensor in program.graph.tensors() {
        let origin = program.graph.step_of(tensor).and_then(|step| program.origin(step));
        let Some(around) = origin.map(|origin| origin.span).filter(|span| span.source == program.main) else {
            continue;
        };
        let first = found.partition_point(|each| each.span.start < around.start);
        let within = found[first..].iter_mut().zip(&mut smallest[first..]);
        for (each, smallest) in within.take_while(|(each, _)| each.span.start < around.end) {
            let size = around.end - around.start;
            if !around.contains(each.span) || size > *smallest {
                continue;
            }
            if size < std::mem::replace(smallest, size) {
                each.tensors.clear();
            }
            if each.tensors.len() < TENSORS {
                each.tensors.push(tensor);
            }
        }
    }
    found
}

/// The sizes that a label stands for in the specs of tensors.
fn captured(analysis: &Analysis, tensors: &[Tensor], label: &str) -> Vec<Captured> {
    let graph = &analysis.program.graph;
    let has_label = |tensor: &&Tensor| graph.captured_names(**tensor).contains(&label);
    tensors.iter().filter(has_label).filter_map(|tensor| graph.captured(*tensor, label).ok()).collect()
}

/// The sizes, as far as they are known; those of the axes of rows, one after another.
pub(crate) fn sizes_of(
    analysis: &mut Analysis,
    captured: &[Captured],
    are_rows: bool,
) -> Vec<Option<String>> {
    let is_ok = analysis.is_ok();
    let graph = &mut analysis.program.graph;
    let known = |each: &Captured| {
        let number = graph.size(*each).map(|size| size.to_string());
        number.or_else(|| graph.size_expression(*each).map(|size| size.to_string()))
    };
    // So far only the product of a row is known.
    let known = |each| if are_rows { None } else { known(each) };
    let mut sizes: Vec<Option<String>> = captured.iter().map(known).collect();
    let open: Vec<usize> = (0..sizes.len()).filter(|at| is_ok && sizes[*at].is_none()).collect();
    let asked: Vec<Captured> = open.iter().map(|at| captured[*at]).collect();
    // Closing costs as much as a part of a check.
    if let (false, Ok(found)) = (asked.is_empty(), graph.final_captured(&asked)) {
        for (at, size) in open.into_iter().zip(found) {
            sizes[at] = Some(size);
        }
    }
    sizes
}

/// The tensors of an operation that have a label, in a sentence.
fn stands_in(analysis: &Analysis, used: &Used, label: &str) -> Option<String> {
    let program = &analysis.program;
    let spec = &program.specs.iter().rev().find(|written| written.span == used.span)?.spec;
    let operands = used.tensors.iter().find_map(|tensor| match program.graph.node(*tensor) {
        Some(Node::Operation { operands, .. }) if operands.len() == spec.operands.len() => Some(operands),
        _ => None,
    })?;
    let axis = spec.names.axes.find(label)?;
    let has: Vec<bool> = spec
        .shapes()
        .map(|shape| shape.axes().any(|each| each.labels().any(|other| other == axis)))
        .collect();
    let named = operands.iter().zip(&has).filter(|(_, has)| **has);
    let mut places: Vec<String> =
        named.map(|(operand, _)| format!("`{}`", program.graph.label_of(*operand))).collect();
    places.dedup();
    let is_kept = has[spec.operands.len()..].contains(&true);
    Some(match (places.is_empty(), is_kept) {
        (true, _) => "It is only in the result.".to_string(),
        (false, true) => format!("It stands in {} and in the result.", places.join(" and ")),
        (false, false) => {
            format!(
                "It stands in {}, and not in the result: values along it are combined.",
                places.join(" and ")
            )
        }
    })
}

/// The steps from the origin of a size to the label, each with its line.
pub(crate) fn origin(analysis: &mut Analysis, captured: Captured) -> Option<String> {
    if !analysis.is_ok() {
        return None;
    }
    let why = analysis.program.graph.why_size(captured).ok()?;
    let program = &analysis.program;
    let line = |step: Option<StepId>| {
        let origin = program.origin(step?).filter(|origin| origin.span.source == program.main)?;
        Some(format!(" (line {})", program.sources.position(origin.span).0))
    };
    let count = why.parts.len();
    let mut steps: Vec<String> = why
        .parts
        .iter()
        .take(STEPS)
        .map(|part| format!("- {}{}", part.text, line(part.step).unwrap_or_default()))
        .collect();
    if count > STEPS {
        steps.push(format!("- and {} more", count - STEPS));
    }
    let how = if why.forced { "It comes from" } else { "It was chosen:" };
    (count > 0).then(|| format!("{how}\n\n{}", steps.join("\n")))
}
