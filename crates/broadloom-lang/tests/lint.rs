//! Lints: the programs that they report, and those that they do not.

use std::path::Path;

use broadloom_diagnostics::{Diagnostic, Severity, Style, render_all};
use broadloom_lang::{Options, codes, compile, lint};

/// The diagnostics found, each with code, severity, line and message.
#[track_caller]
fn found(text: &str) -> Vec<String> {
    let mut program = compile("some.loom", text, &Options::default());
    assert!(program.is_ok(), "{:?}", program.diagnostics);
    let all = lint(&mut program);
    let line = |diagnostic: &broadloom_diagnostics::Diagnostic| {
        diagnostic.primary().map_or(0, |label| program.sources.position(label.span).0)
    };
    let shown = all
        .iter()
        .map(|each| format!("{} {} {}: {}", each.code, each.severity.word(), line(each), each.message));
    shown.collect()
}

#[track_caller]
fn warnings(text: &str) -> Vec<String> {
    found(text).into_iter().filter(|each| each.contains(Severity::Warning.word())).collect()
}

#[test]
fn what_broadcasts_is_noted() {
    let text = "data x : 32 | 28, 64\nlet y = x + {bias : 64} * 2 + sum(x)\nprint y";
    assert_eq!(
        found(text),
        ["W0501 note 2: `bias * 2` broadcasts along batch axis 1 (32) and output axis 1 (28)"]
    );
    let text = "data x : 4 | 3\nlet most = max(\"b | i => 0 | i\", x)\nprint x - most";
    assert_eq!(
        found(text),
        ["W0501 note 3: `most` broadcasts along batch axis 1 (4, where it has one element)"]
    );
}

/// Linear maps, numbers, positions, and broadcasts inside the library are not reported.
#[test]
fn what_broadcasts_as_usual_is_not() {
    let text = "data x : 32 | 10\nlet y = x |> linear(4) |> softmax(\"... | v\")\nprint y * range(\"i\"), {w : ... -> 5} @ y + 3 * sum(y)";
    assert_eq!(found(text), [""; 0]);
}

#[test]
fn equal_axes_in_different_rows() {
    let text = "data scores : 32 |\ndata target : 32\nprint mean(square(scores - target))";
    assert_eq!(warnings(text), ["W0501 warning 3: `scores` and `target` broadcast into each other"]);
    // Sizes that differ cannot have been meant to be paired up.
    assert_eq!(warnings("data a : 32 |\ndata b : 10\nprint a * b"), [""; 0]);
    // Neither are axes that a spec placed beside a unit.
    let text = "data a : 4\nprint einsum(\"i => i 0\", a) * einsum(\"i => 0 i\", a)";
    assert_eq!(warnings(text), [""; 0]);
}

/// A function that is applied several times is reported once.
#[test]
fn functions_are_told_of_once() {
    let text = "data x : 2 | 3\ndef f(x) = x + {b : 3}\nprint f(f(f(x)))";
    assert_eq!(found(text), ["W0501 note 2: `f.b` broadcasts along batch axis 1 (2)"]);
}

#[test]
fn parameters_that_are_only_used_together() {
    let text = "data x : 2 | 3\nprint ({a : 3} * {b : 3}) * x";
    assert_eq!(warnings(text), ["W0502 warning 2: the parameters `a` and `b` are only used together"]);
    // Parameters that are used elsewhere, several times, or with data are fine.
    assert_eq!(warnings("data x : 2 | 3\nprint ({a : 3} * {b : 3}) * x + a"), [""; 0]);
    assert_eq!(warnings("data x : 2 | 3\nprint {w : ... -> 3} @ ({v : ... -> 4} @ x)"), [""; 0]);
}

