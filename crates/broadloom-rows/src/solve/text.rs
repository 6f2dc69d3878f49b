//! The answer as a table.

use std::fmt::Write;

use broadloom_core::How;
use broadloom_diagnostics::{Column, Table};

use super::answer::Answered;
use super::problem::Problem;
use super::{Status, notation};

/// Columns line up as far as a person can look.
const WIDEST: usize = 80;

/// Writes the answer for people.
pub fn answer(problem: &Problem, answered: &Answered) -> String {
    let mut out = String::new();
    if answered.status == Status::Solved || answered.status == Status::Underdetermined {
        headline(problem, answered, &mut out);
        table(problem, answered, &mut out);
        residual(problem, answered, &mut out);
        explanations(problem, answered, &mut out);
    }
    out
}

/// The name of the way in which a variable was fixed.
pub fn how(how: How) -> &'static str {
    match how {
        How::Forced => "forced",
        How::Leaf => "leaf",
        How::Interior => "interior",
        How::Search => "search",
    }
}

fn headline(problem: &Problem, answered: &Answered, out: &mut String) {
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let principal = if answered.report.principal { "principal" } else { "not principal" };
    let branches = match answered.branches {
        0 => "no search".into(),
        1 => "1 branch failed".into(),
        n => format!("{n} branches failed"),
    };
    let variables = count(problem.vars.len(), "variable");
    let constraints = count(problem.solver.len(), "constraint");
    let _ = writeln!(out, "{}: {variables}, {constraints}, {principal}, {branches}", answered.status.name());
}

fn table(problem: &Problem, answered: &Answered, out: &mut String) {
    if answered.solution.is_empty() {
        return;
    }
    let mut table = Table::new(["variable", "value", "fixed by"].map(Column::new)).with_widest(WIDEST);
    for (name, value, fixed) in &answered.solution {
        table.row([problem.system.show(name).to_string(), value.clone(), how(*fixed).to_owned()]);
    }
    let _ = write!(out, "\n{}", table.show(None, false));
}

fn residual(problem: &Problem, answered: &Answered, out: &mut String) {
    if answered.report.residual.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nbounds left before closing");
    for bound in notation::bounds(problem, &answered.report.residual) {
        let _ = writeln!(out, "  {bound}");
    }
}

fn explanations(problem: &Problem, answered: &Answered, out: &mut String) {
    for explanation in &answered.explanations {
        let value = answered.solution.iter().find(|(name, ..)| *name == explanation.name);
        let Some((name, value, fixed)) = value else { continue };
        let _ = writeln!(out, "\nwhy {} = {value}  ({})", problem.system.show(name), how(*fixed));
        let wide = explanation.steps.iter().map(|step| step.what.chars().count()).max().unwrap_or(0).min(60);
        for step in &explanation.steps {
            let place = step.line.map_or(String::new(), |line| format!("line {line}"));
            let so = if step.so.is_empty() { String::new() } else { format!("  so {}", step.so.join(", ")) };
            let line = format!("  {place:<9} {:wide$}{so}", step.what);
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
}
