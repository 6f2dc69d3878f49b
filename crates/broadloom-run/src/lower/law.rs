//! The computation of each step, as assignments over slots.

use std::sync::Arc;

use broadloom_graph::lowering::{Assignment, Face, Formula, Law, Op, Slot, Special};
use broadloom_graph::{
    Accumulate, Combine, Error, ErrorKind, Graph, Operation, OperationId, Projected, StepId,
};
use broadloom_loops::Binary;

/// An assignment of a law, ready to be lowered: its target and the operands that it uses.
pub(super) struct LawAssignment {
    pub target: Slot,
    pub clear: bool,
    pub accumulate: Option<Binary>,
    pub value: Formula,
    pub slots: Vec<Slot>,
    /// True if loops that none of its tensors mentions are left out: for a term that is added once
    /// to a contraction.
    pub own_loops: bool,
}

/// The computation of a step when the operands at some places take part (place 1 is the first).
pub(super) fn forward_pieces(
    graph: &Graph,
    step: StepId,
    parts: &[u32],
) -> Result<Vec<LawAssignment>, Error> {
    Ok(match rule(graph, step)? {
        Rule::Law(operation) => {
            all_take_part(graph, step, parts)?;
            pieces(operation.forward_law())
        }
        Rule::BuiltIn(operation) => pieces(operation.forward_law()),
        Rule::Product { accumulate, combine } => {
            if combine == Combine::Where {
                all_take_part(graph, step, parts)?;
            }
            let (value, slots) = combined(combine, factors(graph, step, parts));
            vec![LawAssignment {
                own_loops: true,
                ..piece(Slot::Value(0), true, Some(accumulate), value, slots)
            }]
        }
        Rule::Collect => {
            vec![piece(Slot::Value(0), false, None, Formula::Name(0), vec![Slot::Value(1)])]
        }
        Rule::ProductAndSum => {
            let (value, slots) = combined(Combine::Product, &[1, 2]);
            let sum = piece(Slot::Value(0), false, Some(Binary::Add), Formula::Name(0), vec![Slot::Value(3)]);
            vec![
                piece(Slot::Value(0), true, Some(Binary::Add), value, slots),
                LawAssignment { own_loops: true, ..sum },
            ]
        }
    })
}

/// Collects the facts about all candidates of a cell that gradients through a step need. For the greatest or
/// the least, that is the number of candidates that are it: they share the gradient. For a product, it is the
/// number of those that cannot be divided by, and the product of the others.
pub(super) fn ties(graph: &Graph, step: StepId, parts: &[u32]) -> Result<Vec<LawAssignment>, Error> {
    let Rule::Product { accumulate, combine } = rule(graph, step)? else { return Ok(Vec::new()) };
    let (all, mut slots) = combined(combine, factors(graph, step, parts));
    let kept = |target, function, value, slots| LawAssignment {
        own_loops: true,
        ..piece(target, true, Some(function), value, slots)
    };
    Ok(match accumulate {
        Binary::Max | Binary::Min => {
            slots.push(Slot::Value(0));
            let counts = Formula::binary(Binary::Equal, all, Formula::Name(slots.len() as u32 - 1));
            vec![kept(ties_slot(), Binary::Add, counts, slots)]
        }
        Binary::Mul => {
            let regular = Formula::select(is_no_divisor(all.clone()), Formula::Number(1.0), all.clone());
            vec![
                kept(ties_slot(), Binary::Add, is_no_divisor(all), slots.clone()),
                kept(divisors_slot(), Binary::Mul, regular, slots),
            ]
        }
        _ => Vec::new(),
    })
}

/// A formula that is true if a number is 0, infinite or not a number.
fn is_no_divisor(number: Formula) -> Formula {
    let difference = Formula::binary(Binary::Sub, number.clone(), number.clone());
    let not_finite = Formula::binary(Binary::NotEqual, difference, Formula::Number(0.0));
    Formula::binary(Binary::Or, Formula::binary(Binary::Equal, number, Formula::Number(0.0)), not_finite)
}

/// The gradients of a step when the operands at some places take part. If several candidates meet
/// in a cell, `shared` says that [`ties`] were counted.
pub(super) fn gradient_pieces(
    graph: &Graph,
    step: StepId,
    parts: &[u32],
    shared: bool,
) -> Result<Vec<LawAssignment>, Error> {
    Ok(match rule(graph, step)? {
        Rule::Law(operation) => {
            all_take_part(graph, step, parts)?;
            pieces(operation.gradient_law())
        }
        Rule::BuiltIn(operation) => pieces(operation.gradient_law()),
        Rule::Product { accumulate, combine } => {
            let parts = factors(graph, step, parts);
            // The only candidate of a cell is the value of the cell, like a sum of one term.
            let chosen = !shared && matches!(accumulate, Binary::Max | Binary::Min | Binary::Mul);
            let accumulate = if chosen { Binary::Add } else { accumulate };
            let through = if combine == Combine::Where { &parts[1..] } else { parts };
            through.iter().map(|part| partial(accumulate, combine, *part, parts)).collect()
        }
        Rule::Collect => vec![partial(Binary::Add, Combine::Product, 1, &[1])],
        Rule::ProductAndSum => {
            let sum =
                piece(Slot::Gradient(3), false, Some(Binary::Add), Formula::Name(0), vec![Slot::Gradient(0)]);
            let factor = |part| partial(Binary::Add, Combine::Product, part, &[1, 2]);
            vec![factor(1), factor(2), LawAssignment { own_loops: true, ..sum }]
        }
    })
}

