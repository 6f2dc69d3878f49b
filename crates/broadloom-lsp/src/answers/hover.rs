//! Descriptions of the name under the cursor, and of the call around it.

use gen_lsp_types::{
    Hover, HoverParams, MarkupContent, MarkupKind, ParameterInformation, SignatureHelp, SignatureHelpParams,
    SignatureInformation,
};

use crate::answers::rows;
use crate::world::{Answer, World};

/// The information about the name at a place.
pub(crate) fn hover(world: &mut World, params: HoverParams) -> Answer<Option<Hover>> {
    let at = params.text_document_position_params;
    let offset = world.offset(&at)?;
    let uri = at.text_document.uri;
    let Some(analysis) = world.program(&uri)? else { return rows::hover(world, &uri, offset) };
    let Some(found) = broadloom_ide::hover(analysis, offset) else { return Ok(None) };
    let range = world.range_of(&uri, found.span)?;
    let contents = MarkupContent { kind: MarkupKind::Markdown, value: found.markdown() };
    Ok(Some(Hover { contents: contents.into(), range: Some(range) }))
}

/// The function whose arguments are being written.
pub(crate) fn call(world: &mut World, params: SignatureHelpParams) -> Answer<Option<SignatureHelp>> {
    let at = params.text_document_position_params;
    let (encoding, offset) = (world.encoding, world.offset(&at)?);
    let Some(analysis) = world.program(&at.text_document.uri)? else { return Ok(None) };
    let Some(help) = broadloom_ide::call_help(analysis, offset) else { return Ok(None) };
    let units = |end: u32| encoding.length(help.label.get(..end as usize).unwrap_or_default());
    let parameter = |(start, end): &(u32, u32)| ParameterInformation {
        label: (units(*start), units(*end)).into(),
        documentation: None,
    };
    let signature = SignatureInformation {
        label: help.label.clone(),
        documentation: help.documentation.clone().map(Into::into),
        parameters: Some(help.arguments.iter().map(parameter).collect()),
        active_parameter: None,
    };
    // A number beyond the last argument highlights none.
    let active = help.active.unwrap_or(help.arguments.len() as u32);
    Ok(Some(SignatureHelp {
        signatures: vec![signature],
        active_signature: Some(0),
        active_parameter: Some(active.into()),
    }))
}
