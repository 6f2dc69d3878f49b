//! Golden values, and programs that are compared with them.

use std::path::PathBuf;

use broadloom::files::read_npz;
use broadloom::{Array, Backend, Dtype, Session, Settings, Tensor};
use broadloom_diagnostics::{Style, render, render_all};
use broadloom_lang::{Options, Program, RunOptions, compile};

pub fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../broadloom/tests/golden")
}

pub fn array(case: &str, key: &str) -> Array {
    let arrays = read_npz(golden().join(format!("{case}.npz"))).unwrap();
    arrays
        .into_iter()
        .find(|(name, _)| name == key)
        .map_or_else(|| panic!("{case} has no {key}"), |(_, array)| array)
}

pub fn has(case: &str, key: &str) -> bool {
    read_npz(golden().join(format!("{case}.npz"))).unwrap().iter().any(|(name, _)| name == key)
}

pub fn number(case: &str, key: &str) -> f64 {
    array(case, key).to_f64s()[0]
}

pub fn compiled(text: &str) -> Program {
    let options = Options { folder: golden(), ..Options::default() };
    let mut program = compile("test.loom", text, &options);
    program.graph.set_default_precision(Dtype::F64);
    let messages = render_all(&program.sources, &program.diagnostics, 0, Style::default());
    assert!(program.is_ok(), "{messages}");
    program
}

pub fn found(program: &Program, name: &str) -> Tensor {
    program.find(name).unwrap_or_else(|| {
        let names: Vec<&str> = program.made.iter().map(|made| made.name.as_str()).collect();
        panic!("nothing is called {name}, but {}", names.join(", "))
    })
}

pub fn run(program: Program, inputs: Vec<(String, Array)>) -> (Session, Vec<String>) {
    run_by(Backend::Reference, program, inputs)
}

pub fn run_by(backend: Backend, program: Program, inputs: Vec<(String, Array)>) -> (Session, Vec<String>) {
    let sources = program.sources.clone();
    let settings = Settings { backend, ..Settings::default() };
    let mut printed = Vec::<String>::new();
    match program.run(&RunOptions { settings, inputs, ..RunOptions::default() }, &mut printed) {
        Ok(session) => (session, printed),
        Err(diagnostic) => panic!("{}", render(&sources, &diagnostic, Style::default())),
    }
}

#[track_caller]
pub fn close(what: &str, found: &[f64], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let error = (found - wanted).abs() / wanted.abs().max(1.0);
        assert!(error < 1e-9, "{what}, element {at}: {found} in place of {wanted}");
    }
}

/// Runs a program whose result is `y`, and compares results and gradients. `leaves` maps the
/// parameters and data of the program to the names of their golden values.
#[track_caller]
pub fn check(case: &str, text: &str, leaves: &[(&str, &str)]) {
    check_by(Backend::Reference, case, text, leaves);
}

#[track_caller]
pub fn check_by(backend: Backend, case: &str, text: &str, leaves: &[(&str, &str)]) {
    let rows = match array(case, "y").sizes().len() {
        0 => "|",
        _ if text.contains("# flat") => "... |",
        _ if text.contains("# matrix") => "... | _ -> _",
        _ if text.contains("# heads") => "... | _, _",
        2 => "... | _",
        rank => &format!("... | {}", vec!["_"; rank - 1].join(", ")),
    };
    let rows = if text.contains("# sequence") { "... | _" } else { rows };
    let weights = format!("data weights : {rows} = load(\"{case}.npz\", \"weights\")");
    // Gradients of data are computed only if the program reads them.
    let plain = leaves.iter().filter(|(name, key)| !name.contains('.') && has(case, &format!("grad_{key}")));
    let asked: String = plain.map(|(name, _)| format!("let {name}_gradient = {name}.grad\n")).collect();
    let total = format!("{weights}\nlet total = sum(y * weights)\n{asked}backward total\nprint y");
    let mut program = compiled(&format!("{}\n{total}", text.replace("CASE", &format!("{case}.npz"))));
    let mut gradients = Vec::new();
    for (name, key) in leaves {
        if has(case, &format!("grad_{key}")) {
            let tensor = found(&program, name);
            let gradient = program.graph.gradient(tensor).unwrap();
            program.plan.routines[0].keep(gradient);
            gradients.push((gradient, format!("grad_{key}")));
        }
    }
    let y = found(&program, "y");
    let inputs = leaves.iter().map(|(name, key)| (name.to_string(), array(case, key))).collect();
    let (mut session, _) = run_by(backend, program, inputs);
    close(&format!("{case}: y"), &session.get(y).unwrap().to_f64s(), &array(case, "y").to_f64s());
    for (gradient, key) in gradients {
        let values = session.get(gradient).unwrap().to_f64s();
        close(&format!("{case}: {key}"), &values, &array(case, &key).to_f64s());
    }
}

pub fn size(case: &str, key: &str) -> String {
    array(case, key).sizes()[0].to_string()
}

pub fn sizes_of(case: &str, key: &str) -> String {
    array(case, key).sizes().iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

pub fn transposed(matrix: &Array) -> Array {
    let (rows, columns) = (matrix.sizes()[0] as usize, matrix.sizes()[1] as usize);
    let values = matrix.to_f64s();
    let turned: Vec<f64> = (0..rows * columns).map(|at| values[(at % rows) * columns + at / rows]).collect();
    Array::from_slice(&[columns as u64, rows as u64], &turned).unwrap()
}
