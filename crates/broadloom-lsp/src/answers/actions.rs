//! Advice that can be carried out, shapes that can be stated, functions that can be extracted.

use std::collections::HashMap;

use broadloom_diagnostics::{Edit, Span};
use broadloom_ide::{ActionKind, Wanted, refused};
use gen_lsp_types::{
    CodeAction, CodeActionDisabled, CodeActionKind, CodeActionParams, CodeActionResponse, Uri,
};
use lsp_server::ErrorCode;
use serde_json::{Value, json};

use super::diagnostics;
use crate::world::{Answer, World, failed};

/// The most changes that are tried before they are offered, for an editor that cannot ask for them later: each costs a check.
const MOST_TRIED: usize = 3;

/// The changes that are offered for a part of a document. An editor asks at every movement of the cursor: changes that have to
/// be tried are tried when one of them is chosen.
pub(crate) fn actions(
    world: &mut World,
    params: CodeActionParams,
) -> Answer<Option<Vec<CodeActionResponse>>> {
    let uri = params.text_document.uri;
    let only = params.context.only;
    let is_wanted = |kind: &CodeActionKind| {
        only.as_ref().is_none_or(|only| only.iter().any(|wanted| includes(wanted, kind)))
    };
    let wanted = Wanted {
        fixes: is_wanted(&CodeActionKind::QuickFix),
        others: is_wanted(&CodeActionKind::RefactorRewrite),
        extract: is_wanted(&CodeActionKind::RefactorExtract),
    };
    if !wanted.fixes && !wanted.others && !wanted.extract {
        return Ok(Some(Vec::new()));
    }
    let (start, end) = world.offsets_of(&uri, params.range)?;
    let known = if wanted.fixes { world.diagnostics(&uri)? } else { Vec::new() };
    let (resolves, shows_disabled) = (world.resolves_actions, world.shows_disabled);
    let Some(analysis) = world.program(&uri)? else { return Ok(None) };
    let mut found = broadloom_ide::actions(analysis, &known, start, end, wanted);
    found.retain(|action| action.disabled.is_none() || shows_disabled);
    if !resolves {
        let mut tried = 0;
        found.retain(|action| match action.kind {
            ActionKind::Fix(_) => true,
            _ if action.disabled.is_some() => true,
            _ => {
                tried += 1;
                tried <= MOST_TRIED && refused(analysis, action.kind, &action.edits).is_none()
            }
        });
    }
    let version = world.document(&uri)?.version;
    let mut offered = Vec::new();
    for action in found {
        let (kind, fixed) = match action.kind {
            ActionKind::Fix(at) => {
                (CodeActionKind::QuickFix, Some(vec![diagnostics::shown(world, &uri, &known[at])?]))
            }
            ActionKind::State => (CodeActionKind::RefactorRewrite, None),
            ActionKind::Extract => (CodeActionKind::RefactorExtract, None),
        };
        let is_open = fixed.is_none() && action.disabled.is_none() && resolves;
        let edits = |edits: &[Edit]| {
            edits.iter().map(|edit| json!([edit.span.start, edit.span.end, edit.text])).collect::<Vec<_>>()
        };
        let data = is_open.then(|| json!({ "uri": uri, "version": version, "edits": edits(&action.edits) }));
        let changes = world.edits(&uri, &action.edits)?;
        let is_ready = !is_open && action.disabled.is_none();
        let edit = is_ready.then(|| World::workspace_edit(HashMap::from([(uri.clone(), changes)])));
        offered.push(
            CodeAction {
                title: action.title,
                is_preferred: fixed.is_some().then_some(true),
                kind: Some(kind),
                diagnostics: fixed,
                edit,
                data,
                disabled: action.disabled.map(|reason| CodeActionDisabled { reason }),
                ..CodeAction::default()
            }
            .into(),
        );
    }
    Ok(Some(offered))
}

/// The changes of an action that was chosen, unless they would be a mistake.
pub(crate) fn resolved(world: &mut World, mut action: CodeAction) -> Answer<CodeAction> {
    let unknown = || failed(ErrorCode::InvalidParams, "this action was not offered here");
    let Some(data) = action.data.take() else { return Ok(action) };
    let uri = data.get("uri").and_then(Value::as_str).map(Uri::from).ok_or_else(unknown)?;
    if data.get("version").and_then(Value::as_i64) != Some(i64::from(world.document(&uri)?.version)) {
        return Err(failed(ErrorCode::ContentModified, "the document was edited in the meantime"));
    }
    let Some(analysis) = world.program(&uri)? else { return Err(unknown()) };
    let edits: Vec<(u32, u32, String)> =
        serde_json::from_value(data["edits"].clone()).map_err(|_| unknown())?;
    let main = analysis.program.main;
    let edit =
        |(start, end, text): (u32, u32, String)| Edit { span: Span::new(main, start.min(end), end), text };
    let edits: Vec<Edit> = edits.into_iter().map(edit).collect();
    let kind = match action.kind {
        Some(CodeActionKind::RefactorExtract) => ActionKind::Extract,
        _ => ActionKind::State,
    };
    if let Some(mistake) = refused(analysis, kind, &edits) {
        return Err(failed(ErrorCode::RequestFailed, format!("with this change, {mistake}")));
    }
    let edits = world.edits(&uri, &edits)?;
    action.edit = Some(World::workspace_edit(HashMap::from([(uri, edits)])));
    Ok(action)
}

/// Returns true if a kind is another one or a part of it: `refactor` includes `refactor.rewrite`.
fn includes(wanted: &CodeActionKind, kind: &CodeActionKind) -> bool {
    let (wanted, kind) = (String::from(wanted.clone()), String::from(kind.clone()));
    wanted.is_empty() || kind == wanted || kind.starts_with(&format!("{wanted}."))
}
