//! Bodies that are not walked again: an application that would do what an earlier one did does it without the syntax tree.
//!
//! The second time that a function is applied, its body is walked as ever and everything that it does is recorded: the
//! operations on the graph, the parameters and layers that it makes, the names that it gives, the functions that it applies.
//! Operands are arguments, earlier results, or values that are the same in every application. A [`Recording`] belongs to a
//! function, its configuration and the kinds of its arguments. The next application with the same ones does the same again,
//! through the same functions of the evaluator, so that shapes, names, places and applications are those of a walk. Functions
//! that the body applies are walked or replayed in their turn.
//!
//! | a recording is for | because |
//! |---|---|
//! | a function of a file, or the definition of one inside of a body with what the names around it stand for | those are new in every application ([`inner`]) |
//! | its configuration, numbers and texts among its arguments, and `training` | conditions read them |
//! | which arguments are tensors, layers and lists of them, and which are one and the same | they distinguish operands |
//! | a layer that has made nothing yet, or this one layer | parameters and inner layers are made once |
//! | what names outside of the function stand for | checked again whenever one of them may have changed |
//!
//! Anything else that a body looks at ends a recording: [`Watched`](super::watched::Watched) notices questions to the graph, such as
//! sizes as numbers, and statements that act are not recorded. Nothing is replayed once a mistake was reported. If anything goes
//! another way than it was recorded (the graph refuses a step, a function gives another kind of value), then the program is
//! evaluated once more from its beginning, and walks every body: messages are always those of a walk.

mod inner;
mod play;
mod record;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use broadloom::{StatedNames, Tensor};
use broadloom_diagnostics::Span;
use broadloom_spec::{WrittenShape, WrittenSpec};
use rustc_hash::FxHashMap;

use super::Eval;
use super::act::Act;
use super::leaf::NewParam;
use crate::syntax::ast::{Binary, Def, ExprId, Ident, Name};
use crate::value::{Function, Layer, Scope, Value, is_same};
pub(super) use inner::{note_definition, with_names_around};
pub(super) use play::{fail_to_replay, replay_body};
pub(super) use record::Recorder;

/// The number of recordings of one function.
const MOST_RECORDINGS: usize = 8;

/// The number of applications of one function that could not be recorded, after which none is.
const MOST_FAILURES: u32 = 3;

/// The recordings of bodies that were walked.
#[derive(Default)]
pub(crate) struct Replay {
    /// True if bodies may be replayed.
    pub is_on: bool,
    /// True if something went another way than it was recorded: the program has to be walked.
    pub has_failed: bool,
    /// True while a body is replayed.
    pub is_playing: bool,
    /// The number of bodies that were replayed.
    pub played: usize,
    recorder: Option<Box<Recorder>>,
    known: FxHashMap<*const (), Known>,
    /// The names that functions inside of bodies find around them, by their definitions.
    names_around: FxHashMap<*const Def, (Arc<Def>, Rc<[Name]>)>,
}

/// The recordings of one function.
struct Known {
    /// It is kept, so that no other function takes its place in memory.
    _function: Rc<Function>,
    applied: u32,
    failed: u32,
    recordings: Vec<Rc<Recording>>,
}

/// The way in which a body is evaluated.
pub(super) enum Recorded {
    /// As it was recorded, with the arguments in their slots.
    Known(Rc<Recording>, Vec<Value>),
    /// It is walked and recorded.
    New,
    /// It is walked.
    No,
}

/// Everything that an application of a function did.
pub(super) struct Recording {
    config: Vec<Value>,
    /// The layer, if it had been applied before.
    layer: Option<Rc<Layer>>,
    inference: bool,
    arguments: Vec<Condition>,
    /// The values of names that were found from a scope outside of the function.
    outside: Vec<(Rc<Scope>, Name, Option<Value>)>,
    /// The time at which these were last compared.
    epoch: Cell<u32>,
    /// The number of names of sizes.
    dims: usize,
    effects: Vec<Effect>,
    result: Ref,
    slots: usize,
    /// The number of evaluation steps, and the greatest depth of them, without those of functions that were applied.
    steps: u64,
    deepest: usize,
}

/// A condition on an argument.
pub(super) enum Condition {
    Tensor,
    Layer,
    /// The tensor or layer in a slot once more.
    Again(u32),
    Fixed(Value),
    List(Vec<Condition>),
}

/// A value in a recording.
#[derive(Clone)]
pub(super) enum Ref {
    /// A tensor, a layer or a size: of an argument, or made before.
    Slot(u32),
    Fixed(Value),
    List(Vec<Ref>),
    Inference(Box<Ref>),
}

