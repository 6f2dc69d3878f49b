//! Schemes of functions: a body is walked once with open arguments, on a graph of its own.
//!
//! An argument of the configuration is a size with its own name, which serves wherever a number does that nothing looks
//! at; what a function is applied to is a tensor of which nothing is known, unless the body declares shapes with it.
//! Where the body needs more than that (a text, a list, a function, a number that decides what is done), it is not walked
//! further, and the signature says what it waits for. Nothing that is walked here is part of the program.

use std::rc::Rc;
use std::sync::Arc;

use broadloom::{Graph, StatedNames, Tensor};
use broadloom_diagnostics::{Diagnostic, Sources, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::bound_names::bound_by_def;
use super::contract::{Promise, states_shapes};
use super::unknown::{Unknown, is_unknown};
use super::{Eval, Evaluated, Frame, MOST_WORK, Reported, contract, unapplied};
use crate::codes;
use crate::eval::given::Given;
use crate::program::Asked;
use crate::signature::{self, ArgumentShape, NotInferred, Scheme, Signature};
use crate::syntax::ast::{
    Argument, AxisKind, Body, Expr, ExprKind, Name, ResultShape, Shape, Statement, StatementKind,
};
use crate::value::{Defining, Function, Layer, Scope, Value};

/// The least size of an argument that is a size: one would be taken for an axis that broadcasts.
const LEAST: u64 = 2;

/// The number of expressions of a body that are evaluated if its signature was not asked for.
const BRIEF: u64 = 200_000;
/// So many tensors are copied for that, in all, for functions that use what is around them.
const MOST_COPIED: usize = 2_000_000;
/// Functions that nobody applies are looked at so many functions deep.
const DEEPEST: usize = 16;

/// Layers of the program have twins while a body is walked aside, so that the walk leaves nothing in them.
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
    /// The names of the last signature that was stated: when the walk ends, those of the function itself.
    stated: StatedNames,
}

/// The way in which a body is walked.
#[derive(Clone, Copy, Default)]
struct Way {
    /// Sizes that are arguments may turn out to be equal.
    is_loose: bool,
    /// As it is applied after training.
    is_inference: bool,
    /// Nothing is known of the arguments, not even their kinds.
    is_unknown: bool,
}

/// A body that was walked with open arguments.
struct Walked {
    graph: Graph,
    /// The number of tensors before the walk: those of the program, if the body uses them.
    before: usize,
    /// The arguments that are open tensors.
    open: Vec<(Name, Tensor)>,
    /// The result of the application.
    result: Evaluated<Value>,
    /// The names of the signature that the function states.
    stated: StatedNames,
    /// The mistakes in the body.
    diagnostics: Vec<Diagnostic>,
    /// The beginning of the names of its parameters.
    prefix: String,
    /// True if the body asks whether it is applied in training.
    asks_training: bool,
    /// True if the body takes more steps than are walked.
    is_cut: bool,
}

impl Walked {
    /// A body that was not walked.
    fn nothing() -> Walked {
        Walked {
            graph: Graph::new(),
            before: 0,
            open: Vec::new(),
            result: Err(Reported),
            stated: StatedNames::default(),
            diagnostics: Vec::new(),
            prefix: String::new(),
            asks_training: false,
            is_cut: true,
        }
    }
}

impl<'o> Eval<'o> {
    /// The signatures that are asked for.
    pub(crate) fn signatures(&mut self, asked: &Asked) -> Vec<Signature> {
        let functions = match asked {
            Asked::Own => self.defined.clone(),
            Asked::Library => self.of_library(),
            Asked::One(text) => return self.signature_of(text).into_iter().collect(),
        };
        functions.iter().map(|function| self.signature(function, None)).collect()
    }

    /// The functions of the library, in the order of its files.
    fn of_library(&self) -> Vec<Rc<Function>> {
        let values = self.prelude.all().into_iter().filter_map(|name| self.prelude.own(name));
        let function = |value: Value| match value {
            Value::Function(function) => Some(function),
            Value::Layer(layer) => Some(layer.function.clone()),
            _ => None,
        };
        let mut functions: Vec<Rc<Function>> = values.filter_map(function).collect();
        functions.sort_by_key(|function| (function.span.source, function.span.start));
        functions
    }

