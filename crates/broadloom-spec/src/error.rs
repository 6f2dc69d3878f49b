//! Mistakes in a text: one precise error, as plain data.
//!
//! The first mistake is reported, with what was found, what could stand there, and a hint for what was
//! probably meant. Whoever shows it has its places and their labels; the `Display` form is the bare message.

use crate::span::Span;
use std::fmt;

/// The reason why a text is not a spec or a shape declaration.
///
/// ```
/// use broadloom_spec::{ErrorKind, parse_spec};
/// let error = parse_spec("ij,jk->ik").unwrap_err();
/// assert_eq!(error.kind, ErrorKind::PythonCommas);
/// assert_eq!(error.to_string(), "operands are separated by `;` and the result follows `=>`");
/// assert_eq!(error.help.as_deref(), Some("write `ij; jk => ik`"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of mistake.
    pub kind: ErrorKind,
    /// Its place in the text; empty at the end of the text.
    pub span: Span,
    /// The message, one sentence without a full stop.
    pub message: Box<str>,
    /// A few words to put under the place.
    pub label: Box<str>,
    /// The text at the place, quoted, or `the end`.
    pub found: Box<str>,
    /// The alternatives that could stand there instead; empty if the place is not the problem.
    pub expected: &'static [&'static str],
    /// Another place that the message mentions.
    pub related: Option<Box<Related>>,
    /// Advice: the text to write instead.
    pub help: Option<Box<str>>,
    /// The whole text as it was probably meant, if the advice says exactly that.
    pub rewrite: Option<Box<str>>,
}

/// A second place of an error, with a few words about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// The place.
    pub span: Span,
    /// The words for it.
    pub label: Box<str>,
}

impl Error {
    /// An error about the text at `span`; the label shows the text that was found.
    pub(crate) fn new(kind: ErrorKind, text: &str, span: Span, message: impl Into<String>) -> Error {
        let found = if span.is_empty() { "the end".to_owned() } else { quote(span.slice(text)) };
        Error {
            kind,
            span,
            message: message.into().into(),
            label: "".into(),
            found: found.into(),
            expected: &[],
            related: None,
            help: None,
            rewrite: None,
        }
    }

    /// Sets the alternatives that could stand at the place; they become the label.
    pub(crate) fn expected(mut self, expected: &'static [&'static str]) -> Error {
        self.expected = expected;
        self.label = format!("expected {}, found {}", alternatives(expected), self.found).into();
        self
    }

    pub(crate) fn label(mut self, label: impl Into<String>) -> Error {
        self.label = label.into().into();
        self
    }

    pub(crate) fn related(mut self, span: Span, label: impl Into<String>) -> Error {
        self.related = Some(Box::new(Related { span, label: label.into().into() }));
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Error {
        self.help = Some(help.into().into());
        self
    }

    pub(crate) fn rewrite(mut self, text: impl Into<String>) -> Error {
        self.rewrite = Some(text.into().into());
        self
    }
}

