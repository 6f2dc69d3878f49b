//! Statements that act when a program runs: assignments, gradients, repetitions, output.
//!
//! Tensor expressions define values; these statements happen in order. Consecutive statements with
//! no output between them become one routine, which is compiled as a whole.

use std::rc::Rc;
use std::sync::Arc;

use broadloom::{FormulaName as Operand, Graph, LeafKind, Logic, Node, Routine, Sign, Tensor};
use broadloom_diagnostics::{Diagnostic, Span, Wording};
use broadloom_spec::WrittenSpec;
use rustc_hash::FxHashSet;

use super::advice::{foreign, habits, printed};
use super::convert::has_tensors;
use super::formula::Draft;
use super::spec::By;
use super::{Eval, Evaluated, Frame, Reported, averaged, formula, traps, unknown, written};
use crate::codes;
use crate::eval::given::Given;
use crate::plan::{Action, PrintedPiece, Repeat};
use crate::position::{Counter, Position, whole};
use crate::syntax::ast::{Assign, ExprId, ExprKind, Ident, Quoted, Statement, StatementKind, Target};
use crate::value::{Scope, Value};

/// The logic of an assignment.
enum WrittenLogic {
    Sign(Logic<'static>),
    Spec(Rc<WrittenSpec>),
    /// A text that is neither: the graph refuses it.
    Misread(String),
}

impl WrittenLogic {
    /// The number of operands on the right, if the logic decides it.
    fn operands(&self) -> Option<usize> {
        match self {
            WrittenLogic::Sign(Logic::Compose) => Some(2),
            WrittenLogic::Spec(read) => Some(read.spec().operands.len()),
            WrittenLogic::Sign(_) | WrittenLogic::Misread(_) => None,
        }
    }
}

impl<'s> From<&'s WrittenLogic> for Logic<'s> {
    fn from(logic: &'s WrittenLogic) -> Logic<'s> {
        match logic {
            WrittenLogic::Sign(sign) => *sign,
            WrittenLogic::Spec(read) => Logic::Spec((&**read).into()),
            WrittenLogic::Misread(text) => Logic::Spec(text.into()),
        }
    }
}

/// A body that is being planned.
#[derive(Clone, Default)]
pub(crate) struct Planned {
    pub actions: Vec<Action>,
    /// The current routine, and the span where it begins.
    routine: Option<(Routine, Span)>,
    /// The spans of the actions of that routine.
    places: Vec<Span>,
    /// True if that routine computes gradients.
    backward: bool,
    /// Tensors computed in this body whose values are still valid: they can be shown without
    /// computing them again.
    fresh: FxHashSet<Tensor>,
    losses: Vec<(String, Tensor)>,
    /// The counter of the repetitions of this body, and the tensor that holds their number.
    counter: Option<(Counter, Ident, Option<Tensor>)>,
    /// The number of its repetitions.
    repetitions: u64,
    /// True if gradients from before these repetitions are used in them.
    holds: bool,
}

impl Eval<'_> {
    fn planned(&mut self) -> &mut Planned {
        if self.bodies.is_empty() {
            self.bodies.push(Planned::default());
        }
        let last = self.bodies.len() - 1;
        &mut self.bodies[last]
    }

    /// Adds to the current routine, beginning one if there is none; the graph may change, too.
    pub(super) fn with_routine<T>(
        &mut self,
        span: Span,
        make: impl FnOnce(&mut Routine, &mut broadloom::Graph) -> Result<T, broadloom::Error>,
    ) -> Evaluated<T> {
        let number = self.plan.routines.len() + 1;
        let place = self.place(span);
        let name = if self.bodies.len() > 1 { format!("step{number}") } else { format!("part{number}") };
        let (mut routine, begin) =
            self.planned().routine.take().unwrap_or_else(|| (Routine::new(&name), place));
        let made = self.ask(span, |graph| make(&mut routine, graph));
        let planned = self.planned();
        planned.places.resize(routine.len(), place);
        planned.routine = Some((routine, begin));
        made
    }

    /// Ends the current routine.
    pub(super) fn close_routine(&mut self) {
        self.close_routine_for(None);
    }

