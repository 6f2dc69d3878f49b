//! The features of an editor: hints, hovers, definitions, completions.

use broadloom_ide::{Analysis, Hover, Text, completion, definition, hints, hover};
use expect_test::{Expect, expect};

/// A program with a cursor `▮`, and the offset of the cursor.
fn with_cursor(text: &str) -> (Analysis, u32) {
    let offset = text.find('▮').expect("a cursor") as u32;
    (Analysis::new(&Text::new("a.loom", text.replace('▮', ""))), offset)
}

#[track_caller]
fn hinted(text: &str, expected: Expect) {
    let shown: Vec<String> = hints(&mut Analysis::new(&Text::new("a.loom", text)))
        .into_iter()
        .map(|hint| format!("{}:{}{}\n", hint.line, hint.column, hint.text))
        .collect();
    expected.assert_eq(&shown.concat());
}

fn hovered(text: &str) -> Option<Hover> {
    let (mut analysis, offset) = with_cursor(text);
    hover(&mut analysis, offset)
}

#[track_caller]
fn told(text: &str, expected: Expect) {
    expected.assert_eq(&hovered(text).map_or("nothing\n".into(), |hover| hover.markdown()));
}

/// Checks the first labels of a list of completions, and returns the number of all.
#[track_caller]
fn completed(text: &str, first: &[&str]) -> usize {
    let (analysis, offset) = with_cursor(text);
    let all: Vec<String> = completion(&analysis, offset).into_iter().map(|each| each.label).collect();
    assert!(all.iter().map(String::as_str).take(first.len()).eq(first.iter().copied()), "{all:?}");
    all.len()
}

/// The file and the line where the name under the cursor is bound.
fn defined(text: &str) -> Option<(String, u32)> {
    let (analysis, offset) = with_cursor(text);
    let span = definition(&analysis, offset)?;
    Some((analysis.sources().get(span.source).name().to_string(), analysis.sources().position(span).0))
}

