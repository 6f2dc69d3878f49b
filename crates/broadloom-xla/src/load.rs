//! Reading: the elements of a buffer at the points of a nest, from its index map.
//!
//! ```text
//! x[i, 2j + 1]     slice        a loop by itself on an axis, with an offset and a step
//! x[4i + j]        reshape      loops that are the digits of a position
//! x[o + k - 1]     pad, gather  any other sum of loops; beyond the ends is the value of the margins
//! x[i, i]          gather       a loop on two axes
//! x[position]      dynamic_slice
//! x[ids[b, t]]     gather       rows that are looked up
//! ```

use broadloom_loops::{BufferId, Cell, Dtype, Index};

use crate::function::{Symbol, Writer};
use crate::nest::{Affine, Nest, Over, union};
use crate::operation::Span;
use crate::tensor::{Element, Tensor};

/// The position on one axis.
#[derive(Clone, Debug)]
pub(crate) enum AxisPosition {
    Affine(Affine),
    /// A number that is given to the run.
    Run(Tensor),
    /// Integers that are looked up.
    Sought(Over),
}

impl AxisPosition {
    pub fn loops(&self) -> Vec<usize> {
        match self {
            AxisPosition::Affine(sum) => sum.terms.iter().map(|(_, each)| *each).collect(),
            AxisPosition::Run(_) => Vec::new(),
            AxisPosition::Sought(over) => over.loops.clone(),
        }
    }
}

/// The way an axis is addressed.
#[derive(Clone, Debug)]
pub(crate) enum Axis {
    /// At one position, which is known.
    Fixed(i64),
    /// At one position, which is given to the run.
    Run(Tensor),
    /// By a loop that no other axis has: its first position and its step.
    Along { start: i64, step: i64, by: usize },
    /// By loops that no other axis has, the digits of the position.
    Digits { start: i64, by: Vec<usize> },
    /// In another way.
    Sought(AxisPosition),
}

/// The number of axes on which each loop occurs.
fn uses(nest: &Nest<'_>, at: &[AxisPosition]) -> Vec<usize> {
    let mut uses = vec![0; nest.loops.len()];
    at.iter().flat_map(AxisPosition::loops).for_each(|each| uses[each] += 1);
    uses
}

/// The ways in which the axes of a cell are addressed.
pub(crate) fn axes(nest: &Nest<'_>, at: Vec<AxisPosition>) -> Vec<Axis> {
    let uses = uses(nest, &at);
    let way = |at: AxisPosition| match at {
        AxisPosition::Run(position) => Axis::Run(position),
        AxisPosition::Affine(sum) => match sum.terms[..] {
            [] => Axis::Fixed(sum.offset),
            [(step, by)] if uses[by] == 1 => Axis::Along { start: sum.offset, step, by },
            _ => match sum.digits(nest) {
                Some(by) if by.iter().all(|each| uses[*each] == 1) => Axis::Digits { start: sum.offset, by },
                _ => Axis::Sought(AxisPosition::Affine(sum)),
            },
        },
        sought @ AxisPosition::Sought(_) => Axis::Sought(sought),
    };
    at.into_iter().map(way).collect()
}

