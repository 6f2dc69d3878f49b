//! Numbers that are written in a program, and types that cannot hold them.

use broadloom::{Dtype, LeafKind, Node, Operation, StepId, Tensor};
use broadloom_diagnostics::{Diagnostic, Wording};

use crate::codes;
use crate::program::Program;

/// Numbers that are written in a program are 64-bit floats, which do not tell greater whole numbers apart.
pub(crate) const LARGEST_WRITTEN: f64 = 9_007_199_254_740_991.0;

/// Returns true if a type holds a number that is written down: a float may be rounded, but not to infinity.
pub(crate) fn holds(dtype: Dtype, number: f64) -> bool {
    let most = match dtype {
        // The next one is read as if it were this one and 1.
        Dtype::I64 => LARGEST_WRITTEN,
        Dtype::F16 => 65_504.0,
        Dtype::Bf16 | Dtype::F32 => f64::from(f32::MAX),
        _ => f64::INFINITY,
    };
    match dtype.range() {
        None => !number.is_finite() || number.abs() <= most,
        Some((least, greatest)) => {
            number.fract() == 0.0
                && number.abs() <= most
                && (least as f64..=greatest as f64).contains(&number)
        }
    }
}

/// The numbers of a type of integers in words.
pub(crate) fn range_text(dtype: Dtype) -> Option<String> {
    match dtype {
        Dtype::Bool => Some("`bool` is 0 or 1".into()),
        _ => dtype.range().map(|(least, greatest)| format!("`{dtype}` goes from {least} to {greatest}")),
    }
}

