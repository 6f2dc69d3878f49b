//! Operations that have a shape but no loop nest, and the messages for them.
//!
//! | what | example |
//! |---|---|
//! | one label is two parts of an axis | `a => a^a` |
//! | two operands fill one part of a result | `a; a; b => a^b` |
//! | a tensor that takes part in no phase | `a, b => a^b`: `a` and `b` run one after another |
//! | a value that is added once for each place of an axis it does not have | `a, k; b => a^b` |
//! | a conversion that changes the number of elements | `convert(words, 4, 1)` |
//!
//! Of the ways in which equations can fail ([`Failure`]) a program reaches two: `Repeated`, and `OutOfBounds`
//! by the largest number there is, which no axis can be longer than. Sizes cannot differ, because the same
//! rules were solved for sizes before. An axis of a tensor is written once in a spec, as a label or as an index
//! or as a sum or as parts, and labels are never pinned: so no axis has two pins (broadcasting pins at 0
//! only), two derived indices, or a pin and parts.
//! `tests/wrong` has a program for everything that can be reached.

use std::collections::hash_map::Entry;

use broadloom_core::projection::{AxisId, AxisIndex, Failure, Phase};
use broadloom_diagnostics::{Code, Help, Wording};
use broadloom_spec::{AxisKind, ComponentKind, Kind};
use rustc_hash::FxHashMap;

use super::{MEMORY, Occurrence, Projected, Reading};
use crate::error::{Error, ErrorKind, MessageLine, Remedy};
use crate::shape::Shapes;
use crate::spec_axis::{Spot, spec_axes};
use crate::spec_options::Accumulate;
use crate::step::{StepId, Tensor, place};
use crate::{Graph, names, rust_code, spec_axis};

/// A nest that runs, but cannot be what is meant. Tensors are given by their place in the nest.
pub(super) enum Mistake {
    /// Two operands fill the part of a result that a loop drives.
    Overlap { result: usize, operands: [usize; 2], part: u32 },
    /// A tensor needs loops of one factor at once, which run one after another.
    Absent { tensor: usize, loops: Vec<u32> },
    /// The same value goes into the same cell several times: once for each point of loops that neither the
    /// result nor the operands that take part mention.
    Again { result: usize, operands: Vec<usize>, loops: Vec<u32>, times: u128 },
}

/// A value that goes into a cell of a result.
struct Value {
    /// The operands that take part.
    operands: Vec<usize>,
    /// The running loops that none of them mentions.
    others: Vec<u32>,
    /// The number of times that the same value goes in.
    times: u128,
}

impl Projected {
    /// Finds a mistake that makes the nest meaningless, if there is one. A nest without
    /// concatenations and with one result is always in order, and costs nothing.
    pub(super) fn mistake(&self) -> Option<Mistake> {
        let couples = self.projection.is_coupled();
        let is_parted = |index: &AxisIndex| matches!(index, AxisIndex::Concat(_));
        let parted = || self.projection.maps[..self.results].iter().flatten().any(is_parted);
        if !couples && self.results == 1 && !parted() {
            return None;
        }
        let phases = self.projection.phases_with_maps();
        self.overlap(&phases)
            .or_else(|| if couples { self.absent() } else { None })
            .or_else(|| if couples || self.results > 1 { self.again(&phases) } else { None })
    }

    fn overlap(&self, phases: &[Phase]) -> Option<Mistake> {
        let by_loop = by_loop(phases);
        (0..self.results).find_map(|result| {
            let mut parts = self.projection.maps[result].iter().flat_map(|index| match index {
                AxisIndex::Concat(parts) => parts.as_slice(),
                AxisIndex::Sum(_) | AxisIndex::Symbol(_) => &[],
            });
            parts.find_map(|part| {
                let running = by_loop.get(&part.index)?;
                let mut phases = running.iter().filter(|phase| phase.maps.binary_search(&result).is_ok());
                phases.find_map(|phase| {
                    let operands = self.operands_in(phase).iter().copied();
                    let mut fill = operands.filter(|operand| self.projection.mentions(*operand, part.index));
                    let operands = [fill.next()?, fill.next()?];
                    Some(Mistake::Overlap { result, operands, part: part.index })
                })
            })
        })
    }

