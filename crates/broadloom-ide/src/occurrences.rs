//! Every place of a text where a name is written, with what the name stands for there.
//!
//! Names are found by tokens, so that lines with mistakes have them, too. A name is also written in the texts of specs,
//! `"{stride}*o+k"`, and as the name of an argument, `f(rate = 2)`.

use broadloom_diagnostics::{SourceId, Span};
use broadloom_lang::syntax::braces::{Braces, braces};
use broadloom_lang::syntax::lexer::lex;
use broadloom_lang::syntax::token::{Token, TokenKind};

use crate::names::{Binding, BindingKind, Bindings};

/// A name where it is written.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Occurrence {
    pub span: Span,
    pub target: Target,
}

/// The meaning of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// Something that the text binds, as an index into [`Bindings::all`].
    Bound(usize),
    /// Something in a module, which is bound by this binding.
    Member(usize),
    /// A field of something else: a size, a gradient, a parameter.
    Field,
    /// An argument of a function that the text does not define, which is called by the name at a place.
    Argument(Option<Span>),
    /// A name of the library or the language, a label of a shape, or nothing.
    Free,
}

/// The bindings of a text, and all places where names are written, in order.
pub(crate) struct Occurrences {
    pub bindings: Bindings,
    pub all: Vec<Occurrence>,
}

impl Occurrences {
    /// Reads a text.
    pub fn new(source: SourceId, text: &str) -> Occurrences {
        let bindings = Bindings::new(source, text);
        let tokens = lex(source, text).tokens;
        let mut all = Vec::new();
        Find { text, tokens: &tokens, bindings: &bindings }.names(&mut all);
        Occurrences { bindings, all }
    }

    /// The occurrence at an offset, or one that ends there.
    pub fn at(&self, offset: u32) -> Option<&Occurrence> {
        self.all.iter().find(|each| each.span.start <= offset && offset <= each.span.end)
    }

    /// The binding that an occurrence stands for.
    pub fn binding(&self, occurrence: &Occurrence) -> Option<&Binding> {
        match occurrence.target {
            Target::Bound(index) => self.bindings.all.get(index),
            _ => None,
        }
    }
}

struct Find<'a> {
    text: &'a str,
    tokens: &'a [Token],
    bindings: &'a Bindings,
}

