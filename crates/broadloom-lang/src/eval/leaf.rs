//! Leaves: data, states, parameters, and their declared shapes.

use broadloom::{DeclaredShape, Dtype, Initial, Tensor};
use broadloom_diagnostics::{Diagnostic, Edit, Fix, Label, Span};

use super::axis_names::NamedAxis;
use super::declared::Declared;
use super::first_values::first_values;
use super::{Eval, Evaluated, Reported, axis_names, declared, streams, written};
use crate::codes;
use crate::plan::Drawn;
use crate::stream::HAS_STREAMS;
use crate::syntax::ast::{ExprId, ExprKind, Ident, LeafKind, Name, Param, Shape};
use crate::value::{Scope, Value};

/// The shape and first value with which a parameter
/// of a function was made, and the call that made it.
#[derive(Clone)]
pub(super) struct MadeParam {
    shape: Option<String>,
    first: Option<Value>,
    call: Option<Span>,
}

/// A parameter that is about to be made.
pub(super) struct NewParam {
    /// The expression that makes it, and the turns of the loops around it.
    place: ExprId,
    turns: std::rc::Rc<[u32]>,
    pub name: Ident,
    declared: Option<Declared>,
    axes: Vec<NamedAxis>,
    /// Its first value, as a value of the language and as the graph takes it.
    first: Option<Value>,
    initial: Option<(Initial, Span)>,
    precision: Option<Ident>,
    span: Span,
}

/// The largest index of a row: greater whole numbers are not exact in a 32-bit float.
const LARGEST_INDEX: f64 = 16_777_216.0;

