//! Advice about a conflict of sizes or of numbers of axes.

use broadloom_core::order::Dim;
use broadloom_diagnostics::{Advice, Arithmetic, Code, Fact, Help, Wording};
use broadloom_spec::Kind;

use super::{Case, ends, labels, repairs};
use crate::names::inner;
use crate::operation::id::OperationId;
use crate::operation::table::Pointwise;
use crate::shape::elements;
use crate::step::{Aspect, Leaf, Op, Step, StepId, Tensor};
use crate::{Graph, names, partial_shape, rust_code, spec_axis};

/// Advice about a written size of one where the other size is different.
const WRITTEN_ONE: &str =
    "a written size of 1 does not broadcast: declare the axis `1:unit`, or leave it out";

/// The rule of a product.
pub(super) fn contracts() -> Wording {
    Wording::default()
        .code(Code::Contraction)
        .words(" contracts the input of the left side with the output of the right side")
}

/// Advice about two sizes that do not agree.
pub(super) fn advice(graph: &Graph, case: Case<'_>, ends: [Dim; 2]) -> Option<Help> {
    let operation = super::op(graph, case.refused);
    let repair = match operation {
        Some(Op::Pointwise(_)) => repairs::repair(graph, case.refused),
        _ => None,
    };
    if repair.is_some() {
        return repair;
    }
    if let Some(help) = advice_on_claims(graph, case, ends) {
        return Some(help);
    }
    if let (Some(Op::Pointwise(OperationId::Pointwise(Pointwise::Mul))), &[a, b]) =
        (operation, names::step_operands(graph, case.refused))
        && (super::known_row(graph, a, Kind::Input).is_some_and(|inputs| !inputs.is_empty())
            || matches!(graph.leaf(a), Some(Leaf::Param)) && !graph.rows(a)[Kind::Input as usize].is_empty())
    {
        let [a, b] = [a, b].map(|tensor| inner(&names::message_name(graph, tensor)));
        let help = Wording::new("`*` is pointwise; the matrix product is ").code(Code::product(&a, &b));
        return Some(rust_code::help_of(Advice::Product, help));
    }
    match graph.steps.get(case.refused.index())? {
        Step::Op { op: Op::Pointwise(_), .. } => {
            if let Some(pairs) = repairs::all_pairs(graph, case.refused) {
                return Some(pairs);
            }
            let [a, b] = ends.map(|end| super::shown(graph, end));
            Some(Help::rule(format!(
                "make both {a} or both {b}: axes are matched from the last one backwards, and only missing axes broadcast"
            )))
        }
        Step::Op { op: Op::Compose | Op::ComposeAccumulate, .. } if is_contraction(graph, case) => {
            let twice = used_twice(graph, case, ends).map(Help::from);
            let advice = twice.or_else(|| product_advice(graph, case.refused));
            Some(advice.unwrap_or_else(|| rust_code::help_of(Advice::Rule, contracts())))
        }
        Step::Op { op: Op::Einsum { id, .. }, .. } if id.is_joined() => {
            let [a, b] = ends.map(|end| super::shown(graph, end));
            Some(joined_advice(graph, case.refused, [&a, &b]))
        }
        Step::Op { op: Op::Einsum { .. }, .. } => {
            let [a, b] = ends.map(|end| super::shown(graph, end));
            Some(labels::spec_advice(graph, case, [&a, &b]))
        }
        Step::Set(_, size) => {
            let other = ends.into_iter().filter_map(elements).find(|end| end != size)?;
            Some(Help::rule(format!("set it to {other}, or change what makes it {other}")))
        }
        Step::Equal(..) => Some("sizes that are said to be equal have to agree: change one of them".into()),
        Step::Declared(_) => Some("change the shape that is stated, or what makes it otherwise".into()),
        Step::Square(_) => Some("a square map has the same axes as input and as output".into()),
        _ => None,
    }
}

