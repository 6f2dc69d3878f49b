//! Emitted programs are readable by others: C compiles, and MLIR has a body for every nest (`mlir`
//! tests that it is valid).

use crate::support;

use std::path::PathBuf;
use std::process::Command;

use support::{World, broadloom, examples, loom_files, programs};

fn path(file: PathBuf) -> String {
    file.to_str().expect("a path in UTF-8").to_string()
}

/// A folder of its own for a test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

#[test]
fn c_compiles() {
    // Without a compiler the test is skipped.
    if Command::new("cc").arg("--version").output().is_err() {
        return;
    }
    for name in ["training.loom", "dense.loom", "convolution.loom"] {
        let out = folder(&format!("emit-{name}"));
        let file = path(programs().join(name));
        let said = broadloom(&["emit", &file, "--c", "-o", &path(out.clone())], &World::default());
        assert_eq!(said.status, 0, "{}", said.stderr);
        let files: Vec<&str> = said.stdout.lines().collect();
        assert!(files.len() >= 2 && files.len().is_multiple_of(2), "{}", said.stdout);
        for source in files.iter().filter(|file| file.ends_with(".c")) {
            let made = Command::new("cc")
                .args(["-std=c11", "-O1", "-c", source, "-o", &path(out.join("out.o"))])
                .output()
                .expect("a compiler");
            assert!(made.status.success(), "{source}: {}", String::from_utf8_lossy(&made.stderr));
        }
    }
}

/// Output that holds only for one size names that size.
#[test]
fn sizes_are_said() {
    let out = folder("emit-sizes");
    let file = path(programs().join("named.loom"));
    let line = ["emit", &file, "--set", "batch=3", "-o", &path(out.clone())];
    for format in ["--c", "--lean"] {
        let said = broadloom(&[&line[..], &[format]].concat(), &World::default());
        assert_eq!(said.status, 0, "{}", said.stderr);
    }
    let first = |name: &str| {
        let text = std::fs::read_to_string(out.join(name)).expect("a file");
        text.lines().next().map(str::to_string)
    };
    let said = |sizes: &str, sign: &str| Some(format!("{sign} The program at {sizes}, and no other size."));
    assert_eq!(first("print1.h"), said("batch = 3, seq = 16, layers = 2", "//"));
    let lean = std::fs::read_to_string(out.join("Named.lean")).expect("a file");
    let lean: Vec<&str> = lean.lines().take(2).collect();
    assert_eq!(lean[0], "-- The program at all sizes: `seq in 8..`, where `seq` is a multiple of 8.");
    assert_eq!(Some(lean[1].to_string()), said("`batch` = 3, `layers` = 2", "--"));
    // A name that certificates must not have is changed in the comment, too.
    let program = out.join("names.loom");
    std::fs::write(&program, "dim prefix in 1..9 = 4\ndata x : prefix = ones\nprint sum(x)\n")
        .expect("a file");
    let said = broadloom(&["emit", &path(program.clone()), "--lean"], &World::default());
    assert_eq!(said.stdout.lines().next(), Some("-- The program at all sizes: `prefix_ in 1..9`."));
    let said = broadloom(&["emit", &path(program), "--lean", "--set", "prefix=4"], &World::default());
    assert_eq!(said.stdout.lines().next(), Some("-- The program at `prefix_` = 4, and no other size."));
}

/// Every `linalg.generic` of the examples has a map for each operand, iterator types, and a body.
/// `mlir` tests the results of the modules.
#[test]
fn mlir_has_a_generic_for_each_operation() {
    for file in loom_files(&examples()).into_iter().map(path) {
        let mlir = broadloom(&["emit", &file, "--mlir"], &World::default());
        assert_eq!(mlir.status, 0, "{file}: {}", mlir.stderr);
        let text = &mlir.stdout;
        assert!(text.contains("func.func @forward("), "{file}");
        for part in text.split("= linalg.generic {").skip(1) {
            let maps = part.split("],").next().unwrap_or_default().matches("affine_map<(").count();
            let operands = part.lines().find(|line| line.contains("outs(")).unwrap_or_default();
            assert_eq!(maps, operands.matches("tensor<").count(), "{file}: {part}");
            assert!(part.contains("iterator_types = [") && part.contains("linalg.yield"), "{file}: {part}");
        }
    }
}

