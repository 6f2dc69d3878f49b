//! From a contradiction in the solver to a message about the program.
//!
//! Every constraint knows its step, operand and row ([`Origin`]), so a core reads as a list of operations.
//! A message names the operation that cannot be, both ends of the conflict with the tensors they come from,
//! the operations between, and what to do.

use broadloom_core::order::Dim;
use broadloom_core::{Clash, ConstraintId, Core, DimShape, DimTerm, DimVar, Limit, RowVar};
use broadloom_spec::Kind;

use crate::Graph;
use crate::error::{Error, ErrorKind};
use crate::shape::{axis, elements};
use crate::step::{Leaf, Op, Origin, Part, RowRef, Step, Tensor, place};

/// Links of a chain that are shown.
const MOST_LINKS: usize = 12;

impl Graph {
    /// Why some constraints have no solution together.
    pub(crate) fn explain(&self, core: &Core) -> Error {
        let last = core.constraints.iter().map(|id| self.origin(*id).step).max().unwrap_or(0);
        let subject = self.step_text(last);
        let error = match &core.clash {
            Clash::Dims { what, ends, sources } => {
                let [a, b] = ends.map(|end| axis(end, &self.bases).to_string());
                let message = match what.and_then(|what| self.axis_text(what, last)) {
                    Some(what) => format!("`{subject}`: {what} cannot be both {a} and {b}"),
                    None => format!("`{subject}`: sizes {a} and {b} do not agree"),
                };
                let mut error = Error::new(ErrorKind::Mismatch, message);
                for (end, source) in ends.iter().zip(sources) {
                    if let Some(source) = source {
                        error = error.with_end(self.end_text(*end, *source));
                    }
                }
                self.help_dims(error, *ends, core, last)
            }
            Clash::Rank { row, lo, hi } => self.explain_rank(*row, *lo, *hi, last, core),
            Clash::Overflow { written, available, equal } => {
                self.explain_overflow(core, *written, *available, *equal)
            }
            Clash::RankCycle => Error::new(
                ErrorKind::Mismatch,
                format!("`{subject}`: some row would have to have more axes than itself"),
            )
            .with_help("an operation uses its own result with further axes; give one of the rows a fixed number of axes"),
            Clash::Arithmetic { constraint, sizes } => self.explain_arithmetic(*constraint, sizes),
            Clash::Size { what, bounds } => self.explain_size(*what, *bounds, last, core),
            Clash::Exhausted => Error::new(
                ErrorKind::Mismatch,
                format!("`{subject}`: no number of axes and no sizes fit these operations together"),
            ),
        };
        let mut chain: Vec<String> = Vec::new();
        for id in &core.constraints {
            let link = self.link_text(*id);
            if !chain.contains(&link) {
                chain.push(link);
            }
        }
        if chain.len() > MOST_LINKS {
            let more = chain.len() - MOST_LINKS;
            chain.truncate(MOST_LINKS);
            chain.push(format!("… and {more} more"));
        }
        if chain.len() > 1 { error.with_chain(chain) } else { error }
    }

    /// A limit of the solver was reached.
    pub(crate) fn explain_limit(&self, limit: Limit) -> Error {
        let (what, help) = match limit {
            Limit::Branches => {
                ("too many choices were tried", "state the number of axes of a row, or a size")
            }
            Limit::Axes | Limit::RankMoves => {
                ("the rows have too many axes", "look for a row that grows with each use")
            }
            Limit::RankBound => ("a solution could need very many axes", "state the number of axes of a row"),
            Limit::SizeBound => {
                ("a solution could need very large sizes", "set one of the sizes in the sums or windows")
            }
        };
        Error::new(ErrorKind::GaveUp, format!("shapes could not be inferred: {what}")).with_help(help)
    }

