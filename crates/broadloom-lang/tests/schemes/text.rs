//! The texts of signatures, read again: shapes, expressions and conditions over variables, and what they are at some
//! values.

use std::collections::{BTreeMap, BTreeSet};

/// The sizes of the axes that each variable stands for. Rows have their dots: `..b..`.
pub type Values = BTreeMap<String, Vec<u64>>;

/// An expression: a sum of products, divided by a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    terms: Vec<(i128, Vec<String>)>,
    denominator: i128,
}

/// An axis of a shape, or a row of axes.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// One element that broadcasts.
    Unit,
    /// The axes of a variable, one or several.
    Var(String),
    /// One axis of the size of an expression, perhaps with a basis.
    Form(Form, Option<String>),
}

/// A shape: batch, input, output.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Shape(pub [Vec<Item>; 3]);

/// A condition on sizes.
#[derive(Clone, Debug)]
pub enum Condition {
    /// It is a multiple of a number.
    Multiple(Form, i128),
    /// It is at least a number.
    AtLeast(Form, i128),
    /// It is at most a number.
    AtMost(Form, i128),
    /// Both are the same.
    Equal(Form, Form),
}

/// A text in words for which there is no other reading.
type Unread = String;

impl Form {
    /// Reads `2*n + 1`, `(n - 1)/2`, `..m../8`.
    pub fn read(text: &str) -> Result<Form, Unread> {
        let text = text.trim();
        let (sum, denominator) = match text.rsplit_once('/') {
            Some((sum, by)) => (sum, by.trim().parse().map_err(|_| format!("the divisor of {text}"))?),
            None => (text, 1),
        };
        let sum = match sum.strip_prefix('(') {
            Some(inner) => inner.strip_suffix(')').ok_or_else(|| format!("the brackets of {text}"))?,
            None => sum,
        };
        let sum = sum.replace(" - ", " + -");
        let term = |part: &str| {
            let (sign, part) = match part.trim().strip_prefix('-') {
                Some(part) => (-1, part),
                None => (1, part.trim()),
            };
            let (mut factor, mut names) = (sign, Vec::new());
            for each in part.split('*').map(str::trim) {
                match each.parse::<i128>() {
                    Ok(number) => factor *= number,
                    Err(_) if is_name(each) => names.push(each.to_owned()),
                    Err(_) => return Err(format!("`{each}` in {text}")),
                }
            }
            Ok((factor, names))
        };
        let terms = sum.split(" + ").map(term).collect::<Result<Vec<_>, _>>()?;
        Ok(Form { terms, denominator })
    }

    /// Its variables.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.terms.iter().flat_map(|(_, names)| names)
    }

    /// Its divisor.
    pub fn denominator(&self) -> i128 {
        self.denominator
    }

    /// Its value, if that is a whole number.
    pub fn value(&self, values: &Values) -> Option<i128> {
        let mut sum = 0i128;
        for (factor, names) in &self.terms {
            let mut product = *factor;
            for name in names {
                product *= values.get(name)?.iter().map(|size| i128::from(*size)).product::<i128>();
            }
            sum += product;
        }
        (sum % self.denominator == 0).then_some(sum / self.denominator)
    }

    /// As an axis of a declared shape, with other names for its variables.
    fn written(&self, names: &BTreeMap<String, Vec<String>>) -> Option<String> {
        let mut sum = String::new();
        for (factor, variables) in &self.terms {
            let mut parts = vec![factor.abs().to_string()];
            for variable in variables {
                parts.extend(names.get(variable)?.iter().cloned());
            }
            let sign = match (sum.is_empty(), *factor < 0) {
                (true, false) => "",
                (true, true) => "0 - ",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            sum = format!("{sum}{sign}{}", parts.join(" * "));
        }
        Some(if self.denominator == 1 {
            format!("({sum})")
        } else {
            format!("(({sum}) / {})", self.denominator)
        })
    }
}

/// True for `n` and `..n..`.
fn is_name(text: &str) -> bool {
    let inner = text.strip_prefix("..").and_then(|text| text.strip_suffix("..")).unwrap_or(text);
    let mut letters = inner.chars();
    letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
}

impl Item {
    /// The variables in the size of an axis with a basis.
    pub fn based(&self) -> impl Iterator<Item = &String> {
        let form = if let Item::Form(form, Some(_)) = self { Some(form) } else { None };
        form.into_iter().flat_map(Form::names)
    }

    fn read(text: &str) -> Result<Item, Unread> {
        let text = text.trim();
        if text == "_" {
            return Ok(Item::Unit);
        }
        let (size, basis) = match text.split_once(':') {
            Some((size, basis)) => (size, Some(basis.to_owned())),
            None => (text, None),
        };
        if basis.is_none() && is_name(size) {
            return Ok(Item::Var(size.to_owned()));
        }
        Ok(Item::Form(Form::read(size)?, basis))
    }
}

impl Shape {
    /// Reads `..b.. | ..i.. -> n, 2*m`.
    pub fn read(text: &str) -> Result<Shape, Unread> {
        let text = text.trim();
        if text == "()" {
            return Ok(Shape::default());
        }
        let (batch, rest) = text.split_once('|').unwrap_or(("", text));
        let (input, output) = rest.split_once("->").unwrap_or(("", rest));
        let row = |text: &str| -> Result<Vec<Item>, Unread> {
            text.split(',').filter(|each| !each.trim().is_empty()).map(Item::read).collect()
        };
        Ok(Shape([row(batch)?, row(input)?, row(output)?]))
    }

