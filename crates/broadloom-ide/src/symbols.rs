//! The outline of a text: what it defines, nested as it is written.

use broadloom_diagnostics::{SourceId, Span};
use serde::Serialize;

use crate::names::{Binding, BindingKind, Bindings};

/// Something that a text defines.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Its kind, in a word: `function`, `data`, `parameter`, …
    pub kind: &'static str,
    /// The line that introduces it.
    pub detail: String,
    /// The name where it is bound.
    #[serde(skip)]
    pub span: Span,
    /// The whole statement or expression.
    #[serde(skip)]
    pub whole: Span,
    /// The symbols that are defined inside it.
    pub children: Vec<Symbol>,
}

/// The outline of a text. Arguments and variables of loops are left out.
///
/// ```
/// use broadloom_ide::symbols;
///
/// let outline = symbols("data x : 3\ndef dense(size)(x) = {w} @ x + {b : size}\n");
/// let names: Vec<&str> = outline.iter().map(|symbol| symbol.name.as_str()).collect();
/// assert_eq!(names, ["x", "dense"]);
/// assert_eq!(outline[1].children[0].name, "w");
/// ```
pub fn symbols(text: &str) -> Vec<Symbol> {
    let all = Bindings::new(SourceId(0), text).all;
    let is_shown =
        |binding: &&Binding| !matches!(binding.kind, BindingKind::Argument | BindingKind::Variable);
    let mut shown: Vec<&Binding> = all.iter().filter(is_shown).collect();
    shown.sort_by_key(|binding| (extent(binding).start, u32::MAX - extent(binding).end, binding.span.start));
    let mut roots = Vec::new();
    // The symbols that are open here, the innermost last; a function contains what is written in it.
    let mut open: Vec<Symbol> = Vec::new();
    for binding in shown {
        close(&mut open, &mut roots, binding.span.start);
        let detail = binding.head.slice(text).split_whitespace().collect::<Vec<_>>().join(" ");
        let symbol = Symbol {
            name: binding.name.clone(),
            kind: binding.kind.word(),
            detail,
            span: binding.span,
            whole: extent(binding),
            children: Vec::new(),
        };
        match binding.kind {
            BindingKind::Function => open.push(symbol),
            _ => open.last_mut().map_or(&mut roots, |outer| &mut outer.children).push(symbol),
        }
    }
    close(&mut open, &mut roots, u32::MAX);
    roots
}

/// The text that belongs to a symbol: a parameter is only its braces.
fn extent(binding: &Binding) -> Span {
    if binding.kind == BindingKind::Parameter { binding.head } else { binding.whole }
}

/// Ends the symbols that do not contain an offset.
fn close(open: &mut Vec<Symbol>, roots: &mut Vec<Symbol>, offset: u32) {
    while let Some(symbol) = open.pop_if(|symbol| symbol.whole.end <= offset) {
        open.last_mut().map_or(&mut *roots, |outer| &mut outer.children).push(symbol);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(text: &str) -> String {
        fn shown(symbols: &[Symbol]) -> String {
            let one = |symbol: &Symbol| match symbol.children.is_empty() {
                true => symbol.name.clone(),
                false => format!("{}({})", symbol.name, shown(&symbol.children)),
            };
            symbols.iter().map(one).collect::<Vec<_>>().join(" ")
        }
        shown(&symbols(text))
    }

    #[test]
    fn functions_contain_what_is_written_in_them() {
        assert_eq!(outline("dim n = 3\nlet y = {w : n}\n"), "n y w");
        assert_eq!(
            outline("def f(x) =\n  let y = {w} @ x\n  def g(z) = z + {b}\n  g(y)\nlet a = 1\n"),
            "f(y w g(b)) a"
        );
        assert_eq!(outline("repeat 3:\n  let y = 1\n"), "y");
    }

    #[test]
    fn unfinished_lines_are_left_out() {
        assert_eq!(outline("data x : 3\nlet = 4\ndef f(x) = \nlet z = x\n"), "x z");
    }
}
