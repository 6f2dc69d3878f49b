//! Layout: from a stream of words to lines.
//!
//! Words stand in groups. A group that fits on the rest of its line is written there; otherwise all
//! of its breaks are line ends, and the same holds for each group inside it (Oppen,
//! *Prettyprinting*, 1980; here all breaks of a group are alike). The stream is flat, so that even
//! the deepest expression needs no stack, and widths are summed up only once.
//!
//! ```text
//! f Open ( In Break a , Break b LastComma Out Break ) Close
//!
//! f(a, b)        f(
//!                  a,
//!                  b,
//!                )
//! ```

/// The greatest number of characters on a line that can be broken.
pub const WIDTH: usize = 100;

/// The number of spaces by which a block is indented.
pub(super) const STEP: usize = 2;

/// A word, or an item between words.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum LayoutItem<'a> {
    /// A word to write.
    Word(&'a str),
    /// A space.
    Space,
    /// A line end if its group is broken.
    Break(Gap),
    /// A comma if its group is broken.
    LastComma,
    /// The beginning of a group.
    Open,
    /// The end of a group.
    Close,
    /// Indents the lines from here on further.
    In,
    /// Indents the lines from here on less.
    Out,
}

/// The text of a break that is not a line end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Gap {
    /// A space.
    Space,
    /// Nothing.
    Nothing,
    /// Nothing, and a bracket closes behind it.
    Closing,
}

/// A comment, and the break that ends its line. A break after the last item stands for the end of
/// the statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note<'a> {
    /// The index of the break in the stream.
    pub at: usize,
    /// The comment.
    pub text: &'a str,
    /// True if it has a line of its own, after the break.
    pub own_line: bool,
}

/// A statement, or the head of one.
#[derive(Clone, Default, Debug)]
pub(super) struct Line<'a> {
    pub items: Vec<LayoutItem<'a>>,
}

/// Measures of a line, computed before it is written.
pub(super) struct Measures {
    /// The width of everything before each item if no group is broken.
    before: Vec<usize>,
    /// The first break at each item or after it.
    next_break: Vec<usize>,
    /// The end of each group, by its beginning.
    close: Vec<usize>,
    /// The beginning of the group around each item.
    group: Vec<Option<usize>>,
}

impl<'a> Line<'a> {
    pub fn word(&mut self, text: &'a str) {
        self.items.push(LayoutItem::Word(text));
    }

    /// Adds a word with a space before it.
    pub fn spaced(&mut self, text: &'a str) {
        self.items.extend([LayoutItem::Space, LayoutItem::Word(text)]);
    }

    pub fn push(&mut self, items: impl IntoIterator<Item = LayoutItem<'a>>) {
        self.items.extend(items);
    }

    pub fn measure(&self) -> Measures {
        let count = self.items.len();
        let mut measures = Measures {
            before: Vec::with_capacity(count + 1),
            next_break: vec![count; count + 1],
            close: vec![count; count],
            group: Vec::with_capacity(count),
        };
        let (mut width, mut open) = (0, Vec::new());
        for (at, item) in self.items.iter().enumerate() {
            measures.before.push(width);
            width += item.width();
            measures.group.push(open.last().copied());
            match item {
                LayoutItem::Open => open.push(at),
                LayoutItem::Close => {
                    let start = open.pop();
                    start.into_iter().for_each(|start: usize| measures.close[start] = at);
                }
                _ => {}
            }
        }
        measures.before.push(width);
        for (at, item) in self.items.iter().enumerate().rev() {
            let is_break = matches!(item, LayoutItem::Break(_));
            measures.next_break[at] = if is_break { at } else { measures.next_break[at + 1] };
        }
        measures
    }

    /// Writes the line and its comments, up to its last line end.
    pub fn write(&self, measures: &Measures, notes: &[Note<'_>], indent: usize, out: &mut String) {
        let forced = measures.forced(notes);
        let broken = Vec::new();
        let mut writer = Writer { measures, forced, notes, indent, column: indent, broken, out };
        writer.blanks(indent);
        for (at, item) in self.items.iter().enumerate() {
            writer.item(at, *item);
        }
        writer.end_line(self.items.len());
    }
}

impl LayoutItem<'_> {
    /// Its width if its group is not broken.
    fn width(self) -> usize {
        match self {
            LayoutItem::Word(text) => text.chars().count(),
            LayoutItem::Space | LayoutItem::Break(Gap::Space) => 1,
            _ => 0,
        }
    }
}

impl Measures {
    /// The first break at an item or after it; the number of items if there is none.
    pub fn next_break(&self, at: usize) -> usize {
        self.next_break.get(at).copied().unwrap_or(self.group.len())
    }

    /// Marks the groups that are broken because a comment ends a line in them.
    fn forced(&self, notes: &[Note<'_>]) -> Vec<bool> {
        let mut forced = vec![false; self.group.len()];
        for note in notes {
            let mut group = self.group.get(note.at).copied().flatten();
            while let Some(start) = group.filter(|start| !forced[*start]) {
                forced[start] = true;
                group = self.group[start];
            }
        }
        forced
    }

    /// The width of a group, with the text after it up to the next place where the line may end.
    fn needed(&self, start: usize) -> usize {
        self.before[self.next_break(self.close[start])] - self.before[start]
    }
}

struct Writer<'l, 'n> {
    measures: &'l Measures,
    forced: Vec<bool>,
    /// The comments that are still to be written, in the order of their breaks.
    notes: &'l [Note<'n>],
    indent: usize,
    column: usize,
    /// For each group around the current place, true if it is broken.
    broken: Vec<bool>,
    out: &'l mut String,
}

impl Writer<'_, '_> {
    fn item(&mut self, at: usize, item: LayoutItem<'_>) {
        let is_broken = self.broken.last() == Some(&true);
        match item {
            LayoutItem::Word(text) => self.word(text),
            LayoutItem::Break(gap) if is_broken => self.newline(at, gap),
            LayoutItem::Space | LayoutItem::Break(Gap::Space) => self.word(" "),
            LayoutItem::LastComma if is_broken => self.word(","),
            LayoutItem::Break(_) | LayoutItem::LastComma => {}
            LayoutItem::Open => {
                let may_break = self.broken.last() != Some(&false);
                let fits = self.column + self.measures.needed(at) <= WIDTH;
                self.broken.push(may_break && (self.forced[at] || !fits));
            }
            LayoutItem::Close => _ = self.broken.pop(),
            LayoutItem::In => self.indent += STEP,
            LayoutItem::Out => self.indent = self.indent.saturating_sub(STEP),
        }
    }

    fn word(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn blanks(&mut self, count: usize) {
        self.out.extend(std::iter::repeat_n(' ', count));
    }

    fn newline(&mut self, at: usize, gap: Gap) {
        // Comments before a closing bracket belong to its contents.
        let indent = if gap == Gap::Closing { self.indent + STEP } else { self.indent };
        self.end_line(at);
        while let Some(note) = self.notes.first().filter(|note| note.at == at) {
            self.blanks(indent);
            self.out.push_str(note.text);
            self.out.push('\n');
            self.notes = &self.notes[1..];
        }
        self.blanks(self.indent);
        self.column = self.indent;
    }

    /// Writes the comments of this line, and its end.
    fn end_line(&mut self, at: usize) {
        while let Some(note) = self.notes.first().filter(|note| note.at == at && !note.own_line) {
            self.out.push_str("  ");
            self.out.push_str(note.text);
            self.notes = &self.notes[1..];
        }
        self.out.push('\n');
    }
}
