//! Warnings about programs that have no errors.

use broadloom_diagnostics::Diagnostic;

use crate::analysis::Analysis;

/// The warnings, in the order of the text. There are none if the program has errors.
///
/// ```
/// use broadloom_ide::{Analysis, Text, lint};
///
/// let found = lint(&mut Analysis::new(&Text::new("a.loom", "data x : 3\ndata y : 3\nprint sum(x)\n")));
/// assert_eq!(found[0].message, "`y` is not used");
/// ```
pub fn lint(analysis: &mut Analysis) -> Vec<Diagnostic> {
    broadloom_lang::lint(&mut analysis.program)
}

/// The names that are defined and not used: those among the [warnings](lint) that an editor may show more faintly.
pub fn unused(analysis: &mut Analysis) -> Vec<Diagnostic> {
    broadloom_lang::unused_names(&mut analysis.program)
}
