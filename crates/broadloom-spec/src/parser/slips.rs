//! Mistakes that are wrong wherever they stand: characters without a meaning, stray dots,
//! parentheses in declarations, negative numbers. One message describes the whole slip and, where it can be
//! guessed, the meaning.

use super::Subject;
use crate::error::{Error, ErrorKind, clip, is_invisible};
use crate::lexer::{Slip, Token, TokenKind};
use crate::span::Span;

/// Refuses tokens that are wrong wherever they stand.
pub(super) fn check_tokens(text: &str, tokens: &[Token], subject: Subject) -> Result<(), Error> {
    let colon = tokens.iter().find(|token| token.kind == TokenKind::Colon && subject == Subject::Spec);
    let slips = tokens.iter().filter_map(|token| match token.kind {
        TokenKind::Slip(slip) => Some((slip, token.span)),
        _ => None,
    });
    if subject == Subject::Declaration {
        check_parentheses(text, tokens)?;
    }
    match (slips.clone().next(), colon) {
        (Some((slip, span)), _) => Err(explain(text, slip, span, subject)),
        (None, Some(colon)) => {
            Err(Error::new(ErrorKind::BasisInSpec, text, colon.span, "a spec has no bases")
                .label("`:` has no meaning here")
                .help("give the size and basis where a tensor is declared, and a label here"))
        }
        (None, None) => Ok(()),
    }
}

fn explain(text: &str, slip: Slip, span: Span, subject: Subject) -> Error {
    let shown = clip(span.slice(text));
    let error = |kind, message: String| Error::new(kind, text, span, message);
    let in_spec = subject == Subject::Spec;
    match slip {
        Slip::Minus => minus(text, span, in_spec),
        Slip::Ampersand => error(ErrorKind::Reserved, "`&` is reserved".to_owned())
            .label("has no meaning yet")
            .help(match in_spec {
                true => "a row holds several axes, as in `x, y`; one axis that goes through both is `(x y)`",
                false => "axes are not merged: a row can hold several axes, so `x, y` needs no flattening",
            }),
        Slip::NumberWithLetters => number_with_letters(text, span, in_spec),
        Slip::UnderscoreName => {
            error(ErrorKind::UnderscoreName, format!("the name `{shown}` starts with `_`"))
                .label("a name starts with a letter")
                .help(format!(
                    "write `{}`, or `_` alone for an axis without a name",
                    shown.trim_start_matches('_')
                ))
        }
        Slip::Dots => {
            let error = error(ErrorKind::StrayDots, format!("`{shown}` is neither `...` nor a row variable"));
            let error = error.expected(&["`...`", "`..name..`"]);
            let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
            let (before, after) = (&text[..span.start as usize], &text[span.end as usize..]);
            match shown == "." && digit(before.chars().next_back()) && digit(after.chars().next()) {
                true => error.help("numbers are whole"),
                false => error.help("write `...` for any axes, or `..r..` to use the same axes elsewhere"),
            }
        }
        Slip::UnclosedRow(name) => {
            let name = clip(name.slice(text));
            error(ErrorKind::UnclosedRowVariable, format!("the row variable `..{name}` is not closed"))
                .label("expected `..` after the name")
                .help(format!("write `..{name}..`, or `...{name}` for any axes before `{name}`"))
        }
        Slip::LongRowName(name) => {
            let name = clip(name.slice(text));
            error(ErrorKind::LongRowName, format!("the name of `..{name}..` is longer than a letter"))
                .label("names are single letters in this spec")
                .help(format!(
                    "put a comma between axes to write words, as in `h, w, ..{name}..`; or use one letter, as in `..{}..`",
                    name.chars().next().unwrap_or('r')
                ))
        }
        Slip::Unknown(c) => unknown(text, c, span, in_spec),
    }
}

fn minus(text: &str, span: Span, in_spec: bool) -> Error {
    let before = text[..span.start as usize].trim_end();
    let follows_label = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let (message, help) = match (in_spec, follows_label, before.ends_with('+')) {
        (false, true, _) => ("a size is not a difference", "write the size, or a new name for it"),
        (false, false, _) => ("a size cannot be negative", "write `_` for a size that is inferred"),
        (true, true, _) => (
            "an axis cannot be shifted backwards",
            "shift the other side forwards: write `o+1` there instead of `o-1` here",
        ),
        (true, false, true) => ("an offset cannot be negative", "shift the other side forwards instead"),
        (true, false, false) => {
            ("an index cannot be negative", "indices count from 0, from the start of the axis")
        }
    };
    Error::new(ErrorKind::NegativeNumber, text, span, message).label("numbers are not negative").help(help)
}

