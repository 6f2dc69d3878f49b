//! Loops and statements.

use rustc_hash::FxHashMap;
use wasm_encoder::{BlockType, Function, InstructionSink, MemArg, MemArgTarget, ValType};

use crate::buffer::{BufferId, Cell, Local, LoopVar};
use crate::program::{Loop, Program, Statement};
use crate::reference::Reals;
use crate::wasm::Import;
use crate::{Binary, Buffer, Dtype, Scalar};

/// The bytes of a cell in the memory of the reference evaluator, whatever its type.
pub(crate) const CELL: i32 = 8;

/// The access to a cell whose address is on the stack.
pub(crate) const AT: MemArg = MemArg { offset: 0, align: 3, target: MemArgTarget::Memory(0), ordering: None };

/// The code of a nest, as far as it is written. What cannot be written makes the functions return None.
pub(crate) struct NestWriter<'a> {
    pub program: &'a Program,
    pub reals: Reals,
    bytes: Vec<u8>,
    /// The types of variables, after the two arguments.
    variables: Vec<ValType>,
    /// The variables of buffers (their addresses), of loops and of locals.
    buffers: FxHashMap<BufferId, u32>,
    loops: FxHashMap<LoopVar, u32>,
    locals: FxHashMap<Local, u32>,
    /// The addresses of cells that are kept up to date in the innermost loop.
    pub pointers: FxHashMap<Cell, u32>,
}

/// The arguments of a function.
const TABLE: u32 = 0;
pub(crate) const SYMBOLS: u32 = 1;

impl<'a> NestWriter<'a> {
    pub fn new(program: &'a Program, reals: Reals) -> NestWriter<'a> {
        NestWriter {
            program,
            reals,
            bytes: Vec::new(),
            variables: Vec::new(),
            buffers: FxHashMap::default(),
            loops: FxHashMap::default(),
            locals: FxHashMap::default(),
            pointers: FxHashMap::default(),
        }
    }

    /// The function of a nest.
    pub fn function(mut self, body: &[Statement]) -> Option<Function> {
        body.iter().try_for_each(|statement| self.statement(statement))?;
        self.emit().i32_const(0).end();
        // Addresses of buffers are read first; which are needed is known only now.
        let mut head = Vec::new();
        let mut buffers: Vec<(BufferId, u32)> = self.buffers.into_iter().collect();
        buffers.sort_unstable();
        for (id, variable) in buffers {
            let place = MemArg { offset: 4 * u64::from(id.0), align: 2, ..AT };
            InstructionSink::new(&mut head).local_get(TABLE).i32_load(place).local_set(variable);
        }
        let mut function = Function::new_with_locals_types(self.variables);
        function.raw(head).raw(self.bytes);
        Some(function)
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

    fn store(&mut self, cell: &Cell, accumulate: Option<Binary>, value: &Scalar, real: Dtype) -> Option<()> {
        let dtype = self.program.buffer(cell.buffer).dtype;
        if !dtype.is_float() {
            return None;
        }
        self.address(cell)?;
        match accumulate {
            None => {
                self.scalar(value, real)?;
                self.convert(real, Dtype::F64);
                self.round_wide(dtype);
            }
            Some(function) => {
                self.address(cell)?;
                self.emit().f64_load(AT);
                self.scalar(value, real)?;
                self.convert(real, Dtype::F64);
                self.binary(function, Dtype::F64)?;
                if function != Binary::Add {
                    self.round_wide(dtype);
                }
            }
        }
        self.emit().f64_store(AT);
        Some(())
    }

    /// A loop. The cells of its own statements are addressed by variables that move on with it.
    fn each(&mut self, each: &Loop) -> Option<()> {
        let extent = i32::try_from(each.extent.as_number()?).ok()?;
        if extent == 0 {
            return Some(());
        }
        let index = self.variable(ValType::I32);
        self.loops.insert(each.var, index);
        self.emit().i32_const(0).local_set(index);
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
            let step = place.step(each.var);
            self.pointers.insert(cell, pointer);
            if step != 0 {
                moving.push((pointer, step.wrapping_mul(CELL)));
            }
        }
        self.emit().loop_(BlockType::Empty);
        each.body.iter().try_for_each(|inner| self.statement(inner))?;
        for (pointer, step) in moving {
            self.emit().local_get(pointer).i32_const(step).i32_add().local_set(pointer);
        }
        self.emit().local_get(index).i32_const(1).i32_add().local_tee(index);
        self.emit().i32_const(extent).i32_lt_s().br_if(0).end();
        self.pointers = outer;
        self.loops.remove(&each.var);
        Some(())
    }

    /// Sets all cells of a buffer.
    fn fill(&mut self, id: BufferId, value: f64) -> Option<()> {
        let buffer = self.program.buffer(id);
        if buffer.dtype == Dtype::I64 {
            return None;
        }
        let value = crate::rounding::round(buffer.dtype, value);
        let bytes = i32::try_from(buffer.cells().as_number()?).ok()?.checked_mul(CELL)?;
        if bytes == 0 {
            return Some(());
        }
        let base = self.buffer(id);
        let (at, end) = (self.variable(ValType::I32), self.variable(ValType::I32));
        self.emit().local_get(base).local_tee(at).i32_const(bytes).i32_add().local_set(end);
        self.emit().loop_(BlockType::Empty);
        self.emit().local_get(at).f64_const(value.into()).f64_store(AT);
        self.emit().local_get(at).i32_const(CELL).i32_add().local_tee(at);
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
            self.emit().local_get(outer).if_(BlockType::Empty);
            self.emit().local_get(at).f64_const(value.into()).f64_store(AT).end();
            self.emit().local_get(at).i32_const(CELL).i32_add().local_set(at);
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

    /// Rounds the 64-bit float on the stack to what a type holds, still as a 64-bit float.
    pub fn round_wide(&mut self, dtype: Dtype) {
        match dtype {
            Dtype::F32 => drop(self.emit().f32_demote_f64().f64_promote_f32()),
            Dtype::F16 | Dtype::Bf16 => {
                let wide = self.variable(ValType::F64);
                let code = i32::from(dtype == Dtype::Bf16);
                self.emit().local_set(wide).i32_const(code).local_get(wide).call(Import::Round as u32);
            }
            Dtype::F64 | Dtype::Bool | Dtype::U8 | Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => {}
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
