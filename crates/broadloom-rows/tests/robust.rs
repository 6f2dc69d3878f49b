//! No input may panic, hang or exhaust memory: generated and extreme systems given to `solve::run`.
//!
//! Cases are timed. A limit far above what they take turns a hang into a failure.

use std::fmt::Write;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use broadloom_rows::solve::Status::{self, *};
use broadloom_rows::solve::{SolveOptions, run};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// The time that a large case may take before it counts as a hang; each should take a second or
/// two.
const LIMIT: Duration = Duration::from_secs(20);

/// The memory that the whole test run may reach, where the system reports it.
const MOST_MEMORY_KIB: u64 = 4 << 20;

/// Solves a large system within the limits, as JSON and for people.
fn large(text: String) -> Status {
    let (send, receive) = mpsc::channel();
    let start = Instant::now();
    std::thread::spawn(move || {
        let json = run("large.rows", &text, &SolveOptions { json: true, ..small_budget() });
        let people = run("large.rows", &text, &small_budget());
        assert_eq!(json.status, people.status);
        let _ = send.send(people.status);
    });
    let status = receive.recv_timeout(LIMIT);
    eprintln!("{status:?} in {:.2?}", start.elapsed());
    let memory = most_memory_kib();
    assert!(memory < MOST_MEMORY_KIB, "{memory} KiB");
    status.unwrap_or_else(|error| panic!("{error} after {:.2?}", start.elapsed()))
}

/// One test a line: name, text, and the statuses it may end with.
macro_rules! large {
    ($($name:ident: $text:expr => $($status:ident)|+;)*) => { $(
        #[test]
        fn $name() {
            let status = large($text);
            assert!([$($status),+].contains(&status), "{status:?}");
        }
    )* };
}

/// The high-water mark of this process's memory, zero where it is not known.
fn most_memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn small_budget() -> SolveOptions {
    SolveOptions { branches: 200, ..SolveOptions::default() }
}

/// One line for each number.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, at| {
        let _ = writeln!(text, "{}", line(at));
        text
    })
}

/// One line for each number and the next, around a cycle.
fn cycle(count: usize, line: impl Fn(usize, usize) -> String) -> String {
    lines(count, |at| line(at, (at + 1) % count))
}

/// One line for each of the leaves `a0`, `a1`, …
fn leaves(count: usize, line: impl Fn(usize) -> String) -> String {
    lines(count, |at| format!("leaf a{at}\n{}", line(at)))
}

/// A row of the same axis again and again.
fn axes(count: usize, axis: &str) -> String {
    vec![axis; count].join(", ")
}

fn row_chain() -> String {
    lines(20_000, |at| format!("[..r{}..] <= [..r{at}..]", at + 1))
}

large! {
    deep_chain: row_chain() => Solved;
    deep_chain_clash: format!("{}[..r0..] <= [3, 5]\n[3, 4] <= [..r20000..]\n", row_chain()) => Unsatisfiable;
    deep_chain_leaf: format!("{}leaf ..r0..\n[..r20000..] ~ [3, 4]\n", row_chain()) => Solved;
    deep_chain_markers: format!("{}[..r0..] ~ [3, <>, 4]\n", row_chain()) => Solved;
    growing_equalities: lines(20_000, |at| format!("[..r{}..] ~ [..r{at}.., 1]", at + 1)) => Solved | GaveUp;
    growing_inequalities: lines(20_000, |at| format!("[..r{}..] <= [..r{at}.., 1]", at + 1)) => Solved | GaveUp;
    growing_variables: lines(2_000, |at| format!("[..r{}..] ~ [..r{at}.., a{at}]", at + 1)) => Solved | GaveUp;
    growing_clash: {
        let chain = lines(2_000, |at| format!("[..r{}..] ~ [..r{at}.., 1]", at + 1));
        format!("{chain}[..r2000..] ~ [{}]\n", axes(2_000, "2"))
    } => Unsatisfiable | GaveUp;
    long_rank_cycle: cycle(20_000, |at, next| format!("[..r{at}..] <= [..r{next}..]")) => Solved;
    long_rank_cycle_clash: {
        let cycle = cycle(20_000, |at, next| format!("[..r{at}..] <= [..r{next}..]"));
        format!("{cycle}[..r5..] <= [2, ..r6..]\n")
    } => Unsatisfiable;
    many_nested: lines(50_000, |at| format!("[..r{at}..] ~ [1, ..s{at}..]")) => Solved;
    many_aliases: lines(50_000, |at| format!("[..r{}..] ~ [..r{}..]", 50_000 - at, 49_999 - at)) => Solved;
    rank_cycle_of_growth: cycle(1_000, |at, next| format!("[..r{at}..] <= [..r{next}.., 2]")) => Unsatisfiable;
    occurs_check: cycle(1_000, |at, next| format!("[..r{at}..] ~ [2, ..r{next}..]")) => Unsatisfiable;
    // Every line raises all ranks before it: too many steps to wait for.
    long_rank_cycle_of_growth: cycle(20_000, |at, next| format!("[..r{at}..] <= [..r{next}.., 2]")) => Unsatisfiable | GaveUp;
    long_occurs_check: cycle(20_000, |at, next| format!("[..r{at}..] ~ [2, ..r{next}..]")) => Unsatisfiable | GaveUp;
}

