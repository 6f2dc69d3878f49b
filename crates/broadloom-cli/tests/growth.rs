//! Commands take a time that grows about as a program does: programs so long that a square of their length would be minutes.
//!
//! Exponents are measured by `broadloom-bench --bin growth`; here it is enough that there is an end.

use std::time::{Duration, Instant};

use crate::support::{World, broadloom};

/// Much longer than it takes on a busy machine, much shorter than it took.
const PATIENCE: Duration = Duration::from_secs(60);

fn joined(count: usize, between: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(between)
}

/// Runs a command on a program, and returns what it prints. Fails if that takes long.
#[track_caller]
fn soon(arguments: &[&str], program: &str) -> String {
    let start = Instant::now();
    let said = broadloom(arguments, &World { stdin: program.into(), ..World::default() });
    assert_eq!(said.status, 0, "{arguments:?}: {}", said.stderr);
    let took = start.elapsed();
    assert!(took < PATIENCE, "{arguments:?} took {took:?}");
    said.stdout
}

#[test]
fn a_concatenation_of_many_parts() {
    let count = 8_000;
    let names = joined(count, ", ", |at| format!("x{at}"));
    let leaves = joined(count, "\n", |at| format!("data x{at} : 2 | 3"));
    let program = format!("{leaves}\nlet last = concat({names}, along = \"output\")\n");
    assert!(soon(&["check", "-"], &program).contains("24000"));
    let loops = soon(&["loops", "-"], &program);
    assert!(loops.contains("x7999"), "all parts are there");
    soon(&["memory", "-", "--planned"], &program);
}

#[test]
fn a_spec_of_many_labels() {
    // The text of a spec has at most 65,535 letters.
    let count = 4_000;
    let labels = joined(count, ", ", |at| format!("a{at}"));
    let sizes = joined(count, ", ", |at| if at % 800 == 0 { "2" } else { "1" }.to_string());
    let program = format!("data x : {sizes}\nlet last = einsum(\"{labels} => {labels}\", x)\n");
    soon(&["check", "-"], &program);
    let told = soon(&["explain", "-", "last"], &program);
    assert!(told.contains("last.output.99 is"), "the first hundred axes");
    assert!(!told.contains("last.output.100 is"), "and no more");
    assert!(told.ends_with("\n3900 more axes: ask for one by its place, such as `last.0`\n"));
    assert!(soon(&["explain", "-", "last.output.800"], &program).starts_with("last.output.800 is 2"));
    let json = soon(&["explain", "-", "last", "--json"], &program);
    assert!(json.contains("\"left_out\":3900"));
}

#[test]
fn many_named_sizes() {
    let program = joined(10_000, "", |at| format!("dim d{at} in 1..64 = 8\ndata x{at} : d{at}\n"));
    soon(&["check", "-"], &program);
}
