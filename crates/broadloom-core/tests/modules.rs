//! The modules of this crate and what each of them may use.
//!
//! [`ALLOWED`] is the architecture of the crate as a table. The test reads the sources, finds which module uses which
//! (in `use` declarations and in paths such as `crate::form::Form`), and compares. It fails if a module uses one that
//! is not listed for it, if the table lists more than is used, and if files use each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use broadloom_testing::module_reader::Crate;

/// Every module with the modules it uses, from the bottom to the top: a module uses modules above it in this table
/// only. The files of a module may use each other, but not in a circle.
const ALLOWED: &[(&str, &[&str])] = &[
    // The algebra: no variables, no solver.
    ("ids", &[]),
    ("number", &[]),
    ("order", &["ids"]),
    ("form", &["ids", "number"]),
    ("size", &["form"]),
    ("affine", &["size"]),
    ("term", &["affine", "ids"]),
    ("projection", &["affine", "size"]),
    // The facts, and readings of them.
    ("solver::components", &["ids"]),
    ("solver::stores", &["affine", "form", "ids", "order", "solver::components", "term"]),
    ("solver::known", &["form", "ids", "order", "solver::stores", "term"]),
    ("solver::forms", &["form", "ids", "solver::known", "solver::stores", "term"]),
    ("solver::canonical", &["order", "solver::stores", "term"]),
    ("solver::stated", &["solver::stores", "term"]),
    // Semantic steps.
    (
        "solver::propagate",
        &["form", "ids", "number", "order", "solver::forms", "solver::known", "solver::stores", "term"],
    ),
    // Looking without closing.
    (
        "solver::report",
        &[
            "order",
            "solver::canonical",
            "solver::components",
            "solver::forms",
            "solver::propagate",
            "solver::stores",
            "term",
        ],
    ),
    ("solver::subsystem", &["solver::propagate", "solver::report", "solver::stores", "term"]),
    ("solver::explain", &["ids", "solver::propagate", "solver::report", "solver::stores", "term"]),
    // Policy steps.
    (
        "solver::closing",
        &[
            "form",
            "ids",
            "number",
            "order",
            "solver::components",
            "solver::explain",
            "solver::known",
            "solver::propagate",
            "solver::stores",
            "term",
        ],
    ),
    (
        "solver::search",
        &[
            "ids",
            "number",
            "solver::canonical",
            "solver::closing",
            "solver::explain",
            "solver::propagate",
            "solver::stores",
            "solver::subsystem",
            "term",
        ],
    ),
    // Answers and why they are so.
    (
        "solver::cores",
        &[
            "form",
            "ids",
            "order",
            "solver::closing",
            "solver::explain",
            "solver::forms",
            "solver::known",
            "solver::report",
            "solver::search",
            "solver::stores",
            "solver::subsystem",
            "term",
        ],
    ),
    (
        "solver::shortest",
        &["ids", "solver::explain", "solver::propagate", "solver::report", "solver::stores", "term"],
    ),
    (
        "solver::closed",
        &[
            "form",
            "ids",
            "order",
            "solver::closing",
            "solver::cores",
            "solver::explain",
            "solver::known",
            "solver::report",
            "solver::shortest",
            "solver::stores",
            "term",
        ],
    ),
    (
        "solver::close",
        &[
            "ids",
            "solver::canonical",
            "solver::closed",
            "solver::closing",
            "solver::cores",
            "solver::explain",
            "solver::propagate",
            "solver::search",
            "solver::stores",
            "solver::subsystem",
            "term",
        ],
    ),
    // The public face.
    (
        "solver",
        &[
            "form",
            "order",
            "solver::close",
            "solver::closed",
            "solver::closing",
            "solver::cores",
            "solver::explain",
            "solver::forms",
            "solver::known",
            "solver::propagate",
            "solver::report",
            "solver::shortest",
            "solver::stated",
            "solver::stores",
            "solver::subsystem",
            "term",
        ],
    ),
];

/// The files in which types that many modules borrow have their methods: elsewhere a method would be a way past the
/// table.
const METHODS: &[(&str, &str)] = &[("State", "solver::stores::state"), ("Solver", "solver")];

#[test]
fn modules_use_what_the_table_allows() {
    let crate_ = Crate::read(Path::new(env!("CARGO_MANIFEST_DIR")));
    let mut problems = Vec::new();
    let order: Vec<&str> = ALLOWED.iter().map(|(module, _)| *module).collect();
    for (at, (module, uses)) in ALLOWED.iter().enumerate() {
        let below = |used: &&&str| !order[..at].contains(used);
        problems.extend(
            uses.iter()
                .filter(below)
                .map(|used| format!("the table lets {module} use {used}, which is not above it")),
        );
    }
    let mut seen: BTreeSet<(&str, &str)> = BTreeSet::new();
    for (file, used) in crate_.uses() {
        let (Some(from), Some(to)) = (entry(&file), entry(&used)) else {
            problems.push(format!("{file} or {used} is not in the table"));
            continue;
        };
        if from == to {
            continue;
        }
        seen.insert((from, to));
        if !allowed(from).contains(&to) {
            problems.push(format!("{file} uses {used}, but {from} may not use {to}"));
        }
    }
    for (module, uses) in ALLOWED {
        let stale = uses.iter().filter(|used| !seen.contains(&(module, used)));
        problems.extend(
            stale.map(|used| format!("{module} does not use {used} any more: take it out of the table")),
        );
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn files_form_no_circle() {
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, used) in Crate::read(Path::new(env!("CARGO_MANIFEST_DIR"))).uses() {
        uses.entry(file).or_default().insert(used);
    }
    // Files that use only files that are gone go, until none does.
    loop {
        let users: BTreeSet<String> = uses.keys().cloned().collect();
        uses.values_mut().for_each(|used| used.retain(|file| users.contains(file)));
        let before = uses.len();
        uses.retain(|_, used| !used.is_empty());
        if uses.len() == before {
            break;
        }
    }
    assert!(uses.is_empty(), "these files use each other in a circle, or use such files: {uses:#?}");
}

#[test]
fn shared_types_have_their_methods_in_one_file() {
    for (module, text) in Crate::read(Path::new(env!("CARGO_MANIFEST_DIR"))).files {
        for (name, home) in METHODS {
            let elsewhere = module != *home && text.contains(&format!("\nimpl {name} {{"));
            assert!(
                !elsewhere,
                "{module} has methods of {name}: make them functions, or move them to {home}"
            );
        }
    }
}

/// The entry of the table that a file belongs to: the longest name that its path begins with.
fn entry(file: &str) -> Option<&'static str> {
    let belongs =
        |module: &&str| file == *module || file.starts_with(&format!("{module}::")) && *module != "solver";
    ALLOWED.iter().map(|(module, _)| *module).filter(belongs).max_by_key(|module| module.len())
}

/// The modules that an entry of the table may use.
fn allowed(module: &str) -> &'static [&'static str] {
    ALLOWED.iter().find(|(name, _)| *name == module).map_or(&[], |(_, uses)| uses)
}
