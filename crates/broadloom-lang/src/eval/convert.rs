//! Conversions of values to tensors and numbers.

use broadloom::{Error, Graph, Pointwise, SizeSum, Tensor};
use broadloom_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashSet;

use super::act::Act;
use super::advice::{foreign, misgiven};
use super::builtin::moves;
use super::needs::{self, NeedKind};
use super::{Eval, Evaluated, Reported, act, dim, written};
use crate::arithmetic::operation;
use crate::codes;
use crate::position::Position;
use crate::size::Size;
use crate::suggest;
use crate::syntax::ast::Binary;
use crate::value::Value;

impl Eval<'_> {
    /// Converts a value to a tensor.
    pub(crate) fn tensor(&mut self, value: &Value, span: Span) -> Evaluated<Tensor> {
        match value {
            Value::Tensor(tensor) | Value::OpenNumber(tensor) => Ok(*tensor),
            Value::Number(number) => act::carry_out(self, Act::Number(*number), &[], span),
            Value::Size(size) => {
                let before = self.graph.quiet().len();
                let made = self.sized(size, span)?;
                self.note_size_tensor(value, made, span, before);
                Ok(made)
            }
            Value::Position(position) => self.counted(position, span),
            Value::List(items) if items.iter().any(has_computed) => moves::block(self, items, span),
            Value::List(_) => {
                let array = written::array(self, value, None, span)?;
                let name = self.free_name("literal");
                self.ask(span, |graph| graph.open_array(&name, "...", array))
            }
            Value::Numbers(_) => {
                let array = written::array(self, value, None, span)?;
                let name = self.free_name("array");
                self.ask(span, |graph| graph.open_array(&name, "...", array))
            }
            Value::Array(array) => {
                let name = self.free_name("array");
                self.ask(span, |graph| graph.array(&name, "...", (**array).clone()))
            }
            // Each use of it may be another tensor.
            Value::Open => {
                let name = self.quote(span);
                self.ask(span, |graph| Ok(graph.argument(&name)))
            }
            Value::Mistake => Err(Reported),
            other => {
                let message = format!("a tensor is needed here, not {}", other.kind());
                let written = match self.place(span) == span {
                    true => self.quote(span),
                    // What the library calls it is not what the program calls it.
                    false => "model".to_string(),
                };
                let help = match other {
                    Value::Function(_) => format!("configure it, and then apply it: `{written}(…)(x)`"),
                    Value::Layer(layer) => {
                        if let Some(advice) = misgiven::configured_by_argument(self, layer, span) {
                            let diagnostic = Diagnostic::error(codes::KIND, message, span, "");
                            return self.fail(advice.added_to(diagnostic, span));
                        }
                        let arguments = foreign::signature(self, &layer.function.def.arguments);
                        format!("apply it: `{written}({arguments})`")
                    }
                    Value::Builtin(_) | Value::Operation(_) | Value::Inference(_) => {
                        format!("apply it: `{written}(x)`")
                    }
                    Value::Nothing => {
                        "the last line of the function is no expression, so calling it gives nothing".into()
                    }
                    Value::Text(text) => match suggest::special_number(text) {
                        Some(number) => format!("the number is `{number}`"),
                        None => format!(
                            "a text is a spec, a shape or a path; what is printed stands side by side: `print {written}, x`"
                        ),
                    },
                    Value::Range(..) => format!("in a list of numbers it is one: `[i for i in {written}]`"),
                    Value::Initial(_) => {
                        "first values stand in a declaration: `state s : 3 = zeros`, `{w : 3 = ones}`".into()
                    }
                    Value::Stream(..) => {
                        format!("declare data that has a batch of it at a time: `data x = {written}`")
                    }
                    _ => String::new(),
                };
                self.wrong(codes::KIND, message, span, help)
            }
        }
    }

    /// The number of a repetition as a tensor: a leaf that is set before each repetition.
    fn counted(&mut self, position: &Position, span: Span) -> Evaluated<Tensor> {
        match position {
            Position::Number(number) => self.ask(span, |graph| Ok(graph.number(*number))),
            Position::Counter(counter, ..) => self.counter_leaf(*counter, span),
            Position::Binary(sign, a, b) => {
                let (a, b) = (self.counted(a, span)?, self.counted(b, span)?);
                self.ask(span, |graph| combined(graph, *sign, a, b))
            }
        }
    }

    /// A size as a tensor: a number that is filled in when all sizes are known.
    pub(super) fn sized(&mut self, size: &Size, span: Span) -> Evaluated<Tensor> {
        match size {
            Size::Sum(sum) => self.ask_quietly(span, |graph| sum_tensor(graph, sum)),
            Size::Number(number) => self.ask_quietly(span, |graph| Ok(graph.number(*number))),
            Size::Binary(sign, a, b) => {
                let (a, b) = (self.sized(a, span)?, self.sized(b, span)?);
                self.ask_quietly(span, |graph| combined(graph, *sign, a, b))
            }
        }
    }

    /// The number that a value stands for, if it is known now.
    pub(crate) fn known(&self, value: &Value) -> Option<f64> {
        match value {
            Value::Number(number) => Some(*number),
            Value::Size(size) => size.at(&|captured| self.graph.size(captured)),
            _ => None,
        }
    }

    /// Converts a value to a number that is known now.
    pub(crate) fn number(&mut self, value: &Value, span: Span) -> Evaluated<f64> {
        match value {
            Value::Number(number) => Ok(*number),
            Value::Size(size) => dim::number_of(self, size, span),
            Value::Open | Value::OpenNumber(_) | Value::Mistake => Err(Reported),
            other => {
                needs::note(self, other, NeedKind::Number);
                let message = format!("a number is needed here, not {}", other.kind());
                let help = match other {
                    Value::Tensor(_) => {
                        "this has to be known before the program runs: write a number, or a `dim`; numbers of rows look them up by `gather`, and a mask is multiplied: `x * mask`"
                    }
                    Value::Position(_) => {
                        "a repetition is counted when the program runs; `for` is written out before"
                    }
                    Value::Text(_) => "write it without quotes",
                    _ => "",
                };
                self.wrong(codes::KIND, message, span, help)
            }
        }
    }

    /// Converts a value to a text.
    pub(crate) fn words(&mut self, value: &Value, span: Span) -> Evaluated<std::rc::Rc<str>> {
        match value {
            Value::Text(text) => Ok(text.clone()),
            Value::Open | Value::OpenNumber(_) | Value::Mistake => Err(Reported),
            other => {
                needs::note(self, other, NeedKind::Text);
                let message = format!("a text is needed here, not {}", other.kind());
                self.wrong(codes::KIND, message, span, "texts stand in quotes: `\"i j => j\"`")
            }
        }
    }
}

