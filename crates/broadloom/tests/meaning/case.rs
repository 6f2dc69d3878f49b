//! One operation on small tensors: builds it, runs its nest, and compares with the definitions.

use std::fmt;

use broadloom::{Error, Graph, Padding, Projected, SliceIndex, SpecOptions, Tensor};
use broadloom_core::projection::Verdict;
use broadloom_testing::Dice;

use crate::meaning::array::{Array, Form};
use crate::meaning::broadcast::{self, Broadcast, Operand};
use crate::meaning::notation::{self, Meaning, Use};
use crate::meaning::runner::{self, Run, SUM};

/// The origin of an operand.
#[derive(Clone, Debug)]
pub enum Source {
    Data(Form),
    /// Made by a spec whose result rows have this many axes before a hole, and possibly negated.
    Spread {
        form: Form,
        leads: [usize; 3],
        trails: [usize; 3],
        negated: bool,
    },
    /// A parameter with this declaration, or with none.
    Param(Option<String>),
    Constant,
    /// The same tensor as an earlier operand.
    Same(usize),
}

#[derive(Clone, Debug)]
pub enum Operation {
    Broadcast(Broadcast),
    Slice { position: u64, index: SliceIndex },
    Einsum(Use),
}

/// An operation and its operands.
#[derive(Clone, Debug)]
pub struct Case {
    pub sources: Vec<Source>,
    pub operation: Operation,
    /// The shapes of the results, if they are known beforehand.
    pub expected: Option<Vec<Form>>,
    /// An operation that reads the first result, by a spec.
    pub reader: Option<String>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for source in &self.sources {
            match source {
                Source::Data(form) => writeln!(f, "  data {form}")?,
                Source::Spread { form, leads, negated, .. } => {
                    writeln!(f, "  data {form}, with markers after {leads:?}, negated: {negated}")?;
                }
                other => writeln!(f, "  {other:?}")?,
            }
        }
        match &self.operation {
            Operation::Einsum(usage) => {
                write!(f, "  {:?} {:?} {:?}", usage.spec, usage.padding, usage.coefficients)?;
                write!(f, " set {:?}", usage.sizes)?;
            }
            other => write!(f, "  {other:?}")?,
        }
        if let Some(reader) = &self.reader {
            write!(f, ", then {reader:?}")?;
        }
        Ok(())
    }
}

/// The outcome of a case.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Outcome {
    /// The nest and the definitions agree.
    Agreed { points: u64 },
    /// There is no nest, as expected: two operands meet in one part of a concatenation, a tensor
    /// never takes part, or a value would be added repeatedly.
    Clashed,
}

/// Operands in the graph, each with its marker.
struct Built {
    operands: Vec<(Tensor, [usize; 3])>,
    results: Vec<Tensor>,
}

impl Case {
    /// Compares the nest of the operation with its definition on random numbers.
    pub fn check(&self, graph: &mut Graph, random: &mut Dice) -> Result<Outcome, String> {
        self.check_after(graph, random, |_, _| {})
    }

