//! An application, and the same program with the body of the function in its place.
//!
//! Both must be accepted or refused. What is accepted gives results of the same shapes. What is refused has the same code, and
//! its message the same ends: labels at the same places of the body, of functions that it calls and of data, which claim the same
//! sizes. Places that only one of the two programs has are left out: the application itself, the head of the function, and the
//! lines that give its configuration values. A body in place goes on behind a mistake, so the message of the application has to
//! be one of its messages.

use std::collections::BTreeSet;

use broadloom_diagnostics::{Diagnostic, Label, Role};
use broadloom_lang::{Options, Program, compile};

use super::function::{File, Function};

/// The lines of a program, each with the part of the program that it belongs to.
#[derive(Default)]
pub struct Lines(Vec<(Part, String)>);

/// The part of a program that a line belongs to: the same in both programs.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Called,
    /// A line of the body, by its number.
    Body(usize),
    Dims,
    /// The declaration of an argument.
    Data(usize),
    Stated(usize),
    /// Only one of the programs has it.
    Own,
}

/// The parts of an application that are written in both programs.
pub struct Application<'a> {
    /// The function, behind those that it calls.
    pub file: &'a File,
    /// The values of its configuration.
    pub config: Vec<String>,
    /// The shapes of its arguments.
    pub arguments: Vec<String>,
    pub dims: Vec<(String, u64)>,
    /// The names of its results.
    pub results: Vec<String>,
    /// Parameters and results whose shapes are stated: as the function calls them, as the program does, and the shapes.
    pub stated: Vec<(String, String, String)>,
}

impl Lines {
    fn add(&mut self, part: Part, text: &str) {
        self.0.extend(text.lines().map(|line| (part, line.to_owned())));
    }

    pub fn text(&self) -> String {
        self.0.iter().map(|(_, line)| format!("{line}\n")).collect()
    }
}

impl Application<'_> {
    fn function(&self) -> &Function {
        &self.file.0[self.file.0.len() - 1]
    }

    fn called(&self) -> String {
        File(self.file.0[..self.file.0.len() - 1].to_vec()).written()
    }

    fn dims(&self, lines: &mut Lines) {
        for (name, size) in &self.dims {
            lines.add(Part::Dims, &format!("dim {name} in 2.. = {size}"));
        }
    }

    /// The program that applies the function.
    pub fn applied(&self) -> Lines {
        let (function, mut lines) = (self.function(), Lines::default());
        lines.add(Part::Called, &self.called());
        let written = function.written();
        for (at, line) in written.lines().enumerate() {
            lines.add(if at == 0 { Part::Own } else { Part::Body(at - 1) }, line);
        }
        self.dims(&mut lines);
        for (at, shape) in self.arguments.iter().enumerate() {
            lines.add(Part::Data(at), &format!("data dataq{at} : {shape}"));
        }
        let data: Vec<String> = (0..self.arguments.len()).map(|at| format!("dataq{at}")).collect();
        let (data, results) = (data.join(", "), self.results.join(", "));
        match function.config.is_some() {
            true => {
                let config = self.config.join(", ");
                lines.add(Part::Own, &format!("let layerq = {}({config})", function.name));
                lines.add(Part::Own, &format!("let {results} = layerq({data})"));
            }
            false => lines.add(Part::Own, &format!("let {results} = {}({data})", function.name)),
        }
        for (at, (_, name, shape)) in self.stated.iter().enumerate() {
            lines.add(Part::Stated(at), &format!("let statedq{at} : {shape} = {name}"));
        }
        lines
    }

    /// The program with its body. Sizes of the configuration have names that no other function uses.
    pub fn inlined(&self) -> Lines {
        let (function, mut lines) = (self.function(), Lines::default());
        lines.add(Part::Called, &self.called());
        self.dims(&mut lines);
        for (at, ((name, _), shape)) in function.arguments.iter().zip(&self.arguments).enumerate() {
            lines.add(Part::Data(at), &format!("data {name} : {shape}"));
        }
        let sizes: Vec<&String> = function.config.iter().flatten().collect();
        for (name, value) in sizes.iter().zip(&self.config) {
            lines.add(Part::Own, &format!("let {} = {value}", own_name(name)));
        }
        let body = function.body();
        for (at, line) in body.iter().enumerate() {
            let own = |word: &str| sizes.iter().any(|size| *size == word).then(|| own_name(word));
            let line = with_words(line, own);
            let results = format!("let {} = ", self.results.join(", "));
            let result = if at + 1 == body.len() { results.as_str() } else { "" };
            lines.add(Part::Body(at), &format!("{result}{line}"));
        }
        for (at, (name, _, shape)) in self.stated.iter().enumerate() {
            lines.add(Part::Stated(at), &format!("let statedq{at} : {shape} = {name}"));
        }
        lines
    }

    /// The difference between both programs: its kind, and the second program with both messages.
    pub fn difference(&self, lines: &Lines, program: &mut Program) -> Option<(String, String)> {
        let inlined = self.inlined();
        let mut other = compile("application.loom", &inlined.text(), &Options::default());
        let first = |program: &Program| program.diagnostics.iter().find(|each| each.is_error()).cloned();
        let (kind, shown) = match (first(program), first(&other)) {
            (None, None) => {
                let shape = |program: &mut Program, name: &str| {
                    let tensor = program.find(name)?;
                    program.graph.final_shape(tensor).ok().map(|shape| shape.to_string())
                };
                let differs = |name: &&String| shape(program, name) != shape(&mut other, name);
                let name = self.results.iter().find(differs)?;
                let shapes = (shape(program, name), shape(&mut other, name));
                ("inlined: the result differs".to_owned(), format!("`{name}`: {shapes:?}\n"))
            }
            (Some(error), None) => {
                (format!("inlined: accepted, not {}", error.code), format!("{}\n", error.message))
            }
            (None, Some(error)) => {
                (format!("inlined: refused {}", error.code), format!("{}\n", error.message))
            }
            (Some(error), Some(_)) => {
                let wanted = self.ends(&error, lines, program);
                let errors = other.diagnostics.iter().filter(|each| each.is_error());
                let found: Vec<_> =
                    errors.map(|each| (each.code, self.ends(each, &inlined, &other))).collect();
                if found.iter().any(|(code, ends)| *code == error.code && *ends == wanted) {
                    return None;
                }
                let kind = match found.iter().any(|(code, _)| *code == error.code) {
                    true => format!("inlined: other ends {}", error.code),
                    false => format!("inlined: {} instead of {}", found[0].0, error.code),
                };
                let messages: Vec<&String> = other.diagnostics.iter().map(|each| &each.message).collect();
                (kind, format!("{}\n{wanted:#?}\n{messages:#?}\n{found:#?}\n", error.message))
            }
        };
        Some((kind, format!("{}--\n{shown}", inlined.text())))
    }

    /// The ends of a message: places that both programs have, with the sizes that are claimed there. If functions apply each
    /// other, the outermost application is shown: with the body in place, that is one in the body, which is left out.
    fn ends(&self, error: &Diagnostic, lines: &Lines, program: &Program) -> BTreeSet<String> {
        let called: Vec<String> = self.file.0.iter().map(|function| format!("{}(", function.name)).collect();
        let applies = |label: &Label| {
            let source = program.sources.get(label.span.source).text();
            let text = source.get(label.span.start as usize..label.span.end as usize).unwrap_or_default();
            !matches!(label.role, Role::End(_)) && called.iter().any(|call| text.contains(call.as_str()))
        };
        let labels = error.labels.iter().filter(|label| !applies(label));
        labels.filter_map(|label| end(label, lines, program)).collect()
    }
}

