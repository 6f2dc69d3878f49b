//! Names of axes: what `batch`, `blocks.*.attend.heads` and `w[output, 0]` mean.

use broadloom_core::projection::AxisIndex;
use broadloom_graph::lowering::{Face, Op};
use broadloom_graph::{Error, ErrorKind, Graph, Kind, Shapes};
use broadloom_mesh::{Axis, Groups, Mesh, Request};

use super::{AxisName, Nodes, Shard, Sharding, place_of, row_of};
use crate::lower::{Content, Layout};

/// An axis with one of its names.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub axis: Axis,
    pub name: Name,
}

/// A name of an axis.
#[derive(Clone, Debug)]
pub(crate) enum Name {
    /// A named size.
    Size(String),
    /// A label of the spec that made a tensor, or of the declaration of one: the path of the tensor, and the label.
    Label(String, String),
    /// A place in a row of a tensor. True if it is the only axis of the tensor.
    Place(String, Kind, usize, bool),
}

impl Name {
    /// As it is written.
    fn text(&self) -> String {
        match self {
            Name::Size(name) => name.clone(),
            Name::Label(path, label) => format!("{path}.{label}"),
            Name::Place(path, kind, at, _) => format!("{path}[{}, {at}]", kind.name()),
        }
    }
}

/// A pattern that was read.
enum Pattern<'t> {
    /// `path[row, place]`
    Place(&'t str, &'t str, usize),
    /// `path.label`, or the path of a tensor with one axis.
    Path(&'t str, &'t str),
    /// A named size, or a label.
    Bare(&'t str),
}

fn pattern(text: &str) -> Option<Pattern<'_>> {
    if let Some(inner) = text.strip_suffix(']') {
        let (path, place) = inner.split_once('[')?;
        let (row, at) = place.split_once(',')?;
        return Some(Pattern::Place(path.trim(), row.trim(), at.trim().parse().ok()?));
    }
    let Some((path, label)) = text.rsplit_once('.') else { return Some(Pattern::Bare(text)) };
    // `w.output.0`, as `broadloom explain` writes it.
    if let (Ok(at), Some((path, row))) = (label.parse(), path.rsplit_once('.'))
        && ["batch", "input", "output"].contains(&row)
    {
        return Some(Pattern::Place(path, row, at));
    }
    Some(Pattern::Path(path, label))
}

impl Pattern<'_> {
    fn matches(&self, name: &Name) -> bool {
        match (self, name) {
            (Pattern::Place(glob, row, at), Name::Place(path, kind, place, _)) => {
                matches(glob, path) && *row == kind.name() && at == place
            }
            (Pattern::Path(glob, label), Name::Label(path, known)) => {
                matches(label, known) && (matches(glob, path) || matches(&format!("{glob}.*"), path))
            }
            (Pattern::Path(glob, last), Name::Place(path, _, _, true)) => {
                matches(&format!("{glob}.{last}"), path)
            }
            (Pattern::Bare(glob), Name::Size(known)) => matches(glob, known),
            (Pattern::Bare(glob), Name::Label(_, known)) => matches(glob, known),
            (Pattern::Bare(glob), Name::Place(path, _, _, true)) => matches(glob, path),
            _ => false,
        }
    }
}

/// True if a text is as a pattern says, in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// All names of the axes of numbered nodes.
pub(crate) fn candidates(
    graph: &Graph,
    (layout, named): (&Layout, &Shapes),
    nodes: &Nodes,
    names: &[AxisName],
) -> Vec<Candidate> {
    let mut found = Vec::new();
    for (number, node) in nodes.list.iter().enumerate() {
        let Content::Value(tensor) = *node else { continue };
        let path = graph.name_of(tensor);
        let rank = layout.sizes_of(tensor).len();
        for place in 0..rank {
            let axis = Axis { tensor: number, place };
            let Some((kind, at)) = row_of(layout, tensor, place) else { continue };
            if let Some(path) = path {
                found.push(Candidate { axis, name: Name::Place(path.into(), kind, at, rank == 1) });
            }
            let expression = named.expressions(tensor, kind).nth(at).flatten();
            found.extend(expression.map(|size| Candidate { axis, name: Name::Size(size.to_string()) }));
        }
        if let Some(path) = path {
            labels(graph, layout, nodes, (*node, path), &mut found);
        }
    }
    for AxisName { tensor, kind, place, name, is_size } in names {
        let length = layout.shapes.sizes(*tensor, *kind).count();
        let at = place.within(length).and_then(|at| place_of(layout, *tensor, *kind, at));
        let (Some(place), Some(number)) = (at, nodes.numbers.get(&Content::Value(*tensor))) else { continue };
        let axis = Axis { tensor: *number, place };
        if *is_size {
            found.push(Candidate { axis, name: Name::Size(name.clone()) });
        }
        if let Some(path) = graph.name_of(*tensor) {
            found.push(Candidate { axis, name: Name::Label(path.into(), name.clone()) });
        }
    }
    found
}

