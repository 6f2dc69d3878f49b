//! Written signatures: `def f(x : ..b.. | n) : ..b.. | 1 = …`.
//!
//! The statements of a signature hold in every application, even if the body would allow more: the shapes of
//! arguments before the body is walked, so that a mistake is found where the function is applied, and the
//! shape of the result afterwards. A name is one size, or one row, in the whole signature. A signature may
//! ask for more than the body needs. It may not promise more than the body keeps: sizes that it leaves open
//! have to stay open, and different ones different.

use std::rc::Rc;

use broadloom::{Error, Kind, Shape as Inferred, StatedNames};
use broadloom_diagnostics::{Diagnostic, Help, Span};

use super::report::diagnosed;
use super::{Eval, Evaluated, Reported};
use crate::codes;
use crate::eval::call::Given;
use crate::syntax::ast::{Argument, Axis, AxisKind, Name, Shape};
use crate::value::{Function, Value};

/// The place where a function is given each of its arguments.
pub(super) struct Places(Vec<Option<Span>>);

impl Places {
    pub fn new(arguments: &[Argument], given: &[Given]) -> Places {
        let mut places = vec![None; arguments.len()];
        let mut next = 0;
        for each in given {
            let at = match each.name {
                Some(name) => arguments.iter().position(|known| known.name.name == name.name),
                None => {
                    next += 1;
                    Some(next - 1)
                }
            };
            if let Some(place) = at.and_then(|at| places.get_mut(at)) {
                *place = Some(each.span);
            }
        }
        Places(places)
    }
}

