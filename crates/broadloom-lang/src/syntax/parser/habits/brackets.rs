//! Indices, shapes and values in brackets as other languages write them.

use broadloom_diagnostics::{Diagnostic, Help, Span};

use super::super::super::ast::ExprId;
use super::super::super::token::{Token, TokenKind};
use super::super::Parser;
use super::before;
use crate::{codes, suggest};

impl Parser<'_> {
    /// Reports an index of several axes, or a slice with `:`.
    pub(in super::super) fn sliced(&mut self, of: ExprId, open: Span) {
        let close = self.closing(TokenKind::OpenList, TokenKind::CloseList);
        let inner = Span { start: open.end, end: close.start, ..open };
        let (name, index) = (self.quote(self.file.expr(of).span), self.slice(inner).trim().to_string());
        let parts: Vec<&str> = index.split(',').map(str::trim).collect();
        let mut meant = None;
        let help = match parts[..] {
            [":" | "..."] => {
                meant = Some(String::new());
                format!("write `{name}`")
            }
            [part] => match part.split(':').map(str::trim).collect::<Vec<_>>()[..] {
                [from, ""] => format!("write `{name}[{from}..n]`, where `n` is the size of the axis"),
                [from, to] => {
                    let slice = format!("[{}..{to}]", if from.is_empty() { "0" } else { from });
                    let help = format!("write `{name}{slice}`");
                    meant = Some(slice);
                    help
                }
                _ => format!("a stride is a spec: `einsum(\"2*i | ... => i | ...\", {name})`"),
            },
            [first, second] => {
                let before = &self.text[..self.file.expr(of).span.start as usize];
                let bound = suggest::bound_name(before).filter(|(_, rest)| rest.is_empty());
                along_second(&name, bound.map_or("y", |(bound, _)| bound), first, second)
            }
            _ => BY_SPEC.to_string(),
        };
        let message = "an index is one number or one range `a..b`, along the first batch axis";
        let diagnostic = Diagnostic::error(codes::EXPECTED, message, open.to(close), "");
        self.report(match meant {
            Some(meant) => diagnostic.with_fix(help, open.to(close), meant),
            None => diagnostic.with_help(help),
        });
    }

    /// Reports the shapes of a list behind an argument, `xs : [n; m]`. Returns false if what stands in the brackets is one shape.
    pub(in super::super) fn lists_shapes(&mut self, open: Token) -> bool {
        let close = self.closing(open.kind, TokenKind::CloseList);
        let inside = Span { start: open.span.end, end: close.start, ..open.span };
        if !self.slice(inside).contains(';') {
            return false;
        }
        let message = "the shape behind an argument is that of one tensor, and this is a list of shapes";
        let help = "leave it out: an argument without a shape may be a list, the shapes of its tensors are inferred, and `(len(xs))` in a shape is the length of an argument `xs`";
        let whole = open.span.to(close);
        self.report(Diagnostic::error(codes::SHAPE, message, whole, "").with_help(help));
        true
    }

    /// Reports a shape in brackets.
    pub(in super::super) fn bracketed(&mut self, open: Token) {
        let Some(closed) = open.kind.closed_by() else { return };
        let close = self.closing(open.kind, closed);
        let inner = Span { start: open.span.end, end: close.start, ..open.span };
        let axes: Vec<String> = self.slice(inner).split(',').map(|axis| axis.trim().to_string()).collect();
        self.plain_axes("the axes of a shape are written without brackets", open.span.to(close), &axes, "");
    }

    /// Reports `f32[32, 784]`, `Float[Array, "32 784"]` and `tensor<32x784xf32>` in place of a shape, at the name.
    pub(in super::super) fn typed_shape(&mut self) -> bool {
        let (name, open) = (self.token(), self.ahead(1));
        let sign = self.slice(open.span);
        let is_apart = name.kind != TokenKind::Name || name.span.end != open.span.start;
        if is_apart || !matches!(sign, "[" | "<" | "(") {
            return false;
        }
        let rest = self.rest_of_line(open.span.end);
        let close = if sign == "[" {
            ']'
        } else if sign == "<" {
            '>'
        } else {
            ')'
        };
        let Some((inside, _)) = rest.split_once(close) else { return false };
        let length = self.text[open.span.end as usize..].find(close).unwrap_or_default() as u32;
        let whole = Span { end: open.span.end + length + 1, ..name.span };
        let word = self.slice(name.span).to_string();
        let separators: &[char] = if sign == "<" { &[',', 'x', ' '] } else { &[',', ' ', '"'] };
        let words = inside.split(separators).filter(|word| !word.is_empty());
        let is_size = |word: &str| word.bytes().all(|digit| digit.is_ascii_digit());
        let (mut axes, mut types) = (Vec::new(), vec![word]);
        let is_type = |word: &str| {
            suggest::number_type_or_own(word).is_some() || word.ends_with("rray") || word.ends_with("ensor")
        };
        for word in words {
            match is_size(word) || !is_type(word) {
                true => axes.push(word.to_string()),
                false => types.push(word.to_string()),
            }
        }
        // `len(xs)`, `sizes[0]` and `i64(n / 2)` are sizes that are computed.
        let is_plain = |word: &String| word.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        let head = &types[0];
        let is_headed = is_type(head) || head == "shape" || head.starts_with(char::is_uppercase);
        if types.len() == 1 && !is_headed || sign == "(" && !axes.iter().all(is_plain) {
            return false;
        }
        let behind = types.iter().find_map(|word| suggest::number_type_or_own(word));
        let behind = behind.map_or(String::new(), |known| format!(" as {known}"));
        let message = "the axes of a shape are written without brackets, and their type follows them";
        self.plain_axes(message, whole, &axes, &behind);
        true
    }

    /// Reports a type in place of a shape: `data x : float = 1`.
    pub(in super::super) fn type_alone(&mut self) -> bool {
        let token = self.token();
        let ends = matches!(self.ahead(1).kind, TokenKind::Equals | TokenKind::Newline | TokenKind::End);
        let word = self.slice(token.span).to_string();
        let Some(own) = suggest::number_type_or_own(&word).filter(|_| ends && token.kind == TokenKind::Name)
        else {
            return false;
        };
        let message = format!("a shape follows `:`, and `{word}` is a type");
        let help = format!("write `| as {own}` for one number, `3 as {own}` for three");
        let diagnostic = Diagnostic::error(codes::SHAPE, message, token.span, "");
        self.report(diagnostic.with_fix(help, token.span, format!("| as {own}")));
        true
    }

    /// Reports axes that are written otherwise, with what stands behind them.
    fn plain_axes(&mut self, message: &str, whole: Span, axes: &[String], behind: &str) {
        let plain = format!("{}{behind}", axes.join(", "));
        let help = match axes {
            [] | [_] => format!("write `{plain}`"),
            [first, rest @ ..] => format!(
                "write `{plain}`, or `{first} | {}{behind}` if the first axis counts a batch",
                rest.join(", ")
            ),
        };
        self.report(Diagnostic::error(codes::SHAPE, message, whole, "").with_fix(help, whole, plain));
    }

    /// The closing bracket of the one that is open here, or the end of the line if there is none.
    pub(super) fn closing(&self, open: TokenKind, close: TokenKind) -> Span {
        let mut depth = 0;
        for token in &self.tokens[self.at.min(self.tokens.len())..] {
            match token.kind {
                TokenKind::Newline | TokenKind::End => return token.span,
                kind if kind == open => depth += 1,
                kind if kind == close && depth == 0 => return token.span,
                kind if kind == close => depth -= 1,
                _ => {}
            }
        }
        self.token().span
    }

    /// Reports `f.(x)`, behind the dot. Returns true if the call can be parsed as if the dot were not there, which has to be
    /// the only one of its line.
    pub(in super::super) fn dotted_call(&mut self, function: ExprId) -> bool {
        let (dot, function) = (self.tokens[self.at - 1].span, self.quote(self.file.expr(function).span));
        let rest = self.rest_of_line(dot.end);
        let plain = without_dots(&rest);
        let message = "functions work element by element, without a dot";
        let diagnostic = Diagnostic::error(codes::EXPECTED, message, dot, "");
        let help = format!("write `{function}{plain}`");
        let is_only = plain == rest;
        self.report(match is_only {
            true => diagnostic.with_fix(help, dot, ""),
            false => diagnostic.with_help(help),
        });
        is_only
    }

    /// Reports `a .* b`, behind the dot.
    pub(in super::super) fn dotted(&mut self, left: ExprId) -> bool {
        let (token, dot) = (self.token(), self.tokens[self.at - 1].span);
        let sign = match token.kind {
            TokenKind::Star | TokenKind::Slash | TokenKind::Plus | TokenKind::Minus | TokenKind::StarStar => {
                token.kind.text()
            }
            TokenKind::Unknown if self.slice(token.span) == "^" => {
                // The lexer leaves it to be reported here.
                self.tokens[self.at].kind = TokenKind::StarStar;
                "**"
            }
            _ => return false,
        };
        let (left, right) =
            (self.quote(self.file.expr(left).span), without_dots(&self.rest_of_line(token.span.end)));
        let message = format!("`{sign}` works element by element, without a dot");
        let help = format!("write `{left} {sign} {right}`; the product of matrices is `@`");
        let dotted = dot.to(token.span);
        self.report(Diagnostic::error(codes::EXPECTED, message, dotted, "").with_fix(help, dotted, sign));
        true
    }

    /// Advice for several values in parentheses that open here, if another thing than a list is meant.
    pub(in super::super) fn tuple(&self, open: Span) -> Option<Help> {
        let rest = self.rest_of_line(open.end);
        let sizes = before(&rest, &[')']);
        let text = &self.text[..open.start as usize];
        let word = text.trim_end_matches([' ', '(']);
        let word = word.rsplit(|letter: char| !letter.is_alphanumeric() && letter != '_').next();
        if let Some(values) = word.and_then(suggest::first_values) {
            let sizes: Vec<String> = sizes.split(',').map(|size| size.trim().to_string()).collect();
            // Only the function stands before it: `np.zeros(`.
            let is_path = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '(');
            let bound = suggest::bound_name(text).filter(|(_, rest)| rest.chars().all(is_path));
            let name = bound.map(|(name, _)| name);
            return Some(suggest::declared(name, &suggest::sizes(&sizes), values).into());
        }
        match word {
            Some("reshape" | "view") => Some(format!("a shape is a text: `reshape(x, \"{sizes}\")`").into()),
            Some("save") => Some(suggest::saved(sizes)),
            _ => None,
        }
    }
}