/// The labels of the spec that made a tensor, each at an axis that a loop of that name goes along.
fn labels(
    graph: &Graph,
    layout: &Layout,
    nodes: &Nodes,
    (node, path): (Content, &str),
    found: &mut Vec<Candidate>,
) {
    let Content::Value(tensor) = node else { return };
    let step = graph.made_by(tensor);
    if graph.leaf(tensor).is_some() || !matches!(graph.op(step), Some((Op::Einsum { .. }, _))) {
        return;
    }
    let Ok(nest) = layout.nest(step) else { return };
    for (number, label) in graph.loop_names(&nest).into_iter().enumerate() {
        if graph.captured(tensor, &label).is_err() {
            continue;
        }
        for (map, tensor) in nest.projection.maps.iter().zip(&nest.tensors) {
            let Some(numbered) = nodes.numbers.get(&Content::Value(*tensor)) else { continue };
            let along = |index: &AxisIndex| match index {
                AxisIndex::Sum(sum) => {
                    sum.offset.as_number() == Some(0)
                        && matches!(sum.terms[..], [(one, each)] if one.as_number() == Some(1) && each as usize == number)
                }
                _ => false,
            };
            if let Some(place) = map.iter().position(along) {
                let axis = Axis { tensor: *numbered, place };
                found.push(Candidate { axis, name: Name::Label(path.into(), label.clone()) });
            }
        }
    }
}

/// The axes that requests mean.
pub(crate) fn resolve(
    sharding: &Sharding,
    groups: &Groups,
    candidates: &[Candidate],
) -> Result<Vec<Request>, Error> {
    let request = |shard: &Shard| {
        let about = |error: Error| error.with_fact(shard.fact());
        let over = mesh_axis(&sharding.mesh, &shard.over).map_err(about)?;
        let pattern = pattern(&shard.axes).ok_or_else(|| about(unreadable(&shard.axes)))?;
        let found: Vec<&Candidate> = candidates.iter().filter(|each| pattern.matches(&each.name)).collect();
        one_group(&shard.axes, groups, &found).map_err(about)?;
        if found.is_empty() {
            return Err(about(unknown(&shard.axes, candidates)));
        }
        let mut axes: Vec<Axis> = found.iter().map(|each| each.axis).collect();
        axes.sort_unstable();
        axes.dedup();
        Ok(Request { axes, over, chooses: matches!(pattern, Pattern::Place(..)) })
    };
    sharding.shards.iter().map(request).collect()
}

/// The place of a mesh axis.
pub(crate) fn mesh_axis(mesh: &Mesh, wanted: &str) -> Result<usize, Error> {
    mesh.axes.iter().position(|(name, _)| name == wanted).ok_or_else(|| {
        let known: Vec<String> = mesh.axes.iter().map(|(name, _)| format!("`{name}`")).collect();
        let message = format!("the mesh has no axis `{wanted}`; it has {}", known.join(", "));
        Error::new(ErrorKind::Use, message)
    })
}

fn unreadable(text: &str) -> Error {
    Error::new(ErrorKind::Use, format!("`{text}` names no axis")).with_help(
        "write a named size (`batch`), a label (`blocks.*.attend.heads`), or a place (`w[output, 0]`)",
    )
}

/// Refuses a label that means several axes, unless it says so by a `*`.
fn one_group(text: &str, groups: &Groups, found: &[&Candidate]) -> Result<(), Error> {
    let is_size = found.iter().any(|each| matches!(each.name, Name::Size(_)));
    let mut several: Vec<&&Candidate> = Vec::new();
    for each in found {
        if several.iter().all(|known| groups.of(known.axis) != groups.of(each.axis)) {
            several.push(each);
        }
    }
    if several.len() < 2 || is_size || text.contains('*') {
        return Ok(());
    }
    let shown: Vec<String> = several.iter().take(3).map(|each| format!("`{}`", each.name.text())).collect();
    let more = if several.len() > 3 { ", …" } else { "" };
    let message = format!("`{text}` means several axes: {}{more}", shown.join(", "));
    let all = if text.contains('.') { format!("{text}*") } else { format!("*.{text}") };
    Err(Error::new(ErrorKind::Use, message)
        .with_help(format!("write the path of one of them, or `{all}` for all of them")))
}

fn unknown(text: &str, candidates: &[Candidate]) -> Error {
    let mut names: Vec<String> = Vec::new();
    // Sizes and labels first: they are what people give names to.
    let rank = |each: &&Candidate| match &each.name {
        Name::Size(_) => 0,
        Name::Label(..) => 1,
        Name::Place(..) => 2,
    };
    let mut sorted: Vec<&Candidate> = candidates.iter().collect();
    sorted.sort_by_key(rank);
    for name in sorted.iter().map(|each| format!("`{}`", each.name.text())) {
        if !names.contains(&name) && names.len() < 8 {
            names.push(name);
        }
    }
    let error = Error::new(ErrorKind::Use, format!("no axis is called `{text}`"));
    match names.is_empty() {
        true => error.with_help("the routines of the program compute nothing with axes"),
        false => error.with_help(format!("there are {}, …; a `*` stands for any text", names.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_stand_for_any_text() {
        let yes =
            [("a", "a"), ("*", ""), ("*.h", "a.b.h"), ("a.*.h", "a.0.b.h"), ("a*", "a"), ("*a*a", "aa")];
        let no = [("a", "ab"), ("*.h", "h"), ("a.*.h", "a.h"), ("*a*a", "a"), ("", "a")];
        yes.iter().for_each(|(pattern, text)| assert!(matches(pattern, text), "{pattern} {text}"));
        no.iter().for_each(|(pattern, text)| assert!(!matches(pattern, text), "{pattern} {text}"));
    }
}
