//! `batches`: streams of data, and the data that takes its values from one.

use std::sync::Arc;

use broadloom::{Array, Dtype, Tensor};
use broadloom_diagnostics::Span;
use broadloom_spec::{ShapeBuilder, WrittenShape};

use super::declared::Declared;
use super::{Eval, Evaluated, Reported, call, dim, written};
use crate::codes;
use crate::eval::given::{Call, Given};
use crate::stream::{HAS_STREAMS, Part, PartFrom, Stream};
use crate::suggest;
use crate::syntax::ast::Ident;
use crate::value::Value;

const EXAMPLE: &str = "write `batches(\"train.npz\", size = 32, shuffle = true)`";

/// `batches("train.npz", size = 32, shuffle = true, of = ["x", "y"])`
pub(crate) fn batches(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    if !HAS_STREAMS {
        let message = "a page has no files that data could be streamed from";
        return call::wrong_call(eval, call, message, "run the program with the command: `broadloom run`");
    }
    call::only(eval, call, &["size", "shuffle", "of"])?;
    let plain = call.plain();
    let named = call::named(eval, call, "size");
    let (source, size) = match (&plain[..], named) {
        ([source], Some(size)) => (*source, size),
        ([source, size], None) => (*source, *size),
        _ => {
            let message = "`batches` takes a file or an array, and the number of rows in a batch";
            return call::wrong_call(eval, call, message, EXAMPLE);
        }
    };
    let (size, named) = batch_size(eval, size)?;
    let shuffled = match call::named(eval, call, "shuffle") {
        Some(given) => eval.number(&given.value, given.span)? != 0.0,
        None => false,
    };
    let (name, mut arrays) = parts(eval, source)?;
    if let Some(of) = call::named(eval, call, "of") {
        arrays = chosen(eval, of, arrays, &name)?;
    }
    let rows = rows_of_all(eval, &arrays, &name, source.span)?;
    let rest = rows % size;
    // The last batch may be smaller if its size has a range that has smaller sizes.
    let smaller_last = named.as_ref().is_some_and(|(_, least)| rest >= *least);
    if rows < size && !smaller_last {
        let message = format!("a batch of {size} rows is more than the {rows} that there are in {name}");
        return eval.wrong(codes::VALUE, message, call.span, "write a smaller size");
    }
    let span = eval.place(call.span);
    let named = named.map(|(name, _)| name);
    let stream = Stream { name, arrays, rows, size, shuffled, smaller_last, named, data: Vec::new(), span };
    eval.plan.streams.push(stream);
    Ok(Value::Stream(eval.plan.streams.len() - 1, None))
}

/// The number of rows in a batch; if it is a named size that has no number yet, its name and its least size, too.
fn batch_size(eval: &mut Eval<'_>, given: &Given) -> Evaluated<(u64, Option<(String, u64)>)> {
    if let Value::Size(size) = &given.value
        && let Some(name) = dim::dim_name(eval, size)
        && let Some(at) = eval.ranged.get(&name).copied()
        && size.captured().into_iter().all(|captured| eval.graph.size(captured).is_none())
    {
        let least = eval.dims[at].range.map_or(1, |(least, _)| least.max(1));
        return Ok((eval.dims[at].size, Some((name, least))));
    }
    Ok((dim::size_of(eval, &given.value, given.span)?, None))
}