impl Writer<'_> {
    /// The elements of a buffer that a cell addresses, as the buffer holds them.
    pub fn load(&mut self, nest: &Nest<'_>, cell: &Cell) -> Result<Over, String> {
        let (tensor, at) = self.reach(nest, cell)?;
        let ways = axes(nest, at);
        let tensor = self.cut(nest, &tensor, &ways);
        let (tensor, labels) = self.drop_and_split(nest, &tensor, &ways);
        self.seek(nest, tensor, labels)
    }

    /// The positions of a cell on each axis.
    pub fn positions(&mut self, nest: &Nest<'_>, cell: &Cell) -> Result<Vec<AxisPosition>, String> {
        let mut at = Vec::new();
        for index in &cell.index {
            at.push(match index {
                Index::At(sum) => AxisPosition::Affine(nest.affine(sum)?),
                Index::Symbol(symbol) => match self.symbol(*symbol)? {
                    Symbol::Known(value) => {
                        AxisPosition::Affine(Affine { offset: value as i64, terms: Vec::new() })
                    }
                    Symbol::Position(tensor) => AxisPosition::Run(tensor),
                    Symbol::Key(_) => return Err("a key of random numbers is no position".into()),
                },
                Index::Value(cell) => {
                    let mut over = self.load(nest, cell)?;
                    if !matches!(over.tensor.of, Element::I32 | Element::I64) {
                        over.tensor = self.text.convert(&over.tensor, Element::I32);
                    }
                    AxisPosition::Sought(over)
                }
            });
        }
        Ok(at)
    }

    /// The buffer of a cell, padded as far as the cell reaches beyond its ends, and the positions in that.
    pub fn reach(&mut self, nest: &Nest<'_>, cell: &Cell) -> Result<(Tensor, Vec<AxisPosition>), String> {
        let tensor = self.content(cell.buffer)?;
        let mut tensor = self.brought_together(cell, tensor);
        if nest.exact && self.program.buffer(cell.buffer).dtype.is_float() {
            tensor = self.text.barrier(&tensor);
        }
        let mut at = self.positions(nest, cell)?;
        let mut pads = Vec::new();
        for (at, size) in at.iter_mut().zip(&tensor.sizes) {
            pads.push(match at {
                AxisPosition::Affine(sum) => {
                    let (least, greatest) = sum.range(nest);
                    let pad = ((-least).max(0), (greatest - *size as i64 + 1).max(0));
                    sum.offset += pad.0;
                    (pad.0 as u64, pad.1 as u64)
                }
                AxisPosition::Run(_) | AxisPosition::Sought(_) => (0, 0),
            });
        }
        if pads.iter().all(|pad| *pad == (0, 0)) {
            return Ok((tensor, at));
        }
        let fill = self.margin(cell.buffer)?;
        Ok((self.text.pad(&tensor, fill, &pads), at))
    }

    /// The value beyond the ends of a buffer.
    pub fn margin(&self, id: BufferId) -> Result<f64, String> {
        let unknown = || {
            format!("the margins of `{}` are read after they were written to", self.program.buffer(id).name)
        };
        self.margins[id.index()].ok_or_else(unknown)
    }

    /// Cuts a tensor to the positions that are addressed, in the order of the loops.
    fn cut(&mut self, nest: &Nest<'_>, tensor: &Tensor, ways: &[Axis]) -> Tensor {
        let mut reversed = Vec::new();
        let mut spans: Vec<Span> = Vec::new();
        for (axis, (way, size)) in ways.iter().zip(&tensor.sizes).enumerate() {
            spans.push(match way {
                Axis::Fixed(at) => (*at as u64, *at as u64 + 1, 1),
                Axis::Along { start, step, by } => {
                    let last = start + step * (nest.extent(*by) as i64 - 1);
                    if *step < 0 {
                        reversed.push(axis);
                    }
                    (*start.min(&last) as u64, *start.max(&last) as u64 + 1, step.unsigned_abs())
                }
                Axis::Digits { start, by } => {
                    let count: u64 = nest.extents(by).iter().product();
                    (*start as u64, *start as u64 + count, 1)
                }
                Axis::Run(_) | Axis::Sought(_) => (0, *size, 1),
            });
        }
        let tensor = self.text.slice(tensor, &spans);
        let tensor = self.text.reverse(&tensor, &reversed);
        if !ways.iter().any(|way| matches!(way, Axis::Run(_))) {
            return tensor;
        }
        let starts = self.starts(ways);
        let sizes: Vec<u64> = ways
            .iter()
            .zip(&tensor.sizes)
            .map(|(way, size)| if matches!(way, Axis::Run(_)) { 1 } else { *size })
            .collect();
        self.text.dynamic_slice(&tensor, &starts, &sizes)
    }

    /// The positions that are given to the run, and 0 on all other axes.
    pub fn starts(&mut self, ways: &[Axis]) -> Vec<Tensor> {
        let mut starts = Vec::new();
        for way in ways {
            starts.push(match way {
                Axis::Run(position) => position.clone(),
                _ => self.text.integers(0, &[], Element::I32),
            });
        }
        starts
    }

    /// Drops axes at one position, and splits those whose position has digits. Every axis of the result belongs to a loop, or
    /// is sought.
    fn drop_and_split(&mut self, nest: &Nest<'_>, tensor: &Tensor, ways: &[Axis]) -> (Tensor, Vec<Label>) {
        let (mut sizes, mut labels) = (Vec::new(), Vec::new());
        for (way, size) in ways.iter().zip(&tensor.sizes) {
            match way {
                Axis::Fixed(_) | Axis::Run(_) => {}
                Axis::Along { by, .. } => {
                    sizes.push(*size);
                    labels.push(Label::Loop(*by));
                }
                Axis::Digits { by, .. } => {
                    sizes.extend(nest.extents(by));
                    labels.extend(by.iter().map(|each| Label::Loop(*each)));
                }
                Axis::Sought(at) => {
                    sizes.push(*size);
                    labels.push(Label::Sought(at.clone()));
                }
            }
        }
        (self.text.reshape(tensor, &sizes), labels)
    }

    /// Gathers along the axes that are sought, those together that share loops, and puts axes into the order of the loops.
    fn seek(&mut self, nest: &Nest<'_>, mut tensor: Tensor, mut labels: Vec<Label>) -> Result<Over, String> {
        while let Some((axes, at, loops)) = next_group(&labels) {
            let batches = batches(nest, &tensor.sizes, &axes, &at, &loops);
            let points: Vec<AxisPosition> = without(&batches, &axes, at);
            let positions = self.position_vectors(nest, &points, &loops)?;
            tensor = self.text.gather(&tensor, &axes, &positions, &batches);
            let others = labels.into_iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
            let others: Vec<Label> = others.map(|(_, label)| label).collect();
            labels = loops.into_iter().map(Label::Loop).chain(others).collect();
        }
        let loops: Vec<usize> = labels.iter().filter_map(Label::by).collect();
        let mut order: Vec<usize> = (0..loops.len()).collect();
        order.sort_by_key(|axis| loops[*axis]);
        let tensor = self.text.transpose(&tensor, &order);
        Ok(Over { tensor, loops: union([&loops[..]]) })
    }

    /// The positions on some axes at each point of some loops: a vector for each point.
    pub fn position_vectors(
        &mut self,
        nest: &Nest<'_>,
        at: &[AxisPosition],
        loops: &[usize],
    ) -> Result<Tensor, String> {
        let is_long =
            |at: &AxisPosition| matches!(at, AxisPosition::Sought(over) if over.tensor.of == Element::I64);
        let of = if at.iter().any(is_long) { Element::I64 } else { Element::I32 };
        let (mut columns, mut column) = (Vec::new(), nest.extents(loops));
        for at in at {
            let tensor = match at {
                AxisPosition::Affine(sum) => self.sum_of_loops(nest, sum, loops, of)?,
                AxisPosition::Sought(over) => {
                    let tensor = self.text.convert(&over.tensor, of);
                    self.spread(nest, &Over { tensor, ..over.clone() }, loops)
                }
                AxisPosition::Run(position) => {
                    let position = self.text.convert(position, of);
                    self.text.broadcast(&position, &nest.extents(loops), &[])
                }
            };
            columns.push(tensor);
        }
        column.push(1);
        for tensor in &mut columns {
            *tensor = self.text.reshape(tensor, &column);
        }
        Ok(self.text.concatenate(&columns, loops.len()))
    }

    /// A sum of loops at each point of some loops, as integers.
    pub fn sum_of_loops(
        &mut self,
        nest: &Nest<'_>,
        sum: &Affine,
        loops: &[usize],
        of: Element,
    ) -> Result<Tensor, String> {
        let (least, greatest) = sum.range(nest);
        if of == Element::I32 && (least < i64::from(i32::MIN) || greatest > i64::from(i32::MAX)) {
            return Err("its positions have more than 32 bits".into());
        }
        let sizes = nest.extents(loops);
        let mut total: Option<Tensor> = None;
        for (coefficient, each) in &sum.terms {
            let Some(axis) = loops.iter().position(|known| known == each) else { continue };
            let mut term = self.text.iota(axis, &sizes, of);
            if *coefficient != 1 {
                let factor = self.text.integers(*coefficient, &sizes, of);
                term = self.text.each("multiply", &[&term, &factor]);
            }
            total = Some(match total {
                Some(total) => self.text.each("add", &[&total, &term]),
                None => term,
            });
        }
        if let (Some(total), 0) = (&total, sum.offset) {
            return Ok(total.clone());
        }
        let offset = self.text.integers(sum.offset, &sizes, of);
        Ok(match total {
            Some(total) => self.text.each("add", &[&total, &offset]),
            None => offset,
        })
    }

    /// Values along further loops.
    pub fn spread(&mut self, nest: &Nest<'_>, over: &Over, loops: &[usize]) -> Tensor {
        let place = |each: &usize| loops.iter().position(|known| known == each).unwrap_or(0);
        let dims: Vec<usize> = over.loops.iter().map(place).collect();
        self.text.broadcast(&over.tensor, &nest.extents(loops), &dims)
    }

    /// Integers of a buffer as they are compared with a bound: those of 64 bits stay, all others have 32.
    pub fn as_index(&mut self, tensor: &Tensor, dtype: Dtype) -> Tensor {
        let of = if dtype == Dtype::I64 { Element::I64 } else { Element::I32 };
        self.text.convert(tensor, of)
    }
}

