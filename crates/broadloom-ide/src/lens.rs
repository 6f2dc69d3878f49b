//! Lines above statements on which an editor offers a command.

use broadloom_diagnostics::Span;
use broadloom_lang::syntax::ast::{Names, Statement, StatementKind};
use broadloom_lang::syntax::parse;
use serde::Serialize;

use crate::analysis::Analysis;
use crate::words::{counted, grouped};

/// A command that is offered above a line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Lens {
    /// The first word of the statement.
    #[serde(skip)]
    pub span: Span,
    /// The text to show.
    pub title: String,
    /// The name to explain; None to run the program.
    pub explain: Option<String>,
}

/// The commands of a program: running it, with the number of its parameters, and explaining each named size.
///
/// ```
/// use broadloom_ide::{Analysis, Text, lenses};
///
/// let text = Text::new("a.loom", "dim n = 3\nlet y = {w : n}\nprint y\n");
/// let titles: Vec<String> = lenses(&mut Analysis::new(&text)).into_iter().map(|lens| lens.title).collect();
/// assert_eq!(titles, ["run (1 parameter, 3 elements)", "explain n"]);
/// ```
pub fn lenses(analysis: &mut Analysis) -> Vec<Lens> {
    let main = analysis.program.main;
    let text = analysis.sources().get(main).text();
    let mut names = Names::default();
    let parsed = parse(main, text, &mut names);
    let mut found = Vec::new();
    let dims = parsed.file.statements.iter().filter_map(|statement| match &statement.kind {
        StatementKind::Dim { name, .. } => Some((statement, names.text(name.name).to_string())),
        _ => None,
    });
    let explain = |(statement, name): (&Statement, String)| Lens {
        span: statement.span,
        title: format!("explain {name}"),
        explain: Some(name),
    };
    let first = parsed.file.statements.first().map(|first| first.span);
    found.extend(dims.map(explain));
    if let Some(span) = first {
        let params = parameters(analysis).map_or(String::new(), |params| format!(" ({params})"));
        found.insert(0, Lens { span, title: format!("run{params}"), explain: None });
    }
    found
}

/// The parameters of a correct program, counted.
fn parameters(analysis: &mut Analysis) -> Option<String> {
    let params = analysis.program.graph.params();
    if params.is_empty() || !analysis.is_ok() {
        return None;
    }
    let shapes = analysis.program.graph.final_shapes().ok()?;
    let elements = params.iter().map(|param| shapes.get(*param).elements()).fold(0, u64::saturating_add);
    let elements = if elements == 1 { "1 element".into() } else { format!("{} elements", grouped(elements)) };
    Some(format!("{}, {elements}", counted(params.len() as u64, "parameter")))
}
