//! Rules of the house, as tests: layers, headers, file lengths, doc comments.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every Rust file below the crates, with its text.
pub(crate) fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("crates"), root().join("benches")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a readable source file");
                found.push((path, text));
            }
        }
    }
    assert!(found.len() > 40, "the walk finds the sources");
    found
}

fn manifest(krate: &str) -> String {
    fs::read_to_string(root().join("crates").join(krate).join("Cargo.toml")).expect("a manifest")
}

/// The names of a crate's own dependencies.
fn dependencies(krate: &str) -> Vec<String> {
    let manifest = manifest(krate);
    let section = manifest.split("[dependencies]").nth(1).unwrap_or_default();
    let lines = section.lines().take_while(|line| !line.starts_with('['));
    let name = |line: &str| line.split(['.', ' ', '=']).next().unwrap_or_default().to_owned();
    lines.filter(|line| !line.trim().is_empty()).map(name).collect()
}

/// Every crate with the crates of this repository that it uses, in order: a crate uses only crates
/// above it in this table.
const CRATES: &[(&str, &[&str])] = &[
    ("broadloom-testing", &[]),
    ("broadloom-core", &[]),
    ("broadloom-spec", &[]),
    ("broadloom-diagnostics", &[]),
    ("broadloom-array", &[]),
    ("broadloom-loops", &["broadloom-array", "broadloom-core"]),
    ("broadloom-native", &["broadloom-array", "broadloom-core", "broadloom-loops"]),
    ("broadloom-mesh", &["broadloom-loops"]),
    ("broadloom-xla", &["broadloom-array", "broadloom-core", "broadloom-loops", "broadloom-mesh"]),
    (
        "broadloom-graph",
        &["broadloom-array", "broadloom-core", "broadloom-diagnostics", "broadloom-loops", "broadloom-spec"],
    ),
    (
        "broadloom-run",
        &[
            "broadloom-array",
            "broadloom-core",
            "broadloom-graph",
            "broadloom-loops",
            "broadloom-mesh",
            "broadloom-native",
            "broadloom-xla",
        ],
    ),
    (
        "broadloom",
        &[
            "broadloom-array",
            "broadloom-core",
            "broadloom-graph",
            "broadloom-native",
            "broadloom-run",
            "broadloom-spec",
        ],
    ),
    ("broadloom-rows", &["broadloom-core", "broadloom-diagnostics"]),
    ("broadloom-lang", &["broadloom", "broadloom-diagnostics", "broadloom-spec"]),
    ("broadloom-ide", &["broadloom", "broadloom-diagnostics", "broadloom-lang"]),
    ("broadloom-lsp", &["broadloom-diagnostics", "broadloom-ide", "broadloom-rows"]),
    (
        "broadloom-web",
        &["broadloom", "broadloom-diagnostics", "broadloom-ide", "broadloom-lang", "broadloom-run"],
    ),
    (
        "broadloom-cli",
        &[
            "broadloom",
            "broadloom-core",
            "broadloom-diagnostics",
            "broadloom-ide",
            "broadloom-lang",
            "broadloom-lsp",
            "broadloom-rows",
        ],
    ),
    (
        "broadloom-python",
        &[
            "broadloom",
            "broadloom-cli",
            "broadloom-core",
            "broadloom-diagnostics",
            "broadloom-ide",
            "broadloom-lang",
            "broadloom-spec",
            "broadloom-xla",
        ],
    ),
    (
        "broadloom-fuzz",
        &[
            "broadloom",
            "broadloom-cli",
            "broadloom-diagnostics",
            "broadloom-lang",
            "broadloom-rows",
            "broadloom-testing",
        ],
    ),
];

#[test]
fn layers_point_one_way() {
    let ours = |name: &String| name.starts_with("broadloom");
    for (at, (krate, allowed)) in CRATES.iter().enumerate() {
        let used: Vec<String> = dependencies(krate).into_iter().filter(ours).collect();
        assert_eq!(used, *allowed, "{krate}");
        let above = |name: &&str| CRATES[..at].iter().any(|(above, _)| above == name);
        assert!(allowed.iter().all(above), "{krate} uses a crate that stands below it");
    }
    let folders = fs::read_dir(root().join("crates")).expect("the crates");
    assert_eq!(folders.count(), CRATES.len(), "every crate is in the table");
    assert_eq!(dependencies("broadloom-core"), ["rustc-hash", "smallvec"], "the core stays light");
    assert!(dependencies("broadloom-spec").is_empty(), "the notation depends on nothing");
    assert_eq!(dependencies("broadloom-diagnostics"), ["serde"], "diagnostics stay light");
    let serde = "\nserde = { workspace = true, optional = true }\n";
    assert!(manifest("broadloom-diagnostics").contains(serde), "diagnostics can do without serde");
}

