//! The meaning of a spec, from the definition of the notation.
//!
//! Every label, every place of a hole and every wildcard is an index with a range. All assignments
//! of all indices are enumerated; the product of the operands at an assignment is added to the
//! result.
//!
//! | axis | position |
//! |---|---|
//! | `i` | `i` |
//! | `2` | 2 |
//! | `_` | an index of its own |
//! | `s*o+c` | `s·o + c` |
//! | `s*o<+d*k+c` | `s·o + c + d·k` |
//! | `s*o=+d*k+c` | `s·o + c + d·k − left`, `left = span / 2`, `span = 1 + d·(K − 1)`; outside there are zeros |
//! | `(a b 3)` | `(a·B + b)·3 + _`, an index of its own for each number |
//! | `a^b^3^_` | `a`; or `A + b`; nothing is at the 3 positions after that; or `A + B + 3 + _` |
//!
//! Labels that occur together in concatenations, directly or through others, are alternatives: one
//! of them exists at a time, and a tensor that needs another takes no part.

use std::collections::HashSet;

use broadloom_spec::{
    AxisKind, Coefficient, ComponentKind, Kind, Padding, PartKind, Row, RowVariable, Shape, Spec, parse_spec,
};

use crate::meaning::array::{Array, Form, MEMORY, each_point};