    /// Ends the current routine, which runs only once in so many repetitions if a number is given.
    fn close_routine_for(&mut self, every: Option<u64>) {
        if let Some((routine, span)) = self.planned().routine.take() {
            let at = self.plan.routines.len();
            self.plan.routines.push(routine);
            let places = std::mem::take(&mut self.planned().places);
            self.plan.places.push(places);
            if std::mem::take(&mut self.planned().backward) {
                self.last_backward = Some(at);
            }
            self.planned().actions.push(Action::Run { routine: at, every, span });
        }
    }

    /// `backward loss`
    pub(super) fn backward(&mut self, loss: ExprId, span: Span) -> Evaluated<Tensor> {
        let (value, at) = (self.expr(loss)?, self.span_of(loss));
        let tensor = self.tensor(&value, at)?;
        let place = self.place(span);
        self.plan.backward.push((tensor, place));
        self.gradients(tensor, span)
    }

    /// Computes gradients in the current routine.
    fn gradients(&mut self, tensor: Tensor, span: Span) -> Evaluated<Tensor> {
        self.with_routine(span, |routine, graph| routine.backward(graph, tensor).map(|_| ()))?;
        let name = self.graph.label_of(tensor);
        let planned = self.planned();
        planned.backward = true;
        planned.fresh.insert(tensor);
        if !planned.losses.iter().any(|(_, known)| *known == tensor) {
            planned.losses.push((name, tensor));
        }
        Ok(tensor)
    }

    /// `minimise loss of net by rule every 4`: computes gradients, and then applies the rule to each
    /// parameter that the loss depends on and that the net has made.
    pub(super) fn minimise(
        &mut self,
        loss: ExprId,
        (of, rule, every): (Option<ExprId>, ExprId, Option<ExprId>),
        span: Span,
    ) -> Evaluated<()> {
        let every = averaged::averaged_over(self, every)?;
        let (value, at) = (self.expr(loss)?, self.span_of(loss));
        let loss = self.tensor(&value, at)?;
        // Parameters keep their values if the loss is not finite: there is nothing to learn from.
        self.with_routine(span, |routine, _| {
            routine.forward(loss).check_finite(loss);
            Ok(())
        })?;
        self.gradients(loss, span)?;
        let (rule, at) = (self.expr(rule)?, self.span_of(rule));
        if let Value::Number(_) | Value::Tensor(_) | Value::Text(_) = rule {
            let message = format!("a rule is needed here, not {}", rule.kind());
            let is_rate = matches!(rule, Value::Number(_));
            let rate = if is_rate { self.quote(at) } else { "0.1".to_string() };
            let help = format!("write `by sgd({rate})`");
            if is_rate && self.place(at) == at {
                let diagnostic = Diagnostic::error(codes::KIND, message, at, "");
                return self.fail(diagnostic.with_fix(help, at, format!("sgd({rate})")));
            }
            return self.wrong(codes::KIND, message, at, help);
        }
        // Parameters that no gradient reaches are not changed.
        let params = broadloom::trainable(&self.graph, loss);
        // What an argument depends on is not known.
        if params.is_empty() && unknown::is_unknown(self) {
            return Err(Reported);
        }
        if params.is_empty() {
            let name = self.graph.label_of(loss);
            let stopped = depends_on_a_parameter(&self.graph, loss);
            let message = match stopped {
                true => format!("no gradient of `{name}` reaches a parameter, so nothing can be learned"),
                false => format!("`{name}` depends on no parameter, so nothing can be learned"),
            };
            let place = self.place(span);
            let mut diagnostic = Diagnostic::error(codes::USE, message, place, "");
            let (label, help) = match stopped {
                true => (
                    "no gradient comes through `stop_gradient`, comparisons, `argmax`, rounding and casts to integers",
                    "leave out `stop_gradient` around what is to be learned; in place of `accuracy`, minimise a loss, such as `mean(cross_entropy(logits, targets))`",
                ),
                false => (
                    "computed from data alone",
                    "a parameter is written in braces, `{w}`, or made by a layer, `linear(10)`",
                ),
            };
            if let Some(made) = self.where_made(&Value::Tensor(loss)).filter(|_| place == span) {
                diagnostic = diagnostic.with_label(made, label);
            }
            return self.fail(diagnostic.with_help(help));
        }
        let params = match of {
            Some(of) => self.made_by(of, loss, params)?,
            None => params,
        };
        let place = self.place(span);
        self.plan.minimised.push((loss, place));
        let Some(every) = every else { return self.apply_rule(&rule, &params, at) };
        let means = averaged::average_gradients(self, &params, every, span)?;
        self.close_routine();
        // Gradients are set, so that those of the routine before need not be kept for the rule.
        self.planned().backward = true;
        averaged::set_gradients(self, &params, &means, span)?;
        self.apply_rule(&rule, &params, at)?;
        averaged::forget_gradients(self, &means, span)?;
        self.planned().backward = false;
        self.close_routine_for(Some(every));
        Ok(())
    }

