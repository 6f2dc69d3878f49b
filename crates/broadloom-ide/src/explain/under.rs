//! The name that an explanation under the cursor is about.

use crate::analysis::Analysis;
use crate::definition::definition;
use crate::fields::named_field;
use crate::labels::named_label;

/// The name under the cursor as [`explain`](crate::explain) takes it: a tensor, a named size, a size of a tensor (`y.h`), or a label of a spec, which is a size of the
/// tensor that the spec makes.
///
/// ```
/// use broadloom_ide::{Analysis, Text, explainable};
///
/// let text = "data x : 3, 4\nlet y = sum(\"i, j => j\", x)\nprint y.j\n";
/// let analysis = Analysis::new(&Text::new("a.loom", text));
/// let at = |part: &str| explainable(&analysis, text.find(part).unwrap() as u32);
/// assert_eq!(at("y = "), Some("y".to_string()));
/// assert_eq!(at("i, j"), Some("y.i".to_string()));
/// assert_eq!(at("j\n"), Some("y.j".to_string()));
/// assert_eq!(at("print"), None);
/// ```
pub fn explainable(analysis: &Analysis, offset: u32) -> Option<String> {
    let program = &analysis.program;
    let size = named_field(analysis, offset).or_else(|| named_label(analysis, offset));
    // A name that is used stands for where it was made.
    let made_at = definition(analysis, offset).filter(|span| span.source == program.main);
    let made_at = made_at.map_or(offset, |span| span.start);
    let covers = |made: &&broadloom_lang::NamedTensor| {
        made.span.source == program.main && made.span.start <= made_at && made_at <= made.span.end
    };
    let tensor = || program.made.iter().find(covers).map(|made| made.name.clone());
    let dim = || {
        let text = program.sources.get(program.main).text();
        let names = crate::occurrences::Occurrences::new(program.main, text);
        let name = names.at(offset)?.span.slice(text);
        program.dims.iter().find(|dim| dim.name == name).map(|dim| dim.name.clone())
    };
    size.or_else(tensor).or_else(dim)
}
