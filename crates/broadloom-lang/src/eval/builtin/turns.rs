//! Recurrences: `scan` and `fold` apply a function to the elements of an axis in turn, and to what it made before.

use std::num::NonZeroU64;

use broadloom::{Along, Kind, OpenScan, Tensor};
use broadloom_diagnostics::{Diagnostic, Help, Span};

use super::axis::{along, has_no_others, no_axis};
use super::{Call, Given};
use crate::codes;
use crate::eval::needs::{self, NeedKind};
use crate::eval::{Eval, Evaluated, call};
use crate::value::Value;

/// The results that are wanted.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Wanted {
    /// Those of all turns.
    All,
    /// Those of the last turn.
    Last,
}

/// A call of `scan` or `fold`.
struct Recurrence<'c> {
    function: &'c Given,
    first: &'c Given,
    over: Vec<&'c Given>,
    along: Along,
    /// The number of turns after which gradients note again what is carried.
    every: Option<NonZeroU64>,
}

/// `scan(f, first, x)`, `fold(f, first, x)`.
pub(super) fn recurrence(eval: &mut Eval<'_>, call: &Call, wanted: Wanted) -> Evaluated<Value> {
    let Recurrence { function, first, over, along, every } = read(eval, call)?;
    let firsts = match &first.value {
        Value::List(items) => items.to_vec(),
        value => vec![value.clone()],
    };
    let firsts: Vec<Tensor> =
        firsts.iter().map(|value| eval.tensor(value, first.span)).collect::<Result<_, _>>()?;
    let mut moved = Vec::new();
    for given in &over {
        moved.push(gone_through(eval, call, given, &along)?);
    }
    fits_turn(eval, call, function, over.len(), firsts.len())?;
    as_many_turns(eval, call, &over, &moved)?;
    let names = carried_names(eval, &function.value, over.len(), firsts.len());
    let named: Vec<(&str, Tensor)> = names.iter().map(String::as_str).zip(firsts.iter().copied()).collect();
    let mut scan = eval.ask(call.span, |graph| graph.begin_scan(&named, &moved))?;
    if let Some(turns) = every {
        scan.checkpoint_every(turns);
    }
    let made = turn(eval, call, function, &over, &scan);
    let (next, listed) = match made {
        Ok(next) => next,
        Err(reported) => {
            eval.graph.give_up_scan(scan);
            return Err(reported);
        }
    };
    let carried = scan.carried.len();
    if next.len() < carried {
        eval.graph.give_up_scan(scan);
        return too_few(eval, call, function, next.len(), carried);
    }
    let collected: &[Tensor] = if wanted == Wanted::All { &next } else { &next[carried..] };
    let made = eval.ask(function.span, |graph| graph.end_scan(scan, &next[..carried], collected))?;
    let mut results = if wanted == Wanted::Last { made.last } else { Vec::new() };
    for tensor in made.collected {
        results.push(put_back(eval, call, tensor, &along)?);
    }
    Ok(match (&results[..], listed || matches!(first.value, Value::List(_))) {
        ([one], false) => Value::Tensor(*one),
        _ => Value::List(results.into_iter().map(Value::Tensor).collect()),
    })
}

fn read<'c>(eval: &mut Eval<'_>, call: &'c Call) -> Evaluated<Recurrence<'c>> {
    call::only(eval, call, &["checkpoint_every"])?;
    let every = every(eval, call)?;
    let example = format!("{}(f, first, x)", call.name());
    let mut plain = call.plain();
    let along = match plain.first().map(|given| (&given.value, given.span)) {
        Some((Value::Text(text), span)) => {
            plain.remove(0);
            along(eval, call, text, span, "f, first, x")?
        }
        Some((value @ Value::Size(_), _)) => {
            needs::note(eval, value, NeedKind::Text);
            Along::last(Kind::Batch)
        }
        // The positions of a sequence.
        _ => Along::last(Kind::Batch),
    };
    let [function, first, over @ ..] = &plain[..] else {
        let message = format!("`{}` takes a function, a first value and what it goes through", call.name());
        return call::wrong_call(
            eval,
            call,
            message,
            format!("write `{example}`, with `def f(x, carried) = …`"),
        );
    };
    let is_function = |given: &Given| {
        !matches!(
            given.value,
            Value::Tensor(_) | Value::Number(_) | Value::Numbers(_) | Value::Text(_) | Value::Nothing
        )
    };
    if !is_function(function) {
        let message = format!(
            "the first argument of `{}` is the function of a turn, and this is {}",
            call.name(),
            function.value.kind()
        );
        let help = format!("write `{example}`, with `def f(x, carried) = …`");
        return eval.wrong(codes::ARGUMENTS, message, function.span, help);
    }
    if over.is_empty() {
        let message = format!("`{}` has nothing to go through", call.name());
        return call::wrong_call(
            eval,
            call,
            message,
            format!("write `{example}`: `x` has an element for each turn"),
        );
    }
    Ok(Recurrence { function, first, over: over.to_vec(), along, every })
}

