//! Placement of comments within a statement.
//!
//! The tree has no comments and few signs, but a statement is written with the
//! same words in the same order as before, up to commas and parentheses. So
//! the words to write are found again in the text; a comment then lies between
//! two of them, and is written at the next place where the line may end:
//!
//! ```text
//! let y = (x # input            let y = x  # input
//!   |> relu) # then         →     |> relu  # then
//! ```
//!
//! From then on that place is a line end, so formatting again puts the comment in the same place.

use broadloom_diagnostics::Span;

use super::super::lexer::{BLANKS, LINE_ENDS};
use super::super::token::TokenKind;
use super::Formatter;
use super::layout::{LayoutItem, Measures, Note};

/// A word to write, and its end in the text.
struct FoundWord {
    /// Its index in the line.
    item: usize,
    end: u32,
}

/// The comments of a statement.
#[derive(Default)]
pub(super) struct Placed<'a> {
    /// The comments before it.
    pub before: Vec<Span>,
    /// The comments within it.
    pub notes: Vec<Note<'a>>,
}

impl<'a> Formatter<'a> {
    /// Takes the comments up to the end of a statement, and those after it on the same line.
    /// `start` and `end` are the offsets of the words in the text that become this line.
    pub(super) fn place_comments(&mut self, measures: &Measures, start: u32, end: u32) -> Placed<'a> {
        let mut placed = Placed::default();
        let inside = self.take_comments(|comment, _| comment.start < end);
        if !inside.is_empty() {
            self.place_inside(measures, &inside, start, &mut placed);
        }
        for comment in self.take_comments(|comment, text| is_blank_between(text, end, comment.start)) {
            let at = self.line.items.len();
            placed.notes.push(Note { at, text: self.slice(comment), own_line: false });
        }
        placed
    }

    fn place_inside(&mut self, measures: &Measures, inside: &[Span], start: u32, placed: &mut Placed<'a>) {
        let found = self.find_words(start);
        let mut after = 0;
        for comment in inside {
            while found.get(after).is_some_and(|word| word.end <= comment.start) {
                after += 1;
            }
            let Some(word) = after.checked_sub(1).map(|last| &found[last]) else {
                placed.before.push(*comment);
                continue;
            };
            let at = measures.next_break(word.item + 1);
            // Comments that had to move to a later place lose their own line.
            let is_here = found.get(after).is_some_and(|next| at < next.item);
            let follows = placed.notes.last().is_some_and(|last| last.at == at && last.own_line);
            let own_line = is_here && (follows || self.is_first(comment.start));
            placed.notes.push(Note { at, text: self.slice(*comment), own_line });
        }
    }

    /// Finds the words of the line in the text, except commas, which may be added or left out.
    fn find_words(&mut self, start: u32) -> Vec<FoundWord> {
        let mut found = Vec::new();
        let mut cursor = Cursor { token: self.token_at(start), offset: 0 };
        for (item, each) in self.line.items.iter().enumerate() {
            let LayoutItem::Word(word) = each else { continue };
            if *word == "," {
                continue;
            }
            if let Some((next, end)) = self.find_word(word, cursor) {
                cursor = next;
                found.push(FoundWord { item, end });
            }
        }
        self.work += found.len();
        found
    }

    /// Finds a word after a place: the next one in the text, except for commas and parentheses.
    fn find_word(&self, word: &str, mut cursor: Cursor) -> Option<(Cursor, u32)> {
        loop {
            let token = self.tokens.get(cursor.token)?;
            let rest = &self.slice(token.span)[cursor.offset..];
            if rest.starts_with(word) {
                // The sign in `f(x =-1)` is written as two words.
                cursor.offset += word.len();
                let end = token.span.start + cursor.offset as u32;
                let is_end = rest.len() == word.len();
                return Some((
                    if is_end { Cursor { token: cursor.token + 1, offset: 0 } } else { cursor },
                    end,
                ));
            }
            if !matches!(token.kind, TokenKind::Comma | TokenKind::Open | TokenKind::Close) {
                return None;
            }
            cursor = Cursor { token: cursor.token + 1, offset: 0 };
        }
    }

    /// Takes the next comments as long as they satisfy a condition.
    pub(super) fn take_comments(&mut self, fits: impl Fn(Span, &str) -> bool) -> Vec<Span> {
        let rest = &self.file.comments[self.comments..];
        let taken: Vec<Span> = rest.iter().copied().take_while(|comment| fits(*comment, self.text)).collect();
        self.comments += taken.len();
        taken
    }

    /// Returns true if only blanks are before a place on its line.
    pub(super) fn is_first(&self, offset: u32) -> bool {
        let before = self.text.get(..offset as usize).unwrap_or("").trim_end_matches(BLANKS);
        before.is_empty() || before.ends_with(LINE_ENDS)
    }
}

/// A place within a token of the text.
#[derive(Clone, Copy)]
struct Cursor {
    token: usize,
    offset: usize,
}

fn is_blank_between(text: &str, start: u32, end: u32) -> bool {
    let between = text.get(start as usize..end as usize);
    between.is_some_and(|between| between.trim_matches(BLANKS).is_empty())
}
