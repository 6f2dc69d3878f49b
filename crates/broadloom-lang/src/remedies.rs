//! Advice that was tried: the program is read again with one change, and the change is advised if the error is gone, no
//! other error has come in its place, and there is nothing to warn of.
//!
//! For `data x : 8 | 20, 5`, `data labels : 8, 20 |` and `cross_entropy(linear(3)(lstm(32)(x)), labels)`, one of the changes
//! that are tried is `8, 20 | 5`, and it is the one that fits. Advice that an error has already is kept, unless it says no
//! more than the rule which the program breaks.

mod calls;
mod shapes;
mod sizes;

use broadloom_diagnostics::{Diagnostic, Edit, Fix, Label, Span};

use crate::codes;
use crate::eval::Eval;
use crate::program::{Options, Program};

/// How often a program is read again at most.
const MOST_TRIALS: usize = 24;
/// The work of evaluation up to which a program is read again: it has to be answered while somebody types.
const MOST_WORK: u64 = 5_000;
/// The number of errors up to which remedies are looked for.
const MOST_ERRORS: usize = 3;

/// Warnings about shapes that fit and are not meant. Others have nothing to do with a change.
const ABOUT_SHAPES: [&str; 4] = [codes::BROADCASTS, codes::TARGETS, codes::IDLE, codes::MEANT];

/// How advice begins that says what the rule is, and not what to write.
const RULES: [&str; 16] = [
    "what is carried has one shape",
    "positions count from",
    "indices are 0 to",
    "make both",
    "set it to",
    "an axis has one size",
    "a label is one size",
    "a named size is itself",
    "a written size of 1",
    "the parts of a concatenation",
    "parts that are put together",
    "write the batch axes before",
    "write the input axes before",
    "write one label for each axis",
    "`@` contracts the input of the left side with the output of the right side; ",
    "the batch axes, before `|`, are the same in both",
];

/// How advice begins about two sizes of which one has to change.
const FOR_BOTH: &str = "for both ";

/// A change of the program.
struct Change {
    /// What to do: "declare `x` as `8, 20 | 5`".
    help: String,
    edits: Vec<Edit>,
}

impl Change {
    /// What it is for, or the first words of what it does: of changes with the same ones, the first that fits is advised.
    fn kind(&self) -> &str {
        self.help.split([',', '`']).next().unwrap_or_default()
    }
}

/// Changes of one kind.
struct Attempt {
    /// Why they would help, with the sign behind it.
    reason: String,
    /// The changes, the likeliest first.
    changes: Vec<Change>,
    /// True if all of them that fit are advised, in place of the first one.
    is_choice: bool,
    /// True if it is better than advice that an error has already.
    is_certain: bool,
    /// What is said of the place of the change, if the error does not show it.
    label: &'static str,
}

impl Attempt {
    fn new(reason: impl Into<String>, changes: Vec<Change>) -> Attempt {
        Attempt { reason: reason.into(), changes, is_choice: false, is_certain: false, label: "" }
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
        let is_open = wrong.help.iter().all(|help| is_rule(help));
        let mut attempts = calls::attempts(program, wrong, place);
        attempts.extend(sizes::attempts(program, wrong));
        attempts.extend(shapes::attempts(program, wrong, place));
        let mut wanted = attempts.into_iter().filter(|attempt| is_open || attempt.is_certain);
        let found = wanted.find_map(|attempt| {
            let label = attempt.label;
            trials.of(program, place, attempt).map(|found| (label, found))
        });
        let Some((label, (help, fitting))) = found else { continue };
        let wrong = &mut program.diagnostics[at];
        if let ([Change { edits, .. }], false) = (&fitting[..], label.is_empty())
            && let [edit] = &edits[..]
            && !wrong.labels.iter().any(|label| label.span.contains(edit.span))
        {
            wrong.labels.push(Label { span: edit.span, text: label.to_string(), primary: false });
        }
        // What to do to make both one size follows the sentence that says so.
        if !help.starts_with("for ") {
            wrong.help.clear();
        }
        wrong.help.push(help);
        wrong.fixes = fitting.into_iter().map(|Change { help: title, edits }| Fix { title, edits }).collect();
    }
}

/// Returns true if advice says no more than what the rule is.
fn is_rule(help: &str) -> bool {
    let is_known = |rule: &&str| help.starts_with(*rule) || help == rule.trim_end_matches([';', ' ']);
    RULES.iter().any(is_known) && !help.contains("einsum(")
}

/// Programs that are read with a change.
struct Trials<'o> {
    options: &'o Options,
    /// How many more may be read.
    left: usize,
}

impl Trials<'_> {
    /// The advice of an attempt, with the changes that it speaks of.
    fn of(&mut self, program: &Program, place: Span, attempt: Attempt) -> Option<(String, Vec<Change>)> {
        let mut fitting = Vec::new();
        for change in attempt.changes {
            let is_known = |known: &Change| known.kind() == change.kind();
            if self.left == 0 || fitting.iter().any(is_known) {
                continue;
            }
            self.left -= 1;
            if self.fits(program, place, &change.edits) {
                fitting.push(change);
                if !attempt.is_choice {
                    break;
                }
            }
        }
        let all: Vec<&str> = fitting.iter().map(|change| change.help.as_str()).collect();
        let help = format!("{}{}", attempt.reason, all.join(", or "));
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
        let mut tried = Program::as_read(eval, self.options);
        let start = (i64::from(place.start) + shift) as u32;
        if tried.is_ok() {
            let is_new = |warning: &Diagnostic| ABOUT_SHAPES.contains(&warning.code);
            let is_clear = !crate::lint::warnings(&mut tried).iter().any(is_new);
            return is_clear && !crate::lint::mutual::multiplies(&mut tried, start);
        }
        let others =
            program.diagnostics.iter().filter(|each| each.primary().is_none_or(|at| at.span != place));
        let others: Vec<&str> = others.map(|each| each.message.as_str()).collect();
        let mut left = tried.diagnostics.iter().filter(|each| each.is_error());
        left.all(|error| others.contains(&error.message.as_str()))
    }
}
