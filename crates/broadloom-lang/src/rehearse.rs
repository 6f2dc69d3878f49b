//! Errors that a run would report for any data, found when a program is read.
//!
//! The graph refuses sizes that do not agree. The remaining errors depend on the whole program:
//! operations that have a shape but no loop nest, first values that do not fit, gradients of
//! tensors that are not one number, values that nothing computes. They are found by going through
//! the plan without numbers, see [`broadloom::Rehearsal`], and reported in the words of a run.

use broadloom::{Error, ErrorKind, Initial, LeafKind, Node, Rehearsal, Remedy, StepId, Tensor};
use broadloom_diagnostics::{Edit, Fix, Span};

use crate::eval::diagnosed;
use crate::plan::{Action, Plan, PrintedPiece};
use crate::program::{NamedTensor, Program};

impl Program {
    /// Reports the errors that a run would stop at.
    pub(crate) fn rehearse(&mut self) {
        let known = self.nests.take();
        if !self.is_ok() {
            return;
        }
        let sizes: Vec<(&str, u64)> = self.sizes.iter().map(|(name, size)| (name.as_str(), *size)).collect();
        let origin = |step: StepId| self.origins.get(step).map(|origin| origin.span);
        let main = Span::empty(self.main, 0);
        let rehearsal = match Rehearsal::lend(&mut self.graph, &sizes) {
            Ok(rehearsal) => rehearsal,
            Err(error) if error.kind() == ErrorKind::Run => {
                let span = error.step().and_then(origin).unwrap_or(main);
                return self.diagnostics.push(diagnosed(&error, span, &self.origins));
            }
            // Sizes that do not fit are reported by `settle`.
            Err(_) => return,
        };
        let mut found: Vec<Refused> = Vec::new();
        let refused = rehearsal.refused_steps(known.as_ref());
        self.nests = refused.is_empty().then(|| rehearsal.known_nests());
        for (step, error) in refused {
            found.push(Refused { span: origin(step).unwrap_or(main), of: Some(Of::Step(step)), error });
        }
        for (tensor, error) in rehearsal.refused_values() {
            let span = rehearsal.graph().step_of(tensor).and_then(origin).unwrap_or(main);
            found.push(Refused { span, of: Some(Of::Tensor(tensor)), error });
        }
        for drawn in &self.plan.drawn {
            let refused = rehearsal.drawn(drawn.tensor, &drawn.name, &drawn.initial).err();
            let of = Some(Of::Tensor(drawn.tensor));
            found.extend(refused.map(|error| Refused { span: drawn.span, of, error }));
        }
        let drawn = self.plan.drawn.iter().filter_map(|drawn| match &drawn.initial {
            Initial::Values(values) => Some((drawn.tensor, values)),
            _ => None,
        });
        let graph = rehearsal.graph();
        let own = rehearsal.positions().into_iter().filter_map(|ids| Some((ids, graph.values_of(ids)?)));
        for (tensor, values) in drawn.chain(own) {
            for (step, error) in rehearsal.lookups(tensor, values) {
                found.push(Refused { span: origin(step).unwrap_or(main), of: Some(Of::Step(step)), error });
            }
        }
        let mut walk = Walk { plan: &self.plan, rehearsal, found };
        walk.actions(&self.plan.actions);
        found = walk.found;
        self.graph = walk.rehearsal.give_back();
        let mut told = Vec::new();
        for Refused { span, of, error } in &found {
            // An operation without loops is refused again wherever it is computed, and so is a tensor without values.
            let tensor = error.tensor().map(|(tensor, _)| Of::Tensor(tensor));
            let of = tensor.or(*of).or(error.step().map(Of::Step)).unwrap_or(Of::Place(*span));
            let what = (error.kind(), of);
            if !told.contains(&what) {
                told.push(what);
                let mut diagnostic = diagnosed(error, *span, &self.origins);
                if let (Some(Remedy::Backward), Some((of, _))) = (error.remedy(), error.tensor())
                    && let Some(loss) = self.loss_of(of)
                {
                    let help = format!("write `backward {loss}` before this line");
                    diagnostic.help = vec![help.clone().into()];
                    let edit = self.line_before(*span, &format!("backward {loss}"));
                    diagnostic.fixes.extend(edit.map(|edit| Fix { title: help, edits: vec![edit] }));
                }
                self.diagnostics.push(diagnostic);
            }
        }
    }

