//! Windows: an axis whose position is a sum of two loops, one of which says where the window stands.
//!
//! ```text
//! y[b, o, c] max= x[b, 2o + k, c]              reduce_window
//! y[b, o, c]   += x[b, 2o + k, i] w[k, i, c]   convolution, o moves the window and k is inside of it
//! v[k, i, c]   += x[b, 2o + k, i] z[b, o, c]   convolution, k moves the window and o is inside of it
//! u[b, 2o + k, i] += z[b, o, c] w[k, i, c]     convolution of z, spread out by 2, with w in the opposite order
//! ```
//!
//! All other cases take the general way: windows are gathered, and their elements multiplied and reduced.

use broadloom_loops::{Binary, Cell, Scalar};

use crate::function::Writer;
use crate::load::AxisPosition;
use crate::nest::{Affine, Nest, Over, union};
use crate::operation::{Monoid, Window};
use crate::product::factors;
use crate::tensor::{Element, Tensor};

/// A window on an axis.
#[derive(Clone, Copy, Debug)]
struct Moving {
    /// The loop that moves the window, and the distance of one step.
    by: (i64, usize),
    /// The loop inside of the window, and the distance between its elements.
    inside: (i64, usize),
    offset: i64,
}

/// An axis of a tensor that is read by windows.
enum WindowAxis {
    Fixed(i64),
    Loop { start: i64, step: i64, by: usize },
    Moving(Moving),
}

/// The loops of the two factors of a convolution that are not on windows.
struct Roles {
    /// Loops of the first factor and the result.
    batch: Vec<usize>,
    /// Loops of both factors and the result.
    groups: Vec<usize>,
    /// Loops of both factors, summed over.
    features: Vec<usize>,
    /// Loops of the second factor and the result.
    made: Vec<usize>,
}

impl Roles {
    /// The roles of the loops of two factors that are not on windows. None if a loop has another role.
    fn of(nest: &Nest<'_>, a: &[usize], b: &[usize], kept: &[usize], windows: &[usize]) -> Option<Roles> {
        let mut roles = Roles { batch: vec![], groups: vec![], features: vec![], made: vec![] };
        for each in (0..nest.loops.len()).filter(|each| !windows.contains(each)) {
            match (a.contains(&each), b.contains(&each), kept.contains(&each)) {
                (true, false, true) => roles.batch.push(each),
                (true, true, true) => roles.groups.push(each),
                (true, true, false) => roles.features.push(each),
                (false, true, true) => roles.made.push(each),
                (false, false, true) => {}
                _ => return None,
            }
        }
        Some(roles)
    }
}

fn product(nest: &Nest<'_>, loops: &[usize]) -> u64 {
    nest.extents(loops).iter().product()
}

/// True if no loop is on two axes.
fn are_distinct(at: &[AxisPosition]) -> bool {
    let loops: Vec<usize> = at.iter().flat_map(AxisPosition::loops).collect();
    union([&loops[..]]).len() == loops.len()
}

/// The way each axis is read if it is a window, moved by a loop that is kept over one that is not, or no window. None if
/// there is no window, or an axis is read in another way.
fn places(
    at: &[AxisPosition],
    moves: impl Fn(usize) -> bool,
    is_inside: impl Fn(usize) -> bool,
) -> Option<Vec<WindowAxis>> {
    if !are_distinct(at) {
        return None;
    }
    let mut found = false;
    let mut places = Vec::new();
    for at in at {
        let AxisPosition::Affine(Affine { offset, terms }) = at else { return None };
        places.push(match terms[..] {
            [] => WindowAxis::Fixed(*offset),
            [(step, by)] if step > 0 => WindowAxis::Loop { start: *offset, step, by },
            [a, b] if a.0 > 0 && b.0 > 0 => {
                let (by, inside) = if moves(a.1) { (a, b) } else { (b, a) };
                if !moves(by.1) || !is_inside(inside.1) {
                    return None;
                }
                found = true;
                WindowAxis::Moving(Moving { by, inside, offset: *offset })
            }
            _ => return None,
        });
    }
    found.then_some(places)
}

