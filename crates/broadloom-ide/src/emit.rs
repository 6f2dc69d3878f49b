//! Programs as text for other tools: MLIR, StableHLO, C, Lean.

mod lean;
mod mlir;
mod stablehlo;

use broadloom::{Backend, Session, Settings};
use broadloom_lang::{Dim, Program};

use crate::refusal::Refusal;
pub use lean::{lean, lean_of_function};
pub use mlir::mlir;
pub use stablehlo::stablehlo;

/// A routine as C.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CFile {
    /// The name of the routine, and of its files.
    pub name: String,
    /// The header, which explains how to call it.
    pub header: String,
    /// The source.
    pub source: String,
}

/// Every routine of a program as a file of C with its header.
///
/// ```
/// use broadloom_ide::{Analysis, Text, emit};
///
/// let mut analysis = Analysis::new(&Text::new("a.loom", "data x : 3 = [1, 2, 3]\nprint 2 * x\n"));
/// let files = emit::c(&mut analysis.program)?;
/// assert!(files[0].source.contains("for ("));
/// # Ok::<(), String>(())
/// ```
pub fn c(program: &mut Program) -> Result<Vec<CFile>, Refusal> {
    let routines = program.routines();
    if routines.is_empty() {
        return Err("the program computes nothing".into());
    }
    let settings = Settings { backend: Backend::Reference, ..Settings::default() };
    let mut session = Session::with(std::mem::take(&mut program.graph), settings)?;
    let sizes = sizes_line(program);
    let file = |routine: &broadloom::Routine| {
        let name = routine.name();
        let (header, source) = session.c(routine, name)?;
        Ok(CFile { name: name.to_string(), header: format!("{sizes}{header}"), source })
    };
    let files: Result<Vec<CFile>, broadloom::Error> = routines.iter().map(file).collect();
    std::mem::swap(&mut program.graph, session.graph_mut());
    Ok(files?)
}

/// The sizes with a range, each of which has one value in the emitted program.
fn ranged(program: &Program) -> impl Iterator<Item = &Dim> {
    program.dims.iter().filter(|dim| dim.range.is_some())
}

/// A line that says at which sizes a program is written, if it has sizes with a range.
fn sizes_line(program: &Program) -> String {
    let sizes: Vec<String> = ranged(program).map(|dim| format!("{} = {}", dim.name, dim.size)).collect();
    match &sizes[..] {
        [] => String::new(),
        _ => format!("// The program at {}, and no other size.\n", sizes.join(", ")),
    }
}
