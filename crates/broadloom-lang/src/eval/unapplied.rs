//! Functions that are never applied, and branches that no application takes: they are not evaluated, so
//! names and numbers of arguments are checked here.
//!
//! The arguments of such a function are not known, so they, and every name that its body binds,
//! stand for [`Value::Mistake`], whose uses are not reported. Only the names of the program and of
//! the library are checked.

use std::rc::Rc;

use broadloom_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashSet;

use super::contract::{names_of, states_shapes};
use super::{Eval, Evaluated, Frame, Reported};
use crate::eval::builtin::Builtin;
use crate::eval::call::Given;
use crate::syntax::ast::{
    Arg, Argument, Binary, Body, Def, Expr, ExprId, ExprKind, File, Ident, Statement, StatementKind, Target,
};
use crate::value::{BuiltinId, Function, Scope, Value};

impl Eval<'_> {
    /// Checks the functions that were defined and never applied.
    pub(super) fn look_at_unapplied(&mut self) {
        let applied: FxHashSet<*const Function> =
            self.applied.iter().map(|applied| applied.function()).collect();
        let current = self.checked_by_interface();
        // Sizes from outside may decide what a body does.
        let is_usual = self.options.sizes.is_empty() && !self.options.inference;
        for function in self.defined.clone() {
            let is_applied = applied.contains(&Rc::as_ptr(&function));
            let before = self.errors;
            let inside = |span: Span| {
                let own = function.span;
                own.contains(span)
            };
            let reported =
                |wrong: &Diagnostic| wrong.is_error() && wrong.labels.iter().any(|label| inside(label.span));
            let is_wrong = self.diagnostics.iter().any(reported);
            // What uses tensors or sizes of the program around it depends on what that does with them.
            let is_known =
                is_usual && current.contains(&function.span.source) && !self.captures_any(&function);
            if is_known {
                self.definitions.by_interface += 1;
                continue;
            }
            self.definitions.checked += 1;
            // What an application walks is checked there, but for the branches that it does not take, and for what a
            // signature promises to others.
            if !is_applied || !is_wrong && has_branches(&function) {
                self.resolve(&function, function.span);
            }
            if self.errors == before && (!is_applied || !is_wrong && states_shapes(&function)) {
                self.check_open(&function);
            }
        }
    }

    fn resolve(&mut self, function: &Rc<Function>, span: Span) {
        let def = &function.def;
        let scope = Scope::new(Some(function.scope.clone()));
        // The body knows the sizes of its signature.
        for size in def.arguments.iter().filter_map(|each| each.shape.as_ref()).flat_map(names_of) {
            scope.bind(size, Value::Mistake);
        }
        let mut bound = Vec::new();
        bound_by_def(def, &mut bound);
        let file = self.file_of(function);
        self.resolve_within(Frame { file, scope, ..self.frame.clone() }, bound, span);
    }

    /// Checks the names of a way of an `if` that the program itself does not take.
    pub(super) fn resolve_untaken(&mut self, body: &[Statement], span: Span) {
        let mut bound = Vec::new();
        bound_by(body, &mut bound);
        let scope = Scope::new(Some(self.frame.scope.clone()));
        self.resolve_within(Frame { scope, ..self.frame.clone() }, bound, span);
    }

    /// Checks what stands within a span, where some names are bound to values that are not known.
    fn resolve_within(&mut self, frame: Frame, mut bound: Vec<Ident>, span: Span) {
        let (file, scope) = (frame.file.clone(), frame.scope.clone());
        bound.extend(file.params_within(span));
        let within = |expr: &Expr| span.contains(expr.span);
        for expr in file.exprs.iter().filter(|expr| within(expr)) {
            if let ExprKind::Each { name, .. } = &expr.kind {
                bound.push(*name);
            }
        }
        for name in bound {
            scope.bind(name.name, Value::Mistake);
        }
        self.within(frame, |eval| {
            // A name that is called is reported as a function, not as a name.
            let mut called: FxHashSet<ExprId> = FxHashSet::default();
            let ids = (0..file.len() as u32).map(ExprId).filter(|id| within(file.expr(*id)));
            for id in ids.clone() {
                // Mistakes have been reported already.
                let (Ok(()) | Err(Reported)) = eval.resolve_call(id, &mut called);
            }
            for id in ids.clone() {
                let is_field = matches!(file.expr(id).kind, ExprKind::Field(..));
                if is_field && !called.contains(&base(&file, id)) && eval.prefixed(id, None, None).is_some() {
                    called.insert(base(&file, id));
                }
            }
            for id in ids.filter(|id| !called.contains(id)) {
                if let ExprKind::Name(name) = file.expr(id).kind {
                    let (Ok(_) | Err(Reported)) = eval.lookup(name, file.expr(id).span);
                }
            }
        });
    }

    /// Checks a call, and notes the names that were reported with it.
    fn resolve_call(&mut self, id: ExprId, called: &mut FxHashSet<ExprId>) -> Evaluated<()> {
        let file = self.frame.file.clone();
        let span = file.expr(id).span;
        match &file.expr(id).kind {
            ExprKind::Call { callee, args } => {
                if let Some(reported) = self.foreign_call(*callee, args) {
                    called.extend([*callee, base(&file, *callee)]);
                    return Err(reported);
                }
                let given = args.iter().map(|arg| self.unknown(*arg)).collect();
                self.check_arguments(*callee, given, span)
            }
            ExprKind::Binary(Binary::Pipe, given, callee) => {
                let given = vec![self.unknown(Arg { name: None, value: *given })];
                match self.callee(*callee) {
                    Some(Callee::Arguments(function, false)) if function.def.config.is_some() => {
                        let spans = (self.span_of(*callee), span);
                        self.apply(&Value::Function(function), given, spans).map(|_| ())
                    }
                    _ => self.check_arguments(*callee, given, span),
                }
            }
            _ => Ok(()),
        }
    }

    /// An argument with an unknown value, unless it is a literal.
    fn unknown(&self, arg: Arg) -> Given {
        let value = match &self.frame.file.expr(arg.value).kind {
            ExprKind::Text(text) if !text.contains('{') => Value::Text((&**text).into()),
            ExprKind::Number(number) => Value::Number(*number),
            _ => Value::Mistake,
        };
        Given { name: arg.name, value, span: self.span_of(arg.value) }
    }

    /// Checks that a known function takes these arguments.
    fn check_arguments(&mut self, callee: ExprId, given: Vec<Given>, span: Span) -> Evaluated<()> {
        let at = self.span_of(callee);
        match self.callee(callee) {
            // Functions of the language count their arguments before they use them.
            Some(Callee::Builtin(builtin)) if is_clear(builtin.get(), &given) => {
                self.apply(&Value::Builtin(builtin), given, (at, span)).map(|_| ())
            }
            Some(Callee::Arguments(function, configured)) => {
                let arguments: &[Argument] = match (&function.def.config, configured) {
                    (Some(config), false) => config,
                    _ => &function.def.arguments,
                };
                self.check_given(&function, arguments, given, (at, span))
            }
            _ => Ok(()),
        }
    }

    /// The callee, if it is known: a function, with true if it has its configuration.
    fn callee(&self, callee: ExprId) -> Option<Callee> {
        match &self.frame.file.expr(callee).kind {
            ExprKind::Name(name) => match self.frame.scope.find(*name)? {
                Value::Builtin(builtin) => Some(Callee::Builtin(builtin)),
                Value::Function(function) => Some(Callee::Arguments(function, false)),
                Value::Layer(layer) => Some(Callee::Arguments(layer.function.clone(), true)),
                _ => None,
            },
            ExprKind::Call { callee, .. } => match self.callee(*callee)? {
                Callee::Arguments(function, false) if function.def.config.is_some() => {
                    Some(Callee::Arguments(function, true))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// The expression that fields are taken from: `np` of `np.linalg.norm`.
fn base(file: &File, mut id: ExprId) -> ExprId {
    while let ExprKind::Field(of, _) = &file.expr(id).kind {
        id = *of;
    }
    id
}

/// Functions that take a spec first, or no spec.
const BY_SPEC: [&str; 7] = ["einsum", "sum", "product", "mean", "max", "min", "split"];

/// Returns true if a function of the language can check these arguments without making anything.
fn is_clear(builtin: &Builtin, given: &[Given]) -> bool {
    let by_spec = BY_SPEC.contains(&builtin.name);
    given.iter().any(|each| matches!(each.value, Value::Mistake))
        && (!by_spec || matches!(given.first().map(|first| &first.value), Some(Value::Text(_))))
}

/// The function that is called.
enum Callee {
    Builtin(BuiltinId),
    Arguments(Rc<Function>, bool),
}

/// The names that a function binds, including those of functions inside it.
pub(super) fn bound_by_def(def: &Def, bound: &mut Vec<Ident>) {
    bound.extend(def.config.iter().flatten().chain(&def.arguments).map(|argument| argument.name));
    if let Body::Block(statements) = &def.body {
        bound_by(statements, bound);
    }
}

fn bound_by(statements: &[Statement], bound: &mut Vec<Ident>) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Let { names, .. } => bound.extend(names),
            StatementKind::Dim { name, .. } | StatementKind::Leaf { name, .. } => bound.push(*name),
            StatementKind::Op { name, operands, .. } => bound.extend([name].into_iter().chain(operands)),
            StatementKind::Assign(assign) => {
                if let Target::New(name) = &assign.target {
                    bound.push(*name);
                }
            }
            StatementKind::For { name, body, .. } => {
                bound.push(*name);
                bound_by(body, bound);
            }
            StatementKind::Repeat { name, body, .. } => {
                bound.extend(name);
                bound_by(body, bound);
            }
            StatementKind::If(_) => statement.kind.blocks().for_each(|body| bound_by(body, bound)),
            StatementKind::Def(def) => {
                bound.push(def.name);
                bound_by_def(def, bound);
            }
            _ => {}
        }
    }
}

/// Returns true if a body has parts that an application may leave out.
fn has_branches(function: &Function) -> bool {
    let own = function.span;
    let inside = |expr: &&Expr| own.contains(expr.span);
    let chooses = |statement: &Statement| matches!(statement.kind, StatementKind::If(_));
    fn any(statements: &[Statement], chooses: &impl Fn(&Statement) -> bool) -> bool {
        statements.iter().any(|each| chooses(each) || each.kind.blocks().any(|body| any(body, chooses)))
    }
    let body: &[Statement] = if let Body::Block(body) = &function.def.body { body } else { &[] };
    any(body, &chooses)
        || function.file.exprs.iter().filter(inside).any(|expr| matches!(expr.kind, ExprKind::If { .. }))
}
