//! The places where a name is used, and changing it everywhere.

use broadloom_diagnostics::{Edit, SourceId, Span};
use broadloom_lang::syntax::lexer::lex;
use broadloom_lang::syntax::token::TokenKind;
use rustc_hash::FxHashMap;

use crate::analysis::Analysis;
use crate::definition::{definition, in_library};
use crate::names::{Binding, BindingKind};
use crate::occurrences::{Occurrence, Occurrences, Target};

/// A name, and where it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct References {
    /// The name.
    pub name: String,
    /// The place that binds it, in the program, a module or the library; None for a name of the language itself.
    pub definition: Option<Span>,
    /// All places of the program where it is written, in order; the definition, too, if it is in the program.
    pub places: Vec<Span>,
}

/// The places of the program that use the name at an offset.
///
/// ```
/// use broadloom_ide::{Analysis, Text, references};
///
/// let text = "data x : 3\nlet y = x + relu(x)\n";
/// let found = references(&Analysis::new(&Text::new("a.loom", text)), 5).unwrap();
/// let places: Vec<u32> = found.places.iter().map(|place| place.start).collect();
/// assert_eq!(places, [5, 19, 28]);
/// ```
pub fn references(analysis: &Analysis, offset: u32) -> Option<References> {
    let main = analysis.program.main;
    let text = analysis.sources().get(main).text();
    let names = Occurrences::new(main, text);
    let here = names.at(offset)?;
    let name = here.span.slice(text);
    let is_same = |each: &&Occurrence| match here.target {
        Target::Field | Target::Argument(_) => each.span == here.span,
        Target::Bound(_) => each.target == here.target,
        Target::Member(_) | Target::Free => each.target == here.target && each.span.slice(text) == name,
    };
    let places = names.all.iter().filter(is_same).map(|each| each.span).collect();
    Some(References { name: name.to_string(), definition: definition(analysis, offset), places })
}

/// Something of a file that other files can name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Its name: `module.name`.
    pub name: String,
    /// The argument of the function of that name, if it is one: `module.name(argument = …)`.
    pub argument: Option<String>,
}

/// The places of a text that use something that another file binds: `module.name`, where `module` is imported by a path that leads to the file. The text is not evaluated.
pub fn uses_of_member(text: &str, member: &Member, leads_there: impl Fn(&str) -> bool) -> Vec<Span> {
    let Member { name, argument } = member;
    // Most files neither import anything nor know the name.
    if !text.contains("import") || !text.contains(name) {
        return Vec::new();
    }
    let names = Occurrences::new(SourceId(0), text);
    let leads_there = |path: Span| leads_there(path.slice(text).trim_matches('"'));
    let mut known: FxHashMap<usize, bool> = FxHashMap::default();
    let mut is_use = |each: &&Occurrence| match each.target {
        Target::Member(module) if each.span.slice(text) == name => {
            *known.entry(module).or_insert_with(|| names.bindings.all[module].path.is_some_and(leads_there))
        }
        _ => false,
    };
    let uses: Vec<Span> = names.all.iter().filter(&mut is_use).map(|each| each.span).collect();
    let Some(argument) = argument else { return uses };
    let is_given = |each: &&Occurrence| match each.target {
        Target::Argument(Some(function)) => uses.contains(&function) && each.span.slice(text) == argument,
        _ => false,
    };
    names.all.iter().filter(is_given).map(|each| each.span).collect()
}

/// The places of a text that use what is bound at an offset, and the name; None if other files do not know it.
pub fn places_of_member(text: &str, offset: u32) -> Option<(Member, Vec<Span>)> {
    let names = Occurrences::new(SourceId(0), text);
    let here = names.at(offset)?;
    let binding = names.binding(here)?;
    let is_known = |binding: &Binding| {
        names.bindings.member(&binding.name).is_some_and(|member| member.span == binding.span)
    };
    let member = match binding.kind {
        BindingKind::Argument => {
            let has_it = |function: &&Binding| {
                names.bindings.arguments(function).any(|index| Target::Bound(index) == here.target)
            };
            let function = names.bindings.all.iter().filter(|each| is_known(each)).find(has_it)?;
            Member { name: function.name.clone(), argument: Some(binding.name.clone()) }
        }
        _ => Some(Member { name: binding.name.clone(), argument: None }).filter(|_| is_known(binding))?,
    };
    let uses = names.all.iter().filter(|each| each.target == here.target).map(|each| each.span);
    Some((member, uses.collect()))
}

