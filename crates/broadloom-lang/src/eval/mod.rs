//! Evaluation: from the syntax tree to a graph, its parameters, and a plan of actions.
//!
//! Evaluation goes through a program once, from top to bottom. Numbers, texts and functions exist
//! only here. Tensors go to the graph, and each step of the graph is recorded with the place in the
//! text that made it. A mistake is reported, and the names that its statement defines stand for
//! [`Value::Mistake`], whose uses are not reported: the statements after it are evaluated as if it
//! were right, so one run reports every independent mistake.
//!
//! Statements, expressions, functions and actions need each other, and the whole state: they are methods of [`Eval`]. All
//! else is a function that is given the state, for reading if it changes nothing.
//!
//! | file | evaluates |
//! |---|---|
//! | `statement` | statements that bind names |
//! | `dim` | sizes that have names |
//! | `leaf` | data, states, parameters and their declared shapes |
//! | `axis_names` | names that declared shapes have for axes |
//! | `expr` | expressions |
//! | `path` | fields of layers: their parameters, and the layers inside of them |
//! | `apply` | functions: configuration, layers, application |
//! | `replay` | bodies that do the same again, without walking them |
//! | `act`, `watched` | nothing: operations on the graph as data, and a graph that notices who looks at it |
//! | `contract` | written signatures |
//! | `stated_sizes` | nothing: it refuses sizes in signatures that no application could find |
//! | `aside`, `around` | bodies of functions with open arguments, aside from the program; the names that they take from around them |
//! | `scheme` | signatures and mistakes of functions, from such a walk |
//! | `unapplied` | nothing: it checks the names in functions that are never applied |
//! | `unknown`, `tried` | bodies with arguments of which nothing is known; functions of the language with values of each kind |
//! | `spec` | operations by a spec, and captured sizes |
//! | `traps` | specs and shapes in texts that are easily misread |
//! | `action` | statements that act when the program runs |
//! | `weights` | statements that load weights into parameters |
//! | `advice` | nothing: it explains mistakes |
//! | `reporting`, `report` | nothing: mistakes with their places; errors of the graph, as diagnostics |
//! | `checkpoint` | nothing: it keeps the state between two statements, for the check after an edit |
//! | `loaded`, `looked` | nothing: they keep arrays of files, and which functions have no mistakes, for the check after an edit |

mod act;
mod action;
pub(crate) mod advice;
mod applied;
mod apply;
mod around;
mod aside;
mod averaged;
mod axis_names;
mod bound_names;
pub(crate) mod builtin;
pub(crate) mod call;
mod checkpoint;
mod contract;
mod convert;
mod declared;
mod dim;
mod elements;
mod expr;
mod first_values;
mod formula;
pub(crate) mod given;
pub mod interface;
mod label_sizes;
mod leaf;
pub(crate) mod library;
mod load;
pub(crate) mod loaded;
pub(crate) mod looked;
mod needs;
mod path;
pub(crate) mod replay;
mod report;
mod reporting;
mod scheme;
pub(crate) mod spec;
mod stated_sizes;
mod statement;
pub(crate) mod streams;
mod taken_names;
mod traps;
mod tried;
mod unapplied;
mod unknown;
mod watched;
pub(crate) mod weights;
mod written;

