//! Functions that are extracted: what becomes of a selection, what is refused, and that the program stays what it was.
//! `BROADLOOM_EXTRACTIONS` says how many selections of each example are tried.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use broadloom::LeafKind;
use broadloom_ide::{Action, ActionKind, Analysis, Text, Wanted, actions, applied, refused};
use broadloom_testing::{Dice, setting};
use expect_test::{Expect, expect};

const EXTRACT: Wanted = Wanted { fixes: false, others: false, extract: true };

fn offered(analysis: &mut Analysis, start: usize, end: usize) -> Option<Action> {
    let mut found = actions(analysis, &[], start as u32, end as u32, EXTRACT);
    assert!(found.len() <= 1);
    found.pop()
}

/// The program after what stands between `⟦` and `⟧` has become a function, or the reason why not.
fn extracted(text: &str) -> String {
    let (start, end) = (text.find('⟦').expect("a start"), text.find('⟧').expect("an end"));
    let text = text.replace(['⟦', '⟧'], "");
    let mut analysis = Analysis::new(&Text::new("a.loom", text.as_str()));
    let Some(action) = offered(&mut analysis, start, end - '⟦'.len_utf8()) else {
        return "nothing\n".into();
    };
    assert_eq!(action.kind, ActionKind::Extract);
    if let Some(reason) = action.disabled {
        return format!("{reason}\n");
    }
    if let Some(reason) = refused(&analysis, action.kind, &action.edits) {
        return format!("refused: {reason}\n");
    }
    applied(&text, &action.edits)
}

#[track_caller]
fn becomes(text: &str, expected: Expect) {
    expected.assert_eq(&extracted(text));
}

