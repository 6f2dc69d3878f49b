//! The functions that are part of the language. All others are the library's, written with these.

mod axis;
mod initials;
mod lists;
mod matrices;
mod mesh;
pub(crate) mod moves;
mod places;
mod turns;

use std::rc::Rc;
use std::sync::LazyLock;

use broadloom::{Accumulate, Combine, Graph, Initial, OperationId, Padding, Pointwise, SpecOptions, Tensor};

use super::advice::{foreign, habits};
use super::{act, call, label_sizes, traps};
use crate::arithmetic::number;
use crate::codes;
use crate::eval::act::Act;
use crate::eval::given::{Call, Given};
use crate::eval::needs::{self, NeedKind};
use crate::eval::spec::By;
use crate::eval::{Eval, Evaluated, Reported};
use crate::language_function::LanguageFunction;
use crate::value::{BuiltinId, Value};

/// A function of the language.
pub(crate) struct Builtin {
    pub function: LanguageFunction,
    /// Applies it to the arguments of a call.
    pub apply: Apply,
    /// The initial values that it stands for when it is written without arguments.
    pub initial: fn() -> Option<Initial>,
}

impl BuiltinId {
    /// The function.
    pub fn get(self) -> &'static Builtin {
        &all()[usize::from(self.0)]
    }
}

impl Builtin {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.function.name()
    }

    /// The pointwise operation that it is of that many operands.
    pub fn pointwise(&self, arity: usize) -> Option<Pointwise> {
        let operation = match self.function {
            LanguageFunction::Pointwise(operation) => operation,
            LanguageFunction::Max => Pointwise::Max,
            LanguageFunction::Min => Pointwise::Min,
            LanguageFunction::Where => Pointwise::Select,
            _ => return None,
        };
        Some(operation).filter(|operation| operation.operand_names().len() == arity)
    }
}

/// Applies a function of the language to the arguments of a call.
type Apply = fn(&mut Eval<'_>, &Call) -> Evaluated<Value>;

const fn function(function: LanguageFunction, apply: Apply) -> Builtin {
    Builtin { function, apply, initial: || None }
}

const fn initial(function: LanguageFunction, apply: Apply, initial: fn() -> Option<Initial>) -> Builtin {
    Builtin { function, apply, initial }
}

/// All functions of the language: its own, and every
/// pointwise operation of the library that has a name.
pub(crate) fn all() -> &'static [Builtin] {
    static ALL: LazyLock<Vec<Builtin>> = LazyLock::new(|| {
        let has_name = |operation: &Pointwise| !OperationId::from(*operation).is_sign();
        let is_new = |operation: &Pointwise| {
            !SIGNS.contains(operation) && OWN.iter().all(|own| own.name() != operation.name())
        };
        let pointwise = Pointwise::all().filter(has_name).filter(is_new);
        let at_each_point = |operation| function(LanguageFunction::Pointwise(operation), at_each_point);
        pointwise.map(at_each_point).chain(OWN).collect()
    });
    &ALL
}

/// Operations that the language writes as signs or keywords: `-x`, `not x`, `a and b`, `a or b`, `a % b`, `a // b`.
const SIGNS: [Pointwise; 6] =
    [Pointwise::Neg, Pointwise::Not, Pointwise::And, Pointwise::Or, Pointwise::Modulo, Pointwise::FloorDiv];

