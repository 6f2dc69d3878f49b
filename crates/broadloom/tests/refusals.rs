//! The errors of preparing and running programs, with their messages.
//!
//! Each message is written out as a user sees it. `UPDATE_EXPECT=1` rewrites them; read them
//! afterwards.

mod assignments;
mod compiler;
mod files;
mod runs;
mod trees;
mod values;

use broadloom::{Backend, Error, Graph, Session, Settings};
use expect_test::Expect;

/// Compares a message, with the kind of the mistake before it.
fn refused<T>(result: Result<T, Error>, expected: &Expect) {
    match result {
        Ok(_) => panic!("nothing is refused"),
        Err(error) => expected.assert_eq(&format!("{:?}: {error}\n", error.kind())),
    }
}

/// A session that needs no compiler.
fn session(graph: Graph) -> Session {
    Session::with(graph, Settings { backend: Backend::Reference, ..Settings::default() }).expect("a session")
}
