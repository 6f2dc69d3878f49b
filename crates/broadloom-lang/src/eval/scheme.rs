//! Schemes of functions: what the walk of a body with open arguments says of its shapes, as a signature, and of its mistakes.
//!
//! A body that needs to know more of its arguments (a text, a list, a function, a number that decides what is done) is not
//! walked further, and the signature says what it waits for.

use std::rc::Rc;
use std::sync::Arc;

use broadloom::{Certificate, ErrorKind, Tensor};
use broadloom_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashSet;

use super::aside::{WalkMode, Walked, is_about_shapes};
use super::contract::{Broken, Promise, states_shapes};
use super::{Eval, Frame, Reported, contract, needs};
use crate::codes;
use crate::program::Asked;
use crate::signature::{self, ArgumentShape, NotInferred, Scheme, Signature};
use crate::syntax::ast::{Argument, Body, Def, Expr, ExprKind, Name, ResultShape, Statement, StatementKind};
use crate::value::{Function, Layer, Value};

/// The greatest number of configurations of a function that have signatures of their own where it is listed.
const MOST_USES: usize = 8;

impl Eval<'_> {
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
        let (function, layer) = self.function_written(text)?;
        Some(self.signature(&function, layer.as_deref()))
    }

    /// The signature of what is written as in the program, and its certificate, if it is inferred.
    pub(crate) fn certified(&mut self, text: &str) -> Option<(Signature, Option<Certificate>)> {
        let (function, layer) = self.function_written(text)?;
        let signature = self.signature(&function, layer.as_deref());
        if signature.scheme.is_err() {
            return Some((signature, None));
        }
        let config = layer.as_ref().map(|layer| &layer.config[..]);
        let walked = self.walk(&function, config, WalkMode::default());
        let Asking { open, others, .. } = asking(&walked);
        let made = walked.graph.certified_scheme(&open, &others, &walked.stated);
        Some((signature, made.ok()))
    }

    /// The function that is written as in the program, with its configuration if it has one there.
    fn function_written(&mut self, text: &str) -> Option<(Rc<Function>, Option<Rc<Layer>>)> {
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
            Ok(Value::Function(function)) => Some((function, None)),
            Ok(Value::Layer(layer)) => Some((layer.function.clone(), Some(layer))),
            Ok(other) => {
                let kind = match other {
                    Value::Builtin(_) | Value::Operation(_) => "an operation of the language",
                    _ => other.kind(),
                };
                let message = format!("`{text}` is {kind}, and only functions with a body have signatures");
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
        let mut walked = self.walk(function, config, WalkMode::default());
        let mut scheme = match self.mistake_of(function, config, &walked) {
            Some(mistake) => Err(NotInferred::Wrong(mistake)),
            None => self.scheme_of(function, config, &walked),
        };
        if walked.result.is_ok() && matches!(scheme, Err(NotInferred::Wrong(_))) && !fits(&walked) {
            // Numbers may fit where no tensors with axes do.
            let numbers = self.walk_with_numbers(function, config, WalkMode::default());
            if let Some(numbers) = numbers.filter(fits) {
                scheme = self.scheme_of(function, config, &numbers);
                walked = numbers;
            }
        }
        if walked.result.is_ok()
            && !walked.diagnostics.iter().any(is_about_shapes)
            && let Some(mistake) = self.not_for_all_sizes(function, config).first()
        {
            scheme = Err(NotInferred::Wrong(mistake.message.clone()));
        }
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
        let stated = written(def.result.as_ref().and_then(ResultShape::span));
        let waits = layer.is_none() && config.is_some() && matches!(scheme, Err(NotInferred::Open(_)));
        let uses = if waits { self.uses_of(function) } else { Vec::new() };
        Signature { name, config, arguments, stated, scheme, uses, span: def.name.span }
    }

    /// The signatures of a function with the configurations that the program applies it with, as far as they are inferred.
    fn uses_of(&mut self, function: &Rc<Function>) -> Vec<Signature> {
        let mut layers: Vec<Rc<Layer>> = Vec::new();
        for applied in self.applied.iter().filter(|applied| applied.function() == Rc::as_ptr(function)) {
            let layer = applied.layer();
            // What a function gives itself on the way to its end is its own matter.
            let around = applied.outer.and_then(|outer| self.applied.get(outer as usize));
            if around.is_some_and(|around| around.function() == applied.function()) {
                continue;
            }
            let is_known =
                |known: &Rc<Layer>| known.config.iter().zip(&layer.config).all(|(a, b)| !a.differs(b));
            if layers.len() < MOST_USES && !layers.iter().any(is_known) {
                layers.push(layer.clone());
            }
        }
        let mut uses: Vec<Signature> = Vec::new();
        for layer in layers {
            let signature = self.signature(function, Some(&layer));
            if signature.scheme.is_ok() && !uses.iter().any(|known| known.config == signature.config) {
                uses.push(signature);
            }
        }
        uses
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
        let way = WalkMode { is_unknown: true, ..WalkMode::default() };
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
            return Err(NotInferred::Open(self.waits_for(function, config, walked)));
        };
        let Asking { open, params, others } = asking(walked);
        let scheme = walked.graph.scheme(&open, &others, &walked.stated).map_err(|error| {
            let message = error.message().to_string();
            if error.kind() == ErrorKind::Mismatch {
                return NotInferred::Wrong(message);
            }
            // Closing decides sizes that stand in expressions from each other: the names are what is missing.
            let names = contract::names_in_arguments(self, function);
            match contract::computes(self, function) && !names.is_empty() {
                true => NotInferred::Open(depends_on(names.into_iter().map(|name| self.text(name)))),
                false => NotInferred::Open(message),
            }
        })?;
        if let Some(name) = contract::unsolved(self, function, &scheme, (&walked.graph, &walked.stated)) {
            return Err(NotInferred::Open(depends_on([name.as_str()].into_iter())));
        }
        if let Some(broken) = self.promised(function, walked, &scheme) {
            return Err(NotInferred::Wrong(broken.why));
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
    fn promised(&self, function: &Function, walked: &Walked, scheme: &broadloom::Scheme) -> Option<Broken> {
        // Of what could not be solved for, nothing is known.
        contract::unsolved(self, function, scheme, (&walked.graph, &walked.stated)).is_none().then_some(())?;
        let open = walked.open.iter().zip(scheme.shapes.iter().cloned());
        let arguments = open.map(|((name, tensor), shape)| (Promise::Argument(*name), *tensor, shape));
        // The last shapes are those of the results.
        let mut results = Vec::new();
        walked.result.iter().for_each(|value| tensors(value, &mut results));
        let first = scheme.shapes.len().saturating_sub(results.len());
        let shapes = scheme.shapes[first..].iter().cloned().zip(results).enumerate();
        let results = shapes.map(|(at, (shape, tensor))| (Promise::Result(at), tensor, shape));
        contract::broken_promise(self, function, scheme, &arguments.chain(results).collect::<Vec<_>>())
    }

    /// The arguments that a body needs to know before it can be walked on, or whose sizes it needs.
    fn waits_for(&self, function: &Function, config: Option<&[Value]>, walked: &Walked) -> String {
        let (def, wrong) = (&function.def, walked.diagnostics.first());
        let both = || def.config.iter().flatten().chain(&def.arguments);
        if let Some(missing) = needs::text(self, &walked.needs, both()) {
            return format!("what it does depends on {missing}");
        }
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
        let mut waited: Vec<&Argument> = all().filter(|each| used.contains(&each.name.name)).collect();
        // A size of the signature that has to be a number.
        let stated = contract::names_in_signature(self, function).into_iter();
        let stated: Vec<&str> =
            stated.filter(|name| used.contains(name)).map(|name| self.text(name)).collect();
        let is_stated = waited.is_empty() && !stated.is_empty();
        if waited.is_empty() {
            waited = all().collect();
        }
        // A tensor is known to be one: where something else stands beside it, that is what is missing.
        let is_tensor = |each: &&Argument| walked.open.iter().any(|(name, _)| *name == each.name.name);
        let (tensors, others): (Vec<&Argument>, Vec<&Argument>) = waited.into_iter().partition(is_tensor);
        let is_about_sizes = others.is_empty() && walked.asks_size && !is_stated;
        let waited = if others.is_empty() { tensors } else { others };
        let names: Vec<&str> = match is_stated {
            true => stated,
            false => waited.into_iter().map(|each| self.text(each.name.name)).collect(),
        };
        match &names[..] {
            [] => wrong.map_or("it depends on what it is applied to".into(), |wrong| wrong.message.clone()),
            names if is_about_sizes => {
                format!("what it does depends on the sizes of `{}`", names.join("`, `"))
            }
            names => depends_on(names.iter().copied()),
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
        let mut walked = self.walk(function, None, WalkMode::default());
        let is_right = !walked.diagnostics.iter().any(is_about_shapes);
        // What an application walks was found to be right or wrong there, but for what a signature promises.
        let is_known = is_applied && !states_shapes(function);
        if !is_known && self.report_walked(function, &mut walked) || is_known && !is_right {
            return;
        }
        if walked.asks_training {
            let mut inference =
                self.walk(function, None, WalkMode { is_inference: true, ..WalkMode::default() });
            if self.report_walked(function, &mut inference) {
                return;
            }
        }
        let is_clear = walked.result.is_ok() && walked.diagnostics.is_empty();
        if is_clear && !has_ways(function) {
            return;
        }
        let unknown = self.walk_once(function, None, WalkMode { is_unknown: true, ..WalkMode::default() });
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
        let tensors = self.walk(&layer.function, config, WalkMode::default());
        let unknown =
            self.walk_once(&layer.function, config, WalkMode { is_unknown: true, ..WalkMode::default() });
        self.is_brief = false;
        let shapes = tensors.diagnostics.iter().filter(|each| is_about_shapes(each));
        let all = shapes.chain(&unknown.diagnostics);
        all.map(|each| (each.code, each.primary().map(|label| label.span))).collect()
    }

    /// Reports the mistakes of a body that was walked with open tensors. Returns true if there are any.
    fn report_walked(&mut self, function: &Rc<Function>, walked: &mut Walked) -> bool {
        let before = self.errors;
        for diagnostic in walked.diagnostics.iter().filter(|each| is_about_shapes(each)) {
            let (Ok(()) | Err(Reported)) = self.fail(diagnostic.clone());
        }
        let Ok(value) = &walked.result else { return self.errors > before };
        let is_right = self.errors == before;
        for mistake in self.not_for_all_sizes(function, None).into_iter().filter(|_| is_right) {
            let (Ok(()) | Err(Reported)) = self.fail(mistake);
        }
        if self.errors > before {
            return true;
        }
        let mut others = Vec::new();
        tensors(value, &mut others);
        let open: Vec<Tensor> = walked.open.iter().map(|(_, tensor)| *tensor).collect();
        match walked.graph.scheme(&open, &others, &walked.stated) {
            Ok(scheme) => {
                if let Some(broken) = self.promised(function, walked, &scheme).filter(|_| is_right) {
                    contract::report_promise(self, function, (&mut walked.graph, &walked.origins), broken);
                }
            }
            Err(error) if is_right && error.kind() == ErrorKind::Mismatch => {
                // Numbers may fit where no tensors with axes do.
                let numbers = self.walk_with_numbers(function, None, WalkMode::default());
                if numbers.is_some_and(|walked| fits(&walked)) {
                    return false;
                }
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

    /// The mistakes of a signature that computes sizes where its names are sizes of which nothing is decided: it may be
    /// contradicted for all of them, or hold for some only.
    fn not_for_all_sizes(&mut self, function: &Rc<Function>, config: Option<&[Value]>) -> Vec<Diagnostic> {
        if !contract::computes(self, function) {
            return Vec::new();
        }
        let walked = self.walk_once(function, config, WalkMode { is_rigid: true, ..WalkMode::default() });
        let mut found: Vec<Diagnostic> = walked.diagnostics.into_iter().filter(is_about_shapes).collect();
        // The names are sizes for this walk alone.
        found.iter_mut().for_each(|mistake| mistake.notes.clear());
        if !found.is_empty() || walked.result.is_err() {
            return found;
        }
        let mut graph = walked.graph;
        let mistake = match graph.runtime_checks() {
            Ok(checks) => {
                let equality = checks.iter().find(|check| check.is_equality());
                equality.map(|check| contract::not_for_all(self, function, &check.to_string()))
            }
            // What only closing decides is not wrong.
            Err(error) if ![ErrorKind::Mismatch, ErrorKind::Arithmetic].contains(&error.kind()) => None,
            Err(_) => {
                let given = self.given_without_signature(function, config);
                // Where the body decides the names, the promise that it does not keep says more.
                let is_said = given.is_none() && self.has_scheme(function, config);
                (!is_said).then(|| contract::never(self, function, given.as_deref()))
            }
        };
        mistake.into_iter().collect()
    }

    /// Returns true if the shapes of a body can be said over variables.
    fn has_scheme(&mut self, function: &Rc<Function>, config: Option<&[Value]>) -> bool {
        let walked = self.walk(function, config, WalkMode::default());
        let Asking { open, others, .. } = asking(&walked);
        walked.graph.scheme(&open, &others, &walked.stated).is_ok()
    }

    /// The shape of the one result that a body gives, where nothing is said of it, over the names in its arguments.
    fn given_without_signature(
        &mut self,
        function: &Rc<Function>,
        config: Option<&[Value]>,
    ) -> Option<String> {
        let def = Def { result: None, ..Def::clone(&function.def) };
        let Function { file, scope, span, is_nested, name, .. } = &**function;
        let (file, scope, name) = (file.clone(), scope.clone(), name.clone());
        let bare =
            Rc::new(Function { def: Arc::new(def), file, scope, span: *span, is_nested: *is_nested, name });
        let walked = self.walk_once(&bare, config, WalkMode { is_rigid: true, ..WalkMode::default() });
        let Ok(Value::Tensor(result)) = walked.result else { return None };
        let Asking { open, .. } = asking(&walked);
        let scheme = walked.graph.scheme(&open, &[result], &walked.stated).ok()?;
        scheme.shapes.last().map(|shape| scheme.text(shape))
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
            Value::Builtin(builtin) => builtin.get().name().to_string(),
            Value::Tensor(tensor) => self.graph.name_of(*tensor)?.to_string(),
            Value::Layer(layer) => layer.kept.name.borrow().to_string(),
            Value::List(items) => {
                let items: Option<Vec<String>> = items.iter().map(|item| self.written_value(item)).collect();
                format!("[{}]", items?.join(", "))
            }
            _ => return None,
        })
    }
}

/// Returns true if a body that was walked to its end is not contradicted by its scheme.
fn fits(walked: &Walked) -> bool {
    let Asking { open, others, .. } = asking(walked);
    let made = walked.graph.scheme(&open, &others, &walked.stated);
    !made.is_err_and(|error| error.kind() == ErrorKind::Mismatch)
}

/// The tensors whose shapes a scheme has.
struct Asking {
    /// The arguments.
    open: Vec<Tensor>,
    /// The parameters that the body has made.
    params: Vec<Tensor>,
    /// The parameters, and then the results.
    others: Vec<Tensor>,
}

fn asking(walked: &Walked) -> Asking {
    let open = walked.open.iter().map(|(_, tensor)| *tensor).collect();
    let params = walked.graph.params().into_iter().filter(|param| param.index() >= walked.before);
    let params: Vec<Tensor> = params.collect();
    let mut others = params.clone();
    walked.result.iter().for_each(|value| tensors(value, &mut others));
    Asking { open, params, others }
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

/// The reason why a body says nothing as long as some names are not known.
fn depends_on<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("what it does depends on what `{}` {verb}", names.join("`, `"))
}
