//! Calls of functions of the language: their arguments, and what is wrong with those.

use broadloom_diagnostics::Span;

use super::{Eval, Evaluated};
use crate::codes;
use crate::syntax::ast::Ident;
use crate::value::Value;

/// A call of a function of the language, with its arguments.
pub(crate) struct Call {
    pub name: &'static str,
    pub given: Vec<Given>,
    pub span: Span,
}

/// An argument with its value.
#[derive(Clone)]
pub(crate) struct Given {
    pub name: Option<Ident>,
    pub value: Value,
    pub span: Span,
}

impl Call {
    /// The arguments without a name.
    pub fn plain(&self) -> Vec<&Given> {
        self.given.iter().filter(|given| given.name.is_none()).collect()
    }
}

impl Eval<'_> {
    /// Reports a call whose arguments do not fit.
    pub fn wrong_call<T>(
        &mut self,
        call: &Call,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Evaluated<T> {
        self.wrong(codes::ARGUMENTS, message, call.span, help)
    }

    /// An argument by its name. [`Eval::only`] checks which names there are.
    pub fn named<'c>(&self, call: &'c Call, name: &str) -> Option<&'c Given> {
        call.given.iter().find(|given| given.name.is_some_and(|ident| self.names.text(ident.name) == name))
    }

    /// Refuses arguments with any other names.
    pub fn only(&mut self, call: &Call, names: &[&str]) -> Evaluated<()> {
        for given in &call.given {
            let Some(ident) = given.name else { continue };
            let text = self.names.text(ident.name).to_string();
            if !names.contains(&text.as_str()) {
                let message = format!("`{}` has no argument called `{text}`", call.name);
                if let Some(help) = self.meant_by_argument(call, given, ident, &text, names) {
                    return self.wrong(codes::ARGUMENTS, message, ident.span, help);
                }
                let help = match names.is_empty() {
                    true => "it has none with a name".to_string(),
                    false => format!("it has `{}`", names.join("`, `")),
                };
                return self.wrong(codes::ARGUMENTS, message, ident.span, help);
            }
        }
        Ok(())
    }

    /// A hint for an argument that another library has, or for `=` in place of `==`.
    fn meant_by_argument(
        &self,
        call: &Call,
        given: &Given,
        ident: Ident,
        text: &str,
        names: &[&str],
    ) -> Option<String> {
        let value = self.quote(given.span);
        let tensor = call.given.iter().find_map(|each| match each.value {
            Value::Tensor(tensor) => Some((tensor, self.quote(each.span))),
            _ => None,
        });
        let reduces = ["sum", "product", "mean", "max", "min"].contains(&call.name);
        match (text, tensor) {
            ("axis" | "dim" | "axes" | "dims", Some((tensor, owner))) if reduces => {
                let axis = if let Value::Number(axis) = given.value { Some(axis) } else { None };
                Some(self.axis_help(call.name, tensor, &owner, axis))
            }
            ("keepdims" | "keepdim", Some((_, owner))) if reduces => Some(format!(
                "a shape in place of a spec leaves units: `{}(\"... | v\", {owner})`",
                call.name
            )),
            ("axis" | "dim", _) if names.contains(&"along") => {
                Some("write `along = \"batch\"`, `along = \"output\"` or `along = \"input\"`".into())
            }
            _ if self.is_known(ident) => {
                Some(format!("write `{text} == {value}` to compare: `=` names an argument"))
            }
            _ => None,
        }
    }
}
