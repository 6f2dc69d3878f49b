//! Kinds of nests other than the plain ones: what a lowering makes now and then, and worse.

use broadloom_loops::{Binary, BufferId, Cell, Dtype, Index, LoopSum, Scalar, Statement, Storage, Unary};

use super::{Fact, Loops, Make};

impl Make {
    /// A fill, then an accumulation that goes anywhere, margins included.
    pub(super) fn scatter(&mut self) {
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
    pub(super) fn overlap(&mut self) {
        let (a, b) = (self.random.pick(&self.sizes.clone()), self.random.pick(&self.sizes.clone()));
        let id = self.add(vec![a + b - 1], Storage::Local, true);
        self.fill_first(id, Binary::Add);
        let loops = self.loops(&[a, b]);
        let sum = LoopSum::new(0, [(1, loops[0].0), (1, loops[1].0)]);
        let cell = Cell { buffer: id, index: vec![Index::At(sum)] };
        let (value, bound) = self.summand(&loops, Binary::Add);
        self.push(Statement::Store { cell, accumulate: Some(Binary::Add), value }, &loops);
        self.facts[id.index()] = Fact { written: true, bound, index: None };
    }

    /// A product of two matrices, each of them just computed.
    pub(super) fn product(&mut self) -> BufferId {
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
            let index = [x, y].map(|place| Index::At(LoopSum::iterate(loops[place].0))).to_vec();
            Scalar::Load(Cell { buffer, index })
        };
        let value = Scalar::binary(Binary::Mul, at(a, 0, 2), at(b, 2, 1));
        let bound = self.facts[a.index()].bound * self.facts[b.index()].bound * k as f64 + 2.0;
        self.push(Statement::Store { cell, accumulate: Some(Binary::Add), value }, &loops);
        self.facts[id.index()] = Fact { written: true, bound, index: None };
        id
    }

    /// A product that is added to a buffer later, as a gradient is to a parameter, perhaps transposed.
    pub(super) fn descent(&mut self) {
        let id = self.product();
        // Other nests in between may read the product, or write what it was made of.
        for _ in 0..self.random.below(3) {
            match self.random.below(4) {
                0 => self.pointwise(),
                1 => self.copy(),
                _ => self.update(),
            }
        }
        let sizes = self.program.buffer(id).shape();
        let loops = self.loops(&sizes);
        let (mut extents, mut order) = (sizes, loops.clone());
        if self.random.chance(3) {
            extents.reverse();
            order.reverse();
        }
        let target = self.add(extents, Storage::Kept, true);
        self.give(target);
        let cell = self.simple(target, &order);
        let sum = Scalar::Load(self.simple(id, &loops));
        let fixed = |buffer| Cell {
            buffer,
            index: order.iter().map(|_| Index::At(LoopSum::new::<i64>(0, []))).collect(),
        };
        let value = match self.random.below(5) {
            0 => sum,
            1 => Scalar::binary(Binary::Mul, sum, Scalar::Number(0.5)),
            2 => Scalar::binary(Binary::Mul, Scalar::unary(Unary::Neg, sum), Scalar::Number(0.25)),
            // The factor is a cell that the nest itself changes, or a cell of the product.
            3 => Scalar::binary(Binary::Mul, Scalar::Load(fixed(target)), sum),
            _ => Scalar::binary(Binary::Mul, Scalar::Load(fixed(id)), sum),
        };
        let accumulate = Some(self.random.pick(&[Binary::Add, Binary::Sub]));
        self.push(Statement::Store { cell, accumulate, value }, &loops);
        let product = self.facts[id.index()].bound;
        self.facts[target.index()].bound = 4.0 + 4.0 * (200.0 + product) * product;
    }

    /// A buffer that holds something is written again, wholly or in part.
    pub(super) fn update(&mut self) {
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
        // Sometimes with a number that was computed from the buffer as it was.
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
        // Often with what the cell holds.
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
    pub(super) fn gather(&mut self) {
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
        let at = Cell { buffer: index, index: vec![Index::At(LoopSum::iterate(loops[0].0))] };
        let below = self.program.buffer(table).sizes[0].get();
        self.push(Statement::Check { cell: at.clone(), below: below.into(), of: table }, &loops);
        let mut extents = vec![count];
        extents.extend(&self.program.buffer(table).shape()[1..]);
        let loops = self.loops(&extents);
        let value_at = Index::Value(Box::new(Cell {
            buffer: index,
            index: vec![Index::At(LoopSum::iterate(loops[0].0))],
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

    pub(super) fn fill(&mut self) {
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

    /// The margins of a buffer are read, filled and written into, in some order.
    pub(super) fn margins(&mut self) {
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

    /// An earlier nest once more, into another buffer.
    pub(super) fn again(&mut self) {
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

    /// Softmax over the last axis of something.
    pub(super) fn rows(&mut self) {
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
    pub(super) fn copy(&mut self) {
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

    /// Integers: what is stored loses its fraction.
    pub(super) fn integers(&mut self) {
        if self.mixed {
            return;
        }
        let mut sizes = self.shape(2);
        let id = self.add(sizes.clone(), Storage::Local, true);
        self.program.buffers[id.index()].dtype = {
            let integers = [Dtype::I32, Dtype::I64, Dtype::Bool, Dtype::U8, Dtype::I8, Dtype::I16];
            self.random.pick(&integers)
        };
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

/// Returns true if a body is loops around one statement.
fn is_perfect(body: &[Statement]) -> bool {
    match body {
        [Statement::Loop(each)] => is_perfect(&each.body),
        [_] => true,
        _ => false,
    }
}
