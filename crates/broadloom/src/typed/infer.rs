//! The inference context: unification of dimensions, and shape rules ("Unification Algorithm",
//! "Shape Inference Rules"). Every rule becomes a few constraints of the solver; a rule that leads
//! to a contradiction is retracted.

use broadloom_core::order::Dim as Ground;
use broadloom_core::{
    Affine, Answer, Clash, Constraint, DimTerm, DimVar, Numerator, Piece, Point, Role, Solver, Symbol,
};
use broadloom_graph::SymbolicSize;
use broadloom_graph::lowering::SymbolData;

use super::{Dim, ShapeError, TensorShape};

/// The treatment of a literal one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Broadcasting {
    /// A one is a size like any other; only [`Dim::Broadcast`] and missing dimensions broadcast.
    #[default]
    Explicit,
    /// As in NumPy: a one broadcasts. For shapes that come from elsewhere.
    NumPy,
}

/// The strength of a result: for all sizes, or only for some.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Proof {
    /// It holds for all sizes.
    Proved,
    /// It holds for some sizes: the check is left for run time.
    AtRunTime,
}

/// The knowledge about the dimensions of a program ("Inference Context").
///
/// ```
/// use broadloom::typed::{Context, Dim, TensorShape};
/// let mut context = Context::new();
/// let inner = context.fresh_var();
/// let left = TensorShape::new([Dim::Literal(4), inner.clone()]);
/// let product = context.matmul(&left, &TensorShape::of(&[8, 16]))?;
/// assert_eq!(product, TensorShape::of(&[4, 16]));
/// assert_eq!(context.resolve(&inner), Dim::Literal(8));
/// # Ok::<(), broadloom::typed::ShapeError>(())
/// ```
#[derive(Clone, Default)]
pub struct Context {
    solver: Solver,
    /// All symbols, in the order of the solver: names and dynamic sizes.
    symbols: Vec<SymbolData>,
    vars: Vec<DimVar>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.symbols.iter().map(|data| &*data.name).collect();
        f.debug_struct("Context").field("names", &names).field("vars", &self.vars.len()).finish()
    }
}

impl Context {
    /// A context without any knowledge.
    pub fn new() -> Context {
        Context::default()
    }

    /// A dimension to be inferred.
    pub fn fresh_var(&mut self) -> Dim {
        self.vars.push(self.solver.dim_var(Role::Leaf));
        Dim::Var(self.vars.len() as u32 - 1)
    }

    /// A dimension as far as it is known by now.
    pub fn resolve(&self, dim: &Dim) -> Dim {
        match dim {
            Dim::Var(at) => match self.vars.get(*at as usize) {
                Some(var) => self.read((*var).into()).unwrap_or_else(|| dim.clone()),
                None => dim.clone(),
            },
            Dim::Named(name, _) => match self.symbols.iter().find(|data| *data.name == **name) {
                Some(data) => self.read(data.var.into()).unwrap_or_else(|| dim.clone()),
                None => dim.clone(),
            },
            other => other.clone(),
        }
    }

    /// A shape with every dimension as far as it is known by now.
    pub fn resolve_shape(&self, shape: &TensorShape) -> TensorShape {
        TensorShape::new(shape.dims().iter().map(|dim| self.resolve(dim)))
    }

    /// Unifies two dimensions.
    ///
    /// Beyond the table of the document: a name without a range takes any literal, and `Broadcast` takes a name,
    /// since it is "unit or match".
    pub fn unify_dims(&mut self, left: &Dim, right: &Dim) -> Result<Dim, ShapeError> {
        let before = self.begin();
        let term = self.unify(left, right);
        let term = self.settle(before, term, || (left.clone(), right.clone()))?;
        Ok(self.read(term).unwrap_or_else(|| match (left, right) {
            (Dim::Var(_), _) | (_, Dim::Broadcast | Dim::Dynamic) => left.clone(),
            _ => right.clone(),
        }))
    }

    /// Unifies two shapes, dimension by dimension ("Shape Unification").
    pub fn unify_shapes(
        &mut self,
        left: &TensorShape,
        right: &TensorShape,
    ) -> Result<TensorShape, ShapeError> {
        if left.rank() != right.rank() {
            return Err(ShapeError::RankMismatch { left: left.clone(), right: right.clone() });
        }
        let pairs = left.dims().iter().zip(right.dims());
        let dims: Result<Vec<Dim>, _> = pairs.map(|(a, b)| self.unify_dims(a, b)).collect();
        dims.map(TensorShape::new)
    }