/// A use of a spec.
#[derive(Clone, Debug, Default)]
pub struct Use {
    pub spec: String,
    /// The padding of windows without a marker.
    pub padding: Option<bool>,
    /// The values of named strides and dilations.
    pub coefficients: Vec<(&'static str, u64)>,
    /// Sizes of labels that are set.
    pub sizes: Vec<(String, u64)>,
}

/// The value of an operation.
#[derive(Default)]
pub struct Meaning {
    pub results: Vec<Array>,
    /// The number of enumerated assignments.
    pub points: u64,
    /// For each axis, true if it is padded: of the results, then of the operands, in memory order.
    pub padded: Vec<Vec<bool>>,
    /// True if there are labels that exclude each other, or parts of an axis.
    pub concatenates: bool,
    /// True if two operands fill the same part of a concatenated result.
    pub clash: bool,
    /// True if they might, if nothing else decided which operands take part.
    pub may_clash: bool,
    /// True if a tensor never takes part, or a value is added repeatedly for positions of an index
    /// that neither it nor the result has.
    pub pointless: bool,
}

/// The index of an axis.
enum Place {
    Index(usize),
    Fixed(u64),
    Sum {
        stride: u64,
        over: usize,
        offset: u64,
        window: Option<Window>,
    },
    Parts(Vec<Part>),
    /// The indices of the parts of a composed axis.
    Composed(Vec<usize>),
}

struct Window {
    dilation: u64,
    kernel: usize,
    padded: bool,
}

enum Part {
    Index(usize),
    Gap(u64),
}

/// Indices by number: first the labels of the spec, then the others.
struct Indices {
    /// Indices of the places of holes: the hole, then the place.
    holes: Vec<((Kind, RowVariable), Vec<usize>)>,
    sizes: Vec<Option<u64>>,
}

impl Indices {
    fn fresh(&mut self) -> usize {
        self.sizes.push(None);
        self.sizes.len() - 1
    }
}

/// One tensor: the indices of its axes, in memory order, and its sizes.
struct Tensor {
    places: Vec<Place>,
    sizes: Vec<u64>,
}

/// The meaning of a spec for operands with these shapes and numbers, and results of these shapes.
pub fn evaluate(usage: &Use, operands: &[(&Form, &Array)], results: &[Form]) -> Result<Meaning, String> {
    let spec = parse_spec(&usage.spec).map_err(|error| error.to_string())?;
    if spec.operands.len() != operands.len() || spec.results.len() != results.len() {
        return Err(String::from("the spec is for other numbers of tensors"));
    }
    let mut indices = Indices { holes: Vec::new(), sizes: vec![None; spec.names.axes.len()] };
    for (name, size) in &usage.sizes {
        let label = spec.names.axes.find(name).ok_or_else(|| format!("no label {name}"))?;
        indices.sizes[label.0 as usize] = Some(*size);
    }
    let shapes = spec.results.iter().zip(results);
    let shapes = shapes.chain(spec.operands.iter().zip(operands.iter().map(|(form, _)| *form)));
    let mut tensors = Vec::new();
    for (shape, form) in shapes {
        tensors.push(tensor(&spec, usage, shape, form, &mut indices)?);
    }
    let sizes = find_sizes(&tensors, indices.sizes)?;
    let groups = alternatives(&tensors, sizes.len());
    let arrays: Vec<&Array> = operands.iter().map(|(_, array)| *array).collect();
    add_up(&tensors, &sizes, &groups, &arrays, results.len())
}

/// Enumerates all assignments of all indices.
fn add_up(
    tensors: &[Tensor],
    sizes: &[u64],
    groups: &[Vec<usize>],
    operands: &[&Array],
    results: usize,
) -> Result<Meaning, String> {
    let always: Vec<usize> =
        (0..sizes.len()).filter(|index| !groups.iter().any(|group| group.contains(index))).collect();
    let mut made: Vec<Array> =
        tensors[..results].iter().map(|tensor| Array::zeros(tensor.sizes.clone())).collect();
    let mut points = 0;
    let mut watch = Watch::new(tensors, results);
    let choices: Vec<u64> = groups.iter().map(|group| group.len() as u64).collect();
    each_point(&choices, |choice| {
        let chosen = choice.iter().zip(groups).map(|(which, group)| group[*which as usize]);
        let existing: Vec<usize> = always.iter().copied().chain(chosen).collect();
        let ranges: Vec<u64> = existing.iter().map(|index| sizes[*index]).collect();
        let mut assignment: Vec<Option<u64>> = vec![None; sizes.len()];
        points += each_point(&ranges, |values| {
            for (index, value) in existing.iter().zip(values) {
                assignment[*index] = Some(*value);
            }
            watch.see(&assignment, sizes)?;
            let (mut product, mut any) = (1.0, false);
            for (slot, operand) in operands.iter().enumerate() {
                let Some(place) = position(&tensors[results + slot], &assignment, sizes)? else { continue };
                product *= place.map_or(0.0, |place| operand.values[place]);
                any = true;
            }
            for (result, array) in made.iter_mut().enumerate() {
                if let Some(Some(place)) = position(&tensors[result], &assignment, sizes)?
                    && any
                {
                    array.values[place] += product;
                }
            }
            Ok(())
        })?;
        Ok(())
    })?;
    let is_padded =
        |place: &Place| matches!(place, Place::Sum { window: Some(Window { padded: true, .. }), .. });
    let padded = tensors.iter().map(|tensor| tensor.places.iter().map(is_padded).collect()).collect();
    let (clash, may_clash) = clashes(tensors, groups, results)?;
    let pointless = watch.pointless();
    Ok(Meaning {
        results: made,
        points,
        padded,
        concatenates: !groups.is_empty(),
        clash,
        may_clash,
        pointless,
    })
}

/// Records the tensors that take part, and the values that were added.
struct Watch<'a> {
    tensors: &'a [Tensor],
    results: usize,
    present: Vec<bool>,
    /// The result, the operands that took part, and the indices that any of them has.
    values: HashSet<(usize, Vec<usize>, Vec<Option<u64>>)>,
    again: bool,
}

impl Watch<'_> {
    fn new(tensors: &[Tensor], results: usize) -> Watch<'_> {
        let present = vec![false; tensors.len()];
        Watch { tensors, results, present, values: HashSet::new(), again: false }
    }

    fn see(&mut self, assignment: &[Option<u64>], sizes: &[u64]) -> Result<(), String> {
        let mut here = Vec::new();
        for (at, tensor) in self.tensors.iter().enumerate() {
            if position(tensor, assignment, sizes)?.is_some() {
                here.push(at);
                self.present[at] = true;
            }
        }
        let (made, operands): (Vec<usize>, Vec<usize>) = here.into_iter().partition(|at| *at < self.results);
        for result in made.into_iter().filter(|_| !operands.is_empty()) {
            let mut own = vec![None; assignment.len()];
            let all = operands.iter().chain([&result]).flat_map(|at| indices_of(&self.tensors[*at]));
            all.for_each(|index| own[index] = assignment[index]);
            self.again |= !self.values.insert((result, operands.clone(), own));
        }
        Ok(())
    }

    fn pointless(&self) -> bool {
        self.again || self.present.contains(&false)
    }
}

