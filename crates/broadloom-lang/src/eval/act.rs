//! Operations on the graph as data, so that a body that is applied again can do them again.

use std::rc::Rc;

use broadloom::{Error, Graph, OperationId, Pointwise, SpecOptions, Tensor};
use broadloom_diagnostics::Span;
use broadloom_spec::WrittenSpec;

use super::{Eval, Evaluated};
use crate::value::Value;

/// An operation on tensors.
#[derive(Clone)]
pub(crate) enum Act {
    /// A number as a tensor.
    Number(f64),
    Constant(f64),
    Pointwise(Pointwise),
    Compose,
    BySpec(Rc<WrittenSpec>, SpecOptions<'static>),
    /// The mean over the names that a spec leaves out.
    Mean(Rc<WrittenSpec>, Rc<[String]>),
}

impl Act {
    fn on(&self, graph: &mut Graph, operands: &[Tensor]) -> Result<Tensor, Error> {
        match (self, operands) {
            (Act::Number(number), _) => Ok(graph.number(*number)),
            (Act::Constant(number), _) => Ok(graph.constant(*number)),
            (Act::Pointwise(operation), _) => graph.pointwise(*operation, operands),
            (Act::Compose, [a, b, ..]) => graph.compose(*a, *b),
            (Act::Compose, _) => graph.pointwise(OperationId::Compose, operands),
            (Act::BySpec(spec, options), _) => graph.einsum_with(&**spec, operands, options),
            (Act::Mean(spec, over), _) => graph.mean(&**spec, operands, over),
        }
    }
}

/// Does an operation, and records it if a body is being recorded.
pub(crate) fn carry_out(eval: &mut Eval<'_>, act: Act, operands: &[Tensor], span: Span) -> Evaluated<Tensor> {
    let before = eval.graph.quiet().len();
    let made = act_again(eval, &act, operands, span)?;
    if eval.replay.is_recording() {
        eval.note_act(act, operands, span, &Value::Tensor(made), before);
    }
    Ok(made)
}

/// Does an operation.
pub(super) fn act_again(
    eval: &mut Eval<'_>,
    act: &Act,
    operands: &[Tensor],
    span: Span,
) -> Evaluated<Tensor> {
    eval.ask_quietly(span, |graph| act.on(graph, operands))
}
