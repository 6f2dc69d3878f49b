//! Loops and choices as other languages write them.

use broadloom_diagnostics::{Diagnostic, Span};

use super::super::super::ast::{ExprId, ExprKind};
use super::super::super::token::{Keyword, TokenKind};
use super::super::Parser;
use crate::codes;

impl Parser<'_> {
    /// Reports `if condition:`.
    pub(in super::super) fn choice_with_block(&mut self, word: Span, condition: ExprId) {
        let condition = self.quote(self.file.expr(condition).span);
        let behind = (1..).map(|by| self.ahead(by));
        let first =
            behind.into_iter().find(|token| !matches!(token.kind, TokenKind::Newline | TokenKind::Indent));
        let does = first.map(|token| (token.kind, self.slice(token.span)));
        let (message, help) = match does {
            Some((TokenKind::Name, word @ ("break" | "continue"))) => (
                format!("there is no `{word}`: a loop runs as often as it says"),
                "leave out this line, and write how often the loop runs: `repeat 100:`".to_string(),
            ),
            Some((TokenKind::Keyword(Keyword::Print), _)) => {
                let turns = condition.split_once('%').map(|(_, rest)| rest.trim());
                let turns =
                    turns.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
                let every = turns.filter(|turns| !turns.is_empty()).unwrap_or("10".into());
                (
                    "`if` chooses between two values, and has no block".into(),
                    format!(
                        "leave it out, and write `every {every}` at the end of the `print`: it prints in the first repetition and then once in every {every}"
                    ),
                )
            }
            _ => (
                "`if` chooses between two values, and has no block".into(),
                format!(
                    "write `let y = if {condition} then a else b`; `where(condition, a, b)` chooses element by element"
                ),
            ),
        };
        self.report(Diagnostic::error(codes::EXPECTED, message, word, "").with_help(help));
        self.chose = true;
    }

    /// Reports `for i, item in enumerate(list)` and `for i = 1:10`, behind `i`.
    pub(in super::super) fn foreign_for(&mut self, name: Span) -> bool {
        let token = self.token();
        let rest = self.rest_of_line(token.span.end);
        let name = self.quote(name);
        let (message, help) = match token.kind {
            TokenKind::Comma => {
                let (function, rest) = rest.split_once('(').unwrap_or(("", "list"));
                let list = first_argument(rest).trim();
                let zipped = match function.ends_with("zip") {
                    true => Some(rest),
                    false => list.strip_prefix("zip("),
                };
                let lists = zipped.map_or(vec![list], arguments);
                // `for a, b in zip(…)` has no name for the number.
                let name = if function.ends_with("zip") { "i".into() } else { name };
                let items: Vec<String> = lists.iter().map(|list| format!("`{list}[{name}]`")).collect();
                let first = lists.first().unwrap_or(&"list");
                (
                    "a loop binds one name",
                    format!("write `for {name} in 0..len({first}):`, and {} inside", items.join(" and ")),
                )
            }
            TokenKind::Equals | TokenKind::Assign => {
                let (from, to) = rest.split_once([':', ';']).unwrap_or(("0", "10"));
                let to = to.split([':', ';']).next_back().unwrap_or(to).trim();
                // Elsewhere the last number is one of them.
                let to = to.parse::<i64>().map_or(to.to_string(), |to| (to + 1).to_string());
                (
                    "a loop goes over a list or a range",
                    format!("write `for {name} in {}..{to}:`", from.trim()),
                )
            }
            _ => return false,
        };
        self.report(Diagnostic::error(codes::EXPECTED, message, token.span, "").with_help(help));
        true
    }

    /// Reports `1:100` in the head of a loop, behind `1`. A colon may also end the head.
    pub(in super::super) fn foreign_range_in_head(&mut self, low: ExprId) -> Option<ExprId> {
        if self.kind() != TokenKind::Colon {
            return None;
        }
        let mut depth = 0;
        for (at, token) in self.tokens[self.at..].iter().enumerate().skip(1) {
            match token.kind {
                TokenKind::Newline | TokenKind::End => {
                    // A line with a statement behind its colon has no block below it.
                    let block = self.ahead(at + 1).kind == TokenKind::Indent;
                    let number = matches!(self.file.expr(low).kind, ExprKind::Number(_));
                    return (block && number && at > 1).then(|| self.foreign_range(low))?;
                }
                TokenKind::Colon if depth == 0 => {
                    return (at > 1).then(|| self.foreign_range(low))?;
                }
                TokenKind::Keyword(_) | TokenKind::Equals | TokenKind::Assign | TokenKind::Text => {
                    return None;
                }
                kind if kind.closed_by().is_some() => depth += 1,
                TokenKind::Close | TokenKind::CloseList | TokenKind::CloseBrace => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// Reports `1:100`, behind `1`, and parses it as a range.
    pub(in super::super) fn foreign_range(&mut self, low: ExprId) -> Option<ExprId> {
        self.take(TokenKind::Colon)?;
        let high = self.operators(0)?;
        let span = self.file.expr(low).span.to(self.file.expr(high).span);
        let ends = [low, high].map(|end| self.quotable(self.file.expr(end).span));
        let steps = self.kind() == TokenKind::Colon
            && !matches!(self.ahead(1).kind, TokenKind::Newline | TokenKind::End);
        let message = "a range is `a..b`, without `b`";
        let diagnostic = Diagnostic::error(codes::EXPECTED, message, span, "");
        self.report(match &ends {
            _ if steps => {
                diagnostic.with_help("a range has no step: go over `0..n`, and multiply inside of the loop")
            }
            [Some(from), Some(to)] => {
                // Who counts from 0 leaves the end out, as here; who counts from 1 does not.
                let number = to.parse::<i64>().ok().and_then(|to| Some((to.checked_add(1)?, to)));
                let (beyond, last) = match number {
                    Some((beyond, to)) => (beyond.to_string(), to.to_string()),
                    None => (format!("{to} + 1"), format!("`{to}`")),
                };
                let (help, range) = match from == "0" {
                    true => {
                        (format!("write `0..{to}`; with {last} in it, `0..{beyond}`"), format!("0..{to}"))
                    }
                    false => (
                        format!("write `{from}..{beyond}`: `{from}:{to}` of Julia has {last} in it"),
                        format!("{from}..{beyond}"),
                    ),
                };
                diagnostic.with_fix(help, span, range)
            }
            _ => diagnostic.with_help("write `..` in place of `:`"),
        });
        Some(self.push(ExprKind::Range(low, high), span))
    }

    /// Reports `[… for i in list if condition]`, at `if`.
    pub(in super::super) fn filtered(&mut self) -> bool {
        if !self.is_word(Keyword::If) {
            return false;
        }
        let message = "a list of this form takes every item, and has no `if`";
        let help = "go over those that are wanted: `[2 * i for i in 0..5]` are the even numbers below 10";
        let span = self.token().span;
        self.report(Diagnostic::error(codes::EXPECTED, message, span, "").with_help(help));
        true
    }
}

/// The arguments of a call, from behind its bracket.
fn arguments(mut rest: &str) -> Vec<&str> {
    let mut found = Vec::new();
    loop {
        let argument = first_argument(rest);
        found.extend(Some(argument.trim()).filter(|argument| !argument.is_empty()));
        match rest[argument.len()..].strip_prefix(',') {
            Some(others) => rest = others,
            None => return found,
        }
    }
}

/// The first argument of a call, given what stands behind its parenthesis.
fn first_argument(rest: &str) -> &str {
    let mut depth = 0;
    let end = rest.find(|letter: char| {
        let ends = depth == 0 && matches!(letter, ',' | ')' | ']' | '}');
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        ends
    });
    &rest[..end.unwrap_or(rest.len())]
}
