//! Modules of small programs of loops: what is refused, and what a reader of `checks` relies on. Modules are run by the tests of
//! `broadloom` and of the command.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use broadloom_loops::mlir::{Function, Supplied};
use broadloom_loops::{
    Binary, Buffer, BufferId, Cell, Dtype, Index, LoopSum, LoopVar, Nest, Program, Scalar, Statement, Storage,
};
use broadloom_xla::{Check, Input, Module, Refusal, module};

fn buffer(program: &mut Program, name: &str, dtype: Dtype, sizes: &[u64]) -> BufferId {
    let sizes = sizes.iter().map(|size| (*size).into()).collect();
    let (margins, storage) = (Vec::new(), Storage::Kept);
    program.add_buffer(Buffer { name: name.into(), dtype, sizes, margins, fill: 0.0, storage })
}

fn cell(buffer: BufferId, vars: &[LoopVar]) -> Cell {
    Cell { buffer, index: vars.iter().map(|var| Index::At(LoopSum::iterate(*var))).collect() }
}

/// The module of a program that reads its first buffer and returns its second.
fn written(program: &Program, symbols: Vec<Supplied>) -> Result<Module, Refusal> {
    let (arguments, results) = (vec![(BufferId(0), "x".into())], vec![(BufferId(1), "y".into())]);
    let (name, comment, places) = ("main", Vec::new(), Vec::new());
    module(&Function { name, comment, program, arguments, results, places, symbols })
}

/// `y` accumulates the three numbers of `x`.
fn accumulated(dtype: Dtype, by: Binary) -> Result<Module, Refusal> {
    let mut program = Program::default();
    let x = buffer(&mut program, "x", Dtype::F32, &[3]);
    let y = buffer(&mut program, "y", dtype, &[]);
    let i = program.add_var("i");
    let value = Scalar::Load(cell(x, &[i]));
    let store = Statement::Store { cell: cell(y, &[]), accumulate: Some(by), value };
    let body = vec![Statement::Fill { buffer: y, value: 0.0 }, store.within([(i, 3)].into_iter())];
    program.nests.push(Nest { comment: "y from x".into(), body });
    written(&program, Vec::new())
}

#[test]
fn order_that_matters_is_refused() {
    let refusal = accumulated(Dtype::F32, Binary::Mod).unwrap_err();
    assert_eq!(refusal.to_string(), "y from x: it accumulates several values by `mod`");
    assert_eq!(refusal.at, Some(0));
    let refusal = accumulated(Dtype::I32, Binary::Add).unwrap_err();
    assert_eq!(refusal.reason, "it accumulates numbers with fractions in the integers of `y`");
    assert!(accumulated(Dtype::F32, Binary::Add).unwrap().text.contains("applies stablehlo.add"));
    // The greatest number can be rounded at the end.
    assert!(accumulated(Dtype::I32, Binary::Max).unwrap().text.contains("applies stablehlo.maximum"));
}

#[test]
fn a_recurrence_is_refused() {
    let mut program = Program::default();
    let x = buffer(&mut program, "x", Dtype::F32, &[3]);
    let y = buffer(&mut program, "y", Dtype::F32, &[4]);
    let i = program.add_var("i");
    let before = Scalar::Load(cell(y, &[i]));
    let value = Scalar::binary(Binary::Add, before, Scalar::Load(cell(x, &[i])));
    let next = Cell { buffer: y, index: vec![Index::At(LoopSum::new(1, [(1, i)]))] };
    let store = Statement::Store { cell: next, accumulate: None, value };
    let fill = Statement::Fill { buffer: y, value: 0.0 };
    let body = vec![fill, store.within([(i, 3)].into_iter())];
    program.nests.push(Nest { comment: "running sums".into(), body });
    let refusal = written(&program, Vec::new()).unwrap_err();
    assert_eq!(refusal.to_string(), "running sums: it reads `y` elsewhere than where it writes it");
}

#[test]
fn checks_and_keys_are_said() {
    let mut program = Program { symbols: vec!["key".into()], ..Program::default() };
    let ids = buffer(&mut program, "ids", Dtype::I32, &[5]);
    let y = buffer(&mut program, "y", Dtype::F32, &[5]);
    let i = program.add_var("i");
    let check = Statement::Check { cell: cell(ids, &[i]), below: 7.into(), of: y };
    let value = Scalar::Uniform { key: 0, stream: 9, at: LoopSum::iterate(i) };
    let store = Statement::Store { cell: cell(y, &[i]), accumulate: None, value };
    let body = vec![check.within([(i, 5)].into_iter()), store.within([(i, 5)].into_iter())];
    program.nests.push(Nest { comment: "drawn".into(), body });
    let module = written(&program, vec![Supplied::Key]).unwrap();
    assert_eq!(module.inputs, [Input::Buffer(ids), Input::Key(0)]);
    assert_eq!(module.checks, [Check { buffer: ids, below: 7, of: y }]);
    // What the checks are about is said where readers of the module find it.
    let said = r#"broadloom.checks = [{indices = "ids", sizes = [5], of = "y", below = 7}]"#;
    let result = format!(r#"tensor<1x2xi32> {{jax.result_info = "checks", {said}}}"#);
    assert!(module.text.contains(&result), "{}", module.text);
    assert_eq!(module.text.matches("func.func private @uniform_5(").count(), 1);
    // Nothing in it has 64 bits.
    assert!(!module.text.contains("i64>") && !module.text.contains("f64>"), "{}", module.text);
}
