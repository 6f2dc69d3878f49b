//! Finds the places where layers were given their configuration: the lines to change if what they make does
//! not fit.

use broadloom::Error;
use broadloom_diagnostics::{Diagnostic, Label, Span};

use super::Eval;
use super::apply::Applied;
use crate::syntax::ast::Name;
use crate::value::Value;

impl Eval<'_> {
    /// Shows ends inside of layers where these were configured. What stands at the application of a layer of the library
    /// moves there; a function of the program gets a label with the numbers that it was given.
    pub(super) fn with_makers(&self, mut diagnostic: Diagnostic, error: &Error) -> Diagnostic {
        for end in error.ends() {
            let Some(origin) = end.step.and_then(|step| self.origins.get(step)) else { continue };
            let Some((made, applied)) = origin.application.and_then(|at| self.maker(at)) else { continue };
            if origin.span.contains(made) && !applied.is_of_library() {
                continue;
            }
            let text = end.label();
            let stands =
                |label: &&mut Label| !label.primary && label.span == origin.span && label.text == text;
            if applied.is_of_library() {
                if let Some(label) = diagnostic.labels.iter_mut().find(stands) {
                    label.span = made;
                }
                // The number may come from the configuration of a function of the program around it.
                diagnostic = match applied.outer.and_then(|outer| self.giver(outer, &text)) {
                    Some((made, given)) => labelled(diagnostic, made, given),
                    None => diagnostic,
                };
            } else if let Some(given) = self.given_number(applied, &text) {
                diagnostic = labelled(diagnostic, made, given);
            }
        }
        diagnostic
    }

    /// Finds the place at which a function of the program around an application was configured with the
    /// number that a text begins with: one where the number is written, if there is one.
    pub(super) fn giver(&self, at: u32, text: &str) -> Option<(Span, String)> {
        let (made, applied) = self.maker(at)?;
        let given = self.given_number(applied, text).filter(|_| !applied.is_of_library());
        let number = text.split(' ').next();
        let mut words = self.sources.slice(made).split(|letter: char| !letter.is_alphanumeric());
        let is_written = words.any(|word| Some(word) == number);
        let further = || self.giver(applied.outer?, text);
        match given.map(|given| (made, given)) {
            Some(given) if is_written => Some(given),
            given => further().or(given),
        }
    }

    /// Finds the application that gives a number as an argument, among those that are being evaluated, and
    /// describes the argument.
    pub(crate) fn given_as_argument(&self, number: f64) -> Option<(Span, String)> {
        let mut at = self.application;
        while let Some(applied) = at.and_then(|at| self.applied.get(at as usize)) {
            let is_it =
                |name: Name| matches!(applied.scope.own(name), Some(Value::Number(own)) if own == number);
            let mut arguments = applied.layer.function.def.arguments.iter();
            let found =
                arguments.find(|argument| is_it(argument.name.name)).filter(|_| !applied.is_of_library());
            if let Some(argument) = found {
                return Some((applied.span, format!("`{}` is {number} here", self.text(argument.name.name))));
            }
            at = applied.outer;
        }
        None
    }

    /// The place where the program configured the layer of an application, or one around it.
    pub(crate) fn configured_at(&self, at: u32) -> Option<Span> {
        self.maker(at).map(|(made, _)| made)
    }

    /// The place where the layer of an application was configured, and the application. One that the library
    /// configured belongs to the application around it: its users cannot change the library.
    fn maker(&self, mut at: u32) -> Option<(Span, &Applied)> {
        loop {
            let applied = self.applied.get(at as usize)?;
            match applied.layer.made_at.get() {
                Some(made) if !self.library.contains(&made.source) => return Some((made, applied)),
                _ => at = applied.outer?,
            }
        }
    }

    /// The argument of a configuration that is the number which a text begins with.
    fn given_number(&self, applied: &Applied, text: &str) -> Option<String> {
        let number: f64 = text.split(' ').next()?.parse().ok()?;
        let layer = &applied.layer;
        let mut config = layer.function.def.config.iter().flatten().zip(&layer.config);
        let (argument, _) =
            config.find(|(_, value)| matches!(value, Value::Number(own) if *own == number))?;
        Some(format!("`{}` is {number} here", self.text(argument.name.name)))
    }
}

/// Adds a label, unless the place has one that says something else than what was given.
pub(super) fn labelled(mut diagnostic: Diagnostic, span: Span, text: String) -> Diagnostic {
    match diagnostic.labels.iter_mut().find(|label| label.span == span) {
        Some(label) => {
            if let Some(before) = label.text.strip_suffix(" here").filter(|before| !text.starts_with(*before))
            {
                label.text = format!("{before}, {text}");
            }
            diagnostic
        }
        None => diagnostic.with_label(span, text),
    }
}
