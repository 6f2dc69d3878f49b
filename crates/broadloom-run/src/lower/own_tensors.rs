//! Tensors that operations keep for themselves: their names, and the tensors whose shapes they have.

use broadloom_graph::lowering::{Face, Slot};
use broadloom_graph::{Graph, StepId, Tensor};

use super::law::DIVISORS;

/// The name of a tensor that an operation keeps for itself, and the place of the tensor whose indices it has.
fn own(graph: &Graph, step: StepId, slot: u32, backward: bool) -> Option<(&str, usize)> {
    let Some(law) = graph.law(step) else {
        let results = graph.step_results(step).count();
        return Some((if (slot as usize) < results { "ties" } else { DIVISORS }, 0));
    };
    let law = if backward { law.gradient_law() } else { law.forward_law() };
    match law.slots.get(slot as usize)? {
        Slot::Own(name, place) => Some((&**name, *place as usize)),
        _ => None,
    }
}

pub(crate) fn own_name(graph: &Graph, step: StepId, slot: u32, backward: bool) -> String {
    own(graph, step, slot, backward).map_or_else(String::new, |(name, _)| name.to_string())
}

pub(crate) fn own_like(graph: &Graph, step: StepId, slot: u32, backward: bool) -> Tensor {
    let result = graph.first_result(step);
    if graph.law(step).is_none() {
        let results: Vec<Tensor> = graph.step_results(step).collect();
        return results.get(slot as usize % results.len().max(1)).copied().unwrap_or(result);
    }
    let place = own(graph, step, slot, backward).map_or(0, |(_, place)| place);
    let operand = place.checked_sub(1).and_then(|at| graph.step_operands(step).get(at).copied());
    operand.unwrap_or(result)
}
