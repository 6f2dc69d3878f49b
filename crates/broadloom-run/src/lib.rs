//! Running tensor programs: routines, gradients, lowering to loops, and sessions that hold the
//! numbers.
//!
//! - [`Routine`]: a list of computations in order, with gradients and updates; [`Sgd`] and [`Adam`]
//!   are written in it.
//! - [`Session`]: the numbers of a graph, and the routines compiled for them.
//! - [`show_backward`], [`show_assignments`], [`nest_linalg`]: the lowered loops as text.

mod lower;
mod memory_role;
mod mesh;
mod routine;
mod session;
mod sizes;
mod update;

pub use broadloom_loops::{Block, Lent, wasm};
pub use broadloom_mesh::{CollectiveKind, Mesh};
pub use broadloom_xla::{Precision, Processes, follow};
pub use lower::{
    computed_from, nest_linalg, reached_data, reached_gradients, show_assignments, show_backward, trainable,
};
pub use memory_role::MemoryRole;
pub use mesh::{
    AxisName, DeviceMemory, Divided, DividedAxis, DividedTensor, NeededCollective, RowPlace, Shard, Sharding,
};
pub use routine::Routine;
pub use session::{
    Allocated, Backend, Copied, GivenValues, Host, HostEngine, KnownNests, Memory, MemoryRange, OpenSize,
    Rehearsal, Session, Settings, Stored, Temporaries,
};
pub use update::{Adam, Sgd};
