//! The use of specs by each function, and the specs that it therefore refuses.

use super::mistake::Mistake;
use super::notation::{ArrayAxes, ComposedPart, Equation, Form, Tensor};
use super::plan::Use;
use broadloom_core::Size;
use pyo3::PyResult;
use pyo3::exceptions::PyTypeError;

/// A function, and the reduction that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    function: Function,
    reduce: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    /// Any spec with one result.
    Einsum,
    /// Any spec with several results.
    Split,
    /// One operand, and a reduction.
    Reduction,
    /// One operand whose elements all stay.
    Rearrange,
    /// The same, and labels that only the result has.
    Repeat,
}

const REDUCTIONS: [&str; 7] = ["sum", "mean", "max", "min", "prod", "any", "all"];

impl Usage {
    /// The usage by the name of the function and of the reduction.
    pub fn new(function: &str, reduce: &str) -> PyResult<Usage> {
        let known = REDUCTIONS.into_iter().find(|name| *name == reduce);
        let Some(reduce) = known else {
            let message = format!(
                "reduce is one of {}, not \"{reduce}\"",
                REDUCTIONS.map(|name| format!("\"{name}\"")).join(", ")
            );
            return Err(PyTypeError::new_err(message));
        };
        let function = match function {
            "einsum" => Function::Einsum,
            "split" => Function::Split,
            "rearrange" => Function::Rearrange,
            "repeat" => Function::Repeat,
            _ => Function::Reduction,
        };
        Ok(Usage { function, reduce })
    }

    /// Returns true if a shape without `=>` is a spec too.
    pub fn takes_shape(self) -> bool {
        self.function == Function::Reduction
    }

    /// The part of it that the plan needs.
    pub fn reduction(self) -> Use {
        Use { reduce: self.reduce }
    }

    /// Refuses specs that this function is not for.
    pub fn check(self, equation: &Equation) -> Result<(), Mistake> {
        let text = &equation.text;
        if let (Some(second), true) = (equation.results.get(1), self.function != Function::Split) {
            return Err(Mistake::spec(text, "the spec has several results", second.span, "a second result")
                .with_help(
                    "`bl.split` takes an array apart, as in `a, b = bl.split(\"a^b => a; b\", x, a=2)`",
                ));
        }
        match self.function {
            Function::Rearrange => self.check_kept(equation),
            Function::Repeat => self.check_kept(equation).and_then(|()| check_positions(equation)),
            Function::Reduction => check_positions(equation),
            Function::Einsum | Function::Split => Ok(()),
        }
    }

    /// Refuses labels that vanish, and those that appear from nowhere.
    fn check_kept(self, equation: &Equation) -> Result<(), Mistake> {
        let name = if self.function == Function::Repeat { "repeat" } else { "rearrange" };
        let in_any = |tensors: &[Tensor], mention: Mention| {
            tensors.iter().flat_map(|tensor| mentions(equation, tensor)).any(|(other, _)| other == mention)
        };
        for (mention, item) in equation.operands.iter().flat_map(|tensor| mentions(equation, tensor)) {
            let keeps = match mention {
                Mention::Index(_) => false,
                Mention::Label(label) if equation.labels[label].size == Some(Size::ONE) => true,
                _ => in_any(&equation.results, mention),
            };
            if !keeps {
                let shown = shown(equation, mention);
                let message = format!("{shown} is not in the result, and `bl.{name}` keeps every element");
                let joined = has_digit_behind_letter(equation, item);
                let help = match mention {
                    Mention::Index(_) | Mention::Label(_) if joined && is_number(equation, mention) => {
                        "without commas a label is one letter, and a digit behind it a number; with commas between axes labels are \
                         words: `(b1 b2), c => b1, b2, c`"
                    }
                    Mention::Index(_) => "a number alone is a position; an axis of one element is `()`",
                    Mention::Label(label) if equation.labels[label].name.is_empty() => {
                        "write a label on both sides, and give its size by name, as in `(h k)` with `k=3`"
                    }
                    _ => "add it to the result; or reduce over it with `bl.sum`, `bl.mean`, `bl.max`, …",
                };
                return Err(
                    Mistake::spec(&equation.text, message, item.span, "missing behind `=>`").with_help(help)
                );
            }
        }
        let results = equation.results.iter().flat_map(|tensor| mentions(equation, tensor));
        let news = results.into_iter().find(|(mention, _)| match *mention {
            Mention::Index(index) => index > 0,
            Mention::Label(label) => {
                equation.labels[label].size != Some(Size::ONE) && !in_any(&equation.operands, *mention)
            }
            Mention::Row(_) => !in_any(&equation.operands, *mention),
        });
        match (news, self.function) {
            (Some((mention, item)), Function::Rearrange) => {
                let message = format!("{} stands only in the result", shown(equation, mention));
                Err(Mistake::spec(&equation.text, message, item.span, "no array has it")
                    .with_help("`bl.repeat` repeats along new axes; `()` is an axis of one element"))
            }
            _ => Ok(()),
        }
    }
}

