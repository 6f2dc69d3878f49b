//! Bodies that are replayed do what they do when they are walked.
//!
//! Random functions, as users write them, are applied several times: again, with the same and with other configurations, to
//! tensors of the same and of other shapes, inside of others and in lists, with sizes as numbers and with names. The program is
//! read twice, and everything that can be seen of it must be the same. `BROADLOOM_PROGRAMS=n` sets the number of programs,
//! `BROADLOOM_SEED=n` the first seed.

use std::fmt::Write as _;

use broadloom_lang::{Options, Program, compile, infer};
use broadloom_testing::{Dice, seeds};

use crate::schemes::drawer;
use crate::schemes::function::{Function, Item};
use crate::schemes::text::declared as text_of;

/// The default number of programs.
const PROGRAMS: u64 = 500;

/// One of so many programs is read with everything that is found by looking at it as a whole.
const WHOLE: u64 = 20;

#[test]
fn replaying_is_walking() {
    let seeds = seeds(PROGRAMS);
    let count = seeds.end - seeds.start;
    let (mut replayed, mut right, mut wrong) = (0, 0, 0);
    for seed in seeds {
        let text = drawn(&mut Dice::new(seed));
        let read = if seed % WHOLE == 0 { compile } else { infer };
        let program = same(&text, &format!("seed {seed}"), read);
        replayed += u64::from(program.replayed > 0);
        right += u64::from(program.is_ok());
        wrong += u64::from(!program.is_ok());
    }
    eprintln!("{count} programs: {replayed} replay bodies, {right} are right, {wrong} wrong");
    assert!(count < 100 || replayed > count / 8, "{replayed} of {count} programs replay bodies");
    assert!(count < 100 || right.min(wrong) > count / 12, "{right} programs are right, {wrong} wrong");
}

/// Reads a program with and without replaying, and compares.
fn same(text: &str, about: &str, read: fn(&str, &str, &Options) -> Program) -> Program {
    let options = |walks| Options { walks, ..Options::default() };
    let (mut program, mut walked) =
        (read("program.loom", text, &options(false)), read("program.loom", text, &options(true)));
    assert_eq!(walked.replayed, 0);
    let (seen, expected) = (seen(&mut program), seen(&mut walked));
    if seen != expected {
        let differs = |(a, b): &(&str, &str)| a != b;
        let (now, before) = seen.lines().zip(expected.lines()).find(differs).unwrap_or_default();
        panic!("{about}\n{text}\nreplayed: {now}\nwalked:   {before}\n");
    }
    program
}

/// Everything that can be seen of a program.
fn seen(program: &mut Program) -> String {
    let mut seen = String::new();
    for diagnostic in &program.diagnostics {
        _ = writeln!(seen, "{diagnostic:?}");
    }
    for made in &program.made {
        _ = writeln!(seen, "{made:?}");
    }
    for application in &program.applications {
        _ = writeln!(seen, "{application:?}");
    }
    for origin in program.origins.iter() {
        _ = writeln!(seen, "{origin:?}");
    }
    for spec in &program.specs {
        _ = writeln!(seen, "{:?} {}", spec.span, spec.literal);
    }
    _ = writeln!(seen, "{:?}\n{:?}\n{}", program.axis_names, program.dims, program.work);
    let (is_ok, tensors) = (program.is_ok(), program.graph.tensors().collect::<Vec<_>>());
    for tensor in tensors {
        let shape = match is_ok {
            true => program
                .graph
                .final_shape(tensor)
                .map_or_else(|error| error.to_string(), |shape| shape.to_string()),
            false => program.graph.shape(tensor).to_string(),
        };
        let graph = &program.graph;
        let (name, told) = (graph.name_of(tensor), graph.message_name(tensor));
        _ = writeln!(seen, "{tensor:?} {name:?} {told:?} {:?} {shape}", graph.node(tensor));
    }
    seen
}