/// Returns true if two operands fill the same part of a concatenated result, and true if they might
/// as far as one group of alternatives shows.
fn clashes(tensors: &[Tensor], groups: &[Vec<usize>], results: usize) -> Result<(bool, bool), String> {
    let several: Vec<&Vec<usize>> = groups.iter().filter(|group| group.len() > 1).collect();
    let within =
        |tensor: &Tensor, group: &[usize]| indices_of(tensor).iter().any(|index| group.contains(index));
    let fills = |tensor: &Tensor, group: &[usize]| {
        let part = |place: &&Place| matches!(place, Place::Parts(_));
        tensor
            .places
            .iter()
            .filter(part)
            .any(|place| indices_of_place(place).iter().any(|index| group.contains(index)))
    };
    let (made, operands) = tensors.split_at(results);
    let (mut clash, mut may_clash) = (false, false);
    for group in groups {
        let filled = made.iter().any(|result| fills(result, group));
        may_clash |= filled
            && group.iter().any(|index| {
                operands.iter().filter(|operand| indices_of(operand).contains(index)).count() > 1
            });
    }
    let choices: Vec<u64> = several.iter().map(|group| group.len() as u64).collect();
    each_point(&choices, |choice| {
        let chosen: Vec<usize> =
            choice.iter().zip(&several).map(|(which, group)| group[*which as usize]).collect();
        let exists =
            |index: &usize| chosen.contains(index) || !several.iter().any(|group| group.contains(index));
        let takes_part = |tensor: &&Tensor| {
            tensor.places.iter().all(|place| {
                let indices = indices_of_place(place);
                match place {
                    Place::Parts(_) => indices.iter().any(exists),
                    _ => indices.iter().all(exists),
                }
            })
        };
        for result in made.iter().filter(takes_part) {
            for group in several.iter().filter(|group| fills(result, group)) {
                let both = operands.iter().filter(takes_part).filter(|operand| within(operand, group));
                clash |= both.count() > 1;
            }
        }
        Ok(())
    })?;
    Ok((clash, may_clash))
}

/// The position of an assignment on a tensor: none if an index of the tensor does not exist,
/// outside if it is in the padding.
fn position(
    tensor: &Tensor,
    assignment: &[Option<u64>],
    sizes: &[u64],
) -> Result<Option<Option<usize>>, String> {
    let (mut place, mut outside) = (0, false);
    for (axis, size) in tensor.places.iter().zip(&tensor.sizes) {
        let mut padding = false;
        let at = match axis {
            Place::Index(index) => assignment[*index].map(|value| value as i64),
            Place::Fixed(at) => Some(*at as i64),
            Place::Sum { stride, over, offset, window: None } => {
                assignment[*over].map(|value| (stride * value + offset) as i64)
            }
            Place::Sum { stride, over, offset, window: Some(window) } => {
                let span = 1 + window.dilation * sizes[window.kernel].saturating_sub(1);
                let left = if window.padded { span / 2 } else { 0 };
                padding = window.padded;
                assignment[*over].zip(assignment[window.kernel]).map(|(over, kernel)| {
                    (stride * over + offset + window.dilation * kernel) as i64 - left as i64
                })
            }
            Place::Composed(parts) => parts
                .iter()
                .try_fold(0, |at, index| Some(at * sizes[*index] + assignment[*index]?))
                .map(|at| at as i64),
            Place::Parts(parts) => {
                let mut start = 0;
                let mut at = None;
                for part in parts {
                    match part {
                        Part::Gap(size) => start += size,
                        Part::Index(index) => {
                            at = at.or(assignment[*index].map(|value| (start + value) as i64));
                            start += sizes[*index];
                        }
                    }
                }
                at
            }
        };
        let Some(at) = at else { return Ok(None) };
        if at < 0 || at >= *size as i64 {
            if !padding {
                return Err(format!("the definition goes to {at} of an axis of {size}"));
            }
            outside = true;
        }
        place = place * *size as usize + at.max(0) as usize;
    }
    Ok(Some((!outside).then_some(place)))
}

