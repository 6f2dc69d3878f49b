//! Habits from other languages, and their equivalents here.
//!
//! None of this is part of the grammar: the message for such a mistake names what was meant, which
//! is clearer than what was expected. Where the meaning is clear, parsing goes on as if the right
//! form had been written, so that no further errors follow.

mod brackets;
mod functions;
mod loops;

use broadloom_diagnostics::{Diagnostic, Edit, Span};

use super::super::ast::{ExprId, ExprKind, Ident, Statement, StatementKind, Target};
use super::super::lexer::LINE_ENDS;
use super::super::quote::{quotable, quoted};
use super::super::token::{Keyword, Token, TokenKind};
use super::Parser;
use crate::codes;

/// Words that begin a statement elsewhere: the message, and the advice.
const WORDS: &[(&str, &str, &str)] = &[
    (
        "while",
        "there is no `while`: the number of repetitions is known before a loop runs",
        "write `repeat 100:`, or `repeat step in 0..100:`",
    ),
    ("elif", "`elif` is written `else if`", "write `else if`, behind the block of an `if`"),
    (
        "class",
        "there are no classes",
        "a layer is a function: write `def net(hidden)(x) = …`, with the configuration first, as in `__init__`, and then what `forward` is given",
    ),
    ("with", "there is no `with`", "leave it out: only `backward` and `minimise` compute gradients"),
    ("try", "there is no `try`", "leave it out: mistakes are found before a program runs"),
    ("pass", "there is no `pass`", "leave the block out, with the line it belongs to"),
    ("break", "there is no `break`: a loop runs to its end", "write how often it runs: `repeat 100:`"),
    ("continue", "there is no `continue`", "`where(condition, a, b)` chooses element by element"),
    ("end", "there is no `end`: a block ends where its lines are no longer indented", "leave it out"),
    ("assert", "there is no `assert`", "write a size into a declared shape: `data x : 32 | 784`"),
];

