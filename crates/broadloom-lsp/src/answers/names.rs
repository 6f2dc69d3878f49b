//! Finds where a name is bound and used, and renames it, across the files of the folders that are open.

use std::collections::HashMap;

use broadloom_diagnostics::Span;
use gen_lsp_types::{
    Definition, DefinitionParams, DefinitionResponse, DocumentHighlight, DocumentHighlightParams, Location,
    PrepareRenameParams, PrepareRenamePlaceholder, PrepareRenameResult, ReferenceParams, RenameParams,
    TextEdit, Uri, WorkspaceEdit,
};
use lsp_server::ErrorCode;

use crate::world::{Answer, World, failed};

/// The place that binds the name at a place.
pub(crate) fn definition(world: &mut World, params: DefinitionParams) -> Answer<Option<DefinitionResponse>> {
    let at = params.text_document_position_params;
    let offset = world.offset(&at)?;
    let uri = at.text_document.uri;
    let Some(analysis) = world.program(&uri)? else { return Ok(None) };
    let Some(span) = broadloom_ide::definition(analysis, offset) else { return Ok(None) };
    Ok(world.location(&uri, span)?.map(|location| Definition::from(location).into()))
}

/// The places where the name at a place is used, in all open programs.
pub(crate) fn references(world: &mut World, params: ReferenceParams) -> Answer<Option<Vec<Location>>> {
    let at = params.text_document_position_params;
    let offset = world.offset(&at)?;
    let Some(found) = uses(world, &at.text_document.uri, offset)? else { return Ok(None) };
    let is_wanted = |location: &Location| {
        params.context.include_declaration || found.definition.as_ref() != Some(location)
    };
    Ok(Some(found.places.into_iter().filter(is_wanted).collect()))
}

/// The places of the same document where the name at a place is written.
pub(crate) fn highlights(
    world: &mut World,
    params: DocumentHighlightParams,
) -> Answer<Option<Vec<DocumentHighlight>>> {
    let at = params.text_document_position_params;
    let offset = world.offset(&at)?;
    let uri = at.text_document.uri;
    let Some(analysis) = world.program(&uri)? else { return Ok(None) };
    let Some(found) = broadloom_ide::references(analysis, offset) else { return Ok(None) };
    let mut shown = Vec::new();
    for place in found.places {
        shown.push(DocumentHighlight { range: world.range_of(&uri, place)?, kind: None });
    }
    Ok(Some(shown))
}

/// The name at a place, if it can be renamed.
pub(crate) fn renamable(
    world: &mut World,
    params: PrepareRenameParams,
) -> Answer<Option<PrepareRenameResult>> {
    let at = params.text_document_position_params;
    let offset = world.offset(&at)?;
    let uri = at.text_document.uri;
    let Some(analysis) = world.program(&uri)? else { return Ok(None) };
    match broadloom_ide::renamable(analysis, offset) {
        None => Ok(None),
        Some(Err(reason)) => Err(failed(ErrorCode::RequestFailed, reason)),
        Some(Ok(span)) => {
            let placeholder = analysis.sources().slice(span).to_string();
            let range = world.range_of(&uri, span)?;
            Ok(Some(PrepareRenamePlaceholder { range, placeholder }.into()))
        }
    }
}

/// The changes that rename the name at a place, in all open programs that use it.
pub(crate) fn rename(world: &mut World, params: RenameParams) -> Answer<Option<WorkspaceEdit>> {
    let at = params.text_document_position_params;
    let offset = world.offset(&at)?;
    let uri = at.text_document.uri;
    let Some(analysis) = world.program(&uri)? else { return Ok(None) };
    let refused = |reason| failed(ErrorCode::RequestFailed, reason);
    let edits = broadloom_ide::rename(analysis, offset, &params.new_name).map_err(refused)?;
    let mut changes = HashMap::from([(uri.clone(), world.edits(&uri, &edits)?)]);
    let Some(found) = uses(world, &uri, offset)? else { return Ok(None) };
    for Location { uri: other, range } in found.places {
        if other != uri {
            let edit = TextEdit { range, new_text: params.new_name.clone() };
            changes.entry(other).or_default().push(edit);
        }
    }
    Ok(Some(World::workspace_edit(changes)))
}

/// A name with its definition and all its places.
struct Uses {
    definition: Option<Location>,
    places: Vec<Location>,
}

/// The places of a name in its own document, and in those that import it.
fn uses(world: &mut World, uri: &Uri, offset: u32) -> Answer<Option<Uses>> {
    let Some(analysis) = world.program(uri)? else { return Ok(None) };
    let Some(found) = broadloom_ide::references(analysis, offset) else { return Ok(None) };
    let mut places = Vec::new();
    for place in found.places {
        places.extend(world.location(uri, place)?);
    }
    let definition = match found.definition {
        Some(span) => world.location(uri, span)?,
        None => None,
    };
    if let Some(definition) = &definition {
        importers(world, definition, &mut places)?;
        if !places.contains(definition) && definition.range.start != definition.range.end {
            places.push(definition.clone());
        }
    }
    Ok(Some(Uses { definition, places }))
}

/// Adds the uses of something in other open programs that import the file it is defined in.
fn importers(world: &mut World, definition: &Location, places: &mut Vec<Location>) -> Answer<()> {
    let Some(file) =
        crate::uri::path(&definition.uri).map(|path| std::fs::canonicalize(&path).unwrap_or(path))
    else {
        return Ok(());
    };
    let mut others: Vec<Uri> = world.documents.keys().cloned().collect();
    others.sort_by(|a, b| a.as_ref().cmp(b.as_ref()));
    for other in others {
        let encoding = world.encoding;
        let Some(analysis) = world.program(&other)? else { continue };
        let Some((source, _)) = analysis.program.files.iter().find(|(_, known)| *known == file) else {
            continue;
        };
        let text = analysis.sources().get(*source);
        let (start, end) = encoding.offsets(text, definition.range);
        let uses = broadloom_ide::uses_of_member(analysis, Span::new(*source, start, end));
        for place in uses {
            let location = world.location(&other, place)?;
            places.extend(location.filter(|location| !places.contains(location)));
        }
    }
    Ok(())
}
