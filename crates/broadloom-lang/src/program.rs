//! Programs: what a `.loom` file means.

use std::path::PathBuf;

use broadloom::{ErrorKind, Graph, LeafKind, Node, Routine, Tensor};
use broadloom_diagnostics::{Diagnostic, SourceId, Sources, Span};

use crate::eval::{Applied, Eval, diagnosed, left_out};
use crate::plan::Plan;
use crate::signature::Signature;
use crate::syntax::ast::Names;

/// How a program is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where files are looked for that the program names.
    pub folder: PathBuf,
    /// Sizes to be used in place of those that `dim` lines say.
    pub sizes: Vec<(String, u64)>,
    /// The last line to be read, to look at a part of a program.
    pub until: Option<u32>,
}

/// A program: its tensors with their shapes, what it does when it runs, and what is wrong with it.
pub struct Program {
    /// The texts it was read from.
    pub sources: Sources,
    /// Which of them is the program itself.
    pub main: SourceId,
    /// Its tensors.
    pub graph: Graph,
    /// What is wrong, and what is worth knowing.
    pub diagnostics: Vec<Diagnostic>,
    /// What it does.
    pub plan: Plan,
    /// The tensors that have names, in order.
    pub made: Vec<Made>,
    /// The sizes that have names, in order.
    pub dims: Vec<Dim>,
    /// Sizes with a range that were set from outside: the program runs at these.
    pub sizes: Vec<(String, u64)>,
    /// Where each step of the graph comes from.
    pub origins: Vec<Origin>,
    /// The functions that were applied, in the order in which they began.
    pub applications: Vec<Application>,
    /// The specs that it writes itself.
    pub specs: Vec<Written>,
    /// Its names.
    pub names: Names,
    /// How many steps it took to build: a measure of the time it took.
    pub work: u64,
}

/// A tensor with a name.
#[derive(Clone, Debug)]
pub struct Made {
    /// The name, with the path of the functions it was made in.
    pub name: String,
    /// The tensor.
    pub tensor: Tensor,
    /// Where it is named.
    pub span: Span,
    /// Inside of how many functions it was made.
    pub level: usize,
}

/// A size with a name. With a range it is decided when the program runs, as long as nothing in the program depends on its
/// number; without, it is a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Dim {
    /// The name.
    pub name: String,
    /// The size that it has, or that it has if nothing else is said when the program runs.
    pub size: u64,
    /// The least and, if there is one, the greatest size it may have.
    pub range: Option<(u64, Option<u64>)>,
    /// Whether it stands by its name in shapes.
    pub symbolic: bool,
    /// Where its number was needed to build the program, which is made for this number then.
    pub needed: Option<Span>,
    /// Where it is declared.
    pub span: Span,
}

/// Where a step of the graph comes from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Origin {
    /// The place in the program.
    pub span: Span,
    /// The place in the library, if it is there.
    pub inner: Span,
    /// The innermost function that was being applied: its place among [`Program::applications`].
    pub application: Option<u32>,
}

/// A spec as it was used, with numbers filled in.
#[derive(Clone, PartialEq, Debug)]
pub struct Written {
    /// What it says.
    pub spec: broadloom_spec::Spec,
    /// The text in the program.
    pub span: Span,
    /// Whether it is written there as it is, so that places in the spec are places in the program.
    pub literal: bool,
}

impl Written {
    /// The place in the program of a part of the spec.
    pub fn place(&self, part: broadloom_spec::Span) -> Span {
        if !self.literal {
            return self.span;
        }
        let start = self.span.start + 1;
        Span { start: start + part.start, end: start + part.end, ..self.span }
    }
}

/// A function that was applied. Everything its body made comes between what was there before and what came after.
#[derive(Clone, PartialEq, Debug)]
pub struct Application {
    /// The name of the function.
    pub function: String,
    /// What its parameters are called, or would be: its name with the functions around it, or the name it was given.
    pub path: String,
    /// Where it was applied.
    pub span: Span,
    /// The application whose body it is in.
    pub outer: Option<u32>,
    /// Whether the function is one of the library.
    pub library: bool,
    /// The first argument of its configuration that is `inferred`, a size that it was not given, and whether it is the first
    /// of all.
    pub open: Option<(String, bool)>,
}

