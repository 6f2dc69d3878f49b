//! Properties that every program of `tests/shapes` has, whatever its shapes are.
//!
//! - *Order.* Independent statements may come in any order.
//! - *Looking.* Queries of shapes in between change nothing.
//! - *Refusal.* An operation that is refused leaves no trace.
//!
//! Each program is run several times with random choices, `BROADLOOM_SEEDS=n` times if that is set. A
//! failure shows its seed and, for the order, the statements as they were run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use broadloom::{Error, Graph, SliceIndex, Tensor};
use broadloom_testing::{Dice, setting};
use libtest_mimic::{Failed, Trial};

use crate::support::case::{Case, cases};
use crate::support::run::Run;
use crate::support::tree::{Kind, Program, Statement};

/// The number of runs of each program for each property.
const SEEDS: u64 = 6;

/// A property: the final shapes of a program run in some other way.
type Treatment = fn(&Program, &mut Dice) -> Result<Shapes, String>;
type Shapes = BTreeMap<String, String>;

/// A trial for every program and every property.
pub fn trials() -> Vec<Trial> {
    let properties: [(&str, Treatment); 3] =
        [("order", shuffled), ("looking", observed), ("refusal", disturbed)];
    let all = cases("shapes");
    let trials = properties.into_iter().flat_map(|(name, treatment)| {
        let trial = move |case: &Case| {
            let case = case.clone();
            Trial::test(format!("{name}::{}", case.name()), move || check(&case, treatment))
        };
        all.iter().map(trial).collect::<Vec<_>>()
    });
    trials.collect()
}

fn seeds() -> u64 {
    setting("BROADLOOM_SEEDS", SEEDS)
}

/// The program has the same final shapes under a treatment.
fn check(case: &Case, treatment: Treatment) -> Result<(), Failed> {
    let program = case.read()?;
    let mut run = Run::of(&program).map_err(|stop| stop.to_string())?;
    let expected = run.final_shapes().map_err(|error| error.to_string())?;
    for seed in 0..seeds() {
        let found = treatment(&program, &mut Dice::new(seed));
        let found = found.map_err(|message| format!("seed {seed}: {message}"))?;
        if found != expected {
            return Err(format!("seed {seed}: {}", difference(&expected, &found)).into());
        }
    }
    Ok(())
}

fn difference(expected: &Shapes, found: &Shapes) -> String {
    let mut text = String::from("the shapes differ");
    for (name, shape) in expected {
        let other = found.get(name).map_or("missing", String::as_str);
        if other != shape {
            let _ = write!(text, "\n{name} is {other} instead of {shape}");
        }
    }
    text
}

/// The statements in another order in which each comes after those that it depends on.
fn shuffled(program: &Program, random: &mut Dice) -> Result<Shapes, String> {
    // Names of sizes are declared before they stand in shapes.
    let declares = |statement: &&Statement| matches!(statement.kind, Kind::Dim { .. } | Kind::Dynamic(_));
    let (dims, mut waiting): (Vec<&Statement>, Vec<&Statement>) =
        program.statements.iter().partition(declares);
    let mut defined = BTreeSet::new();
    let mut run = Run::default();
    let mut order = String::new();
    for statement in dims {
        run.execute(statement).map_err(|stop| stop.to_string())?;
    }
    while !waiting.is_empty() {
        let ready = |statement: &&Statement| statement.uses().iter().all(|name| defined.contains(*name));
        let candidates: Vec<usize> = (0..waiting.len()).filter(|at| ready(&waiting[*at])).collect();
        let statement = waiting.remove(candidates[random.below(candidates.len())]);
        let _ = writeln!(order, "  {:?}", statement.kind);
        run.execute(statement).map_err(|stop| format!("{stop}\nin the order\n{order}"))?;
        defined.extend(statement.defines());
    }
    run.final_shapes().map_err(|error| format!("{error}\nin the order\n{order}"))
}

/// Queries shapes and final shapes of random tensors after random statements.
fn observed(program: &Program, random: &mut Dice) -> Result<Shapes, String> {
    let mut run = Run::default();
    for statement in &program.statements {
        run.execute(statement).map_err(|stop| stop.to_string())?;
        for _ in 0..random.below(3) {
            let Some(tensor) = any_tensor(&run, random) else { continue };
            // A query of an undetermined shape is refused, which changes nothing either.
            match random.below(3) {
                0 => drop(run.graph.shape(tensor)),
                1 => drop(run.graph.final_shape(tensor)),
                _ => drop(run.graph.final_shapes()),
            }
        }
    }
    run.final_shapes().map_err(|error| error.to_string())
}

/// Tries operations that must be refused after random statements.
fn disturbed(program: &Program, random: &mut Dice) -> Result<Shapes, String> {
    let mut run = Run::default();
    for statement in &program.statements {
        run.execute(statement).map_err(|stop| stop.to_string())?;
        for _ in 0..random.below(3) {
            let tensor = any_tensor(&run, random);
            let (name, outcome) = wrong_operation(&mut run.graph, tensor, random);
            if outcome.is_ok() {
                return Err(format!("{name} was accepted after line {}", statement.line));
            }
        }
    }
    run.final_shapes().map_err(|error| error.to_string())
}

/// An operation that must be refused, with tensors of its own and, if there is one, a tensor of the
/// program.
fn wrong_operation(
    graph: &mut Graph,
    tensor: Option<Tensor>,
    random: &mut Dice,
) -> (&'static str, Result<(), Error>) {
    let three = graph.data("three", "3").expect("a vector is well declared");
    let five = graph.data("five", "5").expect("a vector is well declared");
    let tensor = tensor.unwrap_or(three);
    let done = |result: Result<Tensor, Error>| result.map(|_| ());
    match random.below(8) {
        0 => ("3 + 5", done(graph.add(three, five))),
        1 => ("where(t, 3, 5)", done(graph.select(tensor, three, five))),
        2 => ("t + 3 + 5", done(graph.pointwise("+", &[tensor, three, five]))),
        3 => {
            let spec = "... | ... -> ...; i; i => ... | ... -> ..., i";
            ("a label of two sizes", done(graph.einsum(spec, &[tensor, three, five])))
        }
        4 => {
            let spec = "... | ... -> ...; ... | ..., a^2; ... | ..., a => ... | ... -> ..., a";
            ("a part larger than the whole", done(graph.einsum(spec, &[tensor, three, five])))
        }
        5 => ("a slice without batch", done(graph.slice(three, SliceIndex::At(0)))),
        6 => ("a spec with too few operands", done(graph.einsum("i; i => i", &[tensor]))),
        _ => ("a size set twice", set_twice(graph, three)),
    }
}

fn set_twice(graph: &mut Graph, three: Tensor) -> Result<(), Error> {
    let free = graph.constant(1.0);
    let sum = graph.einsum("i; j => i, j", &[three, free]).expect("an outer product of any vectors");
    let size = graph.captured(sum, "j").expect("the spec has `j`");
    graph.set(size, 7).expect("nothing is known of `j`");
    graph.set(size, 8)
}

fn any_tensor(run: &Run, random: &mut Dice) -> Option<Tensor> {
    let count = run.tensors.len().max(1);
    run.tensors.values().nth(random.below(count)).copied()
}
