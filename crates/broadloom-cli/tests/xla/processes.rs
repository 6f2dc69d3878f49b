//! Several processes train what one device trains; a process that is lost ends the run, which goes on from what it has saved.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};

use super::mesh::{PROGRAM, alone};

/// A test, in a folder of its own.
type Test = fn(&Path) -> Result<(), String>;

const TESTS: &[(&str, Test)] = &[
    ("same_losses", same_losses),
    ("lost_and_resumed", lost_and_resumed),
    ("several_machines", several_machines),
    ("interrupted", interrupted),
];

pub fn trials(missing: bool) -> Vec<Trial> {
    let trial = |(name, test): &(&'static str, Test)| {
        let (name, test) = (*name, *test);
        let run = move || scratch(name).and_then(|folder| test(&folder)).map_err(Failed::from);
        Trial::test(format!("xla::processes::{name}"), run)
            .with_ignored_flag(missing || !cfg!(target_os = "linux"))
    };
    TESTS.iter().map(trial).collect()
}

/// A folder with the program.
fn scratch(name: &str) -> Result<PathBuf, String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("xla_processes").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("count.loom"), PROGRAM))
        .map_err(|error| error.to_string())?;
    Ok(folder)
}

/// Starts a run on XLA.
fn started(folder: &Path, arguments: &str) -> Result<Child, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_broadloom"));
    command.args(["run", "count.loom", "--backend", "xla"]).args(arguments.split_whitespace());
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own, as a terminal makes one.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map_err(|error| error.to_string())
}

/// The output of a run that has ended.
fn ended(child: Child) -> Result<Output, String> {
    child.wait_with_output().map_err(|error| error.to_string())
}

/// Runs to the end, and expects that nothing is wrong.
fn runs(folder: &Path, arguments: &str) -> Result<String, String> {
    let output = ended(started(folder, arguments)?)?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(errors) } else { Err(errors) }
}

/// The losses in a file are those of one device. Returns the repetition of the first.
fn has_losses_of_one_device(log: &Path) -> Result<u64, String> {
    let expected = alone()?;
    let text = std::fs::read_to_string(log).map_err(|error| error.to_string())?;
    let line = |line: &str| {
        let mut parts = line.split(',');
        Some((parts.next()?.parse::<u64>().ok()?, parts.next_back()?.parse::<f64>().ok()?))
    };
    let found: Vec<(u64, f64)> = text.lines().skip(1).filter_map(line).collect();
    for (step, loss) in &found {
        let expected = expected[*step as usize - 1];
        if (loss - expected).abs() > 1e-4 * expected {
            return Err(format!("after repetition {step} the loss is {loss}, and {expected} on one device"));
        }
    }
    match (found.first(), found.last()) {
        (Some((first, _)), Some((50, _))) => Ok(*first),
        _ => Err(format!("the losses do not go to the end: {text}")),
    }
}

/// Two processes of four devices each have the losses of one device, and write one file that one device can read.
fn same_losses(folder: &Path) -> Result<(), String> {
    let division =
        "--mesh data=4,model=2 --shard batch=data --shard *.heads=model --shard *.feed.hidden=model";
    let several = format!("{division} --fsdp data --processes 2 --log log.csv --save saved.safetensors");
    runs(folder, &several)?;
    has_losses_of_one_device(&folder.join("log.csv"))?;
    let notice = runs(folder, "--save saved.safetensors --resume")?;
    if !notice.contains("has come to its end") {
        return Err(format!("one device does not read what was saved: {notice}"));
    }
    Ok(())
}

/// A process that is killed ends the run with a message; the run goes on from its last checkpoint, with the losses that it would have
/// had.
fn lost_and_resumed(folder: &Path) -> Result<(), String> {
    let division = "--mesh data=8 --shard batch=data --fsdp data --processes 2 --save saved.safetensors";
    let run = started(folder, &format!("{division} --save-every 5"))?;
    let saved = folder.join("saved.safetensors");
    wait_until("a checkpoint", || saved.exists())?;
    let children = children(run.id())?;
    let [_, second] = children[..] else { return Err(format!("there are processes {children:?}")) };
    let killed = Command::new("kill").args(["-9", &second.to_string()]).status();
    let start = Instant::now();
    let output = ended(run)?;
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = "process 1 of 2 has ended (signal: 9 (SIGKILL)), and the others cannot go on without it";
    if killed.is_err() || output.status.code() != Some(1) || !message.contains(expected) {
        return Err(format!("{}: {message}", output.status));
    }
    if !message.contains("the run can go on from there") || start.elapsed() > Duration::from_secs(30) {
        return Err(format!("after {:?}: {message}", start.elapsed()));
    }
    runs(folder, &format!("{division} --resume --log log.csv"))?;
    let first = has_losses_of_one_device(&folder.join("log.csv"))?;
    if first % 5 == 1 && first > 1 { Ok(()) } else { Err(format!("it goes on with repetition {first}")) }
}

/// Processes that are started one by one find each other; only the first one prints.
fn several_machines(folder: &Path) -> Result<(), String> {
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let free = free.map_err(|error| error.to_string())?;
    let both = format!(
        "--mesh data=8 --shard batch=data --processes 2 --coordinator {free} --log log.csv --process"
    );
    let follower = started(folder, &format!("{both} 1"))?;
    runs(folder, &format!("{both} 0"))?;
    let output = ended(follower)?;
    if !output.status.success() || !output.stdout.is_empty() || !output.stderr.is_empty() {
        return Err(format!("the second process: {output:?}"));
    }
    has_losses_of_one_device(&folder.join("log.csv")).map(drop)
}

/// Ctrl-C reaches every process of a terminal. The run saves what there is, for which it needs the others.
fn interrupted(folder: &Path) -> Result<(), String> {
    let division = "--mesh data=2 --shard batch=data --processes 2 --save saved.safetensors";
    let run = started(folder, &format!("{division} --save-every 5"))?;
    let saved = folder.join("saved.safetensors");
    wait_until("a checkpoint", || saved.exists())?;
    let everybody = format!("-{}", run.id());
    let sent = Command::new("kill").args(["-INT", "--", &everybody]).status();
    let output = ended(run)?;
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    match sent.is_ok() && output.status.code() == Some(130) && message.contains("stopped early") {
        true => Ok(()),
        false => Err(format!("{}: {message}", output.status)),
    }
}

fn wait_until(what: &str, is_there: impl Fn() -> bool) -> Result<(), String> {
    let start = Instant::now();
    while !is_there() {
        if start.elapsed() > Duration::from_secs(300) {
            return Err(format!("{what} does not come"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// The processes that a process has started, in the order of their starts.
fn children(of: u32) -> Result<Vec<u32>, String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").map_err(|error| error.to_string())?.flatten() {
        let Ok(id) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        // The name of a program stands in parentheses, before the state and the parent.
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        if rest.split_whitespace().nth(1) == Some(&of.to_string()) {
            found.push(id);
        }
    }
    found.sort_unstable();
    Ok(found)
}