large! {
    wide_row: format!("[..r..] ~ [{}]\n", axes(100_000, "2")) => Solved;
    wide_equality: format!("[{0}] ~ [{0}]\n", axes(100_000, "2")) => Solved;
    wide_clash: format!("[{0}, 3] <= [{0}, 4]\n", axes(100_000, "2")) => Unsatisfiable;
    wide_leaf: format!("leaf ..r..\n[{}] <= [..r..]\n", axes(100_000, "2")) => Solved;
    wide_param: format!("param ..r..\n[{}] <= [..r..]\n", axes(100_000, "a")) => Underdetermined;
    wide_markers: format!("[..r..] ~ [{0}]\n[{0}, 3] <= [..r..]\n", axes(10_000, "2")) => Solved | GaveUp;
    wide_names: {
        let names: Vec<String> = (0..100_000).map(|at| format!("a{at}")).collect();
        format!("[{}] ~ [{}]\n", names.join(", "), axes(100_000, "2"))
    } => Solved;
    long_result: format!("[..r..] <= [{}]\n", axes(50_000, "1")) => Solved;
    long_period: format!("[{0}, ..r..] ~ [..r.., {0}]\n", axes(50_000, "1")) => Solved;
    long_period_clash: format!("[3, {0}, ..r..] ~ [..r.., {0}, 5]\n", axes(50_000, "1")) => Unsatisfiable | GaveUp;
    long_period_short_clash: format!("[3, {0}, ..r..] ~ [..r.., {0}, 5]\n", axes(300, "1")) => Unsatisfiable | GaveUp;
}

large! {
    equality_cycle: cycle(100_000, |at, next| format!("a{at} = a{next}")) => Solved;
    equality_cycle_size: cycle(100_000, |at, next| format!("a{at} = a{next}")) + "a7 = 3\n" => Solved;
    equality_cycle_clash: cycle(100_000, |at, next| format!("a{at} = a{next}")) + "a7 = 3\na9 = 5\n" => Unsatisfiable;
    adjacency_cycle: cycle(100_000, |at, next| format!("a{at} <= a{next}")) => Solved;
    long_core: {
        let chain = lines(50_000, |at| format!("a{at} = a{}", at + 1));
        format!("a0 = 3\n{chain}a50000 = 5\n")
    } => Unsatisfiable;
    long_core_of_inequalities: {
        let chain = lines(50_000, |at| format!("a{at} <= a{}", at + 1));
        format!("a50000 <= 3\n{chain}5 <= a0\n")
    } => Unsatisfiable;
    long_core_of_rows: {
        let chain = lines(20_000, |at| format!("[..r{at}..] ~ [..r{}..]", at + 1));
        format!("[..r0..] ~ [3]\n{chain}[..r20000..] ~ [5]\n")
    } => Unsatisfiable;
    long_core_of_searched_rows: {
        let chain = lines(1_000, |at| format!("[..r{at}..] ~ [..r{}..]", at + 1));
        format!("[3, ..r0..] ~ [..r0.., 3]\n{chain}[5, ..r1000..] ~ [..r1000.., 5]\n[..r7..] <= [_]\n")
    } => Unsatisfiable | GaveUp;
    leaves_on_one_interior: leaves(50_000, |at| format!("c <= a{at}\n{} <= a{at}", at % 7 + 2)) => Solved;
    leaves_that_agree: leaves(50_000, |at| format!("c <= a{at}\n3 <= a{at}")) => Solved;
    leaves_in_a_chain: leaves(50_000, |at| format!("a{} <= a{at}\n{} <= a{at}", at + 1, at % 7 + 2)) => Solved;
    leaves_with_pairwise_rivals: {
        leaves(20_000, |at| format!("c{at} <= a{at}\nc{at} <= a{}\n{} <= a{at}", at + 1, at % 2 + 2))
    } => Solved;
    leaf_under_many_results: {
        let uses = lines(20_000, |at| format!("[..r{at}..] <= [..s..]\n[..r{at}..] <= [{}]", at % 7 + 2));
        format!("leaf ..s..\n{uses}")
    } => Solved;
}

