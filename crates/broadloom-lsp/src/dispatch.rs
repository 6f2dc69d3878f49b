//! The function that answers each kind of request.

use gen_lsp_types::{
    CallHierarchyIncomingCallsRequest, CallHierarchyOutgoingCallsRequest, CallHierarchyPrepareRequest,
    CodeActionRequest, CodeActionResolveRequest, CodeLensRequest, CompletionRequest, DefinitionRequest,
    DocumentFormattingRequest, DocumentHighlightRequest, DocumentRangeFormattingRequest,
    DocumentSymbolRequest, FoldingRangeRequest, HoverRequest, InlayHintRequest, LspRequestMethod as Method,
    PrepareRenameRequest, ReferencesRequest, RenameRequest, SemanticTokensRangeRequest,
    SemanticTokensRequest, SignatureHelpRequest, WorkspaceSymbolRequest,
};
use lsp_server::{ErrorCode, Request};
use serde_json::Value;

use crate::answers::{actions, calls, completion, format, hints, hover, lens, names, symbols, tokens};
use crate::world::{Answer, World, failed};

/// The answer to a request.
pub(crate) fn dispatch(world: &mut World, request: Request) -> Answer<Value> {
    match Method::from(request.method.as_str()) {
        Method::TextDocumentInlayHint => answer::<InlayHintRequest>(world, request, hints::hints),
        Method::TextDocumentHover => answer::<HoverRequest>(world, request, hover::hover),
        Method::TextDocumentSignatureHelp => answer::<SignatureHelpRequest>(world, request, hover::call),
        Method::TextDocumentDefinition => answer::<DefinitionRequest>(world, request, names::definition),
        Method::TextDocumentReferences => answer::<ReferencesRequest>(world, request, names::references),
        Method::TextDocumentDocumentHighlight => {
            answer::<DocumentHighlightRequest>(world, request, names::highlights)
        }
        Method::TextDocumentPrepareRename => answer::<PrepareRenameRequest>(world, request, names::renamable),
        Method::TextDocumentRename => answer::<RenameRequest>(world, request, names::rename),
        Method::TextDocumentCompletion => answer::<CompletionRequest>(world, request, completion::completion),
        Method::TextDocumentFormatting => answer::<DocumentFormattingRequest>(world, request, format::whole),
        Method::TextDocumentRangeFormatting => {
            answer::<DocumentRangeFormattingRequest>(world, request, format::range)
        }
        Method::TextDocumentCodeAction => answer::<CodeActionRequest>(world, request, actions::actions),
        Method::CodeActionResolve => answer::<CodeActionResolveRequest>(world, request, actions::resolved),
        Method::TextDocumentCodeLens => answer::<CodeLensRequest>(world, request, lens::lenses),
        Method::TextDocumentDocumentSymbol => {
            answer::<DocumentSymbolRequest>(world, request, symbols::outline)
        }
        Method::WorkspaceSymbol => answer::<WorkspaceSymbolRequest>(world, request, symbols::everywhere),
        Method::TextDocumentFoldingRange => answer::<FoldingRangeRequest>(world, request, symbols::folds),
        Method::TextDocumentSemanticTokensFull => {
            answer::<SemanticTokensRequest>(world, request, tokens::whole)
        }
        Method::TextDocumentSemanticTokensRange => {
            answer::<SemanticTokensRangeRequest>(world, request, tokens::range)
        }
        Method::TextDocumentPrepareCallHierarchy => {
            answer::<CallHierarchyPrepareRequest>(world, request, calls::prepared)
        }
        Method::CallHierarchyIncomingCalls => {
            answer::<CallHierarchyIncomingCallsRequest>(world, request, calls::incoming)
        }
        Method::CallHierarchyOutgoingCalls => {
            answer::<CallHierarchyOutgoingCallsRequest>(world, request, calls::outgoing)
        }
        _ => Err(failed(ErrorCode::MethodNotFound, format!("`{}` is not known here", request.method))),
    }
}

/// Reads the parameters of a request, answers it, and writes the answer.
fn answer<R: gen_lsp_types::Request>(
    world: &mut World,
    request: Request,
    handler: fn(&mut World, R::Params) -> Answer<R::Result>,
) -> Answer<Value> {
    let wrong = |error: serde_json::Error| failed(ErrorCode::InvalidParams, error.to_string());
    let params = serde_json::from_value(request.params).map_err(wrong)?;
    let result = handler(world, params)?;
    let unwritten = |error: serde_json::Error| failed(ErrorCode::InternalError, error.to_string());
    serde_json::to_value(result).map_err(unwritten)
}
