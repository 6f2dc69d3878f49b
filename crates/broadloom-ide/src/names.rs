//! The names of a text: their bindings and scopes.
//!
//! The text is parsed, not evaluated, so that names are available for programs with mistakes, too.
//! A name is known from the line after the statement that binds it to the end of the block; a
//! parameter to the end of the function it is in. Names in the body of a function are looked up
//! when the function is applied, so names that the program binds later count there.

mod walk;

use broadloom_diagnostics::{SourceId, Span};
use broadloom_lang::syntax::ast::{File, Names};
use rustc_hash::FxHashMap;

/// The binding of a name.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Binding {
    pub name: String,
    pub kind: BindingKind,
    /// The name itself.
    pub span: Span,
    /// The range in which it is known: the first offset, and the one after the last.
    pub known: (u32, u32),
    /// The part of the statement that introduces the name: `def linear(size)(x)`.
    pub head: Span,
    /// The whole statement or expression that binds it.
    pub whole: Span,
    /// The path of the file, for a module.
    pub path: Option<Span>,
}

/// The kind of a binding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BindingKind {
    Dim,
    Data,
    State,
    Value,
    Parameter,
    Function,
    Argument,
    Variable,
    Module,
}

impl BindingKind {
    /// The kind in a word.
    pub fn word(self) -> &'static str {
        match self {
            BindingKind::Dim => "dim",
            BindingKind::Data => "data",
            BindingKind::State => "state",
            BindingKind::Value => "value",
            BindingKind::Parameter => "parameter",
            BindingKind::Function => "function",
            BindingKind::Argument => "argument",
            BindingKind::Variable => "variable",
            BindingKind::Module => "module",
        }
    }
}

/// All names that a text binds.
#[derive(Default)]
pub(crate) struct Bindings {
    pub all: Vec<Binding>,
    by_name: FxHashMap<String, Named>,
    /// The bodies of functions, in order; none is inside of another.
    bodies: Vec<(u32, u32)>,
}

/// The bindings of one name, as indices into [`Bindings::all`], so that the one at an offset is found without looking at all of
/// them.
#[derive(Default)]
struct Named {
    /// The places that bind the name, in order: the span, and the binding.
    written: Vec<(u32, u32, usize)>,
    /// Those that are known to the end of the text, in the order in which they begin to be.
    outer: Vec<(u32, usize)>,
    /// Those of blocks: the range in which each is known, the last end of it and of those before it, and the binding.
    inner: Vec<(u32, u32, u32, usize)>,
}

impl Bindings {
    /// Reads a text.
    pub fn new(source: SourceId, text: &str) -> Bindings {
        walk::bindings(source, text)
    }

    /// The names of a text that has been parsed, in its own names.
    pub fn of(source: SourceId, text: &str, file: &File, names: &Names) -> Bindings {
        walk::bindings_of(source, text, file, names)
    }

    fn push(&mut self, binding: Binding) {
        let named = self.by_name.entry(binding.name.clone()).or_default();
        let (index, (start, end)) = (self.all.len(), binding.known);
        named.written.push((binding.span.start, binding.span.end, index));
        match end {
            u32::MAX => named.outer.push((start, index)),
            _ => named.inner.push((start, end, end, index)),
        }
        self.all.push(binding);
    }

    /// Puts everything in order, when all names have been found.
    fn sort(&mut self) {
        for named in self.by_name.values_mut() {
            named.written.sort();
            named.outer.sort();
            named.inner.sort_by_key(|(start, _, _, index)| (*start, *index));
            let mut last = 0;
            for (_, end, last_end, _) in &mut named.inner {
                last = last.max(*end);
                *last_end = last;
            }
        }
        self.bodies.sort();
        let mut reached = 0;
        self.bodies.retain(|(_, end)| {
            let is_outside = *end > reached;
            reached = reached.max(*end);
            is_outside
        });
    }

    /// The names that are known at an offset, the innermost first, and among those the last bound
    /// first.
    pub fn at(&self, offset: u32) -> Vec<&Binding> {
        let in_body = self.in_body(offset);
        let mut known: Vec<&Binding> =
            self.all.iter().filter(|binding| binding.is_known(offset, in_body)).collect();
        known.sort_by_key(|binding| binding.rank(offset));
        known
    }

