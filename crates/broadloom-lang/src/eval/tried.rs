//! Functions of the language with arguments of which nothing is known: they are tried with values of each kind.

use broadloom::Tensor;
use broadloom_diagnostics::{Diagnostic, Span};

use super::builtin::Builtin;
use super::unknown::is_open;
use super::{Eval, Evaluated, Reported, unknown};
use crate::codes;
use crate::eval::given::{Call, Given};
use crate::language_function::LanguageFunction;
use crate::value::Value;

/// Functions of the language are tried with all combinations of kinds for so many open arguments.
const MOST_OPEN: usize = 2;

/// Texts of each kind that functions take: shapes that name an axis, specs, and choices.
const TEXTS: [&str; 6] = ["...", "... | t", "i => i", "i; i => i", "i j; j k => i k", "output"];

/// The function of the language that gives one of its arguments as it is, whatever that is: where a condition is a number.
const GIVES_ANYTHING: LanguageFunction = LanguageFunction::Where;

/// Applies a function of the language to arguments some of which are open. It is tried with values of each kind: where it
/// makes tensors of all that fit, it makes a tensor, and where none fits, for one and the same reason, that is the mistake.
pub(super) fn with_each_kind(
    eval: &mut Eval<'_>,
    builtin: &Builtin,
    given: Vec<Given>,
    span: Span,
) -> Evaluated<Value> {
    let open = given.iter().filter(|each| is_open(&each.value)).count();
    let first = given.iter().find(|each| is_open(&each.value)).map_or(span, |each| each.span);
    let kinds = samples(eval, first)?;
    let (mut fits, mut wrong) = (Vec::new(), Vec::new());
    let same = (0..kinds.len()).map(|kind| vec![kind; open]);
    let others = (0..kinds.len().pow(open as u32)).map(|number| {
        let digits = (0..open as u32).map(|place| number / kinds.len().pow(place) % kinds.len());
        digits.collect::<Vec<usize>>()
    });
    let others = others.filter(|_| open <= MOST_OPEN);
    for (at, chosen) in same.chain(others).enumerate() {
        // Other combinations only show whether any fits.
        if at >= kinds.len() && !fits.is_empty() {
            break;
        }
        let mut chosen = chosen.into_iter();
        let mut given = given.clone();
        for each in given.iter_mut().filter(|each| is_open(&each.value)) {
            let kind = &kinds[chosen.next().unwrap_or_default()];
            each.value = filled(&each.value, kind);
        }
        let (before, errors) = (eval.diagnostics.len(), eval.errors);
        match (builtin.apply)(eval, &Call { function: builtin.function, given, span }) {
            Ok(value) => fits.push(value),
            Err(Reported) => wrong.push(eval.diagnostics.get(before).cloned()),
        }
        eval.diagnostics.truncate(before);
        eval.errors = errors;
    }
    match fits.split_first() {
        Some((first, _)) if fits.iter().all(|other| is_like(first, other)) && !is_empty(first) => {
            Ok(first.clone())
        }
        Some(_) if fits.iter().all(is_number) && builtin.function != GIVES_ANYTHING => {
            match fits.iter().find_map(tensor_of) {
                Some(tensor) => Ok(Value::OpenNumber(tensor)),
                None => unknown::number(eval, span),
            }
        }
        Some(_) => Ok(Value::Open),
        None if open > MOST_OPEN => Err(Reported),
        None => {
            let place =
                |diagnostic: &Diagnostic| (diagnostic.code, diagnostic.primary().map(|label| label.span));
            let known: Option<Vec<Diagnostic>> = wrong.into_iter().collect();
            let known = known.map(|known| of_right_kinds(known, &given));
            // The mistake may be that of another argument, which is known.
            let is_other = |diagnostic: &Diagnostic| {
                let inside =
                    |each: &&Given| diagnostic.primary().is_some_and(|label| label.span == each.span);
                given.iter().find(inside).is_some_and(|each| !is_open(&each.value))
            };
            match known.as_deref() {
                Some([first, rest @ ..])
                    if is_other(first) || rest.iter().all(|other| place(other) == place(first)) =>
                {
                    eval.fail(first.clone())
                }
                _ => Err(Reported),
            }
        }
    }
}

/// The mistakes of those kinds of values that the function takes at all, if it takes any: the others are wrong for that reason
/// alone.
fn of_right_kinds(wrong: Vec<Diagnostic>, given: &[Given]) -> Vec<Diagnostic> {
    let open = |span: Span| given.iter().any(|each| each.span == span && is_open(&each.value));
    let is_other_kind =
        |each: &Diagnostic| each.code == codes::KIND && each.primary().is_some_and(|label| open(label.span));
    match wrong.iter().all(is_other_kind) {
        true => wrong,
        false => wrong.into_iter().filter(|each| !is_other_kind(each)).collect(),
    }
}

/// Values of each kind that functions take.
fn samples(eval: &mut Eval<'_>, span: Span) -> Evaluated<Vec<Value>> {
    let tensor = eval.tensor(&Value::Open, span)?;
    let function = eval.names.find("relu").and_then(|name| eval.prelude.find(name));
    let list = Value::List([Value::Tensor(tensor), Value::Tensor(tensor)].into());
    let mut kinds = vec![Value::Tensor(tensor), Value::Number(2.0), Value::Number(0.5), list];
    kinds.extend(function);
    kinds.extend(TEXTS.iter().map(|text| Value::Text((*text).into())));
    Ok(kinds)
}

/// The same with something in the place of what is open.
fn filled(value: &Value, with: &Value) -> Value {
    match value {
        Value::Open => with.clone(),
        Value::OpenNumber(_) if is_number(with) => with.clone(),
        Value::OpenNumber(tensor) => Value::Tensor(*tensor),
        Value::List(items) => Value::List(items.iter().map(|item| filled(item, with)).collect()),
        value => value.clone(),
    }
}

/// Returns true of numbers, sizes and tensors.
fn is_number(value: &Value) -> bool {
    matches!(
        value,
        Value::Tensor(_) | Value::Number(_) | Value::Size(_) | Value::Position(_) | Value::OpenNumber(_)
    )
}

fn tensor_of(value: &Value) -> Option<Tensor> {
    if let Value::Tensor(tensor) = value { Some(*tensor) } else { None }
}

/// Returns true of a list without items: what is open has no parameters, for example, and what is given will have some.
fn is_empty(value: &Value) -> bool {
    matches!(value, Value::List(items) if items.is_empty())
}

/// Returns true of tensors, of first values, and of lists with such in the same places.
fn is_like(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Tensor(_), Value::Tensor(_)) | (Value::Initial(_), Value::Initial(_)) => true,
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(&**b).all(|(a, b)| is_like(a, b))
        }
        _ => false,
    }
}