    /// Applies a rule to each of some parameters.
    fn apply_rule(&mut self, rule: &Value, params: &[Tensor], at: Span) -> Evaluated<()> {
        for param in params {
            let given = vec![Given { name: None, value: Value::Tensor(*param), span: at }];
            self.apply(rule, given, (at, at))?;
        }
        Ok(())
    }

    /// Filters parameters: those that belong to a layer,
    /// to a list of layers, or are named themselves.
    fn made_by(&mut self, of: ExprId, loss: Tensor, params: Vec<Tensor>) -> Evaluated<Vec<Tensor>> {
        let (value, at) = (self.expr(of)?, self.span_of(of));
        let mut made = FxHashSet::default();
        if unknown::is_open(&value) {
            return Err(Reported);
        }
        if !self.parameters_in(&value, &mut made) {
            let message = format!("a layer or a parameter is needed here, not {}", value.kind());
            let help = "write the name of a layer, `let net = linear(10)`, of a parameter, or a list of them";
            return self.wrong(codes::KIND, message, at, help);
        }
        let chosen: Vec<Tensor> = params.iter().copied().filter(|param| made.contains(param)).collect();
        if chosen.is_empty() && unknown::is_unknown(self) {
            return Err(Reported);
        }
        if chosen.is_empty() {
            let message = format!(
                "`{}` depends on no parameter of `{}`, so nothing can be learned",
                self.graph.label_of(loss),
                self.quote(at)
            );
            let names: Vec<String> =
                params.iter().take(8).map(|param| format!("`{}`", self.graph.label_of(*param))).collect();
            let help = Wording::new("it depends on ").name(names.join(", "));
            return self.wrong(codes::USE, message, at, help);
        }
        Ok(chosen)
    }

    /// The parameters that layers have made, in the order in which they were made.
    pub(crate) fn made_inside(&mut self, value: &Value, span: Span) -> Evaluated<Vec<Tensor>> {
        let mut made = FxHashSet::default();
        if unknown::is_open(value) {
            return Err(Reported);
        }
        if !self.parameters_in(value, &mut made) {
            let message = format!("a layer or a tensor is needed here, not {}", value.kind());
            let help = "write `params(loss)`, the parameters of a loss, or `params(net)`, those of a layer";
            return self.wrong(codes::KIND, message, span, help);
        }
        let mut made: Vec<Tensor> = made.into_iter().collect();
        made.sort();
        Ok(made)
    }

    /// Collects the parameters of a value. Returns false
    /// if it is not something that has parameters.
    pub(super) fn parameters_in(&self, value: &Value, made: &mut FxHashSet<Tensor>) -> bool {
        match value {
            Value::Tensor(tensor) if self.params.contains(tensor) => {
                made.insert(*tensor);
                true
            }
            Value::List(items) => items.iter().all(|item| self.parameters_in(item, made)),
            Value::Inference(inner) => self.parameters_in(inner, made),
            Value::Layer(layer) => {
                let inner = layer.kept.made.borrow();
                for value in inner.iter().map(|(_, value)| value).chain(&layer.config) {
                    self.parameters_in(value, made);
                }
                for (.., inner) in layer.kept.inner.borrow().iter() {
                    self.parameters_in(&Value::Layer(inner.clone()), made);
                }
                true
            }
            Value::Builtin(_) | Value::Operation(_) => true,
            _ => false,
        }
    }