/// Advice for parts that are put together and differ in another axis than the one that they are joined along.
pub(super) fn joined_advice(graph: &Graph, step: StepId, [a, b]: [&str; 2]) -> Help {
    let along = if differ_once(graph, step) { ", or join them along that axis" } else { "" };
    Help::rule(format!(
        "parts that are put together agree in all axes but the one that they are joined along: make both {a} or both {b}{along}"
    ))
}

/// Returns true if the operands of a step differ in no more than one axis.
fn differ_once(graph: &Graph, step: StepId) -> bool {
    let &[a, b, ..] = names::step_operands(graph, step) else { return false };
    let rows = Kind::ALL.map(|kind| (super::known_row(graph, a, kind), super::known_row(graph, b, kind)));
    let differing = |(a, b): (Option<Vec<String>>, Option<Vec<String>>)| {
        let (a, b) = (a?, b?);
        (a.len() == b.len()).then(|| a.iter().zip(&b).filter(|(a, b)| a != b).count())
    };
    rows.into_iter().map(differing).sum::<Option<usize>>().is_some_and(|count| count <= 1)
}

/// Advice about units, ones and bases: sizes that agree, or seem to, and claims that do not.
fn advice_on_claims(graph: &Graph, case: Case<'_>, ends: [Dim; 2]) -> Option<Help> {
    let one = |dim: &Dim| matches!(dim, Dim::Atom(_)) && elements(*dim) == Some(1);
    match ends {
        _ if ends.contains(&Dim::Unit) && ends.iter().any(one) => Some(
            "`1:unit` makes no claim and broadcasts, `1` claims to be one wide and does not: write the same in both places".into(),
        ),
        _ if ends.contains(&Dim::Unit) => Some(
            "`1:unit` is an axis that claims no size; a spec matches axes exactly and does not broadcast them".into(),
        ),
        [Dim::Atom(a), Dim::Atom(b)] if a.size == b.size => {
            let [first, second] = ends.map(|end| super::shown(graph, end));
            let plain = ends.iter().zip([&second, &first]).find(|(end, _)| !super::shown(graph, **end).contains(':'));
            Some(match plain {
                Some((end, other)) => format!(
                    "the sizes agree, the bases do not: that of a plain `{}` is `default`; write `{other}` in both places",
                    super::shown(graph, *end)
                )
                .into(),
                None => "the sizes agree, the bases do not: a basis says what an axis counts, and is the same in both places".into(),
            })
        }
        _ => (ends.iter().any(one) && has_broadcast(graph, case)).then(|| Help::rule(WRITTEN_ONE)),
    }
}

/// Returns true if some operation of the case broadcasts its operands.
fn has_broadcast(graph: &Graph, case: Case<'_>) -> bool {
    case.core.constraints.iter().any(|id| {
        let operation = super::op(graph, super::origin(graph, *id).step);
        matches!(operation, Some(Op::Pointwise(_) | Op::Compose | Op::ComposeAccumulate))
    })
}

/// Returns true if the refused step contracts, and the contraction is part of the conflict.
fn is_contraction(graph: &Graph, case: Case<'_>) -> bool {
    let mut origins = case.core.constraints.iter().map(|id| super::origin(graph, *id));
    origins.any(|origin| origin.part == Aspect::Contract && origin.step == case.refused)
}

/// Suggests how two tensors could be multiplied.
pub(super) fn product_advice(graph: &Graph, step: StepId) -> Option<Help> {
    let &[a, b, ..] = names::step_operands(graph, step) else { return None };
    if let Some(help) = fitting_product(graph, a, b) {
        return Some(help);
    }
    if let Some(declared) = leading_batch(graph, a, b) {
        let help = contracts().words(": if the axes before count a batch, declare ").and(declared);
        return Some(rust_code::help_of(Advice::Declare(vec![names::message_name(graph, b)]), help));
    }
    if let Some(help) = without_inputs(graph, a, b) {
        return Some(help);
    }
    let help = contracts().words(": declare ").and(declared_map(graph, a, b)?);
    Some(rust_code::help_of(Advice::Declare(vec![names::message_name(graph, a)]), help))
}