    /// The signature of what is written as in the program.
    fn signature_of(&mut self, text: &str) -> Option<Signature> {
        let source = self.sources.add("what was asked for", text);
        let parsed = crate::syntax::parse(source, text, &mut self.names);
        self.diagnostics.extend(parsed.diagnostics);
        let frame = Frame { file: Arc::new(parsed.file), scope: self.own.clone(), ..self.frame.clone() };
        let value = self.within(frame, |eval| {
            let file = eval.frame.file.clone();
            let [statement] = &file.statements[..] else { return Err(Reported) };
            eval.statement(statement)
        });
        match value {
            Ok(Value::Function(function)) => Some(self.signature(&function, None)),
            Ok(Value::Layer(layer)) => Some(self.signature(&layer.function.clone(), Some(&layer))),
            Ok(other) => {
                let message = format!("`{text}` is {}, and only functions have signatures", other.kind());
                let place = Span::empty(source, 0);
                let (Ok(()) | Err(Reported)) = self.fail(Diagnostic::error(codes::KIND, message, place, ""));
                None
            }
            Err(Reported) => None,
        }
    }

    /// The signature of a function as it is defined, or of a layer with its configuration.
    pub(super) fn signature(&mut self, function: &Rc<Function>, layer: Option<&Layer>) -> Signature {
        let config = layer.map(|layer| &layer.config[..]);
        let walked = self.walk(function, config, Way::default());
        let scheme = match self.mistake_of(function, config, &walked) {
            Some(mistake) => Err(NotInferred::Wrong(mistake)),
            None => self.scheme_of(function, config, &walked),
        };
        let (shapes, scheme) = match scheme {
            Ok((shapes, scheme)) => (shapes, Ok(scheme)),
            Err(why) => (Vec::new(), Err(why)),
        };
        let def = &function.def;
        let config = def.config.as_ref().map(|list| match layer {
            Some(layer) => self.given_config(function, &layer.config),
            None => list.iter().map(|each| self.written_argument(function, each)).collect(),
        });
        // What callers see of a function that is not inferred is what it states.
        let written = |span: Option<Span>| Some(self.sources.slice(span?).trim().to_string());
        let argument = |each: &Argument| {
            let at = walked.open.iter().position(|(name, _)| *name == each.name.name);
            signature::SignatureArgument {
                name: self.text(each.name.name).to_string(),
                shape: at.and_then(|at| shapes.get(at).cloned()).or_else(|| {
                    written(each.shape.as_ref().and_then(|shape| shape.span))
                        .map(|text| ArgumentShape { text, rows: None })
                }),
                default: each.default.map(|default| self.quote(function.file.expr(default).span)),
            }
        };
        let arguments = def.arguments.iter().map(argument).collect();
        let name = self.text(def.name.name).to_string();
        Signature {
            name,
            config,
            arguments,
            stated: written(def.result.as_ref().and_then(ResultShape::span)),
            scheme,
            span: def.name.span,
        }
    }

    /// A mistake in a body that could not be walked to its end, if it is one whatever the arguments are.
    fn mistake_of(
        &mut self,
        function: &Rc<Function>,
        config: Option<&[Value]>,
        walked: &Walked,
    ) -> Option<String> {
        if walked.result.is_ok() || walked.diagnostics.iter().any(is_about_shapes) {
            return None;
        }
        let way = Way { is_unknown: true, ..Way::default() };
        let unknown = self.walk_once(function, config, way);
        unknown.diagnostics.iter().find(|each| each.is_error()).map(|each| each.message.clone())
    }

