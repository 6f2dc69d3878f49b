//! From values to tensors and numbers.

use broadloom::Tensor;
use broadloom_diagnostics::Span;

use super::{Eval, Evaluated, Reported};
use crate::codes;
use crate::position::Position;
use crate::syntax::ast::Binary;
use crate::value::Value;

impl Eval<'_> {
    /// A value as a tensor.
    pub(crate) fn tensor(&mut self, value: &Value, span: Span) -> Evaluated<Tensor> {
        match value {
            Value::Tensor(tensor) => Ok(*tensor),
            Value::Number(number) => self.ask(span, |graph| Ok(graph.number(*number))),
            Value::Size(factor, captured) => self.ask(span, |graph| {
                let size = graph.size_number(*captured)?;
                if *factor == 1 {
                    return Ok(size);
                }
                let factor = graph.number(*factor as f64);
                graph.mul(factor, size)
            }),
            Value::Position(position) => self.counted(position, span),
            Value::List(_) => {
                let array = self.literal(value, span)?;
                let name = self.free_name("literal");
                self.ask(span, |graph| graph.array(&name, "...", array))
            }
            Value::Array(array) => {
                let name = self.free_name("array");
                self.ask(span, |graph| graph.array(&name, "...", (**array).clone()))
            }
            Value::Mistake => Err(Reported),
            other => {
                let message = format!("a tensor is needed here, not {}", other.kind());
                let help = match other {
                    Value::Function(_) => "apply its configuration, and then the function: `f(…)(x)`",
                    Value::Layer(_) | Value::Builtin(_) | Value::Operation(_) => "apply it: `f(x)`",
                    Value::Nothing => {
                        "the last line of the function is no expression, so calling it gives nothing"
                    }
                    _ => "",
                };
                self.wrong(codes::KIND, message, span, help)
            }
        }
    }

    /// The number of a repetition as a tensor: a leaf that is set before each of them.
    fn counted(&mut self, position: &Position, span: Span) -> Evaluated<Tensor> {
        match position {
            Position::Number(number) => self.ask(span, |graph| Ok(graph.number(*number))),
            Position::Counter(counter, ..) => self.counter_leaf(*counter, span),
            Position::Binary(sign, a, b) => {
                let (a, b) = (self.counted(a, span)?, self.counted(b, span)?);
                let name = if *sign == Binary::Mod { "mod" } else { sign.sign() };
                self.ask(span, |graph| graph.pointwise(name, &[a, b]))
            }
        }
    }

    /// The number that a value is, if it is known now.
    pub(crate) fn known(&self, value: &Value) -> Option<f64> {
        match value {
            Value::Number(number) => Some(*number),
            Value::Size(factor, captured) => Some((self.graph.size(*captured)?.checked_mul(*factor)?) as f64),
            _ => None,
        }
    }

    /// A value as a number that is known now.
    pub(crate) fn number(&mut self, value: &Value, span: Span) -> Evaluated<f64> {
        match value {
            Value::Number(number) => Ok(*number),
            Value::Size(factor, captured) => match self.graph.size(*captured) {
                Some(size) => Ok((size * factor) as f64),
                None => {
                    let message = "this size is not known at this point of the program";
                    self.wrong(codes::KIND, message, span, "`set` it, or use it after what decides it")
                }
            },
            Value::Mistake => Err(Reported),
            other => {
                let message = format!("a number is needed here, not {}", other.kind());
                self.wrong(codes::KIND, message, span, "")
            }
        }
    }

    /// A value as a text.
    pub(crate) fn words(&mut self, value: &Value, span: Span) -> Evaluated<std::rc::Rc<str>> {
        match value {
            Value::Text(text) => Ok(text.clone()),
            Value::Mistake => Err(Reported),
            other => {
                let message = format!("a text is needed here, not {}", other.kind());
                self.wrong(codes::KIND, message, span, "texts stand in quotes: `\"i j => j\"`")
            }
        }
    }
}
