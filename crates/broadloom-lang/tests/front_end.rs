//! The whole front end on strange texts: it never panics, always ends, and every place in its
//! messages is inside a text. Everything runs in a stack of 2 MB, the default for a thread.
//!
//! Programs come from the suites, the examples and the library. They are changed by removing,
//! inserting and exchanging words and lines, by random bytes, and by truncation; then they are
//! parsed and evaluated.

use std::path::{Path, PathBuf};

use broadloom_diagnostics::{Diagnostic, Sources, Span, Style, render_all};
use broadloom_lang::syntax::{ast::Names, lexer::lex, parse, reformat};
use broadloom_lang::{Options, compile};
use broadloom_testing::Dice;

use crate::suite_support;
use suite_support::markdown::{read, suite_files};

/// The default stack size of a thread.
const STACK: usize = 2 << 20;

/// The largest number of messages for a text of any length.
const MOST_MESSAGES: usize = 60;

/// Runs a function in a thread with a small stack, and passes on its panic.
fn in_small_stack(name: &str, run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().name(name.to_owned()).stack_size(STACK);
    if let Err(panic) = thread.spawn(run).expect("a thread").join() {
        std::panic::resume_unwind(panic);
    }
}

/// Options with a folder without files, so that only the text is read.
fn options() -> Options {
    Options { folder: Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-such-folder"), ..Options::default() }
}

/// Reads a text in every way, and checks the properties that hold for any text.
fn check(text: &str) {
    let mut sources = Sources::default();
    let source = sources.add("text.loom", text);
    let mut names = Names::default();
    let parsed = parse(source, text, &mut names);
    within(&sources, &parsed.diagnostics);
    let tokens = lex(source, text).tokens.len();
    assert!(
        parsed.diagnostics.len() <= tokens + 1,
        "{} messages about {tokens} words",
        parsed.diagnostics.len()
    );
    let _ = reformat(source, text);

    let mut program = compile("text.loom", text, &options());
    within(&program.sources, &program.diagnostics);
    let most = parsed.diagnostics.len() + MOST_MESSAGES;
    assert!(program.diagnostics.len() <= most, "{} messages", program.diagnostics.len());
    let _ = render_all(&program.sources, &program.diagnostics, 0, Style::default());
    for made in program.made.clone().iter().take(20) {
        let _ = program.graph.shape(made.tensor).to_string();
        let _ = program.graph.final_shape(made.tensor);
    }
}

/// Checks that every place is in its text, between two characters.
fn within(sources: &Sources, diagnostics: &[Diagnostic]) {
    let inside = |span: Span| {
        let text = sources.get(span.source).text();
        let (start, end) = (span.start as usize, span.end as usize);
        start <= end && end <= text.len() && text.is_char_boundary(start) && text.is_char_boundary(end)
    };
    for diagnostic in diagnostics {
        let links = diagnostic.chain.iter().filter_map(|link| link.span);
        for span in diagnostic.labels.iter().map(|label| label.span).chain(links) {
            assert!(inside(span), "{span:?} is not in the text of {diagnostic:?}");
        }
        assert!(!diagnostic.code.is_empty() && !diagnostic.message.is_empty(), "{diagnostic:?}");
        assert!(!diagnostic.message.contains('\n'), "{diagnostic:?}");
    }
}

/// All programs of the repository.
fn programs() -> Vec<String> {
    let mut found = Vec::new();
    for file in suite_files() {
        for case in read(&file) {
            found.extend(case.examples.iter().map(|example| example.program.text.clone()));
            let files = case.examples.iter().flat_map(|example| &example.files);
            found.extend(files.filter(|(name, _)| name.ends_with(".loom")).map(|(_, text)| text.clone()));
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["../../examples", "std"] {
        let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten();
        let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "loom"));
        files.sort();
        found.extend(files.iter().map(|file| std::fs::read_to_string(file).expect("a program")));
    }
    assert!(found.len() > 300, "the suites have programs");
    found
}

/// Pieces that are inserted at random.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "\n", "\n  ", "\n    ", " ", "(", ")", "[", "]", "{", "}", "\"", "#", ",", ":", ";", ".", "..", "...", "|", "->", "|>", "_", "=", "=+", "=:",
    "=:max ", "==", "<", "+", "-", "*", "**", "@", "/", "%", "let ", "def ", "data x : ", "state s : ", "set ", "for i in ", "repeat ", "backward ",
    "minimise ", " by ", "print ", " every ", "save ", " to ", "if ", " then ", " else ", " and ", "not ", "op f(a):", "dim n = ", " as ", "{w}", "{w : ... -> 4}",
    "x", "y", "f", "w.grad", "x.T", "y.h", "x[0]", "0", "1", "2.5", "1e300", "99999999999999999999", "-1", "0..3", "1:unit", "3:rgb", "\"i j => j\"",
    "\"... | a^b => ... | a\"", "\"o<+k; k => o\"", "einsum(", "sum(", "relu(", "linear(4)", "constant(1)", "inference(", "training", "inferred", "é", "\u{feff}", "\r", "\t", "\u{0}",
    "let x = x + x\n", "def f(x) = f(x)\n", "x =+ 1\n", "let x = [x, x]\n",
];

