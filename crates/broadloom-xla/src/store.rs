//! Writing: the values of a nest, put together where loops are reduced, at the cells of the target.
//!
//! ```text
//! y[i] = …         the values themselves, their axes in the order of the target
//! y[i] += …        dot_general, convolution, reduce_window, or reduce
//! y[i + 3] = …     concatenate, when the buffer is read
//! y[position] = …  dynamic_update_slice
//! y[ids[b]] += …   scatter
//! ```

use broadloom_core::projection::{Component, is_injective};
use broadloom_loops::{Binary, BufferId, Dtype, Scalar};

use crate::function::{Content, Writer};
use crate::load::{Axis, AxisPosition, axes, batches, without};
use crate::nest::{Affine, Nest, Over, union};
use crate::operation::Monoid;
use crate::tensor::{Element, Tensor};

/// The way to combine values for one cell before the cell is changed: a difference subtracts the sum of its
/// values.
fn monoid(function: Binary) -> Option<Monoid> {
    Some(match function {
        Binary::Add | Binary::Sub => Monoid::Add,
        Binary::Mul | Binary::Div | Binary::Pow => Monoid::Mul,
        Binary::Max => Monoid::Max,
        Binary::Min => Monoid::Min,
        Binary::And => Monoid::And,
        Binary::Or => Monoid::Or,
        _ => return None,
    })
}

/// A block of values and its place in the target: for each axis its first position and the distance between its positions.
struct Block {
    tensor: Tensor,
    places: Vec<(i64, i64)>,
}

