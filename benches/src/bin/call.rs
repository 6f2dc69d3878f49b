//! One call of a small program from Rust, beside which `python/benchmarks/call.py` sets the same call from Python: `call`.
//!
//! An array is given to a program that is ready, everything that can be computed from it is computed, and the result is taken out: what
//! `p(x=array)["y"]` does. Prints the least time of a call in microseconds.

use std::process::ExitCode;
use std::time::Instant;

use broadloom::{Array, GivenValues, Settings};
use broadloom_lang::{Available, Options, Ready, compile};

/// The program of `call.py`.
const PROGRAM: &str = "data x : 8\nlet y = 2 * x\n";
const ROUNDS: usize = 2_000;
const CALLS: u32 = 100;

fn main() -> ExitCode {
    match least() {
        Ok(microseconds) => {
            println!("{microseconds:.2}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn least() -> Result<f64, String> {
    let settings = Settings { threads: Some(1), ..Settings::default() };
    let program = compile("call.loom", PROGRAM, &Options::default());
    let mut ready = program.ready(&settings).map_err(|wrong| wrong.message.to_string())?;
    let x = Array::from_slice(&[8], &[1.0f32; 8]).map_err(|error| error.to_string())?;
    ready.give(&[("x", GivenValues::Copied(&x))]).map_err(|wrong| wrong.message.to_string())?;
    let available = ready.available();
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        for _ in 0..CALLS {
            call(&mut ready, &available, &x)?;
        }
        least = least.min(begun.elapsed().as_secs_f64() / f64::from(CALLS) * 1e6);
    }
    Ok(least)
}

fn call(ready: &mut Ready, available: &Available, x: &Array) -> Result<(), String> {
    ready.give(&[("x", GivenValues::Copied(x))]).map_err(|wrong| wrong.message.to_string())?;
    ready.compute(&available.routine).map_err(|wrong| wrong.message.to_string())?;
    for (_, tensor) in &available.tensors {
        let block = ready.session.take(*tensor).map_err(|error| error.to_string())?;
        std::hint::black_box(block.sizes());
    }
    ready.session.give_back();
    Ok(())
}
