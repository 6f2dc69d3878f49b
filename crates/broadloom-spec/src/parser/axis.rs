//! The axes of a spec.
//!
//! ```text
//! axis   := label | index | `_` | sum | concat | composed
//! sum    := term { `+` term }      at most two labels and one number, in any order
//! term   := [ coefficient `*` ] label [ `=` | `<` ] | number
//! concat := part { `^` part }      part := label | size | `_`
//! ```
//!
//! **The label that is stepped over.** In a sum of two labels one is stepped over (its coefficient
//! is the stride) and the other moves inside the window (its coefficient is the dilation). The
//! label that carries a marker is stepped over; without a marker it is the first label: `2*o+k`,
//! `1+2*o+k` and `k+2*o=` all step over `o`, and `k+2*o` steps over `k`.

use super::Parser;
use crate::error::{Error, ErrorKind};
use crate::lexer::{Token, TokenKind};
use crate::mode::Mode;
use crate::span::Span;
use crate::tree::{Affine, Axis, AxisKind, Coefficient, Component, ComponentKind, Kernel, Padding, Term};
use std::num::NonZeroU64;

/// One part of a sum or of a concatenation, before the sign after it decides which.
struct AxisPart {
    kind: AxisPartKind,
    /// Without the marker.
    span: Span,
    marker: Option<Token>,
}

enum AxisPartKind {
    Number(u64),
    Wildcard,
    Term(Product),
}

/// A term whose names are not entered yet: in a sum, the one that is stepped over goes first.
#[derive(Clone, Copy)]
struct Product {
    coefficient: Factor,
    label: Span,
    span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Factor {
    Literal(NonZeroU64),
    Named(Span),
}

impl Factor {
    const ONE: Factor = Factor::Literal(NonZeroU64::MIN);

    fn is_one(self) -> bool {
        self == Factor::ONE
    }
}

impl Parser<'_> {
    /// An axis; the token here starts one.
    pub(super) fn axis(&mut self) -> Result<Axis, Error> {
        let start = self.span();
        if self.kind() == TokenKind::Open {
            return self.composed_axis();
        }
        let first = self.part()?;
        let kind = match self.kind() {
            TokenKind::Caret => self.concat(first)?,
            TokenKind::Plus => self.sum(first)?,
            _ => self.alone(first)?,
        };
        let span = Span { start: start.start, end: self.last_end() };
        match self.kind() {
            TokenKind::Star => Err(self.stray_star(span)),
            kind if kind.is_marker() => Err(self.stray_marker(span)),
            _ => Ok(Axis { kind, span }),
        }
    }

    fn part(&mut self) -> Result<AxisPart, Error> {
        let Token { kind, span } = self.token();
        let kind = match kind {
            TokenKind::Number if self.next_kind() != TokenKind::Star => {
                self.bump();
                AxisPartKind::Number(self.number(span)?)
            }
            TokenKind::Underscore => {
                self.bump();
                if self.kind() == TokenKind::Star {
                    return Err(self.wildcard_in_sum(span));
                }
                AxisPartKind::Wildcard
            }
            _ => AxisPartKind::Term(self.product()?),
        };
        let span = Span { start: span.start, end: self.last_end() };
        let is_marker = self.kind().is_marker();
        if is_marker && !matches!(kind, AxisPartKind::Term(_)) {
            return Err(self.stray_marker(span));
        }
        let marker = is_marker.then(|| self.bump());
        if is_marker && self.kind().is_marker() {
            return Err(self.stray_marker(span));
        }
        Ok(AxisPart { kind, span, marker })
    }

    /// `label`, `2*label` or `s*label`, in multi-character mode if there is a `*`.
    fn product(&mut self) -> Result<Product, Error> {
        let Token { kind: first, span } = self.bump();
        if self.mode == Mode::Single || self.kind() != TokenKind::Star {
            return Ok(Product { coefficient: Factor::ONE, label: span, span });
        }
        let star = self.bump().span;
        let label = match self.kind() {
            TokenKind::Name => self.span(),
            TokenKind::Underscore => return Err(self.wildcard_in_sum(self.span())),
            TokenKind::Open => return Err(self.group_in_sum(self.span())),
            TokenKind::Number if first == TokenKind::Name => {
                let (name, number) = (self.plain(span), self.plain(self.span()));
                let message = "a coefficient comes before its label";
                let error = self.error(ErrorKind::CoefficientOrder, span.to(self.span()), message);
                return Err(error
                    .label("the number should be first")
                    .help(format!("write `{number}*{name}`")));
            }
            _ => {
                let message = format!("nothing to multiply after {}", self.quote(span.to(star)));
                let error = self.error(ErrorKind::MissingTerm, self.span(), message).expected(&["a label"]);
                return Err(match (first, self.kind()) {
                    (TokenKind::Number, TokenKind::Number) => error.help("write the product of the numbers"),
                    _ => error.help("a coefficient multiplies a label, as in `2*o`"),
                });
            }
        };
        let coefficient = match first {
            TokenKind::Number => Factor::Literal(self.coefficient(span, label)?),
            _ => Factor::Named(span),
        };
        self.bump();
        Ok(Product { coefficient, label, span: span.to(label) })
    }

