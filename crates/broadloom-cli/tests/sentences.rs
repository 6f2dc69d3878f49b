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
const SENTENCES: [&str; 10] =
    ["message", "sentence", "help", "note", "advice", "title", "reason", "rule", "label()", "message()"];

/// The owners of a `text` that is a sentence.
const OWNERS: [&str; 6] = ["label", "primary", "help", "end", "link", "line"];

/// Calls that give the same text.
const SAME: [&str; 7] =
    [".as_str()", ".as_deref()", ".as_ref()", ".to_string()", ".clone()", ".trim()", ".to_lowercase()"];

/// The places that may look into a sentence: the end of the file's path, the code, and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("graph/src/message/chain.rs", "known.text != line.text", "the same line is said once"),
    ("lang/src/remedies/sizes.rs", "known.help == change.help", "the same advice is given once"),
    ("lang/src/eval/interface.rs", "== FIRST", "the first line of a kind of files"),
    ("lang/src/eval/interface.rs", ".strip_prefix(SOURCE", "the second line of a kind of files"),
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

/// Returns true if a text is prose: it has two words in a row. Nothing but a sentence is compared with prose.
fn is_prose(text: &str) -> bool {
    let mut words = text.split(' ');
    let is_word = |word: &str| word.len() > 1 && word.chars().all(char::is_alphabetic);
    let mut before = words.next().unwrap_or_default();
    words.any(|word| {
        let first = before.trim_start_matches(|letter: char| !letter.is_alphabetic());
        let found = is_word(first.trim_end_matches([',', ';', ':']))
            && word.chars().take_while(|letter| letter.is_alphabetic()).count() > 1;
        before = word;
        found
    })
}

/// The name that a text ends with.
fn name_before(code: &str) -> &str {
    &code[code.trim_end_matches(|letter: char| letter.is_alphanumeric() || letter == '_').len()..]
}

/// The name that a text begins with.
fn name_after(code: &str) -> &str {
    &code[..code.len()
        - code.trim_start_matches(|letter: char| letter.is_alphanumeric() || letter == '_').len()]
}

/// The name of the function in whose arguments a text ends; empty if it is a method.
fn called_around(code: &str) -> &str {
    let mut depth = 0;
    for (at, letter) in code.char_indices().rev() {
        match letter {
            ')' => depth += 1,
            '(' if depth > 0 => depth -= 1,
            '(' => {
                let name = name_before(&code[..at]);
                return if code[..at - name.len()].ends_with('.') { "" } else { name };
            }
            '{' | '}' | ';' | '"' => return "",
            _ => {}
        }
    }
    ""
}

/// The names of closures that look into a text that they are given, or for it in another one: `is` of `let is = |words: &str| rule.starts_with(words)`.
fn looking_closures(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in code.lines() {
        let Some((name, (parameters, body))) = line
            .split_once("let ")
            .and_then(|(_, rest)| rest.split_once(" = |"))
            .and_then(|(name, rest)| Some((name, rest.split_once('|')?)))
        else {
            continue;
        };
        let mut parameters = parameters
            .split(',')
            .map(|each| name_after(each.trim_start_matches([' ', '&', '('])))
            .filter(|name| !name.is_empty());
        let looks = |name: &str| {
            let is_it = |rest: &str| name_after(rest.trim_start_matches([' ', '&', '*'])) == name;
            let starts = READERS.iter().chain(&["==", "!="]);
            let sought = starts.flat_map(|reader| body.match_indices(reader)).any(|(at, reader)| {
                let rest = &body[at + reader.len()..];
                // Of `.split` and its like the name goes on.
                is_it(if reader.ends_with(['(', '=']) {
                    rest
                } else {
                    rest.split_once('(').map_or("", |(_, rest)| rest)
                })
            });
            sought
                || READERS
                    .iter()
                    .flat_map(|reader| body.match_indices(reader))
                    .any(|(at, _)| name_before(&body[..at]) == name)
        };
        if parameters.any(looks) {
            found.push(name);
        }
    }
    found
}