/// Refuses positions in the result: all places before them would be zeros, which neither a repetition nor a reduction makes.
fn check_positions(equation: &Equation) -> Result<(), Mistake> {
    let results = equation.results.iter().flat_map(|tensor| &tensor.items);
    for item in results {
        if let Form::Fixed(index @ 1..) = item.form {
            let message = format!("`{index}` in the result is a position, and not a size");
            return Err(Mistake::spec(
                &equation.text,
                message,
                item.span,
                "the places before it would be zeros",
            )
            .with_help(match index {
                1 => "an axis of one element is `()`; `bl.einsum` writes to a position".to_owned(),
                _ => format!("an axis of {index} elements is `({index})`; `bl.einsum` writes to a position"),
            }));
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mention {
    Label(usize),
    Row(usize),
    Index(u64),
}

/// The labels, rows and indices of an array.
fn mentions<'a>(equation: &Equation, tensor: &'a Tensor) -> Vec<(Mention, &'a ArrayAxes)> {
    let part = |part: &ComposedPart| match part {
        ComposedPart::Label(label) => Mention::Label(*label),
        ComposedPart::Row(row) => Mention::Row(*row),
    };
    let label = |label: usize| -> Vec<Mention> {
        let composed = equation.composed.iter().find(|composed| composed.label == label);
        composed
            .map_or_else(|| vec![Mention::Label(label)], |composed| composed.parts.iter().map(part).collect())
    };
    let of = |item: &ArrayAxes| match &item.form {
        Form::Row(row) => vec![Mention::Row(*row)],
        Form::Fixed(index) => vec![Mention::Index(*index)],
        Form::Group(parts) => parts.iter().map(part).collect(),
        form => form.labels().into_iter().flat_map(label).collect(),
    };
    tensor.items.iter().flat_map(|item| of(item).into_iter().map(move |mention| (mention, item))).collect()
}

fn shown(equation: &Equation, mention: Mention) -> String {
    match mention {
        Mention::Label(label) => format!("`{}`", equation.labels[label].shown(&equation.text)),
        Mention::Row(row) => format!("`{}`", equation.rows[row].shown),
        Mention::Index(index) => format!("the index `{index}`"),
    }
}

/// Returns true for an axis that is written as a number.
fn is_number(equation: &Equation, mention: Mention) -> bool {
    match mention {
        Mention::Index(_) => true,
        Mention::Label(label) => equation.labels[label].name.is_empty(),
        Mention::Row(_) => false,
    }
}

/// Returns true if a digit stands directly behind a letter in an axis, as in `b1`, or before it in the text.
fn has_digit_behind_letter(equation: &Equation, item: &ArrayAxes) -> bool {
    let (start, end) = (item.span.start as usize, item.span.end as usize);
    let written = equation.text.get(start.saturating_sub(1)..end).unwrap_or_default();
    let joined = |pair: (char, char)| pair.0.is_alphabetic() && pair.1.is_ascii_digit();
    written.chars().zip(written.chars().skip(1)).any(joined)
}
