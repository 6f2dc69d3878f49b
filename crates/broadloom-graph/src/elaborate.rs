//! From a spec to constraints: the one module that gives specs their meaning for shapes.

use broadloom_core::{Affine, Constraint, DimTerm, Role, RowVar};
use broadloom_spec::{self as spec, AxisKind, ComponentKind, Kind};
use smallvec::SmallVec;

use crate::error::{Error, ErrorKind};
use crate::notation::{KnownSpec, Notation};
use crate::operation::id::OperationId;
use crate::spec_options::{Accumulate, SpecOptions};
use crate::spec_window::MissingPart;
use crate::step::{Aspect, Choice, Op, RowRef, Rows, Tensor, place};
use crate::{Graph, names, spec_composed, spec_window};

/// The variables of one use of a spec.
struct Vars {
    labels: SmallVec<[DimTerm; 12]>,
    /// The rows of `...` by kind, then the named ones; made when first needed.
    rows: SmallVec<[Option<RowRef>; 6]>,
}

/// An affine axis of which everything but the sizes is known.
struct Window {
    form: Affine,
    over: DimTerm,
    kernel: Option<DimTerm>,
}

/// An operation by a spec; with a number of results if the caller expects one.
pub(crate) fn by_spec(
    graph: &mut Graph,
    text: Notation<'_>,
    operands: &[Tensor],
    options: &SpecOptions<'_>,
    results: Option<usize>,
) -> Result<Vec<Tensor>, Error> {
    let made = by_spec_to(graph, text, operands, options, results, None);
    graph.refusing(made)
}

/// An assignment by a spec, into an existing tensor or into a new one.
pub(crate) fn by_spec_into(
    graph: &mut Graph,
    text: Notation<'_>,
    operands: &[Tensor],
    target: Option<Tensor>,
    accumulate: Accumulate,
) -> Result<Tensor, Error> {
    let options = SpecOptions { operation: Some(OperationId::Assign), accumulate, ..SpecOptions::default() };
    let made = by_spec_to(graph, text, operands, &options, Some(1), target);
    let made = graph.refusing(made)?;
    made.first().copied().ok_or_else(|| Error::new(ErrorKind::Use, "the spec has no result"))
}

fn by_spec_to(
    graph: &mut Graph,
    text: Notation<'_>,
    operands: &[Tensor],
    options: &SpecOptions<'_>,
    results: Option<usize>,
    target: Option<Tensor>,
) -> Result<Vec<Tensor>, Error> {
    target.map_or(Ok(()), |target| graph.known(target))?;
    let usual = if results.is_none() { OperationId::Split } else { OperationId::Einsum };
    let id = options.operation.unwrap_or(usual);
    let known = match graph.known_spec(text) {
        Ok(known) => known,
        Err(error) => return Err(error.about(&names::misread(graph, id.name(), operands))),
    };
    let spec = graph.spec(known);
    check_arity(graph, &spec, operands, results)?;
    check_options(&spec, options)?;
    spec_composed::check_rows(&spec)?;
    let choice = choice(graph, options)?;
    let before = graph.begin(operands)?;
    let mut vars = vars(graph, &spec);
    let rows = match spec_constraints(graph, &spec, operands, options, &mut vars) {
        Ok(rows) => rows,
        Err(error) => {
            graph.take_back(before);
            return Err(error);
        }
    };
    let made: Vec<Tensor> = match target {
        None => rows.into_iter().map(|rows| graph.tensor(rows)).collect(),
        Some(target) => {
            let there = graph.rows(target);
            for (kind, rows) in Kind::ALL.into_iter().flat_map(|kind| rows.first().map(|rows| (kind, rows))) {
                let at = place(kind);
                graph.equate_rows(there[at], rows[at], operands.len(), Aspect::Row(kind));
            }
            vec![target]
        }
    };
    let (labels, first_row) = (graph.labels.len() as u32, graph.spec_rows.len() as u32);
    graph.labels.extend_from_slice(&vars.labels);
    graph.spec_rows.extend(vars.rows.iter().map(|row| row.unwrap_or(RowRef::EMPTY)));
    let accumulate = options.accumulate;
    let combine = options.combine;
    let op = Op::Einsum { id, spec: known, labels, rows: first_row, choice, accumulate, combine };
    let Some(first) = made.first() else {
        return Err(Error::new(ErrorKind::Use, "the spec has no result"));
    };
    let step = graph.op_step(op, operands, *first, made.len() as u16);
    graph.finish(before, step)?;
    Ok(made)
}