    /// The shapes of the open arguments, and the scheme.
    fn scheme_of(
        &self,
        function: &Function,
        config: Option<&[Value]>,
        walked: &Walked,
    ) -> Result<(Vec<ArgumentShape>, Scheme), NotInferred> {
        let wrong = walked.diagnostics.iter().find(|diagnostic| is_about_shapes(diagnostic));
        if let Some(wrong) = wrong {
            return Err(NotInferred::Wrong(wrong.message.clone()));
        }
        let Ok(value) = &walked.result else {
            if walked.is_cut {
                let why = "its body takes more steps than are walked for a signature";
                return Err(NotInferred::Open(why.into()));
            }
            return Err(NotInferred::Open(self.waits_for(function, config, walked.diagnostics.first())));
        };
        let open: Vec<Tensor> = walked.open.iter().map(|(_, tensor)| *tensor).collect();
        let params: Vec<Tensor> =
            walked.graph.params().into_iter().filter(|param| param.index() >= walked.before).collect();
        let mut others = params.clone();
        tensors(value, &mut others);
        let scheme = walked.graph.scheme(&open, &others, &walked.stated).map_err(|error| {
            let message = error.message().to_string();
            if error.kind() == broadloom::ErrorKind::Mismatch {
                NotInferred::Wrong(message)
            } else {
                NotInferred::Open(message)
            }
        })?;
        if let Some(name) = contract::unsolved(self, function, &scheme, (&walked.graph, &walked.stated)) {
            return Err(NotInferred::Open(format!("what it does depends on what `{name}` is")));
        }
        if let Some((_, why)) = self.promised(function, walked, &scheme) {
            return Err(NotInferred::Wrong(why));
        }
        let texts: Vec<String> = scheme.shapes.iter().map(|shape| scheme.text(shape)).collect();
        let (taken, rest) = texts.split_at(open.len());
        let rows = scheme.shapes.iter().map(|shape| scheme.axes(shape));
        let taken =
            taken.iter().zip(rows).map(|(text, rows)| ArgumentShape { text: text.clone(), rows: Some(rows) });
        let taken = taken.collect();
        let (of_params, mut results) = rest.split_at(params.len());
        let named = params.iter().map(|param| {
            let name = walked.graph.name_of(*param).unwrap_or_default();
            name.strip_prefix(&walked.prefix).unwrap_or(name).to_string()
        });
        let parameters = named.zip(of_params.iter().cloned()).collect();
        let result = given(value, &mut results);
        let broadloom::Scheme { conditions, most, numbers, .. } = scheme;
        Ok((taken, Scheme { result, parameters, conditions, most, numbers }))
    }

    /// Finds a promise of the signature that a function states, which its body does not keep.
    fn promised(
        &self,
        function: &Function,
        walked: &Walked,
        scheme: &broadloom::Scheme,
    ) -> Option<(Span, String)> {
        // Of what could not be solved for, nothing is known.
        contract::unsolved(self, function, scheme, (&walked.graph, &walked.stated)).is_none().then_some(())?;
        let names = walked.open.iter().map(|(name, _)| Promise::Argument(*name));
        let arguments = names.zip(scheme.shapes.iter().cloned());
        // The last shapes are those of the results.
        let mut results = Vec::new();
        walked.result.iter().for_each(|value| tensors(value, &mut results));
        let first = scheme.shapes.len().saturating_sub(results.len());
        let results = scheme.shapes[first..].iter().cloned().enumerate();
        let results = results.map(|(at, shape)| (Promise::Result(at), shape));
        contract::broken_promise(self, function, scheme, &arguments.chain(results).collect::<Vec<_>>())
    }

    /// Notes the names of a signature, when the application that states it ends.
    pub(super) fn note_stated(&mut self, names: StatedNames) {
        if let Some(aside) = &mut self.aside {
            aside.stated = names;
        }
    }

    /// The arguments that a body needs to know before it can be walked on.
    fn waits_for(&self, function: &Function, config: Option<&[Value]>, wrong: Option<&Diagnostic>) -> String {
        let def = &function.def;
        // A configuration that is given is known.
        let open = def.config.iter().flatten().filter(|_| config.is_none());
        let all = || open.clone().chain(&def.arguments).filter(|each| each.default.is_none());
        let span = wrong.and_then(Diagnostic::primary).map(|label| label.span);
        let inside = |outer: Span, inner: Span| outer.contains(inner);
        let exprs =
            function.file.exprs.iter().filter(|expr| span.is_some_and(|span| inside(span, expr.span)));
        let used: FxHashSet<Name> = exprs
            .filter_map(|expr| if let ExprKind::Name(name) = expr.kind { Some(name) } else { None })
            .collect();
        let named = |each: &&Argument| used.contains(&each.name.name);
        let mut names: Vec<&str> = all().filter(named).map(|each| self.text(each.name.name)).collect();
        if names.is_empty() {
            // A size of the signature that has to be a number.
            let stated = contract::names_in_signature(function).into_iter();
            names = stated.filter(|name| used.contains(name)).map(|name| self.text(name)).collect();
        }
        if names.is_empty() {
            names = all().map(|each| self.text(each.name.name)).collect();
        }
        match &names[..] {
            [] => wrong.map_or("it depends on what it is applied to".into(), |wrong| wrong.message.clone()),
            [name] => format!("what it does depends on what `{name}` is"),
            names => format!("what it does depends on what `{}` are", names.join("`, `")),
        }
    }

