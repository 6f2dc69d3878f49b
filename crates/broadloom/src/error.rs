//! What went wrong, in the names of the program.

use std::fmt;

/// What kind of mistake an [`Error`] is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Two sizes, or two numbers of axes, do not agree.
    Mismatch,
    /// A named size would have to lie outside its range, or has no number where one is needed.
    Range,
    /// Sizes do not fit a window, a concatenation, or a number of elements.
    Arithmetic,
    /// A parameter has a size that nothing decides.
    Undetermined,
    /// A spec or a shape is not well written.
    Notation,
    /// An operation is not used as it should be.
    Use,
    /// A limit of the solver was reached.
    GaveUp,
    /// Numbers do not fit: sizes, types, positions, or values that are missing or not numbers.
    Value,
    /// A file cannot be read or written.
    File,
    /// A program cannot be run.
    Run,
}

/// A mistake in a program: what is wrong, where both ends of the conflict come from, how they are
/// connected, and what to do.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Data>);

#[derive(Clone, PartialEq, Eq)]
struct Data {
    kind: ErrorKind,
    message: String,
    ends: Vec<String>,
    chain: Vec<String>,
    help: Vec<String>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        let message = message.into();
        Error(Box::new(Data { kind, message, ends: Vec::new(), chain: Vec::new(), help: Vec::new() }))
    }

    /// A program cannot be run.
    pub(crate) fn run(message: String) -> Error {
        Error::new(ErrorKind::Run, message)
    }

    /// A mistake in a spec or a shape, with the text and a caret under the place.
    pub(crate) fn notation(text: &str, error: &broadloom_spec::Error) -> Error {
        let mut bare = error.clone();
        let help = size_first(text, error).map(String::into_boxed_str).or(bare.help.take());
        bare.help = None;
        let rendered = bare.render(text);
        let message = rendered.strip_prefix("error: ").unwrap_or(&rendered).trim_end();
        let error = Error::new(ErrorKind::Notation, message);
        match help {
            Some(help) => error.with_help(help),
            None => error,
        }
    }

    /// Says what the message is about, in front of it.
    pub(crate) fn about(mut self, subject: &str) -> Error {
        self.0.message = format!("{subject}: {}", self.0.message);
        self
    }

    pub(crate) fn with_end(mut self, end: impl Into<String>) -> Error {
        self.0.ends.push(end.into());
        self
    }

    pub(crate) fn with_chain(mut self, chain: Vec<String>) -> Error {
        self.0.chain = chain;
        self
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Error {
        self.0.help.push(help.into());
        self
    }

    /// What kind of mistake it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What is wrong, in one sentence.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where the parts of the conflict come from.
    pub fn ends(&self) -> &[String] {
        &self.0.ends
    }

    /// The operations that connect them, in order.
    pub fn chain(&self) -> &[String] {
        &self.0.chain
    }

    /// What to do.
    pub fn help(&self) -> &[String] {
        &self.0.help
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Data { message, ends, chain, help, .. } = &*self.0;
        f.write_str(message)?;
        for end in ends {
            write!(f, "\n  {end}")?;
        }
        if !chain.is_empty() {
            f.write_str("\nhow they meet:")?;
            for link in chain {
                write!(f, "\n  {link}")?;
            }
        }
        for help in help {
            write!(f, "\nhelp: {help}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for Error {}

/// What was meant by `rgb:3`.
fn size_first(text: &str, error: &broadloom_spec::Error) -> Option<String> {
    if error.kind != broadloom_spec::ErrorKind::MisplacedBasis {
        return None;
    }
    let (before, after) = text.split_at_checked(error.span.start as usize)?;
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    let name = &before[before.trim_end_matches(letter).len()..];
    let after = after.strip_prefix(':')?.trim_start();
    let size = &after[..after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len()];
    let named = name.starts_with(char::is_alphabetic) && !size.is_empty();
    named.then(|| format!("the size comes first: write `{size}:{name}`"))
}

impl From<crate::files::FileError> for Error {
    fn from(error: crate::files::FileError) -> Error {
        Error::new(ErrorKind::File, error.to_string())
    }
}

impl From<broadloom_loops::ArrayError> for Error {
    fn from(error: broadloom_loops::ArrayError) -> Error {
        Error::new(ErrorKind::Value, error.message)
    }
}
