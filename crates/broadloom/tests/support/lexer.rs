//! The words, numbers, texts and signs of one line of a test program.

#[derive(Clone, PartialEq, Debug)]
pub enum Token {
    Word(String),
    Number(f64),
    /// The text between quotes.
    Text(String),
    Sign(&'static str),
}

/// The signs; a longer one comes before its prefixes.
const SIGNS: [&str; 11] = ["**", "+", "-", "*", "/", "@", "(", ")", ",", "=", ":"];

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Word(word) => write!(f, "`{word}`"),
            Token::Number(number) => write!(f, "`{number}`"),
            Token::Text(text) => write!(f, "\"{text}\""),
            Token::Sign(sign) => write!(f, "`{sign}`"),
        }
    }
}

/// A line without its comment and the blanks at its end.
pub fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    let comment = line.char_indices().find(|(_, letter)| {
        quoted ^= *letter == '"';
        *letter == '#' && !quoted
    });
    line[..comment.map_or(line.len(), |(at, _)| at)].trim_end()
}

pub fn tokens(line: &str) -> Result<Vec<Token>, String> {
    let mut found = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = token(rest, first)?;
        found.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(found)
}

/// The token at the beginning of a text, and its length.
fn token(text: &str, first: char) -> Result<(Token, usize), String> {
    let span = |part: fn(char) -> bool| text.find(|letter| !part(letter)).unwrap_or(text.len());
    if first.is_ascii_digit() {
        let length = number_length(text);
        let number = text[..length].parse().map_err(|_| format!("`{}` is not a number", &text[..length]))?;
        return Ok((Token::Number(number), length));
    }
    if first.is_alphabetic() {
        let length = span(|letter| letter.is_alphanumeric() || letter == '_' || letter == '.');
        return Ok((Token::Word(text[..length].into()), length));
    }
    if first == '"' {
        let length = text[1..].find('"').ok_or("a text without a closing quote")?;
        return Ok((Token::Text(text[1..=length].into()), length + 2));
    }
    let sign = SIGNS.iter().find(|sign| text.starts_with(**sign));
    sign.map(|sign| (Token::Sign(sign), sign.len())).ok_or_else(|| format!("`{first}` means nothing here"))
}

/// The length of the number at the beginning of a text: `3`, `0.5`, `1e-5`.
fn number_length(text: &str) -> usize {
    let mut before = ' ';
    let inside = |letter: char| {
        let sign = letter == '-' && before == 'e';
        before = letter;
        letter.is_ascii_digit() || letter == '.' || letter == 'e' || sign
    };
    let mut inside = inside;
    text.find(|letter| !inside(letter)).unwrap_or(text.len())
}
