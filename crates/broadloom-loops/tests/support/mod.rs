//! Helpers of several tests: programs from text, random programs, and runs that are compared.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, reason = "a test that is written wrongly may panic")]

pub mod parse;
pub mod random;

use broadloom_loops::optimise::{PassOptions, optimise};
use broadloom_loops::reference::{Memory, Stop, evaluate};
use broadloom_loops::{BufferId, Program, Storage};
use broadloom_testing::Dice;
use expect_test::Expect;

/// A program with its inputs.
#[derive(Clone, Debug)]
pub struct Sample {
    pub program: Program,
    pub symbols: Vec<i64>,
    /// The initial contents of kept buffers.
    pub inputs: Vec<(BufferId, Vec<f64>)>,
    /// The tolerance of comparisons, both absolute and relative.
    pub tolerance: f64,
}

/// The contents of all kept buffers after two runs in a row, by the reference evaluator.
pub fn run(program: &Program, sample: &Sample) -> Result<Vec<(BufferId, Vec<f64>)>, Stop> {
    let mut memory = Memory::new(program).expect("there is room");
    for (id, values) in &sample.inputs {
        memory.write(program, *id, values);
    }
    let mut results = Vec::new();
    for _ in 0..2 {
        evaluate(program, &mut memory, &sample.symbols)?;
        results.extend(kept(program).map(|id| (id, memory.read(program, id))));
    }
    Ok(results)
}

/// The kept buffers.
pub fn kept(program: &Program) -> impl Iterator<Item = BufferId> + '_ {
    let ids = (0..program.buffers.len() as u32).map(BufferId);
    ids.filter(|id| program.buffer(*id).storage == Storage::Kept)
}

/// The first difference between the results of two runs, in words.
pub fn difference(
    program: &Program,
    a: &[(BufferId, Vec<f64>)],
    b: &[(BufferId, Vec<f64>)],
    tolerance: f64,
) -> Option<String> {
    for ((id, a), (_, b)) in a.iter().zip(b) {
        for (at, (x, y)) in a.iter().zip(b).enumerate() {
            let near = (x - y).abs() <= tolerance * (1.0 + x.abs().max(y.abs()));
            if !(near || x == y || (x.is_nan() && y.is_nan())) {
                return Some(format!("{}[{at}] is {y}, but should be {x}", program.buffer(*id).name));
            }
        }
    }
    None
}

/// The nests of a program without the list of its buffers.
pub fn nests(program: &Program) -> String {
    let text = program.to_string();
    text.split_once("\n\n").map_or(text.clone(), |(_, nests)| nests.to_string())
}

/// Optimises a program, compares its nests with the expected text, and runs both on some data.
pub fn check(text: &str, expected: Expect) {
    let program = parse::parse(text);
    let optimised = optimise(&program, &PassOptions::all());
    expected.assert_eq(&nests(&optimised));
    let mut random = Dice::from_state(7);
    let numbers = |program: &Program, id| program.buffer(id).shape().iter().product::<u64>();
    let inputs = kept(&program)
        .map(|id| (id, (0..numbers(&program, id)).map(|_| random.below(33) as f64 / 8.0 - 2.0).collect()))
        .collect();
    let sample = Sample { symbols: vec![3, 1], inputs, tolerance: 1e-9, program };
    let results = run(&sample.program, &sample).unwrap();
    assert!(results.iter().all(|(_, values)| values.iter().all(|value| !value.is_nan())), "not a number");
    let words = difference(&optimised, &results, &run(&optimised, &sample).unwrap(), sample.tolerance);
    assert_eq!(words, None);
}
