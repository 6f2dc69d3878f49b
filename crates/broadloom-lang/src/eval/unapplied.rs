//! Functions that are never applied, and branches that no application takes: they are not evaluated, so
//! names and numbers of arguments are checked here.
//!
//! The arguments of such a function are not known, so they, and every name that its body binds,
//! stand for [`Value::Mistake`], whose uses are not reported. Only the names of the program and of
//! the library are checked.

use std::rc::Rc;

use broadloom_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashSet;

use super::advice::foreign;
use super::around::captures_any;
use super::bound_names::{bound_by, bound_by_def};
use super::contract::{axes_of, computed_names, names_of, states_shapes};
use super::{Eval, Evaluated, Frame, Reported, interface, looked};
use crate::eval::builtin::Builtin;
use crate::eval::given::Given;
use crate::language_function::LanguageFunction;
use crate::syntax::ast::{
    Arg, Argument, Binary, Body, ExprId, ExprKind, File, Ident, ResultShape, Statement, StatementKind,
};
use crate::value::{BuiltinId, Function, Scope, Value};

/// Checks the functions that were defined and never applied: all of them, or each that stands inside of another one, once.
pub(super) fn look_at_unapplied(eval: &mut Eval<'_>, around: Option<Span>) {
    let applied: FxHashSet<*const Function> = eval.applied.iter().map(|applied| applied.function()).collect();
    let current = interface::checked_by_interface(eval);
    // Sizes from outside may decide what a body does.
    let is_usual = eval.options.sizes.is_empty() && !eval.options.inference;
    let mut seen = FxHashSet::default();
    // What is known of the last check holds as long as nothing is wrong: what is said of a function may depend on what was said before.
    let is_right = eval.errors == 0 && eval.diagnostics.is_empty();
    for function in eval.defined.clone() {
        let is_inside = |around: Span| around.contains(function.span) && around != function.span;
        if around.is_some_and(|around| !is_inside(around) || !seen.insert(function.span)) {
            continue;
        }
        let is_applied = applied.contains(&Rc::as_ptr(&function));
        let before = eval.errors;
        let inside = |span: Span| {
            let own = function.span;
            own.contains(span)
        };
        let reported =
            |wrong: &Diagnostic| wrong.is_error() && wrong.labels.iter().any(|label| inside(label.span));
        let is_wrong = eval.diagnostics.iter().any(reported);
        // What uses tensors or sizes of the program around it depends on what that does with them.
        let is_known = is_usual && current.contains(&function.span.source) && !captures_any(eval, &function);
        if is_known {
            eval.definitions.by_interface += 1;
            continue;
        }
        eval.definitions.checked += 1;
        let looked = if is_usual && is_right { looked_at(eval, &function, is_applied) } else { None };
        if looked == Some(Looked::Before) {
            continue;
        }
        let found = eval.diagnostics.len();
        // What an application walks is checked there, but for the branches that it does not take, and for what a
        // signature promises to others.
        if !is_applied || !is_wrong && has_branches(&function) {
            resolve(eval, &function, function.span);
        }
        let is_more = states_shapes(&function) || has_branches(&function);
        if eval.errors == before && (!is_applied || !is_wrong && is_more) {
            eval.check_open(&function, is_applied);
        }
        // After too many mistakes, nothing is looked at.
        if let (Some(Looked::Now(fingerprint)), Some(kept)) = (looked, &mut eval.looked)
            && eval.diagnostics.len() == found
            && eval.errors == 0
        {
            kept.note(fingerprint);
        }
    }
}

/// A function while a program is edited.
#[derive(PartialEq)]
enum Looked {
    /// Nothing was found in it in the last check, and nothing has changed.
    Before,
    /// It is looked at now, and has this fingerprint.
    Now(String),
}

/// Finds out whether a function has been looked at; None if that is not kept.
fn looked_at(eval: &mut Eval<'_>, function: &Function, is_applied: bool) -> Option<Looked> {
    let mut kept = eval.looked.take()?;
    let made = looked::of_function(eval, &mut kept, function);
    // What is applied is looked at less closely.
    let made = made.map(|made| if is_applied { format!("{made} applied") } else { made });
    let looked = made.map(|made| if kept.has(&made) { Looked::Before } else { Looked::Now(made) });
    eval.looked = Some(kept);
    looked
}

fn resolve(eval: &mut Eval<'_>, function: &Rc<Function>, span: Span) {
    let def = &function.def;
    let scope = Scope::new(Some(function.scope.clone()));
    // The body knows the sizes of its signature.
    for size in def.arguments.iter().filter_map(|each| each.shape.as_ref()).flat_map(names_of) {
        scope.bind(size, Value::Mistake);
    }
    let mut bound = Vec::new();
    bound_by_def(def, &mut bound);
    let file = eval.file_of(function);
    let results = def.result.iter().flat_map(ResultShape::shapes);
    for shape in def.arguments.iter().filter_map(|each| each.shape.as_ref()).chain(results) {
        for size in computed_names(eval, &file, axes_of(shape)) {
            scope.bind(size, Value::Mistake);
        }
    }
    resolve_within(eval, Frame { file, scope, ..eval.frame.clone() }, bound, span);
}

/// Checks the names of a way of an `if` that the program itself does not take.
pub(super) fn resolve_untaken(eval: &mut Eval<'_>, body: &[Statement], span: Span) {
    let mut bound = Vec::new();
    bound_by(body, &mut bound);
    let scope = Scope::new(Some(eval.frame.scope.clone()));
    resolve_within(eval, Frame { scope, ..eval.frame.clone() }, bound, span);
}

