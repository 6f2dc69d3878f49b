//! Programs that apply a function, and the comparison with what its signature says of them.

use std::collections::{BTreeMap, BTreeSet};

use broadloom_lang::signature::{NotInferred, Signature};
use broadloom_lang::{Asked, Options, Program, codes, compile, signatures};

use broadloom_testing::Dice;

use super::function::{File, Function, Item as Meant};
use super::inlined::{Application, Lines};
use super::text::{Item, Shape, Values};
use super::values::{Read, Unread};

/// A disagreement.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its sort.
    pub kind: String,
    /// The function.
    pub function: usize,
    /// The signature, the program and its answer.
    pub text: String,
}

/// The findings about the functions of a file.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub failures: Vec<Failure>,
    pub counts: BTreeMap<String, u64>,
}

impl Report {
    fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    fn fail(&mut self, kind: String, function: usize, text: String) {
        self.failures.push(Failure { kind, function, text });
    }
}

/// The number of applications of each sort that are drawn for a function.
#[derive(Clone, Copy)]
pub struct Times {
    /// Values for its variables; each is applied with numbers, and with names.
    pub values: usize,
    /// Shapes for a function that is said to be wrong.
    pub wrong: usize,
    /// Values that the signature does not allow, of each sort.
    pub negative: usize,
    /// Shapes that are meant, with mistakes.
    pub careless: usize,
}

/// An application in the making: how each variable is written, and the sizes with names.
struct Writing<'a> {
    file: &'a File,
    function: &'a Function,
    read: &'a Read,
    names: BTreeMap<String, Vec<String>>,
    dims: Vec<(String, u64)>,
}

/// Asks for the signatures of some functions and compares each with applications.
pub fn examine(file: &File, only: Option<usize>, times: Times, dice: &mut Dice) -> Report {
    let mut report = Report::default();
    let text = file.written();
    let found = signatures("functions.loom", &text, &Options::default(), &Asked::Own);
    let bad = found.diagnostics.iter().find(|diagnostic| {
        diagnostic.code.starts_with("E01") || matches!(diagnostic.code, "E0201" | "E0202" | "E0205" | "E0209")
    });
    if let Some(bad) = bad {
        report.fail(
            format!("not well written {}", bad.code),
            file.0.len() - 1,
            format!("{text}{}\n", bad.message),
        );
        return report;
    }
    if found.list.len() != file.0.len() {
        report.fail(
            "signatures missing".into(),
            file.0.len() - 1,
            format!("{text}{} signatures\n", found.list.len()),
        );
        return report;
    }
    for (at, signature) in found.list.iter().enumerate() {
        if only.is_some_and(|only| only != at) {
            continue;
        }
        report.count("functions");
        let file = &file.only(at);
        let is_wrong = |name: &str| {
            let mut all = found.list.iter();
            all.any(|other| other.name == name && matches!(other.scheme, Err(NotInferred::Wrong(_))))
        };
        match &signature.scheme {
            Err(NotInferred::Open(_)) => report.count("open"),
            Err(NotInferred::Wrong(_)) => {
                report.count("wrong");
                // What is wrong in what it calls is looked at there.
                match file.0.iter().rev().skip(1).any(|function| is_wrong(&function.name)) {
                    true => report.count("wrong, and calls a wrong one"),
                    false => wrong(file, at, signature, times, dice, &mut report),
                }
            }
            Ok(_) => {
                report.count("inferred");
                careless(file, at, &format!("{}--\n{signature}", file.written()), times, dice, &mut report);
                match Read::of(signature) {
                    Ok(read) => inferred(file, at, signature, &read, times, dice, &mut report),
                    Err(Unread::Other) => report.count("inferred, but not of tensors only"),
                    Err(Unread::Text(what)) => {
                        report.fail(
                            "a text that cannot be read".into(),
                            at,
                            format!("{text}{signature}{what}\n"),
                        );
                    }
                }
            }
        }
    }
    report
}

