//! Random concatenations, splits and block matrices.
//!
//! Labels come in groups of alternatives. The operands divide the choices, so that (nearly always)
//! one of them takes part at a time; results take any of the labels, in any order.

use broadloom_testing::Dice;

use crate::meaning::array::{Form, Size};
use crate::meaning::case::{Case, Operation, Source};
use crate::meaning::draft::{Axis, Draft, Factor, Part, Row, Shape, Window};
use crate::meaning::notation::Use;
use crate::meaning::random_spec::finish;

const NAMES: [&str; 8] = ["a", "b", "c", "e", "f", "g", "i", "k"];

/// The labels of each group that a tensor has, or None if it does not depend on the group.
type Block = Vec<Option<Vec<usize>>>;

/// The features of a random concatenation, beyond the usual.
#[derive(Clone, Copy)]
pub enum Taste {
    Plain,
    /// Parts of operands that are wildcards.
    Wildcards,
    /// Tensors with two alternatives on two axes: they take part while one loop runs that serves
    /// both.
    Together,
}

pub fn concat(random: &mut Dice, taste: Taste) -> Case {
    if random.percent(5) {
        return with_an_empty_part(random);
    }
    loop {
        let (mut draft, groups, free) = labels(random);
        let blocks = blocks(random, &groups);
        let mut makes = Makes { random, free: &free, result: false, taste };
        let mut operands: Vec<Shape> = blocks.iter().map(|block| makes.shape(block)).collect();
        if makes.random.percent(15) {
            // An operand for all parts.
            operands.push(makes.shape(&vec![None; groups.len()]));
        }
        makes.random.shuffle(&mut operands);
        makes.result = true;
        let results = if makes.random.percent(70) { 1 } else { 2 + makes.random.below(2) };
        let mut shapes = Vec::new();
        for _ in 0..results {
            let block: Block = groups.iter().map(|group| wanted(makes.random, group, results > 1)).collect();
            shapes.push(makes.shape(&block));
        }
        draft.operands = operands;
        draft.results = shapes;
        // A hole that no operand has is empty.
        for (hole, axes) in draft.holes.iter_mut().enumerate() {
            if !draft.operands.iter().flatten().any(|row| row.hole == Some(hole)) {
                axes.clear();
            }
        }
        if let Some(case) = finish(random, draft, true, false) {
            return case;
        }
    }
}

/// One or two groups of alternatives, and labels of no group.
fn labels(random: &mut Dice) -> (Draft, Vec<Vec<usize>>, Vec<usize>) {
    let mut names = NAMES;
    random.shuffle(&mut names);
    let mut count = 0;
    let mut take = |random: &mut Dice, least: usize, more: usize| {
        let first = count;
        count += least + random.below(more + 1);
        (first..count).collect::<Vec<usize>>()
    };
    let groups = if random.percent(60) {
        vec![take(random, 2, 1)]
    } else {
        vec![take(random, 2, 1), take(random, 2, 0)]
    };
    let free = take(random, 0, 2);
    let sizes = (0..count).map(|_| Size::Count(1 + random.below(3) as u64)).collect();
    let holes = [(); 5].map(|()| {
        let rank = random.below(3);
        (0..rank).map(|_| Size::Count(1 + random.below(2) as u64)).collect()
    });
    let names = names[..count].to_vec();
    (Draft { names, sizes, holes, operands: Vec::new(), results: Vec::new() }, groups, free)
}

/// Divides all choices among operands, and leaves some unused.
fn blocks(random: &mut Dice, groups: &[Vec<usize>]) -> Vec<Block> {
    let mut blocks: Vec<Block> = vec![groups.iter().cloned().map(Some).collect()];
    for _ in 0..random.below(4) {
        let (which, group) = (random.below(blocks.len()), random.below(groups.len()));
        let Some(labels) = blocks[which][group].clone().filter(|labels| labels.len() > 1) else { continue };
        let at = 1 + random.below(labels.len() - 1);
        let mut other = blocks[which].clone();
        other[group] = Some(labels[at..].to_vec());
        blocks[which][group] = Some(labels[..at].to_vec());
        blocks.push(other);
    }
    for labels in blocks.iter_mut().flatten() {
        if random.percent(4) {
            *labels = None;
        } else if let Some(labels) = labels
            && labels.len() > 1
            && random.percent(6)
        {
            labels.pop();
        }
    }
    if blocks.len() > 1 && random.percent(10) {
        blocks.pop();
    }
    blocks
}

/// The labels of a group that a result has.
fn wanted(random: &mut Dice, group: &[usize], several: bool) -> Option<Vec<usize>> {
    let mut labels = group.to_vec();
    if random.percent(10) {
        return None;
    }
    if random.percent(30) {
        random.shuffle(&mut labels);
    }
    if random.percent(if several { 75 } else { 20 }) {
        random.shuffle(&mut labels);
        labels.truncate(1 + random.below(labels.len()));
    }
    Some(labels)
}

