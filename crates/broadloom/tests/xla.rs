//! Random programs on XLA: trained for two steps, with the parameters of the judge in the end.
//!
//! They run where `BROADLOOM_PYTHON` names a Python with JAX, and are left out where it is not set. `BROADLOOM_XLA_PROGRAMS=2000` runs more
//! of them, `BROADLOOM_PROGRAM=17` runs one and prints it. XLA takes most of the time to compile: a fifth of a second for each.

use broadloom::{Backend, Graph, Session, Settings};
use broadloom_testing::setting;

use crate::programs::{run, seeds};

#[test]
fn random_programs_mean_the_same_on_xla() {
    if std::env::var_os("BROADLOOM_PYTHON").is_none() {
        eprintln!("notice: BROADLOOM_PYTHON names no Python with JAX, so nothing runs on XLA");
        return;
    }
    let count = setting("BROADLOOM_XLA_PROGRAMS", 100);
    let xla = Settings { backend: Backend::Xla, ..Settings::default() };
    // The Python process ends with the last session, and takes seconds to start.
    let _kept = Session::with(Graph::new(), xla.clone()).expect("a Python with JAX");
    run(seeds(0, 1, count), &[xla]);
}
