//! Mistakes are reported here: their places in the program, and pieces of it in messages.

use broadloom_diagnostics::{Diagnostic, Fact, Help, Span};

use super::{Eval, Evaluated, MOST_ERRORS, Reported, unknown};
use crate::codes;
use crate::syntax::quote::{quotable, quoted};
use crate::value::Value;

/// The longest comment of a function of the library that a message quotes, unless it is one sentence.
const LONGEST_COMMENT: usize = 240;

impl Eval<'_> {
    /// The span for a message: a place inside the library is replaced by the call that uses it.
    pub(crate) fn place(&self, span: Span) -> Span {
        if !self.library.contains(&span.source) {
            return span;
        }
        let user = self.calls.iter().rev().find(|call| !self.library.contains(&call.source));
        user.copied().unwrap_or(span)
    }

    /// True in what `checkpointed` of the library applies.
    pub(crate) fn is_checkpointed(&self) -> bool {
        self.calls.iter().any(|call| self.is_in_checkpointed(*call))
    }

    /// True of a place in the text of `checkpointed` of the library.
    pub(crate) fn is_in_checkpointed(&self, place: Span) -> bool {
        let function = self.names.find("checkpointed").and_then(|name| self.prelude.own(name));
        matches!(function, Some(Value::Function(function)) if function.span.contains(place))
    }

    /// Reports a mistake.
    pub(crate) fn fail<T>(&mut self, diagnostic: Diagnostic) -> Evaluated<T> {
        if unknown::is_guess(self, &diagnostic) || self.is_in_unfinished_text(&diagnostic) {
            return Err(Reported);
        }
        self.errors += 1;
        // A function that is applied often reports its mistakes once.
        if self.errors <= MOST_ERRORS && !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
        Err(Reported)
    }

    /// Returns true for a mistake in a text whose end has not been typed yet: a path, a spec or words that go on.
    fn is_in_unfinished_text(&self, diagnostic: &Diagnostic) -> bool {
        let Some(place) = diagnostic.primary().map(|label| label.span) else { return false };
        let holds = |known: &Diagnostic| {
            known.code == codes::QUOTE && known.primary().is_some_and(|label| label.span.contains(place))
        };
        self.diagnostics.iter().any(holds)
    }

    /// Reports a mistake at a place.
    pub fn wrong<T>(
        &mut self,
        code: &'static str,
        message: impl Into<String>,
        span: Span,
        help: impl Into<Help>,
    ) -> Evaluated<T> {
        self.wrong_by(code, message, span, help, Vec::new())
    }

    /// Reports a mistake that is gone when something else is written in some place: the advice says so, and the fix does it. There is no fix if the place is none that the user wrote, or if
    /// what is to be written is too long to be quoted.
    pub(crate) fn wrong_instead<T>(
        &mut self,
        code: &'static str,
        message: impl Into<String>,
        span: Span,
        (place, written): (Option<Span>, String),
        behind: &str,
    ) -> Evaluated<T> {
        let help = format!("write `{written}`{behind}");
        let is_own = |place: &Span| self.place(*place) == *place && self.place(span) == span;
        match place.filter(|place| is_own(place) && !written.contains('…')) {
            Some(place) => {
                self.fail(Diagnostic::error(code, message, span, "").with_fix(help, place, written))
            }
            None => self.wrong(code, message, span, help),
        }
    }

    /// Reports a mistake at a place, with its facts.
    pub(crate) fn wrong_by<T>(
        &mut self,
        code: &'static str,
        message: impl Into<String>,
        span: Span,
        help: impl Into<Help>,
        facts: Vec<Fact>,
    ) -> Evaluated<T> {
        let help: Help = help.into();
        let place = self.place(span);
        let mut diagnostic = Diagnostic::error(code, message, place, "");
        diagnostic.facts = facts;
        // Inside of the library it follows from what was reported about the same call.
        let is_known =
            |known: &Diagnostic| known.is_error() && known.primary().is_some_and(|label| label.span == place);
        if place != span && self.diagnostics.iter().any(is_known) {
            return Err(Reported);
        }
        if let Some(about) = about_library(self, span).filter(|_| place != span) {
            diagnostic = diagnostic.with_note(about);
        }
        self.fail(if help.is_empty() { diagnostic } else { diagnostic.with_help(help) })
    }

    /// A piece of the program for a message, or `…` if it is long.
    pub(crate) fn quote(&self, span: Span) -> String {
        quoted(self.sources.slice(span))
    }

    /// The same, if it is short enough to be quoted.
    pub(crate) fn quotable(&self, span: Span) -> Option<String> {
        quotable(self.sources.slice(span))
    }
}

/// The comment above a function of the library that is called at a place: it says what the
/// function takes and returns.
pub(super) fn about_library(eval: &Eval<'_>, span: Span) -> Option<String> {
    let place = eval.place(span);
    let called = eval.applied.iter().rev().find(|applied| applied.is_of_library_at(place))?;
    comment_above(eval, called.defined())
}

/// The comment above a function, by the place of its name.
pub(super) fn comment_above(eval: &Eval<'_>, name: Span) -> Option<String> {
    let source = eval.sources.get(name.source);
    let line = source.line_of(name.start);
    let is_comment = |line: &u32| source.line(*line).starts_with("# ");
    let above = (1..line).rev().take_while(is_comment).collect::<Vec<u32>>();
    let words: Vec<&str> =
        above.iter().rev().map(|line| source.line(*line).trim_start_matches("# ").trim()).collect();
    let name = eval.sources.slice(name);
    // The first sentences say what it is for, and `explain` shows the rest. Dots inside of a shape do not end one.
    let about = words.join(" ");
    let ends = |at: &usize| {
        let (before, behind) = (&about[..*at], &about[*at + 2..]);
        !before.ends_with('.') && behind.starts_with(|first: char| first.is_uppercase() || first == '`')
    };
    let sentences = about.match_indices(". ").map(|(at, _)| at).filter(ends).chain([about.len()]);
    let sentences: Vec<usize> = sentences.map(|at| (at + 1).min(about.len())).collect();
    let end = sentences.iter().rev().find(|end| **end <= LONGEST_COMMENT).or(sentences.first());
    end.filter(|end| **end > 0).map(|end| format!("about `{name}`: {}", &about[..*end]))
}
