//! The losses of a run in a file, line by line as they come: what was written stays, however the run ends.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use broadloom_diagnostics::{Diagnostic, Severity};
use broadloom_lang::codes;

use crate::program::{reason, shown_path};

/// A file of losses.
pub(crate) struct Log {
    path: PathBuf,
    file: File,
    /// The first error, after which nothing more is written.
    error: Option<std::io::Error>,
}

impl Log {
    /// Begins a file, or goes on with one.
    pub fn open(path: &Path, goes_on: bool) -> Result<Log, String> {
        let goes_on = goes_on && path.metadata().is_ok_and(|file| file.len() > 0);
        let mut options = OpenOptions::new();
        let options =
            if goes_on { options.append(true) } else { options.write(true).create(true).truncate(true) };
        let refused = |error| format!("cannot write {}: {}", shown_path(path), reason(&error));
        let mut file = options.open(path).map_err(refused)?;
        if !goes_on {
            file.write_all(b"repetition,loss,value\n").map_err(refused)?;
        }
        Ok(Log { path: path.to_path_buf(), file, error: None })
    }

    /// Adds a loss after a repetition.
    pub fn add(&mut self, repetition: u64, loss: &str, value: f64) {
        if self.error.is_none() {
            let loss = match loss.contains([',', '"', '\n']) {
                true => format!("\"{}\"", loss.replace('"', "\"\"")),
                false => loss.to_string(),
            };
            self.error = self.file.write_all(format!("{repetition},{loss},{value}\n").as_bytes()).err();
        }
    }

    /// Ends the file. Returns what went wrong, if anything did.
    pub fn close(self) -> Option<Diagnostic> {
        let error = self.error.or_else(|| self.file.sync_all().err())?;
        let message = format!("cannot write {}: {}", shown_path(&self.path), reason(&error));
        Some(Diagnostic::new(Severity::Error, codes::FILE, message))
    }
}
