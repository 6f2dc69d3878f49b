//! From a spec to constraints: the one module that gives specs their meaning for shapes.

use broadloom_core::{Affine, Constraint, DimTerm, Padding, Role, RowVar};
use broadloom_spec::{self as spec, AxisKind, Coefficient, ComponentKind, Kind, RowVariable};
use smallvec::SmallVec;

use crate::Graph;
use crate::error::{Error, ErrorKind};
use crate::notation::{KnownSpec, Notation};
use crate::spec_options::{Accumulate, SpecOptions};
use crate::step::{Aspect, Choice, Op, RowRef, Rows, Tensor, place};

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

impl Graph {
    /// An operation by a spec; with a number of results if the caller expects one.
    pub(crate) fn by_spec(
        &mut self,
        text: Notation<'_>,
        operands: &[Tensor],
        options: &SpecOptions<'_>,
        results: Option<usize>,
    ) -> Result<Vec<Tensor>, Error> {
        let made = self.by_spec_to(text, operands, options, results, None);
        self.refusing(made)
    }

    /// An assignment by a spec, into an existing tensor or into a new one.
    pub(crate) fn by_spec_into(
        &mut self,
        text: Notation<'_>,
        operands: &[Tensor],
        target: Option<Tensor>,
        accumulate: Accumulate,
    ) -> Result<Tensor, Error> {
        let options = SpecOptions { name: Some("assign"), accumulate, ..SpecOptions::default() };
        let made = self.by_spec_to(text, operands, &options, Some(1), target);
        let made = self.refusing(made)?;
        made.first().copied().ok_or_else(|| Error::new(ErrorKind::Use, "the spec has no result"))
    }

    fn by_spec_to(
        &mut self,
        text: Notation<'_>,
        operands: &[Tensor],
        options: &SpecOptions<'_>,
        results: Option<usize>,
        target: Option<Tensor>,
    ) -> Result<Vec<Tensor>, Error> {
        target.map_or(Ok(()), |target| self.known(target))?;
        let name = options.name.unwrap_or(if results.is_none() { "split" } else { "einsum" });
        let known = match self.known_spec(text) {
            Ok(known) => known,
            Err(error) => return Err(error.about(&self.misread(name, operands))),
        };
        let spec = self.spec(known);
        self.check_arity(&spec, operands, results)?;
        check_options(&spec, options)?;
        let choice = self.choice(options)?;
        let before = self.begin(operands)?;
        let mut vars = self.vars(&spec);
        let rows = match self.spec_constraints(&spec, operands, options, &mut vars) {
            Ok(rows) => rows,
            Err(error) => {
                self.take_back(before);
                return Err(error);
            }
        };
        let made: Vec<Tensor> = match target {
            None => rows.into_iter().map(|rows| self.tensor(rows)).collect(),
            Some(target) => {
                let there = self.rows(target);
                for (kind, rows) in
                    Kind::ALL.into_iter().flat_map(|kind| rows.first().map(|rows| (kind, rows)))
                {
                    let at = place(kind);
                    self.equate_rows(there[at], rows[at], operands.len(), Aspect::Row(kind));
                }
                vec![target]
            }
        };
        let (labels, first_row) = (self.labels.len() as u32, self.spec_rows.len() as u32);
        self.labels.extend_from_slice(&vars.labels);
        self.spec_rows.extend(vars.rows.iter().map(|row| row.unwrap_or(RowRef::EMPTY)));
        let accumulate = options.accumulate;
        let combine = options.combine;
        let op = Op::Einsum { name, spec: known, labels, rows: first_row, choice, accumulate, combine };
        let Some(first) = made.first() else {
            return Err(Error::new(ErrorKind::Use, "the spec has no result"));
        };
        let step = self.op_step(op, operands, *first, made.len() as u16);
        self.finish(before, step)?;
        Ok(made)
    }

