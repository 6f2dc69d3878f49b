//! Answers about systems of constraints.

use std::collections::HashMap;

use broadloom_diagnostics::{Edit, Span};
use broadloom_rows::editing::Proposed;
use gen_lsp_types::{
    CompletionItem, CompletionItemKind, CompletionResponse, Definition, DefinitionResponse,
    DocumentHighlight, Hover, InlayHint, InlayHintKind, Location, MarkupContent, MarkupKind,
    PrepareRenamePlaceholder, PrepareRenameResult, TextEdit, Uri, WorkspaceEdit,
};
use lsp_server::ErrorCode;

use crate::world::{Answer, World, failed};

/// The value of the variable at an offset.
pub(super) fn hover(world: &mut World, uri: &Uri, offset: u32) -> Answer<Option<Hover>> {
    let Some(found) = world.system(uri)?.and_then(|system| system.hover(offset)) else { return Ok(None) };
    let range = world.range_of(uri, found.span)?;
    let contents = MarkupContent { kind: MarkupKind::Markdown, value: found.markdown };
    Ok(Some(Hover { contents: contents.into(), range: Some(range) }))
}

/// Values beside variables, between two offsets.
pub(super) fn hints(
    world: &mut World,
    uri: &Uri,
    (start, end): (u32, u32),
) -> Answer<Option<Vec<InlayHint>>> {
    let Some(hints) = world.system(uri)?.map(|system| system.hints()) else { return Ok(None) };
    let mut shown = Vec::new();
    for (span, text) in hints.into_iter().filter(|(span, _)| span.start < end && start <= span.end) {
        shown.push(InlayHint {
            position: world.range_of(uri, span)?.end,
            label: text.into(),
            kind: Some(InlayHintKind::Type),
            text_edits: None,
            tooltip: None,
            padding_left: None,
            padding_right: None,
            data: None,
        });
    }
    Ok(Some(shown))
}

/// The place that says what the variable at an offset is.
pub(super) fn definition(world: &mut World, uri: &Uri, offset: u32) -> Answer<Option<DefinitionResponse>> {
    let found = world.system(uri)?.and_then(|system| system.definition(offset));
    let Some(span) = found else { return Ok(None) };
    let location = Location { uri: uri.clone(), range: world.range_of(uri, span)? };
    Ok(Some(Definition::from(location).into()))
}

/// The places where the variable at an offset is written.
pub(super) fn references(
    world: &mut World,
    uri: &Uri,
    offset: u32,
    with_definition: bool,
) -> Answer<Option<Vec<Location>>> {
    let definition = world.system(uri)?.and_then(|system| system.definition(offset));
    let mut found = Vec::new();
    for span in uses(world, uri, offset)? {
        if with_definition || definition != Some(span) {
            found.push(Location { uri: uri.clone(), range: world.range_of(uri, span)? });
        }
    }
    Ok((!found.is_empty()).then_some(found))
}

/// The same places in the text itself.
pub(super) fn highlights(
    world: &mut World,
    uri: &Uri,
    offset: u32,
) -> Answer<Option<Vec<DocumentHighlight>>> {
    let mut found = Vec::new();
    for span in uses(world, uri, offset)? {
        found.push(DocumentHighlight { range: world.range_of(uri, span)?, kind: None });
    }
    Ok((!found.is_empty()).then_some(found))
}

fn uses(world: &mut World, uri: &Uri, offset: u32) -> Answer<Vec<Span>> {
    Ok(world.system(uri)?.map_or(Vec::new(), |system| system.uses(offset)))
}

/// The variable at an offset, which can be renamed.
pub(super) fn renamable(world: &mut World, uri: &Uri, offset: u32) -> Answer<Option<PrepareRenameResult>> {
    let found = world.system(uri)?.and_then(|system| system.name(offset));
    let Some((name, span)) = found.map(|(name, span)| (name.to_string(), span)) else { return Ok(None) };
    let range = world.range_of(uri, span)?;
    Ok(Some(PrepareRenamePlaceholder { range, placeholder: name }.into()))
}

/// The changes that rename the variable at an offset.
pub(super) fn rename(world: &mut World, uri: &Uri, offset: u32, new: &str) -> Answer<Option<WorkspaceEdit>> {
    let Some(edits) = world.system(uri)?.map(|system| system.rename(offset, new)) else { return Ok(None) };
    let edits = edits.map_err(|reason| failed(ErrorCode::RequestFailed, reason))?;
    let edits = world.edits(uri, &edits)?;
    Ok(Some(World::workspace_edit(HashMap::from([(uri.clone(), edits)]))))
}

/// Variables, and words for tags.
pub(super) fn completion(world: &mut World, uri: &Uri, offset: u32) -> Answer<Option<CompletionResponse>> {
    let Some(found) = world.system(uri)?.map(|system| system.completion(offset)) else { return Ok(None) };
    let mut items = Vec::new();
    for (rank, proposed) in found.into_iter().enumerate() {
        let Proposed { label, detail, replaces, is_keyword } = proposed;
        let span = Span::new(broadloom_rows::SOURCE, offset.saturating_sub(replaces), offset);
        let range = world.range_of(uri, span)?;
        let kind = if is_keyword { CompletionItemKind::Keyword } else { CompletionItemKind::Variable };
        items.push(CompletionItem {
            label: label.clone(),
            kind: Some(kind),
            detail: Some(detail).filter(|detail| !detail.is_empty()),
            sort_text: Some(format!("{rank:05}")),
            // Editors compare what is replaced with it.
            filter_text: Some(label.clone()),
            text_edit: Some(TextEdit { range, new_text: label }.into()),
            ..CompletionItem::default()
        });
    }
    Ok(Some(items.into()))
}

/// The changes that lay out the lines that touch a part of the text.
pub(super) fn layout(
    world: &mut World,
    uri: &Uri,
    (start, end): (u32, u32),
) -> Answer<Option<Vec<TextEdit>>> {
    let Some(edits) = world.system(uri)?.map(|system| system.layout()) else { return Ok(None) };
    let is_here = |edit: &Edit| edit.span.start <= end && start <= edit.span.end;
    let edits: Vec<Edit> = edits.into_iter().filter(is_here).collect();
    world.edits(uri, &edits).map(Some)
}
