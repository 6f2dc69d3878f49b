//! Written signatures: `def f(x : ..b.. | n) : ..b.. | 1 = …`.
//!
//! The statements of a signature hold in every application, even if the body would allow more: the shapes of
//! arguments before the body is walked, so that a mistake is found where the function is applied, and the
//! shape of the result afterwards. A name is one size, or one row, in the whole signature. A signature may
//! ask for more than the body needs. It may not promise more than the body keeps: sizes that it leaves open
//! have to stay open, and different ones different.
//!
//! A size may be computed: `(2 * n)`. A name in an expression that nothing around the function has is a size of the
//! signature, too, wherever it stands first: `def f(x : ..b.. | (2 * n)) : ..b.. | n = …`.

use std::rc::Rc;

use broadloom::{Error, ErrorKind, Kind, Node, Shape as Inferred, StatedNames, Tensor};
use broadloom_diagnostics::{Diagnostic, Help, Span, Wording};

use rustc_hash::FxHashSet;

use super::advice::wanted;
use super::report::diagnosed;
use super::{Eval, Evaluated, Reported, declared, reporting, unknown};
use crate::codes;
use crate::eval::given::Given;
use crate::program::Origins;
use crate::syntax::ast::{
    Argument, Axis, AxisKind, Body, ExprId, ExprKind, File, Name, ResultShape, Shape, StatementKind,
};
use crate::value::{Function, Value};

/// The place where a function is given each of its arguments.
#[derive(Default)]
pub(super) struct Places(Vec<Option<Span>>);

impl Places {
    pub fn new(arguments: &[Argument], given: &[Given]) -> Places {
        let mut places = vec![None; arguments.len()];
        let mut next = 0;
        for each in given {
            let at = match each.name {
                Some(name) => arguments.iter().position(|known| known.name.name == name.name),
                None => {
                    next += 1;
                    Some(next - 1)
                }
            };
            if let Some(place) = at.and_then(|at| places.get_mut(at)) {
                *place = Some(each.span);
            }
        }
        Places(places)
    }
}

/// States the shapes of the arguments of an application. The frame is that of the function.
pub(super) fn state_arguments(
    eval: &mut Eval<'_>,
    function: &Rc<Function>,
    places: &Places,
    call: Span,
) -> Evaluated<StatedNames> {
    let mut names = StatedNames::default();
    for (argument, place) in function.def.arguments.iter().zip(&places.0) {
        let Some(shape) = &argument.shape else { continue };
        let value = eval.frame.scope.own(argument.name.name).unwrap_or(Value::Mistake);
        let span = place.unwrap_or(call);
        let tensor = eval.tensor(&value, span)?;
        if !matches!(value, Value::Tensor(_)) {
            eval.frame.scope.bind(argument.name.name, Value::Tensor(tensor));
        }
        bind_computed(eval, function, shape, &mut names);
        check_lists(eval, function, shape, places, call)?;
        let declared = declared::stated_shape(eval, shape)?;
        let stated = shape.span.unwrap_or(argument.name.span);
        let made =
            eval.graph.quiet_mut().state_shape(tensor, declared.computed(&declared.labels()), &mut names);
        eval.note_origins(stated);
        eval.note_statement(tensor, &declared, stated);
        if let Err(error) = made {
            not_written(eval, &error, (shape, stated))?;
            let got = eval.graph.shape(tensor).to_string();
            let wants = (function, argument.name.name, declared.shape.text());
            let written = eval.quote(span);
            let help = match value {
                Value::List(items) if items.iter().any(|item| matches!(item, Value::Tensor(_))) => {
                    let name = eval.text(argument.name.name);
                    Some(Wording::new(format!(
                        "where a shape is stated, a list of tensors is one tensor: leave the shape out, and `{name}` is the list, whose shapes are inferred"
                    )))
                }
                _ => wanted::what_to_give(eval, function, shape, (tensor, &written)),
            };
            return unwanted(eval, wants, (&got, span, help), shape.span, &error);
        }
        bind_sizes(eval, function, shape, &names);
    }
    Ok(names)
}