/// A program that applies random functions several times.
fn drawn(dice: &mut Dice) -> String {
    let functions = drawer::draw(dice);
    let mut text = String::new();
    let (named, is_careless) = (dice.percent(30), dice.percent(20));
    if named {
        text.push_str("dim big in 2..\ndim wide in 1..9\n");
    }
    text.push_str(&functions.written());
    let count = 3 + dice.below(5);
    let mut results: Vec<(usize, String)> = Vec::new();
    let mut layers: Vec<(usize, String)> = Vec::new();
    let mut shapes: Vec<((usize, usize), String)> = Vec::new();
    for at in 0..count {
        let of = dice.below(functions.0.len());
        let function = &functions.0[of];
        let mut given: Vec<String> = Vec::new();
        for (place, (_, meant)) in function.arguments.iter().enumerate() {
            let before = shapes.iter().rev().find(|(known, _)| *known == (of, place)).cloned();
            let result = results.iter().rev().find(|(known, _)| *known == of).cloned();
            match (before, result) {
                (_, Some((_, result))) if dice.percent(25) => given.push(result),
                (Some((_, name)), _) if dice.percent(30) => given.push(name),
                (before, _) => {
                    let name = format!("d{at}_{place}");
                    let shape = match before.filter(|_| dice.percent(60)) {
                        // The same shape once more.
                        Some((_, known)) => declared(&text, &known),
                        // With mistakes, or as it is meant.
                        None if is_careless => meant.drawn(&mut |item, dice| sizes(item, named, dice), dice),
                        None => {
                            let row = |row: &Vec<Item>| {
                                let axes: Vec<String> =
                                    row.iter().map(|item| meant_size(item, named)).collect();
                                axes.join(", ")
                            };
                            let [batch, input, output] = &meant.0;
                            text_of(&row(batch), &row(input), &row(output))
                        }
                    };
                    _ = writeln!(text, "data {name} : {shape}");
                    shapes.push(((of, place), name.clone()));
                    given.push(name);
                }
            }
        }
        let applied = applied(function, of, &mut layers, at, &mut text, dice);
        let call = match given.len() {
            1 if dice.percent(25) => format!("{} |> [{applied} for i in 0..3]", given[0]),
            _ => format!("{applied}({})", given.join(", ")),
        };
        let result = format!("r{at}");
        _ = writeln!(text, "let {result} = {call}");
        if function.results.len() == 1 {
            results.push((of, result));
        }
        if dice.percent(8) {
            // A name that functions find outside of themselves has another value from here on.
            _ = writeln!(text, "let {} = {}", dice.pick(&["n", "size", "d", "relu"]), dice.below(5) + 1);
        }
    }
    text
}

/// A function with its configuration: a layer from before, or a new one.
fn applied(
    function: &Function,
    of: usize,
    layers: &mut Vec<(usize, String)>,
    at: usize,
    text: &mut String,
    dice: &mut Dice,
) -> String {
    let Some(config) = &function.config else { return function.name.clone() };
    let known = layers.iter().rev().find(|(known, _)| *known == of).cloned();
    if let Some((_, layer)) = known.filter(|_| dice.percent(40)) {
        return layer;
    }
    let sizes: Vec<&str> =
        config.iter().map(|_| dice.pick(&["12", "12", "12", "12", "4", "inferred"])).collect();
    let layer = format!("{}({})", function.name, sizes.join(", "));
    if dice.percent(50) {
        return layer;
    }
    _ = writeln!(text, "let l{at} = {layer}");
    layers.push((of, format!("l{at}")));
    format!("l{at}")
}

/// The shape that a program declares for a name.
fn declared(text: &str, name: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("data {name} : ")));
    line.unwrap_or("...").to_owned()
}

/// The axes of a part of a shape, sometimes others than are meant.
fn sizes(item: &Item, named: bool, dice: &mut Dice) -> Vec<String> {
    match item {
        Item::Axis(_) if dice.percent(10) => vec![(1 + dice.below(6)).to_string()],
        Item::Axis(_) => vec![meant_size(item, named)],
        Item::Row(_) => (0..dice.below(3)).map(|_| meant_size(item, named)).collect(),
    }
}

/// The size of an axis, and of the one axis of a row: the same one wherever it has the same name.
fn meant_size(item: &Item, named: bool) -> String {
    let (Item::Axis(name) | Item::Row(name)) = item;
    match name.as_str() {
        "s" if named => "big".to_owned(),
        "b" if named => "wide".to_owned(),
        _ => "12".to_owned(),
    }
}

/// Blocks as in a large model: one is walked, one is recorded, and the others are instances.
#[test]
fn blocks_are_walked_twice() {
    let text = "data x : 2, 16 | 64\ndef dense(n)(x) = relu({w : ... -> n} @ x + {b : n})\n\
                let y = x |> [dense(64) for i in 0..10]\nlet one = dense(64)\nlet z = x |> [one for i in 0..10]\n";
    let program = infer("program.loom", text, &Options::default());
    assert!(program.is_ok());
    // Of the one layer, the first application is an instance, too: it makes parameters, and the next one is recorded.
    assert_eq!((program.walked, program.replayed), (3, 17));
    same(text, "blocks", compile);
}

