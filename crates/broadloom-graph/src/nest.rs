//! Loop nests for people and for other programs: in the names of the program, as data and as text. For MLIR, see
//! `lower/mlir`.

pub(crate) mod size_names;

use std::fmt::{self, Write};
use std::sync::Arc;

use broadloom_core::Size;
use broadloom_core::projection::{AxisIndex, Phase, Verdict};
use broadloom_spec::Kind;
use rustc_hash::FxHashSet;

use crate::facts::{Lookup, Special};
use crate::project::Projected;
use crate::step::{Leaf, Op, Step, StepId, Tensor, contraction, sources};
use crate::{Error, Graph, names, project};

/// The loop nest of an operation in the names of the program. It prints as [`Graph::show_nest`] does.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShownNest {
    /// The operation, as a program would write it.
    pub operation: String,
    /// The relations between its axes.
    pub rules: Vec<String>,
    /// Its loops.
    pub loops: Vec<ShownLoop>,
    /// Their product space.
    pub space: String,
    /// The tensors that are written.
    pub writes: Vec<ShownAccess>,
    /// The tensors that are read.
    pub reads: Vec<ShownAccess>,
    /// The verdict on whether no cell of the first result is written twice.
    pub injective: Verdict,
    /// The verdict on whether every cell of it is written.
    pub surjective: Verdict,
    /// True if it must be set to the neutral element first.
    pub needs_initialisation: bool,
    /// The loops with what is computed in them; every line ends with a newline.
    pub body: String,
}

/// A loop of a [`ShownNest`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShownLoop {
    /// Its name.
    pub name: String,
    /// The number of times it runs.
    pub extent: u64,
    /// The name of that size, if it has one.
    pub size_name: Option<String>,
    /// The factor of the product space that it belongs to; loops of one factor run one after another.
    pub factor: u32,
    /// True if no result's index mentions it.
    pub reduction: bool,
    /// The axes that it runs along.
    pub drives: String,
}

/// A tensor that a [`ShownNest`] reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShownAccess {
    /// Its name.
    pub tensor: String,
    /// The cell of it, or its value if it is a number: `a[i, k]`.
    pub cell: String,
    /// True if it is a number.
    pub is_number: bool,
    /// Its sizes in memory order.
    pub sizes: Vec<u64>,
    /// The index on each axis.
    pub index: Vec<String>,
    /// The distances by which it is read beyond the ends of each axis.
    pub margins: Vec<(u64, u64)>,
}

impl ShownNest {
    /// The relations, classes of axes, the product space and the indices of tensors: a line each.
    pub fn facts(&self) -> Vec<String> {
        let rules = self.rules.iter().map(|rule| format!("rule {rule}"));
        let classes = self.loops.iter().map(|each| format!("class {}: {}", each.name, each.drives));
        let space = std::iter::once(format!("product space: {}", self.space));
        let accesses = [("writes", &self.writes), ("reads", &self.reads)];
        let accesses = accesses.into_iter().flat_map(|(role, all)| all.iter().map(move |each| (role, each)));
        let accesses = accesses.filter(|(_, each)| !each.is_number);
        let accesses = accesses.map(|(role, each)| format!("{role} {each}"));
        rules.chain(classes).chain(space).chain(accesses).collect()
    }
}

impl fmt::Display for ShownNest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.operation)?;
        self.facts().iter().try_for_each(|fact| writeln!(f, "{fact}"))?;
        f.write_str(&self.body)
    }
}

impl fmt::Display for ShownAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.sizes.iter().map(u64::to_string).collect();
        write!(f, "{} of {} ({})", self.cell, self.tensor, sizes.join(" × "))?;
        if self.margins.iter().any(|margin| *margin != (0, 0)) {
            let margins = self.margins.iter().map(|(left, right)| format!("{left}+{right}"));
            write!(f, ", margins {}", margins.collect::<Vec<_>>().join(", "))?;
        }
        Ok(())
    }
}

