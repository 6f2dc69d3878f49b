//! Attention with several heads.

use broadloom_graph::Error;
use broadloom_spec::ShapeBuilder;

use super::{Rotary, softmax};
use crate::{Builder, Expr, Graph, Tensor};

/// The value of a score that is not to count: its exponential is 0.
const NEVER: f64 = -1e30;

/// The sizes of attention.
///
/// ```
/// use broadloom::blocks::AttentionSizes;
/// let sizes = AttentionSizes { heads: 8, head_size: Some(64) };
/// assert_eq!(AttentionSizes::from(8), AttentionSizes { heads: 8, head_size: None });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AttentionSizes {
    /// The number of heads.
    pub heads: u64,
    /// The size of each head; by default the heads divide the width of the sequence that they read.
    pub head_size: Option<u64>,
}

impl From<u64> for AttentionSizes {
    fn from(heads: u64) -> AttentionSizes {
        AttentionSizes { heads, head_size: None }
    }
}

/// The positions that each position sees.
#[derive(Clone, Copy, Debug, Default)]
pub enum Mask<'b> {
    /// Each position sees all.
    #[default]
    Nothing,
    /// Each position sees itself and those before it.
    Causal,
    /// Position `s` sees `t` where this, `... s | t ->`, is not 0. Each must see at least one.
    Where(Expr<'b>),
}

/// Attention, made by [`multi_head_attention`].
#[derive(Clone, Copy, Debug)]
pub struct Attention<'b> {
    /// `..m.. -> h, d`.
    pub query: Expr<'b>,
    /// `..n.. -> h, d`.
    pub key: Expr<'b>,
    /// `..n.. -> h, d`.
    pub value: Expr<'b>,
    /// `h, d -> ..m..`.
    pub out: Expr<'b>,
    /// The rotation of queries and keys by their positions, if there is one.
    pub rotary: Option<Rotary>,
    sizes: AttentionSizes,
}

/// The result of attention.
#[derive(Clone, Copy, Debug)]
pub struct Attended<'b> {
    /// The result, `... s | ..m..`.
    pub output: Expr<'b>,
    /// The share of position `t` in position `s`, for each head: `... s | t -> h`.
    pub probabilities: Expr<'b>,
}

/// Attention with several heads (Vaswani et al., *Attention Is All You Need*).
///
/// ```text
/// q = Wq·x, k = Wk·m, v = Wv·m
/// p = softmax over t of q[s, h]·k[t, h] / √d
/// y[s] = Wo · Σ p[s, t, h]·v[t, h]
/// ```
///
/// `x` is a sequence `... s | ..m..`, and so is the memory `m`; in self-attention they are the same. The result is as wide as
/// `x`. Heads are an axis of their own: nothing is reshaped.
///
/// ```
/// use broadloom::Builder;
/// use broadloom::blocks::{Mask, multi_head_attention};
/// let b = Builder::new();
/// let attention = multi_head_attention(&b, "attention", 4);
/// let x = b.data("x", "2, 8 | 64");
/// let y = attention.apply(x, Mask::Causal).tensor();
/// let (query, out) = (attention.query.tensor(), attention.out.tensor());
/// let mut g = b.finish()?;
/// assert_eq!(g.final_shape(y)?.to_string(), "2, 8 | 64");
/// assert_eq!(g.final_shape(query)?.to_string(), "64 -> 4, 16");
/// assert_eq!(g.final_shape(out)?.to_string(), "4, 16 -> 64");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn multi_head_attention<'b>(
    b: &'b Builder,
    name: &str,
    sizes: impl Into<AttentionSizes>,
) -> Attention<'b> {
    let _scope = b.open(name);
    let sizes = sizes.into();
    let (heads, head_size) = (sizes.heads, sizes.head_size);
    let inwards = ShapeBuilder::new().rest().arrow().size(heads).size_or_name(head_size, "d").finish();
    let outwards = ShapeBuilder::new().size(heads).size_or_name(head_size, "d").arrow().rest().finish();
    Attention {
        query: b.param_shaped("query", &inwards),
        key: b.param_shaped("key", &inwards),
        value: b.param_shaped("value", &inwards),
        out: b.param_shaped("out", &outwards),
        rotary: None,
        sizes,
    }
}