fn end(label: &Label, lines: &Lines, program: &Program) -> Option<String> {
    let source = program.sources.get(label.span.source);
    let (start, end) = (label.span.start as usize, label.span.end as usize);
    // An error of the whole program is shown at its beginning.
    if end == 0 {
        return None;
    }
    let claim = match label.role {
        Role::End(_) => label.text.split_once(" because of").map_or("", |(claim, _)| claim),
        _ => "",
    };
    if source.name() != "application.loom" {
        return Some(format!("{} {start}..{end}: {claim}", source.name()));
    }
    let at = source.text()[..start].matches('\n').count();
    let (part, _) = lines.0.get(at)?;
    let slice = source.text().get(start..end).unwrap_or_default();
    let slice = slice
        .split_once(" = ")
        .filter(|(left, _)| left.starts_with("let resultq"))
        .map_or(slice, |(_, it)| it);
    let slice = with_words(slice, former_name).replace("\n  ", "\n");
    let place = match part {
        Part::Own => return None,
        Part::Called => format!("called {at}, `{slice}`"),
        Part::Body(line) => format!("body {line}, `{slice}`"),
        Part::Dims => format!("`{slice}`"),
        Part::Data(number) => format!("argument {number}"),
        Part::Stated(number) => format!("stated {number}"),
    };
    Some(format!("{place}: {claim}"))
}

/// The name that a size of the configuration has where the body is in place: no function uses it. Letters stay letters, because specs
/// may be written in letters.
fn own_name(name: &str) -> String {
    match name {
        "n" => "u".to_owned(),
        "b" => "o".to_owned(),
        name => format!("{name}q"),
    }
}

/// The name that a size of the configuration has in the function.
fn former_name(name: &str) -> Option<String> {
    match name {
        "u" => Some("n".to_owned()),
        "o" => Some("b".to_owned()),
        name => name.strip_suffix('q').map(str::to_owned),
    }
}

/// A text with other words in place of some of its words.
fn with_words(text: &str, other: impl Fn(&str) -> Option<String>) -> String {
    let mut made = String::new();
    let mut word = String::new();
    for sign in text.chars().chain(['\n']) {
        if sign.is_alphanumeric() || sign == '_' {
            word.push(sign);
            continue;
        }
        made.push_str(&other(&word).unwrap_or_else(|| word.clone()));
        word.clear();
        made.push(sign);
    }
    made.pop();
    made
}
