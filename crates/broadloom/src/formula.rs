//! Assignments as text: `v =:+ v1 * v2`, `{delta} =: grad + decay * p`, `p =- rate * delta`.
//!
//! | written | meaning |
//! |---|---|
//! | `a = x`, `a =: x` | `a` becomes `x` |
//! | `a =+ x` | `x` is accumulated into what `a` holds |
//! | `a =:+ x` | `a` is cleared to the neutral element, then `x` is accumulated |
//!
//! Any of `+ - * / ** max min and or` accumulates. An accumulator stands directly after `=` or `=:`, so that
//! `a =- x` subtracts `x` and `a = -x` sets `a`. A target in braces is a new tensor. Names may have dots: `p.grad`.

use broadloom_loops::{Binary, Domain, Unary, Yields};

use crate::error::{Error, ErrorKind};
use crate::operation::table::{self, ROWS, Row};

/// What is computed, over names.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Formula {
    Number(f64),
    /// A name, by its place among the names of the text.
    Name(u32),
    Unary(Unary, Box<Formula>),
    Binary(Binary, Box<Formula>, Box<Formula>),
    Select(Box<Formula>, Box<Formula>, Box<Formula>),
}

impl Formula {
    /// Its value where the names in it are numbers.
    pub fn of(&self, names: &impl Fn(u32) -> Option<f64>) -> Option<f64> {
        Some(match self {
            Formula::Number(value) => *value,
            Formula::Name(name) => names(*name)?,
            Formula::Unary(function, a) => function.of(a.of(names)?),
            Formula::Binary(function, a, b) => function.of(a.of(names)?, b.of(names)?),
            Formula::Select(condition, a, b) => {
                if condition.of(names)? != 0.0 {
                    a.of(names)?
                } else {
                    b.of(names)?
                }
            }
        })
    }

    pub fn unary(function: Unary, a: Formula) -> Formula {
        Formula::Unary(function, Box::new(a))
    }

    pub fn binary(function: Binary, a: Formula, b: Formula) -> Formula {
        Formula::Binary(function, Box::new(a), Box::new(b))
    }

    /// Whether it has a function whose values have fractions even of whole numbers.
    pub fn has_fractions(&self) -> bool {
        match self {
            Formula::Number(_) | Formula::Name(_) => false,
            Formula::Unary(function, a) => function.yields() == Yields::Fractions || a.has_fractions(),
            Formula::Binary(function, a, b) => {
                function.yields() == Yields::Fractions || a.has_fractions() || b.has_fractions()
            }
            // A condition decides between values, and is none of them.
            Formula::Select(_, a, b) => a.has_fractions() || b.has_fractions(),
        }
    }

    /// Whether the values of all its functions are those that IEEE 754 asks for.
    pub fn is_correct(&self) -> bool {
        match self {
            Formula::Number(_) | Formula::Name(_) => true,
            Formula::Unary(function, a) => function.is_correct() && a.is_correct(),
            Formula::Binary(function, a, b) => function.is_correct() && a.is_correct() && b.is_correct(),
            Formula::Select(condition, a, b) => condition.is_correct() && a.is_correct() && b.is_correct(),
        }
    }

    /// Whether all functions in it are asked for values inside their domains, where the names in it are numbers.
    pub fn is_defined(&self, names: &impl Fn(u32) -> Option<f64>) -> bool {
        let within = |domain: Domain, a: &Formula| {
            a.is_defined(names) && a.of(names).is_some_and(|value| domain.contains(value))
        };
        match self {
            Formula::Number(_) => true,
            Formula::Name(name) => names(*name).is_some(),
            Formula::Unary(function, a) => within(function.domain(), a),
            Formula::Binary(function, a, b) => {
                let [first, second] = function.domain();
                within(first, a) && within(second, b)
            }
            Formula::Select(condition, a, b) => {
                let chosen = condition.of(names).map(|holds| if holds != 0.0 { a } else { b });
                condition.is_defined(names) && chosen.is_some_and(|chosen| chosen.is_defined(names))
            }
        }
    }

    /// The same over other formulas, one for each name. None if there is none for one of them.
    pub fn with_names(&self, names: &impl Fn(u32) -> Option<Formula>) -> Option<Formula> {
        Some(match self {
            Formula::Number(value) => Formula::Number(*value),
            Formula::Name(name) => names(*name)?,
            Formula::Unary(function, a) => Formula::unary(*function, a.with_names(names)?),
            Formula::Binary(function, a, b) => {
                Formula::binary(*function, a.with_names(names)?, b.with_names(names)?)
            }
            Formula::Select(condition, a, b) => {
                Formula::select(condition.with_names(names)?, a.with_names(names)?, b.with_names(names)?)
            }
        })
    }

