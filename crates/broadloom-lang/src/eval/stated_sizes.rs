//! Sizes in written signatures that no application could find: `def f(x : (n // 2)) : n = …`.
//!
//! The graph solves sums, products and quotients of sizes by numbers, so a name is found wherever it stands in them. Other arithmetic holds
//! once its names have numbers: shapes before it have to say them.

use broadloom_diagnostics::{Diagnostic, Span};

use super::contract::{axes_of, computed_names, is_known, is_len, lists_in, names_in, names_of};
use super::{Eval, Evaluated, Reported};
use crate::codes;
use crate::syntax::ast::{Axis, AxisKind, Binary, ExprId, ExprKind, File, Name, ResultShape, Shape, Unary};
use crate::value::Function;

/// Reports the sizes of a signature that no application could find.
pub(super) fn check(eval: &mut Eval<'_>, function: &Function) {
    let results = function.def.result.iter().flat_map(ResultShape::shapes);
    let shapes = function.def.arguments.iter().filter_map(|each| each.shape.as_ref()).chain(results);
    let mut said: Vec<Name> = Vec::new();
    for shape in shapes {
        if let Err(Reported) = lengths(eval, function, shape) {
            return;
        }
        for axis in axes_of(shape) {
            let AxisKind::Expr(expr) = axis.kind else { continue };
            if let Err(Reported) = checked(eval, function, axis, expr, &said) {
                return;
            }
        }
        said.extend(names_of(shape));
        said.extend(computed_names(eval, &function.file, axes_of(shape)));
    }
}

/// Reports the length of something that is no list, as the signature itself says: of a tensor, or of a size.
fn lengths(eval: &mut Eval<'_>, function: &Function, shape: &Shape) -> Evaluated<()> {
    for (name, expr) in lists_in(eval, &function.file, shape) {
        // What a walk of the body would say of the same place is not said again.
        let span = match &function.file.expr(expr).kind {
            ExprKind::Call { args, .. } => args.first().map(|arg| function.file.expr(arg.value).span),
            _ => None,
        };
        let (text, span) = (eval.text(name), span.unwrap_or(function.file.expr(expr).span));
        let argument = function.def.arguments.iter().find(|each| each.name.name == name);
        let shapes = function.def.arguments.iter().filter_map(|each| each.shape.as_ref());
        let (is, help) = match argument {
            Some(argument) if argument.shape.is_some() => (
                "a tensor",
                format!("give the axis of `{text}` a name, `{text} : n | ...`, and write `n` here"),
            ),
            None if !is_known(function, name) && shapes.clone().flat_map(names_of).any(|own| own == name) => {
                ("a size", format!("write `{text}`"))
            }
            _ => continue,
        };
        let message = format!("`len` is the length of a list, and `{text}` is {is}");
        return refused(eval, message, span, help);
    }
    Ok(())
}

fn checked(
    eval: &mut Eval<'_>,
    function: &Function,
    axis: &Axis,
    expr: ExprId,
    said: &[Name],
) -> Evaluated<()> {
    let file = &function.file;
    // A function around it is what it is.
    let own = |name: &Name| !is_known(function, *name) && function.scope.find(*name).is_none();
    let shown = |span: Span| eval.sources.slice(span).trim().to_string();
    if let ExprKind::Unary(Unary::Minus, inner) = file.expr(expr).kind
        && names_in(file, inner).iter().any(own)
    {
        let message =
            format!("`{}` is less than 0, and every axis has elements", shown(file.expr(expr).span));
        return refused(eval, message, axis.span, String::new());
    }
    let is_length = |part: &ExprId| matches!(file.expr(*part).kind, ExprKind::Call { callee, .. } if is_len(eval, file, callee));
    let parts: Vec<ExprId> = others(file, expr).into_iter().filter(|part| !is_length(part)).collect();
    for part in parts {
        let written = shown(file.expr(part).span);
        if let ExprKind::Call { args, .. } = &file.expr(part).kind
            && args.iter().any(|arg| matches!(&file.expr(arg.value).kind, ExprKind::Name(name) if own(name)))
        {
            let message = format!("`{written}` is a tensor, and sizes are known before a program runs");
            let help = "sizes of a signature are sums, products and quotients of its names";
            return refused(eval, message, axis.span, help.into());
        }
        let Some(name) = names_in(file, part).into_iter().find(|name| own(name) && !said.contains(name))
        else {
            continue;
        };
        let name = eval.text(name);
        let message = format!("nothing says what `{name}` is in `{written}`");
        let help = format!(
            "sizes of a signature are found from sums, products and quotients by numbers: state `{name}` in an argument before, or give this axis a name"
        );
        return refused(eval, message, axis.span, help);
    }
    Ok(())
}

fn refused(eval: &mut Eval<'_>, message: String, span: Span, help: String) -> Evaluated<()> {
    let diagnostic = Diagnostic::error(codes::MISMATCH, message, eval.place(span), "stated here");
    eval.fail(if help.is_empty() { diagnostic } else { diagnostic.with_help(help) })
}

/// The parts of an expression that are other arithmetic than sums, products and quotients by numbers.
fn others(file: &File, expr: ExprId) -> Vec<ExprId> {
    let (mut rest, mut found) = (vec![expr], Vec::new());
    while let Some(expr) = rest.pop() {
        match file.expr(expr).kind {
            ExprKind::Binary(Binary::Add | Binary::Sub | Binary::Mul, a, b) => rest.extend([b, a]),
            ExprKind::Binary(Binary::Div, a, b) if names_in(file, b).is_empty() => rest.push(a),
            ExprKind::Name(_) | ExprKind::Unary(Unary::Minus, _) => {}
            _ => found.push(expr),
        }
    }
    found
}
