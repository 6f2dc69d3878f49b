//! Times the reading of long `.loom` programs: parsing, evaluation, and the inference of every shape.
//!
//! A program of `n` lines has layers, their applications, arithmetic, specs and parameters in turn. The time is the least of
//! several runs; it includes reading the standard library.

use std::fmt::Write;
use std::time::{Duration, Instant};

use broadloom_lang::{Options, compile};

const RUNS: usize = 7;

fn main() {
    println!("  lines  operations     ms  µs/line");
    for lines in [100, 1_000, 10_000, 50_000] {
        let text = program(lines);
        let (mut best, mut operations) = (Duration::MAX, 0);
        for _ in 0..RUNS {
            let start = Instant::now();
            let program = compile("long.loom", &text, &Options::default());
            best = best.min(start.elapsed());
            assert!(program.is_ok(), "the program is well formed");
            operations = program.graph.steps();
        }
        let per_line = best.as_secs_f64() * 1e6 / lines as f64;
        println!("{lines:>7}  {operations:>10}  {:>5.1}  {per_line:>7.1}", best.as_secs_f64() * 1e3);
    }
}

/// A program with this many lines after its head.
fn program(lines: usize) -> String {
    let mut text = String::from("data x : 32 | 64\ndef layer(h)(x) = relu({w : ... -> h} @ x + {b : h})\n");
    let mut last = "x".to_string();
    for line in 0..lines {
        let _ = match line % 5 {
            0 => writeln!(text, "let l{line} = layer(64)"),
            1 => writeln!(text, "let y{line} = {last} |> l{}", line - 1),
            2 => writeln!(text, "let y{line} = {last} * 0.5 + x"),
            3 => writeln!(text, "let y{line} = einsum(\"b | i; b | i => b | i\", {last}, x)"),
            _ => writeln!(text, "let y{line} = tanh({last}) + {{p{line} : 64}}"),
        };
        if line % 5 != 0 {
            last = format!("y{line}");
        }
    }
    text
}
