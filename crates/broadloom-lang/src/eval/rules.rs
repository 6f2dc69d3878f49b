//! Rules that are given the parameters which they change, as in other libraries: `adam(net.parameters(), lr = 0.01)`.

use broadloom_diagnostics::Span;

use super::Eval;
use crate::suggest;
use crate::syntax::ast::{Arg, ExprId, ExprKind, Statement, StatementKind};
use crate::value::Value;

impl Eval<'_> {
    /// The rule of the library that is given something at a place: its name, and how it is written without that.
    pub(super) fn rule_around(&self, at: Span) -> Option<(String, String)> {
        let file = &self.frame.file;
        file.exprs.iter().find_map(|expr| {
            let ExprKind::Call { callee, args } = &expr.kind else { return None };
            let ExprKind::Name(name) = file.expr(*callee).kind else { return None };
            let Some(Value::Function(function)) = self.frame.scope.find(name) else { return None };
            if !expr.span.contains(at) || !self.library.has_rules(function.def.name.span.source) {
                return None;
            }
            let config: Vec<&str> =
                function.def.config.iter().flatten().map(|each| self.text(each.name.name)).collect();
            let rest = args.iter().filter(|arg| !self.span_of(arg.value).contains(at));
            let written: Vec<String> = rest.map(|arg| self.rule_argument(arg, &config)).collect();
            let name = self.text(name).to_string();
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
    fn rule_argument(&self, arg: &Arg, config: &[&str]) -> String {
        let value = self.quote(self.span_of(arg.value));
        let Some(name) = arg.name.map(|name| self.text(name.name)) else { return value };
        let meant = suggest::argument(name).iter().find(|meant| config.contains(meant)).copied();
        match meant.unwrap_or(name) {
            meant if Some(&meant) == config.first() => value,
            meant => format!("{meant} = {value}"),
        }
    }

    /// Says how to change the parameters of a layer alone, for a rule that is given them at a place.
    pub(super) fn minimise_of(&self, at: Span, net: Option<&str>) -> Option<String> {
        let (_, rule) = self.rule_around(at)?;
        let of = net.map_or(String::new(), |net| format!(" of {net}"));
        let loss = minimised(&self.frame.file.statements, |rule| self.span_of(rule).contains(at));
        Some(match loss {
            Some(loss) => {
                format!("write `minimise {}{of} by {rule}`", self.quote(self.span_of(loss)))
            }
            None => format!("write `minimise loss{of} by {rule}`; the rule alone is `{rule}`"),
        })
    }

    /// The function whose parameters a list holds: `net` in `params(net(x))`.
    pub(super) fn owner_of_params(&self, at: Span) -> Option<String> {
        let file = &self.frame.file;
        let list = file.exprs.iter().find(|expr| expr.span == at)?;
        let ExprKind::Call { args, .. } = &list.kind else { return None };
        let [Arg { value, .. }] = &args[..] else { return None };
        match &file.expr(*value).kind {
            ExprKind::Call { callee, .. } => Some(self.quote(self.span_of(*callee))),
            _ => None,
        }
        .filter(|owner| owner != "…")
    }

    /// Returns true if an expression is a list of parameters in the manner of other libraries, `net.parameters()`.
    pub(super) fn is_parameters(&self, of: ExprId) -> bool {
        let file = &self.frame.file;
        let ExprKind::Call { callee, .. } = &file.expr(of).kind else { return false };
        match file.expr(*callee).kind {
            ExprKind::Field(_, field) => self.text(field.name) == "parameters",
            ExprKind::Name(name) => self.text(name) == "params",
            _ => false,
        }
    }
}

/// The loss of the statement that minimises by a rule.
fn minimised(statements: &[Statement], is_it: impl Fn(ExprId) -> bool + Copy) -> Option<ExprId> {
    statements.iter().find_map(|statement| match &statement.kind {
        StatementKind::Minimise { loss, rule, .. } if is_it(*rule) => Some(*loss),
        other => other.blocks().find_map(|body| minimised(body, is_it)),
    })
}
