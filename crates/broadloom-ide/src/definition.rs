//! The definition of a name in the program or in the library.

use broadloom_diagnostics::{SourceId, Span};

use crate::analysis::Analysis;
use crate::names::{Binding, BindingKind, Bindings, name_at};

/// The place that binds the name at an offset of the program's text: in the program, or in the library.
///
/// ```
/// use broadloom_ide::{Analysis, Text, definition};
///
/// let text = "data x : 3\nlet y = relu(x)\n";
/// let analysis = Analysis::new(&Text::new("a.loom", text));
/// let place = definition(&analysis, text.rfind('x').unwrap() as u32).unwrap();
/// assert_eq!(analysis.sources().position(place), (1, 6));
/// ```
pub fn definition(analysis: &Analysis, offset: u32) -> Option<Span> {
    Named::find(analysis, offset)?.binding.map(|binding| binding.span)
}

/// A name in the program's text, and its meaning.
pub(crate) struct Named {
    pub name: String,
    /// The occurrence of the name.
    pub span: Span,
    /// The binding of the name, or None if the language itself defines it, or nothing does.
    pub binding: Option<Binding>,
}

impl Named {
    pub fn find(analysis: &Analysis, offset: u32) -> Option<Named> {
        let main = analysis.program.main;
        let text = analysis.sources().get(main).text();
        let (span, own) = name_at(main, text, offset)?;
        let name = span.slice(text).to_string();
        let binding = own.or_else(|| library(analysis).into_iter().find(|binding| binding.name == name));
        Some(Named { name, span, binding })
    }
}

/// The functions of the library: its texts come before the program.
pub(crate) fn library(analysis: &Analysis) -> Vec<Binding> {
    let sources = (0..analysis.program.main.0).map(SourceId);
    let bindings = |source| Bindings::new(source, analysis.sources().get(source).text()).all;
    let is_function =
        |binding: &Binding| binding.kind == BindingKind::Function && binding.known.1 == u32::MAX;
    sources.flat_map(bindings).filter(is_function).collect()
}
