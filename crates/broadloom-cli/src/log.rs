//! The losses of a run in a file, line by line as they come: what was written stays, however the run ends.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use broadloom::files::write_text;
use broadloom_diagnostics::{Diagnostic, Severity};
use broadloom_lang::codes;

use crate::program::{reason, shown_path};

/// A file of losses.
pub(crate) struct Log {
    path: PathBuf,
    /// True if it goes on with a file that is there.
    goes_on: bool,
    /// Opened when there is something to write: a run that cannot begin leaves an old file as it is.
    file: Option<File>,
    /// The first error, after which nothing more is written.
    error: Option<std::io::Error>,
}

impl Log {
    /// A file that is begun, or gone on with, when the first loss comes.
    pub fn new(path: &Path, goes_on: bool) -> Log {
        let goes_on = goes_on && path.metadata().is_ok_and(|file| file.len() > 0);
        Log { path: path.to_path_buf(), goes_on, file: None, error: None }
    }

    /// Opens the file for losses from a repetition on. What a run that was killed had written beyond its last save comes again,
    /// and is left out.
    fn open(&self, repetition: u64) -> std::io::Result<File> {
        let mut text = String::from("repetition,loss,value\n");
        if self.goes_on {
            text = std::fs::read_to_string(&self.path)?;
            let number = |line: &str| line.split(',').next()?.parse::<u64>().ok();
            let comes_again = |line: &&str| number(line).is_some_and(|number| number >= repetition);
            let end: usize = text.split_inclusive('\n').rev().take_while(comes_again).map(str::len).sum();
            text.truncate(text.len() - end);
        }
        write_text(&self.path, &text).map_err(std::io::Error::other)?;
        OpenOptions::new().append(true).open(&self.path)
    }

    /// Adds a loss after a repetition.
    pub fn add(&mut self, repetition: u64, loss: &str, value: f64) {
        if self.error.is_none() {
            self.error = self.write(repetition, loss, value).err();
        }
    }

    fn write(&mut self, repetition: u64, loss: &str, value: f64) -> std::io::Result<()> {
        let loss = match loss.contains([',', '"', '\n']) {
            true => format!("\"{}\"", loss.replace('"', "\"\"")),
            false => loss.to_string(),
        };
        let mut file = match self.file.take() {
            Some(file) => file,
            None => self.open(repetition)?,
        };
        let written = file.write_all(format!("{repetition},{loss},{value}\n").as_bytes());
        self.file = Some(file);
        written
    }

    /// Ends the file. Returns what went wrong, if anything did.
    pub fn close(self) -> Option<Diagnostic> {
        let error = self.error.or_else(|| self.file?.sync_all().err())?;
        let message = format!("cannot write {}: {}", shown_path(&self.path), reason(&error));
        Some(Diagnostic::new(Severity::Error, codes::FILE, message))
    }
}
