//! Other orders of the statements of a program that must not change its meaning.
//!
//! A statement stays after those that define its names, and before those that define them again.
//! Statements that act when the program runs stay in order among themselves; so do those that call
//! functions which act.

use std::collections::BTreeSet;

use broadloom_diagnostics::SourceId;
use broadloom_lang::syntax::ast::{
    Axis, AxisKind, Body, Def, ExprId, ExprKind, File, Names, Param, ResultShape, Shape, Statement,
    StatementKind, Target,
};
use broadloom_lang::syntax::parse;
use broadloom_testing::Dice;

/// The facts about a statement that restrict its order.
#[derive(Default, Clone)]
struct Facts {
    defines: BTreeSet<String>,
    uses: BTreeSet<String>,
    acts: bool,
    /// The function that it defines.
    function: Option<String>,
}

/// The program with its statements in other orders; empty
/// if it cannot be parsed or has only one statement.
pub fn orders(text: &str, count: usize) -> Vec<String> {
    let mut names = Names::default();
    let parsed = parse(SourceId(0), text, &mut names);
    let statements = &parsed.file.statements;
    if !parsed.diagnostics.is_empty() || statements.len() < 2 {
        return Vec::new();
    }
    let chunks = chunks(text, statements);
    let facts = facts(&parsed.file, &names);
    let before = |a: usize, b: usize| {
        let (first, second) = (&facts[a], &facts[b]);
        !first.defines.is_disjoint(&second.uses)
            || !first.uses.is_disjoint(&second.defines)
            || !first.defines.is_disjoint(&second.defines)
            || (first.acts && second.acts)
    };
    let mut found = Vec::new();
    let mut dice = Dice::new(count as u64);
    for attempt in 0..count {
        let mut waiting: Vec<usize> = (0..chunks.len()).collect();
        let mut order = Vec::new();
        while !waiting.is_empty() {
            let ready: Vec<usize> = (0..waiting.len())
                .filter(|at| !waiting[..*at].iter().any(|earlier| before(*earlier, waiting[*at])))
                .collect();
            // The first attempt takes the last statement that is ready.
            let pick = if attempt == 0 { ready.len() - 1 } else { dice.below(ready.len()) };
            order.push(waiting.remove(ready[pick]));
        }
        let reordered: String = order.iter().map(|at| chunks[*at].as_str()).collect();
        if reordered != chunks.concat() && !found.contains(&reordered) {
            found.push(reordered);
        }
    }
    found
}

/// The lines of each statement, with comments behind it.
fn chunks(text: &str, statements: &[Statement]) -> Vec<String> {
    let line_start = |at: usize| text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let mut starts: Vec<usize> =
        statements.iter().map(|statement| line_start(statement.span.start as usize)).collect();
    starts[0] = 0;
    starts.push(text.len());
    let chunk = |pair: &[usize]| format!("{}\n", text[pair[0]..pair[1]].trim_end_matches('\n'));
    starts.windows(2).map(chunk).collect()
}

fn facts(file: &File, names: &Names) -> Vec<Facts> {
    let mut all: Vec<Facts> = Vec::new();
    for statement in &file.statements {
        let mut reader = Reader { file, names, facts: Facts::default() };
        reader.statement(statement);
        let mut facts = reader.facts;
        // A call of a function uses its names, and acts if the function does.
        for earlier in &all {
            if earlier.function.as_ref().is_some_and(|name| facts.uses.contains(name)) {
                facts.uses.extend(earlier.uses.iter().cloned());
                facts.acts |= earlier.acts && facts.function.is_none();
            }
        }
        all.push(facts);
    }
    // A definition by itself does not act, only its uses do.
    for facts in &mut all {
        facts.acts &= facts.function.is_none();
    }
    all
}

struct Reader<'a> {
    file: &'a File,
    names: &'a Names,
    facts: Facts,
}

