//! An explanation along source lines, in the order of its steps: each line with its part of the explanation below.
//!
//! ```text
//! 2 | data x : 32 | 784
//!   |      ^ the output axis of `x`, declared `32 | 784`
//! 3 | let y = relu({w} @ x + {b : 64})
//!   |              ------- contracts the input of `w` with the output of `x`
//! ```

use crate::excerpt::{Frame, Window, point};
use crate::ink::{Canvas, Ink, put, put_text};
use crate::severity::Severity;
use crate::source::{SourceId, Sources, Span};

/// A sentence, with its place in the text if it has one.
#[derive(Clone, Copy, Debug)]
pub struct StoryLine<'a> {
    /// The sentence.
    pub text: &'a str,
    /// The span of the text that it is about.
    pub span: Option<Span>,
    /// True if it is the answer to the question.
    pub answer: bool,
}

/// Tells what is said, line by line; `main` is the source that needs no name, `columns` how wide lines may be.
///
/// ```
/// use broadloom_diagnostics::{StoryLine, Sources, Span, tell};
/// let mut sources = Sources::new();
/// let file = sources.add("a.loom", "data x : 3\nlet y = x\n");
/// let said = |text, start, answer| StoryLine { text, span: Some(Span::new(file, start, start + 1)), answer };
/// let story = [said("declared here", 5, false), said("so it is 3", 15, true)];
/// assert_eq!(tell(&sources, file, &story, 80, false), "\
/// 1 | data x : 3
///   |      - declared here
/// 2 | let y = x
///   |     ^ so it is 3
/// ");
/// ```
pub fn tell(
    sources: &Sources,
    main: SourceId,
    story: &[StoryLine<'_>],
    columns: usize,
    color: bool,
) -> String {
    let line_of = |span: Span| sources.get(span.source).line_of(span.start);
    let gutter = story.iter().filter_map(|said| said.span).map(line_of).max().unwrap_or(1).to_string().len();
    let width = columns.saturating_sub(gutter + 3).max(20);
    // What is asked for is good to know.
    let out = Canvas { out: String::new(), color, severity: Severity::Note };
    let mut writer = StoryWriter { frame: Frame { gutter, open: Vec::new() }, width, last: None, out };
    let mut here = main;
    for said in story {
        let Some(span) = said.span else {
            writer.aside("=", said.text);
            writer.last = None;
            continue;
        };
        if here != span.source {
            writer.aside(":::", sources.get(span.source).name());
            here = span.source;
        }
        writer.excerpt(sources, span, said);
    }
    writer.out.out
}

struct StoryWriter {
    frame: Frame,
    width: usize,
    /// The line that was shown last: its source, its number, and where the part of it that is shown begins.
    last: Option<(SourceId, u32, usize)>,
    out: Canvas,
}

impl StoryWriter {
    /// A line that is no source line.
    fn aside(&mut self, sign: &str, text: &str) {
        self.out.write(&format!("{:1$} {sign}", "", self.frame.gutter), Ink::Frame);
        self.out.write(&format!(" {text}"), Ink::Plain);
        self.out.end_line();
    }

    /// A source line, unless it was the last one, with a place underlined and what is said of it.
    fn excerpt(&mut self, sources: &Sources, span: Span, said: &StoryLine<'_>) {
        let source = sources.get(span.source);
        let line = source.line_of(span.start);
        let (first, last) = source.line_bytes(line);
        let start =
            source.text().floor_char_boundary(span.start as usize).clamp(first as usize, last as usize);
        let end = source.text().ceil_char_boundary(span.end as usize).clamp(start, last as usize);
        let window = Window::within(source, line, (start, end), self.width);
        let shown = Some((span.source, line, window.start));
        if self.last != shown {
            self.frame.row(&mut self.out, Some(line), &window.excerpt(source));
            self.last = shown;
        }
        let ink = if said.answer { Ink::Primary } else { Ink::Secondary };
        let from = window.column(source, start);
        let to = window.column(source, end) + usize::from(window.is_cut_before(end));
        let to = to.max(from + 1);
        let mut row = Vec::new();
        (from..to).for_each(|column| put(&mut row, column, point(ink), ink));
        let length = said.text.chars().count();
        if to + 1 + length <= self.width {
            put_text(&mut row, to + 1, said.text, ink);
            return self.frame.row(&mut self.out, None, &row);
        }
        self.frame.row(&mut self.out, None, &row);
        // Below, shifted to the left as far as it takes to be one line.
        let blanks = match self.width.checked_sub(length) {
            Some(free) => from.min(free),
            None => from.min(self.width / 4),
        };
        for piece in wrapped(said.text, self.width - blanks) {
            let mut row = Vec::new();
            put_text(&mut row, blanks, &piece, ink);
            self.frame.row(&mut self.out, None, &row);
        }
    }
}

/// A text in lines of at most so many characters, as far as its words allow.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stories_follow_their_own_order() {
        let mut sources = Sources::new();
        let id = sources.add("a.loom", "data x : 3\nlet y = x + {b}\n");
        let said =
            |text, start, end, answer| StoryLine { text, span: Some(Span::new(id, start, end)), answer };
        let story = [
            said("here", 19, 26, false),
            said("there", 23, 26, false),
            StoryLine { text: "nowhere", span: None, answer: false },
            said("x", 5, 6, true),
        ];
        let expected = "\
2 | let y = x + {b}
  |         ------- here
  |             --- there
  = nowhere
1 | data x : 3
  |      ^ x
";
        assert_eq!(tell(&sources, id, &story, 100, false), expected);
    }

    #[test]
    fn long_texts_are_wrapped() {
        assert_eq!(wrapped("a bb ccc d", 4), ["a bb", "ccc", "d"]);
    }
}
