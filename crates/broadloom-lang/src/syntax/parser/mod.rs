//! The parser: from tokens to a tree. Parsing never fails: a line that cannot be parsed is reported
//! and left out, and parsing goes on with the next line.
//!
//! The grammar, with `[ ]` for optional and `{ }` for repeated parts:
//!
//! ```text
//! file       := { statement }
//! statement  := line NEWLINE | head ":" block
//! block      := NEWLINE INDENT { statement } DEDENT | line
//! line       := "import" TEXT [ "as" NAME ]
//!             | "dim" NAME [ "in" sum ".." [ sum ] ] [ "=" expr ]
//!             | ( "data" | "state" ) NAME [ ":" shape ] [ "as" NAME ] [ "=" expr ]
//!             | "let" NAME [ ":" shape ] "=" expr
//!             | "let" NAME { "," NAME } "=" expr
//!             | "def" NAME [ arguments ] arguments [ ":" result ] "=" ( expr | block )
//!             | "set" expr "=" expr
//!             | "backward" expr
//!             | "minimise" expr [ "of" expr ] "by" expr [ "every" expr ]
//!             | "print" expr { "," expr } [ "every" expr ]
//!             | "save" expr "to" TEXT
//!             | ( expr | "{" NAME "}" ) SIGN expr [ "by" TEXT ]
//!             | expr
//! head       := "op" NAME "(" NAME { "," NAME } ")"
//!             | "for" NAME "in" expr
//!             | "repeat" ( expr | NAME "in" expr )
//!             | "if" expr      # perhaps followed by  "else" "if" expr ":" block  and  "else" ":" block
//! arguments  := "(" [ argument { "," argument } ] ")"
//! argument   := NAME [ ":" shape ] [ "=" expr ]
//! expr       := "if" expr "then" expr "else" expr | sum [ ".." sum ]
//! sum        := operators by their strength over  postfix
//! postfix    := primary { "(" args ")" | "." NAME | "[" expr "]" }
//! args       := [ [ NAME "=" ] expr { "," [ NAME "=" ] expr } ]
//! primary    := NAME | NUMBER | TEXT | "(" expr ")"
//!             | "[" [ expr { "," expr } ] "]" | "[" expr "for" NAME "in" expr "]"
//!             | "{" NAME [ ":" shape ] [ "as" NAME ] [ "=" expr ] "}"
//! result     := shape | "[" result ";" { result [ ";" ] } "]"
//! shape      := [ row "|" ] [ row "->" ] row
//! row        := { axis [ "," ] }
//! axis       := ( INT | NAME | "(" expr ")" ) [ ":" NAME ] | "_" | "..." | ".." NAME ".."
//! SIGN       := "=" [ ":" ] [ "+" | "-" | "*" | "/" | "**" | "max" | "min" | "and" | "or" ]
//! ```

mod definition;
mod expr;
mod habits;
mod shape;
mod statement;

use std::cell::Cell;

use broadloom_diagnostics::{Diagnostic, SourceId, Span};

use super::ast::{Expr, ExprId, ExprKind, File, Ident, Mark, Names, Quoted};
use super::lexer::{LONGEST, lex_from};
use super::token::{Keyword, Token, TokenKind};
use crate::codes;

/// The result of parsing: a tree of everything that could be parsed, and the mistakes in the rest.
#[derive(Debug)]
pub struct Parsed {
    /// The tree.
    pub file: File,
    /// The mistakes, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of bytes and tokens that were read: a measure of the time it took.
    pub work: usize,
}

/// Parses a file.
///
/// ```
/// use broadloom_diagnostics::Sources;
/// use broadloom_lang::syntax::{ast::Names, parse};
/// let text = "let y = w @ x +\nlet z = )\nlet a = 1";
/// let (mut sources, mut names) = (Sources::default(), Names::default());
/// let source = sources.add("y.loom", text);
/// let parsed = parse(source, text, &mut names);
/// assert_eq!(parsed.diagnostics.len(), 2); // and the third line is read
/// ```
pub fn parse(source: SourceId, text: &str, names: &mut Names) -> Parsed {
    parse_after((File::default(), 0), source, text, names)
}

/// Parses the rest of a file, when it is known what stands [before](File::before) one of its statements: the result is that for the whole file,
/// as long as the statement itself is the same as when that was read.
pub(crate) fn parse_after(
    (before, start): (File, u32),
    source: SourceId,
    text: &str,
    names: &mut Names,
) -> Parsed {
    if text.len() > LONGEST {
        let span = Span { source, start: 0, end: 0 };
        let diagnostic = Diagnostic::error(codes::NESTING, "this file is too long to be read", span, "");
        return Parsed { file: File::default(), diagnostics: vec![diagnostic], work: 0 };
    }
    let lexed = lex_from(source, text, start);
    let mut file = before;
    file.comments.extend(lexed.comments);
    let mistakes = lexed.diagnostics.iter().flat_map(|diagnostic| &diagnostic.labels);
    let right_until = mistakes.map(|label| label.span.start).min().unwrap_or(u32::MAX);
    let mut parser = Parser {
        text,
        tokens: lexed.tokens,
        at: 0,
        last_end: 0,
        work: Cell::new(lexed.work),
        names,
        file,
        known: lexed.diagnostics.len(),
        diagnostics: lexed.diagnostics,
        misplaced: lexed.misplaced,
        starts: lexed.starts,
        right_until,
        reported: false,
        depth: 0,
        chose: false,
    };
    let statements = parser.statements(true);
    parser.file.statements.extend(statements);
    parser.file.params.sort_by_key(|(place, _)| place.start);
    parser.diagnostics.sort_by_key(|diagnostic| diagnostic.primary().map(|label| label.span));
    Parsed { file: parser.file, diagnostics: parser.diagnostics, work: parser.work.get() }
}