/// The functions that are not just a pointwise operation.
const OWN: [Builtin; 49] = {
    use LanguageFunction::*;
    [
        function(Max, greatest),
        function(Min, least),
        function(Where, choose),
        function(Einsum, einsum),
        function(Sum, |eval, call| reduced(eval, call, Accumulate::Sum)),
        function(Product, |eval, call| reduced(eval, call, Accumulate::Product)),
        function(Mean, mean),
        function(Split, split),
        function(Transpose, moves::transpose),
        function(Gather, moves::gather),
        function(Scatter, moves::scatter),
        function(Take, axis::take),
        function(TakeAlong, axis::take_along),
        function(Positions, axis::positions),
        function(Argsort, axis::argsort),
        function(Argmax, |eval, call| places::extreme(eval, call, Accumulate::Max)),
        function(Argmin, |eval, call| places::extreme(eval, call, Accumulate::Min)),
        function(Solve, |eval, call| matrices::beside(eval, call, Graph::solve)),
        function(Lstsq, |eval, call| matrices::beside(eval, call, Graph::lstsq)),
        function(Inverse, |eval, call| matrices::one(eval, call, Graph::inverse)),
        function(Det, |eval, call| matrices::one(eval, call, Graph::det)),
        function(Logdet, |eval, call| matrices::one(eval, call, Graph::logdet)),
        function(Cholesky, |eval, call| matrices::one(eval, call, Graph::cholesky)),
        function(Qr, |eval, call| matrices::several(eval, call, Graph::qr)),
        function(Eigh, |eval, call| matrices::several(eval, call, Graph::eigh)),
        function(Svd, |eval, call| matrices::several(eval, call, Graph::svd)),
        function(Concat, moves::joined),
        function(Stack, moves::joined),
        function(Reshape, moves::reshape),
        function(Scan, |eval, call| turns::recurrence(eval, call, turns::Wanted::All)),
        function(Fold, |eval, call| turns::recurrence(eval, call, turns::Wanted::Last)),
        function(Constant, constant),
        function(Range, range),
        function(Noise, initials::noise),
        function(Load, crate::eval::load::load),
        function(Batches, crate::eval::streams::batches),
        function(Mesh, mesh::mesh),
        function(Params, params),
        function(Len, len),
        function(Append, lists::append),
        function(SumOf, lists::sum_of),
        function(Inference, inference),
        // A name that stands for 1 or 0: see `Eval::lookup`.
        function(Training, |eval, call| {
            call::wrong_call(eval, call, "`training` is a number, not a function", "")
        }),
        initial(Uniform, initials::uniform, || Some(Initial::Uniform { low: 0.0, high: 1.0 })),
        initial(Normal, initials::normal, || Some(Initial::Normal { mean: 0.0, deviation: 1.0 })),
        initial(
            Kaiming,
            |eval, call| initials::gained(eval, call, |gain| Initial::Kaiming { gain }),
            || Some(Initial::Kaiming { gain: 1.0 }),
        ),
        initial(
            KaimingNormal,
            |eval, call| initials::gained(eval, call, |gain| Initial::KaimingNormal { gain }),
            || Some(Initial::KaimingNormal { gain: 1.0 }),
        ),
        initial(
            Xavier,
            |eval, call| initials::gained(eval, call, |gain| Initial::Xavier { gain }),
            || Some(Initial::Xavier { gain: 1.0 }),
        ),
        initial(
            XavierNormal,
            |eval, call| initials::gained(eval, call, |gain| Initial::XavierNormal { gain }),
            || Some(Initial::XavierNormal { gain: 1.0 }),
        ),
    ]
};

/// The words for accumulations.
const ACCUMULATES: [(&str, Accumulate); 4] =
    [("+", Accumulate::Sum), ("*", Accumulate::Product), ("max", Accumulate::Max), ("min", Accumulate::Min)];

/// Names that stand for values.
pub(crate) fn values() -> [(&'static str, Value); 6] {
    [
        // In a shape, a name that does not stand for a number is a size to be inferred.
        ("inferred", Value::Nothing),
        ("zeros", Value::Initial(Rc::new(Initial::Constant(0.0)))),
        ("ones", Value::Initial(Rc::new(Initial::Constant(1.0)))),
        ("pi", Value::Number(std::f64::consts::PI)),
        ("true", Value::Number(1.0)),
        ("false", Value::Number(0.0)),
    ]
}

/// The built-in names of the language, without the library: functions, and values such as `pi`.
///
/// ```
/// assert!(broadloom_lang::builtins().any(|name| name == "einsum"));
/// assert!(broadloom_lang::builtins().all(|name| name != "linear"));
/// ```
pub fn builtins() -> impl Iterator<Item = &'static str> {
    let functions = all().iter().map(Builtin::name);
    functions.chain(values().into_iter().map(|(name, _)| name))
}

/// The arguments that a function takes.
struct Wanted<'a> {
    count: usize,
    /// Their names; none if they cannot be given by name.
    names: &'a [&'a str],
    /// A call for messages, unless it is the one with the names.
    example: Option<&'a str>,
}

