//! A rule of the house, as a test: sentences are for people. Code that chooses between messages, or adds to them, reads
//! their data (`Fact`, `Advice`, `Role`, the parts of an error), so that a better wording changes nothing else.

use crate::house::sources;

/// The crates that make messages, show them, or find more to say about them.
const FRONTS: [&str; 8] = [
    "broadloom-graph",
    "broadloom-run",
    "broadloom-lang",
    "broadloom-ide",
    "broadloom-lsp",
    "broadloom-cli",
    "broadloom-python",
    "broadloom-web",
];

/// The beginnings of calls that look into a text.
const READERS: [&str; 14] = [
    ".contains(",
    ".starts_with(",
    ".ends_with(",
    ".split",
    ".rsplit",
    ".strip_",
    ".find(",
    ".rfind(",
    ".replace",
    ".matches(",
    ".lines()",
    ".parse",
    ".trim_start_matches(",
    ".trim_end_matches(",
];

/// The names of sentences: those of variables, fields and methods.
const SENTENCES: [&str; 9] =
    ["message", "sentence", "help", "note", "advice", "title", "reason", "label()", "message()"];

/// The owners of a `text` that is a sentence.
const OWNERS: [&str; 6] = ["label", "primary", "help", "end", "link", "line"];

/// Calls that give the same text.
const SAME: [&str; 7] =
    [".as_str()", ".as_deref()", ".as_ref()", ".to_string()", ".clone()", ".trim()", ".to_lowercase()"];

/// The places that may look into a sentence: the end of the file's path, the code, and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("graph/src/message/chain.rs", "known.text != line.text", "the same line is said once"),
    ("lang/src/remedies/sizes.rs", "known.help == change.help", "the same advice is given once"),
    ("cli/src/program.rs", "message.lines(", "a reason of the operating system may have several lines"),
];

/// The code of a file on one line for each chain of calls, without its tests and comments.
fn code(text: &str) -> String {
    let own = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    let lines = own.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let mut code = String::new();
    for line in lines {
        code.push_str(if line.starts_with('.') { "" } else { "\n" });
        code.push_str(line);
    }
    code
}

/// Returns true if an expression, of which this is the path, is a sentence.
fn is_sentence(path: &str) -> bool {
    let mut path = path.trim_matches(['&', '*', '?', '.']);
    while let Some(shorter) = SAME.iter().find_map(|same| path.strip_suffix(same)) {
        path = shorter;
    }
    let mut parts = path.rsplit('.');
    match (parts.next(), parts.next()) {
        (Some("text"), Some(owner)) => OWNERS.contains(&owner),
        (Some(name), _) => SENTENCES.contains(&name),
        (None, _) => false,
    }
}

fn is_path(letter: char) -> bool {
    letter.is_alphanumeric() || "_.()&*?".contains(letter)
}

/// The path of the expression that ends where a text ends.
fn path_before(code: &str) -> &str {
    last(&code[code.trim_end_matches(is_path).len()..])
}

/// The path of the expression that a text begins with.
fn path_after(code: &str) -> &str {
    let path = &code[..code.find(|letter| !is_path(letter)).unwrap_or(code.len())];
    // A call around it ends behind it.
    let mut depth = 0;
    let ends = |letter: char| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        depth < 0
    };
    &path[..path.find(ends).unwrap_or(path.len())]
}

/// The places of a file's code that look into a sentence, each with a few words around it.
fn readers(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in code.lines() {
        let reads = READERS.iter().flat_map(|reader| line.match_indices(reader));
        let reads = reads.map(|(at, reader)| {
            let end = at + reader.len();
            // A list of sentences may be asked for one of its own, but not for that of a mistake.
            let sought = path_after(&line[end..]);
            let is_sought = reader == ".contains(" && sought.contains('.') && is_sentence(sought);
            (at, end, is_sought || is_sentence(path_before(&line[..at])))
        });
        let equal = ["==", "!="].iter().flat_map(|sign| line.match_indices(sign)).map(|(at, _)| {
            let (before, after) = (line[..at].trim_end(), line[at + 2..].trim_start());
            (at, at + 2, is_sentence(path_before(before)) || is_sentence(path_after(after)))
        });
        for (at, end, _) in reads.chain(equal).filter(|(.., is_read)| *is_read) {
            let start = at - path_before(line[..at].trim_end()).len().min(at);
            found.push(line.get(start.saturating_sub(1)..(end + 30).min(line.len())).unwrap_or(line));
        }
    }
    found
}

/// The last argument of a path that may begin with a call: `x` of `f(x`.
fn last(path: &str) -> &str {
    let mut depth = 0;
    for (at, letter) in path.char_indices().rev() {
        match letter {
            ')' => depth += 1,
            '(' if depth == 0 => return &path[at + 1..],
            '(' => depth -= 1,
            _ => {}
        }
    }
    path
}