/// Binds the names of a stated shape that are sizes, for the body.
fn bind_sizes(eval: &mut Eval<'_>, function: &Function, shape: &Shape, names: &StatedNames) {
    for name in names_of(shape) {
        eval.note_outer(&function.scope, name);
        if !is_known(function, name)
            && let Some(size) = eval.graph.quiet().captured_stated(names, eval.text(name))
        {
            let size = Value::Size(Rc::new(size.into()));
            eval.note_size(&size, |recorder| recorder.stated_size(name));
            eval.frame.scope.bind(name, size);
        }
    }
}

/// Reports an argument that is no list, although a stated shape has its length: `(len(xs))`.
fn check_lists(
    eval: &mut Eval<'_>,
    function: &Rc<Function>,
    shape: &Shape,
    places: &Places,
    call: Span,
) -> Evaluated<()> {
    // Where a body is walked aside, its arguments are not known to be lists.
    if call == function.def.name.span {
        return Ok(());
    }
    for (name, written) in lists_in(eval, &function.file, shape) {
        let Some(at) = function.def.arguments.iter().position(|each| each.name.name == name) else {
            continue;
        };
        let value = eval.frame.scope.own(name).unwrap_or(Value::Mistake);
        if matches!(
            value,
            Value::List(_)
                | Value::Range(..)
                | Value::Stream(..)
                | Value::Open
                | Value::OpenNumber(_)
                | Value::Mistake
        ) {
            continue;
        }
        let argument = eval.text(name);
        let function_name = eval.text(function.def.name.name);
        let is = value.kind();
        let message = format!("`{function_name}` takes a list as `{argument}`, and this is {is}");
        let span = places.0.get(at).copied().flatten().unwrap_or(call);
        let place = eval.place(span);
        let stated = eval.span_of(written);
        let mut diagnostic = Diagnostic::error(codes::KIND, message, place, is.to_string());
        if !eval.library.contains(&stated.source) {
            diagnostic = diagnostic.with_label(stated, format!("the length of `{argument}`"));
        }
        return eval.fail(diagnostic.with_help("a list is written `[a, b]` or `[f(i) for i in 0..4]`"));
    }
    Ok(())
}

/// The names in the expressions of a shape whose lengths are asked for, and where: `xs` in `(2 * len(xs))`.
pub(super) fn lists_in(eval: &Eval<'_>, file: &File, shape: &Shape) -> Vec<(Name, ExprId)> {
    let mut rest: Vec<ExprId> = axes_of(shape)
        .filter_map(|axis| if let AxisKind::Expr(expr) = axis.kind { Some(expr) } else { None })
        .collect();
    let mut found = Vec::new();
    while let Some(expr) = rest.pop() {
        match &file.expr(expr).kind {
            ExprKind::Binary(_, a, b) => rest.extend([*b, *a]),
            ExprKind::Unary(_, inner) => rest.push(*inner),
            ExprKind::Call { callee, args } => {
                if let ([arg], true) = (&args[..], is_len(eval, file, *callee))
                    && let ExprKind::Name(name) = file.expr(arg.value).kind
                {
                    found.push((name, expr));
                } else {
                    rest.extend(args.iter().map(|arg| arg.value));
                }
            }
            _ => {}
        }
    }
    found
}

/// Makes sizes of the names in the expressions of a stated shape that stand for nothing else, and binds them.
fn bind_computed(eval: &mut Eval<'_>, function: &Function, shape: &Shape, names: &mut StatedNames) {
    let config = function.def.config.as_deref().unwrap_or_default();
    for name in computed_names(eval, &eval.frame.file.clone(), axes_of(shape)) {
        let is_size = |value: Value| {
            unknown::is_open(&value) || matches!(value, Value::Number(_) | Value::Size(_) | Value::Mistake)
        };
        // An argument or a local value is what it is, and so is a size that is known around the function.
        let is_given = config.iter().any(|each| each.name.name == name);
        if is_given || eval.frame.scope.own(name).is_some() || eval.find(name).is_some_and(is_size) {
            continue;
        }
        let text = eval.text(name).to_string();
        let size = eval.graph.quiet_mut().stated_size(names, &text);
        let size = Value::Size(Rc::new(size.into()));
        eval.note_size(&size, |recorder| recorder.stated_size(name));
        eval.frame.scope.bind(name, size);
    }
}

