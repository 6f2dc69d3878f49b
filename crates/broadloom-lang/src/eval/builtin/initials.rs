//! Distributions that parameters are drawn from: `uniform`, `normal`, and those that depend on the shape; and `noise`, which draws from
//! them when a program runs.

use std::rc::Rc;

use broadloom::{ComputedShape, Initial, Pointwise};

use super::{Call, Given};
use crate::codes;
use crate::eval::{Eval, Evaluated, call, traps};
use crate::value::Value;

/// The arguments of a distribution, as numbers.
fn numbers(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Vec<f64>> {
    call::only(eval, call, &[])?;
    call.given.iter().map(|given| eval.number(&given.value, given.span)).collect()
}

pub(super) fn uniform(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let initial = match numbers(eval, call)?[..] {
        [] => Initial::Uniform { low: 0.0, high: 1.0 },
        [bound] => Initial::Uniform { low: -bound, high: bound },
        [low, high] => Initial::Uniform { low, high },
        _ => return call::wrong_call(eval, call, "`uniform` takes two bounds", "write `uniform(-1, 1)`"),
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
            return call::wrong_call(eval, call, "`normal` takes a mean and a deviation", help);
        }
    };
    Ok(Value::Initial(Rc::new(Initial::Normal { mean, deviation })))
}

pub(super) fn gained(eval: &mut Eval<'_>, call: &Call, of: fn(f64) -> Initial) -> Evaluated<Value> {
    match numbers(eval, call)?[..] {
        [] => Ok(Value::Initial(Rc::new(of(1.0)))),
        [gain] => Ok(Value::Initial(Rc::new(of(gain)))),
        _ => {
            let message = format!("`{}` takes a gain, or nothing", call.name());
            call::wrong_call(eval, call, message, format!("write `{}(1.4)`", call.name()))
        }
    }
}

/// `noise()`, `noise(normal(2))`, `noise(uniform(-1, 1), "3 | 4")`: numbers that are drawn anew in every run.
pub(super) fn noise(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    call::only(eval, call, &[])?;
    let mut plain = call.plain();
    let shape = plain.pop_if(|given| matches!(given.value, Value::Text(_)));
    let initial = match plain[..] {
        [] => Some(Initial::Uniform { low: 0.0, high: 1.0 }),
        [Given { value: Value::Initial(initial), .. }] => Some((**initial).clone()),
        [Given { value: Value::Builtin(builtin), .. }] => (builtin.get().initial)(),
        _ => None,
    };
    let (is_normal, from, scale) = match initial {
        Some(Initial::Uniform { low, high }) => (false, low, high - low),
        Some(Initial::Normal { mean, deviation }) => (true, mean, deviation),
        _ => {
            let message = "`noise` is drawn from `uniform` or `normal`, and has a shape as a text";
            let help = "write `noise()`, `noise(normal(2))`, `noise(uniform(-1, 1), \"3 | 4\")`";
            return call::wrong_call(eval, call, message, help);
        }
    };
    if eval.graph.depth_of_turns() > 1 && eval.is_checkpointed() {
        let message =
            "random numbers cannot be drawn in `checkpointed` in a scan, or in another `checkpointed`";
        let help = "apply what draws them, such as `dropout`, outside of the inner of the two, or leave one of them out";
        return eval.wrong(codes::USE, message, call.span, help);
    }
    let name = eval.fresh_name("noise");
    let drawn = eval.ask(call.span, |graph| {
        let drawn = if is_normal { graph.normal(&name) } else { graph.uniform(&name) };
        graph.in_turn(drawn)
    })?;
    if let Some(Given { value, span, .. }) = shape {
        let text = eval.words(value, *span)?;
        let text = eval.filled(&text, *span)?;
        let (shape, sizes) = traps::shape_in_text(eval, &text, *span)?;
        let sizes: Vec<_> = sizes.iter().map(|(label, size)| (label.as_str(), size)).collect();
        eval.ask(*span, |graph| {
            graph.declare_computed(drawn, ComputedShape { shape: (&*shape).into(), sizes: &sizes })
        })?;
    }
    let made = eval.ask(call.span, |graph| {
        let mut made = drawn;
        for (operation, number, neutral) in [(Pointwise::Mul, scale, 1.0), (Pointwise::Add, from, 0.0)] {
            if number != neutral {
                let number = graph.number(number);
                made = graph.pointwise(operation, &[made, number])?;
            }
        }
        Ok(made)
    })?;
    Ok(Value::Tensor(made))
}
