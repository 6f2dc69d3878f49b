//! Trees as text, every operator in parentheses: `(+ a (* b c))`.

use broadloom_lang::syntax::ast::{
    Axis, AxisKind, Body, ExprId, ExprKind, File, Ident, Names, ResultShape, Shape, Statement, StatementKind,
    Target, Unary,
};

/// The statements of a file, one on each line, and those of blocks indented.
pub fn tree(text: &str) -> String {
    let (parsed, names) = super::read(text);
    assert!(parsed.diagnostics.is_empty(), "{text}\n{}", super::shown(&parsed));
    survivors(text, &parsed.file, &names)
}

/// Like [`tree`], for a file with mistakes.
pub fn survivors(text: &str, file: &File, names: &Names) -> String {
    let mut out = String::new();
    Tree { text, file, names }.block(&file.statements, 0, &mut out);
    out
}

struct Tree<'a> {
    text: &'a str,
    file: &'a File,
    names: &'a Names,
}

impl Tree<'_> {
    fn block(&self, statements: &[Statement], depth: usize, out: &mut String) {
        for statement in statements {
            out.push_str(&"  ".repeat(depth));
            out.push_str(&self.statement(&statement.kind));
            out.push('\n');
            match &statement.kind {
                StatementKind::For { .. } | StatementKind::Repeat { .. } | StatementKind::If(_) => {
                    statement.kind.blocks().for_each(|body| self.block(body, depth + 1, out));
                }
                StatementKind::Def(def) => {
                    if let Body::Block(body) = &def.body {
                        self.block(body, depth + 1, out);
                    }
                }
                _ => {}
            }
        }
    }

    fn statement(&self, kind: &StatementKind) -> String {
        match kind {
            StatementKind::Import { path, alias } => {
                format!("import {:?}{}", path.text, self.maybe(" as ", *alias))
            }
            StatementKind::Dim { name, range, value } => {
                let high = |high: Option<ExprId>| high.map_or("..".into(), |high| self.expr(high));
                let range = range.map(|(low, most)| format!(" in {} {}", self.expr(low), high(most)));
                format!("dim {}{}{}", self.name(*name), range.unwrap_or_default(), self.value(*value))
            }
            StatementKind::Leaf { kind, name, shape, precision, value } => {
                let (name, shape) = (self.name(*name), self.shape(shape.as_ref()));
                format!("{kind:?} {name}{shape}{}{}", self.maybe(" as ", *precision), self.value(*value))
            }
            StatementKind::Let { names, shape, value } => {
                format!("let {}{}{}", self.list(names), self.shape(shape.as_ref()), self.value(Some(*value)))
            }
            StatementKind::Def(def) => {
                let arguments = |list: &[broadloom_lang::syntax::ast::Argument]| {
                    let one = |each: &broadloom_lang::syntax::ast::Argument| {
                        self.name(each.name) + &self.shape(each.shape.as_ref()) + &self.value(each.default)
                    };
                    list.iter().map(one).collect::<Vec<_>>().join(", ")
                };
                let config =
                    def.config.as_ref().map_or(String::new(), |list| format!("({})", arguments(list)));
                let body = match &def.body {
                    Body::Expr(value) => self.value(Some(*value)),
                    Body::Block(_) => " =".to_owned(),
                };
                let result = def.result.as_ref().map_or(String::new(), |result| self.result(result));
                format!("def {}{config}({}){result}{body}", self.name(def.name), arguments(&def.arguments))
            }
            StatementKind::Op { name, operands, lines } => {
                let lines: Vec<&str> = lines.iter().map(|line| line.slice(self.text)).collect();
                format!("op {}({}) {lines:?}", self.name(*name), self.list(operands))
            }
            StatementKind::Set { target, value } => {
                format!("set {}{}", self.expr(*target), self.value(Some(*value)))
            }
            StatementKind::For { name, list, .. } => {
                format!("for {} in {}", self.name(*name), self.expr(*list))
            }
            StatementKind::If(branches) => {
                let ways = branches.iter().map(|branch| branch.condition.map(|each| self.expr(each)));
                format!("if {:?}", ways.collect::<Vec<_>>())
            }
            StatementKind::Repeat { name, count, .. } => {
                format!("repeat{} {}", self.maybe(" ", *name), self.expr(*count))
            }
            StatementKind::Backward(value) => format!("backward {}", self.expr(*value)),
            StatementKind::Minimise { loss, of, rule, every } => {
                let of = of.map_or(String::new(), |of| format!(" of {}", self.expr(of)));
                let every = every.map_or(String::new(), |every| format!(" every {}", self.expr(every)));
                format!("minimise {}{of} by {}{every}", self.expr(*loss), self.expr(*rule))
            }
            StatementKind::Print { parts, every } => {
                let every = every.map_or(String::new(), |every| format!(" every {}", self.expr(every)));
                format!("print {}{every}", self.exprs(parts))
            }
            StatementKind::Save { value, path } => format!("save {} to {:?}", self.expr(*value), path.text),
            StatementKind::Assign(assign) => {
                let target = match assign.target {
                    Target::Expr(target) => self.expr(target),
                    Target::New(name) => format!("new {}", self.name(name)),
                };
                let logic =
                    assign.logic.as_ref().map_or(String::new(), |logic| format!(" by {:?}", logic.text));
                format!("{target} {} {}{logic}", assign.sign.text, self.expr(assign.value))
            }
            StatementKind::Expr(value) => self.expr(*value),
        }
    }

    fn name(&self, ident: Ident) -> String {
        self.names.text(ident.name).to_owned()
    }

    fn maybe(&self, before: &str, ident: Option<Ident>) -> String {
        ident.map_or(String::new(), |ident| before.to_owned() + &self.name(ident))
    }

    fn list(&self, idents: &[Ident]) -> String {
        idents.iter().map(|each| self.name(*each)).collect::<Vec<_>>().join(", ")
    }

    fn value(&self, value: Option<ExprId>) -> String {
        value.map_or(String::new(), |value| format!(" = {}", self.expr(value)))
    }

    fn exprs(&self, ids: &[ExprId]) -> String {
        ids.iter().map(|id| self.expr(*id)).collect::<Vec<_>>().join(", ")
    }

    fn expr(&self, id: ExprId) -> String {
        match &self.file.expr(id).kind {
            ExprKind::Name(name) => self.names.text(*name).to_owned(),
            ExprKind::Number(value) => value.to_string(),
            ExprKind::Text(text) => format!("{text:?}"),
            ExprKind::List(items) => format!("[{}]", self.exprs(items)),
            ExprKind::Each { item, name, list } => {
                format!("[{} for {} in {}]", self.expr(*item), self.name(*name), self.expr(*list))
            }
            ExprKind::Range(low, high) => format!("(.. {} {})", self.expr(*low), self.expr(*high)),
            ExprKind::Param(param) => {
                let (shape, precision) =
                    (self.shape(param.shape.as_ref()), self.maybe(" as ", param.precision));
                format!("{{{}{shape}{precision}{}}}", self.name(param.name), self.value(param.initial))
            }
            ExprKind::Unary(Unary::Minus, inner) => format!("(- {})", self.expr(*inner)),
            ExprKind::Unary(Unary::Not, inner) => format!("(not {})", self.expr(*inner)),
            ExprKind::Binary(binary, left, right) => {
                format!("({} {} {})", binary.sign(), self.expr(*left), self.expr(*right))
            }
            ExprKind::Call { callee, args } => {
                let args: Vec<String> = args
                    .iter()
                    .map(|arg| {
                        self.maybe("", arg.name)
                            + if arg.name.is_some() { " = " } else { "" }
                            + &self.expr(arg.value)
                    })
                    .collect();
                format!("{}({})", self.expr(*callee), args.join(", "))
            }
            ExprKind::Field(left, field) => format!("{}.{}", self.expr(*left), self.name(*field)),
            ExprKind::Index(left, index) => format!("{}[{}]", self.expr(*left), self.expr(*index)),
            ExprKind::If { condition, yes, no } => {
                format!("(if {} {} {})", self.expr(*condition), self.expr(*yes), self.expr(*no))
            }
            ExprKind::Missing => "?".to_owned(),
        }
    }

    fn result(&self, result: &ResultShape) -> String {
        match result {
            ResultShape::Tensor(shape) => self.shape(Some(shape)),
            ResultShape::List(items, _) => {
                let items: Vec<String> = items.iter().map(|item| self.result(item)).collect();
                format!(" : list of{}", items.join(";"))
            }
        }
    }

    fn shape(&self, shape: Option<&Shape>) -> String {
        let Some(shape) = shape else { return String::new() };
        let row = |row: &[Axis]| {
            format!(" [{}]", row.iter().map(|axis| self.axis(axis)).collect::<Vec<_>>().join(", "))
        };
        let batch = shape.batch.as_ref().map_or(String::new(), |batch| row(batch) + " |");
        let input = shape.input.as_ref().map_or(String::new(), |input| row(input) + " ->");
        format!(" :{batch}{input}{}", row(&shape.output))
    }

    fn axis(&self, axis: &Axis) -> String {
        let size = match axis.kind {
            AxisKind::Size(size) => size.to_string(),
            AxisKind::Name(name) => self.names.text(name).to_owned(),
            AxisKind::Expr(size) => self.expr(size),
            AxisKind::Any => "_".to_owned(),
            AxisKind::Rest => "...".to_owned(),
            AxisKind::Row(name) => format!("..{}..", self.names.text(name)),
        };
        size + &self.maybe(":", axis.basis)
    }
}
