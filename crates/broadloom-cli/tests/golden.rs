//! The exact output of each command: `tests/golden/NAME.txt`, rewritten by `UPDATE_EXPECT=1`.
//!
//! A case is a name and a command line, in the folder `tests/programs`. `< FILE` at its end is
//! standard input; `tty60` at its front is a terminal with 60 columns, `no_color` sets `NO_COLOR`.
//! Escape characters are shown as `␛`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};

use crate::support::{World, broadloom, examples, loom_files};

const CASES: &[(&str, &str)] = &[
    ("check", "check mlp.loom"),
    ("check_all", "check mlp.loom --all"),
    ("check_set", "check mlp.loom --set hidden=128 --set batch=8"),
    ("check_set_wrong", "check mlp.loom --set hiden=128 --set batch=65"),
    ("check_json", "check convolution.loom --json"),
    ("check_named", "check named.loom"),
    ("check_named_set", "check named.loom --set batch=3 --set seq=24"),
    ("check_named_wrong", "check named.loom --set seq=20"),
    ("check_named_json", "check named.loom --json"),
    ("check_out_of_range", "check out_of_range.loom"),
    ("run_named", "run named.loom"),
    ("run_named_set", "run named.loom --set batch=3 --set seq=24"),
    ("explain_named", "explain named.loom y.batch"),
    ("check_narrowed", "check narrowed.loom"),
    ("check_narrowed_set", "check narrowed.loom --set n=3"),
    ("check_narrowed_json", "check narrowed.loom --json"),
    ("check_declared_twice", "check declared_twice.loom"),
    ("explain_dim", "explain narrowed.loom n"),
    ("explain_dim_json", "explain narrowed.loom n --json"),
    ("explain_dim_set", "explain narrowed.loom n --set n=8"),
    ("explain_dim_relied_on", "explain named.loom seq"),
    ("explain_dim_needed", "explain named.loom layers"),
    ("explain_dim_number", "explain mlp.loom hidden"),
    ("explain_dim_met", "explain narrowed.loom m"),
    ("loops_named", "loops named.loom y --forward"),
    ("check_convolution", "check convolution.loom"),
    ("check_signatures", "check functions.loom --signatures"),
    ("check_signatures_json", "check functions.loom --signatures --json"),
    ("check_signatures_none", "check mlp.loom --signatures"),
    ("explain_function", "explain functions.loom deep"),
    ("explain_function_configured", "explain functions.loom deep(2)"),
    ("explain_function_wrong", "explain functions.loom dense(units=2)"),
    ("check_warnings", "check suspect.loom"),
    ("check_warnings_json", "check suspect.loom --json"),
    ("check_unrunnable", "check unrunnable.loom"),
    ("lint_warnings", "lint suspect.loom --quiet --deny W0505"),
    ("check_mismatch", "check mismatch.loom"),
    ("check_mismatch_chain", "check mismatch.loom --chain"),
    ("check_mismatch_json", "check mismatch.loom --json"),
    ("check_undetermined", "check undetermined.loom"),
    ("check_syntax", "check syntax.loom"),
    ("check_empty", "check empty.loom"),
    ("check_mesh", "check mesh.loom --mesh data=4,model=2 --shard batch=data --shard hidden=model"),
    ("check_mesh_all", "check mesh.loom --mesh data=4,model=2 --shard batch=data --shard hidden=model --all"),
    (
        "check_mesh_json",
        "check mesh.loom --mesh data=4,model=2 --shard batch=data --shard hidden=model --json",
    ),
    (
        "check_mesh_terminal",
        "tty80 check mesh.loom --mesh data=4,model=2 --shard batch=data --shard hidden=model",
    ),
    ("check_mesh_stored", "check mesh.loom --mesh data=8 --shard batch=data --fsdp data"),
    ("check_mesh_stored_unknown", "check mesh.loom --mesh data=4 --shard batch=data --fsdp model"),
    ("memory_mesh_stored", "memory mesh.loom --mesh data=4 --shard batch=data --fsdp data"),
    ("check_mesh_two_axes", "check mesh.loom --mesh model=2 --shard width=model"),
    ("check_mesh_chosen", "check mesh.loom --mesh model=2 --shard width=model --shard turn.output.0=model"),
    (
        "check_mesh_two_requests",
        "check mesh.loom --mesh model=2 --shard hidden=model --shard turn.output.0=model",
    ),
    (
        "check_mesh_two_mesh_axes",
        "check mesh.loom --mesh data=4,model=2 --shard batch=data --shard y.batch.0=model",
    ),
    ("check_mesh_uneven", "check mesh.loom --mesh data=3 --shard batch=data"),
    ("check_mesh_unknown", "check mesh.loom --mesh model=2 --shard hiden=model"),
    ("check_mesh_unknown_axis", "check mesh.loom --mesh model=2 --shard hidden=date"),
    ("check_mesh_label", "check functions.loom --mesh model=2 --shard size=model"),
    (
        "check_mesh_several",
        "check ../../../../examples/language_model.loom --mesh model=2 --shard heads=model",
    ),
    ("check_mesh_wrong", "check mesh.loom --mesh model=0"),
    ("check_mesh_scan", "check ../../../../examples/recurrences.loom --mesh data=8 --shard count=data"),
    ("check_mesh_turns", "check ../../../../examples/recurrences.loom --mesh data=8 --shard length=data"),
    ("check_mesh_gather", "check partial_sums.loom --mesh data=2 --shard n=data"),
    (
        "memory_mesh",
        "memory mesh.loom --mesh data=4,model=2 --shard batch=data --shard hidden=model --fits 1KiB",
    ),
    (
        "memory_mesh_nearly",
        "memory mesh.loom --mesh data=4,model=2 --shard batch=data --shard hidden=model --fits 1703",
    ),
    (
        "memory_mesh_json",
        "memory mesh.loom --mesh data=4,model=2 --shard batch=data --shard hidden=model --json",
    ),
    ("memory_mesh_train", "memory mesh.loom --mesh data=4 --train loss"),
    (
        "emit_mesh",
        "emit --stablehlo --routine step1 mesh.loom --mesh data=4,model=2 --shard batch=data --shard hidden=model",
    ),
    ("check_on_mesh", "check on_mesh.loom"),
    ("check_on_mesh_other", "check on_mesh.loom --mesh data=2,model=1 --shard hidden=data"),
    ("check_on_mesh_lacking", "check on_mesh.loom --mesh data=2"),
    ("check_on_mesh_uneven", "check on_mesh.loom --set batch=6"),
    ("check_on_mesh_none", "check on_mesh.loom --mesh none"),
    ("check_on_mesh_nothing", "check on_mesh.loom --mesh none --shard batch=data"),
    ("check_no_mesh", "check mesh.loom --shard batch=data"),
    ("memory_on_mesh", "memory on_mesh.loom"),
    ("memory_on_mesh_train", "memory on_mesh.loom --train loss"),
    ("emit_on_mesh", "emit on_mesh.loom --stablehlo"),
    ("emit_on_mesh_uneven", "emit on_mesh.loom --stablehlo --set batch=6"),
    ("run_on_mesh", "run on_mesh.loom --backend reference"),
    ("emit_mesh_c", "emit mesh.loom --json --mesh data=2"),
    ("run_processes_uneven", "run mesh.loom --backend xla --mesh data=4 --shard batch=data --processes 3"),
    ("run_processes_no_mesh", "run mesh.loom --backend xla --processes 2"),
    (
        "run_processes_none",
        "run mesh.loom --backend xla --mesh data=4 --processes 2 --coordinator node0:7000 --process 2",
    ),
    (
        "run_processes_place",
        "run mesh.loom --backend xla --mesh data=4 --processes 2 --coordinator node0 --process 1",
    ),
    ("run_mesh_native", "run mesh.loom --mesh data=2 --shard batch=data"),
    ("check_stdin", "check - < mismatch.loom"),
    ("check_terminal", "tty100 check mlp.loom"),
    ("check_terminal_wrong", "tty100 check mismatch.loom"),
    ("check_narrow", "tty48 no_color check mlp.loom"),
    ("check_no_color", "tty100 no_color check mismatch.loom"),
    ("check_color_never", "tty100 --color never check mlp.loom"),
    ("check_color_always", "no_color check --color always mlp.loom"),
    ("shapes", "shapes mlp.loom"),
    ("shapes_all", "shapes mlp.loom --all --at 12"),
    ("shapes_at_2", "shapes partial.loom --at 2"),
    ("shapes_at_3", "shapes partial.loom --at 3"),
    ("shapes_at_4", "shapes partial.loom --at 4"),
    ("shapes_block", "shapes line.loom --at 6"),
    ("shapes_json", "shapes partial.loom --at 2 --json"),
    ("shapes_nothing", "shapes empty.loom"),
    ("explain_forced", "explain mlp.loom layer.w.input.0"),
    ("explain_chosen", "explain mlp.loom layer.w.output.0"),
    ("explain_row", "explain mlp.loom w_out.output"),
    ("explain_no_axes", "explain mlp.loom layer.b.batch"),
    ("explain_whole", "explain mlp.loom b_out"),
    ("explain_place", "explain mlp.loom x.1"),
    ("explain_unit", "explain mlp.loom loss"),
    ("explain_window", "explain convolution.loom y.output.0"),
    ("explain_label", "explain convolution.loom y.kw"),
    ("explain_basis", "explain convolution.loom kernel.2"),
    ("explain_json", "explain mlp.loom layer.w.input.0 --json"),
    ("explain_terminal", "tty60 explain mlp.loom w_out.output.0"),
    ("explain_unknown", "explain mlp.loom layer.v"),
    ("explain_no_axis", "explain mlp.loom layer.w.input.1"),
    ("explain_no_number", "explain mlp.loom layer.w.middle"),
    ("explain_mismatch", "explain mismatch.loom w.output.0"),
    ("run", "run line.loom --backend reference"),
    ("run_plot", "run line.loom --backend reference --plot"),
    ("run_quiet", "tty80 run line.loom --backend reference --quiet"),
    ("run_json", "run diverges.loom --backend reference --json"),
    ("run_diverges", "run diverges.loom --backend reference --plot"),
    ("run_no_values", "run no_values.loom --backend reference"),
    ("run_mismatch", "run mismatch.loom"),
    ("run_data_unknown", "run no_values.loom --data y=y.npy"),
    ("run_data_missing", "run no_values.loom --data x=nowhere.npy"),
    ("run_data", "run arrays_run.loom --backend reference --data arrays/good.npz"),
    (
        "run_data_several",
        "run arrays_run.loom --backend reference --data arrays/x.npy --data arrays/rest.npz --data target=arrays/target.csv",
    ),
    (
        "run_data_strangers",
        "run columns.loom --backend reference --data arrays/points.csv --data arrays/good.npz",
    ),
    ("run_data_wrong", "run arrays_run.loom --backend reference --data arrays/wrong.npz --json"),
    ("run_load_missing", "run line.loom --load nowhere.safetensors"),
    ("run_save_nowhere", "run line.loom --save nowhere/line.safetensors"),
    ("loops", "loops mlp.loom"),
    ("loops_of", "loops mlp.loom layer.sum"),
    ("loops_forward", "loops convolution.loom --forward"),
    ("loops_library", "loops towers.loom"),
    ("loops_json", "loops dense.loom y --json"),
    ("loops_optimised", "loops line.loom --optimised"),
    ("loops_data", "loops mlp.loom x"),
    ("loops_unknown", "loops mlp.loom logit"),
    ("loops_mismatch", "loops mismatch.loom"),
    ("loops_terminal", "tty80 loops dense.loom"),
    ("graph", "graph dense.loom"),
    ("graph_json", "graph towers.loom --json"),
    ("graph_all_json", "graph towers.loom --all --of left --depth 3 --json"),
    ("graph_unknown", "graph mlp.loom --of logit"),
    ("graph_too_large", "graph deep.loom"),
    ("graph_part", "graph deep.loom --of y --depth 1 --json"),
    ("graph_mismatch", "graph mismatch.loom"),
    ("graph_empty", "graph empty.loom"),
    ("memory", "memory training.loom --planned"),
    ("memory_forward", "memory mlp.loom --planned"),
    ("memory_fits", "memory training.loom --planned --fits 8GiB"),
    ("memory_does_not_fit", "memory training.loom --planned --fits 1MB --json"),
    ("memory_fits_unlimited", "memory unlimited.loom --planned --fits 1MB"),
    ("memory_fits_unlimited_json", "memory unlimited.loom --planned --fits 1MB --json"),
    ("memory_fits_range", "memory named.loom --planned --fits 1MB"),
    ("memory_wrong_size", "memory mlp.loom --fits much"),
    ("memory_empty", "memory empty.loom --planned"),
    ("verify", "verify arrays.loom --inputs arrays/good.npz"),
    (
        "verify_several",
        "verify arrays.loom --inputs arrays/x.npy --inputs arrays/rest.npz --inputs target=arrays/target.csv",
    ),
    ("verify_columns", "verify columns.loom --inputs arrays/points.csv"),
    ("verify_wrong", "verify arrays.loom --inputs arrays/wrong.npz"),
    ("verify_wrong_json", "verify arrays.loom --inputs arrays/wrong.npz --json"),
    ("verify_json", "verify arrays.loom --inputs arrays/good.npz --json"),
    ("verify_nothing_given", "verify arrays.loom"),
    ("verify_own_values", "verify line.loom"),
    ("verify_no_data", "verify empty.loom"),
    ("verify_named_sizes", "verify named_sizes.loom --inputs arrays/good.npz"),
    ("verify_named_sizes_disagree", "verify named_sizes.loom --inputs arrays/disagree.npz"),
    ("verify_named_sizes_range", "verify named_sizes.loom --inputs arrays/large.npz"),
    ("verify_named_sizes_set", "verify named_sizes.loom --inputs arrays/good.npz --set batch=16"),
    ("verify_mismatch", "verify mismatch.loom --inputs arrays/good.npz"),
    ("verify_missing", "verify arrays.loom --inputs nowhere.npz"),
    ("verify_no_such_array", "verify arrays.loom --inputs x=arrays/rest.npz"),
    ("lint", "lint loose.loom"),
    ("lint_quiet", "lint loose.loom --quiet"),
    ("lint_denied", "lint mlp.loom --deny w0501"),
    ("lint_not_denied", "lint mlp.loom --deny all"),
    ("lint_wrong_code", "lint mlp.loom --deny E0101"),
    ("lint_json", "lint loose.loom --deny all --json"),
    ("lint_mismatch", "lint mismatch.loom"),
    ("emit_mlir", "emit convolution.loom --mlir"),
    ("emit_mlir_reductions", "emit reductions.loom --mlir"),
    ("emit_mlir_nothing", "emit empty.loom --mlir"),
    ("emit_lean", "emit dense.loom --lean"),
    ("emit_lean_function", "emit functions.loom --lean --function scaled"),
    ("emit_lean_no_function", "emit functions.loom --lean --function nothing"),
    ("emit_interface", "emit functions.loom --interface"),
    ("emit_interface_changed", "emit functions.loom --interface --check functions.loomi"),
    ("emit_interface_other", "emit functions.loom --interface --check functions.loom"),
    ("emit_json", "emit dense.loom --json"),
    ("emit_nothing", "emit dense.loom"),
    ("emit_c_nowhere", "emit dense.loom --c"),
    ("examples_explain", "explain ../../../../examples/attention.loom heads.out.output.0"),
    ("examples_loops", "loops ../../../../examples/convolution.loom --forward"),
    ("examples_graph", "graph ../../../../examples/xor.loom --json"),
    ("examples_emit", "emit ../../../../examples/block_matrices.loom --mlir"),
    ("examples_run", "run ../../../../examples/shortest_paths.loom --backend reference"),
    ("examples_mistakes", "check ../../../../examples/mistakes/mistake.loom --chain"),
    ("fmt_stdin", "fmt - < untidy.loom"),
    ("fmt_check", "fmt --check untidy.loom mlp.loom syntax.loom"),
    ("fmt_syntax", "fmt - < syntax.loom"),
    ("highlight", "highlight - < untidy.loom"),
    ("highlight_css", "highlight --css"),
    ("highlight_json", "highlight syntax.loom --json"),
    ("solve", "solve ../../../../examples/layer.rows"),
    ("solve_json", "solve ../../../../examples/clash.rows --json"),
    ("no_file", "check nowhere.loom"),
    ("folder", "check ."),
    ("wrong_flag", "check mlp.loom --al"),
    ("wrong_command", "chek mlp.loom"),
    ("wrong_size", "check mlp.loom --set hidden=none"),
    ("wrong_line", "shapes mlp.loom --at 0"),
    ("wrong_backend", "run mlp.loom --backend gpu"),
    ("no_command", ""),
    ("help", "--help"),
    ("help_check", "check --help"),
    ("help_shapes", "shapes --help"),
    ("help_explain", "explain --help"),
    ("help_run", "run --help"),
    ("help_fmt", "fmt --help"),
    ("help_loops", "loops --help"),
    ("help_graph", "graph --help"),
    ("help_memory", "memory --help"),
    ("help_verify", "verify --help"),
    ("help_lint", "lint --help"),
    ("help_emit", "emit --help"),
    ("help_highlight", "highlight --help"),
    ("help_solve", "solve --help"),
    ("help_cache", "cache --help"),
    ("help_completions", "completions --help"),
    ("help_lsp", "lsp --help"),
    ("help_tour", "tour --help"),
];

