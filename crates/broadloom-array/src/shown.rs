//! Paths in messages.

use std::path::Path;

/// A path as messages show it: on one line, with escapes in place of control characters.
pub fn shown_path(path: &Path) -> String {
    let mut shown = String::new();
    for c in path.to_string_lossy().chars() {
        match c.is_control() {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    shown
}
