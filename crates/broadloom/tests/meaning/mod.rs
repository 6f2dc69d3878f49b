//! Checks that loop nests compute the meaning of the operations.
//!
//! Every nest is run, point by point, on small arrays ([`runner`]), and the numbers are compared
//! with those of the definitions ([`broadcast`], [`notation`]), which are independent of loops and
//! index maps. Also checked: every address is inside its tensor, the loops are in the documented
//! order, reductions are the loops that the result does not mention, and the verdicts *one-to-one*
//! and *onto* agree with counting.
//!
//! `BROADLOOM_SYSTEMS=n` runs n random operations of each family instead of the default. A failure shows its
//! seed.

mod array;
mod broadcast;
mod case;
mod draft;
mod mistakes;
mod named_operations;
mod named_specs;
mod notation;
mod random_broadcast;
mod random_concat;
mod random_spec;
mod runner;
mod sheet;
use broadloom::Graph;
use broadloom_testing::{Dice, setting};
use case::{Case, Outcome};
use random_concat::Taste as Parts;
use random_spec::Taste;

/// The number of random operations of each family.
const SYSTEMS: u64 = 3000;

fn systems() -> u64 {
    setting("BROADLOOM_SYSTEMS", SYSTEMS)
}

/// Checks random operations, and shows the first few that disagree.
fn check_all(family: u64, make: impl Fn(&mut Dice) -> Case) {
    let mut graph = Graph::new();
    let (mut points, mut clashes, mut failed) = (0, 0, Vec::new());
    for seed in 0..systems() {
        let mut random = Dice::new(family << 32 | seed);
        let case = make(&mut random);
        match case.check(&mut graph, &mut random) {
            Ok(Outcome::Agreed { points: more }) => points += more,
            Ok(Outcome::Clashed) => clashes += 1,
            Err(message) => failed.push(format!("seed {seed}:\n{case}\n{message}\n")),
        }
    }
    println!("{} operations, {points} points, {clashes} clashes", systems());
    let shown = failed.iter().take(8).cloned().collect::<String>();
    assert!(failed.is_empty(), "{} of {} disagree\n{shown}", failed.len(), systems());
}

#[test]
fn pointwise() {
    check_all(1, random_broadcast::pointwise);
}

#[test]
fn composition() {
    check_all(2, random_broadcast::compose);
}

#[test]
fn transpose() {
    check_all(3, random_broadcast::transpose);
}

#[test]
fn slice() {
    check_all(4, random_broadcast::slice);
}

#[test]
fn labels() {
    let taste = Taste { affine: false, padded_results: false, axes: 3 };
    check_all(5, |random| random_spec::einsum(random, taste));
}

#[test]
fn strides_and_windows() {
    let taste = Taste { affine: true, padded_results: false, axes: 2 };
    check_all(6, |random| random_spec::einsum(random, taste));
}

#[test]
fn padded_results() {
    let taste = Taste { affine: true, padded_results: true, axes: 2 };
    check_all(7, |random| random_spec::einsum(random, taste));
}

#[test]
fn concatenation() {
    check_all(8, |random| random_concat::concat(random, Parts::Plain));
}

#[test]
fn concatenation_of_wildcards() {
    check_all(9, |random| random_concat::concat(random, Parts::Wildcards));
}

#[test]
fn concatenation_in_one_tensor() {
    check_all(10, |random| random_concat::concat(random, Parts::Together));
}