/// The names in the expressions of some axes that are operands of arithmetic. In `(len(xs))`, `xs` is none.
pub(super) fn computed_names<'a>(
    eval: &Eval<'_>,
    file: &File,
    axes: impl Iterator<Item = &'a Axis>,
) -> Vec<Name> {
    let exprs = axes.filter_map(|axis| match axis.kind {
        AxisKind::Expr(expr) => Some(expr),
        _ => None,
    });
    names_in_all(file, exprs.collect(), &|callee| is_len(eval, file, callee))
}

/// The names in an expression.
pub(super) fn names_in(file: &File, expr: ExprId) -> Vec<Name> {
    names_in_all(file, vec![expr], &|_| false)
}

/// Returns true if the callee of a call is `len`, so that its argument is a list and no size.
pub(super) fn is_len(eval: &Eval<'_>, file: &File, callee: ExprId) -> bool {
    matches!(file.expr(callee).kind, ExprKind::Name(name) if eval.text(name) == "len")
}

/// The names in some expressions, but for those in calls that are left out.
fn names_in_all(file: &File, mut rest: Vec<ExprId>, leaves_out: &dyn Fn(ExprId) -> bool) -> Vec<Name> {
    rest.reverse();
    let mut found = Vec::new();
    while let Some(expr) = rest.pop() {
        match &file.expr(expr).kind {
            ExprKind::Name(name) if !found.contains(name) => found.push(*name),
            ExprKind::Binary(_, a, b) => rest.extend([*b, *a]),
            ExprKind::Unary(_, inner) => rest.push(*inner),
            ExprKind::Call { callee, .. } if leaves_out(*callee) => {}
            ExprKind::Call { args, .. } => rest.extend(args.iter().rev().map(|arg| arg.value)),
            _ => {}
        }
    }
    found
}

/// States the shape of the result of an application, or of each result in a list.
pub(super) fn state_result(
    eval: &mut Eval<'_>,
    function: &Rc<Function>,
    value: &Value,
    names: &mut StatedNames,
    call: Span,
) -> Evaluated<()> {
    let Some(stated) = &function.def.result else { return Ok(()) };
    let mut rest = vec![(stated, value.clone(), Vec::new())];
    while let Some((stated, value, place)) = rest.pop() {
        let span = stated.span().unwrap_or(function.def.name.span);
        match (stated, &value) {
            (_, Value::Open | Value::OpenNumber(_)) => {}
            (ResultShape::Tensor(shape), Value::Tensor(tensor)) => {
                state_tensor(eval, function, (shape, *tensor, &place), names, call)?;
            }
            (ResultShape::List(shapes, _), Value::List(items)) if shapes.len() == items.len() => {
                let each = shapes.iter().zip(items.iter()).enumerate();
                let each =
                    each.map(|(at, (shape, item))| (shape, item.clone(), [&place[..], &[at]].concat()));
                rest.extend(each.rev());
            }
            _ => return other_result(eval, function, (stated, &value, &place), span),
        }
    }
    Ok(())
}

