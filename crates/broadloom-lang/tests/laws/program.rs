//! A program as a tree that rewritings can take apart, and its text: one line for each statement.

use std::fmt::Write;

/// A program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Its statements, in order; each is one line of the text.
    pub statements: Vec<Statement>,
}

/// A statement, with the statement of the first program
/// that it comes from: messages are compared up to that.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The corresponding statement of the first program.
    pub home: usize,
    /// The statement itself.
    pub kind: Kind,
}

/// The kinds of statements.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A line that is only text and that defines a name: `dim`, `def`, a layer that is bound to a name.
    Text {
        /// The name that it defines.
        name: String,
        /// The line.
        text: String,
        /// Names that it uses.
        uses: Vec<String>,
    },
    /// `data x : shape` or `state s : shape`, perhaps without a shape, and perhaps with values.
    Leaf {
        /// `data` or `state`.
        keyword: &'static str,
        /// Its name.
        name: String,
        /// Its shape, as it is written.
        shape: Option<String>,
        /// The text after the equals sign.
        values: Option<String>,
    },
    /// `let name = value`, `let name : shape = value`
    Let {
        /// Its name.
        name: String,
        /// Its shape, as it is written.
        shape: Option<String>,
        /// Its value.
        value: Expr,
    },
    /// `set tensor.label = size`
    Set {
        /// The tensor.
        tensor: String,
        /// One of its labels.
        label: String,
        /// The size.
        size: String,
    },
    /// `target = value`, with any sign
    Assign {
        /// A state.
        target: String,
        /// `=`, `=+` and so on.
        sign: &'static str,
        /// The value.
        value: Expr,
    },
}

/// An expression: a form, and the expressions in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// The way in which it is built from its parts.
    pub form: Form,
    /// Its parts.
    pub parts: Vec<Expr>,
}

