//! Names in the signature of a function of the library that would have to be two sizes, because of what it is given.
//!
//! `attention` takes `x : ..b.., s | ..m..` and `memory : ..b.., t | ..o..`. Given `4, 20 | 64` and `16, 30 | 64`, it refuses
//! them somewhere in its body; the reason is that `..b..` is 4 in one and 16 in the other, which needs no line of the library.

use broadloom::{Error, Node, PartialAxis, Tensor};
use broadloom_diagnostics::{Diagnostic, Fact, Help, Role, Wording};

use crate::eval::Eval;
use crate::signature::SignatureArgument;
use crate::suggest::listed;
use crate::value::{Scope, Value};

/// The names of rows and their order in a shape of the graph: batch, input, output.
const ROWS: [&str; 3] = ["batch", "input", "output"];

/// The same for several tensors.
const ROWS_TOGETHER: [&str; 3] = ["batches", "inputs", "outputs"];

/// The sizes that a name of a signature has in one argument.
struct Stands {
    name: String,
    /// True if the name stands for any number of axes.
    is_many: bool,
    /// The row, as a place in [`ROWS`].
    row: usize,
    /// The first axis that it stands for.
    first: usize,
    sizes: Vec<u64>,
    tensor: Tensor,
}

impl Stands {
    /// Returns true if it stands for any number of axes, or for the last batch axis.
    fn is_row(&self) -> bool {
        self.row == 0 || self.is_many
    }
}

/// A name of a signature that would have to be two things.
pub(in crate::eval) struct Clash {
    /// All that the name stands for, in the order of the arguments; the first is the one that others differ from.
    all: Vec<Stands>,
    /// The place of the first that differs.
    other: usize,
}

impl Clash {
    fn sides(&self) -> [&Stands; 2] {
        [&self.all[0], &self.all[self.other]]
    }

    fn is_batch(&self) -> bool {
        self.sides().iter().all(|side| side.row == 0)
    }

    /// The first place where the two sides differ.
    fn at(&self) -> usize {
        let [a, b] = self.sides();
        a.sizes.iter().zip(&b.sizes).position(|(a, b)| a != b).unwrap_or(0)
    }

    fn differing(&self) -> [u64; 2] {
        self.sides().map(|side| side.sizes[self.at()])
    }
}

/// The first name of a signature that stands for different sizes in the arguments.
pub(in crate::eval) fn clash(
    eval: &Eval<'_>,
    arguments: &[SignatureArgument],
    scope: &Scope,
) -> Option<Clash> {
    let stands: Vec<Stands> =
        arguments.iter().filter_map(|each| stands(eval, each, scope)).flatten().collect();
    let differ = |a: &Stands, b: &Stands| {
        a.name == b.name && a.tensor != b.tensor && a.sizes.len() == b.sizes.len() && a.sizes != b.sizes
    };
    let name = stands
        .iter()
        .enumerate()
        .find(|(at, a)| stands[at + 1..].iter().any(|b| differ(a, b)))
        .map(|(_, a)| a.name.clone())?;
    let all: Vec<Stands> = stands.into_iter().filter(|each| each.name == name).collect();
    let other = all.iter().position(|b| differ(&all[0], b))?;
    Some(Clash { all, other })
}

/// The meanings of the names in the shape of an argument, as far as they are known.
fn stands(eval: &Eval<'_>, argument: &SignatureArgument, scope: &Scope) -> Option<Vec<Stands>> {
    let Value::Tensor(tensor) = scope.own(eval.names.find(&argument.name)?)? else { return None };
    let given = eval.graph.shape(tensor);
    let mut found = Vec::new();
    let rows = argument.rows()?;
    for (row, (entries, axes)) in rows.iter().zip(&given.rows).enumerate() {
        let sizes: Option<Vec<u64>> = axes.lead.iter().map(PartialAxis::size).collect();
        let Some(sizes) = sizes.filter(|_| !axes.open && axes.trail.is_empty()) else { continue };
        let several = entries.iter().position(|entry| entry.is_row);
        let Some(more) = (sizes.len() + usize::from(several.is_some())).checked_sub(entries.len()) else {
            continue;
        };
        let mut first = 0;
        for (at, entry) in entries.iter().enumerate() {
            let count = if Some(at) == several { more } else { 1 };
            let Some(own) = sizes.get(first..first + count) else { break };
            if entry.is_name {
                let (name, is_many) = (entry.text.clone(), entry.is_row);
                found.push(Stands { name, is_many, row, first, sizes: own.to_vec(), tensor });
            }
            first += count;
        }
    }
    Some(found)
}

/// Says of an error inside of a function which arguments do not fit each other.
pub(in crate::eval) fn clashing(
    eval: &Eval<'_>,
    mut diagnostic: Diagnostic,
    error: &Error,
    (function, clash): (&str, &Clash),
) -> Diagnostic {
    let [a, b] = clash.sides();
    let [first, second] = clash.differing();
    let [left, right] = clash.sides().map(|side| eval.graph.message_name(side.tensor));
    diagnostic.message = match ROWS_TOGETHER.get(a.row).filter(|_| a.row == b.row && a.is_row()) {
        Some(rows) => format!("the {rows} of `{left}` and `{right}` do not agree: {first} and {second}"),
        None => format!("`{}` of `{function}` cannot be both {first} and {second}", a.name),
    };
    diagnostic.facts = vec![Fact::Sizes([first, second])];
    // An axis of something that the body has made is not one that its user knows.
    let is_known = |tensor: Tensor| !eval.graph.message_name(tensor).contains('.');
    let is_shown = |size: u64| {
        let ends = diagnostic.labels.iter().filter_map(|label| match label.role {
            Role::End(number) => error.ends().get(number),
            _ => None,
        });
        let mut of_size = ends.filter(|end| end.size == Some(size) && end.reason.is_some());
        of_size.any(|end| end.tensor.is_none_or(is_known))
    };
    if !is_shown(first) || !is_shown(second) {
        diagnostic.labels.retain(|label| label.primary);
        diagnostic.labels.iter_mut().for_each(|label| label.text.clear());
        for (side, size) in [a, b].into_iter().zip([first, second]) {
            diagnostic = with_side(eval, diagnostic, side, clash.at(), size);
        }
    }
    // Operands that are matched axis by axis have advice of their own.
    if clash.is_batch() || !a.is_row() || diagnostic.help.is_empty() {
        diagnostic.help = vec![clash_advice(eval, function, clash)];
    }
    diagnostic
}

