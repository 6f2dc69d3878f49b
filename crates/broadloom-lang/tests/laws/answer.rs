//! The answer of a program, and the comparison of two answers.
//!
//! The answer of a program is its verdict and its shapes:
//!
//! - The *verdict* is the set of its errors. An error is its code and its *ends*. The ends of a
//!   conflict are the claims of its labels (`48 because of …`, `64 because of …`) and the
//!   statements that make them. A statement is identified by its place in the first program, so
//!   that lines may move and expressions may get names. The message's name for a tensor without a
//!   name depends on how the program is written, and so does the place where a conflict is found:
//!   neither is compared. Where numbers of axes do not agree, the ends are in the sentence; its
//!   labels give what is known so far of a tensor, or the origin of one of its axes. The ends of an
//!   undetermined size are the parameter and the row, which are in its sentence, too; its labels
//!   are about readers, and there may be more of them.
//! - The *shapes* are those of everything that has a name, after closing. Unnamed layers and
//!   applications are counted in order (`linear`, `linear2`), so for their contents the set of
//!   shapes is compared for each name without numbers that both programs have: a captured size is a
//!   number, and no tensor, if it is known where it is used.
//!
//! The permitted changes are listed exactly ([`Allowed`]):
//!
//! - A conflict is reported where it is found, by the statement that is refused. If operands or
//!   statements are evaluated in another order, another one may be refused. Then the same sizes are
//!   claimed; but if two statements claim the same, either may be shown; numbers of axes, and
//!   windows that do not fit, are reported from the refused side, so only the kind of the conflict
//!   is compared; and a size may be in conflict with an equation (E0302) or with what follows from
//!   it (E0301). If several rows of parameters depend on each other, any of them may be called
//!   open: the parameters are compared. A statement reports its first mistake, and which is the
//!   first depends on the order of its operands, too: so mistakes are compared with all that are
//!   found when each operation is a statement. Through windows and concatenations the same
//!   contradiction can be reached along several chains, with other sizes at their ends; if the
//!   order differs, ends are compared only in programs that have none.
//! - The names that a refused statement would have defined stand for a mistake, and their uses are
//!   not reported. If a part of it gets a name, the part is a statement by itself: then there may
//!   be more mistakes, and fewer where a name is inlined.
//! - Warnings are not part of the verdict: they are about broadcasts and unused names.

use std::collections::{BTreeMap, BTreeSet};

use broadloom_diagnostics::{Diagnostic, Sources, Style, render_all};
use broadloom_lang::{Options, codes, compile};

use super::program::Program;

/// A claim, and the statement of the first program that makes it.
pub type End = (String, usize);

/// The place of an end that is in the sentence.
const UNPLACED: usize = usize::MAX;

/// The answer of a program.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Codes and ends of its errors.
    pub errors: BTreeSet<(&'static str, BTreeSet<End>)>,
    /// Shapes by name, if there are no errors.
    pub shapes: BTreeMap<String, String>,
    /// Shapes inside unnamed layers, by names without numbers.
    pub counted: BTreeMap<String, BTreeSet<String>>,
    /// Its messages as they are shown.
    pub shown: String,
}

/// The kinds of differences between two answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// One is accepted and the other is not.
    Verdict,
    /// Both are refused, with other codes.
    Codes,
    /// Both are refused, with the same codes and other ends.
    Ends,
    /// Both are accepted, with other shapes.
    Shapes,
}

/// Prints a program if reading it panics: nobody would know which one it was.
struct Printed<'p>(&'p Program);

impl Drop for Printed<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("== this program panics:\n{}", self.0.text());
        }
    }
}