#[test]
fn sizes_that_nothing_forces() {
    let found =
        warnings("data x : 4\nlet turned = einsum(\"i => i 0\", x) + range(\"j\") == 3\nprint turned");
    assert_eq!(found, ["W0503 warning 2: `range(\"j\")` has the shape `_`, which nothing forces"]);
    // Only the first of them is reported, not the tensors computed from it.
    let text = "\
data x : 4
let turned = einsum(\"i => i 0\", range(\"i\")) + range(\"j\") == 3
print einsum(\"i; j => i^j\", x, einsum(\"i; i j => j\", x, turned))
";
    let found = warnings(text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("W0503 warning 2: "), "{found:?}");
    // Ordinary inference is not reported.
    assert_eq!(
        warnings("data x : 32 | 784\nprint {w2 : ... -> 10} @ relu({w1} @ x + {b1 : 64}) + {b2}"),
        [""; 0]
    );
}

#[test]
fn what_is_not_used() {
    let text = "\
dim wide = 3
dim unused_size = 4
data x : 2 | wide
data unused_data : 2
def unused_function(x) = x
op double(a):
  v = 2 * v1
  g1 =+ 2 * g
let y = 2 * x
let y = 3 * x
let _fine = x
let a, b = [2 * x, 3 * x]
print y, a
";
    let found = warnings(text);
    let names: Vec<&str> = found.iter().filter_map(|each| each.split('`').nth(1)).collect();
    assert_eq!(names, ["unused_size", "unused_data", "unused_function", "double", "y"], "{found:?}");
}

/// Inside functions: names that a function binds, and names that it takes from outside.
#[test]
fn functions_have_names_of_their_own() {
    let text = "\
data x : 3
let scale = 2
def f(n)(x) =
  let unused = n * x
  let used = scale * x
  used
def outer(x) =
  def inner(y) = later(y)
  inner(x)
def later(z) = z + 1
print f(2)(x), outer(x)
";
    assert_eq!(warnings(text), ["W0504 warning 4: `unused` is not used"]);
}

/// In a file that does nothing, unused values are results.
#[test]
fn results_and_modules() {
    assert_eq!(warnings("data x : 3\nlet y = 2 * x"), [""; 0]);
    assert_eq!(warnings("def f(x) = x\ndef g(x) = f(x)\nlet size = 3"), [""; 0]);
    assert_eq!(warnings("data x : 3\ndef f(x) = x\nlet y = 2 * x"), ["W0504 warning 2: `f` is not used"]);
}

/// A value that nothing computes may decide the size of a parameter.
#[test]
fn values_that_say_a_size() {
    let text = "data x : 3\nlet map = {map : n -> n}\nlet there = map @ x\nprint sum(map)";
    assert_eq!(warnings(text), [""; 0]);
}

/// The warnings of `check` are part of those of `lint`; `tests/suite/warnings.md` has the cases.
#[test]
fn lint_says_what_check_warns_of() {
    let text = "\
data x : 4 | 3 = normal(1)
data y : 4 = ones
let pairs = sum(x * {a : 3}) + mse(sum(\"b | i => b |\", x), y)
let alone = einsum(\"i; b | j => i\", {b : 3}, x)
minimise pairs by sgd(0.1)
print einsum(\"i => i 1\", alone), accuracy(x, x)
";
    let of = |found: &[Diagnostic]| found.iter().map(|each| each.code).collect::<Vec<_>>();
    let mut program = compile("some.loom", text, &Options::default());
    let (warned, all) = (broadloom_lang::warnings(&mut program), lint(&mut program));
    let expected =
        [codes::BROADCASTS, codes::ALONE, codes::ALONE, codes::UNTRAINED, codes::POSITION, codes::TARGETS];
    assert_eq!(of(&warned), expected, "{warned:#?}");
    assert!(warned.iter().all(|each| all.contains(each)), "{all:#?}");
}

/// A comment on the line, or on a line of its own above it, silences a code for that line.
#[test]
fn comments_that_allow() {
    let line = "print einsum(\"i => i 1\", x)";
    let with = |comment: &str| {
        let text = format!("data x : 3\n{}", comment.replace("LINE", line));
        let mut program = compile("some.loom", &text, &Options::default());
        broadloom_lang::warnings(&mut program).len()
    };
    for allowed in [
        "LINE # allow W0508",
        "# allow W0508\nLINE",
        "# It is meant.\n# allow W0501, W0508\n# Really.\nLINE",
        "LINE # allow W0501 W0508: meant",
    ] {
        assert_eq!(with(allowed), 0, "{allowed}");
    }
    for not_allowed in [
        "LINE # allow W0501",
        "# allow W0508\n\nLINE",
        "LINE # W0508 is not allowed",
        "LINE\n# allow W0508",
        "print \"# allow W0508\", einsum(\"i => i 1\", x)",
    ] {
        assert_eq!(with(not_allowed), 1, "{not_allowed}");
    }
}

/// The examples are models of good programs, so they have no warnings.
#[test]
fn examples_have_no_warnings() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).expect("the examples are a folder") {
        let path = entry.expect("an example").path();
        if path.extension().is_none_or(|extension| extension != "loom") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("an example is a text");
        let options = Options { folder: folder.clone(), ..Options::default() };
        let mut program = compile(&path.to_string_lossy(), &text, &options);
        let mut found = broadloom_lang::warnings(&mut program);
        found.splice(0..0, program.diagnostics.iter().cloned());
        let shown = render_all(&program.sources, &found, 0, Style::default());
        assert!(found.is_empty(), "{shown}");
        seen += 1;
    }
    assert!(seen > 30, "{seen} examples");
}

#[test]
fn programs_with_errors_are_not_judged() {
    let mut program = compile("some.loom", "let y = x", &Options::default());
    assert!(lint(&mut program).is_empty());
}
