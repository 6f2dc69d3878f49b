//! Finds the places where layers were given their configuration: the lines to change if what they make does
//! not fit.

use std::sync::Arc;

use broadloom::Error;
use broadloom_diagnostics::{Diagnostic, Label, Role, Span};

use crate::eval::Eval;
use crate::eval::applied::Applied;
use crate::syntax::ast::{ExprKind, File, Name};
use crate::value::Value;

/// Shows ends inside of layers where these were configured. What stands at the application of a layer of the library
/// moves there; a function of the program gets a label with the numbers that it was given.
pub(in crate::eval) fn with_makers(eval: &Eval<'_>, mut diagnostic: Diagnostic, error: &Error) -> Diagnostic {
    for (number, end) in error.ends().iter().enumerate() {
        let Some(origin) = end.step.and_then(|step| eval.origins.get(step)) else { continue };
        let Some((made, applied)) = origin.application.and_then(|at| maker(eval, at)) else { continue };
        if origin.span.contains(made) && !applied.is_of_library() {
            continue;
        }
        if applied.is_of_library() {
            let of_end = diagnostic.labels.iter_mut().filter(|label| label.role == Role::End(number));
            of_end.for_each(|label| label.span = made);
            // The number may come from the configuration of a function of the program around it.
            diagnostic = match applied.outer.and_then(|outer| giver(eval, outer, end.size?)) {
                Some((made, given)) => labelled(diagnostic, made, given),
                None => diagnostic,
            };
        } else if let Some(given) = end.size.and_then(|size| given_number(eval, applied, size)) {
            diagnostic = labelled(diagnostic, made, given);
        }
    }
    diagnostic
}

/// Finds the place at which a function of the program around an application was configured with a number, and
/// says of which argument: one where the number is written, if there is one.
pub(in crate::eval) fn giver(eval: &Eval<'_>, at: u32, number: u64) -> Option<(Span, String)> {
    let (made, applied) = maker(eval, at)?;
    let given = given_number(eval, applied, number).filter(|_| !applied.is_of_library());
    let is_it = |kind: &ExprKind| matches!(kind, ExprKind::Number(own) if *own == number as f64);
    let is_written = file_with(eval, made, applied)
        .is_some_and(|file| file.exprs.iter().any(|expr| made.contains(expr.span) && is_it(&expr.kind)));
    let further = || giver(eval, applied.outer?, number);
    match given.map(|given| (made, given)) {
        Some(given) if is_written => Some(given),
        given => further().or(given),
    }
}

/// The file of a place that configured the layer of an application: the program, or that of a function around.
fn file_with(eval: &Eval<'_>, place: Span, applied: &Applied) -> Option<Arc<File>> {
    if place.source == eval.main() {
        return Some(eval.own_file.clone());
    }
    let mut outer = applied.outer;
    while let Some(around) = outer.and_then(|at| eval.applied.get(at as usize)) {
        let function = &around.layer.function;
        if function.span.source == place.source {
            return Some(function.file.clone());
        }
        outer = around.outer;
    }
    None
}

/// Shows the application that gives a number as an argument, among those that are being evaluated.
pub(crate) fn given_as_argument(eval: &Eval<'_>, number: f64) -> Option<Label> {
    let mut at = eval.application;
    while let Some(applied) = at.and_then(|at| eval.applied.get(at as usize)) {
        let is_it = |name: Name| matches!(applied.scope.own(name), Some(Value::Number(own)) if own == number);
        let mut arguments = applied.layer.function.def.arguments.iter();
        let found = arguments.find(|argument| is_it(argument.name.name)).filter(|_| !applied.is_of_library());
        if let Some(argument) = found {
            let given = format!("`{}` is {number}", eval.text(argument.name.name));
            return Some(Label::here(applied.span, given));
        }
        at = applied.outer;
    }
    None
}

/// The place where the program configured the layer of an application, or one around it.
pub(crate) fn configured_at(eval: &Eval<'_>, at: u32) -> Option<Span> {
    maker(eval, at).map(|(made, _)| made)
}

/// The place where the layer of an application was configured, and the application. One that the library
/// configured belongs to the application around it: its users cannot change the library.
fn maker<'e>(eval: &'e Eval<'_>, mut at: u32) -> Option<(Span, &'e Applied)> {
    loop {
        let applied = eval.applied.get(at as usize)?;
        match applied.layer.made_at.get() {
            Some(made) if !eval.library.contains(&made.source) => return Some((made, applied)),
            _ => at = applied.outer?,
        }
    }
}

/// Says which argument of a configuration is a number.
fn given_number(eval: &Eval<'_>, applied: &Applied, number: u64) -> Option<String> {
    let layer = &applied.layer;
    let mut config = layer.function.def.config.iter().flatten().zip(&layer.config);
    let (argument, _) =
        config.find(|(_, value)| matches!(value, Value::Number(own) if *own == number as f64))?;
    Some(format!("`{}` is {number}", eval.text(argument.name.name)))
}

/// Says what was given at a place, unless that has a label which says something else.
pub(in crate::eval) fn labelled(mut diagnostic: Diagnostic, span: Span, given: String) -> Diagnostic {
    match diagnostic.labels.iter_mut().find(|label| label.span == span) {
        Some(label) => label.add(given),
        None => diagnostic.labels.push(Label::here(span, given)),
    }
    diagnostic
}
