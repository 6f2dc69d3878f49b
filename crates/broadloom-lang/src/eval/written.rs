//! Numbers that a program writes: first values, and lists that are tensors.

use std::collections::HashSet;

use broadloom::{Array, Dtype, Initial};
use broadloom_diagnostics::{Diagnostic, Span};

use super::{Eval, Evaluated, Reported};
use crate::codes;
use crate::syntax::ast::{ExprId, ExprKind};
use crate::value::Value;
use crate::written_numbers::{LARGEST_WRITTEN, holds, number_text, range_text, wider};

/// The initial values of a parameter or a state.
pub(super) fn initial(eval: &mut Eval<'_>, value: &Value, span: Span) -> Evaluated<Initial> {
    match value {
        Value::Initial(initial) => Ok((**initial).clone()),
        Value::Number(number) => Ok(Initial::Constant(*number)),
        Value::Array(_) | Value::Numbers(_) | Value::List(_) => {
            Ok(Initial::Values(array(eval, value, None, span)?))
        }
        Value::Builtin(builtin) => match (builtin.get().initial)() {
            Some(initial) => Ok(initial),
            None => no_initial(eval, value, span),
        },
        // Something else where the function is applied: the parameter is there.
        Value::Open | Value::OpenNumber(_) => Ok(Initial::Constant(0.0)),
        Value::Mistake => Err(Reported),
        other => no_initial(eval, other, span),
    }
}

fn no_initial<T>(eval: &mut Eval<'_>, value: &Value, span: Span) -> Evaluated<T> {
    let message = format!("values to begin with are needed here, not {}", value.kind());
    if let Value::Text(path) = value {
        return path_of_numbers(eval, message, path, span);
    }
    let help = "write a number, a list, `load(…)`, or one of `zeros`, `ones`, `uniform`, `normal`, `kaiming`, `xavier`";
    eval.wrong(codes::KIND, message, span, help)
}

/// Reports a text in place of the numbers of a file.
fn path_of_numbers<T>(eval: &mut Eval<'_>, message: String, path: &str, span: Span) -> Evaluated<T> {
    let (help, place) = (format!("write `load(\"{path}\")`"), eval.place(span));
    if place != span {
        return eval.wrong(codes::KIND, message, span, help);
    }
    let written = format!("load({})", eval.sources.slice(span));
    eval.fail(Diagnostic::error(codes::KIND, message, place, "").with_fix(help, span, written))
}

/// The numbers of a list or a file.
pub(super) fn array(
    eval: &mut Eval<'_>,
    value: &Value,
    dtype: Option<Dtype>,
    span: Span,
) -> Evaluated<Array> {
    let written = match value {
        Value::Array(array) => {
            let Some(dtype) = dtype else { return Ok((**array).clone()) };
            if let Some(number) = array.outside(dtype) {
                let message = format!("`{dtype}` does not hold {number}, which is among these numbers");
                let wider = wider(dtype, number.to_f64());
                let range = range_text(dtype).map(|range| format!("{range}: ")).unwrap_or_default();
                let help = format!("{range}write `as {wider}` behind the shape");
                return eval.wrong(codes::VALUE, message, span, help);
            }
            return Ok(array.convert(dtype));
        }
        Value::Numbers(array) => (**array).clone(),
        Value::List(_) | Value::Number(_) => literal(eval, value, span)?,
        Value::Open | Value::OpenNumber(_) | Value::Mistake => return Err(Reported),
        other => {
            let message = format!("numbers are needed here, not {}", other.kind());
            if let Value::Text(path) = other {
                return path_of_numbers(eval, message, path, span);
            }
            let help = "write a list, `load(…)`, or a distribution such as `normal(1)`";
            return eval.wrong(codes::KIND, message, span, help);
        }
    };
    let (to, dtype) = (dtype.unwrap_or(Dtype::F64), dtype.unwrap_or(Dtype::F32));
    if let Some(number) = written.to_f64s().into_iter().find(|number| !holds(dtype, *number)) {
        let is_large = dtype == Dtype::I64 && number.fract() == 0.0 && number.abs() > LARGEST_WRITTEN;
        let message = match is_large {
            true => format!(
                "{number} is too large to be written in a program: whole numbers go up to {LARGEST_WRITTEN}"
            ),
            false => format!("`{dtype}` does not hold {}", number_text(number)),
        };
        let help = match range_text(dtype) {
            _ if is_large => {
                "keep such numbers in a file, `load(\"numbers.npy\")`, or give them when the program is run"
                    .into()
            }
            None => "write `as f64` behind the shape, or a smaller number".into(),
            Some(range) if number.fract() == 0.0 => {
                let wide = wider(dtype, number);
                format!("{range}: write `as {wide}` behind the shape")
            }
            Some(_) => "write whole numbers, or `as f32` behind the shape".to_string(),
        };
        return eval.wrong(codes::VALUE, message, span, help);
    }
    Ok(written.convert(to))
}

/// The places of the first part of a list and of another one, if it is written at a place and these are its own parts.
fn written_parts(eval: &Eval<'_>, value: &Value, span: Span, at: usize) -> Option<[Span; 2]> {
    let file = &eval.frame.file;
    let list = file.exprs.iter().find(|expr| expr.span == span && eval.place(span) == span)?;
    let (ExprKind::List(parts), Value::List(items)) = (&list.kind, value) else { return None };
    let is_list = |part: ExprId| matches!(file.expr(part).kind, ExprKind::List(_));
    let (first, other) = (*parts.first()?, *parts.get(at)?);
    let is_it = parts.len() == items.len() && is_list(first) && is_list(other);
    is_it.then(|| [first, other].map(|part| file.expr(part).span))
}