/// The span of the name at an offset, if the program binds it, so that it can be renamed; otherwise the reason why
/// not, if there is a name at all.
pub fn renamable(analysis: &Analysis, offset: u32) -> Option<Result<Span, String>> {
    let main = analysis.program.main;
    let text = analysis.sources().get(main).text();
    let names = Occurrences::new(main, text);
    let here = names.at(offset)?;
    let name = here.span.slice(text);
    Some(match here.target {
        Target::Bound(index) => {
            let binding = &names.bindings.all[index];
            match binding.kind == BindingKind::Module && Some(binding.span) == binding.path {
                true => {
                    Err(format!("`{name}` is the name of a file: write `import … as` to give it another one"))
                }
                false => Ok(here.span),
            }
        }
        // It is renamed in the file that defines it, and in all that import that.
        Target::Member(_) if definition(analysis, offset).is_some() => Ok(here.span),
        Target::Member(_) => Err(format!("the module has nothing called `{name}`")),
        Target::Field => {
            Err(format!("`{name}` is a size, a parameter or a gradient: rename it where it is made"))
        }
        Target::Argument(_) => match definition(analysis, offset) {
            Some(place) if analysis.program.file(place.source).is_some() => Ok(here.span),
            Some(_) => Err(format!("`{name}` is an argument of a function of the library")),
            None => Err(format!("`{name}` is an argument of a function that is not known here")),
        },
        Target::Free if in_library(analysis, name) => Err(format!("`{name}` is part of the library")),
        Target::Free => Err(format!("nothing in this program is called `{name}`")),
    })
}

/// The changes that give the name at an offset another one everywhere in the program, or the reason why that would
/// change what the program means.
///
/// ```
/// use broadloom_ide::{Analysis, Text, rename};
///
/// let text = "data x : 3\nlet y = x + x\n";
/// let analysis = Analysis::new(&Text::new("a.loom", text));
/// assert_eq!(rename(&analysis, 5, "input").unwrap().len(), 3);
/// assert_eq!(rename(&analysis, 5, "let").unwrap_err(), "`let` is a word of the language");
/// ```
pub fn rename(analysis: &Analysis, offset: u32, new: &str) -> Result<Vec<Edit>, String> {
    let main = analysis.program.main;
    let text = analysis.sources().get(main).text();
    is_name(new)?;
    renamable(analysis, offset).ok_or("there is no name here")??;
    let names = Occurrences::new(main, text);
    let here = names.at(offset).ok_or("there is no name here")?;
    let Target::Bound(index) = here.target else {
        return Err(format!("`{}` is defined in another file: rename it there", here.span.slice(text)));
    };
    let name = here.span.slice(text);
    if names.bindings.all[index].kind == BindingKind::Parameter {
        let field =
            names.all.iter().find(|each| each.target == Target::Field && each.span.slice(text) == name);
        if let Some(field) = field {
            let (line, _) = analysis.sources().position(field.span);
            return Err(format!("`.{name}` on line {line} may be this parameter: rename it by hand"));
        }
    }
    // Other files would find the last of two.
    let binding = &names.bindings.all[index];
    if binding.known.1 == u32::MAX && new != name && names.bindings.member(new).is_some() {
        return Err(format!("`{new}` is the name of something else here"));
    }
    let places = names.all.iter().filter(|each| each.target == here.target);
    let edits: Vec<Edit> = places.map(|each| Edit { span: each.span, text: new.to_string() }).collect();
    match keeps_meaning(main, text, &names, &edits) {
        true => Ok(edits),
        false => Err(format!("`{new}` is the name of something else here")),
    }
}

/// Checks that a text can be a name.
fn is_name(new: &str) -> Result<(), String> {
    let tokens = lex(SourceId(0), new).tokens;
    match tokens.first().map(|token| (token.kind, token.span.end as usize)) {
        Some((TokenKind::Keyword(_), end)) if end == new.len() => {
            Err(format!("`{new}` is a word of the language"))
        }
        Some((TokenKind::Name, end)) if end == new.len() => Ok(()),
        _ => Err(format!("`{new}` is no name: it begins with a letter and has letters, digits and `_`")),
    }
}

/// Returns true if every name stands for the same as before. A free name that becomes bound is one that the new name
/// hides.
fn keeps_meaning(source: SourceId, text: &str, before: &Occurrences, edits: &[Edit]) -> bool {
    let after = Occurrences::new(source, &applied(text, edits));
    let targets = |names: &Occurrences| names.all.iter().map(|each| each.target).collect::<Vec<_>>();
    targets(before) == targets(&after)
}

/// A text after changes that are in order and do not overlap.
pub fn applied(text: &str, edits: &[Edit]) -> String {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let (mut new, mut at) = (String::with_capacity(text.len()), 0);
    for Edit { span, text: replacement } in edits {
        new.push_str(text.get(at..span.start as usize).unwrap_or_default());
        new.push_str(replacement);
        at = span.end as usize;
    }
    new.push_str(text.get(at..).unwrap_or_default());
    new
}