    /// The names in it, in the order of their first appearance.
    pub fn names(&self, found: &mut Vec<u32>) {
        match self {
            Formula::Number(_) => {}
            Formula::Name(name) if found.contains(name) => {}
            Formula::Name(name) => found.push(*name),
            Formula::Unary(_, a) => a.names(found),
            Formula::Binary(_, a, b) => [a, b].into_iter().for_each(|each| each.names(found)),
            Formula::Select(a, b, c) => [a, b, c].into_iter().for_each(|each| each.names(found)),
        }
    }

    pub fn select(condition: Formula, a: Formula, b: Formula) -> Formula {
        Formula::Select(Box::new(condition), Box::new(a), Box::new(b))
    }
}

/// One assignment.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Assignment {
    /// Its target, by its place among the names of the text.
    pub target: u32,
    /// Whether the target is in braces: a new tensor.
    pub fresh: bool,
    /// Whether the target is cleared first.
    pub clear: bool,
    /// How values are accumulated; none if the last one stays.
    pub accumulate: Option<Binary>,
    pub value: Formula,
    /// As it was written.
    pub source: Box<str>,
}

/// Assignments and the names in them.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Text {
    pub names: Vec<Box<str>>,
    pub assignments: Vec<Assignment>,
}

/// Reads assignments, separated by `;`.
pub(crate) fn parse(source: &str) -> Result<Text, Error> {
    read_below(source, ROWS)
}

/// The same with only some operations of the table: a row of it may use those above it.
pub(crate) fn read_below(source: &str, rows: &'static [Row]) -> Result<Text, Error> {
    let mut parser = Parser { source, rows, at: 0, depth: 0, terms: 0, text: Text::default() };
    loop {
        let assignment = parser.assignment()?;
        parser.text.assignments.push(assignment);
        let mut ended = false;
        while parser.sign(";") {
            ended = true;
        }
        if parser.rest().is_empty() {
            return Ok(parser.text);
        }
        if !ended {
            return Err(parser.wrong("an operator, `;` or the end is expected"));
        }
    }
}

/// Signs that stand between two terms, weakest first; terms of one level group from the left.
const LEVELS: [&[&str]; 5] =
    [&["or"], &["and"], &["<=", "==", "!=", "<", ">=", ">"], &["+", "-"], &["*", "/"]];

/// How many terms there may be: long sums are deep trees.
const TERMS: usize = 1000;

/// How deep parentheses may nest.
const DEPTH: usize = 200;

struct Parser<'a> {
    source: &'a str,
    /// The operations that can be called.
    rows: &'static [Row],
    at: usize,
    depth: usize,
    terms: usize,
    text: Text,
}

impl<'a> Parser<'a> {
    fn rest(&mut self) -> &'a str {
        let rest = &self.source[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.source[self.at..]
    }

    fn sign(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len() } else { 0 };
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Error> {
        if self.sign(sign) { Ok(()) } else { Err(self.wrong(&format!("`{sign}` is expected"))) }
    }

    fn wrong(&self, what: &str) -> Error {
        let start = self.source[..self.at].rfind('\n').map_or(0, |at| at + 1);
        let line = self.source[start..].lines().next().unwrap_or_default();
        let column = self.source[start..self.at].chars().count();
        let excerpt = format!("  {}\n  {}^", line.trim_end(), " ".repeat(column));
        Error::new(ErrorKind::Notation, what).with_excerpt(excerpt).with_help(
            "an assignment is `target = value`, `target =+ value` to accumulate, `target =:+ value` to clear first",
        )
    }

