//! Changes of what is applied, and of what it is applied to.

use broadloom_diagnostics::{Diagnostic, Edit, Fact, Span, Wording};

use super::quote::name;
use super::{Attempt, Change, Kind, sizes};
use crate::codes;
use crate::lint::compositions::ALL_PAIRS;
use crate::program::Program;
use crate::syntax::ast::{Binary, Def, ExprId, ExprKind, Statement, StatementKind};
use crate::syntax::quote::LONGEST_QUOTE;

/// Layers of the library that make images smaller.
const SHRINKING: [&str; 5] = ["max_pool", "avg_pool", "conv2d", "depthwise_conv2d", "separable_conv2d"];

/// The axes that a function of the library goes over, and what they are.
const OVER: [(&str, Kind, &str); 4] = [
    ("... | t -> ...", Kind::Way(0), "for the input"),
    ("... | ... -> v", Kind::Way(1), "for the output"),
    ("... | v", Kind::Way(1), "for the output"),
    ("... s |", Kind::Way(2), "for the last batch axis"),
];

/// The changes to try with the calls and operators that an error is about.
pub(super) fn attempts(program: &Program, wrong: &Diagnostic, place: Span) -> Vec<Attempt> {
    let mut all = Vec::new();
    all.extend(turns(program, wrong));
    all.extend(transposed(program, place));
    all.extend(named_size(program, wrong, place));
    all.extend(over_other_axes(program, wrong, place));
    all.extend(images(program, wrong, place));
    all.extend(padded(program, wrong));
    all.extend(second_list(program, wrong));
    all.extend(units(program, wrong, place));
    all
}

/// A function with one list of arguments, and so with one set of parameters, that is applied to different shapes.
fn second_list(program: &Program, wrong: &Diagnostic) -> Option<Attempt> {
    let map = wrong.facts.iter().find_map(|fact| match fact {
        Fact::OneMap { name } => Some(name),
        _ => None,
    })?;
    let def = definition(program, &program.file.statements, map.split('.').next()?)?;
    let (last, configuration) = def.arguments.split_last().filter(|(_, others)| !others.is_empty())?;
    if def.config.is_some() {
        return None;
    }
    let function = program.names.text(def.name.name);
    let between = |from: Span, to: Span| Span { start: from.end, end: to.start, ..from };
    let mut edits = vec![Edit::new(between(configuration.last()?.name.span, last.name.span), ")(")];
    for expr in &program.file.exprs {
        let ExprKind::Call { callee, args } = &expr.kind else { continue };
        if name(program, *callee) == Some(function)
            && let [.., before, last] = &args[..]
        {
            let [before, last] = [before, last].map(|arg| program.file.expr(arg.value).span);
            edits.push(Edit::new(between(before, last), ")("));
        }
    }
    let names = configuration.iter().map(|each| program.sources.slice(each.name.span));
    let list = names.collect::<Vec<_>>().join(", ");
    let x = program.sources.slice(last.name.span);
    let help = format!(
        "write `def {function}({list})({x})`, and each `{function}(…)` that is given its first list has its own"
    );
    let reason =
        Wording::new("`").name(map).words(format!("` is one map, wherever `{function}` is applied: "));
    Some(Attempt { is_certain: true, reason, ..Attempt::new("", vec![Change::new(help, edits)]) })
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
        let edits = vec![Edit::new(first.to(last), list.clone())];
        let change = Change::new(format!("write `def {name}({list})`"), edits);
        let reason = format!("`{function}` gives `{name}` an element first, and then what is carried: ");
        let is_plain = def.arguments.iter().all(|each| each.shape.is_none() && each.default.is_none());
        is_plain.then(|| Attempt { is_certain: true, ..Attempt::new(reason, vec![change]) })
    };
    calls.filter_map(attempt).collect()
}

/// A product whose left side is the parameter of a layer, which cannot be declared otherwise; and one that contracts nothing.
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
        let change = Change::new(help, vec![Edit::new(place, written)]);
        return Some(Attempt::new("without input axes, `@` contracts nothing: ", vec![change]));
    }
    let ExprKind::Field(..) = file.expr(left).kind else { return None };
    let edits = vec![Edit::new(file.expr(left).span.after(), ".T")];
    let change = Change::new(format!("write `{}.T @ {}`", text(left), text(right)), edits);
    Some(Attempt { is_certain: true, ..Attempt::new("the transpose fits: ", vec![change]) })
}

/// A label whose size nothing determines, and a named size that is written like it: they have nothing to do with each other until the call says so.
fn named_size(program: &Program, wrong: &Diagnostic, place: Span) -> Option<Attempt> {
    let file = &program.file;
    let call = file.exprs.iter().find(|expr| wrong.code == codes::UNDETERMINED && expr.span == place)?;
    let ExprKind::Call { args, .. } = &call.kind else { return None };
    let spec = args.iter().find_map(|arg| match &file.expr(arg.value).kind {
        ExprKind::Text(text) => Some(&**text),
        _ => None,
    })?;
    let is_given = |label: &str| {
        args.iter().any(|arg| arg.name.is_some_and(|name| program.names.text(name.name) == label))
    };
    let mut labels: Vec<&str> = Vec::new();
    for label in spec.split(|c: char| !c.is_alphanumeric() && c != '_') {
        if !labels.contains(&label) && !is_given(label) && program.dims.iter().any(|dim| dim.name == label) {
            labels.push(label);
        }
    }
    let open = Span { end: place.end - 1, ..place };
    let before = program.sources.slice(open);
    let comma = if before.trim_end().ends_with(',') { "" } else { "," };
    let change = |label: &str| {
        let said = format!("{comma} {label} = {label}");
        Change::new(format!("write `{before}{said})`"), vec![Edit::new(open.after(), said)])
    };
    let reason = "a label of a spec is a named size only where the call says so: ";
    let changes = labels.into_iter().map(change).collect();
    Some(Attempt { is_certain: true, ..Attempt::new(reason, changes) })
}

