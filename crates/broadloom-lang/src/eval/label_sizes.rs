//! Sizes of labels that a call gives: `einsum("b (h d) => b h d", x, h = 8)` is the spec, and `set y.h = 8` for its result.

use broadloom::Tensor;

use super::given::{Call, Given};
use super::spec::By;
use super::{Eval, Evaluated, call, unknown};
use crate::syntax::ast::Ident;
use crate::value::Value;

/// Refuses arguments with names that are neither of these nor in the spec of the call.
pub(super) fn only(eval: &mut Eval<'_>, call: &Call, by: By, names: &[&str]) -> Evaluated<()> {
    let is_other =
        |given: &Given| given.name.is_some_and(|name| !names.contains(&eval.names.text(name.name)));
    if !call.given.iter().any(is_other) {
        return Ok(());
    }
    // What is no spec is reported where it is read.
    let Some(of_spec) = names_of_spec(eval, call, by) else { return Ok(()) };
    let all: Vec<&str> = names.iter().copied().chain(of_spec.iter().map(String::as_str)).collect();
    call::only(eval, call, &all)
}

/// States the sizes that a call gives to labels of the spec that has made a tensor.
pub(super) fn set(eval: &mut Eval<'_>, made: Tensor, call: &Call, names: &[&str]) -> Evaluated<()> {
    for given in &call.given {
        let Some(Ident { name, span, .. }) = given.name else { continue };
        let is_open = unknown::is_open(&given.value) || matches!(given.value, Value::Nothing);
        if names.contains(&eval.names.text(name)) || is_open {
            continue;
        }
        let left = eval.size_in(made, name, span)?;
        let captured = if let Value::Size(size) = &left { size.as_captured() } else { None };
        let Some(captured) = captured else { continue };
        let spans = (given.span, span.to(given.span));
        eval.set_size(captured, &given.value, spans)?;
        eval.note_set(&left, &given.value, spans);
    }
    Ok(())
}

/// The names of labels and rows in the spec of a call: none if it has no text, and nothing if its text is no spec or does not come first.
fn names_of_spec(eval: &mut Eval<'_>, call: &Call, by: By) -> Option<Vec<String>> {
    let plain = call.plain();
    let Some(Given { value: Value::Text(text), span, .. }) = plain.first().copied() else {
        let is_behind = plain.iter().any(|given| matches!(given.value, Value::Text(_)));
        return (!is_behind).then(Vec::new);
    };
    let before = eval.diagnostics.len();
    let filled = eval.filled(text, *span);
    eval.diagnostics.truncate(before);
    let read = eval.read_spec(&filled.ok()?, by).ok()?;
    let names = &read.spec().names;
    let (axes, rows) = (names.axes.iter().map(|(_, name)| name), names.rows.iter().map(|(_, name)| name));
    Some(axes.chain(rows).map(|name| name.text.to_string()).collect())
}
