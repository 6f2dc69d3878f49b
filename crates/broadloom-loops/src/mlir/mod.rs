//! Programs of loops as MLIR: one function for each program, one `linalg.generic` for each nest.
//!
//! The program is written as it is before optimisation: the same loops, the same index maps, the
//! same types, the same order of operations. Buffers become tensors, each write of a buffer a new
//! value. The arguments of a function are the buffers that the program reads before it writes them;
//! the results are those that outlive it.
//!
//! ```text
//! y[i] += w[i, k] * x[k]     %y = linalg.generic {indexing_maps = [(i, k) -> (i, k), (i, k) -> (k), (i, k) -> (i)], …}
//! ```
//!
//! | in the loop language | in MLIR |
//! |---|---|
//! | a nest with one store | `linalg.generic`, its body in `arith` and `math` |
//! | all cells set | `tensor.empty` and `linalg.fill` |
//! | windows beyond the ends | `tensor.pad` with the value of the margins, then a window inside |
//! | a part of a concatenation, a position given to the run | `tensor.extract_slice`, `tensor.insert_slice` |
//! | a row that is looked up | `tensor.extract` in the body; indices are checked by `cf.assert` before |
//! | a store at an index that was looked up | loops of `scf` with `tensor.insert` |
//! | random numbers | a call of `@uniform`, which is Threefry in `arith` |
//!
//! | file | holds |
//! |---|---|
//! | `function` | a program as a function: arguments, nests in order, results |
//! | `generic` | one nest as `linalg.generic` |
//! | `view` | the part of a tensor that a nest sees, and its index map |
//! | `body` | the computation at one point |
//! | `turns` | nests that run several times, as a loop of `scf` |
//! | `serial` | nests as loops of `scf`: checks, and stores that no index map describes |
//! | `helper` | functions that bodies call |
//! | `types`, `names` | element types and numbers; names of values and loops |

mod body;
mod function;
mod generic;
mod helper;
mod names;
mod serial;
mod turns;
mod types;
mod view;
mod whole;

use std::collections::BTreeSet;
use std::fmt;

use crate::buffer::BufferId;
use crate::program::Program;

pub use function::in_quotes;
pub use names::{MlirNames, identifier};
pub use types::{element, number};

/// A program that becomes a function.
#[derive(Clone, Debug)]
pub struct Function<'p> {
    /// The name of the function.
    pub name: &'p str,
    /// Lines for readers, above the function.
    pub comment: Vec<String>,
    /// The program that it computes. Every nest is one statement inside of loops, as before
    /// optimisation.
    pub program: &'p Program,
    /// The buffers it gets, in order, each with a note for readers.
    pub arguments: Vec<(BufferId, String)>,
    /// The buffers it returns, in order, each with a note for readers.
    pub results: Vec<(BufferId, String)>,
    /// The place in the source of each nest, for readers, shown on a line above it. There may be
    /// fewer places than nests.
    pub places: Vec<String>,
    /// The kind of each number that is supplied to a run.
    pub symbols: Vec<Supplied>,
}

/// A number that is supplied to a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Supplied {
    /// It is always the same.
    Known(f64),
    /// An argument: a position below a bound.
    Position(u64),
    /// An argument: the key of random numbers.
    Key,
}

/// A nest that has no translation, to MLIR or to a dialect of it. The nest is the subject of the reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Its place among the nests; None if the reason is about the whole program.
    pub at: Option<usize>,
    /// The purpose of the nest, as its comment says it, or the name of the program.
    pub nest: String,
    /// The reason why it cannot be translated.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.nest, self.reason)
    }
}

impl std::error::Error for Refusal {}

/// Some programs as one module, with the functions that they need.
///
/// ```
/// use broadloom_loops::mlir::{Function, module};
/// use broadloom_loops::{Buffer, Cell, Dtype, Index, LoopSum, Nest, Program, Scalar, Statement, Storage, Unary};
/// let mut program = Program::default();
/// let buffer = |name: &str| Buffer {
///     name: name.into(), dtype: Dtype::F32, sizes: vec![3.into()], margins: vec![], fill: 0.0, storage: Storage::Kept,
/// };
/// let (x, y) = (program.add_buffer(buffer("x")), program.add_buffer(buffer("y")));
/// let i = program.add_var("i");
/// let at = |buffer| Cell { buffer, index: vec![Index::At(LoopSum::iterate(i))] };
/// let value = Scalar::unary(Unary::Exp, Scalar::Load(at(x)));
/// let store = Statement::Store { cell: at(y), accumulate: None, value };
/// program.nests.push(Nest { comment: "y = exp(x)".into(), body: vec![store.within([(i, 3)].into_iter())] });
/// let forward = Function {
///     name: "forward",
///     comment: vec![],
///     program: &program,
///     arguments: vec![(x, "3".into())],
///     results: vec![(y, "y: 3".into())],
///     places: vec![],
///     symbols: vec![],
/// };
/// let text = module(&[forward])?;
/// assert!(text.contains("%0 = math.exp %in : f32"));
/// assert!(text.contains("affine_map<(i) -> (i)>"));
/// # Ok::<(), broadloom_loops::mlir::Refusal>(())
/// ```
pub fn module(functions: &[Function<'_>]) -> Result<String, Refusal> {
    let mut helpers = BTreeSet::new();
    let mut parts = Vec::new();
    for function in functions {
        if !function.program.arguments.is_empty() {
            let reason = "its sizes are arguments: it is translated at some of them".into();
            return Err(Refusal { at: None, nest: function.name.into(), reason });
        }
        parts.push(function::write(function, &mut helpers)?);
    }
    parts.extend(helpers.iter().map(|helper| helper.text().to_string()));
    let indented = |part: &String| {
        let line = |line: &str| if line.is_empty() { "\n".into() } else { format!("  {line}\n") };
        part.lines().map(line).collect::<String>()
    };
    let parts: Vec<String> = parts.iter().map(indented).collect();
    Ok(format!("module {{\n{}}}\n", parts.join("\n")))
}