    /// A tensor that takes part in no phase: there is a factor of which no loop suits all its axes.
    fn absent(&self) -> Option<Mistake> {
        (0..self.projection.maps.len()).find_map(|tensor| {
            let choices = self.projection.choices(tensor);
            let (stuck, _) = choices.into_iter().find(|(_, loops)| loops.is_empty())?;
            let loops = self.projection.factors().swap_remove(stuck as usize);
            Some(Mistake::Absent { tensor, loops })
        })
    }

    fn again(&self, phases: &[Phase]) -> Option<Mistake> {
        // The greatest of equal values is no greater.
        if matches!(self.accumulate, Accumulate::Max | Accumulate::Min) {
            return None;
        }
        (0..self.results).find_map(|result| self.again_in(result, phases))
    }

    /// Counts how often a value goes into a result: values differ if others take part, or at other points of
    /// the loops that they mention.
    fn again_in(&self, result: usize, phases: &[Phase]) -> Option<Mistake> {
        let mut values: Vec<Value> = Vec::new();
        let mut known: FxHashMap<(&[usize], Vec<u32>), usize> = FxHashMap::default();
        let mut in_result = vec![false; self.projection.loops.len()];
        self.projection.each_mentioned(result, |index| in_result[index as usize] = true);
        for phase in phases.iter().filter(|phase| phase.maps.binary_search(&result).is_ok()) {
            let operands = self.operands_in(phase);
            if operands.is_empty() {
                continue;
            }
            let mentioned = |index: &u32| {
                in_result[*index as usize]
                    || operands.iter().any(|tensor| self.projection.mentions(*tensor, *index))
            };
            let (own, others): (Vec<u32>, Vec<u32>) = phase.loops.iter().copied().partition(mentioned);
            let extents = others.iter().map(|index| self.projection.loops[*index as usize].extent);
            let times =
                extents.map(|extent| extent.typical().unsigned_abs().into()).fold(1, u128::saturating_mul);
            match known.entry((operands, own)) {
                Entry::Occupied(at) => {
                    let value = &mut values[*at.get()];
                    value.others.extend(others);
                    value.times = value.times.saturating_add(times);
                }
                Entry::Vacant(free) => {
                    free.insert(values.len());
                    values.push(Value { operands: operands.to_vec(), others, times });
                }
            }
        }
        let Value { operands, others: mut loops, times } =
            values.into_iter().find(|value| value.times > 1)?;
        loops.sort_unstable();
        loops.dedup();
        Some(Mistake::Again { result, operands, loops, times })
    }

    /// The operands that take part in a phase.
    fn operands_in<'a>(&self, phase: &'a Phase) -> &'a [usize] {
        &phase.maps[phase.maps.partition_point(|map| *map < self.results)..]
    }
}

/// The phases in which each loop runs.
fn by_loop(phases: &[Phase]) -> FxHashMap<u32, Vec<&Phase>> {
    let mut by_loop: FxHashMap<u32, Vec<&Phase>> = FxHashMap::default();
    for phase in phases {
        phase.loops.iter().for_each(|index| by_loop.entry(*index).or_default().push(phase));
    }
    by_loop
}