    /// Reports what is wrong with the body of a function whatever it is applied to, and a signature that promises more
    /// than the body keeps.
    pub(super) fn check_open(&mut self, function: &Rc<Function>, is_applied: bool) {
        self.is_brief = true;
        self.check_ways(function, is_applied);
        self.is_brief = false;
    }

    /// Walks a body in all ways in which it may be applied, until one has a mistake.
    fn check_ways(&mut self, function: &Rc<Function>, is_applied: bool) {
        let walked = self.walk(function, None, Way::default());
        let is_right = !walked.diagnostics.iter().any(is_about_shapes);
        // What an application walks was found to be right or wrong there, but for what a signature promises.
        let is_known = is_applied && !states_shapes(function);
        if !is_known && self.report_walked(function, &walked) || is_known && !is_right {
            return;
        }
        if walked.asks_training {
            let inference = self.walk(function, None, Way { is_inference: true, ..Way::default() });
            if self.report_walked(function, &inference) {
                return;
            }
        }
        let is_clear = walked.result.is_ok() && walked.diagnostics.is_empty();
        if is_clear && !has_ways(function) {
            return;
        }
        let unknown = self.walk_once(function, None, Way { is_unknown: true, ..Way::default() });
        for diagnostic in unknown.diagnostics.into_iter().filter(Diagnostic::is_error) {
            let place = diagnostic.primary().map(|label| label.span);
            let is_here = |known: &Diagnostic| {
                known.is_error() && known.primary().is_some_and(|label| Some(label.span) == place)
            };
            if !self.diagnostics.iter().any(is_here) {
                let (Ok(()) | Err(Reported)) = self.fail(diagnostic);
            }
        }
    }

    /// The codes and the places of the mistakes that a body has whatever it is applied to.
    pub(super) fn own_mistakes(&mut self, layer: &Layer) -> Vec<(&'static str, Option<Span>)> {
        self.is_brief = true;
        let config = Some(&layer.config[..]);
        let tensors = self.walk(&layer.function, config, Way::default());
        let unknown = self.walk_once(&layer.function, config, Way { is_unknown: true, ..Way::default() });
        self.is_brief = false;
        let shapes = tensors.diagnostics.iter().filter(|each| is_about_shapes(each));
        let all = shapes.chain(&unknown.diagnostics);
        all.map(|each| (each.code, each.primary().map(|label| label.span))).collect()
    }

    /// Reports the mistakes of a body that was walked with open tensors. Returns true if there are any.
    fn report_walked(&mut self, function: &Rc<Function>, walked: &Walked) -> bool {
        let before = self.errors;
        for diagnostic in walked.diagnostics.iter().filter(|each| is_about_shapes(each)) {
            let (Ok(()) | Err(Reported)) = self.fail(diagnostic.clone());
        }
        let Ok(value) = &walked.result else { return self.errors > before };
        let is_right = self.errors == before;
        let mut others = Vec::new();
        tensors(value, &mut others);
        let open: Vec<Tensor> = walked.open.iter().map(|(_, tensor)| *tensor).collect();
        match walked.graph.scheme(&open, &others, &walked.stated) {
            Ok(scheme) => {
                if let Some(promise) = self.promised(function, walked, &scheme).filter(|_| is_right) {
                    contract::report_promise(self, promise);
                }
            }
            Err(error) if is_right && error.kind() == broadloom::ErrorKind::Mismatch => {
                // Found when everything is looked at together: it has no line of its own.
                let place = self.place(function.def.name.span);
                let diagnostic =
                    Diagnostic::error(codes::MISMATCH, error.message(), place, "in this function");
                let (Ok(()) | Err(Reported)) = self.fail(diagnostic);
            }
            Err(_) => {}
        }
        self.errors > before
    }

