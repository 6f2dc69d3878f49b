//! The answer: how each tensor is divided, and what each operation sends.

use broadloom_graph::{Kind, StepId, Tensor};
use broadloom_loops::Buffer;
use broadloom_mesh::{CollectiveKind, Division, Mesh, Routine};
use broadloom_xla::Sharded;
use rustc_hash::FxHashMap;

use crate::lower::{Content, Lowered};
use crate::memory_role::MemoryRole;

/// The division of a program over the devices of a mesh.
#[derive(Clone, PartialEq, Debug)]
pub struct Divided {
    /// The devices.
    pub mesh: Mesh,
    /// Every tensor, in the order in which routines mention them.
    pub tensors: Vec<DividedTensor>,
    /// The collectives of one run of each routine, in order.
    pub collectives: Vec<NeededCollective>,
    /// The memory of one device.
    pub memory: DeviceMemory,
    /// The names of tensors that last and were to be divided, and have no axis that the devices can share evenly.
    pub whole: Vec<String>,
    /// The division of the contents of buffers.
    pub(crate) nodes: FxHashMap<Content, Division>,
}

/// A tensor, divided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DividedTensor {
    /// Its name: `w`, `w.grad`.
    pub name: String,
    /// The tensor itself, or the tensor of which it is the gradient.
    pub tensor: Tensor,
    /// Its purpose.
    pub role: MemoryRole,
    /// True if it lasts from run to run.
    pub lasts: bool,
    /// True if the program gives it a name.
    pub is_named: bool,
    /// Its axes, in memory order.
    pub axes: Vec<DividedAxis>,
    /// Its bytes on all devices together, each element counted once.
    pub bytes: u64,
    /// Its bytes on one device.
    pub bytes_per_device: u64,
}

/// An axis of a divided tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DividedAxis {
    /// The row.
    pub kind: Kind,
    /// The size.
    pub size: u64,
    /// The mesh axis that it is divided over, by its place in the mesh.
    pub over: Option<usize>,
}

/// Something that devices do together for an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NeededCollective {
    /// The routine, by its place.
    pub routine: usize,
    /// The step of the graph that it belongs to.
    pub step: StepId,
    /// The operation in words.
    pub operation: String,
    /// Its kind.
    pub kind: CollectiveKind,
    /// The name of the tensor that is sent.
    pub tensor: String,
    /// The mesh axes, by their places, along which devices take part.
    pub over: Vec<usize>,
    /// The bytes that each device has in the end.
    pub bytes: u64,
    /// The number of times that it happens in one run: in a scan once in each turn.
    pub times: u64,
}

/// The memory that one device needs, in bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeviceMemory {
    /// The tensors that last from run to run.
    pub lasting: u64,
    /// For each routine its name, and the tensors that it needs at the same time while it runs, new values of what lasts among them.
    pub temporaries: Vec<(String, u64)>,
}

impl DeviceMemory {
    /// The sum of the bytes that last and of the temporaries of the routine that needs most.
    pub fn peak(&self) -> u64 {
        self.lasting + self.temporaries.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0)
    }
}

impl Divided {
    /// The division of a lowered routine, as its module says it. Tensors that no routine mentioned before are on every device.
    pub(crate) fn sharded(&self, lowered: &Lowered) -> Sharded<'_> {
        let whole = |buffer: &Buffer| vec![None; buffer.sizes.len()];
        let of = |(node, buffer): (&Content, &Buffer)| {
            self.nodes.get(node).cloned().unwrap_or_else(|| whole(buffer))
        };
        let divisions: Vec<Division> = lowered.nodes.iter().zip(&lowered.program.buffers).map(of).collect();
        let tensors: Vec<usize> = (0..divisions.len()).collect();
        let routine = Routine { program: &lowered.program, tensors: &tensors, results: &[] };
        let reads = broadloom_mesh::reads(&routine, &self.mesh, &divisions);
        Sharded { mesh: &self.mesh, divisions, reads }
    }

    /// The bytes that one run of a routine sends, by kind and mesh axes, in order.
    pub fn totals(&self, routine: usize) -> Vec<(CollectiveKind, Vec<usize>, u64, u64)> {
        let mut totals: Vec<(CollectiveKind, Vec<usize>, u64, u64)> = Vec::new();
        for each in self.collectives.iter().filter(|each| each.routine == routine) {
            let known = totals.iter_mut().find(|(kind, over, ..)| *kind == each.kind && *over == each.over);
            match known {
                Some((_, _, count, bytes)) => {
                    (*count, *bytes) = (*count + each.times, *bytes + each.times * each.bytes)
                }
                None => totals.push((each.kind, each.over.clone(), each.times, each.times * each.bytes)),
            }
        }
        totals.sort();
        totals
    }
}