/// The program with some random changes.
fn changed(text: &str, others: &[String], dice: &mut Dice) -> String {
    let mut text = text.to_owned();
    for _ in 0..1 + dice.below(3) {
        text = match dice.below(8) {
            0 => words(&text, dice, |words, dice| drop(words.remove(dice.below(words.len())))),
            1 => words(&text, dice, |words, dice| {
                let (a, b) = (dice.below(words.len()), dice.below(words.len()));
                words.swap(a, b);
            }),
            2 | 3 => words(&text, dice, |words, dice| {
                let piece = PIECES[dice.below(PIECES.len())].to_owned();
                words.insert(dice.below(words.len() + 1), piece);
            }),
            4 => lines(&text, dice, |lines, dice| drop(lines.remove(dice.below(lines.len())))),
            5 => lines(&text, dice, |lines, dice| {
                let (a, b) = (dice.below(lines.len()), dice.below(lines.len()));
                lines.swap(a, b);
            }),
            6 => lines(&text, dice, |lines, dice| {
                let other = &others[dice.below(others.len())];
                let other: Vec<&str> = other.lines().collect();
                if !other.is_empty() {
                    lines.insert(dice.below(lines.len() + 1), other[dice.below(other.len())].to_owned());
                }
            }),
            _ => {
                let mut bytes = text.into_bytes();
                if !bytes.is_empty() {
                    let at = dice.below(bytes.len());
                    bytes[at] = dice.below(256) as u8;
                }
                String::from_utf8_lossy(&bytes).into_owned()
            }
        };
    }
    text
}

/// Changes the words of a text; the text between them stays.
fn words(text: &str, dice: &mut Dice, change: impl FnOnce(&mut Vec<String>, &mut Dice)) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut last = None;
    for letter in text.chars() {
        let class = if letter.is_alphanumeric() || letter == '_' {
            0
        } else if letter == ' ' {
            1
        } else {
            2
        };
        match words.last_mut() {
            Some(word) if last == Some(class) && class < 2 => word.push(letter),
            _ => words.push(letter.to_string()),
        }
        last = Some(class);
    }
    if !words.is_empty() {
        change(&mut words, dice);
    }
    words.concat()
}

fn lines(text: &str, dice: &mut Dice, change: impl FnOnce(&mut Vec<String>, &mut Dice)) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if !lines.is_empty() {
        change(&mut lines, dice);
    }
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

/// Keeps the text in a file while it is checked: a stack overflow cannot be reported otherwise.
fn check_noted(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("front-end-{name}.loom"));
    let _ = std::fs::write(&file, text);
    let checked = std::panic::catch_unwind(|| check(text));
    if let Err(panic) = checked {
        eprintln!("the text is\n{text}\n(also in {})", file.display());
        std::panic::resume_unwind(panic);
    }
    let _ = std::fs::remove_file(&file);
}

#[test]
fn programs_with_changes() {
    in_small_stack("changes", || {
        let programs = programs();
        // `BROADLOOM_SLOW=1` makes more rounds.
        let rounds = if std::env::var_os("BROADLOOM_SLOW").is_some() { 60 } else { 4 };
        let mut dice = Dice::new(1);
        for _ in 0..rounds {
            for program in &programs {
                check_noted("changes", &changed(program, &programs, &mut dice));
            }
        }
    });
}

#[test]
fn programs_cut_off_at_every_byte() {
    in_small_stack("cut", || {
        let programs = programs();
        let mut dice = Dice::new(2);
        for _ in 0..8 {
            let program = &programs[dice.below(programs.len())];
            for end in (0..program.len().min(600)).filter(|end| program.is_char_boundary(*end)) {
                check_noted("cut", &program[..end]);
            }
        }
    });
}

