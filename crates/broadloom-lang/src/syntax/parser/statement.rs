//! Statements and blocks.

use broadloom_diagnostics::{Diagnostic, Span};

use super::super::ast::{
    Assign, Branch, ExprId, ExprKind, FilledIn, Ident, LeafKind, Quoted, Statement, StatementKind, Target,
};
use super::super::braces::braces;
use super::super::lexer::{LINE_ENDS, lex};
use super::super::quote::quotable;
use super::super::token::{Keyword, Token, TokenKind};
use super::Parser;
use crate::codes;

impl Parser<'_> {
    /// Parses statements up to the end of the block, or of the file.
    pub(super) fn statements(&mut self, file: bool) -> Vec<Statement> {
        let mut statements = Vec::new();
        loop {
            match self.kind() {
                TokenKind::End => return statements,
                TokenKind::Newline => {
                    self.next();
                }
                TokenKind::Dedent => {
                    self.next();
                    if !file {
                        return statements;
                    }
                }
                TokenKind::Indent => self.stray_block(),
                _ => {
                    if file {
                        self.mark(statements.len());
                    }
                    let misplaced = !self.misplaced.is_empty() && self.is_misplaced(self.token().span);
                    let made = self.line();
                    // It may have been meant for the block around this one, where its names are used.
                    if misplaced {
                        self.forget_all(made.as_slice());
                    }
                    statements.extend(made);
                }
            }
        }
    }

    /// Parses one statement. After a mistake the rest of the line is skipped, and the block below
    /// it is parsed for mistakes of its own.
    fn line(&mut self) -> Option<Statement> {
        let (start, before) = (self.token().span, self.at);
        self.reported = false;
        let mut kind = self.statement();
        let span = self.since(start);
        // A block has taken its own lines.
        let closed = self.at > before && self.tokens[self.at - 1].kind == TokenKind::Dedent;
        if !closed {
            if !matches!(self.kind(), TokenKind::Newline | TokenKind::End | TokenKind::Dedent) {
                let read = kind.is_some();
                kind = kind.filter(|_| self.left_over(read));
            }
            self.skip_line();
        }
        if kind.is_none() {
            self.forget(before);
        }
        kind.map(|kind| Statement { kind, span })
    }

    /// Reports something after a statement. Returns true if the statement before it can be kept.
    pub(super) fn left_over(&mut self, read: bool) -> bool {
        let (span, found) = (self.token().span, self.found());
        match self.kind() {
            TokenKind::Close | TokenKind::CloseList | TokenKind::CloseBrace => {
                let message = format!("{found} closes nothing");
                let diagnostic = Diagnostic::error(codes::BRACKET, message, span, "no bracket is open here");
                self.report(diagnostic.with_fix("leave it out, or open a bracket before it", span, ""));
            }
            TokenKind::Semicolon if read => {
                let message = "statements are separated by line ends";
                let diagnostic = Diagnostic::error(codes::STATEMENT, message, span, "");
                let last = matches!(self.ahead(1).kind, TokenKind::Newline | TokenKind::End);
                self.report(match last {
                    true => diagnostic.with_fix("leave out the `;`", span, ""),
                    false => diagnostic.with_help("begin a new line"),
                });
            }
            // The rest of an `if` that is not an expression.
            TokenKind::Keyword(Keyword::Else) if std::mem::take(&mut self.chose) => self.reported = true,
            TokenKind::Unknown => self.reported = true,
            _ => {
                self.behind_statement();
                return false;
            }
        }
        true
    }

    /// Skips to the beginning of the next line.
    pub(super) fn skip_line(&mut self) {
        while !matches!(
            self.kind(),
            TokenKind::Newline | TokenKind::End | TokenKind::Dedent | TokenKind::Indent
        ) {
            self.next();
        }
        self.take(TokenKind::Newline);
    }

    /// Handles a block that belongs to no line. It is not reported if a mistake in the line before
    /// it is the reason.
    pub(super) fn stray_block(&mut self) {
        let indent = self.next();
        if !self.reported {
            let rest = &self.text[indent.span.start as usize..];
            let line = &rest[..rest.find(LINE_ENDS).unwrap_or(rest.len())];
            let span = Span { end: indent.span.start + line.trim_end().len() as u32, ..indent.span };
            let diagnostic = Diagnostic::error(
                codes::INDENTATION,
                "this line is indented, but no block begins here",
                span,
                "",
            )
            .with_help("a block belongs to a line that ends with `:` or, for a `def`, with `=`; lines of one block begin at one column");
            self.diagnostics.push(diagnostic);
        }
        // Its lines are parsed for their own mistakes, but their definitions are not kept.
        self.deeper_block(|parser| {
            let statements = parser.statements(false);
            parser.forget_all(&statements);
            Some(())
        });
    }

    fn statement(&mut self) -> Option<StatementKind> {
        let TokenKind::Keyword(keyword) = self.kind() else {
            if self.kind() == TokenKind::Name
                && let Some(foreign) = self.foreign_statement()
            {
                return foreign;
            }
            return self.assignment_or_expr();
        };
        match keyword {
            Keyword::Import => self.import(),
            Keyword::Dim => self.dim(),
            Keyword::Data => self.leaf(LeafKind::Data),
            Keyword::State => self.leaf(LeafKind::State),
            Keyword::Let => self.let_(),
            Keyword::Def => self.def(),
            Keyword::Op => self.op(),
            Keyword::Set => self.set(),
            Keyword::For => self.for_(),
            Keyword::Repeat => self.repeat(),
            Keyword::Backward => {
                self.next();
                Some(StatementKind::Backward(self.expr()?))
            }
            Keyword::Minimise => self.minimise(),
            Keyword::Print => self.print(),
            Keyword::Save => {
                self.next();
                let value = self.expr()?;
                self.need(TokenKind::Keyword(Keyword::To), "and the name of a file")?;
                Some(StatementKind::Save { value, path: self.quoted("with the name of a file")? })
            }
            Keyword::If if self.has_block() => self.if_(),
            Keyword::If | Keyword::Not => self.assignment_or_expr(),
            Keyword::As
            | Keyword::In
            | Keyword::By
            | Keyword::Every
            | Keyword::To
            | Keyword::Then
            | Keyword::Else
            | Keyword::And
            | Keyword::Or => {
                let (span, text) = (self.token().span, keyword.text());
                let message = format!("a line cannot begin with `{text}`");
                self.report(Diagnostic::error(codes::STATEMENT, message, span, ""));
                None
            }
        }
    }

    pub(super) fn minimise(&mut self) -> Option<StatementKind> {
        self.next();
        let loss = self.expr()?;
        let of = if self.kind() == TokenKind::Name && self.slice(self.token().span) == "of" {
            self.next();
            Some(self.expr()?)
        } else {
            None
        };
        if !self.is_word(Keyword::By) {
            let (found, span) = (self.found(), self.token().span);
            let message = format!("expected `by` and a rule, found {found}");
            let rule = match self.kind() {
                TokenKind::Name => quotable(self.line_after(span.end)),
                _ => None,
            };
            let rule = rule.as_deref().unwrap_or("sgd(0.1)");
            let help = format!("write `minimise {} by {rule}`", self.quote(self.file.expr(loss).span));
            self.report(Diagnostic::error(codes::EXPECTED, message, span, "").with_help(help));
            return None;
        }
        self.next();
        let rule = self.expr()?;
        let every = self.every()?;
        Some(StatementKind::Minimise { loss, of, rule, every })
    }

    fn import(&mut self) -> Option<StatementKind> {
        self.next();
        if self.kind() == TokenKind::Name {
            self.no_import(self.token().span);
            return None;
        }
        let path = self.quoted("with the path of a file after `import`")?;
        let alias = match self.take_word(Keyword::As) {
            Some(_) => Some(self.ident("after `as`")?),
            None => None,
        };
        Some(StatementKind::Import { path, alias })
    }

    fn dim(&mut self) -> Option<StatementKind> {
        self.next();
        let name = self.ident("after `dim`")?;
        if self.kind() == TokenKind::Colon {
            let message = "a size is declared with `=`, or with `in` and a range of sizes";
            let span = self.token().span;
            let help = "write `dim n = 8` for one size, `dim n in 2..64` for any of these";
            self.report(Diagnostic::error(codes::EXPECTED, message, span, "").with_help(help));
            return None;
        }
        let range = match self.take_word(Keyword::In) {
            Some(_) => Some(self.sizes()?),
            None => None,
        };
        let value = self.value()?;
        if range.is_none() && value.is_none() {
            let message = format!("expected `=` and a size, or `in` and a range, found {}", self.found());
            let (span, name) = (self.token().span, self.names.text(name.name));
            let help = format!(
                "write `dim {name} in 1..` for a size that is known when the program runs, `dim {name} = 32` for one size"
            );
            let diagnostic = Diagnostic::error(codes::EXPECTED, message, span, "");
            self.report(match self.kind() {
                TokenKind::Newline | TokenKind::End => diagnostic.with_fix(help, span.before(), " in 1.."),
                _ => diagnostic.with_help(help),
            });
            return None;
        }
        Some(StatementKind::Dim { name, range, value })
    }

    /// Parses the range of a size: `1..64`, `1..`.
    fn sizes(&mut self) -> Option<(ExprId, Option<ExprId>)> {
        let low = self.operators(0)?;
        let dots = self.need(TokenKind::DotDot, "between the least and the greatest size")?;
        let next = self.token();
        if next.kind == TokenKind::Equals && next.span.start == dots.span.end {
            let message = "a range of sizes has both its ends, and is written with two dots";
            let help = "write `1..64` for the sizes from 1 to 64, `1.. = 64` for any size, usually 64";
            self.report(
                Diagnostic::error(codes::EXPECTED, message, dots.span.to(next.span), "").with_help(help),
            );
            return None;
        }
        let ends = [TokenKind::Equals, TokenKind::Assign, TokenKind::Newline, TokenKind::End];
        let high = if ends.contains(&next.kind) { None } else { Some(self.operators(0)?) };
        Some((low, high))
    }

    /// Parses `= expr`, if it is there.
    pub(super) fn value(&mut self) -> Option<Option<ExprId>> {
        if self.take_equals().is_none() {
            return Some(None);
        }
        Some(Some(self.expr()?))
    }

    /// Takes an `=` that only binds; `=-1` is `= -1`.
    pub(super) fn take_equals(&mut self) -> Option<()> {
        if self.take(TokenKind::Equals).is_some() {
            return Some(());
        }
        let token = self.token();
        if token.kind != TokenKind::Assign {
            return None;
        }
        if self.slice(token.span) == "=-" {
            // The sign belongs to the number.
            let minus = Span { start: token.span.start + 1, ..token.span };
            self.tokens[self.at] = Token { kind: TokenKind::Minus, span: minus };
            return Some(());
        }
        let message =
            format!("`{}` assigns to a tensor that is there; here a name is bound", self.slice(token.span));
        let help = "write `=` here; in a line of its own, `w =+ x` adds to `w`";
        self.report(Diagnostic::error(codes::EXPECTED, message, token.span, "").with_help(help));
        None
    }

    fn leaf(&mut self, kind: LeafKind) -> Option<StatementKind> {
        let word = self.next();
        let name = self.ident(&format!("after `{}`", self.slice(word.span).to_owned()))?;
        let shape = match self.take(TokenKind::Colon) {
            Some(_) => Some(self.shape()?),
            None => None,
        };
        let precision = self.precision()?;
        let value = self.value()?;
        if kind == LeafKind::Data && shape.is_none() && value.is_none() {
            let span = self.since(word.span);
            let message = "data has a shape or values";
            let help =
                "write `: 32 | 784` after the name (batch | input -> output), or `= load(\"file.npy\")`";
            self.report(
                Diagnostic::error(codes::SHAPE, message, span, "nothing says its shape").with_help(help),
            );
            return None;
        }
        Some(StatementKind::Leaf { kind, name, shape, precision, value })
    }

    /// Parses `as f64`, if it is there.
    pub(super) fn precision(&mut self) -> Option<Option<Ident>> {
        match self.take_word(Keyword::As) {
            Some(_) => Some(Some(self.ident("of a number type after `as`, such as `f32`")?)),
            None => Some(None),
        }
    }

    fn let_(&mut self) -> Option<StatementKind> {
        self.next();
        self.mutable();
        if self.names_in_brackets() {
            return None;
        }
        let mut names = vec![self.ident("after `let`")?];
        while self.take(TokenKind::Comma).is_some() {
            if self.names_in_brackets() {
                return None;
            }
            names.push(self.ident("after `,`")?);
        }
        let shape = match (self.kind() == TokenKind::Colon).then(|| self.next()) {
            Some(colon) if names.len() > 1 => {
                let message = "a shape is stated for one name";
                let help =
                    "bind the names first, and state the shape of each: `let a, b = …`, then `let c : 3 = a`";
                self.report(Diagnostic::error(codes::SHAPE, message, colon.span, "").with_help(help));
                return None;
            }
            Some(_) => Some(self.shape()?),
            None => None,
        };
        if self.kind() == TokenKind::Open {
            let span = self.token().span;
            let message = "`let` binds a name to a value";
            let help = format!("a function is a `def {}(…) = …`", self.names.text(names[0].name));
            self.report(Diagnostic::error(codes::EXPECTED, message, span, "not expected").with_help(help));
            return None;
        }
        if let Some((span, sign)) = self.compound() {
            let message = format!("`{sign}=` would assign to a tensor that is there; here a name is bound");
            let help = format!("write `=` here; in a line of its own, `w ={sign} x` assigns to `w`");
            self.report(Diagnostic::error(codes::EXPECTED, message, span, "").with_help(help));
            return None;
        }
        if self.kind() == TokenKind::EqualEqual {
            let span = self.token().span;
            let help =
                format!("write `let {} = {}`", self.names.text(names[0].name), self.rest_of_line(span.end));
            let message = "`==` compares; a name is bound by `=`";
            self.report(Diagnostic::error(codes::EXPECTED, message, span, "").with_help(help));
            return None;
        }
        if self.take_equals().is_none() {
            self.expected("`=` and a value");
            return None;
        }
        if self.kind() == TokenKind::Newline {
            let span = self.token().span;
            let message = "expected the value of `let` in this line";
            let help = format!(
                "write it behind the `=`; it goes on in the next line inside of brackets, or behind an operator: `let {} = (`",
                self.names.text(names[0].name)
            );
            self.report(Diagnostic::error(codes::EXPECTED, message, span, "").with_help(help));
        }
        let value = self.expr_or_missing();
        if self.kind() == TokenKind::Comma && names.len() > 1 {
            let span = self.token().span;
            let message = "several values are a list";
            let help = "write `let a, b = [1, 2]`, or a line for each name";
            self.report(Diagnostic::error(codes::EXPECTED, message, span, "").with_help(help));
        }
        Some(StatementKind::Let { names, shape, value })
    }

    /// Reports names of a `let` in brackets, which other languages take lists apart by.
    fn names_in_brackets(&mut self) -> bool {
        if !matches!(self.kind(), TokenKind::Open | TokenKind::OpenList) {
            return false;
        }
        let span = self.token().span;
        let message = "names of several values stand side by side, without brackets";
        let help = "write `let a, b = list`, and for a list in a list another line: `let c, d = b`";
        self.report(Diagnostic::error(codes::EXPECTED, message, span, "").with_help(help));
        true
    }

    /// Parses an expression, or makes a missing one after a mistake, so that the names it would be
    /// bound to are known.
    pub(super) fn expr_or_missing(&mut self) -> ExprId {
        let span = self.token().span;
        self.expr().unwrap_or_else(|| self.push(ExprKind::Missing, span))
    }

    fn set(&mut self) -> Option<StatementKind> {
        self.next();
        let target = self.expr()?;
        if self.take_equals().is_none() {
            self.expected("`=` and a size");
            return None;
        }
        Some(StatementKind::Set { target, value: self.expr()? })
    }

    fn for_(&mut self) -> Option<StatementKind> {
        self.next();
        let name = self.ident("after `for`")?;
        if self.foreign_for(name.span) {
            return None;
        }
        self.need(TokenKind::Keyword(Keyword::In), "and a list")?;
        let list = self.expr()?;
        let list = self.foreign_range_in_head(list).unwrap_or(list);
        let body = self.headed(|parser| Some(parser.statements(false)))?;
        Some(StatementKind::For { name, list, body })
    }

    /// Returns true if an `if` has a block, and no `then`.
    fn has_block(&self) -> bool {
        let mut depth = 0;
        for token in &self.tokens[self.at..] {
            match token.kind {
                TokenKind::Newline | TokenKind::End | TokenKind::Keyword(Keyword::Then) => return false,
                TokenKind::Colon if depth == 0 => return true,
                kind if kind.closed_by().is_some() => depth += 1,
                TokenKind::Close | TokenKind::CloseList | TokenKind::CloseBrace => depth -= 1,
                _ => {}
            }
        }
        false
    }

    /// `if deep:` and what follows.
    fn if_(&mut self) -> Option<StatementKind> {
        let mut branches = Vec::new();
        let mut begin = self.next().span;
        loop {
            let condition = self.expr()?;
            branches.push(self.branch(Some(condition), begin)?);
            // A statement on the line of its condition leaves the end of the line.
            let at = if self.kind() == TokenKind::Newline { 1 } else { 0 };
            let next = if at == 0 { self.token() } else { self.ahead(at) };
            let is_elif = next.kind == TokenKind::Name && self.slice(next.span) == "elif";
            if !is_elif && next.kind != TokenKind::Keyword(Keyword::Else) {
                return Some(StatementKind::If(branches));
            }
            (0..at).for_each(|_| _ = self.next());
            begin = self.next().span;
            if is_elif {
                let diagnostic = Diagnostic::error(codes::EXPECTED, "`elif` is written `else if`", begin, "");
                self.report(diagnostic.with_fix("write `else if`", begin, "else if"));
            } else if self.kind() == TokenKind::Keyword(Keyword::If) {
                self.next();
            } else {
                branches.push(self.branch(None, begin)?);
                return Some(StatementKind::If(branches));
            }
        }
    }

    /// The block of a way of an `if`.
    fn branch(&mut self, condition: Option<ExprId>, begin: Span) -> Option<Branch> {
        let head = self.since(begin);
        if condition.is_some() && self.kind() == TokenKind::Equals {
            let span = self.token().span;
            let message = "`=` binds a name; a comparison is written `==`";
            let diagnostic = Diagnostic::error(codes::EXPECTED, message, span, "");
            self.report(diagnostic.with_fix("write `==`", span, "=="));
            return None;
        }
        let body = self.headed(|parser| Some(parser.statements(false)))?;
        Some(Branch { condition, body, head })
    }

    fn repeat(&mut self) -> Option<StatementKind> {
        self.next();
        let named = self.kind() == TokenKind::Name && self.ahead(1).kind == TokenKind::Keyword(Keyword::In);
        let name = match named {
            true => {
                let name = self.ident("after `repeat`")?;
                self.next();
                Some(name)
            }
            false => None,
        };
        if self.kind() == TokenKind::Colon {
            let span = self.token().span;
            let message =
                "`repeat` is followed by the number of repetitions, which is known before the loop runs";
            let diagnostic = Diagnostic::error(codes::EXPECTED, message, span, "");
            self.report(diagnostic.with_fix("write `repeat 100:`", span.before(), " 100"));
            return None;
        }
        let count = self.expr()?;
        let count = self.foreign_range_in_head(count).unwrap_or(count);
        let body = self.headed(|parser| Some(parser.statements(false)))?;
        Some(StatementKind::Repeat { name, count, body })
    }

    /// Parses `:` and a block, or one statement on the same line.
    pub(super) fn headed<T: OneLine>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.kind() == TokenKind::Newline && self.reported && self.ahead(1).kind == TokenKind::Indent {
            // One mistake of a line is enough, and the block belongs to it anyway.
            self.open_block(":")?;
            return self.deeper_block(read);
        }
        if self.kind() == TokenKind::Newline {
            let span = self.token().span;
            let message = "expected `:` and a block, found the end of the line";
            self.report(Diagnostic::error(codes::EXPECTED, message, span, "").with_fix(
                "write `:` at the end of this line",
                span.before(),
                ":",
            ));
            return None;
        }
        if self.braces(":", "and indent the lines below it") {
            return None;
        }
        self.need(TokenKind::Colon, "and a block")?;
        if self.kind() != TokenKind::Newline {
            return T::one_line(self);
        }
        self.open_block(":")?;
        self.deeper_block(read)
    }

    /// Returns true if the indentation of a line that begins here fits no block.
    fn is_misplaced(&self, line: Span) -> bool {
        self.misplaced.binary_search(&line.start).is_ok()
    }

    /// The lines of a function up to its value: lines below it that fit no block do not belong to it.
    pub(super) fn up_to_value(&self, mut lines: Vec<Statement>) -> Vec<Statement> {
        let is_value = |line: &Statement| matches!(line.kind, StatementKind::Expr(_));
        let end = lines.iter().rposition(|line| is_value(line) || !self.is_misplaced(line.span));
        if let Some(end) = end.filter(|end| is_value(&lines[*end])) {
            lines.truncate(end + 1);
        }
        lines
    }

    pub(super) fn block(&mut self, after: &str) -> Option<Vec<Statement>> {
        self.open_block(after)?;
        self.deeper_block(|parser| Some(parser.statements(false)))
    }

    /// Parses the beginning of a block with at least one line.
    fn open_block(&mut self, after: &str) -> Option<()> {
        self.take(TokenKind::Newline);
        if self.take(TokenKind::Indent).is_some() {
            return Some(());
        }
        let before = self.tokens[..self.at].iter().rev().find(|token| token.kind != TokenKind::Newline);
        let span = before.map_or(self.token().span, |token| token.span);
        let diagnostic =
            Diagnostic::error(codes::BLOCK, "the block is missing", span, format!("after this `{after}`"))
                .with_help("indent the lines that belong to it");
        if !self.reported {
            self.diagnostics.push(diagnostic);
        }
        self.reported = true;
        // The line has ended; the next statement follows.
        self.at -= usize::from(self.at > 0 && self.tokens[self.at - 1].kind == TokenKind::Newline);
        None
    }

    fn print(&mut self) -> Option<StatementKind> {
        let word = self.next().span;
        let like_a_call = self.printed_like_a_call(word);
        let mut parts = vec![self.expr()?];
        while self.take(TokenKind::Comma).is_some() || self.printed_without_comma(word) {
            parts.push(self.expr()?);
        }
        if like_a_call {
            self.take(TokenKind::Close)?;
        }
        let every = self.every()?;
        parts.iter().for_each(|part| self.fill(*part));
        Some(StatementKind::Print { parts, every })
    }

    /// Parses what stands in the braces of a printed text. What is no expression is reported where it is printed.
    fn fill(&mut self, part: ExprId) {
        let expr = self.file.expr(part);
        let (ExprKind::Text(text), span) = (&expr.kind, expr.span) else { return };
        if braces(text).next().is_none() {
            return;
        }
        let text = text.clone();
        // Parentheses may stand before the quotation mark.
        let quote = self.slice(span).find('"').unwrap_or_default();
        let first = span.start + quote as u32 + 1;
        let parsed = braces(&text).map(|each| FilledIn {
            within: each.range(),
            value: self.parsed_within(span, first, each.inner, each.start),
        });
        let parsed = parsed.collect();
        self.file.filled.push((part, parsed));
    }

    /// Parses a part of a text, or nothing if it is no expression.
    fn parsed_within(&mut self, span: Span, first: u32, inner: &str, from: usize) -> Option<ExprId> {
        let blank = inner.len() - inner.trim_start().len();
        let mut lexed = lex(span.source, &inner[blank..]);
        let offset = first + (from + blank) as u32;
        if lexed.tokens.is_empty() || !lexed.diagnostics.is_empty() || !lexed.comments.is_empty() {
            return None;
        }
        for token in &mut lexed.tokens {
            token.span.start += offset;
            token.span.end += offset;
        }
        let tokens = std::mem::replace(&mut self.tokens, lexed.tokens);
        let (at, last_end, known) = (self.at, self.last_end, self.diagnostics.len());
        let reported = std::mem::replace(&mut self.reported, false);
        self.at = 0;
        let value = self.expr();
        let is_whole = matches!(self.kind(), TokenKind::Newline | TokenKind::End);
        (self.tokens, self.at, self.last_end, self.reported) = (tokens, at, last_end, reported);
        let is_fine = self.diagnostics.len() == known;
        self.diagnostics.truncate(known);
        value.filter(|_| is_whole && is_fine)
    }

    /// `every 100`, or nothing. There is no result if something is wrong.
    fn every(&mut self) -> Option<Option<ExprId>> {
        match self.take_word(Keyword::Every) {
            Some(_) => Some(Some(self.expr()?)),
            None => Some(None),
        }
    }

    fn assignment_or_expr(&mut self) -> Option<StatementKind> {
        let left = self.expr()?;
        if self.incremented(left) {
            return None;
        }
        let token = self.token();
        let sign = if self.compound().is_some() {
            self.compound_sign(left)?
        } else if matches!(token.kind, TokenKind::Equals | TokenKind::Assign) {
            self.next();
            self.slice(token.span).into()
        } else {
            return Some(StatementKind::Expr(left));
        };
        let sign = Quoted { text: sign, span: token.span };
        let target = match &self.file.expr(left).kind {
            ExprKind::Param(param) => {
                if param.shape.is_some() || param.initial.is_some() || param.precision.is_some() {
                    let span = self.file.expr(left).span;
                    let message = "a new tensor that is assigned to takes its shape from the assignment";
                    let help = "leave out everything but the name, or declare it as a `state`";
                    self.report(Diagnostic::error(codes::PARAMETER, message, span, "").with_help(help));
                    return None;
                }
                Target::New(param.name)
            }
            _ => Target::Expr(left),
        };
        let value = self.expr()?;
        let logic = match self.take_word(Keyword::By) {
            Some(_) => Some(self.quoted("after `by`: `\".\"`, `\"@\"`, `\"T\"` or a spec")?),
            None => None,
        };
        Some(StatementKind::Assign(Box::new(Assign { target, sign, value, logic })))
    }

    /// Returns true if there are no more items in brackets: they are closed here, or the closing
    /// bracket is missing.
    pub(super) fn ends_list(&self, close: TokenKind) -> bool {
        self.kind() == close || matches!(self.kind(), TokenKind::Newline | TokenKind::End)
    }

    /// Takes the bracket that closes another one, or reports that it is missing.
    pub(super) fn close(&mut self, kind: TokenKind, open: Span) -> Option<()> {
        if self.take(kind).is_some() {
            return Some(());
        }
        let found = self.found();
        let message = format!("expected `,` or `{}`, found {found}", kind.text());
        let span = self.token().span;
        let diagnostic =
            Diagnostic::error(codes::BRACKET, message, span, "").with_label(open, "the bracket that is open");
        let ends = matches!(self.kind(), TokenKind::Newline | TokenKind::End);
        self.report(match ends {
            true => {
                diagnostic.with_fix(format!("close it with `{}`", kind.text()), span.before(), kind.text())
            }
            false => diagnostic,
        });
        None
    }
}

/// A block that may be written on the line of its head.
pub(super) trait OneLine: Sized {
    fn one_line(parser: &mut Parser<'_>) -> Option<Self>;
}

impl OneLine for Vec<Statement> {
    fn one_line(parser: &mut Parser<'_>) -> Option<Vec<Statement>> {
        let start = parser.token().span;
        let kind = parser.deeper(Parser::statement)?;
        let span = parser.since(start);
        Some(vec![Statement { kind, span }])
    }
}

impl OneLine for Vec<Span> {
    fn one_line(parser: &mut Parser<'_>) -> Option<Vec<Span>> {
        Some(vec![parser.raw_line()])
    }
}