    /// `[…, m, k] @ […, k, n]` is `[…, m, n]`; the dimensions before the matrices broadcast
    /// ("Matrix Multiplication").
    pub fn matmul(&mut self, left: &TensorShape, right: &TensorShape) -> Result<TensorShape, ShapeError> {
        self.matmul_with(left, right, Broadcasting::Explicit)
    }

    /// Like [`matmul`](Context::matmul), with a choice of whether ones in the batch broadcast.
    pub fn matmul_with(
        &mut self,
        left: &TensorShape,
        right: &TensorShape,
        broadcasting: Broadcasting,
    ) -> Result<TensorShape, ShapeError> {
        let ([batch_left @ .., m, k], [batch_right @ .., inner, n]) = (left.dims(), right.dims()) else {
            return Err(ShapeError::MatmulRank { left: left.clone(), right: right.clone() });
        };
        let misfit = |cause: ShapeError| ShapeError::MatmulShapeMismatch {
            left: left.clone(),
            right: right.clone(),
            cause: Box::new(cause),
        };
        let before = self.begin();
        let outcome = self.unify_dims(k, inner).and_then(|_| {
            let batches = [batch_left, batch_right].map(|dims| TensorShape::new(dims.iter().cloned()));
            self.broadcast_dims(&batches, broadcasting)
        });
        match outcome {
            Ok(batch) => {
                let ends = [m, n].map(|dim| self.resolve(dim));
                Ok(TensorShape::new(batch.into_iter().chain(ends)))
            }
            Err(cause) => {
                self.take_back(before);
                Err(misfit(cause))
            }
        }
    }

    /// The shape that all shapes broadcast to, aligned at the last dimension ("Broadcasting").
    pub fn broadcast(
        &mut self,
        shapes: &[TensorShape],
        broadcasting: Broadcasting,
    ) -> Result<TensorShape, ShapeError> {
        match self.broadcast_dims(shapes, broadcasting) {
            Ok(dims) => Ok(TensorShape::new(dims)),
            Err(cause) => {
                Err(ShapeError::BroadcastIncompatible { shapes: shapes.to_vec(), cause: Box::new(cause) })
            }
        }
    }

    fn broadcast_dims(
        &mut self,
        shapes: &[TensorShape],
        broadcasting: Broadcasting,
    ) -> Result<Vec<Dim>, ShapeError> {
        let rank = shapes.iter().map(TensorShape::rank).max().unwrap_or(0);
        let before = self.begin();
        let mut dims = Vec::with_capacity(rank);
        for from_end in (0..rank).rev() {
            let facing: Vec<&Dim> =
                shapes.iter().filter_map(|shape| shape.dims().iter().rev().nth(from_end)).collect();
            match self.broadcast_dim(&facing, broadcasting) {
                Ok(dim) => dims.push(dim),
                Err(error) => {
                    self.take_back(before);
                    return Err(error);
                }
            }
        }
        Ok(dims)
    }

    /// `res ⊑ opnd` for each operand: a one broadcasts if it is the unit.
    fn broadcast_dim(&mut self, facing: &[&Dim], broadcasting: Broadcasting) -> Result<Dim, ShapeError> {
        let before = self.begin();
        let result: DimTerm = self.solver.dim_var(Role::Interior).into();
        let one = |dim: &Dim| *dim == Dim::Literal(1) && broadcasting == Broadcasting::NumPy;
        let mut outcome = Ok(result);
        for dim in facing.iter().filter(|dim| !one(dim)) {
            match self.term(dim) {
                Ok(opnd) => {
                    self.solver.add(Constraint::DimLe { res: result, opnd });
                }
                Err(error) => outcome = Err(error),
            }
        }
        let sized = facing.iter().find(|dim| !one(dim) && !matches!(dim, Dim::Broadcast));
        let pair = || {
            let mut sized = facing.iter().filter(|dim| !one(dim) && !matches!(dim, Dim::Broadcast));
            let first = sized.next().copied().cloned().unwrap_or(Dim::Broadcast);
            (first, sized.next_back().copied().cloned().unwrap_or(Dim::Broadcast))
        };
        let result = self.settle(before, outcome, pair)?;
        Ok(match (self.read(result), sized) {
            (Some(dim), _) => dim,
            (None, Some(dim)) => self.resolve(dim),
            (None, None) if facing.iter().any(|dim| one(dim)) => Dim::Literal(1),
            (None, None) => Dim::Broadcast,
        })
    }

