//! The modules of all crates: they use each other in no circle, apart from a file and its submodules; and those of the graph stand in an order.
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
    "notation",
    "open",
    "operation::slot",
    "operation::table",
    "spec_options",
    "symbols::table",
    "spec_window",
    "step",
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
    "elaborate",
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

#[test]
fn modules_of_the_graph_use_those_above_them() {
    let belongs = |module: &str, known: &str| module == known || module.starts_with(&format!("{known}::"));
    let place = |module: &str| {
        let known = GRAPH.iter().enumerate().filter(|(_, known)| belongs(module, known));
        known.max_by_key(|(_, known)| known.len()).map(|(at, _)| at)
    };
    let mut problems = Vec::new();
    for (from, to) in Crate::read(&crates().join("broadloom-graph")).uses() {
        match (place(&from), place(&to)) {
            (Some(user), Some(used)) if used <= user => {}
            (Some(_), Some(_)) => problems.push(format!("{from} uses {to}, which stands below it")),
            _ => problems.push(format!("{from} or {to} is not in the list")),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn methods_of_the_graph_are_where_the_list_says() {
    let folder = crates().join("broadloom-graph/src");
    let mut found = BTreeSet::new();
    let mut open = vec![folder.clone()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("a file").path();
            if path.is_dir() {
                open.push(path);
            } else if fs::read_to_string(&path).expect("a source").lines().any(|line| line == "impl Graph {")
            {
                found.insert(
                    path.strip_prefix(crates().join("broadloom-graph/src"))
                        .expect("a path")
                        .to_string_lossy()
                        .replace('\\', "/"),
                );
            }
        }
    }
    assert_eq!(found, GRAPH_METHODS.iter().map(|file| file.to_string()).collect());
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
