//! Diagnostics as a person sees them: labels in several files, on several lines, with and without
//! colour; chains; counts; and that any spans can be shown.

use broadloom_diagnostics::*;
use broadloom_testing::Dice;
use expect_test::{Expect, expect};

const MODEL: &str = "\
use layers
let x: batch | 28, 28
let h = dense x 64
let y = dense h 10
let z = match y {
    relu => y,
    none => h
}
plot z
save z
";

const LAYERS: &str = "\
// One layer.
def dense x n = {
    let w: n -> n
    w * x
}
";

/// The sources of every test: a model, and the layers it uses.
fn sources() -> Sources {
    let mut sources = Sources::new();
    sources.add("model.loom", MODEL);
    sources.add("layers.loom", LAYERS);
    sources
}

/// The span from the first `first` up to the end of the next `last` in a source.
fn from_to(sources: &Sources, id: u32, first: &str, last: &str) -> Span {
    let text = sources.get(SourceId(id)).text();
    let start = text.find(first).expect("the first words");
    let end = start + text[start..].find(last).expect("the last words") + last.len();
    Span::new(SourceId(id), start as u32, end as u32)
}

fn model(words: &str) -> Span {
    from_to(&sources(), 0, words, words)
}

fn layers(words: &str) -> Span {
    from_to(&sources(), 1, words, words)
}

fn check(diagnostic: Diagnostic, expected: Expect) {
    expected.assert_eq(&render(&sources(), &diagnostic, Style::default()));
}

