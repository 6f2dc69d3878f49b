//! The classes of the words of a text, for highlighting.

use broadloom_diagnostics::{SourceId, Span};
use broadloom_lang::syntax::braces::{Braces, braces};
use broadloom_lang::syntax::lexer::lex;
use broadloom_lang::syntax::token::{Token, TokenKind};
use rustc_hash::FxHashMap;

use crate::names::BindingKind;
use crate::occurrences::{Occurrences, Target};

/// A word, a number, a sign, a text or a comment with its class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Classified {
    /// The place.
    pub span: Span,
    /// The class.
    pub class: Class,
    /// True where the name is bound.
    pub is_definition: bool,
}

/// The classes that highlighting tells apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// A comment.
    Comment,
    /// A word of the language.
    Keyword,
    /// A number.
    Number,
    /// A text in quotes, often a spec.
    Text,
    /// An operator, or another sign with a meaning of its own.
    Operator,
    /// A bracket or a comma.
    Punctuation,
    /// A name, as far as the words alone tell.
    Name,
    /// The name of a tensor or another value.
    Value,
    /// The name of data or a state.
    Leaf,
    /// The name of a parameter.
    Parameter,
    /// The name of a function.
    Function,
    /// The name of an argument, or the variable of a loop.
    Argument,
    /// The name of a size.
    Dim,
    /// The name of a module.
    Module,
    /// A field: a size, a gradient, a parameter of a layer.
    Field,
}

/// All classes with their names in lower case.
pub const CLASSES: &[(Class, &str)] = &[
    (Class::Comment, "comment"),
    (Class::Keyword, "keyword"),
    (Class::Number, "number"),
    (Class::Text, "text"),
    (Class::Operator, "operator"),
    (Class::Punctuation, "punctuation"),
    (Class::Name, "name"),
    (Class::Value, "value"),
    (Class::Leaf, "leaf"),
    (Class::Parameter, "parameter"),
    (Class::Function, "function"),
    (Class::Argument, "argument"),
    (Class::Dim, "dim"),
    (Class::Module, "module"),
    (Class::Field, "field"),
];

impl Class {
    /// The name of the class.
    pub fn word(self) -> &'static str {
        CLASSES.iter().find(|(class, _)| *class == self).map_or("", |(_, word)| word)
    }
}

/// The words of a text with what the lexer knows of them, in order. Grammars of editors are compared with it.
///
/// ```
/// use broadloom_ide::lexical;
///
/// let text = "let y = 2  # two\n";
/// let shown: Vec<String> =
///     lexical(text).iter().map(|each| format!("{} {}", each.span.slice(text), each.class.word())).collect();
/// assert_eq!(shown, ["let keyword", "y name", "= operator", "2 number", "# two comment"]);
/// ```
pub fn lexical(text: &str) -> Vec<Classified> {
    let lexed = lex(SourceId(0), text);
    let classified = |token: &Token| {
        let class = class(token.kind)?;
        (!token.span.is_empty()).then_some(Classified { span: token.span, class, is_definition: false })
    };
    let comment = |span: &Span| Classified { span: *span, class: Class::Comment, is_definition: false };
    let mut all: Vec<Classified> = lexed.tokens.iter().filter_map(classified).collect();
    all.extend(lexed.comments.iter().map(comment));
    all.sort_by_key(|each| each.span);
    all
}

/// The words of a text with what the names stand for.
///
/// ```
/// use broadloom_ide::tokens;
///
/// let text = "data x : 3\nlet y = relu(x)\n";
/// let shown: Vec<String> = tokens(text)
///     .iter()
///     .map(|each| format!("{} {}", each.span.slice(text), each.class.word()))
///     .filter(|shown| shown.starts_with(['x', 'y', 'r']))
///     .collect();
/// assert_eq!(shown, ["x leaf", "y value", "relu function", "x leaf"]);
/// ```
pub fn tokens(text: &str) -> Vec<Classified> {
    let names = Occurrences::new(SourceId(0), text);
    let meanings: FxHashMap<Span, (Class, bool)> = names
        .all
        .iter()
        .map(|each| {
            let binding = names.binding(each);
            let is_definition = binding.is_some_and(|binding| binding.span == each.span);
            (each.span, (meaning(each.target, &names), is_definition))
        })
        .collect();
    let mut all = Vec::new();
    for each in &lexical(text) {
        match meanings.get(&each.span).filter(|_| each.class == Class::Name) {
            Some(&(class, is_definition)) => {
                let class = match class {
                    Class::Name if is_called(text, each.span) => Class::Function,
                    class => class,
                };
                all.push(Classified { span: each.span, class, is_definition });
            }
            None if each.class == Class::Text => split(text, each, &meanings, &mut all),
            None => all.push(*each),
        }
    }
    all
}

