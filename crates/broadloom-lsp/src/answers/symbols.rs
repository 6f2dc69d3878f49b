//! Outlines, symbols of all files, and folding.

use broadloom_diagnostics::Source;
use broadloom_ide::Symbol;
use gen_lsp_types::{
    BaseSymbolInformation, DocumentSymbol, DocumentSymbolParams, DocumentSymbolResponse, FoldingRange,
    FoldingRangeKind, FoldingRangeParams, Location, SymbolKind, WorkspaceSymbol, WorkspaceSymbolParams,
    WorkspaceSymbolResponse,
};

use crate::folders::programs;
use crate::position::Encoding;
use crate::world::{Answer, World};

/// The most symbols that are shown.
const MOST_SYMBOLS: usize = 500;

/// The outline of a document.
pub(crate) fn outline(
    world: &mut World,
    params: DocumentSymbolParams,
) -> Answer<Option<DocumentSymbolResponse>> {
    let encoding = world.encoding;
    let Some(source) = world.text(&params.text_document.uri)? else { return Ok(None) };
    let found = broadloom_ide::symbols(source.text());
    let shown: Vec<DocumentSymbol> = found.iter().map(|symbol| nested(encoding, source, symbol)).collect();
    Ok(Some(shown.into()))
}

fn nested(encoding: Encoding, source: &Source, symbol: &Symbol) -> DocumentSymbol {
    let children: Vec<_> = symbol.children.iter().map(|child| nested(encoding, source, child)).collect();
    #[allow(deprecated, reason = "the field has to be there")]
    DocumentSymbol {
        name: symbol.name.clone(),
        detail: Some(symbol.detail.clone()),
        kind: kind(symbol.kind),
        tags: None,
        deprecated: None,
        range: encoding.range(source, symbol.whole),
        selection_range: encoding.range(source, symbol.span),
        children: (!children.is_empty()).then_some(children),
    }
}

fn kind(word: &str) -> SymbolKind {
    match word {
        "function" => SymbolKind::Function,
        "module" => SymbolKind::Module,
        "dim" => SymbolKind::Number,
        "data" | "state" => SymbolKind::Array,
        "parameter" => SymbolKind::Field,
        _ => SymbolKind::Variable,
    }
}

/// The symbols of all programs of the open folders whose names contain some letters.
pub(crate) fn everywhere(
    world: &mut World,
    params: WorkspaceSymbolParams,
) -> Answer<Option<WorkspaceSymbolResponse>> {
    let wanted = params.query.to_lowercase();
    let mut shown: Vec<WorkspaceSymbol> = Vec::new();
    let mut open: Vec<_> = world
        .documents
        .values()
        .filter(|document| document.language == crate::documents::Language::Loom)
        .collect();
    open.sort_by(|a, b| a.uri.as_ref().cmp(b.uri.as_ref()));
    for document in open {
        matching(world.encoding, &document.uri, &document.source, &wanted, &mut shown);
    }
    for file in programs(&world.roots) {
        let is_open = world.documents.values().any(|document| document.path.as_deref() == Some(&*file));
        let text = std::fs::read_to_string(&file).ok().filter(|_| !is_open);
        if let Some(text) = text {
            let source = Source::new("", text);
            matching(world.encoding, &crate::uri::uri(&file), &source, &wanted, &mut shown);
        }
    }
    shown.truncate(MOST_SYMBOLS);
    Ok(Some(shown.into()))
}

fn matching(
    encoding: Encoding,
    uri: &gen_lsp_types::Uri,
    source: &Source,
    wanted: &str,
    shown: &mut Vec<WorkspaceSymbol>,
) {
    let mut waiting: Vec<(Symbol, Option<String>)> =
        broadloom_ide::symbols(source.text()).into_iter().rev().map(|symbol| (symbol, None)).collect();
    while let Some((symbol, container)) = waiting.pop() {
        if symbol.name.to_lowercase().contains(wanted) {
            let range = encoding.range(source, symbol.span);
            shown.push(WorkspaceSymbol {
                location: Location { uri: uri.clone(), range }.into(),
                data: None,
                base_symbol_information: BaseSymbolInformation {
                    name: symbol.name.clone(),
                    kind: kind(symbol.kind),
                    tags: None,
                    container_name: container,
                },
            });
        }
        let name = symbol.name;
        waiting.extend(symbol.children.into_iter().rev().map(|child| (child, Some(name.clone()))));
    }
}

/// The parts of a document that can be folded.
pub(crate) fn folds(world: &mut World, params: FoldingRangeParams) -> Answer<Option<Vec<FoldingRange>>> {
    let Some(source) = world.text(&params.text_document.uri)? else { return Ok(None) };
    let shown = |fold: broadloom_ide::Fold| FoldingRange {
        start_line: fold.first - 1,
        end_line: fold.last - 1,
        kind: fold.is_comment.then_some(FoldingRangeKind::Comment),
        ..FoldingRange::default()
    };
    Ok(Some(broadloom_ide::folds(source.text()).into_iter().map(shown).collect()))
}
