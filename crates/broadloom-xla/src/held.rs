//! The types in which buffers are held.
//!
//! A sum of short floats is added up in a buffer of 32-bit floats and then rounded: `y.sum[i] += w[i, k] x[k]`, `y[i] = y.sum[i]`. If
//! nothing else reads the buffer, the sum is made in the short type, as in code written by hand: XLA adds in 32 bits in any case, rounds
//! once, and half as much goes through memory.

use broadloom_loops::{BufferId, Dtype, Program, Scalar, Statement, Storage};
use rustc_hash::FxHashMap;

/// The nests that use a buffer of 32-bit floats.
#[derive(Default)]
struct Uses {
    /// The nests that set all of it to a number.
    fills: Vec<usize>,
    /// The nests that put numbers into it.
    stores: Vec<usize>,
    /// The number of times that it is read. What adds to it reads it, too.
    reads: usize,
    /// The type to which a nest copies it.
    copied_to: Option<Dtype>,
}

/// The types of buffers that are held in another type than their own.
pub(crate) fn held(program: &Program) -> FxHashMap<BufferId, Dtype> {
    if !program.buffers.iter().any(|buffer| is_short(buffer.dtype)) {
        return FxHashMap::default();
    }
    let mut all: FxHashMap<BufferId, Uses> = FxHashMap::default();
    let is_sum = |id: BufferId| {
        let buffer = program.buffer(id);
        buffer.dtype == Dtype::F32 && buffer.storage != Storage::Kept
    };
    for (at, nest) in program.nests.iter().enumerate() {
        for statement in &nest.body {
            statement.each(&mut |inner| {
                inner.each_read(&mut |cell| {
                    if is_sum(cell.buffer) {
                        all.entry(cell.buffer).or_default().reads += 1;
                    }
                });
                let written = inner.written().filter(|id| is_sum(*id));
                match inner {
                    Statement::Fill { .. } => written.map(|id| all.entry(id).or_default().fills.push(at)),
                    _ => written.map(|id| all.entry(id).or_default().stores.push(at)),
                };
                if let Statement::Store { cell, accumulate: None, value: Scalar::Load(from) } = inner
                    && is_sum(from.buffer)
                {
                    all.entry(from.buffer).or_default().copied_to = Some(program.buffer(cell.buffer).dtype);
                }
            });
        }
    }
    let short = |(id, uses): (BufferId, Uses)| {
        let dtype = uses.copied_to.filter(|dtype| is_short(*dtype))?;
        let (&[fill], &[store], 2) = (&uses.fills[..], &uses.stores[..], uses.reads) else { return None };
        // What turns add to, one after another, is rounded in the end alone.
        let apart = |nests: &std::ops::Range<usize>| nests.contains(&store) && !nests.contains(&fill);
        let lasts = program.repeats.iter().any(|repeat| apart(&repeat.nests));
        (!lasts).then_some((id, dtype))
    };
    all.into_iter().filter_map(short).collect()
}

fn is_short(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::Bf16 | Dtype::F16)
}
