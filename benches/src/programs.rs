//! Whole tensor programs: the computations of `onnx/infer.py`, written as a user of Broadloom writes them.
//!
//! The sizes are the same, and operation for operation so is the arithmetic, with one difference: tensors
//! have head axes of their own here, so nothing is reshaped or transposed. A decoder block is 42 operations
//! and not 50, a residual network ends with 2 and not 3; everything else is one operation a node.
//!
//! The other difference is in the known shapes. ONNX gets the shape of every weight. Here the shape
//! of no weight is written in full: free choices (heads, hidden sizes, channels) are set once, at a
//! captured label or in a bias, and the rest is inferred.
//!
//! Parameters are named after their purpose (`w_q`), without the number of their block: formatting
//! a name would cost more than the parameter, and names only serve messages. Every leaf has a name
//! and no result has one; that is how [`operations`] distinguishes them.

use broadloom::{Error, Graph, OperationId, SpecOptions, Tensor};

/// A family of programs: its name, its description, and a builder of programs of any size.
pub struct Family {
    /// The name used on the command line, in tables and in `infer.py`.
    pub name: &'static str,
    /// A description.
    pub about: &'static str,
    /// The sizes that are measured.
    pub sizes: &'static [usize],
    /// Adds a program with this many blocks, and returns its result.
    pub build: fn(&mut Graph, usize) -> Result<Tensor, Error>,
    /// The final shape of the result.
    pub output: &'static str,
    /// The final shapes of some parameters; all of the same name have the same shape.
    pub inferred: &'static [(&'static str, &'static str)],
}

/// Every family of the benchmark.
pub const FAMILIES: [Family; 3] = [
    Family {
        name: "decoder",
        about: "blocks of a decoder-only transformer, 42 operations each",
        sizes: &[1, 10, 100, 1000, 10_000],
        build: decoder,
        output: "2, 16 | 64",
        inferred: &[
            ("gain", "64"),
            ("w_q", "64 -> 4, 16"),
            ("b_k", "4, 16"),
            ("w_v", "64 -> 4, 16"),
            ("w_o", "4, 16 -> 64"),
            ("b_o", "64"),
            ("w_up", "64 -> 128"),
            ("w_down", "128 -> 64"),
            ("b_down", "64"),
        ],
    },
    Family {
        name: "mlp",
        about: "layers of `relu (w @ x + b)`, 3 operations each",
        sizes: &[1000, 10_000],
        build: mlp,
        output: "2 | 64",
        inferred: &[("w", "64 -> 64")],
    },
    Family {
        name: "resnet",
        about: "residual blocks of two convolutions, 9 operations each",
        sizes: &[100, 1000],
        build: resnet,
        output: "2 | 10",
        inferred: &[],
    },
];

/// The family of a name.
pub fn family(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.name == name)
}

/// The number of operations: tensors that are not leaves.
pub fn operations(graph: &Graph) -> usize {
    graph.tensors().filter(|tensor| graph.name_of(*tensor).is_none()).count()
}

/// Builds a program and compares the inferred shapes with the expected ones. Returns the number of
/// its operations.
pub fn check(family: &Family, size: usize) -> Result<usize, String> {
    let place = format!("{} {size}", family.name);
    let mut g = Graph::new();
    let output = (family.build)(&mut g, size).map_err(|error| format!("{place}: {error}"))?;
    let shapes = g.final_shapes().map_err(|error| format!("{place}: {error}"))?;
    let compare = |tensor: Tensor, name: &str, expected: &str| match shapes.get(tensor).to_string() {
        found if found == expected => Ok(()),
        found => Err(format!("{place}: `{name}` is `{found}`, not `{expected}`")),
    };
    compare(output, "output", family.output)?;
    for tensor in g.tensors() {
        let Some(name) = g.name_of(tensor) else { continue };
        if let Some((_, expected)) = family.inferred.iter().find(|(known, _)| *known == name) {
            compare(tensor, name, expected)?;
        }
    }
    Ok(operations(&g))
}

const HEADS: u64 = 4;
const D_HEAD: u64 = 16;

/// The tensors that all blocks of a decoder use.
struct Shared {
    epsilon: Tensor,
    scale: Tensor,
    mask: Tensor,
}

