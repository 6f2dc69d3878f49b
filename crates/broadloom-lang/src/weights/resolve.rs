//! Assigns the arrays of a file to parameters, by its header, when all shapes are known.
//!
//! Nothing is guessed: every parameter needs an array, by a line or by its own name; every line needs arrays; and arrays that
//! nothing takes are reported.

use std::path::Path;
use std::sync::Arc;

use broadloom::files::{Described, FileErrorKind, OpenTensors};
use broadloom::{Shape, Shapes, Tensor};
use broadloom_diagnostics::{Diagnostic, Setting, Span, escaped};
use rustc_hash::FxHashSet;

use super::layout::{Layout, Misfit, layouts, memory};
use super::names::Line;
use super::{Load, Placed};
use crate::codes;
use crate::front::naming_setting;
use crate::program::Program;
use crate::suggest;

/// A file that Broadloom has saved has this beside its arrays.
const OWN: &str = "broadloom.runs";

impl Program {
    /// Compares the files of weights with the parameters, and keeps where the numbers are.
    pub(crate) fn look_at_weights(&mut self, loads: Vec<Load>, outside: Option<&Path>) {
        // Named sizes are shown as the last closing has them, also where there are mistakes.
        let has_names = self.dims.iter().any(|dim| dim.range.is_some());
        let is_wanted = self.is_ok() && !loads.is_empty();
        if !is_wanted && !has_names {
            return;
        }
        let Some(shapes) = self.graph.final_shapes().ok().filter(|_| is_wanted) else {
            return;
        };
        for load in loads {
            let Some(file) = self.opened(&load, outside) else { continue };
            // A page has no files, and none was opened.
            if cfg!(target_family = "wasm") {
                continue;
            }
            self.weights.outside |= load.file.is_none();
            let mut matching = Matching {
                program: self,
                load: &load,
                file: &file,
                shapes: &shapes,
                found: Vec::new(),
                reported: Vec::new(),
                unused: None,
                used: FxHashSet::default(),
            };
            matching.all();
            let Matching { found, reported, unused, .. } = matching;
            self.weights.placed.extend(found);
            self.weights.unused.extend(unused);
            self.diagnostics.extend(reported);
        }
    }

    /// Opens the file of a statement, or reports why it cannot be read. None, without a word, if the statement leaves the file
    /// to others and there is none, or one that needs no other names.
    fn opened(&mut self, load: &Load, outside: Option<&Path>) -> Option<Arc<OpenTensors>> {
        let (path, shown) = match (&load.file, outside) {
            (Some((path, shown)), _) => (path.as_path(), shown.clone()),
            (None, path) => (path?, escaped(&path?.to_string_lossy()).into_owned()),
        };
        match OpenTensors::open(path) {
            Ok(opened) if load.file.is_none() && opened.text(OWN).is_some() => None,
            Ok(opened) => Some(Arc::new(opened)),
            Err(error) => {
                let is_missing = error.kind() == FileErrorKind::Missing && error.file() == Some(path);
                let (message, help) = match is_missing {
                    true => (
                        format!("there is no file `{shown}`, so nothing is known of its weights"),
                        naming_setting(
                            "paths are relative to the folder of this file; `load(into = net, names = …)` leaves it to the run, ",
                            Setting::Load,
                            "",
                        ),
                    ),
                    false => (
                        error.to_string(),
                        "weights are in a `.safetensors` file, or in several with a `.safetensors.index.json`".into(),
                    ),
                };
                self.diagnostics.push(Diagnostic::error(codes::FILE, message, load.span, "").with_help(help));
                None
            }
        }
    }
}

/// The matching of one file and the parameters of one statement.
struct Matching<'m> {
    program: &'m Program,
    load: &'m Load,
    file: &'m Arc<OpenTensors>,
    shapes: &'m Shapes,
    found: Vec<Placed>,
    reported: Vec<Diagnostic>,
    unused: Option<Diagnostic>,
    /// The arrays that are taken, or left out on purpose.
    used: FxHashSet<String>,
}

