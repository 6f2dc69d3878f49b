//! The names that sizes were declared with, carried to the loops that range over them.
//!
//! `data x = n=8` says that an axis of `x` has the size `n`. A loop that runs along this axis from end to end
//! ranges over `n`; a result that the loop runs along has the size `n` too, and so on through the program.
//! Names are for reading only: they are found when a nest is shown, and inference knows nothing of them.

use std::sync::Arc;

use broadloom_core::Size;
use broadloom_core::projection::AxisIndex;
use broadloom_spec::{Kind, ShapeDecl};
use rustc_hash::FxHashMap;

use crate::project::{MEMORY, Projected, Reading};
use crate::shape::Shapes;
use crate::size::{AxisNames, SizeNames};
use crate::step::Tensor;
use crate::{Error, Graph, final_shapes, names};

/// For each loop of a nest the name of the size that it ranges over, if one was declared.
pub(crate) fn size_names(graph: &mut Graph, nest: &Projected) -> Result<Vec<Option<String>>, Error> {
    let known = all_size_names(graph)?;
    let text = |name: Option<Arc<str>>| name.map(|name| name.to_string());
    let mut names = loop_names(nest, &known);
    // A result may be all that has a name for a loop.
    let results = if graph.symbols.is_empty() { 0 } else { nest.results };
    for result in 0..results {
        let Some(axes) = known.get(&nest.tensors[result]) else { continue };
        for (axis, name) in axes.iter().enumerate() {
            if let (Some(name), Some(index)) = (name, runs_along(nest, result, axis)) {
                names[index as usize].get_or_insert_with(|| Arc::clone(name));
            }
        }
    }
    Ok(names.into_iter().map(text).collect())
}

/// The names of all axes, found once for each state of the graph.
fn all_size_names(graph: &mut Graph) -> Result<Arc<SizeNames>, Error> {
    let shapes = final_shapes::final_shapes(graph)?;
    if let Some((of, known)) = &graph.size_names
        && Arc::ptr_eq(of, &shapes)
    {
        return Ok(Arc::clone(known));
    }
    let mut known = declared_size_names(graph, &shapes);
    // Sizes that depend on named ones, as they were before those got their numbers.
    let symbolic = graph.symbolic.clone().unwrap_or_else(|| Arc::clone(&shapes));
    if !graph.symbols.is_empty() {
        for tensor in graph.tensors() {
            let own = known.entry(tensor).or_insert_with(|| vec![None; axes_of(&shapes, tensor)]);
            name_expressions(&symbolic, tensor, own);
            // Tensors that were made since then, and are symbolic still.
            name_expressions(&shapes, tensor, own);
        }
    }
    if !known.is_empty() {
        let mut reading = Reading::new(graph, &shapes);
        for step in graph.step_ids() {
            // An assignment says nothing about the names of the tensor it assigns to.
            let makes = |tensor: Tensor| graph.tensors[tensor.index()].step == step;
            if names::step_operands(graph, step).is_empty() || !names::step_results(graph, step).all(makes) {
                continue;
            }
            // A step without a nest passes no names on.
            let Ok(made) = reading.read(step) else { continue };
            let loops = loop_names(&made, &known);
            for result in 0..made.results {
                let mut names = axis_names(&made, result, &loops);
                name_expressions(&symbolic, made.tensors[result], &mut names);
                known.insert(made.tensors[result], names);
            }
        }
    }
    let known = Arc::new(known);
    graph.size_names = Some((shapes, Arc::clone(&known)));
    Ok(known)
}

