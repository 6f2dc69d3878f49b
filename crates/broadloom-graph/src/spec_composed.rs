//! Composed axes of specs: `(h w)` is one axis of `h·w` elements, whose index is `h·W + w`.
//!
//! For sizes it is a count of elements, as of `reshape`: the parts have together as many as the axis. For loops, its parts are
//! joined in pairs, the last running fastest. So sizes follow from whatever is known: the axis from its parts, and a part from the
//! axis and the other parts.
//!
//! A composed axis of a result claims its size, also if that is 1, and so does a part of which nothing but composed axes says
//! anything: neither broadcasts. A part that is an axis of an operand, too, is what it is there.

use broadloom_core::projection::{AxisId, Equations};
use broadloom_core::{Affine, Constraint, DimTerm, Numerator, Piece, Role, RowVar};
use broadloom_spec::{self as spec, Kind, Part, PartKind, RowVariable, Shape};

use crate::error::{Error, ErrorKind};
use crate::notation::KnownSpec;
use crate::step::{Aspect, RowRef};
use crate::{Graph, spec_parts};

/// Refuses a row that stands in parentheses and nowhere else among the operands: nothing would say how many axes it has.
pub(crate) fn check_rows(known: &KnownSpec) -> Result<(), Error> {
    let spec = &known.spec;
    let is_open = |kind: Kind, variable: RowVariable| {
        let holes = spec.operands.iter().flat_map(Shape::rows);
        !holes
            .filter_map(|(own, row)| Some((own, row.hole()?.variable)))
            .any(|(own, other)| other == variable && (own == kind || variable != RowVariable::Ellipsis))
    };
    for shape in spec.shapes() {
        for (kind, part) in shape
            .rows()
            .flat_map(|(kind, row)| row.axes().flat_map(spec::Axis::parts).map(move |part| (kind, part)))
        {
            if let PartKind::Row(variable) = part.kind
                && is_open(kind, variable)
            {
                let row = known.written(part, part.span);
                let message =
                    format!("nothing says how many axes `{row}` stands for in the spec `{}`", known.text);
                return Err(Error::new(ErrorKind::Use, message).with_help(format!(
                    "an operand has to have `{row}` outside of parentheses; to split an axis, write a label for each part"
                )));
            }
        }
    }
    Ok(())
}

/// The dimension of a composed axis, with the constraints that it brings. `row` gives the row of a row variable.
pub(crate) fn composed_axis(
    graph: &mut Graph,
    known: &KnownSpec,
    parts: &[Part],
    (slot, place): (usize, u16),
    label: impl Fn(spec::AxisId) -> DimTerm,
    mut row: impl FnMut(&mut Graph, RowVariable) -> RowRef,
) -> DimTerm {
    let axis: DimTerm = graph.solver.dim_var(Role::Interior).into();
    let mut pieces: Vec<Piece> = Vec::with_capacity(parts.len());
    let mut rest: Option<RowVar> = None;
    for part in parts {
        match part.kind {
            PartKind::Label(name) => pieces.push(Piece::Dim(label(name))),
            PartKind::Size(_) => {}
            PartKind::Row(variable) => {
                let row = row(graph, variable);
                let (lead, trail) = row.flanks(&graph.axes);
                pieces.extend(lead.iter().map(|axis| Piece::Dim(*axis)));
                pieces.extend(row.hole.map(Piece::Row));
                pieces.extend(trail.iter().map(|axis| Piece::Dim(*axis)));
                rest = rest.or(row.hole);
            }
        }
    }
    let numerator = Numerator { coeff: 1, over: Some(axis), denom: spec_parts::literal(parts) };
    graph.constrain(
        Constraint::Count { pieces: &pieces, numerator, divided_by: &[], rest },
        slot,
        Aspect::Axis(place),
    );
    match slot < known.spec.operands.len() {
        false => claim_size(graph, axis, (slot, place)),
        // The axis is what the operand has there.
        true => {
            let factors = spec_parts::factors(&known.spec);
            for part in parts {
                if let PartKind::Label(name) = part.kind
                    && factors.contains(&name)
                {
                    claim_size(graph, label(name), (slot, place));
                }
            }
        }
    }
    axis
}

/// Says that a dimension is no unit, whatever its size: it is an axis without a window that is read at every position.
fn claim_size(graph: &mut Graph, dim: DimTerm, (slot, place): (usize, u16)) {
    let claim = Constraint::Affine { axis: dim, form: Affine::strided(1), over: dim, kernel: None };
    graph.constrain(claim, slot, Aspect::Axis(place));
}

/// The loops of a composed axis: its parts joined, the last running fastest. `row` gives the axes of a row variable.
pub(crate) fn join_parts<'a>(
    equations: &mut Equations,
    axis: AxisId,
    parts: &[Part],
    label: impl Fn(spec::AxisId) -> AxisId,
    row: impl Fn(RowVariable) -> &'a [AxisId],
) {
    let mut all: Vec<AxisId> = Vec::with_capacity(parts.len());
    for part in parts {
        match part.kind {
            PartKind::Label(name) => all.push(label(name)),
            PartKind::Size(size) => all.push(equations.axis(size.get())),
            PartKind::Row(variable) => all.extend_from_slice(row(variable)),
        }
    }
    let joined = all.into_iter().reduce(|slow, fast| equations.joined(slow, fast));
    if let Some(joined) = joined {
        equations.equal(axis, joined);
    }
}
