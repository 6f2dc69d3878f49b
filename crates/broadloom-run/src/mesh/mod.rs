//! Programs on a mesh of devices: names of axes become requests, and every tensor is divided as its axis groups are.

mod names;
mod table;

use std::fmt;

use broadloom_graph::lowering::{Face, MEMORY};
use broadloom_graph::{
    Advice, Code, Error, ErrorKind, Fact, Graph, Help, Kind, MessageLine, Setting, Tensor, Wording,
};
use broadloom_mesh::{Axis, Claim, Conflict, Division, Groups, Mesh, Request};
use rustc_hash::FxHashMap;

use crate::lower::{Content, Layout, Lowered};

pub(crate) use names::{candidates, mesh_axis, resolve};
pub use table::{DeviceMemory, Divided, DividedAxis, DividedTensor, NeededCollective};

/// A program's division over devices, as it is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sharding {
    /// The devices.
    pub mesh: Mesh,
    /// The division of tensors over mesh axes.
    pub shards: Vec<Shard>,
    /// The mesh axis over which parameters and the states of their optimisers are divided as well, each brought together where
    /// it is used.
    pub stored_over: Option<String>,
    /// Names of axes besides those that the graph knows.
    pub names: Vec<AxisName>,
}

/// A request to divide axes over a mesh axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shard {
    /// The axes: a named size, `path.label`, or `path[row, place]`. A `*` in it stands for any text.
    pub axes: String,
    /// The name of the mesh axis.
    pub over: String,
}

impl Shard {
    /// Reads `batch=data`: what is divided, and the mesh axis. None if one of the two is missing.
    ///
    /// ```
    /// use broadloom::Shard;
    ///
    /// let shard = Shard::read("w[output, 0] = model").unwrap();
    /// assert_eq!((&shard.axes[..], &shard.over[..]), ("w[output, 0]", "model"));
    /// assert_eq!(shard.to_string(), "w[output, 0]=model");
    /// assert!(Shard::read("batch=").is_none());
    /// ```
    pub fn read(text: &str) -> Option<Shard> {
        let (axes, over) = text.rsplit_once('=')?;
        match (axes.trim(), over.trim()) {
            ("", _) | (_, "") => None,
            (axes, over) => Some(Shard { axes: axes.into(), over: over.into() }),
        }
    }

    /// The request, for an error about it.
    pub(crate) fn fact(&self) -> Fact {
        Fact::Shard { axes: self.axes.clone(), over: self.over.clone() }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.axes, self.over)
    }
}

/// A name that a declaration has for an axis of its tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AxisName {
    /// The tensor.
    pub tensor: Tensor,
    /// The row of the axis.
    pub kind: Kind,
    /// The place in the row, counted from its beginning, or from its end.
    pub place: RowPlace,
    /// The name.
    pub name: String,
    /// True if it is the name of a size of the program, so that it means the same everywhere.
    pub is_size: bool,
}

/// A place in a row whose length is not known yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowPlace {
    /// So many axes come before it.
    FromStart(usize),
    /// So many axes come after it.
    FromEnd(usize),
}

impl RowPlace {
    /// The place in a row of some length.
    pub fn within(self, length: usize) -> Option<usize> {
        match self {
            RowPlace::FromStart(at) => Some(at),
            RowPlace::FromEnd(at) => length.checked_sub(at + 1),
        }
        .filter(|at| *at < length)
    }
}

/// The nodes of some routines, numbered.
pub(crate) struct Nodes {
    pub list: Vec<Content>,
    pub numbers: FxHashMap<Content, usize>,
    /// The tensor number of each buffer, by routine.
    pub of: Vec<Vec<usize>>,
}

impl Nodes {
    pub fn new(routines: &[Lowered]) -> Nodes {
        let (mut list, mut numbers) = (Vec::new(), FxHashMap::default());
        let mut number = |node: &Content| {
            *numbers.entry(*node).or_insert_with(|| {
                list.push(*node);
                list.len() - 1
            })
        };
        let of = routines.iter().map(|lowered| lowered.nodes.iter().map(&mut number).collect()).collect();
        Nodes { list, numbers, of }
    }
}

