//! From tokens to the tree, by recursive descent without recursion: rows do not nest, so the depth
//! is fixed.
//!
//! Parsing never fails. A line either becomes a statement or is reported and left out, together
//! with the names it would have introduced; the next line starts afresh. So each line has at most
//! one diagnostic, one mistake does not cause others further down, and every name of the resulting
//! tree occurs in it. Mistakes are small values until [`MAX_DIAGNOSTICS`] of them have been put
//! into words; the rest are only counted.
//!
//! `"a = 3\n[a b] ~ []\n"` gives one statement and one diagnostic, and knows
//! the name `a` but not `b`.

use super::SOURCE;
use super::ast::{
    Constraint, Dim, DimKind, Hole, HoleKind, Row, Statement, StatementKind, System, TagList, Tagged,
};
use super::lexer::{Lexer, Token, TokenKind};
use super::mistake::Mistake;
use super::names::{BasisId, NameId, NameKind, Tag};
use broadloom_diagnostics::{Diagnostic, Span};

/// The greatest number of diagnostics that a parse puts into words.
pub const MAX_DIAGNOSTICS: usize = 20;

/// The result of [`parse`].
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// The lines without mistakes.
    pub system: System,
    /// The first mistakes, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of further lines with mistakes.
    pub suppressed: usize,
}

impl Parsed {
    /// Returns true if the text has no mistakes.
    pub fn is_ok(&self) -> bool {
        self.diagnostics.is_empty()
    }
}

/// Parses a text in one pass, in time and memory linear in its length.
pub fn parse(text: &str) -> Parsed {
    if u32::try_from(text.len()).is_err() {
        let diagnostic = Mistake::TextTooLong.diagnose(text, &System::default());
        return Parsed { diagnostics: vec![diagnostic], ..Parsed::default() };
    }
    let mut parser = Parser {
        text,
        lexer: Lexer::new(text),
        previous_end: 0,
        parsed: Parsed::default(),
        clashes_reported: Vec::new(),
    };
    parser.lines();
    parser.parsed
}

struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    /// The end of the token before the current one.
    previous_end: u32,
    parsed: Parsed,
    /// Names whose two kinds were reported; once for each is enough.
    clashes_reported: Vec<NameId>,
}

/// One side of a comparison.
enum Side {
    Dim(Dim),
    Row(Row),
}

impl Side {
    fn span(&self) -> Span {
        match self {
            Side::Dim(dim) => dim.span,
            Side::Row(row) => row.span,
        }
    }

    fn is_row(&self) -> bool {
        matches!(self, Side::Row(_))
    }
}

