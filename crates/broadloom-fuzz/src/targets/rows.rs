//! Systems of constraints: parsed, printed and parsed again, and solved.

use broadloom_diagnostics::{Sources, Style, decode, render_all};
use broadloom_rows::parse;
use broadloom_rows::solve::{Output, SolveOptions, Status, run};

use super::{about, fingerprint};

/// The number of branches that a search may try: enough to enter it, too few to stay long.
const BRANCHES: u64 = 50;

/// The names to explain.
const NAMES: [&str; 6] = ["a", "b", "r", "s", "t", "w_out"];

pub(crate) fn check(bytes: &[u8]) -> u64 {
    match decode(bytes.to_vec()) {
        Ok(text) => {
            read(&text);
            solve(&text)
        }
        Err(error) => fingerprint(error.render("fuzz.rows").len()),
    }
}

/// Asserts that a parsed system can be printed and parsed again.
fn read(text: &str) {
    let parsed = parse(text);
    let sources = Sources::one("fuzz.rows", text);
    let messages = render_all(&sources, &parsed.diagnostics, parsed.suppressed, Style::default());
    assert_eq!(messages.is_empty(), parsed.is_ok());
    let printed = parsed.system.to_string();
    let again = parse(&printed);
    if parsed.is_ok() {
        assert!(again.is_ok(), "printed text does not parse:\n{printed}");
        assert_eq!(again.system.to_string(), printed);
    }
}

/// Asserts that the answers for people and for programs
/// agree, in repeated runs and with explanations.
fn solve(text: &str) -> u64 {
    let solve = |options: &SolveOptions| -> Output { run("fuzz.rows", text, options) };
    let options = SolveOptions { branches: BRANCHES, ..SolveOptions::default() };
    let json = solve(&SolveOptions { json: true, ..options.clone() });
    let people = solve(&options);
    assert_eq!(json.status, people.status);
    let silent = matches!(people.status, Status::Solved);
    assert_eq!(people.stderr.is_empty(), silent, "{}", people.stderr);
    assert_eq!(solve(&options), people, "two runs differ");
    if matches!(people.status, Status::Solved | Status::Underdetermined) {
        let known = |name: &&str| json.stdout.contains(&format!("\"{name}\":"));
        let explain = NAMES.into_iter().filter(known).map(String::from).collect();
        let explained = solve(&SolveOptions { explain, ..options });
        assert_eq!(explained.status, people.status);
    }
    // The beginning of the first line of a message stands for the kind of the answer.
    let message: String = people.stderr.lines().next().unwrap_or_default().chars().take(24).collect();
    fingerprint((people.status as u8, message, about(people.stdout.len())))
}
