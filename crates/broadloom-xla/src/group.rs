//! Python processes that get the same orders, and answer together. The first one is on this machine; with several, each has some of the
//! devices of a mesh, and a module runs on all of them at once.
//!
//! A thread for each process reads its answers, so that a process that ends is noticed while others wait for it.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::follow::{accept, is_local};
use crate::framing::{read_part, with_length};
use crate::python::{PROGRAM, without_jax};

/// The option of XLA that makes a CPU look like several devices.
const VIRTUAL_DEVICES: &str = "--xla_force_host_platform_device_count";

/// The time that processes have to answer after one of them has failed: the others may wait for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The time that processes have to end.
const FAREWELL: Duration = Duration::from_secs(15);

/// Processes that run modules together.
pub(crate) struct Group {
    members: Vec<Member>,
    events: Receiver<(usize, Event)>,
    /// The address at which JAX brings the processes together, and true if all of them are on this machine.
    meeting: (String, bool),
    /// The reason why the group cannot be used any more.
    lost: Option<String>,
}

struct Member {
    input: BufWriter<Box<dyn Write + Send>>,
    at: ProcessLocation,
    has_ended: bool,
}

/// The location of a process.
enum ProcessLocation {
    Here(Child),
    /// On another machine, with the connection to it.
    There(TcpStream),
}

/// A message from a process.
enum Event {
    /// An answer, or what is wrong.
    Answer(Result<Vec<Vec<u8>>, String>),
    /// It has ended, or cannot be reached any more.
    Ended(io::Error),
}

/// Writes the rest of an order.
type Rest<'a> = &'a dyn Fn(&mut dyn Write) -> io::Result<()>;

impl Group {
    /// One process, whose CPU looks like so many devices.
    pub fn alone(python: &str, devices: u64) -> Result<Group, String> {
        let (sender, events) = channel();
        let members = vec![Member::start(python, (0, &sender), devices)?];
        Group { members, events, meeting: (String::new(), true), lost: None }.greeted(python)
    }

    /// Several processes on this machine, each of which has so many devices.
    pub fn here(python: &str, count: u32, devices: u64) -> Result<Group, String> {
        let (sender, events) = channel();
        let start = |index| Member::start(python, (index as usize, &sender), devices);
        let members = (0..count).map(start).collect::<Result<_, _>>()?;
        let meeting = (format!("127.0.0.1:{}", free_port("127.0.0.1")?), true);
        Group { members, events, meeting, lost: None }.greeted(python)
    }

    /// A process on this machine, and others that come from elsewhere to a place, `HOST:PORT`.
    pub fn led(python: &str, count: u32, coordinator: &str) -> Result<Group, String> {
        let (sender, events) = channel();
        let mut members = vec![Member::start(python, (0, &sender), 1)?];
        for (index, link) in accept(coordinator, count)?.into_iter().enumerate() {
            members.push(Member::reach(link, (index + 1, &sender)).map_err(|error| error.to_string())?);
        }
        let host = coordinator.rsplit_once(':').map_or(coordinator, |(host, _)| host);
        let free = free_port(if is_local(host) { host } else { "0.0.0.0" })?;
        Group { members, events, meeting: (format!("{host}:{free}"), false), lost: None }.greeted(python)
    }

    /// Waits until every process says that it has JAX.
    fn greeted(mut self, python: &str) -> Result<Group, String> {
        self.answers().map_err(|reason| without_jax(python, &reason))?;
        Ok(self)
    }

    /// Lets JAX bring the processes together.
    pub fn join(&mut self, devices: u64) -> Result<(), String> {
        let devices = u32::try_from(devices).map_err(|_| "no machine has so many devices")?;
        let count = self.members.len() as u32;
        let (address, are_here) = self.meeting.clone();
        for index in 0..self.members.len() {
            self.send(index, b'J', index as u32, &|input| {
                input.write_all(&count.to_le_bytes())?;
                input.write_all(&devices.to_le_bytes())?;
                input.write_all(&u32::from(are_here).to_le_bytes())?;
                with_length(input, address.as_bytes())
            })?;
        }
        self.answers().map(drop)
    }

