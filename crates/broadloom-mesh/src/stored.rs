//! Tensors that last are divided further than the operations on them, so that no device has to keep all of them.
//!
//! A parameter is brought together by the operations that read it, which [`collectives`](crate::collectives()) finds as for any other axis
//! that is read otherwise than it is divided. The arithmetic between it and the states of its optimiser happens in parts: a tensor
//! that is computed from a divided one of the same shape, element by element, is divided alike.

use crate::access::{Access, Kind, accesses};
use crate::{Division, Groups, Mesh, Routine};

/// The tensors to divide further, and those at which that ends.
#[derive(Clone, Debug)]
pub struct Stored<'t> {
    /// Tensors that last: parameters and the states of optimisers.
    pub tensors: &'t [usize],
    /// Tensors that stay as they are: gradients, which devices sum up.
    pub fixed: &'t [bool],
    /// The mesh axis.
    pub over: usize,
}

/// Divides tensors that last over a mesh axis as well, each at its first axis that the devices can share evenly. Returns those that
/// have no such axis.
pub fn divide_stored(
    stored: &Stored<'_>,
    (groups, mesh): (&Groups, &Mesh),
    routines: &[Routine<'_>],
    divisions: &mut [Division],
) -> Vec<usize> {
    let mut whole = Vec::new();
    let mut divided = vec![None; divisions.len()];
    for tensor in stored.tensors {
        if divisions[*tensor].contains(&Some(stored.over)) {
            continue;
        }
        let sizes = groups.sizes()[*tensor].iter();
        let free = |(size, over): (&u64, &Option<usize>)| {
            over.is_none() && *size > 1 && size.is_multiple_of(mesh.size(stored.over))
        };
        match sizes.zip(&divisions[*tensor]).position(free) {
            Some(place) => {
                divisions[*tensor][place] = Some(stored.over);
                divided[*tensor] = Some(place);
            }
            None => whole.push(*tensor),
        }
    }
    spread(stored, routines, (divisions, &mut divided));
    whole
}

/// Divides what is computed element by element from divided tensors.
fn spread(
    stored: &Stored<'_>,
    routines: &[Routine<'_>],
    (divisions, divided): (&mut [Division], &mut [Option<usize>]),
) {
    let mut changed = true;
    while changed {
        changed = false;
        for routine in routines {
            for access in accesses(routine.program) {
                let tensor = routine.tensors[access.cell.buffer.index()];
                let is_free = !stored.fixed[tensor] && !divisions[tensor].contains(&Some(stored.over));
                if !is_free || access.kind != Kind::Store(None) {
                    continue;
                }
                if let Some(place) = followed(&access, routine, divided)
                    && divisions[tensor][place].is_none()
                {
                    divisions[tensor][place] = Some(stored.over);
                    divided[tensor] = Some(place);
                    changed = true;
                }
            }
        }
    }
}

/// The divided axis of something that is read at the place that is written.
fn followed(access: &Access<'_>, routine: &Routine<'_>, divided: &[Option<usize>]) -> Option<usize> {
    let same = access.reads.iter().filter(|cell| cell.index == access.cell.index);
    same.into_iter().find_map(|cell| divided[routine.tensors[cell.buffer.index()]])
}
