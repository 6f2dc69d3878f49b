//! Advice that can be carried out, and shapes that can be stated.

use std::collections::HashMap;

use broadloom_ide::ActionKind;
use gen_lsp_types::{CodeAction, CodeActionKind, CodeActionParams, CodeActionResponse};

use super::diagnostics;
use crate::world::{Answer, World};

/// The changes that are offered for a part of a document.
pub(crate) fn actions(
    world: &mut World,
    params: CodeActionParams,
) -> Answer<Option<Vec<CodeActionResponse>>> {
    let uri = params.text_document.uri;
    let (start, end) = world.offsets_of(&uri, params.range)?;
    let known = world.diagnostics(&uri)?;
    let Some(analysis) = world.program(&uri)? else { return Ok(None) };
    let found = broadloom_ide::actions(analysis, &known, start, end);
    let mut offered = Vec::new();
    for action in found {
        let edits = world.edits(&uri, &action.edits)?;
        let (kind, fixed) = match action.kind {
            ActionKind::Fix(at) => {
                (CodeActionKind::QuickFix, Some(vec![diagnostics::shown(world, &uri, &known[at])?]))
            }
            ActionKind::State => (CodeActionKind::RefactorRewrite, None),
        };
        if params.context.only.as_ref().is_some_and(|only| !only.iter().any(|wanted| includes(wanted, &kind)))
        {
            continue;
        }
        offered.push(
            CodeAction {
                title: action.title,
                is_preferred: fixed.is_some().then_some(true),
                kind: Some(kind),
                diagnostics: fixed,
                edit: Some(World::workspace_edit(HashMap::from([(uri.clone(), edits)]))),
                ..CodeAction::default()
            }
            .into(),
        );
    }
    Ok(Some(offered))
}

/// Returns true if a kind is another one or a part of it: `refactor` includes `refactor.rewrite`.
fn includes(wanted: &CodeActionKind, kind: &CodeActionKind) -> bool {
    let (wanted, kind) = (String::from(wanted.clone()), String::from(kind.clone()));
    wanted.is_empty() || kind == wanted || kind.starts_with(&format!("{wanted}."))
}