/// Gradients are not part of the forward pass; the module says so, and `--routines` has them.
#[test]
fn mlir_says_what_is_not_there() {
    let file = path(examples().join("gradients.loom"));
    let forward = broadloom(&["emit", &file, "--mlir"], &World::default()).stdout;
    let routines = broadloom(&["emit", &file, "--mlir", "--routines"], &World::default()).stdout;
    assert_eq!(forward.matches("func.func @").count(), 1);
    assert!(routines.matches("func.func @").count() > 1);
    let out = folder("emit-mlir-gradients");
    std::fs::create_dir_all(&out).expect("a folder");
    let program = out.join("used.loom");
    let text =
        "let w = {w : 2 = ones}\nlet loss = sum(w * w)\nbackward loss\nlet next = w - w.grad\nprint next\n";
    std::fs::write(&program, text).expect("a file");
    let said = broadloom(&["emit", &path(program), "--mlir"], &World::default()).stdout;
    let first = said.lines().next();
    assert_eq!(first, Some("// Not here, because of gradients, but among the routines: next"));
    assert!(!said.contains("%next"));
}

/// Programs, and what their modules of StableHLO contain. What has a `!` before it is not there.
const RECOGNISED: &[(&str, &[&str])] = &[
    (
        "print einsum(\"b, i, j; b, j, k => b, i, k\", a, b)",
        &[
            "stablehlo.dot_general",
            "batching_dims = [0] x [0], contracting_dims = [2] x [2]",
            "HIGHEST",
            "!gather",
        ],
    ),
    (
        "print einsum(\"b, i, j; b, j, k => b, i, k\", a, b, reduce = \"max\", combine = \"+\")",
        &["applies stablehlo.maximum across dimensions", "!dot_general"],
    ),
    (
        "print einsum(\"2*o<+k; k => o\", x, w)",
        &["stablehlo.convolution", "stride = [2]", "rhs_dilate = [1]"],
    ),
    (
        "print einsum(\"o=+2*k; k => o\", x, w)",
        &["stablehlo.pad", "stablehlo.convolution", "rhs_dilate = [2]"],
    ),
    (
        "print einsum(\"o; k => 2*o<+k\", x, w)",
        &["stablehlo.convolution", "lhs_dilate = [2]", "stablehlo.reverse"],
    ),
    (
        "print einsum(\"o=+k, c; k, c => o, c\", square, square)",
        &["stablehlo.convolution", "feature_group_count = 3"],
    ),
    (
        "let pooled = max(\"3*o<+k => o\", x)\nset pooled.k = 3\nprint pooled",
        &["stablehlo.reduce_window", "window_strides = array<i64: 3>", "!gather"],
    ),
    ("print einsum(\"i, j => 3*i<+j\", square)", &["stablehlo.reshape", "!scatter"]),
    ("print einsum(\"i, j; i, k => i, j^k\", square, square)", &["stablehlo.concatenate"]),
    ("print einsum(\"i, j => j, i\", square)", &["stablehlo.transpose", "!broadcast"]),
    ("print einsum(\"i, i => i\", square)", &["stablehlo.gather"]),
    (
        "data ids : 5 | = [3, 0, 1, 1, 2]\nprint gather({t : 4 -> 3}, ids)",
        &["stablehlo.gather", "\"checks\""],
    ),
    ("print x * range(\"i\")", &["stablehlo.iota"]),
    // Sums of products of short floats are made in their type, without 32-bit floats before or after.
    (
        "data s : 4 | 3 as bf16 = uniform(0, 1)\nprint {v : ... -> 2 as bf16 = ones} @ s",
        &["(tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<2x4xbf16>", "[DEFAULT, DEFAULT]", "!f32"],
    ),
    (
        "data s : 9 as f16 = uniform(0, 1)\ndata k : 3 as f16 = ones\nprint einsum(\"o<+k; k => o\", s, k)",
        &["stablehlo.convolution", "(tensor<1x1x9xf16>, tensor<3x1x1xf16>) -> tensor<1x1x7xf16>", "!f32"],
    ),
    // A sum that somebody else reads has all its digits.
    (
        "data s : 4 | 3 as bf16 = uniform(0, 1)\nprint sum({v : ... -> 2 as bf16 = ones} @ s) / 3",
        &["(tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<2x4xbf16>", "applies stablehlo.add", "tensor<f32>"],
    ),
    // Long factors beside short ones make a long product.
    (
        "data s : 4 | 3 as bf16 = uniform(0, 1)\nprint {v : ... -> 2 as f32 = ones} @ s",
        &["(tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>", "[HIGHEST, HIGHEST]"],
    ),
    (
        "print noise() + x",
        &["func.call @uniform_9", "%key: tensor<2xui32>", "stablehlo.shift_left", "!i64", "!f64"],
    ),
];

