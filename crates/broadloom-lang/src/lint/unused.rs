//! Names that are defined and not used, found in the syntax tree.
//!
//! Names are resolved as in evaluation: a block has names of its own, a name may be bound again,
//! and the body of a function sees the values of outer names at the time it is applied, including
//! later bindings. Where the text alone does not decide, a name counts as used.
//!
//! In a file that does nothing, values at the top are its results, so an unused `let` there is not
//! reported. If it has no data either, it is a module, and nothing at the top is reported.

use broadloom_diagnostics::{Diagnostic, Edit, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::codes;
use crate::program::Program;
use crate::syntax::ast::{
    Axis, AxisKind, Body, ExprId, ExprKind, File, Ident, LeafKind, Name, Names, Shape, Statement,
    StatementKind, Target,
};
use crate::syntax::braces::{Braces, TextPart, text_parts};

/// Names that the program itself defines and does not use.
pub(super) fn unused(program: &Program) -> Vec<Diagnostic> {
    let file = &*program.file;
    let mut reader = Reader { file, names: &program.names, scopes: Vec::new(), unused: Vec::new() };
    reader.scopes.push(Scope::new(true));
    reader.statements(&file.statements);
    reader.leave();
    let kinds = || file.statements.iter().map(|statement| &statement.kind);
    let acts = kinds().any(does_something);
    let has_data = kinds().any(|kind| matches!(kind, StatementKind::Leaf { .. }));
    let is_meant = |binding: &Binding| match binding.what {
        _ if !binding.top => false,
        What::Value => !acts,
        _ => !acts && !has_data,
    };
    let found = reader.unused.iter().filter(|binding| !is_meant(binding));
    found.map(|binding| binding.diagnostic(program.names.text(binding.name))).collect()
}

/// Returns true if a statement is written for its effect.
fn does_something(kind: &StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::Repeat { .. }
            | StatementKind::Backward(_)
            | StatementKind::Minimise { .. }
            | StatementKind::Print { .. }
            | StatementKind::Save { .. }
            | StatementKind::Assign(_)
    )
}

/// The kind of thing that a name is bound to, for messages.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Data,
    Value,
    Function,
    Size,
    Module,
}

/// A name with the thing it is bound to.
#[derive(Clone)]
struct Binding {
    name: Name,
    span: Span,
    what: What,
    /// True if it is at the top of the file.
    top: bool,
    used: bool,
}

impl Binding {
    fn diagnostic(&self, name: &str) -> Diagnostic {
        let (label, help) = match self.what {
            What::Data => ("nothing reads it", "remove it, or use it"),
            What::Value => ("nothing reads it, so nothing computes it", "remove it, or `print` it"),
            What::Function => ("nothing applies it", "remove it, or apply it"),
            What::Size => ("no shape mentions it", "remove it, or write it in a shape"),
            What::Module => ("nothing of it is used", "remove the line"),
        };
        let help = format!("{help}; a name that begins with `_` may be unused");
        let diagnostic =
            Diagnostic::warning(codes::UNUSED, format!("`{name}` is not used"), self.span, label)
                .with_help(help);
        match self.what {
            What::Module => diagnostic,
            _ => diagnostic.fixed_by(format!("call it `_{name}`"), vec![Edit::new(self.span.before(), "_")]),
        }
    }
}

/// The names of a block.
struct Scope {
    /// True if a function begins here: names that it
    /// reads from outside are read when it is applied.
    function: bool,
    bindings: Vec<Binding>,
    /// The index of the last binding of each name.
    last: FxHashMap<Name, usize>,
    /// Names that functions inside read from here or further out.
    read_inside: FxHashSet<Name>,
}

impl Scope {
    fn new(function: bool) -> Scope {
        Scope {
            function,
            bindings: Vec::new(),
            last: FxHashMap::default(),
            read_inside: FxHashSet::default(),
        }
    }
}

struct Reader<'f> {
    file: &'f File,
    names: &'f Names,
    scopes: Vec<Scope>,
    unused: Vec<Binding>,
}

