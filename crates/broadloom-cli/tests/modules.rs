//! The modules of all crates: they use each other in no circle, apart from a file and its submodules; and those of the graph, and of the evaluation of
//! the language, stand in an order.
//!
//! The solver has a stricter table of its own (`tests/modules.rs` of `broadloom-core`).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use broadloom_testing::module_reader::{Crate, circles};

/// The modules of `broadloom-graph`: each uses modules above it only. Submodules that are not listed belong to their module.
const GRAPH: &[&str] = &[
    // data
    "along",
    "declaration",
    "discard",
    "spec_parts",
    "notation",
    "rust_code",
    "operation::slot",
    "operation::table",
    "operation::id",
    "spec_options",
    "symbols::table",
    "spec_window",
    "step",
    "open",
    "error",
    "size",
    "view",
    "formula",
    "initial",
    "shape",
    "facts",
    "operation",
    "graph",
    // what is known so far
    "symbols::read",
    "partial_shape",
    "captured",
    "names",
    "node",
    "precision",
    "spec_axis",
    // contradictions in the names of the program
    "message",
    // steps that are kept or taken back, and closing
    "transaction",
    "undetermined",
    "final_shapes",
    "symbols",
    // steps
    "capture",
    "size_expr",
    "spec_composed",
    "elaborate",
    "declared",
    "leaves",
    "logic",
    "scan",
    "lookup",
    "sort",
    "matrices",
    "assigned",
    "scheme",
    // answers
    "shape_source",
    "broadcasts",
    "inferred",
    "project",
    "nest",
    "certificate",
    "fit",
    "why",
    "lowering",
    "questions",
];

/// The files in which a graph has methods: those that add steps, and one with the questions of users. All others are functions that read it, so that
/// the order above is all there is.
const GRAPH_METHODS: &[&str] = &[
    "assigned.rs",
    "capture.rs",
    "declared.rs",
    "graph.rs",
    "leaves.rs",
    "logic.rs",
    "lookup.rs",
    "matrices.rs",
    "questions.rs",
    "scan.rs",
    "scheme.rs",
    "size_expr.rs",
    "sort.rs",
    "symbols.rs",
    "transaction.rs",
];

/// The modules of evaluation, below the one with its state (`eval` itself, which all of them are given): each uses modules above it only.
const EVAL: &[&str] = &[
    // data
    "applied",
    "bound_names",
    "first_values",
    "given",
    "loaded",
    "taken_names",
    "watched",
    "unknown",
    "needs",
    // the state: sizes, paths, numbers and shapes as they are written, steps of the graph
    "reporting",
    "axis_names",
    "dim",
    "path",
    "written",
    "act",
    "around",
    "averaged",
    "checkpoint",
    "declared",
    "elements",
    "formula",
    "interface",
    "looked",
    "traps",
    // mistakes
    "advice",
    "report",
    // functions of the language
    "call",
    "contract",
    "stated_sizes",
    "spec",
    "label_sizes",
    "weights",
    "load",
    "streams",
    "builtin",
    "tried",
    "library",
    // values, expressions, functions, statements
    "expr",
    "leaf",
    "convert",
    "replay",
    "unapplied",
    "apply",
    "action",
    "aside",
    "scheme",
    "statement",
];

/// The files in which the state of evaluation has methods: those that need each other, and the whole state. All else is a function that is given it.
const EVAL_METHODS: &[&str] = &[
    "action.rs",
    "apply.rs",
    "aside.rs",
    "convert.rs",
    "expr.rs",
    "leaf.rs",
    "mod.rs",
    "replay/record.rs",
    "reporting.rs",
    "scheme.rs",
    "spec.rs",
    "statement.rs",
];

/// The greatest number of methods of the trait through which a graph is lowered.
const FACE: usize = 25;

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The name of the file that a module belongs to, without its submodules.
fn family(module: &str) -> &str {
    module.split("::").next().unwrap_or(module)
}

