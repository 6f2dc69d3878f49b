//! Names that are known only in another place of the program.

use broadloom_diagnostics::Span;

use crate::eval::Eval;
use crate::syntax::ast::{AxisKind, Body, ExprKind, Ident, Name, Statement, StatementKind, Target};

/// The construct outside which names are not known.
#[derive(Clone, Copy)]
enum Inside {
    Repeat,
    For,
    Function(Name),
    /// A way of an `if`.
    If,
    List,
}

/// A place of a program with names of its own.
struct Container {
    span: Span,
    inside: Inside,
}

/// A name that is defined somewhere.
struct Definition {
    span: Span,
    kind: Defined,
}

/// A place where a name is known: a label for it, and advice.
pub(in crate::eval) struct Elsewhere {
    pub label: String,
    pub at: Span,
    pub help: String,
    pub kind: Defined,
}

/// The kind of a definition.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::eval) enum Defined {
    Name,
    Param,
    /// A size to be inferred, in a declared shape.
    Label,
    /// The number of a repetition, or an item of a list.
    Turn,
    /// A tensor that an assignment makes.
    New,
}

pub(in crate::eval) fn is_defined_elsewhere(eval: &Eval<'_>, name: Name, span: Span) -> bool {
    found(eval, name, span).is_some() || eval.frame.file.mistaken.contains(&name)
}

/// The number of a repetition that the line of a definition reads.
fn counts<'e>(eval: &'e Eval<'_>, defined: Span) -> Option<&'e str> {
    let file = &eval.frame.file;
    let (turn, body) = file.statements.iter().find_map(|statement| match &statement.kind {
        StatementKind::Repeat { name: Some(turn), body, .. } if statement.span.contains(defined) => {
            Some((turn.name, body))
        }
        _ => None,
    })?;
    let line = body.iter().find(|statement| statement.span.contains(defined))?.span;
    let mut names = file.exprs.iter().filter(|expr| line.contains(expr.span));
    names.any(|expr| matches!(expr.kind, ExprKind::Name(name) if name == turn)).then(|| eval.text(turn))
}

/// Finds a place where a name is known, with a label for it and advice.
pub(in crate::eval) fn found(eval: &Eval<'_>, name: Name, used: Span) -> Option<Elsewhere> {
    let file = eval.frame.file.clone();
    let (mut containers, mut found) = (Vec::new(), Vec::new());
    collect(&file.statements, name, &mut containers, &mut found);
    for expr in &file.exprs {
        match &expr.kind {
            ExprKind::Param(param) if param.name.name == name => {
                found.push(Definition { span: param.name.span, kind: Defined::Param });
            }
            ExprKind::Each { name: each, .. } => {
                containers.push(Container { span: expr.span, inside: Inside::List });
                if each.name == name {
                    found.push(Definition { span: each.span, kind: Defined::Turn });
                }
            }
            _ => {}
        }
    }
    let holds = |outer: Span, inner: Span| outer.start <= inner.start && inner.end <= outer.end;
    let text = eval.text(name);
    // The last definition before the use is meant, if there is one.
    found.sort_by_key(|each| (each.span.start > used.start, u32::MAX - each.span.start));
    let Definition { span, kind } = found.into_iter().find(|each| each.span.source == used.source)?;
    let apart = containers.iter().filter(|each| holds(each.span, span) && !holds(each.span, used));
    let outermost = apart.max_by_key(|each| each.span.end - each.span.start);
    let Some(Container { inside, .. }) = outermost else {
        if kind == Defined::Label {
            let help = format!("declare it, to use the size in a program: `dim {text} = 32`");
            let label = "a size to be inferred, which only shapes know".to_string();
            return Some(Elsewhere { label, at: span, help, kind });
        }
        let help = "names are known after the line that defines them: move this line below it".to_string();
        let label = "defined here, further down".to_string();
        return (span.start > used.start).then_some(Elsewhere { label, at: span, help, kind });
    };
    let (label, help) = match inside {
        Inside::Repeat | Inside::For if kind == Defined::Turn => (
            "known only inside of the loop that counts it".to_string(),
            format!("use `{text}` inside; what should be known afterwards is assigned to a `state`"),
        ),
        Inside::Repeat if kind == Defined::New => (
            "made here, and known only inside of this `repeat`".to_string(),
            format!("declare it before the `repeat`, `state {text} : …`, and assign to it without braces"),
        ),
        Inside::Repeat => (
            "known only inside of this `repeat`".to_string(),
            match counts(eval, span) {
                Some(turn) => format!(
                    "use `{text}` inside: its line reads `{turn}`, which there is only there; to keep the last one, declare `state last : |` before the `repeat`, and write `last = {text}` in it"
                ),
                None => format!(
                    "use `{text}` inside, or move its line before the `repeat`: it is computed again whenever it is needed"
                ),
            },
        ),
        Inside::For => (
            "known only inside of this `for`, where each turn has its own".to_string(),
            format!("use `{text}` inside, or collect what is needed in a list: `[… for i in 0..3]`"),
        ),
        Inside::If if kind == Defined::Param => (
            "made in a way of this `if` that is not taken".to_string(),
            format!("make it before the `if`: `let {text} = {{{text}}}`"),
        ),
        Inside::If => (
            "bound in a way of this `if` that is not taken".to_string(),
            format!("bind `{text}` in every way, with an `else`, or before the `if`"),
        ),
        Inside::List => {
            ("known only inside of this list".to_string(), format!("use `{text}` inside of the brackets"))
        }
        Inside::Function(function) => {
            let function = eval.text(*function);
            let help = match kind == Defined::Param {
                true => format!("after `{function}` has been applied, it is `{function}.{text}`"),
                false => {
                    format!("let `{function}` give it back: the last line of a function is its value")
                }
            };
            (format!("known only inside of `{function}`"), help)
        }
    };
    Some(Elsewhere { label, at: span, help, kind })
}

