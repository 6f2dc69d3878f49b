//! Random programs like those that lowering produces, and stranger ones.
//!
//! Every cell that is read has been written before, so NaN in a result is a mistake of the pass
//! that changed the program. Inputs are multiples of 1/8, most values stay small, and sums of them
//! are exact, so that comparisons do not flip when a sum is reordered.

mod bodies;

use broadloom_core::projection::Component;
use broadloom_loops::{
    Binary, Buffer, BufferId, Cell, Dtype, Index, Local, Nest, Program, Scalar, Statement, Storage, Unary,
};

use super::Sample;

/// The program of a seed.
pub fn sample(seed: u64) -> Sample {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D);
    let mixed = random.chance(4);
    let mut make = Make {
        random,
        mixed,
        program: Program::default(),
        facts: Vec::new(),
        inputs: Vec::new(),
        sizes: Vec::new(),
        hot: Vec::new(),
        own_locals: Vec::new(),
    };
    make.start();
    let nests = 1 + make.random.below(12);
    while make.program.nests.len() < nests {
        make.nest();
    }
    make.finish();
    Sample {
        program: make.program,
        symbols: vec![make.random.below(1000) as i64, 0],
        inputs: make.inputs,
        tolerance: if mixed { 1e-4 } else { 1e-9 },
    }
}

/// A small generator of random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// True once in this many times, on average.
    pub fn chance(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
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
    random: Random,
    /// True if some buffers are 32-bit floats; then only continuous operations are used.
    mixed: bool,
    program: Program,
    facts: Vec<Fact>,
    inputs: Vec<(BufferId, Vec<f64>)>,
    /// The sizes that axes are made of.
    sizes: Vec<u64>,
    /// Scalars and locals of the body that is being made, which may be used again there.
    hot: Vec<Scalar>,
    own_locals: Vec<Local>,
}

type Loops = Vec<(u32, u64)>;

