//! `load("model.safetensors", into = net, names = […])`: weights from a file as the first values of parameters.
//!
//! It is a call like others and not a statement of its own, so that the names are a list: they can be bound to a name, made
//! by a comprehension, and imported from a module.

use broadloom::Tensor;
use broadloom_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashSet;

use super::{Eval, Evaluated, call};
use crate::codes;
use crate::eval::given::{Call, Given};
use crate::syntax::ast::ExprKind;
use crate::value::Value;
use crate::weights::{Line, Load};

/// Notes that parameters begin with weights of a file, which is read when all shapes are known.
pub(crate) fn load_weights(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    call::only(eval, call, &["into", "names"])?;
    let named = |eval: &Eval<'_>, name: &str| {
        let is_it = |given: &&Given| given.name.is_some_and(|ident| eval.text(ident.name) == name);
        call.given.iter().find(is_it).cloned()
    };
    let Some(into) = named(eval, "into") else {
        let message = "`names` say what arrays are called in a model";
        return eval.wrong(codes::ARGUMENTS, message, call.span, "say into which: `into = net`");
    };
    if !eval.parameters_in(&into.value, &mut FxHashSet::default()) {
        let message = format!("weights are loaded into a layer, not into {}", into.value.kind());
        let help = "write the name of a layer, `let net = linear(10)`, of a parameter, or a list of them";
        return eval.wrong(codes::KIND, message, into.span, help);
    }
    let (file, span) = match call.plain()[..] {
        [] => (None, call.span),
        [path] => {
            let text = eval.words(&path.value, path.span)?;
            let text = eval.filled(&text, path.span)?;
            (Some((eval.frame.folder.join(&text), text)), path.span)
        }
        [_, second, ..] => {
            let message = "weights of a whole file are loaded into a model";
            return eval.wrong(
                codes::ARGUMENTS,
                message,
                second.span,
                "say which arrays are meant by `names`",
            );
        }
    };
    let lines = match named(eval, "names") {
        Some(names) => lines(eval, &names)?,
        None => Vec::new(),
    };
    let into_text = (eval.place(into.span), eval.quote(into.span));
    let load = Load { file, params: Vec::new(), lines, into: into_text, span: eval.place(span) };
    // A body that is walked aside makes no parameters of the program.
    if eval.aside.is_none() {
        eval.weights.push((into.value, load));
    }
    Ok(Value::Nothing)
}

/// Reads the lines that say which arrays are which parameters: a list of texts, and of lists of them.
fn lines(eval: &mut Eval<'_>, names: &Given) -> Evaluated<Vec<(Line, String, Span)>> {
    let Value::List(items) = &names.value else {
        let message = format!("a list of texts is needed here, not {}", names.value.kind());
        let help = "write `names = [\"wte.weight -> words.table\", …]`";
        return eval.wrong(codes::KIND, message, names.span, help);
    };
    let spans = item_spans(eval, names.span, items.len());
    let mut lines = Vec::new();
    let mut waiting: Vec<(Value, Span)> = items.iter().cloned().zip(spans).rev().collect();
    while let Some((item, span)) = waiting.pop() {
        if let Value::List(inner) = &item {
            waiting.extend(inner.iter().rev().map(|item| (item.clone(), span)));
            continue;
        }
        let text = eval.words(&item, span)?;
        let text = text.to_string();
        match Line::read(&text) {
            Ok(line) => lines.push((line, text, eval.place(span))),
            Err(wrong) => {
                let message = format!("{wrong}: `{text}`");
                let help = "write `h.*.mlp.weight -> blocks.*.feed.weight by i o => i -> o`; `-> _` leaves arrays out";
                return eval
                    .fail(Diagnostic::error(codes::NOTATION, message, eval.place(span), "").with_help(help));
            }
        }
    }
    Ok(lines)
}

/// The spans of the items of a list; all the same if the list is not written there.
pub(super) fn item_spans(eval: &Eval<'_>, list: Span, count: usize) -> Vec<Span> {
    let written = eval.frame.file.exprs.iter().find_map(|expr| match &expr.kind {
        ExprKind::List(items) if expr.span == list && items.len() == count => Some(items),
        _ => None,
    });
    match written {
        Some(items) => items.iter().map(|item| eval.span_of(*item)).collect(),
        None => vec![list; count],
    }
}

/// The statements that load weights, with all parameters that were made in the end.
pub(crate) fn loads(eval: &mut Eval<'_>) -> Vec<Load> {
    let weights = std::mem::take(&mut eval.weights);
    let params = |eval: &Eval<'_>, value: &Value| {
        let mut made = FxHashSet::default();
        eval.parameters_in(value, &mut made);
        let mut made: Vec<Tensor> = made.into_iter().collect();
        made.sort();
        let prefix = path_of(value);
        let name = |tensor: Tensor| {
            let full = eval.graph.name_of(tensor).unwrap_or_default();
            let own = prefix.as_ref().and_then(|prefix| full.strip_prefix(prefix.as_str()));
            (own.and_then(|own| own.strip_prefix('.')).unwrap_or(full).to_string(), tensor)
        };
        made.into_iter().map(name).collect()
    };
    weights.into_iter().map(|(value, load)| Load { params: params(eval, &value), ..load }).collect()
}

/// The path of a layer, with which the names of its parameters begin.
fn path_of(value: &Value) -> Option<String> {
    match value {
        Value::Layer(layer) => layer.kept.path.borrow().as_ref().map(ToString::to_string),
        Value::Inference(inner) => path_of(inner),
        _ => None,
    }
}