#[test]
fn random_pieces() {
    in_small_stack("pieces", || {
        let mut dice = Dice::new(3);
        for _ in 0..500 {
            let count = dice.below(60);
            let text: String = (0..count).map(|_| PIECES[dice.below(PIECES.len())]).collect();
            check_noted("pieces", &text);
        }
    });
}

/// Texts that nest deeply, or that are unusually long.
#[test]
fn extremes() {
    in_small_stack("extremes", || {
        let many = |piece: &str| piece.repeat(5000);
        let lines = |count: usize, line: &str| format!("{line}\n").repeat(count);
        let recursive = [
            "def f(n) = f(n + 1)\nlet y = f(0)\n",
            "def f(n) =\n  let m = f(n + 1)\n  let k = f(n + 2)\n  m + k\nlet y = f(0)\n",
            "def f(n) = [f(n + i) for i in 0..3]\nlet y = f(0)\n",
            "def f(n) =\n  for i in 0..3:\n    let m = f(n + i)\n  n\nlet y = f(0)\n",
            "def f(n)(x) = f(n + 1)(x)\nlet y = f(0)(1)\n",
            "def f(g, x) = g(f(g, x))\nlet y = f(sqrt, 2)\n",
            "def f(x) = x |> [f, f]\nlet y = f(1)\n",
            "def f(x) = if 1 then f(x) else 0\nlet y = inference(f)(1)\n",
            "def f(x, y = f(x)) = y\nlet y = f(1)\n",
            "state s : |\ndef f(x) =\n  repeat 2:\n    s = s + f(x)\n  s\nlet y = f(1)\n",
            "state s : |\ndef f(x) =\n  s = max(1, -(2 * f(x)))\n  s\nlet y = f(1)\n",
            "def f(n) = if n == 0 then 1 else f(n - 1) + f(n - 1)\nlet y = f(60)\n",
            "for a in 0..100000:\n  for b in 0..100000:\n    let c = a + b\n",
            "let a = [[i for i in 0..100000] for j in 0..100000]\n",
            "def f(n) =\n  {w : n}\n  def g(x) = f(n + 1)\n  g(1)\nlet y = f(1)\n",
        ];
        let nested = [
            format!("let a = {}1{}\n", many("("), many(")")),
            format!("let a = {}1{}\n", many("["), many("]")),
            format!("let a = {}1\n", many("-")),
            format!("let a = {}1\n", many("not ")),
            format!("let a = {}1\n", many("if 1 then ")),
            format!("let a = {}1{}\n", many("if 1 then 1 else "), ""),
            format!("let a = {}1{}\n", many("{a = "), many("}")),
            format!("let a = 2{}\n", many(" ** 2")),
            format!("let a = 2{}\n", many(" + 2")),
            format!("data x : |\nlet a = x{}\n", many(" + x")),
            format!("let a = 2{}\n", many(" |> sqrt")),
            format!("let a = b{}\n", many(".c")),
            format!("let a = b{}\n", many("(1)")),
            format!("let a = b{}\n", many("[0]")),
            format!("def f{}\n", many("(x)")),
            format!("data x : {}\n", many("3, ")),
            format!("data x : {}\n", many("(")),
            format!("state s : |\ns = {}1{}\n", many("("), many(")")),
            format!("state s : |\ns = 1{}\n", many(" + s")),
            format!("state s : |\ns = {}s\n", many("-")),
            format!("state s : |\ns = {}s{}\n", many("sqrt("), many(")")),
            format!("op f(a):\n  f = {}a{}\n", many("("), many(")")),
            format!("op f(a):\n  f = a{}\n", many(" + a")),
            format!("op f(a):\n  f = {}a\nlet y = f(1)\n", many("-")),
            format!("let y = einsum(\"{}\", 1)\n", many("(")),
            format!("let y = einsum(\"{} => i\", 1)\n", many("i ")),
            format!("let y = einsum(\"{}1 => i\", 1)\n", many("a^")),
            format!("let y = einsum(\"{} => i\", 1)\n", many("2*i+")),
            format!("print {}1\n", many("1, ")),
            format!("let {}a = 1\n", many("a, ")),
            format!(
                "{}print 1\n",
                (0..2000).map(|at| format!("{}repeat 2:\n", " ".repeat(at))).collect::<String>()
            ),
            format!(
                "{}1\n",
                (0..300).map(|at| format!("{}def f{at}(x) =\n", " ".repeat(at))).collect::<String>()
            ),
            many("repeat 2: "),
            many("\n"),
            many("let "),
            many("\""),
            many("{"),
            many("é"),
            lines(3000, "let a ="),
            lines(3000, "let a = ("),
            lines(3000, "  x"),
        ];
        let repeated = [
            format!("let a = 1\n{}print a\n", lines(1500, "let a = [a]")),
            format!("let a = [1, 1]\n{}print a\n", lines(60, "let a = [a, a]")),
            format!("let a = [1, 1]\n{}let b = a[0]\nlet c = 2 * a\nlet d = relu(a)\n", lines(60, "let a = [a, a]")),
            format!("let a = \"x\"\n{}print a\n", lines(60, "let a = \"{a}{a}\"")),
            format!("def f(x) = x\n{}let y = f(1)\n", lines(1500, "let f = inference(f)")),
            format!("def f(x) = x\ndef g(f)(x) = f(x)\n{}let y = f(1)\n", lines(1500, "let f = g(f)")),
            format!("def f(x) = x + 1\n{}let y = f(1)\n", lines(40, "let f = [f, f]")),
            format!("repeat i in 0..3:\n{}  print i\n", lines(1500, "  let i = i + 1")),
            format!("data x : 3 = [1, 2, 3]\n{}print x\n", lines(500, "let x = x + x")),
            format!("data x : 3\n{}", lines(300, "let x = einsum(\"... => ..., 0\", x)")),
            "data x = 0..100000000000\n".to_owned(),
            "let x = [1, 2] + (0..100000000000)\n".to_owned(),
            "data x : 18446744073709551615, 18446744073709551615\nlet y = x + x\nprint y.h\n".to_owned(),
            "data x : 9223372036854775807 | 2\nlet y = einsum(\"2*i | j => i | j\", x)\nlet z = x[9223372036854775806]\n".to_owned(),
            "repeat i in 0..9000000000000000:\n  print i * i * i\n".to_owned(),
            "let y = 1e308 * 10\ndata x : (y)\nlet z = 0..y\n".to_owned(),
        ];
        let recursive = recursive.iter().map(|text| text.to_string());
        for (at, text) in recursive.chain(nested).chain(repeated).enumerate() {
            let shown: String = text.chars().take(60).collect();
            eprintln!("{at}: {shown:?}");
            check_noted("extremes", &text);
        }
    });
}