/// The axes of a row, if it has any.
fn axes(graph: &Graph, tensor: Tensor, kind: Kind) -> Option<Vec<String>> {
    super::known_row(graph, tensor, kind).filter(|row| !row.is_empty())
}

/// Another product of the two tensors, or of their parts, that would fit.
fn fitting_product(graph: &Graph, a: Tensor, b: Tensor) -> Option<Help> {
    let row = |tensor: Tensor, kind: Kind| axes(graph, tensor, kind);
    let fit = |x: (Tensor, Kind), y: (Tensor, Kind)| {
        row(x.0, x.1).is_some_and(|sizes| row(y.0, y.1) == Some(sizes))
    };
    let [left, right] = [a, b].map(|tensor| inner(&names::message_name(graph, tensor)));
    let would_fit = |product: Code| {
        let help = contracts().words(": ").code(product).words(" would fit");
        Some(rust_code::help_of(Advice::Product, help))
    };
    let turned = |tensor: Tensor| Code::Transpose(Box::new(Code::tensor(names::message_name(graph, tensor))));
    if let Some(map) = transpose_of(graph, a).filter(|map| fit((*map, Kind::Input), (b, Kind::Output))) {
        return would_fit(Code::product(&inner(&names::message_name(graph, map)), &right));
    }
    if fit((b, Kind::Input), (a, Kind::Output)) {
        return would_fit(Code::product(&right, &left));
    }
    if let Some((first, second)) = composed(graph, a).filter(|(first, second)| {
        fit((*first, Kind::Input), (b, Kind::Output)) && fit((*second, Kind::Input), (*first, Kind::Output))
    }) {
        let [first, second] = [first, second].map(|tensor| inner(&names::message_name(graph, tensor)));
        return would_fit(Code::Product([second, first, right].map(Code::Tensor).to_vec()));
    }
    if row(a, Kind::Input).is_some() && fit((a, Kind::Output), (b, Kind::Output)) {
        if let Some(turned) = turned_around(graph, a) {
            return Some(Help::declare(&names::message_name(graph, a), turned));
        }
        return would_fit(Code::Product(vec![turned(a), Code::Tensor(right)]));
    }
    if row(b, Kind::Input).is_some() && fit((a, Kind::Input), (b, Kind::Input)) {
        return would_fit(Code::Product(vec![Code::Tensor(left), turned(b)]));
    }
    None
}