/// A line without the dots of operators and calls that work element by element.
fn without_dots(line: &str) -> String {
    let mut plain = String::new();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_number = plain.ends_with(|last: char| last.is_ascii_digit());
        match letters.peek() {
            Some('^') if letter == '.' => {
                letters.next();
                plain.push_str("**");
            }
            Some('*' | '+' | '-' | '/' | '(') if letter == '.' && !is_number => {}
            _ => plain.push(letter),
        }
    }
    plain
}

/// For an index that has no short form here.
const BY_SPEC: &str = "other axes are chosen by a spec, which names them all: `2` is one position of an axis, `2^r => r` leaves out its first 2 elements, `r^2 => r` its last 2";

/// Advice for an index of two axes: what the second one means if it is behind `|`.
fn along_second(name: &str, bound: &str, first: &str, second: &str) -> String {
    let is_index = |text: &str| !text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit());
    let left_out = |text: &str| is_index(text) && text.chars().any(|digit| digit != '0');
    let first = match first {
        ":" | "..." => name.to_string(),
        first if is_index(first) => format!("{name}[{first}]"),
        _ => return BY_SPEC.into(),
    };
    let elements = |count: &str| if count == "1" { "element".into() } else { format!("{count} elements") };
    let second: Vec<&str> = second.split(':').map(str::trim).collect();
    match second[..] {
        [index] if is_index(index) => {
            format!("another axis is chosen by a spec: `einsum(\"... | {index} => ... |\", {first})`")
        }
        [from, ""] if left_out(from) => {
            format!(
                "a spec leaves out the first {}: `einsum(\"... | {from}^r => ... | r\", {first})`",
                elements(from)
            )
        }
        ["" | "0", to] if let Some(last) = to.strip_prefix('-').filter(|last| left_out(last)) => {
            format!(
                "a spec leaves out the last {}: `einsum(\"... | r^{last} => ... | r\", {first})`",
                elements(last)
            )
        }
        ["" | "0", to] if left_out(to) => format!(
            "a spec names the part, and `set` its size: `let {bound} = einsum(\"... | r^_ => ... | r\", {first})`, then `set {bound}.r = {to}`"
        ),
        [from, to] if left_out(from) && left_out(to) => match (from.parse::<u64>(), to.parse::<u64>()) {
            (Ok(low), Ok(high)) if low < high => format!(
                "a spec names the part, and `set` its size: `let {bound} = einsum(\"... | {low}^r^_ => ... | r\", {first})`, then `set {bound}.r = {}`",
                high - low
            ),
            _ => BY_SPEC.into(),
        },
        _ => BY_SPEC.into(),
    }
}
