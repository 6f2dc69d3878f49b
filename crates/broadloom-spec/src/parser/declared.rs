//! The axes of a shape declaration: `28`, `3:rgb`, `n`, `c=3:rgb`, `_`.

use super::Parser;
use crate::decl::{DeclAxis, Size};
use crate::error::{Error, ErrorKind};
use crate::lexer::{Token, TokenKind};
use crate::names::BasisId;
use crate::span::Span;
use std::num::NonZeroU64;

/// The name of the basis that needs no name.
const DEFAULT_BASIS: &str = "default";

impl Parser<'_> {
    /// An axis; the token here starts one.
    pub(super) fn declared_axis(&mut self) -> Result<DeclAxis, Error> {
        let Token { kind, span: start } = self.token();
        let (name, size) = match kind {
            TokenKind::Number => (None, Some(self.size()?)),
            TokenKind::Name => {
                self.bump();
                let name = self.axis_name(start)?;
                (Some(name), self.assigned_size(start)?)
            }
            _ => {
                self.bump();
                (None, None)
            }
        };
        let span = Span { start: start.start, end: self.last_end() };
        match self.kind() {
            TokenKind::Colon => Err(self.misplaced_basis(span, name.is_some(), size.is_some())),
            TokenKind::Equals => Err(self.misplaced_equals(span)),
            _ => Ok(DeclAxis { name, size, span }),
        }
    }

    fn assigned_size(&mut self, name: Span) -> Result<Option<Size>, Error> {
        if self.kind() != TokenKind::Equals {
            return Ok(None);
        }
        self.bump();
        if self.kind() != TokenKind::Number {
            let name = self.plain(name);
            let error = self.error(
                ErrorKind::MissingSize,
                self.span(),
                format!("`{name}=` is not followed by a size"),
            );
            return Err(error
                .expected(&["a size"])
                .help(format!("write `{name}=3`, or `{name}` for a size that is inferred")));
        }
        self.size().map(Some)
    }

    fn size(&mut self) -> Result<Size, Error> {
        let span = self.bump().span;
        let size = NonZeroU64::new(self.number(span)?).ok_or_else(|| {
            let error = self.error(ErrorKind::ZeroSize, span, "sizes start at 1").label("this size is zero");
            error.help("write `_` for a size that is inferred")
        })?;
        Ok(Size { size, basis: self.basis(span)? })
    }

    fn basis(&mut self, size: Span) -> Result<Option<BasisId>, Error> {
        if self.kind() != TokenKind::Colon {
            return Ok(None);
        }
        self.bump();
        let span = self.span();
        if self.kind() != TokenKind::Name {
            let size = self.plain(size);
            let error = self.error(ErrorKind::MissingBasis, span, "the basis after `:` is missing");
            return Err(error
                .expected(&["a name"])
                .help(format!("write `{size}:tag`, or `{size}` for the default basis")));
        }
        self.bump();
        match span.slice(self.text) {
            DEFAULT_BASIS => Ok(None),
            basis => Ok(Some(self.names.bases.intern(basis, span))),
        }
    }

    fn misplaced_basis(&self, axis: Span, named: bool, sized: bool) -> Error {
        let axis = self.plain(axis);
        let (message, help) = match (named, sized) {
            (_, true) => {
                ("a size has only one basis", "write one name after the size, as in `3:rgb`".to_owned())
            }
            (true, false) => ("a name has no basis", format!("only a size has one: write `{axis}=3:rgb`")),
            (false, false) => ("`_` has no basis", "only a size has one: write `3:rgb`".to_owned()),
        };
        self.error(ErrorKind::MisplacedBasis, self.span(), message)
            .label("no basis can follow here")
            .help(self.size_first().unwrap_or(help))
    }

    /// The advice for a name and a number around the `:` here, as in `rgb:3`.
    fn size_first(&self) -> Option<String> {
        let colon = self.span();
        let name = self.tokens.get(self.position.checked_sub(1)?)?;
        let size = self.tokens.get(self.position + 1)?;
        let is_it =
            name.kind == TokenKind::Name && name.span.end == colon.start && size.kind == TokenKind::Number;
        is_it.then(|| {
            format!("the size comes first: write `{}:{}`", self.plain(size.span), self.plain(name.span))
        })
    }

    fn misplaced_equals(&self, axis: Span) -> Error {
        let axis = self.quote(axis);
        let error = self.error(ErrorKind::Unexpected, self.span(), format!("{axis} cannot be given a size"));
        error.expected(&["`,`"]).help("only a name can: write `n=3`")
    }

    /// The error for a token that has no place in a declaration.
    pub(super) fn unexpected_in_declaration(&self) -> Error {
        let span = self.span();
        let found = self.quote(span);
        match self.kind() {
            TokenKind::FatArrow | TokenKind::Semicolon => {
                let message = "this is the shape of one tensor, not an operation";
                self.error(ErrorKind::OperationInDeclaration, span, message)
                    .expected(&["a size", "a name", "the end"])
                    .help("write one shape, as in `32 | 784 -> 10`; the axes before `->` are the input axes")
            }
            TokenKind::Plus | TokenKind::Star | TokenKind::Caret | TokenKind::Less | TokenKind::Tilde => {
                let message = format!("{found} has no meaning in a shape declaration");
                self.error(ErrorKind::OperatorInDeclaration, span, message).expected(&["a size", "a name", "`,`"])
                    .help("declare the size of the whole axis; sums and concatenations are for the specs of operations")
            }
            TokenKind::Colon => {
                let message = "`:` does not follow a size";
                self.error(ErrorKind::MisplacedBasis, span, message)
                    .expected(&["a size", "a name"])
                    .help("write `3:rgb` for three elements of the basis `rgb`")
            }
            _ => {
                let message = format!("{found} cannot stand here");
                self.error(ErrorKind::Unexpected, span, message)
                    .expected(&["a size", "a name", "`...`"])
                    .help("write something like `32 | 28, 28, 3:rgb` or `n=784`")
            }
        }
    }
}