/// Advice for a product of tensors that have no input axes: to declare them as maps, or a spec that says what is contracted.
fn without_inputs(graph: &Graph, a: Tensor, b: Tensor) -> Option<Help> {
    let row = |tensor: Tensor, kind: Kind| axes(graph, tensor, kind);
    let [left, right] = [a, b].map(|tensor| inner(&names::message_name(graph, tensor)));
    let operands = [&left, &right].map(Code::tensor);
    let by_spec = |spec: &str| Code::einsum(spec, operands.clone());
    let no_inputs = |words: &str, code: Code| {
        Some(rust_code::help(Wording::new(format!("neither has input axes: {words}")).code(code)))
    };
    let matrix = |tensor: Tensor| row(tensor, Kind::Output).filter(|_| repairs::only_output(graph, tensor));
    if let (Some(m), Some(n)) = (matrix(a), matrix(b))
        && let ([rows, inner], [first, columns]) = (&m[..], &n[..])
        && inner == first
    {
        let help = Wording::new("a matrix is a map, with its input before `->`: declare `")
            .name(&left)
            .words(format!("` as `{inner} -> {rows}` and `"))
            .name(&right)
            .words(format!("` as `{columns} -> {first}`, or say with a spec what is contracted: "))
            .code(by_spec("i j; j k => i k"));
        return Some(rust_code::help_of(Advice::Declare(vec![left, right]), help));
    }
    if let (Some(m), Some([last])) = (repairs::declared_outputs(graph, a), row(b, Kind::Output).as_deref())
        // Outputs first, or inputs first as in NumPy.
        && let Some((inner, others)) = [m.split_last(), m.split_first()]
            .into_iter()
            .flatten()
            .find(|(inner, others)| *inner == last && !others.is_empty())
    {
        let help = Wording::new("a matrix is a map, with its input before `->`: declare `")
            .name(&left)
            .words(format!("` as `{inner} -> {}`", others.join(", ")));
        return Some(Help::declare(&left, help));
    }
    if repairs::only_output(graph, a)
        && repairs::only_output(graph, b)
        && row(a, Kind::Output) == row(b, Kind::Output)
    {
        let products = Code::Arithmetic(Arithmetic::Mul, Box::new(operands.clone()));
        return no_inputs("the sum of all products is ", Code::SumOfAll(Box::new(products)));
    }
    let vectors = |tensor: Tensor| {
        graph.rows(tensor)[Kind::Input as usize].is_empty() && row(tensor, Kind::Batch).is_some()
    };
    let pair = |tensor: Tensor| row(tensor, Kind::Output).filter(|axes| axes.len() == 2);
    if vectors(a)
        && vectors(b)
        && let (Some(m), Some(n)) = (pair(a), pair(b))
        && m[1] == n[0]
    {
        let code = by_spec("... | i j; ... | j k => ... | i k");
        return no_inputs("say with a spec what is contracted: ", code);
    }
    let last = |tensor: Tensor, kind: Kind| row(tensor, kind).and_then(|axes| axes.last().cloned());
    if vectors(a)
        && vectors(b)
        && last(a, Kind::Output) == last(b, Kind::Batch)
        && last(a, Kind::Output) != last(b, Kind::Output)
    {
        let code = by_spec("... s | t; ... t | d => ... s | d");
        return no_inputs("say with a spec what is contracted, ", code);
    }
    if vectors(a) && vectors(b) {
        let code = by_spec("... s | d; ... t | d => ... s | t");
        return no_inputs("say with a spec what is contracted, as in ", code);
    }
    None
}

/// Advice for a parameter that is declared with its output before `->`: a learned map need not be transposed.
fn turned_around(graph: &Graph, map: Tensor) -> Option<Wording> {
    graph.declarations.get(&map.0).filter(|_| matches!(graph.leaf(map), Some(Leaf::Param)))?;
    let [input, output] = [Kind::Input, Kind::Output].map(|kind| super::known_row(graph, map, kind));
    let (input, output, name) = (input?.join(", "), output?.join(", "), names::message_name(graph, map));
    let help = Wording::new("a map is `input -> output`: declare `").name(name);
    Some(help.words(format!("` as `{output} -> {input}`, or `... -> {input}`, and its input is inferred")))
}

/// The declaration that would make a leaf a map of what it is applied to.
fn declared_map(graph: &Graph, map: Tensor, tensor: Tensor) -> Option<Wording> {
    let leaf = graph.leaf(map).filter(|_| graph.declarations.contains_key(&map.0))?;
    // The axes of an open leaf may be those that the refused product gave it.
    if graph.leaf(tensor).is_some() && graph.rows(tensor)[Kind::Output as usize].hole.is_some() {
        return None;
    }
    super::known_row(graph, map, Kind::Input).filter(|row| !row.is_empty())?;
    let [input, output] =
        [super::known_row(graph, tensor, Kind::Output)?, super::known_row(graph, map, Kind::Output)?];
    let batch = super::known_row(graph, map, Kind::Batch)?.join(", ");
    if input.is_empty() || !batch.is_empty() {
        return None;
    }
    let [input, output] = [input, output].map(|row| row.join(", "));
    let inferred = match leaf {
        Leaf::Param => format!(", or `... -> {output}`, and its input is inferred"),
        _ => String::new(),
    };
    let declared = Wording::new("`").name(names::message_name(graph, map));
    Some(declared.words(format!("` as `{input} -> {output}`{inferred}")))
}

