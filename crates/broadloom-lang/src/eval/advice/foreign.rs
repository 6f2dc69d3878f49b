//! Help for names that do not exist here: names of other libraries, methods, axes by number.

use broadloom::Tensor;
use broadloom_diagnostics::{Diagnostic, Edit, Help, Setting, Span};

use crate::codes;
use crate::eval::advice::axes::one_axis;
use crate::eval::advice::call_advice::{CallAdvice, list_length, said};
use crate::eval::advice::elsewhere::{Defined, Elsewhere};
use crate::eval::advice::{elsewhere, habits, reordered, rules, translated};
use crate::eval::{Eval, Evaluated, Reported, dim, path};
use crate::front::naming_setting;
use crate::suggest::{self, Replacement};
use crate::syntax::ast::{Arg, Argument, ExprId, ExprKind, Ident, Name};
use crate::value::Value;

/// The help for `zeros` and `ones` outside declarations.
pub(in crate::eval) const FIRST_VALUES: &str = "`zeros` and `ones` are first values, of the shape that is declared: `state s : 3 = zeros`; a number broadcasts by itself";

/// Functions that reduce axes.
const REDUCTIONS: [&str; 7] = ["sum", "mean", "max", "min", "product", "argmax", "argmin"];

/// Reports a call of something that does not exist. Returns `None` if the callee exists.
pub(in crate::eval) fn foreign_call(eval: &mut Eval<'_>, callee: ExprId, args: &[Arg]) -> Option<Reported> {
    let file = eval.frame.file.clone();
    match &file.expr(callee).kind {
        ExprKind::Name(name) if eval.frame.scope.find(*name).is_none() => {
            let span = file.expr(callee).span;
            let is_foreign = !elsewhere::is_defined_elsewhere(eval, *name, span);
            if let Some(advice) = translated::translated_call(eval, callee, args).filter(|_| is_foreign) {
                return Some(reported(
                    eval,
                    advised(eval, no_function(eval, *name, span), advice, span, span),
                ));
            }
            let arguments: Vec<String> = match suggest::is_in_a_row(eval.text(*name)) {
                true => translated::layers_in_a_row(eval, args),
                false => args.iter().map(|arg| eval.quote(eval.span_of(arg.value))).collect(),
            };
            if let Some(advice) = reordered_first(eval, eval.text(*name), args).filter(|_| is_foreign) {
                return Some(reported(
                    eval,
                    advised(eval, no_function(eval, *name, span), advice, span, span),
                ));
            }
            Some(unknown_function(eval, *name, &arguments, span))
        }
        ExprKind::Field(_, field) => {
            let argument = |arg: &Arg| {
                let value = eval.quote(eval.span_of(arg.value));
                arg.name.map_or(value.clone(), |name| format!("{} = {value}", eval.text(name.name)))
            };
            let arguments: Vec<String> = match suggest::is_in_a_row(eval.text(field.name)) {
                true => translated::layers_in_a_row(eval, args),
                false => args.iter().map(argument).collect(),
            };
            let translated = translated::translated_call(eval, callee, args);
            let translated = translated.or_else(|| reordered_first(eval, eval.text(field.name), args));
            let reported = prefixed(eval, callee, Some(&arguments), translated);
            reported.or_else(|| method_of_nothing(eval, callee))
        }
        _ => None,
    }
}

/// Advice for a function that orders the axes of a tensor, its first argument, or the second, behind a spec.
fn reordered_first(eval: &Eval<'_>, function: &str, args: &[Arg]) -> Option<CallAdvice> {
    let (tensor, owner) = args.iter().find_map(|arg| {
        let ExprKind::Name(name) = eval.frame.file.expr(arg.value).kind else { return None };
        match eval.frame.scope.find(name)? {
            Value::Tensor(tensor) => Some((tensor, eval.quote(eval.span_of(arg.value)))),
            _ => None,
        }
    })?;
    reordered::written_here(eval, function, (tensor, &owner), args)
}

fn no_function(eval: &Eval<'_>, name: Name, span: Span) -> Diagnostic {
    let message = format!("there is no function `{}`", eval.text(name));
    Diagnostic::error(codes::UNKNOWN, message, eval.place(span), "not known here")
}

