//! Expressions: programs written with operators.
//!
//! A [`Builder`] holds a graph behind shared references, so that its [`Expr`] handles can be
//! copied, added and multiplied like numbers. The first mistake is kept, with the line that made
//! it, and [`Builder::finish`] returns it. Expressions that depend on it are skipped.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, RangeBounds, Sub};
use std::panic::Location;

use broadloom_array::Array;
use broadloom_graph::Initial;
use broadloom_graph::Operation;
use broadloom_graph::Pointwise;
use broadloom_graph::Tensor;
use broadloom_graph::{Accumulate, SliceIndex, SpecOptions};
use broadloom_graph::{DeclaredShape, Notation};
use broadloom_graph::{Error, ErrorKind};

use crate::{Dtype, Graph};

/// A graph under construction by expressions.
///
/// ```
/// use broadloom::Builder;
/// let b = Builder::new();
/// let x = b.data("x", "32 | 784");
/// let hidden = (b.param("w1").compose(x) + b.param_shaped("b1", "64")).relu();
/// let logits = b.param("w2").compose(hidden) + b.param_shaped("b2", "10");
/// let loss = logits.square().sum("... | ... => 0") / 32.0;
/// let loss = loss.tensor();
/// let mut graph = b.finish()?;
/// assert_eq!(graph.final_shape(loss)?.elements(), 1);
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Default)]
pub struct Builder {
    graph: RefCell<Graph>,
    error: RefCell<Option<Error>>,
    /// The names of the scopes that are open.
    scopes: RefCell<Vec<String>>,
}

/// A tensor of a [`Builder`]: a handle that can be copied and used in computations.
#[derive(Clone, Copy)]
pub struct Expr<'b> {
    builder: &'b Builder,
    /// None if it is computed from a mistake.
    tensor: Option<Tensor>,
}

/// An open scope.
pub(crate) struct Scope<'b>(&'b Builder);

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        self.0.scopes.borrow_mut().pop();
    }
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").field("graph", &self.graph).field("error", &self.error).finish()
    }
}

impl std::fmt::Debug for Expr<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.tensor {
            Some(tensor) => match self.builder.graph.try_borrow() {
                Ok(graph) => f.write_str(&graph.label_of(tensor)),
                Err(_) => f.write_str("(in use)"),
            },
            None => f.write_str("(mistaken)"),
        }
    }
}

impl Builder {
    /// A builder of an empty graph.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// A builder that continues with a graph.
    pub fn of(graph: Graph) -> Builder {
        Builder { graph: RefCell::new(graph), ..Builder::default() }
    }

    /// The graph, or the first mistake.
    pub fn finish(self) -> Result<Graph, Error> {
        match self.error.into_inner() {
            Some(error) => Err(error),
            None => Ok(self.graph.into_inner()),
        }
    }

    /// The first mistake so far.
    pub fn error(&self) -> Option<Error> {
        self.error.borrow().clone()
    }

