//! Named, ranged and dynamic sizes (*Tensor Dimension Inference*): the table of unification case by case, and
//! random systems, which must not depend on the order of their constraints and must agree with the same system at
//! given sizes.

mod random;
mod table;