/// Reports `np.exp` and the like, if a library of Python is meant.
pub(in crate::eval) fn prefixed(
    eval: &mut Eval<'_>,
    of: ExprId,
    arguments: Option<&[String]>,
    translated: Option<CallAdvice>,
) -> Option<Reported> {
    let file = eval.frame.file.clone();
    let &ExprKind::Field(mut base, field) = &file.expr(of).kind else { return None };
    while let ExprKind::Field(inner, _) = &file.expr(base).kind {
        base = *inner;
    }
    let ExprKind::Name(name) = &file.expr(base).kind else { return None };
    let library = eval.text(*name).to_string();
    if eval.frame.scope.find(*name).is_some() || !suggest::is_library(&library) {
        return None;
    }
    // An import of this name was refused.
    if eval.frame.file.mistaken.contains(name) {
        return Some(Reported);
    }
    let text = eval.text(field.name).to_string();
    let call = |name: &str| match arguments {
        Some(arguments) => format!("{name}({})", arguments.join(", ")),
        None => name.to_string(),
    };
    let message = format!("there is no library `{library}`");
    let (whole, end) = (file.expr(of).span, field.span);
    let diagnostic = Diagnostic::error(codes::UNKNOWN, message, eval.place(whole), "");
    if let Some(advice) = translated {
        return Some(reported(eval, advised(eval, diagnostic, advice, whole, end)));
    }
    if let Some((sizes, values)) =
        arguments.zip(suggest::first_values(&text)).filter(|(sizes, _)| !sizes.is_empty())
    {
        return Some(reported(eval, habits::declared_first(eval, diagnostic, whole, sizes, values)));
    }
    let known = eval.frame.scope.all();
    let here = eval.frame.scope.find(field.name).map(|_| text.clone());
    let near = suggest::nearest(&text, known.iter().map(|name| eval.names.text(*name)));
    let foreign = suggest::foreign(&text).filter(|_| here.is_none());
    let advice = match (foreign, here.or(near)) {
        (Some(way), _) => CallAdvice::from_way(way, arguments.unwrap_or(&[])),
        (None, Some(name)) => match eval.names.find(&name).and_then(|name| eval.frame.scope.find(name)) {
            Some(Value::Function(function)) => {
                let list = match signature(eval, function.def.config.as_deref().unwrap_or(&[])) {
                    list if list == "axes" => "\"... | v\"".to_string(),
                    list => list,
                };
                let x = arguments.and_then(|list| list.first()).filter(|x| !x.contains(['=', '…']));
                let x = x.map_or("x", String::as_str);
                CallAdvice::say(format!("write `{name}({list})({x})`: functions stand by themselves"))
            }
            Some(Value::Initial(_)) => CallAdvice::say(FIRST_VALUES),
            _ => CallAdvice::write_because("", call(&name), ": functions stand by themselves"),
        },
        (None, None) if text.starts_with("save") && arguments.is_some() => {
            CallAdvice::say(suggest::saved(&arguments.unwrap_or(&[]).join(", ")))
        }
        (None, None) if text.ends_with("seed") => CallAdvice::say(naming_setting(
            "leave it out: the seed is given when the program is run, ",
            Setting::Seed(0),
            "",
        )),
        (None, None) => CallAdvice::say("functions stand by themselves; docs/language.md lists them"),
    };
    Some(reported(eval, advised(eval, diagnostic, advice, whole, end)))
}

/// Adds advice about a call: what is written in its place replaces the text from the start of a span to the end of
/// the list of arguments behind a name.
fn advised(
    eval: &Eval<'_>,
    diagnostic: Diagnostic,
    advice: CallAdvice,
    whole: Span,
    name: Span,
) -> Diagnostic {
    let is_here = eval.place(whole) == whole;
    let rest = eval.sources.get(name.source).text().get(name.end as usize..).unwrap_or_default();
    let span = Span { end: name.end + list_length(rest) as u32, ..whole };
    match is_here {
        true if is_operand(eval, span) => advice.for_operand().added_to(diagnostic, span),
        true => advice.added_to(diagnostic, span),
        false => diagnostic.with_help(advice.help()),
    }
}

