//! From the text of a test program to statements and functions.

use super::lexer::{Token, tokens, without_comment};
use super::tree::{Argument, Captured, Expr, Function, Given, Kind, Leaf, Statement};

/// An item of a program, in order.
pub enum Item {
    Statement(Statement),
    Function(Function),
}

/// Operators from the loosest to the tightest; each level is left associative.
const LEVELS: [&[&str]; 2] = [&["+", "-"], &["*", "/", "@"]];

pub fn parse(text: &str) -> Result<Vec<Item>, String> {
    let lines = text.lines().map(without_comment).zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let mut lines = lines.peekable();
    let mut items = Vec::new();
    while let Some((line, number)) = lines.next() {
        let at = |message: String| at(number, line, &message);
        if line.starts_with(char::is_whitespace) {
            return Err(at("an indented line outside of a function".into()));
        }
        let Some(header) = line.strip_prefix("def ") else {
            items.push(Item::Statement(Statement { line: number, kind: statement(line).map_err(at)? }));
            continue;
        };
        let mut body = Vec::new();
        while let Some(inside) = lines.next_if(|(line, _)| line.starts_with(char::is_whitespace)) {
            body.push(inside);
        }
        let (name, parameters) = signature(header).map_err(at)?;
        let (body, result) = function_body(&body)?.ok_or_else(|| at("no `return` at the end".into()))?;
        items.push(Item::Function(Function { line: number, name, parameters, body, result }));
    }
    Ok(items)
}

/// A message about a line.
fn at(number: usize, line: &str, message: &str) -> String {
    format!("line {number}: {message}: {}", line.trim())
}

/// The statements of a function and its result, or None if it does not end with `return`.
fn function_body(lines: &[(&str, usize)]) -> Result<Option<(Vec<Statement>, Expr)>, String> {
    let Some(((last, number), before)) = lines.split_last() else { return Ok(None) };
    let Some(result) = last.trim_start().strip_prefix("return ") else { return Ok(None) };
    let statement = |(line, number): &(&str, usize)| {
        let kind = statement(line.trim_start()).map_err(|message| at(*number, line, &message))?;
        Ok::<_, String>(Statement { line: *number, kind })
    };
    let body = before.iter().map(statement).collect::<Result<_, _>>()?;
    let result = whole(result, Cursor::expression).map_err(|message| at(*number, last, &message))?;
    Ok(Some((body, result)))
}

fn statement(line: &str) -> Result<Kind, String> {
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    match first {
        _ if rest.trim_start().starts_with(['=', ',']) => definition(line),
        "set" => whole(rest, Cursor::set),
        "equal" => whole(rest, Cursor::equal),
        "scale" => whole(rest, Cursor::scale),
        "dim" => dim(rest),
        "dynamic" => Ok(Kind::Dynamic(rest.trim().into())),
        "size" => {
            let (name, size) = rest.split_once('=').ok_or("a size is given as `size batch = 8`")?;
            let size = size.trim().parse().map_err(|_| format!("`{size}` is not a size"))?;
            Ok(Kind::Size(name.trim().into(), size))
        }
        "square" => whole(rest, |cursor| cursor.word().map(Kind::Square)),
        _ => definition(line),
    }
}

fn definition(line: &str) -> Result<Kind, String> {
    let (left, right) =
        line.split_once('=').ok_or("neither a definition `name = …` nor set, equal, scale, square")?;
    let names: Vec<String> = left.split(',').map(|name| name.trim().to_owned()).collect();
    if let Some(name) = names.iter().find(|name| !is_name(name)) {
        return Err(format!("`{name}` is not a name"));
    }
    let right = right.trim();
    let (first, rest) = right.split_once(' ').unwrap_or((right, ""));
    let leaf = match first {
        "data" => data(rest.trim())?,
        "param" => Leaf::Param { shape: Some(rest.trim().to_owned()).filter(|shape| !shape.is_empty()) },
        "constant" => Leaf::Constant(rest.trim().parse().map_err(|_| format!("`{rest}` is not a number"))?),
        _ => return Ok(Kind::Let(names, whole(right, Cursor::expression)?)),
    };
    match <[String; 1]>::try_from(names) {
        Ok([name]) => Ok(Kind::Leaf(name, leaf)),
        Err(_) => Err("a leaf has one name".into()),
    }
}

/// `batch in 1..64 sample 32`
fn dim(text: &str) -> Result<Kind, String> {
    let number = |word: &str| word.trim().parse::<u64>().map_err(|_| format!("`{word}` is not a size"));
    let (text, sample) = match text.split_once(" sample ") {
        Some((text, sample)) => (text, Some(number(sample)?)),
        None => (text, None),
    };
    let (name, range) = match text.split_once(" in ") {
        Some((name, range)) => {
            let (lo, hi) = range.split_once("..").ok_or("a range is written `1..64`")?;
            let hi = Some(hi.trim()).filter(|hi| !hi.is_empty()).map(number).transpose()?;
            (name, (number(lo)?, hi))
        }
        None => (text, (1, None)),
    };
    Ok(Kind::Dim { name: name.trim().into(), range, sample })
}

/// `32 | 784`, with `axes 8 3` or `count 24` after it.
fn data(text: &str) -> Result<Leaf, String> {
    let number = |word: &str| word.parse::<u64>().map_err(|_| format!("`{word}` is not a size"));
    let (shape, given) = if let Some((shape, axes)) = text.split_once("axes ") {
        (shape, Given::Axes(axes.split_whitespace().map(number).collect::<Result<_, _>>()?))
    } else if let Some((shape, count)) = text.split_once("count ") {
        (shape, Given::Count(number(count.trim())?))
    } else {
        (text, Given::Nothing)
    };
    Ok(Leaf::Data { shape: shape.trim().to_owned(), given })
}

