//! Errors in the names of the program.

use std::fmt;

use broadloom_core::order::Dim;
use broadloom_diagnostics::{Diagnostic, Fact, Help, SourceId, Sources, Span, Style, excerpt};
use broadloom_spec::MAX_LENGTH;

use crate::step::{StepId, Tensor};

/// The kind of mistake that an [`Error`] is about.
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
    /// A tensor is read that has no values yet.
    NoValues,
    /// A gradient is read that nothing has computed.
    NoGradient,
    /// A number that was to be finite is infinite or not a number.
    NotFinite,
    /// A file cannot be read or written.
    File,
    /// A program cannot be run.
    Run,
}

/// A way to correct a mistake. A front end may have its own way to write it; the help of the error
/// is for Rust.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Remedy {
    /// Give a tensor its values before it is read.
    Values,
    /// Compute gradients before they are read.
    Backward,
    /// Make numbers whole: they count something.
    Integers,
    /// Cast floats to integers: their bits are asked for.
    Bits,
    /// Give whole numbers: what takes them holds integers.
    WholeValues,
    /// Reduce a loss to one number.
    Reduce,
    /// Let a loss depend on a parameter.
    Parameter,
    /// Declare the target of an assignment as a state.
    State,
    /// Give a named size its number.
    Size,
    /// Capture sizes from a tensor that a spec made.
    Capture,
    /// Keep the number of elements.
    Reshape,
    /// State the shape of the result of a reshape, which has so many elements, if that is known.
    Shape(Option<u64>),
    /// Drop the elements that a window leaves over, or change the sizes; the next smaller and the next larger size of the
    /// axis would fit, if they are known.
    Drop(Option<(u64, u64)>),
    /// Take a window that is not larger than the axis, which has so many elements.
    Window(u64),
    /// Write the axes of a tensor in the spec.
    Spec,
    /// Correct another mistake, of which this one is a consequence.
    Follows,
}

/// A shape of two axes for advice, as square as the number of elements allows.
///
/// ```
/// use broadloom::example_shape;
/// assert_eq!(example_shape(Some(24)), "4, 6");
/// assert_eq!(example_shape(Some(7)), "7");
/// assert_eq!(example_shape(None), "4, 8");
/// ```
pub fn example_shape(elements: Option<u64>) -> String {
    let Some(elements) = elements else { return "4, 8".to_string() };
    let root = elements.isqrt().min(LARGEST_SIDE);
    match (2..=root).rev().find(|side| elements.is_multiple_of(*side)) {
        Some(side) => format!("{side}, {}", elements / side),
        None => elements.to_string(),
    }
}

/// The largest axis that is tried for an example.
const LARGEST_SIDE: u64 = 1 << 16;

/// A mistake in a program: what is wrong, where both ends of the conflict come from, how they are
/// connected, and how to correct it.
///
/// Every step of a graph has an id, which is its place among the steps ([`Graph::steps`](crate::Graph::steps)), and an error
/// has the ids of the steps it is about. A front end that knows where each step was written can show
/// the places.
///
/// ```
/// let mut g = broadloom::Graph::new();
/// let x = g.data("x", "32 | 784")?;
/// let y = g.data("y", "32 | 64")?;
/// let refused = g.steps();
/// let error = g.add(x, y).unwrap_err();
/// assert_eq!(error.step().map(|step| step.index()), Some(refused));
/// // `x` was said first and `y` second: that is where the two sizes come from.
/// let ends: Vec<_> = error.ends().iter().map(|end| (end.step, end.short.as_deref())).collect();
/// assert_eq!(ends, [(g.step_of(x), Some("784")), (g.step_of(y), Some("64"))]);
/// assert_eq!(error.ends()[0].text, "784: the output axis of `x`, declared `32 | 784`");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Data>);

#[derive(Clone, PartialEq, Eq)]
struct Data {
    kind: ErrorKind,
    message: String,
    /// The offset in the message at which the sentence begins. The subject stands before it.
    sentence: usize,
    /// The step that the message begins with, and where the sentence about it begins: until it is known
    /// whether that is the step that the error is about.
    subject: Option<(StepId, usize)>,
    /// A text with a mark under the place.
    excerpt: Option<String>,
    /// The tensor whose numbers it is about, and its name.
    tensor: Option<(Tensor, String)>,
    step: Option<StepId>,
    ends: Vec<MessageLine>,
    chain: Vec<MessageLine>,
    help: Vec<Help>,
    remedy: Option<Remedy>,
    facts: Vec<Fact>,
}

/// A line of an [`Error`] or of an explanation: a text, and the step that it is about.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MessageLine {
    /// The line in full.
    pub text: String,
    /// The step that it is about.
    pub step: Option<StepId>,
    /// The line for a reader who sees the step: for an end of a conflict the size alone; for a link
    /// of a chain the relation without the operation.
    pub short: Option<String>,
    /// For an end of a conflict, the reason for its size, for a reader who sees its declaration.
    pub reason: Option<String>,
    /// For an end of a conflict, the size that it claims, if that is a number.
    pub size: Option<u64>,
    /// The tensor whose axis an end of a conflict is.
    pub tensor: Option<Tensor>,
    /// For a line about a choice of closing, the kind of its rule.
    pub rule: Option<ClosingRule>,
    /// For the origin of a size in an explanation, that size.
    pub(crate) dim: Option<Dim>,
    /// The statements about an operation that a link of a chain lists.
    pub(crate) statements: Vec<String>,
}

