//! Nests that sum products of two cells, and the way in which several sums are computed at once.
//!
//! A nest `for results: t = 0; for sums: t += a * b; c = t` becomes a nest of tiles. A tile has a few turns of one loop of the results, `rows`, times up to three turns of another one,
//! `columns`, so that what is read from memory is used several times. The four lanes of vectors are turns of the columns, if neighbouring turns write neighbouring cells (`w` below),
//! or of a loop of the sums:
//!
//! ```text
//! c[i, j] = sum over k of a[i, k] * w[k, j]      rows i, columns 4 j at a time: w is read as vectors
//! c[i, j] = sum over k of a[i, k] * w[j, k]      rows i, columns j, 4 k at a time: both are
//! ```
//!
//! In the first, neighbouring `k` are far apart in `w`, which caches and their prefetchers like badly. Where many rows read the same columns, these are copied first, in the order in
//! which they are read, to a *panel*: a buffer that the program gets for this purpose.

use crate::buffer::{Cell, Local, LoopVar};
use crate::program::{Loop, Statement};
use crate::wasm::nest::NestWriter;
use crate::{Binary, Dtype, Scalar, Unary};

/// A loop and its number of turns.
pub(crate) type Turns = (LoopVar, i32);

/// A nest that sums products.
pub(crate) struct Product<'a> {
    /// The loops of the results.
    pub results: Vec<Turns>,
    /// The loops of the sum.
    pub sums: Vec<Turns>,
    pub factors: [&'a Cell; 2],
    /// The number that sums are multiplied by.
    pub scale: f64,
    /// The cell of a result, and how a value gets there.
    pub target: &'a Cell,
    pub accumulate: Option<Binary>,
    /// The value that is stored, and the local in it that is the sum; the sum itself without them.
    pub stored: Option<(&'a Scalar, Local)>,
}

/// The loops of a tile.
pub(crate) struct Tiling {
    pub rows: Option<Turns>,
    pub columns: Option<Turns>,
    /// The loop whose turns are in the lanes: that of the columns, or one of the sums.
    pub lanes: LoopVar,
    pub lanes_are_columns: bool,
    /// The factor that is read from a panel.
    pub packs: Option<usize>,
}

/// Panels pay from so many rows, and for sums of so many products: fewer stay in the cache as they are, and more would not fit into it.
const PACKED_ROWS: i32 = 16;
const PACKED_SUMS: std::ops::Range<i64> = 64..4096;

impl<'a> Product<'a> {
    /// The product of a nest, if it is one of 32-bit floats.
    pub fn of(writer: &NestWriter<'_>, body: &'a [Statement]) -> Option<Product<'a>> {
        let (mut loops, inner) = chain(body)?;
        let product = match inner {
            [Statement::Store { cell, accumulate: Some(function @ (Binary::Add | Binary::Sub)), value }] => {
                let (factors, scale) = factors(value)?;
                let sums = loops.iter().filter(|(var, _)| !cell.mentions(*var)).copied().collect();
                loops.retain(|(var, _)| cell.mentions(*var));
                let accumulate = Some(*function);
                Product { results: loops, sums, factors, scale, target: cell, accumulate, stored: None }
            }
            [
                Statement::Declare { local, value: Scalar::Number(start) },
                sum @ Statement::Loop(_),
                Statement::Store { cell, accumulate, value },
            ] if *start == 0.0 => {
                let (sums, inner) = chain(std::slice::from_ref(sum))?;
                let [Statement::Update { local: same, accumulate: Some(function), value: product }] = inner
                else {
                    return None;
                };
                let (factors, scale) = factors(product)?;
                let scale = match function {
                    Binary::Add => scale,
                    Binary::Sub => -scale,
                    _ => return None,
                };
                let stored = Some((value, *local));
                let (target, accumulate) = (cell, *accumulate);
                let product = Product { results: loops, sums, factors, scale, target, accumulate, stored };
                (same == local).then_some(product)?
            }
            _ => return None,
        };
        product.suits(writer, inner).then_some(product)
    }

    /// Returns true if it computes in 32-bit floats and reads nothing that it writes.
    fn suits(&self, writer: &NestWriter<'_>, inner: &[Statement]) -> bool {
        let narrow = |cell: &Cell| writer.program.buffer(cell.buffer).dtype == Dtype::F32;
        let apart = |cell: &Cell| cell.buffer != self.target.buffer;
        let mut reads_well = true;
        let stored = self.stored.iter().map(|(value, _)| *value);
        stored.for_each(|value| {
            value.each_load(&mut |cell| reads_well &= apart(cell) && writer.affine(cell).is_some())
        });
        // The type of the last statement is that of the others, as the local is in it.
        let computes_narrow = inner.iter().all(|each| writer.reals.of_statement(each) != Dtype::F64);
        let local_is_narrow = self.stored.is_none_or(|(_, local)| writer.reals.of_local(local) != Dtype::F64);
        let cells = self.factors.iter().chain([&self.target]);
        let known = cells.into_iter().all(|cell| narrow(cell) && writer.affine(cell).is_some());
        known
            && reads_well
            && computes_narrow
            && local_is_narrow
            && self.factors.iter().all(|cell| apart(cell))
    }

    /// The loops of its tiles; nothing if no loop can be in lanes.
    pub fn tiling(&self, writer: &NestWriter<'_>) -> Option<Tiling> {
        let steps = |var: LoopVar| self.factors.map(|cell| writer.step_along(cell, var));
        let in_lanes = |(var, turns): &&Turns| {
            let [a, b] = steps(*var);
            *turns >= 4 && matches!((a, b), (Some(1), Some(0 | 1)) | (Some(0), Some(1)))
        };
        // Cells of a tile are at fixed distances that are not negative.
        let goes_on = |var: LoopVar| steps(var).iter().all(|step| step.is_some_and(|step| step >= 0));
        let neighbours = |(var, _): &&Turns| writer.step_along(self.target, *var) == Some(1);
        let needs = |at: usize, var: LoopVar| steps(var)[at] != Some(0);
        let free = |(var, turns): &&Turns| *turns > 1 && goes_on(*var);
        if let Some(columns) = self.results.iter().filter(neighbours).find(in_lanes) {
            // What is read as vectors is used in several rows.
            let vectors = usize::from(!needs(0, columns.0));
            let others = || self.results.iter().filter(|each| each.0 != columns.0).filter(free);
            let shares = |(var, _): &&Turns| !needs(vectors, *var);
            let rows =
                others().filter(shares).max_by_key(|each| each.1).or(others().max_by_key(|each| each.1));
            let (rows, columns) = (rows.copied(), Some(*columns));
            let packs = rows.is_some_and(|(var, turns)| {
                let apart = !needs(vectors, var) && !needs(1 - vectors, columns.map_or(var, |each| each.0));
                apart && turns >= PACKED_ROWS && PACKED_SUMS.contains(&self.turns_of_sums())
            });
            let packs = packs.then_some(vectors);
            return Some(Tiling { rows, columns, lanes: columns?.0, lanes_are_columns: true, packs });
        }
        let lanes = self.sums.iter().filter(in_lanes).max_by_key(|each| each.1)?.0;
        let of = |at: usize| {
            let own = |(var, _): &&Turns| needs(at, *var) && !needs(1 - at, *var);
            self.results.iter().filter(free).filter(own).max_by_key(|each| each.1).copied()
        };
        Some(Tiling { rows: of(0), columns: of(1), lanes, lanes_are_columns: false, packs: None })
    }

    /// The number of products in a sum.
    pub fn turns_of_sums(&self) -> i64 {
        self.sums.iter().fold(1i64, |product, (_, turns)| product.saturating_mul(i64::from(*turns)))
    }

    /// The loops of a sum, outermost first: the innermost is that of the lanes, or the longest of those that some factor moves along.
    pub fn sum_loops(&self, tiling: &Tiling) -> Vec<Turns> {
        let mut loops = self.sums.clone();
        loops.sort_by_key(|(var, turns)| (*var == tiling.lanes, self.reads_along(*var), *turns));
        loops
    }

    /// Returns true if a factor mentions a loop.
    fn reads_along(&self, var: LoopVar) -> bool {
        self.factors.iter().any(|cell| cell.mentions(var))
    }
}