/// The axes of a tensor as the spec indexes them.
fn tensor(
    spec: &Spec,
    usage: &Use,
    shape: &Shape<broadloom_spec::Axis>,
    form: &Form,
    indices: &mut Indices,
) -> Result<Tensor, String> {
    let mut places = Vec::new();
    for row in MEMORY {
        let (kind, rank) = (Kind::ALL[row], form.0[row].len());
        let closed = Row { opening: None, trail: Vec::new(), span: shape.span };
        let written = shape.row(kind).unwrap_or(&closed);
        let Some(inside) = rank.checked_sub(written.lead().len() + written.trail.len()) else {
            return Err(format!("{form} has too few axes for {}", usage.spec));
        };
        for axis in written.lead() {
            places.push(place(spec, usage, &axis.kind, indices)?);
        }
        match written.hole() {
            None if inside > 0 => return Err(format!("{form} has too many axes for {}", usage.spec)),
            None => {}
            Some(hole) => {
                let key = match hole.variable {
                    RowVariable::Ellipsis => (kind, hole.variable),
                    RowVariable::Named(_) => (Kind::Output, hole.variable),
                };
                let known = indices.holes.iter().find(|(known, _)| *known == key);
                let known = known.map(|(_, places)| places.clone());
                let filled = known.unwrap_or_else(|| {
                    let places: Vec<usize> = (0..inside).map(|_| indices.fresh()).collect();
                    indices.holes.push((key, places.clone()));
                    places
                });
                if filled.len() != inside {
                    return Err(format!(
                        "a hole of {} stands for {} and {inside} axes",
                        usage.spec,
                        filled.len()
                    ));
                }
                places.extend(filled.into_iter().map(Place::Index));
            }
        }
        for axis in &written.trail {
            places.push(place(spec, usage, &axis.kind, indices)?);
        }
    }
    Ok(Tensor { places, sizes: form.memory() })
}

fn place(spec: &Spec, usage: &Use, axis: &AxisKind, indices: &mut Indices) -> Result<Place, String> {
    let value = |coefficient: Coefficient| match coefficient {
        Coefficient::Literal(value) => Ok(value.get()),
        Coefficient::Named(name) => {
            let name = spec.names.coefficients.text(name);
            let given = usage.coefficients.iter().find(|(given, _)| *given == name);
            given.map(|(_, value)| *value).ok_or_else(|| format!("nothing is said about {name}"))
        }
    };
    Ok(match axis {
        AxisKind::Label(label) => Place::Index(label.0 as usize),
        AxisKind::Fixed(at) => Place::Fixed(*at),
        AxisKind::Wildcard => Place::Index(indices.fresh()),
        AxisKind::Affine(affine) => {
            let window = match affine.kernel {
                None => None,
                Some(kernel) => Some(Window {
                    dilation: value(kernel.term.coefficient)?,
                    kernel: kernel.term.label.0 as usize,
                    padded: match kernel.padding {
                        Padding::Padded => true,
                        Padding::Valid | Padding::Dropped => false,
                        Padding::Unmarked => usage.padding.ok_or("nothing is said about the padding")?,
                    },
                }),
            };
            let (stride, over) = (value(affine.over.coefficient)?, affine.over.label.0 as usize);
            Place::Sum { stride, over, offset: affine.offset, window }
        }
        AxisKind::Concat(components) => {
            let part = |component: &broadloom_spec::Component| match component.kind {
                ComponentKind::Label(label) => Part::Index(label.0 as usize),
                ComponentKind::Size(size) => Part::Gap(size.get()),
                ComponentKind::Wildcard => Part::Index(indices.fresh()),
            };
            Place::Parts(components.iter().map(part).collect())
        }
        AxisKind::Composed(parts) => {
            let part = |part: &broadloom_spec::Part| match part.kind {
                PartKind::Label(label) => Ok(label.0 as usize),
                PartKind::Size(size) => {
                    let index = indices.fresh();
                    indices.sizes[index] = Some(size.get());
                    Ok(index)
                }
                PartKind::Row(_) => Err(String::from("rows in parentheses are not enumerated")),
            };
            Place::Composed(parts.iter().map(part).collect::<Result<_, _>>()?)
        }
    })
}