/// Reads a program: parses it, evaluates it, and infers its shapes. It never fails; what is wrong is in
/// [`Program::diagnostics`].
///
/// ```
/// use broadloom_lang::{Options, compile};
/// let text = "
/// data x : 32 | 784
/// let y = relu({w} @ x + {b : 64})
/// ";
/// let mut program = compile("layer.loom", text, &Options::default());
/// assert!(program.is_ok());
/// let w = program.find("w").unwrap();
/// assert_eq!(program.graph.final_shape(w)?.to_string(), "784 -> 64");
/// # Ok::<(), broadloom::Error>(())
/// ```
pub fn compile(name: &str, text: &str, options: &Options) -> Program {
    let mut eval = Eval::new(options);
    eval.program(name, text);
    if options.until.is_none() && eval.diagnostics.iter().all(|diagnostic| !diagnostic.is_error()) {
        eval.unassigned_states();
    }
    let main = eval.main();
    let plan = Plan { actions: eval.finish_plan(), ..std::mem::take(&mut eval.plan) };
    let applications = std::mem::take(&mut eval.applied).iter().map(Applied::shown).collect();
    let mut program = Program {
        sources: eval.sources,
        main,
        graph: eval.graph,
        diagnostics: eval.diagnostics,
        plan,
        made: eval.made,
        dims: eval.dims,
        sizes: eval.asked,
        origins: eval.origins,
        applications,
        specs: eval.specs,
        names: eval.names,
        work: eval.work,
    };
    if options.until.is_none() {
        program.close();
        program.rehearse();
    }
    program.look_at_dims();
    // In the order of the text, whoever found them.
    program
        .diagnostics
        .sort_by_key(|diagnostic| diagnostic.primary().map(|label| (label.span.source, label.span.start)));
    program
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

/// Signatures of functions, and the program they belong to.
pub struct Signatures {
    /// The texts that they were read from.
    pub sources: Sources,
    /// What is wrong with the program, and with what was asked for.
    pub diagnostics: Vec<Diagnostic>,
    /// The signatures, in the order of the text.
    pub list: Vec<Signature>,
}

/// The signatures of functions: each is inferred once, with open arguments. What is wrong with the bodies of functions, and
/// with their names, is in the diagnostics; shapes of the program itself are not looked at.
pub fn signatures(name: &str, text: &str, options: &Options, asked: &Asked) -> Signatures {
    let mut eval = Eval::new(options);
    eval.program(name, text);
    let list = eval.signatures(asked);
    Signatures { sources: eval.sources, diagnostics: eval.diagnostics, list }
}

impl Program {
    /// Gives the sizes that were set from outside their numbers, in the graph: for those who want to see them in shapes. One
    /// that does not fit is reported.
    pub fn settle(&mut self) {
        // A program with mistakes has said what is wrong with it.
        for (name, size) in if self.is_ok() { self.sizes.clone() } else { Vec::new() } {
            let known = self.graph.captured_dim(&name).ok().and_then(|named| self.graph.size(named));
            let left = self.graph.dim_range(&name);
            let made = self.graph.set_sizes(&[(&name, size)]);
            let declared = self.dims.iter().rev().find(|dim| dim.name == name).map(|dim| dim.span);
            let span = declared.unwrap_or(Span::empty(self.main, 0));
            self.origins.resize(self.graph.steps(), Origin { span, inner: span, application: None });
            if let Err(error) = made {
                let mut wrong = diagnosed(&error, span, &self.origins);
                if let Some(known) = known {
                    wrong.message = format!("`{name}` is set to {size}, but this program makes it {known}");
                    wrong.notes.clear();
                    wrong = wrong.with_help(format!("leave it open, or set it to {known}"));
                } else if let Some(left) = left.filter(|_| error.kind() == ErrorKind::Range) {
                    wrong = left_out(wrong, &name, size, left);
                }
                self.diagnostics.push(wrong);
            }
        }
        self.look_at_dims();
    }

    /// What is wrong with the sizes that were set from outside, if anything is; the graph stays open, so that it can be
    /// compiled for all sizes.
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

    /// Reads what has become of sizes with a range: a name, or the number that it has met.
    fn look_at_dims(&mut self) {
        for dim in self.dims.iter_mut().filter(|dim| dim.range.is_some()) {
            let size = self.graph.captured_dim(&dim.name).ok().and_then(|named| self.graph.size(named));
            dim.symbolic = size.is_none();
            dim.size = size.unwrap_or(dim.size);
        }
    }

    /// Whether nothing is wrong.
    pub fn is_ok(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// The tensor with a name; the last one, if there are several.
    pub fn find(&self, name: &str) -> Option<Tensor> {
        self.made.iter().rev().find(|made| made.name == name).map(|made| made.tensor)
    }

    /// What it computes: the routines of its plan. A program that does nothing computes its results, the tensors that
    /// nothing reads.
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

    /// What it computes apart from learning: a routine that makes the tensors that it names and those that nothing reads. What
    /// depends on gradients is no part of it; that comes second.
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

    /// The tensors that operations make and nothing reads.
    pub fn results(&self) -> Vec<Tensor> {
        let counts = self.graph.use_counts();
        let made = |tensor: &Tensor| matches!(self.graph.node(*tensor), Some(Node::Operation { .. }));
        self.graph.tensors().filter(|tensor| counts[tensor.index()] == 0 && made(tensor)).collect()
    }

    /// Where a tensor was made.
    pub fn origin(&self, step: usize) -> Option<Origin> {
        self.origins.get(step).copied()
    }
}
