//! Faults of the environment: full disks, closed pipes, killed
//! processes, missing compilers, caches of other users. In every case a
//! file is either the old one or the new one, and the fault is reported.
#![cfg(unix)]

mod compilers;
mod world;

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use compilers::run_with;
use world::{World, ends_soon, signal, text};

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
    for name in ["INT", "TERM", "HUP"] {
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

/// A run that is killed again and again, and goes on each time, ends with the numbers of one that was left alone: noise, the
/// moments of its rule and the number of the step included.
#[test]
fn what_is_killed_goes_on() {
    let world = World::new("resume");
    let program = "data x : 8 | 4 = normal(1)\nlet y = x |> linear(6) |> dropout(0.3) |> linear(1)\n\
        let loss = mean(square(y))\nprint loss\nrepeat step in 0..60:\n  minimise loss by adam(0.01 / (step + 1))\n\
        repeat 60: minimise loss by sgd(0.01)\nprint loss\n";
    world.write("p.loom", program);
    let run = ["run", "--backend", "reference", "p.loom", "--save"];
    let left_alone = world.output(&[&run[..], &["whole.safetensors", "--curve", "whole.svg"]].concat());
    assert_eq!(left_alone.status.code(), Some(0), "{}", text(&left_alone.stderr));
    let kept = ["--save-every", "1", "--resume", "--log", "log.csv", "--curve", "parts.svg"];
    let again = [&run[..], &["parts.safetensors"], &kept].concat();
    let (mut killed, mut last) = (0, String::new());
    for wait in 0..200u64 {
        let mut child = world.spawn(&again);
        std::thread::sleep(Duration::from_millis(20 + 7 * wait));
        match child.try_wait().expect("a child") {
            Some(_) => {
                last = text(&child.wait_with_output().expect("its output").stdout);
                break;
            }
            None if wait % 2 == 0 => signal(&child, "INT"),
            None => child.kill().expect("a child to be killed"),
        }
        killed += 1;
        child.wait().expect("its end");
    }
    assert!(killed > 0, "it was killed at least once");
    assert!(text(&left_alone.stdout).ends_with(&last), "{last}");
    assert!(world.read("whole.safetensors") == world.read("parts.safetensors"), "the same numbers");
    let log = text(&world.read("log.csv"));
    assert!(log.starts_with("repetition,loss,value\n1,loss,"));
    assert_eq!(log.lines().count(), 121, "each repetition once: {log}");
    assert!(world.read("whole.svg") == world.read("parts.svg"), "the same picture");
    let over = world.output(&again);
    let said = text(&over.stderr);
    assert!(said.contains("parts.safetensors is of a run that has come to its end"), "{said}");
    world.write("p.loom", "print 1\n");
    let other = world.output(&again);
    assert_ne!(other.status.code(), Some(0), "{}", text(&other.stderr));
}

/// Every step of an inner loop counts: for the log, for the picture, for saves on the way, and for going on inside of a loop.
#[test]
fn steps_of_inner_loops_go_on() {
    let program = "data x : 8 | 4 = normal(1)\nlet y = x |> linear(6) |> dropout(0.3) |> linear(1)\n\
        let loss = mean(square(y))\nstate epochs : | = 0\nrepeat epoch in 0..9:\n  repeat step in 0..7:\n    \
        minimise loss by adam(0.01 / (step + 1 + epoch))\n  epochs =+ 1\n\
        repeat 20: minimise loss by sgd(0.01)\nprint loss, epochs\n";
    let world = World::new("inner_steps");
    world.write("p.loom", program);
    let run = ["run", "--backend", "reference", "p.loom", "--save"];
    let all = ["--log", "whole.csv", "--curve", "whole.svg"];
    let left_alone = world.output(&[&run[..], &["whole.safetensors"], &all].concat());
    assert_eq!(left_alone.status.code(), Some(0), "{}", text(&left_alone.stderr));
    let kept = ["--save-every", "2", "--resume", "--log", "parts.csv", "--curve", "parts.svg"];
    let killed = killed_until_the_end(&world, &[&run[..], &["parts.safetensors"], &kept].concat());
    assert!(killed > 0, "it was killed at least once");
    assert!(world.read("whole.safetensors") == world.read("parts.safetensors"), "the same numbers");
    let log = text(&world.read("whole.csv"));
    assert_eq!(log.lines().count(), 1 + 9 * 7 + 20, "{log}");
    let at = |line: usize| log.lines().nth(line).map(|line| line.rsplit_once(',').map_or("", |(at, _)| at));
    assert_eq!(at(0), Some("step,repetition,inner,loss"));
    assert_eq!([at(1), at(8), at(63)], [Some("1,1,1,loss"), Some("8,2,1,loss"), Some("63,9,7,loss")]);
    assert_eq!(at(64), Some("1,1,,loss"));
    assert_eq!(log, text(&world.read("parts.csv")), "the same log");
    assert!(world.read("whole.svg") == world.read("parts.svg"), "the same picture");
    // A log that counted repetitions of the outermost loop goes on as it is.
    world.write("old.csv", "repetition,loss,value\n1,loss,0.5\n");
    std::fs::remove_file(world.path("parts.safetensors")).expect("a file");
    let old = ["parts.safetensors", "--save-every", "2", "--resume", "--log", "old.csv"];
    let on = world.output(&[&run[..], &old].concat());
    assert_eq!(on.status.code(), Some(0), "{}", text(&on.stderr));
}

/// A run that takes batches of a stream goes on at the batch that it had come to: with shuffled rows, over epochs, with a smaller
/// last batch and with another stream inside.
#[test]
fn streams_go_on() {
    let program = "dim batch in 1..8 = 8\nlet train = batches(\"train.npz\", batch, shuffle = true)\n\
        data x = train.x\ndata y : batch | 1 = train.y\ndata held = batches(\"train.npz\", 3, of = \"x\").x\n\
        state seen : | = 0\nlet net = mlp([4], 1)\nlet loss = mse(net(x), y)\n\
        repeat step in 0..40:\n  minimise loss by adam(0.01)\n  repeat 2: seen =+ sum(held)\n\
        repeat 30: minimise loss by sgd(0.01)\nprint loss, seen\n";
    let x = broadloom::Array::new(&[21, 3], (0..63).map(|at| at as f32 / 60.0).collect::<Vec<f32>>());
    let y = broadloom::Array::new(&[21, 1], (0..21).map(|at| (at as f32).sin()).collect::<Vec<f32>>());
    let arrays = [("x", x.expect("an array")), ("y", y.expect("an array"))];
    let archive = broadloom::files::npz_to_bytes(arrays).expect("an archive");
    for backend in ["native", "reference"] {
        let world = World::new(&format!("streams_{backend}"));
        world.write("p.loom", program);
        world.write("train.npz", &archive);
        let run = ["run", "--backend", backend, "--seed", "3", "p.loom", "--save"];
        let left_alone = world.output(&[&run[..], &["whole.safetensors"]].concat());
        assert_eq!(left_alone.status.code(), Some(0), "{}", text(&left_alone.stderr));
        let again = [&run[..], &["parts.safetensors", "--save-every", "1", "--resume"]].concat();
        let killed = killed_until_the_end(&world, &again);
        assert!(killed > 0, "it was killed at least once");
        assert!(world.read("whole.safetensors") == world.read("parts.safetensors"), "the same numbers");
    }
}

/// Starts a run again and again, and ends it after ever longer times, until it comes to its end. Returns how often it was ended.
fn killed_until_the_end(world: &World, arguments: &[&str]) -> u64 {
    for wait in 0..200u64 {
        let mut child = world.spawn(arguments);
        std::thread::sleep(Duration::from_millis(20 + 7 * wait));
        if child.try_wait().expect("a child").is_some() {
            return wait;
        }
        match wait % 2 {
            0 => signal(&child, "INT"),
            _ => child.kill().expect("a child to be killed"),
        }
        child.wait().expect("its end");
    }
    panic!("it does not come to its end");
}

/// Nothing that is read is overwritten, and what cannot begin leaves old files as they are.
#[test]
fn what_is_read_stays() {
    let world = World::new("overwritten");
    let program =
        "data x : 2 | 1\nlet loss = mean(square(linear(1)(x)))\nrepeat 2: minimise loss by sgd(0.1)\n";
    world.write("p.loom", program);
    world.write("x.csv", "1\n2\n");
    world.write("log.csv", "old\n");
    let run = ["run", "--backend", "reference", "p.loom"];
    for (more, said) in [
        (vec!["--data", "x=x.csv", "--log", "p.loom"], "p.loom is read here"),
        (vec!["--data", "x=x.csv", "--save", "./p.loom"], "p.loom is read here"),
        (vec!["--data", "x=x.csv", "--log", "x.csv"], "x.csv is read here"),
        (vec!["--data", "x=x.csv", "--save", "s", "--log", "s"], "would both write s"),
        (vec!["--log", "log.csv"], "`x` has no values"),
    ] {
        let output = world.output(&[&run[..], &more].concat());
        assert_ne!(output.status.code(), Some(0));
        assert!(text(&output.stderr).contains(said), "{more:?}: {}", text(&output.stderr));
    }
    for command in
        [["emit", "--json", "p.loom", "-o", "p.loom"], ["graph", "p.loom", "--all", "-o", "p.loom"]]
    {
        assert_eq!(world.output(&command).status.code(), Some(2), "{command:?}");
    }
    assert_eq!(text(&world.read("p.loom")), program);
    assert_eq!((text(&world.read("x.csv")), text(&world.read("log.csv"))), ("1\n2\n".into(), "old\n".into()));
}

/// A value that was assigned to a new tensor before the loop is there again, as it was then, if a run resumes
/// within the loop.
#[test]
fn what_was_assigned_is_there_again() {
    let world = World::new("assigned_before");
    world.write(
        "p.loom",
        "state w : 2 = 1\n{first} = w + 7\nlet loss = sum(log({v : 2 = 1}))\n\
         repeat 4:\n  w =+ first\n  minimise loss by sgd(0.6)\n  print w\n",
    );
    let run = ["run", "p.loom", "--save", "s.safetensors"];
    assert_eq!(text(&world.output(&run).stdout), "[9 9]\n[17 17]\n");
    let on = world.output(&[&run[..], &["--resume", "--keep-going"]].concat());
    assert_eq!(text(&on.stdout), "[25 25]\n[33 33]\n", "{}", text(&on.stderr));
}

/// A loss that is not a number ends a run with the values from before its repetition, also of what the repetition had changed
/// already. The run can go on from there.
#[test]
fn half_a_repetition_is_undone() {
    // What is written behind the loss could be computed together with what is written before it.
    let program = "state n : | as i64 = 0\nstate k : 2 = 1\nstate q : 2 = 0\nlet loss = sum(log({w : 2 = 1}))\n\
        repeat 5:\n  n =+ 1\n  q = 3 * k\n  minimise loss by sgd(0.6)\n  k = k * 2\n  print n, k\n";
    for backend in ["native", "reference"] {
        let world = World::new(&format!("undone_{backend}"));
        world.write("p.loom", program);
        let run = ["run", "--backend", backend, "p.loom", "--save", "s.safetensors"];
        let ended = world.output(&run);
        assert_eq!(text(&ended.stdout), "1 [2 2]\n2 [4 4]\n", "{backend}");
        assert!(text(&ended.stderr).contains("`log(w)` is not a number"), "{}", text(&ended.stderr));
        let on = world.output(&[&run[..], &["--resume", "--keep-going"]].concat());
        let wanted = "3 [8 8]\n4 [16 16]\n5 [32 32]\n";
        assert_eq!(text(&on.stdout), wanted, "{backend}: {}", text(&on.stderr));
    }
}

/// A run that is told not to hear the terminal close goes on.
#[test]
#[cfg(target_os = "linux")]
fn nohup_goes_on() {
    let world = World::new("nohup");
    world.write("long.loom", training(FOREVER));
    let program = env!("CARGO_BIN_EXE_broadloom");
    let run = "run --backend reference long.loom --save w.safetensors";
    let mut shell = world.surrounded(Command::new("sh"));
    shell
        .args(["-c", &format!("trap '' HUP; exec {program} {run}")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = shell.spawn().expect("a shell");
    child.stdout.as_mut().expect("standard output").read_exact(&mut [0; 5]).expect("it prints something");
    signal(&child, "HUP");
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().expect("a child").is_none(), "it goes on");
    signal(&child, "TERM");
    assert_eq!(ends_soon(child, Duration::from_secs(10)).status.code(), Some(130));
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

/// Names of files and comments are shown, not obeyed.
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
    for data in ["x=a.npz", "a.npz"] {
        let one = world.output(&["run", "--backend", "reference", "a.loom", "--data", data]);
        assert_eq!(
            (one.status.code(), text(&one.stdout).as_str()),
            (Some(0), "[2 2]\n"),
            "{}",
            text(&one.stderr)
        );
    }
    world.write("b.loom", "data x : 2\ndata y : 2\nprint x + y\n");
    let both = world.output(&["run", "--backend", "reference", "b.loom", "--data", "a.npz"]);
    assert_eq!(both.status.code(), Some(2));
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
