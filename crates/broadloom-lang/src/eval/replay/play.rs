//! Doing again what was recorded.

use std::rc::Rc;

use broadloom::{ComputedShape, Error, SizeSum, Tensor};

use super::{Effect, RecordedApplication, Recording, Ref, Stated};
use crate::eval::expr::arithmetic;
use crate::eval::given::Given;
use crate::eval::{DEEPEST, Eval, Evaluated, MOST_WORK, Reported, act, traps};
use crate::value::{Scope, Value};

/// Does what a body has done before. The frame is that of its function.
pub(in crate::eval) fn replay_body(
    eval: &mut Eval<'_>,
    recording: &Recording,
    mut slots: Vec<Value>,
) -> Evaluated<Value> {
    eval.replay.played += 1;
    eval.work += recording.steps;
    let depth = eval.depth;
    let was_playing = std::mem::replace(&mut eval.replay.is_playing, true);
    let is_within = eval.work <= MOST_WORK && depth + recording.deepest < DEEPEST;
    let mut stated = Stated::default();
    let is_done = is_within
        && recording.effects.iter().all(|effect| play(eval, effect, &mut slots, &mut stated).is_some());
    (eval.depth, eval.replay.is_playing) = (depth, was_playing);
    match recording.result.value(&slots).filter(|_| is_done) {
        Some(value) => Ok(value),
        None => {
            eval.replay.has_failed = true;
            Err(Reported)
        }
    }
}

/// Notes that the graph refuses something that it did not refuse when it was recorded.
pub(in crate::eval) fn fail_to_replay(eval: &mut Eval<'_>, _: &Error) -> Reported {
    eval.replay.has_failed = true;
    Reported
}

/// Does one thing. `None` if it goes another way than before.
fn play(eval: &mut Eval<'_>, effect: &Effect, slots: &mut Vec<Value>, stated: &mut Stated) -> Option<()> {
    match effect {
        Effect::Act { .. } => play_act(eval, effect, slots),
        Effect::HasInputs(tensor) => {
            let tensor = tensor.tensor(slots)?;
            (!eval.has_no_inputs(tensor)).then_some(())
        }
        Effect::Bind { name, value, is_new, is_bound } => {
            let value = value.value(slots)?;
            eval.call_by(*name, &value, *is_new);
            if *is_bound {
                eval.frame.scope.bind(name.name, value);
            }
            Some(())
        }
        Effect::Layer { .. } => play_layer(eval, effect, slots),
        Effect::Param(made) => {
            let wanted = eval.inside_of(made.name.name);
            let name = eval.free_name(&wanted);
            let tensor = eval.make_param(made, name).ok()?;
            slots.push(Value::Tensor(tensor));
            Some(())
        }
        Effect::Known { name, value } => {
            eval.frame.scope.bind(*name, value.value(slots)?);
            Some(())
        }
        Effect::Define { def, span } => {
            slots.push(eval.define(def, *span));
            Some(())
        }
        Effect::State { .. } => play_statement(eval, effect, slots, stated),
        Effect::StatedSize(name) => {
            let size = eval.graph.quiet_mut().stated_size(stated, eval.names.text(*name));
            slots.push(Value::Size(Rc::new(size.into())));
            Some(())
        }
        Effect::SizeIn { .. }
        | Effect::Arithmetic { .. }
        | Effect::SizeTensor { .. }
        | Effect::Set { .. } => play_size(eval, effect, slots),
        Effect::Range { shape, span, result } => {
            let (name, before) = (eval.fresh_name("range"), eval.graph.quiet().len());
            let made = eval.ask_quietly(*span, |graph| graph.range(&name, &**shape)).ok()?;
            result.fits(&Value::Tensor(made), before, slots).then_some(())
        }
        Effect::Shown { tensor, span, short } => {
            eval.show_as_written(tensor.tensor(slots)?, *span, short);
            Some(())
        }
        Effect::Inner(tensor) => {
            eval.graph.quiet_mut().applied_as(tensor.tensor(slots)?, None);
            Some(())
        }
        Effect::Spec(read, span) => traps::look_at_spec(eval, read, *span).ok(),
        Effect::Stage([from, made], span) => {
            eval.note_piped(&from.value(slots)?, &made.value(slots)?, *span);
            Some(())
        }
        Effect::Apply(application) => play_application(eval, application, slots),
    }
}