/// Checks what stands within a span, where some names are bound to values that are not known.
fn resolve_within(eval: &mut Eval<'_>, frame: Frame, mut bound: Vec<Ident>, span: Span) {
    let (file, scope) = (frame.file.clone(), frame.scope.clone());
    bound.extend(file.params_within(span));
    for (_, expr) in file.exprs_within(span) {
        if let ExprKind::Each { name, .. } = &expr.kind {
            bound.push(*name);
        }
    }
    for name in bound {
        scope.bind(name.name, Value::Mistake);
    }
    eval.within(frame, |eval| {
        // A name that is called is reported as a function, not as a name.
        let mut called: FxHashSet<ExprId> = FxHashSet::default();
        let ids = file.exprs_within(span).map(|(id, _)| id);
        for id in ids.clone() {
            // Mistakes have been reported already.
            let (Ok(()) | Err(Reported)) = resolve_call(eval, id, &mut called);
        }
        for id in ids.clone() {
            let is_field = matches!(file.expr(id).kind, ExprKind::Field(..));
            if is_field
                && !called.contains(&base(&file, id))
                && foreign::prefixed(eval, id, None, None).is_some()
            {
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
fn resolve_call(eval: &mut Eval<'_>, id: ExprId, called: &mut FxHashSet<ExprId>) -> Evaluated<()> {
    let file = eval.frame.file.clone();
    let span = file.expr(id).span;
    match &file.expr(id).kind {
        ExprKind::Call { callee, args } => {
            if let Some(reported) = foreign::foreign_call(eval, *callee, args) {
                called.extend([*callee, base(&file, *callee)]);
                return Err(reported);
            }
            let given = args.iter().map(|arg| unknown(eval, *arg)).collect();
            check_arguments(eval, *callee, given, span)
        }
        ExprKind::Binary(Binary::Pipe, given, callee) => {
            let given = vec![unknown(eval, Arg { name: None, value: *given })];
            match callee_of(eval, *callee) {
                Some(Callee::Arguments(function, false)) if function.def.config.is_some() => {
                    let spans = (eval.span_of(*callee), span);
                    eval.apply(&Value::Function(function), given, spans).map(|_| ())
                }
                _ => check_arguments(eval, *callee, given, span),
            }
        }
        _ => Ok(()),
    }
}

/// An argument with an unknown value, unless it is a literal.
fn unknown(eval: &Eval<'_>, arg: Arg) -> Given {
    let value = match &eval.frame.file.expr(arg.value).kind {
        ExprKind::Text(text) if !text.contains('{') => Value::Text((&**text).into()),
        ExprKind::Number(number) => Value::Number(*number),
        _ => Value::Mistake,
    };
    Given { name: arg.name, value, span: eval.span_of(arg.value) }
}

/// Checks that a known function takes these arguments.
fn check_arguments(eval: &mut Eval<'_>, callee: ExprId, given: Vec<Given>, span: Span) -> Evaluated<()> {
    let at = eval.span_of(callee);
    match callee_of(eval, callee) {
        // Functions of the language count their arguments before they use them.
        Some(Callee::Builtin(builtin)) if is_clear(builtin.get(), &given) => {
            eval.apply(&Value::Builtin(builtin), given, (at, span)).map(|_| ())
        }
        Some(Callee::Arguments(function, configured)) => {
            let arguments: &[Argument] = match (&function.def.config, configured) {
                (Some(config), false) => config,
                _ => &function.def.arguments,
            };
            eval.check_given(&function, arguments, given, (at, span))
        }
        _ => Ok(()),
    }
}

/// The callee, if it is known: a function, with true if it has its configuration.
fn callee_of(eval: &Eval<'_>, callee: ExprId) -> Option<Callee> {
    match &eval.frame.file.expr(callee).kind {
        ExprKind::Name(name) => match eval.frame.scope.find(*name)? {
            Value::Builtin(builtin) => Some(Callee::Builtin(builtin)),
            Value::Function(function) => Some(Callee::Arguments(function, false)),
            Value::Layer(layer) => Some(Callee::Arguments(layer.function.clone(), true)),
            _ => None,
        },
        ExprKind::Call { callee, .. } => match callee_of(eval, *callee)? {
            Callee::Arguments(function, false) if function.def.config.is_some() => {
                Some(Callee::Arguments(function, true))
            }
            _ => None,
        },
        _ => None,
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
const BY_SPEC: [LanguageFunction; 7] = {
    use LanguageFunction::*;
    [Einsum, Sum, Product, Mean, Max, Min, Split]
};

/// Returns true if a function of the language can check these arguments without making anything.
fn is_clear(builtin: &Builtin, given: &[Given]) -> bool {
    let by_spec = BY_SPEC.contains(&builtin.function);
    given.iter().any(|each| matches!(each.value, Value::Mistake))
        && (!by_spec || matches!(given.first().map(|first| &first.value), Some(Value::Text(_))))
}

/// The function that is called.
enum Callee {
    Builtin(BuiltinId),
    Arguments(Rc<Function>, bool),
}

/// Returns true if a body has parts that an application may leave out.
fn has_branches(function: &Function) -> bool {
    let chooses = |statement: &Statement| matches!(statement.kind, StatementKind::If(_));
    fn any(statements: &[Statement], chooses: &impl Fn(&Statement) -> bool) -> bool {
        statements.iter().any(|each| chooses(each) || each.kind.blocks().any(|body| any(body, chooses)))
    }
    let body: &[Statement] = if let Body::Block(body) = &function.def.body { body } else { &[] };
    any(body, &chooses)
        || function.file.exprs_within(function.span).any(|(_, expr)| matches!(expr.kind, ExprKind::If { .. }))
}