    /// The term with its names entered.
    fn term(&mut self, product: Product) -> Result<Term, Error> {
        let coefficient = match product.coefficient {
            Factor::Literal(number) => Coefficient::Literal(number),
            Factor::Named(name) => Coefficient::Named(self.coefficient_name(name)?),
        };
        Ok(Term { coefficient, label: self.axis_name(product.label)?, span: product.span })
    }

    fn coefficient(&self, span: Span, label: Span) -> Result<NonZeroU64, Error> {
        NonZeroU64::new(self.number(span)?).ok_or_else(|| {
            let label = self.plain(label);
            let message = format!("the coefficient of `{label}` is zero");
            let error = self.error(ErrorKind::ZeroCoefficient, span, message);
            error.label("a stride or dilation is at least 1").help(format!(
                "write `{label}` for steps of one; to stay at one index, write the index instead of the sum"
            ))
        })
    }

    pub(super) fn number(&self, span: Span) -> Result<u64, Error> {
        span.slice(self.text).parse().map_err(|_| {
            let error = self.error(ErrorKind::NumberTooLarge, span, "this number is too large");
            error.label("does not fit in 64 bits").help(format!("numbers go up to {}", u64::MAX))
        })
    }

    /// A part with nothing added and nothing beside it.
    fn alone(&mut self, part: AxisPart) -> Result<AxisKind, Error> {
        match part {
            AxisPart { marker: Some(marker), span, .. } => Err(self.marker_without_kernel(span, marker)),
            AxisPart { kind: AxisPartKind::Number(index), .. } => Ok(AxisKind::Fixed(index)),
            AxisPart { kind: AxisPartKind::Wildcard, .. } => Ok(AxisKind::Wildcard),
            AxisPart { kind: AxisPartKind::Term(only), .. } if only.coefficient.is_one() => {
                Ok(AxisKind::Label(self.axis_name(only.label)?))
            }
            AxisPart { kind: AxisPartKind::Term(only), .. } => {
                Ok(AxisKind::Affine(Affine { over: self.term(only)?, offset: 0, kernel: None }))
            }
        }
    }

    fn concat(&mut self, first: AxisPart) -> Result<AxisKind, Error> {
        let mut components = vec![self.component(first)?];
        while self.kind() == TokenKind::Caret {
            let caret = self.bump().span;
            if self.kind() == TokenKind::Open {
                return Err(self.group_in_sum(self.span()));
            }
            if !self.kind().starts_axis() {
                let error =
                    self.error(ErrorKind::EmptyComponent, self.span(), self.cannot_follow("^", "joined"));
                let error =
                    error.expected(&["a label", "a size", "`_`"]).related(caret, "this `^` joins two parts");
                return Err(
                    error.help("a concatenation names all its parts; write `_` for a part that is not used")
                );
            }
            let part = self.part()?;
            components.push(self.component(part)?);
        }
        if self.kind() == TokenKind::Plus {
            return Err(self.sum_in_concat(self.span()));
        }
        Ok(AxisKind::Concat(components))
    }

    fn component(&mut self, part: AxisPart) -> Result<Component, Error> {
        if let Some(marker) = part.marker {
            let message = format!("{} does not belong in a concatenation", self.quote(marker.span));
            let error =
                self.error(ErrorKind::MisplacedMarker, marker.span, message).expected(&["`^`", "`,`"]);
            return Err(
                error.help("`=`, `<` and `~` say how a window meets the ends of an axis, as in `o=+k`")
            );
        }
        let kind = match part.kind {
            AxisPartKind::Wildcard => ComponentKind::Wildcard,
            AxisPartKind::Number(size) => ComponentKind::Size(NonZeroU64::new(size).ok_or_else(|| {
                let error =
                    self.error(ErrorKind::ZeroSize, part.span, "a part of a concatenation is not empty");
                error.label("this size is zero").help("delete the part and its `^`")
            })?),
            AxisPartKind::Term(only) if only.coefficient.is_one() => {
                ComponentKind::Label(self.axis_name(only.label)?)
            }
            AxisPartKind::Term(_) => return Err(self.sum_in_concat(part.span)),
        };
        Ok(Component { kind, span: part.span })
    }

