//! Sums of products in tiles. See [`product`](crate::wasm::product).
//!
//! A tile keeps its sums in vectors, and so do what it reads of the columns and one number of a row. Processors have sixteen vectors, of which engines of WebAssembly keep one or two for
//! themselves; a sum that must wait for the one before it takes four steps, and two are begun at a time. So eight or nine sums are as fast as it gets: a tile of three columns has three
//! rows, and narrower ones have more.

use rustc_hash::FxHashMap;
use wasm_encoder::{BlockType, ValType};

use crate::buffer::LoopVar;
use crate::program::Statement;
use crate::wasm::nest::{NestWriter, access_at};
use crate::wasm::product::{Product, Tiling, Turns};
use crate::{Binary, Dtype, Scalar};

/// The most columns of a tile.
const COLUMNS: i32 = 3;

/// The most rows of a tile with one, two and three columns.
const ROWS: [i32; COLUMNS as usize] = [8, 4, 3];

/// Turns of a loop in blocks: from `start` on, `times` blocks of `size` units of `unit` turns.
#[derive(Clone, Copy)]
struct Blocks {
    start: i32,
    times: i32,
    size: i32,
    unit: i32,
}

/// A tile that is being written.
struct Tile<'p> {
    product: &'p Product<'p>,
    tiling: &'p Tiling,
    rows: i32,
    columns: i32,
    /// Four parts of each sum, row by row.
    parts: Vec<u32>,
    /// The last turns of the lanes, fewer than four, are added up here; empty if there are none.
    rest: Vec<u32>,
    /// The factor that is read from the panel, and the variable with the next place in it.
    panel: Option<(usize, u32)>,
}

