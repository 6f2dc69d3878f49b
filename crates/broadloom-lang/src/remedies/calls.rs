//! Changes of what is applied, and of what it is applied to.

use broadloom_diagnostics::{Diagnostic, Edit, Span};

use super::{Attempt, Change, FOR_BOTH};
use crate::lint::compositions::ALL_PAIRS;
use crate::program::Program;
use crate::syntax::ast::{Arg, Binary, Def, Expr, ExprId, ExprKind, Statement, StatementKind};

/// Layers of the library that make images smaller.
const SHRINKING: [&str; 5] = ["max_pool", "avg_pool", "conv2d", "depthwise_conv2d", "separable_conv2d"];

/// The axes that a function of the library goes over, and what they are.
const OVER: [(&str, &str); 4] = [
    ("... | t -> ...", "for the input"),
    ("... | ... -> v", "for the output"),
    ("... | v", "for the output"),
    ("... s |", "for the last batch axis"),
];

/// The longest call that advice quotes.
const LONGEST_QUOTE: usize = 48;

/// What is tried with the calls and operators that an error is about.
pub(super) fn attempts(program: &Program, wrong: &Diagnostic, place: Span) -> Vec<Attempt> {
    let mut all = Vec::new();
    all.extend(turns(program, wrong));
    all.extend(transposed(program, place));
    all.extend(over_other_axes(program, wrong, place));
    all.extend(images(program, wrong, place));
    all.extend(units(program, place));
    all
}

/// Functions for `scan` and `fold` that take what is carried first.
fn turns(program: &Program, wrong: &Diagnostic) -> Vec<Attempt> {
    let file = &program.file;
    let is_shown =
        |span: Span| wrong.labels.iter().any(|label| label.span.contains(span) || span.contains(label.span));
    let calls = file.exprs.iter().filter(|expr| is_shown(expr.span)).filter_map(|expr| {
        let ExprKind::Call { callee, args } = &expr.kind else { return None };
        let function = name(program, *callee).filter(|name| ["scan", "fold"].contains(name))?;
        args.iter().find_map(|arg| {
            Some((function, definition(program, &file.statements, name(program, arg.value)?)?))
        })
    });
    let attempt = |(function, def): (&str, &Def)| {
        let names: Vec<&str> =
            def.arguments.iter().map(|each| program.sources.slice(each.name.span)).collect();
        let (last, others) = names.split_last().filter(|(_, others)| !others.is_empty())?;
        let order: Vec<&str> = [*last].into_iter().chain(others.iter().copied()).collect();
        let (first, last) = (def.arguments.first()?.name.span, def.arguments.last()?.name.span);
        let list = order.join(", ");
        let name = program.names.text(def.name.name);
        let change = Change {
            help: format!("write `def {name}({list})`"),
            edits: vec![Edit::new(first.to(last), list.clone())],
        };
        let reason = format!("`{function}` gives `{name}` an element first, and then what is carried: ");
        let is_plain = def.arguments.iter().all(|each| each.shape.is_none() && each.default.is_none());
        is_plain.then(|| Attempt { is_certain: true, ..Attempt::new(reason, vec![change]) })
    };
    calls.filter_map(attempt).collect()
}

/// A product whose left side is the parameter of a layer, which nobody can declare otherwise; and one that contracts nothing.
fn transposed(program: &Program, place: Span) -> Option<Attempt> {
    let file = &program.file;
    let product = file.exprs.iter().find(|expr| expr.span == place)?;
    let ExprKind::Binary(Binary::Compose, left, right) = product.kind else { return None };
    let text = |side: ExprId| program.sources.slice(file.expr(side).span);
    if let ExprKind::Field(of, field) = file.expr(right).kind
        && program.names.text(field.name) == "T"
    {
        let written = format!("einsum(\"{ALL_PAIRS}\", {}, {})", text(left), text(of));
        let help = format!("for products of all pairs, write `{written}`");
        let change = Change { help, edits: vec![Edit::new(place, written)] };
        return Some(Attempt::new("without input axes, `@` contracts nothing: ", vec![change]));
    }
    let ExprKind::Field(..) = file.expr(left).kind else { return None };
    let edits = vec![Edit::new(file.expr(left).span.after(), ".T")];
    let change = Change { help: format!("write `{}.T @ {}`", text(left), text(right)), edits };
    Some(Attempt { is_certain: true, ..Attempt::new("the transpose fits: ", vec![change]) })
}