/// It is read from beginning to end, in a terminal too.
#[test]
fn the_architecture_stays_short() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the architecture");
    assert!(text.lines().count() <= 300, "ARCHITECTURE.md has at most 300 lines");
    for (at, line) in text.lines().enumerate() {
        assert!(line.chars().count() <= 150, "line {} of ARCHITECTURE.md has more than 150 columns", at + 1);
    }
}

/// Front ends read files, print and run, but the answers of `broadloom-ide` must work where none of
/// that is possible.
#[test]
fn answers_are_plain_data() {
    let inside = |path: &Path, part: &str| path.components().any(|each| each.as_os_str() == part);
    for (path, text) in sources() {
        if inside(&path, "broadloom-ide") && inside(&path, "src") {
            let code = |line: &&str| !line.trim_start().starts_with("//");
            for word in ["std::fs", "std::io", "std::thread", "std::process", "std::env", "println!"] {
                let used = text.lines().filter(code).any(|line| line.contains(word));
                assert!(!used, "{} uses {word}", path.display());
            }
        }
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    for (path, text) in sources() {
        assert!(text.starts_with("//!"), "{} has no module header", path.display());
    }
}

/// The files of a crate are found in its README: by name, or by the folder that they are in, if the README says what that has.
#[test]
fn every_file_is_in_the_readme_of_its_crate() {
    let is_word = |text: &str, word: &str| {
        let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
        text.match_indices(word).any(|(at, _)| {
            !text[..at].ends_with(is_letter) && !text[at + word.len()..].starts_with(is_letter)
        })
    };
    let mut missing = Vec::new();
    for (path, _) in sources() {
        let shown = path.to_string_lossy().replace('\\', "/");
        let Some((krate, file)) = shown.split_once("/src/") else { continue };
        let Ok(readme) = fs::read_to_string(Path::new(krate).join("README.md")) else { continue };
        let mut parts: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
        let stem = parts.pop().unwrap_or_default();
        let is_known = matches!(stem, "lib" | "main" | "mod" | "tests")
            || is_word(&readme, stem)
            || parts.iter().any(|folder| readme.contains(&format!("{folder}/")));
        if !is_known {
            missing.push(shown);
        }
    }
    assert!(missing.is_empty(), "say in the README of the crate what is in\n{}", missing.join("\n"));
}

/// The text of a line of a doc comment; None for other lines, and between paragraphs.
fn doc_text(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?.trim();
    (!text.is_empty()).then_some(text)
}

/// Doc comments are sentences with a subject: "True if it is set", not "Whether it is set". A question
/// may begin with any word.
#[test]
fn doc_comments_have_a_subject() {
    const OPENINGS: [&str; 12] = [
        "What", "Whatever", "Whether", "Who", "Whoever", "Whom", "Whose", "Where", "Wherever", "When",
        "Which", "How",
    ];
    let mut without = Vec::new();
    for (path, text) in sources() {
        let lines: Vec<&str> = text.lines().collect();
        for block in lines.split(|line| doc_text(line).is_none()) {
            let texts: Vec<&str> = block.iter().filter_map(|line| doc_text(line)).collect();
            let paragraph = texts.join(" ");
            let word = paragraph.split(|letter: char| !letter.is_alphabetic()).next().unwrap_or_default();
            let sentence = paragraph.split_inclusive(['.', '?']).next().unwrap_or_default();
            if OPENINGS.contains(&word) && !sentence.ends_with('?') {
                without.push(format!("{}: {paragraph}", path.display()));
            }
        }
    }
    assert!(without.is_empty(), "say what it is, without the first word:\n{}", without.join("\n"));
}

/// Binaries of tests are listed in manifests, so a file without a `mod` line would never run.
#[test]
fn every_file_of_tests_is_run() {
    for (path, _) in sources() {
        let folder = path.parent().unwrap_or(&path);
        if !folder.ends_with("tests") || folder.join("all.rs") == path || folder.join("cases.rs") == path {
            continue;
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let named = |binary: &str| {
            let text = fs::read_to_string(folder.join(binary)).unwrap_or_default();
            text.lines().any(|line| line == format!("mod {stem};"))
        };
        assert!(named("all.rs") || named("cases.rs"), "{} is in no binary of tests", path.display());
    }
}

#[test]
fn no_file_does_two_jobs() {
    for (path, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= 800, "{} has {lines} lines: look for the second job", path.display());
    }
}

#[test]
fn the_core_does_no_input_or_output() {
    for (path, text) in sources() {
        if path.components().any(|part| part.as_os_str() == "broadloom-core")
            && path.components().any(|part| part.as_os_str() == "src")
        {
            // Examples in comments may print.
            let code = |line: &&str| !line.trim_start().starts_with("//");
            for word in ["std::fs", "std::io", "println!", "eprintln!", "std::env"] {
                let used = text.lines().filter(code).any(|line| line.contains(word));
                assert!(!used, "{} uses {word}", path.display());
            }
        }
    }
}

/// The reference of the language and the parser have the same grammar.
#[test]
fn the_grammar_is_that_of_the_parser() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("a file of the repository");
    let grammar = |text: &str| {
        let block = text.split("```text\nfile       := ").nth(1).and_then(|rest| rest.split("```").next());
        block.expect("a grammar").to_owned()
    };
    let parser = read("crates/broadloom-lang/src/syntax/parser/mod.rs");
    let header = parser.lines().map_while(|line| line.strip_prefix("//!"));
    let header: Vec<&str> = header.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    assert_eq!(grammar(&header.join("\n")), grammar(&read("docs/language.md")));
}