impl NestWriter<'_> {
    /// A nest that sums products.
    pub fn products(&mut self, body: &[Statement]) -> Option<()> {
        let product = Product::of(self, body)?;
        let tiling = product.tiling(self)?;
        let is_tiled =
            |var: LoopVar| [tiling.rows, tiling.columns].iter().flatten().any(|each| each.0 == var);
        let outer: Vec<Turns> = product.results.iter().filter(|each| !is_tiled(each.0)).copied().collect();
        let (columns, rest) = column_blocks(&product, &tiling);
        self.around(&outer, &mut |writer| {
            for columns in &columns {
                writer.blocks(tiling.columns, *columns, &mut |writer| {
                    writer.pack(&product, &tiling, columns.size)?;
                    row_blocks(tiling.rows, columns.size).into_iter().try_for_each(|rows| {
                        writer.blocks(tiling.rows, rows, &mut |writer| {
                            writer.tile(&product, &tiling, (rows.size, columns.size))
                        })
                    })
                })?;
            }
            Some(())
        })?;
        if let Some((var, start)) = rest {
            self.starts.insert(var, start);
            self.statements(body)?;
            self.starts.remove(&var);
        }
        Some(())
    }

    /// Loops around some code.
    fn around(&mut self, loops: &[Turns], inner: &mut dyn FnMut(&mut Self) -> Option<()>) -> Option<()> {
        let Some(((var, turns), others)) = loops.split_first() else { return inner(self) };
        let blocks = Blocks { start: 0, times: *turns, size: 1, unit: 1 };
        self.blocks(Some((*var, *turns)), blocks, &mut |writer| writer.around(others, inner))
    }

    /// A loop over blocks around some code; its variable is the first turn of a block.
    fn blocks(
        &mut self,
        of: Option<Turns>,
        blocks: Blocks,
        inner: &mut dyn FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        let Some((var, _)) = of else { return inner(self) };
        let Blocks { start, times, size, unit } = blocks;
        let at = self.begin_loop(var);
        self.emit().i32_const(start).local_set(at).loop_(BlockType::Empty);
        inner(self)?;
        self.emit().local_get(at).i32_const(size * unit).i32_add().local_tee(at);
        self.emit().i32_const(start + times * size * unit).i32_lt_s().br_if(0).end();
        self.end_loop(var);
        Some(())
    }

    /// The sums of a tile: so many rows and columns from the turns on that the loops are at.
    fn tile(&mut self, product: &Product<'_>, tiling: &Tiling, (rows, columns): (i32, i32)) -> Option<()> {
        let sums = rows * columns;
        let parts = (0..sums).map(|_| self.parts(Binary::Add)).collect::<Option<_>>()?;
        let lanes_end = product.sums.iter().find(|each| each.0 == tiling.lanes).map_or(0, |each| each.1);
        let rest: Vec<u32> = match lanes_end % 4 {
            0 => Vec::new(),
            _ => (0..sums).map(|_| self.variable(ValType::F32)).collect(),
        };
        for each in &rest {
            self.emit().f32_const(0.0.into()).local_set(*each);
        }
        let panel = tiling.packs.map(|at| (at, self.first_of_panel()));
        let tile = Tile { product, tiling, rows, columns, parts, rest, panel };
        let loops = product.sum_loops(tiling);
        match loops.split_last() {
            None => self.add_up(&tile, &[0, 0], None)?,
            Some((innermost, outer)) => {
                self.around(outer, &mut |writer| writer.innermost(&tile, *innermost))?
            }
        }
        self.store_tile(&tile)
    }

    /// A new variable with the address of the panel.
    fn first_of_panel(&mut self) -> u32 {
        let (base, at) = (self.panel(), self.variable(ValType::I32));
        self.emit().local_get(base).local_set(at);
        at
    }

    /// Copies what the tiles of so many columns read of a factor into the panel, in the order in which they read it.
    fn pack(&mut self, product: &Product<'_>, tiling: &Tiling, columns: i32) -> Option<()> {
        let Some(factor) = tiling.packs else { return Some(()) };
        let cell = product.factors[factor];
        let to = self.first_of_panel();
        self.panel_cells = self.panel_cells.max(product.turns_of_sums() * i64::from(4 * columns));
        self.around(&product.sum_loops(tiling), &mut |writer| {
            let place = writer.affine(cell)?;
            let from = writer.variable(ValType::I32);
            writer.affine_address(&place, cell.buffer)?;
            writer.emit().local_set(from);
            for column in 0..columns {
                let at = access_at(Dtype::F32, 16 * column as u64);
                writer.emit().local_get(to).local_get(from).v128_load(at).v128_store(at);
            }
            writer.emit().local_get(to).i32_const(16 * columns).i32_add().local_set(to);
            Some(())
        })
    }

    /// The innermost loop of the sums.
    fn innermost(&mut self, tile: &Tile<'_>, (var, turns): Turns) -> Option<()> {
        let at = self.begin_loop(var);
        self.emit().i32_const(0).local_set(at);
        let mut pointers = [0; 2];
        let mut steps = [0; 2];
        for (factor, cell) in tile.product.factors.into_iter().enumerate() {
            (pointers[factor], steps[factor]) = match tile.panel.filter(|(packed, _)| *packed == factor) {
                Some((_, next)) => (next, 16 * tile.columns),
                None => {
                    let place = self.affine(cell)?;
                    self.affine_address(&place, cell.buffer)?;
                    let pointer = self.variable(ValType::I32);
                    self.emit().local_set(pointer);
                    (pointer, place.step(var).wrapping_mul(4))
                }
            };
        }
        let at_once = if var == tile.tiling.lanes { 4 } else { 1 };
        for (turns, at_once, single) in [(turns / at_once, at_once, false), (turns % at_once, 1, true)] {
            if turns > 0 {
                self.run_through(
                    tile,
                    (pointers, steps.map(|step| step.wrapping_mul(at_once))),
                    turns,
                    single,
                )?;
            }
        }
        self.end_loop(var);
        Some(())
    }

    /// So many turns of the innermost loop. It has no counter: a pointer that moves tells when it ends.
    fn run_through(
        &mut self,
        tile: &Tile<'_>,
        (pointers, steps): ([u32; 2], [i32; 2]),
        turns: i32,
        single: bool,
    ) -> Option<()> {
        let last = steps.iter().rposition(|step| *step != 0)?;
        let end = self.variable(ValType::I32);
        self.emit().local_get(pointers[last]).i32_const(steps[last].wrapping_mul(turns)).i32_add();
        self.emit().local_set(end).loop_(BlockType::Empty);
        self.add_up(tile, &pointers, Some(single))?;
        for (pointer, step) in pointers.into_iter().zip(steps).filter(|(_, step)| *step != 0) {
            self.emit().local_get(pointer).i32_const(step).i32_add().local_set(pointer);
        }
        self.emit().local_get(pointers[last]).local_get(end).i32_ne().br_if(0).end();
        Some(())
    }

    /// Adds one product to each sum of a tile; in the rest of the lanes, to single numbers. Without a loop of sums there is nothing to add up.
    fn add_up(&mut self, tile: &Tile<'_>, pointers: &[u32; 2], rest: Option<bool>) -> Option<()> {
        let single = rest?;
        let mut read: FxHashMap<(usize, i32, i32), u32> = FxHashMap::default();
        for row in 0..tile.rows {
            for column in 0..tile.columns {
                let sum = (row * tile.columns + column) as usize;
                let sum = if single { tile.rest[sum] } else { tile.parts[sum] };
                let mut values = [0; 2];
                for (at, value) in values.iter_mut().enumerate() {
                    *value = self.factor(tile, (at, pointers[at]), (row, column), single, &mut read)?;
                }
                let ([a, b], fuses) = (values, self.fuses);
                let mut code = self.emit();
                match (single, fuses) {
                    (true, _) => code.local_get(sum).local_get(a).local_get(b).f32_mul().f32_add(),
                    (false, true) => code.local_get(a).local_get(b).local_get(sum).f32x4_relaxed_madd(),
                    (false, false) => code.local_get(sum).local_get(a).local_get(b).f32x4_mul().f32x4_add(),
                };
                code.local_set(sum);
            }
        }
        Some(())
    }

    /// The variable with a factor of a sum, which is read unless a sum before has it, too.
    fn factor(
        &mut self,
        tile: &Tile<'_>,
        (at, pointer): (usize, u32),
        (row, column): (i32, i32),
        single: bool,
        read: &mut FxHashMap<(usize, i32, i32), u32>,
    ) -> Option<u32> {
        let cell = tile.product.factors[at];
        let is_packed = tile.panel.is_some_and(|(packed, _)| packed == at);
        let along = |writer: &Self, of: Option<Turns>| match of {
            // In the panel, the columns of a tile are neighbours.
            _ if is_packed => Some(i64::from(of.is_some_and(|(var, _)| var == tile.tiling.lanes))),
            Some((var, _)) => writer.step_along(cell, var),
            None => Some(0),
        };
        let of_row = i64::from(row) * along(self, tile.tiling.rows)?;
        let unit = if tile.tiling.lanes_are_columns { 4 } else { 1 };
        let of_column = i64::from(column * unit) * along(self, tile.tiling.columns)?;
        let offset = u64::try_from(4 * (of_row + of_column)).ok()?;
        let needs = |of: i64, at: i32| if of == 0 { 0 } else { at };
        let key = (at, needs(of_row, row), needs(of_column, column));
        if let Some(known) = read.get(&key) {
            return Some(*known);
        }
        let place = access_at(Dtype::F32, offset);
        let variable = self.variable(if single { ValType::F32 } else { ValType::V128 });
        self.emit().local_get(pointer);
        match (single, self.step_along(cell, tile.tiling.lanes)?) {
            (true, _) => self.emit().f32_load(place),
            (false, 1) => self.emit().v128_load(place),
            (false, _) => self.emit().v128_load32_splat(place),
        };
        self.emit().local_set(variable);
        read.insert(key, variable);
        Some(variable)
    }

    /// Stores the sums of a tile.
    fn store_tile(&mut self, tile: &Tile<'_>) -> Option<()> {
        let Tiling { rows, columns, lanes_are_columns, lanes, .. } = *tile.tiling;
        let unit = if lanes_are_columns { 4 } else { 1 };
        for row in 0..tile.rows {
            for column in 0..tile.columns {
                let sum = (row * tile.columns + column) as usize;
                // The loops are at the first turns of the tile; meanwhile, at those of the sum.
                self.advance(rows, row)?;
                self.advance(columns, column * unit)?;
                match lanes_are_columns {
                    true => self.store_sums(tile, tile.parts[sum], lanes)?,
                    false => self.store_sum(tile, sum)?,
                }
                self.advance(rows, -row)?;
                self.advance(columns, -column * unit)?;
            }
        }
        Some(())
    }

    fn advance(&mut self, of: Option<Turns>, by: i32) -> Option<()> {
        if let Some((var, _)) = of.filter(|_| by != 0) {
            let at = self.loop_variable(var)?;
            self.emit().local_get(at).i32_const(by).i32_add().local_set(at);
        }
        Some(())
    }

    /// Stores four sums, which are the lanes of a vector.
    fn store_sums(&mut self, tile: &Tile<'_>, parts: u32, lanes: LoopVar) -> Option<()> {
        let product = tile.product;
        if product.scale != 1.0 {
            self.emit().local_get(parts).f32_const((product.scale as f32).into()).f32x4_splat();
            self.emit().f32x4_mul().local_set(parts);
        }
        self.lanes = Some(lanes);
        let (stored, local) = product.stored_value();
        self.lane_locals = [(local, parts)].into_iter().collect();
        self.store_four(product.target, product.accumulate, &stored)?;
        self.lanes = None;
        Some(())
    }

    /// Stores one sum, whose parts are in the lanes of a vector.
    fn store_sum(&mut self, tile: &Tile<'_>, sum: usize) -> Option<()> {
        let product = tile.product;
        self.total(Binary::Add, tile.parts[sum])?;
        if let Some(rest) = tile.rest.get(sum) {
            self.emit().local_get(*rest).f32_add();
        }
        if product.scale != 1.0 {
            self.emit().f32_const((product.scale as f32).into()).f32_mul();
        }
        let (stored, local) = product.stored_value();
        let variable = self.local(local);
        self.emit().f64_promote_f32().local_set(variable);
        self.store(product.target, product.accumulate, &stored, Dtype::F32)
    }
}