/// Statements and recovery.
impl Parser<'_> {
    fn lines(&mut self) {
        let mut line = 1;
        loop {
            match self.lexer.kind() {
                TokenKind::End => return,
                TokenKind::LineEnd => {
                    line += 1;
                    self.advance();
                }
                _ => self.line(line),
            }
        }
    }

    /// One line that is not blank, up to its end.
    fn line(&mut self, line: u32) {
        let first = self.lexer.span();
        let system = &self.parsed.system;
        let (names, bases) = (system.names.len(), system.bases.len());
        let (terms, tagged) = (system.terms.len(), system.tagged.len());
        match self.statement() {
            Ok(kind) => {
                let span = self.up_to_here(first);
                self.parsed.system.statements.push(Statement { kind, span, line });
            }
            Err(mistake) => {
                self.report(mistake, names);
                let system = &mut self.parsed.system;
                system.names.truncate(names);
                system.bases.truncate(bases);
                system.terms.truncate(terms);
                system.tagged.truncate(tagged);
                if !self.at_line_end() {
                    self.lexer.skip_line();
                    self.advance();
                }
            }
        }
    }

    /// Puts a mistake into words, or counts it; `known_names` are those of the lines above.
    fn report(&mut self, mistake: Mistake, known_names: usize) {
        if let Mistake::TwoKinds { name, .. } = mistake {
            if self.clashes_reported.contains(&name) {
                return;
            }
            if (name.0 as usize) < known_names && self.clashes_reported.len() < MAX_DIAGNOSTICS {
                self.clashes_reported.push(name);
            }
        }
        if self.parsed.diagnostics.len() < MAX_DIAGNOSTICS {
            self.parsed.diagnostics.push(mistake.diagnose(self.text, &self.parsed.system));
        } else {
            self.parsed.suppressed += 1;
        }
    }

    fn statement(&mut self) -> Result<StatementKind, Mistake> {
        let first = self.lexer.token();
        let tag = match (first.kind, first.span.slice(self.text)) {
            (TokenKind::Name, "leaf") => Some(Tag::Leaf),
            (TokenKind::Name, "param") => Some(Tag::Param),
            _ => None,
        };
        let kind = match tag {
            None => {
                let left = self.side(None)?;
                StatementKind::Constraint(self.comparison(left)?)
            }
            Some(tag) => {
                self.advance();
                match self.lexer.kind() {
                    TokenKind::Name | TokenKind::RowVariable | TokenKind::BadDots => self.tag(tag)?,
                    kind if kind.is_operator() => {
                        let name = self.intern(first.span, NameKind::Dim, first.span)?;
                        let left = Side::Dim(Dim { kind: DimKind::Var(name), span: first.span });
                        StatementKind::Constraint(self.comparison(left)?)
                    }
                    _ => {
                        return Err(
                            self.expected(|found| Mistake::TagWithoutVariable { tag: first.span, found })
                        );
                    }
                }
            }
        };
        if self.at_line_end() {
            Ok(kind)
        } else {
            let is_tag = matches!(kind, StatementKind::Tag { .. });
            Err(self.after_statement(first.span, is_tag))
        }
    }

    /// The variables after `leaf` or `param`.
    fn tag(&mut self, tag: Tag) -> Result<StatementKind, Mistake> {
        let start = self.parsed.system.tagged.len();
        loop {
            let token = self.lexer.token();
            let name = match token.kind {
                TokenKind::Name => self.intern(token.span, NameKind::Dim, token.span)?,
                TokenKind::RowVariable => self.row_variable(token.span)?,
                _ => return Err(self.expected(Mistake::TagsVariablesOnly)),
            };
            self.parsed.system.tagged.push(Tagged { name, span: token.span });
            self.advance();
            if self.lexer.kind() == TokenKind::Comma {
                self.advance();
                if self.at_line_end() {
                    break;
                }
            } else if matches!(self.lexer.kind(), TokenKind::Name | TokenKind::RowVariable) {
                return Err(Mistake::MissingComma { left: token.span, right: self.lexer.span() });
            } else {
                break;
            }
        }
        let complete = self.at_line_end();
        let System { names, tagged, .. } = &mut self.parsed.system;
        let clash =
            tagged[start..].iter().find(|tagged| names.get(tagged.name).tag.is_some_and(|old| old != tag));
        if let Some(&Tagged { name, span }) = clash {
            return Err(Mistake::TwoTags { name, span, tag });
        }
        if complete {
            tagged[start..].iter().for_each(|&Tagged { name, span }| names.set_tag(name, tag, span));
        }
        Ok(StatementKind::Tag { tag, list: TagList(start as u32..tagged.len() as u32) })
    }

    /// The operator and the right side.
    fn comparison(&mut self, left: Side) -> Result<Constraint, Mistake> {
        let operator = self.lexer.token();
        if !operator.kind.is_operator() {
            return Err(self.instead_of_operator(&left));
        }
        self.advance();
        let right = self.side(Some(operator.span));
        let wrong = operator.kind == TokenKind::WrongOperator;
        let wrong_operator = Mistake::WrongOperator {
            operator: operator.span,
            left: left.span(),
            right: right.as_ref().ok().map(Side::span),
            rows: left.is_row(),
        };
        let right = match right {
            Err(_) if wrong => return Err(wrong_operator),
            right => right?,
        };
        match (left, operator.kind, right) {
            (Side::Dim(left), TokenKind::Equals, Side::Dim(right)) => Ok(Constraint::DimEq { left, right }),
            (Side::Dim(result), TokenKind::LessEqual, Side::Dim(operand)) => {
                Ok(Constraint::DimLe { result, operand })
            }
            (Side::Row(left), TokenKind::Tilde, Side::Row(right)) => Ok(Constraint::RowEq { left, right }),
            (Side::Row(result), TokenKind::LessEqual, Side::Row(operand)) => {
                Ok(Constraint::RowLe { result, operand })
            }
            (Side::Row(_), _, right @ Side::Dim(_)) if self.lexer.kind().follows_item() => {
                Err(self.instead_of_operator(&right))
            }
            (Side::Row(row), _, Side::Dim(dim)) | (Side::Dim(dim), _, Side::Row(row)) => {
                Err(Mistake::RowWithDim { operator: operator.span, row: row.span, dim })
            }
            _ if wrong => Err(wrong_operator),
            (Side::Row(_), ..) => Err(Mistake::EqualsBetweenRows(operator.span)),
            (Side::Dim(_), ..) => Err(Mistake::TildeBetweenDims(operator.span)),
        }
    }
}

