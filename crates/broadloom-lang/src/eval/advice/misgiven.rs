//! Arguments that belong elsewhere: what a layer is applied to among its configuration, parameters for a rule, a text for a
//! function.

use std::rc::Rc;

use broadloom::Tensor;
use broadloom_diagnostics::{Diagnostic, Span};

use crate::codes;
use crate::eval::advice::axes::one_axis;
use crate::eval::advice::call_advice::CallAdvice;
use crate::eval::advice::foreign::signature;
use crate::eval::advice::rules;
use crate::eval::given::Given;
use crate::eval::{Eval, Evaluated};
use crate::suggest;
use crate::syntax::ast::{Argument, ExprKind, Ident};
use crate::value::{Function, Layer, Value};

/// Ends of the names of configuration that no tensor is meant for.
const NUMBERS: [&str; 17] = [
    "size",
    "axes",
    "axis",
    "count",
    "before",
    "channels",
    "vocabulary",
    "hidden",
    "heads",
    "height",
    "width",
    "stride",
    "length",
    "rate",
    "delta",
    "epsilon",
    "momentum",
];

/// Reports a layer of the library that is given what it is applied to in place of its configuration, or behind it.
pub(in crate::eval) fn configured_by_tensor(
    eval: &mut Eval<'_>,
    function: &Rc<Function>,
    arguments: &[Argument],
    given: &[Given],
    span: Span,
) -> Evaluated<()> {
    let config = function.def.config.as_deref();
    let is_config = config.is_some_and(|config| std::ptr::eq(config, arguments));
    let from = function.def.name.span.source;
    let has_tensors = given.iter().any(|each| matches!(each.value, Value::Tensor(_)));
    if !is_config || !has_tensors || !eval.library.contains(&from) {
        return Ok(());
    }
    // A rule may be configured with a tensor as its rate.
    if eval.library.has_rules(from) {
        return Ok(());
    }
    let named = |at: usize| arguments.get(at).map(|each| eval.text(each.name.name));
    let is_input = |(at, each): (usize, &Given)| {
        let no_tensor = named(at).is_none_or(|name| NUMBERS.iter().any(|number| name.ends_with(number)));
        matches!(each.value, Value::Tensor(_)) && each.name.is_none() && no_tensor
    };
    let Some(first) = given.iter().enumerate().position(is_input) else { return Ok(()) };
    let is_tensor = |each: &&Given| matches!(each.value, Value::Tensor(_)) && each.name.is_none();
    let inputs: Vec<String> = given.iter().filter(is_tensor).map(|each| eval.quote(each.span)).collect();
    let name = eval.text(function.def.name.name).to_string();
    let argument = named(0).unwrap_or_default().to_string();
    let config = match (&*argument, &given[first].value) {
        ("axes" | "axis", Value::Tensor(tensor)) => with_axis(eval, function, arguments, given, *tensor),
        _ => with_example(eval, function, arguments, given),
    };
    let message = format!("`{name}` is configured first, by `{argument}`, and then applied");
    let (place, at) = (eval.place(span), eval.place(given[first].span));
    let mut diagnostic = Diagnostic::error(codes::ARGUMENTS, message, at, "a tensor, to which it is applied");
    if place == at {
        diagnostic.labels[0].text.clear();
    }
    let (config, inputs) = (config.join(", "), inputs.join(", "));
    let written = match eval.place(given[first].span) == given[first].span {
        true => Some(format!("{name}({config})({inputs})")),
        // The library applies it to something of its own.
        false => in_place_of(&eval.quote(place), &name, &format!("{name}({config})")),
    };
    eval.fail(diagnostic.with_help(match written {
        Some(written) => format!("write `{written}`"),
        None => format!("write `{name}({config})` in place of `{name}`"),
    }))
}