    fn sum(&mut self, first: AxisPart) -> Result<AxisKind, Error> {
        let mut sum = Sum::default();
        let start = first.span;
        self.add(&mut sum, first)?;
        while self.kind() == TokenKind::Plus {
            let plus = self.bump().span;
            if self.kind() == TokenKind::Open {
                return Err(self.group_in_sum(self.span()));
            }
            if !self.kind().starts_axis() {
                let error = self.error(ErrorKind::MissingTerm, self.span(), self.cannot_follow("+", "added"));
                let error = error.expected(&["a label", "a number"]).related(plus, "this `+` adds something");
                return Err(error.help("a sum is `stride*over+offset+dilation*kernel`, or less"));
            }
            let part = self.part()?;
            self.add(&mut sum, part)?;
        }
        if self.kind() == TokenKind::Caret {
            return Err(self.sum_in_concat(self.span()));
        }
        let span = Span { start: start.start, end: self.last_end() };
        let Sum { terms, offset, second_offset, marker } = sum;
        if let ([Some(_), _], Some(first), Some(second)) = (terms, offset, second_offset) {
            return Err(self.two_offsets(first, second));
        }
        let offset = offset.map_or(0, |(offset, _)| offset);
        let (over, kernel) = match (terms, marker) {
            ([None, _], _) => return Err(self.no_label_in_sum(span)),
            ([Some(only), None], Some((_, marker))) => {
                return Err(self.marker_without_kernel(only.span, marker));
            }
            ([Some(only), None], None) => (only, None),
            ([Some(first), Some(second)], Some((1, _))) => (second, Some(first)),
            ([Some(first), Some(second)], _) => (first, Some(second)),
        };
        let padding = match marker.map(|(_, marker)| marker.kind) {
            Some(TokenKind::Equals) => Padding::Padded,
            Some(TokenKind::Tilde) => Padding::Dropped,
            Some(_) => Padding::Valid,
            None => Padding::Unmarked,
        };
        if kernel.is_none() && offset == 0 && over.coefficient.is_one() {
            return Ok(AxisKind::Label(self.axis_name(over.label)?));
        }
        let over = self.term(over)?;
        let kernel = match kernel {
            Some(product) => Some(Kernel { term: self.term(product)?, padding }),
            None => None,
        };
        Ok(AxisKind::Affine(Affine { over, offset, kernel }))
    }

    /// Adds a part to a sum, if the sum has room for it.
    fn add(&self, sum: &mut Sum, part: AxisPart) -> Result<(), Error> {
        match part.kind {
            AxisPartKind::Wildcard => return Err(self.wildcard_in_sum(part.span)),
            AxisPartKind::Number(number) => match sum.offset {
                None => sum.offset = Some((number, part.span)),
                Some(_) => sum.second_offset = sum.second_offset.or(Some((number, part.span))),
            },
            AxisPartKind::Term(term) => {
                let same_label = |first: Product| first.label.slice(self.text) == term.label.slice(self.text);
                let index = match sum.terms {
                    [None, _] => 0,
                    [Some(first), None] if same_label(first) => return Err(self.repeated_label(first, term)),
                    [Some(_), None] => 1,
                    _ => return Err(self.too_many_labels(term.span)),
                };
                sum.terms[index] = Some(term);
                if let Some(marker) = part.marker {
                    if let Some((_, first)) = sum.marker {
                        return Err(self.two_markers(first.span, marker.span));
                    }
                    sum.marker = Some((index, marker));
                }
            }
        }
        Ok(())
    }
}

/// The parts of a sum.
#[derive(Default)]
struct Sum {
    /// In writing order; the second is there only if the first is.
    terms: [Option<Product>; 2],
    offset: Option<(u64, Span)>,
    /// A second number, which is a mistake.
    second_offset: Option<(u64, Span)>,
    /// The index of the term that carries it, and the marker.
    marker: Option<(usize, Token)>,
}