/// Operations are read back from index maps.
#[test]
fn stablehlo_is_recognised() {
    let out = folder("emit-stablehlo");
    std::fs::create_dir_all(&out).expect("a folder");
    let head = "data a : 2, 3, 4 = uniform(0, 1)\ndata b : 2, 4, 5 = uniform(0, 1)\ndata x : 9 = uniform(0, 1)\ndata w : 3 = ones\n\
                data square : 3, 3 = uniform(0, 1)\n";
    for (at, (text, wanted)) in RECOGNISED.iter().enumerate() {
        let program = out.join(format!("{at}.loom"));
        std::fs::write(&program, format!("{head}{text}\n")).expect("a file");
        let said = broadloom(&["emit", &path(program), "--stablehlo"], &World::default());
        assert_eq!(said.status, 0, "{text}: {}", said.stderr);
        for part in *wanted {
            let (part, there) = part.strip_prefix('!').map_or((*part, true), |part| (part, false));
            assert_eq!(said.stdout.contains(part), there, "{text}: {part}\n{}", said.stdout);
        }
    }
}

/// A routine is chosen by its name; another name is answered with those there are.
#[test]
fn stablehlo_of_a_routine() {
    let file = path(examples().join("xor.loom"));
    let emit = |name: &str| broadloom(&["emit", &file, "--stablehlo", "--routine", name], &World::default());
    let step = emit("step1");
    assert!(step.stdout.starts_with("// `step1`, of the routines `forward`, `step1`"), "{}", step.stdout);
    assert!(step.stdout.contains("{jax.result_info = \"layer.w\"}"), "{}", step.stdout);
    let refused = emit("walk");
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("no routine `walk`; it has `forward`, `step1`"), "{}", refused.stderr);
}

/// The precision of products is a choice for 32-bit floats. Products of 64-bit floats and of `bf16` have one.
#[test]
fn stablehlo_of_a_precision() {
    let out = folder("emit-precision");
    std::fs::create_dir_all(&out).expect("a folder");
    let program = out.join("products.loom");
    let text = "data x : 4 | 3 = uniform(0, 1)\ndata s : 9 = uniform(0, 1)\ndata k : 3 = ones\ndata l : 4 | 3 as f64 = ones\n\
                print {w : ... -> 2 as f32 = ones} @ x, einsum(\"o<+k; k => o\", s, k)\n\
                print {long : ... -> 2 as f64 = ones} @ l, {short : ... -> 2 as bf16 = ones} @ bf16(x)\n";
    std::fs::write(&program, text).expect("a file");
    let file = path(program);
    let emit = |precision: &[&str]| {
        let words: Vec<&str> = ["emit", &file, "--stablehlo"].iter().chain(precision).copied().collect();
        broadloom(&words, &World::default())
    };
    let usual = emit(&[]).stdout;
    for (name, word) in [("highest", "HIGHEST"), ("high", "HIGH"), ("default", "DEFAULT")] {
        let made = emit(&["--precision", name]).stdout;
        let long =
            format!("precision = [{word}, {word}] : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>");
        assert!(made.contains(&long), "{made}");
        assert!(made.contains(&format!("#stablehlo<precision {word}>]}} : (tensor<1x1x9xf32>")), "{made}");
        assert!(made.contains("precision = [HIGHEST, HIGHEST] : (tensor<2x3xf64>"), "{made}");
        assert!(made.contains("precision = [DEFAULT, DEFAULT] : (tensor<2x3xbf16>"), "{made}");
        let said = format!("// Products of 32-bit floats have the precision `{name}`.");
        assert_eq!(made.contains(&said), name != "highest", "{made}");
        assert_eq!(made == usual, name == "highest");
    }
    let rounded = emit(&["--precision", "bf16"]).stdout;
    assert!(rounded.contains("(tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<2x4xf32>"), "{rounded}");
    assert!(rounded.contains("(tensor<1x1x9xbf16>, tensor<3x1x1xbf16>) -> tensor<1x1x7xf32>"), "{rounded}");
    assert!(rounded.contains("precision = [HIGHEST, HIGHEST] : (tensor<2x3xf64>"), "{rounded}");
    let refused = emit(&["--precision", "tf32"]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("one of `highest`, `high`, `default`, `bf16`"), "{}", refused.stderr);
    let others = [
        &["emit", &file, "--c", "-o", "out", "--precision", "bf16"][..],
        &["run", &file, "--precision", "high"],
    ];
    for words in others {
        let refused = broadloom(words, &World::default());
        assert_eq!(refused.status, 2, "{words:?}");
        let needed = if words[0] == "emit" { "--stablehlo" } else { "only XLA has a choice of precision" };
        assert!(refused.stderr.contains(needed), "{}", refused.stderr);
    }
}

