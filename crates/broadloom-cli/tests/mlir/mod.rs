//! Modules from `emit --mlir` are valid MLIR, and compute the same as `run`: every module is read
//! and verified by `mlir-opt`, lowered to machine code and run, and its numbers are compared with
//! those of a session.
//!
//! The tools are Debian's `mlir-19-tools`. Where they are missing, the tests are shown as ignored, with a notice; with
//! `BROADLOOM_REQUIRE_MLIR=1` they fail.

mod cases;
mod tools;

use std::path::PathBuf;

use crate::support::{World, broadloom, examples, loom_files, programs};
use broadloom::{Array, Dtype, LeafKind, Node, Routine, Session, Settings, Tensor, random};
use broadloom_lang::{Observer, Options, Program, RunOptions, compile};
pub use cases::CASES;
use libtest_mimic::{Failed, Trial};
use tools::{Argument, Call, Tools, Type, element};

/// A test, given the tools.
type Check = Box<dyn Fn(&Tools) -> Result<(), String> + Send>;

/// A trial for every example, every program of the tests, and every case of this folder.
pub fn trials() -> Vec<Trial> {
    let tools = Tools::find();
    let required = std::env::var_os("BROADLOOM_REQUIRE_MLIR").is_some_and(|value| value == "1");
    if tools.is_none() {
        eprintln!(
            "notice: mlir-opt and mlir-cpu-runner are not here (Debian: mlir-19-tools), so no module is checked"
        );
        assert!(!required, "BROADLOOM_REQUIRE_MLIR=1 wants them");
    }
    let trial = |name: String, check: Check| {
        let (missing, tools) = (tools.is_none(), tools.clone());
        let run = move || match &tools {
            Some(tools) => check(tools).map_err(Failed::from),
            None => Err("no tools".into()),
        };
        Trial::test(name, run).with_ignored_flag(missing)
    };
    let mut trials = Vec::new();
    for file in loom_files(&examples()) {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        trials
            .push(trial(format!("mlir::examples::{name}"), Box::new(move |tools| same_values(tools, &file))));
    }
    for file in loom_files(&programs()) {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        trials.push(trial(format!("mlir::programs::{name}"), Box::new(move |tools| is_valid(tools, &file))));
    }
    for (name, text) in cases::CASES {
        trials.push(trial(format!("mlir::cases::{name}"), Box::new(|tools| case(tools, name, text))));
    }
    trials
}

/// Checks a case of this folder, written to a file for the command.
fn case(tools: &Tools, name: &str, text: &str) -> Result<(), String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mlir");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let file = folder.join(format!("{name}.loom"));
    std::fs::write(&file, text).map_err(|error| error.to_string())?;
    same_values(tools, &file)
}

/// The emitted module. `None` if the program is wrong or computes nothing, which other tests cover.
fn emitted(file: &std::path::Path, options: &[&str]) -> Result<Option<String>, String> {
    let file = file.to_string_lossy();
    let said = broadloom(&[&["emit", &*file, "--mlir"], options].concat(), &World::default());
    match said.status {
        0 => Ok(Some(said.stdout)),
        1 => Ok(None),
        _ if said.stderr.contains("computes nothing") => Ok(None),
        _ => Err(said.stderr),
    }
}

/// Checks that all routines are valid, gradients and updates included.
fn is_valid(tools: &Tools, file: &std::path::Path) -> Result<(), String> {
    let Some(text) = emitted(file, &["--routines"])? else { return Ok(()) };
    tools.verify(&text)
}

/// Stops after the first action: all values are set by then.
pub struct First;

impl Observer for First {
    fn printed(&mut self, _line: &str) {}
    fn stops(&mut self) -> bool {
        true
    }
}

/// Checks that the forward function and every routine
/// compute the same as a session from the same numbers.
fn same_values(tools: &Tools, file: &std::path::Path) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let name = file.to_string_lossy();
    let options =
        Options { folder: file.parent().map(PathBuf::from).unwrap_or_default(), ..Options::default() };
    let program = compile(&name, &text, &options);
    if !program.is_ok() {
        return Err(format!("{:?}", program.diagnostics));
    }
    let module = emitted(file, &["--routines"])?.ok_or("nothing is emitted")?;
    let (forward, _) = program.forward();
    let mut routines = if forward.is_empty() { Vec::new() } else { vec![forward] };
    routines.extend(program.plan.routines.iter().cloned());
    let slices: Vec<Tensor> = program.plan.slices.iter().map(|(slice, _)| *slice).collect();
    let mut session = started(program)?;
    for slice in slices {
        session.set_position(slice, 0).map_err(|error| error.to_string())?;
    }
    let (mut calls, mut expected) = (Vec::new(), Vec::new());
    for routine in &routines {
        calls.push(call(&module, routine, &mut session)?);
        session.run(routine).map_err(|error| error.to_string())?;
        expected.push(results(routine, &mut session)?);
    }
    let made = tools.run(&module, &calls)?;
    for ((routine, expected), made) in routines.iter().zip(&expected).zip(&made) {
        agree(expected, made).map_err(|wrong| format!("@{}: {wrong}", routine.name()))?;
    }
    Ok(())
}

/// A session of a program with all its numbers.
fn started(program: Program) -> Result<Session, String> {
    let settings = Settings { backend: broadloom::Backend::Reference, ..Settings::default() };
    let options = RunOptions { settings, ..RunOptions::default() };
    program.run(&options, &mut First).map_err(|wrong| wrong.message.clone())
}

