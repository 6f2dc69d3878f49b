//! From tokens to trees: sides, shapes and rows. Specs and declarations have different axes:
//! [`axis`] and [`composed`] read those of specs, [`declared`] those of declarations. Before and after, [`slips`],
//! [`arrows`] and [`words`] look at the text as a whole, for mistakes that are better explained
//! from there.
//!
//! ```text
//! spec   := side `=>` side
//! side   := shape { `;` shape }
//! shape  := [ row `|` ] [ row `->` ] row
//! row    := { axis | hole }        at most one hole; axes separated by `,` where names are words
//! hole   := `...` | `..` name `..`
//! ```

mod arrows;
mod axis;
mod composed;
mod declared;
mod slips;
mod words;

use crate::decl::ShapeDecl;
use crate::error::{Error, ErrorKind, clip, quote};
use crate::lexer::{Token, TokenKind, lex};
use crate::mode::{Mode, multi_trigger};
use crate::names::{AxisId, CoefficientId, RowId, SpecNames};
use crate::span::Span;
use crate::tree::{Hole, Opening, Row, RowVariable, Shape, Spec};

/// The longest text that is read, in bytes.
pub const MAX_LENGTH: usize = 1 << 16;

/// Reads the spec of an operation: `operands => result`.
///
/// ```
/// let spec = broadloom_spec::parse_spec("b|h->o; b|i->h => b|i->o").unwrap();
/// assert_eq!(spec.operands.len(), 2);
/// assert_eq!(spec.names.axes.len(), 4);
/// ```
pub fn parse_spec(text: &str) -> Result<Spec, Error> {
    check_length(text)?;
    let mode = Mode::of(text);
    let tokens = lex(text, mode == Mode::Multi);
    slips::check_tokens(text, &tokens, Subject::Spec)?;
    arrows::check_arrows(text, &tokens)?;
    let spec = sides(Parser::new(text, &tokens, Subject::Spec, mode))?;
    words::check_words(text, &spec)?;
    Ok(spec)
}

/// Reads a text in which a single `->` stands where `=>` belongs, as the spec that was meant. `None` if it is another text.
///
/// ```
/// use broadloom_spec::parse_thin_arrow;
/// let meant = parse_thin_arrow("b | i -> b").unwrap();
/// assert_eq!(meant.to_string(), "b|i => b");
/// assert_eq!(parse_thin_arrow("b | i => b"), None);
/// assert_eq!(parse_thin_arrow("i -> j -> k"), None);
/// ```
pub fn parse_thin_arrow(text: &str) -> Option<Spec> {
    check_length(text).ok()?;
    let mode = Mode::of(text);
    let mut tokens = lex(text, mode == Mode::Multi);
    let is_arrow = |token: &&mut Token| matches!(token.kind, TokenKind::ThinArrow | TokenKind::FatArrow);
    let mut arrows = tokens.iter_mut().filter(is_arrow);
    match (arrows.next(), arrows.next()) {
        (Some(arrow), None) if arrow.kind == TokenKind::ThinArrow => arrow.kind = TokenKind::FatArrow,
        _ => return None,
    }
    slips::check_tokens(text, &tokens, Subject::Spec).ok()?;
    sides(Parser::new(text, &tokens, Subject::Spec, mode)).ok()
}

/// Reads both sides of a spec, with one `=>` between them.
fn sides(mut parser: Parser<'_>) -> Result<Spec, Error> {
    let operands = parser.side()?;
    parser.bump();
    let results = parser.side()?;
    match parser.kind() {
        TokenKind::End => {
            Ok(Spec { mode: parser.mode, names: parser.names, operands, results, keeps: false })
        }
        _ => Err(parser.unexpected()),
    }
}

