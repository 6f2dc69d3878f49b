//! Times every command that reads a program on longer and longer programs, and fits the growth of
//! the time.
//!
//! Each measurement is a process of its own, with a limit: a command that hangs or overflows its
//! stack is a line of the table and does not end it. Times are processor times, so that other load
//! on the machine does not matter. The exponent is the slope of time over length in logarithms,
//! after the time for the shortest program is subtracted; 1 is linear.

use std::io::{Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use broadloom_bench::growing::{FAMILIES, Family};
use broadloom_bench::measures::processor_time;
use broadloom_cli::{Console, Silent, run};

/// The lengths of programs, in statements.
const LENGTHS: [usize; 5] = [250, 500, 1000, 2000, 4000];

/// The limit for the time of a command on one program.
const LIMIT: Duration = Duration::from_secs(10);

/// The limit for waiting, if other processes keep the processors busy.
const PATIENCE: Duration = Duration::from_secs(40);

/// An exponent above this is marked: n log n has a slope of about 1.15 between these lengths.
const STEEP: f64 = 1.3;

/// An exponent above this is a failure with `--strict`: the machine may have been busy with something else.
const TOO_STEEP: f64 = 1.6;

/// Differences smaller than this are lost in the noise of starting a process.
const NOISE: f64 = 0.01;

/// The commands that read a program from standard input.
const COMMANDS: &[&[&str]] = &[
    &["check", "-"],
    &["check", "-", "--json"],
    &["shapes", "-", "--all"],
    &["explain", "-", "last"],
    &["lint", "-"],
    &["fmt", "-"],
    &["loops", "-"],
    &["loops", "-", "--optimised"],
    &["memory", "-", "--planned"],
    &["graph", "-"],
    &["graph", "-", "--of", "last"],
    &["verify", "-"],
    &["emit", "-", "--json"],
    &["emit", "-", "--mlir"],
    &["emit", "-", "--stablehlo"],
    &["emit", "-", "--lean"],
    &["emit", "-", "--c", "-o", "OUT"],
    &["run", "-", "--backend", "reference"],
];

/// `growth [--strict] [WORD…]`: the rows that contain one of the words, or all. With `--strict` a
/// row that is much too steep is a failure.
fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "--command") {
        return command(&arguments[1..]);
    }
    let strict = arguments.iter().any(|word| word == "--strict");
    arguments.retain(|word| word != "--strict");
    let named =
        |text: &str| arguments.is_empty() || arguments.iter().any(|word| text.contains(word.as_str()));
    println!("| program | command |{} exponent |", LENGTHS.map(|length| format!(" {length} |")).concat());
    println!("|---|---|{}---:|", "---:|".repeat(LENGTHS.len()));
    let (mut steep, mut too_steep) = (0, 0);
    for family in FAMILIES {
        for command in COMMANDS {
            let line = format!("{} {}", family.name, command.join(" "));
            if named(&line) {
                let exponent = row(family, command).unwrap_or(0.0);
                steep += usize::from(exponent > STEEP);
                too_steep += usize::from(exponent > TOO_STEEP);
            }
        }
    }
    println!("\n{steep} of these grow faster than n^{STEEP}.");
    if strict && too_steep > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Runs a command in this process; the parent measures it.
fn command(arguments: &[String]) -> ExitCode {
    let (mut stdin, mut nobody) = (std::io::stdin(), Silent);
    let mut console = Console::new(&mut stdin, &mut nobody);
    let output = run(["broadloom"].into_iter().chain(arguments.iter().map(String::as_str)), &mut console);
    eprintln!("{}\n{}", processor_time().as_secs_f64(), output.stderr.lines().next().unwrap_or_default());
    ExitCode::from(output.status.code())
}

/// Measures a command on programs of all lengths, prints a row of the table, and returns the exponent.
fn row(family: &Family, command: &[&str]) -> Option<f64> {
    // Without arrays `verify` reports that there are none.
    let wrong = family.wrong || command.contains(&"verify");
    let empty = seconds(command, &(family.write)(1), wrong).unwrap_or(0.0);
    let mut points = Vec::new();
    let mut cells = String::new();
    let mut end = None;
    for length in LENGTHS {
        if end.is_none() {
            match seconds(command, &(family.write)(length), wrong) {
                Ok(time) => {
                    points.push((length as f64, (time - empty).max(0.0)));
                    cells.push_str(&format!(" {time:.3} |"));
                    continue;
                }
                Err(why) => end = Some(why),
            }
        }
        cells.push_str(" – |");
    }
    points.retain(|(_, time)| *time > NOISE);
    let exponent = slope(&points);
    let is_steep = exponent.is_some_and(|exponent| exponent > STEEP);
    let shown = exponent.map_or("–".to_string(), |exponent| format!("{exponent:.2}"));
    let mark = if is_steep { " **steep**" } else { "" };
    let words: Vec<&str> =
        command.iter().copied().filter(|word| !["-", "-o", "OUT"].contains(word)).collect();
    let end = end.map_or(String::new(), |end| format!(" {end}"));
    println!("| {} | {} |{cells} {shown}{mark}{end} |", family.name, words.join(" "));
    exponent
}

/// The least time of a few runs of a command on a program, or the reason why there is none.
fn seconds(command: &[&str], program: &str, wrong: bool) -> Result<f64, String> {
    let first = once(command, program, wrong)?;
    if first > LIMIT.as_secs_f64() {
        return Err(format!("{first:.0} s"));
    }
    let more = if first < 0.5 { 2 } else { 0 };
    (0..more).try_fold(first, |best, _| Ok(best.min(once(command, program, wrong)?)))
}

/// Runs a command once, in a process of its own.
fn once(command: &[&str], program: &str, wrong: bool) -> Result<f64, String> {
    let folder = std::env::temp_dir().join(format!("broadloom-growth-{}", std::process::id()));
    let out = folder.to_string_lossy().into_owned();
    let arguments = command.iter().map(|word| if *word == "OUT" { out.as_str() } else { word });
    let start = Instant::now();
    let mut child = Command::new(std::env::current_exe().map_err(|error| error.to_string())?)
        .arg("--command")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    child.stdin.take().map(|mut stdin| stdin.write_all(program.as_bytes()));
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if start.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("more than {} s", PATIENCE.as_secs()));
            }
            None => std::thread::sleep(Duration::from_micros(500)),
        }
    };
    let wall = start.elapsed().as_secs_f64();
    let _ = std::fs::remove_dir_all(&folder);
    let mut said = String::new();
    child.stderr.take().map(|mut stderr| stderr.read_to_string(&mut said));
    let (time, message) = said.split_once('\n').unwrap_or_default();
    match status.code() {
        Some(1) if !wrong => Err(message.trim().chars().take(60).collect()),
        Some(0 | 1) => Ok(time.parse().ok().filter(|time: &f64| time.is_finite()).unwrap_or(wall)),
        Some(_) => Err(message.trim().chars().take(60).collect()),
        None => Err(format!("**{status}**")),
    }
}

/// The slope of the best line through points, in logarithms.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    if points.len() < 2 {
        return None;
    }
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let above: f64 = logs.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let below: f64 = logs.iter().map(|point| (point.0 - x).powi(2)).sum();
    Some(above / below)
}
