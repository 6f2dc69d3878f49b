//! The names that functions bind.

use crate::syntax::ast::{Body, Def, Ident, Statement, StatementKind, Target};

/// The names that a function binds, including those of functions inside it.
pub(super) fn bound_by_def(def: &Def, bound: &mut Vec<Ident>) {
    bound.extend(def.config.iter().flatten().chain(&def.arguments).map(|argument| argument.name));
    if let Body::Block(statements) = &def.body {
        bound_by(statements, bound);
    }
}

/// The names that statements bind.
pub(super) fn bound_by(statements: &[Statement], bound: &mut Vec<Ident>) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Let { names, .. } => bound.extend(names),
            StatementKind::Dim { name, .. } | StatementKind::Leaf { name, .. } => bound.push(*name),
            StatementKind::Op { name, operands, .. } => bound.extend([name].into_iter().chain(operands)),
            StatementKind::Assign(assign) => {
                if let Target::New(name) = &assign.target {
                    bound.push(*name);
                }
            }
            StatementKind::For { name, body, .. } => {
                bound.push(*name);
                bound_by(body, bound);
            }
            StatementKind::Repeat { name, body, .. } => {
                bound.extend(name);
                bound_by(body, bound);
            }
            StatementKind::If(_) => statement.kind.blocks().for_each(|body| bound_by(body, bound)),
            StatementKind::Def(def) => {
                bound.push(def.name);
                bound_by_def(def, bound);
            }
            _ => {}
        }
    }
}