/// The parameter that reads two sizes, because it is applied twice.
fn one_map(graph: &Graph, case: Case<'_>) -> Option<Tensor> {
    let map = *names::step_operands(graph, case.refused).first()?;
    let mut contractions = case.core.constraints.iter().filter_map(|id| {
        let origin = super::origin(graph, *id);
        (origin.part == Aspect::Contract).then_some(origin.step)
    });
    let again = contractions
        .any(|step| step != case.refused && names::step_operands(graph, step).first() == Some(&map));
    let is_param = matches!(graph.leaf(map), Some(Leaf::Param));
    (again && is_param && is_contraction(graph, case)).then_some(map)
}

/// The facts of a conflict of sizes.
pub(super) fn facts(graph: &Graph, case: Case<'_>, ends: [Dim; 2]) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let [Some(a), Some(b)] = ends.map(elements)
        && a != b
    {
        facts.push(Fact::Sizes([a, b]));
        let parts =
            [(a, b), (b, a)].into_iter().find_map(|(end, other)| ends::parts(graph, case, end, other));
        facts.extend(parts);
    }
    let is_product = matches!(super::op(graph, case.refused), Some(Op::Compose | Op::ComposeAccumulate));
    let map = one_map(graph, case).filter(|_| is_product);
    facts.extend(map.map(|map| Fact::OneMap { name: names::message_name(graph, map) }));
    facts
}

/// Advice for a parameter that reads two sizes, because it is applied twice.
fn used_twice(graph: &Graph, case: Case<'_>, ends: [Dim; 2]) -> Option<Wording> {
    let map = one_map(graph, case)?;
    let (name, output) = (
        names::message_name(graph, map),
        partial_shape::partial_row(graph, graph.rows(map)[Kind::Output as usize]),
    );
    let own = output.trail.last().or(output.lead.last().filter(|_| !output.open)).map(ToString::to_string);
    let reads_its_own = own.filter(|own| ends.iter().any(|end| super::shown(graph, *end) == *own));
    let help = Wording::new("`").name(name).words("` is one map, wherever it is applied");
    Some(match reads_its_own {
        Some(own) => help.words(format!(
            ", and reads its own result, {own} wide, too: make what it reads first {own} wide, or make a second layer"
        )),
        None => help.words(": make both sizes equal, or a second map for the other"),
    })
}

/// The two maps that a map is composed of.
fn composed(graph: &Graph, tensor: Tensor) -> Option<(Tensor, Tensor)> {
    let step = graph.tensors.get(tensor.index())?.step;
    match (super::op(graph, step), names::step_operands(graph, step)) {
        (Some(Op::Compose), &[first, second]) => Some((first, second)),
        _ => None,
    }
}

/// The tensor that a tensor is the transpose of.
fn transpose_of(graph: &Graph, tensor: Tensor) -> Option<Tensor> {
    let step = graph.tensors.get(tensor.index())?.step;
    if super::op(graph, step) == Some(Op::Transpose) { spec_axis::slot_tensor(graph, step, 0) } else { None }
}

/// Advice for a factor whose output ends with the input of the other: the axes before may be
/// meant as a batch.
fn leading_batch(graph: &Graph, map: Tensor, tensor: Tensor) -> Option<Wording> {
    let (input, output) =
        (super::known_row(graph, map, Kind::Input)?, super::known_row(graph, tensor, Kind::Output)?);
    let before = output.strip_suffix(&input[..])?;
    if before.is_empty() || input.is_empty() || !repairs::only_output(graph, tensor) {
        return None;
    }
    let declared = Wording::new("`").name(names::message_name(graph, tensor));
    Some(declared.words(format!("` as `{} | {}`", before.join(", "), input.join(", "))))
}