impl Writer<'_> {
    /// A store with the loops around it.
    pub fn store(&mut self, nest: &Nest<'_>) -> Result<(), String> {
        self.refuse_recurrence(nest)?;
        if self.windowed_store(nest)? {
            return Ok(());
        }
        let at = self.positions(nest, nest.cell)?;
        let lists: Vec<Vec<usize>> = at.iter().map(AxisPosition::loops).collect();
        let kept = union(lists.iter().map(Vec::as_slice));
        let values = self.values(nest, &kept)?;
        self.note_margins(nest, &at);
        let ways = axes(nest, at.clone());
        if ways.iter().any(|way| matches!(way, Axis::Sought(_))) {
            return self.scatter(nest, &at, &ways, &values);
        }
        let block = self.block(nest, &ways, &values);
        if block.places.iter().zip(&block.tensor.sizes).any(|((_, step), size)| *step > 1 && *size > 1) {
            return self.scatter(nest, &at, &ways, &values);
        }
        self.put(nest, &ways, block)
    }

    /// Refuses nests in which a value depends on one that the same nest has written.
    fn refuse_recurrence(&self, nest: &Nest<'_>) -> Result<(), String> {
        let target = nest.cell.buffer;
        let name = &self.program.buffer(target).name;
        let mut reads = Vec::new();
        nest.value.each_load(&mut |cell| reads.push(cell.clone()));
        if reads.iter().any(|cell| cell.buffer == target && cell != nest.cell) {
            return Err(format!("it reads `{name}` elsewhere than where it writes it"));
        }
        let is_reduced = nest.loops.iter().any(|(var, _)| !nest.cell.mentions(*var));
        if is_reduced && reads.iter().any(|cell| cell.buffer == target) {
            return Err(format!("it reads `{name}`, which it writes several times"));
        }
        Ok(())
    }

    /// Notes that margins hold nothing that can be relied on, if the nest writes beyond the ends.
    pub fn note_margins(&mut self, nest: &Nest<'_>, at: &[AxisPosition]) {
        let sizes = self.program.buffer(nest.cell.buffer).shape();
        let beyond = |(at, size): (&AxisPosition, &u64)| match at {
            AxisPosition::Affine(sum) => {
                let (least, greatest) = sum.range(nest);
                least < 0 || greatest >= *size as i64
            }
            AxisPosition::Run(_) | AxisPosition::Sought(_) => false,
        };
        if at.iter().zip(&sizes).any(beyond) {
            self.margins[nest.cell.buffer.index()] = None;
        }
    }

    /// True if a nest computes integers from integers alone.
    fn is_of_integers(&self, nest: &Nest<'_>) -> bool {
        let whole = |function: Binary| function.of_whole(1, 1).is_some();
        !self.program.buffer(nest.cell.buffer).dtype.is_float()
            && nest.value.is_whole(&self.program.buffers).is_some()
            && nest.accumulate.is_none_or(whole)
    }

    /// The type that values are computed in before they are stored.
    fn computed(&self, nest: &Nest<'_>) -> Element {
        if self.is_of_integers(nest) { Element::I64 } else { Element::Of(nest.real) }
    }

    /// The values for each point of the loops of the target, put together over all others.
    fn values(&mut self, nest: &Nest<'_>, kept: &[usize]) -> Result<Over, String> {
        let whole = self.is_of_integers(nest);
        let Some(function) = nest.accumulate else {
            let over = self.plain(nest, nest.value, whole)?;
            return Ok(self.last(nest, over, kept));
        };
        let all: Vec<usize> = (0..nest.loops.len()).collect();
        let several = kept.len() < all.len() || self.may_meet(nest)?;
        let Some(monoid) = monoid(function) else {
            if several {
                return Err(format!("it accumulates several values by `{}`", function.name()));
            }
            let over = self.plain(nest, nest.value, whole)?;
            return Ok(self.last(nest, over, kept));
        };
        if several && !whole && self.rounds_each_time(nest, monoid) {
            let name = &self.program.buffer(nest.cell.buffer).name;
            return Err(format!("it accumulates numbers with fractions in the integers of `{name}`"));
        }
        if matches!(monoid, Monoid::And | Monoid::Or) {
            let truth = self.truth(nest, nest.value)?;
            let over = self.reduced(nest, &truth, monoid, kept);
            let tensor = self.text.convert(&over.tensor, self.computed(nest));
            return Ok(Over { tensor, ..over });
        }
        if !whole
            && kept.len() < all.len()
            && let Some(over) = self.windowed(nest, monoid, kept)?
        {
            return Ok(over);
        }
        if monoid == Monoid::Add && !whole && kept.len() < all.len() {
            return self.summed(nest, nest.value, kept);
        }
        let mut over = self.plain(nest, nest.value, whole)?;
        if monoid == Monoid::Mul || monoid == Monoid::Add {
            // Values that do not depend on a loop are there once for each of its points.
            let loops: Vec<usize> =
                all.into_iter().filter(|each| over.loops.contains(each) || !kept.contains(each)).collect();
            over = Over { tensor: self.spread(nest, &over, &loops), loops };
        }
        Ok(self.reduced(nest, &over, monoid, kept))
    }

    /// True if the integers of a target are rounded after each accumulation, with a result that depends on it.
    fn rounds_each_time(&self, nest: &Nest<'_>, monoid: Monoid) -> bool {
        let is_float = self.program.buffer(nest.cell.buffer).dtype.is_float();
        !is_float && matches!(monoid, Monoid::Add | Monoid::Mul)
    }

    /// True if different points of the loops of the target may address the same cell.
    pub fn may_meet(&mut self, nest: &Nest<'_>) -> Result<bool, String> {
        let at = self.positions(nest, nest.cell)?;
        Ok(!is_one_to_one(nest, &at))
    }

    fn plain(&mut self, nest: &Nest<'_>, value: &Scalar, whole: bool) -> Result<Over, String> {
        if whole {
            return self.integers(nest, value);
        }
        // What is copied stays what it is.
        if let (Scalar::Load(cell), None) = (value, nest.accumulate)
            && self.dtype(cell.buffer) == self.dtype(nest.cell.buffer)
        {
            return self.load(nest, cell);
        }
        let value = self.scalar(nest, value)?;
        let loops = value.loops().to_vec();
        Ok(Over { tensor: self.real_over(nest, &value, &loops), loops })
    }

    /// Values put together over all loops that are not kept, along those that are.
    pub fn reduced(&mut self, nest: &Nest<'_>, over: &Over, monoid: Monoid, kept: &[usize]) -> Over {
        let axes: Vec<usize> =
            (0..over.loops.len()).filter(|axis| !kept.contains(&over.loops[*axis])).collect();
        let tensor = self.text.reduce(&over.tensor, monoid, &axes);
        let loops = over.loops.iter().copied().filter(|each| kept.contains(each)).collect();
        self.along(nest, &Over { tensor, loops }, kept)
    }

    /// Values along loops.
    pub fn along(&mut self, nest: &Nest<'_>, over: &Over, loops: &[usize]) -> Over {
        Over { tensor: self.spread(nest, over, loops), loops: loops.to_vec() }
    }

    /// The values of the last iteration of all loops that are not kept: each overwrites the one before.
    fn last(&mut self, nest: &Nest<'_>, over: Over, kept: &[usize]) -> Over {
        let span = |each: &usize| {
            let extent = nest.extent(*each);
            if kept.contains(each) { (0, extent, 1) } else { (extent - 1, extent, 1) }
        };
        let spans: Vec<_> = over.loops.iter().map(span).collect();
        let tensor = self.text.slice(&over.tensor, &spans);
        let loops: Vec<usize> = over.loops.iter().copied().filter(|each| kept.contains(each)).collect();
        let tensor = self.text.reshape(&tensor, &nest.extents(&loops));
        self.along(nest, &Over { tensor, loops }, kept)
    }

    /// Values with an axis for each axis of the target.
    fn block(&mut self, nest: &Nest<'_>, ways: &[Axis], values: &Over) -> Block {
        let (mut order, mut sizes, mut places, mut reversed) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (axis, way) in ways.iter().enumerate() {
            let (size, place) = match way {
                Axis::Fixed(at) => (1, (*at, 1)),
                Axis::Along { start, step, by } => {
                    order.push(*by);
                    let extent = nest.extent(*by);
                    if *step < 0 {
                        reversed.push(axis);
                    }
                    (extent, ((*start).min(start + step * (extent as i64 - 1)), step.abs()))
                }
                Axis::Digits { start, by } => {
                    order.extend(by);
                    (nest.extents(by).iter().product(), (*start, 1))
                }
                Axis::Run(_) | Axis::Sought(_) => (1, (0, 1)),
            };
            sizes.push(size);
            places.push(place);
        }
        let tensor = self.in_order(values, &order);
        let tensor = self.text.reshape(&tensor, &sizes);
        Block { tensor: self.text.reverse(&tensor, &reversed), places }
    }

    /// Values with their axes in an order of loops.
    pub fn in_order(&mut self, values: &Over, order: &[usize]) -> Tensor {
        let axis = |each: &usize| values.loops.iter().position(|known| known == each).unwrap_or(0);
        self.text.transpose(&values.tensor, &order.iter().map(axis).collect::<Vec<_>>())
    }

    /// Writes a block, whose positions follow one another, into the target.
    fn put(&mut self, nest: &Nest<'_>, ways: &[Axis], block: Block) -> Result<(), String> {
        let id = nest.cell.buffer;
        let sizes = self.program.buffer(id).shape();
        let Some((tensor, starts)) = self.clipped(block, &sizes) else { return Ok(()) };
        let runs = ways.iter().any(|way| matches!(way, Axis::Run(_)));
        let partial: Vec<usize> =
            (0..sizes.len()).filter(|axis| tensor.sizes[*axis] != sizes[*axis]).collect();
        match partial[..] {
            [] => {
                let old = self.old(nest)?;
                let new = self.combined(nest, &old, tensor)?;
                self.set(id, new);
            }
            [axis] if !runs => {
                let (start, end) = (starts[axis], starts[axis] + tensor.sizes[axis]);
                let old = match nest.accumulate {
                    Some(_) => self.old_part(id, axis, start, end)?,
                    None => Content::Nothing,
                };
                let new = self.combined(nest, &old, tensor)?;
                self.put_part(id, axis, start, new)?;
            }
            _ => self.put_inside(nest, ways, tensor, &starts)?,
        }
        Ok(())
    }

    /// Writes a block that is a part of several axes, or at positions that are given to the run.
    fn put_inside(
        &mut self,
        nest: &Nest<'_>,
        ways: &[Axis],
        tensor: Tensor,
        starts: &[u64],
    ) -> Result<(), String> {
        let id = nest.cell.buffer;
        let mut at = self.starts(ways);
        for (at, (way, start)) in at.iter_mut().zip(ways.iter().zip(starts)) {
            if !matches!(way, Axis::Run(_)) {
                *at = self.text.integers(*start as i64, &[], Element::I32);
            }
        }
        let whole = self.content_or_zero(id)?;
        let old = match nest.accumulate {
            Some(_) => Content::Tensor(self.text.dynamic_slice(&whole, &at, &tensor.sizes)),
            None => Content::Nothing,
        };
        let new = self.combined(nest, &old, tensor)?;
        let made = self.text.dynamic_update_slice(&whole, &new, &at);
        self.set(id, made);
        Ok(())
    }

    /// The part of a block that is inside the target, with its first positions; None if there is none.
    fn clipped(&mut self, block: Block, sizes: &[u64]) -> Option<(Tensor, Vec<u64>)> {
        let (mut spans, mut starts) = (Vec::new(), Vec::new());
        for ((start, _), (count, size)) in block.places.iter().zip(block.tensor.sizes.iter().zip(sizes)) {
            let first = (-start).max(0);
            let end = (*size as i64 - start).min(*count as i64);
            if end <= first {
                return None;
            }
            spans.push((first as u64, end as u64, 1));
            starts.push((start + first) as u64);
        }
        Some((self.text.slice(&block.tensor, &spans), starts))
    }

    /// The contents of a buffer, of which what is not written is 0.
    pub fn content_or_zero(&mut self, id: BufferId) -> Result<Tensor, String> {
        if matches!(self.contents[id.index()], Content::Nothing) {
            self.contents[id.index()] = Content::Splat(0.0);
        }
        self.content(id)
    }

    /// The contents of the target, as far as they are needed.
    pub fn old(&mut self, nest: &Nest<'_>) -> Result<Content, String> {
        let id = nest.cell.buffer;
        Ok(match (&self.contents[id.index()], nest.accumulate) {
            (_, None) => Content::Nothing,
            (Content::Splat(value), _) => Content::Splat(*value),
            _ => Content::Tensor(self.content(id)?),
        })
    }

    /// The old contents, if any are read, put together with new values, in the type of the target.
    pub fn combined(&mut self, nest: &Nest<'_>, old: &Content, new: Tensor) -> Result<Tensor, String> {
        let dtype = self.dtype(nest.cell.buffer);
        let Some(function) = nest.accumulate else { return Ok(self.narrowed(&new, dtype)) };
        let old = match old {
            Content::Splat(value) => {
                let plain = matches!(function, Binary::Add | Binary::Mul | Binary::Max | Binary::Min);
                if plain && Some(*value) == function.neutral() {
                    return Ok(self.narrowed(&new, dtype));
                }
                self.text.splat(*value, &new.sizes, Element::Of(dtype))
            }
            Content::Tensor(old) => old.clone(),
            Content::Nothing | Content::Parts(_) => {
                let name = &self.program.buffer(nest.cell.buffer).name;
                return Err(format!("`{name}` is read before it is written"));
            }
        };
        let old = self.text.convert(&old, new.of);
        let made = match new.of {
            Element::I64 => self.of_integers(function, &old, &new)?,
            _ => self.of_floats(function, &old, &new)?,
        };
        Ok(self.narrowed(&made, dtype))
    }

    /// Computed values in the type of a buffer. Floats become the nearest integer towards 0, and what is not a number 0.
    pub fn narrowed(&mut self, made: &Tensor, dtype: Dtype) -> Tensor {
        let (of, sizes) = (Element::Of(dtype), made.sizes.clone());
        if dtype.is_float() || made.of == of {
            return self.text.convert(made, of);
        }
        if dtype == Dtype::Bool {
            let zero = self.text.splat(0.0, &sizes, made.of);
            return self.text.compare("NE", made, &zero);
        }
        let (least, most) = dtype.range().unwrap_or((i64::MIN, i64::MAX));
        if made.of == Element::I64 {
            let (low, high) =
                (self.text.integers(least, &sizes, made.of), self.text.integers(most, &sizes, made.of));
            let made = self.text.each("maximum", &[made, &low]);
            let made = self.text.each("minimum", &[&made, &high]);
            return self.text.convert(&made, of);
        }
        let (low, high) = (least as f64, most as f64);
        let (low_text, high_text) =
            (self.text.splat(low, &sizes, made.of), self.text.splat(high, &sizes, made.of));
        let (under, over) =
            (self.text.compare("LE", made, &low_text), self.text.compare("GE", made, &high_text));
        let inside = self.text.compare("EQ", made, made);
        let (lowest, highest) = (self.text.integers(least, &sizes, of), self.text.integers(most, &sizes, of));
        let zero = self.text.integers(0, &sizes, of);
        let made = self.text.convert(made, of);
        let made = self.text.select(&under, &lowest, &made);
        let made = self.text.select(&over, &highest, &made);
        self.text.select(&inside, &made, &zero)
    }

    /// Writes values at cells that no slice describes.
    fn scatter(
        &mut self,
        nest: &Nest<'_>,
        at: &[AxisPosition],
        ways: &[Axis],
        values: &Over,
    ) -> Result<(), String> {
        let id = nest.cell.buffer;
        let sizes = self.program.buffer(id).shape();
        let along = |(way, size): (&Axis, &u64)| match way {
            Axis::Along { start: 0, step: 1, by } if nest.extent(*by) == *size => Some(*by),
            _ => None,
        };
        let window: Vec<Option<usize>> = ways.iter().zip(&sizes).map(along).collect();
        let sought: Vec<usize> = (0..sizes.len()).filter(|axis| window[*axis].is_none()).collect();
        let sought_at: Vec<AxisPosition> = sought.iter().map(|axis| at[*axis].clone()).collect();
        let lists: Vec<Vec<usize>> = sought_at.iter().map(AxisPosition::loops).collect();
        let loops = union(lists.iter().map(Vec::as_slice));
        let batches = batches(nest, &sizes, &sought, &sought_at, &loops);
        let points = without(&batches, &sought, sought_at);
        let positions = self.position_vectors(nest, &points, &loops)?;
        let sought = (&sought[..], &batches[..]);
        let order: Vec<usize> = loops.iter().copied().chain(window.iter().flatten().copied()).collect();
        let updates = self.in_order(values, &order);
        let unique = is_one_to_one(nest, at);
        let dtype = self.dtype(id);
        let made = match nest.accumulate {
            None if !unique => {
                let name = &self.program.buffer(id).name;
                return Err(format!("it may write a cell of `{name}` several times and keep the last value"));
            }
            None => {
                let (old, updates) = (self.content_or_zero(id)?, self.narrowed(&updates, dtype));
                self.text.scatter(&old, sought, &positions, &updates, None, true)
            }
            Some(function) => {
                let monoid = match monoid(function) {
                    Some(Monoid::And) => Monoid::Min,
                    Some(Monoid::Or) => Monoid::Max,
                    Some(other) => other,
                    None => return Err(format!("it accumulates several values by `{}`", function.name())),
                };
                let neutral = function.neutral().unwrap_or(0.0);
                let start = self.text.splat(neutral, &sizes, updates.of);
                let put = self.text.scatter(&start, sought, &positions, &updates, Some(monoid), unique);
                let old = self.old(nest)?;
                self.combined(nest, &old, put)?
            }
        };
        self.set(id, made);
        Ok(())
    }
}