/// `checkpoint_every = 20`: the number of turns after which gradients note again what is carried.
fn every(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Option<NonZeroU64>> {
    let Some(given) = call::named(eval, call, "checkpoint_every") else { return Ok(None) };
    let number = match given.value {
        Value::Number(number) if number.fract() == 0.0 && (1.0..MOST_TURNS).contains(&number) => {
            number as u64
        }
        _ => 0,
    };
    match NonZeroU64::new(number) {
        None => {
            let message =
                format!("`checkpoint_every` is a number of turns, and this is {}", described(&given.value));
            let help = "write `checkpoint_every = 1` to note what is carried in every turn, or `checkpoint_every = 20`";
            eval.fail(
                Diagnostic::error(codes::ARGUMENTS, message, given.span, "").with_fix(help, given.span, "1"),
            )
        }
        turns => Ok(turns),
    }
}

/// More turns than any scan has; whole numbers up to here are exact.
const MOST_TURNS: f64 = 9_007_199_254_740_992.0;

/// A number by itself, other values by their kind.
fn described(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        other => other.kind().to_string(),
    }
}

/// A tensor with the axis that is gone through as its first batch axis.
fn gone_through(eval: &mut Eval<'_>, call: &Call, given: &Given, along: &Along) -> Evaluated<Tensor> {
    let tensor = eval.tensor(&given.value, given.span)?;
    let row = &eval.graph.shape(tensor).rows[along.kind as usize];
    let axes = (!row.open).then(|| row.lead.len() + row.trail.len());
    if axes != Some(0) {
        has_no_others(eval, given, tensor, along)?;
    }
    match axes {
        Some(0) => no_axis(eval, call, given, tensor, along),
        Some(1) if along.kind == Kind::Batch => Ok(tensor),
        _ => {
            let Some(spec) = along.to_front() else { return Ok(tensor) };
            let moved = eval.ask(given.span, |graph| graph.einsum(&spec, &[tensor]))?;
            eval.show_as_written(moved, given.span, "…");
            Ok(moved)
        }
    }
}

/// The values of all turns, with the axis of turns where it was.
fn put_back(eval: &mut Eval<'_>, call: &Call, tensor: Tensor, along: &Along) -> Evaluated<Tensor> {
    let row = &eval.graph.shape(tensor).rows[0];
    let alone = !row.open && row.lead.len() + row.trail.len() == 1 && along.kind == Kind::Batch;
    let Some(spec) = along.back().filter(|_| !alone) else {
        eval.show_as_written(tensor, call.span, &format!("{}(…)", call.name()));
        return Ok(tensor);
    };
    let made = eval.ask(call.span, |graph| graph.einsum(&spec, &[tensor]))?;
    eval.show_as_written(made, call.span, &format!("{}(…)", call.name()));
    Ok(made)
}

/// Applies the function of a turn: the tensors that it makes, and whether they are a list.
fn turn(
    eval: &mut Eval<'_>,
    call: &Call,
    function: &Given,
    over: &[&Given],
    scan: &OpenScan,
) -> Evaluated<(Vec<Tensor>, bool)> {
    let place = |tensor: &Tensor, span: Span| Given { name: None, value: Value::Tensor(*tensor), span };
    let elements = scan.elements.iter().zip(over).map(|(tensor, given)| place(tensor, given.span));
    let carried = scan.carried.iter().map(|tensor| place(tensor, function.span));
    let given = elements.chain(carried).collect();
    let made = eval.apply(&function.value, given, (function.span, call.span))?;
    if let Value::List(items) = &made
        && let Some(Value::List(several)) = items.last()
        && eval.is_in_checkpointed(call.span)
    {
        let message = format!(
            "`checkpointed` has one tensor as its result, and this layer gives a list of {}",
            several.len()
        );
        let help = "apply `checkpointed` to each part that gives one tensor, or join what they give by `concat` or `stack`";
        return eval.wrong(codes::KIND, message, call.span, help);
    }
    Ok(match made {
        Value::List(items) => {
            let tensors =
                items.iter().map(|item| eval.tensor(item, function.span)).collect::<Result<_, _>>()?;
            (tensors, true)
        }
        value => (vec![eval.tensor(&value, function.span)?], false),
    })
}

