//! Statements that bind names, and blocks.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use broadloom_diagnostics::{Diagnostic, Severity, Span};

use super::advice::habits;
use super::needs::{self, NeedKind};
use super::{
    Checkpoint, Eval, Evaluated, Frame, Reported, action, checkpoint, dim, path, replay, stated_sizes,
    unapplied, unknown,
};
use crate::codes;
use crate::syntax::ast::{
    Binary, Body, Branch, Def, ExprId, ExprKind, Ident, Quoted, Shape, Statement, StatementKind,
};
use crate::value::{Function, Kept, Layer, Scope, Value};

/// The largest number of items in a list, and of turns of an unrolled loop.
const LONGEST: i64 = 100_000;

impl Eval<'_> {
    /// Reads and evaluates the program itself.
    pub(crate) fn program(&mut self, name: &str, text: &str) {
        let read_whole = self.read(name, text);
        self.evaluate(0, None);
        self.finish(read_whole);
    }

    /// Parses the program itself, and returns true if there are no mistakes.
    pub(crate) fn read(&mut self, name: &str, text: &str) -> bool {
        let source = self.sources.add(name, text);
        let parsed = crate::syntax::parse(source, text, &mut self.names);
        let read_whole = parsed.diagnostics.is_empty();
        self.diagnostics.extend(parsed.diagnostics);
        self.own = Scope::new(Some(self.prelude.clone()));
        self.own_file = Arc::new(parsed.file);
        read_whole
    }

    /// Evaluates the statements of the program itself from one on. Makes a checkpoint before another one, if that is
    /// wanted and nothing is reported about those before it.
    pub(crate) fn evaluate(&mut self, first: usize, wanted: Option<usize>) -> Option<Checkpoint> {
        let (file, reported) = (self.own_file.clone(), self.diagnostics.len());
        let frame = Frame { file: file.clone(), scope: self.own.clone(), ..self.frame.clone() };
        self.within(frame, |eval| {
            let (mut made, mut all_well) = (None, true);
            for (at, statement) in file.statements.iter().enumerate().skip(first) {
                if wanted == Some(at) && all_well {
                    made = checkpoint::make(eval, at, reported);
                }
                match eval.top_statement(statement) {
                    Some(is_well) => all_well &= is_well,
                    None => break,
                }
            }
            made
        })
    }

    /// The number of the statement of the program itself that an offset is in, or that it stands before.
    pub(crate) fn statement_at(&self, offset: u32) -> usize {
        self.own_file.statements.partition_point(|statement| statement.span.end < offset)
    }

    /// Ends the evaluation of the program itself.
    pub(crate) fn finish(&mut self, read_whole: bool) {
        // Later statements may define the names that unapplied functions use.
        if self.options.until.is_none() {
            unapplied::look_at_unapplied(self, None);
        }
        // A statement with a mistake in it may be the `dim` that is set.
        for name in std::mem::take(&mut self.unused_sizes).into_iter().filter(|_| read_whole) {
            let message = format!("there is no `dim {name}` that could be set");
            let known: Vec<String> = self.dims.iter().map(|dim| format!("`{}`", dim.name)).collect();
            let help = match known.is_empty() {
                true => "the program declares none".to_string(),
                false => format!("it has {}", known.join(", ")),
            };
            // The size was set outside the program, so there is no place to point to.
            self.diagnostics.push(Diagnostic::new(Severity::Error, codes::UNKNOWN, message).with_help(help));
        }
    }

    /// Evaluates one statement. The value is that of its expression, if it is one.
    pub(super) fn statement(&mut self, statement: &Statement) -> Evaluated<Value> {
        let span = statement.span;
        let makes_values = matches!(
            statement.kind,
            StatementKind::Let { .. }
                | StatementKind::Def(_)
                | StatementKind::Set { .. }
                | StatementKind::If(_)
                | StatementKind::For { .. }
                | StatementKind::Expr(_)
        );
        if !makes_values {
            self.no_replay();
        }
        if self.graph.quiet().is_in_turn()
            && let Some((what, instead)) = action::happens(&statement.kind)
        {
            let is_checkpointed = self.is_checkpointed();
            let message = match is_checkpointed {
                true => format!(
                    "{what} cannot be in `checkpointed`, whose gradients compute what is in it once more"
                ),
                false => format!("{what} in a turn of a scan would happen once, and not in every turn"),
            };
            // A function of the library is written already.
            let instead = match self.place(span) == span {
                true if is_checkpointed => "write it before `checkpointed` is applied, or behind it",
                false if is_checkpointed => {
                    "apply it before `checkpointed`, or behind it, or under `inference`, where layers assign nothing"
                }
                true => instead,
                false => {
                    "apply it before the scan, or behind it, or under `inference`, where layers assign nothing"
                }
            };
            let refused = self.wrong(codes::USE, message, span, instead);
            self.poison(statement);
            return refused;
        }
        let made = match &statement.kind {
            StatementKind::Import { path, alias } => self.import(path, *alias),
            StatementKind::Dim { name, range, value } => dim::define(self, *name, *range, *value, span),
            StatementKind::Leaf { kind, name, shape, precision, value } => {
                self.leaf(*kind, *name, shape.as_ref(), *precision, *value, span)
            }
            StatementKind::Let { names, shape, value } => self.bind(names, shape.as_ref(), *value),
            StatementKind::Def(def) => {
                self.define(def, span);
                Ok(())
            }
            StatementKind::Op { name, operands, lines } => self.op(*name, operands, lines),
            StatementKind::Set { target, value } => self.set(*target, *value, span),
            StatementKind::For { name, list, body } => self.unrolled(*name, *list, body, span),
            StatementKind::Repeat { name, count, body } => self.repeat(*name, *count, body, span),
            StatementKind::If(branches) => return self.choice(branches),
            StatementKind::Backward(loss) => self.backward(*loss, span).map(|_| ()),
            StatementKind::Minimise { loss, of, rule, every } => {
                self.minimise(*loss, (*of, *rule, *every), span)
            }
            StatementKind::Print { parts, every } => self.print(parts, *every, span),
            StatementKind::Save { value, path } => self.save(*value, path, span),
            StatementKind::Assign(assign) => self.assign(assign, span),
            StatementKind::Expr(value) => return self.expr(*value),
        };
        if made.is_err() {
            self.poison(statement);
        }
        made.map(|()| Value::Nothing)
    }

    /// Binds the names that a mistaken statement would have defined to a mistake, so that no
    /// further errors follow. Parameters inside it are included even if they were made before the
    /// mistake was found, because that depends on the order of operands.
    fn poison(&mut self, statement: &Statement) {
        let mut names: Vec<Ident> = match &statement.kind {
            StatementKind::Let { names, .. } => names.clone(),
            StatementKind::Dim { name, .. }
            | StatementKind::Leaf { name, .. }
            | StatementKind::Op { name, .. } => vec![*name],
            StatementKind::Import { alias, path } => match alias {
                Some(alias) => vec![*alias],
                None => vec![Ident { name: self.names.intern(&stem(&path.text)), span: path.span }],
            },
            StatementKind::Assign(assign) => match &assign.target {
                crate::syntax::ast::Target::New(name) => vec![*name],
                crate::syntax::ast::Target::Expr(_) => Vec::new(),
            },
            _ => Vec::new(),
        };
        if matches!(statement.kind, StatementKind::Let { .. } | StatementKind::Assign(_)) {
            names.extend(self.frame.file.params_within(statement.span));
        }
        for name in names {
            self.frame.scope.bind(name.name, Value::Mistake);
        }
    }

    fn import(&mut self, path: &Quoted, alias: Option<Ident>) -> Evaluated<()> {
        let file = self.frame.folder.join(&*path.text);
        let file = std::fs::canonicalize(&file).unwrap_or(file);
        let scope = match self.modules.get(&file) {
            Some(Some(scope)) => scope.clone(),
            Some(None) => {
                let message = format!("`{}` imports itself, directly or through others", path.text);
                let help = "move what both need into a file of its own";
                return self.wrong(codes::IMPORT, message, path.span, help);
            }
            None => self.module(&file, path)?,
        };
        let source = self.files.iter().find(|(_, known)| *known == file).map(|(source, _)| *source);
        self.imports.extend(source.map(|source| (path.span, source)));
        let name = match alias {
            Some(alias) => alias.name,
            None => self.names.intern(&stem(&path.text)),
        };
        self.frame.scope.bind(name, Value::Module(scope));
        Ok(())
    }

    /// Reads a file, and evaluates it in a scope of its own.
    fn module(&mut self, file: &Path, path: &Quoted) -> Evaluated<Rc<Scope>> {
        let unsaved = self.options.unsaved.get(file).map(|text| Ok(Ok(text.clone())));
        let text = match unsaved.unwrap_or_else(|| std::fs::read(file).map(broadloom_diagnostics::decode)) {
            Ok(Ok(text)) => text,
            Ok(Err(_)) => {
                let message = format!("`{}` is not a text in UTF-8", path.text);
                return self.wrong(codes::IMPORT, message, path.span, "");
            }
            Err(error) => {
                let message = format!("`{}` cannot be read: {}", path.text, reason(&error));
                if super::interface::is_there(file) {
                    let help = "its interface is there, which has the shapes of its functions, but not what they compute: \
                                put the module beside it";
                    return self.wrong(codes::IMPORT, message, path.span, help);
                }
                let help = "paths are relative to the folder of this file";
                return self.wrong(codes::IMPORT, message, path.span, help);
            }
        };
        self.modules.insert(file.to_path_buf(), None);
        let source = self.sources.add(&*path.text, text.clone());
        self.files.push((source, file.to_path_buf()));
        let parsed = crate::syntax::parse(source, &text, &mut self.names);
        self.diagnostics.extend(parsed.diagnostics);
        let scope = Scope::new(Some(self.prelude.clone()));
        let folder = file.parent().unwrap_or(Path::new("")).into();
        let frame = Frame { file: Arc::new(parsed.file), scope: scope.clone(), folder, ..self.frame.clone() };
        self.within(frame, Eval::file);
        self.modules.insert(file.to_path_buf(), Some(scope.clone()));
        Ok(scope)
    }

    fn bind(&mut self, names: &[Ident], shape: Option<&Shape>, value: ExprId) -> Evaluated<()> {
        let before = self.graph.quiet().len();
        let made = self.expr(value)?;
        let [name] = names else { return self.bind_all(names, &made, value) };
        self.bind_one(*name, made.clone(), before);
        match shape {
            Some(shape) => self.declare(*name, shape, &made),
            None => Ok(()),
        }
    }

    /// `let a, b = …`
    fn bind_all(&mut self, names: &[Ident], made: &Value, value: ExprId) -> Evaluated<()> {
        let span = self.span_of(value);
        let Value::List(items) = made else {
            match made {
                Value::Mistake => return Err(Reported),
                Value::Open => {
                    names.iter().for_each(|name| self.bind_one(*name, Value::Open, 0));
                    return Ok(());
                }
                _ => {}
            }
            let message = format!("{} names for {}", names.len(), made.kind());
            return self.wrong(
                codes::KIND,
                message,
                span,
                "several names need a list: `[a, b]`, or what `split(\"a^b => a; b\", x)` gives",
            );
        };
        if items.len() != names.len() {
            let message = format!("{} names for a list of {}", names.len(), items.len());
            return self.wrong(codes::ARGUMENTS, message, span, "");
        }
        for (name, item) in names.iter().zip(items.iter()) {
            self.bind_one(*name, item.clone(), 0);
        }
        Ok(())
    }

    /// Binds a name. A tensor, a layer or a list of layers without a name yet takes it.
    pub(super) fn bind_one(&mut self, name: Ident, value: Value, before: usize) {
        let is_new = matches!(&value, Value::Tensor(tensor) if tensor.index() >= before);
        self.call_by(name, &value, is_new);
        self.note_binding(name, &value, is_new);
        self.frame.scope.bind(name.name, value);
    }

    /// Calls a tensor, a layer or a list of layers by a name that is bound to it; a tensor only if it is new.
    pub(super) fn call_by(&mut self, name: Ident, value: &Value, is_new: bool) {
        match value {
            Value::Tensor(tensor) => {
                let shown = self.inside_of(name.name);
                let graph = self.graph.quiet_mut();
                if is_new && graph.name_of(*tensor).is_none() {
                    graph.name(*tensor, &shown);
                }
                self.name_tensor(*tensor, shown, name.span);
            }
            Value::Layer(layer) => layer.call_it(self.names.text(name.name)),
            Value::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    if let Value::Layer(layer) = item {
                        layer.call_it(&format!("{}.{at}", self.text(name.name)));
                    }
                }
            }
            _ => {}
        }
        path::note_part(self, name.name, value);
    }

    /// Defines a function, and returns it.
    pub(super) fn define(&mut self, def: &Arc<Def>, span: Span) -> Value {
        self.defining.note(&self.frame.scope);
        let is_nested = self.frame.layer.is_some();
        // What functions inside of bodies find there is compared in every application.
        if !is_nested {
            self.frame.scope.define_in();
        }
        let function = Rc::new(Function {
            def: def.clone(),
            file: self.frame.file.clone(),
            scope: self.frame.scope.clone(),
            span,
            is_nested,
            name: self.text(def.name.name).into(),
        });
        if !self.library.contains(&span.source) {
            self.defined.push(function.clone());
        }
        let value = match def.config {
            Some(_) => Value::Function(function),
            // A function without configuration makes its parameters once, too.
            None => Value::Layer(self.defined_layer(&function)),
        };
        replay::note_definition(self, def, &value, span);
        if let Value::Layer(layer) = &value {
            stated_sizes::check(self, &layer.function.clone());
        } else if let Value::Function(function) = &value {
            stated_sizes::check(self, function);
        }
        self.frame.scope.bind(def.name.name, value.clone());
        value
    }

    /// The layer of a function without configuration. Inside of a function it has what earlier applications have made.
    fn defined_layer(&mut self, function: &Rc<Function>) -> Rc<Layer> {
        let scope = Scope::new(Some(function.scope.clone()));
        let Some(around) = self.frame.layer.clone() else { return self.layer(function, scope, Vec::new()) };
        let (place, turns) = (function.span.start, self.frame.turns.clone());
        match around.inner_at(place, &turns) {
            Some(known) => self.layer_again(&known, function, (scope, Vec::new())),
            None => {
                let layer = self.layer(function, scope, Vec::new());
                around.keep_inner(place, turns, layer.clone());
                layer
            }
        }
    }

    /// The layer of a function inside of another one, in another application of that one: it has what the layer of the earlier
    /// application has made.
    pub(super) fn layer_again(
        &mut self,
        known: &Layer,
        function: &Rc<Function>,
        (scope, config): (Rc<Scope>, Vec<Value>),
    ) -> Rc<Layer> {
        let layer = Rc::new(Layer {
            function: function.clone(),
            scope,
            config,
            kept: known.kept.clone(),
            outer: known.outer.clone(),
            made_at: known.made_at.clone(),
        });
        self.note_layer(&layer);
        layer
    }

    /// A layer that has not made anything yet.
    pub(super) fn layer(
        &mut self,
        function: &Rc<Function>,
        scope: Rc<Scope>,
        config: Vec<Value>,
    ) -> Rc<Layer> {
        let outer = self.frame.layer.clone().map(|layer| self.path_of(&layer));
        let layer = Rc::new(Layer {
            function: function.clone(),
            scope,
            config,
            kept: Rc::new(Kept { name: RefCell::new(function.name.clone()), ..Kept::default() }),
            outer,
            made_at: Default::default(),
        });
        self.note_layer(&layer);
        layer
    }

    /// `for`: evaluates the body once for each item, in a scope of its own.
    fn unrolled(&mut self, name: Ident, list: ExprId, body: &[Statement], span: Span) -> Evaluated<()> {
        habits::not_for_training(self, name, list, body, span)?;
        let items = self.items(list)?;
        if let [Value::Open] = items[..] {
            unknown::one_turn(self, name, body);
            return Ok(());
        }
        let turns = self.frame.turns.clone();
        for (turn, item) in items.into_iter().enumerate() {
            self.step(name.span)?;
            let mut path = turns.to_vec();
            path.push(turn as u32);
            let scope = Scope::new(Some(self.frame.scope.clone()));
            scope.bind(name.name, item);
            let frame = Frame { scope, turns: path.into(), ..self.frame.clone() };
            self.within(frame, |eval| eval.block(body))?;
        }
        Ok(())
    }

    /// Evaluates the statements of a block. Its value is that of its last line.
    pub(super) fn block(&mut self, statements: &[Statement]) -> Evaluated<Value> {
        let (mut last, mut failed) = (Value::Nothing, false);
        for (at, statement) in statements.iter().enumerate() {
            // The last line of a function is its value.
            let is_value = at + 1 == statements.len() && self.frame.layer.is_some();
            if self.is_beyond(statement.span) {
                break;
            }
            match self.statement(statement) {
                Ok(_) if !is_value && self.is_idle(statement) => failed |= self.idle(statement).is_err(),
                Ok(value) => last = value,
                Err(Reported) => failed = true,
            }
        }
        if failed { Err(Reported) } else { Ok(last) }
    }

    /// `if deep:`: evaluates the block of the first condition that holds, with the names around it. The value is that of the block.
    fn choice(&mut self, branches: &[Branch]) -> Evaluated<Value> {
        let mut taken = branches.len();
        for (at, branch) in branches.iter().enumerate() {
            let holds = match branch.condition {
                Some(condition) => match self.holds(condition) {
                    Ok(Some(holds)) => holds,
                    Ok(None) => return Ok(unknown::all_branches(self, &branches[at..])),
                    Err(Reported) => {
                        let ways = branches[at..].iter();
                        needs::look_further(
                            self,
                            ways.map(|way| |eval: &mut Eval<'_>| eval.block(&way.body)),
                        );
                        return Err(Reported);
                    }
                },
                None => true,
            };
            if holds {
                taken = at;
                break;
            }
        }
        // Those of functions are looked at once, when all applications are known.
        if self.frame.layer.is_none() {
            for (at, Branch { body, head, .. }) in branches.iter().enumerate().filter(|(at, _)| *at != taken)
            {
                let last = body.last().map_or(*head, |statement| statement.span);
                let first = body.first().map_or(*head, |statement| statement.span);
                // Conditions behind the way that is taken are not evaluated.
                unapplied::resolve_untaken(
                    self,
                    body,
                    if at > taken { head.to(last) } else { first.to(last) },
                );
            }
        }
        match branches.get(taken) {
            Some(branch) => self.block(&branch.body),
            None => Ok(Value::Nothing),
        }
    }

    /// Returns true if a condition holds, which has to be known when the program is built; none if it is open.
    fn holds(&mut self, condition: ExprId) -> Evaluated<Option<bool>> {
        let (value, at) = (self.expr(condition)?, self.span_of(condition));
        match value {
            Value::Tensor(_) | Value::Position(_) if self.reads_turn(at) => {
                let text = self.quote(at);
                let turns = text.split_once('%').map(|(_, rest)| rest.trim_start());
                let turns =
                    turns.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
                let every = turns.filter(|turns| !turns.is_empty()).unwrap_or("10".into());
                let message = "`if` is decided when the program is built, and the number of a repetition is not known then";
                let help = format!(
                    "to print now and then, leave the `if` out and write `every {every}` at the end of the `print`; `where({text}, a, b)` chooses between numbers"
                );
                self.wrong(codes::KIND, message, at, help)
            }
            Value::Tensor(_) => {
                needs::note_condition(self, condition);
                let help = "what a program does is known before it runs: `where(condition, a, b)` chooses element by element, and `repeat 100:` says how often";
                let diagnostic = self.condition_of_tensor(at).with_help(help);
                self.fail(diagnostic)
            }
            Value::Open | Value::OpenNumber(_) => Ok(None),
            value => Ok(Some(self.number(&value, at)? != 0.0)),
        }
    }

    /// Returns true if an expression reads the number of a repetition.
    fn reads_turn(&self, span: Span) -> bool {
        let file = &self.frame.file;
        let mut names = file.exprs.iter().filter(|expr| span.contains(expr.span));
        names.any(|expr| match expr.kind {
            ExprKind::Name(name) => matches!(self.frame.scope.find(name), Some(Value::Position(_))),
            _ => false,
        })
    }

    /// Returns true if a statement is only an expression without a call, so that it has no effect.
    pub(super) fn is_idle(&self, statement: &Statement) -> bool {
        let StatementKind::Expr(value) = statement.kind else { return false };
        let file = &self.frame.file;
        let mut waiting = vec![value];
        while let Some(expr) = waiting.pop() {
            match &file.expr(expr).kind {
                ExprKind::Binary(Binary::Pipe, ..)
                | ExprKind::Call { .. }
                | ExprKind::Param(_)
                | ExprKind::Each { .. }
                | ExprKind::If { .. }
                | ExprKind::Missing => return false,
                ExprKind::Binary(_, a, b) | ExprKind::Index(a, b) | ExprKind::Range(a, b) => {
                    waiting.extend([*a, *b])
                }
                ExprKind::Unary(_, inner) | ExprKind::Field(inner, _) => waiting.push(*inner),
                ExprKind::List(items) => waiting.extend(items),
                ExprKind::Name(_) | ExprKind::Number(_) | ExprKind::Text(_) => {}
            }
        }
        true
    }

    /// Reports a statement that does nothing.
    pub(super) fn idle(&mut self, statement: &Statement) -> Evaluated<()> {
        let StatementKind::Expr(value) = statement.kind else { return Ok(()) };
        let (message, span) = ("the value of this line is not used", statement.span);
        let file = self.frame.file.clone();
        let help = match &file.expr(value).kind {
            ExprKind::Binary(Binary::Equal, ..) => "`==` compares; write `=` to assign",
            ExprKind::Text(text) if self.place(span) == span => {
                let comment = format!("# {}", text.trim());
                let written = self.quotable(span).map_or("# …", |_| comment.as_str());
                let help = format!("a comment begins with `#`: write `{written}`");
                let diagnostic = Diagnostic::error(codes::PLACE, message, span, "");
                return self.fail(diagnostic.with_fix(help, span, comment));
            }
            _ => "give it a name with `let`, or `print` it",
        };
        self.wrong(codes::PLACE, message, span, help)
    }

    /// Evaluates the body of a function.
    pub(super) fn body(&mut self, body: &Body) -> Evaluated<Value> {
        match body {
            Body::Expr(value) => self.expr(*value),
            Body::Block(statements) => self.block(statements),
        }
    }

    /// The items of a list or a range.
    pub(super) fn items(&mut self, list: ExprId) -> Evaluated<Vec<Value>> {
        let span = self.span_of(list);
        match self.expr(list)? {
            Value::List(items) => Ok(items.to_vec()),
            Value::Range(from, to) if to.saturating_sub(from) <= LONGEST => {
                Ok((from..to).map(|at| Value::Number(at as f64)).collect())
            }
            Value::Range(..) => {
                let message = format!("this range has more than {LONGEST} numbers");
                self.wrong(codes::RANGE, message, span, "`repeat` runs a loop without writing it out")
            }
            Value::Open => Ok(vec![Value::Open]),
            Value::Mistake => Err(Reported),
            other => {
                needs::note(self, &other, NeedKind::List);
                let message = format!("a list or a range is needed here, not {}", other.kind());
                let help = match other {
                    Value::Number(number) => {
                        format!("write `[{number}]` for a list of one, or `0..{number}`")
                    }
                    Value::Tensor(tensor) => {
                        let rows = self.graph.shape(tensor).rows[0].lead.first().map(ToString::to_string);
                        let (name, rows) = (self.quote(span), rows.unwrap_or("10".into()));
                        format!(
                            "write `repeat i in 0..{rows}:`, and `{name}[i]` for each part along its first batch axis; operations take all parts at once"
                        )
                    }
                    _ => "write `[a, b]` or `0..10`".to_string(),
                };
                self.wrong(codes::KIND, message, span, help)
            }
        }
    }
}

/// The name of a file without its folders and its extension.
fn stem(path: &str) -> String {
    Path::new(path).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The reason why a file could not be read, in plain words.
pub(super) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".into(),
        std::io::ErrorKind::PermissionDenied => "it may not be read".into(),
        std::io::ErrorKind::IsADirectory => "it is a folder".into(),
        _ => error.to_string(),
    }
}
