//! Calls with the values of their arguments, as data.

use broadloom_diagnostics::Span;

use crate::language_function::LanguageFunction;
use crate::syntax::ast::Ident;
use crate::value::Value;

/// A call of a function of the language, with its arguments.
pub(crate) struct Call {
    pub function: LanguageFunction,
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
    /// The name of the function.
    pub fn name(&self) -> &'static str {
        self.function.name()
    }

    /// The arguments without a name.
    pub fn plain(&self) -> Vec<&Given> {
        self.given.iter().filter(|given| given.name.is_none()).collect()
    }

    /// The place of the call, if all that it is given stands there: not what a pipe brings.
    pub fn whole(&self) -> Option<Span> {
        self.given.iter().all(|given| self.span.contains(given.span)).then_some(self.span)
    }
}
