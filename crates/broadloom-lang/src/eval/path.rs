//! Fields of layers: `net.blocks[0].attend.query`.
//!
//! A layer has as fields its configuration, the parameters that its body has made, and the layers inside of it. The latter
//! are called as the body calls them (`let blocks = [block(8) for i in 0..2]` is `net.blocks`) or, if the body gives them no
//! name, as the tables of shapes do: after `x |> dense(64) |> dense(10)` there are `net.dense` and `net.dense2`. Parameters are
//! called as in the tables, too: those that `for` makes by one pair of braces are `net.w`, `net.w2`, ….

use std::rc::Rc;

use broadloom_diagnostics::Span;

use super::{Eval, Evaluated};
use crate::codes;
use crate::suggest;
use crate::syntax::ast::{Ident, Name};
use crate::value::{Layer, Value};

/// Makes layers that a body binds to a name a field of the layer whose body it is.
pub(super) fn note_part(eval: &mut Eval<'_>, name: Name, value: &Value) {
    if let Some(layer) = eval.frame.layer.as_ref().filter(|_| has_layer(value)) {
        layer.keep_part(name, value.clone());
    }
}

/// The field of a layer.
pub(super) fn part(eval: &mut Eval<'_>, layer: &Rc<Layer>, field: Ident) -> Evaluated<Value> {
    if let Some(value) = find_part(eval, layer, field.name) {
        return Ok(value);
    }
    let text = eval.text(field.name).to_string();
    let name = layer.kept.name.borrow().to_string();
    let message = format!("`{name}` has no parameter and no layer called `{text}`");
    let help = parts_of(eval, layer, &text);
    eval.wrong(codes::FIELD, message, field.span, help)
}

fn find_part(eval: &Eval<'_>, layer: &Layer, name: Name) -> Option<Value> {
    let made = || layer.kept.params.borrow().get(&name).cloned();
    let named = || layer.kept.parts.borrow().get(&name).cloned();
    layer.scope.own(name).or_else(made).or_else(named).or_else(|| unnamed(layer, eval.text(name)))
}

/// Returns true if a layer has a field.
pub(super) fn has_part(eval: &Eval<'_>, layer: &Layer, name: Name) -> bool {
    find_part(eval, layer, name).is_some()
}

/// Reports a field of something that has none.
pub(super) fn no_fields<T>(eval: &mut Eval<'_>, value: &Value, field: Ident, span: Span) -> Evaluated<T> {
    let message = format!("{} has no fields", value.kind());
    let help = match value {
        Value::List(items) if items.iter().any(has_layer) => {
            let field_text = eval.text(field.name);
            let of = eval.quote(Span { end: field.span.start.saturating_sub(1), ..span });
            format!("say which of its {} layers: `{of}[0].{field_text}`", items.len())
        }
        _ => {
            "fields are sizes of tensors (`y.h`), gradients (`w.grad`), parameters and layers of functions, and names of modules".into()
        }
    };
    eval.wrong(codes::FIELD, message, span, help)
}

/// The fields that a layer has, where another one was written.
fn parts_of(eval: &Eval<'_>, layer: &Layer, wanted: &str) -> String {
    let is_part = |value: &Value| matches!(value, Value::Tensor(_)) || has_layer(value);
    let mut known = layer.scope.own_names(is_part);
    known.extend(layer.kept.params.borrow().iter().map(|(name, _)| *name));
    known.extend(layer.kept.parts.borrow().iter().map(|(name, _)| *name));
    let mut known: Vec<String> = known.into_iter().map(|name| eval.text(name).to_string()).collect();
    for (_, inner) in layer.kept.made.borrow().iter() {
        if let Value::Layer(inner) = inner {
            known.extend(own_name(layer, inner).filter(|name| !name.contains('.')));
        }
    }
    for (.., inner) in layer.kept.inner.borrow().iter() {
        known.extend(own_name(layer, inner).filter(|name| !name.contains('.')));
    }
    known.sort_unstable();
    known.dedup();
    if known.is_empty() {
        return "parameters are made when a function is applied for the first time".into();
    }
    let near = suggest::nearest(wanted, known.iter().map(String::as_str));
    let all: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    let all = suggest::listed(&all);
    match near {
        Some(near) => format!("did you mean `{near}`? there is {all}"),
        None => format!("there is {all}"),
    }
}

/// Returns true if a value is a layer, or a list with one in it.
fn has_layer(value: &Value) -> bool {
    match value {
        Value::Layer(_) | Value::Inference(_) => true,
        Value::List(items) => items.iter().any(has_layer),
        _ => false,
    }
}

/// A layer inside of another one to which the body gives no name of its own.
fn unnamed(layer: &Layer, wanted: &str) -> Option<Value> {
    let is_wanted = |inner: &Layer| own_name(layer, inner).is_some_and(|name| name == wanted);
    let (made, defined) = (layer.kept.made.borrow(), layer.kept.inner.borrow());
    let found = made.iter().map(|(_, value)| value).find(|value| match value {
        Value::Layer(inner) => is_wanted(inner),
        _ => false,
    });
    let defined = || defined.iter().find(|(.., inner)| is_wanted(inner));
    found.cloned().or_else(|| defined().map(|(.., inner)| Value::Layer(inner.clone())))
}

/// The path of a layer inside of another one, once it has made something.
fn own_name(layer: &Layer, inner: &Layer) -> Option<String> {
    let (outer, path) = (layer.kept.path.borrow(), inner.kept.path.borrow());
    let name = path.as_deref()?.strip_prefix(outer.as_deref()?)?.strip_prefix('.')?;
    Some(name.to_string())
}
