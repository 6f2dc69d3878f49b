//! Functions that were looked at before, while a program is edited: one that no application walks is inferred by itself, and that
//! need not be done again as long as it, and every function that it uses, has the same text.
//!
//! Only functions in which nothing was found are kept, and only those that use nothing of the program but functions, numbers
//! and texts: what else they use may be decided anywhere.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Eval;
use super::around::names_from_around;
use super::interface::fingerprint;
use crate::value::{Function, Value};

/// The longest chain of functions that is followed.
const DEEPEST: usize = 50;

/// The functions without mistakes, by fingerprints of everything that decides whether they have any.
#[derive(Default)]
pub(crate) struct Looked {
    /// Those of the last check.
    before: FxHashSet<String>,
    /// Those of this one.
    now: FxHashSet<String>,
    /// The fingerprints of this check; None where one cannot be made, or while it is.
    known: FxHashMap<*const Function, Option<String>>,
}

impl Looked {
    /// Begins the next check.
    pub fn next(&mut self) {
        self.before = std::mem::take(&mut self.now);
        self.known.clear();
    }

    /// Returns true if nothing was found in a function when it was looked at in the last check.
    pub(super) fn has(&mut self, fingerprint: &str) -> bool {
        let known = self.before.take(fingerprint);
        known.is_some_and(|known| self.now.insert(known)) || self.now.contains(fingerprint)
    }

    /// Notes that nothing was found in a function.
    pub(super) fn note(&mut self, fingerprint: String) {
        self.now.insert(fingerprint);
    }
}

/// The fingerprint of everything that decides what is found in a function.
pub(super) fn of_function(eval: &Eval<'_>, looked: &mut Looked, function: &Function) -> Option<String> {
    of(eval, looked, function, 0)
}

fn of(eval: &Eval<'_>, looked: &mut Looked, function: &Function, depth: usize) -> Option<String> {
    if let Some(known) = looked.known.get(&std::ptr::from_ref(function)) {
        return known.clone();
    }
    // A function of a function depends on how that is applied.
    if depth > DEEPEST || function.is_nested {
        return None;
    }
    // A function that is on the way to itself has none, unless it calls itself directly.
    looked.known.insert(function, None);
    let mut names: Vec<_> = names_from_around(eval, function).into_iter().collect();
    names.sort_by_key(|name| eval.text(*name));
    let mut parts = vec![eval.sources.slice(function.span).to_string()];
    let mut is_whole = true;
    for name in names {
        let value = match function.scope.find(name) {
            None => "nothing".to_string(),
            Some(Value::Number(number)) => format!("number {:x}", number.to_bits()),
            Some(Value::Text(text)) => format!("text {text}"),
            Some(Value::Builtin(_)) => "of the language".to_string(),
            Some(Value::Function(other)) => named(eval, looked, (function, &other), depth, &mut is_whole),
            Some(Value::Layer(layer)) if layer.function.def.config.is_none() && layer.has_made_nothing() => {
                format!("layer {}", named(eval, looked, (function, &layer.function), depth, &mut is_whole))
            }
            Some(_) => {
                is_whole = false;
                break;
            }
        };
        parts.extend([eval.text(name).to_string(), value]);
    }
    let made = is_whole.then(|| fingerprint(parts.iter().map(String::as_str)));
    looked.known.insert(function, made.clone());
    made
}

/// The part of a fingerprint that stands for another function.
fn named(
    eval: &Eval<'_>,
    looked: &mut Looked,
    (own, other): (&Function, &Function),
    depth: usize,
    is_whole: &mut bool,
) -> String {
    if std::ptr::eq(own, other) {
        return "itself".into();
    }
    if eval.library.contains(&other.span.source) {
        return format!("of the library {}", other.span.start);
    }
    let made = of(eval, looked, other, depth + 1);
    *is_whole &= made.is_some();
    made.unwrap_or_default()
}
