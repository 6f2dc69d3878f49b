//! How should it be laid out?

use broadloom_diagnostics::{Diagnostic, Sources};

/// The text as it should be written, or what keeps it from being read. The text joins the sources, which messages speak of.
///
/// ```
/// use broadloom_diagnostics::Sources;
/// use broadloom_ide::format;
///
/// let mut sources = Sources::new();
/// assert_eq!(format(&mut sources, "a.loom", "let   y=x+1"), Ok("let y = x + 1\n".to_string()));
/// assert!(format(&mut sources, "b.loom", "let = 3").is_err());
/// ```
pub fn format(sources: &mut Sources, name: &str, text: &str) -> Result<String, Vec<Diagnostic>> {
    let source = sources.add(name, text);
    broadloom_lang::syntax::reformat(source, text)
}
