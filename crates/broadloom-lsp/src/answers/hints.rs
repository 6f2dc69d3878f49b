//! Shapes beside names.

use gen_lsp_types::{InlayHint, InlayHintKind, InlayHintParams};

use crate::answers::rows;
use crate::world::{Answer, World};

/// The hints of a part of a document.
pub(crate) fn hints(world: &mut World, params: InlayHintParams) -> Answer<Option<Vec<InlayHint>>> {
    let uri = params.text_document.uri;
    let (start, end) = world.offsets_of(&uri, params.range)?;
    let Some(analysis) = world.program(&uri)? else { return rows::hints(world, &uri, (start, end)) };
    let mut shown = Vec::new();
    for hint in broadloom_ide::hints_within(analysis, start, end) {
        shown.push(InlayHint {
            position: world.range_of(&uri, hint.span)?.end,
            label: hint.text.into(),
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
