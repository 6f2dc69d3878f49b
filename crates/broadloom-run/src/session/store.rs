//! The numbers that last from run to run.

use broadloom_graph::lowering::list;
use broadloom_graph::{Error, ErrorKind, Graph, Remedy};
use broadloom_loops::reference::{self, Memory, Stop};
use broadloom_loops::{Array, Block, BufferId, Dtype, Lent, Program, Storage};
use broadloom_xla::OnDevice;
use rustc_hash::{FxHashMap, FxHashSet};

use super::bytes::numbers;
use crate::lower::{Content, Layout};

/// A block of memory for each node that was ever needed, and the set of those that hold values.
#[derive(Default)]
pub(super) struct Store {
    blocks: Vec<Block>,
    places: FxHashMap<Content, usize>,
    filled: FxHashSet<Content>,
    /// Blocks of nodes that are kept only for inspection after a run. They are separate from those
    /// of routines that really keep them.
    watched: FxHashMap<Content, usize>,
    /// The sizes of values that were dropped when a size changed.
    gone: FxHashMap<Content, Vec<u64>>,
    /// The nodes whose values are read from memory of somebody else, and their places.
    lent: Vec<(Content, usize)>,
    /// The blocks whose numbers are on the devices of XLA, by their places.
    remote: FxHashMap<usize, Remote>,
}

/// Numbers of a block that are on the devices of XLA.
pub(super) struct Remote {
    pub array: OnDevice,
    /// True if the block has other numbers, from before.
    pub is_newer: bool,
}

impl Store {
    pub fn blocks(&mut self) -> &mut [Block] {
        &mut self.blocks
    }

    /// The numbers of a block on the devices of XLA, if they are there.
    pub fn remote(&self, place: usize) -> Option<&OnDevice> {
        self.remote.get(&place).map(|remote| &remote.array)
    }

    /// Notes that the numbers of a block are on the devices of XLA.
    pub fn set_remote(&mut self, place: usize, remote: Remote) {
        self.remote.insert(place, remote);
    }

    /// Brings the numbers of a block back from the devices of XLA, if there are newer ones.
    fn bring_back(&mut self, place: usize) -> Result<(), Error> {
        let Some(remote) = self.remote.get_mut(&place).filter(|remote| remote.is_newer) else {
            return Ok(());
        };
        let bytes = remote.array.bytes().map_err(|message| Error::run(format!("XLA: {message}")))?;
        let block = &mut self.blocks[place];
        if block.is_vacant() {
            block.furnish()?;
        }
        let array = Array::new(block.sizes(), numbers(block.dtype(), &bytes))?;
        block.write(&array)?;
        remote.is_newer = false;
        Ok(())
    }

    /// Brings everything back from the devices of XLA, where nothing is left.
    pub fn bring_all_back(&mut self) -> Result<(), Error> {
        for place in 0..self.blocks.len() {
            self.bring_back(place)?;
        }
        self.remote.clear();
        Ok(())
    }

    pub fn has_values(&self, node: Content) -> bool {
        self.filled.contains(&node)
    }

    pub fn has_now(&mut self, node: Content) {
        self.filled.insert(node);
    }

    /// The sizes that the dropped values of a node had before a size changed.
    pub fn gone(&self, node: Content) -> Option<&[u64]> {
        self.gone.get(&node).filter(|_| !self.has_values(node)).map(Vec::as_slice)
    }

    /// The block of a node.
    pub fn place(&mut self, graph: &Graph, layout: &Layout, node: Content) -> Result<usize, Error> {
        if let Some(known) = self.places.get(&node) {
            return Ok(*known);
        }
        self.blocks.push(Block::new(&layout.buffer(graph, node))?);
        self.places.insert(node, self.blocks.len() - 1);
        Ok(self.blocks.len() - 1)
    }