impl Parser<'_> {
    /// Finds `+=`, `-=`, … here: the span of both signs, and the first of them.
    pub(super) fn compound(&self) -> Option<(Span, &'static str)> {
        let (token, next) = (self.token(), self.ahead(1));
        let sign = match token.kind {
            TokenKind::Plus
            | TokenKind::Minus
            | TokenKind::Star
            | TokenKind::StarStar
            | TokenKind::Slash
            | TokenKind::SlashSlash
            | TokenKind::Percent
            | TokenKind::At => token.kind.text(),
            _ => return None,
        };
        let assigns = matches!(next.kind, TokenKind::Equals | TokenKind::Assign);
        let equals = Span { end: next.span.start + 1, ..next.span };
        (assigns && next.span.start == token.span.end).then(|| (token.span.to(equals), sign))
    }

    /// `y += x`, which is `y =+ x` here: takes the signs, and returns the right one.
    pub(super) fn compound_sign(&mut self, target: ExprId) -> Option<Box<str>> {
        let (span, sign) = self.compound()?;
        let target = self.quote(self.file.expr(target).span);
        let value = self.rest_of_line(span.end);
        let known = !matches!(sign, "%" | "@");
        let (message, help) = match known {
            true => {
                (format!("`{sign}=` is written `={sign}` here"), format!("write `{target} ={sign} {value}`"))
            }
            false => {
                (format!("there is no `{sign}=`"), format!("write `{target} = {target} {sign} {value}`"))
            }
        };
        let diagnostic = Diagnostic::error(codes::EXPECTED, message, span, "");
        self.report(match known {
            true => diagnostic.with_fix(help, span, format!("={sign}")),
            false => diagnostic.with_help(help),
        });
        self.next();
        // `y +=-1`: the sign after `=` belongs to the value.
        let equals = self.token();
        if self.slice(equals.span) == "=-" {
            let minus = Span { start: equals.span.start + 1, ..equals.span };
            self.tokens[self.at] = Token { kind: TokenKind::Minus, span: minus };
        } else {
            self.next();
        }
        known.then(|| format!("={sign}").into())
    }

    /// Reports a statement of another language, if the line begins like one, and returns the part
    /// that was parsed.
    pub(super) fn foreign_statement(&mut self) -> Option<Option<StatementKind>> {
        let (token, next) = (self.token(), self.ahead(1).kind);
        let operand = matches!(
            next,
            TokenKind::Name
                | TokenKind::Int
                | TokenKind::Float
                | TokenKind::Text
                | TokenKind::OpenBrace
                | TokenKind::Keyword(Keyword::Not | Keyword::If)
        );
        let word = self.slice(token.span);
        let rest = self.rest_of_line(token.span.end);
        let report = |parser: &mut Self, message: &str, help: String| {
            parser.report(Diagnostic::error(codes::STATEMENT, message, token.span, "").with_help(help));
        };
        // Another word in place of the first one is all that has to change.
        let replace = |parser: &mut Self, message: &str, help: String, word: &str| {
            let span = match word.is_empty() {
                true => Span { end: parser.ahead(1).span.start, ..token.span },
                false => token.span,
            };
            let diagnostic = Diagnostic::error(codes::STATEMENT, message, token.span, "");
            parser.report(diagnostic.with_fix(help, span, word));
        };
        match word {
            "return"
                if operand || matches!(next, TokenKind::Open | TokenKind::OpenList | TokenKind::Minus) =>
            {
                let message = "there is no `return`: the value of a function is its last line";
                replace(self, message, format!("write `{rest}`"), "");
                self.next();
                Some(self.expr().map(StatementKind::Expr))
            }
            "minimize" if operand || next == TokenKind::Open => {
                let by = rest.replace(" with ", " by ").replace(" using ", " by ");
                replace(self, "the word is `minimise`", format!("write `minimise {by}`"), "minimise");
                Some(self.minimise())
            }
            "param" | "parameter" if next == TokenKind::Name => {
                let message = "a parameter is made in the expression that uses it first";
                report(self, message, format!("leave out this line, and write `{{{rest}}}` there"));
                Some(None)
            }
            "var" | "const" | "val" | "tensor" if next == TokenKind::Name => {
                replace(self, "a name is bound by `let`", format!("write `let {rest}`"), "let");
                Some(None)
            }
            "fn" | "func" | "function" if next == TokenKind::Name => Some(self.foreign_function(token)),
            "from" if next == TokenKind::Name => {
                self.no_import(token.span);
                Some(None)
            }
            _ if next == TokenKind::Colon && WORDS.iter().all(|(known, ..)| *known != word) => {
                let name = word.to_string();
                let rest = before(rest.trim_start_matches(':'), &['=']).to_string();
                let help = match name.as_str() {
                    "else" | "finally" | "except" => String::from("leave it out"),
                    _ => format!("write `data {name} : {rest}`, or `state {name} : {rest}` for what changes"),
                };
                report(self, "a word says what is declared", help);
                let name = self.names.intern(&name);
                self.file.mistaken.push(name);
                Some(None)
            }
            _ => {
                let (_, message, help) = WORDS.iter().find(|(known, ..)| *known == word)?;
                let is_class = word == "class" && next == TokenKind::Name;
                if !operand && !matches!(next, TokenKind::Colon | TokenKind::Newline | TokenKind::Open) {
                    return None;
                }
                match (word, next) {
                    ("end", TokenKind::Newline) => replace(self, message, help.to_string(), ""),
                    _ => report(self, message, help.to_string()),
                }
                if is_class {
                    self.skip_class();
                }
                Some(None)
            }
        }
    }

    /// Skips the rest of a class, whose methods make no sense by themselves.
    fn skip_class(&mut self) {
        let name = self.slice(self.ahead(1).span).to_string();
        let name = self.names.intern(&name);
        self.file.mistaken.push(name);
        while !matches!(self.kind(), TokenKind::Newline | TokenKind::End) {
            self.next();
        }
        if self.ahead(1).kind != TokenKind::Indent {
            return;
        }
        self.next();
        let mut depth = 0;
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::Indent => depth += 1,
                TokenKind::Dedent => depth -= 1,
                _ => {}
            }
            self.next();
            if depth == 0 {
                // What ends a statement is expected behind it.
                self.at -= 1;
                self.tokens[self.at].kind = TokenKind::Newline;
                return;
            }
        }
    }

    /// Reports an import without a path.
    pub(super) fn no_import(&mut self, span: Span) {
        let name = match self.kind() {
            TokenKind::Name if self.slice(self.token().span) != "from" => self.slice(self.token().span),
            _ => self.slice(self.ahead(1).span),
        };
        // These may well be files of the program.
        let is_file = matches!(name, "layers" | "functional" | "optim" | "random" | "math" | "time");
        let imported = self.imported_names();
        let dotted: Vec<String> =
            imported.iter().map(|span| format!("`{name}.{}`", self.slice(*span))).collect();
        let dotted = match dotted.is_empty() {
            true => String::new(),
            false => format!(", and {} for what it has", dotted.join(", ")),
        };
        let help = match crate::suggest::is_library(name) {
            true if is_file => {
                format!(
                    "write `import \"{name}.loom\"` for a file{dotted}; what the language has needs no import"
                )
            }
            true => {
                "leave out this line: `exp`, `sum`, `einsum`, `linear` and all others are there".to_string()
            }
            false => format!("write `import \"{name}.loom\"`{dotted}"),
        };
        if is_file || !crate::suggest::is_library(name) {
            let name = name.to_string();
            let name = self.names.intern(&name);
            self.file.mistaken.push(name);
            for span in imported {
                let text = self.slice(span).to_string();
                let name = self.names.intern(&text);
                self.file.mistaken.push(name);
            }
        }
        let message = "a file is imported by its path, in double quotes";
        self.report(Diagnostic::error(codes::EXPECTED, message, span, "").with_help(help));
    }

    /// The names behind `import` in the rest of the line, as in `from layers import a, b`.
    fn imported_names(&self) -> Vec<Span> {
        let line = self.tokens[self.at..].iter().take_while(|token| token.kind != TokenKind::Newline);
        let behind = line.skip_while(|token| self.slice(token.span) != "import").skip(1);
        behind.filter(|token| token.kind == TokenKind::Name).map(|token| token.span).collect()
    }

    /// Reports `f"…"`, and skips the letter.
    pub(super) fn text_with_letter(&mut self) {
        let (token, next) = (self.token(), self.ahead(1));
        let adjacent = next.kind == TokenKind::Text && next.span.start == token.span.end;
        if token.kind != TokenKind::Name || !adjacent {
            return;
        }
        let written = self.quote(next.span);
        let message = "a text has no letter before its quote";
        let diagnostic = Diagnostic::error(codes::EXPECTED, message, token.span, "");
        let help = format!("write `{written}`: what stands in braces is filled in");
        self.report(diagnostic.with_fix(help, token.span, ""));
        self.next();
    }

    /// Reports `a if condition else b`, with `a` parsed already.
    pub(super) fn choice_behind(&mut self, yes: ExprId) -> Option<ExprId> {
        let word = self.next();
        let condition = self.operators(0)?;
        if self.take_word(Keyword::Else).is_none() {
            let message = "`if` comes first, and has a `then` and an `else`";
            let help = "write `if condition then a else b`; a list has all of its items";
            self.report(Diagnostic::error(codes::EXPECTED, message, word.span, "").with_help(help));
            return None;
        }
        let no = self.expr()?;
        let [c, a, b] = [condition, yes, no].map(|part| self.quote(self.file.expr(part).span));
        let help = format!("write `if {c} then {a} else {b}`");
        let message = "the condition comes first";
        let span = self.file.expr(yes).span.to(self.file.expr(no).span);
        let [c, a, b] = [condition, yes, no].map(|part| self.slice(self.file.expr(part).span));
        let meant = format!("if {c} then {a} else {b}");
        let diagnostic = Diagnostic::error(codes::EXPECTED, message, word.span, "");
        self.report(diagnostic.with_fix(help, span, meant));
        Some(self.push(ExprKind::If { condition, yes, no }, span))
    }

    /// Reports `print("loss", loss)`. Returns true if the values to print are in parentheses.
    pub(super) fn printed_like_a_call(&mut self, word: Span) -> bool {
        if self.kind() != TokenKind::Open {
            return false;
        }
        let (mut depth, mut commas) = (0, false);
        for token in &self.tokens[self.at..] {
            match token.kind {
                TokenKind::Newline | TokenKind::End => return false,
                kind if kind.closed_by().is_some() => depth += 1,
                TokenKind::Close | TokenKind::CloseList | TokenKind::CloseBrace => depth -= 1,
                TokenKind::Comma if depth == 1 => commas = true,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        if !commas {
            return false;
        }
        let open = self.next();
        let close = self.closing(TokenKind::Open, TokenKind::Close);
        let inner = self.quote(Span { start: open.span.end, end: close.start, ..open.span });
        let message = "`print` is a word of the language, not a function";
        let help = format!("write `print {inner}`");
        let gap = if open.span.start == word.end { " " } else { "" };
        let edits = vec![Edit::new(open.span, gap), Edit::new(close, "")];
        self.report(Diagnostic::error(codes::EXPECTED, message, word, "").with_edits(help, edits));
        true
    }

    /// Reports that an expression is missing here.
    pub(super) fn no_expression(&mut self) {
        if !self.is_word(Keyword::Repeat) || self.ahead(1).kind != TokenKind::Open {
            return self.expected("an expression");
        }
        let message = "`repeat` begins a loop, and is no function";
        let help = "leave it out: axes that are missing broadcast, and a spec with `0` in its result makes an axis that does, `einsum(\"... | c => ... | 0, c\", x)`";
        let span = self.token().span;
        self.report(Diagnostic::error(codes::EXPECTED, message, span, "").with_help(help));
    }

    /// Reports two values to print without a comma between them.
    pub(super) fn printed_without_comma(&mut self, word: Span) -> bool {
        let token = self.token();
        if !matches!(token.kind, TokenKind::Name | TokenKind::Int | TokenKind::Float | TokenKind::Text) {
            return false;
        }
        let before = self.text[word.end as usize..token.span.start as usize].trim();
        let help = format!("write `print {before}, {}`", self.rest_of_line(token.span.start));
        let message = "what is printed is separated by commas";
        let last = self.tokens[..self.at].last().map_or(token.span.before(), |last| last.span.after());
        let diagnostic = Diagnostic::error(codes::EXPECTED, message, token.span, "");
        self.report(diagnostic.with_fix(help, last, ","));
        true
    }

    /// Notes the name that an unreadable or dropped statement would have defined, so that its uses
    /// are not reported.
    pub(super) fn forget(&mut self, start: usize) {
        let tokens = &self.tokens[start..self.at.max(start)];
        let (Some(first), Some(second)) = (tokens.first(), tokens.get(1)) else { return };
        let defines = match first.kind {
            TokenKind::Keyword(
                Keyword::Dim | Keyword::Data | Keyword::State | Keyword::Let | Keyword::Def | Keyword::Op,
            ) => true,
            TokenKind::Name => matches!(
                self.slice(first.span),
                "param" | "parameter" | "var" | "const" | "val" | "tensor" | "fn" | "func" | "function"
            ),
            _ => false,
        };
        if defines && second.kind == TokenKind::Name {
            let name = self.names.intern(self.slice(second.span));
            self.file.mistaken.push(name);
        }
    }

    /// The same for statements that were parsed and are not kept.
    pub(super) fn forget_all(&mut self, statements: &[Statement]) {
        for statement in statements {
            let names: &[Ident] = match &statement.kind {
                StatementKind::Let { names, .. } => names,
                StatementKind::Dim { name, .. }
                | StatementKind::Leaf { name, .. }
                | StatementKind::Op { name, .. } => std::slice::from_ref(name),
                StatementKind::Def(def) => std::slice::from_ref(&def.name),
                StatementKind::Assign(assign) => match &assign.target {
                    Target::New(name) => std::slice::from_ref(name),
                    Target::Expr(_) => &[],
                },
                _ => &[],
            };
            self.file.mistaken.extend(names.iter().map(|name| name.name));
        }
    }

    /// Reports something after a statement that does not belong there.
    pub(super) fn behind_statement(&mut self) {
        let (token, found) = (self.token(), self.found());
        let before = self.tokens[..self.at].last().copied();
        let operand =
            matches!(token.kind, TokenKind::Name | TokenKind::Int | TokenKind::Float | TokenKind::Text);
        let help = match before {
            Some(before) if before.kind == TokenKind::Name && operand => {
                let (function, argument) = (self.quote(before.span), self.quote(token.span));
                format!("a function is applied by brackets: `{function}({argument})`")
            }
            _ if token.kind == TokenKind::Bar => "write `or`; `|` follows the batch of a shape".into(),
            _ if self.quote(token.span) == "as" => {
                "types are stated of `data`, `state` and parameters: `data k : 32 | as i64`".into()
            }
            _ if token.kind == TokenKind::Arrow => self
                .as_a_function(token.span)
                .unwrap_or_else(|| "`->` stands in a shape or in a spec, before the output".into()),
            _ if token.kind == TokenKind::Equals && self.ahead(1).kind == TokenKind::Greater => self
                .as_a_function(self.ahead(1).span)
                .unwrap_or_else(|| "`=>` stands in a spec, before the result".into()),
            _ => String::new(),
        };
        let message = format!("expected the end of the line, found {found}");
        let diagnostic = Diagnostic::error(codes::EXPECTED, message, token.span, "");
        self.report(match token.kind {
            _ if help.is_empty() => diagnostic,
            TokenKind::Bar => diagnostic.with_fix(help, token.span, "or"),
            _ => diagnostic.with_help(help),
        });
    }

    /// Finds `n++` or `n--` after `n`: the sign, if the line ends with it.
    pub(super) fn increment(&self) -> Option<(Span, &'static str)> {
        let (first, second) = (self.token(), self.ahead(1));
        let sign = if first.kind == TokenKind::Plus { "+" } else { "-" };
        let twice = matches!(first.kind, TokenKind::Plus | TokenKind::Minus)
            && second.kind == first.kind
            && second.span.start == first.span.end
            && matches!(self.ahead(2).kind, TokenKind::Newline | TokenKind::End);
        twice.then(|| (first.span.to(second.span), sign))
    }

    /// Reports a line `n++`.
    pub(super) fn incremented(&mut self, target: ExprId) -> bool {
        let Some((span, sign)) = self.increment() else { return false };
        let help = format!("write `{} ={sign} 1`", self.quote(self.file.expr(target).span));
        let message = format!("there is no `{sign}{sign}`");
        let diagnostic = Diagnostic::error(codes::EXPECTED, message, span, "");
        self.report(diagnostic.with_fix(help, span, format!(" ={sign} 1")));
        true
    }

    /// A piece of the program for a message.
    pub(super) fn quote(&self, span: Span) -> String {
        quoted(self.slice(span))
    }

    /// The same, if it can be quoted.
    pub(super) fn quotable(&self, span: Span) -> Option<String> {
        quotable(self.slice(span))
    }

    /// The text from a place to the end of the line, without a comment, for a message.
    pub(super) fn rest_of_line(&self, from: u32) -> String {
        quoted(self.line_after(from))
    }

    /// The text from a place to the end of the line, without a comment.
    pub(super) fn line_after(&self, from: u32) -> &str {
        let rest = &self.text[from as usize..];
        let line = &rest[..rest.find(LINE_ENDS).unwrap_or(rest.len())];
        line.split_once('#').map_or(line, |(line, _)| line).trim()
    }
}

/// The text before the first of some characters.
fn before<'t>(text: &'t str, ends: &[char]) -> &'t str {
    text.split(ends).next().unwrap_or(text).trim()
}
