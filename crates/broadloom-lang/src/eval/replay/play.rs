//! Doing again what was recorded.

use std::rc::Rc;

use broadloom::{Error, SizeSum, Tensor};

use super::{Application, Effect, Recording, Ref, Stated};
use crate::eval::call::Given;
use crate::eval::expr::arithmetic;
use crate::eval::{DEEPEST, Eval, Evaluated, MOST_WORK, Reported};
use crate::value::{Scope, Value};

impl Eval<'_> {
    /// Does what a body has done before. The frame is that of its function.
    pub(in crate::eval) fn replay_body(
        &mut self,
        recording: &Recording,
        arguments: &[Value],
    ) -> Evaluated<Value> {
        let mut slots = recording.slots_for(arguments).unwrap_or_default();
        self.replay.played += 1;
        self.work += recording.steps;
        let depth = self.depth;
        let was_playing = std::mem::replace(&mut self.replay.is_playing, true);
        let is_within = self.work <= MOST_WORK && depth + recording.deepest < DEEPEST;
        let mut stated = Stated::default();
        let is_done = is_within
            && recording.effects.iter().all(|effect| self.play(effect, &mut slots, &mut stated).is_some());
        (self.depth, self.replay.is_playing) = (depth, was_playing);
        match recording.result.value(&slots).filter(|_| is_done) {
            Some(value) => Ok(value),
            None => {
                self.replay.has_failed = true;
                Err(Reported)
            }
        }
    }

    /// Notes that the graph refuses something that it did not refuse when it was recorded.
    pub(in crate::eval) fn fail_to_replay(&mut self, _: &Error) -> Reported {
        self.replay.has_failed = true;
        Reported
    }

    /// Does one thing. `None` if it goes another way than before.
    fn play(&mut self, effect: &Effect, slots: &mut Vec<Value>, stated: &mut Stated) -> Option<()> {
        match effect {
            Effect::Act { act, operands, span, result } => {
                let before = self.graph.quiet().len();
                let made = match &operands[..] {
                    [a] => self.act_again(act, &[a.tensor(slots)?], *span),
                    [a, b] => self.act_again(act, &[a.tensor(slots)?, b.tensor(slots)?], *span),
                    all => {
                        let all: Option<Vec<Tensor>> = all.iter().map(|each| each.tensor(slots)).collect();
                        self.act_again(act, &all?, *span)
                    }
                };
                result.fits(&Value::Tensor(made.ok()?), before, slots).then_some(())
            }
            Effect::HasInputs(tensor) => {
                let tensor = tensor.tensor(slots)?;
                (!self.has_no_inputs(tensor)).then_some(())
            }
            Effect::Bind { name, value, is_new, is_argument } => {
                let value = value.value(slots)?;
                self.call_by(*name, &value, *is_new);
                if *is_argument {
                    self.frame.scope.bind(name.name, value);
                }
                Some(())
            }
            Effect::Layer { .. } => self.play_layer(effect, slots),
            Effect::Param(made) => {
                let wanted = self.inside_of(made.name.name);
                let name = self.free_name(&wanted);
                let tensor = self.make_param(made, name).ok()?;
                slots.push(Value::Tensor(tensor));
                Some(())
            }
            Effect::State { .. } => self.play_statement(effect, slots, stated),
            Effect::StatedSize(name) => {
                let size = self.graph.quiet().captured_stated(stated, self.names.text(*name))?;
                slots.push(Value::Size(Rc::new(size.into())));
                Some(())
            }
            Effect::SizeIn { tensor, name, span } => {
                let size = self.size_in(tensor.tensor(slots)?, *name, *span).ok()?;
                slots.push(size);
                Some(())
            }
            Effect::Arithmetic { sign, of: [a, b] } => {
                let size = arithmetic(*sign, &a.value(slots)?, &b.value(slots)?)?;
                slots.push(Value::Size(Rc::new(size)));
                Some(())
            }
            Effect::SizeTensor { size, span, result } => {
                let before = self.graph.quiet().len();
                let Value::Size(size) = size.value(slots)? else { return None };
                let made = self.sized(&size, *span).ok()?;
                result.fits(&Value::Tensor(made), before, slots).then_some(())
            }
            Effect::Set { left, right, spans } => {
                let Value::Size(left) = left.value(slots)? else { return None };
                self.set_size(left.as_captured()?, &right.value(slots)?, *spans).ok()
            }
            Effect::Range { shape, span, result } => {
                let (name, before) = (self.fresh_name("range"), self.graph.quiet().len());
                let made = self.ask_quietly(*span, |graph| graph.range(&name, shape)).ok()?;
                result.fits(&Value::Tensor(made), before, slots).then_some(())
            }
            Effect::Shown { tensor, span, short } => {
                self.show_as_written(tensor.tensor(slots)?, *span, short);
                Some(())
            }
            Effect::Inner(tensor) => {
                self.graph.quiet_mut().applied_as(tensor.tensor(slots)?, None);
                Some(())
            }
            Effect::Spec(read, span) => self.look_at_spec(read, *span).ok(),
            Effect::Apply(application) => self.play_application(application, slots),
        }
    }

    fn play_statement(&mut self, effect: &Effect, slots: &[Value], stated: &mut Stated) -> Option<()> {
        let Effect::State { tensor, shape, sizes, span } = effect else { return None };
        let tensor = tensor.tensor(slots)?;
        let sum = |(label, size): &(Box<str>, Ref)| match size.value(slots)? {
            Value::Size(size) => Some((label.clone(), size.sum()?.clone())),
            _ => None,
        };
        let sizes: Vec<(Box<str>, SizeSum)> = sizes.iter().map(sum).collect::<Option<_>>()?;
        let sizes: Vec<(&str, &SizeSum)> = sizes.iter().map(|(label, sum)| (&**label, sum)).collect();
        let made = self.graph.quiet_mut().state_shape(tensor, shape, &sizes, stated);
        self.note_origins(*span);
        made.ok()
    }

    fn play_layer(&mut self, effect: &Effect, slots: &mut Vec<Value>) -> Option<()> {
        let Effect::Layer { function, config, kept, span } = effect else { return None };
        let config: Vec<Value> = config.iter().map(|value| value.value(slots)).collect::<Option<_>>()?;
        let scope = Scope::new(Some(function.scope.clone()));
        for (argument, value) in function.def.config.iter().flatten().zip(&config) {
            scope.bind(argument.name.name, value.clone());
        }
        let own = self.frame.layer.clone();
        if kept.is_none() {
            self.frame.layer = None;
        }
        let made = self.layer(function, scope, config);
        made.made_at.set(Some(*span));
        let value = Value::Layer(made);
        self.frame.layer = own;
        if let (Some(layer), Some(place)) = (&self.frame.layer, kept) {
            layer.keep(place.clone(), value.clone());
        }
        slots.push(value);
        Some(())
    }

    fn play_application(&mut self, application: &Application, slots: &mut Vec<Value>) -> Option<()> {
        let Value::Layer(layer) = application.layer.value(slots)? else { return None };
        let given = |(name, value, span): &(_, Ref, _)| {
            Some(Given { name: *name, value: value.value(slots)?, span: *span })
        };
        let given: Vec<Given> = application.given.iter().map(given).collect::<Option<_>>()?;
        let (depth, before) = (self.depth, self.graph.quiet().len());
        self.depth = depth + application.depth;
        let inference = std::mem::replace(&mut self.inference, application.inference);
        let made = self.apply_layer(&Rc::clone(&layer), given, application.span);
        (self.depth, self.inference) = (depth, inference);
        application.result.fits(&made.ok()?, before, slots).then_some(())
    }
}