/// Applications that a signature allows, and some that it does not.
fn inferred(
    file: &File,
    at: usize,
    signature: &Signature,
    read: &Read,
    times: Times,
    dice: &mut Dice,
    report: &mut Report,
) {
    let head = format!("{}--\n{signature}", file.written());
    let mut reported = false;
    // Each kind counts once for a function; what fails with numbers fails with names, too.
    let fail = |kind: String, text: String, is_named: bool, report: &mut Report| {
        let named = format!("{kind}, only with names");
        let known = |found: &Failure| found.function == at && (found.kind == kind || found.kind == named);
        if !report.failures.iter().any(known) {
            report.fail(if is_named { named } else { kind }, at, text);
        }
    };
    for turn in 0..times.values {
        let mut missing = None;
        // The first time, every row is one axis.
        let values = read.values(1 + turn.min(1), dice, |values| {
            if !read.holds(values) || !Read::is_whole(read.arguments.iter(), values) {
                return false;
            }
            let whole = Read::is_whole(read.shapes(), values);
            if !whole {
                missing = Some(values.clone());
            }
            whole
        });
        if let Some(missing) = missing.filter(|_| !reported) {
            reported = true;
            report.fail("a condition is missing".into(), at, format!("{head}at {missing:?}\n"));
        }
        let Some(values) = values else {
            report.count("without values");
            return;
        };
        for is_named in [false, true] {
            let some = if dice.percent(40) { 50 } else { 100 };
            let named = |dice: &mut Dice| is_named && dice.percent(some);
            let Some(writing) = Writing::new(file, read, &values, named, dice) else { continue };
            if !writing.can_be_stated() {
                report.count("what is open cannot be stated");
                return;
            }
            report.count("applications");
            let (application, prefix) = writing.application(writing.arguments());
            let (lines, mut program) = compiled(&application);
            if let Some((kind, text)) = compare(&writing, &values, (&lines.text(), prefix), &mut program) {
                fail(kind, format!("{head}--\n{text}"), is_named, report);
            }
            if let Some((kind, text)) = application.difference(&lines, &mut program) {
                fail(kind, format!("{head}--\n{}--\n{text}", lines.text()), is_named, report);
            }
        }
    }
    for _ in 0..times.negative {
        unequal(file, at, read, &head, dice, report);
        violated(file, at, read, &head, dice, report);
    }
}

/// The program that applies a function, read.
fn compiled(application: &Application<'_>) -> (Lines, Program) {
    let lines = application.applied();
    let program = compile("application.loom", &lines.text(), &Options::default());
    (lines, program)
}

/// An application that is refused because of what the signature says: there is a failure if it is not, or if the body in
/// its place is refused in another way.
fn refused(application: &Application<'_>, at: usize, head: &str, kind: &str, report: &mut Report) {
    let (lines, mut program) = compiled(application);
    let head = format!("{head}--\n{}", lines.text());
    if refusal(&program).is_none() {
        report.fail(kind.to_owned(), at, head.clone());
    }
    report.count("refused, and compared with the body in place");
    if let Some((kind, text)) = application.difference(&lines, &mut program) {
        report.fail(kind, at, format!("{head}--\n{text}"));
    }
}

/// Applications to tensors of shapes that the function is meant for, with mistakes, and the body in place.
fn careless(file: &File, at: usize, head: &str, times: Times, dice: &mut Dice, report: &mut Report) {
    let Some(function) = file.0.last() else { return };
    for _ in 0..times.careless {
        let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut sizes = |item: &Meant, dice: &mut Dice| drawn_sizes(item, &mut known, dice);
        let arguments = function.arguments.iter().map(|(_, meant)| meant.drawn(&mut sizes, dice)).collect();
        let config = function.config.iter().flatten();
        let application = Application {
            file,
            config: config.map(|_| dice.pick(&["2", "3", "4", "6", "8"]).to_owned()).collect(),
            arguments,
            dims: Vec::new(),
            results: match function.results.len() {
                1 => vec!["resultq".to_owned()],
                count => (0..count).map(|number| format!("resultq{number}")).collect(),
            },
            stated: Vec::new(),
        };
        let (lines, mut program) = compiled(&application);
        let is_refused = refusal(&program).is_some();
        report.count(if is_refused { "careless, refused" } else { "careless, accepted" });
        if let Some((kind, text)) = application.difference(&lines, &mut program) {
            report.fail(kind, at, format!("{head}--\n{}--\n{text}", lines.text()));
            return;
        }
    }
}

