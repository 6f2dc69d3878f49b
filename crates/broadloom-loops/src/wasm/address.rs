//! The places of cells.

use wasm_encoder::ValType;

use crate::buffer::{BufferId, Cell, Index, LoopSum, LoopVar};
use crate::wasm::nest::{NestWriter, SYMBOLS, access, access_at};
use crate::{Dtype, Scalar};

/// A place that is a sum of loop variables, in cells. Memory has 32 bits, so sums may wrap around on the way.
pub(crate) struct Affine {
    fixed: i32,
    terms: Vec<(i32, LoopVar)>,
}

impl Affine {
    /// The distance between neighbours along a loop.
    pub fn step(&self, var: LoopVar) -> i32 {
        self.terms.iter().find(|(_, known)| *known == var).map_or(0, |(step, _)| *step)
    }
}

impl NestWriter<'_> {
    /// The place of a cell, if its indices are sums of loop variables.
    pub fn affine(&self, cell: &Cell) -> Option<Affine> {
        let buffer = self.program.buffer(cell.buffer);
        if cell.index.len() != buffer.sizes.len() {
            return None;
        }
        let mut place = Affine { fixed: 0, terms: Vec::new() };
        for (axis, (index, stride)) in cell.index.iter().zip(buffer.strides()).enumerate() {
            let Index::At(sum) = index else { return None };
            let stride = stride.as_number()?;
            let margin = buffer.margin(axis).0 as i64;
            let (offset, terms) = numbers(sum)?;
            place.fixed = place.fixed.wrapping_add(stride.wrapping_mul(margin.wrapping_add(offset)) as i32);
            for (factor, var) in terms {
                let step = stride.wrapping_mul(factor) as i32;
                match place.terms.iter_mut().find(|(_, known)| *known == var) {
                    Some((known, _)) => *known = known.wrapping_add(step),
                    None => place.terms.push((step, var)),
                }
            }
        }
        Some(place)
    }

    /// Puts the address of such a place on the stack.
    pub fn affine_address(&mut self, place: &Affine, buffer: BufferId) -> Option<()> {
        let (base, width) = (self.buffer(buffer), self.width(buffer));
        self.emit().local_get(base).i32_const(place.fixed.wrapping_mul(width)).i32_add();
        for (step, var) in &place.terms {
            let variable = self.loop_variable(*var)?;
            self.emit().local_get(variable).i32_const(step.wrapping_mul(width)).i32_mul().i32_add();
        }
        Some(())
    }

    /// The distance between the cells of neighbouring turns of a loop; none if it is not always the same.
    pub fn step_along(&self, cell: &Cell, var: LoopVar) -> Option<i64> {
        let mut step = 0i64;
        for (index, stride) in cell.index.iter().zip(self.program.buffer(cell.buffer).strides()) {
            match index {
                Index::At(sum) => {
                    for (factor, _) in sum.terms.iter().filter(|(_, known)| *known == var) {
                        step = step.wrapping_add(stride.as_number()?.wrapping_mul(factor.as_number()?));
                    }
                }
                Index::Symbol(_) => {}
                Index::Value(inner) if inner.mentions(var) => return None,
                Index::Value(_) => {}
            }
        }
        Some(step)
    }

    /// Puts the address of a cell on the stack.
    pub fn address(&mut self, cell: &Cell) -> Option<()> {
        if let Some(pointer) = self.pointers.get(cell).copied() {
            self.emit().local_get(pointer);
            return Some(());
        }
        if let Some(place) = self.affine(cell) {
            return self.affine_address(&place, cell.buffer);
        }
        self.checked_address(cell)
    }

    /// The same for a cell whose indices are read from memory, or supplied to the run: each is compared with its axis.
    fn checked_address(&mut self, cell: &Cell) -> Option<()> {
        let buffer = self.program.buffer(cell.buffer);
        if cell.index.len() != buffer.sizes.len() {
            return None;
        }
        let (at, place) = (self.variable(ValType::I64), self.variable(ValType::I64));
        self.emit().i64_const(0).local_set(at);
        for (axis, index) in cell.index.iter().enumerate() {
            let (left, right) = buffer.margin(axis);
            let size = buffer.sizes[axis].as_number()? + (left + right) as i64;
            match index {
                Index::At(sum) => self.position(sum)?,
                Index::Symbol(symbol) => self.symbol(*symbol),
                Index::Value(inner) => self.integer(inner)?,
            }
            self.emit().i64_const(left as i64).i64_add().local_tee(place).i64_const(size).i64_ge_u();
            self.stop_if();
            self.emit().local_get(at).i64_const(size).i64_mul().local_get(place).i64_add().local_set(at);
        }
        let (base, width) = (self.buffer(cell.buffer), self.width(cell.buffer));
        self.emit().local_get(at).i32_wrap_i64().i32_const(width).i32_mul().local_get(base).i32_add();
        Some(())
    }

    /// Puts a sum of loop variables on the stack, as an integer of 64 bits.
    pub fn position(&mut self, sum: &LoopSum) -> Option<()> {
        let (offset, terms) = numbers(sum)?;
        self.emit().i64_const(offset);
        for (factor, var) in terms {
            let variable = self.loop_variable(var)?;
            self.emit().local_get(variable).i64_extend_i32_u().i64_const(factor).i64_mul().i64_add();
        }
        Some(())
    }

    /// Puts a number that was supplied to the run on the stack, as an integer.
    pub fn symbol(&mut self, symbol: u32) {
        self.emit().local_get(SYMBOLS).i64_load(access_at(Dtype::I64, 8 * u64::from(symbol)));
    }

    /// Puts the integer in a cell on the stack.
    pub fn integer(&mut self, cell: &Cell) -> Option<()> {
        self.address(cell)?;
        let dtype = self.program.buffer(cell.buffer).dtype;
        let at = access(dtype);
        match dtype {
            Dtype::I64 => drop(self.emit().i64_load(at)),
            Dtype::I32 => drop(self.emit().i32_load(at).i64_extend_i32_s()),
            Dtype::I16 => drop(self.emit().i32_load16_s(at).i64_extend_i32_s()),
            Dtype::I8 => drop(self.emit().i32_load8_s(at).i64_extend_i32_s()),
            Dtype::U8 | Dtype::Bool => drop(self.emit().i32_load8_u(at).i64_extend_i32_s()),
            Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64 => {
                self.load_from(dtype, Dtype::F64);
                self.emit().i64_trunc_sat_f64_s();
            }
        }
        Some(())
    }
}

/// A sum in numbers.
pub(crate) fn numbers(sum: &LoopSum) -> Option<(i64, Vec<(i64, LoopVar)>)> {
    let terms = sum.terms.iter().map(|(factor, var)| Some((factor.as_number()?, *var)));
    Some((sum.offset.as_number()?, terms.collect::<Option<_>>()?))
}

/// True if the reference evaluator would look at a comparison as one of integers.
pub(crate) fn compares_integers(program: &crate::Program, a: &Scalar, b: &Scalar) -> bool {
    let mut stored = false;
    let mut look = |scalar: &Scalar| {
        if let Scalar::Load(cell) = scalar {
            stored |= !program.buffer(cell.buffer).dtype.is_float();
        }
    };
    a.each(&mut look);
    b.each(&mut look);
    stored
}