#[test]
fn no_front_looks_into_a_sentence() {
    let mut wrong = Vec::new();
    let mut used = vec![false; EXCEPTIONS.len()];
    for (path, text) in sources() {
        let path = path.to_string_lossy().replace('\\', "/");
        let is_front = FRONTS.iter().any(|front| path.contains(&format!("/{front}/src/")));
        if !is_front || path.ends_with("/tests.rs") || path.contains("/tests/") {
            continue;
        }
        for place in readers(&code(&text)) {
            let allowed =
                EXCEPTIONS.iter().position(|(file, code, _)| path.ends_with(file) && place.contains(code));
            match allowed {
                Some(at) => used[at] = true,
                None => wrong.push(format!("{path}: {place}")),
            }
        }
    }
    assert!(wrong.is_empty(), "give the sentence a kind, and read that:\n{}", wrong.join("\n"));
    for ((file, code, _), used) in EXCEPTIONS.iter().zip(used) {
        assert!(used, "{file} has no `{code}` any more: take it from the list");
    }
}

/// The crates of the library: what they advise is in Rust, and fronts have their own words and write the code in it as theirs.
const LIBRARY: [&str; 2] = ["broadloom-graph", "broadloom-run"];

/// The words that statements of `.loom` begin with, and that are no names in Rust.
const KEYWORDS: [&str; 8] = ["let", "dim", "data", "def", "state", "repeat", "print", "minimise"];

/// The texts with `.loom` in them that are no advice: the end of the file's path, the code, and the reason.
const NO_ADVICE: &[(&str, &str, &str)] = &[
    ("graph/src/names.rs", "dim {} in {}", "how messages call a step"),
    ("graph/src/names.rs", "dim {}", "how messages call a step"),
    ("graph/src/assigned.rs", "@", "a logic, whose notation is that of every language"),
];

/// Returns true if code can be written in `.loom` only: a statement, a product, or the call of a function without a graph.
fn is_loom(code: &str) -> bool {
    let is_statement = KEYWORDS
        .iter()
        .any(|word| code == *word || code.strip_prefix(word).is_some_and(|rest| rest.starts_with(' ')));
    let function = code.split('(').next().unwrap_or_default();
    let is_call = function.len() < code.len()
        && !function.is_empty()
        && function.chars().all(|letter| letter.is_lowercase() || letter == '_');
    is_statement || is_call || code == "@" || code.contains(" @ ")
}

/// The string literals of code.
fn literals(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some((before, from)) = rest.split_once('"') {
        // A letter.
        if before.ends_with('\'') && from.starts_with('\'') {
            rest = from;
            continue;
        }
        let mut escaped = false;
        let end = from.find(|letter| {
            let ends = letter == '"' && !escaped;
            escaped = letter == '\\' && !escaped;
            ends
        });
        let end = end.unwrap_or(from.len());
        found.push(&from[..end]);
        rest = from.get(end + 1..).unwrap_or_default();
    }
    found
}

/// Users of the library cannot type what is written in `.loom`: such code is a tree (`Code`), which every front writes in its language.
#[test]
fn no_advice_of_the_library_is_in_one_language_of_its_users() {
    let mut wrong = Vec::new();
    let mut used = [false; NO_ADVICE.len()];
    for (path, text) in sources() {
        let path = path.to_string_lossy().replace('\\', "/");
        if !LIBRARY.iter().any(|library| path.contains(&format!("/{library}/src/"))) {
            continue;
        }
        for code in literals(&code(&text)).into_iter().flat_map(|text| text.split('`').skip(1).step_by(2)) {
            if !is_loom(code) {
                continue;
            }
            match NO_ADVICE.iter().position(|(file, known, _)| path.ends_with(file) && code == *known) {
                Some(at) => used[at] = true,
                None => wrong.push(format!("{path}: `{code}`")),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "make it a `Code`, or write it in Rust with `g.` before it:\n{}",
        wrong.join("\n")
    );
    assert!(used.iter().all(|used| *used), "an exception is no longer needed");
}

#[test]
fn code_of_the_language_is_known_from_rust() {
    for loom in ["dim n = 8", "dim", "einsum(\\\"i => i 0\\\", x)", "mean({name})", "w @ x", "@", "let y = x"]
    {
        assert!(is_loom(loom), "{loom}");
    }
    for other in ["g.reshape(x)", "Session::set", "reshape", "..b.. | o", "{name}", "n -> n", "dims"] {
        assert!(!is_loom(other), "{other}");
    }
    assert_eq!(literals(r#"f("a `b(\"c\")`", "d")"#), [r#"a `b(\"c\")`"#, "d"]);
}

#[test]
fn readers_of_sentences_are_found() {
    for bad in [
        "if help.contains(\"declare `\") {}",
        "diagnostic.notes.iter().filter(|note| !note.contains(\"--chain\"))",
        "label.text.strip_suffix(\" here\")",
        "error\n    .message()\n    .split_once(\" reads \")",
        "let is_it = each.message == LATE;",
        "all.any(|known| known.text == label.text)",
        "let first = end.label().split(' ').next();",
        "rest(help.as_str().trim_start_matches(before))",
        "left.all(|error| others.contains(&error.message.as_str()))",
    ] {
        assert_eq!(readers(&code(bad)).len(), 1, "{bad}");
    }
    for good in [
        "let is_it = each.facts.contains(&Fact::Impossible);",
        "source.text().lines()",
        "messages.contains(&number)",
        "help.kind == Advice::Rule",
        "// message.contains(word)",
        "notes.iter().find(|note| note.is_empty())",
    ] {
        assert_eq!(readers(&code(good)), Vec::<&str>::new(), "{good}");
    }
}