/// Returns true if what stands at a place is an operand of an operator, or what a field or an element is taken from.
fn is_operand(eval: &Eval<'_>, span: Span) -> bool {
    let file = &eval.frame.file;
    let is_it = |id: ExprId| file.expr(id).span == span;
    file.exprs.iter().any(|expr| match expr.kind {
        ExprKind::Binary(_, a, b) => is_it(a) || is_it(b),
        ExprKind::Unary(_, of) | ExprKind::Field(of, _) | ExprKind::Index(of, _) => is_it(of),
        ExprKind::Call { callee, .. } => is_it(callee),
        _ => false,
    })
}

/// Reports `optimizer.step()`: a method of something that does not exist.
fn method_of_nothing(eval: &mut Eval<'_>, callee: ExprId) -> Option<Reported> {
    let file = eval.frame.file.clone();
    let ExprKind::Field(of, field) = &file.expr(callee).kind else { return None };
    let ExprKind::Name(name) = &file.expr(*of).kind else { return None };
    let span = file.expr(*of).span;
    if eval.frame.scope.find(*name).is_some() || elsewhere::is_defined_elsewhere(eval, *name, span) {
        return None;
    }
    let Replacement::Say(help) = suggest::method(eval.text(field.name))? else { return None };
    let advice = match eval.text(field.name) {
        "step" => habits::owner_of(eval, "backward")
            .map(|loss| CallAdvice::write(format!("minimise {loss} by sgd(0.1)"))),
        _ => None,
    };
    let message = format!("`{}` is not defined", eval.text(*name));
    let diagnostic = Diagnostic::error(codes::UNKNOWN, message, eval.place(span), "not known here");
    let (whole, end) = (file.expr(callee).span, field.span);
    Some(reported(eval, advised(eval, diagnostic, advice.unwrap_or(CallAdvice::say(help)), whole, end)))
}

fn unknown_function(eval: &mut Eval<'_>, name: Name, arguments: &[String], span: Span) -> Reported {
    let text = eval.text(name).to_string();
    if let Some(way) = suggest::foreign(&text).filter(|_| !elsewhere::is_defined_elsewhere(eval, name, span))
    {
        let diagnostic = no_function(eval, name, span);
        if let Some(values) = suggest::first_values(&text).filter(|_| !arguments.is_empty()) {
            return reported(eval, habits::declared_first(eval, diagnostic, span, arguments, values));
        }
        return reported(eval, advised(eval, diagnostic, CallAdvice::from_way(way, arguments), span, span));
    }
    unknown_name(eval, name, span, true)
}

/// Reports a name that does not exist here, with the place where it is known or a suggestion.
pub(in crate::eval) fn unknown_name(eval: &mut Eval<'_>, name: Name, span: Span, is_call: bool) -> Reported {
    // The mistake in its definition has been reported already.
    if eval.frame.file.mistaken.contains(&name) || eval.misassigned.contains(&name) {
        return Reported;
    }
    let text = eval.text(name).to_string();
    let message = match is_call {
        true => format!("there is no function `{text}`"),
        false => format!("`{text}` is not defined"),
    };
    let place = eval.place(span);
    let mut diagnostic = Diagnostic::error(codes::UNKNOWN, message, place, "not known here");
    let known = eval.frame.scope.all();
    let near = suggest::nearest(&text, known.iter().map(|name| eval.names.text(*name)));
    let near = translated::name_here(eval, &text).or(near);
    if place == span
        && let Some(Elsewhere { label, at, help, kind }) = elsewhere::found(eval, name, span)
    {
        // A label of a shape may have the same typing mistake.
        diagnostic = diagnostic.with_label(at, label);
        return reported(
            eval,
            match near.filter(|_| kind == Defined::Label) {
                Some(near) => diagnostic.with_near_name(&near, span),
                None => diagnostic.with_help(help),
            },
        );
    }
    if let Some(module) = module_with(eval, name) {
        let written = format!("{module}.{text}");
        let help = format!("`{module}` has it: write `{written}`");
        return reported(
            eval,
            match place == span {
                true => diagnostic.with_fix(help, span, written),
                false => diagnostic.with_help(help),
            },
        );
    }
    let help = match (suggest::foreign(&text), near) {
        (Some(way), _) => said(way, &[]).text,
        (None, Some(near)) if place == span => {
            return reported(eval, diagnostic.with_near_name(&near, span));
        }
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (None, None) if is_call => {
            format!("write `def {text}(…) = …` before this line; docs/language.md lists what there is")
        }
        (None, None) => {
            format!("write `let {text} = …` before this line, or `{{{text}}}` for a parameter")
        }
    };
    reported(eval, diagnostic.with_help(help))
}

