//! Blocks of `for`, also in functions, whose turns are all parts of one program: names are new in each of them, and so are layers.

use broadloom_diagnostics::{Diagnostic, Span};

use crate::codes;
use crate::program::Program;
use crate::syntax::ast::{Body, ExprId, ExprKind, File, Ident, Name, Statement, StatementKind};

/// Names that look as if they were carried from turn to turn, and training that looks as if it were repeated.
pub(super) fn turns(program: &Program, file: &File) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    blocks(file, &file.statements, Block::Top, program, &mut found);
    found
}

/// The statement that a block belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Block {
    Top,
    For(Ident, ExprId),
    Repeat,
}

fn blocks(
    file: &File,
    statements: &[Statement],
    block: Block,
    program: &Program,
    found: &mut Vec<Diagnostic>,
) {
    for (at, statement) in statements.iter().enumerate() {
        match &statement.kind {
            StatementKind::Let { names, value, .. } if block != Block::Top => {
                let span = file.expr(*value).span;
                let is_read = |name: &&Ident| mentions(file, span, name.name);
                let before = |name: &&Ident| !statements[..at].iter().any(|known| defines(known, name.name));
                let after = |name: &&Ident| {
                    statements[at + 1..].iter().all(|other| !mentions(file, other.span, name.name))
                };
                let lost = names.iter().find(|name| is_read(name) && before(name) && after(name));
                found.extend(lost.map(|name| carried(block, program.names.text(name.name), name.span)));
            }
            StatementKind::Minimise { .. } if let Block::For(name, list) = block => {
                let range = matches!(file.expr(list).kind, ExprKind::Range(..));
                let range = range.then(|| program.sources.slice(file.expr(list).span));
                found.push(trained(statement.span, program.names.text(name.name), range));
            }
            StatementKind::For { name, list, body } => {
                blocks(file, body, Block::For(*name, *list), program, found)
            }
            StatementKind::Repeat { body, .. } => blocks(file, body, Block::Repeat, program, found),
            StatementKind::Def(def) => {
                if let Body::Block(body) = &def.body {
                    blocks(file, body, Block::Top, program, found);
                }
            }
            StatementKind::If(branches) => {
                branches.iter().for_each(|branch| blocks(file, &branch.body, block, program, found));
            }
            _ => {}
        }
    }
}

/// Returns true if an expression within a span is this name.
fn mentions(file: &File, span: Span, name: Name) -> bool {
    let within = |other: Span| span.contains(other);
    file.exprs.iter().any(|expr| expr.kind.is_name(name) && within(expr.span))
}

fn defines(statement: &Statement, name: Name) -> bool {
    matches!(&statement.kind, StatementKind::Let { names, .. } if names.iter().any(|known| known.name == name))
}

fn carried(block: Block, name: &str, span: Span) -> Diagnostic {
    let message = format!("this `{name}` is a new one in each turn, and lost at its end");
    let state = format!("a value that is carried on is a state, `state {name} : … = 0`");
    let help = match block {
        Block::Repeat => format!("{state} before the loop, and `{name} = …` without `let` inside"),
        _ => format!("{state} and `{name} =+ …`, or a list of functions: `{name} |> [layer for i in 0..3]`"),
    };
    Diagnostic::warning(codes::TURN, message, span, "the one outside stays as it is").with_help(help)
}

fn trained(span: Span, name: &str, range: Option<&str>) -> Diagnostic {
    let message = "`for` writes this once for each turn; it does not repeat it when the program runs";
    let label = "layers that are made in the block are new in each turn";
    let range = range.unwrap_or("0..100");
    let help = format!("training is repeated by `repeat {name} in {range}:`, with the model before it");
    Diagnostic::warning(codes::TURN, message, span, label).with_help(help)
}

impl ExprKind {
    fn is_name(&self, name: Name) -> bool {
        matches!(self, ExprKind::Name(known) if *known == name)
    }
}