    /// The parameters from which a tensor is computed, in the order in which they were made.
    pub(crate) fn params_of(&self, tensor: Tensor) -> Vec<Tensor> {
        let (mut seen, mut waiting) = (FxHashSet::default(), vec![tensor]);
        let mut found = Vec::new();
        while let Some(tensor) = waiting.pop() {
            if !seen.insert(tensor) {
                continue;
            }
            if self.params.contains(&tensor) {
                found.push(tensor);
            }
            if let Some(Node::Operation { operands, .. }) = self.graph.node(tensor) {
                waiting.extend(operands);
            }
        }
        found.sort();
        found
    }

    /// `w =- rate * w.grad`
    pub(super) fn assign(&mut self, assign: &Assign, span: Span) -> Evaluated<()> {
        let mut draft = Draft::default();
        let target = self.target(assign, &mut draft)?;
        let logic = self.logic(assign, span)?;
        let operands = logic.operands();
        draft.apart = operands.is_some();
        let mut value = formula::read(self, assign.value, 0, &mut draft)?;
        if Some(draft.occurrences()) != operands {
            value = draft.together(value);
        }
        if !self.planned().backward {
            self.keep_gradients(draft.tensors.iter().map(|(.., tensor)| *tensor).collect());
        }
        // The parser accepts no other signs.
        let Some(sign) = Sign::read(&assign.sign.text) else { return Err(Reported) };
        let shown: String = self.sources.slice(span).split_whitespace().collect::<Vec<_>>().join(" ");
        let mut assignments = draft.assignments;
        assignments.assign(target, sign, value, &shown);
        let made =
            self.with_routine(span, |routine, graph| routine.assign_all(graph, &logic, assignments))?;
        if let (Target::New(name), Some(tensor)) = (&assign.target, made.first()) {
            self.keep_new(*name, *tensor, span)?;
        }
        Ok(())
    }

    /// The tensor that is assigned to, which joins the draft.
    fn target(&mut self, assign: &Assign, draft: &mut Draft) -> Evaluated<Operand> {
        let target = match &assign.target {
            Target::New(name) => {
                let text = self.text(name.name).to_string();
                draft.assignments.fresh(&text)
            }
            Target::Expr(target)
                if let ExprKind::Name(name) = self.frame.file.expr(*target).kind
                    && self.frame.scope.find(name).is_none() =>
            {
                let spans = (self.span_of(*target), self.span_of(assign.value));
                return foreign::unknown_target(self, name, spans.0, &assign.sign.text, spans.1);
            }
            Target::Expr(target)
                if let ExprKind::Name(name) = self.frame.file.expr(*target).kind
                    && let Some(made) = self.frame.scope.find(name)
                    && !matches!(made, Value::Tensor(_) | Value::Mistake) =>
            {
                return foreign::constant_target(self, *target, &made, assign.value);
            }
            Target::Expr(target) => {
                let value = self.expr(*target)?;
                if let Value::Number(_) = value {
                    return foreign::constant_target(self, *target, &value, assign.value);
                }
                formula::tensor_operand(self, *target, &value, draft)?.0
            }
        };
        if let (Target::Expr(_), Some((.., tensor))) = (&assign.target, draft.tensors.first()) {
            self.stated.insert(*tensor);
        }
        if let (Target::Expr(target), Some((.., tensor))) = (&assign.target, draft.tensors.first())
            && matches!(self.graph.node(*tensor), Some(Node::Operation { .. }))
            && !self.assigned.contains(tensor)
        {
            return habits::computed_target(self, *target, *tensor, assign);
        }
        if let Target::New(name) = &assign.target
            && matches!(self.frame.scope.own(name.name), Some(Value::Tensor(_)))
        {
            let text = self.text(name.name).to_string();
            let message = format!("`{text}` already exists");
            return self.wrong(codes::PARAMETER, message, name.span, "leave out the braces to assign to it");
        }
        if let Target::New(name) = &assign.target {
            draft.new = Some((name.name, target));
        }
        Ok(target)
    }

    /// The logic of an assignment, `by "…"`.
    fn logic(&mut self, assign: &Assign, span: Span) -> Evaluated<WrittenLogic> {
        let Some(logic) = &assign.logic else { return Ok(WrittenLogic::Sign(Logic::Pointwise)) };
        let filled = self.filled(&logic.text, span)?;
        if let Some(sign) = Logic::of_sign(&filled) {
            return Ok(WrittenLogic::Sign(sign));
        }
        match self.read_spec(&filled, By::Spec) {
            Ok(read) => {
                traps::look_at_spec(self, &read, logic.span)?;
                Ok(WrittenLogic::Spec(read))
            }
            Err(_) => Ok(WrittenLogic::Misread(filled)),
        }
    }

