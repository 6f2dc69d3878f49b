//! The verdict of `verification/check`, tested with a fake `lean`: proofs, refutations, and
//! neither. The real Lean takes minutes; `.ci/run` uses it.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The fake compiles files without a mark, and objects
/// to those with one, in the words of Lean 4.28.
const LEAN: &str = r#"#!/bin/sh
case $1 in --version) echo 'Lean (version 4.28.0)'; exit ;; esac
while [ $# -gt 1 ]; do case $1 in -o) olean=$2; shift ;; esac; shift; done
if [ "$1" = Axioms.lean ]; then echo "'a' depends on axioms: [propext, Quot.sound]"; exit; fi
says() { printf '%s:9:9: error: Tactic `decide` proved that the proposition\n  %s = true\nis false\n' "$file" "$1"; }
file=$1 status=0
if [ "$file" = WrongRange.lean ]; then says 'checkAll family system solution'; status=1; fi
if [ "$file" = Wrong.lean ] || grep -q 'mark: false' "$file"; then says 'check system solution'; status=1; fi
if grep -q 'mark: shapes' "$file"; then says 'gives solution shapes'; status=1; fi
if grep -q 'mark: broken' "$file"; then echo "$file:9:9: error: unexpected token"; status=1; fi
[ $status -eq 1 ] || echo compiled > "$olean"
exit $status
"#;

/// A folder with the fake and some certificates, each with a mark for its mistake.
fn stage(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let lean = folder.join("lean");
    std::fs::write(&lean, LEAN).expect("a file for the test");
    std::fs::set_permissions(&lean, std::fs::Permissions::from_mode(0o755)).expect("a program");
    for mark in ["fine", "false", "shapes", "broken", "false broken", "sorry"] {
        let marks = mark.split(' ').map(|mark| format!("-- mark: {mark}\n"));
        let file = format!("{}{}.lean", mark[..1].to_uppercase(), mark[1..].replace(' ', "_"));
        std::fs::write(folder.join(file), marks.collect::<String>()).expect("a file for the test");
    }
    folder
}

/// Runs `verification/check`, and returns true if it succeeds, and its output.
fn check(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../verification/check");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .arg(script)
        .args(arguments)
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("BROADLOOM_LEAN_CACHE", folder.join("cache"))
        .output()
        .expect("bash runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn proofs_and_refutations() {
    let folder = stage("verification");
    let cases: [(&[&str], bool); 10] = [
        (&["Fine.lean"], true),
        (&["False.lean"], false),
        (&["Broken.lean"], false),
        (&["Fine.lean", "--reject", "False.lean", "--reject", "Shapes.lean"], true),
        (&["--reject", "False.lean", "Fine.lean"], true),
        (&["--reject", "Fine.lean"], false),
        (&["--reject", "Broken.lean"], false),
        (&["--reject", "False_broken.lean"], false),
        (&["--reject", "Sorry.lean"], false),
        (&["--reject"], false),
    ];
    for (arguments, right) in cases {
        let (fine, text) = check(&folder, arguments);
        assert_eq!(fine, right, "{arguments:?}\n{text}");
    }
}

/// The theory is compiled and its axioms listed once, and kept for the next certificate.
#[test]
fn the_theory_is_compiled_once() {
    let folder = stage("verification-cache");
    let (_, first) = check(&folder, &["Fine.lean"]);
    assert_eq!(first.matches("theory ").count(), 5, "{first}");
    assert!(
        first.contains("axioms of all theorems") && first.contains("certificate Wrong is rejected"),
        "{first}"
    );
    let (_, second) = check(&folder, &["Fine.lean"]);
    assert!(second.contains("theory: checked before") && !second.contains("theory Certificate"), "{second}");
    let (_, fresh) = check(&folder, &["--fresh"]);
    assert!(fresh.contains("theory Certificate"), "{fresh}");
}
