//! Lines that say which arrays of a file are which parameters: `h.*.attn.c_attn.weight -> blocks.*.attend.query, key, value`.
//!
//! ```text
//! line    := PATTERN "->" ( targets | "_" ) [ "by" spec ]
//! targets := PATH { "," ( NAME | PATH ) }
//! ```
//!
//! In a pattern, `*` stands for one or more characters without a dot, and its texts take the places of `*` in the targets, in
//! order; `**` stands for any text, also for none, and is not carried over; `(weight|gamma)` stands for one of these. `blocks[*]` is
//! the same as `blocks.*`. A target without a dot lies beside the first one.

/// A line, as it was read.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub from: Pattern,
    /// The parameters; none if the arrays are left out on purpose.
    pub to: Vec<String>,
    /// The relation of the axes of the array to those of the parameters, if it is given.
    pub by: Option<String>,
}

/// A pattern of names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pattern {
    pub text: String,
    /// The pieces of each alternative.
    ways: Vec<Vec<PatternPiece>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum PatternPiece {
    Text(String),
    /// Some characters without a dot.
    Part,
    /// Any characters.
    Any,
}

/// The most `*` that a pattern may have, and the most ways to choose, so that matching takes no time.
const MOST_STARS: usize = 6;
const MOST_WAYS: usize = 16;

impl Line {
    /// Reads a line, or says what is wrong with it.
    pub fn read(text: &str) -> Result<Line, String> {
        let Some((from, rest)) = text.split_once("->") else {
            return Err("the arrays and the parameters stand on two sides of `->`".into());
        };
        let (to, by) = match rest.split_once(" by ") {
            Some((to, by)) => (to, Some(by.trim().to_string())),
            None => (rest, None),
        };
        let from = Pattern::read(from.trim())?;
        let to = targets(to)?;
        let stars = |text: &str| text.matches('*').count();
        if let Some(more) = to.iter().find(|to| stars(to) > from.parts()) {
            return Err(format!("`{more}` has more `*` than `{}`, whose texts take their places", from.text));
        }
        if by.as_deref() == Some("") {
            return Err("after `by`, write how the axes are related: `by o i => i -> o`".into());
        }
        Ok(Line { from, to, by })
    }

    /// The parameters for the texts that `*` stands for.
    pub fn targets(&self, texts: &[String]) -> Vec<String> {
        let fill = |to: &String| {
            let (mut filled, mut texts) = (String::new(), texts.iter());
            for letter in to.chars() {
                match (letter, letter == '*') {
                    (_, true) => filled.push_str(texts.next().map_or("*", String::as_str)),
                    (letter, false) => filled.push(letter),
                }
            }
            filled
        };
        self.to.iter().map(fill).collect()
    }
}

/// Reads the parameters of a line.
fn targets(text: &str) -> Result<Vec<String>, String> {
    if text.trim() == "_" {
        return Ok(Vec::new());
    }
    let mut targets: Vec<String> = Vec::new();
    for path in text.split(',').map(str::trim) {
        // `blocks[0]` is the path `blocks.0` of the tables.
        let path = path.replace('[', ".").replace(']', "");
        let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '*');
        if path.is_empty() || !path.chars().all(is_plain) {
            return Err(format!("`{path}` is no path of a parameter, such as `blocks.0.query`"));
        }
        let beside = targets.first().and_then(|first| first.rsplit_once('.')).filter(|_| !path.contains('.'));
        targets.push(beside.map_or(path.clone(), |(folder, _)| format!("{folder}.{path}")));
    }
    Ok(targets)
}

impl Pattern {
    fn read(text: &str) -> Result<Pattern, String> {
        if text.is_empty() {
            return Err("before `->` stands the name of an array".into());
        }
        let ways: Vec<Vec<PatternPiece>> = alternatives(text)?.iter().map(|text| pieces(text)).collect();
        let count =
            |way: &[PatternPiece], wanted: &PatternPiece| way.iter().filter(|piece| *piece == wanted).count();
        if ways
            .iter()
            .any(|way| count(way, &PatternPiece::Any) > 1 || count(way, &PatternPiece::Part) > MOST_STARS)
        {
            return Err(format!("a pattern has at most one `**` and {MOST_STARS} of `*`"));
        }
        Ok(Pattern { text: text.to_string(), ways })
    }

    /// The number of texts that are carried over.
    fn parts(&self) -> usize {
        let parts =
            |way: &Vec<PatternPiece>| way.iter().filter(|piece| **piece == PatternPiece::Part).count();
        self.ways.iter().map(parts).min().unwrap_or(0)
    }

    /// The texts that `*` stands for, if a name is one that the pattern describes.
    pub fn matches(&self, name: &str) -> Option<Vec<String>> {
        self.ways.iter().find_map(|way| matched(way, name))
    }
}

