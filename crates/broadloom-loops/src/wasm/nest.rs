//! Loops and statements.

use rustc_hash::FxHashMap;
use wasm_encoder::{BlockType, Function, InstructionSink, MemArg, MemArgTarget, ValType};

use crate::buffer::{BufferId, Cell, Local, LoopVar};
use crate::program::{Loop, Program, Statement};
use crate::reference::Reals;
use crate::wasm::Import;
use crate::{Binary, Buffer, Dtype, Scalar, bf16, f16};

/// The access to a cell of a type whose address is on the stack.
pub(crate) fn access(dtype: Dtype) -> MemArg {
    access_at(dtype, 0)
}

/// The access to a cell so many bytes behind the address on the stack.
pub(crate) fn access_at(dtype: Dtype, offset: u64) -> MemArg {
    let align = dtype.bytes().trailing_zeros();
    MemArg { offset, align, target: MemArgTarget::Memory(0), ordering: None }
}

/// The code of a nest, as far as it is written. What cannot be written makes the functions return None.
pub(crate) struct NestWriter<'a> {
    pub program: &'a Program,
    pub reals: Reals,
    /// True if the host multiplies and adds at once.
    pub fuses: bool,
    /// The cells that the panel must have.
    pub panel_cells: i64,
    bytes: Vec<u8>,
    /// The types of variables, after the two arguments.
    variables: Vec<ValType>,
    /// The variables of buffers (their addresses), of loops and of locals.
    buffers: FxHashMap<BufferId, u32>,
    loops: FxHashMap<LoopVar, u32>,
    locals: FxHashMap<Local, u32>,
    /// The addresses of cells that are kept up to date in the innermost loop.
    pub pointers: FxHashMap<Cell, u32>,
    /// The first turns of loops that do not begin at 0.
    pub starts: FxHashMap<LoopVar, i32>,
    /// The loop of which four turns are computed at once.
    pub lanes: Option<LoopVar>,
    /// The variables with the four values of locals.
    pub lane_locals: FxHashMap<Local, u32>,
    /// The variables with values that are the same in all turns, four times.
    pub lane_values: Vec<(Scalar, u32)>,
    /// The variables with four parts of sums in cells.
    pub lane_totals: Vec<(Cell, u32)>,
}

/// The arguments of a function.
const TABLE: u32 = 0;
pub(crate) const SYMBOLS: u32 = 1;

impl<'a> NestWriter<'a> {
    pub fn new(program: &'a Program, reals: Reals, fuses: bool) -> NestWriter<'a> {
        NestWriter {
            program,
            reals,
            fuses,
            panel_cells: 0,
            bytes: Vec::new(),
            variables: Vec::new(),
            buffers: FxHashMap::default(),
            loops: FxHashMap::default(),
            locals: FxHashMap::default(),
            pointers: FxHashMap::default(),
            starts: FxHashMap::default(),
            lanes: None,
            lane_locals: FxHashMap::default(),
            lane_values: Vec::new(),
            lane_totals: Vec::new(),
        }
    }

    /// The function of a nest, and the cells of the panel that it needs.
    pub fn function(mut self, body: &[Statement]) -> Option<(Function, i64)> {
        if self.attempt(|writer| writer.products(body)).is_none() {
            self.statements(body)?;
        }
        self.emit().i32_const(0).end();
        // Addresses of buffers are read first; which are needed is known only now.
        let mut head = Vec::new();
        let mut buffers: Vec<(BufferId, u32)> = self.buffers.into_iter().collect();
        buffers.sort_unstable();
        for (id, variable) in buffers {
            let place = access_at(Dtype::I32, 4 * u64::from(id.0));
            InstructionSink::new(&mut head).local_get(TABLE).i32_load(place).local_set(variable);
        }
        let mut function = Function::new_with_locals_types(self.variables);
        function.raw(head).raw(self.bytes);
        Some((function, self.panel_cells))
    }

    /// Writes code that may turn out to be impossible: then nothing is written.
    pub fn attempt<T>(&mut self, write: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let length = self.bytes.len();
        let (pointers, loops, lanes) = (self.pointers.clone(), self.loops.clone(), self.lanes);
        let (starts, panel_cells) = (self.starts.clone(), self.panel_cells);
        let written = write(self);
        if written.is_none() {
            self.bytes.truncate(length);
            (self.pointers, self.loops, self.lanes) = (pointers, loops, lanes);
            self.starts = starts;
            self.panel_cells = panel_cells;
            self.lane_values.clear();
        }
        written
    }

    pub fn emit(&mut self) -> InstructionSink<'_> {
        InstructionSink::new(&mut self.bytes)
    }