/// Terms.
impl Parser<'_> {
    fn side(&mut self, operator: Option<Span>) -> Result<Side, Mistake> {
        match self.lexer.kind() {
            TokenKind::LeftBracket => self.row().map(Side::Row),
            kind if kind.starts_dim() => self.dim().map(Side::Dim),
            TokenKind::RowVariable => Err(Mistake::RowVariableOutside(self.lexer.span())),
            TokenKind::Marker => Err(Mistake::MarkerOutside(self.lexer.span())),
            TokenKind::RightBracket => Err(Mistake::Unopened(self.lexer.span())),
            _ => Err(self.expected(|found| Mistake::MissingSide { operator, found })),
        }
    }

    /// A row, from `[` to `]`.
    fn row(&mut self) -> Result<Row, Mistake> {
        let open = self.lexer.span();
        self.advance();
        let first = self.parsed.system.terms.len() as u32;
        let mut split = first;
        let mut hole: Option<Hole> = None;
        while self.lexer.kind() != TokenKind::RightBracket {
            let token = self.lexer.token();
            match token.kind {
                kind if kind.starts_dim() => {
                    let dim = self.dim()?;
                    self.parsed.system.terms.push(dim);
                }
                TokenKind::RowVariable | TokenKind::Marker => {
                    if let Some(Hole { span, .. }) = hole {
                        return Err(Mistake::TwoHoles { first: span, second: token.span });
                    }
                    let kind = match token.kind {
                        TokenKind::Marker => HoleKind::Marker,
                        _ => HoleKind::Var(self.row_variable(token.span)?),
                    };
                    hole = Some(Hole { kind, span: token.span });
                    split = self.parsed.system.terms.len() as u32;
                    self.advance();
                }
                TokenKind::Comma => return Err(Mistake::MissingTerm(token.span)),
                _ => return Err(self.inside_row(open, false)),
            }
            let item = self.up_to_here(token.span);
            match self.lexer.kind() {
                TokenKind::Comma => self.advance(),
                TokenKind::RightBracket => {}
                kind if kind.starts_dim() || kind.is_hole() => {
                    return Err(Mistake::MissingComma { left: item, right: self.lexer.span() });
                }
                _ => return Err(self.inside_row(open, true)),
            }
        }
        let span = open.to(self.lexer.span());
        self.advance();
        let hole = hole.unwrap_or(Hole { kind: HoleKind::Marker, span: open.after() });
        let end = self.parsed.system.terms.len() as u32;
        Ok(Row { span, hole, terms: first..end, split })
    }

    /// A dimension term; the token is a number, `_` or a name.
    #[inline(always)] // Terms are most of a file; kept apart, each would be copied twice.
    fn dim(&mut self) -> Result<Dim, Mistake> {
        let Token { kind, span } = self.lexer.token();
        self.advance();
        let kind = match kind {
            TokenKind::Number => {
                let size = size(span.slice(self.text)).ok_or(Mistake::SizeTooLarge(span))?;
                if size == 0 {
                    return Err(Mistake::SizeZero(span));
                }
                let basis = self.basis(span)?;
                DimKind::Atom { size, basis }
            }
            TokenKind::Underscore => DimKind::Unit,
            _ => DimKind::Var(self.intern(span, NameKind::Dim, span)?),
        };
        let span = self.up_to_here(span);
        let dim = Dim { kind, span };
        let colon = self.lexer.span();
        match self.lexer.kind() {
            TokenKind::Colon => Err(Mistake::BasisMisplaced { dim, colon }),
            _ => Ok(dim),
        }
    }

    /// The basis after a size, if there is a colon.
    fn basis(&mut self, size: Span) -> Result<BasisId, Mistake> {
        if self.lexer.kind() != TokenKind::Colon {
            return Ok(BasisId::DEFAULT);
        }
        self.advance();
        if self.lexer.kind() != TokenKind::Name {
            let atom = self.up_to_here(size);
            return Err(self.expected(|found| Mistake::MissingBasis { atom, found }));
        }
        let basis = self.parsed.system.bases.intern(self.lexer.span().slice(self.text));
        self.advance();
        Ok(basis)
    }

    fn row_variable(&mut self, dotted: Span) -> Result<NameId, Mistake> {
        self.intern(Span::new(SOURCE, dotted.start + 2, dotted.end - 2), NameKind::Row, dotted)
    }

    fn intern(&mut self, name: Span, kind: NameKind, span: Span) -> Result<NameId, Mistake> {
        let names = &mut self.parsed.system.names;
        let name = names.intern(name.slice(self.text), kind, span);
        match names.get(name).kind == kind {
            true => Ok(name),
            false => Err(Mistake::TwoKinds { name, span }),
        }
    }
}

