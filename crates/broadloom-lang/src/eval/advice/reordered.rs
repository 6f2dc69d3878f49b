//! Axes that other libraries put into another order, merge or split by a pattern or by numbers: `rearrange(x, "b h w c -> b c h
//! w")`, `x.permute(0, 3, 1, 2)`.
//!
//! A pattern says nothing about batches, so the first labels are those of the batch axes of the tensor, and the result has
//! its batch up to the last of them; where axes are numbered, it has as many batch axes.

use broadloom::{PartialAxis, Tensor};

use crate::eval::Eval;
use crate::eval::advice::call_advice::CallAdvice;
use crate::position::whole;
use crate::syntax::ast::{Arg, ExprKind};

/// One axis of a pattern: a label, or several in parentheses.
type PatternAxis = Vec<String>;

/// Advice for a call that orders axes, with what it is applied to: how it is written here.
pub(in crate::eval) fn written_here(
    eval: &Eval<'_>,
    function: &str,
    (tensor, owner): (Tensor, &str),
    args: &[Arg],
) -> Option<CallAdvice> {
    if let Some(advice) = by_own_spec(eval, function, owner, args) {
        return Some(advice);
    }
    let rows = eval.graph.shape(tensor).rows;
    if rows.iter().any(|row| row.open) || !rows[1].lead.is_empty() {
        return None;
    }
    let axes = rows[0].lead.iter().chain(&rows[2].lead).cloned().collect::<Vec<_>>();
    let batch = rows[0].lead.len();
    let (left, right) = match function {
        "rearrange" | "reduce" => pattern(eval, args)?,
        _ => permutation(eval, function, axes.len(), args)?,
    };
    let stays = !matches!(function, "rearrange" | "reduce");
    let pattern = Pattern { left, right, axes, batch, stays };
    match function {
        "reduce" => {
            let by = args.iter().find_map(|arg| match &eval.frame.file.expr(arg.value).kind {
                ExprKind::Text(text) if !text.contains("->") => Some(text.to_string()),
                _ => None,
            });
            let by = by.filter(|by| ["sum", "mean", "max", "min"].contains(&&**by))?;
            pattern.reduced(owner, &by, &named_sizes(eval, args)).map(CallAdvice::write)
        }
        _ => pattern.arranged(owner, &named_sizes(eval, args)).map(CallAdvice::write),
    }
}

/// Advice for a call with a spec of this language, behind or before the tensor: only the function has another name here.
fn by_own_spec(eval: &Eval<'_>, function: &str, owner: &str, args: &[Arg]) -> Option<CallAdvice> {
    let is_spec = |arg: &&Arg| matches!(&eval.frame.file.expr(arg.value).kind, ExprKind::Text(text) if text.contains("=>"));
    let spec = args.iter().find(is_spec).filter(|_| function == "rearrange")?;
    let spec = eval.quote(eval.span_of(spec.value));
    let sizes = named_sizes(eval, args);
    let sizes: String = sizes.iter().map(|(label, size)| format!(", {label} = {size}")).collect();
    Some(CallAdvice::write(format!("einsum({spec}, {owner}{sizes})")))
}

/// The sides of a pattern that is written as a text.
fn pattern(eval: &Eval<'_>, args: &[Arg]) -> Option<(Vec<PatternAxis>, Vec<PatternAxis>)> {
    let text = args.iter().find_map(|arg| match &eval.frame.file.expr(arg.value).kind {
        ExprKind::Text(text) => text.split_once("->"),
        _ => None,
    })?;
    Some((items(text.0)?, items(text.1)?))
}

/// The sizes that labels of a pattern are given by name.
fn named_sizes(eval: &Eval<'_>, args: &[Arg]) -> Vec<(String, u64)> {
    let size = |arg: &Arg| {
        let name = eval.text(arg.name?.name).to_string();
        Some((name, eval.literal_number(arg.value).and_then(whole)?.try_into().ok()?))
    };
    args.iter().filter_map(size).collect()
}

