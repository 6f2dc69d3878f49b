//! Errors inside of a function, in terms of what it takes and what it is given.

use std::collections::BTreeSet;

use broadloom::{Error, ErrorKind, PartialAxis, PartialRow, SchemeAxis, Tensor};
use broadloom_diagnostics::{Advice, Diagnostic, Fact, Help, Label, Role, Span, Wording};

use crate::codes;
use crate::eval::Eval;
use crate::eval::advice::makers::labelled;
use crate::eval::advice::{clashes, makers, wanted};
use crate::signature::{NotInferred, SignatureArgument};
use crate::value::{Scope, Value};

/// The arguments that a function takes, and those that it is given.
struct TakenAndGiven {
    function: String,
    wanted: String,
    conditions: String,
    given: String,
}

impl TakenAndGiven {
    fn new(
        eval: &Eval<'_>,
        function: &str,
        arguments: &[&SignatureArgument],
        scope: &Scope,
        conditions: &[String],
    ) -> TakenAndGiven {
        let given = |each: &&SignatureArgument| match scope.own(eval.names.find(&each.name)?)? {
            Value::Tensor(tensor) => Some(format!("`{} : {}`", each.name, eval.graph.shape(tensor))),
            _ => None,
        };
        let wanted = |each: &&SignatureArgument| {
            format!("`{} : {}`", each.name, each.shape.as_ref().map_or("...", |shape| &shape.text))
        };
        let given: Vec<String> = arguments.iter().filter_map(given).collect();
        let shaped = arguments.iter().filter(|each| each.shape.is_some());
        let wanted: Vec<String> = shaped.map(wanted).collect();
        let conditions = match conditions.is_empty() {
            true => String::new(),
            false => format!(", where {}", conditions.join(" and ")),
        };
        TakenAndGiven {
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

/// Adds what the function that refuses its arguments requires of them, and where it is applied.
pub(in crate::eval) fn blamed(
    eval: &mut Eval<'_>,
    mut diagnostic: Diagnostic,
    error: &Error,
    place: Span,
    span: Span,
) -> Diagnostic {
    let at = match place != span {
        true => eval.applied.iter().rposition(|applied| applied.is_of_library_at(place)),
        false => eval.application.map(|at| at as usize),
    };
    let Some(applied) = at.and_then(|at| eval.applied.get(at)).filter(|_| eval.aside.is_none()) else {
        return diagnostic;
    };
    let (layer, scope) = (applied.layer.clone(), applied.scope.clone());
    let (name, call) = (applied.name().clone(), applied.span);
    eval.is_brief = true;
    let signature = eval.signature(&layer.function, Some(&layer));
    eval.is_brief = false;
    // A body that is wrong by itself is not the fault of who applies it.
    if let Err(NotInferred::Wrong(_)) = &signature.scheme {
        return diagnostic;
    }
    if diagnostic.labels.iter().all(|label| label.span != call) {
        diagnostic.labels.push(Label::here(call, format!("`{name}` is applied")));
    }
    let apart = |made: &Span| !call.contains(*made) && !eval.library.contains(&made.source);
    if let Some(made) = layer.made_at.get().filter(apart)
        && diagnostic.labels.iter().all(|label| label.span != made)
    {
        diagnostic.labels.push(Label::here(made, format!("`{name}` is made")));
    }
    let Ok(scheme) = &signature.scheme else { return diagnostic };
    let wants: Vec<&SignatureArgument> =
        signature.arguments.iter().filter(|each| each.shape.is_some()).collect();
    let is_any = |row: &Vec<SchemeAxis>| matches!(&row[..], [axis] if axis.is_row);
    let anything = |each: &&SignatureArgument| each.rows().is_some_and(|rows| rows.iter().all(is_any));
    if wants.is_empty() || wants.len() == 1 && wants.iter().all(anything) {
        return diagnostic;
    }
    let all: Vec<&SignatureArgument> = signature.arguments.iter().collect();
    let taken = TakenAndGiven::new(eval, &name, &all, &scope, &scheme.conditions);
    diagnostic = match error.kind() {
        ErrorKind::Arithmetic if place != span && !taken.conditions.is_empty() => {
            let outer = eval.applied.get(at.unwrap_or_default()).and_then(|applied| applied.outer);
            let shown =
                refused_by_conditions(eval, diagnostic, error, &taken, (&signature.arguments, &scope));
            let given = given_sizes(eval, &signature.arguments, &scope);
            let numbers: BTreeSet<u64> = given.iter().chain(&scheme.numbers).copied().collect();
            let fact = Fact::AtMost { most: scheme.most.clone(), given };
            with_numbers(eval, shown.with_fact(fact), outer, &numbers)
        }
        _ => diagnostic.with_note(format!("{}; here, {}", taken.wanted(), taken.given)),
    };
    let sizes = error.kind() == ErrorKind::Mismatch && place != span;
    if let Some(clash) = clashes::clash(eval, &signature.arguments, &scope).filter(|_| sizes) {
        diagnostic = clashes::clashing(eval, diagnostic, error, (&name, &clash));
    } else if let Some((help, data)) = without_batch(eval, &signature.arguments, &scope)
        .filter(|(_, data)| place != span || is_shown(eval, &diagnostic, *data))
    {
        diagnostic.message = format!("the arguments of `{name}` do not have the same batch");
        diagnostic.help = vec![help.into()];
        diagnostic = with_shape(eval, diagnostic, data);
    } else {
        diagnostic.help.extend(other_rows(eval, &signature.arguments, &scope));
    }
    diagnostic
}

/// Mistakes in a body that may be those of who applies it.
const OF_CALLERS: [&str; 10] = [
    codes::MISMATCH,
    codes::ARITHMETIC,
    codes::UNDETERMINED,
    codes::NOTATION,
    codes::USE,
    codes::KIND,
    codes::FIELD,
    codes::RANGE,
    codes::ARGUMENTS,
    codes::PARAMETER,
];

/// Shows the outermost application in the mistakes of its body that were reported from a number on, unless the body is wrong
/// by itself.
pub(in crate::eval) fn blame_caller(eval: &mut Eval<'_>, from: usize, application: Option<u32>) {
    let applied = application.and_then(|at| eval.applied.get(at as usize)).filter(|_| eval.aside.is_none());
    let Some(applied) = applied.filter(|applied| !applied.is_of_library()) else { return };
    let (layer, scope, call) = (applied.layer.clone(), applied.scope.clone(), applied.span);
    let name = applied.name().clone();
    let is_elsewhere = |wrong: &Diagnostic| {
        let is_there = |label: &Label| call.contains(label.span) || label.span.contains(call);
        wrong.is_error() && OF_CALLERS.contains(&wrong.code) && !wrong.labels.iter().any(is_there)
    };
    if !eval.diagnostics[from..].iter().any(is_elsewhere) {
        return;
    }
    let own = eval.own_mistakes(&layer);
    let given: Vec<String> = layer
        .function
        .def
        .arguments
        .iter()
        .filter_map(|each| match scope.own(each.name.name)? {
            Value::Tensor(tensor) => {
                Some(format!("`{} : {}`", eval.names.text(each.name.name), eval.graph.shape(tensor)))
            }
            _ => None,
        })
        .collect();
    for wrong in eval.diagnostics[from..].iter_mut().filter(|wrong| is_elsewhere(wrong)) {
        let place = wrong.primary().map(|label| label.span);
        if own.contains(&(wrong.code, place)) {
            continue;
        }
        wrong.labels.push(Label::here(call, format!("`{name}` is applied")));
        let is_shown = wrong.labels.iter().rev().skip(1).any(|label| matches!(label.role, Role::Here(_)));
        let is_about_shapes = [codes::MISMATCH, codes::ARITHMETIC, codes::NOTATION].contains(&wrong.code);
        if is_about_shapes && !given.is_empty() && !is_shown {
            wrong.notes.push(format!("here, `{name}` is given {}", given.join(", ")));
        }
    }
}

/// Says in the words of the function, and not of its body, which sizes do not fit.
fn refused_by_conditions(
    eval: &Eval<'_>,
    mut diagnostic: Diagnostic,
    error: &Error,
    taken: &TakenAndGiven,
    (arguments, scope): (&[SignatureArgument], &Scope),
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
        let given = eval.names.find(&argument.name).and_then(|name| scope.own(name));
        let Some(Value::Tensor(tensor)) = given else { continue };
        diagnostic = with_shape(eval, diagnostic, source_of(eval, tensor).unwrap_or(tensor));
    }
    diagnostic
}

/// The sizes of all axes of the tensors that a function is given.
fn given_sizes(eval: &Eval<'_>, arguments: &[SignatureArgument], scope: &Scope) -> Vec<u64> {
    let given = arguments.iter().filter_map(|each| scope.own(eval.names.find(&each.name)?));
    let tensors =
        given.filter_map(|value| if let Value::Tensor(tensor) = value { Some(tensor) } else { None });
    let axes = |tensor: Tensor| {
        let rows = eval.graph.shape(tensor).rows.into_iter();
        rows.flat_map(|row| row.lead.into_iter().chain(row.trail)).collect::<Vec<_>>()
    };
    let sizes = tensors.flat_map(axes).filter_map(|axis| match axis {
        PartialAxis::Known(axis) => Some(axis.size()),
        PartialAxis::Sized(size) => Some(size),
        PartialAxis::Unknown => None,
    });
    sizes.collect()
}

/// Shows where functions around an application were given the numbers that a message mentions.
fn with_numbers(
    eval: &Eval<'_>,
    mut diagnostic: Diagnostic,
    outer: Option<u32>,
    numbers: &BTreeSet<u64>,
) -> Diagnostic {
    for (made, given) in numbers.iter().filter_map(|number| makers::giver(eval, outer?, *number)) {
        diagnostic = labelled(diagnostic, made, given);
    }
    diagnostic
}

/// The data from which a tensor without a name has its outputs.
fn source_of(eval: &Eval<'_>, tensor: Tensor) -> Option<Tensor> {
    if eval.where_made(&Value::Tensor(tensor)).is_some() {
        return None;
    }
    let outputs = |tensor: Tensor| {
        let [_, _, row] = eval.graph.shape(tensor).rows;
        row.lead.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    wanted::data_of(eval, tensor).into_iter().find(|data| outputs(*data) == outputs(tensor))
}

/// Returns true if a mistake shows the place where a tensor was made: it may be about something else.
fn is_shown(eval: &Eval<'_>, diagnostic: &Diagnostic, tensor: Tensor) -> bool {
    let made = eval.where_made(&Value::Tensor(tensor));
    diagnostic.labels.iter().any(|label| Some(label.span) == made)
}

/// Shows the shape of a tensor where it was made.
fn with_shape(eval: &Eval<'_>, diagnostic: Diagnostic, tensor: Tensor) -> Diagnostic {
    match eval.where_made(&Value::Tensor(tensor)) {
        Some(made) if diagnostic.labels.iter().all(|label| label.span != made) => {
            let (name, shape) = (eval.graph.message_name(tensor), eval.graph.shape(tensor));
            diagnostic.with_label(made, format!("`{name}` is `{shape}`"))
        }
        _ => diagnostic,
    }
}

/// Advice for an argument whose batch was declared as outputs, as the batch of another shows that the function takes with the
/// same batch axes, and the data that was declared so.
fn without_batch(
    eval: &Eval<'_>,
    arguments: &[SignatureArgument],
    scope: &Scope,
) -> Option<(Wording, Tensor)> {
    let tensor = |each: &SignatureArgument| match scope.own(eval.names.find(&each.name)?)? {
        Value::Tensor(tensor) => Some(tensor),
        _ => None,
    };
    let given: Vec<(&SignatureArgument, Tensor)> =
        arguments.iter().filter_map(|each| Some((each, tensor(each)?))).collect();
    let batch = |each: &SignatureArgument| each.rows().map(|[batch, ..]| batch.clone()).unwrap_or_default();
    given.iter().find_map(|(each, tensor)| {
        let own = batch(each);
        let shares = |other: &SignatureArgument| batch(other).iter().any(|axis| own.contains(axis));
        let others = given.iter().filter(|(other, _)| shares(other)).map(|(_, tensor)| *tensor);
        wanted::lost_batch(eval, *tensor, &others.collect::<Vec<_>>())
    })
}

/// The program's name for the tensor that is given as an argument.
fn given_name(eval: &Eval<'_>, argument: &SignatureArgument, scope: &Scope) -> String {
    match eval.names.find(&argument.name).and_then(|name| scope.own(name)) {
        Some(Value::Tensor(tensor)) => eval.graph.message_name(tensor),
        _ => argument.name.clone(),
    }
}

/// Advice for arguments whose axes are in another row than the function takes them in: outputs where batch axes are
/// wanted, or different numbers of batch axes where they are the same.
fn other_rows(eval: &Eval<'_>, arguments: &[SignatureArgument], scope: &Scope) -> Option<Help> {
    let given = |each: &SignatureArgument| match scope.own(eval.names.find(&each.name)?)? {
        Value::Tensor(tensor) => Some(eval.graph.shape(tensor)),
        _ => None,
    };
    let axes = |row: &PartialRow| (!row.open).then(|| row.lead.len() + row.trail.len());
    // Whether output axes are wanted, and how many there are.
    let outputs = |each: &SignatureArgument| {
        let [batch, input, output] = each.rows()?;
        let wanted = !input.is_empty() || !output.is_empty();
        axes(&given(each)?.rows[2]).filter(|_| !batch.is_empty()).map(|count| (wanted, count))
    };
    if let [first, second, ..] = arguments
        && let (Some((true, 0)), Some((false, 1..))) = (outputs(first), outputs(second))
    {
        return Some(format!("`{}` and `{}` seem to be exchanged", first.name, second.name).into());
    }
    let mut first: Option<(&SignatureArgument, &[SchemeAxis], usize)> = None;
    for each in arguments {
        let (Some([batch, input, output]), Some(got)) = (each.rows(), given(each)) else { continue };
        if batch.is_empty() {
            continue;
        }
        let [Some(batches), Some(inputs), Some(outputs)] = got.rows.each_ref().map(axes) else {
            continue;
        };
        if input.is_empty() && output.is_empty() && (batches, inputs) == (0, 0) && outputs > 0 {
            return Some(format!(
                "without `|` all axes are outputs; if they count the examples of a batch, declare it `{got} |`"
            )
            .into());
        }
        match first {
            Some((known, row, has)) if row == batch && has != batches => {
                let help = Wording::new("the batch axes, before `|`, are the same in both: `")
                    .name(given_name(eval, known, scope))
                    .words(format!("` has {has}, `"))
                    .name(given_name(eval, each, scope))
                    .words(format!("` has {batches}"));
                return Some(Help::naming(Advice::Rule, help));
            }
            Some(_) => {}
            None => first = Some((each, batch, batches)),
        }
    }
    None
}
