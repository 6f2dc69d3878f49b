//! Recurrences in graphs that are built in Python: a scan is open while Python computes one turn of it.

use std::num::NonZeroU64;
use std::ops::Range;

use broadloom::{
    Along, Error, ErrorKind, Graph as Tensors, Kind, LeafKind, MessageLine, Node, OpenScan, Scanned, Tensor,
};

/// The scans of a graph: those whose turn is being computed, and what is left of turns that had a mistake.
#[derive(Default)]
pub struct Recurrences {
    /// The scans whose turn is being computed, the innermost last.
    open: Vec<Turn>,
    /// The tensors of turns that ended with a mistake, by their numbers.
    given_up: Vec<Range<usize>>,
}

/// A scan whose turn is being computed.
struct Turn {
    scan: OpenScan,
    /// The axis that it goes through.
    along: Along,
    /// The number of the first tensor that was made for it.
    start: usize,
}

impl Recurrences {
    /// Begins a scan over an axis of some tensors. Returns the tensors of a turn: the elements, and what is carried.
    pub fn begin(
        &mut self,
        graph: &mut Tensors,
        firsts: &[(&str, Tensor)],
        over: &[Tensor],
        along: Along,
        every: Option<NonZeroU64>,
    ) -> Result<[Vec<Tensor>; 2], Error> {
        let moved: Vec<Tensor> =
            over.iter().map(|tensor| gone_through(graph, *tensor, along)).collect::<Result<_, _>>()?;
        as_many_turns(graph, over, &moved)?;
        let start = graph.len();
        let mut scan = graph.begin_scan(firsts, &moved)?;
        every.into_iter().for_each(|turns| scan.checkpoint_every(turns));
        let made = [scan.elements.clone(), scan.carried.clone()];
        self.open.push(Turn { scan, along, start });
        Ok(made)
    }

    /// Ends the innermost scan, with what its turn made: first the next value of each tensor that is carried. The values of all turns are
    /// along the axis that was gone through.
    pub fn end(&mut self, graph: &mut Tensors, made: &[Tensor], wanted: &[Tensor]) -> Result<Scanned, Error> {
        let Some(Turn { scan, along, start }) = self.open.pop() else {
            return Err(Error::run("no scan is open".into()));
        };
        let next = &made[..scan.carried.len().min(made.len())];
        let ended = graph.end_scan(scan, next, wanted).and_then(|Scanned { collected, last }| {
            let collected = collected.into_iter().map(|tensor| put_back(graph, tensor, along));
            Ok(Scanned { collected: collected.collect::<Result<_, _>>()?, last })
        });
        if ended.is_err() {
            self.given_up.push(start..graph.len());
        }
        ended
    }

    /// Leaves the innermost scan, whose turn has a mistake.
    pub fn give_up(&mut self, graph: &mut Tensors) {
        if let Some(Turn { scan, start, .. }) = self.open.pop() {
            graph.give_up_scan(scan);
            self.given_up.push(start..graph.len());
        }
    }

    /// Refuses a tensor that has no value here, because it belongs to a turn of another scan.
    pub fn reachable(&self, graph: &Tensors, tensor: Tensor) -> Result<(), Error> {
        let label = || graph.label_of(tensor);
        if self.given_up.iter().any(|made| made.contains(&tensor.index())) {
            let message = format!("`{}` was made in a turn of a scan that had a mistake", label());
            return Err(
                Error::new(ErrorKind::Use, message).with_help("build the graph again, without the mistake")
            );
        }
        let carried = matches!(graph.node(tensor), Some(Node::Leaf { kind: LeafKind::Carried }));
        let open = || self.open.iter().any(|turn| turn.scan.carried.contains(&tensor));
        if !graph.is_of_turn(tensor) && (!carried || open()) {
            return Ok(());
        }
        let message = format!("`{}` belongs to one turn of a scan, and has no value outside of it", label());
        let help = "let the function of the turn return it behind what is carried: the scan then has its values of all turns";
        Err(Error::new(ErrorKind::Use, message).with_help(help))
    }

    /// Refuses a plan while a turn is being computed.
    pub fn outside(&self) -> Result<(), Error> {
        if self.open.is_empty() {
            return Ok(());
        }
        let message = "nothing can be run in the function of a turn: it computes one turn of a scan, whose values are known when all of it runs";
        Err(Error::new(ErrorKind::Use, message)
            .with_help("run what the scan gives back, or what is computed from it"))
    }
}

/// A tensor with the axis that is gone through as its first batch axis.
fn gone_through(graph: &mut Tensors, tensor: Tensor, along: Along) -> Result<Tensor, Error> {
    let shape = graph.shape(tensor);
    let row = &shape.rows[along.kind as usize];
    match (!row.open).then(|| row.lead.len() + row.trail.len()) {
        Some(0) => {
            let (label, kind) = (graph.label_of(tensor), along.kind.name());
            let message = format!("`{label}` has no {kind} axis to go through: it is `{shape}`");
            let help = "name the axis: `along=\"... | t, ...\"` is the first output axis, `along=\"..., t | ...\"` the last batch axis";
            let made =
                graph.step_of(tensor).map(|step| MessageLine::at(step, format!("`{label}` is `{shape}`")));
            let error = Error::new(ErrorKind::Use, message).with_help(help);
            Err(made.into_iter().fold(error, Error::with_end))
        }
        Some(1) if along.kind == Kind::Batch => Ok(tensor),
        _ if along == Along::first(Kind::Batch) => Ok(tensor),
        _ => along.to_front().map_or(Ok(tensor), |spec| graph.einsum(&spec, &[tensor])),
    }
}

/// The values of all turns, with the axis of turns where it was.
fn put_back(graph: &mut Tensors, tensor: Tensor, along: Along) -> Result<Tensor, Error> {
    let shape = graph.shape(tensor);
    let row = &shape.rows[Kind::Batch as usize];
    let alone = along.kind == Kind::Batch && !row.open && row.lead.len() + row.trail.len() == 1;
    let back = along.back().filter(|_| !alone && along != Along::first(Kind::Batch));
    back.map_or(Ok(tensor), |spec| graph.einsum(&spec, &[tensor]))
}

/// Refuses tensors with different numbers of elements to go through.
fn as_many_turns(graph: &Tensors, over: &[Tensor], moved: &[Tensor]) -> Result<(), Error> {
    let turns = |tensor: &Tensor| graph.shape(*tensor).rows[Kind::Batch as usize].lead.first()?.size();
    let mut known = over.iter().zip(moved).filter_map(|(tensor, moved)| Some((*tensor, turns(moved)?)));
    let Some((first, wanted)) = known.next() else { return Ok(()) };
    let Some((other, found)) = known.find(|(_, turns)| *turns != wanted) else { return Ok(()) };
    let [one, two] = [first, other].map(|tensor| graph.label_of(tensor));
    let message =
        format!("a scan goes through `{one}` ({wanted} elements) and `{two}` ({found}): lengths must match");
    let error = Error::new(ErrorKind::Mismatch, message);
    let ends = [(first, wanted), (other, found)].map(|(tensor, turns)| {
        graph.step_of(tensor).map(|step| MessageLine::at(step, format!("{turns} turns")))
    });
    Err(ends.into_iter().flatten().fold(error, Error::with_end))
}