impl Reader<'_> {
    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.statement(&statement.kind);
        }
    }

    /// Blocks are nested no deeper than the parser allows.
    fn statement(&mut self, kind: &StatementKind) {
        match kind {
            StatementKind::Import { path, alias } => {
                if let Some(alias) = alias {
                    self.bind(*alias, What::Module);
                } else if let Some(name) = stem(&path.text).and_then(|stem| self.names.find(stem)) {
                    self.bind(Ident { name, span: path.span }, What::Module);
                }
            }
            StatementKind::Dim { name, range, value } => {
                self.exprs(range.iter().flat_map(|(low, high)| [Some(*low), *high]).flatten().chain(*value));
                self.bind(*name, What::Size);
            }
            StatementKind::Leaf { kind, name, shape, value, .. } => {
                self.shape(shape.as_ref());
                self.exprs(*value);
                if *kind == LeafKind::Data {
                    self.bind(*name, What::Data);
                }
            }
            StatementKind::Let { names, shape, value } => {
                self.shape(shape.as_ref());
                self.exprs([*value]);
                for name in names {
                    self.bind(*name, What::Value);
                }
                // Some of several results may be of no interest.
                if names.len() > 1 {
                    names.iter().for_each(|name| self.read(name.name));
                }
            }
            StatementKind::Def(def) => {
                self.bind(def.name, What::Function);
                self.scopes.push(Scope::new(true));
                let arguments = || def.config.iter().flatten().chain(&def.arguments);
                self.exprs(arguments().filter_map(|argument| argument.default));
                arguments().for_each(|argument| self.argument(argument.name));
                match &def.body {
                    Body::Expr(value) => self.exprs([*value]),
                    Body::Block(statements) => self.statements(statements),
                }
                self.leave();
            }
            StatementKind::Op { name, .. } => self.bind(*name, What::Function),
            StatementKind::Set { target, value } => self.exprs([*target, *value]),
            StatementKind::For { name, list, body } => {
                self.exprs([*list]);
                self.block(Some(*name), body);
            }
            StatementKind::Repeat { name, count, body } => {
                self.exprs([*count]);
                self.block(*name, body);
            }
            StatementKind::If(branches) => {
                self.exprs(branches.iter().filter_map(|branch| branch.condition));
                branches.iter().flat_map(|branch| &branch.body).for_each(|each| self.statement(&each.kind));
            }
            StatementKind::Backward(value) | StatementKind::Expr(value) => self.exprs([*value]),
            StatementKind::Minimise { loss, of, rule, every } => {
                self.exprs([*loss, *rule]);
                self.exprs(of.iter().chain(every).copied());
            }
            StatementKind::Print { parts, every } => self.exprs(parts.iter().copied().chain(*every)),
            StatementKind::Save { value, path } => {
                self.exprs([*value]);
                self.text(&path.text);
            }
            StatementKind::Assign(assign) => {
                if let Target::Expr(target) = &assign.target {
                    self.exprs([*target]);
                }
                if let Some(logic) = &assign.logic {
                    self.text(&logic.text);
                }
                self.exprs([assign.value]);
            }
        }
    }

    fn block(&mut self, name: Option<Ident>, body: &[Statement]) {
        self.scopes.push(Scope::new(false));
        name.into_iter().for_each(|name| self.argument(name));
        self.statements(body);
        self.leave();
    }

    fn bind(&mut self, name: Ident, what: What) {
        let top = self.scopes.len() == 1;
        let used = self.names.text(name.name).starts_with('_');
        if let Some(scope) = self.scopes.last_mut() {
            scope.last.insert(name.name, scope.bindings.len());
            scope.bindings.push(Binding { name: name.name, span: name.span, what, top, used });
        }
    }

    /// Binds a name that may stay unused.
    fn argument(&mut self, name: Ident) {
        self.bind(name, What::Value);
        self.read(name.name);
    }

    /// Marks a name as read.
    fn read(&mut self, name: Name) {
        let mut inside = false;
        for scope in self.scopes.iter_mut().rev() {
            if inside {
                scope.read_inside.insert(name);
            } else if let Some(at) = scope.last.get(&name) {
                scope.bindings[*at].used = true;
                return;
            }
            inside |= scope.function;
        }
    }

    /// Ends the innermost block, and collects its unused names.
    fn leave(&mut self) {
        let Some(scope) = self.scopes.pop() else { return };
        let unused = |binding: &Binding| !binding.used && !scope.read_inside.contains(&binding.name);
        self.unused.extend(scope.bindings.iter().filter(|binding| unused(binding)).cloned());
    }

    /// Marks all names in some expressions as read.
    fn exprs(&mut self, exprs: impl IntoIterator<Item = ExprId>) {
        let mut waiting: Vec<ExprId> = exprs.into_iter().collect();
        while let Some(id) = waiting.pop() {
            let kind = &self.file.expr(id).kind;
            match kind {
                ExprKind::Name(name) => self.read(*name),
                ExprKind::Text(text) => self.text(text),
                ExprKind::Param(param) => self.shape(param.shape.as_ref()),
                _ => {}
            }
            kind.each_operand(&mut |operand| waiting.push(operand));
        }
    }

    fn shape(&mut self, shape: Option<&Shape>) {
        let Some(shape) = shape else { return };
        let rows = shape.batch.iter().chain(&shape.input).chain([&shape.output]);
        let axes: Vec<&Axis> = rows.flatten().collect();
        for axis in axes {
            match &axis.kind {
                AxisKind::Name(name) | AxisKind::Row(name) => self.read(*name),
                AxisKind::Expr(size) => self.exprs([*size]),
                AxisKind::Size(_) | AxisKind::Any | AxisKind::Rest => {}
            }
        }
    }

    /// Marks the names in the braces of a text as read; printed texts have expressions there.
    fn text(&mut self, text: &str) {
        for part in text_parts(text) {
            let (TextPart::Filled(Braces { inner, .. }) | TextPart::Unclosed(Braces { inner, .. })) = part
            else {
                continue;
            };
            for word in inner.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
                if let Some(name) = self.names.find(word) {
                    self.read(name);
                }
            }
        }
    }
}

/// The name of a module without an alias: the stem of its path.
fn stem(path: &str) -> Option<&str> {
    std::path::Path::new(path).file_stem()?.to_str()
}