/// A pattern without parentheses for each way to choose one of `(weight|gamma)`.
fn alternatives(text: &str) -> Result<Vec<String>, String> {
    let mut ways = vec![String::new()];
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('(') {
        let Some((inside, after)) = after.split_once(')') else {
            return Err(format!("`(` is not closed in `{text}`"));
        };
        ways = ways
            .iter()
            .flat_map(|way| inside.split('|').map(move |one| format!("{way}{before}{one}")))
            .collect();
        if ways.len() > MOST_WAYS {
            return Err(format!("a pattern has at most {MOST_WAYS} ways to choose"));
        }
        rest = after;
    }
    Ok(ways.into_iter().map(|way| way + rest).collect())
}

/// The pieces of a pattern without parentheses.
fn pieces(text: &str) -> Vec<PatternPiece> {
    let mut pieces = Vec::new();
    for (at, part) in text.split("**").enumerate() {
        if at > 0 {
            pieces.push(PatternPiece::Any);
        }
        for (at, plain) in part.split('*').enumerate() {
            if at > 0 {
                pieces.push(PatternPiece::Part);
            }
            if !plain.is_empty() {
                pieces.push(PatternPiece::Text(plain.to_string()));
            }
        }
    }
    pieces
}

/// The texts that `*` stands for in a name. Of several ways, the one with the shortest texts.
fn matched(pieces: &[PatternPiece], name: &str) -> Option<Vec<String>> {
    let ends = |rest: &str, any: bool| -> Vec<usize> {
        let all = rest.char_indices().map(|(at, letter)| (at + letter.len_utf8(), letter));
        all.take_while(|(_, letter)| any || *letter != '.').map(|(end, _)| end).collect()
    };
    let mut waiting = vec![(0, name, Vec::new())];
    while let Some((at, rest, texts)) = waiting.pop() {
        match pieces.get(at) {
            None if rest.is_empty() => return Some(texts),
            None => {}
            Some(PatternPiece::Text(text)) => {
                waiting.extend(rest.strip_prefix(text.as_str()).map(|rest| (at + 1, rest, texts)));
            }
            Some(PatternPiece::Part) => {
                for end in ends(rest, false).into_iter().rev() {
                    let texts = [texts.as_slice(), &[rest[..end].to_string()]].concat();
                    waiting.push((at + 1, &rest[end..], texts));
                }
            }
            Some(PatternPiece::Any) => {
                let all = ends(rest, true).into_iter().rev().chain([0]);
                waiting.extend(all.map(|end| (at + 1, &rest[end..], texts.clone())));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(line: &str, name: &str) -> Option<Vec<String>> {
        let line = Line::read(line).unwrap();
        line.from.matches(name).map(|texts| line.targets(&texts))
    }

    #[test]
    fn names_by_patterns() {
        let qkv = "h.*.attn.c_attn.weight -> blocks[*].attend.query, key, value";
        let paths = ["blocks.7.attend.query", "blocks.7.attend.key", "blocks.7.attend.value"];
        assert_eq!(matched(qkv, "h.7.attn.c_attn.weight"), Some(paths.map(String::from).to_vec()));
        assert_eq!(matched(qkv, "h.7.attn.c_attn.bias"), None);
        assert_eq!(matched(qkv, "h.7.8.attn.c_attn.weight"), None);
        let prefixed = "**wte.weight -> words.table";
        assert_eq!(matched(prefixed, "wte.weight"), Some(vec!["words.table".into()]));
        assert_eq!(matched(prefixed, "transformer.wte.weight"), Some(vec!["words.table".into()]));
        assert_eq!(matched("a.*.b* -> x.*.*", "a.1.b2"), Some(vec!["x.1.2".into()]));
        assert_eq!(matched("** -> _", "anything.at.all"), Some(Vec::new()));
        assert_eq!(matched("w -> v", "w"), Some(vec!["v".into()]));
        let either = "**LayerNorm.(weight|gamma) -> norm.gain";
        assert_eq!(matched(either, "bert.LayerNorm.gamma"), Some(vec!["norm.gain".into()]));
        assert_eq!(matched(either, "LayerNorm.weight"), Some(vec!["norm.gain".into()]));
        assert_eq!(matched(either, "LayerNorm.beta"), None);
    }

    #[test]
    fn lines_that_are_wrong() {
        let wrong = |line: &str| Line::read(line).unwrap_err();
        assert_eq!(wrong("a = b"), "the arrays and the parameters stand on two sides of `->`");
        assert_eq!(wrong("-> b"), "before `->` stands the name of an array");
        assert_eq!(wrong("a -> b.*"), "`b.*` has more `*` than `a`, whose texts take their places");
        assert_eq!(wrong("a -> "), "`` is no path of a parameter, such as `blocks.0.query`");
        assert_eq!(wrong("a -> b c"), "`b c` is no path of a parameter, such as `blocks.0.query`");
        assert_eq!(wrong("a(b -> c"), "`(` is not closed in `a(b`");
        assert_eq!(wrong("**a**b -> c"), "a pattern has at most one `**` and 6 of `*`");
    }
}