/// Windows reach into margins, which hold the neutral value of their accumulation. Combined with
/// another operand the value must stay neutral: `0 · x` for sums, `−∞ + x` for maxima.
pub(super) fn check_margins(graph: &Graph, step: StepId, nest: &Projected) -> Result<(), Error> {
    let Rule::Product { accumulate, combine } = rule(graph, step)? else { return Ok(()) };
    let operands = nest.results..nest.tensors.len();
    let reaches = |at: usize| nest.margins(at).iter().any(|margin| *margin != (0, 0));
    let absorbed = matches!(
        (accumulate, combine),
        (Binary::Add, Combine::Product) | (Binary::Max | Binary::Min, Combine::Sum)
    );
    if absorbed || operands.len() < 2 || !operands.clone().any(reaches) {
        return Ok(());
    }
    let message = "a padded window needs sums of products, or the greatest or least of sums";
    let error = Error::new(ErrorKind::Use, message).inside(&quoted(graph, step)).about_step(step);
    Err(error.with_help("use a window inside the axis: `o<+k`"))
}

/// The text of a step in quotes, as messages begin.
pub(super) fn quoted(graph: &Graph, step: StepId) -> String {
    format!("`{}`", graph.step_text(step))
}

/// Assignments that name their operands need all of them at every point; in concatenations some are
/// missing.
fn all_take_part(graph: &Graph, step: StepId, parts: &[u32]) -> Result<(), Error> {
    let operands = graph.step_operands(step);
    let Some(missing) = (1..=operands.len() as u32).find(|place| !parts.contains(place)) else {
        return Ok(());
    };
    let name = graph.label_of(operands[missing as usize - 1]);
    let message = format!("`{name}` is not there in every part of the result");
    Err(Error::new(ErrorKind::Use, message)
        .inside(&quoted(graph, step))
        .about_step(step)
        .with_help("concatenate with `einsum` first, then compute with the result"))
}

/// The operands that are combined. For a lookup this is only the table, since the other operand is
/// its index.
fn factors<'a>(graph: &Graph, step: StepId, parts: &'a [u32]) -> &'a [u32] {
    if graph.special(step).and_then(Special::lookup).is_some() { &parts[..parts.len().min(1)] } else { parts }
}

/// The operands that can get a gradient, numbered from 1.
pub(super) fn differentiable(graph: &Graph, step: StepId) -> Vec<u32> {
    if graph.special(step).and_then(Special::sorting).is_some() {
        return Vec::new();
    }
    let places: Vec<u32> = (1..=graph.step_operands(step).len() as u32).collect();
    // All that is combined; the formulas, each of which mentions all, are not needed for that.
    if let Ok(Rule::Product { combine, .. }) = rule(graph, step) {
        // A condition has no gradient.
        let first = usize::from(combine == Combine::Where);
        return factors(graph, step, &places)[first..].to_vec();
    }
    let pieces = gradient_pieces(graph, step, &places, true).unwrap_or_default();
    let target = |piece: &LawAssignment| match piece.target {
        Slot::Gradient(place) => Some(place),
        _ => None,
    };
    pieces.iter().filter_map(target).collect()
}

fn rule(graph: &Graph, step: StepId) -> Result<Rule, Error> {
    if let Some(law) = graph.law(step) {
        return Ok(Rule::Law(Arc::clone(law)));
    }
    let Some((op, arity)) = graph.op(step) else {
        return Err(Error::new(ErrorKind::Use, "a leaf computes nothing"));
    };
    let product = |accumulate, combine| Ok(Rule::Product { accumulate, combine });
    match op {
        Op::Pointwise(id) => match id.operation() {
            Some(operation) if operation.arity() == arity => Ok(Rule::BuiltIn(operation)),
            _ => Err(no_law(graph, step, id)),
        },
        Op::Compose | Op::Transpose | Op::Slice(_) => product(Binary::Add, Combine::Product),
        Op::Collect => Ok(Rule::Collect),
        Op::ComposeAccumulate => Ok(Rule::ProductAndSum),
        Op::Einsum { accumulate, combine, .. } => product(function(accumulate), combine),
        Op::Convert { factor, divisor } if factor == divisor => product(Binary::Add, Combine::Product),
        Op::Convert { .. } => {
            let message = "a conversion that changes the number of elements cannot be run";
            Err(Error::new(ErrorKind::Use, message).inside(&quoted(graph, step)).about_step(step))
        }
    }
}

