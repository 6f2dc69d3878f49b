//! Prints the solver's benchmark table: `cargo run --release -p broadloom-bench`.
//!
//! Each row is one family at one size: the median of several runs, each adding every constraint and
//! closing. Bytes are those of the solver's stores after closing.

use std::time::{Duration, Instant};

use broadloom_bench::families::{FAMILIES, Family};
use broadloom_core::{Answer, Solver};

fn main() {
    for family in &FAMILIES {
        println!("- {}: {}", family.name, family.about);
    }
    println!(
        "\n| family | constraints | ns/constraint | of it adding | Mconstraints/s | bytes/constraint | steps/constraint | branches |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    for family in &FAMILIES {
        for n in [1_000, 10_000, 100_000, 1_000_000] {
            row(family, n);
        }
    }
}

fn row(family: &Family, n: usize) {
    let runs = (4_000_000 / n).clamp(5, 400);
    let mut runs: Vec<Run> = (0..runs).map(|_| run(family, n)).collect();
    runs.sort_by_key(|run| run.total);
    let run = &runs[runs.len() / 2];
    let each = |time: Duration| time.as_nanos() as f64 / run.constraints;
    println!(
        "| {} | {} | {:.0} | {:.0} | {:.2} | {:.0} | {:.1} | {} |",
        family.name,
        run.constraints,
        each(run.total),
        each(run.adding),
        1e3 / each(run.total),
        run.bytes / run.constraints,
        run.steps / run.constraints,
        run.branches,
    );
}

struct Run {
    total: Duration,
    adding: Duration,
    constraints: f64,
    bytes: f64,
    steps: f64,
    branches: u64,
}

fn run(family: &Family, n: usize) -> Run {
    let start = Instant::now();
    let mut solver = Solver::new();
    (family.fill)(&mut solver, n);
    let adding = start.elapsed();
    let stats = match solver.close() {
        Answer::Solved(closed) => closed.stats(),
        Answer::Underdetermined(..) | Answer::Unsatisfiable(_) | Answer::GaveUp => {
            eprintln!("{} is not solved", family.name);
            std::process::exit(1);
        }
    };
    Run {
        total: start.elapsed(),
        adding,
        constraints: stats.constraints as f64,
        bytes: stats.bytes as f64,
        steps: stats.steps as f64,
        branches: stats.branches,
    }
}
