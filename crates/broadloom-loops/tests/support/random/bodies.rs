//! Nests with several statements, loops side by side and locals, like those of the optimiser and
//! stranger ones.

use broadloom_loops::{Binary, BufferId, Cell, Index, LoopSum, Nest, Scalar, Statement, Storage, Unary};

use super::{Fact, Loops, Make};

impl Make {
    /// A nest with a body of several statements.
    pub(super) fn body(&mut self) {
        let outer = self.shape(2);
        let loops = self.loops(&outer);
        // Buffers that the nest fills cell by cell: each iteration of the outer loops has its own
        // part, of one cell or of two.
        let mut fresh = Vec::new();
        let mut body = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let two = self.random.chance(3);
            let mut sizes = outer.clone();
            sizes.extend(two.then_some(2));
            let id = self.add(sizes, Storage::Local, false);
            for last in 0..1 + u64::from(two) {
                let mut cell = self.own_cell(id, &loops);
                if two {
                    cell.index.push(Index::At(LoopSum::fixed(last as i64)));
                }
                let value = self.small(&loops);
                let store = Statement::Store { cell: cell.clone(), accumulate: None, value };
                body.push(self.perhaps_in_a_loop(store));
                self.hot.push(Scalar::Load(cell));
            }
            fresh.push(id);
        }
        let mut all = self.statements(&loops, 2);
        body.append(&mut all);
        self.hot.clear();
        self.own_locals.clear();
        for id in fresh {
            self.facts[id.index()] = Fact { written: true, bound: 500.0, index: None };
        }
        for (var, extent) in loops.into_iter().rev() {
            body = vec![Statement::Loop(broadloom_loops::Loop {
                var,
                extent: extent.into(),
                parallel: false,
                body,
            })];
        }
        self.program.nests.push(Nest { comment: String::new(), body });
    }

    /// The cell whose indices are the loops around it.
    fn own_cell(&self, buffer: BufferId, loops: &Loops) -> Cell {
        Cell { buffer, index: loops.iter().map(|(var, _)| Index::At(LoopSum::iterate(*var))).collect() }
    }

    fn perhaps_in_a_loop(&mut self, statement: Statement) -> Statement {
        if !self.random.chance(4) {
            return statement;
        }
        let (var, sizes) = (self.program.add_var("r"), self.sizes.clone());
        let extent = self.random.pick(&sizes);
        statement.within([(var, extent)].into_iter())
    }

    /// A scalar that stays small however often it is used in computations.
    fn small(&mut self, loops: &Loops) -> Scalar {
        let (value, _) = if !self.hot.is_empty() && self.random.chance(2) {
            let hot = self.hot.clone();
            let (a, b) = (self.random.pick(&hot), self.value(loops, 1).0);
            (Scalar::binary(self.random.pick(&[Binary::Add, Binary::Mul, Binary::Sub]), a, b), 0.0)
        } else {
            self.value(loops, 2)
        };
        match self.random.below(3) {
            0 => Scalar::unary(Unary::Tanh, value),
            1 => {
                let above = Scalar::binary(Binary::Max, value, Scalar::Number(-4.0));
                Scalar::binary(Binary::Min, above, Scalar::Number(4.0))
            }
            _ => {
                let size = Scalar::binary(
                    Binary::Add,
                    Scalar::unary(Unary::Abs, value.clone()),
                    Scalar::Number(1.0),
                );
                Scalar::binary(Binary::Div, value, size)
            }
        }
    }

    fn statements(&mut self, loops: &Loops, depth: usize) -> Vec<Statement> {
        let (hot, locals) = (self.hot.len(), self.own_locals.len());
        let mut body = Vec::new();
        for _ in 0..2 + self.random.below(4) {
            let statement = self.statement(loops, depth);
            body.push(statement);
        }
        self.hot.truncate(hot);
        self.own_locals.truncate(locals);
        body
    }

    fn statement(&mut self, loops: &Loops, depth: usize) -> Statement {
        let accumulate = self.random.pick(&[None, Some(Binary::Add), Some(Binary::Max)]);
        match self.random.below(8) {
            0 | 1 => {
                let value = match self.own_locals.last() {
                    Some(other) if self.random.chance(3) => Scalar::Local(*other),
                    _ => self.small(loops),
                };
                let local = self.program.add_local();
                self.hot.extend([value.clone(), Scalar::Local(local)]);
                self.own_locals.push(local);
                Statement::Declare { local, value }
            }
            2 | 3 if !self.own_locals.is_empty() => {
                let locals = self.own_locals.clone();
                Statement::Update { local: self.random.pick(&locals), accumulate, value: self.small(loops) }
            }
            4 if depth > 0 => {
                let (var, sizes) = (self.program.add_var("k"), self.sizes.clone());
                let extent = self.random.pick(&sizes);
                let mut inner = loops.clone();
                inner.push((var, extent));
                let body = self.statements(&inner, depth - 1);
                Statement::Loop(broadloom_loops::Loop { var, extent: extent.into(), parallel: false, body })
            }
            _ => {
                // Often to a cell that the nest already uses.
                let cells: Vec<Cell> = self
                    .hot
                    .iter()
                    .filter_map(|hot| if let Scalar::Load(cell) = hot { Some(cell.clone()) } else { None })
                    .collect();
                let cell = if !cells.is_empty() && !self.random.chance(4) {
                    self.random.pick(&cells)
                } else {
                    let id = self.readable();
                    self.cell(id, loops, false)
                };
                let value = self.small(loops);
                if self.program.buffer(cell.buffer).dtype.is_float()
                    && self.facts[cell.buffer.index()].index.is_none()
                {
                    self.hot.extend([Scalar::Load(cell.clone()), value.clone()]);
                    let bound = &mut self.facts[cell.buffer.index()].bound;
                    *bound = bound.max(4.0) + 500.0;
                    return Statement::Store { cell, accumulate, value };
                }
                let local = self.program.add_local();
                Statement::Declare { local, value }
            }
        }
    }

    /// Neighbours on an axis: two nests that differ only in an offset.
    pub(super) fn neighbours(&mut self) {
        let from = self.readable();
        let sizes = self.program.buffer(from).shape();
        let Some(axis) = sizes.iter().position(|size| *size > 1) else { return };
        let mut shorter = sizes;
        shorter[axis] -= 1;
        let mut made = Vec::new();
        for offset in [0, 1, 0] {
            let id = self.add(shorter.clone(), Storage::Local, false);
            self.program.buffers[id.index()].dtype = self.program.buffer(from).dtype;
            let loops = self.loops(&shorter);
            let (cell, mut source) = (self.simple(id, &loops), self.simple(from, &loops));
            source.index[axis] = Index::At(LoopSum::new(offset, [(1, loops[axis].0)]));
            let value = Scalar::unary(Unary::Tanh, Scalar::Load(source));
            self.push(Statement::Store { cell, accumulate: None, value }, &loops);
            made.push(id);
        }
        for id in made {
            self.facts[id.index()] = Fact { written: true, bound: 1.0, index: None };
        }
    }
}
