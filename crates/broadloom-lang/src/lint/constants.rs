//! Losses and parameters through which no gradient goes, or which no step changes: those computed from gradients of other losses, and those of
//! whole numbers.

use broadloom::{reached_gradients, trainable};
use broadloom_diagnostics::{Diagnostic, Wording};
use rustc_hash::FxHashSet;

use crate::codes;
use crate::program::Program;

/// Losses that are computed from `w.grad` without `stop_gradient`: a gradient is a number like those of data, so that
/// such a penalty teaches nothing.
pub(super) fn second_gradients(program: &Program) -> Vec<Diagnostic> {
    let graph = &program.graph;
    let mut found = Vec::new();
    for (loss, span) in program.plan.minimised.iter().chain(&program.plan.backward) {
        let Some(of) = reached_gradients(graph, *loss).first().copied() else { continue };
        let (name, of) = (graph.message_name(*loss), graph.message_name(of));
        let message = format!("no gradient goes back through `{of}.grad`, which `{name}` is computed from");
        let label = format!("here `{of}.grad` is a number like those of data");
        let help = Wording::new(
            "gradients of gradients are not computed; if it is meant as a number, write `stop_gradient(",
        )
        .name(format!("{of}.grad"))
        .words(")`");
        found.push(Diagnostic::warning(codes::SECOND, message, *span, label).with_help(help));
    }
    found
}

/// Trained parameters that hold whole numbers: what a step adds is rounded away.
pub(super) fn whole_parameters(program: &Program) -> Vec<Diagnostic> {
    let graph = &program.graph;
    if program.plan.minimised.is_empty() {
        return Vec::new();
    }
    let dtypes = graph.dtypes();
    let mut said = FxHashSet::default();
    let mut found = Vec::new();
    for (loss, span) in &program.plan.minimised {
        for param in trainable(graph, *loss) {
            let dtype = dtypes[param.index()];
            let Some(made) = program.made.iter().find(|made| made.tensor == param) else { continue };
            if dtype.is_float() || !said.insert(param) {
                continue;
            }
            let message = format!("`{}` holds whole numbers, `{dtype}`, and is trained", made.name);
            let label = "what a step changes is rounded towards 0";
            let help = "declare it `as f32`; where whole numbers are needed, cast it there: `i32(round(w))`";
            found.push(
                Diagnostic::warning(codes::UNTRAINED, message, made.span, label)
                    .with_label(*span, "trained here")
                    .with_help(help),
            );
        }
    }
    found
}
