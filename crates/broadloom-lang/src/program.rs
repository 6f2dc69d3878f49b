//! Programs: the meaning of a `.loom` file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use broadloom::{AxisName, Graph, KnownNests, LeafKind, Node, Routine, StepId, Tensor};
use broadloom_diagnostics::{Diagnostic, SourceId, Sources, Span};

use crate::front::Words;
use crate::plan::Plan;
use crate::syntax::ast::{File, Names};
use crate::weights::Weights;

/// A web page has no files, and does not carry the code that reads them.
pub(crate) const HAS_FILES: bool = !cfg!(target_family = "wasm");

/// Options for reading a program.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder of the files that the program names.
    pub folder: PathBuf,
    /// Sizes to use in place of those on `dim` lines.
    pub sizes: Vec<(String, u64)>,
    /// The last line to read, to look at a part of a program.
    pub until: Option<u32>,
    /// The file of weights for statements that name none: `load(into = net, names = …)`.
    pub load: Option<PathBuf>,
    /// Texts of files that an editor has not written yet: imports read these instead. Paths are canonical.
    pub unsaved: BTreeMap<PathBuf, String>,
    /// True if every function is applied as after training, as under `inference(…)`.
    pub inference: bool,
    /// True if the body of a function is walked in every application, even if it would do the same again.
    pub walks: bool,
    /// The words of the front for what is said beside a program when it is run.
    pub words: Words,
}

/// A program: its tensors with their shapes, its plan, and its diagnostics.
pub struct Program {
    /// The texts from which it was read.
    pub sources: Sources,
    /// The source of the program itself.
    pub main: SourceId,
    /// The files that it imports, directly or through others.
    pub files: Vec<(SourceId, PathBuf)>,
    /// Its imports and those of its modules: the path as it is written, and the source that it leads to.
    pub imports: Vec<(Span, SourceId)>,
    /// The functions that were checked without an application, and those that a current interface has checked.
    pub definitions: Definitions,
    /// Its tensors.
    pub graph: Graph,
    /// Errors, warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
    /// The actions of a run.
    pub plan: Plan,
    /// The tensors that have names, in order.
    pub made: Vec<NamedTensor>,
    /// The names that declared shapes have for axes.
    pub axis_names: Vec<AxisName>,
    /// The sizes that have names, in order.
    pub dims: Vec<Dim>,
    /// Sizes with a range that were set from outside: the program runs at these.
    pub sizes: Vec<(String, u64)>,
    /// The origin of each step of the graph.
    pub origins: Origins,
    /// The functions that were applied, in the order in which they began.
    pub applications: Vec<Application>,
    /// The specs that the program itself writes.
    pub specs: Vec<Written>,
    /// The tensors that pipes pass on, in the order in which they were made.
    pub piped: Vec<Piped>,
    /// The words of the front that has read it.
    pub words: Words,
    /// Its names.
    pub names: Names,
    /// Its syntax tree, in these names.
    pub file: Arc<File>,
    /// The parameters that begin with weights from files.
    pub(crate) weights: Weights,
    /// The operations at the beginning that are known to have loop nests: from the last check, until the program is rehearsed, and then from that.
    pub(crate) nests: Option<KnownNests>,
    /// The number of evaluation steps: a measure of the time it took to build.
    pub work: u64,
    /// The number of bodies of functions that were walked.
    pub walked: usize,
    /// The number of applications that did again what an earlier one had recorded, without walking the body.
    pub replayed: usize,
}

/// A tensor with a name.
#[derive(Clone, Debug)]
pub struct NamedTensor {
    /// The name, with the path of the functions it was made in.
    pub name: String,
    /// The tensor.
    pub tensor: Tensor,
    /// The span of the name.
    pub span: Span,
    /// The number of functions inside which it was made.
    pub level: usize,
}

/// A tensor that a stage of a pipe has made, `x |> f` in `x |> f |> g`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piped {
    /// The pipe up to this stage.
    pub span: Span,
    /// The tensor before the stage, if it is one.
    pub before: Option<Tensor>,
    /// The tensor behind it.
    pub after: Tensor,
}

