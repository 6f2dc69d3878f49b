//! The interface of a graph that lowering reads: its steps, what they compute, and what is known of
//! leaves. Nothing here changes a graph.
//!
//! [`Face`] is a trait so that users of a graph, who build it and ask for shapes, do not meet it.

use std::sync::Arc;

use broadloom_array::Array;
use broadloom_loops::MatrixFunction;

pub use crate::facts::{Carried, Lookup, Scan, Sorting};
use crate::step::Step;
pub use crate::symbols::table::SymbolData;
use crate::{Error, Graph, Initial, MessageLine, Operation, Projected, Shapes, Tensor};

pub use crate::formula::{Assignment, Formula};
pub use crate::inferred::Inferred;
pub use crate::operation::Law;
pub use crate::operation::slot::Slot;
pub use crate::precision::{accumulated, precisions};
pub use crate::project::MEMORY;
pub use crate::size::{list, range_text};
pub use crate::step::{Leaf, Op};
pub use crate::symbols::{contains, out_of_range};

/// The methods through which lowering reads a graph.
pub trait Face {
    /// The kind of leaf that a tensor is, if no operation makes it.
    fn leaf(&self, tensor: Tensor) -> Option<Leaf>;
    /// Returns true if no operation makes a tensor.
    fn is_leaf(&self, tensor: Tensor) -> bool;
    /// The step that made a tensor.
    fn made_by(&self, tensor: Tensor) -> u32;
    /// The operation of a step, if it is one, and the number of its operands.
    fn op(&self, step: u32) -> Option<(Op, usize)>;
    /// The operands of a step.
    fn step_operands(&self, step: u32) -> &[Tensor];
    /// The results of a step.
    fn step_results(&self, step: u32) -> impl Iterator<Item = Tensor> + use<Self>;
    /// The first result of a step that is an operation or an assignment.
    fn first_result(&self, step: u32) -> Tensor;
    /// The tensors that a tensor is computed from: the operands of its step, or what a scan reads from outside.
    fn read_by(&self, tensor: Tensor) -> &[Tensor];
    /// The scan that a step belongs to.
    fn scan_of(&self, step: u32) -> Option<&Arc<Scan>>;
    /// The law of a step, if it differs from the law of its operation.
    fn law(&self, step: u32) -> Option<&Arc<Operation>>;
    /// The axis that a step looks up, if it looks something up.
    fn lookup(&self, step: u32) -> Option<Lookup>;
    /// The function of matrices that a step computes.
    fn matrix_function(&self, step: u32) -> Option<MatrixFunction>;
    /// The order of a step that sorts.
    fn sorting(&self, step: u32) -> Option<Sorting>;
    /// The text of an assignment, as it was written.
    fn assignment_text(&self, step: u32) -> Option<&str>;
    /// The loop nest of each step at some shapes; `None` for a step that is no operation.
    fn projections_at(&self, shapes: &Shapes) -> Vec<Option<Result<Projected, Error>>>;
    /// The steps that have a shape but no loop nest at some shapes, with the reasons.
    fn refused_at(&self, shapes: &Shapes) -> Vec<(u32, Error)>;
    /// The tensors whose gradients were asked for.
    fn with_gradients(&self) -> Vec<Tensor>;
    /// The leaf that stands for the gradient of a tensor, if it was asked for.
    fn gradient_leaf(&self, tensor: Tensor) -> Option<Tensor>;
    /// The initial values of a parameter or a state, if they were given.
    fn initial(&self, tensor: Tensor) -> Option<&Initial>;
    /// The values of data that brings its own.
    fn array(&self, tensor: Tensor) -> Option<&Arc<Array>>;
    /// The name of a tensor, or one made from its index if it has none.
    fn short_name(&self, tensor: Tensor) -> String;
    /// The words that messages use for a step.
    fn subject(&self, step: u32) -> String;
    /// A text about a tensor, as one end of an error.
    fn about_tensor(&self, tensor: Tensor, text: String) -> MessageLine;
    /// A leaf and how it is declared, as one end of an error.
    fn declared_end(&self, tensor: Tensor) -> MessageLine;
    /// Refuses tensors of other graphs.
    fn known(&self, tensor: Tensor) -> Result<(), Error>;
    /// Refuses tensors whose values cannot come from outside.
    fn settable(&self, tensor: Tensor) -> Result<(), Error>;
    /// The named sizes, in the order of their declaration.
    fn symbols(&self) -> &[SymbolData];
    /// The number of the named size with a name.
    fn symbol_at(&self, name: &str) -> Option<usize>;
    /// The number that a named size has, if the program decides it.
    fn symbol_number(&self, at: usize) -> Option<u64>;
    /// The range of a named size, as far as the program narrows it.
    fn symbol_range(&self, at: usize) -> (u64, Option<u64>);
    /// The error for a name that no size has.
    fn no_such_size(&self, name: &str) -> Error;
    /// Maps each named size to its representative, once the program is closed.
    fn same_sizes(&mut self) -> Result<Arc<[usize]>, Error>;
    /// A number for each named size. The program has a meaning at these numbers, if a short search
    /// finds any such numbers.
    fn some_sizes(&mut self) -> Result<Vec<u64>, Error>;
}

