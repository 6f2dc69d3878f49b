//! One family once, for profilers: `one FAMILY N`.

use broadloom_bench::families::FAMILIES;
use broadloom_core::{Answer, Solver};

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_default();
    let n = args.next().and_then(|n| n.parse().ok()).unwrap_or(100_000);
    for family in FAMILIES.iter().filter(|family| family.name == name) {
        let mut solver = Solver::new();
        (family.fill)(&mut solver, n);
        assert!(matches!(solver.close(), Answer::Solved(_)));
    }
}
