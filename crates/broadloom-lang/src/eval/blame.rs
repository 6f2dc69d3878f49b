//! Errors inside of a function, in terms of what it takes and what it is given.

use std::collections::BTreeSet;

use broadloom::{Error, ErrorKind, PartialAxis, PartialRow, Tensor};
use broadloom_diagnostics::{Diagnostic, Fact, Help, Label, Span};

use super::Eval;
use super::makers::labelled;
use crate::signature::Argument;
use crate::value::{Scope, Value};

/// The arguments that a function takes, and those that it is given.
struct Taken {
    function: String,
    wanted: String,
    conditions: String,
    given: String,
}

impl Taken {
    fn new(
        eval: &Eval<'_>,
        function: &str,
        arguments: &[&Argument],
        scope: &Scope,
        conditions: &[String],
    ) -> Taken {
        let given = |each: &&Argument| match scope.own(eval.names.find(&each.name)?)? {
            Value::Tensor(tensor) => Some(format!("`{} : {}`", each.name, eval.graph.shape(tensor))),
            _ => None,
        };
        let wanted =
            |each: &&Argument| format!("`{} : {}`", each.name, each.shape.as_deref().unwrap_or("..."));
        let given: Vec<String> = arguments.iter().filter_map(given).collect();
        let shaped = arguments.iter().filter(|each| each.shape.is_some());
        let wanted: Vec<String> = shaped.map(wanted).collect();
        let conditions = match conditions.is_empty() {
            true => String::new(),
            false => format!(", where {}", conditions.join(" and ")),
        };
        Taken {
            function: function.to_string(),
            wanted: wanted.join(", "),
            conditions,
            given: given.join(", "),
        }
    }

    fn wanted(&self) -> String {
        format!("`{}` takes {}{}", self.function, self.wanted, self.conditions)
    }
}