    /// Names a tensor that an assignment makes, which lasts from run to run.
    fn keep_new(&mut self, name: Ident, tensor: Tensor, span: Span) -> Evaluated<()> {
        let plain = self.text(name.name).to_string();
        let wanted = match &self.frame.subject {
            Some(subject) => format!("{subject}.{plain}"),
            None => format!("{}{plain}", self.prefix()),
        };
        let free = self.free_name(&wanted);
        self.graph.name(tensor, &free);
        self.assigned.insert(tensor);
        self.with_routine(span, |routine, _| {
            routine.keep(tensor);
            Ok(())
        })?;
        self.name_tensor(tensor, free, name.span);
        self.frame.scope.bind(name.name, Value::Tensor(tensor));
        Ok(())
    }

    /// Returns true inside a `repeat`.
    pub(super) fn in_repeat(&self) -> bool {
        self.bodies.len() > 1
    }

    /// `repeat step in 0..500:`
    pub(super) fn repeat(
        &mut self,
        name: Option<Ident>,
        count: ExprId,
        body: &[Statement],
        span: Span,
    ) -> Evaluated<()> {
        let (value, at) = (self.expr(count)?, self.span_of(count));
        let (from, to) = match value {
            Value::Range(from, to) => (from, to),
            other => match whole(self.number(&other, at)?) {
                Some(count) if count >= 0 => (0, count),
                _ => {
                    return self.wrong(
                        codes::RANGE,
                        "a number of repetitions is whole and not negative",
                        at,
                        "write a whole number, as in `repeat 10:`",
                    );
                }
            },
        };
        self.close_routine();
        let counter = Counter(self.plan.counters);
        self.plan.counters += 1;
        let ident = name.unwrap_or(Ident { name: self.names.intern("repetition"), span });
        let repetitions = to.saturating_sub(from).max(0).cast_unsigned();
        self.bodies.push(Planned {
            counter: Some((counter, ident, None)),
            repetitions,
            ..Planned::default()
        });
        let scope = Scope::new(Some(self.frame.scope.clone()));
        if let Some(name) = name {
            scope.bind(name.name, Value::Position(Arc::new(Position::Counter(counter, from, to))));
        }
        let frame = Frame { scope, ..self.frame.clone() };
        let made = self.within(frame, |eval| eval.block(body));
        self.close_routine();
        let Some(Planned { actions, losses, holds, counter: Some((counter, _, leaf)), .. }) =
            self.bodies.pop()
        else {
            return Err(Reported);
        };
        let span = self.place(span);
        // Which streams it takes batches of is decided when all of the program is known.
        let repeat =
            Repeat { counter, leaf, from, to, body: actions, streams: Vec::new(), losses, holds, span };
        // Values computed before the repetition may have changed.
        self.planned().fresh.clear();
        self.planned().actions.push(Action::Repeat(repeat));
        made.map(|_| ())
    }

    /// The tensor that holds the number of a repetition.
    pub(super) fn counter_leaf(&mut self, counter: Counter, span: Span) -> Evaluated<Tensor> {
        let found =
            self.bodies.iter().position(|body| body.counter.is_some_and(|(known, ..)| known == counter));
        let Some(at) = found else {
            return self.wrong(
                codes::PLACE,
                "the number of a repetition is known only inside of it",
                span,
                "",
            );
        };
        let Some((_, ident, leaf)) = self.bodies[at].counter else { return Err(Reported) };
        if let Some(leaf) = leaf {
            return Ok(leaf);
        }
        let text = self.text(ident.name).to_string();
        let name = self.free_name(&text);
        let leaf = self.ask(span, |graph| graph.data(&name, "|"))?;
        self.bodies[at].counter = Some((counter, ident, Some(leaf)));
        Ok(leaf)
    }