    /// Its items in order.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.0.iter().flatten()
    }

    /// Its variables.
    pub fn names(&self) -> BTreeSet<String> {
        let names = self.items().flat_map(|item| match item {
            Item::Unit => Vec::new(),
            Item::Var(name) => vec![name.clone()],
            Item::Form(form, _) => form.names().cloned().collect(),
        });
        names.collect()
    }

    /// Its expressions.
    pub fn forms(&self) -> impl Iterator<Item = &Form> {
        self.items().filter_map(|item| match item {
            Item::Form(form, _) => Some(form),
            _ => None,
        })
    }

    /// The shape at some values, as it is shown.
    pub fn at(&self, values: &Values) -> Option<String> {
        let row = |items: &Vec<Item>| -> Option<String> {
            let mut axes = Vec::new();
            for item in items {
                match item {
                    Item::Unit => axes.push("_".to_owned()),
                    Item::Var(name) => axes.extend(values.get(name)?.iter().map(u64::to_string)),
                    Item::Form(form, basis) => {
                        let basis = basis.as_ref().map_or(String::new(), |basis| format!(":{basis}"));
                        axes.push(format!("{}{basis}", form.value(values)?));
                    }
                }
            }
            Some(axes.join(", "))
        };
        let [batch, input, output] = &self.0;
        Some(shown(&row(batch)?, &row(input)?, &row(output)?))
    }

    /// The shape as it is declared, with names in place of the axes of its variables.
    pub fn written(&self, names: &BTreeMap<String, Vec<String>>) -> Option<String> {
        let row = |items: &Vec<Item>| -> Option<String> {
            let mut axes = Vec::new();
            for item in items {
                match item {
                    Item::Unit => axes.push("1:unit".to_owned()),
                    Item::Var(name) => axes.extend(names.get(name)?.iter().cloned()),
                    Item::Form(form, basis) => {
                        let basis = basis.as_ref().map_or(String::new(), |basis| format!(":{basis}"));
                        axes.push(format!("{}{basis}", form.written(names)?));
                    }
                }
            }
            Some(axes.join(", "))
        };
        let [batch, input, output] = &self.0;
        Some(declared(&row(batch)?, &row(input)?, &row(output)?))
    }
}

/// A shape from the texts of its rows, as it is shown.
fn shown(batch: &str, input: &str, output: &str) -> String {
    if batch.is_empty() && input.is_empty() && output.is_empty() {
        return "()".to_owned();
    }
    let batch = if batch.is_empty() { String::new() } else { format!("{batch} | ") };
    let input = if input.is_empty() { String::new() } else { format!("{input} -> ") };
    format!("{batch}{input}{output}").trim().to_owned()
}

/// A shape from the texts of its rows, as it is declared.
pub fn declared(batch: &str, input: &str, output: &str) -> String {
    match shown(batch, input, output) {
        text if text == "()" => "|".to_owned(),
        text => text,
    }
}

impl Condition {
    /// Reads a condition, which is a sentence with expressions in quotes.
    pub fn read(text: &str) -> Result<Condition, Unread> {
        let parts: Vec<&str> = text.split('`').collect();
        let number = |text: &str| text.trim().parse::<i128>().map_err(|_| format!("the number of {text}"));
        match *parts.as_slice() {
            ["", left, " = ", right, ""] => Ok(Condition::Equal(Form::read(left)?, Form::read(right)?)),
            ["", form, rest] => {
                let form = Form::read(form)?;
                if let Some(by) = rest.strip_prefix(" is a multiple of ") {
                    Ok(Condition::Multiple(form, number(by)?))
                } else if let Some(least) = rest.strip_prefix(" is at least ") {
                    Ok(Condition::AtLeast(form, number(least)?))
                } else if let Some(most) = rest.strip_prefix(" is at most ") {
                    Ok(Condition::AtMost(form, number(most)?))
                } else {
                    Err(format!("the condition {text}"))
                }
            }
            _ => Err(format!("the condition {text}")),
        }
    }

    /// The variables that it is about.
    pub fn names(&self) -> Vec<String> {
        match self {
            Condition::Multiple(form, _) | Condition::AtLeast(form, _) | Condition::AtMost(form, _) => {
                form.names().cloned().collect()
            }
            Condition::Equal(left, right) => left.names().chain(right.names()).cloned().collect(),
        }
    }

    /// True if it holds at some values.
    pub fn holds(&self, values: &Values) -> bool {
        let value = |form: &Form| form.value(values);
        match self {
            Condition::Multiple(form, by) => value(form).is_some_and(|value| value % by == 0),
            Condition::AtLeast(form, least) => value(form).is_some_and(|value| value >= *least),
            Condition::AtMost(form, most) => value(form).is_some_and(|value| value <= *most),
            Condition::Equal(left, right) => value(left).is_some() && value(left) == value(right),
        }
    }

    /// The number that something has to be a multiple of, or 1.
    pub fn divisor(&self) -> i128 {
        match self {
            Condition::Multiple(_, by) => *by,
            Condition::AtLeast(form, _) | Condition::AtMost(form, _) => form.denominator(),
            Condition::Equal(left, right) => left.denominator() * right.denominator(),
        }
    }
}