    fn word(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let letter = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let end = rest.find(|c| !letter(c)).unwrap_or(rest.len());
        if !rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return None;
        }
        self.at += end;
        Some(&rest[..end])
    }

    fn name(&mut self, name: &str) -> u32 {
        let names = &mut self.text.names;
        let known = names.iter().position(|known| &**known == name);
        known.unwrap_or_else(|| {
            names.push(name.into());
            names.len() - 1
        }) as u32
    }

    fn assignment(&mut self) -> Result<Assignment, Error> {
        let start = self.source.len() - self.rest().len();
        let fresh = self.sign("{");
        let Some(word) = self.word() else { return Err(self.wrong("the name of a target is expected")) };
        let target = self.name(word);
        if fresh {
            self.expect("}")?;
        }
        if let Some(sign) = ["+=", "-=", "*=", "/="].into_iter().find(|sign| self.rest().starts_with(sign)) {
            let (first, _) = sign.split_at(1);
            return Err(
                self.wrong(&format!("`{sign}` is written `={first}`: the accumulator stands after `=`"))
            );
        }
        self.expect("=")?;
        let colon = self.source[self.at..].starts_with(':');
        self.at += usize::from(colon);
        let accumulate = self.accumulator();
        let value = self.formula()?;
        let source = self.source[start..self.at].trim_end().into();
        Ok(Assignment { target, fresh, clear: colon || accumulate.is_none(), accumulate, value, source })
    }

    /// An accumulator directly after the sign of an assignment.
    fn accumulator(&mut self) -> Option<Binary> {
        let rest = &self.source[self.at..];
        let is_next = |function: &&Binary| {
            let after = rest.strip_prefix(function.name());
            let is_word = function.name().starts_with(char::is_alphabetic);
            after.is_some_and(|after| !is_word || after.starts_with(' '))
        };
        // `**` begins with the sign of a product: the longest sign is meant.
        let accumulators = Binary::ALL.iter().filter(|function| function.neutral().is_some());
        let function = *accumulators.filter(is_next).max_by_key(|function| function.name().len())?;
        self.at += function.name().len();
        Some(function)
    }

    fn formula(&mut self) -> Result<Formula, Error> {
        self.deeper(|parser| parser.level(0))
    }

    fn level(&mut self, level: usize) -> Result<Formula, Error> {
        let Some(signs) = LEVELS.get(level) else { return self.power() };
        let mut left = self.level(level + 1)?;
        while let Some(sign) = self.between(signs) {
            let right = self.level(level + 1)?;
            left = between(sign, left, right).ok_or_else(|| self.wrong("an operator is expected"))?;
        }
        Ok(left)
    }

    fn between(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        let rest = self.rest();
        let is_next = |sign: &str| {
            let Some(after) = rest.strip_prefix(sign) else { return false };
            // `**` binds tighter, and is not a product; a word does not begin with another.
            let longer = match sign {
                "*" => after.starts_with('*'),
                "and" | "or" => after.starts_with(|c: char| c.is_alphanumeric() || c == '_'),
                _ => false,
            };
            !longer
        };
        let found = signs.iter().copied().find(|sign| is_next(sign))?;
        self.at += found.len();
        Some(found)
    }

    /// `-x`, `x ** y`: a power binds tighter than the sign before it, and groups from the right.
    fn power(&mut self) -> Result<Formula, Error> {
        if self.sign("-") {
            return Ok(match self.deeper(Self::power)? {
                Formula::Number(value) => Formula::Number(-value),
                other => Formula::unary(Unary::Neg, other),
            });
        }
        let base = self.term()?;
        if !self.sign("**") {
            return Ok(base);
        }
        Ok(Formula::binary(Binary::Pow, base, self.deeper(Self::power)?))
    }

    /// Reads something inside something else, not without end.
    fn deeper(&mut self, read: fn(&mut Self) -> Result<Formula, Error>) -> Result<Formula, Error> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.wrong("this is nested too deeply"));
        }
        let formula = read(self);
        self.depth -= 1;
        formula
    }

    fn term(&mut self) -> Result<Formula, Error> {
        self.terms += 1;
        if self.terms > TERMS {
            return Err(self.wrong("this is too long for one text"));
        }
        if self.sign("(") {
            let inside = self.formula()?;
            self.expect(")")?;
            return Ok(inside);
        }
        if self.rest().starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return self.number();
        }
        let start = self.at;
        let Some(word) = self.word() else { return Err(self.wrong("a number, a name or `(` is expected")) };
        if !self.sign("(") {
            return Ok(Formula::Name(self.name(word)));
        }
        let mut arguments = vec![self.formula()?];
        while self.sign(",") {
            arguments.push(self.formula()?);
        }
        self.expect(")")?;
        let count = arguments.len();
        function(self.rows, word, arguments).ok_or_else(|| {
            self.at = start;
            let plural = if count == 1 { "" } else { "s" };
            self.wrong(&format!("there is no function `{word}` of {count} argument{plural}"))
        })
    }

    fn number(&mut self) -> Result<Formula, Error> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let in_number = |(at, byte): (usize, &u8)| {
            let after_exponent = at > 0 && matches!(bytes[at - 1], b'e' | b'E');
            byte.is_ascii_digit()
                || matches!(byte, b'.' | b'e' | b'E')
                || (after_exponent && matches!(byte, b'+' | b'-'))
        };
        let end = bytes.iter().enumerate().position(|each| !in_number(each)).unwrap_or(bytes.len());
        let value = rest[..end].parse().map_err(|_| self.wrong("this is not a number"))?;
        self.at += end;
        Ok(Formula::Number(value))
    }
}

