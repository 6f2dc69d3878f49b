//! Sequences of statements, their blocks, and the comments and empty lines between them.

use broadloom_diagnostics::Span;

use super::super::ast::{Body, Branch, Statement, StatementKind};
use super::super::lexer::{LINE_ENDS, column};
use super::Formatter;
use super::layout::STEP;

impl<'a> Formatter<'a> {
    /// Writes the whole file.
    pub(super) fn file(&mut self) {
        self.statements(&self.file.statements, 0);
        self.own_lines(|_, _| true, 0);
    }

    fn statements(&mut self, statements: &'a [Statement], indent: usize) {
        self.fresh = true;
        for statement in statements {
            if let StatementKind::If(branches) = &statement.kind {
                self.branches(branches, indent);
                continue;
            }
            self.head(statement);
            self.rest(statement, indent);
        }
    }

    /// Writes the line of a statement, and the block below it.
    fn rest(&mut self, statement: &'a Statement, indent: usize) {
        let span = statement.span;
        let Some(block) = Block::of(&statement.kind) else { return self.line(span, indent) };
        let Some(first) = block.first() else { return self.line(span, indent) };
        // The head ends with the last word before the block.
        let last = self.token_at(first).checked_sub(1).and_then(|last| self.tokens.get(last));
        let end = last.map_or(span.end, |token| token.span.end);
        self.line(Span { end, ..span }, indent);
        match block {
            Block::Statements(statements) => self.statements(statements, indent + STEP),
            Block::Lines(lines) => self.op_lines(lines, indent + STEP),
        }
        self.end_block(first, span.end, indent + STEP);
    }

    /// Writes the ways of an `if`, each with its block.
    fn branches(&mut self, branches: &'a [Branch], indent: usize) {
        for (at, branch) in branches.iter().enumerate() {
            self.branch_head(at > 0, branch.condition);
            let first = branch.body.first().map_or(branch.head.end, |statement| statement.span.start);
            let last = self.token_at(first).checked_sub(1).and_then(|last| self.tokens.get(last));
            let end = last.map_or(branch.head.end, |token| token.span.end);
            self.line(Span { end, ..branch.head }, indent);
            self.statements(&branch.body, indent + STEP);
            let end = branch.body.last().map_or(end, |statement| statement.span.end);
            self.end_block(first, end, indent + STEP);
        }
    }

    fn op_lines(&mut self, lines: &[Span], indent: usize) {
        self.fresh = true;
        for line in lines {
            self.op_line(*line);
            self.line(*line, indent);
        }
    }

    /// Writes the comments after the last statement of
    /// a block that are indented like its first one.
    fn end_block(&mut self, first: u32, end: u32, indent: usize) {
        self.fresh = false;
        if !self.is_first(first) {
            return;
        }
        let (least, _) = column(self.text, first as usize);
        let limit =
            self.tokens.get(self.token_at(end)).map_or(self.text.len() as u32, |next| next.span.start);
        let belongs = |comment: Span, text: &str| {
            comment.start < limit && column(text, comment.start as usize).0 >= least
        };
        self.own_lines(belongs, indent);
    }

    /// Writes the current line, with the comments before it and within it.
    fn line(&mut self, span: Span, indent: usize) {
        self.own_lines(|comment, _| comment.start < span.start, indent);
        self.gap(span.start);
        let measures = self.line.measure();
        let placed = self.place_comments(&measures, span.start, span.end);
        for comment in placed.before {
            self.own_line(comment, indent);
        }
        self.line.write(&measures, &placed.notes, indent, &mut self.out);
        self.work += self.line.items.len();
        self.line.items.clear();
    }

    /// Writes the next comments on lines of their own, as long as they satisfy a condition.
    fn own_lines(&mut self, fits: impl Fn(Span, &str) -> bool, indent: usize) {
        for comment in self.take_comments(fits) {
            self.gap(comment.start);
            self.own_line(comment, indent);
        }
    }

    fn own_line(&mut self, comment: Span, indent: usize) {
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.out.push_str(self.slice(comment));
        self.out.push('\n');
    }

    /// Keeps an empty line that the text has before
    /// this offset, except at the beginning of a block.
    fn gap(&mut self, offset: u32) {
        let is_fresh = std::mem::replace(&mut self.fresh, false);
        let before = self.text.get(..offset as usize).unwrap_or("");
        let blanks = &before[before.trim_end().len()..];
        let ends = blanks.replace("\r\n", "\n").matches(LINE_ENDS).count();
        self.work += blanks.len();
        if !is_fresh && ends > 1 {
            self.out.push('\n');
        }
    }
}

/// The block below a statement.
enum Block<'a> {
    Statements(&'a [Statement]),
    Lines(&'a [Span]),
}

impl<'a> Block<'a> {
    fn of(kind: &'a StatementKind) -> Option<Block<'a>> {
        match kind {
            StatementKind::For { body, .. } | StatementKind::Repeat { body, .. } => {
                Some(Block::Statements(body))
            }
            StatementKind::Def(def) => match &def.body {
                Body::Block(body) => Some(Block::Statements(body)),
                Body::Expr(_) => None,
            },
            StatementKind::Op { lines, .. } => Some(Block::Lines(lines)),
            _ => None,
        }
    }

    /// The offset of its first line.
    fn first(&self) -> Option<u32> {
        match self {
            Block::Statements(statements) => statements.first().map(|statement| statement.span.start),
            Block::Lines(lines) => lines.first().map(|line| line.start),
        }
    }
}