/// Among axes that are sought, those that a loop goes along by itself while rows are looked up on the others: each with the place of that
/// loop. They are batches to a lookup, and where they are divided over devices, each device looks up its own.
pub(crate) fn batches(
    nest: &Nest<'_>,
    sizes: &[u64],
    axes: &[usize],
    at: &[AxisPosition],
    loops: &[usize],
) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    if !at.iter().any(|at| matches!(at, AxisPosition::Sought(_))) {
        return found;
    }
    for (axis, at) in axes.iter().zip(at) {
        if let AxisPosition::Affine(Affine { offset: 0, terms }) = at
            && let [(1, by)] = terms[..]
            && nest.extent(by) == sizes[*axis]
            && let Some(place) = loops.iter().position(|each| *each == by)
            && found.iter().all(|(_, known)| *known != place)
        {
            found.push((*axis, place));
        }
    }
    found
}

/// The elements of `of` whose axes are no batches.
pub(crate) fn without<T>(batches: &[(usize, usize)], axes: &[usize], of: Vec<T>) -> Vec<T> {
    let is_batch = |axis: &usize| batches.iter().any(|(batch, _)| batch == axis);
    axes.iter().zip(of).filter(|(axis, _)| !is_batch(axis)).map(|(_, each)| each).collect()
}