impl Projected {
    /// The distance by which reads of a tensor reach beyond the ends of each of its axes, in memory
    /// order: the margins that its buffer needs for this operation.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (x, kernel) = (g.data("x", "8")?, g.data("kernel", "3")?);
    /// let y = g.einsum("o=+2*k; k => o", &[x, kernel])?;
    /// // A window of span 5 around each of 8 positions.
    /// assert_eq!(g.projection(y)?.margins(1), [(2, 2)]);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn margins(&self, tensor: usize) -> Vec<(u64, u64)> {
        let extent = |index: u32| self.projection.loops.get(index as usize).map(|each| each.extent);
        let reach = |(index, size): (&AxisIndex, &Size)| match index {
            // A reach that is negative, or not known to be a number, is no margin: code with
            // addresses beyond it is refused.
            AxisIndex::Sum(sum) => {
                sum.range(extent).map_or((0, 0), |(low, high)| ((-low).get(), (high + 1 - *size).get()))
            }
            AxisIndex::Symbol(_) | AxisIndex::Concat(_) => (0, 0),
        };
        self.projection.maps[tensor].iter().zip(&self.sizes[tensor]).map(reach).collect()
    }

    /// The sizes of a tensor in memory order, as numbers.
    pub fn shape(&self, tensor: usize) -> Vec<u64> {
        self.sizes[tensor].iter().map(|size| size.get()).collect()
    }

    /// The same loops and maps with another tensor in the place of the result, as the gradient of
    /// an operand is accumulated. Nothing is inferred; the maps are addressed by slot.
    pub fn with_result(&self, tensor: usize) -> Projected {
        let mut view = self.clone();
        let order = std::iter::once(tensor).chain((0..self.tensors.len()).filter(|other| *other != tensor));
        let (sizes, projection) = (Arc::make_mut(&mut view.sizes), Arc::make_mut(&mut view.projection));
        for (to, from) in order.enumerate() {
            view.tensors[to] = self.tensors[from];
            sizes[to].clone_from(&self.sizes[from]);
            projection.maps[to].clone_from(&self.projection.maps[from]);
        }
        view.results = 1;
        view
    }
}

/// The loop nest of the operation that makes a tensor, as text: product space, index maps, loops.
pub(crate) fn show_nest(graph: &mut Graph, result: Tensor) -> Result<String, Error> {
    Ok(nest(graph, result)?.to_string())
}

/// The same as data.
pub(crate) fn nest(graph: &mut Graph, result: Tensor) -> Result<ShownNest, Error> {
    let nest = project::projection(graph, result)?;
    let step = graph.tensors[result.index()].step;
    let size_names = size_names::size_names(graph, &nest)?;
    let (reductions, names) = (nest.reductions(), loop_names(graph, &nest));
    let driven = class_texts(graph, &nest);
    let shown_loop = |at: usize| {
        let each = &nest.projection.loops[at];
        ShownLoop {
            name: names[at].clone(),
            extent: each.extent.get(),
            size_name: size_names[at].clone(),
            factor: each.factor,
            reduction: reductions.binary_search(&(at as u32)).is_ok(),
            drives: driven[at].clone(),
        }
    };
    let access = |at: usize| ShownAccess {
        tensor: names::label_of(graph, nest.tensors[at]),
        cell: cell_text(graph, &nest, &names, at),
        is_number: number_of(graph, nest.tensors[at]).is_some(),
        sizes: nest.shape(at),
        index: nest.projection.maps[at].iter().map(|index| index_text(&names, index)).collect(),
        margins: nest.margins(at),
    };
    // A name of a size that is also a loop's would be read as that loop.
    let taken: FxHashSet<&String> = names.iter().collect();
    let shown = size_names.iter().map(|name| name.clone().filter(|name| !taken.contains(name)));
    let shown: Vec<Option<String>> = shown.collect();
    let mut body = String::new();
    write_loops(graph, &nest, &shown, &mut body);
    Ok(ShownNest {
        operation: names::plain_subject(graph, step),
        rules: rules_text(graph, step),
        loops: (0..names.len()).map(shown_loop).collect(),
        space: space_text(graph, &nest, &shown),
        writes: (0..nest.results).map(access).collect(),
        reads: (nest.results..nest.tensors.len()).map(access).collect(),
        injective: nest.is_injective(0),
        surjective: nest.is_surjective(0),
        needs_initialisation: nest.needs_initialisation(0),
        body,
    })
}

