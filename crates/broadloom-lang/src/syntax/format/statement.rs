//! Statements without their blocks, and declared shapes.

use super::super::ast::{
    Argument, Assign, Axis, AxisKind, Body, Def, ExprId, Ident, LeafKind, ResultShape, Shape, Statement,
    StatementKind, Target,
};
use super::Formatter;
use super::expr::{ANY, OPERATORS};
use super::layout::{Gap, LayoutItem};

impl<'a> Formatter<'a> {
    /// Makes the line of a statement, or the line above its block.
    pub(super) fn head(&mut self, statement: &'a Statement) {
        match &statement.kind {
            StatementKind::Import { path, alias } => {
                self.line.word("import");
                self.line.spaced(self.slice(path.span));
                self.after("as", *alias);
            }
            StatementKind::Dim { name, range, value } => self.dim(*name, *range, *value),
            StatementKind::Leaf { kind, name, shape, precision, value } => {
                self.line.word(if *kind == LeafKind::Data { "data" } else { "state" });
                self.line.spaced(self.names.text(name.name));
                self.declared(shape.as_ref(), *precision, *value);
            }
            StatementKind::Let { names, shape, value } => self.let_(names, shape.as_ref(), *value),
            StatementKind::Def(def) => self.def(def),
            StatementKind::Op { name, operands, .. } => {
                self.line.word("op");
                self.line.spaced(self.names.text(name.name));
                self.bracketed("(", operands, ")", |formatter, operand| formatter.ident(*operand));
                self.line.word(":");
            }
            StatementKind::Set { target, value } => {
                self.line.word("set");
                self.line.push([LayoutItem::Space]);
                self.expr(*target, ANY);
                self.value(Some(*value));
            }
            StatementKind::For { name, list, .. } => {
                self.line.word("for");
                self.after_name(Some(*name), *list);
                self.line.word(":");
            }
            StatementKind::Repeat { name, count, .. } => {
                self.line.word("repeat");
                self.after_name(*name, *count);
                self.line.word(":");
            }
            other => self.action(other),
        }
    }

    /// Writes the line of a way of an `if`.
    pub(super) fn branch_head(&mut self, is_further: bool, condition: Option<ExprId>) {
        let word = match (is_further, condition) {
            (false, _) => "if",
            (true, Some(_)) => "else if",
            (true, None) => "else",
        };
        self.line.word(word);
        if let Some(condition) = condition {
            self.line.push([LayoutItem::Space]);
            self.expr(condition, ANY);
        }
        self.line.word(":");
    }

    /// Writes a statement that acts when the program runs.
    fn action(&mut self, kind: &'a StatementKind) {
        match kind {
            StatementKind::Backward(value) => self.keyword_expr("backward", *value),
            StatementKind::Minimise { loss, of, rule, every } => {
                self.keyword_expr("minimise", *loss);
                if let Some(of) = of {
                    self.line.push([LayoutItem::Space]);
                    self.keyword_expr("of", *of);
                }
                self.line.push([LayoutItem::Space]);
                self.keyword_expr("by", *rule);
                self.every(*every);
            }
            StatementKind::Print { parts, every } => self.print(parts, *every),
            StatementKind::Save { value, path } => {
                self.keyword_expr("save", *value);
                self.line.spaced("to");
                self.line.spaced(self.slice(path.span));
            }
            StatementKind::Assign(assign) => self.assign(assign),
            StatementKind::Expr(value) => self.expr(*value, ANY),
            _ => {}
        }
    }

    fn ident(&mut self, ident: Ident) {
        self.line.word(self.names.text(ident.name));
    }

    fn keyword_expr(&mut self, keyword: &'a str, value: ExprId) {
        self.line.word(keyword);
        self.line.push([LayoutItem::Space]);
        self.expr(value, ANY);
    }

    /// Writes a word and a name, if there is one.
    fn after(&mut self, word: &'a str, name: Option<Ident>) {
        if let Some(name) = name {
            self.line.spaced(word);
            self.line.spaced(self.names.text(name.name));
        }
    }

    /// Writes `step in 0..500`, or only the list.
    fn after_name(&mut self, name: Option<Ident>, list: ExprId) {
        if let Some(name) = name {
            self.line.spaced(self.names.text(name.name));
            self.line.spaced("in");
        }
        self.line.push([LayoutItem::Space]);
        self.expr(list, ANY);
    }

    /// Writes `= value`, if there is one.
    pub(super) fn value(&mut self, value: Option<ExprId>) {
        if let Some(value) = value {
            self.line.spaced("=");
            self.line.push([LayoutItem::Space]);
            self.expr(value, ANY);
        }
    }

    /// Writes the declaration of a leaf after its name.
    pub(super) fn declared(
        &mut self,
        shape: Option<&'a Shape>,
        precision: Option<Ident>,
        value: Option<ExprId>,
    ) {
        if let Some(shape) = shape {
            self.line.spaced(":");
            self.line.push([LayoutItem::Space]);
            self.shape(shape);
        }
        self.after("as", precision);
        self.value(value);
    }

    fn dim(&mut self, name: Ident, range: Option<(ExprId, Option<ExprId>)>, value: Option<ExprId>) {
        self.line.word("dim");
        self.line.spaced(self.names.text(name.name));
        if let Some((low, high)) = range {
            self.line.spaced("in");
            self.line.push([LayoutItem::Space]);
            match high {
                Some(high) => self.range(low, high),
                None => {
                    self.expr(low, OPERATORS);
                    self.line.push(self.has_operator(low).then_some(LayoutItem::Space));
                    self.line.word("..");
                }
            }
        }
        self.value(value);
    }

