//! The tensors that a mistake concerns, and the applications that made them.

use broadloom::Tensor;
use broadloom_diagnostics::Span;

use crate::eval::Eval;
use crate::syntax::ast::ExprKind;
use crate::value::Value;

/// The tensors that an expression reads: those it names, and those that parts of it have made.
pub(in crate::eval) fn read_at(eval: &Eval<'_>, span: Span) -> Vec<Tensor> {
    let within = |other: Span| span.contains(other);
    // Expressions stand in the order of their ends, and the parts of one before it; what parts have made was made last.
    let exprs = &eval.frame.file.exprs;
    let behind = exprs.partition_point(|expr| expr.span.end <= span.end);
    let parts = exprs[..behind].iter().rev().take_while(|expr| within(expr.span));
    let named = parts.filter_map(|expr| match expr.kind {
        ExprKind::Name(name) => eval.frame.scope.find(name),
        _ => None,
    });
    let tensors =
        named.filter_map(|value| if let Value::Tensor(tensor) = value { Some(tensor) } else { None });
    let made = eval.graph.tensors().rev().take_while(|tensor| {
        let origin = eval.graph.step_of(*tensor).and_then(|step| eval.origins.get(step));
        origin.is_some_and(|origin| within(origin.span) || within(origin.inner))
    });
    tensors.chain(made).collect()
}

/// The applications that made some of these tensors, each once.
pub(in crate::eval) fn applications_of(eval: &Eval<'_>, concerned: &[Tensor]) -> Vec<u32> {
    let made_by = |tensor: &Tensor| eval.origins.get(eval.graph.step_of(*tensor)?)?.application;
    let mut applications: Vec<u32> = concerned.iter().filter_map(made_by).collect();
    applications.sort_unstable();
    applications.dedup();
    applications
}