impl Wanted<'_> {
    fn example(&self, call: &Call) -> String {
        match self.example {
            Some(example) => example.to_string(),
            None => format!("{}({})", call.name(), self.names.join(", ")),
        }
    }
}

/// Takes exactly `N` arguments, which have these names.
fn exactly<'c, const N: usize>(
    eval: &mut Eval<'_>,
    call: &'c Call,
    names: [&str; N],
) -> Evaluated<[&'c Given; N]> {
    all_of(eval, call, &Wanted { count: N, names: &names, example: None })
}

/// The same with another example of a call for messages.
fn exactly_as<'c, const N: usize>(
    eval: &mut Eval<'_>,
    call: &'c Call,
    names: [&str; N],
    example: &str,
) -> Evaluated<[&'c Given; N]> {
    all_of(eval, call, &Wanted { count: N, names: &names, example: Some(example) })
}

/// Takes exactly `N` arguments, which have no names.
fn unnamed<'c, const N: usize>(
    eval: &mut Eval<'_>,
    call: &'c Call,
    example: &str,
) -> Evaluated<[&'c Given; N]> {
    all_of(eval, call, &Wanted { count: N, names: &[], example: Some(example) })
}

fn all_of<'c, const N: usize>(
    eval: &mut Eval<'_>,
    call: &'c Call,
    wanted: &Wanted<'_>,
) -> Evaluated<[&'c Given; N]> {
    let given = so_many(eval, call, wanted)?;
    // The length was checked by `so_many`.
    <[&Given; N]>::try_from(given).map_err(|_| Reported)
}

/// The same for a number that the compiler does not know.
fn so_many<'c>(eval: &mut Eval<'_>, call: &'c Call, arguments: &Wanted<'_>) -> Evaluated<Vec<&'c Given>> {
    if call.given.iter().any(|given| given.name.is_some()) {
        return by_name(eval, call, arguments);
    }
    let (plain, wanted) = (call.plain(), arguments.count);
    if plain.len() == wanted {
        return Ok(plain);
    }
    let plural = if wanted == 1 { "" } else { "s" };
    let message = format!("`{}` takes {wanted} argument{plural}, {} given", call.name(), plain.len());
    let example = arguments.example(call);
    let help = match (call.function, plain.len()) {
        (LanguageFunction::Transpose, 2..) => {
            "it exchanges inputs and outputs; a spec exchanges two output axes: `einsum(\"... | i j => ... | j i\", x)`"
                .to_string()
        }
        (function, 0) if wanted == 1 => {
            let name = function.name();
            format!("write `{example}`; without parentheses, `{name}` is a function for a list or `|>`")
        }
        _ => format!("write `{example}`"),
    };
    call::wrong_call(eval, call, message, help)
}

/// The arguments of a call in which some have a name: those without one come first, in their order.
fn by_name<'c>(eval: &mut Eval<'_>, call: &'c Call, arguments: &Wanted<'_>) -> Evaluated<Vec<&'c Given>> {
    let Wanted { count: wanted, names, .. } = *arguments;
    call::only(eval, call, names)?;
    let mut places: Vec<Option<&Given>> = vec![None; wanted.max(call.given.len())];
    call.plain().into_iter().enumerate().for_each(|(at, given)| places[at] = Some(given));
    for given in &call.given {
        let Some(ident) = given.name else { continue };
        let name = eval.names.text(ident.name).to_string();
        let Some(at) = names.iter().position(|known| *known == name) else { return Err(Reported) };
        if places[at].is_some() {
            let message = format!("`{name}` of `{}` is given twice", call.name());
            let help = format!("arguments without a name come first: {}", names.join(", "));
            return eval.wrong(codes::ARGUMENTS, message, ident.span, help);
        }
        places[at] = Some(given);
    }
    let missing = (0..wanted).find(|at| places[*at].is_none());
    match missing {
        None if places.len() == wanted => Ok(places.into_iter().flatten().collect()),
        None => {
            let message = format!("`{}` takes {wanted} arguments, {} given", call.name(), call.given.len());
            call::wrong_call(eval, call, message, format!("write `{}`", arguments.example(call)))
        }
        Some(at) => {
            let message = format!("`{}` has no `{}` here", call.name(), names.get(at).unwrap_or(&"argument"));
            call::wrong_call(eval, call, message, format!("write `{}`", arguments.example(call)))
        }
    }
}