    /// A new variable.
    pub fn variable(&mut self, of: ValType) -> u32 {
        self.variables.push(of);
        self.variables.len() as u32 + 1
    }

    /// The variable with the address of a buffer.
    pub fn buffer(&mut self, id: BufferId) -> u32 {
        if let Some(known) = self.buffers.get(&id) {
            return *known;
        }
        let variable = self.variable(ValType::I32);
        self.buffers.insert(id, variable);
        variable
    }

    /// The variable with the address of the panel, which is the buffer behind those of the program.
    pub fn panel(&mut self) -> u32 {
        self.buffer(BufferId(self.program.buffers.len() as u32))
    }

    /// The bytes of a cell of a buffer.
    pub fn width(&self, id: BufferId) -> i32 {
        self.program.buffer(id).dtype.bytes() as i32
    }

    /// The variable of a loop that begins.
    pub fn begin_loop(&mut self, var: LoopVar) -> u32 {
        let index = self.variable(ValType::I32);
        self.loops.insert(var, index);
        index
    }

    /// Forgets the variable of a loop.
    pub fn end_loop(&mut self, var: LoopVar) {
        self.loops.remove(&var);
    }

    /// The variable of a loop that is under way.
    pub fn loop_variable(&self, var: LoopVar) -> Option<u32> {
        self.loops.get(&var).copied()
    }

    pub fn local(&mut self, local: Local) -> u32 {
        if let Some(known) = self.locals.get(&local) {
            return *known;
        }
        let variable = self.variable(ValType::F64);
        self.locals.insert(local, variable);
        variable
    }

    /// Ends the function: an index is out of range if there is a number other than 0 on the stack.
    pub fn stop_if(&mut self) {
        self.emit().if_(BlockType::Empty).i32_const(1).return_().end();
    }

