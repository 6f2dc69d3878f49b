//! Finds where a name is bound and used, and renames it, across the files of the folders that are open.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use broadloom_diagnostics::{Edit, Source, Span};
use broadloom_ide::{Analysis, Text};
use gen_lsp_types::{
    Definition, DefinitionParams, DefinitionResponse, DocumentHighlight, DocumentHighlightParams, Location,
    PrepareRenameParams, PrepareRenamePlaceholder, PrepareRenameResult, Range, ReferenceParams, RenameParams,
    TextEdit, Uri, WorkspaceEdit,
};
use lsp_server::ErrorCode;

use crate::answers::rows;
use crate::folders::MOST_FILES;
use crate::world::{Answer, World, failed};

/// The place that binds the name at a place.
pub(crate) fn definition(world: &mut World, params: DefinitionParams) -> Answer<Option<DefinitionResponse>> {
    let at = params.text_document_position_params;
    let offset = world.offset(&at)?;
    let uri = at.text_document.uri;
    let Some(analysis) = world.program(&uri)? else { return rows::definition(world, &uri, offset) };
    let Some(span) = broadloom_ide::definition(analysis, offset) else { return Ok(None) };
    Ok(world.location(&uri, span)?.map(|location| Definition::from(location).into()))
}

/// The places where the name at a place is used, in all programs of the open folders.
pub(crate) fn references(world: &mut World, params: ReferenceParams) -> Answer<Option<Vec<Location>>> {
    let at = params.text_document_position_params;
    let offset = world.offset(&at)?;
    let (uri, with_definition) = (at.text_document.uri, params.context.include_declaration);
    if world.system(&uri)?.is_some() {
        return rows::references(world, &uri, offset, with_definition);
    }
    let Some(found) = uses(world, &uri, offset)? else { return Ok(None) };
    let is_wanted = |location: &Location| with_definition || found.definition.as_ref() != Some(location);
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
    let Some(analysis) = world.program(&uri)? else { return rows::highlights(world, &uri, offset) };
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
    let Some(analysis) = world.program(&uri)? else { return rows::renamable(world, &uri, offset) };
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

/// The changes that rename the name at a place, in all programs of the open folders that use it.
pub(crate) fn rename(world: &mut World, params: RenameParams) -> Answer<Option<WorkspaceEdit>> {
    let at = params.text_document_position_params;
    let offset = world.offset(&at)?;
    let uri = at.text_document.uri;
    let refused = |reason: String| failed(ErrorCode::RequestFailed, reason);
    let Some(analysis) = world.program(&uri)? else {
        return rows::rename(world, &uri, offset, &params.new_name);
    };
    if let Some(Err(reason)) = broadloom_ide::renamable(analysis, offset) {
        return Err(refused(reason));
    }
    let Some(found) = uses(world, &uri, offset)? else { return Ok(None) };
    if found.is_short {
        let reason =
            format!("there are more than {MOST_FILES} programs in the open folders: rename it by hand");
        return Err(refused(reason));
    }
    let mut changes: HashMap<Uri, Vec<TextEdit>> = HashMap::new();
    // The file that defines it says whether the name can be given, and where it is written there.
    let elsewhere = found.definition.as_ref().filter(|definition| definition.uri != uri);
    let module = elsewhere.and_then(|definition| defining(world, definition));
    let own = match module {
        Some((module, file)) if !world.is_library(&file) => {
            let text = Text {
                folder: file.parent().map(Into::into).unwrap_or_default(),
                unsaved: world.unsaved(&module.uri),
                ..Text::new(module.uri.to_string(), module.source.text())
            };
            let analysis = Analysis::new(&text);
            let (start, _) = world.encoding.offsets(&module.source, module.range);
            let edits = broadloom_ide::rename(&analysis, start, &params.new_name).map_err(refused)?;
            let encoding = world.encoding;
            let edit = |edit: &Edit| TextEdit {
                range: encoding.range(&module.source, edit.span),
                new_text: edit.text.clone(),
            };
            changes.insert(module.uri.clone(), edits.iter().map(edit).collect());
            module.uri
        }
        _ => {
            let Some(analysis) = world.program(&uri)? else { return Ok(None) };
            let edits = broadloom_ide::rename(analysis, offset, &params.new_name).map_err(refused)?;
            changes.insert(uri.clone(), world.edits(&uri, &edits)?);
            uri
        }
    };
    for Location { uri: other, range } in found.places {
        if other != own {
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
    /// True if there are more programs than are searched.
    is_short: bool,
}

/// The places of a name in its own document, in the file that defines it, and in those that import that file.
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
    let mut is_short = false;
    if let Some(definition) = &definition {
        is_short = !importers(world, definition, &mut places);
        if !places.contains(definition) && definition.range.start != definition.range.end {
            places.push(definition.clone());
        }
    }
    Ok(Some(Uses { definition, places, is_short }))
}

/// A file that defines something.
struct Module {
    uri: Uri,
    source: Source,
    /// The name where it is defined.
    range: Range,
}

/// The file that defines something, with its path.
fn defining(world: &World, definition: &Location) -> Option<(Module, PathBuf)> {
    let open = world.documents.get(&definition.uri);
    let path = match open {
        Some(document) => document.path.clone()?,
        None => crate::uri::path(&definition.uri).map(|path| std::fs::canonicalize(&path).unwrap_or(path))?,
    };
    let source = world.written(&path)?.source;
    Some((Module { uri: definition.uri.clone(), source, range: definition.range }, path))
}

/// Adds the uses of something in the file that defines it and in all programs that import that, open or not. Returns false if
/// there are too many programs to look at.
fn importers(world: &World, definition: &Location, places: &mut Vec<Location>) -> bool {
    let Some((module, file)) = defining(world, definition) else { return true };
    if world.is_library(&file) {
        return true;
    }
    let encoding = world.encoding;
    let (start, _) = encoding.offsets(&module.source, definition.range);
    // What other files do not know has been found already.
    let Some((member, own)) = broadloom_ide::places_of_member(module.source.text(), start) else {
        return true;
    };
    let mut add = |uri: &Uri, source: &Source, spans: Vec<Span>| {
        for span in spans {
            let location = Location { uri: uri.clone(), range: encoding.range(source, span) };
            if !places.contains(&location) {
                places.push(location);
            }
        }
    };
    add(&module.uri, &module.source, own);
    let Some(programs) = world.programs_around(&file) else { return false };
    for program in programs {
        let folder = program.path.parent().unwrap_or(Path::new(""));
        let leads_there = |path: &str| {
            let path = folder.join(path);
            std::fs::canonicalize(&path).unwrap_or(path) == file
        };
        let uses = broadloom_ide::uses_of_member(program.source.text(), &member, leads_there);
        add(&program.uri, &program.source, uses);
    }
    true
}
