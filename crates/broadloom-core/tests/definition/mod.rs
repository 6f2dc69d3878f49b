//! Closing by its definition, written from docs/solver.md alone and sharing nothing with the solver. It is slow:
//! ranks are found by trying all of them.
//!
//! | file | has |
//! |---|---|
//! | `system` | systems, and how they are written |
//! | `bounds`, `groups`, `sources`, `ranks` | how many axes a leaf takes |
//! | `sizes` | which sizes it takes |
//! | `definition` | all steps in order |
//! | `ground` | what constraints mean |
//! | `solve` | what the solver answers |
//! | `judge`, `transform` | the solver held to definition and laws |
//! | `generate`, `random`, `shrink` | systems to judge it by |

pub mod bounds;
pub mod closing;
pub mod generate;
pub mod ground;
pub mod groups;
pub mod judge;
pub mod ranks;
pub mod shrink;
pub mod sizes;
pub mod solve;
pub mod sources;
pub mod system;
pub mod transform;
