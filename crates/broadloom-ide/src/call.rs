//! Help while a call is being written: the arguments of the function, and the one under the cursor.

use broadloom_diagnostics::Span;
use broadloom_lang::syntax::lexer::lex;
use broadloom_lang::syntax::token::{Token, TokenKind};
use serde::Serialize;

use crate::analysis::Analysis;
use crate::builtin::builtin;
use crate::definition::Named;
use crate::names::{BindingKind, comment_above};

/// The function whose arguments are being written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CallHelp {
    /// The function with its arguments: `linear(size = inferred)(x)`.
    pub label: String,
    /// The arguments of the list that is being written, as bytes of the label.
    pub arguments: Vec<(u32, u32)>,
    /// The argument under the cursor, if there is one for it.
    pub active: Option<u32>,
    /// The comment above the function.
    pub documentation: Option<String>,
}

/// Help for the call around an offset, finished or not.
///
/// ```
/// use broadloom_ide::{Analysis, Text, call_help};
///
/// let text = "data x : 3\nlet y = x |> linear(";
/// let help = call_help(&Analysis::new(&Text::new("a.loom", text)), text.len() as u32).unwrap();
/// assert_eq!(help.label, "linear(size = inferred)(x)");
/// let (start, end) = help.arguments[help.active.unwrap() as usize];
/// assert_eq!(&help.label[start as usize..end as usize], "size = inferred");
/// ```
pub fn call_help(analysis: &Analysis, offset: u32) -> Option<CallHelp> {
    let main = analysis.program.main;
    let text = analysis.sources().get(main).text();
    let tokens = lex(main, text).tokens;
    let written = Written::find(text, &tokens, offset)?;
    let (label, documentation) = described(analysis, written.callee)?;
    let lists = lists(&label);
    let arguments = lists.get(written.list.min(lists.len().checked_sub(1)?))?.clone();
    let active = written.active(&label, &arguments, lists.len());
    Some(CallHelp { label, arguments, active, documentation })
}

