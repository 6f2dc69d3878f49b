//! Source lines with explanations below them, in the order of the explanations.
//!
//! ```text
//! 2 | data x : 32 | 784
//!   |      ^ the output axis of `x`, declared `32 | 784`
//! 3 | let y = relu({w} @ x + {b : 64})
//!   |              ------- contracts the input of `w` with the output of `x`
//! ```

use broadloom_diagnostics::{SourceId, Sources, Span};

use crate::console::{Look, Paint};

/// The width of lines where the columns are not known.
const WIDTH: usize = 100;

/// An explanation, and its place in the source, if it has one.
pub(crate) struct Said<'a> {
    pub text: &'a str,
    pub span: Option<Span>,
    /// True if it is the answer to the question.
    pub answer: bool,
}

/// Writes explanations below their source lines; `main` is the source whose name is not shown.
pub(crate) fn tell(sources: &Sources, main: SourceId, story: &[Said<'_>], look: Look) -> String {
    let line_of = |span: Span| sources.get(span.source).line_of(span.start);
    let gutter = story.iter().filter_map(|said| said.span).map(line_of).max().unwrap_or(1).to_string().len();
    let width = look.columns.unwrap_or(WIDTH).saturating_sub(gutter + 3).max(20);
    let mut teller = Teller { look, gutter, width, last: None, out: String::new() };
    let mut here = main;
    for said in story {
        let Some(span) = said.span else {
            teller.line("", "=", &[(Paint::Plain, said.text)]);
            teller.last = None;
            continue;
        };
        if here != span.source {
            teller.line("", ":::", &[(Paint::Plain, sources.get(span.source).name())]);
            here = span.source;
        }
        teller.excerpt(sources, span, said);
    }
    teller.out
}

struct Teller {
    look: Look,
    gutter: usize,
    width: usize,
    /// The line that was shown last: its source, its
    /// number, and the characters skipped at its beginning.
    last: Option<(SourceId, u32, usize)>,
    out: String,
}

impl Teller {
    fn line(&mut self, number: &str, bar: &str, pieces: &[(Paint, &str)]) {
        let head = format!("{number:>0$} {bar}", self.gutter);
        self.out.push_str(&self.look.paint(Paint::Frame, &head));
        for (paint, piece) in pieces {
            self.out.push_str(if piece.starts_with(' ') || piece.is_empty() { "" } else { " " });
            let blanks = piece.len() - piece.trim_start_matches(' ').len();
            self.out.push_str(&piece[..blanks]);
            self.out.push_str(&self.look.paint(*paint, &piece[blanks..]));
        }
        self.out.push('\n');
    }

    /// Writes a source line, unless it was the last one,
    /// with a place underlined and its explanation.
    fn excerpt(&mut self, sources: &Sources, span: Span, said: &Said<'_>) {
        let source = sources.get(span.source);
        let number = source.line_of(span.start);
        let (first, _) = source.line_bytes(number);
        let text = source.line(number);
        let start = (span.start - first) as usize;
        let before = text.get(..start).unwrap_or("").chars().count();
        let rest = text.get(start..).unwrap_or("");
        let marked = rest.get(..(span.end - span.start) as usize).unwrap_or(rest).chars().count().max(1);
        // A long line is cut so that the beginning of the underlined part is visible.
        let skipped = match before + marked.min(self.width / 2) > self.width {
            true => before.saturating_sub(self.width / 3),
            false => 0,
        };
        let (before, marked) = (before - skipped, marked.min(self.width - (before - skipped)));
        let shown = Some((span.source, number, skipped));
        if self.last != shown {
            self.line(
                &number.to_string(),
                "|",
                &[(Paint::Plain, &format!(" {}", part(text, skipped, self.width)))],
            );
            self.last = shown;
        }
        let (sign, paint) = if said.answer { ("^", Paint::Answer) } else { ("-", Paint::Frame) };
        let line = format!("{:1$}{2}", "", before + 1, sign.repeat(marked));
        if before + marked + 1 + said.text.chars().count() <= self.width {
            self.line("", "|", &[(paint, &line), (paint, said.text)]);
            return;
        }
        self.line("", "|", &[(paint, &line)]);
        // Below, shifted to the left as far as needed to fit on one line.
        let blanks = match self.width.checked_sub(said.text.chars().count()) {
            Some(free) => before.min(free),
            None => before.min(self.width / 4),
        };
        for piece in wrapped(said.text, self.width - blanks) {
            self.line("", "|", &[(paint, &format!("{:1$}{piece}", "", blanks + 1))]);
        }
    }
}

/// A part of a line with at most `width` characters, and dots where it is cut.
fn part(line: &str, skipped: usize, width: usize) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let mut shown: Vec<char> = line.chars().map(clean).skip(skipped).take(width).collect();
    if line.chars().count() > skipped + width
        && let Some(last) = shown.last_mut()
    {
        *last = '…';
    }
    if skipped > 0
        && let Some(first) = shown.first_mut()
    {
        *first = '…';
    }
    shown.into_iter().collect::<String>().trim_end().to_string()
}

/// Wraps a text into lines of at most `width` characters, as far as its words allow.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
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
        let said = |text, start, end, answer| Said { text, span: Some(Span::new(id, start, end)), answer };
        let story = [
            said("here", 19, 26, false),
            said("there", 23, 26, false),
            Said { text: "nowhere", span: None, answer: false },
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
        assert_eq!(tell(&sources, id, &story, Look::default()), expected);
    }

    #[test]
    fn long_texts_are_wrapped() {
        assert_eq!(wrapped("a bb ccc d", 4), ["a bb", "ccc", "d"]);
    }
}