impl Find<'_> {
    /// The names of the tokens, in order. Texts are in texts no deeper than the language has quotes: once.
    fn names(&self, all: &mut Vec<Occurrence>) {
        for (at, token) in self.tokens.iter().enumerate() {
            match token.kind {
                TokenKind::Name => all.push(Occurrence { span: token.span, target: self.target(at) }),
                TokenKind::Text => self.filled_in(token.span, all),
                _ => {}
            }
        }
    }

    fn kind(&self, at: Option<usize>) -> Option<TokenKind> {
        at.and_then(|at| self.tokens.get(at)).map(|token| token.kind)
    }

    /// The meaning of the name at a token.
    fn target(&self, at: usize) -> Target {
        let span = self.tokens[at].span;
        let name = span.slice(self.text);
        let bound = self.bindings.index(name, span.start);
        if let Some(index) = bound.filter(|index| self.bindings.all[*index].span == span) {
            return Target::Bound(index);
        }
        let before = self.kind(at.checked_sub(1));
        if before == Some(TokenKind::Dot) {
            return self.member(at).map_or(Target::Field, Target::Member);
        }
        let is_named = self.kind(Some(at + 1)) == Some(TokenKind::Equals);
        if is_named && matches!(before, Some(TokenKind::Open | TokenKind::Comma)) {
            return self.argument(at, name);
        }
        if before == Some(TokenKind::Colon) && self.is_basis(at) {
            return Target::Free;
        }
        bound.map_or(Target::Free, Target::Bound)
    }

    /// The module of `module.name`.
    fn member(&self, at: usize) -> Option<usize> {
        let owner = at.checked_sub(2).filter(|owner| self.kind(Some(*owner)) == Some(TokenKind::Name))?;
        // A field of a field is no member.
        if self.kind(owner.checked_sub(1)) == Some(TokenKind::Dot) {
            return None;
        }
        let span = self.tokens[owner].span;
        let index = self.bindings.index(span.slice(self.text), span.start)?;
        (self.bindings.all[index].kind == BindingKind::Module).then_some(index)
    }

    /// The argument of `f(name = …)` or `f(…)(name = …)`.
    fn argument(&self, at: usize, name: &str) -> Target {
        let callee = self.opening(at).and_then(|open| self.callee(open));
        let elsewhere = Target::Argument(callee.map(|callee| self.tokens[callee].span));
        let function = callee.and_then(|callee| {
            let span = self.tokens[callee].span;
            let is_member = self.kind(callee.checked_sub(1)) == Some(TokenKind::Dot);
            self.bindings.find(span.slice(self.text), span.start).filter(|_| !is_member)
        });
        let Some(function) = function else { return elsewhere };
        let mut named = self.bindings.arguments(function);
        named.find(|index| self.bindings.all[*index].name == name).map_or(elsewhere, Target::Bound)
    }

    /// The bracket that is open at a token.
    fn opening(&self, at: usize) -> Option<usize> {
        let mut depth = 0;
        for before in (0..at).rev() {
            match self.tokens[before].kind {
                TokenKind::Newline => return None,
                TokenKind::Close | TokenKind::CloseList | TokenKind::CloseBrace => depth += 1,
                TokenKind::Open | TokenKind::OpenList | TokenKind::OpenBrace if depth == 0 => {
                    return (self.tokens[before].kind == TokenKind::Open).then_some(before);
                }
                TokenKind::Open | TokenKind::OpenList | TokenKind::OpenBrace => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// The name in front of a list of arguments, or in front of the list before it.
    fn callee(&self, open: usize) -> Option<usize> {
        let before = open.checked_sub(1)?;
        match self.tokens[before].kind {
            TokenKind::Name => Some(before),
            TokenKind::Close => {
                let first = self.opening(before)?.checked_sub(1)?;
                (self.tokens[first].kind == TokenKind::Name).then_some(first)
            }
            _ => None,
        }
    }

    /// Returns true for `rgb` in `3:rgb`: what an axis counts is no name.
    fn is_basis(&self, at: usize) -> bool {
        let Some(owner) = at.checked_sub(2) else { return false };
        let span = self.tokens[owner].span;
        match self.tokens[owner].kind {
            TokenKind::Int => true,
            TokenKind::Name => {
                let bound = self.bindings.find(span.slice(self.text), span.start);
                bound.is_none_or(|binding| binding.span != span)
            }
            _ => false,
        }
    }

    /// The names in braces in a text, which are written there as everywhere else.
    fn filled_in(&self, span: Span, all: &mut Vec<Occurrence>) {
        for Braces { inner, start: open } in braces(span.slice(self.text)) {
            let begin = span.start + open as u32;
            let moved = |token: Token| Token {
                span: Span { start: token.span.start + begin, end: token.span.end + begin, ..span },
                ..token
            };
            let tokens: Vec<Token> = lex(span.source, inner).tokens.into_iter().map(moved).collect();
            Find { tokens: &tokens, ..*self }.names(all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each name with the line of its binding, or a word for what it is.
    fn targets(text: &str) -> String {
        let found = Occurrences::new(SourceId(0), text);
        let shown = |each: &Occurrence| {
            let line = |index: usize| {
                let start = found.bindings.all[index].span.start as usize;
                text[..start].matches('\n').count() + 1
            };
            let target = match each.target {
                Target::Bound(index) => line(index).to_string(),
                Target::Member(index) => format!("member of {}", line(index)),
                Target::Field => "field".into(),
                Target::Argument(_) => "argument".into(),
                Target::Free => "free".into(),
            };
            format!("{} {target}", each.span.slice(text))
        };
        found.all.iter().map(shown).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn names_of_the_text() {
        assert_eq!(targets("data x : 3\nlet y = relu(x)\n"), "x 1; y 2; relu free; x 1");
        assert_eq!(targets("let n = 2\nlet y = sum(\"{n}*o+k => o\", n)\n"), "n 1; y 2; sum free; n 1; n 1");
        let text = "import \"a.loom\"\nlet n = 1\nprint \"{a.f(k = n).h} 2{n}\"\n";
        assert_eq!(targets(text), "n 2; a 1; f member of 1; k argument; n 2; h field; n 2");
        assert_eq!(targets("let rgb = 1\ndata x : 3:rgb\n"), "rgb 1; x 2; rgb free");
        assert_eq!(targets("dim n = 1\ndata x:n\n"), "n 1; x 2; n 1");
    }

    #[test]
    fn arguments_by_name() {
        let text = "def f(rate)(x, scale = 1) = x * rate\nlet y = f(rate = 2)(1, scale = 3)\n";
        assert_eq!(targets(text), "f 1; rate 1; x 1; scale 1; x 1; rate 1; y 2; f 1; rate 1; scale 1");
        assert_eq!(targets("let y = linear(size = 2)\n"), "y 1; linear free; size argument");
    }

    #[test]
    fn fields_and_members() {
        let text = "import \"a.loom\"\nlet y = a.f(1)\nlet z = y.h + a.f.g\n";
        assert_eq!(targets(text), "y 2; a 1; f member of 1; z 3; y 2; h field; a 1; f member of 1; g field");
    }
}