impl Matching<'_> {
    fn all(&mut self) {
        if self.load.params.is_empty() {
            let (span, written) = &self.load.into;
            let message = format!("`{written}` has no parameters to load weights into");
            let help = "parameters are made when a function is applied for the first time";
            return self.reported.push(Diagnostic::error(codes::FILE, message, *span, "").with_help(help));
        }
        for (line, text, span) in &self.load.lines {
            self.line(line, text, *span);
        }
        self.own_names();
        // What is missing may follow from a line with a mistake.
        if self.reported.is_empty() {
            self.missing();
        }
        if self.reported.is_empty() {
            self.unused();
        }
    }

    /// Finds the arrays of a line. Of several mistakes of one kind the first is reported.
    fn line(&mut self, line: &Line, text: &str, span: Span) {
        let file = self.file.clone();
        let matching =
            file.arrays().filter_map(|(name, array)| Some((name, array, line.from.matches(name)?)));
        let mut is_met = line.to.is_empty();
        for (name, array, texts) in matching {
            is_met = true;
            self.used.insert(name.to_string());
            if line.to.is_empty() {
                continue;
            }
            let placed = self.array(name, array, &line.targets(&texts), line.by.as_deref(), span);
            if let Err(wrong) = placed {
                self.reported.push(*wrong);
                return;
            }
        }
        if !is_met {
            let pattern = &line.from.text;
            let message = format!("nothing in {} is called `{pattern}`", self.shown_file());
            let names: Vec<&str> = self.file.arrays().map(|(name, _)| name).collect();
            let near = suggest::nearest(pattern, names.iter().copied());
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it has {}", some(names.into_iter())),
            };
            let is_written = self.program.sources.slice(span).trim_matches('"') == text;
            let label = if is_written { String::new() } else { format!("in `{text}`") };
            let wrong = Diagnostic::error(codes::FILE, message, span, label);
            self.reported.push(wrong.with_help(help));
        }
    }

    /// Takes an array for parameters.
    fn array(
        &mut self,
        name: &str,
        array: &Described,
        targets: &[String],
        by: Option<&str>,
        span: Span,
    ) -> Result<(), Box<Diagnostic>> {
        let mut tensors = Vec::new();
        for target in targets {
            tensors.push(self.param(target).ok_or_else(|| self.no_param(name, target, span))?);
        }
        for (tensor, target) in tensors.iter().zip(targets) {
            if let Some(first) = self.found.iter().find(|placed| placed.tensor == *tensor) {
                let message = format!("`{target}` has two arrays: `{}` and `{name}`", first.array);
                let wrong = Diagnostic::error(codes::FILE, message, span, "");
                let help = format!("leave one of them out: `{name} -> _`");
                return Err(Box::new(wrong.with_help(help)));
            }
        }
        if !array.is_readable() {
            let message =
                format!("`{name}` has numbers of the type {}, which cannot be read", array.stored_as);
            let help = "save it with floats of 16 or 32 bits, or as BF16";
            return Err(Box::new(Diagnostic::error(codes::FILE, message, span, "").with_help(help)));
        }
        let shapes: Vec<Shape> = tensors.iter().map(|tensor| self.shapes.get(*tensor)).collect();
        let layouts = match self.file.text(OWN) {
            // What was saved by a program like this one is as it is.
            Some(_) if by.is_none() && targets.len() == 1 && memory(&shapes[0]) == array.sizes => {
                layouts(&array.sizes, &shapes, Some(&same_order(array.sizes.len(), &shapes[0])))
            }
            _ => layouts(&array.sizes, &shapes, by),
        };
        let layouts =
            layouts.map_err(|misfit| self.misfit(&misfit, (name, array), (&tensors, targets), span))?;
        self.place(name, &tensors, layouts, span);
        Ok(())
    }

    fn place(&mut self, array: &str, tensors: &[Tensor], layouts: Vec<Layout>, span: Span) {
        for (tensor, layout) in tensors.iter().zip(layouts) {
            let (file, array) = (self.file.clone(), array.to_string());
            self.found.push(Placed { tensor: *tensor, file, array, layout, span });
        }
    }

    /// Takes arrays that have the names of parameters.
    fn own_names(&mut self) {
        let file = self.file.clone();
        for (own, tensor) in &self.load.params {
            if self.found.iter().any(|placed| placed.tensor == *tensor) {
                continue;
            }
            let full = self.program.graph.name_of(*tensor).unwrap_or_default();
            let name = [own.as_str(), full].into_iter().find(|name| file.get(name).is_some());
            let Some((name, array)) = name.and_then(|name| Some((name, file.get(name)?))) else { continue };
            if self.used.insert(name.to_string())
                && let Err(wrong) = self.array(name, array, std::slice::from_ref(own), None, self.load.span)
            {
                self.reported.push(*wrong);
                return;
            }
        }
    }

    /// Reports parameters without an array.
    fn missing(&mut self) {
        let taken: FxHashSet<Tensor> = self.found.iter().map(|placed| placed.tensor).collect();
        let missing = self.load.params.iter().filter(|(_, tensor)| !taken.contains(tensor));
        let missing: Vec<&str> = missing.map(|(name, _)| name.as_str()).collect();
        let Some(first) = missing.first() else { return };
        let (have, it) = if missing.len() == 1 { ("has", "it") } else { ("have", "them") };
        let message = format!("{} {have} no weights in {}", some(missing.iter().copied()), self.shown_file());
        let place = self.param(first).and_then(|tensor| self.made_at(tensor));
        let help = self.for_missing(first, it);
        let (span, written) = &self.load.into;
        let mut wrong =
            Diagnostic::error(codes::FILE, message, *span, format!("all parameters of `{written}`"));
        if let Some(place) = place.filter(|place| place != span) {
            wrong = wrong.with_label(place, format!("`{first}` is made here"));
        }
        self.reported.push(wrong.with_help(help));
    }

    /// Advice for a parameter without an array. Of those that are left, one with as many elements may be
    /// meant.
    fn for_missing(&self, missing: &str, it: &str) -> String {
        let count = |sizes: &[u64]| sizes.iter().product::<u64>();
        let wanted = self.param(missing).map(|tensor| count(&memory(&self.shapes.get(tensor))));
        let left: Vec<&str> = self.left().map(|(name, _)| name).collect();
        let likely = self.left().find(|(_, array)| Some(count(&array.sizes)) == wanted);
        match likely.map(|(name, _)| name).or(left.first().copied()) {
            None => {
                format!("load into a part that does without {it}, as in `into = {}.head`", self.load.into.1)
            }
            Some(likely) => {
                format!(
                    "say which array it is, as in `{likely} -> {missing}`; left are {}",
                    some(left.iter().copied())
                )
            }
        }
    }

    /// Warns of arrays that nothing takes.
    fn unused(&mut self) {
        let left: Vec<(&str, &Described)> = self.left().collect();
        let Some((first, _)) = left.first() else { return };
        let message = match left.len() {
            1 => format!("an array of {} is not used: `{first}`", self.shown_file()),
            count => format!(
                "{count} arrays of {} are not used: {}",
                self.shown_file(),
                some(left.iter().map(|(name, _)| *name))
            ),
        };
        let help = format!("write `{first} -> _` for what is left out on purpose");
        let mut warning = Diagnostic::warning(codes::UNUSED_WEIGHTS, message, self.load.span, "");
        let unread: Vec<&str> = left
            .iter()
            .filter(|(_, array)| !array.is_readable())
            .map(|(_, array)| array.stored_as.as_str())
            .collect();
        if let Some(first) = unread.first() {
            warning = warning.with_note(format!("{} of them could not be read: type {first}", unread.len()));
        }
        self.unused = Some(warning.with_help(help));
    }

    /// The arrays that nothing takes.
    fn left(&self) -> impl Iterator<Item = (&str, &Described)> {
        self.file.arrays().filter(|(name, _)| !self.used.contains(*name))
    }

    fn param(&self, name: &str) -> Option<Tensor> {
        let known = |(own, tensor): &&(String, Tensor)| {
            own == name || self.program.graph.name_of(*tensor) == Some(name)
        };
        self.load.params.iter().find(known).map(|(_, tensor)| *tensor)
    }

    /// The place where a parameter is made.
    fn made_at(&self, tensor: Tensor) -> Option<Span> {
        self.program.made.iter().find(|made| made.tensor == tensor).map(|made| made.span)
    }

    /// Reports a path that leads to no parameter.
    fn no_param(&self, array: &str, target: &str, span: Span) -> Box<Diagnostic> {
        let message = format!("`{}` has no parameter `{target}`, which `{array}` is to be", self.load.into.1);
        let names: Vec<&str> = self.load.params.iter().map(|(name, _)| name.as_str()).collect();
        let near = suggest::nearest(target, names.iter().copied());
        // Those that end alike are elsewhere, or the model is not as deep.
        let last = target.rsplit('.').next().unwrap_or(target);
        let alike: Vec<&str> =
            names.iter().copied().filter(|name| name.rsplit('.').next() == Some(last)).collect();
        let help = match (near, alike.is_empty()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, false) => format!("there is {}", some(alike.into_iter())),
            (None, true) => format!("there is {}", some(names.into_iter())),
        };
        Box::new(Diagnostic::error(codes::FILE, message, span, "").with_help(help))
    }

    /// Reports an array that cannot be taken for parameters.
    fn misfit(
        &self,
        misfit: &Misfit,
        (name, array): (&str, &Described),
        (tensors, targets): (&[Tensor], &[String]),
        span: Span,
    ) -> Box<Diagnostic> {
        let sizes: Vec<String> = array.sizes.iter().map(u64::to_string).collect();
        let sizes =
            if sizes.is_empty() { "no axes".to_string() } else { format!("axes {}", sizes.join(", ")) };
        let shape = |tensor: &Tensor| self.shapes.get(*tensor).to_string();
        let params: Vec<String> = tensors
            .iter()
            .zip(targets)
            .map(|(tensor, target)| format!("`{target} : {}`", shape(tensor)))
            .collect();
        let params = suggest::listed(&params);
        let (code, message, help) = match misfit {
            Misfit::None => (
                codes::VALUE,
                format!("`{name}` has {sizes}, which do not make {params}"),
                "give the model the sizes of the file, or say how the axes are related: `by o i => i -> o`"
                    .to_string(),
            ),
            Misfit::Several(ways) => (
                codes::VALUE,
                format!("`{name}` has {sizes}, which make {params} in several ways"),
                format!("say which axis is which: `by {}`, or `by {}`", ways[0], ways[1]),
            ),
            Misfit::Spec(wrong) => (
                codes::NOTATION,
                format!("{wrong}, for `{name}` with {sizes}"),
                format!("it becomes {params}"),
            ),
        };
        let mut wrong = Diagnostic::error(code, message, span, format!("{sizes} in {}", self.shown_file()));
        if let Some(place) =
            tensors.first().and_then(|tensor| self.made_at(*tensor)).filter(|place| *place != span)
        {
            let first = &targets[0];
            wrong = wrong.with_label(place, format!("`{first}` is `{}`", shape(&tensors[0])));
        }
        Box::new(wrong.with_help(help))
    }

    fn shown_file(&self) -> String {
        let shown = |(_, shown): &(_, String)| shown.clone();
        let path = || escaped(&self.file.path().to_string_lossy()).into_owned();
        format!("`{}`", self.load.file.as_ref().map_or_else(path, shown))
    }
}

/// The spec of an array whose axes are in memory order.
fn same_order(axes: usize, shape: &Shape) -> String {
    let names: Vec<String> = (0..axes).map(|at| format!("a{at}")).collect();
    let (batch, rest) = names.split_at(shape.batch().len());
    let (output, input) = rest.split_at(shape.output().len());
    format!("{} => {} | {} -> {}", names.join(" "), batch.join(" "), input.join(" "), output.join(" "))
}

/// Some names, of many the first.
fn some<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const MOST: usize = 6;
    let all: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    match all.len() {
        0..=MOST => suggest::listed(&all),
        count => format!("{} and {} more", all[..MOST].join(", "), count - MOST),
    }
}
