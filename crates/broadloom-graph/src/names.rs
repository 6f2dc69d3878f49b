//! The names of tensors and operations in messages.
//!
//! | text | for |
//! |---|---|
//! | [`Graph::label_of`] | a tensor inside a sentence: its name, or a short expression |
//! | `subject` | the step a message is about, in full |
//! | `called` | an operation that is only mentioned: by the names of its results, if it has them |

use broadloom_core::Padding;

use crate::operation::id::OperationId;
use crate::size::range_text;
use crate::spec_options::SliceIndex;
use crate::step::{Captured, Choice, Leaf, NONE, Op, Step, StepId, Tensor};
use crate::{Graph, captured};

/// Expressions longer than this are shortened in messages.
const LONGEST: usize = 48;

/// Specs longer than this are left out of expressions, except where the message is about them.
const LONGEST_SPEC: usize = 24;

/// The limits of an expression.
#[derive(Clone, Copy)]
struct Within {
    /// The number of letters.
    longest: usize,
    /// The number of names that are known: those that the graph was given first.
    names: usize,
}

/// The operands of the operation that made a tensor.
pub(crate) fn operands_of(graph: &Graph, tensor: Tensor) -> &[Tensor] {
    graph.tensors.get(tensor.index()).map_or(&[], |data| step_operands(graph, data.step))
}

/// The operands of a step.
pub(crate) fn step_operands(graph: &Graph, step: StepId) -> &[Tensor] {
    match graph.steps.get(step.index()) {
        Some(Step::Op { operands, arity, .. }) => {
            &graph.operands[*operands as usize..(*operands + u32::from(*arity)) as usize]
        }
        _ => &[],
    }
}

/// The results of a step.
pub(crate) fn step_results(graph: &Graph, step: StepId) -> impl Iterator<Item = Tensor> + use<> {
    let range = match graph.steps.get(step.index()) {
        Some(Step::Op { result, results, .. }) => *result..*result + u32::from(*results),
        Some(Step::Leaf { tensor, .. }) => *tensor..*tensor + 1,
        _ => 0..0,
    };
    range.map(Tensor)
}

/// The name that a tensor was given, if it was.
pub(crate) fn name_of(graph: &Graph, tensor: Tensor) -> Option<&str> {
    match graph.tensors.get(tensor.index())?.name {
        NONE => None,
        name => Some(&graph.names[name as usize]),
    }
}

/// The name of a tensor in a message: its own, the application that made it, or how it is computed.
pub(crate) fn message_name(graph: &Graph, tensor: Tensor) -> String {
    match graph.facts.applied.get(&tensor).filter(|_| name_of(graph, tensor).is_none()) {
        Some(text) => text.to_string(),
        None => label_of(graph, tensor),
    }
}

/// The text that stands for a tensor in a sentence: its name, or the expression that makes it.
pub(crate) fn label_of(graph: &Graph, tensor: Tensor) -> String {
    label_among(graph, tensor, graph.names.len())
}

/// The same when the graph had so many names.
fn label_among(graph: &Graph, tensor: Tensor, names: usize) -> String {
    if let Some(text) = expression(graph, tensor, 3, Within { longest: LONGEST, names }) {
        return text;
    }
    // The outer operation alone is clearer than a text cut in the middle.
    let shallow = expression(graph, tensor, 1, Within { longest: usize::MAX, names }).unwrap_or_default();
    if shallow.chars().count() <= LONGEST {
        return shallow;
    }
    shallow.chars().take(LONGEST - 1).chain(['…']).collect()
}

/// The expression that makes a tensor; `None` if it is too long. It is at least as long as its operands, so that the
/// first of them that is too long ends it.
fn expression(graph: &Graph, tensor: Tensor, depth: u32, within: Within) -> Option<String> {
    let longest = within.longest;
    let fits = |text: &str| text.len() <= longest || text.chars().count() <= longest;
    let is_known = |name: u32| name != NONE && (name as usize) < within.names;
    let own = graph.tensors.get(tensor.index()).map(|data| data.name).filter(|name| is_known(*name));
    if let Some(name) = own.map(|name| &*graph.names[name as usize]) {
        return fits(name).then(|| name.into());
    }
    if let Some(text) = graph.facts.shown.get(&tensor) {
        return fits(text).then(|| text.to_string());
    }
    let Some(data) = graph.tensors.get(tensor.index()) else { return Some("?".into()) };
    let text = match graph.steps.get(data.step.index()) {
        Some(Step::Leaf { leaf: Leaf::Constant(value) | Leaf::Number(value), .. }) => format!("{value}"),
        Some(Step::Leaf { leaf: Leaf::Size(at), .. }) => match graph.facts.sizes.get(*at as usize) {
            Some(captured) => captured::captured_name(graph, *captured),
            None => "?".into(),
        },
        Some(Step::Op { .. }) if depth == 0 => "…".into(),
        Some(Step::Op { op, results, result, .. }) => {
            let operands = operands_of(graph, tensor).iter();
            let operands = operands.map(|operand| expression(graph, *operand, depth - 1, within));
            let text = applied(graph, *op, &operands.collect::<Option<Vec<String>>>()?, false);
            if *results > 1 { format!("part {} of {text}", tensor.0 - result + 1) } else { text }
        }
        _ => "?".into(),
    };
    fits(&text).then_some(text)
}

