//! Expands functions where they are called, so that a program is a flat list of statements.
//!
//! `h = layer(x)` puts the statements of `layer` before `h`, with its names as `h.w`, and its result in
//! place of the call. An argument that is more than a name or a number becomes a statement of its own,
//! so that it is computed once.

use std::collections::{BTreeMap, BTreeSet};

use super::parser::Item;
use super::tree::{Argument, Captured, Expr, Function, Kind, Leaf, Program, Statement};

/// The greatest depth of calls.
const DEEPEST: usize = 20;

pub fn expand(items: Vec<Item>) -> Result<Program, String> {
    let mut expansion = Expansion::default();
    for item in items {
        match item {
            Item::Function(function) => {
                expansion.functions.insert(function.name.clone(), function);
            }
            Item::Statement(statement) => expansion.statement(&statement, &Scope::default())?,
        }
    }
    Ok(expansion.program)
}

#[derive(Default)]
struct Expansion {
    functions: BTreeMap<String, Function>,
    program: Program,
    defined: BTreeSet<String>,
}

/// The meaning of names inside of a call; outside of all calls they mean themselves.
#[derive(Default)]
struct Scope {
    /// The name of the call, with a dot.
    prefix: String,
    /// The names and numbers given for the parameters.
    arguments: BTreeMap<String, Expr>,
    /// The names that the function defines.
    own: BTreeSet<String>,
    depth: usize,
}

impl Scope {
    fn value(&self, name: &str) -> Expr {
        match self.arguments.get(name) {
            Some(value) => value.clone(),
            None => Expr::Name(self.own(name)),
        }
    }

    fn own(&self, name: &str) -> String {
        if self.own.contains(name) { format!("{}{name}", self.prefix) } else { name.into() }
    }

    /// A name that must be that of a tensor.
    fn tensor(&self, name: &str) -> Result<String, String> {
        match self.value(name) {
            Expr::Name(name) => Ok(name),
            _ => Err(format!("`{name}` is a number here")),
        }
    }

    /// A name or number that means a number: other names, such as `valid`, mean themselves.
    fn number(&self, value: &Expr) -> Expr {
        match value {
            Expr::Name(name) => self.arguments.get(name).unwrap_or(value).clone(),
            _ => value.clone(),
        }
    }

    /// A declared shape, with the numbers given for parameters in place.
    fn shape(&self, shape: &str) -> String {
        let number = |word: &str| match self.arguments.get(word) {
            Some(Expr::Number(number)) => number.to_string(),
            _ => word.into(),
        };
        let mut text = String::new();
        let mut rest = shape;
        while let Some(first) = rest.chars().next() {
            let length = rest.find(|letter| in_word(letter) != in_word(first)).unwrap_or(rest.len());
            text.push_str(&number(&rest[..length]));
            rest = &rest[length..];
        }
        text
    }
}

impl Expansion {
    fn statement(&mut self, statement: &Statement, scope: &Scope) -> Result<(), String> {
        let line = statement.line;
        let at = |message: String| format!("line {line}: {message}");
        let kind = match &statement.kind {
            Kind::Leaf(name, leaf) => Kind::Leaf(scope.own(name), in_scope(leaf, scope)),
            Kind::Let(names, value) => {
                let names: Vec<String> = names.iter().map(|name| scope.own(name)).collect();
                let value = match value {
                    Expr::Call(function, arguments) if self.functions.contains_key(function) => {
                        self.call(line, function, arguments, scope, format!("{}.", names[0]))?
                    }
                    _ => self.value(line, value, scope, &names[0])?,
                };
                Kind::Let(names, value)
            }
            Kind::Set(a, size) => Kind::Set(captured(a, scope).map_err(at)?, scope.number(size)),
            Kind::Equal(a, b) => {
                Kind::Equal(captured(a, scope).map_err(at)?, captured(b, scope).map_err(at)?)
            }
            Kind::Scale(a, factor, b) => Kind::Scale(
                captured(a, scope).map_err(at)?,
                scope.number(factor),
                captured(b, scope).map_err(at)?,
            ),
            Kind::Square(name) => Kind::Square(scope.tensor(name).map_err(at)?),
            kind @ (Kind::Dim { .. } | Kind::Dynamic(_) | Kind::Size(..)) => kind.clone(),
        };
        self.push(Statement { line, kind })
    }

