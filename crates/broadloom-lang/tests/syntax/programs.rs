//! Random programs, in random layouts.
//!
//! A program is made by the grammar from a list of bytes: each byte decides between alternatives, the first of which is
//! the simplest, and which stands for all decisions when the bytes have run out. So smaller lists make smaller
//! programs, and what proptest finds it can make small. The program is a list of pieces that says where blanks, line
//! ends, comments and needless parentheses may be; another list of bytes decides where they are.

/// Decisions, one byte each.
pub struct Choices<'a> {
    bytes: &'a [u8],
}

impl Choices<'_> {
    pub fn new(bytes: &[u8]) -> Choices<'_> {
        Choices { bytes }
    }

    /// One of so many alternatives.
    pub fn pick(&mut self, count: usize) -> usize {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        usize::from(*first) % count
    }

    pub fn of<'t>(&mut self, words: &[&'t str]) -> &'t str {
        words[self.pick(words.len())]
    }

    pub fn some(&mut self) -> bool {
        self.pick(2) == 1
    }
}

/// A part of a program.
#[derive(Clone, Debug)]
pub enum Piece {
    Word(String),
    /// Blanks may be here.
    Soft,
    /// Blanks are here.
    Hard,
    /// An operator, at which a line may end.
    Sign(&'static str),
    /// A comma after which a line may end.
    Comma,
    /// A comma that may be left out.
    LastComma,
    /// A parenthesis that means nothing, by the number of its pair.
    Extra(usize, &'static str),
    Begin,
    End,
    /// A block; whether it may be on the line of its head.
    Block(bool),
    EndBlock,
}

/// A program.
pub fn program(bytes: &[u8]) -> Vec<Piece> {
    let mut maker = Maker { choices: Choices::new(bytes), pieces: Vec::new(), pairs: 0 };
    while !maker.choices.bytes.is_empty() {
        maker.statement(3);
    }
    maker.pieces
}

struct Maker<'a> {
    choices: Choices<'a>,
    pieces: Vec<Piece>,
    pairs: usize,
}

const NAMES: &[&str] =
    &["x", "w", "loss", "größe", "let_x", "_a", "grad", "a_name_that_is_much_longer_than_it_has_to_be", "e5"];
const FIELDS: &[&str] = &["grad", "d", "in", "or", "let", "else", "e3"];
const NUMBERS: &[&str] = &["0", "1_000", "0.5", "1e-3", "2.5E+7", "64", "1__0.2_5"];
const TEXTS: &[&str] =
    &["\"\"", "\"i j => j i\"", "\"# no comment\"", "\"ein längerer Text, in dem nichts steht\""];
const SIGNS: &[&str] =
    &["+", "-", "*", "/", "%", "@", "**", "|>", "or", "and", "<", "<=", ">", ">=", "==", "!="];
const ASSIGNS: &[&str] = &["=", "=+", "=-", "=*", "=/", "=**", "=:", "=:+", "=:max", "=min", "=and", "=:or"];

impl Maker<'_> {
    fn word(&mut self, text: &str) {
        self.pieces.push(Piece::Word(text.to_owned()));
    }

    fn words(&mut self, texts: &[&str]) {
        texts.iter().for_each(|text| self.spaced(text));
    }

    /// A word with blanks behind it.
    fn spaced(&mut self, text: &str) {
        self.word(text);
        self.pieces.push(Piece::Hard);
    }

    /// A word that may have blanks around it.
    fn loose(&mut self, text: &str) {
        self.pieces.push(Piece::Soft);
        self.word(text);
        self.pieces.push(Piece::Soft);
    }

    fn name(&mut self) {
        let name = self.choices.of(NAMES);
        self.word(name);
    }

