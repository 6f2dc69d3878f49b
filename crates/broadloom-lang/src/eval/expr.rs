//! Expressions.

use std::rc::Rc;
use std::sync::Arc;

use broadloom::{Along, Kind, PartialAxis, Pointwise, SliceIndex, Tensor, concat};
use broadloom_diagnostics::{Diagnostic, Fact, Span};

use super::act::Act;
use super::advice::{foreign, habits};
use super::needs::{self, NeedKind};
use super::unknown::{has_elements, is_open};
use super::{Eval, Evaluated, Frame, Reported, act, dim, elements, path, report, streams, unknown};
use crate::arithmetic::{fold, operation};
use crate::codes;
use crate::language_function::LanguageFunction;
use crate::position::{Position, whole};
use crate::program::Piped;
use crate::size::{Size, is_arithmetic};
use crate::stream::HAS_STREAMS;
use crate::suggest;
use crate::syntax::ast::{Binary, ExprId, ExprKind, Ident, Name, Unary};
use crate::value::{Scope, Value};

impl Eval<'_> {
    /// Evaluates an expression.
    pub(crate) fn expr(&mut self, id: ExprId) -> Evaluated<Value> {
        let file = self.frame.file.clone();
        let expr = file.expr(id);
        let span = expr.span;
        match &expr.kind {
            ExprKind::Name(name) => self.lookup(*name, span),
            ExprKind::Number(number) => Ok(Value::Number(*number)),
            ExprKind::Text(text) if text.contains('{') => Ok(Value::Text(self.filled(text, span)?.into())),
            ExprKind::Text(text) => Ok(Value::Text((&**text).into())),
            ExprKind::Missing => Err(Reported),
            ExprKind::Binary(..) => self.deeper(span, |eval| eval.chain(id)),
            _ => self.deeper(span, |eval| eval.compound(id, &expr.kind, span)),
        }
    }

    fn compound(&mut self, id: ExprId, kind: &ExprKind, span: Span) -> Evaluated<Value> {
        match kind {
            ExprKind::List(items) => self.list(items),
            ExprKind::Each { item, name, list } => self.each(*item, *name, *list),
            ExprKind::Range(low, high) => {
                if unknown::is_unknown(self) && (is_open(&self.expr(*low)?) || is_open(&self.expr(*high)?)) {
                    return Ok(Value::Open);
                }
                let (low, high) = (self.whole(*low)?, self.whole(*high)?);
                Ok(Value::Range(low, high))
            }
            ExprKind::Param(param) => self.param(id, param, span),
            ExprKind::Unary(sign, inner) => {
                let value = self.expr(*inner)?;
                self.unary(*sign, &value, span)
            }
            ExprKind::Call { callee, args } => self.call(id, *callee, args, span),
            ExprKind::Field(of, field) => self.field_of(id, *of, *field, span),
            ExprKind::Index(of, index) => self.element(*of, *index, span),
            ExprKind::If { condition, yes, no } => match self.side_of([*condition, *yes, *no], span)? {
                Some(chosen) => self.expr(chosen),
                None => Ok(unknown::both_sides(self, [*yes, *no])),
            },
            ExprKind::Name(_)
            | ExprKind::Number(_)
            | ExprKind::Text(_)
            | ExprKind::Binary(..)
            | ExprKind::Missing => Err(Reported),
        }
    }

    fn list(&mut self, items: &[ExprId]) -> Evaluated<Value> {
        let mut values = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let Ok(value) = self.expr(*item) else {
                return Err(self.look_at(&mut items[at + 1..].iter().copied()));
            };
            values.push(value);
        }
        Ok(Value::List(values.into()))
    }

    fn field_of(&mut self, id: ExprId, of: ExprId, field: Ident, span: Span) -> Evaluated<Value> {
        if let Some(reported) = foreign::prefixed(self, id, None, None) {
            return Err(reported);
        }
        let mut value = unknown::as_tensor(self.expr(of)?);
        if matches!(value, Value::Open) && self.text(field.name) == "T" {
            value = Value::Tensor(self.tensor(&value, self.span_of(of))?);
        }
        if is_open(&value) {
            return Ok(Value::Open);
        }
        match foreign::method(self, &value, of, field, None) {
            Some(reported) => Err(reported),
            None => self.field(&value, field, span),
        }
    }

    fn element(&mut self, of: ExprId, index: ExprId, span: Span) -> Evaluated<Value> {
        let (value, position) = (self.expr(of)?, self.expr(index)?);
        if is_open(&value) || is_open(&position) {
            let parts = [(value, self.span_of(of)), (position, self.span_of(index))];
            return unknown::element(self, parts, span);
        }
        // Where a body is walked aside, an argument of the configuration is a size, and it may be a list.
        if matches!(value, Value::Size(_)) && self.aside.is_some() && self.known(&value).is_none() {
            needs::note(self, &value, NeedKind::List);
            return self.wrong(codes::KIND, "a size has no items", span, "only lists and tensors have them");
        }
        if has_elements(&value) {
            self.check_index(&position, self.span_of(index))?;
        }
        if let Value::Tensor(tensor) = position
            && let Some(reported) = habits::selected(self, tensor, (of, index))
        {
            return Err(reported);
        }
        self.index(&value, &position, (of, index), span)
    }

    /// The side of an `if` that its condition chooses, if that is not open.
    fn side_of(&mut self, [condition, yes, no]: [ExprId; 3], span: Span) -> Evaluated<Option<ExprId>> {
        let value = self.expr(condition)?;
        if is_open(&value) {
            return Ok(None);
        }
        if let Value::Tensor(_) = value {
            return self.if_of_tensor([condition, yes, no], span);
        }
        match self.number(&value, self.span_of(condition)) {
            Ok(number) => Ok(Some(if number != 0.0 { yes } else { no })),
            Err(Reported) => {
                needs::look_further(self, [yes, no].map(|side| move |eval: &mut Eval<'_>| eval.expr(side)));
                Err(Reported)
            }
        }
    }

    /// Reports a choice that depends on a tensor.
    fn if_of_tensor<T>(&mut self, parts: [ExprId; 3], span: Span) -> Evaluated<T> {
        needs::note_condition(self, parts[0]);
        let at = self.span_of(parts[0]);
        let quoted = parts.map(|part| self.quote(self.span_of(part)));
        let help = format!("to choose element by element, write `where({})`", quoted.join(", "));
        let [condition, yes, no] = parts.map(|part| self.sources.slice(self.span_of(part)));
        let meant = format!("where({condition}, {yes}, {no})");
        let diagnostic = self.condition_of_tensor(at);
        self.fail(match self.place(at) == at {
            true => diagnostic.with_fix(help, span, meant),
            false => diagnostic.with_help(help),
        })
    }

    /// The mistake of a condition that is a tensor.
    pub(super) fn condition_of_tensor(&self, at: Span) -> Diagnostic {
        let message = "`if` is decided when the program is built, and a tensor is not known then";
        Diagnostic::error(codes::KIND, message, self.place(at), "").with_fact(Fact::Impossible)
    }

    /// Looks at what stands beside a mistake, so that all mistakes are reported at once. Apart, because calls nest deeply.
    pub(super) fn look_at(&mut self, rest: &mut dyn Iterator<Item = ExprId>) -> Reported {
        for expr in rest {
            if !self.goes_on() {
                break;
            }
            let (Ok(_) | Err(Reported)) = self.expr(expr);
        }
        Reported
    }

    /// Returns true if what stands beside the last mistake is worth a look: sizes that do not fit are often one mistake.
    fn goes_on(&self) -> bool {
        let last = self.diagnostics.last();
        last.is_some_and(|last| !last.code.starts_with("E03"))
    }

    /// Evaluates operators that group from the left without recursion: sums may be long.
    fn chain(&mut self, id: ExprId) -> Evaluated<Value> {
        let file = self.frame.file.clone();
        let mut steps = Vec::new();
        let mut left = id;
        while let ExprKind::Binary(sign, a, b) = &file.expr(left).kind {
            steps.push((*sign, *b, file.expr(left).span));
            left = *a;
        }
        let mut value = self.expr(left);
        let mut at = file.expr(left).span;
        loop {
            let Ok(before) = value else {
                return Err(self.look_at(&mut steps.into_iter().rev().map(|(_, right, _)| right)));
            };
            let Some((sign, right, span)) = steps.pop() else { return Ok(before) };
            value = self.expr(right).and_then(|other| match sign {
                Binary::Pipe => {
                    let from = before.clone();
                    let made = self.pipe(before, &other, (at, file.expr(right).span), span)?;
                    self.note_piped(&from, &made, span);
                    Ok(made)
                }
                _ => self.binary(sign, &before, &other, (at, file.expr(right).span), span),
            });
            at = span;
        }
    }

    pub(super) fn lookup(&mut self, name: Name, span: Span) -> Evaluated<Value> {
        match self.find(name) {
            Some(Value::Mistake) => Err(Reported),
            Some(Value::Builtin(builtin)) if builtin.get().function == LanguageFunction::Training => {
                if let Some(aside) = &mut self.aside {
                    aside.asks_training = true;
                    if aside.unknown.is_some() {
                        return Ok(Value::Open);
                    }
                }
                Ok(Value::Number(f64::from(!self.inference)))
            }
            Some(value) => Ok(value),
            None => Err(foreign::unknown_name(self, name, span, false)),
        }
    }

    fn each(&mut self, item: ExprId, name: Ident, list: ExprId) -> Evaluated<Value> {
        let list = self.items(list)?;
        if let [Value::Open] = list[..] {
            return Ok(unknown::one_item(self, name, item));
        }
        let turns = self.frame.turns.clone();
        let mut items = Vec::new();
        for (turn, value) in list.into_iter().enumerate() {
            self.step(name.span)?;
            let mut path = turns.to_vec();
            path.push(turn as u32);
            let scope = Scope::new(Some(self.frame.scope.clone()));
            scope.bind(name.name, value);
            let frame = Frame { scope, turns: path.into(), ..self.frame.clone() };
            items.push(self.within(frame, |eval| eval.expr(item))?);
        }
        Ok(Value::List(items.into()))
    }

    /// The value of an expression as a whole number that is known now.
    pub(super) fn whole(&mut self, expr: ExprId) -> Evaluated<i64> {
        let (value, span) = (self.expr(expr)?, self.span_of(expr));
        let number = self.number(&value, span)?;
        match whole(number) {
            Some(number) => Ok(number),
            None => {
                let (message, written) =
                    (format!("a whole number is needed here, not {number}"), self.quote(span));
                let help = match written.contains('/') {
                    true => format!("`/` keeps fractions: write `floor({written})`"),
                    false => String::new(),
                };
                self.wrong(codes::RANGE, message, span, help)
            }
        }
    }

    fn unary(&mut self, sign: Unary, value: &Value, span: Span) -> Evaluated<Value> {
        let operation = match (sign, value) {
            (_, Value::Open | Value::OpenNumber(_)) => return unknown::number(self, span),
            (Unary::Minus, Value::Number(number)) => return Ok(Value::Number(-number)),
            (Unary::Not, Value::Number(number)) => return Ok(Value::Number(f64::from(*number == 0.0))),
            (Unary::Minus, _) => Pointwise::Neg,
            (Unary::Not, _) => Pointwise::Not,
        };
        let negative = || arithmetic(Binary::Sub, &Value::Number(0.0), value);
        if sign == Unary::Minus
            && let Some(size) = negative().filter(|size| dim::is_decided(self, size))
        {
            return Ok(Value::Size(Rc::new(size)));
        }
        if unknown::may_be_known(self, value) {
            return unknown::number(self, span);
        }
        let tensor = self.tensor(value, span)?;
        Ok(Value::Tensor(act::carry_out(self, Act::Pointwise(operation), &[tensor], span)?))
    }

    /// Applies an operator to two values; `spans` are theirs.
    fn binary(
        &mut self,
        sign: Binary,
        a: &Value,
        b: &Value,
        spans: (Span, Span),
        span: Span,
    ) -> Evaluated<Value> {
        if let (Value::Number(a), Value::Number(b)) = (a, b) {
            return Ok(Value::Number(fold(sign, *a, *b)));
        }
        if is_open(a) || is_open(b) {
            return match unknown::binary(self, sign, [(a, spans.0), (b, spans.1)])? {
                Some([a, b]) => self.binary(sign, &a, &b, spans, span),
                None => unknown::number(self, span),
            };
        }
        needs::refuse_texts(self, sign, [(a, spans.0), (b, spans.1)])?;
        if let Some(value) =
            scaled(sign, a, b).or_else(|| counted(sign, a, b)).or_else(|| compared(sign, a, b))
        {
            self.note_size(&value, |recorder| recorder.arithmetic(sign, a, b));
            return Ok(value);
        }
        // Sizes that are already known are numbers.
        if let (Some(a), Some(b)) = (self.known(a), self.known(b)) {
            return Ok(Value::Number(fold(sign, a, b)));
        }
        if let Some(size) = arithmetic(sign, a, b).filter(|size| dim::is_decided(self, size)) {
            return Ok(Value::Size(Rc::new(size)));
        }
        if let Some(value) = self.compared_sizes(sign, a, b, spans)? {
            return Ok(value);
        }
        if unknown::may_be_known(self, a) && unknown::may_be_known(self, b) {
            return unknown::number(self, span);
        }
        self.joined_lists(sign, a, b, span)?;
        let (a, b) = (self.tensor(a, spans.0)?, self.tensor(b, spans.1)?);
        let act = operation(sign).map_or(Act::Compose, Act::Pointwise);
        Ok(Value::Tensor(act::carry_out(self, act, &[a, b], span)?))
    }

    /// Reports `[1, 2] + [3]`, which joins lists elsewhere.
    fn joined_lists(&mut self, sign: Binary, a: &Value, b: &Value, span: Span) -> Evaluated<()> {
        let (Binary::Add, Value::List(a), Value::List(b)) = (sign, a, b) else { return Ok(()) };
        let plain = |items: &[Value]| items.iter().all(|item| matches!(item, Value::Number(_)));
        if a.len() == b.len() || !plain(a) || !plain(b) {
            return Ok(());
        }
        let message = "`+` adds numbers element by element, and does not join lists";
        let all: Vec<String> =
            a.iter().chain(b.iter()).filter_map(|item| self.known(item)).map(crate::show::number).collect();
        let help = match all.len() <= 8 {
            true => format!("write one list: `[{}]`", all.join(", ")),
            false => "write all items in one list".to_string(),
        };
        self.wrong(codes::KIND, message, span, help)
    }

    /// Decides a comparison of sizes now, if only the numbers of named sizes are missing.
    fn compared_sizes(
        &mut self,
        sign: Binary,
        a: &Value,
        b: &Value,
        spans: (Span, Span),
    ) -> Evaluated<Option<Value>> {
        let is_size = |value: &Value| match value {
            Value::Number(_) => true,
            Value::Size(size) => dim::is_decided(self, size),
            _ => false,
        };
        if is_arithmetic(sign) || !is_size(a) || !is_size(b) {
            self.note_compared(sign, [a, b]);
            return Ok(None);
        }
        let (a, b) = (self.number(a, spans.0)?, self.number(b, spans.1)?);
        Ok(Some(Value::Number(fold(sign, a, b))))
    }

    /// Notes that a body compares sizes that are known where it is applied.
    fn note_compared(&mut self, sign: Binary, sides: [&Value; 2]) {
        let is_size = |value: &Value| matches!(value, Value::Number(_) | Value::Size(_));
        if let Some(aside) = &mut self.aside
            && !is_arithmetic(sign)
            && sides.into_iter().all(is_size)
        {
            aside.asks_size = true;
        }
    }

    /// An expression whose value is a size: arithmetic on sizes stays arithmetic, whether or not they are known.
    pub(super) fn arithmetic_of_sizes(&mut self, id: ExprId) -> Evaluated<Value> {
        let file = self.frame.file.clone();
        let ExprKind::Binary(sign, a, b) = file.expr(id).kind else { return self.expr(id) };
        if !is_arithmetic(sign) {
            return self.expr(id);
        }
        let (x, y) = (self.arithmetic_of_sizes(a)?, self.arithmetic_of_sizes(b)?);
        match arithmetic(sign, &x, &y).filter(|size| !size.captured().is_empty()) {
            Some(size) => {
                let size = Value::Size(Rc::new(size));
                self.note_size(&size, |recorder| recorder.arithmetic(sign, &x, &y));
                Ok(size)
            }
            None => self.binary(sign, &x, &y, (self.span_of(a), self.span_of(b)), self.span_of(id)),
        }
    }

    fn pipe(&mut self, value: Value, to: &Value, spans: (Span, Span), span: Span) -> Evaluated<Value> {
        self.apply(to, vec![super::given::Given { name: None, value, span: spans.0 }], (spans.1, span))
    }

    /// Remembers the tensor that a stage of a pipe has made, if the program writes the pipe.
    pub(super) fn note_piped(&mut self, from: &Value, made: &Value, span: Span) {
        let Value::Tensor(after) = *made else { return };
        if self.library.contains(&span.source) {
            return;
        }
        let before = if let Value::Tensor(tensor) = from { Some(*tensor) } else { None };
        self.piped.push(Piped { span, before, after });
        self.note_stage(before, after, span);
    }

    pub(super) fn field(&mut self, value: &Value, field: Ident, span: Span) -> Evaluated<Value> {
        let text = self.text(field.name).to_string();
        match value {
            Value::Module(scope) => match scope.own(field.name) {
                Some(Value::Mistake) => Err(Reported),
                Some(value) => {
                    self.note_outside(&value);
                    Ok(value)
                }
                None => {
                    let known = scope.all();
                    let near = suggest::nearest(&text, known.iter().map(|name| self.names.text(*name)));
                    let help = near.map_or(String::new(), |near| format!("did you mean `{near}`?"));
                    self.wrong(
                        codes::FIELD,
                        format!("the module has nothing called `{text}`"),
                        field.span,
                        help,
                    )
                }
            },
            Value::Layer(layer) => {
                self.no_replay();
                path::part(self, layer, field)
            }
            Value::Stream(stream, None) if HAS_STREAMS => streams::array_of_stream(self, *stream, field),
            Value::Inference(inner) => self.field(inner, field, span),
            Value::Tensor(tensor) => match text.as_str() {
                "grad" => Ok(Value::Tensor(self.ask(span, |graph| graph.gradient(*tensor))?)),
                "T" => Ok(Value::Tensor(self.ask(span, |graph| graph.transpose(*tensor))?)),
                _ => self.size_in(*tensor, field.name, span),
            },
            Value::Open => Ok(Value::Open),
            Value::OpenNumber(tensor) => self.field(&Value::Tensor(*tensor), field, span),
            Value::Mistake => Err(Reported),
            other => path::no_fields(self, other, field, span),
        }
    }

    /// The size that a name stands for in the spec that has made a tensor.
    pub(super) fn size_in(&mut self, tensor: Tensor, name: Name, span: Span) -> Evaluated<Value> {
        let (text, label) = (self.names.text(name), dim::free_label(self, name));
        let graph = self.graph.quiet();
        let captured = graph.captured(tensor, text);
        let captured = captured.or_else(|error| graph.captured(tensor, &label).map_err(|_| error));
        let captured = match captured {
            Err(error) if matches!(self.frame.scope.find(name), Some(Value::Size(_))) => {
                let text = self.text(name).to_string();
                let diagnostic = report::diagnosed(&error, self.place(span), &self.origins);
                return self.fail(diagnostic.with_help(format!("`{text}` is a size here: write `{text}`")));
            }
            captured => self.ask_quietly(span, |_| captured)?,
        };
        let size = Value::Size(Rc::new(captured.into()));
        self.note_size(&size, |recorder| recorder.size_in(tensor, name, span));
        Ok(size)
    }

    /// Reports what stands in brackets and is no index of anything.
    pub(super) fn check_index(&mut self, index: &Value, span: Span) -> Evaluated<()> {
        if has_elements(index) {
            return Ok(());
        }
        let message = format!("`{}` is {}, and no index", self.quote(span), index.kind());
        let help = "an index is a number, `x[0]`, a range, `x[2..5]`, or a tensor of numbers";
        self.wrong(codes::KIND, message, span, help)
    }

    /// An element of a value; the expressions for both are for messages.
    fn index(
        &mut self,
        value: &Value,
        index: &Value,
        written: (ExprId, ExprId),
        span: Span,
    ) -> Evaluated<Value> {
        if let Value::List(items) = value {
            if let Value::Range(from, to) = index {
                return self.part_of_list(items, (*from, *to), span);
            }
            let at = self.number(index, span)?;
            let found = whole(at).and_then(|at| usize::try_from(at).ok()).and_then(|at| items.get(at));
            let Some(item) = found else {
                let message = format!("there is no item {at} in a list of {}", items.len());
                let help = match items.len() {
                    0 => "the list is empty".to_string(),
                    length => format!("items are counted from 0: the last one is {}", length - 1),
                };
                return self.wrong(codes::RANGE, message, span, help);
            };
            return Ok(item.clone());
        }
        if let Value::Stream(..) = value {
            let of = self.quote(self.span_of(written.0));
            let message = "a stream of batches has no index: each repetition takes the next batch";
            let help = format!("declare data that has a batch of it at a time, `data x = {of}`");
            return self.wrong(codes::KIND, message, span, help);
        }
        let tensor = self.tensor(value, span)?;
        let position = match index {
            Value::Position(position) => position.clone(),
            Value::Range(from, to) => return self.cut(tensor, Along::first(Kind::Batch), (*from, *to), span),
            Value::Tensor(_) | Value::List(_) | Value::Numbers(_) | Value::Array(_) => {
                return elements::elements(self, tensor, index, (written, span));
            }
            _ => Arc::new(Position::Number(self.number(index, span)?)),
        };
        let Some((low, high)) = position.bounds().filter(|(low, _)| *low >= 0) else {
            let message = "an index is a whole number from 0 upwards";
            let back = position.bounds().map(|(low, _)| low).filter(|low| *low < 0);
            let size = self.graph.shape(tensor).rows[0]
                .lead
                .first()
                .and_then(|axis| i64::try_from(axis.size()?).ok());
            let help = match (back, size) {
                (Some(back), Some(size)) if size + back >= 0 => {
                    format!("the first element is number 0, and the last of {size} is number {}", size - 1)
                }
                _ => "the first element is number 0".to_string(),
            };
            return self.wrong(codes::RANGE, message, span, help);
        };
        if let Position::Number(_) = *position {
            let slice = self.ask(span, |graph| graph.slice(tensor, SliceIndex::At(low as u64)))?;
            self.show_as_written(slice, span, "x[…]");
            return Ok(Value::Tensor(slice));
        }
        // The axis must be at least as long as the greatest
        // index, even if its size becomes known later.
        let size = self.graph.shape(tensor).rows[0].lead.first().and_then(PartialAxis::size);
        let size = size.and_then(|size| i64::try_from(size).ok());
        if let Some(size) = size.filter(|size| high >= *size) {
            let [of, index] = [written.0, written.1].map(|part| self.quote(self.span_of(part)));
            let message =
                format!("`{index}` goes up to {high}, and `{of}` has {size} positions, 0 to {}", size - 1);
            let mut diagnostic = Diagnostic::error(codes::ARITHMETIC, message, self.place(span), "");
            if let Some(made) = self.where_made(value).filter(|made| *made != span) {
                diagnostic =
                    diagnostic.with_label(made, format!("{size} along the first batch axis of `{of}`"));
            }
            let help = format!(
                "repeat as often as there are positions, `0..{size}`, or begin again: `{of}[{index} % {size}]`"
            );
            return self.fail(diagnostic.with_help(help));
        }
        let slice = self.ask(span, |graph| {
            graph.slice(tensor, SliceIndex::At(high as u64))?;
            graph.slice(tensor, SliceIndex::Run { range: None })
        })?;
        self.show_as_written(slice, span, "x[…]");
        self.plan.slices.push((slice, (*position).clone()));
        Ok(Value::Tensor(slice))
    }

    /// `list[2..5]`: some items of a list, as a list.
    fn part_of_list(&mut self, items: &Rc<[Value]>, (from, to): (i64, i64), span: Span) -> Evaluated<Value> {
        let place = |at: i64| usize::try_from(at).ok();
        let part = place(from).zip(place(to)).and_then(|(from, to)| items.get(from..to));
        match part {
            Some(part) => Ok(Value::List(part.into())),
            None => {
                let message = format!("`{from}..{to}` is no part of a list of {}", items.len());
                let help =
                    format!("all items are `0..{}`; the end of a range is not part of it", items.len());
                self.wrong(codes::RANGE, message, span, help)
            }
        }
    }

    /// `x[2..5]`: some elements along an axis, for `x[2..5]` the first batch axis.
    pub(crate) fn cut(
        &mut self,
        tensor: broadloom::Tensor,
        along: Along,
        (from, to): (i64, i64),
        span: Span,
    ) -> Evaluated<Value> {
        if from < 0 || to <= from {
            let message = format!("from {from} up to {to} there is no element");
            return self.wrong(codes::RANGE, message, span, "the end of a range is not part of it");
        }
        let Some(spec) = concat::part(from as u64, along) else { return Err(Reported) };
        let before = self.diagnostics.len();
        let part = self.ask(span, |graph| {
            let part = graph.einsum(&spec, &[tensor]).and_then(|part| {
                let size = graph.captured(part, "part")?;
                graph.set(size, (to - from) as u64)?;
                Ok(part)
            });
            // Usually the last element does not exist, and that error is clearer without the spec.
            let last = SliceIndex::At((to - 1) as u64);
            part.map_err(|error| match along == Along::first(Kind::Batch) {
                true => graph.slice(tensor, last).err().unwrap_or(error),
                false => error,
            })
        });
        let has_axis = {
            let batch = &self.graph.shape(tensor).rows[0];
            batch.open || !batch.lead.is_empty() || along != Along::first(Kind::Batch)
        };
        if let (Err(_), Some(diagnostic)) = (&part, self.diagnostics.get_mut(before).filter(|_| has_axis)) {
            let help = format!("`{from}..{to}` goes up to {}: its end is not part of it", to - 1);
            diagnostic.help = vec![help.into()];
        }
        let part = part?;
        self.show_as_written(part, span, "x[…]");
        Ok(Value::Tensor(part))
    }
}

/// A whole number times a captured size stays a size.
fn scaled(sign: Binary, a: &Value, b: &Value) -> Option<Value> {
    let (Value::Number(number), Value::Size(_)) = (match (a, b) {
        (Value::Number(_), Value::Size(_)) => (a, b),
        (Value::Size(_), Value::Number(_)) => (b, a),
        _ => return None,
    }) else {
        return None;
    };
    let is_multiple = sign == Binary::Mul && whole(*number).is_some_and(|times| times > 0);
    arithmetic(sign, a, b).filter(|_| is_multiple).map(|size| Value::Size(Rc::new(size)))
}

/// Arithmetic on sizes and numbers, as a size.
pub(super) fn arithmetic(sign: Binary, a: &Value, b: &Value) -> Option<Size> {
    let size = |value: &Value| match value {
        Value::Size(size) => Some(size.clone()),
        Value::Number(number) => Some(Rc::new(Size::from(*number))),
        _ => None,
    };
    Size::of(sign, &size(a)?, &size(b)?)
}

/// Compares two settings: `padding == "same"`, `size == inferred`.
fn compared(sign: Binary, a: &Value, b: &Value) -> Option<Value> {
    let same = match (a, b) {
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::Nothing, Value::Nothing) => true,
        (Value::Text(_) | Value::Nothing, _) | (_, Value::Text(_) | Value::Nothing) => false,
        _ => return None,
    };
    match sign {
        Binary::Equal => Some(Value::Number(f64::from(same))),
        Binary::NotEqual => Some(Value::Number(f64::from(!same))),
        _ => None,
    }
}

/// Arithmetic on the number of a repetition stays a position.
fn counted(sign: Binary, a: &Value, b: &Value) -> Option<Value> {
    let position = |value: &Value| match value {
        Value::Position(position) => Some(position.clone()),
        Value::Number(number) => Some(Arc::new(Position::Number(*number))),
        _ => None,
    };
    use Binary::{Add, Div, FloorDiv, Mod, Mul, Sub};
    let arithmetic = matches!(sign, Add | Sub | Mul | Div | FloorDiv | Mod);
    let (a, b) = (position(a)?, position(b)?);
    arithmetic.then(|| Value::Position(Arc::new(Position::Binary(sign, a, b))))
}
