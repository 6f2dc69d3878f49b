//! Functions: configuration, layers, application.
//!
//! `def layer(hidden)(x) = …` is applied twice. `layer(64)` is a [`Layer`]: it has the
//! configuration, and will have the parameters that its body makes; `layer(64)(x)` evaluates the
//! body. Parameters and inner layers are made when they are first needed and kept in the layer,
//! under the expression that made them and the turns of the loops around it: every application uses
//! the same ones. (*Broadcasting Is an Order*, "From the algebra to what you write": what stays
//! fixed and what runs again.)

use std::rc::Rc;
use std::sync::Arc;

use broadloom_diagnostics::{Diagnostic, Edit, Span};

use super::advice::foreign::signature;
use super::advice::{blame, foreign, habits, misgiven};
use super::applied::Applied;
use super::contract::{Places, states_shapes};
use super::needs::{self, NeedKind};
use super::replay::Recorded;
use super::unknown::is_open;
use super::{Eval, Evaluated, Frame, Reported, contract, replay, tried, unknown};
use crate::codes;
use crate::eval::builtin::Builtin;
use crate::eval::given::{Call, Given};
use crate::suggest;
use crate::syntax::ast::{Arg, Argument, Axis, AxisKind, Binary, ExprId, ExprKind, Ident};
use crate::value::{Function, Layer, Scope, Value, is_defined_again};

/// An application that has begun.
struct Entered {
    layer: Rc<Layer>,
    places: Places,
    arguments: Vec<Value>,
    /// The frame around it, and the application.
    before: Frame,
    outer: Option<u32>,
    library: bool,
    /// The number of mistakes that were reported before it.
    reported: usize,
}

