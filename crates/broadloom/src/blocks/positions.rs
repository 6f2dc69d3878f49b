//! Positions in a sequence: sinusoidal, rotary and learned.

use crate::{Builder, Combine, Expr, Initial, SpecOptions};
use broadloom_spec::ShapeBuilder;

/// Waves of many lengths (Vaswani et al., *Attention Is All You Need*), to be added to a sequence `... s | d`.
///
/// ```text
/// y[p, 2i] = sin(p / base^(2i/d)),  y[p, 2i+1] = cos(p / base^(2i/d))
/// ```
///
/// The result is `s | d`, as long and as wide as the sequence it is added to; `d` is even. The
/// usual base is 10000.
///
/// ```
/// use broadloom::{Builder, blocks::sinusoidal_positions};
/// let b = Builder::new();
/// let positions = sinusoidal_positions(&b, 10000.0);
/// let (positions, _) = (positions.tensor(), b.data("x", "32, 128 | 64") + positions);
/// assert_eq!(b.finish()?.final_shape(positions)?.to_string(), "128 | 64");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn sinusoidal_positions(b: &Builder, base: f64) -> Expr<'_> {
    let pairs = b.range("pairs", "i").einsum("i => i", &[]);
    let angles = angles(b, pairs, pairs.size("i"), base);
    let (even, odd) = (angles.sin(), angles.cos());
    even.einsum("s | i => s | 2*i", &[]) + odd.einsum("s | i => s | 2*i+1", &[])
}

/// The angle of each pair at each position: `p / base^(i / number of pairs)`, as `s | i`.
#[track_caller]
fn angles<'b>(b: &'b Builder, pairs: Expr<'b>, number: Expr<'b>, base: f64) -> Expr<'b> {
    b.range("positions", "s |") * (pairs / number * -base.ln()).exp()
}

/// Rotary positions, made by [`rotary`].
#[derive(Clone, Copy, Debug)]
pub struct Rotary {
    base: f64,
}

/// Rotary positions (Su et al., *RoFormer*): pairs of neighbouring features are rotated by an angle
/// that grows with the position, so that the product of two vectors depends on their distance.
///
/// ```text
/// θ = p / base^(2i/d)
/// y[p, 2i]   = x[p, 2i] · cos θ − x[p, 2i+1] · sin θ
/// y[p, 2i+1] = x[p, 2i] · sin θ + x[p, 2i+1] · cos θ
/// ```
///
/// The features are the last output axis, and their number is even; the position is the last batch axis. It is
/// applied to the queries and keys of attention, `... s | h, d`. The usual base is 10000.
///
/// ```
/// use broadloom::{Builder, blocks::rotary};
/// let b = Builder::new();
/// let y = rotary(10000.0).apply(b.data("queries", "32, 128 | 4, 16")).tensor();
/// assert_eq!(b.finish()?.final_shape(y)?.to_string(), "32, 128 | 4, 16");
/// # Ok::<(), broadloom::Error>(())
/// ```
pub fn rotary(base: f64) -> Rotary {
    Rotary { base }
}

impl Rotary {
    /// Rotates the pairs of `... s | ..., d`.
    #[must_use]
    #[track_caller]
    pub fn apply<'b>(&self, x: Expr<'b>) -> Expr<'b> {
        let b = x.builder();
        let even = x.einsum("... | ..., 2*i => ... | ..., i", &[]);
        let odd = x.einsum("... | ..., 2*i+1 => ... | ..., i", &[]);
        let angles = angles(b, b.range("pairs", "i"), even.size("i"), self.base);
        let (cos, sin) = (angles.cos(), angles.sin());
        let (first, second) = (even * cos - odd * sin, even * sin + odd * cos);
        first.einsum("... | ..., i => ... | ..., 2*i", &[])
            + second.einsum("... | ..., i => ... | ..., 2*i+1", &[])
    }
}

/// Learned positions, made by [`learned_positions`].
#[derive(Clone, Copy, Debug)]
pub struct LearnedPositions<'b> {
    /// `length | ..d..`.
    pub table: Expr<'b>,
    longer: bool,
}

/// A learned vector for each position: `y[p] = x[p] + table[p]`.
///
/// The table has the given number of positions, and sequences may be shorter; or the length is
/// `None`, and the table is as long as the sequences are. It begins with normal numbers of
/// deviation 0.02.
///
/// ```
/// use broadloom::{Builder, blocks::learned_positions};
/// let b = Builder::new();
/// let positions = learned_positions(&b, "positions", 512);
/// let y = positions.apply(b.data("x", "32, 128 | 64")).tensor();
/// let table = positions.table.tensor();
/// let mut g = b.finish()?;
/// assert_eq!(g.final_shape(y)?.to_string(), "32, 128 | 64");
/// assert_eq!(g.final_shape(table)?.to_string(), "512 | 64");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn learned_positions<'b>(
    b: &'b Builder,
    name: &str,
    length: impl Into<Option<u64>>,
) -> LearnedPositions<'b> {
    let _scope = b.open(name);
    let length = length.into();
    let shape = ShapeBuilder::new().size_or_name(length, "s").bar().rest().finish();
    let table = b.param_shaped("table", &shape);
    let table = table.initial(Initial::Normal { mean: 0.0, deviation: 0.02 });
    LearnedPositions { table, longer: length.is_some() }
}

impl<'b> LearnedPositions<'b> {
    /// Adds its vector to each position of `... s | ..d..`.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, x: Expr<'b>) -> Expr<'b> {
        if !self.longer {
            return x + self.table;
        }
        // The table may have positions beyond the end of the sequence. One spec for both says that it has no fewer: a slice of it, added, could broadcast.
        let options = SpecOptions { combine: Combine::Sum, ..SpecOptions::default() };
        x.builder().einsum_with("..., s | ...; s^beyond | ... => ..., s | ...", &[x, self.table], &options)
    }
}
