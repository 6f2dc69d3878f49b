//! Transformers: blocks of attention and feed-forward layers, and models made of them.

use super::{
    Activation, Attention, AttentionSizes, Dropout, Embedding, LayerNorm, LearnedPositions, Mask, Mlp, Mode,
    dropout, embedding, layer_norm, learned_positions, mlp, multi_head_attention, rotary,
    sinusoidal_positions,
};
use crate::{Builder, Expr, Initial};

/// The free choices in a transformer.
///
/// ```
/// use broadloom::blocks::{Activation, NormPlace, TransformerConfig};
/// // As in *Attention Is All You Need*, but smaller.
/// let config = TransformerConfig {
///     norm: NormPlace::After,
///     activation: Activation::Relu,
///     dropout: 0.1,
///     ..TransformerConfig::new(2, 4, 256)
/// };
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TransformerConfig {
    /// The number of blocks.
    pub layers: usize,
    /// The heads of attention.
    pub attention: AttentionSizes,
    /// The hidden size of the feed-forward layers.
    pub hidden: u64,
    /// The function in the feed-forward layers.
    pub activation: Activation,
    /// The place of normalisation.
    pub norm: NormPlace,
    /// The rate of dropout.
    pub dropout: f64,
    /// The encoding of positions.
    pub positions: Positions,
}

/// The place of layer normalisation in a block, relative to a layer `f`.
///
/// | | |
/// |---|---|
/// | `Before` | `x + f(norm(x))`, and a last normalisation after all blocks (Xiong et al., *On Layer Normalization in the Transformer Architecture*) |
/// | `After` | `norm(x + f(x))` (Vaswani et al.) |
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[allow(missing_docs, reason = "the table says it")]
pub enum NormPlace {
    #[default]
    Before,
    After,
}

/// The encoding of positions.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Positions {
    /// None.
    Nothing,
    /// Waves: see [`sinusoidal_positions`].
    #[default]
    Sinusoidal,
    /// Learned vectors for this many positions: see [`learned_positions`].
    Learned(Option<u64>),
    /// Rotations of the queries and keys of self-attention: see [`rotary`].
    Rotary,
}

/// The base of the wavelengths.
const BASE: f64 = 10000.0;

impl TransformerConfig {
    /// Blocks with normalisation before their layers, heads that divide the width, gelu, sinusoidal
    /// positions and no dropout.
    pub fn new(layers: usize, heads: u64, hidden: u64) -> TransformerConfig {
        TransformerConfig {
            layers,
            attention: heads.into(),
            hidden,
            activation: Activation::Gelu,
            norm: NormPlace::default(),
            dropout: 0.0,
            positions: Positions::default(),
        }
    }
}

/// The normalisation, the dropout and the residual connection around a layer.
#[derive(Clone, Debug)]
struct Around<'b> {
    norm: LayerNorm<'b>,
    dropout: Dropout<'b>,
    place: NormPlace,
}

impl<'b> Around<'b> {
    #[track_caller]
    fn new(b: &'b Builder, name: &str, config: &TransformerConfig) -> Around<'b> {
        let norm = layer_norm(b, &format!("{name}_norm"));
        let dropout = dropout(b, &format!("{name}_dropout"), config.dropout);
        Around { norm, dropout, place: config.norm }
    }

    /// The input of the layer.
    #[track_caller]
    fn before(&self, x: Expr<'b>) -> Expr<'b> {
        match self.place {
            NormPlace::Before => self.norm.apply(x),
            NormPlace::After => x,
        }
    }

    /// Combines `x` with the output of the layer.
    #[track_caller]
    fn after(&self, x: Expr<'b>, given: Expr<'b>, mode: Mode) -> Expr<'b> {
        let sum = x + self.dropout.apply(given, mode);
        match self.place {
            NormPlace::Before => sum,
            NormPlace::After => self.norm.apply(sum),
        }
    }
}

/// A block of an encoder, or of a model that is a decoder only; made by [`encoder_block`].
#[derive(Clone, Debug)]
pub struct EncoderBlock<'b> {
    /// Attention of the sequence to itself.
    pub attention: Attention<'b>,
    /// The feed-forward layers.
    pub feed_forward: Mlp<'b>,
    around: [Around<'b>; 2],
}

/// A block of self-attention and feed-forward layers, each with normalisation, dropout and a
/// residual connection.
///
/// ```text
/// y = x + attention(norm(x)),  z = y + feed_forward(norm(y))       NormPlace::Before
/// y = norm(x + attention(x)),  z = norm(y + feed_forward(y))       NormPlace::After
/// ```
///
/// ```
/// use broadloom::Builder;
/// use broadloom::blocks::{Mask, Mode, TransformerConfig, encoder_block};
/// let b = Builder::new();
/// let block = encoder_block(&b, "block", &TransformerConfig::new(1, 4, 256));
/// let y = block.apply(b.data("x", "2, 8 | 64"), Mask::Causal, Mode::Training).tensor();
/// assert_eq!(b.finish()?.final_shape(y)?.to_string(), "2, 8 | 64");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn encoder_block<'b>(b: &'b Builder, name: &str, config: &TransformerConfig) -> EncoderBlock<'b> {
    let _scope = b.open(name);
    EncoderBlock {
        attention: self_attention(b, config),
        feed_forward: mlp(b, "feed_forward", &[config.hidden], None, config.activation),
        around: [Around::new(b, "attention", config), Around::new(b, "feed_forward", config)],
    }
}

