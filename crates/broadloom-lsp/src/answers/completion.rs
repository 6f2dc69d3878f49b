//! Completions at a place.

use broadloom_diagnostics::Span;
use broadloom_ide::Completion;
use gen_lsp_types::{
    CompletionItem, CompletionItemKind, CompletionParams, CompletionResponse, Range, TextEdit,
};

use crate::answers::rows;
use crate::world::{Answer, World};

/// The completions at a place, in the order in which they are likely.
pub(crate) fn completion(world: &mut World, params: CompletionParams) -> Answer<Option<CompletionResponse>> {
    let at = params.text_document_position_params;
    let (encoding, offset) = (world.encoding, world.offset(&at)?);
    let uri = at.text_document.uri;
    let Some(analysis) = world.program(&uri)? else { return rows::completion(world, &uri, offset) };
    let found = broadloom_ide::completion(analysis, offset);
    let source = analysis.sources().get(analysis.program.main);
    let replaced = |each: &Completion| {
        let start = offset.saturating_sub(each.replaces);
        encoding.range(source, Span::new(analysis.program.main, start, offset))
    };
    let items: Vec<CompletionItem> =
        found.iter().enumerate().map(|(rank, each)| item(rank, each, replaced(each))).collect();
    Ok(Some(items.into()))
}

fn item(rank: usize, completion: &Completion, range: Range) -> CompletionItem {
    let kind = match completion.kind {
        "function" => CompletionItemKind::Function,
        "keyword" => CompletionItemKind::Keyword,
        "module" => CompletionItemKind::Module,
        "dim" | "label" => CompletionItemKind::TypeParameter,
        "field" => CompletionItemKind::Field,
        "argument" => CompletionItemKind::Property,
        "type" => CompletionItemKind::Class,
        _ => CompletionItemKind::Variable,
    };
    CompletionItem {
        label: completion.label.clone(),
        kind: Some(kind),
        detail: Some(completion.detail.clone()).filter(|detail| !detail.is_empty()),
        documentation: completion.documentation.clone().map(Into::into),
        sort_text: Some(format!("{rank:05}")),
        // Editors would look for the word by themselves, and in a spec of letters each letter is one.
        text_edit: Some(TextEdit { range, new_text: completion.label.clone() }.into()),
        ..CompletionItem::default()
    }
}
