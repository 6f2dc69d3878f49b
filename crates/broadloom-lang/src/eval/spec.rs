//! Operations by a spec, captured sizes, and operations that programs define.

use std::rc::Rc;

use broadloom::{Captured, Multiples, Operation, SpecOptions, Tensor};
use broadloom_diagnostics::{Diagnostic, Span};
use broadloom_spec::{Axis, AxisId, AxisKind, Mode, Shape, Spec, WrittenSpec, parse_spec, parse_thin_arrow};

use super::act::Act;
use super::{Eval, Evaluated, Reported, act, dim, report, traps, unknown};
use crate::codes;
use crate::eval::given::{Call, Given};
use crate::language_function::LanguageFunction;
use crate::position::whole;
use crate::syntax::ast::{Binary, Body, ExprId, ExprKind, Ident, StatementKind};
use crate::syntax::braces::{TextPart, text_parts};
use crate::value::Value;

/// The greatest length of a text after others are filled into it.
const LONGEST_TEXT: usize = 100_000;

/// The kinds of text that may stand before the operands of a call.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum By {
    /// A spec.
    Spec,
    /// A spec, or the shape of one operand, whose names are accumulated over.
    Names,
}

impl Eval<'_> {
    /// An operation by a spec, which is the first argument, on tensors.
    pub(crate) fn by_spec(
        &mut self,
        call: &Call,
        by: By,
        options: SpecOptions<'static>,
    ) -> Evaluated<Tensor> {
        let (spec, operands) = self.spec_and_operands(call, by)?;
        act::carry_out(self, Act::BySpec(spec, options), &operands, call.span)
    }

    /// The spec, read and filled in, and the operands of a call.
    pub(crate) fn spec_and_operands(
        &mut self,
        call: &Call,
        by: By,
    ) -> Evaluated<(Rc<WrittenSpec>, Vec<Tensor>)> {
        let plain: Vec<&Given> = call.given.iter().filter(|given| given.name.is_none()).collect();
        let Some((first, rest)) = plain.split_first() else {
            let message = format!("`{}` needs a spec and tensors", call.name());
            let help = format!("write `{}(\"i j => j\", x)`", call.name());
            return self.wrong(codes::ARGUMENTS, message, call.span, help);
        };
        if let (Value::Tensor(_), Some(text)) =
            (&first.value, rest.iter().find(|each| matches!(each.value, Value::Text(_))))
        {
            let message = format!("the spec of `{}` comes first, and then the tensors", call.name());
            let others = call.given.iter().filter(|each| each.span != text.span);
            let others: Vec<String> = others
                .map(|each| self.quote(each.name.map_or(each.span, |name| name.span.to(each.span))))
                .collect();
            let written = format!("{}({}, {})", call.name(), self.quote(text.span), others.join(", "));
            let instead = (call.whole(), written);
            return self.wrong_instead(codes::ARGUMENTS, message, text.span, instead, "");
        }
        if let Value::Tensor(_) = &first.value {
            let message = format!("`{}` needs a spec before its tensors", call.name());
            let help = format!("write `{}(\"i j => j\", {})`", call.name(), self.quote(first.span));
            return self.wrong(codes::ARGUMENTS, message, first.span, help);
        }
        let text = self.words(&first.value, first.span)?;
        let filled = self.filled(&text, first.span)?;
        let read = self.read_spec(&filled, by);
        if by == By::Names
            && read.as_ref().map_or(true, |read| has_inputs(read))
            && let Some(Given { value: Value::Tensor(tensor), .. }) = rest.first()
            && self.has_no_inputs(*tensor)
            && let Some(meant) = parse_thin_arrow(&filled)
        {
            let message = "`->` comes between inputs and outputs, and the result of a spec follows `=>`";
            let operands = written_operands(&meant, &filled);
            let written = format!("{operands} => {}", result_with_rows(&meant, &filled));
            let inside =
                Span { start: first.span.start + 1, end: first.span.end.saturating_sub(1), ..first.span };
            let place = Some(inside).filter(|inside| self.sources.slice(*inside) == filled);
            return self.wrong_instead(codes::NOTATION, message, first.span, (place, written), "");
        }
        let read = match read {
            Ok(read) => read,
            Err(mut error) => {
                // In NumPy's notation all axes of an operand stand side by side.
                if let Some(meant) = error.rewrite.as_deref().and_then(|meant| self.with_batches(meant, rest))
                {
                    error.help = Some(format!("write `{meant}`: batch axes are written before `|`").into());
                    error.rewrite = Some(meant.into());
                }
                return self.misread(&text, &filled, &error, first.span);
            }
        };
        let parsed = read.spec();
        if parsed.operands.len() != rest.len() {
            let (wanted, found) = (parsed.operands.len(), rest.len());
            let plural = if wanted == 1 { "" } else { "s" };
            let are = if found == 1 { "is" } else { "are" };
            let message = format!("the spec has {wanted} operand{plural}, and {found} {are} given");
            let help = match parsed.operands.get(found) {
                Some(missing) => format!("give a tensor for `{}`, too", missing.span.slice(&filled).trim()),
                None => format!(
                    "operands are separated by `;` in a spec, and there is only `{}`",
                    written_operands(parsed, &filled)
                ),
            };
            return self.wrong(codes::ARGUMENTS, message, call.span, help);
        }
        traps::look_at_spec(self, &read, first.span)?;
        let operands =
            rest.iter().map(|given| self.tensor(&given.value, given.span)).collect::<Result<_, _>>()?;
        Ok((read, operands))
    }

    /// Reads a spec. Functions that are applied again have the same ones again, so each is parsed once.
    pub(super) fn read_spec(&mut self, text: &str, by: By) -> Result<Rc<WrittenSpec>, broadloom_spec::Error> {
        let is_shape = by == By::Names && !text.contains("=>");
        if let Some(known) = self.read_specs[usize::from(is_shape)].get(text) {
            return Ok(known.clone());
        }
        let read = Rc::new(if is_shape { WrittenSpec::read_over(text)? } else { WrittenSpec::read(text)? });
        self.read_specs[usize::from(is_shape)].insert(text.into(), read.clone());
        Ok(read)
    }

    /// Replaces `{name}` in a text by the number or the text of that name.
    pub(crate) fn filled(&mut self, text: &str, span: Span) -> Evaluated<String> {
        self.filled_by(text, span, |eval, name, value| {
            let number = eval.number(value, span)?;
            match whole(number).filter(|number| *number >= 0) {
                Some(number) => Ok(number.to_string()),
                None => {
                    let message = format!("`{name}` is {number}, and a spec has whole numbers");
                    match eval.quotient(name, span) {
                        Some([of, by]) => {
                            let message = format!("{of} is not a multiple of {by}");
                            let multiples = Multiples::new(of, by);
                            let (help, facts) = (multiples.to_string(), multiples.facts());
                            eval.wrong_by(codes::ARITHMETIC, message, span, help, facts)
                        }
                        None => eval.wrong(codes::RANGE, message, span, ""),
                    }
                }
            }
        })
    }

    /// The numbers that a name of the function around is the quotient of.
    fn quotient(&mut self, name: &str, span: Span) -> Option<[u64; 2]> {
        let file = self.frame.file.clone();
        let around = file.statements.iter().filter(|statement| statement.span.contains(span));
        let defs = around.filter_map(|statement| match &statement.kind {
            StatementKind::Def(def) => Some(&def.body),
            _ => None,
        });
        let blocks = defs.filter_map(|body| if let Body::Block(block) = body { Some(block) } else { None });
        let mut lets = blocks.flatten().filter_map(|statement| match &statement.kind {
            StatementKind::Let { names, value, .. } => match &names[..] {
                [own] if self.text(own.name) == name => Some(*value),
                _ => None,
            },
            _ => None,
        });
        let value = lets.next_back()?;
        let ExprKind::Binary(Binary::Div, of, by) = file.expr(value).kind else { return None };
        let mut numbers = [of, by].into_iter().map(|side| {
            let before = self.diagnostics.len();
            let number = self.expr(side).and_then(|value| self.number(&value, self.span_of(side)));
            self.diagnostics.truncate(before);
            number.ok().and_then(whole).and_then(|number| u64::try_from(number).ok())
        });
        Some([numbers.next()??, numbers.next()??]).filter(|[_, by]| *by > 0)
    }

    /// The same for a text that is printed: any number will do.
    pub(super) fn filled_for_print(&mut self, text: &str, span: Span) -> Evaluated<String> {
        self.filled_by(text, span, |eval, name, value| match value {
            Value::Number(number) => Ok(crate::show::number(*number)),
            Value::Tensor(_) | Value::Position(_) => {
                let message = format!("`{name}` has its numbers only when the program runs");
                let help = format!("write it behind the text: `print \"{name} =\", {name}`");
                eval.wrong(codes::KIND, message, span, help)
            }
            value => Ok(crate::show::number(eval.number(value, span)?)),
        })
    }

    fn filled_by(
        &mut self,
        text: &str,
        span: Span,
        show: impl Fn(&mut Self, &str, &Value) -> Evaluated<String>,
    ) -> Evaluated<String> {
        let mut filled = String::new();
        for part in text_parts(text) {
            let inner = match part {
                TextPart::Words(words) => {
                    filled.push_str(words);
                    continue;
                }
                TextPart::Filled(braces) => braces.inner.trim(),
                TextPart::Unclosed(_) => {
                    let message = "a `{` in this text is not closed";
                    let help = "`{name}` stands for the number of that name";
                    return self.wrong(codes::NOTATION, message, span, help);
                }
            };
            let name = self.names.intern(inner);
            match self.find(name) {
                Some(Value::Text(text)) => filled.push_str(&text),
                Some(Value::Open | Value::OpenNumber(_) | Value::Mistake) => return Err(Reported),
                Some(value) => filled.push_str(&show(self, inner, &value)?),
                None => {
                    let message = format!("`{inner}` is not defined");
                    let help = "`{name}` in a text stands for the number or the text of that name";
                    return self.wrong(codes::UNKNOWN, message, span, help);
                }
            }
        }
        if filled.len() > LONGEST_TEXT {
            let message = format!("this text has more than {LONGEST_TEXT} characters");
            return self.wrong(codes::RANGE, message, span, "");
        }
        Ok(filled)
    }

    /// A spec of single letters with the batch axes of its operands before `|`, if they have any.
    fn with_batches(&self, spec: &str, operands: &[&Given]) -> Option<String> {
        let spec = parse_spec(spec).ok().filter(|spec| spec.mode == Mode::Single)?;
        let result = plain_labels(spec.result()?)?;
        let parts: Vec<Vec<AxisId>> = spec.operands.iter().map(plain_labels).collect::<Option<_>>()?;
        let mut batch: Vec<AxisId> = Vec::new();
        let list =
            |of: &[AxisId]| of.iter().map(|label| spec.names.axes.text(*label)).collect::<Vec<_>>().join(" ");
        let shape = |before: &[AxisId], after: &[AxisId]| match before {
            [] => list(after),
            _ => format!("{} | {}", list(before), list(after)).trim_end().to_string(),
        };
        let mut written = Vec::with_capacity(parts.len());
        // A label may be that of a batch axis in one operand, and of an output axis in another.
        for (part, given) in parts.iter().zip(operands) {
            let Value::Tensor(tensor) = given.value else { return None };
            let row = &self.graph.shape(tensor).rows[0];
            let count = (!row.open).then(|| row.lead.len() + row.trail.len())?;
            let (before, after) = part.split_at_checked(count)?;
            batch.extend(before);
            written.push(shape(before, after));
        }
        if batch.is_empty() || parts.len() != operands.len() {
            return None;
        }
        let (before, after): (Vec<_>, Vec<_>) =
            result.iter().copied().partition(|label| batch.contains(label));
        Some(format!("{} => {}", written.join("; "), shape(&before, &after)))
    }

    /// Reports a spec that cannot be parsed: at the place
    /// inside the text, unless numbers were filled in.
    fn misread<T>(
        &mut self,
        written: &str,
        filled: &str,
        error: &broadloom_spec::Error,
        span: Span,
    ) -> Evaluated<T> {
        let message = error.message.to_string();
        let place = self.place(span);
        let is_literal = place == span && self.sources.slice(span).trim_matches('"') == filled;
        let mut diagnostic = if written == filled && is_literal {
            let start = span.start + 1 + error.span.start;
            let end = (span.start + 1 + error.span.end).max(start + 1).min(span.end);
            Diagnostic::error(codes::NOTATION, message, Span { start, end, ..span }, "")
        } else {
            let note = format!("the spec is `{filled}`");
            Diagnostic::error(codes::NOTATION, message, place, "").with_note(note)
        };
        if let Some(help) = &error.help {
            let inside = Span { start: span.start + 1, end: span.end.saturating_sub(1), ..span };
            diagnostic = match &error.rewrite {
                Some(meant) if written == filled && is_literal => {
                    diagnostic.with_fix(&**help, inside, &**meant)
                }
                _ => diagnostic.with_help(&**help),
            };
        }
        self.fail(diagnostic)
    }

    /// `set y.h = 4 * y.i`
    pub(super) fn set(&mut self, target: ExprId, value: ExprId, span: Span) -> Evaluated<()> {
        let (left, right) = (self.expr(target)?, self.arithmetic_of_sizes(value)?);
        let captured = match &left {
            Value::Size(size) => size.as_captured(),
            Value::Open => return Ok(()),
            Value::Mistake => return Err(Reported),
            _ => None,
        };
        if unknown::is_open(&right) {
            return Ok(());
        }
        let Some(captured) = captured else {
            let message = format!("only captured sizes can be set, not {}", left.kind());
            let help = "write `set y.h = …`, where `y` is made by a spec with an axis `h`";
            return self.wrong(codes::KIND, message, self.span_of(target), help);
        };
        let made = self.set_size(captured, &right, (self.span_of(value), span));
        self.note_set(&left, &right, (self.span_of(value), span));
        let file = self.frame.file.clone();
        // Whatever uses the tensor with another size would be reported too.
        if made.is_err()
            && let ExprKind::Field(of, _) = &file.expr(target).kind
            && let ExprKind::Name(name) = &file.expr(*of).kind
        {
            self.frame.scope.bind(*name, Value::Mistake);
        }
        made
    }

    /// Sets a captured size to a size or a number.
    pub(super) fn set_size(
        &mut self,
        captured: Captured,
        to: &Value,
        (at, span): (Span, Span),
    ) -> Evaluated<()> {
        let sum = if let Value::Size(size) = to { size.sum().cloned() } else { None };
        match sum {
            Some(sum) => self.ask_quietly(span, |graph| graph.set_to(captured, &sum)),
            None => {
                let size = dim::size_of(self, to, at)?;
                self.ask_quietly(span, |graph| graph.set(captured, size))
            }
        }
    }

    /// `op`: an operation by its assignments, in which its
    /// operands and their gradients have names of their own.
    pub(super) fn op(&mut self, name: Ident, operands: &[Ident], lines: &[Span]) -> Evaluated<()> {
        let own = self.text(name.name).to_string();
        let names: Vec<String> = operands.iter().map(|each| self.text(each.name).to_string()).collect();
        let read = |line: &Span| crate::syntax::op_text(self.sources.get(line.source).text(), *line);
        let written: Vec<String> = lines.iter().map(read).collect();
        let span = lines.first().map_or(name.span, |first| first.to(lines[lines.len() - 1]));
        let operation = Operation::written(leaked(&own), &names, &written);
        match operation {
            Ok(operation) => {
                self.frame.scope.bind(name.name, Value::Operation(Rc::new(operation)));
                Ok(())
            }
            Err(error) => {
                let before = self.diagnostics.len();
                let refused = report::refused(self, &error, span);
                // The lines are shown anyway: an excerpt would repeat one of them.
                self.diagnostics.iter_mut().skip(before).for_each(|diagnostic| diagnostic.notes.clear());
                refused
            }
        }
    }

    /// Applies an operation that a program defines: pointwise, or by a spec.
    pub(super) fn own_operation(
        &mut self,
        operation: &Rc<Operation>,
        given: &[Given],
        span: Span,
    ) -> Evaluated<Value> {
        if let Some(Given { value: Value::Text(_), .. }) = given.first() {
            let call = Call { function: LanguageFunction::Einsum, given: given.to_vec(), span };
            let (spec, operands) = self.spec_and_operands(&call, By::Spec)?;
            let made = self
                .ask(span, |graph| graph.apply_by(operation, &*spec, &operands, &SpecOptions::default()))?;
            return Ok(Value::Tensor(made));
        }
        let operands: Vec<Tensor> =
            given.iter().map(|each| self.tensor(&each.value, each.span)).collect::<Result<_, _>>()?;
        Ok(Value::Tensor(self.ask(span, |graph| graph.apply(operation, &operands))?))
    }
}