/// A decoder-only transformer after its embedding: 42 operations and 16 parameters a block.
fn decoder(g: &mut Graph, blocks: usize) -> Result<Tensor, Error> {
    let shared = Shared {
        epsilon: number(g, "epsilon", 1e-5),
        scale: number(g, "scale", 0.25),
        mask: g.data("mask", "16 | 16 ->")?,
    };
    let mut x = g.data("x", "2, 16 | 64")?;
    for _ in 0..blocks {
        let normed = layer_norm(g, &shared, x)?;
        let attended = attention(g, &shared, normed)?;
        x = g.add(x, attended)?;
        let normed = layer_norm(g, &shared, x)?;
        let fed = feed_forward(g, normed)?;
        x = g.add(x, fed)?;
    }
    Ok(x)
}

/// A number with a name, as every leaf here has one.
fn number(g: &mut Graph, name: &str, value: f64) -> Tensor {
    let number = g.number(value);
    g.name(number, name);
    number
}

/// 9 operations.
fn layer_norm(g: &mut Graph, shared: &Shared, x: Tensor) -> Result<Tensor, Error> {
    let mean = reduce(g, "mean", "... | ..d.. => ... | 0", x)?;
    let centred = g.sub(x, mean)?;
    let square = g.mul(centred, centred)?;
    let variance = reduce(g, "mean", "... | ..d.. => ... | 0", square)?;
    let shifted = g.add(variance, shared.epsilon)?;
    let deviation = g.sqrt(shifted)?;
    let normal = g.div(centred, deviation)?;
    let (gain, bias) = (g.param("gain"), g.param("bias"));
    let scaled = g.mul(gain, normal)?;
    g.add(scaled, bias)
}

/// 17 operations. The sizes of the heads are set where they are named, in the specs.
fn attention(g: &mut Graph, shared: &Shared, x: Tensor) -> Result<Tensor, Error> {
    let queries = linear(g, "w_q", "b_q", x)?;
    let keys = linear(g, "w_k", "b_k", x)?;
    let values = linear(g, "w_v", "b_v", x)?;
    let scores = g.einsum("... s | h d; ... t | h d => ... s | t -> h", &[queries, keys])?;
    set(g, scores, "h", HEADS)?;
    set(g, scores, "d", D_HEAD)?;
    let scaled = g.mul(scores, shared.scale)?;
    let masked = g.add(scaled, shared.mask)?;
    let weights = softmax(g, masked)?;
    let mixed = g.einsum("... s | t -> h; ... t | h d => ... s | h d", &[weights, values])?;
    set(g, mixed, "d", D_HEAD)?;
    linear(g, "w_o", "b_o", mixed)
}

/// 5 operations, along the input axis.
fn softmax(g: &mut Graph, x: Tensor) -> Result<Tensor, Error> {
    let largest = reduce(g, "max", "... | t -> ... => ... | 0 -> ...", x)?;
    let shifted = g.sub(x, largest)?;
    let exponentials = g.exp(shifted)?;
    let sum = reduce(g, "sum", "... | t -> ... => ... | 0 -> ...", exponentials)?;
    g.div(exponentials, sum)
}

/// 5 operations. The hidden size is that of a bias.
fn feed_forward(g: &mut Graph, x: Tensor) -> Result<Tensor, Error> {
    let (w_up, b_up) = (g.param("w_up"), g.param_shaped("b_up", "128")?);
    let up = g.compose(w_up, x)?;
    let up = g.add(up, b_up)?;
    let hidden = g.relu(up)?;
    linear(g, "w_down", "b_down", hidden)
}

/// 2 operations, with both shapes inferred.
fn linear(g: &mut Graph, weight: &str, bias: &str, x: Tensor) -> Result<Tensor, Error> {
    let (weight, bias) = (g.param(weight), g.param(bias));
    let product = g.compose(weight, x)?;
    g.add(product, bias)
}

/// A multilayer perceptron: 3 operations and 2 parameters a layer.
fn mlp(g: &mut Graph, layers: usize) -> Result<Tensor, Error> {
    let mut x = g.data("x", "2 | 64")?;
    for _ in 0..layers {
        let (w, b) = (g.param("w"), g.param_shaped("b", "64")?);
        let product = g.compose(w, x)?;
        let sum = g.add(product, b)?;
        x = g.relu(sum)?;
    }
    Ok(x)
}

const STAGE_BLOCKS: usize = 25;
const LAST_STAGE: usize = 3;