/// Reports a result that is something else than what is stated: no tensor, or a list of another length.
fn other_result(
    eval: &mut Eval<'_>,
    function: &Function,
    (stated, value, place): (&ResultShape, &Value, &[usize]),
    span: Span,
) -> Evaluated<()> {
    let name = eval.text(function.def.name.name).to_string();
    let of = item_text(place);
    let items = |count: usize| match count {
        1 => "a list of one".to_string(),
        count => format!("a list of {count}"),
    };
    let (what, is) = match (stated, value) {
        (ResultShape::Tensor(_), _) => ("the shape".to_string(), value.kind().to_string()),
        (ResultShape::List(shapes, _), Value::List(values)) => (items(shapes.len()), items(values.len())),
        (ResultShape::List(shapes, _), _) => (items(shapes.len()), value.kind().to_string()),
    };
    let message = match stated {
        ResultShape::Tensor(_) => format!("`{name}` states {what} of its result{of}, which is {is}"),
        ResultShape::List(..) => format!("`{name}` states {what} for its result{of}, which is {is}"),
    };
    let help = match (stated, value) {
        (ResultShape::Tensor(_), Value::List(_)) => {
            "write one shape for each in a list: `[..b.. | n; ..b.. | m]`"
        }
        (ResultShape::Tensor(_), _) => "only tensors have shapes: leave it out",
        (ResultShape::List(..), Value::List(_)) => "write one shape for each, with `;` between them",
        (ResultShape::List(..), Value::Tensor(_)) => "the shape of one tensor is written without brackets",
        (ResultShape::List(..), _) => "leave it out",
    };
    let mut diagnostic = Diagnostic::error(codes::KIND, message, eval.place(span), "stated here");
    if let Some(value) = value_at(function, place).filter(|_| eval.place(span) == span) {
        diagnostic = diagnostic.with_label(value, format!("this is {is}"));
    }
    eval.fail(diagnostic.with_help(help))
}

/// An item of a result in words, if it is one: " `[1]`".
fn item_text(place: &[usize]) -> String {
    let text: String = place.iter().map(|at| format!("[{at}]")).collect();
    if text.is_empty() { text } else { format!(" `{text}`") }
}

/// The shape of a result: over the names of the signature where a body is walked with open arguments, of which little else is known.
fn shape_over_names(eval: &Eval<'_>, function: &Function, tensor: Tensor, names: &StatedNames) -> String {
    let arguments =
        function.def.arguments.iter().filter_map(|each| match eval.frame.scope.own(each.name.name)? {
            Value::Tensor(argument) => Some(argument),
            _ => None,
        });
    let open: Vec<Tensor> = arguments.collect();
    let is_open = eval.aside.is_some() && !open.is_empty();
    let scheme = is_open.then(|| eval.graph.scheme(&open, &[tensor], names)).and_then(Result::ok);
    let shape = scheme.as_ref().and_then(|scheme| Some(scheme.text(scheme.shapes.last()?)));
    shape.unwrap_or_else(|| eval.graph.shape(tensor).to_string())
}

/// States the shape of a tensor that is the result of an application, or one of its results.
fn state_tensor(
    eval: &mut Eval<'_>,
    function: &Function,
    (shape, tensor, of): (&Shape, Tensor, &[usize]),
    names: &mut StatedNames,
    call: Span,
) -> Evaluated<()> {
    let span = shape.span.unwrap_or(function.def.name.span);
    bind_computed(eval, function, shape, names);
    let declared = declared::stated_shape(eval, shape)?;
    let made = eval.graph.quiet_mut().state_shape(tensor, declared.computed(&declared.labels()), names);
    eval.note_origins(span);
    eval.note_statement(tensor, &declared, span);
    let Err(error) = made else { return Ok(()) };
    not_written(eval, &error, (shape, span))?;
    let got = shape_over_names(eval, function, tensor, names);
    let name = eval.text(function.def.name.name).to_string();
    let (stated, item) = (declared.shape.text(), item_text(of));
    let message = format!("`{name}` states `{stated}` for its result{item}, which is `{got}`");
    let place = eval.place(span);
    let mut diagnostic = Diagnostic::error(codes::MISMATCH, message, place, "stated here");
    let made = match eval.graph.node(tensor) {
        Some(Node::Operation { step, .. }) => eval.origins.get(step).map(|origin| origin.span),
        _ => None,
    };
    let in_body = made.filter(|made| function.span.contains(*made)).or_else(|| value_at(function, of));
    if let Some(value) = in_body.filter(|_| place == span) {
        diagnostic = diagnostic.with_label(value, format!("this is `{got}`"));
    }
    if call != function.def.name.span && place == span {
        diagnostic = diagnostic.with_label(call, "applied here");
    }
    diagnostic = diagnostic.with_note(error.message());
    eval.fail(diagnostic.with_help("state what the body gives, or leave the shape out: it is inferred"))
}