/// The first of the modules here, by name, that has a name of its own.
fn module_with(eval: &Eval<'_>, name: Name) -> Option<String> {
    let has_it = |module: &Name| match eval.frame.scope.find(*module) {
        Some(Value::Module(scope)) => scope.own(name).is_some(),
        _ => false,
    };
    let modules = eval.frame.scope.all().into_iter().filter(has_it);
    modules.map(|module| eval.text(module).to_string()).min()
}

/// Reports a mistake where no value is needed.
fn reported(eval: &mut Eval<'_>, diagnostic: Diagnostic) -> Reported {
    match eval.fail::<()>(diagnostic) {
        Ok(()) | Err(Reported) => Reported,
    }
}

/// A call in the manner of a method, `x.sum(1)`, or a field of that kind, `x.shape`.
struct MethodCall<'c> {
    value: &'c Value,
    of: ExprId,
    field: Ident,
    /// The name of the method.
    text: String,
    /// The text of what it belongs to.
    owner: String,
    args: Option<&'c [Arg]>,
    /// The owner and the arguments, as they are written.
    arguments: Vec<String>,
    /// The first argument, if it is a number.
    axis: Option<f64>,
}

/// Reports `x.sum()`: a function of another library, or of this one, written as a method.
pub(in crate::eval) fn method(
    eval: &mut Eval<'_>,
    value: &Value,
    of: ExprId,
    field: Ident,
    args: Option<&[Arg]>,
) -> Option<Reported> {
    let text = eval.text(field.name).to_string();
    if let (Value::Layer(layer), Some(args)) = (value, args) {
        let known = path::has_part(eval, layer, field.name);
        return method_of_layer(eval, of, field, &text, args).filter(|_| !known);
    }
    // A list of layers is a layer.
    if let (Value::List(items), Some(args)) = (value, args)
        && items.iter().any(|item| matches!(item, Value::Layer(_)))
        && let Some(reported) = method_of_layer(eval, of, field, &text, args)
    {
        return Some(reported);
    }
    if !matches!(value, Value::Tensor(_) | Value::Number(_) | Value::List(_) | Value::Size(_)) {
        return None;
    }
    if let Value::Tensor(tensor) = value {
        let label = dim::free_label(eval, field.name);
        let graph = eval.graph.quiet();
        let captured = graph.captured(*tensor, &text).or(graph.captured(*tensor, &label));
        if captured.is_ok() {
            return None;
        }
    }
    let owner = eval.quote(eval.span_of(of));
    if let ("grad" | "T", Value::Tensor(_)) = (&*text, value) {
        args?;
        let message = format!("`{owner}.{text}` is no function");
        return Some(wrong_field(eval, message, field.span, format!("write `{owner}.{text}`").into()));
    }
    let mut arguments = vec![owner.clone()];
    arguments.extend(args.unwrap_or(&[]).iter().map(|arg| eval.quote(eval.span_of(arg.value))));
    let axis = args.and_then(|args| args.first()).and_then(|arg| eval.literal_number(arg.value));
    let call = MethodCall { value, of, field, text, owner, args, arguments, axis };
    let advice = match suggest::method(&call.text) {
        Some(way) => as_function_elsewhere(eval, &call, way),
        None => as_function_here(eval, &call)?,
    };
    let message = match args {
        Some(_) => format!("{} has no methods, such as `{}`", value.kind(), call.text),
        None => format!("{} has no `{}`", value.kind(), call.text),
    };
    let (place, whole) = (eval.place(field.span), eval.span_of(of).to(field.span));
    if place != field.span {
        return Some(wrong_field(eval, message, field.span, advice.help()));
    }
    let diagnostic = Diagnostic::error(codes::FIELD, message, place, "");
    Some(reported(eval, advised(eval, diagnostic, advice, whole, field.span)))
}