    /// Calls a function on the graph itself. Its error is kept if it is the first mistake.
    #[track_caller]
    pub fn with<'b>(&'b self, make: impl FnOnce(&mut Graph) -> Result<Tensor, Error>) -> Expr<'b> {
        let made = match self.graph.try_borrow_mut() {
            Ok(mut graph) => make(&mut graph),
            Err(_) => Err(Error::new(ErrorKind::Use, "the builder is used inside `with`")
                .with_help("inside `with`, use the graph it is given")),
        };
        self.keep(made)
    }

    /// A handle for a tensor of the graph.
    pub fn expr(&self, tensor: Tensor) -> Expr<'_> {
        Expr { builder: self, tensor: Some(tensor) }
    }

    /// Adds a prefix to the names of parameters made inside: `encoder.w`.
    ///
    /// ```
    /// let b = broadloom::Builder::new();
    /// let w = b.scope("encoder", || b.param("w"));
    /// assert_eq!(format!("{w:?}"), "encoder.w");
    /// ```
    pub fn scope<T>(&self, name: &str, inside: impl FnOnce() -> T) -> T {
        let _open = self.open(name);
        inside()
    }

    /// Opens a scope that lasts as long as the returned guard.
    pub(crate) fn open(&self, name: &str) -> Scope<'_> {
        self.scopes.borrow_mut().push(name.to_string());
        Scope(self)
    }

    /// A name with the names of the open scopes before it.
    pub fn scoped(&self, name: &str) -> String {
        let mut parts = self.scopes.borrow().clone();
        parts.push(name.to_string());
        parts.join(".")
    }

    /// Data with a declared shape: see [`Graph::data`].
    #[track_caller]
    pub fn data<'s>(&self, name: &str, shape: impl Into<DeclaredShape<'s>>) -> Expr<'_> {
        self.with(|graph| graph.data(name, shape))
    }

    /// Data with values of its own: see [`Graph::array`].
    #[track_caller]
    pub fn array<'s>(&self, name: &str, shape: impl Into<DeclaredShape<'s>>, values: Array) -> Expr<'_> {
        self.with(|graph| graph.array(name, shape, values))
    }

    /// A parameter whose shape is inferred: see [`Graph::param`].
    #[track_caller]
    pub fn param(&self, name: &str) -> Expr<'_> {
        let name = self.scoped(name);
        self.with(|graph| Ok(graph.param(&name)))
    }

    /// A parameter whose shape is stated, in part or in full: see [`Graph::param_shaped`].
    #[track_caller]
    pub fn param_shaped<'s>(&self, name: &str, shape: impl Into<DeclaredShape<'s>>) -> Expr<'_> {
        let name = self.scoped(name);
        self.with(|graph| graph.param_shaped(&name, shape))
    }

    /// A tensor that lasts from run to run and is not trained: see [`Graph::state_shaped`].
    #[track_caller]
    pub fn state<'s>(&self, name: &str, shape: impl Into<DeclaredShape<'s>>) -> Expr<'_> {
        let name = self.scoped(name);
        self.with(|graph| graph.state_shaped(&name, shape))
    }

    /// Declares a named size: see [`Graph::dim`].
    #[track_caller]
    pub fn dim(&self, name: &str, range: impl RangeBounds<u64>, sample: impl Into<Option<u64>>) {
        // Like any other mistake, an invalid range is reported at the end.
        self.with(|graph| graph.dim(name, range, sample).map(|()| Tensor::NONE));
    }

    /// A tensor filled with one value, in the shape that the context requires.
    pub fn constant(&self, value: f64) -> Expr<'_> {
        self.with(|graph| Ok(graph.constant(value)))
    }

    /// A number: a tensor without axes.
    pub fn number(&self, value: f64) -> Expr<'_> {
        self.with(|graph| Ok(graph.number(value)))
    }

    /// Positions 0, 1, 2, … in a declared shape: see [`Graph::range`].
    #[track_caller]
    pub fn range<'s>(&self, name: &str, shape: impl Into<DeclaredShape<'s>>) -> Expr<'_> {
        self.with(|graph| graph.range(name, shape))
    }

    /// Random numbers in `[0, 1)`, in the shape that the context requires: see [`Graph::uniform`].
    pub fn uniform(&self, name: &str) -> Expr<'_> {
        let name = self.scoped(name);
        self.with(|graph| Ok(graph.uniform(&name)))
    }

    /// An operation by a spec: see [`Graph::einsum`].
    #[track_caller]
    pub fn einsum<'b, 's>(&'b self, spec: impl Into<Notation<'s>>, operands: &[Expr<'b>]) -> Expr<'b> {
        self.einsum_with(spec, operands, &SpecOptions::default())
    }

    /// An operation by a spec, with options: see [`Graph::einsum_with`].
    #[track_caller]
    pub fn einsum_with<'b, 's>(
        &'b self,
        spec: impl Into<Notation<'s>>,
        operands: &[Expr<'b>],
        options: &SpecOptions<'_>,
    ) -> Expr<'b> {
        self.all(operands, |graph, tensors| graph.einsum_with(spec, tensors, options))
    }

    /// An operation by a spec with several results: see [`Graph::split`].
    #[track_caller]
    pub fn split<'b, 's>(&'b self, spec: impl Into<Notation<'s>>, operands: &[Expr<'b>]) -> Vec<Expr<'b>> {
        let spec = spec.into();
        let mut parts = Vec::new();
        let whole = self.all(operands, |graph, tensors| {
            parts = graph.split(spec, tensors)?;
            parts.first().copied().ok_or_else(|| Error::new(ErrorKind::Use, "the spec has no result"))
        });
        match whole.tensor {
            Some(_) => parts.into_iter().map(|tensor| self.expr(tensor)).collect(),
            None => vec![whole; spec.results()],
        }
    }

    /// An operation of your own, pointwise: see [`Graph::apply`].
    #[track_caller]
    pub fn apply<'b>(&'b self, operation: &Operation, operands: &[Expr<'b>]) -> Expr<'b> {
        self.all(operands, |graph, tensors| graph.apply(operation, tensors))
    }

    /// `a` where the condition holds, else `b`.
    #[track_caller]
    pub fn select<'b>(&'b self, condition: Expr<'b>, a: Expr<'b>, b: Expr<'b>) -> Expr<'b> {
        self.all(&[condition, a, b], |graph, tensors| graph.pointwise(Pointwise::Select, tensors))
    }

    /// Calls a function on the graph and some of its tensors; skipped if one of them depends on a
    /// mistake.
    #[track_caller]
    pub(crate) fn all<'b>(
        &'b self,
        operands: &[Expr<'b>],
        make: impl FnOnce(&mut Graph, &[Tensor]) -> Result<Tensor, Error>,
    ) -> Expr<'b> {
        let foreign = operands.iter().any(|operand| !std::ptr::eq(operand.builder, self));
        let tensors: Option<Vec<Tensor>> = operands.iter().map(|operand| operand.tensor).collect();
        match tensors {
            _ if foreign => {
                self.keep(Err(Error::new(ErrorKind::Use, "an expression of another builder is used here")
                    .with_help("an expression belongs to the builder that made it")))
            }
            Some(tensors) => self.with(|graph| make(graph, &tensors)),
            None => Expr { builder: self, tensor: None },
        }
    }

    /// Keeps the first mistake, with the line that made it.
    #[track_caller]
    fn keep(&self, made: Result<Tensor, Error>) -> Expr<'_> {
        let tensor = match made {
            Ok(tensor) => Some(tensor),
            Err(error) => {
                let place = Location::caller();
                let mut first = self.error.borrow_mut();
                first.get_or_insert_with(|| {
                    error.with_end(format!("written in {}, line {}", place.file(), place.line()))
                });
                None
            }
        };
        Expr { builder: self, tensor }
    }
}

/// An operand beside an expression: another one, or a number.
pub trait Operand<'b> {
    /// Converts it to an expression of a builder.
    fn of(self, builder: &'b Builder) -> Expr<'b>;
}

impl<'b> Operand<'b> for Expr<'b> {
    fn of(self, _: &'b Builder) -> Expr<'b> {
        self
    }
}

impl<'b> Operand<'b> for f64 {
    fn of(self, builder: &'b Builder) -> Expr<'b> {
        builder.number(self)
    }
}

impl<'b> Expr<'b> {
    /// The tensor in the graph. After a mistake it is one that no graph has.
    pub fn tensor(self) -> Tensor {
        self.tensor.unwrap_or(Tensor::NONE)
    }

    /// The builder it belongs to.
    pub fn builder(self) -> &'b Builder {
        self.builder
    }

    /// Sets a name for messages and tables.
    #[must_use]
    pub fn named(self, name: &str) -> Expr<'b> {
        let name = self.builder.scoped(name);
        self.builder.all(&[self], |graph, tensors| {
            graph.name(tensors[0], &name);
            Ok(tensors[0])
        })
    }

    /// Composition, the matrix product: see [`Graph::compose`].
    #[must_use]
    #[track_caller]
    pub fn compose(self, other: Expr<'b>) -> Expr<'b> {
        self.builder.all(&[self, other], |graph, tensors| graph.compose(tensors[0], tensors[1]))
    }

    /// Composition, under the name that is usual for matrices.
    #[must_use]
    #[track_caller]
    pub fn matmul(self, other: Expr<'b>) -> Expr<'b> {
        self.compose(other)
    }

    /// Swaps input and output.
    #[must_use]
    #[track_caller]
    pub fn transpose(self) -> Expr<'b> {
        self.builder.all(&[self], |graph, tensors| graph.transpose(tensors[0]))
    }

    /// An operation by a spec on this and other operands.
    #[must_use]
    #[track_caller]
    pub fn einsum<'s>(self, spec: impl Into<Notation<'s>>, others: &[Expr<'b>]) -> Expr<'b> {
        let operands: Vec<Expr<'b>> = std::iter::once(self).chain(others.iter().copied()).collect();
        self.builder.einsum(spec, &operands)
    }

    /// Accumulates by a spec of one operand: `x.reduce(Accumulate::Max, "... | v => ... | 0")`.
    #[must_use]
    #[track_caller]
    pub fn reduce<'s>(self, accumulate: Accumulate, spec: impl Into<Notation<'s>>) -> Expr<'b> {
        let options = SpecOptions { accumulate, ..SpecOptions::default() };
        self.builder.einsum_with(spec, &[self], &options)
    }

    /// Sums by a spec of one operand, such as `... | v => ... | 0`.
    #[must_use]
    #[track_caller]
    pub fn sum<'s>(self, spec: impl Into<Notation<'s>>) -> Expr<'b> {
        self.reduce(Accumulate::Sum, spec)
    }

    /// The maximum by a spec.
    #[must_use]
    #[track_caller]
    pub fn max<'s>(self, spec: impl Into<Notation<'s>>) -> Expr<'b> {
        self.reduce(Accumulate::Max, spec)
    }

    /// The minimum by a spec.
    #[must_use]
    #[track_caller]
    pub fn min<'s>(self, spec: impl Into<Notation<'s>>) -> Expr<'b> {
        self.reduce(Accumulate::Min, spec)
    }

    /// The product by a spec. Its gradient divides by the elements, so none of them may be 0.
    #[must_use]
    #[track_caller]
    pub fn product<'s>(self, spec: impl Into<Notation<'s>>) -> Expr<'b> {
        self.reduce(Accumulate::Product, spec)
    }

    /// The mean over labels and rows of a spec: its sum divided by their sizes.
    ///
    /// ```
    /// let b = broadloom::Builder::new();
    /// let mean = b.data("x", "8 | 3, 4").mean("... | ..d.. => ... | 0", &["d"]);
    /// # b.finish()?;
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn mean<'s>(self, spec: impl Into<Notation<'s>>, over: &[&str]) -> Expr<'b> {
        self.builder.all(&[self], |graph, tensors| graph.mean(spec, tensors, over))
    }

    /// The size of a label or row of the spec that made it, as a number.
    #[must_use]
    #[track_caller]
    pub fn size(self, name: &str) -> Expr<'b> {
        self.builder.all(&[self], |graph, tensors| {
            let captured = graph.captured(tensors[0], name)?;
            graph.size_number(captured)
        })
    }

    /// Sets the size of a label or row of the spec that made it.
    #[must_use]
    #[track_caller]
    pub fn set_size(self, name: &str, size: u64) -> Expr<'b> {
        self.builder.all(&[self], |graph, tensors| {
            let captured = graph.captured(tensors[0], name)?;
            graph.set(captured, size)?;
            Ok(tensors[0])
        })
    }

    /// Takes one element of the leading batch axis: see [`Graph::slice`].
    #[must_use]
    #[track_caller]
    pub fn slice(self, index: SliceIndex) -> Expr<'b> {
        self.builder.all(&[self], |graph, tensors| graph.slice(tensors[0], index))
    }

    /// Looks up rows of this table by integers: see [`Graph::gather`].
    #[must_use]
    #[track_caller]
    pub fn gather(self, ids: Expr<'b>) -> Expr<'b> {
        self.builder.all(&[self, ids], |graph, tensors| graph.gather(tensors[0], tensors[1]))
    }

    /// Sets the initial values of a parameter: see [`Graph::set_initial`].
    #[must_use]
    #[track_caller]
    pub fn initial(self, initial: Initial) -> Expr<'b> {
        self.builder
            .all(&[self], |graph, tensors| graph.set_initial(tensors[0], initial).map(|()| tensors[0]))
    }

    /// Sets the type in which the numbers of a leaf are stored: see [`Graph::set_precision`].
    #[must_use]
    #[track_caller]
    pub fn precision(self, dtype: Dtype) -> Expr<'b> {
        self.builder
            .all(&[self], |graph, tensors| graph.set_precision(tensors[0], dtype).map(|()| tensors[0]))
    }
}

