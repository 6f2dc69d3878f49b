//! The inference engine of Broadloom: dimensions, rows, constraints, and a solver that is complete,
//! independent of order, and can explain itself.
//!
//! The theory is *The Formal Core of OCANNL's Shape and Projection Inference* ("Formal Core" in these
//! pages); definitions, propositions and rules are cited by its numbers.
//!
//! - [`order`]: the ground algebra. What broadcasting means, without variables.
//! - [`Constraint`] and its terms: what a caller says.
//! - [`Solver`]: constraints in; sizes and reasons out.
//!
//! ```
//! use broadloom_core::{Answer, Constraint, Role, RowTerm, Solver};
//!
//! // z = x + y, with x : [3]·◇·[4] and y : [3, 5, 4]; the shape of z is asked for.
//! let mut solver = Solver::new();
//! let z = solver.row_var(Role::Interior);
//! let (three, four, five) = (solver.size(3), solver.size(4), solver.size(5));
//! solver.add(Constraint::RowLe { res: RowTerm::var(z), opnd: RowTerm::marked(&[three], &[four]) });
//! solver.add(Constraint::RowLe { res: RowTerm::var(z), opnd: RowTerm::closed(&[three, five, four]) });
//! let Answer::Solved(closed) = solver.close() else { panic!("satisfiable") };
//! assert_eq!(closed.row(z).rank(), 3);
//! assert_eq!(closed.stats().branches, 0);
//! ```

mod affine;
mod form;
mod ids;
mod number;
pub mod order;
pub mod projection;
mod size;
mod solver;
mod term;

pub use affine::{Affine, Padding, Window};
pub use form::{Form, Symbol};
pub use size::Size;
pub use solver::{
    Answer, Binding, Bound, Budget, Cause, Check, Clash, Closed, Core, Derived, DimShape, How, Limit, Link,
    Middle, Need, Point, Policy, Report, RowShape, Short, Solver, Stats, Unfilled, Written,
};
pub use term::{Constraint, ConstraintId, DimTerm, DimVar, Hole, Numerator, Piece, Role, RowTerm, RowVar};

/// The README of the crate, so that its example is run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
