//! Random programs on XLA: trained for two steps, with the parameters of the judge in the end.
//!
//! They run where `BROADLOOM_PYTHON` names a Python with JAX, and are left out where it is not set. `BROADLOOM_XLA_PROGRAMS=2000` runs more
//! of them, `BROADLOOM_PROGRAM=17` runs one and prints it.
//!
//! XLA's compiler takes most of the time, and a third of that goes into the speed of machine code that runs twice. So XLA is told to leave
//! that out. What it does with operations and their index maps stays the same, and one in fifty programs is compiled as users have it.
//! A process compiles one program at a time, so that there are as many processes as processors.
//!
//! (Without `xla_cpu_use_fusion_emitters` it would take a third of the rest. But then XLA computes values twice with different roundings, so that
//! the gradient of a maximum does not find the value that is equal to it, as in program 7.)

use std::process::{Child, Command, Stdio};

use broadloom::{Backend, Graph, Session, Settings};
use broadloom_testing::{asked, setting};

use crate::programs::{run_share, seeds};

/// The option of XLA that leaves machine code as it is made first.
const SOON: &str = "--xla_backend_optimization_level=0";

/// The variable that tells a process which of the programs are its own: the first one, and the distance to the next.
const SHARE: &str = "BROADLOOM_XLA_SHARE";

/// The word before the numbers of programs of a process.
const COUNTS: &str = "programs-ran-and-passed-over:";

/// One program in so many is compiled as users have it.
const AS_USERS: u64 = 50;

#[test]
fn random_programs_mean_the_same_on_xla() {
    if std::env::var_os("BROADLOOM_PYTHON").is_none() {
        eprintln!("notice: BROADLOOM_PYTHON names no Python with JAX, so nothing runs on XLA");
        return;
    }
    let count = setting("BROADLOOM_XLA_PROGRAMS", 100);
    if let Some((first, stride)) = share() {
        let (ran, passed_over) = on_xla(first, stride, count);
        println!("{COUNTS} {ran} {passed_over}");
        return;
    }
    let processes = if asked("BROADLOOM_PROGRAM").is_some() {
        Vec::new()
    } else {
        let number = std::thread::available_parallelism().map_or(1, |number| number.get() as u64);
        (0..number).map(|first| (first, process(first, number))).collect()
    };
    // All are ended before any is reported, so that none goes on alone.
    let here = std::panic::catch_unwind(|| on_xla(0, AS_USERS, count));
    let (mut wrong, mut ran, mut passed_over) = (String::new(), 0, 0);
    for (first, process) in processes {
        let made = process.wait_with_output().expect("a process that was started ends");
        let said = String::from_utf8_lossy(&made.stdout);
        match counts(&said).filter(|_| made.status.success()) {
            Some(counts) => (ran, passed_over) = (ran + counts.0, passed_over + counts.1),
            None => wrong += &format!("process {first}: {}\n{said}", made.status),
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    println!("{ran} programs ran, {passed_over} were passed over");
    assert!(ran >= passed_over, "{ran} programs ran, {passed_over} were passed over");
    if let Err(panic) = here {
        std::panic::resume_unwind(panic);
    }
}

/// The numbers of programs that a process ran and passed over, in what it printed.
fn counts(said: &str) -> Option<(u64, u64)> {
    let (_, numbers) = said.split_once(COUNTS)?;
    let mut numbers = numbers.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The programs of this process, if another one has started it.
fn share() -> Option<(u64, u64)> {
    let share = std::env::var(SHARE).ok()?;
    let (first, stride) = share.split_once(' ').expect("two numbers");
    Some((first.parse().expect("a number"), stride.parse().expect("a number")))
}

/// A process that runs this test for some of the programs.
fn process(first: u64, stride: u64) -> Child {
    let test = std::thread::current().name().map(str::to_string).expect("tests have names");
    let flags = std::env::var("XLA_FLAGS").unwrap_or_default();
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", &test, "--nocapture"]).env(SHARE, format!("{first} {stride}"));
    command.env("XLA_FLAGS", format!("{flags} {SOON}").trim());
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("this program can be started")
}

fn on_xla(first: u64, stride: u64, count: u64) -> (u64, u64) {
    let xla = Settings { backend: Backend::Xla, ..Settings::default() };
    // The Python process ends with the last session, and takes seconds to start.
    let _kept = Session::with(Graph::new(), xla.clone()).expect("a Python with JAX");
    run_share(seeds(first, stride, count), &[xla])
}
