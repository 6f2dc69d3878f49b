//! Commands in environment variables: a program, and perhaps arguments.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The words of a command such as `ccache gcc` or `'/opt/my tools/cc' -m64`. The path of a file
/// that exists is one word, even if it contains blanks.
pub(super) fn words(command: &OsStr) -> Vec<OsString> {
    match command.to_str() {
        Some(text) if !Path::new(command).is_file() => split(text).into_iter().map(OsString::from).collect(),
        _ => vec![command.to_os_string()],
    }
}

/// Splits at blanks that are not quoted, as a shell does.
fn split(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands() {
        let check = |text: &str, expected: &[&str]| assert_eq!(split(text), expected, "{text}");
        check("gcc", &["gcc"]);
        check("  gcc  -m64 ", &["gcc", "-m64"]);
        check("ccache gcc", &["ccache", "gcc"]);
        check("'/opt/my tools/cc' -DX=\"a b\" -I\\ c", &["/opt/my tools/cc", "-DX=a b", "-I c"]);
        check("cc ''", &["cc", ""]);
        check("  ", &[]);
    }
}