/// A condition on a value that is made.
pub(super) enum Pattern {
    /// A new tensor, which takes the next slot.
    New,
    Same(Ref),
    List(Vec<Pattern>),
}

/// Something that a body does.
pub(super) enum Effect {
    Act {
        act: Act,
        operands: Box<[Ref]>,
        span: Span,
        result: Pattern,
    },
    /// A tensor has input axes, or may have some.
    HasInputs(Ref),
    /// A value is called by a name; a tensor only if it is new. If it is that of an argument, or if functions may look for it, it is bound.
    Bind {
        name: Ident,
        value: Ref,
        is_new: bool,
        is_bound: bool,
    },
    Layer {
        function: Rc<Function>,
        config: Vec<Ref>,
        kept: Option<(ExprId, Rc<[u32]>)>,
        span: Span,
    },
    Param(Box<NewParam>),
    /// The name of a parameter that was made before is bound, because functions may look for it.
    Known {
        name: Name,
        value: Ref,
    },
    /// A function without configuration is defined.
    Define {
        def: Arc<Def>,
        span: Span,
    },
    /// A signature states the shape of a tensor.
    State {
        tensor: Ref,
        shape: Rc<WrittenShape>,
        sizes: Vec<(Box<str>, Ref)>,
        span: Span,
    },
    /// A size that has a name in the signature, or in the spec that has made a tensor; arithmetic on sizes.
    StatedSize(Name),
    SizeIn {
        tensor: Ref,
        name: Name,
        span: Span,
    },
    Arithmetic {
        sign: Binary,
        of: [Ref; 2],
    },
    /// A size as a tensor.
    SizeTensor {
        size: Ref,
        span: Span,
        result: Pattern,
    },
    /// `set` of a size; the places of the value and of the statement.
    Set {
        left: Ref,
        right: Ref,
        spans: (Span, Span),
    },
    Range {
        shape: Rc<WrittenShape>,
        span: Span,
        result: Pattern,
    },
    Shown {
        tensor: Ref,
        span: Span,
        short: Box<str>,
    },
    /// A tensor between two functions of a list is not called after the application.
    Inner(Ref),
    Spec(Rc<WrittenSpec>, Span),
    /// A stage of a pipe has made the second tensor of the first.
    Stage([Ref; 2], Span),
    Apply(Box<RecordedApplication>),
}

/// A function that a body applies.
pub(super) struct RecordedApplication {
    layer: Ref,
    given: Vec<(Option<Ident>, Ref, Span)>,
    span: Span,
    inference: bool,
    depth: usize,
    result: Pattern,
}

impl Replay {
    pub fn is_recording(&self) -> bool {
        self.recorder.is_some()
    }

    /// Counts an evaluation step of a body that is recorded.
    pub fn count_step(&mut self, depth: usize) {
        if let Some(recorder) = &mut self.recorder {
            recorder.count_step(depth);
        }
    }
}

/// Lets applications replay what earlier ones have recorded. Whoever does that has to look whether it
/// [failed](Eval::has_to_walk) when the program was evaluated.
pub(crate) fn begin_replaying(eval: &mut Eval<'_>) {
    eval.replay.is_on = true;
}

/// Returns true if something went another way than it was recorded, so that the program has to be evaluated again.
pub(crate) fn has_to_walk(eval: &Eval<'_>) -> bool {
    eval.replay.has_failed
}

/// Finds out how the body of a function is evaluated. The frame is that of the function.
#[inline(never)]
pub(super) fn recorded(eval: &mut Eval<'_>, layer: &Rc<Layer>, arguments: &[Value]) -> Recorded {
    let function = &layer.function;
    let is_off = !eval.replay.is_on || eval.errors > 0 || eval.frame.subject.is_some();
    if is_off {
        return Recorded::No;
    }
    let (inference, dims) = (eval.inference, names_of_sizes(eval));
    let epoch = layer.scope.journal().epoch();
    let known = eval.replay.known.entry(inner::identity(layer)).or_insert_with(|| Known {
        _function: function.clone(),
        applied: 0,
        failed: 0,
        recordings: Vec::new(),
    });
    known.applied += 1;
    known.recordings.retain(|recording| recording.is_current(epoch, dims));
    let is_fresh = layer.has_made_nothing();
    for recording in &known.recordings {
        if recording.inference == inference
            && recording.is_of(layer, is_fresh)
            && let Some(slots) = recording.slots_for(arguments)
        {
            return Recorded::Known(recording.clone(), slots);
        }
    }
    let is_worthwhile =
        known.applied > 1 && known.failed < MOST_FAILURES && known.recordings.len() < MOST_RECORDINGS;
    if is_worthwhile { Recorded::New } else { Recorded::No }
}

