//! The programs in `examples/`: all have no mistakes and run, except those in `examples/mistakes/`.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};

use broadloom_diagnostics::{Style, render, render_all};
use broadloom_lang::{Options, Program, RunOptions, compile};

fn examples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn programs(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut programs: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|kind| kind == "loom")).collect();
    programs.sort();
    programs
}

fn read(path: &Path) -> Program {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.starts_with('#'), "{} does not say what it is about", path.display());
    let folder = path.parent().unwrap().to_path_buf();
    compile(&path.file_name().unwrap().to_string_lossy(), &text, &Options { folder, ..Options::default() })
}

/// A copy of the examples, for programs that write files.
fn copied() -> PathBuf {
    let to = std::env::temp_dir().join(format!("broadloom-examples-{}", std::process::id()));
    for folder in ["", "data", "modules", "models"] {
        std::fs::create_dir_all(to.join(folder)).unwrap();
        for entry in std::fs::read_dir(examples().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                std::fs::copy(&path, to.join(folder).join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    to
}

#[test]
fn all_run() {
    let folder = copied();
    let mut failed = Vec::new();
    let all = [programs(&folder), programs(&folder.join("models"))].concat();
    assert!(all.len() >= 24);
    for path in &all {
        let program = read(path);
        if !program.is_ok() {
            failed.push(render_all(&program.sources, &program.diagnostics, 0, Style::default()));
            continue;
        }
        let sources = program.sources.clone();
        let mut printed = Vec::<String>::new();
        match program.run(&RunOptions::default(), &mut printed) {
            Err(diagnostic) => failed.push(render(&sources, &diagnostic, Style::default())),
            Ok(_) => {
                // The U-Net is what another example is made of.
                let nothing = printed.is_empty() && !path.ends_with("unet.loom");
                let odd = printed.iter().any(|line| line.contains("nan") || line.contains("inf "));
                if nothing || odd {
                    failed.push(format!("{} prints {:?}", path.display(), printed));
                }
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Results of programs that can be known beforehand.
#[test]
fn results() {
    let wanted = [
        ("shortest_paths.loom", "[[ 0  7  9 20 20 11]"),
        ("graph.loom", "groups: [0 0 0 0 0 1 1 1 1 1]"),
        ("puzzles.loom", "cumsum: [ 3  4  8  9 14]"),
        ("rotary.loom", "the same: 0"),
        ("life.loom", " [0 0 0 1 1 1 0 0]"),
        ("fourier.loom", "there and back: 1"),
    ];
    for (name, line) in wanted {
        let mut printed = Vec::<String>::new();
        let settings = broadloom::Settings { backend: broadloom::Backend::Reference, ..Default::default() };
        let options = RunOptions { settings, ..RunOptions::default() };
        read(&examples().join(name)).run(&options, &mut printed).unwrap();
        assert!(printed.iter().any(|text| text.contains(line)), "{name}: {:?}", printed);
    }
}

#[test]
fn mistakes_are_found() {
    let counts = [
        ("forgotten_size.loom", 1),
        ("letters_run_together.loom", 1),
        ("mistake.loom", 5),
        ("one_is_a_size.loom", 1),
        ("sizes_disagree.loom", 1),
        ("window_does_not_fit.loom", 1),
    ];
    let names: Vec<String> = programs(&examples().join("mistakes"))
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, counts.map(|(name, _)| name));
    for (name, count) in counts {
        let program = read(&examples().join("mistakes").join(name));
        let errors = program.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
        let shown = render_all(&program.sources, &program.diagnostics, 0, Style::default());
        assert_eq!(errors, count, "{name}:\n{shown}");
    }
}