/// Operators, between expressions and with numbers on either side.
macro_rules! operators {
    ($($operator:ident $method:ident;)*) => {$(
        impl<'b, T: Operand<'b>> $operator<T> for Expr<'b> {
            type Output = Expr<'b>;
            #[track_caller]
            fn $method(self, other: T) -> Expr<'b> {
                let other = other.of(self.builder);
                self.builder.all(&[self, other], |graph, tensors| graph.pointwise(Pointwise::$operator, tensors))
            }
        }

        impl<'b> $operator<Expr<'b>> for f64 {
            type Output = Expr<'b>;
            #[track_caller]
            fn $method(self, other: Expr<'b>) -> Expr<'b> {
                let this = other.builder.number(self);
                other.builder.all(&[this, other], |graph, tensors| graph.pointwise(Pointwise::$operator, tensors))
            }
        }
    )*};
}

operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

impl<'b> Neg for Expr<'b> {
    type Output = Expr<'b>;
    #[track_caller]
    fn neg(self) -> Expr<'b> {
        self.builder.all(&[self], |graph, tensors| graph.pointwise(Pointwise::Neg, tensors))
    }
}

/// The methods of expressions for the pointwise operations, from the table of operations.
macro_rules! methods {
    ($($(#[$doc:meta])* $method:ident $operands:tt $(as $of_expr:ident)? = $id:ident $name:literal:
       $forward:literal; $gradient:literal;)*) => {
        $(method! { [$($of_expr)?] $id $operands $(#[$doc])* })*
    };
}

/// The method of an operation, if there is one: of one operand, or with another one.
macro_rules! method {
    ([] $id:ident $operands:tt $(#[$doc:meta])*) => {};
    ([$method:ident] $id:ident ($a:ident) $(#[$doc:meta])*) => {
        impl<'b> Expr<'b> {
            $(#[$doc])*
            #[must_use]
            #[track_caller]
            pub fn $method(self) -> Expr<'b> {
                self.builder().all(&[self], |graph, tensors| graph.pointwise(Pointwise::$id, tensors))
            }
        }
    };
    ([$method:ident] $id:ident ($a:ident, $b:ident) $(#[$doc:meta])*) => {
        impl<'b> Expr<'b> {
            $(#[$doc])*
            #[must_use]
            #[track_caller]
            pub fn $method(self, $b: impl Operand<'b>) -> Expr<'b> {
                let other = $b.of(self.builder());
                self.builder().all(&[self, other], |graph, tensors| graph.pointwise(Pointwise::$id, tensors))
            }
        }
    };
}

broadloom_graph::pointwise_operations!(methods);
