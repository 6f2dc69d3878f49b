//! Changes of the numbers that calls are given, where they are written.

use broadloom_diagnostics::{Diagnostic, Edit, Fact, Span};

use super::quote::name;
use super::{Attempt, Change};
use crate::program::Program;
use crate::syntax::ast::{Arg, Binary, Expr, ExprId, ExprKind, StatementKind};
use crate::syntax::quote::LONGEST_QUOTE;

/// The changes to try with the numbers that an error is about.
pub(super) fn attempts(program: &Program, wrong: &Diagnostic) -> Vec<Attempt> {
    let all = [
        enlarged(program, wrong),
        longer_table(program, wrong),
        divided(program, wrong),
        sized(program, wrong),
    ];
    all.into_iter().flatten().collect()
}

/// A layer made for so many, as positions, that is given more of them.
fn enlarged(program: &Program, wrong: &Diagnostic) -> Option<Attempt> {
    let (most, given) = wrong.facts.iter().find_map(|fact| match fact {
        Fact::AtMost { most, given } => Some((*most.first()?, given)),
        _ => None,
    })?;
    let more = given.iter().filter(|size| **size > most);
    let changes = more.flat_map(|size| resized(program, wrong, [most, *size])).collect();
    Some(Attempt { is_certain: true, ..Attempt::new("", changes) })
}

/// An index behind the end of a table: more rows.
fn longer_table(program: &Program, wrong: &Diagnostic) -> Option<Attempt> {
    let (index, rows) = wrong.facts.iter().find_map(|fact| match fact {
        Fact::Index { index, rows } => Some((*index, *rows)),
        _ => None,
    })?;
    let wanted = index.checked_add(1)?;
    let rest = wrong.help.first()?;
    let changes = resized_at(program, [rows, wanted], |_| true);
    let reason = format!("{rest}; for index {index} there have to be {wanted} rows: ");
    Some(Attempt { is_certain: true, label: "the number of rows", ..Attempt::new(reason, changes) })
}

/// A number in whose place another would do, where it is written.
fn divided(program: &Program, wrong: &Diagnostic) -> Option<Attempt> {
    let pairs = wrong.facts.iter().filter_map(|fact| match fact {
        Fact::Instead { written, fits } => Some([*written, *fits]),
        _ => None,
    });
    let changes = pairs.flat_map(|pair| {
        let changes = resized_at(program, pair, |_| true).into_iter();
        changes.map(move |change| change.for_size("for", pair[1]))
    });
    let changes: Vec<Change> = changes.collect();
    (!changes.is_empty()).then(|| Attempt {
        is_certain: true,
        is_choice: true,
        follows_rule: true,
        ..Attempt::new("", changes)
    })
}

/// Layers without a size, of which one has to have one.
fn sized(program: &Program, wrong: &Diagnostic) -> Option<Attempt> {
    let layer = wrong.facts.iter().find_map(|fact| match fact {
        Fact::NoSize { layer } => Some(&**layer),
        _ => None,
    })?;
    let empty = program.file.exprs.iter().filter(|expr| match &expr.kind {
        ExprKind::Call { callee, args } => args.is_empty() && name(program, *callee) == Some(layer),
        _ => false,
    });
    let mut calls: Vec<Span> = empty.map(|expr| expr.span).collect();
    calls.sort_by_key(|span| span.start);
    if calls.len() < 2 {
        return None;
    }
    let change = |span: Span| {
        let line = program.sources.position(span).0;
        let help = format!("write `{layer}(64)` in line {line}, or whatever size is meant");
        Change::new(help, vec![Edit::new(span, format!("{layer}(64)"))])
    };
    let reason = format!("`{layer}` is given no size: ");
    let changes = calls.into_iter().map(change).collect();
    Some(Attempt { is_certain: true, label: "no size is given here", ..Attempt::new(reason, changes) })
}

/// The two sizes that an error is about.
pub(super) fn sizes(wrong: &Diagnostic) -> Option<[u64; 2]> {
    wrong.facts.iter().find_map(|fact| if let Fact::Sizes(sizes) = fact { Some(*sizes) } else { None })
}