impl Make {
    fn start(&mut self) {
        self.program.symbols = vec!["key".to_string(), "row".to_string()];
        let count = 2 + self.random.below(2);
        self.sizes = (0..count).map(|_| 1 + self.random.below(5) as u64).collect();
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
        let dtype = if self.mixed && self.random.chance(2) { Dtype::F32 } else { Dtype::F64 };
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
            23 => self.product(),
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
            let var = if shared && at < 4 { at as u32 } else { self.program.add_var(format!("v{at}")) };
            loops.push((var, *extent));
        }
        loops
    }

    /// The cell whose indices are the first loops.
    fn simple(&self, buffer: BufferId, loops: &Loops) -> Cell {
        let rank = self.program.buffer(buffer).sizes.len();
        let index = loops[..rank].iter().map(|(var, _)| Index::At(Component::iterate(*var))).collect();
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
            (Scalar::binary(Binary::Mul, a, b), x * y)
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

    /// An index on an axis: often a loop that fits, else any sum that stays inside, or in the margins.
    fn index(&mut self, buffer: BufferId, axis: usize, loops: &Loops, margins: bool) -> Index {
        let (left, right) = if margins { self.program.buffer(buffer).margin(axis) } else { (0, 0) };
        let size = self.program.buffer(buffer).sizes[axis].get();
        let fits: Loops = loops.iter().copied().filter(|(_, extent)| *extent == size).collect();
        if !fits.is_empty() && !self.random.chance(4) {
            return Index::At(Component::iterate(self.random.pick(&fits).0));
        }
        for _ in 0..4 {
            let mut terms = Vec::new();
            for _ in 0..1 + self.random.below(2) {
                if !loops.is_empty() {
                    terms.push((self.random.pick(&[1, 1, 2, -1]), self.random.pick(loops).0));
                }
            }
            let sum = Component::new(0, terms);
            let reach = |(c, var): &(broadloom_loops::Size, u32)| {
                c.as_number().unwrap() * (loops.iter().find(|(known, _)| known == var).unwrap().1 as i64 - 1)
            };
            let least: i64 = sum.terms.iter().map(|term| reach(term).min(0)).sum();
            let greatest: i64 = sum.terms.iter().map(|term| reach(term).max(0)).sum();
            let (low, high) = (-(left as i64) - least, (size + right) as i64 - 1 - greatest);
            if low <= high {
                let offset = low + self.random.below((high - low + 1) as usize) as i64;
                return Index::At(Component::new(offset, sum.terms));
            }
        }
        Index::At(Component::fixed(self.random.below(size as usize) as i64))
    }

    fn cell(&mut self, buffer: BufferId, loops: &Loops, margins: bool) -> Cell {
        let rank = self.program.buffer(buffer).sizes.len();
        let index = (0..rank).map(|axis| self.index(buffer, axis, loops, margins)).collect();
        Cell { buffer, index }
    }

    /// A buffer that may be read, preferably a late one.
    fn readable(&mut self) -> BufferId {
        let ids: Vec<u32> =
            (0..self.facts.len() as u32).filter(|at| self.facts[*at as usize].written).collect();
        let late = &ids[ids.len().saturating_sub(3)..];
        BufferId(if self.random.chance(2) { self.random.pick(late) } else { self.random.pick(&ids) })
    }

    fn load(&mut self, loops: &Loops) -> (Scalar, f64) {
        let buffer = self.readable();
        let mut cell = self.cell(buffer, loops, true);
        if !cell.index.is_empty() && self.random.chance(20) {
            cell.index[0] = Index::Symbol(1);
        }
        (Scalar::Load(cell), self.facts[buffer.index()].bound)
    }

    /// A scalar and a bound on its size.
    fn value(&mut self, loops: &Loops, depth: usize) -> (Scalar, f64) {
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

    fn free_value(&mut self, loops: &Loops, depth: usize) -> (Scalar, f64) {
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

    fn leaf(&mut self, loops: &Loops) -> (Scalar, f64) {
        if !self.own_locals.is_empty() && self.random.chance(4) {
            let locals = self.own_locals.clone();
            return (Scalar::Local(self.random.pick(&locals)), 500.0);
        }
        match self.random.below(16) {
            0 => (Scalar::Number(self.random.pick(&[0.0, 1.0, -1.0, 2.0, 0.5, -3.0])), 3.0),
            1 if !loops.is_empty() => {
                let terms = [(2, self.random.pick(loops).0), (1, self.random.pick(loops).0)];
                (Scalar::Position(Component::new(1, terms)), 16.0)
            }
            2 => (Scalar::Symbol(1), 1.0),
            3 if !loops.is_empty() => {
                let at = Component::new(3, [(5, self.random.pick(loops).0), (1, self.random.pick(loops).0)]);
                (Scalar::Uniform { key: 0, stream: self.random.below(3) as u64, at }, 1.0)
            }
            _ => self.load(loops),
        }
    }

    /// A fill, then an accumulation that goes anywhere, margins included.
    fn scatter(&mut self) {
        let sizes = self.shape(3);
        let id = self.add(sizes, Storage::Local, true);
        let function = self.random.pick(&[Binary::Add, Binary::Max]);
        self.fill_first(id, function);
        let extents = self.shape(3);
        let loops = self.loops(&extents);
        let cell = self.cell(id, &loops, true);
        let (value, bound) = self.summand(&loops, function);
        self.push(Statement::Store { cell, accumulate: Some(function), value }, &loops);
        self.facts[id.index()] = Fact { written: true, bound, index: None };
    }

    /// A fill, then an accumulation that reaches every cell, some more than once.
    fn overlap(&mut self) {
        let (a, b) = (self.random.pick(&self.sizes.clone()), self.random.pick(&self.sizes.clone()));
        let id = self.add(vec![a + b - 1], Storage::Local, true);
        self.fill_first(id, Binary::Add);
        let loops = self.loops(&[a, b]);
        let sum = Component::new(0, [(1, loops[0].0), (1, loops[1].0)]);
        let cell = Cell { buffer: id, index: vec![Index::At(sum)] };
        let (value, bound) = self.summand(&loops, Binary::Add);
        self.push(Statement::Store { cell, accumulate: Some(Binary::Add), value }, &loops);
        self.facts[id.index()] = Fact { written: true, bound, index: None };
    }

    /// A product of two matrices, each of them just computed.
    fn product(&mut self) {
        let all = self.sizes.clone();
        let (m, n, k) = (self.random.pick(&all), self.random.pick(&all), self.random.pick(&all));
        let operand = |make: &mut Make, sizes: Vec<u64>| {
            let id = make.add(sizes.clone(), Storage::Local, false);
            let loops = make.loops(&sizes);
            let (mut value, mut bound) = make.load(&loops);
            match make.random.below(3) {
                0 => value = Scalar::binary(Binary::Mul, value, Scalar::Number(0.5)),
                1 => (value, bound) = (Scalar::unary(Unary::Tanh, value), 1.0),
                _ => {}
            }
            let cell = make.simple(id, &loops);
            make.push(Statement::Store { cell, accumulate: None, value }, &loops);
            make.facts[id.index()] = Fact { written: true, bound, index: None };
            id
        };
        let (a, b) = (operand(self, vec![m, k]), operand(self, vec![k, n]));
        let id = self.add(vec![m, n], Storage::Local, true);
        self.fill_first(id, Binary::Add);
        let loops = self.loops(&[m, n, k]);
        let cell = self.simple(id, &loops);
        let at = |buffer, x: usize, y: usize| {
            let index = [x, y].map(|place| Index::At(Component::iterate(loops[place].0))).to_vec();
            Scalar::Load(Cell { buffer, index })
        };
        let value = Scalar::binary(Binary::Mul, at(a, 0, 2), at(b, 2, 1));
        let bound = self.facts[a.index()].bound * self.facts[b.index()].bound * k as f64 + 2.0;
        self.push(Statement::Store { cell, accumulate: Some(Binary::Add), value }, &loops);
        self.facts[id.index()] = Fact { written: true, bound, index: None };
    }

    /// Writes a buffer that holds something again, completely or in part.
    fn update(&mut self) {
        let id = self.readable();
        if self.facts[id.index()].index.is_some() {
            return;
        }
        let mut extents = self.program.buffer(id).shape();
        if self.random.chance(3) {
            extents.extend(self.shape(1));
        }
        let loops = self.loops(&extents);
        let wild = self.random.chance(3);
        let cell = if wild { self.cell(id, &loops, true) } else { self.simple(id, &loops) };
        let accumulate = match self.random.below(3) {
            0 => None,
            _ => Some(self.random.pick(&[Binary::Add, Binary::Sub, Binary::Max, Binary::Mul])),
        };
        let (mut value, mut bound) = match accumulate {
            Some(function) => self.summand(&loops, function),
            None => self.value(&loops, 2),
        };
        // Sometimes uses a number that was computed from the old contents of the buffer.
        if !wild && self.random.chance(3) {
            let sizes = self.program.buffer(id).shape();
            let before = self.add(sizes.clone(), Storage::Local, false);
            self.program.buffers[before.index()].dtype = self.program.buffer(id).dtype;
            let around = self.loops(&sizes);
            let (to, from) = (self.simple(before, &around), self.simple(id, &around));
            let half = Scalar::binary(Binary::Mul, Scalar::Load(from), Scalar::Number(0.5));
            self.push(Statement::Store { cell: to, accumulate: None, value: half }, &around);
            self.facts[before.index()] = Fact { written: true, ..self.facts[id.index()].clone() };
            value = Scalar::binary(Binary::Add, value, Scalar::Load(self.simple(before, &loops)));
            bound += 200.0 * self.facts[id.index()].bound;
        }
        // Often uses the old value of the cell.
        if accumulate.is_none() && self.random.chance(2) {
            value = Scalar::binary(Binary::Sub, Scalar::Load(cell.clone()), value);
            bound += self.facts[id.index()].bound;
        }
        bound += self.facts[id.index()].bound;
        if accumulate == Some(Binary::Mul) {
            bound *= self.facts[id.index()].bound;
        }
        self.push(Statement::Store { cell, accumulate, value }, &loops);
        self.facts[id.index()].bound = bound.max(4.0) * 32.0;
    }

    /// A check, then a load or an accumulation at an index that is looked up.
    fn gather(&mut self) {
        let indices: Vec<usize> =
            (0..self.facts.len()).filter(|at| self.facts[*at].index.is_some()).collect();
        if indices.is_empty() {
            return;
        }
        let index = BufferId(self.random.pick(&indices) as u32);
        let (count, below) =
            (self.program.buffer(index).sizes[0].get(), self.facts[index.index()].index.unwrap());
        let tables: Vec<usize> = (0..self.facts.len())
            .filter(|at| self.facts[*at].written && self.facts[*at].index.is_none())
            .filter(|at| self.program.buffers[*at].sizes.first().is_some_and(|size| size.get() >= below))
            .collect();
        if tables.is_empty() {
            return;
        }
        let table = BufferId(self.random.pick(&tables) as u32);
        let loops = self.loops(&[count]);
        let at = Cell { buffer: index, index: vec![Index::At(Component::iterate(loops[0].0))] };
        let below = self.program.buffer(table).sizes[0].get();
        self.push(Statement::Check { cell: at.clone(), below: below.into(), of: table }, &loops);
        let mut extents = vec![count];
        extents.extend(&self.program.buffer(table).shape()[1..]);
        let loops = self.loops(&extents);
        let value_at = Index::Value(Box::new(Cell {
            buffer: index,
            index: vec![Index::At(Component::iterate(loops[0].0))],
        }));
        let mut cell = self.simple(table, &loops);
        cell.index[0] = value_at;
        if self.random.chance(3) {
            let (value, bound) = self.value(&loops, 1);
            self.push(Statement::Store { cell, accumulate: Some(Binary::Add), value }, &loops);
            self.facts[table.index()].bound += bound * 125.0;
        } else {
            let id = self.add(extents, Storage::Local, true);
            let to = self.simple(id, &loops);
            self.push(Statement::Store { cell: to, accumulate: None, value: Scalar::Load(cell) }, &loops);
            self.facts[id.index()] = Fact { written: true, ..self.facts[table.index()].clone() };
        }
    }

    fn fill(&mut self) {
        if self.random.chance(2) {
            let sizes = self.shape(3);
            let id = self.add(sizes, Storage::Local, true);
            let value = self.random.pick(&[0.0, 1.0, 0.5]);
            self.push(Statement::Fill { buffer: id, value }, &Loops::new());
            self.facts[id.index()].written = true;
            return;
        }
        let id = self.readable();
        if self.facts[id.index()].index.is_some() {
            return;
        }
        let value = self.random.pick(&[0.0, 1.0, -2.0]);
        let statement = match self.random.chance(2) {
            true => Statement::Fill { buffer: id, value },
            false => Statement::FillMargins { buffer: id, value },
        };
        self.push(statement, &Loops::new());
    }

    /// Reads, fills and writes the margins of a buffer, in some order.
    fn margins(&mut self) {
        let ids: Vec<u32> = (0..self.facts.len() as u32)
            .filter(|at| self.facts[*at as usize].written && self.program.buffer(BufferId(*at)).has_margins())
            .collect();
        if ids.is_empty() {
            return;
        }
        let id = BufferId(self.random.pick(&ids));
        let sizes = self.program.buffer(id).shape();
        for _ in 0..2 + self.random.below(4) {
            let loops = self.loops(&sizes);
            let (value, bound) = self.value(&loops, 1);
            match self.random.below(4) {
                0 => {
                    let value = self.random.pick(&[0.0, 1.0, -2.0]);
                    self.push(Statement::FillMargins { buffer: id, value }, &Loops::new());
                }
                1 => {
                    let cell = self.cell(id, &loops, true);
                    let accumulate = self.random.pick(&[None, Some(Binary::Add)]);
                    self.push(Statement::Store { cell, accumulate, value }, &loops);
                    self.facts[id.index()].bound += 8.0 * bound;
                }
                2 => {
                    let cell = self.simple(id, &loops);
                    self.push(Statement::Store { cell, accumulate: None, value }, &loops);
                    self.facts[id.index()].bound += bound;
                }
                _ => {
                    let to = self.add(sizes.clone(), Storage::Kept, false);
                    let (cell, from) = (self.simple(to, &loops), self.cell(id, &loops, true));
                    let value = Scalar::binary(Binary::Add, Scalar::Load(from), Scalar::Number(1.0));
                    self.push(Statement::Store { cell, accumulate: None, value }, &loops);
                    let bound = self.facts[id.index()].bound + 1.0;
                    self.facts[to.index()] = Fact { written: true, bound, index: None };
                }
            }
        }
    }

    /// Repeats an earlier nest with another buffer as its target.
    fn again(&mut self) {
        let stores: Vec<usize> = (0..self.program.nests.len())
            .filter(|at| is_perfect(&self.program.nests[*at].body))
            .filter(|at| {
                let mut plain = false;
                self.program.nests[*at].body[0].each(&mut |inner| {
                    plain |= matches!(inner, Statement::Store { accumulate: None, .. });
                });
                plain
            })
            .collect();
        if stores.is_empty() {
            return;
        }
        let mut nest = self.program.nests[self.random.pick(&stores)].clone();
        let mut whole = true;
        let mut target = BufferId(0);
        nest.body[0].each(&mut |inner| {
            if let Statement::Store { cell, .. } = inner {
                target = cell.buffer;
                inner.each_read(&mut |read| whole &= read.buffer != cell.buffer);
            }
        });
        let loops = {
            let (mut loops, mut body) = (Loops::new(), &nest.body[0]);
            while let Statement::Loop(each) = body {
                loops.push((each.var, each.extent.get()));
                body = &each.body[0];
            }
            loops
        };
        let sizes = self.program.buffer(target).shape();
        whole &= loops.iter().map(|(_, extent)| *extent).eq(sizes.iter().copied());
        if !whole {
            return;
        }
        let id = self.add(sizes, Storage::Local, false);
        self.program.buffers[id.index()].dtype = self.program.buffer(target).dtype;
        let simple = self.simple(id, &loops);
        fn redirect(statement: &mut Statement, to: &Cell) {
            match statement {
                Statement::Loop(each) => redirect(&mut each.body[0], to),
                Statement::Store { cell, .. } => *cell = to.clone(),
                _ => {}
            }
        }
        redirect(&mut nest.body[0], &simple);
        self.program.nests.push(nest);
        self.facts[id.index()] = Fact { written: true, ..self.facts[target.index()].clone() };
    }

    /// Softmax over the last axis of a buffer.
    fn rows(&mut self) {
        let of = self.readable();
        let sizes = self.program.buffer(of).shape();
        if sizes.len() < 2 || self.facts[of.index()].bound > 100.0 {
            return;
        }
        let outer = sizes[..sizes.len() - 1].to_vec();
        let row = |make: &mut Make, function: Option<Binary>, value: &dyn Fn(&Make, &Loops) -> Scalar| {
            let id = make.add(
                if function.is_some() { outer.clone() } else { sizes.clone() },
                Storage::Local,
                false,
            );
            if let Some(function) = function {
                make.push(Statement::Fill { buffer: id, value: function.neutral().unwrap() }, &Loops::new());
            }
            let loops = make.loops(&sizes);
            let (cell, value) = (make.simple(id, &loops), value(make, &loops));
            make.push(Statement::Store { cell, accumulate: function, value }, &loops);
            make.facts[id.index()] = Fact { written: true, bound: 8.0, index: None };
            id
        };
        let load = |make: &Make, id: BufferId, loops: &Loops| Scalar::Load(make.simple(id, loops));
        let most = row(self, Some(Binary::Max), &|make, loops| load(make, of, loops));
        let power = row(self, None, &|make, loops| {
            let below = Scalar::binary(Binary::Sub, load(make, of, loops), load(make, most, loops));
            Scalar::unary(Unary::Exp, below)
        });
        let total = row(self, Some(Binary::Add), &|make, loops| load(make, power, loops));
        row(self, None, &|make, loops| {
            Scalar::binary(Binary::Div, load(make, power, loops), load(make, total, loops))
        });
    }

    /// A copy with other axes: a transpose, a broadcast, a window.
    fn copy(&mut self) {
        let sizes = self.shape(3);
        let from = self.readable();
        let id = self.add(sizes.clone(), Storage::Local, true);
        self.program.buffers[id.index()].dtype = self.program.buffer(from).dtype;
        let loops = self.loops(&sizes);
        let (cell, value) = (self.simple(id, &loops), Scalar::Load(self.cell(from, &loops, true)));
        let index = match &value {
            Scalar::Load(cell) if !self.program.buffer(cell.buffer).has_margins() => {
                self.facts[from.index()].index
            }
            _ => None,
        };
        self.push(Statement::Store { cell, accumulate: None, value }, &loops);
        let index = index.filter(|_| sizes.len() == 1);
        self.facts[id.index()] = Fact { written: true, index, ..self.facts[from.index()].clone() };
    }

    /// Integers: stored values lose their fractions.
    fn integers(&mut self) {
        if self.mixed {
            return;
        }
        let mut sizes = self.shape(2);
        let id = self.add(sizes.clone(), Storage::Local, true);
        self.program.buffers[id.index()].dtype = self.random.pick(&[Dtype::I32, Dtype::I64]);
        let sum = self.random.chance(3);
        if sum {
            self.push(Statement::Fill { buffer: id, value: 0.0 }, &Loops::new());
            sizes.push(3);
        }
        let loops = self.loops(&sizes);
        let cell = self.simple(id, &loops);
        let (value, bound) = self.value(&loops, 2);
        let accumulate = sum.then_some(Binary::Add);
        self.push(Statement::Store { cell, accumulate, value }, &loops);
        self.facts[id.index()] = Fact { written: true, bound: 3.0 * bound + 1.0, index: None };
    }
}

/// A comparison with a number that the scalar never equals exactly, so that rounding cannot flip
/// it.
fn positive(scalar: Scalar) -> Scalar {
    Scalar::binary(Binary::Less, Scalar::Number(0.3), scalar)
}

/// Returns true if a body is loops around one statement.
fn is_perfect(body: &[Statement]) -> bool {
    match body {
        [Statement::Loop(each)] => is_perfect(&each.body),
        [_] => true,
        _ => false,
    }
}
