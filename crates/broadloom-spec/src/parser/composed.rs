//! Composed axes: several axes as one, which goes through all of them, the last fastest.
//!
//! ```text
//! composed := `(` { part [ `,` ] } `)`      part := label | size | `...` | `..` name `..`
//! ```
//!
//! Parts are separated by blanks, or by commas, in letters and in words alike: `(h w)`, `(heads size)`. A single label in
//! parentheses is that label. Composed axes are axes of their own: they stand neither in each other nor in sums.

use super::Parser;
use crate::error::{Error, ErrorKind};
use crate::lexer::{Token, TokenKind};
use crate::mode::Mode;
use crate::span::Span;
use crate::tree::{Axis, AxisKind, Part, PartKind};
use std::num::NonZeroU64;

impl Parser<'_> {
    /// A composed axis; the token here is its `(`.
    pub(super) fn composed_axis(&mut self) -> Result<Axis, Error> {
        let open = self.bump().span;
        let mut parts: Vec<Part> = Vec::new();
        let mut after_comma = None;
        loop {
            match self.token() {
                Token { kind: TokenKind::Close, .. } => break,
                Token { kind: TokenKind::Comma, span } if !parts.is_empty() && after_comma.is_none() => {
                    self.bump();
                    after_comma = Some(span);
                }
                _ => {
                    parts.push(self.composed_part(open)?);
                    after_comma = None;
                }
            }
        }
        let span = open.to(self.bump().span);
        if self.mode == Mode::Single {
            self.check_words_in(&parts)?;
        }
        let sizes = parts.iter().filter_map(|part| match part.kind {
            PartKind::Size(size) => Some(size.get()),
            PartKind::Label(_) | PartKind::Row(_) => None,
        });
        if sizes.into_iter().try_fold(1_u64, u64::checked_mul).is_none() {
            let error =
                self.error(ErrorKind::NumberTooLarge, span, "the sizes in these parentheses are too large");
            return Err(error
                .label("their product does not fit in 64 bits")
                .help(format!("numbers go up to {}", u64::MAX)));
        }
        if self.kind().is_marker()
            || matches!(self.kind(), TokenKind::Plus | TokenKind::Star | TokenKind::Caret)
        {
            return Err(self.group_in_sum(span));
        }
        let kind = match parts[..] {
            [Part { kind: PartKind::Label(label), .. }] => AxisKind::Label(label),
            _ => AxisKind::Composed(parts),
        };
        Ok(Axis { kind, span })
    }

    /// A part of the composed axis that `open` begins.
    fn composed_part(&mut self, open: Span) -> Result<Part, Error> {
        let Token { kind, span } = self.token();
        let kind = match kind {
            TokenKind::Name => PartKind::Label(self.axis_name(span)?),
            TokenKind::Number => {
                let size = NonZeroU64::new(self.number(span)?).ok_or_else(|| {
                    let error =
                        self.error(ErrorKind::ZeroSize, span, "a part of a composed axis is not empty");
                    error.label("this size is zero").help("delete it; `()` is an axis of one element")
                })?;
                PartKind::Size(size)
            }
            TokenKind::Ellipsis | TokenKind::RowVariable(_) => {
                return Ok(Part { kind: PartKind::Row(self.hole()?.variable), span });
            }
            _ => return Err(self.no_part(open)),
        };
        self.bump();
        Ok(Part { kind, span })
    }

    /// The error for a token that cannot stand inside the composed axis that `open` begins.
    fn no_part(&self, open: Span) -> Error {
        let Token { kind, span } = self.token();
        let found = self.quote(span);
        let error = |kind, message: String| self.error(kind, span, message);
        match kind {
            TokenKind::Open => error(
                ErrorKind::NestedGroup,
                "a composed axis cannot contain another one".to_owned(),
            )
            .label("inside the first")
            .related(open, "the first begins here")
            .help("list all parts in one pair of parentheses: `(a b c)` has the same order as `((a b) c)`"),
            TokenKind::Underscore => {
                error(ErrorKind::NoPart, "`_` cannot be part of a composed axis".to_owned())
                    .expected(&["a label", "a size"])
                    .help("give it a label of its own; a label that occurs once is as free as `_`")
            }
            TokenKind::Comma => {
                error(ErrorKind::MissingAxis, "a part is missing before this comma".to_owned())
                    .expected(&["a label", "a size"])
                    .help("delete the comma, or write a part before it")
            }
            kind if kind.ends_row() => {
                let error = self.error(ErrorKind::UnbalancedParenthesis, open, "this `(` is not closed");
                error.label("no `)` after it").help("a composed axis is written `(h w)`")
            }
            _ => error(ErrorKind::NoPart, format!("{found} cannot stand inside a composed axis"))
                .expected(&["a label", "a size", "`)`"])
                .related(open, "it begins here")
                .help("a composed axis lists labels and sizes, as in `(h w)` or `(h 2)`"),
        }
    }

    /// The error for a composed axis inside of a sum or a concatenation.
    pub(super) fn group_in_sum(&self, span: Span) -> Error {
        let message = "a composed axis is an axis of its own, not part of a sum or a concatenation";
        let error = self.error(ErrorKind::GroupInSum, span, message).label("this one");
        error.help(
            "write a label here, and compose or split its axis in a spec of its own, as in `h, w => (h w)`",
        )
    }

    /// Refuses words where names are letters: `(heads size)`. Letters stand together, as in `(hw)`, or apart, as in `(h w)`.
    fn check_words_in(&self, parts: &[Part]) -> Result<(), Error> {
        let is_label = |part: &Part| matches!(part.kind, PartKind::Label(_));
        let touch = |pair: &&[Part]| pair.iter().all(is_label) && pair[0].span.end == pair[1].span.start;
        let is_apart = |pair: &[Part]| pair.iter().all(is_label) && pair[0].span.end < pair[1].span.start;
        let (Some(first), true) = (parts.windows(2).find(touch), parts.windows(2).any(is_apart)) else {
            return Ok(());
        };
        let rest = parts.iter().skip_while(|part| part.span.start < first[0].span.start);
        let mut end = first[0].span.end;
        for part in rest.skip(1).take_while(|part| is_label(part)) {
            if part.span.start != end {
                break;
            }
            end = part.span.end;
        }
        let word = Span { start: first[0].span.start, end };
        let letters: Vec<String> = word.slice(self.text).chars().map(String::from).collect();
        let message = format!("{} is {} labels here", self.quote(word), letters.len());
        let error = self.error(ErrorKind::WordsInGroup, word, message);
        Err(error.label("each letter is a label, because the spec contains no comma").help(format!(
            "put commas between axes to write words, as in `b, (heads size)`; or write `{}` for letters",
            letters.join(" ")
        )))
    }
}
