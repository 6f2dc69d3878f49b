//! The memory that a program will need, before anything is compiled.

use broadloom_loops::{Buffer, BufferId, Program};

use crate::Error;
use crate::arena::{Need, bytes_of, pack};
use crate::plan::Plan;

/// The local buffers of a program, and the nests during which each is needed. Nothing is compiled
/// to find them.
///
/// ```
/// use broadloom_loops::Program;
/// use broadloom_native::ArenaPlan;
/// let nothing = Program::default();
/// assert_eq!(ArenaPlan::new(&nothing)?.bytes(&nothing), 0);
/// # Ok::<(), broadloom_native::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ArenaPlan {
    needs: Vec<Need>,
    /// The buffers, including those that the backend adds.
    buffers: Vec<Buffer>,
}

impl ArenaPlan {
    /// The plan of a program. If its sizes are arguments, it holds for all of them.
    pub fn new(program: &Program) -> Result<ArenaPlan, Error> {
        let Plan { needs, program, .. } = Plan::new(program)?;
        Ok(ArenaPlan { needs, buffers: program.buffers })
    }

    /// The bytes of the arena for the same program at the sizes of another.
    pub fn bytes(&self, at: &Program) -> u64 {
        let buffer = |id: BufferId| at.buffers.get(id.index()).or_else(|| self.buffers.get(id.index()));
        pack(&self.needs, |id| buffer(id).map_or(0, bytes_of)).bytes
    }
}
