//! Faults of the environment: full disks, closed pipes, killed
//! processes, missing compilers, caches of other users. In every case a
//! file is either the old one or the new one, and the fault is reported.
#![cfg(unix)]

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A program with two parameters that trains for this many repetitions, and prints a line first.
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

/// Waits for a process that should end soon, and returns its output.
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

/// Every command notices that its output cannot be written.
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

/// A disk that is full while files are written: the
/// old files are unchanged, and no others are left.
#[test]
fn files_on_a_full_disk() {
    let world = World::new("full_files");
    // Much longer than the limit, and not formatted.
    let untidy: String = (0..500).map(|at| format!("data  x{at} :  32 | 784\n")).collect();
    world.write("untidy.loom", &untidy);
    world.write(
        "save.loom",
        "data x : 4000 = normal(1)\nlet y = x + 1\nsave y to \"y.npy\"\nsave y to \"y.csv\"\n",
    );
    world.write(
        "train.loom",
        "data x : 4000 = normal(1)\nlet y = {w : 4000} * x\nprint mean(\"i => 0\", y)\n",
    );
    for name in ["out.svg", "out.mlir", "y.npy", "y.csv", "w.safetensors"] {
        world.write(name, "old");
    }
    std::fs::create_dir(world.path("lean")).expect("a folder");
    world.write("lean/Certificate.lean", "old");
    let before = world.names();
    for (command, file) in [
        ("fmt untidy.loom", "untidy.loom"),
        ("graph untidy.loom -o out.svg", "out.svg"),
        ("emit --json untidy.loom -o out.mlir", "out.mlir"),
        ("emit --lean untidy.loom -o lean", "lean/Certificate.lean"),
        ("run --backend reference save.loom", "y.npy"),
        ("run --backend reference train.loom --save w.safetensors", "w.safetensors"),
    ] {
        let old = world.read(file);
        // A file that is too large is an error here, like a
        // full disk, because the signal for it is ignored.
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

/// A replaced file keeps its permissions, and a link stays a link.
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

/// A folder in place of a file, and a missing folder, are reported.
#[test]
fn files_that_cannot_be() {
    let world = World::new("cannot_be");
    world.write("a.loom", "data x : 3\nlet y = x + 1\n");
    for (output, says) in [(".", "it is a folder"), ("nowhere/a.svg", "there is no such folder")] {
        for arguments in [&["graph", "a.loom", "-o", output][..], &["emit", "a.loom", "--mlir", "-o", output]]
        {
            let output = world.output(arguments);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}");
            assert!(text(&output.stderr).contains(says), "{arguments:?}: {}", text(&output.stderr));
        }
    }
    // A device takes the text, and its errors are errors.
    assert_eq!(world.output(&["graph", "a.loom", "-o", "/dev/null"]).status.code(), Some(0));
    assert_eq!(world.output(&["graph", "a.loom", "-o", "/dev/full"]).status.code(), Some(2));
    // A file that cannot be saved is reported before a long run, not after it.
    world.write("long.loom", training(FOREVER));
    let run = world.spawn(&["run", "--backend", "reference", "long.loom", "--save", "/proc/w.safetensors"]);
    let output = ends_soon(run, Duration::from_secs(10));
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot write /proc/w.safetensors"), "{}", text(&output.stderr));
}

/// A closed pipe ends a run, even one that prints nothing for a long time.
#[test]
fn closed_pipes_end_a_run() {
    let world = World::new("closed_pipe");
    world.write("long.loom", training(FOREVER));
    for more in [&[][..], &["--save", "w.safetensors"]] {
        let mut child = world.spawn(&[&["run", "--backend", "reference", "long.loom"], more].concat());
        let mut stdout = child.stdout.take().expect("standard output");
        stdout.read_exact(&mut [0; 5]).expect("it prints something");
        std::thread::sleep(Duration::from_millis(200));
        drop(stdout);
        let output = ends_soon(child, Duration::from_secs(10));
        assert_eq!(output.status.code(), Some(141));
        if more.is_empty() {
            assert_eq!(text(&output.stderr), "");
        }
    }
    assert!(world.path("w.safetensors").exists(), "what was learned is saved");
}

/// A run whose output cannot be written ends early.
#[test]
fn a_full_disk_ends_a_run() {
    let world = World::new("full_run");
    world.write("long.loom", training(FOREVER) + "  print loss every 10\n");
    let mut command =
        world.command(&["run", "--backend", "reference", "long.loom", "--save", "w.safetensors"]);
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a device that is full");
    let child = command.stdout(full).stderr(Stdio::piped()).spawn().expect("the command starts");
    let output = ends_soon(child, Duration::from_secs(10));
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot write to standard output"), "{}", text(&output.stderr));
}

/// Ctrl-C saves the current parameters, and training can continue from them.
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

/// A second Ctrl-C does not wait for a long step, and leaves the file saved before.
#[test]
fn a_second_interrupt_ends_at_once() {
    let world = World::new("interrupt_twice");
    world.write("w.safetensors", "old");
    let slow = "print \"begin\"\ndata x : 3000 | 3000 = normal(1)\nlet y = {w : 3000 -> 3000} @ x\n\
        let loss = mean(\"... | ... => 0\", y)\nminimise loss by sgd(0.01)\n";
    world.write("slow.loom", slow);
    let mut child = world.spawn(&["run", "--backend", "reference", "slow.loom", "--save", "w.safetensors"]);
    child.stdout.as_mut().expect("standard output").read_exact(&mut [0; 5]).expect("it prints something");
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().expect("a child").is_none(), "the first one waits for the step");
    signal(&child, "INT");
    assert_eq!(ends_soon(child, Duration::from_secs(2)).status.code(), Some(130));
    assert_eq!(text(&world.read("w.safetensors")), "old");
}

