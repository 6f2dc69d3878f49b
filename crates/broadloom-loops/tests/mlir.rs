//! Nests without a translation are refused by name, and nests without points are left out.

use broadloom_loops::mlir::{Function, module};
use broadloom_loops::optimise::{PassOptions, optimise};
use broadloom_loops::{
    Binary, Buffer, BufferId, Cell, Dtype, Index, LoopSum, Nest, Program, Scalar, Statement, Storage, Unary,
};

fn buffer(name: &str, sizes: &[u64], margins: &[(u64, u64)]) -> Buffer {
    let (sizes, margins) = (sizes.to_vec(), margins.to_vec());
    Buffer {
        name: name.into(),
        dtype: Dtype::F32,
        sizes: sizes.into_iter().map(Into::into).collect(),
        margins,
        fill: 0.0,
        storage: Storage::Kept,
    }
}

fn cell(buffer: BufferId, at: LoopSum) -> Cell {
    Cell { buffer, index: vec![Index::At(at)] }
}

fn written(program: &Program, arguments: &[BufferId], results: &[BufferId]) -> Result<String, String> {
    let ports = |ids: &[BufferId]| ids.iter().map(|id| (*id, String::new())).collect();
    let function = Function {
        name: "f",
        comment: vec!["A function.".into()],
        program,
        arguments: ports(arguments),
        results: ports(results),
        places: vec![],
        symbols: vec![],
    };
    module(&[function]).map_err(|refusal| refusal.to_string())
}

/// `y[i] = x[i + offset]` for `extent` points.
fn copying(extent: u64, size: u64, offset: i64, same: bool) -> (Program, BufferId, BufferId) {
    let mut program = Program::default();
    let x = program.add_buffer(buffer("x", &[size], &[(1, 1)]));
    let y = if same { x } else { program.add_buffer(buffer("y", &[size], &[])) };
    let i = program.add_var("i");
    let value = Scalar::Load(cell(x, LoopSum::new(offset, [(1, i)])));
    let store = Statement::Store { cell: cell(y, LoopSum::iterate(i)), accumulate: None, value };
    let body = vec![store.within([(i, extent)].into_iter())];
    program.nests.push(Nest { comment: "a copy".into(), body });
    (program, x, y)
}

#[test]
fn a_tensor_is_not_read_where_it_is_not_written() {
    let (program, x, _) = copying(3, 3, 1, true);
    let refused = written(&program, &[x], &[x]);
    assert_eq!(refused, Err("a copy: it reads `x` elsewhere than where it writes it".into()));
}

#[test]
fn a_tensor_is_not_read_before_it_is_there() {
    let (program, _, y) = copying(3, 3, 0, false);
    assert_eq!(written(&program, &[], &[y]), Err("a copy: `x` is read before it is written".into()));
}

#[test]
fn margins_that_were_written_to_are_not_read() {
    let (mut program, x, y) = copying(3, 3, 1, false);
    let i = program.add_var("i");
    let target = cell(x, LoopSum::new(-1, [(1, i)]));
    let store = Statement::Store { cell: target, accumulate: Some(Binary::Add), value: Scalar::Number(1.0) };
    let body = vec![store.within([(i, 4)].into_iter())];
    program.nests.insert(0, Nest { comment: "beyond".into(), body });
    let refused = written(&program, &[x], &[y]);
    assert_eq!(refused, Err("a copy: the margins of `x` are read after they were written to".into()));
    // Once they are set again, they can be read.
    let set = Nest { comment: "set".into(), body: vec![Statement::FillMargins { buffer: x, value: 2.5 }] };
    program.nests.insert(1, set);
    let text = written(&program, &[x], &[y]).expect("a module");
    assert!(text.contains("arith.constant 2.5 : f32"), "{text}");
}

#[test]
fn optimised_programs_are_refused() {
    let mut program = Program::default();
    let (x, y) = (program.add_buffer(buffer("x", &[4], &[])), program.add_buffer(buffer("y", &[1], &[])));
    let i = program.add_var("i");
    let value = Scalar::unary(Unary::Exp, Scalar::Load(cell(x, LoopSum::iterate(i))));
    let target = cell(y, LoopSum::fixed(0));
    let store = Statement::Store { cell: target, accumulate: Some(Binary::Add), value };
    let fill = Nest { comment: "0".into(), body: vec![Statement::Fill { buffer: y, value: 0.0 }] };
    program.nests.push(fill);
    let body = vec![store.within([(i, 4)].into_iter())];
    program.nests.push(Nest { comment: "a sum".into(), body });
    assert!(written(&program, &[x], &[y]).is_ok());
    let refused = written(&optimise(&program, &PassOptions::all()), &[x], &[y]).expect_err("variables");
    assert!(refused.contains("only optimised nests have"), "{refused}");
}

#[test]
fn nothing_is_computed_at_no_point() {
    let (program, x, y) = copying(0, 3, 0, false);
    let text = written(&program, &[x], &[y]).expect("a module");
    assert!(!text.contains("linalg.generic") && text.contains("tensor.empty"), "{text}");
    assert!(text.contains("  // A function.\n  func.func @f("), "{text}");
}

#[test]
fn windows_see_what_margins_hold() {
    let (program, x, y) = copying(3, 3, -1, false);
    let text = written(&program, &[x], &[y]).expect("a module");
    assert!(text.contains("%x_padded = tensor.pad %x low[1] high[0] {"), "{text}");
    assert!(text.contains("%x_part = tensor.extract_slice %x_padded[0] [3] [1]"), "{text}");
}
