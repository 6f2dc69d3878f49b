//! Random programs: perfect nests and trees with random addresses, checked against the reference
//! evaluator.

use crate::support;

use broadloom_loops::{
    Binary, BufferId, Cell, Dtype, Index, Loop, LoopSum, LoopVar, Program, Scalar, Statement, Unary,
};
use broadloom_testing::{Dice, setting};
use support::*;

struct Maker {
    random: Dice,
    program: Program,
    /// Buffers that are written.
    results: Vec<BufferId>,
    /// Loops around the statement that is made, with their extents.
    scope: Vec<(LoopVar, u64)>,
}

impl Maker {
    /// A sum of loops in scope, and the size of an axis that holds it.
    fn index(&mut self) -> (LoopSum, u64) {
        let mut terms = Vec::new();
        for _ in 0..self.random.pick(&[0, 1, 1, 1, 1, 2]) {
            if !self.scope.is_empty() {
                let (var, _) = self.scope[self.random.below(self.scope.len())];
                terms.push((self.random.pick(&[1, 1, 1, 2, -1, 3]), var));
            }
        }
        let mut sum = LoopSum::new(0, terms);
        let range = |sum: &LoopSum| {
            let extent = |var: LoopVar| self.scope.iter().find(|(known, _)| *known == var);
            let range = sum.range(|var| Some(extent(var).map_or(1, |(_, extent)| *extent).into()));
            range.expect("all are numbers")
        };
        sum.offset = -range(&sum).0;
        let size = range(&sum).1.get() + 1;
        sum.offset += self.random.roll(2) as i64;
        (sum, size + 1)
    }

    /// A cell of a new buffer, with or without margins.
    fn new_cell(&mut self, name: &str, dtype: Dtype) -> Cell {
        let rank = self.random.roll(4);
        let axes: Vec<(LoopSum, u64)> = (0..rank).map(|_| self.index()).collect();
        let sizes: Vec<u64> = axes.iter().map(|(_, size)| *size).collect();
        let name = format!("{name}{}", self.program.buffers.len());
        let buffer = self.program.add(&name, dtype, &sizes, Kept);
        let mut index: Vec<LoopSum> = axes.into_iter().map(|(sum, _)| sum).collect();
        if self.random.percent(20) && sizes.iter().all(|size| *size > 1) {
            // The last cells of each axis become its margin after, the first one its margin before.
            let known = &mut self.program.buffers[buffer.index()];
            known.sizes.iter_mut().for_each(|size| *size = *size - 1);
            known.margins = vec![(1, 0); known.sizes.len()];
            known.fill = 2.0;
            index.iter_mut().for_each(|sum| sum.offset = sum.offset - 1);
        }
        Cell { buffer, index: index.into_iter().map(Index::At).collect() }
    }

    /// A cell of a buffer that an earlier nest has written.
    fn old_cell(&mut self) -> Option<Cell> {
        if self.results.is_empty() {
            return None;
        }
        let buffer = self.random.pick(&self.results.clone());
        let sizes = self.program.buffer(buffer).shape();
        let mut index = Vec::new();
        for size in sizes {
            let fitting: Vec<LoopVar> =
                self.scope.iter().filter(|(_, extent)| *extent <= size).map(|(var, _)| *var).collect();
            index.push(Index::At(if fitting.is_empty() || self.random.percent(10) {
                LoopSum::fixed(self.random.roll(size) as i64)
            } else {
                LoopSum::iterate(self.random.pick(&fitting))
            }));
        }
        Some(Cell { buffer, index })
    }

    fn load(&mut self) -> Scalar {
        if self.random.percent(25)
            && let Some(cell) = self.old_cell()
        {
            // Numbers that go round and round must not grow.
            return two(Binary::Mul, Scalar::Load(cell), number(0.25));
        }
        let dtype = self.random.pick(&[F32, F32, F32, F32, F64, Bf16, I32]);
        Scalar::Load(self.new_cell("in", dtype))
    }

    fn scalar(&mut self, depth: u32) -> Scalar {
        if depth == 0 {
            return match self.random.roll(10) {
                0 => number(self.random.roll(7) as f64 / 2.0 - 1.5),
                1 => {
                    let (sum, _) = self.index();
                    two(Binary::Mul, Scalar::Position(sum), number(1.0 / 64.0))
                }
                2 => Scalar::Uniform { key: 0, stream: self.random.roll(3), at: self.index().0 },
                _ => self.load(),
            };
        }
        match self.random.roll(8) {
            0 => {
                let function =
                    self.random.pick(&[Unary::Neg, Unary::Abs, Unary::Tanh, Unary::Sigmoid, Unary::Sin]);
                one(function, self.scalar(depth - 1))
            }
            1 => {
                // Conditions on buffers that are only read, so that rounding does not decide them.
                let cell = self.new_cell("condition", F32);
                let condition = two(Binary::Less, Scalar::Load(cell), number(0.1));
                Scalar::Select(
                    Box::new(condition),
                    Box::new(self.scalar(depth - 1)),
                    Box::new(self.scalar(depth - 1)),
                )
            }
            2 => self.scalar(0),
            _ => {
                let function = self.random.pick(&[
                    Binary::Add,
                    Binary::Sub,
                    Binary::Mul,
                    Binary::Mul,
                    Binary::Max,
                    Binary::Min,
                ]);
                two(function, self.scalar(depth - 1), self.scalar(depth - 1))
            }
        }
    }

