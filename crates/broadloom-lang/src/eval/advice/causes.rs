//! Finds the earlier mistake that caused a shape error.

use broadloom::{ErrorKind, PartialAxis, Tensor};
use broadloom_diagnostics::{Span, Wording};

use crate::eval::Eval;
use crate::eval::advice::concerned;
use crate::lint::arguments::{channels_first, channels_last};
use crate::lint::compositions::{ALL_PAIRS, advice, idle, outer_product, short};
use crate::value::Value;

/// The number of tensors, of those that a mistake concerns, that are searched for products without a
/// contraction: one that is far away has been used since, and fitted.
const NEAR: usize = 8;

/// Advice about what an error at a place follows from.
pub(in crate::eval) fn cause(eval: &Eval<'_>, kind: ErrorKind, span: Span) -> Option<Wording> {
    if !matches!(kind, ErrorKind::Mismatch | ErrorKind::Arithmetic) {
        return None;
    }
    let concerned = eval.graph.computed_from(&concerned::read_at(eval, span));
    match kind {
        ErrorKind::Mismatch => idle_composition(eval, &concerned).or_else(|| positions(eval, &concerned)),
        _ => channels(eval, &concerned),
    }
}

/// Advice for `x @ {w}` where `x` has no inputs.
fn idle_composition(eval: &Eval<'_>, concerned: &[Tensor]) -> Option<Wording> {
    let near = || concerned.iter().rev().take(NEAR);
    if let Some((a, b)) = near().find_map(|tensor| outer_product(&eval.graph, *tensor)) {
        // Inside of a function, names have its own before them.
        let [a, b] = [a, b].map(|tensor| short(&eval.graph.message_name(tensor)).to_string());
        return Some(Wording::new(format!(
            "`{a} @ {b}.T` contracts nothing, because `{a}` has no input axes: write `einsum(\"{ALL_PAIRS}\", {a}, {b})` for products of all pairs"
        )));
    }
    let (a, w, step) = near().find_map(|tensor| idle(&eval.graph, *tensor))?;
    let own = eval.origins.get(step).is_some_and(|origin| origin.span == origin.inner);
    let written = eval.graph.declaration_of(w).is_some();
    let [a, w] = [a, w].map(|tensor| eval.graph.message_name(tensor));
    (own && !written).then(|| Wording::new(advice(&w, &a)))
}

/// Advice for a sequence whose positions are among its outputs.
fn positions(eval: &Eval<'_>, concerned: &[Tensor]) -> Option<Wording> {
    given_to(eval, "attention", concerned).into_iter().find_map(|x| {
        let [batch, _, output] = eval.graph.shape(x).rows;
        let ([count], [positions, width]) = (&batch.lead[..], &output.lead[..]) else { return None };
        let (name, shape) = (eval.graph.message_name(x), format!("{count} | {positions}, {width}"));
        let meant = format!("{count}, {positions} | {width}");
        let closed = !batch.open && !output.open;
        closed.then(|| {
            Wording::new("`attention` takes positions as a batch axis, and `")
                .name(name)
                .words(format!("` is `{shape}`: declare it `{meant}`"))
        })
    })
}

/// Advice for an image whose channels come first.
fn channels(eval: &Eval<'_>, concerned: &[Tensor]) -> Option<Wording> {
    given_to(eval, "conv2d", concerned).into_iter().find_map(|x| {
        let output = &eval.graph.shape(x).rows[2];
        let sizes = output.lead.iter().map(PartialAxis::size);
        let sizes: Vec<u64> = sizes.collect::<Option<_>>().filter(|_| !output.open)?;
        let name = eval.graph.message_name(x);
        channels_first(&sizes).then(|| {
            Wording::new("images are `h, w, channels`, and the channels of `")
                .name(&name)
                .words("` seem to come first: ")
                .and(channels_last(&name))
        })
    })
}

/// The tensors that a layer of the library was applied to, where it made some of these tensors.
fn given_to(eval: &Eval<'_>, layer: &str, concerned: &[Tensor]) -> Vec<Tensor> {
    let applications = concerned::applications_of(eval, concerned);
    let applied = applications.into_iter().filter_map(|at| eval.applied.get(at as usize));
    let x = eval.names.find("x");
    let given = applied.filter(|applied| applied.is_of_library() && &**applied.name() == layer);
    let given = given.filter_map(|applied| applied.scope.own(x?));
    given.filter_map(|value| if let Value::Tensor(tensor) = value { Some(tensor) } else { None }).collect()
}
