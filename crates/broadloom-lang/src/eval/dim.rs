//! Sizes that have names, and numbers for them.
//!
//! A `dim` with a range is a named size of the graph. It stays a name as long
//! as its number is not needed: in shapes, and in arithmetic on tensors. Where
//! the program cannot be built without the number (a range, a condition), the
//! size is given one, and the program holds only for it from there on.

use std::rc::Rc;

use broadloom_diagnostics::Span;

use super::needs::{self, NeedKind};
use super::{Eval, Evaluated, Reported, unknown};
use crate::codes;
use crate::position::whole;
use crate::program::Dim;
use crate::size::Size;
use crate::syntax::ast::{ExprId, Ident, Name};
use crate::value::Value;

/// The least and, if there is one, the greatest size.
type Range = (u64, Option<u64>);

pub(super) fn define(
    eval: &mut Eval<'_>,
    name: Ident,
    range: Option<(ExprId, Option<ExprId>)>,
    value: Option<ExprId>,
    span: Span,
) -> Evaluated<()> {
    let range = match range {
        Some((low, high)) => Some((size(eval, low)?, high.map(|high| size(eval, high)).transpose()?)),
        None => None,
    };
    let text = eval.text(name.name).to_string();
    let asked = eval.options.sizes.iter().rev().find(|(known, _)| *known == text).map(|(_, size)| *size);
    eval.unused_sizes.retain(|known| *known != text);
    let stated = value.is_some();
    let declared = match value {
        Some(value) => Some(size(eval, value)?),
        None => None,
    };
    let Some(range) = range else {
        let size = asked.or(declared).unwrap_or(1);
        eval.dims.push(Dim { name: text, size, stated, range, symbolic: false, needed: None, span });
        eval.frame.scope.bind(name.name, Value::Number(size as f64));
        return Ok(());
    };
    let sample = sample(eval, &text, range, declared, span)?;
    // A name is one size: if it is declared again, its
    // range is the intersection of all its ranges.
    let known = eval.ranged.get(&text).copied();
    let both = known.and_then(|at| eval.dims[at].range).map_or(range, |known| common(known, range));
    if let Some(asked) = asked.filter(|_| !is_empty(both)) {
        within_range(eval, &text, asked, both, span)?;
    }
    // The last declared size that is in all ranges.
    let former = known.map(|at| eval.dims[at].size);
    let mut possible = [declared, former, Some(typical(both))].into_iter().flatten();
    let sample = possible.find(|size| contains(both, *size)).unwrap_or(sample);
    let named = eval.ask(span, |graph| {
        match range {
            (low, Some(high)) => graph.dim(&text, low..=high, sample)?,
            (low, None) => graph.dim(&text, low.., sample)?,
        }
        graph.captured_dim(&text)
    })?;
    let (size, range) = (asked.unwrap_or(sample), Some(both));
    match known {
        Some(at) => (eval.dims[at].size, eval.dims[at].range) = (size, range),
        None => {
            eval.asked.extend(asked.map(|asked| (text.clone(), asked)));
            eval.ranged.insert(text.clone(), eval.dims.len());
            eval.dims.push(Dim { name: text, size, stated, range, symbolic: true, needed: None, span });
        }
    }
    eval.frame.scope.bind(name.name, Value::Size(Rc::new(named.into())));
    Ok(())
}

/// The size that a program runs at by default.
fn sample(
    eval: &mut Eval<'_>,
    name: &str,
    range: Range,
    declared: Option<u64>,
    span: Span,
) -> Evaluated<u64> {
    if let (low, Some(high)) = range
        && low > high
    {
        let message = format!("from {low} to {high} there is no size");
        return eval.wrong(codes::RANGE, message, span, "the least size comes first");
    }
    let Some(declared) = declared else { return Ok(typical(range)) };
    within_range(eval, name, declared, range, span)?;
    Ok(declared)
}

fn within_range(eval: &mut Eval<'_>, name: &str, size: u64, (low, high): Range, span: Span) -> Evaluated<()> {
    if contains((low, high), size) {
        return Ok(());
    }
    let (range, help) = match high {
        Some(high) => (format!("{low}..{high}"), format!("choose a size from {low} to {high}")),
        None => (format!("{low}.."), format!("choose a size from {low} upwards")),
    };
    let message = format!("`{name}` is {size}, which is not in its range {range}");
    eval.wrong(codes::RANGE, message, span, help)
}