    fn accumulation(&mut self) -> Option<Binary> {
        self.random.pick(&[
            None,
            None,
            Some(Binary::Add),
            Some(Binary::Add),
            Some(Binary::Max),
            Some(Binary::Min),
            Some(Binary::Sub),
        ])
    }

    fn target(&mut self) -> Cell {
        if self.random.percent(15)
            && let Some(cell) = self.old_cell()
        {
            return cell;
        }
        let dtype = self.random.pick(&[F32, F32, F32, F64]);
        let cell = self.new_cell("out", dtype);
        self.results.push(cell.buffer);
        cell
    }

    fn store(&mut self) -> Statement {
        let depth = self.random.roll(3) as u32;
        let value = self.scalar(depth);
        let accumulate = self.accumulation();
        // Averages, so that sums stay small.
        let value = if accumulate.is_some() { two(Binary::Mul, value, number(1.0 / 32.0)) } else { value };
        Statement::Store { cell: self.target(), accumulate, value }
    }

    /// Some loops around the statements that `inside` makes.
    fn loops(&mut self, count: u64, inside: impl FnOnce(&mut Maker) -> Vec<Statement>) -> Vec<Statement> {
        let outside = self.scope.len();
        let mut budget = 20_000 / self.scope.iter().map(|(_, extent)| extent).product::<u64>().max(1);
        for _ in 0..count {
            let extent = self.random.pick(&[1, 2, 3, 5, 8, 17, 33, 70, 130]).min(budget.max(1));
            budget /= extent;
            let var = self.program.add_var(["i", "j", "k", "row", "column"][self.random.roll(5) as usize]);
            self.scope.push((var, extent));
        }
        let body = inside(self);
        let around = self.scope.split_off(outside);
        around.into_iter().rev().fold(body, |body, (var, extent)| {
            vec![Statement::Loop(Loop { var, extent: extent.into(), parallel: false, body })]
        })
    }

    fn nest(&mut self) {
        let depth = self.random.roll(4) + 1;
        let body = match self.random.roll(4) {
            // A perfect nest, with one store or two.
            0 | 1 => self.loops(depth, |maker| {
                let both = maker.random.percent(25);
                let mut body = vec![maker.store()];
                if both {
                    body.push(maker.store());
                }
                body
            }),
            // A reduction in a variable.
            2 => self.loops(depth.min(3), |maker| {
                let local = maker.program.add_local();
                let start = if maker.random.percent(60) { number(0.0) } else { maker.scalar(0) };
                let function = maker.random.pick(&[Binary::Add, Binary::Add, Binary::Max, Binary::Min]);
                let count = maker.random.roll(2) + 1;
                let sum = maker.loops(count, |maker| {
                    let value = two(Binary::Mul, maker.scalar(1), number(1.0 / 16.0));
                    vec![Statement::Update { local, accumulate: Some(function), value }]
                });
                let finish = match maker.random.roll(3) {
                    0 => one(Unary::Tanh, Scalar::Local(local)),
                    _ => Scalar::Local(local),
                };
                let accumulate = if maker.random.percent(30) { Some(Binary::Add) } else { None };
                let cell = maker.target();
                let mut body = vec![Statement::Declare { local, value: start }];
                body.extend(sum);
                body.push(Statement::Store { cell, accumulate, value: finish });
                body
            }),
            // A tree.
            _ => self.loops(depth.min(2), |maker| {
                let mut body = Vec::new();
                for _ in 0..maker.random.roll(3) + 1 {
                    if maker.random.percent(60) {
                        let count = maker.random.roll(2) + 1;
                        body.extend(maker.loops(count, |maker| vec![maker.store()]));
                    } else {
                        body.push(maker.store());
                    }
                }
                body
            }),
        };
        self.program.nest("random", body);
    }
}

fn random_program(seed: u64, nests: usize) -> Program {
    let mut program = Program::default();
    program.symbols.push("key".into());
    let mut maker = Maker { random: Dice::new(seed), program, results: Vec::new(), scope: Vec::new() };
    for _ in 0..nests {
        maker.nest();
    }
    maker.program
}

#[test]
fn random_programs_do_what_the_reference_does() {
    for seed in 0..setting("BROADLOOM_RANDOM", 6) {
        judge(&random_program(seed, 40), &[99], 5e-4);
    }
}
