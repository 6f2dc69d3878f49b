//! Runs of programs by code of a host, on the blocks of their buffers. The evaluator runs the nests that have no code.

use crate::memory::Block;
use crate::program::Program;
use crate::reference::{Memory, Stop, evaluate_nest};
use crate::{ArrayError, BufferId, Storage};

/// The code of a host for some nests of a program.
pub trait NestCode {
    /// True if there is code for a nest, given by its place.
    fn has(&self, nest: usize) -> bool;

    /// Runs a nest on the blocks of all buffers. Returns false if it could not do so: then the evaluator runs the nest, and finds out why.
    fn run(&mut self, nest: usize, blocks: &mut [&mut Block], symbols: &[i64]) -> bool;
}

/// The blocks of the buffers of a program that last for one run only, in order.
pub fn local_blocks(program: &Program) -> Result<Vec<Block>, ArrayError> {
    let local = program.buffers.iter().filter(|buffer| buffer.storage == Storage::Local);
    local.map(Block::new).collect()
}

/// Runs a program on the blocks of all its buffers. Those that it writes have memory of their own.
pub fn run(
    program: &Program,
    code: &mut dyn NestCode,
    blocks: &mut [&mut Block],
    symbols: &[i64],
) -> Result<(), Stop> {
    for (block, buffer) in blocks.iter_mut().zip(&program.buffers) {
        if buffer.storage == Storage::Local && buffer.has_margins() {
            block.fill_margins(buffer.fill);
        }
    }
    program.each_nest(symbols, &mut |nest, symbols| {
        if code.has(nest) && code.run(nest, blocks, symbols) {
            return Ok(());
        }
        evaluated(program, nest, blocks, symbols)
    })
}

/// Runs a nest by the evaluator, on copies of the cells that it mentions.
fn evaluated(program: &Program, nest: usize, blocks: &mut [&mut Block], symbols: &[i64]) -> Result<(), Stop> {
    let mentioned = program.mentioned(nest..nest + 1);
    let mut memory = Memory::of_blocks(blocks, |id| mentioned.contains(&id));
    let stopped = evaluate_nest(program, nest, &mut memory, symbols);
    for id in program.written(nest..nest + 1) {
        memory.write_block(BufferId(id.0), blocks[id.index()]);
    }
    stopped
}
