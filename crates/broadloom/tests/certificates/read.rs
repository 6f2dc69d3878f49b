//! A reader of certificates, written from the headers of `verification/lean/Certificate.lean` and `Ranges.lean`.

/// The values that certificates consist of.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    Number(u128),
    Negative(u128),
    Text(String),
    List(Vec<Value>),
    Tuple(Vec<Value>),
    /// `.var 3`, `some 2`, `none`, `true`.
    Apply(String, Vec<Value>),
}

/// The parts of a certificate.
#[derive(Clone, PartialEq, Debug)]
pub struct File {
    pub namespace: String,
    pub constraints: Vec<Value>,
    pub discardable: Vec<Value>,
    pub dims: Vec<Value>,
    pub rows: Vec<Value>,
    pub shapes: Vec<Value>,
    pub family: Option<Family>,
}

/// The named sizes of a certificate for all of them.
#[derive(Clone, PartialEq, Debug)]
pub struct Family {
    pub ranges: Vec<Value>,
    pub conditions: Vec<Value>,
    pub forms: Vec<Value>,
    pub sample: Vec<Value>,
}

const ABOVE: &str = "\n\n@[expose] public noncomputable section\n\nopen Broadloom\n\n";

const THEOREMS: &str = "theorem certificate : system.Holds solution := check_sound (by decide +kernel)\n\n\
                        theorem inferred : solution.Gives shapes := gives_sound (by decide +kernel)\n\n";

const RANGE_THEOREMS: &str = "theorem certificate : family.Holds system solution := checkAll_sound (by decide +kernel)\n\n\
     theorem inferred : family.Gives solution shapes := givesAll_sound (by decide +kernel)\n\n\
     theorem possible : family.Admits (sizesOf sample) := admits_sound (by decide +kernel)\n\n";

/// Reads a certificate.
pub fn read(text: &str) -> Result<File, String> {
    let rest = text.strip_prefix("module\n\npublic import ").ok_or("the first lines are others")?;
    let ranged = rest.starts_with("Ranges");
    let (theory, theorems) = if ranged { ("Ranges", RANGE_THEOREMS) } else { ("Certificate", THEOREMS) };
    let rest = rest.strip_prefix(theory).and_then(|rest| rest.strip_prefix(ABOVE));
    let rest = rest.ok_or("the first lines are others")?;
    let (first, rest) = rest.split_once('\n').ok_or("one line")?;
    let namespace = first.strip_prefix("namespace ").ok_or("no namespace")?;
    let legal = namespace.starts_with(|letter: char| letter.is_ascii_uppercase())
        && namespace.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if !legal {
        return Err(format!("the namespace {namespace}"));
    }
    let rest =
        rest.strip_suffix(&format!("{theorems}end {namespace}\n")).ok_or("the last lines are others")?;
    let mut tokens = Tokens { all: tokens(rest)?, at: 0 };
    let family = if ranged { Some(tokens.family()?) } else { None };
    tokens.words("def system : System where constraints :=")?;
    let constraints = tokens.list()?;
    let discardable = if tokens.peek() == Some("discardable") {
        tokens.words("discardable :=")?;
        tokens.list()?
    } else {
        Vec::new()
    };
    tokens.words("def solution : Assignment where dims :=")?;
    let dims = tokens.list()?;
    tokens.words("rows :=")?;
    let rows = tokens.list()?;
    tokens.words("def shapes : List Shape :=")?;
    let shapes = tokens.list()?;
    match tokens.peek() {
        None => {
            Ok(File { namespace: namespace.into(), constraints, discardable, dims, rows, shapes, family })
        }
        Some(more) => Err(format!("{more} after the shapes")),
    }
}