/// The number of these options among the graph's choices, counted from 1; 0 if nothing was
/// chosen. A program repeats a few, so a linear search is enough, the latest first.
fn choice(graph: &mut Graph, options: &SpecOptions<'_>) -> Result<u16, Error> {
    if options.padding.is_none() && options.coefficients.is_empty() {
        return Ok(0);
    }
    let same = |choice: &Choice| {
        let given = options.coefficients.iter().copied();
        choice.padding == options.padding
            && choice.coefficients.iter().map(|(name, value)| (&**name, *value)).eq(given)
    };
    let at = graph.choices.iter().rposition(same).unwrap_or(graph.choices.len());
    let number = u16::try_from(at + 1).map_err(|_| {
        Error::new(ErrorKind::GaveUp, "specs are used with more than 65535 different options")
    })?;
    if at == graph.choices.len() {
        let coefficients = options.coefficients.iter().map(|(name, value)| ((*name).into(), *value));
        graph.choices.push(Choice { padding: options.padding, coefficients: coefficients.collect() });
    }
    Ok(number)
}

fn check_arity(
    graph: &Graph,
    spec: &KnownSpec,
    operands: &[Tensor],
    results: Option<usize>,
) -> Result<(), Error> {
    let (text, wanted) = (&spec.text, spec.spec.operands.len());
    if wanted != operands.len() {
        let message = format!(
            "the spec `{text}` is for {}, but {} given",
            count(wanted, "operand"),
            if operands.len() == 1 { "1 is".into() } else { format!("{} are", operands.len()) },
        );
        let names: Vec<String> =
            operands.iter().map(|tensor| format!("`{}`", names::label_of(graph, *tensor))).collect();
        let help = "operands are separated by `;` before `=>`: `a; b => c` is for two";
        return Err(Error::new(ErrorKind::Use, message)
            .with_end(format!("given: {}", names.join(", ")))
            .with_help(help));
    }
    match results {
        Some(1) if spec.spec.results.len() != 1 => {
            let message =
                format!("the spec `{text}` has {} results, one is expected", spec.spec.results.len());
            Err(Error::new(ErrorKind::Use, message).with_help("to take a tensor apart, use `split`"))
        }
        _ => Ok(()),
    }
}

fn vars(graph: &mut Graph, known: &KnownSpec) -> Vars {
    let label = |discardable: &bool| {
        let solver = &mut graph.solver;
        let var = if *discardable {
            solver.discardable_var(Role::Interior)
        } else {
            solver.dim_var(Role::Interior)
        };
        var.into()
    };
    let labels = known.discardable.iter().map(label).collect();
    Vars { labels, rows: smallvec::smallvec![None; 3 + known.spec.names.rows.len()] }
}

/// The constraints of a use of a spec, and the rows of its results.
fn spec_constraints(
    graph: &mut Graph,
    known: &KnownSpec,
    operands: &[Tensor],
    options: &SpecOptions<'_>,
    vars: &mut Vars,
) -> Result<SmallVec<[Rows; 1]>, Error> {
    let mut place = 0;
    let mut results = SmallVec::new();
    for (slot, shape) in known.spec.shapes().enumerate() {
        let own = operands.get(slot).map(|tensor| graph.rows(*tensor));
        let mut rows = [RowRef::EMPTY; 3];
        for kind in Kind::ALL {
            let row = shape.row(kind);
            if let (Some(row), Some(own)) = (row, own)
                && stands_for(graph, row, kind, own[kind as usize], vars)
            {
                continue;
            }
            let written = match row {
                Some(row) => spec_row(graph, known, row, kind, slot, &mut place, options, vars)?,
                None => RowRef::EMPTY,
            };
            rows[kind as usize] = written;
            if let Some(own) = own {
                graph.equate_rows(written, own[kind as usize], slot, Aspect::Row(kind));
            }
        }
        if own.is_none() {
            results.push(rows);
        }
    }
    Ok(results)
}

/// The first time a row that is only a hole occurs, it stands for the operand's row, and needs
/// no constraint. The exception is an operand that broadcasts in its middle, because the result
/// has to broadcast where its spec says.
fn stands_for(graph: &Graph, row: &spec::Row<spec::Axis>, kind: Kind, own: RowRef, vars: &mut Vars) -> bool {
    let bare = row.axes().next().is_none();
    match row.hole().map(|hole| spec_window::row_index(hole.variable, kind)) {
        Some(index) if bare && vars.rows[index].is_none() && graph.marker(own) == 0 => {
            vars.rows[index] = Some(own);
            true
        }
        _ => false,
    }
}