impl Product<'_> {
    /// The value that is stored, and the local in it that is the sum.
    fn stored_value(&self) -> (Scalar, crate::Local) {
        match self.stored {
            Some((value, local)) => (value.clone(), local),
            None => (Scalar::Local(crate::Local(u32::MAX)), crate::Local(u32::MAX)),
        }
    }
}

/// The blocks of rows of tiles with so many columns.
fn row_blocks(rows: Option<Turns>, columns: i32) -> Vec<Blocks> {
    let turns = rows.map_or(1, |(_, turns)| turns);
    blocks_of(turns, ROWS[(columns - 1) as usize], 1)
}

/// The blocks of columns, and the first column that is left over where there are fewer than four for the lanes.
fn column_blocks(product: &Product<'_>, tiling: &Tiling) -> (Vec<Blocks>, Option<(LoopVar, i32)>) {
    let Some((var, turns)) = tiling.columns else { return (blocks_of(1, 1, 1), None) };
    if !tiling.lanes_are_columns {
        return (blocks_of(turns, COLUMNS, 1), None);
    }
    let mut blocks = blocks_of(turns / 4, COLUMNS, 4);
    match turns % 4 {
        0 => (blocks, None),
        // The last four columns are computed again, which changes nothing unless they are added to something.
        _ if product.accumulate.is_none() => {
            blocks.push(Blocks { start: turns - 4, times: 1, size: 1, unit: 4 });
            (blocks, None)
        }
        rest => (blocks, Some((var, turns - rest))),
    }
}

/// Blocks of a size. If something is left over, it is divided evenly into two with the last whole block, because small blocks are slow.
fn blocks_of(units: i32, size: i32, unit: i32) -> Vec<Blocks> {
    let whole = match units % size {
        0 => units / size,
        _ => (units / size - 1).max(0),
    };
    let rest = units - whole * size;
    let (first, second) = if rest > size { (rest - rest / 2, rest / 2) } else { (rest, 0) };
    let mut blocks = vec![Blocks { start: 0, times: whole, size, unit }];
    let mut from = whole * size;
    for size in [first, second] {
        blocks.push(Blocks { start: from * unit, times: 1, size, unit });
        from += size;
    }
    blocks.retain(|blocks| blocks.times > 0 && blocks.size > 0);
    blocks
}
