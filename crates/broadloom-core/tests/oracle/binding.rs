//! Does a claimed form of the variables hold in a solution, or in all of them?
//!
//! A claim is a set of [`Binding`]s such as `a = 3` and `r = [a, ?0, ..*.., ?0]`, where `?0` is
//! some dimension, the same wherever it occurs in the set, and `..*..` is any number of axes. The
//! claim holds in an assignment if there is a choice of the existential parts that makes every
//! variable flatly equal to its pattern; markers are ignored (Formal Core, Def. 2.9).
//!
//! No search is needed to decide that: the rank of the assigned row fixes how many axes the rest
//! covers, and then each existential part is fixed by the first place where it occurs.

use std::ops::ControlFlow;

use super::{Assignment, Atom, Dim, DimTerm, System, enumerate};

/// The claim that one variable has the form of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    /// For the dimension variable of this index.
    Dim(usize, PatternDim),
    /// For the row variable of this index.
    Row(usize, RowPattern),
}

/// One dimension of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternDim {
    /// The value of a term; a variable is the one of the assignment.
    Term(DimTerm),
    /// Some dimension, the same for equal indices within a set of bindings.
    Fresh(usize),
}

/// A row pattern `lead · rest · trail`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPattern {
    /// The first dimensions.
    pub lead: Vec<PatternDim>,
    /// The axes between them.
    pub rest: Rest,
    /// The last dimensions.
    pub trail: Vec<PatternDim>,
}

/// The axes between the flanks of a [`RowPattern`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Nothing: the rank is exactly that of the flanks.
    Closed,
    /// The content of a row variable of the assignment.
    Var(usize),
    /// Any number of any axes.
    Any,
    /// Any number of any axes, the same for equal indices within a set of bindings.
    Shared(usize),
}

/// Returns true if some choice of the existential parts makes all bindings hold in the assignment.
pub fn binding_holds(assignment: &Assignment, bindings: &[Binding]) -> bool {
    let mut matcher = Matcher { assignment, fresh: Vec::new(), shared: Vec::new() };
    bindings.iter().all(|binding| match binding {
        Binding::Dim(dim_var, pattern) => matcher.dim(assignment.dims[*dim_var], *pattern),
        Binding::Row(row_var, pattern) => matcher.row(&assignment.rows[*row_var].dims, pattern),
    })
}

/// A solution within the bounds in which the bindings do not hold, if there is one.
/// One fresh atom among `atoms` is enough; see [`System::atoms`].
pub fn counterexample(
    system: &System,
    max_rank: usize,
    atoms: &[Atom],
    bindings: &[Binding],
) -> Option<Assignment> {
    let flow = enumerate(system, max_rank, atoms, |assignment| {
        if binding_holds(assignment, bindings) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(assignment.clone())
        }
    });
    flow.break_value()
}

/// The values of the existential parts that have occurred so far.
struct Matcher<'a> {
    assignment: &'a Assignment,
    fresh: Vec<Option<Dim>>,
    shared: Vec<Option<&'a [Dim]>>,
}

impl<'a> Matcher<'a> {
    fn dim(&mut self, dim: Dim, pattern: PatternDim) -> bool {
        match pattern {
            PatternDim::Term(term) => dim == self.assignment.dim(term),
            PatternDim::Fresh(index) => fix(&mut self.fresh, index, dim),
        }
    }

    fn dims(&mut self, dims: &[Dim], patterns: &[PatternDim]) -> bool {
        let mut pairs = dims.iter().zip(patterns);
        pairs.all(|(dim, pattern)| self.dim(*dim, *pattern))
    }

    fn row(&mut self, dims: &'a [Dim], pattern: &RowPattern) -> bool {
        let n_flanks = pattern.lead.len() + pattern.trail.len();
        if dims.len() < n_flanks {
            return false;
        }
        let (lead, others) = dims.split_at(pattern.lead.len());
        let (rest, trail) = others.split_at(others.len() - pattern.trail.len());
        let rest_holds = match pattern.rest {
            Rest::Closed => rest.is_empty(),
            Rest::Var(row_var) => rest == self.assignment.rows[row_var].dims,
            Rest::Any => true,
            Rest::Shared(index) => fix(&mut self.shared, index, rest),
        };
        rest_holds && self.dims(lead, &pattern.lead) && self.dims(trail, &pattern.trail)
    }
}

/// Sets the value at an index, or compares with the one that is already set.
fn fix<T: Copy + PartialEq>(values: &mut Vec<Option<T>>, index: usize, value: T) -> bool {
    if values.len() <= index {
        values.resize(index + 1, None);
    }
    *values[index].get_or_insert(value) == value
}
