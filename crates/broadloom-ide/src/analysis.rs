//! A program that has been read: what every question is asked of.

use std::path::PathBuf;

use broadloom::Tensor;
use broadloom_diagnostics::{Diagnostic, Shown, Sources};
use broadloom_lang::{Made, Options, Program, compile};

/// The text of a program, and how it is to be read.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// What messages call it.
    pub name: String,
    /// What it says.
    pub text: String,
    /// Where files are looked for that it names.
    pub folder: PathBuf,
    /// Sizes to be used in place of those that `dim` lines say.
    pub sizes: Vec<(String, u64)>,
}

impl Text {
    /// A text that stands by itself.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Text {
        Text { name: name.into(), text: text.into(), ..Text::default() }
    }
}

/// A program with what is wrong with it. Reading never fails: mistakes are [diagnostics](Analysis::diagnostics), and what is
/// right is there all the same.
///
/// ```
/// use broadloom_ide::{Analysis, Text};
///
/// let analysis = Analysis::new(&Text::new("a.loom", "data x : 3\nlet y = x + z\n"));
/// let shown = analysis.shown();
/// assert_eq!((shown.len(), shown[0].place.map(|place| place.line)), (1, Some(2)));
/// ```
pub struct Analysis {
    /// The name of the text, as it was given.
    pub name: String,
    /// What the text means.
    pub program: Program,
    /// The last line that counts, if only a part was read.
    pub(crate) until: Option<u32>,
}

impl Analysis {
    /// Reads a program, to look at it: sizes that are set are numbers.
    pub fn new(text: &Text) -> Analysis {
        let mut analysis = Analysis::read(text, None);
        analysis.program.settle();
        analysis
    }

    /// Reads a program, and leaves sizes open that are decided when it runs.
    pub fn open(text: &Text) -> Analysis {
        Analysis::read(text, None)
    }

    /// Reads a program up to a line, counted from 1, or to its end; shapes stay as open as they are there.
    pub fn up_to(text: &Text, line: Option<u32>) -> Analysis {
        let mut analysis = Analysis::read(text, Some(line.unwrap_or(u32::MAX)));
        analysis.program.settle();
        analysis
    }

    fn read(text: &Text, until: Option<u32>) -> Analysis {
        let options = Options { folder: text.folder.clone(), sizes: text.sizes.clone(), until };
        Analysis { name: text.name.clone(), program: compile(&text.name, &text.text, &options), until }
    }

    /// Whether nothing is wrong.
    pub fn is_ok(&self) -> bool {
        self.program.is_ok()
    }

    /// What is wrong, and what is worth knowing.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.program.diagnostics
    }

    /// The texts that diagnostics and spans speak of.
    pub fn sources(&self) -> &Sources {
        &self.program.sources
    }

    /// The diagnostics with lines and columns, ready to be serialised.
    pub fn shown(&self) -> Vec<Shown<'_>> {
        self.diagnostics().iter().map(|diagnostic| Shown::new(self.sources(), diagnostic)).collect()
    }

    /// The tensors with names that are listed.
    pub(crate) fn listed(&self, listing: Listing) -> impl Iterator<Item = &Made> {
        let mut is_param = vec![false; self.program.graph.len()];
        self.program.graph.params().iter().for_each(|param| is_param[param.index()] = true);
        let is_own = move |made: &Made| made.level == 0 || is_param[made.tensor.index()];
        self.program.made.iter().filter(move |made| listing == Listing::All || is_own(made))
    }

    /// The tensor with a name, or what is wrong with the name.
    pub(crate) fn named(&self, name: &str) -> Result<Tensor, String> {
        self.program.find(name).ok_or_else(|| {
            let near = broadloom_lang::nearest(name, self.program.made.iter().map(|made| made.name.as_str()));
            let advice = near.map_or(String::new(), |near| format!("; is `{near}` meant?"));
            format!("there is no tensor called `{name}`{advice}")
        })
    }
}

/// Which of the tensors with names are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Listing {
    /// Those of the program itself, and all parameters.
    #[default]
    Own,
    /// What is made inside functions, too.
    All,
}
