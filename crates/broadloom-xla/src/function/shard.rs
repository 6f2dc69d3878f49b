//! Divisions over a mesh of devices, in the words of Shardy.
//!
//! Arguments, results and everything that is stored say how they are divided, so that XLA has nothing to guess. What is read along an
//! axis that is divided in another way than its loop is brought together first, and says so too.

use std::fmt::Write as _;
use std::ops::Range;

use broadloom_loops::{BufferId, Cell};
use broadloom_mesh::{Division, Mesh, Read};

use super::{Content, Writer};
use crate::tensor::Tensor;

/// The division of a program over devices.
#[derive(Clone, Debug)]
pub struct Sharded<'m> {
    /// The devices.
    pub mesh: &'m Mesh,
    /// The division of each buffer.
    pub divisions: Vec<Division>,
    /// The buffers that are read in another division than they are stored in.
    pub reads: Vec<Read>,
}

impl Sharded<'_> {
    /// The line that declares the mesh.
    pub(crate) fn declaration(&self) -> String {
        let axes = self.mesh.axes.iter().map(|(name, size)| format!("\"{name}\"={size}"));
        format!("  sdy.mesh @mesh = <[{}]>\n", axes.collect::<Vec<_>>().join(", "))
    }

    /// A division: `<@mesh, [{"data"}, {}]>`.
    fn text(&self, division: &Division) -> String {
        let mut text = String::from("<@mesh, [");
        for (at, over) in division.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = match over {
                Some(axis) => write!(text, "{comma}{{\"{}\"}}", self.mesh.axes[*axis].0),
                None => write!(text, "{comma}{{}}"),
            };
        }
        text + "]>"
    }

    /// The attribute of an argument or a result of some rank that holds a buffer, or something that every device has.
    pub(crate) fn attribute(&self, id: Option<BufferId>, rank: usize) -> String {
        let everywhere = vec![None; rank];
        let division = id.map_or(&everywhere, |id| &self.divisions[id.index()]);
        format!(", sdy.sharding = #sdy.sharding{}", self.text(division))
    }
}

impl Writer<'_> {
    /// Sets the contents of a buffer, divided as the buffer is.
    pub fn set(&mut self, id: BufferId, tensor: Tensor) {
        let tensor = self.divided(id, tensor);
        self.contents[id.index()] = Content::Tensor(tensor);
    }

    /// A tensor, divided as a buffer is.
    pub fn divided(&mut self, id: BufferId, tensor: Tensor) -> Tensor {
        match self.sharded {
            Some(sharded) if tensor.rank() > 0 => {
                let text = sharded.text(&sharded.divisions[id.index()]);
                self.text.constrained(&tensor, text.into())
            }
            _ => tensor,
        }
    }

    /// The contents of the buffer of a cell, divided as they are read.
    pub fn brought_together(&mut self, cell: &Cell, tensor: Tensor) -> Tensor {
        let Some(sharded) = self.sharded else { return tensor };
        // They are in the order of nests.
        let first = sharded.reads.partition_point(|read| read.nest < self.at);
        let mut here = sharded.reads[first..].iter().take_while(|read| read.nest == self.at);
        match here.find(|read| read.cell == *cell) {
            Some(read) => match self.gathered.get(&(cell.buffer, read.division.clone())) {
                Some(known) => known.clone(),
                None => {
                    let text = sharded.text(&read.division);
                    self.text.constrained(&tensor, text.into())
                }
            },
            None => tensor,
        }
    }

    /// Brings together what nests that run several times read and do not change, so that it is sent once.
    pub fn bring_together_before(&mut self, nests: &Range<usize>) -> Result<(), String> {
        let Some(sharded) = self.sharded else { return Ok(()) };
        let written = self.program.written(nests.clone());
        let here = |read: &&Read| nests.contains(&read.nest) && !written.contains(&read.cell.buffer);
        for read in sharded.reads.iter().filter(here) {
            let key = (read.cell.buffer, read.division.clone());
            if !self.gathered.contains_key(&key) {
                let tensor = self.content(read.cell.buffer)?;
                let text = sharded.text(&read.division);
                let together = self.text.constrained(&tensor, text.into());
                self.gathered.insert(key, together);
            }
        }
        Ok(())
    }
}
