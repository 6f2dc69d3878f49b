//! Layers and losses, written with expressions.
//!
//! A layer is made once and applied any number of times. Making it ([`linear`], [`conv2d`],
//! [`multi_head_attention`], …) takes a builder, a name and the free choices: hidden sizes, heads,
//! windows. It makes the parameters, whose names are the name of the layer and their own
//! (`hidden.weight`). Every `apply` uses these parameters, in an operation of its own. Everything
//! else is inferred: no layer needs the width of its input.
//!
//! Layers without parameters are functions of expressions: [`softmax`], [`max_pool`], [`cross_entropy`].
//!
//! | data | shape |
//! |---|---|
//! | features | `... \| d`: any batch axes, features as output |
//! | sequences | `... s \| d`: the last batch axis is the position |
//! | tokens | `... s \|`: batch axes only |
//! | images | `... \| h, w, ..c..`: channels last |
//!
//! Behaviour that differs between training and use is chosen where a layer is applied, by a
//! [`Mode`]: a program may apply one model in both, and run each in a routine of its own.
//!
//! ```
//! use broadloom::blocks::{Activation, cross_entropy, mean, mlp};
//! use broadloom::{Builder, Routine, Sgd};
//!
//! let b = Builder::new();
//! let model = mlp(&b, "model", &[32, 32], 10, Activation::Relu);
//! let loss = mean(cross_entropy(model.apply(b.data("x", "64 | 784")), b.data("target", "64 |")));
//! let loss = loss.tensor();
//! let mut graph = b.finish()?;
//!
//! let mut train = Routine::new("train");
//! train.backward(&mut graph, loss)?;
//! let (params, rate) = (graph.params(), graph.number(0.1));
//! Sgd::default().update(&mut graph, &mut train, &params, rate)?;
//! assert_eq!(graph.final_shape(params[0])?.to_string(), "784 -> 32");
//! # Ok::<(), broadloom::Error>(())
//! ```

mod activation;
mod attention;
mod convolution;
mod dense;
mod dropout;
mod loss;
mod normalisation;
mod pooling;
mod positions;
mod softmax;
mod transformer;

pub use activation::{Activation, gelu, gelu_exact, silu};
pub use attention::{Attended, Attention, AttentionSizes, Mask, causal_mask, multi_head_attention};
pub use convolution::{
    Conv2d, DepthwiseConv2d, SeparableConv2d, Window, conv2d, depthwise_conv2d, separable_conv2d,
};
pub use dense::{Embedding, Linear, Mlp, embedding, linear, linear_without_bias, mlp};
pub use dropout::{Dropout, dropout};
pub use loss::{cross_entropy, cross_entropy_one_hot, mean, next_token_loss, one_hot};
pub use normalisation::{
    BatchNorm, LayerNorm, RmsNorm, batch_norm, batch_norm_with_momentum, layer_norm, rms_norm,
};
pub use pooling::{avg_pool, global_avg_pool, max_pool};
pub use positions::{LearnedPositions, Rotary, learned_positions, rotary, sinusoidal_positions};
pub use softmax::{log_softmax, softmax};
pub use transformer::{
    Decoder, DecoderBlock, DecoderOnly, Encoder, EncoderBlock, NormPlace, Positions, Transformer,
    TransformerConfig, decoder, decoder_block, decoder_only, encoder, encoder_block, transformer,
};

use broadloom_graph::{Error, ErrorKind};

use crate::{Builder, Expr};

/// Training or use of a layer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Mode {
    /// Dropout is active; batch normalisation uses the statistics of the batch, and records them.
    Training,
    /// Dropout does nothing; batch normalisation uses the recorded statistics.
    #[default]
    Inference,
}

/// Reports a mistake in the configuration of a layer.
#[track_caller]
fn mistake<'b>(b: &'b Builder, name: &str, message: &str) -> Expr<'b> {
    let about = format!("the layer `{}`", b.scoped(name));
    b.with(|_| Err(Error::new(ErrorKind::Use, message).about(&about)))
}