/// The loops around a body, outermost first.
fn chain(mut body: &[Statement]) -> Option<(Vec<Turns>, &[Statement])> {
    let mut loops = Vec::new();
    while let [Statement::Loop(Loop { var, extent, body: inner, .. })] = body {
        let turns = i32::try_from(extent.as_number()?).ok()?;
        if turns == 0 {
            return None;
        }
        loops.push((*var, turns));
        body = inner;
    }
    Some((loops, body))
}

/// The two cells of a product, and the number that it is multiplied by.
fn factors(value: &Scalar) -> Option<([&Cell; 2], f64)> {
    let (mut cells, mut scale) = (Vec::new(), 1.0);
    collect(value, &mut cells, &mut scale)?;
    Some((<[&Cell; 2]>::try_from(cells).ok()?, scale))
}

fn collect<'a>(value: &'a Scalar, cells: &mut Vec<&'a Cell>, scale: &mut f64) -> Option<()> {
    match value {
        Scalar::Number(number) => *scale *= number,
        Scalar::Load(cell) => cells.push(cell),
        Scalar::Unary(Unary::Neg, a) => {
            *scale = -*scale;
            collect(a, cells, scale)?;
        }
        Scalar::Binary(Binary::Mul, a, b) => {
            collect(a, cells, scale)?;
            collect(b, cells, scale)?;
        }
        _ => return None,
    }
    Some(())
}
