//! The arguments of calls of functions of the language: which are there, and what is wrong with them.

use broadloom_diagnostics::Help;

use super::advice::foreign;
use super::given::{Call, Given};
use super::{Eval, Evaluated};
use crate::codes;
use crate::language_function::LanguageFunction;
use crate::syntax::ast::Ident;
use crate::value::Value;

/// Reports a call whose arguments do not fit.
pub fn wrong_call<T>(
    eval: &mut Eval<'_>,
    call: &Call,
    message: impl Into<String>,
    help: impl Into<Help>,
) -> Evaluated<T> {
    eval.wrong(codes::ARGUMENTS, message, call.span, help)
}

/// An argument by its name. [`only`] checks which names there are.
pub fn named<'c>(eval: &Eval<'_>, call: &'c Call, name: &str) -> Option<&'c Given> {
    call.given.iter().find(|given| given.name.is_some_and(|ident| eval.names.text(ident.name) == name))
}

/// Refuses arguments with any other names.
pub fn only(eval: &mut Eval<'_>, call: &Call, names: &[&str]) -> Evaluated<()> {
    for given in &call.given {
        let Some(ident) = given.name else { continue };
        let text = eval.names.text(ident.name).to_string();
        if !names.contains(&text.as_str()) {
            let message = format!("`{}` has no argument called `{text}`", call.name());
            if let Some(help) = meant_by_argument(eval, call, given, ident, &text, names) {
                return eval.wrong(codes::ARGUMENTS, message, ident.span, help);
            }
            let help = match names.is_empty() {
                true => "it has none with a name".to_string(),
                false => format!("it has `{}`", names.join("`, `")),
            };
            return eval.wrong(codes::ARGUMENTS, message, ident.span, help);
        }
    }
    Ok(())
}

/// A hint for an argument that another library has, or for `=` in place of `==`.
fn meant_by_argument(
    eval: &Eval<'_>,
    call: &Call,
    given: &Given,
    ident: Ident,
    text: &str,
    names: &[&str],
) -> Option<String> {
    let value = eval.quote(given.span);
    let tensor = call.given.iter().find_map(|each| match each.value {
        Value::Tensor(tensor) => Some((tensor, eval.quote(each.span))),
        _ => None,
    });
    use LanguageFunction::{Argmax, Argmin, Max, Mean, Min, Product, Sum};
    let keeps_values = matches!(call.function, Sum | Product | Mean | Max | Min);
    let reduces = keeps_values || matches!(call.function, Argmax | Argmin);
    match (text, tensor) {
        ("axis" | "dim" | "axes" | "dims", Some((tensor, owner))) if reduces => {
            let axis = if let Value::Number(axis) = given.value { Some(axis) } else { None };
            Some(foreign::axis_help(eval, call.name(), tensor, &owner, axis))
        }
        ("keepdims" | "keepdim", Some((_, owner))) if keeps_values => {
            Some(format!("a shape in place of a spec leaves units: `{}(\"... | v\", {owner})`", call.name()))
        }
        ("axis" | "dim", _) if names.contains(&"along") => {
            Some("write `along = \"batch\"`, `along = \"output\"` or `along = \"input\"`".into())
        }
        _ if eval.is_known(ident) => {
            Some(format!("write `{text} == {value}` to compare: `=` names an argument"))
        }
        _ => None,
    }
}