pub(crate) use applied::Applied;
pub use builtin::builtins;
pub(crate) use checkpoint::Checkpoint;
pub(crate) use report::diagnosed;

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use broadloom::{AxisName, Error, Graph, Tensor};
use broadloom_diagnostics::{Diagnostic, SourceId, Sources, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::codes;
use crate::plan::{Action, Plan};
use crate::program::{Dim, NamedTensor, Options, Origin, Origins, Piped, Written};
use crate::syntax::ast::{ExprId, ExprKind, File, Ident, Name, Names, Statement};
use crate::value::{BuiltinId, Defining, Function, Layer, Scope, Value};
use taken_names::TakenNames;
use watched::Watched;

/// The error of an evaluation whose mistake has already been reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported;

/// The result of an evaluation.
pub(crate) type Evaluated<T> = Result<T, Reported>;

/// The greatest depth of nested expressions and calls during evaluation.
const DEEPEST: usize = 300;

/// The largest number of evaluated expressions and loop turns. A program that needs more repeats
/// itself without end.
const MOST_WORK: u64 = 4_000_000;

/// So many steps are made until it is asked again whether anybody needs the program.
const STEPS_AT_ONCE: u64 = 256;

/// The number of errors after which evaluation stops.
const MOST_ERRORS: usize = 50;

/// The state of evaluation.
pub(crate) struct Eval<'o> {
    pub options: &'o Options,
    pub sources: Sources,
    pub names: Names,
    pub graph: Watched,
    pub diagnostics: Vec<Diagnostic>,
    pub plan: Plan,
    /// The origin of each step of the graph.
    pub origins: Origins,
    /// The functions that were applied.
    pub applied: Vec<Applied>,
    /// The innermost function that is being applied.
    application: Option<u32>,
    /// The tensors that have a name, in order.
    pub made: Vec<NamedTensor>,
    /// The names that declared shapes have for axes.
    pub axis_names: Vec<AxisName>,
    pub dims: Vec<Dim>,
    /// The index in `dims` of each size with a range.
    ranged: FxHashMap<String, usize>,
    /// The specs that the program itself writes.
    pub specs: Vec<Written>,
    /// The tensors that pipes of the program pass on.
    pub piped: Vec<Piped>,
    /// Specs by their text, and by the shape that they accumulate over.
    read_specs: [FxHashMap<Box<str>, Rc<broadloom_spec::WrittenSpec>>; 2],
    /// Sizes with a range that are set from outside.
    pub asked: Vec<(String, u64)>,
    /// The sizes of `options` that no `dim` has taken yet.
    pub unused_sizes: Vec<String>,
    /// The names that are available everywhere.
    pub prelude: Rc<Scope>,
    /// The names of the program itself.
    own: Rc<Scope>,
    /// The syntax tree of the program itself.
    pub own_file: Arc<File>,
    defining: Rc<Defining>,
    /// The functions that the program defines.
    defined: Vec<Rc<Function>>,
    /// Sources of the library. Messages about them point to the code that uses it.
    library: LibrarySources,
    /// Modules by path; `None` while they are being read.
    modules: FxHashMap<PathBuf, Option<Rc<Scope>>>,
    /// The files of modules that have been read.
    pub files: Vec<(SourceId, PathBuf)>,
    /// The paths of imports, and the sources that they lead to.
    pub imports: Vec<(Span, SourceId)>,
    /// The functions that were checked without an application, and those that were not.
    pub definitions: crate::program::Definitions,
    /// The names of leaves and layers.
    taken: TakenNames,
    frame: Frame,
    /// The call sites of the functions that are being applied.
    calls: Vec<Span>,
    depth: usize,
    /// The number of expressions that have been evaluated.
    pub work: u64,
    /// The number of bodies of functions that have been walked.
    pub walked: usize,
    /// Recordings of bodies that were walked, and the one that is being made.
    pub(crate) replay: replay::Replay,
    /// True while functions are applied as after training.
    inference: bool,
    /// The bodies that are being planned, the innermost last.
    bodies: Vec<action::Planned>,
    /// The parameters.
    params: FxHashSet<Tensor>,
    /// The shape and first value of each parameter of a function.
    made_as: FxHashMap<Tensor, leaf::MadeParam>,
    /// States without a shape, with the spans of their declarations.
    shapeless: Vec<(Tensor, Span)>,
    /// Tensors that something is assigned to.
    stated: FxHashSet<Tensor>,
    /// Tensors that assignments make, which keep their values.
    assigned: FxHashSet<Tensor>,
    /// The last routine that computes gradients.
    last_backward: Option<usize>,
    /// Unknown names whose assignment has been reported.
    misassigned: FxHashSet<Name>,
    /// The number of mistakes reported so far.
    errors: usize,
    /// The state that is kept apart from the program while a body is walked for its scheme.
    aside: Option<aside::Aside>,
    /// True if bodies are walked aside only as far as that takes little time.
    is_brief: bool,
    /// The number of tensors that were copied for that.
    copied: usize,
    /// The files that numbers were read from, as they were then.
    pub data_files: Vec<(PathBuf, loaded::Stamp)>,
    /// The arrays of files that were read, and are kept while the program is edited.
    pub loaded: Option<loaded::Loaded>,
    /// The functions that were looked at before, while the program is edited.
    pub looked: Option<looked::Looked>,
    /// The statements that load weights, and what they load into.
    weights: Vec<(Value, crate::weights::Load)>,
    /// Returns true if nobody needs the program any more.
    pub is_over: Option<&'o dyn Fn() -> bool>,
    /// True if evaluation ended before its end for that reason.
    pub is_given_up: bool,
}

