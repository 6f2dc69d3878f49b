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

use super::contract::states_shapes;
use super::unapplied::bound_by_def;
use super::{Eval, Evaluated, Frame, MOST_WORK, Reported};
use crate::codes;
use crate::eval::call::Given;
use crate::program::Asked;
use crate::signature::{self, NotInferred, Scheme, Signature};
use crate::syntax::ast::{Argument, AxisKind, ExprKind, Name, Shape, StatementKind};
use crate::value::{Function, Layer, Scope, Value};

/// The least size of an argument that is a size: one would be taken for an axis that broadcasts.
const LEAST: u64 = 2;

/// The number of expressions of a body that are evaluated if its signature was not asked for.
const BRIEF: u64 = 20_000;
/// Programs with more tensors are not copied for that.
const LARGE: usize = 2_000;

/// Layers of the program have twins while a body is walked aside, so that the walk leaves nothing in them.
#[derive(Default)]
pub(super) struct Aside {
    own: FxHashSet<*const Layer>,
    twins: FxHashMap<*const Layer, Rc<Layer>>,
    /// True if sizes that are arguments may turn out to be equal.
    is_loose: bool,
    /// The names of the last signature that was stated: when the walk ends, those of the function itself.
    stated: StatedNames,
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
        let walked = self.walk(function, layer.map(|layer| &layer.config[..]));
        let scheme = self.scheme_of(function, &walked);
        let (shapes, scheme) = match scheme {
            Ok((shapes, scheme)) => (shapes, Ok(scheme)),
            Err(why) => (Vec::new(), Err(why)),
        };
        let def = &function.def;
        let config = def.config.as_ref().map(|list| match layer {
            Some(layer) => self.given_config(function, &layer.config),
            None => list.iter().map(|each| self.written_argument(function, each)).collect(),
        });
        let argument = |each: &Argument| {
            let at = walked.open.iter().position(|(name, _)| *name == each.name.name);
            signature::Argument {
                name: self.text(each.name.name).to_string(),
                shape: at.and_then(|at| shapes.get(at).cloned()),
                default: each.default.map(|default| self.quote(function.file.expr(default).span)),
            }
        };
        let arguments = def.arguments.iter().map(argument).collect();
        let name = self.text(def.name.name).to_string();
        Signature { name, config, arguments, scheme, span: def.name.span }
    }

    /// The shapes of the open arguments, and the scheme.
    fn scheme_of(&self, function: &Function, walked: &Walked) -> Result<(Vec<String>, Scheme), NotInferred> {
        let wrong = walked.diagnostics.iter().find(|diagnostic| is_about_shapes(diagnostic));
        if let Some(wrong) = wrong {
            return Err(NotInferred::Wrong(wrong.message.clone()));
        }
        let Ok(value) = &walked.result else {
            return Err(NotInferred::Open(self.waits_for(function, walked.diagnostics.first())));
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
        if let Some((_, why)) = self.promised(function, walked, &scheme) {
            return Err(NotInferred::Wrong(why));
        }
        let texts: Vec<String> = scheme.shapes.iter().map(|shape| scheme.text(shape)).collect();
        let (shapes, rest) = texts.split_at(open.len());
        let (of_params, mut results) = rest.split_at(params.len());
        let named = params.iter().map(|param| {
            let name = walked.graph.name_of(*param).unwrap_or_default();
            name.strip_prefix(&walked.prefix).unwrap_or(name).to_string()
        });
        let parameters = named.zip(of_params.iter().cloned()).collect();
        let result = given(value, &mut results);
        let broadloom::Scheme { conditions, most, numbers, .. } = scheme;
        Ok((shapes.to_vec(), Scheme { result, parameters, conditions, most, numbers }))
    }

    /// Finds a promise of the signature that a function states, which its body does not keep.
    fn promised(
        &self,
        function: &Function,
        walked: &Walked,
        scheme: &broadloom::Scheme,
    ) -> Option<(Span, String)> {
        let names = walked.open.iter().map(|(name, _)| Some(*name));
        let arguments = names.zip(scheme.shapes.iter().cloned());
        let is_tensor = matches!(walked.result, Ok(Value::Tensor(_)));
        let result = scheme.shapes.last().filter(|_| is_tensor).map(|shape| (None, shape.clone()));
        self.broken_promise(function, scheme, &arguments.chain(result).collect::<Vec<_>>())
    }

    /// Notes the names of a signature, when the application that states it ends.
    pub(super) fn note_stated(&mut self, names: StatedNames) {
        if let Some(aside) = &mut self.aside {
            aside.stated = names;
        }
    }

    /// The arguments that a body needs to know before it can be walked on.
    fn waits_for(&self, function: &Function, wrong: Option<&Diagnostic>) -> String {
        let def = &function.def;
        let all = || def.config.iter().flatten().chain(&def.arguments).filter(|each| each.default.is_none());
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
    pub(super) fn check_open(&mut self, function: &Rc<Function>) {
        self.is_brief = true;
        let walked = self.walk(function, None);
        self.is_brief = false;
        let wrong: Vec<Diagnostic> =
            walked.diagnostics.iter().filter(|each| is_about_shapes(each)).cloned().collect();
        let is_right = wrong.is_empty();
        for diagnostic in wrong {
            let (Ok(()) | Err(Reported)) = self.fail(diagnostic);
        }
        let Ok(value) = &walked.result else { return };
        let mut others = Vec::new();
        tensors(value, &mut others);
        let open: Vec<Tensor> = walked.open.iter().map(|(_, tensor)| *tensor).collect();
        match walked.graph.scheme(&open, &others, &walked.stated) {
            Ok(scheme) => {
                if let Some(promise) = self.promised(function, &walked, &scheme).filter(|_| is_right) {
                    self.report_promise(promise);
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
    }

    /// Walks the body of a function with open arguments.
    fn walk(&mut self, function: &Rc<Function>, config: Option<&[Value]>) -> Walked {
        let walked = self.walk_once(function, config, false);
        if !walked.diagnostics.iter().any(is_about_shapes) {
            return walked;
        }
        // Two arguments may have to be the same size, which is no mistake.
        let loose = self.walk_once(function, config, true);
        if loose.diagnostics.iter().any(is_about_shapes) { walked } else { loose }
    }

    fn walk_once(&mut self, function: &Rc<Function>, config: Option<&[Value]>, is_loose: bool) -> Walked {
        let captures = self.captures(function, &mut FxHashSet::default());
        if captures && self.is_brief && self.graph.len() > LARGE {
            let (graph, stated) = (Graph::new(), StatedNames::default());
            let (open, diagnostics, prefix) = (Vec::new(), Vec::new(), String::new());
            return Walked { graph, before: 0, open, result: Err(Reported), stated, diagnostics, prefix };
        }
        let mut aside = self.aside(captures, is_loose);
        let before = aside.graph.len();
        let (open, prefix, result) = aside.walk_here(function, config);
        let found = std::mem::take(&mut aside.diagnostics);
        let graph = std::mem::take(&mut aside.graph);
        self.sources = std::mem::replace(&mut aside.sources, Sources::new());
        self.names = std::mem::take(&mut aside.names);
        let stated = aside.aside.take().map(|aside| aside.stated).unwrap_or_default();
        let stated = if states_shapes(function) { stated } else { StatedNames::default() };
        Walked { graph: graph.into_inner(), before, open, result, stated, diagnostics: found, prefix }
    }

    /// An evaluation beside this one, with the same texts and names; with the same tensors if they are used.
    fn aside(&mut self, captures: bool, is_loose: bool) -> Eval<'o> {
        let sources = std::mem::replace(&mut self.sources, Sources::new());
        let mut aside = Eval {
            sources,
            names: std::mem::take(&mut self.names),
            library: self.library,
            own_file: self.own_file.clone(),
            frame: Frame { layer: None, turns: Rc::new([]), subject: None, ..self.frame.clone() },
            aside: Some(Aside { is_loose, ..Aside::default() }),
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
        let within = |span: Span| function.span.contains(span);
        let mut add = |shape: &Shape| {
            let axes = shape.batch.iter().flatten().chain(shape.input.iter().flatten()).chain(&shape.output);
            for axis in axes {
                match axis.kind {
                    AxisKind::Name(name) | AxisKind::Row(name) => {
                        found.insert(name);
                    }
                    AxisKind::Expr(id) => {
                        let inside = function.file.expr(id).span;
                        let exprs = function.file.exprs.iter();
                        let names = exprs.filter(|expr| inside.contains(expr.span));
                        found.extend(names.filter_map(|expr| match expr.kind {
                            ExprKind::Name(name) => Some(name),
                            _ => None,
                        }));
                    }
                    AxisKind::Size(_) | AxisKind::Any | AxisKind::Rest => {}
                }
            }
        };
        function.def.result.iter().for_each(&mut add);
        function.def.arguments.iter().filter_map(|each| each.shape.as_ref()).for_each(&mut add);
        for expr in function.file.exprs.iter().filter(|expr| within(expr.span)) {
            if let ExprKind::Param(param) = &expr.kind {
                param.shape.iter().for_each(&mut add);
            }
        }
        if let crate::syntax::ast::Body::Block(statements) = &function.def.body {
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
        let within = |span: Span| function.span.contains(span);
        let exprs = function.file.exprs.iter().filter(|expr| within(expr.span));
        let mut names: FxHashSet<Name> = self.names_in_shapes(function);
        for expr in exprs {
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
            match value {
                _ if is_default => self.written_argument(function, argument),
                Value::Number(number) => format!("{name} = {number}"),
                Value::Text(text) => format!("{name} = \"{text}\""),
                Value::Nothing => format!("{name} = inferred"),
                Value::Builtin(builtin) => format!("{name} = {}", builtin.get().name),
                Value::Layer(layer) => format!("{name} = {}", layer.name.borrow()),
                _ => self.written_argument(function, argument),
            }
        };
        function.def.config.iter().flatten().zip(values).map(text).collect()
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
fn given(value: &Value, shapes: &mut &[String]) -> signature::Given {
    match value {
        Value::Tensor(_) => match shapes.split_first() {
            Some((first, rest)) => {
                *shapes = rest;
                signature::Given::Tensor(first.clone())
            }
            None => signature::Given::Nothing,
        },
        Value::List(items) => signature::Given::List(items.iter().map(|item| given(item, shapes)).collect()),
        Value::Nothing | Value::Mistake => signature::Given::Nothing,
        other => signature::Given::Other(other.kind()),
    }
}
