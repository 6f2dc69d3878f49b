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
}