/// A trial for every case and every example.
pub fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = CASES
        .iter()
        .map(|(name, line)| Trial::test(format!("golden::{name}"), move || check(name, &[*line])))
        .collect();
    for example in loom_files(&examples()) {
        let stem = example.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let file = format!("../../../../examples/{stem}.loom");
        let lines = [
            format!("check {file}"),
            format!("shapes {file}"),
            format!("lint {file}"),
            format!("memory {file} --planned"),
        ];
        trials.push(Trial::test(format!("golden::examples::{stem}"), move || {
            check(&format!("examples/{stem}"), &lines.each_ref().map(String::as_str))
        }));
    }
    trials.push(Trial::test("golden::no_golden_file_without_a_case", no_file_without_a_case));
    trials
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn check(name: &str, lines: &[&str]) -> Result<(), Failed> {
    let shown: Vec<String> = lines.iter().map(|line| transcript(line)).collect();
    let file = folder().join(format!("{name}.txt"));
    expect_test::ExpectFile { path: file, position: file!() }.assert_eq(&shown.join("\n"));
    Ok(())
}

/// A command line, and its output.
fn transcript(line: &str) -> String {
    let mut world = World::default();
    let mut rest = line;
    while let Some((word, after)) = rest.split_once(' ') {
        match word.strip_prefix("tty").and_then(|columns| columns.parse().ok()) {
            Some(columns) => world.terminal = Some(columns),
            None if word == "no_color" => world.no_color = true,
            None => break,
        }
        rest = after;
    }
    let (arguments, stdin) = rest.split_once(" < ").unwrap_or((rest, ""));
    if !stdin.is_empty() {
        world.stdin = std::fs::read(stdin).expect("a program");
    }
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let said = broadloom(&arguments, &world);
    let mut out = format!("$ broadloom {rest}\n{}", said.stdout);
    if !said.stderr.is_empty() {
        let _ = write!(out, "--- standard error\n{}", said.stderr);
    }
    if said.status != 0 {
        let _ = writeln!(out, "--- exit status {}", said.status);
    }
    out.replace('\u{1b}', "␛").replace('\r', "␍")
}

fn no_file_without_a_case() -> Result<(), Failed> {
    let names: Vec<String> = std::fs::read_dir(folder())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .map(|path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
        .filter(|name| CASES.iter().all(|(known, _)| known != name))
        .collect();
    if names.is_empty() { Ok(()) } else { Err(format!("no case writes {}", names.join(", ")).into()) }
}