/// Advice for a method of another library, for which there is a way here.
fn as_function_elsewhere(eval: &Eval<'_>, call: &MethodCall<'_>, way: Replacement) -> CallAdvice {
    let MethodCall { text, owner, arguments, args, .. } = call;
    let (text, args) = (text.as_str(), *args);
    match call.value {
        // A label is a size of the result of its spec, and not of the operand.
        Value::Tensor(_) if text == "t" && args.is_none() => CallAdvice::say(format!(
            "a label is a size of what its spec makes: `let y = sum(\"… t …\", {owner})`, and then `y.t`; the transpose is `{owner}.T`"
        )),
        Value::Tensor(_)
            if text == "backward"
                && let Some(advice) = habits::backward_by_minimise(eval, owner) =>
        {
            CallAdvice::say(advice)
        }
        Value::Tensor(_) if matches!(text, "shape" | "size") => {
            let axis = call.axis.and_then(crate::position::whole);
            let axis = axis.or_else(|| index_behind(eval, call.field.span));
            CallAdvice::say(habits::named_size(eval, owner, axis, eval.span_of(call.of)))
        }
        Value::List(_)
            if text == "append"
                && let [list, item] = &arguments[..]
                && let Some(advice) = habits::list_of_loop(eval, list, item, call.field.span) =>
        {
            CallAdvice::say(advice)
        }
        Value::Tensor(tensor)
            if let Some(advice) =
                reordered::written_here(eval, text, (*tensor, owner), args.unwrap_or(&[])) =>
        {
            advice
        }
        Value::Tensor(_) if text == "transpose" && args.is_some_and(|args| !args.is_empty()) => {
            CallAdvice::from_way(suggest::BY_SPEC, arguments)
        }
        _ => CallAdvice::from_way(way, arguments),
    }
}

/// Advice for a method that is a function here, or like the name of one. None for a field that nothing is like.
fn as_function_here(eval: &Eval<'_>, call: &MethodCall<'_>) -> Option<CallAdvice> {
    let MethodCall { text, owner, arguments, .. } = call;
    let function = eval.frame.scope.find(call.field.name).filter(|value| {
        matches!(value, Value::Builtin(_) | Value::Layer(_) | Value::Function(_) | Value::Operation(_))
    });
    Some(match (function, call.value) {
        (Some(_), Value::Tensor(tensor)) if arguments.len() > 1 && REDUCTIONS.contains(&text.as_str()) => {
            CallAdvice::say(axis_help(eval, text, *tensor, owner, call.axis))
        }
        (Some(Value::Function(function)), _) => {
            let config = function.def.config.as_deref().unwrap_or(&[]);
            let list = configured_along(eval, config, call).unwrap_or_else(|| signature(eval, config));
            CallAdvice::say(format!("write `{text}({list})({owner})`"))
        }
        (Some(Value::Layer(layer)), _) => {
            // Axes are given by numbers elsewhere, and the function has no place for them.
            let most = layer.function.def.arguments.len().max(1);
            let arguments = &arguments[..arguments.len().min(most)];
            CallAdvice::write(suggest::called(text, arguments))
        }
        (Some(_), _) => CallAdvice::write(suggest::called(text, arguments)),
        (None, _) => {
            call.args?;
            let known = eval.frame.scope.all();
            let near = suggest::nearest(text, known.iter().map(|name| eval.names.text(*name)));
            match near {
                Some(near) => CallAdvice::write(suggest::called(&near, arguments)),
                None => CallAdvice::say(format!(
                    "a function is written before what it is applied to: `{text}({owner})`"
                )),
            }
        }
    })
}

/// The configuration of a function that goes along an axis, for a method that is given the number of that axis.
fn configured_along(eval: &Eval<'_>, config: &[Argument], call: &MethodCall<'_>) -> Option<String> {
    let ([first, rest @ ..], Value::Tensor(tensor)) = (config, call.value) else { return None };
    let label = match eval.text(first.name.name) {
        "axes" => 'v',
        "axis" => 't',
        _ => return None,
    };
    let axis = one_axis(eval, *tensor, call.axis.and_then(crate::position::whole), label);
    let needed = rest.iter().filter(|each| each.default.is_none()).map(|each| eval.text(each.name.name));
    Some(std::iter::once(axis.as_str()).chain(needed).collect::<Vec<_>>().join(", "))
}