/// Reports a stated shape that is not well written, whatever it is compared with.
fn not_written(eval: &mut Eval<'_>, error: &Error, (shape, span): (&Shape, Span)) -> Evaluated<()> {
    if error.kind() != ErrorKind::Notation {
        return Ok(());
    }
    let mut diagnostic = diagnosed(error, eval.place(span), &eval.origins);
    if let Some(word) = names_of(shape).map(|name| eval.text(name)).find(|name| is_no_size(name)) {
        diagnostic.help = vec![read_as_size(word).into()];
    }
    eval.fail(diagnostic)
}

/// Words for kinds of values that other languages write behind an argument.
const NO_SIZES: [&str; 14] = [
    "Tensor", "tensor", "array", "Array", "number", "Number", "list", "List", "str", "string", "text",
    "function", "Callable", "layer",
];

/// Returns true for a word that other languages write behind an argument, for a type of numbers or a kind of value.
fn is_no_size(word: &str) -> bool {
    crate::suggest::number_type_or_own(word).is_some() || NO_SIZES.contains(&word)
}

/// The advice for such a word.
fn read_as_size(word: &str) -> String {
    format!("a shape follows `:`, and `{word}` is read as the name of a size: leave it out")
}

/// An argument whose shape is not what the signature asks for.
fn unwanted<T>(
    eval: &mut Eval<'_>,
    (function, argument, wanted): (&Rc<Function>, Name, &str),
    (got, span, help): (&str, Span, Option<Wording>),
    stated: Option<Span>,
    error: &Error,
) -> Evaluated<T> {
    let name = eval.text(function.def.name.name).to_string();
    let argument = eval.text(argument).to_string();
    let place = eval.place(span);
    let mut diagnostic = diagnosed(error, place, &eval.origins);
    diagnostic.message = format!("`{name}` takes `{argument} : {wanted}`, and this is `{got}`");
    diagnostic.labels[0].text = format!("`{got}`");
    diagnostic.help.clear();
    match stated.filter(|stated| !eval.library.contains(&stated.source)) {
        Some(stated) => {
            diagnostic.labels.retain(|label| label.span != stated);
            diagnostic = diagnostic.with_label(stated, format!("`{name}` states it here"));
        }
        None => diagnostic.notes.extend(reporting::comment_above(eval, function.def.name.span)),
    }
    if is_no_size(wanted) {
        diagnostic.help.push(read_as_size(wanted).into());
    } else {
        diagnostic.help.extend(help.map(Help::from));
    }
    eval.fail(diagnostic.with_note(error.message()))
}

/// The place in a signature that the shape of a tensor is promised at.
pub(super) enum Promise {
    Argument(Name),
    /// The result, or one in a list of them.
    Result(usize),
}

/// A promise of a signature that the body does not keep.
pub(super) struct Broken {
    /// The place where the signature says it.
    pub stated: Span,
    /// In words, what the body makes of it.
    pub why: String,
    /// The row that the body decides, with the place of the axis if it decides one.
    decided: (Tensor, Kind, Option<usize>),
}