    /// The number of these options among the graph's choices, counted from 1; 0 if nothing was
    /// chosen. A program repeats a few, so a linear search is enough, the latest first.
    fn choice(&mut self, options: &SpecOptions<'_>) -> Result<u16, Error> {
        if options.padding.is_none() && options.coefficients.is_empty() {
            return Ok(0);
        }
        let same = |choice: &Choice| {
            let given = options.coefficients.iter().copied();
            choice.padding == options.padding
                && choice.coefficients.iter().map(|(name, value)| (&**name, *value)).eq(given)
        };
        let at = self.choices.iter().rposition(same).unwrap_or(self.choices.len());
        let number = u16::try_from(at + 1).map_err(|_| {
            Error::new(ErrorKind::GaveUp, "specs are used with more than 65535 different options")
        })?;
        if at == self.choices.len() {
            let coefficients = options.coefficients.iter().map(|(name, value)| ((*name).into(), *value));
            self.choices.push(Choice { padding: options.padding, coefficients: coefficients.collect() });
        }
        Ok(number)
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
            let names: Vec<String> =
                operands.iter().map(|tensor| format!("`{}`", self.label_of(*tensor))).collect();
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
        options: &SpecOptions<'_>,
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
                    self.equate_rows(written, own[kind as usize], slot, Aspect::Row(kind));
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
        options: &SpecOptions<'_>,
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

    /// A row with axes around the axes that a hole stands for.
    fn around(&mut self, axes: &[DimTerm], lead: usize, hole: Option<RowRef>) -> RowRef {
        let Some(inner) = hole else { return self.row_of(axes, 0, None) };
        if axes.is_empty() {
            return inner;
        }
        let (before, after) = inner.flanks(&self.axes);
        let all: SmallVec<[DimTerm; 8]> =
            [&axes[..lead], before, after, &axes[lead..]].into_iter().flatten().copied().collect();
        // A closed row broadcasts where the hole was.
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
        options: &SpecOptions<'_>,
        vars: &Vars,
    ) -> Result<DimTerm, Error> {
        let label = |id: spec::AxisId| vars.labels[id.0 as usize];
        let part = Aspect::Axis(place);
        Ok(match &axis.kind {
            AxisKind::Label(id) => label(*id),
            AxisKind::Wildcard => self.solver.dim_var(Role::Interior).into(),
            AxisKind::Fixed(0) if known.spec.keeps => DimTerm::UNIT,
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
                    // In a padded window at stride 1 the axis itself is iterated.
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
        options: &SpecOptions<'_>,
        vars: &Vars,
    ) -> Result<Window, Error> {
        let value = |name: &str| Some(options.coefficients.iter().find(|(given, _)| *given == name)?.1);
        let form = window_form(known, affine, options.padding, value).map_err(|open| match open {
            Open::Value(name) => missing_value(known, name, options),
            Open::Padding(kernel) => missing_padding(known, affine, kernel),
        })?;
        let over = vars.labels[affine.over.label.0 as usize];
        let kernel = affine.kernel.map(|kernel| vars.labels[kernel.term.label.0 as usize]);
        Ok(Window { form, over, kernel })
    }
}

/// The choices about a window that the user of a spec still has to make.
pub(crate) enum Open<'a> {
    /// The value of a stride or a dilation.
    Value(&'a str),
    /// The padding: what the window does at the ends of the axis.
    Padding(spec::Kernel),
}

/// The arithmetic of an affine axis, with the choices of the user of the spec.
pub(crate) fn window_form<'a>(
    known: &'a KnownSpec,
    affine: &spec::Affine,
    padding: Option<Padding>,
    value: impl Fn(&str) -> Option<u64>,
) -> Result<Affine, Open<'a>> {
    let coefficient = |coefficient: Coefficient| match coefficient {
        Coefficient::Literal(value) => Ok(value.get()),
        Coefficient::Named(id) => {
            let name = known.spec.names.coefficients.text(id);
            value(name).ok_or(Open::Value(name))
        }
    };
    let form = Affine::strided(coefficient(affine.over.coefficient)?).with_offset(affine.offset);
    let Some(kernel) = affine.kernel else { return Ok(form) };
    let padding = match kernel.padding {
        spec::Padding::Padded => Padding::Padded,
        spec::Padding::Valid => Padding::Valid,
        spec::Padding::Dropped => Padding::Dropped,
        spec::Padding::Unmarked => padding.ok_or(Open::Padding(kernel))?,
    };
    Ok(form.with_kernel(coefficient(kernel.term.coefficient)?, padding))
}

/// The place of a hole's row among the rows of a use of a spec.
pub(crate) fn hole_index(hole: spec::Hole, kind: Kind) -> usize {
    match hole.variable {
        RowVariable::Ellipsis => kind as usize,
        RowVariable::Named(name) => 3 + name.0 as usize,
    }
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
