//! The modules of all crates: they use each other in no circle, apart from a file and its submodules; and those of the graph stand in an order.
//!
//! The solver has a stricter table of its own (`tests/modules.rs` of `broadloom-core`).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::module_reader::{Crate, circles};

/// Circles that are left, by crate, each with the modules in it: they may become smaller, and no others may come.
const KNOWN: &[(&str, &[&str])] = &[
    ("broadloom-array", &["array", "dtype"]),
    ("broadloom-fuzz", &["campaign", "minimise"]),
    ("broadloom-loops", &["function", "mlir", "program", "reference", "scalar"]),
    ("broadloom-loops", &["lent", "memory"]),
    ("broadloom-native", &["compiled", "compiler", "emit", "family"]),
    ("broadloom-native", &["arena", "plan"]),
    ("broadloom-native", &["expression", "print"]),
    ("broadloom-python", &["program", "running", "stablehlo"]),
    ("broadloom-python", &["data", "errors"]),
    ("broadloom-xla", &["function", "parts", "shard"]),
    ("broadloom-xla", &["driver", "follow", "group"]),
];

/// The modules of `broadloom-graph`: each uses modules above it only. Submodules that are not listed belong to their module.
const GRAPH: &[&str] = &[
    "along",
    "declaration",
    "discard",
    "notation",
    "open",
    "operation::slot",
    "operation::table",
    "spec_options",
    "symbols::table",
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
    "assigned",
    "broadcasts",
    "capture",
    "elaborate",
    "inferred",
    "logic",
    "matrices",
    "names",
    "node",
    "precision",
    "scan",
    "shape_source",
    "sort",
    "symbols",
    "undetermined",
    "certificate",
    "lookup",
    "scheme",
    "shape_queries",
    "size_expr",
    "spec_axis",
    "leaves",
    "project",
    "fit",
    "lowering",
    "nest",
    "message",
];

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
            let is_known = |(krate, known): &(&str, &[&str])| {
                *krate == name && families.iter().all(|module| known.contains(module))
            };
            if families.len() > 1 && !KNOWN.iter().any(is_known) {
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