/// The configuration that was meant for a function that goes along an axis: a shape that names it, and what was given besides.
/// Other libraries give the axis by its number, by name or behind everything else.
fn with_axis(
    eval: &Eval<'_>,
    function: &Function,
    arguments: &[Argument],
    given: &[Given],
    tensor: Tensor,
) -> Vec<String> {
    let is_axis = |name: Ident| ["axis", "axes", "dim", "dims"].contains(&eval.text(name.name));
    let named = |argument: &Argument| {
        given.iter().find(|each| each.name.is_some_and(|name| name.name == argument.name.name))
    };
    let number = |each: &Given| match each.value {
        Value::Number(number) => crate::position::whole(number),
        _ => None,
    };
    let mut plain = given.iter().filter(|each| each.name.is_none() && number(each).is_some());
    let mut rest = Vec::new();
    for argument in arguments.iter().skip(1) {
        let name = eval.text(argument.name.name);
        let default = default_word(eval, function, argument);
        if let Some(given) = named(argument) {
            rest.push(format!("{name} = {}", eval.quote(given.span)));
        } else if matches!(default, Some("true" | "false")) {
            // What a function does or does not, as `descending`, is no number.
        } else if let Some(given) = plain.next() {
            rest.push(eval.quote(given.span));
        } else if argument.default.is_none() {
            rest.push(name.to_string());
        }
    }
    let by_name = given.iter().find(|each| each.name.is_some_and(is_axis));
    let at = by_name.or_else(|| plain.next()).and_then(number);
    let label =
        if arguments.first().is_some_and(|first| eval.text(first.name.name) == "axes") { 'v' } else { 't' };
    let text = given.iter().find(|each| matches!(each.value, Value::Text(_)));
    let axis = text.map_or_else(|| one_axis(eval, tensor, at, label), |text| eval.quote(text.span));
    std::iter::once(axis).chain(rest).collect()
}

/// The configuration that was meant: what was given of it, or an example.
fn with_example(
    eval: &Eval<'_>,
    function: &Function,
    arguments: &[Argument],
    given: &[Given],
) -> Vec<String> {
    let is_tensor = |each: &&Given| matches!(each.value, Value::Tensor(_)) && each.name.is_none();
    // Other libraries have other names for what is said by its configuration here.
    let is_known = |each: &&Given| {
        each.name.is_none_or(|name| arguments.iter().any(|known| known.name.name == name.name))
    };
    let rest = given.iter().filter(|each| !is_tensor(each)).filter(is_known).map(|each| match each.name {
        Some(name) => format!("{} = {}", eval.text(name.name), eval.quote(each.span)),
        None => eval.quote(each.span),
    });
    let is_told = given.iter().any(|each| !is_tensor(&each) && each.name.is_none());
    let first = arguments.first().map(|first| (eval.text(first.name.name), first.default.is_some()));
    let default = arguments.first().and_then(|first| default_word(eval, function, first));
    let example = match first {
        _ if is_told => None,
        Some(("rate", _)) => Some("0.5".to_string()),
        Some(("delta", _)) => Some("1".to_string()),
        Some(("size", false)) => Some("64".to_string()),
        Some(("hidden", false)) if arguments.len() > 1 => Some("[64]".to_string()),
        _ if default == Some("inferred") => Some("64".to_string()),
        Some((_, true)) => None,
        _ => Some(signature(eval, arguments)),
    };
    example.into_iter().chain(rest).collect()
}

/// The default of an argument, if it is a single word.
fn default_word<'e>(eval: &'e Eval<'_>, function: &Function, argument: &Argument) -> Option<&'e str> {
    match function.file.expr(argument.default?).kind {
        ExprKind::Name(name) => Some(eval.text(name)),
        _ => None,
    }
}

/// Advice for a layer that stands in the place of a tensor because it was given an argument of the function around it in the place of its
/// configuration, in a body that nobody has applied: `relu(rms_norm(x))`.
pub(in crate::eval) fn configured_by_argument(
    eval: &Eval<'_>,
    layer: &Layer,
    span: Span,
) -> Option<CallAdvice> {
    let config = layer.function.def.config.as_deref()?;
    if !matches!(layer.config.first(), Some(Value::Open | Value::OpenNumber(_))) || eval.place(span) != span {
        return None;
    }
    let file = &eval.frame.file;
    let args = file.exprs.iter().find_map(|expr| match &expr.kind {
        ExprKind::Call { args, .. } if expr.span == span => Some(args),
        _ => None,
    })?;
    let [input] = &args[..] else { return None };
    let (name, input) = (eval.text(layer.function.def.name.name), eval.quote(eval.span_of(input.value)));
    let example = match config.first().map(|first| eval.text(first.name.name)) {
        Some("axes") => "\"... | v\"".to_string(),
        Some("axis") => "\"... | t\"".to_string(),
        _ => with_example(eval, &layer.function, config, &[]).join(", "),
    };
    let reason = format!("`{name}` is configured first, and then applied");
    Some(CallAdvice::write_because(&reason, format!("{name}({example})({input})"), ""))
}

