//! Signatures: what a function takes, makes and gives, as plain data.

use std::fmt;

use broadloom::SchemeAxis;
use broadloom_diagnostics::Span;

/// The signature of a function: its scheme, in the words of its author.
///
/// ```
/// use broadloom_lang::{Asked, Options, signatures};
/// let text = "def layer(size)(x) = relu({w : ... -> size} @ x + {b : size})\n";
/// let found = signatures("layer.loom", text, &Options::default(), &Asked::Own).list;
/// assert_eq!(
///     found[0].to_string(),
///     "layer(size)(x : ..b.. | ..i.. -> ..o..) -> ..b.. | ..i.. -> size\n  parameters  w : ..o.. -> size\n              b : size\n"
/// );
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    /// The name of the function.
    pub name: String,
    /// Its configuration, each as it is written or given; none if it has no list of its own.
    pub config: Option<Vec<String>>,
    /// The arguments that it is applied to.
    pub arguments: Vec<SignatureArgument>,
    /// The shape that it states for its result, as it is written.
    pub stated: Option<String>,
    /// Its scheme, or why it has none.
    pub scheme: Result<Scheme, NotInferred>,
    /// If it waits for its configuration: its signatures with those that the program applies it with.
    pub uses: Vec<Signature>,
    /// The span of its name where it is defined.
    pub span: Span,
}

/// An argument of a function.
#[derive(Clone, PartialEq, Debug)]
pub struct SignatureArgument {
    /// Its name.
    pub name: String,
    /// Its shape, if it is a tensor and the scheme is known; otherwise the one that is written, if any.
    pub shape: Option<ArgumentShape>,
    /// Its default value, as it is written.
    pub default: Option<String>,
}

/// The shape of an argument over variables.
#[derive(Clone, PartialEq, Debug)]
pub struct ArgumentShape {
    /// The shape as it is written.
    pub text: String,
    /// Its axes: batch, input and output. None if it is only known as it is written.
    pub rows: Option<[Vec<SchemeAxis>; 3]>,
}

impl SignatureArgument {
    /// The axes of its shape, if the scheme is known.
    pub(crate) fn rows(&self) -> Option<&[Vec<SchemeAxis>; 3]> {
        self.shape.as_ref()?.rows.as_ref()
    }
}

/// The shapes of a function over variables.
#[derive(Clone, PartialEq, Debug)]
pub struct Scheme {
    /// The result of an application: the shapes of its tensors, one after another; in a list if it is one.
    pub result: GivenShape,
    /// The parameters that it makes, with their shapes.
    pub parameters: Vec<(String, String)>,
    /// The conditions on the sizes.
    pub conditions: Vec<String>,
    /// The greatest sizes that conditions allow.
    pub most: Vec<u64>,
    /// The numbers that conditions mention.
    pub numbers: Vec<u64>,
}

/// The result of an application.
#[derive(Clone, PartialEq, Debug)]
pub enum GivenShape {
    /// A tensor of this shape.
    Tensor(String),
    /// Several, in a list.
    List(Vec<GivenShape>),
    /// Nothing: it is applied for what it does.
    Nothing,
    /// Something that has no shape, in words: `a number`.
    Other(&'static str),
}

/// Why a function has no scheme as it is defined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotInferred {
    /// Its body can be walked only when some arguments are known: they decide what it does, or are functions, lists or texts.
    Open(String),
    /// Its body is wrong whatever it is applied to.
    Wrong(String),
}

impl fmt::Display for GivenShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GivenShape::Tensor(shape) => f.write_str(shape),
            GivenShape::List(items) => {
                let items: Vec<String> = items.iter().map(GivenShape::to_string).collect();
                write!(f, "[{}]", items.join("; "))
            }
            GivenShape::Nothing => f.write_str("nothing"),
            GivenShape::Other(words) => f.write_str(words),
        }
    }
}

impl fmt::Display for SignatureArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(shape) = &self.shape {
            write!(f, " : {}", shape.text)?;
        }
        match &self.default {
            Some(default) => write!(f, " = {default}"),
            None => Ok(()),
        }
    }
}

/// Longer signatures have a line for each argument.
const WIDEST: usize = 100;

impl Signature {
    /// The function with its arguments: `layer(size)(x : ..b.. | ..o..)`.
    pub fn head(&self) -> String {
        let config = self.config.as_ref().map_or(String::new(), |config| format!("({})", config.join(", ")));
        let arguments: Vec<String> = self.arguments.iter().map(SignatureArgument::to_string).collect();
        let line = format!("{}{config}({})", self.name, arguments.join(", "));
        if line.chars().count() <= WIDEST {
            return line;
        }
        let lines = |list: &[String]| list.iter().map(|each| format!("  {each},\n")).collect::<String>();
        let head = format!("{}{config}(", self.name);
        match &self.config {
            Some(config) if head.chars().count() > WIDEST => {
                format!("{}(\n{})(\n{})", self.name, lines(config), lines(&arguments))
            }
            _ => format!("{head}\n{})", lines(&arguments)),
        }
    }
}

impl Signature {
    /// The signature as people read it, and below it those of its uses.
    pub fn with_uses(&self) -> String {
        let uses = self.uses.iter().map(|each| format!("\n{each}"));
        std::iter::once(self.to_string()).chain(uses).collect()
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match &self.scheme {
            Ok(scheme) => scheme,
            Err(why) => {
                let result = self.stated.as_ref().map_or(String::new(), |stated| format!(" -> {stated}"));
                let (is, why) = match why {
                    NotInferred::Open(why) => ("not inferred", why),
                    NotInferred::Wrong(why) => ("wrong", why),
                };
                return writeln!(f, "{}{result}\n  {is}: {why}", self.head());
            }
        };
        writeln!(f, "{} -> {}", self.head(), scheme.result)?;
        let width = scheme.parameters.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
        for (at, (name, shape)) in scheme.parameters.iter().enumerate() {
            writeln!(f, "  {:<10}  {name:<width$} : {shape}", if at == 0 { "parameters" } else { "" })?;
        }
        for (at, condition) in scheme.conditions.iter().enumerate() {
            writeln!(f, "  {:<10}  {condition}", if at == 0 { "where" } else { "" })?;
        }
        Ok(())
    }
}