#[test]
fn hints_say_what_nobody_writes() {
    hinted(
        "data x : 32 | 784\ndef dense(size)(x) = relu({w} @ x + {b : size})\nlet y = x |> dense(64) |> dense(10)\nlet loss = mean(y)\n",
        expect![[r#"
            2:29: 784 -> 64 or 64 -> 10
            3:6: 32 | 10
            3:23: 32 | 64
            4:9: ()
        "#]],
    );
}

/// Behind a stage that changes the shape, and behind each of a pipe that is broken into lines; not where a name follows.
#[test]
fn hints_inside_of_pipes() {
    hinted(
        "data x : 32 | 784\nlet y = x |> linear(64) |> relu |> linear(10)\n",
        expect![[r#"
        2:6: 32 | 10
        2:24: 32 | 64
    "#]],
    );
    hinted(
        "data x : 32 | 784\nlet y = x\n  |> linear(64)  # wide\n  |> relu\n  |> linear(10)\nprint x |> linear(3) |> relu\n",
        expect![[r#"
            2:6: 32 | 10
            3:16: 32 | 64
            4:10: 32 | 64
            6:21: 32 | 3
        "#]],
    );
    // Bodies of functions have no name for their value, and may be applied to different shapes.
    hinted(
        "data x : 32 | 784\ndef net(size)(x) = x |> linear(size) |> relu |> linear(10)\nlet y = x |> net(5)\nlet z = x |> net(6) |> net(7)\n",
        expect![[r#"
            2:37: 32 | 5 or 32 | 6 or 32 | 7
            2:59: 32 | 10
            3:6: 32 | 10
            4:6: 32 | 10
            4:20: 32 | 10
        "#]],
    );
    // What stands before a mistake is known.
    hinted(
        "data x : 32 | 784\nlet y = x |> linear(64) |> nobody |> linear(10)\n",
        expect![[r#"
        2:24: 32 | 64
    "#]],
    );
    hinted("data x : 32 | 784\nlet y = x |> linear(64) |>\n", expect![[""]]);
}

#[test]
fn hints_inside_of_specs() {
    hinted(
        "data a : 3, 4\ndata b : 4, 5\nlet c = einsum(\"ij; jk => ik\", a, b)\n",
        expect![[r#"
        3:6: 3, 5
        3:30: i=3, j=4, k=5
    "#]],
    );
    hinted(
        "dim batch in 1..64 = 32\ndata x : batch | 9\nlet n = 2\nlet y = einsum(\"b | {n}*o<+k; k => b | o\", x, {w : 3})\n",
        expect![[r#"
            4:6: batch | 4
            4:42: b=batch, o=4, k=3
        "#]],
    );
    // A function that is applied to different shapes; a spec that is given to the library; sums inside of each other.
    hinted(
        "data x : 4 | 6\ndef f(x) = sum(\"... | i => ... |\", x)\nlet y = f(x) + f({w : 7})\nlet z = softmax(\"... | v\")(x)\nlet t = sum(\"i => \", sum(\"b | i => i\", x))\n",
        expect![[r#"
            2:34: i=6 or 7
            3:6: 4 |
            4:6: 4 | 6
            4:26: v=6
            5:6: ()
            5:20: i=6
            5:38: b=4, i=6
        "#]],
    );
    hinted(
        "data x : 4 | 6\nlet y = einsum(\"i -> h; b | i => b | h\", {w}, x) + nobody\nlet z = einsum(\"i; i\", x)\n",
        expect![[r#"
            2:40: i=6, h=?, b=4
            2:44: 6 -> ?
        "#]],
    );
}

#[test]
fn hovers_of_labels() {
    let text = "data a : 3, 4\ndata b : 4, 5\nlet c = einsum(\"ij; jk => ik\", a, b)\n";
    told(
        &text.replace("ij;", "i▮j;"),
        expect![[r#"
        ```loom
        j = 4
        ```

        It stands in `a` and `b`, and not in the result: values along it are combined.

        It comes from

        - output axis 2 of `a`, declared `3, 4` (line 1)
        - `c`: the output of `a` is `ij` (line 3)
    "#]],
    );
    told(
        &text.replace("=> ik", "=> ▮ik"),
        expect![[r#"
        ```loom
        i = 3
        ```

        It stands in `a` and in the result.

        It comes from

        - output axis 1 of `a`, declared `3, 4` (line 1)
        - `c`: the output of `a` is `ij` (line 3)
    "#]],
    );
    told(
        &text.replace("; jk", ";▮ jk"),
        expect![[r#"
        nothing
    "#]],
    );
    told(
        "data x : 8 | 6\nlet y = einsum(\"i -> ▮h; ... | i => ... | h\", {w}, x)\nlet z = y + {b : 10}\n",
        expect![[r#"
            ```loom
            h = 10
            ```

            It stands in `w` and in the result.

            It was chosen:

            - the output axis of `b`, declared `10` (line 3)
            - `z`: the output of `b` goes into its output; the output of `y` goes into its output (line 3)
            - closing: `y` takes the size of what it is used with (line 2)
        "#]],
    );
    told(
        "let n = 2\ndata x : 9\nlet y = einsum(\"{n}*out▮<+kernel; kernel => out\", x, {w : 3})\n",
        expect![[r#"
            ```loom
            out = 4
            ```

            It stands in `x` and in the result.

            It comes from

            - the output axis of `w`, declared `3` (line 3)
            - `y`: the output of `w` is `kernel` (line 3)
            - the output axis of `x`, declared `9` (line 2)
            - `y`: the output of `x` is `2*out<+kernel`; axis `2*out<+kernel` is 9 with out = 4, kernel = 3 (line 3)
        "#]],
    );
    told(
        "data x : 8 | 6, 7\nlet y = sum(\"... | ..▮r.. => ... |\", x)\n",
        expect![[r#"
            ```loom
            ..r.. = 6, 7
            ```
        "#]],
    );
    told(
        "data x : 8 | 6, 7\nlet y = softmax(\"... | t, ▮v\")(x)\n",
        expect![[r#"
            ```loom
            v = 7
            ```

            It comes from

            - output axis 2 of `x`, declared `8 | 6, 7` (line 1)
            - `max("... | t, v => ... | 0, 0", x)`: the output of `x` is `t, v` (line 2)
        "#]],
    );
    told(
        "data x : 8 | 6, 7\nlet y = sum(\"b | i, ▮j => j\", x) + nobody\n",
        expect![[r#"
            ```loom
            j = 7
            ```

            It stands in `x` and in the result.
        "#]],
    );
}

#[test]
fn hints_of_an_unfinished_program() {
    hinted(
        "data x : 32 | 784\nlet y = {w} @ x\nlet z = y + {b : 64} + nobody\n",
        expect![[r#"
        2:6: 32 | ...
        2:11: ..., 784 -> ...
    "#]],
    );
    hinted(
        "data x : 32 | 784\nlet y = {w} @ x\nlet z = \n",
        expect![[r#"
        2:6: 32 | ...
        2:11: ..., 784 -> ...
    "#]],
    );
}

/// Sizes after a dot are those of the spec that made the tensor; `T` and `grad` are no sizes.
#[test]
fn hovers_of_fields() {
    let text = "data x : 8 | 6\nlet y = einsum(\"b | i; i -> h => b | h\", x, {w : 6 -> 4})\n";
    told(
        &format!("{text}print y.▮h\n"),
        expect![[r#"
        ```loom
        y.h = 4
        ```

        It comes from

        - the output axis of `w`, declared `6 -> 4` (line 2)
        - `y`: the output of `w` is `h` (line 2)
    "#]],
    );
    told(
        &format!("{text}print y.▮batch\n"),
        expect![[r#"
        ```loom
        y.batch = 1
        ```
    "#]],
    );
    told(
        &format!("{text}let z = y.▮T\n"),
        expect![[r#"
        `y.T`: field

        `y.T`: input and output exchanged.
    "#]],
    );
    told(
        &format!("{text}print y.▮nothing\n"),
        expect![[r#"
        nothing
    "#]],
    );
    // The last `y` before the field is meant.
    told(
        &format!("{text}let y = sum(\"b | h => h\", y)\nprint y.▮b\n"),
        expect![[r#"
        ```loom
        y.b = 8
        ```

        It comes from

        - the batch axis of `x`, declared `8 | 6` (line 1)
        - `y`: the batch of `x` is `b` (line 2)
        - `y`: the batch of `y` is `b` (line 3)
    "#]],
    );
}

/// Arguments by name of functions that are defined elsewhere.
#[test]
fn hovers_of_arguments() {
    told(
        "data x : 8 | 6\nlet y = x |> linear(▮size = 4)\n",
        expect![[r#"
        `size`: argument

        It is an argument of `linear(size = inferred)(x)`.
    "#]],
    );
    told(
        "data x : 8 | 6\nlet y = sum(\"b | i => b |\", x, ▮padding = zeros)\n",
        expect![[r#"
        `padding`: argument

        It is an argument of `sum(spec, x, padding = …)`.
    "#]],
    );
    told(
        "data x : 8 | 6\nlet y = nobody(▮size = 4)\n",
        expect![[r#"
        nothing
    "#]],
    );
}

/// Labels lead to the first place in their spec, sizes to the spec that made them, and arguments to their function.
#[test]
fn definitions_of_labels_fields_and_arguments() {
    /// The text at the definition, and its column.
    fn place(text: &str) -> Option<(String, (u32, u32))> {
        let (analysis, offset) = with_cursor(text);
        let span = definition(&analysis, offset)?;
        Some((analysis.sources().slice(span).to_string(), analysis.sources().position(span)))
    }
    let at = |text: &str, line: u32, column: u32| Some((text.to_string(), (line, column)));
    let text = "data x : 8 | 6\nlet y = einsum(\"b | i; i -> h => b | h\", x, {w : 6 -> 4})\n";
    assert_eq!(place(&text.replace("=> b | h", "=> ▮b | h")), at("b", 2, 17));
    assert_eq!(place(&text.replace("=> b | h", "=> b | ▮h")), at("h", 2, 29));
    assert_eq!(place(&format!("{text}print y.▮h\n")), at("h", 2, 29));
    assert_eq!(place(&format!("{text}print y.▮batch\n")), at("y", 2, 5));
    assert_eq!(place(&format!("{text}print y.▮nobody\n")), None);
    assert_eq!(place(&format!("{text}let z = y.▮grad\n")), None);
    let (name, (line, _)) = place("data x : 8 | 6\nlet y = x |> linear(▮size = 4)\n").expect("an argument");
    assert!(name == "size" && line > 1, "{name} in line {line}");
    assert_eq!(place("data x : 8 | 6\nlet y = sum(\"b | i => b |\", x, ▮padding = zeros)\n"), None);
}

#[test]
fn hovers_of_tensors() {
    told(
        "data x : 32 | 784\n# The logits.\nlet y▮ = {w : ... -> 10} @ x\n",
        expect![[r#"
        ```loom
        y : 32 | 10
        ```
        value, inferred
        ```loom
        for i in 0..32
          for j in 0..10
            for k in 0..784
              y[i, j] += w[j, k] * x[i, k]
        ```

        The logits.
    "#]],
    );
    told(
        "data x : 32 | 784\nlet y = {▮w} @ x + {b : 10}\n",
        expect![[r#"
        ```loom
        w : 784 -> 10
        ```
        parameter, inferred from its use
    "#]],
    );
    told(
        "data x : 32 | 784\nlet y = {w} @ ▮x + nobody\n",
        expect![[r#"
        ```loom
        x : 32 | 784
        ```
        data
    "#]],
    );
}

#[test]
fn hovers_of_functions_and_sizes() {
    told(
        "data x : 32 | 784\nlet y = x |> ▮linear(10)\n",
        expect![[r#"
            ```loom
            def linear(size = inferred)(x)
            ```
            ```loom
            linear(size = inferred)(x : ..b.. | ..i.. -> ..o..) -> ..b.. | ..i.. -> ..size..
              parameters  weight : ..o.. -> ..size..
                          bias   : ..size..
            ```

            y = weight x + bias, from all output axes of x to `..size..`: one size, a list of sizes, or what
            is inferred.
        "#]],
    );
    told(
        "# Twice.\ndef double▮(x) = 2 * x\n",
        expect![[r#"
            ```loom
            def double(x)
            ```
            ```loom
            double(x : ..b.. | ..i.. -> ..o..) -> ..b.. | ..i.. -> ..o..
            ```

            Twice.
        "#]],
    );
    told(
        "data x : 3\nlet y = ▮exp(x)\n",
        expect![[r#"
            ```loom
            exp(x)
            ```

            The exponential of each element.

            It is part of the language.
        "#]],
    );
    told(
        "dim batch in 1..64 = 32\ndata x : bat▮ch | 3\n",
        expect![[r#"
        ```loom
        dim batch in 1..64 = 32
        ```

        batch = 32

        decided when it runs; usually this
    "#]],
    );
    told(
        "def f(x) = 2 * ▮x\n",
        expect![[r#"
        `x`: argument
    "#]],
    );
    told(
        "let y = ▮nobody\n",
        expect![[r#"
        nothing
    "#]],
    );
    told(
        "let y = 3 # ▮y\n",
        expect![[r#"
        nothing
    "#]],
    );
}

/// A function is asked for its shapes with what it needs, where it is defined: in the program, or in a module.
#[test]
fn hovers_of_functions_that_need_others() {
    let shapes = |text: &str| hovered(text).and_then(|hover| hover.shapes).unwrap_or_default();
    // What it needs may stand below it, and have a mistake beside it.
    let text = "let rows = 4\ndef f(x) = g▮(x)\nlet bad = nobody\ndef g(x) = h(x) @ {w : k -> rows}\ndef h(x) = x\nlet k = 3\n";
    let alone = shapes(text);
    assert!(alone.starts_with("g(x"), "{alone}");
    let text = "data x : 3 | 4\ndef f▮(y) = y + x\n";
    assert!(shapes(text).starts_with("f(y : "), "{}", shapes(text));
    let folder = std::path::PathBuf::from("/no such folder");
    let unsaved = [(
        folder.join("parts.loom"),
        "dim n = 4\ndef half(x) = 0.5 * x\ndef twice(x : n) = half(x)\n".to_string(),
    )]
    .into();
    let text = "import \"parts.loom\"\ndata x : 4\nlet y = parts.twice(x)\n";
    let offset = text.find("twice").expect("a name") as u32;
    let mut analysis = Analysis::new(&Text { folder, unsaved, ..Text::new("a.loom", text) });
    let shapes = hover(&mut analysis, offset).and_then(|hover| hover.shapes);
    assert_eq!(shapes.as_deref(), Some("twice(x : 4) -> 4\n"));
}

#[test]
fn definitions_are_in_the_program_or_in_the_library() {
    let program = |line| Some(("a.loom".to_string(), line));
    assert_eq!(defined("data x : 3\nlet y = ▮x\n"), program(1));
    assert_eq!(defined("dim n = 3\ndata x : 2, ▮n\n"), program(1));
    assert_eq!(defined("let y = {w : 3}\nlet z = w▮ + y\n"), program(1));
    assert_eq!(defined("let y = ▮nobody\n"), None);
    assert_eq!(defined("data x : 3\nlet y = ▮exp(x)\n"), None);
    let library = defined("data x : 3\nlet y = x |> ▮linear(2)\n");
    assert_eq!(library.map(|(file, _)| file).as_deref(), Some("<std/layers.loom>"));
}

/// A parameter of a layer leads to where the function makes it, and has the shape that it has in this layer.
#[test]
fn parameters_after_a_dot() {
    let text = "data x : 2 | 3\ndef dense(size)(x) =\n  {w} @ x + {b : size}\nlet net = dense(4)\nlet other = dense(5)\nlet y = net(x)\nlet z = other(x)\n";
    assert_eq!(defined(&format!("{text}let u = sum(net.▮w)\n")), Some(("a.loom".to_string(), 3)));
    let found = hovered(&format!("{text}let u = sum(other.▮w)\n")).expect("a parameter");
    let shown: Vec<_> = found.tensors.iter().map(|each| (each.name.as_str(), each.shape.as_str())).collect();
    assert_eq!(shown, [("other.w", "3 -> 5")]);
    assert_eq!(defined(&format!("{text}let u = sum(net.▮nothing)\n")), None);
}

#[test]
fn completions_know_their_place() {
    // The last name that was bound comes first; a statement does not know its own name.
    completed("data x : 3\nlet y = x\nlet z = ▮\n", &["y", "x"]);
    completed("data x : 3\nlet y = x\n▮\n", &["y", "x"]);
    assert_eq!(completed("data x1 : 3\nlet x2 = x▮\n", &["x1"]), 3);
    completed("def f(size)(input) =\n  let inner = input\n  in▮\nlet y = 1\n", &["inner", "input"]);
    assert_eq!(completed("mini▮\n", &["minimise"]), 1);
    assert_eq!(completed("let y = mini▮\n", &[]), 0);
    assert_eq!(completed("let y = 1 # li▮\n", &[]), 0);
    assert_eq!(completed("print \"li▮\"\n", &[]), 0);
    assert_eq!(completed("let y = 3 .▮\n", &[]), 0);
    // Sizes of specs and shapes after a dot, labels in specs, numbers in their braces.
    assert_eq!(completed("data x : 3\nlet y = x.▮\n", &["T", "grad"]), 2);
    completed("data x : n | 2\nlet y = x.▮\n", &["n"]);
    // Paths into layers.
    let model = "def f(x) =\n  let parts = [linear(2), linear(2)]\n  parts(x)\nlet y = f([1, 2])\n";
    assert_eq!(completed(&format!("{model}let z = f.▮\n"), &["parts"]), 1);
    completed(&format!("{model}let z = f.parts[1].▮\n"), &["weight", "bias"]);
    assert_eq!(completed(&format!("{model}let z = f.parts.▮\n"), &[]), 0);
    completed("let y = einsum(\"i j => ▮\", 1)\n", &["i", "j"]);
    assert_eq!(completed("let stride = 2\nlet y = sum(\"{st▮}*o+k => o\", 1)\n", &["stride"]), 1);
    // A tensor is no number, and in a spec of letters a label does not go on from the letter before.
    assert_eq!(
        completed("data start : 3\nlet stride = 2\nlet y = sum(\"{st▮}*o+k => o\", 1)\n", &["stride"]),
        1
    );
    let (analysis, offset) = with_cursor("let y = einsum(\"ij; jk => i▮\", 1, 2)\n");
    let found = completion(&analysis, offset);
    assert!(found.iter().any(|each| each.label == "k" && each.replaces == 0), "{found:?}");
    completed("let y = 1 |> linear(▮)\n", &["size = "]);
    completed("data x : 3 as ▮\n", &["f32"]);
    assert_eq!(completed("let y = 3e▮\n", &[]), 0);
}

#[test]
fn completions_say_what_they_are() {
    let (analysis, offset) = with_cursor("dim hidden = 64\ndata input : 32 | 784\nlet y = ▮\n");
    let all = completion(&analysis, offset);
    let shown = |label: &str| {
        let found = all.iter().find(|each| each.label == label);
        found.map(|each| (each.kind, each.detail.as_str()))
    };
    assert_eq!(shown("hidden"), Some(("dim", "dim hidden = 64")));
    assert_eq!(shown("input"), Some(("data", "32 | 784")));
    assert_eq!(shown("linear"), Some(("function", "def linear(size = inferred)(x)")));
    assert_eq!(shown("exp"), Some(("function", "exp(x)")));
    assert_eq!(shown("let"), None);
}
