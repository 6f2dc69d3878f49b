//! Random programs as texts: bytes decide the places of
//! blanks, line ends, comments and needless parentheses.

use super::programs::{Choices, Piece};

/// The liberties that a layout may take.
#[derive(Clone, Copy, PartialEq)]
pub enum Freedom {
    /// Blanks, line ends within statements, blocks on one line, needless parentheses and commas.
    Blanks,
    /// Comments and empty lines, too.
    Comments,
}

/// A program in a layout.
pub fn laid_out(pieces: &[Piece], bytes: &[u8], freedom: Freedom) -> String {
    let mut writer = Writer {
        choices: Choices::new(bytes),
        freedom,
        out: String::new(),
        brackets: 0,
        columns: vec![0],
        short: Vec::new(),
        extras: Vec::new(),
        comments: 0,
        is_short: false,
    };
    for (place, piece) in pieces.iter().enumerate() {
        writer.piece(piece, &pieces[place + 1..]);
    }
    writer.out
}

struct Writer<'a> {
    choices: Choices<'a>,
    freedom: Freedom,
    out: String,
    brackets: usize,
    /// The columns of the blocks.
    columns: Vec<usize>,
    /// For each block, true if it is on the line of its head.
    short: Vec<bool>,
    /// The needless parentheses that are open.
    extras: Vec<usize>,
    comments: usize,
    /// True if the next statement goes on the line of its head.
    is_short: bool,
}

impl Writer<'_> {
    fn piece(&mut self, piece: &Piece, rest: &[Piece]) {
        match piece {
            Piece::Word(word) => self.word(word),
            Piece::Soft => {
                if self.choices.some() {
                    self.blank();
                }
            }
            Piece::Hard => self.blank(),
            Piece::Sign(sign) => self.sign(sign),
            Piece::Comma => {
                self.out.push(',');
                self.maybe_newline();
            }
            Piece::LastComma => {
                if self.choices.some() {
                    self.out.push(',');
                }
            }
            Piece::Extra(pair, sign) => self.extra(*pair, sign),
            Piece::Begin => self.begin(),
            Piece::End => self.end(),
            Piece::Block(may_be_short) => {
                let is_simple = rest.iter().position(|piece| matches!(piece, Piece::Block(_)));
                let end = rest.iter().position(|piece| matches!(piece, Piece::EndBlock));
                let is_simple = is_simple.is_none_or(|block| end.is_some_and(|end| end < block));
                self.is_short = *may_be_short && is_simple && self.choices.some();
                self.short.push(self.is_short);
                if !self.is_short {
                    let column = self.column() + 1 + self.choices.pick(4);
                    self.columns.push(column);
                    self.end();
                }
            }
            Piece::EndBlock => {
                if self.short.pop() == Some(false) {
                    self.columns.pop();
                }
            }
        }
    }

    /// The column of the innermost block.
    fn column(&self) -> usize {
        self.columns.last().copied().unwrap_or(0)
    }

    fn word(&mut self, word: &str) {
        match word {
            "(" | "[" | "{" => self.brackets += 1,
            ")" | "]" | "}" => self.brackets -= 1,
            _ => {}
        }
        self.out.push_str(word);
    }

    /// At least one blank, or a line end inside brackets.
    fn blank(&mut self) {
        self.out.push(' ');
        if self.brackets > 0 {
            self.maybe_newline();
        }
    }

    fn maybe_newline(&mut self) {
        if self.choices.pick(4) == 3 {
            self.newline();
        }
    }

    /// A line end within a statement.
    fn newline(&mut self) {
        self.comment();
        self.line_end();
        while self.freedom == Freedom::Comments && self.choices.pick(4) == 3 {
            self.comment();
            self.line_end();
        }
        // Indented further than the block, so that a minus sign continues the line.
        let column = self.column() + 1 + self.choices.pick(6);
        self.out.push_str(&" ".repeat(column));
    }

    fn line_end(&mut self) {
        let end = self.choices.of(&["\n", "\r\n", "\r", " \n"]);
        self.out.push_str(end);
    }

    fn comment(&mut self) {
        if self.freedom == Freedom::Comments && self.choices.some() {
            self.comments += 1;
            let blanks = self.choices.pick(8);
            self.out.push_str(&format!("{}# c{}", " ".repeat(blanks), self.comments));
        }
    }

    fn sign(&mut self, sign: &str) {
        let is_word = sign.starts_with(char::is_alphabetic);
        if is_word {
            self.out.push(' ');
        }
        self.maybe_newline();
        self.out.push_str(sign);
        if is_word || self.choices.some() {
            self.out.push(' ');
        }
        self.maybe_newline();
    }

    fn extra(&mut self, pair: usize, sign: &str) {
        if sign == "(" && self.choices.pick(5) == 4 {
            self.extras.push(pair);
            self.word("(");
            self.maybe_newline();
        } else if sign == ")" && self.extras.last() == Some(&pair) {
            self.extras.pop();
            self.maybe_newline();
            self.word(")");
        }
    }

    fn begin(&mut self) {
        if std::mem::take(&mut self.is_short) {
            return;
        }
        while self.freedom == Freedom::Comments && self.choices.pick(4) == 3 {
            self.comment();
            self.line_end();
        }
        self.out.push_str(&" ".repeat(self.column()));
    }

    fn end(&mut self) {
        self.comment();
        self.line_end();
    }
}