    pub fn statements(&mut self, body: &[Statement]) -> Option<()> {
        body.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Option<()> {
        let real = self.reals.of_statement(statement);
        match statement {
            Statement::Loop(each) => self.each(each),
            Statement::Store { cell, accumulate, value } => self.store(cell, *accumulate, value, real),
            Statement::Declare { local, value } => {
                let of_local = self.reals.of_local(*local);
                self.scalar(value, real)?;
                self.convert(real, of_local);
                self.convert(of_local, Dtype::F64);
                let variable = self.local(*local);
                self.emit().local_set(variable);
                Some(())
            }
            Statement::Update { local, accumulate, value } => {
                let variable = self.local(*local);
                if accumulate.is_some() {
                    self.emit().local_get(variable);
                }
                self.scalar(value, real)?;
                self.convert(real, Dtype::F64);
                if let Some(function) = accumulate {
                    self.binary(*function, Dtype::F64)?;
                    // A sum is rounded when it is complete.
                    if *function != Binary::Add {
                        self.round_wide(real);
                    }
                }
                self.emit().local_set(variable);
                Some(())
            }
            Statement::Check { cell, below, .. } => {
                let below = below.as_number()?;
                self.integer(cell)?;
                self.emit().i64_const(below).i64_ge_u();
                self.stop_if();
                Some(())
            }
            // The reference evaluator sorts.
            Statement::Sort { .. } | Statement::Matrix { .. } => None,
            Statement::Fill { buffer, value } => self.fill(*buffer, *value),
            Statement::FillMargins { buffer, value } => self.fill_margins(*buffer, *value),
        }
    }

    pub fn store(
        &mut self,
        cell: &Cell,
        accumulate: Option<Binary>,
        value: &Scalar,
        real: Dtype,
    ) -> Option<()> {
        let dtype = self.program.buffer(cell.buffer).dtype;
        if !dtype.is_float() {
            return None;
        }
        self.address(cell)?;
        // Rounded once: to the type of the buffer.
        let narrow = dtype == Dtype::F32 && real != Dtype::F64;
        let of_result = if narrow { Dtype::F32 } else { Dtype::F64 };
        if accumulate.is_some() {
            self.address(cell)?;
            self.load_from(dtype, of_result);
        }
        self.scalar(value, real)?;
        self.convert(real, of_result);
        if let Some(function) = accumulate {
            self.binary(function, of_result)?;
        }
        self.store_to(dtype, of_result);
        Some(())
    }

    /// Stores the float on the stack, of 32 or 64 bits, in the cell of floats whose address is below it.
    fn store_to(&mut self, dtype: Dtype, real: Dtype) {
        match dtype {
            Dtype::F32 => {
                self.convert(real, Dtype::F32);
                self.emit().f32_store(access(dtype));
            }
            Dtype::F16 | Dtype::Bf16 => {
                self.convert(real, Dtype::F64);
                let wide = self.variable(ValType::F64);
                let code = i32::from(dtype == Dtype::Bf16);
                self.emit().local_set(wide).i32_const(code).local_get(wide).call(Import::Narrow as u32);
                self.emit().i32_store16(access(dtype));
            }
            _ => {
                self.convert(real, Dtype::F64);
                self.emit().f64_store(access(dtype));
            }
        }
    }

    /// Stores a number in the cell whose address is on the stack.
    fn store_number(&mut self, dtype: Dtype, value: f64) {
        let at = access(dtype);
        match dtype {
            Dtype::F32 => drop(self.emit().f32_const((value as f32).into()).f32_store(at)),
            Dtype::F64 => drop(self.emit().f64_const(value.into()).f64_store(at)),
            Dtype::F16 => drop(self.emit().i32_const(f16::from_f64(value).to_bits().into()).i32_store16(at)),
            Dtype::Bf16 => {
                self.emit().i32_const(bf16::from_f64(value).to_bits().into()).i32_store16(at);
            }
            Dtype::Bool => drop(self.emit().i32_const((value != 0.0).into()).i32_store8(at)),
            Dtype::U8 => drop(self.emit().i32_const((value as u8).into()).i32_store8(at)),
            Dtype::I8 => drop(self.emit().i32_const((value as i8).into()).i32_store8(at)),
            Dtype::I16 => drop(self.emit().i32_const((value as i16).into()).i32_store16(at)),
            Dtype::I32 => drop(self.emit().i32_const(value as i32).i32_store(at)),
            Dtype::I64 => drop(self.emit().i64_const(value as i64).i64_store(at)),
        }
    }

    /// A loop: four turns at a time if that is possible, and the rest one by one.
    fn each(&mut self, each: &Loop) -> Option<()> {
        let extent = i32::try_from(each.extent.as_number()?).ok()?;
        let start = self.starts.get(&each.var).copied().unwrap_or(0);
        let in_fours = start + (extent - start) / 4 * 4;
        let start = match in_fours > start
            && self.attempt(|writer| writer.fours(each, (start, in_fours))).is_some()
        {
            true => in_fours,
            false => start,
        };
        if start == extent {
            return Some(());
        }
        self.turns(each, (start, extent), 1, &mut |writer, inner| writer.statement(inner))
    }

    /// The turns of a loop from one on to before another, so many at a time. The cells of its own statements are addressed by variables that move on with it.
    pub fn turns(
        &mut self,
        each: &Loop,
        (start, end): (i32, i32),
        at_once: i32,
        write: &mut dyn FnMut(&mut Self, &Statement) -> Option<()>,
    ) -> Option<()> {
        let index = self.begin_loop(each.var);
        self.emit().i32_const(start).local_set(index);
        let mut cells = Vec::new();
        each.body.iter().for_each(|inner| own_cells(inner, &mut cells));
        let outer = std::mem::take(&mut self.pointers);
        let mut moving = Vec::new();
        for cell in cells {
            if self.pointers.contains_key(&cell) {
                continue;
            }
            let Some(place) = self.affine(&cell) else { continue };
            self.affine_address(&place, cell.buffer)?;
            let pointer = self.variable(ValType::I32);
            self.emit().local_set(pointer);
            let step = place.step(each.var).wrapping_mul(self.width(cell.buffer)).wrapping_mul(at_once);
            self.pointers.insert(cell, pointer);
            if step != 0 {
                moving.push((pointer, step));
            }
        }
        self.emit().loop_(BlockType::Empty);
        each.body.iter().try_for_each(|inner| write(self, inner))?;
        for (pointer, step) in moving {
            self.emit().local_get(pointer).i32_const(step).i32_add().local_set(pointer);
        }
        self.emit().local_get(index).i32_const(at_once).i32_add().local_tee(index);
        self.emit().i32_const(end).i32_lt_s().br_if(0).end();
        self.pointers = outer;
        self.end_loop(each.var);
        Some(())
    }

    /// Sets all cells of a buffer.
    fn fill(&mut self, id: BufferId, value: f64) -> Option<()> {
        let buffer = self.program.buffer(id);
        if buffer.dtype == Dtype::I64 {
            return None;
        }
        let (base, width) = (self.buffer(id), self.width(id));
        let bytes = i32::try_from(buffer.cells().as_number()?).ok()?.checked_mul(width)?;
        if bytes == 0 {
            return Some(());
        }
        if value.to_bits() == 0 {
            self.emit().local_get(base).i32_const(0).i32_const(bytes).memory_fill(0);
            return Some(());
        }
        let (at, end) = (self.variable(ValType::I32), self.variable(ValType::I32));
        self.emit().local_get(base).local_tee(at).i32_const(bytes).i32_add().local_set(end);
        self.emit().loop_(BlockType::Empty).local_get(at);
        self.store_number(buffer.dtype, value);
        self.emit().local_get(at).i32_const(width).i32_add().local_tee(at);
        self.emit().local_get(end).i32_lt_u().br_if(0).end();
        Some(())
    }

    /// Sets the margins of a buffer: goes through all its cells, and knows of each axis whether it is in a margin.
    fn fill_margins(&mut self, id: BufferId, value: f64) -> Option<()> {
        let buffer = self.program.buffer(id);
        if buffer.dtype == Dtype::I64 || buffer.cells().as_number()? == 0 {
            return None;
        }
        let base = self.buffer(id);
        let (at, outer) = (self.variable(ValType::I32), self.variable(ValType::I32));
        self.emit().local_get(base).local_set(at).i32_const(0).local_set(outer);
        self.margins_from(buffer, 0, (at, outer), value)
    }

    /// The loops from an axis on. `at` is the address of the next cell; `outer` is not 0 if an axis before is in a margin.
    fn margins_from(
        &mut self,
        buffer: &Buffer,
        axis: usize,
        (at, outer): (u32, u32),
        value: f64,
    ) -> Option<()> {
        let Some(size) = buffer.sizes.get(axis) else {
            self.emit().local_get(outer).if_(BlockType::Empty).local_get(at);
            self.store_number(buffer.dtype, value);
            let width = buffer.dtype.bytes() as i32;
            self.emit().end().local_get(at).i32_const(width).i32_add().local_set(at);
            return Some(());
        };
        let (left, right) = buffer.margin(axis);
        let size = i32::try_from(size.as_number()?).ok()?;
        let (left, right) = (i32::try_from(left).ok()?, i32::try_from(right).ok()?);
        let (index, margin) = (self.variable(ValType::I32), self.variable(ValType::I32));
        self.emit().i32_const(0).local_set(index).loop_(BlockType::Empty);
        // Before the first cell or behind the last: one comparison without signs.
        self.emit().local_get(index).i32_const(left).i32_sub().i32_const(size).i32_ge_u();
        self.emit().local_get(outer).i32_or().local_set(margin);
        self.margins_from(buffer, axis + 1, (at, margin), value)?;
        self.emit().local_get(index).i32_const(1).i32_add().local_tee(index);
        self.emit().i32_const(left + size + right).i32_lt_s().br_if(0).end();
        Some(())
    }

    /// Rounds the 64-bit float on the stack to 32 bits, unless the type has 64.
    fn round_wide(&mut self, real: Dtype) {
        if real != Dtype::F64 {
            self.emit().f32_demote_f64().f64_promote_f32();
        }
    }
}

/// The cells that a statement itself reads and writes, those in indices and those of inner loops not included.
fn own_cells(statement: &Statement, cells: &mut Vec<Cell>) {
    let mut loads = |value: &Scalar| {
        value.each(&mut |scalar| {
            if let Scalar::Load(cell) = scalar {
                cells.push(cell.clone());
            }
        })
    };
    match statement {
        Statement::Store { cell, value, .. } => {
            loads(value);
            cells.push(cell.clone());
        }
        Statement::Declare { value, .. } | Statement::Update { value, .. } => loads(value),
        Statement::Check { cell, .. } => cells.push(cell.clone()),
        Statement::Matrix { work, .. } => cells.push(work.clone()),
        Statement::Sort { keys, places, .. } => cells.extend([keys.clone(), places.clone()]),
        Statement::Loop(_) | Statement::Fill { .. } | Statement::FillMargins { .. } => {}
    }
}
