//! Bodies of functions that are walked aside: with open arguments, on a graph of its own.
//!
//! An argument of the configuration is a size with its own name, which serves wherever a number does that nothing looks
//! at; what a function is applied to is a tensor of which nothing is known, unless the body declares shapes with it.
//! Nothing that is walked here is part of the program.

use std::rc::Rc;

use broadloom::{Graph, StatedNames, Tensor};
use broadloom_diagnostics::{Diagnostic, Sources, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::around::{captures_any, is_of_program, names_in_shapes};
use super::contract::{self, axes_of, states_shapes};
use super::needs::Needs;
use super::unknown::{Unknown, is_unknown};
use super::{Eval, Evaluated, Frame, MOST_WORK, Reported, unapplied};
use crate::codes;
use crate::eval::given::Given;
use crate::program::Origins;
use crate::syntax::ast::{Argument, ExprKind, Name};
use crate::value::{Defining, Function, Layer, Scope, Value};

/// The least size of an argument that is a size: one would be taken for an axis that broadcasts.
const LEAST: u64 = 2;

/// The number of expressions of a body that are evaluated if its signature was not asked for.
const BRIEF: u64 = 200_000;

/// The greatest number of tensors that are copied for such walks, in all, for functions that use what is around them.
const MOST_COPIED: usize = 2_000_000;

/// The number of functions inside of each other up to which functions are checked that are not applied.
const DEEPEST: usize = 16;

/// The number of arguments up to which each is tried as the only number.
const MOST_SINGLE: usize = 4;

/// The state of a walk aside. Layers of the program are replaced by copies, their twins, so that the walk changes
/// nothing in them.
#[derive(Default)]
pub(super) struct Aside {
    own: FxHashSet<*const Layer>,
    twins: FxHashMap<*const Layer, Rc<Layer>>,
    /// The number of bodies that are walked aside, this one included, each inside of the one before.
    depth: usize,
    /// True if sizes that are arguments may turn out to be equal.
    is_loose: bool,
    /// Nothing is known of the arguments, not even their kinds.
    pub(super) unknown: Option<Unknown>,
    /// True if these are those of the function itself, and not only of one around it.
    is_unknown: bool,
    /// True if the body asks whether it is applied in training.
    pub(super) asks_training: bool,
    /// True if the body takes more steps than are walked.
    pub(super) is_cut: bool,
    /// True if the body needs the number of a size that is not known before an application.
    pub(super) asks_size: bool,
    /// The arguments that are open, and what the body has to know of them.
    pub(super) needs: Needs,
    /// The names of the last signature that was stated: when the walk ends, those of the function itself.
    stated: StatedNames,
}

/// The way in which a body is walked.
#[derive(Clone, Copy, Default)]
pub(super) struct WalkMode {
    /// Sizes that are arguments may turn out to be equal.
    pub is_loose: bool,
    /// As it is applied after training.
    pub is_inference: bool,
    /// Nothing is known of the arguments, not even their kinds.
    pub is_unknown: bool,
    /// The arguments that are numbers, instead of tensors of which nothing is known.
    pub numbers: Numbers,
    /// The names in the shapes of arguments are named sizes, of which nothing is decided.
    pub is_rigid: bool,
}

/// Arguments that are walked as numbers: tensors without axes, which broadcast in another way than all others.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Numbers {
    #[default]
    None,
    All,
    /// The one at this place.
    One(usize),
}

/// A body that was walked with open arguments.
pub(super) struct Walked {
    pub graph: Graph,
    /// The places where the steps of the graph were written.
    pub origins: Origins,
    /// The number of tensors before the walk: those of the program, if the body uses them.
    pub before: usize,
    /// The arguments that are open tensors.
    pub open: Vec<(Name, Tensor)>,
    /// The result of the application.
    pub result: Evaluated<Value>,
    /// The names of the signature that the function states.
    pub stated: StatedNames,
    /// The mistakes in the body.
    pub diagnostics: Vec<Diagnostic>,
    /// The beginning of the names of its parameters.
    pub prefix: String,
    /// True if the body asks whether it is applied in training.
    pub asks_training: bool,
    /// True if the body takes more steps than are walked.
    pub is_cut: bool,
    /// True if the body needs the number of a size that is not known before an application.
    pub asks_size: bool,
    /// The arguments that the body has to know.
    pub needs: Needs,
}