/// A pointwise operation of the library.
fn at_each_point(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let LanguageFunction::Pointwise(operation) = call.function else { return Err(Reported) };
    let names = operation.operand_names();
    let given = so_many(eval, call, &Wanted { count: names.len(), names, example: None })?;
    let known = given.iter().map(|given| match given.value {
        Value::Number(number) => Some(number),
        _ => None,
    });
    if let Some(known) = known.collect::<Option<Vec<f64>>>() {
        return Ok(Value::Number(number(operation, &known)));
    }
    let tensors: Vec<Tensor> =
        given.iter().map(|given| eval.tensor(&given.value, given.span)).collect::<Result<_, _>>()?;
    Ok(Value::Tensor(act::carry_out(eval, Act::Pointwise(operation), &tensors, call.span)?))
}

fn greatest(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    extreme(eval, call, Accumulate::Max, Pointwise::Max)
}

fn least(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    extreme(eval, call, Accumulate::Min, Pointwise::Min)
}

/// `max(a, b)` element by element, or `max("i j => j", x)` over axes, or `max(x)` of all elements.
fn extreme(
    eval: &mut Eval<'_>,
    call: &Call,
    accumulate: Accumulate,
    operation: Pointwise,
) -> Evaluated<Value> {
    let reduces = call.given.iter().filter(|given| !is_padding(eval, given)).count() == 1
        || matches!(call.given.first(), Some(Given { value: Value::Text(_), .. }));
    if reduces {
        return reduced(eval, call, accumulate);
    }
    let example = format!("{0}(a, b)`, or `{0}(\"i j => j\", x)", call.name());
    let [a, b] = exactly_as(eval, call, ["a", "b"], &example)?;
    if let (Value::Number(a), Value::Number(b)) = (&a.value, &b.value) {
        return Ok(Value::Number(number(operation, &[*a, *b])));
    }
    let operands = [eval.tensor(&a.value, a.span)?, eval.tensor(&b.value, b.span)?];
    Ok(Value::Tensor(act::carry_out(eval, Act::Pointwise(operation), &operands, call.span)?))
}

fn choose(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let [condition, a, b] = exactly(eval, call, ["condition", "a", "b"])?;
    if let Value::Number(holds) = condition.value {
        return Ok(if holds != 0.0 { a.value.clone() } else { b.value.clone() });
    }
    let mut operands = Vec::with_capacity(3);
    for given in [condition, a, b] {
        operands.push(eval.tensor(&given.value, given.span)?);
    }
    Ok(Value::Tensor(act::carry_out(eval, Act::Pointwise(Pointwise::Select), &operands, call.span)?))
}

fn reduced(eval: &mut Eval<'_>, call: &Call, accumulate: Accumulate) -> Evaluated<Value> {
    label_sizes::only(eval, call, By::Names, &["padding"])?;
    let padding = padding(eval, call)?;
    let call = with_spec(eval, call)?;
    let operation = Some(match accumulate {
        Accumulate::Sum => OperationId::Sum,
        Accumulate::Product => OperationId::Product,
        Accumulate::Max => OperationId::Greatest,
        Accumulate::Min => OperationId::Least,
    });
    let options = SpecOptions { accumulate, padding, operation, ..SpecOptions::default() };
    let made = eval.by_spec(&call, By::Names, options)?;
    label_sizes::set(eval, made, &call, &["padding"])?;
    Ok(Value::Tensor(made))
}

