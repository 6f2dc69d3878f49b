//! The identities of operations. Code that decides something compares these; names are for people, and one name may belong to
//! several operations: `max` is the greater of two elements, and the greatest along an axis.

use std::fmt;

use broadloom_loops::MatrixFunction;

use super::table::Pointwise;

/// Declares the identities of the operations of the library that are no rows of another table, with their names.
macro_rules! operation_ids {
    ($($(#[doc = $doc:literal])* $id:ident $name:literal;)*) => {
        /// The identity of an operation of a graph.
        ///
        /// ```
        /// use broadloom::{Graph, Node, OperationId, Pointwise};
        /// let mut g = Graph::new();
        /// let (a, b) = (g.data("a", "3")?, g.data("b", "3")?);
        /// let sum = g.add(a, b)?;
        /// let Some(Node::Operation { id, .. }) = g.node(sum) else { unreachable!() };
        /// assert_eq!((id, id.name()), (OperationId::Pointwise(Pointwise::Add), "+"));
        /// # Ok::<(), broadloom::Error>(())
        /// ```
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum OperationId {
            /// A pointwise operation of the library.
            Pointwise(Pointwise),
            /// A function of matrices.
            Matrix(MatrixFunction),
            /// An operation that a program or a layer defines, by the name that it has there. It is never one of the library,
            /// whatever it is called.
            Own(&'static str),
            $($(#[doc = $doc])* $id,)*
        }

        impl OperationId {
            /// Its name or sign, for people.
            pub fn name(self) -> &'static str {
                match self {
                    OperationId::Pointwise(operation) => operation.name(),
                    OperationId::Matrix(function) => function.written(),
                    OperationId::Own(name) => name,
                    $(OperationId::$id => $name,)*
                }
            }
        }
    };
}

operation_ids! {
    /// The input of a map is contracted with the output of what it is applied to.
    Compose "@";
    /// A composition and a sum with a third operand.
    ComposeAccumulate "@ +";
    /// Inputs and outputs change places.
    Transpose "transpose";
    /// A part of a tensor at a place of its first axis.
    Slice "slice";
    /// The values of all turns of a scan.
    Collect "collect";
    /// The same elements in memory order under another shape.
    Convert "convert";
    /// A value that one turn of a scan leaves for the next.
    Carry "scan";
    /// An assignment.
    Assign "assign";
    /// An operation by a spec of the program.
    Einsum "einsum";
    /// A spec with several results, which are parts of axes.
    Split "split";
    /// Sums along axes.
    Sum "sum";
    /// Products along axes.
    Product "product";
    /// The greatest along axes.
    Greatest "max";
    /// The least along axes.
    Least "min";
    /// Means along axes; the sum that is divided has this identity, too.
    Mean "mean";
    /// The first place of the greatest along an axis.
    Argmax "argmax";
    /// The first place of the least along an axis.
    Argmin "argmin";
    /// The positions of elements in their order.
    Argsort "argsort";
    /// Tensors one after another along an axis.
    Concat "concat";
    /// Tensors one after another along a new axis.
    Stack "stack";
    /// Columns of a table, looked up by integers.
    Gather "gather";
    /// Elements along the first batch axis, looked up by integers.
    Elements "elements";
    /// Elements along an axis, looked up by integers.
    Take "take";
    /// Elements along an axis, looked up by integers of their own in each row.
    TakeAlong "take_along";
    /// Elements put at integers along a new axis.
    Scatter "scatter";
}

impl OperationId {
    /// Returns true for a composition, with or without a sum.
    pub fn is_composition(self) -> bool {
        matches!(self, OperationId::Compose | OperationId::ComposeAccumulate)
    }

    /// Returns true if it puts its operands together: its spec is not written in the program.
    pub(crate) fn is_joined(self) -> bool {
        matches!(self, OperationId::Concat | OperationId::Stack)
    }

    /// Returns true if its name is a sign between two operands.
    pub fn is_sign(self) -> bool {
        !self.name().starts_with(|letter: char| letter.is_alphanumeric() || letter == '_')
    }
}

impl From<Pointwise> for OperationId {
    fn from(operation: Pointwise) -> OperationId {
        OperationId::Pointwise(operation)
    }
}

/// A pointwise operation by its name, which is read here once: one of the library, or else one that has no definition yet.
impl From<&'static str> for OperationId {
    fn from(name: &'static str) -> OperationId {
        Pointwise::named(name).map_or(OperationId::Own(name), OperationId::Pointwise)
    }
}

// References to names convert too, because callers with a list of names have these.
impl From<&&'static str> for OperationId {
    fn from(name: &&'static str) -> OperationId {
        OperationId::from(*name)
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