/// The sources of the library, which are read before all others: how many there are.
#[derive(Clone, Copy, Default)]
struct LibrarySources(u32);

impl LibrarySources {
    fn contains(self, source: &SourceId) -> bool {
        source.0 < self.0
    }

    /// Returns true if the functions of a source are rules of the library.
    fn has_rules(self, source: SourceId) -> bool {
        self.contains(&source) && library::has_rules(source)
    }
}

/// The context of evaluation: the current file, scope and function.
#[derive(Clone)]
pub(crate) struct Frame {
    pub file: Arc<File>,
    pub scope: Rc<Scope>,
    /// The function that is being applied.
    pub layer: Option<Rc<Layer>>,
    /// The turns of the loops around the current statement, inside that function.
    pub turns: Rc<[u32]>,
    /// The name of the parameter that a rule is applied to.
    pub subject: Option<Rc<str>>,
    /// The folder of the file.
    pub folder: Rc<Path>,
}

impl<'o> Eval<'o> {
    pub fn new(options: &'o Options) -> Eval<'o> {
        let mut eval = Eval::bare(options, Scope::new(None));
        eval.load_prelude();
        eval
    }

    /// An evaluation that has read nothing, not even the library.
    fn bare(options: &'o Options, prelude: Rc<Scope>) -> Eval<'o> {
        let frame = Frame {
            file: Arc::default(),
            scope: prelude.clone(),
            layer: None,
            turns: Rc::new([]),
            subject: None,
            folder: options.folder.as_path().into(),
        };
        Eval {
            options,
            sources: Sources::new(),
            names: Names::default(),
            graph: Watched::default(),
            diagnostics: Vec::new(),
            plan: Plan::default(),
            origins: Origins::default(),
            applied: Vec::new(),
            application: None,
            made: Vec::new(),
            axis_names: Vec::new(),
            dims: Vec::new(),
            ranged: FxHashMap::default(),
            specs: Vec::new(),
            piped: Vec::new(),
            read_specs: Default::default(),
            asked: Vec::new(),
            unused_sizes: options.sizes.iter().map(|(name, _)| name.clone()).collect(),
            own: prelude.clone(),
            own_file: Arc::default(),
            prelude,
            defining: Rc::default(),
            defined: Vec::new(),
            library: LibrarySources::default(),
            modules: FxHashMap::default(),
            files: Vec::new(),
            imports: Vec::new(),
            definitions: crate::program::Definitions::default(),
            taken: TakenNames::default(),
            frame,
            calls: Vec::new(),
            depth: 0,
            work: 0,
            walked: 0,
            replay: replay::Replay::default(),
            inference: options.inference,
            bodies: vec![action::Planned::default()],
            params: FxHashSet::default(),
            made_as: FxHashMap::default(),
            shapeless: Vec::new(),
            stated: FxHashSet::default(),
            assigned: FxHashSet::default(),
            last_backward: None,
            misassigned: FxHashSet::default(),
            errors: 0,
            aside: None,
            is_brief: false,
            copied: 0,
            data_files: Vec::new(),
            loaded: None,
            looked: None,
            weights: Vec::new(),
            is_over: None,
            is_given_up: false,
        }
    }

    /// Binds the names that are available everywhere.
    fn load_prelude(&mut self) {
        let library = crate::eval::library::library();
        self.sources = library.sources.clone();
        self.names = library.names.clone();
        self.diagnostics.extend(library.diagnostics.iter().cloned());
        for (at, builtin) in (0..).zip(builtin::all()) {
            let name = self.names.intern(builtin.name());
            self.prelude.bind(name, Value::Builtin(BuiltinId(at)));
        }
        for (name, value) in builtin::values() {
            let name = self.names.intern(name);
            self.prelude.bind(name, value);
        }
        for (source, file) in (0..).map(SourceId).zip(&library.files) {
            self.library.0 = source.0 + 1;
            let frame = Frame { file: file.clone(), ..self.frame.clone() };
            self.within(frame, |eval| eval.file());
        }
    }

    /// Evaluates all statements of the file of the frame.
    pub fn file(&mut self) {
        let file = self.frame.file.clone();
        for statement in &file.statements {
            if self.top_statement(statement).is_none() {
                return;
            }
        }
    }

    /// Evaluates a statement outside of blocks. Returns true if there is no mistake in it, and `None` if evaluation ends
    /// before it.
    fn top_statement(&mut self, statement: &Statement) -> Option<bool> {
        let is_over = self.errors >= MOST_ERRORS || self.replay.has_failed || self.is_beyond(statement.span);
        if is_over || self.gives_up() {
            return None;
        }
        Some(match self.statement(statement) {
            Ok(_) if self.is_idle(statement) => self.idle(statement).is_ok(),
            made => made.is_ok(),
        })
    }

    /// Returns true if nobody needs the program any more.
    fn gives_up(&mut self) -> bool {
        self.is_given_up = self.is_given_up || self.is_over.is_some_and(|is_over| is_over());
        self.is_given_up
    }

    /// Returns true if a statement is after the last line of a partial program.
    fn is_beyond(&self, span: Span) -> bool {
        let Some(last) = self.options.until else { return false };
        span.source == self.main() && self.sources.position(span).0 > last
    }

    /// The file of a function: that of the program itself as it is now, if it is defined there. It was another one when the
    /// function was defined, if evaluation goes on from a checkpoint; what stands before that is the same in both.
    fn file_of(&self, function: &Function) -> Arc<File> {
        if function.span.source == self.main() { self.own_file.clone() } else { function.file.clone() }
    }

    /// The source of the program itself: the first after the library.
    pub fn main(&self) -> SourceId {
        SourceId(crate::eval::library::FILES.len() as u32)
    }

    /// Ends the plan, and returns its actions.
    pub fn finish_plan(&mut self) -> Vec<Action> {
        self.close_routine();
        self.bodies.pop().map(|body| body.actions).unwrap_or_default()
    }

    /// Evaluates something in another frame.
    fn within<T>(&mut self, frame: Frame, inside: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.frame, frame);
        let made = inside(self);
        self.frame = before;
        made
    }

    /// Counts one more step, unless there have been too many.
    fn step(&mut self, span: Span) -> Evaluated<()> {
        // After too many mistakes, the rest of the program is skipped.
        if self.errors >= MOST_ERRORS || self.work > MOST_WORK || self.replay.has_failed {
            return Err(Reported);
        }
        self.work += 1;
        // A statement may be most of a program.
        if self.work.is_multiple_of(STEPS_AT_ONCE) && self.gives_up() {
            return Err(Reported);
        }
        self.replay.count_step(self.depth);
        if self.work > MOST_WORK {
            if let Some(aside) = &mut self.aside {
                aside.is_cut = true;
                return Err(Reported);
            }
            let message = "this program takes more than four million steps to build";
            let help = "`for`, lists and functions that call themselves are written out; `repeat` runs a loop when the program runs";
            return self
                .fail(Diagnostic::error(codes::DEPTH, message, self.place(span), "here").with_help(help));
        }
        Ok(())
    }

    /// Evaluates one level deeper, or reports that the nesting is too deep.
    fn deeper<T>(&mut self, span: Span, inside: impl FnOnce(&mut Self) -> Evaluated<T>) -> Evaluated<T> {
        self.step(span)?;
        if self.depth >= DEEPEST {
            let message = "functions call each other too deeply";
            let help = "a function that calls itself needs an `if` that ends it: `if n > 0 then … else 1`";
            return self
                .fail(Diagnostic::error(codes::DEPTH, message, self.place(span), "here").with_help(help));
        }
        self.depth += 1;
        let made = inside(self);
        self.depth -= 1;
        made
    }

    /// The folder of files that the program names.
    pub fn folder(&self) -> &Path {
        &self.frame.folder
    }

    /// A name for a leaf that has none in the program.
    pub fn fresh_name(&mut self, name: &str) -> String {
        let wanted = self.inside(name);
        self.free_name(&wanted)
    }

    /// Asks the graph for something, and records the origin of the steps that it makes.
    pub fn ask<T>(&mut self, span: Span, make: impl FnOnce(&mut Graph) -> Result<T, Error>) -> Evaluated<T> {
        self.graph.touch();
        self.ask_quietly(span, make)
    }

    /// The same for what replaying a body asks for again.
    pub(crate) fn ask_quietly<T>(
        &mut self,
        span: Span,
        make: impl FnOnce(&mut Graph) -> Result<T, Error>,
    ) -> Evaluated<T> {
        let made = make(self.graph.quiet_mut());
        self.note_origins(span);
        match made {
            Ok(made) => Ok(made),
            Err(error) if self.replay.is_playing => Err(replay::fail_to_replay(self, &error)),
            Err(error) => report::refused(self, &error, span),
        }
    }

    /// Notes where the last steps of the graph come from.
    fn note_origins(&mut self, span: Span) {
        let origin = Origin { span: self.place(span), inner: span, application: self.application };
        self.origins.extend_to(self.graph.quiet().steps(), origin);
    }

    /// The value of a name here.
    fn find(&mut self, name: Name) -> Option<Value> {
        match self.replay.is_recording() {
            false => self.frame.scope.find(name),
            true => self.find_and_note(name),
        }
    }

    /// Lets messages quote a result as it is written here, if that is short.
    pub fn show_as_written(&mut self, tensor: Tensor, span: Span, short: &str) {
        let text = self.quotable(span);
        self.graph.quiet_mut().shown_as(tensor, text.as_deref().unwrap_or(short));
        self.note_shown(tensor, span, short);
    }

    /// The text of a name.
    fn text(&self, name: Name) -> &str {
        self.names.text(name)
    }

    fn span_of(&self, expr: ExprId) -> Span {
        self.frame.file.expr(expr).span
    }

    /// Returns true if a name has a value here.
    pub(crate) fn is_known(&self, name: Ident) -> bool {
        self.frame.scope.find(name.name).is_some()
    }

    /// The value of a number that is written as a literal.
    pub(crate) fn literal_number(&self, expr: ExprId) -> Option<f64> {
        let file = &self.frame.file;
        match &file.expr(expr).kind {
            ExprKind::Number(number) => Some(*number),
            ExprKind::Unary(crate::syntax::ast::Unary::Minus, inner) => match &file.expr(*inner).kind {
                ExprKind::Number(number) => Some(-number),
                _ => None,
            },
            _ => None,
        }
    }

    /// Gives a tensor a name, and adds a line to the tables.
    fn name_tensor(&mut self, tensor: Tensor, name: String, span: Span) {
        // A parameter that is bound to its own name has a line already.
        if self.made.iter().rev().take(16).any(|made| made.tensor == tensor && made.name == name) {
            return;
        }
        let level = self.calls.len();
        self.made.push(NamedTensor { name, tensor, span: self.place(span), level });
    }

    /// A name that is not taken: the one asked for, or the first free one of `name2`, `name3`, …
    fn free_name(&mut self, name: &str) -> String {
        self.free_path(name).to_string()
    }

    /// The same, where the text is shared with the list of names.
    fn free_path(&mut self, name: &str) -> Rc<str> {
        let (free, tried) = self.taken.take(name);
        self.work += tried;
        free
    }

    /// Forgets which names are taken, and how parameters were made, when nothing more is evaluated.
    pub fn forget_names(&mut self) {
        (self.taken, self.made_as) = Default::default();
    }

    /// The path of the function that is being applied, with a dot, for names inside of it.
    fn prefix(&mut self) -> String {
        match self.frame.layer.clone() {
            Some(layer) => {
                let path = self.path_of(&layer);
                let mut prefix = String::with_capacity(path.len() + 1);
                prefix.push_str(&path);
                prefix.push('.');
                prefix
            }
            None => String::new(),
        }
    }

    /// The same for a name that the program writes.
    fn inside_of(&mut self, name: Name) -> String {
        let path = self.frame.layer.clone().map(|layer| self.path_of(&layer));
        joined(path.as_deref(), self.text(name))
    }

    /// A name of the function that is being applied, with its path.
    fn inside(&mut self, name: &str) -> String {
        let path = self.frame.layer.clone().map(|layer| self.path_of(&layer));
        joined(path.as_deref(), name)
    }

    /// The path that the names of a layer's parameters begin with.
    fn path_of(&mut self, layer: &Rc<Layer>) -> Rc<str> {
        if let Some(path) = &*layer.kept.path.borrow() {
            return path.clone();
        }
        let path = self.free_path(&layer.wanted_path());
        layer.place_at(path.clone());
        path
    }
}

/// A name with the path of the function that it belongs to.
fn joined(path: Option<&str>, name: &str) -> String {
    let Some(path) = path else { return name.to_string() };
    let mut joined = String::with_capacity(path.len() + 1 + name.len());
    joined.push_str(path);
    joined.push('.');
    joined.push_str(name);
    joined
}
