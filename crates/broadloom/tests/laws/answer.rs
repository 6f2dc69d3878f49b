//! The answers of a graph, and their comparison.
//!
//! The verdict is the set of errors: their kinds and their ends. An end is a claim and the
//! operation of the first graph that makes it. The label of a tensor without a name, the choice of
//! the refused operation, and the operations between the ends depend on the construction of the
//! graph. A size that nothing decides is compared by its message, which names the parameter.
//!
//! If two operations make the same claim, either may be shown, and if several rows wait for each
//! other, any of them may be called open. If operands or operations change places, claims and
//! parameters are compared, but not operations and rows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use broadloom::{Error, ErrorKind, Graph, StepId, Tensor};

use crate::laws::said::Said;

/// The ends of an error.
type Ends = BTreeSet<(String, usize)>;

/// The answers of a graph.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Kinds and ends of its errors.
    pub errors: BTreeSet<(String, Ends)>,
    /// Final shapes, if there are no errors.
    pub shapes: BTreeMap<usize, String>,
    /// Messages as shown.
    shown: String,
}

/// The kind of difference between two answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// One is accepted and the other is not.
    Verdict,
    /// Both are refused, with different kinds of errors.
    Kinds,
    /// Both are refused, with different ends.
    Ends,
    /// Both are accepted, with different shapes.
    Shapes,
}

/// Makes a graph, and collects its answers.
pub fn answer(said: &[Said]) -> Answer {
    let mut graph = Graph::new();
    let mut known: BTreeMap<usize, Tensor> = BTreeMap::new();
    let mut homes: Vec<usize> = Vec::new();
    let mut answer = Answer::default();
    for said in said {
        match said.say(&mut graph, &known) {
            Some(Ok(tensor)) => {
                known.insert(said.id, tensor);
                if let Some(name) = &said.name {
                    graph.name(tensor, name);
                }
            }
            Some(Err(error)) => {
                // A refused operation has the number that it would have had.
                let mut homes = homes.clone();
                homes.resize(graph.steps() + 4, said.home);
                answer.note(&error, &homes);
            }
            None => {}
        }
        homes.resize(graph.steps(), said.home);
    }
    if !answer.errors.is_empty() {
        return answer;
    }
    match graph.final_shapes() {
        Ok(shapes) => {
            answer.shapes = known.iter().map(|(id, tensor)| (*id, shapes.get(*tensor).to_string())).collect();
        }
        Err(error) => {
            let open = graph.undetermined();
            let errors = if open.is_empty() { vec![error] } else { open };
            errors.iter().for_each(|error| answer.note(error, &homes));
        }
    }
    answer
}

impl Answer {
    fn note(&mut self, error: &Error, homes: &[usize]) {
        let home = |step: Option<StepId>| {
            step.and_then(|step| homes.get(step.index())).copied().unwrap_or(usize::MAX)
        };
        let ends = if error.kind() == ErrorKind::Undetermined {
            [(error.message().to_owned(), 0)].into()
        } else {
            let claim = |text: &str| text.split(": ").next().unwrap_or(text).to_owned();
            let ends = error.ends().iter();
            ends.map(|end| (end.short.clone().unwrap_or_else(|| claim(&end.text)), home(end.step))).collect()
        };
        self.errors.insert((format!("{:?}", error.kind()), ends));
        self.shown.push_str(&format!("{error}\n"));
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)?;
        for (id, shape) in &self.shapes {
            writeln!(f, "v{id} : {shape}")?;
        }
        Ok(())
    }
}

/// Compares the answer of a graph with that of another form of it; `moved` is true if operands or
/// operations have changed places.
pub fn compare(first: &Answer, second: &Answer, moved: bool) -> Option<Difference> {
    if first.errors.is_empty() != second.errors.is_empty() {
        return Some(Difference::Verdict);
    }
    let kinds = |answer: &Answer| answer.errors.iter().map(|(kind, _)| kind.clone()).collect::<BTreeSet<_>>();
    if kinds(first) != kinds(second) {
        return Some(Difference::Kinds);
    }
    let ends = |answer: &Answer| -> BTreeSet<(String, Ends)> {
        let shown = |(claim, home): &(String, usize)| match moved {
            true => (claim.split(" has ").next().unwrap_or_default().to_owned(), 0),
            false => (claim.clone(), *home),
        };
        answer.errors.iter().map(|(kind, ends)| (kind.clone(), ends.iter().map(shown).collect())).collect()
    };
    if ends(first) != ends(second) {
        return Some(Difference::Ends);
    }
    let same = |(id, shape): (&usize, &String)| second.shapes.get(id).is_none_or(|other| other == shape);
    (!first.shapes.iter().all(same)).then_some(Difference::Shapes)
}