/// A module holds for one size of each name, and says which.
#[test]
fn mlir_says_sizes() {
    let file = path(programs().join("named.loom"));
    let said = broadloom(&["emit", &file, "--mlir", "--set", "batch=3"], &World::default());
    let first = said.stdout.lines().next();
    assert_eq!(first, Some("// The program at batch = 3, seq = 16, layers = 2, and no other size."));
    assert!(said.stdout.contains("tensor<3x16x"), "{}", said.stdout);
}

/// With `-o` the same text goes to a file.
#[test]
fn files_are_written() {
    let out = folder("emit-files");
    std::fs::create_dir_all(&out).expect("a folder");
    let file = path(programs().join("dense.loom"));
    for (format, name) in [("--mlir", "partial.mlir"), ("--json", "partial.json")] {
        let shown = broadloom(&["emit", &file, format], &World::default());
        let target = path(out.join(name));
        let written = broadloom(&["emit", &file, format, "-o", &target], &World::default());
        assert_eq!((written.status, written.stdout.as_str()), (0, ""));
        assert_eq!(std::fs::read_to_string(&target).expect("a file"), shown.stdout);
    }
    let nowhere = path(out.join("no/where.json"));
    let refused = broadloom(&["emit", &file, "--json", "-o", &nowhere], &World::default());
    assert_eq!(refused.status, 2);
}

/// With `-o`, Lean gets a project: the theory of the repository, and the certificate that is
/// otherwise printed.
#[test]
fn lean_is_a_project() {
    let out = folder("emit-lean");
    let file = path(programs().join("dense.loom"));
    let shown = broadloom(&["emit", &file, "--lean"], &World::default());
    let written = broadloom(&["emit", &file, "--lean", "-o", &path(out.clone())], &World::default());
    assert_eq!((shown.status, written.status), (0, 0), "{}{}", shown.stderr, written.stderr);
    assert_eq!(written.stdout.lines().count(), 9);
    let read = |name: &str| std::fs::read_to_string(out.join(name)).expect("a file of the project");
    assert_eq!(read("Dense.lean"), shown.stdout);
    let theory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../verification/lean");
    let files =
        ["GroundAlgebra.lean", "Certificate.lean", "Forms.lean", "Ranges.lean", "TensorDimensions.lean"];
    for name in files.into_iter().chain(["lean-toolchain"]) {
        assert_eq!(read(name), std::fs::read_to_string(theory.join(name)).expect("the theory"));
    }
    assert!(read("lakefile.toml").contains("\"Dense\"]"));
    assert!(
        read("README.md").contains("#print axioms Dense.certificate") && !read("README.md").contains("NAME")
    );
    // All imported modules are in the project.
    for name in files.into_iter().chain(["Dense.lean"]) {
        let text = read(name);
        let imports = text.lines().filter_map(|line| line.split_once("import "));
        let there = |module: &str| out.join(format!("{module}.lean")).is_file();
        assert!(
            imports.filter(|(before, _)| ["", "public "].contains(before)).all(|(_, module)| there(module))
        );
    }
    // All files that it names exist.
    assert!(written.stdout.lines().all(|line| PathBuf::from(line).is_file()), "{}", written.stdout);
}
