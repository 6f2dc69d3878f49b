//! Broadloom on XLA: programs of loops as modules of StableHLO, which JAX runs on whatever it has.
//!
//! A program is written as it is before optimisation: each nest is one assignment with its index maps. What a contraction is
//! emerges from index maps, and is recognised here again:
//!
//! | in the loop language | in StableHLO |
//! |---|---|
//! | a loop by itself on an axis | `slice`, `transpose`, `broadcast_in_dim` |
//! | loops that are the digits of a position | `reshape` |
//! | other sums of loops, a loop on several axes, rows that are looked up | `gather`, `scatter` |
//! | beyond the ends of an axis | `pad` with the value of the margins |
//! | a sum of products | `dot_general`, or `convolution` if a loop of each factor shares an axis |
//! | another reduction | `reduce`, or `reduce_window` |
//! | parts of an axis | `concatenate` |
//! | a position given to the run | `dynamic_slice`, `dynamic_update_slice` |
//! | random numbers | Threefry in integer arithmetic |
//! | functions of matrices | `while` loops over columns |
//!
//! Checks of indices cannot stop a module, so that a module with checks has one more result, which says where they fail.
//!
//! | file | holds |
//! |---|---|
//! | `function` | a program as a function: arguments, nests in order, results, checks |
//! | `nest` | the loops around a store, and index maps over them |
//! | `load`, `store` | reading and writing by index maps; `parts` are written one after another |
//! | `scalar`, `maths`, `random` | expressions at the points of a nest |
//! | `matrix` | functions of matrices |
//! | `product`, `window` | contractions and convolutions; windows that move along axes |
//! | `precision`, `held` | how exactly products are computed; the types in which sums are held |
//! | `shard` | divisions over a mesh of devices, as attributes of Shardy |
//! | `write`, `operation`, `tensor` | one method for each operation; operations as data, and their texts; values with their types |
//! | `driver`, `group`, `follow` | Python that runs modules with JAX: one process, or several; how those on other machines are found |

mod driver;
mod follow;
mod framing;
mod function;
mod group;
mod held;
mod load;
mod maths;
mod matrix;
mod nest;
mod operation;
mod precision;
mod product;
mod python;
mod random;
mod scalar;
mod store;
mod tensor;
mod turns;
mod window;
mod write;

use broadloom_loops::BufferId;
use broadloom_loops::mlir::Function;
pub use broadloom_loops::mlir::Refusal;

pub use driver::{Argument, Compiled, Driver, OnDevice, Processes, RunResults, follow};
pub use function::shard::Sharded;
pub use precision::Precision;
pub use python::{PROGRAM as DRIVER, inside_of};

/// A module with the meaning of its arguments and results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    /// Its text, with the function `@main`.
    pub text: String,
    /// The arguments, in order.
    pub inputs: Vec<Input>,
    /// The results, in order: buffers. If there are checks, one more result follows: for each check two integers of 32 bits.
    /// The first is the position at which it first fails, or -1; the second is the number there.
    pub outputs: Vec<BufferId>,
    /// The checks.
    pub checks: Vec<Check>,
}

/// An argument of a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// The contents of a buffer.
    Buffer(BufferId),
    /// A number that is supplied to the run, by its place among the symbols: a position, an integer of 32 bits.
    Position(u32),
    /// The key of random numbers, by its place among the symbols: its low and its high word.
    Key(u32),
}

/// A check that the integers of a buffer are not negative and below a bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// The buffer that is checked.
    pub buffer: BufferId,
    /// The bound.
    pub below: u64,
    /// The buffer that the integers are indices of.
    pub of: BufferId,
}

/// A program as a module of StableHLO, whose function is called `@main`. What StableHLO cannot say is refused, with the nest it is
/// about.
///
/// ```
/// use broadloom_loops::mlir::Function;
/// use broadloom_loops::{Binary, Buffer, Cell, Dtype, Index, LoopSum, LoopVar, Nest, Program, Scalar, Statement, Storage};
/// let mut program = Program::default();
/// let buffer = |name: &str, sizes: &[u64]| Buffer {
///     name: name.into(), dtype: Dtype::F32, sizes: sizes.iter().map(|size| (*size).into()).collect(), margins: vec![],
///     fill: 0.0, storage: Storage::Kept,
/// };
/// let w = program.add_buffer(buffer("w", &[2, 3]));
/// let x = program.add_buffer(buffer("x", &[3]));
/// let y = program.add_buffer(buffer("y", &[2]));
/// let (i, k) = (program.add_var("i"), program.add_var("k"));
/// let at = |buffer, vars: &[LoopVar]| Cell { buffer, index: vars.iter().map(|var| Index::At(LoopSum::iterate(*var))).collect() };
/// let value = Scalar::binary(Binary::Mul, Scalar::Load(at(w, &[i, k])), Scalar::Load(at(x, &[k])));
/// let store = Statement::Store { cell: at(y, &[i]), accumulate: Some(Binary::Add), value };
/// let body = vec![Statement::Fill { buffer: y, value: 0.0 }, store.within([(i, 2), (k, 3)].into_iter())];
/// program.nests.push(Nest { comment: "y = w * x".into(), body });
/// let (arguments, results) = (vec![(w, "2 -> 3".into()), (x, "3".into())], vec![(y, "y, 2".into())]);
/// let main = Function {
///     name: "main", comment: vec![], program: &program, arguments, results, places: vec![], symbols: vec![],
/// };
/// let module = broadloom_xla::module(&main)?;
/// assert!(module.text.contains("stablehlo.dot_general %w, %x, contracting_dims = [1] x [0]"));
/// # Ok::<(), broadloom_xla::Refusal>(())
/// ```
pub fn module(function: &Function<'_>) -> Result<Module, Refusal> {
    module_for(function, Precision::default(), None)
}

/// The same with products of some precision, and for the devices of a mesh if there is one: arguments, results and intermediate tensors
/// say how they are divided.
pub fn module_for(
    function: &Function<'_>,
    precision: Precision,
    sharded: Option<&Sharded<'_>>,
) -> Result<Module, Refusal> {
    if !function.program.arguments.is_empty() {
        let reason = "its sizes are arguments: it is translated at some of them".into();
        return Err(Refusal { at: None, nest: function.name.into(), reason });
    }
    function::write(function, precision, sharded)
}

/// The README of the crate, so that its example is run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
