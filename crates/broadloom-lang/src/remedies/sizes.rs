//! Changes of the numbers that calls are given, where they are written.

use broadloom_diagnostics::{Diagnostic, Edit, Span};

use super::calls::{LONGEST_QUOTE, name};
use super::{Attempt, Change, FOR_BOTH};
use crate::program::Program;
use crate::syntax::ast::{Arg, Binary, Expr, ExprId, ExprKind, StatementKind};

/// What is tried with the numbers that an error is about.
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
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
    };
    let (_, behind) = wrong.message.split_once(" is at most ")?;
    let (most, given) = behind.split_once(" is given ")?;
    let most = numbers(most).first().copied()?;
    let more = numbers(given).into_iter().filter(|size| *size > most);
    let changes = more.flat_map(|size| resized(program, wrong, [most, size])).collect();
    Some(Attempt { is_certain: true, ..Attempt::new("", changes) })
}

/// An index behind the end of a table: more rows.
fn longer_table(program: &Program, wrong: &Diagnostic) -> Option<Attempt> {
    let (_, rows) = wrong.message.split_once(", which has ")?;
    let rows: u64 = rows.strip_suffix(" rows")?.parse().ok()?;
    let index: u64 = wrong.message.strip_prefix("index ")?.split(' ').next()?.parse().ok()?;
    let wanted = index.checked_add(1)?;
    let rest = wrong.help.first()?;
    let changes = resized_at(program, [rows, wanted], |_| true);
    let reason = format!("{rest}; for index {index} there have to be {wanted} rows: ");
    Some(Attempt { is_certain: true, label: "the number of rows", ..Attempt::new(reason, changes) })
}

/// A size that is not a multiple of another: the sizes that advice names, where they are written.
fn divided(program: &Program, wrong: &Diagnostic) -> Option<Attempt> {
    let (choice, sizes) = wrong.help.first()?.split_once(" would do, or ")?;
    let pairs = |text: &str| -> Vec<[u64; 2]> {
        let Some((others, size)) = text.split_once(" in place of ") else { return Vec::new() };
        let Ok(size) = size.parse() else { return Vec::new() };
        others.split(" or ").filter_map(|other| Some([size, other.parse().ok()?])).collect()
    };
    // More of them are more likely than fewer.
    let all = [choice, sizes].map(pairs).into_iter().flat_map(|pairs| pairs.into_iter().rev());
    let changes = all.flat_map(|pair| {
        let begins = format!("for {}, ", pair[1]);
        let changes = resized_at(program, pair, |_| true).into_iter();
        changes.map(move |change| Change { help: format!("{begins}{}", change.help), ..change })
    });
    Some(Attempt { is_certain: true, is_choice: true, ..Attempt::new("", changes.collect()) })
}

/// Layers without a size, of which one has to have one.
fn sized(program: &Program, wrong: &Diagnostic) -> Option<Attempt> {
    let (_, behind) = wrong.help.first()?.split_once("write `")?;
    let layer = behind.strip_suffix("(64)`, or whatever size is meant")?;
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
        Change {
            help: format!("write `{layer}(64)` in line {line}, or whatever size is meant"),
            edits: vec![Edit::new(span, format!("{layer}(64)"))],
        }
    };
    let reason = format!("`{layer}` is given no size: ");
    let changes = calls.into_iter().map(change).collect();
    Some(Attempt { is_certain: true, label: "no size is given here", ..Attempt::new(reason, changes) })
}

/// The two sizes that an error is about, as its labels say.
pub(super) fn sizes(wrong: &Diagnostic) -> Option<[u64; 2]> {
    let mut sizes: Vec<u64> = Vec::new();
    for line in wrong.labels.iter().flat_map(|label| label.text.split("; ")) {
        let size = line.split_once(" because of ").and_then(|(size, _)| size.parse().ok());
        sizes.extend(size.filter(|size| !sizes.contains(size)));
    }
    <[u64; 2]>::try_from(sizes).ok()
}

/// The pairs of a size and of the one that is wanted in its place, and how advice about them begins.
pub(super) fn pairs(wrong: &Diagnostic) -> (Vec<[u64; 2]>, &'static str) {
    if let Some([a, b]) = sizes(wrong) {
        return (vec![[a, b], [b, a]], FOR_BOTH);
    }
    // The size of what is divided up, and what its parts add up to.
    let last = |text: &str| -> Option<u64> { text.split(' ').next_back()?.parse().ok() };
    let mut texts = wrong.labels.iter().map(|label| &*label.text);
    let because =
        texts.clone().find_map(|text| Some((text.split_once(" because of ")?.0.parse::<u64>().ok()?, text)));
    let pair = because.and_then(|(size, text)| match text.contains(" leaves of ") {
        true => {
            let part = texts.find_map(|text| text.split_once(": ")?.0.parse::<u64>().ok())?;
            Some([last(text)?, (last(text)? + part).checked_sub(size)?])
        }
        false => Some([size, wrong.help.iter().find_map(|help| last(help))?]),
    });
    (pair.into_iter().collect(), "for ")
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
    Change { help: format!("write `{before}{wanted}{behind}`"), edits: vec![Edit::new(given, wanted)] }
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
            ExprKind::Number(number) if number == size as f64 => Some(Change {
                help: format!("write `{word} {name} = {wanted}`"),
                edits: vec![Edit::new(value.span, wanted.to_string())],
            }),
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
