//! The Python that runs modules: which one, its program, and what to say if it has no JAX.

use std::sync::OnceLock;

/// The program that the process runs, in Python. The Python package takes from it how JAX is told about modules.
pub const PROGRAM: &str = include_str!("driver.py");

/// The reason why there is no JAX, and what to do.
pub(crate) fn without_jax(python: &str, reason: &str) -> String {
    format!(
        "XLA runs through Python with JAX, and `{python}` has none: {reason}. Install it with `{python} -m pip install 'jax>=0.7'` (0.10.2 is tested), or name a Python that \
         has it in BROADLOOM_PYTHON"
    )
}

/// The Python of the process that we are a part of, if there is one.
static OWN: OnceLock<String> = OnceLock::new();

/// Says that this process is itself a Python, whose packages are at hand: it runs modules unless `BROADLOOM_PYTHON` names another one.
pub fn inside_of(python: String) {
    if !python.is_empty() {
        OWN.get_or_init(|| python);
    }
}

/// The Python that is used: the one that `BROADLOOM_PYTHON` names, that of this process, or `python3`.
pub(crate) fn python() -> String {
    let named = std::env::var("BROADLOOM_PYTHON").ok().filter(|name| !name.is_empty());
    named.or_else(|| OWN.get().cloned()).unwrap_or_else(|| "python3".into())
}