    /// The binding of a name at an offset.
    pub fn find(&self, name: &str, offset: u32) -> Option<&Binding> {
        self.index(name, offset).map(|index| &self.all[index])
    }

    /// The binding of a name at an offset, as an index into `all`.
    pub fn index(&self, name: &str, offset: u32) -> Option<usize> {
        let named = self.by_name.get(name)?;
        let before = named.written.partition_point(|(start, ..)| *start <= offset);
        if let Some((_, end, here)) = before.checked_sub(1).map(|last| named.written[last])
            && offset <= end
        {
            return Some(here);
        }
        // The innermost, and among those the last.
        let begun = named.inner.partition_point(|(start, ..)| *start <= offset);
        let reaching = named.inner[..begun].iter().rev().take_while(|(_, _, last_end, _)| offset < *last_end);
        let known = reaching.filter(|(_, end, ..)| offset < *end).map(|(.., index)| *index);
        if let Some(inner) = known.min_by_key(|index| self.all[*index].rank(offset)) {
            return Some(inner);
        }
        let begun = named.outer.partition_point(|(start, _)| *start <= offset);
        let first_of = |at: usize| named.outer.partition_point(|(start, _)| *start < named.outer[at].0);
        let last = begun.checked_sub(1).map(first_of);
        let later = || Some(begun).filter(|begun| *begun < named.outer.len() && self.in_body(offset));
        last.or_else(later).map(|at| named.outer[at].1)
    }

    /// The arguments of a function, by name or all of them.
    pub fn arguments<'a>(&'a self, function: &'a Binding) -> impl Iterator<Item = usize> + 'a {
        let inside = |span: Span| function.head.start <= span.start && span.end <= function.head.end;
        let is_argument = move |(_, binding): &(usize, &Binding)| {
            binding.kind == BindingKind::Argument && inside(binding.span)
        };
        let first = match function.kind {
            BindingKind::Function => self.index(&function.name, function.span.start),
            _ => None,
        };
        // They are bound right after their function.
        let first = first.map_or(self.all.len(), |function| function + 1);
        let there = self.all[first..].iter().take_while(|each| each.span.start <= function.head.end);
        (first..).zip(there).filter(is_argument).map(|(index, _)| index)
    }

    /// The binding by which other files know a name: the last one that is known to the end.
    pub fn member(&self, name: &str) -> Option<&Binding> {
        self.by_name.get(name)?.outer.last().map(|(_, index)| &self.all[*index])
    }

    /// Returns true inside the body of a function, where names are looked up when it is applied.
    fn in_body(&self, offset: u32) -> bool {
        let before = self.bodies.partition_point(|(start, _)| *start <= offset);
        before.checked_sub(1).is_some_and(|last| offset < self.bodies[last].1)
    }
}

impl Binding {
    /// Returns true if the name stands for this at an offset, unless something nearer has the same name.
    fn is_known(&self, offset: u32, in_body: bool) -> bool {
        let (start, end) = self.known;
        offset < end && (start <= offset || (in_body && end == u32::MAX))
    }

    /// The order in which bindings of a name count at an offset: the innermost first, and among those the last. Later
    /// ones count only if there are no earlier ones.
    fn rank(&self, offset: u32) -> (bool, u32, u32) {
        let (start, end) = self.known;
        (start > offset, end, if start > offset { start } else { u32::MAX - start })
    }
}

