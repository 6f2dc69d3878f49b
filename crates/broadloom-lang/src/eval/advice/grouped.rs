//! Parentheses in a spec, by which others merge and split axes: `reshape` does that here.

use broadloom::PartialAxis;
use broadloom_spec::Error;

use crate::eval::Eval;
use crate::eval::given::Given;
use crate::row_text;
use crate::suggest::listed;
use crate::value::Value;

/// One axis of a spec as it is written: a label, or several in parentheses.
struct WrittenAxis {
    labels: Vec<String>,
    grouped: bool,
}

/// A shape of a spec: the axes of each kind. In the order batch, input, output.
type Rows = [Vec<WrittenAxis>; 3];

/// Says how axes are merged or split, in place of an error about parentheses.
pub(in crate::eval) fn regroup(eval: &Eval<'_>, spec: &str, error: &mut Error, operands: &[&Given]) {
    let Some((left, result)) = spec.split_once("=>") else { return };
    let first = error.span.start as usize;
    let (message, help) = match first < left.len() {
        true => ("parentheses do not split an axis", split_help(eval, left, first, operands)),
        false => ("parentheses do not merge axes", merge_help(eval, left, result, operands)),
    };
    error.message = message.into();
    error.help = Some(help.into());
    error.rewrite = None;
}

/// Advice for `b | (h d) => …`.
fn split_help(eval: &Eval<'_>, left: &str, first: usize, operands: &[&Given]) -> String {
    let at = left[..first].matches(';').count();
    let (Some(part), Some(given)) = (left.split(';').nth(at), operands.get(at)) else {
        return "write `reshape(x, \"2 | 8, 8\")`, with the numbers of the new axes".into();
    };
    let (mut rows, sizes, owner) = (rows_of(part), sizes_of(eval, given), eval.quote(given.span));
    let any = [0, 1, 2].map(|kind| any_axes(&rows[kind], sizes.as_ref().map(|sizes| &sizes[kind])));
    expand(&mut rows, any);
    let labels: Vec<String> =
        rows.iter().flatten().filter(|item| item.grouped).flat_map(|item| item.labels.clone()).collect();
    let names = listed(&labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>());
    let map = format!("a map makes such axes at once: `{{w : ... -> {}}} @ x`", labels.join(", "));
    let Some(sizes) = sizes.filter(|sizes| fits(&rows, sizes)) else {
        return format!(
            "write `reshape({owner}, \"… | {}\")`, with the whole shape and numbers for {names}; {map}",
            labels.join(", ")
        );
    };
    let whole = rows.iter().flatten().zip(sizes.iter().flatten()).find(|(item, _)| item.grouped);
    let product = whole.map_or(String::new(), |(_, size)| format!(", whose product is {size}"));
    let shape = shape_text(&rows, |kind, at, item| match item.grouped {
        true => item.labels.join(", "),
        false => written(&sizes[kind][at]),
    });
    format!("write `reshape({owner}, \"{shape}\")` with numbers for {names}{product}; {map}")
}

/// Advice for `… => b | (h d)`.
fn merge_help(eval: &Eval<'_>, left: &str, result: &str, operands: &[&Given]) -> String {
    let mut parts: Vec<Rows> = left.split(';').map(rows_of).collect();
    let sizes: Vec<_> = operands.iter().map(|given| sizes_of(eval, given)).collect();
    // `...` is the same axes in each row of a kind.
    let any = [0, 1, 2].map(|kind| {
        let mut known = parts.iter().zip(&sizes);
        known.find_map(|(rows, sizes)| any_axes(&rows[kind], sizes.as_ref().map(|sizes| &sizes[kind])))
    });
    parts.iter_mut().for_each(|rows| expand(rows, any));
    let size_of = |label: &str| {
        parts.iter().zip(&sizes).find_map(|(rows, sizes)| {
            let sizes = sizes.as_ref().filter(|sizes| fits(rows, sizes))?;
            let mut axes = rows.iter().flatten().zip(sizes.iter().flatten());
            axes.find(|(item, _)| item.labels == [label]).map(|(_, size)| size.clone())
        })
    };
    let mut rows = rows_of(result);
    let plain = shape_text(&rows, |_, _, item| item.labels.join(", "));
    let plain = if left.contains(',') { plain } else { plain.replace(',', "") };
    expand(&mut rows, any);
    let shape = shape_text(&rows, |_, _, item| {
        let sizes: Option<Vec<PartialAxis>> = item.labels.iter().map(|label| size_of(label)).collect();
        match sizes.as_deref() {
            Some([size]) => written(size),
            // `_` is a size that is found.
            Some(sizes) => product(sizes).map_or("_".into(), |product| product.to_string()),
            None if item.labels.iter().any(|label| label.starts_with("..")) => "…".into(),
            None => "_".into(),
        }
    });
    let names: Vec<String> = operands.iter().map(|given| eval.quote(given.span)).collect();
    // The elements are in memory as the result has them, or are brought into that order first.
    let same = parts.len() == 1 && in_memory(&parts[0]) == in_memory(&rows);
    let value = match same {
        true => names.join(", "),
        false => format!("einsum(\"{} => {plain}\", {})", left.trim(), names.join(", ")),
    };
    format!("write `reshape({value}, \"{shape}\")`")
}

