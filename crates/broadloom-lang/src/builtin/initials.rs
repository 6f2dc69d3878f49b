//! Distributions that parameters are drawn from: `uniform`, `normal`, and those that depend on the shape.

use std::rc::Rc;

use broadloom::Initial;

use super::Call;
use crate::eval::{Eval, Evaluated};
use crate::value::Value;

/// The arguments of a distribution, as numbers.
fn numbers(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Vec<f64>> {
    eval.only(call, &[])?;
    call.given.iter().map(|given| eval.number(&given.value, given.span)).collect()
}

pub(super) fn uniform(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let initial = match numbers(eval, call)?[..] {
        [] => Initial::Uniform { low: 0.0, high: 1.0 },
        [bound] => Initial::Uniform { low: -bound, high: bound },
        [low, high] => Initial::Uniform { low, high },
        _ => return eval.wrong_call(call, "`uniform` takes two bounds", "write `uniform(-1, 1)`"),
    };
    Ok(Value::Initial(Rc::new(initial)))
}

pub(super) fn normal(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let (mean, deviation) = match numbers(eval, call)?[..] {
        [] => (0.0, 1.0),
        [deviation] => (0.0, deviation),
        [mean, deviation] => (mean, deviation),
        _ => {
            let help = "write `normal(0.02)`, or `normal(mean, deviation)`";
            return eval.wrong_call(call, "`normal` takes a mean and a deviation", help);
        }
    };
    Ok(Value::Initial(Rc::new(Initial::Normal { mean, deviation })))
}

pub(super) fn gained(eval: &mut Eval<'_>, call: &Call, of: fn(f64) -> Initial) -> Evaluated<Value> {
    match numbers(eval, call)?[..] {
        [] => Ok(Value::Initial(Rc::new(of(1.0)))),
        [gain] => Ok(Value::Initial(Rc::new(of(gain)))),
        _ => {
            let message = format!("`{}` takes a gain, or nothing", call.name);
            eval.wrong_call(call, message, format!("write `{}(1.4)`", call.name))
        }
    }
}