/// A text with another word in place of one, if that is in it once.
fn in_place_of(text: &str, word: &str, other: &str) -> Option<String> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut places = text
        .match_indices(word)
        .filter(|(at, _)| !text[..*at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part));
    let (at, _) = places.next()?;
    places.next().is_none().then(|| format!("{}{other}{}", &text[..at], &text[at + word.len()..]))
}

/// Reports a text that is given where a function is wanted, as its default shows: `activation = "relu"`.
pub(in crate::eval) fn text_for_function(
    eval: &mut Eval<'_>,
    function: &Rc<Function>,
    argument: &Argument,
    given: &Given,
) -> Evaluated<()> {
    let (Value::Text(text), Some(default)) = (&given.value, argument.default) else { return Ok(()) };
    let default = match &function.file.expr(default).kind {
        ExprKind::Name(name) => function.scope.find(*name),
        ExprKind::Call { callee, .. } => match function.file.expr(*callee).kind {
            ExprKind::Name(name) => function.scope.find(name),
            _ => None,
        },
        _ => None,
    };
    if !default.is_some_and(|default| is_function(&default)) {
        return Ok(());
    }
    let (name, of) =
        (eval.text(argument.name.name).to_string(), eval.text(function.def.name.name).to_string());
    let message = format!("`{name}` of `{of}` is a function, not a text");
    let Some(here) = function_called(eval, text) else {
        let help = format!("write `{name} = relu`, or another function, without quotes");
        return eval.wrong(codes::KIND, message, given.span, help);
    };
    let help = format!("write `{name} = {here}`, without quotes");
    if eval.place(given.span) != given.span {
        return eval.wrong(codes::KIND, message, given.span, help);
    }
    eval.fail(Diagnostic::error(codes::KIND, message, given.span, "").with_fix(help, given.span, here))
}

/// The function that a text names, here or in another library.
pub(in crate::eval) fn function_called(eval: &Eval<'_>, text: &str) -> Option<String> {
    let known = eval.frame.scope.all();
    let name = suggest::layer(text).map(|(here, _)| here);
    let name = name.or(if text == "swish" { Some("silu") } else { None }).unwrap_or(text);
    let mut same = known.into_iter().filter(|known| suggest::is_same(eval.names.text(*known), name));
    let found = same.find(|known| eval.frame.scope.find(*known).is_some_and(|value| is_function(&value)))?;
    let name = eval.names.text(found).to_string();
    match eval.frame.scope.find(found) {
        // It has a configuration that it does without.
        Some(Value::Function(_)) => Some(format!("{name}()")),
        _ => Some(name),
    }
}

/// Reports `adam(params(loss), …)`.
pub(in crate::eval) fn rule_with_parameters(
    eval: &mut Eval<'_>,
    function: &Rc<Function>,
    given: &[Given],
) -> Evaluated<()> {
    let is_list = |each: &&Given| match &each.value {
        Value::List(items) => items.iter().any(|item| matches!(item, Value::Tensor(_))),
        _ => false,
    };
    let Some(list) = given.iter().find(is_list) else { return Ok(()) };
    let from = function.def.name.span.source;
    // Clipping and averages are about the parameters `of` something.
    let lists = function.def.config.iter().flatten().chain(&function.def.arguments);
    let takes_several = lists.into_iter().any(|argument| eval.text(argument.name.name) == "of");
    if !eval.library.has_rules(from) || takes_several {
        return Ok(());
    }
    let name = eval.text(function.def.name.name).to_string();
    let message = format!("`{name}` is not given parameters: `minimise` finds those that a loss depends on");
    let net = rules::owner_of_params(eval, list.span);
    let help = rules::minimise_of(eval, list.span, net.as_deref()).unwrap_or_else(|| {
        format!(
            "write `minimise loss by {name}(0.01)`, or `minimise loss of net by {name}(0.01)` for the parameters of `net`"
        )
    });
    eval.wrong(codes::ARGUMENTS, message, list.span, help)
}

/// Returns true if a value can be applied.
fn is_function(value: &Value) -> bool {
    matches!(value, Value::Layer(_) | Value::Function(_) | Value::Builtin(_) | Value::Operation(_))
}