/// The comment right above a line, without the `#` signs.
pub(crate) fn comment_above(text: &str, offset: u32) -> Option<String> {
    let before = text.get(..offset as usize)?;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let lines: Vec<&str> = before[..start].lines().collect();
    let is_comment = |line: &&&str| line.trim_start().starts_with('#');
    let count = lines.iter().rev().take_while(is_comment).count();
    let words = |line: &&str| line.trim_start().trim_start_matches('#').trim().to_string();
    let comment: Vec<String> = lines[lines.len() - count..].iter().map(words).collect();
    (!comment.is_empty()).then(|| comment.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occurrences::Occurrences;

    /// The line on which the name under the cursor `▮` is bound.
    fn bound(text: &str) -> Option<usize> {
        let offset = text.find('▮').unwrap();
        let text = text.replace('▮', "");
        let source = SourceId(0);
        let names = Occurrences::new(source, &text);
        let binding = names.binding(names.at(offset as u32)?)?;
        Some(text[..binding.span.start as usize].matches('\n').count() + 1)
    }

    #[test]
    fn names_are_known_from_their_statement_on() {
        assert_eq!(bound("data x : 3\nlet y = x▮\n"), Some(1));
        assert_eq!(bound("data x : 3\nlet x = ▮x + 1\nlet y = x\n"), Some(1));
        assert_eq!(bound("data x : 3\nlet x = x + 1\nlet y = ▮x\n"), Some(2));
        assert_eq!(bound("let y = x▮\ndata x : 3\n"), None);
        assert_eq!(bound("let y = {w} @ ▮w\n"), Some(1));
        assert_eq!(bound("dim n = 3\ndata x : n▮ | 2\n"), Some(1));
    }

    /// The binding at an offset, by its definition: what is written there, or the known one of the least rank.
    fn by_definition(names: &Bindings, name: &str, offset: u32) -> Option<usize> {
        let named = || names.all.iter().enumerate().filter(|(_, each)| each.name == name);
        let here = named().find(|(_, each)| each.span.start <= offset && offset <= each.span.end);
        let in_body = names.in_body(offset);
        let known = named().filter(|(_, each)| each.is_known(offset, in_body));
        here.or_else(|| known.min_by_key(|(_, each)| each.rank(offset))).map(|(index, _)| index)
    }

    #[test]
    fn names_are_found_as_by_looking_at_all() {
        let text = "data x : 3\ndef f(x) = x + y\ndef g(x)(y) =\n  let x = x + {w}\n  def f(y) =\n    let x = y\n    x\n  f(x)\n\
                    for x in 0..3:\n  let y = x\n  for x in 0..2:\n    print x\nlet x, y = [1, 2]\nlet w = {w} + {w}\nlet x = x\ndef h(x) = z\nlet z = 1\nlet z = 2\n";
        for text in [text.to_string(), text.repeat(3), text.replace("=\n", "= (\n")] {
            let names = Bindings::new(SourceId(0), &text);
            for name in ["x", "y", "z", "w", "f", "g", "h", "none"] {
                for offset in 0..=text.len() as u32 {
                    let found = names.index(name, offset);
                    assert_eq!(found, by_definition(&names, name, offset), "`{name}` at {offset}:\n{text}");
                }
            }
        }
    }

    #[test]
    fn blocks_have_names_of_their_own() {
        assert_eq!(bound("data x : 3\ndef f(\n  a)(x) =\n  ▮x + {b}\n"), Some(3));
        assert_eq!(bound("def f(x) =\n  let y = x\n  y\nlet z = ▮y\n"), None);
        assert_eq!(bound("for i in 0..3:\n  print ▮i\n"), Some(1));
        assert_eq!(bound("let all = [linear(n▮) for n in [1, 2]]\n"), Some(1));
        // Names in a function are looked up when it is applied.
        assert_eq!(bound("def f(x) = x + ▮k\nlet k = 2\n"), Some(2));
        assert_eq!(bound("def f(x) =\n  let y = x\n  ▮y +\n"), Some(2));
    }

    #[test]
    fn fields_and_arguments_are_no_names() {
        assert_eq!(bound("let grad = 1\nlet y = w.▮grad\n"), None);
        assert_eq!(bound("let rate = 1\nlet y = f(▮rate = 2)\n"), None);
        assert_eq!(bound("let rate = 1\ndef f(▮rate = 2)(x) = x\n"), Some(2));
        assert_eq!(bound("let b = 1\nlet a, ▮b = [1, 2]\n"), Some(2));
    }

    #[test]
    fn comments_stand_above() {
        let text = "# one\n\n# two\n# three\ndef f(x) = x\n";
        assert_eq!(comment_above(text, text.find("def").unwrap() as u32), Some("two\nthree".into()));
        assert_eq!(comment_above("def f(x) = x\n", 0), None);
    }
}