    /// Like [`check`](Case::check), after a change of the nest.
    pub fn check_after(
        &self,
        graph: &mut Graph,
        random: &mut Dice,
        change: impl FnOnce(&mut Projected, &mut Dice),
    ) -> Result<Outcome, String> {
        graph.clear();
        let built = self.build(graph).map_err(|error| format!("refused: {error}"))?;
        let form = |graph: &mut Graph, tensor: Tensor| {
            graph
                .final_shape(tensor)
                .map(|shape| Form::of(&shape))
                .map_err(|error| format!("no shape: {error}"))
        };
        let mut results = Vec::new();
        for tensor in &built.results {
            results.push(form(graph, *tensor)?);
        }
        let mut operands = Vec::new();
        for (slot, (tensor, _)) in built.operands.iter().enumerate() {
            let form = form(graph, *tensor)?;
            // The same tensor has the same numbers.
            let first = built.operands.iter().position(|(other, _)| other == tensor).unwrap_or(slot);
            let array = match operands.get(first) {
                Some((_, array)) => Array::clone(array),
                None => Array::random(form.memory(), random),
            };
            operands.push((form, array));
        }
        if let Some(expected) = &self.expected
            && !(expected.len() == results.len()
                && expected.iter().zip(&results).all(|(a, b)| a.same_sizes(b)))
        {
            return Err(format!("shapes {}, expected {}", list(&results), list(expected)));
        }
        let meaning = self.meaning(&built, &operands, &results);
        let meaning = meaning.map_err(|message| format!("the definitions do not apply: {message}"))?;
        let mut nest = match graph.projection(built.results[0]) {
            Ok(_) if meaning.clash => return Err(String::from("the operands clash, and there is a nest")),
            Ok(_) if meaning.pointless => return Err(String::from("it makes no sense, and there is a nest")),
            Ok(nest) => nest,
            Err(_) if meaning.may_clash || meaning.pointless => return Ok(Outcome::Clashed),
            Err(error) => return Err(format!("no nest: {error}")),
        };
        change(&mut nest, random);
        self.check_header(&nest, &built, &results, &operands)?;
        runner::check_order(&nest)?;
        let arrays: Vec<&Array> = operands.iter().map(|(_, array)| array).collect();
        let symbol = if let Operation::Slice { position, .. } = self.operation { position } else { 0 };
        let run = runner::run(&nest, &arrays, symbol, &meaning.padded, SUM);
        let run = run.map_err(|message| format!("{message}\n{nest:?}"))?;
        for (result, (found, expected)) in run.results.iter().zip(&meaning.results).enumerate() {
            if found != expected {
                return Err(format!(
                    "result {result} of {operands:?}\nis {found:?}\nnot {expected:?}\n{nest:?}"
                ));
            }
        }
        if run.points != meaning.points {
            return Err(format!("{} points, {} by definition\n{nest:?}", run.points, meaning.points));
        }
        check_verdicts(&nest, &run, &meaning)?;
        Ok(Outcome::Agreed { points: run.points })
    }

    /// Checks the tensors and sizes that the nest refers to.
    fn check_header(
        &self,
        nest: &Projected,
        built: &Built,
        results: &[Form],
        operands: &[(Form, Array)],
    ) -> Result<(), String> {
        let tensors: Vec<Tensor> =
            built.results.iter().copied().chain(built.operands.iter().map(|(tensor, _)| *tensor)).collect();
        let forms = results.iter().chain(operands.iter().map(|(form, _)| form));
        let sizes: Vec<Vec<u64>> = forms.map(Form::memory).collect();
        let own: Vec<Vec<u64>> = (0..nest.sizes.len()).map(|at| nest.shape(at)).collect();
        if nest.tensors != tensors || nest.results != results.len() || own != sizes {
            return Err(format!("the nest is for other tensors: {:?} {:?}", nest.tensors, nest.sizes));
        }
        Ok(())
    }

    /// The value by definition.
    fn meaning(
        &self,
        built: &Built,
        operands: &[(Form, Array)],
        results: &[Form],
    ) -> Result<Meaning, String> {
        let (array, points) = match &self.operation {
            Operation::Broadcast(op) => {
                let operands: Vec<Operand<'_>> = operands
                    .iter()
                    .zip(&built.operands)
                    .map(|((form, array), (_, leads))| Operand { form, leads: *leads, array })
                    .collect();
                broadcast::evaluate(*op, &operands, &results[0])?
            }
            Operation::Slice { position, .. } => {
                let (form, array) = &operands[0];
                broadcast::slice(array, form, *position, &results[0])?
            }
            Operation::Einsum(usage) => {
                let operands: Vec<(&Form, &Array)> =
                    operands.iter().map(|(form, array)| (form, array)).collect();
                return notation::evaluate(usage, &operands, results);
            }
        };
        let forms = results.iter().chain(operands.iter().map(|(form, _)| form));
        let padded = forms.map(|form| vec![false; form.memory().len()]).collect();
        Ok(Meaning { results: vec![array], points, padded, ..Meaning::default() })
    }