/// Tokens, and the mistakes in them.
impl Parser<'_> {
    fn advance(&mut self) {
        self.previous_end = self.lexer.span().end;
        self.lexer.advance();
    }

    /// From the start of `first` to the end of the last token.
    fn up_to_here(&self, first: Span) -> Span {
        Span { end: self.previous_end, ..first }
    }

    fn at_line_end(&self) -> bool {
        matches!(self.lexer.kind(), TokenKind::LineEnd | TokenKind::End)
    }

    /// The mistake `otherwise` with the place where something else was expected: the token,
    /// or the end of the line's last token. A token that is itself a slip is the mistake.
    fn expected(&self, otherwise: impl FnOnce(Span) -> Mistake) -> Mistake {
        match self.lexer.kind() {
            kind if kind.is_slip() => Mistake::Slip(self.lexer.token()),
            TokenKind::LineEnd | TokenKind::End => otherwise(Span::empty(SOURCE, self.previous_end)),
            _ => otherwise(self.lexer.span()),
        }
    }

    /// The mistake for a token that neither continues nor closes a row.
    fn inside_row(&self, open: Span, after_term: bool) -> Mistake {
        let inner = self.lexer.span();
        match self.lexer.kind() {
            TokenKind::LeftBracket => Mistake::NestedRow { outer: open, inner },
            _ => self.expected(|found| Mistake::Unclosed { open, found, after_term }),
        }
    }

    fn instead_of_operator(&self, left: &Side) -> Mistake {
        let (left, rows) = (left.span(), left.is_row());
        match self.lexer.kind() {
            TokenKind::Marker => Mistake::MarkerAsOperator(self.lexer.span()),
            TokenKind::RightBracket => Mistake::Unopened(self.lexer.span()),
            TokenKind::Comma => Mistake::CommaOutside { left, comma: self.lexer.span() },
            _ => self.expected(|found| Mistake::MissingOperator { left, rows, found }),
        }
    }

    fn after_statement(&self, first: Span, is_tag: bool) -> Mistake {
        let statement = self.up_to_here(first);
        match self.lexer.kind() {
            TokenKind::RightBracket => Mistake::Unopened(self.lexer.span()),
            kind if kind.is_operator() && is_tag => Mistake::TagCompares(self.lexer.span()),
            kind if kind.is_operator() => Mistake::Chain(self.lexer.span()),
            _ => self.expected(|found| Mistake::AfterStatement { statement, found }),
        }
    }
}

/// The value of decimal digits, if it fits.
fn size(digits: &str) -> Option<u64> {
    digits.bytes().try_fold(0u64, |size, digit| size.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
}
