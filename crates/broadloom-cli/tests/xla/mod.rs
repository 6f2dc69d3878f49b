//! Routines on XLA compute the same as by the reference evaluator: values, gradients and updates of every example, of the programs of
//! the tests, and of programs that together use every feature.
//!
//! They run where `BROADLOOM_PYTHON` names a Python with JAX. Where it is not set they are shown as ignored, with a notice.

mod matrices;
mod mesh;
mod precision;
mod processes;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::mlir::{First, close, results};
use crate::support::{examples, loom_files, programs};
use broadloom::{Backend, Dtype, Graph, Mesh, Routine, Session, Settings, Sharding, Tensor};
use broadloom_lang::{Options, Program, RunOptions, compile};
use libtest_mimic::{Failed, Trial};

/// A session that lasts as long as the tests: the Python process ends with the last one, and takes seconds to start.
static KEPT: Mutex<Option<Session>> = Mutex::new(None);

/// Makes sure that the Python process is there, with enough devices for every test, and stays.
fn keep_running() -> Result<(), String> {
    let mut kept = KEPT.lock().map_err(|_| "another test has failed to start Python")?;
    if kept.is_none() {
        let settings = Settings { backend: Backend::Xla, ..Settings::default() };
        let mut session = Session::with(Graph::new(), settings).map_err(|error| error.to_string())?;
        let mesh = Mesh { axes: vec![("all".into(), 8)] };
        let everything = Sharding { mesh, shards: Vec::new(), stored_over: None, names: Vec::new() };
        let divided = session.divide(&[], &everything);
        let divided = divided.and_then(|divided| session.set_division(divided));
        divided.map_err(|error| error.to_string())?;
        *kept = Some(session);
    }
    Ok(())
}

/// A trial for every example, every model, every program of the tests, and every case of `mlir`.
pub fn trials() -> Vec<Trial> {
    let missing = std::env::var_os("BROADLOOM_PYTHON").is_none();
    if missing {
        eprintln!("notice: BROADLOOM_PYTHON names no Python with JAX, so nothing runs on XLA");
    }
    let trial = |kind: &str, precision: Dtype, file: PathBuf| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let run = move || same_values(&file, precision).map_err(Failed::from);
        Trial::test(format!("xla::{kind}::{name}"), run).with_ignored_flag(missing)
    };
    // Examples train with `adam`, which makes a step of a gradient that is 0 up to rounding: with long floats no such gradient is in the way.
    let of_examples = |file| trial("examples", Dtype::F64, file);
    let mut trials: Vec<Trial> = loom_files(&examples()).into_iter().map(of_examples).collect();
    // Known models, as small as they are without weights.
    let models = loom_files(&examples().join("models"));
    trials.extend(models.into_iter().map(|file| trial("models", Dtype::F32, file)));
    trials.extend(loom_files(&programs()).into_iter().map(|file| trial("programs", Dtype::F32, file)));
    for (name, text) in crate::mlir::CASES {
        let run =
            move || in_file(name, text).and_then(|file| same_values(&file, Dtype::F32)).map_err(Failed::from);
        trials.push(Trial::test(format!("xla::cases::{name}"), run).with_ignored_flag(missing));
    }
    for (name, text) in NOT_IN_MLIR {
        let run =
            move || in_file(name, text).and_then(|file| same_values(&file, Dtype::F32)).map_err(Failed::from);
        trials.push(Trial::test(format!("xla::cases::{name}"), run).with_ignored_flag(missing));
    }
    let sizes = || says_which_sizes().map_err(Failed::from);
    trials.push(Trial::test("xla::sizes", sizes).with_ignored_flag(missing));
    trials.extend(matrices::trials(missing));
    trials.extend(precision::trials(missing));
    trials.extend(mesh::trials(missing));
    trials.extend(processes::trials(missing));
    trials
}

