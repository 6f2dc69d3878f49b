//! How tensors and operations are called in messages.

use crate::Graph;
use crate::logic::Index;
use crate::step::{Leaf, NONE, Op, Step, Tensor};

/// Expressions longer than this are shortened in messages.
const LONGEST: usize = 48;

impl Graph {
    /// The operands of the operation that made a tensor.
    pub(crate) fn operands_of(&self, tensor: Tensor) -> &[Tensor] {
        match self.steps.get(self.tensors[tensor.index()].step as usize) {
            Some(Step::Op { operands, arity, .. }) => {
                let start = *operands as usize;
                &self.operands[start..start + *arity as usize]
            }
            _ => &[],
        }
    }

    /// The name a tensor was given, if it was.
    pub fn name_of(&self, tensor: Tensor) -> Option<&str> {
        match self.tensors.get(tensor.index())?.name {
            NONE => None,
            name => Some(&self.names[name as usize]),
        }
    }

    /// What a tensor is called: its name, or the expression that makes it.
    pub fn label_of(&self, tensor: Tensor) -> String {
        let text = self.expression(tensor, 3);
        if text.chars().count() <= LONGEST {
            return text;
        }
        // An outer operation says more than a cut in the middle.
        let shallow = self.expression(tensor, 1);
        if shallow.chars().count() <= LONGEST {
            return shallow;
        }
        shallow.chars().take(LONGEST - 1).chain(['…']).collect()
    }

    fn expression(&self, tensor: Tensor, depth: u32) -> String {
        if let Some(name) = self.name_of(tensor) {
            return name.into();
        }
        let Some(data) = self.tensors.get(tensor.index()) else { return "?".into() };
        match self.steps.get(data.step as usize) {
            Some(Step::Leaf { leaf: Leaf::Constant(value) | Leaf::Number(value), .. }) => format!("{value}"),
            Some(Step::Op { .. }) if depth == 0 => "…".into(),
            Some(Step::Op { op, results, result, .. }) => {
                let operands: Vec<String> = self
                    .operands_of(tensor)
                    .iter()
                    .map(|operand| self.expression(*operand, depth - 1))
                    .collect();
                let text = self.applied(*op, &operands);
                if *results > 1 { format!("part {} of {text}", tensor.0 - result + 1) } else { text }
            }
            _ => "?".into(),
        }
    }

    /// An operation applied to the texts of its operands.
    fn applied(&self, op: Op, operands: &[String]) -> String {
        let inner = |text: &String| if is_infix(text) { format!("({text})") } else { text.clone() };
        let list = operands.join(", ");
        match (op, operands) {
            (Op::Pointwise(name), [a, b]) if !name.starts_with(char::is_alphabetic) => {
                format!("{} {name} {}", inner(a), inner(b))
            }
            (Op::Pointwise(name), _) => format!("{name}({list})"),
            (Op::Compose, [a, b]) => format!("{} @ {}", inner(a), inner(b)),
            (Op::ComposeAccumulate, [a, b, d]) => format!("{} @ {} + {}", inner(a), inner(b), inner(d)),
            (Op::Transpose, _) => format!("transpose({list})"),
            (Op::Einsum { name, spec, .. }, _) => format!("{name}(\"{}\", {list})", self.spec(spec).text),
            (Op::Slice(Index::At(at)), _) => format!("slice({list}, {at})"),
            (Op::Slice(Index::Run { .. }), _) => format!("slice({list})"),
            (Op::Convert { .. }, _) => format!("convert({list})"),
            (Op::Compose | Op::ComposeAccumulate, _) => list,
        }
    }

    /// What a step says, as a program would.
    pub(crate) fn step_text(&self, step: u32) -> String {
        match self.steps.get(step as usize) {
            Some(Step::Op { result, results, .. }) => {
                let result = Tensor(*result);
                let expression = self.unnamed(result);
                match (self.name_of(result), results) {
                    (Some(name), 1) => format!("{name} = {expression}"),
                    _ => expression,
                }
            }
            Some(Step::Leaf { tensor, .. }) => self.label_of(Tensor(*tensor)),
            Some(Step::Set(captured, size)) => {
                format!(
                    "{} of {} set to {size}",
                    self.captured_name(*captured),
                    self.label_of(captured.tensor)
                )
            }
            Some(Step::Equal(a, b)) => {
                format!("{} equal to {}", self.captured_name(*a), self.captured_name(*b))
            }
            Some(Step::Scale(large, factor, small)) => {
                format!("{} = {factor} · {}", self.captured_name(*large), self.captured_name(*small))
            }
            Some(Step::Square(tensor)) => format!("input = output for {}", self.label_of(*tensor)),
            None => "?".into(),
        }
    }

    /// The expression of a tensor even if it has a name.
    fn unnamed(&self, tensor: Tensor) -> String {
        let Some(Step::Op { op, .. }) = self.steps.get(self.tensors[tensor.index()].step as usize) else {
            return self.label_of(tensor);
        };
        let operands: Vec<String> =
            self.operands_of(tensor).iter().map(|operand| self.label_of(*operand)).collect();
        self.applied(*op, &operands)
    }
}

/// Whether an expression needs parentheses inside another: it has a space outside of parentheses.
fn is_infix(text: &str) -> bool {
    let mut depth = 0;
    text.chars().any(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        letter == ' ' && depth == 0
    })
}