/// A name that lasts as long as the process: the graph keeps the names of operations as they are. Each is made once.
fn leaked(name: &str) -> &'static str {
    use std::collections::BTreeSet;
    use std::sync::{LazyLock, Mutex};
    static KNOWN: LazyLock<Mutex<BTreeSet<&'static str>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = known.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.to_string().into_boxed_str());
    known.insert(name);
    name
}

/// The labels of a shape that has nothing else: output axes side by side.
fn plain_labels(shape: &Shape<Axis>) -> Option<Vec<AxisId>> {
    if shape.batch.is_some() || shape.input.is_some() || shape.output.opening.is_some() {
        return None;
    }
    let label = |axis: &Axis| match axis.kind {
        AxisKind::Label(label) => Some(label),
        _ => None,
    };
    shape.output.trail.iter().map(label).collect()
}

/// Returns true for the shape of an operand that has a row of inputs.
fn has_inputs(read: &WrittenSpec) -> bool {
    read.spec().keeps && read.spec().operands.iter().any(|operand| operand.input.is_some())
}

/// The operands of a spec as they are written in its text.
fn written_operands<'t>(spec: &Spec, text: &'t str) -> &'t str {
    let (first, last) = (spec.operands.first(), spec.operands.last());
    let span = first.zip(last).map(|(first, last)| first.span.to(last.span));
    span.map_or("", |span| span.slice(text)).trim()
}