/// Supplies the spec of a reduction if it is left out: `sum(x)` is over everything.
fn with_spec(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Call> {
    let mut given = call.given.clone();
    let plain: Vec<usize> = (0..given.len()).filter(|at| given[*at].name.is_none()).collect();
    match plain[..] {
        [first, ..] if let Value::Text(_) = &given[first].value => {}
        [first, second]
            if let (Value::Tensor(tensor), Value::Number(axis)) =
                (&given[first].value, &given[second].value) =>
        {
            let message = format!("`{}` takes a spec before the tensor, not an axis behind it", call.name());
            let owner = eval.quote(given[first].span);
            let help = foreign::axis_help(eval, call.name(), *tensor, &owner, Some(*axis));
            return eval.wrong(codes::ARGUMENTS, message, given[second].span, help);
        }
        [only] => {
            let everything = Value::Text("..b.. | ..i.. -> ..o.. =>".into());
            given.insert(only, Given { name: None, value: everything, span: call.span });
        }
        _ => {}
    }
    Ok(Call { function: call.function, given, span: call.span })
}

/// The names of the arguments of `einsum`; others are labels of its spec.
const OF_EINSUM: [&str; 3] = ["reduce", "combine", "padding"];

/// `einsum("i j; j k => i k", a, b, reduce = "max", combine = "+", padding = "valid")`
fn einsum(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    label_sizes::only(eval, call, By::Spec, &OF_EINSUM)?;
    let combines = [("*", Combine::Product), ("+", Combine::Sum), ("where", Combine::Where)];
    let accumulate = one_of(eval, call, "reduce", &ACCUMULATES)?.unwrap_or_default();
    let combine = one_of(eval, call, "combine", &combines)?.unwrap_or_default();
    let padding = padding(eval, call)?;
    let options = SpecOptions { accumulate, combine, padding, ..SpecOptions::default() };
    let made = eval.by_spec(call, By::Spec, options)?;
    label_sizes::set(eval, made, call, &OF_EINSUM)?;
    Ok(Value::Tensor(made))
}

fn is_padding(eval: &Eval<'_>, given: &Given) -> bool {
    given.name.is_some_and(|ident| eval.names.text(ident.name) == "padding")
}

fn padding(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Option<Padding>> {
    let known = [("same", Padding::Padded), ("valid", Padding::Valid), ("drop", Padding::Dropped)];
    one_of(eval, call, "padding", &known)
}

/// An argument that must be one of a few words.
fn one_of<T: Copy>(
    eval: &mut Eval<'_>,
    call: &Call,
    name: &str,
    known: &[(&str, T)],
) -> Evaluated<Option<T>> {
    let Some(given) = call::named(eval, call, name) else { return Ok(None) };
    let text = match &given.value {
        Value::Number(number) => number.to_string(),
        value => {
            let text = eval.words(value, given.span)?;
            if let Some((_, found)) = known.iter().find(|(word, _)| *word == &*text) {
                return Ok(Some(*found));
            }
            format!("\"{text}\"")
        }
    };
    let words: Vec<String> = known.iter().map(|(word, _)| format!("`\"{word}\"`")).collect();
    let message = format!("`{name}` cannot be `{text}`");
    eval.wrong(codes::ARGUMENTS, message, given.span, format!("it is one of {}", words.join(", ")))
}

/// `mean("... | i => ... | 0", x)`: the sum, divided by
/// the sizes of the axes that the result leaves out.
fn mean(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    label_sizes::only(eval, call, By::Names, &[])?;
    let call = &with_spec(eval, call)?;
    let (spec, operands) = eval.spec_and_operands(call, By::Names)?;
    if crate::notation::leaves_out_unnamed(spec.spec()) {
        let message = "`mean` divides by the sizes of the axes that it sums, and `_` has no name";
        let help = "write a label in the place of `_`: `mean(\"i j => j\", x)` divides by the size of `i`";
        let place = call.given.first().map_or(call.span, |given| given.span);
        return eval.wrong(codes::NOTATION, message, place, help);
    }
    let over = crate::notation::left_out(spec.spec()).into();
    let made = act::carry_out(eval, Act::Mean(spec, over), &operands, call.span)?;
    eval.show_as_written(made, call.span, &format!("{}(…)", call.name()));
    label_sizes::set(eval, made, call, &[])?;
    Ok(Value::Tensor(made))
}

fn split(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    label_sizes::only(eval, call, By::Spec, &[])?;
    let (spec, operands) = eval.spec_and_operands(call, By::Spec)?;
    let parts = eval.ask(call.span, |graph| graph.split(&*spec, &operands))?;
    if let Some(first) = parts.first() {
        label_sizes::set(eval, *first, call, &[])?;
    }
    let parts: Vec<Value> = parts.into_iter().map(Value::Tensor).collect();
    Ok(Value::List(parts.into()))
}

fn constant(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let [value] = unnamed(eval, call, "constant(1)")?;
    let value = eval.number(&value.value, value.span)?;
    Ok(Value::Tensor(act::carry_out(eval, Act::Constant(value), &[], call.span)?))
}

/// `range("t ->")`: positions 0, 1, 2, … along the one axis of a shape.
fn range(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let numbers: Option<Vec<f64>> = call.given.iter().map(|given| eval.known(&given.value)).collect();
    if let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty()) {
        let written: Vec<String> = call.given.iter().map(|given| eval.quote(given.span)).collect();
        let (from, to) = match &written[..] {
            [to] => ("0", to.as_str()),
            [from, to, ..] => (from.as_str(), to.as_str()),
            [] => ("0", "10"),
        };
        let message = "`range` takes a shape, as a text; whole numbers one after another are `a..b`";
        let step = if numbers.len() > 2 { ", and multiply by the step" } else { "" };
        let behind = format!("{step}; numbers along an axis are `range(\"{to} |\")`");
        let place = call.whole().filter(|_| step.is_empty());
        let instead = (place, format!("{from}..{to}"));
        return eval.wrong_instead(codes::KIND, message, call.span, instead, &behind);
    }
    let [shape] = unnamed(eval, call, "range(\"8 |\")")?;
    let text = eval.words(&shape.value, shape.span)?;
    let text = eval.filled(&text, shape.span)?;
    let (shape, sizes) = traps::range_shape(eval, &text, shape.span)?;
    let name = eval.fresh_name("range");
    if !sizes.is_empty() {
        eval.no_replay();
    }
    let before = eval.graph.quiet().len();
    let made = eval.ask_quietly(call.span, |graph| {
        let range = graph.range(&name, &*shape)?;
        for (label, size) in sizes {
            let own = graph.captured(range, &label)?;
            graph.set_to(own, &size)?;
        }
        Ok(range)
    })?;
    eval.note_range(shape, made, call.span, before);
    Ok(Value::Tensor(made))
}

/// `params(loss)`: the parameters that a tensor depends on; `params(net)`: those that a layer has made.
fn params(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let [of] = exactly(eval, call, ["loss"])?;
    let params = match &of.value {
        Value::Layer(_) | Value::Inference(_) | Value::List(_) => eval.made_inside(&of.value, of.span)?,
        _ => {
            let of = eval.tensor(&of.value, of.span)?;
            eval.params_of(of)
        }
    };
    Ok(Value::List(params.into_iter().map(Value::Tensor).collect()))
}

fn len(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let [list] = exactly(eval, call, ["list"])?;
    match &list.value {
        Value::List(items) => Ok(Value::Number(items.len() as f64)),
        Value::Range(from, to) => Ok(Value::Number(to.saturating_sub(*from).max(0) as f64)),
        Value::Stream(stream, _) => Ok(Value::Number(eval.plan.streams[*stream].batches() as f64)),
        Value::Mistake => Err(Reported),
        other => {
            needs::note(eval, other, NeedKind::List);
            let message = format!("a list is needed here, not {}", other.kind());
            let help = habits::named_size(eval, &eval.quote(list.span), Some(0), call.span);
            eval.wrong(codes::KIND, message, list.span, help)
        }
    }
}

/// `inference(f)`: the function as it is applied after training.
fn inference(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let [function] = exactly_as(eval, call, ["model"], "inference(model)(x)")?;
    match &function.value {
        Value::Inference(_) => Ok(function.value.clone()),
        value @ (Value::Layer(_) | Value::Builtin(_) | Value::Operation(_) | Value::List(_)) => {
            Ok(Value::Inference(Rc::new(value.clone())))
        }
        Value::Mistake => Err(Reported),
        other => {
            needs::note(eval, other, NeedKind::Function);
            let message = format!("a function is needed here, not {}", other.kind());
            eval.wrong(codes::KIND, message, function.span, "write `inference(model)(x)`")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_of_the_language_is_applied_by_one_row() {
        for function in LanguageFunction::OWN {
            let rows = all().iter().filter(|builtin| builtin.function == *function);
            assert_eq!(rows.count(), 1, "{}", function.name());
        }
        let mut names: Vec<&str> = all().iter().map(Builtin::name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().len());
    }
}
