//! Values that random nests compute: cells that may be read, and scalars made of them.

use broadloom_loops::{Binary, BufferId, Cell, Index, LoopSum, LoopVar, Scalar, Unary};

use super::{Loops, Make};

impl Make {
    /// An index on an axis: often a loop that fits, else any sum that stays inside, or in the margins.
    pub(super) fn index(&mut self, buffer: BufferId, axis: usize, loops: &Loops, margins: bool) -> Index {
        let (left, right) = if margins { self.program.buffer(buffer).margin(axis) } else { (0, 0) };
        let size = self.program.buffer(buffer).sizes[axis].get();
        let fits: Loops = loops.iter().copied().filter(|(_, extent)| *extent == size).collect();
        if !fits.is_empty() && !self.random.chance(4) {
            return Index::At(LoopSum::iterate(self.random.pick(&fits).0));
        }
        for _ in 0..4 {
            let mut terms = Vec::new();
            for _ in 0..1 + self.random.below(2) {
                if !loops.is_empty() {
                    terms.push((self.random.pick(&[1, 1, 2, -1]), self.random.pick(loops).0));
                }
            }
            let sum = LoopSum::new(0, terms);
            let reach = |(c, var): &(broadloom_loops::Size, LoopVar)| {
                c.as_number().unwrap() * (loops.iter().find(|(known, _)| known == var).unwrap().1 as i64 - 1)
            };
            let least: i64 = sum.terms.iter().map(|term| reach(term).min(0)).sum();
            let greatest: i64 = sum.terms.iter().map(|term| reach(term).max(0)).sum();
            let (low, high) = (-(left as i64) - least, (size + right) as i64 - 1 - greatest);
            if low <= high {
                let offset = low + self.random.below((high - low + 1) as usize) as i64;
                return Index::At(LoopSum::new(offset, sum.terms));
            }
        }
        Index::At(LoopSum::fixed(self.random.below(size as usize) as i64))
    }

    pub(super) fn cell(&mut self, buffer: BufferId, loops: &Loops, margins: bool) -> Cell {
        let rank = self.program.buffer(buffer).sizes.len();
        let index = (0..rank).map(|axis| self.index(buffer, axis, loops, margins)).collect();
        Cell { buffer, index }
    }

    /// A buffer that may be read: rather a late one.
    pub(super) fn readable(&mut self) -> BufferId {
        let ids: Vec<u32> =
            (0..self.facts.len() as u32).filter(|at| self.facts[*at as usize].written).collect();
        let late = &ids[ids.len().saturating_sub(3)..];
        BufferId(if self.random.chance(2) { self.random.pick(late) } else { self.random.pick(&ids) })
    }

    pub(super) fn load(&mut self, loops: &Loops) -> (Scalar, f64) {
        let buffer = self.readable();
        let mut cell = self.cell(buffer, loops, true);
        if !cell.index.is_empty() && self.random.chance(20) {
            cell.index[0] = Index::Symbol(1);
        }
        (Scalar::Load(cell), self.facts[buffer.index()].bound)
    }

    /// A scalar and a bound on its size.
    pub(super) fn value(&mut self, loops: &Loops, depth: usize) -> (Scalar, f64) {
        let (value, bound) = self.free_value(loops, depth);
        if bound <= 1000.0 {
            return (value, bound);
        }
        match self.random.chance(2) {
            true => (Scalar::unary(Unary::Tanh, value), 1.0),
            false => {
                let above = Scalar::binary(Binary::Max, value, Scalar::Number(-4.0));
                (Scalar::binary(Binary::Min, above, Scalar::Number(4.0)), 4.0)
            }
        }
    }

