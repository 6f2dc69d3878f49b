//! The call hierarchy of the functions of a document.

use broadloom_ide::{Caller, calls};
use gen_lsp_types::{
    CallHierarchyIncomingCall, CallHierarchyIncomingCallsParams, CallHierarchyItem,
    CallHierarchyOutgoingCall, CallHierarchyOutgoingCallsParams, CallHierarchyPrepareParams, SymbolKind, Uri,
};

use crate::world::{Answer, World};

/// The function that is named at a place.
pub(crate) fn prepared(
    world: &mut World,
    params: CallHierarchyPrepareParams,
) -> Answer<Option<Vec<CallHierarchyItem>>> {
    let at = params.text_document_position_params;
    let offset = world.offset(&at)?;
    let uri = at.text_document.uri;
    let Some(analysis) = world.program(&uri)? else { return Ok(None) };
    let main = analysis.program.main;
    let definition = broadloom_ide::definition(analysis, offset).filter(|span| span.source == main);
    let callers = callers(world, &uri)?;
    let is_named = |caller: &&Caller| definition.is_some_and(|span| caller.span.start == span.start);
    let found = callers.iter().filter(|caller| caller.name.is_some()).find(is_named);
    found.map(|caller| Ok(vec![item(world, &uri, caller)?])).transpose()
}

/// The functions that call a function, and the program if it does.
pub(crate) fn incoming(
    world: &mut World,
    params: CallHierarchyIncomingCallsParams,
) -> Answer<Option<Vec<CallHierarchyIncomingCall>>> {
    let uri = params.item.uri;
    let start = world.offset_of(&uri, params.item.selection_range.start)?;
    let mut found = Vec::new();
    for caller in callers(world, &uri)? {
        let Some(call) = caller.calls.iter().find(|call| call.definition.start == start) else { continue };
        let mut from_ranges = Vec::new();
        for place in &call.places {
            from_ranges.push(world.range_of(&uri, *place)?);
        }
        found.push(CallHierarchyIncomingCall { from: item(world, &uri, &caller)?, from_ranges });
    }
    Ok(Some(found))
}

/// The functions that a function calls.
pub(crate) fn outgoing(
    world: &mut World,
    params: CallHierarchyOutgoingCallsParams,
) -> Answer<Option<Vec<CallHierarchyOutgoingCall>>> {
    let uri = params.item.uri;
    let start = world.offset_of(&uri, params.item.selection_range.start)?;
    let all = callers(world, &uri)?;
    let is_function = params.item.kind == SymbolKind::Function;
    let Some(caller) = all.iter().find(|each| each.span.start == start && each.name.is_some() == is_function)
    else {
        return Ok(Some(Vec::new()));
    };
    let mut found = Vec::new();
    for call in &caller.calls {
        let Some(callee) = all.iter().find(|each| each.span == call.definition && each.name.is_some()) else {
            continue;
        };
        let mut from_ranges = Vec::new();
        for place in &call.places {
            from_ranges.push(world.range_of(&uri, *place)?);
        }
        found.push(CallHierarchyOutgoingCall { to: item(world, &uri, callee)?, from_ranges });
    }
    Ok(Some(found))
}

fn callers(world: &mut World, uri: &Uri) -> Answer<Vec<Caller>> {
    Ok(world.text(uri)?.map(|source| calls(source.text())).unwrap_or_default())
}

fn item(world: &mut World, uri: &Uri, caller: &Caller) -> Answer<CallHierarchyItem> {
    let is_function = caller.name.is_some();
    let name = caller.name.clone().unwrap_or_else(|| "the program".into());
    Ok(CallHierarchyItem {
        name,
        kind: if is_function { SymbolKind::Function } else { SymbolKind::File },
        tags: None,
        detail: None,
        uri: uri.clone(),
        range: world.range_of(uri, caller.whole)?,
        selection_range: world.range_of(uri, caller.span)?,
        data: None,
    })
}
