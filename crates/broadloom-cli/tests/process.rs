//! The process itself: streams, exit statuses, files that are written, pipes that are closed.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn broadloom(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_broadloom"));
    command.args(arguments).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs"));
    command
}

fn output(arguments: &[&str]) -> Output {
    broadloom(arguments).output().expect("the command runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder for one test.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

#[test]
fn exit_statuses() {
    let status = |arguments: &[&str]| output(arguments).status.code();
    assert_eq!(status(&["check", "mlp.loom"]), Some(0));
    assert_eq!(status(&["check", "mismatch.loom"]), Some(1));
    assert_eq!(status(&["check", "nowhere.loom"]), Some(2));
    assert_eq!(status(&["check"]), Some(2));
    assert_eq!(status(&["--version"]), Some(0));
}

#[test]
fn standard_input_and_output() {
    let mut child = broadloom(&["check", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("standard input");
    stdin.write_all(b"data x : 3\nlet y = x + x\n").expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(text(&output.stderr), "");
    assert!(text(&output.stdout).contains("\ny       3             3"), "{}", text(&output.stdout));
}

/// Without a terminal there are no colours and no progress in any output.
#[test]
fn no_colours_without_a_terminal() {
    for arguments in [&["check", "mismatch.loom"][..], &["run", "line.loom", "--backend", "reference"]] {
        let output = output(arguments);
        let all = text(&output.stdout) + &text(&output.stderr);
        assert!(!all.contains('\u{1b}') && !all.contains('\r'), "{all:?}");
    }
}

/// A reader that closes the pipe does not cause an error.
#[test]
fn closed_pipes_are_no_errors() {
    let folder = scratch("closed_pipes");
    let long: String = (0..5_000).map(|at| format!("data x{at} : 32 | 784\n")).collect();
    let file = folder.join("long.loom");
    std::fs::write(&file, long).expect("a file for the test");
    let file = file.to_str().expect("a path in UTF-8");
    for arguments in
        [&["check", file][..], &["check", file, "--json"], &["run", "line.loom", "--backend", "reference"]]
    {
        let mut child = broadloom(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut stdout = child.stdout.take().expect("standard output");
        let mut first = [0; 10];
        stdout.read_exact(&mut first).expect("it prints something");
        drop(stdout);
        let output = child.wait_with_output().expect("it ends");
        // Short output may be written before the pipe is closed.
        assert!(matches!(output.status.code(), Some(0 | 141)), "{arguments:?}: {:?}", output.status);
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn files_that_are_no_programs() {
    let folder = scratch("no_programs");
    let file = folder.join("latin1.loom");
    std::fs::write(&file, b"# caf\xe9\ndata x : 3\n").expect("a file for the test");
    let output = output(&["check", file.to_str().expect("a path in UTF-8")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: the file is not UTF-8: byte 0xe9 at offset 5"));
}

#[test]
fn formatting_in_place() {
    let folder = scratch("formatting");
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    for name in ["untidy.loom", "syntax.loom"] {
        std::fs::copy(programs.join(name), folder.join(name)).expect("a copy for the test");
    }
    let untidy = folder.join("untidy.loom");
    let file = untidy.to_str().expect("a path in UTF-8");
    assert_eq!(output(&["fmt", "--check", file]).status.code(), Some(1));
    assert_eq!(output(&["fmt", file]).status.code(), Some(0));
    let formatted = std::fs::read_to_string(&untidy).expect("the file");
    assert!(
        formatted.starts_with("data x : 32 | 784  # a batch\nlet y = relu({w} @ x + {b : 64})\n"),
        "{formatted}"
    );
    assert_eq!(output(&["fmt", "--check", file]).status.code(), Some(0));
    // A file with mistakes is left unchanged.
    let syntax = folder.join("syntax.loom");
    let before = std::fs::read(&syntax).expect("the file");
    assert_eq!(output(&["fmt", syntax.to_str().expect("a path in UTF-8")]).status.code(), Some(1));
    assert_eq!(std::fs::read(&syntax).expect("the file"), before);
}

/// Learned parameters are saved, and training continues from them.
#[test]
fn saving_and_loading() {
    let folder = scratch("saving");
    let file = folder.join("line.safetensors");
    let file = file.to_str().expect("a path in UTF-8");
    let run = |more: &[&str]| {
        let arguments = [&["run", "line.loom", "--backend", "reference"], more].concat();
        let output = output(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let first = run(&["--save", file]);
    let second = run(&["--load", file]);
    let loss = |printed: &str| -> f64 {
        let line = printed.lines().next().unwrap_or_default();
        line.rsplit(' ').next().and_then(|loss| loss.parse().ok()).unwrap_or(f64::NAN)
    };
    assert!(loss(&first) > 10.0 && loss(&second) < 0.1, "{first}{second}");
}

#[test]
fn values_from_files() {
    let folder = scratch("values");
    let file = folder.join("x.npy");
    let values = broadloom::Array::from_slice(&[4], &[1.0f32, 2.0, 3.0, 4.0]).expect("an array");
    broadloom::files::write_npy(&file, &values).expect("a file for the test");
    let given = format!("x={}", file.display());
    let output = output(&["run", "no_values.loom", "--backend", "reference", "--data", &given]);
    assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), ("sum 10\n", ""));
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = text(&output(&["completions", shell]).stdout);
        assert!(["check", "explain", "backend"].iter().all(|word| script.contains(word)), "{shell}");
    }
}

/// The tour goes through every stop, and the network has learned its task.
#[test]
fn the_tour() {
    let output = output(&["tour"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for what in ["linear.weight  8 -> 1", "linear.weight.input.0 is 8, forced", "for j in 0..8"] {
        assert!(shown.contains(what), "no `{what}` in\n{shown}");
    }
    let (_, learned) = shown.rsplit_once("learned:").expect("it prints what it has learned");
    let number = |word: &str| word.trim_matches(['[', ']']).parse::<f64>().ok();
    let learned: Vec<i64> = learned.split_whitespace().filter_map(number).map(|y| y.round() as i64).collect();
    assert_eq!(learned, [0, 1, 1, 0]);
}

/// A table does not say that its numbers are integers: where data is declared so, whole numbers are.
#[test]
fn tables_of_integers() {
    let folder = scratch("tables_of_integers");
    std::fs::write(folder.join("p.loom"), "data y : 2, 2 as i64\nprint y + 1\n").expect("a file");
    let run = |table: &str| {
        std::fs::write(folder.join("y.csv"), table).expect("a file");
        let (program, data) = (folder.join("p.loom"), format!("y={}", folder.join("y.csv").display()));
        output(&["run", "--backend", "reference", &program.to_string_lossy(), "--data", &data])
    };
    let whole = run("1,2\n3,4\n");
    assert_eq!((text(&whole.stdout).as_str(), whole.status.code()), ("[[2 3]\n [4 5]]\n", Some(0)));
    assert_eq!(run("1,2\n3,4.5\n").status.code(), Some(1));
}

/// An assignment that makes its target is listed once, as it runs.
#[test]
fn loops_of_an_assignment_that_makes_its_target() {
    let folder = scratch("loops_of_assignments");
    let program = folder.join("p.loom");
    let lines = "data a : 2, 3 = ones\ndata b : 3, 2 = ones\n{c} =:min a + b by \"i j; j k => i k\"\n";
    std::fs::write(&program, lines).expect("a file");
    let shown = text(&output(&["loops", &program.to_string_lossy()]).stdout);
    assert_eq!(shown.matches("c[i, k] min= a[i, j] + b[j, k]").count(), 1, "{shown}");
    assert!(!shown.contains("a[i, j] * b[j, k]"), "{shown}");
}
