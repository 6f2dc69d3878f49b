//! `broadloom emit --interface`: the signatures of a module's functions, written, or compared with what was written.

use std::path::Path;

use broadloom_ide::{Interface, NoInterface, Text};

use crate::program::{reason, shown_path};

/// The interface of a program as a text.
pub fn emit(text: &Text) -> String {
    let (interface, _) = Interface::of(text);
    interface.to_string()
}

/// Compares a file with the interface of a program. The error is a file that is none; otherwise, what has changed, for
/// people, or nothing.
pub fn check(text: &Text, file: &Path) -> Result<Option<String>, String> {
    let shown = shown_path(file);
    let written =
        std::fs::read_to_string(file).map_err(|error| format!("cannot read {shown}: {}", reason(&error)))?;
    let before = Interface::read(&written).map_err(|why| match why {
        NoInterface::OtherText => {
            format!("{shown} is not an interface: `broadloom emit --interface` makes them")
        }
        NoInterface::OtherVersion => format!("{shown} is an interface of another version: make it again"),
    })?;
    let changes = before.changes(&Interface::of(text).0);
    if changes.is_empty() {
        return Ok(None);
    }
    let mut out = format!("error: {} does not have the interface in {shown}\n", text.name);
    for change in changes {
        out.push_str(&format!("  {}\n", change.trim_end().replace('\n', "\n  ")));
    }
    out.push_str(&format!(
        "  = help: if that is meant, write it again: `broadloom emit {} --interface -o {shown}`\n",
        text.name
    ));
    Ok(Some(out))
}
