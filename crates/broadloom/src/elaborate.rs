//! From a spec to constraints: the one place where specs get their meaning for shapes.

use broadloom_core::{Affine, Constraint, DimTerm, Padding, Role, RowVar};
use broadloom_spec::{self as spec, AxisKind, Coefficient, ComponentKind, Kind, RowVariable};
use smallvec::SmallVec;

use crate::Graph;
use crate::error::{Error, ErrorKind};
use crate::graph::KnownSpec;
use crate::logic::Options;
use crate::step::{Op, Part, RowRef, Rows, Tensor};

/// The variables of one use of a spec.
struct Vars {
    labels: SmallVec<[DimTerm; 12]>,
    /// The rows of `...` by kind, then the named ones; made when first needed.
    rows: SmallVec<[Option<RowRef>; 6]>,
}

/// An affine axis with everything known but the sizes.
struct Window {
    form: Affine,
    over: DimTerm,
    kernel: Option<DimTerm>,
}

impl Graph {
    /// An operation by a spec; with a number of results if the caller expects one.
    pub(crate) fn by_spec(
        &mut self,
        text: &str,
        operands: &[Tensor],
        options: &Options<'_>,
        results: Option<usize>,
    ) -> Result<Vec<Tensor>, Error> {
        let known = self.known_spec(text)?;
        let spec = self.spec(known);
        self.check_arity(&spec, operands, results)?;
        let before = self.begin(operands)?;
        let mut vars = self.vars(&spec);
        let rows = match self.spec_constraints(&spec, operands, options, &mut vars) {
            Ok(rows) => rows,
            Err(error) => {
                self.take_back(before);
                return Err(error);
            }
        };
        let made: Vec<Tensor> = rows.into_iter().map(|rows| self.tensor(rows)).collect();
        let (labels, first_row) = (self.labels.len() as u32, self.spec_rows.len() as u32);
        self.labels.extend_from_slice(&vars.labels);
        self.spec_rows.extend(vars.rows.iter().map(|row| row.unwrap_or(RowRef::EMPTY)));
        let name = options.name.unwrap_or("einsum");
        let op = Op::Einsum { name, spec: known, labels, rows: first_row };
        let Some(first) = made.first() else {
            return Err(Error::new(ErrorKind::Use, "the spec has no result"));
        };
        let step = self.op_step(op, operands, *first, made.len() as u16);
        self.finish(before, step)?;
        Ok(made)
    }