/// The class of a name, from its meaning.
fn meaning(target: Target, names: &Occurrences) -> Class {
    match target {
        Target::Bound(index) => match names.bindings.all[index].kind {
            BindingKind::Dim => Class::Dim,
            BindingKind::Data | BindingKind::State => Class::Leaf,
            BindingKind::Value => Class::Value,
            BindingKind::Parameter => Class::Parameter,
            BindingKind::Function => Class::Function,
            BindingKind::Argument | BindingKind::Variable => Class::Argument,
            BindingKind::Module => Class::Module,
        },
        Target::Member(_) | Target::Free => Class::Name,
        Target::Field => Class::Field,
        Target::Argument(_) => Class::Argument,
    }
}

/// Returns true if a list of arguments follows a name, or a pipe stands before it.
fn is_called(text: &str, span: Span) -> bool {
    let before = text.get(..span.start as usize).unwrap_or_default().trim_end();
    text.get(span.end as usize..).unwrap_or_default().starts_with('(') || before.ends_with("|>")
}

/// A text with the names that are filled in as words of their own.
fn split(
    text: &str,
    whole: &Classified,
    meanings: &FxHashMap<Span, (Class, bool)>,
    all: &mut Vec<Classified>,
) {
    let mut start = whole.span.start;
    let quoted = whole.span.slice(text);
    for Braces { inner, start: open } in braces(quoted) {
        let first = whole.span.start + open as u32;
        let span = Span { start: first, end: first + inner.len() as u32, ..whole.span };
        let Some(&(class, _)) = meanings.get(&span).filter(|_| first > start) else { continue };
        all.push(Classified { span: Span { start, end: first, ..span }, ..*whole });
        all.push(Classified { span, class, is_definition: false });
        start = span.end;
    }
    if start < whole.span.end {
        all.push(Classified { span: Span { start, ..whole.span }, ..*whole });
    }
}

/// The class of a kind of token; None for marks of the layout.
fn class(kind: TokenKind) -> Option<Class> {
    Some(match kind {
        TokenKind::Name => Class::Name,
        TokenKind::Keyword(_) => Class::Keyword,
        TokenKind::Int | TokenKind::Float => Class::Number,
        TokenKind::Text => Class::Text,
        TokenKind::Open
        | TokenKind::Close
        | TokenKind::OpenList
        | TokenKind::CloseList
        | TokenKind::OpenBrace
        | TokenKind::CloseBrace
        | TokenKind::Comma
        | TokenKind::Semicolon => Class::Punctuation,
        TokenKind::Newline | TokenKind::Indent | TokenKind::Dedent | TokenKind::Unknown | TokenKind::End => {
            return None;
        }
        _ => Class::Operator,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let one = |each: &Classified| format!("{} {}", each.span.slice(text), each.class.word());
        tokens(text).iter().map(one).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn names_have_the_class_of_what_they_stand_for() {
        assert_eq!(
            shown("def f(n)(x) = {w} @ x\n"),
            "def keyword; f function; ( punctuation; n argument; ) punctuation; ( punctuation; x argument; \
             ) punctuation; = operator; { punctuation; w parameter; } punctuation; @ operator; x argument"
        );
        assert_eq!(
            shown("print a.b, tanh, tanh(c)\n"),
            "print keyword; a name; . operator; b field; , punctuation; tanh name; , punctuation; tanh function; ( punctuation; c name; ) punctuation"
        );
    }

    #[test]
    fn names_in_texts_are_names() {
        assert_eq!(
            shown("let n = 2\nprint \"{n}*o\"\n"),
            "let keyword; n value; = operator; 2 number; print keyword; \"{ text; n value; }*o\" text"
        );
        assert_eq!(shown("print \"{n} {\"\n"), "print keyword; \"{ text; n name; } {\" text");
    }
}