/// The sizes of the axes of an operand, if its rank is known.
fn sizes_of(eval: &Eval<'_>, given: &Given) -> Option<[Vec<PartialAxis>; 3]> {
    let Value::Tensor(tensor) = given.value else { return None };
    let rows = eval.graph.shape(tensor).rows;
    if rows.iter().any(|row| row.open) {
        return None;
    }
    Some(rows.map(|row| row.lead.into_iter().chain(row.trail).collect()))
}

/// The product of sizes that are numbers.
fn product(axes: &[PartialAxis]) -> Option<u64> {
    axes.iter().try_fold(1_u64, |product, axis| product.checked_mul(axis.size()?))
}

/// An axis in a shape, in which `_` is a size that is found.
fn written(axis: &PartialAxis) -> String {
    if *axis == PartialAxis::Unknown { "_".into() } else { axis.to_string() }
}

/// The axes of a shape in a spec.
fn rows_of(text: &str) -> Rows {
    let [batch, input, output] = row_text::rows(text);
    // Labels side by side are letters.
    let is_word = |pair: &[&str]| pair.iter().all(|word| word.ends_with(char::is_alphanumeric));
    let words: Vec<&str> = text.split([' ', '(', ')']).collect();
    let letters = !text.contains(',') && !words.windows(2).any(is_word);
    [batch, input, output].map(|row| items(row, letters))
}

fn items(row: &str, letters: bool) -> Vec<WrittenAxis> {
    let mut items = Vec::new();
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|letter: char| letter.is_whitespace() || letter == ',');
        let words = words.filter(|word| !word.is_empty());
        words
            .flat_map(|word| match letters && word.chars().all(char::is_alphabetic) {
                true => word.chars().map(String::from).collect(),
                false => vec![word.to_string()],
            })
            .collect()
    };
    for piece in row.split(')') {
        let (plain, group) = piece.split_once('(').unwrap_or((piece, ""));
        items.extend(
            words(plain).into_iter().map(|label| WrittenAxis { labels: vec![label], grouped: false }),
        );
        if !group.is_empty() {
            items.push(WrittenAxis { labels: words(group), grouped: true });
        }
    }
    items
}

/// The number of axes that `...` stands for in a row of an operand, if it is there.
fn any_axes(row: &[WrittenAxis], sizes: Option<&Vec<PartialAxis>>) -> Option<usize> {
    row.iter().find(|item| item.labels == ["..."])?;
    (sizes?.len() + 1).checked_sub(row.len())
}

/// Writes `...` as so many axes, with labels that no spec has.
fn expand(rows: &mut Rows, any: [Option<usize>; 3]) {
    for (kind, row) in rows.iter_mut().enumerate() {
        let (Some(count), Some(at)) = (any[kind], row.iter().position(|item| item.labels == ["..."])) else {
            continue;
        };
        let axis = |at: usize| WrittenAxis { labels: vec![format!("..{kind} {at}")], grouped: false };
        row.splice(at..=at, (0..count).map(axis));
    }
}

/// Returns true if a shape of a spec has as many axes as a tensor.
fn fits(rows: &Rows, sizes: &[Vec<PartialAxis>; 3]) -> bool {
    rows.iter().zip(sizes).all(|(row, sizes)| row.len() == sizes.len())
}

/// The labels in memory order: batch, output, input.
fn in_memory(rows: &Rows) -> Vec<&String> {
    let [batch, input, output] = rows;
    [batch, output, input].into_iter().flatten().flat_map(|item| &item.labels).collect()
}

/// A shape with a text for each axis.
fn shape_text(rows: &Rows, axis: impl Fn(usize, usize, &WrittenAxis) -> String) -> String {
    let row = |kind: usize| {
        let axes = rows[kind].iter().enumerate().map(|(at, item)| axis(kind, at, item));
        axes.collect::<Vec<_>>().join(", ")
    };
    let [batch, input, output] = [0, 1, 2].map(row);
    let batch = if batch.is_empty() { batch } else { format!("{batch} | ") };
    let input = if input.is_empty() { input } else { format!("{input} -> ") };
    format!("{batch}{input}{output}").trim().to_string()
}
