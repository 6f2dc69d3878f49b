//! Reading the text of specs: the axis that a shape names, and the names that a result leaves out.

use broadloom::{Along, Kind};
use broadloom_spec::{Axis, AxisId, AxisKind, RowId, RowVariable, Shape, Spec, parse_over};

/// The axis that a shape names, the first or the last of its kind; `None` if it names another one, or several.
///
/// ```
/// use broadloom::{Along, Kind};
/// let last = Along::last(Kind::Output);
/// assert_eq!(broadloom_lang::named_axis("... | ..., t"), Some(Along { open: [true, false, true], ..last }));
/// assert_eq!(broadloom_lang::named_axis("... | s, t"), None);
/// ```
pub fn named_axis(text: &str) -> Option<Along> {
    let spec = parse_over(text).ok()?;
    let mut found = None;
    let mut open = [false; 3];
    for (kind, row) in spec.operands.first()?.rows() {
        open[kind as usize] = row.hole().is_some();
        let leads = match (row.lead(), &row.trail[..]) {
            ([], []) => continue,
            ([axis], []) if matches!(axis.kind, AxisKind::Label(_)) => true,
            ([], [axis]) if matches!(axis.kind, AxisKind::Label(_)) => false,
            _ => return None,
        };
        if found.replace((kind, leads)).is_some() {
            return None;
        }
    }
    found.map(|(kind, leads)| Along { kind, leads, open })
}

/// The names of a spec that its result leaves out, as a mean over them needs them: labels, rows, and the kinds whose plain `...` is not in the result.
///
/// ```
/// let spec = broadloom_spec::parse_spec("... | i, ..d.. => ... | i").map_err(|error| error.to_string())?;
/// assert_eq!(broadloom_lang::left_out(&spec), ["d"]);
/// # Ok::<(), String>(())
/// ```
pub fn left_out(spec: &Spec) -> Vec<String> {
    let labels = |shapes: &[Shape<Axis>]| -> Vec<AxisId> {
        shapes.iter().flat_map(|shape| shape.axes()).flat_map(|axis| axis.labels()).collect()
    };
    let rows = |shapes: &[Shape<Axis>]| -> Vec<RowVariable> {
        shapes.iter().flat_map(|shape| shape.row_variables()).map(|(_, variable)| variable).collect()
    };
    let (operands, results) = (&spec.operands[..], &spec.results[..]);
    let is_left = |label: AxisId| labels(operands).contains(&label) && !labels(results).contains(&label);
    let axes = spec.names.axes.iter().filter(|(label, _)| is_left(*label)).map(|(_, name)| name);
    let is_left = |row: RowId| {
        let row = RowVariable::Named(row);
        rows(operands).contains(&row) && !rows(results).contains(&row)
    };
    let rows = spec.names.rows.iter().filter(|(row, _)| is_left(*row)).map(|(_, name)| name);
    let mut names: Vec<String> = axes.chain(rows).map(|name| name.text.to_string()).collect();
    names.extend(left_out_kinds(spec));
    names
}

/// True if an operand has an axis without a name, `_`, which the result cannot have: a mean over it would need its size.
pub fn leaves_out_unnamed(spec: &Spec) -> bool {
    spec.operands.iter().flat_map(Shape::axes).any(|axis| axis.kind == AxisKind::Wildcard)
}

/// The kinds whose plain `...` is not in the result.
fn left_out_kinds(spec: &Spec) -> impl Iterator<Item = String> {
    let has =
        |shape: &Shape<Axis>, kind| shape.row_variables().any(|own| own == (kind, RowVariable::Ellipsis));
    let kinds = Kind::ALL.into_iter().filter(move |kind| {
        spec.operands.iter().any(|shape| has(shape, *kind))
            && !spec.results.iter().any(|shape| has(shape, *kind))
    });
    kinds.map(|kind| kind.name().to_string())
}