/// Signs, strings (with their first quote) and words.
fn tokens(text: &str) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if letter.is_whitespace() {
            rest = &rest[letter.len_utf8()..];
        } else if rest.starts_with("--") {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
        } else if letter == '"' {
            let mut string = String::from('"');
            let mut letters = rest.char_indices().skip(1);
            let end = loop {
                match letters.next().ok_or("a string without an end")? {
                    (at, '"') => break at,
                    (_, '\\') => string.push(letters.next().ok_or("a string without an end")?.1),
                    (_, other) => string.push(other),
                }
            };
            all.push(string);
            rest = &rest[end + 1..];
        } else if "⟨⟩[](),".contains(letter) {
            all.push(letter.to_string());
            rest = &rest[letter.len_utf8()..];
        } else {
            let end = rest.find(|letter: char| letter.is_whitespace() || "⟨⟩[](),\"".contains(letter));
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            all.push(word.into());
            rest = after;
        }
    }
    Ok(all)
}

struct Tokens {
    all: Vec<String>,
    at: usize,
}

impl Tokens {
    fn peek(&self) -> Option<&str> {
        self.all.get(self.at).map(String::as_str)
    }

    fn words(&mut self, words: &str) -> Result<(), String> {
        for word in words.split(' ') {
            if self.peek() != Some(word) {
                return Err(format!("{:?} instead of {word}", self.peek()));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn family(&mut self) -> Result<Family, String> {
        self.words("def family : Family where ranges :=")?;
        let ranges = self.list()?;
        self.words("conditions :=")?;
        let conditions = self.list()?;
        self.words("forms :=")?;
        let forms = self.list()?;
        self.words("def sample : List Nat :=")?;
        let sample = self.list()?;
        Ok(Family { ranges, conditions, forms, sample })
    }

    fn list(&mut self) -> Result<Vec<Value>, String> {
        match self.value()? {
            Value::List(values) => Ok(values),
            other => Err(format!("{other:?} is no list")),
        }
    }

    /// A value: a head with arguments, or an argument.
    fn value(&mut self) -> Result<Value, String> {
        let head = self
            .peek()
            .filter(|word| word.starts_with('.') || ["some", "form"].contains(word))
            .map(String::from);
        let Some(head) = head else { return self.argument() };
        self.at += 1;
        let mut arguments = Vec::new();
        while self.peek().is_some_and(|next| !["]", "⟩", ")", ","].contains(&next)) {
            arguments.push(self.argument()?);
        }
        Ok(Value::Apply(head, arguments))
    }

    fn argument(&mut self) -> Result<Value, String> {
        let token = self.peek().ok_or("the end too early")?.to_string();
        self.at += 1;
        match token.as_str() {
            "[" => Ok(Value::List(self.until("]")?)),
            "⟨" => Ok(Value::Tuple(self.until("⟩")?)),
            "(" => {
                let mut values = self.until(")")?;
                match values.pop() {
                    Some(value) if values.is_empty() => Ok(value),
                    last => Ok(Value::Tuple(values.into_iter().chain(last).collect())),
                }
            }
            "none" | "true" | "false" | ".unit" => Ok(Value::Apply(token, Vec::new())),
            _ => match token.strip_prefix('"') {
                Some(text) => Ok(Value::Text(text.into())),
                None => {
                    let (number, digits): (fn(u128) -> Value, &str) = match token.strip_prefix('-') {
                        Some(digits) => (Value::Negative, digits),
                        None => (Value::Number, &token),
                    };
                    digits.parse().map(number).map_err(|_| format!("{token} is no argument"))
                }
            },
        }
    }

    fn until(&mut self, end: &str) -> Result<Vec<Value>, String> {
        let mut values = Vec::new();
        if self.peek() == Some(end) {
            self.at += 1;
            return Ok(values);
        }
        loop {
            values.push(self.value()?);
            match self.peek() {
                Some(",") => self.at += 1,
                Some(next) if next == end => {
                    self.at += 1;
                    return Ok(values);
                }
                other => return Err(format!("{other:?} in a list")),
            }
        }
    }
}