/// Sizes for an axis or a row, the same ones wherever its name stands.
fn drawn_sizes(item: &Meant, known: &mut BTreeMap<String, Vec<String>>, dice: &mut Dice) -> Vec<String> {
    let (key, count) = match item {
        Meant::Axis(name) => (name.clone(), 1),
        Meant::Row(name) => (format!("..{name}.."), dice.below(3)),
    };
    let size = |dice: &mut Dice| dice.pick(&["2", "3", "4", "6", "8", "12", "5"]).to_owned();
    known.entry(key).or_insert_with(|| (0..count).map(|_| size(dice)).collect()).clone()
}

/// The difference between an application and what the signature says of it: its kind, and the program.
fn compare(
    writing: &Writing<'_>,
    values: &Values,
    (text, prefix): (&str, &str),
    program: &mut Program,
) -> Option<(String, String)> {
    let mut mode = String::new();
    if values.values().all(|sizes| sizes.len() == 1) {
        mode.push_str(", rows of one axis");
    }
    if writing.states_results() {
        mode.push_str(", the result is stated");
    }
    if let Some((code, message)) = refusal(program) {
        return Some((format!("refused {code}{mode}"), format!("{text}--\n{message}\n")));
    }
    for (what, name, shape) in writing.expected(prefix) {
        let Some(wanted) = shape.at(values) else { continue };
        let made = match program.find(&name) {
            Some(tensor) => match program.graph.final_shape(tensor) {
                Ok(shape) => shape.to_string(),
                Err(_) => "no shape".to_owned(),
            },
            None => "not there".to_owned(),
        };
        let given = writing.at_dims(&made);
        if given.as_ref() != Some(&wanted) {
            let units =
                |text: &str| text.replace("_, ", "").replace("_", "").replace(", ", " ").trim().to_owned();
            let in_units = given.is_some_and(|given| units(&given) == units(&wanted));
            let kind = format!("{what} differs{}{mode}", if in_units { " in units" } else { "" });
            return Some((kind, format!("{text}--\n`{name}` is {made}, but should be {wanted}\n")));
        }
    }
    None
}

/// The code and the message of the first error.
fn refusal(program: &Program) -> Option<(&'static str, String)> {
    let error = program.diagnostics.iter().find(|diagnostic| diagnostic.is_error())?;
    Some((error.code, error.message.clone()))
}

/// A variable that is in two places of arguments has another size in one of them.
fn unequal(file: &File, at: usize, read: &Read, head: &str, dice: &mut Dice, report: &mut Report) {
    let mut places = Vec::new();
    for (argument, shape) in read.arguments.iter().enumerate() {
        for (kind, row) in shape.0.iter().enumerate() {
            for (place, item) in row.iter().enumerate() {
                let Item::Var(name) = item else { continue };
                let elsewhere =
                    |(other, shape): (usize, &Shape)| other != argument && shape.names().contains(name);
                let across = read.arguments.iter().enumerate().any(elsewhere);
                let within =
                    shape.items().filter(|item| matches!(item, Item::Var(own) if own == name)).count() > 1;
                if (across || within) && !read.config.contains(name) {
                    places.push((argument, kind, place, name.clone(), across));
                }
            }
        }
    }
    if places.is_empty() {
        return;
    }
    let (argument, kind, place, name, across) = dice.one(&places).clone();
    let will_do = |values: &Values| read.holds(values) && Read::is_whole(read.shapes(), values);
    let Some(values) = read.values(2, dice, will_do) else { return };
    let Some(mut writing) = Writing::new(file, read, &values, |_| false, dice) else { return };
    let mut arguments = writing.arguments();
    // Another size for one axis of it, in this place alone.
    let mut shape = read.arguments[argument].clone();
    shape.0[kind][place] = Item::Var("other".into());
    let mut other = writing.names[&name].clone();
    let axis = dice.below(other.len());
    other[axis] = dice.pick(&["73", "79", "83", "24", "48"]).to_owned();
    if other == writing.names[&name] {
        return;
    }
    writing.names.insert("other".into(), other);
    let Some(written) = shape.written(&writing.names) else { return };
    arguments[argument] = written;
    let what = match (across, name.starts_with("..")) {
        (true, true) => "row in two arguments",
        (true, false) => "size in two arguments",
        (false, true) => "row twice in an argument",
        (false, false) => "size twice in an argument",
    };
    report.count(&format!("unequal: {what}"));
    let (application, _) = writing.application(arguments);
    let head = format!("{head}-- `{name}` need not be the same\n");
    refused(&application, at, &head, &format!("accepted unequal: {what}"), report);
}

