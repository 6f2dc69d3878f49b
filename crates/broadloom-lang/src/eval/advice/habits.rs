//! Loops, training, sizes and first values as other libraries write them: advice that knows the values.

use broadloom::{Node, Operation, Tensor};
use broadloom_diagnostics::{Diagnostic, Edit, Fact, Span};

use crate::codes;
use crate::eval::advice::call_advice::list_length;
use crate::eval::{Eval, Evaluated, Reported};
use crate::language_function::LanguageFunction;
use crate::suggest;
use crate::syntax::ast::{
    Assign, Axis, AxisKind, ExprId, ExprKind, File, Ident, LeafKind, Shape, Statement, StatementKind,
};
use crate::value::Value;

/// Reports `x[x > 0]`: how much it selects is known when the program runs only.
pub(in crate::eval) fn selected(
    eval: &mut Eval<'_>,
    index: Tensor,
    (of, at): (ExprId, ExprId),
) -> Option<Reported> {
    let Some(Node::Operation { id, .. }) = eval.graph.node(index) else { return None };
    if !id.operation().is_some_and(Operation::is_truth) {
        return None;
    }
    let [of, written] = [of, at].map(|expr| eval.quote(eval.span_of(expr)));
    let message = "how much a condition selects is not known before the program runs";
    let help = format!(
        "write `where({written}, {of}, 0)`, which has 0 where the condition does not hold; the mean of what it selects is `sum(where({written}, {of}, 0)) / sum({written})`"
    );
    eval.wrong::<()>(codes::KIND, message, eval.span_of(at), help).err()
}

/// Advice for `list.append(item)` inside of a loop: the list that the loop would make.
pub(in crate::eval) fn list_of_loop(eval: &Eval<'_>, list: &str, item: &str, at: Span) -> Option<String> {
    let (name, range, body) = loop_around(&eval.frame.file.statements, at)?;
    let (name, range) = (eval.text(name.name), eval.quote(eval.span_of(range)));
    let item = match body {
        [_] => item.to_string(),
        // What is appended may have been bound just before.
        [first, _] => match &first.kind {
            StatementKind::Let { names, value, .. } if names.len() == 1 => {
                let bound = eval.text(names[0].name);
                (bound == item).then(|| eval.quote(eval.span_of(*value)))?
            }
            _ => return None,
        },
        _ => return None,
    };
    let written = format!("let {list} = [{item} for {name} in {range}]");
    (!written.contains('…')).then(|| format!("write `{written}` in place of the list and the loop"))
}

/// Reports `for epoch in range(100):` around training, which `repeat` runs.
pub(in crate::eval) fn not_for_training(
    eval: &mut Eval<'_>,
    name: Ident,
    list: ExprId,
    body: &[Statement],
    span: Span,
) -> Evaluated<()> {
    let file = eval.frame.file.clone();
    let ExprKind::Call { callee, args } = &file.expr(list).kind else { return Ok(()) };
    let ExprKind::Name(callee) = file.expr(*callee).kind else { return Ok(()) };
    let is_range = matches!(
        eval.frame.scope.find(callee),
        Some(Value::Builtin(builtin)) if builtin.get().function == LanguageFunction::Range
    );
    if !is_range || !trains(eval, &file, body) || eval.place(span) != span {
        return Ok(());
    }
    let ends: Vec<String> = args.iter().map(|arg| eval.quote(eval.span_of(arg.value))).collect();
    let range = match &ends[..] {
        [to] if !to.starts_with('"') => format!("0..{to}"),
        [from, to] => format!("{from}..{to}"),
        _ => return Ok(()),
    };
    let message = "`range` takes a shape, as a text; training is repeated by `repeat`, over `a..b`";
    let help = format!("write `repeat {} in {range}:`", eval.text(name.name));
    let (word, at) = (Span { end: span.start + 3, ..span }, eval.span_of(list));
    let diagnostic = Diagnostic::error(codes::KIND, message, at, "");
    eval.fail(match range.contains('…') {
        true => diagnostic.with_help(help),
        false => diagnostic.with_edits(help, vec![Edit::new(word, "repeat"), Edit::new(at, range)]),
    })
}

/// Returns true if statements train, here or in the manner of other libraries.
fn trains(eval: &Eval<'_>, file: &File, statements: &[Statement]) -> bool {
    statements.iter().any(|statement| match &statement.kind {
        StatementKind::Minimise { .. } | StatementKind::Backward(_) => true,
        StatementKind::Expr(value) => match &file.expr(*value).kind {
            ExprKind::Call { callee, .. } => ["backward", "step"]
                .iter()
                .any(|method| matches!(file.expr(*callee).kind, ExprKind::Field(_, field) if eval.text(field.name) == *method)),
            _ => false,
        },
        other => other.blocks().any(|body| trains(eval, file, body)),
    })
}