/// An axis of a node in words: `w.output.0`, as `broadloom explain` writes it.
pub(crate) fn axis_text(graph: &Graph, layout: &Layout, node: Content, place: usize) -> String {
    let name = crate::lower::written_node(graph, node);
    let (tensor, name) = (node.like(graph), name.unwrap_or_else(|| layout.buffer(graph, node).name));
    match row_of(layout, tensor, place) {
        Some((kind, at)) => format!("{name}.{}.{at}", kind.name()),
        None => name,
    }
}

/// The row of an axis in memory order, and its place there.
pub(crate) fn row_of(layout: &Layout, tensor: Tensor, mut place: usize) -> Option<(Kind, usize)> {
    for kind in MEMORY {
        let length = layout.shapes.sizes(tensor, kind).count();
        if place < length {
            return Some((kind, place));
        }
        place -= length;
    }
    None
}

/// The place in memory order of an axis of a row.
pub(crate) fn place_of(layout: &Layout, tensor: Tensor, kind: Kind, at: usize) -> Option<usize> {
    let length = |kind: Kind| layout.shapes.sizes(tensor, kind).count();
    let before: usize = MEMORY.into_iter().take_while(|known| *known != kind).map(length).sum();
    (at < length(kind)).then_some(before + at)
}

/// The divisions of numbered nodes, or the first conflict in words.
pub(crate) fn divided(
    (graph, layout): (&Graph, &Layout),
    (nodes, groups): (&Nodes, &Groups),
    (sharding, lowered): (&Sharding, &[Lowered]),
    requests: &[Request],
    routines: &[broadloom_mesh::Routine<'_>],
) -> Result<Vec<Division>, Error> {
    broadloom_mesh::divide(groups, &sharding.mesh, requests, routines).map_err(|conflicts| {
        let words = Words { graph, layout, nodes, sharding, lowered, requests };
        // An axis can only be chosen in a tensor that has a name.
        let named = conflicts.iter().find(|conflict| words.can_be_named(conflict));
        match named.or(conflicts.first()) {
            Some(conflict) => words.of(conflict, conflicts.len() - 1),
            None => Error::run("a division over a mesh failed without a reason; this is a defect".into()),
        }
    })
}

/// A setting of a division in Rust.
fn in_rust(code: &Code) -> String {
    match code {
        Code::Setting(Setting::Shard(axes, over)) => format!("Shard::read(\"{axes}={over}\")"),
        _ => "…".to_string(),
    }
}

/// Conflicts in words.
struct Words<'a> {
    graph: &'a Graph,
    layout: &'a Layout,
    nodes: &'a Nodes,
    sharding: &'a Sharding,
    lowered: &'a [Lowered],
    requests: &'a [Request],
}

