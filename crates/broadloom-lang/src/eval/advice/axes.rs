//! The shapes that name an axis of a tensor, for advice.

use broadloom::Tensor;

use crate::eval::Eval;

/// The shape that names one axis of a tensor, as a text: `"... | t"`. The axis is given by its number in memory order, as other
/// libraries number axes, or is the last one. If the axes are not known, or the shape cannot say which one is meant, it is
/// the last output axis.
pub(in crate::eval) fn one_axis(eval: &Eval<'_>, tensor: Tensor, at: Option<i64>, label: char) -> String {
    let usual = format!("\"... | {label}\"");
    let [batch, input, output] = eval.graph.shape(tensor).rows;
    if [&batch, &input, &output].iter().any(|row| row.open) {
        return usual;
    }
    let [batch, output, input] = [batch, output, input].map(|row| row.lead.len());
    let counted = |at: i64| if at < 0 { at + (batch + output + input) as i64 } else { at };
    let last = (batch + output).checked_sub(1);
    let at = at.and_then(|at| usize::try_from(counted(at)).ok()).or(last).unwrap_or_default();
    let (output_at, input_at) = (at.checked_sub(batch), at.checked_sub(batch + output));
    let others = |count: usize| if count > 0 { "..." } else { "" };
    let before = if batch > 0 { "... | " } else { "" };
    let arrow = if input > 0 { "... -> " } else { "" };
    let shape = match (output_at, input_at) {
        (None, _) => row(at, batch, label).map(|row| format!("{row} | {arrow}{}", others(output))),
        (Some(at), None) => row(at, output, label).map(|row| format!("{before}{arrow}{row}")),
        (_, Some(at)) => row(at, input, label).map(|row| format!("{before}{row} -> {}", others(output))),
    };
    shape.map_or(usual, |shape| format!("\"{}\"", shape.trim()))
}

/// A row of axes with a label for one of them: the first or the last, and `...` for the others.
fn row(at: usize, count: usize, label: char) -> Option<String> {
    match (at, count) {
        (0, 1) => Some(label.to_string()),
        _ if at + 1 == count => Some(format!("..., {label}")),
        (0, _) if count > 0 => Some(format!("{label}, ...")),
        _ => None,
    }
}