#[track_caller]
fn self_attention<'b>(b: &'b Builder, config: &TransformerConfig) -> Attention<'b> {
    let attention = multi_head_attention(b, "attention", config.attention);
    match config.positions {
        Positions::Rotary => attention.with_rotary(rotary(BASE)),
        _ => attention,
    }
}

impl<'b> EncoderBlock<'b> {
    /// The normalisations that go with attention and with the feed-forward layers.
    pub fn norms(&self) -> [LayerNorm<'b>; 2] {
        self.around.each_ref().map(|around| around.norm)
    }

    /// The block, applied to a sequence.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, x: Expr<'b>, mask: Mask<'b>, mode: Mode) -> Expr<'b> {
        let [attention, feed_forward] = &self.around;
        let x = attention.after(x, self.attention.apply(attention.before(x), mask), mode);
        feed_forward.after(x, self.feed_forward.apply(feed_forward.before(x)), mode)
    }
}

/// A block of a decoder that reads an encoder; made by [`decoder_block`].
#[derive(Clone, Debug)]
pub struct DecoderBlock<'b> {
    /// Attention of the sequence to itself and earlier positions.
    pub attention: Attention<'b>,
    /// Attention to the output of the encoder.
    pub cross_attention: Attention<'b>,
    /// The feed-forward layers.
    pub feed_forward: Mlp<'b>,
    around: [Around<'b>; 3],
}

/// A block of causal self-attention, attention to a memory, and feed-forward layers.
///
/// ```
/// use broadloom::Builder;
/// use broadloom::blocks::{Mode, TransformerConfig, decoder_block};
/// let b = Builder::new();
/// let block = decoder_block(&b, "block", &TransformerConfig::new(1, 4, 256));
/// let y = block.apply(b.data("x", "2, 8 | 64"), b.data("memory", "2, 11 | 64"), Mode::Training).tensor();
/// assert_eq!(b.finish()?.final_shape(y)?.to_string(), "2, 8 | 64");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn decoder_block<'b>(b: &'b Builder, name: &str, config: &TransformerConfig) -> DecoderBlock<'b> {
    let _scope = b.open(name);
    DecoderBlock {
        attention: self_attention(b, config),
        cross_attention: multi_head_attention(b, "cross_attention", config.attention),
        feed_forward: mlp(b, "feed_forward", &[config.hidden], None, config.activation),
        around: [
            Around::new(b, "attention", config),
            Around::new(b, "cross_attention", config),
            Around::new(b, "feed_forward", config),
        ],
    }
}

impl<'b> DecoderBlock<'b> {
    /// The normalisations that go with self-attention, with attention to the memory and with the feed-forward layers.
    pub fn norms(&self) -> [LayerNorm<'b>; 3] {
        self.around.each_ref().map(|around| around.norm)
    }

    /// The block, applied to a sequence and to the output of an encoder for another.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, x: Expr<'b>, memory: Expr<'b>, mode: Mode) -> Expr<'b> {
        let [attention, cross, feed_forward] = &self.around;
        let x = attention.after(x, self.attention.apply(attention.before(x), Mask::Causal), mode);
        let x = cross.after(x, self.cross_attention.cross(cross.before(x), memory, Mask::Nothing), mode);
        feed_forward.after(x, self.feed_forward.apply(feed_forward.before(x)), mode)
    }
}

/// Blocks one after another; made by [`encoder`].
#[derive(Clone, Debug)]
pub struct Encoder<'b> {
    /// The blocks, in order.
    pub blocks: Vec<EncoderBlock<'b>>,
    /// The last normalisation, if normalisation comes before layers.
    pub norm: Option<LayerNorm<'b>>,
}