/// Values for which a condition does not hold.
fn violated(file: &File, at: usize, read: &Read, head: &str, dice: &mut Dice, report: &mut Report) {
    if read.conditions.is_empty() {
        return;
    }
    let not = dice.below(read.conditions.len());
    let values = read.values(2, dice, |values| {
        let others = read.conditions.iter().enumerate().filter(|(own, _)| *own != not);
        !read.conditions[not].holds(values)
            && others.into_iter().all(|(_, condition)| condition.holds(values))
            && Read::is_whole(read.arguments.iter(), values)
    });
    // What is stated has to be a shape, too.
    let free = read.free();
    let Some(values) = values.filter(|_| free.is_empty()) else { return };
    let Some(writing) = Writing::new(file, read, &values, |_| false, dice) else { return };
    report.count("against a condition");
    let (application, _) = writing.application(writing.arguments());
    refused(&application, at, head, "accepted against a condition", report);
}

/// Applications of a function that is said to be wrong.
fn wrong(file: &File, at: usize, signature: &Signature, times: Times, dice: &mut Dice, report: &mut Report) {
    let Some((function, called)) = file.0.split_last() else { return };
    for _ in 0..times.wrong {
        let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut sizes = |item: &Meant, dice: &mut Dice| drawn_sizes(item, &mut known, dice);
        // The definition itself is refused, so its body is the program.
        let mut text = File(called.to_vec()).written();
        for (name, meant) in &function.arguments {
            text.push_str(&format!("data {name} : {}\n", meant.drawn(&mut sizes, dice)));
        }
        for name in function.config.iter().flatten() {
            text.push_str(&format!("let {name} = {}\n", dice.pick(&["2", "3", "4", "6", "8"])));
        }
        let body = function.body();
        for (number, line) in body.iter().enumerate() {
            let result = if number + 1 == body.len() { "let resultq = " } else { "" };
            text.push_str(&format!("{result}{line}\n"));
        }
        report.count("applications of wrong ones");
        let program = compile("application.loom", &text, &Options::default());
        let mut errors = program.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
        let kind = match refusal(&program) {
            None => "false alarm",
            Some(_) if errors.all(|error| error.code == codes::UNDETERMINED) => {
                "false alarm, but undetermined"
            }
            Some(_) => continue,
        };
        report.fail(kind.into(), at, format!("{}--\n{signature}--\n{text}", file.written()));
        return;
    }
}