/// An operation applied to the texts of its operands. If `full`, with all of its spec and its
/// options.
fn applied(graph: &Graph, op: Op, operands: &[String], full: bool) -> String {
    let list = operands.join(", ");
    match (op, operands) {
        (Op::Pointwise(id), [a, b]) if id.is_sign() => {
            format!("{} {id} {}", inner(a), inner(b))
        }
        (Op::Pointwise(id), _) => format!("{id}({list})"),
        (Op::Compose, [a, b]) => format!("{} @ {}", inner(a), inner(b)),
        (Op::ComposeAccumulate, [a, b, d]) => format!("{} @ {} + {}", inner(a), inner(b), inner(d)),
        (Op::Transpose, _) => format!("transpose({list})"),
        (Op::Einsum { id: id @ OperationId::Matrix(_), .. }, _) => format!("{id}({list})"),
        (Op::Einsum { id, spec, choice, .. }, _) => {
            let spec = graph.spec(spec);
            if full {
                let choice = choice_of(graph, choice).map_or(String::new(), options);
                format!("{id}(\"{}\", {list}{choice})", spec.text)
            } else if spec.text.chars().count() <= LONGEST_SPEC {
                format!("{id}(\"{}\", {list})", spec.text)
            } else {
                format!("{id}(…, {list})")
            }
        }
        (Op::Slice(SliceIndex::At(at)), _) => format!("slice({list}, {at})"),
        (Op::Slice(SliceIndex::Run { range: Some(range) }), _) => format!("slice({list}, range {range})"),
        (Op::Slice(SliceIndex::Run { range: None }), _) => format!("slice({list})"),
        (Op::Slice(SliceIndex::Turn), _) => format!("{list}, in turn"),
        (Op::Collect, _) => format!("{list} of all turns"),
        (Op::Convert { factor, divisor }, _) if factor == divisor => format!("reshape({list})"),
        (Op::Convert { factor, divisor }, _) => format!("convert({list}, {factor}, {divisor})"),
        (Op::Compose | Op::ComposeAccumulate, _) => list,
    }
}

/// The options that a spec was used with.
pub(crate) fn choice_of(graph: &Graph, choice: u16) -> Option<&Choice> {
    graph.choices.get(usize::from(choice).checked_sub(1)?)
}

/// An operation in full, with the names of its operands; an assignment as it was written.
pub(crate) fn step_text(graph: &Graph, step: StepId) -> Option<String> {
    if let Some(text) = written_step(graph, step) {
        return Some(text);
    }
    let Some(Step::Op { op, .. }) = graph.steps.get(step.index()) else { return None };
    let operands: Vec<String> =
        step_operands(graph, step).iter().map(|operand| label_of(graph, *operand)).collect();
    Some(applied(graph, *op, &operands, true))
}

/// The text of an assignment as it was written, or of a declared shape with the names that there were.
fn written_step(graph: &Graph, step: StepId) -> Option<String> {
    if let Some(text) = graph.facts.texts.get(&step) {
        return Some(text.to_string());
    }
    let Some(Step::Declared(tensor)) = graph.steps.get(step.index()) else { return None };
    let (shape, names) = graph.facts.stated.get(&step)?;
    Some(format!("{} : {shape}", label_among(graph, *tensor, *names as usize)))
}

/// The text of a step that computes something or declares a shape, as a program would write it; the name of a leaf.
fn code_of(graph: &Graph, step: StepId) -> Option<String> {
    if let Some(text) = written_step(graph, step) {
        return Some(text);
    }
    match graph.steps.get(step.index())? {
        Step::Op { .. } => {
            let expression = step_text(graph, step).unwrap_or_default();
            Some(match result_names(graph, step) {
                Some(names) => format!("{names} = {expression}"),
                None => expression,
            })
        }
        Step::Leaf { tensor, .. } => Some(label_of(graph, Tensor(*tensor))),
        _ => None,
    }
}

