//! The answers that a page shows while people type.

use std::cell::RefCell;

use broadloom_diagnostics::{Chain, Diagnostic, Edit, SourceId, Sources, Span, Style, render};
use broadloom_ide::{
    Analysis, Checked, Completion, Editing, Listing, Text, check, completion, format_edits, hints,
    hover as hover_of, tokens,
};
use serde::Serialize;

use crate::units::{Range, Units};

/// The name of the program in messages.
pub(crate) const NAME: &str = "program.loom";

/// So wide are messages and explanations in a page.
pub(crate) const WIDTH: usize = 78;

/// Everything that changes with the text.
#[derive(Serialize)]
pub(crate) struct Edited {
    ok: bool,
    mistakes: Vec<Mistake>,
    hints: Vec<Hinted>,
    tokens: Vec<Token>,
    #[serde(flatten)]
    checked: Checked,
}

/// A mistake, or a warning.
#[derive(Serialize)]
pub(crate) struct Mistake {
    severity: &'static str,
    code: &'static str,
    message: String,
    /// The place to look first.
    #[serde(flatten)]
    range: Range,
    /// Both ends.
    labels: Vec<Labelled>,
    help: Vec<String>,
    fixes: Vec<Fixed>,
    /// The message as a terminal would show it.
    shown: String,
}

#[derive(Serialize)]
struct Labelled {
    #[serde(flatten)]
    range: Range,
    text: String,
    primary: bool,
}

#[derive(Serialize)]
struct Fixed {
    title: String,
    edits: Vec<Change>,
}

/// A change of the text.
#[derive(Serialize)]
pub(crate) struct Change {
    #[serde(flatten)]
    range: Range,
    text: String,
}

#[derive(Serialize)]
struct Hinted {
    at: u32,
    text: String,
}

#[derive(Serialize)]
struct Token {
    #[serde(flatten)]
    range: Range,
    class: &'static str,
}

/// The description of a name.
#[derive(Serialize)]
pub(crate) struct Hovered {
    #[serde(flatten)]
    range: Range,
    markdown: String,
}

/// The texts that can be written.
#[derive(Serialize)]
pub(crate) struct Completions {
    /// The offset from which they replace the text.
    from: u32,
    completions: Vec<Completion>,
}

/// The program of a page.
pub(crate) fn program(text: &str) -> Text {
    Text::new(NAME, text)
}

/// Everything that is known of a text.
pub(crate) fn edited(text: &str) -> Edited {
    with_analysis(text, |analysis| edited_of(text, analysis))
}

thread_local! {
    /// The program as it was last read, for the questions about it that follow, and the state from which the next check goes on.
    static KEPT: RefCell<(Editing, Option<Analysis>)> = RefCell::default();
}

/// Answers from the program of a text, which is read only if the text is another one than before.
fn with_analysis<T>(text: &str, answer: impl FnOnce(&mut Analysis) -> T) -> T {
    KEPT.with_borrow_mut(|(editing, kept)| {
        let is_same = |analysis: &Analysis| analysis.sources().get(analysis.program.main).text() == text;
        if !kept.as_ref().is_some_and(is_same) {
            *kept = None;
            *kept = Some(Analysis::edited(&program(text), editing));
        }
        match kept {
            Some(analysis) => answer(analysis),
            None => answer(&mut Analysis::new(&program(text))),
        }
    })
}

fn edited_of(text: &str, analysis: &mut Analysis) -> Edited {
    let checked = check(analysis, Listing::Own);
    let units = Units::new(text);
    let hint = |hint: broadloom_ide::Hint| Hinted { at: units.of_byte(hint.span.end), text: hint.text };
    let shown_hints = hints(analysis).into_iter().map(hint).collect();
    let places = Places { units: &units, sources: analysis.sources(), main: analysis.program.main };
    let token =
        |each: broadloom_ide::Classified| Token { range: units.range(each.span), class: each.class.word() };
    Edited {
        ok: !checked.diagnostics.iter().any(Diagnostic::is_error),
        mistakes: checked.diagnostics.iter().map(|diagnostic| places.mistake(diagnostic)).collect(),
        hints: shown_hints,
        tokens: tokens(text).into_iter().map(token).collect(),
        checked,
    }
}

/// Translates diagnostics about one text.
pub(crate) struct Places<'a> {
    pub units: &'a Units,
    pub sources: &'a Sources,
    pub main: SourceId,
}

impl Places<'_> {
    pub fn mistake(&self, diagnostic: &Diagnostic) -> Mistake {
        let style = Style { color: false, width: WIDTH, chain: Chain::Shown, ..Style::default() };
        // Labels in the library have no place in the text of the page; the message shows them.
        let own = |span: Span| span.source == self.main;
        let labels = diagnostic.labels.iter().filter(|label| own(label.span));
        let labels: Vec<Labelled> = labels
            .map(|label| Labelled {
                range: self.units.range(label.span),
                text: label.text.clone(),
                primary: label.primary,
            })
            .collect();
        let first = labels.iter().find(|label| label.primary).or(labels.first());
        let fixes = diagnostic.fixes.iter().filter(|fix| fix.edits.iter().all(|edit| own(edit.span)));
        Mistake {
            severity: diagnostic.severity.word(),
            code: diagnostic.code,
            message: diagnostic.message.clone(),
            range: first.map_or(Range { from: 0, to: 0 }, |label| label.range),
            labels,
            help: diagnostic.help.iter().map(ToString::to_string).collect(),
            fixes: fixes
                .map(|fix| Fixed {
                    title: fix.title.clone(),
                    edits: fix.edits.iter().map(|edit| change(self.units, edit)).collect(),
                })
                .collect(),
            shown: render(self.sources, diagnostic, style),
        }
    }
}

fn change(units: &Units, edit: &Edit) -> Change {
    Change { range: units.range(edit.span), text: edit.text.clone() }
}

/// The description of the name at an offset.
pub(crate) fn hover(text: &str, at: u32) -> Option<Hovered> {
    let units = Units::new(text);
    let found = with_analysis(text, |analysis| hover_of(analysis, units.byte(at)))?;
    Some(Hovered { range: units.range(found.span), markdown: found.markdown() })
}

/// The completions at an offset.
pub(crate) fn completions(text: &str, at: u32) -> Completions {
    let units = Units::new(text);
    let offset = units.byte(at);
    let completions = with_analysis(text, |analysis| completion(analysis, offset));
    let replaced = completions.first().map_or(0, |first| first.replaces);
    Completions { from: units.of_byte(offset.saturating_sub(replaced)), completions }
}

/// The changes that lay out the text as usual.
pub(crate) fn formatted(text: &str) -> Vec<Change> {
    let units = Units::new(text);
    format_edits(text).iter().map(|edit| change(&units, edit)).collect()
}