/// A long program of many small parts.
fn long_program(lines: usize) -> String {
    let mut text = String::from(
        "data x : 32 | 16\nstate s : | = 0\ndef dense(size)(x) = relu({w : ... -> size} @ x + {b : size})\nlet y = x\n",
    );
    for at in 0..lines {
        text.push_str(match at % 10 {
            0 => "let y = dense(16)(y)\n",
            1 => "let n = 3 * 4 + 1\n",
            2 => "let z = y * 2 + x\n",
            3 => "let y = y + z\n",
            4 => "let t = einsum(\"... | i => ... | i\", y)\n",
            5 => "let m = mean(\"... | i\", t)\n",
            6 => "let y = y - m\n",
            7 => "let q = [2 * i for i in 0..3]\n",
            8 => "s =+ 1\n",
            _ => "let y = if n > 3 then y else z\n",
        });
    }
    text
}

/// The cost of a line does not depend on the number of lines.
#[test]
fn long_programs_cost_the_same_per_line() {
    in_small_stack("long", || {
        let measure = |lines: usize| {
            let program = compile("long.loom", &long_program(lines), &options());
            assert!(program.is_ok(), "{:?}", program.diagnostics.first());
            let stats = program.graph.stats();
            let per_line = |count: u64| count as f64 / lines as f64;
            [
                per_line(stats.steps),
                per_line(stats.bytes),
                per_line(stats.tensors as u64),
                per_line(program.work),
            ]
        };
        // Eight times as many, so that vectors which grow by doubling are equally full.
        let (short, long) = (measure(5_000), measure(40_000));
        for (what, (short, long)) in ["steps", "bytes", "tensors", "work"].iter().zip(short.iter().zip(&long))
        {
            assert!(
                *long <= 1.3 * short + 1.0,
                "{what} per line: {short:.1} for 5,000 lines, {long:.1} for 40,000"
            );
        }
    });
}
