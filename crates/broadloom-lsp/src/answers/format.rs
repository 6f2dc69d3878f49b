//! The standard layout of a document.

use gen_lsp_types::{DocumentFormattingParams, DocumentRangeFormattingParams, TextEdit};

use crate::answers::rows;
use crate::world::{Answer, World};

/// The changes that lay out a whole document. Statements that cannot be parsed stay as they are.
pub(crate) fn whole(world: &mut World, params: DocumentFormattingParams) -> Answer<Option<Vec<TextEdit>>> {
    let uri = params.text_document.uri;
    let Some(source) = world.text(&uri)? else { return rows::layout(world, &uri, (0, u32::MAX)) };
    let edits = broadloom_ide::format_edits(source.text());
    world.edits(&uri, &edits).map(Some)
}

/// The changes that lay out the statements of a range.
pub(crate) fn range(
    world: &mut World,
    params: DocumentRangeFormattingParams,
) -> Answer<Option<Vec<TextEdit>>> {
    let uri = params.text_document.uri;
    let (start, end) = world.offsets_of(&uri, params.range)?;
    let Some(source) = world.text(&uri)? else { return rows::layout(world, &uri, (start, end)) };
    let edits = broadloom_ide::format_range(source.text(), start, end);
    world.edits(&uri, &edits).map(Some)
}