#[test]
fn circles_stay_within_a_file_and_its_submodules() {
    let mut problems = Vec::new();
    for entry in fs::read_dir(crates()).expect("the crates") {
        let folder = entry.expect("a crate").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        for circle in circles(&Crate::read(&folder).uses()) {
            let families: BTreeSet<&str> = circle.iter().map(|module| family(module)).collect();
            if families.len() > 1 {
                problems.push(format!("{name}: {circle:?}"));
            }
        }
    }
    assert!(problems.is_empty(), "modules that use each other in a circle:\n{}", problems.join("\n"));
}

/// Uses that run against an order of modules, of which each stands below those that it uses. Submodules that are not listed belong to their module.
fn against(order: &[&str], uses: &BTreeSet<(String, String)>) -> Vec<String> {
    let belongs = |module: &str, known: &str| module == known || module.starts_with(&format!("{known}::"));
    let place = |module: &str| {
        let known = order.iter().enumerate().filter(|(_, known)| belongs(module, known));
        known.max_by_key(|(_, known)| known.len()).map(|(at, _)| at)
    };
    let wrong = uses.iter().filter_map(|(from, to)| match (place(from), place(to)) {
        (Some(user), Some(used)) if used <= user => None,
        (Some(_), Some(_)) => Some(format!("{from} uses {to}, which stands below it")),
        _ => Some(format!("{from} or {to} is not in the list")),
    });
    wrong.collect()
}

/// The files below a folder that have a line which begins like this.
fn files_with(folder: &Path, beginning: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(inner) = open.pop() {
        for entry in fs::read_dir(inner).expect("a folder of sources") {
            let path = entry.expect("a file").path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).expect("a source");
            if text.lines().any(|line| line.starts_with(beginning)) {
                let inside = path.strip_prefix(folder).expect("a path").to_string_lossy().replace('\\', "/");
                found.insert(inside);
            }
        }
    }
    found
}

fn listed(files: &[&str]) -> BTreeSet<String> {
    files.iter().map(ToString::to_string).collect()
}

#[test]
fn modules_of_the_graph_use_those_above_them() {
    let problems = against(GRAPH, &Crate::read(&crates().join("broadloom-graph")).uses());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn methods_of_the_graph_are_where_the_list_says() {
    assert_eq!(files_with(&crates().join("broadloom-graph/src"), "impl Graph {"), listed(GRAPH_METHODS));
}

#[test]
fn modules_of_evaluation_use_those_above_them() {
    let inside = |module: &str| module.strip_prefix("eval::").map(str::to_string);
    let uses = Crate::read(&crates().join("broadloom-lang")).uses();
    let uses = uses.iter().filter_map(|(from, to)| Some((inside(from)?, inside(to)?))).collect();
    let problems = against(EVAL, &uses);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn methods_of_evaluation_are_where_the_list_says() {
    let folder = crates().join("broadloom-lang/src/eval");
    let found = &files_with(&folder, "impl Eval<") | &files_with(&folder, "impl<'o> Eval<");
    assert_eq!(found, listed(EVAL_METHODS));
}

/// The methods of the trait through which a graph is lowered.
fn face() -> BTreeSet<String> {
    let source = fs::read_to_string(crates().join("broadloom-graph/src/lowering.rs")).expect("lowering.rs");
    let (_, from) = source.split_once("pub trait Face {").expect("the trait");
    let (methods, _) = from.split_once("\n}").expect("its end");
    let names = methods.lines().filter_map(|line| line.trim().strip_prefix("fn "));
    names.map(|line| line.split(['(', '<']).next().unwrap_or(line).to_string()).collect()
}

#[test]
fn the_face_of_the_graph_is_narrow_and_listed() {
    let (face, document) =
        (face(), fs::read_to_string(crates().join("../ARCHITECTURE.md")).expect("ARCHITECTURE.md"));
    assert!(face.len() <= FACE, "{} methods", face.len());
    let (_, from) =
        document.split_once("`broadloom_graph::lowering::Face`").expect("the section about the trait");
    let rows =
        from.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells =
        rows.filter_map(|row| row.split('|').nth(1)).flat_map(|cell| cell.split('`').skip(1).step_by(2));
    assert_eq!(cells.map(String::from).collect::<BTreeSet<String>>(), face);
}
