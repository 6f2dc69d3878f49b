//! Layers as other libraries configure them, in the words of this one: `nn.Linear(3, 8)` is `linear(8)`.

use crate::eval::Eval;
use crate::eval::advice::call_advice::CallAdvice;
use crate::eval::advice::rules;
use crate::suggest::{self, Configured};
use crate::syntax::ast::{Arg, ExprId, ExprKind, Ident};
use crate::value::Value;

/// The layers of a list or of a call that puts them in a row, each as it is written here.
pub(in crate::eval) fn layers_in_a_row(eval: &Eval<'_>, args: &[Arg]) -> Vec<String> {
    let file = &eval.frame.file;
    let items: Vec<ExprId> = match args {
        [Arg { value, .. }] => match &file.expr(*value).kind {
            ExprKind::List(items) => items.clone(),
            _ => vec![*value],
        },
        _ => args.iter().map(|arg| arg.value).collect(),
    };
    items.into_iter().filter_map(|item| layer_here(eval, item)).collect()
}

/// A layer as it is written here; nothing if it is to be left out.
fn layer_here(eval: &Eval<'_>, layer: ExprId) -> Option<String> {
    let own = || eval.quote(eval.span_of(layer));
    match &eval.frame.file.expr(layer).kind {
        ExprKind::Call { callee, args } => match foreign_name(eval, *callee) {
            Some(name) if suggest::is_flatten(eval.text(name.name)) => None,
            Some(name) => Some(configured_here(eval, name, args).unwrap_or_else(own)),
            None => Some(own()),
        },
        ExprKind::Name(_) | ExprKind::Field(..) => {
            let name = foreign_name(eval, layer).map(|name| eval.text(name.name).to_string());
            Some(name.and_then(|name| name_here(eval, &name)).unwrap_or_else(own))
        }
        _ => Some(own()),
    }
}

/// Advice for a call of a layer of another library: how it is written here, if there is such a layer.
pub(in crate::eval) fn translated_call(eval: &Eval<'_>, callee: ExprId, args: &[Arg]) -> Option<CallAdvice> {
    let name = foreign_name(eval, callee)?;
    if let Some(number) = special_number(eval, name, args) {
        return Some(CallAdvice::write(number.to_string()));
    }
    // The function itself may be all that is wrong: `ReLU(x)`.
    let layer = suggest::layer(eval.text(name.name));
    let is_type = eval.text(name.name).starts_with(char::is_uppercase) || layer.is_some();
    let is_number = |arg: &Arg| match eval.frame.file.expr(arg.value).kind {
        ExprKind::Name(name) => !matches!(eval.frame.scope.find(name), Some(Value::Tensor(_)) | None),
        _ => eval.literal_number(arg.value).is_some(),
    };
    // As a function of other libraries it is applied at once: `max_pool2d(x, 2)`.
    if let (Some(_), [x, rest @ ..]) = (layer, args)
        && !is_number(x)
        && !rest.is_empty()
        && rest.iter().all(|arg| arg.name.is_some() || is_number(arg))
    {
        let written =
            format!("{}({})", configured_here(eval, name, rest)?, eval.quote(eval.span_of(x.value)));
        return Some(CallAdvice::write(written));
    }
    let given = args.iter().any(|arg| arg.name.is_some() || is_number(arg));
    if !is_type || !given && !args.is_empty() {
        return None;
    }
    let written = configured_here(eval, name, args)?;
    // Only the name may be another one.
    let list: Vec<String> = args.iter().map(|arg| eval.quote(eval.span_of(arg.value))).collect();
    let is_name = matches!(eval.frame.file.expr(callee).kind, ExprKind::Name(_));
    if is_name && written.ends_with(&format!("({})", list.join(", "))) {
        return None;
    }
    let reads = suggest::layer(eval.text(name.name));
    if args.iter().any(|arg| rules::is_parameters(eval, arg.value)) {
        let behind = ", without parameters: `minimise loss by` it changes those that the loss depends on, and `minimise loss of net by` it those of `net`";
        return Some(CallAdvice::write_because("", written, behind));
    }
    let is_told = reads.is_some_and(|(here, reads)| reads == Configured::InputFirst || here == "linear");
    let behind = if is_told { ": the input size is inferred" } else { "" };
    Some(CallAdvice::write_because("", written, behind))
}