/// The arrays of files, or an array of the program, and words for them.
fn parts(eval: &mut Eval<'_>, source: &Given) -> Evaluated<(String, Vec<Part>)> {
    let texts = |items: &[Value]| -> Option<Vec<std::rc::Rc<str>>> {
        let text = |item: &Value| if let Value::Text(text) = item { Some(text.clone()) } else { None };
        items.iter().map(text).collect()
    };
    let paths = match &source.value {
        Value::Text(path) => Some(vec![path.clone()]),
        Value::List(items) if !items.is_empty() => texts(items),
        Value::Open | Value::OpenNumber(_) | Value::Mistake => return Err(Reported),
        _ => None,
    };
    let Some(paths) = paths else {
        let array = match &source.value {
            Value::Array(array) => array.clone(),
            value => std::rc::Rc::new(written::array(eval, value, None, source.span)?),
        };
        let dtype = matches!(source.value, Value::Array(_)).then(|| array.dtype());
        return Ok(("these rows".into(), vec![in_memory(&array, dtype)]));
    };
    let (mut words, mut parts) = (Vec::new(), Vec::new());
    for path in &paths {
        let text = eval.filled(path, source.span)?;
        let mut found = file_parts(eval, &text, source.span)?;
        // Of several files, an array without a name has the name of its file.
        if paths.len() > 1 {
            let stem = std::path::Path::new(&text).file_stem().unwrap_or_default().to_string_lossy();
            found
                .iter_mut()
                .filter(|part| part.name.is_empty())
                .for_each(|part| part.name = stem.to_string());
        }
        parts.extend(found);
        words.push(text);
    }
    let twice =
        parts.iter().enumerate().find(|(at, part)| parts[..*at].iter().any(|other| other.name == part.name));
    if let Some((_, part)) = twice {
        let message = format!("there are two arrays called `{}` in these files", part.name);
        return eval.wrong(codes::FILE, message, source.span, "give their files other names");
    }
    Ok((words.join(", "), parts))
}

#[cfg(not(target_family = "wasm"))]
fn file_parts(eval: &mut Eval<'_>, text: &str, span: Span) -> Evaluated<Vec<Part>> {
    let path = eval.folder().join(text);
    eval.data_files.push((path.clone(), super::loaded::stamp(&path)));
    let file = match broadloom::files::OpenRows::open(path) {
        Ok(file) => Arc::new(file),
        Err(error) => return crate::eval::load::unreadable(eval, text, &error, span),
    };
    let part = |(at, rows): (usize, &broadloom::files::Rows)| Part {
        name: rows.name.clone(),
        sizes: rows.sizes.clone(),
        dtype: rows.dtype,
        from: PartFrom::File(file.clone(), at),
    };
    Ok(file.arrays().iter().enumerate().map(part).collect())
}

#[cfg(target_family = "wasm")]
fn file_parts(eval: &mut Eval<'_>, text: &str, span: Span) -> Evaluated<Vec<Part>> {
    eval.wrong(codes::FILE, format!("there is no file `{text}`"), span, "")
}

/// `of = ["x", "y"]`
fn chosen(eval: &mut Eval<'_>, of: &Given, arrays: Vec<Part>, name: &str) -> Evaluated<Vec<Part>> {
    let items = match &of.value {
        Value::List(items) => items.to_vec(),
        one => vec![one.clone()],
    };
    let mut chosen = Vec::new();
    for item in &items {
        let wanted = eval.words(item, of.span)?;
        match arrays.iter().find(|part| part.name == *wanted) {
            Some(part) => chosen.push(part.clone()),
            None => {
                let message = format!("{name} has no array `{wanted}`");
                return eval.wrong(codes::FILE, message, of.span, there_is(&arrays, &wanted));
            }
        }
    }
    Ok(chosen)
}

/// The number of rows, which is the same for all arrays.
fn rows_of_all(eval: &mut Eval<'_>, arrays: &[Part], name: &str, span: Span) -> Evaluated<u64> {
    if let Some(part) = arrays.iter().find(|part| part.sizes.is_empty()) {
        if part.name.is_empty() {
            let message = "a single number has no rows";
            return eval.wrong(codes::VALUE, message, span, "write a list, `[1, 2, 3]`, or a file");
        }
        let message = format!("`{}` is a single number, which has no rows", part.name);
        return eval.wrong(
            codes::VALUE,
            message,
            span,
            "name the arrays that are meant: `of = [\"x\", \"y\"]`",
        );
    }
    let Some(first) = arrays.first() else {
        return eval.wrong(codes::FILE, format!("there is no array in {name}"), span, "");
    };
    let rows = first.sizes[0];
    if let Some(other) = arrays.iter().find(|part| part.sizes[0] != rows) {
        let message = format!(
            "`{}` has {rows} rows and `{}` has {}, so that they are not rows of the same examples",
            first.name, other.name, other.sizes[0]
        );
        let alike = arrays.iter().filter(|part| part.sizes[0] == rows);
        let alike: Vec<String> = alike.map(|part| format!("\"{}\"", part.name)).collect();
        let help = format!("say which belong together: `of = [{}]`", alike.join(", "));
        return eval.wrong(codes::VALUE, message, span, help);
    }
    if rows == 0 {
        return eval.wrong(codes::VALUE, format!("there are no rows in {name}"), span, "");
    }
    Ok(rows)
}

