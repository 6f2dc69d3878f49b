//! Rules that are given the parameters which they change, as in other libraries: `adam(net.parameters(), lr = 0.01)`.

use broadloom_diagnostics::Span;

use crate::eval::Eval;
use crate::suggest;
use crate::syntax::ast::{Arg, ExprId, ExprKind, Statement, StatementKind};
use crate::value::Value;

/// The rule of the library that is given something at a place: its name, and how it is written without that.
pub(in crate::eval) fn rule_around(eval: &Eval<'_>, at: Span) -> Option<(String, String)> {
    let file = &eval.frame.file;
    file.exprs.iter().find_map(|expr| {
        let ExprKind::Call { callee, args } = &expr.kind else { return None };
        let ExprKind::Name(name) = file.expr(*callee).kind else { return None };
        let Some(Value::Function(function)) = eval.frame.scope.find(name) else { return None };
        if !expr.span.contains(at) || !eval.library.has_rules(function.def.name.span.source) {
            return None;
        }
        let config: Vec<&str> =
            function.def.config.iter().flatten().map(|each| eval.text(each.name.name)).collect();
        let rest = args.iter().filter(|arg| !eval.span_of(arg.value).contains(at));
        let written: Vec<String> = rest.map(|arg| rule_argument(eval, arg, &config)).collect();
        let name = eval.text(name).to_string();
        // Some have a rate of their own, and others need one.
        let first = function.def.config.iter().flatten().next();
        let list = match written.is_empty() && first.is_some_and(|first| first.default.is_none()) {
            true => "0.01".to_string(),
            false => written.join(", "),
        };
        Some((name.clone(), format!("{name}({list})")))
    })
}

/// An argument of a rule by its name here; the first one needs none.
fn rule_argument(eval: &Eval<'_>, arg: &Arg, config: &[&str]) -> String {
    let value = eval.quote(eval.span_of(arg.value));
    let Some(name) = arg.name.map(|name| eval.text(name.name)) else { return value };
    let meant = suggest::argument(name).iter().find(|meant| config.contains(meant)).copied();
    match meant.unwrap_or(name) {
        meant if Some(&meant) == config.first() => value,
        meant => format!("{meant} = {value}"),
    }
}

/// Says how to change the parameters of a layer alone, for a rule that is given them at a place.
pub(in crate::eval) fn minimise_of(eval: &Eval<'_>, at: Span, net: Option<&str>) -> Option<String> {
    let (_, rule) = rule_around(eval, at)?;
    let of = net.map_or(String::new(), |net| format!(" of {net}"));
    let loss = minimised(&eval.frame.file.statements, |rule| eval.span_of(rule).contains(at));
    Some(match loss {
        Some(loss) => {
            format!("write `minimise {}{of} by {rule}`", eval.quote(eval.span_of(loss)))
        }
        None => format!("write `minimise loss{of} by {rule}`; the rule alone is `{rule}`"),
    })
}

/// The function whose parameters a list holds: `net` in `params(net(x))`.
pub(in crate::eval) fn owner_of_params(eval: &Eval<'_>, at: Span) -> Option<String> {
    let file = &eval.frame.file;
    let list = file.exprs.iter().find(|expr| expr.span == at)?;
    let ExprKind::Call { args, .. } = &list.kind else { return None };
    let [Arg { value, .. }] = &args[..] else { return None };
    match &file.expr(*value).kind {
        ExprKind::Call { callee, .. } => eval.quotable(eval.span_of(*callee)),
        _ => None,
    }
}

/// Returns true if an expression is a list of parameters in the manner of other libraries, `net.parameters()`.
pub(in crate::eval) fn is_parameters(eval: &Eval<'_>, of: ExprId) -> bool {
    let file = &eval.frame.file;
    let ExprKind::Call { callee, .. } = &file.expr(of).kind else { return false };
    match file.expr(*callee).kind {
        ExprKind::Field(_, field) => eval.text(field.name) == "parameters",
        ExprKind::Name(name) => eval.text(name) == "params",
        _ => false,
    }
}

/// The loss of the statement that minimises by a rule.
fn minimised(statements: &[Statement], is_it: impl Fn(ExprId) -> bool + Copy) -> Option<ExprId> {
    statements.iter().find_map(|statement| match &statement.kind {
        StatementKind::Minimise { loss, rule, .. } if is_it(*rule) => Some(*loss),
        other => other.blocks().find_map(|body| minimised(body, is_it)),
    })
}
