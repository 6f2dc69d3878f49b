//! Expressions as formulas of assignments: arithmetic
//! stays, everything else becomes a tensor operand.

use broadloom::{Assignments, Formula, FormulaName as Operand, Pointwise, Tensor};

use super::{Eval, Evaluated};
use crate::arithmetic::operation;
use crate::syntax::ast::{self, ExprId, ExprKind, Unary};
use crate::value::Value;

/// The greatest depth of a formula; deeper expressions become tensors of their own.
const DEPTH: usize = 64;

/// An assignment that is being built, with the operands that it has so far.
#[derive(Default)]
pub(super) struct Draft {
    pub assignments: Assignments,
    /// The tensors that occur in it, by their text.
    pub tensors: Vec<(String, Operand, Tensor)>,
    /// The tensor that the assignment makes, which may
    /// occur on the right: there it has its old value.
    pub new: Option<(ast::Name, Operand)>,
    /// True if a tensor that occurs twice may be two operands, as in `a * a` by
    /// `"i j; j k => i k"`.
    pub apart: bool,
    /// The operands on the right, and those of them that are further occurrences of others.
    right: Vec<Operand>,
    again: Vec<(Operand, Operand)>,
}

impl Draft {
    /// The operand for a tensor: the one with the same text, or a new one.
    fn named(&mut self, written: String, tensor: Tensor) -> Operand {
        if let Some((_, operand, _)) = self.tensors.iter().find(|(known, ..)| *known == written) {
            return *operand;
        }
        let operand = self.assignments.tensor(&written, tensor);
        self.tensors.push((written, operand, tensor));
        operand
    }

    /// Notes an occurrence of an operand on the right.
    fn occurrence(&mut self, operand: Operand, tensor: Tensor) -> Operand {
        if !self.apart {
            return operand;
        }
        if !self.right.contains(&operand) {
            self.right.push(operand);
            return operand;
        }
        let other = self.assignments.tensor("operand", tensor);
        self.right.push(other);
        self.again.push((other, operand));
        other
    }

    /// The number of operands on the right, if occurrences of a tensor are operands of their own.
    pub fn occurrences(&self) -> usize {
        self.right.len()
    }

    /// Makes all occurrences of a tensor one operand.
    pub fn together(&mut self, formula: Formula) -> Formula {
        self.again.drain(..).fold(formula, |formula, (other, operand)| formula.with(other, operand))
    }
}

/// Converts an expression to a formula of an assignment.
pub(super) fn read(eval: &mut Eval<'_>, id: ExprId, depth: usize, draft: &mut Draft) -> Evaluated<Formula> {
    let file = eval.frame.file.clone();
    let built = match &file.expr(id).kind {
        _ if depth > DEPTH => None,
        ExprKind::Number(number) => Some(Formula::number(*number)),
        ExprKind::Unary(Unary::Minus, inner) => Some(-read(eval, *inner, depth + 1, draft)?),
        ExprKind::Unary(Unary::Not, inner) => {
            Formula::apply(Pointwise::Not, vec![read(eval, *inner, depth + 1, draft)?])
        }
        ExprKind::Binary(sign, a, b) => match operation(*sign) {
            Some(operation) => {
                let operands = vec![read(eval, *a, depth + 1, draft)?, read(eval, *b, depth + 1, draft)?];
                Formula::apply(operation, operands)
            }
            None => None,
        },
        ExprKind::Call { callee, args } => match pointwise_call(eval, *callee, args) {
            Some(operation) => {
                let operands = args.iter().map(|arg| read(eval, arg.value, depth + 1, draft));
                Formula::apply(operation, operands.collect::<Result<_, _>>()?)
            }
            None => None,
        },
        _ => None,
    };
    match built {
        Some(built) => Ok(built),
        None => operand(eval, id, draft),
    }
}

/// The pointwise operation that is called, if the call can stand in a formula.
fn pointwise_call(eval: &Eval<'_>, callee: ExprId, args: &[ast::Arg]) -> Option<Pointwise> {
    let file = &eval.frame.file;
    let ExprKind::Name(name) = file.expr(callee).kind else { return None };
    let Some(Value::Builtin(builtin)) = eval.frame.scope.find(name) else { return None };
    let is_plain =
        |arg: &ast::Arg| arg.name.is_none() && !matches!(file.expr(arg.value).kind, ExprKind::Text(_));
    builtin.get().pointwise(args.len()).filter(|_| args.iter().all(is_plain))
}

/// Converts an expression to an operand of a formula, or to a number.
fn operand(eval: &mut Eval<'_>, id: ExprId, draft: &mut Draft) -> Evaluated<Formula> {
    if let ExprKind::Name(name) = eval.frame.file.expr(id).kind
        && let Some((_, new)) = draft.new.filter(|(known, _)| *known == name)
    {
        return Ok(new.into());
    }
    let value = eval.expr(id)?;
    if let Value::Number(number) = value {
        return Ok(Formula::number(number));
    }
    let (operand, tensor) = tensor_operand(eval, id, &value, draft)?;
    Ok(draft.occurrence(operand, tensor).into())
}

/// Converts the value of an expression to a tensor
/// operand, named as it is written if that is a name.
pub(super) fn tensor_operand(
    eval: &mut Eval<'_>,
    id: ExprId,
    value: &Value,
    draft: &mut Draft,
) -> Evaluated<(Operand, Tensor)> {
    let file = eval.frame.file.clone();
    let expr = file.expr(id);
    let tensor = eval.tensor(value, expr.span)?;
    let written = eval.sources.slice(expr.span);
    let is_name = matches!(&expr.kind, ExprKind::Name(_))
        || matches!(&expr.kind, ExprKind::Field(of, _) if matches!(file.expr(*of).kind, ExprKind::Name(_)));
    let written = match is_name && !written.contains(char::is_whitespace) && !written.starts_with('(') {
        true => written.to_string(),
        false => format!("tmp{}", draft.tensors.len() + 1),
    };
    Ok((draft.named(written, tensor), tensor))
}
