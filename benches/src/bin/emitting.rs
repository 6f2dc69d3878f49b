//! Times modules of StableHLO: from a graph whose shapes are known to the text, for the forward pass and for a step of training.
//!
//! Each case runs in a process of its own, and the time is the least that processors spend on it. What comes before, from the text of
//! the program to its shapes, is `blocks`.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use broadloom::{Backend, Routine, Session, Settings};
use broadloom_bench::measures::{operations, processor_time};
use broadloom_lang::{Options, compile};

const USAGE: &str = "\
usage: emitting [--sizes N,N,...]
       emitting --only FAMILY N ROUTINE     one module once, for profilers
       emitting --case FAMILY N ROUTINE     one line of the table

families: decoder, layers, convolutions
routines: forward, step1
";

/// A family, the number of operations of one of its layers, and its program.
type Family = (&'static str, usize, fn(usize) -> String);

const FAMILIES: [Family; 3] =
    [("decoder", 53, decoder), ("layers", 3, layers), ("convolutions", 4, convolutions)];
const ROUTINES: [&str; 2] = ["forward", "step1"];

/// About so many operations of the graph.
const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];

/// Runs are repeated until they add up to this time, but at least and at most these numbers of times.
const BUDGET: Duration = Duration::from_secs(3);
const MIN_RUNS: usize = 3;
const MAX_RUNS: usize = 100;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        ["--only", family, size, routine] => prepared(family, size, routine).and_then(|mut case| {
            let text = emitted(&mut case.session, &case.routine)?;
            println!("{} operations, {} lines", case.operations, text.lines().count());
            Ok(())
        }),
        ["--case", family, size, routine] => {
            prepared(family, size, routine).and_then(|case| measured(family, routine, case))
        }
        ["--sizes", sizes] => all(&sizes.split(',').collect::<Vec<_>>()),
        [] => all(&SIZES.map(|size| size.to_string()).each_ref().map(String::as_str)),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{}", message.trim_end());
            ExitCode::FAILURE
        }
    }
}

/// The table.
fn all(sizes: &[&str]) -> Result<(), String> {
    println!("| family | routine | operations | written | ms | µs/operation | µs/written | bytes/written |");
    println!("|---|---|---:|---:|---:|---:|---:|---:|");
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    for (family, ..) in FAMILIES {
        for routine in ROUTINES {
            for size in sizes {
                let status = Command::new(&program).args(["--case", family, size, routine]).status();
                if !status.map_err(|error| error.to_string())?.success() {
                    return Err(format!("{family} {size} failed"));
                }
            }
        }
    }
    Ok(())
}

/// A program that is ready to be written.
struct Case {
    session: Session,
    routine: Routine,
    /// The number of tensors of the graph that are not leaves.
    operations: usize,
}

fn prepared(family: &str, size: &str, routine: &str) -> Result<Case, String> {
    let size: usize = size.parse().map_err(|_| USAGE.to_string())?;
    let (_, each, text) = FAMILIES.into_iter().find(|known| known.0 == family).ok_or(USAGE)?;
    let text = text(size.div_ceil(each).max(1));
    let program = compile("emitting.loom", &text, &Options::default());
    if let Some(wrong) = program.diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        return Err(wrong.message.clone());
    }
    let routine = match routine {
        "forward" => program.forward().0,
        name => program.plan.routines.iter().find(|known| known.name() == name).ok_or(USAGE)?.clone(),
    };
    let operations = operations(&program.graph);
    let settings = Settings { backend: Backend::Reference, ..Settings::default() };
    let session = Session::with(program.graph, settings).map_err(|error| error.to_string())?;
    Ok(Case { session, routine, operations })
}

/// The work that is timed. It has a name of its own for profilers.
#[inline(never)]
fn emitted(session: &mut Session, routine: &Routine) -> Result<String, String> {
    session.stablehlo(routine).map_err(|error| error.to_string())
}

/// Prints a line of the table.
fn measured(family: &str, routine: &str, mut case: Case) -> Result<(), String> {
    let (start, mut best, mut runs, mut text) = (Instant::now(), Duration::MAX, 0, String::new());
    while runs < MIN_RUNS || (runs < MAX_RUNS && start.elapsed() < BUDGET) {
        let begun = processor_time();
        text = emitted(&mut case.session, &case.routine)?;
        best = best.min(processor_time().saturating_sub(begun));
        runs += 1;
    }
    let written = text.lines().filter(|line| line.contains("stablehlo.")).count();
    let micros = best.as_secs_f64() * 1e6;
    println!(
        "| {family} | {routine} | {} | {written} | {:.1} | {:.2} | {:.2} | {:.0} |",
        case.operations,
        micros / 1e3,
        micros / case.operations as f64,
        micros / written as f64,
        text.len() as f64 / written as f64,
    );
    Ok(())
}

/// A decoder-only transformer of the library.
fn decoder(blocks: usize) -> String {
    format!(
        "data tokens : 2, 16 | as i32\nlet logits = decoder_only(1000, 64, layers = {blocks}, heads = 4, hidden = 128)(tokens)\n\
         let loss = next_token_loss(logits, tokens)\nrepeat 2:\n  minimise loss by sgd(0.01)\n"
    )
}

/// A perceptron.
fn layers(count: usize) -> String {
    format!(
        "data x : 2 | 64\ndef layer()(x) = relu({{w : ... -> 64}} @ x + {{b : 64}})\nlet y = x |> [layer() for i in 0..{count}]\n{TRAINED}"
    )
}

/// Convolutions with a way around each.
fn convolutions(count: usize) -> String {
    format!(
        "data x : 2 | 8, 8, 16\ndef block()(x) = x + relu(conv2d(16, 3)(x))\nlet y = x |> [block() for i in 0..{count}]\n{TRAINED}"
    )
}

const TRAINED: &str =
    "let loss = mean(\"... | ... => |\", square(y))\nrepeat 2:\n  minimise loss by sgd(0.01)\n";