/// The numbers of nested lists, as 64-bit floats.
fn literal(eval: &mut Eval<'_>, value: &Value, span: Span) -> Evaluated<Array> {
    let (mut sizes, mut numbers) = (Vec::new(), Vec::new());
    if !gather(value, 0, &mut sizes, &mut numbers) {
        if numbers.len() > MOST_NUMBERS {
            let message = "this list has more than 10,000,000 numbers, too many to be written in a program";
            let help = "keep them in a file, `load(\"numbers.npy\")`, or give them when the program is run";
            return eval.wrong(codes::VALUE, message, span, help);
        }
        if let Value::List(items) = value
            && items.iter().any(|item| matches!(item, Value::Tensor(_)))
        {
            let message = format!("a list of {} tensors is not one tensor", items.len());
            let help = format!(
                "take them one by one, `{}[0]`; `stack` and `concat` join tensors that fit each other, and `broadloom check` shows all parameters",
                eval.quote(span)
            );
            return eval.wrong(codes::KIND, message, span, help);
        }
        let message = match uneven(value) {
            Some((first, other, at)) => {
                let message = format!(
                    "the parts of this list are not equally long: part 0 has {first} items, part {at} has {other}"
                );
                if let Some([whole, part]) = written_parts(eval, value, span, at) {
                    let label = format!("{other} {}", if other == 1 { "item" } else { "items" });
                    let help = format!("write {first} items in each part, or as many in all of them");
                    let diagnostic = Diagnostic::error(codes::KIND, message, part, label);
                    return eval.fail(diagnostic.with_label(whole, format!("{first} items")).with_help(help));
                }
                message
            }
            None => match no_number(value) {
                Some(part @ (Value::Size(_) | Value::Position(_))) => {
                    let message = format!(
                        "numbers are needed here, and {} is among the parts of this list",
                        part.kind()
                    );
                    let list = if eval.place(span) == span { eval.quote(span) } else { "[n, 1]".into() };
                    let help =
                        format!("what is computed stands in an expression: `let z = {list}` is a tensor");
                    return eval.wrong(codes::KIND, message, span, help);
                }
                Some(part) => {
                    format!("the parts of this list are not all numbers: {} is among them", part.kind())
                }
                None => "the parts of this list are not of one shape".to_string(),
            },
        };
        let help =
            "a list of numbers is a tensor if its parts have one shape; `concat` and `stack` join tensors";
        return eval.wrong(codes::KIND, message, span, help);
    }
    match Array::from_slice(&sizes, &numbers) {
        Ok(array) => Ok(array),
        Err(error) => eval.wrong(codes::VALUE, error.message, span, ""),
    }
}

/// The largest number of numbers in a list that becomes a tensor.
const MOST_NUMBERS: usize = 10_000_000;

/// Finds two parts of a list with different lengths: the length of the first, the length of the
/// other, and its index.
fn uneven(value: &Value) -> Option<(usize, usize, usize)> {
    uneven_but(value, &mut HashSet::new())
}

/// The same, skipping lists that were seen before: a list may be part of another many times.
fn uneven_but(value: &Value, seen: &mut HashSet<*const Value>) -> Option<(usize, usize, usize)> {
    let Value::List(items) = value else { return None };
    if !seen.insert(items.as_ptr()) {
        return None;
    }
    let length = |value: &Value| if let Value::List(items) = value { Some(items.len()) } else { None };
    let first = length(items.first()?)?;
    let other = items.iter().enumerate().find_map(|(at, item)| {
        let other = length(item).filter(|other| *other != first)?;
        Some((first, other, at))
    });
    other.or_else(|| items.iter().find_map(|item| uneven_but(item, seen)))
}

/// True of a number, and of a list of nothing else.
pub(super) fn is_of_numbers(value: &Value) -> bool {
    no_number(value).is_none()
}

/// The first part of nested lists that is neither a number nor a list.
fn no_number(value: &Value) -> Option<&Value> {
    fn inside<'v>(value: &'v Value, seen: &mut HashSet<*const Value>) -> Option<&'v Value> {
        match value {
            Value::Number(_) | Value::Range(..) => None,
            Value::List(items) if !seen.insert(items.as_ptr()) => None,
            Value::List(items) => items.iter().find_map(|item| inside(item, seen)),
            other => Some(other),
        }
    }
    inside(value, &mut HashSet::new())
}

/// Collects the numbers of nested lists. Returns false if they do not form a box, or are too many.
fn gather(value: &Value, depth: usize, sizes: &mut Vec<u64>, numbers: &mut Vec<f64>) -> bool {
    match value {
        Value::Number(number) => {
            numbers.push(*number);
            depth == sizes.len() && numbers.len() <= MOST_NUMBERS
        }
        Value::List(items) => {
            let size = items.len() as u64;
            // Sizes are those of the first parts, and all other parts must agree.
            if numbers.is_empty() && depth == sizes.len() {
                sizes.push(size);
            }
            sizes.get(depth) == Some(&size)
                && size > 0
                && items.iter().all(|item| gather(item, depth + 1, sizes, numbers))
        }
        Value::Range(from, to) => {
            // One more than there may be is enough to know that they are too many.
            let to = (*to).min(from.saturating_add(MOST_NUMBERS as i64 + 1));
            let items: Vec<Value> = (*from..to).map(|at| Value::Number(at as f64)).collect();
            gather(&Value::List(items.into()), depth, sizes, numbers)
        }
        _ => false,
    }
}