impl Eval<'_> {
    /// `f(x)` for any kind of `f`.
    pub(super) fn call(
        &mut self,
        place: ExprId,
        callee: ExprId,
        args: &[Arg],
        span: Span,
    ) -> Evaluated<Value> {
        if let Some(reported) = foreign::foreign_call(self, callee, args) {
            return Err(reported);
        }
        let function = self.function_of(callee, args)?;
        let given = self.all_given(args)?;
        let at = self.span_of(callee);
        if let Value::Function(function) = &function {
            return self.configure(place, function, given, (at, span)).map(Value::Layer);
        }
        self.apply(&function, given, (at, span))
    }

    /// The function of a call.
    fn function_of(&mut self, callee: ExprId, args: &[Arg]) -> Evaluated<Value> {
        let file = self.frame.file.clone();
        let ExprKind::Field(of, field) = &file.expr(callee).kind else { return self.expr(callee) };
        let value = unknown::as_tensor(self.expr(*of)?);
        if is_open(&value) {
            return Ok(Value::Open);
        }
        match foreign::method(self, &value, *of, *field, Some(args)) {
            Some(reported) => Err(reported),
            None => self.field(&value, *field, file.expr(callee).span),
        }
    }

    /// The arguments of a call.
    fn all_given(&mut self, args: &[Arg]) -> Evaluated<Vec<Given>> {
        let mut given = Vec::with_capacity(args.len());
        for (at, arg) in args.iter().enumerate() {
            let Ok(value) = self.expr(arg.value) else {
                return Err(self.look_at(&mut args[at + 1..].iter().map(|arg| arg.value)));
            };
            given.push(Given { name: arg.name, value, span: self.span_of(arg.value) });
        }
        Ok(given)
    }

    /// Applies a value that can be applied; `spans` are
    /// those of the function and of the whole call.
    pub(crate) fn apply(
        &mut self,
        function: &Value,
        given: Vec<Given>,
        spans: (Span, Span),
    ) -> Evaluated<Value> {
        let (at, span) = spans;
        self.step(at)?;
        match function {
            Value::Layer(layer) => self.apply_layer(layer, given, span),
            Value::Builtin(builtin) => self.apply_builtin(builtin.get(), given, span),
            Value::Operation(operation) => self.own_operation(operation, &given, span),
            Value::Inference(inner) => {
                let before = std::mem::replace(&mut self.inference, true);
                let made = self.apply(inner, given, spans);
                self.inference = before;
                made
            }
            Value::Function(function) => self.not_configured(function, at),
            Value::List(functions) => self.apply_all(functions, given, spans),
            Value::Open => Ok(Value::Open),
            Value::Mistake => Err(Reported),
            other => self.not_applicable(other, &given, at),
        }
    }

    fn apply_builtin(&mut self, builtin: &Builtin, given: Vec<Given>, span: Span) -> Evaluated<Value> {
        if given.iter().any(|each| is_open(&each.value)) {
            return tried::with_each_kind(self, builtin, given, span);
        }
        if given.iter().any(|each| unknown::is_size(self, &each.value)) {
            let made = (builtin.apply)(self, &Call { function: builtin.function, given, span });
            return made.map(|_| Value::Open);
        }
        (builtin.apply)(self, &Call { function: builtin.function, given, span })
    }

    /// Reports a function that is applied without its configuration.
    fn not_configured(&mut self, function: &Function, at: Span) -> Evaluated<Value> {
        let name = self.text(function.def.name.name).to_string();
        let message = format!("`{name}` takes its configuration first");
        let list = signature(self, function.def.config.as_deref().unwrap_or(&[]));
        // Rules of the library have a rate that is a number.
        let list = match &*list {
            "rate" => "0.01",
            "size" | "hidden" | "width" | "features" | "units" => "64",
            // These do without.
            "epsilon" | "momentum" | "slope" | "base" | "delta" => "",
            list => list,
        };
        // Names of arguments say only how many there are.
        let place = Some(at).filter(|_| list.parse::<f64>().is_ok());
        let instead = (place, format!("{name}({list})"));
        self.wrong_instead(codes::ARGUMENTS, message, at, instead, " in its place")
    }

    /// Reports something that cannot be applied. Apart, because applications nest deeply.
    fn not_applicable(&mut self, other: &Value, given: &[Given], at: Span) -> Evaluated<Value> {
        needs::note(self, other, NeedKind::Function);
        let message = match other {
            // It may stand in a list of layers, which is what is applied.
            Value::Text(text) if !self.quote(at).starts_with('"') => {
                format!("`{}` has the text `\"{text}\"` in it, which cannot be applied", self.quote(at))
            }
            _ => format!("`{}` is {}, and cannot be applied", self.quote(at), other.kind()),
        };
        let arguments: Vec<String> = given.iter().map(|each| self.quote(each.span)).collect();
        let written = self.quote(at);
        if let (Value::Initial(_), "zeros" | "ones", false) = (other, &*written, arguments.is_empty()) {
            let diagnostic = Diagnostic::error(codes::KIND, message, self.place(at), "");
            return self.fail(habits::declared_first(self, diagnostic, at, &arguments, &written));
        }
        let help = match other {
            Value::Tensor(_) | Value::Number(_) | Value::OpenNumber(_) => match written.split_once('(') {
                Some((function, _)) if self.is_plain_function(function) => {
                    let arguments = arguments.join(", ");
                    format!("`{function}` has no configuration: write `{function}({arguments})`")
                }
                _ => "write `*` for a product, `@` to compose".to_string(),
            },
            Value::Initial(_) => super::advice::foreign::FIRST_VALUES.to_string(),
            Value::Text(text) => match misgiven::function_called(self, text) {
                Some(here) => format!("write `{here}` without quotes"),
                None => "a text is given to a function: `sum(\"i j => j\", x)`".to_string(),
            },
            _ => "only functions, layers, and lists of them are applied".to_string(),
        };
        let place = self.place(at);
        let mut diagnostic = Diagnostic::error(codes::KIND, message, place, "").with_help(help);
        if let Some(made) = self.where_made(other).filter(|_| place == at) {
            diagnostic = diagnostic.with_label(made, "a tensor, made here");
        }
        self.fail(diagnostic)
    }

    /// Applies a list of functions: the first argument goes through all of them, and each is given
    /// the other arguments.
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
        for (at, function) in functions.iter().enumerate() {
            given[0].value = value;
            value = self.apply(function, given.clone(), spans)?;
            // The application is that of all of them.
            if let (Value::Tensor(tensor), true) = (&value, at + 1 < functions.len()) {
                self.graph.quiet_mut().applied_as(*tensor, None);
                self.note_inner(*tensor);
            }
        }
        Ok(value)
    }

    /// Applies the configuration of a function. Inside another function this is done only once.
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
                && layer.config.iter().zip(&config).all(|(a, b)| !a.differs(b) && !is_defined_again(a, b));
            self.note_same_layer(&config);
            if same {
                return Ok(layer);
            }
            if let Some(again) = self.configured_again(&layer, function, &scope, &config) {
                self.make_once(place, Value::Layer(again.clone()));
                return Ok(again);
            }
            // A layer that has made no parameter may be made again.
            if layer.kept.has_made_nothing() {
                self.no_replay();
                let layer = self.layer(function, scope, config);
                layer.made_at.set(Some(span));
                self.make_once(place, Value::Layer(layer.clone()));
                return Ok(layer);
            }
            let message = "the configuration of a layer inside of a function cannot change from use to use";
            let help = "its parameters are made once; let the function have it as configuration, too: `def f(n)(x) = …`";
            return self.wrong(codes::PARAMETER, message, span, help);
        }
        let layer = self.layer(function, scope, config);
        layer.made_at.set(Some(span));
        self.make_once(place, Value::Layer(layer.clone()));
        self.note_layer_made(&layer, place, span);
        Ok(layer)
    }

    /// The layer of a function inside of another one, which is defined anew in every application of that one, or of a function
    /// that has such a one as configuration.
    #[inline(never)]
    fn configured_again(
        &mut self,
        layer: &Layer,
        function: &Rc<Function>,
        scope: &Rc<Scope>,
        config: &[Value],
    ) -> Option<Rc<Layer>> {
        let is_one = Rc::ptr_eq(&layer.function, function)
            || function.is_nested && Arc::ptr_eq(&layer.function.def, &function.def);
        let is_again = is_one && layer.config.iter().zip(config).all(|(a, b)| !a.differs(b));
        if !is_again {
            return None;
        }
        self.no_replay();
        Some(self.layer_again(layer, function, (scope.clone(), config.to_vec())))
    }

    /// Applies a function that has its configuration.
    pub(super) fn apply_layer(
        &mut self,
        layer: &Rc<Layer>,
        given: Vec<Given>,
        span: Span,
    ) -> Evaluated<Value> {
        if unknown::may_end(self, Rc::as_ptr(&layer.function)) {
            return Ok(Value::Open);
        }
        let paused = self.pause_recording(layer, &given, span);
        let made = match self.enter(layer, given, span) {
            Ok(mut entered) => {
                let made = self.deeper(span, |eval| eval.body_of(&entered, span));
                self.leave(&mut entered, &made, span);
                made
            }
            Err(reported) => Err(reported),
        };
        self.go_on_recording(paused, &made);
        made
    }

    /// Begins an application: the frame is that of the function from now on. Apart, because applications nest deeply.
    #[inline(never)]
    fn enter(&mut self, layer: &Rc<Layer>, given: Vec<Given>, span: Span) -> Evaluated<Box<Entered>> {
        let layer = self.twin(layer);
        let scope = Scope::new(Some(layer.scope.clone()));
        let subject = self.subject_of(&given);
        let formal = &layer.function.def.arguments;
        // Only signatures ask for them.
        let places = match states_shapes(&layer.function) {
            true => Places::new(formal, &given),
            false => Places::default(),
        };
        let arguments = self.bound(&layer.function, formal, given, &scope, (span, span))?;
        Ok(self.entered(layer, (scope, arguments), places, subject, span))
    }

    /// The parameter that a rule is about which is applied to something.
    fn subject_of(&self, given: &[Given]) -> Option<Rc<str>> {
        match given.first()?.value {
            Value::Tensor(tensor) if self.params.contains(&tensor) => {
                self.graph.quiet().name_of(tensor).map(Rc::from)
            }
            // A rule that is applied to what another rule has made is still about the same parameter.
            Value::Tensor(tensor) if self.assigned.contains(&tensor) => self.frame.subject.clone(),
            _ => None,
        }
    }

    /// Notes an application whose arguments are bound. Apart, because defaults of arguments may nest deeply.
    #[inline(never)]
    fn entered(
        &mut self,
        layer: Rc<Layer>,
        (scope, arguments): (Rc<Scope>, Vec<Value>),
        places: Places,
        subject: Option<Rc<str>>,
        span: Span,
    ) -> Box<Entered> {
        let function = &layer.function;
        let frame = Frame {
            file: self.file_of(function),
            scope: scope.clone(),
            layer: Some(layer.clone()),
            turns: Rc::new([]),
            subject,
            folder: self.frame.folder.clone(),
        };
        let library = self.library.contains(&function.def.name.span.source);
        let outer = self.application.replace(self.applied.len() as u32);
        self.applied.push(Applied { layer: layer.clone(), scope, span, outer, library });
        self.calls.push(span);
        let before = std::mem::replace(&mut self.frame, frame);
        let reported = self.diagnostics.len();
        Box::new(Entered { layer, places, arguments, before, outer, library, reported })
    }

    /// Ends an application.
    #[inline(never)]
    fn leave(&mut self, entered: &mut Entered, made: &Evaluated<Value>, span: Span) {
        std::mem::swap(&mut self.frame, &mut entered.before);
        self.calls.pop();
        if made.is_err() && self.calls.is_empty() && self.diagnostics.len() > entered.reported {
            let at = self.application;
            blame::blame_caller(self, entered.reported, at);
        }
        self.application = entered.outer;
        if let (Ok(Value::Tensor(tensor)), true) = (made, entered.library) {
            self.tell_as_written(*tensor, &entered.layer, span);
        }
    }

    /// Evaluates the body of a function, with the shapes that its signature states. The frame is that of the function.
    fn body_of(&mut self, entered: &Entered, span: Span) -> Evaluated<Value> {
        let (layer, function) = (&entered.layer, &entered.layer.function);
        let around;
        let arguments = match function.is_nested {
            true => {
                around = replay::with_names_around(self, function, &entered.arguments);
                &around
            }
            false => &entered.arguments,
        };
        let is_new = match replay::recorded(self, layer, arguments) {
            Recorded::Known(known, slots) => return replay::replay_body(self, &known, slots),
            Recorded::New => true,
            Recorded::No => false,
        };
        if is_new {
            self.begin_recording(layer, arguments);
        }
        self.walked += 1;
        let mut stated = match states_shapes(function) {
            true => contract::state_arguments(self, function, &entered.places, span).map(Some),
            false => Ok(None),
        };
        let mut made = if stated.is_ok() { self.body(&function.def.body) } else { Err(Reported) };
        if let (Ok(Some(names)), Ok(value)) = (&mut stated, &made)
            && contract::state_result(self, function, value, names, span).is_err()
        {
            made = Err(Reported);
        }
        if let (Ok(Some(names)), true) = (stated, made.is_ok()) {
            self.note_stated(names);
        }
        if is_new {
            self.end_recording(layer, &made);
        }
        made
    }

    /// In messages, what the library has made is called as the program writes it. Apart, because applications nest deeply.
    fn tell_as_written(&mut self, tensor: broadloom::Tensor, layer: &Layer, span: Span) {
        if self.place(span) == span {
            let text = self.quotable(span);
            let name = self.text(layer.function.def.name.name);
            let text = text.unwrap_or_else(|| format!("{name}(…)"));
            self.graph.quiet_mut().applied_as(tensor, Some(&text));
        }
    }

    /// Binds the given values to the arguments of a function, and returns them in order.
    pub(super) fn bound(
        &mut self,
        function: &Rc<Function>,
        arguments: &[Argument],
        given: Vec<Given>,
        scope: &Rc<Scope>,
        (at, span): (Span, Span),
    ) -> Evaluated<Vec<Value>> {
        let slots = self.slots(function, arguments, given, span)?;
        let mut values = Vec::with_capacity(slots.len());
        scope.expect(slots.len());
        for (argument, slot) in arguments.iter().zip(slots) {
            let slot = match slot {
                Some(given) => {
                    misgiven::text_for_function(self, function, argument, &given)?;
                    Some(given.value)
                }
                None => None,
            };
            let value = match (slot, argument.default) {
                (Some(value), _) => value,
                (None, Some(default)) => {
                    let frame = Frame {
                        file: self.file_of(function),
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

    /// Checks that a function is given as many arguments as it has, with names that it has.
    pub(super) fn check_given(
        &mut self,
        function: &Rc<Function>,
        arguments: &[Argument],
        given: Vec<Given>,
        (at, span): (Span, Span),
    ) -> Evaluated<()> {
        let slots = self.slots(function, arguments, given, span)?;
        let mut missing =
            arguments.iter().zip(slots).filter(|(each, slot)| slot.is_none() && each.default.is_none());
        match missing.next() {
            Some((argument, _)) => self.too_few(function, argument, at, span),
            None => Ok(()),
        }
    }

    /// Returns true if a name is an argument of the configuration, and these are the arguments after it.
    fn configures(&self, function: &Function, arguments: &[Argument], name: Ident) -> bool {
        let config = function.def.config.as_deref().unwrap_or(&[]);
        !std::ptr::eq(config, arguments) && config.iter().any(|each| each.name.name == name.name)
    }

    /// Returns true if a name is that of a function without configuration.
    fn is_plain_function(&self, name: &str) -> bool {
        let value = self.names.find(name).and_then(|name| self.frame.scope.find(name));
        matches!(value, Some(Value::Layer(_) | Value::Builtin(_) | Value::Operation(_)))
    }

    /// Assigns the given values to the arguments of a function.
    fn slots(
        &mut self,
        function: &Rc<Function>,
        arguments: &[Argument],
        given: Vec<Given>,
        span: Span,
    ) -> Evaluated<Vec<Option<Given>>> {
        misgiven::configured_by_tensor(self, function, arguments, &given, span)?;
        misgiven::rule_with_parameters(self, function, &given)?;
        if given.len() == arguments.len() && given.iter().all(|each| each.name.is_none()) {
            return Ok(given.into_iter().map(Some).collect());
        }
        let mut slots: Vec<Option<Given>> = arguments.iter().map(|_| None).collect();
        let plain = given.iter().filter(|each| each.name.is_none());
        let all: Vec<Given> = match plain.clone().count() > slots.len() {
            true => plain.cloned().collect(),
            false => Vec::new(),
        };
        let mut next = 0;
        let mut is_known = Ok(());
        for each in given {
            let slot = match each.name {
                None if next < slots.len() => {
                    next += 1;
                    next - 1
                }
                None => return self.too_many(function, arguments, &all, (each.span, span)),
                Some(name) => match arguments.iter().position(|known| known.name.name == name.name) {
                    Some(slot) => slot,
                    None => {
                        is_known = self.no_such_argument(function, arguments, name, (each.span, next));
                        continue;
                    }
                },
            };
            if slots[slot].is_some() {
                let name = self.text(arguments[slot].name.name).to_string();
                let message = format!("the argument `{name}` is given twice");
                let free = arguments.iter().zip(&slots).find(|(_, slot)| slot.is_none());
                let help = match free {
                    Some((free, _)) if each.name.is_none() => format!(
                        "arguments without a name come first, in their order: write `{} = {}`",
                        self.text(free.name.name),
                        self.quote(each.span)
                    ),
                    _ => format!("leave one of them out: `{name}` is given without its name, too"),
                };
                return self.wrong(codes::ARGUMENTS, message, each.span, help);
            }
            slots[slot] = Some(each);
        }
        is_known.map(|()| slots)
    }

    /// Reports an argument with a name that the function does not have, behind so many without names.
    fn no_such_argument<T>(
        &mut self,
        function: &Rc<Function>,
        arguments: &[Argument],
        name: Ident,
        (value, before): (Span, usize),
    ) -> Evaluated<T> {
        let text = self.text(name.name).to_string();
        let known: Vec<&str> = arguments.iter().map(|known| self.names.text(known.name.name)).collect();
        let own = self.text(function.def.name.name).to_string();
        let meant = suggest::argument(&text)
            .iter()
            .find(|meant| known.contains(meant))
            .map(|meant| meant.to_string());
        let near = meant.or_else(|| suggest::nearest(&text, known.iter().copied()));
        let value = self.quote(value);
        let first = known.first().copied().unwrap_or_default();
        let help = match &near {
            _ if text == "bias" && own == "linear" => {
                "without a bias it is `linear_without_bias(size)`".to_string()
            }
            _ if text == "reduction" => format!("write `mean({own}(…))`, or `sum({own}(…))`"),
            _ if self.configures(function, arguments, name) => {
                format!("it belongs to the configuration: write `{own}(…, {text} = {value})(x)`")
            }
            Some(near) if near == "axes" => {
                format!(
                    "write `{own}(\"... | v\")(x)`: the axes are named by a shape, and what it is applied to comes after"
                )
            }
            Some(_) if text == "kernel_size" && own == "conv2d" && before > 1 => {
                format!(
                    "write `conv2d(16, {value})`: the channels that it makes, and the side of the kernel; those of the image are inferred"
                )
            }
            Some(near) => format!("write `{near} = {value}`"),
            None if text.starts_with("in_") || text == "input_size" => {
                format!("no layer is told how wide its input is: write `{own}({first} = …)`")
            }
            None if known.is_empty() => format!("`{own}` has no arguments here"),
            None => format!("it has `{}`", known.join("`, `")),
        };
        let message = format!("`{own}` has no argument called `{text}`");
        let place = self.place(name.span);
        let mut diagnostic = Diagnostic::error(codes::ARGUMENTS, message, place, "").with_help(help);
        if let Some(near) = near.filter(|near| {
            near != "axes" && place == name.span && text != "bias" && !(text == "kernel_size" && before > 1)
        }) {
            diagnostic = diagnostic.fixed_by(format!("write `{near}`"), vec![Edit::new(name.span, near)]);
        }
        let defined = function.def.name.span;
        if place == name.span && !self.library.contains(&defined.source) {
            diagnostic = diagnostic.with_label(defined, "defined here");
        }
        self.fail(diagnostic)
    }

    fn too_many<T>(
        &mut self,
        function: &Rc<Function>,
        arguments: &[Argument],
        given: &[Given],
        (extra, span): (Span, Span),
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
        let numbers = given.iter().all(|each| matches!(each.value, Value::Number(_) | Value::Size(_)));
        let is_config = function.def.config.as_deref().is_some_and(|config| std::ptr::eq(config, arguments));
        let is_library = self.library.contains(&defined.source);
        let is_layer = is_config && is_library;
        let list: Vec<&str> = arguments.iter().map(|each| self.text(each.name.name)).collect();
        let axis = self.last_axis(arguments).filter(|_| !is_library);
        let callee = self.callee(span).filter(|_| place == extra).unwrap_or_else(|| name.clone());
        let help = match given {
            // In PyTorch, a layer is given the width of its input.
            [first, rest @ ..] if is_layer && numbers && rest.len() == count => {
                if let Some(next) = rest.first().filter(|_| place == extra) {
                    let edits = vec![Edit::new(Span { end: next.span.start, ..first.span }, "")];
                    diagnostic =
                        diagnostic.fixed_by(format!("leave out `{}`", self.quote(first.span)), edits);
                }
                let rest: Vec<String> = rest.iter().map(|each| self.quote(each.span)).collect();
                format!("no layer is told how wide its input is: write `{name}({})`", rest.join(", "))
            }
            // Names behind a comma in a stated shape are axes, which may not be meant.
            _ if axis.is_some() => {
                let axis = axis.unwrap_or_default();
                format!(
                    "`{axis}` is an axis in its signature: an argument is written `{axis} : ... | ... -> ...` there"
                )
            }
            [numbers, classes, ..] if is_library && name == "one_hot" => format!(
                "the number of classes follows from its use, or is stated: `let h : ... | {} = one_hot({})`",
                self.quote(classes.span),
                self.quote(numbers.span)
            ),
            _ => format!("write `{callee}({})`", list.join(", ")),
        };
        self.fail(diagnostic.with_help(help))
    }

    /// The text of what is applied in a call: `linear(8)` in `linear(8)(x)` and in `x |> linear(8)`.
    fn callee(&self, call: Span) -> Option<String> {
        let file = &self.frame.file;
        let callee = file.exprs.iter().filter(|expr| expr.span == call).find_map(|expr| match expr.kind {
            ExprKind::Call { callee, .. } | ExprKind::Binary(Binary::Pipe, _, callee) => Some(callee),
            _ => None,
        });
        self.quotable(file.expr(callee?).span)
    }

    /// The last name in the shape of the last argument, if it stands behind a comma.
    fn last_axis(&self, arguments: &[Argument]) -> Option<&str> {
        match arguments.last()?.shape.as_ref()?.output.as_slice() {
            [_, .., Axis { kind: AxisKind::Name(name), .. }] => Some(self.text(*name)),
            _ => None,
        }
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
        let config = function.def.config.as_deref().unwrap_or(&[]);
        let of = |list: &[Argument]| list.iter().any(|each| std::ptr::eq(each, missing));
        let list = if of(config) { config } else { &function.def.arguments };
        let (before, last) = match list.split_last() {
            Some((last, before)) => (signature(self, before), self.text(last.name.name).to_string()),
            None => Default::default(),
        };
        let list = signature(self, list);
        let callee = self.callee(span).filter(|_| place == span).unwrap_or_else(|| name.clone());
        diagnostic = diagnostic.with_help(format!("write `{callee}({list})`"));
        // Behind `|>` stands a function of what comes before it.
        let text = self.sources.get(span.source).text();
        let is_piped = text[..span.start as usize].trim_end().ends_with("|>");
        if is_piped
            && !before.is_empty()
            && last == argument
            && function.def.config.is_none()
            && place == span
        {
            diagnostic = diagnostic.with_help(format!(
                "or define it as `def {name}({before})({last}) = …`: configured first, `{name}({before})`, and then applied, as behind `|>`"
            ));
        }
        self.fail(diagnostic)
    }

    /// The place outside the library where a tensor was named.
    pub(crate) fn where_made(&self, value: &Value) -> Option<Span> {
        let Value::Tensor(tensor) = value else { return None };
        let made = self.made.iter().rev().find(|made| made.tensor == *tensor)?;
        (!self.library.contains(&made.span.source)).then_some(made.span)
    }

    /// The value that a place has made for this layer before.
    pub(super) fn made_before(&self, place: ExprId) -> Option<Value> {
        let layer = self.frame.layer.as_ref()?;
        layer.kept.made.borrow().get(&(place, self.frame.turns.clone())).cloned()
    }

    /// Keeps the value that a place has made, for later applications of this layer.
    pub(super) fn make_once(&mut self, place: ExprId, value: Value) {
        if let Some(layer) = &self.frame.layer {
            layer.keep((place, self.frame.turns.clone()), value);
        }
    }
}