    /// Checks that a tensor of one shape can be read as another: products are compared as
    /// expressions, so that `[batch, 6]` and `[batch, 3, 2]` are proved equal ("Reshape"). A
    /// variable in the output is inferred.
    pub fn reshape(
        &mut self,
        input: &TensorShape,
        output: &TensorShape,
    ) -> Result<(TensorShape, Proof), ShapeError> {
        let misfit = || ShapeError::ReshapeElementsMismatch { input: input.clone(), output: output.clone() };
        let before = self.begin();
        let count: DimTerm = self.solver.dim_var(Role::Interior).into();
        let mut written = Vec::new();
        for shape in [input, output] {
            let terms: Result<Vec<DimTerm>, ShapeError> =
                shape.dims().iter().map(|dim| self.term(dim)).collect();
            let terms = match terms {
                Ok(terms) => terms,
                Err(error) => {
                    self.take_back(before);
                    return Err(error);
                }
            };
            let pieces: Vec<Piece> = terms.iter().map(|term| Piece::Dim(*term)).collect();
            let numerator = Numerator { coeff: 1, over: Some(count), denom: 1 };
            self.solver.add(Constraint::Count { pieces: &pieces, numerator, divided_by: &[], rest: None });
            written = terms;
        }
        let open =
            input.dims().iter().chain(output.dims()).any(|dim| matches!(dim, Dim::Dynamic | Dim::Broadcast));
        let symbols = &self.symbols;
        let closed = match self.solver.close_values() {
            Answer::Solved(closed) | Answer::Underdetermined(closed, _) => {
                let dims = written.iter().zip(output.dims()).map(|(term, dim)| match (term.var(), dim) {
                    (Some(var), Dim::Var(_)) => match closed.dim(var) {
                        Ground::Unit => Dim::Literal(1),
                        Ground::Atom(atom) => Dim::Literal(atom.size),
                        Ground::Symbolic(symbolic) => {
                            let form = closed.form(symbolic.form);
                            let range = |symbol| closed.symbol_bounds(symbol);
                            expression(&SymbolicSize::new(&form, symbols, range), symbols)
                        }
                    },
                    _ => dim.clone(),
                });
                let proof =
                    if open || !closed.checks().is_empty() { Proof::AtRunTime } else { Proof::Proved };
                Some((dims.collect::<Vec<Dim>>(), proof))
            }
            Answer::Unsatisfiable(_) | Answer::Unsupported(_) => None,
            Answer::GaveUp(_) => Some((output.dims().to_vec(), Proof::AtRunTime)),
        };
        match closed {
            Some((dims, proof)) => {
                let dims = dims.iter().map(|dim| self.resolve(dim)).collect::<Vec<_>>();
                Ok((TensorShape::new(dims), proof))
            }
            None => {
                self.take_back(before);
                Err(misfit())
            }
        }
    }

    /// Swaps two dimensions ("Transpose").
    pub fn transpose(
        &self,
        shape: &TensorShape,
        dim0: usize,
        dim1: usize,
    ) -> Result<TensorShape, ShapeError> {
        let rank = shape.rank();
        if dim0 >= rank || dim1 >= rank {
            return Err(ShapeError::InvalidTransposeDims { dim0, dim1, rank });
        }
        let mut dims = self.resolve_shape(shape).dims;
        dims.swap(dim0, dim1);
        Ok(TensorShape { dims })
    }

    /// Reduces a dimension, which is removed or kept as one ("Reduction").
    pub fn reduce(&self, shape: &TensorShape, dim: usize, keep: bool) -> Result<TensorShape, ShapeError> {
        let rank = shape.rank();
        if dim >= rank {
            return Err(ShapeError::InvalidReductionDim { dim, rank });
        }
        let mut dims = self.resolve_shape(shape).dims;
        if keep {
            dims[dim] = Dim::Literal(1);
        } else {
            dims.remove(dim);
        }
        Ok(TensorShape { dims })
    }

