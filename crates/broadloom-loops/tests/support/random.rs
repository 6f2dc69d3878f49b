//! Random programs like those that lowering produces, and stranger ones.
//!
//! Every cell that is read has been written before, so NaN in a result is a mistake of the pass
//! that changed the program. Inputs are multiples of 1/8, most values stay small, and sums of them
//! are exact, so that comparisons do not flip when a sum is reordered.

mod bodies;
mod kinds;
mod values;

use broadloom_loops::{
    Binary, Buffer, BufferId, Cell, Dtype, Index, Local, LoopSum, LoopVar, Nest, Program, Scalar, Statement,
    Storage, Unary,
};
use broadloom_testing::Dice;

use super::Sample;
use values::positive;

/// The program of a seed.
pub fn sample(seed: u64) -> Sample {
    let mut make = Make::of(seed);
    let nests = 1 + make.random.below(12);
    while make.program.nests.len() < nests {
        make.nest();
    }
    make.finished()
}

/// A program of a seed in which all floats have 32 bits, and axes are longer than vectors.
pub fn narrow(seed: u64) -> Sample {
    let mut make = Make::new(seed, true);
    let nests = 1 + make.random.below(8);
    while make.program.nests.len() < nests {
        make.nest();
    }
    make.finished()
}

/// A program of a seed in which products are added to buffers, like the gradients of a step to its parameters.
pub fn descending(seed: u64) -> Sample {
    let mut make = Make::of(seed);
    for _ in 0..1 + make.random.below(3) {
        make.descent();
    }
    make.finished()
}

/// The facts about a buffer that later nests need.
#[derive(Clone)]
struct Fact {
    /// True if all its cells have been written.
    written: bool,
    /// A bound on the size of its numbers.
    bound: f64,
    /// The bound of its numbers, if they are indices.
    index: Option<u64>,
}

struct Make {
    random: Dice,
    /// True if some buffers are 32-bit floats; then only continuous operations are used.
    mixed: bool,
    /// True if all floats have 32 bits.
    narrow: bool,
    program: Program,
    facts: Vec<Fact>,
    inputs: Vec<(BufferId, Vec<f64>)>,
    /// The sizes that axes are made of.
    sizes: Vec<u64>,
    /// Scalars and locals of the body that is being made, which may be used again there.
    hot: Vec<Scalar>,
    own_locals: Vec<Local>,
}

type Loops = Vec<(LoopVar, u64)>;

impl Make {
    fn of(seed: u64) -> Make {
        Make::new(seed, false)
    }

    fn new(seed: u64, narrow: bool) -> Make {
        let mut random = Dice::from_state(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D);
        let mixed = random.chance(4) || narrow;
        let mut make = Make {
            random,
            mixed,
            narrow,
            program: Program::default(),
            facts: Vec::new(),
            inputs: Vec::new(),
            sizes: Vec::new(),
            hot: Vec::new(),
            own_locals: Vec::new(),
        };
        make.start();
        make
    }

    fn finished(mut self) -> Sample {
        self.finish();
        Sample {
            symbols: vec![self.random.below(1000) as i64, 0],
            program: self.program,
            inputs: self.inputs,
            tolerance: if self.mixed { 1e-4 } else { 1e-9 },
        }
    }

    fn start(&mut self) {
        self.program.symbols = vec!["key".to_string(), "row".to_string()];
        let count = 2 + self.random.below(2);
        let most = if self.narrow { 11 } else { 5 };
        self.sizes = (0..count).map(|_| 1 + self.random.below(most) as u64).collect();
        for name in ["i", "j", "k", "l"] {
            self.program.add_var(name);
        }
        for _ in 0..2 + self.random.below(3) {
            let sizes = self.shape(3);
            let id = self.add(sizes, Storage::Kept, true);
            self.give(id);
        }
        if self.random.chance(2) {
            let sizes = vec![self.random.pick(&self.sizes.clone())];
            let id = self.add(sizes.clone(), Storage::Kept, false);
            let bound = self.random.pick(&self.sizes.clone());
            self.program.buffers[id.index()].dtype = Dtype::I64;
            let values = (0..sizes[0]).map(|_| self.random.below(bound as usize) as f64).collect();
            self.inputs.push((id, values));
            self.facts[id.index()] = Fact { written: true, bound: 5.0, index: Some(bound) };
        }
    }

    /// Keeps some of the computed buffers.
    fn finish(&mut self) {
        for at in 0..self.program.buffers.len() {
            let buffer = &mut self.program.buffers[at];
            let last = at + 1 == self.facts.len();
            if buffer.storage == Storage::Local && (last || self.random.chance(4)) {
                buffer.storage = Storage::Kept;
            }
        }
    }

    fn shape(&mut self, rank: usize) -> Vec<u64> {
        let sizes = self.sizes.clone();
        let rank = self.random.below(rank + 1).max(self.random.below(rank + 1));
        (0..rank).map(|_| self.random.pick(&sizes)).collect()
    }

    fn add(&mut self, sizes: Vec<u64>, storage: Storage, margins: bool) -> BufferId {
        let with_margins = margins && !sizes.is_empty() && self.random.chance(3);
        let margins = if with_margins {
            sizes.iter().map(|_| (self.random.below(3) as u64, self.random.below(3) as u64)).collect()
        } else {
            Vec::new()
        };
        let is_narrow = self.narrow || self.mixed && self.random.chance(2);
        let dtype = if is_narrow { Dtype::F32 } else { Dtype::F64 };
        let name = format!("b{}", self.facts.len());
        let fill = self.random.pick(&[0.0, 0.0, 1.0, -2.0]);
        self.facts.push(Fact { written: false, bound: 4.0, index: None });
        self.program.add_buffer(Buffer {
            name,
            dtype,
            sizes: sizes.into_iter().map(Into::into).collect(),
            margins,
            fill,
            storage,
        })
    }