/// The text of a step that computes something, for a comment: without quotes.
pub(crate) fn plain_subject(graph: &Graph, step: StepId) -> String {
    code_of(graph, step).unwrap_or_else(|| "?".into())
}

/// The text of a step in full, as a program would write it, for a message.
pub(crate) fn subject(graph: &Graph, step: StepId) -> String {
    if let Some(code) = code_of(graph, step) {
        return format!("`{code}`");
    }
    match graph.steps.get(step.index()) {
        Some(Step::Set(captured, size)) => format!("{} set to {size}", captured_text(graph, *captured)),
        Some(Step::Equal(a, b)) => two_captured(graph, *a, "equal to", *b),
        Some(Step::Scale(large, factor, small)) => {
            two_captured(graph, *large, &format!("= {factor} ·"), *small)
        }
        Some(Step::Sum(captured)) => captured_text(graph, *captured),
        Some(Step::Square(tensor)) => format!("input = output of `{}`", label_of(graph, *tensor)),
        Some(Step::Declared(tensor)) => format!("the shape of `{}`", label_of(graph, *tensor)),
        Some(Step::Dim(at, range)) => match graph.symbols.get(*at as usize) {
            Some(data) if *range != (1, None) => format!("`dim {} in {}`", data.name, range_text(*range)),
            Some(data) => format!("`dim {}`", data.name),
            None => "?".into(),
        },
        Some(Step::Size(at, size)) => match graph.symbols.get(*at as usize) {
            Some(data) => format!("`{}` = {size}", data.name),
            None => "?".into(),
        },
        Some(Step::Op { .. } | Step::Leaf { .. }) | None => "?".into(),
    }
}

/// The text of a step that is only mentioned: the names of its results, or a short expression.
pub(crate) fn called(graph: &Graph, step: StepId) -> String {
    match (graph.steps.get(step.index()), result_names(graph, step)) {
        (Some(Step::Op { .. }), Some(names)) => format!("`{names}`"),
        (Some(Step::Op { op, results, result, .. }), None) if *results > 1 => {
            let operands: Vec<String> =
                operands_of(graph, Tensor(*result)).iter().map(|operand| label_of(graph, *operand)).collect();
            format!("`{}`", applied(graph, *op, &operands, false))
        }
        (Some(Step::Op { result, .. }), None) => format!("`{}`", label_of(graph, Tensor(*result))),
        _ => subject(graph, step),
    }
}

/// The names of all results of a step.
fn result_names(graph: &Graph, step: StepId) -> Option<String> {
    let names: Option<Vec<&str>> = step_results(graph, step).map(|tensor| name_of(graph, tensor)).collect();
    names.filter(|names| !names.is_empty()).map(|names| names.join(", "))
}

/// A captured size with its tensor.
pub(crate) fn captured_text(graph: &Graph, captured: Captured) -> String {
    let name = captured::captured_name(graph, captured);
    match captured.tensor() {
        Some(tensor) => format!("`{name}` of `{}`", label_of(graph, tensor)),
        None => format!("`{name}`"),
    }
}

/// A relation of captured sizes; a tensor they share is named once.
fn two_captured(graph: &Graph, a: Captured, relation: &str, b: Captured) -> String {
    if a.tensor() == b.tensor() {
        format!("`{}` {relation} {}", captured::captured_name(graph, a), captured_text(graph, b))
    } else {
        format!("{} {relation} {}", captured_text(graph, a), captured_text(graph, b))
    }
}

/// The words for a spec that could not be read: the call that it was used in.
pub(crate) fn misread(graph: &Graph, name: &str, operands: &[Tensor]) -> String {
    let operands: Vec<String> = operands.iter().map(|operand| label_of(graph, *operand)).collect();
    format!("the spec of `{name}(…, {})`", operands.join(", "))
}

/// An expression as an operand of another.
pub(crate) fn inner(text: &str) -> String {
    if is_infix(text) { format!("({text})") } else { text.into() }
}

fn options(choice: &Choice) -> String {
    let coefficients = choice.coefficients.iter().map(|(name, value)| format!(", {name}={value}"));
    let padding = choice.padding.map(|padding| match padding {
        Padding::Padded => ", padded".to_string(),
        Padding::Valid => ", valid".to_string(),
        Padding::Dropped => ", dropping the rest".to_string(),
    });
    coefficients.chain(padding).collect()
}

/// Returns true if an expression needs parentheses inside another: it has a space outside of
/// parentheses.
fn is_infix(text: &str) -> bool {
    let mut depth = 0;
    text.chars().any(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        letter == ' ' && depth == 0
    })
}