/// The result of a spec, with the rows that its labels have in the operands if it is written without `|`: `b` is a batch axis in `b | i`.
fn result_with_rows(spec: &Spec, text: &str) -> String {
    let Some(result) = spec.result() else { return String::new() };
    let written = result.span.slice(text).trim();
    let rows = spec.operands.iter().filter_map(|operand| operand.batch.as_ref());
    let batch: Vec<&AxisKind> = rows.flat_map(|row| row.axes()).map(|axis| &axis.kind).collect();
    let is_batch = |axis: &Axis| matches!(axis.kind, AxisKind::Label(_)) && batch.contains(&&axis.kind);
    if result.batch.is_some() || result.input.is_some() || !result.axes().any(is_batch) {
        return written.to_string();
    }
    let row = &result.output;
    if row.opening.is_none() && row.axes().all(is_batch) {
        return format!("{written} |");
    }
    let axis = |axis: &Axis| (is_batch(axis), spec.show(axis).to_string());
    let hole = row.hole().map(|hole| (false, spec.show(&hole).to_string()));
    let items = row.lead().iter().map(axis).chain(hole).chain(row.trail.iter().map(axis));
    let (before, after): (Vec<_>, Vec<_>) = items.partition(|(is_batch, _)| *is_batch);
    let separator = if spec.mode == Mode::Single { " " } else { ", " };
    let list = |items: Vec<(bool, String)>| {
        items.into_iter().map(|(_, item)| item).collect::<Vec<_>>().join(separator)
    };
    format!("{} | {}", list(before), list(after))
}