/// Letters for so many axes, and their order after a function that is given places.
fn permutation(
    eval: &Eval<'_>,
    function: &str,
    count: usize,
    args: &[Arg],
) -> Option<(Vec<PatternAxis>, Vec<PatternAxis>)> {
    let mut places = Vec::new();
    for arg in args {
        match &eval.frame.file.expr(arg.value).kind {
            ExprKind::List(items) => places.extend(items.iter().map(|item| eval.literal_number(*item))),
            _ => places.push(eval.literal_number(arg.value)),
        }
    }
    // What it is applied to may be among them.
    let places = places.into_iter().flatten().filter_map(whole);
    let place = |at: i64| usize::try_from(if at < 0 { at + count as i64 } else { at }).ok();
    let places: Vec<usize> = places.filter_map(place).filter(|at| *at < count).collect();
    let mut order: Vec<usize> = (0..count).collect();
    match (function, &places[..]) {
        ("transpose", []) => order.reverse(),
        ("transpose" | "swapaxes" | "swapdims", &[a, b]) => order.swap(a, b),
        ("moveaxis" | "movedim", &[a, b]) => {
            let axis = order.remove(a);
            order.insert(b, axis);
        }
        ("permute" | "transpose", places) if places.len() == count => order = places.to_vec(),
        _ => return None,
    }
    let mut sorted = order.clone();
    sorted.sort_unstable();
    let letters: Vec<PatternAxis> = ('a'..='z').take(count).map(|letter| vec![letter.to_string()]).collect();
    let is_order = letters.len() == count && sorted.iter().copied().eq(0..count);
    is_order.then(|| (letters.clone(), order.iter().map(|at| letters[*at].clone()).collect()))
}

/// A pattern, and the tensor that it is about.
struct Pattern {
    left: Vec<PatternAxis>,
    right: Vec<PatternAxis>,
    /// The sizes of its axes, batch axes first.
    axes: Vec<PartialAxis>,
    batch: usize,
    /// True if as many axes of the result are batch axes.
    stays: bool,
}

impl Pattern {
    /// The axes of the tensor in the order of the pattern, merged and split as it says.
    fn arranged(&self, owner: &str, named: &[(String, u64)]) -> Option<String> {
        let (left, right) = (self.left.concat(), self.right.concat());
        let is_same = |label: &String| right.contains(label);
        if self.left.len() != self.axes.len() || left.len() != right.len() || !left.iter().all(is_same) {
            return None;
        }
        let sizes = named.iter().filter(|(label, _)| left.contains(label));
        let sizes: String = sizes.map(|(label, size)| format!(", {label} = {size}")).collect();
        Some(format!("einsum(\"{}\", {owner}{sizes})", self.spec(&self.left, &self.right)))
    }

    /// The reduction of the axes that the result leaves out.
    fn reduced(&self, owner: &str, by: &str, named: &[(String, u64)]) -> Option<String> {
        let (left, right) = (self.left.concat(), self.right.concat());
        let fits = self.left.len() == self.axes.len() && right.iter().all(|label| left.contains(label));
        let sizes = named.iter().filter(|(label, _)| left.contains(label));
        let sizes: String = sizes.map(|(label, size)| format!(", {label} = {size}")).collect();
        fits.then(|| format!("{by}(\"{}\", {owner}{sizes})", self.spec(&self.left, &self.right)))
    }

    fn spec(&self, left: &[PatternAxis], right: &[PatternAxis]) -> String {
        let is_word = |label: &String| label.chars().count() > 1;
        let between = if left.iter().flatten().any(is_word) { ", " } else { " " };
        let axis = |item: &PatternAxis| match &item[..] {
            [label] => label.clone(),
            labels => format!("({})", labels.join(" ")),
        };
        let side = |items: &[PatternAxis]| {
            rows(&items.iter().map(axis).collect::<Vec<_>>(), self.batch_of(items), between)
        };
        format!("{} => {}", side(left), side(right))
    }

    /// The number of axes before `|`: up to the last with a label of a batch axis.
    fn batch_of(&self, items: &[PatternAxis]) -> usize {
        if self.stays {
            return self.batch;
        }
        let batch = self.left[..self.batch].concat();
        let is_batch = |item: &PatternAxis| item.iter().any(|label| batch.contains(label));
        items.iter().rposition(is_batch).map_or(0, |last| last + 1)
    }
}

/// Axes with `|` behind so many of them.
fn rows(axes: &[String], batch: usize, between: &str) -> String {
    let (before, behind) = axes.split_at(batch.min(axes.len()));
    match batch {
        0 => behind.join(between),
        _ => format!("{} | {}", before.join(between), behind.join(between)).trim_end().to_string(),
    }
}

/// The axes of one side of a pattern; nothing if it has something else than labels and groups of them.
fn items(side: &str) -> Option<Vec<PatternAxis>> {
    let mut items: Vec<PatternAxis> = Vec::new();
    for piece in side.split(')') {
        let (plain, group) =
            piece.split_once('(').map_or((piece, None), |(plain, group)| (plain, Some(group)));
        items.extend(plain.split_whitespace().map(|label| vec![label.to_string()]));
        items
            .extend(group.map(|group| group.split_whitespace().map(str::to_string).collect::<PatternAxis>()));
    }
    let is_label =
        |label: &String| label.starts_with(char::is_alphabetic) && label.chars().all(char::is_alphanumeric);
    items.iter().flatten().all(is_label).then_some(items)
}