/// A call of a routine with the current numbers of a session.
fn call(module: &str, routine: &Routine, session: &mut Session) -> Result<Call, String> {
    let key = random::key_of(Settings::default().seed, &format!("run {}", session.runs()));
    let function = routine.name().to_string();
    let (names, results) = signature(module, &function).ok_or("there is no such function")?;
    let mut arguments = Vec::new();
    for name in &names {
        arguments.push(argument(name, key, session)?);
    }
    Ok(Call { function, arguments, results })
}

/// The values of a session for the results of a routine, without gradients, which come after them.
pub fn results(routine: &Routine, session: &mut Session) -> Result<Vec<(String, Array)>, String> {
    let mut tensors = [routine.kept(), &routine.assigned(session.graph())].concat();
    tensors.sort_unstable();
    tensors.dedup();
    let graph = session.graph();
    // A gradient that is assigned to does not last, unless somebody keeps it.
    let lasts = |tensor: &Tensor| {
        let is_gradient = matches!(graph.node(*tensor), Some(Node::Leaf { kind: LeafKind::Gradient(_), .. }));
        !is_gradient || routine.kept().contains(tensor)
    };
    tensors.retain(lasts);
    tensors.retain(|tensor| {
        matches!(graph.node(*tensor), Some(Node::Operation { .. })) || routine.assigns(graph, *tensor)
    });
    let mut results = Vec::new();
    for tensor in tensors {
        let values = session.get(tensor).map_err(|error| error.to_string())?;
        results.push((session.graph().label_of(tensor), values));
    }
    Ok(results)
}

/// Results that are only rounding errors: parameters before a
/// normalisation, whose gradients are 0 up to rounding, which `adam` turns
/// into steps; and the direction of the difference of two equal tensors.
pub const NOISE: [&str; 2] = ["first.bias", "u"];

fn agree(expected: &[(String, Array)], made: &[Vec<f64>]) -> Result<(), String> {
    if expected.len() > made.len() {
        return Err(format!("{} results for {} tensors", made.len(), expected.len()));
    }
    let told = expected.iter().zip(made).filter(|((name, _), _)| !NOISE.contains(&name.as_str()));
    told.into_iter().try_for_each(|((name, expected), made)| close(name, expected, made))
}

/// The names of a function's arguments, and the types of its results.
fn signature(module: &str, function: &str) -> Option<(Vec<String>, Vec<Type>)> {
    let head = module.split(&format!("func.func @{function}(")).nth(1)?;
    let (arguments, rest) = head.split_once(") -> (")?;
    let (results, _) = rest.split_once(") {\n")?;
    let names = arguments.lines().filter_map(|line| line.trim().strip_prefix('%')?.split(':').next());
    let types = results.lines().filter_map(|line| {
        let inside = line.trim().strip_prefix("tensor<")?.split('>').next()?;
        let (sizes, element) = inside.rsplit_once('x').unwrap_or(("", inside));
        let sizes = sizes.split('x').filter(|size| !size.is_empty()).map(str::parse);
        Some((dtype(element)?, sizes.collect::<Result<_, _>>().ok()?))
    });
    Some((names.map(str::to_string).collect(), types.collect()))
}

/// The type of an element. `u8` and `i8` are the same there: results of `u8` are cast before they are shown.
fn dtype(name: &str) -> Option<Dtype> {
    Dtype::ALL.into_iter().filter(|dtype| *dtype != Dtype::U8).find(|dtype| element(*dtype) == name)
}

/// The value of a session for an argument.
fn argument(name: &str, key: u64, session: &mut Session) -> Result<Argument, String> {
    if name == "key" {
        return Ok(Argument::Integer(key as i64));
    }
    if name.starts_with("index_of_") {
        return Ok(Argument::Integer(0));
    }
    let graph = session.graph();
    let plain =
        |name: &str| name.replace(|letter: char| !letter.is_ascii_alphanumeric() && letter != '.', "_");
    let called = |tensor: &Tensor| {
        let own = graph.name_of(*tensor).map_or(format!("tmp{}", tensor.index()), plain);
        // Names that bodies use for their arguments are kept free.
        own == name || format!("_{own}") == name
    };
    let found = graph.tensors().find(called).ok_or_else(|| format!("who is `{name}`?"))?;
    if session.get(found).is_err() {
        // Numbers of repetitions have no values before they count.
        let (sizes, dtype) = (session.sizes_of(found), session.dtype(found));
        let (sizes, dtype) =
            sizes.and_then(|sizes| Ok((sizes, dtype?))).map_err(|error| error.to_string())?;
        let zeros = Array::zeros(dtype, &sizes).map_err(|error| error.to_string())?;
        session.set(found, &zeros).map_err(|error| error.to_string())?;
    }
    session.get(found).map(Argument::Tensor).map_err(|error| error.to_string())
}

/// Compares numbers, with a tolerance for the order of sums and the functions of another library.
pub fn close(name: &str, expected: &Array, made: &[f64]) -> Result<(), String> {
    let (exactly, expected) = (!expected.dtype().is_float(), expected.to_f64s());
    if expected.len() != made.len() {
        return Err(format!("`{name}` has {} numbers, not {}", made.len(), expected.len()));
    }
    let largest = expected
        .iter()
        .filter(|value| value.is_finite())
        .fold(0.0, |largest: f64, value| largest.max(value.abs()));
    for (at, (expected, made)) in expected.iter().zip(made).enumerate() {
        let same = expected == made || (expected.is_nan() && made.is_nan());
        let near = !exactly && (expected - made).abs() <= 1e-5 * largest.max(1.0);
        if !same && !near {
            return Err(format!("`{name}` at {at}: {made}, not {expected}"));
        }
    }
    Ok(())
}