/// Finds the sizes of all indices from the axes, and checks the sizes of the axes.
fn find_sizes(tensors: &[Tensor], mut sizes: Vec<Option<u64>>) -> Result<Vec<u64>, String> {
    let axes = || tensors.iter().flat_map(|tensor| tensor.places.iter().zip(&tensor.sizes));
    loop {
        let before = sizes.clone();
        for (place, size) in axes() {
            let says = |index: &usize| match place {
                // A window that is padded may be of any size.
                Place::Sum { over, window: Some(Window { padded: true, .. }), .. } => index == over,
                _ => true,
            };
            let unknown: Vec<usize> =
                indices_of_place(place).into_iter().filter(|i| says(i) && sizes[*i].is_none()).collect();
            if let [index] = unknown[..] {
                // Only a part of an axis may be empty.
                let least = if matches!(place, Place::Parts(_)) { 0 } else { 1 };
                sizes[index] = (least..=*size).find(|guess| {
                    let known =
                        |other: usize| if other == index { *guess } else { sizes[other].unwrap_or(1) };
                    axis_size(place, known) == Some(*size)
                });
            }
        }
        if sizes == before {
            break;
        }
    }
    let sizes: Option<Vec<u64>> = sizes.into_iter().collect();
    let sizes = sizes.ok_or("the shapes do not say how large a label is")?;
    for (place, size) in axes() {
        let expected = axis_size(place, |index| sizes[index]);
        if expected.is_some_and(|expected| expected != *size) {
            return Err(format!("an axis of {size} should have size {expected:?}"));
        }
        if matches!(place, Place::Fixed(at) if at >= size) {
            return Err(format!("a fixed index beyond an axis of {size}"));
        }
    }
    Ok(sizes)
}

/// The size of an axis; None for a fixed index.
fn axis_size(place: &Place, sizes: impl Fn(usize) -> u64) -> Option<u64> {
    match place {
        Place::Index(index) => Some(sizes(*index)),
        Place::Fixed(_) => None,
        Place::Sum { stride, over, offset, window: None } => {
            let least = (stride * sizes(*over)).checked_sub(*stride)? + offset + 1;
            Some(least.max(stride * sizes(*over)))
        }
        Place::Sum { stride, over, offset, window: Some(window) } => {
            let span = 1 + window.dilation * sizes(window.kernel).saturating_sub(1);
            match window.padded {
                true => Some(stride * sizes(*over)),
                false => Some((stride * sizes(*over)).checked_sub(*stride)? + span + offset),
            }
        }
        Place::Composed(parts) => Some(parts.iter().map(|index| sizes(*index)).product()),
        Place::Parts(parts) => Some(
            parts
                .iter()
                .map(|part| match part {
                    Part::Index(index) => sizes(*index),
                    Part::Gap(size) => *size,
                })
                .sum(),
        ),
    }
}

/// Groups of indices that occur together in concatenations, directly or through others: one of each
/// group exists.
fn alternatives(tensors: &[Tensor], count: usize) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for place in tensors.iter().flat_map(|tensor| &tensor.places) {
        let Place::Parts(_) = place else { continue };
        let mut group = indices_of_place(place);
        groups.retain(|other| {
            let apart = !other.iter().any(|index| group.contains(index));
            if !apart {
                group.extend(other);
            }
            apart
        });
        group.sort_unstable();
        group.dedup();
        groups.push(group);
    }
    debug_assert!(groups.iter().flatten().all(|index| *index < count));
    groups.retain(|group| !group.is_empty());
    groups
}

fn indices_of(tensor: &Tensor) -> Vec<usize> {
    tensor.places.iter().flat_map(indices_of_place).collect()
}

fn indices_of_place(place: &Place) -> Vec<usize> {
    match place {
        Place::Index(index) => vec![*index],
        Place::Fixed(_) => Vec::new(),
        Place::Composed(parts) => parts.clone(),
        Place::Sum { over, window, .. } => {
            [*over].into_iter().chain(window.as_ref().map(|window| window.kernel)).collect()
        }
        Place::Parts(parts) => {
            let index = |part: &Part| match part {
                Part::Index(index) => Some(*index),
                Part::Gap(_) => None,
            };
            parts.iter().filter_map(index).collect()
        }
    }
}
