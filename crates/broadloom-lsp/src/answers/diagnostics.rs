//! Mistakes and warnings, with both ends of a conflict.

use broadloom_diagnostics::{Diagnostic, Severity, Span};
use gen_lsp_types::{
    CodeDescription, Diagnostic as Shown, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag,
    PublishDiagnosticsParams, Range, Uri,
};

use crate::world::{Answer, World};

/// The page that explains codes.
const ERRORS: &str = "https://github.com/broadloom/broadloom/blob/main/docs/errors.md";

/// The diagnostics of a document, to be sent to the editor.
pub(crate) fn published(world: &mut World, uri: &Uri) -> Answer<PublishDiagnosticsParams> {
    let version = Some(world.document(uri)?.version);
    let mut diagnostics = Vec::new();
    for diagnostic in world.diagnostics(uri)? {
        diagnostics.push(shown(world, uri, &diagnostic)?);
    }
    let unused = world.program(uri)?.map(broadloom_ide::unused).unwrap_or_default();
    for diagnostic in unused {
        let severity = Some(DiagnosticSeverity::Hint);
        diagnostics.push(Shown { severity, ..shown(world, uri, &diagnostic)? });
    }
    Ok(PublishDiagnosticsParams { uri: uri.clone(), version, diagnostics })
}

/// A diagnostic with its other places as related information.
pub(crate) fn shown(world: &mut World, uri: &Uri, diagnostic: &Diagnostic) -> Answer<Shown> {
    let primary = diagnostic.primary().map(|label| label.span);
    let (range, elsewhere) = place(world, uri, primary)?;
    let mut related = Vec::new();
    let own = diagnostic.labels.iter().filter(|label| Some(label.span) != primary || elsewhere);
    let labels = own.map(|label| (label.span, label.text.clone()));
    let links = diagnostic.chain.iter().filter_map(|link| Some((link.span?, link.text.clone())));
    for (span, message) in labels.chain(links) {
        if let Some(location) = world.location(uri, span)? {
            let message = if message.is_empty() { diagnostic.message.clone() } else { message };
            related.push(DiagnosticRelatedInformation { location, message });
        }
    }
    let has_page = !diagnostic.code.is_empty();
    let page = || CodeDescription { href: Uri::from(ERRORS) };
    Ok(Shown {
        range,
        severity: Some(match diagnostic.severity {
            Severity::Error => DiagnosticSeverity::Error,
            Severity::Warning => DiagnosticSeverity::Warning,
            Severity::Note => DiagnosticSeverity::Information,
        }),
        code: has_page.then(|| diagnostic.code.to_string().into()),
        code_description: has_page.then(page),
        source: Some("broadloom".into()),
        message: message(diagnostic).into(),
        tags: (diagnostic.code == broadloom_ide::codes::UNUSED).then(|| vec![DiagnosticTag::Unnecessary]),
        related_information: (!related.is_empty()).then_some(related),
        data: None,
    })
}

/// The message with the words at its place, notes and advice, each on a line.
fn message(diagnostic: &Diagnostic) -> String {
    let words = diagnostic.primary().map(|label| label.text.clone()).filter(|text| !text.is_empty());
    let mut lines = vec![diagnostic.message.clone()];
    lines.extend(words);
    lines.extend(diagnostic.notes.iter().map(|note| format!("note: {note}")));
    lines.extend(diagnostic.help.iter().map(|help| format!("help: {help}")));
    lines.join("\n")
}

/// The range of a diagnostic in its document. One that is about a module is shown at the import of it; the second result
/// is true then.
fn place(world: &mut World, uri: &Uri, primary: Option<Span>) -> Answer<(Range, bool)> {
    let Some(span) = primary else { return Ok((Range::default(), false)) };
    let Some(analysis) = world.program(uri)? else { return Ok((world.range_of(uri, span)?, false)) };
    let main = analysis.program.main;
    if span.source == main {
        return Ok((world.range_of(uri, span)?, false));
    }
    let own = |path: &Span| path.source == main;
    let imports = analysis.program.imports.iter().filter(|(path, _)| own(path));
    let direct = imports.clone().find(|(_, source)| *source == span.source);
    let import = direct.or_else(|| imports.clone().next()).map(|(path, _)| *path);
    let range = import.map(|path| world.range_of(uri, path)).transpose()?;
    Ok((range.unwrap_or_default(), true))
}