/// The names of a nest's loops: the labels of the spec they drive, and letters where there are none.
pub(crate) fn loop_names(graph: &Graph, nest: &Projected) -> Vec<String> {
    let spec = match graph.steps.get(nest.step.index()) {
        Some(Step::Op { op: Op::Einsum { spec, .. }, .. }) => Some(graph.spec(*spec)),
        _ => None,
    };
    let mut names: Vec<String> = Vec::new();
    // Letters are taken in their order, unless a label before has the name.
    let (mut taken, mut letters) = (FxHashSet::default(), letters());
    for label in &nest.labels {
        let axes = spec.as_ref().map(|spec| &spec.spec.names.axes);
        let named = label.zip(axes).and_then(|(label, axes)| axes.iter().nth(label as usize));
        let name = named.map(|(_, name)| name.text.to_string());
        let name = name.or_else(|| letters.find(|letter| !taken.contains(letter))).unwrap_or_default();
        taken.insert(name.clone());
        names.push(name);
    }
    names
}

/// The relations between axes of the operation, from its shape logic: the one list that sizes and loops
/// are read from.
fn rules_text(graph: &Graph, step: StepId) -> Vec<String> {
    let Some(Step::Op { op, .. }) = graph.steps.get(step.index()) else { return Vec::new() };
    let operands = names::step_operands(graph, step);
    if let Op::Einsum { spec, .. } = op {
        let spec = graph.spec(*spec);
        let rows = spec
            .spec
            .shapes()
            .enumerate()
            .flat_map(|(slot, shape)| shape.rows().map(move |(kind, row)| (slot, kind, row)));
        let said = rows.map(|(slot, kind, row)| (slot, kind, spec.written(row, row.span)));
        let of = |slot: usize| {
            operands.get(slot).map_or("the result".into(), |tensor| names::label_of(graph, *tensor))
        };
        let written = said.filter(|(_, _, text)| !text.is_empty());
        return written
            .map(|(slot, kind, text)| format!("{} of {} ≈ {text}", kind.name(), of(slot)))
            .collect();
    }
    if let (Op::Convert { .. }, [from]) = (op, operands) {
        return vec![format!(
            "elements of the result = elements of {}, in memory order",
            names::label_of(graph, *from)
        )];
    }
    let row = |slot: usize, kind: Kind| {
        let tensor = operands.get(slot).map_or("?".into(), |tensor| names::label_of(graph, *tensor));
        format!("{} of {tensor}", kind.name())
    };
    let contracted =
        contraction(*op).map(|[(a, input), (b, output)]| format!("{} ⊑ {}", row(a, input), row(b, output)));
    let broadcast = Kind::ALL
        .into_iter()
        .flat_map(|kind| sources(*op, operands.len(), kind).map(move |(slot, from)| (kind, slot, from)));
    // Rows without axes relate nothing.
    let empty = |slot: usize, kind: Kind| graph.rows(operands[slot])[kind as usize].is_empty();
    let broadcast = broadcast.filter(|(_, slot, from)| !empty(*slot, *from));
    let broadcast =
        broadcast.map(|(kind, slot, from)| format!("{} of the result ⊑ {}", kind.name(), row(slot, from)));
    contracted.into_iter().chain(broadcast).collect()
}

