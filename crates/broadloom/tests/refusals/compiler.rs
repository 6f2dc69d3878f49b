//! A machine without a C compiler: the test runs itself again in an environment without one.

use std::process::Command;

use broadloom::{Backend, Error, Graph, Routine, Session, Settings};
use expect_test::expect;

use crate::numbers::array;

/// The environment variable that marks the second run.
const AGAIN: &str = "BROADLOOM_TEST_WITHOUT_COMPILER";

#[test]
fn without_a_compiler() -> Result<(), Error> {
    if std::env::var_os(AGAIN).is_some() {
        return without();
    }
    let this = std::env::current_exe().expect("the test is a program");
    let output = Command::new(this)
        .args(["--exact", "refusals::compiler::without_a_compiler", "--nocapture"])
        .env(AGAIN, "1")
        .env("PATH", "")
        .env_remove("BROADLOOM_CC")
        .env_remove("CC")
        .output()
        .expect("the test can be run again");
    let text = String::from_utf8_lossy(&output.stdout);
    let said: Vec<&str> =
        text.lines().filter_map(|line| line.split_once("said: ")).map(|(_, said)| said).collect();
    expect![[r#"
        there is no C compiler: tried `cc`, `gcc`, `clang`. Install one (`apt install gcc`, `dnf install gcc`, `xcode-select --install`) or name one in the environment variable BROADLOOM_CC; programs run slowly, by the reference evaluator
        [2.0, 4.0]
        there is no C compiler: tried `cc`, `gcc`, `clang`. Install one (`apt install gcc`, `dnf install gcc`, `xcode-select --install`) or name one in the environment variable BROADLOOM_CC
        nothing
    "#]].assert_eq(&(said.join("\n") + "\n"));
    assert!(output.status.success(), "{text}");
    Ok(())
}

/// The test in the environment without a compiler.
fn without() -> Result<(), Error> {
    let graph = || -> Result<_, Error> {
        let mut g = Graph::new();
        let x = g.array("x", "2", array(&[2], &[1.0, 2.0]))?;
        let y = g.add(x, x)?;
        Ok((g, y))
    };
    let (g, y) = graph()?;
    let mut session = Session::new(g)?;
    println!("said: {}", session.notices().first().map_or("nothing", String::as_str));
    let mut routine = Routine::new("run");
    routine.forward(y);
    session.run(&routine)?;
    println!("said: {:?}", session.get(y)?.to_f64s());
    let refused = Session::with(graph()?.0, Settings { backend: Backend::Native, ..Settings::default() });
    println!(
        "said: {}",
        refused.err().map_or("nothing".into(), |error| error.to_string()).replace('\n', " / ")
    );
    let session = Session::with(graph()?.0, Settings { backend: Backend::Reference, ..Settings::default() })?;
    println!("said: {}", session.notices().first().map_or("nothing", String::as_str));
    Ok(())
}