fn number_with_letters(text: &str, span: Span, in_spec: bool) -> Error {
    let shown = clip(span.slice(text));
    let digits: String = shown.chars().take_while(char::is_ascii_digit).collect();
    let word = &shown[digits.len()..];
    let message = format!("`{shown}` is neither a number nor a name");
    let error =
        Error::new(ErrorKind::NumberWithLetters, text, span, message).label("digits with letters after them");
    let product = word.strip_prefix(['x', 'X']).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    match (product, in_spec) {
        (Some(_), false) => {
            error.help(format!("separate sizes with commas: `{}`", shown.replace(['x', 'X'], ", ")))
        }
        (None, false) if word.starts_with(char::is_alphabetic) => error.help(format!(
            "write `{digits}:{word}` for a size with a basis, or start the name with a letter"
        )),
        (_, true) if word.starts_with(char::is_alphabetic) => error.help(format!(
            "write `{digits}*{word}` for a stride, or `{digits}, {word}` for an index and an axis"
        )),
        _ => error.help(format!("write `{}`", shown.replace('_', ""))),
    }
}

fn unknown(text: &str, c: char, span: Span, in_spec: bool) -> Error {
    let shown = if is_invisible(c) { format!("U+{:04X}", c as u32) } else { format!("`{c}`") };
    let error = Error::new(ErrorKind::UnknownCharacter, text, span, format!("{shown} has no meaning here"));
    let error = error.label("not part of the notation");
    error.help(match c {
        '[' | ']' | '{' | '}' => "axes are listed without brackets, as in `b, h, w`",
        '→' | '⇒' | '>' if in_spec => {
            "write `=>` before the result, and `->` between input and output axes"
        }
        '→' | '⇒' | '>' => "write `->` between input and output axes",
        '…' => "write three dots: `...`",
        '·' | '×' | '∗' if in_spec => "write `*`, as in `2*o`",
        '×' | '·' | '∗' => "separate sizes with commas",
        '/' if in_spec => {
            "write the stride on the longer axis: where `o` is half of it, the longer one is `2*o`"
        }
        '?' => "write `_` for an axis without a name",
        '@' => "write the axes: a matrix product is `ij; jk => ik`",
        '\'' | '"' => "names are letters, digits and `_`, without quotes",
        '#' => "there are no comments inside a spec",
        _ if in_spec => "the signs are `,` `;` `|` `->` `=>` `...` `+` `*` `^` `=` `<` `_`",
        _ => "the signs are `,` `|` `->` `...` `:` `=` `_`",
    })
}

/// Refuses parentheses in a declaration: one without a partner, or else the first.
fn check_parentheses(text: &str, tokens: &[Token]) -> Result<(), Error> {
    let mut places = tokens.iter().filter(|token| matches!(token.kind, TokenKind::Open | TokenKind::Close));
    let mut open = Vec::new();
    for Token { kind, span } in places.clone() {
        match kind {
            TokenKind::Open => open.push(*span),
            _ if open.pop().is_none() => {
                let error =
                    Error::new(ErrorKind::UnbalancedParenthesis, text, *span, "this `)` closes nothing");
                return Err(error.label("no `(` before it").help("delete it; parentheses do not group axes"));
            }
            _ => {}
        }
    }
    if let Some(&span) = open.last() {
        let error = Error::new(ErrorKind::UnbalancedParenthesis, text, span, "this `(` is not closed");
        return Err(error.label("no `)` after it").help("delete it; parentheses do not group axes"));
    }
    let Some(first) = places.next().map(|token| token.span) else { return Ok(()) };
    let last = places.next().map_or(first, |token| token.span);
    let inside = clip(text[first.end as usize..(last.start as usize).max(first.end as usize)].trim());
    let error = Error::new(ErrorKind::Parentheses, text, first.to(last), "parentheses do not group axes");
    Err(error.label("a group").help(format!("write `{inside}` without them")))
}