/// The values that functions find outside of themselves may change between applications.
#[test]
fn names_outside_of_functions_change() {
    for text in [
        "data x : 3\nlet k = 2\ndef f(x) = k * x\nlet a = f(x)\nlet b = f(a)\nlet k = 5\nlet c = f(b)\nlet d = f(c)\n",
        "data x : 3\ndata w : 3\ndef f(x) = w * x\nlet a = f(x)\nlet b = f(a)\ndata v : 3\nlet w = v\nlet c = f(b)\n",
        "data x : 3\ndef g(x) = -x\ndef f(x) = g(x)\nlet a = f(x)\nlet b = f(a)\ndef g(x) = exp(x)\nlet c = f(b)\n",
        // The argument is what the body finds outside, in one application.
        "data x : 3\ndata w : 3\ndef f(y) = w + y\nlet a = f(x)\nlet b = f(w)\nlet c = f(x)\nlet d = f(a)\n",
        "data x : 4\ndef f(x) = {w : n -> 4} @ x\nlet a = f(x)\nlet b = f(x)\nlet n = 3\nlet c = f(x)\n",
    ] {
        same(text, "names", compile);
    }
}

/// A recording is for kinds of arguments, conditions, `training`, layers, mistakes in a later application.
#[test]
fn applications_that_differ() {
    for text in [
        "data x : 3\ndef f(x, n = 0) = if n > 0 then f(x + n, n - 1) else x\nlet a = f(x, 3)\nlet b = f(x, 3)\nlet c = f(x, 4)\n",
        "data x : 3\ndata y : 3\ndef f(a, b) = a * b\nlet p = f(x, y)\nlet q = f(x, y)\nlet r = f(x, x)\nlet s = f(y, x)\n",
        "data x : 3\ndef f(x) = if training then 2 * x else x\nlet a = f(x)\nlet b = f(a)\nlet c = inference(f)(b)\nlet d = f(c)\n",
        "data x : 3\ndef f(g, x) = g(x) + x\nlet a = f(exp, x)\nlet b = f(exp, a)\nlet c = f(log, b)\ndef h(x) = 3 * x\n\
         let d = f(h, c)\nlet e = f(h, d)\ndef i(x) = x\nlet j = f(i, e)\nlet k = f(i, j)\n",
        "data x : 3\ndata y : 4\ndef f(x) = {w : 3} * x\nlet a = f(x)\nlet b = f(x)\nlet c = f(x)\nlet d = f(y)\n",
        "data x : 3\ndata y : 4\ndef f(n)(x) = {w : n} * x\nlet a = f(3)(x)\nlet b = f(3)(x)\nlet c = f(3)(x)\nlet d = f(3)(y)\n",
        "data x : 3 | 4\ndef f(x : ..b.. | c) : ..b.. | c = x - mean(\"... | c\", x)\nlet a = f(x)\nlet b = f(a)\nlet c = f(b)\n",
        "data x : 3 | 4\ndef f(x) =\n  let k, l = [x, 2 * x]\n  let y = k + l\n  [y, k]\nlet a, b = f(x)\nlet c, d = f(a)\nlet e, g = f(d)\n",
        "data x : 8\ndef f(x) =\n  let h = {w : ... -> 8} @ x\n  let h = relu(h)\n  h\nlet a = f(x)\nlet b = f(a)\nlet c = f(b)\nlet w = f.w\n",
        "data x : 8\ndef g(n)(x) = {w : ... -> n} @ x\ndef f()(x) =\n  let parts = [g(8), g(8)]\n  x |> parts\n\
         let l, m, n = [f() for i in 0..3]\nlet y = x |> [l, m, n]\nlet w = n.parts[1].w\nlet z = y |> [l, m, n]\n",
    ] {
        same(text, "applications", compile);
    }
}