/// The greatest depth of nested expressions and blocks.
const DEEPEST: usize = 128;

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    /// The end of the last token that was taken.
    last_end: u32,
    work: Cell<usize>,
    names: &'a mut Names,
    file: File,
    diagnostics: Vec<Diagnostic>,
    /// The number of mistakes that the lexer has found, and where the first of them is.
    known: usize,
    right_until: u32,
    /// The offsets of lines at which the lexer could begin.
    starts: Vec<u32>,
    /// The offsets of lines whose indentation does not fit any block.
    misplaced: Vec<u32>,
    /// True once a mistake of this statement has been reported: more of them would only confuse.
    reported: bool,
    depth: usize,
    /// True after an `if` with a block has been reported, until its `else` is parsed.
    chose: bool,
}

impl<'a> Parser<'a> {
    fn token(&self) -> Token {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> Token {
        self.work.set(self.work.get() + 1);
        self.tokens[(self.at + by).min(self.tokens.len() - 1)]
    }

    fn kind(&self) -> TokenKind {
        self.token().kind
    }

    fn is_word(&self, keyword: Keyword) -> bool {
        self.kind() == TokenKind::Keyword(keyword)
    }

    fn next(&mut self) -> Token {
        let token = self.token();
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        if !matches!(token.kind, TokenKind::Newline | TokenKind::Indent | TokenKind::Dedent | TokenKind::End)
        {
            self.last_end = token.span.end;
        }
        token
    }

    /// Takes the next token if it is of this kind.
    fn take(&mut self, kind: TokenKind) -> Option<Token> {
        (self.kind() == kind).then(|| self.next())
    }

    fn take_word(&mut self, keyword: Keyword) -> Option<Token> {
        self.take(TokenKind::Keyword(keyword))
    }

    /// Takes the next token if it is of this kind, and reports an error otherwise.
    fn need(&mut self, kind: TokenKind, after: &str) -> Option<Token> {
        let token = self.take(kind);
        if token.is_none() {
            let what = match kind {
                TokenKind::Name | TokenKind::Text => kind.text().to_string(),
                _ => format!("`{}`", kind.text()),
            };
            self.expected(&format!("{what} {after}"));
        }
        token
    }

    fn ident(&mut self, after: &str) -> Option<Ident> {
        if let TokenKind::Keyword(keyword) = self.kind() {
            let span = self.token().span;
            let message = format!("`{}` is a word of the language and cannot be a name", keyword.text());
            self.report(Diagnostic::error(codes::EXPECTED, message, span, "not a name").with_fix(
                format!("choose another name, such as `{}_`", keyword.text()),
                span,
                format!("{}_", keyword.text()),
            ));
            return None;
        }
        let token = self.need(TokenKind::Name, after)?;
        Some(self.named(token))
    }

    fn named(&mut self, token: Token) -> Ident {
        let name = self.names.intern(self.slice(token.span));
        Ident { name, span: token.span }
    }

    fn quoted(&mut self, after: &str) -> Option<Quoted> {
        let token = self.need(TokenKind::Text, after)?;
        Some(Quoted { text: self.unquoted(token.span), span: token.span })
    }

    /// The text between the quotes; the last one may be missing.
    fn unquoted(&self, span: Span) -> Box<str> {
        let text = self.slice(span);
        let inner = text.strip_prefix('"').unwrap_or(text);
        inner.strip_suffix('"').unwrap_or(inner).into()
    }

    fn slice(&self, span: Span) -> &'a str {
        span.slice(self.text)
    }

    /// Notes that reading can begin at the next statement, which follows so many of this file, if there are no mistakes before it.
    fn mark(&mut self, statements: usize) {
        let Some(start) = self.tokens.get(self.at).map(|token| token.span.start) else { return };
        let is_right = start <= self.right_until
            && self.diagnostics.len() == self.known
            && self.file.mistaken.is_empty()
            && !self.chose;
        if is_right && self.starts.binary_search(&start).is_ok() {
            let File { exprs, params, filled, .. } = &self.file;
            let mark = Mark {
                start,
                statements: self.file.statements.len() + statements,
                exprs: exprs.len(),
                params: params.len(),
                filled: filled.len(),
            };
            self.file.marks.push(mark);
        }
    }