/// A size with a name. With a range it is decided when the program runs, as long as nothing in the
/// program depends on its number; without a range, it is a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Dim {
    /// The name.
    pub name: String,
    /// The size that it has, or the default for a run if it has a range.
    pub size: u64,
    /// True if its declaration states a size, also as the default of a range.
    pub stated: bool,
    /// The least and, if there is one, the greatest size it may have.
    pub range: Option<(u64, Option<u64>)>,
    /// True if it appears by its name in shapes.
    pub symbolic: bool,
    /// The place where its number was needed to build the program, if any. The program holds only
    /// for this number then.
    pub needed: Option<Span>,
    /// The span of its declaration.
    pub span: Span,
}

/// The origin of a step of the graph.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Origin {
    /// The place in the program.
    pub span: Span,
    /// The place in the library if the step was made there, and otherwise the same place.
    pub inner: Span,
    /// The innermost function that was being applied, as an index into [`Program::applications`].
    pub application: Option<u32>,
}

/// The origins of the steps of a graph, in order.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Origins(Vec<Origin>);

impl Origins {
    /// The origin of a step. One that was refused has none.
    pub fn get(&self, step: StepId) -> Option<&Origin> {
        self.0.get(step.index())
    }

    /// The number of steps.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are no steps.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All origins, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Origin> {
        self.0.iter()
    }

    /// Gives all steps up to a number of steps the same origin, except those that have one.
    pub(crate) fn extend_to(&mut self, steps: usize, origin: Origin) {
        self.0.resize(steps, origin);
    }

    /// Forgets the steps from a number of steps on.
    pub(crate) fn truncate(&mut self, steps: usize) {
        self.0.truncate(steps);
    }
}

impl FromIterator<Origin> for Origins {
    fn from_iter<I: IntoIterator<Item = Origin>>(origins: I) -> Origins {
        Origins(Vec::from_iter(origins))
    }
}

/// A spec as it was used, with numbers filled in.
#[derive(Clone, PartialEq, Debug)]
pub struct Written {
    /// The parsed spec.
    pub spec: broadloom_spec::Spec,
    /// The text in the program.
    pub span: Span,
    /// True if it is written there literally, so that places in the spec are places in the program.
    pub literal: bool,
}

impl Written {
    /// The place of a part of the spec in the program.
    pub fn place(&self, part: broadloom_spec::Span) -> Span {
        if !self.literal {
            return self.span;
        }
        let start = self.span.start + 1;
        Span { start: start + part.start, end: start + part.end, ..self.span }
    }
}

/// A function that was applied. Everything that its body makes is contiguous in the graph.
#[derive(Clone, PartialEq, Debug)]
pub struct Application {
    /// The name of the function.
    pub function: String,
    /// The path of its parameters: its name with those of
    /// the functions around it, or the name it was given.
    pub path: String,
    /// The span of the application.
    pub span: Span,
    /// The place where the program configured its function, or that of an application around it.
    pub made: Option<Span>,
    /// The application whose body contains this one.
    pub outer: Option<u32>,
    /// True if the function is defined in the library.
    pub library: bool,
    /// The first argument of its configuration that is `inferred`, a size that was not given, and
    /// true if it is the very first argument.
    pub open: Option<(String, bool)>,
}

/// The numbers of functions of modules that were checked with open arguments, and of those that were not, because a current
/// interface says that they have been.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Definitions {
    /// Walked or looked through by this program.
    pub checked: usize,
    /// Left to an interface.
    pub by_interface: usize,
}

/// The functions whose signatures are asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Asked {
    /// Those that the program defines.
    Own,
    /// Those of the standard library.
    Library,
    /// One that is written as in a program: `f`, `attention(8)`, `softmax("... | v")`.
    One(String),
}

impl Program {
    /// Checks the sizes that were set from outside, and returns an error if one does not fit. The
    /// graph stays open, so that it can be compiled for all sizes.
    pub fn check_sizes(&mut self) -> Option<Diagnostic> {
        if self.sizes.is_empty() {
            return None;
        }
        let (open, dims) = (self.graph.clone(), self.dims.clone());
        let (steps, before) = (self.origins.len(), self.diagnostics.len());
        self.settle();
        (self.graph, self.dims) = (open, dims);
        self.origins.truncate(steps);
        self.diagnostics.drain(before..).next()
    }

