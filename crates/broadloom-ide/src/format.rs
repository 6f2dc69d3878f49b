//! The standard layout of a text.

use broadloom_diagnostics::{Diagnostic, Sources};

/// The text in its standard layout, or the errors that keep it from being parsed. The text is added
/// to the sources, which messages refer to.
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