/// Shows an argument where it was made.
fn with_side(eval: &Eval<'_>, diagnostic: Diagnostic, side: &Stands, at: usize, size: u64) -> Diagnostic {
    let made = eval.where_made(&Value::Tensor(side.tensor)).or_else(|| {
        let step = eval.graph.step_of(side.tensor)?;
        eval.origins.get(step).map(|origin| origin.span)
    });
    let Some(made) = made.filter(|made| !eval.library.contains(&made.source)) else { return diagnostic };
    let count = eval.graph.shape(side.tensor).rows[side.row].lead.len();
    let axis = match count {
        1 => format!("the {} axis", ROWS[side.row]),
        _ => format!("{} axis {}", ROWS[side.row], side.first + at + 1),
    };
    let text = format!("{size} because of {axis} of `{}`", eval.graph.message_name(side.tensor));
    match diagnostic.labels.iter().any(|label| label.span == made) {
        true => diagnostic.with_note(text),
        false => diagnostic.with_label(made, text),
    }
}

/// Says what to change.
fn clash_advice(eval: &Eval<'_>, function: &str, clash: &Clash) -> Help {
    let [a, b] = clash.sides();
    if let ([s, t], [u, v]) = (&batch(eval, a.tensor)[..], &batch(eval, b.tensor)[..])
        && clash.is_batch()
        && (s, t) == (v, u)
    {
        let [a, b] = [a, b].map(|side| eval.graph.message_name(side.tensor));
        return Wording::new("the batch of `")
            .name(a)
            .words(format!("` is `{s}, {t}`, and that of `"))
            .name(&b)
            .words(format!(
                "` is `{u}, {v}`, the same axes in another order: exchange them, `einsum(\"s t | ... => t s | ...\", "
            ))
            .name(&b)
            .words(")`")
            .into();
    }
    let [first, second] = clash.differing();
    let is_shifted = function.starts_with("cross_entropy") && first.abs_diff(second) == 1;
    if let Some(advice) = given_before(eval, function, clash).filter(|_| !is_shifted) {
        return advice.into();
    }
    let both = if clash.all.len() > 2 { "all" } else { "both" };
    let change = format!("make {both} {first} or {both} {second}");
    if !clash.is_batch() {
        return Help::rule(change);
    }
    let batch =
        |side: &Stands| batch(eval, side.tensor).iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    // A list of names is a name of its own: each path in it is written as it is called there.
    let owners = |of: &Stands| {
        let same = clash.all.iter().filter(|each| each.sizes == of.sizes);
        listed(&same.map(|each| format!("`{}`", eval.graph.message_name(each.tensor))).collect::<Vec<_>>())
    };
    let end = match is_shifted {
        true => {
            "; `next_token_loss(logits, tokens)` compares each position with the next token by itself".into()
        }
        false => format!(": {change}"),
    };
    Wording::new(format!("{both} have the same examples: the batch of "))
        .name(owners(a))
        .words(format!(" is `{}`, and that of ", batch(a)))
        .name(owners(b))
        .words(format!(" is `{}`{end}", batch(b)))
        .into()
}

/// Advice for an argument that is cut from a tensor which would fit itself.
fn given_before(eval: &Eval<'_>, function: &str, clash: &Clash) -> Option<Wording> {
    let [a, b] = clash.sides();
    let [first, second] = clash.differing();
    let (cut, other) = if first < second { (a, b) } else { (b, a) };
    let Some(Node::Operation { operands: &[whole], .. }) = eval.graph.node(cut.tensor) else {
        return None;
    };
    let sizes = |tensor: Tensor, side: &Stands| -> Option<Vec<u64>> {
        let row = &eval.graph.shape(tensor).rows[side.row];
        let sizes: Option<Vec<u64>> = row.lead.iter().map(PartialAxis::size).collect();
        sizes.filter(|sizes| !row.open && sizes.len() == row.lead.len())
    };
    let (own, before) = (sizes(cut.tensor, cut)?, sizes(whole, cut)?);
    let fits = before.len() == own.len()
        && before.get(cut.first..cut.first + other.sizes.len()) == Some(&other.sizes[..]);
    let [cut, whole] = [cut.tensor, whole].map(|tensor| eval.graph.message_name(tensor));
    let shifts = match function {
        "next_token_loss" => "it compares each position with the next token by itself: ",
        _ => "",
    };
    fits.then(|| {
        Wording::new(format!("{shifts}write `"))
            .name(whole)
            .words("`, from which `")
            .name(&cut)
            .words("` is cut, in place of `")
            .name(&cut)
            .words("`")
    })
}

/// The batch of a tensor, as far as its sizes are known.
fn batch(eval: &Eval<'_>, tensor: Tensor) -> Vec<u64> {
    let row = &eval.graph.shape(tensor).rows[0];
    row.lead.iter().filter_map(PartialAxis::size).collect()
}
