//! The capabilities of the server, as it announces them to the editor.

use gen_lsp_types::{
    CodeActionKind, CodeActionOptions, CodeLensOptions, CompletionOptions, RenameOptions,
    SemanticTokensLegend, SemanticTokensOptions, ServerCapabilities, SignatureHelpOptions,
    TextDocumentSyncKind, TextDocumentSyncOptions,
};

use crate::answers::tokens;
use crate::position::Encoding;

/// All capabilities, with the encoding that was agreed on.
pub(crate) fn capabilities(encoding: Encoding) -> ServerCapabilities {
    let letters = |all: &[&str]| Some(all.iter().map(ToString::to_string).collect());
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::Incremental),
        ..TextDocumentSyncOptions::default()
    };
    let kinds =
        vec![CodeActionKind::QuickFix, CodeActionKind::RefactorRewrite, CodeActionKind::RefactorExtract];
    ServerCapabilities {
        position_encoding: Some(encoding.kind()),
        text_document_sync: Some(sync.into()),
        inlay_hint_provider: Some(true.into()),
        hover_provider: Some(true.into()),
        definition_provider: Some(true.into()),
        references_provider: Some(true.into()),
        document_highlight_provider: Some(true.into()),
        rename_provider: Some(
            RenameOptions { prepare_provider: Some(true), ..RenameOptions::default() }.into(),
        ),
        completion_provider: Some(CompletionOptions {
            trigger_characters: letters(&[".", "\"", "{", "("]),
            ..CompletionOptions::default()
        }),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: letters(&["(", ","]),
            ..SignatureHelpOptions::default()
        }),
        document_formatting_provider: Some(true.into()),
        document_range_formatting_provider: Some(true.into()),
        code_action_provider: Some(
            CodeActionOptions {
                code_action_kinds: Some(kinds),
                resolve_provider: Some(true),
                ..CodeActionOptions::default()
            }
            .into(),
        ),
        code_lens_provider: Some(CodeLensOptions::default()),
        document_symbol_provider: Some(true.into()),
        workspace_symbol_provider: Some(true.into()),
        folding_range_provider: Some(true.into()),
        call_hierarchy_provider: Some(true.into()),
        semantic_tokens_provider: Some(
            SemanticTokensOptions {
                legend: SemanticTokensLegend {
                    token_types: tokens::TYPES.iter().map(ToString::to_string).collect(),
                    token_modifiers: vec!["definition".into()],
                },
                range: Some(true.into()),
                full: Some(true.into()),
                work_done_progress_options: Default::default(),
            }
            .into(),
        ),
        ..ServerCapabilities::default()
    }
}