/// A kind of rules by which closing chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClosingRule {
    /// A leaf takes the sizes and axes of what it is used with.
    Leaf,
    /// A result has no more than something asks for.
    Interior,
    /// A number that equations leave open, or that only several of them determine.
    Arithmetic,
    /// The usual choice did not fit, and a search found another one.
    Search,
}

impl MessageLine {
    /// A line about a step.
    pub fn at(step: StepId, text: impl Into<String>) -> MessageLine {
        MessageLine { step: Some(step), ..MessageLine::from(text) }
    }

    /// A line with a statement about an operation; more can be [added](MessageLine::add_statement).
    pub(crate) fn stating(step: StepId, operation: &str, statement: String) -> MessageLine {
        let line = MessageLine::at(step, format!("{operation}: {statement}")).with_short(&statement);
        MessageLine { statements: vec![statement], ..line }
    }

    /// Adds a statement about the same operation, unless the line has it.
    pub(crate) fn add_statement(&mut self, statement: String) {
        if !self.statements.contains(&statement) {
            for text in [Some(&mut self.text), self.short.as_mut()].into_iter().flatten() {
                text.push_str(&format!("; {statement}"));
            }
            self.statements.push(statement);
        }
    }

    pub(crate) fn with_short(self, short: impl Into<String>) -> MessageLine {
        MessageLine { short: Some(short.into()), ..self }
    }

    /// Sets the kind of the rule of a choice.
    pub(crate) fn by_rule(self, rule: ClosingRule) -> MessageLine {
        MessageLine { rule: Some(rule), ..self }
    }

    /// Sets the size that an explanation begins with.
    pub(crate) fn with_dim(self, dim: impl Into<Option<Dim>>) -> MessageLine {
        MessageLine { dim: dim.into(), ..self }
    }

    pub(crate) fn with_reason(self, reason: impl Into<String>) -> MessageLine {
        MessageLine { reason: Some(reason.into()), ..self }
    }

    /// Sets the size that an end of a conflict claims.
    pub(crate) fn with_size(self, size: impl Into<Option<u64>>) -> MessageLine {
        MessageLine { size: size.into(), ..self }
    }

    /// Sets the tensor whose axis an end of a conflict is.
    pub(crate) fn of_tensor(self, tensor: Tensor) -> MessageLine {
        MessageLine { tensor: Some(tensor), ..self }
    }
}

impl MessageLine {
    /// The line for a label at the step itself: `64 because of the output axis of x`.
    pub fn label(&self) -> String {
        match (&self.short, &self.reason) {
            (Some(short), Some(reason)) => format!("{short} because of {reason}"),
            _ => self.text.clone(),
        }
    }
}

impl<T: Into<String>> From<T> for MessageLine {
    fn from(text: T) -> MessageLine {
        let (text, statements) = (text.into(), Vec::new());
        MessageLine {
            text,
            step: None,
            short: None,
            reason: None,
            size: None,
            tensor: None,
            rule: None,
            dim: None,
            statements,
        }
    }
}