/// An operation on tensors.
fn play_act(eval: &mut Eval<'_>, effect: &Effect, slots: &mut Vec<Value>) -> Option<()> {
    let Effect::Act { act, operands, span, result } = effect else { return None };
    let before = eval.graph.quiet().len();
    let made = match &operands[..] {
        [a] => act::act_again(eval, act, &[a.tensor(slots)?], *span),
        [a, b] => act::act_again(eval, act, &[a.tensor(slots)?, b.tensor(slots)?], *span),
        all => {
            let all: Option<Vec<Tensor>> = all.iter().map(|each| each.tensor(slots)).collect();
            act::act_again(eval, act, &all?, *span)
        }
    };
    result.fits(&Value::Tensor(made.ok()?), before, slots).then_some(())
}

/// Arithmetic on sizes, and statements about them.
fn play_size(eval: &mut Eval<'_>, effect: &Effect, slots: &mut Vec<Value>) -> Option<()> {
    match effect {
        Effect::SizeIn { tensor, name, span } => {
            let size = eval.size_in(tensor.tensor(slots)?, *name, *span).ok()?;
            slots.push(size);
            Some(())
        }
        Effect::Arithmetic { sign, of: [a, b] } => {
            let size = arithmetic(*sign, &a.value(slots)?, &b.value(slots)?)?;
            slots.push(Value::Size(Rc::new(size)));
            Some(())
        }
        Effect::SizeTensor { size, span, result } => {
            let before = eval.graph.quiet().len();
            let Value::Size(size) = size.value(slots)? else { return None };
            let made = eval.sized(&size, *span).ok()?;
            result.fits(&Value::Tensor(made), before, slots).then_some(())
        }
        Effect::Set { left, right, spans } => {
            let Value::Size(left) = left.value(slots)? else { return None };
            eval.set_size(left.as_captured()?, &right.value(slots)?, *spans).ok()
        }
        _ => None,
    }
}

fn play_statement(eval: &mut Eval<'_>, effect: &Effect, slots: &[Value], stated: &mut Stated) -> Option<()> {
    let Effect::State { tensor, shape, sizes, span } = effect else { return None };
    let tensor = tensor.tensor(slots)?;
    let sum = |(label, size): &(Box<str>, Ref)| match size.value(slots)? {
        Value::Size(size) => Some((label.clone(), size.sum()?.clone())),
        _ => None,
    };
    let sizes: Vec<(Box<str>, SizeSum)> = sizes.iter().map(sum).collect::<Option<_>>()?;
    let sizes: Vec<(&str, &SizeSum)> = sizes.iter().map(|(label, sum)| (&**label, sum)).collect();
    let shape = ComputedShape { shape: (&**shape).into(), sizes: &sizes };
    let made = eval.graph.quiet_mut().state_shape(tensor, shape, stated);
    eval.note_origins(*span);
    made.ok()
}

fn play_layer(eval: &mut Eval<'_>, effect: &Effect, slots: &mut Vec<Value>) -> Option<()> {
    let Effect::Layer { function, config, kept, span } = effect else { return None };
    let config: Vec<Value> = config.iter().map(|value| value.value(slots)).collect::<Option<_>>()?;
    let scope = Scope::new(Some(function.scope.clone()));
    scope.expect(config.len());
    for (argument, value) in function.def.config.iter().flatten().zip(&config) {
        scope.bind(argument.name.name, value.clone());
    }
    let own = eval.frame.layer.clone();
    if kept.is_none() {
        eval.frame.layer = None;
    }
    let made = eval.layer(function, scope, config);
    made.made_at.set(Some(*span));
    let value = Value::Layer(made);
    eval.frame.layer = own;
    if let (Some(layer), Some(place)) = (&eval.frame.layer, kept) {
        layer.keep(place.clone(), value.clone());
    }
    slots.push(value);
    Some(())
}

fn play_application(
    eval: &mut Eval<'_>,
    application: &RecordedApplication,
    slots: &mut Vec<Value>,
) -> Option<()> {
    let Value::Layer(layer) = application.layer.value(slots)? else { return None };
    let given = |(name, value, span): &(_, Ref, _)| {
        Some(Given { name: *name, value: value.value(slots)?, span: *span })
    };
    let given: Vec<Given> = application.given.iter().map(given).collect::<Option<_>>()?;
    let (depth, before) = (eval.depth, eval.graph.quiet().len());
    eval.depth = depth + application.depth;
    let inference = std::mem::replace(&mut eval.inference, application.inference);
    let made = eval.apply_layer(&Rc::clone(&layer), given, application.span);
    (eval.depth, eval.inference) = (depth, inference);
    application.result.fits(&made.ok()?, before, slots).then_some(())
}