#[test]
fn one_label() {
    check(
        Diagnostic::warning("L0901", "nothing uses `z`", model("plot"), "").with_note("this is a\nlong note"),
        expect![[r#"
            warning[L0901]: nothing uses `z`
             --> model.loom:9:1
              |
            9 | plot z
              | ^^^^
              |
              = note: this is a
                      long note
        "#]],
    );
    let nowhere =
        Diagnostic::new(Severity::Error, "L0001", "there is no file `a.loom`").with_help("create it");
    check(
        nowhere,
        expect![[r#"
            error[L0001]: there is no file `a.loom`
              = help: create it
        "#]],
    );
    check(
        Diagnostic::note("", "an unknown source", Span::new(SourceId(9), 3, 4), "here"),
        expect![[r#"
            note: an unknown source
             --> <unknown>:1:1
              |
            1 |
              | ^ here
        "#]],
    );
}

#[test]
fn labels_in_one_file() {
    check(
        Diagnostic::error("L0201", "they differ", model("dense h 10"), "10 because of this")
            .with_label(model("h 10"), "this axis")
            .with_label(model("y = dense"), "")
            .with_label(model("28"), "28 because of this")
            .with_label(model("save"), "saved here"),
        expect![[r#"
            error[L0201]: they differ
              --> model.loom:4:9
               |
             2 | let x: batch | 28, 28
               |                -- 28 because of this
             3 | let h = dense x 64
             4 | let y = dense h 10
               |     ----^^^^^^^^^^
               |         |     |
               |         |     this axis
               |         10 because of this
            ...
            10 | save z
               | ---- saved here
        "#]],
    );
}

#[test]
fn labels_in_two_files() {
    check(
        Diagnostic::error("L0201", "`n` cannot be both 64 and 10", model("10"), "10 because of this")
            .with_label(layers("n -> n"), "the same on both sides")
            .with_label(model("64"), "64 because of this")
            .with_label(layers("x n"), "")
            .with_note("a layer is square")
            .with_help("write `m -> n`"),
        expect![[r#"
            error[L0201]: `n` cannot be both 64 and 10
             --> model.loom:4:17
              |
            3 | let h = dense x 64
              |                 -- 64 because of this
            4 | let y = dense h 10
              |                 ^^ 10 because of this
              |
             ::: layers.loom:2:11
              |
            2 | def dense x n = {
              |           ---
            3 |     let w: n -> n
              |            ------ the same on both sides
              |
              = note: a layer is square
              = help: write `m -> n`
        "#]],
    );
}

#[test]
fn labels_over_several_lines() {
    let sources = sources();
    let span = |first, last| from_to(&sources, 0, first, last);
    check(
        Diagnostic::error("L0202", "the branches differ", span("match", "}"), "in this choice")
            .with_label(model("y {"), "of this")
            .with_label(model("relu => y"), "64 here"),
        expect![[r#"
            error[L0202]: the branches differ
             --> model.loom:5:9
              |
            5 |   let z = match y {
              |                 --- of this
              |  _________^
            6 | |     relu => y,
              | |     --------- 64 here
            7 | |     none => h
            8 | | }
              | |_^ in this choice
        "#]],
    );
    check(
        Diagnostic::error("L0203", "it is long", span("let h", "save z"), "all of this")
            .with_label(model("plot z"), "this too"),
        expect![[r#"
            error[L0203]: it is long
              --> model.loom:3:1
               |
             3 | / let h = dense x 64
             4 | | let y = dense h 10
             5 | | let z = match y {
            ...  |
             9 | | plot z
               | | ------ this too
            10 | | save z
               | |______^ all of this
        "#]],
    );
    check(
        Diagnostic::error("L0203", "much is wrong", span("let h", "save z"), "all of this")
            .with_label(span("relu", "h\n"), "and this")
            .with_label(span("y,", "plot"), "and that"),
        expect![[r#"
            error[L0203]: much is wrong
              --> model.loom:3:1
               |
             3 | /   let h = dense x 64
             4 | |   let y = dense h 10
             5 | |   let z = match y {
             6 | |/      relu => y,
               | || _____________-
             7 | |||     none => h
               | |||_____________- and this
             8 | | | }
             9 | | | plot z
               | | |____- and that
            10 | |   save z
               | |________^ all of this
        "#]],
    );
}

/// Dots stand for two lines or more, and for one where every line of the excerpt takes part.
#[test]
fn lines_between() {
    let diagnostic = Diagnostic::error("", "m", model("dense h"), "one").with_label(model("28"), "two");
    let styles = [true, false].map(|between| Style { between, ..Style::default() });
    let [with, without] = styles.map(|style| render(&sources(), &diagnostic, style));
    assert_eq!(with.replace("\n3 | let h = dense x 64\n", "\n...\n"), without);
    let far = Diagnostic::error("", "m", model("let z"), "one").with_label(model("28"), "two");
    check(
        far,
        expect![[r#"
        error: m
         --> model.loom:5:1
          |
        2 | let x: batch | 28, 28
          |                -- two
        ...
        5 | let z = match y {
          | ^^^^^ one
    "#]],
    );
}

/// An exception about a text of one line needs neither a header nor a place.
#[test]
fn bare() {
    let spec = Sources::one("", "i j; j k => i k");
    let clash = Diagnostic::error("E1", "`j` is 4 and 5", Span::new(SourceId(0), 5, 6), "5")
        .with_label(Span::new(SourceId(0), 2, 3), "4")
        .with_help("make both 4");
    let style = Style { header: false, place: false, ..Style::default() };
    expect![[r#"
        `j` is 4 and 5
          |
        1 | i j; j k => i k
          |   -  ^ 5
          |   |
          |   4
          |
          = help: make both 4
    "#]]
    .assert_eq(&render(&spec, &clash, style));
}

#[test]
fn chains() {
    let diagnostic = Diagnostic::error("L0201", "`n` is 64 and 10", model("10"), "10 because of this")
        .with_label(model("64"), "64 because of this")
        .with_link(model("dense x"), "`h` has the axis `n`")
        .with_link(layers("w * x"), "`w` takes it\nand gives it back")
        .with_link(None, "so both are the same");
    check(
        diagnostic.clone(),
        expect![[r#"
        error[L0201]: `n` is 64 and 10
         --> model.loom:4:17
          |
        3 | let h = dense x 64
          |                 -- 64 because of this
        4 | let y = dense h 10
          |                 ^^ 10 because of this
          |
          = note: they meet in 3 steps: `--chain` shows them
    "#]],
    );
    let style = Style { chain: Chain::Shown, ..Style::default() };
    expect![[r#"
        error[L0201]: `n` is 64 and 10
         --> model.loom:4:17
          |
        3 | let h = dense x 64
          |                 -- 64 because of this
        4 | let y = dense h 10
          |                 ^^ 10 because of this
          |
          = note: how they meet:
                  1. line 3: `h` has the axis `n`
                  2. layers.loom:4:5: `w` takes it
                     and gives it back
                  3. so both are the same
    "#]]
    .assert_eq(&render(&sources(), &diagnostic, style));
}

#[test]
fn colours() {
    let style = Style { color: true, ..Style::default() };
    let warning =
        Diagnostic::warning("L0901", "unused", model("h ="), "never read").with_label(model("28, 28"), "");
    expect![[r#"
        ESC[1;33mwarning[L0901]ESC[0mESC[1m: unusedESC[0m
        ESC[1;34m --> ESC[0mmodel.loom:3:5
        ESC[1;34m  |ESC[0m
        ESC[1;34m2 |ESC[0m let x: batch | 28, 28
        ESC[1;34m  |ESC[0m                ESC[1;34m------ESC[0m
        ESC[1;34m3 |ESC[0m let h = dense x 64
        ESC[1;34m  |ESC[0m     ESC[1;33m^^^ESC[0m ESC[1;33mnever readESC[0m
    "#]]
    .assert_eq(&render(&sources(), &warning, style).replace('\u{1b}', "ESC"));
}

#[test]
fn what_cannot_be_printed() {
    let sources = Sources::one("a\nb", "a\u{7}\tb\u{202e}c");
    let diagnostic =
        Diagnostic::error("", "bell \u{7}", Span::new(SourceId(0), 3, 4), "a \r label").with_note("\u{202e}");
    expect![[r#"
        error: bell �
         --> a\nb:1:4
          |
        1 | a�    b�c
          |       ^ a � label
          |
          = note: �
    "#]]
    .assert_eq(&render(&sources, &diagnostic, Style::default()));
}

#[test]
fn counts() {
    let list = |errors: usize, warnings: usize, notes: usize| {
        let of = |severity, count| vec![Diagnostic::new(severity, "", "m"); count];
        [of(Severity::Note, notes), of(Severity::Error, errors), of(Severity::Warning, warnings)].concat()
    };
    assert_eq!(summary(&[], 0), "");
    assert_eq!(summary(&list(1, 0, 0), 0), "1 error");
    assert_eq!(summary(&list(2, 1, 3), 0), "2 errors, 1 warning, 3 notes");
    assert_eq!(summary(&list(0, 2, 0), 0), "2 warnings");
    assert_eq!(summary(&list(20, 0, 0), 37), "57 errors, 37 of them not shown");
    assert_eq!(summary(&list(20, 1, 0), 37), "57 errors, 37 of them not shown; 1 warning");
    assert_eq!(
        render_all(&sources(), &list(1, 1, 0), 0, Style::default()),
        "error: m\n\nwarning: m\n\n1 error, 1 warning\n"
    );
    assert_eq!(render_all(&sources(), &[], 0, Style::default()), "");
}

#[test]
fn any_spans_can_be_rendered() {
    let mut random = Dice::new(4);
    let pieces = ["a", "é", "名", "\n", "\r\n", "\r", "\t", "\u{feff}", "..........", "\u{301}"];
    for round in 0..100_000 {
        let mut sources = Sources::new();
        for name in ["x", "y"] {
            let text: String = (0..random.below(40)).map(|_| pieces[random.below(pieces.len())]).collect();
            sources.add(name, text);
        }
        let mut diagnostic = Diagnostic::new(Severity::Error, "", "m");
        for words in ["p", "", "s", "t", "", "u", "v"].into_iter().take(1 + random.below(7)) {
            let source = SourceId([0, 0, 0, 1, 2][random.below(5)]);
            let span = Span::new(source, random.below(90) as u32, random.below(90) as u32);
            diagnostic = match random.below(4) {
                0 => diagnostic.with_primary(span, words),
                _ => diagnostic.with_label(span, words),
            };
            diagnostic = diagnostic.with_link(span, "because");
        }
        let style = Style {
            color: round % 2 == 0,
            width: 20 + round % 5,
            chain: if round % 3 == 0 { Chain::Shown } else { Chain::ShownBy("--chain") },
            between: round % 7 < 3,
            header: round % 11 < 8,
            place: round % 13 < 8,
        };
        let shown = render(&sources, &diagnostic, style);
        assert!(shown.ends_with('\n') && shown.lines().all(|line| line.trim_end() == line), "{shown}");
        assert_eq!(Shown::new(&sources, &diagnostic).labels.len(), diagnostic.labels.len());
        // Every label's words are there, since no line is wide enough to cut them.
        for label in diagnostic.labels.iter().filter(|label| !label.text.is_empty()) {
            assert!(shown.contains(&label.text), "{shown}");
        }
    }
}