/// Other axes for a function that goes over those that a text names, as `softmax("... | v")`.
fn over_other_axes(program: &Program, wrong: &Diagnostic, place: Span) -> Option<Attempt> {
    let is_about_spec = wrong.facts.contains(&Fact::SpecRank);
    let mut texts = program.file.exprs.iter().filter(|expr| is_about_spec && place.contains(expr.span));
    let (text, span) = texts.find_map(|expr| match &expr.kind {
        ExprKind::Text(text) if !text.contains("=>") => Some((text, expr.span)),
        _ => None,
    })?;
    let others = OVER.iter().filter(|(axes, ..)| **axes != **text);
    let change = |(axes, kind, over): &(&str, Kind, &str)| Change {
        help: format!("{over}, `\"{axes}\"`"),
        edits: vec![Edit::new(span, format!("\"{axes}\""))],
        kind: *kind,
    };
    let reason = "name every row, and the axes that are meant by a label: ";
    Some(Attempt { is_choice: true, ..Attempt::new(reason, others.map(change).collect()) })
}

/// Images of which one is a multiple of the other.
fn images(program: &Program, wrong: &Diagnostic, place: Span) -> Option<Attempt> {
    let [a, b] = sizes::sizes(wrong)?;
    let factor =
        a.max(b).checked_div(a.min(b)).filter(|factor| *factor > 1 && factor * a.min(b) == a.max(b))?;
    let shrinks = |name: &str| SHRINKING.contains(&name);
    program.applications.iter().find(|each| each.library && shrinks(&each.function))?;
    let ways = [
        strides(program, wrong, factor),
        each_operand(program, place, "enlarge the smaller one, ", |x| format!("upsample({factor})({x})")),
        each_operand(program, place, "shrink the larger one, ", |x| format!("max_pool({factor})({x})")),
    ];
    let numbered = ways.into_iter().enumerate();
    let changes = numbered.flat_map(|(way, changes)| {
        changes.into_iter().map(move |change| Change { kind: Kind::Way(way), ..change })
    });
    let changes = changes.collect();
    let reason = format!("one image is {factor} times as large as the other: ");
    Some(Attempt { is_choice: true, ..Attempt::new(reason, changes) })
}

/// Layers at the places of an error with a stride in addition.
fn strides(program: &Program, wrong: &Diagnostic, factor: u64) -> Vec<Change> {
    let is_shown = |span: Span| wrong.labels.iter().any(|label| label.span.contains(span));
    let calls = program.file.exprs.iter().filter(|expr| is_shown(expr.span)).filter_map(|expr| {
        let ExprKind::Call { callee, args } = &expr.kind else { return None };
        let layer = name(program, *callee).filter(|name| name.ends_with("conv2d"))?;
        let has_stride =
            args.iter().any(|arg| arg.name.is_some_and(|name| program.names.text(name.name) == "stride"));
        let last = program.file.expr(args.last().filter(|_| !has_stride)?.value).span;
        let written =
            format!("{}, stride = {factor})", program.sources.slice(Span { end: last.end, ..expr.span }));
        let edits = vec![Edit::new(expr.span, written.clone())];
        Some(Change::new(format!("give {layer} the same stride, `{written}`"), edits))
    });
    calls.collect()
}

/// Windows that stay inside of an axis, and make it shorter.
fn padded(program: &Program, wrong: &Diagnostic) -> Option<Attempt> {
    let is_shown = |span: Span| wrong.labels.iter().any(|label| label.span.contains(span));
    let specs = program.file.exprs.iter().filter_map(|expr| match &expr.kind {
        ExprKind::Text(text) if text.contains("<+") && is_shown(expr.span) => Some(expr.span),
        _ => None,
    });
    let change = |span: Span| {
        let written = program.sources.slice(span).replace("<+", "=+");
        Change::new(format!("write `{written}`"), vec![Edit::new(span, written)])
    };
    let changes: Vec<Change> = specs.map(change).collect();
    (!changes.is_empty())
        .then(|| Attempt::new("windows of `=+` reach beyond the axis, which keeps its size: ", changes))
}

/// An operand that has lost the last batch axis, as a mean over positions does.
fn units(program: &Program, wrong: &Diagnostic, place: Span) -> Option<Attempt> {
    if wrong.code != codes::MISMATCH {
        return None;
    }
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
        Change::new(format!("{before}`{written}`"), vec![Edit::new(expr.span, written)])
    });
    changes.filter(|change| change.help.len() <= 2 * LONGEST_QUOTE).collect()
}

/// The function of the program with a name.
fn definition<'p>(program: &Program, statements: &'p [Statement], name: &str) -> Option<&'p Def> {
    statements.iter().find_map(|statement| match &statement.kind {
        StatementKind::Def(def) if program.names.text(def.name.name) == name => Some(&**def),
        _ => None,
    })
}