/// Reads a program, and collects its answer.
pub fn answer(program: &Program) -> Answer {
    let _printed = Printed(program);
    if std::env::var_os("BROADLOOM_PRINT").is_some() {
        eprintln!("== reading\n{}", program.text());
    }
    let mut read = compile("program.loom", &program.text(), &Options::default());
    let errors = read.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
    let errors =
        errors.map(|diagnostic| (diagnostic.code, ends(diagnostic, &read.sources, program))).collect();
    let shown = render_all(&read.sources, &read.diagnostics, 0, Style::default());
    let mut answer = Answer { errors, shown, ..Answer::default() };
    if !answer.errors.is_empty() {
        return answer;
    }
    let Ok(shapes) = read.graph.final_shapes() else { return answer };
    // What a function makes is named after the function, and numbered in the order of its applications.
    let own = program.statements.iter().filter(|statement| !statement.is_function());
    let written: BTreeSet<String> = own.flat_map(|statement| statement.defines()).collect();
    for made in &read.made {
        let shape = shapes.get(made.tensor).to_string();
        let first = made.name.split('.').next().unwrap_or_default();
        if written.contains(first) {
            answer.shapes.insert(made.name.clone(), shape);
        } else if first != "literal" {
            answer.counted.entry(without_digits(&made.name)).or_default().insert(shape);
        }
    }
    answer
}

/// The ends of an error.
fn ends(diagnostic: &Diagnostic, sources: &Sources, program: &Program) -> BTreeSet<End> {
    let home = |span| {
        let line = sources.position(span).0 as usize;
        program.statements.get(line.saturating_sub(1)).map_or(usize::MAX, |statement| statement.home)
    };
    let said = match &diagnostic.message {
        message if message.starts_with("parameter `") => named(message, program),
        message => without_names(message),
    };
    if diagnostic.code == codes::UNDETERMINED {
        return [(said, 0)].into();
    }
    if diagnostic.code == codes::ARITHMETIC {
        // The sentence has only the sizes that are known at the time.
        return diagnostic
            .labels
            .iter()
            .filter(|label| !label.primary)
            .map(|label| (label.text.clone(), home(label.span)))
            .collect();
    }
    let claims = diagnostic.labels.iter().flat_map(|label| {
        let parts = sentences(&label.text);
        parts
            .into_iter()
            .filter_map(move |text| Some((text.split_once(" because of ")?.0.to_owned(), label.span)))
    });
    let ends: BTreeSet<End> = claims.map(|(claim, span)| (claim, home(span))).collect();
    if ends.is_empty() { [(said, UNPLACED)].into() } else { ends }
}

/// Splits a label at the semicolons outside quotes.
fn sentences(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for (at, quoted) in text.split('`').enumerate() {
        let mut pieces = if at % 2 == 1 { vec![quoted] } else { quoted.split("; ").collect() }.into_iter();
        if let (Some(last), Some(first)) = (parts.last_mut(), pieces.next()) {
            last.push_str(&format!("{}{first}", if at == 0 { "" } else { "`" }));
        }
        parts.extend(pieces.map(str::to_owned));
    }
    parts
}

fn without_digits(name: &str) -> String {
    name.replace(|letter: char| letter.is_ascii_digit(), "")
}

/// A sentence about a parameter, without the numbers of unnamed layers, which are counted in order.
fn named(message: &str, program: &Program) -> String {
    let name = message.split('`').nth(1).unwrap_or_default();
    let layer = name.split('.').next().unwrap_or_default();
    let written =
        program.statements.iter().any(|statement| statement.defines().iter().any(|own| own == layer));
    if written { message.to_owned() } else { message.replacen(name, &without_digits(name), 1) }
}

/// A sentence without its quoted parts.
fn without_names(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// The permitted changes in the verdict of a refused program.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    /// Statements of the first program that have become one: an end may be at any of them.
    pub merged: Vec<(usize, usize)>,
    /// The order of evaluation differs, so another statement may be refused.
    pub order: bool,
    /// Only the kinds of conflicts are compared.
    pub kinds: bool,
    /// There may be more mistakes.
    pub more: bool,
    /// There may be fewer mistakes.
    pub less: bool,
}

