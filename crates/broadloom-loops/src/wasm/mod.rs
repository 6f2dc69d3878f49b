//! Nests as WebAssembly, for hosts that have no compiler, such as web pages.
//!
//! The code works on [blocks](crate::Block), as machine code does, and computes what the [reference evaluator](crate::reference) computes, up to the order in which sums of 32-bit
//! floats are added up and their rounding on the way. Loops over such floats go four at a time. Nests that set integers, or compare them, are left to the evaluator, so that there is one
//! place that knows how integers behave at the ends of their range.
//!
//! A module imports its memory and a few functions from `host` (see [`IMPORTS`]), and exports a function for each nest that it has: `nest0`, `nest1`, … A function takes the address of a
//! list of addresses, one for each buffer, and the address of the symbols. It returns 0, or 1 if an index was out of range: then the evaluator finds out which.
//!
//! | file | is about |
//! |---|---|
//! | `mod` | modules |
//! | `run` | runs of a program by such code |
//! | `nest` | loops and statements |
//! | `suits` | which loops go four at a time |
//! | `lanes` | loops that do |
//! | `product`, `tile` | sums of products, several at a time |
//! | `scalar` | numbers |
//! | `address` | the places of cells |

mod address;
mod lanes;
mod nest;
mod product;
mod run;
mod scalar;
mod suits;
mod tile;

use wasm_encoder::{
    CodeSection, EntityType, ExportKind, ExportSection, Function, FunctionSection, ImportSection, MemoryType,
    Module as Encoded, TypeSection, ValType,
};

use crate::program::Program;
use crate::reference::Reals;
use crate::wasm::nest::NestWriter;
use crate::{Binary, Buffer, Dtype, Size, Storage, Unary, bf16, f16};
use broadloom_array::random::uniform_f32;
pub use run::{NestCode, local_blocks, run};

/// The module of a program.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// For each of the nests, true if it has a function.
    pub nests: Vec<bool>,
}

/// The functions that a module imports from `host`, in this order. Their values are [`host_unary`], [`host_binary`], [`host_uniform`], [`host_widen`] and [`host_narrow`].
pub const IMPORTS: [&str; 5] = ["unary", "binary", "uniform", "widen", "narrow"];

/// The places of the imported functions.
#[derive(Clone, Copy)]
pub(crate) enum Import {
    Unary,
    Binary,
    Uniform,
    Widen,
    Narrow,
}

/// A function of one number, by its place in [`Unary::ALL`]. NaN if there is none.
pub fn host_unary(function: u32, x: f64) -> f64 {
    Unary::ALL.get(function as usize).map_or(f64::NAN, |function| function.of(x))
}

/// A function of two numbers, by its place in [`Binary::ALL`]. NaN if there is none.
pub fn host_binary(function: u32, a: f64, b: f64) -> f64 {
    Binary::ALL.get(function as usize).map_or(f64::NAN, |function| function.of(a, b))
}

/// The number of the 16 bits of a type: 0 is `f16`, 1 is `bf16`.
pub fn host_widen(dtype: u32, bits: u32) -> f64 {
    let bits = bits as u16;
    if dtype == 0 { f16::from_bits(bits).to_f64() } else { bf16::from_bits(bits).to_f64() }
}

/// The 16 bits in which a type holds a number.
pub fn host_narrow(dtype: u32, x: f64) -> u32 {
    let bits = if dtype == 0 { f16::from_f64(x).to_bits() } else { bf16::from_f64(x).to_bits() };
    bits.into()
}

/// The random number of a key at a position.
pub fn host_uniform(key: u64, at: u64) -> f64 {
    f64::from(uniform_f32(key, at))
}

/// The buffer in which tiles find their columns side by side.
fn panel(cells: i64) -> Buffer {
    let (sizes, margins) = (vec![Size::from(cells as u64)], Vec::new());
    Buffer { name: "panel".into(), dtype: Dtype::F32, sizes, margins, fill: 0.0, storage: Storage::Local }
}

/// Translates a program in which all sizes are numbers, for a host that multiplies and adds at once (`f32x4.relaxed_madd`) or one that does not. The program gets a buffer if its code
/// needs a panel.
///
/// ```
/// use broadloom_loops::{Program, wasm};
///
/// let module = wasm::module(&mut Program::default(), false);
/// assert!(module.bytes.starts_with(b"\0asm") && module.nests.is_empty());
/// ```
pub fn module(program: &mut Program, fuses: bool) -> Module {
    let (compiled, panels): (Vec<Option<Function>>, Vec<i64>) = program
        .nests
        .iter()
        .map(|nest| NestWriter::new(program, Reals::of(program, &nest.body), fuses).function(&nest.body))
        .map(|written| written.map_or((None, 0), |(function, panel)| (Some(function), panel)))
        .unzip();
    if let Some(cells) = panels.into_iter().max().filter(|cells| *cells > 0) {
        program.add_buffer(panel(cells));
    }
    let (mut types, mut imports, mut functions) =
        (TypeSection::new(), ImportSection::new(), FunctionSection::new());
    let (i32, i64, f64) = (ValType::I32, ValType::I64, ValType::F64);
    let signatures = [
        (vec![i32, f64], f64),
        (vec![i32, f64, f64], f64),
        (vec![i64, i64], f64),
        (vec![i32, i32], f64),
        (vec![i32, f64], i32),
    ];
    let memory =
        MemoryType { minimum: 0, maximum: None, memory64: false, shared: false, page_size_log2: None };
    imports.import("host", "memory", EntityType::Memory(memory));
    for (at, (name, (arguments, result))) in (0..).zip(IMPORTS.into_iter().zip(signatures)) {
        types.ty().function(arguments, [result]);
        imports.import("host", name, EntityType::Function(at));
    }
    types.ty().function([i32, i32], [i32]);
    let of_nests = IMPORTS.len() as u32;
    let (mut exports, mut code) = (ExportSection::new(), CodeSection::new());
    for (at, function) in compiled.iter().enumerate() {
        let Some(function) = function else { continue };
        exports.export(&format!("nest{at}"), ExportKind::Func, of_nests + functions.len());
        functions.function(of_nests);
        code.function(function);
    }
    let mut module = Encoded::new();
    module.section(&types).section(&imports).section(&functions).section(&exports).section(&code);
    Module { bytes: module.finish(), nests: compiled.iter().map(Option::is_some).collect() }
}