/// The number in brackets behind a field, as in `x.shape[0]`.
fn index_behind(eval: &Eval<'_>, field: Span) -> Option<i64> {
    let file = &eval.frame.file;
    let is_it = |of: ExprId| matches!(file.expr(of).kind, ExprKind::Field(_, own) if own.span == field);
    let index = file.exprs.iter().find_map(|expr| match expr.kind {
        ExprKind::Index(of, index) if is_it(of) => Some(index),
        _ => None,
    })?;
    eval.literal_number(index).and_then(crate::position::whole)
}

/// Reports a method that layers of other libraries have.
fn method_of_layer(
    eval: &mut Eval<'_>,
    of: ExprId,
    field: Ident,
    text: &str,
    args: &[Arg],
) -> Option<Reported> {
    let owner = eval.quote(eval.span_of(of));
    let arguments: Vec<String> = args.iter().map(|arg| eval.quote(eval.span_of(arg.value))).collect();
    if let ("parameters" | "named_parameters", Some((rule, _))) = (text, rules::rule_around(eval, field.span))
    {
        let message =
            format!("`{rule}` is not given parameters: `minimise` finds those that a loss depends on");
        let help = rules::minimise_of(eval, field.span, Some(&owner)).unwrap_or_default();
        return Some(wrong_field(eval, message, field.span, help.into()));
    }
    if let "forward" | "apply" | "predict" | "call" = text {
        let message = format!("a function has no methods, such as `{text}`");
        let help = format!("apply it: `{owner}({})`", arguments.join(", "));
        let method = Span { start: eval.span_of(of).end, ..field.span };
        return Some(match eval.place(field.span) == field.span {
            true => {
                let diagnostic = Diagnostic::error(codes::FIELD, message, field.span, "");
                reported(eval, diagnostic.with_fix(help, method, ""))
            }
            false => wrong_field(eval, message, field.span, help.into()),
        });
    }
    let help = match text {
        "parameters" | "named_parameters" | "state_dict" => {
            format!("`params({owner}(x))` is the list of the parameters that its result depends on")
        }
        "eval" => format!("write `inference({owner})(x)` where it is applied"),
        "train" => "leave it out: what is not under `inference(…)` is trained".to_string(),
        "fit" | "compile" => "write `minimise loss by sgd(0.1)` inside of a `repeat`".to_string(),
        "to" | "cuda" | "cpu" => "leave it out".to_string(),
        "zero_grad" => {
            "leave it out: gradients begin afresh with every `minimise` and `backward`".to_string()
        }
        "step" | "update" => {
            format!("write `minimise loss by {owner}`, which computes gradients and applies the rule")
        }
        _ => return None,
    };
    Some(wrong_field(eval, format!("a function has no methods, such as `{text}`"), field.span, help.into()))
}

fn wrong_field(eval: &mut Eval<'_>, message: String, span: Span, help: Help) -> Reported {
    match eval.wrong::<()>(codes::FIELD, message, span, help) {
        Ok(()) | Err(Reported) => Reported,
    }
}