/// The function at a name with its arguments, and what is said about it.
fn described(analysis: &Analysis, callee: Span) -> Option<(String, Option<String>)> {
    let Named { name, binding, .. } = Named::find(analysis, callee.start)?;
    let Some(binding) = binding else {
        let known = builtin(&name)?;
        return Some((known.call.to_string(), Some(known.about.to_string())));
    };
    if binding.kind != BindingKind::Function {
        return None;
    }
    let text = analysis.sources().get(binding.span.source).text();
    let head = binding.head.slice(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let label = head.strip_prefix("def ").or(head.strip_prefix("op ")).unwrap_or(&head).to_string();
    Some((label, comment_above(text, binding.head.start)))
}

/// The call around an offset.
struct Written {
    callee: Span,
    /// 0 for the first list of arguments, 1 for the second.
    list: usize,
    /// The number of commas before the offset.
    commas: usize,
    /// The name of the argument, if it is given by name.
    name: Option<String>,
    /// True if the first argument stands before a pipe.
    is_piped: bool,
}

impl Written {
    fn find(text: &str, tokens: &[Token], offset: u32) -> Option<Written> {
        let before = tokens.iter().take_while(|token| token.span.start < offset).count();
        let (mut depth, mut commas, mut start) = (0_usize, 0, before);
        for at in (0..before).rev() {
            match tokens[at].kind {
                TokenKind::Newline if has_line_end(text, tokens[at].span.end, offset) => return None,
                kind if kind.closed_by().is_some() && depth == 0 => {
                    if kind != TokenKind::Open {
                        return None;
                    }
                    let (callee, list) = callee(tokens, at)?;
                    let is_piped = callee > 0 && tokens[callee - 1].kind == TokenKind::Pipe;
                    let first = if commas == 0 { at + 1 } else { start };
                    let named = tokens.get(first + 1).is_some_and(|next| next.kind == TokenKind::Equals);
                    let name =
                        tokens.get(first).filter(|_| named).map(|token| token.span.slice(text).to_string());
                    return Some(Written { callee: tokens[callee].span, list, commas, name, is_piped });
                }
                kind if kind.closed_by().is_some() => depth -= 1,
                TokenKind::Close | TokenKind::CloseList | TokenKind::CloseBrace
                    if tokens[at].span.end <= offset =>
                {
                    depth += 1;
                }
                TokenKind::Comma if depth == 0 => {
                    if commas == 0 {
                        start = at + 1;
                    }
                    commas += 1;
                }
                _ => {}
            }
        }
        None
    }

    /// The argument of the list that is being written.
    fn active(&self, label: &str, arguments: &[(u32, u32)], lists: usize) -> Option<u32> {
        let word = |(start, end): &(u32, u32)| {
            let text = label.get(*start as usize..*end as usize).unwrap_or_default();
            text.split([' ', ':', '=']).next().unwrap_or_default()
        };
        if let Some(name) = &self.name {
            return arguments.iter().position(|each| word(each) == name).map(|at| at as u32);
        }
        let at = self.commas + usize::from(self.is_piped && lists == 1);
        // `…` stands for any number of arguments.
        let many = arguments.iter().position(|each| word(each) == "…");
        let at = many.map_or(at, |many| at.min(many));
        (at < arguments.len()).then_some(at as u32)
    }
}

/// Returns true if another line begins between two offsets.
fn has_line_end(text: &str, start: u32, end: u32) -> bool {
    text.get(start as usize..end as usize).is_some_and(|between| between.contains(['\n', '\r']))
}

/// The name in front of an open bracket, and the number of lists before it.
fn callee(tokens: &[Token], open: usize) -> Option<(usize, usize)> {
    let before = open.checked_sub(1)?;
    match tokens[before].kind {
        TokenKind::Name => Some((before, 0)),
        TokenKind::Close => {
            let mut depth = 0;
            for at in (0..before).rev() {
                match tokens[at].kind {
                    TokenKind::Close => depth += 1,
                    TokenKind::Open if depth > 0 => depth -= 1,
                    TokenKind::Open => {
                        let name = at.checked_sub(1)?;
                        return (tokens[name].kind == TokenKind::Name).then_some((name, 1));
                    }
                    TokenKind::Newline => return None,
                    _ => {}
                }
            }
            None
        }
        _ => None,
    }
}

/// The arguments of each list of a label, as bytes.
fn lists(label: &str) -> Vec<Vec<(u32, u32)>> {
    let (mut all, mut depth, mut start, mut quoted) = (Vec::new(), 0, 0, false);
    let mut list: Vec<(u32, u32)> = Vec::new();
    let trimmed = |start: usize, end: usize| {
        let text = &label[start..end];
        let first = start + text.len() - text.trim_start().len();
        (first as u32, (first + text.trim().len()) as u32)
    };
    for (at, letter) in label.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => {
                depth += 1;
                if depth == 1 {
                    start = at + 1;
                }
            }
            ',' if depth == 1 => {
                list.push(trimmed(start, at));
                start = at + 1;
            }
            ')' | ']' | '}' => {
                depth -= 1;
                if depth == 0 {
                    list.push(trimmed(start, at));
                    list.retain(|(start, end)| start < end);
                    all.push(std::mem::take(&mut list));
                }
            }
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Text;

    /// The label with the active argument in brackets.
    fn help(text: &str) -> String {
        let offset = text.find('▮').expect("a cursor");
        let analysis = Analysis::new(&Text::new("a.loom", text.replace('▮', "")));
        let Some(help) = call_help(&analysis, offset as u32) else { return "nothing".into() };
        let Some(active) = help.active else { return help.label };
        let (start, end) = help.arguments[active as usize];
        let (start, end) = (start as usize, end as usize);
        format!("{}<{}>{}", &help.label[..start], &help.label[start..end], &help.label[end..])
    }

    #[test]
    fn arguments_in_order_and_by_name() {
        let def = "def f(size, rate = 0.1)(x, y) = x + y\n";
        assert_eq!(help(&format!("{def}let a = f(▮")), "f(<size>, rate = 0.1)(x, y)");
        assert_eq!(help(&format!("{def}let a = f(3, ▮)")), "f(size, <rate = 0.1>)(x, y)");
        assert_eq!(help(&format!("{def}let a = f(rate = ▮)")), "f(size, <rate = 0.1>)(x, y)");
        assert_eq!(help(&format!("{def}let a = f(3)(1, [2, 3▮")), "nothing");
        assert_eq!(help(&format!("{def}let a = f(3)(1, g(2), ▮")), "f(size, rate = 0.1)(x, y)");
        assert_eq!(help(&format!("{def}let a = f(3)(1, ▮")), "f(size, rate = 0.1)(x, <y>)");
        assert_eq!(help(&format!("{def}let a = f(3)▮")), "nothing");
    }

    #[test]
    fn functions_of_the_language_and_pipes() {
        assert_eq!(help("let a = max(1, ▮"), "max(a, <b>)");
        assert_eq!(
            help("let a = einsum(\"i => i\", a, b, c▮)"),
            "einsum(spec, a, b, <…>, reduce = \"+\", combine = \"*\", padding = …)"
        );
        assert_eq!(help("def f(x, rate) = x\nlet y = 1 |> f(▮)"), "f(x, <rate>)");
        assert_eq!(help("let y = nobody(▮)"), "nothing");
        assert_eq!(help("print 1\n▮"), "nothing");
    }
}
