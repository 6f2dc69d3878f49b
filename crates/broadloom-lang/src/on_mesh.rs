//! Devices that a program is divided over, as the program or its user asks for them.

use broadloom::{Mesh, Shard};
use broadloom_diagnostics::{Fact, Span};

/// Devices, and what is divided over them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OnMesh {
    /// The devices. A mesh without axes is one device, on which nothing is divided.
    pub mesh: Mesh,
    /// The division of tensors over mesh axes.
    pub shards: Vec<Shard>,
    /// The mesh axis over which parameters and the states of their optimisers are divided as well.
    pub stored_over: Option<String>,
}

/// The mesh of a program, `mesh(data = 4, shard = ["batch=data"])`, with its places in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MeshBlock {
    /// The devices, and what is divided over them.
    pub on: OnMesh,
    /// The span of the whole block.
    pub span: Span,
    /// The span of each axis of the mesh.
    pub axes: Vec<Span>,
    /// The span of each division.
    pub shards: Vec<Span>,
    /// The span of the mesh axis of parameters and states.
    pub stored_over: Option<Span>,
}

impl MeshBlock {
    /// The place of a part of a division that a mistake is about, and that part, if it is in the block.
    pub(crate) fn place(&self, on: &OnMesh, fact: &Fact) -> Option<(Span, String)> {
        match fact {
            Fact::Shard { axes, over } => {
                let wanted = Shard { axes: axes.clone(), over: over.clone() };
                let at = self.on.shards.iter().position(|shard| *shard == wanted)?;
                Some((self.shards[at], format!("`{wanted}` is asked for here")))
            }
            Fact::MeshAxis(name) => {
                let axis = on.mesh.axes.iter().find(|(known, _)| known == name)?;
                let at = self.on.mesh.axes.iter().position(|known| known == axis)?;
                Some((self.axes[at], format!("`{name}` has {} devices here", axis.1)))
            }
            Fact::StoredOver if self.on.stored_over == on.stored_over => {
                Some((self.stored_over?, "parameters and states are divided over it here".into()))
            }
            _ => None,
        }
    }
}