/// True if each axis is fixed, or has a loop that no other axis has.
fn has_a_loop_for_each_axis(at: &[AxisPosition]) -> bool {
    let mut used = 0u64;
    at.iter().all(|at| match at {
        AxisPosition::Affine(Affine { terms, .. }) => match terms[..] {
            [] => true,
            [(_, by)] => {
                by < 64 && used & 1 << by == 0 && {
                    used |= 1 << by;
                    true
                }
            }
            _ => false,
        },
        AxisPosition::Run(_) => true,
        AxisPosition::Sought(_) => false,
    })
}

/// True if it is certain that no two points of the loops of a cell address the same element.
fn is_one_to_one(nest: &Nest<'_>, at: &[AxisPosition]) -> bool {
    if has_a_loop_for_each_axis(at) {
        return true;
    }
    let lists: Vec<Vec<usize>> = at.iter().map(AxisPosition::loops).collect();
    let loops = union(lists.iter().map(Vec::as_slice));
    let component = |at: &AxisPosition| match at {
        AxisPosition::Affine(Affine { offset, terms }) => {
            let place = |each: &usize| loops.iter().position(|known| known == each).unwrap_or(0) as u32;
            Some(Component::new(*offset, terms.iter().map(|(c, each)| (*c, place(each)))))
        }
        AxisPosition::Run(_) => Some(Component::fixed(0)),
        AxisPosition::Sought(_) => None,
    };
    let map: Option<Vec<Component>> = at.iter().map(component).collect();
    map.is_some_and(|map| is_injective(&map, &nest.extents(&loops)).holds())
}
