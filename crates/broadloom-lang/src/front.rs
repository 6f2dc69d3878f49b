//! Words of the front that a program is read and run by.

use broadloom_diagnostics::{Advice, Code, Diagnostic, Help, Setting, Wording};

use crate::eval::advice::code::{as_flag, in_loom};

/// The words of a front for what is said beside a program when it is run: those of the command, if nothing else is said.
#[derive(Clone, Copy, Debug)]
pub struct Words(pub fn(&Setting) -> String);

impl Words {
    /// A setting in these words.
    pub fn written(self, setting: &Setting) -> String {
        self.0(setting)
    }
}

impl Default for Words {
    fn default() -> Words {
        Words(as_flag)
    }
}

/// A message with the settings in its advice in the words of a front.
pub(crate) fn worded(mut diagnostic: Diagnostic, words: Words) -> Diagnostic {
    word(&mut diagnostic, words);
    diagnostic
}

/// Writes the settings in advice in the words of a front.
pub(crate) fn word(diagnostic: &mut Diagnostic, words: Words) {
    for help in diagnostic.help.iter_mut().filter(|help| help.names_setting()) {
        help.write_in(|code| match code {
            Code::Setting(setting) => words.written(setting),
            code => in_loom(code),
        });
    }
}

/// Advice that names a setting of a run: words, the setting, and words. It is in the words of the command until another front has written it in its own.
pub fn naming_setting(before: impl Into<String>, setting: Setting, after: &str) -> Help {
    Help::worded(Advice::Write, Wording::new(before).code(Code::Setting(setting)).words(after), in_loom)
}