/// The narrowest type that holds a whole number and the numbers of another type of integers.
pub(crate) fn wider(than: Dtype, number: f64) -> Dtype {
    let (least, greatest) = than.range().unwrap_or_default();
    let holds_all = |dtype: &Dtype| {
        holds(*dtype, number)
            && dtype.range().is_none_or(|(from, to)| from <= least && greatest <= to)
            && matches!(dtype, Dtype::U8 | Dtype::I16 | Dtype::I32 | Dtype::I64)
    };
    Dtype::ALL.into_iter().find(holds_all).unwrap_or(Dtype::F64)
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
        let assigns = |step| self.graph.assigned_numbers(step).is_some();
        if !tensors.iter().any(is_number) && !self.graph.step_ids().any(assigns) {
            return;
        }
        let types = self.graph.dtypes();
        let computed = tensors.into_iter().filter_map(|tensor| self.unheld(tensor, &types));
        let assigned = self.graph.step_ids().filter_map(|step| self.unheld_by_assignment(step, &types));
        let found: Vec<Diagnostic> = computed.chain(assigned).collect();
        self.diagnostics.extend(found);
    }

    /// Reports operations on the bits of floats.
    pub(crate) fn look_at_bits(&mut self) {
        if !self.is_ok() {
            return;
        }
        // Types are inferred for the whole program: few have such operations.
        let is_bitwise = |tensor: &Tensor| match self.graph.node(*tensor) {
            Some(Node::Operation { id, .. }) => id.operation().is_some_and(Operation::is_bitwise),
            _ => false,
        };
        let tensors: Vec<Tensor> = self.graph.tensors().filter(is_bitwise).collect();
        if tensors.is_empty() {
            return;
        }
        let types = self.graph.dtypes();
        let found: Vec<Diagnostic> =
            tensors.into_iter().filter_map(|tensor| self.bits_of_floats(tensor, &types)).collect();
        self.diagnostics.extend(found);
    }

    fn bits_of_floats(&self, tensor: Tensor, types: &[Dtype]) -> Option<Diagnostic> {
        let Some(Node::Operation { id, operands, step }) = self.graph.node(tensor) else { return None };
        let float = *operands.iter().find(|operand| types[operand.index()].is_float())?;
        let span = self.origins.get(step)?.span;
        let label = self.graph.label_of(float);
        let cast = |help: Wording| help.words("`i64(").name(&label).words(")`");
        let (message, help) = match self.graph.node(float)? {
            Node::Leaf { kind: LeafKind::Number(value) } => {
                let value = number_text(value);
                (format!("`{id}` is for integers, and {value} is none"), Wording::new("write a whole number"))
            }
            Node::Leaf { .. } => (
                format!("`{id}` is for integers, but `{label}` holds `{}`", types[float.index()]),
                cast(
                    Wording::new("write `as i64` behind the shape of `")
                        .name(&label)
                        .words("`, or cast it here: "),
                ),
            ),
            Node::Operation { .. } => (
                format!("`{id}` is for integers, but `{label}` is `{}`", types[float.index()]),
                cast(Wording::new("cast it: ")),
            ),
        };
        Some(Diagnostic::error(codes::KIND, message, span, "floats have no such bits").with_help(help))
    }

    fn unheld(&self, tensor: Tensor, types: &[Dtype]) -> Option<Diagnostic> {
        let Some(Node::Operation { id, operands, step }) = self.graph.node(tensor) else { return None };
        let number = |operand: &Tensor| match self.graph.node(*operand) {
            Some(Node::Leaf { kind: LeafKind::Number(value) | LeafKind::Constant(value) }) => Some(value),
            _ => None,
        };
        // What is compared has a type of its own, whatever the condition is used for.
        let is_truth = id.operation().is_some_and(Operation::is_truth);
        let compared = operands.iter().filter(|operand| number(operand).is_none());
        let dtype = match is_truth {
            true => compared.map(|operand| types[operand.index()]).max()?,
            false => types[tensor.index()],
        };
        let value = operands.iter().filter_map(number).find(|value| !holds(dtype, *value))?;
        let met = operands.iter().rfind(|operand| number(operand).is_none()).copied();
        self.does_not_hold(step, dtype, value, met)
    }

    /// A number in an assignment: alone it becomes one of the target's, otherwise it meets what is read.
    fn unheld_by_assignment(&self, step: StepId, types: &[Dtype]) -> Option<Diagnostic> {
        let assigned = self.graph.assigned_numbers(step)?;
        let dtype_of = |tensor: &Tensor| types[tensor.index()];
        let dtype = assigned.reads.iter().map(dtype_of).max().unwrap_or(dtype_of(&assigned.target));
        let value = assigned.numbers.into_iter().find(|value| !holds(dtype, *value))?;
        let met = assigned.reads.iter().rfind(|tensor| dtype_of(tensor) == dtype).copied();
        let is_widest =
            if dtype.is_float() { dtype != Dtype::F16 } else { dtype == Dtype::I64 && value.fract() == 0.0 };
        if met.is_some() || is_widest {
            return self.does_not_hold(step, dtype, value, met);
        }
        let (origin, label) = (self.origins.get(step)?, self.graph.label_of(assigned.target));
        let message = format!("`{dtype}` does not hold {}", number_text(value));
        let declare = |before: String, dtype: Dtype| {
            Wording::new(format!("{before}declare `")).name(&label).words(format!("` `as {dtype}`"))
        };
        let help = match range_text(dtype) {
            // Alone a fraction would lose its digits; one that meets integers makes floats of them.
            Some(_) if value.fract() != 0.0 => declare("write a whole number, or ".into(), Dtype::F32),
            Some(range) => declare(format!("{range}: "), wider(dtype, value)),
            None => declare(String::new(), Dtype::F32),
        };
        let label = format!("`{label}` holds `{dtype}`");
        let is_own = origin.inner.source == self.main;
        is_own.then(|| Diagnostic::error(codes::VALUE, message, origin.inner, label).with_help(help))
    }

    /// Reports a number that meets a tensor of a type that does not hold it, unless it is a fraction, which makes floats of integers.
    fn does_not_hold(
        &self,
        step: StepId,
        dtype: Dtype,
        value: f64,
        met: Option<Tensor>,
    ) -> Option<Diagnostic> {
        let origin = self.origins.get(step)?;
        if origin.inner.source != self.main || (!dtype.is_float() && value.fract() != 0.0) {
            return None;
        }
        let message = format!("`{dtype}` does not hold {}", number_text(value));
        let wider = |dtype: &str| {
            Wording::new(format!("write a smaller number, or `as {dtype}` behind the shape of what it meets"))
        };
        let help = match dtype {
            Dtype::I64 => Wording::new(format!(
                "whole numbers that are written go up to {LARGEST_WRITTEN}: load greater ones from a file"
            )),
            Dtype::I32 => wider("i64"),
            _ if let Some(range) = range_text(dtype) => {
                let (wide, met) = (self::wider(dtype, value), met?);
                let (label, is_leaf) =
                    (self.graph.label_of(met), matches!(self.graph.node(met), Some(Node::Leaf { .. })));
                let cast = Wording::new(format!("{range}: write `{wide}(")).name(&label).words(")`");
                match is_leaf {
                    true => cast.words(", or declare `").name(&label).words(format!("` `as {wide}`")),
                    false => cast,
                }
            }
            _ => wider("f64"),
        };
        let label = format!("computed in `{dtype}`");
        Some(Diagnostic::error(codes::VALUE, message, origin.inner, label).with_help(help))
    }
}
