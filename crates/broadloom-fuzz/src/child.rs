//! Children: processes that check inputs, and how they end.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

use crate::Kind;
use crate::limits::{HANGS, PANICS, TIME};

/// Checks one input in a child. Returns its end, unless it finished normally.
pub(crate) fn end_of(kind: Kind, file: &Path, scratch: &Path) -> io::Result<Option<String>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("replay").arg(kind.name()).arg(file);
    Ok(ended(command, scratch)?.0)
}

/// Runs a child. Returns its end, unless it finished normally, and its output.
pub(crate) fn ended(mut command: Command, scratch: &Path) -> io::Result<(Option<String>, String)> {
    let empty = scratch.join("empty");
    fs::create_dir_all(&empty)?;
    let output = command.current_dir(empty).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let end = (!output.status.success()).then(|| describe(output.status, &said));
    Ok((end, String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// Describes the end of a process in words.
fn describe(status: ExitStatus, said: &str) -> String {
    match status.code() {
        Some(HANGS) => format!("no answer within {} seconds", TIME.as_secs()),
        Some(PANICS) => {
            let place = said.lines().find_map(|line| line.split_once("panicked at ")).map(|(_, place)| place);
            format!("panics at {}", place.unwrap_or("an unknown place").trim_end_matches(':'))
        }
        _ if said.contains("memory allocation of") => "runs out of memory".to_owned(),
        _ if said.contains("overflowed its stack") => "overflows the stack".to_owned(),
        _ => format!("ends with {status}: {}", said.lines().last().unwrap_or_default()),
    }
}
