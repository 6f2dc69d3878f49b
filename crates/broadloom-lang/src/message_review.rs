//! The review of all messages once they are known: one for each mistake, with advice in names that can be written at its place.

use broadloom_diagnostics::{Diagnostic, Fact, Span};

use crate::codes;
use crate::eval::advice::code::in_loom;
use crate::program::Program;
use crate::syntax::ast::{Binary, Body, Def, ExprKind, Statement, StatementKind};

impl Program {
    /// Reviews all messages together.
    pub(crate) fn review_messages(&mut self) {
        self.drop_repeated();
        let mut diagnostics = std::mem::take(&mut self.diagnostics);
        for diagnostic in &mut diagnostics {
            for label in &mut diagnostic.labels {
                label.span = self.last_stage(label.span);
            }
            let Some(place) = diagnostic.primary().map(|label| label.span) else { continue };
            let Some(function) = self.function_around(place) else { continue };
            for help in &mut diagnostic.help {
                help.rename(&|name| written_inside(name, function), in_loom);
            }
        }
        self.diagnostics = diagnostics;
    }

    /// For a pipe over several lines, its last stage: the others are evaluated already.
    fn last_stage(&self, span: Span) -> Span {
        if span.source != self.main || !self.sources.slice(span).contains('\n') {
            return span;
        }
        let pipe = self.file.exprs.iter().find_map(|expr| match expr.kind {
            ExprKind::Binary(Binary::Pipe, _, stage) if expr.span == span => Some(stage),
            _ => None,
        });
        pipe.map_or(span, |stage| self.file.expr(stage).span)
    }

    /// Drops messages about how a line is written where it cannot be written in that way either.
    fn drop_repeated(&mut self) {
        let line = |diagnostic: &Diagnostic| {
            let span = diagnostic.primary()?.span;
            Some((span.source, self.sources.position(span).0))
        };
        let is_deeper = |each: &&Diagnostic| each.facts.contains(&Fact::Impossible);
        let deeper: Vec<_> = self.diagnostics.iter().filter(is_deeper).filter_map(line).collect();
        let is_repeated = |each: &Diagnostic| {
            each.code == codes::EXPECTED && line(each).is_some_and(|line| deeper.contains(&line))
        };
        let keep: Vec<bool> = self.diagnostics.iter().map(|each| !is_repeated(each)).collect();
        let mut keep = keep.into_iter();
        self.diagnostics.retain(|_| keep.next().unwrap_or(true));
    }

    /// The name of the innermost function of the program around a place.
    fn function_around(&self, place: Span) -> Option<&str> {
        fn innermost(statements: &[Statement], place: Span) -> Option<&Def> {
            let around = statements.iter().find(|statement| statement.span.contains(place))?;
            match &around.kind {
                StatementKind::Def(def) => match &def.body {
                    Body::Block(body) => innermost(body, place).or(Some(def)),
                    _ => Some(def),
                },
                other => other.blocks().find_map(|body| innermost(body, place)),
            }
        }
        let def = innermost(&self.file.statements, place).filter(|_| place.source == self.main)?;
        Some(self.names.text(def.name.name))
    }
}

/// The name of a tensor as it is written inside a function: `head.weights` is `weights` there, and so is `net.head2.weights`. A tensor without a name
/// is called by the expression that makes it, with several of them.
fn written_inside(code: &str, function: &str) -> String {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    let (mut written, mut rest) = (String::new(), code);
    while let Some(start) = rest.find(is_part) {
        let end = rest[start..].find(|letter| !is_part(letter)).map_or(rest.len(), |end| start + end);
        written.push_str(&rest[..start]);
        written.push_str(inside(&rest[start..end], function));
        rest = &rest[end..];
    }
    written.push_str(rest);
    written
}

/// The part of a path behind the last function of a name.
fn inside<'p>(path: &'p str, function: &str) -> &'p str {
    let is_it = |part: &str| {
        part.strip_prefix(function).is_some_and(|number| number.chars().all(|digit| digit.is_ascii_digit()))
    };
    let mut from = 0;
    let mut found = path;
    for part in path.split('.') {
        from += part.len() + 1;
        if is_it(part) && from < path.len() {
            found = &path[from..];
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::written_inside;

    #[test]
    fn names_inside_of_functions() {
        let inside = |code| written_inside(code, "head");
        assert_eq!(inside("head.weights @ head.v"), "weights @ v");
        assert_eq!(inside("{net.head2.w : 3} @ x"), "{w : 3} @ x");
        assert_eq!(inside("head(3) + header.w, ... | t"), "head(3) + header.w, ... | t");
    }
}
