//! Completions at a place.

use broadloom_ide::Completion;
use gen_lsp_types::{CompletionItem, CompletionItemKind, CompletionParams, CompletionResponse};

use crate::world::{Answer, World};

/// The completions at a place, in the order in which they are likely.
pub(crate) fn completion(world: &mut World, params: CompletionParams) -> Answer<Option<CompletionResponse>> {
    let at = params.text_document_position_params;
    let offset = world.offset(&at)?;
    let Some(analysis) = world.program(&at.text_document.uri)? else { return Ok(None) };
    let found = broadloom_ide::completion(analysis, offset);
    let items: Vec<CompletionItem> = found.iter().enumerate().map(|(rank, each)| item(rank, each)).collect();
    Ok(Some(items.into()))
}

fn item(rank: usize, completion: &Completion) -> CompletionItem {
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
        ..CompletionItem::default()
    }
}