/// The number that Python reads in a text: `float("inf")`.
fn special_number(eval: &Eval<'_>, name: Ident, args: &[Arg]) -> Option<&'static str> {
    let [Arg { name: None, value }] = args else { return None };
    let ExprKind::Text(text) = &eval.frame.file.expr(*value).kind else { return None };
    suggest::number_type(eval.text(name.name))?;
    suggest::special_number(text)
}

/// The name of something that does not exist here: `Linear`, `nn.Linear`.
fn foreign_name(eval: &Eval<'_>, of: ExprId) -> Option<Ident> {
    let file = &eval.frame.file;
    match &file.expr(of).kind {
        ExprKind::Name(name) => {
            eval.frame.scope.find(*name).is_none().then_some(Ident { name: *name, span: file.expr(of).span })
        }
        ExprKind::Field(base, field) => {
            let mut base = *base;
            while let ExprKind::Field(inner, _) = &file.expr(base).kind {
                base = *inner;
            }
            let ExprKind::Name(library) = file.expr(base).kind else { return None };
            let is_foreign = eval.frame.scope.find(library).is_none();
            (is_foreign && suggest::is_library(eval.text(library))).then_some(*field)
        }
        _ => None,
    }
}

/// The name that a function of another library has here.
pub(in crate::eval) fn name_here(eval: &Eval<'_>, name: &str) -> Option<String> {
    if let Some((here, _)) = suggest::layer(name) {
        return Some(here.to_string());
    }
    let known = eval.frame.scope.all();
    let mut same = known.iter().map(|known| eval.names.text(*known));
    same.find(|known| suggest::is_same(known, name)).map(str::to_string)
}

/// A layer with the configuration that it needs here.
fn configured_here(eval: &Eval<'_>, name: Ident, args: &[Arg]) -> Option<String> {
    let text = eval.text(name.name);
    let here = name_here(eval, text)?;
    let configured = suggest::layer(text).map_or(Configured::Same, |(_, configured)| configured);
    let function = match eval.names.find(&here).and_then(|name| eval.frame.scope.find(name))? {
        Value::Function(function) => function,
        // Without configuration it is a layer as it stands.
        Value::Layer(_) | Value::Builtin(_) | Value::Operation(_) => return Some(here),
        _ => return None,
    };
    let config = function.def.config.as_deref().unwrap_or(&[]);
    // What a rule changes is said where it is used.
    let args: Vec<&Arg> = args.iter().filter(|arg| !rules::is_parameters(eval, arg.value)).collect();
    let known = |name: &str| config.iter().any(|each| eval.text(each.name.name) == name);
    let plain: Vec<&Arg> = args.iter().filter(|arg| arg.name.is_none()).copied().collect();
    let left_out = match configured {
        Configured::InputFirst => usize::from(plain.len() > 1),
        Configured::Nothing => plain.len(),
        Configured::Same => 0,
    };
    let mut list: Vec<String> =
        plain.iter().skip(left_out).map(|arg| eval.quote(eval.span_of(arg.value))).collect();
    for (name, arg) in args.iter().filter_map(|arg| Some((arg.name?, arg))) {
        let text = eval.text(name.name);
        let is_text = matches!(eval.frame.file.expr(arg.value).kind, ExprKind::Text(_));
        let meant = suggest::argument(text).iter().find(|meant| known(meant)).copied();
        // How far other libraries pad is a number.
        let meant = meant.or_else(|| known(text).then_some(text)).filter(|_| text != "padding" || is_text);
        if let Some(meant) = meant.filter(|_| configured != Configured::Nothing) {
            list.push(format!("{meant} = {}", eval.quote(eval.span_of(arg.value))));
        }
    }
    if list.is_empty() && config.iter().any(|each| eval.text(each.name.name) == "axes") {
        list.push("\"... | v\"".to_string());
    }
    Some(format!("{here}({})", list.join(", "))).filter(|written| !written.contains('…'))
}