/// The number of results that the text of a spec mentions, even if it is not well written: the shapes after
/// `=>`.
///
/// ```
/// use broadloom_spec::count_results;
/// assert_eq!([count_results("a^b => a; b"), count_results("a^ => a; b; c"), count_results("a")], [2, 3, 1]);
/// ```
pub fn count_results(text: &str) -> usize {
    let tokens = lex(text, Mode::of(text) == Mode::Multi);
    let behind = tokens.iter().skip_while(|token| token.kind != TokenKind::FatArrow);
    1 + behind.filter(|token| token.kind == TokenKind::Semicolon).count()
}

/// Reads the shape of one operand, and makes the spec that accumulates over its names: each gets the index 0 in its
/// place, and `...` stays. It is in the mode of the text.
///
/// ```
/// use broadloom_spec::parse_over;
/// assert_eq!(parse_over("... | t, v").unwrap().to_string(), "... | t, v => ... | 0, 0");
/// assert_eq!(parse_over("... | ..v..").unwrap().to_string(), "...|..v.. => ...|0");
/// ```
pub fn parse_over(text: &str) -> Result<Spec, Error> {
    check_length(text)?;
    let mode = Mode::of(text);
    let tokens = lex(text, mode == Mode::Multi);
    slips::check_tokens(text, &tokens, Subject::Spec)?;
    let mut parser = Parser::new(text, &tokens, Subject::Spec, mode);
    let operand = parser.shape(Parser::axis)?;
    match parser.kind() {
        TokenKind::End => Ok(Spec::over(mode, parser.names, operand)),
        _ => Err(parser.unexpected()),
    }
}

/// Reads a shape declaration: `batch | input -> output` with sizes, or `()`, which has no axes.
///
/// ```
/// let decl = broadloom_spec::parse_shape("32 | 28, 28, 3:rgb").unwrap();
/// let sizes: Vec<u64> = decl.shape.axes().filter_map(|axis| Some(axis.size?.size.get())).collect();
/// assert_eq!(sizes, [32, 28, 28, 3]);
/// assert_eq!(decl.shape.input, None);
/// ```
pub fn parse_shape(text: &str) -> Result<ShapeDecl, Error> {
    check_length(text)?;
    let text = if text.trim() == "()" { "" } else { text };
    let tokens = lex(text, true);
    slips::check_tokens(text, &tokens, Subject::Declaration)?;
    let mut parser = Parser::new(text, &tokens, Subject::Declaration, Mode::Multi);
    let shape = parser.shape(Parser::declared_axis)?;
    match parser.kind() {
        TokenKind::End => Ok(ShapeDecl { names: parser.names, shape }),
        _ => Err(parser.unexpected()),
    }
}

fn check_length(text: &str) -> Result<(), Error> {
    if text.len() <= MAX_LENGTH {
        return Ok(());
    }
    let end = text.floor_char_boundary(MAX_LENGTH);
    Err(Error::new(ErrorKind::TextTooLong, text, Span::new(end, end), "the text is too long")
        .label(format!("more than {MAX_LENGTH} bytes")))
}

