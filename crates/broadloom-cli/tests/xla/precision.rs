//! Products of a precision that the user chose, on XLA beside the reference evaluator.

use broadloom::{Backend, Precision, Session, Settings};
use broadloom_lang::{Options, RunOptions, compile};
use libtest_mimic::{Failed, Trial};

use super::keep_running;
use crate::mlir::{First, close};

/// Products of 32-bit floats, and the same with factors that are rounded before.
const PROGRAM: &str = r#"
data x : 5 | 33 = normal(1)
data signal : 4 | 20, 3 = normal(1)
let w = {w : 33 -> 4 = normal(1)}
let k = {k : 3, 3 -> 2 = normal(1)}
let y = w @ x
let z = f32(bf16(w)) @ f32(bf16(x))
let c = einsum("b | o<+d, i; d, i -> f => b | o, f", signal, k)
let e = einsum("b | o<+d, i; d, i -> f => b | o, f", f32(bf16(signal)), f32(bf16(k)))
let p = einsum("b | i; j -> i; i -> k => b | j, k", x, {q : 2 -> 33 = normal(1)}, {r : 33 -> 2 = normal(1)})
print y, z, c, e, p
"#;

/// A trial for each precision, and for other backends.
pub fn trials(missing: bool) -> Vec<Trial> {
    let of = |precision: Precision| {
        let run = move || is_kept(precision).map_err(Failed::from);
        Trial::test(format!("xla::precision::{}", precision.name()), run).with_ignored_flag(missing)
    };
    let refused = || others_refuse().map_err(Failed::from);
    let refused = Trial::test("xla::precision::other_backends", refused).with_ignored_flag(missing);
    Precision::ALL.into_iter().map(of).chain([refused]).collect()
}

fn values(settings: Settings) -> Result<Vec<broadloom::Array>, String> {
    let program = compile("products.loom", PROGRAM, &Options::default());
    let tensors: Vec<_> = ["y", "z", "c", "e"].iter().filter_map(|name| program.find(name)).collect();
    let options = RunOptions { settings, ..RunOptions::default() };
    let mut session = program.run(&options, &mut First).map_err(|wrong| wrong.message.clone())?;
    let values = tensors.into_iter().map(|tensor| session.get(tensor).map_err(|error| error.to_string()));
    values.collect()
}

/// CPUs round nothing unless factors are to be `bf16`: then they are, in products and convolutions.
fn is_kept(precision: Precision) -> Result<(), String> {
    keep_running()?;
    let expected = values(Settings { backend: Backend::Reference, ..Settings::default() })?;
    let made = values(Settings { backend: Backend::Xla, precision, ..Settings::default() })?;
    let ([y, z, c, e], [y2, z2, c2, e2]) = (&expected[..], &made[..]) else { return Err("no values".into()) };
    let (product, convolution) = if precision == Precision::Bf16 { (z, e) } else { (y, c) };
    for (name, expected, made) in [("y", product, y2), ("z", z, z2), ("c", convolution, c2), ("e", e, e2)] {
        close(name, expected, &made.to_f64s())?;
    }
    let differ = |a: &broadloom::Array, b: &broadloom::Array| {
        a.to_f64s().iter().zip(b.to_f64s()).any(|(a, b)| (a - b).abs() > 1e-3)
    };
    if differ(y, z) && differ(c, e) { Ok(()) } else { Err("nothing is rounded".into()) }
}

/// Other backends refuse a precision that only XLA has.
fn others_refuse() -> Result<(), String> {
    let program = compile("products.loom", PROGRAM, &Options::default());
    let (forward, _) = program.forward();
    let settings =
        Settings { backend: Backend::Reference, precision: Precision::High, ..Settings::default() };
    let mut session = Session::with(program.graph, settings).map_err(|error| error.to_string())?;
    match session.run(&forward).map_err(|error| error.to_string()) {
        Err(message) if message.contains("only XLA computes products of the precision `high`") => Ok(()),
        other => Err(format!("{other:?}")),
    }
}
