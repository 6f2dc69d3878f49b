//! Runs the programs in `tests/shapes`, `tests/wrong` and `tests/nests`; each file is a test.
//!
//! A file holds a program (`support/mod.rs` has the language), a line `---`, and the expected
//! result: in `shapes` the shapes of some tensors, in `wrong` the whole message with which the
//! program, or the loop nest of its last operation, is refused, in `nests` a loop nest: of the
//! tensor that the expectation begins with, else of the last operation. With `UPDATE_EXPECT=1` in
//! the environment, messages and nests are rewritten in place; shapes never are.

use std::fmt::Write;

use libtest_mimic::{Failed, Trial};

use crate::support::case::{Case, cases};
use crate::support::run::{Run, Stop};

/// A trial for every file.
pub fn trials() -> Vec<Trial> {
    let update = std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1");
    let shapes = cases("shapes").into_iter();
    let shapes =
        shapes.map(|case| Trial::test(format!("shapes::{}", case.name()), move || has_shapes(&case)));
    let wrong = cases("wrong").into_iter();
    let wrong =
        wrong.map(|case| Trial::test(format!("wrong::{}", case.name()), move || is_refused(&case, update)));
    let nests = cases("nests").into_iter();
    let nests =
        nests.map(|case| Trial::test(format!("nests::{}", case.name()), move || has_nest(&case, update)));
    shapes.chain(wrong).chain(nests).collect()
}

/// The program is accepted, every shape is as expected, and all operations have loop nests.
fn has_shapes(case: &Case) -> Result<(), Failed> {
    let program = case.read()?;
    let mut run = Run::of(&program).map_err(|stop| stop.to_string())?;
    run.graph.projections().map_err(|error| error.to_string())?;
    let all = case.shapes()?;
    if all.is_empty() {
        return Err("nothing is expected after a line `---`".into());
    }
    let mut failures = String::new();
    for expected in all {
        let found = expected.found(&mut run).unwrap_or_else(|error| error);
        if found != expected.value {
            let _ = writeln!(failures, "{} is {found}, expected {}", expected.subject(), expected.value);
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.into()) }
}

/// The program is refused, or has a last operation without a loop nest, with the message expected.
fn is_refused(case: &Case, update: bool) -> Result<(), Failed> {
    let program = case.read()?;
    let message = match Run::of(&program) {
        Ok(mut run) => match run.graph.final_shapes() {
            Ok(_) => match nest(&mut run, "") {
                Ok(_) => return Err("the program is accepted".into()),
                Err(error) => error,
            },
            Err(error) => error.to_string(),
        },
        Err(Stop::Language(message)) => return Err(message.into()),
        Err(Stop::Refused(error)) => error.to_string(),
    };
    compare(case, message + "\n", update)
}

/// The program has the loop nest expected.
fn has_nest(case: &Case, update: bool) -> Result<(), Failed> {
    let program = case.read()?;
    let mut run = Run::of(&program).map_err(|stop| stop.to_string())?;
    let nest = nest(&mut run, &case.expected)?;
    compare(case, nest, update)
}

/// The loop nest of the tensor that an expectation begins with, or of the last tensor.
fn nest(run: &mut Run, expected: &str) -> Result<String, String> {
    let name = expected.split([' ', ',', '\n']).next().unwrap_or_default();
    let last = run.graph.tensors().last().ok_or("the program has no tensor")?;
    let tensor = run.tensors.get(name).copied().unwrap_or(last);
    run.graph.show_nest(tensor).map_err(|error| error.to_string())
}

/// Compares the result with the expectation, or rewrites the expectation.
fn compare(case: &Case, found: String, update: bool) -> Result<(), Failed> {
    if found == case.expected {
        return Ok(());
    }
    if update {
        std::fs::write(&case.file, format!("{}---\n{found}", case.program))?;
        return Ok(());
    }
    let expected = &case.expected;
    Err(format!("expected\n{expected}found\n{found}(UPDATE_EXPECT=1 rewrites it)").into())
}
