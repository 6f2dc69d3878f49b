//! The generated C compiles whatever the names of tensors are.

use crate::support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use broadloom_loops::{Binary, Dtype, Program, Storage};
use broadloom_native::{Cache, emit};
use support::*;

/// Keywords of all standards, and names that compilers predefine.
const KEYWORDS: &str = "alignas alignof asm auto bool break case char complex const constexpr continue default do double else enum \
    extern false float for goto i386 if imaginary inline int linux long noreturn nullptr register restrict return short signed \
    sizeof static static_assert struct switch thread_local true typedef typeof typeof_unqual union unix unsigned void volatile \
    while main NULL errno _Bool _Generic _Static_assert __func__ __LINE__ __int128 INFINITY NAN M_PI stdin stdout stderr";

/// A folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

fn identifiers(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(|c: char| !c.is_ascii_digit())).map(str::to_string).collect()
}

/// A program with a tensor of each name, each used in a nest of its own and all in one nest.
fn named(names: &BTreeSet<String>) -> Program {
    let mut program = Program::default();
    let [i] = program.vars(["i"]);
    for name in names {
        let x = program.add(name, Dtype::F32, &[4], Storage::Kept);
        let y = program.add(name, Dtype::F64, &[4], Storage::Kept);
        let value = two(Binary::Pow, load(x, &[i]), load(y, &[i]));
        let body = vec![accumulate(cell(x, &[i]), Binary::Add, value)];
        program.nest(name, vec![repeat(i, 4, body)]);
    }
    program
}

/// The identifiers in the headers that the file includes, and in their macros.
fn headers(source: &str) -> BTreeSet<String> {
    let folder = folder("native-names");
    let lines: Vec<&str> = source.lines().filter(|line| line.starts_with("#include <")).collect();
    let path = folder.join("headers.c");
    std::fs::write(&path, lines.join("\n") + "\n#include <stdlib.h>\n").expect("a file for the test");
    let mut all = BTreeSet::new();
    for options in [&["-E", "-P"][..], &["-E", "-dM"]] {
        let output =
            Command::new("cc").arg("-std=gnu11").args(options).arg(&path).output().expect("a C compiler");
        assert!(output.status.success());
        all.extend(identifiers(&String::from_utf8_lossy(&output.stdout)));
    }
    all
}

#[test]
fn every_name_compiles() {
    let first = emit(&named(&BTreeSet::from(["x".to_string()]))).unwrap();
    let mut names = headers(&first);
    names.extend(identifiers(KEYWORDS));
    names.extend(identifiers(&first));
    assert!(names.contains("int64_t") && names.contains("memcpy") && names.len() > 500, "{}", names.len());
    let path = folder("native-names-all").join("all.c");
    std::fs::write(&path, emit(&named(&names)).unwrap()).unwrap();
    let output = Command::new("cc").args(["-std=gnu11", "-fsyntax-only", "-w"]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// An empty cache is shown as such, and its folder is made only when it is needed.
#[test]
fn an_empty_cache() {
    let cache = Cache::at(folder("native-empty-cache").join("none"));
    let usage = cache.usage().unwrap();
    assert_eq!((usage.entries, usage.bytes, usage.unusable), (0, 0, None));
    assert!(!cache.folder().exists());
}
