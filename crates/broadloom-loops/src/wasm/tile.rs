//! Sums of products in tiles. See [`product`](crate::wasm::product).

use rustc_hash::FxHashMap;
use wasm_encoder::{BlockType, ValType};

use crate::buffer::LoopVar;
use crate::program::Statement;
use crate::wasm::nest::{NestWriter, access_at};
use crate::wasm::product::{Product, Tiling, Turns};
use crate::{Binary, Dtype, Scalar};

/// The rows and the columns of a tile.
const ROWS: i32 = 4;
const COLUMNS: i32 = 2;

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
                    row_blocks(tiling.rows).into_iter().try_for_each(|rows| {
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
        let tile = Tile { product, tiling, rows, columns, parts, rest };
        // The innermost loop is that of the lanes, or the longest.
        let mut loops = product.sums.clone();
        loops.sort_by_key(|(var, turns)| (*var == tiling.lanes, *turns));
        match loops.split_last() {
            None => self.add_up(&tile, &[0, 0], None)?,
            Some((innermost, outer)) => {
                self.around(outer, &mut |writer| writer.innermost(&tile, *innermost))?
            }
        }
        self.store_tile(&tile)
    }

    /// The innermost loop of the sums.
    fn innermost(&mut self, tile: &Tile<'_>, (var, turns): Turns) -> Option<()> {
        let at = self.begin_loop(var);
        self.emit().i32_const(0).local_set(at);
        let mut pointers = [0; 2];
        for (pointer, cell) in pointers.iter_mut().zip(tile.product.factors) {
            let place = self.affine(cell)?;
            self.affine_address(&place, cell.buffer)?;
            *pointer = self.variable(ValType::I32);
            self.emit().local_set(*pointer);
        }
        let at_once = if var == tile.tiling.lanes { 4 } else { 1 };
        let in_lanes = turns / at_once * at_once;
        for (end, at_once, rest) in [(in_lanes, at_once, false), (turns, 1, true)] {
            if rest && in_lanes == turns {
                continue;
            }
            self.emit().loop_(BlockType::Empty);
            self.add_up(tile, &pointers, Some(rest))?;
            for (pointer, cell) in pointers.iter().zip(tile.product.factors) {
                let step = self.step_along(cell, var)? as i32 * 4 * at_once;
                if step != 0 {
                    self.emit().local_get(*pointer).i32_const(step).i32_add().local_set(*pointer);
                }
            }
            self.emit().local_get(at).i32_const(at_once).i32_add().local_tee(at);
            self.emit().i32_const(end).i32_lt_s().br_if(0).end();
        }
        self.end_loop(var);
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
                self.emit().local_get(sum).local_get(values[0]).local_get(values[1]);
                match single {
                    true => self.emit().f32_mul().f32_add(),
                    false => self.emit().f32x4_mul().f32x4_add(),
                };
                self.emit().local_set(sum);
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
        let along =
            |writer: &Self, of: Option<Turns>| of.map_or(Some(0), |(var, _)| writer.step_along(cell, var));
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
        let Tiling { rows, columns, lanes_are_columns, lanes } = *tile.tiling;
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

/// The blocks of rows.
fn row_blocks(rows: Option<Turns>) -> Vec<Blocks> {
    let turns = rows.map_or(1, |(_, turns)| turns);
    blocks_of(turns, ROWS, 1)
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

/// Blocks of a size, and a smaller one if something is left over.
fn blocks_of(units: i32, size: i32, unit: i32) -> Vec<Blocks> {
    let whole = Blocks { start: 0, times: units / size, size, unit };
    let rest = Blocks { start: units / size * size * unit, times: 1, size: units % size, unit };
    [whole, rest].into_iter().filter(|blocks| blocks.times > 0 && blocks.size > 0).collect()
}
