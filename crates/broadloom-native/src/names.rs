//! Names: identifiers of C that resemble the names the user wrote.

use rustc_hash::FxHashSet;

/// Keywords of all standards of C, and names that compilers predefine.
const KEYWORDS: &str = "alignas alignof asm auto bool break case char complex const constexpr continue default do double else \
    enum extern false float for goto i386 if imaginary inline int linux long noreturn nullptr register restrict return short \
    signed sizeof static static_assert struct switch thread_local true typedef typeof typeof_unqual union unix unsigned void \
    volatile wchar_t while";

/// Lower-case macros of the headers, and their functions that the text calls.
const HEADERS: &str = "alloca errno fpclassify isfinite isgreater isgreaterequal isinf isless islessequal islessgreater isnan \
    isnormal isunordered math_errhandling offsetof signbit abs exp fabs fma fmax fmaf fmin free llabs malloc memcmp memcpy memmove \
    memset pow realloc rint sqrt abort calloc";

/// Names that the text around the nests uses.
const OWN: &str = "main begin end part parts kept arena symbols turns parallel report check argument index_within fill_margins_8 \
    fill_margins_16 fill_margins_32 fill_margins_64 lane lanes half group end_of_block work";

/// Returns true if a word has another meaning in C, or in the text around the nests.
fn is_taken(word: &str) -> bool {
    // Types of the headers end like this, and future headers may add more.
    word.ends_with("_t")
        || [KEYWORDS, HEADERS, OWN].iter().any(|words| words.split_whitespace().any(|known| known == word))
}

/// Hands out identifiers, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct CNames {
    given: FxHashSet<String>,
}

impl CNames {
    /// An identifier that resembles a name and was not given before.
    pub fn fresh(&mut self, name: &str) -> String {
        let base = identifier(name);
        let numbered = (2..).map(|n| format!("{base}_{n}"));
        for candidate in std::iter::once(base.clone()).chain(numbered) {
            if self.given.insert(candidate.clone()) {
                return candidate;
            }
        }
        base
    }

    /// Allows an identifier to be given again.
    pub fn release(&mut self, name: &str) {
        self.given.remove(name);
    }
}

/// A name reduced to the characters of an identifier.
fn identifier(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut text: String = name.chars().map(plain).collect::<String>().trim_matches('_').to_string();
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
        text.insert(0, 'x');
    }
    // Names in capitals may be macros; names with these prefixes are functions or types of the
    // surrounding text.
    let prefixes = ["f32_", "f64_", "f16_", "bf16_", "broadloom", "nest_", "table_", "key_", "u32_", "u64_"];
    let capitals = text.len() > 1 && !text.contains(|c: char| c.is_ascii_lowercase());
    if capitals
        || prefixes.iter().any(|prefix| text.starts_with(prefix))
        || is_taken(&text)
        || text.strip_prefix('t').is_some_and(|rest| rest.bytes().all(|c| c.is_ascii_digit()))
    {
        text.push('_');
    }
    text
}

/// A text as lines of a comment.
pub(crate) fn comment(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        // A backslash at the end would continue the comment on the next line, and so would its
        // trigraph.
        let line = line.replace("??", "? ?");
        let line = line.trim_end_matches(|c: char| c == '\\' || c.is_whitespace() || c.is_control());
        let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        lines.push_str(&format!("{indent}// {line}\n"));
    }
    lines
}

/// A text inside a comment between `/*` and `*/`.
pub(crate) fn inline_comment(text: &str) -> String {
    let text = text.replace("??", "? ?").replace("*/", "* /").replace("/*", "/ *");
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers() {
        let mut names = CNames::default();
        let mut check = |name: &str, expected: &str| assert_eq!(names.fresh(name), expected);
        check("x", "x");
        check("x", "x_2");
        check("W₁.grad", "W__grad");
        check("for", "for_");
        check("EOF", "EOF_");
        check("N", "N");
        check("3d", "x3d");
        check("", "x_3");
        check("t4", "t4_");
        check("t", "t_");
        check("f32_exp", "f32_exp_");
    }

    #[test]
    fn comments_stay_comments() {
        assert_eq!(comment("a\\\nb ??/\n", "  "), "  // a\n  // b ? ?/\n");
        assert_eq!(inline_comment("a */ b"), "a * / b");
    }
}