    /// Adds a statement, if all names that it uses are defined and the names that it defines are
    /// new.
    fn push(&mut self, statement: Statement) -> Result<(), String> {
        let line = statement.line;
        if let Some(name) = statement.uses().into_iter().find(|name| !self.defined.contains(*name)) {
            return Err(format!("line {line}: `{name}` is not defined"));
        }
        for name in statement.defines() {
            if !self.defined.insert(name.into()) {
                return Err(format!("line {line}: `{name}` is defined twice"));
            }
        }
        self.program.statements.push(statement);
        Ok(())
    }

    /// An expression with its calls expanded; `name` is the name that the line defines.
    fn value(&mut self, line: usize, value: &Expr, scope: &Scope, name: &str) -> Result<Expr, String> {
        let Expr::Call(function, arguments) = value else {
            return Ok(if let Expr::Name(name) = value { scope.value(name) } else { value.clone() });
        };
        if self.functions.contains_key(function) {
            return self.call(line, function, arguments, scope, format!("{name}.{function}."));
        }
        let argument = |argument: &Argument| {
            Ok(match argument {
                Argument::Value(value) => Argument::Value(self.value(line, value, scope, name)?),
                Argument::Text(text) => Argument::Text(text.clone()),
                Argument::Range(range) => Argument::Range(scope.number(range)),
                Argument::Option(option, value) => Argument::Option(option.clone(), scope.number(value)),
            })
        };
        Ok(Expr::Call(function.clone(), arguments.iter().map(argument).collect::<Result<_, String>>()?))
    }

    /// The result of a call, after the statements that it expands to.
    fn call(
        &mut self,
        line: usize,
        function: &str,
        arguments: &[Argument],
        scope: &Scope,
        prefix: String,
    ) -> Result<Expr, String> {
        let Function { parameters, body, result, .. } = self.functions[function].clone();
        if parameters.len() != arguments.len() {
            return Err(format!("line {line}: `{function}` is for {} arguments", parameters.len()));
        }
        if scope.depth == DEEPEST {
            return Err(format!("line {line}: `{function}` calls itself"));
        }
        let own: BTreeSet<String> = body.iter().flat_map(Statement::defines).map(str::to_owned).collect();
        if let Some(name) = parameters.iter().find(|name| own.contains(*name)) {
            return Err(format!("line {line}: `{function}` gives its parameter `{name}` another meaning"));
        }
        let mut inner = Scope { prefix, arguments: BTreeMap::new(), own, depth: scope.depth + 1 };
        for (parameter, argument) in parameters.iter().zip(arguments) {
            let Argument::Value(value) = argument else {
                return Err(format!("line {line}: `{function}` is for values"));
            };
            let name = format!("{}{parameter}", inner.prefix);
            let value = match self.value(line, value, scope, &name)? {
                value @ Expr::Call(..) => {
                    self.push(Statement { line, kind: Kind::Let(vec![name.clone()], value) })?;
                    Expr::Name(name)
                }
                value => value,
            };
            inner.arguments.insert(parameter.clone(), value);
        }
        for statement in &body {
            self.statement(statement, &inner)?;
        }
        let name = inner.prefix.trim_end_matches('.').to_owned();
        self.value(line, &result, &inner, &name)
    }
}

fn in_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn captured(captured: &Captured, scope: &Scope) -> Result<Captured, String> {
    Ok(Captured { label: captured.label.clone(), tensor: scope.tensor(&captured.tensor)? })
}

fn in_scope(leaf: &Leaf, scope: &Scope) -> Leaf {
    match leaf {
        Leaf::Data { shape, given } => Leaf::Data { shape: scope.shape(shape), given: given.clone() },
        Leaf::Param { shape } => Leaf::Param { shape: shape.as_ref().map(|shape| scope.shape(shape)) },
        Leaf::Constant(value) => Leaf::Constant(*value),
    }
}
