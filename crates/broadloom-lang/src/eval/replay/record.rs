//! Recording what a body does, while it is walked.

use std::rc::Rc;

use broadloom::{Kind as RowKind, Tensor};
use broadloom_diagnostics::Span;
use broadloom_spec::{WrittenShape, WrittenSpec};
use rustc_hash::FxHashMap;

use super::inner::{has_functions, identity, names_around};
use super::{Condition, Effect, Pattern, RecordedApplication, Recording, Ref};
use crate::eval::act::Act;
use crate::eval::declared::Declared;
use crate::eval::given::Given;
use crate::eval::leaf::NewParam;
use crate::eval::{Eval, Evaluated, replay};
use crate::size::Size;
use crate::syntax::ast::{Binary, ExprId, Ident, Name};
use crate::value::{Layer, Scope, Value};

/// A body that is being recorded.
pub(in crate::eval) struct Recorder {
    recording: Recording,
    /// False if something was done that cannot be done again.
    is_exact: bool,
    /// The layer whose body it is, and whether it had made nothing before.
    layer: Rc<Layer>,
    is_fresh: bool,
    /// The slots of tensors and of layers; those of arguments are the first.
    tensors: FxHashMap<Tensor, u32>,
    layers: FxHashMap<*const Layer, (u32, Rc<Layer>)>,
    of_arguments: u32,
    next: u32,
    /// The slots of sizes; those without one are the same in every application.
    sizes: FxHashMap<*const Size, (Option<u32>, Rc<Size>)>,
    /// The numbers of tensors and of scopes when it began, and the depth.
    first_tensor: usize,
    first_scope: u32,
    depth: usize,
    /// True if the body defines functions, which look for its names.
    pub(super) has_functions: bool,
    /// The names around a function that is defined in a body: their values are among the arguments.
    names_around: Option<Rc<[Name]>>,
    /// The amounts of what must not grow.
    fixed: Amounts,
}

/// The amounts of things that a body which can be replayed leaves as they are.
type Amounts = [usize; 10];

/// A recording while a function is applied in the body.
pub(in crate::eval) struct Paused {
    recorder: Box<Recorder>,
    noted: Option<Noted>,
    /// The number of tensors, and the depth below that of the body.
    before: usize,
    depth: usize,
}

/// An application, before it is known what comes of it.
struct Noted {
    layer: Ref,
    given: Vec<(Option<Ident>, Ref, Span)>,
    span: Span,
}

impl Recorder {
    fn new(layer: &Rc<Layer>, first_tensor: usize, recording: Recording) -> Recorder {
        Recorder {
            recording,
            is_exact: true,
            layer: layer.clone(),
            is_fresh: layer.has_made_nothing(),
            tensors: FxHashMap::default(),
            layers: FxHashMap::default(),
            of_arguments: 0,
            next: 0,
            sizes: FxHashMap::default(),
            first_tensor,
            first_scope: 0,
            depth: 0,
            has_functions: has_functions(&layer.function),
            names_around: None,
            fixed: Amounts::default(),
        }
    }

    pub(super) fn count_step(&mut self, depth: usize) {
        self.recording.steps += 1;
        self.recording.deepest = self.recording.deepest.max(depth.saturating_sub(self.depth));
    }

    /// The kind of an argument; it gets a slot.
    fn condition(&mut self, value: &Value) -> Condition {
        match value {
            Value::Tensor(_) => match self.refer(value) {
                Some(Ref::Slot(slot)) => Condition::Again(slot),
                _ => {
                    self.give_slot(value);
                    Condition::Tensor
                }
            },
            // A layer that has been applied knows which layers it was given.
            Value::Layer(_) if self.is_fresh => match self.refer(value) {
                Some(Ref::Slot(slot)) => Condition::Again(slot),
                _ => {
                    self.give_slot(value);
                    Condition::Layer
                }
            },
            Value::List(items) => Condition::List(items.iter().map(|item| self.condition(item)).collect()),
            value => {
                self.keep_size(value);
                Condition::Fixed(value.clone())
            }
        }
    }

    /// Notes a size that is the same in every application.
    fn keep_size(&mut self, value: &Value) {
        if let Value::Size(size) = value {
            self.sizes.entry(Rc::as_ptr(size)).or_insert_with(|| (None, size.clone()));
        }
    }

    pub(super) fn give_slot(&mut self, value: &Value) {
        match value {
            Value::Tensor(tensor) => _ = self.tensors.insert(*tensor, self.next),
            Value::Layer(layer) => _ = self.layers.insert(Rc::as_ptr(layer), (self.next, layer.clone())),
            Value::Size(size) => _ = self.sizes.insert(Rc::as_ptr(size), (Some(self.next), size.clone())),
            _ => self.is_exact = false,
        }
        self.next += 1;
    }