    fn build(&self, graph: &mut Graph) -> Result<Built, Error> {
        let mut operands: Vec<(Tensor, [usize; 3])> = Vec::new();
        for (slot, source) in self.sources.iter().enumerate() {
            let name = format!("x{slot}");
            operands.push(match source {
                Source::Data(form) => (graph.data(&name, &form.to_string())?, [0; 3]),
                Source::Param(None) => (graph.param(&name), [0; 3]),
                Source::Param(Some(shape)) => (graph.param_shaped(&name, shape)?, [0; 3]),
                Source::Constant => (graph.constant(1.0), [0; 3]),
                Source::Same(other) => operands[*other],
                Source::Spread { form, leads, trails, negated } => {
                    let data = graph.data(&name, &form.to_string())?;
                    let spread = graph.einsum(&spreading(*leads, *trails), &[data])?;
                    (if *negated { graph.neg(spread)? } else { spread }, *leads)
                }
            });
        }
        let tensors: Vec<Tensor> = operands.iter().map(|(tensor, _)| *tensor).collect();
        let results = match &self.operation {
            Operation::Broadcast(Broadcast::Pointwise) => vec![graph.pointwise("op", &tensors)?],
            Operation::Broadcast(Broadcast::Compose) => vec![graph.compose(tensors[0], tensors[1])?],
            Operation::Broadcast(Broadcast::ComposeAccumulate) => {
                vec![graph.compose_accumulate(tensors[0], tensors[1], tensors[2])?]
            }
            Operation::Broadcast(Broadcast::Transpose) => vec![graph.transpose(tensors[0])?],
            Operation::Slice { index, .. } => vec![graph.slice(tensors[0], *index)?],
            Operation::Einsum(usage) => einsum(graph, usage, &tensors)?,
        };
        if let Some(reader) = &self.reader {
            graph.einsum(reader, &results[..1])?;
        }
        Ok(Built { operands, results })
    }
}

/// An operation by a spec, with its sizes set.
pub fn einsum(graph: &mut Graph, usage: &Use, tensors: &[Tensor]) -> Result<Vec<Tensor>, Error> {
    let results = if usage.padding.is_none() && usage.coefficients.is_empty() {
        graph.split(&usage.spec, tensors)?
    } else {
        let padding = usage.padding.map(|padded| if padded { Padding::Padded } else { Padding::Valid });
        let options = SpecOptions { padding, coefficients: &usage.coefficients, ..SpecOptions::default() };
        vec![graph.einsum_with(&usage.spec, tensors, &options)?]
    };
    for (name, size) in &usage.sizes {
        let label = graph.captured(results[0], name)?;
        graph.set(label, *size)?;
    }
    Ok(results)
}

/// A spec that keeps all axes and broadcasts after the first few of each row.
fn spreading(leads: [usize; 3], trails: [usize; 3]) -> String {
    let mut labels = (0..).map(|label| format!("a{label}"));
    let rows = [0, 1, 2].map(|row| {
        let mut axes: Vec<String> = labels.by_ref().take(leads[row]).collect();
        axes.push(String::from("..."));
        axes.extend(labels.by_ref().take(trails[row]));
        axes.join(", ")
    });
    let [batch, input, output] = rows;
    format!("{batch} | {input} -> {output}, => {batch} | {input} -> {output}")
}

fn list(forms: &[Form]) -> String {
    forms.iter().map(Form::to_string).collect::<Vec<_>>().join("; ")
}

/// Checks one-to-one and onto by counting. Padding may be written in any way, so that `No` is
/// always right.
fn check_verdicts(nest: &Projected, run: &Run, meaning: &Meaning) -> Result<(), String> {
    for (result, writes) in run.writes.iter().enumerate() {
        let verdicts = [
            ("one-to-one", nest.is_injective(result), writes.iter().all(|count| *count <= 1)),
            ("onto", nest.is_surjective(result), writes.iter().all(|count| *count >= 1)),
        ];
        for (what, verdict, truth) in verdicts {
            let right = match verdict {
                Verdict::Yes => truth,
                Verdict::No => !truth || meaning.padded[result].contains(&true),
                Verdict::Unsettled => meaning.concatenates,
            };
            if !right {
                return Err(format!("{what}: {verdict:?}, by counting {truth}\n{nest:?}"));
            }
        }
    }
    Ok(())
}
