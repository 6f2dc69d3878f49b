//! Advice about calls of what does not exist: a sentence, and the text in place of the call.

use broadloom_diagnostics::{Diagnostic, Help, Span};

use crate::suggest::{self, Replacement};

/// Advice about a call of something that does not exist.
pub(in crate::eval) struct CallAdvice {
    /// The sentence, or what stands in it before the text to write.
    sentence: Help,
    /// The text in place of the call, if the sentence says exactly what to write, and what it says behind it.
    written: Option<(String, &'static str)>,
}

impl CallAdvice {
    pub fn say(help: impl Into<Help>) -> CallAdvice {
        CallAdvice { sentence: help.into(), written: None }
    }

    pub fn write(text: String) -> CallAdvice {
        CallAdvice::write_because("", text, "")
    }

    /// Advice to write a text, with a reason before it or behind it.
    pub fn write_because(reason: &str, text: String, behind: &'static str) -> CallAdvice {
        let before = if reason.is_empty() { "write ".to_string() } else { format!("{reason}: write ") };
        CallAdvice { sentence: before.into(), written: Some((text, behind)) }
    }

    pub fn from_way(way: Replacement, arguments: &[String]) -> CallAdvice {
        match way {
            Replacement::Write(template) => CallAdvice::write(suggest::filled(template, arguments)),
            Replacement::Say(text) => CallAdvice::say(text),
            Replacement::Because(reason, template) => {
                CallAdvice::write_because(reason, suggest::filled(template, arguments), "")
            }
        }
    }

    /// The same advice where the call is the operand of an operator, as in `2 * f(x)`.
    pub fn for_operand(mut self) -> CallAdvice {
        if let Some((text, _)) = &mut self.written {
            *text = suggest::as_operand(text);
        }
        self
    }

    /// The sentence.
    pub fn help(&self) -> Help {
        match &self.written {
            Some((text, behind)) => format!("{}`{text}`{behind}", self.sentence.text).into(),
            None => self.sentence.clone(),
        }
    }

    /// A mistake with the advice, and with a fix if it says exactly what to write in place of a call.
    pub fn added_to(&self, diagnostic: Diagnostic, call: Span) -> Diagnostic {
        match self.written().filter(|written| !written.contains('…')) {
            Some(written) => diagnostic.with_fix(self.help().text, call, written),
            None => diagnostic.with_help(self.help()),
        }
    }

    /// The text in place of the call, if the sentence says exactly what to write.
    fn written(&self) -> Option<&str> {
        self.written.as_ref().map(|(text, _)| text.as_str())
    }
}

/// The advice as a sentence.
pub(in crate::eval) fn said(way: Replacement, arguments: &[String]) -> Help {
    CallAdvice::from_way(way, arguments).help()
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
