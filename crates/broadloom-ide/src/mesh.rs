//! Programs on a mesh of devices: how each tensor is divided, and what devices send each other.

use broadloom::{CollectiveKind, Divided, DividedTensor, Kind, NeededCollective};
use broadloom_diagnostics::{Diagnostic, Sources};
use broadloom_lang::{OnMesh, Origins, Program};
use serde::Serialize;

use crate::analysis::Analysis;
use crate::memory::word;
use crate::place::Line;

/// A program on a mesh.
#[derive(Clone, Debug, Serialize)]
pub struct Meshed {
    /// The name of the text.
    pub file: String,
    /// None if the program has errors, or cannot be divided as it is asked for.
    pub mesh: Option<MeshTable>,
    /// Errors of the program, and of the division.
    #[serde(skip)]
    pub diagnostics: Vec<Diagnostic>,
}

/// The division of a program over the devices of a mesh.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MeshTable {
    /// The axes of the mesh.
    pub axes: Vec<MeshAxis>,
    /// The number of devices.
    pub devices: u64,
    /// Every tensor that routines mention, in order.
    pub tensors: Vec<ShardedTensor>,
    /// For each routine what devices send each other in one run.
    pub routines: Vec<SentBy>,
    /// The bytes on one device of what lasts from run to run.
    pub lasting: u64,
    /// The bytes on one device of what lasts, and of what the routine that needs most needs at the same time.
    pub peak: u64,
    /// Parameters and states that were to be divided, and have no axis that the devices can share evenly.
    pub whole: Vec<String>,
}

/// An axis of a mesh.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MeshAxis {
    /// Its name.
    pub name: String,
    /// The number of devices along it.
    pub size: u64,
}

/// A tensor, divided.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ShardedTensor {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub group: &'static str,
    /// Its shape, with the mesh axis after the size of each axis that is divided: `8/data | 32`.
    pub shape: String,
    /// For each axis in memory order the mesh axis that it is divided over.
    pub over: Vec<Option<String>>,
    /// Its bytes, each element counted once.
    pub bytes: u64,
    /// Its bytes on one device.
    pub bytes_per_device: u64,
    /// True if it lasts from run to run.
    pub lasts: bool,
    /// True if it has a name that the program itself gives.
    #[serde(skip)]
    pub own: bool,
}

/// The communication of a routine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SentBy {
    /// Its name.
    pub name: String,
    /// The bytes on one device of the tensors that it needs at the same time, besides those that last.
    pub temporaries: u64,
    /// The communication of each operation, in order.
    pub collectives: Vec<Sent>,
    /// The sums by kind and mesh axes.
    pub totals: Vec<SentInAll>,
}

/// A collective operation of devices for an operation of the program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Sent {
    /// The operation.
    pub operation: String,
    /// The tensor that is sent.
    pub tensor: String,
    /// `all-reduce` or `all-gather`.
    pub kind: &'static str,
    /// The mesh axes along which devices take part.
    pub over: Vec<String>,
    /// The bytes that each device has in the end.
    pub bytes: u64,
    /// The number of times that it happens in one run: in a scan once in each turn.
    pub times: u64,
    /// The line that the operation is made on.
    #[serde(flatten)]
    pub place: Line,
}

/// Collectives of one kind along the same mesh axes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SentInAll {
    /// `all-reduce` or `all-gather`.
    pub kind: &'static str,
    /// The mesh axes along which devices take part.
    pub over: Vec<String>,
    /// The number of collectives.
    pub count: u64,
    /// The sum of their bytes.
    pub bytes: u64,
}

/// Divides a program whose sizes [are open](Analysis::open) over the devices of a mesh, or of its own if none is asked for. There is
/// no table if it has none.
///
/// ```
/// use broadloom::{Mesh, Shard};
/// use broadloom_ide::{Analysis, Text, meshed};
/// use broadloom_lang::OnMesh;
///
/// let text = Text::new("a.loom", "dim batch = 8\ndata x : batch | 3\nlet loss = mean(square({w : ... -> 2} @ x))\n");
/// let on = OnMesh {
///     mesh: Mesh { axes: vec![("data".into(), 4)] },
///     shards: vec![Shard { axes: "batch".into(), over: "data".into() }],
///     stored_over: None,
/// };
/// let table = meshed(&mut Analysis::open(&text), Some(&on)).mesh.unwrap();
/// assert_eq!(table.tensors[0].shape, "8/data | 3");
/// assert_eq!(table.routines[0].totals[0].bytes, 4);
/// ```
pub fn meshed(analysis: &mut Analysis, on: Option<&OnMesh>) -> Meshed {
    let (divided, diagnostics) = divided(&mut analysis.program, on);
    let mesh = divided.map(|divided| table(analysis, &divided));
    Meshed { file: analysis.name.clone(), mesh, diagnostics }
}