impl Walked {
    /// A body that was not walked.
    fn nothing() -> Walked {
        Walked {
            graph: Graph::new(),
            origins: Origins::default(),
            before: 0,
            open: Vec::new(),
            result: Err(Reported),
            stated: StatedNames::default(),
            diagnostics: Vec::new(),
            prefix: String::new(),
            asks_training: false,
            is_cut: true,
            asks_size: false,
            needs: Needs::default(),
        }
    }
}

impl<'o> Eval<'o> {
    /// Walks the body of a function with open arguments.
    pub(super) fn walk(
        &mut self,
        function: &Rc<Function>,
        config: Option<&[Value]>,
        way: WalkMode,
    ) -> Walked {
        let walked = self.walk_once(function, config, way);
        if !walked.diagnostics.iter().any(is_about_shapes) {
            return walked;
        }
        // Two arguments may have to be the same size, which is no mistake.
        let loose = self.walk_once(function, config, WalkMode { is_loose: true, ..way });
        if !loose.diagnostics.iter().any(is_about_shapes) {
            return loose;
        }
        self.walk_with_numbers(function, config, way).unwrap_or(walked)
    }

    /// Walks a body that no tensors with axes fit with numbers as arguments. Nothing if these do not fit either.
    pub(super) fn walk_with_numbers(
        &mut self,
        function: &Rc<Function>,
        config: Option<&[Value]>,
        way: WalkMode,
    ) -> Option<Walked> {
        let count = function.def.arguments.len();
        let single = (0..count).filter(|_| (2..=MOST_SINGLE).contains(&count)).map(Numbers::One);
        [Numbers::All].into_iter().filter(|_| count > 0).chain(single).find_map(|numbers| {
            let walked = self.walk_once(function, config, WalkMode { numbers, ..way });
            (walked.result.is_ok() && !walked.diagnostics.iter().any(Diagnostic::is_error)).then_some(walked)
        })
    }

    /// The same without looking again where two arguments may have to be of one size.
    pub(super) fn walk_once(
        &mut self,
        function: &Rc<Function>,
        config: Option<&[Value]>,
        way: WalkMode,
    ) -> Walked {
        let given = config.unwrap_or_default().iter();
        let captures =
            captures_any(self, function) || given.into_iter().any(|value| is_of_program(self, value));
        if captures && self.is_brief {
            self.copied += self.graph.len();
            if self.copied > MOST_COPIED {
                return Walked::nothing();
            }
        }
        let mut aside = self.aside(captures, way);
        let before = aside.graph.len();
        let (open, prefix, result) = aside.walk_here(function, config, way);
        // Functions inside of the body that it does not apply.
        if way.is_unknown && self.is_brief && aside.depth_of_walks() <= DEEPEST {
            unapplied::look_at_unapplied(&mut aside, Some(function.span));
        }
        let found = std::mem::take(&mut aside.diagnostics);
        let graph = std::mem::take(&mut aside.graph);
        let origins = std::mem::take(&mut aside.origins);
        self.sources = std::mem::replace(&mut aside.sources, Sources::new());
        self.names = std::mem::take(&mut aside.names);
        self.copied = aside.copied;
        let state = aside.aside.take().unwrap_or_default();
        let stated = if states_shapes(function) { state.stated } else { StatedNames::default() };
        Walked {
            graph: graph.into_inner(),
            origins,
            before,
            open,
            result,
            stated,
            diagnostics: found,
            prefix,
            asks_training: state.asks_training,
            is_cut: state.is_cut,
            asks_size: state.asks_size,
            needs: state.needs,
        }
    }

    /// The number of bodies that are walked aside, each inside of the one before.
    fn depth_of_walks(&self) -> usize {
        self.aside.as_ref().map_or(0, |aside| aside.depth)
    }