    /// Parameters that lack a size: which, and which operations could have given it.
    pub(crate) fn explain_holes(&self, holes: &[(Tensor, Kind)]) -> Error {
        let Some((tensor, kind)) = holes.first() else {
            return Error::new(ErrorKind::Undetermined, "a size is not determined");
        };
        let name = self.label_of(*tensor);
        let known = self.shape(*tensor);
        let message = format!("parameter `{name}` has {} axes whose size nothing determines", kind.name());
        let mut error = Error::new(ErrorKind::Undetermined, message);
        let known = known.to_string();
        if known.chars().any(|letter| letter.is_ascii_digit()) {
            error = error.with_end(format!("known of `{name}`: {known}"));
        }
        for (other, kind) in holes.iter().skip(1).take(4) {
            error =
                error.with_end(format!("nor the {} of parameter `{}`", kind.name(), self.label_of(*other)));
        }
        for text in self.uses(*tensor, *kind).into_iter().take(4) {
            error = error.with_end(text);
        }
        let help = match kind {
            Kind::Output => format!(
                "state it, for example `{name}` with the shape `... -> 64`, or give a size to what it is combined with"
            ),
            _ => format!(
                "state it, for example `{name}` with the shape `64 -> ...`, or give a size to what it is combined with"
            ),
        };
        error.with_help(help)
    }

