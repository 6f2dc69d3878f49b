//! Advice about calls of what does not exist: a sentence, and the text in place of the call.

use broadloom_diagnostics::Help;

use crate::suggest::{self, Replacement};

/// Advice about a call of something that does not exist.
pub(in crate::eval) struct CallAdvice {
    /// The sentence.
    pub help: Help,
    /// The text in place of the call, if the sentence says exactly what to write.
    pub written: Option<String>,
}

impl CallAdvice {
    pub fn say(help: impl Into<Help>) -> CallAdvice {
        CallAdvice { help: help.into(), written: None }
    }

    pub fn write(text: String) -> CallAdvice {
        CallAdvice { help: format!("write `{text}`").into(), written: Some(text) }
    }

    pub fn from_way(way: Replacement, arguments: &[String]) -> CallAdvice {
        match way {
            Replacement::Write(template) => CallAdvice::write(suggest::filled(template, arguments)),
            Replacement::Say(text) => CallAdvice::say(text),
            Replacement::Because(_, template) => {
                let written = Some(suggest::filled(template, arguments));
                CallAdvice { help: said(way, arguments).into(), written }
            }
        }
    }
}

/// The advice as a sentence.
pub(in crate::eval) fn said(way: Replacement, arguments: &[String]) -> String {
    match way {
        Replacement::Write(template) => format!("write `{}`", suggest::filled(template, arguments)),
        Replacement::Say(text) => text.to_string(),
        Replacement::Because(reason, template) => {
            format!("{reason}: write `{}`", suggest::filled(template, arguments))
        }
    }
}

/// The length of a list of arguments at the beginning of a text; 0 if there is none, or no end of it on the line.
pub(in crate::eval) fn list_length(text: &str) -> usize {
    if !text.starts_with('(') {
        return 0;
    }
    let (mut depth, mut quoted) = (0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '\n' | '\r' => return 0,
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    0
}