/// Blocks of self-attention, one after another.
///
/// ```
/// use broadloom::Builder;
/// use broadloom::blocks::{Mask, Mode, TransformerConfig, encoder};
/// let b = Builder::new();
/// let encoder = encoder(&b, "encoder", &TransformerConfig::new(2, 4, 256));
/// let y = encoder.apply(b.data("x", "2, 8 | 64"), Mask::Nothing, Mode::Inference).tensor();
/// assert_eq!(b.finish()?.final_shape(y)?.to_string(), "2, 8 | 64");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn encoder<'b>(b: &'b Builder, name: &str, config: &TransformerConfig) -> Encoder<'b> {
    let _scope = b.open(name);
    let mut blocks = Vec::new();
    for number in 0..config.layers {
        blocks.push(encoder_block(b, &number.to_string(), config));
    }
    Encoder { blocks, norm: last_norm(b, config) }
}

fn last_norm<'b>(b: &'b Builder, config: &TransformerConfig) -> Option<LayerNorm<'b>> {
    (config.norm == NormPlace::Before).then(|| layer_norm(b, "norm"))
}

impl<'b> Encoder<'b> {
    /// All blocks, and the last normalisation.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, x: Expr<'b>, mask: Mask<'b>, mode: Mode) -> Expr<'b> {
        let mut y = x;
        for block in &self.blocks {
            y = block.apply(y, mask, mode);
        }
        self.norm.map_or(y, |norm| norm.apply(y))
    }
}

/// Blocks one after another that read an encoder; made by [`decoder`].
#[derive(Clone, Debug)]
pub struct Decoder<'b> {
    /// The blocks, in order.
    pub blocks: Vec<DecoderBlock<'b>>,
    /// The last normalisation, if normalisation comes before layers.
    pub norm: Option<LayerNorm<'b>>,
}

/// Blocks of self-attention and attention to a memory, one after another.
///
/// ```
/// use broadloom::Builder;
/// use broadloom::blocks::{Mode, TransformerConfig, decoder};
/// let b = Builder::new();
/// let decoder = decoder(&b, "decoder", &TransformerConfig::new(2, 4, 256));
/// let y = decoder.apply(b.data("x", "2, 8 | 64"), b.data("memory", "2, 11 | 64"), Mode::Inference).tensor();
/// assert_eq!(b.finish()?.final_shape(y)?.to_string(), "2, 8 | 64");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn decoder<'b>(b: &'b Builder, name: &str, config: &TransformerConfig) -> Decoder<'b> {
    let _scope = b.open(name);
    let mut blocks = Vec::new();
    for number in 0..config.layers {
        blocks.push(decoder_block(b, &number.to_string(), config));
    }
    Decoder { blocks, norm: last_norm(b, config) }
}

impl<'b> Decoder<'b> {
    /// All blocks, and the last normalisation.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, x: Expr<'b>, memory: Expr<'b>, mode: Mode) -> Expr<'b> {
        let mut y = x;
        for block in &self.blocks {
            y = block.apply(y, memory, mode);
        }
        self.norm.map_or(y, |norm| norm.apply(y))
    }
}

/// Tokens with their positions, as a sequence of vectors.
#[derive(Clone, Debug)]
struct Tokens<'b> {
    embedding: Embedding<'b>,
    scale: f64,
    positions: Positions,
    learned: Option<LearnedPositions<'b>>,
    dropout: Dropout<'b>,
}

impl<'b> Tokens<'b> {
    /// The table begins with deviation `1/√width`, which suits scores; scaled by `√width` it suits
    /// vectors.
    #[track_caller]
    fn new(
        b: &'b Builder,
        name: &str,
        vocabulary: u64,
        width: u64,
        config: &TransformerConfig,
    ) -> Tokens<'b> {
        let scale = (width as f64).sqrt();
        let table = embedding(b, name, vocabulary, width).table;
        let deviation = 1.0 / scale.max(1.0);
        let learned = match config.positions {
            Positions::Learned(length) => Some(learned_positions(b, &format!("{name}_positions"), length)),
            _ => None,
        };
        Tokens {
            embedding: Embedding { table: table.initial(Initial::Normal { mean: 0.0, deviation }) },
            scale,
            positions: config.positions,
            learned,
            dropout: dropout(b, &format!("{name}_dropout"), config.dropout),
        }
    }

    #[track_caller]
    fn apply(&self, tokens: Expr<'b>, mode: Mode) -> Expr<'b> {
        let x = self.embedding.apply(tokens) * self.scale;
        let x = match (self.positions, self.learned) {
            (Positions::Sinusoidal, _) => x + sinusoidal_positions(x.builder(), BASE),
            (_, Some(learned)) => learned.apply(x),
            _ => x,
        };
        self.dropout.apply(x, mode)
    }
}

