//! The definition of a name in the program, in a module or in the library.

use broadloom_diagnostics::{SourceId, Span};
use broadloom_lang::syntax::lexer::lex;
use broadloom_lang::syntax::token::Token;

use crate::analysis::Analysis;
use crate::fields::field_definition;
use crate::labels::label_definition;
use crate::names::{Binding, BindingKind, Bindings};
use crate::occurrences::{Occurrences, Target};
use crate::paths::path;

/// The place that binds the name at an offset of the program's text: in the program, in a module, or in the library. The
/// path of an import leads to the beginning of its file, a label of a spec to the first place where the spec has it, and a size such as `y.h` to the spec that made `y`.
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
    match Named::find(analysis, offset) {
        Some(named) => named.binding.map(|binding| match module_start(analysis, &binding) {
            Some(start) => start,
            None => binding.span,
        }),
        None => {
            let within = |path: &Span| {
                path.source == analysis.program.main && path.start <= offset && offset <= path.end
            };
            let import = analysis.program.imports.iter().find(|(path, _)| within(path));
            let file = import.map(|(_, source)| Span::empty(*source, 0));
            file.or_else(|| field_definition(analysis, offset)).or_else(|| label_definition(analysis, offset))
        }
    }
}

/// The beginning of the file of a module whose name is only written in its path.
fn module_start(analysis: &Analysis, binding: &Binding) -> Option<Span> {
    let path = binding.path.filter(|path| *path == binding.span)?;
    Some(Span::empty(analysis.program.imported(path)?, 0))
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
        let names = Occurrences::new(main, text);
        let here = names.at(offset)?;
        let name = here.span.slice(text).to_string();
        let binding = match here.target {
            Target::Bound(index) => Some(names.bindings.all[index].clone()),
            Target::Member(module) => member(analysis, &names.bindings.all[module], &name),
            Target::Free => library(analysis).into_iter().find(|binding| binding.name == name),
            Target::Field => {
                let (path, binding) = part(analysis, here.span)?;
                return Some(Named { name: path, span: here.span, binding: Some(binding) });
            }
            Target::Argument(callee) => Some(argument(analysis, callee?, &name)?),
        };
        Some(Named { name, span: here.span, binding })
    }
}

/// The argument of a function of the library or of a module, by its name; the function is called at a place.
fn argument(analysis: &Analysis, callee: Span, name: &str) -> Option<Binding> {
    let function = Named::find(analysis, callee.start)?.binding?;
    let source = function.span.source;
    let bindings = Bindings::new(source, analysis.sources().get(source).text());
    let index = bindings.arguments(&function).find(|index| bindings.all[*index].name == name)?;
    Some(Binding { head: function.head, ..bindings.all[index].clone() })
}

/// The parameter of a layer that a field is, `net.w`, with its whole path.
fn part(analysis: &Analysis, field: Span) -> Option<(String, Binding)> {
    let main = analysis.program.main;
    let text = analysis.sources().get(main).text();
    let tokens = lex(main, text).tokens;
    let words = tokens.iter().filter(|token| !token.span.is_empty());
    let before: Vec<&Token> = words.take_while(|token| token.span.start <= field.start).collect();
    let path = path(text, &before)?.join(".");
    // A size of a spec is none.
    let made = analysis.program.made.iter().rev().find(|made| made.name == path)?;
    let (span, known) = (made.span, (made.span.end, made.span.end));
    let name = analysis.sources().slice(span).to_string();
    let kind = BindingKind::Parameter;
    Some((path, Binding { name, kind, span, known, head: span, whole: span, path: None }))
}

/// Finds the binding of a name in a module.
pub(crate) fn member(analysis: &Analysis, module: &Binding, name: &str) -> Option<Binding> {
    members(analysis, module).into_iter().rev().find(|binding| binding.name == name)
}

/// The bindings of a module that an import makes visible.
pub(crate) fn members(analysis: &Analysis, module: &Binding) -> Vec<Binding> {
    let source = module.path.and_then(|path| analysis.program.imported(path));
    let bound = |source| Bindings::new(source, analysis.sources().get(source).text()).all;
    let all = source.map(bound).unwrap_or_default();
    all.into_iter().filter(|binding| binding.known.1 == u32::MAX).collect()
}

/// Returns true if the library or the language has a name.
pub(crate) fn in_library(analysis: &Analysis, name: &str) -> bool {
    broadloom_lang::builtins().any(|known| known == name)
        || library(analysis).iter().any(|binding| binding.name == name)
}

/// The functions of the library: its texts come before the program.
pub(crate) fn library(analysis: &Analysis) -> Vec<Binding> {
    let sources = (0..analysis.program.main.0).map(SourceId);
    let bindings = |source| Bindings::new(source, analysis.sources().get(source).text()).all;
    let is_function =
        |binding: &Binding| binding.kind == BindingKind::Function && binding.known.1 == u32::MAX;
    sources.flat_map(bindings).filter(is_function).collect()
}