/// The span of the last binding of a name in this file before a place.
pub(in crate::eval) fn bound_before(eval: &Eval<'_>, name: Name, used: Span) -> Option<Span> {
    let (mut containers, mut found) = (Vec::new(), Vec::new());
    collect(&eval.frame.file.statements, name, &mut containers, &mut found);
    let before = found.into_iter().map(|each| each.span).filter(|span| span.start < used.start);
    before.max_by_key(|span| span.start)
}

/// Collects the places with names of their own, and the definitions of a name.
fn collect(
    statements: &[Statement],
    name: Name,
    containers: &mut Vec<Container>,
    found: &mut Vec<Definition>,
) {
    let define_as = |ident: &Ident, kind: Defined, found: &mut Vec<Definition>| {
        if ident.name == name {
            found.push(Definition { span: ident.span, kind });
        }
    };
    let define = |ident: &Ident, found: &mut Vec<Definition>| define_as(ident, Defined::Name, found);
    for statement in statements {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Let { names, .. } => names.iter().for_each(|ident| define(ident, found)),
            StatementKind::Dim { name: ident, .. } | StatementKind::Op { name: ident, .. } => {
                define(ident, found)
            }
            StatementKind::Leaf { name: ident, shape, .. } => {
                define(ident, found);
                let rows = shape
                    .iter()
                    .flat_map(|shape| shape.batch.iter().chain(&shape.input).chain([&shape.output]));
                let labels =
                    rows.flatten().filter(|axis| matches!(axis.kind, AxisKind::Name(known) if known == name));
                found.extend(labels.map(|axis| Definition { span: axis.span, kind: Defined::Label }));
            }
            StatementKind::Assign(assign) => {
                if let Target::New(ident) = &assign.target {
                    define_as(ident, Defined::New, found);
                }
            }
            StatementKind::For { name: ident, body, .. } => {
                containers.push(Container { span, inside: Inside::For });
                define_as(ident, Defined::Turn, found);
                collect(body, name, containers, found);
            }
            StatementKind::Repeat { name: ident, body, .. } => {
                containers.push(Container { span, inside: Inside::Repeat });
                ident.iter().for_each(|ident| define_as(ident, Defined::Turn, found));
                collect(body, name, containers, found);
            }
            StatementKind::If(_) => statement.kind.blocks().for_each(|body| {
                if let [first, .., last] | [first @ last] = body {
                    containers.push(Container { span: first.span.to(last.span), inside: Inside::If });
                }
                collect(body, name, containers, found);
            }),
            StatementKind::Def(def) => {
                define(&def.name, found);
                let arguments = def.config.iter().flatten().chain(&def.arguments);
                // The name of a function is known outside it, its arguments and its body are not.
                let span = Span { start: def.name.span.end, ..span };
                containers.push(Container { span, inside: Inside::Function(def.name.name) });
                arguments.for_each(|argument| define(&argument.name, found));
                if let Body::Block(body) = &def.body {
                    collect(body, name, containers, found);
                }
            }
            _ => {}
        }
    }
}