    fn unify(&mut self, left: &Dim, right: &Dim) -> Result<DimTerm, ShapeError> {
        let (a, b) = (self.term(left)?, self.term(right)?);
        self.solver.add(match (left, right) {
            (Dim::Broadcast, Dim::Broadcast) => Constraint::DimEq(a, b),
            (Dim::Broadcast, _) => Constraint::DimLe { res: b, opnd: a },
            (_, Dim::Broadcast) => Constraint::DimLe { res: a, opnd: b },
            _ => Constraint::DimEq(a, b),
        });
        Ok(if *left == Dim::Broadcast { b } else { a })
    }

    /// A dimension as a term of the solver. A name declares its range, which is intersected with
    /// the earlier one.
    fn term(&mut self, dim: &Dim) -> Result<DimTerm, ShapeError> {
        Ok(match dim {
            Dim::Literal(size) => self.solver.size(*size),
            Dim::Var(at) => match self.vars.get(*at as usize) {
                Some(var) => (*var).into(),
                None => {
                    let message = format!("`{dim}` is a variable of another context");
                    return Err(ShapeError::InferenceError { message });
                }
            },
            Dim::Broadcast => self.solver.dim_var(Role::Leaf).into(),
            Dim::Dynamic => self.symbol("*", true).into(),
            Dim::Named(name, range) => {
                let known = self.symbols.iter().position(|data| *data.name == **name && !data.dynamic);
                let var = match known {
                    Some(at) => self.symbols[at].var,
                    None => self.symbol(name, false),
                };
                // A range that adds no information needs no constraint.
                let (least, most) = self.solver.observe_size(var);
                let had = (least, most.unwrap_or(u64::MAX));
                let narrower = |(lo, hi): &(u64, u64)| *lo > had.0 || *hi < had.1;
                if let Some((lo, hi)) = range.filter(narrower) {
                    if had.0.max(lo) > had.1.min(hi) {
                        let name = name.clone();
                        return Err(if had.0 == had.1 {
                            ShapeError::DimensionOutOfRange { name, actual: had.0, min: lo, max: hi }
                        } else {
                            ShapeError::RangeEmpty { name, left: had, right: (lo, hi) }
                        });
                    }
                    self.solver.add(Constraint::AtLeast(var.into(), lo));
                    if hi != u64::MAX {
                        self.solver.add(Constraint::AtMost(var.into(), hi));
                    }
                }
                var.into()
            }
            Dim::Expression(size) => self.expression(size)?,
        })
    }

    /// An expression from an earlier rule, over the names of this context: products become counts
    /// of elements, multiples strides, and sums concatenations, with subtracted terms on the other
    /// side.
    fn expression(&mut self, size: &SymbolicSize) -> Result<DimTerm, ShapeError> {
        let own: DimTerm = self.solver.dim_var(Role::Interior).into();
        let mut sides = [(Vec::new(), 0), (Vec::new(), 0)];
        let too_large =
            || ShapeError::InferenceError { message: format!("the numbers in `{size}` are too large") };
        let whole = u64::try_from(size.form().denominator()).map_err(|_| too_large())?;
        sides[0].0.push(self.multiple(whole, own));
        for (product, factor) in size.form().terms() {
            let number = u64::try_from(factor.unsigned_abs()).map_err(|_| too_large())?;
            let (parts, literal) = &mut sides[usize::from(factor > 0)];
            if product.is_empty() {
                *literal = number;
                continue;
            }
            let names = product.iter().filter_map(|symbol| size.name(*symbol));
            let terms: Vec<DimTerm> = names
                .map(|name| self.term(&Dim::Named(name.into(), None)))
                .collect::<Result<_, ShapeError>>()?;
            let product = self.product(&terms);
            parts.push(self.multiple(number, product));
        }
        let sum: DimTerm = self.solver.dim_var(Role::Interior).into();
        for (parts, literal) in &sides {
            self.solver.add(Constraint::Concat { axis: sum, components: parts, literal: *literal });
        }
        Ok(own)
    }

    fn multiple(&mut self, factor: u64, over: DimTerm) -> DimTerm {
        if factor == 1 {
            return over;
        }
        let axis: DimTerm = self.solver.dim_var(Role::Interior).into();
        self.solver.add(Constraint::Affine { axis, form: Affine::strided(factor), over, kernel: None });
        axis
    }

