//! The world around a process under test: a folder with a cache of its own, and how processes end.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A folder for one test, with a cache of its own in it.
pub struct World {
    pub folder: PathBuf,
}

impl World {
    pub fn new(name: &str) -> World {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("faults_{name}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        World { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), text).expect("a file for the test");
        self.path(name)
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("a file of the test")
    }

    /// The names of all files that are left in the folder.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).expect("the folder of the test");
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub fn surrounded(&self, mut command: Command) -> Command {
        command.current_dir(&self.folder).env("BROADLOOM_CACHE", self.path("cache"));
        ["CC", "BROADLOOM_CC", "NO_COLOR"].into_iter().for_each(|name| _ = command.env_remove(name));
        command
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_broadloom"));
        command.args(arguments);
        self.surrounded(command)
    }

    /// A command of the shell, where `broadloom` is the command under test.
    pub fn shell(&self, line: &str) -> Output {
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("broadloom() {{ '{}' \"$@\"; }}\n{line}", env!("CARGO_BIN_EXE_broadloom")));
        self.surrounded(command).output().expect("a shell")
    }

    pub fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the command runs")
    }

    /// Starts the command under test with the signals of a terminal, even if the tests themselves are run by `nohup`.
    pub fn spawn(&self, arguments: &[&str]) -> Child {
        let mut command = if cfg!(target_os = "linux") {
            let mut command = Command::new("env");
            command.args(["--default-signal", env!("CARGO_BIN_EXE_broadloom")]).args(arguments);
            self.surrounded(command)
        } else {
            self.command(arguments)
        };
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits for a process that should end soon, and says how it ended.
pub fn ends_soon(mut child: Child, limit: Duration) -> Output {
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

pub fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status();
    assert!(sent.expect("the command `kill`").success());
}
