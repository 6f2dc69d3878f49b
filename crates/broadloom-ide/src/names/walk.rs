//! A traversal of the syntax tree of a text that collects the bindings of all statements and
//! expressions.

use broadloom_diagnostics::{SourceId, Span};
use broadloom_lang::syntax::ast::{
    Assign, Body, Def, ExprId, ExprKind, File, Ident, LeafKind, Names, Statement, StatementKind, Target,
};
use broadloom_lang::syntax::parse;

use super::{Binding, BindingKind, Bindings};

/// All names that a text binds.
pub(super) fn bindings(source: SourceId, text: &str) -> Bindings {
    let mut names = Names::default();
    let parsed = parse(source, text, &mut names);
    bindings_of(source, text, &parsed.file, &names)
}

/// All names that a parsed text binds.
pub(super) fn bindings_of(source: SourceId, text: &str, file: &File, names: &Names) -> Bindings {
    let whole = Span::empty(source, 0);
    let mut walk = Walk { file, names, text, whole, found: Bindings::default() };
    walk.block(&file.statements, Ends { block: u32::MAX, function: None });
    walk.found.sort();
    walk.found
}

struct Walk<'a> {
    file: &'a File,
    names: &'a Names,
    text: &'a str,
    /// The innermost statement.
    whole: Span,
    found: Bindings,
}

/// The ends of the scopes of names that are bound here: the block, and for parameters the function
/// around it.
#[derive(Clone, Copy)]
struct Ends {
    block: u32,
    function: Option<u32>,
}