impl Words<'_> {
    fn of(&self, conflict: &Conflict, others: usize) -> Error {
        let error = match conflict {
            Conflict::Uneven { claim, size } => {
                let (name, devices) = &self.sharding.mesh.axes[self.requests[claim.request].over];
                let axis = self.axis(claim.axis);
                let message = format!(
                    "`{axis}` has size {size}, which {devices} devices along `{name}` cannot share evenly"
                );
                self.error(message, &[*claim]).with_fact(Fact::MeshAxis(name.clone())).with_help(format!(
                    "choose a size that is a multiple of {devices}, or a mesh whose `{name}` divides {size}"
                ))
            }
            Conflict::Turns { claim, routine, nest } => {
                let (name, over) = (self.axis(claim.axis), self.over(*claim));
                let message = format!(
                    "`{name}` would be divided over `{over}`, and a scan goes along it, turn by turn"
                );
                let mut error = self.error(message, &[*claim]);
                if let Some(scan) = self.lowered[*routine].steps.get(*nest) {
                    let text = "each turn of the scan needs what the turn before it has made";
                    error = error.with_end(MessageLine::at(*scan, text));
                }
                error.with_help("divide another axis: that of the batch, or one of what the turns carry")
            }
            Conflict::TwoMeshAxes { first, second } if first.axis == second.axis => {
                let (axis, a, b) = (self.axis(first.axis), self.over(*first), self.over(*second));
                let message = format!("`{axis}` would be divided over `{a}` and over `{b}`");
                self.error(message, &[*first, *second])
                    .with_help("an axis is divided over one axis of the mesh: leave one of the two out")
            }
            Conflict::TwoMeshAxes { first, second } => {
                let (a, b) = (self.over(*first), self.over(*second));
                let message = format!(
                    "`{}` and `{}` are one axis, and would be divided over `{a}` and over `{b}`",
                    self.axis(first.axis),
                    self.axis(second.axis)
                );
                self.error(message, &[*first, *second])
                    .with_help("operations index both by one loop: leave one of the two out")
            }
            Conflict::TwoAxes { first, second, joined } => {
                let (a, b, over) = (self.axis(first.axis), self.axis(second.axis), self.over(*first));
                let message = format!("`{a}` and `{b}` would both be divided over `{over}`");
                let why = if *joined {
                    "both are one axis elsewhere"
                } else {
                    "a tensor is divided over a mesh axis once"
                };
                let help = match self.can_be_named(conflict) {
                    // What is made by a map that is divided at its output is made where it is needed.
                    true => {
                        let is_output = |claim: &Claim| self.row(claim.axis) == Some(Kind::Output);
                        let chosen = if is_output(first) || !is_output(second) { &a } else { &b };
                        let code = Code::Setting(Setting::Shard(chosen.clone(), over.to_string()));
                        let before = format!("{why}: name the one to divide, ");
                        Help::worded(Advice::Write, Wording::new(before).code(code), in_rust)
                    }
                    false => {
                        format!("{why}: give the tensor a name, by which the axis to divide can be chosen")
                            .into()
                    }
                };
                self.error(message, &[*first, *second]).with_help(help)
            }
        };
        match others {
            0 => error,
            1 => error.with_help("there is one more conflict"),
            _ => error.with_help(format!("there are {others} more conflicts")),
        }
    }

    fn axis(&self, axis: Axis) -> String {
        axis_text(self.graph, self.layout, self.nodes.list[axis.tensor], axis.place)
    }

    fn row(&self, axis: Axis) -> Option<Kind> {
        let tensor = self.nodes.list[axis.tensor].like(self.graph);
        row_of(self.layout, tensor, axis.place).map(|(kind, _)| kind)
    }

    /// True of two axes of a tensor that has a name, so that one of them can be chosen.
    fn can_be_named(&self, conflict: &Conflict) -> bool {
        match conflict {
            Conflict::TwoAxes { first, .. } => match self.nodes.list[first.axis.tensor] {
                Content::Value(tensor) => self.graph.name_of(tensor).is_some(),
                _ => false,
            },
            Conflict::TwoMeshAxes { .. } | Conflict::Uneven { .. } | Conflict::Turns { .. } => true,
        }
    }

    fn over(&self, claim: Claim) -> &str {
        &self.sharding.mesh.axes[self.requests[claim.request].over].0
    }

    /// An error with the tensors and the requests of its claims as ends.
    fn error(&self, message: String, claims: &[Claim]) -> Error {
        let mut error = Error::new(ErrorKind::Use, message);
        for claim in claims {
            let node = self.nodes.list[claim.axis.tensor];
            let shard = &self.sharding.shards[claim.request];
            let text = format!("`{}`, divided as `{shard}` says", self.axis(claim.axis));
            error = error.with_end(MessageLine::at(self.graph.made_by(node.like(self.graph)), text));
            error = error.with_fact(shard.fact());
        }
        match claims.first() {
            Some(claim) => error.about_step(self.nodes.list[claim.axis.tensor].step(self.graph)),
            None => error,
        }
    }
}