/// Other axes for a function that goes over those that a text names, as `softmax("... | v")`.
fn over_other_axes(program: &Program, wrong: &Diagnostic, place: Span) -> Option<Attempt> {
    let is_about_spec = wrong.message.contains("in the spec has");
    let mut texts = program.file.exprs.iter().filter(|expr| is_about_spec && place.contains(expr.span));
    let (text, span) = texts.find_map(|expr| match &expr.kind {
        ExprKind::Text(text) if !text.contains("=>") => Some((text, expr.span)),
        _ => None,
    })?;
    let others = OVER.iter().filter(|(axes, _)| **axes != **text);
    let change = |(axes, over): &(&str, &str)| Change {
        help: format!("{over}, `\"{axes}\"`"),
        edits: vec![Edit::new(span, format!("\"{axes}\""))],
    };
    let reason = "name every row, and the axes that are meant by a label: ";
    Some(Attempt { is_choice: true, ..Attempt::new(reason, others.map(change).collect()) })
}

/// Images of which one is a multiple of the other.
fn images(program: &Program, wrong: &Diagnostic, place: Span) -> Option<Attempt> {
    let [a, b] = sizes(wrong)?;
    let factor =
        a.max(b).checked_div(a.min(b)).filter(|factor| *factor > 1 && factor * a.min(b) == a.max(b))?;
    let shrinks = |name: &str| SHRINKING.contains(&name);
    program.applications.iter().find(|each| each.library && shrinks(&each.function))?;
    let mut changes =
        each_operand(program, place, "enlarge the smaller one, ", |x| format!("upsample({factor})({x})"));
    changes.extend(each_operand(program, place, "shrink the larger one, ", |x| {
        format!("max_pool({factor})({x})")
    }));
    let reason = format!("one image is {factor} times as large as the other: ");
    Some(Attempt { is_choice: true, ..Attempt::new(reason, changes) })
}

/// An operand that has lost the last batch axis, as a mean over positions does.
fn units(program: &Program, place: Span) -> Option<Attempt> {
    let expr = program.file.exprs.iter().find(|expr| expr.span == place)?;
    let ExprKind::Binary(..) = expr.kind else { return None };
    let changes =
        each_operand(program, place, "write ", |x| format!("einsum(\"... | ... => ... 0 | ...\", {x})"));
    let reason =
        "axes are matched from the last one backwards, and a unit keeps the place of one that is missing: ";
    Some(Attempt::new(reason, changes))
}

/// Changes of what a call or an operator is given, one at a time.
fn each_operand(
    program: &Program,
    place: Span,
    before: &str,
    around: impl Fn(&str) -> String,
) -> Vec<Change> {
    let file = &program.file;
    let operands = match file.exprs.iter().find(|expr| expr.span == place).map(|expr| &expr.kind) {
        Some(ExprKind::Call { args, .. }) => args.iter().map(|arg| arg.value).collect(),
        Some(ExprKind::Binary(_, a, b)) => vec![*a, *b],
        _ => Vec::new(),
    };
    let operands = operands.into_iter().map(|operand| file.expr(operand));
    let changes = operands.filter(|expr| !matches!(expr.kind, ExprKind::Text(_))).map(|expr| {
        let written = around(program.sources.slice(expr.span));
        Change { help: format!("{before}`{written}`"), edits: vec![Edit::new(expr.span, written)] }
    });
    changes.filter(|change| change.help.len() <= 2 * LONGEST_QUOTE).collect()
}

/// The two sizes that an error is about, as its labels say.
fn sizes(wrong: &Diagnostic) -> Option<[u64; 2]> {
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
pub(super) fn resized(program: &Program, wrong: &Diagnostic, [size, wanted]: [u64; 2]) -> Vec<Change> {
    let file = &program.file;
    let is_shown = |expr: &&Expr| wrong.labels.iter().any(|label| label.span.contains(expr.span));
    let changes = file.exprs.iter().filter(is_shown).flat_map(|call| {
        let args: &[Arg] = if let ExprKind::Call { args, .. } = &call.kind { args } else { &[] };
        let given = args.iter().filter_map(move |arg| number_in(program, arg.value, [size, wanted]));
        given.map(move |(given, wanted)| {
            let before = Span { end: given.start, ..call.span };
            let behind = Span { start: given.end, ..call.span };
            let [before, behind] = [before, behind].map(|span| program.sources.slice(span));
            Change {
                help: format!("write `{before}{wanted}{behind}`"),
                edits: vec![Edit::new(given, wanted)],
            }
        })
    });
    changes.filter(|change| change.help.len() <= LONGEST_QUOTE).collect()
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

/// The name that an expression is.
fn name(program: &Program, expr: ExprId) -> Option<&str> {
    match program.file.expr(expr).kind {
        ExprKind::Name(name) => Some(program.names.text(name)),
        _ => None,
    }
}

/// The function of the program with a name.
fn definition<'p>(program: &Program, statements: &'p [Statement], name: &str) -> Option<&'p Def> {
    statements.iter().find_map(|statement| match &statement.kind {
        StatementKind::Def(def) if program.names.text(def.name.name) == name => Some(&**def),
        _ => None,
    })
}
