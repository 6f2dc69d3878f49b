//! Prints the solver's benchmark table: `cargo run --release -p broadloom-bench`.
//!
//! Each row is one family at one size: the median of several runs, each adding every constraint and
//! closing. *fresh* makes a new solver each time and so pays for touching new memory; *reused* clears
//! one solver and fills it again, as a compiler that solves many programs would. Bytes are those of
//! the solver's stores after closing.

use std::time::{Duration, Instant};

use broadloom_bench::families::{FAMILIES, Family};
use broadloom_core::{Answer, Solver};

fn main() {
    for family in &FAMILIES {
        println!("- {}: {}", family.name, family.about);
    }
    println!(
        "\n| family | constraints | fresh ns | reused ns | of it adding | Mconstraints/s reused | \
         bytes/constraint | steps/constraint | branches |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for family in &FAMILIES {
        for n in [1_000, 10_000, 100_000, 1_000_000] {
            row(family, n);
        }
    }
}

fn row(family: &Family, n: usize) {
    let runs = (4_000_000 / n).clamp(7, 400);
    let fresh = median((0..runs).map(|_| run(&mut Solver::new(), family, n)).collect());
    let mut solver = Solver::new();
    run(&mut solver, family, n);
    let again = |_| {
        solver.clear();
        run(&mut solver, family, n)
    };
    let reused = median((0..runs).map(again).collect());
    let each = |time: Duration| time.as_nanos() as f64 / reused.constraints;
    println!(
        "| {} | {} | {:.0} | {:.0} | {:.0} | {:.1} | {:.0} | {:.1} | {} |",
        family.name,
        reused.constraints,
        each(fresh.total),
        each(reused.total),
        each(reused.adding),
        1e3 / each(reused.total),
        fresh.bytes / fresh.constraints,
        reused.steps / reused.constraints,
        reused.branches,
    );
}

fn median(mut runs: Vec<Run>) -> Run {
    runs.sort_by_key(|run| run.total);
    runs.swap_remove(runs.len() / 2)
}

struct Run {
    total: Duration,
    adding: Duration,
    constraints: f64,
    bytes: f64,
    steps: f64,
    branches: u64,
}

fn run(solver: &mut Solver, family: &Family, n: usize) -> Run {
    let start = Instant::now();
    (family.fill)(solver, n);
    let adding = start.elapsed();
    let stats = match solver.close() {
        Answer::Solved(closed) => closed.stats(),
        _ => {
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