#[allow(clippy::too_many_arguments)] // one walk over the spec, with its state
fn spec_row(
    graph: &mut Graph,
    known: &KnownSpec,
    row: &spec::Row<spec::Axis>,
    kind: Kind,
    slot: usize,
    place: &mut u16,
    options: &SpecOptions<'_>,
    vars: &mut Vars,
) -> Result<RowRef, Error> {
    let mut axes: SmallVec<[DimTerm; 6]> = SmallVec::new();
    for axis in row.axes() {
        axes.push(match &axis.kind {
            AxisKind::Composed(parts) => composed_axis(graph, known, parts, kind, (slot, *place), vars),
            _ => spec_axis(graph, known, axis, slot, *place, options, vars)?,
        });
        *place += 1;
    }
    let hole = row.hole().map(|hole| row_of_variable(graph, &mut vars.rows, hole.variable, kind));
    Ok(around(graph, &axes, row.lead().len(), hole))
}

/// The row that a row variable stands for, made when it is first needed.
fn row_of_variable(
    graph: &mut Graph,
    rows: &mut [Option<RowRef>],
    variable: spec::RowVariable,
    kind: Kind,
) -> RowRef {
    let row = &mut rows[spec_window::row_index(variable, kind)];
    *row.get_or_insert_with(|| RowRef::var(graph.fresh_row(Role::Interior, 0)))
}

fn composed_axis(
    graph: &mut Graph,
    known: &KnownSpec,
    parts: &[spec::Part],
    kind: Kind,
    at: (usize, u16),
    vars: &mut Vars,
) -> DimTerm {
    let Vars { labels, rows } = vars;
    let row = |graph: &mut Graph, variable| row_of_variable(graph, rows, variable, kind);
    spec_composed::composed_axis(graph, known, parts, at, |label| labels[label.0 as usize], row)
}

/// A row with axes around the axes that a hole stands for.
fn around(graph: &mut Graph, axes: &[DimTerm], lead: usize, hole: Option<RowRef>) -> RowRef {
    let Some(inner) = hole else { return row_of(graph, axes, 0, None) };
    if axes.is_empty() {
        return inner;
    }
    let (before, after) = inner.flanks(&graph.axes);
    let all: SmallVec<[DimTerm; 8]> =
        [&axes[..lead], before, after, &axes[lead..]].into_iter().flatten().copied().collect();
    // A closed row broadcasts where the hole was.
    row_of(graph, &all, lead + before.len(), inner.hole)
}

/// A row with its axes in the arena.
fn row_of(graph: &mut Graph, axes: &[DimTerm], lead: usize, hole: Option<RowVar>) -> RowRef {
    let start = graph.axes.len() as u32;
    graph.axes.extend_from_slice(axes);
    RowRef { start, lead: lead as u16, trail: (axes.len() - lead) as u16, hole }
}

/// The dimension of an axis of a spec, with the constraints that it brings.
fn spec_axis(
    graph: &mut Graph,
    known: &KnownSpec,
    axis: &spec::Axis,
    slot: usize,
    place: u16,
    options: &SpecOptions<'_>,
    vars: &Vars,
) -> Result<DimTerm, Error> {
    let label = |id: spec::AxisId| vars.labels[id.0 as usize];
    let part = Aspect::Axis(place);
    Ok(match &axis.kind {
        AxisKind::Label(id) => label(*id),
        AxisKind::Wildcard | AxisKind::Composed(_) => graph.solver.dim_var(Role::Interior).into(),
        AxisKind::Fixed(0) if known.spec.keeps => DimTerm::UNIT,
        AxisKind::Fixed(index) => {
            let term = graph.solver.dim_var(Role::Interior).into();
            if *index > 0 {
                graph.constrain(Constraint::AtLeast(term, index.saturating_add(1)), slot, part);
            }
            term
        }
        AxisKind::Affine(affine) => {
            let Window { form, over, kernel } = window(known, affine, options, vars)?;
            if form.stride == 1 && form.equation() == (0, 0) {
                // In a padded window at stride 1 the axis itself is iterated.
                return Ok(over);
            }
            let axis = graph.solver.dim_var(Role::Interior).into();
            graph.constrain(Constraint::Affine { axis, form, over, kernel }, slot, part);
            axis
        }
        AxisKind::Concat(components) => {
            let axis = graph.solver.dim_var(Role::Interior).into();
            let mut parts = std::mem::take(&mut graph.scratch);
            parts.clear();
            let mut literal = 0;
            for component in components {
                match component.kind {
                    ComponentKind::Label(id) => parts.push(label(id)),
                    ComponentKind::Size(size) => literal += size.get(),
                    ComponentKind::Wildcard => parts.push(graph.solver.dim_var(Role::Interior).into()),
                }
            }
            graph.constrain(Constraint::Concat { axis, components: &parts, literal }, slot, part);
            graph.scratch = parts;
            axis
        }
    })
}