/// Functions inside of bodies are new in every application, and find other things around them.
#[test]
fn functions_inside_of_bodies() {
    let apply = "let a = f(x)\nlet b = f(a)\nlet c = f(b)\nlet d = f(c)\n";
    for (text, replayed) in [
        // Numbers, tensors and arguments that are the same.
        ("def f(x) =\n  let k = 2\n  def g(y) = k * y + x\n  g(g(x))\n", 6),
        (
            "def f(x, w = x) =\n  def g(y) = y * w\n  g(x) + g(w)\nlet e = f(x, w)\nlet h = f(x, w)\nlet i = f(x, w)\n",
            9,
        ),
        // Layers, with parameters, and parameters of the functions themselves.
        (
            "def dense(n)(x) = {w : ... -> n} @ x\ndef f()(x) =\n  let inner = dense(4)\n  def g(y) = inner(y) + y\n  g(x)\nlet e = x |> [f() for i in 0..4]\nlet f = f()\n",
            10,
        ),
        (
            "def h()(x) =\n  def g(y) = {w : ... -> 4} @ y\n  g(g(x))\nlet e = x |> [h() for i in 0..5]\nlet f = h()\n",
            0,
        ),
        // Conditions on what is found, which differs between applications.
        (
            "def h(x, how = \"one\") =\n  let times = if how == \"one\" then 1 else 2\n  def g(y) = if times == 1 then y * 3 else exp(y)\n  g(x)\ndef f(x) = h(h(h(x, \"two\")), \"two\")\n",
            14,
        ),
        // A name that is bound inside, too; one that is bound later; one outside of the function.
        ("def f(x) =\n  let k = 2\n  def g(y) =\n    let k = k + 1\n    k * y\n  g(x)\n", 0),
        ("let k = 5\ndef f(x) =\n  def g(y) = k * y\n  let p = g(x)\n  let k = 3\n  g(p)\n", 5),
        (
            "data v : 4\nlet k = v\ndef f(x) =\n  def g(y) = k * y\n  g(x)\nlet r = f(x)\nlet s = f(x)\nlet t = f(x)\nlet k = w\n",
            6,
        ),
        // Functions in functions in functions, as arguments, and with a configuration.
        ("def f(x) =\n  def g(y) =\n    def h(z) = z * x + y\n    h(y)\n  g(x)\n", 6),
        ("def through(layer, x) = layer(x) + x\ndef f(x) =\n  def g(y) = y * x\n  through(g, x)\n", 6),
        ("def f()(x) =\n  def g(n)(y) = {w : n} * y\n  g(4)(x)\nlet f = f()\n", 0),
        // Sizes, as tensors and in texts; signatures.
        ("def f(x) =\n  let q = einsum(\"... | i => ... | i\", x)\n  def g(y) = y / q.i\n  g(q)\n", 0),
        ("def f(x) =\n  let n = 4\n  def g(y) = einsum(\"i => i\", y) + {w : n}\n  g(x)\n", 0),
        ("def f(x) =\n  def g(y : ..b.. | n) : ..b.. | n = y * y\n  g(x)\n", 0),
        // Branches and loops that define functions; functions that nobody applies.
        ("def f(x) =\n  if true:\n    def g(y) = 2 * y\n  for i in 0..2:\n    def g(y) = 3 * y\n  g(x)\n", 0),
        ("def f(x) =\n  def g(y) = y @ unknown\n  x + 1\n", 0),
        // Mistakes in a later application.
        (
            "data u : 5\ndef f(x) =\n  def g(y) = y + x\n  g(w)\nlet r = f(x)\nlet s = f(x)\nlet t = f(x)\nlet z = f(u)\n",
            0,
        ),
    ] {
        let text = format!("data x : 4\ndata w : 4\n{text}{apply}");
        let program = same(&text, &text, compile);
        assert!(program.replayed >= replayed, "{} replayed of\n{text}", program.replayed);
    }
}

/// Blocks of the library, of which everything is replayed, functions inside of functions included.
#[test]
fn blocks_of_the_library_are_replayed() {
    let text = |layers: usize| {
        format!(
            "data tokens : 2, 16 |\nlet y = tokens |> decoder_only(100, 32, layers = {layers}, heads = 4)\n"
        )
    };
    let counts = |layers: usize| {
        let program = infer("program.loom", &text(layers), &Options::default());
        (program.walked, program.replayed)
    };
    let ((few, some), (many, more)) = (counts(4), counts(8));
    // A block defines a function inside of it, which is replayed, too.
    assert_eq!((many - few, more - some), (0, 18 * 4));
    same(&text(4), "blocks of the library", compile);
}

/// The programs of the suite and of the examples, right and wrong ones.
#[test]
fn programs_of_the_suite_are_replayed_as_walked() {
    let crate_folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut programs: Vec<(String, String)> = Vec::new();
    for (folder, ending) in
        [("tests/suite", "md"), ("../../examples", "loom"), ("../../examples/models", "loom")]
    {
        for entry in std::fs::read_dir(crate_folder.join(folder)).expect("a folder of programs") {
            let path = entry.expect("a file").path();
            if path.extension().is_none_or(|own| own != ending) {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let name = path.to_string_lossy().into_owned();
            match ending {
                "loom" => programs.push((name, text)),
                _ => programs.extend(blocks(&text).map(|block| (name.clone(), block))),
            }
        }
    }
    assert!(programs.len() > 900, "{} programs", programs.len());
    for (name, text) in &programs {
        same(text, name, compile);
    }
}

/// The blocks of a document that are programs.
fn blocks(document: &str) -> impl Iterator<Item = String> {
    let parts = document.split("\n```loom\n").skip(1);
    parts.map(|part| part.split_once("\n```").map_or(part, |(block, _)| block).to_string() + "\n")
}
