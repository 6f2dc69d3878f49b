//! Output for terminals only: progress, plots, colours. Output that depends on time cannot be
//! compared word for word.

use crate::support;

use support::{Said, World, broadloom, programs};

fn run(more: &[&str], terminal: bool) -> Said {
    let file = programs().join("line.loom");
    let file = file.to_str().expect("a path in UTF-8");
    let world = World { terminal: terminal.then_some(80), no_color: true, ..World::default() };
    broadloom(&[&["run", file, "--backend", "reference"], more].concat(), &world)
}

#[test]
fn progress_and_plot() {
    let (shown, plain) = (run(&[], true), run(&[], false));
    assert_eq!(shown.stdout, plain.stdout);
    assert_eq!(plain.stderr, "");
    assert!(shown.stderr.starts_with("\rcompiling 1 of 1\u{1b}[K"), "{:?}", shown.stderr);
    assert!(shown.stderr.contains("\u{1b}[K\r  0% "), "{:?}", shown.stderr);
    assert!(shown.stderr.contains("  1/200  loss 85\u{1b}[K"), "{:?}", shown.stderr);
    // The line is cleared before the plot is drawn, and the plot is the same everywhere.
    let (progress, plot) = shown.stderr.rsplit_once("\r\u{1b}[K").expect("the line is cleared");
    assert!(progress.lines().count() == 1, "{progress:?}");
    assert_eq!(plot, run(&["--plot"], false).stderr);
    assert!(plot.contains("loss, logarithmic") && plot.contains('⠒'), "{plot}");
    assert!(plot.lines().all(|line| line.chars().count() <= 80), "{plot}");
}

#[test]
fn nothing_is_shown_if_that_is_asked_for() {
    assert_eq!(run(&["--quiet"], true).stderr, "");
    assert_eq!(run(&["--json"], true).stderr, "");
}

#[test]
fn no_color_is_honoured() {
    let file = programs().join("mismatch.loom");
    let arguments = ["check", file.to_str().expect("a path in UTF-8")];
    let colored = |no_color, terminal: Option<usize>, more: &[&str]| {
        let world = World { terminal, no_color, ..World::default() };
        broadloom(&[&arguments, more].concat(), &world).stderr.contains("\u{1b}[1;31m")
    };
    assert!(colored(false, Some(80), &[]));
    assert!(!colored(true, Some(80), &[]));
    assert!(!colored(false, None, &[]));
    assert!(colored(true, None, &["--color", "always"]));
    assert!(!colored(false, Some(80), &["--color=never"]));
}

/// Tables fit the terminal, as far as numbers allow.
#[test]
fn tables_fit() {
    let file = programs().join("mlp.loom");
    for columns in [40, 60, 80] {
        let world = World { terminal: Some(columns), no_color: true, ..World::default() };
        let said = broadloom(&["check", file.to_str().expect("a path in UTF-8")], &world);
        let widest = said.stdout.lines().map(|line| line.chars().count()).max();
        assert!(widest.is_some_and(|widest| widest <= columns), "{columns}:\n{}", said.stdout);
    }
}