    pub(super) fn free_value(&mut self, loops: &Loops, depth: usize) -> (Scalar, f64) {
        if depth == 0 || self.random.chance(4) {
            return self.leaf(loops);
        }
        let (a, x) = self.value(loops, depth - 1);
        let number = Scalar::Number;
        if self.random.chance(3) {
            return match self.random.below(if self.mixed { 8 } else { 11 }) {
                0 => (Scalar::unary(Unary::Neg, a), x),
                1 => (Scalar::unary(Unary::Abs, a), x),
                2 => (Scalar::unary(Unary::Tanh, a), 1.0),
                3 => (Scalar::unary(Unary::Exp, Scalar::binary(Binary::Min, a, number(2.0))), 8.0),
                4 => {
                    let positive = Scalar::binary(Binary::Add, Scalar::unary(Unary::Abs, a), number(0.5));
                    let exponent = self.random.pick(&[0.5, -0.5, -1.0]);
                    (Scalar::binary(Binary::Pow, positive, number(exponent)), x.sqrt() + 2.0)
                }
                5 => {
                    let exponent = self.random.pick(&[2.0, 3.0, 1.0, 0.0]);
                    (Scalar::binary(Binary::Pow, a, number(exponent)), x.powi(3) + 1.0)
                }
                6 => {
                    let divisor = self.random.pick(&[2.0, 3.0, 1.0, -1.0, 0.25]);
                    (Scalar::binary(Binary::Div, a, number(divisor)), x * 4.0)
                }
                7 => {
                    let (function, neutral) = self.random.pick(&[
                        (Binary::Add, 0.0),
                        (Binary::Sub, 0.0),
                        (Binary::Mul, 1.0),
                        (Binary::Mul, 0.0),
                        (Binary::Max, f64::NEG_INFINITY),
                    ]);
                    (Scalar::binary(function, a, number(neutral)), x)
                }
                8 => {
                    (Scalar::unary(self.random.pick(&[Unary::Floor, Unary::Round, Unary::Sign]), a), x + 1.0)
                }
                9 => (Scalar::unary(Unary::Not, positive(a)), 1.0),
                _ => (Scalar::binary(Binary::Mod, a, number(3.0)), 3.0),
            };
        }
        let (b, y) = self.value(loops, depth - 1);
        match self.random.below(if self.mixed { 6 } else { 9 }) {
            0 | 1 => (Scalar::binary(Binary::Add, a, b), x + y),
            2 => (Scalar::binary(Binary::Sub, a, b), x + y),
            3 => (Scalar::binary(Binary::Mul, a, b), x * y),
            4 => (Scalar::binary(self.random.pick(&[Binary::Max, Binary::Min]), a, b), x.max(y)),
            5 => {
                let positive = Scalar::binary(Binary::Add, Scalar::unary(Unary::Abs, b), number(1.0));
                (Scalar::binary(Binary::Div, a, positive), x)
            }
            6 => {
                (Scalar::binary(self.random.pick(&[Binary::And, Binary::Or]), positive(a), positive(b)), 1.0)
            }
            _ => {
                let (c, _) = self.leaf(loops);
                let comparison =
                    self.random.pick(&[Binary::Less, Binary::LessEq, Binary::Equal, Binary::NotEqual]);
                let condition = Scalar::binary(comparison, a.clone(), c);
                (Scalar::Select(Box::new(condition), Box::new(a), Box::new(b)), x.max(y))
            }
        }
    }

    pub(super) fn leaf(&mut self, loops: &Loops) -> (Scalar, f64) {
        if !self.own_locals.is_empty() && self.random.chance(4) {
            let locals = self.own_locals.clone();
            return (Scalar::Local(self.random.pick(&locals)), 500.0);
        }
        match self.random.below(16) {
            0 => (Scalar::Number(self.random.pick(&[0.0, 1.0, -1.0, 2.0, 0.5, -3.0])), 3.0),
            1 if !loops.is_empty() => {
                let terms = [(2, self.random.pick(loops).0), (1, self.random.pick(loops).0)];
                (Scalar::Position(LoopSum::new(1, terms)), 16.0)
            }
            2 => (Scalar::Symbol(1), 1.0),
            3 if !loops.is_empty() => {
                let at = LoopSum::new(3, [(5, self.random.pick(loops).0), (1, self.random.pick(loops).0)]);
                (Scalar::Uniform { key: 0, stream: self.random.below(3) as u64, at }, 1.0)
            }
            _ => self.load(loops),
        }
    }
}

/// The truth of a scalar being above a number that it never is exactly: rounding cannot change it.
pub(super) fn positive(scalar: Scalar) -> Scalar {
    Scalar::binary(Binary::Less, Scalar::Number(0.3), scalar)
}