    fn statement(&mut self, depth: usize) {
        self.pieces.push(Piece::Begin);
        let has_block = match self.choices.pick(if depth > 0 { 17 } else { 13 }) {
            0 => self.done(|maker| maker.expr(3)),
            1 => self.done(|maker| {
                maker.spaced("let");
                maker.names();
                maker.loose("=");
                maker.expr(4);
            }),
            2 => self.done(Self::import),
            3 => self.done(Self::dim),
            4 => self.done(|maker| {
                let word = maker.choices.of(&["data", "state"]);
                maker.spaced(word);
                maker.name();
                maker.declared(word == "data");
            }),
            5 => self.done(Self::def),
            6 => self.done(|maker| {
                maker.spaced("set");
                maker.expr(1);
                maker.loose("=");
                maker.expr(2);
            }),
            7 => self.done(|maker| {
                maker.spaced("backward");
                maker.expr(2);
            }),
            8 => self.done(|maker| {
                maker.spaced("minimise");
                maker.expr(2);
                maker.pieces.push(Piece::Hard);
                maker.spaced("by");
                maker.expr(3);
            }),
            9 => self.done(Self::print),
            10 => self.done(|maker| {
                maker.spaced("save");
                maker.expr(2);
                maker.pieces.push(Piece::Hard);
                maker.words(&["to"]);
                let text = maker.choices.of(TEXTS);
                maker.word(text);
            }),
            11 | 12 => self.done(Self::assign),
            13 => self.done_block(depth, Self::for_, true),
            14 => self.done_block(depth, Self::repeat, true),
            15 => self.done_block(depth, |maker| maker.def_head(), false),
            _ => {
                self.op();
                true
            }
        };
        if !has_block {
            self.pieces.push(Piece::End);
        }
    }

    fn done(&mut self, make: impl FnOnce(&mut Self)) -> bool {
        make(self);
        false
    }

    fn done_block(&mut self, depth: usize, head: impl FnOnce(&mut Self), may_be_short: bool) -> bool {
        head(self);
        let count = 1 + self.choices.pick(3);
        self.pieces.push(Piece::Block(may_be_short && count == 1));
        for _ in 0..count {
            self.statement(depth - 1);
        }
        self.pieces.push(Piece::EndBlock);
        true
    }

    fn names(&mut self) {
        self.name();
        while self.choices.pick(3) == 2 {
            self.pieces.push(Piece::Soft);
            self.pieces.push(Piece::Comma);
            self.name();
        }
    }

    fn import(&mut self) {
        self.spaced("import");
        let path = self.choices.of(TEXTS);
        self.word(path);
        if self.choices.some() {
            self.pieces.push(Piece::Hard);
            self.spaced("as");
            self.name();
        }
    }

    fn dim(&mut self) {
        self.spaced("dim");
        self.name();
        let has_range = self.choices.some();
        if has_range {
            self.pieces.push(Piece::Hard);
            self.spaced("in");
            self.operators(2);
            self.loose("..");
            self.operators(2);
        }
        if !has_range || self.choices.some() {
            self.loose("=");
            self.expr(2);
        }
    }

    fn def_head(&mut self) {
        self.spaced("def");
        self.name();
        if self.choices.some() {
            self.arguments();
        }
        self.arguments();
        self.loose("=");
    }

    fn def(&mut self) {
        self.def_head();
        self.expr(4);
    }

    /// Arguments with different names.
    fn arguments(&mut self) {
        self.loose("(");
        let count = self.choices.pick(4);
        for place in 0..count {
            let name = format!("argument_{place}");
            self.word(&name);
            if self.choices.some() {
                self.loose("=");
                self.expr(2);
            }
            self.separator(place + 1 == count);
        }
        self.word(")");
    }

    fn separator(&mut self, is_last: bool) {
        self.pieces.push(Piece::Soft);
        self.pieces.push(if is_last { Piece::LastComma } else { Piece::Comma });
        self.pieces.push(Piece::Soft);
    }

    fn for_(&mut self) {
        self.spaced("for");
        self.name();
        self.pieces.push(Piece::Hard);
        self.spaced("in");
        self.expr(2);
        self.loose(":");
    }

    fn repeat(&mut self) {
        self.spaced("repeat");
        if self.choices.some() {
            self.name();
            self.pieces.push(Piece::Hard);
            self.spaced("in");
        }
        self.expr(2);
        self.loose(":");
    }

    fn print(&mut self) {
        self.spaced("print");
        self.expr(2);
        while self.choices.some() {
            self.pieces.push(Piece::Soft);
            self.pieces.push(Piece::Comma);
            self.expr(2);
        }
        if self.choices.some() {
            self.pieces.push(Piece::Hard);
            self.spaced("every");
            self.expr(1);
        }
    }