impl Writer<'_> {
    /// The values of a nest that reads by windows, put together; None if it is no operation on windows.
    pub fn windowed(
        &mut self,
        nest: &Nest<'_>,
        monoid: Monoid,
        kept: &[usize],
    ) -> Result<Option<Over>, String> {
        if let Scalar::Load(cell) = nest.value {
            return self.pooled(nest, cell, monoid, kept);
        }
        let (factors, scale) = factors(nest.value);
        let [Scalar::Load(a), Scalar::Load(b)] = factors[..] else { return Ok(None) };
        if monoid != Monoid::Add || scale != 1.0 {
            return Ok(None);
        }
        Ok(match self.convolved(nest, a, b, kept)? {
            Some(over) => Some(over),
            None => self.convolved(nest, b, a, kept)?,
        })
    }

    /// A reduction over windows of one tensor.
    fn pooled(
        &mut self,
        nest: &Nest<'_>,
        cell: &Cell,
        monoid: Monoid,
        kept: &[usize],
    ) -> Result<Option<Over>, String> {
        if matches!(monoid, Monoid::And | Monoid::Or) || !self.reads_all(nest, cell, kept) {
            return Ok(None);
        }
        let is_kept = |each: usize| kept.contains(&each);
        if self.places_of(nest, cell, &is_kept, &|each| !is_kept(each))?.is_none() {
            return Ok(None);
        }
        let (tensor, at) = self.reach(nest, cell)?;
        let Some(places) = places(&at, is_kept, |each| !is_kept(each)) else { return Ok(None) };
        let tensor = self.cut_to(nest, &tensor, &places);
        let tensor = self.text.convert(&tensor, Element::Of(nest.real));
        let (mut windows, mut loops, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        for (place, size) in places.iter().zip(&tensor.sizes) {
            match place {
                WindowAxis::Fixed(_) => windows.push(Window::along(*size)),
                WindowAxis::Loop { by, .. } => {
                    windows.push(Window::along(*size));
                    loops.push(*by);
                    sizes.push(*size);
                }
                WindowAxis::Moving(moving) => {
                    windows.push(window(nest, moving));
                    loops.push(moving.by.1);
                    sizes.push(nest.extent(moving.by.1));
                }
            }
        }
        let tensor = self.text.reduce_window(&tensor, monoid, &windows);
        let tensor = self.text.reshape(&tensor, &sizes);
        let sorted = union([&loops[..]]);
        let tensor = self.in_order(&Over { tensor, loops }, &sorted);
        Ok(Some(self.reduced(nest, &Over { tensor, loops: sorted }, monoid, kept)))
    }

    /// True if a cell depends on every loop that is not kept.
    fn reads_all(&self, nest: &Nest<'_>, cell: &Cell, kept: &[usize]) -> bool {
        (0..nest.loops.len()).all(|each| kept.contains(&each) || cell.mentions(nest.loops[each].0))
    }

    /// Looks how a cell is read, without writing anything if it is not read by windows.
    fn places_of(
        &mut self,
        nest: &Nest<'_>,
        cell: &Cell,
        moves: &dyn Fn(usize) -> bool,
        is_inside: &dyn Fn(usize) -> bool,
    ) -> Result<Option<Vec<WindowAxis>>, String> {
        let mut at = Vec::new();
        for index in &cell.index {
            let broadloom_loops::Index::At(sum) = index else { return Ok(None) };
            at.push(AxisPosition::Affine(nest.affine(sum)?));
        }
        Ok(places(&at, moves, is_inside))
    }

    /// The stretch of each axis that windows and loops cover.
    fn cut_to(&mut self, nest: &Nest<'_>, tensor: &Tensor, places: &[WindowAxis]) -> Tensor {
        let reach = |(distance, each): (i64, usize)| distance as u64 * (nest.extent(each) - 1);
        let span = |place: &WindowAxis| match place {
            WindowAxis::Fixed(at) => (*at as u64, *at as u64 + 1, 1),
            WindowAxis::Loop { start, step, by } => {
                (*start as u64, *start as u64 + reach((*step, *by)) + 1, *step as u64)
            }
            WindowAxis::Moving(Moving { by, inside, offset }) => {
                (*offset as u64, *offset as u64 + reach(*by) + reach(*inside) + 1, 1)
            }
        };
        self.text.slice(tensor, &places.iter().map(span).collect::<Vec<_>>())
    }

    /// The product of two tensors, summed, where the first is read by windows.
    fn convolved(
        &mut self,
        nest: &Nest<'_>,
        a: &Cell,
        b: &Cell,
        kept: &[usize],
    ) -> Result<Option<Over>, String> {
        let in_b = |each: usize| b.mentions(nest.loops[each].0);
        let moves = |each: usize| kept.contains(&each) && !in_b(each);
        let is_inside = |each: usize| in_b(each) && !kept.contains(&each);
        if self.places_of(nest, a, &moves, &is_inside)?.is_none() {
            return Ok(None);
        }
        let kernel = self.load(nest, b)?;
        let (tensor, at) = self.reach(nest, a)?;
        let Some(places) = places(&at, moves, is_inside) else { return Ok(None) };
        let tensor = self.cut_to(nest, &tensor, &places);
        let (mut labels, mut moving) = (Vec::new(), Vec::new());
        for place in &places {
            match place {
                WindowAxis::Fixed(_) => {}
                WindowAxis::Loop { by, .. } => labels.push(*by),
                WindowAxis::Moving(window) => {
                    labels.push(window.by.1);
                    moving.push(*window);
                }
            }
        }
        let on_windows: Vec<usize> =
            moving.iter().flat_map(|window| [window.by.1, window.inside.1]).collect();
        let Some(roles) = Roles::of(nest, &labels, &kernel.loops, kept, &on_windows) else { return Ok(None) };
        let fixed =
            |(place, size): (&WindowAxis, &u64)| (!matches!(place, WindowAxis::Fixed(_))).then_some(*size);
        let sizes: Vec<u64> = places.iter().zip(&tensor.sizes).filter_map(fixed).collect();
        let tensor = self.text.reshape(&tensor, &sizes);
        let data = Over { tensor, loops: labels };
        let by: Vec<usize> = moving.iter().map(|window| window.by.1).collect();
        let inside: Vec<usize> = moving.iter().map(|window| window.inside.1).collect();
        let windows: Vec<Window> = moving.iter().map(|moving| window(nest, moving)).collect();
        let (data, kernel) = self.laid_out(nest, &roles, (&data, &by), (&kernel, &inside));
        let of = (Element::Of(nest.real), self.made(nest, &data, &kernel)?);
        let made = self.text.convolution((&data, &kernel), &windows, product(nest, &roles.groups), of);
        let loops = [&roles.batch[..], &roles.groups, &roles.made, &by].concat();
        let tensor = self.text.reshape(&made, &nest.extents(&loops));
        let sorted = union([&loops[..]]);
        let tensor = self.in_order(&Over { tensor, loops }, &sorted);
        Ok(Some(self.along(nest, &Over { tensor, loops: sorted }, kept)))
    }

    /// The two factors as a convolution takes them: `batch, features, space…` and `space…, features, made features`.
    fn laid_out(
        &mut self,
        nest: &Nest<'_>,
        roles: &Roles,
        (data, space): (&Over, &[usize]),
        (kernel, inside): (&Over, &[usize]),
    ) -> (Tensor, Tensor) {
        let (groups, features) = (product(nest, &roles.groups), product(nest, &roles.features));
        let order = [&roles.batch[..], &roles.groups, &roles.features, space].concat();
        let tensor = self.in_order(data, &order);
        let mut sizes = vec![product(nest, &roles.batch), groups * features];
        sizes.extend(&tensor.sizes[tensor.rank() - space.len()..]);
        let data = self.text.reshape(&tensor, &sizes);
        let order = [inside, &roles.features, &roles.groups, &roles.made].concat();
        let tensor = self.in_order(kernel, &order);
        let mut sizes = nest.extents(inside);
        sizes.extend([features, groups * product(nest, &roles.made)]);
        (data, self.text.reshape(&tensor, &sizes))
    }

    /// Writes a sum of products into windows of the target, if a nest is that. Returns false if it is not.
    pub fn windowed_store(&mut self, nest: &Nest<'_>) -> Result<bool, String> {
        let is_float = self.program.buffer(nest.cell.buffer).dtype.is_float();
        let (factors, scale) = factors(nest.value);
        let [Scalar::Load(a), Scalar::Load(b)] = factors[..] else { return Ok(false) };
        if !is_float || scale != 1.0 || !matches!(nest.accumulate, Some(Binary::Add | Binary::Sub)) {
            return Ok(false);
        }
        Ok(self.spread_out(nest, a, b)? || self.spread_out(nest, b, a)?)
    }

    fn spread_out(&mut self, nest: &Nest<'_>, a: &Cell, b: &Cell) -> Result<bool, String> {
        let mentions = |cell: &Cell, each: usize| cell.mentions(nest.loops[each].0);
        let moves = |each: usize| mentions(a, each) && !mentions(b, each);
        let is_inside = |each: usize| mentions(b, each) && !mentions(a, each);
        let Some(places) = self.places_of(nest, nest.cell, &moves, &is_inside)? else { return Ok(false) };
        let sizes = self.program.buffer(nest.cell.buffer).shape();
        let is_whole = |(place, size): (&WindowAxis, &u64)| match place {
            WindowAxis::Fixed(at) => *at == 0 && *size == 1,
            WindowAxis::Loop { start, step, by } => (*start, *step) == (0, 1) && nest.extent(*by) == *size,
            WindowAxis::Moving(_) => true,
        };
        if !places.iter().zip(&sizes).all(is_whole) {
            return Ok(false);
        }
        let at = self.positions(nest, nest.cell)?;
        let lists: Vec<Vec<usize>> = at.iter().map(AxisPosition::loops).collect();
        let kept = union(lists.iter().map(Vec::as_slice));
        let (data, kernel) = (self.load(nest, a)?, self.load(nest, b)?);
        let moving: Vec<(usize, Moving)> = places
            .iter()
            .enumerate()
            .filter_map(|(axis, place)| match place {
                WindowAxis::Moving(moving) => Some((axis, *moving)),
                _ => None,
            })
            .collect();
        let by: Vec<usize> = moving.iter().map(|(_, window)| window.by.1).collect();
        let inside: Vec<usize> = moving.iter().map(|(_, window)| window.inside.1).collect();
        let on_windows = [&by[..], &inside].concat();
        let roles = Roles::of(nest, &data.loops, &kernel.loops, &kept, &on_windows);
        let (Some(roles), true) =
            (roles, kept.iter().all(|each| data.loops.contains(each) || kernel.loops.contains(each)))
        else {
            return Ok(false);
        };
        let (data, kernel) = self.laid_out(nest, &roles, (&data, &by), (&kernel, &inside));
        let kernel = self.text.reverse(&kernel, &(0..inside.len()).collect::<Vec<_>>());
        let windows: Vec<Window> =
            moving.iter().map(|(axis, moving)| spread_window(nest, moving, sizes[*axis])).collect();
        let of = Element::Of(nest.real);
        let made = self.text.convolution((&data, &kernel), &windows, product(nest, &roles.groups), (of, of));
        let tensor = self.in_target_order(nest, made, &roles, &places, &sizes, &moving);
        self.note_margins(nest, &at);
        let old = self.old(nest)?;
        let new = self.combined(nest, &old, tensor)?;
        self.set(nest.cell.buffer, new);
        Ok(true)
    }

    /// The result of a convolution with its axes in the order of the target.
    fn in_target_order(
        &mut self,
        nest: &Nest<'_>,
        made: Tensor,
        roles: &Roles,
        places: &[WindowAxis],
        sizes: &[u64],
        moving: &[(usize, Moving)],
    ) -> Tensor {
        let loops = [&roles.batch[..], &roles.groups, &roles.made].concat();
        let mut shape = nest.extents(&loops);
        shape.extend(moving.iter().map(|(axis, _)| sizes[*axis]));
        let tensor = self.text.reshape(&made, &shape);
        let axis_of = |(axis, place): (usize, &WindowAxis)| match place {
            WindowAxis::Fixed(_) => None,
            WindowAxis::Loop { by, .. } => loops.iter().position(|known| known == by),
            WindowAxis::Moving(_) => {
                moving.iter().position(|(known, _)| *known == axis).map(|at| loops.len() + at)
            }
        };
        let order: Vec<usize> = places.iter().enumerate().filter_map(axis_of).collect();
        let tensor = self.text.transpose(&tensor, &order);
        self.text.reshape(&tensor, sizes)
    }
}

/// A window over an axis that begins where it first stands.
fn window(nest: &Nest<'_>, moving: &Moving) -> Window {
    Window {
        size: nest.extent(moving.inside.1),
        count: nest.extent(moving.by.1),
        stride: moving.by.0 as u64,
        dilation: moving.inside.0 as u64,
        spread: 1,
        pad: (0, 0),
    }
}

/// A window that brings elements, spread out, to all positions of a target: for position `t` and element `o` of the data it takes
/// element `k` of the kernel, where `t` is `step·o + distance·k + offset`.
fn spread_window(nest: &Nest<'_>, moving: &Moving, size: u64) -> Window {
    let (step, count) = (moving.by.0, nest.extent(moving.by.1) as i64);
    let (distance, inside) = (moving.inside.0, nest.extent(moving.inside.1));
    let kernel = distance * (inside as i64 - 1);
    let low = kernel + moving.offset;
    let high = size as i64 - (step * (count - 1) + 1) - low + kernel;
    Window {
        size: inside,
        count: size,
        stride: 1,
        dilation: distance as u64,
        spread: step as u64,
        pad: (low, high),
    }
}