/// Advice for reducing an axis by its number: a spec
/// that fits the tensor, if its axes are known.
pub(crate) fn axis_help(
    eval: &Eval<'_>,
    name: &str,
    tensor: Tensor,
    owner: &str,
    axis: Option<f64>,
) -> String {
    let general = format!(
        "a spec names the axes that stay: `{name}(\"... | i => ... |\", {owner})` leaves out the output axis"
    );
    let [batch, input, output] = eval.graph.shape(tensor).rows;
    if [&batch, &input, &output].iter().any(|row| row.open) {
        return general;
    }
    let mut letters = "abcdefghijklmnopqrstuvwxyz".chars().map(String::from);
    // In memory order: batch, output, input.
    let [batch, output, input] =
        [batch, output, input].map(|row| letters.by_ref().take(row.lead.len()).collect::<Vec<String>>());
    let all: Vec<String> = [&batch, &output, &input].into_iter().flatten().cloned().collect();
    let at = axis.and_then(crate::position::whole).map(|at| if at < 0 { at + all.len() as i64 } else { at });
    let left = at.and_then(|at| usize::try_from(at).ok()).and_then(|at| all.get(at).cloned());
    let (Some(left), true) = (left, all.len() <= 20) else { return general };
    let shape = |without: Option<&String>| {
        let row = |labels: &[String]| {
            let kept = labels.iter().filter(|label| Some(*label) != without);
            kept.map(String::as_str).collect::<Vec<_>>().join(" ")
        };
        let [batch, input, output] = [&batch, &input, &output].map(|labels| row(labels));
        let batch = if batch.is_empty() { batch } else { format!("{batch} | ") };
        let input = if input.is_empty() { input } else { format!("{input} -> ") };
        format!("{batch}{input}{output}").trim().to_string()
    };
    format!(
        "a spec names the axes, and leaves out that one: `{name}(\"{} => {}\", {owner})`",
        shape(None),
        shape(Some(&left))
    )
}

/// Reports an assignment to a value that is fixed when the program is built.
pub(in crate::eval) fn constant_target<T>(
    eval: &mut Eval<'_>,
    target: ExprId,
    value: &Value,
    assigned: ExprId,
) -> Evaluated<T> {
    // An argument may be a state where the function is applied.
    if let Value::Open | Value::OpenNumber(_) = value {
        return Err(Reported);
    }
    let (span, text) = (eval.span_of(target), eval.quote(eval.span_of(target)));
    let message = format!("`{text}` is {}, and stays as it is", value.kind());
    let first = match value {
        Value::Number(number) => format!(" = {}", crate::show::number(*number)),
        _ => String::new(),
    };
    let help = match value {
        Value::Number(_) => {
            format!("write `state {text} : |{first}` in place of its `let`: a state can be assigned to")
        }
        _ => {
            format!("write `let {text} = {}`, or choose another name", eval.quote(eval.span_of(assigned)))
        }
    };
    let place = eval.place(span);
    let mut diagnostic = Diagnostic::error(codes::KIND, message, place, "").with_help(help);
    if let ExprKind::Name(name) = eval.frame.file.clone().expr(target).kind
        && let Some(bound) = elsewhere::bound_before(eval, name, span).filter(|_| place == span)
    {
        diagnostic = diagnostic.with_label(bound, "bound here");
    }
    eval.fail(diagnostic)
}

/// Reports an assignment to a name that does not exist.
pub(in crate::eval) fn unknown_target<T>(
    eval: &mut Eval<'_>,
    name: Name,
    span: Span,
    sign: &str,
    value: Span,
) -> Evaluated<T> {
    if eval.frame.file.mistaken.contains(&name) || !eval.misassigned.insert(name) {
        return Err(Reported);
    }
    let (text, value) = (eval.text(name).to_string(), eval.quote(value));
    let message = format!("`{text}` is not defined, so nothing can be assigned to it");
    let inside = if eval.in_repeat() { " before the `repeat`" } else { " before this line" };
    let help = match sign {
        "=" => {
            format!("write `let {text} = {value}` for a name; what changes is declared: `state {text} : |`")
        }
        _ => format!("declare it{inside}: `state {text} : |`, with its shape behind `:`"),
    };
    let place = eval.place(span);
    let diagnostic = Diagnostic::error(codes::UNKNOWN, message, place, "not known here").with_help(help);
    eval.fail(match sign == "=" && place == span {
        true => diagnostic.fixed_by(format!("write `let {text}`"), vec![Edit::new(span.before(), "let ")]),
        false => diagnostic,
    })
}

/// The arguments of a function that have to be given; the first one if none has to be.
pub(in crate::eval) fn signature(eval: &Eval<'_>, arguments: &[Argument]) -> String {
    let needed: Vec<&str> = arguments
        .iter()
        .filter(|each| each.default.is_none())
        .map(|each| eval.text(each.name.name))
        .collect();
    if needed.is_empty() {
        return arguments.first().map_or(String::new(), |first| eval.text(first.name.name).to_string());
    }
    needed.join(", ")
}
