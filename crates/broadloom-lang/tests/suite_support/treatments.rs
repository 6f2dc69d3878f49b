//! Treatments of a program that must not change its answer.
//!
//! | treatment | what must not change |
//! |---|---|
//! | comments and blank lines between all lines | messages up to their places, shapes, output |
//! | line ends of two characters | the same |
//! | statements in other orders | shapes of what statements name, output |
//! | formatted, and read again | messages up to their places, shapes, output |
//! | loops as derived, optimised, machine code | output, up to rounding |
//! | read up to each line | nothing is wrong if nothing is wrong with the whole; never a panic |

use broadloom_diagnostics::{SourceId, Style, render_all};
use broadloom_lang::Options;
use broadloom_lang::syntax::reformat;

use super::orders::orders;
use super::run::{Answer, Runner, answer, compiled};

/// The number of other orders of a program that are tried.
const ORDERS: usize = 6;

/// Runs a program under all treatments; `expected` is its answer without them. `in_order` says that
/// its order matters.
pub fn treat(text: &str, options: &Options, expected: &Answer, in_order: bool) -> Result<(), String> {
    let attempt = |what: &str, text: &str| {
        let found = answer(text, options, Runner::Reference);
        agree(&found, expected).map_err(|message| format!("{what}: {message}\nthe program is then\n{text}"))
    };
    attempt("with comments and blank lines", &with_comments(text))?;
    attempt("with line ends of two characters", &text.replace('\n', "\r\n"))?;
    prefixes(text, options, expected)?;
    if let Ok(formatted) = reformat(SourceId::default(), text) {
        attempt("formatted", &formatted)?;
        let again = reformat(SourceId::default(), &formatted);
        if again.as_ref().ok() != Some(&formatted) {
            return Err(format!("formatted twice it is something else:\n{formatted}then\n{again:?}"));
        }
    }
    if !expected.messages.is_empty() {
        return Ok(());
    }
    if !in_order {
        for order in orders(text, ORDERS) {
            let found = answer(&order, options, Runner::Reference);
            let shapes: Vec<_> = expected.shapes.iter().filter(|(name, _)| !name.contains('.')).collect();
            for (name, shape) in shapes {
                // Generated names are counted in order: `literal2`.
                let written = text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
                if !written.clone().any(|word| word == name) {
                    continue;
                }
                let other = found.shapes.get(name).map_or("nothing", String::as_str);
                if other != shape {
                    let why = super::run::joined(&found.messages);
                    return Err(format!("in another order `{name}` is {other}, not {shape}\n{order}{why}"));
                }
            }
            similar(&found.output, &expected.output, 1e-4)
                .map_err(|message| format!("in another order: {message}\n{order}"))?;
        }
    }
    if !expected.output.is_empty() {
        for runner in [Runner::Plain, Runner::Native] {
            let found = answer(text, options, runner);
            let messages = super::run::joined(&found.messages);
            similar(&found.output, &expected.output, 1e-4)
                .map_err(|message| format!("run as {runner:?}: {message}\n{messages}"))?;
        }
    }
    Ok(())
}

/// Compares two answers except for places.
fn agree(found: &Answer, expected: &Answer) -> Result<(), String> {
    if found.sentences != expected.sentences {
        let shown = |answer: &Answer| super::run::joined(&answer.messages);
        return Err(format!("other messages\n{}instead of\n{}", shown(found), shown(expected)));
    }
    if found.shapes != expected.shapes {
        return Err(format!("other shapes: {:?} instead of {:?}", found.shapes, expected.shapes));
    }
    similar(&found.output, &expected.output, 0.0)
}

/// Checks that two outputs are equal, numbers up to rounding.
pub fn similar(found: &str, expected: &str, tolerance: f64) -> Result<(), String> {
    let words = |text: &str| -> Vec<String> {
        text.split(|letter: char| letter.is_whitespace() || "[],".contains(letter))
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (a, b) = (words(found), words(expected));
    let close = |a: &String, b: &String| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => a == b || (x - y).abs() <= tolerance * (1.0 + x.abs().max(y.abs())),
        _ => a == b,
    };
    if a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| close(a, b)) {
        return Ok(());
    }
    Err(format!("it prints\n{found}instead of\n{expected}"))
}

/// Reads the program up to each line: it must not panic,
/// and must not report what is right in the whole.
fn prefixes(text: &str, options: &Options, expected: &Answer) -> Result<(), String> {
    for line in 0..=text.lines().count() as u32 {
        let mut program = compiled(text, &Options { until: Some(line), ..options.clone() });
        let messages = render_all(&program.sources, &program.diagnostics, 0, Style::default());
        if expected.messages.is_empty() && !messages.is_empty() && options.sizes.is_empty() {
            return Err(format!("up to line {line} there is something wrong:\n{messages}"));
        }
        for made in program.made.clone() {
            let _ = program.graph.shape(made.tensor).to_string();
            let _ = program.graph.final_shape(made.tensor);
        }
    }
    Ok(())
}

/// The program with a comment after each line, and blank lines and comments between them.
fn with_comments(text: &str) -> String {
    let mut out = String::from("# a comment\n\n");
    for (at, line) in text.lines().enumerate() {
        let closed = line.matches('"').count() % 2 == 0;
        let comment = if closed && !line.trim().is_empty() { "  # (and [so {on" } else { "" };
        out.push_str(&format!("{line}{comment}\n{:1$}# between\n\n", "", (at * 3) % 7));
    }
    out
}