/// The messages for mistakes in an axis.
impl Parser<'_> {
    /// Describes the mistake in the token after `sign`.
    fn cannot_follow(&self, sign: &str, done: &str) -> String {
        match self.kind() {
            TokenKind::Ellipsis | TokenKind::RowVariable(_) => {
                format!("{} stands for several axes and cannot be {done}", self.quote(self.span()))
            }
            _ => format!("nothing after `{sign}`"),
        }
    }

    fn marker_without_kernel(&self, label: Span, marker: Token) -> Error {
        let (label, sign) = (self.plain(label), self.plain(marker.span));
        let meaning = if sign == "=" { "padded" } else { "valid" };
        if self.kind() == TokenKind::Number && sign == "=" {
            let size = self.plain(self.span());
            let error =
                self.error(ErrorKind::SizeInSpec, marker.span.to(self.span()), "a spec does not give sizes");
            return error.label(format!("`{label}` is a label of this spec")).help(format!(
                "say that `{label}` is {size} where a tensor is declared; a number in a spec is an index"
            ));
        }
        let message = format!("`{sign}` marks a window, but `{label}` has none");
        let error = self.error(ErrorKind::MarkerWithoutKernel, marker.span, message);
        let error = error.label("nothing is added after this");
        match self.kind() {
            TokenKind::Name => {
                let kernel = self.plain(self.span());
                error.help(format!("write `{label}{sign}+{kernel}` for a {meaning} window"))
            }
            _ => error
                .help(format!("write `{label}{sign}+k` for a {meaning} window, or `{label}` without one")),
        }
    }

    fn stray_star(&self, before: Span) -> Error {
        let (span, before) = (self.span(), self.plain(before));
        let message = format!("`*` cannot follow `{before}`");
        let error = self.error(ErrorKind::Unexpected, span, message).expected(&["`+`", "`,`"]);
        error.help("one coefficient multiplies one label, as in `2*o+3*k`")
    }

    fn stray_marker(&self, before: Span) -> Error {
        let (span, sign) = (self.span(), self.quote(self.span()));
        let previous = self.tokens[self.position - 1];
        if previous.kind.is_marker() {
            return self.two_markers(previous.span, span);
        }
        let message = format!("{sign} cannot follow {}", self.quote(before));
        let error = self.error(ErrorKind::MisplacedMarker, span, message).expected(&["`+`", "`,`"]);
        error.help("`=` (padded), `<` (valid) and `~` (the rest is dropped) follow the label that is stepped over, as in `2*o=+1+k`")
    }

    fn two_markers(&self, first: Span, second: Span) -> Error {
        let error =
            self.error(ErrorKind::TwoMarkers, second, "a sum has only one marker").label("the second one");
        error
            .related(first, "the first marker")
            .help("mark only the label that is stepped over: `o=+k`, `o<+k` or `o~+k`")
    }

    fn wildcard_in_sum(&self, span: Span) -> Error {
        let error =
            self.error(ErrorKind::WildcardInSum, span, "`_` cannot be part of a sum").expected(&["a label"]);
        error.help("give it a label of its own; a label that occurs once is as free as `_`")
    }

    fn sum_in_concat(&self, span: Span) -> Error {
        let message = "a concatenation joins labels and sizes, not sums or products";
        let error = self.error(ErrorKind::SumInConcat, span, message).expected(&["`^`", "`,`"]);
        error.help("write the sum as an axis of its own, or give its result a label in an earlier operation")
    }

    fn no_label_in_sum(&self, span: Span) -> Error {
        let error = self.error(ErrorKind::NoLabelInSum, span, "a sum needs a label").label("only numbers");
        error.help("write the index itself, or add it to a label as in `o+3`")
    }

    fn two_offsets(&self, first: (u64, Span), second: (u64, Span)) -> Error {
        let error =
            self.error(ErrorKind::TwoOffsets, second.1, "a sum has only one offset").label("the second one");
        let error = error.related(first.1, "the first offset");
        match first.0.checked_add(second.0) {
            Some(total) => error.help(format!("write `+{total}` for both")),
            None => error,
        }
    }

    fn repeated_label(&self, first: Product, second: Product) -> Error {
        let label = self.plain(first.label);
        let message = format!("`{label}` is twice in one sum");
        let error = self.error(ErrorKind::RepeatedLabelInSum, second.span, message).label("the second time");
        let error = error.related(first.span, "the first time");
        match (first.coefficient, second.coefficient) {
            (Factor::Literal(left), Factor::Literal(right)) => match left.checked_add(right.get()) {
                Some(total) => error.help(format!("write `{total}*{label}`, or use two labels")),
                None => error,
            },
            _ => error.help("use two labels, or one coefficient"),
        }
    }

    fn too_many_labels(&self, span: Span) -> Error {
        let error =
            self.error(ErrorKind::TooManyLabels, span, "a sum has at most two labels").label("the third one");
        error.help(
            "one label is stepped over and one moves inside the window: `stride*over+offset+dilation*kernel`",
        )
    }
}
