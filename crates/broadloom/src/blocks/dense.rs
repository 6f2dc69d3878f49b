//! Dense layers: linear maps, perceptrons, embeddings.

use super::Activation;
use crate::{Builder, Expr, Initial};
use broadloom_spec::{ShapeBuilder, WrittenShape};

/// A linear map with a bias, made by [`linear`].
#[derive(Clone, Copy, Debug)]
pub struct Linear<'b> {
    /// `i -> o`, over any number of axes.
    pub weight: Expr<'b>,
    /// `o`, unless there is none.
    pub bias: Option<Expr<'b>>,
}

/// A linear map with a bias: `y = W·x + b`.
///
/// All output axes of `x` are contracted. The size of the result is given, or is `None` and follows
/// from its use. The bias begins at 0, the weight such that variances stay the same.
///
/// ```
/// use broadloom::{Builder, blocks::linear};
/// let b = Builder::new();
/// let (hidden, out) = (linear(&b, "hidden", 64), linear(&b, "out", None));
/// let y = out.apply(hidden.apply(b.data("x", "32 | 28, 28")).relu()) - b.data("target", "32 | 10");
/// let weights = [hidden.weight.tensor(), out.weight.tensor()];
/// let mut g = b.finish()?;
/// assert_eq!(g.final_shape(weights[0])?.to_string(), "28, 28 -> 64");
/// assert_eq!(g.final_shape(weights[1])?.to_string(), "64 -> 10");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn linear<'b>(b: &'b Builder, name: &str, size: impl Into<Option<u64>>) -> Linear<'b> {
    let _scope = b.open(name);
    let size = size.into();
    let weight = b.param_shaped("weight", &map_to(size));
    let bias = b.param_shaped("bias", &ShapeBuilder::new().size_or_rest(size).finish());
    Linear { weight, bias: Some(bias) }
}

/// A linear map without a bias: `y = W·x`.
///
/// ```
/// use broadloom::{Builder, blocks::linear_without_bias};
/// let b = Builder::new();
/// let y = linear_without_bias(&b, "map", 3).apply(b.data("x", "32 | 5")).tensor();
/// assert_eq!(b.finish()?.final_shape(y)?.to_string(), "32 | 3");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn linear_without_bias<'b>(b: &'b Builder, name: &str, size: impl Into<Option<u64>>) -> Linear<'b> {
    let _scope = b.open(name);
    Linear { weight: b.param_shaped("weight", &map_to(size.into())), bias: None }
}

/// The shape of a map from any inputs.
fn map_to(size: Option<u64>) -> WrittenShape {
    ShapeBuilder::new().rest().arrow().size_or_rest(size).finish()
}

impl<'b> Linear<'b> {
    /// `W·x + b`.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, x: Expr<'b>) -> Expr<'b> {
        let product = self.weight.compose(x);
        match self.bias {
            Some(bias) => product + bias,
            None => product,
        }
    }
}

/// A perceptron, made by [`mlp`].
#[derive(Clone, Debug)]
pub struct Mlp<'b> {
    /// The layers, in order.
    pub layers: Vec<Linear<'b>>,
    /// The function between them.
    pub activation: Activation,
}

/// A perceptron: linear layers with a function between any two, and none after the last.
///
/// ```text
/// h₁ = f(W₁·x + b₁), …, hₙ = f(Wₙ·hₙ₋₁ + bₙ), y = Wₙ₊₁·hₙ + bₙ₊₁
/// ```
///
/// ```
/// use broadloom::Builder;
/// use broadloom::blocks::{Activation, mlp};
/// let b = Builder::new();
/// let model = mlp(&b, "model", &[64, 32], 10, Activation::Relu);
/// let y = model.apply(b.data("x", "8 | 784")).tensor();
/// let mut g = b.finish()?;
/// assert_eq!(g.final_shape(y)?.to_string(), "8 | 10");
/// assert_eq!(g.params().len(), 6);
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn mlp<'b>(
    b: &'b Builder,
    name: &str,
    hidden: &[u64],
    size: impl Into<Option<u64>>,
    activation: Activation,
) -> Mlp<'b> {
    let _scope = b.open(name);
    let mut layers = Vec::new();
    for size in hidden.iter().map(|size| Some(*size)).chain([size.into()]) {
        layers.push(linear(b, &layers.len().to_string(), size));
    }
    Mlp { layers, activation }
}

impl<'b> Mlp<'b> {
    /// The layers one after another.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, x: Expr<'b>) -> Expr<'b> {
        let mut y = x;
        for (number, layer) in self.layers.iter().enumerate() {
            if number > 0 {
                y = self.activation.apply(y);
            }
            y = layer.apply(y);
        }
        y
    }
}

/// A table of vectors, made by [`embedding`].
#[derive(Clone, Copy, Debug)]
pub struct Embedding<'b> {
    /// `vocabulary -> width`.
    pub table: Expr<'b>,
}

/// A vector for each of some tokens: `y[…] = table[tokens[…]]`.
///
/// The table begins with normal numbers of deviation 1.
///
/// ```
/// use broadloom::{Builder, blocks::embedding};
/// let b = Builder::new();
/// let words = embedding(&b, "words", 1000, 64);
/// let x = words.apply(b.data("tokens", "8, 128 |"));
/// let (x, logits) = (x.tensor(), words.backwards(x).tensor());
/// let mut g = b.finish()?;
/// assert_eq!(g.final_shape(x)?.to_string(), "8, 128 | 64");
/// assert_eq!(g.final_shape(logits)?.to_string(), "8, 128 | 1000");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn embedding<'b>(
    b: &'b Builder,
    name: &str,
    vocabulary: u64,
    width: impl Into<Option<u64>>,
) -> Embedding<'b> {
    let _scope = b.open(name);
    let shape = ShapeBuilder::new().size(vocabulary).arrow().size_or_rest(width.into()).finish();
    let table = b.param_shaped("table", &shape);
    Embedding { table: table.initial(Initial::Normal { mean: 0.0, deviation: 1.0 }) }
}

impl<'b> Embedding<'b> {
    /// Looks tokens up: `... |` becomes `... | d`.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, tokens: Expr<'b>) -> Expr<'b> {
        self.table.gather(tokens)
    }

    /// The similarity of a vector to that of each token: `y[v] = table[v] · x`, scores for the next
    /// token.
    #[must_use]
    #[track_caller]
    pub fn backwards(&self, x: Expr<'b>) -> Expr<'b> {
        self.table.transpose().compose(x)
    }
}