    fn assign(&mut self) {
        if self.choices.some() {
            self.words(&["{"]);
            self.name();
            self.pieces.push(Piece::Soft);
            self.word("}");
        } else {
            self.name();
            if self.choices.some() {
                self.args(1);
            }
        }
        self.pieces.push(Piece::Soft);
        // Accumulators stand for themselves only before a space; `= -x` is no `=-`.
        let sign = self.choices.of(ASSIGNS);
        self.word(&format!("{sign} "));
        self.expr(3);
        if self.choices.some() {
            self.pieces.push(Piece::Hard);
            self.spaced("by");
            let text = self.choices.of(TEXTS);
            self.word(text);
        }
    }

    fn op(&mut self) {
        self.spaced("op");
        self.name();
        self.loose("(");
        for (place, name) in ["a", "b"].into_iter().enumerate() {
            self.word(name);
            self.separator(place == 1);
        }
        self.word(")");
        self.loose(":");
        let count = 1 + self.choices.pick(3);
        self.pieces.push(Piece::Block(count == 1));
        for _ in 0..count {
            self.pieces.push(Piece::Begin);
            self.op_assignment();
            while self.choices.pick(3) == 2 {
                self.loose(";");
                self.op_assignment();
            }
            self.pieces.push(Piece::End);
        }
        self.pieces.push(Piece::EndBlock);
    }

    fn op_assignment(&mut self) {
        let target = self.choices.of(&["v", "g1", "a.grad"]);
        self.spaced(target);
        let sign = self.choices.of(&["=", "=:+", "=-"]);
        self.spaced(sign);
        self.op_formula(2);
    }

    fn op_formula(&mut self, depth: usize) {
        match self.choices.pick(if depth > 0 { 6 } else { 3 }) {
            0 => self.word("a"),
            1 => self.word("huber.grad"),
            2 => self.word(".5"),
            3 => {
                self.word("where");
                self.loose("(");
                for place in 0..3 {
                    self.op_formula(depth - 1);
                    if place < 2 {
                        self.pieces.push(Piece::Soft);
                        self.pieces.push(Piece::Comma);
                    }
                }
                self.pieces.push(Piece::Soft);
                self.word(")");
            }
            4 => {
                self.op_formula(depth - 1);
                let sign = self.choices.pick(SIGNS.len());
                self.pieces.push(Piece::Sign(SIGNS[sign]));
                self.op_formula(depth - 1);
            }
            _ => {
                self.word("-");
                self.pieces.push(Piece::Soft);
                self.op_formula(depth - 1);
            }
        }
    }

    /// A shape, a precision and a value; a value at least.
    fn declared(&mut self, is_data: bool) {
        let has_shape = self.choices.some();
        if has_shape {
            self.loose(":");
            self.shape();
        }
        if self.choices.some() {
            self.pieces.push(Piece::Hard);
            self.spaced("as");
            self.name();
        }
        if is_data && !has_shape || self.choices.some() {
            self.loose("=");
            self.expr(2);
        }
    }

    fn shape(&mut self) {
        let kind = self.choices.pick(4);
        if kind & 1 > 0 {
            self.row();
            self.loose("|");
        }
        if kind & 2 > 0 {
            self.row();
            self.loose("->");
        }
        if kind == 0 {
            self.axis(false);
            self.pieces.push(Piece::Hard);
        }
        self.row();
    }

    /// Axes; at most one stands for any number.
    fn row(&mut self) {
        let mut may_be_open = true;
        let mut is_first = true;
        while self.choices.pick(3) > 0 {
            if !std::mem::take(&mut is_first) {
                self.pieces.extend([Piece::LastComma, Piece::Hard]);
            }
            may_be_open &= !self.axis(may_be_open);
        }
    }

    /// An axis; says whether it stands for any number.
    fn axis(&mut self, may_be_open: bool) -> bool {
        let kind = self.choices.pick(if may_be_open { 8 } else { 6 });
        match kind {
            0 => self.word("28"),
            1 => self.name(),
            2 => {
                self.word("(");
                self.expr(2);
                self.word(")");
            }
            3 => self.word("_"),
            4 => {
                self.word("3");
                self.loose(":");
                self.word("rgb");
            }
            5 => self.word("1_024"),
            6 => self.word("..."),
            _ => {
                self.word("..");
                self.loose("row");
                self.word("..");
            }
        }
        kind > 5
    }