/// The value of an expression as the size of an axis.
pub(super) fn size(eval: &mut Eval<'_>, expr: ExprId) -> Evaluated<u64> {
    let (value, span) = (eval.expr(expr)?, eval.span_of(expr));
    size_of(eval, &value, span)
}

pub(super) fn size_of(eval: &mut Eval<'_>, value: &Value, span: Span) -> Evaluated<u64> {
    match value {
        Value::Number(_) | Value::Size(_) => {
            let number = eval.number(value, span)?;
            match whole(number) {
                Some(size) if size > 0 => Ok(size as u64),
                _ => {
                    let message = format!("a size is a whole number from 1 upwards, not {number}");
                    let written = eval.quote(span);
                    let inner = written.trim_start_matches('(').trim_end_matches(')');
                    let help = match number.fract() != 0.0 && written.contains('/') {
                        true => {
                            format!("choose sizes that divide, or leave out the rest: `floor({inner})`")
                        }
                        false => String::new(),
                    };
                    eval.wrong(codes::RANGE, message, span, help)
                }
            }
        }
        Value::Open | Value::OpenNumber(_) | Value::Mistake => Err(Reported),
        other => {
            let message = format!("a size is needed here, not {}", other.kind());
            let help = match other {
                Value::Text(_) => "write the number without quotes",
                Value::Range(..) => "a name for any size of a range is declared with `in`: `dim n in 2..64`",
                Value::Tensor(_) => "sizes are known before the program runs: write a number, or a `dim`",
                _ => "",
            };
            eval.wrong(codes::KIND, message, span, help)
        }
    }
}

/// The name that the graph has for a size.
pub(super) fn dim_name(eval: &Eval<'_>, size: &Size) -> Option<String> {
    let captured = size.as_captured()?;
    eval.graph.quiet().captured_dim_name(captured).map(str::to_string)
}

/// A label for a size to be inferred: its own name,
/// unless the graph has another size of that name.
pub(super) fn free_label(eval: &Eval<'_>, name: Name) -> String {
    let mut label = eval.text(name).to_string();
    // The names of sizes are compared when a body is replayed.
    while eval.graph.quiet().has_dim(&label) {
        label.push('_');
    }
    label
}

/// Returns true if a size has a number, or will have one as soon as named sizes have theirs.
pub(super) fn is_decided(eval: &Eval<'_>, size: &Size) -> bool {
    let decided =
        |captured| eval.graph.size(captured).is_some() || eval.graph.size_expression(captured).is_some();
    size.captured().into_iter().all(decided)
}

/// The number of a size. Named sizes that it depends on are fixed, so the program holds only
/// for them from here on.
pub(super) fn number_of(eval: &mut Eval<'_>, size: &Size, span: Span) -> Evaluated<f64> {
    for captured in size.captured() {
        if eval.graph.size(captured).is_none()
            && let Some(open) = eval.graph.size_expression(captured)
        {
            let names: Vec<String> = open.names().map(str::to_string).collect();
            names.iter().try_for_each(|name| fix(eval, name, span))?;
        }
    }
    match size.at(&|captured| eval.graph.size(captured)) {
        Some(number) => Ok(number),
        // It may be known where the function is applied.
        None if unknown::is_unknown(eval) => Err(Reported),
        None => {
            if let Some(aside) = &mut eval.aside {
                aside.asks_size = true;
            }
            needs::note(eval, &Value::Size(Rc::new(size.clone())), NeedKind::Number);
            let message = "this size is not known at this point of the program";
            eval.wrong(codes::KIND, message, span, "`set` it, or use it after what decides it")
        }
    }
}

/// Gives a named size its number, because the program cannot be built without it.
fn fix(eval: &mut Eval<'_>, name: &str, span: Span) -> Evaluated<()> {
    let Some(at) = eval.ranged.get(name).copied() else { return Ok(()) };
    let size = eval.dims[at].size;
    let place = eval.place(span);
    eval.dims[at].needed.get_or_insert(place);
    eval.ask(span, |graph| graph.set_sizes(&[(name, size)]))
}

/// The sizes that two ranges have in common.
fn common(a: Range, b: Range) -> Range {
    (a.0.max(b.0), [a.1, b.1].into_iter().flatten().min())
}

fn contains((low, high): Range, size: u64) -> bool {
    low <= size && high.is_none_or(|high| size <= high)
}

fn is_empty((low, high): Range) -> bool {
    high.is_some_and(|high| high < low)
}

/// A typical size of a range. Not the least one, at which mistakes may not show.
fn typical((low, high): Range) -> u64 {
    low.max(high.map_or(32, |high| high.min(32)))
}
