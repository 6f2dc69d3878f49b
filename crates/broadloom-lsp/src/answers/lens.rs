//! Commands above lines.

use gen_lsp_types::{CodeLens, CodeLensParams, Command};

use crate::world::{Answer, World};

/// The commands of a document. The editor carries them out: `broadloom.run` with the address of the document, and
/// `broadloom.explain` with a name as well.
pub(crate) fn lenses(world: &mut World, params: CodeLensParams) -> Answer<Option<Vec<CodeLens>>> {
    let uri = params.text_document.uri;
    let Some(analysis) = world.program(&uri)? else { return Ok(None) };
    let mut shown = Vec::new();
    for lens in broadloom_ide::lenses(analysis) {
        let mut arguments = vec![uri.to_string().into()];
        let command = if lens.explain.is_some() { "broadloom.explain" } else { "broadloom.run" };
        arguments.extend(lens.explain.map(Into::into));
        let command =
            Command { title: lens.title, tooltip: None, command: command.into(), arguments: Some(arguments) };
        let range = world.range_of(&uri, lens.span)?;
        shown.push(CodeLens { range, command: Some(command), data: None });
    }
    Ok(Some(shown))
}
