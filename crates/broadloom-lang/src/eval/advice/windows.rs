//! Windows that stay inside of an image, and leave less of it than is wanted.

use broadloom::{Error, ErrorKind, Remedy};
use broadloom_diagnostics::{Diagnostic, Span};

use crate::eval::Eval;
use crate::eval::advice::concerned;
use crate::eval::applied::Applied;
use crate::syntax::ast::ExprKind;
use crate::value::Value;

/// The padding that keeps the size of an image.
const KEEPS: &str = "same";

/// Advice for a layer that could pad what it reads: its window is too large, or what it leaves does not fit.
pub(in crate::eval) fn without_padding(eval: &Eval<'_>, error: &Error, span: Span) -> Option<String> {
    match (error.kind(), error.remedy()) {
        (ErrorKind::Arithmetic, Some(Remedy::Window(_))) => {
            let mut around =
                std::iter::successors(eval.application, |at| eval.applied.get(*at as usize)?.outer);
            let advice = around.find_map(|at| pads(eval, eval.applied.get(at as usize)?))?;
            Some(format!("or {advice}: windows then reach beyond the image"))
        }
        (ErrorKind::Mismatch, _) => shrunk(eval, error, span),
        _ => None,
    }
}

/// Advice for two sizes of which one has become smaller by windows.
fn shrunk(eval: &Eval<'_>, error: &Error, span: Span) -> Option<String> {
    let [a, b] = error.sizes()?;
    let concerned = eval.graph.computed_from(&concerned::read_at(eval, span));
    let inside: Vec<&Applied> = concerned::applications_of(eval, &concerned)
        .into_iter()
        .filter_map(|at| eval.applied.get(at as usize))
        .filter(|applied| pads(eval, applied).is_some() && config(eval, applied, "stride") == Some(1))
        .collect();
    let taken = |applied: &&Applied| {
        let kernel = config(eval, applied, "height").or_else(|| config(eval, applied, "size"))?;
        Some(kernel.checked_sub(1)? * config(eval, applied, "dilation").unwrap_or(1))
    };
    let taken: Option<u64> = inside.iter().map(taken).sum();
    let first = inside.first()?;
    (taken? == a.abs_diff(b)).then(|| {
        let (advice, name) = (pads(eval, first).unwrap_or_default(), first.name());
        format!("for both {}, {advice}: `{name}` then keeps the size of the image", a.max(b))
    })
}

/// Shows the layers that have made one of two sizes from the other, by a stride.
pub(in crate::eval) fn with_strides(
    eval: &Eval<'_>,
    mut diagnostic: Diagnostic,
    error: &Error,
    span: Span,
) -> Diagnostic {
    let Some([a, b]) = error.sizes() else { return diagnostic };
    let (large, small) = (a.max(b), a.min(b));
    for at in concerned::applications_of(eval, &eval.graph.computed_from(&concerned::read_at(eval, span))) {
        let Some(applied) = eval.applied.get(at as usize).filter(|applied| applied.is_of_library()) else {
            continue;
        };
        let stride = config(eval, applied, "stride").filter(|stride| *stride > 1);
        let given = eval.names.find("x").and_then(|x| applied.scope.own(x));
        let (Some(stride), Some(Value::Tensor(x))) = (stride, given) else { continue };
        let is_large = |axis: &_| ToString::to_string(axis) == large.to_string();
        let made = applied.layer.made_at.get().filter(|made| !eval.library.contains(&made.source));
        let makes = large.div_ceil(stride) == small && eval.graph.shape(x).rows[2].lead.iter().any(is_large);
        if let Some(made) = made.filter(|_| makes)
            && diagnostic.labels.iter().all(|label| label.span != made)
        {
            diagnostic =
                diagnostic.with_label(made, format!("`{}` makes {small} of {large}", applied.name()));
        }
    }
    diagnostic
}

/// The change that makes a layer of the library pad, if it has the choice and does not.
fn pads(eval: &Eval<'_>, applied: &Applied) -> Option<String> {
    let layer = &applied.layer;
    let mut config = layer.function.def.config.iter().flatten().zip(&layer.config);
    let (argument, value) = config.find(|(argument, _)| eval.text(argument.name.name) == "padding")?;
    let Value::Text(padding) = value else { return None };
    if !applied.is_of_library() || **padding == *KEEPS {
        return None;
    }
    let default = argument.default.map(|default| &layer.function.file.expr(default).kind);
    Some(match default {
        Some(ExprKind::Text(text)) if **text == *KEEPS => {
            format!("leave out `padding = \"{padding}\"`")
        }
        _ => format!("write `padding = \"{KEEPS}\"`"),
    })
}

/// A number in the configuration of a layer.
fn config(eval: &Eval<'_>, applied: &Applied, name: &str) -> Option<u64> {
    let layer = &applied.layer;
    let mut config = layer.function.def.config.iter().flatten().zip(&layer.config);
    let (_, value) = config.find(|(argument, _)| eval.text(argument.name.name) == name)?;
    eval.known(value).filter(|number| *number >= 0.0 && number.fract() == 0.0).map(|number| number as u64)
}
