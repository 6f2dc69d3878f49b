//! Evaluation that goes on from an earlier one: while a program is edited, the statements before the first change need not
//! be evaluated again.
//!
//! A checkpoint is a copy of the state of evaluation before a statement. Scopes and layers are not copied: both
//! evaluations share them, and what was changed in them since is in their [`Journal`](crate::value::Journal), to be taken
//! back. A checkpoint is only made as long as nothing was reported: what is said about a mistake may depend on what
//! follows it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use broadloom::Beginning;
use broadloom_diagnostics::{SourceId, Span};

use super::Eval;
use super::loaded::{self, Stamp};
use crate::program::Options;
use crate::syntax::ast::{File, Names};
use crate::syntax::{self, Parsed};

/// The options of a checkpoint from which no evaluation goes on: nothing reads them.
static NO_OPTIONS: LazyLock<Options> = LazyLock::new(Options::default);

/// The state of evaluation before a statement of the program itself.
pub(crate) struct Checkpoint {
    eval: Eval<'static>,
    /// The syntax tree of the text before the last statement before this place, and where that begins: how the text goes on decides
    /// nothing about it. None if reading cannot begin there.
    before: Option<(File, u32)>,
    /// Another copy of both, for the evaluation that goes on from here next.
    ready: Option<(Eval<'static>, Option<(File, u32)>)>,
    /// The number of statements that were not read again when an evaluation last went on from here.
    unread: usize,
    /// The spans of the statements before it, and where the next one begins.
    statements: Vec<Span>,
    pub start: u32,
    /// The number of scopes that there were.
    scopes: u32,
    /// The settings of the evaluation.
    folder: PathBuf,
    sizes: Vec<(String, u64)>,
}

impl Checkpoint {
    /// The number of statements before it.
    pub fn len(&self) -> usize {
        self.statements.len()
    }

    /// The number of scopes that are kept for it.
    pub fn scopes(&self) -> usize {
        self.eval.defining.len()
    }

    /// Copies its state in advance, for the next evaluation that goes on from here. Returns false if that was done already.
    pub fn prepare(&mut self) -> bool {
        if self.ready.is_some() {
            return false;
        }
        self.ready = Some(self.copy());
        true
    }

    /// The tensors and steps before it.
    pub fn beginning(&self) -> Beginning {
        self.eval.graph.so_far()
    }

    fn copy(&self) -> (Eval<'static>, Option<(File, u32)>) {
        (fork(&self.eval, &NO_OPTIONS), self.before.clone())
    }

    /// The number of statements that were not read again when an evaluation last went on from here.
    pub fn unread(&self) -> usize {
        self.unread
    }

    /// Goes on from here with a text that begins like the one before, up to the statement and its first letter. `None` if
    /// something else differs: settings, files, or the statements that the text begins with.
    pub fn resume<'o>(&mut self, name: &str, text: &str, options: &'o Options) -> Option<(Eval<'o>, bool)> {
        if self.folder != options.folder || self.sizes != options.sizes || options.until.is_some() {
            return None;
        }
        self.eval.own.journal().undo();
        // Nothing goes on from what was evaluated after the checkpoint.
        self.eval.defining.forget_since(self.scopes);
        let (ready, before) = self.ready.take().unwrap_or_else(|| self.copy());
        let mut eval: Eval<'o> = ready;
        eval.options = options;
        // Evaluation begins outside of any file.
        (eval.frame.file, eval.frame.scope) = (Arc::default(), eval.prelude.clone());
        if !has_same_files(&eval) {
            return None;
        }
        let main = eval.main();
        eval.sources.replace(main, name, text);
        let parsed = self.read(before, (main, text), &mut eval.names)?;
        let read_whole = parsed.diagnostics.is_empty();
        eval.diagnostics.extend(parsed.diagnostics);
        eval.own_file = Arc::new(parsed.file);
        Some((eval, read_whole))
    }

    /// Reads a text that begins like the one before: from the statement before this place on, if that is possible. `None` if it does not have
    /// the same statements up to here, or a mistake among them.
    fn read(
        &mut self,
        before: Option<(File, u32)>,
        (main, text): (SourceId, &str),
        names: &mut Names,
    ) -> Option<Parsed> {
        let before = before.unwrap_or_default();
        self.unread = before.0.statements.len();
        let parsed = syntax::parse_after(before, main, text, names);
        let mut labels = parsed.diagnostics.iter().flat_map(|each| &each.labels);
        let is_right = labels.all(|label| label.span.start >= self.start);
        (is_right && self.is_before(&parsed, self.unread)).then_some(parsed)
    }