impl fmt::Display for MessageLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error {
    /// An error of a kind, with its sentence.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        let message = message.into();
        let (ends, chain, help) = (Vec::new(), Vec::new(), Vec::new());
        let (sentence, excerpt, tensor) = (0, None, None);
        Error(Box::new(Data {
            kind,
            message,
            sentence,
            subject: None,
            excerpt,
            tensor,
            step: None,
            ends,
            chain,
            help,
            remedy: None,
            facts: Vec::new(),
        }))
    }

    /// An error of a kind, with a sentence about a step. A front that shows the step shows the sentence without the
    /// subject.
    pub(crate) fn of_step(kind: ErrorKind, step: StepId, subject: &str, what: &str) -> Error {
        let mut error = Error::new(kind, format!("{subject}: {what}"));
        error.0.subject = Some((step, subject.len() + 2));
        error
    }

    /// A program cannot be run.
    pub fn run(message: String) -> Error {
        Error::new(ErrorKind::Run, message)
    }

    /// A mistake in a spec or a shape, with the text and a caret under the place.
    pub fn notation(text: &str, error: &broadloom_spec::Error) -> Error {
        let refused =
            Error::new(ErrorKind::Notation, error.to_string()).with_excerpt(excerpt_of(text, error));
        match &error.help {
            Some(help) => refused.with_help(&**help),
            None => refused,
        }
    }

    /// Puts the subject in front of the message.
    pub fn about(mut self, subject: &str) -> Error {
        self.0.message = format!("{subject}: {}", self.0.message);
        self.0.sentence = 0;
        self.0.subject = None;
        self
    }

    /// Puts a part of the program in front of the message. The sentence of the error stays as it
    /// was.
    pub fn inside(mut self, subject: &str) -> Error {
        let sentence = self.0.sentence;
        self = self.about(subject);
        self.0.sentence = subject.len() + 2 + sentence;
        self
    }

    /// Sets the text that is not well written, with a mark under the place.
    pub fn with_excerpt(mut self, excerpt: String) -> Error {
        self.0.excerpt = Some(excerpt);
        self
    }

    /// Says whose numbers it is about.
    pub fn about_values_of(mut self, tensor: Tensor, name: &str) -> Error {
        self.0.tensor = Some((tensor, name.to_string()));
        self
    }

    /// Sets the step it is about, unless it has one.
    pub fn about_step(mut self, step: StepId) -> Error {
        self.0.step.get_or_insert(step);
        if let Some((_, sentence)) = self.0.subject.take_if(|(of, _)| *of == step) {
            self.0.sentence = sentence;
        }
        self
    }

    /// Sets the step that was refused, replacing any other.
    pub fn refused_at(mut self, step: StepId) -> Error {
        self.0.step = Some(step);
        self
    }

    /// Adds an end of the conflict.
    pub fn with_end(mut self, end: impl Into<MessageLine>) -> Error {
        self.0.ends.push(end.into());
        self
    }

    /// Sets the operations that connect the ends.
    pub fn with_chain(mut self, chain: Vec<MessageLine>) -> Error {
        self.0.chain = chain;
        self
    }

    /// Adds advice: what to write instead.
    pub fn with_help(mut self, help: impl Into<Help>) -> Error {
        self.0.help.push(help.into());
        self
    }

    /// Sets a remedy, and adds advice in Rust.
    pub fn with_remedy(mut self, remedy: Remedy, help: impl Into<Help>) -> Error {
        self.0.remedy = Some(remedy);
        self.with_help(help.into().as_remedy())
    }

    /// Adds a fact, for whoever looks for a change that mends it.
    pub fn with_fact(mut self, fact: Fact) -> Error {
        self.0.facts.push(fact);
        self
    }

    /// The kind of mistake.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message, one sentence.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The message without its subject, for a reader who sees the subject.
    pub fn sentence(&self) -> &str {
        &self.0.message[self.0.sentence..]
    }

    /// The spec or shape that is not well written, with a mark under the place.
    pub fn excerpt(&self) -> Option<&str> {
        self.0.excerpt.as_deref()
    }

    /// The tensor whose values or gradients are missing or do not fit, and its name.
    pub fn tensor(&self) -> Option<(Tensor, &str)> {
        self.0.tensor.as_ref().map(|(tensor, name)| (*tensor, name.as_str()))
    }

    /// The step it is about: the one that was refused, by the place that it would have had, or the
    /// parameter that lacks a size. A call of several steps may be refused at a later one than its
    /// first; none of them is kept.
    pub fn step(&self) -> Option<StepId> {
        self.0.step
    }

    /// The origins of the parts of the conflict.
    pub fn ends(&self) -> &[MessageLine] {
        &self.0.ends
    }

    /// The operations that connect them, in order.
    pub fn chain(&self) -> &[MessageLine] {
        &self.0.chain
    }

    /// The remedy, if front ends write it differently: then [`Error::help`] is for Rust.
    pub fn remedy(&self) -> Option<Remedy> {
        self.0.remedy
    }

    /// Advice on what to write instead.
    pub fn help(&self) -> &[Help] {
        &self.0.help
    }

    /// The facts it is about, as data.
    pub fn facts(&self) -> &[Fact] {
        &self.0.facts
    }

    /// The two sizes of a conflict, in the order of its ends, if they are numbers.
    pub fn sizes(&self) -> Option<[u64; 2]> {
        self.0.facts.iter().find_map(|fact| if let Fact::Sizes(sizes) = fact { Some(*sizes) } else { None })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Data { message, excerpt, ends, chain, help, .. } = &*self.0;
        f.write_str(message)?;
        if let Some(excerpt) = excerpt {
            write!(f, "\n{excerpt}")?;
        }
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

/// The line of a text that is not well written, with carets under the place.
fn excerpt_of(text: &str, error: &broadloom_spec::Error) -> String {
    let (text, error) = error.clone().visible(text);
    let place = |span: broadloom_spec::Span| Span::new(SourceId(0), span.start, span.end);
    let mut diagnostic = Diagnostic::error("", "", place(error.span), &*error.label);
    if let Some(related) = &error.related {
        diagnostic = diagnostic.with_label(place(related.span), &*related.label);
    }
    let style = Style { between: false, width: MAX_LENGTH, ..Style::default() };
    excerpt(&Sources::one("", text), &diagnostic, style).trim_end().to_string()
}

impl From<broadloom_array::files::FileError> for Error {
    fn from(error: broadloom_array::files::FileError) -> Error {
        Error::new(ErrorKind::File, error.to_string())
    }
}

impl From<broadloom_array::ArrayError> for Error {
    fn from(error: broadloom_array::ArrayError) -> Error {
        Error::new(ErrorKind::Value, error.message)
    }
}