impl Eval<'_> {
    /// States the shapes of the arguments of an application. The frame is that of the function.
    pub(super) fn state_arguments(
        &mut self,
        function: &Rc<Function>,
        places: &Places,
        call: Span,
    ) -> Evaluated<StatedNames> {
        let mut names = StatedNames::default();
        for (argument, place) in function.def.arguments.iter().zip(&places.0) {
            let Some(shape) = &argument.shape else { continue };
            let value = self.frame.scope.own(argument.name.name).unwrap_or(Value::Mistake);
            let span = place.unwrap_or(call);
            let tensor = self.tensor(&value, span)?;
            if !matches!(value, Value::Tensor(_)) {
                self.frame.scope.bind(argument.name.name, Value::Tensor(tensor));
            }
            let declared = self.declared(shape)?;
            let sizes: Vec<_> = declared.sizes.iter().map(|(label, size)| (label.as_str(), size)).collect();
            let stated = shape.span.unwrap_or(argument.name.span);
            let made = self.graph.quiet_mut().state_shape(tensor, &declared.text, &sizes, &mut names);
            self.note_origins(stated);
            self.note_statement(tensor, &declared, stated);
            if let Err(error) = made {
                let got = self.graph.shape(tensor).to_string();
                let wants = (function, argument.name.name, declared.written.as_str());
                let written = self.quote(span);
                let help = self.what_to_give(function, shape, (tensor, &written));
                return self.unwanted(wants, (&got, span, help), shape.span, &error);
            }
            self.bind_sizes(function, shape, &names);
        }
        Ok(names)
    }

    /// Binds the names of a stated shape that are sizes, for the body.
    fn bind_sizes(&mut self, function: &Function, shape: &Shape, names: &StatedNames) {
        for name in names_of(shape) {
            self.note_outer(&function.scope, name);
            if !is_known(function, name)
                && let Some(size) = self.graph.quiet().captured_stated(names, self.text(name))
            {
                let size = Value::Size(Rc::new(size.into()));
                self.note_size(&size, |recorder| recorder.stated_size(name));
                self.frame.scope.bind(name, size);
            }
        }
    }

    /// States the shape of the result of an application.
    pub(super) fn state_result(
        &mut self,
        function: &Rc<Function>,
        value: &Value,
        names: &mut StatedNames,
        call: Span,
    ) -> Evaluated<()> {
        let Some(shape) = &function.def.result else { return Ok(()) };
        let span = shape.span.unwrap_or(function.def.name.span);
        let Value::Tensor(tensor) = value else {
            let name = self.text(function.def.name.name).to_string();
            let message = format!("`{name}` states the shape of its result, which is {}", value.kind());
            return self.wrong(codes::KIND, message, span, "only tensors have shapes: leave it out");
        };
        let declared = self.declared(shape)?;
        let sizes: Vec<_> = declared.sizes.iter().map(|(label, size)| (label.as_str(), size)).collect();
        let made = self.graph.quiet_mut().state_shape(*tensor, &declared.text, &sizes, names);
        self.note_origins(span);
        self.note_statement(*tensor, &declared, span);
        let Err(error) = made else { return Ok(()) };
        let got = self.graph.shape(*tensor).to_string();
        let name = self.text(function.def.name.name).to_string();
        let message = format!("`{name}` states `{}` for its result, which is `{got}`", declared.written);
        let place = self.place(span);
        let mut diagnostic = Diagnostic::error(codes::MISMATCH, message, place, "stated here");
        if call != function.def.name.span && place == span {
            diagnostic = diagnostic.with_label(call, "applied here");
        }
        diagnostic = diagnostic.with_note(error.message());
        self.fail(diagnostic.with_help("state what the body gives, or leave the shape out: it is inferred"))
    }

    /// An argument whose shape is not what the signature asks for.
    fn unwanted<T>(
        &mut self,
        (function, argument, wanted): (&Rc<Function>, Name, &str),
        (got, span, help): (&str, Span, Option<String>),
        stated: Option<Span>,
        error: &Error,
    ) -> Evaluated<T> {
        let name = self.text(function.def.name.name).to_string();
        let argument = self.text(argument).to_string();
        let place = self.place(span);
        let mut diagnostic = diagnosed(error, place, &self.origins);
        diagnostic.message = format!("`{name}` wants `{argument} : {wanted}`, and this is `{got}`");
        diagnostic.labels[0].text = format!("`{got}`");
        diagnostic.help.clear();
        match stated.filter(|stated| !self.library.contains(&stated.source)) {
            Some(stated) => {
                diagnostic.labels.retain(|label| label.span != stated);
                diagnostic = diagnostic.with_label(stated, format!("`{name}` states it here"));
            }
            None => diagnostic.notes.extend(self.comment_above(function.def.name.span)),
        }
        if crate::suggest::number_type(wanted).is_some()
            || ["Tensor", "tensor", "array", "f32"].contains(&wanted)
        {
            let read = format!(
                "after `:` stands a shape, and `{wanted}` is read as the name of a size: leave it out"
            );
            diagnostic.help.push(read.into());
        }
        diagnostic.help.extend(help.map(Help::from));
        self.fail(diagnostic.with_note(error.message()))
    }

    /// Says what a signature promises and the body does not keep, if anything: `inferred` are the shapes of the arguments
    /// that are tensors, and of the result.
    pub(super) fn broken_promise(
        &self,
        function: &Function,
        scheme: &broadloom::Scheme,
        inferred: &[(Option<Name>, Inferred)],
    ) -> Option<(Span, String)> {
        let mut known: Vec<(Name, bool, u32)> = Vec::new();
        for (name, shape) in inferred {
            let stated = match name {
                Some(name) => {
                    let mut arguments = function.def.arguments.iter();
                    arguments.find(|each| each.name.name == *name).and_then(|each| each.shape.as_ref())
                }
                None => function.def.result.as_ref(),
            };
            let Some(stated) = stated else { continue };
            for kind in Kind::ALL {
                let promised = match kind {
                    Kind::Batch => stated.batch.as_deref().unwrap_or(&[]),
                    Kind::Input => stated.input.as_deref().unwrap_or(&[]),
                    Kind::Output => &stated.output,
                };
                let kept = shape.row(kind);
                // A row may stand for no axes.
                if kept.len() < promised.len() {
                    continue;
                }
                if kept.len() > promised.len() {
                    let text = scheme.text(shape);
                    let span = stated.span.unwrap_or(function.def.name.span);
                    return Some((span, format!("the body makes it `{text}`")));
                }
                for (promise, axis) in promised.iter().zip(kept) {
                    let broken = self.broken(function, scheme, promise, axis, &mut known);
                    if let Some(why) = broken {
                        return Some((promise.span, why));
                    }
                }
            }
        }
        None
    }

    /// Compares an axis of a signature with what the body makes of it.
    fn broken(
        &self,
        function: &Function,
        scheme: &broadloom::Scheme,
        promise: &Axis,
        axis: &broadloom::Axis,
        known: &mut Vec<(Name, bool, u32)>,
    ) -> Option<String> {
        let (name, is_row) = match promise.kind {
            AxisKind::Name(name) => (name, false),
            AxisKind::Row(name) => (name, true),
            AxisKind::Size(_) | AxisKind::Any | AxisKind::Rest | AxisKind::Expr(_) => return None,
        };
        // Arguments and names around the function are what they are.
        if is_known(function, name) {
            return None;
        }
        let text = if is_row { format!("..{}..", self.text(name)) } else { self.text(name).to_string() };
        let Some((variable, _)) = scheme.variable(axis) else {
            // An expression is a condition on sizes, which the signature shows.
            let fixed = matches!(axis, broadloom::Axis::Sized(..) | broadloom::Axis::Unit);
            return fixed.then(|| format!("`{text}` may be anything here, but the body makes it `{axis}`"));
        };
        match known.iter().find(|(own, row, _)| *own == name && *row == is_row) {
            Some(_) => None,
            None => {
                let same =
                    known.iter().find(|(.., other)| *other == variable).map(|(own, row, _)| (*own, *row));
                known.push((name, is_row, variable));
                let (own, row) = same?;
                let other = if row { format!("..{}..", self.text(own)) } else { self.text(own).to_string() };
                Some(format!("`{text}` and `{other}` may differ here, but the body makes them equal"))
            }
        }
    }

    /// Reports a signature that promises more than the body keeps.
    pub(super) fn report_promise(&mut self, (span, why): (Span, String)) {
        let help = "state what the body needs, or leave the shape out: it is inferred";
        let place = self.place(span);
        let diagnostic = Diagnostic::error(codes::MISMATCH, why, place, "stated here").with_help(help);
        let (Ok(()) | Err(Reported)) = self.fail(diagnostic);
    }
}

/// True if a function states the shape of an argument, or of its result.
pub(super) fn states_shapes(function: &Function) -> bool {
    function.def.result.is_some() || function.def.arguments.iter().any(|each| each.shape.is_some())
}

/// True if a name in a signature is an argument, or a size that is known where the function is defined.
fn is_known(function: &Function, name: Name) -> bool {
    let mut list = function.def.config.iter().flatten().chain(&function.def.arguments);
    let is_size = |value: Value| matches!(value, Value::Number(_) | Value::Size(_) | Value::Mistake);
    list.any(|each| each.name.name == name) || function.scope.find(name).is_some_and(is_size)
}

/// The names of a shape that stand for sizes.
pub(super) fn names_of(shape: &Shape) -> impl Iterator<Item = Name> + '_ {
    let axes = shape.batch.iter().flatten().chain(shape.input.iter().flatten()).chain(&shape.output);
    axes.filter_map(|axis| match axis.kind {
        AxisKind::Name(name) => Some(name),
        _ => None,
    })
}
