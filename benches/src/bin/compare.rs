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
            Ok(times) => report(case, &times, json),
            Err(error) => eprintln!("{}: {error}", case.name),
        }
    }
}

/// The times of many runs, ascending.
fn time(case: &Case, settings: &Settings, seconds: f64, show: bool) -> Result<Vec<f64>, Error> {
    let (mut session, routine) = (case.make)(settings.clone())?;
    if show {
        println!("{}", session.show(&routine)?.1);
    }
    for _ in 0..3 {
        session.run(&routine)?;
    }
    let (start, mut times) = (Instant::now(), Vec::new());
    while times.len() < 7 || start.elapsed() < Duration::from_secs_f64(seconds) {
        let begin = Instant::now();
        session.run(&routine)?;
        times.push(begin.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

fn report(case: &Case, times: &[f64], json: bool) {
    let (best, median) = (times[0], times[times.len() / 2]);
    let (unit, amount, rate) = match case.work {
        Work::Flops(flops) => ("flops", flops, format!("{:7.1} GFLOP/s", flops / best / 1e9)),
        Work::Bytes(bytes) => ("bytes", bytes, format!("{:7.1} GB/s", bytes / best / 1e9)),
    };
    if json {
        println!(
            r#"{{"name": "{}", "peer": "broadloom", "seconds_best": {best:e}, "seconds_median": {median:e}, "{unit}": {amount}}}"#,
            case.name
        );
    } else {
        println!("{:18} best {:9.3} ms  median {:9.3} ms  {rate}", case.name, best * 1e3, median * 1e3);
    }
}
