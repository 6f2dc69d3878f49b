//! Mistakes in texts without `=>`, with the probable meaning: the notation of NumPy, `->` before
//! the result, or no result at all.

use crate::error::{Error, ErrorKind, clip};
use crate::lexer::{Token, TokenKind};
use crate::span::Span;

/// Refuses a text without `=>`.
pub(super) fn check_arrows(text: &str, tokens: &[Token]) -> Result<(), Error> {
    let all = |kind| tokens.iter().filter(move |token| token.kind == kind).map(|token| token.span);
    if all(TokenKind::FatArrow).next().is_some() {
        return Ok(());
    }
    let thin: Vec<Span> = all(TokenKind::ThinArrow).collect();
    let has = |kind| all(kind).next().is_some();
    let end = tokens.last().map_or(Span::default(), |token| token.span);
    let whole = text.trim();
    match thin[..] {
        [arrow]
            if !has(TokenKind::Bar)
                || all(TokenKind::Bar).next_back().is_some_and(|bar| bar.start > arrow.start) =>
        {
            let (left, right) = (&text[..arrow.start as usize], &text[arrow.end as usize..]);
            let separated = left.contains(',')
                && !right.contains(',')
                && !has(TokenKind::Semicolon)
                && !has(TokenKind::Open);
            if separated && !has(TokenKind::Bar) {
                return Err(python_commas(text, left, right, all(TokenKind::Comma).next().unwrap_or(arrow)));
            }
            let meant = format!("{left}=>{right}");
            let spec = clip(&meant);
            Err(Error::new(ErrorKind::ThinArrow, text, arrow, "the result follows `=>`, not `->`")
                .expected(&["`=>`"])
                .rewrite(meant)
                .help(format!(
                    "write `{spec}`; `->` is written between the input axes and the output axes of one tensor"
                )))
        }
        _ => {
            let equals = all(TokenKind::Equals).next().filter(|_| thin.is_empty());
            let message = "a spec says what the result is, after `=>`";
            let error = Error::new(ErrorKind::MissingArrow, text, equals.unwrap_or(end), message);
            let error = error.expected(&["`=>`"]);
            Err(match equals {
                Some(_) => {
                    error.help("write `=>` before the result; `=` alone marks a padded window, as in `o=+k`")
                }
                None if whole.is_empty() => error.help("write something like `ij; jk => ik`"),
                None if has(TokenKind::Semicolon) => error.help(format!("write `{} => …`", clip(whole))),
                None => error.help(format!(
                    "write `{} => …`; without a result this is only the shape of one tensor",
                    clip(whole)
                )),
            })
        }
    }
}

/// The error for `ij,jk->ik`.
pub(super) fn python_commas(text: &str, left: &str, right: &str, comma: Span) -> Error {
    let message = "operands are separated by `;` and the result follows `=>`";
    let error = Error::new(ErrorKind::PythonCommas, text, comma, message)
        .label("in this notation `,` separates axes");
    let operands: Vec<&str> = left.split(',').map(str::trim).collect();
    let result = right.trim();
    let (many, one) = (operands.join("; "), operands.join(", "));
    let letters = |piece: &&str| piece.chars().all(|c| c.is_alphabetic() || c == '.');
    match operands.iter().all(letters) && letters(&result) {
        true => {
            let meant = format!("{many} => {result}");
            error.help(format!("write `{}`", clip(&meant))).rewrite(meant)
        }
        false => error.help(format!(
            "write `{}` for several operands, or `{}` for the axes of one",
            clip(&format!("{many} => {result}")),
            clip(&format!("{one} => {result}"))
        )),
    }
}
