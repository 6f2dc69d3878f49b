//! Assignments and formulas from text.

use broadloom_loops::{Binary, Unary};

use super::{Assignment, Assignments, Formula};
use crate::error::{Error, ErrorKind};
use crate::operation::slot::Slot;
use crate::operation::table::{OperationRow, ROWS};

/// Reads assignments, separated by `;`.
pub(crate) fn parse(source: &str) -> Result<Assignments, Error> {
    read_below(source, ROWS)
}

/// The same with only some operations of the table: a row of it may use those above it.
pub(crate) fn read_below(source: &str, rows: &'static [OperationRow]) -> Result<Assignments, Error> {
    let mut read = Assignments::new();
    read_into(&mut read, source, rows)?;
    Ok(read)
}

/// Signs that stand between two terms, weakest first; terms of one level group from the left.
const LEVELS: [&[&str]; 5] =
    [&["or"], &["and"], &["<=", "==", "!=", "<", ">=", ">"], &["+", "-"], &["*", "/"]];

/// The greatest number of terms: long sums are deep trees.
const TERMS: usize = 1000;

/// The greatest depth of nested parentheses.
const DEPTH: usize = 200;

struct Parser<'a> {
    source: &'a str,
    /// The operations that can be called.
    rows: &'static [OperationRow],
    at: usize,
    depth: usize,
    terms: usize,
    text: Assignments,
}

impl<'a> Parser<'a> {
    fn assignments(&mut self) -> Result<(), Error> {
        loop {
            let assignment = self.assignment()?;
            self.text.assignments.push(assignment);
            let mut ended = false;
            while self.sign(";") {
                ended = true;
            }
            if self.rest().is_empty() {
                return Ok(());
            }
            if !ended {
                return Err(self.wrong("an operator, `;` or the end is expected"));
            }
        }
    }

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
        let known = self.text.names.iter().position(|known| &**known == name);
        known.map_or_else(|| self.text.fresh(name).0, |known| known as u32)
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
            return Ok(-self.deeper(Self::power)?);
        }
        let base = self.term()?;
        if !self.sign("**") {
            return Ok(base);
        }
        Ok(Formula::binary(Binary::Pow, base, self.deeper(Self::power)?))
    }

    /// Reads a nested formula, up to the greatest depth.
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

/// Two terms with a sign between them. For `>` and `>=` the sides are exchanged.
fn between(sign: &str, left: Formula, right: Formula) -> Option<Formula> {
    Some(match sign {
        ">" => Formula::binary(Binary::Less, right, left),
        ">=" => Formula::binary(Binary::LessEq, right, left),
        _ => Formula::binary(Binary::named(sign)?, left, right),
    })
}

/// The formula of the row with this name, with arguments in place of its operands. None if no row
/// has this name and this number of operands.
pub(crate) fn applied(rows: &'static [OperationRow], name: &str, arguments: &[Formula]) -> Option<Formula> {
    let at = rows.iter().position(|row| row.name == name)?;
    of_row(rows, at, arguments)
}

/// The formula of a row with arguments in place of its operands. None if it has another number of operands.
pub(super) fn of_row(rows: &'static [OperationRow], at: usize, arguments: &[Formula]) -> Option<Formula> {
    let row = rows.get(at).filter(|row| row.operands.len() == arguments.len())?;
    let law = read_below(row.forward, &rows[..at]).ok()?;
    let [Assignment { value, .. }] = &law.assignments[..] else { return None };
    value.with_names(&|name| match Slot::read(&law.names[name as usize])? {
        Slot::Value(place) => arguments.get((place as usize).checked_sub(1)?).cloned(),
        _ => None,
    })
}

/// A function by its name: one of numbers, or an operation of some rows of the table.
pub(super) fn function(
    rows: &'static [OperationRow],
    name: &str,
    arguments: Vec<Formula>,
) -> Option<Formula> {
    Some(match (name, &arguments[..]) {
        ("pow", [a, b]) => Formula::binary(Binary::Pow, a.clone(), b.clone()),
        ("where", [condition, a, b]) => Formula::select(condition.clone(), a.clone(), b.clone()),
        // y where x is positive, else 0: the gradient of a function with a kink.
        ("relu_gate", [x, y]) => {
            let zero = || Formula::Number(0.0);
            Formula::select(Formula::binary(Binary::Less, zero(), x.clone()), y.clone(), zero())
        }
        (_, [a]) if let Some(function) = Unary::named(name) => Formula::unary(function, a.clone()),
        (_, [a, b]) if let Some(function) = Binary::named(name) => {
            Formula::binary(function, a.clone(), b.clone())
        }
        _ => applied(rows, name, &arguments)?,
    })
}

/// Reads further assignments.
pub(super) fn read_into(
    into: &mut Assignments,
    source: &str,
    rows: &'static [OperationRow],
) -> Result<(), Error> {
    let mut parser = Parser { source, rows, at: 0, depth: 0, terms: 0, text: std::mem::take(into) };
    let read = parser.assignments();
    *into = parser.text;
    read
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