/// The number of names of sizes that a label must not have.
fn names_of_sizes(eval: &Eval<'_>) -> usize {
    eval.graph.quiet().dims().count()
}

impl Recording {
    /// Returns true if what was found outside of the function is still there.
    fn is_current(&self, epoch: u32, dims: usize) -> bool {
        if self.dims != dims {
            return false;
        }
        if self.epoch.get() == epoch {
            return true;
        }
        let is_there =
            |(scope, name, value): &(Rc<Scope>, Name, Option<Value>)| match (scope.find(*name), value) {
                (Some(found), Some(value)) => is_same(&found, value),
                (found, value) => found.is_none() && value.is_none(),
            };
        self.epoch.set(epoch);
        self.outside.iter().all(is_there)
    }

    /// Returns true if it was recorded for a layer, or for another one that is configured in the same way.
    fn is_of(&self, layer: &Rc<Layer>, is_fresh: bool) -> bool {
        match &self.layer {
            Some(own) => Rc::ptr_eq(own, layer) && !is_fresh,
            None => {
                is_fresh
                    && self.config.len() == layer.config.len()
                    && self.config.iter().zip(&layer.config).all(|(a, b)| is_same(a, b))
            }
        }
    }

    /// The first slots, if the arguments are of the kinds that it is for.
    fn slots_for(&self, arguments: &[Value]) -> Option<Vec<Value>> {
        let mut slots = Vec::with_capacity(self.slots);
        let fit = arguments.len() == self.arguments.len()
            && self.arguments.iter().zip(arguments).all(|(kind, value)| kind.fits(value, &mut slots));
        fit.then_some(slots)
    }
}

impl Condition {
    /// Returns true for a value of this kind, and puts it in its slots.
    fn fits(&self, value: &Value, slots: &mut Vec<Value>) -> bool {
        match (self, value) {
            (Condition::Tensor, Value::Tensor(_)) | (Condition::Layer, Value::Layer(_)) => {
                let is_new = slots.iter().all(|known| !is_same(known, value));
                slots.push(value.clone());
                is_new
            }
            (Condition::Again(slot), value) => {
                slots.get(*slot as usize).is_some_and(|known| is_same(known, value))
            }
            (Condition::Fixed(fixed), value) => is_same(fixed, value),
            (Condition::List(kinds), Value::List(items)) => {
                kinds.len() == items.len()
                    && kinds.iter().zip(&**items).all(|(kind, item)| kind.fits(item, slots))
            }
            _ => false,
        }
    }
}

impl Ref {
    fn value(&self, slots: &[Value]) -> Option<Value> {
        match self {
            Ref::Slot(slot) => slots.get(*slot as usize).cloned(),
            Ref::Fixed(value) => Some(value.clone()),
            Ref::List(items) => {
                let items: Option<Vec<Value>> = items.iter().map(|item| item.value(slots)).collect();
                items.map(|items| Value::List(items.into()))
            }
            Ref::Inference(inner) => inner.value(slots).map(|inner| Value::Inference(Rc::new(inner))),
        }
    }

    fn tensor(&self, slots: &[Value]) -> Option<Tensor> {
        let value = match self {
            Ref::Slot(slot) => slots.get(*slot as usize)?,
            Ref::Fixed(value) => value,
            Ref::List(_) | Ref::Inference(_) => return None,
        };
        if let Value::Tensor(tensor) = value { Some(*tensor) } else { None }
    }
}

impl Pattern {
    /// Returns true for a value that is as it was recorded, and puts new tensors in their slots. There were so many tensors
    /// before it was made.
    fn fits(&self, value: &Value, before: usize, slots: &mut Vec<Value>) -> bool {
        match (self, value) {
            (Pattern::New, Value::Tensor(tensor)) => {
                slots.push(value.clone());
                tensor.index() >= before
            }
            (Pattern::Same(same), value) => same.value(slots).is_some_and(|same| is_same(&same, value)),
            (Pattern::List(patterns), Value::List(items)) => {
                let mut pairs = patterns.iter().zip(&**items);
                patterns.len() == items.len() && pairs.all(|(each, item)| each.fits(item, before, slots))
            }
            _ => false,
        }
    }
}

/// The names of a signature, while a body is replayed.
type Stated = StatedNames;