/// The axes that each loop drives.
fn class_texts(graph: &Graph, nest: &Projected) -> Vec<String> {
    let mut driven: Vec<Vec<String>> = vec![Vec::new(); nest.projection.loops.len()];
    for (at, map) in nest.projection.maps.iter().enumerate() {
        let name = if at < nest.results && names::name_of(graph, nest.tensors[at]).is_none() {
            "the result".into()
        } else {
            names::label_of(graph, nest.tensors[at])
        };
        for (axis, index) in map.iter().enumerate() {
            let mut drives = |index: u32| {
                driven[index as usize].push(format!("axis {} of {name}", axis + 1));
            };
            match index {
                AxisIndex::Sum(sum) => sum.terms.iter().for_each(|(_, index)| drives(*index)),
                AxisIndex::Symbol(_) => {}
                AxisIndex::Concat(segments) => segments.iter().for_each(|segment| drives(segment.index)),
            }
        }
    }
    driven.into_iter().map(|axes| axes.join(", ")).collect()
}

fn space_text(graph: &Graph, nest: &Projected, sizes: &[Option<String>]) -> String {
    let (reductions, names) = (nest.reductions(), loop_names(graph, nest));
    let factor = |loops: &Vec<u32>| {
        let each = |index: &u32| {
            let (at, extent) = (*index as usize, nest.projection.loops[*index as usize].extent);
            let value = sizes[at].as_ref().map(|size| format!("{size} = {extent}"));
            let reduction = reductions.binary_search(index).is_ok().then(|| "reduction".to_string());
            let notes: Vec<String> = value.into_iter().chain(reduction).collect();
            let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
            format!("{} in 0..{}{notes}", names[at], extent_text(nest, sizes, *index))
        };
        loops.iter().map(each).collect::<Vec<_>>().join(", then ")
    };
    let factors: Vec<String> = nest.projection.factors().iter().map(factor).collect();
    if factors.is_empty() { "one point".into() } else { factors.join("; ") }
}

/// The loops, one nest for each phase in which something is written.
fn write_loops(graph: &Graph, nest: &Projected, sizes: &[Option<String>], text: &mut String) {
    let names = loop_names(graph, nest);
    let mut word = "";
    let assign = |at| if nest.is_injective(at).holds() { "=" } else { nest.accumulate.sign() };
    let signs: Vec<&str> = (0..nest.results).map(assign).collect();
    for phase in nest.projection.phases_with_maps() {
        if phase.maps.first().is_none_or(|first| *first >= nest.results) {
            continue;
        }
        for (depth, index) in phase.loops.iter().enumerate() {
            let (name, extent) = (&names[*index as usize], extent_text(nest, sizes, *index));
            let start = if depth == 0 { word } else { "" };
            let _ = writeln!(text, "{}{start}for {name} in 0..{extent}", "  ".repeat(depth));
        }
        write_body(graph, nest, &phase, (&names, &signs), text);
        word = "then ";
    }
}

