//! The losses of a run in a file, line by line as they come: what was written stays, however the run ends.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use broadloom::files::write_text;
use broadloom_diagnostics::{Diagnostic, Severity};
use broadloom_lang::{Repeated, codes};

use crate::program::{reason, shown_path};

/// A file of losses.
pub(crate) struct Log {
    path: PathBuf,
    /// The number of loops around its steps.
    depth: usize,
    /// If it goes on with a file that is there, the number of losses to keep.
    keep: Option<u64>,
    /// Opened when there is something to write: a run that cannot begin leaves an old file as it is.
    file: Option<File>,
    /// The first error, after which nothing more is written.
    error: Option<std::io::Error>,
}

impl Log {
    /// A file that is begun when the first loss comes, for steps that have so many loops around them.
    pub fn new(path: &Path, depth: usize) -> Log {
        Log { path: path.to_path_buf(), depth, keep: None, file: None, error: None }
    }

    /// The names of the columns: the numbers of a step that has one loop around it are one.
    fn header(&self) -> String {
        let inner: String = (1..self.depth)
            .map(|at| if at == 1 { ",inner".to_string() } else { format!(",inner{at}") })
            .collect();
        let step = if self.depth > 1 { "step," } else { "" };
        format!("{step}repetition{inner},loss,value\n")
    }

    /// Goes on with the file that is there, behind so many losses. What a run that was killed had written beyond its last save
    /// comes again, and is left out.
    pub fn go_on(&mut self, losses: u64) {
        self.keep = Some(losses);
        // A file of a version that counted repetitions of the outermost loop alone goes on as it is.
        let plain = Log::new(&self.path, 1);
        if std::fs::read_to_string(&self.path).is_ok_and(|text| text.starts_with(&plain.header())) {
            self.depth = 1;
        }
    }

    /// The text that is kept of the file that is there.
    fn kept(&self) -> std::io::Result<String> {
        match self.keep.map(|losses| (std::fs::read_to_string(&self.path), losses)) {
            Some((Ok(text), losses)) if text.starts_with(&self.header()) => {
                let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
                Ok(lines.take(usize::try_from(losses).unwrap_or(usize::MAX).saturating_add(1)).collect())
            }
            Some((Err(error), _)) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(self.header()),
        }
    }

    /// The losses that are kept, with their names, in order.
    pub fn losses(&self) -> Vec<(String, f64)> {
        let text = self.kept().unwrap_or_default();
        let numbers = if self.depth > 1 { self.depth + 1 } else { 1 };
        let loss = |line: &str| {
            let rest = line.splitn(numbers + 1, ',').nth(numbers)?;
            let (name, value) = rest.rsplit_once(',')?;
            let quoted = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
            let name = quoted.map_or(name.to_string(), |name| name.replace("\"\"", "\""));
            Some((name, value.parse().ok()?))
        };
        text.lines().skip(1).filter_map(loss).collect()
    }

    fn open(&self) -> std::io::Result<File> {
        write_text(&self.path, &self.kept()?).map_err(std::io::Error::other)?;
        OpenOptions::new().append(true).open(&self.path)
    }

    /// Adds a loss after a step.
    pub fn add(&mut self, step: &Repeated<'_>, loss: &str, value: f64) {
        if self.error.is_none() {
            self.error = self.write(step, loss, value).err();
        }
    }

    fn write(&mut self, step: &Repeated<'_>, loss: &str, value: f64) -> std::io::Result<()> {
        let loss = match loss.contains([',', '"', '\n']) {
            true => format!("\"{}\"", loss.replace('"', "\"\"")),
            false => loss.to_string(),
        };
        let mut file = match self.file.take() {
            Some(file) => file,
            None => self.open()?,
        };
        let mut numbers = step.done.to_string();
        if self.depth > 1 {
            for at in 0..self.depth {
                numbers.push(',');
                numbers.extend(step.turns.get(at).map(|(turn, _)| turn.to_string()));
            }
        }
        let written = file.write_all(format!("{numbers},{loss},{value}\n").as_bytes());
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
