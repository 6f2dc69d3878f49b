//! Specs that may not say what is meant: axes that
//! are summed alone, positions that look like sizes.

use broadloom_diagnostics::{Diagnostic, Edit};
use broadloom_spec::{AxisKind, Hole, Kind, RowVariable, Shape, Spec};

use crate::codes;
use crate::program::{Program, Written};

/// Checks the specs that the program itself writes.
pub(super) fn specs(program: &Program) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for written in &program.specs {
        found.extend(summed_alone(written));
        found.extend(in_result_only(written));
        found.extend(open_in_result_only(written));
        found.extend(positions(written));
    }
    found
}

/// Labels and rows that stand in one of several operands and nowhere else: they are summed before
/// anything is multiplied. Parts of concatenations and windows have sizes of their own and are left
/// out; `_` in place of a label says that it is meant.
fn summed_alone(written: &Written) -> Vec<Diagnostic> {
    let spec = &written.spec;
    if spec.operands.len() < 2 {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (at, operand) in spec.operands.iter().enumerate() {
        let elsewhere = || {
            let others = spec.operands.iter().enumerate().filter(move |(other, _)| *other != at);
            others.map(|(_, shape)| shape).chain(&spec.results)
        };
        let mut seen = Vec::new();
        for axis in operand.axes() {
            let AxisKind::Label(label) = axis.kind else { continue };
            let in_sum = |axis: &broadloom_spec::Axis| {
                !matches!(axis.kind, AxisKind::Label(_)) && axis.labels().any(|other| other == label)
            };
            let mentioned = |shape: &Shape<_>| shape.axes().any(|axis| has_label(axis, label));
            if seen.contains(&label) || operand.axes().any(in_sum) || elsewhere().any(mentioned) {
                continue;
            }
            seen.push(label);
            found.push((at, spec.names.axes.text(label).to_string(), axis.span));
        }
        for hole in operand.rows().filter_map(|(_, row)| row.hole()) {
            let RowVariable::Named(name) = hole.variable else { continue };
            let has = |shape: &Shape<_>| shape.row_variables().any(|(_, variable)| variable == hole.variable);
            if !elsewhere().any(has) {
                found.push((at, format!("..{}..", spec.names.rows.text(name)), hole.span));
            }
        }
    }
    // Two labels in two operands were probably meant as one.
    if let [(a, first, place), (b, second, other)] = &found[..]
        && a != b
        && !first.starts_with("..")
        && !second.starts_with("..")
    {
        let message = format!("`{first}` and `{second}` are each summed alone");
        let (place, other) = (written.place(*place), written.place(*other));
        let help = format!(
            "to contract them, write one label for both, `{first}`; if it is meant, write `_` in their places"
        );
        let diagnostic =
            Diagnostic::warning(codes::ALONE, message, other, "no other operand has it, nor the result");
        let diagnostic = diagnostic.with_label(place, "nor this one").with_help(help);
        return vec![match written.literal {
            true => diagnostic.fixed_by(format!("write `{first}`"), vec![Edit::new(other, first.as_str())]),
            false => diagnostic,
        }];
    }
    let diagnostic = |(at, name, span): (usize, String, broadloom_spec::Span)| {
        let which = ordinal(at, spec);
        let message = format!("`{name}` is only in the {which} operand, and is summed alone there");
        let label = "neither the result nor another operand has it";
        let instead = if name.starts_with("..") { "sum it first" } else { "write `_` in its place" };
        let help =
            format!("if it is meant, {instead}; otherwise write it in the result, or in another operand");
        let place = written.place(span);
        let diagnostic = Diagnostic::warning(codes::ALONE, message, place, label).with_help(help);
        match written.literal && !name.starts_with("..") {
            true => diagnostic.fixed_by("write `_` in its place", vec![Edit::new(place, "_")]),
            false => diagnostic,
        }
    };
    found.into_iter().map(diagnostic).collect()
}

/// Labels that only a result has, in a spec that sums others: one of them was probably meant.
fn in_result_only(written: &Written) -> Vec<Diagnostic> {
    let spec = &written.spec;
    let label = |axis: &broadloom_spec::Axis| match axis.kind {
        AxisKind::Label(label) => Some((label, axis.span)),
        _ => None,
    };
    let has = |shapes: &[Shape<broadloom_spec::Axis>], wanted| {
        shapes.iter().any(|shape| shape.axes().any(|axis| has_label(axis, wanted)))
    };
    let operands = || spec.operands.iter().flat_map(|shape| shape.axes()).filter_map(label);
    let summed = || operands().map(|(label, _)| label).filter(|label| !has(&spec.results, *label));
    // A label that is not contracted with another is the likelier one.
    let is_alone =
        |wanted: &broadloom_spec::AxisId| operands().filter(|(label, _)| label == wanted).count() == 1;
    let Some(summed) = summed().find(is_alone).or_else(|| summed().next()) else {
        return Vec::new();
    };
    let results = spec.results.iter().flat_map(|shape| shape.axes()).filter_map(label);
    let new = results.filter(|(label, _)| !has(&spec.operands, *label));
    let diagnostic = |(label, span): (broadloom_spec::AxisId, broadloom_spec::Span)| {
        let [name, summed] = [label, summed].map(|label| spec.names.axes.text(label));
        let message = format!("`{name}` is only in the result");
        let text = format!("no operand has it, and `{summed}` is summed");
        let help =
            format!("write a label of an operand, such as `{summed}`, or `0` for an axis of one element");
        Diagnostic::warning(codes::ALONE, message, written.place(span), text).with_help(help)
    };
    new.map(diagnostic).collect()
}

/// `...` or `..r..` that only a result has, in a spec that sums others: `"... | i => ..."` sums the batch axes, because the
/// `...` of the result is that of its output.
fn open_in_result_only(written: &Written) -> Vec<Diagnostic> {
    let spec = &written.spec;
    let open = |shape: &Shape<broadloom_spec::Axis>| -> Vec<(Option<Kind>, Hole)> {
        let rows = shape.rows().filter_map(|(kind, row)| Some((kind, row.hole()?)));
        // `..r..` is one variable in rows of any kind.
        rows.map(|(kind, hole)| ((hole.variable == RowVariable::Ellipsis).then_some(kind), hole)).collect()
    };
    let all = |shapes: &[Shape<broadloom_spec::Axis>]| shapes.iter().flat_map(&open).collect::<Vec<_>>();
    let (operands, results) = (all(&spec.operands), all(&spec.results));
    let is_in = |(kind, hole): &(Option<Kind>, Hole), others: &[(Option<Kind>, Hole)]| {
        others.iter().any(|(other, open)| other == kind && open.variable == hole.variable)
    };
    let Some(summed) = operands.iter().find(|each| !is_in(each, &results)) else { return Vec::new() };
    let said = |(kind, hole): &(Option<Kind>, Hole)| match (kind, hole.variable) {
        (Some(kind), _) => format!("`...` for the {}", kind.name()),
        (None, RowVariable::Named(name)) => format!("`..{}..`", spec.names.rows.text(name)),
        (None, RowVariable::Ellipsis) => "`...`".to_string(),
    };
    let new = results.iter().filter(|each| !is_in(each, &operands));
    let diagnostic = |each: &(Option<Kind>, Hole)| {
        let message = format!("{} is only in the result", said(each));
        let text = format!("no operand has it, and {} is summed", said(summed));
        let help = match summed {
            (Some(Kind::Batch), _) => "to keep the batch axes, write `... |` in the result".to_string(),
            (Some(kind), _) => format!("to keep them, write `...` for the {} in the result", kind.name()),
            _ => format!("to keep them, write {} in the result", said(summed)),
        };
        Diagnostic::warning(codes::ALONE, message, written.place(each.1.span), text).with_help(help)
    };
    new.map(diagnostic).collect()
}

fn has_label(axis: &broadloom_spec::Axis, label: broadloom_spec::AxisId) -> bool {
    axis.labels().any(|other| other == label)
}

/// `first`, `second`, …
fn ordinal(at: usize, spec: &Spec) -> String {
    match at {
        _ if at + 1 == spec.operands.len() && at > 1 => "last".into(),
        0 => "first".into(),
        1 => "second".into(),
        2 => "third".into(),
        _ => format!("{}th", at + 1),
    }
}

/// Numbers from 1 upwards that stand by themselves in a result: positions of an axis that is longer than that.
fn positions(written: &Written) -> Vec<Diagnostic> {
    let axes = written.spec.results.iter().flat_map(|shape| shape.axes());
    let diagnostic = |axis: &broadloom_spec::Axis| {
        let AxisKind::Fixed(at) = axis.kind else { return None };
        if at == 0 {
            return None;
        }
        let message = format!("`{at}` in a result is a position, not a size");
        let label = format!("an axis of {} elements, of which all but the last are 0", at + 1);
        let help = match at {
            1 => "write `0` for an axis of one element".to_string(),
            _ => format!("write a label for an axis of size {at}, and `set` its size"),
        };
        let place = written.place(axis.span);
        let diagnostic = Diagnostic::warning(codes::POSITION, message, place, label).with_help(help);
        Some(match at == 1 && written.literal {
            true => diagnostic.fixed_by("write `0`", vec![Edit::new(place, "0")]),
            false => diagnostic,
        })
    };
    axes.filter_map(diagnostic).collect()
}