    /// Walks the body of a function with open arguments.
    fn walk(&mut self, function: &Rc<Function>, config: Option<&[Value]>, way: Way) -> Walked {
        let walked = self.walk_once(function, config, way);
        if !walked.diagnostics.iter().any(is_about_shapes) {
            return walked;
        }
        // Two arguments may have to be the same size, which is no mistake.
        let loose = self.walk_once(function, config, Way { is_loose: true, ..way });
        if loose.diagnostics.iter().any(is_about_shapes) { walked } else { loose }
    }

    fn walk_once(&mut self, function: &Rc<Function>, config: Option<&[Value]>, way: Way) -> Walked {
        let captures = self.captures(function, &mut FxHashSet::default());
        if captures && self.is_brief {
            self.copied += self.graph.len();
            if self.copied > MOST_COPIED {
                return Walked::nothing();
            }
        }
        let mut aside = self.aside(captures, way);
        let before = aside.graph.len();
        let (open, prefix, result) = aside.walk_here(function, config);
        // Functions inside of the body that it does not apply.
        if way.is_unknown && self.is_brief && aside.depth_of_walks() <= DEEPEST {
            unapplied::look_at_unapplied(&mut aside, Some(function.span));
        }
        let found = std::mem::take(&mut aside.diagnostics);
        let graph = std::mem::take(&mut aside.graph);
        self.sources = std::mem::replace(&mut aside.sources, Sources::new());
        self.names = std::mem::take(&mut aside.names);
        self.copied = aside.copied;
        let state = aside.aside.take().unwrap_or_default();
        let stated = if states_shapes(function) { state.stated } else { StatedNames::default() };
        Walked {
            graph: graph.into_inner(),
            before,
            open,
            result,
            stated,
            diagnostics: found,
            prefix,
            asks_training: state.asks_training,
            is_cut: state.is_cut,
        }
    }

    /// The number of bodies that are walked aside, each inside of the one before.
    fn depth_of_walks(&self) -> usize {
        self.aside.as_ref().map_or(0, |aside| aside.depth)
    }

