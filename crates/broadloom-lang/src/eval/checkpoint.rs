//! Evaluation that goes on from an earlier one: while a program is edited, the statements before the first change need not
//! be evaluated again.
//!
//! A checkpoint is a copy of the state of evaluation before a statement. Scopes and layers are not copied: both
//! evaluations share them, and what was changed in them since is in their [`Journal`](crate::value::Journal), to be taken
//! back. A checkpoint is only made as long as nothing was reported: what is said about a mistake may depend on what
//! follows it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use broadloom_diagnostics::Span;

use super::Eval;
use crate::program::Options;

/// The options of a checkpoint from which no evaluation goes on: nothing reads them.
static NO_OPTIONS: LazyLock<Options> = LazyLock::new(Options::default);

/// The state of evaluation before a statement of the program itself.
pub(crate) struct Checkpoint {
    eval: Eval<'static>,
    /// Another copy, for the evaluation that goes on from here next.
    ready: Option<Eval<'static>>,
    /// The spans of the statements before it, and where the next one begins.
    statements: Vec<Span>,
    pub start: u32,
    /// The settings of the evaluation.
    folder: PathBuf,
    sizes: Vec<(String, u64)>,
}

impl Checkpoint {
    /// The number of statements before it.
    pub fn len(&self) -> usize {
        self.statements.len()
    }

    /// Copies its state in advance, for the next evaluation that goes on from here. Returns false if that was done already.
    pub fn prepare(&mut self) -> bool {
        if self.ready.is_some() {
            return false;
        }
        self.ready = Some(self.eval.fork(&NO_OPTIONS));
        true
    }

    /// Goes on from here with a text that begins like the one before, up to the statement and its first letter. `None` if
    /// something else differs: settings, files, or the statements that the text begins with.
    pub fn resume<'o>(&mut self, name: &str, text: &str, options: &'o Options) -> Option<(Eval<'o>, bool)> {
        if self.folder != options.folder || self.sizes != options.sizes || options.until.is_some() {
            return None;
        }
        self.eval.own.journal().undo();
        let mut eval: Eval<'o> = match self.ready.take() {
            Some(ready) => ready,
            None => self.eval.fork(&NO_OPTIONS),
        };
        eval.options = options;
        // Evaluation begins outside of any file.
        (eval.frame.file, eval.frame.scope) = (Arc::default(), eval.prelude.clone());
        if !eval.has_same_files() {
            return None;
        }
        let main = eval.main();
        eval.sources.replace(main, name, text);
        let parsed = crate::syntax::parse(main, text, &mut eval.names);
        let spans = || parsed.file.statements.iter().map(|statement| statement.span);
        let is_same = spans().take(self.len()).eq(self.statements.iter().copied())
            && spans().nth(self.len()).is_some_and(|next| next.start == self.start)
            && parsed
                .diagnostics
                .iter()
                .flat_map(|each| &each.labels)
                .all(|label| label.span.start >= self.start);
        if !is_same {
            return None;
        }
        let read_whole = parsed.diagnostics.is_empty();
        eval.diagnostics.extend(parsed.diagnostics);
        eval.own_file = Arc::new(parsed.file);
        Some((eval, read_whole))
    }
}

impl Eval<'_> {
    /// A checkpoint before a statement of the program itself, if nothing was reported about those before it.
    pub(super) fn checkpoint(&self, before: usize, reported: usize) -> Option<Checkpoint> {
        if self.errors > 0 || self.diagnostics.len() != reported || self.reads_data {
            return None;
        }
        let spans = self.own_file.statements.iter().map(|statement| statement.span);
        let start = self.own_file.statements.get(before)?.span.start;
        let mut eval = self.fork(&NO_OPTIONS);
        eval.diagnostics.clear();
        self.own.journal().begin();
        Some(Checkpoint {
            eval,
            ready: None,
            statements: spans.take(before).collect(),
            start,
            folder: self.options.folder.clone(),
            sizes: self.options.sizes.clone(),
        })
    }

    /// Returns true if the files of modules have the texts that were read.
    fn has_same_files(&self) -> bool {
        let text = |file: &Path| match self.options.unsaved.get(file) {
            Some(text) => Some(text.clone()),
            None => std::fs::read(file).ok().and_then(|bytes| broadloom_diagnostics::decode(bytes).ok()),
        };
        self.files
            .iter()
            .all(|(source, file)| text(file).as_deref() == Some(self.sources.get(*source).text()))
    }

    /// The same state once more, between two statements of the program itself.
    fn fork<'n>(&self, options: &'n Options) -> Eval<'n> {
        Eval {
            options,
            sources: self.sources.clone(),
            names: self.names.clone(),
            graph: self.graph.clone(),
            diagnostics: self.diagnostics.clone(),
            plan: self.plan.clone(),
            origins: self.origins.clone(),
            applied: self.applied.clone(),
            application: self.application,
            made: self.made.clone(),
            axis_names: self.axis_names.clone(),
            dims: self.dims.clone(),
            ranged: self.ranged.clone(),
            specs: self.specs.clone(),
            read_specs: self.read_specs.clone(),
            asked: self.asked.clone(),
            unused_sizes: self.unused_sizes.clone(),
            prelude: self.prelude.clone(),
            own: self.own.clone(),
            own_file: self.own_file.clone(),
            defining: self.defining.clone(),
            defined: self.defined.clone(),
            library: self.library,
            modules: self.modules.clone(),
            files: self.files.clone(),
            imports: self.imports.clone(),
            definitions: self.definitions,
            taken: self.taken.clone(),
            frame: self.frame.clone(),
            calls: self.calls.clone(),
            depth: self.depth,
            work: self.work,
            walked: self.walked,
            replay: Default::default(),
            inference: self.inference,
            bodies: self.bodies.clone(),
            params: self.params.clone(),
            made_as: self.made_as.clone(),
            shapeless: self.shapeless.clone(),
            stated: self.stated.clone(),
            assigned: self.assigned.clone(),
            last_backward: self.last_backward,
            misassigned: self.misassigned.clone(),
            errors: self.errors,
            aside: None,
            is_brief: self.is_brief,
            reads_data: self.reads_data,
            weights: self.weights.clone(),
        }
    }
}