/// `name(a, b):`
fn signature(text: &str) -> Result<(String, Vec<String>), String> {
    let inside = text.trim().strip_suffix("):").ok_or("a function begins `def name(a, b):`")?;
    let (name, parameters) = inside.split_once('(').ok_or("a function begins `def name(a, b):`")?;
    let parameters: Vec<String> = parameters.split(',').map(|name| name.trim().to_owned()).collect();
    let (name, all) = (name.trim().to_owned(), parameters.iter());
    match std::iter::once(&name).chain(all).find(|name| !is_name(name)) {
        Some(name) => Err(format!("`{name}` is not a name")),
        None => Ok((name, parameters)),
    }
}

fn is_name(text: &str) -> bool {
    matches!(tokens(text).as_deref(), Ok([Token::Word(_)]))
}

/// Reads a whole text with a rule.
fn whole<T>(text: &str, rule: impl FnOnce(&mut Cursor) -> Result<T, String>) -> Result<T, String> {
    let mut cursor = Cursor { tokens: tokens(text)?, at: 0 };
    let value = rule(&mut cursor)?;
    match cursor.tokens.get(cursor.at) {
        None => Ok(value),
        Some(token) => Err(format!("{token} is too much")),
    }
}

/// A place in the tokens of a line.
struct Cursor {
    tokens: Vec<Token>,
    at: usize,
}

impl Cursor {
    /// Skips the next token if it is the sign, and returns true if it was.
    fn sign(&mut self, sign: &'static str) -> bool {
        let found = self.tokens.get(self.at) == Some(&Token::Sign(sign));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), String> {
        if self.sign(sign) { Ok(()) } else { Err(format!("expected `{sign}`, found {}", self.found())) }
    }

    fn found(&self) -> String {
        self.tokens.get(self.at).map_or("the end".into(), Token::to_string)
    }

    fn word(&mut self) -> Result<String, String> {
        match self.tokens.get(self.at) {
            Some(Token::Word(word)) => {
                self.at += 1;
                Ok(word.clone())
            }
            _ => Err(format!("expected a name, found {}", self.found())),
        }
    }

    /// `h of scores`
    fn captured(&mut self) -> Result<Captured, String> {
        let label = self.word()?;
        match self.word()?.as_str() {
            "of" => Ok(Captured { label, tensor: self.word()? }),
            other => Err(format!("expected `of`, found `{other}`")),
        }
    }

    fn set(&mut self) -> Result<Kind, String> {
        let captured = self.captured()?;
        self.expect("=")?;
        Ok(Kind::Set(captured, self.atom()?))
    }

    fn equal(&mut self) -> Result<Kind, String> {
        let a = self.captured()?;
        self.expect(",")?;
        Ok(Kind::Equal(a, self.captured()?))
    }

    fn scale(&mut self) -> Result<Kind, String> {
        let large = self.captured()?;
        self.expect("=")?;
        let factor = self.atom()?;
        self.expect("*")?;
        Ok(Kind::Scale(large, factor, self.captured()?))
    }

    fn expression(&mut self) -> Result<Expr, String> {
        self.level(0)
    }

    fn level(&mut self, level: usize) -> Result<Expr, String> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        while let Some(operator) = operators.iter().find(|operator| self.sign(operator)) {
            left = call(operator, [left, self.level(level + 1)?]);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, String> {
        if self.sign("-") {
            return Ok(match self.unary()? {
                Expr::Number(number) => Expr::Number(-number),
                value => call("neg", [value]),
            });
        }
        let base = self.atom()?;
        if self.sign("**") { Ok(call("**", [base, self.unary()?])) } else { Ok(base) }
    }

    fn atom(&mut self) -> Result<Expr, String> {
        let token = self.tokens.get(self.at).cloned();
        match token {
            Some(Token::Number(number)) => {
                self.at += 1;
                Ok(Expr::Number(number))
            }
            Some(Token::Word(word)) => {
                self.at += 1;
                if self.sign("(") { Ok(Expr::Call(word, self.arguments()?)) } else { Ok(Expr::Name(word)) }
            }
            Some(Token::Sign("(")) => {
                self.at += 1;
                let inside = self.expression()?;
                self.expect(")")?;
                Ok(inside)
            }
            _ => Err(format!("expected a value, found {}", self.found())),
        }
    }

    /// The arguments after `(`, and the `)`.
    fn arguments(&mut self) -> Result<Vec<Argument>, String> {
        let mut arguments = vec![self.argument()?];
        while self.sign(",") {
            arguments.push(self.argument()?);
        }
        self.expect(")")?;
        Ok(arguments)
    }

    fn argument(&mut self) -> Result<Argument, String> {
        match self.tokens[self.at..] {
            [Token::Text(ref text), ..] => {
                let text = text.clone();
                self.at += 1;
                Ok(Argument::Text(text))
            }
            [Token::Word(ref range), Token::Word(_) | Token::Number(_), ..] if range == "range" => {
                self.at += 1;
                Ok(Argument::Range(self.atom()?))
            }
            [Token::Word(ref name), Token::Sign("="), ..] => {
                let name = name.clone();
                self.at += 2;
                Ok(Argument::Option(name, self.atom()?))
            }
            _ => Ok(Argument::Value(self.expression()?)),
        }
    }
}

fn call<const N: usize>(function: &str, values: [Expr; N]) -> Expr {
    Expr::Call(function.into(), values.map(Argument::Value).into())
}