/// Without anything to save, Ctrl-C ends a run at once, as usual.
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
    world.write(
        "train.loom",
        "data x : 200000 = normal(1)\nlet y = {w : 200000} * x\nprint mean(\"i => 0\", y)\n",
    );
    let arguments = ["run", "train.loom", "--save", "w.safetensors"];
    let start = Instant::now();
    assert_eq!(world.output(&arguments).status.code(), Some(0));
    let whole = start.elapsed();
    for turn in 0..20u32 {
        // Half of the runs compile, the others use the cache.
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
    // Files left by killed processes are removed once they are old enough.
    let left = world.write(".broadloom-1-0.part", "half");
    for name in world.names().iter().filter(|name| name.ends_with(".part")) {
        let long_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
        let file = std::fs::File::open(world.path(name)).expect("a file");
        file.set_modified(long_ago).expect("another time");
    }
    let output = world.output(&[&arguments[..], &["--load", "w.safetensors"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        !left.exists() && world.names().iter().all(|name| !name.ends_with(".part")),
        "{:?}",
        world.names()
    );
}

/// A process that is killed while it compiles does not break the next run: its result is right.
#[test]
fn killed_while_compiling() {
    let world = World::new("killed_compiling");
    let good = (Some(0), "[2 4 6 8]\n".to_string(), String::new());
    let start = Instant::now();
    assert_eq!(run_with(&world, &[]), good);
    let whole = start.elapsed();
    // Pseudorandom numbers with a fixed seed.
    let mut dice = 1u32;
    for turn in 0..12 {
        if turn % 3 == 0 {
            let _ = std::fs::remove_dir_all(world.path("cache"));
        }
        dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Every run has a different program, which is not in the cache yet.
        let number = turn + 2;
        let other = world.write("other.loom", format!("data x : 2 = [1, 1]\nprint x * {number}\n"));
        let arguments = ["run", "--backend", "native", other.to_str().expect("UTF-8")];
        let mut child = world.spawn(&arguments);
        std::thread::sleep(whole * (dice >> 24) / 256);
        let _ = child.kill();
        let _ = child.wait();
        let again = world.output(&arguments);
        let expected = format!("[{number} {number}]\n");
        assert_eq!(text(&again.stdout), expected, "turn {turn}: {}", text(&again.stderr));
        assert_eq!((again.status.code(), text(&again.stderr).as_str()), (Some(0), ""), "turn {turn}");
    }
}

/// Standard input may be anything, and may end at any point without making the command wait.
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

/// A small program that is compiled.
const SMALL: &str = "data x : 4 = [1, 2, 3, 4]\nprint x * 2\n";

/// A script that stands in for a compiler.
fn script(world: &World, name: &str, body: &str) -> PathBuf {
    let path = world.write(name, format!("#!/bin/sh\n{body}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    path
}

/// Runs the small program with some variables set, and returns its status and its output.
fn run_with(world: &World, variables: &[(&str, &str)]) -> (Option<i32>, String, String) {
    world.write("small.loom", SMALL);
    let mut command = world.command(&["run", "small.loom", "--backend", "native"]);
    command.envs(variables.iter().copied());
    let output = command.output().expect("the command runs");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn compilers_with_arguments() {
    let world = World::new("compilers");
    let log = world.path("log");
    let tool = script(&world, "my cc", &format!("echo \"$@\" >> '{}'; exec cc \"$@\"", log.display()));
    let tool = tool.to_str().expect("a path in UTF-8");
    for (variable, value) in [
        ("BROADLOOM_CC", "cc -m64".to_string()),
        ("CC", "  cc   -DX='a b' ".to_string()),
        ("CC", tool.to_string()),
        ("BROADLOOM_CC", format!("'{tool}' -DLOOK=1")),
        ("BROADLOOM_CC", format!("env A=b \"{tool}\" -DSECOND")),
    ] {
        let (status, printed, said) = run_with(&world, &[(variable, &value)]);
        assert_eq!((status, printed.as_str()), (Some(0), "[2 4 6 8]\n"), "{value}: {said}");
    }
    let log = text(&world.read("log"));
    assert!(log.contains("-DLOOK=1 -O3") && log.contains("-DSECOND -O3"), "{log}");
}

/// A compiler that is named is used, or reported as missing; a compiler that does not work is
/// reported, too.
#[test]
fn compilers_that_cannot_be() {
    let world = World::new("no_compilers");
    world.write("small.loom", SMALL);
    for variable in ["BROADLOOM_CC", "CC"] {
        for backend in ["auto", "native"] {
            let mut command = world.command(&["run", "small.loom", "--backend", backend]);
            let output = command.env(variable, "no-such-cc -m64").output().expect("the command runs");
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(said.contains("`no-such-cc -m64`") && said.contains(variable), "{said}");
        }
    }
    let (status, _, said) = run_with(&world, &[("CC", "/bin/false")]);
    assert!(status == Some(1) && said.contains("/bin/false"), "{said}");
    let broken = script(&world, "broken", "[ \"$1\" = --version ] && exit 0; echo 'I am broken' >&2; exit 1");
    let (status, _, said) = run_with(&world, &[("CC", broken.to_str().expect("UTF-8"))]);
    assert!(status == Some(1) && said.contains("I am broken"), "{said}");
    let killed = script(&world, "killed", "[ \"$1\" = --version ] && exit 0; kill -9 $$");
    let (status, _, said) = run_with(&world, &[("CC", killed.to_str().expect("UTF-8"))]);
    assert!(status == Some(1) && said.contains("the C compiler failed"), "{said}");
    let nothing = script(&world, "nothing", "exit 0");
    let (status, _, said) = run_with(&world, &[("CC", nothing.to_str().expect("UTF-8"))]);
    assert!(status == Some(1) && said.contains("program.so"), "{said}");
}

/// A cache that others can write to is not used, and
/// neither is a link to a cache; the program runs anyway.
#[test]
fn caches_of_strangers() {
    let world = World::new("strangers");
    let good = (Some(0), "[2 4 6 8]\n".to_string(), String::new());
    assert_eq!(run_with(&world, &[]), good);
    let cache = world.path("cache");
    let mode = std::fs::metadata(&cache).expect("the cache").permissions().mode() & 0o777;
    assert_eq!(mode, 0o700, "only this user can enter it");
    let count = |folder: &Path| std::fs::read_dir(folder).map_or(0, Iterator::count);
    let kept = count(&cache);
    assert_eq!(kept, 3, "source, code and sum");
    let temporary = world.path("tmp");
    std::fs::create_dir(&temporary).expect("a folder");
    let temporary = temporary.to_str().expect("UTF-8").to_string();
    let refused = |folder: &Path, reason: &str| {
        let folder = folder.to_str().expect("UTF-8");
        let (status, printed, said) =
            run_with(&world, &[("BROADLOOM_CACHE", folder), ("TMPDIR", &temporary)]);
        assert_eq!((status, printed.as_str()), (Some(0), "[2 4 6 8]\n"), "{said}");
        assert!(said.contains("is not used") && said.contains(reason), "{said}");
        assert_eq!(count(Path::new(&temporary)), 0, "what stood in for it is removed");
    };
    for mode in [0o777, 0o770, 0o1777, 0o702] {
        let open = world.path("open");
        let _ = std::fs::remove_dir_all(&open);
        std::fs::create_dir(&open).expect("a folder");
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(mode)).expect("permissions");
        refused(&open, "other users may write to it");
        assert_eq!(count(&open), 0, "nothing is put there");
    }
    let link = world.path("link");
    std::os::unix::fs::symlink(&cache, &link).expect("a link");
    refused(&link, "it is a link");
    refused(&world.path("link/"), "it is a link");
    refused(&world.write("file", ""), "it is not a folder");
    refused(Path::new("/proc/nowhere/cache"), "");
    assert_eq!(count(&cache), kept, "nothing was added");
    // Without a home there is a folder in the temporary folder, for this user alone.
    let mut command = world.command(&["run", "small.loom", "--backend", "native"]);
    ["BROADLOOM_CACHE", "HOME", "XDG_CACHE_HOME"].into_iter().for_each(|name| _ = command.env_remove(name));
    let output = command.env("TMPDIR", &temporary).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let made = std::fs::read_dir(&temporary).expect("a folder").flatten().next().expect("a cache");
    assert_eq!(made.metadata().expect("the cache").permissions().mode() & 0o777, 0o700);
}

/// A cache of another user is not used, and neither is a file of another user in our cache. Only
/// root can change owners.
#[test]
fn caches_of_other_users() {
    let world = World::new("other_users");
    let good = (Some(0), "[2 4 6 8]\n".to_string(), String::new());
    assert_eq!(run_with(&world, &[]), good);
    let give = |path: &Path| std::os::unix::fs::chown(path, Some(12345), Some(12345));
    let files =
        || std::fs::read_dir(world.path("cache")).expect("the cache").flatten().map(|entry| entry.path());
    if let Err(error) = files().try_for_each(|file| give(&file)) {
        // Written past the test harness, which hides the output of passing tests.
        let notice =
            format!("notice: caches of other users are not tested, since only root can make one: {error}\n");
        std::io::stderr().write_all(notice.as_bytes()).expect("standard error");
        return;
    }
    assert_eq!(run_with(&world, &[]), good, "files of another user are made again");
    let _ = std::fs::remove_dir_all(world.path("cache"));
    assert_eq!(run_with(&world, &[]), good);
    give(&world.path("cache")).expect("a cache of another user");
    let (status, printed, said) = run_with(&world, &[]);
    assert_eq!((status, printed.as_str()), (Some(0), "[2 4 6 8]\n"), "{said}");
    assert!(said.contains("is not used") && said.contains("another user"), "{said}");
}

/// Programs run with any damage to files in the cache, and with any leftovers of killed processes.
#[test]
fn caches_that_are_broken() {
    let world = World::new("broken_cache");
    let good = (Some(0), "[2 4 6 8]\n".to_string(), String::new());
    assert_eq!(run_with(&world, &[]), good);
    let stale = world.path("cache/work-00000000000000000000000000000000");
    std::fs::create_dir(&stale).expect("a folder");
    std::fs::write(stale.join("lock"), "").expect("a file");
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    std::fs::File::open(&stale).and_then(|file| file.set_modified(long_ago)).expect("another time");
    for entry in std::fs::read_dir(world.path("cache")).expect("the cache").flatten() {
        if entry.path().is_file() {
            std::fs::remove_file(entry.path()).expect("a file");
            std::fs::write(entry.path(), "nonsense").expect("a file");
            assert_eq!(run_with(&world, &[]), good);
        }
    }
    assert!(!stale.exists(), "what the dead have left is removed");
    // A disk that is full where the cache is.
    let full = world.shell("trap '' XFSZ; ulimit -f 0; broadloom run small.loom --backend native");
    assert!(full.status.code().is_some(), "{:?}", full.status);
}

#[test]
fn the_cache_is_shown_limited_and_cleared() {
    let world = World::new("cache_command");
    let cache = |arguments: &[&str]| {
        let output = world.output(&[&["cache"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(cache(&[]).contains("cache: 0 entries, 0 bytes of at most 1"), "{}", cache(&[]));
    run_with(&world, &[]);
    assert!(cache(&[]).contains(": 1 entry, "), "{}", cache(&[]));
    world.write("cache/mine.txt", "not of the cache");
    world.write("other.loom", "data x : 3 = [1, 2, 3]\nprint x + 1\n");
    assert_eq!(world.output(&["run", "other.loom", "--backend", "native"]).status.code(), Some(0));
    assert!(cache(&["--json"]).contains("\"entries\":2,"), "{}", cache(&["--json"]));
    // New entries push out older ones, and the most recently used ones stay longest.
    world.write("third.loom", "data x : 5 = [1, 2, 3, 4, 5]\nprint x + 1\n");
    let mut command = world.command(&["run", "third.loom", "--backend", "native"]);
    assert!(command.env("BROADLOOM_CACHE_LIMIT", "1").status().expect("it runs").success());
    assert!(cache(&[]).contains(": 1 entry, "), "{}", cache(&[]));
    assert!(cache(&["--clear"]).contains(": removed 1 entry, "));
    assert!(cache(&[]).contains(": 0 entries"), "{}", cache(&[]));
    assert!(world.path("cache/mine.txt").exists(), "what is not of the cache stays");
    let mut command = world.command(&["cache"]);
    let output = command.env("BROADLOOM_CACHE_LIMIT", "much").output().expect("it runs");
    assert!(output.status.code() == Some(2) && text(&output.stderr).contains("a number of bytes"));
    // Clearing takes write permission from others, and does not follow a link.
    std::fs::set_permissions(world.path("cache"), std::fs::Permissions::from_mode(0o777))
        .expect("permissions");
    assert!(cache(&[]).contains("not used, because other users may write to it"), "{}", cache(&[]));
    cache(&["--clear"]);
    assert_eq!(
        std::fs::metadata(world.path("cache")).expect("the cache").permissions().mode() & 0o777,
        0o755
    );
    std::os::unix::fs::symlink(world.path("cache"), world.path("link")).expect("a link");
    let mut command = world.command(&["cache", "--clear"]);
    let output = command.env("BROADLOOM_CACHE", world.path("link")).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
}

/// Escape sequences in names of files and in comments are shown as text.
#[test]
fn terminals_obey_nobody() {
    let world = World::new("escapes");
    let evil = "e\u{1b}[31m\nvil.loom";
    world.write(
        evil,
        "# \u{1b}[31m\ndata  x : 3 # \u{1b}[32m\nlet y = x + # \u{1b}[33m\n  {b}\nlet z = y @ x\nprint y\n",
    );
    let missing = "no\u{1b}[31m\nwhere.loom";
    for file in [evil, missing] {
        for arguments in [
            &["check", file][..],
            &["shapes", file],
            &["explain", file, "y"],
            &["loops", file],
            &["graph", file],
            &["memory", file],
            &["lint", file],
            &["verify", file],
            &["emit", "--mlir", file],
            &["emit", "--lean", file],
            &["fmt", "--check", file],
            &["solve", file],
            &["run", "--backend", "reference", file],
            &["run", file, "--load", missing],
            &["run", file, "--data", missing],
            &["run", file, "--save", "no\u{1b}[31m/where"],
            &["graph", file, "-o", "no\u{1b}[31m/where"],
            &["emit", "--c", file, "-o", "out\u{1b}[31m"],
        ] {
            let output = world.output(arguments);
            for shown in [text(&output.stdout), text(&output.stderr)] {
                assert!(!shown.contains('\u{1b}'), "{arguments:?}:\n{shown:?}");
                assert!(
                    !shown.contains("\nvil.loom") && !shown.contains("\nwhere.loom"),
                    "{arguments:?}:\n{shown}"
                );
            }
        }
    }
}

/// Parameters that a file lacks, and extra ones that it has, are reported by name.
#[test]
fn loading_says_what_differs() {
    let world = World::new("loading");
    world.write("two.loom", "data x : 3 = [1, 2, 3]\nprint {a} * x + {b}\n");
    world.write("one.loom", "data x : 3 = [1, 2, 3]\nprint {a} * x\n");
    world.write("other.loom", "data x : 3 = [1, 2, 3]\nprint {c} * x + {d}\n");
    let run =
        |file: &str, more: &[&str]| world.output(&[&["run", "--backend", "reference", file], more].concat());
    assert_eq!(run("two.loom", &["--save", "w.safetensors"]).status.code(), Some(0));
    let extra = run("one.loom", &["--load", "w.safetensors"]);
    assert_eq!(extra.status.code(), Some(0));
    assert!(
        text(&extra.stderr).contains("has `b`, which the program has no use for"),
        "{}",
        text(&extra.stderr)
    );
    let other = run("other.loom", &["--load", "w.safetensors"]);
    let said = text(&other.stderr);
    assert_eq!(other.status.code(), Some(1));
    assert!(said.contains("there are no parameters `c`, `d` in it"), "{said}");
    assert!(said.contains("nothing in the program is called `a`, `b`"), "{said}");
    // Two arrays of one name.
    let entry = |range: &str| format!("\"a\":{{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[{range}]}}");
    let header = format!("{{{},{}}}", entry("0,4"), entry("0,4"));
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[0; 4]].concat();
    world.write("twice.safetensors", bytes);
    let twice = run("one.loom", &["--load", "twice.safetensors"]);
    assert!(text(&twice.stderr).contains("`a` twice"), "{}", text(&twice.stderr));
}

/// Only the requested array of an archive is read: another one may be broken.
#[test]
fn one_array_of_an_archive() {
    let world = World::new("archive");
    let [x, y] =
        [1.0f32, 7.5].map(|number| broadloom::Array::from_slice(&[2], &[number; 2]).expect("an array"));
    let mut bytes = broadloom::files::npz_to_bytes([("x", &x), ("y", &y)]).expect("an archive");
    let broken = 7.5f32.to_le_bytes();
    let at = bytes.windows(4).position(|window| window == broken).expect("the numbers of y");
    bytes[at] ^= 1;
    world.write("a.npz", bytes);
    world.write("a.loom", "data x : 2\nprint x + 1\n");
    let one = world.output(&["run", "--backend", "reference", "a.loom", "--data", "x=a.npz"]);
    assert_eq!(
        (one.status.code(), text(&one.stdout).as_str()),
        (Some(0), "[2 2]\n"),
        "{}",
        text(&one.stderr)
    );
    assert_eq!(
        world.output(&["run", "--backend", "reference", "a.loom", "--data", "a.npz"]).status.code(),
        Some(2)
    );
}

#[test]
fn small_faults() {
    let world = World::new("small");
    let unread = world.output(&["solve", "--json", "nowhere.rows"]);
    assert_eq!(unread.status.code(), Some(2));
    assert!(text(&unread.stdout).contains("\"status\":\"malformed\""), "{}", text(&unread.stdout));
    world.write("a.loom", "data x : 3\nlet y = x + 1\nlet z = y * x\n");
    let far = world.spawn(&["graph", "a.loom", "--of", "z", "--depth", "18446744073709551615"]);
    assert_eq!(ends_soon(far, Duration::from_secs(10)).status.code(), Some(0));
}
