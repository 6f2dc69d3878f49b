//! Families of constraint systems of any size, each similar to those of real programs.

use broadloom_core::{Constraint, DimTerm, Role, RowTerm, RowVar, Solver};

/// A family: its name, its description, and a generator of about `n` constraints.
pub struct Family {
    /// The name used on the command line and in tables.
    pub name: &'static str,
    /// A description.
    pub about: &'static str,
    /// Adds about `n` constraints.
    pub fill: fn(&mut Solver, usize),
}

/// Every family of the benchmark.
pub const FAMILIES: [Family; 5] = [
    Family { name: "chain", about: "each result pointwise from the last one and a fresh leaf", fill: chain },
    Family { name: "scalar", about: "one scalar leaf used by every operation", fill: scalar },
    Family { name: "matmul", about: "a deep stack of layers: weight, bias, batch", fill: matmul },
    Family { name: "cycles", about: "adjacency cycles of dimensions and rows, alternating", fill: cycles },
    Family { name: "flanks", about: "many row variables with open flanks", fill: flanks },
];

fn below(solver: &mut Solver, res: RowVar, opnd: RowVar) {
    solver.add(Constraint::RowLe { res: RowTerm::var(res), opnd: RowTerm::var(opnd) });
}

fn equals(solver: &mut Solver, row: RowVar, axes: &[DimTerm]) {
    solver.add(Constraint::RowEq(RowTerm::var(row), RowTerm::closed(axes)));
}

/// `z = z + w`, with `w` a leaf of unknown shape: two constraints an operation.
fn chain(solver: &mut Solver, n: usize) {
    let axes = [solver.size(32), solver.size(784)];
    let mut last = solver.row_var(Role::Leaf);
    equals(solver, last, &axes);
    for _ in 0..n / 2 {
        let (next, leaf) = (solver.row_var(Role::Interior), solver.row_var(Role::Leaf));
        below(solver, next, last);
        below(solver, next, leaf);
        last = next;
    }
}

/// `z = s * x`, with one leaf `s` for all: two constraints an operation.
fn scalar(solver: &mut Solver, n: usize) {
    let axes = [solver.size(32), solver.size(784)];
    let shared = solver.row_var(Role::Leaf);
    for _ in 0..n / 2 {
        let next = solver.row_var(Role::Interior);
        solver.add(Constraint::RowLe { res: RowTerm::var(next), opnd: RowTerm::closed(&axes) });
        below(solver, next, shared);
    }
    equals(solver, shared, &[]);
}

/// `x = w · x + b`, with `b` of known size and `w` inferred: five constraints a layer.
fn matmul(solver: &mut Solver, n: usize) {
    let (batch_size, hidden) = (solver.size(32), solver.size(256));
    let (mut batch, mut output) = (solver.row_var(Role::Leaf), solver.row_var(Role::Leaf));
    equals(solver, batch, &[batch_size]);
    equals(solver, output, &[hidden]);
    for _ in 0..n / 5 {
        let (w_in, w_out) = (solver.row_var(Role::Param), solver.row_var(Role::Param));
        let bias = solver.row_var(Role::Param);
        let (next_batch, next) = (solver.row_var(Role::Interior), solver.row_var(Role::Interior));
        below(solver, w_in, output);
        below(solver, next, w_out);
        below(solver, next_batch, batch);
        below(solver, next, bias);
        equals(solver, bias, &[hidden]);
        (batch, output) = (next_batch, next);
    }
}

/// Pairs of dimensions and of rows, each below the other, and each pair below the next.
fn cycles(solver: &mut Solver, n: usize) {
    let (mut last_dim, mut last_row) = (solver.dim_var(Role::Interior), solver.row_var(Role::Interior));
    for _ in 0..n / 6 {
        let (a, b) = (solver.dim_var(Role::Interior), solver.dim_var(Role::Interior));
        for (res, opnd) in [(a, b), (b, a), (b, last_dim)] {
            solver.add(Constraint::DimLe { res: res.into(), opnd: opnd.into() });
        }
        let (r, s) = (solver.row_var(Role::Interior), solver.row_var(Role::Interior));
        for (res, opnd) in [(r, s), (s, r), (s, last_row)] {
            below(solver, res, opnd);
        }
        (last_dim, last_row) = (a, r);
    }
    let three = solver.size(3);
    solver.add(Constraint::DimLe { res: three, opnd: last_dim.into() });
}

/// `[a, ..r.., 4]` against `[..s.., b]`, equal and below in turn.
fn flanks(solver: &mut Solver, n: usize) {
    let (three, four) = (solver.size(3), solver.size(4));
    for _ in 0..n / 4 {
        let (r, s, t) =
            (solver.row_var(Role::Leaf), solver.row_var(Role::Interior), solver.row_var(Role::Interior));
        let (a, b) = (solver.dim_var(Role::Interior), solver.dim_var(Role::Interior));
        let wide = [three, b.into()];
        solver.add(Constraint::RowEq(
            RowTerm::open(&[a.into()], r, &[four]),
            RowTerm::open(&[], s, &[b.into()]),
        ));
        solver.add(Constraint::RowLe { res: RowTerm::var(t), opnd: RowTerm::open(&[three], s, &[]) });
        solver.add(Constraint::RowLe { res: RowTerm::open(&[], t, &[four]), opnd: RowTerm::closed(&wide) });
        solver.add(Constraint::DimEq(a.into(), three));
    }
}
