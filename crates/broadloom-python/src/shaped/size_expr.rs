//! Sizes that are written as arithmetic over names: `2*n`, `n/2 + 1`, `heads*size`.
//!
//! The notation of declared shapes has no arithmetic, so it is read here, in front of it. See [`mask`].

/// A size over names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SizeExpr {
    /// A number.
    Number(i64),
    /// A name, as an index into the names of the function.
    Name(usize),
    /// Two sizes and the sign between them.
    Binary(Box<SizeExpr>, Sign, Box<SizeExpr>),
}

/// A sign of arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Plus,
    Minus,
    Times,
    /// Division without a remainder.
    Over,
}

impl SizeExpr {
    /// The value, if all names are known and every division is exact.
    pub fn value(&self, known: &impl Fn(usize) -> Option<i64>) -> Option<i64> {
        match self {
            SizeExpr::Number(number) => Some(*number),
            SizeExpr::Name(name) => known(*name),
            SizeExpr::Binary(left, sign, right) => {
                let (left, right) = (left.value(known)?, right.value(known)?);
                match sign {
                    Sign::Plus => left.checked_add(right),
                    Sign::Minus => left.checked_sub(right),
                    Sign::Times => left.checked_mul(right),
                    Sign::Over if right != 0 && left % right == 0 => Some(left / right),
                    Sign::Over => None,
                }
            }
        }
    }

    /// The names that are not known, each as often as it stands.
    pub fn unknown(&self, known: &impl Fn(usize) -> Option<i64>, into: &mut Vec<usize>) {
        match self {
            SizeExpr::Number(_) => {}
            SizeExpr::Name(name) if known(*name).is_some() => {}
            SizeExpr::Name(name) => into.push(*name),
            SizeExpr::Binary(left, _, right) => {
                left.unknown(known, into);
                right.unknown(known, into);
            }
        }
    }

    /// The value of the only unknown name for which the size is `wanted`; `None` if no whole number is.
    pub fn solve(&self, wanted: i64, known: &impl Fn(usize) -> Option<i64>) -> Option<i64> {
        match self {
            SizeExpr::Number(_) => None,
            SizeExpr::Name(_) => Some(wanted).filter(|wanted| *wanted >= 0),
            SizeExpr::Binary(left, sign, right) => match (left.value(known), right.value(known), sign) {
                (None, Some(right), Sign::Plus) => left.solve(wanted.checked_sub(right)?, known),
                (None, Some(right), Sign::Minus) => left.solve(wanted.checked_add(right)?, known),
                (None, Some(right), Sign::Over) => left.solve(wanted.checked_mul(right)?, known),
                (None, Some(factor), Sign::Times) => left.solve(exact(wanted, factor)?, known),
                (Some(left), None, Sign::Plus) => right.solve(wanted.checked_sub(left)?, known),
                (Some(left), None, Sign::Minus) => right.solve(left.checked_sub(wanted)?, known),
                (Some(left), None, Sign::Over) => right.solve(exact(left, wanted)?, known),
                (Some(factor), None, Sign::Times) => right.solve(exact(wanted, factor)?, known),
                _ => None,
            },
        }
    }
}

fn exact(number: i64, divisor: i64) -> Option<i64> {
    (divisor != 0 && number % divisor == 0).then(|| number / divisor)
}

/// The parts of a text that were taken out of it, so that the rest is a declared shape.
#[derive(Debug, Default)]
pub struct MaskedText {
    /// The text with `_` in the place of each size, and blanks in the place of ranges: every character at its place.
    pub masked: String,
    /// Sizes by the byte at which they begin, and where they end.
    pub sizes: Vec<(usize, usize, SizeExpr)>,
    /// `n in 1..64`: the name, the least and the greatest size.
    pub ranges: Vec<(usize, i64, i64)>,
}

/// Takes arithmetic and ranges out of a text; `name` gives the index of a name.
pub fn mask(text: &str, mut name: impl FnMut(&str) -> usize) -> Result<MaskedText, (usize, usize, String)> {
    let tokens = tokens(text);
    let mut bytes = text.as_bytes().to_vec();
    let mut taken = MaskedText::default();
    let mut at = 0;
    while at < tokens.len() {
        if let Some((used, lo, hi)) = range(&tokens[at..]) {
            let word = &tokens[at];
            let last = &tokens[at + used - 1];
            taken.ranges.push((name(word.text), lo, hi));
            bytes[word.end..last.end].fill(b' ');
            at += used;
            continue;
        }
        let mut reader = Reader { tokens: &tokens, at, name: &mut name };
        let starts = matches!(tokens[at].kind, TokenKind::Word | TokenKind::Number | TokenKind::Open);
        if starts && let Some(expr) = reader.sum() {
            let end = reader.at;
            if matches!(expr, SizeExpr::Binary(..)) {
                let (from, to) = (tokens[at].start, tokens[end - 1].end);
                bytes[from..to].fill(b' ');
                bytes[from] = b'_';
                taken.sizes.push((from, to, expr));
            }
            at = end;
            continue;
        }
        if matches!(tokens[at].kind, TokenKind::Sign(_)) {
            let message = "a sign of arithmetic is written between two sizes, as in `2*n`".to_owned();
            return Err((tokens[at].start, tokens[at].end, message));
        }
        at += 1;
    }
    taken.masked = String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned());
    Ok(taken)
}