    /// Updates the sizes with a range: each is still symbolic, or has become a number.
    pub(crate) fn look_at_dims(&mut self) {
        for dim in self.dims.iter_mut().filter(|dim| dim.range.is_some()) {
            let size = self.graph.captured_dim(&dim.name).ok().and_then(|named| self.graph.size(named));
            dim.symbolic = size.is_none();
            dim.size = size.unwrap_or(dim.size);
        }
    }

    /// Returns true if there are no errors.
    pub fn is_ok(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Finds the tensor with a name: the last one if there are several.
    pub fn find(&self, name: &str) -> Option<Tensor> {
        self.made.iter().rev().find(|made| made.name == name).map(|made| made.tensor)
    }

    /// The routines that it computes: those of its plan. A program that does nothing computes its
    /// results, the tensors that nothing reads.
    pub fn routines(&self) -> Vec<Routine> {
        if !self.plan.routines.is_empty() {
            return self.plan.routines.clone();
        }
        let mut forward = Routine::new("forward");
        let results = self.results();
        for result in &results {
            forward.forward(*result);
        }
        if results.is_empty() { Vec::new() } else { vec![forward] }
    }

    /// The computation without learning: a routine that computes the
    /// named tensors and those that nothing reads. The second result has
    /// the tensors that were left out because they depend on gradients.
    ///
    /// ```
    /// use broadloom_lang::{Options, compile};
    /// let program = compile("a.loom", "data x : 3\nlet y = {w} @ x + {b : 2}\nprint sum(y)\n", &Options::default());
    /// let (forward, left_out) = program.forward();
    /// // `y`, and the sum.
    /// assert_eq!((forward.len(), left_out.len()), (2, 0));
    /// ```
    pub fn forward(&self) -> (Routine, Vec<Tensor>) {
        let mut wanted = vec![false; self.graph.len()];
        let named = self.made.iter().filter(|made| made.level == 0).map(|made| made.tensor);
        named.chain(self.results()).for_each(|tensor| wanted[tensor.index()] = true);
        let mut learns = vec![false; self.graph.len()];
        let (mut forward, mut left_out) = (Routine::new("forward"), Vec::new());
        for tensor in self.graph.tensors() {
            let is_made = match self.graph.node(tensor) {
                Some(Node::Operation { operands, .. }) => {
                    learns[tensor.index()] = operands.iter().any(|operand| learns[operand.index()]);
                    wanted[tensor.index()]
                }
                Some(Node::Leaf { kind: LeafKind::Gradient(_) }) => {
                    learns[tensor.index()] = true;
                    false
                }
                _ => false,
            };
            match (is_made, learns[tensor.index()]) {
                (true, false) => {
                    forward.forward(tensor);
                }
                (true, true) => left_out.push(tensor),
                (false, _) => {}
            }
        }
        (forward, left_out)
    }

    /// The tensors that operations make and nothing reads, except those of single turns of a scan.
    pub fn results(&self) -> Vec<Tensor> {
        let counts = self.graph.use_counts();
        let made = |tensor: Tensor| matches!(self.graph.node(tensor), Some(Node::Operation { .. }));
        let is_result =
            |tensor: &Tensor| counts[tensor.index()] == 0 && made(*tensor) && !self.graph.is_of_turn(*tensor);
        self.graph.tensors().filter(is_result).collect()
    }

    /// The source that an import leads to, by the place of its path.
    pub fn imported(&self, path: Span) -> Option<SourceId> {
        self.imports.iter().find(|(place, _)| *place == path).map(|(_, source)| *source)
    }

    /// The file that a source was imported from.
    pub fn file(&self, source: SourceId) -> Option<&Path> {
        self.files.iter().find(|(known, _)| *known == source).map(|(_, file)| file.as_path())
    }

    /// The origin of a step of the graph.
    pub fn origin(&self, step: StepId) -> Option<Origin> {
        self.origins.get(step).copied()
    }
}