    /// Gives all processes an order, and waits until all have answered. The answer is that of the first.
    pub fn ask(&mut self, order: u8, id: u32, rest: Rest<'_>) -> Result<Vec<Vec<u8>>, String> {
        self.tell(order, id, rest)?;
        self.answers()
    }

    /// Gives all processes an order that has no answer.
    pub fn tell(&mut self, order: u8, id: u32, rest: Rest<'_>) -> Result<(), String> {
        (0..self.members.len()).try_for_each(|index| self.send(index, order, id, rest))
    }

    fn send(&mut self, index: usize, order: u8, id: u32, rest: Rest<'_>) -> Result<(), String> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        let input = &mut self.members[index].input;
        let mut write = || {
            input.write_all(&[order])?;
            input.write_all(&id.to_le_bytes())?;
            rest(input)?;
            input.flush()
        };
        let written = write();
        written.map_err(|error| self.ended(index, &error))
    }

    /// Waits until all processes have answered, or one of them has ended.
    fn answers(&mut self) -> Result<Vec<Vec<u8>>, String> {
        let (mut first, mut failure) = (Vec::new(), None);
        let (mut missing, mut until) = (self.members.len(), None);
        while missing > 0 {
            match self.event(until) {
                Some((index, Event::Ended(error))) => return Err(self.ended(index, &error)),
                Some((index, Event::Answer(Ok(parts)))) => {
                    missing -= 1;
                    if index == 0 {
                        first = parts;
                    }
                }
                Some((index, Event::Answer(Err(wrong)))) => {
                    missing -= 1;
                    failure.get_or_insert((index, wrong));
                    until.get_or_insert_with(|| Instant::now() + PATIENCE);
                }
                None => break,
            }
        }
        let Some((index, wrong)) = failure else { return Ok(first) };
        let wrong = match self.members.len() {
            1 => wrong,
            count => format!("process {index} of {count}: {wrong}"),
        };
        if missing > 0 || self.loses_someone() {
            // Another process may be the reason: one that has ended is noticed by those that wait for it.
            return Err(match self.event(Some(Instant::now())) {
                Some((index, Event::Ended(error))) => self.ended(index, &error),
                _ => self.lost_by(wrong),
            });
        }
        Err(wrong)
    }

    /// Returns true if a process has ended.
    fn loses_someone(&mut self) -> bool {
        let has_ended = |member: &mut Member| match &mut member.at {
            ProcessLocation::Here(child) => child.try_wait().is_ok_and(|status| status.is_some()),
            ProcessLocation::There(_) => false,
        };
        self.members.iter_mut().any(has_ended)
    }

    /// The next event, if there is one in time.
    fn event(&mut self, until: Option<Instant>) -> Option<(usize, Event)> {
        let read = match until {
            None => self.events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(until) => self.events.recv_timeout(until.saturating_duration_since(Instant::now())),
        };
        let (index, event) = read.ok()?;
        self.members[index].has_ended |= matches!(event, Event::Ended(_));
        Some((index, event))
    }

    /// The message about a process that has ended before its time. The others cannot go on without it, and are ended.
    fn ended(&mut self, index: usize, error: &io::Error) -> String {
        let count = self.members.len();
        // Whose output ends is at an end: there is nothing else to say about it.
        let reason = match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => String::new(),
            _ => format!(" ({error})"),
        };
        let message = match &mut self.members[index].at {
            ProcessLocation::There(link) => {
                let from = link.peer_addr().map_or(String::new(), |from| format!(", at {from},"));
                format!("process {index} of {count}{from} has ended or cannot be reached any more{reason}")
            }
            ProcessLocation::Here(child) => {
                let status = ended_child(child).map_or(reason, |status| format!(" ({status})"));
                match count {
                    1 => {
                        format!("the Python process has ended{status}; `python3 -c 'import jax'` may say why")
                    }
                    _ => format!(
                        "process {index} of {count} has ended{status}, and the others cannot go on without it"
                    ),
                }
            }
        };
        self.lost_by(message)
    }

    /// Ends all processes, for a reason.
    fn lost_by(&mut self, reason: String) -> String {
        self.members.iter_mut().for_each(Member::kill);
        self.lost = Some(reason.clone());
        reason
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The message goes to all processes before the first one is awaited: they end together.
        if self.lost.is_none() && self.tell(b'Q', 0, &|_| Ok(())).is_ok() {
            let until = Instant::now() + FAREWELL;
            while self.members.iter().any(|member| !member.has_ended) {
                if self.event(Some(until)).is_none() {
                    break;
                }
            }
        }
        self.members.iter_mut().for_each(Member::kill);
    }
}