/// A module is for one size of each name, and a notice says for which.
fn says_which_sizes() -> Result<(), String> {
    keep_running()?;
    let text = "dim n in 1..64 = 4\ndata x : n | 3 = normal(1)\nprint sum(x)\n";
    let program = compile("sizes.loom", text, &Options::default());
    let settings = Settings { backend: Backend::Xla, ..Settings::default() };
    let options = RunOptions { settings, ..RunOptions::default() };
    let session = program.run(&options, &mut First).map_err(|wrong| wrong.message.clone())?;
    match session.notices() {
        [notice] if notice.contains("at n = 4;") => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

/// Programs with what MLIR has no operation for: they sort, or use functions that it does not have.
const NOT_IN_MLIR: &[(&str, &str)] = &[
(
    // Products and convolutions of short floats, and a sum over turns that is rounded in the end alone.
    "short",
    "data x : 6, 8 | 3 as bf16 = normal(1)
data h : 4 | 5, 2 as f16 = normal(1)
let y = {v : ... -> 4 as bf16 = normal(1)} @ x
let c = einsum(\"b | o<+d, i; d, i -> f => b | o, f\", h, {k : 3, 2 -> 3 as f16 = normal(1)})
let z = x |> lstm(3)
let l = mean(\"... | ... => |\", square(y)) + mean(\"... | ... => |\", square(c)) + mean(\"... | ... => |\", square(z))
backward l
print y, c, z, v.grad, k.grad
",
),
(
    "averaged",
    "data x : 4, 8 | 3 = normal(1)
let w = {w : 3 as bf16 = [0.5, -1, 2]}
let b = {b : 2 = 0}
repeat part in 0..4:
  let loss = mean(\"... | ... => |\", square(tanh(sum(\"... | i => ... |\", w * x[part])) + b - [1, 2]))
  minimise loss by adamw(0.02) every 4
print w, b
",
),
(
    // What is lost when parameters are rounded is not lost by a compiler that leaves out conversions there and back.
    "master",
    "let b = {b : 2 as bf16 = [100, 1]}
let h = {h : 2 as f16 = [100, 1]}
repeat 3:
  minimise sum(b * [1, 0.25]) + sum(h * [1, 0.25]) by master(sgd(0.015625))
print b, h
",
),
(
    "gamma",
    "let l = sum(lgamma({w : 6 = [0.5, 1.25, 2.5, 7, 100, -1.5]})) + sum(digamma(w))
backward l
print l, w.grad, lgamma(w), digamma(w)
",
),
(
        "draws",
        "let n : 3 | 5 = noise(normal(1, 2))
let u = noise(uniform(-1, 1), \"4, 2\")
data logits : 50 | 3 = normal(1)
print n, u, bernoulli([0.2, 0.5, 0.9]), permutation(20), categorical(logits)
",
    ),
    (
    "sorted",
    "let x = {w : 3, 5 -> 4 = normal(1)}
data ids : 6 as i64 = [3, -1, 3, 0, -1, 2]
data odd : 5 = [1, 0, -1, 2, 0]
let values, places = topk(\"..., t -> ...\", 2)(x)
let sorted = sort(\"... -> t\")(x) + sort(\"t, ... -> ...\", descending = true)(x)
let loss = sum(square(values)) + sum(sorted ** 3)
backward loss
print loss, x.grad, places, argsort(\"t\", ids), argsort(\"t\", ids > 0, descending = true)
print argsort(\"t\", odd / odd), argsort(\"t\", 1 / odd, descending = true), searchsorted(\"t\")([-1, 0, 2], odd)
",
)];

/// A case in a file.
fn in_file(name: &str, text: &str) -> Result<PathBuf, String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("xla");
    let file = folder.join(format!("{name}.loom"));
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, text));
    written.map(|()| file).map_err(|error| error.to_string())
}

fn compiled(file: &Path, precision: Dtype) -> Result<Program, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let folder = file.parent().map(PathBuf::from).unwrap_or_default();
    let mut program = compile(&file.to_string_lossy(), &text, &Options { folder, ..Options::default() });
    program.graph.set_default_precision(precision);
    Ok(program)
}

/// A session of a program with all its numbers, at position 0 of every slice.
fn started(program: Program, backend: Backend) -> Result<Session, String> {
    let slices: Vec<Tensor> = program.plan.slices.iter().map(|(slice, _)| *slice).collect();
    let options =
        RunOptions { settings: Settings { backend, ..Settings::default() }, ..RunOptions::default() };
    let mut session = program.run(&options, &mut First).map_err(|wrong| wrong.message.clone())?;
    for slice in slices {
        session.set_position(slice, 0).map_err(|error| error.to_string())?;
    }
    Ok(session)
}

/// Runs the forward pass and every routine in both ways, each from the numbers that the reference evaluator has then.
fn same_values(file: &Path, precision: Dtype) -> Result<(), String> {
    let program = compiled(file, precision)?;
    if !program.is_ok() {
        // Wrong programs are tested elsewhere.
        return Ok(());
    }
    let (forward, _) = program.forward();
    let mut routines = if forward.is_empty() { Vec::new() } else { vec![forward] };
    routines.extend(program.plan.routines.iter().cloned());
    let Ok(mut judge) = started(program, Backend::Reference) else {
        // Programs without data or with mistakes that show at run time are tested elsewhere.
        return Ok(());
    };
    keep_running()?;
    let mut session = started(compiled(file, precision)?, Backend::Xla)?;
    for routine in &routines {
        same_results(routine, &mut judge, &mut session)
            .map_err(|wrong| format!("`{}`: {wrong}", routine.name()))?;
    }
    Ok(())
}

fn same_results(routine: &Routine, judge: &mut Session, session: &mut Session) -> Result<(), String> {
    let assigned = routine.assigned(judge.graph());
    let Ok(()) = judge.run(routine) else { return Ok(()) };
    session.run(routine).map_err(|error| error.to_string())?;
    let expected = results(routine, judge)?;
    for ((name, expected), (_, made)) in expected.iter().zip(results(routine, session)?) {
        if !crate::mlir::NOISE.contains(&name.as_str()) {
            close(name, expected, &made.to_f64s())?;
            if !expected.dtype().is_float() && *expected != made {
                return Err(format!("`{name}` has other integers"));
            }
        }
    }
    for tensor in assigned {
        // A gradient that is assigned to may not last.
        let Ok(values) = judge.get(tensor) else { continue };
        // A computed tensor that is assigned to cannot be set; it is computed anew.
        let _ = session.set(tensor, &values);
    }
    Ok(())
}