/// Reports an assignment to something that is computed.
pub(in crate::eval) fn computed_target<T>(
    eval: &mut Eval<'_>,
    target: ExprId,
    tensor: Tensor,
    assign: &Assign,
) -> Evaluated<T> {
    let at = eval.span_of(target);
    let (place, made) = (eval.place(at), eval.where_made(&Value::Tensor(tensor)));
    let name = eval.quote(at);
    let (sign, value) =
        (assign.sign.text.trim_start_matches('=').to_string(), eval.quote(eval.span_of(assign.value)));
    let is_own = eval.graph.name_of(tensor) == Some(name.as_str());
    let file = eval.frame.file.clone();
    let around = loop_around(&file.statements, at);
    let help = match file.expr(target).kind {
        _ if is_own
            && sign == "+"
            && let Some((each, list, _)) = around =>
        {
            let header = format!("for {} in {}", eval.text(each.name), eval.quote(eval.span_of(list)));
            format!(
                "what a name stands for does not change: write `let total = {name} + sum([{value} {header}])` in place of the loop, and use `total`"
            )
        }
        _ if is_own && ["+", "-", "*", "/"].contains(&sign.as_str()) => format!(
            "what a name stands for does not change: write `let total = {name} {sign} {value}`, and use `total`; for numbers that are kept from repetition to repetition, declare a `state`"
        ),
        _ if is_own => {
            format!("write `state {name} : …` in place of its `let`, or `let` and another name here")
        }
        ExprKind::Index(whole, index) => {
            let [whole, index] = [whole, index].map(|part| eval.quote(eval.span_of(part)));
            format!(
                "all of a state is assigned: `{whole} = where(range(\"i |\") == {index}, 1, {whole})` changes one row"
            )
        }
        _ => "declare a `state`, or write `{name} = …` for a new tensor".to_string(),
    };
    let message = "only states, parameters and data can be assigned to, not what is computed";
    let mut diagnostic = Diagnostic::error(codes::KIND, message, place, "").with_fact(Fact::Impossible);
    diagnostic = diagnostic.with_help(help);
    if let Some(made) = made.filter(|made| place == at && *made != at) {
        diagnostic = diagnostic.with_label(made, "computed here");
    }
    eval.fail(diagnostic)
}

/// The text before a call of a method somewhere in this file: `optimiser` in `optimiser.step()`.
pub(in crate::eval) fn owner_of(eval: &Eval<'_>, method: &str) -> Option<String> {
    let file = &eval.frame.file;
    let found = file.exprs.iter().find_map(|expr| match &expr.kind {
        ExprKind::Field(of, field) if eval.text(field.name) == method => Some(*of),
        _ => None,
    });
    eval.quotable(file.expr(found?).span)
}

/// Advice for `loss.backward()` in a program that also takes a step: both are `minimise`.
pub(in crate::eval) fn backward_by_minimise(eval: &Eval<'_>, loss: &str) -> Option<String> {
    if let Some(owner) = owner_of(eval, "step") {
        return Some(format!(
            "leave out this line: `minimise {loss} by sgd(0.1)`, in place of `{owner}.step()`, computes the gradients"
        ));
    }
    fn minimises(statements: &[Statement]) -> bool {
        statements.iter().any(|statement| match &statement.kind {
            StatementKind::Minimise { .. } => true,
            other => other.blocks().any(minimises),
        })
    }
    minimises(&eval.frame.file.statements).then(|| {
        format!("leave out this line: `minimise` computes the gradients; alone, it is `backward {loss}`")
    })
}

/// Advice for a size that is read from a tensor, `x.shape[0]`, with the names of the program.
pub(crate) fn named_size(eval: &Eval<'_>, owner: &str, axis: Option<i64>, whole: Span) -> String {
    let text = eval.sources.get(whole.source).text();
    let before = text.get(..whole.start as usize).unwrap_or_default();
    let bound = suggest::bound_name(before).filter(|(name, rest)| rest.is_empty() && *name != owner);
    let size = bound.filter(|_| axis.is_some()).map_or("n", |(name, _)| name);
    let declared = declaration(&eval.frame.file.statements, |name| eval.text(name.name) == owner, whole);
    let Some((word, shape, span)) = declared else { return suggest::NAMED_SIZES.to_string() };
    let general = format!(
        "a size has a name where it is declared: `dim {size} = 32`, `{word} {owner} : {size} | 784`, and `{size}` is the number; `broadloom check` shows all shapes"
    );
    let Some(axis) = axis_at(shape, axis.unwrap_or(0)) else { return general };
    match axis.kind {
        AxisKind::Name(name)
            if matches!(eval.frame.scope.find(name), Some(Value::Size(_) | Value::Number(_))) =>
        {
            let shown = eval.quote(span);
            format!("`{}` is that size: `{owner}` is declared as `{shown}`", eval.text(name))
        }
        AxisKind::Size(number) if axis.basis.is_none() && eval.quotable(span).is_some() => {
            let (start, end) = (axis.span.start - span.start, axis.span.end - span.start);
            let mut named = eval.sources.slice(span).to_string();
            named.replace_range(start as usize..end as usize, size);
            format!(
                "a size has a name where it is declared: write `dim {size} = {number}` and `{word} {owner} : {named}`, and `{size}` is the number"
            )
        }
        _ => general,
    }
}

