//! Functions: configuration, layers, application.
//!
//! `def layer(hidden)(x) = …` is applied twice. `layer(64)` is a [`Layer`]: it has the configuration, and will have the
//! parameters that its body makes; `layer(64)(x)` evaluates the body. What the body makes that is no result, parameters and
//! layers inside of it, is made when it is first needed and kept in the layer, under the expression that made it and the
//! turns of the loops around: every application uses the same. (*Broadcasting Is an Order*, "From the algebra to what you
//! write": what stays fixed and what runs again.)

use std::rc::Rc;

use broadloom_diagnostics::{Diagnostic, Span};

use super::{Eval, Evaluated, Frame, Reported};
use crate::builtin::Given;
use crate::codes;
use crate::program::Application;
use crate::suggest;
use crate::syntax::ast::{Arg, Argument, ExprId};
use crate::value::{Function, Layer, Scope, Value};

/// A function that was applied.
pub(crate) struct Applied {
    layer: Rc<Layer>,
    /// The name of the function.
    name: Rc<str>,
    span: Span,
    outer: Option<u32>,
    library: bool,
}

impl Applied {
    /// For others, when all names are given.
    pub fn shown(&self) -> Application {
        let path = match &*self.layer.path.borrow() {
            Some(path) => path.to_string(),
            None => format!("{}{}", self.layer.outer, self.layer.name.borrow()),
        };
        let Applied { name, span, outer, library, .. } = self;
        Application { function: name.to_string(), path, span: *span, outer: *outer, library: *library }
    }
}

