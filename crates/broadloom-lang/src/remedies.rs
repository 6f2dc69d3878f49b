//! Advice that was tried: the program is read again with one change, and the change is advised if the error is gone, no
//! other error has come in its place, and there is nothing to warn of.
//!
//! For `data x : 8 | 20, 5`, `data labels : 8, 20 |` and `cross_entropy(linear(3)(lstm(32)(x)), labels)`, one of the changes
//! that are tried is `8, 20 | 5`, and it is the one that fits. Advice that an error has already is kept, unless it says no
//! more than the rule which the program breaks.

mod calls;
mod quote;
mod shapes;
mod sizes;

use broadloom_diagnostics::{Advice, Diagnostic, Edit, Fix, Label, Span, Wording};

use crate::codes;
use crate::eval::Eval;
use crate::program::{Options, Program};

/// The most times that a program is read again.
const MOST_TRIALS: usize = 24;
/// The work of evaluation up to which a program is read again: it has to be answered while somebody types.
const MOST_WORK: u64 = 5_000;
/// The number of errors up to which remedies are looked for.
const MOST_ERRORS: usize = 3;

/// Warnings about shapes that fit and are not meant. Others have nothing to do with a change.
const ABOUT_SHAPES: [&str; 4] = [codes::BROADCASTS, codes::TARGETS, codes::IDLE, codes::MEANT];

/// A change of the program.
#[derive(Clone)]
struct Change {
    /// The advice: "declare `x` as `8, 20 | 5`".
    help: String,
    edits: Vec<Edit>,
    /// The purpose: of changes with the same one, the first that fits is advised.
    kind: Kind,
}

/// The purpose of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// For what the attempt is for.
    Same,
    /// For a size.
    Size(u64),
    /// For one of several ways to do it, by number.
    Way(usize),
}

impl Change {
    fn new(help: impl Into<String>, edits: Vec<Edit>) -> Change {
        Change { help: help.into(), edits, kind: Kind::Same }
    }

    /// The change for a size, said in front of it.
    fn for_size(self, words: &str, size: u64) -> Change {
        Change { help: format!("{words} {size}, {}", self.help), kind: Kind::Size(size), ..self }
    }
}

/// Changes of one kind.
struct Attempt {
    /// Why they would help, with the sign behind it.
    reason: Wording,
    /// The changes, the likeliest first.
    changes: Vec<Change>,
    /// True if all of them that fit are advised, in place of the first one.
    is_choice: bool,
    /// True if it is better than advice that an error has already.
    is_certain: bool,
    /// True if the advice follows the rule that the error has: what to do to make both one size.
    follows_rule: bool,
    /// The label at the place of the change, if the error does not show it.
    label: &'static str,
}

impl Attempt {
    fn new(reason: impl Into<String>, changes: Vec<Change>) -> Attempt {
        Attempt {
            reason: Wording::new(reason),
            changes,
            is_choice: false,
            is_certain: false,
            follows_rule: false,
            label: "",
        }
    }
}

/// False where programs are not read again: on a page, which has to be small.
const TRIES: bool = cfg!(not(target_arch = "wasm32"));

/// Gives errors of shapes advice that was tried.
pub(crate) fn find(program: &mut Program, options: &Options) {
    if !TRIES {
        return;
    }
    let errors = program.diagnostics.iter().filter(|each| each.is_error()).count();
    if errors > MOST_ERRORS || program.work > MOST_WORK || options.until.is_some() {
        return;
    }
    let mut trials = Trials { options, left: MOST_TRIALS };
    for at in 0..program.diagnostics.len() {
        let wrong = &program.diagnostics[at];
        let is_of_shapes =
            [codes::MISMATCH, codes::ARITHMETIC, codes::VALUE, codes::UNDETERMINED].contains(&wrong.code);
        let place = wrong.primary().map(|label| label.span);
        let Some(place) = place.filter(|place| is_of_shapes && place.source == program.main) else {
            continue;
        };
        let is_open = wrong.help.iter().all(|help| help.kind == Advice::Rule);
        let mut attempts = calls::attempts(program, wrong, place);
        attempts.extend(sizes::attempts(program, wrong));
        attempts.extend(shapes::attempts(program, wrong, place));
        let mut wanted = attempts.into_iter().filter(|attempt| is_open || attempt.is_certain);
        let found = wanted.find_map(|attempt| Some((trials.of(program, place, &attempt)?, attempt)));
        let Some(((help, fitting), attempt)) = found else { continue };
        let wrong = &mut program.diagnostics[at];
        if let ([Change { edits, .. }], false) = (&fitting[..], attempt.label.is_empty())
            && let [edit] = &edits[..]
            && !wrong.labels.iter().any(|label| label.span.contains(edit.span))
        {
            wrong.labels.push(Label::new(edit.span, attempt.label));
        }
        if !attempt.follows_rule {
            wrong.help.clear();
        }
        wrong.help.push(help.into());
        wrong.fixes =
            fitting.into_iter().map(|Change { help: title, edits, .. }| Fix { title, edits }).collect();
    }
}

/// Programs that are read with a change.
struct Trials<'o> {
    options: &'o Options,
    /// The number of programs that may still be read.
    left: usize,
}

impl Trials<'_> {
    /// The advice of an attempt, with the changes that it proposes.
    fn of(&mut self, program: &Program, place: Span, attempt: &Attempt) -> Option<(Wording, Vec<Change>)> {
        let mut fitting = Vec::new();
        for change in &attempt.changes {
            let is_known = |known: &Change| known.kind == change.kind;
            if self.left == 0 || fitting.iter().any(is_known) {
                continue;
            }
            self.left -= 1;
            if self.fits(program, place, &change.edits) {
                fitting.push(change.clone());
                if !attempt.is_choice {
                    break;
                }
            }
        }
        let all: Vec<&str> = fitting.iter().map(|change| change.help.as_str()).collect();
        let help = attempt.reason.clone().words(all.join(", or "));
        (!fitting.is_empty()).then_some((help, fitting))
    }

    /// Returns true if the program loses the error at a place by some edits, gets no other one, and nothing to warn of.
    fn fits(&self, program: &Program, place: Span, edits: &[Edit]) -> bool {
        let source = program.sources.get(program.main);
        let (mut text, mut shift) = (source.text().to_string(), 0);
        let mut edits: Vec<&Edit> = edits.iter().collect();
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.start));
        for Edit { span, text: new } in edits {
            text.replace_range(span.start as usize..span.end as usize, new);
            if span.end <= place.start {
                shift += new.len() as i64 - i64::from(span.end - span.start);
            }
        }
        let mut eval = Eval::new(self.options);
        eval.program(source.name(), &text);
        let mut tried = Program::as_read(eval, self.options, None);
        let start = (i64::from(place.start) + shift) as u32;
        if tried.is_ok() {
            let is_new = |warning: &Diagnostic| ABOUT_SHAPES.contains(&warning.code);
            let is_clear = !crate::lint::warnings(&mut tried).iter().any(is_new);
            return is_clear && !crate::lint::mutual::multiplies(&mut tried, start);
        }
        let others =
            program.diagnostics.iter().filter(|each| each.primary().is_none_or(|at| at.span != place));
        let others: Vec<&Diagnostic> = others.collect();
        let mut left = tried.diagnostics.iter().filter(|each| each.is_error());
        left.all(|error| others.iter().any(|other| other.says_the_same(error)))
    }
}
