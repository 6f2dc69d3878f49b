//! The Python that runs modules: which one, its program, and what to say if it has no JAX.

/// The program that the process runs, in Python. The Python package takes from it how JAX is told about modules.
pub const PROGRAM: &str = include_str!("driver.py");

/// The reason why there is no JAX, and what to do.
pub(crate) fn without_jax(python: &str, reason: &str) -> String {
    format!(
        "XLA runs through Python with JAX, and `{python}` has none: {reason}. Install it with `{python} -m pip install 'jax>=0.7'` (0.10.2 is tested), or name a Python that \
         has it in BROADLOOM_PYTHON"
    )
}

/// The Python that is used: the one that `BROADLOOM_PYTHON` names, or `python3`.
pub(crate) fn python() -> String {
    std::env::var("BROADLOOM_PYTHON").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "python3".into())
}