/// Finds what a signature promises and the body does not keep, if anything: `inferred` are the shapes of the arguments
/// that are tensors, and of the results.
pub(super) fn broken_promise(
    eval: &Eval<'_>,
    function: &Function,
    scheme: &broadloom::Scheme,
    inferred: &[(Promise, Tensor, Inferred)],
) -> Option<Broken> {
    let mut known: Vec<(Name, bool, u32)> = Vec::new();
    let results = function.def.result.as_ref().map(ResultShape::shapes).unwrap_or_default();
    for (promise, tensor, shape) in inferred {
        let stated = match promise {
            Promise::Argument(name) => {
                let mut arguments = function.def.arguments.iter();
                arguments.find(|each| each.name.name == *name).and_then(|each| each.shape.as_ref())
            }
            Promise::Result(at) => results.get(*at).copied(),
        };
        let Some(stated) = stated else { continue };
        for kind in Kind::ALL {
            let promised = match kind {
                Kind::Batch => stated.batch.as_deref().unwrap_or(&[]),
                Kind::Input => stated.input.as_deref().unwrap_or(&[]),
                Kind::Output => &stated.output,
            };
            let kept = shape.row(kind);
            if kept.len() < promised.len() {
                let is_own =
                    |axis: &&Axis| matches!(axis.kind, AxisKind::Row(row) if !is_known(function, row));
                let Some(row) = promised.iter().find(is_own) else { continue };
                let why = format!("{}, but the body makes it none", any_number(eval, row));
                return Some(Broken { stated: row.span, why, decided: (*tensor, kind, None) });
            }
            if kept.len() > promised.len() {
                let text = scheme.text(shape);
                let span = stated.span.unwrap_or(function.def.name.span);
                let why = format!("the body makes it `{text}`");
                return Some(Broken { stated: span, why, decided: (*tensor, kind, None) });
            }
            for (at, (promise, axis)) in promised.iter().zip(kept).enumerate() {
                let whys = match promise.kind {
                    AxisKind::Name(name) => broken(eval, function, scheme, (name, None), axis, &mut known),
                    AxisKind::Row(name) => {
                        broken(eval, function, scheme, (name, Some(promise)), axis, &mut known)
                    }
                    AxisKind::Expr(_) => broken_computed(eval, function, scheme, promise, &mut known),
                    AxisKind::Size(_) | AxisKind::Any | AxisKind::Rest => None,
                };
                if let Some(why) = whys {
                    return Some(Broken { stated: promise.span, why, decided: (*tensor, kind, Some(at)) });
                }
            }
        }
    }
    None
}

/// A size that expressions in a signature mention, and that only closing has decided: the body does not, so that it may be
/// anything, but what follows from it could not be said.
pub(super) fn unsolved(
    eval: &Eval<'_>,
    function: &Function,
    scheme: &broadloom::Scheme,
    (graph, stated): (&broadloom::Graph, &StatedNames),
) -> Option<String> {
    let is_unsolved = |name: &&str| {
        let is_fixed = scheme.computed(name).is_some_and(|size| scheme.is_fixed(size));
        let size = graph.captured_stated(stated, name).filter(|_| is_fixed);
        size.is_some_and(|size| graph.size(size).is_none() && graph.size_expression(size).is_none())
    };
    names_in_signature(eval, function)
        .into_iter()
        .map(|name| eval.text(name))
        .find(is_unsolved)
        .map(str::to_string)
}

/// Compares the sizes in an expression of a signature with what the body makes of them. That the axis has the size of
/// the expression is a constraint.
fn broken_computed(
    eval: &Eval<'_>,
    function: &Function,
    scheme: &broadloom::Scheme,
    promise: &Axis,
    known: &mut Vec<(Name, bool, u32)>,
) -> Option<String> {
    computed_names(eval, &function.file, std::iter::once(promise)).into_iter().find_map(|name| {
        let size = scheme.computed(eval.text(name))?;
        broken(eval, function, scheme, (name, None), size, known)
    })
}