    /// The edit that writes a line of its own before that of a place, with the same indentation. None if the place is in another file.
    fn line_before(&self, at: Span, line: &str) -> Option<Edit> {
        if at.source != self.main {
            return None;
        }
        let before = self.sources.get(self.main).text().get(..at.start as usize)?;
        let (earlier, begun) = before.split_at(before.rfind('\n').map_or(0, |end| end + 1));
        let indent: String = begun.chars().take_while(|letter| *letter == ' ').collect();
        let end = if earlier.ends_with("\r\n") { "\r\n" } else { "\n" };
        let start = Span::empty(self.main, earlier.len() as u32);
        Some(Edit::new(start, format!("{indent}{line}{end}")))
    }

    /// The name of the last number that is computed from a tensor.
    fn loss_of(&mut self, tensor: Tensor) -> Option<String> {
        let tensor = match self.graph.node(tensor) {
            Some(Node::Leaf { kind: LeafKind::Gradient(of) }) => of,
            _ => tensor,
        };
        let shapes = self.graph.final_shapes().ok()?;
        let is_loss = |made: &&NamedTensor| {
            let is_number = || shapes.get(made.tensor).elements() == 1;
            made.level == 0 && is_number() && self.graph.computed_from(&[made.tensor]).contains(&tensor)
        };
        self.made
            .iter()
            .rev()
            .filter(|made| made.tensor != tensor)
            .find(is_loss)
            .map(|made| made.name.clone())
    }
}

/// A refusal that a run would meet.
struct Refused {
    span: Span,
    /// The subject, if the error does not name it itself.
    of: Option<Of>,
    error: Error,
}

/// The subject of a refusal.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Tensor(Tensor),
    Step(StepId),
    /// The text at a place.
    Place(Span),
}

struct Walk<'p> {
    plan: &'p Plan,
    rehearsal: Rehearsal,
    found: Vec<Refused>,
}

impl Walk<'_> {
    /// Goes through actions in order. Blocks are nested no deeper than the parser allows.
    fn actions(&mut self, actions: &[Action]) {
        for action in actions {
            match action {
                Action::Run { routine, span, .. } => self.routine(*routine, *span),
                Action::Print { routine, pieces, span, .. } => {
                    routine.iter().for_each(|routine| self.routine(*routine, *span));
                    for tensor in pieces.iter().flat_map(PrintedPiece::tensors) {
                        let got = self.rehearsal.get(tensor);
                        self.missing(got, *span);
                    }
                }
                Action::Save { routine, tensor, span, .. } => {
                    routine.iter().for_each(|routine| self.routine(*routine, *span));
                    let got = self.rehearsal.get(*tensor);
                    self.missing(got, *span);
                }
                Action::Repeat(repeat) => self.actions(&repeat.body),
            }
        }
    }

    fn routine(&mut self, routine: usize, span: Span) {
        let plan = self.plan;
        if let Err((action, error)) = self.rehearsal.run(&plan.routines[routine]) {
            // Values may be missing because of an error reported before.
            if error.kind() == ErrorKind::Value && !self.found.is_empty() {
                return;
            }
            let place = plan.places.get(routine).and_then(|places| places.get(action));
            self.found.push(Refused { span: place.copied().unwrap_or(span), of: None, error });
        }
    }

    /// Reports missing values, unless they follow from an error reported before.
    fn missing(&mut self, got: Result<(), Error>, span: Span) {
        if self.found.is_empty() {
            self.found.extend(got.err().map(|error| Refused { span, of: None, error }));
        }
    }
}
