//! First values of parameters in messages.

use broadloom::Initial;

use crate::value::Value;

/// Describes two first values that differ.
pub(super) fn first_values(was: &Value, now: &Value) -> (String, String) {
    let (first, second) = (first_value(was), first_value(now));
    match (first, second) {
        (Some(first), Some(second)) if first != second => (first, second),
        _ => ("some first values".to_string(), "others".to_string()),
    }
}

/// First values as they are written, if they are short.
fn first_value(value: &Value) -> Option<String> {
    const SHORT: usize = 8;
    let call = |name: &str, numbers: &[f64]| {
        let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
        format!("`{name}({})`", numbers.join(", "))
    };
    Some(match value {
        Value::Number(number) => format!("the first value {number}"),
        Value::Initial(initial) => match &**initial {
            Initial::Constant(0.0) => "`zeros`".to_string(),
            Initial::Constant(1.0) => "`ones`".to_string(),
            Initial::Constant(number) => format!("the first value {number}"),
            Initial::Uniform { low, high } => call("uniform", &[*low, *high]),
            Initial::Normal { mean: 0.0, deviation } => call("normal", &[*deviation]),
            Initial::Normal { mean, deviation } => call("normal", &[*mean, *deviation]),
            Initial::Kaiming { gain } => call("kaiming", &[*gain]),
            Initial::KaimingNormal { gain } => call("kaiming_normal", &[*gain]),
            Initial::Xavier { gain } => call("xavier", &[*gain]),
            Initial::XavierNormal { gain } => call("xavier_normal", &[*gain]),
            Initial::Values(_) => return None,
        },
        Value::List(values) if values.len() <= SHORT => {
            let number = |value: &Value| match value {
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            };
            format!("`[{}]`", values.iter().map(number).collect::<Option<Vec<_>>>()?.join(", "))
        }
        Value::Numbers(array) if array.sizes().len() == 1 && array.len() <= SHORT => {
            let numbers: Vec<String> = array.to_f64s().iter().map(f64::to_string).collect();
            format!("`[{}]`", numbers.join(", "))
        }
        _ => return None,
    })
}