    fn give(&mut self, id: BufferId) {
        let cells = self.program.buffer(id).shape().iter().product::<u64>();
        let values = (0..cells).map(|_| self.random.below(33) as f64 / 8.0 - 2.0).collect();
        self.inputs.push((id, values));
        self.facts[id.index()].written = true;
    }

    fn nest(&mut self) {
        match self.random.below(30) {
            0..=6 => self.pointwise(),
            7..=9 => self.reduction(),
            10 => self.scatter(),
            11..=13 => self.update(),
            14 => self.gather(),
            15 => self.fill(),
            16 | 20 | 21 => self.again(),
            17 => self.rows(),
            18 => self.copy(),
            22 => self.overlap(),
            23 => {
                self.product();
            }
            24 => self.margins(),
            25..=28 => self.body(),
            29 => self.neighbours(),
            _ => self.integers(),
        }
    }

    fn push(&mut self, statement: Statement, loops: &Loops) {
        let comment = String::new();
        self.program.nests.push(Nest { comment, body: vec![statement.within(loops.iter().copied())] });
    }

    /// Loops with these extents, with variables that other nests may have too.
    fn loops(&mut self, extents: &[u64]) -> Loops {
        let shared = self.random.chance(2);
        let mut loops = Loops::new();
        for (at, extent) in extents.iter().enumerate() {
            let var =
                if shared && at < 4 { LoopVar(at as u32) } else { self.program.add_var(format!("v{at}")) };
            loops.push((var, *extent));
        }
        loops
    }

    /// The cell whose indices are the first loops.
    fn simple(&self, buffer: BufferId, loops: &Loops) -> Cell {
        let rank = self.program.buffer(buffer).sizes.len();
        let index = loops[..rank].iter().map(|(var, _)| Index::At(LoopSum::iterate(*var))).collect();
        Cell { buffer, index }
    }

    fn pointwise(&mut self) {
        let sizes = self.shape(3);
        let id = self.add(sizes.clone(), Storage::Local, true);
        let mut loops = self.loops(&sizes);
        let cell = self.simple(id, &loops);
        let (value, bound) = self.value(&loops, 3);
        if self.random.chance(8) {
            loops.reverse();
        }
        self.push(Statement::Store { cell, accumulate: None, value }, &loops);
        self.facts[id.index()] = Fact { written: true, bound, index: None };
    }

    fn fill_first(&mut self, id: BufferId, function: Binary) {
        let neutral = function.neutral().unwrap();
        let value = if self.random.chance(6) { 2.0 } else { neutral };
        self.push(Statement::Fill { buffer: id, value }, &Loops::new());
        if self.random.chance(4) {
            self.pointwise();
        }
    }

    fn reduction(&mut self) {
        let mut sizes = self.shape(2);
        let id = self.add(sizes.clone(), Storage::Local, true);
        use Binary::{Add, And, Max, Min, Mul, Or, Sub};
        let function = self.random.pick(&[Add, Add, Add, Add, Max, Min, Mul, Sub, And, Or]);
        self.fill_first(id, function);
        for _ in 0..self.random.below(3) {
            let all = self.sizes.clone();
            sizes.push(self.random.pick(&all));
        }
        let mut loops = self.loops(&sizes);
        let cell = self.simple(id, &loops);
        let (value, bound) = self.summand(&loops, function);
        if self.random.chance(6) {
            loops.reverse();
        }
        self.push(Statement::Store { cell, accumulate: Some(function), value }, &loops);
        self.facts[id.index()] = Fact { written: true, bound, index: None };
    }

    /// A value to accumulate: often a product of two loads.
    fn summand(&mut self, loops: &Loops, function: Binary) -> (Scalar, f64) {
        let (value, bound) = if self.random.chance(3) {
            // Each with a loop that the other lacks, if there are enough.
            let (left, right) = if loops.len() > 1 {
                (&loops[1..], &loops[..loops.len() - 1])
            } else {
                (&loops[..], &loops[..])
            };
            let ((mut a, x), (b, y)) = (self.load(&left.to_vec()), self.load(&right.to_vec()));
            if self.random.chance(3) {
                a = Scalar::binary(Binary::Mul, a, Scalar::Number(0.5));
            }
            let product = Scalar::binary(Binary::Mul, a, b);
            if !loops.is_empty() && self.random.chance(2) {
                let one = vec![self.random.pick(loops)];
                let (c, z) = self.load(&one);
                (Scalar::binary(Binary::Mul, product, c), x * y * z)
            } else {
                (product, x * y)
            }
        } else {
            self.value(loops, 2)
        };
        let points = loops.iter().map(|(_, extent)| *extent as f64).product::<f64>();
        if function == Binary::Mul {
            let small = Scalar::binary(Binary::Mul, Scalar::unary(Unary::Tanh, value), Scalar::Number(0.125));
            return (Scalar::binary(Binary::Add, small, Scalar::Number(1.0)), 1.125f64.powf(points) + 2.0);
        }
        if matches!(function, Binary::And | Binary::Or) {
            return (positive(value), 1.0);
        }
        (value, bound * points + 2.0)
    }
}