    /// `print "loss", loss every 100`
    pub(super) fn print(&mut self, parts: &[ExprId], every: Option<ExprId>, span: Span) -> Evaluated<()> {
        printed::formats_in_texts(self, parts, every, span)?;
        let mut pieces = Vec::new();
        for part in parts {
            let (file, at) = (self.frame.file.clone(), self.span_of(*part));
            if let ExprKind::Text(text) = &file.expr(*part).kind {
                pieces.push(self.filled_text(*part, text, at)?);
                continue;
            }
            pieces.push(match self.expr(*part)? {
                Value::Text(text) => PrintedPiece::Text(self.filled_for_print(&text, at)?),
                value => self.printed_value(value, at)?,
            });
        }
        let every = match every {
            Some(every) => Some(self.repetitions(every, "leave `every` out to print in each of them")?),
            None => None,
        };
        let tensors: Vec<Tensor> = pieces.iter().flat_map(PrintedPiece::tensors).collect();
        let routine = self.shown_by(&tensors, "print", span);
        let span = self.place(span);
        self.planned().actions.push(Action::Print { routine, pieces, every, span });
        Ok(())
    }

    /// A printed text with the values of the expressions in its braces.
    fn filled_text(&mut self, part: ExprId, text: &str, at: Span) -> Evaluated<PrintedPiece> {
        let file = self.frame.file.clone();
        let Some(inside) = file.filled_in(part) else {
            return Ok(PrintedPiece::Text(self.filled_for_print(text, at)?));
        };
        let (mut pieces, mut from) = (Vec::new(), 0);
        for filled in inside {
            let whole = filled.whole();
            pieces.push(PrintedPiece::Text(text[from..whole.start].to_string()));
            from = whole.end;
            // What is no expression has been reported.
            let value = filled.value.ok_or(Reported)?;
            let at = self.span_of(value);
            let value = self.expr(value)?;
            pieces.push(self.printed_value(value, at)?);
        }
        pieces.push(PrintedPiece::Text(self.filled_for_print(&text[from..], at)?));
        pieces.retain(|piece| !matches!(piece, PrintedPiece::Text(text) if text.is_empty()));
        Ok(PrintedPiece::Filled(pieces))
    }

    /// A value as a part of a printed line.
    fn printed_value(&mut self, value: Value, at: Span) -> Evaluated<PrintedPiece> {
        Ok(match value {
            Value::Text(text) => PrintedPiece::Text(text.to_string()),
            Value::Number(number) => PrintedPiece::Text(crate::show::number(number)),
            Value::Position(position) => PrintedPiece::Position((*position).clone()),
            // A block is written where it is printed; a list that has a name is a list.
            value @ Value::List(_) if has_tensors(&value) && !self.quote(at).starts_with('[') => {
                written::array(self, &value, None, at)?;
                return Err(Reported);
            }
            value => PrintedPiece::Tensor(self.tensor(&value, at)?),
        })
    }

    /// The number of repetitions behind `every`.
    pub(super) fn repetitions(&mut self, every: ExprId, without: &str) -> Evaluated<u64> {
        let (value, at) = (self.expr(every)?, self.span_of(every));
        if let Value::Tensor(_) | Value::Position(_) = value {
            let message = "`every` is followed by a number of repetitions, not by a condition";
            return self.wrong(codes::KIND, message, at, "write `every 10` for each tenth of them");
        }
        let count = self.whole(every)?;
        if count < 1 {
            let message = format!("`every` counts repetitions, from 1 upwards, not {count}");
            return self.wrong(codes::RANGE, message, at, without);
        }
        Ok(count.cast_unsigned())
    }

    /// The number of repetitions of the block around what is being planned.
    pub(super) fn repetitions_around(&self) -> u64 {
        self.bodies.last().map_or(0, |body| body.repetitions)
    }

    /// Makes the last routine that computes gradients
    /// keep those from which these tensors are computed.
    fn keep_gradients(&mut self, mut waiting: Vec<Tensor>) {
        let Some(at) = self.last_backward else { return };
        let (mut seen, mut is_used) = (FxHashSet::default(), false);
        while let Some(tensor) = waiting.pop() {
            if !seen.insert(tensor) {
                continue;
            }
            match self.graph.node(tensor) {
                Some(Node::Operation { operands, .. }) => waiting.extend(operands),
                Some(Node::Leaf { kind: LeafKind::Gradient(_), .. }) => {
                    self.plan.routines[at].keep(tensor);
                    is_used = true;
                }
                _ => {}
            }
        }
        if is_used {
            self.held_since(at);
        }
    }