#[test]
fn expressions() {
    becomes(
        "data x : 3\ndata y : 3\nlet z = 2 * ⟦relu(x + y)⟧ + x\n",
        expect![[r#"
        data x : 3
        data y : 3
        def extracted(x, y) = relu(x + y)

        let z = 2 * extracted(x, y) + x
    "#]],
    );
    // What the program defines for everybody stays where it is.
    becomes(
        "dim n = 3\ndef f(x) = x\ndata x : n\nlet z = ⟦f(x) + {b : n}⟧\n",
        expect![[r#"
        dim n = 3
        def f(x) = x
        data x : n
        def extracted()(x) = f(x) + {b : n}

        let z = extracted()(x)
    "#]],
    );
    // Several lines.
    becomes(
        "data x : 3\nlet z = ⟦relu(\n  x,\n)⟧\n",
        expect![[r#"
        data x : 3
        def extracted(x) = relu(x)

        let z = extracted(x)
    "#]],
    );
    // The last operator of a chain is no expression by itself.
    becomes("data x : 3\nlet z = 1 + ⟦2 + x⟧\n", expect![["nothing\n"]]);
    becomes("data x : 3\nlet z = ⟦x⟧\n", expect![["nothing\n"]]);
    becomes("let s = \"a ⟦b⟧ => a b\"\n", expect![["nothing\n"]]);
    // Names are given by order and by name.
    becomes(
        "let scale = 2\ndef f(x, scale = 1) = scale * x\ndata x : 3\nlet z = ⟦f(x, scale = scale)⟧ + 1\n",
        expect![[r#"
            let scale = 2
            def f(x, scale = 1) = scale * x
            data x : 3
            def extracted(x, scale) = f(x, scale = scale)

            let z = extracted(x, scale) + 1
        "#]],
    );
}

#[test]
fn layers() {
    becomes(
        "data x : 32 | 784\nlet y = ⟦relu({w} @ x + {b : 64})⟧\n",
        expect![[r#"
        data x : 32 | 784
        def extracted()(x) = relu({w} @ x + {b : 64})

        let y = extracted()(x)
    "#]],
    );
    // Inside of a function, and for each item of a list, every application has parameters of its own.
    becomes(
        "# Two layers.\ndef net(size)(x) =\n  let wide = 2 * size\n  let h = ⟦x |> linear(wide)⟧ |> relu\n  linear(size)(h)\ndata x : 4 | 8\nlet y = x |> net(3)\nlet z = x |> net(5)\n",
        expect![[r#"
            def extracted(wide)(x) = x |> linear(wide)

            # Two layers.
            def net(size)(x) =
              let wide = 2 * size
              let h = extracted(wide)(x) |> relu
              linear(size)(h)
            data x : 4 | 8
            let y = x |> net(3)
            let z = x |> net(5)
        "#]],
    );
    becomes(
        "data x : 4 | 8\nlet all = [⟦{w : size} @ x⟧ for size in [1, 2]]\nlet y = all[0]\n",
        expect![[r#"
            data x : 4 | 8
            def extracted(size)(x) = {w : size} @ x

            let all = [extracted(size)(x) for size in [1, 2]]
            let y = all[0]
        "#]],
    );
    becomes(
        "data x : 4 | 8\nlet y = ⟦{w : 3} @ x⟧ + w\n",
        expect![[r#"
        `w` is made here and used on line 2: a function keeps it for itself
    "#]],
    );
    // Sizes of a signature.
    becomes(
        "def f(x : ..b.. | n) : ..b.. | n = ⟦{w : n -> n} @ x⟧\ndata x : 4 | 8\nlet y = f(x)\n",
        expect![[r#"
            def extracted(n)(x) = {w : n -> n} @ x

            def f(x : ..b.. | n) : ..b.. | n = extracted(n)(x)
            data x : 4 | 8
            let y = f(x)
        "#]],
    );
}

#[test]
fn stages_of_pipes() {
    becomes(
        "data x : 4 | 8\nlet n = 3\nlet y = x |> ⟦linear(n) |> relu⟧ |> linear(2)\n",
        expect![[r#"
        data x : 4 | 8
        let n = 3
        def extracted(n)(input) = input |> linear(n) |> relu

        let y = x |> extracted(n) |> linear(2)
    "#]],
    );
    becomes(
        "data x : 4 | 8\nlet y = ⟦x |> linear(3)⟧ |> linear(2)\n",
        expect![[r#"
        data x : 4 | 8
        def extracted(x) = x |> linear(3)

        let y = extracted(x) |> linear(2)
    "#]],
    );
    becomes(
        "data x : 4 | 8\nlet y = x\n  |> ⟦linear(3)\n  |> relu⟧\n",
        expect![[r#"
        data x : 4 | 8
        def extracted()(input) = input |> linear(3) |> relu

        let y = x
          |> extracted()
    "#]],
    );
}

#[test]
fn statements() {
    becomes(
        "data x : 4 | 8\n⟦let h = relu(x)\nlet y = h + x  # both⟧\nlet z = y + 1\n",
        expect![[r#"
        data x : 4 | 8
        def extracted(x) =
          let h = relu(x)
          let y = h + x
          y

        let y = extracted(x)  # both
        let z = y + 1
    "#]],
    );
    becomes(
        "data x : 4 | 8\n⟦let h = relu(x)\n\n# Half of it.\nlet y = h / 2⟧\nlet z = y + h\n",
        expect![[r#"
            data x : 4 | 8
            def extracted(x) =
              let h = relu(x)

              # Half of it.
              let y = h / 2
              [h, y]

            let h, y = extracted(x)
            let z = y + h
        "#]],
    );
    becomes(
        "def f(x) =\n  let h = relu(x)\n  ⟦let y = h + x\n  y * {w}⟧\ndata x : 4 | 8\nlet z = f(x)\n",
        expect![[r#"
            def extracted()(h, x) =
              let y = h + x
              y * {w}

            def f(x) =
              let h = relu(x)
              extracted()(h, x)
            data x : 4 | 8
            let z = f(x)
        "#]],
    );
    becomes(
        "data x : 8\n⟦let y = einsum(\"i -> h; i => h\", {w}, x)\nset y.h = 5⟧\nlet z = y + 1\n",
        expect![[r#"
            data x : 8
            def extracted()(x) =
              let y = einsum("i -> h; i => h", {w}, x)
              set y.h = 5
              y

            let y = extracted()(x)
            let z = y + 1
        "#]],
    );
    becomes(
        "data x : 8\n⟦let y = x + {b}\nprint sum(y)⟧\n",
        expect![[r#"
        only `let` and `set` can move into a function, and line 3 is something else
    "#]],
    );
    becomes(
        "data x : 8\n⟦let y = x + {b}⟧\nprint b\n",
        expect![[r#"
        `b` is made here and used on line 3: a function keeps it for itself
    "#]],
    );
    // Names that nothing uses: the value is the last one.
    becomes(
        "data x : 8\n⟦let y = x + 1\nlet z = y * 2⟧\n",
        expect![[r#"
        data x : 8
        def extracted(x) =
          let y = x + 1
          let z = y * 2
          z

        let z = extracted(x)
    "#]],
    );
    becomes(
        "data x : 8\nrepeat 3:\n  ⟦let y = x + 1\n  let z = y * 2⟧\n  print sum(z)\n",
        expect![[r#"
        data x : 8
        def extracted(x) =
          let y = x + 1
          let z = y * 2
          z

        repeat 3:
          let z = extracted(x)
          print sum(z)
    "#]],
    );
}

/// Every example, with the folder that it reads files from.
fn examples() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut found = Vec::new();
    for folder in [root.clone(), root.join("models"), root.join("modules")] {
        for entry in std::fs::read_dir(folder).expect("the examples") {
            let path = entry.expect("an example").path();
            if path.extension().is_some_and(|ending| ending == "loom") {
                found.push((path.clone(), std::fs::read_to_string(&path).expect("an example")));
            }
        }
    }
    found.sort();
    found
}

/// The shapes of the values that a program names outside of functions, and of its parameters, in order.
fn shapes(analysis: &mut Analysis) -> (BTreeMap<String, String>, Vec<String>) {
    let graph = &mut analysis.program.graph;
    let shapes = graph.final_shapes().expect("shapes");
    let params = graph.params().iter().map(|param| shapes.get(*param).to_string()).collect();
    let is_param =
        |tensor| matches!(graph.node(tensor), Some(broadloom::Node::Leaf { kind: LeafKind::Param }));
    let made = analysis.program.made.iter().filter(|made| made.level == 0 && !is_param(made.tensor));
    let values = made.map(|made| (made.name.clone(), shapes.get(made.tensor).to_string())).collect();
    (values, params)
}

/// Random pieces of the examples: where a function is offered, the program with it has the same shapes.
#[test]
fn examples_keep_their_shapes() {
    let wanted = setting("BROADLOOM_EXTRACTIONS", 2);
    let mut random = Dice::new(20);
    let (mut done, mut refusals) = (0, Vec::new());
    for (path, text) in examples() {
        let about = |text: String| Text {
            folder: path.parent().expect("a folder").to_path_buf(),
            ..Text::new("a.loom", text)
        };
        let mut analysis = Analysis::new(&about(text.clone()));
        if !analysis.is_ok() {
            continue;
        }
        let (values, params) = shapes(&mut analysis);
        let (mut tried, mut here) = (0, 0);
        while here < wanted && tried < 2_000 {
            tried += 1;
            // Selections begin and end where words do.
            let start = random.below(text.len());
            let end = (start + 2 + random.below(120)).min(text.len());
            let is_word = |letter: char| letter.is_alphanumeric() || "_.\"".contains(letter);
            let (start, end) = (text.floor_char_boundary(start), text.ceil_char_boundary(end));
            let start = text[..start].trim_end_matches(is_word).len();
            let end = end + text[end..].find(|letter| !is_word(letter)).unwrap_or(0);
            let Some(action) = offered(&mut analysis, start, end) else { continue };
            if action.disabled.is_some() {
                continue;
            }
            here += 1;
            if let Some(reason) = refused(&analysis, action.kind, &action.edits) {
                refusals.push(format!("{}: {reason}\n{}\n", path.display(), &text[start..end]));
                continue;
            }
            done += 1;
            let after = applied(&text, &action.edits);
            let mut changed = Analysis::new(&about(after.clone()));
            assert!(changed.is_ok(), "{:?}\n{after}", changed.diagnostics());
            let (others, other_params) = shapes(&mut changed);
            for (name, shape) in others {
                assert!(values.get(&name).is_none_or(|before| *before == shape), "{name}: {shape}\n{after}");
            }
            assert_eq!(params, other_params, "{after}");
        }
    }
    assert!(done > 20 && refusals.len() * 10 <= done, "{done} done, not:\n{}", refusals.join("\n"));
}