/// Compares programs by their answers.
pub fn compare_programs(
    (program, first): (&Program, &Answer),
    (rewritten, second): (&Program, &Answer),
    allowed: &Allowed,
) -> Option<Difference> {
    let mut allowed = allowed.clone();
    allowed.kinds |= allowed.order && program.has_arithmetic();
    let difference = compare(first, second, &allowed)?;
    if !allowed.order || !matches!(difference, Difference::Codes | Difference::Ends) {
        return Some(difference);
    }
    let all = |program: &Program, answer: &Answer| {
        let mut all = answer.clone();
        all.errors.extend(self::answer(&program.flat()).errors);
        all
    };
    let less = compare(&all(program, first), second, &Allowed { less: true, more: false, ..allowed.clone() });
    let more =
        compare(first, &all(rewritten, second), &Allowed { less: false, more: true, ..allowed.clone() });
    less.filter(|_| !allowed.more).or(more.filter(|_| !allowed.less))
}

/// Compares the answer of a program with that of another form of it.
fn compare(first: &Answer, second: &Answer, allowed: &Allowed) -> Option<Difference> {
    if first.errors.is_empty() != second.errors.is_empty() {
        return Some(Difference::Verdict);
    }
    if !first.errors.is_empty() {
        return compare_errors(first, second, allowed);
    }
    fn agree<T: PartialEq>(first: &BTreeMap<String, T>, second: &BTreeMap<String, T>) -> bool {
        first.iter().all(|(name, shape)| second.get(name).is_none_or(|other| other == shape))
    }
    if !agree(&first.shapes, &second.shapes) || !agree(&first.counted, &second.counted) {
        return Some(Difference::Shapes);
    }
    None
}

fn compare_errors(first: &Answer, second: &Answer, allowed: &Allowed) -> Option<Difference> {
    fn within<T: Ord>(first: &BTreeSet<T>, second: &BTreeSet<T>, allowed: &Allowed) -> bool {
        (allowed.less || first.is_subset(second)) && (allowed.more || second.is_subset(first))
    }
    // If the order differs, a conflict with an equation may become one with what follows from it.
    let kind =
        |code: &'static str| if allowed.order && code == codes::ARITHMETIC { codes::MISMATCH } else { code };
    let kinds = |answer: &Answer| answer.errors.iter().map(|(code, _)| kind(code)).collect::<BTreeSet<_>>();
    if !within(&kinds(first), &kinds(second), allowed) {
        return Some(Difference::Codes);
    }
    let place = |home: usize| {
        allowed.merged.iter().fold(home, |home, (from, to)| if home == *from { *to } else { home })
    };
    let shown = |code: &str, (claim, home): &End| match code {
        _ if !allowed.order => (claim.clone(), place(*home)),
        codes::UNDETERMINED => (claim.split(" has ").next().unwrap_or_default().to_owned(), 0),
        _ if *home == UNPLACED => (String::new(), 0),
        _ => (claim.clone(), 0),
    };
    if allowed.kinds {
        return None;
    }
    let ends = |answer: &Answer| -> BTreeSet<(&str, BTreeSet<End>)> {
        let all = answer.errors.iter();
        all.map(|(code, ends)| (*code, ends.iter().map(|end| shown(code, end)).collect())).collect()
    };
    (!within(&ends(first), &ends(second), allowed)).then_some(Difference::Ends)
}

/// The answer as it is shown in a failure.
pub fn show(answer: &Answer) -> String {
    if !answer.errors.is_empty() {
        return answer.shown.clone();
    }
    let shapes = answer.shapes.iter().map(|(name, shape)| format!("  {name} : {shape}\n"));
    let counted = answer.counted.iter().map(|(name, shapes)| format!("  {name} : {shapes:?}\n"));
    let lines: Vec<String> = shapes.chain(counted).collect();
    format!("accepted\n{}", lines.concat())
}