impl Reading<'_> {
    /// Explains why the equations of a step have no solution.
    pub(super) fn unsolved(
        &self,
        failure: Failure,
        tensors: &[Tensor],
        places: &[Occurrence],
        results: usize,
        step: StepId,
    ) -> Error {
        let words = Words { graph: self.graph, shapes: self.shapes, step, tensors, results };
        let site = |axis: AxisId| {
            let find = |same: &dyn Fn(AxisId) -> bool| {
                let entries = places.iter().enumerate();
                let mut rows = entries.flat_map(|(entry, rows)| MEMORY.map(|kind| (entry, kind, rows)));
                rows.find_map(|(entry, kind, rows)| {
                    let at = rows[place(kind)].iter().position(|known| same(*known))?;
                    Some(Site { entry, kind, at })
                })
            };
            find(&|known| known == axis).or_else(|| find(&|known| self.equations.same(known, axis)))
        };
        let (axes, what) = match failure {
            Failure::Repeated(_) => return words.repeated(),
            Failure::Sizes(a, b) => (vec![a, b], "would share a loop, but differ in size".into()),
            Failure::Pins(axis, a, b) => (vec![axis], format!("would be read at {a:?} and {b:?}")),
            Failure::OutOfBounds(axis, at) => return words.out_of_bounds(site(axis), at),
            Failure::Derived(axis) => (vec![axis], "has two indices that do not agree".into()),
            Failure::PinnedPart(axis) => (vec![axis], "is a part that is read at one index".into()),
            Failure::Margins(axis) => (vec![axis], "has margins that its sizes decide".into()),
        };
        let sites: Vec<Site> = axes.into_iter().filter_map(site).collect();
        let named = list(sites.iter().map(|site| words.site(*site)));
        let error = words.error(&format!("{named} {what}"));
        let error = sites.iter().fold(error, |error, site| error.with_end(words.axis(*site)));
        error.with_help("loops follow from the rules that sized these axes: this is a mistake in Broadloom")
    }

    /// Explains why a nest is refused.
    pub(super) fn refused(&self, mistake: Mistake, nest: &Projected, step: StepId) -> Error {
        let (tensors, results) = (&nest.tensors[..], nest.results);
        let words = Words { graph: self.graph, shapes: self.shapes, step, tensors, results };
        match mistake {
            Mistake::Overlap { result, operands, part } => words.overlap(nest, result, operands, part),
            Mistake::Absent { tensor, loops } => words.absent(nest, tensor, &loops),
            Mistake::Again { result, operands, loops, times } => {
                words.again(nest, result, &operands, &loops, times)
            }
        }
    }
}

/// The error for a leaf, which has no loop nest.
pub(super) fn not_computed(graph: &Graph, step: StepId) -> Error {
    let message = format!("{} is not computed, so it has no loop nest", names::subject(graph, step));
    Error::new(ErrorKind::Use, message).about_step(step).with_help("ask for the result of an operation")
}

/// The error for a conversion that changes the number of elements: axes do not tell from which
/// elements each new one is made.
pub(super) fn conversion(graph: &Graph, shapes: &Shapes, step: StepId, from: Tensor, to: Tensor) -> Error {
    let (name, own) =
        (names::label_of(graph, from), names::name_of(graph, to).map_or("the result".into(), quoted));
    let end = |text: &str, tensor: Tensor| {
        let shape = shapes.get(tensor);
        format!("{} elements: {text}, of shape `{shape}`", shape.elements())
    };
    let subject = names::subject(graph, step);
    let message = "a conversion that changes the number of elements has no loop nest";
    Error::new(ErrorKind::Use, message)
        .inside(&subject)
        .about_step(step)
        .with_end(end(&quoted(&name), from))
        .with_end(end(&own, to))
        .with_help(
            Wording::new("convert `")
                .name(&name)
                .words("` before the program runs, and declare ")
                .name(&own)
                .words(" as data"),
        )
        .with_remedy(
            Remedy::Reshape,
            rust_code::help(
                Wording::new("to change the shape only, keep the number of elements: ")
                    .code(Code::Reshape(Box::new(Code::tensor(name)))),
            ),
        )
}

/// An axis of an entry of a nest.
#[derive(Clone, Copy)]
struct Site {
    entry: usize,
    kind: Kind,
    at: usize,
}

/// The tensors and axes of a step, in words.
struct Words<'a> {
    graph: &'a Graph,
    shapes: &'a Shapes,
    step: StepId,
    tensors: &'a [Tensor],
    results: usize,
}