impl Reader<'_> {
    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Import { path, alias } => {
                let stem = path.text.rsplit('/').next().unwrap_or("").trim_end_matches(".loom").to_owned();
                let name = alias.map_or(stem, |alias| self.names.text(alias.name).to_owned());
                self.facts.defines.insert(name);
            }
            StatementKind::Dim { name, range, value } => {
                self.define(self.names.text(name.name));
                for expr in range.iter().flat_map(|(low, high)| [Some(*low), *high]).flatten().chain(*value) {
                    self.expr(expr);
                }
            }
            StatementKind::Leaf { name, shape, value, .. } => {
                self.define(self.names.text(name.name));
                self.shape(shape.as_ref());
                value.iter().for_each(|value| self.expr(*value));
            }
            StatementKind::Let { names, shape, value } => {
                self.shape(shape.as_ref());
                self.expr(*value);
                names.iter().for_each(|name| self.define(self.names.text(name.name)));
            }
            StatementKind::Def(def) => self.def(def),
            StatementKind::Op { name, operands: _, lines: _ } => self.define(self.names.text(name.name)),
            StatementKind::Set { target, value } => {
                self.expr(*target);
                self.expr(*value);
            }
            StatementKind::For { list, body, .. } => {
                self.expr(*list);
                self.facts.acts = true;
                body.iter().for_each(|statement| self.statement(statement));
            }
            StatementKind::Repeat { count, body, .. } => {
                self.expr(*count);
                self.facts.acts = true;
                body.iter().for_each(|statement| self.statement(statement));
            }
            StatementKind::If(branches) => {
                branches
                    .iter()
                    .filter_map(|branch| branch.condition)
                    .for_each(|condition| self.expr(condition));
                self.facts.acts = true;
                branches
                    .iter()
                    .flat_map(|branch| &branch.body)
                    .for_each(|statement| self.statement(statement));
            }
            StatementKind::Backward(loss) => self.act(&[*loss]),
            StatementKind::Minimise { loss, of, rule, every } => {
                let parts: Vec<_> = [*loss, *rule].into_iter().chain(*of).chain(*every).collect();
                self.act(&parts)
            }
            StatementKind::Print { parts, .. } => self.act(parts),
            StatementKind::Save { value, .. } => self.act(&[*value]),
            StatementKind::Assign(assign) => {
                self.act(&[assign.value]);
                match &assign.target {
                    Target::Expr(target) => self.expr(*target),
                    Target::New(name) => self.define(self.names.text(name.name)),
                }
            }
            StatementKind::Expr(value) => self.act(&[*value]),
        }
    }

    fn act(&mut self, exprs: &[ExprId]) {
        self.facts.acts = true;
        exprs.iter().for_each(|expr| self.expr(*expr));
    }

    fn def(&mut self, def: &Def) {
        let name = self.names.text(def.name.name).to_owned();
        let arguments = def.config.iter().flatten().chain(&def.arguments);
        arguments.clone().filter_map(|argument| argument.default).for_each(|default| self.expr(default));
        // What sizes of the signature are computed from: the length of a list around the function.
        let results = def.result.iter().flat_map(ResultShape::shapes);
        let shapes = arguments.filter_map(|argument| argument.shape.as_ref()).chain(results);
        let axes = |shape: &Shape| [shape.batch.clone(), shape.input.clone(), Some(shape.output.clone())];
        for axis in shapes.flat_map(axes).flatten().flatten() {
            if let AxisKind::Expr(expr) = axis.kind {
                self.expr(expr);
            }
        }
        match &def.body {
            Body::Expr(value) => self.expr(*value),
            Body::Block(statements) => {
                // Names that a body defines are its own.
                let outside = self.facts.defines.clone();
                let value = statements.len().saturating_sub(1);
                for (at, statement) in statements.iter().enumerate() {
                    match &statement.kind {
                        StatementKind::Expr(expr) if at == value => self.expr(*expr),
                        _ => self.statement(statement),
                    }
                }
                self.facts.defines = outside;
            }
        }
        self.facts.function = Some(name.clone());
        self.facts.defines = BTreeSet::from([name]);
    }

    fn define(&mut self, name: &str) {
        self.facts.defines.insert(name.to_owned());
    }

    fn shape(&mut self, shape: Option<&Shape>) {
        let Some(shape) = shape else { return };
        let axes = shape.batch.iter().chain(&shape.input).flatten().chain(&shape.output);
        for Axis { kind, .. } in axes {
            match kind {
                AxisKind::Name(name) | AxisKind::Row(name) => {
                    self.facts.uses.insert(self.names.text(*name).to_owned());
                }
                AxisKind::Expr(expr) => self.expr(*expr),
                AxisKind::Size(_) | AxisKind::Any | AxisKind::Rest => {}
            }
        }
    }

    fn expr(&mut self, id: ExprId) {
        match &self.file.expr(id).kind {
            ExprKind::Name(name) => {
                self.facts.uses.insert(self.names.text(*name).to_owned());
            }
            ExprKind::Text(text) => {
                let filled = text.split('{').skip(1).filter_map(|rest| rest.split('}').next());
                // What is printed may have expressions there.
                let apart = |letter: char| !letter.is_alphanumeric() && letter != '_';
                self.facts.uses.extend(filled.flat_map(|inner| inner.split(apart)).map(str::to_owned));
            }
            ExprKind::List(items) => items.iter().for_each(|item| self.expr(*item)),
            ExprKind::Each { item, list, .. } => {
                self.expr(*item);
                self.expr(*list);
            }
            ExprKind::Param(param) => {
                let Param { name, shape, initial, .. } = &**param;
                self.define(self.names.text(name.name));
                self.shape(shape.as_ref());
                initial.iter().for_each(|initial| self.expr(*initial));
            }
            ExprKind::Unary(_, inner) => self.expr(*inner),
            ExprKind::Range(a, b) | ExprKind::Binary(_, a, b) | ExprKind::Index(a, b) => {
                self.expr(*a);
                self.expr(*b);
            }
            ExprKind::Call { callee, args } => {
                self.expr(*callee);
                args.iter().for_each(|arg| self.expr(arg.value));
            }
            ExprKind::Field(of, _) => self.expr(*of),
            ExprKind::If { condition, yes, no } => {
                [condition, yes, no].into_iter().for_each(|expr| self.expr(*expr));
            }
            ExprKind::Number(_) | ExprKind::Missing => {}
        }
    }
}
