//! Signs of other languages: comments, texts and characters that mean nothing here.

use broadloom_diagnostics::{Diagnostic, Edit};

use super::super::quote::LONGEST_QUOTE;
use super::super::token::TokenKind;
use super::{LINE_ENDS, Lexer};
use crate::codes;

/// Words that stand between two expressions, or behind one.
const BETWEEN: [&str; 8] = ["and", "or", "if", "then", "else", "for", "in", "every"];

/// Statements with words of their own behind an expression.
const STATEMENTS: [(&str, &[&str]); 2] = [("save", &["to"]), ("minimise", &["of", "by"])];

impl Lexer<'_> {
    /// The length of a `//` comment, as other languages
    /// have it. Returns `None` if `//` is a whole quotient.
    pub(super) fn foreign_comment(&self, rest: &str) -> Option<usize> {
        let line = rest.strip_prefix("//")?;
        let line = line[..line.find(LINE_ENDS).unwrap_or(line.len())].trim_end();
        let words: Vec<&str> = line.split_whitespace().collect();
        let before = self.text[..self.at].rsplit(LINE_ENDS).next().unwrap_or_default();
        let first = before.split_whitespace().next();
        let own = STATEMENTS.iter().find(|(statement, _)| Some(*statement) == first);
        let is_between =
            |word: &&str| BETWEEN.contains(word) || own.is_some_and(|(_, words)| words.contains(word));
        let begins = |word: &str| word.starts_with(char::is_alphanumeric) && !is_between(&word);
        let ends = |word: &str| {
            begins(word) && word.ends_with(|end: char| end.is_alphanumeric() || "_.:!?".contains(end))
        };
        // Two words without a sign between them cannot be an expression.
        let is_prose = words.is_empty() || words.windows(2).any(|pair| ends(pair[0]) && begins(pair[1]));
        (is_prose || self.fresh || line.starts_with('/')).then_some(line.len() + 2)
    }

    pub(super) fn slashes(&mut self) {
        let span = self.span(self.at, self.at + 2);
        let diagnostic = Diagnostic::error(codes::CHARACTER, "`//` means nothing here", span, "not expected");
        self.out.diagnostics.push(
            diagnostic.with_help("write `#` for a comment").fixed_by("write `#`", vec![Edit::new(span, "#")]),
        );
    }

    pub(super) fn unknown(&mut self, rest: &str, letter: char) -> (TokenKind, usize) {
        let length = unknown_length(rest, letter);
        // The parser reports `x .^ 2`, with all such operators of the line.
        if letter == '^' && self.text[..self.at].ends_with('.') {
            return (TokenKind::Unknown, length);
        }
        let span = self.span(self.at, self.at + length);
        let written;
        let ends_operand = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | ')' | ']');
        let (message, help): (String, Option<&str>) = match letter {
            '\'' if length == 1 && self.text[..self.at].ends_with(ends_operand) => {
                ("`'` means nothing here".into(), Some("the transpose of a matrix is `x.T`"))
            }
            '\'' => {
                let inner = rest[..length].trim_matches('\'');
                written = format!("write `\"{inner}\"`");
                let short = length > 2 && length < 50 && !inner.contains('`');
                (
                    "texts are written in double quotes".into(),
                    Some(if short { &*written } else { "write `\"…\"`" }),
                )
            }
            '?' => ("`?` means nothing here".into(), Some("write `if condition then a else b`")),
            '$' => ("`$` means nothing here".into(), Some("names have no sign before them")),
            '&' => ("`&` means nothing here".into(), Some("write `and`")),
            '!' => ("`!` means nothing here".into(), Some("write `not`, or `!=` for different")),
            '^' => (
                "`^` means nothing here".into(),
                Some("a power is `**`; axes are put together by a spec such as `a; b => a^b`"),
            ),
            '×' | '·' => (
                format!("`{letter}` means nothing here"),
                Some(
                    "write `*` for products of elements, `@` to compose; the axes of a shape are separated by `,`",
                ),
            ),
            _ if letter.is_control() => ("there is an unprintable character".into(), None),
            _ => (format!("`{letter}` means nothing here"), None),
        };
        let diagnostic = Diagnostic::error(codes::CHARACTER, message, span, "not expected");
        let meant = match letter {
            '\'' if length > 1 => Some(format!("\"{}\"", rest[..length].trim_matches('\''))),
            '&' => Some("and".into()),
            '!' => Some("not ".into()),
            '^' => Some("**".into()),
            '×' | '·' => Some("*".into()),
            '$' => Some(String::new()),
            _ => None,
        };
        let title = meant.as_ref().map(|meant| match meant.trim() {
            "" => format!("leave out `{letter}`"),
            meant => format!("write `{meant}`"),
        });
        let diagnostic = help.into_iter().fold(diagnostic, Diagnostic::with_help);
        self.out.diagnostics.push(match meant.zip(title) {
            Some((meant, title)) => diagnostic.fixed_by(title, vec![Edit::new(span, meant)]),
            None => diagnostic,
        });
        (TokenKind::Unknown, length)
    }

    /// Reports a text in `"""` that is a line of its own, and returns its length: it is a comment.
    pub(super) fn docstring(&mut self, rest: &str) -> usize {
        let (inner, length) = long_text(rest);
        let span = self.span(self.at, self.at + length);
        let quotes = &rest[..3];
        let (indent, _) = super::column(self.text, self.at);
        let lines: Vec<String> =
            inner.trim().lines().map(|line| format!("# {}", line.trim()).trim_end().to_string()).collect();
        let comment = lines.join(&format!("\n{}", " ".repeat(indent)));
        let help = match &lines[..] {
            [line] if line.len() < LONGEST_QUOTE && !line.contains('`') => format!("write `{line}`"),
            [_] => "write `# …`".to_string(),
            _ => "write `#` before each line".to_string(),
        };
        let message = format!("there are no texts in `{quotes}`; a comment begins with `#`");
        let diagnostic = Diagnostic::error(codes::QUOTE, message, span, "");
        self.out.diagnostics.push(diagnostic.with_fix(help, span, comment));
        // What follows on the line would not begin one.
        let rest = &rest[length..];
        length + rest.find(LINE_ENDS).unwrap_or(rest.len())
    }

    /// Reports a text in `"""` where a text may stand.
    pub(super) fn long_text(&mut self, rest: &str) -> (TokenKind, usize) {
        let (inner, length) = long_text(rest);
        let span = self.span(self.at, self.at + length);
        let message = format!("there are no texts in `{}`", &rest[..3]);
        let diagnostic = Diagnostic::error(codes::QUOTE, message, span, "");
        let is_short = !inner.contains(LINE_ENDS) && !inner.contains(['"', '`']);
        self.out.diagnostics.push(match is_short {
            true => diagnostic.with_fix(format!("write `\"{inner}\"`"), span, format!("\"{inner}\"")),
            false => diagnostic.with_help("a text stands in `\"`, on one line"),
        });
        (TokenKind::Unknown, length)
    }
}

/// Returns true at `"""`, with which texts of several lines begin elsewhere.
pub(super) fn is_long_text(rest: &str) -> bool {
    rest.starts_with("\"\"\"") || rest.starts_with("'''")
}

/// The text between `"""` and `"""`, or to the end of the line if the second is missing; and the length of it
/// all.
fn long_text(rest: &str) -> (&str, usize) {
    let (quotes, inner) = rest.split_at(3);
    match inner.find(quotes) {
        Some(end) => (&inner[..end], end + 6),
        None => {
            let line = inner[..inner.find(LINE_ENDS).unwrap_or(inner.len())].trim_end();
            (line, line.len() + 3)
        }
    }
}

/// The length of a meaningless piece: the same character repeated, or a text in single quotes.
fn unknown_length(rest: &str, letter: char) -> usize {
    if letter == '\''
        && let Some(length) = rest[1..].find(|next| next == letter || LINE_ENDS.contains(&next))
        && rest[1 + length..].starts_with(letter)
    {
        return length + 2;
    }
    rest.chars().take_while(|next| *next == letter).map(char::len_utf8).sum()
}