fn write_body(
    graph: &Graph,
    nest: &Projected,
    phase: &Phase,
    words: (&[String], &[&str]),
    text: &mut String,
) {
    let (names, signs) = words;
    let (results, reads) = phase.maps.split_at(phase.maps.partition_point(|at| *at < nest.results));
    let cell = |at: &usize| cell_in_phase(graph, nest, names, *at, &phase.loops);
    let read: Vec<String> = reads.iter().map(cell).collect();
    let step = graph.tensors[nest.tensors[0].index()].step;
    let special = graph.facts.special.get(&step);
    let combined = match graph.steps.get(step.index()) {
        _ if read.is_empty() => "0".into(),
        _ if let Some(Special::Matrix(function)) = special => {
            format!("{}({})", function.written(), read.join(", "))
        }
        _ if let Some(Special::Sort(_)) = special => format!("argsort({})", read.join(", ")),
        // The axis that is looked up has this label in the specs of lookups.
        _ if let (Some(Special::Lookup(lookup)), [x, ids]) = (special, &read[..]) => {
            let axis = if *lookup == Lookup::Scattered { "n" } else { "v" };
            format!("{x} where {axis} == {ids}")
        }
        Some(Step::Op { op: Op::Pointwise(id), .. }) if !id.is_sign() => {
            format!("{id}({})", read.join(", "))
        }
        Some(Step::Op { op: Op::Pointwise(id), .. }) => read.join(&format!(" {id} ")),
        Some(Step::Op { op: Op::Einsum { combine: crate::Combine::Sum, .. }, .. }) => read.join(" + "),
        Some(Step::Op { op: Op::Einsum { combine: crate::Combine::Where, .. }, .. }) => {
            format!("where({})", read.join(", "))
        }
        _ => read.join(" * "),
    };
    for at in results {
        let (write, assign) = (cell(at), signs[*at]);
        let _ = writeln!(text, "{}{write} {assign} {combined}", "  ".repeat(phase.loops.len()));
    }
}

/// A tensor with its index while some loops run.
fn cell_in_phase(graph: &Graph, nest: &Projected, names: &[String], at: usize, phase: &[u32]) -> String {
    match nest.projection.in_phase(at, phase) {
        Some(map) => {
            let name = |index: u32| names[index as usize].clone();
            cell_with(graph, nest, at, map.iter().map(|sum| sum.text(&name)).collect())
        }
        None => cell_text(graph, nest, names, at),
    }
}

/// A tensor with its index: `a[i, k]`, or its value if it is a number.
fn cell_text(graph: &Graph, nest: &Projected, names: &[String], at: usize) -> String {
    let indices = nest.projection.maps[at].iter().map(|index| index_text(names, index));
    cell_with(graph, nest, at, indices.collect())
}

fn cell_with(graph: &Graph, nest: &Projected, at: usize, indices: Vec<String>) -> String {
    let tensor = nest.tensors[at];
    if let Some(value) = number_of(graph, tensor) {
        return value.to_string();
    }
    let name = match names::name_of(graph, tensor) {
        Some(name) => name.to_string(),
        None if at < nest.results => "result".into(),
        None => format!("({})", names::label_of(graph, tensor)),
    };
    if indices.is_empty() { name } else { format!("{name}[{}]", indices.join(", ")) }
}

fn number_of(graph: &Graph, tensor: Tensor) -> Option<f64> {
    match graph.steps.get(graph.tensors[tensor.index()].step.index()) {
        Some(Step::Leaf { leaf: Leaf::Number(value), .. }) => Some(*value),
        _ => None,
    }
}

/// The number of iterations of a loop: the name of the size, or the number.
fn extent_text(nest: &Projected, sizes: &[Option<String>], index: u32) -> String {
    let extent = nest.projection.loops[index as usize].extent;
    sizes[index as usize].clone().unwrap_or_else(|| extent.to_string())
}

/// An index in words: `2*o + k - 1`.
fn index_text(names: &[String], index: &AxisIndex) -> String {
    match index {
        AxisIndex::Sum(sum) => sum.text(&|index| names[index as usize].clone()),
        AxisIndex::Symbol(symbol) => format!("${symbol}"),
        AxisIndex::Concat(segments) => {
            let part = |segment: &broadloom_core::projection::Segment| {
                let name = &names[segment.index as usize];
                if segment.offset == 0 { name.clone() } else { format!("{name} + {}", segment.offset) }
            };
            segments.iter().map(part).collect::<Vec<_>>().join(" ^ ")
        }
    }
}

/// `i`, `j`, `k`, …, then `i1`, `j1`, ….
fn letters() -> impl Iterator<Item = String> {
    (0u32..).flat_map(|round| {
        ('i'..='z')
            .map(move |letter| if round == 0 { letter.to_string() } else { format!("{letter}{round}") })
    })
}