    /// An evaluation beside this one, with the same texts and names; with the same tensors if they are used.
    fn aside(&mut self, captures: bool, way: WalkMode) -> Eval<'o> {
        let sources = std::mem::replace(&mut self.sources, Sources::new());
        let mut aside = Eval {
            sources,
            names: std::mem::take(&mut self.names),
            library: self.library,
            own_file: self.own_file.clone(),
            frame: Frame { layer: None, turns: Rc::new([]), subject: None, ..self.frame.clone() },
            aside: Some(Aside {
                is_loose: way.is_loose,
                is_unknown: way.is_unknown,
                unknown: (way.is_unknown || is_unknown(self)).then(Unknown::default),
                depth: self.depth_of_walks() + 1,
                ..Aside::default()
            }),
            inference: way.is_inference,
            defining: Rc::new(Defining::aside()),
            copied: self.copied,
            work: if self.is_brief { MOST_WORK - BRIEF } else { 0 },
            ..Eval::bare(self.options, self.prelude.clone())
        };
        if captures {
            aside.graph = self.graph.clone();
            aside.origins = self.origins.clone();
            aside.dims = self.dims.clone();
            aside.ranged = self.ranged.clone();
            aside.params = self.params.clone();
        }
        aside
    }

    /// Applies a function to open arguments: which are open tensors, and what its parameters are called begins with.
    fn walk_here(
        &mut self,
        function: &Rc<Function>,
        config: Option<&[Value]>,
        WalkMode { numbers, is_rigid, .. }: WalkMode,
    ) -> (Vec<(Name, Tensor)>, String, Evaluated<Value>) {
        let def = function.def.clone();
        let span = def.name.span;
        let sizes = names_in_shapes(self, function);
        let scope = Scope::new(Some(function.scope.clone()));
        let formal = def.config.as_deref().unwrap_or(&[]);
        let given = match config {
            Some(values) => {
                formal.iter().zip(values).map(|(each, value)| named(each, value.clone())).collect()
            }
            None if self.is_own_unknown() => formal.iter().map(|each| named(each, Value::Open)).collect(),
            None => {
                formal.iter().filter(|each| each.default.is_none()).map(|each| self.open_size(each)).collect()
            }
        };
        let Ok(config) = self.bound(function, formal, given, &scope, (span, span)) else {
            return (Vec::new(), String::new(), Err(Reported));
        };
        for name in contract::names_in_arguments(self, function).into_iter().filter(|_| is_rigid) {
            let size = self.fresh_size(name, span);
            scope.bind(name, size);
        }
        let layer = self.layer(function, scope, config);
        let (mut open, mut given) = (Vec::new(), Vec::new());
        for (at, each) in def.arguments.iter().enumerate() {
            if self.is_own_unknown() {
                given.push(named(each, Value::Open));
                continue;
            }
            if each.default.is_some() && !self.is_another(function, each) {
                continue;
            }
            // In `(len(x))` the name of a tensor is no size.
            let has_axes = each.shape.as_ref().is_some_and(|shape| axes_of(shape).next().is_some());
            if sizes.contains(&each.name.name) && !has_axes {
                given.push(self.open_size(each));
                continue;
            }
            let text = self.text(each.name.name).to_string();
            let is_number = numbers == Numbers::All || numbers == Numbers::One(at);
            let made = self.ask(each.name.span, |graph| match is_number {
                true => graph.data(&text, "|"),
                false => Ok(graph.argument(&text)),
            });
            if let Ok(tensor) = made {
                self.note_open(|needs| needs.add_tensor(each.name.name, tensor));
                open.push((each.name.name, tensor));
                given.push(named(each, Value::Tensor(tensor)));
            }
        }
        let result = match self.apply_layer(&layer, given, span) {
            Ok(Value::Layer(inner)) if inner.function.is_nested => self.tried(inner, span),
            result => result,
        };
        let prefix = format!("{}.", self.path_of(&layer));
        (open, prefix, result)
    }

    /// Applies a function that a body gives, and that was defined in it: what it has to know of the arguments around it, the
    /// body has to know. Nothing else of that application stays.
    fn tried(&mut self, inner: Rc<Layer>, span: Span) -> Evaluated<Value> {
        let count = |eval: &Eval<'_>| eval.aside.as_ref().map_or(0, |aside| aside.needs.count());
        let (needs, found, errors) = (count(self), self.diagnostics.len(), self.errors);
        let graph = self.graph.clone();
        let open = inner.function.def.arguments.iter().filter(|each| each.default.is_none());
        let open: Vec<Argument> = open.cloned().collect();
        let mut given = Vec::new();
        for each in &open {
            let text = self.text(each.name.name).to_string();
            let tensor = self.ask(each.name.span, |graph| Ok(graph.argument(&text)))?;
            given.push(named(each, Value::Tensor(tensor)));
        }
        let made = self.apply_layer(&inner, given, span);
        self.graph = graph;
        self.diagnostics.truncate(found);
        self.errors = errors;
        if made.is_err() && count(self) > needs { Err(Reported) } else { Ok(Value::Layer(inner)) }
    }

    /// Returns true if the arguments of the function that is walked have no kinds.
    fn is_own_unknown(&self) -> bool {
        self.aside.as_ref().is_some_and(|aside| aside.is_unknown)
    }

    /// A size with the name of an argument.
    fn open_size(&mut self, argument: &Argument) -> Given {
        let name = argument.name.name;
        let size = self.fresh_size(name, argument.name.span);
        if let Value::Size(size) = &size
            && let Some(size) = size.as_captured()
        {
            self.note_open(|needs| needs.add_size(name, size));
        }
        named(argument, size)
    }

    /// Notes an argument that is open.
    fn note_open(&mut self, add: impl FnOnce(&mut Needs)) {
        if let Some(aside) = &mut self.aside {
            add(&mut aside.needs);
        }
    }

    /// A size with a name, or with one like it if that is taken.
    fn fresh_size(&mut self, name: Name, span: Span) -> Value {
        let wanted = self.text(name).to_string();
        let is_loose = self.aside.as_ref().is_some_and(|aside| aside.is_loose);
        let value = self.ask(span, |graph| {
            let taken: Vec<String> = graph.dims().map(str::to_string).collect();
            let mut name = wanted;
            while taken.contains(&name) {
                name.push('_');
            }
            if is_loose {
                graph.dynamic(&name, None)?;
            } else {
                graph.dim(&name, LEAST.., None)?;
            }
            graph.captured_dim(&name)
        });
        value.map_or(Value::Mistake, |size| Value::Size(Rc::new(size.into())))
    }

    /// True if an argument is another one if it is not given: `memory = x`.
    fn is_another(&self, function: &Function, argument: &Argument) -> bool {
        let Some(default) = argument.default else { return false };
        match function.file.expr(default).kind {
            ExprKind::Name(name) => function.def.arguments.iter().any(|each| each.name.name == name),
            _ => false,
        }
    }

    /// Notes the names of a signature, when the application that states it ends.
    pub(super) fn note_stated(&mut self, names: StatedNames) {
        if let Some(aside) = &mut self.aside {
            aside.stated = names;
        }
    }

    /// The layer that stands for another one while a body is walked aside: itself, if it was made on the way.
    pub(super) fn twin(&mut self, layer: &Rc<Layer>) -> Rc<Layer> {
        let Some(aside) = &mut self.aside else { return layer.clone() };
        if aside.own.contains(&Rc::as_ptr(layer)) {
            return layer.clone();
        }
        if let Some(twin) = aside.twins.get(&Rc::as_ptr(layer)) {
            return twin.clone();
        }
        let function = layer.function.clone();
        let scope = Scope::new(Some(function.scope.clone()));
        for (each, value) in function.def.config.iter().flatten().zip(&layer.config) {
            scope.bind(each.name.name, value.clone());
        }
        let twin = self.layer(&function, scope, layer.config.clone());
        twin.made_at.set(layer.made_at.get());
        if let Some(aside) = &mut self.aside {
            aside.twins.insert(Rc::as_ptr(layer), twin.clone());
        }
        twin
    }

    /// Notes a layer that is made while a body is walked aside.
    pub(super) fn note_layer(&mut self, layer: &Rc<Layer>) {
        if let Some(aside) = &mut self.aside {
            aside.own.insert(Rc::as_ptr(layer));
        }
    }
}

/// A value for an argument, by its name.
fn named(argument: &Argument, value: Value) -> Given {
    Given { name: Some(argument.name), value, span: argument.name.span }
}

/// True of messages about shapes, which do not depend on what kind of value an argument is.
pub(super) fn is_about_shapes(diagnostic: &Diagnostic) -> bool {
    [codes::MISMATCH, codes::ARITHMETIC, codes::NOTATION].contains(&diagnostic.code) && diagnostic.is_error()
}
