//! Gradients that are averaged over several repetitions before a rule is applied: `minimise loss by rule every 4`.
//!
//! ```text
//! {w.mean} = w.mean + w.grad / 4        in each repetition, after the gradients
//!
//! w.grad = w.mean                       in each fourth one
//! rule(w)
//! w.mean = 0
//! ```

use broadloom::Tensor;
use broadloom_diagnostics::Span;

use super::{Eval, Evaluated};
use crate::codes;
use crate::syntax::ast::ExprId;

/// The number of repetitions over which gradients are averaged, if there is one: it divides those of the block around it.
pub(super) fn averaged_over(eval: &mut Eval<'_>, every: Option<ExprId>) -> Evaluated<Option<u64>> {
    let Some(at) = every else { return Ok(None) };
    let every = eval.repetitions(at, "leave `every` out to learn in each of them")?;
    let span = eval.span_of(at);
    if !eval.in_repeat() {
        let message = "`every` averages gradients over repetitions, and nothing is repeated here";
        return eval.wrong(
            codes::PLACE,
            message,
            span,
            format!("write it inside of `repeat {every}:`, or leave it out"),
        );
    }
    let all = eval.repetitions_around();
    if !all.is_multiple_of(every) {
        let (left, fit) = (all % every, all - all % every);
        let last = if left == 1 { "last repetition".to_string() } else { format!("last {left} repetitions") };
        let message =
            format!("{all} is no multiple of {every}: the gradients of the {last} would not be used");
        let help = match fit {
            0 => format!("repeat it {every} times, or write a smaller number behind `every`"),
            _ => format!("repeat it {fit} or {} times, or write another number behind `every`", fit + every),
        };
        return eval.wrong(codes::RANGE, message, span, help);
    }
    Ok(Some(every).filter(|every| *every > 1))
}

/// Adds the gradients of parameters, divided by the number of repetitions, to states, which are returned.
pub(super) fn average_gradients(
    eval: &mut Eval<'_>,
    params: &[Tensor],
    every: u64,
    span: Span,
) -> Evaluated<Vec<Tensor>> {
    let mut means = Vec::new();
    for param in params {
        let name = eval.graph.label_of(*param);
        let made = eval.with_routine(span, |routine, graph| {
            let (grad, count) = (graph.gradient(*param)?, graph.number(every as f64));
            let mean = routine.assign_as(
                graph,
                ".",
                "{mean} = mean + grad / count",
                &[("grad", grad), ("count", count)],
                &format!("{name}.mean = {name}.mean + {name}.grad / {every}"),
            )?[0];
            routine.keep(mean);
            Ok(mean)
        })?;
        let free = eval.free_name(&format!("{name}.mean"));
        eval.graph.name(made, &free);
        eval.name_tensor(made, free, span);
        eval.assigned.insert(made);
        means.push(made);
    }
    Ok(means)
}

/// Makes means the gradients of parameters.
pub(super) fn set_gradients(
    eval: &mut Eval<'_>,
    params: &[Tensor],
    means: &[Tensor],
    span: Span,
) -> Evaluated<()> {
    for (param, mean) in params.iter().zip(means) {
        eval.with_routine(span, |routine, graph| {
            let grad = graph.gradient(*param)?;
            routine.assign(graph, "grad = mean", &[("grad", grad), ("mean", *mean)])
        })?;
    }
    Ok(())
}

/// Lets means begin at 0 again.
pub(super) fn forget_gradients(eval: &mut Eval<'_>, means: &[Tensor], span: Span) -> Evaluated<()> {
    for mean in means {
        eval.with_routine(span, |routine, graph| routine.assign(graph, "mean = 0", &[("mean", *mean)]))?;
    }
    Ok(())
}