/// The ways in which an expression is built from its parts.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// The name of a tensor.
    Name(String),
    /// A number.
    Number(&'static str),
    /// `{name : shape}`
    Param {
        /// Its name.
        name: String,
        /// Its shape, as it is written.
        shape: Option<String>,
    },
    /// A leaf that is made here and has no name: `constant(0.5)`, `noise()`.
    Filler(&'static str),
    /// `a + b`
    Infix(&'static str),
    /// `f(a, b)`: a function of the language, of the library or of the program.
    Call(String),
    /// `a.T`
    Transpose,
    /// `a[0]`, `a[0..2]`
    Index(&'static str),
    /// `f("a; b => c", x, y)`
    Spec {
        /// The function.
        function: &'static str,
        /// The part of the spec for each operand.
        operands: Vec<String>,
        /// The part of the spec for the result; `None` if the spec is only a shape.
        result: Option<String>,
    },
    /// `concat(a, b, along = "output")`
    Joined(&'static str, &'static str),
    /// `x |> linear(4)`: a layer that is made here and has no name.
    Layer(String),
}

impl Expr {
    /// An expression of a form and parts.
    pub fn new(form: Form, parts: Vec<Expr>) -> Expr {
        Expr { form, parts }
    }

    /// The name of a tensor.
    pub fn name(name: &str) -> Expr {
        Expr::new(Form::Name(name.to_owned()), Vec::new())
    }

    /// A function of tensors.
    pub fn call(function: &str, parts: Vec<Expr>) -> Expr {
        Expr::new(Form::Call(function.to_owned()), parts)
    }

    /// A spec.
    pub fn spec(function: &'static str, operands: &[&str], result: Option<&str>, parts: Vec<Expr>) -> Expr {
        let operands = operands.iter().map(|operand| (*operand).to_owned()).collect();
        Expr::new(Form::Spec { function, operands, result: result.map(str::to_owned) }, parts)
    }

    /// Calls a function for this expression and all expressions in it.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        visit(self);
        self.parts.iter().for_each(|part| part.walk(visit));
    }

    /// The same for changes; the whole is visited before its parts.
    pub fn walk_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        visit(self);
        self.parts.iter_mut().for_each(|part| part.walk_mut(visit));
    }

    /// The number of expressions in it, itself included.
    pub fn len(&self) -> usize {
        1 + self.parts.iter().map(Expr::len).sum::<usize>()
    }

    /// The expression with an index, in the order of [`Expr::walk`].
    pub fn at_mut(&mut self, at: usize) -> Option<&mut Expr> {
        if at == 0 {
            return Some(self);
        }
        let mut before = 1;
        for part in &mut self.parts {
            let len = part.len();
            if at < before + len {
                return part.at_mut(at - before);
            }
            before += len;
        }
        None
    }

    /// The text, with brackets wherever they could matter.
    pub fn text(&self) -> String {
        let parts: Vec<String> = self.parts.iter().map(Expr::text).collect();
        let all = parts.join(", ");
        match &self.form {
            Form::Name(name) => name.clone(),
            Form::Number(number) => (*number).to_owned(),
            Form::Param { name, shape: None } => format!("{{{name}}}"),
            Form::Param { name, shape: Some(shape) } => format!("{{{name} : {shape}}}"),
            Form::Filler(text) => (*text).to_owned(),
            Form::Infix(sign) => format!("({} {sign} {})", parts[0], parts[1]),
            Form::Call(function) => format!("{function}({all})"),
            Form::Transpose => format!("{all}.T"),
            Form::Index(index) => format!("{all}[{index}]"),
            Form::Spec { function, operands, result } => {
                let result = result.as_ref().map_or(String::new(), |result| format!(" => {result}"));
                format!("{function}(\"{}{result}\", {all})", operands.join("; "))
            }
            Form::Joined(function, along) => format!("{function}({all}, along = \"{along}\")"),
            Form::Layer(layer) => format!("({all} |> {layer})"),
        }
    }
}

impl Statement {
    /// The expression in it.
    pub fn value(&self) -> Option<&Expr> {
        match &self.kind {
            Kind::Let { value, .. } | Kind::Assign { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The expression in it, mutably.
    pub fn value_mut(&mut self) -> Option<&mut Expr> {
        match &mut self.kind {
            Kind::Let { value, .. } | Kind::Assign { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Returns true for a `def`.
    pub fn is_function(&self) -> bool {
        matches!(&self.kind, Kind::Text { text, .. } if text.starts_with("def "))
    }

    /// The names that it defines: its own, and those of parameters in it.
    pub fn defines(&self) -> Vec<String> {
        let mut names = Vec::new();
        match &self.kind {
            Kind::Text { name, .. } | Kind::Leaf { name, .. } | Kind::Let { name, .. } => {
                names.push(name.clone())
            }
            Kind::Set { .. } | Kind::Assign { .. } => {}
        }
        self.each(&mut |expr| {
            if let Form::Param { name, .. } = &expr.form {
                names.push(name.clone());
            }
        });
        names
    }

    /// The names that it uses.
    pub fn uses(&self) -> Vec<String> {
        let mut names = Vec::new();
        let shape = |shape: &Option<String>, names: &mut Vec<String>| {
            let words =
                shape.iter().flat_map(|shape| shape.split(|c: char| !(c.is_alphanumeric() || c == '_')));
            names.extend(words.map(str::to_owned));
        };
        match &self.kind {
            Kind::Text { uses, .. } => names.extend(uses.iter().cloned()),
            Kind::Leaf { shape: stated, .. } => shape(stated, &mut names),
            Kind::Set { tensor, .. } => names.push(tensor.clone()),
            Kind::Assign { target, .. } => names.push(target.clone()),
            Kind::Let { shape: stated, .. } => shape(stated, &mut names),
        }
        self.each(&mut |expr| match &expr.form {
            Form::Name(name) => names.push(name.clone()),
            Form::Param { shape: stated, .. } => shape(stated, &mut names),
            Form::Call(function) => names.push(function.clone()),
            Form::Layer(layer) => {
                names.extend(layer.split(['(', ')', ',']).map(|word| word.trim().to_owned()))
            }
            _ => {}
        });
        names
    }

    /// Calls a function for all expressions in it.
    pub fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        if let Some(value) = self.value() {
            value.walk(visit);
        }
    }

    /// Returns true if it acts when the program runs,
    /// so that its place among other actions matters.
    pub fn acts(&self) -> bool {
        matches!(self.kind, Kind::Assign { .. })
    }

    /// Its line.
    pub fn text(&self) -> String {
        match &self.kind {
            Kind::Text { text, .. } => text.clone(),
            Kind::Leaf { keyword, name, shape, values } => {
                let shape = shape.as_ref().map_or(String::new(), |shape| format!(" : {shape}"));
                let values = values.as_ref().map_or(String::new(), |values| format!(" = {values}"));
                format!("{keyword} {name}{shape}{values}")
            }
            Kind::Let { name, shape, value } => {
                let shape = shape.as_ref().map_or(String::new(), |shape| format!(" : {shape}"));
                format!("let {name}{shape} = {}", value.text())
            }
            Kind::Set { tensor, label, size } => format!("set {tensor}.{label} = {size}"),
            Kind::Assign { target, sign, value } => format!("{target} {sign} {}", value.text()),
        }
    }
}

impl Program {
    /// Its text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for statement in &self.statements {
            let _ = writeln!(text, "{}", statement.text());
        }
        text
    }

    /// The program with a name for each operation: one statement per operation.
    pub fn flat(&self) -> Program {
        let mut flat = Program::default();
        let mut count = 0;
        for statement in &self.statements {
            let mut statement = statement.clone();
            let home = statement.home;
            if let Some(value) = statement.value_mut() {
                value.parts.iter_mut().for_each(|part| flatten(part, home, &mut count, &mut flat.statements));
            }
            flat.statements.push(statement);
        }
        flat
    }

    /// Returns true if sizes are calculated in it, by windows and concatenations.
    pub fn has_arithmetic(&self) -> bool {
        let words = ["<+", "=+", "~+", "2*", "concat", "stack", "pool", "conv2d"];
        let text = self.text();
        words.iter().any(|word| text.contains(word))
    }

    /// The number of uses of a name.
    pub fn uses_of(&self, name: &str) -> usize {
        self.statements
            .iter()
            .map(|statement| statement.uses().iter().filter(|used| *used == name).count())
            .sum()
    }

    /// A name that the program does not have yet.
    pub fn fresh(&self, prefix: &str) -> String {
        let taken: std::collections::BTreeSet<String> =
            self.statements.iter().flat_map(Statement::defines).collect();
        (1..).map(|number| format!("{prefix}{number}")).find(|name| !taken.contains(name)).unwrap_or_default()
    }
}

/// Puts the operations of an expression into statements of their own.
fn flatten(expr: &mut Expr, home: usize, count: &mut usize, into: &mut Vec<Statement>) {
    expr.parts.iter_mut().for_each(|part| flatten(part, home, count, into));
    if !expr.parts.is_empty() {
        *count += 1;
        let name = format!("flat{count}");
        let value = std::mem::replace(expr, Expr::name(&name));
        into.push(Statement { home, kind: Kind::Let { name, shape: None, value } });
    }
}
