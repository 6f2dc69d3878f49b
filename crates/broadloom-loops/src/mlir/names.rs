//! Names of values and of loops, close to those that the user wrote.

use rustc_hash::FxHashMap;

/// The names of the values of one function. Each is given out once.
#[derive(Debug, Default)]
pub struct MlirNames {
    /// Names that are taken, each with the last number that was tried behind it.
    taken: FxHashMap<String, u32>,
}

impl MlirNames {
    /// A name for a value that no other has, with its sign: `%w`, `%w_1`.
    pub fn fresh(&mut self, wanted: &str) -> String {
        let base = format!("%{}", identifier(wanted));
        let mut number = self.taken.get(&base).copied();
        let mut name = base.clone();
        while let Some(last) = number {
            name = format!("{base}_{}", last + 1);
            number = self.taken.contains_key(&name).then_some(last + 1);
            self.taken.insert(base.clone(), last + 1);
        }
        self.taken.insert(name.clone(), 0);
        name
    }
}

/// A text as MLIR allows it in names of values and functions: letters, digits, `_`, `.` and `$`, no
/// digit first. The names that bodies use for their arguments are avoided.
pub fn identifier(text: &str) -> String {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_.$".contains(letter);
    let mut name: String = text.chars().map(|letter| if allowed(letter) { letter } else { '_' }).collect();
    if !name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        name.insert(0, '_');
    }
    if is_kept_free(&name) {
        name.insert(0, '_');
    }
    name
}

/// Returns true for names that bodies use for their arguments: `in`, `out`, `in_1`, `_0`.
fn is_kept_free(name: &str) -> bool {
    let numbered = name.strip_prefix("in_").or_else(|| name.strip_prefix('_'));
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    ["in", "out"].contains(&name) || numbered.is_some_and(is_number)
}

/// Words that are keywords or types in an index map.
const WORDS: [&str; 30] = [
    "mod", "floordiv", "ceildiv", "symbol", "index", "none", "to", "step", "min", "max", "for", "if", "else",
    "func", "loc", "size", "offset", "type", "unit", "true", "false", "dense", "sparse", "array", "tensor",
    "vector", "memref", "complex", "tuple", "strided",
];

/// Names for the loops of a nest in its index maps: all different, and none a keyword or a type.
pub(super) fn dims(wanted: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for wanted in wanted {
        let plain: String = wanted.chars().filter(|letter| letter.is_ascii_alphanumeric()).collect();
        let base = if plain.starts_with(|first: char| first.is_ascii_alphabetic()) { &plain } else { "d" };
        let candidates = std::iter::once(base.to_string()).chain((1..).map(|n| format!("{base}_{n}")));
        let free = |name: &String| !names.contains(name) && !is_word(name);
        names.extend(candidates.into_iter().find(free));
    }
    names
}

/// Returns true if a name is a keyword or a type: `mod`, `i2`, `f32`, `ui8`, `bf16`.
fn is_word(name: &str) -> bool {
    let digits = name.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let letters = &name[..name.len() - digits.len()];
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_type = is_number && ["i", "si", "ui", "f", "bf", "tf"].contains(&letters);
    is_type || WORDS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        let mut names = MlirNames::default();
        assert_eq!(names.fresh("layer.w"), "%layer.w");
        assert_eq!(names.fresh("layer.w"), "%layer.w_1");
        assert_eq!(names.fresh("θ 1"), "%__1");
        assert_eq!(names.fresh("3d"), "%_3d");
        assert_eq!(names.fresh("in"), "%_in");
    }

    #[test]
    fn loops_are_no_types() {
        assert_eq!(
            dims(&["i", "i2", "i", "mod", "batch", "θ", ""]),
            ["i", "i2_1", "i_1", "mod_1", "batch", "d", "d_1"]
        );
    }
}