    /// The next token as a message shows it.
    fn found(&self) -> String {
        let token = self.token();
        let text = self.slice(token.span);
        if text.is_empty() { token.kind.text().to_string() } else { format!("`{}`", shortened(text)) }
    }

    /// Reports that something else was expected here.
    fn expected(&mut self, what: &str) {
        let found = self.found();
        let span = self.token().span;
        let message = format!("expected {what}, found {found}");
        self.report(Diagnostic::error(codes::EXPECTED, message, span, ""));
    }

    /// Reports a mistake, unless one of this statement has been reported.
    fn report(&mut self, diagnostic: Diagnostic) {
        // Characters that the lexer could not read have been reported there.
        let silent = self.reported || self.kind() == TokenKind::Unknown;
        self.reported = true;
        if !silent {
            self.diagnostics.push(diagnostic);
        }
    }

    /// The span from the start of a token to the end of the last one that was taken.
    fn since(&self, start: Span) -> Span {
        Span { end: self.last_end.max(start.end), ..start }
    }

    fn push(&mut self, kind: ExprKind, span: Span) -> ExprId {
        if let ExprKind::Param(param) = &kind {
            self.file.params.push((span, param.name));
        }
        self.file.exprs.push(Expr { kind, span });
        ExprId(self.file.exprs.len() as u32 - 1)
    }

    /// Parses one level deeper, or reports that the nesting is too deep.
    fn deeper<T>(&mut self, inside: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth == DEEPEST {
            self.too_deep();
            return None;
        }
        self.depth += 1;
        let made = inside(self);
        self.depth -= 1;
        made
    }

    /// Parses a block that has been opened; a block that is too deep is skipped.
    fn deeper_block<T>(&mut self, inside: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth < DEEPEST {
            return self.deeper(inside);
        }
        self.too_deep();
        let mut open = 1;
        while open > 0 && self.kind() != TokenKind::End {
            match self.next().kind {
                TokenKind::Indent => open += 1,
                TokenKind::Dedent => open -= 1,
                _ => {}
            }
        }
        None
    }

    fn too_deep(&mut self) {
        let span = self.token().span;
        let message = "this is nested too deeply to be read";
        let help = "give a part of it a name with `let`";
        self.report(Diagnostic::error(codes::NESTING, message, span, "").with_help(help));
    }
}

/// The first characters of a text that may be long.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(24) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use broadloom_testing::Dice;

    use super::*;

    /// Pieces that are typed into a text: parts of programs, and what may go on from a line before or take lines in.
    const PIECES: [&str; 30] = [
        "x",
        " ",
        "",
        "",
        "\n",
        "\r\n",
        "(",
        ")",
        "[",
        "]",
        "{w}",
        "\"",
        "\"\"\"",
        "'''",
        "# ",
        "// a b",
        "  |> relu\n",
        "  ",
        "\t",
        "or ",
        "else",
        "else:\n",
        "-",
        "let y = 1\n",
        "def f(x) =\n",
        "\n  x\n",
        "if x:\n",
        ",",
        "é",
        "= ",
    ];

    /// After every edit, the rest of a text is read as it is when all of it is read.
    #[test]
    fn the_rest_of_a_file_is_read_like_all_of_it() {
        let (library, mut random, mut compared) = (crate::eval::library::library(), Dice::new(3), 0);
        for (_, source) in library.sources.iter() {
            let text = source.text();
            let mut names = library.names.clone();
            let parsed = parse(SourceId(0), text, &mut names);
            let last = parsed.file.statements.len() - 2;
            for _ in 0..400 {
                let at = random.between((1, last));
                let (own, next) = (parsed.file.statements[at].span, parsed.file.statements[at + 1].span);
                let mut place =
                    |from: usize| text.floor_char_boundary(from + random.below(text.len() - from));
                let start =
                    place(next.start as usize + 1).max(text.ceil_char_boundary(next.start as usize + 1));
                let end = text.ceil_char_boundary((start + random.below(40)).min(text.len()));
                let mut edited = text.to_string();
                edited.replace_range(start..end, random.pick(&PIECES));
                let before = parsed.file.before(at).expect("the library has no mistakes");
                let rest = parse_after(before, SourceId(0), &edited, &mut names.clone());
                let spans = rest.file.statements.get(at).zip(rest.file.statements.get(at + 1));
                let is_same = spans.is_some_and(|(one, two)| one.span == own && two.span.start == next.start);
                let mut labels = rest.diagnostics.iter().flat_map(|each| &each.labels);
                if is_same && labels.all(|label| label.span.start >= next.start) {
                    let whole = parse(SourceId(0), &edited, &mut names.clone());
                    assert_eq!(
                        format!("{:?}", rest.diagnostics),
                        format!("{:?}", whole.diagnostics),
                        "{edited}"
                    );
                    assert_eq!(format!("{:?}", rest.file), format!("{:?}", whole.file), "{edited}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 1000, "only {compared} texts began like those before");
    }
}