/// Compares a name of a signature with what the body makes of it: of one axis, or of the row that it stands for at the
/// place that is given.
fn broken(
    eval: &Eval<'_>,
    function: &Function,
    scheme: &broadloom::Scheme,
    (name, row): (Name, Option<&Axis>),
    axis: &broadloom::Axis,
    known: &mut Vec<(Name, bool, u32)>,
) -> Option<String> {
    let is_row = row.is_some();
    // Arguments and names around the function are what they are.
    if is_known(function, name) {
        return None;
    }
    let text = if is_row { format!("..{}..", eval.text(name)) } else { eval.text(name).to_string() };
    let Some((variable, is_any)) = scheme.variable(axis) else {
        // An expression is a condition on sizes, which the signature shows.
        let is_fixed = scheme.is_fixed(axis);
        return is_fixed.then(|| format!("`{text}` may be anything here, but the body makes it `{axis}`"));
    };
    if is_row && !is_any {
        return row.map(|row| format!("{}, but the body makes it one", any_number(eval, row)));
    }
    match known.iter().find(|(own, row, _)| *own == name && *row == is_row) {
        Some(_) => None,
        None => {
            let same = known.iter().find(|(.., other)| *other == variable).map(|(own, row, _)| (*own, *row));
            known.push((name, is_row, variable));
            let (own, row) = same?;
            let other = if row { format!("..{}..", eval.text(own)) } else { eval.text(own).to_string() };
            Some(format!("`{text}` and `{other}` may differ here, but the body makes them equal"))
        }
    }
}

/// The beginning of the sentence about a row that the body restricts.
fn any_number(eval: &Eval<'_>, promise: &Axis) -> String {
    format!("`{}` may be any number of axes here", eval.sources.slice(promise.span).trim())
}

/// Reports a signature that promises more than the body keeps, with the line of the body that decides it.
pub(super) fn report_promise(
    eval: &mut Eval<'_>,
    function: &Function,
    body: (&mut broadloom::Graph, &Origins),
    broken: Broken,
) {
    let decides = decided_in(function, body, &broken);
    let decides = decides.or_else(|| Some((value_at(function, &[])?, "the body".to_string())));
    let Broken { stated: span, why, .. } = broken;
    let names = names_in_signature(eval, function).into_iter().map(|name| eval.text(name));
    let help = match names.into_iter().find(|name| is_no_size(name)) {
        Some(word) => read_as_size(word),
        None => "state what the body needs, or leave the shape out: it is inferred".to_string(),
    };
    let place = eval.place(span);
    let mut diagnostic = Diagnostic::error(codes::MISMATCH, why, place, "stated here").with_help(help);
    if let Some((decides, text)) = decides.filter(|_| place == span) {
        diagnostic = diagnostic.with_label(decides, text);
    }
    let (Ok(()) | Err(Reported)) = eval.fail(diagnostic);
}

/// The first line of a body on the way to what it decides, and what it says there.
fn decided_in(
    function: &Function,
    (graph, origins): (&mut broadloom::Graph, &Origins),
    broken: &Broken,
) -> Option<(Span, String)> {
    let (tensor, kind, at) = broken.decided;
    let why = match at {
        Some(at) => graph.why(tensor, kind, at),
        None => graph.why_axes(tensor, kind),
    };
    let parts = why.ok()?.parts;
    let body = match &function.def.body {
        Body::Expr(value) => function.file.expr(*value).span,
        Body::Block(statements) => statements.first()?.span.to(statements.last()?.span),
    };
    let in_body = |span: Span| body.contains(span);
    parts.into_iter().find_map(|part| {
        let origin = origins.get(part.step?)?;
        Some((origin.span, part.text)).filter(|(span, _)| in_body(*span))
    })
}

/// The names of its own that a signature has in the shapes of its arguments, also in their expressions.
pub(super) fn names_in_arguments(eval: &Eval<'_>, function: &Function) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    for shape in function.def.arguments.iter().filter_map(|each| each.shape.as_ref()) {
        names.extend(names_of(shape).chain(computed_names(eval, &function.file, axes_of(shape))));
    }
    // In the order in which they are written, in which messages multiply them.
    let mut known: FxHashSet<Name> = FxHashSet::default();
    names.retain(|name| !is_known(function, *name) && known.insert(*name));
    names
}

/// Returns true if a signature computes a size from names of its own.
pub(super) fn computes(eval: &Eval<'_>, function: &Function) -> bool {
    let results = function.def.result.iter().flat_map(ResultShape::shapes);
    let shapes = function.def.arguments.iter().filter_map(|each| each.shape.as_ref()).chain(results);
    let mut names = shapes.flat_map(|shape| computed_names(eval, &function.file, axes_of(shape)));
    names.any(|name| !is_known(function, name))
}

