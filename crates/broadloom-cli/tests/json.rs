//! All output of `--json` conforms to `docs/schema.json`.

use crate::support;

use serde_json::{Value, json};
use support::schema::errors;
use support::{World, broadloom, examples, loom_files, programs};

fn schema() -> Value {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema.json");
    let text = std::fs::read_to_string(file).expect("the schema");
    serde_json::from_str(&text).expect("the schema is JSON")
}

/// Runs a command with `--json`: it must print one object on one line that conforms to the schema,
/// and nothing for people.
#[track_caller]
fn valid(schema: &Value, arguments: &[&str]) -> Value {
    let said = broadloom(arguments, &World::default());
    assert_eq!(said.stdout.matches('\n').count(), 1, "{arguments:?} prints\n{}", said.stdout);
    let value: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let errors = errors(schema, &value);
    assert!(errors.is_empty(), "{arguments:?} prints\n{}\n{}", said.stdout, errors.join("\n"));
    assert_eq!(value["command"], arguments[0]);
    let wrong =
        value["diagnostics"].as_array().is_some_and(|all| all.iter().any(|each| each["severity"] == "error"));
    let unformatted = arguments.contains(&"--check");
    assert!(wrong == (said.status != 0) || unformatted, "{arguments:?}: {}", said.status);
    value
}

#[test]
fn everything_is_as_the_schema_says() {
    let schema = schema();
    for file in loom_files(&programs()).iter().chain(&loom_files(&examples())) {
        let file = file.to_str().expect("a path in UTF-8");
        valid(&schema, &["check", file, "--json"]);
        valid(&schema, &["check", file, "--json", "--all", "--verbose"]);
        valid(&schema, &["shapes", file, "--json"]);
        valid(&schema, &["shapes", file, "--json", "--at", "3"]);
        valid(&schema, &["fmt", file, "--json", "--check"]);
        valid(&schema, &["highlight", file, "--json"]);
        valid(&schema, &["loops", file, "--json", "--all"]);
        valid(&schema, &["graph", file, "--json", "--all"]);
        valid(&schema, &["lint", file, "--json"]);
        valid(&schema, &["check", file, "--json", "--signatures"]);
        let value = valid(&schema, &["check", file, "--json"]);
        let names =
            value["tensors"].as_array().into_iter().flatten().filter_map(|tensor| tensor["name"].as_str());
        for name in names.take(5) {
            let said = broadloom(&["explain", file, name, "--json"], &World::default());
            let errors = errors(&schema, &serde_json::from_str(&said.stdout).expect("JSON"));
            assert!(errors.is_empty(), "{file} {name}: {}\n{}", said.stdout, errors.join("\n"));
        }
    }
}

#[test]
fn signatures_of_functions() {
    let schema = schema();
    let file = programs().join("functions.loom");
    let file = file.to_str().expect("a path in UTF-8");
    let all = valid(&schema, &["check", file, "--json", "--signatures"]);
    assert_eq!(all["signatures"].as_array().map(Vec::len), Some(4));
    let one = valid(&schema, &["explain", file, "attention(8)", "--json"]);
    assert_eq!(one["signatures"][0]["arguments"][0]["shape"], "..b.., s | ..m..");
    assert_eq!(one["signatures"][0]["where"][0], "`..m..` is a multiple of 8");
}

#[test]
fn programs_on_a_mesh() {
    let schema = schema();
    let file = programs().join("mesh.loom");
    let file = file.to_str().expect("a path in UTF-8");
    let on = ["--json", "--mesh", "data=4,model=2", "--shard", "batch=data", "--shard", "hidden=model"];
    for command in ["check", "memory"] {
        let all = valid(&schema, &[&[command, file][..], &on].concat());
        assert_eq!(all["mesh"]["devices"], 8, "{command}");
        assert_eq!(all["mesh"]["routines"][0]["totals"][1]["over"][0], "model", "{command}");
    }
    let own = programs().join("on_mesh.loom");
    let own = own.to_str().expect("a path in UTF-8");
    for command in ["check", "memory"] {
        let all = valid(&schema, &[command, own, "--json"]);
        assert_eq!(all["mesh"]["devices"], 8, "{command}");
    }
    let uneven =
        broadloom(&["check", file, "--json", "--mesh", "data=3", "--shard", "batch=data"], &World::default());
    let uneven: Value = serde_json::from_str(&uneven.stdout).expect("JSON");
    assert!(errors(&schema, &uneven).is_empty() && uneven["mesh"].is_null(), "{uneven}");
}