fn no_law(graph: &Graph, step: StepId, id: OperationId) -> Error {
    let operands = graph.step_operands(step).len();
    let message = format!("there is no operation `{id}` of {operands} operands that could be run");
    Error::new(ErrorKind::Use, message).inside(&quoted(graph, step)).about_step(step).with_help(
        "say what it computes: `Operation::new(name, operands).forward(\"v = …\")`, and `apply` it",
    )
}

/// The rule by which a step computes its results.
enum Rule {
    Law(Arc<Operation>),
    BuiltIn(&'static Operation),
    /// All operands that take part are combined, and accumulated.
    Product {
        accumulate: Binary,
        combine: Combine,
    },
    /// `a @ b + d`.
    ProductAndSum,
    /// A turn of a scan writes its part of the result.
    Collect,
}

fn function(accumulate: Accumulate) -> Binary {
    match accumulate {
        Accumulate::Sum => Binary::Add,
        Accumulate::Product => Binary::Mul,
        Accumulate::Max => Binary::Max,
        Accumulate::Min => Binary::Min,
    }
}

fn piece(
    target: Slot,
    clear: bool,
    accumulate: Option<Binary>,
    value: Formula,
    slots: Vec<Slot>,
) -> LawAssignment {
    LawAssignment { target, clear, accumulate, value, slots, own_loops: false }
}

fn pieces(law: &Law) -> Vec<LawAssignment> {
    let each = |assignment: &Assignment| {
        let Assignment { target, clear, accumulate, value, .. } = assignment;
        piece(law.slots[*target as usize].clone(), *clear, *accumulate, value.clone(), law.slots.clone())
    };
    law.assignments.iter().map(each).collect()
}

/// Combines all operands that take part.
fn combined(combine: Combine, parts: &[u32]) -> (Formula, Vec<Slot>) {
    let slots = parts.iter().map(|part| Slot::Value(*part)).collect();
    let function = match combine {
        Combine::Product => Binary::Mul,
        Combine::Sum => Binary::Add,
        Combine::Where => {
            return (Formula::select(Formula::Name(0), Formula::Name(1), Formula::Name(2)), slots);
        }
    };
    let names = (0..parts.len() as u32).map(Formula::Name);
    let value = names.reduce(|a, b| Formula::binary(function, a, b)).unwrap_or(Formula::Number(0.0));
    (value, slots)
}

/// The slot for the number of candidates that are the greatest or least of a cell of the result.
fn ties_slot() -> Slot {
    Slot::Own("ties".into(), 0)
}

/// The slot for the product of the candidates of a cell that can be divided by.
fn divisors_slot() -> Slot {
    Slot::Own(DIVISORS.into(), 0)
}

/// The name of that product.
pub(super) const DIVISORS: &str = "divisors";

/// The gradient of one operand, from the gradient of the result and the other operands.
///
/// | accumulated by | contribution |
/// |---|---|
/// | sum | `g · others` |
/// | product | `g · (v / (this · others)) · others`; if `this · others` is 0 or not finite, `g · divisors · others` if it alone is, and else `g · v · others` |
/// | greatest, least | `g / ties · others` where `this · others` is the result |
///
/// `others` is their product; where operands are added, it is 1, and where one chooses between two, it is 1 or 0. `ties` is the number of candidates
/// that equal the result, so that they share the gradient and its total is preserved; in a product, it is the number of those that are 0 or not
/// finite, and `divisors` is the product of all others.
fn partial(accumulate: Binary, combine: Combine, part: u32, parts: &[u32]) -> LawAssignment {
    let (all, mut slots) = combined(combine, parts);
    let mut name = |slot: Slot| {
        slots.push(slot);
        Formula::Name(slots.len() as u32 - 1)
    };
    let (g, v) = (name(Slot::Gradient(0)), name(Slot::Value(0)));
    let incoming = match accumulate {
        Binary::Mul => {
            let times = |a: &Formula, b: Formula| Formula::binary(Binary::Mul, a.clone(), b);
            let divided = times(&g, Formula::binary(Binary::Div, v.clone(), all.clone()));
            let alone = Formula::binary(Binary::Equal, name(ties_slot()), Formula::Number(1.0));
            let undivided = Formula::select(alone, times(&g, name(divisors_slot())), times(&g, v));
            Formula::select(is_no_divisor(all), undivided, divided)
        }
        Binary::Max | Binary::Min => {
            let share = Formula::binary(Binary::Div, g, name(ties_slot()));
            Formula::select(Formula::binary(Binary::Equal, all, v), share, Formula::Number(0.0))
        }
        _ => g,
    };
    let incoming = match (combine, part) {
        (Combine::Where, 2) => Formula::select(Formula::Name(0), incoming, Formula::Number(0.0)),
        (Combine::Where, _) => Formula::select(Formula::Name(0), Formula::Number(0.0), incoming),
        _ => incoming,
    };
    let others = parts.iter().enumerate().filter(|(_, other)| combine == Combine::Product && **other != part);
    let value =
        others.fold(incoming, |value, (at, _)| Formula::binary(Binary::Mul, value, Formula::Name(at as u32)));
    LawAssignment { own_loops: true, ..piece(Slot::Gradient(part), false, Some(Binary::Add), value, slots) }
}