    /// A value as part of the recording; none if it may be another one in the next application.
    fn refer(&self, value: &Value) -> Option<Ref> {
        Some(match value {
            Value::Tensor(tensor) => match self.tensors.get(tensor) {
                Some(slot) => Ref::Slot(*slot),
                None if tensor.index() < self.first_tensor => Ref::Fixed(value.clone()),
                None => return None,
            },
            Value::Layer(layer) => match self.layers.get(&Rc::as_ptr(layer)) {
                Some((slot, _)) => Ref::Slot(*slot),
                None => Ref::Fixed(value.clone()),
            },
            Value::List(items) => {
                Ref::List(items.iter().map(|item| self.refer(item)).collect::<Option<_>>()?)
            }
            Value::Inference(inner) => Ref::Inference(Box::new(self.refer(inner)?)),
            Value::Number(_)
            | Value::Text(_)
            | Value::Range(..)
            | Value::Function(_)
            | Value::Builtin(_)
            | Value::Operation(_)
            | Value::Initial(_)
            | Value::Array(_)
            | Value::Numbers(_)
            | Value::Module(_)
            | Value::Nothing => Ref::Fixed(value.clone()),
            Value::Size(size) => match self.sizes.get(&Rc::as_ptr(size))? {
                (Some(slot), _) => Ref::Slot(*slot),
                (None, _) => Ref::Fixed(value.clone()),
            },
            Value::Stream(..) | Value::Position(_) | Value::Open | Value::OpenNumber(_) | Value::Mistake => {
                return None;
            }
        })
    }

    /// The pattern of a value that was just made, for when it is made again. There were so many tensors before.
    fn pattern(&mut self, value: &Value, before: usize) -> Option<Pattern> {
        match value {
            Value::Tensor(tensor) if tensor.index() >= before && !self.tensors.contains_key(tensor) => {
                self.give_slot(value);
                Some(Pattern::New)
            }
            Value::List(items) => {
                let patterns: Option<Vec<Pattern>> =
                    items.iter().map(|item| self.pattern(item, before)).collect();
                patterns.map(Pattern::List)
            }
            // A layer that a function returns belongs to its application.
            Value::Layer(layer) if !self.layers.contains_key(&Rc::as_ptr(layer)) => None,
            value => self.refer(value).map(Pattern::Same),
        }
    }

    /// Adds something that the body does, unless it depends on what cannot be recorded.
    pub(super) fn push(&mut self, effect: Option<Effect>) {
        match effect {
            Some(effect) => self.recording.effects.push(effect),
            None => self.is_exact = false,
        }
    }

    /// The size that a name stands for in the spec that has made a tensor.
    pub(in crate::eval) fn size_in(&self, tensor: Tensor, name: Name, span: Span) -> Option<Effect> {
        self.refer_to(tensor).map(|tensor| Effect::SizeIn { tensor, name, span })
    }

    pub(in crate::eval) fn arithmetic(&self, sign: Binary, a: &Value, b: &Value) -> Option<Effect> {
        Some(Effect::Arithmetic { sign, of: [self.refer(a)?, self.refer(b)?] })
    }

    /// The size of a name that a signature states.
    pub(in crate::eval) fn stated_size(&self, name: Name) -> Option<Effect> {
        Some(Effect::StatedSize(name))
    }

    fn refer_to(&self, tensor: Tensor) -> Option<Ref> {
        self.refer(&Value::Tensor(tensor))
    }

    /// Returns true if an argument is part of a value that was not found through it.
    fn is_given(&self, value: &Value) -> bool {
        match value {
            Value::Tensor(tensor) => self.tensors.get(tensor).is_some_and(|slot| *slot < self.of_arguments),
            Value::Layer(layer) => {
                self.layers.get(&Rc::as_ptr(layer)).is_some_and(|(slot, _)| *slot < self.of_arguments)
            }
            Value::List(items) => items.iter().any(|item| self.is_given(item)),
            Value::Inference(inner) => self.is_given(inner),
            _ => false,
        }
    }

    /// An application that begins.
    fn application(&self, layer: &Rc<Layer>, given: &[Given], span: Span) -> Option<Noted> {
        let layer = self.refer(&Value::Layer(layer.clone()))?;
        let given = given.iter().map(|each| Some((each.name, self.refer(&each.value)?, each.span)));
        Some(Noted { layer, given: given.collect::<Option<_>>()?, span })
    }
}