/// Adds advice for `let w = zeros(10, 5)`: how such a tensor is declared. The span is that of the function.
pub(in crate::eval) fn declared_first(
    eval: &Eval<'_>,
    diagnostic: Diagnostic,
    function: Span,
    arguments: &[String],
    values: &str,
) -> Diagnostic {
    let text = eval.sources.get(function.source).text();
    let before = text.get(..function.start as usize).unwrap_or_default();
    let bound = suggest::bound_name(before).filter(|(_, rest)| rest.is_empty());
    let sizes = arguments.iter().filter(|each| !each.contains(" = "));
    let sizes: Vec<String> = sizes
        .flat_map(|each| each.trim_matches(['[', ']', '(', ')']).split(','))
        .map(|size| size.trim().to_string())
        .collect();
    let sizes = suggest::sizes(&sizes);
    let line = before.rsplit(['\n', '\r']).next().unwrap_or_default();
    let is_declared = ["data ", "state "].iter().any(|word| line.trim_start().starts_with(word));
    if line.trim_end().ends_with('=') && (is_declared || line.rfind('{') > line.rfind('}')) {
        // A shape stands before the sign, so that a fraction is the deviation.
        let written = match arguments {
            [deviation] if values == "normal(1)" && deviation.contains('.') => {
                format!("normal({deviation})")
            }
            _ => values.to_string(),
        };
        return diagnostic.with_help(format!("the sizes are written before `=`: write `{written}`"));
    }
    let name = bound.map(|(name, _)| name);
    let diagnostic = diagnostic.with_help(suggest::declared(name, &sizes, values));
    let behind = text.get(function.end as usize..).unwrap_or_default();
    let call = list_length(behind);
    let alone = behind[call..].lines().next().unwrap_or_default().trim();
    let (Some((name, _)), true, true) = (bound, alone.is_empty(), eval.place(function) == function) else {
        return diagnostic;
    };
    let line = before.len() - before.rsplit(['\n', '\r']).next().unwrap_or_default().trim_start().len();
    let whole = Span { start: line as u32, end: function.end + call as u32, ..function };
    let written = format!("data {name} : {} = {values}", sizes.join(", "));
    diagnostic.fixed_by(format!("write `{written}`"), vec![Edit::new(whole, written)])
}

/// The last declaration of a name before a place: its word, its shape and the span of the shape.
fn declaration(
    statements: &[Statement],
    is_it: impl Fn(&Ident) -> bool + Copy,
    before: Span,
) -> Option<(&'static str, &Shape, Span)> {
    let earlier = statements.iter().rev().filter(|statement| statement.span.start < before.start);
    earlier.filter(|statement| statement.span.source == before.source).find_map(|statement| match &statement
        .kind
    {
        StatementKind::Leaf { kind, name, shape: Some(shape), .. } if is_it(name) => {
            let word = if *kind == LeafKind::Data { "data" } else { "state" };
            Some((word, shape, shape.span?))
        }
        other => other.blocks().find_map(|body| declaration(body, is_it, before)),
    })
}

/// An axis by its number in memory order: batch, output, input. Negative numbers count from the end.
fn axis_at(shape: &Shape, at: i64) -> Option<&Axis> {
    let rows = shape.batch.iter().flatten().chain(&shape.output).chain(shape.input.iter().flatten());
    let axes: Vec<&Axis> = rows.collect();
    let open = |axis: &&Axis| matches!(axis.kind, AxisKind::Rest | AxisKind::Row(_));
    if axes.iter().any(open) {
        return None;
    }
    let at = if at < 0 { at + axes.len() as i64 } else { at };
    axes.get(usize::try_from(at).ok()?).copied()
}

/// The innermost loop around a place: its name, its list and its body.
fn loop_around(statements: &[Statement], at: Span) -> Option<(Ident, ExprId, &[Statement])> {
    statements.iter().filter(|statement| statement.span.contains(at)).find_map(|statement| {
        match &statement.kind {
            StatementKind::For { name, list, body } => {
                loop_around(body, at).or(Some((*name, *list, &body[..])))
            }
            other => other.blocks().find_map(|body| loop_around(body, at)),
        }
    })
}