    /// Notes the loops between a routine that computes gradients and their use here.
    fn held_since(&mut self, routine: usize) {
        for body in self.bodies.iter_mut().rev() {
            let computed = body.actions.iter().position(|action| action.runs(routine));
            for action in body.actions.iter_mut().skip(computed.unwrap_or(0)) {
                if let Action::Repeat(repeat) = action {
                    repeat.holds = true;
                }
            }
            if computed.is_some() {
                break;
            }
            body.holds = true;
        }
    }

    /// A routine for the tensors that have to be computed
    /// before they can be shown, if there are any.
    fn shown_by(&mut self, tensors: &[Tensor], name: &str, span: Span) -> Option<usize> {
        self.close_routine();
        self.keep_gradients(tensors.to_vec());
        let missing: Vec<Tensor> = tensors
            .iter()
            .copied()
            .filter(|tensor| !self.planned().fresh.contains(tensor) && self.is_computed(*tensor))
            .collect();
        if missing.is_empty() {
            return None;
        }
        let number = self.plan.routines.len() + 1;
        let mut routine = Routine::new(&format!("{name}{number}"));
        for tensor in missing {
            routine.forward(tensor);
        }
        let places = vec![self.place(span); routine.len()];
        self.plan.places.push(places);
        self.plan.routines.push(routine);
        Some(self.plan.routines.len() - 1)
    }

    /// Returns true if a tensor has values only when a routine computes them.
    fn is_computed(&self, tensor: Tensor) -> bool {
        !matches!(
            self.graph.node(tensor),
            Some(Node::Leaf {
                kind: LeafKind::Data | LeafKind::Param | LeafKind::State | LeafKind::Gradient(_),
                ..
            })
        ) && !self.assigned.contains(&tensor)
    }

    /// `save y to "y.npy"`
    pub(super) fn save(&mut self, value: ExprId, path: &Quoted, span: Span) -> Evaluated<()> {
        let (value, at) = (self.expr(value)?, self.span_of(value));
        if let Value::Layer(_) | Value::Function(_) = value {
            let name = self.quote(at);
            let message = format!("`{name}` is {}: a tensor is saved", value.kind());
            let help = crate::suggest::saved_parameters(&path.text, "");
            return self.wrong(codes::KIND, message, at, help);
        }
        let tensor = self.tensor(&value, at)?;
        let file = self.filled(&path.text, path.span)?;
        let known = [".npy", ".csv"];
        if !known.iter().any(|ending| file.ends_with(ending)) {
            let message = format!("the format of `{file}` is not known");
            return self.wrong(codes::FILE, message, path.span, "write to a `.npy` or a `.csv` file");
        }
        let routine = self.shown_by(&[tensor], "save", span);
        let path = self.frame.folder.join(file).to_string_lossy().into_owned();
        let span = self.place(span);
        self.planned().actions.push(Action::Save { routine, tensor, path, span });
        Ok(())
    }
}

/// Returns true if a tensor is computed from a parameter, whether or not gradients reach it.
fn depends_on_a_parameter(graph: &Graph, tensor: Tensor) -> bool {
    let is_param = |each: Tensor| matches!(graph.node(each), Some(Node::Leaf { kind: LeafKind::Param }));
    graph.computed_from(&[tensor]).into_iter().any(is_param)
}

/// The name of a statement that happens when the program runs, and what to write for it in a turn of a scan.
pub(super) fn happens(kind: &StatementKind) -> Option<(&'static str, &'static str)> {
    const ELSEWHERE: &str = "write it before the scan, or behind it";
    const COLLECTED: &str = "let the turn give it in a list, behind what is carried: `[next, seen]`; `scan` has the values of all turns";
    const CARRIED: &str = "let the scan carry what changes: a turn is given it and gives back the next one, `def f(x, total) = total + x`";
    Some(match kind {
        StatementKind::Assign(_) => ("an assignment", CARRIED),
        StatementKind::Print { .. } => ("`print`", COLLECTED),
        StatementKind::Save { .. } => ("`save`", COLLECTED),
        StatementKind::Repeat { .. } => ("`repeat`", ELSEWHERE),
        StatementKind::Backward(_) => ("`backward`", ELSEWHERE),
        StatementKind::Minimise { .. } => ("`minimise`", ELSEWHERE),
        _ => return None,
    })
}