impl Eval<'_> {
    /// Begins to record the body of a layer.
    pub(in crate::eval) fn begin_recording(&mut self, layer: &Rc<Layer>, arguments: &[Value]) {
        let is_fresh = layer.has_made_nothing();
        let recording = Recording {
            config: if is_fresh { layer.config.clone() } else { Vec::new() },
            layer: (!is_fresh).then(|| layer.clone()),
            inference: self.inference,
            arguments: Vec::new(),
            outside: Vec::new(),
            epoch: layer.scope.journal().epoch().into(),
            dims: replay::names_of_sizes(self),
            effects: Vec::new(),
            result: Ref::Fixed(Value::Nothing),
            slots: 0,
            steps: 0,
            deepest: 0,
        };
        let mut recorder = Box::new(Recorder::new(layer, self.graph.quiet().len(), recording));
        recorder.names_around = layer.function.is_nested.then(|| names_around(self, &layer.function));
        recorder.recording.arguments = arguments.iter().map(|value| recorder.condition(value)).collect();
        recorder.of_arguments = recorder.next;
        layer.config.iter().for_each(|value| recorder.keep_size(value));
        // The configuration was not found through the arguments.
        recorder.is_exact = !layer.config.iter().any(|value| recorder.is_given(value));
        (recorder.depth, recorder.fixed) = (self.depth, self.amounts());
        recorder.first_scope = self.frame.scope.number();
        self.graph.take_touch();
        self.replay.recorder = Some(recorder);
    }

    /// Ends a recording, and keeps it if it can be replayed.
    pub(in crate::eval) fn end_recording(&mut self, layer: &Rc<Layer>, made: &Evaluated<Value>) {
        let (is_touched, amounts) = (self.graph.take_touch(), self.amounts());
        let Some(recorder) = self.replay.recorder.take() else { return };
        let Some(known) = self.replay.known.get_mut(&identity(layer)) else { return };
        let result = made.as_ref().ok().and_then(|value| recorder.refer(value));
        let is_exact = recorder.is_exact && !is_touched && recorder.fixed == amounts;
        match result.filter(|_| is_exact) {
            Some(result) => {
                let slots = recorder.next as usize;
                known.recordings.push(Rc::new(Recording { result, slots, ..recorder.recording }));
            }
            None => known.failed += 1,
        }
    }

    fn amounts(&self) -> Amounts {
        let plan = &self.plan;
        [
            self.diagnostics.len(),
            self.errors,
            self.dims.len(),
            self.weights.len(),
            self.stated.len() + self.assigned.len() + self.shapeless.len(),
            plan.slices.len() + plan.drawn.len() + plan.streams.len(),
            plan.routines.len() + plan.counters as usize,
            self.bodies.len(),
            self.bodies.last().map_or(0, |body| body.actions.len()),
            self.modules.len() + self.imports.len(),
        ]
    }

    /// Says that what the body does now cannot be done again without walking it.
    pub(in crate::eval) fn no_replay(&mut self) {
        if let Some(recorder) = &mut self.replay.recorder {
            recorder.is_exact = false;
        }
    }

    /// Sets the recording of a body aside while a function is applied in it.
    pub(in crate::eval) fn pause_recording(
        &mut self,
        layer: &Rc<Layer>,
        given: &[Given],
        span: Span,
    ) -> Option<Box<Paused>> {
        let mut recorder = self.replay.recorder.take()?;
        recorder.is_exact &= !self.graph.take_touch();
        let noted = recorder.application(layer, given, span);
        let (before, depth) = (self.graph.quiet().len(), self.depth.saturating_sub(recorder.depth));
        Some(Box::new(Paused { recorder, noted, before, depth }))
    }

    /// Goes on with a recording after an application.
    pub(in crate::eval) fn go_on_recording(&mut self, paused: Option<Box<Paused>>, made: &Evaluated<Value>) {
        let Some(paused) = paused else { return };
        let Paused { mut recorder, noted, before, depth } = *paused;
        // What the function looked at does not matter here.
        self.graph.take_touch();
        let result = made.as_ref().ok().and_then(|value| recorder.pattern(value, before));
        let effect = noted.zip(result).map(|(Noted { layer, given, span }, result)| {
            let inference = self.inference;
            Effect::Apply(Box::new(RecordedApplication { layer, given, span, inference, depth, result }))
        });
        recorder.push(effect);
        self.replay.recorder = Some(recorder);
    }

    /// The value of a name in a body that is recorded.
    pub(in crate::eval) fn find_and_note(&mut self, name: Name) -> Option<Value> {
        let scope: &Rc<Scope> = &self.frame.scope;
        let Some(recorder) = &mut self.replay.recorder else { return scope.find(name) };
        let (value, outside) = scope.find_from(name, recorder.first_scope, &recorder.layer.scope);
        if let Some(outside) = outside {
            if let Some(around) = &recorder.names_around
                && !outside.is_of_file()
            {
                let is_around = Rc::ptr_eq(&outside, &recorder.layer.function.scope);
                recorder.is_exact &= is_around && around.contains(&name);
                return value;
            }
            recorder.is_exact &= !value.as_ref().is_some_and(|value| recorder.is_given(value));
            value.iter().for_each(|value| recorder.keep_size(value));
            recorder.recording.outside.push((outside, name, value.clone()));
        }
        value
    }

    /// Notes a value that the body has found otherwise than by a name or an argument.
    pub(in crate::eval) fn note_outside(&mut self, value: &Value) {
        if let Some(recorder) = &mut self.replay.recorder {
            recorder.is_exact &= !recorder.is_given(value) && recorder.refer(value).is_some();
        }
    }

    /// Notes a parameter that an earlier application has made.
    pub(in crate::eval) fn note_made_before(&mut self, name: Name, value: &Value) {
        self.note_outside(value);
        let Some(recorder) = &mut self.replay.recorder else { return };
        recorder.is_exact &= !recorder.is_fresh;
        if recorder.has_functions {
            let value = recorder.refer(value);
            recorder.push(value.map(|value| Effect::Known { name, value }));
        }
    }

    pub(in crate::eval) fn note_act(
        &mut self,
        act: Act,
        operands: &[Tensor],
        span: Span,
        made: &Value,
        before: usize,
    ) {
        let Some(recorder) = &mut self.replay.recorder else { return };
        let operands: Option<Box<[Ref]>> = operands.iter().map(|each| recorder.refer_to(*each)).collect();
        let result = recorder.pattern(made, before);
        let effect =
            operands.zip(result).map(|(operands, result)| Effect::Act { act, operands, span, result });
        recorder.push(effect);
    }

    /// Returns true if a tensor is known to have no input axes.
    pub(in crate::eval) fn has_no_inputs(&mut self, tensor: Tensor) -> bool {
        let has_none = self.graph.quiet().has_no_axes(tensor, RowKind::Input);
        if let Some(recorder) = &mut self.replay.recorder {
            let effect = recorder.refer_to(tensor).filter(|_| !has_none).map(Effect::HasInputs);
            recorder.push(effect);
        }
        has_none
    }

    pub(in crate::eval) fn note_binding(&mut self, name: Ident, value: &Value, is_new: bool) {
        let Some(recorder) = &mut self.replay.recorder else { return };
        let is_argument =
            recorder.layer.function.def.arguments.iter().any(|each| each.name.name == name.name);
        let says_nothing = matches!(value, Value::Number(_) | Value::Text(_) | Value::Range(..));
        // Sizes and the like have no names of their own.
        let is_mute = matches!(value, Value::Size(_) | Value::Position(_) | Value::Stream(..));
        let is_bound = is_argument || recorder.has_functions;
        if (says_nothing || is_mute) && !is_bound {
            return;
        }
        let value = recorder.refer(value);
        recorder.push(value.map(|value| Effect::Bind { name, value, is_new, is_bound }));
    }

    /// Notes a layer that a place in the body has made for the first time.
    pub(in crate::eval) fn note_layer_made(&mut self, layer: &Rc<Layer>, place: ExprId, span: Span) {
        let kept = self.frame.layer.is_some().then(|| (place, self.frame.turns.clone()));
        let Some(recorder) = &mut self.replay.recorder else { return };
        // One that has been applied before makes what it did not need then.
        recorder.is_exact &= recorder.is_fresh || kept.is_none();
        let config: Option<Vec<Ref>> = layer.config.iter().map(|value| recorder.refer(value)).collect();
        recorder.give_slot(&Value::Layer(layer.clone()));
        let function = layer.function.clone();
        recorder.push(config.map(|config| Effect::Layer { function, config, kept, span }));
    }

    /// Notes that a layer was made before, with a configuration that is the same now.
    pub(in crate::eval) fn note_same_layer(&mut self, config: &[Value]) {
        let Some(recorder) = &mut self.replay.recorder else { return };
        let is_fixed = |value: &Value| !recorder.is_given(value) && recorder.refer(value).is_some();
        let is_exact = !recorder.is_fresh && config.iter().all(is_fixed);
        recorder.is_exact &= is_exact;
    }

    pub(in crate::eval) fn note_param(&mut self, made: NewParam, tensor: Tensor) {
        let Some(recorder) = &mut self.replay.recorder else { return };
        recorder.is_exact &= recorder.is_fresh && self.frame.layer.is_some();
        recorder.give_slot(&Value::Tensor(tensor));
        recorder.push(Some(Effect::Param(Box::new(made))));
    }

    /// Notes what a signature states.
    pub(in crate::eval) fn note_statement(&mut self, tensor: Tensor, declared: &Declared, span: Span) {
        let Some(recorder) = &mut self.replay.recorder else { return };
        let tensor = recorder.refer_to(tensor);
        let labels = declared.sizes.iter().map(|(label, _)| label.as_str().into());
        let sizes = labels.zip(&declared.values).map(|(label, size)| Some((label, recorder.refer(size)?)));
        let sizes: Option<Vec<(Box<str>, Ref)>> = sizes.collect();
        let shape = declared.shape.clone();
        let state = |(tensor, sizes)| Effect::State { tensor, shape, sizes, span };
        let effect = tensor.zip(sizes).map(state);
        recorder.push(effect);
    }

    /// Notes a size, and how it is made.
    pub(in crate::eval) fn note_size(
        &mut self,
        size: &Value,
        made: impl FnOnce(&Recorder) -> Option<Effect>,
    ) {
        let (Some(recorder), Value::Size(_)) = (&mut self.replay.recorder, size) else { return };
        let effect = made(recorder);
        recorder.give_slot(size);
        recorder.push(effect);
    }

    pub(in crate::eval) fn note_size_tensor(
        &mut self,
        size: &Value,
        made: Tensor,
        span: Span,
        before: usize,
    ) {
        let Some(recorder) = &mut self.replay.recorder else { return };
        let (size, result) = (recorder.refer(size), recorder.pattern(&Value::Tensor(made), before));
        recorder.push(size.zip(result).map(|(size, result)| Effect::SizeTensor { size, span, result }));
    }

    pub(in crate::eval) fn note_set(&mut self, left: &Value, right: &Value, spans: (Span, Span)) {
        let Some(recorder) = &mut self.replay.recorder else { return };
        let both = recorder.refer(left).zip(recorder.refer(right));
        recorder.push(both.map(|(left, right)| Effect::Set { left, right, spans }));
    }

    pub(in crate::eval) fn note_range(
        &mut self,
        shape: Rc<WrittenShape>,
        made: Tensor,
        span: Span,
        before: usize,
    ) {
        let Some(recorder) = &mut self.replay.recorder else { return };
        let result = recorder.pattern(&Value::Tensor(made), before);
        recorder.push(result.map(|result| Effect::Range { shape, span, result }));
    }

    /// Notes that something depends on what a name stands for outside of the function.
    pub(in crate::eval) fn note_outer(&mut self, scope: &Rc<Scope>, name: Name) {
        if let Some(recorder) = &mut self.replay.recorder {
            recorder.is_exact &= recorder.names_around.is_none();
            recorder.recording.outside.push((scope.clone(), name, scope.find(name)));
        }
    }

    pub(in crate::eval) fn note_shown(&mut self, tensor: Tensor, span: Span, short: &str) {
        let Some(recorder) = &mut self.replay.recorder else { return };
        let tensor = recorder.refer_to(tensor);
        recorder.push(tensor.map(|tensor| Effect::Shown { tensor, span, short: short.into() }));
    }

    /// Notes that a tensor is not called after the application that has made it.
    pub(in crate::eval) fn note_inner(&mut self, tensor: Tensor) {
        let Some(recorder) = &mut self.replay.recorder else { return };
        let tensor = recorder.refer_to(tensor);
        recorder.push(tensor.map(Effect::Inner));
    }

    pub(in crate::eval) fn note_spec(&mut self, read: &Rc<WrittenSpec>, span: Span) {
        if let Some(recorder) = &mut self.replay.recorder {
            recorder.push(Some(Effect::Spec(read.clone(), span)));
        }
    }

    /// Notes a stage of a pipe.
    pub(in crate::eval) fn note_stage(&mut self, before: Option<Tensor>, after: Tensor, span: Span) {
        let Some(recorder) = &mut self.replay.recorder else { return };
        let from = before.map_or(Some(Ref::Fixed(Value::Nothing)), |before| recorder.refer_to(before));
        let both = from.zip(recorder.refer_to(after));
        recorder.push(both.map(|(from, made)| Effect::Stage([from, made], span)));
    }
}
