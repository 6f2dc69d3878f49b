//! The Python front of Broadloom: it translates between Python and the crates below, and nothing more.
//!
//! The module is `broadloom._broadloom`; people import the package `broadloom`, which is written in Python around it and makes
//! its answers comfortable. What is here takes and returns plain data, NumPy arrays, and texts that were written for people.
//!
//! - [`program`]: questions about the text of a program.
//! - [`running`]: a program with its numbers; `observer` watches it run. [`stablehlo`]: its routines as modules for XLA.
//! - [`graph`], [`graph_session`]: graphs that are built in Python, and their numbers; [`matrices`]: linear algebra in them;
//!   [`recurrences`]: scans in them.
//! - [`spec`]: specs on arrays of any library; [`shaped`]: functions whose arrays are compared with annotations.
//! - [`typed`]: declared sizes of tensors of PyTorch that meet.
//! - [`differentiated`]: a program as a function with gradients, for PyTorch.
//! - [`arrays`]: NumPy arrays, lent to a session and taken out of it.
//! - [`command`]: the command `broadloom`.
//! - [`mesh`]: the devices that a program is divided over, as Python asks for them.
//! - [`places`]: where in Python something was written.
//! - [`errors`]: mistakes as the exception `broadloom.Error`; [`data`]: answers as Python objects; [`sizes`]: sizes of shapes, expressions included.

mod arrays;
mod code;
mod command;
mod data;
mod differentiated;
mod errors;
mod graph;
mod graph_session;
mod matrices;
mod mesh;
mod observer;
mod places;
mod program;
mod recurrences;
mod running;
mod settings;
mod shaped;
mod sizes;
mod spec;
mod stablehlo;
mod turns;
mod typed;

use pyo3::prelude::*;

/// The allocator of the command, for what the extension itself allocates; Python keeps its own.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The part of the package `broadloom` that is written in Rust.
#[pymodule]
mod _broadloom {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::arrays::{Memory, read_safetensors, write_safetensors};
    #[pymodule_export]
    use crate::command::command;
    #[pymodule_export]
    use crate::differentiated::Differentiated;
    #[pymodule_export]
    use crate::graph::{Graph, operations};
    #[pymodule_export]
    use crate::graph_session::Session;
    #[pymodule_export]
    use crate::places::mistake;
    #[pymodule_export]
    use crate::program::{Program, module_table};
    #[pymodule_export]
    use crate::running::Running;
    #[pymodule_export]
    use crate::shaped::{CheckedCall, Checker, entered_sizes};
    #[pymodule_export]
    use crate::spec::{check_spec, plan_spec, spec_sizes};
    #[pymodule_export]
    use crate::typed::{can_reshape, meet_sizes, memory_range};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let own = module.py().import("sys")?.getattr("executable")?;
        broadloom_xla::inside_of(own.extract().unwrap_or_default());
        module.add("XLA_DRIVER", broadloom_xla::DRIVER)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
