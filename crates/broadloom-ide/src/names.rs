//! The names of a text: their bindings and scopes.
//!
//! The text is parsed, not evaluated, so that names are available for programs with mistakes, too.
//! A name is known from the line after the statement that binds it to the end of the block; a
//! parameter to the end of the function it is in. Names in the body of a function are looked up
//! when the function is applied, so names that the program binds later count there.

mod walk;

use broadloom_diagnostics::{SourceId, Span};
use broadloom_lang::syntax::lexer::lex;
use broadloom_lang::syntax::token::{Token, TokenKind};

/// The binding of a name.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Binding {
    pub name: String,
    pub kind: BindingKind,
    /// The name itself.
    pub span: Span,
    /// The range in which it is known: the first offset, and the one after the last.
    pub known: (u32, u32),
    /// The part of the statement that introduces the name: `def linear(size)(x)`.
    pub head: Span,
}

/// The kind of a binding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BindingKind {
    Dim,
    Data,
    State,
    Value,
    Parameter,
    Function,
    Argument,
    Variable,
    Module,
}

impl BindingKind {
    /// The kind in a word.
    pub fn word(self) -> &'static str {
        match self {
            BindingKind::Dim => "dim",
            BindingKind::Data => "data",
            BindingKind::State => "state",
            BindingKind::Value => "value",
            BindingKind::Parameter => "parameter",
            BindingKind::Function => "function",
            BindingKind::Argument => "argument",
            BindingKind::Variable => "variable",
            BindingKind::Module => "module",
        }
    }
}

/// All names that a text binds.
#[derive(Default)]
pub(crate) struct Bindings {
    pub all: Vec<Binding>,
    /// The bodies of functions.
    bodies: Vec<(u32, u32)>,
}

impl Bindings {
    /// Reads a text.
    pub fn new(source: SourceId, text: &str) -> Bindings {
        walk::bindings(source, text)
    }

    /// The names that are known at an offset, the innermost first, and among those the last bound
    /// first.
    pub fn at(&self, offset: u32) -> Vec<&Binding> {
        let in_body = self.bodies.iter().any(|(start, end)| (*start..*end).contains(&offset));
        let is_known = |binding: &&Binding| {
            let (start, end) = binding.known;
            offset < end && (start <= offset || (in_body && end == u32::MAX))
        };
        let mut known: Vec<&Binding> = self.all.iter().filter(is_known).collect();
        // Later bindings count only if there are no earlier ones.
        let order = |binding: &&Binding| {
            let (start, end) = binding.known;
            (start > offset, end, if start > offset { start } else { u32::MAX - start })
        };
        known.sort_by_key(order);
        known
    }

    /// The binding of a name at an offset.
    pub fn find(&self, name: &str, offset: u32) -> Option<&Binding> {
        let is_here = |binding: &&Binding| binding.span.start <= offset && offset <= binding.span.end;
        let here = self.all.iter().filter(is_here).find(|binding| binding.name == name);
        here.or_else(|| self.at(offset).into_iter().find(|binding| binding.name == name))
    }
}

/// The name that is written at an offset, or ends there, and its binding. None if it is a field or
/// an argument of a call.
pub(crate) fn name_at(source: SourceId, text: &str, offset: u32) -> Option<(Span, Option<Binding>)> {
    let tokens = lex(source, text).tokens;
    let is_there = |token: &Token| {
        token.kind == TokenKind::Name && token.span.start <= offset && offset <= token.span.end
    };
    let at = tokens.iter().position(is_there)?;
    let before = at.checked_sub(1).map(|before| tokens[before].kind);
    let after = tokens.get(at + 1).map(|after| after.kind);
    let is_argument =
        after == Some(TokenKind::Equals) && matches!(before, Some(TokenKind::Open | TokenKind::Comma));
    let is_field = before == Some(TokenKind::Dot);
    let span = tokens[at].span;
    let binding = Bindings::new(source, text).find(span.slice(text), span.start).cloned();
    // `def f(rate = 0.1)` and `let a, b = …` look like arguments, and bind names.
    let is_bound_here = binding.as_ref().is_some_and(|binding| binding.span == span);
    (is_bound_here || !(is_field || is_argument)).then_some((span, binding))
}

/// The comment right above a line, without the `#` signs.
pub(crate) fn comment_above(text: &str, offset: u32) -> Option<String> {
    let before = text.get(..offset as usize)?;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let lines: Vec<&str> = before[..start].lines().collect();
    let is_comment = |line: &&&str| line.trim_start().starts_with('#');
    let count = lines.iter().rev().take_while(is_comment).count();
    let words = |line: &&str| line.trim_start().trim_start_matches('#').trim().to_string();
    let comment: Vec<String> = lines[lines.len() - count..].iter().map(words).collect();
    (!comment.is_empty()).then(|| comment.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line on which the name under the cursor `▮` is bound.
    fn bound(text: &str) -> Option<usize> {
        let offset = text.find('▮').unwrap();
        let text = text.replace('▮', "");
        let source = SourceId(0);
        let (_, binding) = name_at(source, &text, offset as u32)?;
        let binding = binding?;
        Some(text[..binding.span.start as usize].matches('\n').count() + 1)
    }

    #[test]
    fn names_are_known_from_their_statement_on() {
        assert_eq!(bound("data x : 3\nlet y = x▮\n"), Some(1));
        assert_eq!(bound("data x : 3\nlet x = ▮x + 1\nlet y = x\n"), Some(1));
        assert_eq!(bound("data x : 3\nlet x = x + 1\nlet y = ▮x\n"), Some(2));
        assert_eq!(bound("let y = x▮\ndata x : 3\n"), None);
        assert_eq!(bound("let y = {w} @ ▮w\n"), Some(1));
        assert_eq!(bound("dim n = 3\ndata x : n▮ | 2\n"), Some(1));
    }

    #[test]
    fn blocks_have_names_of_their_own() {
        assert_eq!(bound("data x : 3\ndef f(\n  a)(x) =\n  ▮x + {b}\n"), Some(3));
        assert_eq!(bound("def f(x) =\n  let y = x\n  y\nlet z = ▮y\n"), None);
        assert_eq!(bound("for i in 0..3:\n  print ▮i\n"), Some(1));
        assert_eq!(bound("let all = [linear(n▮) for n in [1, 2]]\n"), Some(1));
        // Names in a function are looked up when it is applied.
        assert_eq!(bound("def f(x) = x + ▮k\nlet k = 2\n"), Some(2));
        assert_eq!(bound("def f(x) =\n  let y = x\n  ▮y +\n"), Some(2));
    }

    #[test]
    fn fields_and_arguments_are_no_names() {
        assert_eq!(bound("let grad = 1\nlet y = w.▮grad\n"), None);
        assert_eq!(bound("let rate = 1\nlet y = f(▮rate = 2)\n"), None);
        assert_eq!(bound("let rate = 1\ndef f(▮rate = 2)(x) = x\n"), Some(2));
        assert_eq!(bound("let b = 1\nlet a, ▮b = [1, 2]\n"), Some(2));
    }

    #[test]
    fn comments_stand_above() {
        let text = "# one\n\n# two\n# three\ndef f(x) = x\n";
        assert_eq!(comment_above(text, text.find("def").unwrap() as u32), Some("two\nthree".into()));
        assert_eq!(comment_above("def f(x) = x\n", 0), None);
    }
}