/// The pairs of a size and of the one that is wanted in its place, and how advice about them begins.
pub(super) fn pairs(wrong: &Diagnostic) -> (Vec<[u64; 2]>, &'static str) {
    let parts = wrong.facts.iter().find_map(|fact| match fact {
        Fact::Parts { whole, sum } => Some([*whole, *sum]),
        _ => None,
    });
    match (parts, sizes(wrong)) {
        (Some(pair), _) => (vec![pair], "for"),
        (None, Some([a, b])) => (vec![[a, b], [b, a]], "for both"),
        (None, None) => (Vec::new(), ""),
    }
}

/// The calls at the places of an error that would be given another number.
pub(super) fn resized(program: &Program, wrong: &Diagnostic, pair: [u64; 2]) -> Vec<Change> {
    resized_at(program, pair, |expr| wrong.labels.iter().any(|label| label.span.contains(expr.span)))
}

/// The calls at some places that would be given another number, and the names of that number that they are given.
fn resized_at(program: &Program, pair: [u64; 2], is_there: impl Fn(&Expr) -> bool) -> Vec<Change> {
    let calls = program.file.exprs.iter().filter(|expr| is_there(expr));
    let changes = calls.flat_map(|call| {
        let args: &[Arg] = if let ExprKind::Call { args, .. } = &call.kind { args } else { &[] };
        args.iter().flat_map(move |arg| {
            let written = number_in(program, arg.value, pair).map(|number| in_call(program, call, number));
            written.or_else(|| in_name(program, name(program, arg.value)?, pair))
        })
    });
    let mut all: Vec<Change> = Vec::new();
    for change in changes.filter(|change| change.help.len() <= LONGEST_QUOTE) {
        if !all.iter().any(|known| known.help == change.help) {
            all.push(change);
        }
    }
    all
}

/// A call with another number.
fn in_call(program: &Program, call: &Expr, (given, wanted): (Span, String)) -> Change {
    let before = Span { end: given.start, ..call.span };
    let behind = Span { start: given.end, ..call.span };
    let [before, behind] = [before, behind].map(|span| program.sources.slice(span));
    Change::new(format!("write `{before}{wanted}{behind}`"), vec![Edit::new(given, wanted)])
}

/// The line that gives a size its name, with another size.
fn in_name(program: &Program, name: &str, [size, wanted]: [u64; 2]) -> Option<Change> {
    program.file.statements.iter().find_map(|statement| {
        let (word, value) = match &statement.kind {
            StatementKind::Dim { name: own, range: None, value: Some(value) }
                if program.names.text(own.name) == name =>
            {
                ("dim", value)
            }
            StatementKind::Let { names, shape: None, value }
                if matches!(&names[..], [own] if program.names.text(own.name) == name) =>
            {
                ("let", value)
            }
            _ => return None,
        };
        let value = program.file.expr(*value);
        match value.kind {
            ExprKind::Number(number) if number == size as f64 => Some(Change::new(
                format!("write `{word} {name} = {wanted}`"),
                vec![Edit::new(value.span, wanted.to_string())],
            )),
            _ => None,
        }
    })
}

/// The number in an expression that would have to change, if the expression is a size: the number itself, or a factor.
fn number_in(program: &Program, expr: ExprId, [size, wanted]: [u64; 2]) -> Option<(Span, String)> {
    let expr = program.file.expr(expr);
    match expr.kind {
        ExprKind::Number(number) if number == size as f64 => Some((expr.span, wanted.to_string())),
        ExprKind::Binary(Binary::Mul, factor, other) => {
            let other_text = program.sources.slice(program.file.expr(other).span);
            let factor = program.file.expr(factor);
            let ExprKind::Number(number) = factor.kind else { return None };
            let other = wanted.checked_mul(number as u64)?;
            match other / size {
                1 if other == size => Some((expr.span, other_text.to_string())),
                times => (other % size == 0).then(|| (factor.span, times.to_string())),
            }
        }
        _ => None,
    }
}