/// Two tensors with an operator between them.
fn combined(graph: &mut Graph, sign: Binary, a: Tensor, b: Tensor) -> Result<Tensor, Error> {
    match operation(sign) {
        Some(operation) => graph.pointwise(operation, &[a, b]),
        None => graph.compose(a, b),
    }
}

/// Returns true of a tensor, and of a list with tensors in it.
pub(super) fn has_tensors(value: &Value) -> bool {
    has(value, |value| matches!(value, Value::Tensor(_) | Value::Open | Value::OpenNumber(_)))
}

/// The same, where a size and the number of a repetition count, too: they are numbers when the program runs.
fn has_computed(value: &Value) -> bool {
    let is_computed = |value: &Value| matches!(value, Value::Size(_) | Value::Position(_));
    has_tensors(value) || has(value, is_computed)
}

/// Returns true of a value of some kind, and of a list with one in it.
fn has(value: &Value, kind: impl Fn(&Value) -> bool) -> bool {
    // A list may be in another one many times, and so on: each is looked at once.
    fn inside(value: &Value, kind: &impl Fn(&Value) -> bool, seen: &mut FxHashSet<*const Value>) -> bool {
        match value {
            Value::List(items) => {
                seen.insert(items.as_ptr()) && items.iter().any(|item| inside(item, kind, seen))
            }
            value => kind(value),
        }
    }
    inside(value, &kind, &mut FxHashSet::default())
}

/// Computes a sum of products of sizes as a tensor: the added terms, minus the subtracted ones,
/// divided by the denominator.
fn sum_tensor(graph: &mut Graph, sum: &SizeSum) -> Result<Tensor, Error> {
    let mut whole: Option<Tensor> = None;
    for (sign, terms) in [(Pointwise::Add, sum.sides().0), (Pointwise::Sub, sum.sides().1)] {
        for (sizes, factor) in terms.terms() {
            let number = (factor != 1 || sizes.is_empty()).then(|| graph.number(factor as f64));
            let mut product = number;
            for size in sizes {
                let size = graph.size_number(*size)?;
                product = Some(product.map_or(Ok(size), |product| graph.mul(product, size))?);
            }
            let Some(product) = product else { continue };
            whole = Some(match (whole, sign) {
                (None, Pointwise::Add) => product,
                (None, _) => {
                    let zero = graph.number(0.0);
                    graph.pointwise(sign, &[zero, product])?
                }
                (Some(whole), _) => graph.pointwise(sign, &[whole, product])?,
            });
        }
    }
    let whole = whole.unwrap_or_else(|| graph.number(0.0));
    match sum.denominator() {
        1 => Ok(whole),
        denominator => {
            let denominator = graph.number(denominator as f64);
            graph.div(whole, denominator)
        }
    }
}