impl Eval<'_> {
    /// `f(x)`, whatever `f` is.
    pub(super) fn call(
        &mut self,
        place: ExprId,
        callee: ExprId,
        args: &[Arg],
        span: Span,
    ) -> Evaluated<Value> {
        let function = self.expr(callee)?;
        let mut given = Vec::with_capacity(args.len());
        for arg in args {
            let value = self.expr(arg.value)?;
            given.push(Given { name: arg.name, value, span: self.span_of(arg.value) });
        }
        let at = self.span_of(callee);
        if let Value::Function(function) = &function {
            return self.configure(place, function, given, (at, span)).map(Value::Layer);
        }
        self.apply(&function, given, (at, span))
    }

    /// Applies what can be applied; `spans` are those of the function and of the whole call.
    pub(super) fn apply(
        &mut self,
        function: &Value,
        given: Vec<Given>,
        spans: (Span, Span),
    ) -> Evaluated<Value> {
        let (at, span) = spans;
        self.step(at)?;
        match function {
            Value::Layer(layer) => self.apply_layer(layer, given, span),
            Value::Builtin(builtin) => {
                let call = crate::builtin::Call { name: builtin.name, given, span };
                (builtin.apply)(self, &call)
            }
            Value::Operation(operation) => self.own_operation(operation, &given, span),
            Value::Inference(inner) => {
                let before = std::mem::replace(&mut self.inference, true);
                let made = self.apply(inner, given, spans);
                self.inference = before;
                made
            }
            Value::Function(function) => {
                let name = self.text(function.def.name.name).to_string();
                let message = format!("`{name}` wants its configuration first");
                let arguments = function.def.config.as_deref().unwrap_or(&[]);
                let list: Vec<&str> = arguments.iter().map(|each| self.names.text(each.name.name)).collect();
                let help = format!("write `{name}({})` for a layer, and apply that", list.join(", "));
                self.wrong(codes::ARGUMENTS, message, at, help)
            }
            Value::List(functions) => self.apply_all(functions, given, spans),
            Value::Mistake => Err(Reported),
            other => {
                let message = format!("{} cannot be applied", other.kind());
                let help = match other {
                    Value::Tensor(_) | Value::Number(_) => "write `*` for a product, `@` to compose",
                    _ => "",
                };
                self.wrong(codes::KIND, message, at, help)
            }
        }
    }

    /// A list of functions: the first argument goes through all of them, and each is given the others.
    fn apply_all(
        &mut self,
        functions: &[Value],
        mut given: Vec<Given>,
        spans: (Span, Span),
    ) -> Evaluated<Value> {
        let Some(first) = given.first() else {
            let message = "a list of functions needs something that goes through them";
            return self.wrong(codes::ARGUMENTS, message, spans.1, "write `blocks(x)`, or `x |> blocks`");
        };
        let mut value = first.value.clone();
        for function in functions {
            given[0].value = value;
            value = self.apply(function, given.clone(), spans)?;
        }
        Ok(value)
    }

    /// Applies the configuration of a function. Inside of another function this is done once.
    fn configure(
        &mut self,
        place: ExprId,
        function: &Rc<Function>,
        given: Vec<Given>,
        (at, span): (Span, Span),
    ) -> Evaluated<Rc<Layer>> {
        let scope = Scope::new(Some(function.scope.clone()));
        let arguments = function.def.config.as_deref().unwrap_or(&[]);
        let config = self.bound(function, arguments, given, &scope, (at, span))?;
        if let Some(Value::Layer(layer)) = self.made_before(place) {
            let same = Rc::ptr_eq(&layer.function, function)
                && layer.config.iter().zip(&config).all(|(a, b)| !a.differs(b));
            if same {
                return Ok(layer);
            }
            // What has made no parameter may be made anew.
            if layer.made.borrow().is_empty() {
                let layer = self.layer(function, scope, config);
                self.make_once(place, Value::Layer(layer.clone()));
                return Ok(layer);
            }
            let message = "the configuration of a layer inside of a function cannot change from use to use";
            let help = "its parameters are made once; let the function have it as configuration, too: `def f(n)(x) = …`";
            return self.wrong(codes::PARAMETER, message, span, help);
        }
        let layer = self.layer(function, scope, config);
        self.make_once(place, Value::Layer(layer.clone()));
        Ok(layer)
    }

    fn apply_layer(&mut self, layer: &Rc<Layer>, given: Vec<Given>, span: Span) -> Evaluated<Value> {
        let function = layer.function.clone();
        let scope = Scope::new(Some(layer.scope.clone()));
        let subject = given.first().and_then(|first| match first.value {
            Value::Tensor(tensor) if self.params.contains(&tensor) => self.graph.name_of(tensor),
            _ => None,
        });
        let subject = subject.map(Rc::from);
        self.bound(&function, &function.def.arguments, given, &scope, (span, span))?;
        let frame = Frame {
            file: function.file.clone(),
            scope,
            layer: Some(layer.clone()),
            turns: Rc::new([]),
            subject,
            folder: self.frame.folder.clone(),
        };
        let library = self.library.contains(&function.def.name.span.source);
        let name = self.text(function.def.name.name).into();
        let outer = self.application.replace(self.applied.len() as u32);
        self.applied.push(Applied { layer: layer.clone(), name, span, outer, library });
        self.calls.push(span);
        let made = self.within(frame, |eval| eval.deeper(span, |eval| eval.body(&function.def.body)));
        self.calls.pop();
        self.application = outer;
        made
    }

    /// Binds what is given to the arguments of a function; returns the values in order.
    fn bound(
        &mut self,
        function: &Rc<Function>,
        arguments: &[Argument],
        given: Vec<Given>,
        scope: &Rc<Scope>,
        (at, span): (Span, Span),
    ) -> Evaluated<Vec<Value>> {
        let mut slots: Vec<Option<Value>> = arguments.iter().map(|_| None).collect();
        let mut next = 0;
        for each in given {
            let slot = match each.name {
                None if next < slots.len() => {
                    next += 1;
                    next - 1
                }
                None => return self.too_many(function, arguments, each.span, span),
                Some(name) => match arguments.iter().position(|known| known.name.name == name.name) {
                    Some(slot) => slot,
                    None => {
                        let text = self.text(name.name).to_string();
                        let known: Vec<&str> =
                            arguments.iter().map(|known| self.names.text(known.name.name)).collect();
                        let help = match suggest::nearest(&text, known.iter().copied()) {
                            Some(near) => format!("there is `{near}`"),
                            None => format!("there are: {}", known.join(", ")),
                        };
                        let message = format!("there is no argument called `{text}`");
                        return self.wrong(codes::ARGUMENTS, message, name.span, help);
                    }
                },
            };
            if slots[slot].is_some() {
                let name = self.text(arguments[slot].name.name).to_string();
                let message = format!("the argument `{name}` is given twice");
                return self.wrong(codes::ARGUMENTS, message, each.span, "");
            }
            slots[slot] = Some(each.value);
        }
        let mut values = Vec::with_capacity(slots.len());
        for (argument, slot) in arguments.iter().zip(slots) {
            let value = match (slot, argument.default) {
                (Some(value), _) => value,
                (None, Some(default)) => {
                    let frame = Frame {
                        file: function.file.clone(),
                        scope: scope.clone(),
                        layer: None,
                        ..self.frame.clone()
                    };
                    self.within(frame, |eval| eval.expr(default))?
                }
                (None, None) => return self.too_few(function, argument, at, span),
            };
            scope.bind(argument.name.name, value.clone());
            values.push(value);
        }
        Ok(values)
    }

    fn too_many<T>(
        &mut self,
        function: &Rc<Function>,
        arguments: &[Argument],
        extra: Span,
        span: Span,
    ) -> Evaluated<T> {
        let name = self.text(function.def.name.name).to_string();
        let count = arguments.len();
        let message = match count {
            0 => format!("`{name}` takes no arguments here"),
            1 => format!("`{name}` takes one argument here"),
            _ => format!("`{name}` takes {count} arguments here"),
        };
        let place = self.place(extra);
        let defined = function.def.name.span;
        let mut diagnostic = Diagnostic::error(codes::ARGUMENTS, message, place, "one too many");
        if place == extra && !self.library.contains(&defined.source) {
            diagnostic = diagnostic.with_label(defined, "defined here");
        }
        let _ = span;
        self.fail(diagnostic)
    }

    fn too_few<T>(
        &mut self,
        function: &Rc<Function>,
        missing: &Argument,
        at: Span,
        span: Span,
    ) -> Evaluated<T> {
        let (name, argument) =
            (self.text(function.def.name.name).to_string(), self.text(missing.name.name).to_string());
        let message = format!("`{name}` is not given its argument `{argument}`");
        let defined = function.def.name.span;
        let place = self.place(span);
        let mut diagnostic = Diagnostic::error(codes::ARGUMENTS, message, place, "");
        if !self.library.contains(&defined.source) {
            diagnostic = diagnostic.with_label(defined, "defined here");
        }
        let _ = at;
        self.fail(diagnostic)
    }

    /// What a place has made for this layer before.
    pub(super) fn made_before(&self, place: ExprId) -> Option<Value> {
        let layer = self.frame.layer.as_ref()?;
        layer.made.borrow().get(&(place, self.frame.turns.clone())).cloned()
    }

    /// Keeps what a place has made, for later applications of this layer.
    pub(super) fn make_once(&mut self, place: ExprId, value: Value) {
        if let Some(layer) = &self.frame.layer {
            layer.made.borrow_mut().insert((place, self.frame.turns.clone()), value);
        }
    }
}
