//! Steps that only move elements: room for indices and strides, diagonals, the order of axes.

use super::step::ArrayStep;
use broadloom_core::Size;

/// No margins.
pub const NONE: (Size, Size) = (Size::ZERO, Size::ZERO);

/// A reshape that makes room for indices and strides, the padding that fills it, and the reshape that joins axes.
#[derive(Default)]
pub struct Spread {
    /// The shape of the array as it is.
    plain: Vec<Size>,
    /// The shape with room, and what is put there.
    split: Vec<Size>,
    margins: Vec<(Size, Size)>,
    /// The shape of the result, and what is still missing at the front of its axes.
    joined: Vec<Size>,
    front: Vec<(Size, Size)>,
}

impl Spread {
    /// An axis with parts, and room of one element behind them that gets margins.
    pub fn push(&mut self, parts: &[Size], margin: (u64, u64), joined: Size, front: u64) {
        self.plain.extend(parts);
        self.split.extend(parts);
        self.split.push(Size::ONE);
        self.margins.extend(vec![NONE; parts.len()]);
        self.margins.push((margin.0.into(), margin.1.into()));
        self.joined.push(joined);
        self.front.push((front.into(), Size::ZERO));
    }

    /// An axis that is joined from parts.
    pub fn push_plain(&mut self, parts: &[Size]) {
        self.plain.extend(parts);
        self.split.extend(parts);
        self.margins.extend(vec![NONE; parts.len()]);
        self.joined.push(parts.iter().copied().product());
        self.front.push(NONE);
    }

    /// The steps from the array as it is to the result.
    pub fn steps(self, steps: &mut Vec<ArrayStep>) {
        let mut shape = self.plain;
        let reshape = |from: &mut Vec<Size>, to: Vec<Size>, steps: &mut Vec<ArrayStep>| {
            if *from != to {
                steps.push(ArrayStep::Reshape(to.clone()));
                *from = to;
            }
        };
        if self.margins.iter().any(|margin| *margin != NONE) {
            reshape(&mut shape, self.split, steps);
            for (size, (before, after)) in shape.iter_mut().zip(&self.margins) {
                *size += *before + *after;
            }
            steps.push(ArrayStep::Pad { margins: self.margins, fill: "sum" });
        }
        reshape(&mut shape, self.joined, steps);
        if self.front.iter().any(|margin| *margin != NONE) {
            steps.push(ArrayStep::Pad { margins: self.front, fill: "sum" });
        }
    }
}

/// Takes diagonals until no label stands twice.
pub fn diagonals(labels: &mut Vec<usize>, steps: &mut Vec<ArrayStep>) {
    let twice = |labels: &[usize]| {
        (0..labels.len()).find_map(|first| {
            let second = (first + 1..labels.len()).find(|second| labels[first] == labels[*second])?;
            Some((first, second))
        })
    };
    while let Some((first, second)) = twice(labels) {
        steps.push(ArrayStep::Diagonal(first, second));
        labels.remove(second);
        let label = labels.remove(first);
        labels.push(label);
    }
}

/// Brings axes into the order `to`; a label that stands several times is taken from the left.
pub fn permute(from: &[usize], to: &[usize], steps: &mut Vec<ArrayStep>) {
    let mut used = vec![false; from.len()];
    let mut order = Vec::new();
    for label in to {
        if let Some(axis) = (0..from.len()).find(|axis| from[*axis] == *label && !used[*axis]) {
            used[axis] = true;
            order.push(axis);
        }
    }
    if order.iter().enumerate().any(|(at, axis)| at != *axis) {
        steps.push(ArrayStep::Permute(order));
    }
}
