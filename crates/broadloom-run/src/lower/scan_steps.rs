//! The steps of scans as a graph has them: which belong to one, and which tensors have a value in its turns only.

use std::sync::Arc;

use broadloom_graph::lowering::{Face, Scan};
use broadloom_graph::{Error, ErrorKind, Graph, StepId, Tensor};

/// The scans among some steps, each once.
pub(super) fn scans<'g>(graph: &'g Graph, steps: &[StepId]) -> Vec<&'g Arc<Scan>> {
    let mut scans: Vec<&Arc<Scan>> = Vec::new();
    for scan in steps.iter().filter_map(|step| graph.scan_of(*step)) {
        if !scans.iter().any(|known| Arc::ptr_eq(known, scan)) {
            scans.push(scan);
        }
    }
    scans
}

/// Returns true if a tensor is computed in every turn of a scan, and has no value outside of it.
pub(super) fn is_inside(graph: &Graph, tensor: Tensor) -> bool {
    let step = graph.made_by(tensor);
    graph.scan_within(step, None).is_some_and(|scan| scan.body.contains(&step))
}

/// The steps of a scan, in order.
pub(super) fn steps_of(scan: &Scan) -> Vec<StepId> {
    let firsts = scan.carried.iter().map(|carried| carried.first);
    let mut steps: Vec<StepId> = firsts.collect();
    steps.extend(scan.body.iter().chain(&scan.collected).chain(&scan.last));
    steps.sort_unstable();
    steps
}

/// The error for a tensor that is asked for outside of the scan that computes it.
pub(super) fn inside_only(graph: &Graph, tensor: Tensor) -> Error {
    let name = graph.label_of(tensor);
    Error::new(
        ErrorKind::Use,
        format!("`{name}` is computed anew in every turn of a scan, and has no value outside"),
    )
    .about_step(graph.made_by(tensor))
    .with_help("let the scan carry it: then its values of all turns, and its last one, are results")
}