    /// The block of a node that is only inspected.
    pub fn watch(&mut self, graph: &Graph, layout: &Layout, node: Content) -> Result<usize, Error> {
        if let Some(known) = self.watched.get(&node) {
            return Ok(*known);
        }
        self.blocks.push(Block::new(&layout.buffer(graph, node))?);
        self.watched.insert(node, self.blocks.len() - 1);
        Ok(self.blocks.len() - 1)
    }

    /// The contents of a node that is only inspected.
    pub fn seen(&mut self, node: Content) -> Result<Option<Array>, Error> {
        let Some(place) = self.watched.get(&node).copied() else { return Ok(None) };
        self.bring_back(place)?;
        Ok(Some(self.blocks[place].read()))
    }

    pub fn read(&mut self, node: Content) -> Result<Option<Array>, Error> {
        let place = self.places.get(&node).copied().filter(|_| self.filled.contains(&node));
        let Some(place) = place else { return Ok(None) };
        self.bring_back(place)?;
        Ok(Some(self.blocks[place].read()))
    }

    /// Refuses values that are floats for a node of integers.
    pub fn suits(&self, graph: &Graph, layout: &Layout, node: Content, dtype: Dtype) -> Result<(), Error> {
        let buffer = layout.buffer(graph, node);
        let name = &buffer.name;
        if !buffer.dtype.is_float() && dtype.is_float() {
            let message = format!("`{name}` holds integers ({}), the values are {dtype}", buffer.dtype);
            return Err(Error::new(ErrorKind::Value, message)
                .with_remedy(Remedy::WholeValues, "convert them first: `values.convert(Dtype::I64)`"));
        }
        Ok(())
    }

    /// Refuses values that do not have the sizes or the kind of a node.
    pub fn fits(
        &self,
        graph: &Graph,
        layout: &Layout,
        node: Content,
        (sizes, dtype): (&[u64], Dtype),
    ) -> Result<(), Error> {
        let buffer = layout.buffer(graph, node);
        let name = &buffer.name;
        if sizes != buffer.shape() {
            let shape =
                node.tensor().map_or_else(String::new, |tensor| layout.shapes.get(tensor).to_string());
            let message = format!(
                "the values for `{name}` have sizes {}, but its shape is `{shape}`: sizes {}",
                list(sizes),
                list(&buffer.shape())
            );
            let sorted = |sizes: &[u64]| {
                let mut sizes = sizes.to_vec();
                sizes.sort_unstable();
                sizes
            };
            let order = match sorted(sizes) == sorted(&buffer.shape()) {
                true => {
                    ": these are the same sizes in another order, so transpose the values, or declare it so"
                }
                false => "",
            };
            return Err(Error::new(ErrorKind::Value, message).with_help(format!(
                "sizes are in memory order: batch axes, output axes, input axes{order}"
            )));
        }
        self.suits(graph, layout, node, dtype)
    }

    pub fn write(
        &mut self,
        graph: &Graph,
        layout: &Layout,
        node: Content,
        values: &Array,
    ) -> Result<(), Error> {
        self.fits(graph, layout, node, (values.sizes(), values.dtype()))?;
        let place = self.place(graph, layout, node)?;
        self.blocks[place].write(values)?;
        self.remote.remove(&place);
        self.filled.insert(node);
        Ok(())
    }

    /// Reads the values of a node from where they are, until they are [given back](Store::give_back). Returns false if the
    /// memory of the node is not laid out like them.
    pub fn lend(
        &mut self,
        graph: &Graph,
        layout: &Layout,
        node: Content,
        lent: &Lent,
    ) -> Result<bool, Error> {
        let place = self.place(graph, layout, node)?;
        let fits = self.blocks[place].lend(lent);
        if fits {
            self.remote.remove(&place);
            self.filled.insert(node);
            self.lent.push((node, place));
        }
        Ok(fits)
    }

