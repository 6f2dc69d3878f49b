//! The models of `examples/models` with the weights of small checkpoints, compared with what PyTorch computes with them.
//! `models/make.py` makes both.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};

use broadloom::files::{OpenTensors, write_safetensors};
use broadloom::{Array, GivenValues, Routine, Settings};
use broadloom_lang::{Options, Program, Ready, RunControl, compile, warnings};

/// The difference that rounding in another order makes.
const TOLERANCE: f64 = 1e-5;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models")
}

/// A model of the examples with weights.
fn read(example: &str, weights: &Path) -> Program {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let text = std::fs::read_to_string(examples.join(format!("{example}.loom"))).unwrap();
    let options = Options { folder: examples, load: Some(weights.to_path_buf()), ..Options::default() };
    let mut program = compile(&format!("{example}.loom"), &text, &options);
    let told: Vec<String> = program.diagnostics.iter().map(|each| each.message.clone()).collect();
    assert!(program.is_ok(), "{example}: {told:?}");
    let warned: Vec<String> = warnings(&mut program).into_iter().map(|each| each.message).collect();
    assert_eq!(warned, Vec::<String>::new(), "{example}");
    program
}

fn golden(weights: &str, name: &str) -> Array {
    let file = OpenTensors::open(folder().join(format!("{weights}.golden.safetensors"))).unwrap();
    file.read(name).unwrap().unwrap()
}

/// A program that has been given an input of the checkpoint.
fn given(program: Program, weights: &str, input: (&str, &str)) -> Ready {
    let mut ready = program.ready(&Settings::default()).map_err(|wrong| wrong.message).unwrap();
    let values = golden(weights, input.1);
    ready.give(&[(input.0, GivenValues::Copied(&values))]).map_err(|wrong| wrong.message).unwrap();
    ready
}

fn close(example: &str, ours: &Array, theirs: &Array) {
    assert_eq!(ours.sizes(), theirs.sizes(), "{example}");
    for (at, (a, b)) in ours.to_f64s().into_iter().zip(theirs.to_f64s()).enumerate() {
        assert!(
            (a - b).abs() <= TOLERANCE * b.abs().max(1.0),
            "{example}: element {at} is {a}, and {b} in PyTorch"
        );
    }
}

/// A tensor of a model computed from an input is the one that PyTorch computes.
fn check(example: &str, weights: &str, input: &str, output: (&str, &str)) {
    check_file(example, &folder().join(format!("{weights}.safetensors")), weights, input, output);
}

fn check_file(example: &str, file: &Path, weights: &str, input: &str, output: (&str, &str)) {
    let program = read(example, file);
    let tensor = program.find(output.0).unwrap();
    let mut ready = given(program, weights, (input, input));
    let mut routine = Routine::new("output");
    routine.forward(tensor);
    ready.compute(&routine).map_err(|wrong| wrong.message).unwrap();
    close(example, &ready.session.get(tensor).unwrap(), &golden(weights, output.1));
}

/// A state after the run is what PyTorch comes to step by step.
fn check_run(example: &str, weights: &str, input: (&str, &str), output: (&str, &str)) -> Vec<String> {
    let program = read(example, &folder().join(format!("{weights}.safetensors")));
    let tensor = program.find(output.0).unwrap();
    let mut ready = given(program, weights, input);
    let mut lines: Vec<String> = Vec::new();
    let ended = ready.go(&RunControl::default(), &mut lines);
    assert!(ended.outcome.is_ok(), "{:?}", ended.outcome.err().map(|wrong| wrong.message));
    close(example, &ready.session.get(tensor).unwrap(), &golden(weights, output.1));
    lines
}

#[test]
fn gpt2() {
    check("gpt2", "gpt2", "prompt", ("logits", "logits"));
    let lines = check_run("gpt2", "gpt2", ("prompt", "prompt"), ("text", "text"));
    let text = golden("gpt2", "text").to_f64s();
    assert_eq!(lines, text[1..].iter().map(f64::to_string).collect::<Vec<_>>());
}

#[test]
fn llama() {
    check("llama", "llama", "prompt", ("logits", "logits"));
    check_run("llama", "llama", ("prompt", "prompt"), ("text", "text"));
}

#[test]
fn bert() {
    check("bert", "bert", "tokens", ("logits", "logits"));
}

#[test]
fn vit() {
    check("vit", "vit", "image", ("logits", "logits"));
}

#[test]
fn resnet() {
    check("resnet", "resnet", "images", ("logits", "logits"));
}

#[test]
fn unet() {
    check("unet", "unet", "image", ("noise", "noise"));
}

#[test]
fn diffusion() {
    check_run("diffusion", "unet", ("start", "image"), ("sample", "sample"));
}

#[test]
fn mobilenet() {
    check("mobilenet", "mobilenet", "images", ("logits", "logits"));
}

#[test]
fn mixtral() {
    check("mixtral", "mixtral", "prompt", ("logits", "logits"));
    check_run("mixtral", "mixtral", ("prompt", "prompt"), ("text", "text"));
}

#[test]
fn t5() {
    check("t5", "t5", "tokens", ("logits", "logits"));
    check_run("t5", "t5", ("tokens", "tokens"), ("written", "text"));
}

#[test]
fn swin() {
    check("swin", "swin", "image", ("logits", "logits"));
}

#[test]
fn graph_attention() {
    check("gat", "gat", "x", ("logits", "logits"));
}

/// A checkpoint in several files with an index.
#[test]
fn a_checkpoint_in_several_files() {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("sharded-llama");
    std::fs::create_dir_all(&place).unwrap();
    let whole = OpenTensors::open(folder().join("llama.safetensors")).unwrap();
    let names: Vec<&str> = whole.arrays().map(|(name, _)| name).collect();
    let mut entries = Vec::new();
    for (number, part) in names.chunks(names.len().div_ceil(2)).enumerate() {
        let file = format!("model-{number}.safetensors");
        let arrays = part.iter().map(|name| (*name, whole.read(name).unwrap().unwrap()));
        write_safetensors(place.join(&file), arrays, &Default::default()).unwrap();
        entries.extend(part.iter().map(|name| format!("\"{name}\": \"{file}\"")));
    }
    let index = place.join("model.safetensors.index.json");
    std::fs::write(&index, format!("{{\"metadata\": {{}}, \"weight_map\": {{{}}}}}", entries.join(", ")))
        .unwrap();
    check_file("llama", &index, "llama", "prompt", ("logits", "logits"));
}