/// The conflicts between a program and its own mesh. A program that has mistakes anyway is not divided. All its operations are lowered for this, so an editor asks
/// after it has shown the [diagnostics](crate::diagnostics()).
///
/// ```
/// use broadloom_ide::{Analysis, Text, conflicts_on_mesh};
///
/// let text = "dim batch = 6\ndata x : batch | 3\nprint mean(x)\nmesh(data = 4, shard = [\"batch=data\"])\n";
/// let found = conflicts_on_mesh(&Analysis::new(&Text::new("a.loom", text)));
/// assert_eq!(found[0].message, "`x.batch.0` has size 6, which 4 devices along `data` cannot share evenly");
/// ```
pub fn conflicts_on_mesh(analysis: &Analysis) -> Vec<Diagnostic> {
    let program = &analysis.program;
    let Some(on) = program.devices(None).filter(|_| program.is_ok()) else { return Vec::new() };
    if analysis.text.sizes.is_empty() {
        let refused = program.divide(&program.routines(), on).err();
        return refused.map(|wrong| *wrong).into_iter().collect();
    }
    // Sizes that are set are numbers where shapes are shown. What is divided is the program that runs, where they are open.
    let (_, found) = divided(&mut Analysis::open(&analysis.text).program, None);
    found.into_iter().filter(|found| !program.diagnostics.contains(found)).collect()
}

/// The division of a program, if it has a mesh and nothing stands in the way, and all that is to be said about the program.
fn divided(program: &mut Program, on: Option<&OnMesh>) -> (Option<Divided>, Vec<Diagnostic>) {
    let wrong = program.check_sizes();
    let mut diagnostics: Vec<Diagnostic> = program.diagnostics.iter().cloned().chain(wrong).collect();
    let is_right = !diagnostics.iter().any(Diagnostic::is_error);
    let on = program.devices(on).filter(|_| is_right);
    match on.map(|on| program.divide(&program.routines(), on)) {
        Some(Ok(divided)) => return (Some(divided), diagnostics),
        Some(Err(wrong)) => diagnostics.push(*wrong),
        None => {}
    }
    (None, diagnostics)
}

fn table(analysis: &Analysis, divided: &Divided) -> MeshTable {
    let name = |axis: &usize| divided.mesh.axes[*axis].0.clone();
    let own: Vec<_> =
        analysis.program.made.iter().filter(|made| made.level == 0).map(|made| made.tensor).collect();
    let tensor = |each: &DividedTensor| ShardedTensor {
        name: each.name.clone(),
        group: word(each.role),
        shape: shape(divided, each),
        over: each.axes.iter().map(|axis| axis.over.as_ref().map(name)).collect(),
        bytes: each.bytes,
        bytes_per_device: each.bytes_per_device,
        lasts: each.lasts,
        own: each.is_named && own.contains(&each.tensor),
    };
    let (sources, origins) = (&analysis.program.sources, &analysis.program.origins);
    let routine = |(at, (routine, temporaries)): (usize, &(String, u64))| SentBy {
        name: routine.clone(),
        temporaries: *temporaries,
        collectives: divided
            .collectives
            .iter()
            .filter(|each| each.routine == at)
            .filter_map(|each| sent(each, each.over.iter().map(name).collect(), sources, origins))
            .collect(),
        totals: divided
            .totals(at)
            .into_iter()
            .map(|(kind, over, count, bytes)| SentInAll {
                kind: kind_word(kind),
                over: over.iter().map(name).collect(),
                count,
                bytes,
            })
            .collect(),
    };
    MeshTable {
        axes: divided
            .mesh
            .axes
            .iter()
            .map(|(name, size)| MeshAxis { name: name.clone(), size: *size })
            .collect(),
        devices: divided.mesh.devices(),
        tensors: divided.tensors.iter().map(tensor).collect(),
        routines: divided.memory.temporaries.iter().enumerate().map(routine).collect(),
        lasting: divided.memory.lasting,
        peak: divided.memory.peak(),
        whole: divided.whole.clone(),
    }
}

fn sent(each: &NeededCollective, over: Vec<String>, sources: &Sources, origins: &Origins) -> Option<Sent> {
    Some(Sent {
        operation: each.operation.clone(),
        tensor: each.tensor.clone(),
        kind: kind_word(each.kind),
        over,
        bytes: each.bytes,
        times: each.times,
        place: Line::new(sources, origins.get(each.step)?.span),
    })
}

fn kind_word(kind: CollectiveKind) -> &'static str {
    match kind {
        CollectiveKind::AllReduce => "all-reduce",
        CollectiveKind::AllGather => "all-gather",
    }
}

/// A shape with the mesh axes of its divided axes.
fn shape(divided: &Divided, tensor: &DividedTensor) -> String {
    let row = |kind: Kind| {
        let axes = tensor.axes.iter().filter(|axis| axis.kind == kind).map(|axis| match axis.over {
            Some(over) => format!("{}/{}", axis.size, divided.mesh.axes[over].0),
            None => axis.size.to_string(),
        });
        axes.collect::<Vec<_>>().join(", ")
    };
    let (batch, input, output) = (row(Kind::Batch), row(Kind::Input), row(Kind::Output));
    let batch = if batch.is_empty() { batch } else { format!("{batch} | ") };
    let input = if input.is_empty() { input } else { format!("{input} -> ") };
    let text = format!("{batch}{input}{output}");
    if text.is_empty() { "()".into() } else { text.trim_end().to_string() }
}