    fn check_arity(
        &self,
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
            let names: Vec<String> = operands.iter().map(|tensor| self.label_of(*tensor)).collect();
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

    fn vars(&mut self, known: &KnownSpec) -> Vars {
        let label = |discardable: &bool| {
            let solver = &mut self.solver;
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
        &mut self,
        known: &KnownSpec,
        operands: &[Tensor],
        options: &Options<'_>,
        vars: &mut Vars,
    ) -> Result<SmallVec<[Rows; 1]>, Error> {
        let mut place = 0;
        let mut results = SmallVec::new();
        for (slot, shape) in known.spec.shapes().enumerate() {
            let own = operands.get(slot).map(|tensor| self.rows(*tensor));
            let mut rows = [RowRef::EMPTY; 3];
            for kind in Kind::ALL {
                let row = shape.row(kind);
                if let (Some(row), Some(own)) = (row, own)
                    && self.stands_for(row, kind, own[kind as usize], vars)
                {
                    continue;
                }
                let written = match row {
                    Some(row) => self.spec_row(known, row, kind, slot, &mut place, options, vars)?,
                    None => RowRef::EMPTY,
                };
                rows[kind as usize] = written;
                if let Some(own) = own {
                    self.equate_rows(written, own[kind as usize], slot, Part::Row(kind));
                }
            }
            if own.is_none() {
                results.push(rows);
            }
        }
        Ok(results)
    }

    /// A row that is only a hole stands for the operand's row, the first time: nothing has to be said. Not
    /// if the operand broadcasts in its middle, for the result is to broadcast where its spec says.
    fn stands_for(&self, row: &spec::Row<spec::Axis>, kind: Kind, own: RowRef, vars: &mut Vars) -> bool {
        let bare = row.axes().next().is_none();
        match row.hole().map(|hole| hole_index(hole, kind)) {
            Some(index) if bare && vars.rows[index].is_none() && self.marker(own) == 0 => {
                vars.rows[index] = Some(own);
                true
            }
            _ => false,
        }
    }

    #[allow(clippy::too_many_arguments)] // one walk over the spec, with its state
    fn spec_row(
        &mut self,
        known: &KnownSpec,
        row: &spec::Row<spec::Axis>,
        kind: Kind,
        slot: usize,
        place: &mut u16,
        options: &Options<'_>,
        vars: &mut Vars,
    ) -> Result<RowRef, Error> {
        let mut axes: SmallVec<[DimTerm; 6]> = SmallVec::new();
        for axis in row.axes() {
            axes.push(self.spec_axis(known, axis, slot, *place, options, vars)?);
            *place += 1;
        }
        let hole = row.hole().map(|hole| {
            let index = hole_index(hole, kind);
            *vars.rows[index].get_or_insert_with(|| RowRef::var(self.fresh_row(Role::Interior, 0)))
        });
        Ok(self.around(&axes, row.lead().len(), hole))
    }

    /// A row with axes around what a hole stands for.
    fn around(&mut self, axes: &[DimTerm], lead: usize, hole: Option<RowRef>) -> RowRef {
        let Some(inner) = hole else { return self.row_of(axes, 0, None) };
        if axes.is_empty() {
            return inner;
        }
        let (before, after) = inner.flanks(&self.axes);
        let all: SmallVec<[DimTerm; 8]> =
            [&axes[..lead], before, after, &axes[lead..]].into_iter().flatten().copied().collect();
        // What is closed broadcasts where the hole was.
        self.row_of(&all, lead + before.len(), inner.hole)
    }

    /// A row with its axes in the arena.
    fn row_of(&mut self, axes: &[DimTerm], lead: usize, hole: Option<RowVar>) -> RowRef {
        let start = self.axes.len() as u32;
        self.axes.extend_from_slice(axes);
        RowRef { start, lead: lead as u16, trail: (axes.len() - lead) as u16, hole }
    }

    /// The dimension of an axis of a spec, with the constraints that it brings.
    fn spec_axis(
        &mut self,
        known: &KnownSpec,
        axis: &spec::Axis,
        slot: usize,
        place: u16,
        options: &Options<'_>,
        vars: &Vars,
    ) -> Result<DimTerm, Error> {
        let label = |id: spec::AxisId| vars.labels[id.0 as usize];
        let part = Part::Axis(place);
        Ok(match &axis.kind {
            AxisKind::Label(id) => label(*id),
            AxisKind::Wildcard => self.solver.dim_var(Role::Interior).into(),
            AxisKind::Fixed(index) => {
                let term = self.solver.dim_var(Role::Interior).into();
                if *index > 0 {
                    self.say(Constraint::AtLeast(term, index.saturating_add(1)), slot, part);
                }
                term
            }
            AxisKind::Affine(affine) => {
                let Window { form, over, kernel } = self.window(known, affine, options, vars)?;
                if form.stride == 1 && form.equation() == (0, 0) {
                    // A padded window at stride 1: the axis is what is iterated.
                    return Ok(over);
                }
                let axis = self.solver.dim_var(Role::Interior).into();
                self.say(Constraint::Affine { axis, form, over, kernel }, slot, part);
                axis
            }
            AxisKind::Concat(components) => {
                let axis = self.solver.dim_var(Role::Interior).into();
                let mut parts = std::mem::take(&mut self.scratch);
                parts.clear();
                let mut literal = 0;
                for component in components {
                    match component.kind {
                        ComponentKind::Label(id) => parts.push(label(id)),
                        ComponentKind::Size(size) => literal += size.get(),
                        ComponentKind::Wildcard => parts.push(self.solver.dim_var(Role::Interior).into()),
                    }
                }
                self.say(Constraint::Concat { axis, components: &parts, literal }, slot, part);
                self.scratch = parts;
                axis
            }
        })
    }

    fn window(
        &self,
        known: &KnownSpec,
        affine: &spec::Affine,
        options: &Options<'_>,
        vars: &Vars,
    ) -> Result<Window, Error> {
        let coefficient = |coefficient: Coefficient| match coefficient {
            Coefficient::Literal(value) => Ok(value.get()),
            Coefficient::Named(id) => {
                let name = known.spec.names.coefficients.text(id);
                let given = options.coefficients.iter().find(|(given, _)| *given == name);
                match given {
                    Some((_, 0)) => {
                        Err(Error::new(ErrorKind::Use, format!("`{name}` is 0 in the spec `{}`", known.text))
                            .with_help("strides and dilations are at least 1"))
                    }
                    Some((_, value)) => Ok(*value),
                    None => Err(Error::new(
                        ErrorKind::Use,
                        format!("the spec `{}` does not say how large `{name}` is", known.text),
                    )
                    .with_help(format!("give `{name}` a value, or write a number in its place"))),
                }
            }
        };
        let form = Affine::strided(coefficient(affine.over.coefficient)?).with_offset(affine.offset);
        let over = vars.labels[affine.over.label.0 as usize];
        let Some(kernel) = affine.kernel else { return Ok(Window { form, over, kernel: None }) };
        let padding = match (kernel.padding, options.padding) {
            (spec::Padding::Padded, _) => Padding::Padded,
            (spec::Padding::Valid, _) => Padding::Valid,
            (spec::Padding::Unmarked, Some(padding)) => padding,
            (spec::Padding::Unmarked, None) => {
                let over = known.spec.names.axes.text(affine.over.label);
                let kernel = known.spec.names.axes.text(kernel.term.label);
                let message = format!(
                    "the spec `{}` does not say what the window over `{over}` does at the ends",
                    known.text
                );
                let help = format!(
                    "write `{over}=+{kernel}` to pad the axis, or `{over}<+{kernel}` to keep every window inside it"
                );
                return Err(Error::new(ErrorKind::Use, message).with_help(help));
            }
        };
        let form = form.with_kernel(coefficient(kernel.term.coefficient)?, padding);
        Ok(Window { form, over, kernel: Some(vars.labels[kernel.term.label.0 as usize]) })
    }
}

/// The place of a hole's row among the rows of a use of a spec.
fn hole_index(hole: spec::Hole, kind: Kind) -> usize {
    match hole.variable {
        RowVariable::Ellipsis => kind as usize,
        RowVariable::Named(name) => 3 + name.0 as usize,
    }
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