impl Face for Graph {
    fn leaf(&self, tensor: Tensor) -> Option<Leaf> {
        self.leaf(tensor)
    }

    fn is_leaf(&self, tensor: Tensor) -> bool {
        self.leaf(tensor).is_some()
    }

    fn made_by(&self, tensor: Tensor) -> u32 {
        self.tensors[tensor.index()].step
    }

    fn op(&self, step: u32) -> Option<(Op, usize)> {
        match self.steps.get(step as usize)? {
            Step::Op { op, arity, .. } => Some((*op, usize::from(*arity))),
            _ => None,
        }
    }

    fn step_operands(&self, step: u32) -> &[Tensor] {
        self.step_operands(step)
    }

    fn step_results(&self, step: u32) -> impl Iterator<Item = Tensor> + use<> {
        self.step_results(step)
    }

    fn first_result(&self, step: u32) -> Tensor {
        self.step_results(step).next().unwrap_or(Tensor(0))
    }

    fn read_by(&self, tensor: Tensor) -> &[Tensor] {
        let step = self.made_by(tensor);
        match self.scan_of(step) {
            Some(scan) => &scan.outer,
            None => self.step_operands(step),
        }
    }

    fn scan_of(&self, step: u32) -> Option<&Arc<Scan>> {
        self.scan_of(step)
    }

    fn law(&self, step: u32) -> Option<&Arc<Operation>> {
        self.laws.get(&step)
    }

    fn lookup(&self, step: u32) -> Option<Lookup> {
        self.facts.lookups.get(&step).copied()
    }

    fn matrix_function(&self, step: u32) -> Option<MatrixFunction> {
        // A page has none, so that it need not have what lowers them.
        if cfg!(target_arch = "wasm32") { None } else { self.facts.matrices.get(&step).copied() }
    }

    fn sorting(&self, step: u32) -> Option<Sorting> {
        self.facts.sorts.get(&step).copied()
    }

    fn assignment_text(&self, step: u32) -> Option<&str> {
        self.facts.texts.get(&step).map(|text| &**text)
    }

    fn projections_at(&self, shapes: &Shapes) -> Vec<Option<Result<Projected, Error>>> {
        self.projections_at(shapes)
    }

    fn refused_at(&self, shapes: &Shapes) -> Vec<(u32, Error)> {
        self.refused_at(shapes)
    }

    fn with_gradients(&self) -> Vec<Tensor> {
        self.facts.gradients.keys().copied().collect()
    }

    fn gradient_leaf(&self, tensor: Tensor) -> Option<Tensor> {
        self.facts.gradients.get(&tensor).copied()
    }

    fn initial(&self, tensor: Tensor) -> Option<&Initial> {
        self.facts.initials.get(&tensor)
    }

    fn array(&self, tensor: Tensor) -> Option<&Arc<Array>> {
        self.facts.arrays.get(&tensor)
    }

    fn short_name(&self, tensor: Tensor) -> String {
        self.name_of(tensor).map_or_else(|| format!("tmp{}", tensor.index()), str::to_string)
    }

    fn subject(&self, step: u32) -> String {
        self.subject(step)
    }

    fn about_tensor(&self, tensor: Tensor, text: String) -> MessageLine {
        self.about_tensor(tensor, text)
    }

    fn declared_end(&self, tensor: Tensor) -> MessageLine {
        self.declared_end(tensor)
    }

    fn known(&self, tensor: Tensor) -> Result<(), Error> {
        self.known(tensor)
    }

    fn settable(&self, tensor: Tensor) -> Result<(), Error> {
        self.settable(tensor)
    }

    fn symbols(&self) -> &[SymbolData] {
        &self.symbols
    }

    fn symbol_at(&self, name: &str) -> Option<usize> {
        self.symbol_at(name)
    }

    fn symbol_number(&self, at: usize) -> Option<u64> {
        self.symbol_number(at)
    }

    fn symbol_range(&self, at: usize) -> (u64, Option<u64>) {
        self.symbol_range(at)
    }

    fn no_such_size(&self, name: &str) -> Error {
        self.no_such_size(name)
    }

    fn same_sizes(&mut self) -> Result<Arc<[usize]>, Error> {
        self.same_sizes()
    }

    fn some_sizes(&mut self) -> Result<Vec<u64>, Error> {
        self.some_sizes()
    }
}