impl Member {
    /// Starts a process on this machine.
    fn start(python: &str, to: (usize, &Sender<(usize, Event)>), devices: u64) -> Result<Member, String> {
        let mut command = Command::new(python);
        let flags = std::env::var("XLA_FLAGS").unwrap_or_default();
        if devices > 1 && !flags.contains(VIRTUAL_DEVICES) {
            command.env("XLA_FLAGS", format!("{flags} {VIRTUAL_DEVICES}={devices}").trim());
        }
        command.args(["-c", PROGRAM]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| without_jax(python, &error.to_string()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(without_jax(python, "its streams are closed"));
        };
        listen(output, to);
        Ok(Member {
            input: BufWriter::new(Box::new(input)),
            at: ProcessLocation::Here(child),
            has_ended: false,
        })
    }

    /// A process at the other end of a connection.
    fn reach(link: TcpStream, to: (usize, &Sender<(usize, Event)>)) -> io::Result<Member> {
        let (input, output) = (link.try_clone()?, link.try_clone()?);
        listen(output, to);
        Ok(Member {
            input: BufWriter::new(Box::new(input)),
            at: ProcessLocation::There(link),
            has_ended: false,
        })
    }

    /// Ends the process, if it has not ended. A process on another machine ends when it is not connected any more.
    fn kill(&mut self) {
        match &mut self.at {
            ProcessLocation::Here(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
            ProcessLocation::There(link) => {
                let _ = link.shutdown(Shutdown::Both);
            }
        }
    }
}

/// The status of a process that has closed its output: it ends at that moment.
fn ended_child(child: &mut Child) -> Option<ExitStatus> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            Ok(status) => return status,
            Err(_) => return None,
        }
    }
    None
}

/// Reads the answers of a process, in a thread.
fn listen(output: impl Read + Send + 'static, (index, to): (usize, &Sender<(usize, Event)>)) {
    let (to, mut output) = (to.clone(), BufReader::new(output));
    std::thread::spawn(move || {
        loop {
            let event = match answer(&mut output) {
                Ok(answer) => Event::Answer(answer),
                Err(error) => Event::Ended(error),
            };
            let is_last = matches!(event, Event::Ended(_));
            if to.send((index, event)).is_err() || is_last {
                break;
            }
        }
    });
}

/// Reads an answer: what was made, or what is wrong.
fn answer(output: &mut impl Read) -> io::Result<Result<Vec<Vec<u8>>, String>> {
    let (mut kind, mut count) = ([0], [0; 4]);
    output.read_exact(&mut kind)?;
    output.read_exact(&mut count)?;
    let mut parts: Vec<Vec<u8>> =
        (0..u32::from_le_bytes(count)).map(|_| read_part(output)).collect::<io::Result<_>>()?;
    if kind == *b"K" {
        return Ok(Ok(parts));
    }
    Ok(Err(String::from_utf8_lossy(&parts.pop().unwrap_or_default()).into_owned()))
}

/// A port of this machine that nobody uses at the moment.
pub(crate) fn free_port(host: &str) -> Result<u16, String> {
    let port = TcpListener::bind((host, 0)).and_then(|listener| listener.local_addr());
    port.map(|address| address.port()).map_err(|error| format!("no port is free at {host}: {error}"))
}
