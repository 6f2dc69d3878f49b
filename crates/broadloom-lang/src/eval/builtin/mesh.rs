//! `mesh(data = 4, model = 2, shard = ["batch=data"])`: the devices that a program is divided over.
//!
//! It is a call like others and not a statement of its own, so that its sizes can be names and its rules a list: made by a
//! comprehension, or chosen by an `if`. A rule is written as it is for the command.

use broadloom::{Mesh, Shard};
use broadloom_diagnostics::{Diagnostic, Span};

use crate::codes;
use crate::eval::given::{Call, Given};
use crate::eval::{Eval, Evaluated, Reported, dim, weights};
use crate::on_mesh::{MeshBlock, OnMesh};
use crate::suggest;
use crate::syntax::ast::StatementKind;
use crate::value::Value;

const EXAMPLE: &str = "write `mesh(data = 4, shard = [\"batch=data\"])`";

/// Notes the devices that a program is divided over, and how.
pub(super) fn mesh(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    stands_alone(eval, call)?;
    if let Some(plain) = call.plain().first() {
        let message = "the axes of a mesh have names";
        return eval.wrong(codes::ARGUMENTS, message, plain.span, EXAMPLE);
    }
    let (mut axes, mut axis_spans): (Vec<(String, u64)>, Vec<Span>) = (Vec::new(), Vec::new());
    let (mut rules, mut stored): (Option<&Given>, Option<&Given>) = (None, None);
    let mut seen: Vec<(&str, Span)> = Vec::new();
    let names: Vec<(String, Span, &Given)> = call
        .given
        .iter()
        .filter_map(|given| Some((eval.text(given.name?.name).to_string(), given.name?.span, given)))
        .collect();
    for (name, span, given) in &names {
        if let Some((_, first)) = seen.iter().find(|(known, _)| known == name) {
            let message = format!("`{name}` is given twice");
            let diagnostic = Diagnostic::error(codes::ARGUMENTS, message, *span, "a second time");
            return eval.fail(diagnostic.with_label(*first, "here it is given first"));
        }
        seen.push((name, *span));
        match name.as_str() {
            "shard" => rules = Some(given),
            "fsdp" => stored = Some(given),
            _ => {
                axes.push((name.clone(), devices(eval, name, given)?));
                axis_spans.push(eval.place(span.to(given.span)));
            }
        }
    }
    let mesh = Mesh { axes };
    if mesh.axes.is_empty() {
        let message = "a mesh has an axis, with a number of devices along it";
        return eval.wrong(codes::ARGUMENTS, message, call.span, EXAMPLE);
    }
    if !mesh.is_small_enough() {
        let message = format!("a mesh has at most {} devices", Mesh::MOST_DEVICES);
        return eval.wrong(codes::RANGE, message, call.span, "");
    }
    let (shards, shard_spans) = match rules {
        Some(rules) => shards(eval, rules, &mesh)?,
        None => (Vec::new(), Vec::new()),
    };
    let stored_over = match stored {
        Some(stored) => {
            let axis = eval.words(&stored.value, stored.span)?;
            known_axis(eval, &axis, &mesh, stored.span)?;
            Some((axis.to_string(), eval.place(stored.span)))
        }
        None => None,
    };
    let span = eval.place(call.span);
    if let Some(first) = &eval.plan.mesh {
        let first = first.span;
        let diagnostic = Diagnostic::error(codes::USE, "a program has one mesh", span, "another one");
        let help = "put the axes and the rules of both into one";
        return eval.fail(diagnostic.with_label(first, "it has this one").with_help(help));
    }
    let (stored_over, stored_span) = stored_over.unzip();
    let on = OnMesh { mesh, shards, stored_over };
    eval.plan.mesh =
        Some(MeshBlock { on, span, axes: axis_spans, shards: shard_spans, stored_over: stored_span });
    Ok(Value::Nothing)
}

/// Refuses a mesh that is not a line of the program by itself: in a function or a loop, it would be one mesh for each time.
fn stands_alone(eval: &mut Eval<'_>, call: &Call) -> Evaluated<()> {
    let is_line = |kind: &StatementKind| matches!(kind, StatementKind::Expr(_) | StatementKind::If(_));
    let file = eval.own_file.clone();
    let line = file.statements.iter().find(|line| line.span.contains(call.span));
    let is_own = call.span.source == eval.main() && line.is_some_and(|line| is_line(&line.kind));
    if is_own && eval.calls.is_empty() && eval.frame.layer.is_none() && eval.frame.turns.is_empty() {
        return Ok(());
    }
    let message = "a mesh is that of the whole program, and a line by itself";
    let help = "write it outside of functions, loops, lists and modules";
    eval.wrong(codes::PLACE, message, call.span, help)
}

/// The number of devices along an axis.
fn devices(eval: &mut Eval<'_>, name: &str, given: &Given) -> Evaluated<u64> {
    match &given.value {
        Value::Number(_) | Value::Size(_) => dim::size_of(eval, &given.value, given.span),
        Value::Open | Value::OpenNumber(_) | Value::Mistake => Err(Reported),
        other => {
            let message = format!(
                "`{name}` is an axis of the mesh and needs a number of devices, not {}",
                other.kind()
            );
            let help = match name {
                "shards" | "sharding" | "rules" => "what is divided is listed by `shard = [\"batch=data\"]`",
                "zero" => "parameters and states are divided by `fsdp = \"data\"`",
                _ => EXAMPLE,
            };
            eval.wrong(codes::KIND, message, given.span, help)
        }
    }
}

/// The rules of a list, and their places.
fn shards(eval: &mut Eval<'_>, rules: &Given, mesh: &Mesh) -> Evaluated<(Vec<Shard>, Vec<Span>)> {
    let items = match &rules.value {
        Value::List(items) => items.to_vec(),
        one => vec![one.clone()],
    };
    let spans = weights::item_spans(eval, rules.span, items.len());
    let (mut shards, mut places) = (Vec::new(), Vec::new());
    for (item, span) in items.iter().zip(spans) {
        let text = eval.words(item, span)?;
        let Some(shard) = Shard::read(&text) else {
            let message = format!("`{}` does not say what is divided, and over what", text.escape_debug());
            let help = "write a named size (`\"batch=data\"`), a label (`\"*.heads=model\"`) or a place (`\"w[output, 0]=model\"`), and an axis of the mesh";
            return eval.wrong(codes::NOTATION, message, span, help);
        };
        known_axis(eval, &shard.over, mesh, span)?;
        shards.push(shard);
        places.push(eval.place(span));
    }
    Ok((shards, places))
}

/// Refuses an axis that the mesh does not have.
fn known_axis(eval: &mut Eval<'_>, wanted: &str, mesh: &Mesh, span: Span) -> Evaluated<()> {
    let mut names = mesh.axes.iter().map(|(name, _)| name.as_str());
    if names.clone().any(|name| name == wanted) {
        return Ok(());
    }
    let known: Vec<String> = names.clone().map(|name| format!("`{name}`")).collect();
    let message = format!("the mesh has no axis `{wanted}`; it has {}", known.join(", "));
    let help = match suggest::nearest(wanted, &mut names) {
        Some(near) => format!("is `{near}` meant?"),
        None => String::new(),
    };
    eval.wrong(codes::UNKNOWN, message, span, help)
}
