//! The ground algebra: what a shape without variables is, and when one shape
//! may broadcast into another (Formal Core, §1-2).
//!
//! | question | answered by |
//! |---|---|
//! | what does one axis claim? | [`Dim`], with [`Bounded`] as its lattice |
//! | what does a sequence of axes claim, and where does it grow? | [`Row`] |
//! | what does a sequence that cannot grow claim? | [`Rigid`] |
//! | how do the two kinds of row compare? | [`AnyRow`] |
//!
//! Every comparison reads `result.refines(operand)`, written `res ⊑ opnd`: the
//! operand may broadcast into the result. Larger means fewer claims, so the unit
//! and the empty row are at the top.
//!
//! There are two relations on rows, and they differ in what they ask of the
//! result's marker:
//!
//! * [`Row::refines`], the marked order (Def. 2.3), asks that whatever broadcasts
//!   into the result's place later also fits the operand. It is a partial order
//!   with joins ([`Row::join`]) and bounded meets ([`Row::meet`]).
//! * [`Row::refines_once`], the one-shot relation (Remark 2.15), asks only that
//!   this operand fits this result. It ignores the result's marker, and it is
//!   *not* transitive.
//!
//! A worked example: an operand `[3]·◇·[4]` used where the result is `[3, 5, 4]`.
//!
//! ```
//! use broadloom_core::order::{Dim, Row};
//!
//! let [three, four, five] = [3, 4, 5].map(Dim::sized);
//! let operand = Row::new([three], [four]);
//! let result = Row::trailing([three, five, four]);
//!
//! // The operand is padded at its marker and then compared axis by axis.
//! assert_eq!(operand.expand(3), Some(vec![three, Dim::Unit, four]));
//! assert!(result.refines_once(&operand));
//!
//! // The result grows at its left edge, where the operand has committed to 3.
//! assert!(!result.refines(&operand));
//! ```

mod dim;
mod rigid;
mod row;

pub use dim::{Atom, Basis, Bounded, Dim, FormId, Symbolic};
pub use rigid::{AnyRow, Rigid};
pub use row::Row;
