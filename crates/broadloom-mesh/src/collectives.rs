//! The communication between devices, operation by operation.
//!
//! The loops of a store that index its result are divided as the result is. A loop that is reduced is divided as what is read along
//! it, and every device has a part of the sum: an all-reduce puts the parts together. A divided axis that is not read along a loop
//! that is divided alike is brought together first: an all-gather.

use crate::access::{Access, AxisAddressing, Kind, accesses};
use crate::{Division, Mesh, Routine};
use broadloom_loops::{Cell, Index, LoopVar, Program, Repeat};

/// Something that several devices do together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collective {
    /// The place of the nest that needs it.
    pub nest: usize,
    /// Its kind.
    pub kind: CollectiveKind,
    /// The tensor that is sent.
    pub tensor: usize,
    /// The mesh axes along which devices take part.
    pub over: Vec<usize>,
    /// The bytes that each device has in the end.
    pub bytes: u64,
    /// The number of times that it happens in one run: once in each turn of the scan that the nest belongs to, and of those around it.
    pub times: u64,
}

/// A kind of collective.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CollectiveKind {
    /// Every device has a part of each sum, and gets the sums.
    AllReduce,
    /// Every device has some of the elements, and gets all of them.
    AllGather,
}

/// The collectives of a routine, given the division of each tensor. Nests whose results are never read need none.
pub fn collectives(routine: &Routine<'_>, mesh: &Mesh, divisions: &[Division]) -> Vec<Collective> {
    let all = accesses(routine.program);
    let live = live(routine, &all);
    let mut reading = Reading::new(routine, mesh, divisions);
    let mut found = Vec::new();
    for (access, _) in all.iter().zip(live).filter(|(_, live)| *live) {
        reading.enter(access.nest);
        let divided = reading.loops(access);
        reading.gathers(access, &divided, &mut found);
        match access.kind {
            Kind::Check => reading.check(access, &mut found),
            Kind::Store(_) => reading.reduction(access, &divided, &mut found),
        }
        if access.kind != Kind::Check {
            reading.versions[access.cell.buffer.index()] += 1;
        }
    }
    found
}

/// A read of a tensor in another division than it is stored in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Read {
    /// The place of the nest that reads.
    pub nest: usize,
    /// The cell that it reads.
    pub cell: Cell,
    /// The division that is left when axes have been brought together.
    pub division: Division,
}

/// Everything that a routine reads in another division than it is stored in.
pub fn reads(routine: &Routine<'_>, mesh: &Mesh, divisions: &[Division]) -> Vec<Read> {
    let reading = Reading::new(routine, mesh, divisions);
    let mut found = Vec::new();
    for access in accesses(routine.program) {
        let divided = reading.loops(&access);
        for cell in &access.reads {
            let (division, over) = reading.left(&access, cell, &divided);
            if !over.is_empty() {
                found.push(Read { nest: access.nest, cell: cell.clone(), division });
            }
        }
    }
    found
}

/// For each access, true if its result is read in the end.
fn live(routine: &Routine<'_>, all: &[Access<'_>]) -> Vec<bool> {
    let mut needed = vec![false; routine.program.buffers.len()];
    routine.results.iter().for_each(|id| needed[id.index()] = true);
    let mut live = vec![false; all.len()];
    let mut end = all.len();
    while end > 0 {
        let repeat = repeat_of(routine.program, all[end - 1].nest);
        let start = match repeat {
            Some(repeat) => all.partition_point(|access| access.nest < repeat.nests.start),
            None => end - 1,
        };
        // What a turn writes may be read by the next one, earlier in its nests.
        loop {
            let before = live[start..end].to_vec();
            for at in (start..end).rev() {
                let access = &all[at];
                live[at] |= access.kind == Kind::Check || needed[access.cell.buffer.index()];
                if live[at] {
                    access.reads.iter().for_each(|cell| needed[cell.buffer.index()] = true);
                }
            }
            if live[start..end] == before {
                break;
            }
        }
        end = start;
    }
    live
}

