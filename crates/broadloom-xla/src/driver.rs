//! A Python process that runs modules with JAX. One process serves all sessions that are there at a time.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The program that the process runs, in Python. The Python package takes from it how JAX is told about modules.
pub const PROGRAM: &str = include_str!("driver.py");

/// The process, kept while somebody uses it.
static SHARED: Mutex<Weak<Driver>> = Mutex::new(Weak::new());

/// The option of XLA that makes a CPU look like several devices.
const VIRTUAL_DEVICES: &str = "--xla_force_host_platform_device_count";

/// A running Python process.
pub struct Driver {
    process: Mutex<Process>,
    next: AtomicU32,
    /// The number of devices that a CPU looks like.
    devices: u64,
}

struct Process {
    child: Child,
    input: Option<BufWriter<ChildStdin>>,
    output: BufReader<ChildStdout>,
}

/// A module that JAX has compiled.
pub struct Compiled {
    driver: Arc<Driver>,
    id: u32,
}

/// The Python that is used: the one that `BROADLOOM_PYTHON` names, or `python3`.
fn python() -> String {
    std::env::var("BROADLOOM_PYTHON").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "python3".into())
}

/// The reason why there is no JAX, and what to do.
fn without_jax(python: &str, reason: &str) -> String {
    format!(
        "XLA runs through Python with JAX, and `{python}` has none: {reason}. Install it with `{python} -m pip install jax`, or name a Python that \
         has it in BROADLOOM_PYTHON"
    )
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Driver {
    /// The process that all sessions share, with so many devices. It is started if there is none, or if its CPU looks like fewer
    /// devices, which cannot be changed later.
    pub fn shared(devices: u64) -> Result<Arc<Driver>, String> {
        let mut shared = held(&SHARED);
        if let Some(driver) = shared.upgrade().filter(|driver| driver.devices >= devices) {
            return Ok(driver);
        }
        let driver = Arc::new(Driver::start(&python(), devices)?);
        *shared = Arc::downgrade(&driver);
        Ok(driver)
    }

    fn start(python: &str, devices: u64) -> Result<Driver, String> {
        let mut command = Command::new(python);
        let flags = std::env::var("XLA_FLAGS").unwrap_or_default();
        if devices > 1 && !flags.contains(VIRTUAL_DEVICES) {
            command.env("XLA_FLAGS", format!("{flags} {VIRTUAL_DEVICES}={devices}").trim());
        }
        let spawned = command
            .args(["-c", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = spawned.map_err(|error| without_jax(python, &error.to_string()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(without_jax(python, "its streams are closed"));
        };
        let (input, output) = (Some(BufWriter::new(input)), BufReader::new(output));
        let mut process = Process { child, input, output };
        process.answer().map_err(|reason| without_jax(python, &reason))?;
        Ok(Driver { process: Mutex::new(process), next: AtomicU32::new(0), devices })
    }

    /// Compiles a module for some devices.
    pub fn compile(self: &Arc<Driver>, text: &str, devices: u64) -> Result<Compiled, String> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut process = held(&self.process);
        let devices = u32::try_from(devices).map_err(|_| "no machine has so many devices")?;
        process.send(b'C', id, |input| {
            input.write_all(&devices.to_le_bytes())?;
            with_length(input, text.as_bytes())
        })?;
        process.answer()?;
        Ok(Compiled { driver: Arc::clone(self), id })
    }
}

/// An array that JAX holds, on its devices.
pub struct OnDevice {
    driver: Arc<Driver>,
    key: u32,
}

impl OnDevice {
    fn new(driver: &Arc<Driver>) -> OnDevice {
        OnDevice { driver: Arc::clone(driver), key: driver.next.fetch_add(1, Ordering::Relaxed) }
    }

    /// The bytes of the array.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        let mut process = held(&self.driver.process);
        process.send(b'G', self.key, |_| Ok(()))?;
        process.answer()?;
        let bytes = process.bytes();
        bytes.map_err(|error| process.ended(&error))
    }
}

impl Drop for OnDevice {
    fn drop(&mut self) {
        // If the process is gone, so is the array.
        let _ = held(&self.driver.process).send(b'D', self.key, |_| Ok(()));
    }
}

/// An argument of a module.
pub enum Argument<'a> {
    /// Bytes, which JAX holds from now on.
    Bytes(Vec<u8>),
    /// An array that it holds already.
    Held(&'a OnDevice),
}

/// What a run has made.
pub struct Made {
    /// For each argument that was bytes the array that JAX holds now.
    pub given: Vec<Option<OnDevice>>,
    /// The results that stay on the devices.
    pub kept: Vec<OnDevice>,
    /// The bytes of the others.
    pub rest: Vec<Vec<u8>>,
}

/// The length of an argument that is there already.
const ALREADY: u64 = u64::MAX;

impl Compiled {
    /// Runs the module on its arguments. So many of its first results stay on the devices, the others come back.
    pub fn run(&self, arguments: &[Argument<'_>], kept: usize) -> Result<Made, String> {
        let given: Vec<Option<OnDevice>> = arguments
            .iter()
            .map(|each| matches!(each, Argument::Bytes(_)).then(|| OnDevice::new(&self.driver)))
            .collect();
        let kept: Vec<OnDevice> = (0..kept).map(|_| OnDevice::new(&self.driver)).collect();
        let mut process = held(&self.driver.process);
        process.send(b'R', self.id, |input| {
            input.write_all(&(arguments.len() as u32).to_le_bytes())?;
            for (argument, given) in arguments.iter().zip(&given) {
                match (argument, given) {
                    (Argument::Bytes(bytes), Some(array)) => {
                        input.write_all(&array.key.to_le_bytes())?;
                        with_length(input, bytes)?;
                    }
                    (Argument::Held(array), _) => {
                        input.write_all(&array.key.to_le_bytes())?;
                        input.write_all(&ALREADY.to_le_bytes())?;
                    }
                    (Argument::Bytes(_), None) => {}
                }
            }
            input.write_all(&(kept.len() as u32).to_le_bytes())?;
            kept.iter().try_for_each(|array| input.write_all(&array.key.to_le_bytes()))
        })?;
        process.answer()?;
        let rest = process.results();
        let rest = rest.map_err(|error| process.ended(&error))?;
        drop(process);
        Ok(Made { given, kept, rest })
    }

    /// The text of the module in the language of XLA, after it was divided over devices and compiled.
    pub fn compiled_text(&self) -> Result<String, String> {
        let mut process = held(&self.driver.process);
        process.send(b'T', self.id, |_| Ok(()))?;
        process.answer()?;
        let text = process.bytes();
        let text = text.map_err(|error| process.ended(&error))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        // If the process is gone, so is the module.
        let _ = held(&self.driver.process).send(b'F', self.id, |_| Ok(()));
    }
}

fn with_length(input: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    input.write_all(&(bytes.len() as u64).to_le_bytes())?;
    input.write_all(bytes)
}

impl Process {
    fn send(
        &mut self,
        order: u8,
        id: u32,
        rest: impl FnOnce(&mut BufWriter<ChildStdin>) -> io::Result<()>,
    ) -> Result<(), String> {
        let Some(input) = &mut self.input else { return Err("the Python process has ended".into()) };
        let write = || {
            input.write_all(&[order])?;
            input.write_all(&id.to_le_bytes())?;
            rest(input)?;
            input.flush()
        };
        let written = write();
        written.map_err(|error| self.ended(&error))
    }

    /// Waits for the beginning of an answer: that something was done, or why it was not.
    fn answer(&mut self) -> Result<(), String> {
        let mut kind = [0];
        let read = self.output.read_exact(&mut kind);
        read.map_err(|error| self.ended(&error))?;
        if kind == *b"K" {
            return Ok(());
        }
        let message = self.bytes();
        let message = message.map_err(|error| self.ended(&error))?;
        Err(String::from_utf8_lossy(&message).into_owned())
    }

    fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; 8];
        self.output.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        let mut bytes = Vec::new();
        self.output.by_ref().take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    fn results(&mut self) -> io::Result<Vec<Vec<u8>>> {
        let mut count = [0; 4];
        self.output.read_exact(&mut count)?;
        (0..u32::from_le_bytes(count)).map(|_| self.bytes()).collect()
    }

    /// What is said if the process ends before its time.
    fn ended(&mut self, error: &io::Error) -> String {
        self.input = None;
        let status = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        format!("the Python process has ended ({status}; {error}); `python3 -c 'import jax'` may say why")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Without input the process ends by itself.
        self.input = None;
        let _ = self.child.wait();
    }
}