impl Eval<'_> {
    /// `data` and `state` lines.
    pub(super) fn leaf(
        &mut self,
        kind: LeafKind,
        name: Ident,
        shape: Option<&Shape>,
        precision: Option<Ident>,
        value: Option<ExprId>,
        span: Span,
    ) -> Evaluated<()> {
        let wanted = format!("{}{}", self.prefix(), self.text(name.name));
        let text = self.free_name(&wanted);
        let declared = match shape {
            Some(shape) => Some(declared::written_shape(self, shape)?),
            None => None,
        };
        let dtype = self.dtype(precision)?;
        let given = match value {
            Some(value) => Some(self.expr(value)?),
            None => None,
        };
        let at = value.map_or(span, |value| self.span_of(value));
        let tensor = match kind {
            LeafKind::Data => self.data(&text, declared.as_ref(), given, dtype, (name.span, at))?,
            LeafKind::State => {
                let initial = match &given {
                    Some(given) => Some(written::initial(self, given, at)?),
                    None => None,
                };
                let tensor = self.ask(name.span, |graph| match (&declared, &initial) {
                    (Some(declared), _) => graph.state_shaped(&text, &*declared.shape),
                    (None, Some(Initial::Values(values))) => graph.state_with_axes(&text, values.sizes()),
                    (None, _) => Ok(graph.state(&text)),
                })?;
                if declared.is_none() && !matches!(initial, Some(Initial::Values(_))) {
                    self.shapeless.push((tensor, name.span));
                }
                if let Some(initial) = initial {
                    self.ask(at, |graph| graph.set_initial(tensor, initial))?;
                }
                if let Some(dtype) = dtype {
                    self.ask(at, |graph| graph.set_precision(tensor, dtype))?;
                }
                tensor
            }
        };
        self.relate(tensor, declared.as_ref(), span)?;
        let axes = shape.map_or(Vec::new(), |shape| axis_names::axis_names_in(self, shape));
        axis_names::note_axis_names(self, tensor, &axes);
        self.name_tensor(tensor, text, name.span);
        self.frame.scope.bind(name.name, Value::Tensor(tensor));
        Ok(())
    }

    /// Data with values of its own, from a file, a list or a distribution; or without values, to be
    /// set from outside.
    fn data(
        &mut self,
        name: &str,
        declared: Option<&Declared>,
        given: Option<Value>,
        dtype: Option<Dtype>,
        (span, at): (Span, Span),
    ) -> Evaluated<Tensor> {
        let shape: Option<DeclaredShape<'_>> = declared.map(|declared| (&*declared.shape).into());
        let tensor = match given {
            None => self.ask(span, |graph| graph.data(name, shape.unwrap_or("...".into())))?,
            Some(Value::Initial(initial)) => {
                let Some(shape) = shape else {
                    let message = format!("`{name}` has no shape");
                    let help = "say how many numbers to draw: `data x : 100 | 2 = normal(1)`";
                    return self.wrong(codes::SHAPE, message, span, help);
                };
                let tensor = self.ask(span, |graph| graph.data(name, shape))?;
                self.plan.drawn.push(Drawn {
                    tensor,
                    name: name.to_string(),
                    initial: (*initial).clone(),
                    span: at,
                });
                tensor
            }
            Some(Value::Stream(stream, array)) if HAS_STREAMS => {
                return streams::streamed(self, name, declared, (stream, array), dtype, (span, at));
            }
            Some(given) => {
                let values = written::array(self, &given, dtype, at)?;
                let shape = shape.unwrap_or("...".into());
                // Whole numbers without a declared type are integers where they look up rows, and
                // floats elsewhere.
                let is_written = dtype.is_none() && !matches!(given, Value::Array(_));
                let is_open = is_written || (dtype.is_none() && values.dtype() == Dtype::F32);
                let whole = |number: &f64| number.fract() == 0.0 && number.abs() <= LARGEST_INDEX;
                if is_open && values.to_f64s().iter().all(whole) {
                    let made = self.ask(span, |graph| graph.data_with_axes(name, shape, values.sizes()));
                    let made = self.at_values(made, values.sizes(), (span, at));
                    let tensor = self.at_number(made, name, (&given, at))?;
                    let initial = Initial::Values(values.convert(Dtype::I64));
                    self.plan.drawn.push(Drawn { tensor, name: name.to_string(), initial, span: at });
                    return Ok(tensor);
                }
                let sizes = values.sizes().to_vec();
                let made = self.ask(span, |graph| match is_written {
                    true => graph.open_array(name, shape, values),
                    false => graph.array(name, shape, values),
                });
                let made = self.at_values(made, &sizes, (span, at));
                return self.at_number(made, name, (&given, at));
            }
        };
        if let Some(dtype) = dtype {
            self.ask(span, |graph| graph.set_precision(tensor, dtype))?;
        }
        Ok(tensor)
    }

    /// Says what fills data with one number, if data was refused because it is only that.
    fn at_number<T>(&mut self, made: Evaluated<T>, name: &str, (given, at): (&Value, Span)) -> Evaluated<T> {
        let (Err(_), Value::Number(number)) = (&made, given) else { return made };
        let at = self.place(at);
        if let Some(last) = self.diagnostics.last_mut()
            && last.labels.iter().any(|label| label.span == at)
        {
            let fill = [(0.0, "zeros"), (1.0, "ones")].into_iter().find(|(value, _)| value == number);
            let help = match fill {
                Some((_, fill)) => format!("write `{fill}`, which is as many as the shape says"),
                None => {
                    format!("write a number for each element, or `let {name} = {number}`, which broadcasts")
                }
            };
            let edit = fill.map(|(_, fill)| Edit::new(at, fill));
            last.fixes.extend(edit.map(|edit| Fix { title: help.clone(), edits: vec![edit] }));
            last.help = vec![help.into()];
        }
        made
    }

    /// Labels the values as the other end of the conflict if data was refused.
    pub(super) fn at_values<T>(
        &mut self,
        made: Evaluated<T>,
        sizes: &[u64],
        (span, at): (Span, Span),
    ) -> Evaluated<T> {
        let (place, at) = (self.place(span), self.place(at));
        let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
        if made.is_err()
            && place != at
            && let Some(last) = self.diagnostics.last_mut()
            && last.labels.len() == 1
            && last.primary().is_some_and(|label| label.span == place)
        {
            let axes = if sizes.is_empty() { "no axes".into() } else { format!("axes {}", sizes.join(", ")) };
            last.labels.push(Label::new(at, format!("the values have {axes}")));
        }
        made
    }

    /// Reports `{scale}` where `scale` is a number already: braces would make a parameter beside it.
    fn not_a_name_for_a_number(&mut self, scope: &Scope, param: &Param, span: Span) -> Evaluated<()> {
        let known = scope.own(param.name.name).filter(|_| param.shape.is_none() && param.initial.is_none());
        let Some(Value::Number(_) | Value::Size(_)) = known else { return Ok(()) };
        let name = self.text(param.name.name).to_string();
        let message = format!("`{name}` is a number, and braces make a new parameter");
        let help =
            format!("write `{name}` to use the number, or give the parameter another name: `{{{name}_}}`");
        self.wrong(codes::PARAMETER, message, span, help)
    }

    /// A parameter. Inside a function it is made once, and used by every application. Its name is bound where its braces
    /// stand: in the turn of a loop it is the parameter of that turn, and in every application that of this application.
    pub(super) fn param(&mut self, place: ExprId, param: &Param, span: Span) -> Evaluated<Value> {
        if let Some(made) = self.made_before(place) {
            self.same_parameter(&made, param, span)?;
            self.note_made_before(param.name.name, &made);
            self.frame.scope.bind(param.name.name, made.clone());
            return Ok(made);
        }
        self.not_made_already(param.name.name, span)?;
        let scope = match &self.frame.layer {
            Some(layer) => layer.scope.clone(),
            None => self.frame.scope.clone(),
        };
        self.not_a_name_for_a_number(&scope, param, span)?;
        let wanted = self.inside_of(param.name.name);
        let name = self.free_name(&wanted);
        let declared = match &param.shape {
            Some(shape) => Some(declared::written_shape(self, shape)?),
            None => None,
        };
        let first = match param.initial {
            Some(initial) => Some((self.expr(initial)?, self.span_of(initial))),
            None => None,
        };
        self.new_param((place, param, span), name, declared, first)
    }

    /// Reports a second pair of braces of one name. Apart, because first values may nest deeply.
    #[inline(never)]
    fn not_made_already(&mut self, name: Name, span: Span) -> Evaluated<()> {
        let bound = self.param_bound(name);
        let Some(first) = bound.clone().or_else(|| self.param_beside(name)) else { return Ok(()) };
        let plain = self.text(name).to_string();
        let message = format!("there is a parameter `{plain}` already");
        let help = match bound {
            Some(_) => format!("write `{plain}` to use it again, or `{{{plain}2}}` for a new one"),
            None => format!(
                "make it once, before the `if`, `let {plain} = {{{plain}}}`, and write `{plain}` in both ways, or `{{{plain}2}}` for a new one"
            ),
        };
        let place = self.place(span);
        let mut diagnostic = Diagnostic::error(codes::PARAMETER, message, place, "");
        if let Some(made) = self.where_made(&first).filter(|_| place == span) {
            diagnostic = diagnostic.with_label(made, "made here");
        }
        if bound.is_some() && place == span {
            let edits = vec![Edit::new(span, plain.as_str())];
            diagnostic = diagnostic.fixed_by(format!("write `{plain}` to use it again"), edits);
        }
        self.fail(diagnostic.with_help(help))
    }

    /// The parameter of the same function that a name stands for here.
    fn param_bound(&self, name: Name) -> Option<Value> {
        let around = self.frame.layer.as_ref().map(|layer| &layer.scope);
        let is_param = |value: &Value| matches!(value, Value::Tensor(tensor) if self.params.contains(tensor));
        self.frame.scope.find_inside(name, around).filter(is_param)
    }

    /// The parameter that other braces of the same name have made outside of loops: in another application, which has gone
    /// another way of an `if`.
    fn param_beside(&self, name: Name) -> Option<Value> {
        let layer = self.frame.layer.as_ref().filter(|_| self.frame.turns.is_empty())?;
        layer.kept.params.borrow().get(&name)?;
        let file = &self.frame.file;
        let is_of_name = |place: ExprId| matches!(&file.expr(place).kind, ExprKind::Param(param) if param.name.name == name);
        let made = layer.kept.made.borrow();
        let same = made.iter().find(|((place, turns), _)| turns.is_empty() && is_of_name(*place));
        same.map(|(_, value)| value.clone())
    }

    /// Makes a parameter whose shape and first value are known. Apart, because first values may nest deeply.
    #[inline(never)]
    fn new_param(
        &mut self,
        (place, param, span): (ExprId, &Param, Span),
        name: String,
        declared: Option<Declared>,
        first: Option<(Value, Span)>,
    ) -> Evaluated<Value> {
        let initial = match &first {
            Some((value, at)) => Some((written::initial(self, value, *at)?, *at)),
            None => None,
        };
        let axes = param.shape.as_ref().map_or(Vec::new(), |shape| axis_names::axis_names_in(self, shape));
        let first = first.map(|(value, _)| value);
        let (precision, turns) = (param.precision, self.frame.turns.clone());
        let made =
            NewParam { place, turns, name: param.name, declared, axes, first, initial, precision, span };
        let tensor = self.make_param(&made, name)?;
        self.note_param(made, tensor);
        Ok(Value::Tensor(tensor))
    }

    /// Makes a parameter that will be called like this. The frame is that of the function that has it.
    pub(super) fn make_param(&mut self, made: &NewParam, name: String) -> Evaluated<Tensor> {
        let NewParam { declared, initial, span, .. } = made;
        let tensor = self.ask_quietly(*span, |graph| match (declared, initial) {
            (Some(declared), _) => graph.param_shaped(&name, &*declared.shape),
            (None, Some((Initial::Values(values), _))) => graph.param_with_axes(&name, values.sizes()),
            (None, _) => Ok(graph.param(&name)),
        })?;
        self.params.insert(tensor);
        self.relate(tensor, declared.as_ref(), *span)?;
        axis_names::note_axis_names(self, tensor, &made.axes);
        if let Some(dtype) = self.dtype(made.precision)? {
            self.ask_quietly(*span, |graph| graph.set_precision(tensor, dtype))?;
        }
        if let Some((initial, at)) = initial {
            self.ask_quietly(*at, |graph| graph.set_initial(tensor, initial.clone()))?;
        }
        if self.frame.layer.is_some() {
            let made = MadeParam {
                shape: declared.as_ref().map(|declared| declared.shape.text().to_string()),
                first: made.first.clone(),
                call: self.calls.last().copied(),
            };
            self.made_as.insert(tensor, made);
        }
        let value = Value::Tensor(tensor);
        if let Some(layer) = self.frame.layer.clone() {
            // In later turns of a loop, the tables add a number to the name.
            let own = name.rsplit('.').next().unwrap_or(&name);
            let field =
                if own == self.text(made.name.name) { made.name.name } else { self.names.intern(own) };
            layer.keep_param(field, &value);
            layer.keep_param(made.name.name, &value);
            layer.keep((made.place, made.turns.clone()), value.clone());
        }
        self.name_tensor(tensor, name, made.name.span);
        self.frame.scope.bind(made.name.name, value);
        Ok(tensor)
    }

    /// Checks that a function that is used again would make the same parameter as before.
    fn same_parameter(&mut self, made: &Value, param: &Param, span: Span) -> Evaluated<()> {
        let Value::Tensor(tensor) = made else { return Ok(()) };
        let Some(MadeParam { shape, first, call }) = self.made_as.get(tensor).cloned() else { return Ok(()) };
        let now = match &param.shape {
            Some(shape) => Some(declared::written_shape(self, shape)?.shape.text().to_string()),
            None => None,
        };
        let name = self.graph.quiet().name_of(*tensor).unwrap_or_default().to_string();
        let (was, is) = match (shape, now) {
            (Some(was), Some(now)) if was != now => (format!("`{was}`"), format!("`{now}`")),
            _ => {
                let value = match param.initial {
                    Some(initial) => Some(self.expr(initial)?),
                    None => None,
                };
                match (first, value) {
                    (Some(was), Some(now)) if was.differs(&now) => first_values(&was, &now),
                    _ => return Ok(()),
                }
            }
        };
        let message = format!("`{name}` was made with {was}, and is used here with {is}");
        let here = self.calls.last().copied().unwrap_or(span);
        let mut diagnostic = Diagnostic::error(codes::PARAMETER, message, here, format!("with {is}"));
        if let Some(call) = call.filter(|call| *call != here) {
            diagnostic = diagnostic.with_label(call, format!("made here, with {was}"));
        }
        let help = "a function makes its parameters once; for one layer for each use, write what changes as configuration: \
                    `def f(size)(x) = …`, then `f(4)(x)` and `f(2)(x)`";
        self.fail(diagnostic.with_help(help))
    }

    /// Reports states without a known shape: none is declared, and nothing is assigned to them.
    pub(crate) fn unassigned_states(&mut self) {
        let shapeless = std::mem::take(&mut self.shapeless);
        if shapeless.is_empty() {
            return;
        }
        // Assignments read tensors, too.
        let uses = self.graph.use_counts();
        for (tensor, span) in shapeless {
            // A function of the library may assign to its state only in training.
            let is_read = uses[tensor.index()] > 0;
            if self.stated.contains(&tensor) || self.library.contains(&span.source) || !is_read {
                continue;
            }
            let name = self.graph.name_of(tensor).unwrap_or_default().to_string();
            let message = format!("nothing says what shape `{name}` has: nothing is assigned to it");
            let help = format!("write its shape, `state {name} : 3`, or assign to it: `{name} = …`");
            let _ = self.wrong::<()>(codes::UNDETERMINED, message, span, help);
        }
    }

    /// Applies the shape that a `let` declares to its value.
    pub(super) fn declare(&mut self, name: Ident, shape: &Shape, value: &Value) -> Evaluated<()> {
        let span = shape.span.unwrap_or(name.span);
        let tensor = match value {
            Value::Tensor(tensor) => *tensor,
            Value::Open | Value::OpenNumber(_) => self.tensor(value, name.span)?,
            Value::Mistake => return Err(Reported),
            other => {
                let message =
                    format!("only tensors have shapes, and `{}` is {}", self.text(name.name), other.kind());
                let help = match other {
                    Value::List(_) | Value::Numbers(_) | Value::Array(_) => {
                        let name = self.text(name.name);
                        format!("numbers with a shape are data: `data {name} : {} = …`", self.quote(span))
                    }
                    _ => {
                        "leave the shape out; `constant(0)` is a number in every place of a shape".to_string()
                    }
                };
                return self.wrong(codes::KIND, message, span, help);
            }
        };
        let declared = declared::written_shape(self, shape)?;
        self.ask(span, |graph| graph.declare_computed(tensor, declared.computed(&declared.labels())))?;
        Ok(())
    }

    /// Relates names of a declared shape to the sizes that they stand for.
    fn relate(&mut self, tensor: Tensor, declared: Option<&Declared>, span: Span) -> Evaluated<()> {
        let Some(declared) = declared else { return Ok(()) };
        for (label, size) in &declared.sizes {
            self.ask(span, |graph| {
                let own = graph.captured(tensor, label)?;
                graph.set_to(own, size)
            })?;
        }
        Ok(())
    }

    /// Reads a type of numbers.
    fn dtype(&mut self, precision: Option<Ident>) -> Evaluated<Option<Dtype>> {
        let Some(precision) = precision else { return Ok(None) };
        let text = self.text(precision.name).to_string();
        match text.parse::<Dtype>() {
            Ok(dtype) => Ok(Some(dtype)),
            Err(_) => {
                let known = Dtype::ALL.map(|dtype| format!("`{dtype}`")).join(", ");
                let message = format!("`{text}` is not a type of numbers");
                let help = match crate::suggest::number_type(&text) {
                    Some(meant) => format!("write `as {meant}`; there are {known}"),
                    None => format!("there are {known}"),
                };
                self.wrong(codes::UNKNOWN, message, precision.span, help)
            }
        }
    }
}