#[test]
fn runs_and_systems() {
    let schema = schema();
    let program = |name: &str| programs().join(name).to_str().expect("a path in UTF-8").to_string();
    let run =
        valid(&schema, &["run", &program("line.loom"), "--json", "--backend", "reference", "--verbose"]);
    assert_eq!(run["printed"].as_array().map(Vec::len), Some(6));
    assert_eq!(run["losses"][0]["repetitions"], 200);
    for (name, arrays) in [
        ("arrays.loom", "good.npz"),
        ("arrays.loom", "wrong.npz"),
        ("named_sizes.loom", "good.npz"),
        ("named_sizes.loom", "disagree.npz"),
        ("named_sizes.loom", "large.npz"),
        ("columns.loom", "points.csv"),
        ("mismatch.loom", "good.npz"),
        ("arrays.loom", "nothing.npz"),
    ] {
        let arrays = program(&format!("arrays/{arrays}"));
        valid(&schema, &["verify", &program(name), "--json", "--inputs", &arrays]);
    }
    for name in ["diverges.loom", "no_values.loom", "mismatch.loom", "syntax.loom", "empty.loom"] {
        valid(&schema, &["run", &program(name), "--json", "--backend", "reference"]);
    }
    let system = |name: &str| examples().join(name).to_str().expect("a path in UTF-8").to_string();
    for name in ["clash.rows", "layer.rows", "middle.rows", "periodic.rows"] {
        valid(&schema, &["solve", &system(name), "--json"]);
    }
    valid(&schema, &["solve", &system("layer.rows"), "--json", "--explain", "w_out"]);
    valid(&schema, &["solve", &system("layer.rows"), "--json", "--explain", "nobody"]);
    let malformed = valid(&schema, &["solve", &program("syntax.loom"), "--json"]);
    assert_eq!(malformed["diagnostics"][0]["line"], 1);
    let clash = valid(&schema, &["solve", &system("clash.rows"), "--json"]);
    assert_eq!(clash["diagnostics"][0]["line"], 8);
}

#[test]
fn what_cannot_be_done() {
    let schema = schema();
    for command in ["check", "shapes", "run", "solve"] {
        let value = valid(&schema, &[command, "nowhere.loom", "--json"]);
        let message = "cannot read nowhere.loom: there is no such file";
        assert_eq!(value["diagnostics"][0]["message"], message);
    }
    let value = valid(&schema, &["fmt", "nowhere.loom", "--json"]);
    assert_eq!(value["diagnostics"][0]["message"], "cannot read nowhere.loom: there is no such file");
    let file = programs().join("mlp.loom");
    let value = valid(&schema, &["explain", file.to_str().expect("a path"), "logitz", "--json"]);
    assert_eq!(value["diagnostics"][0]["message"], "nothing is called `logitz`; did you mean `logits`?");
}

/// The validator finds mistakes, and the schema is complete.
#[test]
fn the_schema_is_strict() {
    let schema = schema();
    let good = json!({ "broadloom": 1, "command": "shapes", "diagnostics": [], "file": "a", "at": 3, "dims": [], "tensors": [{
        "name": "x", "shape": "3", "rows": { "batch": [], "input": [], "output": [3, "_"] }, "complete": true,
        "file": "a", "line": 1
    }] });
    assert_eq!(errors(&schema, &good), [""; 0]);
    let changes: [(&str, Value); 8] = [
        ("/broadloom", json!(2)),
        ("/command", json!("shape")),
        ("/at", json!(0)),
        ("/at", json!("3")),
        ("/tensors/0/line", json!(1.5)),
        ("/tensors/0/rows/output/0", json!(null)),
        ("/tensors/0/rows/output", json!(3)),
        ("/tensors/0/rows/input/0", json!(-1)),
    ];
    for (place, change) in changes {
        let mut bad = good.clone();
        match bad.pointer_mut(place) {
            Some(value) => *value = change.clone(),
            None => bad["tensors"][0]["rows"]["input"] = json!([change]),
        }
        assert!(!errors(&schema, &bad).is_empty(), "{place} may not be {change}");
    }
    let mut more = good.clone();
    more["tensors"][0]["color"] = json!("red");
    assert_eq!(errors(&schema, &more), ["$.tensors[0]: `color` is not known"]);
    let mut less = good;
    less.as_object_mut().expect("an object").remove("file");
    assert_eq!(errors(&schema, &less), ["$: `file` is missing"]);
}