/// The places of a file's code that compare a text with prose, or look for prose in it, whatever the text is called: prose is a literal or the
/// name of a constant.
fn prose_sought(code: &str) -> Vec<&str> {
    let prose = literals(code).into_iter().filter(|(_, text)| is_prose(text));
    let prose: Vec<(usize, usize)> = prose.map(|(at, text)| (at - 1, at + text.len() + 1)).collect();
    let constants = prose.iter().filter_map(|(at, _)| {
        let before = code[..*at].trim_end().strip_suffix("str =")?;
        before.rsplit_once("const ").map(|(_, name)| name_after(name))
    });
    let constants: Vec<&str> = constants.filter(|name| !name.is_empty()).collect();
    let named = constants.iter().flat_map(|name| code.match_indices(name)).filter(|(at, name)| {
        let is_longer = |letter: char| letter.is_alphanumeric() || letter == '_';
        !code[..*at].ends_with(is_longer) && !code[at + name.len()..].starts_with(is_longer)
    });
    let named: Vec<(usize, usize)> = named.map(|(at, name)| (at, at + name.len())).collect();
    let closures = looking_closures(code);
    let mut found = Vec::new();
    for (start, end) in prose.into_iter().chain(named) {
        let (before, after) = (code[..start].trim_end(), code[end..].trim_start());
        let before = before.trim_end_matches(['&', '[', '*']);
        let inner = before.strip_suffix("Some(").unwrap_or(before).trim_end();
        let is_compared = inner.ends_with("==")
            || inner.ends_with("!=")
            || after.starts_with("==")
            || after.starts_with("!=");
        let is_arm = after.starts_with("=>") || after.starts_with("| ") || after.starts_with("|\n");
        let called = before.strip_suffix('(').unwrap_or_default();
        let is_reader = READERS.iter().any(|reader| {
            let call = called
                .strip_suffix(name_before(called))
                .and_then(|rest| rest.strip_suffix('.').map(|rest| &called[rest.len()..]));
            call.is_some_and(|call| {
                call == reader.trim_end_matches('(') || !reader.ends_with('(') && call.starts_with(reader)
            })
        });
        let is_closure = closures.contains(&called_around(before));
        let is_matched = before
            .strip_suffix(',')
            .is_some_and(|rest| rest[..rest.len() - path_before(rest).len()].ends_with("matches!("));
        if is_compared || is_arm || is_reader || is_closure || is_matched {
            let from = code[..start].char_indices().rev().nth(40).map_or(0, |(at, _)| at);
            found.push(&code[from..end]);
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
        let code = code(&text);
        for place in readers(&code).into_iter().chain(prose_sought(&code)) {
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

/// The string literals of code, each with the place where its text begins.
fn literals(code: &str) -> Vec<(usize, &str)> {
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
        found.push((code.len() - from.len(), &from[..end]));
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
        for code in
            literals(&code(&text)).into_iter().flat_map(|(_, text)| text.split('`').skip(1).step_by(2))
        {
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

/// The crates whose texts people see behind flags of their own: the command, what is started like it, and what tries the others.
const WITH_FLAGS: [&str; 4] =
    ["broadloom-cli/src/", "broadloom-lsp/src/", "broadloom-fuzz/src/", "benches/src/"];

/// The texts of other crates with a flag in them: the end of the file's path, and the reason.
const FLAGS: &[(&str, &str)] = &[
    ("lang/src/eval/advice/code.rs", "the words of the command, which another front replaces by its own"),
    ("diagnostics/src/style.rs", "the words of the command, which another front replaces by its own"),
    ("native/src/compiler.rs", "a flag of the C compiler"),
    ("xla/src/group.rs", "a flag of XLA"),
];

/// The commands that a text may name with their flags.
const COMMANDS: [&str; 2] = ["broadloom ", "xcode-select "];

/// Returns true if a text has a flag of the command in it without the command before it. `broadloom solve --json` can be typed
/// wherever it is read.
fn has_flag(text: &str) -> bool {
    let mut codes = text.split('`').enumerate();
    codes.any(|(at, piece)| {
        let is_command = at % 2 == 1 && COMMANDS.iter().any(|command| piece.starts_with(command));
        let starts = piece.match_indices("--").filter(|(start, _)| {
            let (before, after) = (&piece[..*start], &piece[start + 2..]);
            !before.ends_with(|letter: char| letter == '-' || letter.is_alphanumeric())
                && after.starts_with(|letter: char| letter.is_ascii_lowercase())
        });
        !is_command && starts.count() > 0
    })
}

/// Advice of a crate that several fronts share has no flags in it: in Python and in the playground there are none.
#[test]
fn no_text_below_the_fronts_names_a_flag() {
    let mut wrong = Vec::new();
    let mut used = [false; FLAGS.len()];
    for (path, text) in sources() {
        let path = path.to_string_lossy().replace('\\', "/");
        let has_own = WITH_FLAGS.iter().any(|front| path.contains(&format!("/{front}")));
        if has_own || !path.contains("/src/") || path.ends_with("/tests.rs") || path.contains("/tests/") {
            continue;
        }
        let code = code(&text);
        for (_, literal) in literals(&code).into_iter().filter(|(_, literal)| has_flag(literal)) {
            match FLAGS.iter().position(|(file, _)| path.ends_with(file)) {
                Some(at) => used[at] = true,
                None => wrong.push(format!("{path}: {literal}")),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "make it a `Setting`, or say it without the command's flag:\n{}",
        wrong.join("\n")
    );
    assert!(used.iter().all(|used| *used), "an exception is no longer needed");
}

/// The names of operations of a graph and of functions of the language, as code asks for them.
const OPERATION_NAMES: [&str; 6] = [
    "id.name()",
    "operation.name()",
    "function.name()",
    "builtin.name()",
    "call.name()",
    "builtin.get().name()",
];

/// The places that may compare such names: the end of the file's path, the code, and the reason.
const COMPARED_NAMES: &[(&str, &str, &str)] = &[
    ("lang/src/eval/builtin.rs", "own.name() != operation.name()", "a name is bound to one function"),
    (
        "graph/src/formula/parse.rs",
        "function.name().starts_with(char::is_alphabetic)",
        "a word of a formula ends with a blank",
    ),
    (
        "loops/src/show.rs",
        "function.name().starts_with(char::is_alphabetic)",
        "a sign stands between its operands",
    ),
];

/// The places of a file's code that decide something by the name of an operation.
fn names_compared(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in code.lines() {
        for (at, name) in OPERATION_NAMES.iter().flat_map(|name| line.match_indices(name)) {
            let (before, after) =
                (line[..at].trim_end_matches(['&', '*', '(', ' ']), &line[at + name.len()..]);
            let asked =
                ["==", "!=", "match", "matches!", ".contains"].iter().any(|word| before.ends_with(word));
            let next = after.trim_start();
            let read = ["==", "!="].iter().chain(&READERS).any(|reader| next.starts_with(reader));
            if asked || read {
                let start = line[..at].char_indices().rev().nth(20).map_or(0, |(start, _)| start);
                found.push(&line[start..]);
            }
        }
    }
    found
}

/// One name may belong to several operations, and a program may give it to one of its own: code compares identities
/// (`OperationId`, `LanguageFunction`), and names are for people.
#[test]
fn no_code_decides_by_the_name_of_an_operation() {
    let mut wrong = Vec::new();
    let mut used = [false; COMPARED_NAMES.len()];
    for (path, text) in sources() {
        let path = path.to_string_lossy().replace('\\', "/");
        if !path.contains("/src/") || path.ends_with("/tests.rs") || path.contains("/tests/") {
            continue;
        }
        for place in names_compared(&code(&text)) {
            match COMPARED_NAMES
                .iter()
                .position(|(file, known, _)| path.ends_with(file) && place.contains(known))
            {
                Some(at) => used[at] = true,
                None => wrong.push(format!("{path}: {place}")),
            }
        }
    }
    assert!(wrong.is_empty(), "compare the identities:\n{}", wrong.join("\n"));
    assert!(used.iter().all(|used| *used), "an exception is no longer needed");
}

#[test]
fn compared_names_are_found() {
    for bad in [
        "if operation.name() == \"-\" {}",
        "match call.name() {",
        "if matches!(id.name(), \"+\" | \"-\") {}",
        "[\"sum\", \"mean\"].contains(&call.name())",
        "if id.name().starts_with('@') {}",
        "if builtin.get().name() == \"range\" {}",
    ] {
        assert_eq!(names_compared(&code(bad)).len(), 1, "{bad}");
    }
    for good in
        ["format!(\"`{}`\", call.name())", "let name = operation.name();", "if id == OperationId::Sum {}"]
    {
        assert_eq!(names_compared(&code(good)), Vec::<&str>::new(), "{good}");
    }
}

#[test]
fn flags_are_found() {
    for bad in ["set it: `--set n=32`", "run it with --load FILE", "`run --shard \\\"b=d\\\"`"] {
        assert!(has_flag(bad), "{bad}");
    }
    for good in ["`broadloom solve --json` lists them all", "a -- b", "<!-- x -->", "a--b", "---"] {
        assert!(!has_flag(good), "{good}");
    }
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
    assert_eq!(literals(r#"f("a `b(\"c\")`", "d")"#), [(3, r#"a `b(\"c\")`"#), (19, "d")]);
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

#[test]
fn prose_is_not_looked_for_whatever_it_is_looked_for_in() {
    for bad in [
        "if rule.starts_with(\"found by search\") {}",
        "let is = |words: &str| rule.starts_with(words);\nif is(\"found by search\") {}",
        "let says = |text: &str| text.contains(word);\nsays(\"one element: nothing\")",
        "let same = |x: &str, y: &str| x == y;\nsame(how, \"one element\")",
        "if how == \"inferred from its use\" {}",
        "if \"inferred from its use\" != how {}",
        "if how.short.as_deref() == Some(\"inferred from its use\") {}",
        "match how {\n\"inferred from its use\" => 1,\n_ => 2,\n}",
        "matches!(how, \"inferred from its use\")",
        "how.split_once(\n\" is needed, \"\n)",
        "const LATE: &str = \"comes too late\";\nif x == LATE {}",
        "how.trim_start_matches(\"it is that\")",
    ] {
        assert_eq!(prose_sought(&code(bad)).len(), 1, "{bad}");
    }
    for good in [
        "Err(Error::new(\"found by search\"))",
        "let is = |words: &str| rule.starts_with(words);\nif is(\"let \") {}",
        "let is = |words: &str| format!(\"{words} is needed\");\nis(\"one element\")",
        "line.strip_prefix(\"let \")",
        "if word == \"leaf\" { \"one element\" } else { \"no axes\" }",
        "match how { Some(_) => \"one element\", None => \"no axes\" }",
        "// if rule.starts_with(\"found by search\")",
        "const LATE: &str = \"comes too late\";\nf(LATE)",
    ] {
        assert_eq!(prose_sought(&code(good)), Vec::<&str>::new(), "{good}");
    }
}