impl Eval<'_> {
    /// Adds what the function that refuses its arguments wants of them, and where it is applied.
    pub(super) fn blamed(
        &mut self,
        mut diagnostic: Diagnostic,
        error: &Error,
        place: Span,
        span: Span,
    ) -> Diagnostic {
        let at = match place != span {
            true => self.applied.iter().rposition(|applied| applied.is_of_library_at(place)),
            false => self.application.map(|at| at as usize),
        };
        let Some(applied) = at.and_then(|at| self.applied.get(at)).filter(|_| self.aside.is_none()) else {
            return diagnostic;
        };
        let (layer, scope) = (applied.layer.clone(), applied.scope.clone());
        let (name, call) = (applied.name.clone(), applied.span);
        self.is_brief = true;
        let signature = self.signature(&layer.function, Some(&layer));
        self.is_brief = false;
        // A body that is wrong by itself is not the fault of who applies it.
        let Ok(scheme) = &signature.scheme else { return diagnostic };
        if diagnostic.labels.iter().all(|label| label.span != call) {
            diagnostic.labels.push(Label::here(call, format!("`{name}` is applied")));
        }
        let apart = |made: &Span| !call.contains(*made) && !self.library.contains(&made.source);
        if let Some(made) = layer.made_at.get().filter(apart)
            && diagnostic.labels.iter().all(|label| label.span != made)
        {
            diagnostic.labels.push(Label::here(made, format!("`{name}` is made")));
        }
        let wants: Vec<&Argument> = signature.arguments.iter().filter(|each| each.shape.is_some()).collect();
        let anything = |each: &&Argument| each.shape.as_deref() == Some("..b.. | ..i.. -> ..o..");
        if wants.is_empty() || wants.len() == 1 && wants.iter().all(anything) {
            return diagnostic;
        }
        let all: Vec<&Argument> = signature.arguments.iter().collect();
        let taken = Taken::new(self, &name, &all, &scope, &scheme.conditions);
        diagnostic = match error.kind() {
            ErrorKind::Arithmetic if place != span && !taken.conditions.is_empty() => {
                let outer = self.applied.get(at.unwrap_or_default()).and_then(|applied| applied.outer);
                let shown =
                    self.refused_by_conditions(diagnostic, error, &taken, (&signature.arguments, &scope));
                let given = self.given_sizes(&signature.arguments, &scope);
                let numbers: BTreeSet<u64> = given.iter().chain(&scheme.numbers).copied().collect();
                let fact = Fact::AtMost { most: scheme.most.clone(), given };
                self.with_numbers(shown.with_fact(fact), outer, &numbers)
            }
            _ => diagnostic.with_note(format!("{}; here, {}", taken.wanted(), taken.given)),
        };
        let sizes = error.kind() == ErrorKind::Mismatch && place != span;
        if let Some(clash) = self.clash(&signature.arguments, &scope).filter(|_| sizes) {
            diagnostic = self.clashing(diagnostic, error, (&name, &clash));
        } else if let Some((help, data)) = self.without_batch(&signature.arguments, &scope) {
            diagnostic.message = format!("the arguments of `{name}` do not have the same batch");
            diagnostic.help = vec![help.into()];
            diagnostic = self.with_shape(diagnostic, data);
        } else {
            diagnostic.help.extend(self.other_rows(&signature.arguments, &scope));
        }
        diagnostic
    }

    /// Says in the words of the function, and not of its body, which sizes do not fit.
    fn refused_by_conditions(
        &self,
        mut diagnostic: Diagnostic,
        error: &Error,
        taken: &Taken,
        (arguments, scope): (&[Argument], &Scope),
    ) -> Diagnostic {
        let message = format!("{}, and is given {}", taken.wanted(), taken.given);
        let before = std::mem::replace(&mut diagnostic.message, message);
        // The conditions say the rest, and the body has other names for it.
        let is_known = |fact: &Fact| matches!(fact, Fact::NoRoom { of } if !of.contains('.'));
        if error.facts().iter().any(is_known) {
            diagnostic.notes.push(before);
        }
        if let Some(primary) = diagnostic.labels.first_mut() {
            primary.text.clear();
        }
        for argument in arguments {
            let given = self.names.find(&argument.name).and_then(|name| scope.own(name));
            let Some(Value::Tensor(tensor)) = given else { continue };
            diagnostic = self.with_shape(diagnostic, self.source_of(tensor).unwrap_or(tensor));
        }
        diagnostic
    }

    /// The sizes of all axes of the tensors that a function is given.
    fn given_sizes(&self, arguments: &[Argument], scope: &Scope) -> Vec<u64> {
        let given = arguments.iter().filter_map(|each| scope.own(self.names.find(&each.name)?));
        let tensors =
            given.filter_map(|value| if let Value::Tensor(tensor) = value { Some(tensor) } else { None });
        let axes = |tensor: Tensor| {
            let rows = self.graph.shape(tensor).rows.into_iter();
            rows.flat_map(|row| row.lead.into_iter().chain(row.trail)).collect::<Vec<_>>()
        };
        let sizes = tensors.flat_map(axes).filter_map(|axis| match axis {
            PartialAxis::Known(axis) => Some(axis.size()),
            PartialAxis::Sized(size) => Some(size),
            PartialAxis::Unknown => None,
        });
        sizes.collect()
    }

    /// Shows where functions around an application were given the numbers that a message speaks of.
    fn with_numbers(
        &self,
        mut diagnostic: Diagnostic,
        outer: Option<u32>,
        numbers: &BTreeSet<u64>,
    ) -> Diagnostic {
        for (made, given) in numbers.iter().filter_map(|number| self.giver(outer?, *number)) {
            diagnostic = labelled(diagnostic, made, given);
        }
        diagnostic
    }

    /// The data from which a tensor without a name has its outputs.
    fn source_of(&self, tensor: Tensor) -> Option<Tensor> {
        if self.where_made(&Value::Tensor(tensor)).is_some() {
            return None;
        }
        let outputs = |tensor: Tensor| {
            let [_, _, row] = self.graph.shape(tensor).rows;
            row.lead.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        self.data_of(tensor).into_iter().find(|data| outputs(*data) == outputs(tensor))
    }

    /// Shows the shape of a tensor where it was made.
    fn with_shape(&self, diagnostic: Diagnostic, tensor: Tensor) -> Diagnostic {
        match self.where_made(&Value::Tensor(tensor)) {
            Some(made) if diagnostic.labels.iter().all(|label| label.span != made) => {
                let (name, shape) = (self.graph.message_name(tensor), self.graph.shape(tensor));
                diagnostic.with_label(made, format!("`{name}` is `{shape}`"))
            }
            _ => diagnostic,
        }
    }

    /// Advice for an argument whose batch was declared as outputs, as the batch of another shows, and the data that was
    /// declared so.
    fn without_batch(&self, arguments: &[Argument], scope: &Scope) -> Option<(String, Tensor)> {
        let tensor = |each: &Argument| match scope.own(self.names.find(&each.name)?)? {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        };
        let given: Vec<Tensor> = arguments.iter().filter_map(tensor).collect();
        given.iter().find_map(|tensor| self.lost_batch(*tensor, &given))
    }

    /// The program's name for the tensor that is given as an argument.
    fn given_name(&self, argument: &Argument, scope: &Scope) -> String {
        match self.names.find(&argument.name).and_then(|name| scope.own(name)) {
            Some(Value::Tensor(tensor)) => self.graph.message_name(tensor),
            _ => argument.name.clone(),
        }
    }

    /// Advice for arguments whose axes are in another row than the function takes them in: outputs where batch axes are
    /// wanted, or different numbers of batch axes where they are the same.
    fn other_rows(&self, arguments: &[Argument], scope: &Scope) -> Option<Help> {
        let given = |each: &Argument| match scope.own(self.names.find(&each.name)?)? {
            Value::Tensor(tensor) => Some(self.graph.shape(tensor)),
            _ => None,
        };
        let axes = |row: &PartialRow| (!row.open).then(|| row.lead.len() + row.trail.len());
        // Whether output axes are wanted, and how many there are.
        let outputs = |each: &Argument| {
            let (_, wanted) = each.shape.as_deref()?.split_once('|')?;
            Some((!wanted.trim().is_empty(), axes(&given(each)?.rows[2])?))
        };
        if let [first, second, ..] = arguments
            && let (Some((true, 0)), Some((false, 1..))) = (outputs(first), outputs(second))
        {
            return Some(format!("`{}` and `{}` seem to be exchanged", first.name, second.name).into());
        }
        let mut first: Option<(&Argument, &str, usize)> = None;
        for each in arguments {
            let (Some(wanted), Some(got)) = (each.shape.as_deref(), given(each)) else { continue };
            let Some((batch, rest)) = wanted.split_once('|') else { continue };
            let [Some(batches), Some(inputs), Some(outputs)] = got.rows.each_ref().map(axes) else {
                continue;
            };
            if rest.trim().is_empty() && (batches, inputs) == (0, 0) && outputs > 0 {
                return Some(format!(
                    "without `|` all axes are outputs; if they count the examples of a batch, declare it `{got} |`"
                )
                .into());
            }
            match first {
                Some((known, row, has)) if row == batch && has != batches => {
                    return Some(Help::rule(format!(
                        "the batch axes, before `|`, are the same in both: `{}` has {has}, `{}` has {batches}",
                        self.given_name(known, scope),
                        self.given_name(each, scope)
                    )));
                }
                Some(_) => {}
                None => first = Some((each, batch, batches)),
            }
        }
        None
    }
}
