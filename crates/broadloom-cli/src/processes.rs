//! The arguments that share the devices of a mesh out among processes.

use broadloom::Processes;

use crate::output::{Output, Status};
use crate::program::unusable;

/// The arguments that share the devices of a mesh out among processes.
#[derive(clap::Args, Clone, Debug)]
pub struct ProcessArgs {
    /// Divide the devices of the mesh among N processes, all on this machine unless `--coordinator` is given
    #[arg(long, value_name = "N", value_parser = count)]
    processes: Option<u32>,
    /// Address at which processes on several machines meet: the name of the first machine, and a free port there
    #[arg(long, value_name = "HOST:PORT", requires = "processes", requires = "process", value_parser = coordinator)]
    coordinator: Option<String>,
    /// Number of this process, from 0
    #[arg(long, value_name = "I", requires = "coordinator")]
    process: Option<u32>,
}

/// The largest number of processes.
const MOST: u32 = 1 << 16;

/// A number of processes.
fn count(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| (1..=MOST).contains(count));
    count.ok_or_else(|| format!("write a whole number from 1 to {MOST}"))
}

/// `HOST:PORT`
fn coordinator(text: &str) -> Result<String, String> {
    let help = "write the name of a machine and a port, such as `10.0.0.1:7000`";
    let (host, port) = text.rsplit_once(':').ok_or(help)?;
    match port.parse::<u16>() {
        Ok(1..) if !host.is_empty() => Ok(text.into()),
        _ => Err(help.into()),
    }
}

impl ProcessArgs {
    /// The processes, if there are several or they are on several machines.
    pub fn several(&self) -> Option<Processes> {
        Some(Processes { count: self.processes?, coordinator: self.coordinator.clone() })
    }

    /// Follows process 0 until its run ends, if this is another process.
    pub fn follow(&self, json: bool) -> Option<Output> {
        let (count, process, coordinator) = (self.processes?, self.process?, self.coordinator.as_ref()?);
        if process >= count {
            let message = format!("`--process {process}` is none of {count}: they are counted from 0");
            return Some(unusable("run", message, json));
        }
        if process == 0 {
            return None;
        }
        Some(match broadloom::follow(coordinator, process, count) {
            Ok(()) => Output::new(Status::Fine),
            Err(message) => {
                let message = format!("process {process} of {count}: {message}");
                Output { status: Status::Wrong, ..unusable("run", message, json) }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::coordinator;

    #[test]
    fn places_are_read_or_refused() {
        assert_eq!(coordinator("node0:7000"), Ok("node0:7000".to_string()));
        for wrong in ["", "node0", ":7000", "node0:", "node0:0", "node0:70000"] {
            assert!(coordinator(wrong).is_err(), "{wrong}");
        }
    }
}
