//! Texts that are printed. Names in braces are filled in before the program runs; what is computed stands behind.

use broadloom_diagnostics::{Diagnostic, Span};

use super::{Eval, Evaluated};
use crate::codes;
use crate::suggest;
use crate::syntax::ast::{ExprId, ExprKind};
use crate::value::Value;

/// The parts of a line to print: texts and values in the order of the text, and the values that are computed.
#[derive(Default)]
struct Parts {
    written: Vec<String>,
    computed: Vec<String>,
}

impl Eval<'_> {
    /// Reports texts with braces around what has its numbers only when the program runs.
    pub(super) fn known_in_texts(
        &mut self,
        parts: &[ExprId],
        every: Option<ExprId>,
        span: Span,
    ) -> Evaluated<()> {
        let file = self.frame.file.clone();
        let (mut all, mut first) = (Parts::default(), None);
        for part in parts {
            match &file.expr(*part).kind {
                ExprKind::Text(text) => {
                    self.take_apart(text, &mut all);
                    first = first.or((!all.computed.is_empty()).then(|| self.span_of(*part)));
                }
                _ => all.written.push(self.sources.slice(self.span_of(*part)).to_string()),
            }
        }
        let Some(at) = first.filter(|_| self.place(span) == span) else { return Ok(()) };
        let every =
            every.map_or(String::new(), |every| format!(" every {}", self.quote(self.span_of(every))));
        let written = format!("print {}{every}", all.written.join(", "));
        let message = message(&all.computed);
        // How the text is written is no matter of interest once it is taken apart.
        self.diagnostics.retain(|known| {
            let place = known.primary().map_or(span, |label| label.span);
            !(span.contains(place) && known.code == codes::EXPECTED)
        });
        let diagnostic = Diagnostic::error(codes::KIND, message, at, "");
        self.fail(diagnostic.with_fix(format!("write `{written}`"), span, written))
    }

    fn take_apart(&self, text: &str, parts: &mut Parts) {
        let (mut literal, mut rest) = (String::new(), text);
        let end = |literal: &mut String, parts: &mut Parts| {
            let words = std::mem::take(literal);
            let words = words.trim().trim_matches([':', ',']).trim();
            if !words.is_empty() {
                parts.written.push(format!("\"{words}\""));
            }
        };
        while let Some((before, (inner, after))) =
            rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        {
            literal.push_str(before);
            rest = after;
            match self.computed(inner) {
                Some(value) => {
                    end(&mut literal, parts);
                    parts.written.push(value.clone());
                    if !parts.computed.contains(&value) {
                        parts.computed.push(value);
                    }
                }
                None => literal.push_str(&format!("{{{inner}}}")),
            }
        }
        literal.push_str(rest);
        end(&mut literal, parts);
    }

    /// The expression in braces, if it cannot be filled in: without the form in which other languages print
    /// it.
    fn computed(&self, inner: &str) -> Option<String> {
        let inner = without_form(inner);
        let length = inner.find(|letter: char| !is_of_name(letter)).unwrap_or(inner.len());
        let value = self.frame.scope.find(self.names.find(&inner[..length])?)?;
        let is_name = length == inner.len();
        let is_computed = matches!(value, Value::Tensor(_) | Value::Position(_)) || !is_name;
        is_computed.then(|| inner.to_string())
    }
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// An expression in a text without its format, as in `{loss:.3f}`, and without a method that takes a number out.
fn without_form(inner: &str) -> &str {
    let mut depth = 0;
    let end = inner.find(|letter: char| {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        depth == 0 && matches!(letter, ':' | '!')
    });
    let mut inner = inner[..end.unwrap_or(inner.len())].trim().trim_end_matches('=').trim();
    while let Some(shorter) =
        [".item()", ".numpy()", ".detach()", ".cpu()"].iter().find_map(|method| inner.strip_suffix(method))
    {
        inner = shorter;
    }
    inner
}

fn message(computed: &[String]) -> String {
    let expression = computed.iter().find(|value| !value.chars().all(is_of_name));
    if let Some(expression) = expression {
        return format!("braces in a text hold a name, and `{expression}` is computed");
    }
    let names: Vec<String> = computed.iter().map(|name| format!("`{name}`")).collect();
    let have = if names.len() > 1 { "have their" } else { "has its" };
    format!("{} {have} numbers only when the program runs", suggest::listed(&names))
}
