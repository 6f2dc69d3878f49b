//! Weights of other programs: what a header says about them, and the numbers that parameters begin with.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use broadloom::files::write_safetensors;
use broadloom::{Array, Backend, Dtype, Settings};
use broadloom_lang::{Options, Program, RunOptions, compile, warnings};
use expect_test::{Expect, expect};

/// A model of one block, as it may be written; its weights are those of `checkpoint`.
const MODEL: &str = r#"
data x : 3 | 4 = ones
def block(heads)(x) =
  let project = "m -> h, d; ... | m => ... | h, d"
  let q = einsum(project, {query : ... -> heads, 2}, x) + {query_bias : heads, 2}
  let k = einsum(project, {key : ... -> heads, 2}, x) + {key_bias : heads, 2}
  q * k
def model(x) =
  let blocks = [block(2) for i in 0..1]
  let y = x |> blocks
  einsum("i -> o; ... | h, d; ... | i => ... | h, d, o", {feed : ... -> 3}, y, x)
let y = model(x)
"#;

const NAMES: &str = r#"[
  "h.*.attn.weight -> blocks[*].query, key by m (p h d) => m -> h, d",
  "h.*.attn.bias -> blocks[*].query_bias, key_bias",
  "**mlp.weight -> feed",
  "h.*.mask -> _",
]"#;

/// A folder with a checkpoint in it.
fn checkpoint(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("weights-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    let count = |sizes: &[u64], dtype: Dtype| {
        let numbers: Vec<f64> = (0..sizes.iter().product::<u64>()).map(|number| number as f64).collect();
        Array::from_slice(sizes, &numbers).unwrap().convert(dtype)
    };
    let arrays = [
        ("h.0.attn.weight", count(&[4, 8], Dtype::F32)),
        ("h.0.attn.bias", count(&[8], Dtype::F16)),
        ("h.0.mask", count(&[2, 2], Dtype::Bool)),
        ("model.mlp.weight", count(&[4, 3], Dtype::Bf16)),
    ];
    write_safetensors(folder.join("m.safetensors"), arrays, &BTreeMap::new()).unwrap();
    folder
}

fn read(name: &str, text: &str) -> Program {
    compile("test.loom", text, &Options { folder: checkpoint(name), ..Options::default() })
}

fn load(names: &str) -> String {
    format!("{MODEL}load(\"m.safetensors\", into = model, names = {names})\n")
}

/// Checks the messages about a program that loads weights.
fn check(name: &str, text: &str, expect: Expect) {
    let mut program = read(name, text);
    let mut told = program.diagnostics.clone();
    told.extend(warnings(&mut program));
    let rendered =
        told.iter().map(|each| broadloom_diagnostics::render(&program.sources, each, Default::default()));
    expect.assert_eq(&rendered.collect::<String>());
}

fn printed(program: Program, options: RunOptions) -> Vec<String> {
    let settings = Settings { backend: Backend::Reference, ..Settings::default() };
    let mut lines: Vec<String> = Vec::new();
    let ran = program.run(&RunOptions { settings, ..options }, &mut lines);
    assert!(ran.is_ok(), "{:?}", ran.err().map(|wrong| wrong.message));
    lines
}

const PRINT: &str = "print model.blocks[0].query\nprint model.blocks[0].key_bias\nprint model.feed\n";

