//! The interface of a graph that lowering reads: its steps, what they compute, and what is known of
//! leaves. Nothing here changes a graph.
//!
//! [`Face`] is a trait so that users of a graph, who build it and ask for shapes, do not meet it.

use std::sync::Arc;

use broadloom_array::Array;
use rustc_hash::FxHashMap;

pub use crate::facts::{Carried, Lookup, Scan, Sorting, Special};
use crate::step::{Beginning, Step, StepId};
use crate::symbols::read;
pub use crate::symbols::table::SymbolData;
use crate::{
    Error, Graph, Initial, MessageLine, Operation, Projected, Shapes, Tensor, fit, message, names, project,
    scan, symbols,
};

pub use crate::formula::{Assignment, Formula};
pub use crate::inferred::Inferred;
pub use crate::operation::Law;
pub use crate::operation::slot::Slot;
pub use crate::precision::{accumulated, precisions};
pub use crate::project::MEMORY;
pub use crate::size::{list, range_text};
pub use crate::step::{Leaf, Op};
pub use crate::symbols::read::{contains, out_of_range};

/// A named size, as far as the program decides it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SymbolNow {
    /// Its number, if the program decides it.
    pub number: Option<u64>,
    /// Its least and its greatest number.
    pub range: (u64, Option<u64>),
}

/// Numbers for the named sizes of a program.
pub struct SomeSizes {
    /// A number for each. The program has a meaning at these numbers, if a short search finds any such numbers.
    pub numbers: Vec<u64>,
    /// The representative of each: dynamic ones take other names.
    pub same: Arc<[usize]>,
}

/// Numbers for the named sizes of a program, which is closed for it.
pub fn some_sizes(graph: &mut Graph) -> Result<SomeSizes, Error> {
    Ok(SomeSizes { numbers: symbols::some_sizes(graph)?, same: symbols::same_sizes(graph)? })
}

/// The methods through which lowering reads a graph.
pub trait Face {
    /// The kind of leaf that a tensor is, if no operation makes it.
    fn leaf(&self, tensor: Tensor) -> Option<Leaf>;
    /// The step that made a tensor.
    fn made_by(&self, tensor: Tensor) -> StepId;
    /// The operation of a step, if it is one, and the number of its operands.
    fn op(&self, step: StepId) -> Option<(Op, usize)>;
    /// The operands of a step.
    fn step_operands(&self, step: StepId) -> &[Tensor];
    /// The results of a step.
    fn step_results(&self, step: StepId) -> impl Iterator<Item = Tensor> + use<Self>;
    /// The first result of a step that is an operation or an assignment.
    fn first_result(&self, step: StepId) -> Tensor;
    /// The tensors that a tensor is computed from: the operands of its step, or what a scan reads from outside.
    fn read_by(&self, tensor: Tensor) -> &[Tensor];
    /// The innermost scan that a step belongs to.
    fn scan_of(&self, step: StepId) -> Option<&Arc<Scan>>;
    /// The scan directly inside of another one, or inside of none, that a step belongs to.
    fn scan_within(&self, step: StepId, around: Option<&Scan>) -> Option<&Arc<Scan>>;
    /// The law of a step, if it differs from the law of its operation.
    fn law(&self, step: StepId) -> Option<&Arc<Operation>>;
    /// The work of a step beyond its spec: a lookup, an order, or a function of matrices.
    fn special(&self, step: StepId) -> Option<Special>;
    /// The text of an assignment, as it was written.
    fn assignment_text(&self, step: StepId) -> Option<&str>;
    /// The loop nest of each step at some shapes; `None` for a step that is no operation.
    fn projections_at(&self, shapes: &Shapes) -> Vec<Option<Result<Projected, Error>>>;
    /// The steps that have a shape but no loop nest at some shapes, with the reasons. Those of a beginning are known to have one.
    fn refused_at(&self, shapes: &Shapes, known: Beginning) -> Vec<(StepId, Error)>;
    /// The gradients that were asked for: each tensor with the leaf that stands for its gradient.
    fn gradients(&self) -> &FxHashMap<Tensor, Tensor>;
    /// The initial values of a parameter or a state, if they were given.
    fn initial(&self, tensor: Tensor) -> Option<&Initial>;
    /// The values of data that brings its own.
    fn array(&self, tensor: Tensor) -> Option<&Arc<Array>>;
    /// The name of a tensor, or one made from its index if it has none.
    fn short_name(&self, tensor: Tensor) -> String;
    /// The text of a step as a program would write it, without quotes.
    fn step_text(&self, step: StepId) -> String;
    /// A leaf and how it is declared, as one end of an error.
    fn declared_end(&self, tensor: Tensor) -> MessageLine;
    /// Refuses tensors of other graphs.
    fn known(&self, tensor: Tensor) -> Result<(), Error>;
    /// Refuses tensors whose values cannot come from outside.
    fn settable(&self, tensor: Tensor) -> Result<(), Error>;
    /// The named sizes, in the order of their declaration.
    fn symbols(&self) -> &[SymbolData];
    /// The number of the named size with a name, or the error for a name that no size has.
    fn symbol_at(&self, name: &str) -> Result<usize, Error>;
    /// The number and the range of a named size, as far as the program decides them.
    fn symbol_now(&self, at: usize) -> SymbolNow;
}

