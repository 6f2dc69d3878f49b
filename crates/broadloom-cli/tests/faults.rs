//! A world that fails: full disks, closed pipes, processes that are ended, compilers that are missing, caches of strangers.
//! Whatever happens, a file is the old one or the new one, and whoever asked is told.
#![cfg(unix)]

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A program with two parameters that trains for so long, and says so at first.
fn training(repetitions: u64) -> String {
    format!(
        "data x : 8 | 1 = [[0], [1], [2], [3], [4], [5], [6], [7]]\n\
         let loss = mean(\"... | ... => 0\", ({{a}} * x + {{b}} - (2 * x + 1)) ** 2)\n\
         print \"begin\"\n\
         repeat {repetitions}:\n  minimise loss by sgd(0.01)\n"
    )
}

const FOREVER: u64 = 1_000_000_000;

/// A folder for one test, with a cache of its own in it.
struct World {
    folder: PathBuf,
}

impl World {
    fn new(name: &str) -> World {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("faults_{name}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        World { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), text).expect("a file for the test");
        self.path(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("a file of the test")
    }

    /// The names of all files that are left in the folder.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).expect("the folder of the test");
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn surrounded(&self, mut command: Command) -> Command {
        command.current_dir(&self.folder).env("BROADLOOM_CACHE", self.path("cache"));
        ["CC", "BROADLOOM_CC", "NO_COLOR"].into_iter().for_each(|name| _ = command.env_remove(name));
        command
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_broadloom"));
        command.args(arguments);
        self.surrounded(command)
    }

    /// A command of the shell, where `broadloom` is the command under test.
    fn shell(&self, line: &str) -> Output {
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("broadloom() {{ '{}' \"$@\"; }}\n{line}", env!("CARGO_BIN_EXE_broadloom")));
        self.surrounded(command).output().expect("a shell")
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the command runs")
    }

    fn spawn(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits for a process that should end soon, and says how it ended.
fn ends_soon(mut child: Child, limit: Duration) -> Output {
    let start = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if start.elapsed() > limit {
            child.kill().expect("a child that runs");
            panic!("it goes on after {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().expect("a child that has ended")
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status();
    assert!(sent.expect("the command `kill`").success());
}

/// Every command notices that what it prints cannot be written.
#[test]
fn output_on_a_full_disk() {
    let world = World::new("full_output");
    world.write("a.loom", "data x : 32 | 784\nlet y = relu({w} @ x + {b : 64})\nprint \"hello\"\n");
    world.write("a.rows", "a <= b\n");
    for command in [
        "tour",
        "check a.loom",
        "check --json a.loom",
        "shapes a.loom",
        "explain a.loom y",
        "fmt - < a.loom",
        "run --backend reference a.loom",
        "run --json --backend reference a.loom",
        "loops a.loom",
        "graph a.loom",
        "memory a.loom",
        "lint --json a.loom",
        "emit --mlir a.loom",
        "emit --json a.loom",
        "emit --lean a.loom",
        "completions bash",
        "--help",
        "run --help",
        "--version",
    ] {
        let fine = world.shell(&format!("broadloom {command}"));
        assert_eq!(fine.status.code(), Some(0), "{command}: {}", text(&fine.stderr));
        let full = world.shell(&format!("broadloom {command} > /dev/full"));
        assert_eq!(full.status.code(), Some(2), "{command}");
        let said = text(&full.stderr);
        assert!(said.contains("error: cannot write to standard output: No space left"), "{command}: {said}");
        let both = world.shell(&format!("broadloom {command} > /dev/full 2>&1"));
        assert_eq!(both.status.code(), Some(2), "{command}");
    }
}

/// A disk that is full while files are written: what was there before is there after, and nothing else.
#[test]
fn files_on_a_full_disk() {
    let world = World::new("full_files");
    // Much longer than what may be written, and not as it should be written.
    let untidy: String = (0..500).map(|at| format!("data  x{at} :  32 | 784\n")).collect();
    world.write("untidy.loom", &untidy);
    world.write("save.loom", "data x : 4000 = 1\nlet y = x + 1\nsave y to \"y.npy\"\nsave y to \"y.csv\"\n");
    world.write("train.loom", "data x : 4000 = 1\nlet y = {w : 4000} * x\nprint mean(\"i => 0\", y)\n");
    for name in ["out.svg", "out.mlir", "y.npy", "y.csv", "w.safetensors"] {
        world.write(name, "old");
    }
    std::fs::create_dir(world.path("lean")).expect("a folder");
    world.write("lean/Certificate.lean", "old");
    let before = world.names();
    for (command, file) in [
        ("fmt untidy.loom", "untidy.loom"),
        ("graph untidy.loom -o out.svg", "out.svg"),
        (
            "emit --mlir save.loom --set nothing=1 -o out.mlir; broadloom emit untidy.loom -o out.mlir",
            "out.mlir",
        ),
        ("emit --lean untidy.loom -o lean", "lean/Certificate.lean"),
        ("run --backend reference save.loom", "y.npy"),
        ("run --backend reference train.loom --save w.safetensors", "w.safetensors"),
    ] {
        let old = world.read(file);
        // Too large a file is an error here, as a full disk is, because the signal for it is ignored.
        let output = world.shell(&format!("trap '' XFSZ; ulimit -f 2; broadloom {command}"));
        let said = text(&output.stderr);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{command}: {:?} {said}", output.status);
        assert!(said.contains("error"), "{command}: {said}");
        assert!(world.read(file) == old, "{command}: the file has changed");
        if file == "lean/Certificate.lean" {
            let parts = std::fs::read_dir(world.path("lean")).expect("a folder").flatten();
            assert!(
                parts.into_iter().all(|entry| !text(entry.file_name().as_encoded_bytes()).contains(".part"))
            );
        }
    }
    assert_eq!(world.names(), before, "something is left behind");
}

/// What replaces a file has its permissions, and a link stays a link.
#[test]
fn permissions_and_links_stay() {
    let world = World::new("permissions");
    let file = world.write("a.loom", "data  x : 3\n");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).expect("permissions");
    std::os::unix::fs::symlink("a.loom", world.path("link.loom")).expect("a link");
    assert_eq!(world.output(&["fmt", "link.loom"]).status.code(), Some(0));
    assert_eq!(text(&world.read("a.loom")), "data x : 3\n");
    assert_eq!(std::fs::metadata(&file).expect("the file").permissions().mode() & 0o777, 0o640);
    assert!(std::fs::symlink_metadata(world.path("link.loom")).expect("the link").is_symlink());
}

/// A folder is not a file, and where there is no folder nothing is written; both are said.
#[test]
fn files_that_cannot_be() {
    let world = World::new("cannot_be");
    world.write("a.loom", "data x : 3\nlet y = x + 1\n");
    for (output, says) in [(".", "it is a folder"), ("nowhere/a.svg", "there is no such folder")] {
        for arguments in [&["graph", "a.loom", "-o", output], &["emit", "a.loom", "-o", output]] {
            let output = world.output(arguments);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}");
            assert!(text(&output.stderr).contains(says), "{arguments:?}: {}", text(&output.stderr));
        }
    }
    // What takes text but is no file gets it, and its failures are failures.
    assert_eq!(world.output(&["graph", "a.loom", "-o", "/dev/null"]).status.code(), Some(0));
    assert_eq!(world.output(&["graph", "a.loom", "-o", "/dev/full"]).status.code(), Some(2));
}

/// Who does not read on ends a run, even one that has nothing to print for a long time.
#[test]
fn closed_pipes_end_a_run() {
    let world = World::new("closed_pipe");
    world.write("long.loom", training(FOREVER));
    for more in [&[][..], &["--save", "w.safetensors"]] {
        let mut child = world.spawn(&[&["run", "--backend", "reference", "long.loom"], more].concat());
        let mut stdout = child.stdout.take().expect("standard output");
        stdout.read_exact(&mut [0; 5]).expect("it prints something");
        drop(stdout);
        let output = ends_soon(child, Duration::from_secs(10));
        assert_eq!(output.status.code(), Some(141));
        if more.is_empty() {
            assert_eq!(text(&output.stderr), "");
        }
    }
    assert!(world.path("w.safetensors").exists(), "what was learned is saved");
}

/// Ctrl-C saves what there is; training goes on from there.
#[test]
fn interrupts_save() {
    let world = World::new("interrupt");
    world.write("long.loom", training(FOREVER));
    for name in ["INT", "TERM"] {
        let _ = std::fs::remove_file(world.path("w.safetensors"));
        let mut child =
            world.spawn(&["run", "--backend", "reference", "long.loom", "--save", "w.safetensors"]);
        child.stdout.as_mut().expect("standard output").read_exact(&mut [0; 5]).expect("it prints something");
        std::thread::sleep(Duration::from_millis(100));
        signal(&child, name);
        let output = ends_soon(child, Duration::from_secs(10));
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{said}");
        assert!(said.contains("stopped early: w.safetensors has the values after the last step"), "{said}");
        world.write("short.loom", training(1));
        let on = world.output(&["run", "--backend", "reference", "short.loom", "--load", "w.safetensors"]);
        assert_eq!(on.status.code(), Some(0), "{}", text(&on.stderr));
    }
}

/// Without anything to save Ctrl-C ends a run at once, as it ends everything.
#[test]
fn interrupts_end() {
    let world = World::new("interrupt_plain");
    world.write("long.loom", training(FOREVER));
    let mut child = world.spawn(&["run", "--backend", "reference", "long.loom"]);
    child.stdout.as_mut().expect("standard output").read_exact(&mut [0; 5]).expect("it prints something");
    signal(&child, "INT");
    assert_eq!(ends_soon(child, Duration::from_secs(5)).status.code(), None);
}

/// A process that is killed at any moment leaves the old file or the new one, and the next run works.
#[test]
fn killed_at_any_moment() {
    let world = World::new("killed");
    world.write("train.loom", "data x : 200000 = 1\nlet y = {w : 200000} * x\nprint mean(\"i => 0\", y)\n");
    let arguments = ["run", "train.loom", "--save", "w.safetensors"];
    let start = Instant::now();
    assert_eq!(world.output(&arguments).status.code(), Some(0));
    let whole = start.elapsed();
    for turn in 0..20u32 {
        // Half of them compile, the others find what is compiled.
        if turn % 2 == 0 {
            let _ = std::fs::remove_dir_all(world.path("cache"));
        }
        let mut child = world.spawn(&arguments);
        // Spread over the whole run, most of them where it writes.
        std::thread::sleep(whole * (turn * 7 % 20 + 1) / 20);
        let _ = child.kill();
        let _ = child.wait();
        let loaded = broadloom::files::read_safetensors(world.path("w.safetensors"));
        assert!(loaded.is_ok(), "turn {turn}: {loaded:?}");
    }
    let output = world.output(&[&arguments[..], &["--load", "w.safetensors"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// What a program is told on standard input may be anything; a writer that goes away is no reason to wait.
#[test]
fn input_that_ends_early() {
    let world = World::new("input");
    let mut command = world.command(&["check", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("standard input").write_all(b"data x : 3\nlet y = x +").expect("it reads");
    assert_eq!(ends_soon(child, Duration::from_secs(5)).status.code(), Some(1));
}