/// The names in the declarations of leaves, without those that stand for several sizes.
fn declared_size_names(graph: &Graph, shapes: &Shapes) -> SizeNames {
    let mut sizes: FxHashMap<Arc<str>, Option<u64>> = FxHashMap::default();
    let mut all: FxHashMap<Tensor, AxisNames> = FxHashMap::default();
    for (tensor, declaration) in &graph.declarations {
        let tensor = Tensor(*tensor);
        let Some(decl) = &declaration.decl else { continue };
        let names = declared_names(decl, |kind| shapes.sizes(tensor, kind).count());
        let axes = MEMORY.into_iter().flat_map(|kind| shapes.sizes(tensor, kind));
        for (name, size) in names.iter().zip(axes) {
            if let Some(name) = name {
                let known = sizes.entry(Arc::clone(name)).or_insert(Some(size));
                *known = known.filter(|known| *known == size);
            }
        }
        if names.iter().any(Option::is_some) {
            all.insert(tensor, names);
        }
    }
    for name in all.values_mut().flatten() {
        *name = name.take().filter(|name| sizes[name].is_some());
    }
    all
}

/// The number of axes of a tensor.
fn axes_of(shapes: &Shapes, tensor: Tensor) -> usize {
    MEMORY.into_iter().map(|kind| shapes.sizes(tensor, kind).count()).sum()
}

/// Names axes that have no name by the expressions for their sizes.
fn name_expressions(symbolic: &Shapes, tensor: Tensor, names: &mut AxisNames) {
    if tensor.index() >= symbolic.len() {
        return;
    }
    let sizes = MEMORY.into_iter().flat_map(|kind| symbolic.expressions(tensor, kind));
    for (name, size) in names.iter_mut().zip(sizes) {
        if let Some(size) = size {
            name.get_or_insert_with(|| size.to_string().into());
        }
    }
}

/// The names of a declaration, for rows of so many axes: from the front up to the hole, then from the back.
fn declared_names(decl: &ShapeDecl, rank: impl Fn(Kind) -> usize) -> AxisNames {
    let mut names = Vec::new();
    for kind in MEMORY {
        let start = names.len();
        names.resize(start + rank(kind), None);
        let Some(row) = decl.shape.row(kind) else { continue };
        let name = |axis: &broadloom_spec::DeclAxis| axis.name.map(|name| decl.names.axes.text(name).into());
        let axes = &mut names[start..];
        for (own, axis) in axes.iter_mut().zip(row.lead()) {
            *own = name(axis);
        }
        for (own, axis) in axes.iter_mut().rev().zip(row.trail.iter().rev()) {
            *own = name(axis);
        }
    }
    names
}

/// The name of the size of each loop: that of the first axis of an operand that it runs along.
fn loop_names(nest: &Projected, known: &FxHashMap<Tensor, AxisNames>) -> AxisNames {
    let mut names = vec![None; nest.projection.loops.len()];
    for operand in nest.results..nest.tensors.len() {
        let Some(axes) = known.get(&nest.tensors[operand]) else { continue };
        for (axis, name) in axes.iter().enumerate() {
            if let (Some(name), Some(index)) = (name, runs_along(nest, operand, axis)) {
                names[index as usize].get_or_insert_with(|| Arc::clone(name));
            }
        }
    }
    names
}

/// The names of the sizes of a result's axes.
fn axis_names(nest: &Projected, result: usize, loops: &AxisNames) -> AxisNames {
    let name = |axis: usize| loops[runs_along(nest, result, axis)? as usize].clone();
    (0..nest.sizes[result].len()).map(name).collect()
}

/// The loop that runs along an axis from end to end, step by step, so that axis and loop have the
/// same size by rule. A padded window has the size of its axis too, but a loop over a kernel of the
/// same length is no reason to give either a name.
fn runs_along(nest: &Projected, tensor: usize, axis: usize) -> Option<u32> {
    let AxisIndex::Sum(sum) = nest.projection.maps[tensor].get(axis)? else { return None };
    let size = nest.sizes[tensor][axis];
    let whole = |(coefficient, index): &&(Size, u32)| {
        *coefficient == 1 && nest.projection.loops[*index as usize].extent == size
    };
    let mut along = sum.terms.iter().filter(whole);
    match (along.next(), along.next()) {
        (Some((_, index)), None) => Some(*index),
        _ => None,
    }
}
