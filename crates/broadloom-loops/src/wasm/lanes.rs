//! Loops of which four turns are computed at once, in the four lanes of a vector. The last turns, fewer than four, follow one by one.

use wasm_encoder::ValType;

use crate::buffer::{Cell, Local, LoopSum, LoopVar};
use crate::program::{Loop, Statement};
use crate::wasm::Import;
use crate::wasm::address::numbers;
use crate::wasm::nest::{NestWriter, access};
use crate::wasm::suits::starts;
use crate::{Binary, Dtype, Scalar, Unary};

impl NestWriter<'_> {
    /// The turns of a loop in fours, from one on to before another.
    pub fn fours(&mut self, each: &Loop, (start, end): (i32, i32)) -> Option<()> {
        if self.lanes.is_some() {
            return None;
        }
        let totals = self.totals_of_fours(each)?;
        let mut of_locals: Vec<(Local, Binary, u32)> = Vec::new();
        let mut of_cells: Vec<(Cell, Binary, u32)> = Vec::new();
        for (local, function) in totals.locals {
            if !of_locals.iter().any(|(known, ..)| *known == local) {
                of_locals.push((local, function, self.parts(function)?));
            }
        }
        for (cell, function) in totals.cells {
            of_cells.push((cell, function, self.parts(function)?));
        }
        self.lane_values.clear();
        for value in self.same_in_all_turns(each) {
            self.scalar(value, Dtype::F32)?;
            let variable = self.variable(ValType::V128);
            self.emit().f32x4_splat().local_set(variable);
            self.lane_values.push((value.clone(), variable));
        }
        self.lanes = Some(each.var);
        self.lane_locals = of_locals.iter().map(|(local, _, parts)| (*local, *parts)).collect();
        self.lane_totals = of_cells.iter().map(|(cell, _, parts)| (cell.clone(), *parts)).collect();
        self.turns(each, (start, end), 4, &mut |writer, inner| writer.lane_statement(inner))?;
        self.lanes = None;
        self.lane_values.clear();
        for (local, function, parts) in of_locals {
            let variable = self.local(local);
            self.emit().local_get(variable);
            self.total(function, parts)?;
            self.convert(Dtype::F32, Dtype::F64);
            self.binary(function, Dtype::F64)?;
            self.emit().local_set(variable);
        }
        for (cell, function, parts) in of_cells {
            let dtype = self.program.buffer(cell.buffer).dtype;
            self.address(&cell)?;
            self.address(&cell)?;
            self.load_from(dtype, Dtype::F32);
            self.total(function, parts)?;
            self.binary(function, Dtype::F32)?;
            self.emit().f32_store(access(dtype));
        }
        Some(())
    }

    /// A new variable for the four parts of a total.
    pub fn parts(&mut self, function: Binary) -> Option<u32> {
        let parts = self.variable(ValType::V128);
        self.emit().f32_const(starts(function)?.into()).f32x4_splat().local_set(parts);
        Some(parts)
    }

    /// Puts the total of four parts on the stack.
    pub fn total(&mut self, function: Binary, parts: u32) -> Option<()> {
        self.emit().local_get(parts).f32x4_extract_lane(0).local_get(parts).f32x4_extract_lane(1);
        self.binary(function, Dtype::F32)?;
        self.emit().local_get(parts).f32x4_extract_lane(2).local_get(parts).f32x4_extract_lane(3);
        self.binary(function, Dtype::F32)?;
        self.binary(function, Dtype::F32)
    }

    fn lane_statement(&mut self, statement: &Statement) -> Option<()> {
        match statement {
            Statement::Loop(each) => {
                let extent = i32::try_from(each.extent.as_number()?).ok()?;
                if extent == 0 {
                    return Some(());
                }
                self.turns(each, (0, extent), 1, &mut |writer, inner| writer.lane_statement(inner))
            }
            Statement::Declare { local, value } => {
                let variable = self.lane_local(*local);
                self.four(value)?;
                self.emit().local_set(variable);
                Some(())
            }
            Statement::Update { local, accumulate, value } => {
                let variable = self.lane_local(*local);
                if accumulate.is_some() {
                    self.emit().local_get(variable);
                }
                self.four(value)?;
                if let Some(function) = accumulate {
                    self.four_of_two(*function)?;
                }
                self.emit().local_set(variable);
                Some(())
            }
            Statement::Store { cell, accumulate, value } => {
                let total = self.lane_totals.iter().find(|(known, _)| known == cell).map(|(_, parts)| *parts);
                if let Some(parts) = total {
                    self.emit().local_get(parts);
                    self.four(value)?;
                    self.four_of_two((*accumulate)?)?;
                    self.emit().local_set(parts);
                    return Some(());
                }
                self.store_four(cell, *accumulate, value)
            }
            _ => None,
        }
    }

    /// Sets or accumulates four neighbouring cells.
    pub fn store_four(&mut self, cell: &Cell, accumulate: Option<Binary>, value: &Scalar) -> Option<()> {
        self.address(cell)?;
        if accumulate.is_some() {
            self.address(cell)?;
            self.emit().v128_load(access(Dtype::F32));
        }
        self.four(value)?;
        if let Some(function) = accumulate {
            self.four_of_two(function)?;
        }
        self.emit().v128_store(access(Dtype::F32));
        Some(())
    }

    fn lane_local(&mut self, local: Local) -> u32 {
        if let Some(known) = self.lane_locals.get(&local) {
            return *known;
        }
        let variable = self.variable(ValType::V128);
        self.lane_locals.insert(local, variable);
        variable
    }

    /// Puts the values of a scalar in four turns on the stack.
    pub fn four(&mut self, scalar: &Scalar) -> Option<()> {
        let var = self.lanes?;
        if let Some((_, same)) = self.lane_values.iter().find(|(known, _)| known == scalar) {
            let same = *same;
            self.emit().local_get(same);
            return Some(());
        }
        match scalar {
            Scalar::Load(cell) => {
                let step = self.step_along(cell, var)?;
                self.address(cell)?;
                match step {
                    0 => self.emit().v128_load32_splat(access(Dtype::F32)),
                    1 => self.emit().v128_load(access(Dtype::F32)),
                    _ => return None,
                };
            }
            Scalar::Local(local) if self.lane_locals.contains_key(local) => {
                let variable = self.lane_local(*local);
                self.emit().local_get(variable);
            }
            Scalar::Number(_) | Scalar::Local(_) | Scalar::Symbol(_) => {
                self.scalar(scalar, Dtype::F32)?;
                self.emit().f32x4_splat();
            }
            Scalar::Position(sum) => self.four_positions(sum, var)?,
            Scalar::Uniform { key, stream, at } => {
                let step =
                    numbers(at)?.1.iter().find(|(_, known)| *known == var).map_or(0, |(step, _)| *step);
                self.each_lane(&mut |writer, lane| {
                    writer.symbol(*key);
                    writer.emit().i64_const(*stream as i64).i64_xor();
                    writer.position(at)?;
                    writer.emit().i64_const(step.wrapping_mul(lane)).i64_add().call(Import::Uniform as u32);
                    Some(())
                })?;
            }
            Scalar::Unary(Unary::Not, _) => self.four_truths(scalar)?,
            Scalar::Unary(function, a) => {
                self.four(a)?;
                self.four_of_one(*function)?;
            }
            Scalar::Binary(function, a, b) => {
                if is_truth(*function) {
                    return self.four_truths(scalar);
                }
                self.four(a)?;
                self.four(b)?;
                self.four_of_two(*function)?;
            }
            Scalar::Select(condition, a, b) => {
                self.four(a)?;
                self.four(b)?;
                self.mask(condition)?;
                self.emit().v128_bitselect();
            }
        }
        Some(())
    }

    /// Puts a sum of loop variables in four turns on the stack.
    fn four_positions(&mut self, sum: &LoopSum, var: LoopVar) -> Option<()> {
        let step =
            numbers(sum)?.1.iter().find(|(_, known)| *known == var).map_or(0, |(step, _)| *step as i32);
        self.position(sum)?;
        let steps = [0, step, 2 * step, 3 * step].map(|step| u128::from(step as u32));
        let steps = steps.iter().rev().fold(0, |all, step| all << 32 | step) as i128;
        self.emit().i32_wrap_i64().i32x4_splat().v128_const(steps).i32x4_add().f32x4_convert_i32x4_s();
        Some(())
    }

    /// 1 or 0, four times.
    fn four_truths(&mut self, scalar: &Scalar) -> Option<()> {
        self.mask(scalar)?;
        self.emit().f32_const(1.0.into()).f32x4_splat().v128_and();
        Some(())
    }

    /// Puts all bits of a lane on the stack where a scalar is not 0, and none where it is.
    fn mask(&mut self, scalar: &Scalar) -> Option<()> {
        match scalar {
            Scalar::Unary(Unary::Not, a) => {
                self.mask(a)?;
                self.emit().v128_not();
            }
            Scalar::Binary(function @ (Binary::And | Binary::Or), a, b) => {
                self.mask(a)?;
                self.mask(b)?;
                match function {
                    Binary::And => self.emit().v128_and(),
                    _ => self.emit().v128_or(),
                };
            }
            Scalar::Binary(function, a, b) if function.is_comparison() => {
                self.four(a)?;
                self.four(b)?;
                match function {
                    Binary::Less => self.emit().f32x4_lt(),
                    Binary::LessEq => self.emit().f32x4_le(),
                    Binary::Equal => self.emit().f32x4_eq(),
                    _ => self.emit().f32x4_ne(),
                };
            }
            other => {
                self.four(other)?;
                self.emit().f32_const(0.0.into()).f32x4_splat().f32x4_ne();
            }
        }
        Some(())
    }

    /// A function of the four floats on the stack.
    fn four_of_one(&mut self, function: Unary) -> Option<()> {
        match function {
            Unary::Neg => self.emit().f32x4_neg(),
            Unary::Abs => self.emit().f32x4_abs(),
            Unary::Sqrt => self.emit().f32x4_sqrt(),
            Unary::Floor => self.emit().f32x4_floor(),
            Unary::Ceil => self.emit().f32x4_ceil(),
            Unary::Round => self.emit().f32x4_nearest(),
            Unary::Trunc => self.emit().f32x4_trunc(),
            _ => {
                let code = Unary::ALL.iter().position(|known| *known == function)? as i32;
                let four = self.variable(ValType::V128);
                self.emit().local_set(four);
                return self.each_lane(&mut |writer, lane| {
                    writer.emit().i32_const(code);
                    writer.lane(four, lane);
                    writer.emit().call(Import::Unary as u32);
                    Some(())
                });
            }
        };
        Some(())
    }

    /// A function of the two times four floats on the stack.
    fn four_of_two(&mut self, function: Binary) -> Option<()> {
        match function {
            Binary::Add => drop(self.emit().f32x4_add()),
            Binary::Sub => drop(self.emit().f32x4_sub()),
            Binary::Mul => drop(self.emit().f32x4_mul()),
            Binary::Div => drop(self.emit().f32x4_div()),
            _ => {
                let (a, b) = (self.variable(ValType::V128), self.variable(ValType::V128));
                self.emit().local_set(b).local_set(a);
                match function {
                    // The first if it is greater, or less, or not a number; else the second.
                    Binary::Max | Binary::Min => {
                        self.emit().local_get(a).local_get(b).local_get(a).local_get(b);
                        match function {
                            Binary::Max => self.emit().f32x4_gt(),
                            _ => self.emit().f32x4_lt(),
                        };
                        self.emit().local_get(a).local_get(a).f32x4_ne().v128_or().v128_bitselect();
                    }
                    _ if is_truth(function) => return None,
                    _ => {
                        let code = Binary::ALL.iter().position(|known| *known == function)? as i32;
                        return self.each_lane(&mut |writer, lane| {
                            writer.emit().i32_const(code);
                            writer.lane(a, lane);
                            writer.lane(b, lane);
                            writer.emit().call(Import::Binary as u32);
                            Some(())
                        });
                    }
                }
            }
        }
        Some(())
    }

    /// Puts one of four floats on the stack, as a 64-bit float.
    fn lane(&mut self, four: u32, lane: i64) {
        self.emit().local_get(four).f32x4_extract_lane(lane as u8).f64_promote_f32();
    }

    /// Puts four floats on the stack, each of which is computed as a 64-bit float.
    fn each_lane(&mut self, write: &mut dyn FnMut(&mut Self, i64) -> Option<()>) -> Option<()> {
        for lane in 0..4 {
            write(self, lane)?;
            self.emit().f32_demote_f64();
            match lane {
                0 => self.emit().f32x4_splat(),
                _ => self.emit().f32x4_replace_lane(lane as u8),
            };
        }
        Some(())
    }
}

/// Returns true if the values of a function are 0 or 1.
fn is_truth(function: Binary) -> bool {
    function.is_comparison() || matches!(function, Binary::And | Binary::Or)
}