/// A word of a given length over five sizes, turned by some axes.
fn word(length: usize, turn: usize) -> String {
    let letters: Vec<String> = (0..length).map(|at| ((at + turn) % length % 5 + 1).to_string()).collect();
    letters.join(", ")
}

const PRIMES: [usize; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

large! {
    rotations: lines(20, |at| {
        format!("[{}, ..r{at}..] ~ [..r{at}.., {}]", word(at + 1, 0), word(at + 1, at / 2))
    }) => Solved | Unsatisfiable | GaveUp;
    prime_periods: PRIMES.map(|p| format!("[3, {0}, ..r..] ~ [..r.., {0}, 3]\n", axes(p - 1, "5"))).concat() => Solved | Unsatisfiable | GaveUp;
    prime_rotations: PRIMES.map(|p| format!("[{}, ..r..] ~ [..r.., {}]\n", word(p, 0), word(p, 1))).concat() => Solved | Unsatisfiable | GaveUp;
    prime_shifts: {
        PRIMES.map(|p| format!("a = 3\n[{}, ..r..] <= [..r.., {}, 4]\n", axes(p, "a"), axes(p - 1, "b"))).concat()
    } => Solved | Unsatisfiable | GaveUp;
    prime_shifts_of_many: {
        let shift = |p| format!("[{}, ..r{p}..] ~ [..r.., {}]\n", word(p, 0), word(p, 1));
        PRIMES.map(shift).concat() + "[..r..] <= [_, _, _]\n"
    } => Solved | Unsatisfiable | GaveUp;
    shifts_around_a_cycle: cycle(20, |at, next| {
        let shift = axes(at + 1, "3");
        format!("[{shift}, ..r{at}..] ~ [..r{next}.., {shift}]\n[..r{at}..] <= [_, 5, _]")
    }) => Solved | Unsatisfiable | GaveUp;
    crossing_inequalities: cycle(20, |at, next| {
        format!("[{}, ..r{at}..] <= [..r{next}.., 7]", word(at % 4 + 1, 0))
    }) => Solved | Unsatisfiable | GaveUp;
    markers_around_a_cycle: cycle(30, |at, next| {
        let shares = format!("[..s{at}..] <= [..r{at}..]\n[..s{at}..] <= [..r{next}..]");
        format!("[..r{at}..] ~ [2, 3, a{at}]\n{shares}\n[..s{at}..] <= [_, _, _, _]")
    }) => Solved | Unsatisfiable | GaveUp;
    many_searched_markers: lines(2_000, |at| format!("[..r{at}..] ~ [3, 5]\n[3, 9, 5] <= [..r{at}..]")) => Solved | Unsatisfiable | GaveUp;
    many_searched_periods: lines(500, |at| format!("[3, 5, ..r{at}..] ~ [..r{at}.., 5, 3]")) => Solved | Unsatisfiable | GaveUp;
}

large! {
    long_name: format!("{0} = 3\n{0} = 5\n", "a".repeat(100_000)) => Unsatisfiable;
    long_name_solved: format!("{0} = 3\n", "a".repeat(100_000)) => Solved;
    long_comment: format!("# {}\na = 3\n", "x".repeat(1 << 20)) => Solved;
    long_garbage: "[".repeat(200_000) => Malformed;
    many_mistakes: "a = = 3\n".repeat(100_000) => Malformed;
    long_tag: format!("leaf {}\n", axes(100_000, "a")) => Solved | Malformed;
    blank_lines: "\n".repeat(1 << 20) => Solved;
}

/// Runs a system as people and as JSON, twice, and with explanations: same status, same text.
fn survives(text: &str) {
    let people = run("small.rows", text, &small_budget());
    assert_eq!(run("small.rows", text, &small_budget()), people, "two runs differ");
    let json = run("small.rows", text, &SolveOptions { json: true, ..small_budget() });
    assert_eq!(json.status, people.status);
    assert_eq!(people.stderr.is_empty(), people.status == Solved, "{}", people.stderr);
    let explain =
        ["r0", "r1", "a", "b"].into_iter().filter(|name| json.stdout.contains(&format!("\"{name}\":")));
    let explain = explain.map(String::from).collect();
    let explained = run("small.rows", text, &SolveOptions { explain, ..small_budget() });
    assert_eq!(explained.status, people.status);
}

fn token() -> impl Strategy<Value = &'static str> {
    select(vec![
        "\n",
        "\n",
        "\n",
        "[",
        "]",
        "[",
        "]",
        ",",
        ", ",
        " <= ",
        " = ",
        " ~ ",
        "<>",
        "..r0..",
        "..r1..",
        "..",
        "a",
        "b",
        "_",
        "1",
        "3",
        "5",
        "0",
        "3:rgb",
        ":",
        "leaf ",
        "param ",
        "#",
        "'",
        "\r",
        "\t",
        "é",
        "≈",
        "⊑",
        "◇",
        "\u{0}",
        "18446744073709551615",
        "99999999999999999999",
    ])
}