    /// Any expression, perhaps in parentheses that it does not need.
    fn expr(&mut self, depth: usize) {
        let pair = self.open_extra();
        match self.choices.pick(if depth > 0 { 8 } else { 1 }) {
            6 => {
                self.operators(depth - 1);
                self.loose("..");
                self.operators(depth - 1);
            }
            7 => {
                self.spaced("if");
                self.expr(depth - 1);
                self.pieces.push(Piece::Sign("then"));
                self.expr(depth - 1);
                self.pieces.push(Piece::Sign("else"));
                self.expr(depth - 1);
            }
            _ => self.operators(depth),
        }
        self.close_extra(pair);
    }

    fn open_extra(&mut self) -> usize {
        self.pairs += 1;
        self.pieces.push(Piece::Extra(self.pairs, "("));
        self.pairs
    }

    fn close_extra(&mut self, pair: usize) {
        self.pieces.push(Piece::Extra(pair, ")"));
    }

    /// Operands with operators between them, no comparisons in a chain.
    fn operators(&mut self, depth: usize) {
        self.operand(depth);
        let mut compared = false;
        while depth > 0 && self.choices.pick(3) == 2 {
            let sign = SIGNS[self.choices.pick(if compared { 10 } else { SIGNS.len() })];
            compared = match sign {
                "|>" | "or" | "and" => false,
                "<" | "<=" | ">" | ">=" | "==" | "!=" => true,
                _ => compared,
            };
            self.pieces.push(Piece::Sign(sign));
            self.operand(depth - 1);
        }
    }

    fn operand(&mut self, depth: usize) {
        match self.choices.pick(6) {
            4 => {
                self.word("-");
                self.pieces.push(Piece::Soft);
            }
            5 => self.spaced("not"),
            _ => {}
        }
        let pair = self.open_extra();
        self.primary(depth);
        self.close_extra(pair);
        while depth > 0 && self.choices.pick(3) == 2 {
            self.pieces.push(Piece::Soft);
            match self.choices.pick(3) {
                0 => self.args(depth - 1),
                1 => {
                    self.word(".");
                    let field = self.choices.of(FIELDS);
                    self.word(field);
                }
                _ => {
                    self.word("[");
                    self.pieces.push(Piece::Soft);
                    self.expr(depth - 1);
                    self.pieces.push(Piece::Soft);
                    self.word("]");
                }
            }
        }
    }

    fn args(&mut self, depth: usize) {
        self.word("(");
        self.pieces.push(Piece::Soft);
        let count = self.choices.pick(5);
        for place in 0..count {
            if self.choices.some() {
                self.name();
                self.loose("=");
            }
            self.expr(depth);
            self.separator(place + 1 == count);
        }
        self.word(")");
    }

    fn primary(&mut self, depth: usize) {
        match self.choices.pick(if depth > 0 { 8 } else { 3 }) {
            0 => self.name(),
            1 => {
                let number = self.choices.of(NUMBERS);
                self.word(number);
            }
            2 => {
                let text = self.choices.of(TEXTS);
                self.word(text);
            }
            3 => self.items(depth - 1),
            4 => {
                self.word("[");
                self.pieces.push(Piece::Soft);
                self.expr(depth - 1);
                self.pieces.push(Piece::Hard);
                self.spaced("for");
                self.name();
                self.pieces.push(Piece::Hard);
                self.spaced("in");
                self.expr(depth - 1);
                self.pieces.push(Piece::Soft);
                self.word("]");
            }
            5 => {
                self.word("{");
                self.pieces.push(Piece::Soft);
                self.name();
                self.declared(false);
                self.pieces.push(Piece::Soft);
                self.word("}");
            }
            _ => {
                self.word("(");
                self.expr(depth - 1);
                self.word(")");
            }
        }
    }

    fn items(&mut self, depth: usize) {
        self.word("[");
        self.pieces.push(Piece::Soft);
        let count = self.choices.pick(4);
        for place in 0..count {
            self.expr(depth);
            self.separator(place + 1 == count);
        }
        self.word("]");
    }
}