    /// Forgets all values that were lent.
    pub fn give_back(&mut self) {
        for (node, place) in std::mem::take(&mut self.lent) {
            if self.blocks.get(place).is_some_and(Block::is_lent) {
                let _lent = self.blocks[place].take();
                self.remote.remove(&place);
                self.filled.remove(&node);
                self.gone.remove(&node);
            }
        }
    }

    /// Forgets the values of a node.
    pub fn forget(&mut self, node: Content) {
        self.filled.remove(&node);
        self.gone.remove(&node);
    }

    /// Takes the values of a node out of the store.
    pub fn take(&mut self, node: Content) -> Result<Option<Block>, Error> {
        let Some(place) = self.places.get(&node).copied().filter(|_| self.filled.contains(&node)) else {
            return Ok(None);
        };
        self.bring_back(place)?;
        if self.blocks[place].has_margins() {
            return Ok(Some(Block::of(&self.blocks[place].read())?));
        }
        self.filled.remove(&node);
        self.remote.remove(&place);
        Ok(Some(self.blocks[place].take()))
    }

    /// Makes sure that a run can read and write: places that are vacant have memory, and those that it writes have memory of
    /// their own.
    pub fn furnish(&mut self, places: &[usize], written: &[Content]) -> Result<(), Error> {
        for place in places {
            if self.blocks[*place].is_vacant() {
                self.blocks[*place].furnish()?;
            }
        }
        if !self.lent.is_empty() {
            for place in written.iter().filter_map(|node| self.places.get(node)) {
                self.blocks[*place].furnish()?;
            }
        }
        Ok(())
    }

    /// Called before the graph changes: inspected nodes may mean something else afterwards.
    pub fn forget_watched(&mut self) {
        self.watched.clear();
    }

    /// Called after the graph or a named size has changed: nodes with the same sizes keep their
    /// numbers, with other margins if necessary.
    pub fn move_to(&mut self, graph: &Graph, layout: &Layout) -> Result<(), Error> {
        let there = |node: &Content| node.tensor().is_some_and(|tensor| tensor.index() < graph.len());
        if !self.places.keys().all(there) {
            // Another graph: nothing carries over.
            *self = Store::default();
        }
        self.bring_all_back()?;
        // All new blocks are allocated before any old one is dropped, because that may fail.
        let mut moved = Vec::new();
        for (node, place) in self.places.iter().chain(&self.watched) {
            let (buffer, old) = (layout.buffer(graph, *node), &self.blocks[*place]);
            if !old.fits(&buffer) {
                let mut block = Block::new(&buffer)?;
                let stays = old.sizes() == buffer.shape() && !old.is_vacant();
                if stays {
                    block.write(&old.read().convert(buffer.dtype))?;
                }
                moved.push((*node, *place, block, stays));
            }
        }
        for (node, place, block, stays) in moved {
            let old = std::mem::replace(&mut self.blocks[place], block);
            if !stays && self.places.get(&node) == Some(&place) && self.filled.remove(&node) {
                self.gone.insert(node, old.sizes().to_vec());
            }
        }
        Ok(())
    }

    /// Runs a program by the reference evaluator.
    pub fn evaluate(&mut self, program: &Program, places: &[usize], symbols: &[i64]) -> Result<(), Stop> {
        let mut memory = Memory::new(program)?;
        let ids = (0..program.buffers.len() as u32).map(BufferId);
        let kept: Vec<(BufferId, usize)> = ids
            .filter(|id| program.buffer(*id).storage == Storage::Kept)
            .zip(places.iter().copied())
            .collect();
        for (id, place) in &kept {
            memory.write_array(program, *id, &self.blocks[*place].read());
        }
        // A run that stops leaves what it has computed, as machine code does.
        let stopped = reference::evaluate(program, &mut memory, symbols);
        for (id, place) in &kept {
            if self.blocks[*place].is_lent() {
                continue;
            }
            // The sizes are those of the program, so they fit.
            let _ = memory.read_array(program, *id).and_then(|array| self.blocks[*place].write(&array));
        }
        stopped
    }
}