fn dim() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => select(vec!["a", "b", "c", "d"]),
        3 => select(vec!["2", "3", "5"]),
        1 => select(vec!["_", "1", "3:rgb"]),
    ]
    .prop_map(String::from)
}

fn row() -> impl Strategy<Value = String> {
    let flank = || prop::collection::vec(dim(), 0..5);
    let hole = prop_oneof![5 => (0..6).prop_map(|row| format!("..r{row}..")), 1 => Just("<>".to_owned())];
    (flank(), hole, flank()).prop_map(|(lead, hole, trail)| {
        format!("[{}]", lead.into_iter().chain([hole]).chain(trail).collect::<Vec<_>>().join(", "))
    })
}

fn statement() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (row(), row()).prop_map(|(res, opnd)| format!("{res} <= {opnd}")),
        2 => (row(), row()).prop_map(|(left, right)| format!("{left} ~ {right}")),
        1 => (dim(), dim()).prop_map(|(res, opnd)| format!("{res} <= {opnd}")),
        1 => (dim(), dim()).prop_map(|(left, right)| format!("{left} = {right}")),
        1 => select(vec!["leaf ..r0.., a", "leaf ..r1..", "param ..r2.., b", "param ..r3.."]).prop_map(String::from),
    ]
}

fn system(lines: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    // A variable has one tag: a repeated tag line is left out.
    prop::collection::vec(statement(), lines).prop_map(|mut lines| {
        let mut seen = std::collections::HashSet::new();
        lines.retain(|line| line.contains('=') || line.contains('~') || seen.insert(line.clone()));
        lines.join("\n")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, max_shrink_time: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn token_soup(tokens in prop::collection::vec(token(), 0..60)) {
        survives(&tokens.concat());
    }

    #[test]
    fn structured_systems(text in system(1..31)) {
        survives(&text);
    }

    #[test]
    fn mutated_systems(text in system(1..12), edits in prop::collection::vec((any::<Index>(), token(), any::<bool>()), 1..6)) {
        let mut text: Vec<char> = text.chars().collect();
        for (at, token, insert) in edits {
            let at = if text.is_empty() { 0 } else { at.index(text.len()) };
            let end = if insert { at } else { (at + token.len()).min(text.len()) };
            text.splice(at..end, token.chars());
        }
        survives(&text.into_iter().collect::<String>());
    }
}