/// Refuses a function that does not take an element of each tensor and what is carried.
fn fits_turn(
    eval: &mut Eval<'_>,
    call: &Call,
    function: &Given,
    elements: usize,
    carried: usize,
) -> Evaluated<()> {
    let Value::Layer(layer) = &function.value else { return Ok(()) };
    let arguments = &layer.function.def.arguments;
    let least = arguments.iter().filter(|argument| argument.default.is_none()).count();
    let given = elements + carried;
    if (least..=arguments.len()).contains(&given) {
        return Ok(());
    }
    let known = arguments.iter().map(|argument| eval.names.text(argument.name.name).to_string());
    let mut names: Vec<String> = known.take(given).collect();
    while names.len() < given {
        let wanted = if names.len() < elements { "x" } else { "carried" };
        // Two arguments of one name are refused.
        let numbered = (2..).map(|number| format!("{wanted}{number}"));
        let free = std::iter::once(wanted.to_string()).chain(numbered).find(|name| !names.contains(name));
        names.extend(free);
    }
    let name = eval.names.text(layer.function.def.name.name).to_string();
    let counted = |count: usize, one: &str, many: &str| match count {
        1 => one.to_string(),
        count => format!("{count} {many}"),
    };
    let message = format!(
        "`{}` gives `{name}` {} and {}, but it takes {}",
        call.name(),
        counted(elements, "an element", "elements"),
        counted(carried, "what is carried", "values that are carried"),
        counted(arguments.len(), "one argument", "arguments")
    );
    let defined = layer.function.def.name.span;
    let diagnostic = Diagnostic::error(codes::ARGUMENTS, message, eval.place(function.span), "")
        .with_label(defined, "defined here")
        .with_help(format!("let it be `def {name}({}) = …`", names.join(", ")));
    eval.fail(diagnostic)
}

/// Refuses tensors with different numbers of elements to go through.
fn as_many_turns(eval: &mut Eval<'_>, call: &Call, over: &[&Given], moved: &[Tensor]) -> Evaluated<()> {
    let turns = |eval: &Eval<'_>, tensor: &Tensor| -> Option<u64> {
        eval.graph.shape(*tensor).rows[0].lead.first()?.size()
    };
    let known: Vec<(&&Given, u64)> =
        over.iter().zip(moved).filter_map(|(given, tensor)| Some((given, turns(eval, tensor)?))).collect();
    let Some((first, turns)) = known.first() else { return Ok(()) };
    let Some((other, others)) = known.iter().find(|(_, others)| others != turns) else { return Ok(()) };
    let names = [eval.quote(first.span), eval.quote(other.span)];
    let message = format!(
        "`{}` steps through `{}` ({turns} elements) and `{}` ({others}): lengths must match",
        call.name(),
        names[0],
        names[1]
    );
    let mut diagnostic =
        Diagnostic::error(codes::MISMATCH, message, eval.place(other.span), format!("{others} turns"))
            .with_label(eval.place(first.span), format!("{turns} turns"));
    for given in [first, other] {
        if let Some(made) = eval.where_made(&given.value) {
            diagnostic = diagnostic.with_label(made, format!("`{}` is made here", eval.quote(given.span)));
        }
    }
    eval.fail(diagnostic.with_help(Help::rule(format!("make both {turns} or both {others}"))))
}

fn too_few<T>(
    eval: &mut Eval<'_>,
    call: &Call,
    function: &Given,
    made: usize,
    carried: usize,
) -> Evaluated<T> {
    let name = eval.quote(function.span);
    let message = format!("`{name}` gives {made} value, and `{}` carries {carried}", call.name());
    let help = format!("let it give a list: the next value of each of the {carried}, in order");
    eval.wrong(codes::ARGUMENTS, message, function.span, help)
}

/// The names of what is carried: those of the arguments of the function behind the elements, if it has names for them.
fn carried_names(eval: &Eval<'_>, function: &Value, elements: usize, carried: usize) -> Vec<String> {
    let mut names: Vec<String> = match function {
        Value::Layer(layer) => {
            let arguments = layer.function.def.arguments.iter().skip(elements);
            arguments.map(|argument| eval.names.text(argument.name.name).to_string()).collect()
        }
        _ => Vec::new(),
    };
    names.truncate(carried);
    while names.len() < carried {
        names.push("carried".into());
    }
    names
}