/// A signature that holds for some of the sizes that it allows, and not for others.
pub(super) fn not_for_all(eval: &Eval<'_>, function: &Function, condition: &str) -> Diagnostic {
    let stated = function.def.result.as_ref().and_then(ResultShape::span);
    let place = eval.place(stated.unwrap_or(function.def.name.span));
    let message =
        format!("this signature allows sizes for which the body does not work: it needs {condition}");
    Diagnostic::error(codes::MISMATCH, message, place, "stated here")
        .with_help("state what the body gives, or leave the shape out: it is inferred")
}

/// A signature that holds for no sizes: `given` is the shape of the result without it.
pub(super) fn never(eval: &Eval<'_>, function: &Function, given: Option<&str>) -> Diagnostic {
    let stated = function.def.result.as_ref().and_then(ResultShape::span);
    let place = eval.place(stated.unwrap_or(function.def.name.span));
    let name = eval.text(function.def.name.name);
    let is_same_file = |span: &Span| eval.place(*span) == *span && span.source == place.source;
    let (message, body) = match (stated, given) {
        (Some(stated), Some(given)) => {
            let stated = eval.sources.slice(stated).trim();
            let message = format!("`{name}` states `{stated}` for its result, which is `{given}`");
            (
                message,
                value_at(function, &[]).filter(is_same_file).map(|span| (span, format!("this is `{given}`"))),
            )
        }
        _ => (format!("the body of `{name}` contradicts its signature for all sizes"), None),
    };
    let mut diagnostic = Diagnostic::error(codes::MISMATCH, message, place, "stated here");
    if let Some((span, text)) = body {
        diagnostic = diagnostic.with_label(span, text);
    }
    let help = "state what the body gives, or leave the shape out: it is inferred";
    diagnostic.with_help(help)
}

/// The place of the value that a body gives, which is its last line, or of an item in the list that stands there.
fn value_at(function: &Function, place: &[usize]) -> Option<Span> {
    let mut value = match &function.def.body {
        Body::Expr(value) => *value,
        Body::Block(statements) => match statements.last()?.kind {
            StatementKind::Expr(value) => value,
            _ => return None,
        },
    };
    for at in place {
        let ExprKind::List(items) = &function.file.expr(value).kind else { break };
        value = *items.get(*at)?;
    }
    Some(function.file.expr(value).span)
}

/// The names of sizes in a signature, also in its expressions.
pub(super) fn names_in_signature(eval: &Eval<'_>, function: &Function) -> Vec<Name> {
    let results = function.def.result.iter().flat_map(ResultShape::shapes);
    let shapes = function.def.arguments.iter().filter_map(|each| each.shape.as_ref()).chain(results);
    let mut names = Vec::new();
    for shape in shapes {
        names.extend(names_of(shape).chain(computed_names(eval, &function.file, axes_of(shape))));
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// True if a function states the shape of an argument, or of its result.
pub(super) fn states_shapes(function: &Function) -> bool {
    function.def.result.is_some() || function.def.arguments.iter().any(|each| each.shape.is_some())
}

/// True if a name in a signature is an argument, or a size that is known where the function is defined.
pub(super) fn is_known(function: &Function, name: Name) -> bool {
    let mut list = function.def.config.iter().flatten().chain(&function.def.arguments);
    let is_size = |value: Value| matches!(value, Value::Number(_) | Value::Size(_) | Value::Mistake);
    list.any(|each| each.name.name == name) || function.scope.find(name).is_some_and(is_size)
}

/// The names of a shape that stand for sizes.
pub(super) fn names_of(shape: &Shape) -> impl Iterator<Item = Name> + '_ {
    axes_of(shape).filter_map(|axis| match axis.kind {
        AxisKind::Name(name) => Some(name),
        _ => None,
    })
}

pub(super) fn axes_of(shape: &Shape) -> impl Iterator<Item = &Axis> {
    shape.batch.iter().flatten().chain(shape.input.iter().flatten()).chain(&shape.output)
}