    fn let_(&mut self, names: &'a [Ident], shape: Option<&'a Shape>, value: ExprId) {
        self.line.word("let");
        for (place, name) in names.iter().enumerate() {
            if place > 0 {
                self.line.word(",");
            }
            self.line.spaced(self.names.text(name.name));
        }
        self.declared(shape, None, Some(value));
    }

    fn def(&mut self, def: &'a Def) {
        self.line.word("def");
        self.line.spaced(self.names.text(def.name.name));
        let argument = |formatter: &mut Self, argument: &'a Argument| {
            formatter.ident(argument.name);
            formatter.declared(argument.shape.as_ref(), None, argument.default);
        };
        if let Some(config) = &def.config {
            self.bracketed("(", config, ")", argument);
        }
        self.bracketed("(", &def.arguments, ")", argument);
        if let Some(result) = &def.result {
            self.line.spaced(":");
            self.line.push([LayoutItem::Space]);
            self.result(result);
        }
        match def.body {
            Body::Expr(value) => self.value(Some(value)),
            Body::Block(_) => self.line.spaced("="),
        }
    }

    /// Writes the shape of a result, or those of a list of results.
    fn result(&mut self, result: &'a ResultShape) {
        let items = match result {
            ResultShape::Tensor(shape) => return self.shape(shape),
            ResultShape::List(items, _) => items,
        };
        self.line.word("[");
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                self.line.word(";");
                self.line.push([LayoutItem::Space]);
            }
            self.result(item);
        }
        // Behind one shape alone a semicolon says that it is in a list.
        self.line.push((items.len() == 1).then_some(LayoutItem::Word(";")));
        self.line.word("]");
    }

    fn print(&mut self, parts: &'a [ExprId], every: Option<ExprId>) {
        self.line.word("print");
        self.line.push([LayoutItem::Space, LayoutItem::Open, LayoutItem::In]);
        for (place, part) in parts.iter().enumerate() {
            if place > 0 {
                self.line.push([LayoutItem::Word(","), LayoutItem::Break(Gap::Space)]);
            }
            self.expr(*part, ANY);
        }
        self.line.push([LayoutItem::Out, LayoutItem::Close]);
        self.every(every);
    }

    fn every(&mut self, every: Option<ExprId>) {
        if let Some(every) = every {
            self.line.push([LayoutItem::Space]);
            self.keyword_expr("every", every);
        }
    }

    fn assign(&mut self, assign: &'a Assign) {
        match assign.target {
            Target::Expr(target) => self.expr(target, ANY),
            Target::New(name) => {
                self.line.word("{");
                self.ident(name);
                self.line.word("}");
            }
        }
        self.line.spaced(&assign.sign.text);
        self.line.push([LayoutItem::Space]);
        self.expr(assign.value, ANY);
        if let Some(logic) = &assign.logic {
            self.line.spaced("by");
            self.line.spaced(self.slice(logic.span));
        }
    }

    /// Writes `batch | input -> output`.
    fn shape(&mut self, shape: &'a Shape) {
        let mut is_first = true;
        if shape.batch.is_none() && shape.input.is_none() && shape.output.is_empty() {
            self.line.word("()");
        }
        if let Some(batch) = &shape.batch {
            self.row(batch, &mut is_first);
            self.apart(&mut is_first);
            self.line.word("|");
        }
        if let Some(input) = &shape.input {
            self.row(input, &mut is_first);
            self.apart(&mut is_first);
            self.line.word("->");
        }
        self.row(&shape.output, &mut is_first);
    }

    /// Writes a space, except at the beginning of a shape.
    fn apart(&mut self, is_first: &mut bool) {
        let space = !std::mem::take(is_first);
        self.line.push(space.then_some(LayoutItem::Space));
    }

    fn row(&mut self, row: &'a [Axis], is_first: &mut bool) {
        for (place, axis) in row.iter().enumerate() {
            if place > 0 {
                self.line.word(",");
            }
            self.apart(is_first);
            self.axis(axis);
        }
    }

    fn axis(&mut self, axis: &'a Axis) {
        match axis.kind {
            AxisKind::Size(_) => self.line.word(self.literal(axis.span)),
            AxisKind::Name(name) => self.line.word(self.names.text(name)),
            AxisKind::Expr(size) => {
                self.line.word("(");
                self.expr(size, ANY);
                self.line.word(")");
            }
            AxisKind::Any => self.line.word("_"),
            AxisKind::Rest => self.line.word("..."),
            AxisKind::Row(name) => {
                self.line.push([
                    LayoutItem::Word(".."),
                    LayoutItem::Word(self.names.text(name)),
                    LayoutItem::Word(".."),
                ]);
            }
        }
        if let Some(basis) = axis.basis {
            self.line.word(":");
            self.ident(basis);
        }
    }

    /// Writes `0..10`, with spaces if there are operators.
    pub(super) fn range(&mut self, low: ExprId, high: ExprId) {
        let is_spaced = self.has_operator(low) || self.has_operator(high);
        let space = is_spaced.then_some(LayoutItem::Space);
        self.expr(low, OPERATORS);
        self.line.push(space);
        self.line.word("..");
        self.line.push(space);
        self.expr(high, OPERATORS);
    }
}
