//! Dividing a session's tensors over the devices of a mesh.

use std::sync::Arc;

use broadloom_graph::{Error, Fact};
use broadloom_loops::{BufferId, Storage};
use broadloom_mesh::{Axis, Division, Groups, Mesh, Routine as Code, Stored, collectives, reads};
use rustc_hash::{FxHashMap, FxHashSet};

use super::memory::needed;
use super::xla::Xla;
use super::{Backend, HAS_PROCESSES, Session};
use crate::lower::{Content, Lowered, written_node};
use crate::memory_role::MemoryRole;
use crate::mesh::{
    DeviceMemory, Divided, DividedAxis, DividedTensor, NeededCollective, Nodes, Sharding, candidates,
    divided, mesh_axis, resolve, row_of,
};
use crate::routine::Routine;

impl Session {
    /// Divides the tensors of routines over the devices of a mesh. Nothing is run. Axes that some operation indexes by one loop are
    /// divided alike; what cannot be divided as it is asked for is an error with both ends.
    ///
    /// ```
    /// use broadloom::{CollectiveKind, Graph, Mesh, Routine, Session, Shard, Sharding};
    /// let mut g = Graph::new();
    /// let x = g.data("x", "8 | 3")?;
    /// let (up, down) = (g.param_shaped("up", "... -> 16")?, g.param_shaped("down", "... -> 3")?);
    /// let hidden = g.compose(up, x)?;
    /// let y = g.compose(down, hidden)?;
    /// g.name(y, "y");
    /// let mut forward = Routine::new("forward");
    /// forward.forward(y);
    ///
    /// let mesh = Mesh { axes: vec![("data".into(), 4), ("model".into(), 2)] };
    /// let shard = |axes: &str, over: &str| Shard { axes: axes.into(), over: over.into() };
    /// let shards = vec![shard("x[batch, 0]", "data"), shard("up[output, 0]", "model")];
    /// let divided = Session::new(g)?.divide(&[forward], &Sharding { mesh, shards, stored_over: None, names: vec![] })?;
    /// // `down` follows from `up`, and its product is a sum over devices.
    /// let down = divided.tensors.iter().find(|tensor| tensor.name == "down").unwrap();
    /// assert_eq!((down.bytes, down.bytes_per_device), (4 * 48, 4 * 24));
    /// let [sum] = &divided.collectives[..] else { panic!() };
    /// assert_eq!((sum.kind, &sum.tensor[..], sum.bytes), (CollectiveKind::AllReduce, "y", 4 * 2 * 3));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn divide(&mut self, routines: &[Routine], sharding: &Sharding) -> Result<Divided, Error> {
        self.refresh()?;
        if let Some(name) = self.sizes.undecided() {
            return Err(self.no_number(name));
        }
        // Only XLA runs a division, whatever the backend of this session is.
        let lowered = |routine| self.lowered_for(&self.layout, routine, true);
        let lowered: Vec<Lowered> = routines.iter().map(lowered).collect::<Result<_, _>>()?;
        let nodes = Nodes::new(&lowered);
        // Not every buffer has the shape of its tensor: the matrices of a function lie in rows.
        let sizes = nodes.list.iter().map(|node| self.layout.buffer(&self.graph, *node).shape());
        let results: Vec<Vec<BufferId>> = lowered.iter().map(results).collect();
        let codes: Vec<Code<'_>> = lowered
            .iter()
            .zip(&nodes.of)
            .zip(&results)
            .map(|((lowered, tensors), results)| Code { program: &lowered.program, tensors, results })
            .collect();
        let groups = Groups::new(sizes.collect(), &codes);
        let names = candidates(&self.graph, (&self.layout, &self.inferred.shapes), &nodes, &sharding.names);
        let requests = resolve(sharding, &groups, &names)?;
        let mut divisions =
            divided((&self.graph, &self.layout), (&nodes, &groups), (sharding, &lowered), &requests, &codes)?;
        let mesh = sharding.mesh.clone();
        let whole = match &sharding.stored_over {
            Some(over) => {
                let over = mesh_axis(&mesh, over).map_err(|error| error.with_fact(Fact::StoredOver))?;
                self.divide_stored(over, &nodes, (&groups, &mesh), &codes, &mut divisions)
            }
            None => Vec::new(),
        };
        let mut sent = Vec::new();
        for (number, (code, lowered)) in codes.iter().zip(&lowered).enumerate() {
            for each in collectives(code, &mesh, &divisions) {
                sent.push(NeededCollective {
                    routine: number,
                    step: lowered.steps.get(each.nest).copied().unwrap_or_default(),
                    operation: lowered.program.nests[each.nest].comment.clone(),
                    kind: each.kind,
                    tensor: self.node_name(nodes.list[each.tensor]),
                    over: each.over,
                    bytes: each.bytes,
                    times: each.times,
                });
            }
        }
        let tensors = self.divided_tensors(&mesh, &lowered, &nodes, &divisions);
        let memory = self.device_memory(&mesh, (routines, &lowered), &nodes, &divisions);
        let nodes: FxHashMap<Content, Division> = nodes.list.into_iter().zip(divisions).collect();
        Ok(Divided { mesh, tensors, collectives: sent, memory, whole, nodes })
    }

    /// Divides parameters and the states of their optimisers over a mesh axis as well. Returns the names of those that stay whole.
    fn divide_stored(
        &self,
        over: usize,
        nodes: &Nodes,
        of: (&Groups, &Mesh),
        routines: &[Code<'_>],
        divisions: &mut [Division],
    ) -> Vec<String> {
        let roles: Vec<MemoryRole> = nodes.list.iter().map(|node| self.role(*node).1).collect();
        let axes = |tensor: usize| -> Vec<usize> {
            (0..divisions[tensor].len()).map(|place| of.0.of(Axis { tensor, place })).collect()
        };
        let all = 0..nodes.list.len();
        let parameters: Vec<usize> =
            all.clone().filter(|tensor| roles[*tensor] == MemoryRole::Parameter).collect();
        // A state of an optimiser has the axes of its parameter.
        let shapes: FxHashSet<Vec<usize>> = parameters.iter().map(|tensor| axes(*tensor)).collect();
        let states = all
            .filter(|tensor| roles[*tensor] == MemoryRole::State && shapes.contains(&axes(*tensor)))
            .filter(|tensor| !divisions[*tensor].is_empty());
        let tensors: Vec<usize> = parameters.iter().copied().chain(states).collect();
        let fixed: Vec<bool> =
            nodes.list.iter().map(|node| !matches!(node, Content::Value(_) | Content::Before(..))).collect();
        let stored = Stored { tensors: &tensors, fixed: &fixed, over };
        let whole = broadloom_mesh::divide_stored(&stored, of, routines, divisions);
        whole.into_iter().map(|tensor| self.node_name(nodes.list[tensor])).collect()
    }

    /// Runs routines from now on as they were divided, if the backend is XLA. It is an error if there are not enough devices.
    pub fn set_division(&mut self, divided: Divided) -> Result<(), Error> {
        if self.settings.backend == Backend::Xla && HAS_PROCESSES {
            self.engine = Arc::new(Xla::over(divided.mesh.devices(), &self.settings)?);
        }
        // What is on devices is divided as it was before, and may be on those of another process.
        self.store.bring_all_back()?;
        self.prepared.clear();
        self.divided = Some(Arc::new(divided));
        Ok(())
    }

    fn node_name(&self, node: Content) -> String {
        written_node(&self.graph, node).unwrap_or_else(|| self.layout.buffer(&self.graph, node).name)
    }

    fn divided_tensors(
        &self,
        mesh: &Mesh,
        routines: &[Lowered],
        nodes: &Nodes,
        divisions: &[Division],
    ) -> Vec<DividedTensor> {
        let lasts = |node: &Content| {
            let kept = |lowered: &Lowered| {
                let at = lowered.nodes.iter().position(|known| known == node);
                at.is_some_and(|at| lowered.program.buffers[at].storage == Storage::Kept)
            };
            routines.iter().any(kept)
        };
        let tensor = |(node, division): (&Content, &Division)| {
            let (tensor, role) = self.role(*node);
            let buffer = self.layout.buffer(&self.graph, *node);
            let bytes = buffer.shape().iter().product::<u64>() * buffer.dtype.bytes() as u64;
            let axis = |(place, (size, over)): (usize, (u64, &Option<usize>))| {
                let (kind, _) = row_of(&self.layout, tensor, place)?;
                Some(DividedAxis { kind, size, over: *over })
            };
            DividedTensor {
                name: self.node_name(*node),
                tensor,
                role,
                lasts: lasts(node),
                is_named: matches!(node, Content::Value(tensor) if self.graph.name_of(*tensor).is_some()),
                axes: buffer.shape().into_iter().zip(division).enumerate().filter_map(axis).collect(),
                bytes,
                bytes_per_device: bytes / mesh.parts(division),
            }
        };
        nodes.list.iter().zip(divisions).map(tensor).collect()
    }

    /// The memory that lasts on one device, and for each routine the most that it needs at the same time, by
    /// the lifetimes of the optimised program: with the new values of what lasts beside the old ones.
    fn device_memory(
        &self,
        mesh: &Mesh,
        (routines, lowered): (&[Routine], &[Lowered]),
        nodes: &Nodes,
        divisions: &[Division],
    ) -> DeviceMemory {
        let mut memory = DeviceMemory::default();
        let mut seen = vec![false; divisions.len()];
        for ((routine, lowered), numbers) in routines.iter().zip(lowered).zip(&nodes.of) {
            let program = self.optimised(&lowered.program);
            let mut at_once = vec![0; program.nests.len()];
            for ((buffer, used), number) in program.buffers.iter().zip(needed(&program)).zip(numbers) {
                let all = buffer.shape().iter().product::<u64>() * buffer.dtype.bytes() as u64;
                let bytes = all / mesh.parts(&divisions[*number]);
                match (buffer.storage, used) {
                    (Storage::Kept, _) if !seen[*number] => {
                        seen[*number] = true;
                        memory.lasting += bytes;
                    }
                    (Storage::Local, Some((first, last))) => {
                        at_once[first..=last].iter_mut().for_each(|sum| *sum += bytes);
                    }
                    _ => {}
                }
            }
            let most = at_once.into_iter().max().unwrap_or(0);
            let copies = copied(lowered, numbers, mesh, divisions);
            // Nothing is donated: the values from before the run are there until it has ended well.
            let old = lowered.gives.iter().filter_map(|node| Some((node, nodes.numbers.get(node)?)));
            let old: u64 = old
                .map(|(node, number)| {
                    let buffer = self.layout.buffer(&self.graph, *node);
                    let bytes = buffer.shape().iter().product::<u64>() * buffer.dtype.bytes() as u64;
                    bytes / mesh.parts(&divisions[*number])
                })
                .sum();
            memory.temporaries.push((routine.name().to_string(), most + copies + old));
        }
        memory
    }
}

/// The bytes of what a routine brings together from several devices. A copy may be read again until the end, so that all of them count.
fn copied(lowered: &Lowered, numbers: &[usize], mesh: &Mesh, divisions: &[Division]) -> u64 {
    let code = Code { program: &lowered.program, tensors: numbers, results: &[] };
    let copies: FxHashSet<(BufferId, Division)> =
        reads(&code, mesh, divisions).into_iter().map(|read| (read.cell.buffer, read.division)).collect();
    let bytes = |(id, division): &(BufferId, Division)| {
        let buffer = lowered.program.buffer(*id);
        buffer.shape().iter().product::<u64>() * buffer.dtype.bytes() as u64 / mesh.parts(division)
    };
    copies.iter().map(bytes).sum()
}

/// The buffers that are read after a routine has run.
fn results(lowered: &Lowered) -> Vec<BufferId> {
    let kept = |node: &Content| lowered.gives.contains(node) || lowered.watched.contains(node);
    (0..).map(BufferId).zip(&lowered.nodes).filter(|(_, node)| kept(node)).map(|(id, _)| id).collect()
}