impl Words<'_> {
    /// An error about the step, with its sentence.
    fn error(&self, what: &str) -> Error {
        Error::of_step(ErrorKind::Use, self.step, &names::subject(self.graph, self.step), what)
    }

    /// The name of a tensor in messages; a result without a name is "the result".
    fn tensor(&self, entry: usize) -> String {
        match names::name_of(self.graph, self.tensors[entry]) {
            None if entry >= self.results => quoted(&names::label_of(self.graph, self.tensors[entry])),
            None if self.results > 1 => format!("result {}", entry + 1),
            None => "the result".into(),
            Some(name) => quoted(name),
        }
    }

    fn row(&self, entry: usize, kind: Kind) -> Vec<u64> {
        self.shapes.sizes(self.tensors[entry], kind).collect()
    }

    /// The axes of an entry, in memory order.
    fn sites(&self, entry: usize) -> Vec<Site> {
        let row = |kind: Kind| (0..self.row(entry, kind).len()).map(move |at| Site { entry, kind, at });
        MEMORY.into_iter().flat_map(row).collect()
    }

    /// `the output axis of x`, `batch axis 2 of x`.
    fn site(&self, Site { entry, kind, at }: Site) -> String {
        let tensor = self.tensor(entry);
        match self.row(entry, kind).len() {
            1 => format!("the {} axis of {tensor}", kind.name()),
            _ => format!("{} axis {} of {tensor}", kind.name(), at + 1),
        }
    }

    /// An axis with what is written for it and its size.
    fn axis(&self, site: Site) -> MessageLine {
        let written = self.written(site).map_or(String::new(), |text| format!("`{text}`: "));
        let size = self.row(site.entry, site.kind).get(site.at).copied().unwrap_or(0);
        let step = self.graph.tensors[self.tensors[site.entry].index()].step;
        MessageLine::at(step, format!("{written}{}, of size {size}", self.site(site)))
    }

    /// The text that the spec has for an axis, or `None` if a hole stands for it.
    fn written(&self, site: Site) -> Option<String> {
        let (known, _) = spec_axis::spec_of_step(self.graph, self.step)?;
        let rank = self.row(site.entry, site.kind).len();
        let mut axes = spec_axes(&known.spec);
        let (axis, ..) = axes.find(|(_, slot, kind, spot)| {
            let at = match spot {
                Spot::Front(at) => Some(*at),
                Spot::Back(at) => rank.checked_sub(at + 1),
            };
            self.entry(*slot) == site.entry && *kind == site.kind && at == Some(site.at)
        })?;
        Some(known.written(axis, axis.span))
    }

    /// The entry of a slot of the spec: there operands come first, here results do.
    fn entry(&self, slot: usize) -> usize {
        let arity = self.tensors.len() - self.results;
        if slot < arity { slot + self.results } else { slot - arity }
    }

    /// The text that the spec has for a tensor.
    fn shape(&self, entry: usize) -> Option<String> {
        let (known, _) = spec_axis::spec_of_step(self.graph, self.step)?;
        let (_, shape) = known.spec.shapes().enumerate().find(|(slot, _)| self.entry(*slot) == entry)?;
        Some(known.written(shape, shape.span))
    }

    /// The first axis of an entry that a loop drives.
    fn driven(&self, nest: &Projected, entry: usize, index: u32) -> Option<Site> {
        let mut axes = self.sites(entry).into_iter().zip(&nest.projection.maps[entry]);
        axes.find_map(|(site, map)| loops_of(map).contains(&index).then_some(site))
    }

    /// A loop by its label, or by the first axis it drives.
    fn driver(&self, nest: &Projected, index: u32) -> String {
        let label = nest.labels[index as usize].and_then(|label| {
            let (known, _) = spec_axis::spec_of_step(self.graph, self.step)?;
            Some(known.spec.names.axes.iter().nth(label as usize)?.1.text.to_string())
        });
        let axis = || (0..self.tensors.len()).rev().find_map(|entry| self.driven(nest, entry, index));
        label.map(|label| quoted(&label)).or_else(|| Some(self.site(axis()?))).unwrap_or_default()
    }

    fn out_of_bounds(&self, site: Option<Site>, at: u64) -> Error {
        let beyond = site.map_or("its axis".into(), |site| self.site(site));
        let error = self.error(&format!("position {at} is beyond {beyond}"));
        let error = site.into_iter().fold(error, |error, site| error.with_end(self.axis(site)));
        error.with_help(Help::rule("positions count from 0"))
    }

    fn repeated(&self) -> Error {
        let Some((label, whole, entry)) = self.repeated_part() else {
            return self.error("one label is two parts of an axis");
        };
        let message =
            format!("`{label}` is more than one part of `{whole}`, but a loop is at one place at a time");
        let all = || (0..self.tensors.len()).flat_map(|entry| self.sites(entry));
        let ends =
            [&whole, &label].map(|wanted| all().find(|site| self.written(*site).as_ref() == Some(wanted)));
        let error = ends
            .into_iter()
            .flatten()
            .fold(self.error(&message), |error, site| error.with_end(self.axis(site)));
        let help = if entry < self.results {
            "to repeat a tensor, give it once for each part: `a; b => a^b` with the same operand twice"
        } else {
            "to add the parts up, take them apart first: `split` with `a^b => a; b`"
        };
        error.with_help(help)
    }

    /// A label that is more than one part of an axis, the axis as it is written, and the tensor it belongs to.
    fn repeated_part(&self) -> Option<(String, String, usize)> {
        let (known, _) = spec_axis::spec_of_step(self.graph, self.step)?;
        let mut axes = spec_axes(&known.spec);
        axes.find_map(|(axis, slot, ..)| {
            let AxisKind::Concat(parts) = &axis.kind else { return None };
            let again = |at: &usize| parts[..*at].iter().any(|part| part.kind == parts[*at].kind);
            let label = |at: usize| match parts[at].kind {
                ComponentKind::Label(label) => Some(known.spec.names.axes.text(label).to_string()),
                ComponentKind::Size(_) | ComponentKind::Wildcard => None,
            };
            let label = (0..parts.len()).filter(again).find_map(label)?;
            Some((label, known.written(axis, axis.span), self.entry(slot)))
        })
    }

    fn overlap(&self, nest: &Projected, result: usize, [a, b]: [usize; 2], part: u32) -> Error {
        let whole = self.driven(nest, result, part);
        let into = match whole.and_then(|site| Some((self.written(site)?, self.site(site)))) {
            Some((text, site)) => format!("part {} of `{text}`, {site}", self.driver(nest, part)),
            None => format!("one part of {}", self.tensor(result)),
        };
        let twice = self.tensors[a] == self.tensors[b];
        let what = if twice {
            format!("{} would fill {into}, twice", self.tensor(a))
        } else {
            format!("{} and {} would both fill {into}", self.tensor(a), self.tensor(b))
        };
        let error = self.error(&what);
        let fill = if twice { vec![a] } else { vec![a, b] };
        let ends = fill.into_iter().filter_map(|entry| self.driven(nest, entry, part));
        let error = ends.fold(error, |error, site| error.with_end(self.axis(site)));
        let other = if twice { "the second".into() } else { self.tensor(b) };
        error.with_help(
            Wording::new("one operand fills a part: combine the two before, or give ")
                .name(other)
                .words(" a label and a part of its own"),
        )
    }

    fn absent(&self, nest: &Projected, tensor: usize, loops: &[u32]) -> Error {
        let touches =
            |(_, index): &(Site, &AxisIndex)| loops_of(index).iter().any(|index| loops.contains(index));
        let axes = |entry: usize| {
            let all = self.sites(entry).into_iter().zip(&nest.projection.maps[entry]);
            all.filter(touches).collect::<Vec<_>>()
        };
        let own = axes(tensor);
        let named = match &own[..] {
            [(_, index)] => list(loops_of(index).into_iter().map(|index| self.driver(nest, index))),
            _ => list(own.iter().filter_map(|(site, _)| Some(quoted(&self.written(*site)?)))),
        };
        let is_result = tensor < self.results;
        let verb = if is_result { "written" } else { "read" };
        let message =
            format!("{} would never be {verb}, for {named} run one after another", self.tensor(tensor));
        let error =
            own.iter().fold(self.error(&message), |error, (site, _)| error.with_end(self.axis(*site)));
        let others = (0..self.tensors.len()).filter(|other| *other != tensor).flat_map(axes);
        let whole = others.into_iter().find(|(_, index)| matches!(index, AxisIndex::Concat(_)));
        let error = whole.into_iter().fold(error, |error, (site, _)| error.with_end(self.axis(site)));
        if is_result {
            return error.with_help("each part is a result of its own: `a^b => a; b`");
        }
        let error = error.with_help("parts come from different operands: `a; b => a^b`");
        match self.flattened(&own) {
            Some(rows) => error.with_help(format!("the rows of one tensor, one after another, are `{rows}`")),
            None => error,
        }
    }

    /// The axis that holds the rows of a matrix one after another, if the axes are those of one.
    fn flattened(&self, axes: &[(Site, &AxisIndex)]) -> Option<String> {
        let [(row, AxisIndex::Sum(_)), (column, AxisIndex::Sum(_))] = axes else { return None };
        let size = *self.row(column.entry, column.kind).get(column.at)?;
        let (row, column) = (self.written(*row)?, self.written(*column)?);
        let is_label = |text: &str| text.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        (is_label(&row) && is_label(&column)).then(|| format!("{size}*{row}<+{column}"))
    }

    fn again(
        &self,
        nest: &Projected,
        result: usize,
        operands: &[usize],
        loops: &[u32],
        times: u128,
    ) -> Error {
        let value = match operands {
            [operand] => self.tensor(*operand),
            _ => format!("{} together", list(operands.iter().map(|operand| self.tensor(*operand)))),
        };
        let axes = list(loops.iter().map(|index| self.driver(nest, *index)));
        let times = if nest.accumulate == Accumulate::Product {
            format!("multiplied {times} times into")
        } else {
            format!("added {times} times to")
        };
        let message =
            format!("{value} would be {times} {}, once for each position of {axes}", self.tensor(result));
        let entries = || (self.results..self.tensors.len()).chain(0..self.results);
        let owner = |index: &u32| entries().find_map(|entry| self.driven(nest, entry, *index));
        let owners: Vec<Site> = loops.iter().filter_map(owner).collect();
        let error = owners.iter().fold(self.error(&message), |error, site| error.with_end(self.axis(*site)));
        let without =
            |entry: &usize| Some(format!("{}: written `{}`", self.tensor(*entry), self.shape(*entry)?));
        let error = operands.iter().filter_map(without).fold(error, Error::with_end);
        match owners.first() {
            Some(site) => error.with_help(self.apart(site.entry, result, &value, &axes)),
            None => error,
        }
    }

    /// Suggests how to do without a loop that belongs to another tensor than the repeated value.
    fn apart(&self, owner: usize, result: usize, value: &str, axes: &str) -> String {
        let (name, result) = (self.tensor(owner), self.tensor(result));
        if owner < self.results {
            return format!("make {name} and {result} in operations of their own");
        }
        format!("sum over {axes} in an operation of its own, before {name} is put together with {value}")
    }
}

fn loops_of(index: &AxisIndex) -> Vec<u32> {
    match index {
        AxisIndex::Sum(sum) => sum.terms.iter().map(|(_, index)| *index).collect(),
        AxisIndex::Symbol(_) => Vec::new(),
        AxisIndex::Concat(parts) => parts.iter().map(|part| part.index).collect(),
    }
}

fn quoted(text: &str) -> String {
    format!("`{text}`")
}

/// `x`, `x and y`, `x, y and z`.
fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    match items.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => items.concat(),
    }
}