struct Token<'a> {
    kind: TokenKind,
    text: &'a str,
    start: usize,
    end: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    Word,
    Number,
    Sign(Sign),
    Open,
    Close,
    /// Two dots.
    Dots,
    Other,
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let run = |wanted: fn(char) -> bool| rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        let (kind, length) = match c {
            _ if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '0'..='9' => (TokenKind::Number, run(|c| c.is_ascii_digit())),
            _ if c.is_alphabetic() || c == '_' => (TokenKind::Word, run(|c| c.is_alphanumeric() || c == '_')),
            '.' => row_or_dots(rest),
            '-' if rest.starts_with("->") => (TokenKind::Other, 2),
            '+' => (TokenKind::Sign(Sign::Plus), 1),
            '-' => (TokenKind::Sign(Sign::Minus), 1),
            '*' => (TokenKind::Sign(Sign::Times), 1),
            '/' => (TokenKind::Sign(Sign::Over), 1),
            '(' => (TokenKind::Open, 1),
            ')' => (TokenKind::Close, 1),
            _ => (TokenKind::Other, c.len_utf8()),
        };
        tokens.push(Token { kind, text: &rest[..length], start: at, end: at + length });
        at += length;
    }
    tokens
}

/// `..r..` and `...` are whole; `..` alone may be that of a range.
fn row_or_dots(rest: &str) -> (TokenKind, usize) {
    let dots = rest.find(|c| c != '.').unwrap_or(rest.len());
    let word = rest[dots..].find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len() - dots);
    let starts_with_letter = rest[dots..].starts_with(char::is_alphabetic);
    match dots {
        2 if starts_with_letter && rest[dots + word..].starts_with("..") => {
            (TokenKind::Other, dots + word + 2)
        }
        2 => (TokenKind::Dots, 2),
        _ => (TokenKind::Other, dots),
    }
}

/// `n in 1..64`, `n in 1..`, `n in ..64`: the number of tokens, the least and the greatest size.
fn range(tokens: &[Token<'_>]) -> Option<(usize, i64, i64)> {
    let kinds: Vec<TokenKind> = tokens.iter().take(5).map(|token| token.kind).collect();
    if kinds.first() != Some(&TokenKind::Word) || tokens.get(1)?.text != "in" {
        return None;
    }
    let number = |at: usize| tokens[at].text.parse::<i64>().ok();
    match kinds[2..] {
        [TokenKind::Number, TokenKind::Dots, TokenKind::Number] => Some((5, number(2)?, number(4)?)),
        [TokenKind::Number, TokenKind::Dots, ..] => Some((4, number(2)?, i64::MAX)),
        [TokenKind::Dots, TokenKind::Number, ..] => Some((4, 0, number(3)?)),
        _ => None,
    }
}

struct Reader<'a, 't, F> {
    tokens: &'a [Token<'t>],
    at: usize,
    name: &'a mut F,
}

impl<F: FnMut(&str) -> usize> Reader<'_, '_, F> {
    fn sum(&mut self) -> Option<SizeExpr> {
        let mut left = self.product()?;
        while let Some(sign) = self.sign(&[Sign::Plus, Sign::Minus]) {
            left = SizeExpr::Binary(Box::new(left), sign, Box::new(self.product()?));
        }
        Some(left)
    }

    fn product(&mut self) -> Option<SizeExpr> {
        let mut left = self.atom()?;
        while let Some(sign) = self.sign(&[Sign::Times, Sign::Over]) {
            left = SizeExpr::Binary(Box::new(left), sign, Box::new(self.atom()?));
        }
        Some(left)
    }

    fn atom(&mut self) -> Option<SizeExpr> {
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        match token.kind {
            TokenKind::Number => token.text.parse().ok().map(SizeExpr::Number),
            // Only a name that takes part in arithmetic is entered: all others are read by the notation.
            TokenKind::Word if token.text != "_" => Some(SizeExpr::Name((self.name)(token.text))),
            TokenKind::Open => {
                let inner = self.sum()?;
                let closed = self.tokens.get(self.at)?.kind == TokenKind::Close;
                self.at += 1;
                closed.then_some(inner)
            }
            _ => None,
        }
    }

    fn sign(&mut self, wanted: &[Sign]) -> Option<Sign> {
        match self.tokens.get(self.at)?.kind {
            TokenKind::Sign(sign) if wanted.contains(&sign) => {
                self.at += 1;
                Some(sign)
            }
            _ => None,
        }
    }
}