impl Error {
    /// The text with every blank as one blank and what cannot be seen as `�`, and the error with its places in that.
    ///
    /// ```
    /// let text = "i\u{301} => i";
    /// let (shown, error) = broadloom_spec::parse_spec(text).unwrap_err().visible(text);
    /// assert_eq!((shown.as_str(), error.span.slice(&shown)), ("i� => i", "�"));
    /// ```
    pub fn visible(mut self, text: &str) -> (String, Error) {
        let visible = |c: char| if matches!(c, '\n' | '\r') { c } else { shown(c) };
        let at = |offset: u32| {
            let before = &text[..text.floor_char_boundary(offset as usize)];
            before.chars().map(|c| visible(c).len_utf8()).sum::<usize>()
        };
        let place = |span: Span| Span::new(at(span.start), at(span.end));
        self.span = place(self.span);
        if let Some(related) = &mut self.related {
            related.span = place(related.span);
        }
        (text.chars().map(visible).collect(), self)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// `text` in backticks, on one line and cut to a readable length.
pub(crate) fn quote(text: &str) -> String {
    format!("`{}`", clip(text))
}

/// `text` on one line, cut to a readable length.
pub(crate) fn clip(text: &str) -> String {
    const LIMIT: usize = 60;
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let mut clipped: String = line.chars().take(LIMIT).map(shown).collect();
    if line.chars().nth(LIMIT).is_some() {
        clipped.push('…');
    }
    clipped
}

/// The character as it can be shown: blanks as one blank, invisible characters as `�`.
pub(crate) fn shown(c: char) -> char {
    match c {
        _ if c.is_whitespace() => ' ',
        _ if is_invisible(c) => '�',
        _ => c,
    }
}

/// Returns true if a character on its own shows as nothing, or changes how others show.
pub(crate) fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

fn alternatives(items: &[&str]) -> String {
    match items {
        [] => String::new(),
        [item] => (*item).to_owned(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}

macro_rules! error_kinds {
    ($($(#[$doc:meta])* $kind:ident,)*) => {
        /// The kinds of mistakes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[$doc])* $kind,)*
        }

        impl ErrorKind {
            /// Every kind.
            pub const ALL: &[ErrorKind] = &[$(ErrorKind::$kind,)*];
        }
    };
}

error_kinds! {
    /// The text is longer than [`MAX_LENGTH`](crate::MAX_LENGTH).
    TextTooLong,
    /// A character that has no meaning in the notation.
    UnknownCharacter,
    /// `(3, 4)` in a declaration: parentheses do not group axes there.
    Parentheses,
    /// A parenthesis without its partner.
    UnbalancedParenthesis,
    /// `-1`, `o-1`: numbers are not negative.
    NegativeNumber,
    /// A number that does not fit in 64 bits.
    NumberTooLarge,
    /// `2i` where names are words.
    NumberWithLetters,
    /// `_a`: a name starts with a letter.
    UnderscoreName,
    /// Dots that are neither `...` nor those of `..name..`.
    StrayDots,
    /// `..name` without the closing dots.
    UnclosedRowVariable,
    /// `..name..` with several letters in a spec whose axes are single letters.
    LongRowName,
    /// `&` is reserved.
    Reserved,
    /// There is no `=>`.
    MissingArrow,
    /// There is no `=>`, but a `->` where it should be.
    ThinArrow,
    /// There is more than one `=>`.
    TwoArrows,
    /// `ij,jk->ik`: commas between operands, as in NumPy.
    PythonCommas,
    /// `ij => i+j`: the letters of one label are used as labels.
    LettersRunTogether,
    /// A second `|` or `->` in a shape, or `|` after `->`.
    RowOrder,
    /// Two axes with nothing between them where names are words.
    MissingComma,
    /// A comma with no axis before it.
    MissingAxis,
    /// Two holes in a row.
    TwoHoles,
    /// The same row variable twice in a row.
    RepeatedRowVariable,
    /// One name for two different things: an axis, a row, a coefficient.
    TwoMeanings,
    /// A stride or dilation of zero.
    ZeroCoefficient,
    /// `o*2`: the coefficient comes first.
    CoefficientOrder,
    /// A sum or product that stops too early.
    MissingTerm,
    /// `1+2`: a sum without a label.
    NoLabelInSum,
    /// `a+b+c`: a sum has at most two labels.
    TooManyLabels,
    /// `o+1+2`: a sum has at most one number.
    TwoOffsets,
    /// `o+o`: the same label twice in a sum.
    RepeatedLabelInSum,
    /// `2*_`: a wildcard in a sum or product.
    WildcardInSum,
    /// `=` or `<` without a second label.
    MarkerWithoutKernel,
    /// `=` or `<` on a number or a component.
    MisplacedMarker,
    /// Two markers in a sum.
    TwoMarkers,
    /// `a^`: nothing beside `^`.
    EmptyComponent,
    /// `a^2*b`, `a^b+1`: a concatenation mixed with a sum or product.
    SumInConcat,
    /// `((a b) c)`: a composed axis inside of another one.
    NestedGroup,
    /// `(a+b)`, `(_ a)`: a part of a composed axis is a label, a size or a row.
    NoPart,
    /// `a^(b c)`, `(o p)<+k`: a composed axis inside of a sum or a concatenation.
    GroupInSum,
    /// `b (heads size)`: words in parentheses, where names are letters.
    WordsInGroup,
    /// A size of zero.
    ZeroSize,
    /// `n=3` in a spec: sizes are declared elsewhere.
    SizeInSpec,
    /// `3:rgb` in a spec: bases are declared elsewhere.
    BasisInSpec,
    /// `=>` or `;` in a shape declaration.
    OperationInDeclaration,
    /// `+`, `*`, `^` or `<` in a shape declaration.
    OperatorInDeclaration,
    /// `n=` without a size.
    MissingSize,
    /// `3:` without a name.
    MissingBasis,
    /// A basis on something other than a size.
    MisplacedBasis,
    /// Anything else that cannot stand where it stands.
    Unexpected,
}