impl<'b> Attention<'b> {
    /// Adds a rotation of queries and keys by their positions.
    #[must_use]
    pub fn with_rotary(self, rotary: Rotary) -> Attention<'b> {
        Attention { rotary: Some(rotary), ..self }
    }

    /// Self-attention: a sequence attends to itself.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, x: Expr<'b>, mask: Mask<'b>) -> Expr<'b> {
        self.attend(x, x, mask).output
    }

    /// Cross-attention: a sequence attends to another one.
    #[must_use]
    #[track_caller]
    pub fn cross(&self, x: Expr<'b>, memory: Expr<'b>, mask: Mask<'b>) -> Expr<'b> {
        self.attend(x, memory, mask).output
    }

    /// Like [`cross`](Attention::cross), with the probabilities.
    #[must_use]
    #[track_caller]
    pub fn attend(&self, x: Expr<'b>, memory: Expr<'b>, mask: Mask<'b>) -> Attended<'b> {
        let b = x.builder();
        let project = "..m.. -> h, d; ... | ..m.. => ... | h, d";
        let projected = b.einsum(project, &[self.query, x]);
        let (mut queries, mut keys) = (projected, b.einsum(project, &[self.key, memory]));
        let values = b.einsum(project, &[self.value, memory]);
        if let Some(rotary) = self.rotary {
            (queries, keys) = (rotary.apply(queries), rotary.apply(keys));
        }
        let scores = b.einsum("... s | h d; ... t | h d => ... s | t -> h", &[queries, keys]);
        let scaled = scores / scores.size("d").sqrt();
        let masked = match mask {
            Mask::Nothing => scaled,
            Mask::Causal => b.select(causal_mask(b), scaled, b.number(NEVER)),
            Mask::Where(visible) => b.select(visible, scaled, b.number(NEVER)),
        };
        let probabilities = softmax(masked, "... | t -> ...");
        let mixed = b.einsum("... s | t -> h; ... t | h d => ... s | h d", &[probabilities, values]);
        let output = b.einsum("h, d -> ..m..; ... | h, d => ... | ..m..", &[self.out, mixed]);
        let output = b.all(&[output, projected, values], |graph, tensors| self.relate(graph, tensors));
        Attended { output, probabilities }
    }

    /// Makes the result as wide as the input, and lets heads divide the width unless their size is
    /// given.
    fn relate(&self, graph: &mut Graph, tensors: &[Tensor]) -> Result<Tensor, Error> {
        let &[output, queries, values] = tensors else { return Ok(tensors[0]) };
        let (width, size) = (graph.captured(queries, "m")?, graph.captured(queries, "d")?);
        let (result, value_size) = (graph.captured(output, "m")?, graph.captured(values, "d")?);
        graph.equal(result, width)?;
        if self.sizes.head_size.is_none() {
            graph.equal(value_size, size)?;
            graph.scale(width, self.sizes.heads, size)?;
        }
        Ok(output)
    }
}

/// 1 if position `t` is not after position `s`, else 0, as `s | t ->`, in the size that its use
/// requires.
///
/// ```
/// use broadloom::{Builder, blocks::causal_mask};
/// let b = Builder::new();
/// let mask = causal_mask(&b);
/// let (mask, _) = (mask.tensor(), b.data("scores", "2, 8 | 8 -> 4") * mask);
/// assert_eq!(b.finish()?.final_shape(mask)?.to_string(), "8 | 8 ->");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn causal_mask(b: &Builder) -> Expr<'_> {
    b.range("keys", "t ->").less_or_equal(b.range("queries", "s |"))
}
