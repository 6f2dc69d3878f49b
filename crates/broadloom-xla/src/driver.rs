//! Python that runs modules with JAX. One process serves all sessions that are there at a time; a session may also have several of its
//! own, which run modules together.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::framing::with_length;
use crate::group::Group;
use crate::python::python;

/// The process, kept while it is used.
static SHARED: Mutex<Weak<Driver>> = Mutex::new(Weak::new());

/// Running Python.
pub struct Driver {
    group: Mutex<Group>,
    next: AtomicU32,
    /// The number of devices that a CPU looks like.
    devices: u64,
}

/// Several processes that run modules together, each with as many devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processes {
    /// The number of processes.
    pub count: u32,
    /// The address at which the others [follow](follow) this one, `HOST:PORT`. Without it, all are started on
    /// this machine.
    pub coordinator: Option<String>,
}

/// A module that JAX has compiled.
pub struct Compiled {
    driver: Arc<Driver>,
    id: u32,
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
        let driver = Arc::new(Driver::of(Group::alone(&python(), devices)?, devices));
        *shared = Arc::downgrade(&driver);
        Ok(driver)
    }

    /// Several processes that together have so many devices. Nobody else shares them.
    pub fn several(devices: u64, processes: &Processes) -> Result<Arc<Driver>, String> {
        let count = u64::from(processes.count.max(1));
        if !devices.is_multiple_of(count) {
            return Err(format!(
                "{count} processes cannot share {devices} devices evenly: let the mesh have a multiple of {count}"
            ));
        }
        let python = python();
        let mut group = match &processes.coordinator {
            None => Group::here(&python, processes.count, devices / count),
            Some(coordinator) => Group::led(&python, processes.count, coordinator),
        }?;
        group.join(devices / count)?;
        Ok(Arc::new(Driver::of(group, devices)))
    }

    fn of(group: Group, devices: u64) -> Driver {
        Driver { group: Mutex::new(group), next: AtomicU32::new(0), devices }
    }

    /// Compiles a module for some devices.
    pub fn compile(self: &Arc<Driver>, text: &str, devices: u64) -> Result<Compiled, String> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let devices = u32::try_from(devices).map_err(|_| "no machine has so many devices")?;
        held(&self.group).ask(b'C', id, &|input| {
            input.write_all(&devices.to_le_bytes())?;
            with_length(input, text.as_bytes())
        })?;
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
        first(held(&self.driver.group).ask(b'G', self.key, &|_| Ok(()))?)
    }
}

impl Drop for OnDevice {
    fn drop(&mut self) {
        // If the process is gone, so is the array.
        let _ = held(&self.driver.group).tell(b'D', self.key, &|_| Ok(()));
    }
}

/// An argument of a module.
pub enum Argument<'a> {
    /// Bytes, which JAX holds from now on.
    Bytes(Vec<u8>),
    /// An array that it holds already.
    Held(&'a OnDevice),
}

/// The results of a run.
pub struct RunResults {
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
    pub fn run(&self, arguments: &[Argument<'_>], kept: usize) -> Result<RunResults, String> {
        let given: Vec<Option<OnDevice>> = arguments
            .iter()
            .map(|each| matches!(each, Argument::Bytes(_)).then(|| OnDevice::new(&self.driver)))
            .collect();
        let kept: Vec<OnDevice> = (0..kept).map(|_| OnDevice::new(&self.driver)).collect();
        let rest = held(&self.driver.group).ask(b'R', self.id, &|input| {
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
        Ok(RunResults { given, kept, rest })
    }

    /// The text of the module in the language of XLA, after it was divided over devices and compiled.
    pub fn compiled_text(&self) -> Result<String, String> {
        let text = first(held(&self.driver.group).ask(b'T', self.id, &|_| Ok(()))?)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        // If the process is gone, so is the module.
        let _ = held(&self.driver.group).tell(b'F', self.id, &|_| Ok(()));
    }
}

/// The only part of an answer.
fn first(answer: Vec<Vec<u8>>) -> Result<Vec<u8>, String> {
    answer.into_iter().next().ok_or_else(|| "the Python process has given no answer; this is a defect".into())
}

/// Lends the devices of this machine to a run on another one, as a process other than 0 of several, until that run ends.
pub fn follow(coordinator: &str, process: u32, count: u32) -> Result<(), String> {
    crate::follow::follow(&python(), coordinator, process, count)
}