impl Walk<'_> {
    fn bind(&mut self, name: Ident, kind: BindingKind, known: (u32, u32), head: Span) {
        let text = self.names.text(name.name).to_string();
        let whole = self.whole;
        self.found.push(Binding { name: text, kind, span: name.span, known, head, whole, path: None });
    }

    /// The statements of a block. The parser limits how deep blocks nest.
    fn block(&mut self, statements: &[Statement], ends: Ends) {
        for statement in statements {
            let outer = std::mem::replace(&mut self.whole, statement.span);
            self.statement(statement, ends);
            self.whole = outer;
        }
    }

    fn statement(&mut self, statement: &Statement, ends: Ends) {
        let span = statement.span;
        let known = (self.next_line(span.end), ends.block);
        match &statement.kind {
            StatementKind::Import { path, alias } => {
                let name = match alias {
                    Some(alias) => self.names.text(alias.name).to_string(),
                    None => stem(&path.text),
                };
                let place = alias.map_or(path.span, |alias| alias.span);
                let kind = BindingKind::Module;
                let path = Some(path.span);
                self.found.push(Binding { name, kind, span: place, known, head: span, whole: span, path });
            }
            StatementKind::Dim { name, .. } => self.bind(*name, BindingKind::Dim, known, span),
            StatementKind::Leaf { kind, name, value, .. } => {
                self.exprs(value.iter().copied(), ends);
                let kind = match kind {
                    LeafKind::Data => BindingKind::Data,
                    LeafKind::State => BindingKind::State,
                };
                self.bind(*name, kind, known, span);
            }
            StatementKind::Let { names, value, .. } => {
                self.exprs([*value], ends);
                names.iter().for_each(|name| self.bind(*name, BindingKind::Value, known, span));
            }
            StatementKind::Def(def) => self.def(def, span, ends),
            StatementKind::Op { name, operands, .. } => {
                self.bind(*name, BindingKind::Function, known, self.line(span));
                let inside = (name.span.end, span.end);
                operands.iter().for_each(|each| self.bind(*each, BindingKind::Argument, inside, each.span));
            }
            StatementKind::For { name, list, body } => {
                self.exprs([*list], ends);
                self.repeated(Some(*name), body, span, ends);
            }
            StatementKind::Repeat { name, count, body } => {
                self.exprs([*count], ends);
                self.repeated(*name, body, span, ends);
            }
            StatementKind::If(branches) => {
                self.exprs(branches.iter().filter_map(|branch| branch.condition), ends);
                branches.iter().for_each(|branch| self.block(&branch.body, ends));
            }
            StatementKind::Assign(assign) => self.assign(assign, span, ends),
            StatementKind::Set { target, value } => self.exprs([*target, *value], ends),
            StatementKind::Backward(value) | StatementKind::Expr(value) => self.exprs([*value], ends),
            StatementKind::Minimise { loss, of, rule, every } => {
                self.exprs([*loss, *rule].into_iter().chain(*of).chain(*every), ends);
            }
            StatementKind::Print { parts, every } => self.exprs(parts.iter().copied().chain(*every), ends),
            StatementKind::Save { value, .. } => self.exprs([*value], ends),
        }
    }

    fn def(&mut self, def: &Def, span: Span, ends: Ends) {
        let end = self.reach(span.end).min(ends.block);
        let start = match &def.body {
            Body::Expr(value) => self.file.expr(*value).span.start,
            Body::Block(statements) => statements.first().map_or(span.end, |first| first.span.start),
        };
        let head = self.text.get(span.start as usize..start as usize).unwrap_or_default();
        let head = head.trim_end().trim_end_matches('=').trim_end();
        let head = Span { end: span.start + head.len() as u32, ..span };
        // It may call itself.
        self.bind(def.name, BindingKind::Function, (span.start, ends.block), head);
        self.found.bodies.push((start, end));
        for argument in def.config.iter().flatten().chain(&def.arguments) {
            self.exprs(argument.default, ends);
            let name = argument.name;
            self.bind(name, BindingKind::Argument, (name.span.end, end), name.span);
        }
        let inside = Ends { block: end, function: Some(end) };
        match &def.body {
            Body::Expr(value) => self.exprs([*value], inside),
            Body::Block(statements) => self.block(statements, inside),
        }
    }

    /// The body of `for` or `repeat`, with its variable.
    fn repeated(&mut self, name: Option<Ident>, body: &[Statement], span: Span, ends: Ends) {
        let end = self.reach(span.end).min(ends.block);
        if let Some(name) = name {
            self.bind(name, BindingKind::Variable, (name.span.end, end), self.line(span));
        }
        self.block(body, Ends { block: end, ..ends });
    }

    fn assign(&mut self, assign: &Assign, span: Span, ends: Ends) {
        self.exprs([assign.value], ends);
        if let Target::New(name) = &assign.target {
            self.bind(*name, BindingKind::State, (self.next_line(span.end), ends.block), span);
        }
    }

    /// Binds parameters, and variables of lists.
    fn exprs(&mut self, exprs: impl IntoIterator<Item = ExprId>, ends: Ends) {
        let mut waiting: Vec<ExprId> = exprs.into_iter().collect();
        while let Some(id) = waiting.pop() {
            let expr = self.file.expr(id);
            match &expr.kind {
                ExprKind::Each { item, name, .. } => {
                    let item_span = self.file.expr(*item).span;
                    let known = (item_span.start, item_span.end + 1);
                    self.bind(*name, BindingKind::Variable, known, expr.span);
                }
                ExprKind::Param(param) => {
                    let known = (expr.span.end, ends.function.unwrap_or(ends.block));
                    self.bind(param.name, BindingKind::Parameter, known, expr.span);
                }
                _ => {}
            }
            expr.kind.each_operand(&mut |operand| waiting.push(operand));
        }
    }

    /// The first line of a statement.
    fn line(&self, span: Span) -> Span {
        let text = span.slice(self.text);
        let line = text.lines().next().unwrap_or(text).trim_end().trim_end_matches(':');
        Span { end: span.start + line.len() as u32, ..span }
    }

    /// The start of the next line: a statement that is still being written does not know its own
    /// name.
    fn next_line(&self, end: u32) -> u32 {
        let rest = self.text.get(end as usize..).unwrap_or_default();
        end + rest.find(['\n', '\r']).unwrap_or(rest.len()) as u32 + 1
    }

    /// The end of a block: an unfinished line that is indented belongs to it.
    fn reach(&self, end: u32) -> u32 {
        let rest = self.text.get(end as usize..).unwrap_or_default();
        let mut reached = end as usize;
        for (at, line) in rest.split_inclusive('\n').enumerate() {
            let belongs = at == 0 || line.starts_with([' ', '\t']) || line.trim().is_empty();
            if !belongs {
                return reached as u32;
            }
            reached += line.len();
        }
        // The cursor may be after the last character.
        reached as u32 + 1
    }
}

/// The name of a module without an alias: `import "nets/mlp.loom"` is called `mlp`.
fn stem(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.strip_suffix(".loom").unwrap_or(file).to_string()
}