    /// Returns true if a text has the same statements up to here, of which so many are known to be.
    fn is_before(&self, parsed: &Parsed, known: usize) -> bool {
        let spans = || parsed.file.statements.iter().map(|statement| statement.span);
        spans().skip(known).take(self.len() - known).eq(self.statements[known..].iter().copied())
            && spans().nth(self.len()).is_some_and(|next| next.start == self.start)
    }
}

/// A checkpoint before a statement of the program itself, if nothing was reported about those before it.
pub(super) fn make(eval: &Eval<'_>, before: usize, reported: usize) -> Option<Checkpoint> {
    if eval.errors > 0 || eval.diagnostics.len() != reported {
        return None;
    }
    let spans = eval.own_file.statements.iter().map(|statement| statement.span);
    let start = eval.own_file.statements.get(before)?.span.start;
    let mut kept = fork(eval, &NO_OPTIONS);
    kept.diagnostics.clear();
    kept.own.journal().begin();
    Some(Checkpoint {
        scopes: kept.own.journal().scopes(),
        eval: kept,
        before: before.checked_sub(1).and_then(|last| eval.own_file.before(last)),
        ready: None,
        unread: 0,
        statements: spans.take(before).collect(),
        start,
        folder: eval.options.folder.clone(),
        sizes: eval.options.sizes.clone(),
    })
}

/// Returns true if the files of modules have the texts that were read, and those of data have not changed.
fn has_same_files(eval: &Eval<'_>) -> bool {
    let text = |file: &Path| match eval.options.unsaved.get(file) {
        Some(text) => Some(text.clone()),
        None => std::fs::read(file).ok().and_then(|bytes| broadloom_diagnostics::decode(bytes).ok()),
    };
    let is_same = |(file, then): &(PathBuf, Stamp)| {
        then.is_some_and(|(_, changed)| changed.is_some()) && loaded::stamp(file) == *then
    };
    eval.data_files.iter().all(is_same)
        && eval
            .files
            .iter()
            .all(|(source, file)| text(file).as_deref() == Some(eval.sources.get(*source).text()))
}

/// The same state once more, between two statements of the program itself.
fn fork<'n>(eval: &Eval<'_>, options: &'n Options) -> Eval<'n> {
    Eval {
        options,
        sources: eval.sources.clone(),
        names: eval.names.clone(),
        graph: eval.graph.clone(),
        diagnostics: eval.diagnostics.clone(),
        plan: eval.plan.clone(),
        origins: eval.origins.clone(),
        applied: eval.applied.clone(),
        application: eval.application,
        made: eval.made.clone(),
        axis_names: eval.axis_names.clone(),
        dims: eval.dims.clone(),
        ranged: eval.ranged.clone(),
        specs: eval.specs.clone(),
        piped: eval.piped.clone(),
        read_specs: eval.read_specs.clone(),
        asked: eval.asked.clone(),
        unused_sizes: eval.unused_sizes.clone(),
        prelude: eval.prelude.clone(),
        own: eval.own.clone(),
        own_file: eval.own_file.clone(),
        defining: eval.defining.clone(),
        defined: eval.defined.clone(),
        library: eval.library,
        modules: eval.modules.clone(),
        files: eval.files.clone(),
        imports: eval.imports.clone(),
        definitions: eval.definitions,
        taken: eval.taken.clone(),
        frame: eval.frame.clone(),
        calls: eval.calls.clone(),
        depth: eval.depth,
        work: eval.work,
        walked: eval.walked,
        replay: Default::default(),
        inference: eval.inference,
        bodies: eval.bodies.clone(),
        params: eval.params.clone(),
        made_as: eval.made_as.clone(),
        shapeless: eval.shapeless.clone(),
        stated: eval.stated.clone(),
        assigned: eval.assigned.clone(),
        last_backward: eval.last_backward,
        misassigned: eval.misassigned.clone(),
        errors: eval.errors,
        aside: None,
        is_brief: eval.is_brief,
        copied: eval.copied,
        data_files: eval.data_files.clone(),
        loaded: None,
        looked: None,
        weights: eval.weights.clone(),
        is_over: None,
        is_given_up: false,
    }
}