    fn product(&mut self, terms: &[DimTerm]) -> DimTerm {
        if let [term] = terms {
            return *term;
        }
        let whole: DimTerm = self.solver.dim_var(Role::Interior).into();
        let pieces: Vec<Piece> = terms.iter().copied().map(Piece::Dim).collect();
        let numerator = Numerator { coeff: 1, over: Some(whole), denom: 1 };
        self.solver.add(Constraint::Count { pieces: &pieces, numerator, divided_by: &[], rest: None });
        whole
    }

    fn symbol(&mut self, name: &str, dynamic: bool) -> DimVar {
        let var = if dynamic { self.solver.dynamic() } else { self.solver.symbol() };
        let range = (1, None);
        self.symbols.push(SymbolData { name: name.into(), var, range, sample: None, dynamic });
        var
    }

    /// A term as far as it is known: a size, or a name.
    fn read(&self, term: DimTerm) -> Option<Dim> {
        let ground = match term.var() {
            Some(var) => self.solver.observe_dim(var),
            None => self.solver.ground(term),
        };
        match ground {
            Some(Ground::Unit) => return Some(Dim::Broadcast),
            Some(Ground::Atom(atom)) => return Some(Dim::Literal(atom.size)),
            _ => {}
        }
        let symbol = self.solver.observe_symbol(term)?;
        Some(self.named(symbol))
    }

    fn named(&self, symbol: Symbol) -> Dim {
        match self.symbols.get(symbol.0 as usize) {
            Some(data) if !data.dynamic => {
                let (lo, hi) = self.solver.symbol_bounds(symbol);
                let range = (lo, hi.unwrap_or(u64::MAX));
                Dim::Named(data.name.to_string(), Some(range).filter(|range| *range != (1, u64::MAX)))
            }
            _ => Dim::Dynamic,
        }
    }

    fn begin(&self) -> Before {
        Before { point: self.solver.point(), symbols: self.symbols.len() }
    }

    fn take_back(&mut self, before: Before) {
        self.solver.retract(before.point);
        self.symbols.truncate(before.symbols);
    }

    /// Ends a rule: keeps it, or retracts it and returns the contradiction.
    fn settle(
        &mut self,
        before: Before,
        outcome: Result<DimTerm, ShapeError>,
        pair: impl FnOnce() -> (Dim, Dim),
    ) -> Result<DimTerm, ShapeError> {
        let error = match outcome {
            Ok(term) if !self.solver.is_failed() => return Ok(term),
            Ok(_) => match self.solver.close_values() {
                Answer::Unsatisfiable(core) => Some(core.clash),
                _ => None,
            },
            Err(error) => {
                self.take_back(before);
                return Err(error);
            }
        };
        let (left, right) = pair();
        let error = match error {
            Some(Clash::Dims { ends: [Ground::Atom(a), Ground::Atom(b)], .. }) => match (&left, &right) {
                (Dim::Literal(expected), Dim::Literal(actual)) => {
                    ShapeError::LiteralMismatch { expected: *expected, actual: *actual }
                }
                _ => ShapeError::LiteralMismatch { expected: a.size, actual: b.size },
            },
            Some(Clash::Range { symbol, size: Some(actual), bounds: (min, max) }) => {
                let name =
                    self.symbols.get(symbol.0 as usize).map_or("?".into(), |data| data.name.to_string());
                ShapeError::DimensionOutOfRange { name, actual, min, max }
            }
            _ => ShapeError::Incompatible { left: self.resolve(&left), right: self.resolve(&right) },
        };
        self.take_back(before);
        Err(error)
    }
}

/// The state before a rule.
#[derive(Clone, Copy)]
struct Before {
    point: Point,
    symbols: usize,
}

/// An expression as a dimension, or as a name if it is one.
fn expression(size: &SymbolicSize, symbols: &[SymbolData]) -> Dim {
    match size.form().as_symbol().and_then(|symbol| symbols.get(symbol.0 as usize)) {
        Some(data) if data.dynamic => Dim::Dynamic,
        Some(data) => Dim::Named(data.name.to_string(), None),
        None if size.names().any(|name| name == "*") => Dim::Dynamic,
        None => Dim::Expression(Box::new(size.clone())),
    }
}