/// The meaning of an axis while it is read.
#[derive(Clone, Debug)]
enum Label {
    Loop(usize),
    Sought(AxisPosition),
}

impl Label {
    fn by(&self) -> Option<usize> {
        match self {
            Label::Loop(each) => Some(*each),
            Label::Sought(_) => None,
        }
    }
}

/// The next axes that are gathered together: the first one that is sought, and all that share loops with it.
fn next_group(labels: &[Label]) -> Option<(Vec<usize>, Vec<AxisPosition>, Vec<usize>)> {
    let sought = |label: &'_ Label| match label {
        Label::Sought(at) => Some(at.clone()),
        Label::Loop(_) => None,
    };
    let all: Vec<(usize, AxisPosition)> =
        labels.iter().enumerate().filter_map(|(axis, label)| Some((axis, sought(label)?))).collect();
    let mut loops = union([&all.first()?.1.loops()[..]]);
    loop {
        let shares = |at: &AxisPosition| at.loops().iter().any(|each| loops.contains(each));
        let group: Vec<&(usize, AxisPosition)> = all
            .iter()
            .enumerate()
            .filter(|(n, (_, at))| *n == 0 || shares(at))
            .map(|(_, each)| each)
            .collect();
        let lists: Vec<Vec<usize>> = group.iter().map(|(_, at)| at.loops()).collect();
        let grown = union(lists.iter().map(Vec::as_slice));
        if grown == loops {
            let (axes, at) = group.into_iter().cloned().unzip();
            return Some((axes, at, loops));
        }
        loops = grown;
    }
}
