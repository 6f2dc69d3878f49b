//! Programs that are edited: a check after an edit goes on from the statements before it.

use broadloom::KnownNests;

use crate::eval::loaded::Loaded;
use crate::eval::looked::Looked;
use crate::eval::{Checkpoint, Eval};
use crate::program::{Options, Program};

/// A checkpoint is made so many statements before an edit, so that edits a few lines further up can use it, too.
const BEFORE: usize = 2;
/// Checkpoints with fewer statements before them save less time than they take.
const FEW: usize = 4;
/// If an edit is so many statements after the last checkpoint, another one is made.
const FAR: usize = 32;

/// The state that is kept of a program while it is edited: one checkpoint, near the last edit. Reading the
/// program again gives the same result as [`compile`](crate::compile).
///
/// ```
/// use broadloom_lang::{Editing, Options};
///
/// let mut editing = Editing::default();
/// let program = editing.compile("a.loom", "data x : 3\nlet y = 2 * x\n", &Options::default());
/// assert!(program.is_ok());
/// let program = editing.compile("a.loom", "data x : 3\nlet y = 2 * z\n", &Options::default());
/// assert!(!program.is_ok());
/// ```
#[derive(Default)]
pub struct Editing {
    kept: Option<Checkpoint>,
    /// The last text.
    text: String,
    /// The number of statements that the last check did not evaluate again.
    reused: usize,
    /// The number of statements that it did not read again.
    unread: usize,
    /// The arrays of files that were read.
    loaded: Loaded,
    /// The functions without mistakes.
    looked: Looked,
    /// The operations before the checkpoint, or before one that was made earlier, that have loop nests.
    nests: Option<KnownNests>,
}

impl Editing {
    /// Reads a program, as [`compile`](crate::compile) does.
    pub fn compile(&mut self, name: &str, text: &str, options: &Options) -> Program {
        let eval = self.evaluated(name, text, options, None);
        let mut program = Program::of_known(eval, options, self.nests.clone());
        self.learn(&mut program);
        program
    }

    /// The same, unless it is to be given up, because nobody needs the program any more: then there is none, and the next check begins
    /// as if this one had not been. `is_over` is asked between statements and between what follows them; once it returns
    /// true, it has to go on doing so.
    ///
    /// ```
    /// use broadloom_lang::{Editing, Options};
    ///
    /// let (mut editing, options) = (Editing::default(), Options::default());
    /// assert!(editing.compile_unless("a.loom", "data x : 3\n", &options, &|| true).is_none());
    /// assert!(editing.compile_unless("a.loom", "data x : 3\n", &options, &|| false).is_some());
    /// ```
    pub fn compile_unless(
        &mut self,
        name: &str,
        text: &str,
        options: &Options,
        is_over: &dyn Fn() -> bool,
    ) -> Option<Program> {
        let eval = self.evaluated(name, text, options, Some(is_over));
        if eval.is_given_up || is_over() {
            return None;
        }
        let mut program = Program::of_known_unless(eval, options, self.nests.clone(), is_over)?;
        self.learn(&mut program);
        Some(program)
    }

    /// Keeps what a check has found out about what stands before the checkpoint. A program with mistakes is not rehearsed: what was known
    /// holds for the next one as well.
    fn learn(&mut self, program: &mut Program) {
        if let (Some(nests), Some(kept)) = (program.nests.take(), &self.kept) {
            self.nests = Some(nests.of(kept.beginning()));
        }
    }

    /// Evaluates a program, from the checkpoint on if it is before what was edited.
    fn evaluated<'o>(
        &mut self,
        name: &str,
        text: &str,
        options: &'o Options,
        is_over: Option<&'o dyn Fn() -> bool>,
    ) -> Eval<'o> {
        let is_first = self.text.is_empty();
        let changed = common(self.text.as_bytes(), text.as_bytes());
        self.text.clear();
        self.text.push_str(text);
        let resumed = match &mut self.kept {
            Some(kept) if changed > kept.start as usize => kept.resume(name, text, options),
            _ => None,
        };
        let (first, unread) = match (&resumed, &self.kept) {
            (Some(_), Some(kept)) => (kept.len(), kept.unread()),
            _ => {
                (self.kept, self.nests) = (None, None);
                (0, 0)
            }
        };
        let (mut eval, read_whole) = resumed.unwrap_or_else(|| {
            let mut eval = Eval::new(options);
            let read_whole = eval.read(name, text);
            (eval, read_whole)
        });
        eval.is_over = is_over;
        (self.reused, self.unread) = (first, unread);
        (eval.loaded, eval.looked) =
            (Some(std::mem::take(&mut self.loaded)), Some(std::mem::take(&mut self.looked)));
        let edited = eval.statement_at(changed as u32).saturating_sub(BEFORE);
        let is_far = edited >= first + FAR || first == 0 && edited >= FEW;
        let made = eval.evaluate(first, Some(edited).filter(|_| is_far && !is_first));
        if made.is_some() {
            self.kept = made;
        }
        if !eval.is_given_up {
            eval.finish(read_whole);
        }
        (self.loaded, self.looked) =
            (eval.loaded.take().unwrap_or_default(), eval.looked.take().unwrap_or_default());
        if !eval.is_given_up {
            self.loaded.next(&eval.data_files);
            self.looked.next();
        }
        eval
    }

    /// The number of statements that the last check did not evaluate again.
    pub fn reused(&self) -> usize {
        self.reused
    }

    /// The number of statements that the last check did not read again: all before the checkpoint but one.
    pub fn unread(&self) -> usize {
        self.unread
    }

    /// The number of scopes that are kept for evaluations to come.
    pub fn scopes(&self) -> usize {
        self.kept.as_ref().map_or(0, Checkpoint::scopes)
    }

    /// Prepares for the next edit, while no answer is awaited. Returns false if there is nothing to prepare.
    pub fn prepare(&mut self) -> bool {
        self.kept.as_mut().is_some_and(Checkpoint::prepare)
    }

    /// Forgets everything, as if the program had never been read.
    pub fn forget(&mut self) {
        *self = Editing::default();
    }
}

/// The number of bytes that two texts begin with in common.
fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
