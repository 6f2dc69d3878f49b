//! Times programs run by the native backend, for `bench/compare`.
//!
//! `compare [--json] [--threads N] [--seconds S] [NAME…]`

use std::time::{Duration, Instant};

use broadloom::{Backend, Error, Settings};
use broadloom_bench::runs::{CASES, Case, Work};

fn main() {
    let mut names = Vec::new();
    let (mut json, mut show, mut threads, mut seconds) = (false, false, None, 2.0);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => json = true,
            "--show" => show = true,
            "--threads" => threads = arguments.next().and_then(|text| text.parse().ok()),
            "--seconds" => seconds = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(seconds),
            name => names.push(name.to_string()),
        }
    }
    let settings = Settings { backend: Backend::Native, threads, ..Settings::default() };
    let chosen =
        CASES.iter().filter(|case| names.is_empty() || names.iter().any(|name| case.name.contains(name)));
    for case in chosen {
        match time(case, &settings, seconds, show) {
            Ok(times) => report(case, "broadloom", &times, json),
            Err(error) => eprintln!("{}: {error}", case.name),
        }
        #[cfg(feature = "peers")]
        if let Some(n) = case.name.strip_prefix("matmul_").and_then(|n| n.parse().ok()) {
            report(case, "gemm", &repeat(seconds, gemm_crate(n, threads)), json);
        }
    }
}

/// The times of many runs, ascending.
fn time(case: &Case, settings: &Settings, seconds: f64, show: bool) -> Result<Vec<f64>, Error> {
    let (mut session, routine) = (case.make)(settings.clone())?;
    if show {
        println!("{}", session.show(&routine)?.1);
    }
    // A mistake shows in the first run.
    session.run(&routine)?;
    Ok(repeat(seconds, || {
        let _ = session.run(&routine);
    }))
}

/// Repeats something for some time, after a warm-up. Returns the time of each run, ascending.
fn repeat(seconds: f64, mut run: impl FnMut()) -> Vec<f64> {
    for _ in 0..2 {
        run();
    }
    let (start, mut times) = (Instant::now(), Vec::new());
    while times.len() < 7 || start.elapsed() < Duration::from_secs_f64(seconds) {
        let begin = Instant::now();
        run();
        times.push(begin.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times
}

/// The product of two square matrices by the `gemm` crate.
#[cfg(feature = "peers")]
#[allow(unsafe_code, reason = "the crate takes pointers")]
fn gemm_crate(n: usize, threads: Option<usize>) -> impl FnMut() {
    let (a, b, mut c) = (vec![0.5f32; n * n], vec![0.25f32; n * n], vec![0.0f32; n * n]);
    let threads = threads.or_else(|| std::thread::available_parallelism().map(usize::from).ok()).unwrap_or(1);
    let parallel = if threads > 1 { gemm::Parallelism::Rayon(threads) } else { gemm::Parallelism::None };
    let row = n as isize;
    move || {
        // SAFETY: the three matrices have n rows of n elements.
        unsafe {
            gemm::gemm(
                n,
                n,
                n,
                c.as_mut_ptr(),
                1,
                row,
                false,
                a.as_ptr(),
                1,
                row,
                b.as_ptr(),
                1,
                row,
                0.0,
                1.0,
                false,
                false,
                false,
                parallel,
            );
        }
    }
}

fn report(case: &Case, peer: &str, times: &[f64], json: bool) {
    let (best, median) = (times[0], times[times.len() / 2]);
    let (unit, amount, rate) = match case.work {
        Work::Flops(flops) => ("flops", flops, format!("{:7.1} GFLOP/s", flops / best / 1e9)),
        Work::Bytes(bytes) => ("bytes", bytes, format!("{:7.1} GB/s", bytes / best / 1e9)),
    };
    if json {
        println!(
            r#"{{"name": "{}", "peer": "{peer}", "seconds_best": {best:e}, "seconds_median": {median:e}, "{unit}": {amount}}}"#,
            case.name
        );
    } else {
        println!(
            "{:18} {peer:10} best {:9.3} ms  median {:9.3} ms  {rate}",
            case.name,
            best * 1e3,
            median * 1e3
        );
    }
}
