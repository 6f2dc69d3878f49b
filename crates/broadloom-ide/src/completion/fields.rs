//! Completions after a dot: sizes, gradients, parameters of layers, names of modules.

use broadloom_diagnostics::Span;

use super::Completion;
use crate::analysis::Analysis;
use crate::definition::members;
use crate::fields::{OF_TENSORS, sizes_by_name};
use crate::names::{BindingKind, Bindings};

/// The fields of a name.
pub(super) fn fields(analysis: &Analysis, owner: Span) -> Vec<Completion> {
    let program = &analysis.program;
    let text = program.sources.get(program.main).text();
    let bindings = Bindings::new(program.main, text);
    let Some(binding) = bindings.find(owner.slice(text), owner.start) else { return Vec::new() };
    if binding.kind == BindingKind::Module {
        let member = |each: &crate::names::Binding| {
            let detail = program.sources.slice(each.head);
            Completion::new(each.name.as_str(), each.kind.word(), detail)
        };
        return members(analysis, binding).iter().map(member).collect();
    }
    let mut all = captured(analysis, binding.span);
    all.extend(parameters(analysis, &binding.name));
    let is_tensor = program.made.iter().any(|made| made.span == binding.span);
    all.extend(
        OF_TENSORS.iter().filter(|_| is_tensor).map(|(name, what)| Completion::new(*name, "field", *what)),
    );
    all
}

/// The sizes of the spec or the shape that made a tensor.
fn captured(analysis: &Analysis, span: Span) -> Vec<Completion> {
    let graph = &analysis.program.graph;
    let Some(made) = analysis.program.made.iter().rev().find(|made| made.span == span) else {
        return Vec::new();
    };
    let names = sizes_by_name(analysis, made.tensor).into_iter();
    let field = |name: &str| {
        let captured = graph.captured(made.tensor, name).ok()?;
        let size = graph.size(captured).map_or(String::from("a size"), |size| size.to_string());
        Some(Completion::new(name, "field", size))
    };
    names.filter_map(field).collect()
}

/// The parameters and layers that a layer has made, by its path.
pub(super) fn parameters(analysis: &Analysis, layer: &str) -> Vec<Completion> {
    let prefix = format!("{layer}.");
    let field = |made: &broadloom_lang::NamedTensor| {
        let rest = made.name.strip_prefix(&prefix)?;
        Some(match rest.split_once('.') {
            Some((inner, _)) => Completion::new(inner, "layer", ""),
            None => Completion::new(rest, "parameter", analysis.program.graph.shape(made.tensor).to_string()),
        })
    };
    // The layers of a list are not its fields.
    let is_name = |each: &Completion| !each.label.starts_with(|first: char| first.is_ascii_digit());
    analysis.program.made.iter().filter_map(field).filter(is_name).collect()
}