/// The output shown in the README is that of the command, up to a line `…`.
#[test]
fn the_readme_shows_what_is_printed() {
    use broadloom_rows::solve::{SolveOptions, run};
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let mut shown = 0;
    for block in readme.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        let Some((command, output)) = block.split_once('\n') else { continue };
        let Some(arguments) = command.split(" -- solve ").nth(1) else { continue };
        let (file, flags) = arguments.split_once(' ').unwrap_or((arguments, ""));
        let text = fs::read_to_string(root().join(file)).expect("an example");
        let explain = flags.split_whitespace().skip_while(|flag| *flag != "--explain").skip(1).take(1);
        let options =
            SolveOptions { explain: explain.map(str::to_owned).collect(), ..SolveOptions::default() };
        let printed = run(file, &text, &options);
        let printed = printed.stdout + &printed.stderr;
        let expected = output.split("…\n").next().unwrap_or_default();
        assert!(printed.starts_with(expected), "{command} prints\n{printed}\nnot\n{expected}");
        assert!(output.contains('…') || printed == expected, "{command} prints more:\n{printed}");
        shown += 1;
    }
    assert_eq!(shown, 2, "both examples of the README are checked");
}

/// The README shows what the commands print about its first program.
#[cfg(unix)]
#[test]
fn the_readme_checks_its_first_program() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let blocks = |language: &str| -> Vec<String> {
        let opened = format!("```{language}\n");
        readme.split(&opened).skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme");
    fs::create_dir_all(&folder).expect("a folder for the test");
    fs::write(folder.join("model.loom"), &blocks("loom")[0]).expect("the program is written");
    let mut shown = 0;
    for block in blocks("console") {
        let Some((command, expected)) = block.split_once('\n') else { continue };
        let about = |line: &&str| line.contains("broadloom check") || line.contains("broadloom explain");
        let Some(command) = command.strip_prefix("$ ").filter(about) else { continue };
        let line = format!("broadloom() {{ '{}' \"$@\"; }}\n{command} 2>&1", env!("CARGO_BIN_EXE_broadloom"));
        let shell = std::process::Command::new("sh").arg("-c").arg(line).current_dir(&folder).output();
        let printed = String::from_utf8_lossy(&shell.expect("a shell").stdout).into_owned();
        assert_eq!(printed, expected, "{command}");
        shown += 1;
    }
    assert_eq!(shown, 3, "the mistake, the table and the signature are checked");
}