impl<'a> Writing<'a> {
    /// Writes each axis of each variable as a number, or as a size with a name where that is wanted.
    fn new(
        file: &'a File,
        read: &'a Read,
        values: &Values,
        is_named: impl Fn(&mut Dice) -> bool,
        dice: &mut Dice,
    ) -> Option<Writing<'a>> {
        let (mut names, mut dims) = (BTreeMap::new(), Vec::new());
        let based = read.arguments.iter().flat_map(Shape::items).flat_map(Item::based);
        let based: BTreeSet<&String> = based.collect();
        for (variable, sizes) in values {
            // A size with a name has no basis.
            let named = is_named(dice) && !based.contains(variable);
            let axes = sizes.iter().map(|size| {
                if !named {
                    return size.to_string();
                }
                let name = format!("dimq{}", dims.len());
                dims.push((name.clone(), *size));
                name
            });
            let axes = axes.collect();
            names.insert(variable.clone(), axes);
        }
        let known = read.config.iter().all(|size| names.contains_key(size));
        let function = file.0.last()?;
        known.then_some(Writing { file, function, read, names, dims })
    }

    /// The shapes of the arguments.
    fn arguments(&self) -> Vec<String> {
        let written = self.read.arguments.iter().map(|shape| shape.written(&self.names).unwrap_or_default());
        written.collect()
    }

    /// The application to arguments of these shapes, and what the names of parameters begin with.
    fn application(&self, arguments: Vec<String>) -> (Application<'a>, &'a str) {
        let config: Vec<String> = self.read.config.iter().map(|size| self.names[size].join(", ")).collect();
        let prefix = if self.read.has_config { "layerq" } else { &self.function.name };
        // What only the user of the function decides is stated.
        let stated = self
            .stated(prefix)
            .into_iter()
            .filter_map(|(own, name, shape)| shape.written(&self.names).map(|shape| (own, name, shape)));
        let application = Application {
            file: self.file,
            config,
            arguments,
            dims: self.dims.clone(),
            results: self.results(),
            stated: stated.collect(),
        };
        (application, prefix)
    }

    /// The shapes to state because only the user of the function decides them: those of parameters that have
    /// a name outside the function, and then those of results. Each as the function calls it, and as the program does.
    fn stated(&self, prefix: &str) -> Vec<(String, String, &Shape)> {
        let mut free = self.read.free();
        let own = self.read.parameters.iter().filter(|(name, _)| !name.contains('.'));
        let own = own.map(|(name, shape)| (name.clone(), self.path(prefix, name), shape));
        let own: Vec<(String, String, &Shape)> =
            own.filter(|(.., shape)| shape.names().iter().any(|variable| free.contains(variable))).collect();
        own.iter().for_each(|(.., shape)| free.retain(|variable| !shape.names().contains(variable)));
        let mut stated = own;
        for (name, shape) in self.results().into_iter().zip(&self.read.results) {
            if shape.names().iter().any(|variable| free.contains(variable)) {
                free.retain(|variable| !shape.names().contains(variable));
                stated.push((name.clone(), name, shape));
            }
        }
        stated
    }

    /// True if all that is open can be stated.
    fn can_be_stated(&self) -> bool {
        let mut free = self.read.free();
        self.stated("")
            .iter()
            .for_each(|(.., shape)| free.retain(|variable| !shape.names().contains(variable)));
        free.is_empty()
    }

    /// True if a result is stated: that is more than to decide what is open, because it asks for its axes.
    fn states_results(&self) -> bool {
        self.stated("").iter().any(|(name, ..)| name.starts_with("resultq"))
    }

    /// The name of a parameter. A function without configuration is a layer of its own, whoever calls it.
    fn path(&self, prefix: &str, name: &str) -> String {
        let first = name.split('.').next().unwrap_or_default();
        let is_own = |function: &&Function| function.config.is_none() && function.name == first;
        match self.file.0.iter().find(is_own) {
            Some(_) if name.contains('.') => name.to_owned(),
            _ => format!("{prefix}.{name}"),
        }
    }

    fn results(&self) -> Vec<String> {
        match self.read.is_list {
            true => (0..self.read.results.len()).map(|number| format!("resultq{number}")).collect(),
            false => vec!["resultq".to_owned()],
        }
    }

    /// The tensors whose shapes the signature has: what they are, their names, their shapes.
    fn expected(&self, prefix: &str) -> Vec<(&'static str, String, Shape)> {
        let results = self.results().into_iter().zip(self.read.results.iter().cloned());
        let results = results.map(|(name, shape)| ("the result", name, shape));
        let parameters = self.read.parameters.iter();
        let parameters =
            parameters.map(|(name, shape)| ("a parameter", self.path(prefix, name), shape.clone()));
        results.chain(parameters).collect()
    }

    /// A shape of the program, with numbers for the sizes that have names.
    fn at_dims(&self, shape: &str) -> Option<String> {
        let values: Values = self.dims.iter().map(|(name, size)| (name.clone(), vec![*size])).collect();
        Shape::read(shape).ok()?.at(&values)
    }
}