    /// The operations that read a row of a tensor, and what they relate it to.
    fn uses(&self, tensor: Tensor, kind: Kind) -> Vec<String> {
        let mut found = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            let Step::Op { op, operands, arity, result, .. } = step else { continue };
            let operands = &self.operands[*operands as usize..(*operands + u32::from(*arity)) as usize];
            let Some(slot) = operands.iter().position(|operand| *operand == tensor) else { continue };
            let (text, result) = (self.step_text(index as u32), self.label_of(Tensor(*result)));
            let other = |slot: usize| operands.get(slot).map_or("?".into(), |other| self.label_of(*other));
            found.push(match (op, slot, kind) {
                (Op::Compose | Op::ComposeAccumulate, 0, Kind::Input) => {
                    format!(
                        "`{text}` contracts it with the output of `{}`, which is not known either",
                        other(1)
                    )
                }
                (Op::Compose | Op::ComposeAccumulate, 1, Kind::Output) => {
                    format!(
                        "`{text}` contracts it with the input of `{}`, which is not known either",
                        other(0)
                    )
                }
                (Op::Compose | Op::Pointwise(_), ..) => {
                    format!("`{text}` passes it on to the {} of `{result}`, which nothing fixes", kind.name())
                }
                _ => format!("`{text}` uses it and leaves it open"),
            });
        }
        found
    }

    fn origin(&self, id: ConstraintId) -> Origin {
        self.origins.get(id.index()).copied().unwrap_or(Origin { step: 0, slot: 0, part: Part::Whole })
    }

    /// The operands of a step.
    fn step_operands(&self, step: u32) -> &[Tensor] {
        match self.steps.get(step as usize) {
            Some(Step::Op { operands, arity, .. }) => {
                &self.operands[*operands as usize..(*operands + u32::from(*arity)) as usize]
            }
            _ => &[],
        }
    }

    /// One link of a chain: what a constraint says.
    fn link_text(&self, id: ConstraintId) -> String {
        let Origin { step, slot, part } = self.origin(id);
        let text = self.step_text(step);
        let operands = self.step_operands(step);
        let operand = |slot: usize| operands.get(slot).map_or("?".into(), |tensor| self.label_of(*tensor));
        match (self.steps.get(step as usize), part) {
            (Some(Step::Op { op: Op::Transpose, .. }), Part::Row(kind)) => {
                let from = match kind {
                    Kind::Batch => Kind::Batch,
                    Kind::Input => Kind::Output,
                    Kind::Output => Kind::Input,
                };
                format!("`{text}`: the {} of `{}` becomes the {}", from.name(), operand(0), kind.name())
            }
            (Some(Step::Op { op: Op::Einsum { spec, .. }, .. }), Part::Row(kind)) => {
                let spec = self.spec(*spec);
                let shape = spec.spec.shapes().nth(slot as usize);
                let row =
                    shape.and_then(|shape| shape.row(kind)).map(|row| row.span.slice(&spec.text).trim());
                match row.filter(|row| !row.is_empty()) {
                    Some(row) => {
                        format!("`{text}`: the {} of `{}` is `{row}`", kind.name(), operand(slot as usize))
                    }
                    None => format!("`{text}`: `{}` has no {} axes", operand(slot as usize), kind.name()),
                }
            }
            (Some(Step::Op { op: Op::Einsum { .. }, .. }), Part::Axis(at)) => self.axis_link(step, at),
            (Some(Step::Op { op: Op::Slice(_), .. }), Part::Row(_)) => {
                format!("`{text}`: takes the first batch axis of `{}`", operand(0))
            }
            (Some(Step::Op { op: Op::Slice(_), .. }), _) => format!("`{text}`: the position it takes"),
            (Some(Step::Op { op: Op::Convert { .. }, .. }), Part::Row(_)) => {
                format!("`{text}`: `{}` has a single axis", operand(0))
            }
            (Some(Step::Op { op: Op::Convert { factor, divisor }, .. }), _) => {
                format!("`{text}`: has {factor}/{divisor} times the elements of `{}`", operand(0))
            }
            (Some(Step::Op { .. }), Part::Contract) => {
                format!(
                    "`{text}`: contracts the input of `{}` with the output of `{}`",
                    operand(0),
                    operand(1)
                )
            }
            (Some(Step::Op { .. }), Part::Row(kind)) => {
                format!(
                    "`{text}`: the {} of `{}` goes into the {} of the result",
                    kind.name(),
                    operand(slot as usize),
                    kind.name()
                )
            }
            (Some(Step::Leaf { tensor, .. }), _) => self.leaf_text(Tensor(*tensor)),
            _ => text,
        }
    }

    /// What an axis of a spec says about sizes.
    fn axis_link(&self, step: u32, at: u16) -> String {
        let text = self.step_text(step);
        match self.spec_axis_text(step, at) {
            Some((axis, rule)) => format!("`{text}`: axis `{axis}` {rule}"),
            None => text,
        }
    }

    fn leaf_text(&self, tensor: Tensor) -> String {
        let name = self.label_of(tensor);
        match self.declarations.get(&tensor.0) {
            Some(shape) => format!("`{name}` is declared `{shape}`"),
            None => format!("`{name}`"),
        }
    }

    /// Where one end of a conflict comes from: the tensor that writes the size.
    fn end_text(&self, end: Dim, source: ConstraintId) -> String {
        let Origin { step, slot, part } = self.origin(source);
        let shown = axis(end, &self.bases);
        let operands = self.step_operands(step);
        let candidates: Vec<(Tensor, Kind)> = match part {
            Part::Contract => operands.iter().copied().zip([Kind::Input, Kind::Output]).collect(),
            Part::Row(kind) => {
                operands.get(slot as usize).map(|tensor| (*tensor, kind)).into_iter().collect()
            }
            Part::Axis(_) | Part::Whole => Vec::new(),
        };
        for (tensor, kind) in candidates {
            if let Some(place) = self.writes(tensor, kind, end) {
                let name = self.label_of(tensor);
                let declared = self.declarations.get(&tensor.0);
                let declared = declared.map_or(String::new(), |shape| format!(", declared `{shape}`"));
                return format!("{shown}: {place} of `{name}`{declared}");
            }
        }
        match self.steps.get(step as usize) {
            Some(Step::Leaf { tensor, .. }) => format!("{shown}: {}", self.leaf_text(Tensor(*tensor))),
            _ => format!("{shown}: {}", self.link_text(source)),
        }
    }

    /// Where a row of a tensor writes a size.
    fn writes(&self, tensor: Tensor, kind: Kind, end: Dim) -> Option<String> {
        // A transpose reads the other row.
        [kind, Kind::Input, Kind::Output, Kind::Batch].into_iter().find_map(|kind| {
            let row = self.rows(tensor)[place(kind)];
            let (lead, trail) = row.flanks(&self.axes);
            let same = |axis: &DimTerm| self.solver.ground(*axis) == Some(end);
            let total = lead.len() + trail.len();
            let at = lead.iter().chain(trail).position(same)?;
            Some(match (total, row.hole) {
                (1, None) => format!("the {} axis", kind.name()),
                (_, Some(_)) if at >= lead.len() => from_end(kind, total - 1 - at),
                _ => format!("{} axis {}", kind.name(), at + 1),
            })
        })
    }

    /// A dimension in words, from the point of view of a step.
    fn axis_text(&self, what: DimShape, step: u32) -> Option<String> {
        match what {
            DimShape::Ground(_) => None,
            DimShape::Var(var) => self.label_text(var, step),
            DimShape::Front(row, at) => {
                let (tensor, kind, found) = self.tensor_with(row, step)?;
                let at = u32::from(found.lead) + at + 1;
                Some(format!("{} axis {at} of {tensor}", kind.name()))
            }
            DimShape::Back(row, at) => {
                let (tensor, kind, found) = self.tensor_with(row, step)?;
                Some(format!("{} of {tensor}", from_end(kind, at as usize + found.trail as usize)))
            }
        }
    }

    /// The tensor a row variable belongs to; a step's own result is "the result".
    fn tensor_with(&self, row: RowVar, step: u32) -> Option<(String, Kind, RowRef)> {
        let of = |tensor: Tensor| {
            let data = self.tensors.get(tensor.index())?;
            let rows = Kind::ALL.into_iter().zip(data.rows);
            let (kind, found) = rows.into_iter().find(|(_, found)| found.hole == Some(row))?;
            let own = data.step == step && self.name_of(tensor).is_none();
            Some((
                if own { "the result".into() } else { format!("`{}`", self.label_of(tensor)) },
                kind,
                found,
            ))
        };
        let results = self.tensors().filter(|tensor| self.tensors[tensor.index()].step == step);
        let near = self.step_operands(step).iter().copied().chain(results).collect::<Vec<_>>();
        near.into_iter().find_map(of).or_else(|| self.tensors().find_map(of))
    }

    /// A dimension variable in words: a label of a spec.
    fn label_text(&self, var: DimVar, step: u32) -> Option<String> {
        let at = self.labels.iter().rposition(|label| label.var() == Some(var))? as u32;
        let owner = |step: &Step| match step {
            Step::Op { op: Op::Einsum { spec, labels, .. }, .. } => {
                let names = &self.spec(*spec).spec.names.axes;
                let index = at.checked_sub(*labels)?;
                names.iter().nth(index as usize).map(|(_, name)| name.text.to_string())
            }
            _ => None,
        };
        let here = self.steps.get(step as usize).and_then(owner);
        let (index, name) = match here {
            Some(name) => (step, name),
            None => {
                let (index, name) = self
                    .steps
                    .iter()
                    .enumerate()
                    .rev()
                    .find_map(|(index, step)| Some((index as u32, owner(step)?)))?;
                (index, name)
            }
        };
        Some(if index == step {
            format!("`{name}`")
        } else {
            format!("`{name}` of `{}`", self.step_text(index))
        })
    }

    fn explain_rank(&self, row: RowVar, lo: u32, hi: u32, step: u32, core: &Core) -> Error {
        let subject = self.step_text(step);
        let (least, most) = (axes(lo), axes(hi));
        let message = match self.tensor_with(row, step) {
            Some((tensor, kind, found)) => {
                let flanks = u32::from(found.lead + found.trail);
                let (least, most) = (axes(lo + flanks), axes(hi + flanks));
                format!("`{subject}`: the {} of {tensor} needs {least} but can have only {most}", kind.name())
            }
            None => format!("`{subject}`: `...` stands for at least {least} and at most {most}"),
        };
        let mut error = Error::new(ErrorKind::Mismatch, message);
        if core.constraints.iter().any(|id| self.origin(*id).part == Part::Contract) {
            error = error.with_help("`@` contracts all input axes of the left side with all output axes of the right side; `*` is pointwise");
        }
        error
    }

    fn explain_overflow(&self, core: &Core, written: u32, available: u32, equal: bool) -> Error {
        let id = core.constraints.first().copied();
        let Some(id) = id else { return Error::new(ErrorKind::Mismatch, "the numbers of axes do not agree") };
        let Origin { step, slot, part } = self.origin(id);
        let text = self.step_text(step);
        let operands = self.step_operands(step);
        let operand = |slot: usize| operands.get(slot).map_or("?".into(), |tensor| self.label_of(*tensor));
        let rank = |slot: usize, kind: Kind| {
            let row = operands.get(slot).map(|tensor| self.rows(*tensor)[place(kind)]);
            row.map_or(0, |row| u32::from(row.lead + row.trail))
        };
        match (self.steps.get(step as usize), part) {
            (Some(Step::Op { op: Op::Einsum { spec, .. }, .. }), Part::Row(kind)) => {
                let has = rank(slot as usize, kind);
                let says = if has == written { available } else { written };
                let spec = self.spec(*spec);
                let shape = spec.spec.shapes().nth(slot as usize);
                let shape = shape.map_or("", |shape| shape.span.slice(&spec.text).trim());
                let name = operand(slot as usize);
                let message = format!(
                    "`{text}`: `{shape}` in the spec has {} for the {}, but `{name}` has {}",
                    axes(says),
                    kind.name(),
                    axes(has)
                );
                let error = Error::new(ErrorKind::Mismatch, message);
                let error = match operands.get(slot as usize) {
                    Some(tensor) => error.with_end(self.leaf_text(*tensor)),
                    None => error,
                };
                let help = match kind {
                    Kind::Batch => "write the batch axes before `|`, or `... |` to pass any along",
                    Kind::Input => "write the input axes before `->`, or `... ->` to pass any along",
                    Kind::Output => "write one label for each axis, or `...` for any number of them",
                };
                error.with_help(help)
            }
            (_, Part::Contract) => {
                let (inputs, outputs) = (rank(0, Kind::Input), rank(1, Kind::Output));
                let message = format!(
                    "`{text}`: the input of `{}` has {}, but the output of `{}` has {}",
                    operand(0),
                    axes(inputs),
                    operand(1),
                    axes(outputs)
                );
                let error = Error::new(ErrorKind::Mismatch, message);
                let error =
                    operands.iter().fold(error, |error, tensor| error.with_end(self.leaf_text(*tensor)));
                error.with_help("`@` contracts the input of the left side with the output of the right side; `*` is pointwise")
            }
            _ if equal => Error::new(
                ErrorKind::Mismatch,
                format!("`{text}`: {} on one side and {} on the other", axes(written), axes(available)),
            ),
            _ => Error::new(
                ErrorKind::Mismatch,
                format!("`{text}`: an operand has {}, the result only {}", axes(written), axes(available)),
            ),
        }
    }

    fn help_dims(&self, error: Error, ends: [Dim; 2], core: &Core, step: u32) -> Error {
        let one = |dim: &Dim| matches!(dim, Dim::Atom(_)) && elements(*dim) == 1;
        let operands = self.step_operands(step);
        if ends.contains(&Dim::Unit) && ends.iter().any(one) {
            return error.with_help(
                "`_` makes no claim and broadcasts, `1` claims to be one wide and does not: declare the axis `1:unit`, or reduce to `1` nowhere",
            );
        }
        if ends.contains(&Dim::Unit) {
            return error.with_help(
                "`_` is an axis that claims no size; a spec matches axes exactly and does not broadcast them",
            );
        }
        if let [Dim::Atom(a), Dim::Atom(b)] = ends
            && a.size == b.size
        {
            return error.with_help("the sizes agree, the bases do not: a basis says what an axis counts");
        }
        let pointwise = matches!(self.steps.get(step as usize), Some(Step::Op { op: Op::Pointwise(_), .. }));
        if pointwise && ends.iter().any(one) {
            return error.with_help(
                "a written size of 1 does not broadcast: declare the axis `1:unit`, or leave it out",
            );
        }
        if let Some(Step::Op { op: Op::Pointwise("*"), .. }) = self.steps.get(step as usize)
            && let [a, b] = operands
            && !self.rows(*a)[place(Kind::Input)].is_empty()
        {
            let (a, b) = (self.label_of(*a), self.label_of(*b));
            return error.with_help(format!("`*` is pointwise; the matrix product is `{a} @ {b}`"));
        }
        if core.constraints.iter().any(|id| self.origin(*id).part == Part::Contract) {
            return error
                .with_help("`@` contracts the input of the left side with the output of the right side");
        }
        if pointwise {
            return error
                .with_help("axes are matched from the last one backwards; only missing axes broadcast");
        }
        error
    }

    fn explain_size(&self, what: Option<DimShape>, bounds: (u64, u64), step: u32, core: &Core) -> Error {
        let subject = self.step_text(step);
        let fixed = core.constraints.iter().rev().find(|id| matches!(self.origin(**id).part, Part::Axis(_)));
        let what = what.and_then(|what| self.axis_text(what, step)).unwrap_or_else(|| "an axis".into());
        let (least, most) = bounds;
        let message = if least > most {
            format!("`{subject}`: {what} needs at least {least} elements but has {most}")
        } else {
            format!("`{subject}`: {what} needs a size here, and has none that fits")
        };
        let error = Error::new(ErrorKind::Arithmetic, message);
        match fixed.and_then(|id| self.spec_axis_text(self.origin(*id).step, self.axis_place(*id)?)) {
            Some((axis, rule)) => error.with_help(format!("axis `{axis}` {rule}")),
            None => error,
        }
    }

    fn axis_place(&self, id: ConstraintId) -> Option<u16> {
        if let Part::Axis(at) = self.origin(id).part { Some(at) } else { None }
    }

    fn explain_arithmetic(&self, id: ConstraintId, sizes: &[Option<u64>]) -> Error {
        let Origin { step, part, .. } = self.origin(id);
        let text = self.step_text(step);
        let shown: Vec<String> =
            sizes.iter().map(|size| size.map_or("?".into(), |size| size.to_string())).collect();
        let error = match (self.steps.get(step as usize), part) {
            (Some(Step::Op { op: Op::Einsum { .. }, .. }), Part::Axis(at)) => {
                self.explain_axis(step, at, sizes)
            }
            (Some(Step::Leaf { tensor, leaf: Leaf::Data | Leaf::Param }), _) => {
                let leaf = self.leaf_text(Tensor(*tensor));
                let message = format!("{leaf}, which does not fit its data");
                Error::new(ErrorKind::Arithmetic, message).with_help(
                    "the declared axes, in the order batch, output, input, must be those of the data",
                )
            }
            (Some(Step::Set(captured, size)), _) => {
                let name = self.captured_name(*captured);
                Error::new(
                    ErrorKind::Arithmetic,
                    format!("`{name}` cannot have {size} elements: its axes are {}", shown.join(", ")),
                )
            }
            (Some(Step::Scale(large, factor, small)), _) => {
                let (large, small) = (self.captured_name(*large), self.captured_name(*small));
                let message =
                    format!("`{large}` cannot be {factor} times `{small}`: they are {}", shown.join(" and "));
                Error::new(ErrorKind::Arithmetic, message)
            }
            (Some(Step::Op { op: Op::Convert { factor, divisor }, .. }), _) => {
                let message = format!(
                    "`{text}`: the elements do not come out at {factor}/{divisor} of those of the operand"
                );
                Error::new(ErrorKind::Arithmetic, message).with_end(format!("sizes: {}", shown.join(", ")))
            }
            _ => Error::new(
                ErrorKind::Arithmetic,
                format!("`{text}`: the sizes {} do not fit", shown.join(", ")),
            ),
        };
        error
    }
}

fn axes(number: u32) -> String {
    if number == 1 { "1 axis".into() } else { format!("{number} axes") }
}

/// An axis counted from the end, in words.
fn from_end(kind: Kind, at: usize) -> String {
    match at {
        0 => format!("the last {} axis", kind.name()),
        at => format!("{} axis {} from the end", kind.name(), at + 1),
    }
}