/// Two terms with a sign between them. What is greater is read with its sides exchanged.
fn between(sign: &str, left: Formula, right: Formula) -> Option<Formula> {
    Some(match sign {
        ">" => Formula::binary(Binary::Less, right, left),
        ">=" => Formula::binary(Binary::LessEq, right, left),
        _ => Formula::binary(Binary::named(sign)?, left, right),
    })
}

/// A function by its name: one of numbers, or an operation of some rows of the table.
fn function(rows: &'static [Row], name: &str, arguments: Vec<Formula>) -> Option<Formula> {
    Some(match (name, &arguments[..]) {
        ("pow", [a, b]) => Formula::binary(Binary::Pow, a.clone(), b.clone()),
        ("where", [condition, a, b]) => Formula::select(condition.clone(), a.clone(), b.clone()),
        // y where x is positive, else 0: how gradients pass a kink.
        ("relu_gate", [x, y]) => {
            let zero = || Formula::Number(0.0);
            Formula::select(Formula::binary(Binary::Less, zero(), x.clone()), y.clone(), zero())
        }
        (_, [a]) if let Some(function) = Unary::named(name) => Formula::unary(function, a.clone()),
        (_, [a, b]) if let Some(function) = Binary::named(name) => {
            Formula::binary(function, a.clone(), b.clone())
        }
        _ => table::applied(rows, name, &arguments)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Assignment {
        let parsed = parse(text).expect("it parses");
        parsed.assignments[0].clone()
    }

    #[test]
    fn signs_of_assignments() {
        let kinds = [
            ("v = a", true, None),
            ("v =: a", true, None),
            ("v =+ a", false, Some(Binary::Add)),
            ("v =:+ a", true, Some(Binary::Add)),
            ("v =- a", false, Some(Binary::Sub)),
            ("v =:max a", true, Some(Binary::Max)),
            ("v =** a", false, Some(Binary::Pow)),
        ];
        for (text, clear, accumulate) in kinds {
            let assignment = one(text);
            assert_eq!((assignment.clear, assignment.accumulate), (clear, accumulate), "{text}");
        }
        assert_eq!(one("v = -a").value, Formula::unary(Unary::Neg, Formula::Name(1)));
    }

    #[test]
    fn names_have_dots() {
        let parsed = parse("layer.w =- .5 * layer.w.grad; {layer.m} = 2. * layer.w").expect("it parses");
        let names: Vec<&str> = parsed.names.iter().map(|name| &**name).collect();
        assert_eq!(names, ["layer.w", "layer.w.grad", "layer.m"]);
        let half = Formula::binary(Binary::Mul, Formula::Number(0.5), Formula::Name(1));
        assert_eq!(parsed.assignments[0].value, half);
        assert!(parsed.assignments[1].fresh);
    }

    #[test]
    fn precedence() {
        let name = Formula::Name;
        let square = Formula::binary(Binary::Pow, name(1), Formula::Number(2.0));
        assert_eq!(one("v = -a ** 2").value, Formula::unary(Unary::Neg, square.clone()));
        let product = Formula::binary(Binary::Mul, name(2), square);
        assert_eq!(one("v = a + b * a ** 2").value.clone(), {
            let square = Formula::binary(Binary::Pow, name(1), Formula::Number(2.0));
            Formula::binary(Binary::Add, name(1), Formula::binary(Binary::Mul, name(2), square))
        });
        assert_eq!(one("v = a > 0 and b * a ** 2 >= 1").value, {
            let first = Formula::binary(Binary::Less, Formula::Number(0.0), name(1));
            let second = Formula::binary(Binary::LessEq, Formula::Number(1.0), product);
            Formula::binary(Binary::And, first, second)
        });
    }

    #[test]
    fn mistakes_are_shown_in_the_text() {
        for text in ["v", "v =", "v = (a", "v = f(a)", "v = a b", "= a", "v = 1e", "{v = a", ""] {
            assert!(parse(text).is_err(), "{text}");
        }
        let deep = format!("v = {}a{}", "(".repeat(5000), ")".repeat(5000));
        assert!(parse(&deep).is_err());
        let minus = format!("v = {}a", "-".repeat(100_000));
        assert!(parse(&minus).is_err());
    }
}
