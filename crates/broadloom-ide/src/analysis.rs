//! A program that has been read, about which all questions are asked.

use std::collections::BTreeMap;
use std::path::PathBuf;

use broadloom::Tensor;
use broadloom_diagnostics::{Diagnostic, Shown, Sources};
use broadloom_lang::{Editing, NamedTensor, Options, Program, Words, compile};

/// The text of a program, and settings for reading it.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// Its name in messages.
    pub name: String,
    /// The source text.
    pub text: String,
    /// The folder in which files that it names are found.
    pub folder: PathBuf,
    /// Sizes that replace those of `dim` lines.
    pub sizes: Vec<(String, u64)>,
    /// The file of weights for statements that load them and name no file.
    pub load: Option<PathBuf>,
    /// The words of the front that asks about it.
    pub words: Words,
    /// Texts of files that an editor has not written yet: imports read these instead. Paths are canonical.
    pub unsaved: BTreeMap<PathBuf, String>,
    /// True if every function is applied as after training.
    pub inference: bool,
}

impl Text {
    /// A text that refers to no files and sets no sizes.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Text {
        Text { name: name.into(), text: text.into(), ..Text::default() }
    }

    /// Options for reading it up to a line, or to its end.
    pub(crate) fn options(&self, until: Option<u32>) -> Options {
        Options {
            folder: self.folder.clone(),
            sizes: self.sizes.clone(),
            until,
            load: self.load.clone(),
            unsaved: self.unsaved.clone(),
            inference: self.inference,
            words: self.words,
            ..Options::default()
        }
    }
}

/// A program with its mistakes. Reading never fails: mistakes are
/// [diagnostics](Analysis::diagnostics), and the correct parts are available all the same.
///
/// ```
/// use broadloom_ide::{Analysis, Text};
///
/// let analysis = Analysis::new(&Text::new("a.loom", "data x : 3\nlet y = x + z\n"));
/// let shown = analysis.shown();
/// assert_eq!((shown.len(), shown[0].place.map(|place| place.line)), (1, Some(2)));
/// ```
pub struct Analysis {
    /// The name of the text.
    pub name: String,
    /// The compiled program.
    pub program: Program,
    /// The last line that was read, if only a part was.
    pub(crate) until: Option<u32>,
    /// The text that was read.
    pub(crate) text: Text,
}

impl Analysis {
    /// Reads a program for inspection: sizes that are set are numbers.
    pub fn new(text: &Text) -> Analysis {
        let mut analysis = Analysis::read(text, None);
        analysis.program.settle();
        analysis
    }

    /// Reads a program that is edited: the same as [`new`](Analysis::new), and faster where it begins like the text before.
    pub fn edited(text: &Text, editing: &mut Editing) -> Analysis {
        let program = editing.compile(&text.name, &text.text, &text.options(None));
        let mut analysis = Analysis::of(text, program, None);
        analysis.program.settle();
        analysis
    }

    /// The same as [`edited`](Analysis::edited), unless `is_over` says that nobody needs the answer any more: then there is none. It is asked
    /// between statements, and once it returns true, it has to go on doing so.
    ///
    /// ```
    /// use broadloom_ide::{Analysis, Editing, Text};
    ///
    /// let (text, mut editing) = (Text::new("a.loom", "data x : 3\n"), Editing::default());
    /// assert!(Analysis::edited_unless(&text, &mut editing, &|| true).is_none());
    /// assert!(Analysis::edited_unless(&text, &mut editing, &|| false).is_some());
    /// ```
    pub fn edited_unless(text: &Text, editing: &mut Editing, is_over: &dyn Fn() -> bool) -> Option<Analysis> {
        let program = editing.compile_unless(&text.name, &text.text, &text.options(None), is_over)?;
        let mut analysis = Analysis::of(text, program, None);
        analysis.program.settle();
        Some(analysis)
    }

    /// Reads a program, and leaves sizes open that are decided when it runs.
    pub fn open(text: &Text) -> Analysis {
        Analysis::read(text, None)
    }

    /// Reads a program up to a line, counted from 1, or to its end. Shapes stay as open as they are
    /// there.
    pub fn up_to(text: &Text, line: Option<u32>) -> Analysis {
        let mut analysis = Analysis::read(text, Some(line.unwrap_or(u32::MAX)));
        analysis.program.settle();
        analysis
    }

    fn read(text: &Text, until: Option<u32>) -> Analysis {
        let program = compile(&text.name, &text.text, &text.options(until));
        Analysis::of(text, program, until)
    }

    fn of(text: &Text, program: Program, until: Option<u32>) -> Analysis {
        Analysis { name: text.name.clone(), program, until, text: text.clone() }
    }

    /// Returns true if there are no errors.
    pub fn is_ok(&self) -> bool {
        self.program.is_ok()
    }

    /// The errors and warnings of the program.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.program.diagnostics
    }

    /// The texts that diagnostics and spans refer to.
    pub fn sources(&self) -> &Sources {
        &self.program.sources
    }

    /// The diagnostics with lines and columns, ready to be serialised.
    pub fn shown(&self) -> Vec<Shown<'_>> {
        self.diagnostics().iter().map(|diagnostic| Shown::new(self.sources(), diagnostic)).collect()
    }

    /// The named tensors of a listing.
    pub(crate) fn listed(&self, listing: Listing) -> impl Iterator<Item = &NamedTensor> {
        let mut is_param = vec![false; self.program.graph.len()];
        self.program.graph.params().iter().for_each(|param| is_param[param.index()] = true);
        let is_own = move |made: &NamedTensor| made.level == 0 || is_param[made.tensor.index()];
        self.program.made.iter().filter(move |made| listing == Listing::All || is_own(made))
    }

    /// The tensor with a name, or a message about the name.
    pub(crate) fn named(&self, name: &str) -> Result<Tensor, String> {
        self.program.find(name).ok_or_else(|| {
            let near = broadloom_lang::nearest(name, self.program.made.iter().map(|made| made.name.as_str()));
            let advice = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            format!("there is no tensor called `{name}`{advice}")
        })
    }
}

/// The choice of named tensors to list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Listing {
    /// Those of the program itself, and all parameters.
    #[default]
    Own,
    /// Also those made inside functions.
    All,
}