/// `train.x`: an array of a stream.
pub(super) fn array_of_stream(eval: &mut Eval<'_>, stream: usize, field: Ident) -> Evaluated<Value> {
    let text = eval.names.text(field.name).to_string();
    let arrays = &eval.plan.streams[stream].arrays;
    match arrays.iter().position(|part| part.name == text) {
        Some(at) => Ok(Value::Stream(stream, Some(at))),
        None => {
            let help = there_is(arrays, &text);
            eval.wrong(codes::FIELD, format!("no array of this stream is called `{text}`"), field.span, help)
        }
    }
}

/// Data that has a batch of a stream at a time. Its first axis is a batch axis unless its shape says otherwise.
pub(super) fn streamed(
    eval: &mut Eval<'_>,
    name: &str,
    declared: Option<&Declared>,
    (stream, array): (usize, Option<usize>),
    dtype: Option<Dtype>,
    (span, at): (Span, Span),
) -> Evaluated<Tensor> {
    let of = &eval.plan.streams[stream];
    // The whole of a file has no name.
    let only = |part: &Part| of.arrays.len() == 1 || part.name.is_empty();
    let Some(array) = array.or_else(|| of.arrays.iter().position(only)) else {
        let message = "this stream has several arrays";
        let (first, all) = (of.arrays[0].name.clone(), there_is(&of.arrays, ""));
        let help = match eval.quote(at) {
            stream if !stream.contains('(') => {
                format!("say which one is `{name}`: `data {name} = {stream}.{first}`; {all}")
            }
            _ => format!(
                "give the stream a name, `let train = batches(…)`, and say which one is `{name}`: `data {name} = train.{first}`; {all}"
            ),
        };
        return eval.wrong(codes::KIND, message, at, help);
    };
    let (part, size, named) = (of.arrays[array].clone(), of.size, of.named.clone());
    let row = part.sizes[1..].to_vec();
    let own = shape_of_batch(named.as_deref(), size, &row);
    let shape = declared.map_or(&own, |declared| &*declared.shape);
    let made = eval.ask(span, |graph| match &named {
        Some(rows) => graph.data_in_batches(name, shape, rows, &row),
        None => graph.data_with_axes(name, shape, &[&[size][..], &row].concat()),
    });
    let tensor = eval.at_values(made, &[&[size][..], &row].concat(), (span, at))?;
    if let Some(dtype) = dtype.or(part.dtype) {
        eval.ask(span, |graph| graph.set_precision(tensor, dtype))?;
    }
    eval.plan.streams[stream].data.push((tensor, array));
    Ok(tensor)
}

/// The shape of rows that come a number at a time, which may have a name.
fn shape_of_batch(named: Option<&str>, size: u64, row: &[u64]) -> WrittenShape {
    let mut shape = ShapeBuilder::new();
    match named {
        Some(name) => shape.name(name),
        None => shape.size(size),
    };
    shape.bar();
    for size in row {
        shape.size(*size);
    }
    shape.finish()
}

/// An array of the program as a part of a stream.
fn in_memory(array: &Array, dtype: Option<Dtype>) -> Part {
    let from = PartFrom::Memory(Arc::new(array.clone()));
    Part { name: String::new(), sizes: array.sizes().to_vec(), dtype, from }
}

/// The arrays that there are, and the one that is probably meant.
fn there_is(arrays: &[Part], wanted: &str) -> String {
    let names = arrays.iter().map(|part| part.name.as_str()).filter(|name| !name.is_empty());
    let all: Vec<String> = names.clone().map(|name| format!("`{name}`")).collect();
    match (suggest::nearest(wanted, names), all.is_empty()) {
        (_, true) => "there is one, without a name: leave the field out".into(),
        (Some(near), _) => format!("did you mean `{near}`? there is {}", suggest::listed(&all)),
        (None, _) => format!("there is {}", suggest::listed(&all)),
    }
}
