//! Sizes that are written as arithmetic over names: `2*n`, `n/2 + 1`, `heads*size`.
//!
//! The notation of declared shapes has no arithmetic, so it is read here, in front of it. See [`mask`]. Its meaning is that of
//! [`Form`], the arithmetic of all sizes.

use std::collections::HashMap;

use broadloom_core::Form;

/// A size over names: a quotient of expressions, because `d/heads` is no sum of products.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeExpr {
    over: Form<usize>,
    under: Form<usize>,
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

/// The answer to the question of what an axis says about a size over names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solved {
    /// All names are known, and the size is this one.
    Fits,
    /// It is only for this value of a name.
    Is(usize, i64),
    /// It is not, or for no whole number.
    Never,
    /// Too little is known.
    Open,
}

impl SizeExpr {
    fn new(over: Form<usize>) -> SizeExpr {
        SizeExpr { over, under: Form::constant(1) }
    }

    /// Two sizes and the sign between them; `None` if the numbers in it are beyond all reason, or it divides by zero.
    fn joined(self, sign: Sign, other: SizeExpr) -> Option<SizeExpr> {
        let (over, under) = match sign {
            Sign::Plus => (
                self.over.times(&other.under)?.plus(&other.over.times(&self.under)?)?,
                self.under.times(&other.under)?,
            ),
            Sign::Minus => (
                self.over.times(&other.under)?.minus(&other.over.times(&self.under)?)?,
                self.under.times(&other.under)?,
            ),
            Sign::Times => (self.over.times(&other.over)?, self.under.times(&other.under)?),
            Sign::Over => (self.over.times(&other.under)?, self.under.times(&other.over)?),
        };
        // A quotient that is a sum of products is one: `n/2 + 1`.
        Some(match over.divided_by(&under) {
            Some(whole) => SizeExpr::new(whole),
            None if under.is_zero() => return None,
            None => SizeExpr { over, under },
        })
    }

    /// The same over other names.
    pub fn renamed(&self, mut name: impl FnMut(usize) -> usize) -> Option<SizeExpr> {
        let known: HashMap<usize, usize> = self.names().into_iter().map(|own| (own, name(own))).collect();
        let to = |own: usize| known.get(&own).copied().unwrap_or(own);
        Some(SizeExpr { over: self.over.renamed(to)?, under: self.under.renamed(to)? })
    }

    /// The names in it.
    pub fn names(&self) -> Vec<usize> {
        let mut names = self.over.symbols();
        names.extend(self.under.symbols());
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The value, if all names are known and it is a whole number.
    pub fn value(&self, known: &impl Fn(usize) -> Option<i64>) -> Option<i64> {
        let size = |name: usize| known(name).and_then(|size| u64::try_from(size).ok());
        let ((over, below), (under, above)) = (self.over.value(size)?, self.under.value(size)?);
        let (over, under) = (over.checked_mul(above)?, under.checked_mul(below)?);
        (under != 0 && over % under == 0).then(|| i64::try_from(over / under).ok()).flatten()
    }

    /// The value of the only name that is not known, for which the size is `wanted`.
    pub fn solve(&self, wanted: i64, known: &impl Fn(usize) -> Option<i64>) -> Solved {
        self.solved(wanted, known).unwrap_or(Solved::Never)
    }

    /// The same; `None` if the numbers are beyond all reason.
    fn solved(&self, wanted: i64, known: &impl Fn(usize) -> Option<i64>) -> Option<Solved> {
        if self.names().into_iter().all(|name| known(name).is_some()) {
            return Some(if self.value(known) == Some(wanted) { Solved::Fits } else { Solved::Never });
        }
        // What is zero if the size is the wanted one: `rest`, and `factor` times the name that is not known.
        let zero = self.over.minus(&self.under.scaled(i128::from(wanted), 1)?)?;
        let (mut rest, mut factor, mut open) = (0i128, 0i128, None);
        for (names, number) in zero.terms() {
            let (mut product, mut unknown) = (number, None);
            for name in names {
                match known(*name) {
                    Some(size) => product = product.checked_mul(i128::from(size))?,
                    None if unknown.replace(*name).is_none() => {}
                    None => return Some(Solved::Open),
                }
            }
            let sum = if unknown.is_some() { &mut factor } else { &mut rest };
            *sum = sum.checked_add(product)?;
            if unknown.is_some() && open.replace(unknown).is_some_and(|other| other != unknown) {
                return Some(Solved::Open);
            }
        }
        let Some(name) = open.flatten().filter(|_| factor != 0) else { return Some(Solved::Open) };
        if rest % factor != 0 {
            return Some(Solved::Never);
        }
        let size = i64::try_from(-rest / factor).ok().filter(|size| *size >= 0);
        Some(size.map_or(Solved::Never, |size| Solved::Is(name, size)))
    }
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
            if end > at + 1 {
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
            left = left.joined(sign, self.product()?)?;
        }
        Some(left)
    }

    fn product(&mut self) -> Option<SizeExpr> {
        let mut left = self.atom()?;
        while let Some(sign) = self.sign(&[Sign::Times, Sign::Over]) {
            left = left.joined(sign, self.atom()?)?;
        }
        Some(left)
    }

    fn atom(&mut self) -> Option<SizeExpr> {
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        match token.kind {
            TokenKind::Number => token.text.parse().ok().map(|number| SizeExpr::new(Form::constant(number))),
            // Only a name that takes part in arithmetic is entered: all others are read by the notation.
            TokenKind::Word if token.text != "_" => {
                Some(SizeExpr::new(Form::symbol((self.name)(token.text))))
            }
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
