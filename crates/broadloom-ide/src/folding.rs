//! The parts of a text that an editor can fold: blocks, statements of several lines, and comments.

use broadloom_diagnostics::{Source, SourceId, Span};
use broadloom_lang::syntax::ast::{Body, Names, Statement, StatementKind};
use broadloom_lang::syntax::lexer::lex;
use broadloom_lang::syntax::parse;

/// Lines that can be folded into the first of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fold {
    /// The first line, from 1.
    pub first: u32,
    /// The last line.
    pub last: u32,
    /// True if these are comments.
    pub is_comment: bool,
}

/// The folds of a text, by their first lines.
///
/// ```
/// use broadloom_ide::folds;
///
/// let folds = folds("# one\n# two\ndef f(x) =\n  let y = x\n  y\n");
/// let lines: Vec<_> = folds.iter().map(|fold| (fold.first, fold.last, fold.is_comment)).collect();
/// assert_eq!(lines, [(1, 2, true), (3, 5, false)]);
/// ```
pub fn folds(text: &str) -> Vec<Fold> {
    let source = Source::new("", text);
    let parsed = parse(SourceId(0), text, &mut Names::default());
    let mut found = Vec::new();
    statements(&source, &parsed.file.statements, &mut found);
    comments(&source, &lex(SourceId(0), text).comments, &mut found);
    found.sort_by_key(|fold| (fold.first, fold.last));
    found
}

fn statements(source: &Source, all: &[Statement], found: &mut Vec<Fold>) {
    for statement in all {
        let (first, last) = lines(source, statement.span);
        if first < last {
            found.push(Fold { first, last, is_comment: false });
        }
        match &statement.kind {
            StatementKind::For { .. } | StatementKind::Repeat { .. } | StatementKind::If(_) => {
                statement.kind.blocks().for_each(|body| statements(source, body, found));
            }
            StatementKind::Def(def) => {
                if let Body::Block(body) = &def.body {
                    statements(source, body, found);
                }
            }
            _ => {}
        }
    }
}

/// Comments on lines that follow each other.
fn comments(source: &Source, all: &[Span], found: &mut Vec<Fold>) {
    let alone = |comment: &&Span| {
        let line = source.line(source.line_of(comment.start));
        line.trim_start().starts_with('#')
    };
    let mut run: Option<(u32, u32)> = None;
    let mut end = |run: Option<(u32, u32)>| {
        if let Some((first, last)) = run.filter(|(first, last)| first < last) {
            found.push(Fold { first, last, is_comment: true });
        }
    };
    for comment in all.iter().filter(alone) {
        let line = source.line_of(comment.start);
        run = match run {
            Some((first, last)) if last + 1 == line => Some((first, line)),
            other => {
                end(other);
                Some((line, line))
            }
        };
    }
    end(run);
}

/// The first and the last line of a span.
fn lines(source: &Source, span: Span) -> (u32, u32) {
    let first = source.line_of(span.start);
    (first, source.line_of(span.end.saturating_sub(1).max(span.start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_several_lines() {
        let lines = |text: &str| folds(text).iter().map(|fold| (fold.first, fold.last)).collect::<Vec<_>>();
        assert_eq!(lines("let y = x\n  |> relu\n  |> tanh\n"), [(1, 3)]);
        assert_eq!(lines("repeat 3:\n  for i in 0..2:\n    print i\nprint 1\n"), [(1, 3), (2, 3)]);
        assert_eq!(lines("let y = 1 # one\n# two\nlet z = 2\n"), []);
        assert_eq!(lines("let y = [\n  1,\nlet z = 3\n"), [(1, 2)]);
    }
}