    /// An evaluation beside this one, with the same texts and names; with the same tensors if they are used.
    fn aside(&mut self, captures: bool, way: Way) -> Eval<'o> {
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
    ) -> (Vec<(Name, Tensor)>, String, Evaluated<Value>) {
        let def = function.def.clone();
        let span = def.name.span;
        let sizes = self.names_in_shapes(function);
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
        let layer = self.layer(function, scope, config);
        let (mut open, mut given) = (Vec::new(), Vec::new());
        for each in &def.arguments {
            if self.is_own_unknown() {
                given.push(named(each, Value::Open));
                continue;
            }
            if each.default.is_some() && !self.is_another(function, each) {
                continue;
            }
            if sizes.contains(&each.name.name) {
                given.push(self.open_size(each));
                continue;
            }
            let text = self.text(each.name.name).to_string();
            let made = self.ask(each.name.span, |graph| Ok(graph.argument(&text)));
            if let Ok(tensor) = made {
                open.push((each.name.name, tensor));
                given.push(named(each, Value::Tensor(tensor)));
            }
        }
        let result = self.apply_layer(&layer, given, span);
        let prefix = format!("{}.", self.path_of(&layer));
        (open, prefix, result)
    }

    /// Returns true if the arguments of the function that is walked have no kinds.
    fn is_own_unknown(&self) -> bool {
        self.aside.as_ref().is_some_and(|aside| aside.is_unknown)
    }

    /// A size with the name of an argument.
    fn open_size(&mut self, argument: &Argument) -> Given {
        let wanted = self.text(argument.name.name).to_string();
        let is_loose = self.aside.as_ref().is_some_and(|aside| aside.is_loose);
        let value = self.ask(argument.name.span, |graph| {
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
        named(argument, value.map_or(Value::Mistake, |size| Value::Size(Rc::new(size.into()))))
    }

    /// True if an argument is another one if it is not given: `memory = x`.
    fn is_another(&self, function: &Function, argument: &Argument) -> bool {
        let Some(default) = argument.default else { return false };
        match function.file.expr(default).kind {
            ExprKind::Name(name) => function.def.arguments.iter().any(|each| each.name.name == name),
            _ => false,
        }
    }

    /// The names in shapes that a function declares: sizes, where they are arguments.
    fn names_in_shapes(&self, function: &Function) -> FxHashSet<Name> {
        let mut found = FxHashSet::default();
        let mut add = |shape: &Shape| {
            let axes = shape.batch.iter().flatten().chain(shape.input.iter().flatten()).chain(&shape.output);
            for axis in axes {
                match axis.kind {
                    AxisKind::Name(name) | AxisKind::Row(name) => {
                        found.insert(name);
                    }
                    AxisKind::Expr(id) => {
                        let inside = function.file.expr(id).span;
                        let exprs = function.file.exprs_within(function.span);
                        let names = exprs.filter(|(_, expr)| inside.contains(expr.span));
                        found.extend(names.filter_map(|(_, expr)| match expr.kind {
                            ExprKind::Name(name) => Some(name),
                            _ => None,
                        }));
                    }
                    AxisKind::Size(_) | AxisKind::Any | AxisKind::Rest => {}
                }
            }
        };
        function.def.result.iter().flat_map(ResultShape::shapes).for_each(&mut add);
        function.def.arguments.iter().filter_map(|each| each.shape.as_ref()).for_each(&mut add);
        for (_, expr) in function.file.exprs_within(function.span) {
            if let ExprKind::Param(param) = &expr.kind {
                param.shape.iter().for_each(&mut add);
            }
        }
        if let Body::Block(statements) = &function.def.body {
            for statement in statements {
                match &statement.kind {
                    StatementKind::Leaf { shape, .. } | StatementKind::Let { shape, .. } => {
                        shape.iter().for_each(&mut add);
                    }
                    _ => {}
                }
            }
        }
        found
    }

    /// True if a function uses tensors or sizes of the program around it, itself or through others.
    pub(super) fn captures_any(&self, function: &Rc<Function>) -> bool {
        self.captures(function, &mut FxHashSet::default())
    }

    /// The same, where some functions have been looked at.
    fn captures(&self, function: &Rc<Function>, seen: &mut FxHashSet<*const Function>) -> bool {
        if self.library.contains(&function.def.name.span.source) || !seen.insert(Rc::as_ptr(function)) {
            return false;
        }
        let names = self.names_from_around(function);
        names.into_iter().filter_map(|name| function.scope.find(name)).any(|value| match value {
            Value::Function(other) => self.captures(&other, seen),
            Value::Layer(layer) if layer.function.def.config.is_none() => {
                self.captures(&layer.function, seen)
            }
            Value::Tensor(_)
            | Value::Size(_)
            | Value::Layer(_)
            | Value::List(_)
            | Value::Inference(_)
            | Value::Module(_)
            | Value::Position(_) => true,
            _ => false,
        })
    }

    /// The names in the body and in the shapes of a function that it does not bind itself.
    pub(super) fn names_from_around(&self, function: &Function) -> FxHashSet<Name> {
        let mut names: FxHashSet<Name> = self.names_in_shapes(function);
        for (_, expr) in function.file.exprs_within(function.span) {
            match &expr.kind {
                ExprKind::Name(name) => {
                    names.insert(*name);
                }
                // Sizes stand in texts, too.
                ExprKind::Text(text) => {
                    let words = text.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
                    names.extend(words.filter_map(|word| self.names.find(word)));
                }
                _ => {}
            }
        }
        let mut own = Vec::new();
        bound_by_def(&function.def, &mut own);
        own.iter().for_each(|ident| _ = names.remove(&ident.name));
        names
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

    /// An argument of a configuration as it is written.
    fn written_argument(&self, function: &Function, argument: &Argument) -> String {
        let name = self.text(argument.name.name);
        match argument.default {
            Some(default) => format!("{name} = {}", self.quote(function.file.expr(default).span)),
            None => name.to_string(),
        }
    }

    /// The values of a configuration, as far as they can be written: the others as they are defined.
    fn given_config(&self, function: &Function, values: &[Value]) -> Vec<String> {
        let text = |(argument, value): (&Argument, &Value)| {
            let default = argument.default.map(|default| &function.file.expr(default).kind);
            let name = self.text(argument.name.name);
            let is_default = match (value, default) {
                (Value::Number(number), Some(ExprKind::Number(default))) => number == default,
                (Value::Number(number), Some(ExprKind::Name(default))) => match self.text(*default) {
                    "true" => *number == 1.0,
                    "false" => *number == 0.0,
                    _ => false,
                },
                _ => false,
            };
            let is_flag = |name: &Name| matches!(self.text(*name), "true" | "false");
            let value = match (value, default) {
                _ if is_default => None,
                (Value::Number(0.0), Some(ExprKind::Name(flag))) if is_flag(flag) => Some("false".into()),
                (Value::Number(1.0), Some(ExprKind::Name(flag))) if is_flag(flag) => Some("true".into()),
                _ => self.written_value(value),
            };
            match value {
                Some(value) => format!("{name} = {value}"),
                None => self.written_argument(function, argument),
            }
        };
        function.def.config.iter().flatten().zip(values).map(text).collect()
    }

    /// A value as a program would write it, if it can be written shortly.
    fn written_value(&self, value: &Value) -> Option<String> {
        Some(match value {
            Value::Number(number) => number.to_string(),
            Value::Text(text) => format!("\"{text}\""),
            Value::Nothing => "inferred".to_string(),
            Value::Builtin(builtin) => builtin.get().name.to_string(),
            Value::Layer(layer) => layer.name.borrow().to_string(),
            Value::List(items) => {
                let items: Option<Vec<String>> = items.iter().map(|item| self.written_value(item)).collect();
                format!("[{}]", items?.join(", "))
            }
            _ => return None,
        })
    }
}

/// A value for an argument, by its name.
fn named(argument: &Argument, value: Value) -> Given {
    Given { name: Some(argument.name), value, span: argument.name.span }
}

/// True of messages about shapes, which do not depend on what kind of value an argument is.
fn is_about_shapes(diagnostic: &Diagnostic) -> bool {
    [codes::MISMATCH, codes::ARITHMETIC, codes::NOTATION].contains(&diagnostic.code) && diagnostic.is_error()
}

/// The tensors in a value, in order.
fn tensors(value: &Value, found: &mut Vec<Tensor>) {
    match value {
        Value::Tensor(tensor) => found.push(*tensor),
        Value::List(items) => items.iter().for_each(|item| tensors(item, found)),
        _ => {}
    }
}

/// The result of an application, with shapes for its tensors in order.
fn given(value: &Value, shapes: &mut &[String]) -> signature::GivenShape {
    match value {
        Value::Tensor(_) => match shapes.split_first() {
            Some((first, rest)) => {
                *shapes = rest;
                signature::GivenShape::Tensor(first.clone())
            }
            None => signature::GivenShape::Nothing,
        },
        Value::List(items) => {
            signature::GivenShape::List(items.iter().map(|item| given(item, shapes)).collect())
        }
        Value::Nothing | Value::Mistake => signature::GivenShape::Nothing,
        other => signature::GivenShape::Other(other.kind()),
    }
}

/// Returns true if a body has parts that the walk with open tensors may leave out: ways of choices, loops, and functions
/// that it does not apply.
fn has_ways(function: &Function) -> bool {
    fn any(statements: &[Statement]) -> bool {
        let leaves_out = |each: &Statement| {
            matches!(each.kind, StatementKind::If(_) | StatementKind::For { .. } | StatementKind::Def(_))
        };
        statements.iter().any(|each| leaves_out(each) || each.kind.blocks().any(any))
    }
    let body: &[Statement] = if let Body::Block(body) = &function.def.body { body } else { &[] };
    let inside = |expr: &&Expr| function.span.contains(expr.span);
    let chooses = |expr: &Expr| matches!(expr.kind, ExprKind::If { .. } | ExprKind::Each { .. });
    any(body) || function.file.exprs.iter().filter(inside).any(chooses)
}