struct Makes<'a> {
    random: &'a mut Dice,
    free: &'a [usize],
    result: bool,
    taste: Taste,
}

impl Makes<'_> {
    fn shape(&mut self, block: &Block) -> Shape {
        let mut axes: Vec<Axis> = Vec::new();
        for labels in block.iter().flatten() {
            axes.push(self.parts(labels));
            if self.random.percent(5) {
                axes.push(self.parts(labels));
            }
            if matches!(self.taste, Taste::Together) && self.random.percent(20) {
                axes.push(Axis::Label(self.random.pick(labels)));
            }
        }
        for label in self.free {
            if self.random.percent(55) {
                axes.push(Axis::Label(*label));
            }
        }
        if self.random.percent(8) {
            let at = self.random.below(3) as u64;
            axes.push(Axis::Fixed(at, if self.result && at == 0 { Size::Unit } else { Size::Count(at + 1) }));
        }
        if self.random.percent(15) {
            self.random.shuffle(&mut axes);
        }
        let mut shape = Shape::default();
        let elsewhere = self.random.percent(30);
        for axis in axes {
            let row = if elsewhere { self.random.below(3) } else { 2 };
            shape[row].trail.push(axis);
        }
        if self.random.percent(30) {
            let row = self.random.below(3);
            let hole = if self.random.percent(70) { row } else { 3 };
            let split = self.random.below(shape[row].trail.len() + 1);
            let trail = shape[row].trail.split_off(split);
            let lead = std::mem::replace(&mut shape[row].trail, trail);
            shape[row] = Row { lead, hole: Some(hole), trail: std::mem::take(&mut shape[row].trail) };
        }
        shape
    }

    fn parts(&mut self, labels: &[usize]) -> Axis {
        let mut parts: Vec<Part> = labels.iter().map(|label| Part::Label(*label)).collect();
        if !self.result && self.random.percent(15) {
            self.random.shuffle(&mut parts);
        }
        if self.random.percent(12) {
            let size = 1 + self.random.below(2) as u64;
            let at = self.random.below(parts.len() + 1);
            parts.insert(at, Part::Gap(size));
        }
        if matches!(self.taste, Taste::Wildcards) && !self.result && self.random.percent(50) {
            let size = 1 + self.random.below(2) as u64;
            let at = self.random.below(parts.len() + 1);
            parts.insert(at, Part::Wild(size));
        }
        match parts[..] {
            [Part::Label(label)] if self.random.percent(15) => self.sum(label),
            [Part::Label(label)] => Axis::Label(label),
            _ => Axis::Parts(parts),
        }
    }

    /// A stride over a label of a group, or a window inside.
    fn sum(&mut self, over: usize) -> Axis {
        let stride = Factor { value: 2, name: None };
        let offset = self.random.below(2) as u64;
        let kernel = self.free.first().copied().filter(|_| self.random.percent(40));
        let dilation = Factor { value: 1, name: None };
        let window = kernel.map(|kernel| Window { dilation, kernel, padded: false, marked: true });
        Axis::Sum { stride, over, offset, window }
    }
}

/// Parts that the other side does without may be empty: `a; b => a^b^c`, and `a^b => a` if `a` is everything.
fn with_an_empty_part(random: &mut Dice) -> Case {
    let row = |sizes: &[u64]| sizes.iter().map(|size| Size::Count(*size)).collect::<Vec<_>>();
    let form = |sizes: &[u64]| Form([Vec::new(), Vec::new(), row(sizes)]);
    let [m, n, k] = [0; 3].map(|_| 1 + random.below(3) as u64);
    let set = vec![(String::from("a"), m)];
    let (spec, operands, result, sizes) = match random.below(6) {
        0 => ("a; b => a^b^c", vec![form(&[m]), form(&[n])], form(&[m + n]), Vec::new()),
        1 => ("a, k; b, k => c^a^b, k", vec![form(&[m, k]), form(&[n, k])], form(&[m + n, k]), Vec::new()),
        2 => ("a^b => a", vec![form(&[m])], form(&[m]), set),
        3 => ("b^a, k => k, a", vec![form(&[m, k])], form(&[k, m]), set),
        4 => ("2^a^b, k => k, a", vec![form(&[m + 2, k])], form(&[k, m]), set),
        _ => ("a => a^c", vec![form(&[m])], form(&[m]), Vec::new()),
    };
    let sources = operands.into_iter().map(Source::Data).collect();
    let usage = Use { spec: String::from(spec), sizes, ..Use::default() };
    Case { sources, operation: Operation::Einsum(usage), expected: Some(vec![result]), reader: None }
}
