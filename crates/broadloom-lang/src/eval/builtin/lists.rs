//! Functions of lists: a list with one item more, and the sum of the items.

use broadloom::Pointwise;
use broadloom_diagnostics::Span;

use super::exactly;
use crate::codes;
use crate::eval::act::{self, Act};
use crate::eval::given::Call;
use crate::eval::needs::{self, NeedKind};
use crate::eval::{Eval, Evaluated, Reported};
use crate::language_function::LanguageFunction;
use crate::value::Value;

/// The greatest number of items of a range that becomes a list.
const LONGEST: i64 = 100_000;

/// `append(list, item)`: the items of a list, and another one behind them.
pub(super) fn append(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let [list, item] = exactly(eval, call, ["list", "item"])?;
    let mut items = items(eval, &list.value, list.span, call.function)?;
    items.push(item.value.clone());
    Ok(Value::List(items.into()))
}

/// `sum_of(list)`: the sum of the items of a list, number by number or element by element; 0 if there are none.
pub(super) fn sum_of(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let [list] = exactly(eval, call, ["list"])?;
    let mut items = items(eval, &list.value, list.span, call.function)?.into_iter();
    let Some(mut sum) = items.next() else { return Ok(Value::Number(0.0)) };
    if let Value::Layer(_) | Value::Function(_) | Value::Builtin(_) | Value::Text(_) = sum {
        let message = format!("a list of numbers or tensors is needed here, and an item is {}", sum.kind());
        return eval.wrong(codes::KIND, message, list.span, "apply each: `sum_of([f(x) for f in list])`");
    }
    for item in items {
        sum = match (eval.known(&sum), eval.known(&item)) {
            (Some(a), Some(b)) => Value::Number(a + b),
            _ => {
                let operands = [eval.tensor(&sum, list.span)?, eval.tensor(&item, list.span)?];
                Value::Tensor(act::carry_out(eval, Act::Pointwise(Pointwise::Add), &operands, call.span)?)
            }
        };
    }
    Ok(sum)
}

fn items(eval: &mut Eval<'_>, list: &Value, span: Span, function: LanguageFunction) -> Evaluated<Vec<Value>> {
    match list {
        Value::List(items) => Ok(items.to_vec()),
        Value::Range(from, to) if to.saturating_sub(*from) <= LONGEST => {
            Ok((*from..*to).map(|number| Value::Number(number as f64)).collect())
        }
        Value::Mistake => Err(Reported),
        other => {
            needs::note(eval, other, NeedKind::List);
            let message = format!("a list is needed here, not {}", other.kind());
            let help = match (function, other) {
                (LanguageFunction::SumOf, Value::Tensor(_)) => {
                    "`sum(x)` adds up the elements of a tensor, `sum_of([a, b])` tensors element by element"
                }
                _ => "a list is written `[a, b]` or `[f(i) for i in 0..4]`",
            };
            eval.wrong(codes::KIND, message, span, help)
        }
    }
}