impl Face for Graph {
    fn leaf(&self, tensor: Tensor) -> Option<Leaf> {
        self.leaf(tensor)
    }

    fn made_by(&self, tensor: Tensor) -> StepId {
        self.tensors[tensor.index()].step
    }

    fn op(&self, step: StepId) -> Option<(Op, usize)> {
        match self.steps.get(step.index())? {
            Step::Op { op, arity, .. } => Some((*op, usize::from(*arity))),
            _ => None,
        }
    }

    fn step_operands(&self, step: StepId) -> &[Tensor] {
        names::step_operands(self, step)
    }

    fn step_results(&self, step: StepId) -> impl Iterator<Item = Tensor> + use<> {
        names::step_results(self, step)
    }

    fn first_result(&self, step: StepId) -> Tensor {
        names::step_results(self, step).next().unwrap_or(Tensor(0))
    }

    fn read_by(&self, tensor: Tensor) -> &[Tensor] {
        let step = self.made_by(tensor);
        match self.facts.scans.within(step, None) {
            Some(scan) => &scan.outer,
            None => names::step_operands(self, step),
        }
    }

    fn scan_of(&self, step: StepId) -> Option<&Arc<Scan>> {
        scan::scan_of(self, step)
    }

    fn scan_within(&self, step: StepId, around: Option<&Scan>) -> Option<&Arc<Scan>> {
        self.facts.scans.within(step, around)
    }

    fn law(&self, step: StepId) -> Option<&Arc<Operation>> {
        self.laws.get(&step)
    }

    fn special(&self, step: StepId) -> Option<Special> {
        // A page has no functions of matrices, so that it need not have what lowers them.
        let has = |special: &&Special| !cfg!(target_arch = "wasm32") || special.matrix().is_none();
        self.facts.special.get(&step).filter(has).copied()
    }

    fn assignment_text(&self, step: StepId) -> Option<&str> {
        self.facts.texts.get(&step).map(|text| &**text)
    }

    fn projections_at(&self, shapes: &Shapes) -> Vec<Option<Result<Projected, Error>>> {
        project::projections_at(self, shapes)
    }

    fn refused_at(&self, shapes: &Shapes, known: Beginning) -> Vec<(StepId, Error)> {
        project::refused_at(self, shapes, known)
    }

    fn gradients(&self) -> &FxHashMap<Tensor, Tensor> {
        &self.facts.gradients
    }

    fn initial(&self, tensor: Tensor) -> Option<&Initial> {
        self.facts.initials.get(&tensor)
    }

    fn array(&self, tensor: Tensor) -> Option<&Arc<Array>> {
        self.facts.arrays.get(&tensor)
    }

    fn short_name(&self, tensor: Tensor) -> String {
        names::name_of(self, tensor).map_or_else(|| format!("tmp{}", tensor.index()), str::to_string)
    }

    fn step_text(&self, step: StepId) -> String {
        names::plain_subject(self, step)
    }

    fn declared_end(&self, tensor: Tensor) -> MessageLine {
        message::declared_end(self, tensor)
    }

    fn known(&self, tensor: Tensor) -> Result<(), Error> {
        self.known(tensor)
    }

    fn settable(&self, tensor: Tensor) -> Result<(), Error> {
        fit::settable(self, tensor)
    }

    fn symbols(&self) -> &[SymbolData] {
        &self.symbols
    }

    fn symbol_at(&self, name: &str) -> Result<usize, Error> {
        read::symbol_at(self, name).ok_or_else(|| read::no_such_size(self, name))
    }

    fn symbol_now(&self, at: usize) -> SymbolNow {
        SymbolNow { number: read::symbol_number(self, at), range: read::symbol_range(self, at) }
    }
}