/// The kind of text that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Spec,
    Declaration,
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    position: usize,
    subject: Subject,
    mode: Mode,
    names: SpecNames,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, tokens: &'a [Token], subject: Subject, mode: Mode) -> Parser<'a> {
        Parser { text, tokens, position: 0, subject, mode, names: SpecNames::default() }
    }

    /// The token here. The last one, which is [`TokenKind::End`], is never passed.
    fn token(&self) -> Token {
        self.tokens[self.position]
    }

    fn kind(&self) -> TokenKind {
        self.token().kind
    }

    fn next_kind(&self) -> TokenKind {
        self.tokens[(self.position + 1).min(self.tokens.len() - 1)].kind
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// Moves on and returns the token passed.
    fn bump(&mut self) -> Token {
        let token = self.token();
        self.position = (self.position + 1).min(self.tokens.len() - 1);
        token
    }

    /// The end of the last token.
    fn last_end(&self) -> u32 {
        self.position.checked_sub(1).map_or(0, |last| self.tokens[last].span.end)
    }

    fn error(&self, kind: ErrorKind, span: Span, message: impl Into<String>) -> Error {
        Error::new(kind, self.text, span, message)
    }

    fn quote(&self, span: Span) -> String {
        quote(span.slice(self.text))
    }

    fn plain(&self, span: Span) -> String {
        clip(span.slice(self.text))
    }

    fn side(&mut self) -> Result<Vec<Shape<crate::tree::Axis>>, Error> {
        let mut shapes = vec![self.shape(Parser::axis)?];
        while self.kind() == TokenKind::Semicolon {
            self.bump();
            shapes.push(self.shape(Parser::axis)?);
        }
        Ok(shapes)
    }

    fn shape<A>(&mut self, axis: fn(&mut Self) -> Result<A, Error>) -> Result<Shape<A>, Error> {
        let (mut batch, mut input) = (None, None);
        let mut bar: Option<Span> = None;
        let mut arrow: Option<Span> = None;
        let start = self.span().start.min(self.text.len() as u32);
        let mut row = self.row(axis)?;
        loop {
            match self.kind() {
                TokenKind::Bar if bar.is_none() && arrow.is_none() => {
                    bar = Some(self.bump().span);
                    batch = Some(std::mem::replace(&mut row, self.row(axis)?));
                }
                TokenKind::ThinArrow if arrow.is_none() => {
                    arrow = Some(self.bump().span);
                    input = Some(std::mem::replace(&mut row, self.row(axis)?));
                }
                TokenKind::Bar | TokenKind::ThinArrow => return Err(self.row_order(bar, arrow)),
                _ => break,
            }
        }
        let end = self.last_end();
        let span = if end > start { Span { start, end } } else { Span::empty(end) };
        Ok(Shape { batch, input, output: row, span })
    }

    /// The error for a sign that cannot follow those before it.
    fn row_order(&self, bar: Option<Span>, arrow: Option<Span>) -> Error {
        let span = self.span();
        let (message, first, label) = match (self.kind(), bar, arrow) {
            (TokenKind::Bar, Some(bar), _) => ("a shape has only one `|`", bar, "the first one"),
            (TokenKind::Bar, None, Some(arrow)) => ("`|` comes before `->`", arrow, "`->` is here"),
            _ => ("a shape has only one `->`", arrow.unwrap_or(span), "the first one"),
        };
        let error = self.error(ErrorKind::RowOrder, span, message).label("does not fit here");
        let error = error.related(first, label);
        match (self.kind(), self.subject) {
            (TokenKind::ThinArrow, Subject::Spec) => {
                error.help("a shape is `batch|input->output`; the result of the operation follows `=>`")
            }
            _ => error.help("a shape is `batch|input->output`, with several axes in a row if need be"),
        }
    }

    fn row<A>(&mut self, axis: fn(&mut Self) -> Result<A, Error>) -> Result<Row<A>, Error> {
        let mut opening: Option<Opening<A>> = None;
        let mut trail = Vec::new();
        let mut previous = Previous::Nothing;
        let start = self.position;
        loop {
            let Token { kind, span } = self.token();
            match kind {
                _ if kind.ends_row() => break,
                TokenKind::Ellipsis | TokenKind::RowVariable(_) => {
                    let hole = self.hole()?;
                    if let Some(first) = &opening {
                        return Err(self.two_holes(first.hole, hole));
                    }
                    opening = Some(Opening { lead: std::mem::take(&mut trail), hole });
                    previous = Previous::Hole;
                }
                TokenKind::Comma => {
                    if matches!(previous, Previous::Nothing | Previous::Comma) {
                        return Err(self.missing_axis(previous));
                    }
                    self.bump();
                    previous = Previous::Comma;
                }
                _ if kind.starts_axis() || kind == TokenKind::Open => {
                    if let (Previous::Axis(left), Subject::Spec, Mode::Multi) =
                        (previous, self.subject, self.mode)
                    {
                        return Err(self.missing_comma(left, span));
                    }
                    trail.push(axis(self)?);
                    let first = span.start;
                    previous = Previous::Axis(Span { start: first, end: self.last_end() });
                }
                _ => return Err(self.unexpected()),
            }
        }
        let span = match &self.tokens[start..self.position] {
            [] => Span::empty(self.last_end()),
            [first, ..] => {
                // A comma at the end does not belong to the row.
                let comma = usize::from(matches!(previous, Previous::Comma));
                first.span.to(self.tokens[self.position - 1 - comma].span)
            }
        };
        Ok(Row { opening, trail, span })
    }

    fn hole(&mut self) -> Result<Hole, Error> {
        let Token { kind, span } = self.bump();
        let variable = match kind {
            TokenKind::RowVariable(name) => RowVariable::Named(self.row_name(name)?),
            _ => RowVariable::Ellipsis,
        };
        Ok(Hole { variable, span })
    }

    fn axis_name(&mut self, span: Span) -> Result<AxisId, Error> {
        self.check_meaning(span, Meaning::Axis)?;
        Ok(self.names.axes.intern(span.slice(self.text), span))
    }

    fn row_name(&mut self, span: Span) -> Result<RowId, Error> {
        self.check_meaning(span, Meaning::Row)?;
        Ok(self.names.rows.intern(span.slice(self.text), span))
    }

    fn coefficient_name(&mut self, span: Span) -> Result<CoefficientId, Error> {
        self.check_meaning(span, Meaning::Coefficient)?;
        Ok(self.names.coefficients.intern(span.slice(self.text), span))
    }

    /// Refuses a name that already has another meaning.
    fn check_meaning(&self, span: Span, meaning: Meaning) -> Result<(), Error> {
        let text = span.slice(self.text);
        let SpecNames { axes, rows, coefficients, .. } = &self.names;
        let first_use = |meaning| match meaning {
            Meaning::Axis => axes.find(text).map(|id| axes.get(id).first_use),
            Meaning::Row => rows.find(text).map(|id| rows.get(id).first_use),
            Meaning::Coefficient => coefficients.find(text).map(|id| coefficients.get(id).first_use),
        };
        let other = [Meaning::Axis, Meaning::Row, Meaning::Coefficient].into_iter().filter(|&m| m != meaning);
        let Some((other, first)) = other.filter_map(|other| Some((other, first_use(other)?))).next() else {
            return Ok(());
        };
        let message = format!("{} names both {} and {}", self.quote(span), other.words(), meaning.words());
        let error = self.error(ErrorKind::TwoMeanings, span, message).label(meaning.here());
        let error = error.related(first, other.here());
        let name = self.plain(span);
        Err(match (meaning, other) {
            (Meaning::Coefficient, _) | (_, Meaning::Coefficient) => {
                error.help("a name before `*` stands for a number; give the axis or row another name")
            }
            _ => error.help(format!(
                "`..{name}..` stands for several axes and `{name}` for one; rename one of them"
            )),
        })
    }
}

