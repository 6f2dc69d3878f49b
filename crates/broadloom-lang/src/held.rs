//! Numbers that are written in a program, and types that cannot hold them.

use broadloom::{Dtype, LeafKind, Node, Operation, Tensor};
use broadloom_diagnostics::Diagnostic;

use crate::codes;
use crate::program::Program;

/// Numbers that are written in a program are 64-bit floats, which do not tell greater whole numbers apart.
pub(crate) const LARGEST_WRITTEN: f64 = 9_007_199_254_740_991.0;

/// Whether a type holds a number that is written down: a float may be rounded, but not to infinity.
pub(crate) fn holds(dtype: Dtype, number: f64) -> bool {
    let most = match dtype {
        Dtype::I32 if number < 0.0 => -f64::from(i32::MIN),
        Dtype::I32 => f64::from(i32::MAX),
        // The next one is read as if it were this one and 1.
        Dtype::I64 => LARGEST_WRITTEN,
        Dtype::F16 => 65_504.0,
        Dtype::Bf16 | Dtype::F32 => f64::from(f32::MAX),
        Dtype::F64 => f64::INFINITY,
    };
    let whole = dtype.is_float() || number.fract() == 0.0;
    !number.is_finite() && dtype.is_float() || (number.abs() <= most && whole)
}

/// A number as people write it: without dozens of zeros.
pub(crate) fn number_text(number: f64) -> String {
    if number.is_finite() && number.abs() >= 1e21 { format!("{number:e}") } else { number.to_string() }
}

impl Program {
    /// Reports numbers that meet tensors of a type that does not hold them. (Lists and first values are checked where
    /// they stand.)
    pub(crate) fn look_at_numbers(&mut self) {
        if !self.is_ok() {
            return;
        }
        let tensors: Vec<Tensor> = self.graph.tensors().collect();
        let is_number = |tensor: &Tensor| {
            let node = self.graph.node(*tensor);
            matches!(node, Some(Node::Leaf { kind: LeafKind::Number(_) | LeafKind::Constant(_) }))
        };
        if !tensors.iter().any(is_number) {
            return;
        }
        let types = self.graph.dtypes();
        let found: Vec<Diagnostic> =
            tensors.into_iter().filter_map(|tensor| self.unheld(tensor, &types)).collect();
        self.diagnostics.extend(found);
    }

    fn unheld(&self, tensor: Tensor, types: &[Dtype]) -> Option<Diagnostic> {
        let Some(Node::Operation { name, operands, step }) = self.graph.node(tensor) else { return None };
        let number = |operand: &Tensor| match self.graph.node(*operand) {
            Some(Node::Leaf { kind: LeafKind::Number(value) | LeafKind::Constant(value) }) => Some(value),
            _ => None,
        };
        // What is compared has a type of its own, whatever the condition is used for.
        let is_truth = Operation::named(name).is_some_and(Operation::is_truth);
        let compared = operands.iter().filter(|operand| number(operand).is_none());
        let dtype = match is_truth {
            true => compared.map(|operand| types[operand.index()]).max()?,
            false => types[tensor.index()],
        };
        let value = operands.iter().filter_map(number).find(|value| !holds(dtype, *value))?;
        let origin = self.origins.get(step)?;
        if origin.inner.source != self.main || (!dtype.is_float() && value.fract() != 0.0) {
            return None;
        }
        let message = format!("`{dtype}` does not hold {}", number_text(value));
        let wider = |dtype: &str| {
            format!("write a smaller number, or `as {dtype}` behind the shape of what it meets")
        };
        let help = match dtype {
            Dtype::I64 => {
                format!(
                    "whole numbers that are written go up to {LARGEST_WRITTEN}: load greater ones from a file"
                )
            }
            Dtype::I32 => wider("i64"),
            _ => wider("f64"),
        };
        let label = format!("computed in `{dtype}`");
        Some(Diagnostic::error(codes::VALUE, message, origin.inner, label).with_help(help))
    }
}