/// A residual network: 9 operations and 6 parameters a block.
///
/// Before blocks 25, 50 and 75 one strided convolution halves the image and doubles the channels, from
/// 32x32x16 to 4x4x128; later blocks keep that. Two operations at the end classify.
fn resnet(g: &mut Graph, blocks: usize) -> Result<Tensor, Error> {
    let mut channels = 16;
    let mut x = g.data("x", "2 | 32, 32, 16")?;
    for block in 0..blocks {
        let (stage, within) = (block / STAGE_BLOCKS, block % STAGE_BLOCKS);
        if within == 0 && (1..=LAST_STAGE).contains(&stage) {
            channels *= 2;
            x = conv(g, x, 2)?;
            set(g, x, "oc", channels)?;
        }
        x = residual_block(g, x, channels)?;
    }
    let features = reduce(g, "mean", "... | h w c => ... | c", x)?;
    let w_class = g.param_shaped("w_class", "_ -> 10")?;
    g.compose(w_class, features)
}

/// 9 operations. The channels between the convolutions are a choice; those after them follow from the sum.
fn residual_block(g: &mut Graph, x: Tensor, channels: u64) -> Result<Tensor, Error> {
    let convolved = conv(g, x, 1)?;
    set(g, convolved, "oc", channels)?;
    let normed = batch_norm(g, convolved)?;
    let inner = g.relu(normed)?;
    let convolved = conv(g, inner, 1)?;
    let normed = batch_norm(g, convolved)?;
    let sum = g.add(normed, x)?;
    g.relu(sum)
}

/// 2 operations: batch normalisation as it is at inference, a factor and a term for each channel.
/// Their single axis has to be stated: otherwise they would get a value for each pixel.
fn batch_norm(g: &mut Graph, x: Tensor) -> Result<Tensor, Error> {
    let (gain, bias) = (g.param_shaped("gain", "c")?, g.param_shaped("bias", "c")?);
    let scaled = g.mul(x, gain)?;
    g.add(scaled, bias)
}

/// 1 operation: 3x3, padded.
fn conv(g: &mut Graph, x: Tensor, stride: u64) -> Result<Tensor, Error> {
    let spec = "... | s*oh=+kh, s*ow=+kw, ic; kh, kw, ic -> oc => ... | oh, ow, oc";
    let kernel = g.param("kernel");
    let options = SpecOptions {
        operation: Some(OperationId::Own("conv")),
        coefficients: &[("s", stride)],
        ..SpecOptions::default()
    };
    let convolved = g.einsum_with(spec, &[x, kernel], &options)?;
    set(g, convolved, "kh", 3)?;
    set(g, convolved, "kw", 3)?;
    Ok(convolved)
}

/// One operation that accumulates over the axes that the result of the spec leaves out.
fn reduce(g: &mut Graph, name: &'static str, spec: &str, x: Tensor) -> Result<Tensor, Error> {
    g.einsum_with(
        spec,
        &[x],
        &SpecOptions { operation: Some(OperationId::Own(name)), ..SpecOptions::default() },
    )
}

/// Sets the size of a label of the spec that made a tensor.
fn set(g: &mut Graph, tensor: Tensor, label: &str, size: u64) -> Result<(), Error> {
    g.set(g.captured(tensor, label)?, size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_those_of_the_onnx_graphs() {
        let operations = |name, size| check(family(name).expect("a family"), size).expect("its shapes");
        assert_eq!(operations("decoder", 1), 42);
        assert_eq!(operations("decoder", 3), 3 * 42);
        assert_eq!(operations("mlp", 5), 5 * 3);
        assert_eq!(operations("resnet", 80), 80 * 9 + 3 + 2);
    }

    #[test]
    fn weights_of_a_residual_network_follow_its_stages() {
        let mut g = Graph::new();
        resnet(&mut g, 26).expect("a program");
        let shapes = g.final_shapes().expect("its shapes");
        let all = |name: &str| -> Vec<String> {
            let named = g.tensors().filter(|tensor| g.name_of(*tensor) == Some(name));
            named.map(|tensor| shapes.get(tensor).to_string()).collect()
        };
        let kernels = all("kernel");
        assert!(kernels[..50].iter().all(|shape| shape == "3, 3, 16 -> 16"));
        assert_eq!(kernels[50..], ["3, 3, 16 -> 32", "3, 3, 32 -> 32", "3, 3, 32 -> 32"]);
        let gains = all("gain");
        assert!(gains[..50].iter().all(|shape| shape == "16"));
        assert_eq!(gains[50..], ["32", "32"]);
        assert_eq!(all("w_class"), ["32 -> 10"]);
    }
}