/// A model of sequences of tokens; made by [`decoder_only`].
#[derive(Clone, Debug)]
pub struct DecoderOnly<'b> {
    tokens: Tokens<'b>,
    /// The blocks.
    pub blocks: Encoder<'b>,
}

/// A model of sequences of tokens that scores, at each position, the next token: embedding,
/// positions, blocks of causal self-attention, and the transposed embedding.
///
/// [`next_token_loss`](super::next_token_loss) is its loss.
///
/// ```
/// use broadloom::Builder;
/// use broadloom::blocks::{Mode, TransformerConfig, decoder_only, next_token_loss};
/// let b = Builder::new();
/// let model = decoder_only(&b, "model", 1000, 64, &TransformerConfig::new(2, 4, 256));
/// let tokens = b.data("tokens", "8, 128 |");
/// let logits = model.apply(tokens, Mode::Training);
/// let (logits, loss) = (logits.tensor(), next_token_loss(logits, tokens).tensor());
/// let mut g = b.finish()?;
/// assert_eq!(g.final_shape(logits)?.to_string(), "8, 128 | 1000");
/// assert_eq!(g.final_shape(loss)?.elements(), 1);
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn decoder_only<'b>(
    b: &'b Builder,
    name: &str,
    vocabulary: u64,
    width: u64,
    config: &TransformerConfig,
) -> DecoderOnly<'b> {
    let _scope = b.open(name);
    DecoderOnly {
        tokens: Tokens::new(b, "embedding", vocabulary, width, config),
        blocks: encoder(b, "blocks", config),
    }
}

impl<'b> DecoderOnly<'b> {
    /// Scores for the next token at each position: `... s |` becomes `... s | v`.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, tokens: Expr<'b>, mode: Mode) -> Expr<'b> {
        let x = self.tokens.apply(tokens, mode);
        self.tokens.embedding.backwards(self.blocks.apply(x, Mask::Causal, mode))
    }

    /// The table of the embedding.
    pub fn embedding(&self) -> Embedding<'b> {
        self.tokens.embedding
    }
}

/// A model that turns sequences into sequences; made by [`transformer`].
#[derive(Clone, Debug)]
pub struct Transformer<'b> {
    source: Tokens<'b>,
    target: Tokens<'b>,
    /// Reads the source.
    pub encoder: Encoder<'b>,
    /// Reads the output of the encoder, and the target so far.
    pub decoder: Decoder<'b>,
}

/// A model that turns sequences of tokens into sequences of tokens (Vaswani et al.): an encoder of
/// the source, a decoder of the target that reads it, and the transposed embedding of the target.
///
/// ```
/// use broadloom::Builder;
/// use broadloom::blocks::{Mode, TransformerConfig, cross_entropy, mean, transformer};
/// let b = Builder::new();
/// let model = transformer(&b, "model", [500, 1000], 64, &TransformerConfig::new(2, 4, 256));
/// let (source, target) = (b.data("source", "8, 20 |"), b.data("target", "8, 30 |"));
/// let logits = model.apply(source, target, Mode::Training);
/// let loss = mean(cross_entropy(logits, b.data("next", "8, 30 |")));
/// let logits = logits.tensor();
/// assert_eq!(b.finish()?.final_shape(logits)?.to_string(), "8, 30 | 1000");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn transformer<'b>(
    b: &'b Builder,
    name: &str,
    vocabularies: [u64; 2],
    width: u64,
    config: &TransformerConfig,
) -> Transformer<'b> {
    let [source, target] = vocabularies;
    let _scope = b.open(name);
    Transformer {
        source: Tokens::new(b, "source", source, width, config),
        target: Tokens::new(b, "target", target, width, config),
        encoder: encoder(b, "encoder", config),
        decoder: decoder(b, "decoder", config),
    }
}

impl<'b> Transformer<'b> {
    /// Scores for the token after each of the target: `... t | v`.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, source: Expr<'b>, target: Expr<'b>, mode: Mode) -> Expr<'b> {
        let memory = self.encoder.apply(self.source.apply(source, mode), Mask::Nothing, mode);
        let y = self.decoder.apply(self.target.apply(target, mode), memory, mode);
        self.target.embedding.backwards(y)
    }
}
