//! Processes on several machines find each other: the first one waits at a place for the others, each of which says who it is.

use std::io::{self, Read};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::framing::{read_part, with_length};
use crate::python::PROGRAM;

/// The time in which all processes have to come.
const ALL_WITHIN: Duration = Duration::from_secs(300);

/// The time in which somebody who has connected has to say hello.
const HELLO_WITHIN: Duration = Duration::from_secs(10);

/// The words of a process that has come: equal versions of the program use the same protocol.
fn hello(process: u32, count: u32) -> String {
    format!("broadloom {} process {process} of {count}", env!("CARGO_PKG_VERSION"))
}

/// Returns true for names of this machine that others cannot reach it by.
pub(crate) fn is_local(host: &str) -> bool {
    ["127.0.0.1", "localhost", "[::1]"].contains(&host)
}

/// Waits for all processes but the first, and returns the connections to them, in order.
pub(crate) fn accept(coordinator: &str, count: u32) -> Result<Vec<TcpStream>, String> {
    accept_within(coordinator, count, ALL_WITHIN)
}

fn accept_within(coordinator: &str, count: u32, within: Duration) -> Result<Vec<TcpStream>, String> {
    let failed = |error: io::Error| format!("cannot wait for other processes at {coordinator}: {error}");
    // JAX finds the first process by this address, too, there as elsewhere.
    found(coordinator)?;
    let listener = listener(coordinator).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let mut links: Vec<Option<TcpStream>> = (1..count).map(|_| None).collect();
    let until = Instant::now() + within;
    while links.iter().any(Option::is_none) {
        match listener.accept() {
            Ok((link, _)) => welcome(link, &mut links),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if Instant::now() > until {
                    return Err(missing(coordinator, &links, within));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(links.into_iter().flatten().collect())
}

/// The message about processes that did not come.
fn missing(coordinator: &str, links: &[Option<TcpStream>], within: Duration) -> String {
    let missing = links.iter().zip(1..).filter(|(link, _)| link.is_none());
    let missing: Vec<String> = missing.map(|(_, index): (_, u32)| index.to_string()).collect();
    let (word, them) = if missing.len() == 1 { ("process", "it") } else { ("processes", "each") };
    format!(
        "{word} {} of {} did not come to {coordinator} within {} seconds: start {them} on its machine, with this address and the number of its process",
        missing.join(", "),
        links.len() + 1,
        within.as_secs(),
    )
}

/// Listens at a place. A name by which only this machine reaches itself is taken literally; otherwise it may be a name that means
/// something else here than elsewhere, and everybody may come.
fn listener(coordinator: &str) -> io::Result<TcpListener> {
    let (host, port) = place(coordinator)?;
    match is_local(host) {
        true => TcpListener::bind(coordinator),
        false => TcpListener::bind(("::", port)).or_else(|_| TcpListener::bind(("0.0.0.0", port))),
    }
}

/// `HOST:PORT`
fn place(coordinator: &str) -> io::Result<(&str, u16)> {
    let parts = coordinator.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    parts.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it is not HOST:PORT"))
}

/// The host, without brackets, and the port of a place that this machine can find.
fn found(coordinator: &str) -> Result<(&str, u16), String> {
    let (host, port) = place(coordinator).map_err(|error| format!("{coordinator}: {error}"))?;
    let host = host.trim_matches(['[', ']']);
    match (host, port).to_socket_addrs() {
        Ok(_) => Ok((host, port)),
        Err(error) => Err(format!("{coordinator} cannot be found: {error}")),
    }
}

/// Lets a process take its place, or tells it why it cannot. Whoever does not say hello is somebody else.
fn welcome(mut link: TcpStream, links: &mut [Option<TcpStream>]) {
    let mut settle = || -> io::Result<()> {
        link.set_nonblocking(false)?;
        link.set_read_timeout(Some(HELLO_WITHIN))?;
        let said = read_part(&mut io::Read::by_ref(&mut link).take(1 << 10))?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let count = links.len() as u32 + 1;
        let index = (1..count).find(|index| said == hello(*index, count));
        let refusal = match index {
            None => format!("this is `{said}`, and `{}` is expected", hello(1, count)),
            Some(index) if links[index as usize - 1].is_some() => {
                format!("there is a process {index} already")
            }
            Some(_) => String::new(),
        };
        with_length(&mut link, refusal.as_bytes())?;
        link.set_read_timeout(None)?;
        link.set_nodelay(true)?;
        if let Some(index) = index.filter(|_| refusal.is_empty()) {
            links[index as usize - 1] = Some(link.try_clone()?);
        }
        Ok(())
    };
    // A connection that breaks at once is none; the process comes again, or is missed in the end.
    let _ = settle();
}

/// Runs Python that takes its orders from the first process, until that has ended.
pub(crate) fn follow(python: &str, coordinator: &str, process: u32, count: u32) -> Result<(), String> {
    let (host, port) = found(coordinator)?;
    let port = port.to_string();
    let mut child = Command::new(python)
        .args(["-c", PROGRAM, "follow", host, &port, &hello(process, count)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("`{python}` cannot be started: {error}"))?;
    let mut wrong = String::new();
    if let Some(mut output) = child.stdout.take() {
        let _ = output.read_to_string(&mut wrong);
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    match (status.success(), wrong.is_empty()) {
        (true, _) => Ok(()),
        (false, false) => Err(wrong),
        (false, true) => {
            Err(format!("the Python process has ended ({status}); process 0 at {coordinator} may be lost"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpStream;
    use std::time::Duration;

    use super::{accept_within, hello};
    use crate::framing::{read_part, with_length};

    /// Connects as soon as somebody listens, says something, and returns the reply.
    fn says(port: u16, words: &str) -> (TcpStream, String) {
        loop {
            if let Ok(mut link) = TcpStream::connect(("127.0.0.1", port)) {
                let sent = with_length(&mut link, words.as_bytes()).and_then(|()| link.flush());
                let reply = sent.and_then(|()| read_part(&mut link)).expect("a reply");
                return (link, String::from_utf8_lossy(&reply).into_owned());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn port() -> u16 {
        super::super::group::free_port("127.0.0.1").expect("a port")
    }

    #[test]
    fn processes_take_their_places() {
        let port = port();
        let waiting = std::thread::spawn(move || {
            accept_within(&format!("127.0.0.1:{port}"), 3, Duration::from_secs(20))
        });
        let (_other, refusal) = says(port, "GET / HTTP/1.1");
        assert!(refusal.contains("is expected"), "{refusal}");
        let (second, refusal) = says(port, &hello(2, 3));
        assert_eq!(refusal, "");
        let (_again, refusal) = says(port, &hello(2, 3));
        assert_eq!(refusal, "there is a process 2 already");
        let (first, refusal) = says(port, &hello(1, 3));
        assert_eq!(refusal, "");
        let links = waiting.join().expect("it waits").expect("all have come");
        let ends: Vec<_> = links.iter().map(|link| link.peer_addr().ok()).collect();
        assert_eq!(ends, [first.local_addr().ok(), second.local_addr().ok()]);
    }

    #[test]
    fn nobody_is_awaited_at_a_place_that_cannot_be_found() {
        let wrong = accept_within("no-such-machine.invalid:7000", 2, Duration::from_secs(300));
        let wrong = wrong.expect_err("there is no such machine");
        assert!(wrong.starts_with("no-such-machine.invalid:7000 cannot be found: "), "{wrong}");
    }

    #[test]
    fn processes_that_do_not_come_are_named() {
        let port = port();
        let wrong = accept_within(&format!("127.0.0.1:{port}"), 3, Duration::ZERO).expect_err("nobody comes");
        assert!(wrong.starts_with("processes 1, 2 of 3 did not come to 127.0.0.1:"), "{wrong}");
    }
}