#[test]
fn parameters_begin_with_weights() {
    let text = load(NAMES) + PRINT;
    let lines = printed(read("begin", &text), RunOptions::default());
    let expect = expect![[r#"
        [[[ 0  8 16 24]
          [ 1  9 17 25]]
         [[ 2 10 18 26]
          [ 3 11 19 27]]]
        [[4 5]
         [6 7]]
        [[ 0  3  6  9]
         [ 1  4  7 10]
         [ 2  5  8 11]]"#]];
    expect.assert_eq(&lines.join("\n"));
    check("begin", &text, expect![""]);
}

/// Without a file in the program, it is the one that is given, unless that has the program's own names.
#[test]
fn a_file_from_outside() {
    let text = format!("{MODEL}load(into = model, names = {NAMES})\n{PRINT}");
    let folder = checkpoint("outside");
    let file = folder.join("m.safetensors");
    let open = |file: &PathBuf| {
        compile("test.loom", &text, &Options { load: Some(file.clone()), ..Options::default() })
    };
    let saved = folder.join("own.safetensors");
    let options = |load: &PathBuf, save: Option<&PathBuf>| RunOptions {
        load: Some(load.clone()),
        save: save.cloned(),
        ..RunOptions::default()
    };
    let first = printed(open(&file), options(&file, Some(&saved)));
    assert!(first[1].contains("[4 5]"), "{first:?}");
    assert_eq!(printed(open(&saved), options(&saved, None)), first);
    let without = compile("test.loom", &text, &Options::default());
    assert!(without.is_ok());
    assert_ne!(printed(without, RunOptions::default()), first);
}

#[test]
fn files_that_are_missing_or_damaged() {
    let gone = load(NAMES).replace("m.safetensors", "n.safetensors");
    check(
        "gone",
        &gone,
        expect![[r#"
            error[E0402]: there is no file `n.safetensors`, so nothing is known of its weights
              --> test.loom:13:6
               |
            13 | load("n.safetensors", into = model, names = [
               |      ^^^^^^^^^^^^^^^
               |
               = help: paths are relative to the folder of this file; `load(into = net, names = …)` leaves it to the run, `--load FILE`
        "#]],
    );
    let folder = checkpoint("damaged");
    let whole = std::fs::read(folder.join("m.safetensors")).unwrap();
    std::fs::write(folder.join("m.safetensors"), &whole[..whole.len() - 1]).unwrap();
    let program = compile("test.loom", &load(NAMES), &Options { folder, ..Options::default() });
    let message = &program.diagnostics[0].message;
    assert!(message.contains("bytes of numbers, found"), "{message}");
}

#[test]
fn axes_that_fit_in_several_ways() {
    check(
        "several",
        &load(&NAMES.replace(" by m (p h d) => m -> h, d", "")),
        expect![[r#"
            error[E0401]: `h.0.attn.weight` has axes 4, 8, which make `blocks.0.query : 4 -> 2, 2` and `blocks.0.key : 4 -> 2, 2` in several ways
              --> test.loom:14:3
               |
             5 |   let q = einsum(project, {query : ... -> heads, 2}, x) + {query_bias : heads, 2}
               |                            ----- `blocks.0.query` is `4 -> 2, 2`
            ...
            14 |   "h.*.attn.weight -> blocks[*].query, key",
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ axes 4, 8 in `m.safetensors`
               |
               = help: say which axis is which: `by (o1 o2) (p i) => i -> o1, o2`, or `by i (p o1 o2) => i -> o1, o2`
        "#]],
    );
}

#[test]
fn axes_that_do_not_fit() {
    check(
        "misfit",
        &load(&NAMES.replace("**mlp.weight -> feed", "h.0.mask -> feed")),
        expect![[r#"
        error[E0401]: `h.0.mask` has axes 2, 2, which do not make `feed : 4 -> 3`
          --> test.loom:16:3
           |
        11 |   einsum("i -> o; ... | h, d; ... | i => ... | h, d, o", {feed : ... -> 3}, y, x)
           |                                                           ---- `feed` is `4 -> 3`
        ...
        16 |   "h.0.mask -> feed",
           |   ^^^^^^^^^^^^^^^^^^ axes 2, 2 in `m.safetensors`
           |
           = help: give the model the sizes of the file, or say how the axes are related: `by o i => i -> o`
    "#]],
    );
    check(
        "spec",
        &load(&NAMES.replace("=> m -> h, d", "=> m, h, d")),
        expect![[r#"
        error[E0304]: the parameter is `4 -> 2, 2`, with other axes than the spec, for `h.0.attn.weight` with axes 4, 8
          --> test.loom:14:3
           |
         5 |   let q = einsum(project, {query : ... -> heads, 2}, x) + {query_bias : heads, 2}
           |                            ----- `blocks.0.query` is `4 -> 2, 2`
        ...
        14 |   "h.*.attn.weight -> blocks[*].query, key by m (p h d) => m, h, d",
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ axes 4, 8 in `m.safetensors`
           |
           = help: it becomes `blocks.0.query : 4 -> 2, 2` and `blocks.0.key : 4 -> 2, 2`
    "#]],
    );
}

#[test]
fn names_that_lead_nowhere() {
    check(
        "path",
        &load(&NAMES.replace("-> feed", "-> fed")),
        expect![[r#"
        error[E0402]: `model` has no parameter `fed`, which `model.mlp.weight` is to be
          --> test.loom:16:3
           |
        16 |   "**mlp.weight -> fed",
           |   ^^^^^^^^^^^^^^^^^^^^^
           |
           = help: did you mean `feed`?
    "#]],
    );
    check(
        "array",
        &load(&NAMES.replace("**mlp.weight", "mlp.wieght")),
        expect![[r#"
        error[E0402]: nothing in `m.safetensors` is called `mlp.wieght`
          --> test.loom:16:3
           |
        16 |   "mlp.wieght -> feed",
           |   ^^^^^^^^^^^^^^^^^^^^
           |
           = help: it has `h.0.attn.bias`, `h.0.attn.weight`, `h.0.mask` and `model.mlp.weight`
    "#]],
    );
    check(
        "missing",
        &load(&NAMES.replace("  \"**mlp.weight -> feed\",\n", "")),
        expect![[r#"
        error[E0402]: `feed` has no weights in `m.safetensors`
          --> test.loom:13:30
           |
        11 |   einsum("i -> o; ... | h, d; ... | i => ... | h, d, o", {feed : ... -> 3}, y, x)
           |                                                           ---- `feed` is made here
        12 | let y = model(x)
        13 | load("m.safetensors", into = model, names = [
           |                              ^^^^^ all parameters of `model`
           |
           = help: say which array it is, as in `model.mlp.weight -> feed`; left are `model.mlp.weight`
    "#]],
    );
    check(
        "twice",
        &load(&NAMES.replace("h.*.mask -> _", "h.*.mask -> feed")),
        expect![[r#"
        error[E0402]: `feed` has two arrays: `model.mlp.weight` and `h.0.mask`
          --> test.loom:17:3
           |
        17 |   "h.*.mask -> feed",
           |   ^^^^^^^^^^^^^^^^^^
           |
           = help: leave one of them out: `h.0.mask -> _`
    "#]],
    );
    check(
        "line",
        &load(&NAMES.replace("mask -> _", "mask = _")),
        expect![[r#"
        error[E0304]: the arrays and the parameters stand on two sides of `->`: `h.*.mask = _`
          --> test.loom:17:3
           |
        17 |   "h.*.mask = _",
           |   ^^^^^^^^^^^^^^
           |
           = help: write `h.*.mlp.weight -> blocks.*.feed.weight by i o => i -> o`; `-> _` leaves arrays out
    "#]],
    );
}

#[test]
fn arrays_that_nothing_takes() {
    check(
        "unused",
        &load(&NAMES.replace("  \"h.*.mask -> _\",\n", "")),
        expect![[r#"
        warning[W0514]: an array of `m.safetensors` is not used: `h.0.mask`
          --> test.loom:13:6
           |
        13 | load("m.safetensors", into = model, names = [
           |      ^^^^^^^^^^^^^^^
           |
           = help: write `h.0.mask -> _` for what is left out on purpose
    "#]],
    );
    let allowed = load(&NAMES.replace("  \"h.*.mask -> _\",\n", "")).replace("load(", "# allow W0514\nload(");
    check("allowed", &allowed, expect![""]);
}

#[test]
fn calls_that_are_wrong() {
    check(
        "kind",
        &format!("{MODEL}load(\"m.safetensors\", into = x)\n"),
        expect![[r#"
        error[E0203]: weights are loaded into a layer, not into a tensor
          --> test.loom:13:30
           |
        13 | load("m.safetensors", into = x)
           |                              ^
           |
           = help: write the name of a layer, `let net = linear(10)`, of a parameter, or a list of them
    "#]],
    );
    check(
        "into",
        &format!("{MODEL}load(\"m.safetensors\", names = [])\n"),
        expect![[r#"
        error[E0202]: `names` say what arrays are called in a model
          --> test.loom:13:1
           |
        13 | load("m.safetensors", names = [])
           | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
           |
           = help: say into which: `into = net`
    "#]],
    );
    check(
        "list",
        &format!("{MODEL}load(\"m.safetensors\", into = model, names = \"a -> b\")\n"),
        expect![[r#"
        error[E0203]: a list of texts is needed here, not a text
          --> test.loom:13:45
           |
        13 | load("m.safetensors", into = model, names = "a -> b")
           |                                             ^^^^^^^^
           |
           = help: write `names = ["wte.weight -> words.table", …]`
    "#]],
    );
    check(
        "unapplied",
        "let net = linear(3)\nload(\"m.safetensors\", into = net)\n",
        expect![[r#"
        error[E0402]: `net` has no parameters to load weights into
         --> test.loom:2:30
          |
        2 | load("m.safetensors", into = net)
          |                              ^^^
          |
          = help: parameters are made when a function is applied for the first time
    "#]],
    );
}
