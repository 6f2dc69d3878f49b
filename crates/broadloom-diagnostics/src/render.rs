//! Showing diagnostics to a person: position, excerpt, underlines, advice.
//!
//! ```text
//! error[L0201]: `h` cannot be both 3 and 4
//!  --> model.loom:4:13
//!   |
//! 4 | let y = h + x
//!   |         -   ^ 4 because of this
//!   |         |
//!   |         this axis
//!   |
//!  ::: data.loom:2:8
//!   |
//! 2 | let x: 4
//!   |        - written here
//!   |
//!   = note: they meet in 3 steps: `--chain` shows them
//!   = help: …
//! ```
//!
//! Columns count characters; in the excerpt a tab is four blanks wide, wide characters are two
//! columns and unprintable ones show as `�`. A line longer than the width is cut around its
//! underlines; labels too far apart for one cut get an excerpt each. A label that spans several
//! lines has a brace at its side. Any spans can be rendered: those outside the text or inside a
//! character are moved to the nearest place that exists.

use crate::diagnostic::Diagnostic;
use crate::ink::{Canvas, Ink};
use crate::severity::Severity;
use crate::source::Sources;
use crate::style::{Chain, Style};

/// Renders diagnostics with blank lines between them and the [`summary`] as the last
/// line; `suppressed` more errors were found but not kept. Empty if there are none.
pub fn render_all(sources: &Sources, diagnostics: &[Diagnostic], suppressed: usize, style: Style) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        out.push_str(&render(sources, diagnostic, style));
        out.push('\n');
    }
    let summary = summary(diagnostics, suppressed);
    if !summary.is_empty() {
        out.push_str(&summary);
        out.push('\n');
    }
    out
}

/// The number of diagnostics of each severity, the worst first; `suppressed` more errors are
/// counted but not in the list. Empty if there are none.
pub fn summary(diagnostics: &[Diagnostic], suppressed: usize) -> String {
    let mut parts = Vec::new();
    for severity in [Severity::Error, Severity::Warning, Severity::Note] {
        let listed = diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
        let hidden = if severity == Severity::Error { suppressed } else { 0 };
        let (total, word) = (listed + hidden, severity.word());
        match (total, hidden) {
            (0, _) => {}
            (1, _) => parts.push(format!("1 {word}")),
            (_, 0) => parts.push(format!("{total} {word}s")),
            _ => parts.push(format!("{total} {word}s, {hidden} of them not shown")),
        }
    }
    parts.join(if suppressed > 0 { "; " } else { ", " })
}

/// The places of a diagnostic alone: where they are, source lines, underlines and labels; every line ends with a newline.
/// A source without a name shows as its lines and columns.
///
/// ```
/// use broadloom_diagnostics::{Diagnostic, SourceId, Sources, Span, Style, excerpt};
/// let spec = Sources::one("", "ij; jk -> ik");
/// let arrow = Diagnostic::error("", "", Span::new(SourceId(0), 7, 9), "expected `=>`");
/// let shown = " --> 1:8\n  |\n1 | ij; jk -> ik\n  |        ^^ expected `=>`\n";
/// assert_eq!(excerpt(&spec, &arrow, Style::default()), shown);
/// ```
pub fn excerpt(sources: &Sources, diagnostic: &Diagnostic, style: Style) -> String {
    let mut out = Canvas { out: String::new(), color: style.color, severity: diagnostic.severity };
    crate::excerpt::write(sources, diagnostic, style, &mut out);
    out.out
}

/// Renders one diagnostic; every line ends with a newline.
pub fn render(sources: &Sources, diagnostic: &Diagnostic, style: Style) -> String {
    let mut out = Canvas { out: String::new(), color: style.color, severity: diagnostic.severity };
    let word = diagnostic.severity.word();
    match diagnostic.code {
        _ if !style.header => {}
        "" => out.write(word, Ink::Primary),
        code => out.write(&format!("{word}[{code}]"), Ink::Primary),
    }
    let colon = if style.header { ": " } else { "" };
    out.write(&format!("{colon}{}", diagnostic.message), Ink::Strong);
    out.end_line();
    let gutter = crate::excerpt::write(sources, diagnostic, style, &mut out);
    let chain = chain(sources, diagnostic, style);
    if !diagnostic.labels.is_empty() && advice(diagnostic, &chain).next().is_some() {
        out.write(&format!("{:gutter$} |", ""), Ink::Frame);
        out.end_line();
    }
    for (word, text) in advice(diagnostic, &chain) {
        out.write(&format!("{:gutter$} = ", ""), Ink::Frame);
        out.write(word, Ink::Strong);
        // Further lines are indented like the words after `note: `.
        for (index, line) in text.split('\n').enumerate() {
            match index {
                0 => out.write(&format!(": {line}"), Ink::Plain),
                _ if line.is_empty() => {}
                _ => out.write(&format!("{:1$}{line}", "", gutter + 9), Ink::Plain),
            }
            out.end_line();
        }
    }
    out.out
}

/// Notes, the chain and help, each with the word in front of it.
fn advice<'a>(
    diagnostic: &'a Diagnostic,
    chain: &'a Option<String>,
) -> impl Iterator<Item = (&'static str, &'a str)> {
    let notes = diagnostic.notes.iter().chain(chain).map(|note| ("note", note.as_str()));
    notes.chain(diagnostic.help.iter().map(|help| ("help", &**help)))
}

/// The steps of the chain, or their number.
fn chain(sources: &Sources, diagnostic: &Diagnostic, style: Style) -> Option<String> {
    let here = diagnostic.primary().map(|label| label.span.source);
    match (diagnostic.chain.len(), style.chain) {
        (0, _) => None,
        (1, Chain::ShownBy(flag)) => Some(format!("they meet in 1 step: `{flag}` shows it")),
        (steps, Chain::ShownBy(flag)) => Some(format!("they meet in {steps} steps: `{flag}` shows them")),
        (steps, Chain::Shown) => {
            let mut text = "how they meet:".to_owned();
            let digits = steps.to_string().len();
            for (index, link) in diagnostic.chain.iter().enumerate() {
                text += &format!("\n{:>digits$}. ", index + 1);
                if let Some(span) = link.span {
                    let (line, column) = sources.position(span);
                    text += &match here == Some(span.source) {
                        true => format!("line {line}: "),
                        false => format!("{}:{line}:{column}: ", sources.get(span.source).name()),
                    };
                }
                text += &link.text.replace('\n', &format!("\n{:1$}", "", digits + 2));
            }
            Some(text)
        }
    }
}