fn window(
    known: &KnownSpec,
    affine: &spec::Affine,
    options: &SpecOptions<'_>,
    vars: &Vars,
) -> Result<Window, Error> {
    let value = |name: &str| Some(options.coefficients.iter().find(|(given, _)| *given == name)?.1);
    let form =
        spec_window::window_form(known, affine, options.padding, value).map_err(|open| match open {
            MissingPart::Value(name) => missing_value(known, name, options),
            MissingPart::Padding(kernel) => missing_padding(known, affine, kernel),
        })?;
    let over = vars.labels[affine.over.label.0 as usize];
    let kernel = affine.kernel.map(|kernel| vars.labels[kernel.term.label.0 as usize]);
    Ok(Window { form, over, kernel })
}

/// Refuses options that the spec has no use for.
fn check_options(known: &KnownSpec, options: &SpecOptions<'_>) -> Result<(), Error> {
    let (text, names) = (&known.text, &known.spec.names.coefficients);
    let given = options.coefficients;
    if let Some((name, _)) = given.iter().find(|(_, value)| *value == 0) {
        return Err(Error::new(ErrorKind::Use, format!("`{name}` is 0 in the spec `{text}`"))
            .with_help("strides and dilations are at least 1"));
    }
    // If a value is missing as well, the other message is better: one name is a slip for the other.
    let complete = names.iter().all(|(_, name)| given.iter().any(|(given, _)| **given == *name.text));
    let unused = given.iter().find(|(name, _)| names.find(name).is_none());
    if let Some((name, value)) = unused.filter(|_| complete) {
        let message = format!("`{name}` is given the value {value}, but is not in the spec `{text}`");
        return Err(Error::new(ErrorKind::Use, message).with_help(format!(
            "a stride or dilation is written `{name}*o` in the spec; leave it out if none is meant"
        )));
    }
    let leaves_open = |axis: &spec::Axis| match &axis.kind {
        AxisKind::Affine(affine) => {
            affine.kernel.is_some_and(|kernel| kernel.padding == spec::Padding::Unmarked)
        }
        _ => false,
    };
    if options.padding.is_some() && !known.spec.shapes().flat_map(|shape| shape.axes()).any(leaves_open) {
        let message = format!("padding is chosen, but the spec `{text}` has no window that leaves it open");
        return Err(Error::new(ErrorKind::Use, message)
            .with_help("`o+k` leaves it open; `o=+k`, `o<+k` and `o~+k` say what they do at the ends: leave the choice out"));
    }
    Ok(())
}

fn missing_value(known: &KnownSpec, name: &str, options: &SpecOptions<'_>) -> Error {
    let message = format!("the spec `{}` does not say how large `{name}` is", known.text);
    let error = Error::new(ErrorKind::Use, message);
    let given: Vec<String> = options.coefficients.iter().map(|(given, _)| format!("`{given}`")).collect();
    let error = if given.is_empty() { error } else { error.with_end(format!("given: {}", given.join(", "))) };
    error.with_help(format!("give `{name}` a value, or write a number in its place"))
}

fn missing_padding(known: &KnownSpec, affine: &spec::Affine, kernel: spec::Kernel) -> Error {
    let over = known.spec.names.axes.text(affine.over.label);
    let kernel = known.spec.names.axes.text(kernel.term.label);
    let message =
        format!("the spec `{}` does not say what the window over `{over}` does at the ends", known.text);
    let help = format!(
        "write `{over}=+{kernel}` to pad the axis, `{over}<+{kernel}` to keep every window inside it, or `{over}~+{kernel}` to \
         drop what is left over as well"
    );
    Error::new(ErrorKind::Use, message).with_help(help)
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