/// The last item that was read in a row.
#[derive(Clone, Copy)]
enum Previous {
    Nothing,
    Comma,
    Hole,
    Axis(Span),
}

/// The meaning of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Axis,
    Row,
    Coefficient,
}

impl Meaning {
    fn words(self) -> &'static str {
        match self {
            Meaning::Axis => "an axis",
            Meaning::Row => "a row variable",
            Meaning::Coefficient => "a coefficient",
        }
    }

    fn here(self) -> &'static str {
        match self {
            Meaning::Axis => "an axis here",
            Meaning::Row => "a row variable here",
            Meaning::Coefficient => "a coefficient here",
        }
    }
}

impl Parser<'_> {
    fn two_holes(&self, first: Hole, second: Hole) -> Error {
        let (kind, message, help) = match (first.variable == second.variable, first.variable) {
            (false, _) => (
                ErrorKind::TwoHoles,
                "a row has at most one hole".to_owned(),
                "nothing would say where one ends and the other starts; keep one, and list the other axes"
                    .to_owned(),
            ),
            (true, RowVariable::Ellipsis) => (
                ErrorKind::RepeatedRowVariable,
                "`...` is twice in one row".to_owned(),
                "write `...` once; the axes before it count from the left, those after it from the right"
                    .to_owned(),
            ),
            (true, RowVariable::Named(row)) => (
                ErrorKind::RepeatedRowVariable,
                format!("the row variable {} is twice in one row", quote(self.names.rows.text(row))),
                "a row variable can be in several rows, but only once in each".to_owned(),
            ),
        };
        let error = self.error(kind, second.span, message).label("the second hole");
        error.related(first.span, "the first hole").help(help)
    }

    fn missing_axis(&self, previous: Previous) -> Error {
        let (message, help) = match previous {
            Previous::Comma => (
                "an axis is missing between two commas",
                "delete one comma, or write `_` for an axis of any size",
            ),
            _ => ("a row cannot start with a comma", "delete the comma, or write an axis before it"),
        };
        let expected: &'static [&'static str] = match self.subject {
            Subject::Spec => &["an axis", "`...`"],
            Subject::Declaration => &["a size", "a name", "`...`"],
        };
        self.error(ErrorKind::MissingAxis, self.span(), message).expected(expected).help(help)
    }

    fn missing_comma(&self, left: Span, right: Span) -> Error {
        let (before, after) = (self.plain(left), self.plain(right));
        let message = format!("a comma is missing between `{before}` and `{after}`");
        let error = self.error(ErrorKind::MissingComma, right, message).expected(&["`,`"]);
        match multi_trigger(self.text) {
            Some(sign) if sign.slice(self.text) != "," => error.help(format!(
                "write `{before}, {after}`; the {} in this spec makes its names words, which commas separate",
                self.quote(sign)
            )),
            _ => error.help(format!(
                "write `{before}, {after}`; one comma in a spec means commas between all axes"
            )),
        }
    }

    /// The error for a token that cannot follow those before it.
    fn unexpected(&self) -> Error {
        let span = self.span();
        let found = self.quote(span);
        let kind = self.kind();
        if self.subject == Subject::Declaration {
            return self.unexpected_in_declaration();
        }
        let error = |kind, message: String| self.error(kind, span, message);
        match kind {
            TokenKind::FatArrow => {
                let first = self.tokens.iter().find(|token| token.kind == TokenKind::FatArrow);
                error(ErrorKind::TwoArrows, "a spec has only one `=>`".to_owned())
                    .expected(&["`;`", "the end"])
                    .related(first.map_or(span, |token| token.span), "the first one")
                    .help("separate operands, or results, with `;`")
            }
            TokenKind::Caret => error(ErrorKind::EmptyComponent, "nothing before `^`".to_owned())
                .expected(&["a label", "a size"])
                .help(
                    "a concatenation names all its parts, as in `a^b`; write `_` for a part that is not used",
                ),
            TokenKind::Plus | TokenKind::Star => {
                error(ErrorKind::MissingTerm, format!("nothing before {found}"))
                    .expected(&["a label", "a number"])
                    .help("a sum is `stride*over+offset+dilation*kernel`, or less")
            }
            kind if kind.is_marker() => {
                error(ErrorKind::MisplacedMarker, format!("{found} does not follow a label"))
                    .expected(&["an axis"])
                    .help(
                        "`=` (padded), `<` (valid) and `~` (the rest is dropped) follow the label that is stepped over, as in `2*o=+k`",
                    )
            }
            TokenKind::Close => {
                error(ErrorKind::UnbalancedParenthesis, "this `)` closes nothing".to_owned())
                    .label("no `(` before it")
                    .help("a composed axis is written `(h w)`")
            }
            _ => error(ErrorKind::Unexpected, format!("{found} cannot stand here"))
                .expected(&["an axis", "`...`"]),
        }
    }
}