/// The repeat that a nest belongs to, the outermost one if there are several.
fn repeat_of(program: &Program, nest: usize) -> Option<&Repeat> {
    let around = program.repeats.iter().filter(|repeat| repeat.nests.contains(&nest));
    around.max_by_key(|repeat| repeat.nests.len())
}

/// A loop with the mesh axis that it is divided over.
type Divided = Vec<(LoopVar, usize)>;

struct Reading<'a> {
    routine: &'a Routine<'a>,
    mesh: &'a Mesh,
    divisions: &'a [Division],
    /// The number of times that each buffer was written so far.
    versions: Vec<usize>,
    /// Tensors that were brought together: the buffer, its version, and the division that is left.
    gathered: Vec<(usize, usize, Division)>,
    /// The repeat that is being walked.
    inside: Option<&'a Repeat>,
}

impl<'a> Reading<'a> {
    fn new(routine: &'a Routine<'a>, mesh: &'a Mesh, divisions: &'a [Division]) -> Reading<'a> {
        let versions = vec![0; routine.program.buffers.len()];
        Reading { routine, mesh, divisions, versions, gathered: Vec::new(), inside: None }
    }

    /// Goes to a nest. What a scan writes is another thing in its turns than before it and behind it.
    fn enter(&mut self, nest: usize) {
        let repeat = repeat_of(self.routine.program, nest);
        if repeat.map(|repeat| &repeat.nests) == self.inside.map(|repeat| &repeat.nests) {
            return;
        }
        for left in [self.inside, repeat].into_iter().flatten() {
            let written = self.program().written(left.nests.clone());
            written.into_iter().for_each(|id| self.versions[id.index()] += 1);
        }
        self.inside = repeat;
    }

    fn program(&self) -> &Program {
        self.routine.program
    }

    /// The division of the buffer of a cell.
    fn division(&self, cell: &Cell) -> &Division {
        &self.divisions[self.routine.tensors[cell.buffer.index()]]
    }

    /// The axes of a cell: the loop along which a device has its part of each, if there is one, and the mesh axis it is divided over. The
    /// highest digit of a position is such a loop, if the devices can share its values evenly.
    fn axes(&self, access: &Access<'_>, cell: &Cell) -> Vec<(Option<LoopVar>, Option<usize>)> {
        let sizes = self.program().buffer(cell.buffer).shape();
        let axis = |((index, size), over): ((&Index, &u64), &Option<usize>)| {
            let along = match access.way(index, *size) {
                AxisAddressing::Along(var) => Some(var),
                AxisAddressing::Highest(var) => {
                    over.filter(|over| access.extent(var).is_multiple_of(self.mesh.size(*over))).map(|_| var)
                }
                AxisAddressing::Other => None,
            };
            (along, *over)
        };
        cell.index.iter().zip(&sizes).zip(self.division(cell)).map(axis).collect()
    }

    /// The loops that are divided.
    fn loops(&self, access: &Access<'_>) -> Divided {
        let mut divided = Divided::new();
        if access.kind != Kind::Check {
            for (along, over) in self.axes(access, access.cell) {
                if let (Some(var), Some(over)) = (along, over) {
                    divided.push((var, over));
                }
            }
        }
        for cell in &access.reads {
            for (along, over) in self.axes(access, cell) {
                if let (Some(var), Some(over)) = (along, over)
                    && (access.kind == Kind::Check || is_reduced(access.cell, var))
                    && divided.iter().all(|(known, used)| *known != var && *used != over)
                {
                    divided.push((var, over));
                }
            }
        }
        divided
    }

    /// The division of what is read that the loops can use, and the mesh axes that they cannot.
    fn left(&self, access: &Access<'_>, cell: &Cell, divided: &Divided) -> (Division, Vec<usize>) {
        let mut left = self.division(cell).clone();
        let mut over = Vec::new();
        for (place, (along, axis)) in self.axes(access, cell).into_iter().enumerate() {
            let Some(axis) = axis else { continue };
            if !along.is_some_and(|var| divided.contains(&(var, axis))) {
                left[place] = None;
                over.push(axis);
            }
        }
        (left, over)
    }

    /// The all-gathers of what is read along axes that are divided in another way than the loops.
    fn gathers(&mut self, access: &Access<'_>, divided: &Divided, found: &mut Vec<Collective>) {
        for cell in &access.reads {
            let (left, over) = self.left(access, cell, divided);
            let buffer = cell.buffer.index();
            let known = (buffer, self.versions[buffer], left.clone());
            if over.is_empty() || self.gathered.contains(&known) {
                continue;
            }
            self.gathered.push(known);
            let bytes = self.bytes(cell, self.mesh.parts(&left));
            let mut sent = self.collective(access, CollectiveKind::AllGather, cell, over, bytes);
            // What no turn changes is brought together before the first one.
            sent.times = self.turns(access.nest, |repeat| writes(self.program(), repeat, cell));
            found.push(sent);
        }
    }

    /// The all-reduce of a result that devices have parts of.
    fn reduction(&self, access: &Access<'_>, divided: &Divided, found: &mut Vec<Collective>) {
        let reduced = divided.iter().filter(|(var, _)| is_reduced(access.cell, *var));
        let over: Vec<usize> = reduced.map(|(_, over)| *over).collect();
        if over.is_empty() {
            return;
        }
        let kept = self.axes(access, access.cell).into_iter().map(|(along, over)| along.and(over));
        let bytes = self.bytes(access.cell, self.mesh.parts(&kept.collect()));
        found.push(self.collective(access, CollectiveKind::AllReduce, access.cell, over, bytes));
    }

    /// A check finds the first wrong number of all devices, and that number: two integers of 32 bits.
    fn check(&self, access: &Access<'_>, found: &mut Vec<Collective>) {
        let over: Vec<usize> = self.division(access.cell).iter().flatten().copied().collect();
        if !over.is_empty() {
            let each = self.collective(access, CollectiveKind::AllReduce, access.cell, over, 4);
            found.extend([each.clone(), each]);
        }
    }

    /// The bytes of the buffer of a cell, in one of some parts.
    fn bytes(&self, cell: &Cell, parts: u64) -> u64 {
        let buffer = self.program().buffer(cell.buffer);
        buffer.shape().iter().product::<u64>() / parts * buffer.dtype.bytes() as u64
    }

    fn collective(
        &self,
        access: &Access<'_>,
        kind: CollectiveKind,
        cell: &Cell,
        mut over: Vec<usize>,
        bytes: u64,
    ) -> Collective {
        over.sort_unstable();
        over.dedup();
        let tensor = self.routine.tensors[cell.buffer.index()];
        let times = self.turns(access.nest, |_| true);
        Collective { nest: access.nest, kind, tensor, over, bytes, times }
    }

    /// The number of times that a nest runs because of some of the repeats around it, one inside of the other.
    fn turns(&self, nest: usize, counts: impl Fn(&Repeat) -> bool) -> u64 {
        let around =
            self.program().repeats.iter().filter(|repeat| repeat.nests.contains(&nest) && counts(repeat));
        around.map(|repeat| repeat.turns.as_number().unwrap_or_default() as u64).product()
    }
}

/// True if a turn writes the buffer of a cell.
fn writes(program: &Program, repeat: &Repeat, cell: &Cell) -> bool {
    program.written(repeat.nests.clone()).contains(&cell.buffer)
}

/// True if a cell does not depend on a loop, or only through numbers that are looked up: the loop adds to cells that other iterations
/// add to as well.
fn is_reduced(cell: &Cell, var: LoopVar) -> bool {
    cell.index.iter().all(|index| match index {
        Index::At(sum) => sum.terms.iter().all(|(_, known)| *known != var),
        Index::Symbol(_) | Index::Value(_) => true,
    })
}
